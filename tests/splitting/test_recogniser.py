r"""The recogniser: every spelling of the named patterns, what is refused, and random sentences of clauses."""

from __future__ import annotations

import itertools
import pickle
import random
from dataclasses import replace
from functools import cache

import pytest
from strings import ALPHABET, adversarial_strings

from bbpe.core.split import UNICODE_VERSION, Splitter
from bbpe.splitting.clauses import parse_clauses
from bbpe.splitting.patterns import _INTERNAL_SCHEMES, PATTERNS, Pattern, recognise, with_line_ends
from bbpe.splitting.recogniser import recognise_scheme
from bbpe.splitting.regexes import compiled
from bbpe.splitting.scheme import Scheme

NOT_COMPILED = {"falcon", "bloom", "clip", "whitespace", "subword_nmt", "none"}
COMPILED = [name for name in PATTERNS if name not in NOT_COMPILED]

# Published spellings: tiktoken's (0.3 and 0.14), HF's converters', the model authors' files.
CT = "(?i:'s|'t|'re|'ve|'m|'ll|'d)"
TAIL = r"\s*[\r\n]+|\s+(?!\S)|\s+"
SPELLINGS = [
    ("gpt2", r"""'s|'t|'re|'ve|'m|'ll|'d| ?[\p{L}]+| ?[\p{N}]+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+"""),
    ("gpt2", r"'(?:[sdmt]|ll|ve|re)| ?\p{L}++| ?\p{N}++| ?[^\s\p{L}\p{N}]++|\s++$|\s+(?!\S)|\s"),
    ("gpt2", r"(?:'s|'t|'re|'ve|'m|'ll|'d)| ?\p{L}+| ?\p{N}+| ?[^\p{N}\p{L}\s]+|\s+(?!\S)|\s{1,}"),
    (
        "cl100k",
        r"'(?i:[sdmt]|ll|ve|re)|[^\r\n\p{L}\p{N}]?+\p{L}++|\p{N}{1,3}+| ?[^\s\p{L}\p{N}]++[\r\n]*+|\s++$|\s*[\r\n]"
        r"|\s+(?!\S)|\s",
    ),
    (
        "llama3",
        r"'(?i:[sdmt]|ll|ve|re)|[^\r\n\p{L}\p{N}]?+\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]++[\r\n]*|\s*[\r\n]"
        r"|\s+(?!\S)|\s+",
    ),
    (
        "llama3",
        rf"{CT}|[^\r\n\p{{L}}\p{{N}}]?\p{{L}}+|\p{{N}}{{1,3}}| ?[^\s\p{{L}}\p{{N}}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s",
    ),
    ("qwen2", f"{CT}|[^\r\n\\p{{L}}\\p{{N}}]?\\p{{L}}+|\\p{{N}}| ?[^\\s\\p{{L}}\\p{{N}}]+[\r\n]*|{TAIL}"),
    ("qwen2", rf"{CT}|[^\r\n\p{{L}}\p{{N}}]?\p{{L}}+|\p{{N}}| ?[^\s\p{{L}}\p{{N}}\r\n]+[\r\n]*|{TAIL}"),
    (
        "qwen3_5",
        rf"{CT}|[^\r\n\p{{L}}\p{{N}}]?[\p{{M}}\p{{L}}]+|\p{{N}}| ?[^\s\p{{L}}\p{{M}}\p{{N}}]+[\n\r]*|{TAIL}",
    ),
    (
        "o200k",
        r"[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+(?:'(?i:[sdmt]|ll|ve|re))?+"
        r"|[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]++[\p{Ll}\p{Lm}\p{Lo}\p{M}]*(?i:'s|'t|'re|'ve|'m|'ll|'d)?"
        rf"|\p{{N}}{{1,3}}| ?[^\s\p{{L}}\p{{N}}]+[\r\n\/]*|{TAIL}",
    ),
    (
        "tekken",
        r"[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+"
        r"|[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+[\p{Ll}\p{Lm}\p{Lo}\p{M}]*"
        rf"|\p{{N}}| ?[^\s\p{{L}}\p{{N}}]+[\r\n/]*|{TAIL}",
    ),
    (
        "nanochat",
        r"'(?i:[sdmt]|ll|ve|re)|[^\r\n\p{L}\p{N}]?+\p{L}+|\p{N}{1,2}| ?[^\s\p{L}\p{N}]++[\r\n]*|\s*[\r\n]"
        r"|\s+(?!\S)|\s+",
    ),
]


