"""Encode by the model that the special tokens of a call ask for.

Most models of files have the special tokens among their own, and make them of texts that a normalizer has changed
(`#tag` to `[TAG]`).  A text from outside must not become a special token, so the usual model has none of them; where a
call looks for some, a model that has these too encodes.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator
from typing import TYPE_CHECKING, TypeAlias

from ..lazy import np, npt
from ..pipeline.special_tokens import Matcher
from ..text import Text
from .engine import TextEncoder
from .piped import NOTHING_AROUND, Around
from .rule_encoder import RuleEncoder

if TYPE_CHECKING:
    from ..core.column import Texts
    from ..types import Ragged

Ids: TypeAlias = "npt.NDArray[np.uint32]"
#: Matchers whose encoders are remembered; a program has few.
_MOST_MATCHERS = 256


class PolicyEncoder(RuleEncoder):
    """Encodes by one of several encoders, the usual one where a call looks for none of the tokens `modelled`."""

    def __init__(
        self, usual: TextEncoder, modelled: Collection[int], make: Callable[[frozenset[int]], TextEncoder]
    ) -> None:
        vars(self).update(vars(usual))
        self._modelled, self._make = frozenset(modelled), make
        self._made: dict[frozenset[int], TextEncoder] = {frozenset(): usual}
        self._by_matcher: dict[Matcher | None, TextEncoder] = {None: usual}

    def of(self, matcher: Matcher | None) -> TextEncoder:
        """Return the encoder for a call that looks for these tokens."""
        found = self._by_matcher.get(matcher)
        if found is None:
            assert matcher is not None
            ids = self._modelled & matcher.ids
            found = self._made.get(ids) or self._made.setdefault(ids, self._make(ids))
            if len(self._by_matcher) > _MOST_MATCHERS:
                self._by_matcher = {None: self._made[frozenset()]}
            self._by_matcher[matcher] = found
        return found

    def to_list(self, text: Text, matcher: Matcher | None = None, around: Around = NOTHING_AROUND) -> list[int]:
        """Return the ids of a text, between those `around` it, as a list."""
        return self.of(matcher).to_list(text, matcher, around)

    def to_array(
        self, text: Text, matcher: Matcher | None = None, threads: int | None = None, around: Around = NOTHING_AROUND
    ) -> Ids:
        """Return the ids of a text, between those `around` it, as uint32[n]."""
        return self.of(matcher).to_array(text, matcher, threads, around)

    def count(self, text: Text, matcher: Matcher | None = None, threads: int | None = None) -> int:
        """Return the number of ids of a text."""
        return self.of(matcher).count(text, matcher, threads)

    def count_up_to(self, text: Text, limit: int, matcher: Matcher | None = None) -> int:
        """Return the number of ids of a text, or any number above `limit` if its length proves that there are more."""
        return self.of(matcher).count_up_to(text, limit, matcher)

    def counts(
        self, texts: Texts, matcher: Matcher | None = None, threads: int | None = None
    ) -> npt.NDArray[np.int64]:
        """Return the number of ids of each text, int64[n]."""
        return self.of(matcher).counts(texts, matcher, threads)

    def lists(
        self, texts: Texts, matcher: Matcher | None = None, threads: int | None = None
    ) -> list[list[int]]:
        """Return the ids of each text as a list."""
        return self.of(matcher).lists(texts, matcher, threads)

    def rows(
        self, texts: Texts, matcher: Matcher | None = None, threads: int | None = None
    ) -> Ragged:
        """Return the ids of each text in one array."""
        return self.of(matcher).rows(texts, matcher, threads)

    def stream(self, chunks: Iterable[Text], matcher: Matcher | None = None) -> Iterator[int]:
        """Yield the ids of the joined chunks."""
        return self.of(matcher).stream(chunks, matcher)

    def with_dropout(self, dropout: float, seed: int) -> TextEncoder:
        """Return an encoder that skips merges at random."""
        made: dict[frozenset[int], TextEncoder] = {}

        def make(ids: frozenset[int]) -> TextEncoder:
            encoder = self._made.get(ids) or self._made.setdefault(ids, self._make(ids))
            return made.setdefault(ids, encoder.with_dropout(dropout, seed))

        return PolicyEncoder(make(frozenset()), self._modelled, make)
