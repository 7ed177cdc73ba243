"""A file that is given twice counts twice, and one that a folder or a pattern names twice counts once; everywhere."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from systems import link

import bbpe
from bbpe.cli import main

TEXTS = ["see my eyes first", "see my dogs"]


@pytest.fixture
def twice(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Three names of two files, one of them by its name and through a pattern that has a link to it too."""
    monkeypatch.chdir(tmp_path)
    for name, text in zip("ab", TEXTS, strict=True):
        Path(f"{name}.txt").write_text(text)
    link(Path("link.txt"), "a.txt")
    return ["a.txt", "*.txt"]


TWICE = [TEXTS[0], *TEXTS]


def test_counts(twice: list[str], tmp_path: Path) -> None:
    right = list(bbpe.count_from_iterator(TWICE, pattern="gpt2"))
    options: list[dict[str, Any]] = [{}, {"threads": 2}, {"max_memory": "4GB"}, {"checkpoint": tmp_path / "state"}]
    for each in options:
        for _ in range(2):
            counts = bbpe.count(twice, pattern="gpt2", **each)
            assert (list(counts), counts.summary.files, counts.summary.documents) == (right, 3, 3)
    with ThreadPoolExecutor(2) as executor:
        assert list(bbpe.count(twice, pattern="gpt2", executor=executor)) == right
    plan = bbpe.plan_count(twice, tmp_path / "plan", pattern="gpt2", part_size=1)
    for number in range(len(plan)):
        bbpe.count_part(plan, number)
    counts = bbpe.sum_counts(tmp_path / "plan")
    assert (list(counts), counts.summary.files, counts.summary.documents) == (right, 3, 3)
    with pytest.raises(bbpe.CorpusError, match="another plan"):
        bbpe.plan_count(["a.txt", "b.txt"], tmp_path / "plan", pattern="gpt2", part_size=1)


def test_training(twice: list[str]) -> None:
    model = bbpe.BPE(min_frequency=3)
    assert bbpe.train(twice, 290, model=model) == bbpe.train_from_iterator(TWICE, 290, model=model)
    base = bbpe.train_from_iterator(TEXTS, 257)
    assert bbpe.extend(base, ["b.txt", "b.txt"], 5) == bbpe.extend(base, "b.txt", 5)


@pytest.mark.parametrize("part_size", [1, "1MB"])
def test_ids(twice: list[str], part_size: int | str, tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    tok = bbpe.train_from_iterator(TEXTS, 270)
    ids = [tok.encode(text) for text in TWICE]
    assert [each.tolist() for each in tok.encode_files(twice)] == ids
    assert bbpe.count_tokens(twice, tok).documents == 3
    shards = bbpe.shard(twice, tmp_path / "out", tok, eos=None, part_size=part_size)
    assert [each.tolist() for each in shards] == ids
    assert bbpe.verify_shards(tmp_path / "out", tok, sample=1.0) == []
    assert bbpe.shard(twice, tmp_path / "out", tok, eos=None, part_size=part_size).totals == shards.totals
    with pytest.raises(bbpe.CorpusError, match="the order of files, one that is named again, or where"):
        bbpe.shard(["a.txt", "b.txt"], tmp_path / "out", tok, eos=None, part_size=part_size)
    tok.save("t.json")
    assert main(["tokens", "-t", "t.json", *twice]) == 0
    assert capfd.readouterr().out.splitlines()[-1].split() == [str(sum(map(len, ids))), "total"]
    assert main(["encode", "-t", "t.json", *twice]) == 0
    assert [list(map(int, line.split())) for line in capfd.readouterr().out.splitlines()] == ids
