"""Normalizers, character by character, against HF's `tokenizers`; SentencePiece's table against SentencePiece."""

from __future__ import annotations

import random
import re
import unicodedata

import pytest
from characters import CHARACTERS, POINTS, SAMPLED
from charsmap_tables import compiled_table

from bbpe.errors import VocabularyError
from bbpe.pipeline.compiled_normalizers import compiled_normalizer
from bbpe.reference.charsmap import read_charsmap
from bbpe.reference.normalizers import normalizer
from bbpe.reference.pre_tokenizers import pretokens
from bbpe.reference.unicode_forms import normal_form
from bbpe.spec.rules import Charsmap, Form, Lowercase, Normalizer, Punctuation, SqueezeBlanks, StripAccents, UnicodeForm

AROUND = [
    ("a", "\u0334b"),
    pytest.param(("a", "\u0334c"), marks=pytest.mark.full),
    pytest.param(("few of them: behind an e", " and before much that is as it is"), marks=pytest.mark.full),
    pytest.param(("", ""), marks=pytest.mark.full),
    pytest.param(("e\u0301", "\u0327"), marks=pytest.mark.full),
]
FORMS = ("NFC", "NFD", "NFKC", "NFKD")
RULES: dict[str, Normalizer] = {
    **{form: UnicodeForm(form) for form in FORMS},  # type: ignore[arg-type]
    "Lowercase": Lowercase(),
    "StripAccents": StripAccents(),
}


@pytest.mark.parametrize("around", AROUND)
@pytest.mark.parametrize("name", RULES)
def test_every_character_as_hf(name: str, around: tuple[str, str]) -> None:
    """Alone, between others, behind a letter that it may join, and before a mark that it may be put behind."""
    hf = getattr(pytest.importorskip("tokenizers").normalizers, name)()
    ours = normalizer([RULES[name]])
    assert ours is not None
    before, behind = around
    chars = SAMPLED if around == AROUND[0] else CHARACTERS
    for start in range(0, len(chars), 256):
        block = chars[start : start + 256]
        text = "\n".join(before + char + behind for char in block)
        if ours(text) != hf.normalize_str(text):
            wrong = [c for c in block if ours(before + c + behind) != hf.normalize_str(before + c + behind)]
            pytest.fail(f"{name}: {[f'{ord(char):X}' for char in wrong]}")


@pytest.mark.parametrize("name", RULES)
def test_random_texts_as_hf(name: str) -> None:
    hf = getattr(pytest.importorskip("tokenizers").normalizers, name)()
    ours, rng = normalizer([RULES[name]]), random.Random(1)
    assert ours is not None
    points = (*range(0x300, 0x370), *range(0x1AB0, 0x1AD0), 0x3099, 0x11930, 0x113B8, 0x16121)
    marks = [chr(point) for point in points]
    letters = [*"aeioAEΣσςİIßÅ", "\u1100", "\u1161", "\u11a8", "가", "\U00011935", "\U000113c2", "ﬁ", "ẛ", "か"]
    for _ in range(1_000):
        text = "".join(rng.choices([*letters, *rng.choices(marks, k=12), rng.choice(POINTS)], k=rng.randint(1, 12)))
        assert ours(text) == hf.normalize_str(text), ascii(text)
        longer = f"é and so on, for a while{text}, and it ends as it began, \u4e2d"
        assert ours(longer) == hf.normalize_str(longer), ascii(text)


@pytest.mark.parametrize("form", FORMS)
def test_long_texts_piece_by_piece(form: Form) -> None:
    rng = random.Random(2)
    letters = ["e", "\u0301", "\u0327", "Å", "\u1100", "\u1161", "가", "\u3099", "か", "\u0897", "中", "\ud800"]
    for _ in range(2):
        stretches = ["".join(rng.choices(letters, k=rng.randint(1, 4))) for _ in range(4_000)]
        text = "".join(stretch + "x" * rng.randint(0, 200) for stretch in stretches)
        expected = "".join(unicodedata.normalize(form, part) for part in re.split("(\u0897)", text))
        assert normal_form(form, text) == expected


