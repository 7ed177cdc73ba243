"""Encode texts together with the position of each id in the text."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TypeAlias

from ..core.aligned import SpanTrims
from ..core.ids import TokenBytes
from ..core.offsets import map_spans
from ..core.word_bpe import WordBPE
from ..core.wordpiece import WordPiece
from ..errors import VocabularyError
from ..lazy import np, npt
from ..pipeline.alignment import align
from ..pipeline.pre_tokenizers import prefixed, pretokens
from ..pipeline.special_tokens import NOTHING, Matcher
from ..spec.rules import SPACE_MARK
from ..text import Text, text_bytes
from ..types import Unit
from .engine import TextEncoder
from .rule_encoder import RuleEncoder

Ids: TypeAlias = "npt.NDArray[np.uint32]"
Spans: TypeAlias = "npt.NDArray[np.int64]"
IdsAndSpans: TypeAlias = tuple[Ids, Spans]
_NOT_SPELLED = "the tokens do not spell the text, so they have no offsets; encode without offsets"


def encode_with_spans(
    encoder: TextEncoder, token_bytes: TokenBytes, text: Text, unit: Unit, matcher: Matcher | None,
    trims: SpanTrims | None = None,
) -> tuple[list[int], Spans]:  # fmt: skip
    """Return the ids of a text, and their starts and ends in it, int64[n, 2].

    `trims` remove the blanks of tokens from the spans.

    Raises `VocabularyError` when a rule changed the text in a way that has no offsets.
    """
    encoder = encoder.of(matcher)
    if encoder.aligned_texts is not None:
        return encoder.aligned_texts.call(matcher, trims).encode(text, unit)
    ids, spans = _slow_spans(encoder, token_bytes, text, matcher)
    if trims is not None:
        trims.trim(text_bytes(text), ids, spans)
    if unit != "byte":
        map_spans(text, spans, unit)
    return ids.tolist(), spans


def _slow_spans(
    encoder: TextEncoder, token_bytes: TokenBytes, text: Text, matcher: Matcher | None
) -> IdsAndSpans:
    """Return the ids of a text and their spans, by rules that need Python."""
    check_has_offsets(encoder)
    if isinstance(encoder, RuleEncoder):
        return _by_rules(encoder, token_bytes, text, matcher)
    if not encoder.splitter.pattern.drops_gaps:
        ids = encoder.to_array(text, matcher)
        spans = token_bytes.spans(ids)
        if isinstance(encoder.encoder.model, WordBPE) and spans[-1:, 1].sum() != len(text_bytes(text)):
            raise VocabularyError(_NOT_SPELLED)
        return ids, spans
    data = text_bytes(text)
    if matcher is None:
        return _with_gaps(encoder, token_bytes, bytes(data))
    matcher.check(data)
    found: list[IdsAndSpans] = []
    for start, end, token_id in matcher.spans(data):
        if token_id is None:
            ids, spans = _with_gaps(encoder, token_bytes, bytes(data[start:end]))
            found.append((ids, spans + start))
        else:
            found.append(_token(token_id, start, end))
    return _joined(found)


def check_has_offsets(encoder: TextEncoder) -> None:
    """Raise `VocabularyError` for models whose tokens do not spell the text."""
    model = encoder.encoder.model
    if isinstance(model, WordPiece) or (isinstance(model, WordBPE) and not model.is_of_bytes):
        raise VocabularyError(
            "the tokens of words do not spell the text, so they have no offsets; encode without offsets"
        )


def _with_gaps(encoder: TextEncoder, token_bytes: TokenBytes, data: bytes) -> IdsAndSpans:
    """Return the ids and spans of a text whose pattern drops the text between pretokens."""
    kept, ends, text_ends = encoder.splitter.cut(data)
    ids = encoder.encode_pretokens(kept, ends)
    spans = token_bytes.spans(ids)
    # a token is within one pretoken, so it moves by as much as the pretoken
    return ids, spans + (text_ends - ends)[np.searchsorted(ends, spans[:, :1], side="right")]


def _token(token_id: int, start: int, end: int) -> IdsAndSpans:
    return np.array([token_id], np.uint32), np.array([[start, end]], np.int64)


def _joined(found: Iterable[IdsAndSpans]) -> IdsAndSpans:
    listed = list(found)
    return (
        np.concatenate([np.empty(0, np.uint32), *(ids for ids, _ in listed)]),
        np.concatenate([np.empty((0, 2), np.int64), *(spans for _, spans in listed)]),
    )


def _by_rules(encoder: RuleEncoder, token_bytes: TokenBytes, text: Text, matcher: Matcher | None) -> IdsAndSpans:
    """Return the ids that `RuleEncoder.to_array` returns, and their spans, mapped back through each step."""
    data = text_bytes(text)
    matcher = matcher or NOTHING
    matcher.check(data)
    found: list[IdsAndSpans] = []
    for start, end, token_id in matcher.spans(data):
        if token_id is None:
            piece = encoder.decoded(data[start:end])
            ids, spans = _piece(encoder, token_bytes, piece, matcher.after, int(start == 0))
            byte_offsets = np.concatenate([[0], np.cumsum(_sizes(piece))]) + start
            found.append((ids, byte_offsets[spans]))
        else:
            found.append(_token(token_id, start, end))
    return _joined(found)


def _piece(
    encoder: RuleEncoder, token_bytes: TokenBytes, piece: str, after: Matcher | None, head: int
) -> IdsAndSpans:
    """Return the ids of a piece between special tokens, and their spans in its characters."""
    aligned = align(encoder.rules.normalizers, piece)
    head = aligned.head if head > 0 else 0
    is_marked = encoder.marks_blanks and not encoder.rules.pre_tokenizers
    text = aligned.text.replace(SPACE_MARK, " ") if is_marked else aligned.text
    data = text.encode("utf-8", "surrogateescape")
    parts = NOTHING.spans(data) if after is None else after.spans(data)
    found: list[IdsAndSpans] = []
    done = characters = 0
    for start, end, token_id in parts:
        # a token may begin within the white space that the token before it has taken
        characters += len(encoder.decoded(data[done:start])) - len(encoder.decoded(data[start:done]))
        part, first, done = encoder.decoded(data[start:end]), characters, end
        characters += len(part)
        if token_id is None:
            ids, spans = _plain(encoder, token_bytes, part, max(head - first, 0))
        else:
            ids, spans = _token(token_id, 0, len(part))
        found.append((ids, spans + first))
    ids, spans = _joined(found)
    if len(ids):
        spans = np.stack([aligned.sources[spans[:, 0]], aligned.sources[spans[:, 1] - 1] + 1], axis=1)
    return ids, spans


def _plain(encoder: RuleEncoder, token_bytes: TokenBytes, part: str, head: int) -> IdsAndSpans:
    """Return the ids of normalized text without special tokens, and their spans in its characters."""
    text = prefixed(encoder.rules.prefix, part, head)
    if encoder.marks_blanks:
        text = text.replace(SPACE_MARK, " ")
    data = text.encode("utf-8", "surrogateescape")
    if encoder.rules.pre_tokenizers:
        found = pretokens(encoder.rules.pre_tokenizers, text, head=head)
        joined = b"".join(found).replace(SPACE_MARK.encode(), b" ") if encoder.marks_blanks else b"".join(found)
        if not joined.endswith(data):
            raise VocabularyError(
                f"pre-tokenizers {encoder.rules.pre_tokenizers} drop or change text in a way that has no offsets; "
                "encode without offsets"
            )
        data = joined
    elif encoder.splitter.pattern.drops_gaps:
        raise VocabularyError(
            f"pattern {encoder.splitter.pattern} drops text, so its tokens have no offsets; encode without offsets"
        )
    ids = encoder.encode_normalized(part, None, head)
    lengths = token_bytes.lengths(ids)
    if lengths.sum() != len(data):
        raise VocabularyError(_NOT_SPELLED)
    spans = np.stack([np.cumsum(lengths) - lengths, np.cumsum(lengths)], axis=1)
    map_spans(data, spans, "char")
    # an inserted prefix belongs to the first character
    added = len(encoder.decoded(data)) - len(part)
    return ids, np.stack([np.maximum(spans[:, 0] - added, 0), np.maximum(spans[:, 1] - added, 1)], axis=1)


def _sizes(text: str) -> Spans:
    """Return the number of UTF-8 bytes of each character; a surrogate that stands for a byte has one."""
    points = np.frombuffer(text.encode("utf-32-le", "surrogatepass"), np.uint32)
    sizes = 1 + (points >= 0x80) + (points >= 0x800) + (points >= 0x10000)
    return np.where((points >= 0xDC80) & (points <= 0xDCFF), 1, sizes).astype(np.int64)
