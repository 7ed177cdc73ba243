"""How to read and count a corpus: `Counting`, checked before anything is read."""

from __future__ import annotations

import os
from collections import Counter, deque
from collections.abc import Callable, Mapping, Sequence, Set
from contextlib import AbstractContextManager, nullcontext
from typing import TypeAlias, TypedDict, get_args

from ..budget import Budget, parse_bytes
from ..corpus.chunks import ChunkOptions
from ..corpus.fields import FieldName, checked_field
from ..corpus.files import FORMATS, Format, OnError
from ..corpus.opened import BLOCK
from ..corpus.sources import Reading
from ..errors import described
from ..lazy import futures
from ..progress import DELAY, Progress, ProgressBar
from ..records import choice, dataclass, real, whole
from ..splitting.patterns import Pattern, get_pattern
from ..threads import MOST_THREADS
from .checkpoint import checkpoint_folder
from .counts import CountingSpec, Document

Report: TypeAlias = Callable[[Progress], None]

#: Bytes of text that a worker counts at once.
_BLOCK = BLOCK
#: Blocks that reading and one thread take.
_BUFFERS = 16
#: Reports nothing: a deque without room forgets what it is given.
silent: Report = deque[Progress](maxlen=0).append


class CorpusOptions(TypedDict, total=False):
    """Fields of `Counting` that change what is counted of files, as keywords of `plan_count`."""

    sample: float
    document: Document
    max_pretoken_bytes: int | None
    text_field: FieldName
    format: Format | None
    on_error: OnError


class TextOptions(TypedDict, total=False):
    """Fields of `Counting` that texts have too, as keywords of `count_from_iterator`."""

    max_memory: int | str | None
    checkpoint: str | os.PathLike[str] | None
    executor: futures.Executor | None
    in_flight: int | None
    attempts: int
    threads: int | None
    sample: float
    document: Document
    unique: bool
    max_pretoken_bytes: int | None
    progress: bool | Report | None


class FileOptions(TextOptions, total=False):
    """All fields of `Counting`, as keywords of `count`."""

    text_field: FieldName
    format: Format | None
    on_error: OnError


