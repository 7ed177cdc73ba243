"""Fields of records as paths and fall-backs: in C, in Python and in columns of Parquet, against a slow reader."""

from __future__ import annotations

import json
import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import bbpe
from bbpe.core.json_lines import ISAS, read_lines
from bbpe.corpus.fields import checked_field, encoded_field, places_of, value_of
from bbpe.errors import CorpusError

FIELDS: list[Any] = [
    "text", "meta.text", "a.b.c", ("content", "text"), ("meta.text", "text", "a.b"), ("a", "a.b"),
    ("a.b", "a.b.c", "a"), "", ".", ("x.", "text"), "\u00e9.\u6f22",
]  # fmt: skip
NAMES = ["text", "content", "meta", "a", "b", "c", "meta.text", "a.b", "", "x", "x.", "\u00e9", "\u6f22", "id"]


def slow(record: Any, field: Any) -> tuple[str, Any]:
    """What a record has: "absent", "null", or "value" and the value."""
    names = [field] if isinstance(field, str) else field
    null = False
    for name in names:
        for path in [[name]] + ([name.split(".")] if "." in name else []):
            here, is_there = record, True
            for key in path:
                if here is None:
                    break
                if not isinstance(here, dict) or key not in here:
                    is_there = False
                    break
                here = here[key]
            if is_there and here is not None:
                return "value", here
            null = null or is_there
    return ("null", None) if null else ("absent", None)


def value(generator: random.Random, depth: int) -> Any:
    kind = generator.randrange(8)
    if kind < 3 and depth:
        return {generator.choice(NAMES): value(generator, depth - 1) for _ in range(generator.randrange(4))}
    texts = ["low", "", "\u6f22\n\"", "x" * 70, "\U0001f600"]
    return [generator.choice(texts), generator.choice(texts), None, 5, [1, {"text": "no"}]][generator.randrange(5)]


@pytest.mark.parametrize("isa", ISAS)
@pytest.mark.parametrize("field", FIELDS, ids=repr)
def test_lines_are_read_as_by_a_slow_reader(field: Any, isa: str) -> None:
    generator = random.Random(repr(field))
    name = encoded_field(field)
    for _ in range(150):
        record = {generator.choice(NAMES): value(generator, 3) for _ in range(generator.randrange(6))}
        found, right = slow(record, field)
        assert value_of(record, field, "missing") == {"value": right, "null": None, "absent": "missing"}[found]
        line = json.dumps(record, ensure_ascii=generator.random() < 0.5).encode("utf-8", "surrogatepass") + b"\n"
        room = bytearray(len(line))
        at, used, ends, _, lines, records, nulls = read_lines(line, 0, name, room, isa=isa)
        if found == "value" and isinstance(right, str):
            assert (at, lines, records, nulls) == (len(line), 1, 1, 0)
            assert bytes(room[:used]) == right.encode("utf-8", "surrogatepass")
            assert ends.tolist() == [used]
        elif found == "null":
            assert (at, lines, records, nulls, used) == (len(line), 1, 1, 1, 0)
        else:
            assert (at, lines, used) == (0, 0, 0)


def test_names_that_come_twice_are_left_to_python() -> None:
    for line in (b'{"meta": {"text": "a"}, "meta": {"text": "b"}}', b'{"meta": {"text": "a", "text": "b"}}'):
        assert read_lines(line, 0, encoded_field("meta.text"), bytearray(99))[0] == 0
    # names beside the way may come twice
    assert read_lines(b'{"x": 1, "x": 2, "meta": {"text": "a"}}', 0, encoded_field("meta.text"), bytearray(99))[1] == 1


@pytest.mark.parametrize("places", [(), ((),), ((b"a",) * 17,), ((b"a",),) * 65])
def test_too_many_places_are_refused(places: Any) -> None:
    with pytest.raises(ValueError, match="places; expected 1 to 64 of up to 16 names"):
        read_lines(b"{}", 0, places, bytearray(2))


@pytest.mark.parametrize("wrong", [(), ("a", "a"), "." * 16, tuple(map(str, range(33)))])
def test_wrong_names_are_values(wrong: Any) -> None:
    with pytest.raises(ValueError, match="text_field is"):
        checked_field("text_field", wrong)


@pytest.mark.parametrize("wrong", [5, b"text", ("a", 5), {"a": 1}, None])
def test_wrong_kinds_are_types(wrong: Any) -> None:
    with pytest.raises(TypeError, match="text_field must be a str, or a list of them"):
        checked_field("text_field", wrong)


def test_the_most_names_fit() -> None:
    names = tuple(".".join([f"n{number}"] * 16) for number in range(32))
    assert len(places_of(checked_field("text_field", names))) == 64
    line = json.dumps({names[31]: "low"}).encode()
    assert read_lines(line, 0, encoded_field(names), bytearray(len(line)))[1] == 3


ROWS = [
    {"id": 1, "meta": {"text": "low", "title": "t"}}, {"id": 2, "text": "slow"},
    {"id": 3, "meta": None, "text": "lower"},
    {"id": 4, "meta": {"text": None, "title": "u"}, "text": None}, {"id": 5, "meta": {"text": "", "title": None}},
]  # fmt: skip
TEXTS = ["low", "slow", "lower", None, ""]
BOTH = ("meta.text", "text")


def jsonl(path: Path) -> Path:
    path.write_text("".join(json.dumps(row) + "\n" for row in ROWS))
    return path


def parquet(path: Path) -> Path:
    pa, writer = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
    names = ("id", "meta", "text")
    writer.write_table(pa.table({name: [row.get(name) for row in ROWS] for name in names}), path)
    return path


