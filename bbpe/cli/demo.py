"""`bbpe demo`: the whole job on real text that every machine has, Python's own standard library."""

from __future__ import annotations

import shlex
import sysconfig
import tempfile
import time
from argparse import ArgumentParser, Namespace
from collections.abc import Sequence
from itertools import islice
from pathlib import Path

import bbpe
from bbpe.errors import BBPEError, CorpusError
from bbpe.files import local_path
from bbpe.records import asdict, dataclass
from bbpe.report.terminal import line_columns, sample, wrapped
from bbpe.text import counted
from bbpe.tokenizer import Tokenizer

from .command import Command, add_vocab_size
from .outputs import Inputs, check_output
from .streams import add_color, add_json, add_progress, in_colour, note, progress_of, say, say_json

_VOCAB_SIZE = 16_000
_SPECIAL_TOKENS = ("<|endoftext|>",)
# installed packages differ from machine to machine; tests are long and odd
_SKIPPED_FOLDERS = frozenset({"site-packages", "dist-packages", "test", "tests", "idle_test", "__pycache__"})
# one file of ten is kept back
_HELD_BACK = 10
_SAMPLE_LINES = 12


class RoundTripError(BBPEError):
    """The ids of a text did not decode to its bytes."""


@dataclass(frozen=True)
class Figures:
    """The measurements of the demo; MB are 10**6 bytes."""

    vocab_size: int
    files_trained_on: int
    bytes_trained_on: int
    train_seconds: float
    files_encoded: int
    bytes_encoded: int
    tokens_encoded: int
    first_encode_seconds: float
    encode_seconds: float
    bytes_per_token: float
    train_mb_per_second: float
    encode_mb_per_second: float


def _add_arguments(parser: ArgumentParser) -> None:
    parser.add_argument("-o", "--output", metavar="PATH", help="Where to keep the tokenizer.json. [default: nowhere]")
    add_vocab_size(parser, default=_VOCAB_SIZE)
    add_color(parser)
    add_progress(parser)
    add_json(parser)


def _run(args: Namespace) -> int:
    training, held_back = _split_sources(Path(sysconfig.get_path("stdlib")))
    with tempfile.TemporaryDirectory(prefix="bbpe-demo-") as folder:
        path = local_path(args.output or Path(folder, "tokenizer.json"), "the demo reads its tokenizer from a file")
        check_output(args.output, "the tokenizer", Inputs(), output_format="huggingface")
        started = time.perf_counter()
        counting = bbpe.Counting(progress=progress_of(args))
        trained = bbpe.train(training, args.vocab_size, special_tokens=_SPECIAL_TOKENS, counting=counting)
        train_seconds = time.perf_counter() - started
        trained.save(path, format="huggingface")
        tokenizer = bbpe.load(path)
    if tokenizer != trained:
        raise RoundTripError(f"{path}: what was loaded differs from what was saved")
    texts = [path.read_bytes() for path in held_back]
    tokens, first_seconds, encode_seconds = _encode_and_check(tokenizer, texts, held_back)
    train_bytes, encode_bytes = sum(path.stat().st_size for path in training), sum(map(len, texts))
    figures = Figures(
        vocab_size=tokenizer.vocab_size,
        files_trained_on=len(training),
        bytes_trained_on=train_bytes,
        train_seconds=train_seconds,
        files_encoded=len(texts),
        bytes_encoded=encode_bytes,
        tokens_encoded=tokens,
        first_encode_seconds=first_seconds,
        encode_seconds=encode_seconds,
        bytes_per_token=encode_bytes / tokens,
        train_mb_per_second=train_bytes / 1e6 / train_seconds,
        encode_mb_per_second=encode_bytes / 1e6 / encode_seconds,
    )
    if args.json:
        say_json(asdict(figures))
        return 0
    _report(figures, args.output)
    _show_sample(tokenizer, held_back[0], texts[0], colour=in_colour(args))
    _show_next(args.output)
    return 0


