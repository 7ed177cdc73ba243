"""Columns of Arrow in the batch methods of views: the results of lists, and no `str` of a row for ids."""

from __future__ import annotations

import pickle
from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np
import pytest

import bbpe
from bbpe.compat.columns import listed

pa = pytest.importorskip("pyarrow")

TEXTS = ["see", "my dogs", "", "café 中文", "<s>a", "see my dogs", " x"]
# rows that no `str` can be made of; an engine reads them as they are
BROKEN = [b"see my \xff dogs", b"\xe4\xb8", b"", b"see"]
KINDS = [pa.string(), pa.large_string(), pa.string_view(), pa.binary()]
Encode = Callable[[Any], list[list[int]]]


class Streamed:
    """A stream of Arrow as other engines export it: without a length or items, and readable once."""

    def __init__(self, column: Any) -> None:
        self._reader = pa.chunked_array([column])

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        reader, self._reader = self._reader, None
        return reader.__arrow_c_stream__()


@cache
def plain() -> bbpe.Tokenizer:
    return bbpe.train_from_iterator(["see my dogs, see my eyes"] * 3, 280, special_tokens=["<s>"])


@cache
def of_pieces() -> bbpe.Tokenizer:
    return bbpe.train_from_iterator(["see my dogs", "see me"], 300, model="unigram")


def columns() -> list[Any]:
    found = [pa.array(TEXTS, kind) for kind in KINDS]
    found += [pa.chunked_array([found[0][:3], found[0][3:]]), found[0].dictionary_encode(), Streamed(found[0])]
    return [*found, pa.array(["x", *TEXTS]).slice(1)]


@cache
def accelerated() -> Any:
    transformers, hf = pytest.importorskip("transformers"), pytest.importorskip("small_hf")
    made = transformers.PreTrainedTokenizerFast(tokenizer_object=hf.KINDS["bytes"](), pad_token="<s>")
    return bbpe.accelerate(made)


VIEWS: dict[str, Encode] = {
    "tiktoken ordinary": lambda texts: plain().as_tiktoken().encode_ordinary_batch(texts),
    "tiktoken": lambda texts: plain().as_tiktoken().encode_batch(texts, allowed_special={"<s>"}),
    "tiktoken plain": lambda texts: plain().as_tiktoken().encode_batch(texts, disallowed_special=()),
    "tokenizers": lambda texts: [row.ids for row in plain().as_tokenizers().encode_batch(texts)],
    "tokenizers fast": lambda texts: [row.ids for row in plain().as_tokenizers().encode_batch_fast(texts)],
    "sentencepiece": lambda texts: of_pieces().as_sentencepiece().EncodeAsIds(texts),
    "sentencepiece numpy": lambda texts: [row.tolist() for row in of_pieces().as_sentencepiece().EncodeAsNumpy(texts)],
    "sentencepiece reversed": lambda texts: [
        row[::-1] for row in of_pieces().as_sentencepiece().encode(texts, reverse=True)
    ],
    "transformers": lambda texts: accelerated()(texts)["input_ids"],
    "transformers padded": lambda texts: accelerated()(
        texts, padding=True, truncation=True, max_length=4, return_tensors="np"
    )["input_ids"].tolist(),
}


@pytest.mark.parametrize("view", VIEWS)
def test_ids(view: str) -> None:
    encode = VIEWS[view]
    right = encode(TEXTS)
    assert any(right)
    for column in columns():
        assert encode(column) == right
    assert encode(pa.array(TEXTS[1:2])) == encode(TEXTS[1:2])
    if not view.startswith("transformers"):  # which refuses an empty batch of other types, too
        assert encode(pa.array([], pa.string())) == []


@pytest.mark.parametrize("view", VIEWS)
def test_no_str_of_a_row(view: str) -> None:
    """Ids of texts that are not UTF-8 are those of their bytes, so no string was made on the way."""
    column = pa.array(BROKEN, pa.binary())
    with pytest.raises(ValueError, match="text 0 of the batch, counted from 0, is not UTF-8"):
        listed(column)
    found = VIEWS[view](column)
    assert len(found) == len(BROKEN)
    if not view.startswith("transformers"):
        assert found == (of_pieces() if "sentencepiece" in view else plain()).encode_batch(BROKEN)


@pytest.mark.parametrize("view", VIEWS)
def test_a_null_is_named(view: str) -> None:
    for rows in (["see", None, "my"], [None]):
        with pytest.raises(TypeError, match=f"text {rows.index(None)} of the batch, counted from 0, is null"):
            VIEWS[view](pa.array(rows, pa.string()))


