"""Regexes at work on texts: matches that follow one another, found within a limit of time.

The `regex` package goes back over a text for as long as a regex asks it to, which may be years.  Its limit of time
reads the clock of the process at each call and each match, which takes longer than most matches.  So one call finds 64
matches, and a regex that provably ends soon has no limit on short texts.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from functools import lru_cache
from operator import methodcaller
from typing import NoReturn

import regex

from ..errors import PatternError
from ..lazy import lazy_property
from .pattern_limits import check_constructs, check_size, needs_its_numbers, quick_up_to

Span = tuple[int, int]

#: The seconds that regexes may take over a text, and more for each of its characters; usual ones take 0.2 us for each.
SECONDS, SECONDS_EACH = 2.0, 1e-4
#: Matches found by one call.
_TOGETHER = 64
_SPAN: Callable[[regex.Match[str]], Span] = methodcaller("span")
_REFUSED_FLAGS = {
    "(?r), by which matches come from the end": regex.REVERSE,
    "(?b), which looks for the best match": regex.BESTMATCH,
    "(?e), which improves a match": regex.ENHANCEMATCH,
    "(?p), which looks for the longest match": regex.POSIX,
    "(?L), which another locale changes": regex.LOCALE,
}


class TimeLimit:
    """The time that all regexes may take over one text, from the first call that has a limit."""

    def __init__(self, characters: int) -> None:
        self.seconds = SECONDS + SECONDS_EACH * characters
        self._began: float | None = None

    def left(self) -> float:
        """Return the seconds that are left, of the processor's time in this thread; 0 when they are few."""
        now = time.thread_time()
        if self._began is None:
            self._began = now
        left = self.seconds - (now - self._began)
        return left if left > 0.05 * self.seconds else 0.0


class Regex:
    """A regex of the `regex` package.

    Raises `PatternError` on one that is malformed, or whose matches need not follow one another, by name.
    """

    def __init__(self, source: str) -> None:
        check_size((source,))
        check_constructs(source)
        # set operations ("&&") exist only in the package's version 1 syntax
        self._version = regex.V1 if "&&" in source else regex.V0
        self.source, self._one = source, _compile(source, self._version)
        for name, flag in _REFUSED_FLAGS.items():
            if self._one.flags & flag:
                raise PatternError(f"pattern {source!r} has the flag {name}; expected matches from left to right")
        is_plain = not self._one.flags & (regex.V1 | regex.FULLCASE | regex.VERBOSE)
        self._quick = quick_up_to(source) if is_plain else -1

    def found(self, text: str, limit: TimeLimit | None = None) -> Iterator[Span]:
        """Return where the matches in a text begin and end, in order and not checked; they may be empty.

        `limit`: that of the text of which this one is a part.  Raises `PatternError` when the time is over.
        """
        several = self._several
        if len(text) <= self._quick and several is not None:
            spans: list[Span] = [] if (found := several.match(text)) is None else found.spans(1)
            # as in a longer text, where the package's search differs from its match
            if len(spans) < _TOGETHER and (not spans or spans[-1][0] < spans[-1][1]):
                return iter(spans)
        return self._timed(text, limit or TimeLimit(len(text)))

    def spans(self, text: str, limit: TimeLimit | None = None) -> Iterator[Span]:
        """Yield what `found` returns; `PatternError` when a match begins before the last one ended."""
        done = 0
        for first, last in self.found(text, limit):
            if not done <= first <= last:
                self.refuse(first, last, done)
            yield first, last
            done = last

    def refuse(self, first: int, last: int, done: int) -> NoReturn:
        """Raise `PatternError` about a match that does not follow the last one."""
        raise PatternError(
            f"pattern {self.source!r} matches characters {first} to {last} of a text after a match that ends at "
            f"{done}; expected matches that follow one another"
        )

    def replaced(self, text: str, content: str) -> str:
        """Return a text with `content` in place of each match."""
        parts: list[str] = []
        done = 0
        for first, last in self.spans(text):
            parts += (text[done:first], content)
            done = last
        return "".join((*parts, text[done:])) if parts else text

    def _timed(self, text: str, limit: TimeLimit) -> Iterator[Span]:
        several, done, patience = self._several, 0, 1
        while several is not None:
            try:
                found = several.match(text, done, timeout=patience * self._seconds(limit, text, done))
            except TimeoutError:
                patience *= 2  # it counts the time of other threads too
                continue
            spans = [] if found is None else found.spans(1)
            is_last, is_empty = len(spans) < _TOGETHER, False
            while spans and spans[-1][0] == spans[-1][1]:
                spans.pop()
                is_empty = True  # another match may begin where an empty one is, which this call does not find
            yield from spans
            done = spans[-1][1] if spans else done
            if is_empty:
                break
            if is_last:
                return
        yield from self._one_by_one(text, done, limit)

    def _one_by_one(self, text: str, done: int, limit: TimeLimit) -> Iterator[Span]:
        last: Span | None = None
        patience = 1
        while True:
            found = self._one.finditer(text, done, timeout=patience * self._seconds(limit, text, done))
            try:
                for span in map(_SPAN, found):
                    if span != last:  # an empty one is found again by the next search
                        yield span
                    last, done = span, span[1]
            except TimeoutError:
                patience *= 2
            else:
                return

    @lazy_property
    def _several(self) -> regex.Pattern[str] | None:
        """Many matches in one, as captures of one group; `None` where that would renumber other groups."""
        if needs_its_numbers(self.source):
            return None
        end = "\n" if self._one.flags & regex.VERBOSE else ""  # which may end with a comment
        try:
            return regex.compile(rf"(?>(?s:.)*?({self.source}{end})){{1,{_TOGETHER}}}+", self._version)
        except regex.error:  # of a source that is not whole
            return None

    def _seconds(self, limit: TimeLimit, text: str, done: int) -> float:
        left = limit.left()
        if not left:
            done = self._reached(text, done, limit)
            raise PatternError(
                f"pattern {self.source!r} takes more than {limit.seconds:.1f} s, after character {done} of {len(text)}"
                f", {text[done : done + 20]!r}: it goes back over the text too often, as repeated repetitions do; "
                "expected a regex that need not go back, such as one with possessive repetitions (a++)"
            )
        return left

    def _reached(self, text: str, done: int, limit: TimeLimit) -> int:
        """Return where the last match ends that is soon found."""
        with suppress(TimeoutError):
            for found in self._one.finditer(text, done, timeout=0.05 * limit.seconds):
                done = found.end()
        return done


@lru_cache(maxsize=256)
def compiled(source: str) -> Regex:
    r"""Return a regex, compiled once; raises as `Regex` does.

    >>> list(compiled(r"\d").spans("a1b2"))
    [(1, 2), (3, 4)]
    """
    return Regex(source)


def _compile(source: str, flags: int) -> regex.Pattern[str]:
    try:
        return regex.compile(source, flags)
    except regex.error as error:
        place = "" if error.pos is None else f" at character {error.pos}"
        raise PatternError(f"pattern {source!r} is not a valid regex: {error.msg}{place}") from None
    except RecursionError:
        raise PatternError(f"pattern {source!r} is nested too deeply") from None
    except (ValueError, OverflowError, KeyError, IndexError, TypeError, AttributeError) as error:  # as it comes to them
        raise PatternError(f"pattern {source!r} is not a valid regex: {error}") from None
