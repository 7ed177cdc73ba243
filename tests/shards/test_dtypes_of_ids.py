"""The argument `dtype`: what NumPy would guess or name in its own words is an error that names what was given."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
from shard_lines import lines

import bbpe
from bbpe.cli import main

WRONG = [None, "int7", "", 5, True, ["a"]]


@pytest.mark.parametrize("given", WRONG, ids=repr)
def test_what_is_no_dtype(given: Any, tmp_path: Path, tok: bbpe.Tokenizer) -> None:
    path = lines(tmp_path / "a.jsonl", ["low"])
    done = bbpe.shard(path, tmp_path / "texts", tok, eos="</s>")
    named, out = {"</s>": "</s>", "<s>": "<s>"}, tmp_path / "out"
    calls = {
        "shard": lambda: bbpe.shard(path, out, tok, dtype=given),
        "plan_shards": lambda: bbpe.plan_shards(path, out, tok, dtype=given),
        "shard_from_iterator": lambda: bbpe.shard_from_iterator(["low"], out, tok, dtype=given),
        "convert_shards": lambda: bbpe.convert_shards(done, out, format="parquet", dtype=given),
        "retokenize": lambda: bbpe.retokenize(done, out, tok, special=named, dtype=given),
        "encode_padded": lambda: tok.encode_padded(["low"], pad_id=0, dtype=given),
    }
    if given is not None:  # which stands for that of the files, and for the usual one
        calls["open_shards"] = lambda: bbpe.open_shards(
            done.plan.folder / "part-00000.bin", format="nanogpt", dtype=given, eos=0
        )
        calls["windows"] = lambda: done.windows(1, dtype=given)
    for name, call in calls.items():
        with pytest.raises(TypeError, match=rf"^dtype is {re.escape(repr(given))}; expected ") as caught:
            call()
        assert "int" in str(caught.value), name


@pytest.mark.parametrize("given", ["uint32", ">u2", float, "f4", "object"])
def test_what_the_format_has_is_named(given: Any, tmp_path: Path, tok: bbpe.Tokenizer) -> None:
    path = lines(tmp_path / "a.jsonl", ["low"])
    done = bbpe.shard(path, tmp_path / "texts", tok)
    named, out = {"</s>": "</s>", "<s>": "<s>"}, tmp_path / "out"
    for call in (
        lambda: bbpe.shard(path, out, tok, dtype=given),
        lambda: bbpe.convert_shards(done, out, format="megatron", dtype=given),
        lambda: bbpe.retokenize(done, out, tok, special=named, dtype=given),
    ):
        with pytest.raises(ValueError, match=r"^dtype is '.*'; the format 'megatron' has 'uint16', 'int32'$"):
            call()


@pytest.mark.parametrize(("given", "status"), [("0", 0), ("0.00", 0), ("1", 0), ("1.5", 2), ("-1", 2), ("nan", 2)])
def test_the_share_that_is_verified(
    given: str, status: int, tmp_path: Path, tok: bbpe.Tokenizer, capsys: pytest.CaptureFixture[str]
) -> None:
    bbpe.shard(lines(tmp_path / "a.jsonl", ["low"]), tmp_path / "out", tok)
    words = ["shards", "verify", str(tmp_path / "out"), f"--sample={given}"]
    if not status:
        assert main(words) == 0
        return
    with pytest.raises(SystemExit, match="2"):
        main(words)
    assert f"--sample: expected a number from 0 to 1, not {given!r}" in capsys.readouterr().err
