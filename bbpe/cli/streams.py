"""Standard input and output, and files in their place, a chunk at a time; colours, and progress on standard error.

`Watch` says how much of its input a command has read.
"""

from __future__ import annotations

import errno
import json
import os
import re
import select
import sys
from argparse import Action, ArgumentParser, ArgumentTypeError, Namespace, _ArgumentGroup
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext, suppress
from functools import lru_cache
from io import BufferedReader, RawIOBase
from itertools import chain
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, BinaryIO, TextIO, TypeVar, cast

from bbpe.corpus.fields import FieldName, shown_field
from bbpe.corpus.files import FORMATS, File, Format, check_head, corpus_paths
from bbpe.corpus.sources import Reading
from bbpe.corpus.urls import path_of
from bbpe.progress import DELAY, JsonProgress, Progress, ProgressBar
from bbpe.report.terminal import error_line

from .parsers import UsageError

#: The file name that means standard input.
STDIN = "-"
#: The file that it is, where the system has one.
STDIN_FILE = "/dev/stdin"
_CHUNK_BYTES = 1 << 20
#: Seconds after which a wait for standard input looks up for signals.
_LOOK_UP = 0.5
_END_KEYS = "Ctrl-Z and Enter" if sys.platform == "win32" else "Ctrl-D"
_INPUT, _OUTPUT = "standard input", "standard output"
_Item = TypeVar("_Item")
#: Colours of what is better, and what is worse or wrong; of what needs a look, and of notes.
_BETTER, _WORSE, _LOOK, _NOTE = "32", "31", "33", "36"
_AMOUNT = r"\b\d[\d,.]*"

#: Words of reports, as regexes of a line, and their colours; the first that finds a place has it.
LINT = {r"^error\b": _WORSE, r"^warning\b": _LOOK, r"^info\b": _NOTE, r"; 0 errors, 0 warnings\b": _BETTER}
COMPARE = {
    rf"{_AMOUNT} (?:% )?fewer\b": _BETTER, rf"{_AMOUNT} (?:% )?more\b": _WORSE, r"\bare identical\b": _BETTER,
}  # fmt: skip
#: The best figure of a line ends with an asterisk.
EVAL = {rf"{_AMOUNT}%?(?: ±[\d.,]+)?\*": _BETTER}
INSPECT = {r"^unusual +nothing$": _BETTER, r"^unusual .*|^ {17}\S.*": _LOOK}
BENCH = {r"\b0\.\d+x": _WORSE, rf"{_AMOUNT}x": _BETTER}


def add_reading(parser: ArgumentParser | _ArgumentGroup) -> None:
    """Add what says how files are read."""
    text = "or column with the text, in .jsonl and .parquet; repeat it to try several in turn"
    add_field(parser, "--text-field", text, "text")
    add_input_format(parser, FORMATS)


def add_input_format(parser: ArgumentParser | _ArgumentGroup, formats: Sequence[str]) -> None:
    """Add the format that all files have."""
    how = "The format of the files, whatever their names. [default: by name and content]"
    parser.add_argument("--input-format", choices=formats, help=how)


def add_field(parser: ArgumentParser | _ArgumentGroup, flag: str, what: str, default: str | None = None) -> None:
    """Add the name of a field, or some of them: all but the first replace the default."""
    parser.add_argument(flag, action=_Fields, default=default, metavar="NAME", help=f"The field {what}.")


class _Fields(Action):
    """Keeps one name as a text, and some as a tuple."""

    def __call__(
        self, parser: ArgumentParser, namespace: Namespace, values: Any, option_string: str | None = None
    ) -> None:
        """Add a name."""
        names = (*getattr(namespace, f"_{self.dest}", ()), values)
        setattr(namespace, f"_{self.dest}", names)
        setattr(namespace, self.dest, names[0] if len(names) == 1 else names)


def add_on_error(parser: ArgumentParser | _ArgumentGroup) -> None:
    """Add what happens to lines that cannot be read."""
    wrong = "What to do about a line of JSON that cannot be read: stop there, or leave it out."
    parser.add_argument("--on-error", choices=("raise", "skip"), default="raise", help=wrong)


def chunks_of(name: str, input_format: Format | None = "text", text_field: FieldName = "text") -> Iterator[bytes]:
    """Yield the bytes of a text file, or of standard input for "-", in chunks of at most 1 MiB.

    With `input_format` any file is text; without it a file of records is an error, a `ValueError`, as is the name of a
    field.
    """
    if text_field != "text":
        problem = "does not go with an option that takes text, which has no fields"
        raise ValueError(f"--text-field {shown_field(text_field)} {problem}")
    if input_format not in (None, "text"):
        raise ValueError(f"--input-format {input_format} does not go with an option that takes text; expected text")
    if name == STDIN:
        yield from stdin_chunks(input_format)
        return
    reading = Reading(block=_CHUNK_BYTES, format=input_format)
    file = reading.file(path_of(name))
    if file.kind != "text":
        kind = "Parquet" if file.kind == "parquet" else "JSON lines"
        raise ValueError(f"{name}: a file of {kind}; expected text, or --input-format text to read it as text")
    for event in reading.texts(file):
        yield bytes(event.data)


