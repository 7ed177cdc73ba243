"""States of an automaton for a regex with atomic groups, whose first match is final: `(?>...)`, and `(...)++`.

A search may be in several instances of a group, each entered at a place of its own.  When a thread leaves an instance,
the threads after it that are in the same one, or have left it, are dropped: a backtracking search would not try these.

    (?>ab|a)c   after "a": [b in instance 1], [c, which has left instance 1]
                at "b": the first thread goes on, and leaves instance 1, so the second one is dropped
                at "c": no thread of instance 1 is left, and the second one is as any other

A match may end while a thread before it is in an instance that the match has left.  That thread may still drop the
match.  If no longer match takes its place then, the search would have to go back, and the regex has no automaton.
"""

from __future__ import annotations

from collections.abc import Iterator

from .automaton_nodes import MATCH
from .automaton_states import Determinizer, State
from .regex_tree import UnsupportedRegexError

#: In place of the node of a thread: a match has ended, which a thread before it may drop.
_ENDED = -1

#: A thread: its node, the instances that it is in, and those that it has left while threads before it are in them.
_Thread = tuple[int, tuple[int, ...], frozenset[int]]


class _Threads:
    """Threads in order, without those that do what one before them does.

    `entered` are the instances that a thread is in.
    """

    def __init__(self) -> None:
        self.entered: set[int] = set()
        self._known: dict[tuple[int, tuple[int, ...]], list[frozenset[int]]] = {}

    def left(self, instances: frozenset[int]) -> frozenset[int]:
        """Return those of the instances in which a thread may still drop what comes next."""
        return instances & self.entered

    def is_known(self, node: int, inside: tuple[int, ...], left: frozenset[int]) -> bool:
        """Return whether a thread before it does the same and is dropped only if this one is; else note this one."""
        instances = left.union(inside)
        known = self._known.setdefault((node, inside), [])
        if any(each <= instances for each in known):
            return True
        known.append(instances & self.entered)
        return False


class AtomicSearcher(Determinizer[_Thread]):
    """Builds the states of an automaton whose nodes include the ends of atomic groups."""

    def first(self, start: int) -> tuple[_Thread, ...]:
        """Return the threads of a first state."""
        return ((start, (), frozenset()),)

    def closed(self, state: State[_Thread], symbol: int) -> list[_Thread]:
        """Return the threads that read a character or end a match, given the next symbol, in order."""
        before, refuses, threads = state
        bits, after = divmod(symbol, self.count + 1)
        nodes, order, found = self.nodes, _Threads(), list[_Thread]()
        stack = [*reversed(threads)]
        new = max((each for _, inside, _ in threads for each in inside), default=-1)
        takes_back = False
        while stack:
            node, inside, left = stack.pop()
            self.steps += 1
            left = order.left(left)
            if node == _ENDED:
                found += [(_ENDED, (), left)] if left else []
                break
            if order.is_known(node, inside, left) or (refuses and node == MATCH):
                continue
            if node == MATCH or nodes.chosen[node] >= 0:
                found.append((node, inside, left))
                order.entered.update(inside)
                if node == MATCH:
                    break
                continue
            if nodes.group[node] > 0:
                new += 1
                inside = (*inside, new)
            elif nodes.group[node] < 0:
                *others, own = inside
                takes_back |= any(own in each[2] for each in stack[:1] if each[0] == _ENDED)
                stack = [each for each in stack if own not in each[1] and own not in each[2]]
                inside, left = tuple(others), left | ({own} & order.entered)
            elif not self.is_true(node, before, bits, after):
                continue
            stack += [(each, inside, left) for each in reversed(nodes.follow[node])]
        if takes_back and not (found and found[-1][0] == MATCH):
            raise UnsupportedRegexError("an atomic group or possessive repetition after which a match is taken back")
        return found

    def ended(self, threads: list[_Thread]) -> int:
        """Return where a match ends at the end of the text: 0 for none, 1 there."""
        return int(bool(threads) and threads[-1][0] == MATCH)

    def moved(self, threads: list[_Thread], group: list[int]) -> Iterator[tuple[int, tuple[_Thread, ...]]]:
        """Yield, for each class of a group, whether a match ends before it, and the threads after it."""
        nodes = self.nodes
        ends_here = self.ended(threads)
        has_ended = bool(threads) and threads[-1][0] in (MATCH, _ENDED)
        readers = threads[:-1] if has_ended else threads
        self.steps += len(readers) * len(group)
        for at in group:
            order, moved = _Threads(), list[_Thread]()
            for node, inside, before in readers:
                follow, left = nodes.follow[node][0], order.left(before)
                if self.within[nodes.chosen[node]][at] and not order.is_known(follow, inside, left):
                    moved.append((follow, inside, left))
                    order.entered.update(inside)
            if has_ended and (left := order.left(threads[-1][2])):
                moved.append((_ENDED, (), left))
            yield ends_here, _renumbered(moved)


def _renumbered(threads: list[_Thread]) -> tuple[_Thread, ...]:
    """Return threads with the numbers of instances in the order in which they come."""
    numbers: dict[int, int] = {}
    for _, inside, _ in threads:
        for each in inside:
            numbers.setdefault(each, len(numbers))
    return tuple(
        (node, tuple(numbers[each] for each in inside), frozenset(numbers[each] for each in left))
        for node, inside, left in threads
    )
