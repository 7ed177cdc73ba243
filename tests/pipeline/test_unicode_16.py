"""Characters are classified by Unicode 16, as in HF's tokenizers, whatever version the `regex` package has."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from characters import CHARACTERS, SAMPLED

import bbpe
from bbpe.core.automaton import Automaton
from bbpe.splitting.automaton import automaton_of
from bbpe.splitting.character_sets import folded, members
from bbpe.splitting.regexes import compiled
from bbpe.splitting.unicode_16 import UNASSIGNED, as_of_16, listed, stand_ins

SPLITS = [r"\w+", r"\s", r"[^\s\p{L}\p{N}]+|\p{L}+", r"\d", r"\p{Lu}", r"[\p{P}\p{S}]", "[[:punct:]]", "[[:alpha:]]"]
RULES: list[dict[str, Any]] = [
    {"type": "Whitespace"},
    {"type": "WhitespaceSplit"},
    {"type": "BertPreTokenizer"},
    {"type": "Punctuation", "behavior": "Isolated"},
    {"type": "Digits", "individual_digits": True},
    {"type": "Digits", "individual_digits": False},
    {"type": "UnicodeScripts"},
    {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": False, "use_regex": True},
    *({"type": "Split", "pattern": {"Regex": source}, "behavior": "Isolated", "invert": False} for source in SPLITS),
]
#: Some characters of Unicode 17 and 18.
NEWER = "\u0c5c\u20c1\ua7ce\ua7cf\ua7d2\U00010940\U00011de3\U00016ea0\U00016ff5\U0001faea\U000323b0"


@pytest.mark.parametrize("chars", [SAMPLED, pytest.param(CHARACTERS, marks=pytest.mark.full)], ids=["sampled", "every"])
@pytest.mark.parametrize("rule", RULES, ids=str)
def test_every_character_as_hf(rule: dict[str, Any], chars: list[str], tmp_path: Path) -> None:
    tokenizers = pytest.importorskip("tokenizers", minversion="0.23")
    model = {"type": "WordLevel", "vocab": {"[UNK]": 0}, "unk_token": "[UNK]"}
    path = tmp_path / "tokenizer.json"
    path.write_text(json.dumps({"version": "1.0", "pre_tokenizer": rule, "model": model}), encoding="utf-8")
    ours, theirs = bbpe.load(path), tokenizers.Tokenizer.from_file(str(path))
    newer = [chr(point) for point in stand_ins()]
    blocks = [chars[start : start + 256] for start in range(0, len(chars), 256)]
    for block in [NEWER, *("".join(newer[start : start + 64]) for start in range(0, len(newer), 64)), *blocks]:
        text = "".join(f"a{char}1" for char in block)
        found = [tuple(span) for span in ours.encode_with_offsets(text)[1].tolist()]
        assert found == theirs.encode(text).offsets


@pytest.mark.parametrize(
    "source",
    [
        r"\w+", r"\W", r"\p{L}+|[^\p{L}]", r"\P{Lu}", r"(?i)[\p{Lu}x]", r"\b.", r"(?i)\ua7d3", r"(?i)[\ua7cd-\ua7cf]+",
        r"[\ua7ce\d]", "[\ua7ce]", r"\ua7cf|\w", r"[\ua700-\ua7ff]+", r"[\U00030000-\U00033fff]", r"[^\ua7c0-\ua7d0\w]",
    ],
)  # fmt: skip
def test_automatons_and_the_package_agree(source: str) -> None:
    """Also where a regex lists characters that are newer."""
    text = "".join(f"a{char}\ua7d3 " for char in NEWER) + NEWER
    tables = automaton_of(source).tables
    assert tables is not None
    sizes = {at: len(text[:at].encode()) for at in range(len(text) + 1)}
    expected = [(sizes[first], sizes[last]) for first, last in compiled(source).spans(text)]
    assert Automaton(tables).spans(text.encode()) == expected


def test_newer_characters_are_not_assigned() -> None:
    for char in NEWER:
        assert not list(compiled(r"[\p{L}\p{M}\p{N}\p{S}]|\w").spans(char))
        assert list(compiled(r"\p{Cn}").spans(char)) == [(0, 1)]
    assert "\ua7cf" not in {chr(point) for point in folded("\ua7ce", 2)[1:-1]}
    assert members(r"\p{Cn}", 0)[0] == UNASSIGNED[0] == 0x378


def test_characters_that_a_regex_lists_stand_for_themselves() -> None:
    assert listed("[a-z]") == ()
    assert listed("\ua7ce") == listed(r"\ua7ce") == (0xA7CE, 0xA7CF)
    assert as_of_16("\ua7ce\ua7cf", "\ua7ce")[0] == "\ua7ce"
    assert as_of_16("plain \u4e2d", r"\w") == "plain \u4e2d"
