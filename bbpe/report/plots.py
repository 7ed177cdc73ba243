"""Figures that a paper could print, drawn by matplotlib (the extra `plot`)."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from math import inf, log2
from pathlib import PurePath
from typing import Any

from ..files import replacing
from ..lazy import safe_import
from ..records import check_suffix, checked_path
from .measures import Measures
from .metrics import Metric

#: Okabe and Ito's colours, which colour-blind readers can tell apart.
COLOURS = ("#0072B2", "#E69F00", "#009E73", "#CC79A7", "#56B4E9", "#D55E00", "#F0E442", "#000000")
MARKERS = "osD^vPX*"
#: The suffixes of figures.
FIGURES = (".svg", ".pdf", ".png")
#: The share of an axis that the text at a tick takes.
_ROOM = 0.1
#: Tokenizers in a line of the legend above the bars.
_LEGEND = 5
_STYLE: Any = {
    "font.size": 9, "axes.axisbelow": True, "axes.spines.top": False, "axes.spines.right": False, "axes.grid": True,
    "grid.alpha": 0.25,
    "svg.fonttype": "none", "pdf.fonttype": 42, "svg.hashsalt": "bbpe", "figure.constrained_layout.use": True,
    "legend.frameon": False,
}  # fmt: skip


def save_evaluation(rows: Sequence[Measures], path: str | os.PathLike[str], metric: Metric) -> None:
    """Draw bars of a figure: a group for each corpus, a bar with its interval for each tokenizer."""
    corpora = list(dict.fromkeys(row.corpus for row in rows))
    names = list(dict.fromkeys(row.tokenizer for row in rows))
    size = max(4.6, 1.6 + 0.25 * len(corpora) * (len(names) + 1)), 3.4
    width = 0.8 / len(names)
    with _axes(path, size) as axes:
        for place, name in enumerate(names):
            chosen = {row.corpus: row for row in rows if row.tokenizer == name}
            heights = [metric.of(chosen[corpus]) or 0.0 for corpus in corpora]
            spread: list[list[float]] = [[], []]
            for corpus, height in zip(corpora, heights, strict=True):
                low, high = metric.interval_of(chosen[corpus]) or (height, height)
                spread[0].append(max(height - low, 0.0))
                spread[1].append(max(high - height, 0.0))
            at = [number + (place - (len(names) - 1) / 2) * width for number in range(len(corpora))]
            axes.bar(
                at, heights, width * 0.92, label=name, color=COLOURS[place % len(COLOURS)],
                yerr=spread if any(map(any, spread)) else None, error_kw={"elinewidth": 0.8, "capsize": 1.5},
            )  # fmt: skip
        axes.set_xticks(range(len(corpora)), corpora)
        axes.set_ylabel(metric.label)
        axes.grid(visible=False, axis="x")
        if len(names) > 1:
            axes.legend(ncols=min(len(names), _LEGEND), loc="lower left", bbox_to_anchor=(0.0, 1.0), fontsize=8)


def save_lines(
    lines: Sequence[tuple[str, Sequence[float], Sequence[float]]], path: str | os.PathLike[str], *, across: str,
    up: str, knees: Sequence[tuple[float, float]] = (),
) -> None:  # fmt: skip
    """Draw lines over a logarithmic axis, each `(name, x, y)`, and rings around `knees`."""
    with _axes(path, (4.6, 3.2)) as axes:
        for place, (name, x, y) in enumerate(lines):
            look = {"color": COLOURS[place % len(COLOURS)], "marker": MARKERS[place % len(MARKERS)], "markersize": 4}
            axes.plot(x, y, label=name, linewidth=1.4, **look)
        if knees:
            circles = {"s": 90, "facecolors": "none", "edgecolors": "#000000", "label": "knee", "zorder": 3}
            axes.scatter(*zip(*knees, strict=True), **circles)
        axes.set_xscale("log", base=2)
        ticks = sorted({value for _, x, _ in lines for value in x})
        axes.set_xticks(ticks, _labels(ticks))
        axes.minorticks_off()
        axes.set_xlabel(across)
        axes.set_ylabel(up)
        axes.legend()


def short_number(value: float) -> str:
    """Return a size for an axis, in three digits.

    >>> [short_number(value) for value in (500, 8000, 28_502, 893_755, 3_000_000)]
    ['500', '8k', '28.5k', '894k', '3M']
    """
    for unit, sign in ((10**9, "B"), (10**6, "M"), (1000, "k")):
        if float(f"{value:.3g}") >= unit:
            return f"{float(f'{value:.3g}') / unit:g}{sign}"
    return f"{value:.3g}"


def _labels(ticks: Sequence[float]) -> list[str]:
    """Return the text at each tick of a logarithmic axis, empty where the one before leaves no room."""
    room = _ROOM * (log2(max(ticks[-1], 1) / max(ticks[0], 1)) if ticks else 0.0)
    found, last = list[str](), -inf
    for tick in ticks:
        is_shown = log2(max(tick, 1)) - last >= room
        found.append(short_number(tick) if is_shown else "")
        last = log2(max(tick, 1)) if is_shown else last
    return found


@contextmanager
def _axes(path: str | os.PathLike[str], size: tuple[float, float]) -> Iterator[Any]:
    """Give the axes of a figure, all of which is drawn and then saved in our style."""
    check_suffix(checked_path("path", path), "the figure", FIGURES)
    try:
        safe_import("matplotlib")
        import matplotlib as mpl
        safe_import("matplotlib.figure")
        from matplotlib.figure import Figure
    except ImportError:
        raise ImportError("drawing needs matplotlib; pip install 'bbpe[plot]'") from None
    # a figure of its own, not pyplot's: nothing global changes and no window opens
    with mpl.rc_context(_STYLE):
        figure = Figure(figsize=size, dpi=200)
        yield figure.subplots()
        # without a date the same figures give the same file
        suffix = PurePath(path).suffix.lower()
        form = suffix.removeprefix(".") if suffix in FIGURES else "png"
        with replacing(path) as file:
            figure.savefig(file, format=form, metadata={"Date": None} if form == "svg" else None)
