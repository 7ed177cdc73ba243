"""Codes of subword-nmt of version 0.1, or without a version: the end of a word is a symbol of its own."""

from __future__ import annotations

import io
import pickle
import random
from pathlib import Path
from typing import Any

import pytest

import bbpe
from bbpe import formats
from bbpe.errors import VocabularyError
from bbpe.records import replace
from bbpe.spec.rules import Characters
from bbpe.spec.spec import make_spec
from bbpe.splitting.patterns import get_pattern

apply_bpe = pytest.importorskip("subword_nmt.apply_bpe")


def pieces(tok: bbpe.Tokenizer, text: str) -> str:
    """As subword-nmt writes them: `@@` where a word goes on; it leaves what is unknown as it is."""
    tokens = [tok.id_to_token(token_id).decode() for token_id in tok.encode(text)]
    return " ".join(token.removesuffix("</w>") if token.endswith("</w>") else f"{token}@@" for token in tokens)


def random_codes(rng: random.Random) -> list[str]:
    """Merges of a few characters, learned or not: some parts are never made, some results are made twice."""
    symbols = [*"abcd", "</w>"]
    rows = list[str]()
    for _ in range(rng.randint(1, 25)):
        left = rng.choice([symbol for symbol in symbols if not symbol.endswith("</w>")])
        right = rng.choice(symbols)
        rows.append(f"{left} {right}")
        if rng.random() < 0.9:
            symbols.append(left + right)
    return rows


@pytest.mark.parametrize("header", ["#version: 0.1\n", ""])
def test_pieces_are_those_of_subword_nmt(tmp_path: Path, header: str) -> None:
    rng, path = random.Random(7), tmp_path / "old.codes"
    for _ in range(15):
        data = header + "".join(f"{row}\n" for row in random_codes(rng))
        path.write_text(data, "utf-8")
        tok, judge = bbpe.load(path), apply_bpe.BPE(io.StringIO(data))
        for _ in range(30):
            text = " ".join("".join(rng.choices("abcd", k=rng.randint(1, 9))) for _ in range(4))
            assert pieces(tok, text) == judge.segment(text), (data, text)
            assert tok.decode(tok.encode(text)) == text == "".join(tok.stream_decoder().stream(tok.encode(text)))
            assert tok.count_tokens(text) == len(tok.encode(text))


def test_places_saving_and_other_formats(tmp_path: Path) -> None:
    (tmp_path / "x").write_text("#version: 0.1\ne n\nen </w>\n")  # known by its content
    tok = bbpe.load(tmp_path / "x")
    assert pieces(tok, "en ene nen") == "en en@@ e n@@ en"
    ids, places = tok.encode_with_offsets("en ene \u6771n \u6771")
    assert [*map(tuple, places)] == [(0, 2), (3, 5), (5, 6), (7, 8), (8, 9), (10, 11)]
    assert [token_id for token_id in ids if token_id == 0] == [0, 0]
    tok.save(tmp_path / "again.codes")
    assert bbpe.load(tmp_path / "again.codes") == tok == pickle.loads(pickle.dumps(tok))
    judge = apply_bpe.BPE(io.StringIO((tmp_path / "again.codes").read_text()))
    assert judge.segment("en ene nen") == "en en@@ e n@@ en"
    with pytest.raises(VocabularyError, match="no field holds a symbol of its own for the end of a word"):
        tok.save(tmp_path / "tokenizer.json")
    with pytest.raises(VocabularyError, match="symbols of the vocabulary are not characters with U"):
        tok.save(tmp_path / "x.gguf")


def test_the_trace_shows_the_end_as_a_symbol(tmp_path: Path) -> None:
    (tmp_path / "x.codes").write_text("e n\nen </w>\n")
    tok = bbpe.load(tmp_path / "x.codes")
    word = tok.trace("en \u6771").pretokens[0]
    assert (word.start, word.steps[-1].symbols) == ((b"e", b"n", b"</w>"), (b"en</w>",))
    assert word.ids == (tok.token_to_id("en</w>"),)


def test_a_spec_without_the_symbol_is_refused() -> None:
    characters = Characters((), 0, end_of_word="</w>", end_apart=True)
    with pytest.raises(VocabularyError, match="end_apart without a token"):
        make_spec({1: b"a"}, (), pattern=get_pattern("whitespace"), special_tokens={"?": 0}, characters=characters)


@pytest.mark.parametrize(
    "change", [{"prefix": "##"}, {"end_of_word": "</x>"}, {"end_of_word": ""}, {"are_bytes": True}, None], ids=str
)
def test_codes_are_of_characters_with_one_mark_at_the_end(tmp_path: Path, change: dict[str, Any] | None) -> None:
    (tmp_path / "x.codes").write_text("#version: 0.2\ne n\nen d</w>\n")
    spec = formats.load(tmp_path / "x.codes")
    written = formats.written(spec, tmp_path / "y.codes", "codes")
    assert written == {tmp_path / "y.codes": b"#version: 0.2\ne n\nen d</w>\n"}
    assert spec.characters is not None
    characters = None if change is None else replace(spec.characters, **change)
    with pytest.raises(VocabularyError, match="codes hold only merges of characters with </w> at the end of words"):
        formats.FORMATS["codes"].written(replace(spec, characters=characters), tmp_path / "y.codes")


def test_headers(tmp_path: Path) -> None:
    for header, problem in {
        "#version: 0.3": r"line 1: found '#version: 0\.3'; expected '#version: 0\.2' or '#version: 0\.1'",
        "v3;false;true;false;<w>;</w>": "line 1: found the header of OpenNMT's Tokenizer",
    }.items():
        (tmp_path / "x.codes").write_text(f"{header}\ne n\n")
        with pytest.raises(VocabularyError, match=problem):
            bbpe.load(tmp_path / "x.codes")
    for lines, problem in (("e n\ne n s", "line 2: found 'e n s'"), ("e n 5 6\ne n", "line 1: found 'e n 5 6'")):
        (tmp_path / "x.codes").write_text(f"{lines}\n")
        with pytest.raises(VocabularyError, match=f"{problem}; expected two symbols with a blank between"):
            bbpe.load(tmp_path / "x.codes")


@pytest.mark.parametrize("merges", ["", "\u00e9 \u4e2d\n"])
def test_all_printed_characters_of_ascii_are_known_whatever_the_merges(tmp_path: Path, merges: str) -> None:
    """They are numbered in order, each within a word and at its end; others only if a merge has them."""
    (tmp_path / "x.codes").write_text(f"#version: 0.2\n! ~</w>\n{merges}", "utf-8")
    tok = bbpe.load(tmp_path / "x.codes")
    printed = [chr(code) for code in range(ord("!"), ord("~") + 1)]
    for number, char in enumerate(printed):
        assert tok.encode(f"{char}{char} {char}") == [1 + 2 * number, 2 + 2 * number, 2 + 2 * number], char
    assert tok.encode("!~") == [1 + 2 * (94 + len(merges.split()))]
    assert tok.encode("\u00e9 \x7f") == [190 if merges else 0, 0]
