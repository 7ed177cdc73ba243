"""Matches of automatons are those of the `regex` package, or there is a reason why a regex has no automaton."""

from __future__ import annotations

import itertools
import pickle
import random
import time
from bisect import bisect
from collections.abc import Iterable
from itertools import accumulate

import numpy as np
import numpy.typing as npt
import pytest
import regex
from seeds import full_then_long, then_full
from strings import byte_offsets

import bbpe
from bbpe.core.automaton import Automaton
from bbpe.core.pre_tokenizer import Batches, PreTokenizer, joined
from bbpe.splitting.automaton import automaton_of
from bbpe.splitting.character_sets import END_OF_UNICODE, folded, members
from bbpe.splitting.patterns import PATTERNS, Pattern
from bbpe.splitting.regexes import compiled
from bbpe.splitting.splitter import TextSplitter, compiled_steps
from bbpe.splitting.unicode_16 import as_of_16
from bbpe.text import bytes_to_alphabet


def slow(source: str, text: str) -> list[tuple[int, int]]:
    """The definition."""
    offsets = byte_offsets(text)
    found = regex.compile(source, regex.V1 if "&&" in source else regex.V0).finditer(text)
    return [(offsets[match.start()], offsets[match.end()]) for match in found]


def compare(source: str, texts: Iterable[str]) -> None:
    found = automaton_of(source)
    assert found.tables is not None, found.reason
    automaton = Automaton(found.tables)
    for text in texts:
        assert automaton.spans(text.encode("utf-8", "surrogateescape")) == slow(source, text), (source, text)


def every(alphabet: str, longest: int) -> list[str]:
    """All texts of these characters that are not too long."""
    return ["".join(chars) for size in range(longest + 1) for chars in itertools.product(alphabet, repeat=size)]


SHORT = every("ab\n é", 4) + every("aA1b\n \udc80", 3)

