"""The nondeterministic automatons of a regex: a node is a position in the regex.

A lookaround of more than one character has an automaton of its own.  It reads the whole text before the search, from
the end to the beginning if it looks ahead, and marks the places where it is true.
"""

from __future__ import annotations

from functools import partial

from ..records import dataclass, field
from .character_sets import NOTHING, CharacterSet, complement
from .regex_tree import (
    NEWLINE,
    Alternation,
    Atomic,
    LastLineEnd,
    Look,
    LookAround,
    Node,
    OneCharacter,
    Repeat,
    SearchStart,
    Sequence,
    UnsupportedRegexError,
)

#: The most nodes of a regex, and different lookarounds of more than one character in it.
MOST_NODES, MOST_LOOKS = 20_000, 8
#: The first nodes: a match ends here; a match ended before the last line feed.
MATCH, WAITING = 0, 1
#: In place of a lookaround that a node waits for: the search begins there.
SEARCH_START = -2

#: A condition: a set (-1 - s for all characters that are not in set s), and `behind` and `edge` of a `Look`.
Condition = tuple[int, bool, bool]
_LAST_LINE_END = LookAround(
    Sequence((Repeat(OneCharacter(NEWLINE), 0, 1, ""), Look(NOTHING, behind=False, edge=True))), False, False
)


@dataclass
class Shared:
    """What the automatons of one regex share: sets of characters, and long lookarounds, by number.

    A lookaround comes after those in it.  `looks[k]` has the nodes of number k, the first one, and whether it reads the
    text from the end.
    """

    sets: list[CharacterSet] = field(default_factory=lambda: [NEWLINE])
    numbers: dict[CharacterSet, int] = field(default_factory=lambda: {NEWLINE: 0})
    #: The same by the identity of a set, as the hash of a large one takes long.
    identities: dict[int, int] = field(default_factory=dict)
    looks: list[tuple[Nodes, int, bool]] = field(default_factory=list)
    known: dict[tuple[Node, bool], int] = field(default_factory=dict)

    def number(self, chosen: CharacterSet) -> int:
        """Return the number of a set, which is new or known."""
        number = self.identities.get(id(chosen))
        if number is None:
            number = self.numbers.setdefault(chosen, len(self.sets))
            if number == len(self.sets):
                self.sets.append(chosen)
            if self.sets[number] is chosen:  # which is kept, so that no other set has its identity
                self.identities[id(chosen)] = number
        return number

    def look(self, node: LookAround) -> int:
        """Return the number of a lookaround, which is new or known, whether it is negative or not."""
        key = node.item, node.behind
        if key not in self.known:
            nodes = Nodes(self, marks=True)
            start = nodes.add(_searched(node.item, backwards=not node.behind, is_last=not node.behind), MATCH)
            if len(self.looks) == MOST_LOOKS:
                raise UnsupportedRegexError(f"more than {MOST_LOOKS} lookarounds of more than one character")
            self.known[key] = len(self.looks)
            self.looks.append((nodes, start, not node.behind))
        return self.known[key]


@dataclass
class Nodes:
    """Nodes by number.

    `chosen[n]`: the set of characters that node n reads, or -1.  `look[n]`: the condition that it waits for.
    `found[n]`: twice the number of the lookaround that it waits for, and one more if that is negative; or -1, or
    `SEARCH_START`.
    `group[n]`: 1 where an atomic group begins, -1 where it ends, 0 elsewhere.  `follow[n]`: the nodes after it, in the
    order in which they are tried.

    `marks`: they are those of a lookaround.  `looks_for_end`: `$` is a lookaround, too.
    """

    shared: Shared
    marks: bool = False
    looks_for_end: bool = False
    chosen: list[int] = field(default_factory=lambda: [-1, -1])
    look: list[Condition | None] = field(default_factory=lambda: [None, None])
    found: list[int] = field(default_factory=lambda: [-1, -1])
    ends_line: list[bool] = field(default_factory=lambda: [False, False])
    group: list[int] = field(default_factory=lambda: [0, 0])
    follow: list[tuple[int, ...]] = field(default_factory=lambda: [(), ()])

    def new(
        self,
        *follow: int,
        chosen: int = -1,
        look: Condition | None = None,
        found: int = -1,
        line: bool = False,
        group: int = 0,
    ) -> int:
        """Add a node; returns its number."""
        if len(self.follow) > MOST_NODES:
            raise UnsupportedRegexError(f"more than {MOST_NODES} positions in the regex")
        self.chosen.append(chosen)
        self.look.append(look)
        self.found.append(found)
        self.ends_line.append(line)
        self.group.append(group)
        self.follow.append(follow)
        return len(self.follow) - 1

    def add(self, node: Node, after: int, read: int | None = None) -> int:
        """Add the nodes of a tree that is followed by the node `after`; returns the first of them.

        `read`: the node that follows instead where the tree has read a character.
        """
        match node:
            case OneCharacter(chosen):
                return self.new(after if read is None else read, chosen=self.shared.number(chosen))
            case Look(chosen, behind, edge):
                return self.new(after, look=(self.shared.number(chosen), behind, edge))
            case LookAround():
                return self.new(after, found=2 * self.shared.look(node) + node.negative)
            case SearchStart():
                if self.marks:
                    raise UnsupportedRegexError(r"the escape \G in a lookaround")
                return self.new(after, found=SEARCH_START)
            case LastLineEnd():
                as_look = self.marks or self.looks_for_end
                return self.add(_LAST_LINE_END, after) if as_look else self.new(after, line=True)
            case Sequence(items):
                for number in reversed(range(len(items))):
                    rest = read
                    if read is not None and number:
                        read = self.add(items[number], read)
                    after = self.add(items[number], after, rest)
                return after
            case Alternation(items):
                return self.new(*(self.add(item, after, read) for item in items))
            case Atomic(item):
                return self.final(item, after, read)
            case Repeat():
                return self.repeat(node, after, read)

    def final(self, item: Node, after: int, read: int | None) -> int:
        """Add an item whose first match is final."""
        match item:
            case Repeat(OneCharacter(), _, _, ""):
                return self.possessive(item, after, read)
            case _ if least_length(item) == greatest_length(item) or (
                after == MATCH and read is None and least_length(item) > 0
            ):
                return self.add(item, after, read)  # a search that backtracks into it finds nothing else, or is over
        inner = self.add(item, self.new(after, group=-1), None if read is None else self.new(read, group=-1))
        return self.new(inner, group=1)

    def possessive(self, node: Repeat, after: int, read: int | None) -> int:
        """Add a repeated set of characters that is left only where no such character follows."""
        assert isinstance(node.item, OneCharacter)
        other = -1 - self.shared.number(node.item.chosen)  # the complement of the set

        def ends(limit: int) -> tuple[int, int]:
            return limit, self.new(limit, look=(other, False, True))

        return self.loop(node, ends(after), None if read is None else ends(read))

    def repeat(self, node: Repeat, after: int, read: int | None) -> int:
        """Add a repetition of any kind."""
        if node.kind == "+":
            return self.final(Repeat(node.item, node.least, node.most, ""), after, read)
        return self.loop(node, (after, after), None if read is None else (read, read))

    def loop(self, node: Repeat, after: tuple[int, int], read: tuple[int, int] | None) -> int:
        """Add a repetition; `after` and `read` are the nodes after its maximum, and those where it ends before that.

        A round beyond the minimum that reads no character is the last one.
        """
        item = node.item

        def one_round(empty: int, full: int) -> int:
            return self.add(item, full) if least_length(item) else self.add(item, empty, full)

        def choice(again: int, leave: int) -> tuple[int, int]:
            return (leave, again) if node.kind == "?" else (again, leave)

        limit, leave = read or after
        if node.most is None:
            start = before_last = self.new()
            self.follow[start] = choice(one_round(leave, start), leave)
        else:
            start = before_last = limit
            for _ in range(node.most - node.least):
                before_last, start = start, self.new(*choice(one_round(leave, start), leave))
        if read is None:
            for _ in range(node.least):
                start = self.add(item, start)
            return start
        limit, leave = after
        first = limit if node.most == node.least else self.new(*choice(one_round(leave, before_last), leave))
        for _ in range(node.least):
            first, start = one_round(first, start), self.add(item, start)
        return first


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


