"""Normalizers in C against their slow definitions, and against HF's `tokenizers`; so are the offsets."""

from __future__ import annotations

import itertools
import random
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from characters import CHARACTERS, POINTS
from strings import adversarial_strings

import bbpe
from bbpe.core.normalizer import Normalizer as CompiledNormalizer
from bbpe.errors import VocabularyError
from bbpe.pipeline.compiled_normalizers import compiled_normalizer
from bbpe.reference.normalizers import normalizer
from bbpe.reference.places import align
from bbpe.spec.rules import (
    BertNormalizer,
    ByteLevelNormalizer,
    Charsmap,
    Form,
    Lowercase,
    Nmt,
    Normalizer,
    Precompiled,
    Prepend,
    Replace,
    SqueezeBlanks,
    Strip,
    StripAccents,
    UnicodeForm,
)

FORMS: tuple[Form, ...] = ("NFC", "NFD", "NFKC", "NFKD")
SOME = [*POINTS[:0x3400], *POINTS[0xA600:0xB000], *POINTS[0xF000:0x1FC00], *POINTS[0x2F000:0x2F400]]
SINGLE: list[Normalizer] = [*map(UnicodeForm, FORMS), Lowercase(), StripAccents(), Nmt(), ByteLevelNormalizer()]
STRINGS: list[Normalizer] = [
    Strip(True, True),
    Strip(False, True),
    Strip(True, False),
    Prepend("é\u2581"),
    Prepend(""),
    Replace(" ", False, "\u2581"),
    Replace("aab", False, "é"),
    Replace("\u0301", False, ""),
    Replace("aa", False, "aaa"),
    SqueezeBlanks(),
    SqueezeBlanks(" ", False),
    SqueezeBlanks("\u2581"),
]
BERT: list[Normalizer] = [
    BertNormalizer(),
    BertNormalizer(True, True, False, False),
    BertNormalizer(False, False, True),
]
NASTY = (
    "a e A Σ ς İ ß Å ẞ ﬁ ẛ̣ か が ｶ ﾞ ( ゙ ̧ ́ ̈ ̈́ \u0345 \u1f80 ཱི ི ཱ ি ো न ऩ क़ ् ก ุ ่ ำ 가 각 ᄀ ᅡ ᆨ ① 中 😀 👩 🇩 🏽 ▁ ﷺ ￦ "
    "\u200d \u200b \ufeff \ufffd \u2028 \u3000 \xa0 \x85 \xad \U0001d15e \U0001d165 "
    "\U00011935 \U00011930 \u0897 \u0600 \u0590 \u05b0"
).split(" ")
NASTY += [
    " ",
    "  ",
    "\n",
    "\r\n",
    "\t",
    "\x00",
    "\x0b",
    "\x7f",
    "aab",
    "abc def ",
    "中文字符" * 6,
    "สวัสดี",
    "ngữ",
    "\udc80",
    "\udcff",
    "\udce2\udc96",
]


def encoded(text: str) -> bytes:
    return text.encode("utf-8", "surrogateescape")


def is_text(text: str) -> bool:
    """Whether bytes that are not UTF-8 stay so between their neighbours."""
    return encoded(text).decode("utf-8", "surrogateescape") == text


def soup(rng: random.Random, most: int = 12) -> str:
    for _ in range(100):
        text = "".join(
            rng.choices([*NASTY, *map(chr, range(0x300, 0x330)), *rng.choices(POINTS, k=6)], k=rng.randint(0, most))
        )
        if is_text(text):
            return text
    return ""


def both(rules: list[Normalizer]) -> tuple[Callable[[str], str], Callable[[bytes], bytes]]:
    slow, fast = normalizer(rules), compiled_normalizer(rules)
    assert slow is not None
    assert fast is not None
    return slow, fast.apply


def check_aligned(rules: list[Normalizer], text: str, compiled: CompiledNormalizer | None = None) -> None:
    """Compare the sources of each byte."""
    fast = compiled or compiled_normalizer(rules)
    assert fast is not None
    aligned = align(rules, text)
    starts = np.cumsum([0, *(len(encoded(char)) for char in text)])
    expected = [
        starts[at] for char, at in zip(aligned.text, aligned.sources.tolist(), strict=True) for _ in encoded(char)
    ]
    out, sources = fast.with_places(encoded(text))
    assert out == encoded(aligned.text), ascii(text)
    assert sources.tolist() == expected, ascii(text)


