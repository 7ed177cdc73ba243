"""Files that were touched since parts were written: each is read again, also where it is not the first of its part."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest
from shard_lines import lines

import bbpe

FILES = ("a", "b", "c", "d")
#: A file is also known by its first and last bytes; texts between these are no part of that.
AROUND = ["x" * 1000] * 70


def written(folder: Path, name: str, text: str) -> Path:
    """Write a file of 141 texts; the one in its middle, of three characters, is given.  Each time it gets older."""
    path = folder / f"{name}.jsonl"
    before = path.stat().st_mtime_ns if path.exists() else 2 * 10**18
    lines(path, [*AROUND, text, *AROUND])
    os.utime(path, ns=(0, before - 10**9))
    return path


@pytest.mark.parametrize("name", FILES)
def test_a_touched_file_is_compared_wherever_it_stands_in_its_part(
    name: str, tmp_path: Path, tok: bbpe.Tokenizer
) -> None:
    """The same text at another time is no change, and another one is: in the first file, the last one, and between."""
    files = [written(tmp_path, each, "low") for each in FILES]
    done = bbpe.shard(files, tmp_path / "out", tok)
    assert len(done.plan) == 1
    written(tmp_path, name, "low")
    assert bbpe.shard(files, tmp_path / "out", tok).totals == done.totals
    written(tmp_path, name, "lox")
    with pytest.raises(bbpe.CorpusError, match=rf"[/\\]{name}\.jsonl: the file was written to since part 0 was made"):
        bbpe.shard(files, tmp_path / "out", tok)


def test_a_touched_file_of_parts_that_are_not_written_yet_is_what_it_is(tmp_path: Path, tok: bbpe.Tokenizer) -> None:
    """Only what parts have read is compared: the first part is done, the others are still to be read."""
    files = [written(tmp_path, each, "low") for each in FILES]
    options: dict[str, Any] = {"part_size": files[0].stat().st_size}
    plan = bbpe.plan_shards(files, tmp_path / "out", tok, **options)
    assert len(plan) == 4
    bbpe.shard_part(plan, 0)
    written(tmp_path, "d", "lox")
    done = bbpe.shard(files, tmp_path / "out", tok, **options)
    assert [part[70].tolist() for part in (done[:141], done[423:])] == [tok.encode("low"), tok.encode("lox")]
    written(tmp_path, "d", "low")
    with pytest.raises(bbpe.CorpusError, match=r"d\.jsonl: the file was written to since part 3 was made"):
        bbpe.shard(files, tmp_path / "out", tok, **options)


@pytest.mark.parametrize("wrong", ["[1]", "{", '{"text": 5}'])
def test_lines_that_were_left_out_are_left_out_where_a_touched_file_is_compared(
    wrong: str, tmp_path: Path, tok: bbpe.Tokenizer
) -> None:
    files = [written(tmp_path, each, "low") for each in FILES]
    for path in files[1:3]:
        path.write_text(f"{path.read_text()}{wrong}\n", "utf-8")
    done = bbpe.shard(files, tmp_path / "out", tok, on_error="skip")
    assert done.documents == 4 * 141
    for path in files:
        os.utime(path, ns=(0, 10**18))
    assert bbpe.shard(files, tmp_path / "out", tok, on_error="skip").totals == done.totals
    data = files[2].read_bytes().replace(b"low", b"lox")
    files[2].write_bytes(data)
    os.utime(files[2], ns=(0, 10**17))
    with pytest.raises(bbpe.CorpusError, match=r"c\.jsonl: the file was written to since part 0 was made"):
        bbpe.shard(files, tmp_path / "out", tok, on_error="skip")
