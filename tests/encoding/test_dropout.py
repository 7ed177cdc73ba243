"""BPE-dropout: merges skipped at random, by a seed."""

from __future__ import annotations

import itertools
import random
import threading

import pytest
from strings import adversarial_strings, byte_soups
from vocabularies import MERGES, small_spec

import bbpe
from bbpe.records import replace
from bbpe.spec.rules import Lowercase, Replace, Template
from bbpe.spec.spec import TextRules
from bbpe.splitting.patterns import get_pattern
from bbpe.tokenizer import Tokenizer

MASK = (1 << 64) - 1


def numbers(seed):
    """splitmix64, 53 bits of each number."""
    while True:
        seed = (seed + 0x9E3779B97F4A7C15) & MASK
        z = ((seed ^ seed >> 30) * 0xBF58476D1CE4E5B9) & MASK
        z = ((z ^ z >> 27) * 0x94D049BB133111EB) & MASK
        yield (z ^ z >> 31) >> 11


def drop_naively(merges, pretoken, dropout, source):
    """All possible merges in order, each skipped by chance, until one happens or none is left."""
    ranks = {pair: rank for rank, pair in enumerate(merges)}
    parts = [pretoken[i : i + 1] for i in range(len(pretoken))]
    while True:
        pairs = list(itertools.pairwise(parts))
        found = sorted((ranks[pair], i) for i, pair in enumerate(pairs) if pair in ranks)
        chosen = next((i for _, i in found if next(source) >= int(dropout * 2**53)), None)
        if chosen is None:
            return parts
        parts[chosen : chosen + 2] = [parts[chosen] + parts[chosen + 1]]


@pytest.mark.parametrize("dropout", [0.1, 0.5, 0.9])
def test_every_merge_is_drawn_for(dropout):
    tok = Tokenizer(small_spec())
    texts = ["the thing", " the 中中 aaaaaaa thethethe 1212", *adversarial_strings(80, seed=5)]
    for seed, text in enumerate(texts):
        source = numbers(seed)
        pretokens = (pretoken.encode() for pretoken in bbpe.split(text, "gpt2"))
        expected = [part for pretoken in pretokens for part in drop_naively(MERGES, pretoken, dropout, source)]
        assert list(map(tok.id_to_token, tok.encode(text, dropout=dropout, seed=seed))) == expected


@pytest.mark.parametrize("pattern", ["gpt2", "cl100k", r"\w+$|\w|(?<=a)b+"])
def test_the_limits(tok_of, pattern):
    tok = tok_of(pattern)
    for text in [*adversarial_strings(60, seed=6, surrogates=True), *byte_soups(30, seed=7)]:
        data = bytes(bbpe.text.text_bytes(text))
        assert tok.encode(text, dropout=0) == tok.encode(text, dropout=1e-300, seed=4) == tok.encode(text)
        assert list(map(tok.id_to_token, tok.encode(text, dropout=1, seed=4))) == [bytes([byte]) for byte in data]
        assert tok.decode_bytes(tok.encode(text, dropout=0.4)) == data
    text = "so far so good é漢字 " * 50
    assert tok.encode(text, dropout=0.5, seed=1) == tok.encode(text, dropout=0.5, seed=1)
    assert tok.encode(text, dropout=0.5, seed=1) != tok.encode(text, dropout=0.5, seed=2)
    assert tok.encode(text, dropout=0.5) != tok.encode(text, dropout=0.5)


def test_special_tokens_stay_whole(tok_of):
    tok = tok_of("gpt2")
    special = tok.special_tokens["<s>"]
    ids = tok.encode("so <s> so", dropout=0.9, seed=0, allowed_special="all")
    assert ids.count(special) == 1
    assert tok.decode(ids) == "so <s> so"


