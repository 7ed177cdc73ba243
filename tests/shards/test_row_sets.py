"""Windows and bins give the rows of slow definitions, in any format, order and dtype."""

from __future__ import annotations

import json
import pickle
import random
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
import pytest

import bbpe
from bbpe.core.bin_packer import BinPacker
from bbpe.core.row_order import RowOrder
from bbpe.shards import bins as bins_module
from bbpe.shards import row_set
from bbpe.shards.formats import FORMATS

ALL = ("input_ids", "labels", "position_ids", "document_ids", "cu_seqlens")
LETTERS = "abcdefghijklmnopqrstuvwxyz"
MASK = (1 << 64) - 1
#: A document, and where its ids of a row begin and end.
Span: TypeAlias = "tuple[int, int, int]"


@pytest.fixture(scope="module")
def tok() -> bbpe.Tokenizer:
    return bbpe.train_from_iterator(["see my eyes first"], 260, special_tokens=["<pad>", "</s>"])


def corpus(folder: Path, seed: int = 1, count: int = 150, most: int = 30) -> Path:
    draw = random.Random(seed)
    texts = ["".join(draw.choices(LETTERS, k=int(draw.random() ** 2 * most))) for _ in range(count)]
    path = folder / "a.jsonl"
    path.write_text("".join(json.dumps({"text": text}) + "\n" for text in texts))
    return path


def shards_of(folder: Path, tok: bbpe.Tokenizer, **options: Any) -> bbpe.Shards:
    given = {"part_size": 700, "threads": 1, "empty": "keep", **options}
    return bbpe.shard(corpus(folder), folder / "out", tok, **given)


def as_lists(row: dict[str, Any]) -> dict[str, list[int]]:
    return {name: column.tolist() for name, column in row.items()}


def slow_windows(documents: list[list[int]], n: int, labels: str) -> list[dict[str, list[int]]]:
    """Rows by lists alone."""
    ids = [token for document in documents for token in document]
    owner = [number for number, document in enumerate(documents) for _ in document]
    shift = labels == "shift"
    rows = []
    for start in range(0, len(ids) - n - shift + 1, n):
        own = owner[start : start + n]
        begins = [at for at in range(n) if at == 0 or own[at] != own[at - 1]]
        number = [sum(begin <= at for begin in begins) - 1 for at in range(n)]
        rows.append({
            "input_ids": ids[start : start + n], "labels": ids[start + shift : start + n + shift],
            "position_ids": [at - begins[number[at]] for at in range(n)], "document_ids": number,
            "cu_seqlens": [*begins, n],
        })  # fmt: skip
    return rows


@pytest.mark.parametrize("name", FORMATS)
@pytest.mark.parametrize("labels", ["shift", "same"])
def test_windows_are_those_of_the_definition(name: Any, labels: Any, tmp_path: Path, tok: bbpe.Tokenizer) -> None:
    done = shards_of(tmp_path, tok, format=name, eos="</s>")
    documents = [ids.tolist() for ids in done]
    assert len(done.plan) > 2
    for n in (1, 7, 64, done.tokens - 1, done.tokens, done.tokens + 1):
        expected = slow_windows(documents, n, labels)
        narrow = {"columns": ("cu_seqlens", "labels"), "dtype": "int16"}
        for options in ({}, {"dtype": "int64"}, {"columns": ALL}, narrow) if n == 7 else ({"columns": ALL},):
            rows = done.windows(n, labels=labels, **options)
            wanted = options.get("columns", ALL[:2])
            assert [as_lists(row) for row in rows] == [{name: row[name] for name in wanted} for row in expected]
            shifted = labels == "shift" and bool(expected)
            assert rows.dropped_tokens == done.tokens - len(expected) * n - shifted


