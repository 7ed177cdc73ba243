"""Where the ids of a text lie in it."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from ..core.ids import TokenBytes
from ..core.offsets import map_spans
from ..core.word_bpe import WordBPE
from ..core.wordpiece import WordPiece
from ..errors import VocabularyError
from ..pipeline.alignment import align
from ..pipeline.pre_tokenizers import prefixed, pretokens
from ..pipeline.special_tokens import NOTHING, Matcher
from ..spec.rules import BLANK
from ..text import Text, text_bytes
from .engine import TextEncoder
from .rule_encoder import RuleEncoder

Ids = npt.NDArray[np.uint32]
Spans = npt.NDArray[np.int64]
Located: TypeAlias = tuple[Ids, Spans]


def located(
    encoder: TextEncoder, token_bytes: TokenBytes, text: Text, matcher: Matcher | None
) -> Located:
    """Return the ids of a text, uint32[n], and their starts and ends in its UTF-8, int64[n, 2].

    Raises `VocabularyError` where a rule has changed the text in a way that leaves no places.
    """
    check_places(encoder)
    if isinstance(encoder, RuleEncoder):
        return _by_rules(encoder, token_bytes, text, matcher)
    if not encoder.splitter.pattern.drops_gaps:
        ids = encoder.to_array(text, matcher)
        return ids, token_bytes.spans(ids)
    data = text_bytes(text)
    if matcher is None:
        return _with_gaps(encoder, token_bytes, bytes(data))
    matcher.check(data)
    found: list[Located] = []
    for start, end, token_id in matcher.spans(data):
        if token_id is None:
            ids, spans = _with_gaps(encoder, token_bytes, bytes(data[start:end]))
            found.append((ids, spans + start))
        else:
            found.append(_token(token_id, start, end))
    return _joined(found)


def check_places(encoder: TextEncoder) -> None:
    """Raise `VocabularyError` where tokens are of words, and do not spell the text."""
    if isinstance(encoder.encoder.model, (WordBPE, WordPiece)):
        raise VocabularyError("tokens of words do not spell the text, and have no places; encode without offsets")


def _with_gaps(encoder: TextEncoder, token_bytes: TokenBytes, data: bytes) -> Located:
    """Return the ids of a text that is dropped between pretokens."""
    kept, ends, places = encoder.splitter.cut(data)
    ids = encoder.given(kept, ends)
    spans = token_bytes.spans(ids)
    # all of a token lies in one pretoken, and is moved with it
    return ids, spans + (places - ends)[np.searchsorted(ends, spans[:, :1], side="right")]


def _token(token_id: int, start: int, end: int) -> Located:
    return np.array([token_id], np.uint32), np.array([[start, end]], np.int64)


def _joined(found: Iterable[Located]) -> Located:
    listed = list(found)
    return (
        np.concatenate([np.empty(0, np.uint32), *(ids for ids, _ in listed)]),
        np.concatenate([np.empty((0, 2), np.int64), *(spans for _, spans in listed)]),
    )


def _by_rules(encoder: RuleEncoder, token_bytes: TokenBytes, text: Text, matcher: Matcher | None) -> Located:
    """Do as `RuleEncoder.to_array` does, with the places that each step leaves."""
    data = text_bytes(text)
    matcher = matcher or NOTHING
    matcher.check(data)
    found: list[Located] = []
    for start, end, token_id in matcher.spans(data):
        if token_id is None:
            piece = encoder.decoded(data[start:end])
            ids, spans = _piece(encoder, token_bytes, piece, matcher.after, start == 0)
            places = np.concatenate([[0], np.cumsum(_sizes(piece))]) + start
            found.append((ids, places[spans]))
        else:
            found.append(_token(token_id, start, end))
    return _joined(found)


def _piece(
    encoder: RuleEncoder, token_bytes: TokenBytes, piece: str, after: Matcher | None, is_first: bool
) -> Located:
    """Return the ids of a stretch between tokens that stand in the text as it is, and their characters in it."""
    aligned = align(encoder.rules.normalizers, piece)
    is_marked = encoder.marks_blanks and not encoder.rules.pre_tokenizers
    text = aligned.text.replace(BLANK, " ") if is_marked else aligned.text
    data = text.encode("utf-8", "surrogateescape")
    parts = NOTHING.spans(data) if after is None else after.spans(data)
    found: list[Located] = []
    for start, end, token_id in parts:
        part, first = encoder.decoded(data[start:end]), len(encoder.decoded(data[:start]))
        if token_id is None:
            ids, spans = _plain(encoder, token_bytes, part, is_first and start == 0)
        else:
            ids, spans = _token(token_id, 0, len(part))
        found.append((ids, spans + first))
    ids, spans = _joined(found)
    if len(ids):
        spans = np.stack([aligned.sources[spans[:, 0]], aligned.sources[spans[:, 1] - 1] + 1], axis=1)
    return ids, spans


def _plain(encoder: RuleEncoder, token_bytes: TokenBytes, part: str, is_first: bool) -> Located:
    """Return the ids of normalised text without tokens to find, and their characters in it."""
    text = prefixed(encoder.rules.prefix, part, is_first)
    if encoder.marks_blanks:
        text = text.replace(BLANK, " ")
    data = text.encode("utf-8", "surrogateescape")
    if encoder.rules.pre_tokenizers:
        found = pretokens(encoder.rules.pre_tokenizers, text, is_first=is_first)
        joined = b"".join(found).replace(BLANK.encode(), b" ") if encoder.marks_blanks else b"".join(found)
        if not joined.endswith(data):
            raise VocabularyError(
                f"pre-tokenizers {encoder.rules.pre_tokenizers} drop or change text and leave no places to tell; "
                "encode without offsets"
            )
        data = joined
    elif encoder.splitter.pattern.drops_gaps:
        raise VocabularyError(f"pattern {encoder.splitter.pattern} drops text; encode without offsets")
    ids, lengths = encoder.plain(part, is_first, token_bytes.lengths)
    if lengths.sum() != len(data):
        raise VocabularyError("the tokens do not spell the text, so that they have no places; encode without offsets")
    spans = np.stack([np.cumsum(lengths) - lengths, np.cumsum(lengths)], axis=1)
    map_spans(data, spans, "char")
    # what was put in front lies at the first character
    added = len(encoder.decoded(data)) - len(part)
    return ids, np.stack([np.maximum(spans[:, 0] - added, 0), np.maximum(spans[:, 1] - added, 1)], axis=1)


def _sizes(text: str) -> Spans:
    """Return how many bytes each character is; a byte that is no UTF-8 is one."""
    points = np.frombuffer(text.encode("utf-32-le", "surrogatepass"), np.uint32)
    sizes = 1 + (points >= 0x80) + (points >= 0x800) + (points >= 0x10000)
    return np.where((points >= 0xDC80) & (points <= 0xDCFF), 1, sizes).astype(np.int64)
