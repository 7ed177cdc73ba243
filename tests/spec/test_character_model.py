"""What the model of characters is made of, against slow definitions."""

from __future__ import annotations

import itertools
import random
from array import array
from struct import pack

import pytest

from bbpe.core.bpe import BPE
from bbpe.core.merge_list import NO_ID, MergeList
from bbpe.core.token_table import usual_pieces
from bbpe.errors import VocabularyError
from bbpe.formats.protobuf import bytes_field, number_field
from bbpe.formats.sentencepiece import _model_of
from bbpe.spec.characters import ordered_by_score
from bbpe.spec.merges import Merges
from bbpe.spec.vocab import Vocab


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
    for _ in range(400):
        rows = [(rng.choice(texts), rng.randint(-9, 9) / 4, rng.choice([1, 1, 1, 2, 3, 6, 127])) for _ in range(9)]
        data = b"".join(row(text.encode(), score, kind) for text, score, kind in rows)
        found, at = usual_pieces(data)
        assert found == rows[: len(found)]
        assert len(found) == next((i for i, (text, _, _) in enumerate(rows) if len(text) > 90), 9)
        assert at == sum(len(row(text.encode(), score, kind)) for text, score, kind in rows[: len(found)])
        assert list(_model_of(data).pieces) == rows
        broken = bytearray(data[: rng.randint(0, len(data))])
        if broken:
            broken[rng.randrange(len(broken))] = rng.randrange(256)
        found, at = usual_pieces(bytes(broken))
        assert at <= len(broken)
        assert usual_pieces(bytes(broken[:at])) == (found, at)


def test_pieces_of_a_broken_text_are_left() -> None:
    data = row(b"a", 1, 1) + row(b"\xff", 1, 1)
    assert usual_pieces(data) == ([("a", 1.0, 1)], len(row(b"a", 1, 1)))
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
        model = BPE(vocab, None)
        assert model.live_list().rows() == model.live_merges()[0]


def test_the_order_of_pieces() -> None:
    assert ordered_by_score([]) == ([], {})
    assert ordered_by_score([(-2.0, 4, b"ab"), (-1.0, 5, b"bc"), (0.0, 6, b"c")]) == ([6, 5, 4], {6: 0, 5: 1, 4: 2})
    # longer ones first; of one level unless they are runs of one character
    rows = [(-1.0, 1, b"ab"), (-1.0, 2, b"abc"), (0.0, 3, b"z"), (-2.0, 4, b"--"), (-2.0, 5, b"---"), (-0.0, 6, b"zz")]
    assert ordered_by_score(rows) == ([6, 3, 2, 1, 5, 4], {6: 0, 3: 1, 2: 2, 1: 2, 5: 4, 4: 5})
