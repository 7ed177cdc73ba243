"""Following a load through the package, a reader visits few modules: those of the components that the file has."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from journeys import journey

import bbpe


def test_loading_a_file_is_a_short_journey(tmp_path: Path) -> None:
    bbpe.train_from_iterator(["low lower lowest"], 258).save(tmp_path / "tokenizer.json")
    found = journey(lambda: bbpe.load(tmp_path / "tokenizer.json"))
    assert found.rooms <= 17, found
    assert found.changes <= 82, found


FOLDER = """
import sys, bbpe
bbpe.load(sys.argv[1], cache=False)
names = "bbpe.splitting.character_sets bbpe.formats.sentencepiece.piece_rows bbpe.splitting.fancy_regex".split()
print([name for name in names if name in sys.modules])
"""


def test_loading_a_folder_imports_what_it_needs(tmp_path: Path) -> None:
    """Of a class that reads a tokenizer.json, without tables of characters and readers of other formats."""
    bbpe.train_from_iterator(["low lower lowest"], 258, pattern="gpt2").save(tmp_path)
    (tmp_path / "tokenizer_config.json").write_text('{"tokenizer_class": "GPT2Tokenizer"}')
    command = [sys.executable, "-c", FOLDER, str(tmp_path)]
    assert subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip() == "[]"


def test_a_folder_that_the_system_does_not_list(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its files are found by name."""
    bbpe.train_from_iterator(["low lower lowest"], 258, pattern="gpt2").save(tmp_path)
    (tmp_path / "tokenizer_config.json").write_text('{"bos_token": "<s>"}')
    (tmp_path / "additional_chat_templates").mkdir()
    (tmp_path / "additional_chat_templates" / "tools.jinja").write_text("x")
    listed = bbpe.load(tmp_path, cache=False).spec

    scan = os.scandir

    def refuse(path: Any) -> Any:
        if Path(path) == tmp_path:
            raise PermissionError(13, "no", str(path))
        return scan(path)

    monkeypatch.setattr("os.scandir", refuse)
    found = bbpe.load(tmp_path, cache=False).spec
    assert found == listed
    assert dict(found.files) == dict(listed.files)
    assert "additional_chat_templates/tools.jinja" in listed.files
    assert "<s>" in found.special_tokens
