"""Vocabulary files as files: which format a name says, what a format cannot hold, and whole or not at all."""

from __future__ import annotations

import errno
import json
import os
import shutil
import stat
from io import BufferedWriter
from pathlib import Path
from typing import Any

import pytest
from systems import needs_modes
from vocabularies import MERGES, small_spec, vocab_of

from bbpe import formats
from bbpe.errors import VocabularyError
from bbpe.files import write_atomic, write_folder_atomic
from bbpe.spec.spec import make_spec
from bbpe.splitting.patterns import get_pattern


def test_format_by_suffix(tmp_path: Path) -> None:
    spec = small_spec()
    for name, expected in (("a.json", "huggingface"), ("b.tiktoken", "tiktoken"), ("c", "huggingface")):
        formats.dump(spec, tmp_path / name)
        assert formats.sniff(tmp_path / name) == expected
    formats.dump(spec, tmp_path / "d", "gpt2")
    assert formats.sniff(tmp_path / "d") == "gpt2"
    for name in ("tok-1.5", "model.v2", "a.b"):  # the names of folders
        formats.dump(spec, tmp_path / name)
        written = sorted((tmp_path / name).iterdir())
        assert [entry.name for entry in written] == ["tokenizer.json", "tokenizer_config.json"]
        # with which onnxruntime-extensions reads the folder
        assert json.loads(written[1].read_bytes()) == {"tokenizer_class": "PreTrainedTokenizerFast"}
    with pytest.raises(ValueError, match=r"a\.bin: no format is chosen by the suffix '\.bin'; expected one of \.codes"):
        formats.dump(spec, tmp_path / "a.bin")
    (tmp_path / "a.bin").mkdir()
    formats.dump(spec, tmp_path / "a.bin")
    formats.dump(spec, tmp_path / "b.bin", "huggingface")
    assert formats.sniff(tmp_path / "a.bin") == formats.sniff(tmp_path / "b.bin") == "huggingface"
    for name, near in (("runes", ""), ("hf", "huggingface"), ("tiktokn", "tiktoken"), ("spm", "sentencepiece")):
        with pytest.raises(ValueError, match=rf"format is '{name}'; expected 'huggingface', .*{near}") as caught:
            formats.dump(spec, tmp_path / "a.json", name)
        assert ("did you mean" in str(caught.value)) == bool(near)


def test_what_a_format_cannot_hold(tmp_path: Path) -> None:
    whole = make_spec({**vocab_of(), 300: b"zebra"}, None, pattern=get_pattern("gpt2"), whole_pretokens=True)
    with pytest.raises(VocabularyError, match=r"only as whole pretokens, such as b'zebra'.*\.tiktoken"):
        formats.dump(whole, tmp_path / "folder", "gpt2")
    assert not list(tmp_path.iterdir())
    # a token that nothing makes is only a row where pretokens are not looked up
    for rows in (None, MERGES):
        spec = make_spec(whole.vocab, rows, pattern=get_pattern("gpt2"))
        formats.dump(spec, tmp_path / "folder", "gpt2")
        assert formats.load(tmp_path / "folder", pattern="gpt2").vocab == spec.vocab
        shutil.rmtree(tmp_path / "folder")
    with pytest.raises(VocabularyError, match=r"a\.tiktoken: merging by rank differs"):
        formats.dump(make_spec(vocab_of(), MERGES[::-1], pattern=get_pattern("gpt2")), tmp_path / "a.tiktoken")
    rows = (("the", "huggingface"), ("é", "huggingface"), ("<é>", "gpt2"), ("<\ud800>", "huggingface"))
    for text, name in rows:
        spec = small_spec(special_tokens={text: 300})
        with pytest.raises(VocabularyError, match="special token"):
            formats.dump(spec, tmp_path / "a", name)
    with pytest.raises(VocabularyError, match="line break"):
        formats.dump(small_spec(special_tokens={"<\n>": 300}), tmp_path / "folder", "vocab_txt")
    assert not list(tmp_path.iterdir())


def test_written_in_full_or_not_at_all(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write_atomic(tmp_path / "a", b"old")

    def interrupted(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(Path, "replace", interrupted)
    monkeypatch.setattr(os, "replace", interrupted)
    with pytest.raises(KeyboardInterrupt):
        write_atomic(tmp_path / "a", b"new")
    with pytest.raises(KeyboardInterrupt):
        write_folder_atomic(tmp_path / "made", {"x": b"1", "y": b"2"})
    assert [entry.name for entry in tmp_path.iterdir()] == ["a"]
    assert (tmp_path / "a").read_bytes() == b"old"


@needs_modes
def test_permissions_are_those_of_the_umask(tmp_path: Path) -> None:
    before = os.umask(0o027)
    try:
        write_atomic(tmp_path / "a", b"")
    finally:
        os.umask(before)
    assert stat.S_IMODE((tmp_path / "a").stat().st_mode) == 0o640


def test_writing_into_nowhere_names_the_file(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError) as caught:
        formats.dump(small_spec(), tmp_path / "missing" / "a.json")
    assert caught.value.filename == str(tmp_path / "missing" / "a.json")
    with pytest.raises(FileNotFoundError):
        formats.load(tmp_path / "missing.json")


def test_written_json_is_utf8(tmp_path: Path) -> None:
    formats.dump(small_spec(special_tokens={"<中>": 300}), tmp_path / "a.json")
    text = (tmp_path / "a.json").read_text(encoding="utf-8")
    assert "<中>" in text
    assert json.loads(text)["model"]["vocab"]["Ġthe"] == 258


@pytest.mark.parametrize("at", [0, 1, 2])
def test_of_several_files_the_one_that_has_no_room_is_named(
    at: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Full(BufferedWriter):
        def write(self, data: Any) -> int:
            if data == b"123"[at : at + 1]:
                raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
            return super().write(data)

    monkeypatch.setattr("bbpe.files.BufferedWriter", Full)
    with pytest.raises(OSError, match=os.strerror(errno.ENOSPC)) as caught:
        write_folder_atomic(tmp_path, {"a": b"1", "b": b"2", "c": b"3"})
    assert caught.value.filename == str(tmp_path / "abc"[at])
    assert list(tmp_path.iterdir()) == []
