r"""Build the deterministic automaton of a regex, which finds the matches that the `regex` package finds.

A position in the regex is a node of a nondeterministic automaton, and a state of the deterministic one is the list of
nodes that can be reached, in the order in which a backtracking search tries them (Cox, 2010, calls them threads).  When
a node that ends a match is in the list, the nodes after it are dropped, because the search prefers that match.  A state
is resolved only when the next character, or the end of the text, is known, so conditions on that character are free.
`$` may also be true before a line feed at the end of the text; its threads wait for one more character.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache

from ..core.automaton import Automaton as CompiledAutomaton
from ..records import dataclass, field
from .automaton_tables import Tables, TooManyClassesError, TransitionRows, pack
from .character_sets import CharacterSet, Partition, partition
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
    parse_regex,
)
from .regexes import HostRegex, compiled

#: The most nodes of a regex, states and transitions of its automaton, and steps for building it (about 0.5 s).
MOST_NODES, MOST_STATES, MOST_TRANSITIONS, MOST_STEPS = 20_000, 4096, 1_000_000, 1_000_000
#: A byte that is not UTF-8 is a character; it is in the sets in which `regex` has this surrogate.
_INVALID = 0xDC80

# a thread is three times its node, plus its duty
_FREE, _BEFORE_LAST, _AT_END = 0, 1, 2  # none; the next character is a line feed that ends the text; the text ends
_MATCH, _WAITING = 0, 1  # the first nodes: a match ends here; a match ended before the last line feed


@dataclass(frozen=True)
class RegexTables:
    """The tables of a regex, or the reason why it has none."""

    tables: Tables | None
    reason: str = ""


@lru_cache(maxsize=256)
def automaton_of(source: str, *, of_alphabet: bool = False) -> RegexTables:
    r"""Return the automaton of a regex that `Regex` accepts, from a cache.

    `of_alphabet`: the texts are bytes in GPT-2's byte alphabet, and the automaton reads the bytes.

    >>> automaton_of(r"\s+(?!\S)|\s+").tables is not None
    True
    >>> automaton_of(r"(?<=ab)c").reason
    'a lookaround of more than one character'
    """
    try:
        return RegexTables(tables_of(parse_regex(source), of_alphabet=of_alphabet))
    except UnsupportedRegexError as error:
        return RegexTables(None, str(error))
    except TooManyClassesError:
        return RegexTables(None, "too many classes of characters")
    except RecursionError:
        return RegexTables(None, "deep nesting")


def matcher_of(source: str, *, of_alphabet: bool = False) -> CompiledAutomaton:
    """Return what finds the matches of a regex in C, by its automaton or, where it has none, by the `regex` package."""
    tables = automaton_of(source, of_alphabet=of_alphabet).tables
    return CompiledAutomaton(HostRegex(source, of_alphabet) if tables is None else tables)


def may_begin_empty(source: str) -> bool:
    r"""Return whether a regex may match the empty string where a text begins that is not empty.

    >>> may_begin_empty("(?=a)"), may_begin_empty("(?<=a)"), may_begin_empty(r"\s*$")
    (True, False, False)
    """
    tables = automaton_of(source).tables
    if tables is None:
        return next(compiled(source).find(""), None) is not None
    rows, width = memoryview(tables.rows).cast("I"), tables.class_count + 1
    starts = memoryview(tables.starts).cast("I")
    start = starts[width - 1 if tables.looks_behind else 0]
    following = rows[start : start + tables.class_count]
    # the match ends before the first character
    return any(entry == width or entry >= tables.first_ending for entry in following)


def tables_of(tree: Node, *, of_alphabet: bool) -> Tables:
    """Return the tables of the automaton of a tree; raises `UnsupportedRegexError` and `TooManyClassesError`."""
    nodes = _Nodes()
    start = nodes.add(tree, _MATCH)
    parts = partition(nodes.sets)
    if any(_INVALID < point < _INVALID + 128 for point in parts.points):
        raise UnsupportedRegexError("a set with some of the surrogates that stand for bytes which are not UTF-8")
    return pack(_Determinizer(nodes, parts).rows(start, nullable=_least(tree) == 0), parts, _INVALID, of_alphabet)


# -- the nondeterministic automaton ------------------------------------------------------------------------


#: A condition: a set (-1 - s for all characters that are not in set s), and `behind` and `edge` of a `Look`.
_Look = tuple[int, bool, bool]


@dataclass
class _Nodes:
    """Nodes by number: `sets` are the sets of characters and conditions that they refer to.

    `chosen[n]`: the set of characters that node n reads, or -1.  `look[n]`: the condition that it waits for.
    `follow[n]`: the nodes after it, in the order in which they are tried.
    """

    sets: list[CharacterSet] = field(default_factory=lambda: [NEWLINE])
    chosen: list[int] = field(default_factory=lambda: [-1, -1])
    look: list[_Look | None] = field(default_factory=lambda: [None, None])
    ends_line: list[bool] = field(default_factory=lambda: [False, False])
    follow: list[tuple[int, ...]] = field(default_factory=lambda: [(), ()])
    numbers: dict[CharacterSet, int] = field(default_factory=lambda: {NEWLINE: 0})

    def number(self, chosen: CharacterSet) -> int:
        number = self.numbers.setdefault(chosen, len(self.sets))
        if number == len(self.sets):
            self.sets.append(chosen)
        return number

    def new(self, *follow: int, chosen: int = -1, look: _Look | None = None, line: bool = False) -> int:
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
            case _ if _least(item) == _most(item) or (after == _MATCH and _least(item) > 0):
                return self.add(item, after)  # a search that backtracks into it finds nothing else, or is over
        raise UnsupportedRegexError("an atomic group or possessive repetition of more than one character")

    def possessive(self, node: Repeat, after: int) -> int:
        """Add a repeated set of characters that is left only where no such character follows."""
        assert isinstance(node.item, OneCharacter)
        other = -1 - self.number(node.item.chosen)  # the complement of the set
        return self.loop(node, after, self.new(after, look=(other, False, True)))

    def repeat(self, node: Repeat, after: int) -> int:
        if node.kind == "+":
            return self.final(Repeat(node.item, node.least, node.most, ""), after)
        if _least(node.item) == 0 and (node.most is None or node.most > 1):
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


def _least(node: Node) -> int:
    """Return the least number of characters of a match."""
    match node:
        case OneCharacter():
            return 1
        case Sequence(items):
            return sum(map(_least, items))
        case Alternation(items):
            return min(map(_least, items))
        case Atomic(item):
            return _least(item)
        case Repeat(item, least):
            return least * _least(item)
    return 0


def _most(node: Node) -> float:
    """Return the greatest number of characters of a match."""
    match node:
        case OneCharacter():
            return 1
        case Sequence(items):
            return sum(map(_most, items))
        case Alternation(items):
            return max(map(_most, items))
        case Atomic(item):
            return _most(item)
        case Repeat(item, _, most):
            each = _most(item)
            return 0 if each == 0 else float("inf") if most is None else most * each
    return 0


# -- the deterministic automaton ---------------------------------------------------------------------------


#: A state: the conditions on the character before that are true, whether an empty match is refused, and the threads.
_State = tuple[int, bool, tuple[int, ...]]


class _Determinizer:
    """Builds the states of an automaton; classes of characters are those of `parts`, and the last is the end."""

    def __init__(self, nodes: _Nodes, parts: Partition) -> None:
        self.nodes, self.within = nodes, parts.within
        self.count = len(parts.within[0])
        looks = sorted({look for look in nodes.look if look is not None})
        self.behind = [look for look in looks if look[1]]
        self.ahead = [look for look in looks if not look[1]]
        self.waits = any(nodes.ends_line)
        self.steps = 0

    def holds(self, look: _Look, at: int) -> bool:
        """Return whether a condition is true of a class of characters, or of the edge of the text."""
        number, _, edge = look
        if at == self.count:
            return edge
        return self.within[number][at] if number >= 0 else not self.within[-1 - number][at]

    def before(self, at: int) -> int:
        """Return the conditions that are true after a class of characters, or at the beginning, as bits."""
        return sum(self.holds(look, at) << number for number, look in enumerate(self.behind))

    def profiles(self) -> list[list[int]]:
        """Return the classes, and the end, grouped by the conditions that are true before them."""
        groups: dict[tuple[bool, ...], list[int]] = {}
        for at in range(self.count + 1):
            is_feed = self.waits and at < self.count and self.within[0][at]
            key = (at == self.count, is_feed, *(self.holds(look, at) for look in self.ahead))
            groups.setdefault(key, []).append(at)
        return list(groups.values())

    def rows(self, start: int, *, nullable: bool) -> TransitionRows:
        """Return the transitions of all states that can be reached."""
        numbers: dict[_State, int] = {}
        befores = [self.before(at) for at in range(self.count + 1)]
        starts = [
            [numbers.setdefault((bits, refuses, (3 * start,)), len(numbers)) for bits in befores]
            for refuses in ((False, True) if nullable else (False,))
        ]
        profiles = self.profiles()
        table: list[list[tuple[int, int]]] = []
        ends: list[int] = []
        queue = list(numbers)
        for state in queue:  # grows
            row = [(-1, 0)] * self.count
            end = 0
            for group in profiles:
                threads = self.closed(state, group[0])
                if group[0] == self.count:
                    end = self.ended(threads)
                    continue
                for at, (ends_here, moved) in zip(group, self.moved(threads, group), strict=True):
                    if not moved:
                        row[at] = (-1, ends_here)
                        continue
                    new = (befores[at], False, moved)
                    if new not in numbers:
                        numbers[new] = len(numbers)
                        queue.append(new)
                    row[at] = (numbers[new], ends_here)
            table.append(row)
            ends.append(end)
            if len(numbers) > MOST_STATES or len(numbers) * self.count > MOST_TRANSITIONS or self.steps > MOST_STEPS:
                raise UnsupportedRegexError("too many states of its automaton")
        return TransitionRows(table, ends, starts, looks_behind=bool(self.behind))

    def closed(self, state: _State, after: int) -> list[int]:
        """Return the threads that read a character or end a match, given the next class, in order."""
        before, refuses, threads = state
        stack = [*reversed(threads)]
        seen: set[int] = set()
        found: list[int] = []
        nodes, at_end, at_feed = self.nodes, after == self.count, after < self.count and self.within[0][after]
        while stack:
            thread = stack.pop()
            self.steps += 1
            node, duty = divmod(thread, 3)
            if thread in seen or (duty == _AT_END and not at_end) or (duty == _BEFORE_LAST and not at_feed):
                continue
            seen.add(thread)
            look = nodes.look[node]
            if node == _MATCH and duty == _BEFORE_LAST:
                if not refuses:
                    found.append(3 * _WAITING + duty)
            elif node <= _WAITING:
                if refuses and node == _MATCH:
                    continue
                found.append(thread)
                if node == _MATCH or duty == _AT_END:
                    break
            elif nodes.chosen[node] >= 0:
                found.append(thread)
            elif nodes.ends_line[node]:
                if at_end or at_feed:
                    stack.append(3 * nodes.follow[node][0] + (duty if at_end else _BEFORE_LAST))
            elif look is None or (before >> self.behind.index(look) & 1 if look[1] else self.holds(look, after)):
                stack += [3 * each + duty for each in reversed(nodes.follow[node])]
        return found

    def ended(self, threads: list[int]) -> int:
        """Return where a match ends at the end of the text: 0 for none, 1 there, 2 before the last line feed."""
        for thread in threads:
            if thread // 3 <= _WAITING:
                return 1 if thread // 3 == _MATCH else 2
        return 0

    def moved(self, threads: list[int], group: list[int]) -> Iterator[tuple[int, tuple[int, ...]]]:
        """Yield, for each class of a group, whether a match ends before it, and the threads after it."""
        nodes = self.nodes
        ends_here = int(bool(threads) and threads[-1] // 3 == _MATCH)
        readers = threads[:-1] if ends_here else threads
        moves = [
            (
                self.within[nodes.chosen[thread // 3] if thread // 3 > _WAITING else 0],
                3 * (nodes.follow[thread // 3][0] if thread // 3 > _WAITING else _WAITING)
                + (_AT_END if thread % 3 else _FREE),
            )
            for thread in readers
        ]
        self.steps += len(moves) * len(group)
        for at in group:
            yield ends_here, tuple(dict.fromkeys(new for within, new in moves if within[at]))
