"""Files made to do harm: a clear error within a second and 100 MB, measured in a process of its own."""

from __future__ import annotations

import json
import os
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from struct import pack
from typing import Any

import pytest
from gguf_files import PREFIX, gguf, piece_vocabulary, string
from tekken_files import tekken
from vocabularies import byte_level, document, keys, sequence, split, vocab_of

from bbpe import formats
from bbpe.errors import BBPEError
from bbpe.formats.common.given import rank_text
from bbpe.spec.spec import MAX_ID
from bbpe.splitting.pattern_limits import MOST_EXPANDED, check_size
from bbpe.splitting.patterns import PATTERNS
from bbpe.tokenizer import Tokenizer

resource = pytest.importorskip("resource")
# a sanitizer takes its own time and memory
SANITIZED = 10 if "asan" in os.environ.get("LD_PRELOAD", "") else 1
SECONDS, MEGABYTES, LONGEST = 1.0 * SANITIZED, 100 * SANITIZED, 1100
RANKS = rank_text(vocab_of())
LONG, MANY_SPLITS = "a" * 10**6, [split("a")] * 30_000
ZEROS = pack("<IIQ", 9, 0, 1 << 25) + bytes(1 << 25)
LINES = "".join(f"{key} {token_id}\n" for key, token_id in keys().items())


def nested(value: Any, depth: int, kind: str) -> Any:
    for _ in range(depth):
        value = {"type": "Sequence", kind: [value]}
    return value


def regex(source: str) -> dict[str, Any]:
    return document(pre_tokenizer=sequence(split(source), byte_level()))


def pieces(*rows: tuple[str, float, int], table: bytes = b"") -> bytes:
    """A SentencePiece model of some letters and more pieces: text, score and type."""
    proto = pytest.importorskip("sentencepiece.sentencepiece_model_pb2")
    model = proto.ModelProto()
    model.trainer_spec.model_type = 2
    model.normalizer_spec.precompiled_charsmap = table
    for text, score, kind in [("<unk>", 0.0, 2), ("a", -1.0, 1), ("b", -2.0, 1), *rows]:
        model.pieces.add(piece=text, score=score, type=kind)
    data: bytes = model.SerializeToString()
    return data


def gguf_list(kind: int, count: int) -> bytes:
    return gguf({PREFIX + "tokens": pack("<IIQ", 9, kind, count)})


def pair(vocab: Any = None, merges: str = "") -> dict[str, Any]:
    return {"vocab.json": keys() if vocab is None else vocab, "merges.txt": "#version: 0.2\n" + merges}


def sizes(special: int, rows: int = 267) -> dict[str, Any]:
    return tekken(config__default_num_special_tokens=special, config__default_vocab_size=special + rows)


