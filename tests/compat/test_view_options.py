"""No option of a method of a view is ignored: of two values, each gives something else.

The views are those of `tokenizers`, `tiktoken` and `sentencepiece`.  A parameter of a method that no row has fails
`test_no_option_is_left_out`; the other names of SentencePiece's methods give what the first name gives.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from copy import copy, deepcopy
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from option_rows import IDS, OTHER, TEXT, TEXTS, TOK, UNIGRAM
from two_values import Two, callables, differs, is_there, optional

import bbpe
from bbpe.compat.sentencepiece import SentencePieceProcessor
from bbpe.compat.tokenizers import Tokenizer
from bbpe.compat.tokenizers.encoding import Encoding
from bbpe.compat.tokenizers.streams import DecodeStream

WORDS = ["see my", "eyes"]
FLAGS = {"add_special_tokens": Two(True, False), "is_pretokenized": Two(False, True, {"input": [WORDS]})}
SIDES = Two("right", "left")
PADDING = {"pad_id": Two(0, 5), "pad_type_id": Two(0, 1), "pad_token": Two("[PAD]", "<pad>"), "direction": SIDES}
SPECIAL = {
    "allowed_special": Two(set(), "all", {"disallowed_special": ()}),
    "disallowed_special": Two("all", ()),
}
#: A model with an unknown piece, of which texts draw many segmentations.
MODEL = bbpe.train_from_iterator(TEXTS * 3, 60, model=bbpe.Unigram(byte_fallback=False)).as_sentencepiece()
MODEL = MODEL.serialized_model_proto()
DRAWN = {"enable_sampling": True}

#: Functions, the methods that they stand for, what each call needs, and two values of each option.
Rows = dict[str, tuple[Mapping[str, Any], Mapping[str, Two]]]
TOKENIZERS: Rows = {
    "decode": ({"ids": IDS}, {"skip_special_tokens": Two(True, False)}),
    "decode_batch": ({"sequences": [IDS]}, {"skip_special_tokens": Two(True, False)}),
    "encode": ({"sequence": TEXT}, {
        "pair": Two(None, OTHER), **FLAGS, "is_pretokenized": Two(False, True, {"sequence": WORDS}),
    }),
    "encode_batch": ({"input": [TEXT]}, FLAGS),
    "encode_batch_fast": ({"input": [TEXT]}, FLAGS),
    "enable_padding": ({}, {"length": Two(None, 99), "pad_to_multiple_of": Two(None, 64), **PADDING}),
    "enable_truncation": ({"max_length": 9}, {
        "stride": Two(0, 2), "direction": SIDES, "strategy": Two("longest_first", "only_first"),
    }),
    "post_process": (
        {"encoding": UNIGRAM.as_tokenizers().encode(TEXT)},
        {"pair": Two(None, UNIGRAM.as_tokenizers().encode(OTHER)), "add_special_tokens": Two(True, False)},
    ),
    "get_vocab": ({}, {"with_added_tokens": Two(True, False)}),
    "get_vocab_size": ({}, {"with_added_tokens": Two(True, False)}),
    "save": ({"path": "t.json"}, {"pretty": Two(True, False)}),
    "to_str": ({}, {"pretty": Two(True, False)}),
}  # fmt: skip
ENCODING: Rows = {
    "char_to_token": ({"char_pos": 3}, {"sequence_index": Two(0, 1)}),
    "char_to_word": ({"char_pos": 13}, {"sequence_index": Two(0, 1)}),
    "word_to_chars": ({"word_index": 2}, {"sequence_index": Two(0, 1)}),
    "word_to_tokens": ({"word_index": 2}, {"sequence_index": Two(0, 1)}),
    "pad": ({"length": 99}, PADDING),
    "truncate": ({"max_length": 9}, {"stride": Two(0, 2), "direction": SIDES}),
}
TIKTOKEN: Rows = {
    "decode": ({"tokens": [255]}, {"errors": Two("replace", "ignore")}),
    "decode_batch": ({"batch": [[255]]}, {"errors": Two("replace", "ignore")}),
    "encode": ({"text": TEXT}, SPECIAL),
    "encode_batch": ({"text": [TEXT]}, SPECIAL),
    "encode_to_numpy": ({"text": TEXT}, SPECIAL),
    "encode_with_unstable": ({"text": TEXT}, SPECIAL),
}
SAMPLES = {"nbest_size": Two(-1, 2, DRAWN), "alpha": Two(0.01, 50.0, {"nbest_size": -1, **DRAWN})}
OF_SAMPLES = {"nbest_size": Two(-1, 2, {"alpha": 0.01}), "alpha": Two(0.01, 50.0)}
AROUND = {"add_bos": Two(False, True), "add_eos": Two(False, True), "reverse": Two(False, True)}
OF_SCORES = {
    "num_samples": Two(1, 2), "alpha": Two(0.01, 50.0), "wor": Two(False, True, {"num_samples": 3, "alpha": 0.1}),
    "include_best": Two(False, True, {"wor": True, "num_samples": 3, "alpha": 0.01}), "out_type": Two(int, str),
}  # fmt: skip
UNSEEN = "see \u4eba"
SENTENCEPIECE: Rows = {
    "encode": ({"input": UNSEEN}, {
        "out_type": Two(int, str), "return_type": Two(int, str), "enable_sampling": Two(False, True, {"alpha": 0.01}),
        "emit_unk_piece": Two(False, True, {"out_type": str}), **AROUND, **SAMPLES,
    }),
    "encode_as_ids": ({"input": TEXT}, AROUND),
    "encode_as_pieces": ({"input": TEXT}, AROUND),
    "encode_as_numpy": ({"input": TEXT}, AROUND),
    "sample_encode_as_ids": ({"input": TEXT}, OF_SAMPLES),
    "sample_encode_as_pieces": ({"input": TEXT}, OF_SAMPLES),
    "nbest_encode": ({"input": TEXT}, {"nbest_size": Two(1, 2), "out_type": Two(int, str)}),
    "nbest_encode_as_ids": ({"input": TEXT}, {"nbest_size": Two(1, 2)}),
    "nbest_encode_as_pieces": ({"input": TEXT}, {"nbest_size": Two(1, 2)}),
    "sample_encode_and_score": ({"input": TEXT}, OF_SCORES),
    "decode": ({"input": [9, 5]}, {"out_type": Two(str, bytes), "return_type": Two(str, bytes)}),
    "normalize": ({"input": TEXT}, {"with_offsets": Two(False, True)}),
    "override_normalizer_spec": ({}, {
        name: Two(True, False) for name in ("add_dummy_prefix", "escape_whitespaces", "remove_extra_whitespaces")
    }),
    "load": ({}, {"model_proto": Two(None, MODEL), "model_file": Two(None, "m.model")}),
    "__init__": ({"model_proto": MODEL}, {
        "model_file": Two(None, "m.model"), "model_proto": Two(None, MODEL), "out_type": Two(int, str),
        "return_type": Two(int, str), "emit_unk_piece": Two(False, True, {"out_type": str}),
        "enable_sampling": Two(False, True, {"alpha": 0.01}), **AROUND, **SAMPLES,
    }),
}  # fmt: skip
#: Options that are seen in time alone or not in this table, and the tests of them.
ELSEWHERE = {
    "sentencepiece.__init__.num_threads":
        "compat/of_sentencepiece/test_sentencepiece_options.py::test_threads_of_a_call",
    "num_threads": "of_tiktoken/test_tiktoken_view.py::test_short_batches_take_one_thread",
    "tiktoken.__init__.explicit_n_vocab": "of_tiktoken/test_tiktoken_module.py::test_the_number_of_tokens_is_checked",
    "encoding.merge.growing_offsets":
        "compat/of_tokenizers/test_rows_of_tokenizers.py::test_merged_encodings_with_overflowing_rows",
    **dict.fromkeys(
        [f"encoding.__init__.{part}" for part in ("ids", "parts", "ranges", "overflowing")],
        "compat/of_tokenizers/test_tokenizers_view.py::test_pickles",
    ),
    "from_pretrained.revision": "compat/of_tokenizers/test_tokenizers_view.py::test_errors",
    "from_pretrained.token": "compat/test_view_options.py::test_a_token_for_downloads_changes_nothing",
}  # fmt: skip


def rows_of(row: Encoding) -> Any:
    """What somebody sees of a row of ids and of those that overflow."""
    return row.ids, row.tokens, row.type_ids, row.attention_mask, row.offsets, list(map(rows_of, row.overflowing))


def of_tokenizers(name: str, **given: Any) -> Any:
    view = TOK.as_tokenizers()
    try:
        found = getattr(view, name)(**given)
    except TypeError as error:  # a list of words is no text
        return "TypeError", str(error)
    if name.startswith("enable"):
        return [rows_of(row) for row in view.encode_batch([(TEXT, OTHER), TEXT])]
    if name == "save":
        return Path("t.json").read_text()
    if isinstance(found, Encoding):
        return rows_of(found)
    return [rows_of(row) for row in found] if name.startswith("encode") else found


def of_encoding(name: str, **given: Any) -> Any:
    row = TOK.as_tokenizers().encode(TEXT, OTHER)
    found = getattr(row, name)(**given)
    return rows_of(row) if found is None else found


def of_tiktoken(name: str, **given: Any) -> Any:
    return getattr(TOK.as_tiktoken(), name)(**given)


def of_sentencepiece(name: str, **given: Any) -> Any:
    """What a method of a processor gives several times, as some results are drawn."""
    if name == "__init__":
        view = SentencePieceProcessor(**given)
        name, given = "encode", {"input": UNSEEN}
    else:
        view = SentencePieceProcessor() if name == "load" else SentencePieceProcessor(model_proto=MODEL)
    view._random.seed(7)
    made = getattr(view, name)
    if name in ("load", "override_normalizer_spec"):
        return made(**given), view.encode(f"  {TEXT}  see ", out_type=str), view.normalize(" a  b ")
    return [made(**given) for _ in range(12)]


VIEWS: dict[str, tuple[type, Callable[..., Any], Rows]] = {
    "tokenizers": (Tokenizer, of_tokenizers, TOKENIZERS),
    "encoding": (Encoding, of_encoding, ENCODING),
    "tiktoken": (bbpe.tiktoken.Encoding, of_tiktoken, TIKTOKEN),
    "sentencepiece": (SentencePieceProcessor, of_sentencepiece, SENTENCEPIECE),
}
CASES = [
    (view, name, option)
    for view, (_, _, rows) in VIEWS.items()
    for name, (_, options) in rows.items()
    for option in options
]


@pytest.mark.parametrize(("view", "name", "option"), CASES)
def test_options(view: str, name: str, option: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("m.model").write_bytes(MODEL)
    _, call, rows = VIEWS[view]
    given, options = rows[name]
    differs(partial(call, name), {} if name in ("load", "__init__") and option[:5] == "model" else given, option,
            options[option])  # fmt: skip


def test_no_option_is_left_out() -> None:
    missing = set()
    for view, (kind, _, rows) in VIEWS.items():
        for name, call in callables(kind):
            known = {option for row, (_, options) in rows.items() if getattr(kind, row) is call for option in options}
            wanted = {option for option in optional(call) if not option.startswith("**")} - known
            missing |= {f"{view}.{name}.{option}" for option in wanted}
    assert {each for each in missing if not any(map(each.endswith, ELSEWHERE))} == set()
    assert {each for each in ELSEWHERE if not any(other.endswith(each) for other in missing)} == set()
    assert [test for test in ELSEWHERE.values() if not is_there(test)] == []


def test_a_token_for_downloads_changes_nothing(tmp_path: Path) -> None:
    TOK.save(tmp_path / "tokenizer.json")
    found = [Tokenizer.from_pretrained(str(tmp_path), token=token).to_str() for token in (None, "hf_x")]
    assert found[0] == found[1] == TOK.as_tokenizers().to_str()


@pytest.mark.parametrize("again", [copy, deepcopy])
def test_a_copy_of_a_stream_goes_on_where_it_was(again: Callable[[Any], Any]) -> None:
    view = TOK.as_tokenizers()
    ids = [TOK.token_to_id(bytes([byte])) for byte in "n\u00e9".encode()]
    stream = DecodeStream(stop=["x"])
    assert again(stream).step(view, ids[:1]) == "n"
    assert [stream.step(view, each) for each in ids[:2]] == ["n", None]
    other = again(stream)
    assert [each.step(view, ids[2]) for each in (stream, other)] == ["\u00e9", "\u00e9"]
    assert other.step(view, view.encode("yx", add_special_tokens=False).ids) == "y"
    assert (stream.stopped, other.stopped) == (None, "x")


LISTS: list[tuple[Any, str, str]] = [
    (TOK.as_tokenizers(), "decode_batch", "sequences"), (TOK.as_tokenizers(), "encode_batch", "input"),
    (TOK.as_tokenizers(), "add_tokens", "tokens"), (TOK.as_tokenizers(), "add_special_tokens", "special_tokens"),
    (UNIGRAM.as_sentencepiece(), "decode", "input"), (UNIGRAM.as_sentencepiece(), "set_vocabulary", "valid_vocab"),
    (TOK.as_tiktoken(), "encode_batch", "text"), (TOK.as_tiktoken(), "encode_ordinary_batch", "text"),
    (TOK.as_tiktoken(), "decode_tokens_bytes", "tokens"), (TOK.as_tiktoken(), "decode_batch", "batch"),
    (TOK.as_tiktoken(), "decode_bytes_batch", "batch"),
]  # fmt: skip


@pytest.mark.parametrize(("view", "method", "argument"), LISTS, ids=[row[1] for row in LISTS])
def test_what_is_no_list_is_named(view: Any, method: str, argument: str) -> None:
    for wrong in ({1: 2}, 5 if method != "decode" else {3: 4}):
        with pytest.raises(TypeError, match=rf"\b{argument}\b"):
            getattr(view, method)(wrong)


EMPTY: list[tuple[Any, str]] = [
    *((TOK.as_tokenizers(), name) for name in ("encode_batch", "encode_batch_fast", "decode_batch")),
    *((TOK.as_tiktoken(), f"{name}_batch") for name in ("encode", "encode_ordinary", "decode", "decode_bytes")),
    (TOK.as_tiktoken(), "decode_tokens_bytes"),
    *((UNIGRAM.as_sentencepiece(), name) for name in ("encode", "encode_as_ids", "encode_as_pieces", "nbest_encode")),
]


@pytest.mark.parametrize(("view", "method"), EMPTY, ids=[f"{type(view).__name__} {name}" for view, name in EMPTY])
def test_no_texts_have_no_rows(view: Any, method: str) -> None:
    assert getattr(view, method)([]) == []
