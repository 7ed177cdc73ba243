"""`bbpe decode`: ids in, the bytes of the text out, in bounded memory."""

from __future__ import annotations

import sys
from argparse import ArgumentParser, Namespace
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, TypeAlias

from bbpe.errors import TokenIdError
from bbpe.files import local_path
from bbpe.lazy import np, npt
from bbpe.text import counted

from .command import Command, add_tokenizer, load_tokenizer
from .lines import add_lines, add_pieces, check_lines, convert_lines, lines_of
from .streams import add_progress, chunks_of, label_of, names_of, watched, write

if TYPE_CHECKING:
    from bbpe.tokenizer import Tokenizer

#: Reads the ids of a line; the label is for messages.
_Reader: TypeAlias = Callable[[bytes, str], list[int]]
# 2**32 has ten digits
_LONGEST_ID = 10
#: The ids of an array that are read at once.
_BLOCK = 1 << 16
#: The functions of NumPy that read the header of a file, by the version of the file.
_HEADERS = {(1, 0): "read_array_header_1_0", (2, 0): "read_array_header_2_0"}
# what lists have around and between ids
_BLANKS = bytes.maketrans(b"[](),", b" " * 5)


def _add_arguments(parser: ArgumentParser) -> None:
    what = "Files of ids between blanks or commas, or .npy arrays; - is standard input. [default: -]"
    parser.add_argument("files", nargs="*", metavar="FILE", help=what)
    add_tokenizer(parser)
    add_pieces(parser)
    add_lines(parser)
    add_progress(parser)


def _run(args: Namespace) -> int:
    check_lines(args)
    tokenizer = load_tokenizer(args)
    read = _piece_reader(tokenizer) if args.pieces else _read_ids
    if args.lines:
        return convert_lines(args, partial(_texts_of, tokenizer, read))
    last = b""
    with watched(args, "decode", unit="ids", writes=True) as watch:
        for name in names_of(args.files):
            if args.pieces:
                blocks: Iterable[Any] = _rows(name, read)
            else:
                blocks = array_blocks(name) if name.endswith(".npy") else _text_blocks(name)
            for ids in watch.over(blocks, len):
                text = tokenizer.decode_bytes(ids)
                write(text)
                last = text[-1:] or last
    # the prompt of a shell begins a line; a file has the bytes of the text and no other ones
    if last not in (b"", b"\n") and sys.stdout.isatty():
        write(b"\n")
    return 0


def _texts_of(tokenizer: Tokenizer, read: _Reader, lines: list[bytes], label: str, number: int) -> Sequence[str]:
    return tokenizer.decode_batch([read(line, f"{label}: line {number + i}: ") for i, line in enumerate(lines)])


def _rows(name: str, read: _Reader) -> Iterator[list[int]]:
    number = 1
    for lines in lines_of(name):
        for line in lines:
            yield read(line, f"{label_of(name)}: line {number}: ")
            number += 1


def _piece_reader(tokenizer: Tokenizer) -> _Reader:
    ids = {key.encode(): token_id for key, token_id in tokenizer.get_vocab().items()}

    def read(line: bytes, label: str) -> list[int]:
        pieces = [piece for piece in line.rstrip(b"\r").split(b" ") if piece]
        try:
            return [ids[piece] for piece in pieces]
        except KeyError as error:
            shown = error.args[0][:40].decode("utf-8", "backslashreplace")
            raise TokenIdError(f"{label}no piece is {shown!r}") from None

    return read


def _read_ids(line: bytes, label: str) -> list[int]:
    return _ids(line.translate(_BLANKS).split(), label)


def _text_blocks(name: str) -> Iterator[list[int]]:
    for words in _words(chunks_of(name)):
        yield _ids(words, f"{label_of(name)}: ")


def _ids(words: list[bytes], label: str) -> list[int]:
    for word in words:
        if not word.isdigit() or len(word) > _LONGEST_ID:
            shown = word[:40].decode("utf-8", "backslashreplace")
            raise TokenIdError(f"{label}expected ids between blanks or commas, found {shown!r}")
    return list(map(int, words))


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


def array_blocks(path: str) -> Iterator[npt.NDArray[np.integer]]:
    """Yield the ids of an .npy file in order, some at a time.

    Raises `TokenIdError` naming the file when it holds no one-dimensional array of integers, or not all of it.
    """
    # read, not mapped: a file that somebody cuts off would end the process
    with local_path(path, "arrays of ids are not read from URLs", "copy it to this machine first").open("rb") as file:
        try:
            headers: Any = np.lib.format
            shape, _, dtype = getattr(headers, _HEADERS[headers.read_magic(file)])(file)
        except (ValueError, EOFError, KeyError) as error:
            raise TokenIdError(f"{path}: expected an .npy array of ids: {error}") from error
        if len(shape) != 1 or dtype.kind not in "iu":
            raise TokenIdError(f"{path}: expected an .npy array of integers with one dimension")
        for start in range(0, shape[0], _BLOCK):
            ids = np.fromfile(file, dtype, min(_BLOCK, shape[0] - start))
            if len(ids) < min(_BLOCK, shape[0] - start):
                end = f"{start + len(ids):,} of {counted(shape[0], 'id')}"
                raise TokenIdError(f"{path}: it ends after {end}; expected all of them")
            yield ids


COMMAND = Command(_add_arguments, _run)
