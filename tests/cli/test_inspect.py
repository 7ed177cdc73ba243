"""`bbpe inspect` shows which rule or pattern is not compiled, and why."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from vocabularies import added, byte_level, document, keys, sequence, split, write_json

import bbpe
from bbpe.cli import main


@pytest.mark.parametrize(
    ("changes", "sentence"),
    [
        ({}, None),
        (
            {"pre_tokenizer": sequence(split(r"(t)\1"), byte_level(use_regex=False))},
            "The pattern '(t)\\\\1' runs in Python because it has the escape \\1.",
        ),
        (
            {"pre_tokenizer": sequence(split(r"(t)\1", behavior="MergedWithNext"), byte_level())},
            "The regex '(t)\\\\1' of the pre-tokenizer Split runs in Python because it has the escape \\1.",
        ),
        (
            {"normalizer": {"type": "Replace", "pattern": {"Regex": r"(t)\1"}, "content": "x"}},
            "The regex '(t)\\\\1' of the normalizer Replace runs in Python because it has the escape \\1.",
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
    assert bbpe.load(path)._parts.places.has_words


SENTENCES = {
    "ordinary": ({}, "nothing"),
    "no decoder": ({"decoder": None}, "the file has no decoder, so `decode` puts a blank between all tokens"),
    "lower case": (
        {"normalizer": {"type": "Lowercase"}},
        "texts are changed before the model by Lowercase; `decode` does not undo it",
    ),
    "white space": (
        {"added_tokens": [added("<s>", 270, lstrip=True)]},
        "1 special or added tokens take white space ('<s>')",
    ),
    "unmade": (
        {"model__merges": []},
        "no merges make 11 tokens ('th' 'the' ' the' and 8 more), so texts never have their ids",
    ),
    "truncation": (
        {"truncation": {"direction": "Right", "max_length": 9, "strategy": "LongestFirst", "stride": 0}},
        "the file has truncation: defaults of `encode_padded`, without effect on `encode`",
    ),
    "bytes": (
        {"model__vocab": {key: number for key, number in keys().items() if number not in (3, 4)}, "model__merges": []},
        "2 bytes have no token (0x24 0x25) and are left out, so texts do not come back",
    ),
}


@pytest.mark.parametrize("name", SENTENCES)
def test_what_is_unusual(capfd: pytest.CaptureFixture[str], tmp_path: Path, name: str) -> None:
    changes, sentence = SENTENCES[name]
    path = write_json(tmp_path / "tokenizer.json", document(**changes))
    assert main(["inspect", str(path)]) == 0
    out = capfd.readouterr().out
    lines = out.splitlines()
    assert f"unusual {sentence}" in " ".join(out.split())
    assert len(lines) <= 24


def test_inspect_fits_a_screen(capfd: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    tokens = [added(f"<{number}>", 300 + number, special=number % 2 == 0) for number in range(500)]
    normalizer = {"type": "Sequence", "normalizers": [{"type": "Lowercase"}] * 9}
    path = write_json(tmp_path / "tokenizer.json", document(added_tokens=tokens, normalizer=normalizer, decoder=None))
    assert main(["inspect", str(path)]) == 0
    out = capfd.readouterr().out
    assert len(out.splitlines()) <= 24
    assert {line[:17].strip() for line in out.splitlines() if line.startswith(" ")} == {""}
    assert any(line.startswith(" " * 17) and line[17] != " " for line in out.splitlines())
    assert "special_tokens   250: 267 '<0>', 269 '<2>', 271 '<4>', 273 '<6>' and 246 more" in out


def test_the_first_merges(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    """As the log of merges has them; a model without merges has none."""
    bbpe.train_from_iterator(["low lower lowest"], 262).save(tmp_path / "t.json")
    bbpe.train_from_iterator(["low lower lowest"] * 9, 270, model="unigram").save(tmp_path / "u.json")
    shown = "'l' + 'o', 'lo' + 'w', ' ' + 'low', ' low' + 'e', 's' + 't', ' lowe' + 'r'"
    assert main(["inspect", str(tmp_path / "t.json"), "--json"]) == 0
    assert json.loads(capfd.readouterr().out)["first_merges"] == shown
    assert main(["inspect", str(tmp_path / "t.json")]) == 0
    assert f"first_merges     {shown}\n" in capfd.readouterr().out
    assert main(["inspect", str(tmp_path / "u.json")]) == 0
    assert "first_merges  " not in capfd.readouterr().out