REGEXES = r"""
\Ga   \Ga|b   (?:\G|b)a   \G[ab]
a*   a*?   a|ab   ab|a   (?:a|ab)(?:c|bcd)?   a*b   a|a*b   (?:a+)+b   [ab]{1,3}   [ab]{2}?a   a{0,2}?b   a+?b*?
a{,2}b   a{,}b   (?:a{0}b)?   a{0}   (?:)a   |a   a|   (?:ab|ba)+?a   (a)(b)?   (?P<x>a)b   a(?#hm)b   (?:b|)a|b
(?:a|b??)b   ^a   a$   ^   $   (?m)^   (?m)$   (?m)^a*$   \Aa|b\Z   b\z   \n$|a   a$|\n   $\n   a?$\n?   (?:b|$)a?
a*$|b   a(?:b$)?   (?:a|b$|\n)+   (?:a$)?\n?   \s+$   \s++$   (?=$)|a   (?=\s|$)a?|b   (?=b|$)a?|.   (?!\s|$)b
(?m:a$)|.b   \ba   a\b   \B   \b   (?=b)|a   a(?=b)|b   (?!a)\w   (?<=a)b   (?<!a)b   (?<=a)   (?<!\w)a|b(?!\w)
(?<=\n|^)a   (?<=^)a   (?<!^)a   \d{1,3}(?!\d)|x   (?<=\S)(?=\S)   a++b?   a?+b   a{1,2}+a   a{2,3}+b   (?>a+)b
(?>a|ab)   (?>ab|cd)c   (?:ab)++   (?>a{1,2})(?:ab)?   (?:a++b)+|a   \R   \R+   (?i)A   (?i:a)B?   (?i)[a-é]+
(?i)\p{Lu}   (?i)[^a]   (?-i:a)B   (?s).   (?s).+   .   .+   (?s:.)a.   [^a]   [^a]+   \S+   \w+|\W   [[:alpha:]]+
[^[:space:]a]   []a]+   [^]a]   [a-]   [\]\-a-b]+   [\n\x61\u0062\U000000e9]   [\w&&[^a]]+   [\w--[a]&&[b1]]+
[a-b~~b-z&&[^x]]+   [a||b&&[b]]+   \x61\x0a   \012|\0   \p{L}+   \pL\PL   \p{^L}+   \h+|\D   [\d\s]+
[^\s\p{L}\p{N}]+|\P{L}   (?a)\w+|\b   (?u)\d   \.|\-|\#|\n   é+|a   \s+(?!\S)|\s+   \s*[\r\n]|\s+(?!\S)|\s
(?is)(?-is:a.|.)B.   (?si)(?-si:a.|.)B.   [^\n]+|\n+   \w+@\w+   (?:a+b+)+   (?:a|b)*a(?:a|b){3}   (?:ab?|ba?)+b
(?>a{2}b)a   (?>(?:ab){2})a?
(?:a*)*   (a*)*b   (?:a|)+b   (?:|a)+   (?:|a|ab){2}b   (?:a??)*b   (?:a*?){2,}?b   (?:\ba?|b)+   (?:(?:a|)(?:|b))*
(?:(?:a*)+b?)*   (?:a?|b){1,3}+b   (?>(?:a|)*)b   (?:(?:|a++)b?)*   (?=(?:a|\b){2}b)   (?<=(?:|b)+a)b   (?:a?$\n?)*
(?:a{,2}){3}b   (?:(?=b)|a){2,3}?b   (?:(?:^|a){2}|b)+   (?:(?:a{2}b)?)*   (?:(?:(?:a*)*)*b?)*
(?=ab)   (?<=ab)b?   a(?!ab)   (?<!ab)a   (?!$)a?   (?=a|\b)b   (?=a*b)a   (?!a*b).   (?<=b+a)a   (?<!^a*)b|a
(?=a(?=b|$))a   (?<=(?<!a)b)a   (?=(?<=a)b.)   (?=.(?<=ab))   (?!(?!ab)a).   (?=\R.)   (?=ab$)a   (?<=$\n)
(?=(?m:a$))   (?=)   (?!)   (?<=)a|(?<!)   (?=a++b)a   (?=a{1,2}+b)a   (?=a{2}+b)a   (?=b(?>a|ab))b   (?<=(?>ab)a)b
(?>a|ab)c   (?>ab|a)b   (?:ab|a)++b   (?>a(?>b?)|ab)+   (?:a|b(?>a|ab))*+   (?>a*?b|a)\n?   (?>a|b$)*a
(?=\b.\B)   (?=(?:ab)+(?!a))|(?<=a[\x20]b)   [ab](?=(?:[ab]{3})*\b)   (?<=[ab]{2})(?=[ab]{2})   (?=(?i:A)b)
(?:(?!ab).)+   (?=a.*)(?=.b)   (?=a|(?:)$)b?   (?<=\b\w{2})   (?<!\S{2})\S   (?=\S+\s+(?!\S))   (?=(?=ab)a)(?!ab)
a(?:(?=ab)|(?!ab)b)   (?=a\n$)   \Ga   \Ga*   \Ga|\n   b\Ga?|a   \G(?=ab)|b   \G$|a   (?:\G|b)a
a{   {a}   a{x}   {}   a{b   {,1   (?-x:a#)   [&&[a]](?i:B)   (?i:A|b)[\w--[a]&&[b]]
(?i:a)[\S&&[^b]]   [\S&&[^b]](?i:ab)+
""".split()


SPACED = ["(?x) a b # c", "(?x)a [ b] + # c\n b ?", "(?x) a (?#d) * | b", "(?x: a b ) | 1", "(?x) a # b\n|(?-x: ) b"]


@pytest.mark.parametrize("step", then_full([5], [1]))
@pytest.mark.parametrize("source", [*REGEXES, *SPACED, ""])
def test_short_texts(source: str, step: int) -> None:
    """All texts of two characters, and one in so many of the longer ones."""
    compare(source, (text for number, text in enumerate(SHORT) if len(text) < 3 or number % step == 0))


STEPS = dict.fromkeys(step for row in PATTERNS.values() if row.name != "kimi" for step in row.steps)


@pytest.mark.parametrize("source", STEPS)
def test_published_patterns(source: str) -> None:
    rng = random.Random(4)
    pieces = ["'", "s", "'LL", "'ſ", "a", "B", " ", "  ", "\n", "\r\n", "\t", "1", "23", ".", "/", "漢", "か", "ー"]
    pieces += ["é", "e\u0301", "\U0001f600", "٣", "\udcff", "\udce2", "\u3000", "<|endoftext|>", "Ⅷ", "ǅ", "ࠀ"]
    soups = ["".join(rng.choices(pieces, k=rng.randint(5, 30))) for _ in range(120)]
    short = every("aB1'\n s,\udcff漢", 3)
    compare(source, short[:111] + short[111::3] + soups)


