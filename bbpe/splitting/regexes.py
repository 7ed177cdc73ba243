"""Find matches of regexes in texts: in order, without overlap, and within a time limit.

The `regex` package backtracks without a bound, which may take years.  With a timeout it reads the clock at each call
and each match, which takes longer than most matches.  So one call finds up to 64 matches, and short texts have no time
limit if the regex provably takes few steps on them.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from functools import lru_cache
from itertools import islice
from operator import methodcaller
from typing import Any, NoReturn

from ..errors import PatternError
from ..lazy import lazy_property, lazy_re, regex, safe_import
from ..records import dataclass
from ..text import bytes_to_alphabet
from .pattern_limits import check_constructs, check_size, depends_on_place, safe_length
from .unicode_16 import as_of_16, property_set

Span = tuple[int, int]

#: The time limit for a text is SECONDS plus SECONDS_EACH for each character; usual regexes take 0.2 us for each.
SECONDS, SECONDS_EACH = 2.0, 1e-4
#: The most matches that one call finds.
_BATCH = 64
#: The most matches that the compiled pipeline gets at once.
_MATCHES = 1 << 14
_SPAN: Callable[[regex.Match[str]], Span] = methodcaller("span")
_NAMED = lazy_re(r"\\[pP]\{\^?([^{}]*)\}")
#: An alternative of a regex that is a text, and a regex of such alternatives alone.
_LITERAL = r"(?:[^\\.^$*+?{}\[\]|()]|\\[^\w\s])+"
_ALTERNATIVE, _LITERALS = lazy_re(_LITERAL), lazy_re(rf"{_LITERAL}(?:\|{_LITERAL})*")
_ESCAPED = lazy_re(r"\\(.)")
#: A flag for a part of a regex or all of it, of which "i" is one.
_IGNORES_CASE = lazy_re(r"\(\?[a-zA-Z0-9]*i")
_REFUSED_FLAGS = {
    "REVERSE": "(?r), which searches backwards",
    "BESTMATCH": "(?b), which looks for the best match",
    "ENHANCEMATCH": "(?e), which improves a match",
    "POSIX": "(?p), which looks for the longest match",
    "LOCALE": "(?L), which depends on the locale",
}


class TimeLimit:
    """The time that all regexes may take on one text, counted from the first call with a timeout."""

    def __init__(self, characters: int) -> None:
        self.seconds = SECONDS + SECONDS_EACH * characters
        self._began: float | None = None

    def left(self) -> float:
        """Return the remaining seconds of this thread's CPU time; 0 when less than a twentieth is left."""
        now = time.thread_time()
        if self._began is None:
            self._began = now
        left = self.seconds - (now - self._began)
        return left if left > 0.05 * self.seconds else 0.0


