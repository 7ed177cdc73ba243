"""The places of ids where the model applies BERT's rules itself: those of one rule after another, and of HF's."""

from __future__ import annotations

import random

import pytest
from characters import POINTS
from test_bert import PIECES, RULES, random_text

import bbpe
from bbpe.core.places import PlacesCall
from bbpe.encoding.places import place_calls
from bbpe.spec.models import WordLevelModel, WordPieceModel
from bbpe.spec.rules import BertNormalizer, BertPreTokenizer
from bbpe.spec.spec import TextRules, make_spec
from bbpe.splitting.patterns import PATTERNS
from bbpe.types import Unit

UNITS: list[Unit] = ["char", "byte", "utf16"]
WORDS = ["a", "ab", "e", "word", "x" * 140, "中", "!", "#", "##", "ｶ", "\u0431", "i", "σ"]
#: Tokens of parts of words: of the pieces of texts, and so that some words have no match.
ENDS = ["a", "b", "e", "s", "ord", "w", "中", "i\u0307", "\u0307", "σ", "o" * 70, "한", "\u1161"]
PARTS = [f"##{end}" for end in ENDS]


def tokenizer(rule: BertNormalizer, *, is_level: bool = False, prefix: str = "##") -> bbpe.Tokenizer:
    keys = ["[UNK]", "[SEP]", *WORDS, *PARTS]
    rules = TextRules((rule,), pre_tokenizers=(BertPreTokenizer(),))
    vocab = {number: key.encode() for number, key in enumerate(keys)}
    model = WordLevelModel(0) if is_level else WordPieceModel(0, prefix=prefix)
    specials = {"[UNK]": 0, "[SEP]": 1}
    return bbpe.Tokenizer(
        make_spec(vocab, None, pattern=PATTERNS["none"], special_tokens=specials, model=model, rules=rules)
    )


def both_calls(tok: bbpe.Tokenizer) -> tuple[PlacesCall, PlacesCall]:
    calls = place_calls(tok._parts.encoder)
    assert calls is not None
    assert calls._make_slow is not None
    return calls.call(None, None), calls._slow.call(None, None)


def compare(calls: tuple[PlacesCall, PlacesCall], text: str | bytes, unit: Unit) -> None:
    (ids, spans), (slow_ids, slow_spans) = (call.encode(text, unit) for call in calls)
    assert ids == slow_ids, text
    assert spans.tolist() == slow_spans.tolist(), (text, unit)


@pytest.mark.parametrize("rule", RULES, ids=str)
def test_random_texts(rule: BertNormalizer) -> None:
    rng = random.Random(46)
    calls = both_calls(tokenizer(rule, is_level=rng.random() < 0.2))
    words = [*PIECES, "a" * 70, "x" * 140, "x" * 139, "ab wordo", " word.", "oooooooo", "\ud800", "क़़ि"]
    for number in range(150):
        text = "".join(rng.choices(words, k=rng.randint(0, 30))) if number % 2 else random_text(rng, 40)
        compare(calls, text, rng.choice(UNITS))
        data = bytearray(text.encode("utf-8", "surrogatepass"))
        for _ in range(number % 3):
            data.insert(rng.randint(0, len(data)), rng.randrange(256))
        compare(calls, bytes(data), "byte")


def sweep(rule: BertNormalizer, points: list[str]) -> None:
    calls = both_calls(tokenizer(rule))
    for start in range(0, len(points), 64):
        words = [f"a{char}b {char} {char}{char}word{char}" for char in points[start : start + 64]]
        compare(calls, " ".join(words), "char")


def test_characters() -> None:
    sweep(BertNormalizer(), POINTS[::41])


@pytest.mark.long
def test_every_character() -> None:
    for rule in (BertNormalizer(), BertNormalizer(lowercase=False, strip_accents=False)):
        sweep(rule, POINTS)


@pytest.mark.parametrize("prefix", ["", "a", "@@"])
def test_other_prefixes(prefix: str) -> None:
    """Tokens with a letter as prefix begin words too, so that the length of a token depends on where it is."""
    tok = tokenizer(BertNormalizer(), prefix=prefix)
    calls = place_calls(tok._parts.encoder)
    assert calls is not None
    assert (calls._make_slow is None) == (prefix == "a")
    for text in ("ab a b ba word aa", "aaab! ##a @@"):
        ids, spans = tok.encode_with_offsets(text)
        assert ids == tok.encode(text)
        assert all(text[start:end].strip() for start, end in spans)


def test_as_hf() -> None:
    tokenizers = pytest.importorskip("tokenizers")
    tok = tokenizer(BertNormalizer())
    keys = {key: number for number, key in enumerate(["[UNK]", "[SEP]", *WORDS, *PARTS])}
    peer = tokenizers.Tokenizer(tokenizers.models.WordPiece(keys, unk_token="[UNK]", max_input_chars_per_word=100))
    peer.normalizer = tokenizers.normalizers.BertNormalizer()
    peer.pre_tokenizer = tokenizers.pre_tokenizers.BertPreTokenizer()
    rng = random.Random(47)
    for _ in range(200):
        text = random_text(rng, 30)
        theirs = peer.encode(text)
        ids, spans = tok.encode_with_offsets(text)
        assert (ids, [tuple(span) for span in spans.tolist()]) == (theirs.ids, theirs.offsets), text
