"""What is shown of folders and mixtures: every line, by hand, and numbers of records where they are needed."""

from __future__ import annotations

import json
import math
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from shard_lines import lines

import bbpe
from bbpe.shards import documents
from bbpe.shards.mixture import Mixture, MixtureSource, Recipe, Share
from bbpe.shards.part import Totals
from bbpe.shards.state import PartFailure
from bbpe.shards.status import ShardsStatus

SOME: dict[str, Any] = {
    "folder": Path("out"), "parts": 2000, "done": 1234, "running": (), "failed": (), "missing": (),
    "totals": Totals(documents=1, tokens=12_345, input=5_000_000), "size": 9_000_000, "rate": None,
    "seconds_left": None, "summed": False, "again": "", "command": "",
}  # fmt: skip
FIRST, SECOND = "1 document, 12,345 tokens, 5.0 MB of 9.0 MB of input", PartFailure(7, "OSError", "no")
STATES: list[tuple[dict[str, Any], list[str]]] = [
    ({}, ["out: 1,234 of 2,000 parts done (61 %)", FIRST]),
    ({"parts": 1, "done": 1}, ["out: 1 of 1 part done", FIRST]),
    ({"parts": 3, "done": 2}, ["out: 2 of 3 parts done (66 %)", FIRST]),
    ({"running": (1, 2), "missing": tuple(range(1500)), "failed": (SECOND,)}, [
        "out: 1,234 of 2,000 parts done (61 %), 2 running, 1 failed, 1,500 missing", FIRST,
        "failed: part 7: OSError: no",
    ]),
    ({"rate": 2_000_000.0, "seconds_left": 125.0, "command": "bbpe shard -o out --finish"}, [
        "out: 1,234 of 2,000 parts done (61 %)", FIRST, "2.0 MB of input per second lately, about 2:05 left",
        "next: bbpe shard -o out --finish",
    ]),
    ({"failed": tuple(PartFailure(number, "OSError", "no") for number in range(12))}, [
        "out: 1,234 of 2,000 parts done (61 %), 12 failed", FIRST,
        *(f"failed: part {number}: OSError: no" for number in range(10)), "failed: 2 more",
    ]),
]  # fmt: skip


@pytest.mark.parametrize(("change", "shown"), STATES)
def test_the_state_of_a_folder(change: dict[str, Any], shown: list[str]) -> None:
    status = ShardsStatus(**{**SOME, **change})
    assert str(status).splitlines() == shown
    record = json.loads(json.dumps(status.as_dict()))
    assert (record["folder"], record["parts"], record["totals"]["tokens"]) == ("out", status.parts, 12_345)
    assert [len(record[name]) for name in ("running", "failed", "missing")] == [
        len(status.running), len(status.failed), len(status.missing),
    ]  # fmt: skip


def test_a_failure_has_its_host_and_time_where_they_are_known(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("time.localtime", time.gmtime)
    assert str(PartFailure(3, "OSError", "no", "node-1", 1_700_000_000.0)) == (
        "part 3 on node-1, 2023-11-14 22:13:20: OSError: no"
    )
    assert str(PartFailure(3, "OSError", "no", "", 1_700_000_000.0)) == "part 3, 2023-11-14 22:13:20: OSError: no"
    assert str(PartFailure(3, "OSError", "no", "node-1")) == "part 3 on node-1: OSError: no"


def test_a_mixture_by_its_numbers() -> None:
    recipe = Recipe((Share("out/web", 2.5, 300), Share("out/code", 1.0, 1000)), True)
    found = Mixture.of(recipe, [(20, 300, 10, 200), (5, 900, 7, 1000)])
    assert found == Mixture(
        (
            MixtureSource("out/web", 2.5, 300, 300, 20, 200, 10, 0.25),
            MixtureSource("out/code", 1.0, 1000, 900, 5, 1000, 7, 0.75),
        ),
        True,
    )
    assert [source.epochs for source in found] == [1.5, 0.9]
    assert Mixture.from_json(json.loads(json.dumps(found.as_dict()))) == found
    assert found.as_dict()["sources"][0]["epochs"] == 1.5
    assert str(found).splitlines() == [
        "source    weight  documents  wanted  tokens  share  epochs",
        "out/web      2.5         20     300     300  25.0%    1.50",
        "out/code       1          5   1,000     900  75.0%    0.90",
    ]
    nothing = Mixture.of(Recipe((Share("a", 1.0, 0),), False), [(0, 0, 0, 0)])
    assert (len(nothing), [(each.share, each.epochs) for each in nothing]) == (1, [(0.0, 0.0)])
    assert math.isclose(sum(source.share for source in found), 1)


@pytest.mark.parametrize("block", [150, 1 << 20])
@pytest.mark.parametrize(
    ("without", "is_listed"), [((), False), ((59,), False), ((0,), True), ((30,), True), ((29, 30, 58), True)]
)
def test_records_are_numbered_where_documents_are_not_all_of_them(
    block: int, without: tuple[int, ...], is_listed: bool, tmp_path: Path, tok: bbpe.Tokenizer,
    monkeypatch: pytest.MonkeyPatch,
) -> None:  # fmt: skip
    """From the first document on for which its number is another; those after the last one do no harm."""
    monkeypatch.setattr(documents, "_BLOCK", block)
    texts = [None if number in without else f"low {number}" for number in range(60)]
    for name in "ab":
        lines(tmp_path / f"{name}.jsonl", texts)
    done = bbpe.shard(tmp_path / "*.jsonl", tmp_path / "out", tok, part_size="1GB", threads=1)
    right = [number for number in range(60) if number not in without]
    assert len(done.plan) == 1
    path = tmp_path / "out/part-00000.rows"
    assert path.exists() == is_listed
    if is_listed:
        assert np.fromfile(path, "<u4").tolist() == right * 2
    found = [done.source(number) for number in range(len(done))]
    assert [(Path(each.path or "").name, each.record) for each in found] == [
        (f"{name}.jsonl", number) for name in "ab" for number in right
    ]
    assert [done.find(tmp_path / "b.jsonl", number) for number in right] == [*range(len(right), 2 * len(right))]


def test_an_epoch_begins_for_any_worker(tmp_path: Path, tok: bbpe.Tokenizer) -> None:
    """A state of a worker is for that worker, until the stream goes to the beginning of an epoch."""
    rows = bbpe.shard(lines(tmp_path / "a.jsonl", ["low lower"] * 9), tmp_path / "out", tok).windows(2)
    stream = rows.stream()
    stream.load_state_dict({**stream.state_dict(), "worker": [1, 2], "at": 3})
    with pytest.raises(ValueError, match="the state is of worker 1 of 2"):
        iter(stream)
    stream.set_epoch(4)
    state = stream.state_dict()
    assert (state["worker"], state["epoch"], state["at"], state["rest"]) == (None, 4, 0, 0)
    assert len(list(stream)) == len(rows)


def test_empty_documents_are_counted_as_documents(tmp_path: Path, tok: bbpe.Tokenizer) -> None:
    for number, text in enumerate(("low", "", "lower")):
        (tmp_path / f"{number}.txt").write_text(text)
    lines(tmp_path / "a.jsonl", ["", "low", None])
    tokens = 2 * len(tok.encode("low")) + len(tok.encode("lower"))
    assert bbpe.count_tokens(tmp_path, tok) == bbpe.TokenCounts(5, tokens, 11)
    (row,) = bbpe.count_tokens(tmp_path, [tok], by=lambda name: "all")
    assert (row.documents, row.bytes, row.tokens) == (5, 11, (tokens,))
