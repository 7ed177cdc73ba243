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
from .streams import STDIN, add_on_error, add_reading, check_stdin, progress_of, stdin

if TYPE_CHECKING:
    from bbpe.tokenizer import Tokenizer


class Command(NamedTuple):
    """A subcommand: `add_arguments` declares arguments, and `run` takes them parsed and returns the exit status."""

    add_arguments: Callable[[ArgumentParser], None]
    run: Callable[[Namespace], int]


def positive(text: str) -> int:
    """Read an argument that is a whole number of at least 1, such as 32000, 32k, 1.5M or 100B."""
    from bbpe.budget import parse_count

    try:
        return parse_count(text, "the number")
    except ValueError:
        expected = f"expected a whole number of at least 1, such as 32000, 32k or 1.5M, not {text!r}"
        raise ArgumentTypeError(expected) from None


def whole(text: str) -> int:
    """Read an argument that is a whole number of at least 0, and a name rather than an amount."""
    if text.isdecimal():
        return int(text)
    raise ArgumentTypeError(f"expected a whole number of at least 0, not {text!r}")


def size(text: str) -> int:
    """Read an argument that is a number of bytes, such as 1000, 64kB or 4GB."""
    from bbpe.budget import parse_bytes

    try:
        return parse_bytes(text)
    except ValueError:
        raise ArgumentTypeError(f"expected a size such as 1000, 64kB or 4GB, not {text!r}") from None


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
    """Read an argument that is a number from 0 to 1."""
    try:
        number = float(text)
    except ValueError:
        number = -1.0
    if not 0 <= number <= 1:
        raise ArgumentTypeError(f"expected a number from 0 to 1, not {text!r}")
    return number


def pattern_of(text: str) -> str:
    """Read an argument that is the name of a split pattern or a regex."""
    from bbpe.splitting.patterns import get_pattern

    try:
        get_pattern(text)
    except PatternError as error:
        raise ArgumentTypeError(str(error)) from None
    return text


_PATTERN = "The split pattern, a name or a regex, for a tokenizer file without one."
#: The files of a command.
FILES = "Files, globs and folders of text."
FILES_OR_STDIN = "Files, globs and folders of text; or - alone, standard input."
#: What `--tie-break` chooses, in all commands.
TIE_BREAK = "Which of several pairs of equal count to merge first."
#: What `--document` chooses, in all commands.
DOCUMENT = "What one document of a text file is: the whole file, or each line."
#: What names a tokenizer, in all commands.
TOKENIZER = (
    "The tokenizer: a file, a folder, a published name, a model such as gpt-4o, or org/name from the hub's cache."
)


def add_tokenizer(
    parser: ArgumentParser | _ArgumentGroup, *, pattern: str | None = _PATTERN, several: bool = False,
    required: bool = True, default: str = "",
) -> None:  # fmt: skip
    """Add the option for a tokenizer, or for several, and that for its pattern; `default` says what there is without.

    `pattern` is the help of the option for the pattern; there is none with None.
    """
    what = f"{TOKENIZER} [default: {default}]" if default else TOKENIZER
    repeated: Any = {"action": "append"} if several else {}
    repeated |= {"default": []} if several and not required else {}
    parser.add_argument("-t", "--tokenizer", required=required, metavar="NAME", help=what, **repeated)
    if pattern is not None:
        add_pattern(parser, pattern)


def add_threads(parser: ArgumentParser | _ArgumentGroup, *, most: int | None = None) -> None:
    """Add the number of threads; `most` is the highest default."""
    how = f"The number of threads. [default: one for each core{'' if most is None else f', at most {most}'}]"
    parser.add_argument("--threads", type=positive, metavar="N", help=how)


def add_special(parser: ArgumentParser | _ArgumentGroup) -> None:
    """Add that special tokens count in texts."""
    how = "Encode special tokens in the text as special tokens, not as plain text."
    parser.add_argument("--special", action="store_true", help=how)


def add_saved(parser: ArgumentParser) -> None:
    """Add where a tokenizer is saved."""
    where = "Where to save the tokenizer: a file, or a folder."
    parser.add_argument("-o", "--output", required=True, metavar="PATH", help=where)


def add_format(parser: ArgumentParser) -> None:
    """Add the format of a tokenizer that is written, and what to leave out of it."""
    from bbpe.formats import FORMATS
    from bbpe.formats.saving import Part

    how = "The format to write. [default: by the name of the output]"
    parser.add_argument("--format", choices=tuple(FORMATS), help=how)
    dropped = "Leave this part out where the format has no place for it."
    parser.add_argument("--drop", action="append", default=[], choices=get_args(Part), help=dropped)


