"""Engines and formats of other projects, as the guide has them; each test needs its package."""

from __future__ import annotations

import hashlib
import importlib.util
import json
import os
import signal
import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest

import bbpe
import bbpe.ray
from bbpe.counting.handout import HandOut

pytestmark = [pytest.mark.engines, pytest.mark.filterwarnings("ignore")]
EOS = "<|endoftext|>"
TEXTS = [f"low {number} lower \u00e9\u6f22 " * (number % 9) for number in range(400)]


@pytest.fixture(scope="module")
def tok() -> bbpe.Tokenizer:
    return bbpe.train_from_iterator(["low lower lowest slow"] * 3, 280, special_tokens=[EOS])


@pytest.fixture
def corpus(tmp_path: Path) -> Path:
    (tmp_path / "a.jsonl").write_text("".join(json.dumps({"text": text}) + "\n" for text in TEXTS))
    return tmp_path / "a.jsonl"


@pytest.fixture
def plan(corpus: Path, tmp_path: Path, tok: bbpe.Tokenizer) -> bbpe.ShardPlan:
    made = bbpe.plan_shards(corpus, tmp_path / "out", tok, eos=EOS, part_size=2500)
    assert len(made) > 8
    return made


def check(plan: bbpe.ShardPlan, numbers: list[int]) -> None:
    """All parts were reported once, and are those of one process."""
    assert sorted(numbers) == list(range(len(plan)))
    (source,) = {source.path for part in plan.parts for source in part}
    right = bbpe.shard(source, plan.folder.parent / "right", plan.tokenizer, eos=EOS, part_size=2500)
    assert bbpe.finish_shards(plan).totals == right.totals
    assert digests(plan.folder) == digests(right.plan.folder)


def digests(folder: Path) -> dict[str, str]:
    return {path.name: hashlib.sha256(path.read_bytes()).hexdigest() for path in folder.iterdir() if path.is_file()}


def slowly(seconds: float) -> Callable[[Any, int], int]:
    """A function that is pickled by value, for workers do not have this module."""

    def work(folder: Any, number: int) -> int:
        import time

        import bbpe
        from bbpe.shards.plan import open_plan

        time.sleep(seconds)
        return bbpe.shard_part(open_plan(folder), number).tokens

    return work


def test_a_ray_cluster_of_three_loses_a_node(plan: bbpe.ShardPlan) -> None:
    ray, cluster_utils = pytest.importorskip("ray"), pytest.importorskip("ray.cluster_utils")
    os.environ.setdefault("RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO", "0")
    cluster = cluster_utils.Cluster(initialize_head=True, head_node_args={"num_cpus": 1, "include_dashboard": False})
    try:
        nodes = [cluster.add_node(num_cpus=1) for _ in range(2)]
        ray.init(address=cluster.address, log_to_driver=False, logging_level="error")
        cluster.wait_for_nodes()
        with bbpe.ray.RayExecutor() as executor:
            assert executor._max_workers == 3
            done = []
            for number, _ in HandOut(executor).results(partial(slowly(0.4), plan.folder), range(len(plan))):
                done.append(number)
                if len(done) == 3:
                    cluster.remove_node(nodes[0])
            assert executor._max_workers == 2
    finally:
        ray.shutdown()
        cluster.shutdown()
    check(plan, done)


def test_ray_data_maps_parts(plan: bbpe.ShardPlan) -> None:
    ray = pytest.importorskip("ray")
    pytest.importorskip("ray.data")
    ray.init(num_cpus=2, include_dashboard=False, log_to_driver=False, logging_level="error")
    try:
        work = partial(slowly(0), plan.folder)
        rows = ray.data.range(len(plan)).map(lambda row: {"part": row["id"], "tokens": work(row["id"])}).take_all()
    finally:
        ray.shutdown()
    check(plan, [row["part"] for row in rows])


def test_a_dask_worker_is_killed(plan: bbpe.ShardPlan) -> None:
    distributed = pytest.importorskip("distributed")
    with (
        distributed.LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=None) as cluster,
        distributed.Client(cluster) as client,
    ):
        done = []
        results = HandOut(client.get_executor()).results(partial(slowly(0.2), plan.folder), range(len(plan)))
        for number, _ in results:
            done.append(number)
            if len(done) == 3:
                os.kill(next(iter(client.run(os.getpid).values())), signal.SIGKILL)
    check(plan, done)