def prefers_empty(node: Node) -> bool:
    """Return whether a search may try an empty match of a node before a longer one."""
    match node:
        case Sequence(items):
            return least_length(node) == 0 and any(map(prefers_empty, items))
        case Alternation(items):
            empty = (at for at, item in enumerate(items) if least_length(item) == 0)
            is_first = any(greatest_length(item) > 0 for item in items[next(empty, len(items)) + 1 :])
            return is_first or any(map(prefers_empty, items))
        case Atomic(item):
            return prefers_empty(item)
        case Repeat(item, _, _, kind):
            is_first = kind == "?" and least_length(node) == 0 and greatest_length(node) > 0
            return is_first or prefers_empty(item)
    return False


def repeats_empty(node: Node) -> bool:
    """Return whether a part of a node that may prefer to be empty is repeated."""
    match node:
        case Sequence(items) | Alternation(items):
            return any(map(repeats_empty, items))
        case Atomic(item) | LookAround(item):
            return repeats_empty(item)
        case Repeat(item, _, most):
            return repeats_empty(item) or (most != 1 and least_length(item) == 0 and prefers_empty(item))
    return False


# -- lookarounds ----------------------------------------------------------------------------------------------


def _searched(node: Node, *, backwards: bool, is_last: bool) -> Node:
    """Return a tree of which any match counts, as it is read in one direction; backwards for a lookahead.

    `is_last`: nothing of the lookahead follows, so it is enough that an atomic group has a match.
    """
    inner = partial(_searched, backwards=backwards, is_last=False)
    match node:
        case Look(chosen, behind, edge):
            return Look(chosen, behind != backwards, edge)
        case Sequence(items):
            found = [inner(item) for item in items[:-1]]
            found += [_searched(item, backwards=backwards, is_last=is_last) for item in items[-1:]]
            return Sequence(tuple(reversed(found) if backwards else found))
        case Alternation(items):
            return Alternation(tuple(_searched(item, backwards=backwards, is_last=is_last) for item in items))
        case Atomic(item):
            return _final(item, backwards=backwards, is_last=is_last)
        case Repeat(item, least, most, "+"):
            return _final(Repeat(item, least, most, ""), backwards=backwards, is_last=is_last)
        case Repeat(item, least, most, kind):
            return Repeat(inner(item), least, most, kind)
    return node


def _final(node: Node, *, backwards: bool, is_last: bool) -> Node:
    """Return an item of a lookaround whose first match is final as one of which any match counts."""
    if is_last or least_length(node) == greatest_length(node):
        return _searched(node, backwards=backwards, is_last=is_last)
    if not backwards or not (isinstance(node, Repeat) and isinstance(node.item, OneCharacter) and not node.kind):
        raise UnsupportedRegexError("an atomic group or possessive repetition in a lookaround")
    # it ends at its maximum, or where no such character follows; conditions are those of the other direction
    other = Look(complement(node.item.chosen), behind=True, edge=True)
    if node.most is None:
        return Sequence((other, node))
    shorter = Sequence((other, Repeat(node.item, node.least, node.most - 1, "")))
    longest = Repeat(node.item, node.most, node.most, "")
    return Alternation((longest, shorter)) if node.most > node.least else longest