AROUND = [
    ("a", "\u0334b"),
    pytest.param(("a", "\u0334c"), marks=pytest.mark.full),
    pytest.param(("", ""), marks=pytest.mark.full),
    pytest.param(("e\u0301", "\u0327"), marks=pytest.mark.full),
    pytest.param(("\u1f80", "\u0301"), marks=pytest.mark.full),
    pytest.param(("few of them: after an e", " and before much that stays as it is"), marks=pytest.mark.full),
]


@pytest.mark.parametrize("around", AROUND)
@pytest.mark.parametrize("rule", [*SINGLE, *BERT], ids=str)
def test_every_character(rule: Normalizer, around: tuple[str, str]) -> None:
    slow, fast = both([rule])
    before, after = around
    points = SOME if around == AROUND[0] else CHARACTERS
    for start in range(0, len(points), 4096):
        block = points[start : start + 4096]
        text = "\n".join(before + char + after for char in block)
        if fast(text.encode()) != slow(text).encode():
            wrong = [
                char
                for char in block
                if fast(f"{before}{char}{after}".encode()).decode() != slow(before + char + after)
            ]
            pytest.fail(f"{rule}: {[f'{ord(char):X}' for char in wrong]}")


@pytest.mark.parametrize("rule", [*SINGLE, *STRINGS, *BERT], ids=str)
def test_short_texts(rule: Normalizer) -> None:
    """All texts of up to two of some strings, and random ones of three."""
    slow, fast = both([rule])
    rng = random.Random(1)
    texts = ["", *NASTY, *map("".join, itertools.product(NASTY, repeat=2))]
    texts += ["".join(rng.choices(NASTY, k=3)) for _ in range(300)]
    for text in filter(is_text, texts):
        assert fast(encoded(text)) == encoded(slow(text)), ascii(text)


@pytest.mark.parametrize("rule", [*SINGLE, *STRINGS, *BERT], ids=str)
def test_random_texts(rule: Normalizer) -> None:
    slow, fast = both([rule])
    rng = random.Random(2)
    for _ in range(120):
        text = soup(rng, rng.choice((3, 12, 80)))
        assert fast(encoded(text)) == encoded(slow(text)), ascii(text)
        check_aligned([rule], text)


def test_random_sequences() -> None:
    rng = random.Random(3)
    for _ in range(400):
        rules = rng.choices([*SINGLE, *STRINGS, *BERT], k=rng.randint(2, 4))
        slow, fast = both(rules)
        for _ in range(3):
            text = soup(rng, 20)
            assert fast(encoded(text)) == encoded(slow(text)), (rules, ascii(text))
            check_aligned(rules, text)


@pytest.mark.parametrize("filler", ["x", "é", "中", "ก", "😀"])
def test_every_place_in_a_block(filler: str) -> None:
    """What is searched for 64 bytes at a time is found wherever it is."""
    rules: list[tuple[Normalizer, str]] = [
        (UnicodeForm("NFC"), "e\u0301"),
        (UnicodeForm("NFC"), "न\u093c"),
        (UnicodeForm("NFD"), "가"),
        (UnicodeForm("NFKC"), "ﬁ"),
        (UnicodeForm("NFD"), "\U0001d15e"),
        (Lowercase(), "Ä"),
        (Nmt(), "\n"),
        (StripAccents(), "\u0e48"),
        (BertNormalizer(), "Å"),
        (Replace("aab", False, "b"), "aaab"),
    ]
    for rule, found in rules:
        slow, fast = both([rule])
        for before in range(140):
            for after in ((0, 1), (70,))[before % 2]:
                text = filler * before + found + filler * after
                assert fast(text.encode()).decode() == slow(text), (rule, before, after)


def test_long_runs_of_marks() -> None:
    rng = random.Random(4)
    for count in (31, 32, 33, 40, 300, 3_000):
        text = "e" + "".join(rng.choices(["\u0301", "\u0327", "\u0323", "\u0345", "\u093c", "\u0f73"], k=count)) + "x"
        for form in FORMS:
            slow, fast = both([UnicodeForm(form)])
            assert fast(text.encode()).decode() == slow(text)
            check_aligned([UnicodeForm(form)], text)


def test_a_text_that_stays_is_not_changed() -> None:
    text = "ngữ pháp, Größe, 中文, สวัสดี, नमस्ते, 😀 ".encode()
    for form in ("NFC", "NFKC"):
        compiled = compiled_normalizer([UnicodeForm(form)])
        assert compiled is not None
        assert compiled.apply(text) == text
        assert compiled.with_places(b"\xffab\xc3\xa9")[1].tolist() == [0, 1, 2, 3, 3]