def test_spark_maps_parts(plan: bbpe.ShardPlan) -> None:
    sql = pytest.importorskip("pyspark.sql")
    os.environ["PYSPARK_PYTHON"] = sys.executable
    spark = sql.SparkSession.builder.master("local[2]").config("spark.ui.enabled", "false").getOrCreate()
    try:
        work = partial(slowly(0), plan.folder)
        numbers = spark.sparkContext.range(len(plan), numSlices=len(plan))
        done = numbers.map(lambda number: (number, work(number))).collect()
    finally:
        spark.stop()
    check(plan, [number for number, _ in done])


def test_datasets_reads_parquet_and_maps_with_a_tokenizer(corpus: Path, tmp_path: Path, tok: bbpe.Tokenizer) -> None:
    datasets = pytest.importorskip("datasets")
    done = bbpe.shard(corpus, tmp_path / "out", tok, eos=EOS, format="parquet", part_size=2500)
    files = sorted(map(str, done.plan.folder.glob("part-*.parquet")))
    options: Any = {"split": "train", "cache_dir": str(tmp_path / "cache")}
    rows = datasets.load_dataset("parquet", data_files=files, **options)
    assert rows["input_ids"][:] == [ids.tolist() for ids in done]
    texts = datasets.load_dataset("json", data_files=str(corpus), **options).filter(lambda row: row["text"])

    def encode(batch: Any) -> Any:
        return {"input_ids": [[*ids, tok.token_to_id(EOS)] for ids in tok.encode_batch(batch["text"])]}

    assert texts.map(encode, batched=True, num_proc=2)["input_ids"][:] == rows["input_ids"][:]


def test_datatrove_writes_the_same_bytes(corpus: Path, tmp_path: Path, tok: bbpe.Tokenizer) -> None:
    tokens, data = pytest.importorskip("datatrove.pipeline.tokens"), pytest.importorskip("datatrove.data")
    tok.save(tmp_path / "tok.json")
    kept = [text for text in TEXTS if text]
    step = tokens.DocumentTokenizer(
        str(tmp_path / "theirs"), tokenizer_name_or_path=str(tmp_path / "tok.json"), eos_token=EOS,
        shuffle_documents=False, save_filename="x",
    )  # fmt: skip
    step.run((data.Document(text=text, id=str(number)) for number, text in enumerate(kept)), 0, 1)
    bbpe.shard(corpus, tmp_path / "ours", tok, eos=EOS, format="datatrove", allowed_special="all")
    for suffix in (".ds", ".ds.index"):
        (theirs,) = (path for path in (tmp_path / "theirs").iterdir() if path.name.endswith(suffix))
        assert theirs.read_bytes() == (tmp_path / "ours" / f"part-00000{suffix}").read_bytes()


def indexed_dataset() -> Any:
    """Megatron's module alone: of torch it needs no more than names, and its package asks for a GPU."""
    spec = importlib.util.find_spec("megatron")
    if spec is None or not spec.submodule_search_locations:
        pytest.skip("could not import 'megatron'")
    names = {
        "torch": {"Tensor": object}, "torch.utils": {}, "torch.utils.data": {"Dataset": object},
        "torch.distributed": {"is_available": lambda: False, "is_initialized": lambda: False},
        "megatron.core.datasets.object_storage_utils": dict.fromkeys(
            ("S3Config", "ObjectStorageConfig", "cache_index_file", "dataset_exists", "get_index_cache_path",
             "get_object_storage_access", "parse_s3_path"), None) | {"is_object_storage_path": lambda path: False},
        "megatron.core.msc_utils": {
            "MultiStorageClientFeature": type("Off", (), {"is_enabled": staticmethod(lambda: False)})
        },
        "megatron.core.utils": {"log_single_rank": lambda *arguments, **options: None},
        "megatron.core": {}, "megatron.core.datasets": {},
    }  # fmt: skip
    with pytest.MonkeyPatch.context() as patch:
        for name, attributes in names.items():
            module: Any = ModuleType(name)
            module.__path__ = []
            vars(module).update(attributes)
            patch.setitem(sys.modules, name, module)
        torch: Any = sys.modules["torch"]
        vars(torch).update(utils=sys.modules["torch.utils"], distributed=sys.modules["torch.distributed"])
        vars(torch.utils).update(data=sys.modules["torch.utils.data"])
        path = Path(next(iter(spec.submodule_search_locations)), "core/datasets/indexed_dataset.py")
        found = importlib.util.spec_from_file_location("indexed_dataset", path)
        assert found is not None
        assert found.loader is not None
        module = importlib.util.module_from_spec(found)
        found.loader.exec_module(module)
    return module


