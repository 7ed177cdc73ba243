"""The definition of a subcommand, and the arguments that several of them share."""

from __future__ import annotations

import errno
from argparse import ArgumentParser, ArgumentTypeError, Namespace
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple, get_args

import bbpe
from bbpe.errors import PatternError

from .parsers import UsageError
from .streams import STDIN

if TYPE_CHECKING:
    from bbpe.tokenizer import Tokenizer


class Command(NamedTuple):
    """A subcommand: `add_arguments` declares arguments, and `run` takes them parsed and returns the exit status."""

    add_arguments: Callable[[ArgumentParser], None]
    run: Callable[[Namespace], int]


def positive(text: str) -> int:
    """Read an argument that is a whole number of at least 1."""
    return whole(text, 1)


def whole(text: str, least: int = 0) -> int:
    """Read an argument that is a whole number."""
    if text.isdecimal() and int(text) >= least:
        return int(text)
    expected = f"expected a whole number of at least {least}, not {text!r}"
    if text[:-1].isdecimal() and text[-1] in "kK":
        expected += f" (did you mean {text[:-1]}000?)"
    raise ArgumentTypeError(expected)


def number(text: str) -> float:
    """Read an argument that is a number."""
    try:
        return float(text)
    except ValueError:
        raise ArgumentTypeError(f"expected a number, not {text!r}") from None


def pattern_of(text: str) -> str:
    """Read an argument that is the name of a split pattern or a regex."""
    from bbpe.splitting.patterns import get_pattern

    try:
        get_pattern(text)
    except PatternError as error:
        raise ArgumentTypeError(str(error)) from None
    return text


_PATTERN = "split pattern, a name or a regex, if the tokenizer file does not say it"


def add_tokenizer(parser: ArgumentParser, *, pattern: str = _PATTERN) -> None:
    """Add the arguments that say which tokenizer to use; `pattern` is the help of the one for its pattern."""
    what = "the tokenizer: a file, a folder, a published name, a model such as gpt-4o, or org/name in the hub's cache"
    parser.add_argument("-t", "--tokenizer", required=True, metavar="NAME", help=what)
    parser.add_argument("--pattern", type=pattern_of, help=pattern)


def add_format(parser: ArgumentParser) -> None:
    """Add the format of a tokenizer that is written, and what to leave out of it."""
    from bbpe.formats import FORMATS
    from bbpe.formats.saving import Part

    parser.add_argument("--format", choices=tuple(FORMATS), help="(default: by the name of the output)")
    dropped = "what to leave out where the format has no place for it; may be given repeatedly"
    parser.add_argument("--drop", action="append", default=[], choices=get_args(Part), help=dropped)


def add_pattern(parser: ArgumentParser) -> None:
    """Add the split pattern of a tokenizer file that does not say its own."""
    parser.add_argument("--pattern", type=pattern_of, help=_PATTERN)


def load_tokenizer(args: Namespace) -> Tokenizer:
    """Load the tokenizer that the arguments of `add_tokenizer` name."""
    return load_named(args.tokenizer, args.pattern)


def load_named(name: str, pattern: str | None = None) -> Tokenizer:
    """Load a tokenizer as `bbpe.load`, or else by its published name or its model."""
    if name == STDIN:
        raise UsageError("a tokenizer cannot be read from standard input (-); expected a file, a folder or a name")
    from bbpe.published.names import MODELS, hub_folder, name_for_model
    from bbpe.published.table import ALIASES, PUBLISHED

    if Path(name).exists() or hub_folder(name) is not None:
        return bbpe.load(name, pattern=pattern)
    known = name if name in (*PUBLISHED, *ALIASES) else name_for_model(name)
    if known is not None and pattern is None:
        return bbpe.get_encoding(known)
    from difflib import get_close_matches

    near = get_close_matches(name, [*PUBLISHED, *ALIASES, *MODELS], n=2)
    if near and "/" not in name:
        hint = " or ".join(map(repr, near))
        problem = f"there is no such file, vocabulary or model (did you mean {hint}?)"
        raise FileNotFoundError(errno.ENOENT, problem, name)
    return bbpe.load(name, pattern=pattern)