class Regex:
    """A regex of the `regex` package, limited to Unicode 16, whose matches are in order and do not overlap.

    Raises `PatternError` on a malformed regex and on a construct or flag that is not supported.
    """

    def __init__(self, source: str) -> None:
        check_size((source,))
        check_constructs(source)
        # set operations ("&&") exist only in the package's version 1 syntax
        self._version = regex.V1 if "&&" in source else regex.V0
        self.source, self._flags = source, _compile(source, self._version).flags
        for flag, name in _REFUSED_FLAGS.items():
            if self._flags & getattr(regex, flag):
                raise PatternError(f"pattern {source!r} has the flag {name}; expected a regex without this flag")
        _check_properties(source)
        is_plain = not self._flags & (regex.V1 | regex.FULLCASE | regex.VERBOSE)
        self._safe_length = safe_length(source) if is_plain else -1

    def find(self, text: str, limit: TimeLimit | None = None) -> Iterator[Span]:
        """Return the spans of the matches in a text, unchecked; a match may be empty.

        `limit` is the time limit of the whole text if this text is a part of one.  Raises `PatternError` when the time
        is used up.
        """
        text, batched = as_of_16(text, self.source), self._batched
        if len(text) <= self._safe_length and batched is not None:
            spans: list[Span] = [] if (found := batched.match(text)) is None else found.spans(1)
            # after an empty match only the package's search finds the next match
            if len(spans) < _BATCH and (not spans or spans[-1][0] < spans[-1][1]):
                return iter(spans)
        return self._timed(text, limit or TimeLimit(len(text)))

    def spans(self, text: str, limit: TimeLimit | None = None) -> Iterator[Span]:
        """Yield the spans that `find` returns; `PatternError` when a match begins before the end of the last one."""
        done = 0
        for first, last in self.find(text, limit):
            if not done <= first <= last:
                self.refuse(first, last, done)
            yield first, last
            done = last

    def finder(self) -> Callable[[str], bool]:
        """Return a function that says whether there is a match in a text, for many short ones.

        It raises as `find` does.
        """
        if _LITERALS.fullmatch(self.source):
            # texts, or alternatives of them: a search for each takes a tenth of the time
            literals = [_ESCAPED.sub(r"\1", part) for part in _ALTERNATIVE.findall(self.source)]
            if len(literals) == 1:
                (only,) = literals
                return lambda text: only in text
            return lambda text: any(literal in text for literal in literals)
        search, safe, source = self._single.search, self._safe_length, self.source

        def is_found(text: str) -> bool:
            if len(text) <= safe:
                return search(text if text.isascii() else as_of_16(text, source)) is not None
            return next(self.find(text), None) is not None

        return is_found

    def as_oniguruma(self, text: str, limit: TimeLimit | None = None) -> Iterator[Span]:
        """Yield the spans of a text that is not empty, but no empty one where another ends."""
        done = -1
        for first, last in self.spans(text, limit) if text else ():
            if last > done:
                yield first, last
            done = last

    def refuse(self, first: int, last: int, done: int) -> NoReturn:
        """Raise `PatternError` about a match that begins before the end of the last one."""
        raise PatternError(
            f"pattern {self.source!r} matches characters {first} to {last} of a text after a match that ends at "
            f"{done}; expected matches that are in order and do not overlap"
        )

    def replaced(self, text: str, content: str) -> str:
        """Return a text with `content` in place of each match, as Oniguruma finds them."""
        parts: list[str] = []
        done = 0
        for first, last in self.as_oniguruma(text):
            parts += (text[done:first], content)
            done = last
        return "".join((*parts, text[done:])) if parts else text

    def _timed(self, text: str, limit: TimeLimit) -> Iterator[Span]:
        batched, done, patience = self._batched, 0, 1
        while batched is not None:
            try:
                found = batched.match(text, done, timeout=patience * self._seconds(limit, text, done))
            except TimeoutError:
                patience *= 2  # the package's timeout counts the time of other threads too
                continue
            spans = [] if found is None else found.spans(1)
            is_last, is_empty = len(spans) < _BATCH, False
            while spans and spans[-1][0] == spans[-1][1]:
                spans.pop()
                is_empty = True  # this call does not find another match that begins at an empty one
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
            found = self._single.finditer(text, done, timeout=patience * self._seconds(limit, text, done))
            try:
                for span in map(_SPAN, found):
                    if span != last:  # the next search finds an empty match again
                        yield span
                    last, done = span, span[1]
            except TimeoutError:
                patience *= 2
            else:
                return

    @lazy_property
    def _of_16(self) -> str:
        """The source by Unicode 16, in the syntax of the same version."""
        safe_import("bbpe.splitting.regex_syntax")
        from .regex_syntax import by_unicode_16
        safe_import("bbpe.splitting.regex_tree")
        from .regex_tree import UnsupportedRegexError

        try:
            return by_unicode_16(self.source, self._flags)
        except UnsupportedRegexError as problem:
            raise PatternError(
                f"pattern {self.source!r} has {problem}, and bbpe cannot limit it to Unicode 16; expected it without"
            ) from None

    @lazy_property
    def _single(self) -> regex.Pattern[str]:
        source, end = self._of_16, self._end
        if _IGNORES_CASE.search(source):
            # the package (2026.11.19) looks for the beginning of a match by one set for all alternatives, and overlooks
            # "B" with `[^xb]|(?i:z)`: beside one that never matches it has none
            source = f"(?:(?!)|(?:{source}{end}))"
        return _compile(source, self._version)

    @property
    def _end(self) -> str:
        """What ends a comment at the end of the source."""
        return "\n" if self._flags & regex.VERBOSE else ""

    @lazy_property
    def _batched(self) -> regex.Pattern[str] | None:
        """A regex with up to 64 matches as captures of one group; `None` if the group would change the regex."""
        if depends_on_place(self.source):
            return None
        try:
            return regex.compile(rf"(?>(?s:.)*?({self._of_16}{self._end})){{1,{_BATCH}}}+", self._version)
        except regex.error:  # the source does not compile within a group
            return None

    def _seconds(self, limit: TimeLimit, text: str, done: int) -> float:
        left = limit.left()
        if not left:
            done = self._last_end(text, done, limit)
            raise PatternError(
                f"pattern {self.source!r} takes more than {limit.seconds:.1f} s, after character {done} of {len(text)}"
                f", {text[done : done + 20]!r}: it backtracks too often, as nested repetitions do; "
                "expected a regex that does not backtrack, such as one with possessive repetitions (a++)"
            )
        return left

    def _last_end(self, text: str, done: int, limit: TimeLimit) -> int:
        """Return the end of the last match that a short search finds."""
        with suppress(TimeoutError):
            for found in self._single.finditer(text, done, timeout=0.05 * limit.seconds):
                done = found.end()
        return done


