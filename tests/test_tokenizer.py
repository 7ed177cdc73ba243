"""A tokenizer as a value: content, copies, threads, forks."""

from __future__ import annotations

import copy
import gc
import hashlib
import inspect
import multiprocessing
import os
import pickle
import subprocess
import sys
import threading
import warnings
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from itertools import pairwise
from pathlib import Path
from typing import Any
from unittest import mock

import numpy as np
import pytest
from strings import adversarial_strings, byte_soups
from systems import system_has

import bbpe
from bbpe.records import replace
from bbpe.spec.rules import Template
from bbpe.splitting.patterns import PATTERNS
from bbpe.text import BYTE_ORDER, bytes_to_alphabet

BYTES = {byte: bytes((byte,)) for byte in range(256)}
VOCAB = {**BYTES, 256: b"ab", 257: b"abc"}
MERGES = [(b"a", b"b"), (b"ab", b"c")]
TEXTS = [*adversarial_strings(300, seed=40, surrogates=True), "word " * 3_000]


@pytest.fixture(scope="module")
def trained() -> Callable[..., bbpe.Tokenizer]:
    text = "".join(adversarial_strings(200, seed=41))
    specials = ["<|endoftext|>", "<s>"]

    def train(pattern: str = "gpt2") -> bbpe.Tokenizer:
        return bbpe.train_from_iterator([text], 500, pattern=pattern, special_tokens=specials)

    return train


def make(**changes: Any) -> bbpe.Tokenizer:
    given: dict[str, Any] = {"vocab": VOCAB, "merges": MERGES, "pattern": "gpt2", "special_tokens": {"<s>": 300}}
    return bbpe.Tokenizer.from_merges(**{**given, **changes})


# -- what it is ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["encode", "encode_batch", "encode_with_offsets"])
def test_what_serves_short_calls_has_the_parameters_of_the_method(name: str) -> None:
    outer: Any = getattr(bbpe.Tokenizer, name)
    inner = outer.__wrapped__
    count = inner.__code__.co_argcount + inner.__code__.co_kwonlyargcount
    assert outer.__code__.co_argcount == inner.__code__.co_argcount
    assert outer.__code__.co_varnames[:count] == inner.__code__.co_varnames[:count]
    assert (outer.__defaults__, outer.__kwdefaults__) == (inner.__defaults__, inner.__kwdefaults__)


def test_attributes() -> None:
    tok = make(name="small")
    assert (tok.name, tok.pattern, len(tok), tok.vocab_size) == ("small", "gpt2", 259, 301)
    assert tok.merges == MERGES
    assert tok.ranks == {token: token_id for token_id, token in VOCAB.items()}
    assert tok.special_tokens == {"<s>": 300}
    assert tok.added_tokens == {}
    assert tok.id_to_token(257) == b"abc"
    assert tok.get_vocab() == {**{bytes_to_alphabet(t): i for i, t in VOCAB.items()}, "<s>": 300}
    assert "small" in repr(tok)
    with pytest.raises(bbpe.SpecialTokenError):
        _ = tok.eot_token
    assert make(special_tokens={"<|endoftext|>": 258}).eot_token == 258


def test_a_trained_vocabulary_begins_with_the_bytes_in_their_order(trained: Callable[..., bbpe.Tokenizer]) -> None:
    tok = trained()
    assert b"".join(tok.id_to_token(i) for i in range(256)) == BYTE_ORDER
    assert [tok.id_to_token(256 + i) for i in range(242)] == [left + right for left, right in tok.merges]
    assert tok.special_tokens == {"<|endoftext|>": 498, "<s>": 499}
    assert tok.eot_token == 498


@pytest.mark.parametrize("pattern", [*PATTERNS, r"\w+|\W"])
def test_pattern_is_a_name_or_the_regex(pattern: str, trained: Callable[..., bbpe.Tokenizer]) -> None:
    assert trained(pattern).pattern == pattern


def test_it_hands_out_copies_only() -> None:
    tok = make()
    tok.special_tokens["new"] = 1
    tok.added_tokens["new"] = 1
    tok.get_vocab().clear()
    tok.merges.clear()
    tok.ranks.clear()
    assert tok == make()
    assert tok.encode("abc") == [257]


def test_it_does_not_follow_changes_of_what_it_was_made_of() -> None:
    vocab, merges, specials = dict(VOCAB), list(MERGES), {"<s>": 300}
    tok = bbpe.Tokenizer.from_merges(vocab, merges, pattern="gpt2", special_tokens=specials)
    vocab[400], specials["new"] = b"new", 301
    merges.clear()
    assert tok == make()
    assert tok.merges == MERGES
    assert tok.fingerprint == make().fingerprint


