"""The usage of each command: what it needs and what it takes, and a description of each option."""

from __future__ import annotations

import argparse
import re

import pytest

from bbpe.cli import COMMANDS, make_parser
from bbpe.cli.completion import _commands_of

#: What follows the options in the first line of a help.
USAGE = {
    "train": "-o PATH --vocab-size N [FILE ...]", "count": "-o PATH [FILE ...]", "counts merge": "-o PATH FILE ...",
    "counts show": "FILE", "extend": "-t NAME -o PATH [FILE ...]", "prune": "-t NAME -o PATH",
    "encode": "-t NAME [FILE ...]", "decode": "-t NAME [FILE ...]", "tokens": "-t NAME [FILE ...]",
    "show": "-t NAME [TEXT]", "view": "-t NAME -o OUT.html [FILE ...]", "serve": "", "lint": "-t NAME [FILE ...]",
    "eval": "-t NAME FILE ...", "compare": "A B [FILE ...]", "inspect": "[FILE]", "bench": "FILE",
    "shard": "-o FOLDER [FILE ...]", "shards status": "FOLDER", "shards verify": "FOLDER",
    "shards merge": "-o FOLDER FOLDER[:WEIGHT] ...", "shards convert": "-o FOLDER [FILE ...]",
    "shards blend": "FOLDER:WEIGHT ...", "shards show": "FOLDER [N]", "convert": "A B", "fetch": "NAME",
    "completion": "SHELL", "demo": "",
}  # fmt: skip
#: Some options as their help begins: the names, what they take, and what they are without a value.
OPTIONS = {
    "train": [
        "--model {bpe,wordpiece,unigram}", "--min-frequency N", "--alphabet {bytes,chars}", "--special-token TEXT",
        "--user-defined-symbols TEXT ...", "--character-coverage X", "--eos-token TEXT", "--chat-template FILE",
        "--log-merges PATH", "--forbid REGEX", "--max-words N", "--counts PATH", "--score {pmi,frequency}",
    ],
    "count": ["--max-memory SIZE", "--checkpoint FOLDER", "--sample SHARE", "--threads N", "--shards FOLDER"],
    "counts merge": ["--weight W", "--pattern PATTERN"],
    "counts show": ["--top N"],
    "tokens": ["--by {file,folder}", "--truncate N", "--chunk N", "--overlap N", "-o, --output PATH"],
    "encode": ["--sample ALPHA", "--numpy OUT.npy"],
    "extend": ["--add N", "--tie-break {ids,bytes,first}", "--max-token-length N", "--min-frequency N"],
    "prune": ["--map PATH", "--keep N", "--used-in FILE ...", "--min-count N", "--on-error {raise,skip}"],
    "view": ["--max-bytes SIZE", "--input-format {text}"],
    "eval": ["--parity NAME", "--sizes N,N", "--metric NAME", "--plot OUT.svg", "--html OUT.html"],
    "compare": ["--most N", "--html OUT.html"],
    "lint": ["--min-count N", "--examples N"],
    "bench": ["--against NAMES", "--runs N", "--bytes SIZE"],
    "serve": ["--port N"],
    "fetch": ["--folder DIR", "--url URL"],
    "convert": ["--verify [CORPUS ...]", "--drop NAME"],
    "shard": ["--part PARTS", "--eos TOKEN", "--bos TOKEN", "--dtype TYPE", "--part-size SIZE", "--empty {skip,keep}"],
    "shards status": ["--watch [SECONDS]", "--idle SECONDS"],
    "shards verify": ["--sample SHARE", "--seed N"],
    "shards merge": ["--tokens N", "--shuffle SEED", "--shard-size N"],
    "shards convert": ["--to-dtype TYPE", "--id-field NAME", "--masks NAME", "--special OLD=NEW", "--check SHARE",
                       "--retokenize NAME", "--column NAME", "--vocab-size N"],
}  # fmt: skip


def made(words: str) -> argparse.ArgumentParser:
    """The parser of a command, made anew."""
    parser: argparse.ArgumentParser = make_parser()
    for word in words.split():
        found = _commands_of(parser)[word]
        found.complete()
        parser = found
    return parser


def described(parser: argparse.ArgumentParser) -> list[str]:
    """The options of a help, without line ends."""
    return re.sub(r"\n {20,}", " ", parser.format_help()).splitlines()


def test_every_command_has_a_usage() -> None:
    names = {name: _commands_of(made(name)) for name in COMMANDS}
    assert {f"{name} {inner}".strip() for name, inners in names.items() for inner in inners or [""]} == USAGE.keys()


@pytest.mark.parametrize("words", USAGE)
def test_the_first_line_says_what_is_needed(words: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "200")
    parser = made(words)
    lines = described(parser)
    assert lines[0] == f"usage: bbpe {words} [OPTIONS] {USAGE[words]}".rstrip()
    found = [re.split(r" {2,}| (?=[A-Z][a-z])", line.strip())[0] for line in lines if line.startswith("  -")]
    missing = [option for option in OPTIONS.get(words, []) if option not in found]
    assert missing == []
    for action in parser._actions:
        assert re.match(r"[A-Z][^\n]*\.", action.help or ""), action.option_strings
