"""A name in a chain of regexes is refused by all that take a pattern: it is not read as the regex of its letters."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest

import bbpe
from bbpe import PatternError
from bbpe.splitting.patterns import ALIASES, PATTERNS, get_pattern, recognise

TEXTS = ["low lower lowest"]
TAKERS: dict[str, Callable[[Sequence[str]], Any]] = {
    "split": lambda steps: bbpe.split(TEXTS[0], steps),
    "split_spans": lambda steps: bbpe.split_spans(TEXTS[0], steps),
    "train": lambda steps: bbpe.train_from_iterator(TEXTS, 260, pattern=steps),
    "train unigram": lambda steps: bbpe.train_from_iterator(TEXTS, 280, model="unigram", pattern=steps),
    "train wordpiece": lambda steps: bbpe.train_from_iterator(TEXTS, 30, model="wordpiece", pattern=steps),
    "train from counts": lambda steps: bbpe.train_from_counts({"low": 2}, 260, pattern=steps),
    "count": lambda steps: bbpe.count_from_iterator(TEXTS, pattern=steps),
    "extend": lambda steps: bbpe.extend(
        bbpe.train_from_iterator(TEXTS, 258), bbpe.count_from_iterator(TEXTS, pattern="gpt2"), 1, pattern=steps
    ),
    "from_ranks": lambda steps: bbpe.Tokenizer.from_ranks({bytes([i]): i for i in range(256)}, pattern=steps),
    "from_merges": lambda steps: bbpe.Tokenizer.from_merges({i: bytes([i]) for i in range(256)}, [], pattern=steps),
}  # fmt: skip


@pytest.mark.parametrize("steps", [["gpt2"], [r"\s+", "cl100k_base"], ["r50k_base", "x"]], ids=repr)
@pytest.mark.parametrize("taker", TAKERS)
def test_a_name_in_a_chain_is_refused(taker: str, steps: list[str]) -> None:
    number = steps.index(next(step for step in steps if "\\" not in step))
    with pytest.raises(PatternError, match=rf"pattern\[{number}\] is '{steps[number]}', which is the name of a "):
        TAKERS[taker](steps)


def test_loading_refuses_a_name_in_a_chain(tmp_path: Path) -> None:
    bbpe.train_from_iterator(TEXTS, 258).save(tmp_path / "a.tiktoken")
    with pytest.raises(PatternError, match=r"pattern\[0\] is 'gpt2'.*; for the name give pattern='gpt2' alone"):
        bbpe.load(tmp_path / "a.tiktoken", pattern=["gpt2"])


@pytest.mark.parametrize("name", [*PATTERNS, *ALIASES])
def test_every_name_is_refused_in_a_chain(name: str) -> None:
    with pytest.raises(PatternError, match=r"give pattern=.* alone"):
        get_pattern([name])


@pytest.mark.parametrize("steps", [[""], [r"\s+", ""]], ids=repr)
def test_an_empty_regex_in_a_chain_is_refused(steps: list[str]) -> None:
    with pytest.raises(PatternError, match=rf"pattern\[{len(steps) - 1}\] is empty"):
        get_pattern(steps)


def test_letters_are_a_regex_in_a_group() -> None:
    assert bbpe.split("a gpt2 b", ["(?:gpt2)"]) == ["a ", "gpt2", " b"]


def test_a_regex_of_letters_in_a_file_is_not_shown_as_a_name() -> None:
    pattern = recognise(("gpt2",))
    assert str(pattern) == "(?:gpt2)"
    assert list(get_pattern(str(pattern)).split("a gpt2 b")) == list(pattern.split("a gpt2 b"))
