"""Compare the ids of two tokenizers."""

from __future__ import annotations

import random
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, TypeAlias

from ..counting.options import Report
from ..errors import VocabularyError
from ..formats.common.ranks import live_merges
from ..lazy import np, npt
from ..progress import Progress
from ..records import dataclass
from ..tokenizer import Tokenizer

_Ids: TypeAlias = "npt.NDArray[np.integer[Any]]"
_PAIRS = 20_000
_SHOWN = 4  # the tokens of each tokenizer that a difference shows
_BATCH = 1 << 12


@dataclass(frozen=True)
class Difference:
    """The first difference between the ids of two tokenizers for one text.

    `byte` is the number of bytes of the equal tokens before it; `left` and `right` are the next ids and their bytes.
    """

    text: bytes
    byte: int
    left: tuple[tuple[int, bytes], ...]
    right: tuple[tuple[int, bytes], ...]


def first_difference(left: Tokenizer, right: Tokenizer, text: bytes) -> Difference | None:
    r"""Return the first difference between the ids of a text, `None` when all are equal.

    >>> from bbpe.tokenizer import Tokenizer
    >>> byte = {bytes([number]): number for number in range(256)}
    >>> one, two = (Tokenizer.from_ranks({**byte, token: 256}, pattern="gpt2") for token in (b"ab", b"bc"))
    >>> first_difference(one, two, b"x abc").byte
    2
    """
    return _difference(left, right, text, left.encode_to_numpy(text), right.encode_to_numpy(text))


def _difference(left: Tokenizer, right: Tokenizer, text: bytes, ours: _Ids, theirs: _Ids) -> Difference | None:
    if ours.tobytes() == theirs.tobytes():
        return None
    shorter = min(len(ours), len(theirs))
    unequal = (ours[:shorter] != theirs[:shorter]).nonzero()[0]
    at = int(unequal[0]) if len(unequal) else shorter
    byte = sum(len(left.id_to_token(int(token_id))) for token_id in ours[:at])
    shown = [
        tuple((int(token_id), tok.id_to_token(int(token_id))) for token_id in ids[at : at + _SHOWN])
        for tok, ids in ((left, ours), (right, theirs))
    ]
    return Difference(text, byte, shown[0], shown[1])


def differences(left: Tokenizer, right: Tokenizer, texts: Iterable[bytes]) -> Iterator[Difference]:
    """Yield the first difference of each text whose ids differ."""
    batch: list[bytes] = []
    size = 0
    for text in texts:
        batch.append(text)
        size += len(text)
        if len(batch) == _BATCH or size >= 1 << 22:
            yield from _of_batch(left, right, batch)
            batch, size = [], 0
    yield from _of_batch(left, right, batch)


@dataclass(frozen=True)
class Agreement:
    """How two tokenizers encode the same texts, a row or an item for each text.

    `counts` has the tokens of each tokenizer, int64[2, n]; `same_ids` whether the ids are equal, bool[n]; `same_cuts`
    whether tokens begin at the same places of the text, bool[n], and None where tokens of one have no places.
    """

    counts: npt.NDArray[np.int64]
    same_ids: npt.NDArray[np.bool_]
    same_cuts: npt.NDArray[np.bool_] | None


