"""HF folders: what lies beside tokenizer.json."""

from __future__ import annotations

from pathlib import Path

import pytest
from vocabularies import document, write_json, write_pair

from bbpe.loading import load


def test_a_folder_is_carried_along(tmp_path: Path) -> None:
    """Configuration and chat template are written again as they were, and are no part of what a tokenizer is."""
    folder = tmp_path / "model"
    folder.mkdir()
    write_json(folder / "tokenizer.json", document())
    beside = {
        "tokenizer_config.json": b'{"model_max_length": 77}',
        "special_tokens_map.json": b"{}",
        "chat_template.jinja": "{{ messages }} é".encode(),
    }
    for name, data in beside.items():
        (folder / name).write_bytes(data)
    (folder / "model.safetensors").write_bytes(b"not ours")
    tok = load(folder)
    assert tok.spec.files == beside
    assert tok == load(write_json(tmp_path / "alone.json", document()))
    for target in (tmp_path / "again", tmp_path / "given" / "tokenizer.json"):
        target.parent.mkdir(exist_ok=True)
        tok.save(target, format="huggingface")
        written = target if target.is_dir() else target.parent
        assert {path.name: path.read_bytes() for path in written.iterdir() if path.name in beside} == beside
        assert not (written / "model.safetensors").exists()
        assert load(written) == tok
    assert load(folder / "tokenizer.json").spec.files == beside
    tok.save(tmp_path / "one.json")
    assert not (tmp_path / "chat_template.jinja").exists()


@pytest.mark.parametrize("name", ["vocab.json", "merges.txt", "vocab.txt", ""])
def test_files_beside_another_vocabulary_are_carried_along(tmp_path: Path, name: str) -> None:
    """Also where the path names a file: those of names that `transformers` reads in a folder."""
    if name == "vocab.txt":
        (tmp_path / name).write_text("[UNK]\nsee\nmy\n")
    else:
        write_pair(tmp_path)
    options = {} if name == "vocab.txt" else {"pattern": "gpt2"}
    alone = load(tmp_path / name, **options)
    assert not alone.spec.files
    template = "{{ messages }} é".encode()
    (tmp_path / "chat_template.jinja").write_bytes(template)
    tok = load(tmp_path / name, **options)
    assert (tok, tok.spec.files) == (alone, {"chat_template.jinja": template})
    for old, new in (("vocab.json", "encoder.json"), ("merges.txt", "vocab.bpe"), ("vocab.txt", "x-vocab.txt")):
        if (tmp_path / old).exists():
            (tmp_path / old).rename(tmp_path / new)
            name = new if name == old else name
    assert bool(load(tmp_path / name, **options).spec.files) == (name == "")
