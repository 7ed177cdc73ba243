"""Ids become bytes and text again; what is no id is named."""

from __future__ import annotations

import array
import random
import threading
from collections import UserList, deque
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

import bbpe
from bbpe.core.ids import TokenBytes
from bbpe.types import Ragged


def test_decoding_any_sequence(tok_of: Callable[[str], bbpe.Tokenizer]) -> None:
    tok = tok_of("gpt2")
    ids = tok.encode("some words, é<s>", allowed_special="all")
    dtypes = [np.uint32, np.int64, np.uint16, np.int32, ">i4", np.uint64]
    for kind in (ids, tuple(ids), *(np.array(ids, dtype) for dtype in dtypes), np.array(ids * 2)[: len(ids)]):
        assert tok.decode(kind) == "some words, é<s>"
        assert tok.decode_bytes(kind) == "some words, é<s>".encode()
    assert tok.decode(np.array(ids)[::-1]) == tok.decode(ids[::-1])
    assert tok.decode([]) == tok.decode(np.array([], np.uint32)) == ""
    assert tok.decode_bytes([]) == b""
    assert tok.decode([np.int64(ids[0])]) == tok.decode(ids[:1])


def test_decoding_errors_argument(tok_of: Callable[[str], bbpe.Tokenizer]) -> None:
    tok = tok_of("gpt2")
    ids = tok.encode(b"a\xff")
    assert tok.decode(ids) == "a\ufffd"
    assert tok.decode(ids, errors="ignore") == "a"
    assert tok.decode(ids, errors="surrogateescape") == "a\udcff"
    assert tok.decode_batch([ids, ids], errors="ignore") == ["a", "a"]
    with pytest.raises(UnicodeDecodeError):
        tok.decode(ids, errors="strict")


WITH_HOLES = {**{byte: bytes((byte,)) for byte in range(256)}, 300: b"ab"}


BAD_IDS = [-1, -(2**31), -(2**63), -(2**70), 256, 299, 302, 2**31, 2**32, 2**32 + 97, 2**63, 2**64 + 97, 2**70]


@pytest.mark.parametrize("bad", BAD_IDS)
def test_ids_that_are_no_tokens(bad: int) -> None:
    tok = bbpe.Tokenizer.from_merges(WITH_HOLES, [(b"a", b"b")], pattern="gpt2", special_tokens={"<s>": 301})
    assert tok.decode([300, 301]) == "ab<s>"
    for method in (tok.decode, tok.decode_bytes):
        with pytest.raises(ValueError, match=str(bad)):
            method([97, bad, 97])
        with pytest.raises(ValueError, match=str(bad)):
            method((bad,))
    with pytest.raises(ValueError, match=str(bad)):
        tok.id_to_token(bad)
    with pytest.raises(ValueError, match=str(bad)):
        tok.decode_batch([[97], [bad]])
    for dtype in (np.int64, np.int32, np.uint32, np.uint64, np.uint16):
        if np.iinfo(dtype).min <= bad <= np.iinfo(dtype).max:
            with pytest.raises(ValueError, match=str(bad)):
                tok.decode(np.array([97, bad, 97], dtype))


@pytest.mark.parametrize("ids", ["97", b"ab", [1.5], ["a"], [None], 97, None, np.array([1.5]), [[97]]])
def test_ids_of_wrong_types(ids: Any, tok_of: Callable[[str], bbpe.Tokenizer]) -> None:
    tok = tok_of("gpt2")
    for method in (tok.decode, tok.decode_bytes):
        with pytest.raises(TypeError):
            method(ids)


def test_id_to_token_of_wrong_types(tok_of: Callable[[str], bbpe.Tokenizer]) -> None:
    for token_id in ("a", 97.0, 1.5, None, b"a", True):
        with pytest.raises(TypeError):
            tok_of("gpt2").id_to_token(token_id)


def test_token_to_id(tok_of: Callable[[str], bbpe.Tokenizer]) -> None:
    tok = tok_of("gpt2")
    for token_id, token in tok.spec.vocab.items():
        assert tok.id_to_token(token_id) == token
        assert tok.token_to_id(token) == token_id
    assert [tok.id_to_token(i) for i in tok.special_tokens.values()] == [text.encode() for text in tok.special_tokens]
    assert [tok.token_to_id(text) for text in tok.special_tokens] == list(tok.special_tokens.values())
    for missing in (b"no such token", "no such token", b""):
        with pytest.raises(KeyError):
            tok.token_to_id(missing)


# -- every kind of ids, against a join in Python ------------------------------------------------------------------

