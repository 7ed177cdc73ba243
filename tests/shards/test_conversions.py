"""`convert_shards`: the same ids in every format, in parts that may be killed, moved and repeated."""

import json
import re
import shutil
from concurrent.futures import ThreadPoolExecutor
from hashlib import sha256
from itertools import chain
from pathlib import Path

import numpy as np
import pytest
from id_files import DELIMITED, NAMELESS, WRITERS, datatrove, megatron, nanogpt, olmo, parquet, read
from test_open_shards import EOS, documents, source_of

import bbpe
from bbpe import CorpusError
from bbpe.shards import ids as ids_module
from bbpe.shards.formats import FORMATS
from bbpe.shards.outputs import Output
from bbpe.shards.readers import reader


def written(folder, dtype_of=None):
    """Documents of all parts, as the format's own files have them."""
    plan = bbpe.load_shards(folder).plan
    found = []
    for number in range(len(plan)):
        found += read(plan.stem(number), plan.policy.format, plan.policy.dtype, EOS)
    return found


def contents(folder):
    return {path.name: path.read_bytes() for path in Path(folder).iterdir() if path.name != "plan.json"}


@pytest.mark.parametrize("target", FORMATS)
@pytest.mark.parametrize("form", WRITERS)
def test_every_pair_of_formats(tmp_path, form, target):
    """Empty documents too, where both formats have a place for them."""
    can_be_empty = WRITERS[form][2] and target not in (*DELIMITED, "automodel")
    docs = documents(1, 24, empty=can_be_empty)
    source = source_of(tmp_path / "in", form, docs, eos=EOS)
    done = bbpe.convert_shards(source, tmp_path / "out", format=target, part_size=700, threads=1)
    assert written(tmp_path / "out") == docs
    assert [ids.tolist() for ids in done] == docs
    assert (done.documents, done.tokens) == (len(docs), sum(map(len, docs)))
    assert len(done.plan) > 1
    assert bbpe.verify_shards(tmp_path / "out", sample=1.0) == []
    if form == next(iter(WRITERS)):
        again = bbpe.convert_shards(done, tmp_path / "again", format="megatron")
        assert written(tmp_path / "again") == docs == [ids.tolist() for ids in again]


@pytest.mark.parametrize("target", ["numpy", "llmc", "automodel"])
def test_headers_are_written_first(tmp_path, target, monkeypatch):
    """A file is read again for its digest only where its number of ids was not known: files of several widths."""
    docs, patched = documents(4, empty=False), []
    patch = Output.patch
    monkeypatch.setattr(Output, "patch", lambda self, head: patched.append(len(head)) or patch(self, head))
    megatron(tmp_path / "a", docs, "uint16")
    megatron(tmp_path / "b", docs, "int64")
    for number, (names, expected) in enumerate(((["a"], 0), (["b"], 0), (["b", "a"], 1), (["a", "b"], 1))):
        source = bbpe.open_shards([tmp_path / f"{name}.bin" for name in names], format="megatron", eos=EOS)
        patched.clear()
        done = bbpe.convert_shards(source, tmp_path / f"out{number}", format=target, dtype="uint16", threads=1)
        assert written(tmp_path / f"out{number}") == docs * len(names)
        assert len(patched) == expected
        record = json.loads(done.plan.stem(0).with_suffix(".json").read_text())
        for name, file in record["files"].items():
            assert sha256((done.plan.folder / name).read_bytes()).hexdigest() == file["sha256"]


@pytest.mark.parametrize("target", ["nanogpt", "llmc"])
def test_empty_documents_are_kept_or_counted(tmp_path, target):
    docs = documents(2)
    source = source_of(tmp_path / "in", "megatron", docs, eos=EOS)
    full = [doc for doc in docs if doc]
    kept = bbpe.convert_shards(source, tmp_path / "kept", format=target)
    assert [ids.tolist() for ids in kept] == docs
    left = bbpe.convert_shards(source, tmp_path / "left", format=target, empty="skip")
    assert [ids.tolist() for ids in left] == full == written(tmp_path / "left")
    assert (left.totals.records, left.totals.empty) == (len(docs), len(docs) - len(full))


