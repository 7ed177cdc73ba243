"""Compare the ids of two tokenizers."""

from __future__ import annotations

import random
from collections.abc import Iterable, Iterator, Sequence

from ..counting.options import Report
from ..errors import VocabularyError
from ..formats.common.ranks import live_merges
from ..lazy import np, npt
from ..progress import Progress
from ..records import dataclass
from ..tokenizer import Tokenizer

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
    ours, theirs = left.encode_to_numpy(text), right.encode_to_numpy(text)
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


def agreement(left: Tokenizer, right: Tokenizer, texts: Sequence[bytes], report: Report) -> Agreement:
    """Return how two tokenizers encode texts."""
    counts, both = np.zeros((2, len(texts)), np.int64), (left, right)
    same_ids, same_cuts = np.zeros(len(texts), np.bool_), np.zeros(len(texts), np.bool_)
    has_places = True
    for start in range(0, len(texts), _BATCH):
        report(Progress("compare", start, len(texts), "texts"))
        batch = texts[start : start + _BATCH]
        ours, theirs = (tok.encode_batch_to_numpy(batch) for tok in both)
        stop = start + len(batch)
        counts[:, start:stop] = np.diff(ours.offsets), np.diff(theirs.offsets)
        for number in (np.flatnonzero(counts[0, start:stop] == counts[1, start:stop]) + start).tolist():
            same_ids[number] = np.array_equal(ours[number - start], theirs[number - start])
            try:
                same_cuts[number] = counts[0, number] < 2 or _same_cuts(both, texts[number])
            except VocabularyError:
                has_places = False
    report(Progress("compare", len(texts), len(texts), "texts"))
    return Agreement(counts, same_ids, same_cuts if has_places else None)


def _same_cuts(both: Sequence[Tokenizer], text: bytes) -> bool:
    # where the first token begins depends on blanks that some tokenizers leave out
    ours, theirs = (tok.encode_with_offsets(text, "byte")[1][1:, 0] for tok in both)
    return np.array_equal(ours, theirs)


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
