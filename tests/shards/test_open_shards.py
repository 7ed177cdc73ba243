"""`open_shards`: files of ids that others wrote, by writers that follow the layouts alone."""

import pickle
import re
import struct
from itertools import chain
from pathlib import Path

import numpy as np
import pytest
from id_files import DELIMITED, NAMELESS, WRITERS, automodel, datatrove, litdata, megatron, nanogpt, olmo, parquet
from id_files import mds as write_mds
from id_files import numpy as write_numpy

import bbpe
from bbpe import CorpusError
from bbpe.shards import file_ids
from bbpe.shards.readers import reader

EOS = 0
CASES = [(form, dtype) for form, (_, dtypes, _) in WRITERS.items() for dtype in dtypes]


def documents(seed, count=60, most=40, *, empty=True, ids=100):
    """Random documents that end with EOS; some have many ids, and some none."""
    rng = np.random.default_rng(seed)
    lengths = rng.integers(0 if empty else 1, most, count)
    lengths[rng.integers(0, count)] = 9 * most
    return [[*rng.integers(1, ids, max(length - 1, 0)).tolist(), EOS][: length or 0] for length in lengths.tolist()]


def source_of(folder, form, docs, dtype="uint16", **options):
    Path(folder).mkdir(exist_ok=True)
    WRITERS[form][0](f"{folder}/some", docs, dtype)
    named = {"dtype": dtype} if form in NAMELESS else {}
    eos = {"eos": EOS} if form in DELIMITED else {}
    return bbpe.open_shards(folder, format=form, **{**named, **eos, **options})


