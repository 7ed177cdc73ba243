"""What a part has read and written: in words, as sums, and of sources that go on in the next range of a file."""

from __future__ import annotations

import gzip
import json
import os
from pathlib import Path
from typing import Any

import pytest
from shard_lines import lines

import bbpe
from bbpe.errors import CorpusError
from bbpe.records import asdict
from bbpe.shards import documents
from bbpe.shards.part import Totals, runs_of
from bbpe.shards.plan import Source

EOS = "</s>"
WORDS: list[tuple[dict[str, int], str]] = [
    ({}, "0 documents, 0 tokens of 0 bytes of text"),
    ({"documents": 1, "tokens": 1, "text": 1}, "1 document, 1 token of 1 byte of text"),
    ({"documents": 2000, "tokens": 5000}, "2,000 documents, 5,000 tokens"),
    ({"documents": 2, "tokens": 5, "text": 9, "unknown": 1, "empty": 2, "null": 1, "refused": 1},
        "2 documents, 5 tokens of 9 bytes of text; 1 unknown token; 2 empty documents left out; 1 record without text; "
        "1 record that cannot be read"),
    ({"documents": 2, "tokens": 5, "left": 3, "repeated": 1, "null": 2, "refused": 1000},
        "2 documents, 5 tokens; 2 records without text; 1,000 records that cannot be read; 3 documents not chosen; "
        "1 document repeated"),
    ({"documents": 2, "tokens": 5, "checked": 1000, "not_canonical": 12},
        "2 documents, 5 tokens; 12 of 1,000 documents that were checked had ids that are not canonical"),
    ({"documents": 1, "tokens": 5, "checked": 1},
        "1 document, 5 tokens; 0 of 1 document that were checked had ids that are not canonical"),
]  # fmt: skip


@pytest.mark.parametrize(("given", "text"), WORDS)
def test_totals_in_words(given: dict[str, int], text: str) -> None:
    assert str(Totals(**given)) == text


def test_totals_are_added_by_their_names() -> None:
    names = list(asdict(Totals()))
    one = Totals(**{name: number for number, name in enumerate(names)})
    other = Totals(**{name: 1 << number for number, name in enumerate(names)})
    assert asdict(one + other) == {name: number + (1 << number) for number, name in enumerate(names)}
    assert len(names) == 13


def test_runs_are_ranges_that_follow_in_one_file() -> None:
    def source(path: str, start: int = 0, stop: int | None = None) -> Source:
        return Source(path, 100, 0, 10, start, stop)

    assert runs_of([]) == []
    assert runs_of([source("a")]) == [0]
    # a file that is named twice begins anew
    assert runs_of([source("a"), source("a"), source("b")]) == [0, 1, 2]
    ranges = [source("a", 0, 10), source("a", 10, 20), source("b"), source("a", 20, 30), source("a", 30)]
    assert runs_of(ranges) == [0, 0, 2, 3, 3]
    assert runs_of([source("a", 0, 10), source("a", 10), source("a", 0, 10), source("a", 10)]) == [0, 0, 2, 2]
    assert runs_of([source("a", 0, 10), source("a", 10, 20), source("a", 20)]) == [0, 0, 0]
    # nor does one begin within another that has nothing
    assert runs_of([source("", 0, 0), source("", 0, 5)]) == [0, 1]
    assert runs_of([source("a", 0, 10), source("b", 10), source("b", 20)]) == [0, 1, 2]


