"""The memory for what calls remember is counted, limited and given back."""

from __future__ import annotations

import gc
import mmap
import os
import pickle
import platform
import random
import signal
import subprocess
import sys
import sysconfig
import threading
from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest
from caches import ROOM, fresh, lines_ids, words
from processes import package_env
from strings import adversarial_strings

import bbpe
from bbpe.budget import resident_bytes
from bbpe.splitting.patterns import get_pattern


def test_caches_add_up_and_are_given_back(
    tok_of: Callable[[str], bbpe.Tokenizer], limit: Callable[[int], None]
) -> None:
    gc.collect()
    before = tok_of("gpt2").cache_info().process
    toks = [fresh(tok_of(pattern)) for pattern in ("gpt2", "cl100k", "o200k")]
    assert [tok.cache_info().tokenizer for tok in toks] == [0, 0, 0]
    for tok in toks:
        tok.encode("some words in a row " * 20_000)
    each = [tok.cache_info().tokenizer for tok in toks]
    assert min(each) > 1 << 20
    assert toks[0].cache_info().process == before + sum(each)
    toks[1].clear_cache()
    assert toks[1].cache_info().tokenizer == 0
    assert toks[0].cache_info().process == before + each[0] + each[2]
    toks[1].encode("some words in a row " * 20_000)
    assert toks[1].cache_info().tokenizer == each[1]
    del toks, tok
    gc.collect()
    assert tok_of("gpt2").cache_info().process == before


