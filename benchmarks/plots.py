"""Bars of one area as SVG, the same bytes for the same record."""

from __future__ import annotations

from pathlib import Path
from typing import Any

Cases = dict[str, dict[str, dict[str, Any]]]


def bars(title: str, cases: Cases, path: Path) -> None:
    """MB/s of every library whose answers are right, a group a case."""
    import matplotlib as mpl
    from matplotlib.figure import Figure

    libraries = list(dict.fromkeys(library for rows in cases.values() for library in rows))
    width = 0.8 / len(libraries)
    with mpl.rc_context({"svg.hashsalt": "bbpe", "svg.fonttype": "none"}):
        figure = Figure(figsize=(8, 3.5), layout="constrained")
        axes = figure.subplots()
        for place, library in enumerate(libraries):
            heights = [speed(rows.get(library)) for rows in cases.values()]
            lefts = [group + (place - len(libraries) / 2 + 0.5) * width for group in range(len(cases))]
            colour = "#c44e52" if library == "bbpe" else f"{0.25 + 0.6 * place / len(libraries):.2f}"
            axes.bar(lefts, heights, width, label=library, color=colour)
        axes.set_xticks(range(len(cases)), list(cases))
        axes.set_ylabel("MB/s")
        axes.set_title(title)
        axes.spines[["top", "right"]].set_visible(False)
        axes.legend(frameon=False, fontsize="small", ncols=2)
        figure.savefig(path, format="svg", metadata={"Date": None})


def speed(row: dict[str, Any] | None) -> float:
    """MB/s, none where the library has no right answer."""
    return float(row["figure"]) if row is not None and row["costs"] and row["right"] else 0.0
