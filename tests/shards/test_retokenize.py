"""`retokenize`: the ids of an old vocabulary become those by which a new one encodes the same texts."""

from __future__ import annotations

import json
import os
import pickle
import random
import re
import shutil
import time
from collections.abc import Callable
from functools import lru_cache
from itertools import islice, pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from processes import ends

import bbpe
from bbpe.core.documents import Layout
from bbpe.shards.plan import open_plan
from bbpe.shards.retokenizer import RetokenizedDocuments, Retokenizer
from bbpe.shards.verify import _faults_of_texts

EOS, SEP = "<|endoftext|>", "<|sep|>"
WORDS = "see my eyes first low lower lowest def return 中文 汉字 かな Äpfel naïve café 1234 5,678 🙂 don't x = y\n \t  "
CORPORA = {
    "english": "see my eyes first, and don't be lower than 1,234 of the lowest slow ones. ",
    "code": "def see(eyes: int) -> None:\n    return eyes + 1  # lower\n\n\tx = [1, 22, 333]\n",
    "chinese": "我看见了我的眼睛，首先是最低的。第二个句子在这里！",
    "japanese": "私はカタカナとひらがなを見る。次の文章です。",
    "mixed": "Äpfel naïve café 🙂🙂 слово λόγος ١٢٣ e\u0301 \u00a0 end ",
}
TEXTS = list(CORPORA.values())
#: What was used, and what is used then; of each text some, and of one text all.
PAIRS = [
    ("gpt2", "o200k"), ("o200k", "gpt2"), ("unigram", "o200k"), ("characters", "gpt2"), ("gpt2", "unigram"),
    ("o200k", "characters"),
]  # fmt: skip


def trained(size: int, text: str = "".join(TEXTS), **options: Any) -> bbpe.Tokenizer:
    return bbpe.train_from_iterator([text] * 2, size, **options)


KINDS: dict[str, Callable[[], bbpe.Tokenizer]] = {
    "gpt2": lambda: trained(400, pattern="gpt2", special_tokens=[EOS]),
    "o200k": lambda: trained(500, pattern="o200k", special_tokens=[EOS, SEP]),
    "unigram": lambda: trained(560, model=bbpe.Unigram(), special_tokens=[EOS]),
    "characters": lambda: trained(
        560, model=bbpe.BPE(alphabet="chars", word_start="\u2581"), special_tokens=[EOS, SEP]
    ),
}


@lru_cache
def tokenizer(kind: str) -> bbpe.Tokenizer:
    return KINDS[kind]()


def corpus(folder: Path, text: str) -> Path:
    """A file of documents of a text: parts of it that begin and end anywhere, and empty ones."""
    rng, path = random.Random(len(text)), folder / "a.jsonl"
    long = text * 40
    with path.open("w", encoding="utf-8") as file:
        for _ in range(50):
            start = rng.randrange(len(text))
            file.write(json.dumps({"text": long[start : start + rng.choice([0, 1, 5, 60, 900])]}) + "\n")
    return path


def rows(shards: bbpe.Shards) -> list[list[int]]:
    return [ids.tolist() for ids in shards]


@pytest.mark.parametrize(
    ("name", "old", "new"),
    [(name, *pair) for at, name in enumerate(CORPORA) for pair in (PAIRS if name == "mixed" else PAIRS[at % 3 :: 3])],
)
def test_new_ids_are_those_of_the_texts(name: str, old: str, new: str, tmp_path: Path) -> None:
    files, first, second = corpus(tmp_path, CORPORA[name]), tokenizer(old), tokenizer(new)
    source = bbpe.shard(files, tmp_path / "old", first, eos=EOS, empty="keep", part_size="20kB")
    right = bbpe.shard(files, tmp_path / "right", second, eos=EOS, bos=EOS, empty="keep")
    done = bbpe.retokenize(
        source, tmp_path / "new", second, eos=EOS, bos=EOS, part_size="1kB", format="olmo", dtype="uint32"
    )
    assert rows(done) == rows(right)
    assert (done.totals.checked, done.totals.records) == (len(right), len(right))
    texts = [json.loads(line)["text"] for line in files.read_text("utf-8").splitlines()]
    lossy = sum(first.decode(first.encode(text)) != text for text in texts)
    assert done.totals.not_canonical == sum(not first.is_canonical(first.encode(text)) for text in texts)
    assert lossy == 0 or old != "gpt2"
    assert len(done.plan) > 1
    assert bbpe.verify_shards(done, second, sample=1.0) == []


