"""No call of Python for each piece of a text: the number of frames does not depend on the length of a text."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from charsmap_tables import compiled_table
from frames import entered_modules, frames
from rule_files import METASPACES, named, of_characters, replaced
from vocabularies import added, byte_level, document, sequence, split, write_json

import bbpe
from bbpe.spec.models import WordLevelModel
from bbpe.spec.rules import Charsmap, Precompiled, SqueezeBlanks
from bbpe.spec.spec import TextRules, TokenizerSpec
from bbpe.splitting.patterns import PATTERNS

BERT = named("BertNormalizer", clean_text=True, handle_chinese_chars=True, strip_accents=None, lowercase=True)
NORMALIZERS = [
    *map(named, ("NFC", "NFD", "NFKC", "NFKD", "Nmt", "Lowercase", "StripAccents", "ByteLevel")),
    named("Strip", strip_left=True, strip_right=True), replaced("the", "é"), replaced(r"\s+", " ", "Regex"),
    named("Prepend", prepend="_"), BERT,
]  # fmt: skip
PRE_TOKENIZERS = [
    byte_level(add_prefix_space=True),
    *(sequence(split(r"in|\s", behavior=behavior), byte_level()) for behavior in ("Removed", "MergedWithNext")),
    *(
        sequence(part, byte_level())
        for part in (
            *map(named, ("Whitespace", "WhitespaceSplit", "BertPreTokenizer", "UnicodeScripts")),
            named("Punctuation", behavior="Isolated"), named("Digits", individual_digits=True),
            named("CharDelimiterSplit", delimiter="-"), named("FixedLength", length=3),
        )
    ),
]  # fmt: skip
FLAGS = [{"lstrip": True}, {"rstrip": True}, {"single_word": True}, {"normalized": True, "special": False}]
DECODERS = [
    named("ByteLevel"), METASPACES[0] | {"type": "Metaspace"}, named("WordPiece", prefix="##", cleanup=True),
    named("Fuse"), named("Strip", content=" ", start=1, stop=0), replaced("a", "b"), None,
]  # fmt: skip
CASES: dict[str, dict[str, Any]] = {
    **{f"normalizer {rule['type']}": document(normalizer=rule) for rule in NORMALIZERS},
    **{f"pre-tokenizer {number}": document(pre_tokenizer=rule) for number, rule in enumerate(PRE_TOKENIZERS)},
    **{f"added {each}": document(added_tokens=[added("<x>", 267, **each)], normalizer=named("NFC")) for each in FLAGS},
    **{f"decoder {number}": document(decoder=rule) for number, rule in enumerate(DECODERS)},
    **{
        f"Metaspace {number}": of_characters(normalizer=None, pre_tokenizer=rule, fallback=number % 2 == 0)
        for number, rule in enumerate(METASPACES)
    },
    "characters": of_characters(),
    "trims": document(post_processor=named("ByteLevel", add_prefix_space=True, trim_offsets=True, use_regex=True)),
}
UNIT = "the thing<x> is in-12 \u00e9e\u0301 \u4e2d, "


def calls_of(tok: bbpe.Tokenizer, text: str) -> dict[str, Callable[[], object]]:
    ids = tok.encode(text, allowed_special="all")
    return {
        "encode": lambda: tok.encode(text, allowed_special="all"),
        "encode_batch": lambda: tok.encode_batch([text], allowed_special="all"),
        "encode_with_offsets": lambda: tok.encode_with_offsets(text, allowed_special="all"),
        "decode": lambda: tok.decode(ids),
    }


def growing(tok: bbpe.Tokenizer) -> set[str]:
    """The calls whose frames are more for a longer text."""
    short, long = calls_of(tok, UNIT * 3), calls_of(tok, UNIT * 60)
    return {name for name in short if frames(short[name]) != frames(long[name])}


@pytest.mark.parametrize("name", CASES)
def test_no_frame_for_each_piece(tmp_path: Path, name: str) -> None:
    assert growing(bbpe.load(write_json(tmp_path / "tokenizer.json", CASES[name]))) == set()


TABLE = compiled_table({"\u00e9": "e"})


@pytest.mark.parametrize(
    "rule", [Charsmap(TABLE, suffix="_"), Precompiled(TABLE), SqueezeBlanks()], ids=lambda rule: type(rule).__name__
)
def test_no_frame_for_each_piece_of_sentencepiece_rules(rule: Any) -> None:
    spec = bbpe.train_from_iterator(["the thing"], 260).spec
    changed = TokenizerSpec(spec.vocab, spec.merges, spec.pattern, {"<x>": 300}, rules=TextRules((rule,)))
    assert growing(bbpe.Tokenizer(changed)) == set()


#: An "e" after "th": that no two "x" follow is always so, but refers to a group.
REFERRING = r"(?<=th)e(?!(x)\1)"
#: Tokenizers with one regex whose matches Python finds.
FOREIGN: dict[str, dict[str, Any]] = {
    "pattern": document(pre_tokenizer=sequence(split(REFERRING), byte_level(use_regex=False))),
    "split": document(pre_tokenizer=sequence(split(REFERRING, behavior="MergedWithNext"), byte_level())),
    "normalizer": document(normalizer=replaced(REFERRING, "x", "Regex")),
}
#: What asks the package `regex`, and classifies characters as Unicode 16 does.
ASKED = {"splitting.regexes", "splitting.unicode_16", "lazy"}


@pytest.mark.parametrize("name", FOREIGN)
def test_a_foreign_regex_is_all_that_python_is_asked_for(tmp_path: Path, name: str) -> None:
    tok = bbpe.load(write_json(tmp_path / "tokenizer.json", FOREIGN[name]))
    short, long = calls_of(tok, UNIT * 3), calls_of(tok, UNIT * 60)
    for call in short:
        more = entered_modules(long[call]) - entered_modules(short[call])
        assert more.keys() <= ASKED, call
        assert ("splitting.regexes" in entered_modules(long[call])) == (call != "decode"), call


@pytest.mark.parametrize("name", [name for name in PATTERNS if name != "none"])
def test_no_pattern_enters_python_for_a_pretoken(name: str) -> None:
    tok = bbpe.train_from_iterator([UNIT * 3], 262, pattern=name, special_tokens=["<x>"])
    assert growing(tok) == set()
    assert entered_modules(lambda: tok.encode(UNIT)).total() == 0


def test_words_that_are_fused_between_tokens() -> None:
    model = WordLevelModel(0, fuses=True)
    spec = TokenizerSpec({0: b"?", 1: b"the"}, None, PATTERNS["whitespace"], {"<x>": 2}, model=model)
    tok = bbpe.Tokenizer(spec)
    short, long = (calls_of(tok, text)["encode"] for text in (UNIT * 3, UNIT * 60))
    assert frames(short) == frames(long)


def test_decoders_that_join_and_change_the_text_are_an_exception(tmp_path: Path) -> None:
    steps = [named("Fuse"), replaced("a", "b")]
    ctc = named("CTC", pad_token="a", word_delimiter_token="|", cleanup=True)
    for rule in (named("Sequence", decoders=steps), ctc):
        tok = bbpe.load(write_json(tmp_path / "tokenizer.json", document(decoder=rule)))
        assert growing(tok) <= {"decode"}
