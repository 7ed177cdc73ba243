"""The steps of a trace as data, and how they are drawn: as text, as SVG, and as a page of HTML."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from html import escape
from typing import Literal, TypeAlias

from ..records import dataclass
from ..text import columns_of, readable, shortened
from .tables import page

#: How tokens are made: merges, longest matches, the best path through a lattice, a look-up of the whole pretoken, or a
#: special token.
Kind: TypeAlias = Literal["merges", "longest", "lattice", "whole", "special"]
_VISIBLE = str.maketrans(" \n\r\t", "\u2423\u21b5\u240d\u21e5")
_GAP, _ROW, _CHAR = 10, 34, 9


@dataclass(frozen=True)
class Step:
    """A step: what was done, and the symbols after it.

    Attributes:
        place: The number of the first symbol that the step joins or takes.
        made: The bytes of the token that it makes.
        id: The id of the token, None if it has none.
        rank: The priority of the merge, 0 first; None for other models.
        symbols: All symbols after the step; of a longest match the tokens so far and the rest.

    """

    place: int
    made: bytes
    id: int | None
    rank: int | None
    symbols: tuple[bytes, ...]


@dataclass(frozen=True)
class Edge:
    """A token that fits into a pretoken: from and to which byte, its score, and whether the best path takes it."""

    start: int
    end: int
    id: int | None
    score: float
    is_best: bool


@dataclass(frozen=True)
class PretokenTrace:
    """How the tokens of one pretoken are made.

    Attributes:
        pretoken: Its bytes, after normalization.
        kind: "merges", "longest", "lattice", "whole" (a token as it is) or "special".
        start: The symbols before the first step.
        steps: The steps of merges and longest matches.
        edges: The lattice of a Unigram model.
        ids: The ids that it becomes.

    """

    pretoken: bytes
    kind: Kind
    start: tuple[bytes, ...]
    steps: tuple[Step, ...]
    edges: tuple[Edge, ...]
    ids: tuple[int, ...]


def visible(token: bytes) -> str:
    r"""Return a token with visible blanks and line ends.

    >>> visible(b" a\n")
    '␣a↵'
    """
    text = readable(token).translate(_VISIBLE)
    return "".join(char if char.isprintable() else f"\\u{ord(char):04x}" for char in text)


def lines(pretokens: Sequence[PretokenTrace], most: int) -> Iterator[str]:
    """Yield the steps of a trace as lines of at most so many columns."""
    for line in _lines(pretokens):
        yield shortened(line, most)


def _lines(pretokens: Sequence[PretokenTrace]) -> Iterator[str]:
    for each in pretokens:
        how = {"whole": "  is looked up as a whole", "special": "  is special"}.get(each.kind, "")
        yield shortened(each.pretoken, 80, quoted=True) + how
        if each.kind in ("merges", "longest"):
            yield from _steps(each)
        elif each.kind == "lattice":
            if each.edges:
                yield f" best{'bytes':>6}{'score':>10}  token"
            for edge in each.edges:
                mark = "*" if edge.is_best else " "
                token = shortened(visible(each.pretoken[edge.start : edge.end]))
                yield f"  {mark} {edge.start:>3}-{edge.end:<3} {edge.score:9.3f}  {token}"
        ids = " ".join(map(str, each.ids)) or "none"
        yield f"  ids {ids}"


def _steps(each: PretokenTrace) -> Iterator[str]:
    labels = [
        shortened(visible(step.made)) + (f" (rank {step.rank})" if step.rank is not None else "") for step in each.steps
    ]
    head = "merge" if each.kind == "merges" else "match"
    width = max(map(columns_of, (head, *labels))) + 2
    if labels:
        yield f" step  {head:<{width}} symbols"
    if each.start:
        yield f"  {'':>3}  {'':<{width}} {' '.join(map(visible, each.start))}"
    for number, (step, label) in enumerate(zip(each.steps, labels, strict=True), 1):
        room = " " * (width - columns_of(label))
        yield f"  {number:>3}  {label}{room} {' '.join(map(visible, step.symbols))}"


# -- pictures ----------------------------------------------------------------------------------------------

# the ink of the page around, and colours that stand out from white and from black: notebooks have themes of their own
_STYLE = (
    # in a notebook or on a page it would hold for the rest, too
    ".bbpe text{font:14px ui-monospace,monospace;fill:currentColor}.bbpe .s{font-size:11px;opacity:.8}"
    ".bbpe .b{fill:#2b8cc9;fill-opacity:.2;stroke:#2b8cc9}.bbpe .m{fill:#d08700;fill-opacity:.35;stroke:#b87700}"
    ".bbpe .e{stroke:#808080;fill:none}.bbpe .p{stroke:#d9622b;stroke-width:2.5;fill:none}"
)


def svg(pretokens: Sequence[PretokenTrace]) -> str:
    """Return the picture of a trace: its pretokens one below another."""
    parts, top, wide = [], 8, 80
    for each in pretokens:
        drawn, width, height = _lattice(each) if each.kind == "lattice" else _rows(each)
        parts.append(f'<g transform="translate(8,{top})">{drawn}</g>')
        top, wide = top + height + 18, max(wide, width + 16)
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" class="bbpe" viewBox="0 0 {wide} {top}" '
        f'width="{wide}" height="{top}" role="img">'
        f"<title>{escape(' '.join(visible(each.pretoken) for each in pretokens))}</title>"
        f"<style>{_STYLE}</style>{''.join(parts)}</svg>"
    )


def _rows(each: PretokenTrace) -> tuple[str, int, int]:
    """Draw the symbols before and after each step, a row each; what the step made is marked."""
    out, right = [], 0
    states = [(None, each.start, ""), *(
        (step.place, step.symbols, "" if step.rank is None else f"rank {step.rank}") for step in each.steps
    )]  # fmt: skip
    for row, (place, symbols, note) in enumerate(states):
        x, y = 0, row * _ROW
        for number, symbol in enumerate(symbols):
            label = visible(symbol)
            width = _CHAR * columns_of(label) + 12
            kind = "m" if number == place else "b"
            out.append(f'<rect class="{kind}" x="{x}" y="{y}" width="{width}" height="24" rx="4"/>')
            out.append(f'<text x="{x + 6}" y="{y + 17}">{escape(label)}</text>')
            x += width + _GAP
        out.append(f'<text class="s" x="{x + 4}" y="{y + 16}">{escape(note)}</text>')
        right = max(right, x + 4 + 7 * len(note))
    bottom = len(states) * _ROW
    ids = f"{'id' if len(each.ids) == 1 else 'ids'} {' '.join(map(str, each.ids)) or 'none'}"
    out.append(f'<text class="s" x="0" y="{bottom + 4}">{ids}</text>')
    return "".join(out), max(right, 7 * len(ids), 200), bottom + 8


def _lattice(each: PretokenTrace) -> tuple[str, int, int]:
    """Draw the bytes as nodes in a row, and each token as an arc with its score."""
    step = 64
    high = max((edge.end - edge.start for edge in each.edges), default=1)
    base, out = min(high, 8) * 26 + 30, []
    for edge in sorted(each.edges, key=lambda edge: edge.is_best):
        x1, x2 = edge.start * step + 10, edge.end * step + 10
        peak = base - min(edge.end - edge.start, 8) * 34
        kind = "p" if edge.is_best else "e"
        out.append(f'<path class="{kind}" d="M{x1},{base} Q{(x1 + x2) // 2},{peak} {x2},{base}"/>')
        label = f"{visible(each.pretoken[edge.start : edge.end])} {edge.score:.2f}"
        out.append(f'<text class="s" x="{(x1 + x2) // 2}" y="{(base + peak) // 2 - 3}" text-anchor="middle">'
                   f"{escape(label)}</text>")  # fmt: skip
    for at in range(len(each.pretoken) + 1):
        out.append(f'<circle class="b" cx="{at * step + 10}" cy="{base}" r="4"/>')
    for at in range(len(each.pretoken)):
        label = visible(each.pretoken[at : at + 1])
        x = at * step + 10 + step // 2
        out.append(f'<text x="{x}" y="{base + 22}" text-anchor="middle">{escape(label)}</text>')
    return "".join(out), len(each.pretoken) * step + 30, base + 30


def fragment(pretokens: Sequence[PretokenTrace]) -> str:
    """Return the picture as an element of HTML; one that is too wide scrolls, by the keyboard too."""
    return (
        '<div role="region" aria-label="steps of the tokenizer" tabindex="0" style="overflow-x: auto">'
        f"{svg(pretokens)}</div>"
    )


def html(pretokens: Sequence[PretokenTrace]) -> str:
    """Return a page with the picture and the steps of a trace."""
    text = escape("\n".join(_lines(pretokens)))
    body = f"<main><h1>Trace</h1>{fragment(pretokens)}<h2>Steps</h2><pre tabindex='0'>{text}</pre></main>"
    return page("Trace", body, style="pre { overflow-x: auto }")
