"""Shards: what is written, by readers of each layout that know nothing of bbpe, and what is refused."""

from __future__ import annotations

import bz2
import csv
import errno
import functools
import gzip
import hashlib
import itertools
import json
import lzma
import operator
import struct
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import bbpe
from bbpe.shards.documents import DocumentEncoder
from bbpe.shards.formats import FORMATS
from bbpe.shards.outputs import Output

EOS = "<|endoftext|>"
TEXTS = ["low", "", "slow lower\n", "\u00e9\u6f22\u5b57", f"a{EOS}b", None, "lowest " * 30, "x"] * 12
Rows = list[list[int]]


@pytest.fixture(scope="module")
def tok() -> bbpe.Tokenizer:
    return bbpe.train_from_iterator(["low lower lowest slow"] * 3, 280, special_tokens=[EOS, "<s>"])


@pytest.fixture
def corpus(tmp_path: Path) -> Path:
    path = tmp_path / "a.jsonl"
    path.write_text("".join(json.dumps({"id": i, "text": text}) + "\n" for i, text in enumerate(TEXTS)))
    return path


def expected(tok: bbpe.Tokenizer, *, keep: bool = False, bos: int | None = None) -> Rows:
    eos, before = tok.token_to_id(EOS), [] if bos is None else [bos]
    return [[*before, *tok.encode(text), eos] if text else [] for text in TEXTS if text or (keep and text == "")]


# -- readers that were written from the layouts -------------------------------------------------------


def of_megatron(folder: Path, stem: str, dtype: str) -> Rows:
    index, data = (folder / f"{stem}.idx").read_bytes(), (folder / f"{stem}.bin").read_bytes()
    assert index[:9] == b"MMIDIDX\0\0"
    version, code, sequences, bounds = struct.unpack_from("<QBQQ", index, 9)
    assert (version, code) == (1, {"uint16": 8, "int32": 4}[dtype])
    assert len(index) == 34 + 12 * sequences + 8 * bounds
    lengths = struct.unpack_from(f"<{sequences}i", index, 34)
    begins = struct.unpack_from(f"<{sequences}q", index, 34 + 4 * sequences)
    documents = struct.unpack_from(f"<{bounds}q", index, 34 + 12 * sequences)
    assert documents[0] == 0
    assert documents[-1] == sequences
    rows = [np.frombuffer(data, dtype, n, at).tolist() for n, at in zip(lengths, begins, strict=True)]
    return [functools.reduce(operator.iadd, rows[first:last], []) for first, last in itertools.pairwise(documents)]


def by_lens(ids: Any, folder: Path, stem: str) -> Rows:
    lengths = np.fromfile(folder / f"{stem}.lens", "<i4")
    assert lengths.sum() == len(ids)
    return [part.tolist() for part in np.split(ids, np.cumsum(lengths)[:-1])] if len(lengths) else []


def of_llmc(folder: Path, stem: str, dtype: str) -> Rows:
    data = (folder / f"{stem}.bin").read_bytes()
    head = np.frombuffer(data[:1024], "<i4")
    ids = np.frombuffer(data[1024:], dtype)
    assert head[:3].tolist() == [*{"uint16": (20240520, 1), "uint32": (20240801, 7)}[dtype], len(ids)]
    assert not head[3:].any()
    return by_lens(ids, folder, stem)


def of_automodel(folder: Path, stem: str, dtype: str) -> Rows:
    data = (folder / f"{stem}.bin").read_bytes()
    head = np.frombuffer(data[:1024], "<i4")
    ids = np.frombuffer(data[1024:], dtype)
    assert head[:4].tolist() == [278895051, 1, len(ids), ids.itemsize]
    assert not head[4:].any()
    rows = by_lens(ids, folder, stem)
    begins = [0, *itertools.accumulate(map(len, rows))]
    places = np.fromfile(folder / f"{stem}.bos.idx", "<i4").tolist()
    assert places == [begin for begin, row in zip(begins, rows, strict=False) if row]
    return rows