#: The two of the first line together make the `regex` package overlook matches.
ONE_OF = (r"[^\n b]", "(?i:A)")
ATOMS = [*"ab.1é ", "[ab]", "[^a]", r"\s", r"\S", r"\w", r"\n", r"\d", r"[^\n b]", "(?:)", "(?i:A)"]
CONDITIONS = r"^ $ \b \B (?!a) (?=b) (?<=a) (?<!\s) (?!\S) \A \Z (?=\s|$) (?m:$)".split()
REPEATS = [sign + kind for sign in "* + ? {1,2} {2} {0,2} {2,}".split() for kind in ("", "", "", "?", "+")]


LOOKS, GROUPS = ("(?=", "(?!", "(?<=", "(?<!"), ("(?>",)


def any_regex(rng: random.Random, openings: tuple[str, ...] = (), depth: int = 0) -> str:
    """A regex with groups that begin with any of the openings, a third of the parts."""
    chosen = rng.random()
    if depth > 3 or chosen < 0.35:
        return rng.choice(ATOMS)
    if chosen < 0.45:
        return rng.choice(CONDITIONS)
    inner = [any_regex(rng, openings, depth + 1) for _ in range(3)]
    if openings and rng.random() < 0.3:
        return f"{rng.choice(openings)}{inner[0]})"
    if chosen < 0.6:
        return inner[0] + inner[1]
    if chosen < 0.75:
        return f"(?:{'|'.join(inner[: rng.randint(2, 3)])})"
    if chosen < 0.8:
        return f"(?>{inner[0]})"
    return (f"(?:{inner[0]})" if rng.random() < 0.6 else rng.choice("ab.")) + rng.choice(REPEATS)


def try_any(seed: int, count: int, openings: tuple[str, ...] = ()) -> None:
    rng = random.Random(seed)
    followed = 0
    for _ in range(count):
        source = "|".join(any_regex(rng, openings) for _ in range(rng.randint(1, 3)))
        for one in ONE_OF[1:] if ONE_OF[0] in source else ():
            source = source.replace(one, "a")
        if automaton_of(source).tables is not None:
            texts = ["".join(rng.choices("ab \n1éB\udc80", [5, 5, 2, 2, 1, 1, 1, 0.3], k=rng.randint(0, 10)))]
            compare(source, texts + ["".join(rng.choices("ab \n1é", k=rng.randint(0, 9))) for _ in range(30)])
            followed += 1
    assert followed > count / 2


@pytest.mark.parametrize("seed", then_full(range(2), range(2, 4)))
def test_any_regexes(seed: int) -> None:
    try_any(seed, 75)


@pytest.mark.parametrize("seed", range(2))
@pytest.mark.parametrize("openings", [LOOKS, GROUPS], ids=["lookarounds", "groups"])
def test_any_groups(seed: int, openings: tuple[str, ...]) -> None:
    try_any(seed, 50, openings)


@pytest.mark.parametrize("seed", full_then_long(range(4, 6), range(6, 24)))
@pytest.mark.parametrize("openings", [(), LOOKS, GROUPS], ids=["plain", "lookarounds", "groups"])
def test_many_regexes(seed: int, openings: tuple[str, ...]) -> None:
    try_any(seed, 1700, openings)


