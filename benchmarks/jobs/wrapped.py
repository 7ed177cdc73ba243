"""Calls of a tokenizer of `transformers`: as it is, with the engine of bbpe, and with that of fastokens."""

from __future__ import annotations

import contextlib
import importlib
import statistics
import sys
import tempfile
from collections.abc import Callable
from typing import Any

from benchmarks.piped_vocabularies import tokenizer_file

from .pipeline import least_times
from .registry import CLOCKS, MICROSECONDS, Measured, Timed, define, job

_ROWS, _SHORT, _LONG, _IDS = 64, 250, 120_000, 27_000

#: `call`: short (250 characters), long (120,000), batch (64 rows padded to arrays), decode (27,000 ids), stream (an id)
define("wrapped", lambda answer: repr(answer).encode(), MICROSECONDS, tokenizer="llama3", call="short")


def stock(options: dict[str, str]) -> Any:
    from transformers import PreTrainedTokenizerFast

    tok = PreTrainedTokenizerFast(tokenizer_file=str(tokenizer_file(options)), clean_up_tokenization_spaces=False)
    tok.pad_token = next(iter(tok.added_tokens_decoder.values())).content
    return tok


def of_bbpe(options: dict[str, str]) -> Any:
    import bbpe

    bbpe.patch_transformers()
    return stock(options)


def of_fastokens(options: dict[str, str]) -> Any:
    import fastokens

    tok = stock(options)
    # the answer of a run is on the standard output
    with contextlib.redirect_stdout(sys.stderr), tempfile.TemporaryDirectory() as folder:
        fastokens.patch_transformers()
        tok.save_pretrained(folder)
        return type(tok).from_pretrained(folder)


LOADERS = {"bbpe": of_bbpe, "fastokens": of_fastokens, "transformers": stock}


def calls(tok: Any, text: str, which: str) -> tuple[Callable[[Any], Any], list[Any], float]:
    """Return what is called, with what, and how many parts of a call are counted."""
    if which == "short":
        return tok.encode, _cut(text, _SHORT, 200), 1
    if which == "long":
        return tok.encode, _cut(text, _LONG, 3), 1
    if which == "batch":
        batches = [_cut(text[start:], _SHORT, _ROWS) for start in range(0, 1000, 100)]
        return lambda rows: tok(rows, padding=True, return_tensors="np"), batches, 1
    ids = tok.encode(text[: _IDS * 8], add_special_tokens=False)[:_IDS]
    if which == "decode":
        return tok.decode, [ids] * 3, 1
    assert which == "stream"
    # the class that a program gets after the library is in place
    made = importlib.import_module("tokenizers.decoders").DecodeStream
    inner = tok._tokenizer

    def stream(ids: list[int]) -> str:
        stream = made(skip_special_tokens=False)
        return "".join([stream.step(inner, token_id) or "" for token_id in ids])

    return stream, [ids[start : start + 1000] for start in range(0, 5000, 1000)], 1000


def _cut(text: str, chars: int, count: int) -> list[str]:
    step = (len(text) - chars) // count
    if step < 1:
        raise SystemExit(f"the corpus is too short for {count} texts of {chars} characters")
    return [text[index * step : index * step + chars] for index in range(count)]


@job("wrapped", LOADERS)
def wrapped(library: str, text: bytes, options: dict[str, str]) -> Timed:
    """One call, warm: the median over texts of their least times."""
    tok = LOADERS[library](options)
    call, items, parts = calls(tok, text.decode(), options["call"])

    def run() -> Measured:
        answer = call(items[0])
        if options["call"] == "batch":
            answer = {name: value.tolist() for name, value in answer.items()}
        times = least_times(call, items, CLOCKS[options["clock"]])
        return Measured(statistics.median(times) / parts, answer)

    return run
