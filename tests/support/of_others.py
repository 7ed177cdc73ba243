"""The errors that docstrings of functions for ids of others promise, and calls that raise them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from option_rows import PLAIN, TOK
from raising import after, cut, kinds, retokenizing, shards

import bbpe


def cut_after(first: Callable[[], Any], path: str) -> Any:
    """What a call returns, before a file that it names is damaged."""
    made = first()
    cut(path)
    return made


OF_OTHERS = {
    **kinds("open_shards", lambda files="a.bin", **given: bbpe.open_shards(files, **{"format": "megatron", **given}),
            CorpusError=[after(lambda: (shards(), cut("out/part-00000.idx")), lambda made: bbpe.open_shards(
                "out/part-00000", format="megatron"))], OSError={"files": "missing"},
            ValueError=[{"format": "x"}, {"files": "s3://bucket/a"}], TypeError=[{"files": 5}, {"column": 5}]),
    "ShardFiles.part CorpusError": [after(shards, lambda made: cut_after(lambda: bbpe.open_shards(
        ["out/part-00000", "out/part-00001"], format="megatron"), "out/part-00001.idx").part(1))],
    "ShardFiles.part ValueError": [after(shards, lambda made: bbpe.open_shards(
        "out/part-00000", format="megatron").part(1))],
    **kinds("convert_shards", lambda source="out", folder="new", **given: bbpe.convert_shards(
        source, folder, **{"format": "olmo", **given}), CorpusError=[
            after(lambda: (shards(), cut("out/part-00000.lens")), lambda made: bbpe.convert_shards(
                "out", "new", format="olmo"))], OSError={"source": "missing"},
            ValueError=[after(shards, lambda made: bbpe.convert_shards(made, "new", format="numpy"))],
            TypeError={"source": 5}),
    **kinds("plan_conversion", lambda source="out", folder="new", **given: bbpe.plan_conversion(
        source, folder, **{"format": "olmo", **given}), CorpusError=[
            after(lambda: (shards(), cut("out/part-00000.lens")), lambda made: bbpe.plan_conversion(
                "out", "new", format="olmo"))], OSError={"source": "missing"},
            ValueError=[{"format": "x"}], TypeError={"source": 5}),
    "Shards.mask CorpusError": [after(shards, lambda made: bbpe.load_shards(made).mask(0))],
    "Shards.mask ValueError": [after(shards, lambda made: bbpe.load_shards(made).mask(99999))],
    "Shards.masks CorpusError": [after(shards, lambda made: bbpe.load_shards(made).masks(0))],
    "Shards.masks ValueError": [after(shards, lambda made: bbpe.load_shards(made).masks(99))],
    **retokenizing("retokenize", bbpe.retokenize), **retokenizing("plan_retokenizing", bbpe.plan_retokenizing),
    **kinds("vocabulary_map", lambda old=TOK, new=PLAIN, **given: bbpe.vocabulary_map(old, new, **given),
            TypeError=[{"old": "t.json"}, {"special": ["<s>"]}], ValueError=[{"special": {"<s>": "<nothing>"}}]),
}  # fmt: skip
