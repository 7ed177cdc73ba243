"""Chains of pre-tokenizer rules in C: the pretokens of the rules in Python, or a reason why there are no steps."""

from __future__ import annotations

import itertools
import pickle
import random
from pathlib import Path

import pytest
from rule_files import named
from seeds import full_then_long
from vocabularies import byte_level, document, sequence, write_json

import bbpe
from bbpe.core.pre_tokenizer import PreTokenizer
from bbpe.errors import VocabularyError
from bbpe.pipeline.pre_tokenizer_steps import compiled_rules
from bbpe.reference.pre_tokenizers import pretokens, split_by_script
from bbpe.spec.rules import (
    AT_BLANKS,
    BEHAVIORS,
    BertPreTokenizer,
    ByteAlphabet,
    ByteLevel,
    CharDelimiterSplit,
    Digits,
    FixedLength,
    Metaspace,
    Punctuation,
    Split,
    UnicodeScripts,
    Whitespace,
    WhitespaceSplit,
)
from bbpe.spec.rules import (
    PreTokenizer as Rule,
)

FALCON = (Punctuation("Contiguous"), ByteLevel(False, True), Digits(False), Split("[0-9][0-9][0-9]", "Isolated"))
DEEPSEEK_CODER = (
    Split("[\r\n]", "Isolated"),
    Split(r"\s?\p{L}+", "Isolated"),
    Split(r"\s?\p{P}+", "Isolated"),
    Split("[一-龥ࠀ-一가-퟿]+", "Isolated"),
    Digits(True),
    ByteLevel(False, False),
)
RULES: list[Rule] = [
    *(Digits(individual) for individual in (True, False)),
    *(Punctuation(behavior) for behavior in BEHAVIORS),
    *(Split(r"a|\s", behavior, invert) for behavior in BEHAVIORS for invert in (False, True)),
    *(Metaspace(scheme, cuts) for scheme in ("always", "first", "never") for cuts in (True, False)),
    *(ByteLevel(prefixed, cuts) for prefixed in (True, False) for cuts in (True, False)),
    *(FixedLength(length) for length in (1, 2, 5)),
    *(CharDelimiterSplit(char) for char in "a|漢"),
    *(Split(source, "Isolated") for source in ("[0-9][0-9][0-9]", r"\b", "a*", r"\w+$|^\s")),
    Split("a*", "Removed"),
    Whitespace(),
    WhitespaceSplit(),
    BertPreTokenizer(),
    UnicodeScripts(),
]
PARTS = ["a", "b", "|", " ", "  ", "12", "3", ",", "!?", "é", "漢", "か", "ー", "\n", "\u2581", "б", "²", "\U0001f600"]


def compare(chain: tuple[Rule, ...], rng: random.Random, count: int, longest: int) -> bool:
    try:
        steps = compiled_rules(chain).steps
    except bbpe.VocabularyError:  # a mark in the alphabet of bytes
        return False
    for _ in range(count):
        text = "".join(rng.choices([*PARTS, "\udcff", "\udce2"], k=rng.randint(0, longest)))
        head = rng.choice((0, 1, 1, 2, 3))
        data, starts, ends = steps.split(
            text.encode("utf-8", "surrogateescape"), len(text[:head].encode("utf-8", "surrogateescape"))
        )
        found = [bytes(data[start:end]) for start, end in zip(starts.tolist(), ends.tolist(), strict=True)]
        assert found == pretokens(chain, text, head=head), (chain, text, head)
    return True


@pytest.mark.parametrize("rule", RULES, ids=str)
def test_each_rule(rule: Rule) -> None:
    rng = random.Random(1)
    assert compare((rule,), rng, 40, 12)
    assert compare((rule,), rng, 2, 300)


@pytest.mark.parametrize("chain", [FALCON, DEEPSEEK_CODER, (Whitespace(), ByteLevel(False, True))], ids=str)
def test_chains_of_models(chain: tuple[Rule, ...]) -> None:
    assert compare(chain, random.Random(2), 40, 60)


