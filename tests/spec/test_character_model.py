"""What the model of characters is made of, against slow definitions."""

from __future__ import annotations

import itertools
import random
from array import array
from collections.abc import Sequence
from math import nan
from struct import pack

import pytest

from bbpe.core.bpe import CompiledBPE
from bbpe.core.merge_list import NO_ID, MergeList
from bbpe.core.piece_list import missing_character
from bbpe.errors import VocabularyError
from bbpe.formats.sentencepiece.model_file import _model_of
from bbpe.formats.sentencepiece.piece_rows import PieceRows, Row
from bbpe.formats.sentencepiece.protobuf import bytes_field, number_field
from bbpe.spec.characters import CharacterModel, MergeOrder
from bbpe.spec.models import Merges, Vocab
from bbpe.spec.rules import Characters


def row(text: bytes, score: float, kind: int) -> bytes:
    number = bytes_field(1, text) + b"\x15" + pack("<f", score)
    return bytes_field(1, number if kind == 1 else number + number_field(3, kind))


def is_character(token: bytes) -> bool:
    try:
        return len(token.decode()) == 1
    except UnicodeDecodeError:
        return False


def test_pieces_as_usual_are_read_as_all_others_are() -> None:
    rng = random.Random(91)
    texts = ["a", "\u2581the", "\u4e2d\u6587", "", "x" * 90, "x" * 130, "\U0001f600"]
    for _ in range(150):
        rows = [(rng.choice(texts), rng.randint(-9, 9) / 4, rng.choice([1, 1, 1, 2, 3, 6, 127])) for _ in range(9)]
        data = b"".join(row(text.encode(), score, kind) for text, score, kind in rows)
        found, at = PieceRows.of_model(data)
        assert list(found) == rows[: len(found)]
        assert len(found) == next((i for i, (text, _, _) in enumerate(rows) if len(text) > 90), 9)
        assert at == sum(len(row(text.encode(), score, kind)) for text, score, kind in rows[: len(found)])
        assert list(_model_of(data).pieces) == rows
        broken = bytearray(data[: rng.randint(0, len(data))])
        if broken:
            broken[rng.randrange(len(broken))] = rng.randrange(256)
        found, at = PieceRows.of_model(bytes(broken))
        assert at <= len(broken)
        again, end = PieceRows.of_model(bytes(broken[:at]))
        assert (list(map(repr, again)), end) == (list(map(repr, found)), at)


def test_pieces_of_a_broken_text_are_left() -> None:
    data = row(b"a", 1, 1) + row(b"\xff", 1, 1)
    found, at = PieceRows.of_model(data)
    assert (list(found), at) == ([("a", 1.0, 1)], len(row(b"a", 1, 1)))
    with pytest.raises(VocabularyError, match="not valid UTF-8"):
        _model_of(data)


def test_characters_and_joined_bytes() -> None:
    rng = random.Random(92)
    tokens = {rng.randbytes(rng.randint(1, 4)) for _ in range(3000)} | {bytes([byte]) for byte in range(256)}
    tokens |= {chr(rng.randrange(0x110000)).encode("utf-8", "surrogatepass") for _ in range(3000)} | {b"", b"a\xcc\x81"}
    vocab = Vocab(dict(enumerate(sorted(tokens))))
    assert vocab.characters() == [(at, token) for at, token in vocab.items() if is_character(token)]
    pairs = {pair for token in tokens for pair in itertools.pairwise(token)}
    bits = vocab.joined_bytes()
    for first in range(256):
        for second in range(256):
            place = first << 8 | second
            assert bits[place >> 3] >> (place & 7) & 1 == ((first, second) in pairs or 0x80 <= second < 0xC0)


def test_merges_with_other_ids() -> None:
    merges = MergeList([(0, 1, 2), (2, 1, 3), (3, 3, 4), (0, 4, 5)])
    ids = array("I", (10, 11, 12, 13, NO_ID))
    assert Merges.mapped(merges, memoryview(ids)) == ((10, 11, 12), (12, 11, 13))
    assert Merges.mapped(merges, memoryview(ids), MergeList([(1, 1, 7)]), least=3) == ((1, 1, 7), (12, 11, 13))
    assert Merges.mapped(MergeList(), memoryview(array("I"))) == ()


def test_live_merges_as_a_list() -> None:
    rng = random.Random(93)
    for _ in range(50):
        vocab = {byte: bytes([byte]) for byte in range(256)}
        for at in range(256, 300):
            parts = rng.choice(list(vocab.values())[97:]) + rng.choice(list(vocab.values())[97:100])
            if parts not in vocab.values():
                vocab[at] = parts
        model = CompiledBPE(vocab, None)
        assert model.live_list().rows() == model.live_merges()[0]


