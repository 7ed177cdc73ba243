"""`bbpe decode`: ids in, the bytes of the text out, in bounded memory."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace
from collections.abc import Iterable, Iterator, Sequence
from functools import partial
from typing import TYPE_CHECKING

from bbpe.errors import TokenIdError

from . import npy
from .command import Command, add_tokenizer, load_tokenizer
from .lines import add_lines, convert_lines
from .streams import chunks_of, label_of, names_of, write

if TYPE_CHECKING:
    from bbpe.tokenizer import Tokenizer

# 2**32 has ten digits
_LONGEST_ID = 10
# what lists have around and between ids
_BLANKS = bytes.maketrans(b"[](),", b" " * 5)


def _add_arguments(parser: ArgumentParser) -> None:
    what = "ids between blanks or commas, or an .npy array (default, and -: standard input)"
    parser.add_argument("files", nargs="*", metavar="FILE", help=what)
    add_tokenizer(parser)
    add_lines(parser)


def _run(args: Namespace) -> int:
    tokenizer = load_tokenizer(args)
    if args.lines:
        return convert_lines(args, partial(_texts_of, tokenizer))
    for name in names_of(args.files):
        for ids in npy.blocks(name) if name.endswith(".npy") else _text_blocks(name):
            write(tokenizer.decode_bytes(ids))
    return 0


def _texts_of(tokenizer: Tokenizer, lines: list[bytes], label: str, number: int) -> Sequence[str]:
    rows = [_ids(_words_of(line), f"{label}: line {number + i}: ") for i, line in enumerate(lines)]
    return tokenizer.decode_batch(rows)


def _text_blocks(name: str) -> Iterator[list[int]]:
    for words in _words(chunks_of(name)):
        yield _ids(words, f"{label_of(name)}: ")


def _ids(words: list[bytes], label: str) -> list[int]:
    for word in words:
        if not word.isdigit() or len(word) > _LONGEST_ID:
            shown = word[:40].decode("utf-8", "backslashreplace")
            raise TokenIdError(f"{label}expected ids between blanks or commas, found {shown!r}")
    return list(map(int, words))


def _words_of(written: bytes) -> list[bytes]:
    return written.translate(_BLANKS).split()


def _words(chunks: Iterable[bytes]) -> Iterator[list[bytes]]:
    """Cut a text, or a list as JSON and Python print it, into words, none torn by the end of a chunk."""
    torn = b""
    for written in chunks:
        chunk = written.translate(_BLANKS)
        words = (torn + chunk).split()
        torn = b"" if chunk[-1:].isspace() or not words else words.pop()
        # no id is so long; without a limit a file that is not ids would be read whole
        if len(torn) > _LONGEST_ID:
            words, torn = [*words, torn], b""
        yield words
    yield torn.split()


COMMAND = Command(_add_arguments, _run)