def words(scheme: Scheme, text: str) -> list[str]:
    """The pretokens of the scalar splitter."""
    data = text.encode()
    return [data[i:j].decode() for i, j in itertools.pairwise(splitter(scheme).spans(data).tolist())]


@cache
def splitter(scheme: Scheme) -> Splitter:
    return Splitter(scheme, "scalar")


@cache
def soups() -> list[str]:
    return adversarial_strings(150, seed=31)


@pytest.mark.parametrize("name", PATTERNS)
def test_named_rows(name: str) -> None:
    pattern = PATTERNS[name]
    assert (pattern.scheme is None) == (name in NOT_COMPILED)
    assert recognise(pattern.steps, drops_gaps=pattern.drops_gaps) == pattern
    # the scheme is written by hand beside the regexes, which are parsed here
    assert recognise_scheme(pattern.steps, pattern.drops_gaps) == pattern.scheme
    if pattern.scheme is not None:
        assert pattern.unicode_version == UNICODE_VERSION
        for text in soups():
            assert words(pattern.scheme, text) == list(pattern.split(text))


@pytest.mark.parametrize(("name", "source"), SPELLINGS)
def test_published_spellings(name: str, source: str) -> None:
    assert recognise([source]) == PATTERNS[name]
    # some files drop what no regex matches; these match everything
    assert recognise([source], drops_gaps=True) == PATTERNS[name]
    for text in soups()[:100]:
        assert list(Pattern(None, (source,)).split(text)) == list(PATTERNS[name].split(text))


@pytest.mark.parametrize(
    ("grouped", "plain"),
    [
        (r"(?:\p{L}+x|\p{N}+)", r"\p{L}+x|\p{N}+"), (r"\s|(?:\p{L}+ |a)|\p{N}", r"\s|\p{L}+ |a|\p{N}"),
        (r"(?:(?:\p{L}+ |a)|b+)", r"\p{L}+ |a|b+"), (r"(?i:a+|b c)", r"(?i:a)+|(?i:b) (?i:c)"),
    ],
)  # fmt: skip
def test_a_group_that_is_a_whole_clause_is_its_alternatives(grouped: str, plain: str) -> None:
    assert parse_clauses(grouped) == parse_clauses(plain)


TEKKEN = PATTERNS["tekken"].steps[0].split("|")


@pytest.mark.parametrize(("first", "second"), list(itertools.combinations(range(len(TEKKEN)), 2)))
def test_clauses_in_another_order_are_recognised_only_if_no_text_shows_it(first: int, second: int) -> None:
    assert recognise_scheme(("|".join(TEKKEN),), False) == PATTERNS["tekken"].scheme
    clauses = [*TEKKEN]
    clauses[first], clauses[second] = clauses[second], clauses[first]
    scheme = recognise_scheme(("|".join(clauses),), False)
    # no text begins with both a number and a word, a symbol or a line end, or with both of the last two
    assert (scheme is not None) == ((first, second) in ((1, 2), (2, 3), (2, 4), (3, 4)))
    if scheme is not None:
        pattern = Pattern(None, ("|".join(clauses),))
        for text in soups()[:60]:
            assert words(scheme, text) == list(pattern.split(text))