def _split_sources(root: Path) -> tuple[list[Path], list[Path]]:
    """Return the standard library's readable sources: those to train on, and every tenth, kept back."""
    sources = [path for path in root.rglob("*.py") if _SKIPPED_FOLDERS.isdisjoint(path.relative_to(root).parts)]
    texts = [path for path in sorted(sources) if _has_text(path)]
    held_back = texts[::_HELD_BACK]
    training = [path for number, path in enumerate(texts) if number % _HELD_BACK]
    if not training:
        raise CorpusError(
            f"{root}: expected the sources of Python's standard library, found {len(texts)} readable .py files; "
            "train on text of your own with `bbpe train`"
        )
    return training, held_back


def _has_text(path: Path) -> bool:
    try:
        with path.open("rb") as file:
            return bool(file.read(1))
    except OSError as error:
        note(f"left out {path}: {error.strerror}")
        return False


def _encode_and_check(tokenizer: Tokenizer, texts: Sequence[bytes], names: Sequence[Path]) -> tuple[int, float, float]:
    """Return how many tokens the texts are, and the seconds of encoding them the first and the second time.

    The first time includes making the encoder from the vocabulary.
    """
    seconds = []
    for _ in range(2):
        started = time.perf_counter()
        ragged = tokenizer.encode_batch_to_numpy(texts)
        seconds.append(time.perf_counter() - started)
    for number, (text, name) in enumerate(zip(texts, names, strict=True)):
        start, end = ragged.offsets[number], ragged.offsets[number + 1]
        if tokenizer.decode_bytes(ragged.ids[start:end]) != text:
            raise RoundTripError(f"{name}: the decoded bytes differ from the text that was encoded")
    return len(ragged.ids), seconds[0], seconds[1]


def _report(figures: Figures, output: str | None) -> None:
    kept = "saved as tokenizer.json and loaded again" if output is None else f"saved as {output} and loaded again"
    _say_fact(
        f"trained  {counted(figures.vocab_size, 'token')} on {counted(figures.files_trained_on, 'file')} "
        f"of Python's standard library, {figures.bytes_trained_on / 1e6:.1f} MB in {figures.train_seconds:.1f} s: "
        f"{figures.train_mb_per_second:.1f} MB/s; {kept}"
    )
    _say_fact(
        f"encoded  {counted(figures.files_encoded, 'file')} it did not train on, {figures.bytes_encoded / 1e6:.1f} MB "
        f"in {figures.encode_seconds:.3f} s: {figures.encode_mb_per_second:.1f} MB/s; "
        f"the first call took {figures.first_encode_seconds:.2f} s, which makes the encoder"
    )
    _say_fact(
        f"         {counted(figures.tokens_encoded, 'token')}, {figures.bytes_per_token:.2f} bytes per token; "
        "all of it decodes to the same bytes"
    )


def _say_fact(line: str, indent: int = 9) -> None:
    say("\n".join(wrapped(line, line_columns(), indent)))


def _show_sample(tokenizer: Tokenizer, path: Path, text: bytes, *, colour: bool) -> None:
    head = b"".join(islice((line for line in text.splitlines(keepends=True) if line.strip()), _SAMPLE_LINES))
    tokens = [tokenizer.id_to_token(token_id) for token_id in tokenizer.encode_bytes(head)]
    _say_fact(f"sample   the first lines of {path.name}, each token in its own colour")
    say(sample(tokens, colour=colour, most=line_columns()).rstrip("\n"))


def _show_next(output: str | None) -> None:
    """Show what to type next, with the tokenizer of the demo if it was kept."""
    path = shlex.quote(output or "tokenizer.json")
    rows = [] if output else [(f"bbpe demo -o {path}", "keep this tokenizer")]
    rows += [
        (f'bbpe show "some text" -t {path}', "see the tokens of a text"),
        (f"bbpe serve -t {path}", "see them while you type"),
        ("bbpe fetch o200k_base", "download the vocabulary of GPT-4o, once"),
        ("bbpe train corpus/ --vocab-size 32000 -o mine.json", "train on your own text"),
    ]
    width = max(len(command) for command, _ in rows)
    for number, (command, use) in enumerate(rows):
        _say_fact(f"{'' if number else 'next':<9}{command:<{width}}  {use}", 11 + width)


COMMAND = Command(_add_arguments, _run)
