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

from collections.abc import Callable, Collection, Iterator, Mapping
from typing import Any

from ..core.documents import Layout, differing_rows
from ..core.ids import TokenBytes
from ..errors import CorpusError, TokenIdError
from ..lazy import np, npt
from ..records import dataclass
from ..spec.spec import other_tokens
from ..text import counted
from ..tokenizer import Tokenizer
from ..training.vocabulary_map import mapped_specials
from .documents import EncodedDocuments
from .formats import Lengths
from .ids import IdDocuments, digest_of_ids
from .plan import Source
from .policy import ShardPolicy
from .readers import IdBlock
from .segments import SegmentEncoder, Segments

#: Special tokens of the old vocabulary: with a counterpart, encoded as text, and without either.
_MAPPED, _AS_TEXT, _LACKING = 1, 2, 3
#: Runs of special ids that are looked for one by one.
_MOST_RUNS = 8


@dataclass(frozen=True)
class Retokenized:
    """Documents in ids of the new vocabulary.

    `ids` are as files have them, `lengths` the number of ids of each document.  `text` is the bytes that were encoded,
    `unknown` the ids that are the unknown token, and `not_canonical` those of `checked` documents whose old ids are not
    those by which the old vocabulary encodes their bytes.
    """

    ids: npt.NDArray[np.uint8]
    lengths: Lengths
    text: int
    unknown: int
    checked: int
    not_canonical: int


