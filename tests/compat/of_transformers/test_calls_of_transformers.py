"""Options and forms of calls of an accelerated tokenizer, side by side with a stock one."""

from __future__ import annotations

import itertools
import logging
import pickle
import warnings
from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np
import pytest

import bbpe
from bbpe.compat.transformers.batches import BatchRows

hf = pytest.importorskip("tokenizers")
with warnings.catch_warnings():
    warnings.simplefilter("ignore")
    transformers = pytest.importorskip("transformers")
from small_hf import KINDS  # noqa: E402 - it imports tokenizers

TEXTS = ["see my <s> dogs first", "a [SEP] see", "I have 12  dogs"]
ROWS = [[20, 21, 3], [22, 4, 5]]
MARKS = ["dogs , 12 , see", "see , my"]
Call = Callable[[Any], Any]


def on(attribute: str, value: object, call: Call) -> Call:
    """A call after an attribute of the tokenizer was set."""

    def changed(tok: Any) -> Any:
        setattr(tok, attribute, value)
        return call(tok)

    return changed


#: Calls with an option, and the same call without it.
OPTIONS: dict[str, tuple[Call, Call]] = {
    "truncation_side": (
        on("truncation_side", "left", lambda tok: tok(TEXTS, truncation=True, max_length=5)),
        lambda tok: tok(TEXTS, truncation=True, max_length=5),
    ),
    "truncation_side of a pair": (
        on("truncation_side", "left", lambda tok: tok(TEXTS, TEXTS, truncation=True, max_length=9, padding=True)),
        lambda tok: tok(TEXTS, TEXTS, truncation=True, max_length=9, padding=True),
    ),
    "padding_side of the tokenizer": (
        on("padding_side", "left", lambda tok: tok(TEXTS, padding=True)), lambda tok: tok(TEXTS, padding=True),
    ),
    "padding_side of the call": (
        on("padding_side", "left", lambda tok: tok(TEXTS, padding=True, padding_side="right")),
        on("padding_side", "left", lambda tok: tok(TEXTS, padding=True)),
    ),
    "split_special_tokens": (lambda tok: tok(TEXTS, split_special_tokens=True), lambda tok: tok(TEXTS)),
    "split_special_tokens of one text": (
        lambda tok: tok(TEXTS[0], split_special_tokens=True), lambda tok: tok(TEXTS[0]),
    ),
    "split_special_tokens, padded": (
        lambda tok: tok(TEXTS, split_special_tokens=True, padding=True, return_tensors="np"),
        lambda tok: tok(TEXTS, padding=True, return_tensors="np"),
    ),
    "split_special_tokens of the tokenizer": (
        on("split_special_tokens", True, lambda tok: tok(TEXTS)), lambda tok: tok(TEXTS),
    ),
    "split_special_tokens=False of the call": (
        on("split_special_tokens", True, lambda tok: tok(TEXTS, split_special_tokens=False)),
        on("split_special_tokens", True, lambda tok: tok(TEXTS)),
    ),
    "encode with split_special_tokens": (
        lambda tok: tok.encode(TEXTS[0], split_special_tokens=True), lambda tok: tok.encode(TEXTS[0]),
    ),
    "encode of a tokenizer that splits": (
        on("split_special_tokens", True, lambda tok: tok.encode(TEXTS[0])), lambda tok: tok.encode(TEXTS[0]),
    ),
    "encode of words": (lambda tok: tok.encode(["see", "my"]), lambda tok: tok.encode("see my")),
    "encode of a pair": (lambda tok: tok.encode("see", "my"), lambda tok: tok.encode("see")),
    "encode with max_length": (
        lambda tok: tok.encode(TEXTS[0], truncation=True, max_length=4), lambda tok: tok.encode(TEXTS[0]),
    ),
    "encode without special tokens": (
        lambda tok: tok.encode(TEXTS[0], add_special_tokens=False), lambda tok: tok.encode(TEXTS[0]),
    ),
    "sanitize_control_tokens": (
        lambda tok: tok(TEXTS, sanitize_control_tokens=True, add_special_tokens=False, padding=True),
        lambda tok: tok(TEXTS, sanitize_control_tokens=True, add_special_tokens=False),
    ),
    "return_attention_mask": (
        lambda tok: tok(TEXTS, return_attention_mask=False, padding=True), lambda tok: tok(TEXTS, padding=True),
    ),
    "return_attention_mask=True": (
        on("model_input_names", ["input_ids"], lambda tok: tok(TEXTS, return_attention_mask=True)),
        on("model_input_names", ["input_ids"], lambda tok: tok(TEXTS)),
    ),
    "return_token_type_ids=False": (
        on("model_input_names", ["input_ids", "token_type_ids"], lambda tok: tok(TEXTS, return_token_type_ids=False)),
        on("model_input_names", ["input_ids", "token_type_ids"], lambda tok: tok(TEXTS)),
    ),
    "return_tensors of one text": (lambda tok: tok("see", return_tensors="np"), lambda tok: tok("see")),
    "return_tensors of a pair": (lambda tok: tok("see", "my", return_tensors="np"), lambda tok: tok("see", "my")),
    "return_offsets_mapping": (lambda tok: tok(TEXTS, return_offsets_mapping=True), lambda tok: tok(TEXTS)),
    "return_length": (lambda tok: tok(TEXTS, return_length=True), lambda tok: tok(TEXTS)),
    "return_special_tokens_mask": (lambda tok: tok(TEXTS, return_special_tokens_mask=True), lambda tok: tok(TEXTS)),
    "stride": (
        lambda tok: tok(TEXTS, truncation=True, max_length=5, stride=1, return_overflowing_tokens=True),
        lambda tok: tok(TEXTS, truncation=True, max_length=5, return_overflowing_tokens=True),
    ),
    "pad_to_multiple_of": (
        lambda tok: tok(TEXTS, padding=True, pad_to_multiple_of=32), lambda tok: tok(TEXTS, padding=True),
    ),
    "only_second": (
        lambda tok: tok("see", TEXTS[0], truncation="only_second", max_length=8), lambda tok: tok("see", TEXTS[0]),
    ),
    "decode skips": (lambda tok: tok.decode(ROWS[0], skip_special_tokens=True), lambda tok: tok.decode(ROWS[0])),
    "decode of an array skips": (
        lambda tok: tok.decode(np.array(ROWS[0]), skip_special_tokens=True), lambda tok: tok.decode(np.array(ROWS[0])),
    ),
    "batch_decode skips": (
        lambda tok: tok.batch_decode(ROWS, skip_special_tokens=True), lambda tok: tok.batch_decode(ROWS),
    ),
    "batch_decode by position": (lambda tok: tok.batch_decode(ROWS, True), lambda tok: tok.batch_decode(ROWS)),
}  # fmt: skip
#: Other types of the arguments `text` and `ids`; some are errors.
FORMS: dict[str, Call] = {
    "pairs of another number": lambda tok: tok(TEXTS, TEXTS[:2]),
    "one pair for several texts": lambda tok: tok(TEXTS, "see"),
    "a triple": lambda tok: tok([("see", "my", "dogs")]),
    "a triple at the end": lambda tok: tok([("see", "my"), ("see", "my", "dogs")]),
    "pairs as tuples": lambda tok: tok([("see", "my"), ("a", "dogs")]),
    "pairs as lists": lambda tok: tok([["see", "my"], ["a", "dogs"]]),
    "a pair and a text": lambda tok: tok([("see", "my"), "a"]),
    "a text and a pair": lambda tok: tok(["a", ("see", "my")]),
    "a number": lambda tok: tok(["a", 5]),
    "no texts": lambda tok: tok([]),
    "an empty second text": lambda tok: tok("see", ""),
    "no text": lambda tok: tok(None),
    "texts in a tuple": lambda tok: tok(tuple(TEXTS)),
    "an array of rows": lambda tok: tok.decode(np.array(ROWS)),
    "an array of rows to skip in": lambda tok: tok.decode(np.array(ROWS), skip_special_tokens=True),
    "rows": lambda tok: tok.decode(ROWS),
    "rows that are arrays": lambda tok: tok.batch_decode([np.array(row) for row in ROWS]),
    "a batch that is an array": lambda tok: tok.batch_decode(np.array(ROWS)),
    "a tuple of ids": lambda tok: tok.decode((20, 21)),
    "an integer of numpy": lambda tok: tok.decode(np.int64(20)),
    "no ids": lambda tok: tok.decode([]),
    "rows without ids": lambda tok: tok.batch_decode([[], [20], []]),
    "blanks before marks": lambda tok: tok.decode(tok(MARKS)["input_ids"][0], clean_up_tokenization_spaces=True),
    "blanks before marks, rows": lambda tok: tok.batch_decode(
        tok(MARKS)["input_ids"], clean_up_tokenization_spaces=True
    ),
    "blanks before marks, by the tokenizer": on(
        "clean_up_tokenization_spaces", True, lambda tok: tok.batch_decode(tok(MARKS)["input_ids"])
    ),
    "no blanks before marks in this call": on(
        "clean_up_tokenization_spaces", True,
        lambda tok: tok.batch_decode(tok(MARKS)["input_ids"], clean_up_tokenization_spaces=False),
    ),
    "tokens": lambda tok: tok.tokenize("a <s> b", add_special_tokens=True),
    "tokens of a pair": lambda tok: tok.tokenize("a <s> b", "see my"),
}  # fmt: skip


