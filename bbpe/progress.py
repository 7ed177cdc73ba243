"""Report the progress of long jobs, as records for a callback, as a bar or as JSON lines.

A job calls a callback with `Progress` records and does not depend on a terminal.  `ProgressBar` is a callback that
draws on stderr: with rich if it is installed, otherwise a single line that is overwritten.  If stderr is not a
terminal, it writes separate lines from time to time.
"""

from __future__ import annotations

import json
import math
import sys
import time
from types import TracebackType
from typing import Self, TextIO, TypeAlias

from .lazy import safe_import
from .records import dataclass


@dataclass(frozen=True)
class Progress:
    """The progress of one phase of a job.

    `done` of `total` units are complete; `total` is `None` if it is not known.  `unit` is a plural ("merges"); "bytes"
    are shown as MB of 10**6 bytes.  `note` is a line for people: a plan before a long phase, or a summary after it.

    >>> Progress("merge", 300, 15744, "merges").done
    300
    """

    phase: str
    done: int
    total: int | None
    unit: str
    note: str = ""


#: The seconds after which jobs that are mostly short show a bar.
DELAY = 2.0


class ProgressBar:
    """Draws progress on stderr or on `stream`; a context manager, and callable with a `Progress`.

    Nothing is shown in the first `delay` seconds, for jobs that are mostly short; with `notes` they are shown then too.

    A phase shows its amount, its rate and the time left, a few times a second at most.  It remains as one line when the
    next phase begins.  On a stream that is not a terminal, a phase writes a line at most every five seconds and one at
    its end.  Only one thread at a time may call it.

    >>> import io
    >>> with ProgressBar(stream=io.StringIO()) as bar:
    ...     bar(Progress("count", 5_000_000, 5_000_000, "bytes"))
    """

    def __init__(self, *, stream: TextIO | None = None, delay: float = 0.0, notes: bool = False) -> None:
        self._stream = sys.stderr if stream is None else stream
        # in a process without a console, sys.stderr is None, and nothing is ever shown
        self._delay = math.inf if self._stream is None else delay
        self._notes = notes and self._stream is not None
        self._painter: _Painter | None = None
        self._last = Progress("", 0, None, "")
        self._opened = self._started = self._last_drawn = self._last_call = 0.0
        # the phase that began within the delay, and when
        self._unseen, self._unseen_started = "", 0.0

    def __enter__(self) -> Self:
        self._painter = _choose_painter(self._stream)
        self._opened = self._last_call = time.monotonic()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._painter is not None:
            self._end_phase(self._painter)
            self._painter.close()
            self._painter = None

    def __call__(self, progress: Progress) -> None:
        """Record the progress, and draw it if the last drawing is old enough.

        Raises `RuntimeError` outside a with block.
        """
        if self._painter is None:
            raise RuntimeError("the ProgressBar is not open; call it within a with block: with ProgressBar() as bar")
        now = time.monotonic()
        if now - self._opened < self._delay:
            if progress.phase != self._unseen:
                self._unseen, self._unseen_started = progress.phase, self._last_call
            self._last_call = now
            if progress.note and self._notes:
                self._painter.write_line(f"{progress.phase}  {progress.note}")
            return
        if progress.note and not progress.done:
            # a plan before a phase begins, or a summary after the last one
            if progress.phase != self._last.phase:
                self._end_phase(self._painter)
            self._painter.write_line(f"{progress.phase}  {progress.note}")
            return
        if progress.phase != self._last.phase:
            self._end_phase(self._painter)
            # a phase may report late, so its time is counted from the end of the phase before it
            is_unseen, self._unseen = progress.phase == self._unseen, ""
            self._started, self._last_drawn = self._unseen_started if is_unseen else self._last_call, now
            self._painter.begin(progress)
        self._last, self._last_call = progress, now
        if progress.note:
            self._painter.write_line(f"{progress.phase}  {progress.note}")
        if now - self._last_drawn >= self._painter.interval:
            self._last_drawn = now
            self._painter.draw(progress, self._describe(ended=False))

    def _end_phase(self, painter: _Painter) -> None:
        if self._last.phase:
            painter.end(self._last, self._describe(ended=True))
        self._last = Progress("", 0, None, "")

    def _describe(self, *, ended: bool) -> str:
        seconds, last = self._last_call - self._started, self._last
        rate = last.done / seconds if seconds > 0 else 0.0
        parts = [_amount(last)]
        if rate > 0:
            parts.append(f"{rate / 1e6:,.1f} MB/s" if last.unit == "bytes" else f"{rate:,.0f} {last.unit}/s")
        if ended:
            parts.append(f"in {duration(seconds)}")
        elif rate > 0 and last.total is not None:
            parts.append(f"{duration(max(0, last.total - last.done) / rate)} left")
        return "  ".join(parts)