def test_documents_that_are_not_canonical_are_counted(tmp_path: Path) -> None:
    old, new = tokenizer("gpt2"), tokenizer("o200k")
    rng, planted, documents = random.Random(4), 0, []
    for number in range(400):
        ids = old.encode(TEXTS[number % 5][: rng.randrange(3, 70)])
        if number % 7 == 0:  # the bytes of a token, one by one
            at = next((at for at, each in enumerate(ids) if len(old.id_to_token(each)) > 1), None)
            if at is not None:
                ids[at : at + 1] = [old.token_to_id(bytes((byte,))) for byte in old.id_to_token(ids[at])]
                planted += 1
        documents.append(ids)
    np.concatenate([np.array([*ids, old.eot_token], np.uint16) for ids in documents]).tofile(tmp_path / "old.bin")
    source = bbpe.open_shards(tmp_path / "old.bin", format="nanogpt", dtype="uint16", eos=EOS, tokenizer=old)
    done = bbpe.retokenize(source, tmp_path / "new", new, eos=EOS)
    assert planted > 40
    assert (done.totals.not_canonical, done.totals.checked) == (planted, 400)
    assert rows(done) == [[*new.encode(old.decode_bytes(ids)), new.eot_token] for ids in documents]
    manifest = json.loads((tmp_path / "new" / "manifest.json").read_bytes())
    assert (manifest["not_canonical"], manifest["checked"]) == (planted, 400)
    assert f"{planted} of 400 documents" in str(done.totals)
    some = bbpe.retokenize(source, tmp_path / "some", new, eos=EOS, check=0.25, part_size=200)
    assert 60 < some.totals.checked < 140
    assert 0 < some.totals.not_canonical < planted
    assert rows(some) == rows(done)
    again = bbpe.retokenize(source, tmp_path / "again", new, eos=EOS, check=0.25)
    assert again.totals == some.totals
    assert bbpe.retokenize(source, tmp_path / "none", new, eos=EOS, check=0).totals.checked == 0


def test_bytes_that_are_no_text_stay(tmp_path: Path) -> None:
    old, new = tokenizer("gpt2"), tokenizer("o200k")
    whole = old.encode("中文 🙂")
    documents = [whole[:1], whole[:-1], whole[1:], old.encode(b"\xff\xfe a \xe4\xb8")]
    np.save(tmp_path / "a.npy", np.concatenate([np.array([*ids, old.eot_token], np.uint16) for ids in documents]))
    source = bbpe.open_shards(tmp_path / "a.npy", format="numpy", eos=EOS, tokenizer=old)
    done = bbpe.retokenize(source, tmp_path / "new", new)
    assert [new.decode_bytes(ids) for ids in done] == [old.decode_bytes(ids) for ids in documents]


# -- special tokens ----------------------------------------------------------------------------------------


def with_rules() -> bbpe.Tokenizer:
    """A tokenizer of bytes whose normalizer changes texts."""
    from bbpe.records import replace
    from bbpe.spec.rules import Lowercase
    from bbpe.spec.spec import TextRules

    spec = tokenizer("o200k").spec
    return bbpe.Tokenizer(replace(spec, rules=TextRules(normalizers=(Lowercase(),))))


def twin(old: bbpe.Tokenizer, new: bbpe.Tokenizer, ids: list[int], special: dict[str, str | None]) -> list[int]:
    """The new ids of a document without those around it: segments, one by one."""
    marked = {number: special.get(text, text) for text, number in old.special_tokens.items()}
    places = [-1, *(at for at, each in enumerate(ids) if marked.get(each) is not None), len(ids)]
    segments: list[tuple[str, Any]] = []
    for start, end in pairwise(places):
        segments.append((old.decode(ids[start + 1 : end]), ()))
        if end < len(ids):
            segments.append((str(marked[ids[end]]), "all"))
    return new.encode_segments(segments)


