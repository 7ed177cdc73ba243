"""Threads give the ids that one gives, in order, and an error reaches the caller."""

from __future__ import annotations

import gc
import itertools
import random
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from seeds import full_then_long
from split_cases import SCHEMES
from strings import adversarial_strings, byte_soups

import bbpe
from bbpe import tokenizer
from bbpe.core.helper import end_idle
from bbpe.encoding import engine
from bbpe.records import replace
from bbpe.spec.rules import Template

Text = str | bytes

LETTERS = ["中文漢字", "あいうえおカタ", "中あ한ªʰ", "中中中中文Xx", "あいxyZ", "漢\u0301字ǅ", "Xxあ\u3099一'sS", "aé"]
LETTERS += ["中"]
BEFORE = ["", "b", "B", "bB", " ", "'", "7"]
BEHIND = ["", "Abc", "abc", "'s", "'re 1", " Z", "。"]


@pytest.fixture
def small_chunks(monkeypatch: pytest.MonkeyPatch) -> None:
    """Threads for any text that is longer than a few words."""
    monkeypatch.setattr(engine, "THREAD_WORTH", 200)
    monkeypatch.setattr(tokenizer.Tokenizer, "_short", None)
    monkeypatch.setattr(engine, "_CHUNK", 97)
    monkeypatch.setattr(engine, "_LEAST_CHUNK", 31)


