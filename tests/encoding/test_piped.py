"""The compiled pipeline gives what its definition gives: tokens, options, prefixes, templates, long texts."""

from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import replace

import numpy as np
import pytest
from strings import adversarial_strings, byte_soups

import bbpe
from bbpe.encoding import engine
from bbpe.encoding.engine import text_encoder
from bbpe.pipeline.special_tokens import SpecialTokens
from bbpe.reference.pipeline import SlowPipeline
from bbpe.spec.rules import Characters, Prefix, TokenOptions
from bbpe.spec.spec import TextRules, TokenizerSpec

TOKENS = ["<s>", "<s>>", "</s>", "<", "new line", "\n\n", "é", "中", "  ", "a", "<|end|>", "><"]
AROUND = (7, 7), (9,)


def spec_of(**changes: object) -> TokenizerSpec:
    tok = bbpe.train_from_iterator(["low lower lowest new newer 中文 é né"] * 4, vocab_size=300)
    special = {text: 1000 + number for number, text in enumerate(TOKENS[:6])}
    added = {text: 1100 + number for number, text in enumerate(TOKENS[6:])}
    return replace(tok.spec, special_tokens=special, added_tokens=added, **changes)


def options(seed: int) -> dict[str, TokenOptions]:
    rng = random.Random(seed)
    return {text: TokenOptions(*(rng.random() < 0.3 for _ in range(3))) for text in TOKENS if rng.random() < 0.6}


def texts(seed: int, n: int) -> Iterator[str | bytes]:
    rng = random.Random(seed)
    words = [*TOKENS, " ", "\n", "low", "er", "\u3000", "\u2581", "x1", "\xa0", *adversarial_strings(40, seed=seed)]
    soups = byte_soups(40, seed=seed)
    for _ in range(n):
        text = "".join(rng.choices(words, k=rng.randrange(30)))
        yield text
        yield text.encode("utf-8", "replace") + rng.choice(soups) + b"<s>" + rng.choice(soups)


CASES = {
    "plain": {},
    "options": {"token_options": options(1)},
    "more options": {"token_options": options(2)},
    "normalized": {"token_options": {text: TokenOptions(normalized=True) for text in TOKENS[::2]}},
    "prefix": {"rules": TextRules(prefix=Prefix(" "))},
    "prefix of the first": {"rules": TextRules(prefix=Prefix("lo", first=True)), "token_options": options(3)},
}


@pytest.mark.parametrize("name", CASES)
def test_it_is_the_definition(name: str) -> None:
    spec = spec_of(**CASES[name])
    fast, slow = text_encoder(spec), SlowPipeline(spec)
    specials = SpecialTokens(spec.special_tokens, spec.added_tokens, spec.token_options)
    given = list(texts(5, 25))
    for allowed in ((), "all", ("<s>", "\n\n")):
        matcher = specials.matcher(allowed)
        before, after = AROUND
        expected = [[*before, *slow.encode(text, matcher), *after] for text in given]
        assert [fast.to_list(text, matcher, AROUND) for text in given] == expected
        assert fast.lists(given, matcher, None) == [ids[2:-1] for ids in expected]
        counts = [len(ids) - 3 for ids in expected]
        for text, count in zip(given, counts, strict=True):
            assert (fast.count_up_to(text, 5, matcher) > 5) == (count > 5)


def test_long_texts_are_encoded_by_threads(monkeypatch: pytest.MonkeyPatch) -> None:
    spec = spec_of(token_options=options(4))
    encoder = text_encoder(spec)
    matcher = SpecialTokens(spec.special_tokens, spec.added_tokens, spec.token_options).matcher("all")
    given = ["".join(map(str, filter(None, (text for text in texts(8, 60) if isinstance(text, str))))), "low " * 500]
    expected = [encoder.to_array(text, matcher, 1, AROUND) for text in given]
    monkeypatch.setattr(engine, "_CHUNK", 97)
    monkeypatch.setattr(engine, "_LEAST_CHUNK", 31)
    monkeypatch.setattr("bbpe.encoding.engine.THREAD_WORTH", 200)
    for threads in (2, 5):
        for text, ids in zip(given, expected, strict=True):
            for form in (text, text.encode("utf-8", "replace")):
                found = encoder.to_array(form, matcher, threads, AROUND)
                wanted = ids if isinstance(form, str) else encoder.to_array(form, matcher, 1, AROUND)
                np.testing.assert_array_equal(found, wanted)
                assert encoder.count(form, matcher, threads) == len(wanted) - 3