def test_caches_grow_with_what_they_hold(
    tok_of: Callable[[str], bbpe.Tokenizer], limit: Callable[[int], None]
) -> None:
    """A long text takes large tables at once, and more slots once it has filled them, short ones larger and larger;
    ids and the budget stay right."""
    gc.collect()
    tok, rng = fresh(tok_of("gpt2")), random.Random(79)
    model = tok._parts.encoder.encoder.model
    before = tok.cache_info().process
    known, sizes = [], [0]
    for _ in range(60):
        known += words(rng, 400, longest=9) + words(rng, 200, longest=47)
        lines = known[-600:] + rng.choices(known, k=600)
        assert tok.encode_to_numpy(b"\n".join([*lines, b""]), threads=1).tolist() == lines_ids(model, lines)
        sizes.append(tok.cache_info().tokenizer)
        assert tok.cache_info().process == before + sizes[-1]
    assert sizes == sorted(sizes)
    assert len(set(sizes)) > 3
    at_once = fresh(tok)
    at_once.encode_to_numpy(b"\n".join(known * 4), threads=1)
    assert at_once.cache_info().tokenizer > sizes[len(sizes) // 4]
    at_once.encode_to_numpy(b"\n".join(known * 4), threads=1)
    assert at_once.cache_info().tokenizer >= sizes[-1]


@pytest.mark.parametrize("call", ["encode_to_numpy", "count_tokens", "encode_batch"])
def test_tables_that_fill_up_become_larger_within_a_call(
    call: str, tok_of: Callable[[str], bbpe.Tokenizer], limit: Callable[[int], None]
) -> None:
    """So the text is not merged anew when it comes again; and no call after the first one changes their size."""
    texts = ["".join(f"{number % kinds * 7919:10d}" for number in range(12_000)) for kinds in (3, 12_000)]
    sizes = []
    for text in texts:
        tok = fresh(tok_of("gpt2"))
        each = set()
        for _ in range(4):
            getattr(tok, call)([text] if call == "encode_batch" else text)
            each.add(tok.cache_info().tokenizer)
        assert len(each) == 1
        sizes += each
    assert sizes[1] > 2 * sizes[0]


@pytest.mark.parametrize("is_tight", [False, True])
def test_words_that_are_long_get_more_room(
    is_tight: bool, tok_of: Callable[[str], bbpe.Tokenizer], limit: Callable[[int], None]
) -> None:
    """20,000 words of 25 bytes take 2.5 MB: what tables have at first is not enough, but where no more may be taken
    it stays so."""
    gc.collect()
    # caches of other tokenizers, which may be freed meanwhile, are freed now
    limit(0)
    limit(ROOM)
    tok, text = fresh(tok_of("gpt2")), " ".join(f"{number * 7919:024d}" for number in range(20_000))
    before, expected = tok.cache_info().process, tok.encode(text)
    tok.clear_cache()
    tok.encode_to_numpy(" ".join(f"{number % 3:024d}" for number in range(20_000)), threads=1)
    first = tok.cache_info().tokenizer
    if is_tight:
        limit(before + first)
    for _ in range(3):
        assert tok.encode_to_numpy(text, threads=1).tolist() == expected
        assert tok.cache_info().process == before + tok.cache_info().tokenizer
        assert (tok.cache_info().tokenizer >= first + 20_000 * 128) is not is_tight
        assert (tok.cache_info().tokenizer == first) is is_tight


def test_long_pieces_are_remembered_within_the_limit(
    tok_of: Callable[[str], bbpe.Tokenizer], limit: Callable[[int], None]
) -> None:
    """Lines of 48 to 1,024 bytes take memory that grows with them, and no more than there is; longer ones take none."""
    gc.collect()
    before = tok_of("gpt2").cache_info().process
    rng = random.Random(8)

    def taken(room: int, length: int, count: int = 3_000) -> int:
        limit(before + room)
        tok = fresh(tok_of("gpt2"))
        text = "\n".join("".join(rng.choices("ACGT", k=length)) for _ in range(count))
        ids = tok.encode(text)
        first = tok.cache_info()
        assert first.process <= before + room
        for _ in range(3):
            assert tok.encode(text) == ids
        assert tok.cache_info().process <= before + room
        return first.tokenizer

    assert taken(ROOM, 60) > taken(ROOM, 1_025, 176) + (1 << 18)
    assert taken(ROOM, 1_024, 176) > taken(ROOM, 1_025, 176) + (1 << 18)
    for room in (0, 1 << 15, 1 << 20, 3 << 20):
        assert taken(room, 60) <= room


@pytest.mark.parametrize("limited", [False, True])
def test_pretokens_that_are_cut_are_remembered_as_their_pieces_are(
    limited: bool, tok_of: Callable[[str], bbpe.Tokenizer], limit: Callable[[int], None]
) -> None:
    """Rows of emoji, each new, some of them twice at once: what the first call has taken is enough for all others."""
    limit(0 if limited else ROOM)
    tok, rng = fresh(tok_of("gpt2")), random.Random(5)
    for letters in ("\U0001f600\U0001f680\U0001f9e1\u2764\ufe0f", "\U0001f600\U0001f680!?*#%\u2605\u2601"):
        rows = ["".join(rng.choices(letters, k=rng.randint(4, 40))) for _ in range(4_000)]
        for again in range(0, len(rows), 9):
            rows[again] = rows[max(again - rng.randint(0, 3), 0)]
        expected = lines_ids(tok._parts.encoder.encoder.model, [row.encode() for row in rows])
        tok.clear_cache()
        sizes = []
        for _ in range(4):
            assert tok.encode_to_numpy("\n".join([*rows, ""]), threads=1).tolist() == expected
            sizes.append(tok.cache_info().tokenizer)
        assert len(set(sizes)) == 1
        assert (sizes[0] > 1 << 20) is not limited
        assert [one for row in tok.encode_batch([row + "\n" for row in rows], threads=1) for one in row] == expected


@pytest.mark.parametrize("room", [0, 64 << 20])
def test_large_arrays_that_use_memory_again_are_nobody_elses(
    tok_of: Callable[[str], bbpe.Tokenizer], limit: Callable[[int], None], room: int
) -> None:
    """Texts of more than 2^20 characters, arrays dropped in any order; what is kept never changes."""
    limit(room)
    tok, rng = fresh(tok_of("gpt2")), random.Random(83)
    kept: list[tuple[np.ndarray, np.ndarray]] = []
    words = " ".join(rng.choices(["some", "words", "in", "a", "row"], k=1_000_000))
    for step in range(14):
        start = rng.randrange(100_000)
        text = words[start : start + rng.randrange(1_200_000, len(words) - start)]
        ids = tok.encode_to_numpy(text, threads=rng.choice([1, 2]))
        assert ids.dtype == np.uint32
        assert ids.flags.writeable
        assert not any(np.shares_memory(ids, other) for other, _ in kept)
        assert tok.decode(ids[:1000]) == text[: len(tok.decode(ids[:1000]))]
        ids[rng.randrange(len(ids))] = step  # it is the caller's
        kept.append((ids, ids.copy()))
        del ids
        while len(kept) > rng.choice([0, 1, 3]):
            ids, copy = kept.pop(rng.randrange(len(kept)))
            assert np.array_equal(ids, copy)
            del ids, copy
    tok.clear_cache()
    assert all(np.array_equal(ids, copy) for ids, copy in kept)


def test_the_memory_of_a_large_array_serves_the_next_one_whatever_comes_between(
    tok_of: Callable[[str], bbpe.Tokenizer],
) -> None:
    tok, line = fresh(tok_of("gpt2")), "some words in a row\n"
    tok.clear_cache()
    tok.encode_to_numpy(120_000 * line, threads=1)
    ids = tok.encode_to_numpy(100_000 * line, threads=1)
    where = ids.ctypes.data
    del ids
    others = [mmap.mmap(-1, size << 20) for size in (1, 2, 4, 8, 16)]
    longer = [125_000] if sys.platform == "linux" else []  # where addresses cost nothing, there are more than asked for
    for lines in (110_000, 90_000, 120_000, *longer):
        ids = tok.encode_to_numpy(lines * line, threads=2)
        assert ids.ctypes.data == where
        del ids
    for other in others:
        other.close()


@pytest.mark.skipif(sys.platform != "linux", reason="elsewhere a room is the allocator's, which gives back nothing")
def test_a_large_array_takes_no_more_memory_than_its_ids(tok_of: Callable[[str], bbpe.Tokenizer]) -> None:
    """Though they are in a room that more ids were in before them."""
    tok, line = fresh(tok_of("gpt2")), "a b c d\n"
    tok.clear_cache()
    many = tok.encode_to_numpy(1_000_000 * line, threads=1)
    full, size = resident_bytes(), many.nbytes
    where = many.ctypes.data
    del many
    few = tok.encode_to_numpy(150_000 * line, threads=1)
    assert few.ctypes.data == where
    assert full - resident_bytes() > size - few.nbytes - (8 << 20)


# pages that the third batch of lists has to have anew, with such a limit; the second one may still grow tables
LISTS = """
import resource, sys
import bbpe

tok = bbpe.train_from_iterator(["ab cd"], 260, pattern="gpt2")
texts = ["a b c d " * 100] * 5_000
bbpe.set_cache_limit(int(sys.argv[1]))
for _ in range(3):
    rows = None
    before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
    rows = tok.encode_batch(texts, threads=1)
print(resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before)
"""


# the same of the fifth call; what it returns is freed before the next
RESULTS = """
import resource, sys
import bbpe

tok = bbpe.train_from_iterator(["ab cd"], 260, pattern="gpt2")
text = "a b c d " * int(sys.argv[2])
texts, ids = [text[:1000]] * (len(text) // 1000), [97] * len(text)
call = {
    "a text": lambda: tok.encode_to_numpy(text, threads=1),
    "bytes": lambda: tok.encode_to_numpy(text.encode(), threads=1),
    "a text by two threads": lambda: tok.encode_to_numpy(text, threads=2),
    "a batch": lambda: tok.encode_batch_to_numpy(texts, threads=1).ids,
    "with offsets": lambda: tok.encode_with_offsets(text),
    "a list": lambda: tok.encode(text),
    "decoded": lambda: tok.decode(ids),
    "decoded bytes": lambda: tok.decode_bytes(ids),
}[sys.argv[1]]
for _ in range(5):
    result = None
    before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
    result = call()
print(resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before)
"""


def _by_glibc(test: Callable[..., None]) -> Callable[..., None]:
    for mark in (
        pytest.mark.skipif(platform.libc_ver()[0] != "glibc", reason="says what glibc's allocator does"),
        pytest.mark.skipif("asan" in os.environ.get("LD_PRELOAD", ""), reason="has another allocator"),
        pytest.mark.skipif(bool(sysconfig.get_config_var("Py_GIL_DISABLED")), reason="Python has another allocator"),
    ):
        test = mark(test)
    return test


@_by_glibc
@pytest.mark.parametrize(
    "call",
    ["a text", "bytes", "a text by two threads", "a batch", "with offsets", "a list", "decoded", "decoded bytes"],
)
def test_the_memory_of_results_serves_the_next_ones(call: str) -> None:
    """Though glibc maps what is beyond 128 KiB anew, unless it has freed as much at once, up to 32 MiB."""
    for repeats in (8_000, 40_000) if call == "with offsets" else (8_000, 40_000, 120_000):
        command = [sys.executable, "-c", RESULTS, call, str(repeats)]
        done = subprocess.run(command, env=package_env(), capture_output=True, text=True, check=True)
        assert int(done.stdout) < 4 * repeats * 4 // 4096 // 10, repeats


@_by_glibc
def test_the_memory_of_lists_serves_the_next_ones() -> None:
    # glibc gives back all that is free at the end of its memory, unless something stands there
    environment = package_env(MALLOC_TRIM_THRESHOLD_="131072")

    def faults(limit: int) -> int:
        command = [sys.executable, "-c", LISTS, str(limit)]
        return int(subprocess.run(command, env=environment, capture_output=True, text=True, check=True).stdout)

    pages = 5_000 * 800 * 8 // 4096
    assert faults(0) > pages // 2
    assert faults(64 << 20) < pages // 20


def test_the_limit_holds(tok_of: Callable[[str], bbpe.Tokenizer], limit: Callable[[int], None]) -> None:
    gc.collect()
    before = tok_of("gpt2").cache_info().process
    text = "some words in a row " * 20_000
    for room in (0, 1 << 20, 30 << 20, 64 << 20):
        limit(before + room)
        toks = [fresh(tok_of("gpt2")) for _ in range(3)]
        assert len({tuple(tok.encode(text)) for tok in toks}) == 1
        info = toks[0].cache_info()
        assert info.process <= info.limit == before + room
        del toks
        gc.collect()
    limit(0)
    toks = [fresh(tok_of("gpt2"))]
    toks[0].encode(text)
    assert toks[0].cache_info().tokenizer == 0
    with pytest.raises(ValueError, match="-1"):
        limit(-1)


def test_a_pickle_holds_no_cache(tok_of: Callable[[str], bbpe.Tokenizer]) -> None:
    tok = fresh(tok_of("cl100k"))
    size = len(pickle.dumps(tok))
    ids = tok.encode("some words and 文字 in a row " * 20_000)
    assert len(pickle.dumps(tok)) == size
    again = pickle.loads(pickle.dumps(tok))
    assert again.cache_info().tokenizer == 0
    assert again.encode("some words and 文字 in a row " * 20_000) == ids


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
@pytest.mark.filterwarnings("ignore:This process:DeprecationWarning")
def test_fork_while_a_thread_encodes(tok_of: Callable[[str], bbpe.Tokenizer]) -> None:
    tok = fresh(tok_of("cl100k"))
    text = "".join(adversarial_strings(300, seed=77)) * 4
    expected = fresh(tok).encode(text)
    stop, begun = threading.Event(), threading.Event()

    def work() -> None:
        while not stop.is_set():
            tok.encode(text)
            begun.set()

    thread = threading.Thread(target=work)
    thread.start()
    begun.wait()
    try:
        for _ in range(5):
            child = os.fork()
            if child == 0:
                signal.alarm(30)  # rather than wait for a lock for ever
                os._exit(0 if tok.encode(text) == expected and tok.encode_batch([text] * 3)[2] == expected else 1)
            assert os.waitpid(child, 0)[1] == 0
    finally:
        stop.set()
        thread.join()


def test_a_changed_pattern_shares_nothing(tok_of: Callable[[str], bbpe.Tokenizer]) -> None:
    """Two tokenizers of one vocabulary, in turns."""
    one = fresh(tok_of("gpt2"))
    other = bbpe.Tokenizer(replace(one.spec, pattern=get_pattern("cl100k")))
    texts = adversarial_strings(60, seed=78)
    expected = [(fresh(one).encode(text), fresh(other).encode(text)) for text in texts]
    assert [(one.encode(text), other.encode(text)) for text in texts] == expected
