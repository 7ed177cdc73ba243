"""The nondeterministic automaton of a regex: a node is a position in the regex."""

from __future__ import annotations

from ..records import dataclass, field
from .character_sets import CharacterSet
from .regex_syntax import (
    NEWLINE,
    Alternation,
    Atomic,
    LastLineEnd,
    Look,
    Node,
    OneCharacter,
    Repeat,
    Sequence,
    UnsupportedRegexError,
)

#: The most nodes of a regex.
MOST_NODES = 20_000
#: The first nodes: a match ends here; a match ended before the last line feed.
MATCH, WAITING = 0, 1

#: A condition: a set (-1 - s for all characters that are not in set s), and `behind` and `edge` of a `Look`.
Condition = tuple[int, bool, bool]


@dataclass
class Nodes:
    """Nodes by number: `sets` are the sets of characters and conditions that they refer to.

    `chosen[n]`: the set of characters that node n reads, or -1.  `look[n]`: the condition that it waits for.
    `follow[n]`: the nodes after it, in the order in which they are tried.
    """

    sets: list[CharacterSet] = field(default_factory=lambda: [NEWLINE])
    chosen: list[int] = field(default_factory=lambda: [-1, -1])
    look: list[Condition | None] = field(default_factory=lambda: [None, None])
    ends_line: list[bool] = field(default_factory=lambda: [False, False])
    follow: list[tuple[int, ...]] = field(default_factory=lambda: [(), ()])
    numbers: dict[CharacterSet, int] = field(default_factory=lambda: {NEWLINE: 0})

    def number(self, chosen: CharacterSet) -> int:
        """Return the number of a set, which is new or known."""
        number = self.numbers.setdefault(chosen, len(self.sets))
        if number == len(self.sets):
            self.sets.append(chosen)
        return number

    def new(self, *follow: int, chosen: int = -1, look: Condition | None = None, line: bool = False) -> int:
        """Add a node; returns its number."""
        if len(self.follow) > MOST_NODES:
            raise UnsupportedRegexError(f"more than {MOST_NODES} positions in the regex")
        self.chosen.append(chosen)
        self.look.append(look)
        self.ends_line.append(line)
        self.follow.append(follow)
        return len(self.follow) - 1

    def add(self, node: Node, after: int) -> int:
        """Add the nodes of a tree that is followed by the node `after`; returns the first of them."""
        match node:
            case OneCharacter(chosen):
                return self.new(after, chosen=self.number(chosen))
            case Look(chosen, behind, edge):
                return self.new(after, look=(self.number(chosen), behind, edge))
            case LastLineEnd():
                return self.new(after, line=True)
            case Sequence(items):
                for item in reversed(items):
                    after = self.add(item, after)
                return after
            case Alternation(items):
                return self.new(*(self.add(item, after) for item in items))
            case Atomic(item):
                return self.final(item, after)
            case Repeat():
                return self.repeat(node, after)

    def final(self, item: Node, after: int) -> int:
        """Add an item whose first match is final."""
        match item:
            case Repeat(OneCharacter(), _, _, ""):
                return self.possessive(item, after)
            case _ if least_length(item) == greatest_length(item) or (after == MATCH and least_length(item) > 0):
                return self.add(item, after)  # a search that backtracks into it finds nothing else, or is over
        raise UnsupportedRegexError("an atomic group or possessive repetition of more than one character")

    def possessive(self, node: Repeat, after: int) -> int:
        """Add a repeated set of characters that is left only where no such character follows."""
        assert isinstance(node.item, OneCharacter)
        other = -1 - self.number(node.item.chosen)  # the complement of the set
        return self.loop(node, after, self.new(after, look=(other, False, True)))

    def repeat(self, node: Repeat, after: int) -> int:
        """Add a repetition of any kind."""
        if node.kind == "+":
            return self.final(Repeat(node.item, node.least, node.most, ""), after)
        if least_length(node.item) == 0 and (node.most is None or node.most > 1):
            raise UnsupportedRegexError("a repetition of what can be empty")
        return self.loop(node, after, after)

    def loop(self, node: Repeat, after: int, leave: int) -> int:
        """Add a repetition; `leave`: the node after it when it ends before its maximum."""
        is_lazy = node.kind == "?"
        if node.most is None:
            start = self.new()
            again = self.add(node.item, start)
            self.follow[start] = (leave, again) if is_lazy else (again, leave)
        else:
            start = after
            for _ in range(node.most - node.least):
                again = self.add(node.item, start)
                start = self.new(leave, again) if is_lazy else self.new(again, leave)
        for _ in range(node.least):
            start = self.add(node.item, start)
        return start


def least_length(node: Node) -> int:
    """Return the least number of characters of a match."""
    match node:
        case OneCharacter():
            return 1
        case Sequence(items):
            return sum(map(least_length, items))
        case Alternation(items):
            return min(map(least_length, items))
        case Atomic(item):
            return least_length(item)
        case Repeat(item, least):
            return least * least_length(item)
    return 0


def greatest_length(node: Node) -> float:
    """Return the greatest number of characters of a match."""
    match node:
        case OneCharacter():
            return 1
        case Sequence(items):
            return sum(map(greatest_length, items))
        case Alternation(items):
            return max(map(greatest_length, items))
        case Atomic(item):
            return greatest_length(item)
        case Repeat(item, _, most):
            each = greatest_length(item)
            return 0 if each == 0 else float("inf") if most is None else most * each
    return 0
