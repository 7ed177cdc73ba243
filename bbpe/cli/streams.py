"""Standard input and output, and files in their place, a chunk at a time."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from io import BufferedReader
from typing import BinaryIO, cast

from bbpe.corpus import open_text

#: The file name that means standard input.
STDIN = "-"
_CHUNK_BYTES = 1 << 20


@contextmanager
def open_chunks(name: str) -> Iterator[Iterator[bytes]]:
    """Open a text, or standard input for "-", and yield its bytes in chunks of at most 1 MiB."""
    if name == STDIN:
        yield _stdin_chunks()
    else:
        with open_text(name) as text:
            yield (text[start : start + _CHUNK_BYTES] for start in range(0, len(text), _CHUNK_BYTES))


def names_of(files: Sequence[str]) -> Sequence[str]:
    """Return the files of a command line, standard input when there are none."""
    return files or (STDIN,)


def label_of(name: str) -> str:
    """Return what a message calls a file of the command line."""
    return "standard input" if name == STDIN else name


def binary_output() -> BinaryIO:
    """Return standard output for bytes."""
    return sys.stdout.buffer


def say(text: str) -> None:
    """Write a line of results; characters that the terminal cannot show are escaped."""
    encoding = sys.stdout.encoding or "utf-8"
    sys.stdout.write(text.encode(encoding, "backslashreplace").decode(encoding) + "\n")


def say_json(record: object) -> None:
    """Write a result as one line of JSON."""
    say(json.dumps(record))


def _stdin_chunks() -> Iterator[bytes]:
    # read1 hands over what a slow pipe has, without waiting for a full chunk
    source = cast(BufferedReader, sys.stdin.buffer)
    while chunk := source.read1(_CHUNK_BYTES):
        yield chunk