def names_of(files: Sequence[str]) -> Sequence[str]:
    """Return the files of a command line, standard input when there are none."""
    return files or (STDIN,)


def files_of(names: Sequence[str]) -> Iterator[str]:
    """Yield the files that the names of a command line stand for; all names are looked at before the first is read."""
    found = [[name] if name == STDIN else list(map(str, corpus_paths(name))) for name in names_of(names)]
    yield from chain.from_iterable(found)


def size_of(names: Sequence[str]) -> int | None:
    """Return the bytes of the texts of a command line; None where they are more, or less, than those of the files."""
    paths = [Path(path) for name in names_of(names) if name != STDIN for path in corpus_paths(name)]
    is_plain = STDIN not in names_of(names) and all(path.suffix == ".txt" and path.is_file() for path in paths)
    return sum(path.stat().st_size for path in paths) if is_plain else None


def label_of(name: str) -> str:
    """Return what a message calls a file of the command line."""
    return _INPUT if name == STDIN else name


def note(words: str) -> None:
    """Write a note of the command to standard error, which may be closed."""
    if sys.stderr is not None:
        sys.stderr.write(error_line(f"bbpe: {words}") + "\n")


def stdin() -> BinaryIO:
    """Return standard input for bytes; `OSError` when it is closed."""
    if sys.stdin is None:
        raise OSError(errno.EBADF, "it is closed", _INPUT)
    if sys.stdin.isatty():
        note(f"reading standard input; end it with {_END_KEYS}")
    return _listening(sys.stdin.buffer)


@lru_cache(maxsize=1)
def _listening(source: BufferedReader) -> BinaryIO:
    """Return the one reader of a stream: another would not have what this one has read ahead."""
    return BufferedReader(_Listening(source), _CHUNK_BYTES)


class _Listening(RawIOBase):
    """A stream that is read as soon as it has something, and until then looks up for signals.

    A signal that comes between Python's last look for one and a read that waits would be heard after the read alone.
    """

    def __init__(self, source: BufferedReader) -> None:
        self._source = source

    def readable(self) -> bool:
        return True

    def fileno(self) -> int:
        return self._source.fileno()

    def readinto(self, buffer: Any) -> int:
        # a stream in memory never waits, and on Windows only sockets can be waited for
        with suppress(ValueError):
            while sys.platform != "win32" and not select.select([self._source], [], [], _LOOK_UP)[0]:
                continue
        data = self._source.read1(len(buffer))
        buffer[: len(data)] = data
        return len(data)

    def readall(self) -> bytes:
        return b"".join(iter(lambda: self.read(_CHUNK_BYTES) or b"", b""))


@contextmanager
def as_files(names: Sequence[str]) -> Iterator[list[str]]:
    """Yield the files of a command line, standard input as a file of its own: what reads them may read them twice."""
    if names.count(STDIN) > 1:
        raise UsageError("standard input (-) is named twice; expected it once")
    if STDIN not in names:
        yield list(names)
        return
    with _copied(stdin_chunks(), "stdin") as path:
        yield [path if name == STDIN else name for name in names]


@contextmanager
def stdin_file() -> Iterator[str]:
    """Yield the name of standard input as a file, to be read once: a copy on a system that has no name for it."""
    source = cast(BufferedReader, stdin())
    if sys.platform != "win32" and Path(STDIN_FILE).exists():
        yield STDIN_FILE
        return
    with _copied(iter(lambda: source.read1(_CHUNK_BYTES), b""), "stdin.txt") as path:
        yield path


@contextmanager
def _copied(chunks: Iterable[bytes], name: str) -> Iterator[str]:
    with TemporaryDirectory(prefix="bbpe-") as folder:
        path = Path(folder, name)
        with path.open("wb") as file:
            file.writelines(chunks)
        yield str(path)


def named_file(text: str) -> str:
    """Read an argument that is a file, and not standard input."""
    if text == STDIN:
        problem = "- is standard input, which cannot be read again"
        raise ArgumentTypeError(f"{problem}; save it to a file first, and give its name")
    return text


def stdin_chunks(input_format: Format | None = "text") -> Iterator[bytes]:
    """Yield what standard input has, as soon as it has it; raises as `check_stdin`."""
    # read1 hands over what a slow pipe has, without waiting for a full chunk
    source, is_first = cast(BufferedReader, stdin()), True
    while chunk := source.read1(_CHUNK_BYTES):
        if is_first:
            check_stdin(chunk, input_format)
        is_first = False
        yield chunk


