"""Regexes without an automaton: Python finds their matches, some at a time, for the compiled pipeline."""

from __future__ import annotations

import random
import tracemalloc

import pytest
from strings import byte_offsets

import bbpe
from bbpe.core.pre_tokenizer import Batches
from bbpe.splitting.automaton import automaton_of, matcher_of
from bbpe.splitting.patterns import Pattern
from bbpe.splitting.regexes import compiled
from bbpe.splitting.splitter import compiled_steps

FOREIGN = [r"(a)\1|é", r"(?<=(a)b)|(b)\2+(?=1 )", r"(?=(..) )\w?(?:\1)?", r"(?<!([a-z])\1)\d|漢|\X"]


@pytest.mark.parametrize("most", [1, 2, 3, 1000])
@pytest.mark.parametrize("source", FOREIGN)
def test_matches_that_python_finds(source: str, most: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Some at a time, as bytes of the text, in chains of several such regexes too."""
    monkeypatch.setattr("bbpe.splitting.regexes._MATCHES", most)
    assert automaton_of(source).tables is None
    rng, found = random.Random(source), matcher_of(source)
    pattern = Pattern(None, (source, r"(.)\1", "[0-9]"))
    chain = compiled_steps(pattern)
    for size in (0, 1, 2, 8, 60):
        for _ in range(15):
            text = "".join(rng.choices("aabb1 2\né漢\udcff\U0001f600", k=size))
            data, offsets = text.encode("utf-8", "surrogateescape"), byte_offsets(text)
            spans = compiled(source).as_oniguruma(text)
            assert found.spans(data) == [(offsets[start], offsets[end]) for start, end in spans], text
            whole = [(offsets[start], offsets[end]) for start, end in pattern.spans(text)]
            assert list(zip(*(each.tolist() for each in chain.split(data)[1:]), strict=True)) == whole, text
            batches, parts = Batches(chain, data, 2), []
            while (one := batches.next()) is not None:
                parts += zip(*(each.tolist() for each in one), strict=True)
            assert parts == whole, text


def test_an_error_of_python_stops_the_pipeline(monkeypatch: pytest.MonkeyPatch) -> None:
    """What the regex raises comes out of every call, with the lock held or not, and nothing is left of the call."""
    tok = bbpe.train_from_iterator(["aab"], 257, pattern=FOREIGN[0])
    calls = [
        lambda: tok.encode("aab"), lambda: tok.encode_to_numpy("aab" * 500_000, threads=2),
        lambda: tok.encode_batch(["aab"] * 3), lambda: tok.encode_with_offsets("aab"), lambda: tok.count_tokens("aab"),
        lambda: bbpe.split("aab", FOREIGN[0]), lambda: next(tok.encode_iterable(["aab"])),
    ]  # fmt: skip
    expected = tok.encode("aab")
    with monkeypatch.context() as patched:
        patched.setattr("bbpe.splitting.regexes.Regex.spans", lambda *_: (1 // 0 for _ in "a"))
        for call in calls:
            with pytest.raises(ZeroDivisionError):
                call()
    for call in calls:
        call()
    assert tok.encode("aab") == expected


def test_memory_for_matches_that_python_finds_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("bbpe.splitting.regexes._MATCHES", 1000)
    data = b"aab" * 60_000
    found = Batches(compiled_steps(Pattern(None, (FOREIGN[0],))), data, 1000)
    tracemalloc.start()
    spans = 0
    while (batch := found.next()) is not None:
        spans += len(batch[0])
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert spans == 120_000
    assert peak < 3 * len(data)
