"""Prints a digest of each of many results, as JSON, with no instructions beyond a level: cpu_levels.py FOLDER LEVEL."""

from __future__ import annotations

import hashlib
import json
import os
import random
import sys
from pathlib import Path

import usages

import bbpe
from bbpe.core.budget import CPU, lower_cpu

#: Characters of a script each, with signs and blanks of all widths.
ALPHABETS = [
    "abcdeXYZ 019.,'", "\u00e9\u0301\u00df\u0142 a", "\u0430\u0431\u0432\u0414 ", "\u03b1\u03b2\u1f00 ",
    "\u05d0\u05d1\u05b0 ", "\u0627\u0628\u064e\u060c ", "\u0915\u094d\u093f\u0964 ", "\u0e01\u0e49\u0e33",
    "\u1780\u17d2\u17b6", "\u4e2d\u6587\u3002\u3000", "\u3042\u30ab\u30fc\u3002", "\ud55c\uae00 ",
    "\U0001f600\u200d\ufe0f\U0001f3fd", "\U00020000\U0001d400\U0002f800 ", "\n\r\t \u00a0\u2003", "<s>{}[]\":\\/",
    "=-#*", "\x00\x7f\u0085\ufeff", "ACGT",
]  # fmt: skip


def soup(rng: random.Random, size: int) -> str:
    """A text that changes script now and then, with words of up to 300 characters."""
    parts: list[str] = []
    while size > 0:
        letters = rng.choice(ALPHABETS)
        parts.append("".join(rng.choices(letters, k=min(size, rng.choice((1, 3, 9, 40, 300))))))
        size -= len(parts[-1])
    return "".join(parts)


def digest(found: object) -> str:
    return hashlib.sha256(repr(usages.plain(found)).encode("utf-8", "surrogatepass")).hexdigest()


def results(folder: str, level: str) -> dict[str, str]:
    """Digests of what the usages give, and of texts of many scripts by patterns and models."""
    usages.FOLDER[:] = [folder]
    # tables that another level has kept would be taken for its own
    os.environ["XDG_CACHE_HOME"] = f"{folder}/cache of {level}"
    found = {name: digest(function()) for name, function in usages.USAGES.items()}
    rng = random.Random(5)
    texts = [soup(rng, size) for size in (*range(1, 130, 3), 1000, 5000, 70_000)]
    for pattern in ("gpt2", "cl100k", "o200k", "llama3", "qwen2", "bloom", "none"):
        found[f"split {pattern}"] = digest([bbpe.split_spans(text, pattern) for text in texts])
    for model in (bbpe.BPE(), bbpe.BPE(alphabet="chars"), bbpe.WordPiece(), bbpe.Unigram()):
        tok = bbpe.train_from_iterator(texts, 1500, model=model)
        tables = [tok.encode(text) for text in texts]
        again = [tok.encode(text.encode()) for text in texts]
        arrays = [*tok.encode_batch_to_numpy(texts * 2), tok.count_tokens_batch(texts)]
        found[repr(model)] = digest([tok.fingerprint, tables, again, arrays, tok.encode_with_offsets(texts[-2])])
    for form in ("NFC", "NFD", "NFKC", "NFKD", "BertNormalizer", "Nmt", "StripAccents", "Lowercase"):
        options = {"clean_text": True, "handle_chinese_chars": True, "strip_accents": None, "lowercase": True}
        tok = usages.with_rules(normalizer={"type": form, **(options if form[0] == "B" else {})})
        found[form] = digest([form, [tok.encode_with_offsets(text) for text in texts]])
    lines = Path(folder, "lines.jsonl")
    records = [json.dumps({"id": i, "text": text}, ensure_ascii=i % 2 == 0) + "\n" for i, text in enumerate(texts)]
    lines.write_text("".join(records), "utf-8")
    found["lines"] = digest(sorted(bbpe.count([lines], pattern="cl100k").most_common()))
    return found


if __name__ == "__main__":
    given, level = sys.argv[1:]
    if level == "own":
        usages.prepare(given)
        level = CPU
    else:
        assert lower_cpu(level) == level
    print(json.dumps({"level": level, "results": results(given, level)}))
