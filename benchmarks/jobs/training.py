"""train: a file -> merges; count: the same for one merge, which is what everything but merging takes.

`document=line` makes each line a text, as gigabpe and tokenizers read files; `document=file` makes the file one, as
gigatoken and rustbpe do.  The answer is the merges, as pairs of byte strings; rustbpe breaks ties by another rule, so
it has no ratio.  `grown_mb` is the peak of the resident size during the call over what it was before.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

from benchmarks.peers import NotSupported

from .memory import resident
from .registry import CLOCKS, Measured, Timed, define, job

JOBS_HERE = {"train": "32000", "count": "257"}
for _name, _vocab_size in JOBS_HERE.items():
    define(_name, lambda merges: repr(merges).encode(), vocab_size=_vocab_size, document="line")

#: what HF's ByteLevel cuts by
GPT2 = r"'(?:[sdmt]|ll|ve|re)| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+"
Merges = list[tuple[bytes, bytes]]


def written(text: bytes, options: dict[str, str]) -> Path:
    """The text as a file, which is what training is called on."""
    path = Path(options["folder"], f"train.{len(text)}.txt")
    path.write_bytes(text)
    return path


def measured(options: dict[str, str], train: Callable[[], Any], merges_of: Callable[[Any], Merges]) -> Timed:
    """Time `train`, and see by how much the process grows; what it returned becomes merges outside the clock."""

    def run() -> Measured:
        clock, before = CLOCKS[options["clock"]], resident("VmRSS")
        Path("/proc/self/clear_refs").write_text("5")
        start = clock()
        made = train()
        cost = clock() - start
        grown = resident("VmHWM") - before
        merges = merges_of(made)[: int(options["vocab_size"]) - 256]
        return Measured(cost, merges, {"grown_mb": grown / 1e6})

    return run


def as_bytes(pairs: Iterable[Iterable[str]]) -> Merges:
    """Merges that are spelled in the alphabet of printable characters."""
    from bbpe.text import alphabet_to_bytes

    return [(alphabet_to_bytes(left), alphabet_to_bytes(right)) for left, right in pairs]


def needs(options: dict[str, str], document: str) -> None:
    if options["document"] != document:
        raise NotSupported(f"it has document={document} only")


@job("train", "bbpe")
@job("count", "bbpe")
def train_bbpe(_library: str, text: bytes, options: dict[str, str]) -> Timed:
    import bbpe

    path, vocab_size, threads = written(text, options), int(options["vocab_size"]), int(options["threads"])
    document: Any = options["document"]
    # what is imported on first use is imported here, as the others are as a whole
    train, counting = bbpe.train, bbpe.Counting(document=document, threads=threads)
    return measured(options, lambda: train(path, vocab_size, counting=counting), lambda tok: tok.merges)


@job("train", "gigabpe")
@job("count", "gigabpe")
def train_gigabpe(_library: str, text: bytes, options: dict[str, str]) -> Timed:
    import gigabpe

    needs(options, "line")
    paths, vocab_size, threads = [str(written(text, options))], int(options["vocab_size"]), int(options["threads"])
    return measured(
        options,
        lambda: gigabpe.train_bpe(paths, vocab_size, pretokenizer="bytelevel", threads=threads),
        lambda made: as_bytes(made[1]),
    )


@job("train", "gigatoken")
@job("count", "gigatoken")
def train_gigatoken(_library: str, text: bytes, options: dict[str, str]) -> Timed:
    """Its threads are Rayon's, which the environment limits."""
    import gigatoken

    needs(options, "file")
    source, vocab_size = gigatoken.TextFileSource([str(written(text, options))]), int(options["vocab_size"])
    return measured(options, lambda: gigatoken.train_bpe(source, vocab_size, []), lambda made: list(made[1]))


@job("train", "rustbpe")
@job("count", "rustbpe")
def train_rustbpe(_library: str, text: bytes, options: dict[str, str]) -> Timed:
    """It takes strings and keeps ranks, not merges: the tokens are its answer."""
    import rustbpe

    needs(options, "file")
    path, vocab_size = written(text, options), int(options["vocab_size"])

    def train() -> Any:
        tok = rustbpe.Tokenizer()
        tok.train_from_iterator(iter([path.read_text("utf-8", "replace")]), vocab_size, pattern=GPT2)
        return tok

    def merges_of(tok: Any) -> Merges:
        return [(bytes(token), b"") for token, _ in tok.get_mergeable_ranks()[256:]]

    return measured(options, train, merges_of)


@job("train", "tokenizers")
@job("count", "tokenizers")
def train_tokenizers(_library: str, text: bytes, options: dict[str, str]) -> Timed:
    from tokenizers import Tokenizer, models, pre_tokenizers, trainers

    path = written(text, options)

    def train() -> Any:
        tok = Tokenizer(models.BPE())
        tok.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
        alphabet = pre_tokenizers.ByteLevel.alphabet()
        trainer = trainers.BpeTrainer(
            vocab_size=int(options["vocab_size"]), initial_alphabet=alphabet, special_tokens=[], show_progress=False
        )
        if options["document"] == "line":
            tok.train([str(path)], trainer)
        else:
            tok.train_from_iterator([path.read_text("utf-8", "replace")], trainer)
        return tok

    return measured(options, train, lambda tok: as_bytes(json.loads(tok.to_str())["model"]["merges"]))
