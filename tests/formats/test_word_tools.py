"""The expectations of subword-nmt's and YouTokenToMe's own tests, through their interfaces over tokenizers of bbpe."""

from __future__ import annotations

import random
import re
from pathlib import Path

import pytest
from word_tools import SubwordNmt, YouTokenToMe, yttm_file

import bbpe

CODES = ["#version: 0.2", "i r", "o n</w>", "e m", "en t</w>", "em ent</w>", "e n", "e n</w>", "t h", "th e</w>"]


@pytest.fixture
def nmt(tmp_path: Path) -> SubwordNmt:
    (tmp_path / "x.codes").write_text("\n".join(["#version: 0.2", *_closed(CODES[1:]), ""]), "utf-8")
    return SubwordNmt(bbpe.load(tmp_path / "x.codes"))


def _closed(merges: list[str]) -> list[str]:
    """Merges of which each joins symbols that are there: "en t</w>" needs "e n"."""
    return ["e n", *[merge for merge in merges if merge != "e n"]]


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("  iron cement  \n", "  ir@@ on c@@ ement  \n"),
        ("iron\xa0cement\n", "ir@@ on@@ \xa0@@ c@@ ement\n"),
        ("\n", "\n"),
        ("the iron\r\n", "the ir@@ on\r\n"),
    ],
)
def test_lines_of_subword_nmt(nmt: SubwordNmt, line: str, expected: str) -> None:
    """White space around a line stays, only spaces separate words, and an empty line is one."""
    if "\xa0" in line:  # "on" does not end a word there
        expected = expected.replace("ir@@ on@@", "ir@@ o@@ n@@")
    assert nmt.process_line(line) == expected


@pytest.mark.parametrize(
    ("glossaries", "word", "parts"),
    [
        (["like"], "word", ["word"]),
        (["like"], "like", ["like"]),
        (["like"], "likeword", ["like", "word"]),
        (["like"], "wordlikeword", ["word", "like", "word"]),
        (["like"], "likelike", ["like", "like"]),
        (["like"], "wordlikewordlike", ["word", "like", "word", "like"]),
        (
            ["like", "Manuel", "USA"],
            "wordlikeUSAwordManuelManuelwordUSA",
            ["word", "like", "USA", "word", "Manuel", "Manuel", "word", "USA"],
        ),
        (
            [r"<country>\w*</country>", r"<name>\w*</name>", r"\d+"],
            "wordlike<country>USA</country>word10001word<name>Manuel</name>word<country>USA</country>",
            ["wordlike", "<country>USA</country>", "word", "10001", "word", "<name>Manuel</name>", "word",
             "<country>USA</country>"],
        ),
    ],
)  # fmt: skip
def test_glossaries(nmt: SubwordNmt, glossaries: list[str], word: str, parts: list[str]) -> None:
    found = SubwordNmt(nmt._tok, glossaries)
    assert found.isolated(word) == parts
    assert "".join(found.pieces(word)) == word
    whole = [part for part in parts if any(re.fullmatch(glossary, part) for glossary in glossaries)]
    assert [piece for piece in found.pieces(word) if piece in whole] == whole


def test_a_segment_with_glossaries(nmt: SubwordNmt) -> None:
    found = SubwordNmt(nmt._tok, ["like", "Manuel"])
    assert found.segment("ironlikeiron likeManueliron") == "ir@@ o@@ n@@ like@@ ir@@ on like@@ Manuel@@ ir@@ on"


@pytest.fixture
def yttm(tmp_path: Path) -> YouTokenToMe:
    return YouTokenToMe(bbpe.load(yttm_file(tmp_path / "x.yttm")))


def test_encoding_and_decoding_of_you_token_to_me(yttm: YouTokenToMe) -> None:
    rng = random.Random(1)
    texts = [" ".join("".join(rng.choices("seemydog ", k=50)).split()) for _ in range(20)]
    named = yttm._tok.special_tokens
    ids, around = yttm.encode(texts), yttm.encode(texts, bos=True, eos=True)
    ends = [named["<BOS>"], named["<EOS>"]]
    assert yttm.decode(ids) == texts == yttm.decode(around, ignore_ids=ends)
    assert around == [[ends[0], *row, ends[1]] for row in ids]
    assert yttm.encode(texts, bos=True, eos=True, reverse=True) == [row[::-1] for row in around]


def test_the_vocabulary_of_you_token_to_me(yttm: YouTokenToMe) -> None:
    subwords = yttm.vocab()
    assert yttm.vocab_size() == len(subwords) == len(set(subwords))
    for number, subword in enumerate(subwords):
        assert (yttm.subword_to_id(subword), yttm.id_to_subword(number)) == (number, subword)


def test_subwords_of_you_token_to_me(yttm: YouTokenToMe) -> None:
    """Words are separated by white space, each begins with U+2581, and unknown characters are one id."""
    assert ["".join(row) for row in yttm.subwords([" see  my ", "xdogs"])] == ["\u2581see\u2581my", "\u2581xdogs"]
    named = yttm._tok.special_tokens
    (row,) = yttm.encode(["axx see"])
    assert row.count(named["<UNK>"]) == 1
    assert yttm.encode(["", " "]) == [[], []]
