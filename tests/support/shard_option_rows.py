"""Rows of the table of options for shards, and for the rows of training that they give."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from typing import Any

from option_rows import OTHER, OTHER_TOK, PLAIN, TEXT, THREADS, TOK, new_folder
from two_values import Row, Two

import bbpe


def estimated(plan: str, **given: Any) -> Any:
    made = bbpe.plan_shards(plan, new_folder(), TOK)
    return replace(bbpe.estimate_shards(made, **given), core_seconds=0.0)


def opened(**given: Any) -> Any:
    source = bbpe.open_shards(given.pop("files"), **given)
    return list(source), str(source.reading), source.tokenizer


CONVERTED = {"dtype": Two("auto", "int32"), "part_size": Two("256MB", 20), "empty": Two("keep", "skip")}


def retokenized(**given: Any) -> Any:
    """What the files of both functions have; a plan is written to its end."""
    here = new_folder()
    here.mkdir()
    texts = [TEXT, "see", "", OTHER]
    (here / "a.jsonl").write_text("".join(json.dumps({"text": text}) + "\n" for text in texts))
    source = bbpe.shard(here / "a.jsonl", here / "old", TOK, allowed_special="all", empty="keep")
    folders = [here / "a", here / "b"]
    plan = bbpe.plan_retokenizing(source, folders[0], OTHER_TOK, **given)
    for number in range(len(plan)):
        bbpe.shard_part(plan, number)
    done = [bbpe.finish_shards(plan), bbpe.retokenize(source, folders[1], OTHER_TOK, **given)]
    files = [{path.name: path.read_bytes() for path in folder.glob("part-*")} for folder in folders]
    assert files[0] == files[1]
    return files[0], done[0].totals


#: Options of both, with two values.
RETOKENIZED = {
    "format": Two("megatron", "parquet"), "eos": Two(None, "<pad>"), "bos": Two(None, "<pad>"),
    "special": Two({"<s>": "<pad>"}, {"<s>": None}), "dtype": Two("auto", "int32"), "check": Two(1.0, 0),
    "part_size": Two("256MB", 20), "empty": Two("keep", "skip"),
}


def trained_on(make: Callable[..., Any]) -> Callable[..., Any]:
    """The dtype and the numbers of all columns of all rows; `length` is that of a document more."""

    def called(folder: str, length: int = 0, **given: Any) -> Any:
        source = bbpe.load_shards(folder)
        if length:
            here = new_folder()
            here.mkdir()
            (here / "a.txt").write_text(TEXT * length)
            source = bbpe.shard(here / "a.txt", here / "out", TOK)
        rows = make(source, **{"n": 5, **given})
        return [[(name, column.dtype.str, column.tolist()) for name, column in row.items()] for row in rows]

    return called


def of_files(make: Callable[..., Any]) -> Callable[..., Any]:
    return lambda source, **given: make(bbpe.open_shards(source, format="bbpe"), **given)


def streamed(folder: str, **given: Any) -> Any:
    """The first ids of 40 rows of a stream."""
    stream = bbpe.load_shards(folder).windows(5).stream(**given)
    return [row["input_ids"].tolist() for row, _ in zip(stream, range(40), strict=False)]


IN_SHARDS = {"folder": "shards"}
TRAINED: dict[str, Two] = {
    "shuffle": Two(None, 3), "labels": Two("shift", "same"), "columns": Two(["input_ids"], ["labels"]),
    "dtype": Two("int32", "int64"), "masks": Two(None, True),
}
BINNED: dict[str, Two] = {
    **TRAINED, "method": Two("best_fit", "greedy"), "on_long": Two("cut", "drop", {"length": 3}), "pad": Two(0, 1),
    "ragged": Two(False, True, {"pad": None}),
}
STREAMED: dict[str, Two] = {
    "rank": Two(0, 1, {"world": 2}), "world": Two(1, 2), "batch": Two(1, 2, {"world": 2}), "epochs": Two(1, None),
}
#: The rows.
SHARD_ROWS: dict[str, Row] = {
    "merge_shards": Row(
        lambda pairs=False, **given: bbpe.merge_shards([("shards", 1)] if pairs else ["shards"], new_folder(), **given),
        {}, {
            "shuffle": Two(None, 3), "shard_size": Two(None, 100), "tokens": Two(None, 20, {"pairs": True}),
            "repeat": Two("error", "epochs", {"pairs": True, "tokens": 10**4}),
            "exact": Two(False, True, {"pairs": True, "tokens": 7}), **THREADS,
        },
    ),
    "shards_status": Row(bbpe.shards_status, {"folder": "written"}, {"idle": Two(0.0, 1e9)}),
    "estimate_shards": Row(estimated, {"plan": "large.txt"}, {"seed": Two(0, 1)}),
    "convert_shards": Row(
        lambda **given: bbpe.convert_shards("shards", new_folder(), format="megatron", **given), {}, CONVERTED,
    ),
    "plan_conversion": Row(
        lambda source, **given: bbpe.plan_conversion(source, new_folder(), format="megatron", **given).digest,
        {"source": "shards"}, CONVERTED,
    ),
    "open_shards": Row(opened, {
        "files": "shards/part-00000.bin", "format": "nanogpt", "dtype": "uint16", "eos": 101, "on_missing": "keep",
    }, {
        "dtype": Two("uint16", "uint8"), "eos": Two(101, 121), "bos": Two(101, 121, {"eos": None}),
        "tokenizer": Two(None, TOK), "vocab_size": Two(None, 999), "column": Two("input_ids", "ids"),
        "id_field": Two(None, "id"), "masks": Two(None, True), "on_missing": Two("keep", "error"),
    }),
    "retokenize": Row(retokenized, {}, RETOKENIZED),
    "plan_retokenizing": Row(retokenized, {}, RETOKENIZED),
    "verify_shards": Row(bbpe.verify_shards, {"folder": "wrong", "sample": 0.001}, {
        "tokenizer": Two(TOK, PLAIN, {"sample": 0}), "sample": Two(0, 1.0), "seed": Two(0, 1),
    }),
    "Shards.windows": Row(trained_on(bbpe.Shards.windows), IN_SHARDS, TRAINED),
    "ShardFiles.windows": Row(trained_on(of_files(bbpe.ShardFiles.windows)), IN_SHARDS, TRAINED),
    "Shards.bins": Row(trained_on(bbpe.Shards.bins), {**IN_SHARDS, "pad": 0}, BINNED),
    "ShardFiles.bins": Row(trained_on(of_files(bbpe.ShardFiles.bins)), {**IN_SHARDS, "pad": 0}, BINNED),
    "Windows.stream": Row(streamed, IN_SHARDS, STREAMED),
    "Bins.stream": Row(streamed, IN_SHARDS, STREAMED),
    "RowStream.state_dict": Row(
        lambda folder, **given: bbpe.load_shards(folder).windows(5).stream(batch=2).state_dict(**given), IN_SHARDS,
        {"batches": Two(None, 2)},
    ),
}  # fmt: skip
