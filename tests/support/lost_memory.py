"""Makes, uses and frees one kind of thing after another, and prints by how many bytes the rounds grow, as JSON.

The C library says to the byte what is allocated, so a block that a round does not free is seen however small it is.
What grows in every round is lost; a cache grows in some.  So the rounds of a kind end with one that does not grow.
"""

from __future__ import annotations

import ctypes
import gc
import json
import os
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from random_files import RandomFile, hard_texts

import bbpe

#: The most rounds of a kind.
ROUNDS = 24
TEXT = "see my eyes first, 12345 dogs: \u6771\u4eac\u90fd\u306b\u4f4f\u3080\u3002 \u00dcbermut e\u0301 <s> " * 30
LONG = TEXT * 120

_KINDS: dict[str, Callable[[], object]] = {}


class _Allocated(ctypes.Structure):
    _fields_ = [
        (name, ctypes.c_size_t)
        for name in ("arena", "ordblks", "smblks", "hblks", "mapped", "usmblks", "fsmblks", "used", "free", "keep")
    ]


def allocated() -> int:
    """The bytes that are allocated and not freed."""
    gc.collect()
    counts = _LIBRARY.mallinfo2()
    return int(counts.used + counts.mapped)


def kind(function: Callable[[], object]) -> Callable[[], object]:
    _KINDS[function.__name__] = function
    return function


def refused(function: Callable[..., object], *args: Any, **options: Any) -> None:
    """Call what must raise an error."""
    try:
        function(*args, **options)
    except (ValueError, TypeError, bbpe.BBPEError):
        return
    raise AssertionError(f"{function} took {args}, {options}")


def used(tok: bbpe.Tokenizer) -> None:
    """Have a tokenizer encode and decode in its usual ways."""
    ids = tok.encode(TEXT, allowed_special="all")
    tok.decode(ids)
    tok.decode_bytes(ids)
    tok.encode_to_numpy(LONG, threads=2)
    tok.encode_with_offsets(TEXT)
    tok.encode_batch_to_numpy([TEXT, "", "see"])
    tok.encode_batch([TEXT, "see"])
    tok.count_tokens_batch([TEXT, "see"])
    tok.encode_padded([TEXT, "see"], pad_id=0)
    tok.truncate(TEXT, 20)


def with_rules(**rules: Any) -> bbpe.Tokenizer:
    """The usual tokenizer with components of a tokenizer.json replaced."""
    content = json.loads(Path(FOLDER, "usual.json").read_text("utf-8"))
    return bbpe.load(json.dumps({**content, **rules}).encode())


@kind
def lost() -> None:
    """A block that nothing frees, to show that it is seen."""
    _LIBRARY.malloc(40)


@kind
def usual() -> None:
    used(bbpe.load(FOLDER + "/usual.json"))


@kind
def without_tables() -> None:
    used(bbpe.load(FOLDER + "/usual.json", cache=False))


@kind
def other_calls() -> None:
    tok = bbpe.load(FOLDER + "/usual.json")
    ids = tok.encode(TEXT, dropout=0.3, seed=1)
    tok.decode_with_offsets(ids)
    tok.decode_batch([ids, ids[:3]])
    tok.encode_aligned(TEXT)
    tok.chunk(TEXT, 20, overlap=3, boundary="word")
    tok.fits(TEXT, 10)
    tok.is_canonical(ids)
    tok.trace("see <s> this", allowed_special="all")
    list(tok.encode_iterable([TEXT, TEXT], allowed_special="all"))
    tok.encode_segments([(TEXT, ()), ("<s>", "all")])
    stream = tok.stream_decoder(stop=["dogs: \u6771", "never"])
    for token_id in ids[:60]:
        stream.push(token_id)
        if stream.stopped:
            break
    stream.copy().finish()
    tok.with_added_tokens(["<more>", "dogs"]).encode(TEXT)


@kind
def errors() -> None:
    tok = bbpe.load(FOLDER + "/usual.json")
    refused(tok.encode, TEXT, disallowed_special="all")
    refused(tok.encode_batch_to_numpy, [TEXT, 5])
    refused(tok.encode_batch_to_numpy, [TEXT, "<s>"], disallowed_special="all")
    refused(tok.decode, [1, 2, 1 << 30])
    refused(tok.decode_batch, [[1, 2], [1 << 30]])
    refused(tok.decode, [1, "a"])
    refused(bbpe.load, b'{"model": {"type": "BPE", "vocab": {"a": 0, "b": 1}, "merges": ["a b"]}}')
    refused(bbpe.load, b"YQ== 0\nYg== 0\n")
    refused(bbpe.train_from_iterator, [TEXT], 100)
    refused(bbpe.split, TEXT, "(a")