@pytest.mark.parametrize(
    ("source", "reason"),
    [
        (r"(a)\1", r"the escape \1"),
        (r"(?<=\R.)a", r"the escape \R in a lookbehind of more than one character"),
        (r"(?=(?>a|ab)c)", "an atomic group or possessive repetition in a lookaround"),
        (r"(?<=ba++)b", "an atomic group or possessive repetition in a lookaround"),
        ("|".join(f"(?=a{char})" for char in "abcdefghi"), "more than 8 lookarounds of more than one character"),
        (r"\X", r"the escape \X"),
        (r"(?>ab|a)(?=b)", "an atomic group or possessive repetition after which a match is taken back"),
        (r"(?i)[\w&&[^a]]", "ignored case together with set operations, which folds one character to many"),
        (r"[\w&&[^a]](?i:ss)", "ignored case together with set operations, which folds one character to many"),
        (r"[\w&&[^a]](?i:s(?:s))", "ignored case together with set operations, which folds one character to many"),
        (r"[\w&&[^a]](?i:s)(?i:t)", "ignored case together with set operations, which folds one character to many"),
        (r"[\w&&[^a]](?i:\d)", "ignored case together with set operations, which folds one character to many"),
        (r"(?=\Ga)", r"the escape \G in a lookaround"),
        ("a(?i)b", "a group that begins with '(?i'"),
        (r"(?|a|b)", "a group that begins with '(?|'"),
        (r"(?P=x)", "a group that begins with '(?P'"),
        (r"a{30000}", "more than 20000 positions in the regex"),
        (r"(?>a|ab)(?:a|b)*a(?:a|b){12}", "too many states of its automaton"),
        (r"[\udc81]", "a set with some of the surrogates that stand for bytes which are not UTF-8"),
        (r"\N{DIGIT ONE}", r"the escape \N"),
        ("(?:" * 5000 + "a" + ")" * 5000, "deep nesting"),
        ("a)", "a parenthesis that closes no group"),
        ("(a", "a group that is not closed"),
        ("a\\", "the escape \\"),
        ("[a", "an end within a construct"),
        ("[a&&b", "an end within a construct"),
        ("[b-a]", "a range whose end is below its beginning"),
        ("a{2,1}", "a quantifier with a maximum below its minimum"),
        ("a{2}{3}", "a quantifier after a quantifier"),
        ("(?x)a { 2 }", "a brace in a regex with white space that does not count"),
        ("+a", "a '+' that repeats nothing"),
        (r"(?i)[\U00040000\U00050000-\U00050002]", "ignored case for characters of the planes 4 to 16"),
    ],
)
def test_reasons(source: str, reason: str) -> None:
    found = automaton_of(source)
    assert (found.tables, found.reason) == (None, reason)


@pytest.mark.parametrize(
    ("source", "unit", "found"),
    [
        ("a*b", b"a", 0), ("a|a*b", b"a", 1), (r"\w+@\w+", "abcé_".encode(), 0), ("(?:aé)+b", "aé".encode(), 0),
        ("(?:a{50})*b", b"a", 0), ("(?=a*b)a", b"a", 0), (r"a(?=a*$)|(?!a+b)é", "aé".encode(), 1),
        (r"(?:(?=aé)a|(?<=a.*)é)*b", "aé".encode(), 0),
    ],
)  # fmt: skip
def test_linear_time(source: str, unit: bytes, found: int) -> None:
    """Attempts that read to the end of the text take 16 times as long for four times the text."""
    tables = automaton_of(source).tables
    assert tables is not None
    made, spans = Automaton(tables), dict[int, float]()
    for count in (5_000, 20_000):
        rounds = []
        for _ in range(3):
            began = time.process_time()
            assert len(made.spans(unit * count)) == found * count
            rounds.append(time.process_time() - began)
        spans[count] = 3 * min(rounds)  # the others may have been disturbed
    assert spans[20_000] < 9 * spans[5_000] + 0.02


DEAD_ENDS = [
    "a*b", "a|a*b", "(?:a|é)*ab|é", "(?:aaé|a)*b|a", "(?:a{3})*(?:b|$)|.{40}é", "(?:a(?!ab))*b|(?<=aa)a*(?=ab)é",
    r"[\s\S]*<b>", r"(a+)é+(a+)b", r"\Ga*b|[^b]*bb", r"a*?é$|(?:a|é)*ab",
]  # fmt: skip


@pytest.mark.parametrize("source", DEAD_ENDS)
def test_dead_ends(source: str) -> None:
    """Texts of which much is read in vain, which are the slow path of a search."""
    rng = random.Random(6)
    texts = ["".join(rng.choices("aéb\n", [60, 5, weight, weight], k=3000)) for weight in (0, 0.02, 1)]
    compare(source, [*texts, "a" * 2000 + "b" + "a" * 1500, "aaé" * 700])


