"""The encoder against the reference, tiktoken and HF: the same ids for every text."""

from __future__ import annotations

import mmap
import random
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from strings import adversarial_strings, byte_soups

import bbpe
from bbpe.core.bpe import Model
from bbpe.patterns import PATTERNS
from bbpe.reference import SlowTokenizer, by_order, by_ranks, merge

CORPORA = ["en", "code", "multi", "ja", "zh"]
RANK_FILES = {
    "gpt2": "gpt2.tiktoken",
    "p50k_base": "p50k_base.tiktoken",
    "cl100k_base": "cl100k_base.tiktoken",
    "o200k_base": "o200k_base.tiktoken",
    "llama3": "llama3.tiktoken",
    "qwen": "qwen.tiktoken",
    "qwen3_6": "qwen3_6.tiktoken",
}
# the regexes as tiktoken itself has them, where they are spelled unlike ours
PUBLISHED = {
    "gpt2": r"'(?:[sdmt]|ll|ve|re)| ?\p{L}++| ?\p{N}++| ?[^\s\p{L}\p{N}]++|\s++$|\s+(?!\S)|\s",
    "cl100k": r"'(?i:[sdmt]|ll|ve|re)|[^\r\n\p{L}\p{N}]?+\p{L}++|\p{N}{1,3}+| ?[^\s\p{L}\p{N}]++[\r\n]*+"
    r"|\s++$|\s*[\r\n]|\s+(?!\S)|\s",
}


@pytest.fixture(scope="session")
def real(vocab_path: Callable[[str], Path]) -> Callable[[str], bbpe.Tokenizer]:
    """`real("o200k_base")`: a published tokenizer."""
    return cache(lambda name: bbpe.load(vocab_path(RANK_FILES.get(name, name))))


@pytest.fixture(scope="session")
def tiktoken_of(real: Callable[[str], bbpe.Tokenizer]) -> Callable[[str], Any]:
    """`tiktoken_of("o200k_base")`: the same ranks, special tokens and regex in tiktoken."""
    tiktoken = pytest.importorskip("tiktoken")

    def make(name: str) -> Any:
        tok = real(name)
        pat_str = PUBLISHED.get(tok.pattern, tok.spec.pattern.steps[0])
        return tiktoken.Encoding(
            name, pat_str=pat_str, mergeable_ranks=tok.ranks, special_tokens=tok.special_tokens
        )

    return cache(make)


def token_bytes(tok: bbpe.Tokenizer) -> list[bytes]:
    return [token for token in tok.spec.vocab.values() if len(token) > 1]


def same_ids(tok: bbpe.Tokenizer, text: str, expected: list[int]) -> None:
    """Compare, and on a difference show the first place instead of a megabyte."""
    ids = tok.encode(text)
    if ids != expected:
        at = next((i for i, pair in enumerate(zip(ids, expected, strict=False)) if pair[0] != pair[1]), None)
        around = slice(0, 20) if at is None else slice(max(at - 3, 0), at + 5)
        ours, theirs = (b"|".join(map(tok.id_to_token, some[around])) for some in (ids, expected))
        pytest.fail(f"token {at}: {ours!r}, expected {theirs!r} of {text[:200]!r}")


def compare_with_tiktoken(tok: bbpe.Tokenizer, peer: Any, texts: list[str]) -> None:
    for text in texts:
        same_ids(tok, text, peer.encode_ordinary(text))


# -- real vocabularies ----------------------------------------------------------------------------------


@pytest.mark.parametrize("name", RANK_FILES)
def test_real_text_as_tiktoken(
    name: str,
    real: Callable[[str], bbpe.Tokenizer],
    tiktoken_of: Callable[[str], Any],
    corpus: Callable[..., str],
) -> None:
    compare_with_tiktoken(real(name), tiktoken_of(name), [corpus(text, 100_000) for text in CORPORA])


@pytest.mark.parametrize("name", RANK_FILES)
def test_hard_strings_as_tiktoken(
    name: str, real: Callable[[str], bbpe.Tokenizer], tiktoken_of: Callable[[str], Any]
) -> None:
    tok = real(name)
    texts = adversarial_strings(1_200, seed=10, tokens=token_bytes(tok), surrogates=True)
    compare_with_tiktoken(tok, tiktoken_of(name), texts)


