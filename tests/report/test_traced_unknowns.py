"""Traces of texts with characters that a vocabulary lacks: where they are, and what they become."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

import bbpe
from bbpe.report.trace_view import Edge
from bbpe.spec.models import UnigramModel
from bbpe.spec.rules import Characters
from bbpe.spec.spec import make_spec
from bbpe.splitting.patterns import PATTERNS


def unigram(scores: dict[str, float], *, fuses: bool = True, **options: Any) -> bbpe.Tokenizer:
    """A tokenizer whose ids count from 1; 0 is the unknown token."""
    vocab = {number: token.encode() for number, token in enumerate(scores, 1)}
    return bbpe.Tokenizer(make_spec(
        vocab, [], pattern=PATTERNS["none"], special_tokens={"<unk>": 0},
        characters=Characters((), 0, fuses, False), model=UnigramModel((0.0, *scores.values()), **options),
    ))  # fmt: skip


ABC = {"a": -1.0, "b": -1.5, "c": -3.0, "ab": -100.0, "bc": -2.0}
#: What an unknown character scores: 10 less than the lowest token.
UNKNOWN = -110.0


@pytest.mark.parametrize(
    ("text", "edges"),
    [
        ("abc", [
            Edge(0, 1, 1, -1.0, True), Edge(0, 2, 4, -100.0, False), Edge(1, 2, 2, -1.5, False),
            Edge(1, 3, 5, -2.0, True), Edge(2, 3, 3, -3.0, False),
        ]),
        # all unknown characters in a row are one edge, after those of tokens
        ("axyb", [Edge(0, 1, 1, -1.0, True), Edge(3, 4, 2, -1.5, True), Edge(1, 3, 0, UNKNOWN, True)]),
        ("xa", [Edge(1, 2, 1, -1.0, True), Edge(0, 1, 0, UNKNOWN, True)]),
        ("a\u4e16", [Edge(0, 1, 1, -1.0, True), Edge(1, 4, 0, UNKNOWN, True)]),
        ("xax", [Edge(1, 2, 1, -1.0, True), Edge(0, 1, 0, UNKNOWN, True), Edge(2, 3, 0, UNKNOWN, True)]),
        ("x", [Edge(0, 1, 0, UNKNOWN, True)]),
    ],
)  # fmt: skip
def test_unknown_characters_are_edges_of_a_lattice(text: str, edges: list[Edge]) -> None:
    tok = unigram(ABC)
    (found,) = tok.trace(text).pretokens
    assert list(found.edges) == edges
    assert list(found.ids) == tok.encode(text)
    assert (found.kind, found.start, found.steps) == ("lattice", (), ())


def test_an_unknown_run_ends_where_a_longer_token_begins() -> None:
    """No token is the first character of what follows, but one begins with it."""
    tok = unigram({"a": -1.0, "bcd": -2.0})
    (found,) = tok.trace("axbcda").pretokens
    assert tok.encode("axbcda") == [1, 0, 2, 1]
    assert list(found.edges) == [
        Edge(0, 1, 1, -1.0, True), Edge(2, 5, 2, -2.0, True), Edge(5, 6, 1, -1.0, True), Edge(1, 2, 0, -12.0, True),
    ]  # fmt: skip


def test_a_piece_without_an_id_is_an_edge_with_its_score() -> None:
    tok = unigram(ABC, unnamed=((b"zz", -2.5),))
    (found,) = tok.trace("azz").pretokens
    assert tok.encode("azz") == [1, 0]
    assert list(found.edges) == [Edge(0, 1, 1, -1.0, True), Edge(1, 3, 0, -2.5, True)]


def test_bytes_of_unknown_characters_are_edges_each() -> None:
    spec = unigram(ABC).spec
    byte_ids = {byte: 10 + byte for byte in range(256)}
    tok = bbpe.Tokenizer(replace(
        spec, vocab={**spec.vocab, **{token_id: b"<0x%02X>" % byte for byte, token_id in byte_ids.items()}},
        characters=Characters(tuple(byte_ids.values()), 0, True, False),
        model=UnigramModel((0.0, *ABC.values(), *[0.0] * 260)),
    ))  # fmt: skip
    (found,) = tok.trace("a\xe9").pretokens
    assert list(found.ids) == tok.encode("a\xe9") == [1, 10 + 0xC3, 10 + 0xA9]
    best = [(edge.start, edge.end, edge.id) for edge in found.edges if edge.is_best]
    assert best == [(0, 1, 1), (1, 2, 10 + 0xC3), (2, 3, 10 + 0xA9)]


def merging(**characters: Any) -> bbpe.Tokenizer:
    """A tokenizer of characters with the merges ab and abc."""
    vocab = {1: b"a", 2: b"b", 3: b"c", 4: b"ab", 5: b"abc"}
    return bbpe.Tokenizer(make_spec(
        vocab, [(b"a", b"b"), (b"ab", b"c")], pattern=PATTERNS["none"], special_tokens={"<unk>": 0},
        characters=Characters(**characters),
    ))  # fmt: skip


@pytest.mark.parametrize(
    ("options", "start", "ids"),
    [
        ({"unknown": 0}, (b"a", b"b", b"x", b"y", b"c"), (4, 0, 0, 3)),
        ({"unknown": 0, "fuse_unknown": True}, (b"a", b"b", b"xy", b"c"), (4, 0, 3)),
        ({}, (b"a", b"b", b"c"), (5,)),  # what has no token is left out before the others merge
    ],
)
def test_unknown_characters_are_symbols_that_do_not_merge(
    options: dict[str, Any], start: tuple[bytes, ...], ids: tuple[int, ...]
) -> None:
    tok = merging(**options)
    (found,) = tok.trace("abxyc").pretokens
    assert (found.start, found.ids, list(found.ids)) == (start, ids, tok.encode("abxyc"))
    assert [step.made for step in found.steps] == ([b"ab", b"abc"] if len(ids) == 1 else [b"ab"])
    assert [step.rank for step in found.steps] == list(range(len(found.steps)))


def test_a_text_of_4096_bytes_is_traced_and_no_longer_one() -> None:
    tok = merging(unknown=0, fuse_unknown=True)
    assert tok.trace("x" * 4096).ids == [0]
    with pytest.raises(ValueError, match=r"^the text has 4,097 bytes; expected at most 4,096, as each step is kept$"):
        tok.trace("x" * 4097)
