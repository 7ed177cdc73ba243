"""Regexes at work: what is refused by name, the limit of time, and matches as the `regex` package finds them."""

from __future__ import annotations

import json
import random
from collections.abc import Callable, Iterator
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
import regex
from seeds import then_full
from tekken_files import tekken
from vocabularies import byte_level, document, sequence, split, vocab_of

import bbpe
from bbpe.errors import PatternError
from bbpe.formats.common.given import rank_text
from bbpe.splitting import regexes
from bbpe.splitting.pattern_limits import check_size, safe_length
from bbpe.splitting.patterns import PATTERNS, get_pattern
from bbpe.splitting.regexes import Regex

BYTES = {bytes([byte]): byte for byte in range(256)}
REFUSED = [
    (r"(?r)\w+", "flag (?r)"),
    (r"a(?r:b)|\w+", "flag (?r)"),
    (r"(?b)\w+", "flag (?b)"),
    (r"(?e)\w+", "flag (?e)"),
    (r"(?p)\w+", "flag (?p)"),
    (r"(?=ab\K)", r"'\\K' at character 5"),
    (r"[\K]\K", r"'\\K' at character 4"),
    (r"a|\L<words>", r"'\\L<' at character 2"),
    (r"(?V1)a", "'(?V1' at character 0"),
    (r"(?V0)a&&b", "'(?V0' at character 0"),
    (r"(?iV1)a", "'(?iV1' at character 0"),
    (r"a(?R)?b", "'(?R' at character 1"),
    (r"(a|b(?1))", "'(?1' at character 4"),
    (r"(?<x>a)(?&x)", "'(?&' at character 7"),
    (r"(?P<x>a)(?P>x)", "'(?P>' at character 8"),
    (r"(?:abc){e<=1}", "'{e<=1}' at character 7"),
    (r"a{2i+1d<=3,s<4}", "'{2i+1d<=3,s<4}' at character 1"),
    (r"(?a)(?u)a", "not a valid regex"),
    (r"(?L)\w+", "flag (?L)"),
    ("[", "not a valid regex"),
]


def makers(folder: Path) -> Iterator[tuple[str, Callable[[str], object]]]:
    """Every way to make a pattern of a regex."""
    ranks = folder / "x.tiktoken"
    ranks.write_bytes(rank_text(vocab_of()))

    def of_tekken(source: str) -> object:
        (folder / "tekken.json").write_text(json.dumps(tekken(config__pattern=source)))
        return bbpe.load(folder / "tekken.json")

    yield "get_pattern", get_pattern
    yield "chain", lambda source: get_pattern([r"\s+", source])
    yield "split", lambda source: bbpe.split("ab abc", source)
    yield "split_spans", lambda source: bbpe.split_spans("ab abc", source)
    yield "from_ranks", lambda source: bbpe.Tokenizer.from_ranks(BYTES, pattern=source)
    yield "from_merges", lambda source: bbpe.Tokenizer.from_merges(vocab_of(), [], pattern=source)
    yield "train", lambda source: bbpe.train_from_iterator(["ab abc"], 257, pattern=source)
    yield "count", lambda source: bbpe.count_from_iterator(["ab abc"], pattern=source)
    yield "load", lambda source: bbpe.load(ranks, pattern=source)
    yield "tekken.json: config.pattern", of_tekken


@pytest.mark.parametrize(("source", "named"), REFUSED)
def test_refused_by_name(source: str, named: str, tmp_path: Path) -> None:
    for place, make in makers(tmp_path):
        with pytest.raises(PatternError) as caught:
            make(source)
        message = str(caught.value)
        assert f"pattern {source!r}" in message, place
        assert named in message, place
        assert ("tekken.json: config.pattern: " in message) == (place[0:6] == "tekken"), message


@pytest.mark.parametrize("source", [r"a\K", r"(?r)a", r"(?V1)a", r"a(?R)?b", r"a{5,2}"])
@pytest.mark.parametrize("behavior", ["Isolated", "MergedWithNext"])
def test_refused_in_tokenizer_json(source: str, behavior: str, tmp_path: Path) -> None:
    path = tmp_path / "tokenizer.json"
    part = {**split(source), "behavior": behavior}
    replace = {"type": "Replace", "pattern": {"Regex": source}, "content": "b"}
    for values in ({"pre_tokenizer": sequence(part, byte_level())}, {"normalizer": replace}):
        path.write_text(json.dumps(document(**values)))
        with pytest.raises(PatternError) as caught:
            bbpe.load(path)
        assert f"{path}: {next(iter(values))}" in str(caught.value)
        assert source in str(caught.value).replace("\\\\", "\\")