@pytest.mark.parametrize("target", ["megatron", "nanogpt", "parquet", "olmo"])
def test_bytes_depend_on_the_plan_alone(tmp_path, target):
    """Not on threads, executors, blocks written by other steps, or parts that are there already."""
    docs = documents(3, count=90, empty=False)
    source = source_of(tmp_path / "in", "datatrove", docs, eos=EOS)
    options = {"format": target, "part_size": 900}
    bbpe.convert_shards(source, tmp_path / "one", threads=1, **options)
    bbpe.convert_shards(source, tmp_path / "three", threads=3, **options)
    with ThreadPoolExecutor(2) as pool:
        bbpe.convert_shards(source, tmp_path / "pool", executor=pool, **options)
    plan = bbpe.plan_conversion(source, tmp_path / "parts", **options)
    for number in reversed(range(len(plan))):
        bbpe.shard_part(plan, number)
    bbpe.finish_shards(plan)
    bbpe.convert_shards(source, tmp_path / "again", **options)
    for path in list(tmp_path.glob("again/part-00001.*")):
        path.unlink()
    bbpe.convert_shards(source, tmp_path / "again", **options)
    first = contents(tmp_path / "one")
    assert len(first) > 6
    for name in ("three", "pool", "parts", "again"):
        assert contents(tmp_path / name) == first, name


def test_documents_that_were_kept_without_their_end_are_converted_again(tmp_path):
    np.array([5, 6, EOS, 7, 3], np.uint16).tofile(tmp_path / "cut.bin")
    named = {"format": "nanogpt", "dtype": "uint16", "eos": EOS}
    source = bbpe.open_shards(tmp_path / "cut.bin", **named, on_missing="keep")
    done = bbpe.convert_shards(source, tmp_path / "one", format="megatron")
    for number, given in enumerate((done, bbpe.merge_shards([done, done], tmp_path / "two"))):
        again = bbpe.convert_shards(given, tmp_path / f"again{number}", format="olmo")
        once_more = bbpe.convert_shards(again.plan.folder, tmp_path / f"more{number}", format="megatron")
        assert [ids.tolist() for ids in once_more] == [[5, 6, EOS], [7, 3]] * (number + 1)


@pytest.mark.parametrize("target", ["megatron", "nanogpt"])
@pytest.mark.parametrize("mark", ["eos", "bos"])
def test_long_documents_are_written_in_slices(tmp_path, target, mark, monkeypatch):
    docs = documents(4, most=60, empty=False)
    docs = docs if mark == "eos" else [[doc[-1], *doc[:-1]] for doc in docs]
    source = source_of(tmp_path / "in", "megatron", docs, "int32", **{mark: EOS})
    whole = bbpe.convert_shards(source, tmp_path / "whole", format=target, dtype="uint16")
    monkeypatch.setattr(ids_module, "_SLICE", 7)
    monkeypatch.setattr(reader, "BLOCK", 7)
    sliced = bbpe.convert_shards(source, tmp_path / "sliced", format=target, dtype="uint16")
    assert [ids.tolist() for ids in sliced] == docs == [ids.tolist() for ids in whole]
    for name, data in contents(tmp_path / "whole").items():
        assert name.endswith(".json") or data == contents(tmp_path / "sliced")[name]


