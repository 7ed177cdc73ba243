"""The encoder against the reference, in every mode, with every pattern and every kind of text."""

from __future__ import annotations

import copy
import gc
import inspect
import mmap
import random
import tracemalloc
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from strings import CUSTOM_PATTERNS, adversarial_strings, byte_soups

import bbpe
from bbpe.core.bpe import CompiledBPE
from bbpe.reference import SlowTokenizer, by_order, by_ranks, merge
from bbpe.splitting.patterns import PATTERNS


def random_ranks(rng: random.Random, alphabet: bytes) -> dict[bytes, int]:
    """Tokens of any bytes, so that many are not made of two others; with holes in the ranks."""
    words = {bytes(rng.choices(alphabet, k=rng.randint(2, 6))) for _ in range(rng.randint(0, 60))}
    tokens = [bytes((byte,)) for byte in range(256)] + sorted(words)
    rng.shuffle(tokens)
    return dict(zip(tokens, sorted(rng.sample(range(500), k=len(tokens))), strict=True))


def test_rank_mode_on_random_vocabularies() -> None:
    rng = random.Random(21)
    for _ in range(50):
        ranks = random_ranks(rng, b"abc")
        vocab = {token_id: token for token, token_id in ranks.items()}
        model, rank = CompiledBPE(vocab, None), by_ranks(ranks)
        for length in (0, 1, 2, 3, 8, 31, 32, 33, 34, 80):
            pretoken = bytes(rng.choices(b"abc", k=length))
            expected = [ranks[token] for token in merge(pretoken, rank)]
            assert model.encode_pretoken(pretoken) == expected, (ranks, pretoken)
            assert model.encode_pretoken(pretoken, "long") == expected, (ranks, pretoken)
        tok = bbpe.Tokenizer.from_ranks(ranks, pattern="gpt2")
        slow = SlowTokenizer(tok.spec)
        text = " ".join("".join(rng.choices("abc", k=rng.randint(1, 7))) for _ in range(60))
        assert tok.encode(text) == slow.encode(text)


def test_merge_list_mode_on_random_vocabularies() -> None:
    rng = random.Random(22)
    for _ in range(50):
        ids = random_ranks(rng, b"abc")
        splits = [(token[:i], token[i:]) for token in ids for i in range(1, len(token))]
        known = [(left, right) for left, right in splits if left in ids and right in ids]
        # in any order, some left out, some listed twice
        merges = rng.choices(known, k=len(known)) if known else []
        vocab = {token_id: token for token, token_id in ids.items()}
        tok = bbpe.Tokenizer.from_merges(vocab, merges, pattern="none")
        slow, order = SlowTokenizer(tok.spec), by_order(merges)
        for length in (0, 1, 2, 3, 8, 31, 32, 33, 34, 80):
            pretoken = bytes(rng.choices(b"abc", k=length))
            expected = [ids[token] for token in merge(pretoken, order)]
            assert tok.encode(pretoken) == expected == slow.encode(pretoken), (ids, merges, pretoken)


@pytest.mark.parametrize("unit", ["a", "ab", "aab", " ", "\n", "中", "é", "1", "!", "😀"])
def test_long_runs_are_linear_and_right(unit: str) -> None:
    tok = bbpe.train_from_iterator([unit * 64, "ab" * 40], 300, pattern="none")
    slow = SlowTokenizer(tok.spec)
    assert tok.encode(unit * 300) == slow.encode(unit * 300)
    ids = tok.encode(unit * 100_000)
    assert tok.decode(ids) == unit * 100_000


@pytest.mark.parametrize("pattern", [*PATTERNS, *CUSTOM_PATTERNS])
def test_every_pattern_as_the_reference(pattern: str, tok_of: Callable[[str], bbpe.Tokenizer]) -> None:
    tok = tok_of(pattern)
    slow = SlowTokenizer(tok.spec)
    for text in [*adversarial_strings(15, seed=24, surrogates=True), *byte_soups(6, seed=25)]:
        if pattern == "none":
            text = text[:80]
        expected = slow.encode(text)
        assert tok.encode(text) == expected, text
        assert tok.encode_to_numpy(text).tolist() == expected
        if not tok.spec.pattern.drops_gaps and isinstance(text, bytes):
            assert tok.decode_bytes(expected) == text