@pytest.mark.parametrize("source", [r" ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+", "|".join(TEKKEN)])
def test_a_clause_that_stands_elsewhere_changes_no_pretoken_or_is_not_recognised(source: str) -> None:
    clauses = source.split("|")
    moves = list(itertools.permutations(range(len(clauses)), 2))
    known = 0
    for first, second in moves:
        moved = [*clauses]
        moved.insert(second, moved.pop(first))
        scheme = recognise_scheme(("|".join(moved),), False)
        if scheme is not None:
            known += 1
            pattern = Pattern(None, ("|".join(moved),))
            for text in soups()[:25]:
                assert words(scheme, text) == list(pattern.split(text)), (moved, text)
    assert 0 < known < len(moves)


def test_chains() -> None:
    gpt2, deepseek = PATTERNS["gpt2"].steps[0], PATTERNS["deepseek_v3"].steps
    spelled = r"[!-/:-@\[-`{-~][a-zA-Z]+" + deepseek[2][deepseek[2].index("|[^\\r") :]
    cjk = r"[\u3040-\u309f\u4e00-\u9fa5\u30a0-\u30ff]++"
    assert recognise((cjk, r"(?>\p{N}{1,3})", spelled)) == PATTERNS["deepseek_v3"]
    assert recognise((r"[\p{N}]", gpt2)) == PATTERNS["starcoder"]
    assert recognise_scheme((r"\p{N}+", gpt2), False) == Scheme("lead", number_space=True, numbers_apart=True)
    four = gpt2.replace(r" ?\p{N}+", r"\p{N}{1,2}")
    assert recognise_scheme((r"\p{N}{1,4}", four), False) == Scheme("lead", number_max=2, numbers_apart=True)
    for steps in ((r"\p{N}{1,3}", four), (gpt2, r"\p{N}"), (r"\p{N}", r"\p{N}", gpt2), (r"\d", gpt2)):
        assert recognise_scheme(steps, False) is None
    assert recognise_scheme((r"\p{N}", gpt2), True) is None
    repeated = gpt2.replace(r" ?\p{L}+", r" ?(?:\p{L}{1,3})+").replace(r"\s+(?!", r"(?:\s+)+(?!")
    assert repeated != gpt2
    assert recognise_scheme((repeated,), False) == PATTERNS["gpt2"].scheme
    assert recognise_scheme((r"\p{N}|a", gpt2), False) is None
    for wrong in (r"(?:\p{L}{2,3})+", r"(?:\p{L}{1,3}+)+", r"(?:\p{L}{1,3})"):
        assert recognise_scheme((gpt2.replace(r"\p{L}+", wrong),), False) is None
    assert recognise_scheme(deepseek[2:], False) is None


LLAMA3 = PATTERNS["llama3"].steps[0]