#: Tokens of every length about the borders of the tables, torn characters, characters of all widths, and holes.
TOKENS = {
    **{byte: bytes((byte,)) for byte in range(256)},
    **{300 + n: b"x" * n for n in (0, 2, 14, 15, 16, 17, 31, 62, 63, 64, 1022, 1023, 1024, 1025, 4095, 4096, 9000)},
    20_000: "é".encode(),
    20_001: "中文".encode(),
    20_002: "😀".encode(),
    20_003: "文".encode()[:2],
    20_004: "文".encode()[2:],
    20_005: "文字列でできた長い記号".encode(),
    20_006: "é".encode() * 700,
    20_007: "😀".encode()[1:] + b" and more",
    20_008: "ア".encode() * 2_000,
}
ASCII = [i for i, token in TOKENS.items() if token.isascii()]
LATIN = [*ASCII, 20_000, 20_006]
WIDE = [*LATIN, 20_001, 20_005, 20_008]
FULL = [*WIDE, 20_002]
SHORT = [i for i, token in TOKENS.items() if len(token) < 20]
TABLE = TokenBytes(TOKENS)


def slow(ids: Sequence[int]) -> bytes:
    return b"".join(TOKENS[i] for i in ids)


def check(ids: Sequence[int], given: Any = None) -> None:
    given = ids if given is None else given
    expected = slow(ids)
    assert TABLE.join(given) == expected
    for errors in ("replace", "ignore", "surrogateescape"):
        text = TABLE.text(given, errors)
        assert text == expected.decode("utf-8", errors)
        # a str must not be wider than it needs to be, or it equals nothing
        assert hash(text) == hash(expected.decode("utf-8", errors))
        assert text.isascii() == expected.decode("utf-8", errors).isascii()


@pytest.mark.parametrize(
    "kinds", [ASCII, LATIN, WIDE, FULL, SHORT, list(TOKENS)], ids=["ascii", "latin", "wide", "full", "short", "all"]
)
def test_random_ids(kinds: list[int]) -> None:
    rng = random.Random(7)
    for n in [*range(40), 100, 1_023, 1_024, 2_047, 2_048, 2_049, 5_000]:
        check(rng.choices(kinds, k=n))
        # long tokens are rare
        check([rng.choice(kinds) if rng.random() < 0.02 else rng.randrange(97, 123) for _ in range(n)])


def test_characters_torn_between_tokens() -> None:
    rng = random.Random(8)
    for text in ("aé中😀" * 2_000, "中" * 3_000, "😀" * 3_000, "é" * 5_000):
        data = text.encode()
        for _ in range(20):
            start, stop = sorted(rng.choices(range(len(data) + 1), k=2))
            check(list(data[start:stop]))
            check([*data[:start], *rng.choices(SHORT, k=3), *data[start:stop]])


def test_invalid_bytes_at_every_place() -> None:
    for text in (b"a" * 20, "中".encode() * 8, "😀".encode() * 6, "é".encode() * 9):
        for i in range(len(text)):
            for bad in (0x80, 0xBF, 0xC0, 0xC1, 0xC2, 0xE0, 0xED, 0xF0, 0xF4, 0xF5, 0xFF):
                check([*text[:i], bad, *text[i:]])
                check([*text[:i], bad, *text[i + 1 :]])
            check([*text[:i], *text[i + 1 :]])
    for sequence in (b"\xed\xa0\x80", b"\xf4\x90\x80\x80", b"\xe0\x80\x80", b"\xf0\x80\x80\x80", b"\xc0\x80"):
        check(list("中".encode() + sequence + "😀".encode()))


KINDS = ["u1", "u2", "u4", "u8", "i1", "i2", "i4", "i8"]


@pytest.mark.parametrize("order", "<>")
@pytest.mark.parametrize("kind", KINDS)
def test_integer_arrays(kind: str, order: str) -> None:
    rng = random.Random(9)
    dtype = np.dtype(order + kind)
    known = [i for i in TOKENS if i <= np.iinfo(dtype).max]
    ids = rng.choices(known, k=3_000)
    whole = np.array(ids, dtype)
    whole.flags.writeable = False
    check(ids, whole)
    check(ids[::-1], whole[::-1])
    check(ids[1::3], whole[1::3])
    check(ids[5:9], whole[5:9])
    check([], whole[:0])
    check([ids[0]] * 50, np.broadcast_to(whole[:1], 50))
    table = np.array([ids[:1_000]] * 3, dtype)
    check(ids[:1_000], table[1])
    check([ids[7]] * 3, table[:, 7])
    unaligned = np.zeros(len(ids) * dtype.itemsize + 1, np.uint8)[1:].view(dtype)
    unaligned[:] = whole
    check(ids, unaligned)
    if dtype.isnative:
        check(ids, memoryview(whole))
        check(ids[::2], memoryview(whole)[::2])
    fields = np.zeros(len(ids), np.dtype([("pad", "u1"), ("id", dtype)]))
    fields["id"] = whole
    check(ids, fields["id"])


