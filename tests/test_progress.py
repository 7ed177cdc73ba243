"""Progress bars, and what a `progress` argument may be."""

from __future__ import annotations

import io
import json
import sys
import threading

import pytest

import bbpe
from bbpe import progress
from bbpe.progress import JsonProgress, Progress, ProgressBar


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    now = [100.0]
    monkeypatch.setattr(progress.time, "monotonic", lambda: now[0])
    return now


def run(stream: io.StringIO, clock: list[float], steps: int = 100, seconds: float = 0.05) -> None:
    with ProgressBar(stream=stream) as bar:
        for phase, unit in (("count", "bytes"), ("merge", "merges")):
            for step in range(steps + 1):
                bar(Progress(phase, step * 1_000_000, steps * 1_000_000, unit))
                clock[0] += seconds


def test_a_log_gets_few_lines(clock: list[float]) -> None:
    stream = io.StringIO()
    run(stream, clock, seconds=0.125)
    lines = stream.getvalue().splitlines()
    # 12.5 s a phase: a line every 5 s and one at the end
    assert [line.split()[0] for line in lines] == ["count"] * 3 + ["merge"] * 3
    assert "\r" not in stream.getvalue()
    assert lines[0] == "count  40.0 of 100.0 MB  8.0 MB/s  7.5 s left"
    assert lines[2] == "count  100.0 of 100.0 MB  8.0 MB/s  in 12.5 s"
    assert lines[3] == "merge  40,000,000 of 100,000,000 merges  7,804,878 merges/s  7.7 s left"


def test_a_fast_phase_is_one_line_in_a_log(clock: list[float]) -> None:
    stream = io.StringIO()
    run(stream, clock, seconds=0.001)
    assert [line.split()[0] for line in stream.getvalue().splitlines()] == ["count", "merge"]


def test_a_terminal_without_rich_gets_one_line_a_phase(monkeypatch: pytest.MonkeyPatch, clock: list[float]) -> None:
    for name in [name for name in sys.modules if name.partition(".")[0] == "rich"]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "rich", None)
    monkeypatch.setenv("COLUMNS", "40")
    stream = Terminal()
    run(stream, clock)
    assert stream.getvalue().count("\n") == 2
    lines = stream.getvalue().replace("\n", "").split("\r")
    # 5 s a phase, at most ten drawings a second
    assert 20 < len(lines) <= 2 * 52
    assert max(map(len, lines)) <= 39


def test_a_terminal_with_rich_gets_a_bar(monkeypatch: pytest.MonkeyPatch, clock: list[float]) -> None:
    pytest.importorskip("rich")
    monkeypatch.setenv("TERM", "xterm")
    stream = Terminal()
    before, threads = (sys.stdout, sys.stderr), threading.enumerate()
    with ProgressBar(stream=stream) as bar:
        assert (sys.stdout, sys.stderr) == before
        bar(Progress("count [x]", 0, None, "bytes"))
        assert (sys.stdout, sys.stderr) == before
        assert threading.enumerate() == threads
        clock[0] += 1
        bar(Progress("count [x]", 5_000_000, None, "bytes"))
    assert "count [x]" in stream.getvalue()
    assert "5.0 MB/s" in stream.getvalue()


@pytest.mark.parametrize("stream_type", [io.StringIO, Terminal])
def test_an_error_leaves_through_the_bar(stream_type: type[io.StringIO]) -> None:
    stream = stream_type()

    def interrupt(bar: ProgressBar) -> None:
        bar(Progress("count", 1, 2, "bytes"))
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt), ProgressBar(stream=stream) as bar:
        interrupt(bar)
    assert "count" in stream.getvalue()


def test_no_stderr_is_no_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stderr", None)
    with ProgressBar() as bar:
        bar(Progress("count", 1, 2, "bytes"))


def test_a_bar_outside_its_block_refuses() -> None:
    bar = ProgressBar(stream=io.StringIO())
    with pytest.raises(RuntimeError):
        bar(Progress("count", 1, 2, "bytes"))
    with bar:
        bar(Progress("count", 1, 2, "bytes"))
    with pytest.raises(RuntimeError):
        bar(Progress("count", 2, 2, "bytes"))
    bar.__exit__(None, None, None)


