"""Chunks: at most so many tokens each when encoded alone, whole grapheme clusters, and ends where asked for."""

from __future__ import annotations

import random
import re
from collections.abc import Callable, Iterator
from functools import partial
from itertools import pairwise
from typing import Any

import pytest
import regex
from strings import adversarial_strings, byte_soups

import bbpe
from bbpe.spec.models import UnigramModel
from bbpe.spec.rules import Characters, Prepend
from bbpe.spec.spec import TextRules, make_spec
from bbpe.splitting.patterns import PATTERNS
from bbpe.types import Chunk

CLUSTERS = ["👨\u200d👩\u200d👧", "🇩🇪", "e\u0301", "한", "क्षि", "\r\n", "각", "👍🏽"]
CLUSTERS += ["a", " the", "東京", "\n", ". ", "12", "é", "。"]
_rng = random.Random(9)
SOUPS = adversarial_strings(25, seed=81)
SOUPS += ["".join(_rng.choices(CLUSTERS, k=_rng.randint(1, 60))) for _ in range(25)]
TEXTS = [*SOUPS[::3], "", "a", "word " * 400, "東京は。" * 90, "🇩🇪" * 100, "x" * 600]


@pytest.fixture(scope="module", params=["gpt2", "o200k", "deepseek_v3", "unigram", "wordpiece"])
def tok(request: pytest.FixtureRequest) -> bbpe.Tokenizer:
    text = ["the word, the words. " * 9, "".join(CLUSTERS) * 3]
    if request.param == "unigram":
        return bbpe.train_from_iterator(text, 400, model=bbpe.Unigram(byte_fallback=True))
    if request.param == "wordpiece":
        return bbpe.train_from_iterator(text, 90, model="wordpiece")
    return bbpe.train_from_iterator(text, 330, pattern=request.param, special_tokens=["<s>"])


@pytest.mark.parametrize("size", [200, 300, 1100, 5000])
def test_the_last_sentence_may_be_far_back(size: int) -> None:
    tok = bbpe.train_from_iterator(["x"], 256)
    text = "Ab. Cd! " + "x" * size
    first, *rest = tok.chunk(text, size, boundary="sentence")
    assert (first.start, first.end, first.tokens) == (0, 7, 7)
    assert rest[0].start == 7


def checked(tok: bbpe.Tokenizer, text: str, limit: int, **options: object) -> list[Chunk]:
    """The chunks, which keep what every chunk must."""
    chunks: list[Chunk] = tok.chunk(text, limit, **options)  # type: ignore[arg-type]
    clusters = {0, *(match.end() for match in regex.finditer(r"\X", text))}
    for start, end, tokens, part in chunks:
        assert tok.count_tokens(text[start:end]) == tokens <= limit
        assert part == text[start:end]
        whole = regex.match(r"\X", text[start:])
        if {start, end} - clusters:  # then a cluster alone is too long
            around = max(place for place in clusters if place <= start), min(p for p in clusters if p >= end)
            inside = regex.findall(r"\X", text[around[0] : around[1]])
            assert any(tok.count_tokens(cluster) > limit or len(cluster.encode()) > 512 for cluster in inside), whole
    assert text == "" or (chunks[0].start, chunks[-1].end) == (0, len(text))
    for before, after in pairwise(chunks):
        assert before.start < after.start <= before.end < after.end
    return chunks


@pytest.mark.parametrize(("limit", "texts"), [
    (1, TEXTS), (2, TEXTS), (7, TEXTS), (60, TEXTS),
    *(pytest.param(limit, SOUPS, marks=pytest.mark.full) for limit in (1, 5, 40)),
])  # fmt: skip
def test_chunks_fit_and_join(tok: bbpe.Tokenizer, limit: int, texts: list[str]) -> None:
    for text in texts:
        message = ""
        try:
            chunks = checked(tok, text, limit)
        except ValueError as error:
            message = str(error)
        if found := re.match(rf"max_tokens is {limit}, but the character at byte (\d+) alone has more", message):
            assert tok.count_tokens(text.encode()[int(found[1]) :].decode()[0]) > limit
            continue
        assert message == ""
        assert "".join(text[start:end] for start, end, *_ in chunks) == text


@pytest.mark.parametrize("overlap", [1, 9])
@pytest.mark.parametrize("boundary", ["token", "word", "sentence", "line", "paragraph"])
def test_overlaps_and_boundaries(tok: bbpe.Tokenizer, overlap: int, boundary: str) -> None:
    for text in TEXTS[::3]:
        for chunk in checked(tok, text, 12, boundary=boundary):
            assert chunk.tokens > 0
        for before, after in pairwise(checked(tok, text, 12, overlap=overlap, boundary=boundary)):
            assert tok.count_tokens(text[after.start : before.end]) <= overlap


ENDLESS = ["\U0001f469\u200d", "\u200d", "\u0301", "\u0600", "🇩🇪", "क्", "a", "!)", "e\u0301"]


