"""Models of SentencePiece's own training."""

from __future__ import annotations

import io
from pathlib import Path
from typing import Any

import pytest

sentencepiece = pytest.importorskip("sentencepiece", minversion="0.2.3")


def trained(path: Path, lines: list[str], size: int = 420, **options: Any) -> Path:
    """A model of SentencePiece's own training."""
    model = io.BytesIO()
    sentencepiece.SentencePieceTrainer.train(
        sentence_iterator=iter(lines), model_writer=model, vocab_size=size, minloglevel=2, max_sentence_length=1 << 20,
        **{"model_type": "unigram", "hard_vocab_limit": False, **options},
    )  # fmt: skip
    path.write_bytes(model.getvalue())
    return path