def test_strings_that_are_odd() -> None:
    for rule in (Replace("a", False, "\ud800"), Replace("\ud800", False, "a"), Prepend("\udcff")):
        with pytest.raises(bbpe.VocabularyError, match=r"normalizer (Replace|Prepend)\(.* has a lone surrogate"):
            compiled_normalizer([Lowercase(), rule])
    compiled = compiled_normalizer([Replace("", False, "b")])
    assert compiled is not None
    assert compiled.apply(b"abc") == b"abc"


@pytest.mark.parametrize(
    "pattern",
    ["a+", r"\s+(?!\S)", r"[^\w\s]", "(?i)ab|b", r"\n$", "a*b", r"(a)\1", r"(?=aa)|(?<=b )", r"(?<=[ab]{2})é?"],
)
def test_matches_are_replaced_as_by_the_slow_twin(pattern: str) -> None:
    rules = [UnicodeForm("NFC"), Replace(pattern, True, "<x>"), Lowercase()]
    compiled, slow = compiled_normalizer(rules), normalizer(rules)
    assert compiled is not None
    assert slow is not None
    for text in ["", "aab", "a  b \n", "AB é!ab\n", "aaa" * 50, *adversarial_strings(80, seed=5)]:
        data = text.encode("utf-8", "replace")
        expected = slow(data.decode()).encode()
        assert compiled.apply(data) == expected, text
        assert compiled.with_places(data)[0] == expected, text


# -- tables ------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def table() -> bytes:
    sentencepiece = pytest.importorskip("sentencepiece")
    pytest.importorskip("google.protobuf")
    from sentencepiece import sentencepiece_model_pb2

    norm = sentencepiece.SentencePieceNormalizer(
        rule_name="nmt_nfkc_cf", add_dummy_prefix=False, escape_whitespaces=False, remove_extra_whitespaces=False
    )
    model = sentencepiece_model_pb2.ModelProto()
    model.ParseFromString(norm.serialized_model_proto())
    data: bytes = model.normalizer_spec.precompiled_charsmap
    return data


def test_random_texts_by_tables(table: bytes) -> None:
    rng = random.Random(5)
    tables: list[Normalizer] = [Charsmap(table), Charsmap(table, ("ﬁ", "Å b"), "\u2581"), Charsmap(b"", (), "x")]
    for rule in [*tables, Precompiled(table), Precompiled(b"")]:
        slow, compiled = normalizer([rule]), compiled_normalizer([rule])
        assert slow is not None
        assert compiled is not None
        for _ in range(300):
            text = soup(rng, 9)
            if "\u094d" in text:  # `regex` joins a consonant to a virama that follows no consonant
                continue
            assert compiled.apply(encoded(text)) == encoded(slow(text)), ascii(text)
            if isinstance(rule, Precompiled):
                check_aligned([rule], text, compiled)


def test_marked_blanks(table: bytes) -> None:
    """Also the rules of SentencePiece, which are one step."""
    rng = random.Random(6)
    mark, blanks = Prepend("\u2581"), Replace(" ", False, "\u2581")
    cases: list[list[Normalizer]] = [
        [Charsmap(table), SqueezeBlanks(), mark, blanks],
        [Charsmap(table, ("ﬁ",), "\u2581"), SqueezeBlanks(), blanks],
        [SqueezeBlanks(), mark, blanks],
        [Charsmap(b"", (), "", "\u2581", True), SqueezeBlanks("\u2581"), blanks],
        [Charsmap(table, ("ﬁ",), "", "\u2581", True), SqueezeBlanks("\u2581"), blanks],
        [Charsmap(table, ("ﬁ",), "", " ", True), SqueezeBlanks(" ", False)],
        [Charsmap(table, (), "", "\u2581"), blanks],
        [mark, blanks],
        [blanks],
        [Lowercase(), blanks],
        [Lowercase(), blanks, Strip(True, True)],
        [],
    ]
    for rules in cases:
        slow, compiled = normalizer(rules, marks_blanks=True), compiled_normalizer(rules, marks_blanks=True)
        assert slow is not None
        assert compiled is not None
        for _ in range(500):
            text = soup(rng, 9)
            out, sources = compiled.with_places(encoded(text))
            assert out == compiled.apply(encoded(text)) == encoded(slow(text)), (rules[1:], ascii(text))
            assert (np.diff(sources) >= 0).all()


