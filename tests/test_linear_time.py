"""16 times the text takes about 16 times as long, whatever is repeated in it and whoever looks back for a boundary.

Times are compared with each other in one process, never with seconds: the square of the length takes 256 times as long.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import pytest

import bbpe

#: Units that repeat into one word, one grapheme cluster, one sentence, one token's surroundings, or none of these.
UNITS = {
    "letter": "a", "word": " the", "blank": " ", "lines": "\n", "carriage": "\r\n", "blank lines": "\n ", "digit": "1",
    "marks": "!", "closed": "!)", "joined": "\U0001f469\u200d", "joiner": "\u200d", "tags": "\U000e0061",
    "skin": "\U0001f3fb", "prepended": "\u0600", "accent": "\u0301", "jamo": "\u1100", "indic": "\u0915\u094d",
    "selector": "\ufe0f", "flags": "\U0001f1e9\U0001f1ea", "thai": "\u0e01\u0e33", "han": "\u4e2d", "stops": "\u3002",
    "token": "<m>", "near token": "<m", "blank token": " <m> ",
}  # fmt: skip
#: Calls that look for a boundary: of a cluster, word, sentence, line, character, token or block.
CALLS: dict[str, Callable[[bbpe.Tokenizer, str], object]] = {
    "chunk": lambda tok, text: tok.chunk(text, 50),
    "chunk of bytes": lambda tok, text: tok.chunk(text.encode(), 9),
    "chunk with overlap": lambda tok, text: tok.chunk(text, 50, overlap=10),
    "chunk at words": lambda tok, text: tok.chunk(text, 50, boundary="word"),
    "chunk at sentences": lambda tok, text: tok.chunk(text, 50, boundary="sentence", overlap=7),
    "chunk at paragraphs": lambda tok, text: tok.chunk(text, 50, boundary="paragraph"),
    "chunk at lines": lambda tok, text: tok.chunk(text, 50, boundary="line"),
    "chunk of special tokens": lambda tok, text: tok.chunk(text, 50, allowed_special="all"),
    "a long chunk": lambda tok, text: tok.chunk(text, max(len(text) // 4, 8), overlap=5),
    "truncate": lambda tok, text: tok.truncate(text, len(text) // 2),
    "truncate to few": lambda tok, text: tok.truncate(text, 9),
    "truncate left": lambda tok, text: tok.truncate(text, len(text) // 2, side="left"),
    "encode_padded": lambda tok, text: tok.encode_padded([text], max_length=64, truncation="longest_first", pad_id=0),
    "encode": lambda tok, text: tok.encode_to_numpy(text, threads=1, allowed_special="all"),
    "encode in threads": lambda tok, text: tok.encode_to_numpy(text, threads=2),
    "encode in pieces": lambda tok, text: list(tok.encode_iterable(text[i : i + 7] for i in range(0, len(text), 7))),
    "offsets": lambda tok, text: tok.encode_with_offsets(text, allowed_special="all"),
    "count_tokens": lambda tok, text: tok.count_tokens(text),
    "streams": lambda tok, text: streamed(tok, text),
    # all of the text is held back, and the ends of it begin the string too where the text repeats itself
    "stop strings": lambda tok, text: streamed(tok, text, stop=[f"{text}\0"]),
    "counting": lambda tok, text: bbpe.count_from_iterator([text], pattern="gpt2"),
}
BEGIN, MOST, TIMES = 256, 1 << 14, 16


def streamed(tok: bbpe.Tokenizer, text: str, **options: Any) -> str:
    stream = tok.stream_decoder(**options)
    return "".join(map(stream.push, tok.encode(text))) + stream.finish()


TEXTS = ["see my eyes first", "see my dogs", "I have 12 dogs, na\u00efve caf\u00e9"] * 20


@cache
def made(kind: str) -> bbpe.Tokenizer:
    if kind in ("wordpiece", "unigram"):
        return bbpe.train_from_iterator(TEXTS, 300, model=kind, special_tokens=["[UNK]", "<m>"])
    return bbpe.train_from_iterator(TEXTS, 300, pattern=kind, special_tokens=["<m>"])


def stripping(folder: Path, **options: bool) -> bbpe.Tokenizer:
    """A tokenizer whose added token has options that look at what is around it."""
    path = folder / "tokenizer.json"
    made("gpt2").save(path)
    value = json.loads(path.read_text("utf-8"))
    for token in value["added_tokens"]:
        token.update(options)
    path.write_text(json.dumps(value), "utf-8")
    return bbpe.load(path, cache=False)


def seconds(call: Callable[[bbpe.Tokenizer, str], object], tok: bbpe.Tokenizer, text: str) -> float:
    spans = []
    for _ in range(2):
        begin = time.process_time()
        call(tok, text)
        spans.append(time.process_time() - begin)
    return min(spans)


def growth(call: Callable[[bbpe.Tokenizer, str], object], tok: bbpe.Tokenizer, unit: str) -> tuple[float, float] | None:
    """The seconds of a text and of 16 times that text, long enough to be measured; `None` if it is not too slow."""
    count = BEGIN
    while (once := seconds(call, tok, unit * count)) < 0.0004 and count < MOST:
        count *= 4
    for _ in range(3):  # other programs may have been busy
        more = seconds(call, tok, unit * (TIMES * count))
        if more < 4 * TIMES * once + 0.02:
            return None
        once = seconds(call, tok, unit * count)
    return once, more


def check(tok: bbpe.Tokenizer, names: list[str], calls: list[str]) -> None:
    slow: dict[str, Any] = {}
    for call in calls:
        for name in names:
            try:
                found = growth(CALLS[call], tok, UNITS[name])
            except ValueError as error:  # one character has more tokens
                assert "alone has more tokens" in str(error), (call, name)  # noqa: PT017
                continue
            if found is not None:
                slow[f"{call} of {name}"] = found
    assert slow == {}


@pytest.mark.parametrize("call", [call for call in CALLS if call.startswith("chunk")])
def test_chunks_of_repeated_signs(call: str) -> None:
    check(made("gpt2"), ["letter", "joined", "tags", "flags", "closed"], [call])


@pytest.mark.full
@pytest.mark.parametrize("call", CALLS)
@pytest.mark.parametrize("kind", ["gpt2", "o200k", "wordpiece", "unigram"])
def test_every_search_for_a_boundary(kind: str, call: str) -> None:
    check(made(kind), list(UNITS), [call])


@pytest.mark.full
@pytest.mark.parametrize("option", ["lstrip", "rstrip", "single_word", "normalized"])
def test_options_of_added_tokens(option: str, tmp_path: Path) -> None:
    tok = stripping(tmp_path, **{option: True})
    check(tok, list(UNITS), ["encode", "offsets", "chunk of special tokens", "encode in pieces"])
