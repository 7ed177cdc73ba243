"""Clauses of split regexes: which spellings are equal, and the orders of clauses that a scheme may have."""

from __future__ import annotations

import itertools

import pytest
from test_recogniser import CT, words

from bbpe.splitting.clauses import UnknownClauseError, parse_clauses
from bbpe.splitting.patterns import Pattern
from bbpe.splitting.recogniser import recognise_scheme


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (r"\x41", "A"), (r"\u00e9", "é"), (r"[\x41-\x43]", "[CAB]"), ("[a-cb-e]", "[a-e]"), ("[a-cd]", "[a-d]"),
        ("[e-ga-d]", "[a-g]"), (r"[\t\n\f\r\v]", "[\t-\r]"), (r"[\s\t ]", r"\s"), (r"[a\-]", "[a-]"),
        (r"[-a]", r"[\-a]"), (r"\p{N}{1,}", r"\p{N}+"), (r"\p{N}{0,}", r"\p{N}*"), (r"\p{N}{0,1}", r"\p{N}?"),
        (r"\p{N}{2}", r"\p{N}{2,2}"), (r"(?:\p{N}{1,3})+", r"\p{N}+"), (r"(?:\p{N}{1,3})", r"\p{N}{1,3}"),
        (r"(?:\p{L}|\p{N})|\s", r"\p{L}|\p{N}|\s"), ("(?i:'s|'t)x", "'(?i:[st])x"), ("'(?:s|t)", "'[st]"),
        ("(?:ab|cd)e", "(?:cd|ab)e"), (r"\p{L}++", r"\p{L}+"), (r"\p{L}++\p{N}*", r"\p{L}+\p{N}*"),
        (r"\p{L}{2}+\p{N}", r"\p{L}{2}\p{N}"), (r"(?>\p{L})\p{N}", r"\p{L}\p{N}"),
        (r"\p{L}+\p{N}?+\p{P}*", r"\p{L}+\p{N}?\p{P}*"),
        (r"[\p{L}&&[^\p{Han}]]+", r"[\p{L}&&[^\p{Han}]]{1,}"), (r"\/", "/"),
    ],
)  # fmt: skip
def test_equal_spellings(one: str, other: str) -> None:
    assert parse_clauses(one) == parse_clauses(other)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("[a-c]", "[a-d]"), ("[ac]", "[a-c]"), (r"\p{N}{2}", r"\p{N}{2,}"), (r"\p{N}{2}", r"\p{N}{1,2}"),
        (r"\p{N}", r"\p{N}?"), ("'(?i:s)", "'s"), ("'(?i:s)", "'[sS]"), (r"\p{L}++\p{N}", r"\p{L}+\p{N}"),
        (r"\p{L}*+\p{N}*\p{P}", r"\p{L}*\p{N}*\p{P}"), (r"\p{L}", r"\P{L}"), (r"\s", r"\S"), (r"[^a]", "[a]"),
        (r"[\p{L}&&[^\p{Han}]]", r"\p{L}"), (r"\s+$", r"\s+(?!\S)"), (r"[\sa]", r"\s"), (r"[\s\t-\r]", "[\t-\r]"),
        ("A", "a"), ("(?i:a)b", "(?i:ab)"), ("(?i:a(?:b))c", "(?i:abc)"), ("[\r\n]", r"\n"), ("a|b", "b|a"),
        ("ab|", "ab"),
    ],
)  # fmt: skip
def test_spellings_that_are_not_equal(one: str, other: str) -> None:
    assert parse_clauses(one) != parse_clauses(other)


@pytest.mark.parametrize(
    "source",
    [
        r"\x4", r"\u004", r"\x4g", r"\p{L", r"\p{L1}", r"\pL", "[a&&b]", "[a&&[^b]]", r"[^a&&[^\p{L}]]",
        r"[\p{L}&&[\p{N}]]",
        r"[\p{L}&&[^\p{N}]a]", "[[a]]", "[a||b]", "[a--b]", "[b-a]", r"[a-\s]", r"[\S]", "[]a]", "[^]a]", "a{1", "a{x}",
        "a{1,x}", "a{,2}", "a{}", r"\d", r"\w", "(?>ab)", "(?>a|b)", r"\p{L}+?", r"\p{L}??", "(?i:é)", r"(?i:\p{L})",
        "(a)",
        "(?=a)", "a)", "(?:a", "^a", ".", "*", "(?:a|ab)c", r"(?:\p{L}\p{N})+", r"(?:\p{L}|\p{N})+", r"(?:\p{N}{2,3})+",
        r"(?:\p{N}+){2}", r"(?:\p{N}{1,3}){1,4}", r"(?:\s+(?!\S))+", r"$+", "\\", "[a",
    ],
)  # fmt: skip
def test_what_no_known_pattern_has_is_refused(source: str) -> None:
    with pytest.raises(UnknownClauseError):
        parse_clauses(source)


