"""Estimates of plans: right where all was read, near where a sample was, and nothing that was not measured."""

from __future__ import annotations

import bz2
import gzip
import io
import json
import random
from pathlib import Path
from typing import Any

import pytest
from shard_lines import lines

import bbpe
from bbpe.shards import estimate

EOS = "</s>"
WORDS = [word for word in ("low", "lower", "lowest", "newest", "\u00e9t\u00e9", "\u6df1\u5ea6") for _ in range(3)]


def texts_of(count: int, seed: int = 3) -> list[str]:
    generator = random.Random(seed)
    return [" ".join(generator.choices(WORDS, k=generator.randrange(1, 60))) for _ in range(count)]


@pytest.fixture(autouse=True)
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    """Sample a small corpus as if it were large."""
    for name, value in {"_PLACE": 4000, "_WHOLE": 30_000, "_PACKED": 40_000, "_SECONDS": 30}.items():
        monkeypatch.setattr(estimate, name, value)


def corpus(kind: str, folder: Path) -> tuple[Any, dict[str, Any]]:
    texts = texts_of(8000)
    if kind == "jsonl":
        return lines(folder / "a.jsonl", texts), {}
    if kind == "parts":
        return lines(folder / "a.jsonl", texts), {"part_size": 70_000}
    if kind == "gz":
        texts = texts_of(48_000)
        for number in range(2):
            path = lines(folder / "line.jsonl", texts[number::2])
            (folder / f"{number}.jsonl.gz").write_bytes(gzip.compress(path.read_bytes(), 1))
        return str(folder / "*.gz"), {}
    if kind in ("parquet", "nulls"):
        pa, parquet = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
        some = [None if kind == "nulls" and number % 3 == 0 else text for number, text in enumerate(texts)]
        parquet.write_table(pa.table({"text": some}), folder / "a.parquet", row_group_size=100)
        return folder / "a.parquet", {}
    (folder / "a.txt").write_text("\n".join(texts))
    if kind == "line":
        return folder / "a.txt", {"document": "line"}
    if kind == "text":
        return folder / "a.txt", {"format": "datatrove"}
    for number in range(500):
        (folder / f"a{number}.txt").write_text("\n".join(texts[number::500]))
    return str(folder / "a[0-9]*.txt"), {"format": "olmo"}


@pytest.mark.parametrize("kind", ["jsonl", "parts", "gz", "parquet", "nulls", "line", "text", "texts"])
def test_a_sample_is_near_what_is_written(kind: str, tmp_path: Path, tok: bbpe.Tokenizer) -> None:
    files, options = corpus(kind, tmp_path)
    plan = bbpe.plan_shards(files, tmp_path / "out", tok, eos=EOS, **options)
    found = bbpe.estimate_shards(plan)
    assert not list((tmp_path / "out").glob("part-*"))
    done = bbpe.shard(files, tmp_path / "out", tok, eos=EOS, **options)
    assert (found.parts, found.size, found.unmeasured) == (len(plan), plan.size, 0)
    assert found.files == len({source.path for part in plan.parts for source in part})
    assert 0 < found.sampled < 0.9 * found.size
    assert found.tokens_error
    # where a decompressor is within its file is known to 128 kB, which are much of so small a sample
    assert found.tokens_error < (0.2 if kind != "gz" else 1) * found.tokens
    # three times two standard errors, which no correct estimate is beyond
    assert abs(found.tokens - done.tokens) <= 3 * found.tokens_error
    about = 0.15 if kind != "gz" else found.tokens_error / found.tokens
    assert found.documents == pytest.approx(done.documents, rel=about)
    assert found.counted == (kind in ("parquet", "nulls", "text", "texts"))
    assert found.records == pytest.approx(done.totals.records, rel=0 if found.counted else about)
    written = sum(path.stat().st_size for path in (tmp_path / "out").glob("part-*") if path.suffix != ".json")
    assert found.disk == pytest.approx(written, rel=about)
    assert bbpe.estimate_shards(plan).tokens == found.tokens
    assert bbpe.estimate_shards(plan, seed=9).tokens != found.tokens or kind == "gz"
    first, second, third = found.lines(4)
    assert ("about" in first) == (not found.counted)
    assert second.startswith("about ")
    assert "(within " in second
    assert "4 cores" in third


