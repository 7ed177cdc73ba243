"""What is drawn: each bar and line at its place with its colour and interval, whatever draws it."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from bbpe.report import plots
from bbpe.report.metrics import METRICS
from bbpe.report.plots import COLOURS, MARKERS, save_evaluation, save_lines

BYTES = METRICS["bytes_per_token"]


class Axes:
    """Keeps what it is told to draw."""

    def __init__(self) -> None:
        self.calls: list[tuple[Any, ...]] = []

    def __getattr__(self, name: str) -> Any:
        return lambda *given, **options: self.calls.append((name, *map(plain, given), options))

    def of(self, name: str) -> list[tuple[Any, ...]]:
        return [call[1:] for call in self.calls if call[0] == name]


def plain(value: Any) -> Any:
    return [round(each, 9) if isinstance(each, float) else each for each in value] \
        if isinstance(value, list | tuple | range) else value  # fmt: skip


@pytest.fixture
def axes(monkeypatch: pytest.MonkeyPatch) -> Axes:
    """What is drawn on; it notes the file and the size of the figure."""
    found = Axes()

    @contextmanager
    def drawn(path: str, size: tuple[float, float]) -> Iterator[Axes]:
        found.calls.append(("figure", path, tuple(round(each, 9) for each in size), {}))
        yield found

    monkeypatch.setattr(plots, "_axes", drawn)
    return found


def row(tokenizer: str, corpus: str, value: float | None, interval: tuple[float, float] | None = None) -> Any:
    return SimpleNamespace(
        tokenizer=tokenizer, corpus=corpus, bytes_per_token=value, bytes_per_token_interval=interval
    )  # fmt: skip


def test_bars_stand_beside_each_other_around_the_name_of_their_corpus(axes: Axes) -> None:
    save_evaluation([
        row("a", "en", 4.0, (3.5, 4.25)), row("b", "en", 3.0, (3.5, 3.5)), row("a", "zh", 2.0), row("b", "zh", None),
    ], "x.svg", BYTES)  # fmt: skip
    assert axes.of("figure") == [("x.svg", (4.6, 3.4), {})]
    (first, second) = axes.of("bar")
    error = {"elinewidth": 0.8, "capsize": 1.5}
    assert first == ([-0.2, 0.8], [4.0, 2.0], 0.4 * 0.92, {
        "label": "a", "color": COLOURS[0], "yerr": [[0.5, 0.0], [0.25, 0.0]], "error_kw": error,
    })  # fmt: skip
    # an interval that the value lies outside of is drawn as far as it is beyond
    assert second == ([0.2, 1.2], [3.0, 0.0], 0.4 * 0.92, {
        "label": "b", "color": COLOURS[1], "yerr": [[0.0, 0.0], [0.5, 0.0]], "error_kw": error,
    })  # fmt: skip
    assert axes.of("set_xticks") == [([0, 1], ["en", "zh"], {})]
    assert axes.of("set_ylabel") == [("bytes per token", {})]
    assert axes.of("grid") == [({"visible": False, "axis": "x"},)]
    assert axes.of("legend") == [
        ({"ncols": 2, "loc": "lower left", "bbox_to_anchor": (0.0, 1.0), "fontsize": 8},)
    ]  # fmt: skip


@pytest.mark.parametrize(("count", "columns"), [(1, None), (2, 2), (5, 5), (6, 5), (9, 5)])
def test_a_legend_names_several_tokenizers(count: int, columns: int | None, axes: Axes) -> None:
    save_evaluation([row(str(number), corpus, 1.0) for number in range(count) for corpus in "xyz"], "x.png", BYTES)
    assert [legend[-1]["ncols"] for legend in axes.of("legend")] == ([columns] if columns else [])
    assert [bar[-1]["color"] for bar in axes.of("bar")] == [COLOURS[number % 8] for number in range(count)]
    assert {str(bar[-1]["yerr"]) for bar in axes.of("bar")} == {"None"}
    wide = round(max(4.6, 1.6 + 0.75 * (count + 1)), 9)
    assert axes.of("figure") == [("x.png", (wide, 3.4), {})]


def test_lines_over_a_logarithmic_axis(axes: Axes) -> None:
    lines = [(str(number), [500, 4000], [float(number), 2.5]) for number in range(9)]
    save_lines(lines, "x.pdf", across="tokens", up="bytes", knees=[(500, 1.0), (4000, 2.5)])
    assert axes.of("figure") == [("x.pdf", (4.6, 3.2), {})]
    assert axes.of("plot") == [
        ([500, 4000], [float(number), 2.5], {
            "label": str(number), "linewidth": 1.4, "color": COLOURS[number % 8], "marker": MARKERS[number % 8],
            "markersize": 4,
        })
        for number in range(9)
    ]  # fmt: skip
    rings = {"s": 90, "facecolors": "none", "edgecolors": "#000000", "label": "knee", "zorder": 3}
    assert axes.of("scatter") == [([500, 4000], [1.0, 2.5], rings)]
    assert axes.of("set_xscale") == [("log", {"base": 2})]
    assert axes.of("set_xticks") == [([500, 4000], ["500", "4k"], {})]
    assert (axes.of("set_xlabel"), axes.of("set_ylabel")) == ([("tokens", {})], [("bytes", {})])
    assert (len(axes.of("minorticks_off")), len(axes.of("legend"))) == (1, 1)
    save_lines([("a", [1, 2], [1, 2])], "y.pdf", across="", up="")
    assert len(axes.of("scatter")) == 1


@pytest.mark.parametrize(
    ("value", "shown"), [(999, "999"), (1000, "1k"), (1024, "1.02k"), (32000, "32k"), (0.125, "0.125"), (999_999, "1M")]
)
def test_short_numbers(value: float, shown: str) -> None:
    assert plots.short_number(value) == shown


def test_labels_of_sizes_leave_room_for_one_another() -> None:
    """Sizes that are as far apart in the logarithm as they are wide have their labels, others only a mark."""
    sizes = [500, 1000, 2000, 4000, 8000, 12000, 16000, 24000, 32000]
    assert plots._labels(sizes) == ["500", "1k", "2k", "4k", "8k", "", "16k", "", "32k"]
    assert plots._labels([0, 10]) == ["0", "10"]
    assert plots._labels([]) == []


@pytest.mark.parametrize(
    ("name", "form", "metadata"), [("x.svg", "svg", {"Date": None}), ("x.pdf", "pdf", None), ("x", "png", None)]
)
def test_a_figure_is_saved_in_the_form_of_its_name(
    name: str, form: str, metadata: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With texts as texts and without a date, so that equal figures are equal files."""
    made: list[Any] = []

    class Figure:
        def __init__(self, **options: Any) -> None:
            made.append(options)

        def subplots(self) -> str:
            return "axes"

        def savefig(self, file: Any, **options: Any) -> None:
            made.append(options)
            file.write(b"drawn")

    package = SimpleNamespace(rc_context=lambda style: made.append(style) or nullcontext())
    monkeypatch.setitem(sys.modules, "matplotlib", package)
    monkeypatch.setitem(sys.modules, "matplotlib.figure", SimpleNamespace(Figure=Figure))
    with plots._axes(tmp_path / name, (4.6, 3.4)) as axes:
        assert axes == "axes"
        assert not (tmp_path / name).exists()
    style, size, saved = made
    assert (size, saved) == ({"figsize": (4.6, 3.4), "dpi": 200}, {"format": form, "metadata": metadata})
    assert {key: style[key] for key in ("svg.fonttype", "pdf.fonttype", "svg.hashsalt")} == {
        "svg.fonttype": "none", "pdf.fonttype": 42, "svg.hashsalt": "bbpe",
    }  # fmt: skip
    assert (tmp_path / name).read_bytes() == b"drawn"


def test_what_is_missing_or_wrong_is_said_before_anything_is_drawn(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(TypeError, match=r"^path must be a str or a path, not int$"):
        save_evaluation([row("a", "en", 1.0)], 5, BYTES)  # type: ignore[arg-type]
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    with pytest.raises(ImportError, match=r"^drawing needs matplotlib; pip install 'bbpe\[plot\]'$"):
        save_lines([("a", [1.0], [1.0])], "x.svg", across="", up="")
