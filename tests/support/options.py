"""Flat options of training, as tests combine them, in the objects that `train` takes."""

from __future__ import annotations

from dataclasses import fields
from typing import Any

import bbpe

MODELS: dict[str, Any] = {"bpe": bbpe.BPE, "wordpiece": bbpe.WordPiece, "unigram": bbpe.Unigram}
MODEL_FIELDS = {field.name for kind in MODELS.values() for field in fields(kind)}
COUNTING_FIELDS = {field.name for field in fields(bbpe.Counting)}


def model_options(**options: Any) -> dict[str, Any]:
    """Move the options of a model into `model`."""
    own = {name: options.pop(name) for name in list(options) if name in MODEL_FIELDS}
    if own:
        options["model"] = MODELS[options.get("model", "bpe")](**own)
    return options


def counting_options(**options: Any) -> dict[str, Any]:
    """Move the options of counting into `counting`."""
    own = {name: options.pop(name) for name in list(options) if name in COUNTING_FIELDS}
    return {**options, "counting": bbpe.Counting(**own)} if own else options


def train_options(**options: Any) -> dict[str, Any]:
    """Move the options of a model and of counting into `model` and `counting`."""
    return counting_options(**model_options(**options))
