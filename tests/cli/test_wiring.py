"""Each option of a command arrives where it belongs: as the argument of the library that has its meaning.

One table: a command, the function that does its work, and the arguments with which it is called, without options and
with all of them, each at a value that no other has.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any, NamedTuple

import pytest

import bbpe
from bbpe.cli import COMMANDS, main, make_parser
from bbpe.cli.completion import _actions, _commands_of
from bbpe.published.find import FOLDERS_VARIABLE
from bbpe.published.table import Published

TEXT = "see my eyes <s> first\nsee my dogs 123\n"


class Called(BaseException):
    """The function was called; nothing of the command line catches this."""

    def __init__(self, given: dict[str, Any]) -> None:
        super().__init__()
        self.given = given


class Row(NamedTuple):
    words: str
    function: str
    expected: dict[str, Any]


COUNTING = {
    "document": "file", "max_memory": None, "max_pretoken_bytes": None, "sample": 1.0, "checkpoint": None,
    "threads": None, "text_field": "text", "format": None, "on_error": "raise", "unique": False,
}  # fmt: skip
COUNTED = {
    "document": "line", "max_memory": "3GB", "max_pretoken_bytes": 17, "sample": 0.25, "checkpoint": "state",
    "threads": 2, "text_field": "body", "format": "jsonl", "on_error": "skip", "unique": True,
}  # fmt: skip
COUNT = (
    "--document line --max-memory 3GB --max-pretoken-bytes 17 --sample 0.25 --checkpoint state --threads 2 "
    "--text-field body --input-format jsonl --on-error skip --unique"
)
OF_TEXTS = {name: value for name, value in COUNTING.items() if name not in ("text_field", "format", "on_error")}
READ, READ_AS = "--text-field body --input-format jsonl", {"text_field": "body", "format": "jsonl"}
PLAIN = {"text_field": "text", "format": None}
SHARD = {
    "format": "megatron", "eos": None, "bos": None, "dtype": "auto", "text_field": "text", "id_field": None,
    "messages_field": None, "input_format": None, "document": "file", "part_size": "256MB", "empty": "skip",
    "on_error": "raise", "allowed_special": (), "replan": False,
}  # fmt: skip
ROWS = [
    Row("train a.txt --vocab-size 300 -o x.json", "bbpe.train", {
        "0": ["a.txt"], "1": 300, "model": bbpe.BPE(), "pattern": None, "special_tokens": [], "counting": COUNTING,
        "log_merges": None,
    }),
    Row(f"train a.txt b.txt --vocab-size 301 -o x.json --pattern o200k --special-token <a> --special-token <b> {COUNT} "
        "--min-frequency 3 --max-token-length 9 --pad-vocab-to 64 --tie-break first --forbid :. --max-words 4",
        "bbpe.train", {
        "log_merges": None,
        "0": ["a.txt", "b.txt"], "1": 301, "pattern": "o200k", "special_tokens": ["<a>", "<b>"], "counting": COUNTED,
        "model": bbpe.BPE(
            min_frequency=3, max_token_length=9, pad_vocab_to=64, tie_break="first", forbid=":.", max_words=4
        ),
    }),
    Row("train a.txt --vocab-size 90 -o x.json --alphabet chars --end-of-word </w> --lowercase --unk-token <u> "
        "--max-alphabet 40", "bbpe.train", {
        "log_merges": None, "0": ["a.txt"], "1": 90, "pattern": None, "special_tokens": [], "counting": COUNTING,
        "model": bbpe.BPE(alphabet="chars", end_of_word="</w>", lowercase=True, unk_token="<u>", max_alphabet=40),
    }),
    Row("train a.txt --vocab-size 90 -o x.json --alphabet chars --word-start \u2581", "bbpe.train", {
        "log_merges": None, "0": ["a.txt"], "1": 90, "pattern": None, "special_tokens": [], "counting": COUNTING,
        "model": bbpe.BPE(alphabet="chars", word_start="\u2581"),
    }),
    Row("train a.txt --vocab-size 90 -o x.json --model wordpiece --score frequency --no-lowercase --unk-token <u> "
        "--max-alphabet 41 --min-frequency 2", "bbpe.train", {
        "log_merges": None, "0": ["a.txt"], "1": 90, "pattern": None, "special_tokens": [], "counting": COUNTING,
        "model": bbpe.WordPiece(score="frequency", lowercase=False, unk_token="<u>", max_alphabet=41, min_frequency=2),
    }),
    Row("train a.txt --vocab-size 300 -o x.json --model unigram --character-coverage 0.75 --no-byte-fallback "
        "--user-defined-symbols <x> <y> --max-token-length 8", "bbpe.train", {
        "log_merges": None, "0": ["a.txt"], "1": 300, "pattern": None, "special_tokens": [], "counting": COUNTING,
        "model": bbpe.Unigram(character_coverage=0.75, byte_fallback=False, user_defined_symbols=["<x>", "<y>"],
                              max_token_length=8),
    }),
    Row("train a.txt --vocab-size 1k -o model --eos-token <e> --special-token <a> --bos-token <a> --log-merges m.tsv "
        "--pad-token <p> --cls-token <c> --sep-token <s> --mask-token <m>", "bbpe.train", {
        "log_merges": "m.tsv", "0": ["a.txt"], "1": 1000, "model": bbpe.BPE(), "pattern": None,
        "special_tokens": ["<a>", "<e>", "<p>", "<c>", "<s>", "<m>"], "counting": COUNTING,
    }),
    Row("count a.txt -o x.parquet", "bbpe.counting.options.Counting.task", {"0": COUNTING, "1": "gpt2", "2": []}),
    Row(f"count a.txt -o x.parquet --pattern o200k --special-token <a> {COUNT}",
        "bbpe.counting.options.Counting.task", {"0": COUNTED, "1": "o200k", "2": ["<a>"]}),
    Row("count --shards out -o x.parquet", "bbpe.count_shards", {
        "0": "out", "pattern": "gpt2", "special_tokens": [], **OF_TEXTS,
    }),
    Row("count --shards out -o x.parquet --pattern o200k --special-token <a> --document line --unique --sample 0.5 "
        "--max-pretoken-bytes 40 --max-memory 3GB --checkpoint c --threads 3", "bbpe.count_shards", {
        "0": "out", "pattern": "o200k", "special_tokens": ["<a>"], "document": "line", "unique": True, "sample": 0.5,
        "max_pretoken_bytes": 40, "max_memory": "3GB", "checkpoint": "c", "threads": 3,
    }),
    Row("extend a.txt -t t.json -o x.json", "bbpe.extend", {
        "1": ["a.txt"], "2": 10_000, "min_frequency": 1, "max_token_length": None, "tie_break": "ids", "pattern": None,
        "counting": COUNTING, "forbid": None, "max_words": None,
    }),
    Row(f"extend a.txt -t t.json -o x.json --add 5 --min-frequency 2 --max-token-length 9 --tie-break bytes "
        f"--forbid x --max-words 3 --pattern none {COUNT}", "bbpe.extend", {
        "1": ["a.txt"], "2": 5, "min_frequency": 2, "max_token_length": 9, "tie_break": "bytes", "pattern": "none",
        "counting": COUNTED, "forbid": "x", "max_words": 3,
    }),
    Row("prune -t t.json -o x.json --keep 280", "bbpe.prune", {
        "1": 280, "used_in": None, "min_count": 1, "counting": COUNTING,
    }),
    Row(f"prune -t t.json -o x.json --keep 280 --used-in a.txt b.txt --min-count 3 --threads 2 {READ} --on-error skip",
        "bbpe.prune", {
        "1": 280, "used_in": ["a.txt", "b.txt"], "min_count": 3,
        "counting": {**COUNTING, **READ_AS, "threads": 2, "on_error": "skip"},
    }),
    Row("lint -t t.json", "bbpe.lint", {"1": None, "min_count": 10, **PLAIN}),
    Row(f"lint -t t.json a.txt b.txt --min-count 7 {READ}", "bbpe.lint", {
        "1": [Path("a.txt"), Path("b.txt")], "min_count": 7, **READ_AS,
    }),
    Row("eval a.txt -t t.json", "bbpe.evaluate", {
        "0": ["t.json"], "1": {"a.txt": "a.txt"}, "parity": None, "document": "file", "threads": None, **PLAIN,
    }),
    Row(f"eval a.txt b.txt -t t.json -t u.json --parity b.txt --document line --threads 2 {READ}", "bbpe.evaluate", {
        "0": ["t.json", "u.json"], "1": {"a.txt": "a.txt", "b.txt": "b.txt"}, "parity": "b.txt", "document": "line",
        "threads": 2, **READ_AS,
    }),
    Row("eval a.txt -t t.json --sizes 260,1k", "bbpe.learning_curve", {
        "0": ["t.json"], "1": [260, 1000], "2": {"a.txt": "a.txt"}, **PLAIN,
    }),
    Row(f"eval a.txt -t t.json -t u.json --sizes 2K {READ}", "bbpe.learning_curve", {
        "0": ["t.json", "u.json"], "1": [2000], "2": {"a.txt": "a.txt"}, **READ_AS,
    }),
    Row("compare t.json u.json", "bbpe.compare", {"2": None, "names": ("t.json", "u.json"), "most": 20, **PLAIN}),
    Row(f"compare u.json t.json a.txt --most 3 {READ}", "bbpe.compare", {
        "2": [Path("a.txt")], "names": ("u.json", "t.json"), "most": 3, **READ_AS,
    }),
    Row("shard a.txt -t t.json -o out", "bbpe.cli.shard.plan_shards", {"0": ["a.txt"], "1": "out", **SHARD}),
    Row("shard a.txt b.txt -t t.json -o out --format olmo --eos <s> --bos 7 --dtype uint32 --text-field body "
        "--id-field name --messages-field chat --input-format jsonl --document line --part-size 9MB --empty keep "
        "--on-error skip --special --replan",
        "bbpe.cli.shard.plan_shards", {
        "0": ["a.txt", "b.txt"], "1": "out", "format": "olmo", "eos": "<s>", "bos": 7, "dtype": "uint32",
        "text_field": "body", "id_field": "name", "messages_field": "chat", "input_format": "jsonl",
        "document": "line", "part_size": "9MB", "empty": "keep", "on_error": "skip", "allowed_special": "all",
        "replan": True,
    }),
    Row("shards verify out", "bbpe.cli.operators.verified", {"0": "out", "1": None, "sample": 0.001, "seed": 0}),
    Row("shards verify out --sample 0.5 --seed 9", "bbpe.cli.operators.verified", {
        "0": "out", "1": None, "sample": 0.5, "seed": 9,
    }),
    Row("shards verify out --sample 0", "bbpe.cli.operators.verified", {
        "0": "out", "1": None, "sample": 0.0, "seed": 0,
    }),
    Row("shards convert in/a b.bin --from olmo --to megatron -o out", "bbpe.cli.conversion.open_shards", {
        "0": ["in/a", "b.bin"], "format": "olmo", "dtype": None, "eos": None, "bos": None, "tokenizer": None,
        "vocab_size": None, "column": "input_ids", "id_field": None, "masks": None, "on_missing": "error",
    }),
    Row("shards convert a --from parquet --to olmo -o out --dtype int32 --eos 7 --bos <s> --vocab-size 9 --column ids "
        "--id-field key --masks mask --on-missing keep", "bbpe.cli.conversion.open_shards", {
        "0": ["a"], "format": "parquet", "dtype": "int32", "eos": 7, "bos": "<s>", "tokenizer": None, "vocab_size": 9,
        "column": "ids", "id_field": "key", "masks": "mask", "on_missing": "keep",
    }),
    Row("shards convert out --from bbpe --to olmo -o x --no-masks", "bbpe.cli.conversion.open_shards", {
        "0": "out", "format": "bbpe", "dtype": None, "eos": None, "bos": None, "tokenizer": None,
        "vocab_size": None, "column": "input_ids", "id_field": None, "masks": False, "on_missing": "error",
    }),
    Row("shards merge one two -o out", "bbpe.merge_shards", {
        "0": ["one", "two"], "1": "out", "tokens": None, "shuffle": None, "repeat": "error", "exact": False,
        "shard_size": None, "threads": None,
    }),
    Row("shards merge one -o out --shuffle 0 --shard-size 99", "bbpe.merge_shards", {
        "0": ["one"], "1": "out", "tokens": None, "shuffle": 0, "repeat": "error", "exact": False, "shard_size": 99,
        "threads": None,
    }),
    Row("shards merge one:0.6 two:3 -o out --tokens 1.5M --repeat epochs --exact --threads 3 --shard-size 2k",
        "bbpe.merge_shards", {
        "0": [("one", 0.6), ("two", 3.0)], "1": "out", "tokens": 1_500_000, "shuffle": None, "repeat": "epochs",
        "exact": True, "shard_size": 2000, "threads": 3,
    }),
    Row("shards blend one:0.6 two:3", "bbpe.blend_shards", {"0": [("one", 0.6), ("two", 3.0)]}),
    Row("counts show c.parquet", "bbpe.load_counts", {"0": "c.parquet", "pattern": None}),
    Row("counts show c.parquet --pattern o200k", "bbpe.load_counts", {"0": "c.parquet", "pattern": "o200k"}),
    Row("counts merge c.parquet d.parquet -o x.parquet --pattern gpt2", "bbpe.load_counts", {
        "0": "c.parquet", "pattern": "gpt2",
    }),
    Row("fetch gpt2", "bbpe.published.fetch.fetch", {"0": "gpt2", "1": "first", "url": None}),
    Row("fetch gpt-4o --folder there --url http://localhost/x", "bbpe.published.fetch.fetch", {
        "0": "o200k_base", "1": "there", "url": "http://localhost/x",
    }),
    Row("serve -t t.json -t u.json --port 0", "bbpe.report.serve.Playground", {
        "0": ["t.json", "u.json"], "1": ["t.json", "u.json"], "2": 0,
    }),
    Row("serve -t t.json", "bbpe.report.serve.Playground", {"0": ["t.json"], "1": ["t.json"], "2": 8642}),
    Row("view a.txt -t t.json -o x.html", "bbpe.report.view.texts_to_html", {
        "0": [("", TEXT.encode())], "1": ["t.json"], "allowed_special": (),
    }),
    Row("view a.txt -t t.json -t u.json -o x.html --special --max-bytes 5", "bbpe.report.view.texts_to_html", {
        "0": [("", "see m")], "1": ["t.json", "u.json"], "allowed_special": "all",
    }),
    Row("view a.txt b.txt -t t.json -o x.html --input-format text", "bbpe.report.view.texts_to_html", {
        "0": [("a.txt", TEXT.encode()), ("b.txt", TEXT.encode())], "1": ["t.json"], "allowed_special": (),
    }),
    Row("show see -t t.json", "bbpe.report.view.boxes", {"0": b"see", "1": ["t.json"], "allowed_special": ()}),
    Row("show see -t t.json -t u.json --special", "bbpe.report.view.boxes", {
        "0": b"see", "1": ["t.json", "u.json"], "allowed_special": "all",
    }),
]  # fmt: skip


def plain(value: Any) -> Any:
    """Return an argument as the table has it."""
    if isinstance(value, bbpe.Counting):
        return {name: getattr(value, name) for name in COUNTING}
    if isinstance(value, dict) and value and all(not isinstance(each, str) for each in value.values()):
        return list(value)  # tokenizers by their names
    if isinstance(value, Published):
        return value.name
    return str(value) if isinstance(value, Path) else value


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv(FOLDERS_VARIABLE, os.pathsep.join(("first", "second")))
    monkeypatch.setattr("bbpe.cli.serve._published", list)
    for name in ("a.txt", "b.txt"):
        Path(name).write_text(TEXT)
    bbpe.train_from_iterator([TEXT], 270, special_tokens=["<s>"]).save("t.json")
    bbpe.train_from_iterator([TEXT], 265).save("u.json")
    return tmp_path


def caught(monkeypatch: pytest.MonkeyPatch, function: str, words: str) -> dict[str, Any]:
    """Return the arguments with which a command calls a function."""

    def call(*args: Any, **options: Any) -> None:
        raise Called({**{str(place): value for place, value in enumerate(args)}, **options})

    monkeypatch.setattr(function, call)
    with pytest.raises(Called) as found:
        main(words.split())
    return found.value.given


@pytest.mark.parametrize("row", ROWS, ids=[f"{row.words.split()[0]}-{place}" for place, row in enumerate(ROWS)])
def test_options_are_arguments(row: Row, here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    given = caught(monkeypatch, row.function, row.words)
    # a row of the table leaves out a tokenizer that comes first; other tests are about progress
    tokenizer = {place for place in ("0", "1", "2") if place not in row.expected}
    assert all(isinstance(given[place], bbpe.Tokenizer) for place in tokenizer & given.keys())
    found = {name: plain(value) for name, value in given.items() if name not in (*tokenizer, "progress", "report")}
    assert found == row.expected


#: Options whose effect the tests of their commands look at: how results and progress are written, and what commands
#: without a row do with theirs.
ELSEWHERE = {"--help", "--json", "--progress", "--quiet", "--output", "--tokenizer", "--pattern", "--color"}
OWN = {
    "train": {"--counts", "--format", "--drop", "--chat-template"},
    "extend": {"--counts", "--format", "--drop"},
    "prune": {"--counts", "--format", "--drop", "--map"},
    "counts": {"--weight", "--top"},
    "lint": {"--examples", "--details", "--strict"},
    "eval": {"--markdown", "--html", "--plot", "--latex", "--csv", "--metric", "--wide", "--each-file"},
    "compare": {"--markdown", "--html"},
    "shard": {"--plan-only", "--part", "--finish", "--threads"},
    "shards": {
        "--watch", "--idle", "--source", "--retokenize", "--new-eos", "--new-bos", "--special", "--check", "--to-dtype",
        "--part-size", "--empty", "--plan-only", "--part", "--finish", "--threads", "--replan",
    },
    "show": {"--ids", "--trace"},
}


def test_the_table_is_whole() -> None:
    """A new option needs a row, or a test beside it that fails when the option is ignored."""
    commands = {row.words.split()[0] for row in ROWS}
    assert {"train", "count", "extend", "prune", "eval", "compare", "lint", "shard", "shards"} <= commands
    assert commands <= COMMANDS.keys()
    for command, parser in _commands_of(make_parser()).items():
        if command not in commands:
            continue
        parser.complete()
        options = {max(action.option_strings, key=len) for action in _actions(parser) if action.option_strings}
        used = {word for row in ROWS if row.words.split()[0] == command for word in row.words.split()}
        used |= {f"--{word.removeprefix('--no-')}" for word in used if word.startswith("--no-")}
        assert OWN.get(command, set()) <= options, command
        missing = options - used - ELSEWHERE - OWN.get(command, set())
        assert {each for each in missing if f"--{each.removeprefix('--no-')}" not in used} == set(), command