def test_ids_of_documents_and_masks_are_kept(tmp_path):
    import pyarrow as pa

    docs = documents(5, count=40)
    masks = [[number % 2 for number in range(len(doc))] for doc in docs]
    keys = [f"key-{number}" for number in range(len(docs))]
    parquet(tmp_path / "a", docs, m=pa.array(masks, pa.list_(pa.uint8())), key=pa.array(keys))
    source = bbpe.open_shards(tmp_path / "a.parquet", format="parquet", id_field="key", masks="m")
    first = bbpe.convert_shards(source, tmp_path / "one", format="olmo", part_size=300)
    second = bbpe.convert_shards(first, tmp_path / "two", format="parquet", part_size=300)
    third = bbpe.convert_shards(second, tmp_path / "three", format="olmo")
    for done in (first, second, third):
        stems = [done.plan.stem(number) for number in range(len(done.plan))]
        assert [key for stem in stems for key in done.plan.policy.files.keys(stem)] == keys
        assert [done.mask(number).tolist() for number in range(len(docs))] == masks
        assert bbpe.verify_shards(done, sample=1.0) == []
    merged = bbpe.merge_shards([first, first], tmp_path / "merged", shuffle=3)
    assert sorted(ids.tolist() for ids in merged) == sorted(docs + docs)
    with pytest.raises(ValueError, match="the source has ids of documents; the format 'megatron' has no place"):
        bbpe.plan_conversion(first, tmp_path / "no", format="megatron")
    only_masks = bbpe.open_shards(tmp_path / "a.parquet", format="parquet", masks="m", eos=EOS)
    with pytest.raises(ValueError, match="the source has masks; the format 'numpy' has no place for them, 'megatron',"):
        bbpe.plan_conversion(only_masks, tmp_path / "no", format="numpy", dtype="uint16")
    megatron_masks = bbpe.convert_shards(only_masks, tmp_path / "m", format="megatron")
    back = bbpe.open_shards(tmp_path / "m", format="megatron")
    assert [one for block in back._open(0).blocks() for one in block.masks.tolist()] == list(chain.from_iterable(masks))
    assert [megatron_masks.mask(number).tolist() for number in range(len(docs))] == masks


@pytest.mark.parametrize(
    ("dtype", "size", "target", "asked", "expected"),
    [
        ("uint16", None, "megatron", "auto", "uint16"), ("uint16", 65500, "megatron", "auto", "int32"),
        ("int64", None, "megatron", "auto", "int32"), ("int64", None, "nanogpt", "auto", "uint32"),
        ("int64", 1000, "nanogpt", "auto", "uint16"), ("int64", None, "nanogpt", "uint16", "uint16"),
        ("uint8", None, "datatrove", "auto", "uint16"), ("uint16", None, "parquet", "auto", "int32"),
    ],
)  # fmt: skip
def test_dtypes(tmp_path, dtype, size, target, asked, expected):
    megatron(tmp_path / "a", [[1, 2, EOS]], dtype)
    source = bbpe.open_shards(tmp_path / "a", format="megatron", eos=EOS, vocab_size=size)
    done = bbpe.convert_shards(source, tmp_path / "out", format=target, dtype=asked)
    assert done[0].dtype == expected == done.plan.policy.dtype
    assert done[0].tolist() == [1, 2, EOS]


def test_what_is_too_large_or_negative_is_named(tmp_path):
    wrong = [
        (70000, {}, {"dtype": "uint16"}, "document 1 has the id 70000; the dtype uint16 has 65,536 ids: ask for"),
        (900, {"vocab_size": 900}, {}, "document 1 has the id 900; the vocabulary has 900 ids: name the"),
        (-3, {}, {}, "document 1 has the id -3; expected ids from 0 on"),
        (1 << 40, {}, {}, "document 1 has the id 1099511627776; the dtype uint32 has 4,294,967,296 ids"),
        (1 << 31, {}, {"format": "parquet"}, "document 1 has the id 2147483648; the dtype int32 has 2,147,483,648 ids"),
        (-(1 << 63), {}, {}, "document 1 has the id -9223372036854775808; expected ids from 0 on"),
    ]
    for number, (token, opened, options, message) in enumerate(wrong):
        megatron(tmp_path / f"a{number}", [[1, EOS], [5, token, EOS], [EOS]], "int64")
        source = bbpe.open_shards(tmp_path / f"a{number}", format="megatron", eos=EOS, **opened)
        with pytest.raises(CorpusError, match=re.escape(message)):
            bbpe.convert_shards(source, tmp_path / f"out{number}", **{"format": "nanogpt", **options})