def test_other_sequences() -> None:
    ids = [97, 20_001, 98, 1_323]
    for given in (tuple(ids), deque(ids), UserList(ids), array.array("i", ids), array.array("Q", ids)):
        check(ids, given)
    check(ids, [np.int64(i) for i in ids])
    check(ids, [97, np.uint16(20_001), 98, np.uint32(1_323)])
    check(list(range(60, 120)), range(60, 120))
    check([1, 2], bytearray(b"\1\2"))


@pytest.mark.parametrize(
    "ids",
    [
        "97",
        b"ab",
        97,
        None,
        {97},
        {97: 1},
        iter([97]),
        [True],
        [97, False],
        (97, np.True_),
        deque([True]),
        [97.0],
        [97, None],
        np.array([True]),
        np.array([97.0]),
        np.array([97], object),
        np.array([[97]]),
        np.array(97),
        np.array([97], "m8[s]"),
        memoryview(np.array([1.5])),
        memoryview(np.array([[97]])),
    ],
    ids=lambda value: repr(value).partition(" at 0x")[0],
)
def test_what_are_no_ids(ids: Any) -> None:
    for method in (TABLE.join, TABLE.text):
        with pytest.raises(TypeError):
            method(ids)
    with pytest.raises(TypeError):
        TABLE.texts_of([[97], ids])


@pytest.mark.parametrize("bad", [-1, -(2**31), -(2**63), 299, 20_009, 2**28, 2**30, 2**32 - 1, 2**32 + 97, 2**63 - 1])
def test_the_first_bad_id_is_named(bad: int) -> None:
    # threads share the longest
    for n in (0, 1, 15, 16, 17, 1_024, 5_000, *([700_000] if bad in (-1, 299, 2**63 - 1) else [])):
        ids = [97] * (n + 3)
        ids[n], ids[n + 2] = bad, -7
        arrays: list[npt.NDArray[Any]] = [
            np.array(ids, dtype) for dtype in KINDS if np.iinfo(dtype).min <= bad <= np.iinfo(dtype).max
            and np.iinfo(dtype).min < 0
        ]
        for given in [ids, tuple(ids), *arrays, *(x[::-1][::-1] for x in arrays)]:
            for call in (TABLE.join, TABLE.text, lambda ids: TABLE.texts_of([[97], [], ids, [-8]])):
                with pytest.raises(bbpe.TokenIdError, match=rf"id {bad} "):
                    call(given)
    with pytest.raises(bbpe.TokenIdError, match=str(2**64 - 1)):
        TABLE.join(np.array([97, 2**64 - 1], np.uint64))


def test_a_vocabulary_of_nothing() -> None:
    assert TokenBytes({}).join([]) == b""
    assert TokenBytes({}).text([]) == ""
    with pytest.raises(bbpe.TokenIdError):
        TokenBytes({}).text([0])
    assert TokenBytes({3: b""}).join([3, 3]) == b""


# -- rows and threads -----------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def tok() -> bbpe.Tokenizer:
    unique = {token: i for i, token in reversed(TOKENS.items())}
    return bbpe.Tokenizer.from_merges({i: token for token, i in unique.items()}, [], pattern="gpt2")


def test_rows(tok: bbpe.Tokenizer) -> None:
    rng = random.Random(10)
    known = [i for i in tok.spec.vocab if len(tok.spec.vocab[i]) < 100]
    rows = [rng.choices(rng.choice([ASCII[:100], known]), k=rng.choice([0, 1, 3, 50])) for _ in range(3_000)]
    expected = [tok.decode(row) for row in rows]
    assert expected == [tok.decode_bytes(row).decode("utf-8", "replace") for row in rows]
    ragged = Ragged.from_rows(np.array(row, np.uint32) for row in rows)
    for threads in (None, 1, 2, 3):
        assert tok.decode_batch(rows, threads=threads) == expected
        assert tok.decode_batch(tuple(rows), threads=threads) == expected
        assert tok.decode_batch(iter(rows), threads=threads) == expected
        assert tok.decode_batch(deque(rows), threads=threads) == expected
        assert tok.decode_batch(ragged, threads=threads) == expected
        assert tok.decode_batch([np.array(row, np.int64) for row in rows], threads=threads) == expected
    assert tok.decode_batch([]) == tok.decode_batch(Ragged.from_rows([])) == []
    assert tok.decode_batch(Ragged(ragged.ids, ragged.offsets[7:19])) == expected[7:18]


