"""Shards of an iterator: the same bytes as those of a file with the same texts, all of them or no folder."""

from __future__ import annotations

import json
import random
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import bbpe
from bbpe.errors import CorpusError
from bbpe.progress import Progress
from bbpe.shards.formats import FORMATS

EOS = "</s>"


def rows_of(seed: int, count: int) -> list[dict[str, Any]]:
    generator = random.Random(seed)
    words = ["low", "lower", "\u00e9\u6f22", "\n", "slow"]
    texts = [" ".join(generator.choices(words, k=generator.choice([0, 1, 9, 80]))) for _ in range(count)]
    return [{"text": text if generator.random() < 0.9 else None, "id": number} for number, text in enumerate(texts)]


def write(path: Path, rows: list[dict[str, Any]]) -> Path:
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path


@pytest.mark.parametrize("form", FORMATS)
def test_a_part_has_the_bytes_of_a_file(form: Any, tmp_path: Path, tok: bbpe.Tokenizer) -> None:
    rows = rows_of(1, 300)
    options: Any = {"format": form, "eos": EOS}
    of_file = bbpe.shard(write(tmp_path / "a.jsonl", rows), tmp_path / "file", tok, **options)
    done = bbpe.shard_from_iterator(iter(rows), tmp_path / "iterated", tok, **options)
    assert done.plan.folder == tmp_path / "iterated"
    totals = [{**vars(each.totals), "input": 0} for each in (of_file, done)]
    assert totals[0] == totals[1]
    left_out = {".json", ".gz"}  # which have the plan, and the name of the file
    for path in (tmp_path / "file").glob("part-*"):
        if path.suffix not in left_out:
            assert path.read_bytes() == (tmp_path / "iterated" / path.name).read_bytes(), path.name
    assert bbpe.verify_shards(done, tok, sample=1.0) == []
    assert [each.name for each in tmp_path.iterdir() if each.name.endswith(".tmp")] == []


@pytest.mark.parametrize("threads", [1, 3])
@pytest.mark.parametrize("keep", ["keep", "skip"])
def test_parts_have_the_texts_and_say_where_they_come_from(
    threads: int, keep: Any, tmp_path: Path, tok: bbpe.Tokenizer
) -> None:
    rows = rows_of(2, 150)
    seen: list[Progress] = []
    done = bbpe.shard_from_iterator(
        rows, tmp_path / "out", tok, part_size=800, threads=threads, empty=keep, format="parquet", id_field="id",
        progress=seen.append,
    )  # fmt: skip
    assert len(done.plan) > 4
    size = sum(len((row["text"] or "").encode()) for row in rows)
    assert done.totals.input == seen[-1].done == size
    assert [each.done for each in seen] == sorted(each.done for each in seen)
    right = [row for row in rows if row["text"] or (keep == "keep" and row["text"] == "")]
    assert [ids.tolist() for ids in done] == [tok.encode(row["text"]) for row in right]
    found = [done.source(number) for number in range(len(done))]
    assert [(each.path, each.record, each.id) for each in found] == [(None, row["id"], str(row["id"])) for row in right]
    assert all(each.start <= each.record < (each.stop or 0) for each in found)
    assert [done.find(None, row["id"]) for row in right] == list(range(len(right)))
    for kept in (bbpe.merge_shards([done], tmp_path / "all"), bbpe.merge_shards([done], tmp_path / "mixed", shuffle=1)):
        assert sorted(kept.source(number).record for number in range(len(kept))) == [row["id"] for row in right]
        assert bbpe.verify_shards(kept, tok) == []


def test_items_are_texts_bytes_or_rows(tmp_path: Path, tok: bbpe.Tokenizer) -> None:
    items = ["low", b"low", {"text": "low"}, {"text": b"low"}]
    done = bbpe.shard_from_iterator(items, tmp_path / "out", tok)
    assert [tok.decode(ids) for ids in done] == ["low"] * 4
    nested = [{"meta": {"text": "low"}}, {"content": "lower"}]
    done = bbpe.shard_from_iterator(nested, tmp_path / "nested", tok, text_field=("meta.text", "content"))
    assert [tok.decode(ids) for ids in done] == ["low", "lower"]


WRONG = [
    ([5], "item 0 of the iterator: found 5, an int"),
    (["a", {"b": "c"}], "item 1 of the iterator: expected a row with the field 'text', found one with 'b'"),
    ([{"text": 3}], "item 0 of the iterator: found 3"),
]


@pytest.mark.parametrize(("items", "message"), WRONG)
def test_a_wrong_item_leaves_no_folder(items: list[Any], message: str, tmp_path: Path, tok: bbpe.Tokenizer) -> None:
    with pytest.raises(CorpusError, match=message):
        bbpe.shard_from_iterator(iter(items), tmp_path / "out", tok)
    assert [*tmp_path.iterdir()] == []
    done = bbpe.shard_from_iterator(["low", *items, "slow"], tmp_path / "out", tok, on_error="skip")
    assert done.totals.refused == 1
    assert json.loads((tmp_path / "out" / "skipped.jsonl").read_text())["error"].startswith("item ")
    assert bbpe.verify_shards(done) == []
    assert done.source(len(done) - 1).record == len(items) + 1


def test_an_error_of_the_iterator_leaves_no_folder(tmp_path: Path, tok: bbpe.Tokenizer) -> None:
    def broken() -> Iterator[str]:
        yield from ["low"] * 5000
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        bbpe.shard_from_iterator(broken(), tmp_path / "out", tok, part_size=1000)
    assert [*tmp_path.iterdir()] == []


