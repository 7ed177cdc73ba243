"""Counting pretokens: the table against a dictionary."""

from __future__ import annotations

import random
from collections.abc import Callable

import numpy as np
import pytest

from bbpe.core.count import PretokenTable
from bbpe.core.split import Splitter
from bbpe.splitting.patterns import get_pattern
from bbpe.splitting.splitter import TextSplitter, split


def splitter_of(pattern: str = "gpt2") -> Splitter:
    splitter = TextSplitter(get_pattern(pattern)).compiled
    assert splitter is not None
    return splitter


def filled(pairs: list[tuple[bytes, int]]) -> PretokenTable:
    table = PretokenTable()
    for pretoken, times in pairs:
        table.add(pretoken, times)
    return table


def random_pretokens(rng: random.Random, n: int) -> list[bytes]:
    """All lengths around the inline ones, many of them the same, some alike but for one byte or a zero at the end."""
    alphabet = rng.choice([b"a", b"ab", b"a\x00", bytes(range(256))])
    lengths = [0, 1, 7, 8, 9, 14, 15, 16, 17, 31, 32, 33, 200]
    words = [bytes(rng.choices(alphabet, k=rng.choice(lengths))) for _ in range(n)]
    words += [word + b"\x00" for word in words[: n // 4]]
    return [rng.choice(words) for _ in range(3 * n)]


def test_a_table_counts_as_a_dictionary() -> None:
    rng = random.Random(1)
    for n in (1, 5, 50, 700, 5_000):
        pretokens = random_pretokens(rng, n)
        counts: dict[bytes, int] = {}
        table = PretokenTable()
        for pretoken in pretokens:
            times = rng.choice([1, 2, 2**40])
            table.add(pretoken, times)
            counts[pretoken] = counts.get(pretoken, 0) + times
        assert table.items() == list(counts.items())
        assert len(table) == len(counts)
        assert table.counts().tolist() == list(counts.values())
        assert table.pretoken_bytes == sum(map(len, counts))
        assert table.nbytes >= table.pretoken_bytes


def test_given_ends_and_their_pieces() -> None:
    rng = random.Random(2)
    for longest in (0, 1, 3, 15, 16, 40):
        pretokens = random_pretokens(rng, 60)
        text = b"".join(pretokens)
        ends = np.cumsum([len(pretoken) for pretoken in pretokens]).astype(np.int64)
        step = longest or len(text)
        counts: dict[bytes, int] = {}
        for pretoken in pretokens:
            for i in range(0, len(pretoken), step):
                piece = pretoken[i : i + step]
                counts[piece] = counts.get(piece, 0) + 1
        table = PretokenTable()
        table.count_given(text, ends, longest)
        assert table.items() == list(counts.items())
        assert table.cut == (sum(len(pretoken) > longest for pretoken in pretokens) if longest else 0)


@pytest.mark.parametrize("ends", [[3, 2], [-1], [9], [0, 9, 3]])
def test_ends_that_lead_out_of_the_text(ends: list[int]) -> None:
    with pytest.raises(ValueError, match="expected at least"):
        PretokenTable().count_given(b"12345678", np.array(ends, dtype=np.int64))


def test_a_long_text_in_one_pretoken_is_cut() -> None:
    text = b"a" * 1_000 + b" b"
    table = PretokenTable()
    assert table.count_text(text, 0, len(text), splitter_of(), 300) == len(text)
    assert table.items() == [(b"a" * 300, 3), (b"a" * 100, 1), (b" b", 1)]
    assert table.cut == 1


@pytest.mark.parametrize("name", ["en", "code", "multi", "ja", "zh"])
def test_real_text(name: str, corpus: Callable[..., str]) -> None:
    text = corpus(name, 80_000)
    data = text.encode()
    counts: dict[bytes, int] = {}
    for pretoken in map(str.encode, split(text, "gpt2")):
        counts[pretoken] = counts.get(pretoken, 0) + 1
    for start in range(3):  # nothing behind or before the region is counted
        table = PretokenTable()
        padded = b"x" * start + data
        assert table.count_text(padded, start, len(padded), splitter_of()) == len(padded)
        assert table.items() == list(counts.items())


def test_arrays_come_back_as_they_went() -> None:
    rng = random.Random(3)
    for n in (0, 1, 40, 3_000):
        table = filled([(pretoken, rng.randint(0, 2**50)) for pretoken in random_pretokens(rng, n)])
        data, offsets, counts = table.arrays()
        assert (data.dtype, offsets.dtype, counts.dtype) == (np.uint8, np.int64, np.uint64)
        assert len(offsets) == len(counts) + 1 == len(table) + 1
        joined = data.tobytes()
        spans = zip(offsets, offsets[1:], counts.tolist(), strict=False)
        assert [(joined[first:last], count) for first, last, count in spans] == table.items()
        again = PretokenTable()
        again.add_arrays(data, offsets, counts)
        assert again.items() == table.items()
        again.add_arrays(data, offsets, counts)
        assert again.items() == [(pretoken, 2 * count) for pretoken, count in table.items()]


def test_arrays_that_do_not_fit() -> None:
    data, counts = np.frombuffer(b"abcd", np.uint8), np.array([1, 2], np.uint64)
    for offsets in ([0, 2], [0, 3, 2], [0, 2, 5], [-1, 2, 4]):
        with pytest.raises(ValueError, match="expected"):
            PretokenTable().add_arrays(data, np.array(offsets, np.int64), counts)


def joined(tables: list[PretokenTable], chunks: list[list[int]], starts: list[list[int]], parts: int) -> PretokenTable:
    """The sum, where parts are done in any order."""
    first, *others = tables
    first.join(others, chunks, starts)
    for part in random.Random(parts).sample(range(parts), parts):
        first.join_part(part, parts)
    first.finish_join()
    return first


@pytest.mark.parametrize("parts", [1, 2, 8, 256])
@pytest.mark.parametrize("lanes", [1, 2, 5])
def test_tables_add_up_in_the_order_of_chunks(lanes: int, parts: int) -> None:
    rng = random.Random(lanes)
    for n in (0, 3, 200, 1_000):
        pretokens = random_pretokens(rng, n)
        tables, expected = [PretokenTable() for _ in range(lanes)], PretokenTable()
        chunks: list[list[int]] = [[] for _ in range(lanes)]
        starts: list[list[int]] = [[0] for _ in range(lanes)]
        for number in range(12):
            lane = rng.randrange(lanes)
            for pretoken in rng.sample(pretokens, len(pretokens) // 4):
                tables[lane].add(pretoken, number)
                expected.add(pretoken, number)
            chunks[lane].append(number)
            starts[lane].append(len(tables[lane]))
        table = joined(tables, chunks, starts, parts)
        assert table.items() == expected.items()
        assert table.counts().tolist() == expected.counts().tolist()
        assert [array.tolist() for array in table.arrays()] == [array.tolist() for array in expected.arrays()]
        assert table.scale(2).items() == expected.scale(2).items()
        assert (len(table), table.total) == (len(expected), expected.total)
        assert table.pretoken_bytes == expected.pretoken_bytes
        assert table.nbytes >= table.pretoken_bytes


def test_a_sum_of_tables_takes_no_more_counts() -> None:
    table = joined([filled([(b"a", 1)]), filled([(b"a", 2**64 - 2), (b"b", 5)])], [[1], [0]], [[0, 1], [0, 2]], 4)
    assert table.items() == [(b"a", 2**64 - 1), (b"b", 5)]
    assert table.total == 2**64 + 4
    none = np.empty(0, np.int64)
    for change in (
        lambda: table.add(b"a", 1),
        lambda: table.add_arrays(*filled([(b"a", 1)]).arrays()),
        lambda: table.count_text(b"a", 0, 1, splitter_of()),
        lambda: table.count_spans(b"a", none, none, splitter_of()),
        lambda: table.count_given(b"a", none),
        lambda: joined([filled([(b"a", 1)]), table], [[0], [1]], [[0, 1], [0, 2]], 1),
    ):
        with pytest.raises(ValueError, match="sum of several"):
            change()


@pytest.mark.parametrize(
    ("chunks", "starts"),
    [
        ([[0]], [[0, 1]]),
        ([[0], [1]], [[0, 1], [0, 2]]),
        ([[0], [1]], [[0, 1], [1, 1]]),
        ([[0], [1, 2]], [[0, 1], [0, 2, 1]]),
    ],
)
def test_what_does_not_say_how_tables_grew(chunks: list[list[int]], starts: list[list[int]]) -> None:
    with pytest.raises(ValueError, match="expected"):
        joined([filled([(b"a", 1)]), filled([(b"b", 1)])], chunks, starts, 1)


@pytest.mark.parametrize(("part", "parts"), [(0, 0), (1, 1), (0, 3), (0, 512)])
def test_parts_that_are_none(part: int, parts: int) -> None:
    table = filled([(b"a", 1)])
    with pytest.raises(ValueError, match="power of two"):
        table.join_part(0, 1)
    table.join([], [[0]], [[0, 1]])
    with pytest.raises(ValueError, match="power of two"):
        table.join_part(part, parts)


def test_counts_beyond_64_bits_are_refused() -> None:
    for pretoken in (b"ab", b"a" * 40):
        table = filled([(pretoken, 2**64 - 2)])
        table.add(pretoken, 1)
        with pytest.raises(OverflowError):
            table.add(pretoken, 1)
        with pytest.raises(OverflowError):
            joined([table, filled([(pretoken, 2**63)])], [[0], [1]], [[0, 1], [0, 1]], 1)


def test_scaling_rounds_half_to_even() -> None:
    pairs = [(b"a", 1), (b"b", 3), (b"c", 5), (b"d", 1_000), (b"e" * 30, 7), (b"f", 0)]
    table = filled(pairs)
    for weight in (0.5, 0.1, 1, 1.5, 1e-9, 3, 2.0**40):
        expected = [(pretoken, max(round(count * weight), min(count, 1))) for pretoken, count in pairs]
        assert table.scale(weight).items() == expected
    assert table.items() == pairs
    assert filled([(b"a", 2**64 - 1)]).scale(1).items() == [(b"a", 2**64 - 1)]


@pytest.mark.parametrize("weight", [0, -1, float("nan"), float("inf")])
def test_weights_that_are_none(weight: float) -> None:
    with pytest.raises(ValueError, match="positive"):
        filled([(b"a", 1)]).scale(weight)


def test_a_scaled_count_that_does_not_fit() -> None:
    with pytest.raises(OverflowError):
        filled([(b"a", 2**60)]).scale(16)
