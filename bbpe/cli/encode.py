"""`bbpe encode`: text in, ids out, in bounded memory."""

from __future__ import annotations

import json
from argparse import ArgumentParser, Namespace
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from itertools import chain
from pathlib import Path

from bbpe.corpus.files import File, check_fields
from bbpe.corpus.sources import Texts
from bbpe.encoding.engine import Ids
from bbpe.encoding.file_ids import Document, FileEncoder
from bbpe.files import replacing
from bbpe.lazy import np, npt
from bbpe.pipeline.special_tokens import Selection
from bbpe.tokenizer import Tokenizer

from .command import Command, load_tokenizer, number
from .lines import add_lines, add_pieces, add_texts, check_lines, convert_lines, encoded, speller
from .outputs import ARRAYS, check_output, inputs_of
from .parsers import UsageError
from .streams import (
    STDIN,
    Watch,
    add_json,
    add_progress,
    label_of,
    names_of,
    size_of,
    stdin,
    stdin_chunks,
    stdin_file,
    watched,
    write,
)

#: How many ids are written at once.
_WORDS = 1 << 16
#: The header of an .npy file, which is that of `numpy.lib.format`, version 1.0.
_HEADER_BYTES = 128


def _add_arguments(parser: ArgumentParser) -> None:
    add_texts(parser)
    spelled = parser.add_mutually_exclusive_group()
    spelled.add_argument("--tokens", action="store_true", help="Write tokens in GPT-2's byte alphabet, instead of ids.")
    add_pieces(spelled)
    add_lines(parser)
    add_progress(parser)
    sample = "With --lines, encode at random, with this dropout (BPE) or smoothing (Unigram)."
    parser.add_argument("--sample", type=number, metavar="ALPHA", help=sample)
    form = parser.add_mutually_exclusive_group()
    add_json(form)
    array = "Write the ids of all texts to one uint32 array in this file."
    form.add_argument("--numpy", metavar="OUT.npy", help=array)


def _run(args: Namespace) -> int:
    check_lines(args)
    if args.numpy is not None and (args.tokens or args.pieces):
        raise UsageError("--numpy holds ids; it does not go with --tokens or --pieces")
    if args.lines and (args.numpy is not None or args.json or args.input_format not in (None, "text")):
        raise UsageError("--lines reads and writes lines of text; it goes with neither --numpy nor --json nor formats")
    if args.sample is not None and not args.lines:
        raise UsageError("--sample needs --lines")
    inputs = inputs_of(tokenizer=args.tokenizer, named=[name for name in names_of(args.files) if name != STDIN])
    check_output(args.numpy, "the ids", inputs, suffixes=ARRAYS)
    tokenizer = load_tokenizer(args)
    if args.lines:
        return convert_lines(args, encoded(args, tokenizer))
    with watched(args, "encode", size_of(args.files), writes=args.numpy is None) as watch:
        _write(args, tokenizer, documents_of(args, tokenizer, watch))
    return 0


def _write(args: Namespace, tokenizer: Tokenizer, documents: Iterable[Document]) -> None:
    if args.numpy is not None:
        with array_writer(args.numpy) as write_ids:
            for ids in chain.from_iterable(document.parts for document in documents):
                write_ids(ids)
        return
    for document in documents:
        blocks = _spelled(tokenizer, document.parts, args)
        if args.json:
            row = "" if document.row is None else f'"row": {document.row}, '
            key = "tokens" if args.tokens else "pieces" if args.pieces else "ids"
            _write_joined(blocks, f'{{"file": {json.dumps(str(document.path))}, {row}"{key}": [', ", ", "]}\n")
        else:
            _write_joined(blocks, "", " ", "\n")


def documents_of(args: Namespace, tokenizer: Tokenizer, watch: Watch) -> Iterator[Document]:
    """Yield the documents of all files, whose names are looked at before the first is read."""
    encoder = _file_encoder(args, tokenizer, "all" if args.special else (), watch)
    found: list[Iterable[Document]] = []
    for name, files in _named(args, encoder):
        found += [_of_stdin(args, encoder, watch)] if name == STDIN else map(encoder.documents, files)
    return chain.from_iterable(found)