@pytest.mark.parametrize("unit", ENDLESS, ids=ascii)
def test_clusters_and_words_without_end(tok: bbpe.Tokenizer, unit: str) -> None:
    for text in (unit * 70, "see " + unit * 60 + " my. eyes" + unit * 40 + "."):
        for options in ({}, {"overlap": 9}, {"boundary": "word"}, {"boundary": "sentence", "overlap": 3}):
            chunks = checked(tok, text, 12, **options)
            assert len(chunks) == 1 or max(chunk.tokens for chunk in chunks) >= 6
            if not options:
                assert "".join(text[start:end] for start, end, *_ in chunks) == text


def test_a_cluster_that_is_long_and_fits_stays_whole() -> None:
    tok = bbpe.train_from_iterator(["x"], 256)  # a byte is a token
    cluster = "e" + "\u0301" * 150
    for text in ("some words " * 20 + cluster + " more" * 20, cluster, cluster * 3):
        for start, end, *_ in checked(tok, text, 400):
            assert cluster in text[start:end] or "\u0301" not in text[start:end]


def test_chunks_are_as_long_as_can_be(tok_of: Callable[[str], bbpe.Tokenizer]) -> None:
    tok = tok_of("o200k")
    text = "".join(adversarial_strings(200, seed=82))
    for limit in (16, 100, 3_000):
        chunks = checked(tok, text, limit)
        assert len(chunks) <= 1.1 * tok.count_tokens(text) / (limit - 3) + 1


def test_bytes(tok_of: Callable[[str], bbpe.Tokenizer]) -> None:
    tok = tok_of("gpt2")
    for data in [*byte_soups(40, seed=83), b"\xff" * 90, "é".encode() * 40]:
        chunks = tok.chunk(data, 7)
        assert b"".join(data[start:end] for start, end, *_ in chunks) == data
        assert [chunk.text for chunk in chunks] == [data[start:end] for start, end, *_ in chunks]
        assert [*map(type, (chunk.text for chunk in tok.chunk(bytearray(data), 7)))] == [bytes] * len(chunks)
        assert all(tok.count_tokens(data[start:end]) == tokens <= 7 for start, end, tokens, _ in chunks)


def parts(tok: bbpe.Tokenizer, text: str, limit: int, boundary: object) -> list[str]:
    return [chunk.text for chunk in tok.chunk(text, limit, boundary=boundary)]  # type: ignore[arg-type,misc]


def test_where_chunks_end() -> None:
    tok = bbpe.train_from_iterator(["x"], 256)  # a byte is a token
    assert parts(tok, "one two  three", 6, "word") == ["one", " two", "  thre", "e"]
    assert parts(tok, "One. Two! (3?) four", 9, "sentence") == ["One. Two!", " (3?)", " four"]
    assert parts(tok, "one!!!!! two", 10, "sentence") == ["one!!!!!", " two"]
    assert parts(tok, "!!!!!!!! two", 5, "sentence") == ["!!!!!", "!!!", " two"]
    assert parts(tok, "あ。い」。うえ", 12, "sentence") == ["あ。", "い」。", "うえ"]
    assert parts(tok, "a\nbb\n\nccc\nd", 6, "line") == ["a\nbb\n\n", "ccc\nd"]
    assert parts(tok, "a\nbb\n\nccc\nd", 9, "paragraph") == ["a\nbb\n\n", "ccc\nd"]
    assert parts(tok, "a\n \t\r\n\n\nb\nc", 8, "paragraph") == ["a\n \t\r\n\n\n", "b\nc"]
    assert parts(tok, "a\nb\nc", 4, "paragraph") == ["a\nb\n", "c"]
    assert parts(tok, "é|bb|cc", 5, lambda text: [i + 1 for i, c in enumerate(text) if c == "|"]) == ["é|", "bb|cc"]
    assert parts(tok, "abcdef", 4, lambda text: []) == ["abcd", "ef"]


def test_special_tokens_stay_whole(tok_of: Callable[[str], bbpe.Tokenizer]) -> None:
    tok = tok_of("gpt2")
    text = "word <s>" * 9
    for start, end, tokens, _ in tok.chunk(text, 5, allowed_special="all"):
        assert tok.count_tokens(text[start:end], allowed_special="all") == tokens <= 5
    with pytest.raises(bbpe.SpecialTokenError):
        tok.chunk(text, 5, disallowed_special="all")


def wrong() -> Iterator[tuple[dict[str, object], type[Exception], str]]:
    yield {"max_tokens": 0}, ValueError, "max_tokens is 0"
    yield {"max_tokens": "3"}, TypeError, "max_tokens must be an int"
    yield {"max_tokens": 3, "overlap": 3}, ValueError, "overlap is 3; expected less than max_tokens"
    yield {"max_tokens": 3, "overlap": -1}, ValueError, "overlap is -1"
    yield {"max_tokens": 3, "boundary": "page"}, ValueError, "boundary is 'page'"
    yield {"max_tokens": 3, "boundary": lambda text: [99]}, ValueError, "boundary returned 99"


@pytest.mark.parametrize(("given", "kind", "message"), list(wrong()))
def test_wrong_arguments(given: dict[str, object], kind: type[Exception], message: str) -> None:
    with pytest.raises(kind, match=message):
        bbpe.train_from_iterator(["x"], 256).chunk("abc", **given)  # type: ignore[arg-type]


