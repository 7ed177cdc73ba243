"""Where a text is cut that arrives in chunks, and the stretches between the tokens that are found in it."""

from __future__ import annotations

import pytest

from bbpe.pipeline.special_tokens import NOTHING, Matcher, SpecialTokens
from bbpe.pipeline.streaming import chunk_bytes, complete_characters

SMILE = "\U0001f600".encode()


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (b"", 0), (b"a", 1), (b"ab", 2), (b"\xc3", 0), (b"a\xc3", 1), ("a\u00e9".encode(), 3), (b"a\xe4", 1),
        (b"a\xe4\xb8", 1), ("a\u4e2d".encode(), 4), (SMILE[:1], 0), (SMILE[:2], 0), (SMILE[:3], 0), (SMILE, 4),
        (SMILE + SMILE[:3], 4), (b"\xc3(", 2), (b"\xe4\xb8(", 3), (b"a\x80", 2), (b"\x80\x80\x80\x80", 4),
        (b"\xc3\xa9\x80", 3), (b"\xe0", 0), (b"a\xe0\xa4", 1), (b"\xdf", 0), (b"\xdf\xbf", 2), (b"\xef\xbf", 0),
        (b"\xf0\x80\x80", 0), (b"\x7f", 1), (b"ab\xef", 2), (b"\xf0\x80\x80\x80\x80", 5),
    ],
)  # fmt: skip
def test_a_character_that_is_not_whole_is_left_for_later(text: bytes, expected: int) -> None:
    assert complete_characters(text) == expected


@pytest.mark.parametrize(
    ("chunks", "expected"),
    [
        ([], []), ([""], [b""]), (["a", "b"], [b"a", b"b"]), ([b"a", memoryview(b"b"), "c"], [b"a", b"b", b"c"]),
        (["a\ud83d", "\ude00b"], [b"a", SMILE + b"b"]), (["\ud83d", "", "\ude00"], [b"", b"", SMILE]),
        (["\ud83d", "x"], [b"", b"\xef\xbf\xbdx"]), (["a\ud83d"], [b"a", b"\xef\xbf\xbd"]),
        (["\ud83d", b"x", "y"], [b"", b"\xef\xbf\xbd", b"x", b"y"]), (["\ude00", "a"], [b"\xef\xbf\xbd", b"a"]),
        (["\ud83d", "\ud83d", "\ude00"], [b"", b"\xef\xbf\xbd", SMILE]),
        (["\udbff", "\udfff"], [b"", "\U0010ffff".encode()]), (["\ud800", "\udc00"], [b"", "\U00010000".encode()]),
    ],
)  # fmt: skip
def test_a_pair_of_surrogates_in_two_chunks_is_joined(chunks: list[str | bytes], expected: list[bytes]) -> None:
    """Half a pair by itself is U+FFFD."""
    assert [bytes(chunk) for chunk in chunk_bytes(chunks)] == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (b"", []), (b"ab", [b"ab"]), (b"<s>", [7]), (b"<s><t>", [7, 8]), (b"a<s>b<t>c", [b"a", 7, b"b", 8, b"c"]),
        (b"<s>a", [7, b"a"]), (b"a<s>", [b"a", 7]), (b"<s", [b"<s"]), (b"<<s>>", [b"<", 7, b">"]),
    ],
)  # fmt: skip
def test_stretches_and_tokens_come_in_turn(text: bytes, expected: list[bytes | int]) -> None:
    matcher = Matcher.of({b"<s>": 7, b"<t>": 8})
    assert list(matcher.pieces(text)) == expected
    spans = list(matcher.spans(text))
    assert [text[start:end] if token_id is None else token_id for start, end, token_id in spans] == expected
    assert [end for _, end, _ in spans[:-1]] == [start for start, _, _ in spans[1:]]
    assert [(start, end, token_id) for start, end, token_id in spans if token_id is not None] == list(
        matcher.matches(text)
    )
    assert list(NOTHING.pieces(text)) == ([text] if text else [])


def test_the_next_token_at_a_place_or_after_it() -> None:
    matcher = Matcher.of({b"<s>": 7, b"<t>": 8})
    text = b"a<s>b<t>"
    found = [matcher.find(text, start) for start in range(len(text) + 1)]
    assert found == [(1, 4, 7)] * 2 + [(5, 8, 8)] * 4 + [None] * 3
    assert matcher.find(text) == (1, 4, 7)
    assert matcher.longest == 3


def test_tokens_that_are_added_are_found_without_being_asked_for() -> None:
    tokens = SpecialTokens({"<s>": 1, "<end>": 2}, {"<a>": 3})
    plain, every, some = (tokens.matcher(allowed) for allowed in ((), "all", ["<s>"]))
    assert plain is not None
    assert every is not None
    assert some is not None
    text = b"x<a><s><end>"
    assert list(plain.pieces(text)) == [b"x", 3, b"<s><end>"]
    assert list(every.pieces(text)) == [b"x", 3, 1, 2]
    assert list(some.pieces(text)) == [b"x", 3, 1, b"<end>"]
    assert (plain.ids, every.ids, some.ids) == ({3}, {1, 2, 3}, {1, 3})
    assert (plain.longest, every.longest, some.longest) == (3, 5, 3)
    assert SpecialTokens({"<s>": 1}, {}).matcher() is None
    assert SpecialTokens({}, {}).matcher("all") is None
    assert tokens.texts == ("<s>", "<end>", "<a>")