def test_refused_tokens_are_found_everywhere() -> None:
    spec = spec_of()
    tok = bbpe.Tokenizer(spec)
    for before in ("", "x", "é" * 3000, "<s>" * 5000):
        with pytest.raises(bbpe.SpecialTokenError, match=f"at byte {len(before.encode())};"):
            tok.encode(before + "</s>", allowed_special={"<s>"}, disallowed_special={"</s>"})
        with pytest.raises(bbpe.SpecialTokenError, match="</s>"):
            tok.encode_batch(["", before + "</s>"], allowed_special={"<s>"}, disallowed_special={"</s>"})


def test_a_text_of_nothing_but_tokens_in_little_memory() -> None:
    tok = bbpe.Tokenizer(spec_of())
    ids = tok.encode_to_numpy("<s>" * 300_000, allowed_special="all", threads=1)
    assert len(ids) == 300_000
    assert set(ids.tolist()) == {1000}


def test_marks_and_blanks() -> None:
    characters = Characters(marks_blanks=True, byte_ids=tuple(range(3, 259)))
    vocab = {260 + number: token for number, token in enumerate((b" ", b"a", b" a", b"b", b" b", b"ab"))}
    merges = ((260, 261, 262), (260, 263, 264))
    spec = TokenizerSpec(
        vocab, merges, bbpe.splitting.patterns.PATTERNS["none"], {"<s>": 1}, characters=characters,
        rules=TextRules(prefix=Prefix(" ")),
    )  # fmt: skip
    fast, slow = text_encoder(spec), SlowPipeline(spec)
    matcher = SpecialTokens(spec.special_tokens, {}, {}, None).matcher("all")
    for text in ("a b", "\u2581a b\u2581", "<s>a<s> b", "a\u2581<s>", "", "<s>", "\u2581", b"\xe2\x96a\xe2"):
        assert fast.to_list(text, matcher) == slow.encode(text, matcher), text


@pytest.mark.parametrize("name", CASES)
def test_short_texts_take_the_short_way_by_all_options(name: str) -> None:
    spec = spec_of(**CASES[name])
    short, slow = bbpe.Tokenizer(spec), bbpe.Tokenizer(spec)
    slow.__dict__["_short"] = None
    one = {"<s>"}
    given: list[dict[str, object]] = [
        {}, {"add_special_tokens": True}, {"add_special_tokens": False}, {"allowed_special": "all"},
        {"allowed_special": one}, {"allowed_special": frozenset(one)}, {"allowed_special": ("<s>", "</s>")},
        {"allowed_special": ["<s>"]}, {"disallowed_special": "all"}, {"disallowed_special": {"<s>"}},
        {"allowed_special": "all", "disallowed_special": "all"}, {"allowed_special": one, "disallowed_special": "all"},
        {"allowed_special": "all", "add_special_tokens": True}, {"allowed_special": {"<no>"}},
        {"allowed_special": "every"}, {"allowed_special": (1,)}, {"allowed_special": ([],)},
        {"dropout": 0.0}, {"seed": 1}, {"other": 1},
        {"add_special_tokens": 1}, {"add_special_tokens": ()}, {"pair": None}, {"pair": "a"},
    ]  # fmt: skip
    for text in texts(12, 10):
        for options_of_call in (*given, *given):
            found = []
            for tok in (short, slow):
                try:
                    found.append(tok.encode(text, **options_of_call))  # type: ignore[arg-type]
                except Exception as error:
                    found.append((type(error), str(error)))
            assert found[0] == found[1], (text, options_of_call)


def test_calls_that_are_remembered_are_few() -> None:
    tok = bbpe.Tokenizer(spec_of())
    ids = tok.encode("a<s>b", allowed_special={"<s>"})
    for number in range(200):
        assert tok.encode("a<s>b", disallowed_special={f"<{number}>"}) == tok.encode("a<s>b")
        assert tok.encode("a<s>b", allowed_special={"<s>"}) == ids