def test_offsets_of_charsmaps(table: bytes) -> None:
    compiled = compiled_normalizer([Charsmap(table, (), "\u2581"), Lowercase()])
    assert compiled is not None
    out, sources = compiled.with_places("aﬁ\u3000x".encode())
    assert out.decode() == "\u2581afi x"
    assert sources.tolist() == [0, 0, 0, 0, 1, 1, 4, 7]


def test_broken_tables() -> None:
    with pytest.raises(VocabularyError, match="table of the normalizer"):
        compiled_normalizer([Precompiled(b"\xff" * 40)])


# -- HF's `tokenizers` -------------------------------------------------------------------------------------


def hf_offsets(norm: Any) -> Callable[[str], list[int]]:
    """Return a function that returns for each character of a normalized text the one that HF says it comes from."""
    tokenizers = pytest.importorskip("tokenizers")
    model = tokenizers.models.WordLevel({"[UNK]": 0}, unk_token="[UNK]")
    judge = tokenizers.Tokenizer(model)
    judge.normalizer = norm
    judge.pre_tokenizer = tokenizers.pre_tokenizers.Split(tokenizers.Regex(r"[\s\S]"), "isolated")
    return lambda text: [start for start, _ in judge.encode(text).offsets]


def compare_with_hf(rules: list[Normalizer], norm: Any, seed: int) -> None:
    compiled, slow, offsets = compiled_normalizer(rules), normalizer(rules), hf_offsets(norm)
    assert compiled is not None
    assert slow is not None
    rng = random.Random(seed)
    for _ in range(150):
        text = "".join(char for char in soup(rng, 8) if not 0xDC80 <= ord(char) < 0xDD00)
        if isinstance(rules[0], Precompiled):  # HF takes a dropped character for part of one before it that grew
            text = "".join(char for char in text if char >= " " and not 0x7F <= ord(char) < 0xA0)
        out, sources = compiled.with_places(text.encode())
        assert slow(text) == out.decode() == norm.normalize_str(text), ascii(text)
        places = np.repeat(np.arange(len(text)), [len(char.encode()) for char in text])
        firsts = np.cumsum([0, *(len(char.encode()) for char in out.decode())])[:-1]
        assert places[sources[firsts]].tolist() == offsets(text), ascii(text)


def test_as_hf(table: bytes) -> None:
    hf = pytest.importorskip("tokenizers").normalizers
    single = zip(FORMS, (hf.NFC(), hf.NFD(), hf.NFKC(), hf.NFKD()), strict=True)
    pairs: list[tuple[list[Normalizer], Any]] = [([UnicodeForm(form)], norm) for form, norm in single]
    pairs += [([Lowercase()], hf.Lowercase()), ([StripAccents()], hf.StripAccents()), ([Nmt()], hf.Nmt())]
    pairs += [([ByteLevelNormalizer()], hf.ByteLevel()), ([Strip(True, True)], hf.Strip())]
    pairs += [([Prepend("é>")], hf.Prepend("é>")), ([Replace("a", False, "éa")], hf.Replace("a", "éa"))]
    pairs += [([BertNormalizer()], hf.BertNormalizer()), ([Precompiled(table)], hf.Precompiled(table))]
    pairs += [([BertNormalizer(True, True, False, False)], hf.BertNormalizer(True, True, False, False))]
    pairs += [
        ([UnicodeForm("NFD"), StripAccents(), Lowercase()], hf.Sequence([hf.NFD(), hf.StripAccents(), hf.Lowercase()]))
    ]
    # regexes that match the empty string too, as an empty string does
    regexes = ("", "a*", "(?=a)", "(?<=a)", "[ab]+|(?=é)", "[^a]*")
    judge = pytest.importorskip("tokenizers").Regex
    pairs += [([Replace(source, True, "->")], hf.Replace(judge(source), "->")) for source in regexes]
    for seed, (rules, norm) in enumerate(pairs):
        compare_with_hf(rules, norm, seed)


@pytest.mark.parametrize("points", [CHARACTERS, pytest.param(POINTS, marks=pytest.mark.full)], ids=["used", "all"])
def test_every_character_of_new_rules_as_hf(points: list[str]) -> None:
    hf = pytest.importorskip("tokenizers").normalizers
    for rule, norm in ((Nmt(), hf.Nmt()), (ByteLevelNormalizer(), hf.ByteLevel())):
        slow = normalizer([rule])
        assert slow is not None
        for start in range(0, len(points), 4096):
            text = "a".join(points[start : start + 4096])
            assert slow(text) == norm.normalize_str(text), hex(start)
