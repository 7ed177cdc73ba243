"""Counting in parts: where a text is cut, and by how many threads, changes nothing."""

import random

import pytest

from bbpe import training
from bbpe.core.count import PretokenTable
from bbpe.training import _Counter, _plan

WORDS = ["word", "Word", "1", "'s", "'ll", ".", "!", "é", "漢", "<|s|>", "\xff"]
BLANKS = [" ", "  ", "\n", "\r\n", "\n\n", "\t", "\u3000", "\x85"]


def soup(seed, length=4000):
    rng = random.Random(seed)
    text = "".join(rng.choices(WORDS + BLANKS, k=length))
    return text.encode() if seed % 2 else text.encode("latin-1", "replace")  # which is not UTF-8


def counted(data, *, threads, document="file", pattern="gpt2"):
    counter = _Counter(_plan(300, pattern, ["<|s|>"], 1, None, "first", document, threads))
    done = list(counter.add(data))
    assert done == sorted(done)
    return counter.table.items()


@pytest.mark.parametrize("document", ["file", "line"])
@pytest.mark.parametrize("seed", range(6))
def test_regions_change_nothing(seed, document, monkeypatch):
    data = soup(seed)
    whole = counted(data, threads=1, document=document)
    for size in (1, 7, 100, 1000):
        monkeypatch.setattr(training, "_REGION", size)
        assert counted(data, threads=1, document=document) == whole
        assert counted(data, threads=3, document=document) == whole


@pytest.mark.parametrize("document", ["file", "line"])
def test_compiled_and_regex_count_alike(document):
    data = soup(3)
    by_regex = r"'(?:[sdmt]|ll|ve|re)| ?\p{L}+| ?\p{N}+|(?: ?)[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+"
    assert counted(data, threads=1, document=document, pattern=by_regex) == counted(data, threads=1, document=document)


def test_update_keeps_the_order_of_first_appearance():
    first, second = PretokenTable(), PretokenTable()
    first.add(b"b", 1)
    second.add(b"a", 2**40)
    second.add(b"b", 2)
    first.update(second)
    assert first.items() == [(b"b", 3), (b"a", 2**40)]


def test_a_count_beyond_64_bits_is_refused():
    table = PretokenTable()
    table.add(b"a", 2**63)
    with pytest.raises(OverflowError):
        table.add(b"a", 2**63)