@pytest.mark.full
@pytest.mark.parametrize("name", RANK_FILES)
def test_2_mb_and_20_000_hard_strings_as_tiktoken(
    name: str,
    real: Callable[[str], bbpe.Tokenizer],
    tiktoken_of: Callable[[str], Any],
    corpus: Callable[..., str],
) -> None:
    tok, peer = real(name), tiktoken_of(name)
    compare_with_tiktoken(tok, peer, [corpus(text, 2_000_000) for text in CORPORA])
    compare_with_tiktoken(
        tok, peer, adversarial_strings(20_000, seed=11, tokens=token_bytes(tok), surrogates=True)
    )


@pytest.mark.parametrize("name", RANK_FILES)
def test_bytes_that_are_not_utf8_as_tiktoken(
    name: str, real: Callable[[str], bbpe.Tokenizer], tiktoken_of: Callable[[str], Any]
) -> None:
    """A pretoken's merging alone: tiktoken has no splitting of such bytes that could be compared."""
    tok, peer = real(name), tiktoken_of(name)
    model, ranks, rng = Model(tok.spec.vocab, None), tok.ranks, random.Random(12)
    for soup in byte_soups(300, seed=13):
        pretoken = soup[: rng.randint(1, 60)]
        if pretoken and pretoken not in ranks:
            assert model.encode_pretoken(pretoken) == peer._encode_single_piece(pretoken), pretoken
    for soup in byte_soups(300, seed=14):
        assert tok.decode_bytes(tok.encode(soup)) == soup
        assert peer.decode_bytes(tok.encode(soup)) == soup


@pytest.mark.parametrize("name", RANK_FILES)
def test_special_tokens_as_tiktoken(
    name: str, real: Callable[[str], bbpe.Tokenizer], tiktoken_of: Callable[[str], Any]
) -> None:
    tok, peer = real(name), tiktoken_of(name)
    rng = random.Random(15)
    specials = list(tok.special_tokens)
    for text in adversarial_strings(150, seed=16):
        mixed = "".join(text[i : i + 9] + rng.choice([*specials, "", "<|"]) for i in range(0, len(text), 9))
        allowed: Any
        for allowed in ("all", set(rng.sample(specials, k=1))):
            expected = peer.encode(mixed, allowed_special=allowed, disallowed_special=())
            assert tok.encode(mixed, allowed_special=allowed) == expected
        assert tok.encode(mixed) == peer.encode_ordinary(mixed)


@pytest.mark.parametrize("name", RANK_FILES)
def test_whole_vocabulary_as_tiktoken(
    name: str, real: Callable[[str], bbpe.Tokenizer], tiktoken_of: Callable[[str], Any]
) -> None:
    tok, peer = real(name), tiktoken_of(name)
    tokens = token_bytes(tok)[::7]
    compare_with_tiktoken(tok, peer, [token.decode("utf-8", "replace") for token in tokens])
    ids = [tok.token_to_id(token) for token in tokens]
    assert tok.decode_bytes(ids) == peer.decode_bytes(ids) == b"".join(tokens)


@pytest.mark.parametrize("name", [*RANK_FILES, "gpt2.tokenizer.json", "qwen_gpt2_files"])
def test_real_vocabularies_as_the_reference(
    name: str, real: Callable[[str], bbpe.Tokenizer], corpus: Callable[..., str]
) -> None:
    tok = real(name)
    slow = SlowTokenizer(tok.spec)
    texts: list[str | bytes] = [corpus(text, 2_000) for text in CORPORA]
    texts += adversarial_strings(60, seed=17, tokens=token_bytes(tok), surrogates=True)
    texts += byte_soups(60, seed=18)
    for text in texts:
        assert tok.encode(text) == slow.encode(text), text


