"""Exact totals of a tokenizer on a corpus, from which evaluation derives all its figures."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, TypeAlias

from ..encoding.token_lengths import token_lengths
from ..lazy import lazy_property, np, npt
from ..records import dataclass, field, replace
from ..spec.models import Vocab
from ..spec.spec import TokenizerSpec
from ..splitting.patterns import Pattern
from ..splitting.splitter import compiled_steps
from ..text import Text, text_bytes
from ..tokenizer import Tokenizer
from ..types import Ragged
from .findings import unknown_id

_Array: TypeAlias = "npt.NDArray[np.int64]"
#: A word is a run of letters and marks.
WORDS = Pattern(None, (r"[\p{L}\p{M}]+",), drops_gaps=True)
#: Scripts that put no blanks between words, so that a run of letters is a phrase.
_UNSPACED = (
    "Han", "Hiragana", "Katakana", "Bopomofo", "Thai", "Lao", "Khmer", "Myanmar", "Tibetan", "Tai_Le", "New_Tai_Lue",
    "Tai_Tham", "Tai_Viet", "Javanese", "Balinese",
)  # fmt: skip
_SCRIPTS = "".join(rf"\p{{Script={name}}}" for name in _UNSPACED)
#: Runs of letters and marks of these scripts.
UNSPACED = Pattern(None, (rf"(?:(?=[\p{{L}}\p{{M}}])[{_SCRIPTS}])+",), drops_gaps=True)
#: The order of the Renyi entropy (Zouhar et al., 2023, "Tokenization and the Noiseless Channel").
ORDER = 2.5
#: Words are followed into their tokens in this many bytes of a corpus.
_FOLLOWED = 1 << 20
_WORDS_AT_ONCE = 1 << 17
#: Ids are counted in parts whose copies fit the cache.
_IDS_AT_ONCE = 1 << 17
#: A text that no token has, of the unknown token of a tokenizer without one.
_UNKNOWN = "\0unknown\0"


@dataclass(frozen=True)
class TextTotals:
    """The size of a corpus: documents, bytes of UTF-8, characters, and words, which are runs of letters and marks.

    `lines` are line feeds, and last lines without one. `letters` are the characters of all words, and `unspaced` the
    letters of scripts that put no blanks between words, such as those of Chinese, Japanese, Thai, Lao and Burmese.
    """

    documents: int
    bytes: int
    characters: int
    words: int
    letters: int = 0
    unspaced: int = 0
    lines: int = 0

    @property
    def has_words(self) -> bool:
        """Whether runs of letters are words: at most half of the letters are of scripts without blanks."""
        return 2 * self.unspaced <= self.letters


@dataclass(frozen=True)
class Measures:
    """The totals of a tokenizer on a corpus, and the figures that follow from them.

    Attributes:
        tokenizer: The name of the tokenizer.
        corpus: The name of the corpus.
        text: The totals of the corpus.
        tokens: The number of tokens.
        split_words: The number of words of several tokens, of `followed_words`.
        followed_words: The words whose tokens were counted, in the first megabyte of the corpus; 0 if ids have no
            places.
        single_bytes: The number of tokens that are one byte of a longer character.
        unknown: The number of unknown tokens; None for a model without one.
        vocabulary: The number of tokens of the vocabulary.
        used: The number of different ids that occur.
        renyi_efficiency: The Renyi entropy of order 2.5 of the ids, over the logarithm of the vocabulary.
        changed: The number of documents whose ids differ from those of the first tokenizer.
        cost_ratio: The tokens over those of the first tokenizer.
        parity: The tokens over those of the reference corpus; None without one.
        bytes_per_token_interval: 95 % of resampled corpora are between these two numbers of bytes per token; None with
            one document.
        cost_ratio_interval: The same of the cost ratio.
        lost: The number of characters, or of bytes or words, that have no token and are left out, as the model has no
            unknown token.

    """

    tokenizer: str
    corpus: str
    text: TextTotals
    tokens: int
    split_words: int
    followed_words: int
    single_bytes: int
    unknown: int | None
    vocabulary: int
    used: int
    renyi_efficiency: float | None
    changed: int = 0
    cost_ratio: float | None = None
    parity: float | None = None
    bytes_per_token_interval: tuple[float, float] | None = None
    cost_ratio_interval: tuple[float, float] | None = None
    lost: int = 0

    @property
    def bytes_per_token(self) -> float | None:
        """The bytes of all documents over their tokens."""
        return _ratio(self.text.bytes, self.tokens)

    @property
    def characters_per_token(self) -> float | None:
        """The characters of all documents over their tokens."""
        return _ratio(self.text.characters, self.tokens)

    @property
    def fertility(self) -> float | None:
        """The tokens over the words; None for text of a script without blanks between words."""
        return _ratio(self.tokens, self.text.words) if self.text.has_words else None

    @property
    def split_share(self) -> float | None:
        """The share of words of several tokens; None for text of a script without blanks between words."""
        return _ratio(self.split_words, self.followed_words) if self.text.has_words else None

    @property
    def single_byte_share(self) -> float | None:
        """The share of tokens that are one byte of a longer character."""
        return _ratio(self.single_bytes, self.tokens)

    @property
    def unknown_share(self) -> float | None:
        """The share of unknown tokens; None for a model without one."""
        return None if self.unknown is None else _ratio(self.unknown, self.tokens)

    @property
    def used_share(self) -> float | None:
        """The share of the vocabulary that occurs."""
        return _ratio(self.used, self.vocabulary)

    @property
    def loses_text(self) -> bool:
        """Whether some of the text became unknown tokens, or was left out."""
        return bool(self.unknown or self.lost)

    @property
    def changed_share(self) -> float | None:
        """The share of documents whose ids differ from those of the first tokenizer."""
        return _ratio(self.changed, self.text.documents)

    def as_dict(self) -> dict[str, Any]:
        """Return all counts and figures as data for JSON."""
        text = {name: getattr(self.text, name) for name in self.text.__dataclass_fields__}
        names = [name for name in self.__dataclass_fields__ if name != "text"]
        figures = (
            "bytes_per_token", "characters_per_token", "fertility", "split_share", "single_byte_share",
            "unknown_share", "used_share", "changed_share",
        )  # fmt: skip
        return {**text, **{name: getattr(self, name) for name in (*names, *figures)}}


def _ratio(part: float, whole: float) -> float | None:
    return part / whole if whole else None


@dataclass
class CorpusCount:
    """The totals of a corpus while it is read, with the bytes of each document."""

    characters: int = 0
    words: int = 0
    letters: int = 0
    unspaced: int = 0
    lines: int = 0
    sizes: list[int] = field(default_factory=list)
    #: The bytes of a corpus whose words are not yet followed.
    left: int = _FOLLOWED

    def add(self, batch: DocumentBatch) -> Head:
        """Count the documents of a batch, and return those whose words are followed."""
        self.sizes += batch.sizes.tolist()
        self.characters += batch.characters
        self.words += len(batch.word_starts)
        self.letters += batch.letters
        self.unspaced += batch.unspaced
        self.lines += batch.lines
        head = Head(batch, self.left)
        self.left -= head.size
        return head

    def totals(self) -> TextTotals:
        """Return the totals."""
        return TextTotals(
            len(self.sizes), sum(self.sizes), self.characters, self.words, self.letters, self.unspaced,
            self.lines,
        )  # fmt: skip


class DocumentBatch:
    """Documents as one text, in which a line feed ends each: their starts, sizes, characters and words."""

    def __init__(self, texts: Sequence[Text]) -> None:
        self.texts = [text if type(text) is bytes else bytes(text_bytes(text)) for text in texts]
        self.data = b"\n".join([*self.texts, b""])
        self.sizes = np.array([len(text) for text in self.texts], np.int64)
        self.starts = np.cumsum(self.sizes + 1) - self.sizes - 1
        #: Where each word starts and ends in `data`, int64[n].
        self.word_starts, self.word_ends = _spans(WORDS, self.data)
        self._begins = (np.frombuffer(self.data, np.uint8) & 0xC0) != 0x80
        self.characters = int(np.count_nonzero(self._begins)) - len(self.texts)

    @property
    def lines(self) -> int:
        """The line feeds of all documents, and the last lines without one."""
        ended = sum(text[-1:] == b"\n" or not text for text in self.texts)
        return self.data.count(b"\n") - ended

    @lazy_property
    def letters(self) -> int:
        """The characters of all words."""
        return self._characters_in(self.word_starts, self.word_ends)

    @lazy_property
    def unspaced(self) -> int:
        """The letters of scripts that put no blanks between words."""
        return self._characters_in(*_spans(UNSPACED, self.data))

    def _characters_in(self, starts: _Array, ends: _Array) -> int:
        if not len(starts):
            return 0
        # the sums of all spans and of all gaps after them, in turn; the last line feed is in a gap
        borders = np.stack((starts, ends), axis=1).ravel()
        return int(np.add.reduceat(self._begins, borders, dtype=np.int64)[::2].sum())


def _spans(pattern: Pattern, data: bytes) -> tuple[_Array, _Array]:
    """Return where each match starts and ends."""
    steps = compiled_steps(pattern)
    assert steps is not None
    _, starts, ends = steps.split(data)
    return starts, ends


class Head:
    """The first documents of a batch, whose words are followed into their tokens; the last one may be cut."""

    def __init__(self, batch: DocumentBatch, most: int) -> None:
        texts, self.size, is_cut = list[bytes](), 0, False
        for text in batch.texts:
            if self.size >= most:
                break
            texts.append(truncated_bytes(text, most - self.size))
            is_cut = len(texts[-1]) < len(text)
            # an empty document counts as one byte, or the words of endless empty ones would be followed
            self.size = most if is_cut else self.size + max(len(text), 1)
        #: The number of documents that are whole.
        self.whole = len(texts) - is_cut
        self.batch = DocumentBatch(texts)


class TokenizerCount:
    """Adds up the totals of one tokenizer while a corpus is read."""

    def __init__(self, tokenizer: Tokenizer) -> None:
        self.tokenizer = tokenizer
        self.counts: _Array = np.zeros(tokenizer.vocab_size, np.int64)
        self.tokens: list[int] = []
        self.split = self.followed = self.changed = self.lost = 0
        self._with_unknown = with_unknown(tokenizer)

    def add(self, batch: DocumentBatch, head: Head, threads: int | None) -> Ragged:
        """Encode a batch, count its tokens, follow the words of its head, and return the tokens."""
        rows = self.tokenizer.encode_batch_to_numpy(batch.texts, threads=threads)
        count_ids(rows.ids, self.counts)
        self.tokens += np.diff(rows.offsets).tolist()
        if self._with_unknown is not None:
            other, unknown = self._with_unknown
            self.lost += int(np.count_nonzero(other.encode_batch_to_numpy(batch.texts, threads=threads).ids == unknown))
        if head.batch.texts:
            cuts = self._cuts(head, rows)
            if cuts is not None:
                self._count_split(head.batch, cuts)
        return rows

    @lazy_property
    def _lengths(self) -> _Array:
        return token_lengths(self.tokenizer.spec).astype(np.int64)

    def _cuts(self, head: Head, rows: Ragged) -> _Array | None:
        """Return where tokens begin in the text of a head, but the first of each document; None without places."""
        ids = rows.ids[: rows.offsets[head.whole]]
        offsets = rows.offsets[: head.whole + 1]
        texts = head.batch.texts
        if head.whole < len(texts):
            ids = np.concatenate((ids, self.tokenizer.encode_to_numpy(texts[-1])))
            offsets = np.append(offsets, len(ids))
        lengths = self._lengths[ids]
        if int(lengths.sum()) == int(head.batch.sizes.sum()) and self.tokenizer.decode_bytes(ids) == b"".join(texts):
            # the bytes of the tokens are the text, so each begins where the one before it ends
            of_row = np.repeat(np.arange(len(texts)), np.diff(offsets))
            places = np.cumsum(lengths) - lengths + of_row  # a line feed ends each document
            is_inner = np.ones(len(ids), np.bool_)
            is_inner[offsets[:-1][np.diff(offsets) > 0]] = False
            return places[is_inner]
        found = [np.zeros(0, np.int64)]
        for text, start in zip(texts, head.batch.starts.tolist(), strict=True):
            try:
                _, spans = self.tokenizer.encode_with_offsets(text, "byte")
            except ValueError:
                return None
            begins = spans[1:, 0]
            found.append(begins[begins > 0] + start)
        return np.concatenate(found)

    def _count_split(self, part: DocumentBatch, cuts: _Array) -> None:
        """Count the words that have a border of tokens within them."""
        is_cut = np.zeros(len(part.data) + 1, np.bool_)
        is_cut[cuts] = True
        for start in range(0, len(part.word_starts), _WORDS_AT_ONCE):
            starts, ends = (each[start : start + _WORDS_AT_ONCE] for each in (part.word_starts, part.word_ends))
            first, last = int(starts[0]), int(ends[-1])
            done = np.cumsum(is_cut[first:last], dtype=np.uint32)
            self.split += int(np.count_nonzero(done[ends - (first + 1)] > done[starts - first]))
        self.followed += len(part.word_starts)

    def measures(self, name: str, corpus: str, text: TextTotals) -> Measures:
        """Return what was counted."""
        spec, tokenizer = self.tokenizer.spec, self.tokenizer
        has_bytes = spec.characters is not None and spec.characters.byte_ids
        unknown = None if has_bytes else unknown_id(spec)
        return Measures(
            name, corpus, text, int(self.counts.sum()), self.split, self.followed,
            int(self.counts[part_ids(spec)].sum()),
            None if unknown is None else int(self.counts[unknown]),
            len(tokenizer), int(np.count_nonzero(self.counts)), efficiency(self.counts, len(tokenizer)),
            self.changed, lost=self.lost,
        )  # fmt: skip


def with_unknown(tokenizer: Tokenizer) -> tuple[Tokenizer, int] | None:
    """Return a tokenizer that has an unknown token, and its id, for one that leaves out what has no token; else None.

    Each character, byte or word that the one leaves out is an unknown token of the other.
    """
    spec, unknown = tokenizer.spec, tokenizer.vocab_size
    model: Any = spec.model
    if getattr(model, "unknown", unknown) is None:
        changed = replace(spec, model=replace(model, unknown=unknown))
    elif spec.characters is None or spec.characters.byte_ids or unknown_id(spec) is not None or model is not None:
        return None
    else:
        changed = replace(spec, characters=replace(spec.characters, unknown=unknown, fuse_unknown=False))
    return Tokenizer(replace(changed, special_tokens={**spec.special_tokens, _UNKNOWN: unknown})), unknown


def part_ids(spec: TokenizerSpec) -> list[int]:
    """Return the ids that are one byte of a longer character."""
    vocab = spec.vocab if isinstance(spec.vocab, Vocab) else Vocab(spec.vocab)
    high = [vocab.id_of(token) for token in (bytes([byte]) for byte in range(0x80, 0x100)) if vocab.has_token(token)]
    byte_ids = {} if spec.characters is None else spec.characters.byte_tokens
    return [*dict.fromkeys([*high, *(token_id for byte, token_id in byte_ids.items() if byte >= 0x80)])]


def count_ids(ids: npt.NDArray[np.uint32], counts: _Array) -> None:
    """Add the number of times that each id occurs to `counts`, int64[n] with a place for each id.

    >>> counts = np.zeros(4, np.int64)
    >>> count_ids(np.array([3, 1, 3], np.uint32), counts)
    >>> counts.tolist()
    [0, 1, 0, 2]
    """
    for start in range(0, len(ids), _IDS_AT_ONCE):
        counts += np.bincount(ids[start : start + _IDS_AT_ONCE], minlength=len(counts))


def truncated_bytes(text: bytes, most: int) -> bytes:
    """Return the first bytes of a text, cut where a character begins."""
    if len(text) <= most:
        return text
    while most and text[most] & 0xC0 == 0x80:
        most -= 1
    return text[:most]


def efficiency(counts: _Array, vocabulary: int) -> float | None:
    """Return the Renyi entropy of order 2.5 of ids over the logarithm of the vocabulary.

    >>> efficiency(np.array([5, 5, 5, 5]), 4)
    1.0
    """
    total = int(counts.sum())
    if not total or vocabulary < 2:
        return None
    shares = counts[counts > 0] / total
    entropy = math.log(float(np.sum(shares**ORDER))) / (1 - ORDER)
    return round(entropy / math.log(vocabulary), 12) + 0.0


def changed_documents(rows: Ragged, first: Ragged) -> int:
    """Return how many rows of ids differ from those of the first tokenizer."""
    if rows is first:
        return 0
    lengths, other = np.diff(rows.offsets), np.diff(first.offsets)
    is_same = lengths == other
    # the ids of the rows of equal lengths, which stand beside each other then
    ours = rows.ids[np.repeat(is_same, lengths)]
    theirs = first.ids[np.repeat(is_same, other)]
    of_rows = np.repeat(np.flatnonzero(is_same), lengths[is_same])[ours != theirs]
    return len(lengths) - int(np.count_nonzero(is_same)) + int(np.count_nonzero(np.diff(of_rows))) + bool(len(of_rows))