def of_olmo(folder: Path, stem: str, dtype: str) -> Rows:
    ids = np.fromfile(folder / f"{stem}.npy", dtype)
    with gzip.open(folder / f"{stem}.csv.gz", "rt") as file:
        bounds = [(int(row[0]), int(row[1])) for row in csv.reader(file)]
    return [ids[start:end].tolist() for start, end in bounds]


def of_datatrove(folder: Path, stem: str, dtype: str) -> Rows:
    ids, ends = np.fromfile(folder / f"{stem}.ds", dtype), np.fromfile(folder / f"{stem}.ds.index", "<u8")
    name, count, _ = (folder / f"{stem}.ds.metadata").read_text().split("\n")
    assert (int(name.split("|")[1]), int(count)) == (ids.itemsize, len(ids))
    return [part.tolist() for part in np.split(ids, ends[:-1].astype(int))] if len(ends) else []


def of_parquet(folder: Path, stem: str, dtype: str) -> Rows:
    parquet = pytest.importorskip("pyarrow.parquet")
    table = parquet.read_table(folder / f"{stem}.parquet")
    assert str(table.schema.field("input_ids").type).replace("element", "item") == "list<item: int32>"
    rows: Rows = table.column("input_ids").to_pylist()
    return rows


READERS: dict[str, Callable[[Path, str, str], Rows]] = {
    "megatron": of_megatron,
    "nanogpt": lambda folder, stem, dtype: by_lens(np.fromfile(folder / f"{stem}.bin", dtype), folder, stem),
    "llmc": of_llmc,
    "automodel": of_automodel,
    "olmo": of_olmo,
    "datatrove": of_datatrove,
    "numpy": lambda folder, stem, dtype: by_lens(np.load(folder / f"{stem}.npy"), folder, stem),
    "parquet": of_parquet,
}
WIDE = {"megatron": "int32", "parquet": "int32"}
by_format = pytest.mark.parametrize("name", READERS)


def read(done: bbpe.Shards) -> Rows:
    plan, rows = done.plan, []
    for number in range(len(plan)):
        rows += READERS[plan.policy.format](plan.folder, f"part-{number:05d}", plan.policy.dtype)
    return rows


def digests(folder: Path) -> dict[str, str]:
    """The digest of every file of ids, and what records say of them."""
    assert not list(folder.glob(".*"))
    found = {path.name: hashlib.sha256(path.read_bytes()).hexdigest() for path in sorted(folder.glob("part-*"))}
    for path in folder.glob("part-*.json"):
        for name, file in json.loads(path.read_bytes())["files"].items():
            assert file == {"size": (folder / name).stat().st_size, "sha256": found[name]}
    return found


@by_format
def test_files_have_the_layout(name: str, corpus: Path, tmp_path: Path, tok: bbpe.Tokenizer) -> None:
    for number, options in enumerate(({"dtype": WIDE.get(name, "uint32")}, {"bos": "<s>", "empty": "keep"})):
        done = bbpe.shard(
            corpus, tmp_path / str(number), tok, format=name, eos=EOS, part_size=1500, threads=1, **options
        )
        bos = tok.token_to_id("<s>") if "bos" in options else None
        rows = expected(tok, keep="empty" in options, bos=bos)
        assert read(done) == rows
        assert [ids.tolist() for ids in done] == rows
        assert len(done.plan) > 2
        totals = done.totals
        assert (totals.null, totals.empty) == (12, 0 if "empty" in options else 12)
        assert totals.tokens == sum(map(len, rows))
        assert totals.text == sum(len(text.encode()) for text in TEXTS if text)
        assert [done[number].tolist() for number in (0, 7, -1)] == [rows[0], rows[7], rows[-1]]
        assert len(bbpe.load_shards(done.plan.folder)) == len(rows) == len(done)


def test_every_format_has_an_independent_reader() -> None:
    assert READERS.keys() == FORMATS.keys()


OTHERS = [pytest.param(name, marks=pytest.mark.full) for name in READERS if name not in ("megatron", "llmc")]