@dataclass(frozen=True, kw_only=True)
class Counting:
    r"""How to read a corpus and count its pretokens.

    `document`, `max_pretoken_bytes`, `sample` and `unique` change the counts; `text_field`, `format` and `on_error`
    change which texts are read. The other options change only time and memory: the counts are the same to the last bit.

    Attributes:
        max_memory: The memory that the whole process may take, in bytes or as text such as "4GB"; no limit by default.
            Counts that do not fit go to temporary Parquet files. A lower limit that the system sets for the process
            holds too.
        checkpoint: A folder that keeps the state of a count. If a count was killed, call it again with the same
            arguments, and it resumes. The folder must be new, empty or from an earlier count, and not in the corpus.
        executor: Any executor of `concurrent.futures`, which counts in place of threads. Its workers write counts to
            the folder of `checkpoint`, which workers on other machines must see, or to a temporary folder.
        in_flight: How many parts of the corpus the executor has at once; by default two for each of its workers.
        attempts: How often bbpe tries to count a part if a worker of the executor fails or dies.
        threads: How many threads count; by default one for each core, and fewer if memory is short.
        sample: The share of texts to count, more than 0 and at most 1; a hash of each text decides.
        document: What is one text: "file" (the default), or "line", each line of a file or of a text with its end.
        unique: Whether to leave out a document that equals an earlier one, byte for byte; the summary has their number
            as `duplicates`. A document is a text as `document` says, or a record. Each takes about 32 bytes of memory,
            in at most half of the memory that `max_memory` leaves for tables.
        text_field: The field of a `.jsonl` file, or the column of a `.parquet` file, that holds the text: a name, a
            path such as "meta.text", or a list of these, in order of preference.  For files.
        format: The kind of the files, "text", "jsonl" or "parquet"; by default their names decide, or their first bytes
            if a name says nothing. For files.
        on_error: "raise", or "skip" to leave out lines of JSON that cannot be read; the summary has their number as
            `refused`.  For files.
        max_pretoken_bytes: The longest pretoken; longer ones are counted in pieces.  No limit by default.
        progress: True for a bar on stderr, or a function that is called with `bbpe.progress.Progress`.

    Raises:
        TypeError: A field has the wrong type.
        ValueError: A field has a wrong value.  Both name class, field, value, and what was expected.

    Example:
        >>> import bbpe
        >>> by_line = bbpe.Counting(document="line", threads=1)
        >>> bbpe.train_from_iterator(["low\nlower"], 258, counting=by_line).merges
        [(b'l', b'o'), (b'lo', b'w')]

    """

    max_memory: int | str | None = None
    checkpoint: str | os.PathLike[str] | None = None
    executor: futures.Executor | None = None
    in_flight: int | None = None
    attempts: int = 3
    threads: int | None = None
    sample: float = 1.0
    document: Document = "file"
    unique: bool = False
    text_field: FieldName = "text"
    format: Format | None = None
    on_error: OnError = "raise"
    max_pretoken_bytes: int | None = None
    progress: bool | Report | None = None

    def __post_init__(self) -> None:
        for option, chosen, choices in (("document", self.document, Document), ("on_error", self.on_error, OnError)):
            if chosen not in get_args(choices):
                expected = " or ".join(map(repr, get_args(choices)))
                raise ValueError(f"Counting.{option} is {chosen!r}; expected {expected}")
        object.__setattr__(self, "sample", check_share("Counting.sample", self.sample))
        for name, most in (("max_pretoken_bytes", None), ("in_flight", None), ("threads", MOST_THREADS)):
            if (given := getattr(self, name)) is not None:
                object.__setattr__(self, name, whole(f"Counting.{name}", given, 1, most, expected="an int or None"))
        object.__setattr__(self, "attempts", whole("Counting.attempts", self.attempts, 1))
        check_handed_out("Counting.", self.executor, self.in_flight, self.attempts)
        if self.executor is not None and not isinstance(self.executor, futures.Executor):
            expected = "a concurrent.futures.Executor"
            raise TypeError(f"Counting.executor must be {expected}, not {type(self.executor).__name__}")
        for name, value, kinds, expected in (
            ("checkpoint", self.checkpoint, str | os.PathLike, "a str, a path or None"),
            ("progress", self.progress, bool | Callable, "a bool, a callable or None"),
        ):
            if value is not None and not isinstance(value, kinds):
                raise TypeError(f"Counting.{name} must be {expected}, not {type(value).__name__}")
        if self.checkpoint is not None:
            checkpoint_folder(self.checkpoint)
        if not isinstance(self.unique, bool):
            raise TypeError(f"Counting.unique must be a bool, not {type(self.unique).__name__}")
        # the usual name is right, and needs no module for others
        if self.text_field != "text":
            object.__setattr__(self, "text_field", checked_field("Counting.text_field", self.text_field))
        if self.format is not None:
            choice("Counting.format", self.format, FORMATS, "None")
        if self.max_memory is not None:
            try:
                size = parse_bytes(self.max_memory)
            except (TypeError, ValueError) as error:
                raise type(error)(f"Counting.max_memory: {error}") from None
            if not isinstance(self.max_memory, str):
                object.__setattr__(self, "max_memory", size)

    @property
    def most(self) -> int:
        """Bytes that one text may have before it is cut, by the memory that is left; 0: any number."""
        if self.max_memory is None:
            return 0
        try:
            tables = Budget.of(self.max_memory, buffers=_BUFFERS * _BLOCK).tables
        except ValueError:  # too little for counting at all, which says so itself
            tables = 0
        return max(2 * _BLOCK, tables // 4)

    def task(self, pattern: str | Sequence[str] | Pattern, special_tokens: Sequence[str] = ()) -> CountingTask:
        """Return all that decides which pretokens a corpus has, and how they are counted."""
        specials = checked_specials(special_tokens)
        coded = tuple([token.encode("utf-8", "surrogatepass") for token in specials])
        reading = Reading(self.text_field, _BLOCK, self.format, self.most, on_error=self.on_error)
        chosen = get_pattern(pattern)
        spec = CountingSpec(chosen, specials, self.document, self.max_pretoken_bytes, chosen.unicode_version)
        by_line, longest = self.document == "line", self.max_pretoken_bytes or 0
        return CountingTask(self, spec, ChunkOptions(chosen, coded, by_line, longest, self.sample, reading))

    def reporting(self) -> AbstractContextManager[Report]:
        """Return a context in which there is a function to report progress to."""
        return reporting(self.progress, notes=True)


@dataclass(frozen=True)
class CountingTask:
    """One count, less its corpus: the options, the spec of the counts, and how texts are cut and split."""

    options: Counting
    spec: CountingSpec
    chunks: ChunkOptions


def reporting(
    progress: bool | Report | None, *, notes: bool = False
) -> AbstractContextManager[Report]:
    """Return a context in which there is a function to report progress to, as the argument `progress` asks for.

    A bar appears after a moment, and with `notes` the notes at once.

    Raises `TypeError` when the argument is of another kind.
    """
    if progress is not None and not isinstance(progress, bool | Callable):
        raise TypeError(f"progress is {described(progress)}; expected a bool, a callable or None")
    return ProgressBar(delay=DELAY, notes=notes) if progress is True else nullcontext(progress or silent)


def check_counted(how: Counting, instead: str) -> None:
    """Check that nothing says how to read and count texts where there are none, but `instead`; `ValueError`."""
    for name in (
        "text_field", "format", "on_error", "document", "sample", "unique", "max_pretoken_bytes", "checkpoint",
        "executor",
    ):  # fmt: skip
        value = getattr(how, name)
        if value != getattr(Counting, name):
            raise ValueError(f"Counting.{name} is {value!r}; expected it only with files to count, not with {instead}")


def check_handed_out(prefix: str, executor: object, in_flight: int | None, attempts: int) -> None:
    """Refuse options of an executor where there is none; `prefix` stands before their names.  Raises `ValueError`."""
    for name, value, usual in (("in_flight", in_flight, None), ("attempts", attempts, Counting.attempts)):
        if executor is None and value != usual:
            raise ValueError(f"{prefix}{name} is {value}; expected it only with an executor")


def counting_of(counting: Counting | None) -> Counting:
    """Return the argument `counting`, or the defaults.  Raises `TypeError` on what is no `Counting`."""
    if counting is None:
        return Counting()
    if not isinstance(counting, Counting):
        raise TypeError(f"counting must be a Counting or None, not {type(counting).__name__}")
    return counting


def check_share(name: str, value: object, *, or_none: bool = False) -> float:
    """Return an option that is a share of a whole; `or_none`: it may be 0.  Raises `TypeError` or `ValueError`."""
    share = real(name, value)
    if not 0 < share <= 1 and not (or_none and share == 0):
        raise ValueError(f"{name} is {share}; expected {'0, or ' * or_none}more than 0 and at most 1")
    return share


def checked_specials(tokens: Sequence[str]) -> tuple[str, ...]:
    """Return special tokens in their order; `TypeError` when they have none, `ValueError` naming a wrong one."""
    if isinstance(tokens, Mapping):
        raise TypeError(
            f"special_tokens must be a sequence of strings, not {type(tokens).__name__}: new tokens get ids in the "
            "order of the sequence; give list(special_tokens), and read the ids from the tokenizer's special_tokens"
        )
    if isinstance(tokens, Set):
        raise TypeError(
            f"special_tokens must be a sequence of strings, not {type(tokens).__name__}: in each "
            "run it has another order, and tokens get ids in that order; give sorted(special_tokens), or a list"
        )
    if isinstance(tokens, str) or not isinstance(tokens, Sequence):
        raise TypeError(f"special_tokens must be a sequence of strings, such as a list, not {type(tokens).__name__}")
    for number, token in enumerate(tokens):
        if not isinstance(token, str):
            raise TypeError(f"special_tokens[{number}] must be a str, not {type(token).__name__}")
        if not token:
            raise ValueError(f"special_tokens[{number}] is empty; expected at least one character")
    twice = next((token for token, often in Counter(tokens).items() if often > 1), None)
    if twice is not None:
        raise ValueError(f"special_tokens: {twice!r} is given twice; expected each token once")
    return tuple(tokens)
