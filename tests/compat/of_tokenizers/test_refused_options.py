"""Options and numbers that the view for `tokenizers` refuses, as the package does; the error names the argument."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import bbpe
from bbpe.compat.tokenizers import AddedToken, DecodeStream, Encoding, Tokenizer

hf = pytest.importorskip("tokenizers")

DOCUMENT = bbpe.train_from_iterator(["low lower"], 260, special_tokens=["<s>"]).as_tokenizers().to_str()
NUMBERS = ["x", -1, 1.5, [], b"x"]
IDS = [*NUMBERS, None, 2**33]
NO_FLAGS = ["no", 2, 1, [], 1.5]
PADDING = {
    "pad_id": IDS, "pad_type_id": IDS, "length": NUMBERS, "pad_token": [None, 5, b"x"], "direction": ["up", "Left"],
}  # fmt: skip
TRUNCATION = {"max_length": [*NUMBERS, None], "stride": [*NUMBERS, None], "direction": ["up"]}
#: Methods of a tokenizer, what a call needs, and the values of options that it refuses.
OF_TOKENIZERS: dict[str, tuple[dict[str, Any], dict[str, list[Any]]]] = {
    "enable_padding": ({}, {**PADDING, "pad_to_multiple_of": NUMBERS}),
    "enable_truncation": ({"max_length": 3}, {**TRUNCATION, "strategy": ["longest"]}),
    "encode": ({"sequence": "low"}, {"is_pretokenized": NO_FLAGS, "add_special_tokens": NO_FLAGS}),
    "encode_batch": ({"input": ["low"]}, {"is_pretokenized": NO_FLAGS, "add_special_tokens": NO_FLAGS}),
    "encode_batch_fast": ({"input": []}, {"add_special_tokens": NO_FLAGS}),
    "decode": ({"ids": [75]}, {"skip_special_tokens": NO_FLAGS}),
    "decode_batch": ({"sequences": []}, {"skip_special_tokens": NO_FLAGS}),
    "get_vocab": ({}, {"with_added_tokens": NO_FLAGS}),
    "get_vocab_size": ({}, {"with_added_tokens": NO_FLAGS}),
    "num_special_tokens_to_add": ({}, {"is_pair": NO_FLAGS}),
    "to_str": ({}, {"pretty": NO_FLAGS}),
    "save": ({"path": "t.json"}, {"pretty": NO_FLAGS}),
    "post_process": ({"encoding": None}, {"add_special_tokens": NO_FLAGS}),
}  # fmt: skip
#: Those of an encoding.
OF_ENCODINGS: dict[str, tuple[dict[str, Any], dict[str, list[Any]]]] = {
    "pad": ({"length": 9}, PADDING),
    "truncate": ({"max_length": 2}, TRUNCATION),
    "merge": ({"encodings": []}, {"growing_offsets": NO_FLAGS}),
    "token_to_chars": ({}, {"token_index": NUMBERS}),
    "token_to_word": ({}, {"token_index": NUMBERS}),
    "token_to_sequence": ({}, {"token_index": NUMBERS}),
    "char_to_token": ({"char_pos": 0}, {"char_pos": NUMBERS, "sequence_index": NUMBERS}),
    "char_to_word": ({"char_pos": 0}, {"char_pos": NUMBERS, "sequence_index": NUMBERS}),
    "word_to_tokens": ({"word_index": 0}, {"word_index": NUMBERS, "sequence_index": NUMBERS}),
    "word_to_chars": ({"word_index": 0}, {"word_index": NUMBERS, "sequence_index": NUMBERS}),
    "set_sequence_id": ({}, {"sequence_id": NUMBERS}),
}


def rows(table: dict[str, tuple[dict[str, Any], dict[str, list[Any]]]]) -> Iterator[tuple[str, str]]:
    return ((name, option) for name, (_, options) in table.items() for option in options)


def refused(call: Callable[..., Any], given: dict[str, Any], option: str, wrong: Any, *, names_it: bool) -> None:
    """A value is refused; our errors name the option, or have the words of the package."""
    named = rf"\b{option}\b|Invalid \w+ direction|Unknown `{option}`" if names_it else "."
    with pytest.raises((TypeError, ValueError, OverflowError), match=named):
        call(**{**given, option: wrong})


@pytest.mark.parametrize(("name", "option"), list(rows(OF_TOKENIZERS)))
def test_methods_of_tokenizers(name: str, option: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    given, options = OF_TOKENIZERS[name]
    for kind in (Tokenizer, hf.Tokenizer):
        tokenizer = kind.from_str(DOCUMENT)
        needed = {**given, "encoding": tokenizer.encode("low")} if "encoding" in given else given
        for wrong in options[option]:
            refused(getattr(tokenizer, name), needed, option, wrong, names_it=kind is Tokenizer)
        assert tokenizer.padding is tokenizer.truncation is None


@pytest.mark.parametrize(("name", "option"), list(rows(OF_ENCODINGS)))
def test_methods_of_encodings(name: str, option: str) -> None:
    given, options = OF_ENCODINGS[name]
    for kind in (Tokenizer, hf.Tokenizer):
        encoding = kind.from_str(DOCUMENT).encode("low lower")
        before = encoding.ids
        for wrong in options[option]:
            refused(getattr(encoding, name), given, option, wrong, names_it=kind is Tokenizer)
        assert (encoding.ids, encoding.overflowing) == (before, [])


@pytest.mark.parametrize("option", ["single_word", "lstrip", "rstrip", "normalized", "special"])
def test_options_of_added_tokens(option: str) -> None:
    for wrong in NO_FLAGS:
        refused(AddedToken, {"content": "x"}, option, wrong, names_it=True)
        refused(hf.AddedToken, {"content": "x"}, option, wrong, names_it=False)
    for token in (AddedToken("x"), hf.AddedToken("x")):
        with pytest.raises(TypeError):
            token.special = "no"
    with pytest.raises(TypeError, match="content must be a str, not int"):
        AddedToken(5)


def test_flags_of_streams_and_of_the_tokenizer() -> None:
    view, theirs = Tokenizer.from_str(DOCUMENT), hf.Tokenizer.from_str(DOCUMENT)
    for wrong in NO_FLAGS:
        refused(DecodeStream, {}, "skip_special_tokens", wrong, names_it=True)
        refused(hf.decoders.DecodeStream, {}, "skip_special_tokens", wrong, names_it=False)
        with pytest.raises(TypeError, match="include_stop must be a bool"):
            DecodeStream(include_stop=wrong)
        for tokenizer in (view, theirs):
            with pytest.raises(TypeError):
                tokenizer.encode_special_tokens = wrong
    assert view.encode_special_tokens is theirs.encode_special_tokens is False


def test_numbers_and_flags_of_numpy_are_taken() -> None:
    found = []
    for tokenizer in (Tokenizer.from_str(DOCUMENT), hf.Tokenizer.from_str(DOCUMENT)):
        tokenizer.enable_padding(pad_id=np.int64(5), length=np.uint8(4), pad_to_multiple_of=np.int32(3))
        tokenizer.enable_truncation(np.int64(3), stride=np.int16(1))
        tokenizer.encode_special_tokens = np.True_
        encoded = tokenizer.encode("low lower<s>", add_special_tokens=np.False_)
        encoded.pad(np.int64(9), pad_id=np.uint32(7))
        found.append((encoded.ids, tokenizer.padding, tokenizer.truncation, tokenizer.encode_special_tokens))
    assert found[0] == found[1]
    assert {type(token_id) for token_id in found[0][0]} == {int}


def test_no_flag_is_left_out() -> None:
    known = {*rows(OF_TOKENIZERS), *rows(OF_ENCODINGS)}
    for kind in (Tokenizer, Encoding):
        for name, call in inspect.getmembers(kind, inspect.isfunction):
            for row in inspect.signature(call).parameters.values() if not name.startswith("_") else ():
                if row.annotation == "bool" and (name, row.name) not in known:
                    # the ids of a stream, by keyword too
                    assert (name, row.name) in {("stream_decoder", "skip_special_tokens"),
                                                ("encode_batch_fast", "is_pretokenized")}  # fmt: skip