@pytest.mark.parametrize(
    ("old", "new"),
    [
        (r"|\s+(?!\S)|\s+", r"|\s+(?!\S)"),  # white space that no clause takes
        (r"|\s+(?!\S)|\s+", r"|\s+"),
        (r"|\s+(?!\S)|\s+", r"|\s++(?!\S)|\s+"),
        (r"|\s+(?!\S)|\s+", r"|(?:\s++)(?!\S)|\s+"),
        (r"|\s*[\r\n]+|\s+(?!\S)", r"|\s+(?!\S)|\s*[\r\n]+"),
        (r"|\s*[\r\n]+", r"|\s*+[\r\n]+"),
        (r"|\s*[\r\n]+", r"|\s*\n+"),
        (r"|\s*[\r\n]+", r"|\s+[\r\n]+"),
        (r"|\p{N}{1,3}", ""),
        (r"|\p{N}{1,3}", r"|\p{N}{3}"),
        (r"|\p{N}{1,3}", r"|\p{N}{1,3}?"),
        (r"|\p{N}{1,3}", r"|\p{N}{0,3}"),
        (r"|\p{N}{1,3}", r"|\p{N}{1,99999999999}"),
        (r"|\p{N}{1,3}", r"|\p{Nd}{1,3}"),
        (r"|\p{N}{1,3}", r"|\p{N}{1,3}|\p{N}{1,3}"),
        (r"|\p{N}{1,3}", r"||\p{N}{1,3}"),
        (r"|\p{N}{1,3}", r"|(?:\p{N}{2,3}){1,4}"),
        (r"|\p{N}{1,3}", r"|(?:\p{N}+){1,3}"),
        (r"|\p{N}{1,3}", r"|(?:\p{N}{1,3})?"),
        (r"|\p{N}{1,3}", r"|  ?\p{N}{1,3}"),
        (r"|\p{N}{1,3}", r"| \p{N}{1,3}"),
        (r"|\p{N}{1,3}", r"|\p{N}{1,2147483649}"),
        (r"(?i:'s|", r"(?i:'z|"),
        (r"(?i:'s|'t|'re|'ve|'m|'ll|'d)", r"(?i:'s|'t|'re|'ve|'m|'ll)"),
        (r"(?i:'s|'t|'re|'ve|'m|'ll|'d)", r"(?:'[sS]|'[tT]|'[rR][eE]|'[vV][eE]|'[mM]|'[lL][lL]|'[dD])"),
        (rf"{CT}|[^\r\n\p{{L}}\p{{N}}]?\p{{L}}+", rf"[^\r\n\p{{L}}\p{{N}}]?\p{{L}}+|{CT}"),
        (r"[^\r\n\p{L}\p{N}]?", ""),
        (r"[^\r\n\p{L}\p{N}]?", r"[^\n\p{L}\p{N}]?"),
        (r"[^\r\n\p{L}\p{N}]?\p{L}+", r"[^\r\n\p{L}\p{N}]?+[\p{L}\p{M}]+"),  # a mark is a prefix and gives itself back
        (r"[^\r\n\p{L}\p{N}]?", r"[^\r\n\P{L}\p{N}]?"),  # a property that is negated within a class
        (r" ?[^\s\p{L}\p{N}]+", r" ?[^\S\p{L}\p{N}]+"),
        (r"|\p{N}{1,3}", r"|[\P{N}]{1,3}"),
        (r"|\p{N}{1,3}", r"|[^\P{N}]{1,3}"),
        (r"|\p{N}{1,3}", r"|\P{N}{1,3}"),
        (r"(?i:'s", "(?i)(?:'s"),
        (r"(?i:'s", "(?x)(?i:'s"),
        ("", "^"),
    ],
)
def test_near_misses(old: str, new: str) -> None:
    source = LLAMA3.replace(old, new, 1)
    assert source != LLAMA3
    assert recognise_scheme((source,), False) is None


@pytest.mark.parametrize("later", [r"|\p{N}{1,3}", r"| ?[^\s", r"|\s*[\r\n]+"])
def test_han_comes_before_what_else_takes_it(later: str) -> None:
    """Han marks, letters, numbers and symbols are also those of the clauses before this one."""
    (source,) = PATTERNS["kimi"].steps
    first, _, others = source.partition("|")
    assert first == r"[\p{Han}]+"
    assert recognise_scheme((others.replace(later, f"|{first}{later}", 1),), False) is None


def test_nonsense_is_refused_in_peace() -> None:
    broken = ["", "(", ")", "[", "a{", "a{1", r"\p{L", "\\", "[a-", "[z-a]", "(?i:", "a**", "|", "[]]", "(?:" * 2000]
    for source in broken:
        assert recognise_scheme((source,), False) is None
    assert recognise_scheme((), False) is None
    rng = random.Random(5)
    for _ in range(1_000):
        source = list(rng.choice(SPELLINGS)[1])
        for _ in range(rng.randint(1, 3)):
            source[rng.randrange(len(source))] = rng.choice(r"\[](){}|?*+^$-&:!pLNs '1,")
        changed = "".join(source)
        scheme = recognise_scheme((changed,), False)
        if scheme is not None:
            compiled = Pattern(None, (changed,))
            for text in rng.sample(soups(), 20):
                assert words(scheme, text) == list(compiled.split(text)), (changed, text)


