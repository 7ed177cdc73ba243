"""`bbpe inspect` shows which rule or pattern is not compiled, and why."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from vocabularies import byte_level, document, sequence, split, write_json

import bbpe
from bbpe.cli import main


@pytest.mark.parametrize(
    ("changes", "sentence"),
    [
        ({}, None),
        (
            {"pre_tokenizer": sequence(split(r"(?<=th)e"), byte_level(use_regex=False))},
            "The pattern '(?<=th)e' runs in Python because it has a lookaround of more than one character.",
        ),
        (
            {"pre_tokenizer": sequence(split(r"(?<=th)e", behavior="MergedWithNext"), byte_level())},
            "The pre-tokenizers run in Python: pattern '(?<=th)e': a lookaround of more than one character.",
        ),
        (
            {"normalizer": {"type": "Replace", "pattern": {"Regex": "(?<=th)e"}, "content": "x"}},
            "The normalizer Replace runs in Python because the regex '(?<=th)e' has a lookaround of more than one "
            "character.",
        ),
    ],
    ids=["nothing", "pattern", "pre-tokenizers", "normalizer"],
)
def test_inspect_shows_what_is_not_compiled(
    capfd: pytest.CaptureFixture[str], tmp_path: Path, changes: dict[str, object], sentence: str | None
) -> None:
    path = write_json(tmp_path / "tokenizer.json", document(**changes))
    assert main(["inspect", str(path), "--json"]) == 0
    assert json.loads(capfd.readouterr().out)["runs_in_python"] == sentence
    assert (bbpe.load(path)._encoder.word_texts is None) == (sentence is not None)
