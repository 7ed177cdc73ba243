"""The options that `bbpe count`, `train` and `extend` share: what to read and how to count it."""

from __future__ import annotations

import argparse
from argparse import ArgumentParser, Namespace, _ArgumentGroup
from collections.abc import Iterable
from itertools import chain
from pathlib import Path
from typing import Any

from bbpe.counting.options import Counting

from .command import positive
from .streams import STDIN_FILE, add_reading, check_stdin, progress_of, stdin


def add_corpus(parser: ArgumentParser) -> _ArgumentGroup:
    """Add the group of what is read, and return it for the names of files."""
    return parser.add_argument_group("Corpus", "what is read and what is counted of it")


def add_counting(parser: ArgumentParser, corpus: _ArgumentGroup) -> None:
    """Add the options of counting, what changes the counts to `corpus`, and the others as a group."""
    corpus.add_argument("--document", choices=("file", "line"), default="file", help="what is one text (default: file)")
    add_reading(corpus)
    add_on_error(corpus)
    corpus.add_argument("--sample", type=share, default=1.0, metavar="SHARE", help="of the texts to count (default: 1)")
    corpus.add_argument("--max-pretoken-bytes", type=positive, metavar="N", help="cut longer pretokens in pieces")
    group = parser.add_argument_group("Counting", "in how much memory and time; the result is the same")
    group.add_argument("--max-memory", metavar="SIZE", help="of the process, such as 4GB (default: no limit)")
    group.add_argument("--checkpoint", metavar="FOLDER", help="go on from there after a count that was killed")
    group.add_argument("--threads", type=positive, metavar="N", help="(default: one for each core)")


def add_on_error(parser: ArgumentParser | _ArgumentGroup) -> None:
    """Add what happens to lines that cannot be read."""
    wrong = "lines of JSON that cannot be read: end there, or leave them out (default: raise)"
    parser.add_argument("--on-error", choices=("raise", "skip"), default="raise", help=wrong)


def share(text: str) -> float:
    """Read an argument that is more than 0 and at most 1."""
    try:
        number = float(text)
    except ValueError:
        number = 0.0
    if not 0 < number <= 1:
        raise argparse.ArgumentTypeError(f"expected a number more than 0 and at most 1, not {text!r}")
    return number


def counting_of(args: Namespace, *, files: bool = True) -> Counting:
    """Return how to count; texts that are no `files` have no fields and formats."""
    names = ("document", "max_memory", "max_pretoken_bytes", "sample", "checkpoint", "threads")
    options: dict[str, Any] = {name: getattr(args, name) for name in names}
    if files:
        options |= {"text_field": args.text_field, "format": args.input_format, "on_error": args.on_error}
    return Counting(progress=progress_of(args), **options)


def is_streamed(args: Namespace) -> bool:
    """Whether standard input is read as a file, a block at a time: in bounded memory, or as rows."""
    asked = args.max_memory is not None or args.input_format not in (None, "text")
    stdin()
    return asked and Path(STDIN_FILE).exists()


def stdin_texts(args: Namespace) -> Iterable[bytes]:
    """Return the texts of standard input; raises as `check_stdin`."""
    if args.document != "line":
        text = stdin().read()
        check_stdin(text, args.input_format)
        return (text,)
    first = stdin().readline()
    check_stdin(first, args.input_format)
    return chain([first] if first else [], stdin())
