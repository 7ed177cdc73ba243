"""Documents of ids of an old vocabulary become documents of ids of a new one: ids -> bytes -> ids.

A block of documents is worked on at once, in C, with the interpreter's lock released:

    old ids   [BOS] low er <|sep|> low [EOS]      cut off BOS and EOS, find the special tokens
    segments  "lower"  <|sep|>  "low"             the bytes between special tokens
    again     low er <|sep|> low                  encoded by the old vocabulary: the same ids, or not canonical
    new ids   lower <|new sep|> low               encoded by the new one, with its special tokens
    written   [bos] lower <|new sep|> low [eos]   between the new ids around documents

Where the rules of a tokenizer may change a text (normalizers, prefixes), segments depend on each other: then a document
with special tokens is encoded as one text in which special tokens count only where there were some.
"""

from __future__ import annotations

from collections.abc import Mapping
from itertools import pairwise
from typing import Any, TypeAlias

from ..core.documents import Layout
from ..core.places import PlacesCall, TextRanges
from ..encoding.engine import TextEncoder
from ..errors import CorpusError, TokenIdError
from ..lazy import lazy_property, np, npt
from ..pipeline.special_tokens import Matcher
from ..records import dataclass
from ..text import Text
from ..tokenizer import Tokenizer
from ..training.vocabulary_map import mapped_specials
from .formats import Lengths

#: Ids of documents, one after another, and how many each has: uint32[n], int64[documents].
Documents: TypeAlias = "tuple[npt.NDArray[np.uint32], Lengths]"
#: Special tokens of the old vocabulary: with a counterpart, encoded as text, and without either.
_MAPPED, _AS_TEXT, _LACKING = 1, 2, 3
#: Runs of special ids that are looked for one by one.
_MOST_RUNS = 8


@dataclass(frozen=True)
class Retokenized:
    """Documents in ids of the new vocabulary.

    `ids` are as files have them, `lengths` the number of ids of each document.  `text` is the bytes that were encoded,
    `unknown` the ids that are the unknown token, and `not_canonical` the documents whose old ids are not those by which
    the old vocabulary encodes their bytes.
    """

    ids: npt.NDArray[np.uint8]
    lengths: Lengths
    text: int
    unknown: int
    not_canonical: int


@dataclass(frozen=True)
class _Segments:
    """The bytes of documents between their special tokens.

    `data` has all segments, which end at `ends`.  Document i has `counts[i]` segments, between each two of them one of
    `specials`.
    """

    data: bytes
    ends: npt.NDArray[np.int64]
    counts: npt.NDArray[np.int64]
    specials: npt.NDArray[np.uint32]


