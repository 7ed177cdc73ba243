"""Counting, limits, cutting, rows of one length: all of them agree with `encode`."""

from __future__ import annotations

import mmap
import random
import time

import numpy as np
import pytest
from strings import adversarial_strings, byte_soups
from vocabularies import small_spec

import bbpe
from bbpe.pipeline.streaming import complete_characters
from bbpe.spec.rules import Lowercase, Prepend, Replace, Strip, StripAccents, Template, TokenOptions, UnicodeForm
from bbpe.spec.spec import TextRules
from bbpe.tokenizer import Tokenizer

PATTERNS = ["gpt2", "cl100k", "o200k", "deepseek_v3", "whitespace", r"[a-z]+|\s+(?!\S)|\d{1,3}(?=(?:\d{3})*\b)"]
TEXTS = [*adversarial_strings(60, seed=71, surrogates=True), *byte_soups(25, seed=72), "", b"", "ab" * 5000]


def rule_tokenizer() -> Tokenizer:
    rules = TextRules((UnicodeForm("NFC"), Lowercase(), Prepend(">"), Replace("x", False, "yy")))
    return Tokenizer(small_spec(rules=rules))


@pytest.mark.parametrize("pattern", PATTERNS)
def test_counts_are_the_lengths_of_ids(tok_of, pattern):
    tok = tok_of(pattern)
    lengths = [len(tok.encode(text)) for text in TEXTS]
    assert [tok.count_tokens(text) for text in TEXTS] == lengths
    assert tok.count_tokens_batch(TEXTS).tolist() == lengths
    assert tok.count_tokens_batch(iter(TEXTS)).dtype == np.int64
    allowed = {"<s>", "é<"}
    specials = [f"<s>{text}é<<s>>" for text in TEXTS if isinstance(text, str)]
    lengths = [len(tok.encode(text, allowed_special=allowed)) for text in specials]
    assert [tok.count_tokens(text, allowed_special=allowed) for text in specials] == lengths
    assert tok.count_tokens_batch(specials, allowed_special=allowed).tolist() == lengths
    with pytest.raises(bbpe.SpecialTokenError):
        tok.count_tokens("a<s>", disallowed_special="all")


def test_long_texts_are_counted_in_parts(tok_of):
    tok = tok_of("cl100k")
    for text in ("so far, so good. " * 100_000, "そうです。漢字 " * 60_000, "é\n" * 800_000):
        expected = len(tok.encode_to_numpy(text, threads=1))
        assert tok.count_tokens(text, threads=2) == tok.count_tokens(text, threads=1) == expected
        assert tok.count_tokens(text.encode(), threads=2) == expected
        assert tok.count_tokens_batch([text, "a"], threads=2).tolist() == [expected, len(tok.encode("a"))]


