"""What is timed: one function a job and library.

A job function prepares, outside the clock, and returns what is timed; that returns its answer, of which a
digest is compared between libraries before any figure counts.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable
from typing import Any

import numpy as np

Timed = Callable[[], Any]
Job = Callable[[bytes, "dict[str, str]"], Timed]

JOBS: dict[tuple[str, str], Job] = {}
#: How an answer becomes bytes that are the same for every library that is right.
ANSWERS: dict[str, Callable[[Any], bytes]] = {}


def job(name: str, library: str) -> Callable[[Job], Job]:
    def register(function: Job) -> Job:
        JOBS[name, library] = function
        return function

    return register


def digest(name: str, answer: Any) -> str:
    return hashlib.sha256(ANSWERS[name](answer)).hexdigest()[:16]


# -- train: a text -> merges, as pairs of byte-alphabet strings ------------------------------------------------

ANSWERS["train"] = lambda merges: repr(merges).encode()


@job("train", "bbpe")
def train_bbpe(text: bytes, options: dict[str, str]) -> Timed:
    import bbpe
    from bbpe.normalize import bytes_to_alphabet

    def run() -> Any:
        tok = bbpe.train_from_iterator([text], int(options["vocab_size"]), threads=int(options["threads"]))
        return [(bytes_to_alphabet(left), bytes_to_alphabet(right)) for left, right in tok.merges]

    return run


@job("train", "tokenizers")
def train_tokenizers(text: bytes, options: dict[str, str]) -> Timed:
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


# -- encode: a text -> ids, with the vocabulary of a rank file -------------------------------------------------

ANSWERS["encode"] = lambda ids: np.asarray(ids, dtype=np.uint32).tobytes()


@job("encode", "bbpe")
def encode_bbpe(text: bytes, options: dict[str, str]) -> Timed:
    import bbpe

    tok = bbpe.load(options["vocab"])
    decoded = text.decode("utf-8", "replace")
    return lambda: tok.encode_to_numpy(decoded)


@job("encode", "tiktoken")
def encode_tiktoken(text: bytes, options: dict[str, str]) -> Timed:
    import tiktoken

    import bbpe

    tok = bbpe.load(options["vocab"])
    (pattern,) = tok.spec.pattern.steps
    encoding = tiktoken.Encoding("x", pat_str=pattern, mergeable_ranks=tok.ranks, special_tokens={})
    decoded = text.decode("utf-8", "replace")
    return lambda: encoding.encode_ordinary(decoded)


# -- split: a text -> the ends of its pretokens in bytes -------------------------------------------------------

ANSWERS["split"] = lambda ends: np.asarray(ends, dtype=np.int64).tobytes()


@job("split", "bbpe")
def split_bbpe(text: bytes, options: dict[str, str]) -> Timed:
    from bbpe.patterns import get_pattern
    from bbpe.splitting import TextSplitter

    splitter = TextSplitter(get_pattern(options["pattern"]))
    return lambda: splitter.cut(text)[2]


@job("split", "regex")
def split_regex(text: bytes, options: dict[str, str]) -> Timed:
    import regex

    from bbpe.core.split import utf8_ends
    from bbpe.patterns import get_pattern

    (step,) = get_pattern(options["pattern"]).steps
    compiled = regex.compile(step)
    decoded = text.decode("utf-8", "surrogateescape")
    return lambda: utf8_ends(compiled.findall(decoded))
