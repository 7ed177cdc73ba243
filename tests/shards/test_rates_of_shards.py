"""How fast parts are written, from the times at which they were done; and a sum that is none."""

from __future__ import annotations

from pathlib import Path
from typing import Any, cast

import pytest
from shard_lines import lines

import bbpe
from bbpe.shards import status
from bbpe.shards.part import Totals
from bbpe.shards.status import Lookout


@pytest.mark.parametrize(("ends", "running", "rate"), [
    # each pair is how many seconds ago a part was done, and its bytes of input
    ([], 0, None), ([], 1, None), ([(20, 100), (10, 500)], 0, None), ([(10, 500)], 1, None),
    # the time counts from when as many were done as are running
    ([(20, 100), (10, 500)], 1, 25), ([(30, 1), (20, 2), (10, 4)], 1, 6 / 30), ([(30, 1), (20, 2), (10, 4)], 2, 4 / 20),
    ([(30, 1), (20, 2), (10, 4)], 3, None),
    # what was done before the last quarter of an hour is no guide, unless there is too little after it
    ([(5000, 1000), (20, 100), (10, 500)], 1, 25), ([(5000, 1000), (20, 100), (10, 500)], 2, 25),
    ([(5000, 1000), (10, 500)], 1, 500 / 5000),
    ([(910, 100), (20, 300), (10, 500)], 1, 25), ([(909, 100), (20, 300), (10, 500)], 1, 800 / 909),
    # nothing was read, and no time has gone by
    ([(20, 5), (10, 0)], 1, None), ([(0, 5), (0, 5)], 1, None),
])  # fmt: skip
def test_the_rate_of_some_parts(
    ends: list[tuple[int, int]], running: int, rate: float | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(status.time, "time", lambda: 100_000.0)
    lookout = Lookout(cast(bbpe.ShardPlan, None))
    # whatever their order
    numbered = [*enumerate(ends)][::-1]
    lookout._known = {number: (100_000.0 - ago, Totals(input=size)) for number, (ago, size) in numbered}
    found = lookout._rate({*lookout._known}, running)
    assert found == (rate if rate is None else pytest.approx(rate))


@pytest.mark.parametrize("text", ["[]", "3", "null", '"plan"', "{", "", "{}", '{"plan": "another"}'])
def test_a_sum_that_is_none_is_written_again(text: str, tmp_path: Path, tok: bbpe.Tokenizer) -> None:
    bbpe.shard(lines(tmp_path / "a.jsonl", ["low"]), tmp_path / "out", tok)
    assert bbpe.shards_status(tmp_path / "out").summed
    (tmp_path / "out/manifest.json").write_text(text)
    found = bbpe.shards_status(tmp_path / "out")
    assert (found.done, found.summed, found.command) == (1, False, f"bbpe shard -o {tmp_path / 'out'} --finish")


@pytest.mark.parametrize(("done", "parts", "states", "share"), [
    (0, 3, {}, " (0 %)"), (1, 3, {"running": (1,), "missing": (2,)}, " (33 %), 1 running, 1 missing"),
    (2, 3, {"missing": (1,)}, " (66 %), 1 missing"), (3, 3, {}, ""),
    (1999, 2000, {"running": (5,)}, " (99 %), 1 running"),
    (0, 1, {"running": (0,)}, " (0 %), 1 running"),
])  # fmt: skip
def test_a_status_in_words(done: int, parts: int, states: dict[str, Any], share: str) -> None:
    given: dict[str, Any] = {"running": (), "missing": (), **states}
    found = bbpe.ShardsStatus(
        Path("out"), parts, done, given["running"], (), given["missing"], Totals(documents=1, tokens=2000, input=1500),
        3000, 250.0, 6.0, False, "", "bbpe shard",
    )  # fmt: skip
    assert str(found).splitlines() == [
        f"out: {done:,} of {parts:,} part{'s' * (parts > 1)} done{share}",
        "1 document, 2,000 tokens, 1.5 kB of 3.0 kB of input",
        "250 bytes of input per second lately, about 6.0 s left", "next: bbpe shard",
    ]  # fmt: skip