def test_merges_of_one_level_apply_from_the_left() -> None:
    """So "abc" is made by its second pair where "bc" does not go before "ab", and else never."""
    vocab = dict(enumerate([b"a", b"b", b"c", b"ab", b"bc", b"abc"]))
    merges = [(1, 2, 4), (0, 1, 3), (3, 2, 5)]
    model = CharacterModel(vocab, Characters((), None))
    assert list(model.live_merges(merges)) == merges[:2]
    assert list(model.live_merges(merges, (0, 1, 2))) == merges[:2]
    assert list(model.live_merges(merges, (0, 0, 1))) == merges
    assert list(model.live_merges([], ())) == []


def order_of(rows: Sequence[Row]) -> tuple[list[int], list[int]]:
    pieces = PieceRows(rows)
    order = MergeOrder.of(pieces, pieces.tokens(Vocab, (), marks_blanks=True))
    return list(order.ids), list(order.levels)


def test_the_order_of_pieces() -> None:
    assert order_of([]) == ([], [])
    assert order_of([("a", 0.0, 1), ("ab", -2.0, 1), ("bc", -1.0, 1), ("cd", 0.0, 1)]) == ([3, 2, 1], [])
    # longer ones first; of one level unless they are runs of one character
    rows = [
        ("z", 0.0, 1),
        ("ab", -1.0, 1),
        ("abc", -1.0, 1),
        ("zzz", 0.0, 1),
        ("--", -2.0, 1),
        ("---", -2.0, 1),
        ("zz", -0.0, 1),
    ]
    assert order_of(rows) == ([3, 6, 2, 1, 5, 4], [0, 1, 2, 2, 3, 4])
    assert order_of([row for row in rows if row[0] != "abc"])[1] == []


def test_pieces_in_a_table() -> None:
    rng = random.Random(93)
    for _ in range(300):
        letters = rng.choice(("abé中\u2581 \U0001f600", "a中"))
        texts = dict.fromkeys("".join(rng.choices(letters, k=rng.randint(1, 5))) for _ in range(rng.randint(0, 30)))
        rows = [(text, rng.choice([0.0, -1.0, -2.5, rng.random(), nan]), rng.choice([1, 1, 1, 2, 4])) for text in texts]
        pieces, marks_blanks = PieceRows(rows), rng.random() < 0.5
        assert list(map(repr, pieces)) == list(map(repr, rows))
        assert pieces.of_kind(2) == [i for i, (_, _, kind) in enumerate(rows) if kind == 2]
        unusual = [
            i for i, (text, score, kind) in enumerate(rows)
            if kind != 1 or score != score or len(text.encode()) > 9 or (" " in text and marks_blanks)
        ]  # fmt: skip
        assert pieces.unusual(9, marks_blanks) == unusual
        tokens = {
            i: (text.replace("\u2581", " ") if marks_blanks else text).encode() for i, (text, _, _) in enumerate(rows)
        }
        chosen = {i: token for i, token in tokens.items() if i not in unusual}
        vocab = pieces.tokens(Vocab, unusual, marks_blanks)
        assert list(vocab.items()) == list(chosen.items())
        assert pieces.scores(vocab, len(rows)) == [rows[i][1] if i in chosen else 0.0 for i in range(len(rows))]
        several = [i for i in chosen if len(chosen[i].decode()) > 1]
        order, equal, runs = pieces.order(vocab)
        assert list(order) == sorted(several, key=lambda i: (-rows[i][1], -len(chosen[i])))
        scores = [rows[i][1] for i in order]
        ends = [
            (scores.index(score), len(scores) - scores[::-1].index(score))
            for score in sorted(set(scores), reverse=True)
        ]
        assert equal == [(start, end) for start, end in ends if end > start + 1]
        assert runs == [place for place, i in enumerate(order) if len(set(chosen[i].decode())) == 1]
        text = "".join(token.decode() for token in chosen.values())
        missing = next((char for char in text if char.encode() not in chosen.values()), None)
        found = missing_character(vocab)
        assert (None if found is None else found[1].decode()) == missing
        assert found is None or found[0] == next(token for token in chosen.values() if found[1] in token)


def test_pieces_that_are_empty_or_twice() -> None:
    assert PieceRows([("a", 0, 1), ("b", 0, 1)]).are_unique()
    assert not PieceRows([("a", 0, 1), ("a", 0, 2)]).are_unique()
    assert not PieceRows([("a", 0, 1), ("", 0, 1)]).are_unique()
    pieces = PieceRows([("a ", 0, 1), ("a\u2581", 0, 1)])
    with pytest.raises(VocabularyError, match="two ids, 0 and 1"):
        pieces.tokens(Vocab, (), marks_blanks=True)
    assert pieces[-1:] == [("a\u2581", 0.0, 1)]
    with pytest.raises(IndexError, match="2 pieces, and none of the number 2"):
        pieces[2]