def add_pattern(parser: ArgumentParser | _ArgumentGroup, how: str = _PATTERN, *, default: str | None = None) -> None:
    """Add a split pattern, usually that of a tokenizer file without one."""
    parser.add_argument("--pattern", type=pattern_of, default=default, help=how)


def add_corpus(parser: ArgumentParser) -> _ArgumentGroup:
    """Add the group of what is read, and return it for the names of files."""
    return parser.add_argument_group("Corpus", "What to read, and what to count of it.")


def add_counting(parser: ArgumentParser, corpus: _ArgumentGroup) -> None:
    """Add the options of counting, what changes the counts to `corpus`, and the others as a group."""
    corpus.add_argument("--document", choices=("file", "line"), default="file", help=DOCUMENT)
    add_reading(corpus)
    add_on_error(corpus)
    sample = "Count only this share of the texts, such as 0.1."
    corpus.add_argument("--sample", type=share, default=1.0, metavar="SHARE", help=sample)
    corpus.add_argument("--unique", action="store_true", help="Count equal documents only once.")
    longest = "Cut longer pretokens into pieces of this size."
    corpus.add_argument("--max-pretoken-bytes", type=size, metavar="SIZE", help=longest)
    group = parser.add_argument_group("Counting", "How much memory and time to take; the result is the same.")
    most = "The most memory of the whole process, such as 4GB. [default: no limit]"
    group.add_argument("--max-memory", metavar="SIZE", help=most)
    state = "Keep the state of counting here, and resume from it after a crash."
    group.add_argument("--checkpoint", metavar="FOLDER", help=state)
    add_threads(group)


def add_veto(group: _ArgumentGroup) -> None:
    """Add what tokens training on bytes never makes."""
    group.add_argument("--forbid", metavar="REGEX", help="Make no token in which this regex finds a match.")
    most = "The most words of a token; words are between white space."
    group.add_argument("--max-words", type=positive, metavar="N", help=most)


def add_counts(parser: ArgumentParser | _ArgumentGroup) -> None:
    """Add saved counts as a source."""
    how = "Use counts that `bbpe count` saved, instead of files."
    parser.add_argument("--counts", metavar="PATH", help=how)


def add_special_tokens(parser: ArgumentParser | _ArgumentGroup) -> None:
    """Add special tokens, which separate texts."""
    how = "A special token; it gets an id, and no token crosses it."
    parser.add_argument("--special-token", action="append", default=[], metavar="TEXT", help=how)


def add_vocab_size(parser: ArgumentParser | _ArgumentGroup, **options: Any) -> None:
    """Add the size of a vocabulary."""
    how = "The number of tokens in all, special tokens included."
    parser.add_argument("--vocab-size", type=positive, metavar="N", help=how, **options)


def options_of(args: Namespace) -> dict[str, Any]:
    """Return the options of counting that texts have too."""
    names = ("document", "unique", "max_memory", "max_pretoken_bytes", "sample", "checkpoint", "threads")
    return {name: getattr(args, name) for name in names}


def counting_of(args: Namespace, *, files: bool = True) -> bbpe.Counting:
    """Return how to count; texts that are no `files` have no fields and formats."""
    options = options_of(args)
    if files:
        options |= {"text_field": args.text_field, "format": args.input_format, "on_error": args.on_error}
    elif args.text_field != "text":
        what = "standard input is plain text where --input-format does not name another kind"
        raise UsageError(f"--text-field is {args.text_field!r}; {what}, and plain text has no fields")
    return bbpe.Counting(progress=progress_of(args), **options)


def is_streamed(args: Namespace) -> bool:
    """Whether standard input is read as a file, a block at a time: in bounded memory, or as rows."""
    stdin()
    return args.max_memory is not None or args.input_format not in (None, "text")


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


def tokenizers_of(args: Namespace) -> dict[str, Tokenizer]:
    """Load the tokenizers that the arguments of `add_tokenizer` name, several of them, by short names."""
    loaded = {name: load_named(name, args.pattern) for name in args.tokenizer}
    return dict(zip(short_names(list(loaded)), loaded.values(), strict=True))


def short_names(paths: Sequence[str]) -> list[str]:
    """Return names for display: the last part of each path, or the paths where these are equal."""
    names = [Path(path).name.removesuffix(".json") if os.sep in path else path for path in paths]
    return names if len(set(names)) == len(names) else [f"{path} ({place})" for place, path in enumerate(paths, 1)]