def check_stdin(head: bytes, input_format: Format | None) -> None:
    """Check the first bytes of standard input, as those of a file; `CorpusError` when they are no text."""
    check_head(File(Path(_INPUT), "text", asked=input_format == "text"), head)


def write(data: bytes) -> None:
    """Write bytes to standard output; `OSError` that names it."""
    _check_output()
    try:
        sys.stdout.buffer.write(data)
    except OSError as error:
        raise _of_output(error) from error


def flush() -> None:
    """Have standard output hand on what was written; `OSError` that names it."""
    try:
        if sys.stdout is not None:
            sys.stdout.flush()
    except OSError as error:
        raise _of_output(error) from error


def say(text: str) -> None:
    """Write a line of results; characters that the terminal cannot show are escaped."""
    _check_output()
    encoding = sys.stdout.encoding or "utf-8"
    try:
        sys.stdout.write(text.encode(encoding, "backslashreplace").decode(encoding) + "\n")
    except OSError as error:
        raise _of_output(error) from error


def say_json(record: object) -> None:
    """Write a result as one line of JSON."""
    say(json.dumps(record))


def shows_colour(stream: TextIO) -> bool:
    """Whether a stream is a terminal whose user has not asked for none (https://no-color.org)."""
    return stream.isatty() and not os.environ.get("NO_COLOR")


def add_color(parser: ArgumentParser) -> None:
    """Add when results have colours."""
    how = "When to use colours; auto is on a terminal, unless NO_COLOR is set."
    parser.add_argument("--color", choices=("auto", "always", "never"), default="auto", help=how)


def in_colour(args: Namespace) -> bool:
    """Return whether results have colours, as the arguments of `add_color` say."""
    return args.color == "always" or (args.color == "auto" and sys.stdout is not None and shows_colour(sys.stdout))


def painted(text: str, colours: Mapping[str, str], args: Namespace) -> str:
    r"""Return text with colours on the words that regexes find, or as it is where results have none.

    >>> painted("info  twins", LINT, Namespace(color="always"))
    '\x1b[36minfo\x1b[0m  twins'
    >>> painted("info  twins", LINT, Namespace(color="never"))
    'info  twins'
    """
    if not in_colour(args):
        return text
    looks = list(colours.values())
    found = re.compile("|".join(f"({regex})" for regex in colours), re.MULTILINE)
    return found.sub(lambda match: f"\x1b[{looks[(match.lastindex or 1) - 1]}m{match[0]}\x1b[0m", text)


def _check_output() -> None:
    if sys.stdout is None:
        raise OSError(errno.EBADF, "it is closed", _OUTPUT)


def _of_output(error: OSError) -> OSError:
    error.filename = error.filename or _OUTPUT
    return error

def add_json(parser: Any) -> None:
    """Add that results are JSON, to a parser or a group."""
    parser.add_argument("--json", action="store_true", help="Write the result as JSON, one object per line.")


def add_progress(parser: ArgumentParser) -> None:
    """Add how progress is shown."""
    parser.add_argument(
        "--progress", choices=("bar", "json", "none"), default="bar", help="How to show progress on standard error."
    )
    quiet = "Show no progress, as --progress none."
    parser.add_argument("--quiet", action="store_const", const="none", dest="progress", help=quiet)


def progress_of(args: Namespace) -> Any:
    """Return the `progress` argument that the command line asks for."""
    return JsonProgress(sys.stderr) if args.progress == "json" else args.progress == "bar"


class Watch:
    """Counts what a command has done of one phase, and reports it."""

    def __init__(self, report: Callable[[Progress], None], phase: str, total: int | None, unit: str) -> None:
        self.report, self._phase, self._total, self._unit, self._done = report, phase, total, unit, 0
        self.add(0)

    def add(self, more: int) -> None:
        """Report that `more` further units are done."""
        self._done += more
        self.report(Progress(self._phase, self._done, self._total, self._unit))

    def over(self, items: Iterable[_Item], size: Callable[[_Item], int]) -> Iterator[_Item]:
        """Yield the items; asking for the next one counts the last as done."""
        for item in items:
            yield item
            self.add(size(item))


@contextmanager
def watched(
    args: Namespace, phase: str, total: int | None = None, unit: str = "bytes", *, writes: bool = False
) -> Iterator[Watch]:
    """Return what a command counts its work with; a bar appears after `DELAY` seconds.

    A command that `writes` its results bit by bit shows no bar among them on a terminal.
    """
    progress = progress_of(args)
    if writes and progress is True and sys.stdout is not None and sys.stdout.isatty():
        progress = False
    shown: AbstractContextManager[Any] = ProgressBar(delay=DELAY) if progress is True else nullcontext(progress)
    with shown as report:
        yield Watch(report or _silent, phase, total, unit)


def _silent(progress: Progress) -> None:
    pass
