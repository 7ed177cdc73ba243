"""Progress bars, and what a `progress` argument may be."""

from __future__ import annotations

import io
import json
import sys

import pytest

import bbpe
from bbpe import progress
from bbpe.progress import JsonLines, Progress, ProgressBar


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
    before = sys.stdout, sys.stderr
    with ProgressBar(stream=stream) as bar:
        assert (sys.stdout, sys.stderr) == before
        bar(Progress("count [x]", 0, None, "bytes"))
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
    with pytest.raises(RuntimeError):
        ProgressBar()(Progress("count", 1, 2, "bytes"))


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
    assert progress._duration(seconds) == shown


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
    log = JsonLines(stream)
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
    JsonLines(unknown)(Progress("count", 3, None, "bytes"))
    assert json.loads(unknown.getvalue())["total"] is None
