"""Count a corpus on many machines: a stored plan, parts that write runs, and their sum."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, Unpack

from ..budget import Budget, parse_bytes
from ..corpus.chunks import Position
from ..corpus.fields import plain_field
from ..corpus.files import CorpusPaths, check_apart, corpus_files, file_of
from ..corpus.opened import version_of
from ..corpus.ranges import check_columns
from ..corpus.urls import path_of
from ..errors import CorpusError
from ..files import local_path, write_atomic
from ..records import asdict, check_names, dataclass, kind, replace, whole
from ..text import counted
from .corpus_parts import Files, Part, Range
from .counter import RunTask, count_to_run
from .counts import CountingSpec, PretokenCounts, Summary
from .options import CorpusOptions, Counting, CountingTask, silent
from .spill import Spill, parts_for

_VERSION = 2
_PLAN = "plan.json"
#: The memory that summing takes at once without a limit.
_ROOM = 1 << 28
#: What to do with a folder where a plan is expected.
_AGAIN = "the same call again returns the plan that a folder has"
#: A range of a file: its path, size and version, and where it starts and stops.
_Row = tuple[str, int, str, int, int | None]


@dataclass(frozen=True)
class CountPlan:
    """A stored plan of a count: parts that anyone may count, anywhere, in any order, with an equal sum.

    A pickled plan is the path of its folder, which every worker must see.

    Attributes:
        folder: The folder of the plan and of the counts.
        spec: What the counts are.
        options: How the corpus is read.
        parts: The ranges of files of each part.

    Example:
        >>> from pathlib import Path
        >>> from tempfile import TemporaryDirectory
        >>> with TemporaryDirectory() as folder:
        ...     _ = Path(folder, "a.txt").write_text("low lower")
        ...     plan = bbpe.plan_count(folder + "/a.txt", folder + "/counts", pattern="gpt2")
        ...     len(plan), bbpe.count_part(plan, 0).pretokens
        (1, 2)

    """

    folder: Path
    spec: CountingSpec
    options: dict[str, Any]
    parts: tuple[tuple[_Row, ...], ...]

    def __len__(self) -> int:
        """Return the number of parts."""
        return len(self.parts)

    def __reduce__(self) -> tuple[Any, ...]:
        return open_count_plan, (self.folder,)

    @property
    def task(self) -> CountingTask:
        """The count, without its corpus."""
        return Counting(**self.options).task(self.spec.pattern, self.spec.special_tokens)

    @property
    def hash_parts(self) -> int:
        """The parts of the hash space in each run."""
        return parts_for(sum({row[0]: row[1] for part in self.parts for row in part}.values()), _ROOM)

    def path(self, number: int, suffix: str) -> Path:
        """Return the path of the counts of a part, or of its record."""
        return self.folder / f"run-{number:05d}{suffix}"

    def record(self) -> dict[str, Any]:
        """Return the plan as plain data."""
        parts = [[list(row) for row in part] for part in self.parts]
        record = {"version": _VERSION, "spec": self.spec.as_json(), "options": self.options, "parts": parts}
        found: dict[str, Any] = json.loads(json.dumps(record))
        return found

    def differences(self, other: CountPlan) -> list[str]:
        """Return what differs between two plans, with both values."""
        # the specs have the others
        rows = [(key, value, other.options[key]) for key, value in self.options.items() if not hasattr(self.spec, key)]
        found = [f"{key} {mine!r} and {its!r}" for key, mine, its in rows if mine != its]
        if self.parts != other.parts:
            found.append("other files, or the same ones changed or in parts of another size")
        return self.spec.differences(other.spec) + found

    def work(self, number: int) -> Part:
        """Return the work of a part; `CorpusError` when a file is not as it was when the plan was made."""
        ranges: list[Range] = []
        for path, size, version, start, stop in self.parts[number]:
            file = file_of(path_of(path), self.options["format"], self.options["text_field"])
            if (file.size, version_of(file)) != (size, version):
                raise CorpusError(f"{path}: the file has changed since the plan was made; make a new plan")
            ranges.append((file, start, stop))
        return Part(tuple(ranges), (), None, 0)


def plan_count(
    files: CorpusPaths, folder: str | os.PathLike[str], *, pattern: str | Sequence[str],
    special_tokens: Sequence[str] = (), part_size: int | str = "64MB", **options: Unpack[CorpusOptions],
) -> CountPlan:  # fmt: skip
    """Store a plan of a count in a folder, or return the plan that is there if it is the same.

    Args:
        files: As in `count`.
        folder: The folder of the plan and of the counts.
        pattern: As in `count`.
        special_tokens: As in `count`.
        part_size: About how many bytes of files a part has.
        **options: The fields of `Counting` that change what is counted: `document`, `sample`, `max_pretoken_bytes`,
            `text_field`, `format`, `on_error`.

    Returns:
        The plan; `len(plan)` is the number of parts.

    Raises:
        CorpusError: The folder has another plan, or a file is no text.
        ValueError: An argument has a wrong value.
        OSError: A file cannot be read or written.

    Example:
        >>> from pathlib import Path
        >>> from tempfile import TemporaryDirectory
        >>> with TemporaryDirectory() as folder:
        ...     _ = Path(folder, "a.txt").write_text("low lower low")
        ...     plan = bbpe.plan_count(folder + "/a.txt", folder + "/counts", pattern="gpt2")
        ...     _ = bbpe.count_part(plan, 0)
        ...     list(bbpe.sum_counts(folder + "/counts"))
        [(b'low', 1), (b' lower', 1), (b' low', 1)]

    """
    check_names("plan_count", options, CorpusOptions.__annotations__)
    target = _folder(folder)
    if isinstance(files, Iterator):
        files = list(files)
    how = Counting(**options)
    task = how.task(pattern, special_tokens)
    found = corpus_files(files, how.format, how.text_field, field_argument="Counting.text_field")
    if None in [file.size for file in found]:
        raise CorpusError("a file of the corpus is a pipe or a device; expected files, which can be read again")
    paths = [file.path for file in found]
    check_apart(target, "the folder of the plan", files, paths, (_PLAN, "run-00000.json", "run-00000.parquet"))
    check_columns(found, how.text_field, first_lines=how.on_error == "raise")
    names = ("document", "sample", "max_pretoken_bytes", "text_field", "format", "on_error")
    rows = {file.path: (str(file.path.absolute()), file.size or 0, version_of(file)) for file in found}
    parts = tuple(
        tuple((*rows[file.path], start, stop) for file, start, stop in part.ranges)
        for part in Files(found, task.chunks).parts(Position(), parse_bytes(part_size, "part_size"))
    )
    given = {name: getattr(how, name) for name in names} | {"text_field": plain_field(how.text_field)}
    plan = CountPlan(target, task.spec, given, parts)
    path = plan.folder / _PLAN
    if path.exists():
        differences = open_count_plan(plan.folder).differences(plan)
        if differences:
            raise CorpusError(f"{plan.folder}: the folder has another plan, with {', '.join(differences)}")
    else:
        plan.folder.mkdir(parents=True, exist_ok=True)
        write_atomic(path, json.dumps(plan.record()).encode("utf-8", "surrogateescape"))
    return plan


def _folder(folder: str | os.PathLike[str]) -> Path:
    problem = "counts of parts are in a folder of a machine, whose files are written one by one"
    return local_path(folder, problem, argument="folder").absolute()


def open_count_plan(folder: str | os.PathLike[str]) -> CountPlan:
    """Return the plan that is stored in a folder; `CorpusError` when it is damaged, `OSError` when there is none."""
    path = _folder(folder) / _PLAN
    try:
        record = json.loads(path.read_bytes().decode("utf-8", "surrogateescape"))
        if record["version"] != _VERSION:
            raise ValueError(f"version is {record['version']}; expected {_VERSION}")
        parts = tuple(tuple(_row(*row) for row in part) for part in record["parts"])
        return CountPlan(path.parent, CountingSpec.from_json(record["spec"]), record["options"], parts)
    except (ValueError, KeyError, TypeError) as error:
        raise CorpusError(f"{path}: expected a plan of a count: {error!r}") from error


def _row(path: str, size: int, version: str, start: int, stop: int | None) -> _Row:
    return path, size, version, start, stop


def count_part(plan: CountPlan, number: int) -> Summary:
    """Count one part of a plan, unless it is done.

    Args:
        plan: The plan.
        number: The number of the part, from 0.

    Returns:
        The summary of the part.

    Raises:
        CorpusError: A file has changed since the plan was made, or cannot be read as text.
        ValueError: There is no such part.
        TypeError: An argument has the wrong type.
        OSError: A file cannot be read or written.

    Example:
        >>> from pathlib import Path
        >>> from tempfile import TemporaryDirectory
        >>> with TemporaryDirectory() as folder:
        ...     _ = Path(folder, "a.txt").write_text("low lower low")
        ...     plan = bbpe.plan_count(folder + "/a.txt", folder + "/counts", pattern="gpt2")
        ...     bbpe.count_part(plan, 0).pretokens
        3

    """
    kind("plan", plan, CountPlan, "what bbpe.plan_count returned", _AGAIN)
    number = whole("number", number, 0, len(plan) - 1)
    done = _summary_of(plan, number)
    if done is not None:
        return done
    task = RunTask(number + 1, plan.path(number, ".parquet"), plan.work(number))
    summary, _ = count_to_run(plan.task.chunks, plan.hash_parts, task)
    plan.work(number)
    write_atomic(plan.path(number, ".json"), json.dumps(asdict(summary)).encode())
    return summary


def _summary_of(plan: CountPlan, number: int) -> Summary | None:
    path = plan.path(number, ".json")
    try:
        return Summary(**json.loads(path.read_bytes()))
    except FileNotFoundError:
        return None
    except (ValueError, TypeError) as error:
        raise CorpusError(f"{path}: expected the record of a part: {error}") from error


def sum_counts(folder: str | os.PathLike[str] | CountPlan, *, max_memory: int | str | None = None) -> PretokenCounts:
    """Add up the counts of all parts of a plan.

    Args:
        folder: The folder of the plan, or the plan.
        max_memory: As in `Counting`.

    Returns:
        The counts, in the order of first appearance, as `count` on one machine gives them.

    Raises:
        CorpusError: Parts are missing, or a file is damaged.
        OSError: A file cannot be read.
        TypeError: `folder` is neither a path nor the plan of a count.

    Example:
        >>> from pathlib import Path
        >>> from tempfile import TemporaryDirectory
        >>> with TemporaryDirectory() as folder:
        ...     _ = Path(folder, "a.txt").write_text("low")
        ...     plan = bbpe.plan_count(folder + "/a.txt", folder + "/counts", pattern="gpt2")
        ...     _ = bbpe.count_part(plan, 0)
        ...     bbpe.sum_counts(folder + "/counts").total
        1

    """
    where = folder.folder if isinstance(folder, CountPlan) else folder
    kind("folder", where, str | os.PathLike, "the folder of a count, a str or a path, or its plan")
    plan = open_count_plan(where)
    found = [_summary_of(plan, number) for number in range(len(plan))]
    missing = [number for number, summary in enumerate(found) if summary is None]
    if missing:
        gone = f"{len(missing)} of {counted(len(plan), 'part', 'is', 'are')} missing"
        raise CorpusError(f"{plan.folder}: {gone}, first part {missing[0]}")
    whole = sum((summary for summary in found if summary is not None), Summary())
    # a file that was given twice counts twice; each one begins once, at 0
    files = sum(start == 0 for part in plan.parts for *_, start, _ in part)
    room = _ROOM if max_memory is None else Budget.of(max_memory, buffers=0).tables
    runs = [plan.path(number, ".parquet") for number in range(len(plan))]

    token = os.urandom(6).hex()

    def name(kind: str, number: int) -> Path:
        return plan.folder / f"sum-{token}-{kind}-{number:05d}.parquet"

    spill = Spill(name, runs, plan.hash_parts, room, kept=True)
    return spill.counts(plan.spec, replace(whole, files=files), silent, bounded=max_memory is not None)