@kind
def normalizers() -> None:
    normalizer = {
        "type": "Sequence",
        "normalizers": [
            {"type": "NFD"}, {"type": "StripAccents"}, {"type": "Lowercase"}, {"type": "Prepend", "prepend": "x"},
            {"type": "Replace", "pattern": {"String": "dogs"}, "content": "cats"},
            {"type": "Replace", "pattern": {"Regex": "[0-9]+"}, "content": "#"}, {"type": "NFC"},
        ],
    }  # fmt: skip
    used(with_rules(normalizer=normalizer))


@kind
def pre_tokenizers() -> None:
    split = {"type": "Split", "behavior": "MergedWithPrevious", "invert": False}
    steps = [
        {**split, "pattern": {"Regex": r"\p{L}+(?=\d|\b)|\s+"}}, {"type": "Digits", "individual_digits": True},
        {**split, "pattern": {"String": "s"}}, {"type": "ByteLevel", "add_prefix_space": False, "use_regex": False},
    ]  # fmt: skip
    used(with_rules(pre_tokenizer={"type": "Sequence", "pretokenizers": steps}))


@kind
def random_files() -> None:
    """Components of a tokenizer.json in many combinations."""
    for seed in range(2000, 2030):
        try:
            tok = bbpe.load(json.dumps(RandomFile(seed).value).encode())
        except bbpe.BBPEError:
            continue
        texts = hard_texts(seed, 40)
        for text in texts:
            tok.encode_with_offsets(text)
        tok.encode_batch(texts)


@kind
def added_tokens() -> None:
    content = json.loads(Path(FOLDER, "usual.json").read_text("utf-8"))
    names = ("dogs", "my eyes", "\u6771\u4eac", "first")
    flags = {"single_word": False, "lstrip": True, "rstrip": True, "normalized": True, "special": False}
    more = [{"id": 500 + number, "content": name, **flags} for number, name in enumerate(names)]
    used(with_rules(added_tokens=[*content["added_tokens"], *more], normalizer={"type": "NFKC"}))


@kind
def states_that_are_made() -> None:
    """A regex with more states than a table has, and one whose look-around has many."""
    many = r"(?:a|b)*a(?:a|b){18}"
    for pattern in (rf"{many}|\s+|\S", rf"\d{{1,3}}(?=(?:\d{{3}})*\b)|\w(?={many})|[\s\S]", r"[\s\S]*<end>|\w+|\W"):
        bbpe.split("abababbababba 1234567 " * 30, pattern)
        used(bbpe.train_from_iterator(["abab a b"], 260, pattern=pattern))


@kind
def foreign_regex() -> None:
    used(bbpe.train_from_iterator(["abab a b"], 260, pattern=r"(\w)\1|\w+|\s+|\W"))


@kind
def pieces() -> None:
    tok = bbpe.train_from_iterator([TEXT], 320, model="unigram")
    used(tok)
    tok.encode_nbest("see my eyes", 4)
    tok.encode_sampled("see my eyes", alpha=0.3, nbest=4, seed=1)
    tok.encode_sampled("see my eyes", alpha=0.3, seed=1)
    tok.save(FOLDER + "/pieces.model")
    used(bbpe.load(FOLDER + "/pieces.model"))
    used(bbpe.load(FOLDER + "/pieces.model", cache=False))


@kind
def wordpiece() -> None:
    tok = bbpe.train_from_iterator([TEXT], 320, model=bbpe.WordPiece())
    tok.save(FOLDER + "/wordpiece")
    used(bbpe.load(FOLDER + "/wordpiece"))


@kind
def words() -> None:
    for model in (bbpe.BPE(alphabet="chars", end_of_word="</w>"), bbpe.BPE(alphabet="chars", word_start="\u2581")):
        used(bbpe.train_from_iterator([TEXT], 320, model=model))


@kind
def repeats_and_long_pretokens() -> None:
    """A token whose parts come after it in the file, and pretokens of 20 kB."""
    bytes_alone = {bytes((byte,)): byte for byte in range(256)}
    tok = bbpe.Tokenizer.from_ranks({**bytes_alone, b"abc": 256, b"ab": 257, b"abcab": 258}, pattern="gpt2")
    many = "".join(np.random.default_rng(1).choice(list("abc"), 100_000))
    for text in ("abc" * 7000, many, "".join(map(chr, range(0x4E00, 0x6800)))):
        tok.encode(text)
        tok.encode_batch([text, "a", text], threads=2)