def test_what_progress_may_be() -> None:
    seen: list[Progress] = []
    for silent in (None, False):
        with bbpe.Counting(progress=silent).reporting() as report:
            assert report(Progress("count", 1, 2, "bytes")) is None
    with bbpe.Counting(progress=True).reporting() as report:
        assert isinstance(report, ProgressBar)
    with bbpe.Counting(progress=seen.append).reporting() as report:
        report(Progress("count", 1, 2, "bytes"))
    assert seen == [Progress("count", 1, 2, "bytes")]
    with pytest.raises(TypeError, match="str"):
        bbpe.Counting(progress="yes")  # type: ignore[arg-type]


@pytest.mark.parametrize(("seconds", "shown"), [(0.04, "0.0 s"), (59.94, "59.9 s"), (75, "1:15"), (3723, "1:02:03")])
def test_durations(seconds: float, shown: str) -> None:
    assert progress.duration(seconds) == shown


@pytest.mark.parametrize("stream_type", [io.StringIO, Terminal])
@pytest.mark.parametrize("with_rich", [False, True])
def test_notes_are_lines(
    stream_type: type[io.StringIO], with_rich: bool, monkeypatch: pytest.MonkeyPatch, clock: list[float]
) -> None:
    if with_rich:
        pytest.importorskip("rich")
    else:
        monkeypatch.setitem(sys.modules, "rich.console", None)
    stream = stream_type()
    with ProgressBar(stream=stream) as bar:
        bar(Progress("plan", 0, 5, "bytes", "4 GB [are] enough"))
        bar(Progress("count", 5, 5, "bytes"))
        clock[0] += 1
        bar(Progress("count", 5, 5, "bytes", "5 bytes read"))
    assert "plan  4 GB [are] enough" in stream.getvalue()
    assert "count  5 bytes read" in stream.getvalue()