class Retokenizer:
    """Encodes documents of ids of an old vocabulary by a new one; shared by any number of threads.

    `special` names special tokens of the old vocabulary that have another text in the new one, or `None` for those
    that are encoded as text; others have the same text.  `bos` and `eos` are the old ids at the beginning and the end
    of each document, and `layout` has those of the new one.
    """

    def __init__(
        self, old: Tokenizer, new: Tokenizer, special: Mapping[str, str | None] | None = None, *,
        bos: int | None = None, eos: int | None = None, layout: Layout,
    ) -> None:  # fmt: skip
        self._layout, self._bos, self._eos = layout, bos, eos
        around = [[] if token is None else [token] for token in (bos, eos)]
        # documents as a file of ids of so many bytes has them
        self._old_layouts = {size: Layout(*around, size) for size in (2, 4) if max(bos or 0, eos or 0) >> 8 * size == 0}
        self._lost = _unknown_of(old)
        self._decoder, self._old_side, self._new_side = old._parts.decoder, _Side(old), _Side(new)
        self._unknown = new.unk_token_id
        tokens = {**old.added_tokens, **old.special_tokens}
        # an added token that is not special is text, unless it is named
        marked = {text: tokens[text] for text in (*old.special_tokens, *(special or ()))}
        self._names = {token_id: text for text, token_id in marked.items()}
        # by old id
        self._kinds = np.zeros(old.vocab_size, np.uint8)
        self._mapped = np.zeros(old.vocab_size, np.uint32)
        mapped = mapped_specials(old, new, special)
        for token_id in self._names:
            other = mapped.get(token_id)
            if other is not None:
                self._kinds[token_id], self._mapped[token_id] = _MAPPED, other
            else:
                self._kinds[token_id] = _AS_TEXT if token_id in mapped else _LACKING
        # the first and last id of neighbours that are special, or of all of them if they are scattered
        marked_ids = np.flatnonzero(self._kinds)
        cuts = np.flatnonzero(np.diff(marked_ids) > 1)
        firsts, lasts = [*marked_ids[:1], *marked_ids[cuts + 1]], [*marked_ids[cuts], *marked_ids[-1:]]
        if len(firsts) > _MOST_RUNS:
            firsts, lasts = firsts[:1], lasts[-1:]
        self._runs = [(int(first), int(last)) for first, last in zip(firsts, lasts, strict=True)]

    def documents(self, ids: npt.NDArray[np.unsignedinteger[Any]], lengths: Lengths) -> Retokenized:
        """Return documents in ids of the new vocabulary; `CorpusError` on ids that are none of the old one's.

        `ids` are uint16 or uint32[n].
        """
        starts, ends = self._inner(ids, lengths)
        places = self._places(ids, starts, ends)
        kinds = self._kinds[ids[places]]
        if (kinds == _LACKING).any():
            self._refuse(int(ids[places[kinds == _LACKING][0]]))
        try:
            segments = self._segments(ids, starts, ends, places)
            # a special token that is text now is part of the segment around it
            texts = segments
            if (kinds == _AS_TEXT).any():
                texts = self._segments(ids, starts, ends, places[kinds == _MAPPED])
        except TokenIdError as error:
            raise CorpusError(f"{error} of the old vocabulary") from error
        not_canonical = self._not_canonical(ids, lengths, starts, ends, segments)
        written, counts, unknown = self._written(texts)
        return Retokenized(written, counts, len(texts.data), unknown, not_canonical)

    def _inner(
        self, ids: npt.NDArray[np.unsignedinteger[Any]], lengths: Lengths
    ) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]:
        """Return where documents begin and end without the ids around them, which one that was cut off may lack."""
        ends = np.cumsum(lengths, dtype=np.int64)
        starts = ends - lengths
        if self._bos is not None:
            has = np.flatnonzero(ends > starts)
            starts[has] += ids[starts[has]] == self._bos
        if self._eos is not None:
            has = np.flatnonzero(ends > starts)
            ends[has] -= ids[ends[has] - 1] == self._eos
        return starts, ends

    def _places(
        self, ids: npt.NDArray[np.unsignedinteger[Any]], starts: npt.NDArray[np.int64], ends: npt.NDArray[np.int64]
    ) -> npt.NDArray[np.int64]:
        """Return where special tokens are within documents."""
        found, most = np.zeros(len(ids), np.bool_), int(np.iinfo(ids.dtype).max)
        for first, last in self._runs:
            if first <= most:  # smaller numbers become large ones
                found |= ids - ids.dtype.type(first) <= min(last, most) - first
        places = np.flatnonzero(found)
        places = places[self._kinds[ids[places]] > 0]
        if len(places) and (self._bos is not None or self._eos is not None):
            document = np.searchsorted(ends, places, "right")
            is_within = document < len(ends)
            is_within[is_within] = starts[document[is_within]] <= places[is_within]
            places = places[is_within]
        return places

    def _not_canonical(
        self, ids: npt.NDArray[np.unsignedinteger[Any]], lengths: Lengths, starts: npt.NDArray[np.int64],
        ends: npt.NDArray[np.int64], segments: _Segments,
    ) -> int:  # fmt: skip
        """Return how many documents have other ids than those by which the old vocabulary encodes their bytes."""
        plain = self._old_side.plain
        layout = self._old_layouts.get(ids.itemsize)
        if plain is not None and layout is not None and not len(segments.specials):
            # as long as all documents are canonical, and have ids between those around them
            again, counts = layout.encode(plain, segments.data, segments.ends)
            if np.array_equal(counts, lengths) and np.array_equal(again.view(ids.dtype), ids):
                return 0
        differ = _differ(_cut(ids, starts, ends), self._old_side.encoded(segments, segments.specials))
        if self._lost is not None:
            # the text of an unknown token is lost, whatever stands for it now
            differ[np.searchsorted(ends, np.flatnonzero(ids == self._lost), "right")] = True
        return int(np.count_nonzero(differ))

    def _refuse(self, token_id: int) -> None:
        text = self._names[token_id]
        raise CorpusError(
            f"a document has the special token {text!r}, id {token_id}, and the new vocabulary has none of this text; "
            f"name its counterpart by special={{{text!r}: ...}}, or give None for it to be encoded as text"
        )

    def _segments(
        self, ids: npt.NDArray[np.unsignedinteger[Any]], starts: npt.NDArray[np.int64], ends: npt.NDArray[np.int64],
        places: npt.NDArray[np.int64],
    ) -> _Segments:  # fmt: skip
        """Return the bytes of documents that are divided at special tokens."""
        document = np.searchsorted(ends, places, "right")
        counts = np.ones(len(starts), np.int64)
        np.add.at(counts, document, 1)
        data, bounds = self._decoder.segments(ids, starts, ends, places, counts)
        return _Segments(data, bounds, counts, ids[places].astype(np.uint32))

    def _written(self, texts: _Segments) -> tuple[npt.NDArray[np.uint8], Lengths, int]:
        """Return documents as files have them, the number of ids of each, and how many are the unknown one."""
        plain = self._new_side.plain
        if plain is not None and not len(texts.specials):
            written, lengths = self._layout.encode(plain, texts.data, texts.ends)
            # a vocabulary of bytes has no unknown token
            return written, lengths, 0
        mapped = self._mapped[texts.specials]
        ids, counts = self._new_side.encoded(texts, mapped)
        unknown = 0
        if self._unknown is not None:  # which may be a special token that stands for itself
            unknown = int(np.count_nonzero(ids == self._unknown)) - int(np.count_nonzero(mapped == self._unknown))
        offsets = np.zeros(len(counts) + 1, np.int64)
        np.cumsum(counts, out=offsets[1:])
        return *self._layout.place(ids, offsets), unknown


