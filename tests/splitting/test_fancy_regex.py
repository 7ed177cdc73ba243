"""Regexes of tiktoken's `pat_str` mean what they mean there, or are refused by name."""

from __future__ import annotations

import random
import string
from typing import Any

import pytest
from framed_regexes import CHARACTERS, random_pattern

import bbpe.tiktoken
from bbpe.errors import PatternError
from bbpe.splitting.fancy_regex import from_fancy_regex, tiktoken_pattern
from bbpe.splitting.patterns import PATTERNS

#: Regexes, texts, and the matches that tiktoken 0.14.0 finds; it drops the rest.
KNOWN: list[tuple[str, str, list[str]]] = [
    (r"\h+|.", "fa z\n", ["fa", " ", "z"]),
    (r"[\h]+", "x09aF", ["09aF"]),
    (r"\H+", "fa zZ", [" zZ"]),
    (r"[[:alpha:]]+", "a\u00e9b", ["a", "b"]),
    (r"[[:^alpha:]]+", "a\u00e9\u00ea1", ["\u00e9\u00ea1"]),
    (r"[[:punct:]x]+", "!x\u2014", ["!x"]),
    (r"[[:foo:]]+", "foo:x", ["foo:"]),
    (r"\N+", "a\r\nb", ["a\r", "b"]),
    (r"\O+", "a\nb", ["a\nb"]),
    (r"\x{41}\u0042\u{43}\U00000044\x45\e", "ABCDE\x1b", ["ABCDE\x1b"]),
    (r"(?P<n>a)b\k<n>|(c)\2", "aba cc", ["aba", "cc"]),
    (r"(?i)i+|\u0130", "iI\u0130\u0131", ["iI", "\u0130"]),
    (r"(?i)[h-j]+", "iI\u0130\u0131", ["iI"]),
    (r"(?i)\p{Lu}+", "aA\u0131\u0130b", ["aA", "\u0130b"]),
    (r"(?i)[\P{Ll}\p{^Lu}1]+", "a1B ", ["1", " "]),
    (r"(?i)\PL+|\W", "a\u0345- ", ["- "]),
    (r"(?i)kS", "\u212a\u017f", ["\u212a\u017f"]),
    (r"(?i)[^a]+(?-i)A?", "bAB", ["bA", "B"]),
    (r"a$|b", "a\n", []),
    (r"a\Z|\n", "a\n\n", ["a", "\n", "\n"]),
    (r"(?m)^a$", "a\na", ["a", "a"]),
    (r"(?U)a+|b+?", "aabb", ["a", "a", "bb"]),
    (r"(?x) a b # [c]", "abc", ["ab"]),
    (r"(?s).(?-s:.)", "\na\n\n", ["\na"]),
    (r"\R|\w+", "a\r\n\nb", ["a", "\r\n", "\n", "b"]),
    (r"\<\w|\w\>", "abc d", ["a", "c", "d"]),
    (r"a{,2}b|\{", "aab{", ["aab", "{"]),
    (r"{}|a{}|a{,}b|{", "{}a{}baab{", ["{}", "a{}", "b", "aab", "{"]),
    (r"(?x){ }|a{ }|a{ , }b|{", "{}a{}baab{", ["{}", "a{}", "b", "aab", "{"]),
    (r"[a-z&&[^b]--c]+", "abcd", ["a", "d"]),
    (r"[\p{L}~~a]+", "ab", ["b"]),
    (r"[]a]+|[^]a]", "a]b", ["a]", "b"]),
    (r"(?:(?i)a(?-i)b)c", "Abc AbC", ["Abc"]),
    (r"(?i)(?:a(?#(i\)b)B)c|.", "aBCx", ["aBC", "x"]),
    (r"(?:a(?#c)b)c\h{|\h", "abcf{g", ["abcf{"]),
    (r"(?U)a??b+?|c+", "abbcc", ["abb", "c", "c"]),
    ("(?x)[a #\n[b ]]+ \\! #c", "a# \nb !", ["a# \nb !"]),
    (r"(?x)a{ 2 }b|c{1 , 2 }|d { ,1 } !", "aab ccc d!!", ["aab", "cc", "c", "d!", "!"]),
    (r"[-a]+|[^-b]|[c-]", "-ab-c", ["-a", "-", "c"]),
    (r"[a&&b]*a|[^\s\S]?b", "ab", ["a", "b"]),
    (r"(?:a(?i)b)c|(?s-i:a(?i))b|(?i:B)", "aBc aB abC", ["aBc", "B", "ab"]),
    (r"(a(?i))b", "aB Ab", ["aB"]),
    (r"(?=(?i)A)ab|(?>!(?-i))c", "aB!C", ["aB"]),
    (r"(?:(x(?i)y)z)q|(?!(?i)k)B", "xYZq b", ["xYZq", "b"]),
    (r"(x)?(?(1)a(?i)|b)c", "xaC bC", ["xaC", "bC"]),
    ("(a(?x)b) c # d\n| (?-x) e", "abc e", ["abc", " e"]),
    (r"(?(1)a|b)", "", []),
    (r"(a)?(?(1)b|c)", "ab c", ["ab", "c"]),
    (r"\p{L}{2}", "abc d", ["ab"]),
    (r"\p{IDC}+", "a1\u2ff0", ["a1"]),
]
REFUSED = [
    (r"a\Kb", r"the escape \K"),
    (r"\p{Age=5.0}", r"the property \p{Age=5.0}"),
    (r"\p{Graph}", r"the property \p{Graph}"),
    (r"(?R)a", "the options 'R'"),
    (r"(?~a)", "a group that begins with '(?~a'"),
    (r"(?i)(a)\1", "a back reference that ignores case"),
    (r"\g<1>", r"the escape \g"),
    (r"\p{gc!=Lu}", "no property"),
    ("a**", "a quantifier after a quantifier, before character 3"),
    ("a+?{2}", "a quantifier after a quantifier, before character 5"),
    ("[a", "an end within a construct, before character 2"),
    ("[a&&b", "an end within a construct"),
    (r"[[z-a]]", "a range without a valid end, before character 5"),
    (r"[[a-\d]]", "a range without a valid end, before character 6"),
    (r"(?-u)a", "the options 'u'"),
    (r"\y", r"the escape \y"),
    (r"a*|b", "the regex may match the empty string where it could match a longer one"),
    (r"(?:\p{L}*)*+\d?|.", "expected the empty match to be tried last"),
    (r"a*?", "the regex may match the empty string"),
    (r"(?:a?|b)*b", "a repeated group may match the empty string where it could match a longer one"),
    (r"(?:(?>|a)b?)+c", "a repeated group may match the empty string"),
]


