"""A plan of shards: what is checked before work begins, and what may change until a run goes on."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from shard_lines import lines

import bbpe
from bbpe.corpus.files import file_of
from bbpe.corpus.opened import version_of

EOS = "</s>"
#: More than the ends of a file by which it is known again.
LONG = 400_000


@pytest.fixture(scope="module")
def tok() -> bbpe.Tokenizer:
    return bbpe.train_from_iterator(["low lower lowest"] * 3, 270, special_tokens=[EOS])


def exchanged(path: Path, old: str, new: str) -> None:
    """Replace a text at one place by another of equal size, and keep the time of change."""
    times, data = path.stat(), path.read_text()
    assert data.count(old) == 1
    assert len(old) == len(new)
    path.write_text(data.replace(old, new))
    os.utime(path, ns=(times.st_atime_ns, times.st_mtime_ns))


def touched(path: Path) -> None:
    os.utime(path, ns=(0, path.stat().st_mtime_ns + 1_000_000_000))


@pytest.mark.parametrize("place", [0, 1, 2])
def test_a_file_exchanged_for_one_of_equal_size_and_time_is_noticed(
    place: int, tmp_path: Path, tok: bbpe.Tokenizer
) -> None:
    texts = ["low"] * 3
    texts[place] = "loo"
    path = lines(tmp_path / "a.jsonl", texts)
    plan = bbpe.plan_shards(path, tmp_path / "out", tok)
    exchanged(path, "loo", "owl")
    with pytest.raises(bbpe.CorpusError, match=r"a\.jsonl: the file has other contents of the same size since"):
        bbpe.shard_part(plan, 0)
    bbpe.shard(path, tmp_path / "out", tok)
    exchanged(path, "owl", "loo")
    with pytest.raises(bbpe.CorpusError, match=r"another plan, with file .*a\.jsonl of \d+ bytes with other contents"):
        bbpe.shard(path, tmp_path / "out", tok)


@pytest.mark.parametrize("kind", ["jsonl", "txt", "line", "gz", "parquet"])
def test_a_run_goes_on_after_files_were_copied(kind: str, tmp_path: Path, tok: bbpe.Tokenizer) -> None:
    """The times of files are others, and parts that are done have the texts that the files have now."""
    path, options = corpus_of(kind, tmp_path)
    whole = bbpe.shard(path, tmp_path / "whole", tok, eos=EOS, **options)
    plan = bbpe.plan_shards(path, tmp_path / "out", tok, eos=EOS, **options)
    assert len(plan) > 1
    bbpe.shard_part(plan, 1)
    for file in sorted(tmp_path.glob("a*.*")):
        touched(file)
    with pytest.raises(bbpe.CorpusError, match="was written to since the plan was made; call it with the same"):
        bbpe.shard_part(plan, 0)
    done = bbpe.shard(path, tmp_path / "out", tok, eos=EOS, **options)
    assert [ids.tolist() for ids in done] == [ids.tolist() for ids in whole]
    assert bbpe.verify_shards(tmp_path / "out", sample=1) == []


def corpus_of(kind: str, folder: Path) -> tuple[list[Path], dict[str, Any]]:
    texts = [f"low {number:06} lower lowest" for number in range(LONG // 30)]
    options: dict[str, Any] = {"part_size": LONG // 3}
    if kind == "jsonl":
        return [lines(folder / "a.jsonl", texts)], options
    if kind == "parquet":
        pa, parquet = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
        parquet.write_table(pa.table({"text": texts}), folder / "a.parquet", row_group_size=2000, compression=None)
        return [folder / "a.parquet"], options
    if kind == "gz":
        import gzip

        for number in range(2):
            text = "".join(json.dumps({"text": text}) + "\n" for text in texts[number::2])
            (folder / f"a{number}.jsonl.gz").write_bytes(gzip.compress(text.encode(), 1))
        return sorted(folder.glob("a*.gz")), {**options, "part_size": 1000}
    if kind == "line":
        (folder / "a.txt").write_text("\n".join(texts))
        return [folder / "a.txt"], {**options, "document": "line"}
    for number in range(3):
        (folder / f"a{number}.txt").write_text("\n".join(texts[number::3]))
    return sorted(folder.glob("a*.txt")), options


def test_a_file_that_was_edited_in_its_middle_is_not_taken_for_a_copy(tmp_path: Path, tok: bbpe.Tokenizer) -> None:
    (path,), options = corpus_of("jsonl", tmp_path)
    plan = bbpe.plan_shards(path, tmp_path / "out", tok, **options)
    for number in range(len(plan)):
        bbpe.shard_part(plan, number)
    number = LONG // 60
    exchanged(path, f"{number:06}", f"{number:05}x")
    touched(path)
    with pytest.raises(bbpe.CorpusError, match=r"a\.jsonl: the file was written to since part \d was made, which has"):
        bbpe.shard(path, tmp_path / "out", tok, **options)


def test_counting_goes_on_after_a_copy_and_notices_an_exchange(tmp_path: Path) -> None:
    path = tmp_path / "a.txt"
    path.write_text("low loo lower")
    first, version = bbpe.count(path, pattern="gpt2"), version_of(file_of(path))
    plan = bbpe.plan_count(path, tmp_path / "parts", pattern="gpt2")
    touched(path)
    # a checkpoint goes by it, too
    assert version_of(file_of(path)) == version
    bbpe.count_part(plan, 0)
    assert list(bbpe.sum_counts(bbpe.plan_count(path, tmp_path / "parts", pattern="gpt2").folder)) == list(first)
    plan = bbpe.plan_count(path, tmp_path / "others", pattern="gpt2")
    exchanged(path, "loo", "owl")
    assert version_of(file_of(path)) != version
    with pytest.raises(bbpe.CorpusError, match="the file has changed since the plan was made"):
        bbpe.count_part(plan, 0)


def test_a_large_file_is_known_by_its_ends_and_its_time(tmp_path: Path) -> None:
    (path,), _ = corpus_of("jsonl", tmp_path)
    version = version_of(file_of(path))
    for old, new in (('"low 000000', '"owl 000000'), (f"{LONG // 30 - 1:06} lower", f"{LONG // 30 - 1:06} lowre")):
        exchanged(path, old, new)
        assert version_of(file_of(path)) != version
        exchanged(path, new, old)
    assert version_of(file_of(path)) == version
    touched(path)
    assert version_of(file_of(path)) != version


def test_parts_that_are_not_summed_up_are_not_missing(tmp_path: Path, tok: bbpe.Tokenizer) -> None:
    (tmp_path / "a.txt").write_text("low lower")
    plan = bbpe.plan_shards(tmp_path / "a.txt", tmp_path / "out", tok)
    for number in range(len(plan)):
        bbpe.shard_part(plan, number)
    with pytest.raises(bbpe.CorpusError, match=r"the parts are not summed up; run .* bbpe\.finish_shards"):
        bbpe.load_shards(plan.folder)


def test_a_plan_without_a_part_is_replaced(tmp_path: Path, tok: bbpe.Tokenizer) -> None:
    path = lines(tmp_path / "a.jsonl", ["low", "lower"])
    first = bbpe.plan_shards(path, tmp_path / "out", tok, eos=EOS)
    done = bbpe.shard(path, tmp_path / "out", tok)
    assert (len(done), done.plan.policy.eos) == (2, None)
    with pytest.raises(bbpe.CorpusError, match="is of another plan"):
        bbpe.shard_part(first, 0)
    (tmp_path / "out" / "part-00000.json").unlink()
    with pytest.raises(bbpe.CorpusError, match="another call has replaced the plan; use another folder"):
        bbpe.shard_part(first, 0)


def tokens_of(files: Any, _: object, tok: bbpe.Tokenizer, **options: Any) -> bbpe.TokenCounts:
    return bbpe.count_tokens(files, tok, **options)


@pytest.mark.parametrize("call", [bbpe.plan_shards, bbpe.shard, tokens_of])
def test_columns_of_parquet_files_are_checked_before_work(call: Any, tmp_path: Path, tok: bbpe.Tokenizer) -> None:
    pa, parquet = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
    for number, column in enumerate(("text", "text", "content")):
        parquet.write_table(pa.table({"n": [1], column: ["low"]}), tmp_path / f"{number}.parquet")
    (tmp_path / "3.parquet").write_bytes(b"PAR1 and no more")
    out = tmp_path / "out"
    for files, options, said in (
        ("?.parquet", {}, r"2\.parquet: no column 'text', only 'n', 'content'"),
        ("[01].parquet", {"text_field": "n"}, r"0\.parquet: column 'n' is int64; expected string"),
        ("[013].parquet", {}, r"3\.parquet: expected a Parquet file"),
    ):
        with pytest.raises(bbpe.CorpusError, match=said):
            call(str(tmp_path / files), out, tok, **options)
    assert not out.exists()
    if call is not bbpe.plan_shards:
        return
    with pytest.raises(bbpe.CorpusError, match=r"0\.parquet: no column 'key', as id_field= names it"):
        bbpe.plan_shards(str(tmp_path / "0.parquet"), out, tok, format="parquet", id_field="key")
    with pytest.raises(bbpe.CorpusError, match=r"2\.parquet: no column 'text'"):
        bbpe.plan_count(str(tmp_path / "[012].parquet"), tmp_path / "counts", pattern="gpt2")


OTHERS: dict[str, Callable[[Path], Any]] = {
    "folder": lambda folder: folder,
    "deep": lambda folder: [folder.parent / "none.txt", str(folder)],
    "glob": lambda folder: str(folder / "**" / "*.json*"),
    "any": lambda folder: str(folder / "**"),
    "steps": lambda folder: str(folder / "*" / "*"),
    "dots": lambda folder: f"{folder}/sub/../**/*.jso[n]*",
}


@pytest.mark.parametrize("files", OTHERS)
def test_a_folder_in_the_corpus_is_refused_before_work(files: str, tmp_path: Path, tok: bbpe.Tokenizer) -> None:
    corpus = tmp_path / "corpus"
    (corpus / "sub").mkdir(parents=True)
    (tmp_path / "none.txt").write_text("low")
    lines(corpus / "sub" / "a.jsonl", ["low"])
    given = OTHERS[files](corpus)
    for call in (bbpe.shard, bbpe.plan_shards):
        with pytest.raises(bbpe.CorpusError, match=r"out: the folder of the shards is in the corpus, .*another folder"):
            call(given, corpus / "out", tok)
    with pytest.raises(bbpe.CorpusError, match="is in the corpus"):
        bbpe.plan_count(given, corpus / "out", pattern="gpt2")
    assert not (corpus / "out").exists()
    # what would not be read again is no fault
    assert len(bbpe.shard(str(corpus / "sub" / "*.jsonl"), corpus / "out", tok)) == 1
    assert len(bbpe.shard(str(corpus / "sub" / "*.jsonl"), corpus / "out", tok)) == 1


def test_a_hidden_folder_may_be_in_the_corpus(tmp_path: Path, tok: bbpe.Tokenizer) -> None:
    lines(tmp_path / "a.jsonl", ["low"])
    for _ in range(2):
        assert len(bbpe.shard(tmp_path, tmp_path / ".out", tok)) == 1


def test_texts_in_place_of_files_are_refused_with_the_way_out(tmp_path: Path, tok: bbpe.Tokenizer) -> None:
    for texts in (iter(["see my eyes first"]), ["see my eyes first"], ({"text": "low"} for _ in range(2)), iter([7])):
        with pytest.raises(bbpe.CorpusError, match=r"is no file; .*write texts to one, such as a \.jsonl file"):
            bbpe.shard(texts, tmp_path / "out", tok)  # type: ignore[arg-type]
    with pytest.raises(FileNotFoundError):
        bbpe.shard(iter(["nosuch.txt"]), tmp_path / "out", tok)
    path = lines(tmp_path / "a.jsonl", ["low"])
    assert len(bbpe.shard(iter([path]), tmp_path / "out", tok)) == 1


def test_a_name_with_blanks_is_not_taken_for_a_text(tok: bbpe.Tokenizer, tmp_path: Path) -> None:
    named = tmp_path / "my corpus.txt"
    named.write_text("see my eyes")
    with pytest.raises(FileNotFoundError) as caught:
        bbpe.plan_shards([str(named), str(tmp_path / "missing.txt")], tmp_path / "out", tok)
    assert str(caught.value.filename) == str(tmp_path / "missing.txt")


def test_a_misspelt_option_names_the_function_that_was_called(tmp_path: Path, tok: bbpe.Tokenizer) -> None:
    path = lines(tmp_path / "a.jsonl", ["low"])
    calls: dict[str, Callable[..., object]] = {
        "shard": lambda **options: bbpe.shard(path, tmp_path / "out", tok, **options),
        "plan_shards": lambda **options: bbpe.plan_shards(path, tmp_path / "out", tok, **options),
        "count": lambda **options: bbpe.count(path, pattern="gpt2", **options),
        "plan_count": lambda **options: bbpe.plan_count(path, tmp_path / "out", pattern="gpt2", **options),
        "count_from_iterator": lambda **options: bbpe.count_from_iterator(["low"], pattern="gpt2", **options),
    }
    for name, call in calls.items():
        for wrong in ("max_tokens", "part_sise", "thread"):
            with pytest.raises(TypeError, match=rf"^{name}\(\) got an unexpected keyword argument '{wrong}'"):
                call(**{wrong: 1})
    with pytest.raises(TypeError, match="did you mean 'part_size'"):
        calls["shard"](part_sise=1)
    assert not (tmp_path / "out").exists()


def test_shards_are_verified_without_their_corpus(tmp_path: Path, tok: bbpe.Tokenizer) -> None:
    path = lines(tmp_path / "a.jsonl", ["low"] * 9)
    bbpe.shard(path, tmp_path / "out", tok)
    path.unlink()
    assert bbpe.verify_shards(tmp_path / "out", sample=0) == []
    (found,) = bbpe.verify_shards(tmp_path / "out")
    assert "part-00000: the part cannot be encoded again" in found
    assert "a.jsonl of the corpus is gone" in found
    assert "sample=0 checks without it" in found
    data = bytearray((tmp_path / "out" / "part-00000.bin").read_bytes())
    data[3] ^= 1
    (tmp_path / "out" / "part-00000.bin").write_bytes(data)
    (found,) = bbpe.verify_shards(tmp_path / "out", sample=0)
    assert "the file was changed" in found
    with pytest.raises(ValueError, match="sample is -1; expected 0, or more than 0 and at most 1"):
        bbpe.verify_shards(tmp_path / "out", sample=-1)


@pytest.mark.parametrize("document", ["file", "line"])
@pytest.mark.parametrize("kind", ["jsonl", "txt"])
def test_unknown_tokens_are_counted(document: Any, kind: str, tmp_path: Path) -> None:
    tok = bbpe.train_from_iterator(["see my dogs"] * 3, 40, model="wordpiece", special_tokens=[])
    assert tok.unk_token_id is not None
    texts = ["\u6771\u4eac \u4eba", "see my dogs", "see \u4eba"] * 3
    if kind == "jsonl":
        path = lines(tmp_path / "a.jsonl", texts)
    else:
        path = tmp_path / "a.txt"
        path.write_text("\n".join(texts))
    done = bbpe.shard(path, tmp_path / "out", tok, format="parquet", document=document)
    unknown = sum(ids.tolist().count(tok.unk_token_id) for ids in done)
    assert done.totals.unknown == unknown > 0
    assert f"; {unknown} unknown tokens" in str(done.totals)
    record = json.loads((tmp_path / "out" / "part-00000.json").read_text())
    manifest = json.loads((tmp_path / "out" / "manifest.json").read_text())
    assert record["unknown"] == manifest["unknown"] == unknown
    counted = bbpe.count_tokens(path, tok, document=document)
    assert counted.unknown == unknown
    whole = bbpe.train_from_iterator(texts, 270, special_tokens=["</s>"])  # bytes spell every text
    totals = bbpe.shard(path, tmp_path / "whole", whole, eos="</s>", document=document).totals
    assert (totals.unknown, bbpe.count_tokens(path, whole, document=document).unknown) == (0, 0)
    assert "unknown" not in str(totals)
    assert f"{unknown} of them unknown" in str(counted)
    merged = bbpe.merge_shards([tmp_path / "out"] * 2, tmp_path / "twice")
    assert merged.totals.unknown == 2 * unknown
    # ends of documents are no unknown tokens, whatever their id
    around = bbpe.shard(path, tmp_path / "ends", tok, document=document, eos=tok.unk_token_id, bos=tok.unk_token_id)
    assert around.totals.unknown == unknown


def test_a_tokenizer_of_bytes_has_no_unknown_tokens(tmp_path: Path, tok: bbpe.Tokenizer) -> None:
    done = bbpe.shard(lines(tmp_path / "a.jsonl", ["low", "\u4eba"]), tmp_path / "out", tok, eos=EOS)
    assert done.totals.unknown == 0
    assert "unknown" not in str(done.totals)


@pytest.mark.parametrize("suffix", ["jsonl", "jsonl.gz", "json"])
def test_a_plan_looks_at_the_first_lines(suffix: str, tmp_path: Path) -> None:
    """Of each file, as of the columns of Parquet files; lines that may be skipped are none of its business."""
    import gzip

    for name, key in (("a", "text"), ("b", "body")):
        data = b"".join(json.dumps({key: "see my", "id": number}).encode() + b"\n" for number in range(3))
        (tmp_path / f"{name}.{suffix}").write_bytes(gzip.compress(data) if suffix.endswith("gz") else data)
    tok = bbpe.train_from_iterator(["see my eyes"], 258)
    files, out = [tmp_path / f"a.{suffix}", tmp_path / f"b.{suffix}"], tmp_path / "out"
    problem = "line 1: expected an object with the field 'text', found one with 'body', 'id'"
    for call in (bbpe.plan_shards, bbpe.shard):
        with pytest.raises(bbpe.CorpusError, match=problem):
            call(files, out, tok)
        assert not out.exists()
    with pytest.raises(bbpe.CorpusError, match="expected an object with the field 'key', as id_field="):
        bbpe.plan_shards(files[:1], out, tok, format="olmo", id_field="key")
    with pytest.raises(bbpe.CorpusError, match=problem):
        bbpe.plan_count(files, out, pattern="gpt2")
    assert not out.exists()
    assert bbpe.shard(files, out, tok, on_error="skip").totals.refused == 3


def test_columns_are_checked_before_texts_are_counted(tmp_path: Path) -> None:
    pa = pytest.importorskip("pyarrow")
    import pyarrow.parquet as pq

    (tmp_path / "a.jsonl").write_text('{"text": "see my"}\n{broken\n')
    pq.write_table(pa.table({"body": ["see"]}), tmp_path / "b.parquet")
    with pytest.raises(bbpe.CorpusError, match=r"b\.parquet: no column 'text', only 'body'"):
        bbpe.count([tmp_path / "a.jsonl", tmp_path / "b.parquet"], pattern="gpt2")
