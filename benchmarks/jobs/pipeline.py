"""The pipeline around the model: special tokens, normalizers, chains of pre-tokenizers, rows, streams.

Each job takes a tokenizer.json, made by `benchmarks.piped_vocabularies` from files in the folder of the vocabularies.
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.piped_vocabularies import chats, script_text, tokenizer_file
from benchmarks.texts import documents

from .encoding import ids_as_bytes, lists_as_bytes
from .registry import MICROSECONDS, SPEED, Measured, Timed, Unit, define, job

One = Callable[[str], list[int]]
Many = Callable[[list[str]], list[list[int]]]

_ROUNDS = 7
_BATCH = 64
NANOSECONDS = Unit("ns", lambda seconds, _: seconds * 1e9)

#: `special`: allow, plain (the same texts without asking), refuse, absent (no text has one), none (nor the tokenizer)
define("chat", lists_as_bytes, MICROSECONDS, tokenizer="llama3", special="allow")
define("chat_batch", lists_as_bytes, MICROSECONDS, tokenizer="llama3", special="allow")
#: `script`: text of its tokens in place of the corpus (`benchmarks.piped_vocabularies`)
define("piped", ids_as_bytes, SPEED, tokenizer="falcon", script="")
define("bert_rows", lists_as_bytes, MICROSECONDS, tokenizer="bert", batch="32")
#: `stop`: strings at which a stream ends, between blanks; they must not be in the text
define("stream", lambda text: str(text).encode(), NANOSECONDS, tokenizer="llama3", stop="")
define("truncate", lambda text: str(text).encode(), MICROSECONDS, tokenizer="llama3", how="truncate", limit="128")
define("offsets", ids_as_bytes, SPEED, tokenizer="llama3", how="offsets")


def of_bbpe(options: dict[str, str]) -> tuple[One, Many]:
    import bbpe

    special = options.get("special", "plain")
    tok = bbpe.load(tokenizer_file(options), **({"special_tokens": {}} if special == "none" else {}))
    given: Any = {"allow": {"allowed_special": "all"}, "refuse": {"disallowed_special": "all"}}.get(special, {})
    if not given:
        return tok.encode, lambda texts: tok.encode_batch(texts, threads=1)
    return lambda text: tok.encode(text, **given), lambda texts: tok.encode_batch(texts, threads=1, **given)


def of_fastokens(options: dict[str, str]) -> tuple[One, Many]:
    import fastokens

    return of_hub(fastokens, options)


def of_snaptokens(options: dict[str, str]) -> tuple[One, Many]:
    import snaptokens

    return of_hub(snaptokens, options)


def of_hub(module: Any, options: dict[str, str]) -> tuple[One, Many]:
    tok = module.Tokenizer.from_file(str(tokenizer_file(options)))
    return lambda text: tok.encode(text, False).ids, lambda texts: [row.ids for row in tok.encode_batch(texts, False)]


def of_gigatoken(options: dict[str, str]) -> tuple[One, Many]:
    import gigatoken

    tok = gigatoken.Tokenizer(str(tokenizer_file(options)))
    encode = tok.backend.encode
    return lambda text: encode(text).tolist(), lambda texts: tok.encode_batch_list(texts, parallel=False)


def of_tokenizers(options: dict[str, str]) -> tuple[One, Many]:
    from tokenizers import Tokenizer

    tok = Tokenizer.from_file(str(tokenizer_file(options)))
    return (
        lambda text: tok.encode(text, add_special_tokens=False).ids,
        lambda texts: [row.ids for row in tok.encode_batch_fast(texts, add_special_tokens=False)],
    )


LOADERS = {
    "bbpe": of_bbpe,
    "fastokens": of_fastokens,
    "snaptokens": of_snaptokens,
    "gigatoken": of_gigatoken,
    "tokenizers": of_tokenizers,
}


def least_times(run: Callable[[Any], object], items: list[Any], clock: Callable[[], float]) -> list[float]:
    """Return the least time of each item over several rounds: what other work on the machine adds is left out."""
    least = [float("inf")] * len(items)
    for _ in range(_ROUNDS):
        for at, item in enumerate(items):
            start = clock()
            run(item)
            least[at] = min(least[at], clock() - start)
    return least


@job("chat", LOADERS)
def chat(library: str, text: bytes, options: dict[str, str]) -> Timed:
    """2,000 prompts with the markers of chats, one call each, warm: the median of their least times."""
    one, _ = LOADERS[library](options)
    prompts = chats(text.decode(), options)

    def run() -> Measured:
        answer = [one(prompt) for prompt in prompts]
        least = least_times(one, prompts, time.perf_counter)
        return Measured(statistics.median(least), answer)

    return run


@job("chat_batch", LOADERS)
def chat_batch(library: str, text: bytes, options: dict[str, str]) -> Timed:
    """The same prompts in batches of 64: the mean of the least times of the batches."""
    _, many = LOADERS[library](options)
    prompts = chats(text.decode(), options)
    batches = [prompts[start : start + _BATCH] for start in range(0, len(prompts), _BATCH)]

    def run() -> Measured:
        answer = [ids for batch in batches for ids in many(batch)]
        return Measured(statistics.mean(least_times(many, batches, time.perf_counter)), answer)

    return run


@job("piped", LOADERS)
def piped(library: str, text: bytes, options: dict[str, str]) -> Timed:
    """One text -> ids, warm: the least time of several calls.  bbpe gives an array, others lists."""
    script = options["script"]
    decoded = script_text(script, Path(options["vocabularies"]), len(text)) if script else text.decode()
    if library == "bbpe":
        import bbpe

        tok = bbpe.load(tokenizer_file(options))
        encode: Callable[[str], Any] = lambda each: tok.encode_to_numpy(each, threads=1)  # noqa: E731
    else:
        encode = LOADERS[library](options)[0]

    def run() -> Measured:
        answer = encode(decoded)
        rounds = 1 if library == "tokenizers" else _ROUNDS
        return Measured(min(_least(lambda: encode(decoded), rounds)), answer)

    return run


def _least(run: Callable[[], object], rounds: int = _ROUNDS) -> list[float]:
    times = []
    for _ in range(rounds):
        start = time.process_time()
        run()
        times.append(time.process_time() - start)
    return times


@job("bert_rows", ("bbpe", "nanotoken"))
def bert_rows(library: str, text: bytes, options: dict[str, str]) -> Timed:
    """Sentences between [CLS] and [SEP]: padded batches to arrays, or with batch=1 single calls; the cost of one."""
    sentences = [line for line in text.decode().split("\n") if 40 < len(line) < 400][:2048]
    size = int(options["batch"])
    items: list[Any] = [sentences[at : at + size] for at in range(0, len(sentences) - size + 1, size)]
    if size == 1:
        items = [sentence for (sentence,) in items]
    run = _bert(library, size, options)

    def timed() -> Measured:
        rows = [run(item) for item in items]
        answer = [[int(i) for i in row if i] for found in rows for row in (found if size > 1 else [found])]
        return Measured(statistics.mean(least_times(run, items, time.perf_counter)) / size, answer)

    return timed


def _bert(library: str, size: int, options: dict[str, str]) -> Callable[[Any], Any]:
    path = tokenizer_file(options)
    if library == "bbpe":
        import bbpe

        tok = bbpe.load(path)
        if size == 1:
            return lambda text: tok.encode(text, add_special_tokens=True)
        return lambda texts: tok.encode_padded(texts, pad_id=0, threads=1, add_special_tokens=True).ids
    from nanotoken import Tokenizer

    theirs = Tokenizer(str(path))
    if size == 1:
        return lambda text: theirs.encode(text, add_special_tokens=True)
    return lambda texts: theirs.encode_batch_padded(texts, parallel=False)["input_ids"]


@job("stream", "bbpe")
def stream(_library: str, text: bytes, options: dict[str, str]) -> Timed:
    """Ids one by one through a stream decoder: the cost of a token."""
    import bbpe

    tok = bbpe.load(tokenizer_file(options))
    ids = tok.encode(text.decode())

    def run() -> Measured:
        texts = []

        def decode() -> None:
            decoder = tok.stream_decoder(stop=options["stop"].split() or None)
            texts[:] = map(decoder.push, ids)
            texts.append(decoder.finish())

        return Measured(min(_least(decode)) / len(ids), "".join(texts) or texts)

    return run


@job("truncate", "bbpe")
def truncate(_library: str, text: bytes, options: dict[str, str]) -> Timed:
    """Documents of half a kilobyte cut to `limit` ids, or asked whether they fit: the cost of one."""
    import bbpe

    tok, limit = bbpe.load(tokenizer_file(options)), int(options["limit"])
    texts = documents(text.decode(), 500)
    cut: Callable[[str], object] = lambda each: tok.truncate(each, limit)  # noqa: E731
    fits: Callable[[str], object] = lambda each: tok.fits(each, limit)  # noqa: E731
    encode: Callable[[str], object] = lambda each: tok.encode(each)  # noqa: E731
    run = {"truncate": cut, "fits": fits, "encode": encode}[options["how"]]

    def timed() -> Measured:
        answer = [cut(each) for each in texts]
        return Measured(statistics.mean(least_times(run, texts, time.perf_counter)), answer)

    return timed


@job("offsets", "bbpe")
def offsets(_library: str, text: bytes, options: dict[str, str]) -> Timed:
    """Documents of 2 kB to ids, with or without the places of the ids (`how`: offsets, ids)."""
    import bbpe

    tok = bbpe.load(tokenizer_file(options))
    texts = documents(text.decode())
    run: Any = tok.encode_with_offsets if options["how"] == "offsets" else tok.encode

    def timed() -> Measured:
        answer = np.concatenate([np.asarray(tok.encode(each), np.uint32) for each in texts])
        return Measured(sum(least_times(run, texts, time.perf_counter)), answer)

    return timed
