"""The definition of a subcommand, and the arguments that several of them share."""

from __future__ import annotations

import os
import sys
import warnings
from argparse import ArgumentParser, ArgumentTypeError, Namespace, _ArgumentGroup
from collections.abc import Callable, Iterable, Sequence
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, get_args

import bbpe
from bbpe.errors import PatternError

from .parsers import UsageError
from .streams import STDIN, STDIN_FILE, add_on_error, add_reading, check_stdin, progress_of, stdin

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


def tokens(text: str) -> int:
    """Read an argument that is a number of tokens, such as 1000000, 1.5M or 100B."""
    from bbpe.budget import parse_count

    try:
        return parse_count(text, "the number")
    except ValueError as error:
        raise ArgumentTypeError(str(error)) from None


def number(text: str) -> float:
    """Read an argument that is a number."""
    try:
        return float(text)
    except ValueError:
        raise ArgumentTypeError(f"expected a number, not {text!r}") from None


def share(text: str) -> float:
    """Read an argument that is more than 0 and at most 1."""
    try:
        number = float(text)
    except ValueError:
        number = 0.0
    if not 0 < number <= 1:
        raise ArgumentTypeError(f"expected a number more than 0 and at most 1, not {text!r}")
    return number


def share_or_none(text: str) -> float:
    """Read an argument that is 0, or more and at most 1."""
    return 0.0 if text in ("0", "0.0") else share(text)


def pattern_of(text: str) -> str:
    """Read an argument that is the name of a split pattern or a regex."""
    from bbpe.splitting.patterns import get_pattern

    try:
        get_pattern(text)
    except PatternError as error:
        raise ArgumentTypeError(str(error)) from None
    return text


_PATTERN = "split pattern, a name or a regex, if the tokenizer file does not say it"


def add_tokenizer(parser: ArgumentParser, *, pattern: str = _PATTERN, several: bool = False) -> None:
    """Add the arguments that say which tokenizer to use; `pattern` is the help of the one for its pattern."""
    what = "the tokenizer: a file, a folder, a published name, a model such as gpt-4o, or org/name in the hub's cache"
    repeated: Any = {"action": "append"} if several else {}
    what += "; may be given repeatedly" * several
    parser.add_argument("-t", "--tokenizer", required=True, metavar="NAME", help=what, **repeated)
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


def add_corpus(parser: ArgumentParser) -> _ArgumentGroup:
    """Add the group of what is read, and return it for the names of files."""
    return parser.add_argument_group("Corpus", "what is read and what is counted of it")


def add_counting(parser: ArgumentParser, corpus: _ArgumentGroup) -> None:
    """Add the options of counting, what changes the counts to `corpus`, and the others as a group."""
    corpus.add_argument("--document", choices=("file", "line"), default="file", help="what is one text (default: file)")
    add_reading(corpus)
    add_on_error(corpus)
    corpus.add_argument("--sample", type=share, default=1.0, metavar="SHARE", help="of the texts to count (default: 1)")
    corpus.add_argument("--unique", action="store_true", help="count equal documents once")
    corpus.add_argument("--max-pretoken-bytes", type=positive, metavar="N", help="cut longer pretokens in pieces")
    group = parser.add_argument_group("Counting", "in how much memory and time; the result is the same")
    group.add_argument("--max-memory", metavar="SIZE", help="of the process, such as 4GB (default: no limit)")
    group.add_argument("--checkpoint", metavar="FOLDER", help="go on from there after a count that was killed")
    group.add_argument("--threads", type=positive, metavar="N", help="(default: one for each core)")


def add_veto(group: _ArgumentGroup) -> None:
    """Add what tokens training on bytes never makes."""
    group.add_argument("--forbid", metavar="REGEX", help="make no token in which this finds a match")
    group.add_argument("--max-words", type=positive, metavar="N", help="most words of a token, between white space")


def options_of(args: Namespace) -> dict[str, Any]:
    """Return the options of counting that texts have too."""
    names = ("document", "unique", "max_memory", "max_pretoken_bytes", "sample", "checkpoint", "threads")
    return {name: getattr(args, name) for name in names}


def counting_of(args: Namespace, *, files: bool = True) -> bbpe.Counting:
    """Return how to count; texts that are no `files` have no fields and formats."""
    options = options_of(args)
    if files:
        options |= {"text_field": args.text_field, "format": args.input_format, "on_error": args.on_error}
    return bbpe.Counting(progress=progress_of(args), **options)


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


def load_tokenizer(args: Namespace) -> Tokenizer:
    """Load the tokenizer that the arguments of `add_tokenizer` name."""
    return load_named(args.tokenizer, args.pattern)


def load_named(name: str, pattern: str | None = None, *, has_notes: bool = True) -> Tokenizer:
    """Load a tokenizer as `bbpe.load`; `has_notes`: write its notes."""
    if name == STDIN:
        raise UsageError("a tokenizer cannot be read from standard input (-); expected a file, a folder or a name")
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", bbpe.VocabularyWarning)
        found = bbpe.load(name, pattern=pattern)
    for note in caught if has_notes else ():
        print(f"note: {note.message}", file=sys.stderr)
    return found


def short_names(paths: Sequence[str]) -> list[str]:
    """Return names for display: the last part of each path, or the paths where these are equal."""
    names = [Path(path).name.removesuffix(".json") if os.sep in path else path for path in paths]
    return names if len(set(names)) == len(names) else [f"{path} ({place})" for place, path in enumerate(paths, 1)]