@pytest.mark.parametrize("scheme", ["always", "first", "never"])
@pytest.mark.parametrize("mark", ["\u2581", "_"])
def test_marked_words(scheme: str, mark: str) -> None:
    """A split at white space and Metaspace are one step, which may leave blanks in place of marks."""
    rng = random.Random(3)
    chain = (WhitespaceSplit(), Metaspace(scheme, True, mark))
    assert compare(chain, rng, 200, 12)
    assert compare((*chain, Digits(True)), rng, 50, 30)
    assert compare((Digits(True), *chain), rng, 50, 30)
    for rules in (chain, chain[1:]):
        plain, unmarked = compiled_rules(rules), compiled_rules(rules, unmarks=True)
        assert plain.steps is not None
        assert unmarked.steps is not None
        assert (plain.unmarks, unmarked.unmarks) == (False, mark == "\u2581")
        for _ in range(200):
            text = "".join(rng.choices([*PARTS, mark, "\x85", "\xa0", "\u3000"], k=rng.randint(0, 12)))
            data, starts, ends = unmarked.steps.split(text.encode())
            found = [bytes(data[start:end]) for start, end in zip(starts.tolist(), ends.tolist(), strict=True)]
            expected = pretokens(rules, text)
            if unmarked.unmarks:
                expected = [pretoken.replace(mark.encode(), b" ") for pretoken in expected]
            assert found == expected, text


def test_spans_at_blanks() -> None:
    rng, steps = random.Random(4), PreTokenizer([("blanks",)])
    for _ in range(300):
        text = "".join(rng.choices([*PARTS, " ", "\udcff", "\udce2"], k=rng.randint(0, 12)))
        data, starts, ends = steps.split(text.encode("utf-8", "surrogateescape"))
        found = [bytes(data[start:end]) for start, end in zip(starts.tolist(), ends.tolist(), strict=True)]
        expected = pretokens((Split(AT_BLANKS[0], "Isolated"),), text)
        assert found == expected, text


WORDS = [*"it 's 't 've don't word Zz ( ); == _ 1 234 5678 - é".split(), " ", "  ", "\n", "\t"]
PARTED = [
    FALCON,
    DEEPSEEK_CODER,
    (Whitespace(), ByteLevel(False, True)),
    (Digits(True), ByteLevel(False, True)),
    (Punctuation("MergedWithPrevious"), Split(r"\s+$|[a-m]+(?=z)|\w", "MergedWithNext", invert=True), Digits(False)),
]


@pytest.mark.parametrize("chain", PARTED, ids=str)
def test_parts_that_come_again(chain: tuple[Rule, ...]) -> None:
    """Parts whose spans are remembered are split as the rules define, next to any others, and in all short texts."""
    rng = random.Random(8)
    steps = compiled_rules(chain).steps
    assert steps is not None
    texts = ["".join(rng.choices(rng.sample(WORDS, 9), k=rng.choice((40, 200)))) for _ in range(25)]
    texts += ["".join(found) for found in itertools.product("a '\n1(s", repeat=3)]
    for text in texts:
        _, starts, ends = steps.split(text.encode())
        found = [text.encode()[start:end] for start, end in zip(starts.tolist(), ends.tolist(), strict=True)]
        assert found == pretokens(chain, text), text


@pytest.mark.parametrize("seed", range(3))
def test_any_chains(seed: int) -> None:
    rng = random.Random(seed)
    compiled = sum(compare(tuple(rng.choices(RULES, k=rng.randint(2, 4))), rng, 8, 20) for _ in range(50))
    assert compiled > 25


@pytest.mark.parametrize("seed", full_then_long(range(3, 7), range(7, 13)))
def test_many_chains(seed: int) -> None:
    rng = random.Random(seed)
    for _ in range(1500):
        compare(tuple(rng.choices(RULES, k=rng.randint(2, 5))), rng, 8, 20)


