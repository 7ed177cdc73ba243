"""Characters are classified by Unicode 16, as in HF's tokenizers, whatever version the `regex` package has."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from bisect import bisect_right
from pathlib import Path
from typing import Any

import pytest
import regex
from characters import CHARACTERS, SAMPLED

import bbpe
from bbpe.core.automaton import Automaton
from bbpe.errors import PatternError
from bbpe.splitting.automaton import automaton_of
from bbpe.splitting.character_sets import CharacterSet, combined, folded, members
from bbpe.splitting.regex_syntax import parse_regex
from bbpe.splitting.regex_tree import OneCharacter
from bbpe.splitting.regexes import compiled
from bbpe.splitting.unicode_16 import END_OF_UNICODE, FIRST_UNASSIGNED, as_of_16, listed, property_set, stand_ins

SPLITS = [r"\w+", r"\s", r"[^\s\p{L}\p{N}]+|\p{L}+", r"\d", r"\p{Lu}", r"[\p{P}\p{S}]", "[[:punct:]]", "[[:alpha:]]"]
SPLITS += [r"\p{IDC}", r"\p{PosixPunct}", r"[^\p{XDigit}]"]  # names that mean something else in the `regex` package
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
    assert members(r"\p{Cn}", 0)[0] == FIRST_UNASSIGNED


def test_characters_that_a_regex_lists_stand_for_themselves() -> None:
    assert listed("[a-z]") == ()
    assert listed("\ua7ce") == listed(r"\ua7ce") == (0xA7CE, 0xA7CF)
    assert as_of_16("\ua7ce\ua7cf", "\ua7ce")[0] == "\ua7ce"
    assert as_of_16("plain \u4e2d", r"\w") == "plain \u4e2d"


#: All that a text may have, of the planes that are in use.
EVERY = [*range(0xD800), *range(0xE000, 0x40000)]
#: Properties of characters of Unicode 16 that changed in Unicode 17 or 18, and spellings of sets with them.
CHANGED = [
    *(rf"\p{{{name}}}" for name in "Ll Lo LC Cased Lowercase Dia ExtPict CWU CWT CWCM LB=AL BC=NSM".split()),
    *(rf"\p{{{name}}}" for name in "InCB=Linker GCB=PP WB=LE SB=Lo scx=Tirh nv=1/2 NumericType=Numeric".split()),
    r"\P{Ll}", r"(?i)[\p{Lower}]", r"(?i)[^\p{Lu}]",
    r"[\p{Lu}\p{Lo}]", r"[^\p{Extended_Pictographic}a]", r"(?i)\p{Lu}", r"(?i)[\p{Lower}x]", "[[:lower:]]",
]  # fmt: skip


def every_property(step: int) -> list[str]:
    """Regexes of all values of all properties that the package knows, by the first name of each."""
    names: dict[tuple[int, int], list[str]] = {}
    for name, (number, values) in sorted(regex._regex_core.PROPERTIES.items()):
        for value, code in sorted(values.items()):
            names.setdefault((number, code), []).append(f"{name}={value}")
    some = list(names.values())[::step]
    known = (next((name for name in each if property_set(name) is not None), None) for each in some)
    return sorted(rf"\p{{{name}}}" for name in known if name is not None)


def found_by_package(source: str, chars: list[str]) -> list[str]:
    """The characters of a regex of one character, as bbpe has the `regex` package find them."""
    found = compiled(f"(?:{source})++").find("".join(chars))
    return [char for start, end in found for char in chars[start:end]]


def listed_in_tables(source: str) -> CharacterSet:
    """The same by our tables alone."""
    tree = parse_regex(source)
    assert isinstance(tree, OneCharacter)
    return combined((tree.chosen, (0xD800, 0xE000, 0x40000, END_OF_UNICODE)), lambda inside: inside == 1)


@pytest.mark.parametrize("step", [307, pytest.param(1, marks=pytest.mark.full)])
def test_properties_are_those_of_16_for_the_package_too(step: int) -> None:
    """With one step, in all characters; else in those that stand for others of their row and plane."""
    chars = [chr(point) for point in EVERY] if step == 1 else [char for char in SAMPLED if ord(char) < 0x40000]
    sources = [*CHANGED, *every_property(step)]
    assert len(sources) > 1300 // step
    for source in sources:
        if source.startswith((r"\p{BLK", r"\p{BLOCK")):
            continue  # a block may have no unassigned character left that could take the place of newer ones
        inside = listed_in_tables(source)
        expected = [char for char in chars if bisect_right(inside, ord(char)) & 1]
        assert found_by_package(source, chars) == expected, source


@pytest.mark.parametrize("source", CHANGED[:6])
def test_changed_properties_as_in_tokenizers_and_tiktoken(source: str) -> None:
    tokenizers, tiktoken = pytest.importorskip("tokenizers"), pytest.importorskip("tiktoken")
    name = {r"\p{Dia}": r"\p{Diacritic}", r"\p{ExtPict}": r"\p{Extended_Pictographic}"}.get(source, source)
    text = "".join(f"{chr(point)}." for point in EVERY if point < 0x20000)
    expected = listed_in_tables(source)
    inside = [ord(char) for char in text[::2] if bisect_right(expected, ord(char)) & 1]
    if name != r"\p{Cased}":  # Oniguruma's table of it is older
        cut = tokenizers.pre_tokenizers.Split(tokenizers.Regex(rf"[^{name}]+"), "removed")
        assert [ord(char) for part, _ in cut.pre_tokenize_str(text) for char in part] == inside
    bytes_only = {bytes([byte]): byte for byte in range(256)}
    peer = tiktoken.Encoding("x", pat_str=name, mergeable_ranks=bytes_only, special_tokens={})
    assert peer.decode(peer.encode_ordinary(text)) == "".join(map(chr, inside))


@pytest.mark.long
@pytest.mark.parametrize("version", ["2024.9.11", "2025.11.3", "2026.11.19"])
def test_any_version_of_the_package_finds_the_same(version: str, tmp_path: Path) -> None:
    """Versions with Unicode 16, 17 and 18, from the package index."""
    pip = [sys.executable, "-m", "pip", "install", "-q", "--no-deps", "--target", str(tmp_path), f"regex=={version}"]
    subprocess.run(pip, check=True)
    here = Path(__file__).parent
    paths = [str(path) for path in (tmp_path, Path(bbpe.__file__).parents[1], here.parent / "support", here)]
    command = (
        "import test_unicode_16 as t; t.test_properties_are_those_of_16_for_the_package_too(1); print(t.regex.__file__)"
    )
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(paths)}
    done = subprocess.run([sys.executable, "-c", command], env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith(str(tmp_path))


def test_what_unicode_16_does_not_have_is_refused() -> None:
    # an older package refuses them itself
    for source in (r"\p{Script=Sidetic}", r"[\p{InJurchen}a]", r"\P{LB=HH}"):
        with pytest.raises(PatternError, match=r"no property of Unicode 16|not a valid regex: unknown prop"):
            bbpe.split("a", source)


@pytest.mark.parametrize(
    ("source", "text", "expected"),
    [
        (r"(~)\1|(?<=ab)\p{Ll}+|x", "ab\u0295\u0295A", ["ab", "\u0295\u0295", "A"]),
        (r"(a)\1[^\p{Lo}b]", "aa\u0295aab", ["aa\u0295", "aab"]),
        (r"(?x) (~)\1 | (?=aa) . [\p{Ll} b]+ # [ the end", "aa\u0295 aA", ["aa\u0295 a", "A"]),
        (r"(~)\1|(?#[)(?<=xx)(?i:\p{Lt}+)\P{Lo}", "xx\u0295\u0295 ", ["xx", "\u0295\u0295 "]),
        (r"(~)\1|(?<=ab)[\p{L}&&[^\p{Lo}]]+", "ab\u0295\u0295A", ["ab", "\u0295\u0295A"]),
        (r"(~)\1|(?<=xx)(?:(?i)(?#()\p{Lt}+)\P{Lo}", "xx\u0295\u0295 aA", ["xx", "\u0295\u0295 ", "aA"]),
        (r"(~)\1|(?<=xx)#\p{Lt}+|(?<!x)\p{Lt}", "xx#\u01c5\u0295\u01c5", ["xx", "#\u01c5", "\u0295", "\u01c5"]),
        (r"(~)\1|(?<=xx)(?:(?#\)[)\p{Ll}+)", "xx\u0295\u0295A", ["xx", "\u0295\u0295", "A"]),
        (r"(~)\1|(?<=xx)[^\s\S]|[^\p{L}\P{L}]*b", "xxab", ["xxa", "b"]),
        # letters and a number of Unicode 17 are no words yet
        (r"(~)\1|\b", "ab\U00016ea0\ua7cea1\U00011de3", ["ab", "\U00016ea0\ua7ce", "a1", "\U00011de3"]),
        (r"(~)\1|a\b.", "ba\ua7ceab", ["b", "a\ua7ce", "ab"]),
        (r"(?i)(~)\1|(?<=xx)(?-i:\p{Lt}A)|!", "xxxA!xx\u01c5A", ["xxxA", "!", "xx", "\u01c5A"]),
    ],
)
def test_regexes_without_an_automaton(source: str, text: str, expected: list[str]) -> None:
    assert automaton_of(source).tables is None
    assert bbpe.split(text, source) == expected