def test_every_kind_of_text(tok_of: Callable[[str], bbpe.Tokenizer], tmp_path: Path) -> None:
    tok = tok_of("gpt2")
    text = "Hello wörld, it's 中文 😀\n"
    data, expected = text.encode(), tok.encode(text)
    (tmp_path / "text.txt").write_bytes(data)
    kinds = [data, bytearray(data), memoryview(data), np.frombuffer(data, np.uint8), memoryview(b"??" + data)[2:]]
    for kind in kinds:
        assert tok.encode(kind) == tok.encode_bytes(kind) == expected
        assert tok.encode_to_numpy(kind).tolist() == expected
        assert tok.encode(kind, allowed_special="all") == expected
        assert tok.tokenize(kind) == tok.tokenize(text)
    with (tmp_path / "text.txt").open("rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as mapped:
        assert tok.encode(mapped) == tok.encode_to_numpy(mapped).tolist() == expected
    assert [ids.tolist() for ids in tok.encode_files(tmp_path / "text.txt")] == [expected]
    assert tok.encode_batch([text, *kinds]) == [expected] * 6


@pytest.mark.parametrize("text", [3, None, ["a"], 1.5, np.zeros(3, np.int64), np.zeros((2, 2), np.uint8), object()])
def test_other_texts_are_refused(text: Any, tok_of: Callable[[str], bbpe.Tokenizer]) -> None:
    tok = tok_of("gpt2")
    for method in (tok.encode, tok.encode_bytes, tok.encode_to_numpy, tok.tokenize):
        with pytest.raises(TypeError):
            method(text)
    with pytest.raises(TypeError):
        tok.encode_batch([text])


def test_other_batches_are_refused(tok_of: Callable[[str], bbpe.Tokenizer]) -> None:
    tok = tok_of("gpt2")
    for method in (tok.encode_batch, tok.encode_batch_to_numpy):
        for batch in ("text", b"text", 3, None):
            with pytest.raises(TypeError):
                method(batch)  # type: ignore[arg-type]
    with pytest.raises(TypeError):
        tok.encode_bytes("text")  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="threads"):
        tok.encode_batch(["a"], threads=0)


def test_strided_arrays_are_refused_or_right(tok_of: Callable[[str], bbpe.Tokenizer]) -> None:
    with pytest.raises(TypeError):
        tok_of("gpt2").encode(np.frombuffer(b"abcdef", np.uint8)[::2])


@pytest.mark.parametrize("pattern", ["gpt2", "cl100k", "whitespace"])
def test_batches(pattern: str, tok_of: Callable[[str], bbpe.Tokenizer]) -> None:
    tok = tok_of(pattern)
    texts = [*adversarial_strings(200, seed=31, surrogates=True), "", *tok.special_tokens, "a" * 5_000]
    expected = tok.encode_batch(iter(texts))
    for threads in (None, 1, 3):
        ragged = tok.encode_batch_to_numpy(iter(texts), threads=threads)
        assert (ragged.ids.dtype, ragged.offsets.dtype) == (np.uint32, np.int64)
        assert len(ragged) == len(texts)
    if not tok.spec.pattern.drops_gaps:
        assert tok.decode_batch(ragged) == [tok.decode(ids) for ids in expected]
        assert tok.decode_batch(expected) == tok.decode_batch(ragged)
    assert tok.encode_batch([]) == []
    assert len(tok.encode_batch_to_numpy([])) == 0


def test_lists_of_ids_are_ordinary_lists(tok_of: Callable[[str], bbpe.Tokenizer]) -> None:
    """A cycle through one of them is freed."""
    tok, texts = tok_of("gpt2"), [f"text {number}" for number in range(50_000)]
    rows = tok.encode_batch(texts, threads=1)
    assert gc.is_tracked(rows)
    assert all(map(gc.is_tracked, rows))
    assert gc.is_tracked(tok.encode(texts[0]))
    assert rows == tok.encode_batch(texts, threads=2)
    row = rows[0]
    row += [7]
    assert copy.deepcopy(rows)[0] == [*tok.encode(texts[0]), 7]


def test_lists_of_ids_are_freed(tok_of: Callable[[str], bbpe.Tokenizer]) -> None:
    tok, texts = tok_of("gpt2"), [f"text {number}" for number in range(50_000)]
    tok.encode_batch(texts, threads=1)
    tracemalloc.start()
    try:
        rows = tok.encode_batch(texts, threads=1)
        held = tracemalloc.get_traced_memory()[0]
        del rows
        assert tracemalloc.get_traced_memory()[0] < held / 100
    finally:
        tracemalloc.stop()