@pytest.mark.parametrize("name", ["megatron", "llmc", *OTHERS])
def test_bytes_depend_on_the_plan_alone(name: str, corpus: Path, tmp_path: Path, tok: bbpe.Tokenizer) -> None:
    options: Any = {"format": name, "eos": EOS, "part_size": 700}
    right = digests(bbpe.shard(corpus, tmp_path / "one", tok, threads=1, **options).plan.folder)
    assert digests(bbpe.shard(corpus, tmp_path / "four", tok, threads=4, **options).plan.folder) == right
    with ThreadPoolExecutor(2) as executor:
        found = bbpe.shard(corpus, tmp_path / "by", tok, executor=executor, in_flight=3, **options)
    assert digests(found.plan.folder) == right
    plan = bbpe.plan_shards(corpus, tmp_path / "parts", tok, **options)
    for number in [*reversed(range(len(plan))), 0]:
        bbpe.shard_part(plan, number)
    assert digests(bbpe.finish_shards(plan).plan.folder) == right
    (plan.folder / "part-00001.json").unlink()
    assert digests(bbpe.shard(corpus, plan.folder, tok, **options).plan.folder) == right


def test_more_parts_than_blocks_of_threads(tmp_path: Path, tok: bbpe.Tokenizer) -> None:
    """One part that several threads encode a block at a time."""
    path = tmp_path / "a.jsonl"
    path.write_text("".join(json.dumps({"text": "slow lower " * 30}) + "\n" for _ in range(12_000)))
    right = digests(bbpe.shard(path, tmp_path / "one", tok, threads=1).plan.folder)
    assert digests(bbpe.shard(path, tmp_path / "four", tok, threads=4).plan.folder) == right


# -- sources ------------------------------------------------------------------------------------------


def pack_zstd(data: bytes) -> bytes:
    packed: bytes = pytest.importorskip("zstandard").ZstdCompressor().compress(data)
    return packed


PACKERS = {".gz": gzip.compress, ".bz2": bz2.compress, ".xz": lzma.compress, ".zst": pack_zstd}


@pytest.mark.parametrize("suffix", PACKERS)
def test_compressed_lines(suffix: str, corpus: Path, tmp_path: Path, tok: bbpe.Tokenizer) -> None:
    path = tmp_path / f"b.jsonl{suffix}"
    path.write_bytes(PACKERS[suffix](corpus.read_bytes()))
    assert read(bbpe.shard(path, tmp_path / "out", tok, eos=EOS)) == expected(tok)
    path.write_bytes(PACKERS[suffix](corpus.read_bytes())[:-9])
    with pytest.raises(bbpe.CorpusError, match=r"b\.jsonl"):
        bbpe.shard(path, tmp_path / "cut", tok, eos=EOS)
    assert not list((tmp_path / "cut").glob("part-*"))


def test_parquet_is_cut_between_row_groups(tmp_path: Path, tok: bbpe.Tokenizer) -> None:
    pa, parquet = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
    path = tmp_path / "a.parquet"
    parquet.write_table(pa.table({"body": TEXTS}), path, row_group_size=7)
    done = bbpe.shard(path, tmp_path / "out", tok, eos=EOS, text_field="body", part_size=600)
    assert read(done) == expected(tok)
    assert len(done.plan) > 2
    assert done.totals.input == path.stat().st_size


def test_text_files_are_documents_or_their_lines_are(tmp_path: Path, tok: bbpe.Tokenizer) -> None:
    texts = ["low\nlower\n\nslow", "", "lowest\n"]
    for name, text in zip("abc", texts, strict=True):
        (tmp_path / f"{name}.txt").write_text(text)
    eos = tok.token_to_id(EOS)
    done = bbpe.shard(tmp_path / "*.txt", tmp_path / "files", tok, eos=EOS)
    assert read(done) == [[*tok.encode(text), eos] for text in texts if text]
    assert done.totals.empty == 1
    done = bbpe.shard(tmp_path / "*.txt", tmp_path / "lines", tok, eos=EOS, document="line", part_size=6)
    lines = [line for text in texts for line in text.splitlines(keepends=True)]
    assert read(done) == [[*tok.encode(line), eos] for line in lines]
    assert len(done.plan) > 1


