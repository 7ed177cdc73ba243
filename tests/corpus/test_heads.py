"""The first bytes of a file: how many of them are looked at, and what they show at the ends of these ranges."""

from __future__ import annotations

import gzip
import io
from argparse import Namespace
from pathlib import Path

import pytest

import bbpe
from bbpe.cli import command, streams
from bbpe.corpus.contents import LINES, are_json_lines, is_json_document, may_be_json, wide_encoding
from bbpe.corpus.sources import Reading


@pytest.mark.parametrize(("before", "is_binary"), [(0, True), (1, True), (510, True), (511, True), (512, False)])
@pytest.mark.parametrize("is_packed", [False, True])
def test_a_byte_0_among_the_first_512_makes_a_file_binary(
    before: int, is_binary: bool, is_packed: bool, tmp_path: Path
) -> None:
    data, path = b"a" * before + b"\0" + b"a" * 600, tmp_path / ("part.gz" if is_packed else "part")
    path.write_bytes(gzip.compress(data) if is_packed else data)
    if is_binary:
        with pytest.raises(bbpe.CorpusError, match="begins like a binary file, with a byte 0 among the first 512;"):
            bbpe.count(path, pattern="gpt2")
    else:
        assert bbpe.count(path, pattern="gpt2").summary.bytes == len(data)


@pytest.mark.parametrize(("head", "expected"), [
    (b"a\0b\0c\0d\0", "UTF-16"), (b"\0a\0b\0c\0d", "UTF-16"),
    # fewer than eight bytes tell nothing
    (b"a\0b\0c\0d", None), (b"a\0b\0c\0", None), (b"", None),
    # three of four characters are ASCII, then two of four
    (b"a\0b\0c\0\x22\x6c", "UTF-16"), (b"a\0b\0\x11\x6c\x22\x6c", None),
    # text with bytes 0 in both places
    (b"a\0b\0\0c\0d", None), (b"a\0\0b\0c\0\0d\0\0e", None),
    (b"a\0\0\0b\0\0\0", "UTF-32"), (b"\0\0\0a\0\0\0b", "UTF-32"), (b"\0" * 16, None), (b"abcdefgh", None),
    # a character beyond the first plane has two bytes that are not 0
    (b"a\0\0\0b\0\0\0c\0\0\0\x00\xf6\x01\0", None), (b"a\0\0\0b\0\0\0c\0\0\0\x09\xf6\x01\0", "UTF-32"),
])  # fmt: skip
def test_wide_text_is_known_by_its_bytes_0(head: bytes, expected: str | None) -> None:
    assert wide_encoding(head) == expected


def line(size: int, field: str = "a") -> bytes:
    """An object of JSON of so many bytes in all."""
    around = b'{"%s": "' % field.encode(), b'"}'
    return around[0] + b"x" * (size - len(around[0]) - 2) + around[1]


@pytest.mark.parametrize(("head", "expected"), [
    # one object without the text is no line, unless its end is not among the bytes that are looked at
    (line(100), False), (line(100, "text"), True), (line(LINES - 4), False), (line(LINES - 4, "text"), True),
    (line(LINES), True), (line(LINES + 1), True),
    # two of them are lines, whatever they have
    (line(9) + b"\n" + line(9), True), (line(9) + b"\n\n \n" + line(9) + b"\nsee", True),
    # the second one may be cut off, and is then judged by its beginning
    (line(LINES - 50) + b"\n" + line(100), True), (line(LINES - 50) + b"\n" + b"see " * 30, False),
    (line(LINES - 50, "text") + b"\n" + b"see " * 30, True),
    # what is not the first line decides where that one is none, or has no text
    (line(9) + b"\nsee\n" + line(30, "text"), True), (line(9) + b"\nsee\n" + line(30), False),
    (b'{"a": 1}\n[1]\n', False), (b'{"a": broken\n' + line(30, "text"), True), (b'{"a": broken\n' + line(9), False),
    (b'{"text": null}\n', True), (b"\xef\xbb\xbf" + line(30, "text"), True), (b"see\n" + line(30, "text"), False),
])  # fmt: skip
def test_lines_are_json(head: bytes, expected: bool) -> None:
    assert are_json_lines(head, "text") is expected
    assert may_be_json(head) is not head.startswith(b"see")


@pytest.mark.parametrize(("head", "field", "expected"), [
    (b'[{"text": "see"}]', "text", True), (b'[{"text": "see"}]', "body", False), (b'[{"text": 5}]', "text", False),
    (b'[{"text": 5}, {"text" : "see"}]', "text", True), (b'{\n"a": "text",\n"text": "b"}', "text", True),
    (b'{"text": "see"}', "text", False), (b'[{"body": "see"}]', ("text", "body"), True),
    (b'[{"text": "see"}]', ("text", "body"), True), (b'[{"a": {"b": "see"}}]', "a.b", True),
    (b"\xef\xbb\xbf" + '[{"\u00e9": "see"}]'.encode(), "\u00e9", True), (b"[1]", "text", False),
])  # fmt: skip
def test_json_in_which_an_object_is_no_line(head: bytes, field: str | tuple[str, ...], expected: bool) -> None:
    assert is_json_document(head, field) is expected


@pytest.mark.parametrize(("door", "name"), [
    ("texts", "a.jsonl"), ("texts", "a.txt"), ("texts", "a.txt.gz"), ("records", "a.jsonl"), ("records", "a.jsonl.gz"),
])  # fmt: skip
def test_reading_a_file_that_grows_as_fast_as_it_is_read_ends(name: str, door: str, tmp_path: Path) -> None:
    """A program that appends to a log, say: it is noticed once more was read than there was in the beginning."""
    more = b'{"text": "see my eyes"}\n' * 8
    # packed files of several members go on as long as there is another one
    more = gzip.compress(more) if name.endswith(".gz") else more
    (tmp_path / name).write_bytes(more)
    reading = Reading(block=len(more) // 2)
    file = reading.file(tmp_path / name)

    def read_all() -> None:
        for seen, _ in enumerate(reading.records(file) if door == "records" else reading.texts(file)):
            assert seen < 100
            with (tmp_path / name).open("ab") as log:
                log.write(more)

    with pytest.raises(bbpe.CorpusError, match=rf"{name}: its size changed from {len(more)} to \d+ bytes while it was"):
        read_all()


@pytest.mark.parametrize(("data", "document", "expected"), [
    (b"", "line", []), (b"\n", "line", [b"\n"]), (b"a\nb", "line", [b"a\n", b"b"]), (b"a", "line", [b"a"]),
    (b"\na\n", "line", [b"\n", b"a\n"]), (b"a\nb\n", "file", [b"a\nb\n"]), (b"", "file", [b""]),
])  # fmt: skip
def test_the_texts_of_standard_input(
    data: bytes, document: str, expected: list[bytes], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A line ends with its end; there is no line where there is nothing."""
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(data)))
    assert list(command.stdin_texts(Namespace(document=document, input_format=None))) == expected


def test_a_byte_0_in_standard_input_is_seen_in_its_first_line_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    streams.check_stdin(b"a" * 512 + b"\0", None)
    streams.check_stdin(b"\0", "text")
    with pytest.raises(bbpe.CorpusError, match="standard input: the file begins like a binary file"):
        streams.check_stdin(b"a" * 511 + b"\0", None)
