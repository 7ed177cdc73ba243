"""Training takes a mapping to counts only of pretokens of its pattern, and some text."""

from __future__ import annotations

import random
from itertools import pairwise
from typing import Any

import pytest

import bbpe
from bbpe import CorpusError
from bbpe.splitting.patterns import PATTERNS
from bbpe.splitting.splitter import TextSplitter

PARTS = [
    *map(str.encode, ("a", "B", "é", "中", "'s", "'LL", " ", "  ", "\n", "\r\n", "\t", "1", "23", "½", "!", "_", "/")),
    *map(str.encode, ("\u3000", "\u0301", "\u00a0", "\u200d", "\u0660", "😀")), b"\xff", b"\xc3", b"\xf0\x9f",
]  # fmt: skip


def pretokens(name: str, number: int, seed: int) -> list[bytes]:
    rng, splitter = random.Random(seed), TextSplitter(PATTERNS[name])
    found: dict[bytes, None] = {}
    for _ in range(number):
        data, ends, _ = splitter.cut(b"".join(rng.choices(PARTS, k=rng.randint(1, 9))))
        bounds = [0, *ends.tolist()]
        found |= dict.fromkeys(data[start:end] for start, end in pairwise(bounds))
    return [*found]


@pytest.mark.parametrize("name", PATTERNS)
def test_all_pretokens_of_a_pattern_are_taken(name: str) -> None:
    keys = pretokens(name, 300, 5)
    tok = bbpe.train_from_counts(dict.fromkeys(keys, 2), 257, pattern=name)
    assert tok.pattern == name


@pytest.mark.parametrize("model", ["bpe", "unigram"])
@pytest.mark.parametrize(
    ("key", "pattern", "found"),
    [
        ("low lower", "gpt2", "'low lower', which pattern 'gpt2' cuts into 'low', ' lower'"),
        (b"1234", "cl100k", "'1234', which pattern 'cl100k' cuts into '123', '4'"),
        ("a b c d e f", "gpt2", "' d' and 2 more"),
        ("", "gpt2", "'', which pattern 'gpt2' drops"),
        (" low", "clip", "' low', which pattern 'clip' cuts into 'low'"),
    ],
)
def test_what_a_pattern_cuts_is_refused(key: Any, pattern: str, found: str, model: Any) -> None:
    other = b"low" if isinstance(key, bytes) else "low"
    with pytest.raises(ValueError, match=r"expected pretokens, as the pattern cuts them") as error:
        bbpe.train_from_counts({other: 1, key: 5}, 300, pattern=pattern, model=model)
    assert found in str(error.value)


def test_a_regex_of_the_user_and_counts_are_taken_as_they_are() -> None:
    assert bbpe.train_from_counts({"low lower": 5}, 257, pattern=r"\w+(?= )|.").merges == [(b"l", b"o")]
    assert bbpe.train_from_counts({"low lower": 5}, 257, pattern="none").merges == [(b"l", b"o")]


@pytest.mark.parametrize("model", ["bpe", "unigram"])
@pytest.mark.parametrize("counts", [{}, {"low": 0}, {b"low": 0, b" lower": 0}], ids=repr)
def test_counts_of_nothing_are_refused(counts: Any, model: Any) -> None:
    with pytest.raises(CorpusError, match="there is no text to train on"):
        bbpe.train_from_counts(counts, 300, model=model)


@pytest.mark.parametrize("model", ["bpe", "unigram"])
def test_a_pretoken_that_was_counted_0_times_changes_nothing(model: Any) -> None:
    some = {"low": 5, " lower": 3}
    found = bbpe.train_from_counts({"xyz": 0, **some, " zyx": 0}, 300, model=model)
    assert found == bbpe.train_from_counts(some, 300, model=model)