#: What is loaded, and the other files beside it; a number is a file of so many zeros that take no room.
Files = dict[str, Any]
HOSTILE: dict[str, Callable[[], Files]] = {
    # ids that would make tables of gigabytes
    "highest rank": lambda: {"x.tiktoken": RANKS + b"YWJj %d\n" % MAX_ID},
    "rank above all": lambda: {"x.tiktoken": RANKS + b"YWJj %d\n" % 10**12},
    "highest id": lambda: {"tokenizer.json": document(model__vocab={**keys(), "xyz": MAX_ID})},
    "id above all": lambda: {"tokenizer.json": document(model__vocab={**keys(), "xyz": 10**30})},
    "highest id of a pair": lambda: pair({**keys(), "xyz": MAX_ID}),
    "highest id of a vocab.txt": lambda: {"vocab.txt": LINES + f"xyz {MAX_ID}\n", "merges.txt": "#version: 0.2\n"},
    "id of many digits": lambda: {"vocab.txt": LINES + "xyz " + "9" * 10**6, "merges.txt": ""},
    # declared sizes
    "2**30 strings": lambda: {"x.gguf": gguf_list(8, 1 << 30)},
    "2**30 bytes": lambda: {"x.gguf": gguf_list(0, 1 << 30)},
    "2**61 numbers": lambda: {"x.gguf": gguf_list(10, 1 << 61)},
    "2**30 values": lambda: {"x.gguf": b"GGUF" + pack("<IQQ", 3, 0, 1 << 30)},
    "a string of 2**40": lambda: {"x.gguf": b"GGUF" + pack("<IQQ", 3, 0, 1) + pack("<Q", 1 << 40) + b"abc"},
    "a list in a list in a list": lambda: {"x.gguf": gguf({"a": pack("<IIQ", 9, 9, 1) * 1000})},
    "2**40 scores": lambda: {"x.gguf": gguf(piece_vocabulary(scores=pack("<IIQ", 9, 6, 1 << 40)))},
    "2**25 numbers that are there": lambda: {"x.gguf": gguf(piece_vocabulary(precompiled_charsmap=ZEROS))},
    "a table of GGUF without an end": lambda: {
        "x.gguf": gguf(piece_vocabulary("t5", precompiled_charsmap=[127] * 1000))
    },
    "a long piece of GGUF": lambda: {"x.gguf": gguf(piece_vocabulary(tokens=["ab" * 10**6] + ["x"] * 276))},
    "2**27 strings that are there": lambda: {"x.gguf": (gguf_list(8, 1 << 27), 1 << 31)},
    "special tokens without a text": lambda: {"tekken.json": sizes(50_000_000)},
    "a billion special tokens": lambda: {"tekken.json": sizes(10**9)},
    "a vocabulary of a billion": lambda: {"tekken.json": sizes(2, 10**9)},
    "4 GB of zeros as JSON": lambda: {"tokenizer.json": (b"", 1 << 32)},
    "4 GB of zeros behind ranks": lambda: {"x.tiktoken": (RANKS, 1 << 32)},
    # JSON
    "lists in lists": lambda: {"tokenizer.json": '{"version":' + "[" * 5_000},
    "objects in objects": lambda: {"tokenizer.json": '{"version":' * 5_000},
    "lists in lists of tekken": lambda: {"tekken.json": '{"default_num_special_tokens": 1, "a":' + "[" * 5_000},
    "deep pre_tokenizer": lambda: {"tokenizer.json": document(pre_tokenizer=nested({}, 300, "pretokenizers"))},
    "deep decoder": lambda: {"tokenizer.json": document(decoder=nested({"type": "?"}, 300, "decoders"))},
    "deep post_processor": lambda: {"tokenizer.json": document(post_processor=nested({}, 300, "processors"))},
    "deep normalizer": lambda: {"tokenizer.json": document(normalizer=nested({"type": "?"}, 300, "normalizers"))},
    "wide pre_tokenizer": lambda: {"tokenizer.json": document(pre_tokenizer=sequence(*MANY_SPLITS, byte_level()))},
    "a key twice": lambda: {"tokenizer.json": '{"version": "1.0", ' + '"a": 1, ' * 500_000 + '"a": 2}'},
    "a long key twice": lambda: {"tokenizer.json": '{"version": 1, ' + ", ".join([f'"{LONG}": 1'] * 2) + "}"},
    "a number of a million digits": lambda: {"tokenizer.json": '{"version": ' + "9" * 10**6 + "}"},
    "a key of commas": lambda: {"tokenizer.json": document(model__vocab={"," * 8_000_000: 0})},
    # merges
    "cyclic merges": lambda: {"tokenizer.json": document(model__merges=["the t", "t h", "th e"])},
    "a merge of nothing": lambda: {"tokenizer.json": document(model__merges=[["", "a"], ["a", ""]])},
    "a merge of nothing in merges.txt": lambda: pair(merges=" a\n"),
    "a merge of itself": lambda: pair({**keys(), "": 300}, "t \n"),
    "a long merge": lambda: {"tokenizer.json": document(model__merges=["a" * 5_000_000 + " b"])},
    "a line of blanks": lambda: pair(merges=" " * 10**7),
    "a line without an end": lambda: pair(merges="a" * 10**7),
    # tokens and lines
    "half a surrogate pair": lambda: {"tokenizer.json": document(model__vocab={**keys(), "\ud800": 300})},
    "a line of zero bytes": lambda: {"x.tiktoken": RANKS + bytes(10**7)},
    "a line of no base64": lambda: {"x.tiktoken": RANKS + b"*" * 10**7},
    "many empty tokens": lambda: {"x.tiktoken": RANKS + b"".join(b"= %d\n" % i for i in range(300, 10**5))},
    # regexes
    "a long regex": lambda: {"tokenizer.json": regex("|".join("a" * 300_000))},
    "a long class": lambda: {"tokenizer.json": regex("[" + "a" * 10**6 + "]")},
    "repetitions of repetitions": lambda: {"tokenizer.json": regex("(?:a{400}){300}")},
    "four of them": lambda: {"tokenizer.json": regex("(?:(?:(?:a{1,20}){1,20}){1,20}){1,20}")},
    "a large repetition": lambda: {"tokenizer.json": regex("a{99999999999}")},
    "groups in groups": lambda: {"tokenizer.json": regex("(?:" * 5000 + "a" + ")" * 5000)},
    "groups without an end": lambda: {"tokenizer.json": regex("(?i:" * 4000)},
    "a regex of tekken": lambda: {"tekken.json": tekken(config__pattern="(?:a{400}){300}")},
    # SentencePiece models
    "4 GB of zeros behind pieces": lambda: {"tokenizer.model": (pieces(), 1 << 32)},
    "a piece of 2**41": lambda: {"tokenizer.model": pieces() + b"\x0a\xff\xff\xff\xff\xff\x7f"},
    "groups in groups of a model": lambda: {"tokenizer.model": pieces() + b"\x4b" * 5_000},
    "a long piece": lambda: {"tokenizer.model": pieces(("ab" * 10**6, -3.0, 1))},
    "the same piece": lambda: {"tokenizer.model": pieces(*[("a", -1.0, 1)] * 100_000)},
    "a large table": lambda: {"tokenizer.model": pieces(table=pack("<I", 1 << 25) + bytes(1 << 25))},
    "a table without an end": lambda: {"tokenizer.model": pieces(table=b"\xff\xff\xff\x7f" + bytes(100))},
}


