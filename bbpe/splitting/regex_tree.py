"""Trees of regexes: their nodes are those that an automaton can follow."""

from __future__ import annotations

from typing import TypeAlias

from ..records import dataclass
from .character_sets import NOTHING, CharacterSet, combined, complement, single, union

NEWLINE: CharacterSet = single(10)


class UnsupportedRegexError(Exception):
    """No automaton is built for a regex; the message is the reason."""


@dataclass(frozen=True)
class OneCharacter:
    """One character of a set."""

    chosen: CharacterSet


@dataclass(frozen=True)
class Sequence:
    """All items, in order."""

    items: tuple[Node, ...]


@dataclass(frozen=True)
class Alternation:
    """The first of the items that leads to a match."""

    items: tuple[Node, ...]


@dataclass(frozen=True)
class Repeat:
    """An item `least` to `most` times (`None`: no limit); `kind` is "" for greedy, "?" for lazy, "+" for possessive."""

    item: Node
    least: int
    most: int | None
    kind: str


@dataclass(frozen=True)
class Atomic:
    """An item whose first match is final."""

    item: Node


@dataclass(frozen=True)
class Look:
    """A condition on the next character, or with `behind` on the one before: it is in a set.

    `edge`: whether the condition is true at the end, or at the beginning, of the text.
    """

    chosen: CharacterSet
    behind: bool
    edge: bool


@dataclass(frozen=True)
class LastLineEnd:
    """The condition that the text ends here, or after a line feed."""


@dataclass(frozen=True)
class LookAround:
    """A condition on any text that follows, or with `behind` precedes: some beginning, or end, of it matches an item.

    `negative`: no beginning, or end, does.
    """

    item: Node
    behind: bool
    negative: bool


@dataclass(frozen=True)
class SearchStart:
    """The condition that the search begins here, where the last match ends."""


Node: TypeAlias = (
    OneCharacter | Sequence | Alternation | Repeat | Atomic | Look | LastLineEnd | LookAround | SearchStart
)


def look_around(node: Node, *, behind: bool, negative: bool) -> Node:
    """Return a lookahead or lookbehind: as a condition on one character, if it is one."""
    items = node.items if isinstance(node, Alternation) else (node,)
    sets: list[CharacterSet] = []
    edge = ends_line = False
    for item in items:
        if isinstance(item, OneCharacter):
            sets.append(item.chosen)
        elif isinstance(item, Look) and item.behind == behind:
            sets.append(item.chosen)
            edge |= item.edge
        elif isinstance(item, LastLineEnd) and not behind:
            ends_line = True
        else:
            return LookAround(node, behind, negative)
    chosen = union(sets) if sets else NOTHING
    if ends_line and combined((chosen, NEWLINE), lambda inside: inside == 3):
        edge, ends_line = True, False  # the place before the last line feed is among those before a line feed
    if ends_line and negative:
        return LookAround(node, behind, negative)
    if negative:
        return Look(complement(chosen), behind, not edge)
    look = Look(chosen, behind, edge)
    return Alternation((look, LastLineEnd())) if ends_line else look
