"""BERT's rules: the slow definition against HF's `tokenizers`, the table and the C code against the slow definition."""

from __future__ import annotations

import importlib.util
import itertools
import random
import sys
from pathlib import Path
from typing import Literal, TypeAlias

import pytest
from characters import CHARACTERS, POINTS, SAMPLED
from seeds import then_full

from bbpe.core.split import ISAS, Splitter
from bbpe.core.wordpiece import bert_words
from bbpe.reference.normalizers import normalizer
from bbpe.reference.pre_tokenizers import pretokens
from bbpe.spec.rules import BertNormalizer, BertPreTokenizer
from bbpe.splitting.patterns import BERT_PARTS, PATTERNS, SPACE_PARTS, WORD_PARTS, Pattern
from bbpe.splitting.scheme import Scheme

Words: TypeAlias = Literal["space", "bert", "bert_apart"]
CSRC = Path(__file__).resolve().parents[2] / "csrc" / "text"
RULES = [BertNormalizer(*flags) for flags in itertools.product((True, False), repeat=4)]
# marks that a normal form sorts though they stay, and one that decomposes into such
MOVING = ["\U0001d165", "\U0001d16d", "\U0001d15e", "\u302e", "\u1bf2", "\u08d4", "\u0345", "\u034f"]
PIECES = [*"aeEÄßİΣσ .가중中!,_'¿。、，「\t\n\r\x0b\x00\x85\xa0\u3000\ufffd", "word", "  ", "#", *MOVING]
PIECES += list(map(chr, range(0x300, 0x320)))


def slow_words(rule: BertNormalizer, text: str) -> list[bytes]:
    normalize = normalizer([rule])
    assert normalize is not None
    return pretokens([BertPreTokenizer()], normalize(text))


def random_text(rng: random.Random, most: int = 12) -> str:
    return "".join(rng.choices([*PIECES, *rng.choices(POINTS, k=6)], k=rng.randint(0, most)))


def compare(rule: BertNormalizer, points: list[str]) -> None:
    """Each character between letters, by blocks; a block that differs is looked at by the character."""
    for start in range(0, len(points), 512):
        block = points[start : start + 512]
        text = " ".join(f"a{char}b" for char in block)
        if bert_words(rule, text.encode()) != slow_words(rule, text):
            wrong = [c for c in block if bert_words(rule, f"a{c}b".encode()) != slow_words(rule, f"a{c}b")]
            pytest.fail(f"{rule}: {[f'{ord(char):X}' for char in wrong]}")


def test_every_character_as_defined() -> None:
    rest = (*range(0x2F800, 0x2FA20), *range(0xE0000, 0xE0200))
    compare(BertNormalizer(), [*SAMPLED, *map(chr, rest)])


@pytest.mark.parametrize(
    "rule",
    [pytest.param(rule, marks=pytest.mark.full if i % 8 == 0 else pytest.mark.long) for i, rule in enumerate(RULES)],
    ids=str,
)
def test_every_character_as_defined_by_all_rules(rule: BertNormalizer) -> None:
    compare(rule, CHARACTERS)


@pytest.mark.parametrize("rule", RULES, ids=str)
def test_random_texts_as_defined(rule: BertNormalizer) -> None:
    rng = random.Random(3)
    for _ in range(100):
        text = random_text(rng)
        assert bert_words(rule, text.encode()) == slow_words(rule, text), ascii(text)


def test_no_character_becomes_more_than_there_is_room_for() -> None:
    """Not more characters than it had bytes, and not more than three times the bytes."""
    for rule in (BertNormalizer(), BertNormalizer(False, False, False, True), BertNormalizer(False, True, True, False)):
        for char in SAMPLED:
            size = len(char.encode())
            written = b"".join(bert_words(rule, char.encode()))
            assert len(written) <= 3 * size, hex(ord(char))
            assert len(written.decode()) <= size, hex(ord(char))


def test_bytes_that_are_no_text() -> None:
    assert bert_words(BertNormalizer(), b"a\xffb\xe4\xb8c") == [b"abc"]
    assert bert_words(BertNormalizer(clean_text=False), b"a\xff") == ["a\ufffd".encode()]