@pytest.mark.parametrize(
    ("source", "lengths"),
    [
        ("[a-h][a-h]", [1]), ("[a-h][a-i]", [2]), ("abc", [1]), ("[A-C]b", [2]), (r"a\s", [2]), ("a+b", [2]),
        (r" ?\p{L}+|\s+(?!\S)|\s+", [2, 2, 1]), (r"(?:a|b)|c", [1, 1, 1]), ("||", [0, 0, 0]),
    ],
)  # fmt: skip
def test_items_of_clauses(source: str, lengths: list[int]) -> None:
    """Few strings, up to 64 without capital letters, are one item."""
    assert [len(clause) for clause in parse_clauses(source)] == lengths


def test_how_many_characters_may_ignore_case() -> None:
    assert len(parse_clauses(r"(?i:[\x20-@])")) == 1
    with pytest.raises(UnknownClauseError, match="ignored case for more than a few ASCII letters"):
        parse_clauses(r"(?i:[\x1f-@])")


# -- the order of clauses ------------------------------------------------------------------------------------

ANY, NO_PUNCT = r"[^\r\n\p{L}\p{N}]?", r"[^\r\n\p{L}\p{P}\p{S}]?"
UPPER, LOWER = r"\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}", r"\p{Ll}\p{Lm}\p{Lo}\p{M}"
BLANKS = [r"\s+(?!\S)", r"\s+"]
NO_HAN = r"&&[^\p{Han}]"
ASCII = r"[!-/:-@\[-`{-~][A-Za-z]+"
REST, NO_MARKS = r" ?[^\s\p{L}\p{N}]+", r" ?[^\s\p{L}\p{M}\p{N}]+"
#: The clauses of schemes, in an order that is known.
ORDERS = {
    "blank": ["'(?:[sdmt]|ll|ve|re)", r" ?\p{L}+", r" ?\p{N}+", REST, *BLANKS],
    "marks": [r" ?[\p{L}\p{M}]+", r"\p{N}", REST, r"\s++$", *BLANKS],
    "any": [CT, rf"{ANY}\p{{L}}+", r"\p{N}{1,3}", REST + r"[\r\n]*", r"\s*[\r\n]+", *BLANKS],
    "ascii": [ASCII, rf"{NO_PUNCT}[\p{{L}}\p{{M}}]+", r" ?[\p{P}\p{S}]+[\r\n]*", r"\s*[\r\n]+", *BLANKS],
    "ascii any": [CT, ASCII, rf"{ANY}\p{{L}}+", r"\p{N}", REST, r"\s+$", r"\s*[\r\n]", *BLANKS],
    "no punctuation": [ASCII, rf"{NO_PUNCT}\p{{L}}+", r"\p{N}{1,3}", REST, *BLANKS],
    "cased": [
        rf"{ANY}[{UPPER}]*[{LOWER}]+", rf"{ANY}[{UPPER}]+[{LOWER}]*", r"\p{N}", REST + r"[\r\n/]*", r"\s*[\r\n]+",
        *BLANKS,
    ],
    "han": [
        r"\p{Han}+", rf"{ANY}[{UPPER}{NO_HAN}]*[{LOWER}{NO_HAN}]+{CT}?",
        rf"{ANY}[{UPPER}{NO_HAN}]+[{LOWER}{NO_HAN}]*{CT}?",
        r"\p{N}{1,3}", REST + r"[\r\n]*", r"\s*[\r\n]+", *BLANKS,
    ],
}  # fmt: skip
LETTERS = "'slA a1.\n漢\u0301\u3007"
PROBES = [
    *map("".join, itertools.product(LETTERS, repeat=2)), "'st", "'ll", "'lla", " 's", "a's", "A'll", " 'sa", ".aB",
    " .a", "..a",
    "  \n", " \n ", "\n \n", "\n\n", "   ", "  a", "a  ", "a \n", "1a", " 1a", "1'a", "\u0301a", " \u0301a",
    "aA\u0301", "AAa",
    "Aa'S", " 12", "1\u0301a", "漢a", "a漢", "'漢", "\u3007漢a", ".\n", " .\n\n", "\ta", "\t.", "\u2000a",
    "\u00b2\u0301a",
]  # fmt: skip


@pytest.mark.parametrize("name", ORDERS)
def test_clauses_in_another_order_split_as_their_regex_does(name: str) -> None:
    """Each clause at each other place, and each two of them exchanged: an order that matters is none of a scheme."""
    clauses, steps = ORDERS[name], () if name != "ascii" else (r"\p{N}{1,3}",)
    assert recognise_scheme((*steps, "|".join(clauses)), False) is not None
    orders = set[tuple[str, ...]]()
    for first, then in itertools.combinations(range(len(clauses)), 2):
        exchanged = clauses.copy()
        exchanged[first], exchanged[then] = clauses[then], clauses[first]
        others = clauses[:first] + clauses[first + 1 :]
        later = [*others[:then], clauses[first], *others[then:]]
        rest = clauses[:then] + clauses[then + 1 :]
        earlier = [*rest[:first], clauses[then], *rest[first:]]
        orders |= {tuple(exchanged), tuple(later), tuple(earlier)}
    refused = 0
    for order in sorted(orders):
        chain = (*steps, "|".join(order))
        scheme = recognise_scheme(chain, False)
        refused += scheme is None
        if scheme is not None:
            pattern = Pattern(None, chain)
            for text in PROBES:
                assert words(scheme, text) == list(pattern.split(text)), (order, text)
    assert 0 < refused < len(orders)