@pytest.mark.parametrize("source", [r"(?:a){e<=1}", r"a{i}", r"[ab]{,", r"a{1,2}{e}"])
def test_braces_that_are_no_interval_are_text_in_tokenizer_json(source: str, tmp_path: Path) -> None:
    tokenizers = pytest.importorskip("tokenizers")
    path = tmp_path / "tokenizer.json"
    replace = {"type": "Replace", "pattern": {"Regex": source}, "content": "b"}
    for values in ({"pre_tokenizer": sequence(split(source), byte_level())}, {"normalizer": replace}):
        path.write_text(json.dumps(document(**values)))
        tok, theirs = bbpe.load(path), tokenizers.Tokenizer.from_file(str(path))
        for text in ("aab", "the a{e<=1}b", "a{e<=1}{e<=1}aa{i}", "b{, aa{e}a{i", "in the"):
            assert tok.encode(text) == theirs.encode(text, add_special_tokens=False).ids


@pytest.mark.parametrize(
    "source", [r"a\\K", r"(?#\K)a", r"\p{L}{2}", r"a{b}", r"(?i)ab", r"(?P<e>a)(?P=e)", r"[^]\\K(?R)]+", r"[{e}]"]
)
def test_what_looks_like_it_is_not_refused(source: str) -> None:
    assert "".join(bbpe.split("ab \\K aa", source)) == "ab \\K aa"


def test_a_match_that_goes_back_is_an_error_wherever_it_comes_from() -> None:
    # what the names are looked for in takes the comments' brackets for a class
    hidden = "(?x) # [\n(?=ab\\K) # ]"
    with pytest.raises(PatternError, match=r"matches characters 2 to 0 .*; expected matches that are in order"):
        bbpe.split("ab abc", hidden)
    with pytest.raises(PatternError, match="expected matches that are in order and do not overlap"):
        Regex(hidden).replaced("ab abc", "x")


# -- the limit of time ---------------------------------------------------------------------------------------

#: Regexes that go back often, and end by themselves within a second over `TEXT`: only the limit is lower here.
SLOW = [
    r"(?:a|aa)+$|(?<c>c)(?P=c)x",
    r"(.*?,){5}(?=(?<x>x)(?P=x))",
    r"(\w+)\1+c|(a|aa)+$",
    r"(?:a|aab?)*(?=(?<c>c)(?P=c))",
    r"(?:\p{L}|\p{L}\p{L})+(?=(?<c>c)(?P=c))",
    r"(?i:a|aa)+$|!?|(?<c>c)(?P=c)x",
    r"[\p{L}&&[^b]]{1,2}[b-z]|(?:a|aa)+$|(?<c>c)(?P=c)d",
]
#: Regexes that an automaton can follow, without going back.
LINEAR = [r"(?:a|aa)+$", r"(?:a|ab?)+(?=c)", r"(?:\p{L}|\p{L}\p{L})+(?=c)", r"(?i:a|aa)+$|!?", r"(?:a|aab?)*(?=cc)"]
TEXT = "b, " * 8 + "a" * 22 + "!" + ",a" * 18


