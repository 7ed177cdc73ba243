"""Traces of merges of characters: the symbols that a word begins as, each merge, and the ids that it becomes."""

from __future__ import annotations

from typing import Any

import pytest

import bbpe
from bbpe.spec.rules import Characters
from bbpe.spec.spec import make_spec
from bbpe.splitting.patterns import PATTERNS

AB = {1: b"a", 2: b"b", 3: b"ab"}
MERGE = [(b"a", b"b")]
BYTE_IDS = tuple(range(10, 266))


def traced(vocab: dict[int, bytes], merges: list[tuple[bytes, bytes]], text: str, **options: Any) -> Any:
    tok = bbpe.Tokenizer(make_spec(
        vocab, merges, pattern=PATTERNS["none"], special_tokens={"<unk>": 0}, characters=Characters(**options),
    ))  # fmt: skip
    trace = tok.trace(text)
    assert list(trace.ids) == tok.encode(text)
    (found,) = trace.pretokens
    assert (found.pretoken, found.kind, found.edges) == (text.encode(), "merges", ())
    return found


@pytest.mark.parametrize(("options", "text", "start", "ids"), [
    # a character without a token is its bytes if each has one, and else unknown
    ({"byte_ids": BYTE_IDS}, "\u00e9", [b"\xc3", b"\xa9"], [10 + 0xC3, 10 + 0xA9]),
    ({"some_byte_ids": ((0xA9, 11), (0xC3, 10)), "unknown": 0}, "\u00e9b", [b"\xc3", b"\xa9", b"b"], [10, 11, 2]),
    ({"some_byte_ids": ((0xA9, 11), (0xC3, 10)), "unknown": 0}, "b\u00fc", [b"b", b"\xc3\xbc"], [2, 0]),
    ({"some_byte_ids": ((0xC3, 10),), "unknown": 0}, "\u00e9a", [b"\xc3\xa9", b"a"], [0, 1]),
    # unknown ones are apart, or one in a row
    ({"unknown": 0}, "axyb", [b"a", b"x", b"y", b"b"], [1, 0, 0, 2]),
    ({"unknown": 0, "fuse_unknown": True}, "axyb", [b"a", b"xy", b"b"], [1, 0, 2]),
    ({"unknown": 0, "fuse_unknown": True}, "xax\u4e16", [b"x", b"a", b"x\xe4\xb8\x96"], [0, 1, 0]),
    ({"unknown": 0, "fuse_unknown": True}, "xyz", [b"xyz"], [0]),
    ({}, "bxa", [b"b", b"a"], [2, 1]), ({}, "x", [], []),
    # bytes that are symbols themselves
    ({"unknown": 0, "are_bytes": True}, "b\u00e9a", [b"b", b"\xc3", b"\xa9", b"a"], [2, 0, 0, 1]),
    ({"are_bytes": True}, "b\u00e9a", [b"b", b"a"], [2, 1]),
])  # fmt: skip
def test_symbols_that_do_not_merge(options: dict[str, Any], text: str, start: list[bytes], ids: list[int]) -> None:
    found = traced(AB, MERGE, text, **options)
    assert (list(found.start), found.steps, list(found.ids)) == (start, (), ids)


@pytest.mark.parametrize(("vocab", "merges", "options", "text", "start", "steps", "ids"), [
    (AB, MERGE, {"unknown": 0}, "abxab", [b"a", b"b", b"x", b"a", b"b"],
     [(0, b"ab", 3, 0, (b"ab", b"x", b"a", b"b")), (2, b"ab", 3, 0, (b"ab", b"x", b"ab"))], [3, 0, 3]),
    # what has no token is left out before the others merge
    (AB, MERGE, {}, "axb", [b"a", b"b"], [(0, b"ab", 3, 0, (b"ab",))], [3]),
    # marks of the beginning and the end of words
    ({1: b"a", 2: b"##b", 3: b"ab"}, [(b"a", b"##b")], {"prefix": "##", "unknown": 0}, "ab", [b"a", b"##b"],
     [(0, b"ab", 3, 0, (b"ab",))], [3]),
    ({1: b"a", 2: b"b</w>", 3: b"ab</w>"}, [(b"a", b"b</w>")], {"end_of_word": "</w>", "unknown": 0}, "ab",
     [b"a", b"b</w>"], [(0, b"ab</w>", 3, 0, (b"ab</w>",))], [3]),
    ({**AB, 4: b"</w>", 5: b"ab</w>"}, [*MERGE, (b"ab", b"</w>")],
     {"end_of_word": "</w>", "end_apart": True, "unknown": 0}, "ab", [b"a", b"b", b"</w>"],
     [(0, b"ab", 3, 0, (b"ab", b"</w>")), (0, b"ab</w>", 5, 1, (b"ab</w>",))], [5]),
    # of two merges the one that is listed first, wherever it is
    ({**AB, 4: b"ba"}, [(b"b", b"a"), *MERGE], {"unknown": 0}, "abab", [b"a", b"b", b"a", b"b"],
     [(1, b"ba", 4, 0, (b"a", b"ba", b"b"))], [1, 4, 2]),
])  # fmt: skip
def test_symbols_that_merge(
    vocab: dict[int, bytes], merges: list[tuple[bytes, bytes]], options: dict[str, Any], text: str,
    start: list[bytes], steps: list[tuple[Any, ...]], ids: list[int],
) -> None:  # fmt: skip
    found = traced(vocab, merges, text, **options)
    assert list(found.start) == start
    assert [(step.place, step.made, step.id, step.rank, step.symbols) for step in found.steps] == steps
    assert list(found.ids) == ids