@pytest.mark.parametrize("size", [100_000, pytest.param(2_000_000, marks=pytest.mark.full)])
def test_gpt2_tokenizer_json_as_hf(
    size: int,
    real: Callable[[str], bbpe.Tokenizer],
    vocab_path: Callable[[str], Path],
    corpus: Callable[..., str],
) -> None:
    tokenizers = pytest.importorskip("tokenizers")
    tok, hf = real("gpt2.tokenizer.json"), tokenizers.Tokenizer.from_file(str(vocab_path("gpt2.tokenizer.json")))
    texts = [corpus(text, size) for text in CORPORA]
    texts += adversarial_strings(size // 100, seed=19, tokens=token_bytes(tok))
    for text in texts:
        if "<|endoftext|>" not in text:
            same_ids(tok, text, hf.encode(text, add_special_tokens=False).ids)
        expected = hf.encode(text, add_special_tokens=False).ids
        assert tok.encode(text, allowed_special="all") == expected


@pytest.mark.parametrize(("name", "same"), [("qwen_gpt2_files", "qwen"), ("gpt2.tokenizer.json", "gpt2")])
def test_two_files_of_one_vocabulary(
    name: str, same: str, real: Callable[[str], bbpe.Tokenizer], corpus: Callable[..., str]
) -> None:
    """Merge-list mode and rank mode of the same vocabulary."""
    by_list, by_rank = real(name), real(same)
    assert by_list.fingerprint == by_rank.fingerprint
    texts = [corpus(text, 200_000) for text in CORPORA]
    texts += adversarial_strings(1_000, seed=20, tokens=token_bytes(by_rank), surrogates=True)
    for text in texts:
        same_ids(by_list, text, by_rank.encode(text))


# -- small vocabularies: every mode against the reference -------------------------------------------------


def random_ranks(rng: random.Random, alphabet: bytes) -> dict[bytes, int]:
    """Tokens of any bytes, so that many are not made of two others; with holes in the ranks."""
    words = {bytes(rng.choices(alphabet, k=rng.randint(2, 6))) for _ in range(rng.randint(0, 60))}
    tokens = [bytes((byte,)) for byte in range(256)] + sorted(words)
    rng.shuffle(tokens)
    return dict(zip(tokens, sorted(rng.sample(range(500), k=len(tokens))), strict=True))


def test_rank_mode_on_random_vocabularies() -> None:
    rng = random.Random(21)
    for _ in range(150):
        ranks = random_ranks(rng, b"abc")
        vocab = {token_id: token for token, token_id in ranks.items()}
        model, rank = Model(vocab, None), by_ranks(ranks)
        for length in (0, 1, 2, 3, 8, 31, 32, 33, 34, 80):
            pretoken = bytes(rng.choices(b"abc", k=length))
            expected = [ranks[token] for token in merge(pretoken, rank)]
            assert model.encode_pretoken(pretoken) == expected, (ranks, pretoken)
            below = rng.randint(0, 520)
            expected = [ranks[token] for token in merge(pretoken, rank, below)]
            assert model.encode_pretoken(pretoken, below) == expected, (ranks, pretoken, below)
        tok = bbpe.Tokenizer.from_ranks(ranks, pattern="gpt2")
        slow = SlowTokenizer(tok.spec)
        text = " ".join("".join(rng.choices("abc", k=rng.randint(1, 7))) for _ in range(60))
        assert tok.encode(text) == slow.encode(text)


def test_merge_list_mode_on_random_vocabularies() -> None:
    rng = random.Random(22)
    for _ in range(150):
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
    ids = tok.encode(unit * 300_000)
    assert tok.decode(ids) == unit * 300_000


@pytest.fixture(scope="module")
def tok_of() -> Callable[[str], bbpe.Tokenizer]:
    """`tok_of("cl100k")`: a small tokenizer with that pattern, special tokens, and merges across classes."""
    text = "".join(adversarial_strings(300, seed=23))
    specials = ["<s>", "<s>>", "<|end|>", "é<"]
    return cache(lambda pattern: bbpe.train_from_iterator([text], 600, pattern=pattern, special_tokens=specials))


CUSTOM = [r"[a-z]+|\s+(?!\S)|\d{1,3}(?=(?:\d{3})*\b)", r"\w+$|\w|(?<=a)b+"]


@pytest.mark.parametrize("pattern", [*PATTERNS, *CUSTOM])
def test_every_pattern_as_the_reference(pattern: str, tok_of: Callable[[str], bbpe.Tokenizer]) -> None:
    tok = tok_of(pattern)
    slow = SlowTokenizer(tok.spec)
    for text in [*adversarial_strings(120, seed=24, surrogates=True), *byte_soups(60, seed=25)]:
        if pattern == "none":
            text = text[:80]
        expected = slow.encode(text)
        assert tok.encode(text) == expected, text
        assert tok.encode_to_numpy(text).tolist() == expected
        if not tok.spec.pattern.drops_gaps and isinstance(text, bytes):
            assert tok.decode_bytes(expected) == text


# -- special tokens ---------------------------------------------------------------------------------------


def test_special_token_policy(tok_of: Callable[[str], bbpe.Tokenizer]) -> None:
    tok = tok_of("gpt2")
    s, longer = tok.special_tokens["<s>"], tok.special_tokens["<s>>"]
    assert tok.encode("<s>") == tok.encode_ordinary("<s>") != [s]
    assert tok.encode("<s>", allowed_special="all") == [s]
    assert tok.encode("<s>", allowed_special={"<s>"}) == tok.encode("<s>", allowed_special=["<s>"]) == [s]
    # the longest wins, among those that are allowed
    assert tok.encode("<s>>", allowed_special="all") == [longer]
    assert tok.encode("<s>>", allowed_special={"<s>"}) == [s, *tok.encode(">")]
    assert tok.encode("<s><s>>x", allowed_special="all") == [s, longer, *tok.encode("x")]
    assert tok.encode("a <s>", allowed_special="all") == [*tok.encode("a "), s]
    assert tok.encode(b"\xff<s>\xff", allowed_special="all") == [*tok.encode(b"\xff"), s, *tok.encode(b"\xff")]


def test_disallowed_special_tokens_raise(tok_of: Callable[[str], bbpe.Tokenizer]) -> None:
    tok = tok_of("gpt2")
    for method in (tok.encode, tok.encode_to_numpy):
        with pytest.raises(bbpe.SpecialTokenError, match="<s>"):
            method("a<s>", disallowed_special="all")
        with pytest.raises(bbpe.SpecialTokenError, match="<s>"):
            method("a<s>", allowed_special={"<|end|>"}, disallowed_special="all")
        with pytest.raises(bbpe.SpecialTokenError, match="nowhere"):
            method("a", allowed_special={"nowhere"})
        # what is allowed is not disallowed, and what is not in the text does no harm
        assert list(method("a<s>", allowed_special="all", disallowed_special="all"))[-1] == tok.special_tokens["<s>"]
        assert list(method("a", disallowed_special="all")) == tok.encode("a")
        assert list(method("a<s>", disallowed_special={"<|end|>"})) == tok.encode("a<s>")
    with pytest.raises(bbpe.SpecialTokenError):
        tok.encode_batch(["a", "<s>"], disallowed_special={"<s>"})
    with pytest.raises(bbpe.SpecialTokenError):
        tok.encode_batch_to_numpy(["a", "<s>"], disallowed_special={"<s>"})
    with pytest.raises(bbpe.SpecialTokenError):
        list(tok.encode_iterable(["a<", "s", ">"], disallowed_special={"<s>"}))


@pytest.mark.parametrize("selection", ["<s>", "none", b"all", [b"<s>"], 3, None, {"<s>", 3}])
def test_selections_of_wrong_types(selection: Any, tok_of: Callable[[str], bbpe.Tokenizer]) -> None:
    for option in ("allowed_special", "disallowed_special"):
        with pytest.raises(TypeError):
            tok_of("gpt2").encode("text", **{option: selection})


@pytest.mark.parametrize("pattern", ["gpt2", "o200k", "whitespace"])
def test_special_tokens_as_the_reference(pattern: str, tok_of: Callable[[str], bbpe.Tokenizer]) -> None:
    tok = tok_of(pattern)
    slow, rng = SlowTokenizer(tok.spec), random.Random(26)
    pieces = [*tok.special_tokens, "<", ">", "s>", "é", " ", "a", "'s", "\ud83d", "\ude00", "<|end|"]
    for _ in range(500):
        text = "".join(rng.choices(pieces, k=rng.randint(0, 12)))
        allowed = rng.sample(list(tok.special_tokens), k=rng.randint(0, 4))
        assert tok.encode(text, allowed_special=allowed) == slow.encode(text, allowed_special=allowed), text


# -- chunks -----------------------------------------------------------------------------------------------


def cut_units(text: str, rng: random.Random, cuts: int) -> list[str]:
    """Cut a string anywhere, also within what UTF-16 writes as two units."""
    data = text.encode("utf-16-le", "surrogatepass")
    units = "".join(chr(data[i] | data[i + 1] << 8) for i in range(0, len(data), 2))
    places = sorted(rng.randint(0, len(units)) for _ in range(cuts))
    return [units[i:j] for i, j in zip([0, *places], [*places, len(units)], strict=True)]


def cut_bytes(data: bytes, rng: random.Random, cuts: int) -> list[bytes]:
    places = sorted(rng.randint(0, len(data)) for _ in range(cuts))
    return [data[i:j] for i, j in zip([0, *places], [*places, len(data)], strict=True)]


@pytest.mark.parametrize("pattern", [*PATTERNS, *CUSTOM])
def test_chunks_are_encoded_as_the_joined_text(pattern: str, tok_of: Callable[[str], bbpe.Tokenizer]) -> None:
    tok, rng = tok_of(pattern), random.Random(27)
    texts = adversarial_strings(400, seed=28, surrogates=True)
    for i in range(0, len(texts), 2):
        text = rng.choice(["", *tok.special_tokens]).join(texts[i : i + 2])
        allowed: Any = rng.choice(["all", (), {"<s>"}])
        chunks = cut_units(text, rng, rng.choice([0, 1, 5, 3 * len(text)]))
        assert list(tok.encode_iterable(chunks, allowed_special=allowed)) == tok.encode(
            text, allowed_special=allowed
        ), chunks
    for soup in byte_soups(200, seed=29):
        data = rng.choice(["", *tok.special_tokens]).encode() + soup
        chunks_of_bytes = cut_bytes(data, rng, rng.choice([0, 1, 5, 2 * len(data)]))
        assert list(tok.encode_iterable(chunks_of_bytes, allowed_special="all")) == tok.encode(
            data, allowed_special="all"
        ), chunks_of_bytes


@pytest.mark.parametrize("pattern", [*PATTERNS, *CUSTOM])
def test_all_cuts_of_short_strings(pattern: str, tok_of: Callable[[str], bbpe.Tokenizer]) -> None:
    """What follows a cut changes what was before it: blanks, contractions, digits, marks, special tokens."""
    tok, rng = tok_of(pattern), random.Random(30)
    alphabet = "aA's1 \n\r\xa0!e\u0301中l/,r<>|"
    for _ in range(250):
        text = "".join(rng.choices(alphabet, k=rng.randint(2, 9)))
        expected = tok.encode(text, allowed_special="all")
        assert list(tok.encode_iterable(text, allowed_special="all")) == expected, text
        for i in range(1, len(text)):
            chunks = [text[:i], text[i:]]
            assert list(tok.encode_iterable(chunks, allowed_special="all")) == expected, chunks


def test_chunks_of_all_kinds(tok_of: Callable[[str], bbpe.Tokenizer]) -> None:
    tok = tok_of("gpt2")
    chunks = ["a\ud83d", b" b", "", b"", "\ud83d", "\ude00", bytearray(b"\xe4\xb8"), memoryview(b"\xad"), "\ude00"]
    joined = "a\ufffd b😀中\ufffd"
    assert list(tok.encode_iterable(chunks)) == tok.encode(joined)
    assert list(tok.encode_iterable([])) == []
    assert list(tok.encode_iterable([""])) == []
    with pytest.raises(TypeError):
        list(tok.encode_iterable(["a", 3]))
    with pytest.raises(TypeError):
        list(tok.encode_iterable(3))


def test_chunks_are_taken_as_ids_are_asked_for(tok_of: Callable[[str], bbpe.Tokenizer]) -> None:
    taken = []

    def chunks() -> Any:
        for i in range(1_000):
            taken.append(i)
            yield "some words and more words\n"

    ids = tok_of("gpt2").encode_iterable(chunks())
    next(ids)
    assert len(taken) < 10


# -- kinds of input and of output ---------------------------------------------------------------------------


def test_every_kind_of_text(tok_of: Callable[[str], bbpe.Tokenizer], tmp_path: Path) -> None:
    tok = tok_of("gpt2")
    text = "Hello wörld, it's 中文 😀\n"
    data, expected = text.encode(), tok.encode(text)
    (tmp_path / "text.txt").write_bytes(data)
    kinds = [data, bytearray(data), memoryview(data), np.frombuffer(data, np.uint8), memoryview(b"??" + data)[2:]]
    for kind in kinds:
        assert tok.encode(kind) == tok.encode_ordinary(kind) == tok.encode_bytes(kind) == expected
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
    for method in (tok.encode, tok.encode_ordinary, tok.encode_bytes, tok.encode_to_numpy, tok.tokenize):
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
    for options in ({}, {"allowed_special": "all"}):
        expected = [tok.encode(text, **options) for text in texts]
        for threads in (None, 1, 3):
            assert tok.encode_batch(texts, threads=threads, **options) == expected
            ragged = tok.encode_batch_to_numpy(iter(texts), threads=threads, **options)
            assert ragged.ids.dtype == np.uint32
            assert ragged.offsets.dtype == np.int64
            assert [row.tolist() for row in ragged] == expected
            assert len(ragged) == len(texts)
    if not tok.spec.pattern.drops_gaps:
        assert tok.decode_batch(ragged) == [tok.decode(ids) for ids in expected]
        assert tok.decode_batch(expected) == tok.decode_batch(ragged)
    assert tok.encode_batch([]) == []
    assert len(tok.encode_batch_to_numpy([])) == 0


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


# -- decoding -----------------------------------------------------------------------------------------------


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
