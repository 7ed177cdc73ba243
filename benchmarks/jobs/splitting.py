"""split: a text -> the ends of its pretokens in bytes; split_count: how many it has, made in blocks."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from .registry import Timed, define, job

if TYPE_CHECKING:
    from bbpe.core.split import Splitter

define("split", lambda ends: np.asarray(ends, dtype=np.int64).tobytes(), pattern="gpt2", isa="auto")
define("split_count", lambda count: str(count).encode(), pattern="gpt2", isa="auto")


@job("split", "bbpe")
def split_bbpe(_library: str, text: bytes, options: dict[str, str]) -> Timed:
    splitter = _splitter(options)
    return lambda: splitter.spans(text)[1:]


@job("split", "regex")
def split_regex(_library: str, text: bytes, options: dict[str, str]) -> Timed:
    return _then(_regex_pieces(text, options), _ends)


@job("split", "tokenizers")
def split_tokenizers(_library: str, text: bytes, options: dict[str, str]) -> Timed:
    return _then(_hf_pieces(text, options), _ends)


@job("split_count", "bbpe")
def split_count_bbpe(_library: str, text: bytes, options: dict[str, str]) -> Timed:
    splitter = _splitter(options)
    return lambda: splitter.count(text)


@job("split_count", "regex")
def split_count_regex(_library: str, text: bytes, options: dict[str, str]) -> Timed:
    return _then(_regex_pieces(text, options), len)


@job("split_count", "tokenizers")
def split_count_tokenizers(_library: str, text: bytes, options: dict[str, str]) -> Timed:
    return _then(_hf_pieces(text, options), len)


def _splitter(options: dict[str, str]) -> Splitter:
    from bbpe.core.split import Splitter
    from bbpe.splitting.patterns import get_pattern

    scheme = get_pattern(options["pattern"]).scheme
    if scheme is None:
        raise SystemExit(f"no compiled splitter does {options['pattern']}")
    return Splitter(scheme, options["isa"])


def _regex_pieces(text: bytes, options: dict[str, str]) -> Callable[[], list[str]]:
    import regex

    from bbpe.splitting.patterns import get_pattern

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

    from bbpe.formats.huggingface.normalizers import to_oniguruma
    from bbpe.splitting.patterns import get_pattern

    steps = to_oniguruma(get_pattern(options["pattern"]).steps)
    splits = Sequence([Split(Regex(step), "isolated") for step in steps])
    decoded = text.decode()
    return lambda: [piece for piece, _ in splits.pre_tokenize_str(decoded)]


def _then(pieces: Callable[[], list[str]], answer: Callable[[list[str]], Any]) -> Timed:
    return lambda: answer(pieces())


def _ends(pieces: list[str]) -> Any:
    from bbpe.core.split import utf8_ends

    return utf8_ends(pieces)
