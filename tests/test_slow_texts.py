"""No text is slow: a search for the slowest ones, and its worst finds with the instructions that they may take.

What is searched is CPU time, so run this alone on a machine; a text is timed again before it counts as slow.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from functools import cache
from pathlib import Path

import pytest
from instructions import instructions, missing
from published import RANK_FILES
from slow_texts import CALLS, GOLDEN, KINDS, SIZE, Found, Recipe, Words, made, search, speed

import bbpe

#: Bytes a second below which a text is a fault.
SLOW = 15e6
#: Vocabularies that are searched, by the names of their files.
PUBLISHED = (
    *RANK_FILES.values(), "deepseek_v3.tokenizer.json", "tekken_240911.json", "mistral_v1.model", "mistral_v3.model",
)  # fmt: skip


def slow(tok: bbpe.Tokenizer, call: str, seed: int, least: float) -> list[Found]:
    """The finds of a search that are too slow whenever they are timed."""
    found = search(tok, call, seed, starts=12, climbs=2, steps=12)
    return [one for one in found if one.speed < least and speed(tok, call, one.recipe, 20) < least]


def test_recipes() -> None:
    """A text is the same each time, of its size, and made of its parts."""
    assert Recipe(("ab", "c"), "-", 2, is_random=False).text(12) == "abc-abc-abc-"
    assert Recipe(("ab", "c"), "-", 1, is_random=False).text(9) == "ab-c-ab-c"
    assert Recipe(("\u4e2d",)).text(10) == "\u4e2d" * 3
    some = Recipe(("a", "bc", "\U0001f469"), " ", 3)
    assert some.text() == some.text() != Recipe(some.parts, " ", 4).text()
    assert 0.98 * SIZE < len(some.text().encode()) <= SIZE
    assert set(some.text()) == set("abc\U0001f469 ")


def test_a_search_finds_what_is_slow(monkeypatch: pytest.MonkeyPatch) -> None:
    """It climbs to texts with many of the characters that a call takes long for; a seed gives one search."""

    def ratio(tok: bbpe.Tokenizer, call: str, recipe: Recipe, times: int = 2) -> float:
        return 1 - recipe.text().count("a") / SIZE

    monkeypatch.setattr("slow_texts.speed", ratio)
    monkeypatch.setattr("slow_texts.CALLS", {"encode": CALLS["encode"]})
    tok = bbpe.train_from_iterator(["see my aaa eyes"], 260)
    found = [search(tok, "encode", seed, starts=8, climbs=1, steps=40)[0] for seed in (1, 1, 2)]
    assert found[0] == found[1] != found[2]
    assert max(one.speed for one in found) < 0.8


def test_the_parts_of_recipes() -> None:
    """They are never empty, and tokens of the vocabulary and beginnings of its special tokens are among them."""
    import random

    words, rng = Words(bbpe.train_from_iterator(["dogs dogs"], 262, special_tokens=["<s>"])), random.Random(1)
    recipe, seen = words.start(rng), set()
    for _ in range(2000):
        recipe = words.changed(recipe, rng)
        seen |= set(recipe.parts)
        assert all(recipe.parts)
    assert {"dogs", "<", "<s", "<s>"} <= seen


@pytest.mark.long
@pytest.mark.parametrize("call", CALLS)
@pytest.mark.parametrize("name", PUBLISHED)
def test_published_vocabularies(name: str, call: str, real: Callable[[str], bbpe.Tokenizer]) -> None:
    assert slow(real(name), call, 1, SLOW) == []


@pytest.mark.long
@pytest.mark.parametrize("call", CALLS)
@pytest.mark.parametrize("kind", KINDS)
def test_every_pattern_and_model(kind: str, call: str) -> None:
    assert slow(cache(made)(kind), call, 1, KINDS[kind]) == []


PROGRAM = """
sys.path.insert(0, sys.argv[1])
import bbpe
from slow_texts import CALLS, GOLDEN, made
name, path = sys.argv[2:]
tok = bbpe.load(path) if path else made(name)
tok.warm_up()
for number, (call, recipe, most) in enumerate(GOLDEN[name]):
    text = recipe.text()
    for _ in range(2):
        CALLS[call](tok, text)()
    run = CALLS[call](tok, text)
    with counted(f"{number} {len(text.encode())}"):
        run()
"""


@pytest.mark.long
@pytest.mark.parametrize("name", GOLDEN)
def test_instructions(name: str, vocab_path: Callable[[str], Path], tmp_path: Path) -> None:
    """What the search has found takes no more instructions a byte than it did, and a quarter."""
    reason = missing()
    if reason is not None:
        pytest.skip(reason)
    path = "" if name in KINDS else str(vocab_path(name))
    support = str(Path(sys.modules["slow_texts"].__file__ or "").parent)
    counts = instructions(PROGRAM, support, name, path, folder=tmp_path)
    each = {key.split()[0]: count / int(key.split()[1]) for key, count in counts.items()}
    assert len(each) == len(GOLDEN[name])
    more = {
        f"{call} of {recipe}": each[str(number)]
        for number, (call, recipe, most) in enumerate(GOLDEN[name]) if each[str(number)] > most
    }  # fmt: skip
    assert more == {}