class Retokenizer:
    """Encodes documents of ids of an old vocabulary by a new one; shared by any number of threads.

    `special` names special tokens of the old vocabulary that have another text in the new one, or `None` for those
    that are encoded as text; others have the same text.  `bos` and `eos` are the old ids at the beginning and the end
    of each document, and `layout` has those of the new one.  `check` is the share of documents that are encoded again.
    """

    def __init__(
        self, old: Tokenizer, new: Tokenizer, special: Mapping[str, str | None] | None = None, *,
        bos: int | None = None, eos: int | None = None, check: float = 1.0, layout: Layout,
    ) -> None:  # fmt: skip
        self._layout, self._bos, self._eos, self._check = layout, bos, eos, check
        self._lost = _unknown_of(old)
        self._decoder, self._old_side, self._new_side = old._parts.decoder, SegmentEncoder(old), SegmentEncoder(new)
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
        self._texts = _text_tokens(old, self._names)
        # the first and last id of neighbours that are special, or of all of them if they are scattered
        marked_ids = np.flatnonzero(self._kinds)
        cuts = np.flatnonzero(np.diff(marked_ids) > 1)
        firsts, lasts = [*marked_ids[:1], *marked_ids[cuts + 1]], [*marked_ids[cuts], *marked_ids[-1:]]
        if len(firsts) > _MOST_RUNS:
            firsts, lasts = firsts[:1], lasts[-1:]
        self._runs = [(int(first), int(last)) for first, last in zip(firsts, lasts, strict=True)]

    def documents(
        self, ids: npt.NDArray[np.unsignedinteger[Any]], lengths: Lengths, at: int, where: Callable[[int], str]
    ) -> Retokenized:
        """Return documents in ids of the new vocabulary.

        `ids` are uint16 or uint32[n], the first of them number `at` of its file, and `where` returns what an error
        calls the document of one of them, by its number.  Raises `CorpusError` on an id that is no token of the old
        vocabulary, and on a special token that the new one lacks.
        """
        segments, texts = self._divided(ids, lengths, where)
        checked, not_canonical = self._checked(ids, lengths, segments, at)
        written, counts, unknown = self._written(texts)
        return Retokenized(written, counts, len(texts.data), unknown, checked, not_canonical)

    def texts(
        self, ids: npt.NDArray[np.unsignedinteger[Any]], lengths: Lengths, where: Callable[[int], str]
    ) -> Iterator[bytes | None]:
        """Yield the bytes of each document that are encoded, without special tokens; `None` where there is nothing."""
        _, texts = self._divided(ids, lengths, where)
        lasts = np.cumsum(texts.counts)
        ends = texts.ends[lasts - 1].tolist()
        for count, start, end in zip(texts.counts.tolist(), [0, *ends], ends, strict=False):
            yield texts.data[start:end] if count > 1 or end > start else None

    def _divided(
        self, ids: npt.NDArray[np.unsignedinteger[Any]], lengths: Lengths, where: Callable[[int], str]
    ) -> tuple[Segments, Segments]:
        """Return the bytes of documents between special tokens, and between those that are no text now."""
        starts, ends = self._inner(ids, lengths)
        segments = self._without_specials(ids, starts, ends)
        return self._with_specials(ids, starts, ends, where) if segments is None else (segments, segments)

    def _without_specials(
        self, ids: npt.NDArray[np.unsignedinteger[Any]], starts: npt.NDArray[np.int64], ends: npt.NDArray[np.int64]
    ) -> Segments | None:
        """Return the bytes of documents; `None` if one has a special token or no token."""
        if self._texts is None:
            return None
        try:
            data, bounds = self._texts.rows(ids, starts, ends)
        except TokenIdError:
            return None
        return Segments(data, bounds, np.ones(len(starts), np.int64), np.empty(0, np.uint32))

    def _with_specials(
        self, ids: npt.NDArray[np.unsignedinteger[Any]], starts: npt.NDArray[np.int64], ends: npt.NDArray[np.int64],
        where: Callable[[int], str],
    ) -> tuple[Segments, Segments]:  # fmt: skip
        wrong = np.flatnonzero(ids >= len(self._kinds))
        if len(wrong):
            raise CorpusError(
                f"{where(int(wrong[0]))} has the id {ids[wrong[0]]}; the vocabulary has "
                f"{counted(len(self._kinds), 'id')}: name the tokenizer that made the ids"
            )
        places = self._places(ids, starts, ends)
        kinds = self._kinds[ids[places]]
        if (kinds == _LACKING).any():
            first = int(places[kinds == _LACKING][0])
            self._refuse(int(ids[first]), where(first))
        try:
            segments = texts = self._segments(ids, starts, ends, places)
            if (kinds == _AS_TEXT).any():
                texts = self._segments(ids, starts, ends, places[kinds == _MAPPED])
        except TokenIdError as error:
            raise CorpusError(f"{where(0)} or one after it: {error}; name the tokenizer that made the ids") from error
        return segments, texts

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
            if first <= most:  # smaller numbers become large ones, and a few of these are left out below
                found |= ids - ids.dtype.type(first) <= last - first
        places: npt.NDArray[np.int64] = np.flatnonzero(found)
        places = places[self._kinds[ids[places]] > 0]
        if len(places) and (self._bos is not None or self._eos is not None):
            document = np.searchsorted(ends, places, "right")
            is_within = document < len(ends)
            is_within[is_within] = starts[document[is_within]] <= places[is_within]
            places = places[is_within]
        return places

    def _checked(
        self, ids: npt.NDArray[np.unsignedinteger[Any]], lengths: Lengths, segments: Segments, at: int
    ) -> tuple[int, int]:
        """Return how many documents are encoded by the old vocabulary again, and how many of them have other ids."""
        if self._check == 1.0:
            return len(lengths), self._not_canonical(ids, lengths, segments)
        starts = np.cumsum(lengths) - lengths
        chosen = _chosen(starts + at, self._check)
        some, their_lengths = ids[np.repeat(chosen, lengths)], lengths[chosen]
        if not len(their_lengths):
            return 0, 0
        inner = self._inner(some, their_lengths)
        found = self._without_specials(some, *inner)
        if found is None:
            found = self._segments(some, *inner, self._places(some, *inner))
        return len(their_lengths), self._not_canonical(some, their_lengths, found)

    def _not_canonical(
        self, ids: npt.NDArray[np.unsignedinteger[Any]], lengths: Lengths, segments: Segments
    ) -> int:
        """Return how many documents have other ids than those by which the old vocabulary encodes their bytes."""
        starts, ends = self._inner(ids, lengths)
        differ = differing_rows(ids, starts, ends, *self._old_side.encoded(segments, segments.specials))
        if self._lost is not None:
            # the text of an unknown token is lost, whatever stands for it now
            differ[np.searchsorted(ends, np.flatnonzero(ids == self._lost), "right")] = True
        return int(np.count_nonzero(differ))

    def _refuse(self, token_id: int, document: str) -> None:
        text = self._names[token_id]
        raise CorpusError(
            f"{document} has the special token {text!r}, id {token_id}, and the new vocabulary has none of this text; "
            f"name its counterpart, special={{{text!r}: ...}}, or None for it to be encoded as text"
        )

    def _segments(
        self, ids: npt.NDArray[np.unsignedinteger[Any]], starts: npt.NDArray[np.int64], ends: npt.NDArray[np.int64],
        places: npt.NDArray[np.int64],
    ) -> Segments:  # fmt: skip
        """Return the bytes of documents that are divided at special tokens."""
        document = np.searchsorted(ends, places, "right")
        counts = np.ones(len(starts), np.int64)
        np.add.at(counts, document, 1)
        data, bounds = self._decoder.segments(ids, starts, ends, places, counts)
        return Segments(data, bounds, counts, ids[places].astype(np.uint32))

    def _written(self, texts: Segments) -> tuple[npt.NDArray[np.uint8], Lengths, int]:
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


