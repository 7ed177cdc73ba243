"""The slow readable truth against examples worked by hand."""

from __future__ import annotations

import doctest

import pytest

from bbpe import reference
from bbpe.spec.spec import make_spec
from bbpe.splitting.patterns import get_pattern

BYTES = {byte: bytes((byte,)) for byte in range(256)}


def test_its_examples_run() -> None:
    assert doctest.testmod(reference).failed == 0


@pytest.mark.parametrize(
    ("text", "pretokens"),
    [
        ("", []),
        ("Hello world", [b"Hello", b" world"]),
        ("a  b", [b"a", b" ", b" b"]),
        ("a\n  ", [b"a", b"\n  "]),
        ("I'll don't 'S", [b"I", b"'ll", b" don", b"'t", b" '", b"S"]),
        ("x12½!", [b"x", "12½".encode(), b"!"]),
        ("\xa0a", [b"\xc2\xa0", b"a"]),
        (b"a\xff\xfe b\xc3", [b"a", b"\xff\xfe", b" b", b"\xc3"]),
        (b"\xed\xa0\x80a", [b"\xed\xa0\x80", b"a"]),
        ("\ud800\ud83d\ude00a", ["\ufffd\U0001f600".encode(), b"a"]),
    ],
)
def test_split_as_gpt2(text: str | bytes, pretokens: list[bytes]) -> None:
    assert reference.split(text, "gpt2") == pretokens


@pytest.mark.parametrize(
    ("pattern", "text", "pretokens"),
    [
        ("cl100k", "a\n  ", ["a", "\n  "]),
        ("cl100k_older", "a\n  ", ["a", "\n", "  "]),
        ("llama3", "12345 'ſx", ["123", "45", " '", "ſx"]),
        ("cl100k", "'ſx", ["'ſ", "x"]),
        ("qwen2", "123", ["1", "2", "3"]),
        ("o200k", "HTTPServer'S a//\n", ["HTTPServer'S", " a", "//\n"]),
        ("tekken", "camelCase's", ["camel", "Case", "'s"]),
        ("kimi", "a中文b", ["a", "中文", "b"]),
        ("deepseek_v3", "1234中a", ["123", "4", "中", "a"]),
        ("starcoder", "ab12", ["ab", "1", "2"]),
        ("clip", "a b", ["a", "b"]),
        ("whitespace", " see  my\n", ["see", "my"]),
        ("none", "see my", ["see my"]),
        (r"\d|[a-z]+", "ab, 12", ["ab", ", ", "1", "2"]),
    ],
)
def test_split_by_other_patterns(pattern: str, text: str, pretokens: list[str]) -> None:
    assert reference.split(text, pattern) == [pretoken.encode() for pretoken in pretokens]


def test_overlapping_pairs_count_each_window_and_merge_from_the_left() -> None:
    assert reference.count_pairs([([b"a"] * 4, 2)]) == {(b"a", b"a"): 6}
    assert reference.join([b"a"] * 5, (b"a", b"a")) == [b"aa", b"aa", b"a"]


def test_sennrich_2016_worked_example() -> None:
    """The paper's vocabulary (low 5, lower 2, newest 6, widest 3), without its end-of-word mark."""
    counts = {b"low": 5, b"lower": 2, b"newest": 6, b"widest": 3}
    merges = reference.train_from_counts(counts, 4, tie_break="first")
    assert merges == [(b"e", b"s"), (b"es", b"t"), (b"l", b"o"), (b"lo", b"w")]


def test_tie_break_ids_is_by_byte_alphabet_order_not_byte_value() -> None:
    # 0x00 is the 189th character of the alphabet, "z" the 90th
    counts = {b"\x00a": 1, b"zz": 1}
    assert reference.train_from_counts(counts, 2) == [(b"z", b"z"), (b"\x00", b"a")]


def test_tie_break_bytes_compares_left_then_right() -> None:
    counts = {b"ax": 1, b"ay": 1, b"b": 9, b"bc": 1}
    assert reference.train_from_counts(counts, 3, tie_break="bytes") == [(b"b", b"c"), (b"a", b"y"), (b"a", b"x")]
    # (b"ab", b"") cannot be, but a longer left part is greater than its prefix
    counts = {b"abab": 5, b"abz": 1, b"az": 1}
    assert reference.train_from_counts(counts, 4, tie_break="bytes")[:2] == [(b"a", b"b"), (b"ab", b"ab")]