@pytest.mark.parametrize("threads", [1, 2, 3, 16, 61])
def test_tasks_are_as_large_as_they_may_be_and_as_many_for_each_thread(threads: int) -> None:
    few, least, most = engine._TASKS, engine._LEAST_CHUNK, engine._CHUNK
    for length in (0, 1, least, few * threads * least, few * threads * most, (1 << 30) + 1, 1 << 40):
        size = engine.chunk_length(length, threads)
        assert least <= size <= most
        rounds = -(-length // (size * threads))
        if size == least:
            assert length <= threads * few * least
        else:  # with one round less they would be too large, or too few
            assert rounds == few or (rounds > few and length > threads * (rounds - 1) * most)


def long_words(rng: random.Random, n: int) -> Iterator[str]:
    """Text without blanks: caseless runs, and cases among them."""
    for _ in range(n):
        run = "".join(rng.choices(rng.choice(LETTERS), k=rng.randint(100, 900)))
        yield rng.choice(BEFORE) + run + rng.choice(BEHIND)


def texts_of(rng: random.Random, n: int) -> Iterator[Text]:
    strings = adversarial_strings(30 * n, seed=rng.randrange(1 << 20), surrogates=True)
    soups = byte_soups(10 * n, seed=rng.randrange(1 << 20))
    for at in range(n):
        yield "".join(strings[30 * at : 30 * at + 30])
        yield b"".join(soups[10 * at : 10 * at + 10])
    yield from long_words(rng, 4 * n)
    yield from (text.encode() for text in long_words(rng, 4 * n))


def check_cuts(tok: bbpe.Tokenizer, text: Text, chunks: Sequence[int] = (50, 97, 300, 1000)) -> int:
    """Encode the parts of a text apart; returns how many there were."""
    parts = 0
    expected = tok.encode(text)
    for chunk in chunks:
        cuts = tok._parts.encoder.encoder.cuts(text, chunk).tolist()
        assert (cuts[0], cuts[-1]) == (0, len(text))
        ids: list[int] = []
        for start, end in pairwise(cuts):
            assert end - start >= min(chunk, len(text)) or end == len(text), cuts
            ids += tok.encode(text[start:end])
            parts += 1
        if ids != expected:
            wrong = [at for at in cuts[1:-1] if tok.encode(text[:at]) + tok.encode(text[at:]) != expected]
            around = [(at, text[max(0, at - 20) : at], text[at : at + 20]) for at in wrong[:3]]
            pytest.fail(f"chunk {chunk}, wrong cuts {around} of {text[:60]!r}, {len(text)} long")
    return parts


@pytest.mark.parametrize("rounds", [3, *full_then_long([20], [60])])
@pytest.mark.parametrize("pattern", SCHEMES)
def test_parts_have_the_ids_of_the_whole(
    pattern: str, rounds: int, tok_of: Callable[[str], bbpe.Tokenizer]
) -> None:
    tok, rng = tok_of(pattern), random.Random(91)
    assert sum(check_cuts(tok, text) for text in texts_of(rng, rounds)) > 40 * rounds


def cased_word_tokenizer(pattern: str) -> bbpe.Tokenizer:
    """Tokens of whole characters, and some that join a caseless letter to one with case."""
    tokens = dict.fromkeys(bytes((byte,)) for byte in range(256))
    for text in ("あ", "中", "𠀀", "ab", "abc", "中Ab", "中a", "あA"):
        data = text.encode()
        tokens.update(dict.fromkeys(data[:end] for end in range(2, len(data) + 1)))
    merges = [(token[:-1], token[-1:]) for token in tokens if len(token) > 1]
    return bbpe.Tokenizer.from_merges(dict(enumerate(tokens)), merges, pattern=pattern)


@pytest.mark.parametrize("pattern", SCHEMES)
def test_where_a_word_goes_on_behind_what_was_looked_at(pattern: str) -> None:
    """Cases far behind decide where a cased word ends, so a cut must not believe that it ends where looking does."""
    tok = cased_word_tokenizer(pattern)
    for before, behind in itertools.product(("b", "B", ""), ("Abc", "abc", "")):
        text = before + "あ中" * 60 + behind
        for same in (text, text.encode(), text.replace("あ", "😀あ"), text.replace("あ", "\ud840\udc00")):
            check_cuts(tok, same, range(20, 120, 3))


@pytest.mark.parametrize("unit", ["a", "中", " ", "\n", "1", "!", "aB"])
def test_text_that_cannot_be_cut(unit: str, tok_of: Callable[[str], bbpe.Tokenizer]) -> None:
    """Looking for a cut ends, and costs no more than the text is long."""
    for pattern in ("gpt2", "o200k"):
        tok = tok_of(pattern)
        for text in (unit * 3_000, unit * 3_000 + " word", unit.encode() * 3_000):
            check_cuts(tok, text, (10, 999, 1_000, 2_900, 2_999, 3_000, 9_000))


@pytest.mark.parametrize("size", [25_000, *full_then_long([500_000], [2_000_000])])
@pytest.mark.parametrize("name", ["gpt2", "cl100k_base", "o200k_base", "llama3", "deepseek_v3.tokenizer.json"])
def test_parts_of_real_text(
    name: str, size: int, real: Callable[[str], bbpe.Tokenizer], corpus: Callable[..., str]
) -> None:
    tok = real(name)
    for source in ("en", "code", "ja", "zh", "multi"):
        text = corpus(source, size)
        for same in (text, text.encode(), text.replace(" ", "").replace("\n", "")):
            check_cuts(tok, same, (100, 5_000))
    dense = "".join(char for char in corpus("zh", size) if char.isalpha())
    parts = check_cuts(tok, dense, (1_000,))
    assert parts > len(dense) / 2_000 or tok.spec.whole_pretokens or "deepseek" in name


@pytest.mark.usefixtures("small_chunks")
@pytest.mark.parametrize("pattern", ["gpt2", "o200k", "llama3", "deepseek_v3", "whitespace"])
def test_one_text(pattern: str, tok_of: Callable[[str], bbpe.Tokenizer]) -> None:
    tok, rng = tok_of(pattern), random.Random(92)
    for text in texts_of(rng, 2):
        expected = tok.encode(text)
        for threads in (1, 2, 5):
            ids = tok.encode_to_numpy(text, threads=threads)
            assert ids.dtype == np.uint32
            assert ids.tolist() == expected


def shapes(rng: random.Random) -> dict[str, list[Text]]:
    strings: list[Text] = [*adversarial_strings(400, seed=93, surrogates=True), *byte_soups(50, seed=94)]
    giant = "".join(adversarial_strings(600, seed=95))
    return {
        "empty": ["", b"", "", bytearray()] * 50,  # type: ignore[list-item]
        "a giant among small ones": [*strings[:30], giant, *strings[30:60], giant.encode(), ""],
        "tiny": ["".join(rng.choices("ab é中 ", k=rng.randint(0, 6))) for _ in range(12_000)],
        "none": [],
    }


@pytest.mark.usefixtures("small_chunks")
@pytest.mark.parametrize("shape", ["empty", "a giant among small ones", "tiny", "none"])
def test_batches(shape: str, tok_of: Callable[[str], bbpe.Tokenizer], monkeypatch: pytest.MonkeyPatch) -> None:
    if shape == "tiny":
        monkeypatch.setattr(engine, "_CHUNK", 8_000)
    tok = tok_of("cl100k")
    texts = shapes(random.Random(96))[shape]
    expected = [tok.encode(text) for text in texts]
    for threads in (None, 1, 2, 5):
        assert tok.encode_batch(texts, threads=threads) == expected
        ragged = tok.encode_batch_to_numpy(texts, threads=threads)
        assert ragged.offsets.tolist() == [0, *np.cumsum([len(ids) for ids in expected], dtype=np.int64).tolist()]
        assert ragged.ids.tolist() == [token_id for ids in expected for token_id in ids]


@pytest.mark.usefixtures("small_chunks")
@pytest.mark.parametrize("length", [3, 900])
def test_ids_around_a_text_that_threads_divide(
    length: int, tok_of: Callable[[str], bbpe.Tokenizer], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(engine, "thread_count", lambda threads: 3)
    plain = tok_of("gpt2")
    template = Template(((7, 0), ("A", 0), (9, 0)), ((7, 0), ("A", 0), (9, 0), ("B", 1)))
    tok, text = bbpe.Tokenizer(replace(plain.spec, template=template)), "some words in a row " * length
    ids = plain.encode(text)
    for kind in (str, str.encode):
        given = kind(text)
        assert tok.encode(given, add_special_tokens=True) == [7, *ids, 9]
        assert tok.encode(given, pair=given, add_special_tokens=True) == [7, *ids, 9, *ids]
        assert tok.encode_to_numpy(given, add_special_tokens=True).tolist() == [7, *ids, 9]
        assert tok.encode_batch([given, given], add_special_tokens=True) == [[7, *ids, 9]] * 2
        assert tok.encode(given, add_special_tokens=False) == tok.encode(given) == ids
        assert tok.encode(given, add_special_tokens=True, allowed_special="all") == [7, *ids, 9]
    assert tok.as_tokenizers().encode(text).ids == [7, *ids, 9]


@pytest.mark.usefixtures("small_chunks")
@pytest.mark.parametrize("threads", [None, 1, 2, 5])
@pytest.mark.parametrize("bad", [3, None, ["a"], np.zeros(3, np.int64), memoryview(b"abcd")[::2]])
def test_what_is_no_text_is_refused_from_any_thread(
    bad: Any, threads: int | None, tok_of: Callable[[str], bbpe.Tokenizer]
) -> None:
    tok = tok_of("gpt2")
    good = ["some words in a row " * 20] * 50
    for at in (0, 1, 25, 50):
        texts = [*good[:at], bad, *good[at:]]
        for method in (tok.encode_batch, tok.encode_batch_to_numpy):
            with pytest.raises(TypeError):
                method(texts, threads=threads)
    assert len(tok.encode_batch(good, threads=threads)) == 50


def test_a_short_text_needs_no_pool(tok_of: Callable[[str], bbpe.Tokenizer], monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: Any, **__: Any) -> None:
        raise AssertionError("a pool for a short text")

    end_idle()
    monkeypatch.setattr("bbpe.core.helper.start_new_thread", refuse)
    for pattern in ("gpt2", "whitespace"):
        tok = tok_of(pattern)
        for text in ("", "some twenty letters.", "中文" * 1_000, b"bytes"):
            ids = tok.encode(text)
            assert tok.encode_to_numpy(text).tolist() == tok.encode(text, allowed_special="all") == ids
            assert tok.encode_batch([text] * 3) == [ids] * 3
            assert tok.encode_batch_to_numpy([text])[0].tolist() == ids
            assert list(tok.encode_iterable([text])) == ids
            assert tok.decode(ids) == tok.decode_batch([ids])[0]


@pytest.mark.parametrize("seconds", [0.5, *full_then_long([6.0], [20.0])])
def test_eight_threads_share_a_tokenizer_and_its_caches(
    seconds: float, tok_of: Callable[[str], bbpe.Tokenizer]
) -> None:
    """Room for the caches of one thread or two, which one more thread clears again and again."""
    tok = bbpe.Tokenizer(tok_of("cl100k").spec)
    strings = adversarial_strings(400, seed=98)
    texts: list[Text] = ["".join(strings[at : at + 8]) for at in range(0, 400, 8)]
    texts += [*byte_soups(50, seed=99), *long_words(random.Random(100), 20)]
    expected = [tok.encode(text) for text in texts]
    tok.clear_cache()
    gc.collect()  # tokenizers of earlier tests, whose memory would be given back meanwhile
    before = tok.cache_info()
    until = time.monotonic() + seconds

    def work(number: int) -> int:
        rng, done = random.Random(number), 0
        while not done or time.monotonic() < until:  # once, even where eight threads wait for one core
            at = rng.randrange(len(texts))
            assert tok.encode(texts[at]) == expected[at]
            assert tok.encode_to_numpy(texts[at]).tolist() == expected[at]
            several = [rng.randrange(len(texts)) for _ in range(4)]
            assert tok.encode_batch([texts[at] for at in several], threads=1) == [expected[at] for at in several]
            done += 1
        return done

    def clear() -> int:
        while time.monotonic() < until:
            tok.clear_cache()
            info = tok.cache_info()
            assert 0 <= info.tokenizer <= info.process
            time.sleep(0.01)
        return 1

    bbpe.set_cache_limit(before.process + (80 << 20))
    try:
        with ThreadPoolExecutor(9) as pool:
            running = [pool.submit(work, number) for number in range(8)] + [pool.submit(clear)]
            assert all(future.result() for future in running)
    finally:
        bbpe.set_cache_limit(before.limit)
    tok.clear_cache()
    # nothing of this one is left; idle tables of others may have made room for its own
    assert tok.cache_info().tokenizer == 0
    assert tok.cache_info().process <= before.process
    assert threading.active_count() < 50


FIRST_CALLS: list[Callable[[bbpe.Tokenizer], object]] = [
    lambda tok: tok.encode(FIRST_TEXT),
    lambda tok: tok.encode_to_numpy(FIRST_TEXT.encode()).tolist(),
    lambda tok: tok.encode_batch([FIRST_TEXT, "", "ß"], threads=2),
    lambda tok: tok.decode(range(256, 290)),
    lambda tok: tok.encode_with_offsets(FIRST_TEXT)[1].tolist(),
    lambda tok: (tok.count_tokens(FIRST_TEXT), tok.fits(FIRST_TEXT, 5), tok.is_canonical([256, 257])),
    lambda tok: "".join(tok.stream_decoder().stream(range(256, 290))),
    lambda tok: (tok.fingerprint, tok.get_vocab(), tok.merges),
]
FIRST_TEXT = "see my eyes first, see my dogs: 12345 Übermut 東京 " * 40


def test_the_first_calls_of_all_threads_come_at_once() -> None:
    """What a tokenizer makes at its first use, and the modules behind it, where nothing waits for a lock."""
    spec = bbpe.train_from_iterator([FIRST_TEXT], 300, pattern="cl100k").spec
    expected = [call(bbpe.Tokenizer(spec)) for call in FIRST_CALLS]
    with ThreadPoolExecutor(len(FIRST_CALLS)) as pool:
        for turn in range(30):
            tok, start = bbpe.Tokenizer(spec), threading.Barrier(len(FIRST_CALLS))

            def work(number: int, tok: bbpe.Tokenizer = tok, start: threading.Barrier = start) -> bool:
                start.wait()
                return FIRST_CALLS[number](tok) == expected[number]

            order = random.Random(turn).sample(range(len(FIRST_CALLS)), len(FIRST_CALLS))
            assert all(pool.map(work, order)), turn