def counts_of(args: Namespace, tokenizer: Tokenizer, watch: Watch) -> Iterator[tuple[str, int]]:
    """Yield the file of each document and the number of its ids; all names are looked at before a file is read."""
    encoder = _file_encoder(args, tokenizer, "all" if args.special else (), watch)
    found: list[Iterable[tuple[str, int]]] = []
    for name, files in _named(args, encoder):
        if name != STDIN:
            found += [((str(path), count) for path, count in encoder.counts(file)) for file in files]
        elif args.input_format in (None, "text"):
            found.append((STDIN, encoder.count(_stdin_texts(args, watch))) for _ in range(1))
        else:
            stdin()
            found.append(_counts_of_stdin(encoder))
    return chain.from_iterable(found)


def _named(args: Namespace, encoder: FileEncoder) -> list[tuple[str, list[File]]]:
    """Return the names of a command line, each with the files that it stands for: of standard input itself."""
    of_stdin = File(Path(label_of(STDIN)), "text" if args.input_format is None else args.input_format)
    found = [(name, [of_stdin] if name == STDIN else encoder.files(name)) for name in names_of(args.files)]
    check_fields([file for _, files in found for file in files], args.text_field)
    return found


def _counts_of_stdin(encoder: FileEncoder) -> Iterator[tuple[str, int]]:
    with stdin_file() as path:
        for file in encoder.files(path):
            for _, count in encoder.counts(file):
                yield STDIN, count


def _file_encoder(args: Namespace, tokenizer: Tokenizer, allowed: Selection, watch: Watch) -> FileEncoder:
    parts = tokenizer._parts
    matcher, texts = parts.specials.matcher(allowed), parts.specials.texts
    return FileEncoder(parts.encoder, matcher, texts, args.text_field, args.input_format, watch.add)


def _of_stdin(args: Namespace, encoder: FileEncoder, watch: Watch) -> Iterator[Document]:
    if args.input_format in (None, "text"):
        yield Document(Path(STDIN), None, encoder.parts(_stdin_texts(args, watch)))
        return
    with stdin_file() as path:
        for document in encoder.corpus(path):
            yield Document(Path(STDIN), document.row, document.parts)


def _stdin_texts(args: Namespace, watch: Watch) -> Iterator[Texts]:
    for chunk in watch.over(stdin_chunks(args.input_format), len):
        yield Texts(chunk, None, last=False)
    yield Texts(b"", None)


def _spelled(tokenizer: Tokenizer, parts: Iterable[Ids], args: Namespace) -> Iterator[list[str]]:
    """Yield ids, or their tokens, as they are written, some at a time."""
    spelled = speller(args, tokenizer)
    for part in parts:
        for start in range(0, len(part), _WORDS):
            ids = part[start : start + _WORDS].tolist()
            words = list(map(spelled, ids))
            yield list(map(json.dumps, words)) if args.json and (args.tokens or args.pieces) else words


def _write_joined(blocks: Iterable[list[str]], start: str, separator: str, end: str) -> None:
    """Write words as `start + separator.join(words) + end`, a block at a time; all of it is UTF-8."""
    write(start.encode())
    between = ""
    for words in blocks:
        write((between + separator.join(words)).encode())
        between = separator
    write(end.encode())


@contextmanager
def array_writer(path: str) -> Iterator[Callable[[npt.NDArray[np.uint32]], None]]:
    """Yield a function that appends ids to a uint32 array, which becomes the .npy file `path` at the end of the block.

    Raises `OSError` naming `path`.
    """
    count = 0
    with replacing(path) as file:
        file.write(_header(0))

        def write_ids(ids: npt.NDArray[np.uint32]) -> None:
            nonlocal count
            count += len(ids)
            file.write(ids.astype("<u4").tobytes())

        yield write_ids
        # the length shows only now
        file.seek(0)
        file.write(_header(count))


def _header(count: int) -> bytes:
    # padded to a fixed size, so that the length can be written over
    fields = f"{{'descr': '<u4', 'fortran_order': False, 'shape': ({count},), }}".encode()
    size = _HEADER_BYTES - 10
    return b"\x93NUMPY\x01\x00" + size.to_bytes(2, "little") + fields.ljust(size - 1) + b"\n"


COMMAND = Command(_add_arguments, _run)