def matches(pattern: str, text: str) -> list[str]:
    return list(tiktoken_pattern(pattern).split(text))


@pytest.mark.parametrize(("pattern", "text", "expected"), [row for row in KNOWN if row[0] != "(?(1)a|b)"])
def test_known_matches(pattern: str, text: str, expected: list[str]) -> None:
    assert matches(pattern, text) == expected


@pytest.mark.parametrize(
    ("pattern", "text", "expected"),
    [
        (r"(?:|(?=a))b|.", "bab", ["b", "a", "b"]),  # an alternative after the empty one is empty too
        (r"(?:(?=b)|(?!a)|)[ab]", "ab", ["a", "b"]),
        (r"(?:(?:|(?=a))b)+|.", "bba", ["bb", "a"]),
        (r"(?:b|(?:|(?<=a)))+c|.", "bbcac", ["bbc", "a", "c"]),
        (r"(?:a|b|)c|.", "acbcc", ["ac", "bc", "c"]),
        (r"(?:(?:|a)b)+|.", "abbc", ["abb", "c"]),
        (r"(?:a*?b)+|.", "aabbc", ["aabb", "c"]),
        (r"(?:|a)?b|.", "abc", ["ab", "c"]),
        (r"(?>(?:a|b?))c|.", "acbcc", ["ac", "bc", "c"]),
        (r"(?:a|b?)+c|.", "abacbb", ["abac", "b", "b"]),  # the empty match is the last one
        (r"a+?|b", "aab", ["a", "a", "b"]),
        (r"(?:(?:a+?|b)c?)+|.", "abcc", ["abc", "c"]),
    ],
)
def test_parts_that_may_be_empty_match_as_in_tiktoken(pattern: str, text: str, expected: list[str]) -> None:
    """Only a whole regex, and a repeated part of it, may not try the empty match before a longer one."""
    tiktoken = pytest.importorskip("tiktoken")
    tokens = dict.fromkeys([*(bytes((byte,)) for byte in range(256)), *(part.encode() for part in expected)])
    ranks = {token: rank for rank, token in enumerate(tokens)}
    peer = tiktoken.Encoding("x", pat_str=pattern, mergeable_ranks=ranks, special_tokens={})
    assert [peer.decode([token_id]) for token_id in peer.encode_ordinary(text)] == expected
    assert matches(pattern, text) == expected


#: The members of POSIX brackets, all of which are in ASCII.
POSIX = {
    "alnum": string.ascii_letters + string.digits, "alpha": string.ascii_letters,
    "ascii": "".join(map(chr, range(128))), "blank": " \t", "cntrl": "".join(map(chr, (*range(32), 127))),
    "digit": string.digits,
    "graph": string.ascii_letters + string.digits + string.punctuation, "lower": string.ascii_lowercase,
    "print": string.ascii_letters + string.digits + string.punctuation + " ", "punct": string.punctuation,
    "space": string.whitespace, "upper": string.ascii_uppercase, "word": string.ascii_letters + string.digits + "_",
    "xdigit": string.hexdigits,
}  # fmt: skip