@pytest.mark.parametrize("points", [SAMPLED, pytest.param(POINTS, marks=pytest.mark.full)], ids=["used", "all"])
def test_punctuation_as_hf(points: list[str]) -> None:
    hf = pytest.importorskip("tokenizers").pre_tokenizers.Punctuation()
    for start in range(0, len(points), 256):
        text = "a".join(points[start : start + 256])
        expected = [piece.encode() for piece, _ in hf.pre_tokenize_str(text)]
        assert pretokens([Punctuation("Isolated")], text) == expected, hex(start)


def test_squeezed_blanks() -> None:
    squeeze = normalizer([SqueezeBlanks()])
    assert squeeze is not None
    assert squeeze("  a   b \u2581 ") == "a b"
    assert squeeze(" \u2581 ") == ""
    for rule, text, expected in (
        (SqueezeBlanks(drops_marks=False), " a  \u2581 ", "a \u2581"),
        (SqueezeBlanks("\u2581"), "  a  \u2581 \u2581", "a\u2581"),
        (SqueezeBlanks("\u2581"), "  a  ", "a"),
        (SqueezeBlanks(" ", False), "   ", " "),
    ):
        squeeze = normalizer([rule])
        assert squeeze is not None
        assert squeeze(text) == expected


@pytest.mark.parametrize("kept", [(), ("x  ", " y")])
def test_a_suffix_is_not_for_blanks(kept: tuple[str, ...]) -> None:
    table = Charsmap(compiled_table({"\n": " ", "z": "", "ab": " ", "q": "  "}), kept, "", "_", True)
    apply = normalizer([table])
    compiled = compiled_normalizer([table])
    assert apply is not None
    assert compiled is not None
    cases = {"": "", " ": "", "\nab ": "", "z": "_", "z ": " _", " z": " _", "q": "  _", "a": "a_"}
    for text, expected in cases.items():
        assert apply(text) == compiled.apply(text.encode()).decode() == expected
    assert apply("x  ") == "x  _"
    assert apply(" y") == " y_"


def test_no_rules_change_nothing() -> None:
    assert normalizer([]) is None


@pytest.mark.parametrize("data", [b"", b"\x01\0\0\0", b"\x04\0\0\0\0\0\0\0", b"\xff" * 40])
def test_broken_tables(data: bytes) -> None:
    if data == b"\x04\0\0\0\0\0\0\0":  # a trie without a key
        assert read_charsmap(data) == {}
        return
    with pytest.raises(VocabularyError, match="table of the normalizer"):
        read_charsmap(data)


FULL = [pytest.param(name, marks=pytest.mark.full) for name in ("nmt_nfkc", "nfkc", "nfkc_cf")]


@pytest.mark.parametrize("name", ["nmt_nfkc_cf", *FULL])
def test_tables_as_sentencepiece(name: str) -> None:
    sentencepiece = pytest.importorskip("sentencepiece")
    pytest.importorskip("google.protobuf")
    from sentencepiece import sentencepiece_model_pb2

    norm = sentencepiece.SentencePieceNormalizer(
        rule_name=name, add_dummy_prefix=False, escape_whitespaces=False, remove_extra_whitespaces=False
    )
    model = sentencepiece_model_pb2.ModelProto()
    model.ParseFromString(norm.serialized_model_proto())
    ours = normalizer([Charsmap(model.normalizer_spec.precompiled_charsmap)])
    assert ours is not None
    rng = random.Random(2)
    for char in rng.sample([*POINTS[1:0x3400], *POINTS[0xF900:0xFFF0]], 1_500):
        assert ours(char) == norm.normalize(char), ascii(char)
    for _ in range(1_000):
        text = "".join(rng.choices([*POINTS[0x20:0x500], *POINTS[0x3040:0x3100], "\u0301", "\u3099", "ﬃ"], k=8))
        assert ours(text) == norm.normalize(text), ascii(text)