def slow_bins(documents: list[list[int]], n: int, method: str, on_long: str, block: int) -> list[list[Span]]:
    """Rows of (document, start, stop): sorting, and a search through all rows."""
    rows: list[list[Span]] = []
    for first in range(0, len(documents), block):
        numbers = range(first, min(first + block, len(documents)))
        rests, full = [], []
        for number in numbers:
            size = len(documents[number])
            if size <= n or on_long == "cut":
                whole = size // n * n
                full += [[(number, start, start + n)] for start in range(0, whole, n)]
                rests += [(number, whole, size)] if size > whole else []
        if method == "best_fit":
            made: list[list[Span]] = []
            last: list[int] = []  # when a row was last filled
            for time, span in enumerate(sorted(rests, key=lambda span: (span[1] - span[2], span[0]))):
                room = [n - sum(stop - start for _, start, stop in row) for row in made]
                fits = [at for at in range(len(made)) if room[at] >= span[2] - span[1]]
                if fits:
                    at = min(fits, key=lambda at: (room[at], -last[at]))
                    made[at].append(span)
                    last[at] = time
                else:
                    made.append([span])
                    last.append(time)
            rows += full + [sorted(row) for row in made]
        else:
            row: list[Span] = []
            ordered: list[list[Span]] = []
            for span in sorted([*rests, *(one[0] for one in full)]):
                if sum(stop - start for _, start, stop in row) + span[2] - span[1] > n or span[2] - span[1] == n:
                    ordered += [row] if row else []
                    row = []
                row.append(span)
                if span[2] - span[1] == n:
                    ordered.append(row)
                    row = []
            rows += ordered + ([row] if row else [])
    return rows


def row_of(documents: list[list[int]], spans: list[Span], n: int, pad: int | None) -> dict[str, list[int]]:
    row: dict[str, list[int]] = {name: [] for name in ALL}
    for number, (document, start, stop) in enumerate(spans):
        ids = documents[document]
        row["cu_seqlens"].append(len(row["input_ids"]))
        row["input_ids"] += ids[start:stop]
        row["labels"] += [*ids, -100][start + 1 : stop + 1]
        row["position_ids"] += range(stop - start)
        row["document_ids"] += [number] * (stop - start)
    used = len(row["input_ids"])
    row["cu_seqlens"].append(used)
    if pad is not None and used < n:
        row["input_ids"] += [pad] * (n - used)
        row["labels"] += [-100] * (n - used)
        row["position_ids"] += range(n - used)
        row["document_ids"] += [-1] * (n - used)
        row["cu_seqlens"].append(n)
    return row


@pytest.mark.parametrize("method", ["best_fit", "greedy"])
@pytest.mark.parametrize("on_long", ["cut", "drop"])
def test_bins_are_those_of_the_definition(
    method: Any, on_long: Any, tmp_path: Path, tok: bbpe.Tokenizer
) -> None:
    done = shards_of(tmp_path, tok)
    documents = [ids.tolist() for ids in done]
    for n in (1, 5, 12, 29, 200):
        spans = slow_bins(documents, n, method, on_long, 1 << 16)
        expected = [row_of(documents, row, n, tok.token_to_id("<pad>")) for row in spans]
        rows = done.bins(n, method=method, on_long=on_long, pad="<pad>", columns=ALL)
        assert [as_lists(row) for row in rows] == expected
        ragged = done.bins(n, method=method, on_long=on_long, ragged=True, columns=ALL, dtype="int64")
        assert [as_lists(row) for row in ragged] == [row_of(documents, row, n, None) for row in spans]
        kept = [ids for ids in documents if on_long == "cut" or len(ids) <= n]
        assert rows.dropped_tokens == done.tokens - sum(map(len, kept))
        assert rows.dropped_documents == len(documents) - len(kept)
        assert rows.efficiency == (sum(map(len, kept)) / (len(rows) * n) if len(rows) else 1.0)