class PlacedTexts:
    """Texts as two tokenizers encode them: those that begin with a blank after `before`, as within a longer text."""

    def __init__(self, left: Tokenizer, right: Tokenizer, texts: Sequence[bytes], before: bytes = b"") -> None:
        self._both = left, right
        self.texts, self._placed = texts, [before + text if _begins_with_blank(text) else text for text in texts]
        rows: list[list[_Ids]] = [list(tok.encode_batch_to_numpy(self._placed)) for tok in self._both]
        first = [tok.encode_to_numpy(before) for tok in self._both]
        for number, text in enumerate(texts):
            if self._placed[number] is text:
                continue
            if all(np.array_equal(row[number][: len(ids)], ids) for row, ids in zip(rows, first, strict=True)):
                for row, ids in zip(rows, first, strict=True):
                    row[number] = row[number][len(ids) :]
            else:  # a token of what is before goes on in the text
                self._placed[number] = text
                for row, tok in zip(rows, self._both, strict=True):
                    row[number] = tok.encode_to_numpy(text)
        #: The ids of each text by each tokenizer.
        self.ids = rows

    def tokens(self, number: int) -> tuple[tuple[bytes, ...], tuple[bytes, ...]]:
        """Return the tokens of a word by each tokenizer."""
        left, right = (
            tuple(map(tok.id_to_token, ids[number].tolist())) for tok, ids in zip(self._both, self.ids, strict=True)
        )
        return left, right

    def difference(self, number: int) -> Difference | None:
        """Return the first difference of a word."""
        return _difference(*self._both, self.texts[number], self.ids[0][number], self.ids[1][number])

    def has_same_cuts(self, number: int) -> bool:
        """Return whether the tokens of a word begin at the same places; `VocabularyError` if one has no places."""
        starts = []
        for tok, ids in zip(self._both, self.ids, strict=True):
            places = tok.encode_with_offsets(self._placed[number], "byte")[1]
            # where the first token begins depends on blanks that some tokenizers leave out
            starts.append(places[len(places) - len(ids[number]) + 1 :, 0])
        return np.array_equal(starts[0], starts[1])


def _begins_with_blank(text: bytes) -> bool:
    return text[:4].decode("utf-8", "ignore")[:1].isspace()


def agreement(
    left: Tokenizer, right: Tokenizer, texts: Sequence[bytes], report: Report, before: bytes = b""
) -> Agreement:
    """Return how two tokenizers encode texts, which have `before` as in `PlacedTexts`."""
    counts = np.zeros((2, len(texts)), np.int64)
    same_ids, same_cuts = np.zeros(len(texts), np.bool_), np.zeros(len(texts), np.bool_)
    has_places = True
    for start in range(0, len(texts), _BATCH):
        report(Progress("compare", start, len(texts), "texts"))
        words = PlacedTexts(left, right, texts[start : start + _BATCH], before)
        stop = start + len(words.texts)
        counts[:, start:stop] = [list(map(len, ids)) for ids in words.ids]
        for number in (np.flatnonzero(counts[0, start:stop] == counts[1, start:stop]) + start).tolist():
            at = number - start
            same_ids[number] = np.array_equal(words.ids[0][at], words.ids[1][at])
            try:
                same_cuts[number] = counts[0, number] < 2 or words.has_same_cuts(at)
            except VocabularyError:
                has_places = False
    report(Progress("compare", len(texts), len(texts), "texts"))
    return Agreement(counts, same_ids, same_cuts if has_places else None)


def _of_batch(left: Tokenizer, right: Tokenizer, batch: list[bytes]) -> Iterator[Difference]:
    ours, theirs = left.encode_batch_to_numpy(batch), right.encode_batch_to_numpy(batch)
    same_ids = ours.ids.tobytes() == theirs.ids.tobytes()
    if same_ids and ours.offsets.tobytes() == theirs.offsets.tobytes():
        return
    for text in batch:
        difference = first_difference(left, right, text)
        if difference is not None:
            yield difference


def hard_texts(tok: Tokenizer, *, pairs: int = _PAIRS, seed: int = 0) -> Iterator[bytes]:
    """Yield texts that reveal differences between vocabularies and merges.

    The texts are every token alone, `pairs` concatenations of two tokens, and each token that no merge makes: alone, as
    a separate word, within a word, and between two other tokens.
    """
    rng = random.Random(seed)
    tokens = [token for token in tok.spec.vocab.values() if token]
    yield from tokens
    for _ in range(pairs):
        yield rng.choice(tokens) + rng.choice(tokens)
    if tok.spec.model is not None or tok.spec.characters is not None:
        return  # only byte-level BPE looks up whole pretokens
    for token_id in live_merges(tok.spec).unmade:
        token = tok.spec.vocab[token_id]
        for before, after in ((b"", b""), (b" ", b" "), (b"x", b"y"), (rng.choice(tokens), rng.choice(tokens))):
            yield before + token + after