@pytest.fixture
def hurried(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(regexes, "SECONDS", 0.001)
    monkeypatch.setattr(regexes, "SECONDS_EACH", 0.0)


def ways(source: str, folder: Path) -> Iterator[tuple[str, Callable[[], object]]]:
    """Every way in which a regex comes to a text."""
    tok = bbpe.Tokenizer.from_ranks(BYTES, pattern=source, special_tokens={"<s>": 256})
    yield "split", lambda: bbpe.split(TEXT, source)
    yield "split_spans", lambda: bbpe.split_spans(TEXT, source)
    yield "chain", lambda: bbpe.split(TEXT, [r"\s+", source])
    yield "encode", lambda: tok.encode(TEXT)
    yield "encode bytes", lambda: tok.encode(b"\xff" + TEXT.encode())
    yield "encode with special tokens", lambda: tok.encode(f"<s>{TEXT}<s>", allowed_special="all")
    yield "encode_to_numpy", lambda: tok.encode_to_numpy(TEXT, threads=2)
    yield "encode_batch", lambda: tok.encode_batch(["a", TEXT], threads=2)
    yield "encode_iterable", lambda: list(tok.encode_iterable([TEXT[:9], TEXT[9:]]))
    yield "encode_with_offsets", lambda: tok.encode_with_offsets(TEXT)
    yield "count_tokens", lambda: tok.count_tokens(TEXT)
    yield "count", lambda: bbpe.count_from_iterator([TEXT], pattern=source)
    yield "train", lambda: bbpe.train_from_iterator([TEXT], 260, pattern=source)
    path = folder / "a.txt"
    path.write_text(TEXT)
    yield "count files", lambda: bbpe.count(path, pattern=source)
    yield "as_tiktoken", lambda: tok.as_tiktoken().encode(TEXT)


@pytest.mark.usefixtures("hurried")
@pytest.mark.parametrize("source", SLOW)
def test_what_goes_back_too_often_is_an_error(source: str, tmp_path: Path) -> None:
    for name, way in ways(source, tmp_path):
        with pytest.raises(PatternError) as caught:
            way()
        message = str(caught.value)
        assert f"pattern {source!r} takes more than 0.0 s, after character " in message, name
        assert " of " in message
        assert "expected a regex that does not backtrack" in message


@pytest.mark.usefixtures("hurried")
@pytest.mark.parametrize("source", LINEAR)
def test_an_automaton_does_not_go_back(source: str, tmp_path: Path) -> None:
    for _, way in ways(source, tmp_path):
        way()
    assert "".join(bbpe.split(TEXT, source)) == TEXT


@pytest.mark.usefixtures("hurried")
@pytest.mark.parametrize("behavior", ["Isolated", "Removed", "MergedWithPrevious", "MergedWithNext", "Contiguous"])
def test_splits_and_replacements_of_tokenizer_json(behavior: str, tmp_path: Path) -> None:
    source, path = r"(?:a|aa)+(?!a|!|(z)\1)", tmp_path / "tokenizer.json"
    part = {**split(source), "behavior": behavior}
    replace = {"type": "Replace", "pattern": {"Regex": source}, "content": "b"}
    for values in ({"pre_tokenizer": sequence(part, byte_level())}, {"normalizer": replace}):
        path.write_text(json.dumps(document(**values)))
        tok = bbpe.load(path)
        assert tok.decode(tok.encode("xyz")) == "xyz"
        with pytest.raises(
            PatternError, match=r"takes more than 0\.0 s, after character 0 of 83, 'b, b, b, b, b, b, b,'"
        ):
            tok.encode(TEXT)
        with pytest.raises(PatternError, match=r"takes more than 0\.0 s"):
            tok.encode_with_offsets(TEXT)


@pytest.mark.usefixtures("hurried")
def test_pieces_of_one_text_share_the_time() -> None:
    # each piece alone takes less than the limit
    text = ("a" * 12 + "b ") * 2000
    slow = "(?:a|aa)+$|(?<c>c)(?P=c)x"
    assert len(bbpe.split("a" * 12 + "b ", [r"\s+", slow])) == 2
    with pytest.raises(PatternError, match="takes more than"):
        bbpe.split(text, [r"\s+", slow])
    assert len(bbpe.split(text, [r"\s+", "(?:a|aa)+$"])) == 4000


class _Late:
    """A compiled regex whose first calls take too long by the clock of the process, as beside busy threads."""

    def __init__(self, one: Any, times: int) -> None:
        self._one, self._left, self.timeouts = one, times, list[float]()

    def match(self, text: str, at: int, *, timeout: float) -> Any:
        return self._or_late(self._one.match, text, at, timeout)

    def finditer(self, text: str, at: int, *, timeout: float) -> Iterator[Any]:
        for number, found in enumerate(self._or_late(self._one.finditer, text, at, timeout)):
            if number == 2 and self._left:
                self._or_late(None, text, at, timeout)
            yield found

    def _or_late(self, call: Any, text: str, at: int, timeout: float) -> Any:
        self.timeouts.append(timeout)
        if self._left and (call is None or call == self._one.match):
            self._left -= 1
            raise TimeoutError
        return call(text, at, timeout=timeout)


@pytest.mark.parametrize(
    ("source", "attribute"), [(r"a+|\w", "_batched"), (r"a*|\w", "_single"), (r"(?=b)|(a)\1|a", "_single")]
)
def test_time_of_other_threads_does_not_count(source: str, attribute: str) -> None:
    text = "aab b " * 200
    made, plain = Regex(source), Regex(source)
    plain._safe_length = made._safe_length = -1
    late = _Late(getattr(made, attribute), 5)
    made.__dict__[attribute] = late
    if attribute == "_single":
        made.__dict__["_batched"] = None
    assert list(made.spans(text)) == list(plain.spans(text))
    assert late._left == 0
    assert late.timeouts[-1] > 16 * regexes.SECONDS


# -- the same matches ----------------------------------------------------------------------------------------

ATOMS = [*r"a b \s \S [ab] [^a] \p{L} \d . \b ^ $ (?=a) (?!b) (?<=a) (?<!b) \n \w (?m:^) (?m:$) \X \Z".split(), " "]


def random_regex(rng: random.Random, depth: int) -> str:
    if depth == 0 or rng.random() < 0.35:
        return rng.choice(ATOMS)
    inner = random_regex(rng, depth - 1)
    match rng.randrange(8):
        case 0 | 1:
            return inner + random_regex(rng, depth - 1)
        case 2:
            return f"(?:{inner}|{random_regex(rng, depth - 1)})"
        case 3:
            return rng.choice(["(", "(?>", "(?i:", "(?=", "(?!", "(?<=", "(?<!"]) + inner + ")"
        case _:
            return f"(?:{inner}){rng.choice('* + ? *? +? ?? *+ ++ {1,2} {2}'.split())}"


@pytest.mark.parametrize("seed", then_full(range(2), range(2, 6)))
def test_as_finditer(seed: int) -> None:
    rng = random.Random(seed)
    for _ in range(75):
        source = "|".join(random_regex(rng, 3) for _ in range(rng.randint(1, 3)))
        made = Regex(source)
        text = "".join(rng.choice("aab  \n1é中A'") for _ in range(rng.choice([3, 20, 300])))
        expected = [found.span() for found in regex.finditer(source, text, regex.V0)]
        assert list(made.spans(text)) == expected, (source, text)
        made._safe_length = -1
        assert list(made.spans(text)) == expected, (source, text)
        # as in Oniguruma no match is empty where another ends
        kept = [span for before, span in pairwise([(-1, -1), *expected]) if span[1] > before[1]]
        ends = [0, *(last for _, last in kept)]
        parts = [text[end:first] for end, (first, _) in zip(ends, kept, strict=False)]
        assert made.replaced(text, "<>") == "<>".join([*parts, text[ends[-1] :]]), (source, text)


def test_long_texts_are_split_as_short_ones() -> None:
    # where the search of the `regex` package overlooks a match
    source, text = r"[^a]|(?i:\s|b)", "A bB"
    assert bbpe.split(text, source) == list(text)
    assert bbpe.split(text * 10_000, source) == list(text) * 10_000


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        (r"(a)\1|b", ["aa", "b", "c"]),
        (r"(?x) a+ | b # the last", ["aa", "b", "c"]),
        (r"(?<x>a)(?P=x)|b", ["aa", "b", "c"]),
        (r"(?(?=a)aa|b)", ["aa", "b", "c"]),
        (r"[\p{L}&&[^c]]", ["a", "a", "b", "c"]),
        (r"|a", ["a", "a", "b", "c"]),
    ],
)
def test_groups_flags_and_empty_matches(source: str, expected: list[str]) -> None:
    assert bbpe.split("aabc", source) == expected
    assert bbpe.split("aabc" * 100, source) == expected * 100