def test_it_is_immutable() -> None:
    tok = make()
    for name in ("spec", "name", "anything", "fingerprint"):
        with pytest.raises(AttributeError):
            setattr(tok, name, None)
        with pytest.raises(AttributeError):
            delattr(tok, name)


# -- equality -----------------------------------------------------------------------------------------------


def test_equal_by_content() -> None:
    tok = make()
    same = [
        make(),
        make(name="another name"),
        make(vocab=dict(reversed(VOCAB.items()))),
        bbpe.Tokenizer.from_ranks({t: i for i, t in VOCAB.items()}, pattern="gpt2", special_tokens={"<s>": 300}),
        copy.copy(tok),
        copy.deepcopy(tok),
        pickle.loads(pickle.dumps(tok)),
    ]
    for other in same:
        assert other == tok
        assert hash(other) == hash(tok)
        assert other.fingerprint == tok.fingerprint
    assert len({tok, *same}) == 1
    assert tok == mock.ANY  # which decides itself
    assert (tok == 3) is False


def test_unequal_by_content() -> None:
    different = [
        make(),
        make(pattern="cl100k"),
        make(pattern=r"\w+|\W+"),
        make(special_tokens=None),
        make(special_tokens={"<s>": 301}),
        make(special_tokens={"<t>": 300}),
        make(vocab={**VOCAB, 258: b"cd"}),
        make(vocab={**BYTES, 256: b"ab", 258: b"abc"}),
        make(vocab={**BYTES, 257: b"ab", 256: b"abc"}),
    ]
    assert len(set(different)) == len({tok.fingerprint for tok in different}) == len(different)
    assert make() != "a string"
    assert make() is not None
    assert all(len(tok.fingerprint) == 64 for tok in different)


def test_boundaries_of_tokens_count_in_the_fingerprint() -> None:
    """Concatenating ids and bytes without their lengths would confuse these."""
    tricky = [
        {**BYTES, 256: b"xy", 257: b"z1"},
        {**BYTES, 256: b"xyz", 257: b"1x"},
        {**BYTES, 256: b"xy257 2 z1"},
        {**BYTES, 256: b"xy257 z1"},
        {**BYTES, 256: b"xy\n257 z1"},
    ]
    prints = {bbpe.Tokenizer.from_merges(vocab, [], pattern="none").fingerprint for vocab in tricky}
    assert len(prints) == len(tricky)


def test_the_fingerprint_is_the_same_in_every_process() -> None:
    code = (
        "import bbpe; v = {i: bytes((i,)) for i in range(256)} | {256: b'ab', 257: b'abc'};"
        "print(bbpe.Tokenizer.from_merges(v, [(b'a', b'b'), (b'ab', b'c')], pattern='gpt2',"
        "special_tokens={'<s>': 300}).fingerprint)"
    )
    for seed in ("0", "1"):
        environment = {**os.environ, "PYTHONHASHSEED": seed}
        command = [sys.executable, "-c", code]
        found = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
        assert found.stdout.strip() == make().fingerprint


# -- copies and workers ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("pattern", ["gpt2", "o200k", "kimi", "whitespace", r"\w+|\W"])
@pytest.mark.parametrize("protocol", range(2, pickle.HIGHEST_PROTOCOL + 1))
def test_pickle(pattern: str, protocol: int, trained: Callable[..., bbpe.Tokenizer]) -> None:
    tok = trained(pattern)
    tok.encode("so that caches are filled, if there are any")
    again = pickle.loads(pickle.dumps(tok, protocol))
    assert again == tok
    assert again.merges == tok.merges
    assert again.special_tokens == tok.special_tokens
    assert again.pattern == tok.pattern
    assert again.encode_batch(TEXTS, allowed_special="all") == tok.encode_batch(TEXTS, allowed_special="all")


def test_errors_can_be_pickled() -> None:
    with pytest.raises(bbpe.VocabularyError) as caught:
        make(vocab={0: b"a"})
    again = pickle.loads(pickle.dumps(caught.value))
    assert str(again) == str(caught.value)
    assert type(again) is bbpe.VocabularyError