def test_the_error_covers_most_samples(tmp_path: Path, tok: bbpe.Tokenizer) -> None:
    """About 19 of 20: of 40 samples, fewer than 34 would be a one in two thousand chance."""
    path = lines(tmp_path / "a.jsonl", [text * (1 + number % 7) for number, text in enumerate(texts_of(3000))])
    plan = bbpe.plan_shards(path, tmp_path / "out", tok, eos=EOS)
    right = bbpe.shard(path, tmp_path / "out", tok, eos=EOS).tokens
    found = [bbpe.estimate_shards(plan, seed=seed) for seed in range(40)]
    assert sum(abs(each.tokens - right) <= (each.tokens_error or 0) for each in found) >= 34
    assert 0.9 < sum(each.tokens for each in found) / (40 * right) < 1.1


@pytest.mark.parametrize("format", ["megatron", "parquet", "olmo", "numpy"])
def test_what_was_read_as_a_whole_is_exact(format: Any, tmp_path: Path, tok: bbpe.Tokenizer) -> None:  # noqa: A002
    path = lines(tmp_path / "a.jsonl", ["low", "", None, *texts_of(50)])
    plan = bbpe.plan_shards(path, tmp_path / "out", tok, eos=EOS, format=format)
    found, done = bbpe.estimate_shards(plan), bbpe.shard(path, tmp_path / "out", tok, eos=EOS, format=format)
    assert (found.tokens, found.documents, found.records) == (done.tokens, done.documents, done.totals.records)
    assert (found.tokens_error, found.counted, found.sampled) == (0, True, plan.size)
    assert "about" not in str(found).splitlines()[1]


def test_a_packed_text_that_cannot_be_read_in_part_is_left_out_and_said(tmp_path: Path, tok: bbpe.Tokenizer) -> None:
    generator = random.Random(1)
    text = "".join(generator.choices("abcdefghij \n", k=200_000)).encode()
    (tmp_path / "a.txt.bz2").write_bytes(bz2.compress(text))
    path = lines(tmp_path / "b.jsonl", texts_of(50))
    plan = bbpe.plan_shards([tmp_path / "a.txt.bz2", path], tmp_path / "out", tok, eos=EOS)
    found = bbpe.estimate_shards(plan)
    assert found.unmeasured == (tmp_path / "a.txt.bz2").stat().st_size
    assert found.documents == 50
    assert not found.counted
    assert "of packed texts are in none of these numbers" in str(found)
    assert "about" in str(found).splitlines()[1]


def test_kinds_of_files_share_the_time(tmp_path: Path, tok: bbpe.Tokenizer, monkeypatch: pytest.MonkeyPatch) -> None:
    given, taken = [], estimate._Sample.taken

    def noted(self: Any, stem: Path, seconds: float) -> Any:
        given.append(seconds)
        return taken(self, stem, seconds)

    monkeypatch.setattr(estimate._Sample, "taken", noted)
    for name in ("a.jsonl", "b.jsonl", "c.json", "d.ndjson"):
        lines(tmp_path / name, texts_of(5))
    monkeypatch.setattr(estimate._Sample, "seconds", lambda self: 2.5)
    found = bbpe.estimate_shards(bbpe.plan_shards(str(tmp_path / "*.*json*"), tmp_path / "out", tok))
    assert given == [estimate._SECONDS / 3] * 3
    # and what each of them will take is added up
    assert found.core_seconds == 7.5


