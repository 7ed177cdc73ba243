"""`bbpe bench`: how fast a tokenizer is on one's own text, alone or beside other libraries with the same vocabulary."""

from __future__ import annotations

import statistics
import time
from argparse import ArgumentParser, ArgumentTypeError, Namespace
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from importlib.util import find_spec
from multiprocessing import get_context
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import bbpe
from bbpe.corpus.files import File, check_fields
from bbpe.corpus.sources import Reading
from bbpe.errors import BBPEError, CorpusError, VocabularyError
from bbpe.records import asdict, dataclass
from bbpe.text import counted, text_bytes

from .command import Command, add_tokenizer, load_named, positive, size
from .streams import (
    BENCH,
    Watch,
    add_color,
    add_json,
    add_progress,
    add_reading,
    as_files,
    painted,
    say,
    say_json,
    watched,
)

_OURS = "bbpe"
_PEERS = ("tiktoken", "tokenizers")
_LEARNED = 16_000
_BYTES = 16_000_000

#: Encode a text, and decode ids.
_Library = tuple[Callable[[str], Any], Callable[[Any], str]]


class DifferentIdsError(BBPEError):
    """A library does not give the ids that the tokenizer gives."""


@dataclass(frozen=True)
class Speed:
    """The median of the runs of a library, each in a fresh process; MB are 10**6 bytes, `warm` is a second pass."""

    library: str
    cold_mb_per_second: float
    warm_mb_per_second: float
    decode_mb_per_second: float
    tokens: int


@dataclass(frozen=True)
class _Run:
    seconds: tuple[float, float, float]
    ids: list[int]


def _add_arguments(parser: ArgumentParser) -> None:
    parser.add_argument("file", metavar="FILE", help="The text to encode.")
    which = f"{_LEARNED} tokens learned from FILE"
    against = f"Other libraries to time, separated by commas: {', '.join(_PEERS)}."
    parser.add_argument("--against", type=_libraries, default=(), metavar="NAMES", help=against)
    add_tokenizer(parser, required=False, default=which)
    add_reading(parser)
    runs = "How often to time each library, in turn."
    parser.add_argument("--runs", type=positive, default=3, metavar="N", help=runs)
    most = "Take the beginning of a longer file, of this size. [default: 16MB]"
    parser.add_argument("--bytes", type=size, default=_BYTES, metavar="SIZE", help=most)
    add_json(parser)
    add_color(parser)
    add_progress(parser)


def _libraries(text: str) -> tuple[str, ...]:
    names = tuple(text.split(","))
    for name in names:
        if name not in _PEERS:
            raise ArgumentTypeError(f"expected names of {', '.join(_PEERS)}, not {name!r}")
    return names


def _run(args: Namespace) -> int:
    for name in args.against:
        if find_spec(name) is None:
            raise ImportError(f"{name} is not installed; `pip install {name}` gets it")
    text = _head(args).decode("utf-8", "replace")
    if not text:
        raise CorpusError(f"{args.file} is empty; expected a text to encode")
    if args.tokenizer is not None:
        tokenizer = load_named(args.tokenizer, args.pattern)
    else:
        tokenizer = bbpe.train_from_iterator([text], _LEARNED, pattern="gpt2" if args.pattern is None else args.pattern)
    names = (_OURS, *args.against)
    runs_of_all = watched(args, "bench", args.runs * len(names), "runs")
    with TemporaryDirectory(prefix="bbpe-bench-") as folder, runs_of_all as watch:
        for name in args.against:
            _write_for(name, tokenizer, Path(folder))
        tokenizer.save(Path(folder, f"{_OURS}.json"), format="huggingface")
        runs = _all_runs(names, Path(folder), text, args.runs, watch)
    speeds = [_speed(name, found, text) for name, found in runs.items()]
    if args.json:
        say_json({"file": args.file, "bytes": len(text.encode()), "speeds": [asdict(speed) for speed in speeds]})
    else:
        _report(speeds, args)
    return 0


def _head(args: Namespace) -> bytes:
    """Return the first bytes of a file of text, or of the texts of its rows, a line feed after each."""
    reading = Reading(args.text_field, format=args.input_format)
    with as_files([args.file]) as (name,):
        file = reading.file(Path(name))
        check_fields([file], args.text_field)
        return _beginning(reading, file, args.bytes)


def _beginning(reading: Reading, file: File, most: int) -> bytes:
    if file.kind == "text":
        blocks = (bytes(event.data) for event in reading.texts(file))
    else:
        blocks = (bytes(text_bytes(text)) + b"\n" for _, text in reading.records(file))
    found = bytearray()
    for block in blocks:
        found += block
        if len(found) >= most:
            break
    return bytes(found[:most])