@pytest.mark.parametrize("pattern", ["gpt2", "cl100k"])
def test_eight_threads_share_one_tokenizer(pattern: str, trained: Callable[..., bbpe.Tokenizer]) -> None:
    tok = trained(pattern)
    expected = [tok.encode(text, allowed_special="all") for text in TEXTS]
    barrier = threading.Barrier(8)

    def work(number: int) -> bool:
        barrier.wait()
        for i in range(len(TEXTS)):
            at = (i * 7 + number * 31) % len(TEXTS)
            if tok.encode(TEXTS[at], allowed_special="all") != expected[at]:
                return False
            if tok.encode_to_numpy(TEXTS[at], allowed_special="all").tolist() != expected[at]:
                return False
            if tok.encode(tok.decode(expected[at]), allowed_special="all") != expected[at]:
                return False
        return tok.encode_batch(TEXTS, threads=2, allowed_special="all") == expected

    with ThreadPoolExecutor(8) as pool:
        assert all(pool.map(work, range(8)))


def digest_of(tok: bbpe.Tokenizer) -> str:
    return hashlib.sha256(np.concatenate(list(tok.encode_batch_to_numpy(TEXTS))).tobytes()).hexdigest()


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
@pytest.mark.parametrize("pattern", ["gpt2", "cl100k"])
def test_a_forked_child_encodes(pattern: str, trained: Callable[..., bbpe.Tokenizer]) -> None:
    tok = trained(pattern)
    # threads of ours must not leave a lock behind that the child waits for
    tok.encode_batch(TEXTS, threads=4)
    expected = digest_of(tok)
    read, write = os.pipe()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)
        child = os.fork()
    if child == 0:
        try:
            tok.encode_batch(TEXTS, threads=2)
            os.write(write, digest_of(tok).encode())
        finally:
            os._exit(0)
    os.close(write)
    with os.fdopen(read) as file:
        assert file.read() == expected
    assert os.waitpid(child, 0)[1] == 0


def test_worker_processes_get_it_by_pickle(trained: Callable[..., bbpe.Tokenizer]) -> None:
    tok = trained()
    with ProcessPoolExecutor(1, mp_context=multiprocessing.get_context("spawn")) as pool:
        assert pool.submit(digest_of, tok).result() == digest_of(tok)


def test_training_twice_gives_equal_tokenizers(trained: Callable[..., bbpe.Tokenizer]) -> None:
    assert trained() == trained()
    assert pickle.dumps(trained().spec) == pickle.dumps(trained().spec)


@pytest.mark.skipif(not system_has("/proc/self/statm"), reason="needs /proc")
def test_memory_is_given_back() -> None:
    soup = b"".join(byte_soups(200, seed=42)) * 4

    def pages_after(rounds: int) -> int:
        for _ in range(rounds):
            tok = bbpe.train_from_iterator([soup], 300)
            tok.decode_bytes(tok.encode(soup))
            tok.encode_batch_to_numpy([soup] * 2, threads=2)
            with pytest.raises(bbpe.TokenIdError):
                tok.decode([1, -1])
        gc.collect()
        return int(Path("/proc/self/statm").read_text().split()[1])

    # a leak grows every time, an allocator's arena now and then
    pages = [pages_after(rounds) for rounds in (5, 10, 10, 10)]
    leaked = min(after - before for before, after in pairwise(pages)) * os.sysconf("SC_PAGE_SIZE")
    assert leaked < 5 * len(soup)


# -- bad vocabularies -------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("changes", "named"),
    [
        ({"vocab": {k: v for k, v in VOCAB.items() if k != 0x41}}, "0x41"),
        ({"vocab": {**VOCAB, 258: b"ab"}}, "b'ab'"),
        ({"vocab": {**VOCAB, -1: b"x!"}}, "-1"),
        ({"vocab": {**VOCAB, 2**40: b"x!"}}, str(2**40)),
        ({"merges": [(b"a", b"z")]}, "b'az'"),
        ({"merges": [(b"ab", b"c"), (b"xy", b"c")]}, "b'xy'"),
        ({"special_tokens": {"<s>": 97}}, "97"),
        ({"special_tokens": {"<s>": 300, "<t>": 300}}, "300"),
        ({"special_tokens": {"<s>": -5}}, "-5"),
        ({"special_tokens": {"": 300}}, "empty"),
        ({"pattern": "gpt17"}, "gpt17"),
        ({"pattern": "["}, r"\["),
    ],
)
def test_vocabularies_that_do_not_fit_together(changes: dict[str, Any], named: str) -> None:
    with pytest.raises(ValueError, match=named):
        make(**changes)


@pytest.mark.parametrize(
    "changes",
    [
        {"vocab": {**VOCAB, 258: "text"}},
        {"vocab": {**VOCAB, "258": b"x!"}},
        {"vocab": {**VOCAB, 258.5: b"x!"}},
        {"vocab": None},
        {"merges": 3},
        {"merges": [("a", "b")]},
        {"special_tokens": {b"<s>": 300}},
        {"special_tokens": {"<s>": "300"}},
        {"special_tokens": ["<s>"]},
        {"pattern": None},
        {"pattern": 3},
    ],
)
def test_vocabularies_of_wrong_types(changes: dict[str, Any]) -> None:
    with pytest.raises(TypeError):
        make(**changes)