@pytest.mark.parametrize("window", [1, 3, 64])
def test_a_range_begins_with_the_first_line_at_some_byte(window: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """A line that begins at that very byte is not left out; a text whose line goes on is read from there."""
    monkeypatch.setattr(estimate, "_WINDOW", window)
    data = b"ab\n\ncdefgh\ni\njk"
    begins = [0, *(at + 1 for at, byte in enumerate(data) if byte == ord("\n"))]
    for at in range(1, len(data) + 2):
        right = next((begin for begin in begins if begin >= at), len(data))
        assert estimate._line_after(io.BytesIO(data), at, len(data), is_document=False) == right
    long = b"a\n" + b"b" * 200
    assert estimate._line_after(io.BytesIO(long), 2, len(long), is_document=True) == 2
    assert estimate._line_after(io.BytesIO(long), 5, len(long), is_document=True) == 5
    assert estimate._line_after(io.BytesIO(long), 5, len(long), is_document=False) == len(long)


def test_a_sample_without_differences_is_no_count(tmp_path: Path, tok: bbpe.Tokenizer) -> None:
    path = lines(tmp_path / "a.jsonl", ["low lower lowest"] * 9000)
    found = bbpe.estimate_shards(bbpe.plan_shards(path, tmp_path / "out", tok))
    assert found.tokens_error == 0
    assert found.lines(1)[1].startswith("about 9,000 documents, ")
    assert "(within 0.0 %)" in found.lines(1)[1]


def test_a_line_that_cannot_be_read_is_told_before_work(tmp_path: Path, tok: bbpe.Tokenizer) -> None:
    path = lines(tmp_path / "a.jsonl", texts_of(20))
    path.write_text(path.read_text() + "{\n")
    plan = bbpe.plan_shards(path, tmp_path / "out", tok)
    with pytest.raises(bbpe.CorpusError, match=r"a\.jsonl"):
        bbpe.estimate_shards(plan)
    skips = bbpe.plan_shards(path, tmp_path / "skips", tok, on_error="skip")
    assert bbpe.estimate_shards(skips).records == 21


def test_short_packed_files_are_read_to_their_ends(tmp_path: Path, tok: bbpe.Tokenizer) -> None:
    for number, text in enumerate((texts_of(3000), texts_of(3000, 5))):
        path = lines(tmp_path / "line.jsonl", text)
        (tmp_path / f"{number}.jsonl.gz").write_bytes(gzip.compress(path.read_bytes(), 1))
    plan = bbpe.plan_shards(str(tmp_path / "*.gz"), tmp_path / "out", tok)
    assert plan.size > estimate._WHOLE
    found = bbpe.estimate_shards(plan)
    assert (found.tokens_error, found.sampled, found.records) == (0, plan.size, 6000)


def test_chats_and_empty_corpora(tmp_path: Path) -> None:
    pytest.importorskip("jinja2")
    from dataclasses import replace

    made = bbpe.train_from_iterator(WORDS, 280, special_tokens=[EOS])
    template = b"{% for m in messages %}{{ m.role }}: {{ m.content }}\n{% endfor %}"
    tok = bbpe.Tokenizer(replace(made.spec, files={"chat_template.jinja": template}))
    rows = [json.dumps({"messages": [{"role": "user", "content": text}]}) + "\n" for text in texts_of(900)]
    (tmp_path / "a.jsonl").write_text("".join(rows))
    plan = bbpe.plan_shards(tmp_path / "a.jsonl", tmp_path / "out", tok, messages_field="messages", format="parquet")
    found = bbpe.estimate_shards(plan)
    done = bbpe.shard(tmp_path / "a.jsonl", tmp_path / "out", tok, messages_field="messages", format="parquet")
    assert found.tokens == pytest.approx(done.tokens, rel=0.1)
    lines(tmp_path / "b.jsonl", [None, ""])
    plan = bbpe.plan_shards(tmp_path / "b.jsonl", tmp_path / "none", tok)
    found = bbpe.estimate_shards(plan)
    assert (found.records, found.documents, found.tokens, found.tokens_error) == (2, 0, 0, 0)
