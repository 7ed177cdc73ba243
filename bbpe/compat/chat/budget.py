"""The limits of a chat template, and what one rendering has used of them.

A template is a program that comes with a tokenizer, perhaps from a stranger.  Every operation that makes a text or a
list pays for the size of its result before it begins, and every block, call, filter and comparison pays a step.  The
limits grow with what the template is given, so that a long chat may have a long prompt.
"""

from __future__ import annotations

from collections.abc import ItemsView, KeysView, Mapping, ValuesView
from contextvars import ContextVar
from typing import Any

from ...core.traced import size_of
from ...records import dataclass


@dataclass(frozen=True)
class Limits:
    """The limits of one rendering; `characters` and `steps` are those of a template that is given nothing."""

    characters: int = 32 << 20  # of all texts that are made, the prompt included; an item of a list counts as several
    characters_per_given: int = 512  # more for each character of messages, tools and variables
    steps: int = 2_000_000
    steps_per_given: int = 20
    calls: int = 100  # calls of macros within each other; each takes several frames of Python
    numbers: int = 100_000  # of a range, as in jinja2's sandbox
    bits: int = 1 << 16  # of an integer
    source: int = 1 << 20  # characters of a template


LIMITS = Limits()
#: The characters that an item of a list counts as.
ITEM = 16
# a text is searched and compared faster than a step is made
_PER_STEP = 1024
_NUMBER = 24


class LimitReached(Exception):  # noqa: N818 - it never leaves this folder
    """A template has used up a limit.

    It is none of the types that jinja2's filters and Python's built-in functions catch.
    """


class RenderBudget:
    """What a rendering may still use."""

    def __init__(self, given: object = None, limits: Limits | None = None) -> None:
        self.limits = limits or LIMITS
        self.characters, self.steps, self.calls = 1 << 62, 1 << 62, self.limits.calls
        size = size_of(given)
        size = self.measure(given) if size < 0 else size  # what is no plain data
        self._characters = self.characters = self.limits.characters + self.limits.characters_per_given * size
        self._steps = self.steps = self.limits.steps + self.limits.steps_per_given * size

    def step(self, count: int = 1) -> None:
        """Pay for `count` operations."""
        self.steps -= count
        if self.steps < 0:
            raise LimitReached(f"takes more than {self._steps:,} steps")

    def take(self, characters: int) -> None:
        """Pay for a text of so many characters, which is to be made."""
        self.characters -= characters
        if self.characters < 0:
            raise LimitReached(f"makes texts and lists of more than {self._characters:,} characters")

    def take_items(self, count: int) -> None:
        """Pay for a list of so many items, which is to be made."""
        self.take(count * ITEM)

    def search(self, length: int) -> None:
        """Pay for a look at all of a text or list."""
        self.step(1 + length // _PER_STEP)

    def check_bits(self, *numbers: int) -> None:
        """Refuse a calculation with integers whose result has so many bits together."""
        if sum(numbers) > self.limits.bits:
            raise LimitReached(f"calculates with integers of more than {self.limits.bits:,} bits")

    def measure(self, value: Any) -> int:
        """Return the least characters that hold a value as a text, at most; its parts are steps.

        A list may hold another one many times over, so that its text is far longer than what is in memory.
        """
        total, stack = 0, [value]
        while stack:
            part = stack.pop()
            if isinstance(part, str | bytes):
                total += len(part) + 2
            elif isinstance(part, Mapping):
                stack += [*part.keys(), *part.values()]
                total += 4 * len(part)
            elif isinstance(part, list | tuple | set | frozenset | KeysView | ItemsView | ValuesView):
                stack += part
                total += 2 * len(part)
            elif isinstance(part, int):
                total += part.bit_length() // 3 + 8
            elif isinstance(part, range):
                total += _NUMBER * len(part)
            total += _NUMBER
            if len(stack) > self.steps or total > self.characters:
                self.take(total)
                self.step(len(stack))
            self.step()
        return total


_CURRENT: ContextVar[RenderBudget] = ContextVar("budget")
current, spending = _CURRENT.get, _CURRENT.set
release = _CURRENT.reset
