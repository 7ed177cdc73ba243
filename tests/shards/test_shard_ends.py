"""Shards where little is there: parts without documents, records and files that are cut off, arguments that clash."""

from __future__ import annotations

import json
import os
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from numpy.testing import assert_array_equal
from shard_lines import lines

import bbpe
from bbpe.shards import merge, open_parts, part, run, shuffle
from bbpe.shards.formats import FORMATS, parquet
from bbpe.shards.formats import format as forms
from bbpe.shards.open_parts import read_part
from bbpe.shards.state import listing

#: The formats whose documents end with a token, or begin with one.
BOS = dict.fromkeys(("nanogpt", "llmc", "numpy", "automodel"), "<s>")


@pytest.fixture
def corpus(tmp_path: Path) -> Path:
    rows = [{"text": text, "key": f"k{number}"} for number, text in enumerate(("low", "lower lowest", "", "low low"))]
    (tmp_path / "a.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    return tmp_path / "a.jsonl"


@pytest.mark.parametrize("name", FORMATS)
def test_a_part_without_documents(name: Any, tmp_path: Path, tok: bbpe.Tokenizer) -> None:
    (tmp_path / "a.jsonl").write_text('{"text": ""}\n')
    for empty, count in (("skip", 0), ("keep", 1)):
        done = bbpe.shard(tmp_path / "a.jsonl", tmp_path / empty, tok, format=name, empty=empty, bos=BOS.get(name))
        ids, lengths = read_part(done.plan, 0)
        assert (done.documents, len(lengths), len(ids), done.tokens) == (count, count, *[int(lengths.sum())] * 2)
        assert bbpe.verify_shards(done.plan, tok, sample=1.0) == []


def test_numbers_are_read_where_files_cannot_be_mapped(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    numbers = np.arange(5, dtype="<u2")
    (tmp_path / "a").write_bytes(b"head" + numbers.tobytes())

    def refuse(error: OSError) -> Any:
        def map_file(*_: object) -> None:
            raise error

        return map_file

    monkeypatch.setattr(forms, "FileMap", refuse(OSError("the system does not map")))
    found = forms.mapped(tmp_path / "a", "<u2", offset=4)
    assert isinstance(found, np.memmap)
    assert_array_equal(found, numbers)
    assert_array_equal(forms.mapped(tmp_path / "a", "<u2", offset=4, count=3), numbers[:3])
    assert forms.is_mapped(found)
    monkeypatch.setattr(forms, "FileMap", refuse(OSError(12, "no memory")))
    with pytest.raises(OSError, match="no memory"):
        forms.mapped(tmp_path / "a", "<u2", offset=4)


def test_files_of_a_part_that_are_cut_off(corpus: Path, tmp_path: Path, tok: bbpe.Tokenizer) -> None:
    """Each format names the file and what it should be."""
    for name, suffix, size, said in (
        ("llmc", ".bin", 1023, r"part-00000\.bin: the file is shorter than the header of llmc, 1024 bytes"),
        ("parquet", ".parquet", 40, r"part-00000\.parquet: expected a Parquet file of shards: "),
        ("numpy", ".npy", 100, r"part-00000\.npy: expected a \.npy file: "),
        ("nanogpt", ".bin", 5, r"part-00000\.bin: the file has 5 bytes; expected whole numbers of 2 bytes"),
    ):
        form: Any = name
        done = bbpe.shard(corpus, tmp_path / name, tok, format=form, bos=BOS.get(name))
        path = done.plan.stem(0).with_name(f"part-00000{suffix}")
        path.write_bytes(path.read_bytes()[:size])
        with pytest.raises(bbpe.CorpusError, match=said):
            read_part(done.plan, 0)
        path.unlink()
        with pytest.raises(FileNotFoundError):
            read_part(done.plan, 0)


def test_lists_of_lengths_that_contradict_each_other(corpus: Path, tmp_path: Path, tok: bbpe.Tokenizer) -> None:
    done = bbpe.shard(corpus, tmp_path / "out", tok, format="olmo")
    path = done.plan.stem(0).with_name("part-00000.lens")
    lengths = np.fromfile(path, "<i4")
    lengths[::-1].tofile(path)
    with pytest.raises(bbpe.CorpusError, match=r"part-00000\.lens: the lengths of documents are not those of the"):
        read_part(done.plan, 0)
    (lengths + 1).tofile(path)
    with pytest.raises(bbpe.CorpusError, match=r"part-00000\.lens: the documents have \d+ ids together; expected \d+"):
        done[0]


def test_a_row_group_of_parquet_has_less_than_2_31_ids(
    corpus: Path, tmp_path: Path, tok: bbpe.Tokenizer, monkeypatch: pytest.MonkeyPatch
) -> None:
    total = bbpe.shard(corpus, tmp_path / "a", tok, format="parquet").tokens
    for most, is_refused in ((total, False), (total - 1, True)):
        with monkeypatch.context() as patched:
            limited = SimpleNamespace(**{name: getattr(np, name) for name in ("zeros", "cumsum", "int64", "int32")})
            limited.iinfo = lambda kind, most=most: SimpleNamespace(max=most)
            limited.concatenate, limited.empty, limited.uint8 = np.concatenate, np.empty, np.uint8
            patched.setattr(parquet, "np", limited)
            if is_refused:
                with pytest.raises(bbpe.CorpusError, match=rf"a row group would have {total} ids; a document of Parq"):
                    bbpe.shard(corpus, tmp_path / "b", tok, format="parquet")
            else:
                assert bbpe.shard(corpus, tmp_path / "c", tok, format="parquet").tokens == total


def test_long_lists_of_lengths_stay_mapped(
    corpus: Path, tmp_path: Path, tok: bbpe.Tokenizer, monkeypatch: pytest.MonkeyPatch
) -> None:
    done = bbpe.shard(corpus, tmp_path / "out", tok)
    whole = [done[number].tolist() for number in range(len(done))]
    for page, is_mapped in ((4 * len(done) - 1, True), (4 * len(done), False)):
        monkeypatch.setattr(open_parts, "_PAGE", page)
        parts = open_parts.OpenParts(done.plan)
        assert [parts.document(0, number).tolist() for number in range(len(done))] == whole
        assert forms.is_mapped(parts._open[0][1]) is is_mapped


def test_a_record_of_a_part_that_is_damaged(corpus: Path, tmp_path: Path, tok: bbpe.Tokenizer) -> None:
    plan = bbpe.shard(corpus, tmp_path / "out", tok).plan
    path = part.record_path(plan, 0)
    for data in ("{", "[]", '{"none": 1}', "5"):
        path.write_text(data)
        with pytest.raises(bbpe.CorpusError, match=r"part-00000\.json: expected the record of a part: "):
            part.read_record(plan, 0)


def test_a_part_that_another_run_has_finished_meanwhile(
    corpus: Path, tmp_path: Path, tok: bbpe.Tokenizer, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The other one removes the files of this one; the part is done all the same."""
    plan = bbpe.plan_shards(corpus, tmp_path / "out", tok)

    def lost(*_: object, is_done: bool, error: Exception | None = None, **__: object) -> None:
        if is_done:
            monkeypatch.undo()
            part.write_part(plan, 0)
        raise error or FileNotFoundError(2, "gone", "part-00000.bin")

    monkeypatch.setattr(part, "encode_part", lambda *a, **b: lost(*a, is_done=False, **b))
    with pytest.raises(FileNotFoundError, match="gone"):
        part.write_part(plan, 0)
    monkeypatch.setattr(part, "encode_part", lambda *a, **b: lost(*a, is_done=True, **b))
    read: list[int] = []
    record = part.write_part(plan, 0, report=read.append)
    assert record == part.read_record(plan, 0)
    assert part.write_part(plan, 0, report=read.append) == record
    assert read == [record.input]
    # another error is one all the same, but no failure of the part is noted
    part.record_path(plan, 0).unlink()
    for is_done in (True, False):
        if not is_done:
            part.record_path(plan, 0).unlink()
        monkeypatch.setattr(part, "encode_part", partial(lost, is_done=is_done, error=OSError(5, "no")))
        with pytest.raises(OSError, match="no"):
            part.write_part(plan, 0)
        assert listing(plan.folder).failed == (set() if is_done else {0})


def test_merged_shards_are_merged_once(
    corpus: Path, tmp_path: Path, tok: bbpe.Tokenizer, monkeypatch: pytest.MonkeyPatch
) -> None:
    done = bbpe.shard(corpus, tmp_path / "one", tok)
    merged = bbpe.merge_shards([done, tmp_path / "one"], tmp_path / "two")
    assert merged.documents == 2 * done.documents
    monkeypatch.setattr(merge, "_merge", lambda *_: pytest.fail("all parts are there"))
    assert bbpe.merge_shards([done, tmp_path / "one"], tmp_path / "two").totals == merged.totals
    monkeypatch.undo()
    part.record_path(merged.plan, 0).unlink()
    again = bbpe.merge_shards([done, tmp_path / "one"], tmp_path / "two")
    assert again.totals == merged.totals
    assert part.record_path(again.plan, 0).exists()


def test_documents_are_shuffled_within_the_memory_that_their_bytes_take(
    corpus: Path, tmp_path: Path, tok: bbpe.Tokenizer, monkeypatch: pytest.MonkeyPatch
) -> None:
    done = bbpe.shard(corpus, tmp_path / "one", tok, dtype="int32")
    seen: list[tuple[Any, ...]] = []
    shuffled = merge.shuffled
    monkeypatch.setattr(merge, "shuffled", lambda *given: seen.append(given[1:]) or shuffled(*given))
    merged = bbpe.merge_shards([done, done], tmp_path / "two", shuffle=7, threads=3)
    assert seen == [(7, 2 * done.documents, 4 * 2 * done.tokens, merged.plan.folder, 3)]


EOS = "</s>"
WITHOUT_BOUNDARIES = [name for name, form in FORMATS.items() if not form.has_boundaries]


@pytest.mark.parametrize("name", WITHOUT_BOUNDARIES)
def test_a_token_that_alone_tells_where_documents_end(name: Any, tmp_path: Path, tok: bbpe.Tokenizer) -> None:
    with pytest.raises(ValueError, match=r"eos and bos are both '</s>'; the format .* give one of them, or format="):
        bbpe.shard(lines(tmp_path / "a.jsonl", ["low"]), tmp_path / "out", tok, format=name, eos=EOS, bos=EOS)
    long = "low " * 300_000
    for number, texts in enumerate((["low", f"a{EOS}b", "c"], [f"{long}{EOS}b"], [f"low {EOS}", "low"])):
        path = lines(tmp_path / f"{number}.jsonl", texts)
        for ends in ({"eos": EOS}, {"bos": EOS}):
            out = tmp_path / f"{number}{[*ends]}"
            # as text it is no token
            assert bbpe.shard(path, out, tok, format=name, **ends).documents == len(texts)
            message = rf"{number}\.jsonl: document 0 of the part, or one after it, has [be]os, \d+, within its text"
            with pytest.raises(bbpe.CorpusError, match=message):
                bbpe.shard(path, f"{out}-special", tok, format=name, allowed_special={EOS}, **ends)
            bbpe.shard(path, f"{out}-megatron", tok, allowed_special={EOS}, **ends)
    with pytest.raises(bbpe.CorpusError, match="iterator: document 0 of the part, or one after it, has eos"):
        bbpe.shard_from_iterator([f"a{EOS}b"], tmp_path / "it", tok, format=name, eos=EOS, allowed_special={EOS})


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="no pipes with names here")
def test_a_pipe_cannot_be_planned(tmp_path: Path, tok: bbpe.Tokenizer) -> None:
    os.mkfifo(tmp_path / "p.txt")
    with pytest.raises(bbpe.CorpusError, match=r"p\.txt: the file is a pipe or a device; expected a file"):
        bbpe.plan_shards(tmp_path / "p.txt", tmp_path / "out", tok)


def test_what_cannot_be_planned_or_run(corpus: Path, tmp_path: Path, tok: bbpe.Tokenizer) -> None:
    with ThreadPoolExecutor(1) as executor, pytest.raises(ValueError, match="threads and executor are given; expected"):
        bbpe.shard(corpus, tmp_path / "out", tok, threads=1, executor=executor)
    for wrong in (4, "threads"):
        with pytest.raises(TypeError, match=r"executor must be a concurrent\.futures\.Executor or None, not (int|str)"):
            bbpe.shard(corpus, tmp_path / "out", tok, executor=wrong)  # type: ignore[arg-type]
    assert not (tmp_path / "out").exists()
    plan = bbpe.plan_shards(iter([corpus]), tmp_path / "out", tok)
    for number in (-1, 1, len(plan)):
        with pytest.raises(ValueError, match=r"part is -?\d+; expected 0 to 0"):
            bbpe.shard_part(plan, number)
    assert bbpe.shard_part(plan, 0).documents == 3


def test_the_files_of_a_shuffle(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Twice as many as fit memory, for the bytes of the documents and 64 for each of them; 256 at most."""
    seen: list[tuple[int, int]] = []
    monkeypatch.setattr(shuffle, "_BUCKET", 1000)

    def write(_keyed: object, used: int, bits: int, stems: list[Path], _threads: int) -> None:
        assert used == 0
        seen.append((bits, len(stems)))
        for stem in stems:
            for suffix in (".ids", ".keys"):
                stem.with_suffix(suffix).touch()

    monkeypatch.setattr(shuffle, "_write_buckets", write)
    monkeypatch.setattr(shuffle, "_sorted", lambda stem: stem.name)
    for count, size, bits in (
        (0, 0, 0), (0, 999, 0), (0, 1000, 1), (10, 360, 1), (10, 359, 0), (0, 2000, 2), (0, 3999, 2), (0, 4000, 3),
        (0, 255_000, 8), (0, 10**9, 8),
    ):  # fmt: skip
        names = list(shuffle.shuffled([], 7, count, size, tmp_path))
        assert seen.pop() == (bits, 1 << bits)
        assert names == [str(number) for number in range(1 << bits)]
    assert list(tmp_path.iterdir()) == []


def test_lines_that_were_left_out_are_listed_to_a_thousand(
    tmp_path: Path, tok: bbpe.Tokenizer, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert part._LISTED == 1000
    monkeypatch.setattr(part, "_LISTED", 3)
    (tmp_path / "a.jsonl").write_text('{"text": "low"}\n' + '{"text": 5}\n' * 4 + '{"text": "lower"}\n')
    done = bbpe.shard(tmp_path / "a.jsonl", tmp_path / "out", tok, on_error="skip")
    record = part.read_record(done.plan, 0)
    assert record is not None
    assert (done.totals.refused, done.totals.records, done.documents) == (4, 6, 2)
    assert [row["line"] for row in record.skipped] == [2, 3, 4]


def test_the_faults_of_shards_are_said_in_full(corpus: Path, tmp_path: Path, tok: bbpe.Tokenizer) -> None:
    plan = bbpe.shard(corpus, tmp_path / "out", tok).plan
    stem = plan.stem(0)
    corpus.rename(tmp_path / "b.jsonl")
    gone = f"{stem}: the part cannot be encoded again, as {corpus} of the corpus is gone; sample=0 checks without it"
    assert bbpe.verify_shards(plan) == [gone]
    assert bbpe.verify_shards(plan, sample=0) == []
    path = stem.with_name("part-00000.bin")
    data = path.read_bytes()
    path.write_bytes(data[:-2])
    size = f"{path}: the file has {len(data) - 2} bytes; expected {len(data)}"
    assert bbpe.verify_shards(plan, sample=0)[0] == size
    path.write_bytes(data[::-1])
    changed = f"{path}: the file was changed: its SHA-256 is not that of the record"
    assert changed in bbpe.verify_shards(plan, sample=0)
    path.write_bytes(data)
    other = bbpe.train_from_iterator(["other"], 257)
    wrong = f"{plan.folder}: the tokenizer is {other.fingerprint}, and was {tok.fingerprint}"
    assert bbpe.verify_shards(plan, other, sample=0) == [wrong]
    part.record_path(plan, 0).unlink()
    assert bbpe.verify_shards(plan, sample=0) == [f"{plan.folder}: part 0 is missing"]


@pytest.mark.parametrize("threads", [1, 2])
def test_progress_is_of_the_input_done_or_not(threads: int, tmp_path: Path, tok: bbpe.Tokenizer) -> None:
    path = tmp_path / "a.jsonl"
    path.write_text('{"text": "low"}\n' * 60)
    size = path.stat().st_size
    for name, first in (("out", None), ("other", 1)):
        if first is not None:
            bbpe.shard_part(bbpe.plan_shards(path, tmp_path / name, tok, part_size=300), first)
        seen: list[Any] = []
        bbpe.shard(path, tmp_path / name, tok, part_size=300, threads=threads, progress=seen.append)
        assert (seen[-1].phase, seen[-1].done, seen[-1].total, seen[-1].unit) == ("shard", size, size, "bytes")
        done = [each.done for each in seen]
        assert done == sorted(done)
        assert len(set(done)) > 2


@pytest.mark.parametrize("threads", [1, 2])
def test_a_part_that_fails_in_this_process_is_tried_once(
    threads: int, tmp_path: Path, tok: bbpe.Tokenizer, monkeypatch: pytest.MonkeyPatch
) -> None:
    """No worker was lost, so another attempt would end as the first one."""
    path, tried = lines(tmp_path / "a.jsonl", ["low"] * 60), []

    def failing(plan: bbpe.ShardPlan, number: int, **_: Any) -> Any:
        tried.append(number)
        raise OSError(5, "no")

    monkeypatch.setattr(run, "write_part", failing)
    with pytest.raises(OSError, match="no") as caught:
        bbpe.shard(path, tmp_path / "out", tok, part_size=300, threads=threads)
    assert len(tried) == len(set(tried))
    assert getattr(caught.value, "__notes__", []) == []


@pytest.mark.parametrize("attempts", [1, 2, 4])
def test_a_part_of_a_server_that_fails_is_tried_again(
    attempts: int, tmp_path: Path, tok: bbpe.Tokenizer, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As often as was asked for, and then the error says how often; progress of the attempts that failed is undone."""
    path, tried, seen = lines(tmp_path / "a.jsonl", ["low"] * 60), [], list[Any]()
    lost, write = [attempts], run.write_part

    def failing(plan: bbpe.ShardPlan, number: int, *, report: Any, **options: Any) -> Any:
        tried.append(number)
        if len(tried) <= lost[0]:
            report(100)
            raise OSError(5, "no", "s3://bucket/a.jsonl")
        return write(plan, number, report=report, **options)

    monkeypatch.setattr(run, "write_part", failing)
    with pytest.raises(OSError, match="no") as caught:
        bbpe.shard(path, tmp_path / "out", tok, threads=1, attempts=attempts)
    assert tried == [0] * attempts
    assert getattr(caught.value, "__notes__", []) == [f"part 0 failed {attempts} times"] * (attempts > 1)
    tried.clear()
    lost[0] -= 1
    done = bbpe.shard(path, tmp_path / "out", tok, threads=1, attempts=attempts, progress=seen.append)
    assert (tried, done.documents) == ([0] * attempts, 60)
    assert seen[-1].done == path.stat().st_size


@pytest.mark.parametrize(("parts", "threads", "each"), [(1, 4, 4), (2, 4, 2), (2, 5, 2), (3, 4, 1), (3, 1, 1)])
def test_parts_at_once_share_the_threads(
    parts: int, threads: int, each: int, tmp_path: Path, tok: bbpe.Tokenizer, monkeypatch: pytest.MonkeyPatch
) -> None:
    path, given, encode = lines(tmp_path / "a.jsonl", ["low"] * 60), [], part.encode_part

    def noted(plan: bbpe.ShardPlan, number: int, stem: Path, **options: Any) -> Any:
        given.append((number, options["threads"]))
        return encode(plan, number, stem, **options)

    monkeypatch.setattr(part, "encode_part", noted)
    size = -(-path.stat().st_size // parts)
    bbpe.shard(path, tmp_path / "out", tok, part_size=size, threads=threads)
    assert sorted(given) == [(number, each) for number in range(parts)]
    given.clear()
    plan = bbpe.plan_shards(path, tmp_path / "alone", tok, part_size=size)
    bbpe.shard_part(plan, parts - 1)
    assert given == [(parts - 1, 1)]


def test_a_folder_that_is_none_is_named(corpus: Path, tmp_path: Path, tok: bbpe.Tokenizer) -> None:
    for wrong in (5, b"out", None):
        for call in (bbpe.shard, bbpe.plan_shards):
            with pytest.raises(TypeError, match=f"^folder must be a str or a path, not {type(wrong).__name__}$"):
                call(corpus, wrong, tok)  # type: ignore[arg-type]
        with pytest.raises(TypeError, match=f"^folder must be a str or a path, not {type(wrong).__name__}$"):
            bbpe.plan_count(corpus, wrong, pattern="gpt2")  # type: ignore[arg-type]
