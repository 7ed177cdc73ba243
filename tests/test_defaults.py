"""What an argument is that is not given: a default is a promise, so that changing one means to change this table."""

from __future__ import annotations

import inspect
from collections.abc import Iterator
from typing import Any

import bbpe
from bbpe.shards.policy import make_policy

#: The special tokens of a text: all of it is text.
PLAIN: dict[str, Any] = {"allowed_special": (), "disallowed_special": ()}
IDS: dict[str, Any] = {**PLAIN, "add_special_tokens": False}
TEXT_OF: dict[str, Any] = {"errors": "replace", "skip_special_tokens": False, "unknown_ids": "raise"}
WINDOWS = {"labels": "shift", "columns": ("input_ids", "labels")}
BINS = {
    "method": "best_fit", "on_long": "cut", "ragged": False, "labels": "shift",
    "columns": ("input_ids", "labels", "position_ids", "document_ids"),
}  # fmt: skip
STREAM = {"rank": 0, "world": 1, "batch": 1, "epochs": 1}
DEFAULTS: dict[str, dict[str, Any]] = {
    "BPE": {"alphabet": "bytes", "lowercase": False, "min_frequency": 1, "pad_vocab_to": 1},
    "BBPETokenizer.encode_batch": {"num_threads": 4},
    "Counting.task": {"special_tokens": ()},
    "Counting": {
        "attempts": 3, "sample": 1.0, "document": "file", "unique": False, "text_field": "text", "on_error": "raise",
    },
    "CurvePoint": {"tokenizer": ""},
    "Finding": {"examples": (), "ids": ()},
    "LintReport.lines": {"examples": 4, "details": False},
    "Measures": {"changed": 0, "lost": 0},
    "Summary": {
        "files": 0, "documents": 0, "bytes": 0, "pretokens": 0, "unique": 0, "left_out": 0, "skipped": 0, "refused":
        0, "special_tokens_found": 0, "cut": 0, "dropped": 0, "duplicates": 0,
    },
    "TokenCounts": {"unknown": 0},
    "Tokenizer.encode_bytes": PLAIN,
    "Tokenizer.encode_to_numpy": {**IDS, "dtype": "uint32"},
    "Tokenizer.encode_batch_to_numpy": IDS,
    "Tokenizer.encode_padded": {**IDS, "dtype": "uint32"},
    "Tokenizer.encode_aligned": {**IDS, "unit": "char"},
    "Tokenizer.encode_iterable": PLAIN,
    "Tokenizer.encode_files": {**PLAIN, "text_field": "text"},
    "Tokenizer.encode_sampled": {"alpha": 0.1},
    "Tokenizer.pieces": {"allowed_special": ()},
    "Tokenizer.trace": {"allowed_special": ()},
    "Tokenizer.to_html": {"allowed_special": ()},
    "Tokenizer.count_tokens": IDS,
    "Tokenizer.count_tokens_batch": IDS,
    "Tokenizer.fits": PLAIN,
    "Tokenizer.truncate": {**PLAIN, "side": "right"},
    "Tokenizer.chunk": {**PLAIN, "overlap": 0, "boundary": "token"},
    "Tokenizer.decode": TEXT_OF,
    "Tokenizer.decode_batch": TEXT_OF,
    "Tokenizer.stream_decoder": {**TEXT_OF, "prompt": (), "include_stop": False},
    "Tokenizer.with_added_tokens": {"special": False},
    "Tokenizer.save": {"drop": ()},
    "Tokenizer.encode_chat": {
        "add_generation_prompt": False, "continue_final_message": False, "content_special": (),
        "train_on": "assistant", "turn_end": True,
    },
    "Tokenizer.continue_chat": {"messages": ()},
    "EncodedChat": {"dropped": 0}, "EncodedChat.labels": {"ignore": -100},
    "EncodedChats.labels": {"ignore": -100},
    "Tokenizer.apply_chat_template": {"add_generation_prompt": False, "continue_final_message": False},
    "Unigram": {"character_coverage": 0.9995, "byte_fallback": True, "user_defined_symbols": (), "pad_vocab_to": 1},
    "WordPiece": {"score": "pmi", "lowercase": True, "unk_token": "[UNK]", "min_frequency": 1},
    "accelerate": {"accept_other_offsets": False},
    "patch_transformers": {"masks": False, "strict": False},
    "compare": {"most": 20, "text_field": "text"},
    "convert_shards": {"dtype": "auto", "part_size": "256MB", "empty": "keep", "attempts": 3, "replan": False},
    "open_shards": {"column": "input_ids", "on_missing": "error"},
    "plan_conversion": {"dtype": "auto", "part_size": "256MB", "empty": "keep", "replan": False},
    "corpus_curve": {"shares": (0.125, 0.25, 0.5, 1.0), "model": "bpe"},
    "count": {"special_tokens": ()},
    "count_from_iterator": {"special_tokens": ()},
    "count_shards": {"special_tokens": ()},
    "count_tokens": {"allowed_special": (), "text_field": "text", "document": "file"},
    "encoding_for_model": {"cache": True},
    "evaluate": {"document": "file", "text_field": "text", "seed": 0},
    **{f"Evaluation.{name}": {"wide": False} for name in ("notes", "table", "to_latex", "to_markdown", "to_text")},
    "extend": {"add": 10000, "min_frequency": 1, "tie_break": "ids"},
    "get_encoding": {"cache": True},
    "learning_curve": {"text_field": "text"},
    "lint": {"min_count": 10, "text_field": "text"},
    "load": {"cache": True},
    "estimate_shards": {"seed": 0},
    "plan_shards": {"replan": False},
    "merge_shards": {"repeat": "error", "exact": False},
    "plan_count": {"special_tokens": (), "part_size": "64MB"},
    "prune": {"min_count": 1},
    "shard": {"attempts": 3, "replan": False},
    "retokenize": {
        "format": "megatron", "dtype": "auto", "check": 1.0, "part_size": "256MB", "empty": "keep", "attempts": 3,
        "replan": False,
    },
    "plan_retokenizing": {
        "format": "megatron", "dtype": "auto", "check": 1.0, "part_size": "256MB", "empty": "keep", "replan": False,
    },
    "train": {"model": "bpe", "special_tokens": ()},
    "train_from_counts": {"model": "bpe"},
    "train_from_iterator": {"model": "bpe", "special_tokens": ()},
    "shards_status": {"idle": 120.0},
    "Shards.windows": WINDOWS, "ShardFiles.windows": WINDOWS, "Shards.bins": BINS, "ShardFiles.bins": BINS,
    "Windows.stream": STREAM, "Bins.stream": STREAM,
    "verify_shards": {"sample": 0.001, "seed": 0},
}  # fmt: skip
SHARDS = {
    "format": "megatron", "allowed_special": (), "dtype": "auto", "text_field": "text", "document": "file",
    "part_size": "256MB", "empty": "skip", "on_error": "raise",
}  # fmt: skip


def callables() -> Iterator[tuple[str, Any]]:
    """The public functions, methods and data classes."""
    for name in bbpe.__all__:
        found = getattr(bbpe, name)
        if inspect.isclass(found):
            members = inspect.getmembers(found)
            methods = [(key, getattr(each, "__func__", each)) for key, each in members if key[0] != "_"]
            yield from ((f"{name}.{key}", each) for key, each in methods if inspect.isfunction(each))
        if inspect.isfunction(found) or hasattr(found, "__record__"):
            yield name, found


def defaults_of(function: Any) -> dict[str, Any]:
    """The defaults that say something: None stands for what the documentation says, a maker has no value."""
    rows = inspect.signature(function).parameters.items()
    kinds = str | int | float | tuple
    return {name: row.default for name, row in rows if isinstance(row.default, kinds)}


def test_defaults() -> None:
    found = {name: defaults_of(function) for name, function in callables()}
    assert {name: row for name, row in found.items() if row} == DEFAULTS
    assert defaults_of(make_policy) == SHARDS