@pytest.mark.parametrize("is_best", [True, False])
@pytest.mark.parametrize("drops", [True, False])
def test_random_lengths_are_packed_as_by_the_slow_packer(is_best: bool, drops: bool) -> None:
    draw = random.Random(3)
    for _ in range(30):
        n = draw.choice([1, 2, 3, 63, 64, 65, 500, 4095, 4097, 70_000])
        lengths = [int(draw.random() ** draw.choice([1, 3]) * n * draw.choice([0.4, 1, 3])) for _ in range(80)]
        packer = BinPacker(n, is_best, drops)
        packer.pack(np.array(lengths, np.int32)[::-1].copy())  # leaves nothing behind
        table, order = packer.pack(np.array(lengths, np.int32))
        made = []
        for first, many in table.tolist():
            if many >> 31:
                made.append([(first, (many & MASK >> 33) * n, (many & MASK >> 33) * n + n)])
            else:
                inside = order[first : first + many].tolist()
                made.append([(each, lengths[each] // n * n, lengths[each]) for each in inside])
        documents = [[0] * length for length in lengths]
        kinds = "best_fit" if is_best else "greedy", "drop" if drops else "cut"
        assert made == slow_bins(documents, n, *kinds, 1 << 16)


def test_blocks_go_over_the_ends_of_parts(tmp_path: Path, tok: bbpe.Tokenizer, monkeypatch: pytest.MonkeyPatch) -> None:
    done = shards_of(tmp_path, tok)
    for size in (1, 7, 64):
        monkeypatch.setattr(bins_module, "_BLOCK", size)
        found = list(done.bins(20, ragged=True)._blocks())
        assert {len(block) for block in found[:-1]} <= {size}
        assert np.concatenate(found).tolist() == [len(ids) for ids in done]


def slow_order(count: int, key: bytes) -> list[int]:
    """The network by Python's ints."""
    def mixed(number: int) -> int:
        number = (number ^ number >> 30) * 0xBF58476D1CE4E5B9 & MASK
        number = (number ^ number >> 27) * 0x94D049BB133111EB & MASK
        return number ^ number >> 31

    keys = [int.from_bytes(key[at : at + 8], "little") for at in range(0, 64, 8)]
    bits = max((count - 1).bit_length(), 8)
    low_bits = bits - bits // 2
    found = []
    for place in range(count):
        while count > 1:
            low, high = place & (1 << low_bits) - 1, place >> low_bits
            for at in range(0, 8, 2):
                high ^= mixed(low + keys[at] & MASK) & (1 << bits // 2) - 1
                low ^= mixed(high + keys[at + 1] & MASK) & (1 << low_bits) - 1
            place = high << low_bits | low
            if place < count:
                break
        found.append(place)
    return found


def test_an_order_is_the_permutation_of_the_definition() -> None:
    draw = random.Random(5)
    for count in [*range(40), 255, 256, 257, 1000, 4097]:
        key = draw.randbytes(64)
        order = RowOrder(count, key)
        found = [order[place] for place in range(count)]
        assert found == slow_order(count, key)
        assert sorted(found) == list(range(count))
        assert [RowOrder(count, None)[place] for place in range(count)] == list(range(count))
    # rows beyond 32 bits and near 63
    for count in (1 << 31, (1 << 40) + 3, (1 << 62) + 9):
        order = RowOrder(count, draw.randbytes(64))
        places = [0, 1, count - 1, *(draw.randrange(count) for _ in range(200))]
        assert len({order[place] for place in places}) == len({*places})
        assert max(order[place] for place in places) < count
    with pytest.raises(IndexError, match="place 5 of 5"):
        RowOrder(5, bytes(64))[5]
    with pytest.raises(ValueError, match=r"the key has 3 bytes; expected 64"):
        RowOrder(5, b"abc")


def test_orders_of_many_seeds_are_even() -> None:
    """Each place gets each row as often as the other rows, and pairs of neighbours are no likelier than others."""
    for count, seeds in ((5, 4000), (16, 4000), (37, 6000)):
        draw, times, pairs = random.Random(count), np.zeros((count, count)), np.zeros((count, count))
        for _ in range(seeds):
            order = RowOrder(count, draw.randbytes(64))
            found = [order[place] for place in range(count)]
            times[range(count), found] += 1
            pairs[found[:-1], found[1:]] += 1
        expected = seeds / count
        squares = float(((times - expected) ** 2 / expected).sum())
        free = (count - 1) ** 2
        assert abs(squares - free) < 6 * (2 * free) ** 0.5
        apart = pairs[~np.eye(count, dtype=bool)]
        expected = seeds * (count - 1) / len(apart)
        assert abs(float(((apart - expected) ** 2 / expected).sum()) - len(apart)) < 7 * (2 * len(apart)) ** 0.5


def test_an_order_depends_on_seed_epoch_and_count_alone(tmp_path: Path, tok: bbpe.Tokenizer) -> None:
    done = shards_of(tmp_path, tok)
    rows, plain = done.windows(16, shuffle=7), list(done.windows(16))
    # on every machine, whatever the version of NumPy
    assert [rows._order(0)[place] for place in range(6)] == [37, 83, 88, 58, 30, 90]
    orders = {}
    for epoch in range(3):
        rows.set_epoch(epoch)
        orders[epoch] = [rows._order(epoch)[place] for place in range(len(rows))]
        assert [as_lists(row) for row in rows] == [as_lists(plain[at]) for at in orders[epoch]]
    assert len({str(order) for order in orders.values()}) == 3
    other = done.windows(16, shuffle=8)
    assert [other._order(0)[place] for place in range(len(other))] != orders[0]


def test_places_are_those_of_a_list(tmp_path: Path, tok: bbpe.Tokenizer) -> None:
    done = shards_of(tmp_path, tok)
    for rows in (done.windows(16, shuffle=1), done.bins(16, pad="<pad>", shuffle=1)):
        every = [as_lists(row) for row in rows]
        assert len(every) == len(rows) > 10
        for chosen in (slice(2, 9), slice(None, None, -3), slice(-4, None), slice(9, 2)):
            assert [as_lists(row) for row in rows[chosen]] == every[chosen]
        assert as_lists(rows[-1]) == every[-1] == as_lists(rows[np.int64(len(rows) - 1)])
        assert [as_lists(row) for row in rows.__getitems__([3, -2, 3])] == [every[3], every[-2], every[3]]
        assert rows.__getitems__([]) == []
        for wrong in (len(rows), -len(rows) - 1):
            with pytest.raises(IndexError, match=f"row {wrong} of {len(rows)}"):
                rows[wrong]
        with pytest.raises(TypeError):
            rows["1"]  # type: ignore[call-overload]


def test_views_are_of_the_file_and_arrays_are_not(tmp_path: Path, tok: bbpe.Tokenizer) -> None:
    done = shards_of(tmp_path, tok)
    row = done.windows(16)[0]
    assert row["input_ids"].dtype == np.uint16
    assert not row["input_ids"].flags.writeable
    for rows in (done.windows(16, dtype="int64"), done.bins(16, pad=0)):
        first, second = rows.__getitems__([0, 1])
        before = as_lists(second)
        for column in first.values():
            column[:] = 1
        assert as_lists(second) == before
        assert as_lists(rows[0]) != as_lists(first)


def test_rows_are_the_same_when_parts_are_closed(
    tmp_path: Path, tok: bbpe.Tokenizer, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, limit, value in (("megatron", "_MOST_OPEN", 2), ("parquet", "_MOST_HELD", 1500)):
        (tmp_path / name).mkdir()
        done = shards_of(tmp_path / name, tok, format=name)
        expected = [as_lists(row) for row in done.bins(16, pad=0, shuffle=4)]
        monkeypatch.setattr(row_set, limit, value)
        rows = done.bins(16, pad=0, shuffle=4)
        assert [as_lists(row) for row in rows] == expected
        assert sum(part is not None for part in rows._maker.parts) < len(done.plan)


def test_pickles_are_the_folder_and_the_arguments(tmp_path: Path, tok: bbpe.Tokenizer) -> None:
    done = shards_of(tmp_path, tok)
    for rows in (done.windows(16, shuffle=3, columns=ALL), done.bins(16, ragged=True, on_long="drop", method="greedy")):
        rows.set_epoch(2)
        every = [as_lists(row) for row in rows]
        data = pickle.dumps(rows)
        assert len(data) < 1000
        again = pickle.loads(data)
        assert [as_lists(row) for row in again] == every
        assert (again.epoch, repr(again), again.options) == (2, repr(rows), rows.options)
    (tmp_path / "b").mkdir()
    moved = tmp_path / "moved"
    (tmp_path / "out").rename(moved)
    bbpe.shard(corpus(tmp_path / "b", seed=9), tmp_path / "out", tok, threads=1)
    with pytest.raises(bbpe.CorpusError, match="the shards are not those that were pickled; make the bins again"):
        pickle.loads(data)


def test_places_are_whole_numbers_of_any_kind(tmp_path: Path, tok: bbpe.Tokenizer) -> None:
    done = shards_of(tmp_path, tok)
    for rows in (done.windows(2, shuffle=3), done.bins(9, ragged=True)):
        assert len(rows) > 128  # more than an int8 holds
        last = as_lists(rows[len(rows) - 1])
        for places in ([-1], [np.int8(-1)], np.array([-1]), (len(rows) - 1,), {-1}, iter([-1])):
            assert [as_lists(row) for row in rows.__getitems__(places)] == [last]
        for wrong in (0.5, "0", None):
            with pytest.raises(TypeError, match="rows have ints for places, or a slice; not"):
                rows[wrong]
            with pytest.raises(TypeError, match="rows have ints for places, or a slice; not"):
                rows.__getitems__([wrong])
        for mask in (np.array([0.5]), np.array([True, False])):
            with pytest.raises(TypeError, match="rows have ints for places"):
                rows.__getitems__(mask)
        with pytest.raises(IndexError, match=f"row -{len(rows) + 1} of {len(rows)}"):
            rows[-len(rows) - 1]


def test_wrong_arguments_are_named(tmp_path: Path, tok: bbpe.Tokenizer) -> None:
    plain = bbpe.train_from_iterator(["see my eyes"], 258)
    done = shards_of(tmp_path, plain)
    calls: list[tuple[type[Exception], str, dict[str, Any]]] = [
        (ValueError, r"n is 0; expected 1 to 16777216", {"n": 0}),
        (TypeError, r"n must be an int, not str", {"n": "8"}),
        (TypeError, r"shuffle must be an int, the seed, or None, not bool", {"shuffle": True}),
        (ValueError, r"labels is 'next'; expected 'shift'", {"labels": "next"}),
        (ValueError, r"columns has 'ids'; expected some of 'input_ids'", {"columns": ["ids"]}),
        (TypeError, r"columns must be a list of names of columns, not str", {"columns": "labels"}),
        (ValueError, r"expected each column once, and at least one", {"columns": []}),
        (ValueError, r"dtype is 'int8', which holds 128 ids; there may be 258", {"dtype": "int8"}),
        (ValueError, r"dtype is 'float32'; expected one of integers", {"dtype": "float32"}),
        (TypeError, r"dtype is 'x'; expected one of integers", {"dtype": "x"}),
        (TypeError, r"dtype is \['x'\]; expected one of integers", {"dtype": ["x"]}),
        (ValueError, r"masks is True; .*/out has texts, which have no masks", {"masks": True}),
        (TypeError, r"masks must be True, False or None, not int", {"masks": 1}),
    ]
    more: list[tuple[type[Exception], str, dict[str, Any]]] = [
        (ValueError, r"method is 'best'; expected 'best_fit' or 'greedy'", {"method": "best"}),
        (ValueError, r"on_long is 'skip'; expected 'cut', 'error' or 'drop'", {"on_long": "skip"}),
        (
            ValueError, r"on_long is 'error', and document \d+ has \d+ ids; rows have room for 8",
            {"pad": 0, "on_long": "error"},
        ),
        (ValueError, r"pad is None, and the tokenizer has no token to pad with; give pad=.* or ragged=True", {}),
        (ValueError, r"pad is '<pad>', which is no token", {"pad": "<pad>"}),
        (ValueError, r"pad is 0 and ragged is True", {"pad": 0, "ragged": True}),
        (ValueError, r"dtype is 'uint16'; labels are -100", {"pad": 0, "dtype": "uint16"}),
    ]
    for call, rows in ((done.windows, calls), (done.bins, [*calls, *more])):
        for error, message, given in rows:
            with pytest.raises(error, match=message):
                call(**{"n": 8, **({} if call == done.windows or given == {} else {"pad": given.get("pad")}), **given})
