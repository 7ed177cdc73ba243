"""The recipes of docs/windows.md: data loaders of other libraries give every row, and go on where they were."""

from __future__ import annotations

import itertools
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import bbpe


@pytest.fixture(scope="module")
def shards(tmp_path_factory: pytest.TempPathFactory) -> bbpe.Shards:
    folder = tmp_path_factory.mktemp("recipes")
    tok = bbpe.train_from_iterator(["see my eyes first"] * 3, 262, special_tokens=["<pad>"])
    texts = ["see my eyes " * (number % 9 + 1) for number in range(60)]
    (folder / "a.jsonl").write_text("".join(json.dumps({"text": text}) + "\n" for text in texts))
    return bbpe.shard(folder / "a.jsonl", folder / "out", tok, part_size=900, threads=1)


def rows_of(shards: bbpe.Shards) -> list[Any]:
    return [shards.windows(16, shuffle=3, dtype="int64"), shards.bins(64, shuffle=3, pad="<pad>", dtype="int64")]


def ids_of(batches: Any) -> list[list[int]]:
    return [row.tolist() for batch in batches for row in batch["input_ids"]]


@pytest.mark.engines
@pytest.mark.parametrize(("workers", "context"), [(0, None), (2, "fork"), (2, "spawn")])
def test_a_data_loader_gives_every_row(shards: bbpe.Shards, workers: int, context: Any) -> None:
    data = pytest.importorskip("torch.utils.data")
    for rows in rows_of(shards):
        expected = [row["input_ids"].tolist() for row in rows]
        options = {"batch_size": 4, "num_workers": workers, "multiprocessing_context": context}
        assert ids_of(data.DataLoader(rows, **options)) == expected
        stream = rows.stream(batch=4)
        assert ids_of(data.DataLoader(stream.torch_dataset(), **options)) == expected
        # stopped after three batches, and continued without workers
        loader = iter(data.DataLoader(rows.stream(batch=4).torch_dataset(), **options))
        first = ids_of(itertools.islice(loader, 3))
        del loader
        later = rows.stream(batch=4)
        later.load_state_dict(rows.stream(batch=4).state_dict(batches=3))
        rest = ids_of(data.DataLoader(later.torch_dataset(), batch_size=4))
        assert first + rest == expected


@pytest.mark.engines
@pytest.mark.filterwarnings("ignore:.*is deprecated, please do not call")
@pytest.mark.parametrize("workers", [0, 2])
def test_a_stateful_data_loader_goes_on(shards: bbpe.Shards, workers: int) -> None:
    pytest.importorskip("torch")
    stateful = pytest.importorskip("torchdata.stateful_dataloader").StatefulDataLoader
    rows = rows_of(shards)[0]

    def loader() -> Any:
        return stateful(rows.stream(batch=4).torch_dataset(), batch_size=4, num_workers=workers)

    expected = [row["input_ids"].tolist() for row in rows]
    begun = loader()
    first = ids_of(itertools.islice(begun, 3))
    again = loader()
    again.load_state_dict(begun.state_dict())
    assert first + ids_of(again) == expected


@pytest.mark.engines
def test_grain_takes_rows_as_a_source(shards: bbpe.Shards) -> None:
    grain = pytest.importorskip("grain")
    for rows in rows_of(shards):
        expected = np.stack([row["input_ids"] for row in rows[:8]])
        batches = list(grain.MapDataset.source(rows).batch(4))
        assert np.concatenate([batch["input_ids"] for batch in batches[:2]]).tolist() == expected.tolist()
        assert sum(len(batch["input_ids"]) for batch in batches) == len(rows)


def test_datasets_takes_rows_from_a_generator(shards: bbpe.Shards) -> None:
    datasets = pytest.importorskip("datasets")
    for rows in rows_of(shards):
        data = datasets.IterableDataset.from_generator(lambda rows=rows: iter(rows))
        assert [np.asarray(row["input_ids"]).tolist() for row in data] == [row["input_ids"].tolist() for row in rows]


def test_the_recipes_are_those_of_the_page() -> None:
    page = (Path(__file__).resolve().parents[2] / "docs/windows.md").read_text()
    for line in ("DataLoader(stream.torch_dataset()", "grain.MapDataset.source(rows)", "lambda: iter(rows)"):
        assert line in page