@pytest.mark.parametrize("dtype", ["uint16", "int32"])
def test_megatron_writes_and_reads_the_same(dtype: str, corpus: Path, tmp_path: Path, tok: bbpe.Tokenizer) -> None:
    theirs = indexed_dataset()
    done = bbpe.shard(corpus, tmp_path / "out", tok, eos=EOS, allowed_special="all", empty="keep", dtype=dtype)

    builder = theirs.IndexedDatasetBuilder(str(tmp_path / "theirs.bin"), dtype=np.dtype(dtype).type)
    for text in TEXTS:
        ids = tok.encode(text, allowed_special="all")
        builder.add_document([*ids, tok.token_to_id(EOS)] if ids else [], [len(ids) + 1] if ids else [])
    builder.finalize(str(tmp_path / "theirs.idx"))
    for suffix in (".bin", ".idx"):
        ours = (done.plan.folder / f"part-00000{suffix}").read_bytes()
        assert ours == (tmp_path / f"theirs{suffix}").read_bytes()
    rows = theirs.IndexedDataset(str(done.plan.folder / "part-00000"))
    kept = [ids.tolist() for ids in done if len(ids)]
    assert [rows[number].tolist() for number in range(len(rows))] == kept


DOCUMENTS = [[*range(number, number + number % 7), 0] for number in range(1, 300)]


def converted(source: bbpe.ShardFiles, folder: Path) -> list[list[int]]:
    """The documents after a conversion to other shards, which have as many parts."""
    done = bbpe.convert_shards(source, folder, format="datatrove", dtype="uint32", part_size=1500, threads=1)
    assert len(done.plan) > 1
    return [ids.tolist() for ids in done]


@pytest.mark.parametrize("dtype", ["uint16", "int32", "int64"])
def test_shards_of_megatron_are_converted(dtype: str, tmp_path: Path) -> None:
    """Documents of several sequences, of the numbers that Megatron writes; and its reader gets ours."""
    theirs = indexed_dataset()
    builder = theirs.IndexedDatasetBuilder(str(tmp_path / "a.bin"), dtype=np.dtype(dtype).type)
    for document in DOCUMENTS:
        half = len(document) // 2
        builder.add_document(document, [half, len(document) - half] if half else [len(document)])
    builder.finalize(str(tmp_path / "a.idx"))
    source = bbpe.open_shards(tmp_path / "a", format="megatron", eos=0)
    assert converted(source, tmp_path / "out") == DOCUMENTS
    done = bbpe.convert_shards(source, tmp_path / "back", format="megatron", part_size=900, threads=1)
    found = []
    for number in range(len(done.plan)):
        rows = theirs.IndexedDataset(str(done.plan.stem(number)))
        found += [rows[row].tolist() for row in range(len(rows))]
    assert found == DOCUMENTS


def test_shards_of_litdata_are_converted(tmp_path: Path) -> None:
    writers, loaders = (pytest.importorskip(f"litdata.streaming.{name}") for name in ("writer", "item_loader"))
    torch = pytest.importorskip("torch")
    (tmp_path / "in").mkdir()
    writer = writers.BinaryWriter(str(tmp_path / "in"), chunk_bytes=3000, item_loader=loaders.TokensLoader())
    for number, document in enumerate(DOCUMENTS):
        writer[number] = torch.tensor(document, dtype=torch.int32)
    writer.done()
    writer.merge()
    assert converted(bbpe.open_shards(tmp_path / "in", format="litdata"), tmp_path / "out") == DOCUMENTS


@pytest.mark.parametrize("kind", ["ndarray:uint32", "ndarray", "bytes"])
def test_shards_of_mosaicml_are_converted(kind: str, tmp_path: Path) -> None:
    try:
        from streaming import MDSWriter
    except (ImportError, RuntimeError) as error:
        pytest.skip(f"could not import 'streaming': {error}")
    with MDSWriter(out=str(tmp_path / "in"), columns={"input_ids": kind, "a": "str"}, size_limit=3000) as writer:
        for number, document in enumerate(DOCUMENTS):
            ids = np.array(document, "uint32")
            writer.write({"input_ids": ids.tobytes() if kind == "bytes" else ids, "a": "t" * (number % 5)})
    dtype = "uint32" if kind == "bytes" else None
    source = bbpe.open_shards(tmp_path / "in", format="mds", dtype=dtype)
    assert converted(source, tmp_path / "out") == DOCUMENTS


def test_shards_of_datatrove_are_converted(tmp_path: Path) -> None:
    tokenization = pytest.importorskip("datatrove.pipeline.tokens.tokenizer")
    file = tokenization.TokenizedFile(str(tmp_path), "a.ds", token_size=4)
    for document in DOCUMENTS:
        file.write(document, None)
    file.close()
    file.write_final_metadata()
    assert converted(bbpe.open_shards(tmp_path / "a.ds", format="datatrove"), tmp_path / "out") == DOCUMENTS