def _all_runs(names: tuple[str, ...], folder: Path, text: str, count: int, watch: Watch) -> dict[str, list[_Run]]:
    """Each library in turn, a process each; stops when ids differ."""
    runs: dict[str, list[_Run]] = {name: [] for name in names}
    for _ in range(count):
        for name, found in runs.items():
            with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as executor:
                found.append(executor.submit(_one_run, name, str(folder), text).result())
            watch.add(1)
            if found[-1].ids != runs[_OURS][0].ids:
                raise DifferentIdsError(f"{name} gives other ids for this text, so their speeds do not compare")
    return runs


def _one_run(name: str, folder: str, text: str) -> _Run:
    """Encode cold and warm, and decode, on one thread."""
    encode, decode = _LOAD[name](Path(folder))
    # imports and tables of the first call are not timed, for any library
    decode(encode("hello"))
    times = []
    for _ in range(2):
        start = time.perf_counter()
        ids = encode(text)
        times.append(time.perf_counter() - start)
    start = time.perf_counter()
    decode(ids)
    times.append(time.perf_counter() - start)
    return _Run((times[0], times[1], times[2]), ids)


def _write_for(name: str, tokenizer: bbpe.Tokenizer, folder: Path) -> None:
    """Write the vocabulary as a library reads it; an error when no such file gives the same ids."""
    if name == "tiktoken":
        steps = tokenizer.spec.pattern.steps
        if len(steps) != 1:
            raise VocabularyError(f"tiktoken splits by one regex; the pattern {tokenizer.pattern} has {len(steps)}")
        tokenizer.save(folder / "tiktoken.tiktoken")
        (folder / "tiktoken.pattern").write_text(steps[0], "utf-8")


def _load_bbpe(folder: Path) -> _Library:
    tok = bbpe.load(folder / f"{_OURS}.json")
    # a list, as the others give
    return tok.encode, tok.decode


def _load_tiktoken(folder: Path) -> _Library:
    import tiktoken
    from tiktoken.load import load_tiktoken_bpe

    enc = tiktoken.Encoding(
        "bench",
        pat_str=(folder / "tiktoken.pattern").read_text("utf-8"),
        mergeable_ranks=load_tiktoken_bpe(str(folder / "tiktoken.tiktoken")),
        special_tokens={},
    )
    return enc.encode_ordinary, enc.decode


def _load_tokenizers(folder: Path) -> _Library:
    from tokenizers import Tokenizer

    tok = Tokenizer.from_file(str(folder / f"{_OURS}.json"))
    return lambda text: tok.encode(text, add_special_tokens=False).ids, tok.decode


_LOAD: dict[str, Callable[[Path], _Library]] = {
    _OURS: _load_bbpe,
    "tiktoken": _load_tiktoken,
    "tokenizers": _load_tokenizers,
}


def _speed(name: str, runs: list[_Run], text: str) -> Speed:
    megabytes = len(text.encode()) / 1e6
    columns = zip(*(run.seconds for run in runs), strict=True)
    cold, warm, decode = (megabytes / statistics.median(times) for times in columns)
    return Speed(name, cold, warm, decode, len(runs[0].ids))


def _report(speeds: list[Speed], args: Namespace) -> None:
    ours, *peers = speeds
    kinds = {"cold": "cold_mb_per_second", "warm": "warm_mb_per_second", "decode": "decode_mb_per_second"}
    say(f"{'MB/s, one thread, lists':24}{''.join(f'{kind:>12}' for kind in kinds)}")
    for speed in speeds:
        say(f"{speed.library:24}{''.join(f'{getattr(speed, field):12,.1f}' for field in kinds.values())}")
    say(counted(ours.tokens, "token") + (", the same from all" if peers else ""))
    for peer in peers:
        cold, warm, decode = (times(getattr(ours, field) / getattr(peer, field)) for field in kinds.values())
        more = f"{warm} when it has seen the text before, {decode} in decoding"
        say(painted(f"bbpe is {cold} as fast as {peer.library}; {more}", BENCH, args))


def times(ratio: float) -> str:
    """Return a ratio in two digits, which is what it is worth.

    >>> times(374.6), times(48.72), times(1.01), times(0.094)
    ('375x', '49x', '1.0x', '0.094x')
    """
    return f"{ratio:,.0f}x" if ratio >= 10 else f"{ratio:#.2g}x"


COMMAND = Command(_add_arguments, _run)
