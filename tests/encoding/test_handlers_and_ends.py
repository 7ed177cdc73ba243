"""Handlers of bytes, ids of any size and ends of chunks: what is none is refused, by its name and at once."""

from __future__ import annotations

import codecs
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import bbpe

TOK = bbpe.train_from_iterator(["low lower"], 258)
UNIGRAM = bbpe.train_from_iterator(["low lower"], 280, model="unigram")
HUGE = [2**62, 2**63, 2**64, 2**70, -1, -(2**63), -(2**70)]
TAKERS: dict[str, Callable[[Any], Any]] = {
    "decode": lambda errors: TOK.decode([65], errors=errors),
    "decode_batch": lambda errors: TOK.decode_batch([[65]], errors=errors),
    "stream_decoder": lambda errors: TOK.stream_decoder(errors=errors),
    "decode of Unigram": lambda errors: UNIGRAM.decode([65], errors=errors),
}


@pytest.mark.parametrize("taker", TAKERS)
def test_a_handler_is_known_before_it_is_needed(taker: str) -> None:
    for errors in ("strct", "", "xmlcharrefreplace", "namereplace", "a\0", "\ud800"):
        with pytest.raises(ValueError, match=r"^errors is .*; expected 'replace', .* or another handler"):
            TAKERS[taker](errors)
    for wrong in (None, b"strict", 5):
        with pytest.raises(TypeError, match=rf"^errors must be a str, not {type(wrong).__name__}$"):
            TAKERS[taker](wrong)
    with pytest.raises(ValueError, match=r"did you mean 'strict'\?"):
        TAKERS[taker]("strct")


@pytest.mark.parametrize("taker", TAKERS)
def test_all_handlers_of_decoding_are_taken(taker: str) -> None:
    codecs.register_error("bbpe-test", lambda error: ("?", error.end))
    for errors in ("replace", "strict", "ignore", "backslashreplace", "surrogateescape", "surrogatepass", "bbpe-test"):
        assert TAKERS[taker](errors)


@pytest.mark.parametrize("number", HUGE)
@pytest.mark.parametrize("tok", [TOK, UNIGRAM], ids=["bytes", "unigram"])
def test_unknown_ids_of_any_size_are_skipped_or_marked(tok: bbpe.Tokenizer, number: int) -> None:
    first, last = tok.encode("low"), tok.encode("er")
    ids = [*first, number, *last]
    forms: list[Any] = [ids, tuple(ids)]
    if 0 <= number < 2**64:
        forms += [np.array(ids, np.uint64), [*map(np.uint64, ids)]]
    for given in forms:
        for skips in (False, True):
            options: dict[str, Any] = {"skip_special_tokens": skips}
            found = tok.decode(given, unknown_ids="skip", **options)
            assert found == tok.decode(first + last)
            assert tok.decode_batch([given], unknown_ids="skip", **options) == [found]
            assert tok.decode(given, unknown_ids="mark", **options).count("\ufffd") == 1
            assert tok.decode_batch([given], unknown_ids="mark", **options)[0].count("\ufffd") == 1
        assert tok.stream_decoder(prompt=given, unknown_ids="skip")
        with pytest.raises(bbpe.TokenIdError):
            tok.decode(given)
    many = tok.decode([*first * 90, number], skip_special_tokens=True, unknown_ids="mark")
    assert many == tok.decode(first * 90) + "\ufffd"
    with pytest.raises(TypeError):
        tok.decode([*ids, True], unknown_ids="skip")


@pytest.mark.parametrize("found", [None, 4, [4.0], ["a"], "ab", [None], [True]], ids=repr)
@pytest.mark.parametrize("text", ["low lower low", "löw lower low", b"low lower low"], ids=repr)
def test_ends_of_chunks_are_indices(text: Any, found: Any) -> None:
    with pytest.raises(TypeError, match=r"boundary\(text\) must be"):
        TOK.chunk(text, 2, boundary=lambda _: found)


def test_ends_of_chunks_are_of_any_integers() -> None:
    want = [chunk.text for chunk in TOK.chunk("low lower low", 3, boundary=lambda _: [9, 3])]
    for ends in (np.array([9, 3]), (np.uint8(3), 9), iter([3, 9]), {3, 9}):
        assert [chunk.text for chunk in TOK.chunk("low lower low", 3, boundary=lambda _, ends=ends: ends)] == want


@pytest.mark.parametrize(
    "option", [{"truncation": "only_second"}, {"truncation": True}, {"truncation": "longest_first"},
               {"truncation_side": "left"}, {"truncation_side": "right"}, {"stride": 0}],
    ids=repr,
)  # fmt: skip
def test_truncation_needs_a_length(option: Any) -> None:
    name = next(iter(option))
    with pytest.raises(ValueError, match=rf"^{name} is .*, but max_length is None; expected a number of ids$"):
        TOK.encode_padded(["low"], pad_id=0, **option)
    assert TOK.encode_padded(["low"], 9, 0, **option).ids.tolist() == [TOK.encode("low")]


def test_a_stop_string_is_included_where_there_may_be_one() -> None:
    with pytest.raises(ValueError, match=r"^include_stop is True, but stop is None; expected a list of stop strings$"):
        TOK.stream_decoder(include_stop=True)
    assert TOK.stream_decoder(include_stop=True, stop=[])