def test_marks_are_checked_and_kept(tmp_path):
    docs = [[1, 5, 2], [1, 2], [], [1, 6, 2]]
    megatron(tmp_path / "a", docs)
    done = bbpe.convert_shards(
        bbpe.open_shards(tmp_path / "a", format="megatron", bos=1, eos=2), tmp_path / "ok", format="llmc"
    )
    assert [ids.tolist() for ids in done] == docs
    for name, token, number in (("eos", 5, 0), ("bos", 2, 0)):
        with pytest.raises(CorpusError, match=rf"a\.bin: document {number} does not .* with {name}, {token};"):
            bbpe.convert_shards(
                bbpe.open_shards(tmp_path / "a", format="megatron", **{name: token}), tmp_path / name, format="olmo"
            )
    kept = bbpe.open_shards(tmp_path / "a", format="megatron", eos=5, on_missing="keep")
    assert [ids.tolist() for ids in bbpe.convert_shards(kept, tmp_path / "kept", format="olmo")] == docs
    with pytest.raises(ValueError, match="on_missing is 'keep'; the format 'numpy' keeps no ends of documents but for"):
        bbpe.plan_conversion(kept, tmp_path / "no", format="numpy")
    with pytest.raises(ValueError, match="the source has no eos and no bos; the format 'nanogpt' keeps no ends"):
        bbpe.plan_conversion(bbpe.open_shards(tmp_path / "a", format="megatron"), tmp_path / "no", format="nanogpt")


def test_a_mark_within_a_document_needs_a_format_with_ends(tmp_path):
    docs = [[1, 2], [3, 2, 4, 2], [2]]
    megatron(tmp_path / "a", docs)
    source = bbpe.open_shards(tmp_path / "a", format="megatron", eos=2)
    assert [ids.tolist() for ids in bbpe.convert_shards(source, tmp_path / "out", format="olmo")] == docs
    with pytest.raises(CorpusError, match=r"a\.bin: document 1 has eos, 2, within it; the format 'nanogpt' would end"):
        bbpe.convert_shards(source, tmp_path / "no", format="nanogpt")


def test_a_cut_document_is_an_error_or_kept(tmp_path):
    nanogpt(tmp_path / "a", [[1, 0], [2, 3]])
    options = {"format": "nanogpt", "dtype": "uint16", "eos": 0}
    with pytest.raises(CorpusError, match="the last document, of ids 2 to 4, does not end with eos, 0; name"):
        bbpe.convert_shards(bbpe.open_shards(tmp_path / "a", **options), tmp_path / "no", format="megatron")
    source = bbpe.open_shards(tmp_path / "a", on_missing="keep", **options)
    done = bbpe.convert_shards(source, tmp_path / "out", format="megatron")
    assert [ids.tolist() for ids in done] == [[1, 0], [2, 3]]


def test_files_that_change_are_found(tmp_path):
    docs = documents(8, count=50, empty=False)
    datatrove(tmp_path / "a", docs)
    source = bbpe.open_shards(tmp_path / "a", format="datatrove")
    plan = bbpe.plan_conversion(source, tmp_path / "out", format="megatron", part_size=500)
    bbpe.shard_part(plan, 0)
    ids, index = tmp_path / "a.ds", tmp_path / "a.ds.index"
    data, ends = ids.read_bytes(), index.read_bytes()
    index.write_bytes(ends[:-16] + ends[-8:] + ends[-8:])
    with pytest.raises(CorpusError, match=r"a\.ds: the file has other contents of the same size since the"):
        bbpe.shard_part(plan, 1)
    index.write_bytes(ends)
    with pytest.raises(CorpusError, match="was written to since the plan was made; call it with the same argum"):
        bbpe.shard_part(plan, 1)
    done = bbpe.convert_shards(source, tmp_path / "out", format="megatron", part_size=500)
    assert [each.tolist() for each in done] == docs
    ids.write_bytes(data[:2] + bytes([data[2] ^ 1]) + data[3:])
    with pytest.raises(CorpusError, match=r"the folder has another plan, with file .*a\.ds of .* with other"):
        bbpe.convert_shards(source, tmp_path / "out", format="megatron", part_size=500)
    ids.write_bytes(data + b"\0\0")
    with pytest.raises(CorpusError, match="the documents end at id"):
        bbpe.convert_shards(source, tmp_path / "out", format="megatron", part_size=500)


def test_other_arguments_on_the_same_folder_are_refused(tmp_path):
    olmo(tmp_path / "a", documents(9), keys=None)
    source = bbpe.open_shards(tmp_path / "a", format="olmo", dtype="uint16")
    bbpe.convert_shards(source, tmp_path / "out", format="megatron")
    other = bbpe.open_shards(tmp_path / "a", format="olmo", dtype="uint16", eos=EOS)
    with pytest.raises(CorpusError, match=r"the folder has another plan, with .*eos None and 0.*; use another"):
        bbpe.convert_shards(other, tmp_path / "out", format="megatron")
    with pytest.raises(CorpusError, match="the folder of the shards"):
        bbpe.convert_shards(source, tmp_path, format="megatron")