def write(folder: Path, files: Files) -> Path:
    for name, value in files.items():
        path = folder / name
        data, size = value if isinstance(value, tuple) else (value, 0)
        if not isinstance(data, (str, bytes)):
            data = json.dumps(data)
        path.write_bytes(data if isinstance(data, bytes) else data.encode())
        if size:
            with path.open("r+b") as file:
                file.truncate(size)
    return folder / next(iter(files))


def attempt(path: Path) -> Iterator[str]:
    """Load a file as a user would, and say what is wrong with how that went."""
    before, start = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss, time.process_time()
    try:
        has_pattern = formats.sniff(path) in ("huggingface", "tekken", "gguf", "sentencepiece")
        yield f"loaded {Tokenizer(formats.load(path, pattern=None if has_pattern else 'gpt2'))!r}"
    except BBPEError as error:
        message = str(error)
        if len(message) > LONGEST or path.parent.name not in message:
            yield f"bad message: {message[:300]}"
    except Exception as error:
        yield f"{type(error).__name__}: {error}"
    seconds = time.process_time() - start
    unit = 1 << (20 if sys.platform == "darwin" else 10)
    megabytes = (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) / unit
    if seconds > SECONDS:
        yield f"took {seconds:.1f} s"
    if megabytes > MEGABYTES:
        yield f"took {megabytes:.0f} MB"


@pytest.mark.skipif(not hasattr(os, "fork"), reason="a process of its own begins where this one is")
@pytest.mark.filterwarnings("ignore:.*multi-threaded:DeprecationWarning")
@pytest.mark.parametrize("name", HOSTILE)
def test_hostile_files(name: str, tmp_path: Path) -> None:
    path = write(tmp_path, HOSTILE[name]())
    read, written = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            os.write(written, "; ".join(attempt(path)).encode("utf-8", "backslashreplace")[:60_000])
        finally:
            os._exit(0)
    os.close(written)
    with os.fdopen(read, "rb") as pipe:
        problems = pipe.read().decode()
    assert os.waitpid(child, 0)[1] == 0
    assert problems == ""


def test_errors_of_pages_are_cut() -> None:
    error = BBPEError("a" * 5000 + "b" * 5000)
    assert len(str(error)) < LONGEST
    assert str(error)[0] + str(error)[-1] == "ab"
    assert str(BBPEError("short")) == "short"


def test_expanded_repetitions() -> None:
    for row in PATTERNS.values():
        check_size(row.steps)
    limit = MOST_EXPANDED
    fits = ["a{1000}b{1000}", "(?:ab{10}){1000}", r"\s{512}|\s{256}", r"[a{2}]{9}{5}", "(a|b{2,}){3,}", "a{0}", ")("]
    for source in (*fits, f"a{{{limit}}}"):
        check_size([source])
    fails = ["(?:a{400}){300}", "(?:(?:a{50}){50}){50}", "a" * 20_001, r"(?:\p{L}{9}){19999}"]
    for source in (*fails, f"a{{{limit + 1}}}"):
        with pytest.raises(BBPEError, match="expected at most"):
            check_size([source])
    with pytest.raises(BBPEError, match="65 regexes; expected at most 64"):
        check_size(["a"] * 65)


def test_a_string_of_gguf_is_no_longer_than_the_file(tmp_path: Path) -> None:
    path = tmp_path / "x.gguf"
    path.write_bytes(b"GGUF" + pack("<IQQ", 3, 0, 1) + string("a.b") + pack("<IQ", 8, 1 << 34))
    with pytest.raises(BBPEError, match=r"a\.b takes 17179869184 bytes"):
        formats.load(path)
