"""The definition of a subcommand, and the arguments that several of them share."""

from __future__ import annotations

from argparse import ArgumentParser, ArgumentTypeError, Namespace
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple, get_args

import bbpe

if TYPE_CHECKING:
    from bbpe.tokenizer import Tokenizer


class Command(NamedTuple):
    """What a subcommand does: `run` gets the parsed arguments and returns the exit status."""

    add_arguments: Callable[[ArgumentParser], None]
    run: Callable[[Namespace], int]


def positive(text: str) -> int:
    """Read an argument that is a whole number of at least 1."""
    try:
        number = int(text)
    except ValueError:
        number = 0
    if number < 1:
        raise ArgumentTypeError(f"expected a whole number of at least 1, not {text!r}")
    return number


def add_tokenizer(parser: ArgumentParser) -> None:
    """Add the arguments that say which tokenizer to use."""
    what = "the tokenizer: a file, a folder, or a published name"
    parser.add_argument("-t", "--tokenizer", required=True, metavar="PATH", help=what)
    add_pattern(parser)


def add_format(parser: ArgumentParser) -> None:
    """Add the format of a tokenizer that is written, and what to leave out of it."""
    from bbpe.formats import FORMATS
    from bbpe.formats.saving import Part

    parser.add_argument("--format", choices=tuple(FORMATS), help="(default: by the name of the output)")
    dropped = "what to leave out where the format has no place for it; may be given repeatedly"
    parser.add_argument("--drop", action="append", default=[], choices=get_args(Part), help=dropped)


def add_pattern(parser: ArgumentParser) -> None:
    """Add the split pattern of a tokenizer file that does not say its own."""
    parser.add_argument("--pattern", help="split pattern, a name or a regex, if the tokenizer file does not say it")


def load_tokenizer(args: Namespace) -> Tokenizer:
    """Load the tokenizer that the arguments of `add_tokenizer` name."""
    return load_named(args.tokenizer, args.pattern)


def load_named(name: str, pattern: str | None = None) -> Tokenizer:
    """Load a tokenizer from a path, or by its published name when there is no such file."""
    from bbpe.published.table import ALIASES, PUBLISHED

    if pattern is None and name in (*PUBLISHED, *ALIASES) and not Path(name).exists():
        return bbpe.get_encoding(name)
    return bbpe.load(name, pattern=pattern)