def test_bytes_of_the_alphabet() -> None:
    """An automaton of texts in the byte alphabet reads the bytes that these stand for."""
    rng = random.Random(2)
    for source in (r"\p{N}+", "[0-9]{3}", r"\w+|Ġ\W", r"[^Ġ]+", r"(?<=Ġ).|\b", r"(?=Ġ\w)|(?<!\w{2})[^Ġ](?!Ġ.)"):
        tables = automaton_of(source, of_alphabet=True).tables
        assert tables is not None
        assert tables.reads_bytes
        for size in (0, 1, 5, 300):
            data = rng.randbytes(size) + bytes(rng.choices(b"ab 19\xb2\xc3\xe2", k=size))
            text = bytes_to_alphabet(data)
            assert Automaton(tables).spans(data) == [match.span() for match in regex.finditer(source, text)]


def test_sets_are_those_of_regex() -> None:
    r"""Properties, found for a part of Unicode, are right for the planes 4 to 16 too."""
    text = "".join(map(chr, range(0x3F000, END_OF_UNICODE, 7)))
    for source in (r"\p{L}", r"\p{Cn}", r"\w", r"\S", r"\p{Co}", r"\p{InNo_Block}", r"\p{NChar}"):
        chosen = members(source, 0)
        inside = {ord(text[found.start()]) for found in regex.finditer(source, as_of_16(text, source))}
        assert {point for point in map(ord, text) if bisect(chosen, point) % 2} == inside


def test_ignored_case() -> None:
    text = "".join(map(chr, range(0x20000)))
    for char in "asikßσιΩÅ5{µǅ":
        found = [ord(each) for each in regex.findall(regex.escape(char), as_of_16(text, char), regex.IGNORECASE)]
        chosen = folded(char, int(regex.IGNORECASE))
        ranges = itertools.starmap(range, zip(chosen[::2], chosen[1::2], strict=True))
        assert list(itertools.chain(*ranges)) == found


def test_it_is_plain_data() -> None:
    tables = automaton_of(r"\w+").tables
    assert tables is not None
    assert pickle.loads(pickle.dumps(Automaton(tables))).spans(b"a bc") == [(0, 1), (2, 4)]
    assert Automaton(tables).spans(memoryview(b"")) == []


CHAINS = [
    (r"\w+|[^\w\s]+",),
    (r"[\r\n]", r"\s?\p{L}+", r"\s?\p{P}+", r"\s+$", "[一-龥]+", r"\p{N}"),
    (r"a*",),
    (r"\p{N}+", r"(?<=\d)(?=(?:..)|$)|3"),
    (r"\p{N}+", r"(?<=\d)(?=(.)\1|$)|3"),  # one that has no automaton
    (r"(?<=\d)|b", r"^a|\s"),
]


@pytest.mark.parametrize("drops_gaps", [False, True])
@pytest.mark.parametrize("steps", CHAINS)
def test_patterns(steps: tuple[str, ...], drops_gaps: bool) -> None:
    """Patterns of unknown regexes, whose steps see the pieces of the step before alone."""
    rng = random.Random(8)
    pattern = Pattern(None, steps, drops_gaps)
    splitter = TextSplitter(pattern)
    for size in (0, 1, 2, 5, 20, 200):
        for _ in range(8):
            text = "".join(rng.choices("ab1 23\n,é漢\udcff\U0001f600", k=size))
            data, offsets = text.encode("utf-8", "surrogateescape"), byte_offsets(text)
            spans = [(offsets[start], offsets[end]) for start, end in pattern.spans(text)]
            kept = [data[start:end] for start, end in spans]
            row, ends, stops = splitter.cut(data)
            assert (bytes(row), stops.tolist()) == (b"".join(kept), [end for _, end in spans])
            assert ends.tolist() == list(accumulate(map(len, kept)))
            for given in (data, memoryview(data)):
                batches = list(splitter.batches(given))
                assert b"".join(bytes(row) for row, _ in batches) == b"".join(kept)
                before = [0, *accumulate(len(row) for row, _ in batches)]
                found = [at + end for at, (_, ends) in zip(before, batches, strict=False) for end in ends.tolist()]
                assert found == list(accumulate(map(len, kept)))