@cache
def document(kind: str) -> str:
    return str(KINDS[kind]().to_str())  # `tokenizers` does not train the same tokenizer twice


def stock(kind: str) -> Any:
    inner = hf.Tokenizer.from_str(document(kind))
    return transformers.PreTrainedTokenizerFast(tokenizer_object=inner, pad_token="<s>", unk_token="[UNK]")


def plain(found: Any) -> Any:
    """A result as data, with the types of its parts."""
    if hasattr(found, "keys"):
        rows = [row.ids for row in found.encodings] if found.encodings else None
        return {name: plain(value) for name, value in found.items()}, found.n_sequences if rows else None, rows
    return (str(found.dtype), found.tolist()) if isinstance(found, np.ndarray) else found


def outcome(call: Call, tokenizer: Any) -> Any:
    try:
        return plain(call(tokenizer))
    except Exception as error:  # of any type
        return type(error).__name__, str(error)


@pytest.mark.parametrize("kind", KINDS)
def test_options_are_those_of_transformers(kind: str) -> None:
    for name, (call, without) in OPTIONS.items():
        expected = outcome(call, stock(kind))
        assert outcome(call, bbpe.accelerate(stock(kind))) == expected, name
        if kind == "unigram" and "split" in name:
            continue  # its model makes the special tokens itself
        # or the row would prove nothing
        assert expected != outcome(without, stock(kind)), name


