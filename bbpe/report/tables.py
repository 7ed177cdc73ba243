"""Tables of figures: as text for a terminal, as Markdown, and as HTML."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from html import escape
from typing import Any

from ..records import dataclass
from ..text import columns_of, shortened

#: What a cell without a value shows.
NOTHING = "-"
#: The most columns of a name, and the most that it has in the narrowest terminal.
_LONGEST, _SHORTEST = 40, 6


@dataclass(frozen=True)
class Table:
    """A table of strings; `left` is the number of columns at the left that have names, not figures.

    >>> print(Table(("name", "tokens"), (("a", "1,024"), ("bc", "7")), 1).text())
    name  tokens
    a      1,024
    bc         7
    """

    header: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    left: int = 1

    def text(self, most: int | None = None) -> str:
        """Return the table with columns of equal width.

        Names are shortened to 40 columns.  With `most`, lines have at most so many: figures that have no place go to
        another table below, with the names again.
        """
        figures = [max(columns_of(row[at]) for row in (self.header, *self.rows)) for at in range(len(self.header))]
        longest = _LONGEST
        if most is not None and self.left:
            room = most - max([0, *(width + 2 for width in figures[self.left :])]) - 2 * (self.left - 1)
            longest = max(min(longest, room // self.left), _SHORTEST)
        rows = [
            (*(shortened(cell, longest) for cell in row[: self.left]), *row[self.left :])
            for row in (self.header, *self.rows)
        ]
        widths = [max(columns_of(row[at]) for row in rows) for at in range(len(self.header))]
        blocks = [list(range(self.left))]
        for at in range(self.left, len(widths)):
            is_full = most is not None and sum(widths[each] + 2 for each in blocks[-1]) + widths[at] > most
            if is_full and len(blocks[-1]) > self.left:
                blocks.append(list(range(self.left)))
            blocks[-1].append(at)
        return "\n\n".join("\n".join(self._line(row, widths, block) for row in rows) for block in blocks)

    def _line(self, row: Sequence[str], widths: Sequence[int], block: Sequence[int]) -> str:
        cells = []
        for at in block:
            room = " " * (widths[at] - columns_of(row[at]))
            cells.append(row[at] + room if at < self.left else room + row[at])
        return "  ".join(cells).rstrip()

    def markdown(self) -> str:
        """Return the table in Markdown."""
        rule = ["---" if column < self.left else "---:" for column in range(len(self.header))]
        rows = (self.header, tuple(rule), *self.rows)
        return "\n".join(f"| {' | '.join(cell.replace('|', chr(92) + '|') for cell in row)} |" for row in rows)

    def html(self) -> str:
        """Return the table as an element of HTML; one that is too wide scrolls, by the keyboard too."""
        head = "".join(_cell(cell, "col", number < self.left) for number, cell in enumerate(self.header))
        rows = (
            "".join(_cell(cell, "" if number else "row", number < self.left) for number, cell in enumerate(row))
            for row in self.rows
        )
        body = "".join(f"<tr>{row}</tr>" for row in rows)
        label = escape(", ".join(filter(None, self.header[: self.left])))
        return (
            f'<div role="region" aria-label="table of {label}" tabindex="0" style="overflow-x: auto">'
            f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table></div>"
        )


def _cell(text: str, scope: str, is_name: bool) -> str:
    """Return a cell: a header of its column or row if it has a scope; an empty one would announce nothing.

    Names are at the left and may have several lines; figures are at the right.
    """
    style = ' style="text-align: left; white-space: normal"' if is_name else ""
    tag, attribute = ("th", f' scope="{scope}"') if scope and text else ("td", "")
    return f"<{tag}{attribute}{style}>{escape(text)}</{tag}>"


def number(value: float | None, digits: int = 3) -> str:
    """Return a figure: whole numbers with commas, others with `digits` digits after the point."""
    if value is None:
        return NOTHING
    return f"{value:,}" if isinstance(value, int) else f"{value:,.{digits}f}"


def share(value: float | None) -> str:
    """Return a share in per cent."""
    return NOTHING if value is None else f"{value:.1%}"


def of_rows(
    rows: Sequence[Any], columns: Sequence[tuple[str, Callable[[Any], str]]], *, left: int
) -> Table:
    """Return the table of some columns of rows, without columns that have nothing in any row."""
    cells = [[show(row) for row in rows] for _, show in columns]
    kept = [
        number
        for number, column in enumerate(cells)
        if number < left or any(cell not in (NOTHING, "", "0", "0.0%") for cell in column)
    ]
    header = tuple(columns[number][0] for number in kept)
    return Table(header, tuple(zip(*(cells[number] for number in kept), strict=True)), left)
