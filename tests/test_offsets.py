"""Where ids lie in a text: in bytes, characters and UTF-16 units."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from strings import adversarial_strings, byte_soups

import bbpe

PATTERNS = ["gpt2", "cl100k", "whitespace", r"\w+$|\w|(?<=a)b+"]


def characters(text):
    """Each character's bytes and how many characters and UTF-16 units it counts as."""
    if isinstance(text, bytes):
        text = text.decode("utf-8", "surrogateescape")
        return [
            (1, 1, 1) if "\udc80" <= char <= "\udcff" else (len(char.encode()), 1, 1 + (char > "\uffff"))
            for char in text
        ]
    rows, at = [], 0
    while at < len(text):
        is_pair = "\ud800" <= text[at] < "\udc00" and "\udc00" <= text[at + 1 : at + 2] <= "\udfff"
        char = text[at : at + 1 + is_pair]
        if is_pair:
            rows.append((4, 2, 2))
        else:
            rows.append((3 if "\ud800" <= char <= "\udfff" else len(char.encode()), 1, 1 + (char > "\uffff")))
        at += len(char)
    return rows


def mapped(text, spans, unit):
    """The same by a table of every byte."""
    starts, ends, at = [], [], 0
    for size, chars, units in characters(text):
        width = chars if unit == "char" else units
        starts += [at] * size
        at += width
        ends += [at] * size
    starts.append(at)
    return [[starts[start], ends[end - 1] if end > start else starts[start]] for start, end in spans]


@pytest.mark.parametrize("pattern", PATTERNS)
def test_offsets(tok_of, pattern):
    tok = tok_of(pattern)
    texts = [*adversarial_strings(250, seed=41, surrogates=True), *byte_soups(60, seed=42), ""]
    for text in texts:
        data = bytes(bbpe.normalize.text_bytes(text))
        ids, spans = tok.encode_with_offsets(text, "byte")
        assert ids == tok.encode(text)
        assert spans.dtype == np.int64
        assert spans.shape == (len(ids), 2)
        assert [data[start:end] for start, end in spans] == tok.decode_tokens_bytes(ids)
        assert all(before[1] <= after[0] for before, after in pairwise(spans.tolist()))
        if not tok.spec.pattern.drops_gaps:
            assert b"".join(data[start:end] for start, end in spans) == data
        for unit in ("char", "utf16"):
            assert tok.encode_with_offsets(text, unit)[1].tolist() == mapped(text, spans.tolist(), unit)


def test_widths_of_strings(tok_of):
    tok = tok_of("gpt2")
    for text in ("abc", "aéb", "a漢b", "a😀b", "\ud83d\ude00a\ud800", "😀\ud83d\ude00\ude00", "é" * 300):
        spans = tok.encode_with_offsets(text, "byte")[1].tolist()
        for unit in ("char", "utf16"):
            assert tok.encode_with_offsets(text, unit)[1].tolist() == mapped(text, spans, unit)
        assert tok.encode_with_offsets(text)[1].max() == len(text)


def test_special_tokens_have_places(tok_of):
    for pattern in ("gpt2", "whitespace"):
        tok = tok_of(pattern)
        text = "é<s> a <|end|>漢"
        ids, spans = tok.encode_with_offsets(text, allowed_special="all")
        assert ids == tok.encode(text, allowed_special="all")
        places = dict(zip(ids, spans.tolist(), strict=True))
        assert places[tok.special_tokens["<|end|>"]] == [7, 14]
    with pytest.raises(ValueError, match="unit"):
        tok.encode_with_offsets("a", "line")


def test_texts_of_ids_have_places(tok_of):
    tok = tok_of("gpt2")
    for text in adversarial_strings(100, seed=43):
        ids = tok.encode(text)
        decoded, starts = tok.decode_with_offsets(ids)
        assert decoded == text
        assert starts == tok.encode_with_offsets(text)[1][:, 0].tolist()
        assert tok.decode_with_offsets(np.array(ids)) == (decoded, starts)
    with pytest.raises(UnicodeDecodeError):
        tok.decode_with_offsets(tok.encode(b"\xff"))
    with pytest.raises(bbpe.TokenIdError):
        tok.decode_with_offsets([10_000])


FILES = ["gpt2.tokenizer.json", "deepseek_v3.tokenizer.json"]


def same_as_hf(tok, peer, text):
    theirs = peer.encode(text, add_special_tokens=False)
    ids, spans = tok.encode_with_offsets(text, allowed_special="all")
    assert ids == theirs.ids
    assert spans.tolist() == [list(pair) for pair in theirs.offsets]


@pytest.fixture(scope="module")
def both(vocab_path):
    tokenizers = pytest.importorskip("tokenizers")
    return lambda name: (bbpe.load(vocab_path(name)), tokenizers.Tokenizer.from_file(str(vocab_path(name))))


@pytest.mark.parametrize("name", FILES)
def test_hf_has_the_same_places(both, corpus, name):
    tok, peer = both(name)
    specials = "a<|endoftext|>é<｜end▁of▁sentence｜>"
    for text in ["", specials, *adversarial_strings(200, seed=44), corpus("multi", 100_000)]:
        same_as_hf(tok, peer, text)


@pytest.mark.full
@pytest.mark.parametrize("language", ["en", "code", "ja", "zh", "multi"])
@pytest.mark.parametrize("name", FILES)
def test_hf_has_the_same_places_in_all_corpora(both, corpus, name, language):
    tok, peer = both(name)
    text = corpus(language)
    for at in range(0, len(text), 1 << 18):
        same_as_hf(tok, peer, text[at : at + (1 << 18)])
