"""The state of a folder of shards while parts are written, and the command that writes the rest."""

from __future__ import annotations

import json
import os
import shlex
import time
from collections.abc import Sequence
from itertools import chain
from pathlib import Path
from typing import Any

from ..errors import BBPEError
from ..progress import duration
from ..records import asdict, dataclass, real
from ..text import counted, sized
from ..threads import imap
from .load import MANIFEST, Folder, stored_plan
from .part import Totals, lost_file, read_record, record_path
from .plan import ShardPlan
from .state import IDLE, Listing, PartFailure, listing, numbers_text, read_failure

#: Threads that read records, as on a network disk each takes the time of a request, and how many one of them takes.
_READERS, _BATCH = 16, 32
#: The seconds before the last finished part that the rate is taken from.
_RECENT = 900.0
#: Failures that the text of a status shows.
_SHOWN = 10


@dataclass(frozen=True)
class ShardsStatus:
    """The state of a folder of shards.

    Attributes:
        folder: The folder.
        parts: The number of parts of the plan.
        done: How many of them are done: the record is there, and the files that it names have their sizes.
        running: The parts that are being written: their temporary files have changed lately.
        failed: The parts whose last attempt failed, with the error, host and time of it.
        missing: The parts that are neither done, running nor failed.
        totals: What is in the parts that are done.
        size: The bytes of all input.
        rate: Bytes of input per second lately, while parts are running; `None` if too few parts are done to tell.
        seconds_left: The time for the rest at this rate, `None` if the rate is not known.
        summed: Whether all parts are done and summed up, so that the shards can be loaded.
        again: The failed and missing parts, as `bbpe shard --part` reads them; empty if there are none.
        command: The command to run next, empty if there is nothing to do or if running parts have to end first.

    Example:
        >>> from pathlib import Path
        >>> from tempfile import TemporaryDirectory
        >>> tok = bbpe.train_from_iterator(["low lower"], 258)
        >>> with TemporaryDirectory() as folder:
        ...     _ = Path(folder, "a.jsonl").write_text('{"text": "low"}')
        ...     _ = bbpe.plan_shards(folder + "/a.jsonl", folder + "/out", tok)
        ...     status = bbpe.shards_status(folder + "/out")
        >>> status.done, status.missing, status.again
        (0, (0,), '0')

    """

    folder: Path
    parts: int
    done: int
    running: tuple[int, ...]
    failed: tuple[PartFailure, ...]
    missing: tuple[int, ...]
    totals: Totals
    size: int
    rate: float | None
    seconds_left: float | None
    summed: bool
    again: str
    command: str

    def as_dict(self) -> dict[str, Any]:
        """Return the status as plain Python objects, which JSON can write.

        Returns:
            The attributes by their names.

        Example:
            >>> from pathlib import Path
            >>> from bbpe.shards.part import Totals
            >>> status = ShardsStatus(Path("out"), 1, 1, (), (), (), Totals(), 9, None, None, True, "", "")
            >>> status.as_dict()["done"]
            1

        """
        record = {**vars(self), "folder": str(self.folder), "failed": [asdict(each) for each in self.failed]}
        return {**record, "running": list(self.running), "missing": list(self.missing), "totals": asdict(self.totals)}

    def __str__(self) -> str:
        share = f" ({100 * self.done // self.parts} %)" if self.done < self.parts else ""
        states = [f"{self.done:,} of {counted(self.parts, 'part')} done{share}"]
        for numbers, what in ((self.running, "running"), (self.failed, "failed"), (self.missing, "missing")):
            states += [f"{len(numbers):,} {what}"] if numbers else []
        lines = [f"{self.folder}: {', '.join(states)}"]
        amount = f"{sized(self.totals.input)} of {sized(self.size)} of input"
        lines.append(f"{counted(self.totals.documents, 'document')}, {counted(self.totals.tokens, 'token')}, {amount}")
        if self.rate is not None and self.seconds_left is not None:
            lines.append(f"{sized(self.rate)} of input per second lately, about {duration(self.seconds_left)} left")
        lines += [f"failed: {each}" for each in self.failed[:_SHOWN]]
        if len(self.failed) > _SHOWN:
            lines.append(f"failed: {len(self.failed) - _SHOWN:,} more")
        if self.command:
            lines.append(f"next: {self.command}")
        return "\n".join(lines)


def shards_status(folder: Folder, *, idle: float = IDLE) -> ShardsStatus:
    """Show the progress of a folder of shards, from its files alone.

    A part is done when its record is there and its files have the sizes that it says.  It is running when one of its
    temporary files was written to within the last `idle` seconds; the clocks of this machine and of the disk must agree
    within that time.  After a kill a part is running until then, and missing from then on.

    Args:
        folder: The folder of the plan, the plan, or the shards.
        idle: A part without a write for this many seconds is not running.

    Returns:
        The status; `str` of it is text to print, and `as_dict()` is data for JSON.

    Raises:
        CorpusError: The plan, or the sum of the shards, is damaged or another one's.
        ValueError: `idle` is negative.
        TypeError: An argument has the wrong type.
        OSError: There is no plan, or a file cannot be read.

    Example:
        >>> from pathlib import Path
        >>> from tempfile import TemporaryDirectory
        >>> tok = bbpe.train_from_iterator(["low lower"], 258)
        >>> with TemporaryDirectory() as folder:
        ...     _ = Path(folder, "a.jsonl").write_text('{"text": "low"}')
        ...     _ = bbpe.shard(folder + "/a.jsonl", folder + "/out", tok)
        ...     print(str(bbpe.shards_status(folder + "/out")).partition("/out: ")[2])
        1 of 1 part done
        1 document, 1 token, 15 bytes of 15 bytes of input

    """
    return Lookout(stored_plan(folder), idle).look()