CALLS: dict[str, Callable[[Path, bbpe.Tokenizer], int]] = {
    "shard": lambda path, tok: bbpe.shard(path, path.with_name("out"), tok, text_field=BOTH).tokens,
    "count_tokens": lambda path, tok: bbpe.count_tokens(path, tok, text_field=[*BOTH]).tokens,
    "encode_files": lambda path, tok: int(sum(map(len, tok.encode_files(path, text_field=BOTH)))),
}


@pytest.mark.parametrize("write", [jsonl, parquet])
@pytest.mark.parametrize("name", ["shard", "count_tokens", "encode_files"])
def test_functions_take_paths_and_fallbacks(
    name: str, write: Callable[[Path], Path], tmp_path: Path, tok_of_fields: bbpe.Tokenizer
) -> None:
    path = write(tmp_path / f"a.{write.__name__}")
    tokens = sum(len(tok_of_fields.encode(text)) for text in TEXTS if text)
    assert CALLS[name](path, tok_of_fields) == tokens


@pytest.mark.parametrize("write", [jsonl, parquet])
def test_counting_takes_them(write: Callable[[Path], Path], tmp_path: Path) -> None:
    path = write(tmp_path / f"a.{write.__name__}")
    right = dict(bbpe.count_from_iterator([text for text in TEXTS if text], pattern="gpt2"))
    assert dict(bbpe.count(path, pattern="gpt2", text_field=[*BOTH])) == right
    for _ in range(2):  # the stored plan is the same one
        plan = bbpe.plan_count(path, tmp_path / "counts", pattern="gpt2", text_field=BOTH)
        bbpe.count_part(plan, 0)
        assert dict(bbpe.sum_counts(plan)) == right


@pytest.fixture(scope="module")
def tok_of_fields() -> bbpe.Tokenizer:
    return bbpe.train_from_iterator(["low lower lowest"] * 3, 270)


@pytest.mark.parametrize("write", [jsonl, parquet])
def test_shards_keep_the_names(write: Callable[[Path], Path], tmp_path: Path, tok_of_fields: bbpe.Tokenizer) -> None:
    path = write(tmp_path / f"a.{write.__name__}")
    options: Any = {"text_field": BOTH, "id_field": ("meta.title", "id"), "format": "parquet"}
    done = bbpe.shard(path, tmp_path / "out", tok_of_fields, **options)
    assert [done.source(number).id for number in range(3)] == ["t", "2", "3"]
    assert [done.source(number).record for number in range(3)] == [0, 1, 2]
    again = bbpe.shard(path, tmp_path / "out", tok_of_fields, **options)
    assert again.plan.policy.text_field == BOTH
    assert bbpe.verify_shards(again, sample=1.0) == []
    with pytest.raises(CorpusError, match=r"text_field \['meta.text', 'text'\] and 'text'"):
        bbpe.shard(path, tmp_path / "out", tok_of_fields, **{**options, "text_field": "text", "on_error": "skip"})


@pytest.mark.parametrize("write", [jsonl, parquet])
def test_errors_name_what_there_is(
    write: Callable[[Path], Path], tmp_path: Path, tok_of_fields: bbpe.Tokenizer
) -> None:
    path = write(tmp_path / f"a.{write.__name__}")
    with pytest.raises(CorpusError) as caught:
        bbpe.count_tokens(path, tok_of_fields, text_field=("meta.body", "body"))
    message = str(caught.value)
    assert "'meta.body' or 'body'" in message
    assert "'meta.text', 'meta.title'" in message
    assert "text_field=" in message


def test_an_exact_name_comes_first(tmp_path: Path, tok_of_fields: bbpe.Tokenizer) -> None:
    rows = [{"meta.text": "low", "meta": {"text": "lower lower"}}, {"meta.text": None, "meta": {"text": "low"}}]
    path = tmp_path / "a.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    done = bbpe.shard(path, tmp_path / "out", tok_of_fields, text_field="meta.text")
    assert [tok_of_fields.decode(ids) for ids in done] == ["low", "low"]
    pa, writer = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
    writer.write_table(pa.Table.from_pylist(rows), tmp_path / "a.parquet")
    table = bbpe.shard(tmp_path / "a.parquet", tmp_path / "table", tok_of_fields, text_field="meta.text")
    assert np.array_equal(np.concatenate([*table]), np.concatenate([*done]))


def test_messages_may_be_within_objects(tmp_path: Path) -> None:
    tok = bbpe.train_from_iterator(["low lower"], 262, special_tokens=["<u>", "<a>"])
    folder = tmp_path / "tok"
    folder.mkdir()
    tok.save(folder / "tokenizer.json")
    template = "{% for message in messages %}<u>{{ message['content'] }}{% endfor %}"
    (folder / "tokenizer_config.json").write_text(json.dumps({"chat_template": template}))
    chats = bbpe.load(folder)
    messages = [{"role": "user", "content": "low"}]
    path = tmp_path / "a.jsonl"
    path.write_text(json.dumps({"data": {"messages": messages}}) + "\n" + json.dumps({"messages": messages}))
    done = bbpe.shard(path, tmp_path / "out", chats, messages_field=("data.messages", "messages"))
    assert done.documents == 2
    assert done[0].tolist() == done[1].tolist()


def test_the_command_line_repeats_the_name(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    from bbpe.cli import main

    path = jsonl(tmp_path / "a.jsonl")
    words = ["--text-field", "meta.text", "--text-field", "text", "--part-size", "1MB"]
    assert main(["shard", str(path), "-t", "gpt2", "-o", str(tmp_path / "out"), *words]) == 0
    assert bbpe.load_shards(tmp_path / "out").documents == 3
    assert "3 documents" in capsys.readouterr().out
