"""The errors that docstrings of functions for ids and files of others promise, and calls that raise them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

from option_rows import PLAIN, TOK
from raising import Call, after, cut, kinds, retokenizing, shards, without

import bbpe

#: What was loaded beside a tokenizer.json is no JSON.
NO_JSON = replace(TOK.spec, files={"tokenizer_config.json": b"{"})


def cut_after(first: Callable[[], Any], path: str) -> Any:
    """What a call returns, before a file that it names is damaged."""
    made = first()
    cut(path)
    return made


def opened() -> bbpe.ShardFiles:
    folder = "out" if Path("out").exists() else shards()
    return bbpe.open_shards([f"{folder}/part-00000", f"{folder}/part-00001"], format="megatron")


def stream() -> bbpe.RowStream:
    return bbpe.load_shards(shards()).windows(3).stream()


def raised_with(path: str, make: Callable[[], Any]) -> Call:
    """The call where a file of the shards is damaged."""
    return after(lambda: (shards(), cut(path)), lambda made: make())


def rows_of(name: str, source: Callable[[], Any], damage: str) -> dict[str, Any]:
    """The errors of `windows` and `bins` of shards, and of what they return."""
    found: dict[str, Any] = {}
    for method, made in (("windows", "Windows"), ("bins", "Bins")):
        more = {} if method == "windows" else {"ragged": True}

        def call(n: Any = 3, *, method: str = method, more: Any = more, **given: Any) -> Any:
            return getattr(source(), method)(n, **{**more, **given})

        found |= kinds(
            f"{name}.{method}", call, TypeError=[{"n": "3"}, {"columns": "labels"}],
            ValueError=[{"n": 0}, {"labels": "x"}, {"masks": True}, {"dtype": "float32"}],
            CorpusError=[raised_with(damage, call)],
        )
        found |= kinds(f"{made}.set_epoch", lambda epoch, call=call: call().set_epoch(epoch),
                       ValueError={"epoch": -1}, TypeError={"epoch": "1"})
        found |= kinds(f"{made}.stream", lambda call=call, **given: call().stream(**given),
                       ValueError=[{"rank": 1}, {"world": 0}], TypeError={"batch": "1"})
    return found


OF_OTHERS: dict[str, Any] = {
    **rows_of("Shards", lambda: bbpe.load_shards("out" if Path("out").exists() else shards()), "out/part-00000.json"),
    **rows_of("ShardFiles", opened, "out/part-00001.idx"),
    **kinds("RowStream.set_epoch", lambda epoch: stream().set_epoch(epoch), ValueError={"epoch": -1},
            TypeError={"epoch": "1"}),
    **kinds("RowStream.state_dict", lambda batches: stream().state_dict(batches), ValueError={"batches": -1},
            TypeError={"batches": "1"}),
    **kinds("RowStream.load_state_dict", lambda state: stream().load_state_dict(state), ValueError={"state": {}},
            TypeError={"state": [1]}),
    "RowStream.torch_dataset ImportError": [without("torch.utils.data", lambda: stream().torch_dataset())],
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
    **kinds("Tokenizer.with_roles", TOK.with_roles, TypeError=[{"eos_token": 5}, {"chat_template": 5}],
            ValueError=[{"eos_token": "<none such>"}, {"chat_template": "default"}],
            VocabularyError=[lambda: bbpe.Tokenizer(NO_JSON).with_roles(eos_token="<s>")]),
}  # fmt: skip