class Lookout:
    """Looks at a folder again and again; records of parts that are done are read once."""

    def __init__(self, plan: ShardPlan, idle: float = IDLE) -> None:
        self._plan, self._idle = plan, real("idle", idle)
        if not self._idle >= 0:
            raise ValueError(f"idle is {idle}; expected at least 0 seconds")
        #: When each part was done, and what is in it.
        self._known: dict[int, tuple[float, Totals]] = {}
        self._sizes: dict[str, int] = {}

    def look(self) -> ShardsStatus:
        """Return the status now."""
        plan, found = self._plan, listing(self._plan.folder)
        parts = range(len(plan))
        found.done.intersection_update(parts)
        damaged = self._read(found.done)
        running = self._running(found)
        noted = [number for number in sorted(found.failed - found.done) if number < len(plan)]
        failures = [read_failure(plan.stem(number), plan.digest, number) for number in noted if number not in running]
        failed = {each.part: each for each in [*failures, *damaged] if each is not None}
        done = found.done - {each.part for each in damaged}
        missing = [number for number in parts if number not in done and number not in failed and number not in running]
        # 10,000 additions of totals would take longer than all the rest
        rows = [vars(self._known[number][1]).values() for number in done]
        totals = Totals(*map(sum, zip(*rows, strict=True)))
        summed = len(done) == len(plan) and self._is_summed()
        again = sorted([*failed, *missing])
        rate = self._rate(done, len(running))
        size = plan.size
        return ShardsStatus(
            plan.folder, len(plan), len(done), tuple(sorted(running)), tuple(failed[key] for key in sorted(failed)),
            tuple(missing), totals, size, rate, None if rate is None else (size - totals.input) / rate, summed,
            numbers_text(again), self._command(again, [each.part for each in damaged], running, summed=summed),
        )  # fmt: skip

    def _read(self, done: set[int]) -> list[PartFailure]:
        """Read the records of parts that are new, and forget those that are gone; returns the damaged ones."""
        self._known = {number: known for number, known in self._known.items() if number in done}
        new, damaged = sorted(done - self._known.keys()), []
        batches = [new[start : start + _BATCH] for start in range(0, len(new), _BATCH)]
        records = imap(lambda batch: list(map(self._record, batch)), batches, min(_READERS, max(len(batches), 1)))
        for number, known in zip(new, chain.from_iterable(records), strict=True):
            if isinstance(known, PartFailure):
                damaged.append(known)
            elif known is None:
                done.discard(number)
            else:
                self._known[number] = known
        return damaged

    def _record(self, number: int) -> tuple[float, Totals] | PartFailure | None:
        """Return when a part was done and its totals; `None` when its record has just been removed."""
        try:
            record = read_record(self._plan, number)
            if record is None:
                return None
            if fault := lost_file(self._plan, record):
                return PartFailure(number, "CorpusError", fault)
            return record_path(self._plan, number).stat().st_mtime, record.totals
        except FileNotFoundError:
            return None
        except BBPEError as error:
            return PartFailure(number, type(error).__name__, str(error))

    def _running(self, found: Listing) -> set[int]:
        """Return the parts that somebody writes: a file of theirs is young, or has grown since the last look."""
        now, running, sizes = time.time(), set(), {}
        for number in found.temporary.keys() - found.done:
            for name in found.temporary[number]:
                try:
                    status = (self._plan.folder / name).stat()
                except FileNotFoundError:  # published or removed meanwhile
                    continue
                sizes[name] = status.st_size
                if now - status.st_mtime < self._idle or status.st_size > self._sizes.get(name, status.st_size):
                    running.add(number)
        self._sizes = sizes
        return {number for number in running if number < len(self._plan)}

    def _is_summed(self) -> bool:
        try:
            record = json.loads((self._plan.folder / MANIFEST).read_bytes())
        except (FileNotFoundError, ValueError):  # a damaged one is written again
            return False
        return isinstance(record, dict) and record.get("plan") == self._plan.digest

    def _rate(self, done: set[int], running: int) -> float | None:
        """Return the bytes of input per second; `None` until more parts are done than are running.

        As many parts as are running begin at about the same time, so the time counts from when that many were done.
        """
        ends = sorted((self._known[number][0], self._known[number][1].input) for number in done)
        recent = [end for end in ends if end[0] > ends[-1][0] - _RECENT]
        recent = recent if len(recent) > running else ends
        if not running or len(recent) <= running:
            return None
        seconds = time.time() - recent[running - 1][0]
        size = sum(size for _, size in recent[running:])
        return size / seconds if seconds > 0 and size else None

    def _command(self, again: Sequence[int], damaged: Sequence[int], running: set[int], *, summed: bool) -> str:
        if again:
            return command_again(self._plan, again, damaged)
        return "" if running or summed else command_finish(self._plan)


def command_again(plan: ShardPlan, numbers: Sequence[int], damaged: Sequence[int] = ()) -> str:
    """Return the command that writes these parts; the records of the `damaged` ones are removed first.

    It is empty for parts that only merging, or an iterator, can write.
    """
    if plan.policy.moved or plan.is_iterated:
        return ""
    removed = " ".join(shlex.quote(os.fspath(record_path(plan, number))) for number in damaged)
    command = _shard(plan.folder, f"--part {numbers_text(numbers)}")
    return f"rm {removed} && {command}" if removed else command


def command_finish(plan: ShardPlan) -> str:
    """Return the command that sums the parts up."""
    return _shard(plan.folder, "--finish")


def _shard(folder: Path, step: str) -> str:
    return f"bbpe shard -o {shlex.quote(os.fspath(folder))} {step}"
