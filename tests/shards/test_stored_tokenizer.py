"""The tokenizer of shards, which the folder of a plan keeps for workers and readers."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import bbpe
from bbpe.records import replace
from bbpe.shards import plan as plan_rooms
from bbpe.shards.plan import ShardPlan, open_plan
from bbpe.spec.pickled import spec_bytes

EOS = "<|endoftext|>"
TEXTS = ["low", "slow lower\n", "\u00e9\u6f22\u5b57", f"a{EOS}b", "x"]


@pytest.fixture
def corpus(tmp_path: Path) -> Path:
    path = tmp_path / "a.jsonl"
    path.write_text("".join(json.dumps({"text": text}) + "\n" for text in TEXTS))
    return path


def fresh(folder: Path) -> ShardPlan:
    """The plan of a folder as another process reads it."""
    plan_rooms._opened.cache_clear()
    return open_plan(folder)


def test_the_tokenizer_is_in_the_folder(corpus: Path, tmp_path: Path) -> None:
    tok = bbpe.train_from_iterator(["low lower lowest slow"] * 3, 280, special_tokens=[EOS, "<s>"])
    folder = bbpe.shard(corpus, tmp_path / "out", tok, eos=EOS).plan.folder
    stored = bbpe.load_shards(folder)
    assert stored.tokenizer == tok
    assert [ids.tolist() for ids in stored] == [[*tok.encode(text), tok.token_to_id(EOS)] for text in TEXTS]
    path = folder / "tokenizer.bbpe"
    data = path.read_bytes()
    other = bbpe.train_from_iterator(["other words"], 270, special_tokens=[EOS, "<s>"])
    renamed = data.replace(b"spec.TextRules", b"spec.TextRulez")
    for broken in (b"", data[:-1], data + b"\0", data[:9], b"\xff" * 40, renamed):
        path.write_bytes(broken)
        with pytest.raises(bbpe.CorpusError, match=r"tokenizer\.bbpe: expected the tokenizer of a plan"):
            _ = fresh(folder).tokenizer
    path.write_bytes(spec_bytes(other.spec))
    with pytest.raises(bbpe.CorpusError, match=r"tokenizer\.bbpe: the tokenizer was changed since"):
        _ = fresh(folder).tokenizer


def test_a_tokenizer_that_no_json_can_hold_is_stored(corpus: Path, tmp_path: Path) -> None:
    """Merges of equal scores, as in merged SentencePiece vocabularies."""
    texts = ["low lower lowest slow"] * 3
    rules = bbpe.BPE(alphabet="chars", word_start="\u2581")
    model = bbpe.train_from_iterator(texts, 280, model=rules, special_tokens=[EOS])
    leveled = bbpe.Tokenizer(replace(model.spec, merge_levels=tuple(0 for _ in model.spec.merges)))
    with pytest.raises(bbpe.VocabularyError, match="merges of equal scores"):
        leveled.save(tmp_path / "t.json")
    done = bbpe.shard(corpus, tmp_path / "out", leveled, eos=EOS)
    assert fresh(done.plan.folder).tokenizer == leveled
    assert done[0].tolist() == [*leveled.encode("low"), leveled.token_to_id(EOS)]
