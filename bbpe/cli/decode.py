"""`bbpe decode`: ids in, the bytes of the text out, in bounded memory."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace
from collections.abc import Iterable, Iterator

from bbpe.errors import TokenIdError

from . import npy
from .command import Command, add_tokenizer, load_tokenizer
from .streams import binary_output, label_of, names_of, open_chunks

# 2**32 has ten digits
_LONGEST_ID = 10


def _add_arguments(parser: ArgumentParser) -> None:
    parser.add_argument(
        "files", nargs="*", metavar="FILE", help="ids between blanks, or an .npy array (default, and -: standard input)"
    )
    add_tokenizer(parser)


def _run(args: Namespace) -> int:
    tokenizer = load_tokenizer(args)
    for name in names_of(args.files):
        for ids in npy.blocks(name) if name.endswith(".npy") else _text_blocks(name):
            binary_output().write(tokenizer.decode_bytes(ids))
    return 0


def _text_blocks(name: str) -> Iterator[list[int]]:
    with open_chunks(name) as chunks:
        for words in _words(chunks):
            for word in words:
                if not word.isdigit() or len(word) > _LONGEST_ID:
                    shown = word[:40].decode("utf-8", "backslashreplace")
                    raise TokenIdError(f"{label_of(name)}: expected ids between blanks, found {shown!r}")
            yield list(map(int, words))


def _words(chunks: Iterable[bytes]) -> Iterator[list[bytes]]:
    """Cut a text into words between blanks, none torn by the end of a chunk."""
    torn = b""
    for chunk in chunks:
        words = (torn + chunk).split()
        torn = b"" if chunk[-1:].isspace() or not words else words.pop()
        # no id is so long; without a limit a file that is not ids would be read whole
        if len(torn) > _LONGEST_ID:
            words, torn = [*words, torn], b""
        yield words
    yield torn.split()


COMMAND = Command("decode", "Decode ids to text.", _add_arguments, _run)