def test_legal_oddities() -> None:
    vocab = {**BYTES, 300: b"ab", 400: b"abc", 401: b"bc", 450: b"<s>", 500: b""}
    merges = [(b"ab", b"c"), (b"a", b"bc"), (b"b", b"c"), (b"a", b"b"), (b"a", b"b")]
    tok = bbpe.Tokenizer.from_merges(vocab, merges, pattern="gpt2", special_tokens={"<s>": 450})
    assert len(tok) == 261
    # the first place in the list wins, of a merge that is listed twice the last
    assert tok.encode("abc") == [400]
    assert tok.encode("xbc<s>") == [120, 401, 60, 115, 62]
    assert tok.encode("<s>", allowed_special="all") == [450]
    assert tok.decode([500, 300, 500, 400, 450]) == "ababc<s>"
    with pytest.raises(bbpe.TokenIdError, match="350"):
        tok.decode([350])
    ranks = {token: token_id for token_id, token in vocab.items()}
    assert bbpe.Tokenizer.from_ranks(ranks, pattern="gpt2").encode("abc ab") == [400, 32, 300]


def test_the_encoder_is_made_once_at_first_use() -> None:
    tok = bbpe.train_from_iterator(["low lower lowest"], 270)
    assert "encoder" not in vars(tok._parts)
    with ThreadPoolExecutor(8) as pool:
        assert len({id(encoder) for encoder in pool.map(lambda _: tok._parts.encoder, range(100))}) == 1


def test_warm_up_makes_what_calls_keep():
    tok = bbpe.train_from_iterator(["low lower"], 260, special_tokens=["<s>"])
    assert tok.warm_up() is None
    made, encoder = {*vars(tok), *vars(tok._parts)}, tok._parts.encoder
    calls = dict(encoder._calls)
    for options in ({}, {"allowed_special": "all"}, {"disallowed_special": "all"}):
        ids = tok.encode("lower", add_special_tokens=True, **options)
        tok.encode_batch(["lower", "low"], **options)
        tok.encode_padded(["lower"], pad_id=0, **options)
        tok.encode_with_offsets("lower", **options)
        tok.decode(ids, skip_special_tokens=True)
    tok.encode("low")
    assert {*vars(tok), *vars(tok._parts)} == made
    assert encoder._calls == calls


def test_a_template_is_used_only_when_it_is_asked_for() -> None:
    spec = bbpe.train_from_iterator(["low"], 257, special_tokens=["<s>"]).spec
    tok = bbpe.Tokenizer(replace(spec, template=Template(((256, 0), ("A", 0)))))
    calls = [name for name, call in vars(bbpe.Tokenizer).items() if "add_special_tokens" in named(call)]
    assert len(calls) == 6
    for name in (*calls, "encode", "encode_batch"):
        call, text = getattr(tok, name), ["lo"] if "batch" in name or name == "encode_padded" else "lo"
        options = {"pad_id": 0} if name == "encode_padded" else {}
        plain, more = call(text, **options), call(text, add_special_tokens=True, **options)
        assert repr(plain) == repr(call(text, add_special_tokens=False, **options))
        assert repr(plain) != repr(more)


def named(call: Any) -> Any:
    return inspect.signature(call).parameters if inspect.isfunction(call) else {}


def test_the_size_of_a_vocabulary_needs_no_bytes_of_tokens() -> None:
    """Of 200,000 they take 6 ms to collect, which the first text would wait for."""
    tok = bbpe.train_from_iterator(["a b"], vocab_size=258, special_tokens=["<s>"])
    assert tok.encode_to_numpy("a b").tolist() == tok.encode("a b")
    assert tok.vocab_size == 258
    assert "tokens" not in vars(tok._parts.vocabulary)
    assert tok._parts.vocabulary.tokens.id_count == 258
    assert "tokens" in vars(tok._parts.vocabulary)


def test_editors_know_what_methods_return():
    """`Any` ends the completion of names; a template gives a text for one chat, and a list for several."""
    for name in set(dir(bbpe.Tokenizer)) - {"apply_chat_template"}:
        method = getattr(bbpe.Tokenizer, name)
        if not name.startswith("_") and inspect.isfunction(method):
            assert inspect.signature(method).return_annotation not in ("Any", inspect.Signature.empty), name
