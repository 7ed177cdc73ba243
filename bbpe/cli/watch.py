"""Progress of commands, on standard error: the options for it, and how much of its input a command has read."""

from __future__ import annotations

import sys
from argparse import ArgumentParser, Namespace
from collections.abc import Callable, Iterable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from typing import Any, TypeVar

from bbpe.progress import DELAY, JsonProgress, Progress, ProgressBar

_Item = TypeVar("_Item")


def add_progress(parser: ArgumentParser) -> None:
    """Add how progress is shown."""
    parser.add_argument(
        "--progress", choices=("bar", "json", "none"), default="bar", help="what to write to stderr (default: bar)"
    )
    parser.add_argument("--quiet", action="store_const", const="none", dest="progress", help="as --progress none")


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
        """Yield items, each of which is done when the next one is asked for."""
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