@dataclass(frozen=True)
class HostRegex:
    """A regex whose matches the compiled pipeline asks of the `regex` package, some thousands at a time.

    `of_alphabet`: texts are bytes, and the regex reads GPT-2's character of each.
    """

    source: str
    of_alphabet: bool = False

    def next_matches(
        self, asked: dict[object, Any], search: int, text: str | bytes | None, characters: int
    ) -> tuple[list[Span], bool]:
        """Return the next matches in a text, in order, and whether these are the last.

        `text` begins another one; `None` goes on with that of the `search`, which is a number.  `asked` is kept for a
        call, whose texts of so many `characters` share a time limit.
        """
        if text is not None:
            limit = asked.setdefault(None, TimeLimit(characters))
            whole = bytes_to_alphabet(text) if isinstance(text, bytes) else text
            asked[search] = compiled(self.source).spans(whole, limit)
        found = list(islice(asked[search], _MATCHES))
        return found, len(found) < _MATCHES


@lru_cache(maxsize=256)
def compiled(source: str) -> Regex:
    r"""Return the `Regex` of a source from a cache; raises `PatternError` as `Regex` does.

    >>> list(compiled(r"\d").spans("a1b2"))
    [(1, 2), (3, 4)]
    """
    return Regex(source)


def _check_properties(source: str) -> None:
    for found in _NAMED.finditer(source):
        if property_set(found[1]) is None:
            raise PatternError(
                f"pattern {source!r} has {found[0]} at character {found.start()}, which is no property of Unicode 16; "
                "expected one by which bbpe, tiktoken and `tokenizers` classify characters"
            )


def _compile(source: str, flags: int) -> regex.Pattern[str]:
    try:
        return regex.compile(source, flags)
    except regex.error as error:
        where = "" if error.pos is None else f" at character {error.pos}"
        raise PatternError(f"pattern {source!r} is not a valid regex: {error.msg}{where}") from None
    except RecursionError:
        raise PatternError(f"pattern {source!r} is nested too deeply") from None
    except (ValueError, OverflowError, KeyError, IndexError, TypeError, AttributeError) as error:  # bugs of the package
        raise PatternError(f"pattern {source!r} is not a valid regex: {error}") from None