def test_where_no_limit_is_needed() -> None:
    for name in ("gpt2", "cl100k_older", "llama3", "bloom", "whitespace"):
        assert min(map(safe_length, PATTERNS[name].steps)) >= 8, name
    for source in [
        *SLOW,
        r"(a*)*",
        r"(?:a{2}){3}",
        r"a{1,9}{1,9}",
        r"(?:a)(?#b)*",
        r"(a)\1",
        "a?" * 30,
        "(?:a|a)" * 20,
    ]:
        assert safe_length(source) == -1 or source.startswith("a?"), source
    assert safe_length("a?" * 30) < 2


@pytest.mark.parametrize(
    ("fits", "exceeds", "message"),
    [
        (["a"] * 64, ["a"] * 65, "the pattern has 65 regexes; expected at most 64"),
        (["a" * 10_000] * 2, ["a" * 10_000, "a" * 10_001], "the regexes have 20001 characters; expected at most 20000"),
        (["(ab){500}" + "a{1000}" * 99], ["(ab){500}" + "a{1000}" * 99 + "b"], "has 100001 characters when its"),
        (["a{0,50000}"] * 2, ["a{0,50000}"] * 2 + ["b"], "has 100001 characters when its repetitions are expanded"),
        (["(a{1}){50000}"] * 2, ["(a{1}){50000}"] * 2 + ["b{0,1}"], "has 100001 characters when its"),
        (["(a{1,10}){1,10000}"], ["(a{1,10}){1,10001}"], "has 100010 characters when its"),
    ],
    ids=["regexes", "characters", "repetitions", "greatest numbers", "single", "groups"],
)
def test_limits_of_size_to_the_letter(fits: list[str], exceeds: list[str], message: str) -> None:
    check_size(fits)
    with pytest.raises(PatternError, match=message):
        check_size(exceeds)


