"""The reader of JSON lines in C, with every instruction set, against Python's `json`."""

from __future__ import annotations

import io
import json
import random
import re
from collections.abc import Iterable
from itertools import pairwise
from pathlib import Path

import pytest
from seeds import full_then_long

import bbpe
from bbpe.core.json_lines import ISAS, read_lines
from bbpe.corpus.files import file_of
from bbpe.corpus.opened import Buffers, opened
from bbpe.corpus.records import JsonLines, key_of
from bbpe.corpus.sources import Reading
from bbpe.text import text_bytes

EVERY_ISA = ("auto", *ISAS)
SIGNS = '{}[]",:\\ \t\r\n\0\x0b\x1f\x7f/bfnrtuU0123456789abcdefABCDEF+-.eEIN\u00e9\u6587\U0001f600'
VALUES = [
    '"t"', '""', "null", "true", "false", "0", "-0.5e+3", "1E9", "NaN", "-Infinity", "Infinity", "[]", "{}",
    "[1, [2], {}]", '{"text": "no", "a": {"b": [null]}}', '"\\u00e9\\ud83d\\ude00"', '"\\ud800"', '"\\ude00\\ud83d"',
    '"\\"\\\\\\/\\b\\f\\n\\r\\t"',
    '"' + "plain text " * 12 + '"', '"' + "\u6f22\u5b57\u00e9" * 20 + '"', '"' + "\\u6f22" * 20 + '"',
    "1" * 999, '"text"',
]  # fmt: skip
WRONG = [b"\xff", b"\xc3", b"\xed\xa0\x80", b"\xe0\x80\x80", b"\xf4\x90\x80\x80"]
#: The second bytes at which a character of several bytes begins or ends to be valid, and their neighbours.
ENDS_OF_RANGES = [0x7F, 0x80, 0x8F, 0x90, 0x9F, 0xA0, 0xBF, 0xC0]
NAMES = ['"text"', '"t\\u0065xt"', '"id"', '""', '"\\ud800"', '"texts"', '"Text"']


#: What is only in lines that may be left to the caller although `json` reads them.
RARE = re.compile(rb"\d{999}|\\u[dD][89a-fA-F]..|\xed[\xa0-\xbf]|\0")


def by_json(line: bytes) -> bytes | None:
    """The text of a line; raises where there is none to have."""
    record = json.loads(line)
    if not isinstance(record, dict) or "text" not in record or not isinstance(record["text"], str | None):
        raise ValueError("no text")
    text = record["text"]
    return None if text is None else bytes(text_bytes(text))


def check(data: bytes) -> None:
    """Lines are read as `json` does, or left to the caller."""
    texts: list[bytes] = []
    skipped = records = stop = 0
    for line in io.BytesIO(data):
        if not line.isspace():
            try:
                text = by_json(line)
            except (ValueError, RecursionError):
                break
            texts += [] if text is None else [text]
            skipped += text is None
            records += 1
        stop += len(line)
    for isa in EVERY_ISA:
        room = bytearray(len(data))
        at, used, ends, numbers, _, seen, nulls = read_lines(data, 0, b"text", room, isa=isa)
        starts = [0, *ends.tolist()]
        found = [bytes(room[start:end]) for start, end in pairwise(starts)]
        assert found == texts[: len(found)], (isa, data)
        assert at <= stop, (isa, data)
        assert used == starts[-1], (isa, data)
        assert (numbers < seen).all(), (isa, data)
        if at == stop:
            assert (len(found), seen, nulls) == (len(texts), records, skipped), (isa, data)
        else:
            # a rare line: a number of many digits, a name with half a pair, surrogates in UTF-8, other encodings
            line = data[at:].split(b"\n")[0]
            assert RARE.search(line), (isa, data)