def test_special_tokens_in_texts_are_text_unless_allowed(corpus: Path, tmp_path: Path, tok: bbpe.Tokenizer) -> None:
    eos = tok.token_to_id(EOS)
    plain = bbpe.shard(corpus, tmp_path / "plain", tok, eos=EOS)
    found = bbpe.shard(corpus, tmp_path / "found", tok, eos=EOS, allowed_special="all")
    assert sum(int((ids == eos).sum()) for ids in plain) == len(plain)
    assert sum(int((ids == eos).sum()) for ids in found) == len(found) + 12
    right = [[*tok.encode(text, allowed_special="all"), eos] for text in TEXTS if text]
    assert read(found) == right
    some = bbpe.shard(corpus, tmp_path / "some", tok, eos=EOS, allowed_special={"<s>"})
    assert read(some) == expected(tok)


def test_a_tokenizer_with_rules_encodes_through_them(corpus: Path, tmp_path: Path) -> None:
    tok = bbpe.train_from_iterator(["low lower lowest slow"] * 3, 290, model="unigram")
    done = bbpe.shard(corpus, tmp_path / "out", tok)
    assert read(done) == [tok.encode(text) for text in TEXTS if text]
    tok = bbpe.train_from_iterator(["low lower lowest slow"] * 3, 280, pattern=r"\p{L}+(?=\p{N})|\p{L}+|\P{L}")
    assert read(bbpe.shard(corpus, tmp_path / "regex", tok)) == [tok.encode(text) for text in TEXTS if text]


# -- what is refused ----------------------------------------------------------------------------------


def test_wrong_arguments_are_refused_by_name(corpus: Path, tmp_path: Path, tok: bbpe.Tokenizer) -> None:
    for options, said in (
        ({"format": "mds"}, "format is 'mds'; expected 'megatron'"),
        ({"format": "nanogpt"}, "eos and bos are None; the format 'nanogpt'"),
        ({"eos": "</s>"}, "eos is '</s>', which is no token; special tokens are '<|endoftext|>', '<s>'"),
        ({"eos": 5000}, "eos is 5000; expected 0 to"),
        ({"dtype": "uint32"}, "dtype is 'uint32'; the format 'megatron' has 'uint16', 'int32'"),
        ({"document": "row"}, "document is 'row'"),
        ({"empty": "drop"}, "empty is 'drop'"),
        ({"on_error": "warn"}, "on_error is 'warn'"),
        ({"part_size": 0}, "0 bytes"),
        ({"attempts": 0}, "attempts is 0"),
        ({"allowed_special": {"</s>"}}, "</s>"),
    ):
        with pytest.raises(ValueError, match=said.replace("|", r"\|").replace("(", r"\(")):
            bbpe.shard(corpus, tmp_path / "out", tok, **options)
    with pytest.raises(TypeError, match="eos must be a token or its id, not float"):
        bbpe.shard(corpus, tmp_path / "out", tok, eos=1.0)
    with pytest.raises(bbpe.CorpusError, match=r"the folder of the shards holds .*jsonl of the corpus"):
        bbpe.shard(corpus, tmp_path, tok)
    assert not (tmp_path / "out").exists()


def test_another_plan_on_the_same_folder_is_refused_by_its_differences(
    corpus: Path, tmp_path: Path, tok: bbpe.Tokenizer
) -> None:
    bbpe.shard(corpus, tmp_path / "out", tok, eos=EOS)
    other = bbpe.train_from_iterator(["other"], 270, special_tokens=[EOS])
    for given, options, said in (
        (tok, {}, "eos 2[0-9]+ and None"),
        (tok, {"eos": EOS, "format": "llmc"}, "format 'megatron' and 'llmc'"),
        (tok, {"eos": EOS, "empty": "keep"}, "empty 'skip' and 'keep'"),
        (other, {"eos": EOS}, "fingerprint"),
    ):
        with pytest.raises(bbpe.CorpusError, match=f"the folder has another plan, with .*{said}"):
            bbpe.shard(corpus, tmp_path / "out", given, **options)