@pytest.mark.parametrize("pattern", [*PATTERNS.values(), *_INTERNAL_SCHEMES], ids=str)
def test_more_text_changes_only_the_open_tail(pattern: Pattern) -> None:
    """The bound is known of all patterns that are compiled, so a stream of text is never held whole."""
    if pattern.open_tail is None:
        assert pattern.scheme is None
        return
    changed = 0
    for text in soups()[:24]:
        whole = list(pattern.split(text))
        for cut in range(1, len(text), 7):
            parts = list(pattern.split(text[:cut]))
            kept = max(len(parts) - pattern.open_tail, 0)
            assert parts[:kept] == whole[:kept], (text[:cut], text[cut:])
            changed += parts[-1:] != whole[len(parts) - 1 : len(parts)]
    assert changed or pattern.name == "none"


def test_unicode_version() -> None:
    """It is 16, whatever `regex` knows: characters are assigned that this version added, and none that are newer."""
    version = PATTERNS["bloom"].unicode_version
    added = {14: "\u061d", 15: "\U0001fae8", 16: "\u1c89", 17: "\u20c1"}
    for number, char in added.items():
        known = bool(list(compiled(r"\P{Cn}").spans(char)))
        assert known == (int(version.split(".")[0]) >= number)
    assert recognise([SPELLINGS[0][1]]).unicode_version == UNICODE_VERSION == "16.0.0"


def test_patterns_are_values() -> None:
    ours = recognise([LLAMA3.replace("{1,3}", "{1,7}")])
    assert (ours.name, ours.open_tail, ours.scheme) == (None, 2, replace(PATTERNS["llama3"].scheme, number_max=7))
    assert pickle.loads(pickle.dumps(ours)) == ours
    assert hash(ours) == hash(Pattern(None, ours.steps, False, 2))
    # "a", "'", "l" and one more "l" is a single pretoken
    suffixed = recognise([PATTERNS["o200k"].steps[0].replace(r"[^\r\n\p{L}\p{N}]?", " ?")])
    assert suffixed.open_tail == 3
    assert [len(words(suffixed.scheme, text)) for text in ("a'l", "a'll")] == [3, 1]
    assert recognise([r"\w+|\s+"]).open_tail is None


# -- random sentences ------------------------------------------------------------------------------------

ANY = r"[^\r\n\p{L}\p{N}]?"
PREFIXES = [" ?", ANY, r"[^\p{N}\p{L}\n\r]?", r"[^\r\n\p{L}\p{P}\p{S}]?", " ?+", ANY + "+"]
UPPER, LOWER = r"\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}", r"\p{Ll}\p{Lm}\p{Lo}\p{M}"
CONTRACTIONS = [
    r"'(?:[sdmt]|ll|ve|re)",
    r"'(?i:[sdmt]|ll|ve|re)",
    CT,
    "'ll|'ve|'re|'d|'m|'t|'s",
    r"(?:'(?i:s|t|m|d)|'(?i:re|ve|ll))",
]
SUFFIXES = ["", "", CT + "?", r"(?:'(?i:[sdmt]|ll|ve|re))?"]
NUMBERS = [r"\p{N}", r"\p{N}{1,3}", r"[\p{N}]+", r" ?\p{N}++", r" ?\p{N}{1,2}", r"\p{N}{1,3}+"]
RESTS = [r"[^\s\p{L}\p{N}]", r"[^\p{N}\s\p{L}]", r"[^\s\p{L}\p{M}\p{N}]", r"[\p{P}\p{S}]"]
TAILS = ["", r"[\r\n]*", r"[\n\r/]*+", "[\r\n]*"]
BLANKS = [r"\s+(?!\S)|\s+", r"\s+(?!\S)|\s", r"\s*[\r\n]+|\s+(?!\S)|\s+", r"\s*[\r\n]|\s+(?!\S)|\s"]
STEPS = [r"\p{N}", r"\p{N}{1,3}", r"\p{N}+", "[\u4e00-\u9fa5\u3040-\u30ff]+", "[a-f]+"]
ODD = [r"\p{L}+", r"\p{Han}+", r"\s+", r"[^\s]+", r"[!-/:-@\[-`{-~][A-Za-z]+", r"\s++$", r"\s+$", r"\p{M}+"]


