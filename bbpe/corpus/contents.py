"""What the first bytes of a file show: a format that is not text, an encoding, or JSON.

Files without a telling suffix are looked at once, and all files when they are read.
"""

from __future__ import annotations

import json
from typing import Any

from ..lazy import lazy_re
from .fields import FieldName, places_of, value_of

#: Bytes at the beginning of a file that show what it is, and those that show whether its lines are JSON.
HEAD, LINES = 512, 1 << 16
_PARQUET_FILE = "a Parquet file; format='parquet' reads it"
#: The first bytes of files that are not text, by a description for the message.
_BEGINNINGS = {
    "a zip archive": rb"PK(?:\x03\x04|\x05\x06)",
    "a gzip file; a name that ends in .gz has it decompressed": rb"\x1f\x8b\x08",
    "a zstandard file; a name that ends in .zst has it decompressed": rb"\x28\xb5\x2f\xfd",
    "an xz file; a name that ends in .xz has it decompressed": rb"\xfd7zXZ\x00",
    "a bzip2 file; a name that ends in .bz2 has it decompressed": rb"BZh[1-9](?:1AY&SY|\x17\x72\x45\x38\x50\x90)",
    "an lz4 file": rb"\x04\x22\x4d\x18",
    "a 7z archive": rb"7z\xbc\xaf\x27\x1c",
    "a rar archive": rb"Rar!\x1a\x07",
    "a tar archive": rb"(?s:.{257}ustar)",
    _PARQUET_FILE: rb"PAR[1E][\x00-\x1f]",
    "an Arrow file": rb"ARROW1\x00\x00|(?s:\xff\xff\xff\xff..[\x00-\x3f]\x00\x10\x00\x00\x00)",
    "a Feather file": rb"FEA1\x00",
    "an ORC file": rb"ORC[\x00-\x1f]",
    "an Avro file": rb"Obj\x01",
    "an HDF5 file": rb"\x89HDF\r\n",
    "an SQLite database": rb"SQLite format 3\x00",
    "an array of numpy": rb"\x93NUMPY",
    "a pickle": rb"\x80(?:[\x04\x05]\x95|[\x02\x03][\]}(cXq])",
    "a GGUF file": rb"GGUF[\x01-\x1f]\x00",
    "a WARC file, web pages with their headers": rb"WARC/\d\.\d+\r?\n",
    "a pointer of Git LFS, whose file `git lfs pull` fetches": rb"version https://git-lfs\.github\.com/spec/v\d",
    "a PDF document": rb"%PDF-\d",
    "a document of Microsoft Office": rb"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1",
    "a PNG picture": rb"\x89PNG\r\n",
    "a JPEG picture": rb"\xff\xd8\xff[\xc0-\xfe]",
    "a program": rb"\x7fELF[\x01\x02]|MZ[\x00-\x1f\x80-\xff]\x00",
}
DESCRIPTIONS = tuple(_BEGINNINGS)
BEGINS = lazy_re(b"|".join(b"(%b)" % pattern for pattern in _BEGINNINGS.values()))
BINARY = f"a binary file, with a byte 0 among the first {HEAD}"
#: The beginning of a Parquet file, and of a line that may be an object of JSON.
PARQUET, _OBJECT = lazy_re(_BEGINNINGS[_PARQUET_FILE]), lazy_re(rb'[ \t\r\n]*\{[ \t]*"(?:[^"\\\n]|\\.)*"[ \t]*:')
#: The beginning of JSON in which an object is no line: an array of objects, or an object over several lines.
_DOCUMENT = lazy_re(
    rb'[ \t\r\n]*(?:\[[ \t\r\n]*\{[ \t\r\n]*|\{[ \t]*\r?\n[ \t\r\n]*)"(?:[^"\\\n]|\\.)*"[ \t]*:'
)
#: What follows the name of a field that is a string.
_STRING = lazy_re(rb'[ \t\r\n]*:[ \t\r\n]*"')
#: The fewest bytes that are taken for UTF-16 or UTF-32.
_LEAST_WIDE = 8
_UTF8_MARK = b"\xef\xbb\xbf"
#: Byte order marks; a mark comes before any shorter mark that is its prefix.
MARKS = {
    b"\xff\xfe\x00\x00": "UTF-32, little-endian",
    b"\x00\x00\xfe\xff": "UTF-32, big-endian",
    b"\xff\xfe": "UTF-16, little-endian",
    b"\xfe\xff": "UTF-16, big-endian",
}


def wide_encoding(head: bytes) -> str | None:
    """Return "UTF-16" or "UTF-32" if text begins so without a mark, and is ASCII for the most part; else None.

    Of the two or four bytes of each character one is never 0, and the others are nearly always.
    """
    for width, name in ((2, "UTF-16"), (4, "UTF-32")):
        zeros = sorted(head[at::width].count(0) for at in range(width))
        if len(head) >= _LEAST_WIDE and zeros[0] == 0 and 4 * zeros[1] >= 3 * (len(head) // width):
            return name
    return None


def may_be_json(head: bytes) -> bool:
    """Return whether bytes begin as JSON with objects does, so that more of them show whether it is JSON lines."""
    begins = head.removeprefix(_UTF8_MARK)
    return _OBJECT.match(begins) is not None or _DOCUMENT.match(begins) is not None


def are_json_lines(head: bytes, text_field: FieldName) -> bool:
    """Return whether lines are objects of JSON: one with the text, or the first two; or one longer than the head."""
    head = head[:LINES].removeprefix(_UTF8_MARK)
    if _OBJECT.match(head) is None:
        return False
    is_cut = len(head) >= LINES - len(_UTF8_MARK)
    lines = [line for line in head.split(b"\n") if line.strip()]
    if is_cut and len(lines) == 1:
        return True
    found = [_object_of(line) for line in lines[: len(lines) - is_cut]]
    if is_cut:
        found.append(None if _OBJECT.match(lines[-1]) is None else {})
    are_two = len(found) > 1 and None not in found[:2]
    return are_two or any(_has(each, text_field) for each in found if each is not None)


def is_json_document(head: bytes, text_field: FieldName) -> bool:
    """Return whether a file begins with JSON that has a string in the field with the text, but is not JSON lines."""
    if _DOCUMENT.match(head.removeprefix(_UTF8_MARK)) is None:
        return False
    names = {json.dumps(place[-1], ensure_ascii=False) for place in places_of(text_field)}
    parts = [part for name in names for part in head.split(name.encode("utf-8", "surrogatepass"))[1:]]
    return any(_STRING.match(part) is not None for part in parts)


def _has(record: dict[str, Any], field: FieldName) -> bool:
    absent = object()
    return value_of(record, field, absent) is not absent


def _object_of(line: bytes) -> dict[str, Any] | None:
    try:
        value = json.loads(line)
    except (ValueError, RecursionError):
        return None
    return value if isinstance(value, dict) else None