@pytest.mark.parametrize(
    "chain",
    [
        (ByteLevel(False, True), ByteLevel(False, False)),
        (ByteLevel(True, True), ByteLevel(True, True), ByteAlphabet()),
        (ByteLevel(False, True), Digits(True), Metaspace("never", True)),
        (ByteLevel(False, False), Metaspace("first", True), ByteAlphabet()),
        (ByteLevel(False, False), Metaspace("always", False), Digits(True), ByteAlphabet()),
        (ByteLevel(False, False), Metaspace("first", False, "Ġ")),
        (Split(r"(a)\1", "Isolated"),),
        (Split(r"(?<=1 ?)b|(?=a漢)", "MergedWithNext"), Split(r"(?<!ab)\p{L}{2}", "Contiguous", invert=True)),
        (ByteLevel(False, False), Split(r"(?<=Ã)©|(.)\1", "MergedWithPrevious")),
        (Whitespace(), Split(r"(?=.. )|(\w)\1", "Removed"), ByteLevel(False, True)),
    ],
    ids=str,
)
def test_chains_that_are_odd(chain: tuple[Rule, ...]) -> None:
    """Several alphabets, marks within one, and regexes whose matches Python finds."""
    assert compare(chain, random.Random(4), 80, 12)
    assert compare(chain, random.Random(5), 4, 200)


def test_a_mark_that_no_alphabet_has() -> None:
    with pytest.raises(bbpe.VocabularyError, match=r"mark of Metaspace.* comes after ByteLevel, and '▁'"):
        compiled_rules((ByteLevel(False, True), Metaspace("first", True)))


def test_scripts_are_those_of_tokenizers() -> None:
    hf = pytest.importorskip("tokenizers").pre_tokenizers.UnicodeScripts()
    points = [point for point in range(0x32000) if not 0xD800 <= point < 0xE000]
    points += [*range(0xE0000, 0xE0200), 0x50000, 0x10FFFD]
    random.Random(3).shuffle(points)
    text = "".join(map(chr, points))
    assert split_by_script(text) == [piece for piece, _ in hf.pre_tokenize_str(text)]
    for text in ("a б", " ab", "  aб", "aб c", "Any どこ ー", "12a", "\n a", "", " "):
        assert split_by_script(text) == [piece for piece, _ in hf.pre_tokenize_str(text)]


@pytest.mark.parametrize("part", [named("FixedLength", length=3), named("UnicodeScripts")], ids=str)
def test_files(part: dict[str, object], tmp_path: Path) -> None:
    hf = pytest.importorskip("tokenizers")
    rng = random.Random(5)
    for parts in (sequence(part, byte_level()), sequence(named("WhitespaceSplit"), part, byte_level())):
        path = write_json(tmp_path / "tokenizer.json", document(pre_tokenizer=parts))
        tok, theirs = bbpe.load(path), hf.Tokenizer.from_file(str(path))
        tok.save(tmp_path / "again.json")
        assert bbpe.load(tmp_path / "again.json") == tok
        for _ in range(50):
            text = "".join(rng.choices("ab 12б漢かー\n", k=rng.randint(0, 20)))
            assert tok.encode(text) == theirs.encode(text).ids


def test_a_length_is_at_least_one(tmp_path: Path) -> None:
    path = write_json(tmp_path / "tokenizer.json", document(pre_tokenizer=named("FixedLength", length=0)))
    with pytest.raises(VocabularyError, match="length: found 0; expected at least 1"):
        bbpe.load(path)


def test_they_are_plain_data() -> None:
    steps = compiled_rules((WhitespaceSplit(),)).steps
    assert steps is not None
    assert pickle.loads(pickle.dumps(steps)).split(b"a bc")[1].tolist() == [0, 2]
    assert steps.split(memoryview(b""))[1].tolist() == []
    with pytest.raises(ValueError, match="kind of a step is 'cut'"):
        PreTokenizer([("cut", 1)])
    with pytest.raises(ValueError, match="the length is 0"):
        PreTokenizer([("length", 0, False)])