@pytest.mark.parametrize(("form", "dtype"), CASES)
@pytest.mark.parametrize("block", [5, 64, 1 << 20])
def test_documents_are_those_that_were_written(tmp_path, form, dtype, block, monkeypatch):
    for name in ("reader", "packed", "rows", "own"):
        monkeypatch.setattr(f"bbpe.shards.readers.{name}.BLOCK", block)
    monkeypatch.setattr(reader, "DOCUMENTS", max(block // 8, 1))
    docs = documents(block, 30, empty=WRITERS[form][2])
    source = source_of(tmp_path / "in", form, docs, dtype)
    assert [ids.tolist() for ids in source] == docs
    assert (len(source), source.documents, source.tokens) == (len(docs), len(docs), sum(map(len, docs)))
    assert [source[number].tolist() for number in range(-len(docs), len(docs))] == docs + docs
    assert [ids.tolist() for ids in source[3:9:2]] == docs[3:9:2]
    ids, lengths = source.part(0)
    assert ids.tolist() == list(chain.from_iterable(docs))
    assert lengths.tolist() == [len(doc) for doc in docs]
    assert next(iter(source)).dtype == np.dtype(dtype)
    again = pickle.loads(pickle.dumps(source))
    assert [ids.tolist() for ids in again] == docs


@pytest.mark.parametrize("form", WRITERS)
@pytest.mark.parametrize("size", [1, 50, 333])
def test_cuts_divide_documents(tmp_path, form, size):
    """Ranges of a file give the documents of the whole, in order, and each begins with a document."""
    docs = documents(size, empty=WRITERS[form][2])
    source = source_of(tmp_path / "in", form, docs)
    file = source._open(0)
    cuts = [stop for stop, _ in file.cuts(size)]
    assert cuts == sorted(set(cuts))
    found, positions = [], [position for _, position in file.cuts(size)]
    for start, stop in zip([0, *cuts], [*cuts, None], strict=True):
        for block in file.blocks(start, stop):
            ends = np.cumsum(block.lengths).tolist()
            found += [block.ids[a:b].tolist() for a, b in zip([0, *ends[:-1]], ends, strict=True)]
    assert found == docs
    assert positions == sorted(set(positions))
    assert len(cuts) > (form != "parquet") * (size < 333)


@pytest.mark.parametrize("form", DELIMITED)
def test_documents_that_begin_with_bos(tmp_path, form):
    docs = [[1, *doc[:-1]] for doc in documents(3, empty=False)]
    docs = [[doc[0], *(token + 1 for token in doc[1:])] for doc in docs]
    source = source_of(tmp_path / "in", form, docs, eos=None, bos=1)
    assert [ids.tolist() for ids in source] == docs
    found = []
    cuts = [stop for stop, _ in source._open(0).cuts(40)]
    for start, stop in zip([0, *cuts], [*cuts, None], strict=True):
        found += [length for block in source._open(0).blocks(start, stop) for length in block.lengths.tolist()]
    assert found == [len(doc) for doc in docs]


def test_documents_of_several_sequences_stay_whole(tmp_path):
    docs = documents(4)
    megatron(tmp_path / "a", docs, cut=3)
    assert [ids.tolist() for ids in bbpe.open_shards(tmp_path / "a", format="megatron")] == docs


def test_names_stand_for_files_in_natural_order(tmp_path):
    for number in (10, 9, 1):
        megatron(tmp_path / f"a_{number}", [[number]])
    for files in (tmp_path, f"{tmp_path}/*", f"{tmp_path}/a_*.bin"):
        source = bbpe.open_shards(files, format="megatron")
        assert [path.name for path in source.files] == ["a_1.bin", "a_9.bin", "a_10.bin"]
    given = [tmp_path / "a_10.bin", tmp_path / "a_9"]
    assert [ids.tolist() for ids in bbpe.open_shards(given, format="megatron")] == [[10], [9]]


def test_lists_of_files_are_followed(tmp_path):
    litdata(tmp_path / "chunk-0-0", [[1, 2]])
    litdata(tmp_path / "chunk-0-1", [[3]])
    text = (tmp_path / "index.json").read_text().replace('"chunks": [', '"chunks": [{"filename": "chunk-0-0.bin"}, ')
    (tmp_path / "index.json").write_text(text)
    assert [ids.tolist() for ids in bbpe.open_shards(tmp_path, format="litdata")] == [[1, 2], [3]]
    (tmp_path / "chunk-0-1.bin").unlink()
    with pytest.raises(CorpusError, match=r"index\.json: the file 'chunk-0-1\.bin' that it lists is not there"):
        bbpe.open_shards(tmp_path, format="litdata")


@pytest.mark.parametrize("kind", ["ndarray", "bytes"])
def test_columns_of_mds(tmp_path, kind):
    docs = documents(5, empty=False, most=400)
    write_mds(tmp_path / "shard.00000", docs, "int64", kind)
    options = {"dtype": "int64"} if kind == "bytes" else {}
    assert [ids.tolist() for ids in bbpe.open_shards(tmp_path, format="mds", **options)] == docs


def test_masks_and_ids_of_documents(tmp_path):
    import pyarrow as pa

    docs = documents(6, count=30)
    masks = [[number % 2 for number in range(len(doc))] for doc in docs]
    parquet(tmp_path / "a", docs, masks=pa.array(masks, pa.list_(pa.int8())), key=pa.array(range(len(docs))))
    source = bbpe.open_shards(tmp_path / "a.parquet", format="parquet", id_field="key", masks="masks")
    blocks = list(source._open(0).blocks())
    assert [key for block in blocks for key in block.keys] == [str(number) for number in range(len(docs))]
    assert [one for block in blocks for one in block.masks.tolist()] == list(chain.from_iterable(masks))
    datatrove(tmp_path / "b", docs)
    (tmp_path / "b.ds.loss").write_bytes(bytes(list(chain.from_iterable(masks))))
    for masks_of, count in ((None, len(docs)), (False, 0), (True, len(docs))):
        block = next(bbpe.open_shards(tmp_path / "b", format="datatrove", masks=masks_of)._open(0).blocks())
        assert (block.masks is not None) == bool(count)


def wrong_index(change):
    def make(folder):
        megatron(folder / "a", [[1, 2], [3]])
        path = folder / "a.idx"
        path.write_bytes(change(path.read_bytes()))
        return {"files": folder / "a", "format": "megatron"}

    return make


def files(writer, docs, **options):
    def make(folder):
        arguments = options.pop("arguments", {}) if "arguments" in options else {}
        writer(folder / "a", docs, **arguments)
        return {"files": folder, **options}

    return make


def changed(writer, suffix, change, given=(), docs=((1, 2, EOS), (3, EOS)), **options):
    """Files of which those of one suffix have other bytes."""

    def make(folder):
        writer(folder / "a", docs, *given)
        for path in folder.glob(f"*{suffix}"):
            path.write_bytes(change(path.read_bytes()))
        return {"files": folder, **options}

    return make


def replaced(writer, suffix, old, new, given=(), docs=((1, 2, EOS), (3, EOS)), **options):
    return changed(writer, suffix, lambda data: data.replace(old, new), given, docs, **options)


def without(writer, suffix, **options):
    """Shards that lack their files of one suffix."""

    def make(folder):
        writer(folder / "a", [[1, 2, EOS], [3, EOS]])
        for path in folder.glob(f"*{suffix}"):
            path.unlink()
        return {"files": folder, **options}

    return make


def sized(change):
    """Chunks of litdata whose offsets, the second to the fourth number, are changed."""
    def make(data):
        count, *ends = struct.unpack("<4I", data[:16])
        return struct.pack("<4I", count, *change(*ends)) + data[16:]

    return changed(litdata, ".bin", make, format="litdata")


def masked(folder):
    for name, mask in (("a", b"\1\0\1\1\0"), ("b", None)):
        datatrove(folder / name, [[1, 2, EOS], [3, EOS]])
        if mask:
            (folder / f"{name}.ds.loss").write_bytes(mask)
    return {"files": folder, "format": "datatrove"}


def table_of(rows):
    def make(folder):
        import gzip

        nanogpt(folder / "x", [[1, 2, 3]])
        (folder / "x.bin").rename(folder / "x.npy")
        (folder / "x.csv.gz").write_bytes(gzip.compress(rows))
        return {"files": folder, "format": "olmo", "dtype": "uint16"}

    return make


WRONG = {
    "magic": (wrong_index(lambda data: b"X" + data[1:]), "expected an index of Megatron, which begins with"),
    "version": (wrong_index(lambda data: data[:9] + b"\2" + data[10:]), "the index has version 2; expected 1"),
    "float": (wrong_index(lambda data: data[:17] + b"\7" + data[18:]), "the numbers are float32; expected integers"),
    "code": (wrong_index(lambda data: data[:17] + b"\11" + data[18:]), "the code of the dtype is 9; expected 1 to 8"),
    "modes": (wrong_index(lambda data: data + b"\0\1"), "a mode for each sequence, as multimodal data do"),
    "short": (wrong_index(lambda data: data[:-1]), "its numbers of sequences make 82"),
    "first": (wrong_index(lambda data: data[:-24] + struct.pack("<q", 1) + data[-16:]), "begin with sequence 0 and"),
    "gaps": (wrong_index(lambda data: data[:34] + struct.pack("<i", 1) + data[38:]), "do not follow one another"),
    "no dtype": (files(nanogpt, [[1, 0]], format="nanogpt", eos=0), "dtype is None; files of 'nanogpt' do not say"),
    "no ends": (files(nanogpt, [[1, 0]], format="nanogpt", dtype="uint16"), "nothing says where documents end; give"),
    "both": (files(nanogpt, [[1, 0]], format="nanogpt", dtype="u2", eos=0, bos=0), "bos and eos are both 0"),
    "other dtype": (files(write_numpy, [[1, 0]], format="numpy", eos=0, dtype="uint32"), "uint16, but dtype is uint32"),
    "no header": (files(olmo, [[1, 0]], format="numpy", eos=0), "read with format='olmo'"),
    "part of a number": (files(nanogpt, [[1, 0, 5]], format="nanogpt", dtype="uint32", eos=0), "expected whole"),
    "dimensions": (lambda folder: (np.save(folder / "a", np.zeros((2, 3), "u2")), {
        "files": folder, "format": "numpy", "eos": 0})[1], "the array has 2 dimensions; expected ids in one"),
    "no llm.c": (files(nanogpt, [[1] * 600], format="llmc", eos=0), "the header begins with 65537, 65537; exp"),
    "automodel": (files(automodel, [[1, 0]], format="llmc", eos=0), "read the file with format='automodel'"),
    "text of eos": (files(nanogpt, [[1, 0]], format="nanogpt", dtype="u2", eos="<e>"), "eos is '<e>' and tokeni"),
    "eos too large": (files(megatron, [[1]], format="megatron", eos=9, vocab_size=9), "eos is 9; expected 0 to 8"),
    "eos beyond the dtype": (files(nanogpt, [[1, 0]], format="nanogpt", dtype="u2", eos=1 << 16, on_missing="keep"),
        "eos is 65536, and the ids are uint16, at most 65535"),
    "no such column": (files(parquet, [[1]], format="parquet", column="ids"), "no column 'ids', only 'input_ids'"),
    "no list": (lambda folder: (parquet(folder / "a", [[1]], x=[5]), {
        "files": folder, "format": "parquet", "column": "x"})[1], "the column 'x' is int64; expected a list"),
    "columns": (files(megatron, [[1]], format="megatron", column="x"), "the format 'megatron' has no columns"),
    "keys": (files(megatron, [[1]], format="megatron", id_field="x"), "files of 'megatron' have no ids of documents"),
    "masks": (files(megatron, [[1]], format="megatron", masks=True), "masks is True, but there is no .mask.bin"),
    "float dtype": (files(nanogpt, [[1]], format="nanogpt", dtype="float32", eos=0), "dtype is 'float32'; expected"),
    "url": (lambda folder: {"files": "s3://bucket/a", "format": "megatron"}, "must be on this machine; copy them"),
    "suffix": (lambda folder: (megatron(folder / "a", [[1]]), {
        "files": folder / "a.idx", "format": "megatron"})[1], "expected a .bin file, as 'megatron' has them"),
    "format": (lambda folder: {"files": folder, "format": "webdataset"}, "format is 'webdataset'; expected 'megatron'"),
    "own": (lambda folder: {"files": folder, "format": "bbpe", "eos": 0}, "give the folder alone"),
    "table": (table_of(b"0,1,a,b,0\n2,3,b,b,1\n"), "the documents do not follow one another in x.npy"),
    "end of table": (table_of(b"0,2,a,b,0\n"), "the documents end at id 2"),
    "no table": (table_of(b"x,2,a,b,0\n"), "expected rows start,end,id,src,loc"),
    "no shard of MDS": (replaced(write_mds, ".mds", b'{"', b"{{", format="mds"),
        "expected a shard of MDS, without compression"),
    "end of MDS": (changed(write_mds, ".mds", lambda data: data[:-1], format="mds"), "its samples end at "),
    "no column of MDS": (files(write_mds, [[1, 0]], format="mds", column="x"), "there is no column 'x', only 'a', 'b'"),
    "column of texts": (files(write_mds, [[1, 0]], format="mds", column="a"), "is str; expected an ndarray or bytes"),
    "two dimensions": (replaced(write_mds, ".mds", b':uint16"', b':u2:2,1"', format="mds"),
        "is ndarray:u2:2,1; expected one dimension"),
    "unknown dtype": (replaced(write_mds, ".mds", b":uint16", b":float3", format="mds"),
        "the column 'input_ids' is ndarray:float3; expected integers"),
    "part of an id of MDS": (files(write_mds, [[1, 2], [3]], format="mds", dtype="uint32",
        arguments={"dtype": "uint16", "kind": "bytes"}), "sample 1 has no whole ids of uint32"),
    "other dtype of a sample": (replaced(write_mds, ".mds", b"\x10\4\2", b"\x11\4\2", ("uint16", "ndarray"),
        [[1], [1, 2]], format="mds"), "expected dtype of the first sample"),
    "dimensions of a sample": (replaced(write_mds, ".mds", b"\4\2", b"\10\2", docs=[[1], [1, 2]], format="mds"),
        "sample 1 is an array of another kind; expected one dimension"),
    "compressed": (replaced(litdata, ".json", b'"compression": null', b'"compression": "zstd"', format="litdata"),
        "the chunks are compressed; expected plain ones"),
    "encrypted": (replaced(litdata, ".json", b'"encryption": null', b'"encryption": "x"', format="litdata"),
        "the chunks are encrypted; expected plain ones"),
    "items": (replaced(litdata, ".json", b"no_header_tensor", b"jpeg", format="litdata"),
        "items are ['jpeg:20']; expected one tensor or array of ids"),
    "no index of litdata": (changed(litdata, ".json", lambda data: b"[]", format="litdata"),
        "index.json: expected an index with 'chunks'"),
    "no index beside chunks": (without(litdata, ".json", format="litdata"),
        "a.bin: there is no index.json beside it, which says what litdata's chunks have"),
    "no index of Megatron": (without(megatron, ".idx", format="megatron"),
        "a.bin: there is no a.idx beside it; Megatron's ids come as a .bin and an .idx"),
    "no table of ids": (without(olmo, ".csv.gz", format="olmo", dtype="uint16", eos=EOS, id_field="id"),
        "a.npy: there is no a.csv.gz beside it, which has the ids of documents"),
    "masks of a format without": (files(nanogpt, [[1, EOS]], format="nanogpt", dtype="uint16", eos=EOS, masks=True),
        "a.bin: masks is True, but there is no such file at all beside it"),
    "first item": (sized(lambda first, middle, last: (first + 2, middle, last)), "do not follow one another"),
    "last item": (sized(lambda first, middle, last: (first, middle, last - 2)), "do not follow one another"),
    "order of items": (sized(lambda first, middle, last: (first, last + 2, last)),
        "do not follow one another from byte 16 to the end, 26"),
    "part of an item": (sized(lambda first, middle, last: (first, middle + 1, last)), "no whole ids of uint16"),
    "numpy without its end": (changed(write_numpy, ".npy", lambda data: data[:-2], format="numpy", eos=0),
        "the file has 4 ids; its header says 5"),
    "only a header": (changed(automodel, ".bin", lambda data: data[:1000], format="automodel"),
        "the file has 1,000 bytes; the header alone has 1024"),
    "automodel without its end": (changed(automodel, ".bin", lambda data: data[:-2], format="automodel"),
        "the file has 4 ids; its header says 5"),
    "first document": (changed(automodel, ".bos.idx", lambda data: b"\1" + data[1:], format="automodel"),
        "the first document begins at id 1; expected 0"),
    "no document": (changed(automodel, ".bos.idx", lambda data: b"", format="automodel"),
        "the list of documents is empty; there is 5 ids"),
    "order of documents": (changed(automodel, ".bos.idx", lambda data: data[:4] + b"\7" + data[5:],
        format="automodel"), "a.bos.idx"),
    "width": (changed(datatrove, ".metadata", lambda data: b"x|3", format="datatrove"), "expected a name, | and a wid"),
    "order of ends": (changed(datatrove, ".index", lambda data: data[8:] + data[8:], docs=[[1, 2, 0], [3, 0], [4, 0]],
        format="datatrove"), "documents 0 to 3 do not follow one another in a.ds"),
    "last end": (changed(datatrove, ".index", lambda data: data[:8], format="datatrove"), "a.ds.index"),
    "floats": (lambda folder: (parquet(folder / "a", [[1]], x=[[0.5]]), {
        "files": folder, "format": "parquet", "column": "x"})[1], "the column 'x' is list<"),
    "no Parquet": (changed(parquet, ".parquet", lambda data: b"PAR1" + data[8:], format="parquet"),
        "expected a Parquet file of ids: "),
    "no such column of masks": (files(parquet, [[1]], format="parquet", masks="m"), "no column 'm', only 'input_ids'"),
    "some masks": (masked, "a.ds has masks beside it, "),
    "suffix beside": (lambda folder: (megatron(folder / "a", [[1]]), {"files": folder / "b", "format": "megatron"})[1],
        "no such file, nor with the suffix .bin"),
    "tokenizer and size": (lambda folder: {"files": folder, "format": "megatron", "vocab_size": 3, "tokenizer":
        bbpe.train_from_iterator(["low"], 257)}, "tokenizer and vocab_size are given"),
}  # fmt: skip


@pytest.mark.parametrize("name", WRONG)
def test_what_is_wrong_is_named(tmp_path, name):
    make, message = WRONG[name]
    given = make(tmp_path)
    with pytest.raises((CorpusError, ValueError, FileNotFoundError), match=re.escape(message)):
        list(bbpe.open_shards(given.pop("files"), **given))


PROMISES = {
    "eos": ([[5, 9], [6, 3]], {"eos": 9}, "does not end with eos, 9; name the right token"),
    "bos": ([[9, 5], [6, 3]], {"bos": 9}, "does not begin with bos, 9; name the right token"),
    "vocabulary": ([[5, 6], [6, 9]], {"vocab_size": 7}, "has the id 9; the vocabulary has 7 ids"),
    "sign": ([[5, 9], [-6, 7]], {}, "has the id -6; expected ids from 0 on"),
    "sign and vocabulary": ([[5, 9], [-6, 7]], {"vocab_size": 10}, "has the id -6; expected ids from 0 on"),
}


@pytest.mark.parametrize("form", ["megatron", "parquet"])
@pytest.mark.parametrize("name", PROMISES)
def test_documents_are_as_they_were_promised_whoever_reads_them(tmp_path, name, form, monkeypatch):
    monkeypatch.setattr(file_ids, "DOCUMENTS", 1)
    docs, options, message = PROMISES[name]
    WRITERS[form][0](tmp_path / "some", docs, "int32")

    def opened():
        return bbpe.open_shards(tmp_path, format=form, **options)

    for read in (
        list, lambda source: source[0] is source[1], lambda source: source.part(0), lambda source: source.windows(2)[0],
        lambda source: source.bins(4, ragged=True)[0],
        lambda source: bbpe.convert_shards(source, tmp_path / "out", format="megatron"),
    ):  # fmt: skip
        with pytest.raises(CorpusError, match=re.escape(message)):
            read(opened())


def test_urls_of_files_are_paths(tmp_path):
    nanogpt(tmp_path / "a b", [[5, 0], [6, 0]], "uint16")
    for name in (tmp_path / "a b.bin", f"file://{tmp_path}/a b.bin", f"file://{tmp_path}", f"file://{tmp_path}/*.bin"):
        source = bbpe.open_shards(name, format="nanogpt", dtype=np.uint16, eos=np.int64(0))
        assert [ids.tolist() for ids in source] == [[5, 0], [6, 0]]


def test_an_empty_file_has_no_documents(tmp_path):
    for form, (writer, dtypes, _) in WRITERS.items():
        if form in ("mds", "litdata"):
            continue  # their writers make no empty ones
        folder = tmp_path / form
        folder.mkdir()
        writer(folder / "a", [], dtypes[0])
        options = {"dtype": dtypes[0]} if form in NAMELESS else {}
        source = bbpe.open_shards(folder, format=form, eos=EOS, **options)
        assert (len(source), source.tokens, list(source)) == (0, 0, []), form


def test_a_file_that_is_gone_is_an_error_of_the_system(tmp_path):
    source = source_of(tmp_path / "in", "parquet", [[1, 2, EOS]])
    source.files[0].unlink()
    with pytest.raises(FileNotFoundError, match=source.files[0].name):
        list(source)


@pytest.mark.parametrize("large", [False, True])
def test_nulls_in_columns_are_named(tmp_path, large):
    import pyarrow as pa
    import pyarrow.parquet as pq

    make = pa.large_list if large else pa.list_
    for rows, message in (([[1], None], "row 1 has no list"), ([[1], [2, None]], "a null among the numbers of rows")):
        pq.write_table(pa.table({"input_ids": pa.array(rows, make(pa.int32()))}), tmp_path / "a.parquet")
        with pytest.raises(CorpusError, match=message):
            list(bbpe.open_shards(tmp_path / "a.parquet", format="parquet"))


def test_columns_of_fixed_size(tmp_path):
    import pyarrow as pa
    import pyarrow.parquet as pq

    rows = pa.array([[1, 2], [3, 4], [5, 6]], pa.list_(pa.uint32(), 2))
    pq.write_table(pa.table({"input_ids": rows}), tmp_path / "a.parquet")
    found = bbpe.open_shards(tmp_path / "a.parquet", format="parquet")
    assert [ids.tolist() for ids in found] == [[1, 2], [3, 4], [5, 6]]
