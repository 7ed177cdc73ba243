"""`bbpe train`: a tokenizer from text files."""

from __future__ import annotations

import errno
import os
import sys
import time
from argparse import ArgumentParser, Namespace
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import bbpe
from bbpe import formats
from bbpe.tokenizer import Tokenizer

from .command import Command, positive
from .streams import STDIN, say, say_json


def _add_arguments(parser: ArgumentParser) -> None:
    parser.add_argument("files", nargs="+", metavar="FILE", help="files, globs and folders of text, or just -")
    parser.add_argument("--vocab-size", type=positive, required=True, metavar="N", help="tokens in all")
    parser.add_argument("-o", "--output", required=True, metavar="PATH", help="where to save the tokenizer")
    parser.add_argument("--format", choices=tuple(formats.FORMATS), help="(default: by the name of the output)")
    parser.add_argument("--pattern", default="gpt2", help="split pattern, a name or a regex (default: gpt2)")
    parser.add_argument("--special-token", action="append", default=[], metavar="TEXT", help="may be given repeatedly")
    parser.add_argument("--min-frequency", type=positive, default=1, metavar="N", help="least count of a merge (1)")
    parser.add_argument("--max-token-length", type=positive, metavar="N", help="longest token, in bytes")
    parser.add_argument("--tie-break", choices=("ids", "bytes", "first"), default="ids", help="(default: ids)")
    parser.add_argument("--document", choices=("file", "line"), default="file", help="what is one text (default: file)")
    parser.add_argument("--threads", type=positive, metavar="N", help="(default: one for each core)")
    parser.add_argument("--quiet", action="store_true", help="no progress on stderr")
    parser.add_argument("--json", action="store_true", help="write the result as a JSON object")


def _run(args: Namespace) -> int:
    _check_folder(args.output)
    output_format = args.format or formats.format_of(Path(args.output))
    started = time.perf_counter()
    tokenizer = _train(args)
    seconds = time.perf_counter() - started
    tokenizer.save(args.output, format=output_format)
    facts = {
        "output": args.output,
        "vocab_size": tokenizer.vocab_size,
        "merges": len(tokenizer.merges),
        "seconds": round(seconds, 3),
        "fingerprint": tokenizer.fingerprint,
    }
    if args.json:
        say_json(facts)
    else:
        say(f"{facts['vocab_size']:,} tokens, {facts['merges']:,} merges, in {seconds:.1f} s; saved {args.output}")
    return 0


def _check_folder(output: str) -> None:
    # before the training, not after it
    parent = Path(output).absolute().parent
    if not parent.is_dir():
        raise FileNotFoundError(errno.ENOENT, "there is no such folder to save the tokenizer in", str(parent))
    if not os.access(parent, os.W_OK):
        raise PermissionError(errno.EACCES, "the tokenizer cannot be saved in this folder", str(parent))


def _train(args: Namespace) -> Tokenizer:
    options: dict[str, Any] = {
        "pattern": args.pattern,
        "special_tokens": args.special_token,
        "min_frequency": args.min_frequency,
        "max_token_length": args.max_token_length,
        "tie_break": args.tie_break,
        "threads": args.threads,
        "progress": not args.quiet,
    }
    if STDIN not in args.files:
        return bbpe.train(args.files, args.vocab_size, document=args.document, **options)
    if len(args.files) > 1:
        raise ValueError("- (standard input) does not go with other files")
    return bbpe.train_from_iterator(_stdin_texts(args.document), args.vocab_size, **options)


def _stdin_texts(document: str) -> Iterable[bytes]:
    return sys.stdin.buffer if document == "line" else (sys.stdin.buffer.read(),)


COMMAND = Command("train", "Train a tokenizer on text files.", _add_arguments, _run)
