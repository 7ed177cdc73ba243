"""Short ways to use the package, by name, each from files to a result that can be compared."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

import bbpe

TEXT = "see my eyes first, 12345 dogs: \u6771\u4eac\u90fd\u306b\u4f4f\u3080\u3002 \u00dcbermut e\u0301 <s> \U0001f600"
LONG = "".join(chr(0x4E00 + 7 * number % 5000) + TEXT[: number % 50] for number in range(900))

USAGES: dict[str, Callable[[], object]] = {}
#: Where `prepare` has put the files.
FOLDER: list[str] = []


def usage(function: Callable[[], object]) -> Callable[[], object]:
    USAGES[function.__name__] = function
    return function


def with_rules(**rules: Any) -> bbpe.Tokenizer:
    content = json.loads(Path(FOLDER[0], "usual.json").read_text("utf-8"))
    return bbpe.load(json.dumps({**content, **rules}).encode())


def plain(found: object) -> object:
    """A result with lists for arrays, which `==` can compare."""
    if isinstance(found, np.ndarray):
        return found.tolist()
    if isinstance(found, list | tuple):
        return [plain(part) for part in found]
    return found


def results(tok: bbpe.Tokenizer) -> list[object]:
    """What a tokenizer returns from its usual methods."""
    ids = tok.encode(TEXT, allowed_special="all")
    batch = tok.encode_batch_to_numpy([TEXT, "", "see"])
    return [
        ids, tok.decode(ids), tok.encode_with_offsets(TEXT), batch.ids, batch.offsets, tok.encode_batch([TEXT, "see"]),
        tok.count_tokens_batch([TEXT, "see"]), tok.encode_padded([TEXT, "see"], pad_id=0).ids, tok.truncate(TEXT, 9),
    ]  # fmt: skip


@usage
def usual() -> object:
    return results(bbpe.load(FOLDER[0] + "/usual.json", cache=False))


@usage
def normalizers() -> object:
    steps = [
        {"type": "NFD"}, {"type": "StripAccents"}, {"type": "Lowercase"}, {"type": "Prepend", "prepend": "x"},
        {"type": "Replace", "pattern": {"String": "dogs"}, "content": "cats"},
        {"type": "Replace", "pattern": {"Regex": "[0-9]+"}, "content": "#"}, {"type": "NFC"},
    ]  # fmt: skip
    return results(with_rules(normalizer={"type": "Sequence", "normalizers": steps}))


@usage
def pre_tokenizers() -> object:
    split = {"type": "Split", "behavior": "MergedWithPrevious", "invert": False}
    steps = [
        {**split, "pattern": {"Regex": r"\p{L}+(?=\d|\b)|\s+"}}, {"type": "Digits", "individual_digits": True},
        {**split, "pattern": {"String": "s"}}, {"type": "ByteLevel", "add_prefix_space": False, "use_regex": False},
    ]  # fmt: skip
    return results(with_rules(pre_tokenizer={"type": "Sequence", "pretokenizers": steps}))


@usage
def added_tokens() -> object:
    content = json.loads(Path(FOLDER[0], "usual.json").read_text("utf-8"))
    names = ("dogs", "my eyes", "\u6771\u4eac", "first", "see", "se")
    flags = {"single_word": False, "lstrip": True, "rstrip": True, "normalized": True, "special": False}
    more = [{"id": 500 + number, "content": name, **flags} for number, name in enumerate(names)]
    return results(with_rules(added_tokens=[*content["added_tokens"], *more], normalizer={"type": "NFKC"}))


@usage
def tokens_that_nearly_match() -> object:
    """A text in which a search for long tokens would take too many steps."""
    tok = bbpe.load(FOLDER[0] + "/usual.json", cache=False).with_added_tokens(["a" * 300 + "b", "a" * 200 + "c"])
    return [tok.encode("a" * 5000 + text) for text in ("", "b", "c")]


@usage
def pieces() -> object:
    tok = bbpe.load(FOLDER[0] + "/pieces.model", cache=False)
    return [*results(tok), tok.encode_nbest("see my eyes", 4), tok.encode_sampled("see my", alpha=0.3, seed=1)]


@usage
def wordpiece() -> object:
    return results(bbpe.load(FOLDER[0] + "/wordpiece", cache=False))


@usage
def words() -> object:
    return results(bbpe.load(FOLDER[0] + "/words.json", cache=False))


@usage
def a_long_text() -> object:
    """Tables of its own, cut points, the matching of long pieces, and pieces that repeat."""
    tok = bbpe.load(FOLDER[0] + "/usual.json", cache=False)
    found = [tok.encode_to_numpy(text, threads=1) for text in (LONG, "ab" * 20_000, LONG)]
    return [found, tok.encode_with_offsets(LONG)]


@usage
def training() -> object:
    counts = bbpe.count_from_iterator([TEXT, "other words"], pattern="gpt2")
    return bbpe.train_from_counts(counts, 280).merges


@usage
def training_of_pieces() -> object:
    return bbpe.train_from_iterator([TEXT], 300, model=bbpe.Unigram()).fingerprint


@usage
def training_of_words() -> object:
    return bbpe.train_from_iterator([TEXT], 90, model=bbpe.WordPiece()).fingerprint


@usage
def many_states() -> object:
    return bbpe.split("abababbababba 1234567 " * 3, r"(?:a|b)*a(?:a|b){18}|\s+|\S")


@usage
def other_calls() -> object:
    tok = bbpe.load(FOLDER[0] + "/usual.json", cache=False)
    ids = tok.encode(TEXT, dropout=0.3, seed=1)
    stream = tok.stream_decoder(stop=["dogs: \u6771", "never"])
    pushed = [stream.push(token_id) for token_id in ids[:9]]
    more = tok.with_added_tokens(["<more>", "dogs"]).encode(TEXT)
    return [
        ids, tok.decode_with_offsets(ids), tok.decode_batch([ids, ids[:3]]), tok.is_canonical(ids), pushed, more,
        [part.text for part in tok.chunk(TEXT, 9, overlap=3)], list(tok.encode_iterable([TEXT, TEXT])),
        tok.encode_segments([(TEXT, ()), ("<s>", "all")]), bbpe.split_spans(TEXT, "o200k"),
    ]  # fmt: skip


@usage
def files() -> object:
    path = Path(FOLDER[0], "text.jsonl")
    path.write_text("".join(json.dumps({"text": text}) + "\n" for text in (TEXT, "a")), "utf-8")
    counts = bbpe.count([path], pattern="cl100k", threads=1)
    return sorted(counts.most_common())


@usage
def other_formats() -> object:
    return [bbpe.load(FOLDER[0] + name, cache=False).fingerprint for name in ("/gpt2", "/some.gguf")]


@usage
def pruned_and_extended() -> object:
    tok = bbpe.load(FOLDER[0] + "/plain.json", cache=False)
    counts = bbpe.count_from_iterator([TEXT], pattern="gpt2")
    return [bbpe.extend(tok, counts, add=5).fingerprint, bbpe.prune(tok, 270)[0].fingerprint]


def prepare(folder: str) -> None:
    """Write the files that usages begin with."""
    FOLDER[:] = [folder]
    os.environ["XDG_CACHE_HOME"] = folder + "/cache"
    bbpe.train_from_iterator([TEXT] * 3, 400, pattern="cl100k", special_tokens=["<s>"]).save(folder + "/usual.json")
    bbpe.train_from_iterator([TEXT], 300, model="unigram").save(folder + "/pieces.model")
    bbpe.train_from_iterator([TEXT], 90, model=bbpe.WordPiece()).save(folder + "/wordpiece")
    words_of = bbpe.BPE(alphabet="chars", end_of_word="</w>")
    bbpe.train_from_iterator([TEXT], 90, model=words_of).save(folder + "/words.json")
    plain_one = bbpe.train_from_iterator([TEXT], 280, pattern="gpt2")
    plain_one.save(folder + "/plain.json")
    plain_one.save(folder + "/gpt2", format="gpt2")
    plain_one.save(folder + "/some.gguf")
