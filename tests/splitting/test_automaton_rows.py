"""Automatons with too many states: a search makes those it comes to, and drops them when there are too many."""

from __future__ import annotations

import pickle
import random
from collections.abc import Iterable
from typing import Any

import pytest
from regex_texts import texts_of
from strings import byte_offsets
from test_automaton import REGEXES, SHORT, slow

import bbpe
from bbpe.core.automaton import Automaton
from bbpe.core.pre_tokenizer import Batches
from bbpe.splitting import automaton_rows, automaton_states
from bbpe.splitting.automaton import may_begin_empty, tables_of
from bbpe.splitting.automaton_nodes import MATCH, Nodes, Shared
from bbpe.splitting.automaton_states import Searcher, TooManyStatesError
from bbpe.splitting.automaton_tables import TransitionRows
from bbpe.splitting.character_sets import partition
from bbpe.splitting.patterns import Pattern
from bbpe.splitting.regex_syntax import parse_regex
from bbpe.splitting.regex_tree import UnsupportedRegexError
from bbpe.splitting.splitter import compiled_steps

#: Regexes with more states than are made in advance.
LARGE = [
    r"(?:a|b)*a(?:a|b){12}",
    r"foo.{0,50}bar.{0,50}baz|\w+|.",
    r"(?=.{10,30}end)\w+|.",
    r"(?=(?:a|b)*a(?:a|b){12}$)|(?<=a.{4,20})b",
    r"(?:a|b)*a(?:a|b){12}(?=b.{0,9}$|\n)|\Ga?",
]


@pytest.fixture
def few(monkeypatch: pytest.MonkeyPatch) -> None:
    """All automatons have too many states, and a search has memory for a few."""
    monkeypatch.setattr(automaton_states, "MOST_STATES", 0)
    monkeypatch.setattr(automaton_rows, "MOST_ENTRIES", 1500)
    monkeypatch.setattr(automaton_rows, "MOST_STATES", 0)


def compare(automaton: Automaton, source: str, texts: Iterable[str]) -> None:
    for text in texts:
        assert automaton.spans(text.encode("utf-8", "surrogateescape")) == slow(source, text), (source, text)


@pytest.mark.usefixtures("few")
@pytest.mark.parametrize("part", range(8))
def test_rows_are_those_of_a_whole_automaton(part: int) -> None:
    made = 0
    for source in REGEXES[part::8]:
        try:
            tables = tables_of(parse_regex(source), of_alphabet=False)
        except UnsupportedRegexError:  # an atomic group, or many classes
            continue
        assert (tables.rows == b"") == (tables.maker is not None)
        made += tables.maker is not None
        compare(Automaton(tables), source, SHORT[part::8])
    assert made > 12


@pytest.mark.parametrize("source", LARGE)
@pytest.mark.parametrize(("name", "most"), [("MOST_ENTRIES", 3000), ("MOST_ENTRIES", 1 << 20), ("MOST_STATES", 9)])
def test_large_regexes(source: str, name: str, most: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """With states that are dropped and without, in texts in which attempts read far in vain, too."""
    monkeypatch.setattr(automaton_rows, name, most)
    tree, rng = parse_regex(source), random.Random(source)
    tables = tables_of(tree, of_alphabet=False)
    assert tables.maker is not None or any(look.maker is not None for look in tables.looks)
    automaton = pickle.loads(pickle.dumps(Automaton(tables)))
    pieces = ["a", "b", "foo", "end", "\n", "é"]
    texts = texts_of(tree, rng, 6) + ["".join(rng.choices(pieces, k=200)) for _ in range(3)]
    compare(automaton, source, [*texts, "".join(rng.choices("ab", k=6000)), ""])


def test_pipeline_of_large_regexes() -> None:
    """Pieces, batches, threads and ids, in chains too."""
    rng, pattern = random.Random(3), Pattern(None, (LARGE[1], LARGE[0], r"a+|b"))
    text = "".join(rng.choices(["a", "b", "foo", "bar", "baz", " ", "\n", "é"], k=3000))
    chain, offsets, data = compiled_steps(pattern), byte_offsets(text), text.encode()
    expected = [(offsets[start], offsets[end]) for start, end in pattern.spans(text)]
    assert list(zip(*(each.tolist() for each in chain.split(data)[1:]), strict=True)) == expected
    batches, found = Batches(chain, data, 7), list[tuple[int, int]]()
    while (one := batches.next()) is not None:
        found += zip(*(each.tolist() for each in one), strict=True)
    assert found == expected
    tok = bbpe.train_from_iterator([text], 270, pattern=LARGE[1])
    texts = [text[at : at + 500] for at in range(0, 3000, 500)] * 20
    assert tok.encode_batch(texts, threads=4) == [tok.encode(each) for each in texts]


def test_a_state_at_each_byte() -> None:
    """Each byte of this text leads to a new state, and more states than a search keeps."""
    text = "".join(random.Random(5).choices("ab", k=60_000))
    source = r"(?:a|b)*a(?:a|b){20}"
    compare(Automaton(tables_of(parse_regex(source), of_alphabet=False)), source, [text])


def test_an_empty_match_at_the_beginning() -> None:
    sources = ("(?=.{10,30}end)", LARGE[0], rf"(?:{LARGE[0]})?")
    assert [may_begin_empty(source) for source in sources] == [True, False, True]


@pytest.mark.parametrize(
    ("source", "is_made"),
    [
        (r"(?:a|b)*a(?:a|b){6}", True), (r"(?:a|b)*a(?:a|b){11}", False), (r"(?=(?:a|b)*a(?:a|b){11}$)\w", False),
        (r"(?>a|ab)(?:a|b)*a(?:a|b){10}", True),
    ],
)  # fmt: skip
def test_states_that_take_long_are_left_to_a_search(
    source: str, is_made: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Not those of atomic groups, which no search makes."""
    steps, rows = list[int](), automaton_states.Determinizer.rows

    def noted(self: automaton_states.Determinizer[Any], start: int, *, nullable: bool) -> TransitionRows:
        try:
            return rows(self, start, nullable=nullable)
        finally:
            steps.append(self.steps)

    monkeypatch.setattr(automaton_states.Determinizer, "rows", noted)
    tables = tables_of(parse_regex(source), of_alphabet=False)
    assert all(each.maker is None for each in (tables, *tables.looks)) == is_made
    few, is_atomic = automaton_states.FEW_STEPS, "(?>" in source
    assert (max(steps) > few, max(steps) < 1.1 * few) == (is_atomic or not is_made, not is_atomic)


@pytest.mark.parametrize("source", ["ab|a", r"(?:a|b)*a(?:a|b){3}", r"\s+(?!\S)|\s+|\w"])
@pytest.mark.parametrize("name", ["MOST_STATES", "MOST_TRANSITIONS"])
def test_an_automaton_may_have_as_many_states_as_the_limit_says(
    name: str, source: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def rows() -> TransitionRows:
        shared = Shared()
        nodes = Nodes(shared)
        start = nodes.add(parse_regex(source), MATCH)
        return Searcher(nodes, partition(shared.sets), 0).rows(start, nullable=False)

    made = rows()
    # a row has a column for each class of characters, and one for the end of the text, which is no transition
    size = len(made.table) * (1 if name == "MOST_STATES" else len(made.table[0]) - 1)
    monkeypatch.setattr(automaton_states, name, size)
    assert len(rows().table) == len(made.table)
    monkeypatch.setattr(automaton_states, name, size - 1)
    with pytest.raises(TooManyStatesError, match="too many states of its automaton"):
        rows()