def test_json_lines(clock: list[float]) -> None:
    stream = io.StringIO()
    log = JsonProgress(stream)
    for phase, unit in (("count", "bytes"), ("merge", "merges")):
        for step in range(101):
            log(Progress(phase, step * 1_000_000, 100_000_000, unit))
            clock[0] += 0.125
    log(Progress("merge", 100_000_000, 100_000_000, unit, "done"))
    records = [json.loads(line) for line in stream.getvalue().splitlines()]
    assert [(record["phase"], record["done"] // 1_000_000) for record in records] == [
        ("count", 0), ("count", 40), ("count", 80), ("count", 100),
        ("merge", 0), ("merge", 40), ("merge", 80), ("merge", 100), ("merge", 100),
    ]  # fmt: skip
    assert records[1] == {
        "phase": "count", "done": 40_000_000, "total": 100_000_000, "unit": "bytes", "seconds": 5.0, "rate": 8e6
    }  # fmt: skip
    assert records[-1]["note"] == "done"
    unknown = io.StringIO()
    JsonProgress(unknown)(Progress("count", 3, None, "bytes"))
    assert json.loads(unknown.getvalue())["total"] is None


@pytest.mark.parametrize(("seconds", "shown"), [(60, "1:00"), (119.6, "2:00"), (3599.6, "1:00:00"), (7260, "2:01:00"),
                                               (3599.4, "59:59"), (3540, "59:00"), (3600, "1:00:00")])  # fmt: skip
def test_durations_at_their_limits(seconds: float, shown: str) -> None:
    assert progress.duration(seconds) == shown


class Painter:
    """Keeps what it is told to draw."""

    interval = 1.0

    def __init__(self) -> None:
        self.drawn: list[tuple[str, str, str]] = []

    def begin(self, progress: Progress) -> None:
        self.drawn.append(("begin", progress.phase, ""))

    def write_line(self, line: str) -> None:
        self.drawn.append(("line", "", line))

    def draw(self, progress: Progress, text: str) -> None:
        self.drawn.append(("draw", progress.phase, text))

    def end(self, progress: Progress, text: str) -> None:
        self.drawn.append(("end", progress.phase, text))

    def close(self) -> None:
        self.drawn.append(("close", "", ""))


@pytest.fixture
def painter(monkeypatch: pytest.MonkeyPatch) -> Painter:
    found = Painter()
    monkeypatch.setattr(progress, "_choose_painter", lambda stream: found)
    return found


def test_amounts_rates_and_the_time_left(painter: Painter, clock: list[float]) -> None:
    """The rate is of what is done, the time left that of what is not; none of both where the total is not known."""
    with ProgressBar() as bar:
        for phase, total, unit in (("read", 12_000_000, "bytes"), ("join", None, "merges"), ("late", 10, "parts")):
            for done in (0, 3, 6):
                bar(Progress(phase, done * (1_000_000 if unit == "bytes" else 1), total, unit))
                clock[0] += 2
    assert painter.drawn == [
        ("begin", "read", ""),
        ("draw", "read", "3.0 of 12.0 MB  1.5 MB/s  6.0 s left"),
        ("draw", "read", "6.0 of 12.0 MB  1.5 MB/s  4.0 s left"),
        ("end", "read", "6.0 of 12.0 MB  1.5 MB/s  in 4.0 s"),
        # time is counted from the last report of the phase before, two seconds ago
        ("begin", "join", ""),
        ("draw", "join", "3 merges  1 merges/s"),
        ("draw", "join", "6 merges  1 merges/s"),
        ("end", "join", "6 merges  1 merges/s  in 6.0 s"),
        ("begin", "late", ""),
        ("draw", "late", "3 of 10 parts  1 parts/s  9.3 s left"),
        ("draw", "late", "6 of 10 parts  1 parts/s  4.0 s left"),
        ("end", "late", "6 of 10 parts  1 parts/s  in 6.0 s"),
        ("close", "", ""),
    ]


def test_a_phase_is_drawn_once_an_interval(painter: Painter, clock: list[float]) -> None:
    with ProgressBar() as bar:
        for done in range(31):
            bar(Progress("read", done, 100, "parts"))
            clock[0] += 0.125
    drawn = [text.split()[0] for kind, _, text in painter.drawn if kind == "draw"]
    assert drawn == ["8", "16", "24"]


def test_a_bar_with_a_delay_counts_time_from_the_beginning(painter: Painter, clock: list[float]) -> None:
    """A phase that began within the delay is not younger than it is; an earlier one is not shown at all."""
    with ProgressBar(delay=2) as bar:
        bar(Progress("plan", 1, 1, "parts"))
        for done in range(6):
            clock[0] += 1
            bar(Progress("read", done * 4, 100, "parts"))
    assert painter.drawn[0] == ("begin", "read", "")
    assert painter.drawn[-2] == ("end", "read", "20 of 100 parts  3 parts/s  in 6.0 s")
    assert "plan" not in {phase for _, phase, _ in painter.drawn}


def test_the_phase_before_one_that_began_within_the_delay_ends_with_its_last_report(
    painter: Painter, clock: list[float]
) -> None:
    with ProgressBar(delay=5) as bar:
        for phase, done in (("plan", 1), ("plan", 2), ("read", 1), ("read", 2), ("read", 3), ("read", 8), ("read", 10)):
            bar(Progress(phase, done, 20, "parts"))
            clock[0] += 1
    assert painter.drawn[-2] == ("end", "read", "10 of 20 parts  2 parts/s  in 5.0 s")


def test_a_note_of_a_phase_that_has_begun_does_not_end_it(painter: Painter, clock: list[float]) -> None:
    with ProgressBar() as bar:
        bar(Progress("read", 0, 9, "parts"))
        bar(Progress("read", 0, 9, "parts", "no part yet"))
        bar(Progress("read", 9, 9, "parts", "all parts"))
    assert [(kind, text) for kind, _, text in painter.drawn] == [
        ("begin", ""), ("line", "read  no part yet"), ("line", "read  all parts"), ("end", "9 of 9 parts  in 0.0 s"),
        ("close", ""),
    ]  # fmt: skip


def test_notes_before_and_after_a_phase(painter: Painter, clock: list[float]) -> None:
    with ProgressBar() as bar:
        bar(Progress("read", 0, 9, "parts", "a plan"))
        bar(Progress("read", 9, 9, "parts"))
        bar(Progress("join", 0, 9, "merges", "another plan"))
    assert painter.drawn == [
        ("line", "", "read  a plan"), ("begin", "read", ""), ("end", "read", "9 of 9 parts  in 0.0 s"),
        ("line", "", "join  another plan"), ("close", "", ""),
    ]  # fmt: skip


def test_a_line_that_is_overwritten_leaves_nothing_of_the_longer_one(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "40")
    stream = Terminal()
    line = progress._Lines(stream, is_terminal=True)
    for text in ("a long line of text", "short", "x" * 80):
        line.draw(Progress("read", 1, 2, "parts"), text)
    line.write_line("note")
    line.end(Progress("read", 1, 2, "parts"), "end")
    first, short, wide, note, end = stream.getvalue().replace("\n", "").split("\r")[1:]
    assert (first, short) == ("read  a long line of text", "read  short".ljust(len(first)))
    assert (wide, note) == (f"read  {'x' * 80}"[:39], "note".ljust(39))
    assert end == "read  end"


def test_a_line_after_another_one_is_not_wider_than_itself() -> None:
    stream = Terminal()
    line, parts = progress._Lines(stream, is_terminal=True), Progress("read", 1, 2, "parts")
    for write in (line.begin, lambda each: line.write_line("a")):
        line.draw(parts, "a long line of text")
        write(parts)
        line.draw(parts, "x")
        assert stream.getvalue().endswith("\rread  x")


def test_what_is_written_is_seen_at_once(clock: list[float]) -> None:
    raw = io.BytesIO()
    stream, parts = io.TextIOWrapper(raw, "utf-8"), Progress("read", 1, 2, "parts")
    log, line = JsonProgress(stream, interval=3), progress._Lines(stream, is_terminal=True)
    seen = []
    for write in (
        lambda: log(parts), lambda: line.write_line("a"), lambda: line.draw(parts, "b"), lambda: line.end(parts, "c")
    ):  # fmt: skip
        write()
        seen.append(raw.getvalue().decode().rpartition("\r")[2])
    assert [text[-1:] for text in seen] == ["\n", "\n", "b", "\n"]
    # a line every three seconds, with thousandths of seconds
    clock[0] += 2.9994
    log(parts)
    assert json.loads(raw.getvalue().decode().splitlines()[0])["seconds"] == 0
    assert raw.getvalue().count(b"{") == 1
    clock[0] += 0.0036
    log(parts)
    assert json.loads(raw.getvalue().decode().splitlines()[-1])["seconds"] == 3.003


def test_a_bar_of_rich_has_the_total(monkeypatch: pytest.MonkeyPatch, clock: list[float]) -> None:
    pytest.importorskip("rich")
    monkeypatch.setenv("TERM", "xterm")
    bar = progress._RichBar(Terminal())
    bar.begin(Progress("read", 0, 10, "parts"))
    bar.draw(Progress("read", 4, 12, "parts"), "4 of 12 parts")
    (task,) = bar._rich.tasks
    assert (task.description, task.completed, task.total, task.fields["text"]) == ("read", 4, 12, "4 of 12 parts")
    bar.close()


def test_json_lines_of_a_phase_that_goes_on(clock: list[float]) -> None:
    """A rate is of what the phase did itself; seconds are since the start of all; each end is written."""
    stream = io.StringIO()
    log = JsonProgress(stream, interval=10)
    for phase, first in (("a", 0), ("b", 1000)):
        for done in (0, 1, 2):
            log(Progress(phase, first + 10 * done, first + 20, "parts"))
            clock[0] += 4
    records = [json.loads(line) for line in stream.getvalue().splitlines()]
    shown = [(each["phase"], each["done"], each["total"], each["seconds"], each["rate"]) for each in records]
    assert shown == [
        ("a", 0, 20, 0.0, None), ("a", 20, 20, 8.0, 2.5), ("b", 1000, 1020, 12.0, None), ("b", 1020, 1020, 20.0, 2.5),
    ]  # fmt: skip


@pytest.mark.parametrize(("notes", "shown"), [(True, "count  a plan\ncount  a summary\n"), (False, "")])
def test_notes_of_a_short_job(notes: bool, shown: str, clock: list[float]) -> None:
    """A training tells its longest token however short it is; a report shows nothing."""
    stream = io.StringIO()
    with ProgressBar(stream=stream, delay=2.0, notes=notes) as bar:
        for done, note in ((0, "a plan"), (1, ""), (2, "a summary")):
            bar(Progress("count", done, 2, "texts", note))
            clock[0] += 0.1
    assert stream.getvalue() == shown


def test_notes_of_a_count_are_shown_at_once(monkeypatch: pytest.MonkeyPatch, clock: list[float]) -> None:
    """Before a bar appears: what a count says of its plan and its outcome; its progress only after a moment."""
    stream = io.StringIO()
    monkeypatch.setattr(sys, "stderr", stream)
    with bbpe.Counting(progress=True).reporting() as report:
        report(Progress("count", 0, 2, "bytes", "a plan"))
        report(Progress("count", 1, 2, "bytes"))
        assert stream.getvalue() == "count  a plan\n"
        clock[0] += progress.DELAY
        report(Progress("count", 2, 2, "bytes"))
    assert stream.getvalue().splitlines()[1:] == ["count  0.0 of 0.0 MB  0.0 MB/s  in 2.0 s"]
