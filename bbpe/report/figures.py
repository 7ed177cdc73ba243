"""Figures of pages: bars beside their names and lines over a logarithmic axis, as SVG within HTML.

Names and values of bars are text of the page, so that a phone shows them as large as the rest; only the bars stretch.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from html import escape

from ..records import dataclass
from .plots import COLOURS, short_number

#: The style of pages with figures.
STYLE = """
figure { margin: 1rem 0 1.5rem; max-width: 44rem } figcaption { font-weight: 600; margin-bottom: .3rem }
.bars { display: grid; grid-template-columns: minmax(4rem, max-content) 1fr max-content; gap: .2rem .6rem;
  align-items: center; margin: .2rem 0 .8rem } .bars span { overflow-wrap: anywhere; max-width: min(14rem, 38vw) }
.bars svg { width: 100%; height: .95rem; display: block } .bars .best { font-weight: 700 }
.bars b { font-weight: inherit; font-variant-numeric: tabular-nums; text-align: right }
.bars .group { max-width: none; grid-column: 1 / -1; color: var(--soft); margin-top: .5rem; overflow-wrap: anywhere }
.curve { width: 100%; height: auto; display: block } .curve text { fill: var(--ink); font: 12px system-ui, sans-serif }
.legend { display: flex; flex-wrap: wrap; gap: .2rem 1.1rem; margin-top: .3rem }
.legend span { display: inline-flex; align-items: center; gap: .4rem; overflow-wrap: anywhere }
.legend svg { width: 1.6rem; height: .8rem; flex: none }
dl { max-width: 60rem } dt { font-weight: 600; margin-top: .5rem } dd { margin: 0 } summary { cursor: pointer }
"""
#: The size of a picture of lines, and the room for the names of its axes.
_WIDTH, _HEIGHT, _LEFT, _BELOW, _RIGHT = 440, 280, 46, 44, 12


@dataclass(frozen=True)
class Bar:
    """A bar: its name, its length, what is written beside it, its interval, and whether it is the best one."""

    name: str
    value: float | None
    shown: str
    interval: tuple[float, float] | None = None
    is_best: bool = False


def bars(caption: str, groups: Iterable[tuple[str, Sequence[Bar]]]) -> str:
    """Return a figure of horizontal bars in groups; all bars have one scale, and the best of a group are strong.

    >>> bars("tokens", [("en", [Bar("a", 2.0, "2")])]).count("<rect")
    1
    """
    groups = list(groups)
    ends = [end for _, each in groups for bar in each for end in (bar.value or 0.0, *(bar.interval or ()))]
    longest = max(ends, default=0.0) or 1.0
    rows = []
    for name, each in groups:
        rows.append(f'<span class="group">{escape(name)}</span>' if name else "")
        rows += [_bar(bar, longest) for bar in each]
    return f'<figure><figcaption>{escape(caption)}</figcaption><div class="bars">{"".join(rows)}</div></figure>'


def _bar(bar: Bar, longest: float) -> str:
    width = 100 * (bar.value or 0.0) / longest
    colour = "var(--accent)" if bar.is_best else "var(--bar)"
    drawn = f'<rect width="{width:.2f}" height="10" y="1" fill="{colour}"/>'
    if bar.interval is not None:
        low, high = (100 * end / longest for end in bar.interval)
        drawn += f'<path d="M{low:.2f} 6H{high:.2f}" stroke="var(--ink)" stroke-width="2"/>'
    strong = ' class="best"' if bar.is_best else ""
    svg = f'<svg viewBox="0 0 100 12" preserveAspectRatio="none" aria-hidden="true">{drawn}</svg>'
    return f"<span{strong}>{escape(bar.name)}</span>{svg}<b{strong}>{escape(bar.shown)}</b>"


def lines(
    caption: str, series: Sequence[tuple[str, Sequence[float], Sequence[float]]], *, across: str, up: str,
    knees: Sequence[tuple[float, float]] = (),
) -> str:  # fmt: skip
    """Return a figure of lines, each `(name, x, y)`, over a logarithmic axis, with rings around `knees`."""
    every = sorted({value for _, x, _ in series for value in x})
    heights = [value for _, _, y in series for value in y]
    if not every:
        return ""
    first = max(every[0], 1)  # nothing has no logarithm
    wide = math.log2(max(every[-1], 1) / first) or 1.0
    low, high = _scale(min(heights), max(heights))

    def place(x: float, y: float) -> tuple[float, float]:
        right = _LEFT + 8 + (_WIDTH - _LEFT - _RIGHT - 16) * math.log2(max(x, 1) / first) / wide
        return right, 10 + (_HEIGHT - _BELOW - 10) * (high - y) / (high - low)

    base = _HEIGHT - _BELOW
    drawn = [f'<path d="M{_LEFT} 10V{base}H{_WIDTH - _RIGHT}" fill="none" stroke="var(--soft)"/>']
    for value in _round_values(low, high):
        _, down = place(every[0], value)
        drawn.append(f'<path d="M{_LEFT} {down:.1f}H{_WIDTH - _RIGHT}" stroke="var(--line)" stroke-width=".6"/>')
        drawn.append(f'<text x="{_LEFT - 6}" y="{down + 4:.1f}" text-anchor="end">{value:.3g}</text>')
    drawn += _ticks(every, lambda value: place(value, low)[0], base)
    drawn.append(f'<text x="{(_LEFT + _WIDTH) / 2:.0f}" y="{_HEIGHT - 6}" text-anchor="middle">{escape(across)}</text>')
    legend = []
    for number, (name, x, y) in enumerate(series):
        colour = colour_of(number)
        points = [place(*point) for point in zip(x, y, strict=True)]
        path = " ".join(f"{right:.1f},{down:.1f}" for right, down in points)
        dash = "" if number < len(COLOURS) else ' stroke-dasharray="5 3"'
        drawn.append(f'<polyline points="{path}" fill="none" stroke="{colour}" stroke-width="2"{dash}/>')
        drawn += [f'<circle cx="{right:.1f}" cy="{down:.1f}" r="3" fill="{colour}"/>' for right, down in points]
        mark = f'<path d="M0 5H26" stroke="{colour}" stroke-width="3"{dash}/>'
        legend.append(f'<span><svg viewBox="0 0 26 10" aria-hidden="true">{mark}</svg>{escape(name)}</span>')
    for right, down in (place(*knee) for knee in knees):
        drawn.append(f'<circle cx="{right:.1f}" cy="{down:.1f}" r="8" fill="none" stroke="var(--ink)"/>')
    label = escape(f"{up} by {across}: {', '.join(name for name, _, _ in series)}")
    return (
        f'<figure><figcaption>{escape(caption)}</figcaption><svg class="curve" viewBox="0 0 {_WIDTH} {_HEIGHT}" '
        f'role="img" aria-label="{label}">{"".join(drawn)}</svg><div class="legend">{"".join(legend)}</div></figure>'
    )


def _round_values(low: float, high: float) -> list[float]:
    """Return round numbers from the one end of an axis to the other, at most eight of them.

    >>> [_round_values(*ends) for ends in ((1.91, 2.62), (0.845, 4.87))]
    [[2.0, 2.2, 2.4, 2.6], [1.0, 2.0, 3.0, 4.0]]
    """
    power = 10 ** math.floor(math.log10((high - low) / 7))
    step = next(each * power for each in (1, 2, 5, 10) if (high - low) / (each * power) <= 7)
    return [round(number * step, 12) for number in range(math.ceil(low / step), math.floor(high / step) + 1)]


def _ticks(every: Sequence[float], right: Callable[[float], float], base: int) -> Iterator[str]:
    """Yield the sizes below the axis, but those for which a size to the left leaves no room."""
    last = -math.inf
    for value in every:
        text, x = short_number(value), right(value)
        if x - last >= 8 * len(text):
            yield f'<path d="M{x:.1f} {base}v4" stroke="var(--soft)"/>'
            yield f'<text x="{x:.1f}" y="{base + 17}" text-anchor="middle">{escape(text)}</text>'
            last = x


def colour_of(number: int) -> str:
    """Return the colour of a line; black is the colour of text, which a dark page changes."""
    colour = COLOURS[number % len(COLOURS)]
    return "var(--ink)" if colour == "#000000" else colour


def _scale(low: float, high: float) -> tuple[float, float]:
    """Return the ends of an axis, a little beyond the values."""
    room = (high - low) * 0.08 or max(abs(high), 1.0) * 0.1
    return max(low - room, 0.0), high + room


def definitions(explained: Iterable[str]) -> str:
    """Return sentences such as `parity: the tokens over ...` as a list of terms and definitions."""
    parts = [sentence.partition(": ") for sentence in explained]
    return f"<dl>{''.join(f'<dt>{escape(term)}</dt><dd>{escape(text)}.</dd>' for term, _, text in parts)}</dl>"