@pytest.mark.parametrize("new", ["gpt2", "characters", "rules"])
@pytest.mark.parametrize("special", [{SEP: EOS}, {SEP: None}, {SEP: EOS, EOS: None}, {SEP: "<note>"}])
def test_special_tokens_within_documents(new: str, special: dict[str, str | None]) -> None:
    old, other = tokenizer("o200k"), with_rules() if new == "rules" else tokenizer(new)
    if "<note>" in special.values():  # not special, as "my" is in texts
        other = other.with_added_tokens(["<note>", "my"])
    rng, words = random.Random(7), [EOS, SEP, *WORDS.split(" "), " ", EOS + SEP]
    texts = ["".join(rng.choices(words, k=rng.randrange(12))) for _ in range(150)]
    # the text of a special token is no special token where it was text
    texts += [f"{SEP} low", f"a {EOS}{EOS}"]
    documents = [old.encode(text, allowed_special="all" if at < 150 else ()) for at, text in enumerate(texts)]
    ids = np.array([each for row in documents for each in row], np.uint16)
    lengths = np.array([len(row) for row in documents], np.int64)
    found = Retokenizer(old, other, special, layout=Layout((), (), 4)).documents(ids, lengths, 0, str)
    bounds = [0, *np.cumsum(found.lengths).tolist()]
    flat = found.ids.view(np.uint32)
    got = [flat[start:end].tolist() for start, end in pairwise(bounds)]
    assert got == [twin(old, other, row, special) for row in documents]
    assert (found.checked, found.not_canonical) == (len(texts), 0)


def test_special_ids_beyond_those_of_two_bytes() -> None:
    """Files of uint16 have no id of some special tokens; of neighbours they may have the first ones."""
    specials = {EOS: 65_534, "<a>": 65_535, "<b>": 65_536, SEP: 70_000}
    ranks = {bytes((byte,)): byte for byte in range(256)}
    old, new = (
        bbpe.Tokenizer.from_ranks(ranks, pattern="gpt2", special_tokens={text: number + more for text, number in rows})
        for rows, more in ((specials.items(), 0), (specials.items(), 7))
    )
    row = [*b"low", specials[EOS], *b"er", specials["<a>"], 0, 1]
    for kind, more in ((np.uint16, []), (np.uint32, [specials[SEP], specials["<b>"]])):
        ids, lengths = np.array(row + more, kind), np.array([len(row + more)], np.int64)
        found = Retokenizer(old, new, layout=Layout((), (), 4)).documents(ids, lengths, 0, str)
        assert found.ids.view(np.uint32).tolist() == [each + 7 * (each > 255) for each in row + more]


def test_old_rules_and_special_tokens() -> None:
    old, new = with_rules(), tokenizer("o200k")
    documents = [
        old.encode(f"See My {SEP} Eyes{EOS}", allowed_special="all"), tokenizer("o200k").encode(f"See {SEP}"), [],
    ]  # fmt: skip
    ids = np.array([each for row in documents for each in row], np.uint32)
    lengths = np.array([len(row) for row in documents], np.int64)
    found = Retokenizer(old, new, layout=Layout((), (), 4)).documents(ids, lengths, 0, str)
    flat = found.ids.view(np.uint32).tolist()
    right = [new.encode(f"see my {SEP} eyes{EOS}", allowed_special="all"), new.encode("See " + SEP)]
    assert flat == right[0] + right[1]
    # capitals are no text of a tokenizer of small letters
    assert (found.checked, found.not_canonical) == (3, 1)


def test_text_that_was_lost_is_not_canonical(tmp_path: Path) -> None:
    words = bbpe.train_from_iterator(["see my eyes"] * 3, 40, model=bbpe.WordPiece())
    (tmp_path / "a.jsonl").write_text('{"text": "see my eyes"}\n{"text": "see 中"}\n')
    source = bbpe.shard(tmp_path / "a.jsonl", tmp_path / "old", words)
    new = tokenizer("o200k")
    with pytest.raises(bbpe.CorpusError, match=re.escape("document 1 has the special token '[UNK]'")):
        bbpe.retokenize(source, tmp_path / "new", new)
    done = bbpe.retokenize(source, tmp_path / "new2", new, special={"[UNK]": None})
    assert [new.decode(ids) for ids in done] == ["see my eyes", "see [UNK]"]
    assert done.totals.not_canonical == 1