@pytest.mark.parametrize("drops_gaps", [False, True])
@pytest.mark.parametrize("steps", [*CHAINS[:4], *CHAINS[5:]])
def test_batches(steps: tuple[str, ...], drops_gaps: bool) -> None:
    """Batches of any size have the spans that the whole text has."""
    rng = random.Random(9)
    chain = compiled_steps(Pattern(None, steps, drops_gaps))
    assert chain is not None
    for size in (0, 1, 3, 50, 400):
        data = "".join(rng.choices("ab1 23\n,é漢\udcff\U0001f600", k=size)).encode("utf-8", "surrogateescape")
        whole = np.stack(chain.split(data)[1:])
        for limit in (1, 2, 7, 1000):
            batches, found = Batches(chain, data, limit), []
            while (spans := batches.next()) is not None:
                found.append(np.stack(spans))
            assert np.array_equal(np.concatenate([np.empty((2, 0), np.int64), *found], axis=1), whole)


def test_batches_in_linear_time() -> None:
    chain = compiled_steps(Pattern(None, ("a|a*b",)))
    assert chain is not None
    batches, count = Batches(chain, b"a" * 1_000_000, 10_000), 0
    while (spans := batches.next()) is not None:
        count += len(spans[0])
    assert count == 1_000_000


def test_batches_of_any_steps() -> None:
    tables = automaton_of("a").tables
    assert tables is not None
    split = ("split", Automaton(tables), "Contiguous", False)
    for steps, count in (([split], 4), ([("length", 2, False)], 4), ([], 1), ([("length", 2, False), split], 6)):
        batches = Batches(PreTokenizer(steps), b"aabaabb", 1)
        found = batches.next()
        assert found is not None
        assert len(found[0]) == count, steps
        assert batches.next() is None
    with pytest.raises(ValueError, match="a step rewrites the text"):
        Batches(PreTokenizer([("rewrite", b"", False, b"-")]), b"a", 1)
    with pytest.raises(ValueError, match="the limit is 0"):
        Batches(PreTokenizer([split]), b"a", 0)


def test_joined_checks_its_spans() -> None:
    def array(*numbers: int) -> npt.NDArray[np.int64]:
        return np.array(numbers, np.int64)

    assert joined(b"abcdef", array(1, 4), array(2, 6))[0] == b"bef"
    for starts, ends in (((3,), (2,)), ((0,), (7,)), ((2, 1), (3, 4)), ((-1,), (0,))):
        with pytest.raises(ValueError, match="expected spans in order, in 6 bytes"):
            joined(b"abcdef", array(*starts), array(*ends))
    with pytest.raises(ValueError, match="2 starts and 1 ends"):
        joined(b"abcdef", array(1, 4), array(2))


def test_as_many_classes_as_a_byte_can_number() -> None:
    """At the limit and one above it: an automaton, or none, and the matches of the regex."""
    reasons = []
    for count in (251, 252):
        characters = [chr(0x4E00 + 2 * number) for number in range(count)]
        source = "|".join(f"{char}b?" for char in characters)
        reasons.append(automaton_of(source).reason)
        text = "x".join(characters) + "b\n" + "b".join(characters)
        expected = [text[start:end] for start, end in compiled(source).spans(text)]
        assert [part for part in bbpe.split(text, source) if part[0] in characters] == expected
        data = text.encode() + b"\xe4\xb8"
        assert bbpe.split_spans(data, source).tolist()[-1] == len(data)
    assert reasons == ["", "too many classes of characters"]


ENDS = ["\r", "\n", "\r\n", "\r\r", "\n\r", "\r\n\r", "\x85", "\u2028", "\v", "\f", "a", "", "\n\n", "1"]


@pytest.mark.parametrize(
    "source", [r"\R", r"\R|a", r"\R{2}", r"a\R", r"(?a)\R", r"\R$", r"[^\n]$", r"\s+$", r"\Z|\R", r"(?m)^\R|.$"]
)
def test_line_ends_at_the_ends_of_texts(source: str) -> None:
    """Where the next character is none: the compiled way, bytes too, and the regex."""
    assert automaton_of(source).tables is not None
    longer = itertools.islice(itertools.product(ENDS, repeat=3), 0, None, 9)
    for text in map("".join, (*itertools.product(ENDS, repeat=2), *longer)):
        expected = list(Pattern(None, (source,)).split(text))
        assert bbpe.split(text, source) == expected, ascii(text)