def by_definition(text: str, limit: int, ends_of: Callable[[int], set[int]]) -> list[str]:
    """Of tokens that are bytes: as far as the limit reaches, or back to the last of the ends that follow a start."""
    found, start = [], 0
    while start < len(text):
        end = max(at for at in range(start, len(text) + 1) if len(text[start:at].encode()) <= limit)
        if end < len(text):
            end = max([at for at in ends_of(start) if start < at <= end], default=end)
        found.append(text[start:end])
        start = end
    return found


SENTENCES = re.compile(r"[.!?]+[\"')]*(?=[ \t\r\n])|\n[ \t\r]*\n|。")
WORD_ENDS = re.compile(r"(?<=[^ \t\n\r\v\f])(?=[ \t\n\r\v\f])")
KINDS_OF_ENDS: dict[str, Callable[[str], set[int]]] = {
    "word": lambda text: {found.start() for found in WORD_ENDS.finditer(text)},
    "line": lambda text: {found.end() for found in re.finditer("\n", text)},
    "sentence": lambda text: {found.end() for found in SENTENCES.finditer(text)},
    "paragraph": lambda text: {at for at in range(len(text) + 1) if re.search(r"\n[ \t\r]*\n\Z", text[:at])},
}


def ends_after(kind: Callable[[str], set[int]], text: str, start: int) -> set[int]:
    return {start + end for end in kind(text[start:])}


@pytest.mark.parametrize("boundary", ["word", "line", "sentence", "paragraph", "given"])
def test_chunks_end_at_the_last_place_that_fits(boundary: str) -> None:
    tok, rng = bbpe.train_from_iterator(["x"], 256), random.Random(boundary)  # a byte is a token
    parts = {
        "word": ["ab", "é", "c", " ", "\t", "\n", "\v", "\f", "d "], "line": ["ab", "é", "\n", " "],
        "given": ["ab", "é", "中", " "], "paragraph": ["ab", "é", "\n", "\n\n", " ", "\t\n"],
        "sentence": ["ab", "é", ". ", "!\n", "?\t", ".) ", "\n \t\n", "\n\n", "。", " ", ".5", "."],
    }[boundary]
    for _ in range(400):
        text = "x" + "".join(rng.choices(parts, k=rng.randint(1, 14)))
        limit = rng.randint(4, 9)
        if boundary == "given":
            ends = rng.choices(range(len(text) + 1), k=rng.randint(0, 6))
            chunks = tok.chunk(text, limit, boundary=lambda _, ends=ends: iter(ends))
            expected = by_definition(text, limit, lambda _, ends=ends: set(ends))
        else:
            chunks = tok.chunk(text, limit, boundary=boundary)  # type: ignore[arg-type]
            expected = by_definition(text, limit, partial(ends_after, KINDS_OF_ENDS[boundary], text))
        assert [text[start:end] for start, end, *_ in chunks] == expected, (text, limit)


@pytest.mark.parametrize("options", [{"boundary": "word"}, {"overlap": 2}, {"boundary": "line", "overlap": 3}], ids=str)
def test_special_tokens_count_as_one_in_all_kinds_of_chunks(options: dict[str, Any]) -> None:
    tok = bbpe.train_from_iterator(["x"], 258, special_tokens=["<|a long token|>", "<s>"])
    text = "ab <s>cd <|a long token|>\ne <s><s>f\n<|a long token|> gh" * 3
    chunks = tok.chunk(text, 7, allowed_special="all", **options)
    assert [tok.count_tokens(text[start:end], allowed_special="all") for start, end, *_ in chunks] == [
        chunk.tokens for chunk in chunks
    ]
    assert max(chunk.tokens for chunk in chunks) <= 7
    assert len(chunks) < 20  # as plain text they would take 40
    for before, after in pairwise(chunks):
        assert before.start < after.start <= before.end < after.end
        shared = tok.count_tokens(text[after.start : before.end], allowed_special="all")
        assert shared == min(options.get("overlap", 0), before.tokens)


@pytest.mark.parametrize("marks", [0, 1, 20])
def test_the_first_cluster_is_encoded_alone_where_no_part_of_the_text_fits(marks: int) -> None:
    """The text begins with the token of a blank, and each cluster alone with one of the blank and the cluster."""
    cluster = "é" + "\u0301" * marks
    scores = {" ": -1.0, cluster + "b": -1.0, "é": -9.0, "b": -9.0, "\u0301": -9.0}
    scores |= {f" {text}": -3.0 for text in (cluster, "é", "b", "\u0301")}
    rules = TextRules((Prepend(" "),))
    spec = make_spec(
        {1 + number: text.encode() for number, text in enumerate(scores)}, None, pattern=PATTERNS["none"],
        special_tokens={"<unk>": 0}, rules=rules, characters=Characters((), 0),
        model=UnigramModel((0.0, *scores.values())),
    )  # fmt: skip
    chunks = bbpe.Tokenizer(spec).chunk((cluster + "b") * 300, 1)
    assert [chunk.text for chunk in chunks] == [cluster, "b"] * 300