def test_threads_do_not_change_it(tok_of):
    tok = tok_of("cl100k")
    texts = adversarial_strings(200, seed=8)
    expected = [tok.encode(text, dropout=0.3, seed=n) for n, text in enumerate(texts)]
    found: list[object] = []

    def encode():
        order = random.Random(1).sample(range(len(texts)), len(texts))
        found.append(all(tok.encode(texts[n], dropout=0.3, seed=n) == expected[n] for n in order))

    threads = [threading.Thread(target=encode) for _ in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found == [True, True, True]


def test_rules_hold():
    tok = Tokenizer(small_spec(rules=TextRules((Lowercase(),))))
    assert tok.encode("THE", dropout=1e-300, seed=1) == tok.encode("the")
    assert tok.decode(tok.encode("THE", dropout=1, seed=1)) == "the"
    assert len(tok.encode("THE")) == 1
    assert len(tok.encode("THE", dropout=1, seed=1)) == 3


@pytest.mark.parametrize("options", [{"end_of_word": "</w>"}, {"word_start": "\u2581"}], ids=str)
def test_merges_of_characters_are_skipped_too(options):
    """Between none and all of them, and each character stays that of its place in the word."""
    words = ["low", "lower", "lowest", "newest"]
    tok = bbpe.train_from_iterator([" ".join(words)] * 9, 60, model=bbpe.BPE(alphabet="chars", **options))
    for word in words:
        whole, none = tok.encode(word, dropout=1e-300, seed=1), tok.encode(word, dropout=1, seed=1)
        assert whole == tok.encode(word)
        assert len(none) in (len(word), len(word) + ("word_start" in options))
        counts = {len(tok.encode(word, dropout=0.5, seed=seed)) for seed in range(40)}
        assert len(whole) <= min(counts) <= max(counts) <= len(none)
        assert len(counts) > 1
        assert {tok.decode(tok.encode(word, dropout=0.5, seed=seed)).strip() for seed in range(40)} == {word}


def test_all_bits_of_a_seed_count():
    tok, text = Tokenizer(small_spec()), "the thing the aaaaaaaa" * 4
    seeds = [1, 1 | 1 << 32, 1 | 1 << 63, MASK]
    assert len({tuple(tok.encode(text, dropout=0.5, seed=seed)) for seed in seeds}) == len(seeds)


def test_the_numbers_of_a_seed():
    # on every machine
    tok = Tokenizer(small_spec())
    parts = list(map(tok.id_to_token, tok.encode("the thing the aaaaaaaa", dropout=0.5, seed=7)))
    assert [len(part) for part in parts] == [1, 1, 1, 1, 2, 2, 1, 1, 1, 1, 1, 1, 4, 1, 2, 1]


def test_wrong_arguments(tok_of):
    tok = tok_of("gpt2")
    for dropout in (-0.1, 1.5, float("nan")):
        with pytest.raises(ValueError, match="dropout"):
            tok.encode("a", dropout=dropout)
    for seed in (-1, 1 << 64):
        with pytest.raises(ValueError, match="seed"):
            tok.encode("a", dropout=0.1, seed=seed)
    tok.encode("a", dropout=0.1, seed=MASK)


def test_both_texts_of_a_pair_lose_merges():
    tok = Tokenizer(small_spec())
    first, second = (tok.encode(text, dropout=1, seed=1) for text in ("the", "thing"))
    assert tok.encode("the", "thing", dropout=1, seed=1) == [*first, *second]
    found = {tuple(tok.encode("aaaaaaaa", "aaaaaaaa", dropout=0.5, seed=seed)) for seed in range(20)}
    assert any(ids[: len(ids) // 2] != ids[len(ids) // 2 :] for ids in found)  # they go on in one row of numbers
    assert tok.encode("the", "thing", dropout=0.5, seed=3) == tok.encode("the", "thing", dropout=0.5, seed=3)


AROUND = Template(((300, 0), ("A", 0), (301, 0), (302, 0)), ((300, 0), ("A", 0), (301, 0), ("B", 1)))


@pytest.mark.parametrize("changes", [
    {}, {"pattern": get_pattern(r"(?!)(a)\1|\w+|\W")}, {"rules": TextRules((Lowercase(),))},
    {"rules": TextRules((Lowercase(), Replace(r"(?!)(a)\1", True, "")))},
], ids=["plain", "regex", "rules", "rules of Python"])  # fmt: skip
def test_all_other_options_hold(changes):
    """A probability too low for any merge to be skipped changes nothing, with a template, tokens and pairs too."""
    spec = small_spec(special_tokens={"<s>": 300, "</s>": 301, "<p>": 302}, template=AROUND)
    tok = Tokenizer(replace(spec, **changes))
    for text in ("the <s> thing", "", "<s>", b"th\xffe<s>", " the" * 40):
        for options in (
            {}, {"add_special_tokens": True}, {"allowed_special": "all"}, {"pair": "the"},
            {"add_special_tokens": True, "allowed_special": {"<s>"}}, {"pair": "a<s>", "add_special_tokens": True},
        ):  # fmt: skip
            assert tok.encode(text, dropout=1e-300, seed=1, **options) == tok.encode(text, **options), (text, options)
        if b"<s>" in bytes(bbpe.text.text_bytes(text)):
            with pytest.raises(bbpe.SpecialTokenError):
                tok.encode(text, dropout=0.5, disallowed_special="all")