@pytest.mark.parametrize(
    ("name", "message"),
    # the last bytes of a packed file are a sum of all of it
    [("a.txt", "was written to since part 0 was made"), ("a.txt.gz", r"file .* of 200,038 bytes with other contents")],
)
def test_a_text_of_several_blocks_is_known_by_all_of_them(
    name: str, message: str, tmp_path: Path, tok: bbpe.Tokenizer, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Copied, with another time, it is what it was; with another word in any block it is not."""
    monkeypatch.setattr(documents, "_BLOCK", 30_000)
    path, words = tmp_path / name, ["lower low "] * 20_000

    def write(age: int) -> None:
        data = "".join(words).encode()
        # not compressed at all, so that another word is of the same size in the middle of the file
        path.write_bytes(gzip.compress(data, 0, mtime=0) if name.endswith(".gz") else data)
        os.utime(path, (1_000_000_000 + age,) * 2)

    write(0)
    done = bbpe.shard(path, tmp_path / "out", tok, eos=EOS)
    text = "".join(words)
    assert done.totals.text == len(text)
    assert done[0].tolist() == [*tok.encode(text), tok.token_to_id(EOS)]
    write(10)
    assert bbpe.shard(path, tmp_path / "out", tok, eos=EOS).totals == done.totals
    for place in (9_000, 11_000):
        words[place] = "lower lox "
        write(20)
        with pytest.raises(CorpusError, match=message):
            bbpe.shard(path, tmp_path / "out", tok, eos=EOS)
        words[place] = "lower low "
    write(30)
    assert bbpe.shard(path, tmp_path / "out", tok, eos=EOS).totals == done.totals


def test_chats_of_an_iterator_that_are_wrong_are_numbered(tmp_path: Path) -> None:
    pytest.importorskip("jinja2")
    bbpe.train_from_iterator(["low lower"], 260, special_tokens=[EOS]).save(tmp_path / "tokenizer.json")
    (tmp_path / "chat_template.jinja").write_text("{% for m in messages %}{{ m.content }}{% endfor %}")
    tok = bbpe.load(tmp_path)
    right: dict[str, Any] = {"messages": [{"role": "user", "content": "low " * 20}], "id": "x"}
    wrong: dict[int, tuple[Any, str]] = {
        3: (5, "found 5, an int; expected a row with messages, or a list of messages"),
        11: ({"text": "low"}, "expected a row with the field 'messages', found one with 'text'; messages_field= names"),
        24: ({"messages": 7, "id": 1}, "field 'messages' is int; expected a list, or null"),
        25: ("low", "found 'low', a str; expected a row with messages, or a list of messages"),
    }
    items = [wrong[number][0] if number in wrong else right for number in range(30)]
    options: dict[str, Any] = {"messages_field": "messages", "eos": EOS}
    with pytest.raises(CorpusError, match=f"^item 3 of the iterator: {wrong[3][1]}"):
        bbpe.shard_from_iterator(iter(items), tmp_path / "out", tok, **options)
    done = bbpe.shard_from_iterator(items, tmp_path / "out", tok, on_error="skip", part_size=1000, **options)
    assert len(done.plan) > 1
    assert (done.totals.documents, done.totals.refused) == (26, 4)
    skipped = [json.loads(line) for line in (tmp_path / "out/skipped.jsonl").read_text().splitlines()]
    for each, (number, (_, problem)) in zip(skipped, wrong.items(), strict=True):
        assert each["error"].startswith(f"item {number} of the iterator: {problem}")
    # lists of messages are chats, but where each should have an id
    rows = [right["messages"], right]
    assert bbpe.shard_from_iterator(rows, tmp_path / "lists", tok, **options).documents == 2
    with pytest.raises(CorpusError, match=r"^item 0 of the iterator: found \[\{.*, a list; expected a row with mes"):
        bbpe.shard_from_iterator(rows, tmp_path / "ids", tok, id_field="id", format="olmo", **options)
    with pytest.raises(CorpusError, match=r"^item 0 of the iterator: .* field 'key', found one with 'messages', 'id'"):
        bbpe.shard_from_iterator([right], tmp_path / "keys", tok, id_field="key", format="olmo", **options)


def test_names_in_a_table_do_not_depend_on_the_locale(
    tmp_path: Path, tok: bbpe.Tokenizer, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Windows has other characters by default."""
    path = lines(tmp_path / "a.jsonl", [])
    path.write_text('{"text": "low", "id": "\u6df1\u00e9"}\n')
    done = bbpe.shard(path, tmp_path / "out", tok, format="olmo", id_field="id")
    monkeypatch.setattr("io.text_encoding", lambda encoding, *_: encoding or "cp1252")
    assert done.source(0).id == "\u6df1\u00e9"
