"""What is timed: one function a job and library.

A job function prepares, outside the clock, and returns what is timed; that returns its answer, of which a
digest is compared between libraries before any figure counts.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from bbpe.core.split import Splitter

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


# -- split: a text -> the ends of its pretokens in bytes; only the splitting is timed --------------------------

ANSWERS["split"] = lambda ends: np.asarray(ends, dtype=np.int64).tobytes()


@job("split", "bbpe")
def split_bbpe(text: bytes, options: dict[str, str]) -> Timed:
    splitter = _splitter(options)
    return lambda: splitter.spans(text)[1:]


@job("split", "regex")
def split_regex(text: bytes, options: dict[str, str]) -> Timed:
    return _then(_regex_pieces(text, options), _ends)


@job("split", "tokenizers")
def split_tokenizers(text: bytes, options: dict[str, str]) -> Timed:
    return _then(_hf_pieces(text, options), _ends)


# -- split_count: how many pretokens a text has; their ends are made in blocks, as encoding takes them ---------

ANSWERS["split_count"] = lambda count: str(count).encode()


@job("split_count", "bbpe")
def split_count_bbpe(text: bytes, options: dict[str, str]) -> Timed:
    splitter = _splitter(options)
    return lambda: splitter.count(text)


@job("split_count", "regex")
def split_count_regex(text: bytes, options: dict[str, str]) -> Timed:
    return _then(_regex_pieces(text, options), len)


@job("split_count", "tokenizers")
def split_count_tokenizers(text: bytes, options: dict[str, str]) -> Timed:
    return _then(_hf_pieces(text, options), len)


def _splitter(options: dict[str, str]) -> Splitter:
    from bbpe.core.split import Splitter
    from bbpe.patterns import get_pattern

    scheme = get_pattern(options["pattern"]).scheme
    if scheme is None:
        raise SystemExit(f"no compiled splitter does {options['pattern']}")
    return Splitter(scheme, options["isa"])


def _regex_pieces(text: bytes, options: dict[str, str]) -> Callable[[], list[str]]:
    import regex

    from bbpe.patterns import get_pattern

    pattern = get_pattern(options["pattern"])
    decoded = text.decode("utf-8", "surrogateescape")
    if len(pattern.steps) > 1:
        return lambda: list(pattern.split(decoded))
    (step,) = pattern.steps
    compiled = regex.compile(step, regex.V1 if "&&" in step else regex.V0)
    return lambda: compiled.findall(decoded)


def _hf_pieces(text: bytes, options: dict[str, str]) -> Callable[[], list[str]]:
    from tokenizers import Regex
    from tokenizers.pre_tokenizers import Sequence, Split

    from bbpe.formats.oniguruma import to_oniguruma
    from bbpe.patterns import get_pattern

    steps = to_oniguruma(get_pattern(options["pattern"]).steps)
    splits = Sequence([Split(Regex(step), "isolated") for step in steps])
    decoded = text.decode()
    return lambda: [piece for piece, _ in splits.pre_tokenize_str(decoded)]


def _then(pieces: Callable[[], list[str]], answer: Callable[[list[str]], Any]) -> Timed:
    return lambda: answer(pieces())


def _ends(pieces: list[str]) -> Any:
    from bbpe.core.split import utf8_ends

    return utf8_ends(pieces)
