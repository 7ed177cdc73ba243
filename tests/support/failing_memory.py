"""Runs one journey after another with each of its allocations failing in turn, and prints what went wrong, as JSON.

`tests/c/failing_malloc.c` is preloaded, and fails what the compiled modules ask for, not what Python or NumPy do.  An
allocation that fails must end in `MemoryError`, or in the same result by another way.
"""

from __future__ import annotations

import ctypes
import json
import os
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

import bbpe
from bbpe.core import _compiled

TEXT = "see my eyes first, 12345 dogs: \u6771\u4eac\u90fd\u306b\u4f4f\u3080\u3002 \u00dcbermut e\u0301 <s> \U0001f600"
LONG = "".join(chr(0x4E00 + 7 * number % 5000) + TEXT[: number % 50] for number in range(900))

_JOURNEYS: dict[str, Callable[[], object]] = {}


def journey(function: Callable[[], object]) -> Callable[[], object]:
    _JOURNEYS[function.__name__] = function
    return function


def with_rules(**rules: Any) -> bbpe.Tokenizer:
    content = json.loads(Path(FOLDER, "usual.json").read_text("utf-8"))
    return bbpe.load(json.dumps({**content, **rules}).encode())


def plain(found: object) -> object:
    """What can be compared."""
    if isinstance(found, np.ndarray):
        return found.tolist()
    if isinstance(found, list | tuple):
        return [plain(part) for part in found]
    return found


def results(tok: bbpe.Tokenizer) -> list[object]:
    """What a tokenizer gives in its usual ways."""
    ids = tok.encode(TEXT, allowed_special="all")
    batch = tok.encode_batch_to_numpy([TEXT, "", "see"])
    return [
        ids, tok.decode(ids), tok.encode_with_offsets(TEXT), batch.ids, batch.offsets, tok.encode_batch([TEXT, "see"]),
        tok.count_tokens_batch([TEXT, "see"]), tok.encode_padded([TEXT, "see"], pad_id=0).ids, tok.truncate(TEXT, 9),
    ]  # fmt: skip


@journey
def lost() -> object:
    """A result that has less without memory, to show that it is seen."""
    try:
        return bbpe.load(FOLDER + "/usual.json", cache=False).encode(TEXT)
    except MemoryError:
        return []


@journey
def usual() -> object:
    return results(bbpe.load(FOLDER + "/usual.json", cache=False))


@journey
def normalizers() -> object:
    steps = [
        {"type": "NFD"}, {"type": "StripAccents"}, {"type": "Lowercase"}, {"type": "Prepend", "prepend": "x"},
        {"type": "Replace", "pattern": {"String": "dogs"}, "content": "cats"},
        {"type": "Replace", "pattern": {"Regex": "[0-9]+"}, "content": "#"}, {"type": "NFC"},
    ]  # fmt: skip
    return results(with_rules(normalizer={"type": "Sequence", "normalizers": steps}))


@journey
def pre_tokenizers() -> object:
    split = {"type": "Split", "behavior": "MergedWithPrevious", "invert": False}
    steps = [
        {**split, "pattern": {"Regex": r"\p{L}+(?=\d|\b)|\s+"}}, {"type": "Digits", "individual_digits": True},
        {**split, "pattern": {"String": "s"}}, {"type": "ByteLevel", "add_prefix_space": False, "use_regex": False},
    ]  # fmt: skip
    return results(with_rules(pre_tokenizer={"type": "Sequence", "pretokenizers": steps}))


@journey
def added_tokens() -> object:
    content = json.loads(Path(FOLDER, "usual.json").read_text("utf-8"))
    names = ("dogs", "my eyes", "\u6771\u4eac", "first", "see", "se")
    flags = {"single_word": False, "lstrip": True, "rstrip": True, "normalized": True, "special": False}
    more = [{"id": 500 + number, "content": name, **flags} for number, name in enumerate(names)]
    return results(with_rules(added_tokens=[*content["added_tokens"], *more], normalizer={"type": "NFKC"}))


@journey
def tokens_that_nearly_match() -> object:
    """A text in which a search for long tokens would take too many steps."""
    tok = bbpe.load(FOLDER + "/usual.json", cache=False).with_added_tokens(["a" * 300 + "b", "a" * 200 + "c"])
    return [tok.encode("a" * 5000 + text) for text in ("", "b", "c")]


@journey
def pieces() -> object:
    tok = bbpe.load(FOLDER + "/pieces.model", cache=False)
    return [*results(tok), tok.encode_nbest("see my eyes", 4), tok.encode_sampled("see my", alpha=0.3, seed=1)]


@journey
def wordpiece() -> object:
    return results(bbpe.load(FOLDER + "/wordpiece", cache=False))


@journey
def words() -> object:
    return results(bbpe.load(FOLDER + "/words.json", cache=False))


