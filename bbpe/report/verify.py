"""Compare the ids of two tokenizers."""

from __future__ import annotations

import random
from collections.abc import Iterable, Iterator

from ..formats.ranks import live_merges
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
