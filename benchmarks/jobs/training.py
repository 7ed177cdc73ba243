"""train: a text -> merges, as pairs of byte-alphabet strings."""

from __future__ import annotations

import json
from typing import Any

from .registry import Timed, define, job

define("train", lambda merges: repr(merges).encode(), vocab_size="32768")


@job("train", "bbpe")
def train_bbpe(_library: str, text: bytes, options: dict[str, str]) -> Timed:
    import bbpe
    from bbpe.normalize import bytes_to_alphabet

    def run() -> Any:
        tok = bbpe.train_from_iterator([text], int(options["vocab_size"]), threads=int(options["threads"]))
        return [(bytes_to_alphabet(left), bytes_to_alphabet(right)) for left, right in tok.merges]

    return run


@job("train", "tokenizers")
def train_tokenizers(_library: str, text: bytes, options: dict[str, str]) -> Timed:
    from tokenizers import Tokenizer, models, pre_tokenizers, trainers

    decoded = text.decode("utf-8", "replace")

    def run() -> Any:
        tok = Tokenizer(models.BPE())
        tok.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
        alphabet = pre_tokenizers.ByteLevel.alphabet()
        trainer = trainers.BpeTrainer(
            vocab_size=int(options["vocab_size"]), initial_alphabet=alphabet, special_tokens=[], show_progress=False
        )
        tok.train_from_iterator([decoded], trainer)
        return [tuple(merge) for merge in json.loads(tok.to_str())["model"]["merges"]]

    return run
