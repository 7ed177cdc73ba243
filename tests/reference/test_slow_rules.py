"""The readable normalizers and pre-tokenizers against examples worked by hand, and against `tokenizers`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from charsmap_tables import compiled_table

from bbpe.errors import VocabularyError
from bbpe.reference.charsmap import grapheme_function, grapheme_parts, read_charsmap
from bbpe.reference.normalizers import normalizer
from bbpe.reference.places import align
from bbpe.reference.pre_tokenizers import prefixed, pretokens, split_at_blanks, split_by_script, split_text
from bbpe.reference.unicode_forms import normal_form
from bbpe.spec.rules import (
    BEHAVIORS,
    SPACE_MARK,
    Behavior,
    BertNormalizer,
    ByteAlphabet,
    ByteLevel,
    ByteLevelNormalizer,
    Charsmap,
    Digits,
    FixedLength,
    Form,
    Lowercase,
    Metaspace,
    Nmt,
    Normalizer,
    Precompiled,
    Prefix,
    Prepend,
    PreTokenizer,
    Replace,
    Split,
    SqueezeBlanks,
    Strip,
    StripAccents,
    UnicodeForm,
    UnicodeScripts,
)

MARK = Replace(" ", False, SPACE_MARK)
NO_BERT = dict.fromkeys(("clean_text", "cjk_apart", "strip_accents", "lowercase"), False)
#: "e" with an accent becomes "E", "ab" becomes "x", and "b" nothing.
TABLE = compiled_table({"e\u0301": "E", "ab": "x", "b": "", "c": "yz", "\r\n": "n"})


def bert(**options: bool) -> BertNormalizer:
    return BertNormalizer(**{**NO_BERT, **options})


@pytest.mark.parametrize(("rule", "text", "expected"), [
    (UnicodeForm("NFC"), "e\u0301 \ufb01", "\u00e9 \ufb01"), (UnicodeForm("NFD"), "\u00e9 \ufb01", "e\u0301 \ufb01"),
    (UnicodeForm("NFKC"), "e\u0301 \ufb01", "\u00e9 fi"), (UnicodeForm("NFKD"), "\u00e9 \ufb01", "e\u0301 fi"),
    (Lowercase(), "AB\u00c9\u03a3", "ab\u00e9\u03c3"),
    (Lowercase(), "\u039f\u03a3 \u03a3\u03a3", "\u03bf\u03c3 \u03c3\u03c3"),
    (Lowercase(), "\u0130", "i\u0307"), (Lowercase(), "AbC", "abc"),
    (StripAccents(), "e\u0301\u00e9a\u0903\u20dd", "e\u00e9a"), (StripAccents(), "abc", "abc"),
    (Strip(True, False), " \t\u3000a \x85", "a \x85"), (Strip(False, True), " a \u2028\x85", " a"),
    (Strip(True, True), "\x0b a b\x0c", "a b"), (Strip(False, False), " a ", " a "),
    (Strip(True, True), "\x1fa", "\x1fa"),
    (Prepend(">"), "", ""), (Prepend(">"), ">a", ">>a"),
    (Replace("aa", False, "b"), "aaa", "ba"), (Replace("", False, "b"), "aa", "aa"),
    (Replace(".", False, "b"), "a.", "ab"),
    (Replace("a+|c", True, "-"), "aabcc", "-b--"), (Replace("(a)", True, "\\1$1"), "ab", "\\1$1b"),
    (Nmt(), "\x01a\x08\x0b\x0e\x1f\x7f\x8f\x9f", "a"), (Nmt(), "\x00\x80\x90", "\x00\x80\x90"),
    (Nmt(), "\ta\n\x0c\r\u1680\u200b\u200f\u2028\u2029\u2581\ufeff\ufffd", " a           "),
    (Nmt(), "\u200a\u2010", "\u200a\u2010"),
    (ByteLevelNormalizer(), " \u00e9\n", "\u0120\u00c3\u00a9\u010a"), (ByteLevelNormalizer(), "\udcff", "\u00ff"),
    (SqueezeBlanks(), "  a   b  c ", "a b c"), (SqueezeBlanks(), "   ", ""), (SqueezeBlanks(), " a \u2581 ", "a"),
    (SqueezeBlanks("", False), " a \u2581 ", "a \u2581"), (SqueezeBlanks("\u2581"), " a  \u2581", "a\u2581"),
    (SqueezeBlanks("\u2581"), " a  ", "a"),
    (bert(clean_text=True), "a\x00\u200d\ue000\ufffd\x85b\t\u00a0\u3000c\x1c", "ab   c"),
    (bert(clean_text=True), "\r\n", "  "),
    (bert(cjk_apart=True), "a\u4e2d\u6587b\u3042", "a \u4e2d  \u6587 b\u3042"),
    (bert(cjk_apart=True), "\u33ff\u3400\u9fff\ua000", "\u33ff \u3400  \u9fff \ua000"),
    (bert(strip_accents=True), "\u00c9A\u0301\u0903", "EA\u0903"),
    (bert(lowercase=True), "\u00c9\u4e2d\t", "\u00e9\u4e2d\t"),
    (bert(), "\u00c9 \t\u4e2d", "\u00c9 \t\u4e2d"), (BertNormalizer(), "\u00c9\t\u4e2d", "e  \u4e2d "),
    (Precompiled(TABLE), "e\u0301ab bc", "Ea yz"), (Precompiled(TABLE), "ab\r\n", "an"),
    (Precompiled(TABLE), "d\u0301", "d\u0301"),
    (Precompiled(b""), "ab\u4e2d", "ab\u4e2d"),
    (Charsmap(TABLE), "e\u0301abbc\u4e2d", "Exyz\u4e2d"), (Charsmap(TABLE, ("ab",)), "abb", "ab"),
    (Charsmap(TABLE, (), "<", ">"), "ab", "<x>"), (Charsmap(TABLE, (), "<", ">"), "", ""),
    (Charsmap(compiled_table({"\t": " "}), (), "<", "", True), " \t ", ""),
    (Charsmap(compiled_table({"\t": " "}), (), "<", "", False), " \t ", "<   "),
    (Charsmap(compiled_table({"\t": " "}), (), "<", "", True), " \ta", "<  a"),
    (Charsmap(compiled_table({"\t": " "}), ("\t",), "<", "", True), "\t", "<\t"),
    (Charsmap(compiled_table({" ": "a"}), (" ",), "<", "", True), " ", ""),
])  # fmt: skip
def test_a_normalizer_by_hand(rule: Normalizer, text: str, expected: str) -> None:
    apply = normalizer((rule,))
    assert apply is not None
    assert apply(text) == expected


def test_rules_apply_in_order_and_may_end_with_the_mark_of_blanks() -> None:
    first, second = Replace("a", False, "b"), Replace("b", False, "c")
    for rules, marks, text, expected in (
        ([first, second], False, "ab", "cc"), ([second, first], False, "ab", "bc"),
        ([MARK], False, "a \u2581", "a\u2581\u2581"), ([MARK], True, "a \u2581", "a  "),
        ([MARK, first], True, "a ", "b "),
        ([first, MARK], True, "a \u2581", "b  "), ([], True, "\u2581a", " a"),
    ):  # fmt: skip
        apply = normalizer(rules, marks_blanks=marks)
        assert apply is not None
        assert apply(text) == expected
    assert normalizer([]) is None


@pytest.mark.parametrize(("rules", "text", "after", "sources", "head"), [
    ([], "ab", "ab", [0, 1], 1), ([], "", "", [], 0), ([Lowercase()], "ab", "ab", [0, 1], 1),
    ([Prepend("<<")], "ab", "<<ab", [0, 0, 0, 1], 3), ([Prepend("<"), Prepend(">")], "a", "><a", [0, 0, 0], 3),
    ([Lowercase()], "A\u0130b", "ai\u0307b", [0, 1, 1, 2], 1),
    ([StripAccents()], "e\u0301a\u0301b", "eab", [0, 2, 4], 1),
    ([Strip(True, True)], "  ab ", "ab", [2, 3], 0), ([Strip(False, True)], " a ", " a", [0, 1], 1),
    ([Replace("ab", False, "xyz")], "cabd", "cxyzd", [0, 2, 2, 2, 3], 1),
    ([Replace("a", False, "")], "bab", "bb", [0, 2], 1),
    ([Replace("b+", True, "-")], "abbcb", "a-c-", [0, 2, 3, 4], 1),
    ([Replace(".", False, "x")], "a.", "ax", [0, 1], 1),
    ([SqueezeBlanks()], "  a   b ", "a b", [2, 3, 6], 0),
    ([SqueezeBlanks("\u2581")], " a  \u2581", "a\u2581", [1, 4], 0),
    ([UnicodeForm("NFC")], "xe\u0301y", "x\u00e9y", [0, 1, 3], 1),
    ([UnicodeForm("NFD")], "\u00e9y", "e\u0301y", [0, 0, 1], 2),
    ([UnicodeForm("NFKC")], "\ufb01e\u0301", "fi\u00e9", [0, 0, 1], 2),
    ([UnicodeForm("NFD")], "a\u0301\u0323b", "a\u0323\u0301b", [0, 1, 2, 3], 1),
    ([BertNormalizer()], "\u00c9\x00\u4e2db", "e \u4e2d b", [0, 2, 2, 2, 3], 1),
    ([bert(lowercase=True)], "AB", "ab", [0, 1], 1),
    ([Nmt()], "a\x01\u200bb", "a b", [0, 2, 3], 1),
    ([ByteLevelNormalizer()], "\u00e9a", "\u00c3\u00a9a", [0, 0, 1], 2),
    ([Precompiled(TABLE)], "ce\u0301d", "yzEd", [0, 0, 1, 3], 2),
    ([Prepend("e\u0301"), Precompiled(TABLE)], "da", "Eda", [0, 0, 1], 2),
    ([Precompiled(TABLE)], "bbc", "yz", [2, 2], 2),
])  # fmt: skip
def test_each_character_comes_from_one_of_the_text(
    rules: list[Normalizer], text: str, after: str, sources: list[int], head: int
) -> None:
    found = align(rules, text)
    assert (found.text, found.sources.tolist(), found.head) == (after, sources, head)


def test_what_has_no_places_is_named() -> None:
    with pytest.raises(VocabularyError, match=r"^normalizer Charsmap.* has no offsets; encode without offsets$"):
        align([Charsmap(TABLE)], "ab")
    assert align([Charsmap(TABLE)], "d").text == "d"


@pytest.mark.parametrize("size", [1, 20, 200])
@pytest.mark.parametrize(("form", "given", "expected"), [
    ("NFC", "\u09c7\u09be", "\u09cb"),
    ("NFC", "e\u0301", "\u00e9"), ("NFC", "\u1100\u1161\u11a8", "\uac01"), ("NFD", "\uac01", "\u1100\u1161\u11a8"),
    ("NFKC", "\ufb01\uff21", "fiA"), ("NFKD", "\u00bd", "1\u20442"), ("NFC", "\u0344", "\u0308\u0301"),
    ("NFC", "a\u0323\u0301", "\u1ea1\u0301"), ("NFD", "a\u0301\u0323", "a\u0323\u0301"),
    ("NFC", "\U00011935\U00011930", "\U00011935\U00011930"),
])  # fmt: skip
def test_a_form_is_the_same_in_short_and_long_texts(size: int, form: Form, given: str, expected: str) -> None:
    """Long texts are normalized around what a form may change: at the beginning, at the end, and between."""
    plain = "q" * size
    assert normal_form(form, given) == expected
    assert normal_form(form, f"{plain}{given}") == plain + expected
    assert normal_form(form, f"{given}{plain}{given}{plain}\u4e2d") == expected + plain + expected + plain + "\u4e2d"


def test_a_broken_table_is_refused() -> None:
    assert read_charsmap(TABLE) == {"e\u0301": "E", "ab": "x", "b": "", "c": "yz", "\r\n": "n"}
    size = int.from_bytes(TABLE[:4], "little")
    for data in (b"", b"\0\0\0\0", TABLE[: size + 3], (5).to_bytes(4, "little") + bytes(9), TABLE[: size + 4]):
        with pytest.raises(VocabularyError, match=r"the table of the normalizer is (truncated|broken)"):
            read_charsmap(data)


def test_clusters_of_six_bytes_are_looked_up_character_by_character() -> None:
    table = compiled_table({"e": "x", "\u0301": "'"})
    assert grapheme_function(table)("e\u0301 e\u0301\u0301\u0301") == "x x'''"
    six = compiled_table({"\u0435": "x", "e": "y"})
    assert grapheme_function(six)("\u0435\u0301\u0301 e\u0301\u0301") == "x\u0301\u0301 y"
    assert grapheme_parts(table, "e\u0301a") == [("e\u0301", "x"), ("a", "a")]
    assert grapheme_parts(b"", "e\u0301") == [("e", "e"), ("\u0301", "\u0301")]


# -- pre-tokenizers --------------------------------------------------------------------------------------------------

@pytest.mark.parametrize("behavior", BEHAVIORS)
@pytest.mark.parametrize("invert", [False, True])
@pytest.mark.parametrize("regex", [",", "[a-c]+", ",+"])
def test_splits_are_those_of_tokenizers(behavior: Behavior, invert: bool, regex: str) -> None:
    tokenizers = pytest.importorskip("tokenizers")
    name = {"MergedWithPrevious": "merged_with_previous", "MergedWithNext": "merged_with_next"}
    split = tokenizers.pre_tokenizers.Split(
        tokenizers.Regex(regex), name.get(behavior, behavior.lower()), invert=invert
    )
    for text in (",a,,bc,", "a", ",", ",,", "a,b", "abc,,", ",,abc"):
        expected = [text[start:end] for _, (start, end) in split.pre_tokenize_str(text)]
        assert split_text(Split(regex, behavior, invert), text) == expected


@pytest.mark.parametrize(("behavior", "expected"), [
    ("Removed", ["a", "bc"]), ("Isolated", [",", "a", ",", ",", "bc", ","]),
    ("Contiguous", [",", "a", ",,", "bc", ","]),
    ("MergedWithPrevious", [",", "a,", ",", "bc,"]), ("MergedWithNext", [",a", ",", ",bc", ","]),
])  # fmt: skip
def test_each_treatment_of_matches(behavior: Behavior, expected: list[str]) -> None:
    assert split_text(Split(",", behavior), ",a,,bc,") == expected


@pytest.mark.parametrize(("rules", "head", "text", "expected"), [
    ([], 1, "a b", ["a b"]), ([], 1, "", []), ([FixedLength(2)], 1, "abcde", ["ab", "cd", "e"]),
    ([FixedLength(2)], 1, "abcd", ["ab", "cd"]),
    ([UnicodeScripts()], 1, " a\u0431", ["a", "\u0431"]),
    ([UnicodeScripts()], 1, "a\u0431 \u4e2d1", ["a", "\u0431 ", "\u4e2d", "1"]),
    ([Metaspace("always", True)], 0, "a b", ["\u2581a", "\u2581b"]),
    ([Metaspace("first", True)], 0, "a b", ["a", "\u2581b"]),
    ([Metaspace("first", True)], 1, "a b", ["\u2581a", "\u2581b"]),
    ([Metaspace("never", True)], 1, "a b", ["a", "\u2581b"]),
    ([Metaspace("always", False)], 1, "a b", ["\u2581a\u2581b"]), ([Metaspace("always", True)], 1, " a", ["\u2581a"]),
    ([Metaspace("always", True, "_")], 1, "a _b", ["_a", "_", "_b"]),
    ([FixedLength(1), Metaspace("first", True)], 1, "ab", ["\u2581a", "b"]),
    ([FixedLength(1), Metaspace("first", True)], 2, "ab", ["\u2581a", "\u2581b"]),
    ([Metaspace("first", True), Metaspace("first", True, "_")], 1, "a b", ["_\u2581a", "\u2581b"]),
    ([Metaspace("always", False), FixedLength(1), Metaspace("first", False, "_")], 1, "ab", ["_\u2581", "_a", "b"]),
    ([ByteLevel(True, True)], 1, "a b1", [" a", " b", "1"]), ([ByteLevel(False, False)], 1, "a b", ["a b"]),
    ([ByteLevel(True, False)], 1, " a", [" a"]),
    ([ByteLevel(False, True), Digits(True)], 1, "a12", ["a", "1", "2"]),
    ([ByteLevel(False, False), ByteAlphabet()], 1, " a", ["\u0120a"]),
])  # fmt: skip
def test_pretokens_by_hand(rules: list[PreTokenizer], head: int, text: str, expected: list[str]) -> None:
    assert pretokens(rules, text, head=head) == [each.encode() for each in expected]


def test_prefixes_blanks_and_scripts() -> None:
    first, each = Prefix(" ", first=True), Prefix(" ")
    cases: list[tuple[Callable[..., Any], tuple[Any, ...], Any]] = [
        (prefixed, (first, "a", 1), " a"), (prefixed, (first, "a", 0), "a"), (prefixed, (each, "a", 0), " a"),
        (prefixed, (each, " a", 0), " a"), (prefixed, (each, "", 1), ""), (prefixed, (None, "a", 1), "a"),
        (split_at_blanks, ("a\x1cb \u3000c",), ["a\x1cb", "c"]), (split_at_blanks, ("",), []),
        (split_by_script, ("",), []), (split_by_script, (" a \u0431",), ["a ", "\u0431"]),
        (split_by_script, ("\u0431\u0432a1",), ["\u0431\u0432", "a", "1"]),
    ]  # fmt: skip
    for function, arguments, expected in cases:
        assert function(*arguments) == expected, arguments