def test_the_tokenizer_is_kept_where_it_is_named(tmp_path, tok):
    docs = [[*tok.encode("low lower"), tok.token_to_id("</s>")]]
    megatron(tmp_path / "a", docs)
    source = bbpe.open_shards(tmp_path / "a", format="megatron", tokenizer=tok, eos="</s>")
    done = bbpe.convert_shards(source, tmp_path / "known", format="nanogpt")
    known = bbpe.load_shards(tmp_path / "known").tokenizer
    assert done.plan.identity["fingerprint"] == tok.fingerprint == known.fingerprint
    assert bbpe.verify_shards(done, tok, sample=1.0) == []
    unknown = bbpe.convert_shards(bbpe.open_shards(tmp_path / "a", format="megatron"), tmp_path / "not", format="olmo")
    assert not (tmp_path / "not/tokenizer.bbpe").exists()
    with pytest.raises(CorpusError, match="the shards were converted without a tokenizer; convert them again"):
        unknown.tokenizer  # noqa: B018
    assert bbpe.verify_shards(unknown, tok, sample=0) == [
        f"{tmp_path / 'not'}: the tokenizer is {tok.fingerprint}, and was None"
    ]
    again = bbpe.merge_shards([unknown, unknown], tmp_path / "merged")
    assert [ids.tolist() for ids in again] == docs + docs


def test_shards_of_texts_are_a_source(tmp_path, tok):
    Path(tmp_path, "a.jsonl").write_text('{"text": "low lower"}\n{"text": ""}\n{"text": "lowest"}\n')
    for target in FORMATS:
        made = bbpe.shard(tmp_path / "a.jsonl", tmp_path / target, tok, format=target, eos="</s>", empty="keep")
        for source in (made, str(tmp_path / target), bbpe.open_shards(made, format="bbpe")):
            done = bbpe.convert_shards(source, tmp_path / f"{target}-out", format="megatron")
            assert [ids.tolist() for ids in done] == [ids.tolist() for ids in made]
            assert done.tokenizer.fingerprint == tok.fingerprint


def test_plans_of_texts_keep_their_bytes(tmp_path, tok):
    """A plan that was stored before shards were a source is read as it was."""
    Path(tmp_path, "a.jsonl").write_text('{"text": "low lower"}\n')
    plan = bbpe.plan_shards(tmp_path / "a.jsonl", tmp_path / "out", tok)
    policy = json.loads((tmp_path / "out/plan.json").read_text())["policy"]
    assert "reading" not in policy
    assert plan.policy.reading is None


def test_lengths_do_not_overflow(tmp_path):
    """The ends of documents are exact beyond 2^31 and 2^32 ids, though no file of this test has so many."""
    lengths = np.full(5, (1 << 31) - 1, np.int32)
    listed = tmp_path / "part-00000.lens"
    lengths.tofile(listed)
    from bbpe.shards.readers.own import _Sums

    sums = _Sums(np.fromfile(listed, np.int32))
    assert [sums.before(number) for number in range(6)] == [number * ((1 << 31) - 1) for number in range(6)]


def test_moved_folders_are_converted_on(tmp_path):
    docs = documents(11)
    source = source_of(tmp_path / "in", "nanogpt", docs := [doc for doc in docs if doc], eos=EOS)
    plan = bbpe.plan_conversion(source, tmp_path / "out", format="megatron", part_size=300)
    bbpe.shard_part(plan, 0)
    shutil.move(tmp_path / "out", tmp_path / "moved")
    done = bbpe.convert_shards(source, tmp_path / "moved", format="megatron", part_size=300)
    assert [ids.tolist() for ids in done] == docs


def test_what_is_no_source_is_named(tmp_path):
    with pytest.raises(TypeError, match="source must be what open_shards returns, or a folder of shards that"):
        bbpe.convert_shards([tmp_path], tmp_path / "out", format="megatron")
    assert set(NAMELESS) < set(WRITERS)
