"""Options whose value is one of a few words: the words of each command, and what a wrong one is told."""

from __future__ import annotations

from argparse import ArgumentParser
from collections.abc import Iterator

import pytest
from commands import Call

from bbpe.cli import COMMANDS, make_parser
from bbpe.cli.parsers import Parser

VOCABULARIES = (
    "huggingface unigram_json youtokentome tiktoken gpt2 vocab_txt wordpiece codes tekken minbpe rwkv gguf "
    "sentencepiece"
)
SHARDS = "megatron nanogpt llmc automodel olmo datatrove numpy parquet"
#: Each option: its words, and the commands that have it with these.
OPTIONS = [
    ("--document", "file line", "train, count, extend, eval, shard"),
    ("--input-format", "text jsonl parquet",
     "train, count, extend, prune, encode, tokens, lint, eval, compare, bench, shard"),
    ("--input-format", "text", "view"),
    ("--on-error", "raise skip", "train, count, extend, prune, shard"),
    ("--format", VOCABULARIES, "train, extend, prune, convert"),
    ("--format", SHARDS, "shard"),
    ("--drop", "special_tokens template pattern padding", "train, extend, prune, convert"),
    ("--model", "bpe wordpiece unigram", "train"),
    ("--alphabet", "bytes chars", "train"),
    ("--tie-break", "ids bytes first strings", "train"),
    ("--tie-break", "ids bytes first", "extend"),
    ("--score", "pmi frequency", "train"),
    ("--by", "file folder", "tokens"),
    ("--boundary", "token word sentence line paragraph", "tokens"),
    ("--metric", "tokens bytes_per_token characters_per_token fertility split_share single_byte_share unknown_share "
     "used_share renyi_efficiency parity cost_ratio changed_share", "eval"),
    ("--empty", "skip keep", "shard, shards convert"),
    ("--repeat", "error epochs", "shards merge"),
    ("--from", f"{SHARDS} mds litdata bbpe", "shards convert"),
    ("--to", SHARDS, "shards convert"),
    ("--on-missing", "error keep", "shards convert"),
    ("--color", "auto always never", "show, lint, eval, compare, inspect, bench, demo"),
    ("--progress", "bar json none",
     "train, count, extend, prune, encode, decode, tokens, view, lint, eval, compare, bench, shard, shards verify, "
     "shards merge, shards convert, convert, fetch, demo"),
    ("SHELL", "bash zsh fish", "completion"),
]  # fmt: skip

#: What other options and arguments take, as their help says.
KINDS = (
    "A ALPHA B CORPUS DIR FILE FOLDER FOLDER:WEIGHT FOLDER[:WEIGHT] N N,N NAME NAMES OLD=NEW OUT.html OUT.npy OUT.svg "
    "PARTS PATH PATTERN REGEX SECONDS SEED SHARE SIZE TEXT TOKEN TYPE URL W X"
)


def below(parser: ArgumentParser) -> dict[str, Parser]:
    return {name: each for action in parser._actions if isinstance(action.choices, dict)
            for name, each in action.choices.items()}  # fmt: skip


def choices(parser: Parser) -> Iterator[tuple[str, str, str]]:
    """Yield the options of a command and of its own commands that have words to choose from."""
    for action in parser._actions:
        if action.choices is not None and not isinstance(action.choices, dict):
            flag = action.option_strings[-1] if action.option_strings else str(action.metavar)
            yield flag, " ".join(action.choices), parser.prog.removeprefix("bbpe ")
    for each in below(parser).values():
        yield from choices(each)


def test_every_option_with_choices_has_those_of_the_table() -> None:
    found: list[tuple[str, str, str]] = []
    for name in COMMANDS:
        parser = below(make_parser())[name]
        parser.complete()
        found += choices(parser)
    assert sorted(found) == sorted((flag, words, name) for flag, words, names in OPTIONS for name in names.split(", "))


def test_every_other_option_that_takes_a_value_says_of_what_kind() -> None:
    """And all have a help text."""
    kinds, helpless, seen = set[str](), [], 0
    for name in COMMANDS:
        parser = below(make_parser())[name]
        parser.complete()
        for each in (parser, *below(parser).values()):
            for action in each._actions:
                seen += 1
                if not action.help and not isinstance(action.choices, dict):
                    helpless.append((each.prog, action.option_strings))
                if action.nargs != 0 and action.choices is None:
                    kinds.add(str(action.metavar or action.dest.upper()))
    assert kinds == set(KINDS.split())
    assert helpless == []
    assert seen > 300


@pytest.mark.parametrize(("flag", "words", "names"), OPTIONS)
def test_another_word_is_an_error_that_names_all_of_them(call: Call, flag: str, words: str, names: str) -> None:
    status, out, err = call(f"{names.rpartition(', ')[2]} {flag if flag != 'SHELL' else ''} nothing")
    assert (status, out) == (2, "")
    line = err.splitlines()[0]
    assert "'nothing'" in line
    assert [word for word in words.split() if word not in line] == []
