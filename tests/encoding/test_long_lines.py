"""Lines of letters without blanks, of small tokens and of large ones in turn, have the ids of the definition of BPE."""

from __future__ import annotations

import random
from functools import cache
from itertools import pairwise

import pytest

import bbpe

#: Kinds of letters, of two bytes and more too; each line is of one kind.
KINDS = {
    "bases": "ACGT", "amino acids": "ACDEFGHIKLMNPQRSTVWY", "small letters": "abcdefghijklmnopqrstuvwxyz",
    "words": "see|my|dogs|first|eyes|International|ization", "Cyrillic": "абвгдежз", "Thai": "กขคงจฉชซ",
    "mixed": "aกбZ",
}  # fmt: skip
#: Bytes around the bounds between the ways to merge.
LENGTHS = (*range(14, 18), *range(22, 28), *range(45, 51), 64, 70, 100, *range(126, 132), 160, 300)


def line(rng: random.Random, kind: str, length: int) -> str:
    letters = KINDS[kind].split("|") if "|" in KINDS[kind] else [*KINDS[kind]]
    text = "".join(rng.choices(letters, k=length)).encode()[:length]
    return text.decode("utf-8", "ignore")


@cache
def trained() -> bbpe.Tokenizer:
    rng = random.Random(3)
    lines = [line(rng, kind, 60) for kind in KINDS for _ in range(300)]
    return bbpe.train_from_iterator(lines, vocab_size=700, pattern=r"[^\n]+|\n")


def by_definition(tok: bbpe.Tokenizer, text: str) -> list[int]:
    """Merge the leftmost pair of the lowest rank until no pair is left."""
    assert tok.spec.merges is not None
    ranks = {(left, right): (rank, made) for rank, (left, right, made) in enumerate(tok.spec.merges)}
    bytes_to_id = {token: token_id for token_id, token in tok.spec.vocab.items() if len(token) == 1}
    ids = [bytes_to_id[bytes([byte])] for byte in text.encode()]
    while True:
        found = [(ranks[pair][0], at) for at, pair in enumerate(pairwise(ids)) if pair in ranks]
        if not found:
            return ids
        at = min(found)[1]
        ids[at : at + 2] = [ranks[ids[at], ids[at + 1]][1]]


@pytest.mark.parametrize("order", ["kind by kind", "in turn"])
def test_lines_of_letters(order: str) -> None:
    tok, rng = bbpe.Tokenizer(trained().spec), random.Random(9)
    kinds = [*KINDS] if order == "kind by kind" else [rng.choice([*KINDS]) for _ in KINDS]
    lines = [line(rng, kind, length) for kind in kinds for length in LENGTHS]
    if order == "in turn":
        rng.shuffle(lines)
    expected = [token_id for text in lines for token_id in (*by_definition(tok, text), *by_definition(tok, "\n"))]
    text = "".join(f"{each}\n" for each in lines)
    for _ in range(2):  # new, and remembered
        assert tok.encode(text) == expected
        assert tok.encode_to_numpy(text, threads=1).tolist() == expected


@pytest.mark.parametrize("kind", KINDS)
def test_many_lines_after_which_others_are_faster(kind: str) -> None:
    """Where long pieces come often, another way to merge them is made within the call."""
    tok, rng = bbpe.Tokenizer(trained().spec), random.Random(5)
    lines = [line(rng, kind, rng.randint(25, 140)) for _ in range(6_000)]
    tok.encode_to_numpy("\n".join(lines), threads=1)
    later = [line(rng, kind, length) for length in LENGTHS]
    assert tok.encode_batch(later) == [by_definition(tok, text) for text in later]