def drawn(generator: random.Random) -> bytes:
    """Some lines, most of them JSON, with a few random changes."""
    lines = []
    for _ in range(generator.randrange(1, 4)):
        members = [
            f"{generator.choice(NAMES)}{generator.choice(['', ' '])}: {generator.choice(VALUES)}"
            for _ in range(generator.randrange(4))
        ]
        blank = generator.choice(["", "", " ", "\t", "\r"])
        members = [f'"text": {generator.choice(VALUES)}', *members][generator.randrange(2) :]
        lines.append(blank + "{" + ", ".join(members) + "}" + blank)
    text = "\n".join(lines) + generator.choice(["", "\n", "\n\n \n"])
    for _ in range(generator.choice([0, 0, 1, 1, 2, 5])):
        at = generator.randrange(len(text) + 1)
        match generator.randrange(3):
            case 0:
                text = text[:at] + generator.choice(SIGNS) + text[at + 1 :]
            case 1:
                text = text[:at] + generator.choice(SIGNS) + text[at:]
            case _:
                text = text[:at] + text[at + generator.randrange(3) :]
    data = text.encode()
    if generator.random() < 0.1:
        at = generator.randrange(len(data) + 1)
        data = data[:at] + generator.choice(WRONG) + data[at:]
    return data


@pytest.mark.parametrize("rounds", [3000, *full_then_long([30_000], [1_000_000])])
def test_lines_are_read_as_json_reads_them(rounds: int) -> None:
    generator = random.Random(rounds)
    for _ in range(rounds):
        check(drawn(generator))


@pytest.mark.parametrize("isa", EVERY_ISA)
def test_a_line_that_json_reads_is_read_here(isa: str) -> None:
    """All values beside the text, at every distance from the end of a block of 64 bytes."""
    for value in VALUES[:-2]:
        for pad in range(0, 66, 5):
            line = f'{{"{"n" * pad}": {value}, "text": "{"x" * pad}\\n\u00e9"}}\n'.encode()
            room = bytearray(len(line))
            at, used, *_ = read_lines(line, 0, b"text", room, isa=isa)
            assert (at, bytes(room[:used])) == (len(line), b"x" * pad + b"\n\xc3\xa9"), line


@pytest.mark.parametrize("isa", EVERY_ISA)
def test_every_escape_and_every_short_character(isa: str) -> None:
    points = [*range(0, 0x10000, 7), *range(0xD7F0, 0xE010)]
    for start in range(0, len(points), 500):
        text = "".join(map(chr, points[start : start + 500]))
        for is_ascii in (True, False):
            line = json.dumps({"text": text}, ensure_ascii=is_ascii).encode("utf-8", "surrogatepass")
            room = bytearray(len(line))
            at, used, *_ = read_lines(line, 0, b"text", room, isa=isa)
            if is_ascii or not any(0xD800 <= ord(char) < 0xE000 for char in text):
                assert (at, bytes(room[:used])) == (len(line), bytes(text_bytes(text)))
            else:
                assert at == 0


@pytest.mark.parametrize("isa", EVERY_ISA)
@pytest.mark.parametrize(
    "seconds", [ENDS_OF_RANGES, pytest.param(range(0x7C, 0xC4), marks=pytest.mark.full)], ids=["ends of ranges", "all"]
)
@pytest.mark.parametrize("before", [b"\xc3\xa9" * 2, b"\xe6\xbc\xa2" * 19 + b"\xc3\xa9", b"\xe6\xbc\xa2" * 20 + b"ab"])
def test_every_beginning_of_a_character_of_several_bytes(isa: str, before: bytes, seconds: Iterable[int]) -> None:
    """At the beginning of a block of 64 bytes, and where its end cuts it; what is no UTF-8 is left to the caller."""
    right = []
    for first in range(0x80, 0x100):
        for second in seconds:
            for rest in (b"", b"\x80", b"\xbf", b"\x80\xbf", b"a", b"\xe6\xbc\xa2"):
                text = before + bytes((first, second)) + rest + b"\xe6\xbc\xa2" * 25
                line = b'{"text": "' + text + b'"}\n'
                try:
                    text.decode()
                except UnicodeDecodeError:
                    assert read_lines(line, 0, b"text", bytearray(len(line)), isa=isa)[0] == 0, text
                else:
                    right.append(text)
    lines = b"".join(b'{"text": "' + text + b'"}\n' for text in right)
    room = bytearray(len(lines))
    at, used, ends, *_ = read_lines(lines, 0, b"text", room, isa=isa)
    assert (at, len(ends), bytes(room[:used])) == (len(lines), len(right), b"".join(right))


