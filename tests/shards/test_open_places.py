"""Documents of files of ids by their places: slices of them, and what errors call those far on."""

import pytest
from id_files import WRITERS

import bbpe
from bbpe.errors import CorpusError
from bbpe.shards.readers.packed import MdsFile
from bbpe.shards.readers.reader import IdReading

EOS = 0


@pytest.mark.parametrize("form", ["megatron", "datatrove", "automodel", "parquet", "mds", "litdata", "nanogpt"])
def test_what_is_wrong_far_on_is_named_by_its_place(tmp_path, form, monkeypatch):
    """Blocks of ids, and of documents, go on counting where the one before ended."""
    for name in ("reader", "rows", "packed"):
        monkeypatch.setattr(f"bbpe.shards.readers.{name}.BLOCK", 4)
    docs = [[1, 2, EOS]] * 11 + [[5, 77, EOS]] + [[1, 2, EOS]] * 2
    WRITERS[form][0](tmp_path / "a", docs, "uint16")
    for many in (1 << 16, 3):
        monkeypatch.setattr("bbpe.shards.readers.reader.DOCUMENTS", many)
        source = bbpe.open_shards(tmp_path, format=form, dtype="uint16", eos=EOS, vocab_size=77)
        place = "the document that begins at id 33" if form == "nanogpt" else "(document|row|sample) 11"
        with pytest.raises(CorpusError, match=f"{place} has the id 77; the vocabulary has 77 ids"):
            bbpe.convert_shards(source, tmp_path / f"out{many}", format="megatron")


def test_slices_are_those_of_a_list(tmp_path):
    docs = [[*range(1, 1 + number % 7), EOS] for number in range(20)]
    WRITERS["parquet"][0](tmp_path / "a", docs, "uint16")
    source = bbpe.open_shards(tmp_path / "a.parquet", format="parquet")
    done = bbpe.convert_shards(source, tmp_path / "out", format="megatron")
    for found in (source, done, source.windows(2), done.bins(64, ragged=True)):
        every = list(map(str, found))
        for part in (slice(None), slice(-2, None), slice(None, None, -1), slice(3, 99), slice(-99, 2), slice(9, 2)):
            assert list(map(str, found[part])) == every[part]
        assert [str(found[at]) for at in (-1, -len(every))] == [every[-1], every[0]]
        for wrong in (len(every), -len(every) - 1):
            with pytest.raises(IndexError):
                found[wrong]


def test_samples_of_mds_come_many_at_a_time(tmp_path, monkeypatch):
    """A block has several samples, about 64 ids together; a longer sample has a block of its own."""
    monkeypatch.setattr("bbpe.shards.readers.packed.BLOCK", 64)
    docs = [[1, 2, EOS]] * 8 + [[3] * 200] + [[4]] * 3
    WRITERS["mds"][0](tmp_path / "a", docs, "uint32", "bytes")
    file = MdsFile(tmp_path / "a.mds", IdReading(format="mds", dtype="uint32"))
    blocks = [block.lengths.tolist() for block in file.blocks()]
    assert [length for block in blocks for length in block] == [len(doc) for doc in docs]
    assert [200] in blocks
    assert len(blocks) <= 5
