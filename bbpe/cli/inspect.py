"""`bbpe inspect`: what a tokenizer file holds."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace

import bbpe
from bbpe import formats

from .command import Command, add_pattern
from .streams import say, say_json


def _add_arguments(parser: ArgumentParser) -> None:
    parser.add_argument("file", metavar="FILE", help="the tokenizer: a file or a folder")
    add_pattern(parser)
    parser.add_argument("--json", action="store_true", help="write one JSON object")


def _run(args: Namespace) -> int:
    facts = _facts(args.file, args.pattern)
    if args.json:
        say_json(facts)
        return 0
    for key, value in facts.items():
        if isinstance(value, dict):
            say(f"{key:<14} {len(value)}")
            for text, token_id in sorted(value.items(), key=lambda item: item[1]):
                say(f"{token_id:>14} {text!r}")
        else:
            say(f"{key:<14} {'-' if value is None else value}")
    return 0


def _facts(path: str, pattern: str | None) -> dict[str, object]:
    tokenizer = bbpe.load(path, pattern=pattern)
    merges = tokenizer.spec.merges
    return {
        "file": path,
        "format": formats.sniff(path),
        "name": tokenizer.name,
        "vocab_size": tokenizer.vocab_size,
        "tokens": len(tokenizer),
        "mode": "ranks" if merges is None else "merges",
        "merges": None if merges is None else len(merges),
        "pattern": tokenizer.pattern,
        "unicode": tokenizer.unicode_version,
        "special_tokens": dict(tokenizer.special_tokens),
        "added_tokens": dict(tokenizer.added_tokens),
        "fingerprint": tokenizer.fingerprint,
    }


COMMAND = Command("inspect", "Show what a tokenizer file holds.", _add_arguments, _run)
