"""What `retokenize` does at the ends of documents, and with unknown tokens, whose text is lost."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import bbpe
from bbpe.core.documents import Layout
from bbpe.shards.retokenizer import Retokenizer
from bbpe.shards.verify import _faults_of_texts

EOS, BOS, SEP, UNKNOWN = "<|end|>", "<|begin|>", "<|sep|>", "[UNK]"
WORDS = ["see my eyes low lower lowest"] * 3


@pytest.fixture(scope="module")
def old() -> bbpe.Tokenizer:
    return bbpe.train_from_iterator(WORDS, 300, special_tokens=[SEP, BOS, EOS])


@pytest.fixture(scope="module")
def new() -> bbpe.Tokenizer:
    return bbpe.train_from_iterator(WORDS, 280, special_tokens=[EOS, BOS])


def shards(folder: Path, texts: list[str], tok: bbpe.Tokenizer, **options: Any) -> bbpe.Shards:
    (folder / "a.jsonl").write_text("".join(json.dumps({"text": text}) + "\n" for text in texts), "utf-8")
    return bbpe.shard(folder / "a.jsonl", folder / "old", tok, allowed_special="all", **options)


@pytest.mark.parametrize("packing", ["nanogpt", "llmc", "numpy", "megatron"])
@pytest.mark.parametrize(
    ("given", "name"), [({"eos": EOS}, "eos"), ({"bos": BOS}, "bos"), ({"eos": EOS, "bos": BOS}, "eos")]
)
def test_a_token_within_a_document_that_would_end_it_is_refused(
    given: dict[str, str], name: str, packing: Any, tmp_path: Path, old: bbpe.Tokenizer, new: bbpe.Tokenizer
) -> None:
    """EOS tells where documents end, and BOS alone where they begin; a format with boundaries needs neither."""
    source = shards(tmp_path, ["see my", f"low {SEP} lower"], old)
    mark = given[name]
    if packing == "megatron":
        done = bbpe.retokenize(source, tmp_path / "new", new, format=packing, special={SEP: mark}, **given)
        assert [list(ids).count(new.special_tokens[mark]) for ids in done] == [1, 2]
        return
    with pytest.raises(bbpe.CorpusError, match=rf"the special token that becomes {name}, {new.special_tokens[mark]}, "):
        bbpe.retokenize(source, tmp_path / "new", new, format=packing, special={SEP: mark}, **given)
    done = bbpe.retokenize(source, tmp_path / "text", new, format=packing, special={SEP: None}, **given)
    assert [list(ids).count(new.special_tokens[mark]) for ids in done] == [1, 1]


@pytest.mark.parametrize("around", [{}, {"eos": EOS}, {"bos": BOS}, {"eos": EOS, "bos": BOS}])
def test_tokens_around_old_documents_are_no_part_of_them(
    around: dict[str, str], tmp_path: Path, old: bbpe.Tokenizer, new: bbpe.Tokenizer
) -> None:
    texts = ["see my eyes", "low", f"{EOS}lower{BOS}"]
    source = shards(tmp_path, texts, old, **around)
    done = bbpe.retokenize(source, tmp_path / "new", new)
    assert [ids.tolist() for ids in done] == [new.encode(text, allowed_special="all") for text in texts]
    assert (done.totals.checked, done.totals.not_canonical) == (3, 0)


def test_text_that_is_lacking_is_counted_and_no_token_that_was_there(tmp_path: Path, old: bbpe.Tokenizer) -> None:
    words = bbpe.train_from_iterator(WORDS, 40, model=bbpe.WordPiece(unk_token=UNKNOWN))
    source = shards(tmp_path, ["see \u4e2d", f"my {SEP} eyes \u4e2d {SEP}", "low"], old)
    done = bbpe.retokenize(source, tmp_path / "new", words, special={SEP: UNKNOWN})
    unknown = words.unk_token_id
    assert [ids.tolist().count(unknown) for ids in done] == [1, 3, 0]
    assert done.totals.unknown == 2


@pytest.mark.parametrize("empty", ["keep", "skip"])
def test_each_document_is_compared_with_its_source(
    empty: Any, tmp_path: Path, old: bbpe.Tokenizer, new: bbpe.Tokenizer
) -> None:
    """Where no BOS stands before it, too; in the first document, the last one, and any between."""
    texts = ["see my", "", "low lower", "eyes", "", "lowest low"]
    source = shards(tmp_path, texts, old, eos=EOS, empty="keep")
    done = bbpe.retokenize(source, tmp_path / "new", new, eos=EOS, empty=empty)
    assert bbpe.verify_shards(done, new, sample=1.0) == []
    assert [*_faults_of_texts(done.plan, 0)] == []
    path = tmp_path / "new/part-00000.bin"
    right, at = np.fromfile(path, np.uint16), 0
    for number, ids in enumerate(map(len, done)):
        # the last id is the end of the document
        for place in (at, at + ids - 2) if ids > 1 else ():
            wrong = right.copy()
            wrong[place] += 1
            wrong.tofile(path)
            assert [*_faults_of_texts(done.plan, 0)] == [
                f"{tmp_path / 'new/part-00000'}: document {number} has other bytes than its source"
            ]
        at += ids
    assert at == len(right)


@pytest.mark.parametrize("sep", [EOS, None])
def test_special_tokens_among_the_tokens_of_texts(sep: str | None, new: bbpe.Tokenizer) -> None:
    """Some files have the special tokens of a vocabulary among its others."""
    ranks = {bytes((byte,)): byte for byte in range(256)} | {b"lo": 256, EOS.encode(): 257, SEP.encode(): 258}
    old = bbpe.Tokenizer.from_ranks(ranks, pattern="gpt2", special_tokens={EOS: 257, SEP: 258})
    texts = [f"see my{SEP} low{EOS}", "low \u6211", f"{SEP}{SEP}", ""]
    documents = [old.encode(text, allowed_special="all") for text in texts]
    ids, lengths = np.array([each for row in documents for each in row], np.uint32), np.array([*map(len, documents)])
    found = Retokenizer(old, new, {SEP: sep}, layout=Layout((), (), 4)).documents(ids, lengths, 0, str)
    right = [text if sep is None else text.replace(SEP, sep) for text in texts]
    expected = [new.encode(text, allowed_special=[EOS]) for text in right]
    assert found.ids.view(np.uint32).tolist() == [each for row in expected for each in row]
    assert found.lengths.tolist() == [*map(len, expected)]
    assert (found.checked, found.not_canonical) == (4, 0)