@pytest.mark.parametrize("dtype", [np.uint32, np.int64, ">i2"])
def test_an_array_of_rows(dtype: Any, tok: bbpe.Tokenizer) -> None:
    rows = np.random.default_rng(1).choice(ASCII[:200], (500, 64)).astype(dtype)
    for given in (rows, rows[:, ::2], rows[::-3], rows.T, np.asfortranarray(rows), rows[:0], rows[:, :0]):
        for threads in (None, 2):
            assert tok.decode_batch(given, threads=threads) == [tok.decode(row) for row in given]


def test_errors_in_rows(tok: bbpe.Tokenizer) -> None:
    for threads in (None, 1, 2):
        with pytest.raises(bbpe.TokenIdError, match="id 299 is a hole"):
            tok.decode_batch([[97] * 70_000, [97, 299], [-1]] * 3, threads=threads)
        with pytest.raises(bbpe.TokenIdError, match="id 40000 is out of range"):
            tok.decode_batch(np.array([[97, 97], [97, 40_000]]), threads=threads)
        with pytest.raises(UnicodeDecodeError):
            tok.decode_batch([[97], [255]], errors="strict", threads=threads)
    for batch in ("97", b"ab", [97], 97, None, np.array([97]), np.array([[1.5]]), np.array([[[97]]]), [["a"]]):
        with pytest.raises(TypeError):
            tok.decode_batch(batch)
    ids = np.array([97, 98], np.uint32)
    for offsets in ([0, 3], [-1, 2], [2, 1], [0, 2, 1]):
        with pytest.raises(ValueError, match="row"):
            tok.decode_batch(Ragged(ids, np.array(offsets)))


@pytest.mark.parametrize("threads", [0, -1, True, 1.5])
def test_numbers_of_threads(threads: Any, tok: bbpe.Tokenizer) -> None:
    for call in (tok.decode, tok.decode_bytes, tok.decode_batch):
        with pytest.raises((ValueError, TypeError), match="threads"):
            call([], threads=threads)


@pytest.mark.parametrize("unit", ["plain text ", "né ", "中文 ", "e\u0301😀", "中中中\n"])
def test_threads_change_nothing(unit: str, tok: bbpe.Tokenizer) -> None:
    data = unit.encode()
    ids = np.frombuffer(data * (1_100_000 // len(data)), np.uint8).astype(np.uint16)
    text = unit * (1_100_000 // len(data))
    for given in (ids, ids[::-1][::-1].astype(np.int64), ids.tolist()):
        for threads in (None, 1, 3):
            assert tok.decode(given, threads=threads) == text
            assert tok.decode_bytes(given, threads=threads) == text.encode()
    # bytes that are not UTF-8, about the borders between threads too
    for at, place in enumerate((0, 1, 2**18 - 2, 2**18 - 1, 2**18, 2**18 + 1, 2**19, len(ids) - 1)):
        for bad in ((0x80, 0xE4, 0xFF)[at % 3], (0xE4, 0xFF, 0x80)[at % 3]):
            torn = ids.copy()
            torn[place] = bad
            expected = bytes(torn.astype(np.uint8)).decode("utf-8", "replace")
            assert tok.decode(torn, threads=2) == expected


def test_nothing_but_continuation_bytes(tok: bbpe.Tokenizer) -> None:
    ids = np.full(1_000_000, 0x80, np.uint8)
    assert tok.decode(ids, threads=2) == "\ufffd" * len(ids)
    ids[0] = 0xF0
    assert tok.decode(ids, threads=2, errors="ignore") == bytes(ids).decode("utf-8", "ignore")


def test_an_array_that_changes_meanwhile(tok: bbpe.Tokenizer) -> None:
    ids = np.full(600_000, 97, np.uint32)
    values = [97, 315, 20_001, 20_002, 9_300, 299, 2**32 - 1]
    stop = threading.Event()

    def write() -> None:
        rng = random.Random(11)
        while not stop.is_set():
            ids[rng.randrange(len(ids))] = rng.choice(values)
            ids[rng.randrange(len(ids))] = 97

    writer = threading.Thread(target=write)
    writer.start()
    try:
        for _ in range(30):
            ids[:] = 97
            for call in (tok.decode, tok.decode_bytes):
                try:
                    call(ids)
                except (bbpe.TokenIdError, RuntimeError):
                    continue
    finally:
        stop.set()
        writer.join()