def test_a_file_that_changed_is_refused(corpus: Path, tmp_path: Path, tok: bbpe.Tokenizer) -> None:
    plan = bbpe.plan_shards(corpus, tmp_path / "out", tok, eos=EOS)
    corpus.write_text(corpus.read_text() + '{"text": "more"}\n')
    with pytest.raises(bbpe.CorpusError, match=r"a\.jsonl: the file has [0-9,]+ bytes, and had [0-9,]+ since the plan"):
        bbpe.shard_part(plan, 0)
    assert [path.name for path in (tmp_path / "out").glob("part-*")] == ["part-00000.failed"]
    # no part is done, so a new plan takes its place
    done = bbpe.shard(corpus, tmp_path / "out", tok, eos=EOS)
    assert done[-1].tolist() == [*tok.encode("more"), tok.token_to_id(EOS)]
    corpus.write_text(corpus.read_text() + '{"text": "more"}\n')
    with pytest.raises(bbpe.CorpusError, match=r"another plan, with file .*a\.jsonl of [0-9,]+ and [0-9,]+ bytes"):
        bbpe.shard(corpus, tmp_path / "out", tok, eos=EOS)


def test_lines_that_cannot_be_read_end_the_run_or_are_listed(tmp_path: Path, tok: bbpe.Tokenizer) -> None:
    path = tmp_path / "a.jsonl"
    lines = [json.dumps({"text": f"text {number}"}) for number in range(40)]
    lines[7], lines[30] = '{"text": 7}', "{"
    path.write_text("\n".join(lines) + "\n")
    with pytest.raises(bbpe.CorpusError, match="line 8: field 'text' is int"):
        bbpe.shard(path, tmp_path / "raise", tok, part_size=200)
    done = bbpe.shard(path, tmp_path / "skip", tok, part_size=200, on_error="skip")
    assert (done.totals.refused, done.documents, done.totals.records) == (2, 38, 40)
    listed = [json.loads(line) for line in (tmp_path / "skip" / "skipped.jsonl").read_text().splitlines()]
    assert [(Path(row["file"]).name, row["line"]) for row in listed] == [("a.jsonl", 8), ("a.jsonl", 31)]
    assert "expected a JSON object" in listed[1]["error"]
    # many in one part, up to a limit
    path.write_text("{\n" * 1005)
    plan = bbpe.plan_shards(path, tmp_path / "many", tok, on_error="skip")
    record = bbpe.shard_part(plan, 0)
    assert (record.refused, [row["line"] for row in record.skipped]) == (1005, list(range(1, 1001)))


def test_missing_and_damaged_files_are_named(corpus: Path, tmp_path: Path, tok: bbpe.Tokenizer) -> None:
    plan = bbpe.plan_shards(corpus, tmp_path / "out", tok, eos=EOS, part_size=900)
    bbpe.shard_part(plan, 0)
    with pytest.raises(bbpe.CorpusError, match=rf"{len(plan) - 1} of {len(plan)} parts are missing"):
        bbpe.load_shards(plan.folder)
    with pytest.raises(bbpe.CorpusError, match=rf"lack files; `bbpe shard -o .* --part 1-{len(plan) - 1}` writes them"):
        bbpe.finish_shards(plan)
    with pytest.raises(ValueError, match=f"part is {len(plan)}; expected 0 to"):
        bbpe.shard_part(plan, len(plan))
    with pytest.raises(FileNotFoundError, match=r"no such folder.*nowhere"):
        bbpe.load_shards(tmp_path / "nowhere")
    stored = plan.folder / "plan.json"
    stored.write_text(stored.read_text().replace('"eos": 2', '"eos": 1'))
    with pytest.raises(bbpe.CorpusError, match=r"plan\.json: the plan was changed"):
        bbpe.load_shards(plan.folder)


