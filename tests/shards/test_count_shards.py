"""Counts of shards of ids are those of the texts that they were made of."""

from __future__ import annotations

import json
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

import bbpe
from bbpe.cli import main
from bbpe.counting import count as count_module
from bbpe.counting import options as options_module
from bbpe.shards import texts as texts_module

EOS, BOS = "<|endoftext|>", "<s>"
TEXTS = ["low", "", "slow lower\n", "é漢字", f"a {EOS} b", "lowest " * 30, "x", "low lower\nlow", "a\n\nb 12345"] * 6


@pytest.fixture(scope="module")
def tok() -> bbpe.Tokenizer:
    return bbpe.train_from_iterator(["low lower lowest slow"] * 3, 280, special_tokens=[EOS, BOS])


@pytest.fixture
def corpus(tmp_path: Path) -> Path:
    path = tmp_path / "a.jsonl"
    path.write_text("".join(json.dumps({"text": text}) + "\n" for text in TEXTS))
    return path


@pytest.fixture(autouse=True)
def small_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(texts_module, "_IDS", 64)
    monkeypatch.setattr(options_module, "_BLOCK", 256)
    monkeypatch.setattr(count_module, "_TEXTS_PART", 600)


ENDS: list[dict[str, str]] = [{"eos": EOS}, {"bos": BOS}, {"bos": BOS, "eos": EOS}, {}]
OPTIONS: list[dict[str, Any]] = [
    {}, {"threads": 3}, {"document": "line"}, {"sample": 0.5}, {"unique": True}, {"max_pretoken_bytes": 3},
    {"special_tokens": [EOS]}, {"pattern": r"\w+(?<=\w)|[^\w]+?"}, {"max_memory": "4GB"},
]  # fmt: skip


@pytest.mark.parametrize(
    ("ends", "options"),
    [*((ENDS[at % 4], options) for at, options in enumerate(OPTIONS)), *((ends, OPTIONS[4]) for ends in ENDS[1:])],
    ids=str,
)
def test_counts_are_those_of_the_raw_texts(
    tmp_path: Path, corpus: Path, tok: bbpe.Tokenizer, ends: dict[str, str], options: dict[str, Any]
) -> None:
    done = bbpe.shard(corpus, tmp_path / "out", tok, part_size=600, allowed_special="all", **ends)
    assert len(done.plan) > 2
    given = {"pattern": "gpt2", **options}
    expected, found = bbpe.count(corpus, **given), bbpe.count_shards(tmp_path / "out", **given)
    assert list(found) == list(expected)
    assert found == expected
    assert found.summary.files == len(done.plan)
    assert found.summary.duplicates == expected.summary.duplicates - (TEXTS.count("") - 1) * ("unique" in options)
    assert bbpe.count_shards(done, **given) == bbpe.count_shards(done.plan, **given) == expected


@pytest.mark.parametrize("name", ["nanogpt", "numpy", "olmo", "megatron", "parquet"])
def test_formats_and_merged_shards(tmp_path: Path, corpus: Path, tok: bbpe.Tokenizer, name: Any) -> None:
    if name == "parquet":
        pytest.importorskip("pyarrow")
    bbpe.shard(corpus, tmp_path / "out", tok, format=name, eos=EOS, part_size=900)
    expected = bbpe.count(corpus, pattern="o200k")
    assert bbpe.count_shards(tmp_path / "out", pattern="o200k") == expected
    bbpe.merge_shards([tmp_path / "out"], tmp_path / "one")
    assert bbpe.count_shards(tmp_path / "one", pattern="o200k") == expected
    bbpe.merge_shards([tmp_path / "out"], tmp_path / "mixed", shuffle=3)
    assert sorted(bbpe.count_shards(tmp_path / "mixed", pattern="o200k")) == sorted(expected)