class _Side:
    """Encodes segments of documents by one tokenizer."""

    def __init__(self, tokenizer: Tokenizer) -> None:
        self._tokenizer = tokenizer
        self._encoder: TextEncoder = tokenizer._parts.encoder
        self._matcher: Matcher | None = tokenizer._parts.specials.matcher()
        #: The encoder that takes texts as they are, if the tokenizer has no rules and no added tokens.
        self.plain = self._encoder.plain if self._matcher is None else None
        self._bare = Layout((), (), 4)
        self._texts = {
            token_id: text.encode("utf-8", "surrogatepass")
            for text, token_id in (*tokenizer.added_tokens.items(), *tokenizer.special_tokens.items())
        }

    @lazy_property
    def _in_ranges(self) -> PlacesCall:
        """The call for texts with special tokens in ranges of level 1."""
        added = frozenset(self._tokenizer.added_tokens)
        matcher = self._tokenizer._parts.specials.in_ranges((added, added.union(self._tokenizer.special_tokens)))
        return self._tokenizer._parts.places.in_ranges(matcher)

    def encoded(self, segments: _Segments, specials: npt.NDArray[np.uint32]) -> Documents:
        """Return the ids of documents, with `specials` between their segments."""
        if not len(specials):
            return self._rows(segments)
        if not self._encoder.has_rules:
            return _woven(self._rows(segments), segments.counts, specials)
        data, bounds, at = segments.data, [0, *segments.ends.tolist()], 0
        rows: list[npt.NDArray[np.uint32]] = []
        for count in segments.counts.tolist():
            texts = [data[start:end] for start, end in pairwise(bounds[at : at + count + 1])]
            rows.append(self._document(texts, specials[at - len(rows) : at - len(rows) + count - 1].tolist()))
            at += count
        return np.concatenate([np.empty(0, np.uint32), *rows]), np.array([len(row) for row in rows], np.int64)

    def _rows(self, segments: _Segments) -> Documents:
        if self.plain is not None:
            ids, lengths = self._bare.encode(self.plain, segments.data, segments.ends)
            return ids.view(np.uint32), lengths
        data = segments.data
        texts: list[Text] = [data[start:end] for start, end in pairwise([0, *segments.ends.tolist()])]
        rows = self._encoder.rows(texts, self._matcher, 1)
        return rows.ids, np.diff(rows.offsets)

    def _document(self, texts: list[bytes], specials: list[int]) -> npt.NDArray[np.uint32]:
        """Return the ids of one text in which special tokens count only between its segments."""
        if not specials:
            return self._encoder.to_array(texts[0], self._matcher, 1)
        parts = [texts[0]]
        for token_id, text in zip(specials, texts[1:], strict=True):
            parts += self._texts[token_id], text
        ends = np.cumsum([len(part) for part in parts], dtype=np.int64)
        levels = np.arange(len(parts)).astype(np.uint8) & 1
        ids, _ = self._in_ranges.encode_ranges(b"".join(parts), TextRanges(ends, levels))
        return ids.view(np.uint32)


