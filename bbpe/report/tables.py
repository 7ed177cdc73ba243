"""Tables of figures, as text for a terminal, as Markdown and as HTML, and the page of HTML that has them.

A page needs no other file, and its policy forbids any request.
"""

from __future__ import annotations

import io
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from html import escape
from typing import Any

from ..lazy import safe_import
from ..records import dataclass
from ..text import aligned, columns_of, shortened

#: What a cell without a value shows.
NOTHING = "-"
_LATEX = {char: f"\\{char}" for char in "&%$#_{}"} | {
    "~": r"\textasciitilde{}", "^": r"\textasciicircum{}", "\\": r"\textbackslash{}", "±": r"$\pm$", "<": r"$<$",
    ">": r"$>$", "|": r"$|$",
}  # fmt: skip
#: The most columns of a name, and the most that it has in the narrowest terminal.
_LONGEST, _SHORTEST = 40, 6


@dataclass(frozen=True)
class Table:
    """A table of strings; `left` is the number of columns at the left that have names, not figures.

    `best` has the row and the column of each figure that is marked as the best. With `across` the headers of figures
    are names, which a narrow terminal shows shortened.

    >>> print(Table(("name", "tokens"), (("a", "1,024"), ("bc", "7")), 1).text())
    name  tokens
    a      1,024
    bc         7
    """

    header: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    left: int = 1
    best: frozenset[tuple[int, int]] = frozenset()
    across: bool = False

    def text(self, most: int | None = None) -> str:
        """Return the table with columns of equal width; the best figures end with an asterisk.

        Names are shortened to 40 columns.  With `most`, lines have at most so many: figures that have no place go to
        another table below, with the names again.
        """
        marked = [self.header, *(self._marked(row, number) for number, row in enumerate(self.rows))]
        figures = [max(columns_of(row[at]) for row in marked) for at in range(len(self.header))]
        longest = _LONGEST
        if most is not None and self.left:
            room = most - max([0, *(width + 2 for width in figures[self.left :])]) - 2 * (self.left - 1)
            longest = max(min(longest, room // self.left), _SHORTEST)
        rows = [(*(shortened(cell, longest) for cell in row[: self.left]), *row[self.left :]) for row in marked]
        if most is not None and self.across:
            rows[0] = self._header_for(rows, most)
        rows[0] = self._marked(rows[0], -1)
        return aligned(rows, self.left, most)

    def _marked(self, row: tuple[str, ...], number: int) -> tuple[str, ...]:
        """Return a row with an asterisk after each of its best figures, and a blank after the others beside them."""
        marked = {column for _, column in self.best}
        return tuple(
            cell if at not in marked else f"{cell}*" if (number, at) in self.best else f"{cell} "
            for at, cell in enumerate(row)
        )

    def _header_for(self, rows: Sequence[tuple[str, ...]], most: int) -> tuple[str, ...]:
        """Return the header with names of columns that are shortened as far as the figures below them allow.

        Names that would become equal stay whole.
        """
        names, count = rows[0][self.left :], len(rows[0]) - self.left
        used = sum(max(columns_of(row[at]) for row in rows) + 2 for at in range(self.left))
        room = (most - used) // max(count, 1) - 2
        figures = [max([columns_of(row[at]) for row in rows[1:]], default=0) for at in range(self.left, len(rows[0]))]
        short = [shortened(name, max(width, room, _SHORTEST) - 1) for name, width in zip(names, figures, strict=True)]
        return (*rows[0][: self.left], *(short if len(set(short)) == len(set(names)) else names))

    def markdown(self) -> str:
        """Return the table in Markdown."""
        rule = ["---" if column < self.left else "---:" for column in range(len(self.header))]
        rows = (self.header, tuple(rule), *self._emphasized("**", "**", lambda cell: cell))
        return "\n".join(f"| {' | '.join(cell.replace('|', chr(92) + '|') for cell in row)} |" for row in rows)

    def latex(self, notes: Iterable[str] = ()) -> str:
        """Return the table for LaTeX with the package booktabs, below notes as comments; the best figures are bold."""
        lines = [_latex_line(map(_latex, self.header)), "\\midrule"]
        lines += map(_latex_line, self._emphasized("\\textbf{", "}", _latex))
        form = "l" * self.left + "r" * (len(self.header) - self.left)
        return "\n".join([
            *(f"% {note}" for note in notes), "% needs \\usepackage{booktabs}", f"\\begin{{tabular}}{{{form}}}",
            "\\toprule", *lines, "\\bottomrule", "\\end{tabular}",
        ])  # fmt: skip

    def _emphasized(self, before: str, after: str, written: Callable[[str], str]) -> Iterator[tuple[str, ...]]:
        for number, row in enumerate(self.rows):
            yield tuple(
                before + written(cell) + after if (number, at) in self.best else written(cell)
                for at, cell in enumerate(row)
            )

    def html(self) -> str:
        """Return the table as an element of HTML; one that is too wide scrolls, by the keyboard too."""
        head = "".join(
            _cell(cell, "col", number < self.left, wraps=self.across) for number, cell in enumerate(self.header)
        )
        rows = (
            "".join(
                _cell(cell, "" if column else "row", column < self.left, (number, column) in self.best)
                for column, cell in enumerate(row)
            )
            for number, row in enumerate(self.rows)
        )
        body = "".join(f"<tr>{row}</tr>" for row in rows)
        label = escape(", ".join(filter(None, self.header[: self.left])))
        return (
            f'<div role="region" aria-label="table of {label}" tabindex="0" style="overflow-x: auto">'
            f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table></div>"
        )


def _latex(text: str) -> str:
    """Return a text with the characters escaped that LaTeX would read as commands."""
    return "".join(_LATEX.get(char, char) for char in text)


def _latex_line(cells: Iterable[str]) -> str:
    return " & ".join(cells) + r" \\"


def _cell(text: str, scope: str, is_name: bool, is_best: bool = False, *, wraps: bool = False) -> str:
    """Return a cell: a header of its column or row if it has a scope; an empty one would announce nothing.

    Names are at the left and may have several lines; figures are at the right, and the best ones are bold. With `wraps`
    a header of figures may have several lines too.
    """
    style = ' style="text-align: left; white-space: normal"' if is_name else ""
    if wraps and not is_name:
        style = ' style="white-space: normal; overflow-wrap: anywhere"'
    tag, attribute = ("th", f' scope="{scope}"') if scope and text else ("td", "")
    shown = f"<strong>{escape(text)}</strong>" if is_best else escape(text)
    return f"<{tag}{attribute}{style}>{shown}</{tag}>"


def number(value: float | None, digits: int = 3) -> str:
    """Return a figure: whole numbers with commas, others with `digits` digits after the point."""
    if value is None:
        return NOTHING
    return f"{value:,}" if isinstance(value, int) else f"{value:,.{digits}f}"


def share(value: float | None) -> str:
    """Return a share in per cent."""
    return NOTHING if value is None else f"{value:.1%}"


def csv_of(records: Sequence[Mapping[str, Any]]) -> str:
    r"""Return records of equal keys as CSV; None is an empty cell.

    >>> csv_of([{"name": "a,b", "tokens": 7}, {"name": "c", "tokens": None}])
    'name,tokens\n"a,b",7\nc,\n'
    """
    safe_import("csv")
    import csv

    file = io.StringIO()
    writer = csv.DictWriter(file, list(records[0]) if records else [], lineterminator="\n")
    writer.writeheader()
    writer.writerows(records)
    return file.getvalue()


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


#: Colours of Okabe and Ito's palette, which colour-blind readers can tell apart, mixed with the background.
STYLE = """
:root { color-scheme: light dark; --back: #fff; --ink: #1b1b1b; --soft: #595959; --line: #c9c9c9; --panel: #f5f5f5;
  --accent: #00557f; --c0: #cfe8f7; --c1: #fbe3b5; --c2: #cdebdf; --c3: #f6d5e6; --c4: #e4e2f6; --c5: #f3efb0;
  --special: #3d2b52; --special-ink: #fff; --part: #b00020; --bar: #9bbdd4 }
@media (prefers-color-scheme: dark) { :root { --back: #16181c; --ink: #ececec; --soft: #a8adb5; --line: #444a53;
  --panel: #20242a; --accent: #8ecdf5; --c0: #14425f; --c1: #5a4210; --c2: #0e4d3a; --c3: #5c2544; --c4: #3a3670;
  --c5: #4b4709; --special: #d9c8f2; --special-ink: #1c1029; --part: #ff8a95; --bar: #3e6a87 } }
* { box-sizing: border-box }
body { margin: 0 auto; padding: 1rem 1.25rem 3rem; max-width: 100rem; background: var(--back); color: var(--ink);
  font: 16px/1.5 system-ui, sans-serif }
h1 { font-size: 1.35rem; margin: .2rem 0 .8rem } h2 { font-size: 1.05rem; margin: 1rem 0 .3rem }
a { color: var(--accent) } p { max-width: 60rem }
table { border-collapse: collapse; font-variant-numeric: tabular-nums; font-size: .9rem }
th, td { padding: .25rem .6rem; border-bottom: 1px solid var(--line); text-align: right; white-space: nowrap }
th { font-weight: 600 } thead th { color: var(--soft) }
:focus-visible { outline: 3px solid var(--accent); outline-offset: 1px }
"""


def page(title: str, body: str, *, style: str = "", script: str = "", nonce: str = "") -> str:
    """Return a whole page; `body` is HTML that is already escaped, with a heading and a `main`.

    The policy in the head lets the page make no request; a script runs only with the `nonce`.
    """
    scripts = f"script-src 'nonce-{nonce}'" if script else "script-src 'none'"
    policy = f"default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'; {scripts}"
    code = f'<script nonce="{nonce}">{script}</script>' if script else ""
    return (
        '<!DOCTYPE html>\n<html lang="en"><head><meta charset="utf-8">'
        f'<meta http-equiv="Content-Security-Policy" content="{policy}">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        f"<title>{escape(title)}</title><style>{STYLE}{style}</style></head><body>{body}{code}</body></html>\n"
    )
