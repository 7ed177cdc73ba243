"""`bbpe encode`: text in, ids out, in bounded memory."""

from __future__ import annotations

import json
from argparse import ArgumentParser, Namespace
from collections.abc import Callable, Iterable, Iterator
from itertools import islice
from typing import TypeVar

import numpy as np

from bbpe.normalize import bytes_to_alphabet
from bbpe.tokenizer import Tokenizer

from . import npy
from .command import Command, add_tokenizer, load_tokenizer
from .outputs import check_output, inputs_of
from .streams import STDIN, binary_output, names_of, open_chunks

Item = TypeVar("Item")

_BLOCK = 1 << 16


def _add_arguments(parser: ArgumentParser) -> None:
    parser.add_argument("files", nargs="*", metavar="FILE", help="a text each (default, and -: standard input)")
    add_tokenizer(parser)
    parser.add_argument("--special", action="store_true", help="special tokens in the text are special, not plain text")
    parser.add_argument("--tokens", action="store_true", help="write tokens, in the byte alphabet, instead of ids")
    form = parser.add_mutually_exclusive_group()
    form.add_argument("--json", action="store_true", help="write a JSON object a text: its file, and ids or tokens")
    form.add_argument("--numpy", metavar="OUT.npy", help="write the ids of all texts to a uint32 array in a file")


def _run(args: Namespace) -> int:
    if args.numpy is not None and args.tokens:
        raise ValueError("--numpy holds ids; it does not go with --tokens")
    inputs = inputs_of(tokenizer=args.tokenizer, named=[name for name in names_of(args.files) if name != STDIN])
    check_output(args.numpy, "the ids", inputs)
    tokenizer = load_tokenizer(args)
    if args.numpy is not None:
        with npy.writer(args.numpy) as write_ids:
            for _, ids in _texts(args, tokenizer):
                for block in _blocks(ids):
                    write_ids(np.array(block, dtype=np.uint32))
        return 0
    for name, ids in _texts(args, tokenizer):
        words = map(_spelling(tokenizer), ids) if args.tokens else map(str, ids)
        if args.json:
            key = "tokens" if args.tokens else "ids"
            words = map(json.dumps, words) if args.tokens else words
            _write_joined(words, f'{{"file": {json.dumps(name)}, "{key}": [', ", ", "]}\n")
        else:
            _write_joined(words, "", " ", "\n")
    return 0


def _texts(args: Namespace, tokenizer: Tokenizer) -> Iterator[tuple[str, Iterator[int]]]:
    for name in names_of(args.files):
        with open_chunks(name) as chunks:
            yield name, tokenizer.encode_iterable(chunks, allowed_special="all" if args.special else ())


def _spelling(tokenizer: Tokenizer) -> Callable[[int], str]:
    return lambda token_id: bytes_to_alphabet(tokenizer.id_to_token(token_id))


def _blocks(items: Iterable[Item]) -> Iterator[list[Item]]:
    iterator = iter(items)
    while block := list(islice(iterator, _BLOCK)):
        yield block


def _write_joined(words: Iterable[str], start: str, separator: str, end: str) -> None:
    """Write words as `start + separator.join(words) + end`, a block at a time; all of it is UTF-8."""
    output, between = binary_output(), ""
    output.write(start.encode())
    for block in _blocks(words):
        output.write((between + separator.join(block)).encode())
        between = separator
    output.write(end.encode())


COMMAND = Command("encode", "Encode text to ids.", _add_arguments, _run)