def test_a_folder_with_files_is_kept(tmp_path: Path, tok: bbpe.Tokenizer) -> None:
    (tmp_path / "out").mkdir()
    bbpe.shard_from_iterator(["low"], tmp_path / "out", tok)
    items = iter(["low"])
    with pytest.raises(CorpusError, match="the folder is not empty"):
        bbpe.shard_from_iterator(items, tmp_path / "out", tok)
    assert next(items) == "low"


def test_nothing_is_a_corpus(tmp_path: Path, tok: bbpe.Tokenizer) -> None:
    done = bbpe.shard_from_iterator([], tmp_path / "out", tok)
    assert (len(done), len(done.plan)) == (0, 1)
    assert bbpe.verify_shards(done, tok) == []


def test_parts_cannot_be_made_again(tmp_path: Path, tok: bbpe.Tokenizer) -> None:
    done = bbpe.shard_from_iterator(["low"], tmp_path / "out", tok)
    (tmp_path / "out" / "part-00000.json").unlink()
    with pytest.raises(CorpusError, match="of an iterator, which cannot be read again"):
        bbpe.shard_part(done.plan, 0)
    assert "missing" in bbpe.verify_shards(done)[0]


def test_chats_are_those_of_a_file(tmp_path: Path) -> None:
    tok = bbpe.train_from_iterator(["low lower"], 262, special_tokens=["<u>", "<a>"])
    (tmp_path / "tok").mkdir()
    tok.save(tmp_path / "tok" / "tokenizer.json")
    template = "{% for message in messages %}<u>{{ message['content'] }}{% endfor %}"
    (tmp_path / "tok" / "tokenizer_config.json").write_text(json.dumps({"chat_template": template}))
    chats = bbpe.load(tmp_path / "tok")
    messages = [[{"role": "user", "content": "low " * number}] for number in range(30)]
    rows = [{"messages": each if number % 3 else None} for number, each in enumerate(messages)]
    of_file = bbpe.shard(write(tmp_path / "a.jsonl", rows), tmp_path / "file", chats, messages_field="messages")
    done = bbpe.shard_from_iterator(rows, tmp_path / "out", chats, messages_field="messages", part_size=500)
    assert len(done.plan) > 1
    assert [ids.tolist() for ids in done] == [ids.tolist() for ids in of_file]
    for number in range(20):
        assert done.mask(number).tolist() == of_file.mask(number).tolist()
        assert done.source(number).record == of_file.source(number).record
    bare = bbpe.shard_from_iterator(messages, tmp_path / "bare", chats, messages_field="messages")
    assert len(bare) == 30
    with pytest.raises(CorpusError, match="item 1 of the iterator: expected a row with the field 'messages'"):
        bbpe.shard_from_iterator([messages[0], {"x": 1}], tmp_path / "no", chats, messages_field="messages")
    skipped = bbpe.shard_from_iterator(
        [{"x": 1}, *messages], tmp_path / "skipped", chats, messages_field="messages", on_error="skip"
    )
    assert [skipped.source(number).record for number in range(30)] == list(range(1, 31))


RUN = """
import sys, os, signal, bbpe
def items():
    for number in range(5000):
        if number == 3000:
            os.kill(os.getpid(), getattr(signal, "SIGKILL", signal.SIGTERM))
        yield "low lower"
bbpe.shard_from_iterator(items(), sys.argv[1], bbpe.train_from_iterator(["low lower"], 258), part_size=1000)
"""


def test_a_killed_run_leaves_no_folder_of_this_name(tmp_path: Path, tok: bbpe.Tokenizer) -> None:
    assert subprocess.run([sys.executable, "-c", RUN, tmp_path / "out"], check=False).returncode != 0
    assert not (tmp_path / "out").exists()
    done = bbpe.shard_from_iterator(["low"], tmp_path / "out", tok)
    assert len(done) == 1


def test_files_are_on_the_disk_before_their_folder_has_its_name(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    tok, target, steps = bbpe.train_from_iterator(["low lower"], 258), tmp_path / "out", list[tuple[bool, bool]]()

    def flushed(folder: Path) -> None:
        steps.append((folder == tmp_path, target.exists()))

    monkeypatch.setattr("bbpe.shards.iterated.sync_folder", flushed)
    bbpe.shard_from_iterator(["low", "lower"], target, tok)
    assert steps[-2:] == [(False, False), (True, True)]


def test_items_that_are_left_out_are_listed_as_lines_are(tmp_path: Path, tok: bbpe.Tokenizer) -> None:
    """From 1 on, over all parts."""
    items = ["low", 5, "lower", None, {"body": "low"}, "lowest"]
    done = bbpe.shard_from_iterator(items, tmp_path / "out", tok, on_error="skip", part_size=8)
    listed = map(json.loads, (tmp_path / "out" / "skipped.jsonl").read_text().splitlines())
    assert [row["line"] for row in listed] == [2, 5]
    assert (done.documents, done.totals.refused, done.totals.null) == (3, 2, 1)


@pytest.mark.parametrize("field", ["q", ("text", "q")])
@pytest.mark.parametrize("texts", [["a"], [{"q": "a"}, b"a"], [None]])
def test_a_field_is_for_rows(field: Any, texts: list[Any], tmp_path: Path, tok: bbpe.Tokenizer) -> None:
    """A text has none, so naming one is an error, as it is for files of plain text."""
    with pytest.raises(bbpe.CorpusError, match=r"item \d of the iterator: expected a row with the field .*'q', not "):
        bbpe.shard_from_iterator(texts, tmp_path / "out", tok, text_field=field)
    assert len(bbpe.shard_from_iterator([{"q": "a"}], tmp_path / "rows", tok, text_field=field)) == 1
    assert len(bbpe.shard_from_iterator(["a", {"text": "a"}], tmp_path / "texts", tok)) == 2