@pytest.mark.parametrize("kind", KINDS)
def test_forms_are_those_of_transformers(kind: str) -> None:
    ours, theirs = bbpe.accelerate(stock(kind)), stock(kind)
    for name, call in FORMS.items():
        found, expected = outcome(call, ours), outcome(call, theirs)
        if isinstance(expected, tuple) and isinstance(expected[0], str):
            assert found[0] == expected[0], name
            assert expected[1] in found[1], name  # ours may say more
        else:
            assert found == expected, name


@pytest.mark.parametrize("kind", KINDS)
def test_no_call_leaves_its_options_to_the_next(kind: str) -> None:
    """All calls on one object, then again: each result is that of a tokenizer that was never used before."""
    calls = {name: call for name, (call, _) in OPTIONS.items() if "tokenizer" not in name and "names" not in name}
    calls = {name: call for name, call in calls.items() if not name.startswith(("truncation_side", "padding_side"))}
    calls = {name: call for name, call in calls.items() if "=" not in name}
    expected = {name: outcome(call, stock(kind)) for name, call in calls.items()}
    ours = bbpe.accelerate(stock(kind))
    for names in (list(calls), list(calls)[::-1]):
        for name in names:
            assert outcome(calls[name], ours) == expected[name], name


@pytest.mark.parametrize("kind", KINDS)
def test_options_of_the_file_are_those_of_no_call(kind: str) -> None:
    """As in `transformers`, each call has its own, whatever the tokenizer.json says."""
    inner = hf.Tokenizer.from_str(document(kind))
    inner.enable_truncation(6, stride=1, direction="left")
    inner.enable_padding(direction="left", pad_id=3, pad_token="<s>", pad_to_multiple_of=8, length=24, pad_type_id=1)
    ours, theirs = (
        transformers.PreTrainedTokenizerFast(tokenizer_object=hf.Tokenizer.from_str(inner.to_str()), pad_token="<s>")
        for _ in range(2)
    )
    bbpe.accelerate(ours)
    for name in ("return_offsets_mapping", "pad_to_multiple_of", "encode with max_length", "return_tensors of a pair"):
        for call in OPTIONS[name]:
            assert outcome(call, ours) == outcome(call, theirs), name


