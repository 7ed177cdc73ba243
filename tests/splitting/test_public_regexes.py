"""Public regexes, and generated ones, match as the judges of their dialects say.

`tests/support/public_regexes.json` has regexes by which public programs cut text, with the file each is from.
"""

from __future__ import annotations

import json
import random
from collections import Counter
from pathlib import Path

import pytest
from framed_regexes import random_pattern
from regex_judges import JUDGES
from seeds import full_then_long
from test_automaton import GROUPS, LOOKS, ONE_OF, any_regex

from bbpe.errors import PatternError
from bbpe.splitting.automaton import automaton_of
from bbpe.splitting.regexes import compiled

TABLE: dict[str, list[str]] = json.loads(
    (Path(__file__).parents[1] / "support" / "public_regexes.json").read_text("utf-8")
)
PUBLIC = [source for regexes in TABLE.values() for source in regexes]
#: The reasons why public regexes have no automaton, with their number.
REASONS = {r"the escape \1": 5, r"the escape \g": 1, r"the escape \X": 1, "a group that begins with '(?i'": 1}


@pytest.mark.full
def test_public_regexes_have_automatons() -> None:
    assert len(PUBLIC) == len(set(PUBLIC)) > 500
    assert Counter(automaton_of(source).reason for source in PUBLIC) - Counter([""] * 600) == Counter(REASONS)


@pytest.mark.parametrize("judge", JUDGES)
@pytest.mark.parametrize("count", [pytest.param(3), *full_then_long([12], [120])])
def test_public_regexes(judge: str, count: int) -> None:
    """A sixtieth of them always, all with the full tests, on more texts with the long ones."""
    pytest.importorskip(judge)
    chosen = PUBLIC[:: 60 if count == 3 else 1]
    found = [JUDGES[judge](source, count, count) for source in chosen]
    assert sum(isinstance(one, int) and one > 0 for one in found) > 0.85 * len(chosen), Counter(found)


def any_source(rng: random.Random) -> str:
    """A regex of frames, or of any parts, with and without lookarounds and atomic groups."""
    openings: tuple[str, ...] | None = rng.choice([None, (), LOOKS, GROUPS])
    if openings is None:
        return random_pattern(rng)
    source = "|".join(any_regex(rng, openings) for _ in range(rng.randint(1, 3)))
    for one in ONE_OF[1:] if ONE_OF[0] in source else ():
        source = source.replace(one, "a")
    return source


@pytest.mark.parametrize("judge", JUDGES)
@pytest.mark.parametrize("seed", [0, *full_then_long([1], range(2, 21))])
def test_generated_regexes(judge: str, seed: int) -> None:
    """Of 10,000 in all, a few always and a twentieth with the full tests."""
    pytest.importorskip(judge)
    rng, found, size = random.Random(seed), list[int | str](), 500 if seed else 12
    while len(found) < size:
        source = any_source(rng)
        try:
            compiled(source)
        except PatternError:
            continue
        found.append(JUDGES[judge](source, seed, 12))
    assert sum(isinstance(one, int) for one in found) > 0.4 * size, Counter(found).most_common(5)
