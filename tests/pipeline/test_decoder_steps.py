"""Steps of decoders write each part of a text as soon as no later token can change it."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from bbpe.pipeline.decoders import DecoderMachine, Token
from bbpe.spec.decoders import (
    CTC,
    UNMARK,
    Blanks,
    BPEDecoder,
    ByteFallback,
    ByteLevel,
    DecoderStep,
    Fuse,
    Metaspace,
    SpecialRuns,
    Strip,
    WordPiece,
)
from bbpe.spec.rules import Replace

MARIAN = SpecialRuns(("</s>",), ("\u2581x",), ("<c>",), True, False)
SQUEEZING = SpecialRuns(("</s>",), ("\u2581x",), ("<c>",), True, True)
PLAIN = SpecialRuns(("</s>",), (), (), False, False)
#: Steps, tokens (with a mark for a blank), and what each token completes; and the rest at the end.
CASES: list[tuple[list[DecoderStep], str, list[str]]] = [
    ([Fuse(), Replace("ab", False, "X")], "a a b ca bb a", ["", "a", "X", "c", "Xb", "", "a"]),
    ([Fuse(), Replace("aab", False, "X")], "aa a ab aa", ["", "a", "aX", "", "aa"]),
    ([Fuse(), Replace("abc", False, "")], "xa b ab c d", ["x", "", "ab", "", "d", ""]),
    ([Fuse(), Replace("a", False, "bb"), Replace("bbb", False, "c")], "a b a", ["", "c", "", "bb"]),
    ([Fuse(), Replace("a+", True, "x")], "a ab", ["", "", "xb"]),
    ([Fuse(), Strip("_", 2, 1)], "_ __a b_ _ c_", ["", "_a", "b", "_", "_c", ""]),
    ([Fuse(), Strip("_", 1, 2)], "__ a_ __ _", ["", "_a", "_", "_", ""]),
    ([Fuse(), Strip("_", 0, 1), Strip("a", 1, 1)], "a_ a", ["", "_", ""]),
    ([Strip("_", 1, 1), Fuse()], "__ _a_ a__", ["", "a", "a_", ""]),
    ([Fuse(), Blanks()], "a b", ["", "", "ab"]),
    ([Blanks(), Fuse()], "a b c", ["a", " b", " c", ""]),
    ([ByteFallback(), Fuse()], "<0xE4> <0xB8> <0xAD> a <0x41>", ["\udce4", "\udcb8", "\udcad", "a", "A", ""]),
    ([ByteFallback(), Fuse(), Strip("_", 1, 0)], "<0xE4> <0xB8> <0xAD> _", ["", "", "\u4e2d", "_", ""]),
    ([ByteFallback(), Fuse(), Strip("_", 1, 0)], "_ <0xE4> a <0xE4>", ["", "", "\udce4a", "", "\udce4"]),
    ([ByteFallback(), Metaspace()], "\u2581a <0xE4> <0xB8> \u2581b <0x5f>", ["a", "", "", "\udce4\udcb8 b", "", "_"]),
    ([ByteFallback(), Metaspace()], "<0x00> a <0x00>", ["", "\0a", "", "\0"]),
    ([ByteFallback(), Blanks()], "<0xE4> <0xB8> <0xAD> b <0x63> <0x64>", ["", "", "", "\u4e2d b", "", "", " cd"]),
    ([Metaspace()], "\u2581\u2581a \u2581b\u2581 c", [" a", " b ", "c", ""]),
    ([Metaspace("_", "never")], "_a _b", [" a", " b", ""]),
    ([Metaspace("_", "first")], "_a _b", ["a", " b", ""]),
    ([BPEDecoder("</w>")], "a</w> b c</w>", ["", "a ", "b", "c"]),
    ([BPEDecoder("</w>"), Blanks()], "a</w> b c</w>", ["", "a ", " b", " c"]),
    ([ByteLevel("</w>")], "a</w> \u0120b</w> c</w>", ["", "a ", " b ", "c"]),
    ([ByteLevel(), Strip("_", 1, 1)], "_\u0120a \u00e4 \u00b8 \u0143_", [" a", "", "", "\u4e2d", ""]),
    ([CTC("<pad>", "|", True)], "a a <pad> a | | b .", ["a", "", "", "a", " ", "", "b", ".", ""]),
    ([CTC("<pad>", "|", False)], "a | <pad> |b|<pad>", ["a", "|", "", "|b|", ""]),
    ([CTC("<pad>", "|", True), Blanks()], "<pad> a a b", ["", "a", "", " b", ""]),
    ([WordPiece("##", True)], "a ##b n't ##c . do", ["a", "b", "n't", "c", ".", " do", ""]),
    ([WordPiece("##", False)], "##a b ##c .", ["##a", " b", "c", " .", ""]),
    ([MARIAN], "\u2581\u2581a \u2581b </s> \u2581\u2581c <c> \u2581 d \u2581",
     ["a", " b", "</s>", "  c", "", "", " d", "", ""]),
    ([MARIAN], "</s> \u2581 \u2581c </s> \u2581x a", ["</s>", "", "  c", "</s>", "  x", "a", ""]),
    ([SQUEEZING], "</s> \u2581 \u2581c </s> \u2581x a", ["</s>", "", " c", "</s>", "  x", "a", ""]),
    ([PLAIN], "\u2581a </s> \u2581b \u2581\u2581 </s>", ["a", "</s>", "  b", "", "  </s>", ""]),
]  # fmt: skip


@pytest.mark.parametrize(("steps", "keys", "expected"), CASES)
def test_what_each_token_completes(steps: list[DecoderStep], keys: str, expected: list[str]) -> None:
    machine = DecoderMachine(steps)
    assert [*(machine.push(Token(key)) for key in keys.split(" ")), machine.finish()] == expected


@pytest.mark.parametrize(
    ("steps", "expected"),
    [
        ([Metaspace()], ["a", "<\u2581>", " b"]),
        ([UNMARK], [" a", "<\u2581>", " b"]),
        ([Metaspace("b", "never")], ["\u2581a", "<\u2581>", "\u2581 "]),
        ([Blanks(), UNMARK], [" a", " <\u2581>", "  b"]),
        # a text of runs is final, so no mark in it is one for a later step
        ([SpecialRuns(("<\u2581>",), (), (), True, False), UNMARK], ["a", "<\u2581>", " b"]),
        ([Replace("\u2581", False, "_")], ["_a", "<_>", "_b"]),
    ],
)
def test_marks_in_an_added_token_are_text(steps: Sequence[DecoderStep], expected: list[str]) -> None:
    machine = DecoderMachine(steps)
    tokens = [Token("\u2581a"), Token("<\u2581>", True), Token("\u2581b")]
    assert [machine.push(token) for token in tokens] == expected
