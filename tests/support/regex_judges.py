"""The judges of a regex: the `regex` package, and for their dialects `tokenizers` and tiktoken.

Each compares matches on texts, and returns their number, or the reason why there is nothing to compare.
"""

from __future__ import annotations

import random
from collections.abc import Sequence
from itertools import pairwise
from typing import Any

import regex
from regex_texts import texts_of
from strings import adversarial_strings, byte_offsets

import bbpe.tiktoken
from bbpe.core.automaton import Automaton
from bbpe.errors import PatternError
from bbpe.formats.huggingface.normalizers import from_oniguruma
from bbpe.splitting.automaton import automaton_of
from bbpe.splitting.fancy_regex import from_fancy_regex
from bbpe.splitting.patterns import Pattern
from bbpe.splitting.regex_syntax import parse_regex
from bbpe.splitting.regexes import compiled
from bbpe.splitting.splitter import compiled_steps

#: Texts of many scripts.
SCRIPTS = adversarial_strings(200, seed=5)


class DifferenceError(AssertionError):
    """The matches of a regex are not those of a judge."""


def texts_for(source: str, seed: int, count: int) -> list[str]:
    """Return texts that a regex of the `regex` package nearly matches, and half as many of many scripts."""
    rng = random.Random(f"{seed} {source}")
    return [*texts_of(parse_regex(source), rng, count), *rng.choices(SCRIPTS, k=count // 2)]


def by_package(source: str, seed: int, count: int) -> int | str:
    found = automaton_of(source)
    if found.tables is None:
        return found.reason
    automaton, texts = Automaton(found.tables), texts_for(source, seed, count)
    for text in texts:
        offsets = byte_offsets(text)
        expected = [(offsets[start], offsets[end]) for start, end in compiled(source).spans(text)]
        check(source, text, automaton.spans(text.encode("utf-8", "surrogateescape")), expected)
    return len(texts)


def by_tokenizers(source: str, seed: int, count: int) -> int | str:
    """Compare a regex as one of Oniguruma."""
    import tokenizers

    if regex.search(r"\(\?<[=!]\(*\(\?<", source):
        return "there: a lookbehind that begins with another of several lengths, which is never true in Oniguruma"
    try:
        theirs = tokenizers.pre_tokenizers.Split(tokenizers.Regex(source), "isolated")
    except Exception as error:
        return f"there: {error}"
    try:
        ours = from_oniguruma(source, path="tokenizer.json", place="pre_tokenizer")
    except PatternError as error:
        return f"here: {error}"
    if automaton_of(ours).tables is None:
        return automaton_of(ours).reason
    chain, compared = compiled_steps(Pattern(None, (ours,))), 0
    for text in filter(None, texts_for(ours, seed, count)):
        try:
            expected = [piece for piece, _ in theirs.pre_tokenize_str(text)]
        except BaseException:  # it gives up, with a panic that is no `Exception`
            continue
        data = text.encode()
        _, starts, ends = chain.split(data)
        pieces = [data[start:end].decode() for start, end in zip(starts.tolist(), ends.tolist(), strict=True)]
        check(source, text, pieces, expected)
        compared += 1
    return compared


def by_tiktoken(source: str, seed: int, count: int) -> int | str:
    """Compare a regex as one of fancy-regex, by ids of pairs of bytes: tiktoken shows no matches."""
    import tiktoken

    try:
        ours = from_fancy_regex(source)
        if automaton_of(ours).tables is None:
            return automaton_of(ours).reason
        texts = [*filter(None, texts_for(ours, seed, count))]
        parts: dict[str, Any] = {"pat_str": source, "mergeable_ranks": _pairs(texts), "special_tokens": {}}
        own = bbpe.tiktoken.Encoding("x", **parts)
    except PatternError as error:
        return f"here: {error}"
    try:
        theirs = tiktoken.Encoding("x", **parts)
    except ValueError as error:
        return f"there: {error}"
    compared = 0
    for text in texts:
        try:
            expected = theirs.encode_ordinary(text)
        except BaseException:  # its panics on empty matches are no `Exception`
            continue
        check(source, text, own.encode_ordinary(text), expected)
        compared += 1
    return compared


JUDGES = {"regex": by_package, "tokenizers": by_tokenizers, "tiktoken": by_tiktoken}


def check(source: str, text: str, found: Sequence[object], expected: Sequence[object]) -> None:
    if found != expected:
        raise DifferenceError(f"{source!r} on {text!r}: {found}, expected {expected}")


def _pairs(texts: Sequence[str]) -> dict[bytes, int]:
    pairs = [bytes(pair) for text in texts for data in [text.encode()] for pair in pairwise(data)]
    tokens = [*(bytes((byte,)) for byte in range(256)), *pairs]
    return {token: rank for rank, token in enumerate(dict.fromkeys(tokens))}