def test_disallowed_tokens_of_tiktoken() -> None:
    """The error is that of a list, whatever is disallowed, and so are ids where nothing is found."""
    enc = plain().as_tiktoken()
    for options in ({}, {"disallowed_special": {"<s>"}}, {"disallowed_special": {"dogs"}}, {"allowed_special": {"?"}}):
        messages = []
        for texts in (TEXTS, pa.array(TEXTS)):
            with pytest.raises(ValueError, match="disallowed special token") as caught:
                enc.encode_batch(texts, **options)
            messages.append((type(caught.value), str(caught.value)))
        assert messages[0] == messages[1]
        assert enc.encode_batch(pa.array(["see", "x"]), **options) == enc.encode_batch(["see", "x"], **options)
    broken = pa.array([*BROKEN, b"\xff<s>"], pa.binary())
    with pytest.raises(ValueError, match="'<s>' at byte 1;"):
        enc.encode_batch(broken)


def test_texts_of_sentencepiece() -> None:
    """Methods that need the texts of a column get those of its rows."""
    sp = of_pieces().as_sentencepiece()
    for column in (pa.array(TEXTS), pa.array(TEXTS, pa.binary())):
        for kind in (str, bytes, "offset_mapping", "immutable_proto", "serialized_proto"):
            assert sp.Encode(column, kind) == sp.Encode(TEXTS, kind)
        assert sp.Normalize(column) == sp.Normalize(TEXTS)
        assert sp.NBestEncodeAsPieces(column, 3) == sp.NBestEncodeAsPieces(TEXTS, 3)
        assert sp.CalculateEntropy(column, 0.5) == sp.CalculateEntropy(TEXTS, 0.5)
        assert len(sp.SampleEncodeAsIds(column)) == len(sp.SampleEncodeAndScoreAsIds(column)) == len(TEXTS)
    with pytest.raises(ValueError, match="text 0 of the batch, counted from 0, is not UTF-8"):
        sp.EncodeAsPieces(pa.array(BROKEN, pa.binary()))


def test_encodings_of_tokenizers() -> None:
    view = plain().as_tokenizers()
    view.enable_truncation(3, 1)
    view.enable_padding()
    right = view.encode_batch(TEXTS)
    for column in columns():
        found = view.encode_batch(column)
        for rows in (found, pickle.loads(pickle.dumps(found))):
            for name in ("ids", "tokens", "offsets", "word_ids", "attention_mask"):
                assert [getattr(row, name) for row in rows] == [getattr(row, name) for row in right]
            assert [[more.offsets for more in row.overflowing] for row in rows] == [
                [more.offsets for more in row.overflowing] for row in right
            ]
    with pytest.raises(TypeError, match="PreTokenizedInputSequence"):
        view.encode_batch(pa.array(TEXTS), is_pretokenized=True)
    broken = view.encode_batch(pa.array(BROKEN, pa.binary()))
    with pytest.raises(ValueError, match="text 0 of the batch, counted from 0, is not UTF-8"):
        assert broken[0].offsets  # which need the text


def test_results_of_transformers() -> None:
    tokenizer = accelerated()
    for options in (
        {"return_offsets_mapping": True},
        {"padding": "max_length", "max_length": 9, "truncation": True, "return_overflowing_tokens": True},
        {"return_token_type_ids": True},
    ):
        right = tokenizer(TEXTS, **options)
        for column in columns():
            found = tokenizer(column, **options)
            assert dict(found) == dict(right)
            assert [found.tokens(row) for row in range(len(TEXTS))] == [right.tokens(row) for row in range(len(TEXTS))]
    pairs = tokenizer(TEXTS, TEXTS[::-1])
    assert dict(tokenizer(pa.array(TEXTS), pa.array(TEXTS[::-1]))) == dict(pairs)
    assert dict(tokenizer(pa.array(TEXTS), TEXTS[::-1])) == dict(pairs)
    labels = tokenizer(TEXTS, text_target=TEXTS)
    assert dict(tokenizer(pa.array(TEXTS), text_target=pa.array(TEXTS))) == dict(labels)
    padded = tokenizer(pa.array(TEXTS), padding=True, return_tensors="np")
    assert np.array_equal(padded["input_ids"], tokenizer(TEXTS, padding=True, return_tensors="np")["input_ids"])