@pytest.mark.parametrize("pattern", PATTERNS)
def test_limits(tok_of, pattern):
    tok = tok_of(pattern)
    for text in TEXTS:
        length = len(tok.encode(text))
        for n in {0, 1, 2, length // 2, max(length - 1, 0), length, length + 1}:
            assert tok.fits(text, n) == (length <= n)
            for side in ("left", "right"):
                check_cut(tok, text, n, side)
    text = "<s>a b<s>"
    length = len(tok.encode(text, allowed_special="all"))
    assert [tok.fits(text, n, allowed_special="all") for n in (length - 1, length)] == [False, True]


def check_cut(tok, text, n, side):
    kept = tok.truncate(text, n, side)
    assert type(kept) is type(text)
    assert text.startswith(kept) if side == "right" else text.endswith(kept)
    ids, kept_ids = tok.encode(text), tok.encode(kept)
    assert len(kept_ids) <= n
    if len(ids) <= n:
        assert kept is text
        return
    _data, kept_data = (bbpe.text.text_bytes(part) for part in (text, kept))
    if not tok.spec.pattern.drops_gaps:
        # never more than those n tokens, and of them all but what tears a character or would join anew
        most = tok.decode_bytes(ids[:n] if side == "right" else ids[len(ids) - n :])
        assert len(kept_data) <= len(most)
        most = bytes(most)
        assert most.startswith(kept_data) if side == "right" else most.endswith(kept_data)
    if isinstance(text, bytes) and text.decode("utf-8", "ignore").encode() == text:
        kept_data.decode()


def test_usual_texts_are_cut_right_behind_the_tokens(tok_of):
    tok = tok_of("gpt2")
    text = "don't let the HTTPServer stop me, 1234 times " * 20
    ids = tok.encode(text)
    for n in range(len(ids)):
        assert tok.encode(tok.truncate(text, n)) == ids[:n]
        assert tok.encode(tok.truncate(text, n, "left"))[1:] == ids[len(ids) - n + 1 :] or n == 0


@pytest.mark.parametrize("count", [6, pytest.param(60, marks=pytest.mark.full)])
@pytest.mark.parametrize("pattern", ["gpt2", "llama3", "o200k"])
def test_first_parts_are_those_of_the_slow_way(tok_of, pattern, count):
    """The longest part that ends after a token and a whole character, and has no more ids."""
    tok = tok_of(pattern)
    rng = random.Random(pattern)
    parts = ["the ", "thing", "é", "漢字", "😀", "\ud800", " ", "\n", "1234", "'s", "a" * 40]
    texts = ["".join(rng.choices(parts, k=rng.randrange(60))) for _ in range(count)]
    raw = [b"the ", b"\xe4\xb8", b"\xf0\x9f\x98", b"\x80", b"\xff", "é漢".encode(), b" ", b"ing"]
    texts += [b"".join(rng.choices(raw, k=rng.randrange(40))) for _ in range(count)]
    for text in [*texts, *TEXTS[:count], "ab" * (5 * count)]:
        ids = tok.encode(text)
        for n in {0, 1, 2, len(ids) // 2, len(ids) - 1} - {-1}:
            kept = tok.truncate(text, n)
            if len(ids) > n:
                ends = [_whole(text, len(tok.decode_bytes(ids[:i]))) for i in range(n, -1, -1)]
                assert kept == next(text[:end] for end in ends if len(tok.encode(text[:end])) <= n), (text, n)


def _whole(text, end):
    """The index of a text where its last whole character before a byte ends."""
    if isinstance(text, bytes):
        start = max(end - 4, 0)
        return start + complete_characters(text[start:end])
    points = bbpe.text.well_formed(text)
    sizes, index = [0], [0]
    for character in points:
        sizes.append(sizes[-1] + len(character.encode()))
        index.append(index[-1] + (2 if ord(character) > 0xFFFF and text[index[-1]] != character else 1))
    return index[np.searchsorted(sizes, end, side="right") - 1]


def test_cuts_of_other_types(tok_of, tmp_path):
    tok = tok_of("gpt2")
    data = "see my eyes é first ".encode() * 50
    whole = tok.truncate(data, 30)
    assert bytes(tok.truncate(bytearray(data), 30)) == whole
    assert bytes(tok.truncate(memoryview(data), 30)) == whole
    assert tok.truncate(np.frombuffer(data, np.uint8), 30).tobytes() == whole
    path = tmp_path / "text"
    path.write_bytes(data)
    with path.open("rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as mapped:
        assert tok.truncate(mapped, 30) == whole


def test_rules_are_measured_too():
    tok = rule_tokenizer()
    for text in ["", "Xx the THE\u0301", "e\u0301" * 50, *adversarial_strings(60, seed=9)]:
        length = len(tok.encode(text))
        assert tok.count_tokens(text) == length
        assert tok.count_tokens_batch([text]).tolist() == [length]
        for n in range(length + 2):
            assert tok.fits(text, n) == (length <= n)


def test_a_hundred_megabytes_are_not_looked_at(tok_of):
    tok = tok_of("cl100k")
    for text in ("word " * 20_000_000, b"a" * 100_000_000, "é " + "word " * 10_000_000):
        tok.fits(text, 10)
        seconds = []
        for _ in range(5):
            started = time.perf_counter()
            fits = tok.fits(text, 10)
            seconds.append(time.perf_counter() - started)
            assert not fits
        assert min(seconds) < 0.001


def test_counting_stops_early_without_the_bound(tok_of):
    call = tok_of("cl100k")._parts.encoder.call(None)
    for text in ("word " * 200_000, b"word " * 200_000, "é " + "word " * 200_000, "漢字 " * 200_000):
        assert 1000 < call.count(text, limit=1000) < 25_000


def test_wrong_limits_are_refused(tok_of):
    tok = tok_of("gpt2")
    for call in (lambda: tok.fits("a", -1), lambda: tok.truncate("a", -1), lambda: tok.truncate("a", 1, "middle")):
        with pytest.raises(ValueError, match="expected"):
            call()
    for method in (tok.count_tokens, lambda text: tok.fits(text, 1), tok.encode_with_offsets):
        with pytest.raises(TypeError):
            method(3)
    with pytest.raises(TypeError, match="iterable of texts"):
        tok.count_tokens_batch("ab")


def test_rows_of_one_length(tok_of):
    tok = tok_of("gpt2")
    texts = ["", "a b c", "the first"]
    rows = tok.encode_batch(texts)
    for side in ("left", "right"):
        for multiple in (1, 4, 7):
            for limit in (None, 0, 2, 100):
                ids, mask = tok.encode_padded(texts, limit, 0, side, multiple)
                kept = [row if limit is None else row[:limit] for row in rows]
                longest = max(map(len, kept))
                assert ids.shape == mask.shape == (3, -(-longest // multiple) * multiple)
                assert ids.dtype == np.uint32
                assert mask.dtype == np.bool_
                for row, line, there in zip(kept, ids, mask, strict=True):
                    assert line[there].tolist() == row
                    assert not line[~there].any()
                    assert there[: len(row)].all() if side == "right" else there[len(there) - len(row) :].all()
    ids, mask = tok.encode_padded([], pad_id=0)
    assert ids.shape == mask.shape == (0, 0)
    assert tok.encode_padded(["a"], pad_id=7, dtype=np.uint16)[0].dtype == np.uint16
    with pytest.raises(bbpe.SpecialTokenError, match="pad_id"):
        tok.encode_padded(texts)
    for wrong in ({"side": "up"}, {"pad_to_multiple_of": 0}, {"pad_id": -1}, {"max_length": -1}):
        with pytest.raises(ValueError, match="expected"):
            tok.encode_padded(texts, **{"pad_id": 0, **wrong})


def test_rows_with_a_template():
    template = Template(((300, 0), ("A", 0), (301, 0)))
    tok = Tokenizer(small_spec(special_tokens={"<s>": 300, "</s>": 301}, template=template))
    ids, mask = tok.encode_padded(["the the the", "a"], 4, add_special_tokens=True)
    assert ids.tolist() == [[300, *tok.encode("the the the")[:2], 301], [300, *tok.encode("a"), 301, 301]]
    assert mask.sum(axis=1).tolist() == [4, 3]
    assert tok.count_tokens("a", add_special_tokens=True) == 3
    assert tok.count_tokens_batch(["a", ""], add_special_tokens=True).tolist() == [3, 2]
    with pytest.raises(ValueError, match="at least 2"):
        tok.encode_padded(["a"], 1, add_special_tokens=True)


@pytest.mark.parametrize("pattern", ["gpt2", "o200k"])
def test_canonical_ids(tok_of, pattern):
    tok = tok_of(pattern)
    special = tok.special_tokens["<s>"]
    for text in TEXTS:
        ids = tok.encode(text)
        assert tok.is_canonical(ids)
        assert tok.is_canonical(np.array([special, *ids, special, special, *ids]))
        bytes_of = [tok.token_to_id(bytes([byte])) for byte in bbpe.text.text_bytes(text)]
        assert tok.is_canonical(bytes_of) == (bytes_of == ids)
    assert tok.is_canonical([])
    with pytest.raises(bbpe.TokenIdError):
        tok.is_canonical([10_000])
    with pytest.raises(bbpe.TokenIdError):
        tok.is_canonical([-1])


def test_canonical_ids_of_a_tokenizer_without_special_tokens():
    tok = bbpe.train_from_iterator(["low lower"], 258)
    assert tok.special_tokens == {}
    assert tok.is_canonical(tok.encode("low lower"))
    assert not tok.is_canonical(tok.encode("l") + tok.encode("ow"))
    assert tok.decode([*range(200)] * 2, skip_special_tokens=True) == tok.decode([*range(200)] * 2)


SHRINKING = {
    "NFC": (UnicodeForm("NFC"),),
    "NFKC": (UnicodeForm("NFKC"),),
    "a long string": (Replace("xxxx", False, "t"),),
    "a string to nothing": (Replace("x", False, ""),),
    "a regex": (Replace("x+", True, "t"),),
    "strip": (Strip(True, True),),
    "accents": (UnicodeForm("NFD"), StripAccents()),
    "two forms": (UnicodeForm("NFD"), UnicodeForm("NFC")),
}


@pytest.mark.parametrize("rules", SHRINKING)
def test_rules_that_make_texts_shorter_are_measured(rules):
    """A text may be much longer than what is left of it to encode: how long it is proves nothing."""
    tok = Tokenizer(small_spec(rules=TextRules(SHRINKING[rules])))
    units = ["\u03b1\u0313\u0342\u0345", "e\u0323\u0302", "\u1100\u1161\u11a8", "xxxx", "x", "  ", "the"]
    for unit in units:
        for text in (unit * 60, unit * 60 + "the", " " * 200 + unit):
            length = len(tok.encode(text))
            assert [n for n in range(length + 2) if tok.fits(text, n)] == [length, length + 1], (text, length)
            assert tok.truncate(text, length) == text


def test_the_longest_tokens_fit_to_the_letter():
    """A text of nothing but the longest tokens is as long as a text of so many tokens can be."""
    vocab = {**{byte: bytes([byte]) for byte in range(256)}, 256: b"abcdefgh"}
    special = "<|a token that is longer than any other one|>"
    tok = Tokenizer.from_ranks({token: i for i, token in vocab.items()}, pattern="none", special_tokens={special: 257})
    assert tok.encode("abcdefgh") == [256]
    for text, length, options in (
        ("abcdefgh", 1, {}), (special, 1, {"allowed_special": "all"}), (special * 3, 3, {"allowed_special": {special}}),
    ):  # fmt: skip
        for form in (text, text.encode()):
            assert [tok.fits(form, n, **options) for n in (length - 1, length)] == [False, True]
            assert tok.truncate(form, length, **options) == form


def test_the_end_of_a_text_of_long_tokens():
    """What is looked at first, at the left, may have just as many tokens as are kept."""
    word = " " + "a" * 63
    tok = bbpe.train_from_iterator([word * 9] * 3, 340)
    assert len(tok.encode(word)) == 1
    for n in range(1, 40):
        assert tok.truncate(word * 100, n, "left") == word * n
        assert tok.truncate("x" + word * 100, n, "left") == word * n
        assert tok.truncate(word * 100, n) == word * n


def test_white_space_that_a_token_takes_is_measured():
    tok = Tokenizer(small_spec(special_tokens={"<s>": 300}, token_options={"<s>": TokenOptions(lstrip=True)}))
    for text in (" " * 500 + "<s>", "a" + "\n" * 500 + "<s>" + " " * 500 + "<s>"):
        length = len(tok.encode(text, allowed_special="all"))
        assert length <= 3
        assert [n for n in range(length + 2) if tok.fits(text, n, allowed_special="all")] == [length, length + 1]
        assert tok.truncate(text, length, allowed_special="all") == text
