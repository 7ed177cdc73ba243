"""Pairs of equal count in words with an end: the greatest pair of strings, as subword-nmt takes them."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Callable, Mapping
from itertools import combinations_with_replacement, pairwise, product
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from options import train_options

import bbpe
from bbpe.core.train_words import FrequencyTrainer, WordTrainer
from bbpe.reference import learn_words

MARKS = ("</w>", "_", "\u00b7")


def learned_by_strings(words: Mapping[str, int], end: str, most: int = 1 << 30) -> list[tuple[str, str]]:
    """Return the merges that subword-nmt's rule learns: symbols are strings, and of equal counts the greatest pair."""
    spelled = [([*word[:-1], word[-1] + end], count) for word, count in words.items()]
    merges: list[tuple[str, str]] = []
    while len(merges) < most:
        pairs: Counter[tuple[str, str]] = Counter()
        for symbols, count in spelled:
            for pair in pairwise(symbols):
                pairs[pair] += count
        if not pairs:
            break
        best = max(pairs, key=lambda pair: (pairs[pair], pair))
        merges.append(best)
        for symbols, _ in spelled:
            i = 0
            while i + 1 < len(symbols):
                if (symbols[i], symbols[i + 1]) == best:
                    symbols[i : i + 2] = ["".join(best)]
                i += 1
    return merges


def trained(words: Mapping[str, int], end: str, **options: Any) -> list[tuple[str, str]]:
    """Return the merges that training learns of a text with these words."""
    text = " ".join(word for word, count in words.items() for _ in range(count))
    tok = bbpe.train_from_iterator([text], 100_000, **train_options(alphabet="chars", end_of_word=end, **options))
    return [(left.decode(), right.decode()) for left, right in tok.merges]


def test_all_small_texts() -> None:
    """All texts of up to two words of up to three letters of two, and of three words of up to two."""
    for count, longest in ((1, 3), (2, 3), (3, 2)):
        words = ["".join(word) for n in range(1, longest + 1) for word in product("ab", repeat=n)]
        for chosen in combinations_with_replacement(words, count):
            found = Counter(chosen)
            assert trained(found, "</w>") == learned_by_strings(found, "</w>"), found


@pytest.mark.parametrize(
    "alphabet",
    [
        "ab", "abcdefgh", "<a", "</w>a", "<!=z", "\u00e9e", "\u4e2d\u6587\u5b57", "\uffee\U0001d4b3\u4e2d", "a_\u00b7b",
        "\x00\x01a",
    ],
    ids=ascii,
)
def test_soups(alphabet: str) -> None:
    """Few letters make many ties; some spell the mark, so that two merges may make one token."""
    rng = random.Random(alphabet)
    for number in range(12):
        end = MARKS[number % 3]
        longest = 12 if number % 2 else 4
        words = Counter("".join(rng.choices(alphabet, k=rng.randint(1, longest))) for _ in range(rng.randint(1, 12)))
        for word in list(words):
            words[word] += rng.choice([0, 0, 1, 2, 5])
        assert trained(words, end) == learned_by_strings(words, end), (words, end)


def test_real_text(corpus: Callable[..., str]) -> None:
    """Merge for merge, in several scripts; lower-case rules come before."""
    for name in ("en", "multi", "ja", "zh", "code"):
        text = corpus(name, 3_000)
        words = Counter(text.split())
        assert trained(words, "</w>")[:150] == learned_by_strings(words, "</w>", 150), name
        lower = Counter("".join(char.lower() for char in text).split())
        assert trained(words, "</w>", lowercase=True)[:50] == learned_by_strings(lower, "</w>", 50), name


def test_the_rule_is_named_and_the_default(tmp_path: Path) -> None:
    """In "at on", all counts are 1: 'o' is greater than 'a', and has the higher id."""
    options: dict[str, Any] = {"alphabet": "chars", "end_of_word": "</w>"}
    default = bbpe.train_from_iterator(["at on"], 100, **train_options(**options))
    assert default == bbpe.train_from_iterator(["at on"], 100, **train_options(tie_break="strings", **options))
    assert default.merges == [(b"o", b"n</w>"), (b"a", b"t</w>")]
    assert (
        bbpe.train_from_iterator(["at on"], 100, **train_options(tie_break="ids", **options)).merges
        == default.merges[::-1]
    )
    (tmp_path / "a.txt").write_text("at on")
    assert bbpe.train(tmp_path / "a.txt", 100, **train_options(**options)) == default
    default.save(tmp_path / "x.codes")
    assert (tmp_path / "x.codes").read_text().split("\n") == ["#version: 0.2", "o n</w>", "a t</w>", ""]


def test_counts_and_extending_refuse_the_rule() -> None:
    """They are of bytes."""
    counts = bbpe.count_from_iterator(["at on"], pattern="gpt2")
    for learn in (
        lambda: bbpe.train_from_counts(counts, 260, model=bbpe.BPE(tie_break="strings")),
        lambda: bbpe.extend(bbpe.train_from_counts(counts, 257), counts, add=1, tie_break="strings"),
    ):
        with pytest.raises(ValueError, match="tie_break is 'strings'; expected 'ids', 'bytes' or 'first'"):
            learn()


def test_words_one_by_one_as_counted_anew() -> None:
    """The trainer of words in which two merges make the same token, by strings."""
    rng = random.Random(3)
    for _ in range(200):
        tokens = [rng.choice(["b", "a", "ab", "aa", "ba"]) + "!" * number for number in range(4)]
        words = [([rng.randrange(4) for _ in range(rng.randint(1, 9))], rng.choice([1, 1, 2, 5])) for _ in range(8)]
        expected = learn_words(words, tokens, 30, pmi=False, tie_break="strings")
        trainer = WordTrainer(words, score="frequency", strings=[token.encode() for token in tokens])
        known, merges = list(tokens), []
        while len(known) < 30 and (best := trainer.best()) is not None:
            made = known[best[0]] + known[best[1]]
            if made not in known:
                known.append(made)
            merges.append(best[:2])
            trainer.merge(known.index(made))
        assert (merges, known) == expected, (words, tokens)


def test_refuses_strings_that_do_not_fit() -> None:
    symbols, ends, counts = np.array([0, 1], np.uint32), np.array([2], np.int64), np.array([1], np.uint64)
    with pytest.raises(ValueError, match="1 symbols have strings; expected 2"):
        FrequencyTrainer(symbols, ends, counts, base=2, merge_limit=1, strings=[b"a"])
    with pytest.raises(ValueError, match="1 symbols have strings; expected one for each"):
        WordTrainer([([0, 1], 1)], score="frequency", strings=[b"a"])
