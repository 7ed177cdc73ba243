"""HF folders: what lies beside tokenizer.json."""

from __future__ import annotations

from pathlib import Path

from vocabularies import document, write_json

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