class JsonProgress:
    """Writes progress as JSON objects, one on each line, for a log; callable with a `Progress`.

    Each object has `phase`, `done`, `total`, `unit`, `seconds` since the start, `rate` of the phase in units per
    second, and `note` if there is one.  A line is written when a phase begins or ends, when there is a note, and every
    `interval` seconds in between.

    >>> import io
    >>> log = io.StringIO()
    >>> JsonProgress(log)(Progress("count", 0, 5, "bytes"))
    >>> sorted(json.loads(log.getvalue()))
    ['done', 'phase', 'rate', 'seconds', 'total', 'unit']
    """

    def __init__(self, stream: TextIO, *, interval: float = 5.0) -> None:
        self._stream, self._interval = stream, interval
        self._began = self._phase_began = self._written = time.monotonic()
        self._phase, self._first = "", 0

    def __call__(self, progress: Progress) -> None:
        """Write the progress if a phase begins or ends, if there is a note, or if the interval is over."""
        now = time.monotonic()
        begins = progress.phase != self._phase
        if begins:
            self._phase, self._first, self._phase_began = progress.phase, progress.done, now
        ends = progress.total is not None and progress.done >= progress.total
        if not (begins or ends or progress.note or now - self._written >= self._interval):
            return
        self._written, seconds = now, now - self._phase_began
        record = {
            "phase": progress.phase,
            "done": progress.done,
            "total": progress.total,
            "unit": progress.unit,
            "seconds": round(now - self._began, 3),
            "rate": round((progress.done - self._first) / seconds, 1) if seconds > 0 else None,
        }
        self._stream.write(json.dumps(record | ({"note": progress.note} if progress.note else {})) + "\n")
        self._stream.flush()


def _amount(progress: Progress) -> str:
    if progress.unit == "bytes":
        total = "" if progress.total is None else f" of {progress.total / 1e6:,.1f}"
        return f"{progress.done / 1e6:,.1f}{total} MB"
    total = "" if progress.total is None else f" of {progress.total:,}"
    return f"{progress.done:,}{total} {progress.unit}"


def duration(seconds: float) -> str:
    """Return a time for people.

    >>> duration(2.34), duration(125), duration(3725)
    ('2.3 s', '2:05', '1:02:05')
    """
    if seconds < 60:
        return f"{seconds:.1f} s"
    minutes, rest = divmod(round(seconds), 60)
    return f"{minutes // 60}:{minutes % 60:02}:{rest:02}" if minutes >= 60 else f"{minutes}:{rest:02}"


class _Lines:
    """Lines of text: separate ones for a log, or one of a terminal that is overwritten until its phase ends."""

    def __init__(self, stream: TextIO, *, is_terminal: bool = False) -> None:
        self._stream, self._is_terminal, self._width = stream, is_terminal, 0
        #: The least time between two drawings of a phase, in seconds.
        self.interval = 0.1 if is_terminal else 5.0

    def begin(self, progress: Progress) -> None:
        self._width = 0

    def write_line(self, line: str) -> None:
        self._write(line, "\n")
        self._width = 0

    def draw(self, progress: Progress, text: str) -> None:
        line = f"{progress.phase}  {text}"
        if not self._is_terminal:
            self.write_line(line)
            return
        safe_import("shutil")
        import shutil

        # terminals wrap a line that fills the last column
        line = line[: shutil.get_terminal_size().columns - 1]
        self._write(line, "")
        self._width = len(line)

    def end(self, progress: Progress, text: str) -> None:
        self.draw(progress, text)
        if self._is_terminal:
            self._stream.write("\n")
            self._stream.flush()

    def close(self) -> None:
        pass

    def _write(self, line: str, end: str) -> None:
        self._stream.write(("\r" if self._is_terminal else "") + line.ljust(self._width) + end)
        self._stream.flush()


class _RichBar:
    """A bar for each phase, drawn by rich."""

    interval = 0.1

    def __init__(self, stream: TextIO) -> None:
        rich, console = safe_import("rich.progress"), safe_import("rich.console").Console(file=stream)
        # no refresh thread and no replaced sys.stdout, because a callback must not affect the rest of the program
        self._rich = rich.Progress(
            rich.TextColumn("{task.description}", markup=False),
            rich.BarColumn(),
            rich.TextColumn("{task.fields[text]}", markup=False),
            console=console,
            auto_refresh=False,
            redirect_stdout=False,
            redirect_stderr=False,
        )
        self._rich.start()

    def begin(self, progress: Progress) -> None:
        self._task = self._rich.add_task(progress.phase, total=progress.total, text="")

    def write_line(self, line: str) -> None:
        self._rich.console.print(line, markup=False, highlight=False)

    def draw(self, progress: Progress, text: str) -> None:
        self._rich.update(self._task, completed=progress.done, total=progress.total, text=text, refresh=True)

    end = draw

    def close(self) -> None:
        self._rich.stop()


_Painter: TypeAlias = _Lines | _RichBar


def _choose_painter(stream: TextIO) -> _Painter:
    if stream is None or not stream.isatty():
        return _Lines(stream)
    try:
        return _RichBar(stream)
    except ImportError:
        return _Lines(stream, is_terminal=True)
