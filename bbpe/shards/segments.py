"""Documents of ids as segments of bytes with special tokens between, and the ids by which a tokenizer encodes these."""

from __future__ import annotations

from itertools import pairwise
from typing import TypeAlias

from ..core.documents import Layout
from ..core.places import PlacesCall, TextRanges
from ..encoding.engine import TextEncoder
from ..lazy import lazy_property, np, npt
from ..pipeline.special_tokens import Matcher
from ..records import dataclass
from ..text import Text
from ..tokenizer import Tokenizer
from .formats import Lengths

#: Ids of documents, one after another, and how many each has: uint32[n], int64[documents].
Documents: TypeAlias = "tuple[npt.NDArray[np.uint32], Lengths]"


@dataclass(frozen=True)
class Segments:
    """The bytes of documents between their special tokens.

    `data` has all segments, which end at `ends`.  Document i has `counts[i]` segments, between each two of them one of
    `specials`.
    """

    data: bytes
    ends: npt.NDArray[np.int64]
    counts: npt.NDArray[np.int64]
    specials: npt.NDArray[np.uint32]


class SegmentEncoder:
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

    def encoded(self, segments: Segments, specials: npt.NDArray[np.uint32]) -> Documents:
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

    def _rows(self, segments: Segments) -> Documents:
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
        levels = bytes(number & 1 for number in range(len(parts)))
        ids, _ = self._in_ranges.encode_ranges(b"".join(parts), TextRanges(ends, levels))
        return ids.view(np.uint32)


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