def test_calls_without_options_take_the_short_way_alone(tok_of: Callable[[str], bbpe.Tokenizer]) -> None:
    """They skip Python code; what they return, raise and are called is as if they did not."""
    tok = tok_of("gpt2")
    slow = inspect.unwrap(bbpe.Tokenizer.encode)
    assert slow is not bbpe.Tokenizer.encode
    for text in ("", "a", "some text", "é中😀\ud800", b"bytes", bytearray(b"\xff"), "word " * 300_000):
        assert tok.encode(text) == tok.encode(text=text) == slow(tok, text)
    assert inspect.signature(bbpe.Tokenizer.encode) == inspect.signature(slow)
    assert (bbpe.Tokenizer.encode.__qualname__, bbpe.Tokenizer.encode.__doc__) == ("Tokenizer.encode", slow.__doc__)
    for wrong in (lambda: tok.encode(), lambda: tok.encode("a", "b", "all"), lambda: tok.encode("a", special="all")):
        with pytest.raises(TypeError):
            wrong()


def test_short_batches_take_the_short_way(tok_of: Callable[[str], bbpe.Tokenizer]) -> None:
    """They skip Python code; what they return, raise and are called is as if they did not."""
    tok = tok_of("gpt2")
    slow: Any = inspect.unwrap(bbpe.Tokenizer.encode_batch)
    assert slow is not bbpe.Tokenizer.encode_batch
    batches: list[Any] = [
        [], [""], ["a", "some text", "é中😀\ud800"], ["ab"] * 64, ["ab"] * 65, ["a" * 2047], ["a" * 2048], [b"ab", "c"],
        [("a", "b"), "c"], ("a", "b"),
    ]  # fmt: skip
    for texts in batches:
        again = list(texts)
        for options in ({}, {"add_special_tokens": True}, {"threads": 2}, {"allowed_special": "all"}):
            assert tok.encode_batch(again, **options) == slow(tok, again, **options)
        assert tok.encode_batch(texts=texts) == slow(tok, again)
    assert all(map(gc.is_tracked, tok.encode_batch(["ab", "c"])))
    assert inspect.signature(bbpe.Tokenizer.encode_batch) == inspect.signature(slow)
    special = next(iter(tok.special_tokens))
    wrongs: list[tuple[Any, dict[str, Any]]] = [
        (["a", 1], {}), ("ab", {}), (["a"], {"threads": 0}), (["a"], {"threads": "2"}), (["a"], {"special": "all"}),
        (["a", f"b{special}"], {"disallowed_special": "all"}), (["a"], {"allowed_special": 3}),
    ]  # fmt: skip
    for texts, options in wrongs:
        with pytest.raises((TypeError, ValueError)) as said:
            slow(tok, texts, **options)
        with pytest.raises(type(said.value)) as found:
            tok.encode_batch(texts, **options)
        # compiled functions leave the class out of the message of an unknown option
        assert str(found.value) == str(said.value).removeprefix("Tokenizer.")


def test_numpy_results(tok_of: Callable[[str], bbpe.Tokenizer]) -> None:
    for pattern in ("gpt2", "llama3", "whitespace"):
        tok = tok_of(pattern)
        for text in ("", " ", "a", "some text and <s> more\n" * 50):
            for options in ({}, {"allowed_special": "all"}):
                ids = tok.encode_to_numpy(text, **options)
                assert ids.dtype == np.uint32
                assert ids.ndim == 1
                assert ids.flags.owndata or ids.base is None or ids.base.size < 2 * ids.size + 64
                assert ids.tolist() == tok.encode(text, **options)


def test_lone_surrogates_as_tiktoken(tok_of: Callable[[str], bbpe.Tokenizer]) -> None:
    tok = tok_of("gpt2")
    assert tok.encode("\ud83d\ude00") == tok.encode("😀")
    for lone in ("\ud800", "\udfff", "\udc80", "\ude00\ud83d"):
        assert tok.encode(lone) == tok.encode("\ufffd" * len(lone))
        assert tok.decode(tok.encode("a" + lone)) == "a" + "\ufffd" * len(lone)


def test_tokenize_writes_the_byte_alphabet(tok_of: Callable[[str], bbpe.Tokenizer]) -> None:
    tok = tok_of("gpt2")
    assert "".join(tok.tokenize("a b\n中")) == "aĠbĊä¸Ń"
    vocab = tok.get_vocab()
    assert [vocab[token] for token in tok.tokenize("some words\t!")] == tok.encode("some words\t!")


def test_few_calls_are_remembered(monkeypatch):
    tok = bbpe.train_from_iterator(["low"], 260, special_tokens=["<a>", "<b>", "<c>"])
    monkeypatch.setattr("bbpe.encoding.engine._MOST_CALLS", 2)
    for _ in range(2):
        for allowed in ({"<a>"}, {"<b>"}, {"<c>"}, {"<a>", "<c>"}):
            ids = tok.encode("<a><b><c>", allowed_special=allowed)
            assert {tok.special_tokens[text] for text in allowed} == {each for each in ids if each > 256}
            assert 1 <= len(tok._parts.encoder._calls) <= 2