@kind
def formats() -> None:
    tok = bbpe.load(FOLDER + "/usual.json")
    plain = bbpe.train_from_iterator([TEXT], 300, pattern="gpt2")
    tok.save(FOLDER + "/some.tiktoken", drop=["special_tokens", "pattern"])
    plain.save(FOLDER + "/some.gguf")
    plain.save(FOLDER + "/gpt2", format="gpt2")
    used(bbpe.load(FOLDER + "/some.tiktoken", pattern="cl100k"))
    used(bbpe.load(FOLDER + "/some.gguf"))
    used(bbpe.load(FOLDER + "/gpt2"))


@kind
def training() -> None:
    counts = bbpe.count_from_iterator([TEXT, "other words"], pattern="gpt2")
    counts.save(FOLDER + "/counts.parquet")
    tok = bbpe.train_from_counts(bbpe.load_counts(FOLDER + "/counts.parquet"), 300)
    bbpe.extend(tok, counts, add=10)
    bbpe.prune(tok, 280)
    Path(FOLDER, "text.txt").write_text(LONG * 8, "utf-8")
    Path(FOLDER, "text.jsonl").write_text(json.dumps({"text": TEXT}) + "\n" + json.dumps({"text": "a"}) + "\n", "utf-8")
    bbpe.count([FOLDER + "/text.txt", FOLDER + "/text.jsonl"], pattern="cl100k", threads=2)
    bbpe.train_from_iterator([TEXT], 300, model=bbpe.BPE(forbid=r"my \w+|\d\d"))
    with tempfile.TemporaryDirectory() as folder:
        plan = bbpe.plan_count([FOLDER + "/text.txt"], folder, pattern="cl100k", part_size=1_000_000)
        for number in range(len(plan)):
            bbpe.count_part(plan, number)
        bbpe.sum_counts(folder)


@kind
def shards() -> None:
    tok = bbpe.load(FOLDER + "/usual.json")
    with tempfile.TemporaryDirectory() as folder:
        done = bbpe.shard_from_iterator([TEXT, "see", ""], folder + "/a", tok, eos="<s>")
        loaded = bbpe.load_shards(folder + "/a")
        for row in loaded.windows(16, shuffle=1):
            row["input_ids"].sum()
        for row in loaded.bins(64, ragged=True):
            row["input_ids"].sum()
        bbpe.retokenize(done, folder + "/b", bbpe.train_from_iterator([TEXT], 300, special_tokens=["</s>"]), eos="</s>")


@kind
def chats() -> None:
    template = "{% for m in messages %}<s>{{ m.role }}: {{ m.content }}{% endfor %}"
    tok = bbpe.load(FOLDER + "/usual.json").with_roles(chat_template=template)
    chat = [{"role": "user", "content": "see my eyes"}, {"role": "assistant", "content": TEXT}]
    tok.encode_chat(chat)
    tok.encode_chat_batch([chat, chat])


@kind
def arrays() -> None:
    tok = bbpe.load(FOLDER + "/usual.json")
    ids = tok.encode_to_numpy(TEXT)
    for dtype in (np.uint16, np.int32, np.int64):
        tok.decode(ids.astype(dtype))
    tok.decode_batch(tok.encode_batch_to_numpy([TEXT, "see"]))
    bbpe.split_spans(TEXT, "o200k")


def growths(function: Callable[[], object]) -> list[int]:
    """By how many bytes each round after the first grows, until one does not."""
    function()
    found, before = [1], allocated()
    while found[-1] > 0 and len(found) <= ROUNDS:
        function()
        after = allocated()
        found.append(after - before)
        before = after
    return found[1:]


if __name__ == "__main__":
    _LIBRARY = ctypes.CDLL(None)
    _LIBRARY.mallinfo2.restype = _Allocated
    with tempfile.TemporaryDirectory() as FOLDER:
        os.environ["XDG_CACHE_HOME"] = FOLDER + "/cache"
        bbpe.train_from_iterator([TEXT], 400, pattern="cl100k", special_tokens=["<s>"]).save(FOLDER + "/usual.json")
        chosen = sys.argv[1:] or [name for name in _KINDS if name != "lost"]
        print(json.dumps({name: growths(_KINDS[name]) for name in chosen}))