# -- where the match before ends -----------------------------------------------------------------------------

GO_ON = [
    r"\A\p{Nd}{3}|\G\p{Nd}{3}",
    r"\G\s*\w{2}|\d",
    r"(?<=\d)\G\d{2}|\d{4}",
    r"\p{L}+|\G\d{1,3}",
    # as AFMoE's
    r"\A\p{Nd}{1,2}(?=(?:\p{Nd}{3})+(?!\p{Nd}))|\G\p{Nd}{3}|\p{Nd}{3}(?=(?:\p{Nd}{3})*(?!\p{Nd}))|.+",
]
DIGITS = ["", "1234567", "a123456", "123a456", "12 456", "12345678 123456", "ab12é3456\n", "7" * 500]


@pytest.mark.parametrize("source", GO_ON)
@pytest.mark.parametrize("behavior", ["Isolated", "Removed", "MergedWithPrevious"])
def test_matches_go_on_as_in_tokenizers(source: str, behavior: str, tmp_path: Path) -> None:
    tokenizers = pytest.importorskip("tokenizers")
    path = tmp_path / "tokenizer.json"
    model = {"type": "WordLevel", "vocab": {"[UNK]": 0}, "unk_token": "[UNK]"}
    part = {**split(source), "behavior": behavior}
    path.write_text(json.dumps({"version": "1.0", "pre_tokenizer": part, "model": model}))
    tok, theirs = bbpe.load(path), tokenizers.Tokenizer.from_file(str(path))
    view = tok.as_tokenizers()
    for text in DIGITS:
        encoded = theirs.encode(text)
        assert [tuple(span) for span in tok.encode_with_offsets(text)[1].tolist()] == encoded.offsets
        assert view.encode(text).word_ids == encoded.word_ids


@pytest.mark.parametrize("source", GO_ON)
def test_matches_go_on_through_parts_of_texts(source: str) -> None:
    ranks = {**BYTES, b"12": 256, b"123": 257, b"345": 258}
    tok, text = bbpe.Tokenizer.from_ranks(ranks, pattern=source), "1234567 a" * 10_000
    whole, ids = bbpe.Tokenizer.from_ranks(ranks, pattern="none"), tok.encode(text)
    assert [one for row in whole.encode_batch(bbpe.split(text, source)) for one in row] == ids
    assert tok.encode_to_numpy(text, threads=2).tolist() == ids
    assert list(tok.encode_iterable([text[:1001], text[1001:45_000], text[45_000:]])) == ids
    made = Regex(source)
    made._safe_length = -1
    assert list(made.spans(text)) == [found.span() for found in regex.finditer(source, text)]


@pytest.mark.parametrize(
    "source", [r"[^xb]|(?i:z)", r"(?i:z)|[^xb]", "(?x) [^xb] | (?i:z) # sets", r"[^\p{Ll}b]|(?i:[z])|a"]
)
def test_an_alternative_that_ignores_case_changes_no_other(source: str) -> None:
    """The package overlooks "B" and "X" when it searches, by one set of what a match may begin with."""
    found = Regex(source)
    is_found = found.finder()
    for char in "aBbXxZz":
        expected = char not in "bx"
        assert is_found(char) == is_found("bx" * 90 + char) == expected, char
        assert list(found.spans(char)) == ([(0, 1)] if expected else []), char
    # where the search goes on behind an empty match
    empty = Regex(rf"(?=q)|{source}") if "(?x)" not in source else found
    assert [last for _, last in empty.spans("qBX")][-2:] == [2, 3]
