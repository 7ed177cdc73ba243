"""Encode texts and pairs of texts together with the places of ids, as `Tokenizer` returns them."""

from __future__ import annotations

from itertools import chain
from typing import TypeAlias

from ..core.aligned import AlignedCall, SpanTrims
from ..errors import VocabularyError
from ..lazy import lazy_property, np, npt
from ..pipeline.special_tokens import Matcher, Selection, SpecialTokens
from ..spec.spec import TokenizerSpec
from ..text import Text
from ..types import AlignedIds, Unit
from .aligned import span_trims
from .engine import TextEncoder
from .offsets import encode_with_spans
from .rows import NO_TEMPLATE, check_has_pair
from .vocabulary import Vocabulary

Spans: TypeAlias = "npt.NDArray[np.int64]"
#: Ids, their spans, and the numbers of their pretokens and texts, and their types.
_Part: TypeAlias = "tuple[list[int], Spans, list[int | None], list[int | None], list[int]]"


class PlacedTexts:
    """Encodes texts together with the places of ids, by an encoder, and by the template and trims of a spec."""

    def __init__(self, encoder: TextEncoder, spec: TokenizerSpec, vocabulary: Vocabulary) -> None:
        self._encoder, self._spec, self._vocabulary = encoder, spec, vocabulary

    @lazy_property
    def _trims(self) -> SpanTrims | None:
        return span_trims(self._spec, self._vocabulary.keys()) if self._spec.trims else None

    @property
    def has_words(self) -> bool:
        """Whether `words` finds the numbers of pretokens: no rule needs Python."""
        return self._encoder.word_texts is not None

    def with_offsets(self, text: Text, unit: Unit, matcher: Matcher | None) -> tuple[list[int], Spans]:
        """Return the ids of a text and their spans, int64[n, 2]."""
        _check_unit(unit)
        return encode_with_spans(self._encoder, self._vocabulary.tokens, text, unit, matcher, self._trims)

    def call(self, specials: SpecialTokens, allowed: Selection, refused: Selection, _adds: bool) -> AlignedCall | None:
        """Return what encodes texts with the places of ids by a call; `None` when a rule needs Python."""
        matcher = specials.matcher(allowed, refused)
        texts = self._encoder.of(matcher).aligned_texts
        return None if texts is None else texts.call(matcher, self._trims)

    def aligned(self, text: Text, pair: Text | None, unit: Unit, matcher: Matcher | None, adds: bool) -> AlignedIds:
        """Return the ids of a text or a pair and where they come from, with those of the template if `adds` is true."""
        _check_unit(unit)
        template = self._spec.template or NO_TEMPLATE
        if pair is not None and adds:
            check_has_pair(template)
        texts = {"A": text} if pair is None else {"A": text, "B": pair}
        found = {name: self.words(given, unit, matcher) for name, given in texts.items()}
        rows: list[_Part] = []
        for item, type_id in template.single if pair is None else template.pair or NO_TEMPLATE.pair:
            if not adds and not isinstance(item, str):
                continue
            ids, spans, words = found[item] if isinstance(item, str) else ([item], np.zeros((1, 2), np.int64), [None])
            number = "AB".index(item) if isinstance(item, str) else None
            rows.append((ids, spans, list(words), [number] * len(ids), [type_id] * len(ids)))
        ids_of, spans_of, *others = zip(*rows, strict=True)
        return AlignedIds(list(chain(*ids_of)), np.concatenate(spans_of), *(list(chain(*each)) for each in others))

    def words(self, text: Text, unit: Unit, matcher: Matcher | None) -> tuple[list[int], Spans, list[int]]:
        """Return the ids of a text, their spans, int64[n, 2], and the numbers of their pretokens."""
        encoder = self._encoder.of(matcher).word_texts
        if encoder is None:
            raise VocabularyError(
                "a rule of this tokenizer needs Python, so its ids have no numbers of pretokens; `bbpe inspect` shows "
                "the rule, and encode_with_offsets may have offsets"
            )
        return encoder.call(matcher, self._trims).encode_words(text, unit)


def _check_unit(unit: str) -> None:
    if unit not in ("char", "byte", "utf16"):
        raise ValueError(f'unit is {unit!r}; expected "char", "byte" or "utf16"')