def test_a_count_of_shards_goes_on(
    tmp_path: Path, corpus: Path, tok: bbpe.Tokenizer, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("pyarrow")
    monkeypatch.setattr(count_module, "_CHECKPOINT_SECONDS", 0.0)
    bbpe.shard(corpus, tmp_path / "out", tok, eos=EOS, part_size=900)

    class StoppedError(Exception):
        pass

    def stopping(at: int) -> Any:
        seen = 0

        def progress(now: Any) -> None:
            nonlocal seen
            seen += now.phase == "count"
            if seen == at:
                raise StoppedError

        return progress

    options: dict[str, Any] = {"pattern": "gpt2", "checkpoint": tmp_path / "state"}
    for at in (2, 4, 6):
        with pytest.raises(StoppedError):
            bbpe.count_shards(tmp_path / "out", progress=stopping(at), **options)
    expected = bbpe.count(corpus, pattern="gpt2")
    assert list(bbpe.count_shards(tmp_path / "out", **options)) == list(expected)
    with ThreadPoolExecutor(2) as executor:
        assert list(bbpe.count_shards(tmp_path / "out", pattern="gpt2", executor=executor)) == list(expected)


def test_what_ids_do_not_say_is_refused(tmp_path: Path, corpus: Path, tok: bbpe.Tokenizer) -> None:
    words = bbpe.train_from_iterator(["low lower"], 60, model="wordpiece")
    bbpe.shard(corpus, tmp_path / "words", words)
    with pytest.raises(bbpe.CorpusError, match="has the unknown token, whose text is lost"):
        bbpe.count_shards(tmp_path / "words", pattern="gpt2")
    done = bbpe.shard(corpus, tmp_path / "out", tok, eos=EOS)
    wrong = texts_module._inner
    ids, lengths = done.part(0)
    with pytest.raises(bbpe.CorpusError, match=f"ends with the id {tok.special_tokens[EOS]}; expected 3"):
        wrong(ids, lengths, None, 3, "part")
    with pytest.raises(bbpe.CorpusError, match="begins with the id"):
        wrong(ids, lengths, 3, None, "part")
    with pytest.raises(bbpe.CorpusError, match="a document has 1 id; expected bos and eos around each"):
        wrong(ids[:1], lengths[:1] * 0 + 1, 3, 3, "part")
    with pytest.raises(ValueError, match=r"^Counting\.text_field is 'x'; expected it only with files"):
        bbpe.count_shards(done, pattern="gpt2", text_field="x")  # type: ignore[call-arg]


def test_the_command_line(
    tmp_path: Path, corpus: Path, tok: bbpe.Tokenizer, capsys: pytest.CaptureFixture[str]
) -> None:
    pytest.importorskip("pyarrow")
    bbpe.shard(corpus, tmp_path / "out", tok, eos=EOS)
    out = ["-o", str(tmp_path / "c.parquet")]
    assert main(["count", "--shards", str(tmp_path / "out"), "--unique", "--pattern", "o200k", *out]) == 0
    assert bbpe.load_counts(out[1]) == bbpe.count(corpus, pattern="o200k", unique=True)
    for arguments, message in (
        ([str(corpus), "--shards", "x"], "expected either files to count or --shards"),
        ([], "expected either files to count or --shards"),
        (["--shards", "x", "--text-field", "body"], "--text-field does not go with --shards"),
    ):
        assert main(["count", *arguments, *out]) == 2
        assert message in capsys.readouterr().err


@pytest.mark.parametrize("around", [{}, {"eos": EOS}, {"bos": BOS}, {"bos": BOS, "eos": EOS}])
def test_empty_documents_that_were_kept_have_no_pretokens(around: Any, tmp_path: Path, tok: bbpe.Tokenizer) -> None:
    """They are texts all the same, and have no ids around them."""
    texts, path = ["", "low lower", "", "", "low", ""], tmp_path / "b.jsonl"
    path.write_text("".join(json.dumps({"text": text}) + "\n" for text in texts))
    done = bbpe.shard(path, tmp_path / "out", tok, empty="keep", **around)
    assert [len(ids) > 0 for ids in done] == [False, True, False, False, True, False]
    found = bbpe.count_shards(done, pattern="gpt2")
    assert (dict(found), found.summary.documents) == ({b"low": 2, b" lower": 1}, 6)
