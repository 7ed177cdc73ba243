"""Metaspace with the scheme "first": what the first character of a text became gets the mark, as in `tokenizers`."""

from __future__ import annotations

import itertools
import random
from pathlib import Path
from typing import Any

import pytest
from random_files import charsmap
from rule_files import named, of_characters, replaced
from vocabularies import added, sequence, split, write_json

import bbpe
from bbpe.reference.pipeline import SlowPipeline
from bbpe.reference.pre_tokenizers import pretokens
from bbpe.spec.rules import ByteAlphabet, ByteLevel, FixedLength, Metaspace

tokenizers = pytest.importorskip("tokenizers")

NORMALIZERS: list[Any] = [
    None,
    named("Strip", strip_left=True, strip_right=False),
    named("StripAccents"),
    named("Lowercase"),
    named("NFKC"),
    named("ByteLevel"),
    named("Prepend", prepend="a"),
    replaced("in", "g"),
    replaced("t", "th"),
    replaced("a", ""),
    replaced("^ +", "", "Regex"),
    named("Sequence", normalizers=[named("Strip", strip_left=True, strip_right=True), named("Prepend", prepend="x")]),
    named("BertNormalizer", clean_text=True, handle_chinese_chars=True, strip_accents=True, lowercase=True),
]
REMOVED = split("t", behavior="Removed")
SPLITS: list[list[Any]] = [[], [named("WhitespaceSplit")], [named("FixedLength", length=1)], [REMOVED]]
PARTS = ["t", "in", "a", " ", "  ", "\u2581", "\u0301", "ﬁ", "ǆ", "İ", "é", "中", "th", "<t>", "x", "\t"]


def texts(count: int) -> list[str]:
    rng = random.Random(3)
    pairs = ["".join(pair) for pair in itertools.product(PARTS, repeat=2)]
    return ["", *PARTS, *pairs, *("".join(rng.choices(PARTS, k=rng.randint(3, 6))) for _ in range(count))]


def check(
    path: Path, normalizer: Any, splits: list[Any], cuts: bool, sample: list[str], *, has_spans: bool = True
) -> None:
    metaspace = named("Metaspace", replacement="\u2581", prepend_scheme="first", split=cuts)
    tokens = [added("<unk>", 0), added("<t>", 1000), added("f", 1001, special=False, normalized=True)]
    chain = sequence(*splits, metaspace) if splits else metaspace
    value = of_characters(normalizer=normalizer, pre_tokenizer=chain, added_tokens=tokens)
    write_json(path, value)
    tok, hf = bbpe.load(path), tokenizers.Tokenizer.from_file(str(path))
    slow = SlowPipeline(tok.spec)
    matcher = tok._parts.specials.matcher("all")
    for text in sample:
        expected = hf.encode(text, add_special_tokens=False)
        assert tok.encode(text, allowed_special="all") == expected.ids, (text, normalizer, splits)
        assert slow.encode(text, matcher) == expected.ids, text
        ids, spans = tok.encode_with_offsets(text, allowed_special="all")
        assert ids == expected.ids, text
        assert not has_spans or spans.tolist() == [list(span) for span in expected.offsets], text


CASES = list(itertools.product(NORMALIZERS, SPLITS, (False, True)))


def test_some_chains(tmp_path: Path) -> None:
    several = (named("ByteLevel"), [named("FixedLength", length=1)], True)  # characters of one character, apart
    for case in [several, *CASES[::13]]:
        check(tmp_path / "tokenizer.json", *case, texts(20)[::3])


@pytest.mark.long
def test_all_chains(tmp_path: Path) -> None:
    for case in CASES:
        check(tmp_path / "tokenizer.json", *case, texts(300))


@pytest.mark.parametrize("before", [(), ("StripAccents",), ("Nmt",)])
def test_after_what_precompiled_removes(tmp_path: Path, before: tuple[str, ...]) -> None:
    pytest.importorskip("sentencepiece")
    table = charsmap("nmt_nfkc")
    steps = [*map(named, before), named("Precompiled", precompiled_charsmap=table), named("Lowercase")]
    sample = [front + text for front in ("\x01", "\x01\x1c", "\u0301\x01", "ﬁ\x01", " \x01") for text in texts(20)[::6]]
    for splits in SPLITS:
        rules = named("Sequence", normalizers=steps)
        check(tmp_path / "tokenizer.json", rules, splits, True, sample, has_spans=False)


def test_the_first_piece_after_bytes_became_characters() -> None:
    """Each byte of the first character begins where the text does, and gets the mark."""
    parts = tokenizers.pre_tokenizers
    theirs = parts.Sequence([
        parts.ByteLevel(add_prefix_space=False, use_regex=False), parts.FixedLength(1),
        parts.Metaspace(prepend_scheme="first", split=False),
    ])  # fmt: skip
    rules = (ByteLevel(False, False), FixedLength(1), Metaspace("first", False), ByteAlphabet())
    for text in ("é x", "中é", "x é", "😀", ""):
        expected = [piece for piece, _ in theirs.pre_tokenize_str(text)]
        assert [piece.decode() for piece in pretokens(rules, text, head=1)] == expected, text


def test_spans_know_what_of_the_first_piece_is_done(tmp_path: Path) -> None:
    """By a rule that needs Python: a token at the beginning leaves nothing that gets the mark."""
    camel = split(r"(?<=[a-z])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])")
    metaspace = named("Metaspace", replacement="\u2581", prepend_scheme="first", split=True)
    tokens = [added("<unk>", 0), added("<t>", 1000), added("f", 1001, special=False, normalized=True)]
    rules = {"normalizer": named("Lowercase"), "pre_tokenizer": sequence(camel, metaspace)}
    path = write_json(tmp_path / "tokenizer.json", of_characters(**rules, added_tokens=tokens))
    tok, hf = bbpe.load(path), tokenizers.Tokenizer.from_file(str(path))
    for text in ("Fin", "fthe", "f in", "ffa", "<t>fin", "in f", "the", "finf", "fA fB", *texts(30)):
        expected = hf.encode(text, add_special_tokens=False)
        ids, spans = tok.encode_with_offsets(text, allowed_special="all")
        assert (ids, spans.tolist()) == (expected.ids, [list(span) for span in expected.offsets]), text
