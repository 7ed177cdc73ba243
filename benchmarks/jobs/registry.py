"""What a job is, and the table of them.

A job function prepares, outside the clock, and returns what is timed; that returns its answer, of which a digest is
compared between libraries before any figure counts.  A job that measures by itself returns `Measured`.
"""

from __future__ import annotations

import hashlib
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Any

Timed = Callable[[], Any]
#: library, text and options to what is timed
Prepare = Callable[[str, bytes, "dict[str, str]"], Timed]


@dataclass(frozen=True)
class Measured:
    """A cost, by default in seconds, that the job has measured itself."""

    cost: float
    answer: Any
    extra: dict[str, float] = field(default_factory=dict)


@dataclass(frozen=True)
class Unit:
    """How a cost is shown: `figure` takes it and the bytes of text.  A lower cost is always better."""

    name: str
    figure: Callable[[float, int], float]


SPEED = Unit("MB/s", lambda seconds, size: size / seconds / 1e6)
MICROSECONDS = Unit("us", lambda seconds, _: seconds * 1e6)
MILLISECONDS = Unit("ms", lambda seconds, _: seconds * 1e3)
MILLISECONDS_PER_MB = Unit("ms/MB", lambda seconds, size: seconds * 1e9 / size)
MEGABYTES = Unit("MB", lambda size, _: size / 1e6)


@dataclass
class Job:
    """Its unit, how an answer becomes bytes that are equal for all who are right, and who can do it."""

    answer: Callable[[Any], bytes]
    unit: Unit
    options: dict[str, str]
    libraries: dict[str, Prepare] = field(default_factory=dict)


JOBS: dict[str, Job] = {}
#: What seconds are; on a machine busy with other work, those of the CPU say more, for a process on one CPU.
CLOCKS: dict[str, Callable[[], float]] = {"wall": time.perf_counter, "cpu": time.process_time}


def define(name: str, answer: Callable[[Any], bytes], unit: Unit = SPEED, **options: str) -> None:
    """Name a job, with the options it has beyond those of all jobs, or other values for them."""
    JOBS[name] = Job(answer, unit, options)


def job(name: str, libraries: str | Iterable[str]) -> Callable[[Prepare], Prepare]:
    """Register how one library, or each of several, does a job."""

    def register(function: Prepare) -> Prepare:
        for library in [libraries] if isinstance(libraries, str) else libraries:
            JOBS[name].libraries[library] = function
        return function

    return register


def digest(name: str, answer: Any) -> str:
    return hashlib.sha256(JOBS[name].answer(answer)).hexdigest()[:16]