def test_a_special_token_without_counterpart_is_named(tmp_path: Path) -> None:
    old, new = tokenizer("o200k"), tokenizer("gpt2")
    (tmp_path / "a.jsonl").write_text(f'{{"text": "low"}}\n{{"text": "see {SEP}"}}\n')
    source = bbpe.shard(tmp_path / "a.jsonl", tmp_path / "old", old, allowed_special="all")
    with pytest.raises(bbpe.CorpusError) as caught:
        bbpe.retokenize(source, tmp_path / "new", new)
    for shown in ("part-00000.lens: document 1", repr(SEP), f"special={{{SEP!r}: ...}}", "None"):
        assert shown in str(caught.value)
    done = bbpe.retokenize(source, tmp_path / "new", new, special={SEP: EOS})
    assert rows(done)[1] == [*new.encode("see "), new.eot_token]


# -- plans, errors -----------------------------------------------------------------------------------------


def wrong_ids(folder: Path) -> Any:
    np.array([5, 6, 400, 70, 600, 1], np.uint16).tofile(folder / "wrong.bin")
    return bbpe.open_shards(folder / "wrong.bin", format="nanogpt", dtype="uint16", eos=1, tokenizer=tokenizer("o200k"))


@pytest.mark.parametrize(
    ("given", "error", "shown"),
    [
        ({"tokenizer": "gpt2"}, TypeError, "'gpt2', a str"),
        ({"source": 5}, TypeError, "source"),
        ({"special": {SEP: "<x>"}}, ValueError, "special names '<x>', which is no special token of `new`"),
        ({"special": ["<x>"]}, TypeError, "special must be a dict"),
        ({"eos": "<x>"}, ValueError, "eos is '<x>', which is no token"),
        ({"format": "nanogpt"}, ValueError, "eos and bos are None"),
        ({"format": "text"}, ValueError, "format is 'text'"),
        ({"empty": "no"}, ValueError, "empty is 'no'"),
        ({"check": 2.0}, ValueError, "check is 2.0"),
        ({"attempts": 0}, ValueError, "attempts"),
        ({"threads": 1, "executor": object()}, ValueError, "threads and executor"),
        ({"executor": object()}, TypeError, "executor must be a concurrent"),
        ({"eos": EOS, "bos": EOS, "format": "numpy"}, ValueError, "eos and bos are both"),
        ({"folder": "s3://bucket/a"}, ValueError, "s3:"),
    ],
)
def test_wrong_arguments_are_named(given: dict[str, Any], error: type[Exception], shown: str, tmp_path: Path) -> None:
    old = tokenizer("o200k")
    (tmp_path / "a.jsonl").write_text('{"text": "low"}\n')
    source = bbpe.shard(tmp_path / "a.jsonl", tmp_path / "old", old)
    right = {"source": source, "folder": tmp_path / "new", "tokenizer": tokenizer("gpt2")}
    with pytest.raises(error, match=re.escape(shown)):
        bbpe.retokenize(**{**right, **given})
    assert not (tmp_path / "new").exists()


def test_what_the_source_must_have(tmp_path: Path) -> None:
    new = tokenizer("gpt2")
    source = wrong_ids(tmp_path)
    with pytest.raises(bbpe.CorpusError, match=re.escape("wrong.bin: the document that begins at id 0 has the id 600")):
        bbpe.retokenize(source, tmp_path / "new", new, eos=EOS)
    unknown = bbpe.open_shards(tmp_path / "wrong.bin", format="nanogpt", dtype="uint16", eos=1)
    with pytest.raises(ValueError, match="source has no tokenizer"):
        bbpe.retokenize(unknown, tmp_path / "new2", new)


def test_an_eos_within_a_document_needs_boundaries(tmp_path: Path) -> None:
    old, new = tokenizer("o200k"), tokenizer("gpt2")
    (tmp_path / "a.jsonl").write_text(f'{{"text": "see {SEP} low"}}\n')
    source = bbpe.shard(tmp_path / "a.jsonl", tmp_path / "old", old, allowed_special="all")
    with pytest.raises(bbpe.CorpusError, match="would end it there"):
        bbpe.retokenize(source, tmp_path / "new", new, eos=EOS, format="nanogpt", special={SEP: EOS})
    assert len(bbpe.retokenize(source, tmp_path / "two", new, eos=EOS, special={SEP: EOS})) == 1


