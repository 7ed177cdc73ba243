"""Horizontal bars as SVG, written by hand: the same record gives the same bytes, and no plotting package is needed.

Colours follow `prefers-color-scheme`, so a picture is readable on a light and on a dark page.
"""

from __future__ import annotations

from textwrap import wrap
from typing import Any
from xml.sax.saxutils import escape

Rows = dict[str, dict[str, Any]]

_LABELS, _VALUES = 96, 84
_BAR, _STEP, _HEAD = 15, 21, 30
#: The height of a line of the note, and the width of one of its characters.
_LINE, _CHARACTER = 15, 7.2
#: The widths of pictures: for pages, and for phones, where letters would be too small in a wide one.
WIDE, NARROW = 720, 340
_STYLE = (
    "text{font-family:system-ui,-apple-system,'Segoe UI',sans-serif;font-size:12px;fill:#1f2328}"
    ".title{font-size:14px;font-weight:600}text.own{font-weight:600}.note{font-size:11px;fill:#59636e}"
    # one colour says which bars are ours, and no colour has to be looked up
    "rect{fill:#c3c8cf}rect.own{fill:#e5484d}"
    "@media(prefers-color-scheme:dark){text{fill:#e6edf3}.note{fill:#9198a1}rect{fill:#4d555e}rect.own{fill:#e5484d}}"
)


def picture(panels: dict[str, Rows], note: str, whole: int = WIDE) -> str:
    """Return a panel for each case, MB/s of every library whose answers are right, the fastest first; then a note."""
    parts, top = [], 4
    for title, rows in panels.items():
        parts.append(f'<text class="title" x="0" y="{top + 16}">{escape(title)}</text>')
        top += _HEAD
        ordered = sorted(((speed(row), library) for library, row in rows.items()), reverse=True)
        fastest = max(ordered[0][0], 1e-9) if ordered else 1.0
        for figure, library in ordered:
            if figure > 0:
                parts.append(_bar(library, figure, figure / fastest, top, whole))
                top += _STEP
        top += 8
    for line in wrap(note, int(whole / _CHARACTER)):
        top += _LINE
        parts.append(f'<text class="note" x="0" y="{top}">{escape(line)}</text>')
    height = top + 8
    size = f'width="{whole}" height="{height}" viewBox="0 0 {whole} {height}"'
    head = f'<svg xmlns="http://www.w3.org/2000/svg" {size} role="img"><title>{escape("; ".join(panels))}</title>'
    return "\n".join([head, f"<style>{_STYLE}</style>", *parts, "</svg>"]) + "\n"


def _bar(library: str, figure: float, share: float, top: int, whole: int) -> str:
    """Return the name, the bar and the value of one library."""
    width = max(1.0, share * (whole - _LABELS - _VALUES))
    own = ' class="own"' if library == "bbpe" else ""
    value = f"{figure:,.0f} MB/s" if figure >= 100 else f"{figure:.3g} MB/s"
    middle = top + _BAR - 3
    return (
        f'<text{own} x="{_LABELS - 8}" y="{middle}" text-anchor="end">{escape(library)}</text>'
        f'<rect{own} x="{_LABELS}" y="{top}" width="{width:.1f}" height="{_BAR}" rx="2"/>'
        f'<text{own} x="{_LABELS + width + 6:.1f}" y="{middle}">{value}</text>'
    )


def speed(row: dict[str, Any] | None) -> float:
    """Return MB/s, 0 where the library has no right answer."""
    return float(row["figure"]) if row is not None and row["costs"] and row["right"] else 0.0
