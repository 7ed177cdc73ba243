"""The symbols of SentencePiece's models by their uses, under any names."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from class_folders import USES

import bbpe

sentencepiece = pytest.importorskip("sentencepiece")
LINES = ["see my eyes first", "see my dogs", "the ing the in 12"] * 20
OPTIONS: list[dict[str, Any]] = [
    {},
    {"bos_piece": "[B]", "eos_piece": "[E]", "unk_piece": "[U]", "pad_id": 3, "pad_piece": "[P]"},
    {"bos_id": -1, "eos_id": 1, "unk_id": 2, "pad_id": 0},
    {"bos_id": -1, "eos_id": -1},
    {"bos_id": -1, "bos_piece": "[B]", "control_symbols": ["[B]", "<cls>"]},
    {"bos_id": -1, "user_defined_symbols": ["<s>"]},
]


def trained(path: Path, **options: Any) -> Any:
    """A processor of a model that it has trained."""
    sentencepiece.SentencePieceTrainer.train(
        sentence_iterator=iter(LINES), model_prefix=str(path), vocab_size=60, minloglevel=2, hard_vocab_limit=False,
        **options,
    )  # fmt: skip
    return sentencepiece.SentencePieceProcessor(model_file=f"{path}.model")


@pytest.mark.parametrize("kind", ["unigram", "bpe", "char"])
@pytest.mark.parametrize("options", OPTIONS, ids=str)
def test_symbols_by_their_uses(tmp_path: Path, kind: str, options: dict[str, Any]) -> None:
    judge = trained(tmp_path / "m", model_type=kind, **options)
    tok = bbpe.load(tmp_path / "m.model")
    for path in (tmp_path / "m.model", tmp_path / "saved.model"):
        tok = bbpe.load(path)
        view = tok.as_sentencepiece()
        for use in USES:
            expected = getattr(judge, f"{use}_id")()
            assert getattr(view, f"{use}_id")() == expected, use
            assert getattr(tok, f"{use}_token_id") == (None if expected < 0 else expected)
            assert getattr(tok, f"{use}_token") == (None if expected < 0 else judge.id_to_piece(expected))
        has_bos, has_eos = judge.bos_id() >= 0, judge.eos_id() >= 0
        row = judge.encode("see dogs", add_bos=has_bos, add_eos=has_eos)
        assert view.encode("see dogs", add_bos=has_bos, add_eos=has_eos) == row
        if not has_bos:
            with pytest.raises(ValueError, match=r"the model has no piece .* for add_bos"):
                view.encode("see", add_bos=True)
        tok.save(tmp_path / "saved.model")
    again = sentencepiece.SentencePieceProcessor(model_file=str(tmp_path / "saved.model"))
    assert [getattr(again, f"{use}_id")() for use in USES] == [getattr(judge, f"{use}_id")() for use in USES]


def test_files_of_a_folder_take_precedence(tmp_path: Path) -> None:
    trained(tmp_path / "tokenizer")
    (tmp_path / "tokenizer_config.json").write_text('{"eos_token": "<end>"}', "utf-8")
    tok = bbpe.load(tmp_path)
    assert (tok.bos_token, tok.eos_token) == ("<s>", "<end>")
