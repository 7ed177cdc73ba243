"""`bbpe extend --pattern`: whether the output can hold the new pattern is known before anything is learned."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from commands import TEXT, Call

import bbpe

pytestmark = pytest.mark.usefixtures("here")


@pytest.fixture
def learned(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The patterns that something was learned with."""
    found: list[str] = []
    extend = bbpe.extend

    def noted(tokenizer: bbpe.Tokenizer, *given: Any, **options: Any) -> bbpe.Tokenizer:
        found.append(options["pattern"] or tokenizer.pattern)
        return extend(tokenizer, *given, **options)

    monkeypatch.setattr(bbpe, "extend", noted)
    return found


def test_an_output_that_cannot_hold_the_new_pattern_is_refused_at_once(call: Call, learned: list[str]) -> None:
    status, out, err = call("extend a.txt -t u.json --pattern o200k --add 1 -o m --format gpt2 --quiet")
    assert (status, out, learned) == (1, "", [])
    assert err.startswith("bbpe: error: m: vocab.json with merges.txt cannot hold this tokenizer: ")
    assert not Path("m").exists()


def test_an_output_that_could_not_hold_the_old_pattern_is_written(call: Call, learned: list[str]) -> None:
    bbpe.train_from_iterator([TEXT] * 3, 265, pattern="o200k").save("o.json")
    assert call("extend a.txt -t o.json --add 1 -o m --format gpt2 --quiet")[0] == 1
    status, out, err = call("extend a.txt -t o.json --pattern gpt2 --add 1 -o m --format gpt2 --quiet")
    assert (status, out, err, learned) == (0, "1 new token, 266 in all; saved m\n", "", ["gpt2"])
    assert bbpe.load("m").pattern == "gpt2"
