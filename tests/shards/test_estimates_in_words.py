"""An estimate in words: what is exact and what is about right, numbers of three digits, the time for some cores."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import pytest

import bbpe
from bbpe.records import replace
from bbpe.shards import estimate
from bbpe.shards.estimate import _Place, _Sample
from bbpe.shards.part import Totals
from bbpe.shards.plan import Source

SAMPLED = bbpe.ShardEstimate(
    12, 34, 5_000_000, 123_456, False, 98_765, 7_654_321, 400_000, 15_308_642, 90.0, 2_000_000, 0
)  # fmt: skip
WHOLE: dict[str, Any] = {"sampled": 5_000_000, "counted": True, "tokens_error": 0}


@pytest.mark.parametrize(("changes", "cores", "expected"), [
    ({}, 1, [
        "34 files, 5.0 MB, about 123,000 records; 12 parts",
        "about 98,800 documents, 7,650,000 tokens (within 5.2 %), 15 MB on the disk",
        "about 1:30 of work for 1 core, measured on 2.0 MB",
    ]),
    ({"counted": True}, 9, [
        "34 files, 5.0 MB, 123,456 records; 12 parts",
        "about 98,800 documents, 7,650,000 tokens (within 5.2 %), 15 MB on the disk",
        "about 10.0 s of work for 9 cores, measured on 2.0 MB",
    ]),
    ({"tokens_error": None}, 2, [
        "34 files, 5.0 MB, about 123,000 records; 12 parts",
        "about 98,800 documents, 7,650,000 tokens (the sample is too small to say how exact), 15 MB on the disk",
        "about 45.0 s of work for 2 cores, measured on 2.0 MB",
    ]),
    (WHOLE, 1, [
        "34 files, 5.0 MB, 123,456 records; 12 parts",
        "98,765 documents, 7,654,321 tokens, 15 MB on the disk",
        "about 1:30 of work for 1 core, measured on 5.0 MB",
    ]),
    # all was read, and nothing says how exact it is: there is nothing to say
    ({**WHOLE, "tokens_error": None, "parts": 1, "files": 1, "records": 1, "documents": 1, "tokens": 1, "disk": 1}, 1, [
        "1 file, 5.0 MB, 1 record; 1 part", "1 document, 1 token, 1 byte on the disk",
        "about 1:30 of work for 1 core, measured on 5.0 MB",
    ]),
    ({"tokens": 0, "tokens_error": 0, "unmeasured": 3_000_000}, 1, [
        "34 files, 5.0 MB, about 123,000 records; 12 parts",
        "about 98,800 documents, 0 tokens (within 0.0 %), 15 MB on the disk",
        "about 1:30 of work for 1 core, measured on 2.0 MB",
        "3.0 MB of packed texts are in none of these numbers but the first ones",
    ]),
])  # fmt: skip
def test_an_estimate_in_words(changes: dict[str, Any], cores: int, expected: list[str]) -> None:
    found = replace(SAMPLED, **changes)
    assert found.lines(cores) == expected
    assert str(found).splitlines()[:2] == expected[:2]
    assert f"of work for 1 core, measured on {'5.0' if 'sampled' in changes else '2.0'} MB" in str(found)


def test_a_sample_is_about_8_megabytes_of_each_kind() -> None:
    assert estimate._PLACES * estimate._PLACE == 8 << 20


def test_an_estimate_needs_a_core() -> None:
    with pytest.raises(ValueError, match="cores is 0"):
        SAMPLED.lines(0)
    assert SAMPLED.as_dict()["core_seconds"] == 90.0


def sample_of(plan: bbpe.ShardPlan, places: list[tuple[float, int, float]], *, is_whole: bool = False) -> _Sample:
    """A sample of 1,000 bytes with places of some bytes, tokens and seconds; each has a document."""
    found = _Sample(plan, [replace(plan.parts[0][0], read=1000)], random.Random(0))
    found.is_whole, found.size = is_whole, 1000
    found.places = [_Place(read, Totals(documents=1, tokens=tokens), seconds) for read, tokens, seconds in places]
    return found


@pytest.mark.parametrize(("name", "eos", "places", "tokens", "error", "seconds"), [
    # the same rate everywhere: no error; the first place, which also warms up, counts for no time
    ("a.jsonl", None, [(10, 5, 9.0), (30, 15, 0.3)], 500, 0, 10.0),
    ("a.jsonl", None, [(10, 5, 0.2)], 500, None, 20.0),
    # rates of 0.3 and 0.7, so deviations of 2 tokens each; 2 * 1000 * sqrt(8 / 1) / sqrt(2) / 10
    ("a.jsonl", None, [(10, 3, 0.1), (10, 7, 0.1)], 500, 400.0, 10.0),
    # three places, two of which are alike: deviations 0, 3, 3; 2 * 1000 * sqrt(18 / 2) / sqrt(3) / 10
    ("a.jsonl", None, [(10, 5, 0.1), (10, 2, 0.1), (10, 8, 0.3)], 500, 600 / 3**0.5, 20.0),
    # a file is one document: the end of text stands once, however few of its bytes were read
    ("a.txt", "</s>", [(10, 6, 0.1), (30, 16, 0.1)], 501, 0, 1000 / 300),
])  # fmt: skip
def test_the_numbers_of_a_sample(
    name: str, eos: str | None, places: list[tuple[float, int, float]], tokens: float, error: float | None,
    seconds: float, tmp_path: Path, tok: bbpe.Tokenizer,
) -> None:  # fmt: skip
    (tmp_path / name).write_text('{"text": "low"}\n')
    plan = bbpe.plan_shards(tmp_path / name, tmp_path / "out", tok, eos=eos)
    found = sample_of(plan, places)
    assert found.total("tokens") == pytest.approx(tokens)
    assert found.error() == (error if error is None else pytest.approx(error, abs=1e-6))
    assert found.seconds() == pytest.approx(seconds)
    read = sum(each[0] for each in places)
    assert found.total("documents") == (1 if name == "a.txt" else pytest.approx(1000 * len(places) / read))
    whole = sample_of(plan, places, is_whole=True)
    assert (whole.error(), whole.total("tokens")) == (0, sum(each[1] for each in places))


def test_a_place_that_chance_names_twice_is_read_once(tmp_path: Path, tok: bbpe.Tokenizer) -> None:
    (tmp_path / "a.jsonl").write_text('{"text": "low"}\n')
    found = sample_of(bbpe.plan_shards(tmp_path / "a.jsonl", tmp_path / "out", tok), [(10, 5, 0.1), (30, 5, 0.1)])
    found.places.append(found.places[0])
    assert found.sampled == 40
    assert found.total("tokens") == pytest.approx(300)


@pytest.mark.parametrize(("within", "start", "stop", "end"), [
    (0, 0, 4, 4), (1, 2, 6, 6), (2, 2, 6, 6), (3, 4, 8, 8),
    # what ends with the file goes on to the end of the source, which has none
    (7, 8, 20, None), (8, 8, 20, None),
    # no line begins there any more: the first one is as good as any
    (9, 0, 4, 4), (19, 0, 4, 4),
])  # fmt: skip
def test_a_range_has_whole_lines(
    within: int, start: int, stop: int, end: int | None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(estimate, "_PLACE", 4)
    path = tmp_path / "a.txt"
    path.write_bytes(b"a\n" * 4 + b"b" * 12)
    found = estimate._range(Source(str(path), 20, 0, 20), within, is_document=False)
    assert (found.start, found.stop, found.read) == (start, end, stop - start)


def test_a_sample_ends_after_a_while_with_two_places(
    tmp_path: Path, tok: bbpe.Tokenizer, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, value in {"_PLACE": 4000, "_WHOLE": 30_000, "_SECONDS": 0}.items():
        monkeypatch.setattr(estimate, name, value)
    (tmp_path / "a.jsonl").write_text('{"text": "low lower lowest"}\n' * 9000)
    found = bbpe.estimate_shards(bbpe.plan_shards(tmp_path / "a.jsonl", tmp_path / "out", tok))
    assert 8000 <= found.sampled < 8100
    assert found.tokens_error is not None