@journey
def a_long_text() -> object:
    """Tables of its own, cut points, the matching of long pieces, and pieces that repeat."""
    tok = bbpe.load(FOLDER + "/usual.json", cache=False)
    found = [tok.encode_to_numpy(text, threads=1) for text in (LONG, "ab" * 20_000, LONG)]
    return [found, tok.encode_with_offsets(LONG)]


@journey
def training() -> object:
    counts = bbpe.count_from_iterator([TEXT, "other words"], pattern="gpt2")
    return bbpe.train_from_counts(counts, 280).merges


@journey
def training_of_pieces() -> object:
    return bbpe.train_from_iterator([TEXT], 300, model=bbpe.Unigram()).fingerprint


@journey
def training_of_words() -> object:
    return bbpe.train_from_iterator([TEXT], 90, model=bbpe.WordPiece()).fingerprint


@journey
def many_states() -> object:
    return bbpe.split("abababbababba 1234567 " * 3, r"(?:a|b)*a(?:a|b){18}|\s+|\S")


@journey
def other_calls() -> object:
    tok = bbpe.load(FOLDER + "/usual.json", cache=False)
    ids = tok.encode(TEXT, dropout=0.3, seed=1)
    stream = tok.stream_decoder(stop=["dogs: \u6771", "never"])
    pushed = [stream.push(token_id) for token_id in ids[:9]]
    more = tok.with_added_tokens(["<more>", "dogs"]).encode(TEXT)
    return [
        ids, tok.decode_with_offsets(ids), tok.decode_batch([ids, ids[:3]]), tok.is_canonical(ids), pushed, more,
        [part.text for part in tok.chunk(TEXT, 9, overlap=3)], list(tok.encode_iterable([TEXT, TEXT])),
        tok.encode_segments([(TEXT, ()), ("<s>", "all")]), bbpe.split_spans(TEXT, "o200k"),
    ]  # fmt: skip


@journey
def files() -> object:
    Path(FOLDER, "text.jsonl").write_text(json.dumps({"text": TEXT}) + "\n" + json.dumps({"text": "a"}) + "\n", "utf-8")
    counts = bbpe.count([FOLDER + "/text.jsonl"], pattern="cl100k", threads=1)
    return sorted(counts.most_common())


@journey
def other_formats() -> object:
    return [bbpe.load(FOLDER + name, cache=False).fingerprint for name in ("/gpt2", "/some.gguf")]


@journey
def pruned_and_extended() -> object:
    tok = bbpe.load(FOLDER + "/plain.json", cache=False)
    counts = bbpe.count_from_iterator([TEXT], pattern="gpt2")
    return [bbpe.extend(tok, counts, add=5).fingerprint, bbpe.prune(tok, 270)[0].fingerprint]


def faults(function: Callable[[], object]) -> list[str]:
    """How many allocations a journey has, and what went wrong where one of them failed."""
    expected = plain(function())
    NEXT(0)
    assert plain(function()) == expected
    count = NEXT(0)
    found = [str(count)]
    for number in range(1, count + 1):
        NEXT(number)
        try:
            given = plain(function())
        except MemoryError:
            continue
        except Exception as error:
            found.append(f"allocation {number}: {error!r}")
            continue
        finally:
            NEXT(0)
        if given != expected:
            found.append(f"allocation {number}: another result")
    return found


if __name__ == "__main__":
    library = ctypes.CDLL(os.environ["LD_PRELOAD"])
    NEXT = library.failing_malloc_next
    NEXT.argtypes, NEXT.restype = [ctypes.c_uint64], ctypes.c_uint64
    rows = [line.split() for line in Path("/proc/self/maps").read_text("utf-8").splitlines()]
    ranges = [int(end, 16) for row in rows if row[-1] == _compiled.__file__ for end in row[0].split("-")]
    library.failing_malloc_watch(ctypes.c_size_t(min(ranges)), ctypes.c_size_t(max(ranges)))
    with tempfile.TemporaryDirectory() as FOLDER:
        os.environ["XDG_CACHE_HOME"] = FOLDER + "/cache"
        bbpe.train_from_iterator([TEXT] * 3, 400, pattern="cl100k", special_tokens=["<s>"]).save(FOLDER + "/usual.json")
        bbpe.train_from_iterator([TEXT], 300, model="unigram").save(FOLDER + "/pieces.model")
        bbpe.train_from_iterator([TEXT], 90, model=bbpe.WordPiece()).save(FOLDER + "/wordpiece")
        words_of = bbpe.BPE(alphabet="chars", end_of_word="</w>")
        bbpe.train_from_iterator([TEXT], 90, model=words_of).save(FOLDER + "/words.json")
        plain_one = bbpe.train_from_iterator([TEXT], 280, pattern="gpt2")
        plain_one.save(FOLDER + "/plain.json")
        plain_one.save(FOLDER + "/gpt2", format="gpt2")
        plain_one.save(FOLDER + "/some.gguf")
        for name in sys.argv[1:] or [name for name in _JOURNEYS if name != "lost"]:
            print(json.dumps({name: faults(_JOURNEYS[name])}), flush=True)