class RetokenizedDocuments(IdDocuments):
    """Reads documents of ids as a policy has them, and encodes them by another vocabulary."""

    #: A text is encoded as a whole.
    slices = False

    def __init__(self, policy: ShardPolicy, old: Tokenizer, new: Tokenizer) -> None:
        assert policy.reading is not None
        assert policy.old is not None
        super().__init__(policy, policy.reading)
        self._limit, self._limit_of = old.vocab_size, "the vocabulary"
        reading, special = policy.reading, dict(policy.old.special)
        self._retokenizer = Retokenizer(
            old, new, special, bos=reading.bos, eos=reading.eos, check=policy.old.check, layout=policy.layout
        )

    def encoded(self, block: IdBlock) -> EncodedDocuments:
        """Return a block in ids of the new vocabulary; raises as `Retokenizer.documents`."""
        found = self._retokenizer.documents(self._ids(block), block.lengths, block.at, block.place)
        self._check_ends(block, found.ids, found.lengths)
        return EncodedDocuments(
            found.ids, found.lengths, found.text, read=block.read, digest=digest_of_ids(block),
            keys=None if block.keys is None else list(block.keys), unknown=found.unknown, checked=found.checked,
            not_canonical=found.not_canonical,
        )  # fmt: skip

    def _check_ends(self, block: IdBlock, ids: npt.NDArray[np.uint8], lengths: Lengths) -> None:
        """Raise `CorpusError` when EOS or BOS is within a document, where the format has no other boundaries."""
        policy = self._policy
        name, mark = ("bos", policy.bos) if policy.eos is None else ("eos", policy.eos)
        expected = np.count_nonzero(lengths)
        if policy.files.has_boundaries or np.count_nonzero(ids.view(policy.dtype) == mark) == expected:
            return
        raise CorpusError(
            f"{block.place(0)}, or one after it, has the special token that becomes {name}, {mark}, within it; the "
            f"format {policy.format!r} would end it there: choose a format with boundaries, such as 'megatron'"
        )

    def texts(self, source: Source) -> Iterator[bytes | None]:
        """Yield what of each document of a source is encoded, as `Retokenizer.texts` does."""
        for block in self.blocks(source):
            yield from self._retokenizer.texts(self._ids(block), block.lengths, block.place)

    def _ids(self, block: IdBlock) -> npt.NDArray[np.unsignedinteger[Any]]:
        """Return the ids of a block as uint16 or uint32; `CorpusError` names one that cannot be there."""
        ids: npt.NDArray[Any] = block.ids
        if ids.dtype == np.int32:
            return ids.view(np.uint32)
        return ids if ids.dtype in (np.uint16, np.uint32) else self.checked(block).astype(np.uint32)


def _text_tokens(tokenizer: Tokenizer, marked: Collection[int]) -> TokenBytes | None:
    """Return the bytes of all tokens but those `marked`, which are none then; `None` if texts are not made of them."""
    spec, decoder = tokenizer.spec, tokenizer._parts.decoder
    if not decoder.is_plain:
        return None
    if decoder.token_bytes is tokenizer._parts.vocabulary.tokens and not any(each in spec.vocab for each in marked):
        return TokenBytes(spec.vocab, {each: token for each, token in other_tokens(spec).items() if each not in marked})
    ids = np.array([each for each in sorted({*spec.vocab, *other_tokens(spec)}) if each not in marked], np.uint32)
    data, spans = decoder.token_bytes.join(ids), decoder.token_bytes.spans(ids).tolist()
    return TokenBytes({each: data[start:end] for each, (start, end) in zip(ids.tolist(), spans, strict=True)})


def _chosen(places: npt.NDArray[np.int64], share: float) -> npt.NDArray[np.bool_]:
    """Return which documents, by the places of their first ids in a file, are in a share of them: bool[n]."""
    # the finalizer of splitmix64, so that neighbours do not go together
    mixed = places.astype(np.uint64) * np.uint64(0x9E3779B97F4A7C15)
    for shift, factor in ((30, 0xBF58476D1CE4E5B9), (27, 0x94D049BB133111EB)):
        mixed = (mixed ^ (mixed >> np.uint64(shift))) * np.uint64(factor)
    chosen: npt.NDArray[np.bool_] = (mixed >> np.uint64(11)) < np.uint64(round(share * (1 << 53)))
    return chosen


def _unknown_of(tokenizer: Tokenizer) -> int | None:
    """Return the id that the model of a tokenizer writes for text that it lacks."""
    characters, model = tokenizer.spec.characters, tokenizer.spec.model
    found: int | None = getattr(model, "unknown", None)
    return found if characters is None or characters.unknown is None else characters.unknown