@pytest.mark.parametrize("chars", then_full([SAMPLED], [POINTS[:0x20000]]), ids=["sampled", "every"])
@pytest.mark.parametrize("rule", then_full(RULES[:2], RULES[-1:]), ids=str)
def test_definition_as_hf(rule: BertNormalizer, chars: list[str]) -> None:
    hf = pytest.importorskip("tokenizers")
    theirs = hf.normalizers.BertNormalizer(
        clean_text=rule.clean_text,
        handle_chinese_chars=rule.cjk_apart,
        strip_accents=rule.strip_accents,
        lowercase=rule.lowercase,
    )
    ours, cut, rng = normalizer([rule]), hf.pre_tokenizers.BertPreTokenizer(), random.Random(4)
    assert ours is not None
    for start in range(0, len(chars), 256):
        text = "\n".join(f"a{char}b" for char in chars[start : start + 256])
        assert ours(text) == theirs.normalize_str(text), hex(ord(chars[start]))
    for _ in range(150):
        text = random_text(rng)
        assert ours(text) == theirs.normalize_str(text), ascii(text)
        assert pretokens([BertPreTokenizer()], text) == [word.encode() for word, _ in cut.pre_tokenize_str(text)]


@pytest.mark.full
def test_table_is_the_generated_one(monkeypatch: pytest.MonkeyPatch) -> None:
    spec = importlib.util.spec_from_file_location("characters_generate", CSRC / "characters_generate.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    monkeypatch.setitem(sys.modules, spec.name, module)  # where data classes look for their annotations
    spec.loader.exec_module(module)
    assert (CSRC / "characters_table.h").read_text("utf-8").rstrip("\n") == module.table().rstrip("\n")


# -- parts --------------------------------------------------------------------------------------------------


PARTS = [(SPACE_PARTS, "space"), (WORD_PARTS, "blank"), (BERT_PARTS, "bert_apart")]


@pytest.mark.parametrize(("parts", "words"), PARTS, ids=str)
def test_parts_are_those_of_their_regex(parts: Pattern, words: Words) -> None:
    assert parts.scheme == Scheme(words=words)
    rng = random.Random(5)
    for isa in ISAS:
        splitter = Splitter(Scheme(words=words), isa)
        for most in (3, 12, 80):
            for _ in range(150):
                text = random_text(rng, most)
                ends = splitter.spans(text.encode()).tolist()
                found = [text.encode()[start:end] for start, end in itertools.pairwise(ends)]
                assert found == [part.encode() for part in parts.split(text)], (isa, ascii(text))


@pytest.mark.parametrize("words", ["space", "blank", "bert", "bert_apart"])
def test_parts_of_any_bytes_and_where_they_may_be_cut(words: Words) -> None:
    scheme, rng = Scheme(words=words), random.Random(6)
    scalar = Splitter(scheme, "scalar")
    letters = [*" a!\t\n", *("中。é".encode(),), b"\xe5", b"\xe3\x80", b"\x80", b"\xff"]
    pieces = [piece.encode() if isinstance(piece, str) else piece for piece in letters]
    for _ in range(300):
        data = b"".join(rng.choices(pieces, k=rng.randint(1, 120)))
        ends = scalar.spans(data).tolist()
        for isa in ISAS:
            assert Splitter(scheme, isa).spans(data).tolist() == ends, (isa, data)
        cut = scalar.safe_cut(data, rng.randrange(len(data)))
        if cut >= 0:
            parts = [*scalar.spans(data[:cut])[1:].tolist(), *(cut + scalar.spans(data[cut:])[1:]).tolist()]
            assert parts == ends[1:], (cut, data)


def test_words_between_blanks_and_line_ends() -> None:
    """White space other than blanks and line ends is a part of a word."""
    rng, splitter = random.Random(8), Splitter(Scheme(words="blank"))
    plain = BertNormalizer(False, False, False, False)
    pool = ["a", "b!", " ", "\t", "\n", "\r", "\u00a0", "\u3000", "\u2028", "\v"]
    for _ in range(200):
        text = "".join(rng.choices(pool, k=rng.randint(0, 60)))
        expected = [word.encode() for word in PATTERNS["subword_nmt"].split(text)]
        assert bert_words(plain, text.encode(), joins=True, blanks=True) == expected, ascii(text)
        data = text.encode()
        spans = itertools.pairwise(splitter.spans(data).tolist())
        found = [bert_words(plain, data[start:end], joins=True, blanks=True) for start, end in spans]
        assert [word for words in found for word in words] == expected, ascii(text)


@pytest.mark.parametrize("apart", [True, False])
def test_words_do_not_cross_parts(apart: bool) -> None:
    rng = random.Random(7)
    splitter = Splitter(Scheme(words="bert_apart" if apart else "bert"))
    for rule in RULES:
        if rule.cjk_apart != apart:
            continue
        for _ in range(60):
            data = random_text(rng, 40).encode()
            spans = itertools.pairwise(splitter.spans(data).tolist())
            found = [word for start, end in spans for word in bert_words(rule, data[start:end])]
            assert found == bert_words(rule, data), data