@pytest.mark.parametrize("name", POSIX)
def test_posix_brackets_have_their_members(name: str) -> None:
    text = "".join(map(chr, range(0x180))) + "\u0661\u2028\U0010ffff"
    assert "".join(matches(f"[[:{name}:]]", text)) == "".join(sorted(POSIX[name]))
    assert "".join(matches(f"[[:^{name}:]]", text)) == "".join(char for char in text if char not in POSIX[name])
    assert "".join(matches(f"[^[:{name}:]\\x61]+", text)) == "".join(
        char for char in text if char not in POSIX[name] + "a"
    )


@pytest.mark.parametrize(("pattern", "problem"), REFUSED)
def test_what_is_not_translated_is_named(pattern: str, problem: str) -> None:
    with pytest.raises(PatternError) as caught:
        bbpe.tiktoken.Encoding("x", pat_str=pattern, mergeable_ranks={}, special_tokens={})
    assert problem in str(caught.value)


def test_patterns_that_do_harm_are_refused() -> None:
    for pattern, problem in (("[" * 5000, "nested too deeply"), ("a" * 20_001, "20001 characters")):
        with pytest.raises(PatternError, match=problem):
            tiktoken_pattern(pattern)


@pytest.mark.parametrize("name", [name for name in PATTERNS if PATTERNS[name].steps and name != "clip"])
def test_published_patterns_stay_as_they_are(name: str) -> None:
    for step in PATTERNS[name].steps:
        assert from_fancy_regex(step) == step


# -- as in tiktoken ------------------------------------------------------------------------------------------

def ids_or_error(encoding: Any, text: str) -> list[int] | None:
    try:
        return encoding.encode_ordinary(text)
    except BaseException:  # its panics on empty matches are no `Exception`
        return None


@pytest.mark.parametrize(("patterns", "count"), [(16, 15), pytest.param(300, 2000, marks=pytest.mark.full)])
def test_as_tiktoken(patterns: int, count: int) -> None:
    tiktoken = pytest.importorskip("tiktoken")
    rng = random.Random(patterns)
    used = sorted({byte for char in CHARACTERS for byte in char.encode()})
    tokens = [bytes((byte,)) for byte in range(256)] + [bytes((left, right)) for left in used for right in used]
    ranks = {token: rank for rank, token in enumerate(dict.fromkeys(tokens))}
    texts = ["".join(rng.choices(CHARACTERS, k=rng.randint(1, 12))) for _ in range(count)]
    compared = refused = 0
    for _ in range(patterns):
        pattern = random_pattern(rng)
        parts: Any = {"pat_str": pattern, "mergeable_ranks": ranks, "special_tokens": {}}
        try:
            theirs, ours = tiktoken.Encoding("x", **parts), bbpe.tiktoken.Encoding("x", **parts)
        except ValueError:  # its own refusals, such as of long look-behinds, and `PatternError`
            refused += 1
            continue
        for text in texts:
            expected = ids_or_error(theirs, text)
            if expected is not None:
                assert ours.encode_ordinary(text) == expected, (pattern, text)
                compared += 1
    assert refused < patterns / 4
    assert compared > patterns * count / 3


@pytest.mark.parametrize("pattern", [r"\w+", r"[a-z]+|\d", r"\s+\S?", r"\h{2}", r" ?\w+|\n"])
def test_all_calls_drop_what_no_match_covers(pattern: str) -> None:
    tiktoken = pytest.importorskip("tiktoken")
    rng = random.Random(1)
    pairs = [bytes((left, right)) for left in b"ab 1\n." for right in b"ab 1\n."]
    tokens = [*(bytes((byte,)) for byte in range(256)), *pairs]
    parts: Any = {"pat_str": pattern, "mergeable_ranks": {token: rank for rank, token in enumerate(tokens)}}
    theirs, ours = (
        module.Encoding("x", **parts, special_tokens={"<s>": 400}) for module in (tiktoken, bbpe.tiktoken)
    )
    texts = ["".join(rng.choices("ab 1\n.é", k=rng.randint(0, 9))) for _ in range(200)]
    assert ours.encode_batch(texts) == theirs.encode_batch(texts)
    for text in texts:
        assert ours.encode_to_numpy(text).tolist() == theirs.encode_to_numpy(text).tolist()
        marked = f"{text[:4]}<s>{text[4:]}"
        assert ours.encode(marked, allowed_special="all") == theirs.encode(marked, allowed_special="all")
        stable, ways = theirs.encode_with_unstable(text)
        found, our_ways = ours.encode_with_unstable(text)
        assert (found, sorted(our_ways)) == (stable, sorted(ways))