def _unknown_of(tokenizer: Tokenizer) -> int | None:
    """Return the id that the model of a tokenizer writes for text that it lacks."""
    characters, model = tokenizer.spec.characters, tokenizer.spec.model
    found: int | None = getattr(model, "unknown", None)
    return found if characters is None or characters.unknown is None else characters.unknown


def _woven(rows: Documents, counts: npt.NDArray[np.int64], specials: npt.NDArray[np.uint32]) -> Documents:
    """Return the ids of documents of rows, of which document i has `counts[i]`, with special tokens between."""
    ids, lengths = rows
    lasts = np.cumsum(counts) - 1
    follows = np.ones(len(lengths), np.int64)
    follows[lasts] = 0
    steps = lengths + follows
    ends = np.cumsum(steps)
    places = ends[follows > 0] - 1
    out = np.empty(len(ids) + len(specials), np.uint32)
    is_text = np.ones(len(out), np.bool_)
    is_text[places] = False
    out[places], out[is_text] = specials, ids
    return out, np.diff(ends[lasts], prepend=0)


def _cut(
    ids: npt.NDArray[np.unsignedinteger[Any]], starts: npt.NDArray[np.int64], ends: npt.NDArray[np.int64]
) -> Documents:
    """Return documents without the ids around them."""
    lengths = ends - starts
    if int(lengths.sum()) < len(ids):
        is_inner = np.zeros(len(ids) + 1, np.int8)
        np.add.at(is_inner, starts, 1)
        np.add.at(is_inner, ends, -1)
        ids = ids[np.cumsum(is_inner[:-1], dtype=np.int8).astype(np.bool_)]
    return ids.astype(np.uint32, copy=False), lengths


def _differ(one: Documents, other: Documents) -> npt.NDArray[np.bool_]:
    """Return which documents have other ids: bool[documents]."""
    (ids, lengths), (others, other_lengths) = one, other
    differ: npt.NDArray[np.bool_] = lengths != other_lengths
    same = np.flatnonzero(~differ)
    if len(same) < len(lengths):
        ids, others = ids[np.repeat(~differ, lengths)], others[np.repeat(~differ, other_lengths)]
    wrong = np.flatnonzero(ids != others)
    differ[same[np.searchsorted(np.cumsum(lengths[same]), wrong, "right")]] = True
    return differ