@pytest.mark.parametrize("options", [{}, {"padding": True, "truncation": True, "max_length": 5}], ids=str)
def test_the_encodings_of_a_result_can_be_pickled(options: dict[str, Any]) -> None:
    ours, theirs = (tokenizer(TEXTS, **options) for tokenizer in (bbpe.accelerate(stock("bytes")), stock("bytes")))
    again = pickle.loads(pickle.dumps(ours))
    for row in range(len(TEXTS)):
        assert again.tokens(row) == theirs.tokens(row)
        assert again[row].offsets == theirs[row].offsets
        assert again.word_ids(row) == theirs.word_ids(row)
    assert dict(again) == dict(theirs)


def test_nobody_is_warned_who_asked_not_to_be(
    caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With `verbose=False`, and with a `max_length`."""
    monkeypatch.setattr(logging.getLogger("transformers"), "propagate", True)
    caplog.set_level(logging.WARNING, "transformers")
    calls: dict[str, Call] = {
        "usual": lambda tok: tok(TEXTS),
        "verbose=False": lambda tok: tok(TEXTS, verbose=False),
        "max_length": lambda tok: tok(TEXTS, max_length=5),
        "truncated": lambda tok: tok(TEXTS, max_length=5, truncation=True),
        "padded": lambda tok: tok(TEXTS, padding=True),
        "arrays": lambda tok: tok(TEXTS, padding=True, return_tensors="np"),
        "pairs": lambda tok: tok(TEXTS, TEXTS),
        "padded, verbose=False": lambda tok: tok(TEXTS, padding=True, verbose=False),
        "encode": lambda tok: tok.encode(TEXTS[0]),
        "encode, verbose=False": lambda tok: tok.encode(TEXTS[0], verbose=False),
    }
    for name, call in calls.items():
        lines = []
        for tokenizer in (bbpe.accelerate(stock("bytes")), stock("bytes")):
            tokenizer.model_max_length = 4
            caplog.clear()
            call(tokenizer)
            lines.append([line for line in caplog.messages if "longer than" in line])
        assert lines[0] == lines[1], name
        assert bool(lines[1]) == (name in ("usual", "padded", "arrays", "pairs", "encode")), name


ROWS_OF_CALLS: dict[str, Callable[..., Any]] = {
    "texts": lambda tok, **options: tok(TEXTS, **options),
    "texts and seconds": lambda tok, **options: tok(TEXTS, TEXTS[::-1], **options),
    "pairs": lambda tok, **options: tok([(text, "see my") for text in TEXTS], **options),
}
LENGTHS: list[dict[str, Any]] = [
    {}, {"padding": True}, {"truncation": True, "max_length": 7},
    {"truncation": True, "padding": "max_length", "max_length": 12},
]  # fmt: skip


@pytest.mark.parametrize("rows", ROWS_OF_CALLS)
@pytest.mark.parametrize("kind", KINDS)
def test_our_engine_makes_the_types_and_masks_of_usual_rows(kind: str, rows: str) -> None:
    """With and without each of them, and with the ids of the template or without."""
    ours, theirs = bbpe.accelerate(stock(kind)), stock(kind)
    call = ROWS_OF_CALLS[rows]
    for lengths, types, mask, adds in itertools.product(LENGTHS, (None, True, False), (None, False), (True, False)):
        options = {"return_token_type_ids": types, "return_attention_mask": mask, "add_special_tokens": adds, **lengths}
        found = call(ours, **options)
        assert plain(found) == plain(call(theirs, **options)), options
        assert type(found.encodings) is BatchRows, options


@pytest.mark.parametrize("kind", KINDS)
def test_a_text_that_is_too_short_to_be_truncated_is_refused_as_in_transformers(kind: str) -> None:
    ours, theirs = bbpe.accelerate(stock(kind)), stock(kind)
    calls: list[tuple[Call, str]] = [
        (lambda tok: tok(TEXTS, truncation="only_second", max_length=4), "Second sequence not provided"),
        (lambda tok: tok(TEXTS[0], truncation="only_second", max_length=4, padding=True), "Second sequence not prov"),
        (lambda tok: tok(TEXTS[0], "my", truncation="only_second", max_length=6), "Sequence to truncate too short"),
        (lambda tok: tok(["my"], TEXTS[:1], truncation="only_first", max_length=6), "Sequence to truncate too short"),
    ]
    for call, words in calls:
        for each in (ours, theirs):
            with pytest.raises(Exception, match=f"Truncation error: {words}"):  # `tokenizers` has no type of its own
                call(each)