def test_tie_break_first_looks_at_the_text_as_it_is_segmented_now() -> None:
    # once "ab" is merged, the first (b, c) is the one in "bc", behind (e, f)
    counts = {b"abc": 1, b"ef": 1, b"bc": 1, b"ab": 2}
    merges = reference.train_from_counts(counts, 4, tie_break="first")
    assert merges == [(b"a", b"b"), (b"ab", b"c"), (b"e", b"f"), (b"b", b"c")]


def test_min_frequency_stops_and_max_token_length_passes_over() -> None:
    counts = {b"abc": 3, b"xy": 2}
    assert reference.train_from_counts(counts, 9, min_frequency=3) == [(b"a", b"b"), (b"ab", b"c")]
    assert reference.train_from_counts(counts, 9, max_token_length=2) == [(b"a", b"b"), (b"x", b"y")]
    assert reference.train_from_counts(counts, 9, max_token_length=1) == []
    assert reference.train_from_counts({b"ab": 0}, 9, min_frequency=0) == []


def test_texts_and_special_tokens_keep_pairs_apart() -> None:
    assert reference.train(["a", "b"], 300) == []
    assert reference.train(["a<s>b"], 300, special_tokens=["<s>"]) == []
    assert reference.count(["x<s> x<s>>y"], special_tokens=["<s>", "<s>>"]) == {b"x": 1, b" x": 1, b"y": 1}


RANKS = {**{token: token_id for token_id, token in BYTES.items()}, b"bc": 256, b"ab": 257, b"abc": 258, b"cd": 259}


def test_rank_mode_merges_whatever_makes_a_token() -> None:
    rank = reference.by_ranks(RANKS)
    assert reference.merge(b"abcd", rank) == [b"abc", b"d"]
    assert reference.merge(b"abcd", rank, below=258) == [b"a", b"bc", b"d"]
    assert reference.merge(b"", rank) == []


def test_merge_list_mode_merges_only_listed_pairs() -> None:
    merges = [(b"b", b"c"), (b"a", b"b"), (b"ab", b"c"), (b"c", b"d")]
    assert reference.merge(b"abcd", reference.by_order(merges)) == [b"a", b"bc", b"d"]
    # listed twice: the last place counts
    assert reference.merge(b"abc", reference.by_order([(b"a", b"b"), (b"b", b"c"), (b"a", b"b")])) == [b"a", b"bc"]


def test_whole_pretokens_are_looked_up_first() -> None:
    vocab = {token_id: token for token, token_id in RANKS.items()} | {260: b"dbca"}
    for whole, ids in ((False, [100, 256, 97]), (True, [260])):
        spec = make_spec(vocab, None, pattern=get_pattern("gpt2"), whole_pretokens=whole)
        assert reference.SlowTokenizer(spec).encode("dbca") == ids


def test_special_and_added_tokens() -> None:
    special, added = {"<s>": 300, "<s>>": 301}, {"now": 302}
    spec = make_spec(BYTES, [], pattern=get_pattern("gpt2"), special_tokens=special, added_tokens=added)
    slow = reference.SlowTokenizer(spec)
    assert slow.encode("<s>>a now", allowed_special=["<s>", "<s>>"]) == [301, 97, 32, 302]
    assert slow.encode("<s>") == [60, 115, 62]
    assert slow.decode_bytes([301, 97, 302]) == b"<s>>anow"


def test_words_merge_pairs_that_are_seen_once_unless_more_are_asked_for() -> None:
    words, tokens = [([0, 1, 2], 1)], ["a", "b", "c"]
    assert reference.learn_words(words, tokens, 9, pmi=False)[0] == [(0, 1), (3, 2)]
    for least, count in ((0, 2), (1, 2), (2, 0)):
        assert len(reference.learn_words(words, tokens, 9, pmi=False, least=least)[0]) == count
