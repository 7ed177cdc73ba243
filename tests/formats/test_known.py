"""Vocabularies that are recognised by their tokens, in whatever form their files are."""

from __future__ import annotations

from pathlib import Path

import pytest
from small_published import RANKS, SPECIAL, check
from vocabularies import vocab_of

import bbpe
from bbpe.errors import VocabularyError
from bbpe.formats.common import given

LINES = RANKS.splitlines()
FORMS = {
    "as published": RANKS,
    "line ends of Windows": b"".join(line + b"\r\n" for line in LINES),
    "another order": b"".join(line + b"\n" for line in reversed(LINES)),
    "blank lines": b"\n\n".join(LINES) + b"\n\n",
    "no last line end": b"\n".join(LINES),
    "more blanks": b"".join(line.replace(b" ", b"  ") + b" \n" for line in LINES),
}


@pytest.fixture(autouse=True)
def _small_is_known(bare: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(given._NAMES, "small", "small")


@pytest.mark.parametrize("form", FORMS)
def test_rank_files_of_any_form(form: str, tmp_path: Path) -> None:
    path = tmp_path / "mine.tiktoken"
    path.write_bytes(FORMS[form])
    check(bbpe.load(path))
    # what the caller says goes before what is known
    tok = bbpe.load(path, pattern="gpt2", special_tokens={"<x>": 400}, name="mine")
    assert (tok.pattern, dict(tok.special_tokens), tok.name) == ("gpt2", {"<x>": 400}, "mine")


def test_one_other_token_is_another_vocabulary(tmp_path: Path) -> None:
    path = tmp_path / "mine.tiktoken"
    path.write_bytes(b"\n".join([*LINES[:-1], b"enp6 " + LINES[-1].split()[1]]))
    with pytest.raises(VocabularyError, match="is not a known one"):
        bbpe.load(path)


@pytest.mark.parametrize("names", [("vocab.json", "merges.txt"), ("encoder.json", "vocab.bpe")])
def test_a_folder_has_either_pair_of_names(names: tuple[str, str], bare: Path, tmp_path: Path) -> None:
    folder = tmp_path / "model"
    folder.mkdir()
    for name, source in zip(names, ("vocab", "merges"), strict=True):
        (folder / name).write_bytes((bare / "files" / source).read_bytes())
    loaded = [bbpe.load(path) for path in (folder, folder / names[0], folder / names[1])]
    for tok in loaded:
        assert (tok.name, tok.pattern, dict(tok.special_tokens)) == ("small", "llama3", SPECIAL)
        assert tok.spec.vocab == vocab_of()
        assert tok.encode(" theing") == loaded[0].encode(" theing")
    assert bbpe.load(folder, pattern="gpt2").pattern == "gpt2"