def test_depth_has_a_limit_after_which_json_decides() -> None:
    for depth, is_read in ((64, True), (65, False), (100_000, False)):
        line = b'{"a": ' + b"[" * depth + b"]" * depth + b', "text": "x"}\n'
        at = read_lines(line, 0, b"text", bytearray(len(line)))[0]
        assert (at == len(line)) is is_read


def test_room_is_checked() -> None:
    with pytest.raises(ValueError, match="found room for 3 bytes"):
        read_lines(b'{"text": ""}', 0, b"text", bytearray(3))


def test_a_byte_order_mark_and_rare_lines_are_read(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    deep = "[" * 70 + "]" * 70
    path.write_bytes(b"\xef\xbb\xbf" + f'{{"text": "a"}}\r\n\r\n{{"x": {deep}, "text": "b"}}\n{{"text": "c"}}'.encode())
    records = list(Reading().records(file_of(path)))
    assert records == [(0, b"a"), (1, b"b"), (2, b"c")]


def test_the_last_of_several_members_of_a_name_counts(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    path.write_text('{"text": "long", "text": null}\n{"text": 1, "t\\u0065xt": "b"}\n{"text": null, "text": "c"}\n')
    assert list(bbpe.count(path, pattern="gpt2")) == [(b"b", 1), (b"c", 1)]


def test_a_line_that_is_wrong_may_be_skipped(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    path.write_text('{"text": "a"}\n{"text": 1}\n\nnone\n{"text": "b"}\n')
    refused: list[tuple[int, str]] = []
    with opened(file_of(path)) as source:
        lines = JsonLines(source, "text", 0, Buffers(64), lambda error, line: refused.append((line, str(error))))
        found = [(bytes(records.data), records.numbers.tolist()) for records in lines if len(records.ends)]
    assert found == [(b"a", [0]), (b"b", [3])]
    assert [line for line, _ in refused] == [2, 4]
    assert "line 2: field 'text' is int" in refused[0][1]


def test_a_range_of_lines_is_read_and_its_lines_are_numbered_in_the_file(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    lines = [json.dumps({"text": f"text {number}"}) + "\n" for number in range(200)]
    path.write_text("".join(lines))
    ends = [0]
    for line in lines:
        ends.append(ends[-1] + len(line))
    for first, last in ((0, 1), (3, 60), (150, 200), (199, 200)):
        texts = Reading(block=64).texts(file_of(path), start=ends[first], stop=ends[last])
        assert b"".join(bytes(some.data) for some in texts) == "".join(f"text {n}" for n in range(first, last)).encode()
    path.write_text("".join([*lines[:150], "{}\n", *lines[151:]]))
    with pytest.raises(bbpe.CorpusError, match="line 151: expected an object with the field 'text'"):
        list(Reading(block=64).texts(file_of(path), start=ends[100], stop=ends[150] + 3))


def test_records_are_numbered_with_those_that_have_no_text(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    texts = ["a", None, "b\ud800", None, None, "c", "d"]
    lines = [json.dumps({"text": text}) + "\n" * (not number % 3) for number, text in enumerate(texts)]
    path.write_text("\n".join(lines))
    right = [(number, bytes(text_bytes(text))) for number, text in enumerate(texts) if text is not None]
    for block in (16, 64, 1 << 20):
        assert list(Reading(block=block).records(file_of(path))) == right


def test_lines_that_are_left_out_of_a_range_are_numbered_in_the_file(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    lines = [json.dumps({"text": f"text {number}"}) for number in range(40)]
    lines[25], lines[33] = "{", '{"body": 1}'
    path.write_text("\n".join(lines))
    start = len("\n".join(lines[:20])) + 1
    refused: list[int] = []
    texts = list(Reading(block=64).texts(file_of(path), start=start, refuse=lambda _, line: refused.append(line)))
    assert refused == [26, 34]
    assert sum(some.refused for some in texts) == 2
    assert b"".join(bytes(some.data) for some in texts).count(b"text ") == 18


@pytest.mark.parametrize("before", ["", "\n \n", '{"text": "see"}\n', '{"text": null}\n', '{"text": "s\\ud800"}\n'])
@pytest.mark.parametrize("record", ['{"body": 1}', "[1]"])
def test_a_record_without_the_field_is_told_what_to_name(before: str, record: str, tmp_path: Path) -> None:
    """The field, if no record before has it; else the field of this one as well, wherever a range of lines begins."""
    path = tmp_path / "a.jsonl"
    path.write_text(f"{before}{record}\n")
    is_first = not before.strip()
    way = "name the field with the text by text_field=" if is_first else (
        "name its field, too, by text_field=, or write null where a record has no text"
    )  # fmt: skip
    for start in (0,) if is_first else (0, len(before)):
        with pytest.raises(bbpe.CorpusError) as caught:
            list(Reading().texts(file_of(path), start=start))
        number = before.count("\n") + 1
        assert f"a.jsonl: line {number}: expected an object with the field 'text', found" in str(caught.value)
        assert str(caught.value).endswith(f"; {way}")


@pytest.mark.parametrize("block", [16, 64, 1 << 20])
def test_records_say_where_they_end(block: int, tmp_path: Path) -> None:
    """In the file, wherever its reading began, and of lines that only `json` reads or that are left out, too."""
    path = tmp_path / "a.jsonl"
    lines = [json.dumps({"text": f"text {number} \ud800" if number % 7 == 0 else "a"}) for number in range(40)]
    lines[25] = "{"
    path.write_text("\n".join(lines))
    ends = [0, *(at + 1 for at, byte in enumerate(path.read_bytes()) if byte == ord("\n")), path.stat().st_size]
    for start in (0, ends[20]):
        with opened(file_of(path)) as source:
            reader = JsonLines(source, "text", 0, Buffers(block), refuse=lambda *_: None, start=start)
            found = [(some.position, int(some.numbers[-1])) for some in reader if len(some.numbers)]
        first = ends.index(start)
        assert [position for position, _ in found] == [ends[first + number + 1] for _, number in found]
        assert found[-1][0] == ends[-1]


@pytest.mark.parametrize("id_field", ["key", "n"])
def test_each_text_has_the_id_of_its_own_line(id_field: str, tmp_path: Path) -> None:
    """Among empty lines, nulls, ids that are no strings, and lines that only `json` reads."""
    path, rows = tmp_path / "a.jsonl", []
    for number in range(60):
        text = [f"text {number}", None, f"half a pair \ud800 {number}"][number % 5 // 2]
        rows.append({"n": number, "key": [f"id {number}", number, None][number % 3], "text": text})
    path.write_text("\n\n".join(map(json.dumps, rows)))
    right = [key_of(row[id_field]) for row in rows if row["text"] is not None]
    for block in (32, 200, 1 << 20):
        reading = Reading(block=block, id_field=id_field)
        assert [key for some in reading.texts(file_of(path)) for key in some.keys or ()] == right, block


def test_an_id_in_bytes_is_read_as_far_as_it_is_utf8() -> None:
    assert (key_of(b"a\xffb"), key_of("a\ud800"), key_of(1.5), key_of({"a": "\u00e9"})) == (
        "a\ufffdb", "a\ufffd", "1.5", '{"a": "\u00e9"}',
    )  # fmt: skip
