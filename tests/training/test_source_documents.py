"""Byte BPE over white-space words trains to the merges of the documents' naive loop."""

from __future__ import annotations

import random
from itertools import pairwise

import pytest

import bbpe

Pair = tuple[bytes, bytes]

DEEP_LEARNING = [
    "deep learning is the future of ai",
    "see my eyes first",
    "see my dogs",
    "you are the best",
    "you are the fast",
    "machine learning can be applied to natural language processing",
    "深度学习是人工智能的未来",
    "机器学习可以应用于自然语言处理",
    "人工智能改变世界",
    "学习深度神经网络在图像识别中表现优秀",
]
APPLES = ["I like to eat apples", "I like apples", "我喜欢吃苹果", "苹果派", "apple pie"]
CORPORA = {"deep learning": DEEP_LEARNING, "apples": APPLES}


def word_counts(texts: list[str]) -> dict[str, int]:
    counts: dict[str, int] = {}
    for text in texts:
        for word in text.split():
            counts[word] = counts.get(word, 0) + 1
    return counts


def naive_merges(counts: dict[str, int], merge_count: int) -> list[Pair]:
    """Count all pairs, take the most frequent, of equals the first counted, and merge it everywhere."""
    words = [([bytes((byte,)) for byte in word.encode()], count) for word, count in counts.items()]
    merges: list[Pair] = []
    for _ in range(merge_count):
        pairs: dict[Pair, int] = {}
        for symbols, count in words:
            for pair in pairwise(symbols):
                pairs[pair] = pairs.get(pair, 0) + count
        if not pairs:
            break
        best = max(pairs, key=lambda pair: pairs[pair])
        merges.append(best)
        words = [(merge(symbols, best), count) for symbols, count in words]
    return merges


def merge(symbols: list[bytes], pair: Pair) -> list[bytes]:
    merged: list[bytes] = []
    for symbol in symbols:
        # what ends with the merged pair is taken, so that pairs are merged from the left
        if merged and merged[-1] == pair[0] and symbol == pair[1]:
            merged[-1] = pair[0] + pair[1]
        else:
            merged.append(symbol)
    return merged


@pytest.mark.parametrize("merge_count", [0, 1, 20, 60, 1000])
@pytest.mark.parametrize("name", CORPORA)
def test_merges_of_the_demonstration_corpora(name: str, merge_count: int) -> None:
    texts = CORPORA[name]
    expected = naive_merges(word_counts(texts), merge_count)
    trained = bbpe.train_from_iterator(
        texts, 256 + merge_count, model=bbpe.BPE(tie_break="first"), pattern="whitespace"
    )
    assert trained.merges == expected
    counted = bbpe.train_from_counts(
        word_counts(texts), 256 + merge_count, model=bbpe.BPE(tie_break="first"), pattern="whitespace"
    )
    assert counted.merges == expected


def test_every_word_becomes_one_token_in_the_end() -> None:
    trained = bbpe.train_from_iterator(APPLES, 1000, model=bbpe.BPE(tie_break="first"), pattern="whitespace")
    assert [len(trained.encode(word)) for word in word_counts(APPLES)] == [1] * len(word_counts(APPLES))


@pytest.mark.parametrize("seed", range(30))
def test_merges_of_random_words(seed: int) -> None:
    chance = random.Random(seed)
    words = ["".join(chance.choices("aab学", k=chance.randrange(1, 9))) for _ in range(chance.randrange(1, 60))]
    texts = [" ".join(words[start : start + 7]) for start in range(0, len(words), 7)]
    trained = bbpe.train_from_iterator(texts, 330, model=bbpe.BPE(tie_break="first"), pattern="whitespace")
    assert trained.merges == naive_merges(word_counts(texts), 330 - 256)