CJK = "[\u4e00-\u9fa5\u3040-\u30ff]+"
WITH_SUFFIX = [rf" ?[{UPPER}]*[{LOWER}]+{CT}?", rf" ?[{UPPER}]+[{LOWER}]*{CT}?"]


@pytest.mark.parametrize(
    ("steps", "clauses", "drops_gaps", "is_known"),
    [
        ((), ORDERS["han"], False, True),
        ((r"\p{N}{1,3}",), ORDERS["han"], False, False),
        ((CJK,), ORDERS["blank"], False, True),
        ((CJK, r"\p{N}"), ORDERS["blank"], False, True),
        ((r"\p{N}", CJK), ORDERS["blank"], False, True),
        ((CJK, CJK), ORDERS["blank"], False, False),
        ((r"\p{N}", r"\p{N}{1,3}"), ORDERS["blank"], False, False),
        ((r"\p{L}+",), ORDERS["blank"], False, False),
        ((CJK,), ORDERS["cased"], False, False),
        ((CJK,), [*WITH_SUFFIX, *ORDERS["blank"][2:]], False, False),
        ((), [*WITH_SUFFIX, *ORDERS["blank"][2:]], False, True),
        ((), ORDERS["blank"], True, True),
        ((r"\p{N}",), ORDERS["blank"], True, False),
        ((), ORDERS["ascii"], False, False),
        ((r"\p{N}",), ORDERS["ascii"], False, True),
        ((r"\p{N}",), ORDERS["ascii"], True, False),
        ((), ORDERS["blank"][1:], False, True),
        ((), ORDERS["blank"][:-1], False, False),
        ((), [*ORDERS["blank"][:-2], r"\s+"], False, False),
        ((), [*ORDERS["blank"][:3], *BLANKS], False, False),
        ((), [*ORDERS["blank"][:1], *ORDERS["blank"][2:]], False, False),
        ((), [ORDERS["cased"][0], *ORDERS["cased"][2:]], False, False),
        ((), ORDERS["cased"][1:], False, False),
        ((), ["'s", *ORDERS["blank"][1:]], False, False),
        ((), [*WITH_SUFFIX, "'(?:[sdmt]|ll|ve|re)", *ORDERS["blank"][2:]], False, False),
        ((), ORDERS["han"][1:], False, False),
        # characters that no clause takes
        ((), [*ORDERS["ascii"][:2], r"\p{N}{1,3}", *ORDERS["ascii"][2:]], False, False),
        ((), [r" ?\p{L}+", r" ?\p{N}+", NO_MARKS, *BLANKS], False, False),
        ((), [r" ?[\p{L}\p{M}]+", r" ?\p{N}+", NO_MARKS, *BLANKS], False, True),
        ((r"\p{N}",), [r" ?\p{L}+", NO_MARKS, *BLANKS], False, True),
    ],
)
def test_which_combinations_have_a_scheme(
    steps: tuple[str, ...], clauses: list[str], drops_gaps: bool, is_known: bool
) -> None:
    chain = (*steps, "|".join(clauses))
    scheme = recognise_scheme(chain, drops_gaps)
    assert (scheme is not None) == is_known
    if scheme is not None:
        for text in [*PROBES, "漢字1か12", "1漢", "\u3007\u30071"]:
            assert words(scheme, text) == list(Pattern(None, chain, drops_gaps).split(text)), text


@pytest.mark.parametrize(
    ("first", "then", "expected"),
    [
        ("{1,4}", "{1,2}", 2), ("{1,3}", "{1,2}", None), ("{1,2}", "{1,4}", 2), ("{1,3}", "{1,3}", 3),
        ("{1,3}", "+", 3),
        ("+", "{1,3}", 3), ("+", "+", 0), ("", "{1,3}", 1), ("{1,6}", "{1,3}", 3), ("{1,6}", "{1,4}", None),
    ],
)  # fmt: skip
def test_numbers_that_two_steps_split(first: str, then: str, expected: int | None) -> None:
    chain = (rf"\p{{N}}{first}", "|".join([ORDERS["blank"][1], rf"\p{{N}}{then}", REST, *BLANKS]))
    scheme = recognise_scheme(chain, False)
    assert (None if scheme is None else scheme.number_max) == expected
    if scheme is not None:
        for size in range(14):
            text = f"a {'7' * size}b"
            assert words(scheme, text) == list(Pattern(None, chain).split(text)), text