def test_no_part_is_small_and_ranges_are_the_whole_corpus(tmp_path: Path, tok: bbpe.Tokenizer) -> None:
    for number in range(9):
        size = 40 * (number + 1) ** 2
        (tmp_path / f"{number}.jsonl").write_text("".join(f'{{"text": "{n}"}}\n' for n in range(size)))
    total = sum(path.stat().st_size for path in tmp_path.glob("*.jsonl"))
    for size in (300, 1000, 5000, 20_000, 1 << 20):
        plan = bbpe.plan_shards(tmp_path / "*.jsonl", tmp_path / str(size), tok, part_size=size)
        reads = [sum(source.read for source in part) for part in plan.parts]
        assert sum(reads) == plan.size == total
        assert len(reads) == 1 or min(reads) >= size / 3
        assert max(reads) <= 2 * size
    done = bbpe.shard(tmp_path / "*.jsonl", tmp_path / "5000", tok, part_size=5000)
    assert done.documents == sum(40 * (number + 1) ** 2 for number in range(9))


def test_a_small_rest_goes_to_the_part_before_it(tmp_path: Path, tok: bbpe.Tokenizer) -> None:
    for rest, sizes in ((100, [1000, 1000, 1100]), (498, [1000, 1000, 1498]), (500, [1000, 1000, 1000, 500])):
        folder = tmp_path / str(rest)
        folder.mkdir()
        for number, size in enumerate((1000, 1000, 1000, rest)):
            (folder / f"{number}.txt").write_text("l" * size)
        plan = bbpe.plan_shards(folder, tmp_path / f"out {rest}", tok, part_size=1000)
        assert [sum(source.read for source in part) for part in plan.parts] == sizes


def test_a_full_disk_leaves_nothing_and_the_run_goes_on(
    corpus: Path, tmp_path: Path, tok: bbpe.Tokenizer, monkeypatch: pytest.MonkeyPatch
) -> None:
    right = digests(bbpe.shard(corpus, tmp_path / "right", tok, eos=EOS, part_size=900).plan.folder)
    written = 0

    def full(self: Output, data: Any) -> int:
        nonlocal written
        written += 1
        if written == 9:
            raise OSError(errno.ENOSPC, "No space left on device", str(tmp_path / "out"))
        return write(self, data)

    write = Output.write
    monkeypatch.setattr(Output, "write", full)
    with pytest.raises(OSError, match="No space left") as caught:
        bbpe.shard(corpus, tmp_path / "out", tok, eos=EOS, part_size=900, threads=1)
    assert caught.value.errno == errno.ENOSPC
    assert not list((tmp_path / "out").glob(".*"))
    monkeypatch.undo()
    found = {name: digest for name, digest in digests(tmp_path / "out").items() if not name.endswith(".failed")}
    assert found.items() <= right.items()
    (failed,) = bbpe.shards_status(tmp_path / "out").failed
    assert "No space left" in failed.message
    assert digests(bbpe.shard(corpus, tmp_path / "out", tok, eos=EOS, part_size=900).plan.folder) == right


def test_a_file_that_grows_while_it_is_read_is_refused(
    corpus: Path, tmp_path: Path, tok: bbpe.Tokenizer, monkeypatch: pytest.MonkeyPatch
) -> None:
    def grows(self: DocumentEncoder, event: Any) -> Any:
        with corpus.open("a") as file:
            file.write('{"text": "more"}\n')
        return encoded(self, event)

    encoded = DocumentEncoder._encoded
    monkeypatch.setattr(DocumentEncoder, "_encoded", grows)
    with pytest.raises(bbpe.CorpusError, match=r"a\.jsonl"):
        bbpe.shard(corpus, tmp_path / "out", tok, eos=EOS)
    assert [path.name for path in (tmp_path / "out").glob("part-*")] == ["part-00000.failed"]