def test_parts_in_any_order_and_other_plans(tmp_path: Path) -> None:
    old, new = tokenizer("gpt2"), tokenizer("o200k")
    source = bbpe.shard(corpus(tmp_path, TEXTS[0]), tmp_path / "old", old, eos=EOS, part_size="20kB")
    plan = bbpe.plan_retokenizing(source, tmp_path / "new", new, eos=EOS, part_size="5kB")
    copy = pickle.loads(pickle.dumps(plan))
    for number in reversed(range(len(plan))):
        bbpe.shard_part(copy, number)
    done = bbpe.finish_shards(copy)
    assert copy.old_tokenizer == old
    whole = bbpe.retokenize(source, tmp_path / "whole", new, eos=EOS)
    assert rows(done) == rows(whole)
    with pytest.raises(bbpe.CorpusError, match="another plan, with old"):
        bbpe.retokenize(source, tmp_path / "new", new, eos=EOS, part_size="5kB", check=0.5)
    merged = bbpe.merge_shards([done], tmp_path / "merged", shuffle=3)
    assert sorted(rows(merged)) == sorted(rows(done))
    assert bbpe.verify_shards(merged) == []
    assert merged.totals.checked == done.totals.checked
    shutil.copytree(done.plan.folder, tmp_path / "copy")
    shutil.copy(tmp_path / "copy" / "tokenizer.bbpe", tmp_path / "copy" / "old-tokenizer.bbpe")
    with pytest.raises(bbpe.CorpusError, match=re.escape("old-tokenizer.bbpe: the tokenizer was changed")):
        _ = open_plan(tmp_path / "copy").old_tokenizer


def test_merging_with_shards_of_texts(tmp_path: Path) -> None:
    old, new, files = tokenizer("gpt2"), tokenizer("o200k"), corpus(tmp_path, TEXTS[0])
    source = bbpe.shard(files, tmp_path / "old", old, eos=EOS)
    both = [bbpe.retokenize(source, tmp_path / "new", new, eos=EOS), bbpe.shard(files, tmp_path / "raw", new, eos=EOS)]
    for at, pair in enumerate((both, both[::-1])):
        done = bbpe.merge_shards(pair, tmp_path / f"merged{at}")
        assert rows(done) == rows(pair[0]) + rows(pair[1])
        assert bbpe.verify_shards(done.plan, new, sample=1) == []
    # shards of another tokenizer have other ids, which converting does not change
    with pytest.raises(bbpe.CorpusError, match=r"cannot be merged; bbpe\.retokenize gives"):
        bbpe.merge_shards([both[0], source], tmp_path / "merged")
    other = bbpe.convert_shards(both[0], tmp_path / "olmo", format="olmo")
    with pytest.raises(bbpe.CorpusError, match=r"rewrite each of them by bbpe\.convert_shards in one format"):
        bbpe.merge_shards([other, both[1]], tmp_path / "merged")
    converted = [bbpe.convert_shards(each, tmp_path / each.plan.folder.name[::-1], format="olmo") for each in both]
    assert rows(bbpe.merge_shards([other, converted[1]], tmp_path / "merged")) == rows(both[0]) + rows(both[1])


def test_documents_without_their_end_are_merged_with_others(tmp_path: Path) -> None:
    tok = tokenizer("gpt2")
    np.array([*tok.encode("see"), tok.eot_token, *tok.encode("my eyes")], np.uint16).tofile(tmp_path / "a.bin")
    source = bbpe.open_shards(
        tmp_path / "a.bin", format="nanogpt", dtype="uint16", eos=EOS, tokenizer=tok, on_missing="keep"
    )
    kept = bbpe.convert_shards(source, tmp_path / "kept", format="megatron")
    texts = bbpe.shard(corpus(tmp_path, TEXTS[0]), tmp_path / "texts", tok, eos=EOS)
    merged = bbpe.merge_shards([texts, kept], tmp_path / "merged")
    assert rows(bbpe.convert_shards(merged, tmp_path / "olmo", format="olmo")) == rows(texts) + rows(kept)


