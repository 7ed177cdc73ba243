"""The text of an estimate, its errors by hand, and the plans that have none."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from shard_lines import lines

import bbpe
from bbpe.shards.estimate import ShardEstimate, _Place, _Sample
from bbpe.shards.part import Totals

#: One file of 4 MB, of which a half was read.
SOME: dict[str, Any] = {
    "files": 1, "parts": 1, "size": 4_000_000, "records": 98_765, "counted": False, "documents": 9_876,
    "tokens": 1_234_567, "tokens_error": 12_345, "disk": 2_600_000, "core_seconds": 0.5, "sampled": 2_000_000,
    "unmeasured": 0,
}  # fmt: skip
LINES: list[tuple[dict[str, Any], int, list[str]]] = [
    ({}, 1, [
        "1 file, 4.0 MB, about 98,800 records; 1 part",
        "about 9,880 documents, 1,230,000 tokens (within 1.0 %), 2.6 MB on the disk",
        "about 0.5 s of work for 1 core, measured on 2.0 MB",
    ]),
    ({"files": 1234, "parts": 5678, "counted": True, "core_seconds": 500.0}, 4, [
        "1,234 files, 4.0 MB, 98,765 records; 5,678 parts",
        "about 9,880 documents, 1,230,000 tokens (within 1.0 %), 2.6 MB on the disk",
        "about 2:05 of work for 4 cores, measured on 2.0 MB",
    ]),
    ({"tokens_error": None}, 1, [
        "1 file, 4.0 MB, about 98,800 records; 1 part",
        "about 9,880 documents, 1,230,000 tokens (the sample is too small to say how exact), 2.6 MB on the disk",
        "about 0.5 s of work for 1 core, measured on 2.0 MB",
    ]),
    ({"sampled": 4_000_000, "counted": True, "tokens_error": 0, "records": 1, "documents": 1, "tokens": 1}, 1, [
        "1 file, 4.0 MB, 1 record; 1 part", "1 document, 1 token, 2.6 MB on the disk",
        "about 0.5 s of work for 1 core, measured on 4.0 MB",
    ]),
    ({"tokens": 0, "tokens_error": 0, "documents": 0, "unmeasured": 3_000_000}, 1, [
        "1 file, 4.0 MB, about 98,800 records; 1 part",
        "about 0 documents, 0 tokens (within 0.0 %), 2.6 MB on the disk",
        "about 0.5 s of work for 1 core, measured on 2.0 MB",
        "3.0 MB of packed texts are in none of these numbers but the first ones",
    ]),
]  # fmt: skip


@pytest.mark.parametrize(("change", "cores", "shown"), LINES)
def test_lines_to_print(change: dict[str, Any], cores: int, shown: list[str]) -> None:
    found = ShardEstimate(**{**SOME, **change})
    assert found.lines(cores) == shown
    assert str(found) == "\n".join(found.lines(1))
    assert found.as_dict() == {**SOME, **change}


def test_cores_are_at_least_one() -> None:
    with pytest.raises(ValueError, match="cores is 0; expected at least 1"):
        ShardEstimate(**SOME).lines(0)


def sample(places: list[tuple[float, int, float]], *, around: int = 0, **options: Any) -> _Sample:
    """A sample of places with their bytes, tokens and seconds, in three files of 3,000 bytes."""
    found = object.__new__(_Sample)
    given: dict[str, Any] = {
        "size": 3000, "is_whole": False, "is_document": False, "_is_packed": False, "_sources": [None] * 3,
        "places": [_Place(size, Totals(documents=2, tokens=tokens, records=2), sec) for size, tokens, sec in places],
        "_plan": SimpleNamespace(policy=SimpleNamespace(bos=5 if around else None, eos=6 if around > 1 else None)),
    }  # fmt: skip
    vars(found).update({**given, **options})
    return found


def test_an_estimate_is_a_mean_and_its_error_two_standard_errors() -> None:
    found = sample([(100, 10, 9.0), (200, 26, 1.0)])
    # 36 tokens in 300 bytes; the places have 2 too few and 2 too many, for 150 bytes on average
    assert found.rate("tokens") == pytest.approx(0.12)
    assert found.total("tokens") == pytest.approx(360)
    assert found.total("documents") == pytest.approx(40)
    assert found.error() == pytest.approx(2 * 3000 / 150 * (8 / 1) ** 0.5 / 2**0.5)
    # the first place, in which all begins, is left out of the time
    assert found.seconds() == pytest.approx(3000 / 200)
    assert sample([(100, 10, 9.0)]).seconds() == pytest.approx(270)
    assert sample([(100, 10, 9.0)]).error() is None
    whole = sample([(100, 10, 9.0), (2900, 30, 1.0)], is_whole=True)
    assert (whole.total("tokens"), whole.total("records"), whole.error()) == (40.0, 4.0, 0.0)


@pytest.mark.parametrize("around", [0, 1, 2])
def test_texts_that_are_files_have_the_ids_around_them_once(around: int) -> None:
    """Not in proportion to the bytes that were read of them."""
    found = sample([(100, 10 + 2 * around, 1.0), (200, 26 + 2 * around, 1.0)], around=around, is_document=True)
    assert found.total("tokens") == pytest.approx(360 + 3 * around)
    assert (found.total("documents"), found.total("records")) == (3.0, 3.0)
    assert found.error() == pytest.approx(80)


def test_only_plans_of_texts_are_estimated(tmp_path: Path, tok: bbpe.Tokenizer) -> None:
    done = bbpe.shard(lines(tmp_path / "a.jsonl", ["low", "lower"]), tmp_path / "out", tok)
    merged = bbpe.merge_shards([done], tmp_path / "merged", shuffle=1)
    converted = bbpe.plan_conversion(done, tmp_path / "converted", format="olmo")
    iterated = bbpe.shard_from_iterator(["low"], tmp_path / "iterated", tok)
    for plan, message in (
        (merged.plan, "the documents were shuffled when shards were merged$"),
        (converted, "the plan is of shards, whose ids are copied or encoded again; only plans of texts are estimated$"),
        (iterated.plan, "the plan is of an iterator; only plans of texts are estimated$"),
    ):
        with pytest.raises(bbpe.CorpusError, match=message):
            bbpe.estimate_shards(plan)
    given: Any = done
    with pytest.raises(TypeError, match=r"^plan must be what plan_shards returns, not Shards: shards have it as "):
        bbpe.estimate_shards(given)


def test_a_field_of_plain_text_is_told_before_a_plan_is_made(tmp_path: Path, tok: bbpe.Tokenizer) -> None:
    (tmp_path / "a.txt").write_text("low")
    (tmp_path / "b.txt").write_text("low")
    for files, shown in (("a.txt", "is"), ("*.txt", "and 1 other file are")):
        message = rf"^text_field is 'body'; .*a\.txt {shown} plain text, which has no fields; leave it out, or give inp"
        with pytest.raises(ValueError, match=message):
            bbpe.plan_shards(tmp_path / files, tmp_path / "out", tok, text_field="body")
    lines(tmp_path / "c.jsonl", [])
    # shards of plain text are merged with others, whose documents have fields
    bbpe.plan_shards([tmp_path / "a.txt", tmp_path / "c.jsonl"], tmp_path / "out", tok, text_field="body")


def test_progress_of_checking_goes_over_all_parts(tmp_path: Path, tok: bbpe.Tokenizer) -> None:
    done = bbpe.shard(lines(tmp_path / "a.jsonl", ["low"] * 40), tmp_path / "out", tok, part_size=200)
    count = len(done.plan)
    assert count > 2
    seen: list[Any] = []
    assert bbpe.verify_shards(done, sample=0, progress=seen.append) == []
    assert [(each.phase, each.done, each.total, each.unit) for each in seen] == [
        ("verify", number, count, "parts") for number in range(count + 1)
    ]


def test_what_was_checked_in_words() -> None:
    from bbpe.shards.verify import Checked

    assert str(Checked(1, 1, 1, [])) == "1 part, 1 file, 1 byte; no part encoded again"
    assert str(Checked(3, 1000, 2_500_000, [7])) == "3 parts, 1,000 files, 2.5 MB; part 7 encoded again"
    assert str(Checked(3, 2, 10, [0, 2])).endswith("; parts 0, 2 encoded again")
    many = str(Checked(30, 2, 10, [*range(12)]))
    assert "parts 0, 1, 2, 3, 4, 5, 6, 7, 8, 9" in many
    assert "10" not in many.partition("parts 0")[2]
