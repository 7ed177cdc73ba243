"""Chats of files, a record at a time: where each is wrong, in which line or row, and what columns may be."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from bbpe.corpus.chats import Chat, chat_blocks, check_chats, digest_of_chats
from bbpe.corpus.files import file_of
from bbpe.corpus.opened import Buffers
from bbpe.errors import CorpusError

HI, YES = [{"role": "user", "content": "Hi"}], [{"role": "user", "content": "Yes"}]


def read(path: Path, field: Any = "messages", id_field: Any = None, **options: Any) -> list[Chat | str]:
    """Each record in small blocks: its chat, or what is wrong with it."""
    blocks = chat_blocks(file_of(path), field, id_field, buffers=Buffers(100), **options)
    chats = [chat for block in blocks for _, chat in block.chats()]
    return [str(chat).removeprefix(f"{path}: ") if isinstance(chat, CorpusError) else chat for chat in chats]


def lines(folder: Path, *records: Any) -> Path:
    path = folder / "a.jsonl"
    path.write_text("".join((each if isinstance(each, str) else json.dumps(each)) + "\n" for each in records))
    return path


def test_each_line_is_a_chat_or_is_named_with_its_number(tmp_path: Path) -> None:
    path = lines(
        tmp_path, {"messages": HI}, "", {"messages": HI, "tools": [{"name": "f"}], "id": 7}, "  \t", {"messages": None},
        {"id": "x"}, [1], "{", {"messages": json.dumps(YES)}, {"messages": "[", "id": 5}, {"messages": {}},
        {"messages": HI, "tools": "x"}, '{"messages": ' + "[" * 200_000 + "]" * 200_000 + "}", {"messages": YES},
    )  # fmt: skip
    found = read(path)
    assert [each for each in found if isinstance(each, Chat)] == [
        Chat(HI), Chat(HI, [{"name": "f"}]), Chat(None), Chat(YES), Chat(YES),
    ]  # fmt: skip
    wrong = [each for each in found if isinstance(each, str)]
    expected = [
        "line 6: expected an object with the field 'messages', found one with 'id'; name the field with the mess",
        "line 7: expected an object with the field 'messages', found list; name the field with the messages by",
        "line 8: expected a JSON object: ",
        "line 10: field 'messages' is a string; expected a list, or one as JSON: ",
        "line 11: field 'messages' is dict; expected a list, or null",
        "line 12: field 'tools' is a string; expected a list, or one as JSON: ",
        "line 13: the JSON is nested too deeply; expected an object with messages in a field",
    ]
    assert [each.startswith(begin) for each, begin in zip(wrong, expected, strict=True)] == [True] * 7, wrong


def test_ids_of_chats(tmp_path: Path) -> None:
    path = lines(
        tmp_path, {"messages": HI, "id": 7}, {"messages": HI, "id": "seven"}, {"messages": YES, "id": None},
        {"messages": YES},
    )  # fmt: skip
    assert read(path, id_field="id") == [
        Chat(HI, None, "7"), Chat(HI, None, "seven"), Chat(YES, None, ""),
        "line 4: expected an object with the field 'id', as id_field= names it",
    ]  # fmt: skip
    assert read(path) == [Chat(HI), Chat(HI), Chat(YES), Chat(YES)]
    assert read(path, ("chat", "messages"))[0] == Chat(HI)


def test_a_range_of_lines(tmp_path: Path) -> None:
    """Lines are numbered from the beginning of the file, where a part begins within it, too."""
    records = [{"messages": HI}, {"messages": 5}] * 6
    path = lines(tmp_path, *records)
    ends = [0]
    for line in path.read_bytes().splitlines(keepends=True):
        ends.append(ends[-1] + len(line))
    problem = "field 'messages' is int; expected a list, or null"
    assert read(path, start=ends[3], stop=ends[6]) == [f"line 4: {problem}", Chat(HI), f"line 6: {problem}"]
    assert read(path, start=ends[10]) == [Chat(HI), f"line 12: {problem}"]


def test_columns_of_every_kind_of_list(tmp_path: Path) -> None:
    pa, parquet = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
    message = pa.struct([("role", pa.string()), ("content", pa.string()), ("name", pa.string())])
    named = [[{**HI[0], "name": None}], [{**YES[0], "name": None}]]
    texts = [json.dumps(HI), json.dumps(YES)]
    for values, kind in (
        (named, pa.list_(message)), (named, pa.large_list(message)), (named, pa.list_(message, 1)),
        (texts, pa.string()), (texts, pa.large_string()),
    ):  # fmt: skip
        table = {"messages": pa.array(values, kind), "tools": [None, '[{"name": "f"}]'], "key": [4, 5]}
        parquet.write_table(pa.table(table), tmp_path / "a.parquet")
        found = read(tmp_path / "a.parquet", id_field="key")
        assert found == [Chat(HI, None, "4"), Chat(YES, [{"name": "f"}], "5")], kind
    parquet.write_table(pa.table({"messages": pa.nulls(2)}), tmp_path / "a.parquet")
    assert read(tmp_path / "a.parquet") == [Chat(None), Chat(None)]
    parquet.write_table(pa.table({"messages": [5]}), tmp_path / "a.parquet")
    with pytest.raises(CorpusError, match="column 'messages' is int64; expected lists of messages, or these as JSON"):
        read(tmp_path / "a.parquet")
    parquet.write_table(pa.table({"chat": [5], "other": [6]}), tmp_path / "a.parquet")
    with pytest.raises(CorpusError, match=r"no column 'messages', only 'chat', 'other'; name the column with the mess"):
        read(tmp_path / "a.parquet")


def test_rows_that_are_wrong_are_numbered_in_their_row_groups(tmp_path: Path) -> None:
    pa, parquet = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
    texts = [json.dumps(HI), "x", json.dumps(YES), json.dumps(HI), "y", "z"]
    parquet.write_table(pa.table({"messages": texts}), tmp_path / "a.parquet", row_group_size=2)
    problem = "field 'messages' is a string; expected a list, or one as JSON: Expecting value: line 1 column 1 (char 0)"
    assert read(tmp_path / "a.parquet") == [
        Chat(HI), f"row 2: {problem}", Chat(YES), Chat(HI), f"row 5: {problem}", f"row 6: {problem}",
    ]  # fmt: skip
    check_chats([file_of(tmp_path / "a.parquet")], "messages", None, first_lines=True)
    assert read(tmp_path / "a.parquet", start=1, stop=2) == [Chat(YES), Chat(HI)]
    assert read(tmp_path / "a.parquet", start=1) == [
        Chat(YES), Chat(HI), f"row 3 of the row groups from 1 on: {problem}",
        f"row 4 of the row groups from 1 on: {problem}",
    ]  # fmt: skip


def test_columns_are_looked_at_where_wrong_rows_are_left_out(tmp_path: Path) -> None:
    pa, parquet = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
    parquet.write_table(pa.table({"messages": ["x", json.dumps(HI)]}), tmp_path / "a.parquet")
    files = [file_of(tmp_path / "a.parquet")]
    check_chats(files, "messages", None, first_lines=False)
    with pytest.raises(CorpusError, match="row 1: field 'messages' is a string"):
        check_chats(files, "messages", None, first_lines=True)
    with pytest.raises(CorpusError, match="no column 'chat', only 'messages'"):
        check_chats(files, "chat", None, first_lines=False)


def test_the_first_chat_of_each_file_is_looked_at(tmp_path: Path) -> None:
    right = lines(tmp_path, {"messages": HI})
    wrong = tmp_path / "b.jsonl"
    wrong.write_text('\n\n{"text": "low"}\n{"messages": []}\n')
    late = tmp_path / "c.jsonl"
    late.write_text('{"messages": []}\n{"text": "low"}\n')
    files = [file_of(right), file_of(late), file_of(wrong)]
    check_chats(files[:2], "messages", None, first_lines=True)
    check_chats(files, "messages", None, first_lines=False)
    with pytest.raises(CorpusError, match=r"b\.jsonl: line 3: expected an object with the field 'messages', found one"):
        check_chats(files, "messages", None, first_lines=True)
    (tmp_path / "d.txt").write_text("low")
    with pytest.raises(CorpusError, match=r"d\.txt: a text file has no field 'chat' or 'messages'; expected JSON lin"):
        check_chats([files[0], file_of(tmp_path / "d.txt")], ("chat", "messages"), None, first_lines=False)
    (tmp_path / "empty.jsonl").write_text("")
    check_chats([file_of(tmp_path / "empty.jsonl")], "messages", None, first_lines=True)


def test_chats_have_one_digest_if_nothing_of_them_differs() -> None:
    """Messages, tools, ids, their order, and where a record is wrong; not the numbers of records in a block."""
    one, other = Chat(HI, None, "a"), Chat(YES, None, "a")
    wrong = CorpusError("line 1: expected a JSON object")
    different: list[list[Chat | CorpusError]] = [
        [], [one], [other], [one, other], [other, one], [one, one], [Chat(HI, [{"name": "f"}], "a")],
        [Chat(HI, [{"name": "g"}], "a")], [Chat(HI, None, "b")], [Chat(HI)], [Chat(None, None, "a")], [wrong],
        [wrong, one], [one, wrong], [Chat(HI * 2, None, "a")], [Chat([], None, "a")],
    ]  # fmt: skip
    digests = [digest_of_chats(enumerate(chats, 1)) for chats in different]
    assert len({*digests}) == len(different)
    assert digests == [digest_of_chats(enumerate(chats, 7)) for chats in different]
    # a message of the error is no part of it: it has the name of the file
    assert digest_of_chats([(1, CorpusError("b.jsonl"))]) == digest_of_chats([(1, wrong)])