def test_documents_without_their_end_get_the_new_one(tmp_path: Path) -> None:
    old, new = tokenizer("gpt2"), tokenizer("o200k")
    np.array([*old.encode("see"), old.eot_token, *old.encode("my eyes")], np.uint16).tofile(tmp_path / "a.bin")
    source = bbpe.open_shards(
        tmp_path / "a.bin", format="nanogpt", dtype="uint16", eos=EOS, tokenizer=old, on_missing="keep"
    )
    done = bbpe.retokenize(source, tmp_path / "new", new, eos=EOS)
    assert rows(done) == [[*new.encode(text), new.eot_token] for text in ("see", "my eyes")]
    assert (done.totals.checked, done.totals.not_canonical) == (2, 0)


RUN = """
import sys, bbpe
from pathlib import Path
folder = Path(sys.argv[1])
print("begins", flush=True)
new = bbpe.load(folder / "new.json")
bbpe.retokenize(folder / "old", folder / sys.argv[2], new, eos="<|endoftext|>", part_size="10kB", threads=2)
"""


def killed(folder: Path, runs: int) -> None:
    tokenizer("o200k").save(folder / "new.json")
    bbpe.shard(corpus(folder, "".join(TEXTS)), folder / "old", tokenizer("gpt2"), eos=EOS, part_size="20kB")
    started = time.monotonic()
    assert ends(RUN, folder, "right")
    length, rng = time.monotonic() - started, random.Random(runs)
    right = {path.name: path.read_bytes() for path in (folder / "right").iterdir()}
    for number in range(runs):
        ends(RUN, folder, f"out{number}", killed_after=rng.random() * length)
        assert ends(RUN, folder, f"out{number}")
        assert {path.name: path.read_bytes() for path in (folder / f"out{number}").iterdir()} == right


@pytest.mark.full
def test_a_killed_run_goes_on_to_the_same_bytes(tmp_path: Path) -> None:
    killed(tmp_path, 1)


@pytest.mark.long
def test_killed_at_many_moments(tmp_path: Path) -> None:
    killed(tmp_path, int(os.environ.get("BBPE_KILLS", "20")))


def test_other_ids_are_found_by_their_bytes(tmp_path: Path) -> None:
    source = bbpe.shard(corpus(tmp_path, TEXTS[0]), tmp_path / "old", tokenizer("gpt2"), eos=EOS)
    for empty in ("keep", "skip"):
        out = tmp_path / empty
        done = bbpe.retokenize(source, out, tokenizer("o200k"), bos=SEP, empty=empty, format="nanogpt")
        assert bbpe.verify_shards(done, sample=1.0) == []
        ids = np.fromfile(out / "part-00000.bin", np.uint16)
        ids[len(done[0]) + 1] += 1
        ids.tofile(out / "part-00000.bin")
        faults = bbpe.verify_shards(out, sample=1.0)
        assert any("document 1 has other bytes than its source" in fault for fault in faults)
        assert len(faults) > 1


def test_ids_with_masks_are_refused(tmp_path: Path) -> None:
    old, new = tokenizer("gpt2"), tokenizer("o200k")
    np.array([5, 6, 7], "u2").tofile(tmp_path / "a.ds")
    np.array([3], "u8").tofile(tmp_path / "a.ds.index")
    (tmp_path / "a.ds.loss").write_bytes(b"\0\1\1")
    options: Any = {"format": "datatrove", "tokenizer": old, "dtype": "uint16"}
    with pytest.raises(ValueError, match=r"the source has masks, which do not fit new ids; .*masks=False"):
        bbpe.retokenize(bbpe.open_shards(tmp_path / "a", **options), tmp_path / "out", new)
    plain = bbpe.open_shards(tmp_path / "a", masks=False, **options)
    assert bbpe.retokenize(plain, tmp_path / "out", new).documents == 1


def test_other_numbers_of_documents_are_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where a source has other documents than were read, though its files are those that the manifest names."""
    source = bbpe.shard(corpus(tmp_path, TEXTS[0]), tmp_path / "old", tokenizer("gpt2"), eos=EOS)
    done = bbpe.retokenize(source, tmp_path / "new", tokenizer("o200k"), bos=SEP)
    texts = RetokenizedDocuments.texts
    monkeypatch.setattr(RetokenizedDocuments, "texts", lambda self, source: islice(texts(self, source), 1))
    faults = [*_faults_of_texts(done.plan, 0)]
    assert faults == [f"{tmp_path / 'new/part-00000'}: found {len(done)} documents; the source has 1"]
