"""The key of finished tables covers everything that loading reads."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import class_folders
import pytest

import bbpe
from bbpe import formats
from bbpe.files import opened_paths, read_bytes
from bbpe.tables.sources import key_of_path

TEXT = "see the lowest tokens, 123 naïve 한국어 <s>"


@pytest.fixture(autouse=True)
def _small_ones_too(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("bbpe.tables.sources._LEAST", 1)


def test_the_key_covers_all_files_that_loading_reads(tmp_path: Path) -> None:
    pytest.importorskip("sentencepiece.sentencepiece_model_pb2")
    for number, (name, *case) in enumerate(class_folders.cases()):
        if not class_folders.is_plain(name):
            continue
        folder = tmp_path / str(number)
        folder.mkdir()
        class_folders.fill(folder, *case)
        (folder / "config.json").write_text("{}")
        with opened_paths() as hashed:
            assert key_of_path(folder, None, None, None) is not None
        with opened_paths() as read:
            bbpe.load(folder, cache=False)
        assert read <= hashed, name


def test_the_type_of_a_model_is_in_the_key(tmp_path: Path) -> None:
    pytest.importorskip("sentencepiece.sentencepiece_model_pb2")
    folder, cache, found = tmp_path / "model", tmp_path / "tables", []
    folder.mkdir()
    class_folders.fill(folder, "XLMRobertaTokenizer", {}, {})
    (folder / "tokenizer_config.json").unlink()
    for kind in ("mbart", "xlm-roberta", "mbart"):
        (folder / "config.json").write_text(json.dumps({"model_type": kind}))
        loaded = [bbpe.load(folder, cache=cache), bbpe.load(folder, cache=cache), bbpe.load(folder, cache=False)]
        found.append(loaded[0].encode(TEXT, add_special_tokens=True))
        assert [tok.encode(TEXT, add_special_tokens=True) for tok in loaded] == 3 * [found[-1]]
    assert found[0] == found[2] != found[1]


def test_what_reads_a_file_that_the_key_does_not_cover_is_not_stored(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path, other, load = tmp_path / "tokenizer.json", tmp_path / "other", formats.load
    bbpe.train_from_iterator([TEXT], 300).save(path)
    other.write_text("x")

    def reads(*args: Any, **options: Any) -> Any:
        read_bytes(other, most=1)
        return load(*args, **options)

    monkeypatch.setattr(formats, "load", reads)
    bbpe.load(path, cache=tmp_path / "tables")
    assert [*(tmp_path / "tables").iterdir()] == []
    monkeypatch.setattr(formats, "load", load)
    bbpe.load(path, cache=tmp_path / "tables")
    assert len([*(tmp_path / "tables").iterdir()]) == 1