def sentence(rng: random.Random) -> tuple[str, ...]:
    """A chain of regexes that is often, not always, one of known clauses in a known order."""
    prefix, suffix = rng.choice(PREFIXES), rng.choice(SUFFIXES)
    han = rng.random() < 0.2
    but = r"&&[^\p{Han}]" if han else ""
    if rng.random() < 0.4:
        upper, lower = f"[{UPPER}{but}]", f"[{LOWER}{but}]"
        clauses = [f"{prefix}{upper}*{lower}+{suffix}", f"{prefix}{upper}+{lower}*{suffix}"]
    else:
        letters = rng.choice([r"\p{L}", r"\p{M}\p{L}"])
        clauses = [f"{prefix}[{letters}{but}]{rng.choice(['+', '++'])}{suffix}"]
    if rng.random() < 0.9:
        clauses.append(rng.choice(NUMBERS))
    clauses.append(f"{rng.choice([' ?', ' ?', ' ?+'])}{rng.choice(RESTS)}{rng.choice(['+', '++'])}{rng.choice(TAILS)}")
    clauses += rng.choice(BLANKS).split("|")
    if not suffix and rng.random() < 0.7:
        clauses.insert(0, rng.choice(CONTRACTIONS))
    if han and rng.random() < 0.9:
        clauses.insert(0, r"\p{Han}+")
    if rng.random() < 0.3:
        clauses.insert(rng.randint(0, len(clauses)), rng.choice(ODD))
    if rng.random() < 0.4:
        i, j = rng.randrange(len(clauses)), rng.randrange(len(clauses))
        clauses.insert(j, clauses.pop(i))
    steps = rng.sample(STEPS, k=rng.choice([0, 0, 1, 1, 2]))
    return (*steps, "|".join(clauses))


@pytest.mark.parametrize("count", [120, pytest.param(4000, marks=pytest.mark.full)])
def test_random_sentences(count: int) -> None:
    rng = random.Random(7)
    recognised: set[Scheme] = set()
    refused = 0
    for _ in range(count):
        steps = sentence(rng)
        drops = rng.random() < 0.2
        scheme = recognise_scheme(steps, drops)
        if scheme is None:
            refused += 1
            continue
        recognised.add(scheme)
        pattern = Pattern(None, steps, drops)
        # Han that is a number, a letter, a symbol or a mark, after what other clauses take
        letters = ALPHABET + "''  \n\n1slS/\u3007\u3007\u3005\u2e80\u302a\u302a"
        short = ["".join(rng.choices(letters, k=rng.randint(1, 9))) for _ in range(25)]
        for text in short + rng.sample(soups(), 3):
            assert words(scheme, text) == list(pattern.split(text)), (steps, scheme, text)
    assert len(recognised) > count // 15
    assert refused > count // 6


@pytest.mark.parametrize("row", PATTERNS.values(), ids=str)
def test_named_patterns_have_the_schemes_of_their_regexes(row: Pattern) -> None:
    assert row.scheme == recognise_scheme(row.steps, row.drops_gaps)
    spelled = tuple(map(with_line_ends, row.steps))
    assert recognise(spelled, drops_gaps=row.drops_gaps) is row
    assert row.scheme == recognise_scheme(spelled, row.drops_gaps)
