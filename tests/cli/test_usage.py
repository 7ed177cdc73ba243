"""Wrong arguments of any command: one line that spells the options of the command, one on where to look, status 2."""

from __future__ import annotations

import argparse
import ast
import io
import re
from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path

import pytest
from commands import Call

import bbpe
from bbpe.cli import COMMANDS, main, make_parser
from bbpe.cli.command import whole
from bbpe.cli.parsers import PYTHON_NAMES, Parser, UsageError

PACKAGE = Path(bbpe.__file__).parent


def inner(parser: argparse.ArgumentParser) -> dict[str, Parser]:
    found: dict[str, Parser] = {}
    for action in parser._actions:
        found |= action.choices if isinstance(action.choices, dict) else {}
    return found


def leaves(parser: Parser) -> Iterator[Parser]:
    below = inner(parser)
    for each in below.values():
        yield from leaves(each)
    if not below:
        yield parser


def of_command(name: str) -> Parser:
    parser = inner(make_parser())[name]
    parser.complete()
    return parser


def made() -> dict[str, Parser]:
    return {leaf.prog: leaf for name in COMMANDS for leaf in leaves(of_command(name))}


class Leaves(Mapping[str, Parser]):
    """The parsers of the commands that have no commands of their own; they are made when a test asks for one."""

    def __init__(self) -> None:
        self._names, self._made = tuple(made()), cache(made)

    def __getitem__(self, prog: str) -> Parser:
        return self._made()[prog]

    def __iter__(self) -> Iterator[str]:
        return iter(self._names)

    def __len__(self) -> int:
        return len(self._names)


LEAVES = Leaves()


def options_of(prog: str) -> list[argparse.Action]:
    return [action for action in LEAVES[prog]._actions if action.option_strings and action.dest != "help"]


def failed(capfd: pytest.CaptureFixture[str], *arguments: str) -> tuple[int | str | None, str]:
    """The exit status and the error of a command, which writes no result."""
    try:
        status: int | str | None = main(arguments)
    except SystemExit as ended:
        status = ended.code
    out, err = capfd.readouterr()
    assert not out
    return status, err


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("a.txt").write_text("see my dogs\n" * 9)
    Path("b.jsonl").write_text('{"content": "see"}\n')
    bbpe.train_from_iterator(["see my dogs"], 262, special_tokens=["<s>"]).save("t.json")


def test_all_commands_are_looked_at() -> None:
    assert {"bbpe train", "bbpe counts merge", "bbpe shards verify", "bbpe completion"} <= LEAVES.keys()
    assert len(LEAVES) == len(COMMANDS) + 6
    assert sum(map(len, map(options_of, LEAVES))) > 150


@pytest.mark.parametrize("prog", LEAVES)
def test_every_argument_is_explained(prog: str) -> None:
    """What it is, and what its value is; a pattern and an address are their own names."""
    for action in LEAVES[prog]._actions:
        assert action.help, action
        is_named = action.metavar is not None or action.choices is not None or action.dest in ("pattern", "url")
        assert is_named or action.nargs == 0, action


def test_every_command_is_described() -> None:
    for name, summary in COMMANDS.items():
        assert of_command(name).description == summary


@pytest.mark.parametrize("prog", LEAVES)
def test_an_unknown_option(prog: str, here: None, capfd: pytest.CaptureFixture[str]) -> None:
    count = len(LEAVES[prog]._get_positional_actions())
    files = ["bash"] if prog == "bbpe completion" else ["1" if "show" in prog and at else "a" for at in range(count)]
    asked = [
        word for action in LEAVES[prog]._actions if action.required and action.option_strings
        for word in (action.option_strings[-1], "9")
    ]  # fmt: skip
    status, err = failed(capfd, *prog.split()[1:], *files, *asked, "--no-such-option")
    assert (status, err.splitlines()[1:]) == (2, [f"see `{prog} --help`"])
    assert err.startswith("bbpe: error: unknown argument '--no-such-option'")


@pytest.mark.parametrize(
    ("words", "hint"),
    [
        ("tokens -t t.json a.txt --per-lin", "'--per-line'"),
        ("tokens --tok t.json a.txt", "'--tokenizer'"),
        ("tokens -t t.json a.txt --text=content", "'--text-field'"),
        ("encode -t t.json a.txt --line", "'--lines' or '--line-buffered'"),
        ("train --vocab-siz 300 a.txt", "'--vocab-size'"),
        ("counts merge --out b.parquet a.parquet", "'--output'"),
        ("--vers", "'--version'"),
    ],
)
def test_an_abbreviation_is_not_guessed(words: str, hint: str, here: None, capfd: pytest.CaptureFixture[str]) -> None:
    status, err = failed(capfd, *words.split())
    assert status == 2
    assert re.fullmatch(rf"bbpe: error: unknown argument '--[a-z=-]+' \(did you mean {hint}\?\)", err.splitlines()[0])


@pytest.mark.parametrize("words", ["a.txt b.txt -t t.json", "a.txt -t t.json b.txt", "-t t.json a.txt b.txt"])
def test_files_stand_before_and_after_options(words: str, here: None, capfd: pytest.CaptureFixture[str]) -> None:
    for name in ("a.txt", "b.txt"):
        Path(name).write_text("low")
    assert main(["tokens", *words.split()]) == 0
    assert [line.split()[-1] for line in capfd.readouterr().out.splitlines()] == ["a.txt", "b.txt", "total"]


def test_words_after_two_hyphens_are_files(here: None, capfd: pytest.CaptureFixture[str]) -> None:
    Path("--per-lin").write_text("see")
    assert main(["tokens", "-t", "t.json", "--", "--per-lin"]) == 0
    assert capfd.readouterr().out.endswith("--per-lin\n")


@pytest.mark.parametrize("prog", LEAVES)
def test_a_wrong_value(prog: str, capfd: pytest.CaptureFixture[str]) -> None:
    """Numbers, choices and patterns: the option and the value are named."""
    for action in options_of(prog):
        if action.nargs == 0 or (action.type is None and action.choices is None):
            continue
        with pytest.raises(SystemExit, match="2"):
            LEAVES[prog].parse_args([f"{action.option_strings[-1]}=(no"])
        said = capfd.readouterr().err
        if action.dest.endswith(("eos", "bos")):  # any text may be a token
            continue
        first, second = said.splitlines()
        assert first.startswith(f"bbpe: error: {'/'.join(action.option_strings)}: "), action
        assert "(no" in first, action
        assert second == f"see `{prog} --help`"


@pytest.mark.parametrize("prog", LEAVES)
def test_every_option_is_spelled_as_it_is_typed(prog: str) -> None:
    leaf = LEAVES[prog]
    for name in dict.fromkeys(action.dest for action in options_of(prog)):
        first = leaf.options()[name]  # of several that set the same
        option, value = max(first.option_strings, key=len), "" if first.nargs == 0 else " 5"
        if option.replace("--no-", "--") in first.option_strings:  # --lowercase is False, not --no-lowercase
            option = option.replace("--no-", "--")
        assert leaf.spelled(f"a.txt: no; give {name}=, or another") == f"a.txt: no; give {option}, or another"
        assert leaf.spelled(f"give {name}=5") == f"give {option}{value}"
        assert leaf.spelled(f"{name} is 5; expected 6") == f"{option} is 5; expected 6"
        assert leaf.spelled(f"{name} must be an int") == f"{option} must be an int"
        assert leaf.spelled(f"Unigram.{name} is 5") == f"{option} is 5"
        for kept in (f"'{name}=5'", f"no-{name}=5", f"in/{name}=5/a.txt", f"{name}=5/a.txt", f"{name}.txt"):
            assert leaf.spelled(f"{kept}: no such file") == f"{kept}: no such file"


@pytest.mark.parametrize(
    ("message", "spelled"),
    [
        ("read it with format='jsonl'", "read it with --input-format jsonl"),
        ("leave it out with drop=['template', 'pattern']", "leave it out with --drop template --drop pattern"),
        ("special_tokens[1] is empty", "--special-token[1] is empty"),
        ("BPE.tie_break is 'x'; expected one of 'ids'", "--tie-break is 'x'; expected one of 'ids'"),
        ("give pad_id= of the tokenizer", "give pad_id= of the tokenizer"),
        ("the threads of the pattern are many", "the threads of the pattern are many"),
        ("a; bbpe.open_shards reads b; bbpe.retokenize does",
         "a; `bbpe shards convert --from` reads b; `bbpe shards convert --retokenize` does"),
        ("run bbpe.shard again, or bbpe.finish_shards", "run `bbpe shard` again, or `bbpe shard --finish`"),
        ("give it by texts=, or to train_from_iterator or count_from_iterator",
         "give it to the command through standard input (-)"),
        ("give it to train_from_iterator or count_from_iterator", "give it to the command through standard input (-)"),
    ],
)
def test_messages_of_the_library(message: str, spelled: str) -> None:
    assert LEAVES["bbpe train"].spelled(message.replace("format='jsonl'", "Counting.format='jsonl'")) == spelled


@pytest.mark.parametrize("command", ["train", "extend", "prune", "count", "shard", "tokens", "eval", "lint", "encode"])
def test_the_format_that_readers_name_is_that_of_the_input(command: str) -> None:
    """Some of these commands have a --format too, that of the output."""
    leaf = LEAVES[f"bbpe {command}"]
    for name in ("format", "input_format"):
        assert leaf.spelled(f"a: read it with {name}='text'") == "a: read it with --input-format text"
        assert leaf.spelled(f"a: read it with {name}='jsonl'") == "a: read it with --input-format jsonl"


@pytest.mark.parametrize("command", ["encode", "decode"])
def test_lines_are_buffered_where_there_are_lines(command: str, here: None, capfd: pytest.CaptureFixture[str]) -> None:
    assert main([command, "-t", "t.json", "--line-buffered", "a.txt"]) == 2
    out, err = capfd.readouterr()
    assert (out, err.splitlines()[0]) == ("", "bbpe: error: --line-buffered needs --lines")


def test_words_of_the_command_line_stay() -> None:
    words = ["eval", "text_field=b.txt", "-t", "a b"]
    said = LEAVES["bbpe eval"].spelled("text_field=b.txt: no text_field= in a b", words)
    assert said == "text_field=b.txt: no --text-field in a b"
    for value in ("0.5", "meta.text", "./a"):
        said = LEAVES["bbpe eval"].spelled(f"text_field={value!r} leaves out all of a.txt", ["a.txt", value])
        assert said == f"--text-field {value} leaves out all of a.txt"
    for value in ("0.5", "5"):
        assert LEAVES["bbpe count"].spelled(f"sample={value} leaves", ["a.txt", value]) == f"--sample {value} leaves"
    # which are words, and no separators of other paths
    assert LEAVES["bbpe shards status"].spelled("/a/plan.json: no", ["status", ".", ".."]) == "/a/plan.json: no"


@pytest.mark.parametrize("is_given", [True, False])
def test_the_name_of_a_file_is_never_spelled_as_an_option(
    is_given: bool, here: None, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whether the words are those of the program or those of a call in Python."""
    words = ["tokens", "-t", "t.json", "text_field=none.txt"]
    monkeypatch.setattr("sys.argv", ["bbpe", "a.txt"] if is_given else ["bbpe", *words])
    status = main(words) if is_given else main()
    out, err = capfd.readouterr()
    assert (status, out) == (1, "")
    assert err.startswith("bbpe: error: text_field=none.txt: ")


#: Arguments that messages name and no command has.
PYTHON_ONLY = {
    "add_special_tokens", "disallowed_special", "pad_id", "chat_template", "executor", "tokenizer_config", "wor",
    "special_tokens_set", "charset", "lang", "name", "content", "texts", "prompt", "stop",
    "on_long", "pad", "ragged", "batches", "batch",
}  # fmt: skip
#: Not told to users of the command line: other interfaces, pages, texts of tests.
_ELSEWHERE = ("compat/", "tiktoken/", "reference")


@cache
def raised() -> list[tuple[str, str]]:
    """Where the package raises an error, and the constant texts of its message."""
    found = []
    for path in PACKAGE.rglob("*.py"):
        if not path.relative_to(PACKAGE).as_posix().startswith(_ELSEWHERE):
            for node in ast.walk(ast.parse(path.read_text("utf-8"))):
                if isinstance(node, ast.Raise):
                    texts = [str(each.value) for each in ast.walk(node) if isinstance(each, ast.Constant)]
                    found.append((f"{path}:{node.lineno}", " ".join(texts)))
    return found


def test_no_message_names_an_argument_that_no_command_knows() -> None:
    """A new argument that errors name is an option, a name in `PYTHON_NAMES`, or one of Python alone."""
    known = {name for leaf in LEAVES.values() for name in leaf.options()} | PYTHON_ONLY
    for place, text in raised():
        assert set(re.findall(r"(?<![\w.-])([a-z]+(?:_[a-z]+)*)=(?!=)", text)) <= known, place
    assert PYTHON_NAMES.keys() <= {option for leaf in LEAVES.values() for option in leaf._option_string_actions}


#: Functions that messages name and no command stands for.
CALLS_OF_PYTHON = {"bbpe.Tokenizer", "bbpe.encoding_for_model", "bbpe.get_encoding", "bbpe.load"}


def test_no_message_names_a_function_that_a_command_has() -> None:
    """A new function that errors name is in `CALLS`, or one of Python alone."""
    said = [LEAVES["bbpe shard"].spelled(text) for _, text in raised()]
    named = {name for text in said for name in re.findall(r"(?<![\w`])bbpe\.[A-Za-z_]+", text)}
    assert named == CALLS_OF_PYTHON


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("train a.txt --vocab-size 32q -o x.json", "--vocab-size: expected a whole number of at least 1"),
        ("train a.txt --vocab-size 20 -o x.json", "--vocab-size is 20; expected at least 256"),
        ("train a.txt -o x.json", "the following arguments are required: --vocab-size"),
        ("train a.txt --vocab-size 300 --end-of-word x -o x.json", "--end-of-word is 'x'; expected it only with --al"),
        ("train a.txt --vocab-size 300 --max-memory 4x -o x.json", "--max-memory: '4x' is no size"),
        ("train --vocab-size 300 -o x.json", "there is nothing to train on"),
        ("count a.txt --pattern gtp2 -o x.parquet", "--pattern: unknown pattern name 'gtp2' (did you mean 'gpt2'?)"),
        ("shard a.txt -t t.json --format llmc -o out", "eos and bos are None; the format 'llmc'"),
        ("shard a.txt -t t.json --eos no -o out", "--eos is 'no', which is no token"),
        ("shard a.txt -t t.json --id-field id -o out", "--id-field is 'id'; the format 'megatron' has no ids"),
        ("counts merg a", "unknown command 'merg' (did you mean 'merge'?)"),
        ("counts x a", "unknown command 'x'; expected one of merge, show"),
        ("eval a.txt -t t.json --document lin", "--document: unknown value 'lin' (did you mean 'line'?)"),
        ("eval a.txt -t t.json --sizes 999", "--sizes is [999]; expected sizes of at most 262 tokens"),
        ("encode a.txt -t -", "a tokenizer cannot be read from standard input"),
        ("tokens -t t.json --overlap 5 a.txt", "--overlap is of chunks; expected it with --chunk N"),
        ("tokens -t t.json --boundary line --truncate 5 a.txt", "--boundary is of chunks; expected it with --chunk N"),
        ("tokens -t t.json --chunk 5 --overlap 5 a.txt", "--overlap is 5; expected less than --chunk, which is 5"),
        ("count a.txt -o x.json", "x.json: the counts cannot have the suffix '.json'; expected .parquet"),
        ("counts merge a.parquet -o x.txt", "x.txt: the sum cannot have the suffix '.txt'; expected .parquet"),
        ("view a.txt -t t.json -o x.txt", "x.txt: the page cannot have the suffix '.txt'; expected .html or .htm"),
        ("eval a.txt -t t.json --html x.svg", "x.svg: the page cannot have the suffix '.svg'; expected .html"),
        ("eval a.txt -t t.json --plot x.gif", "x.gif: the figure cannot have the suffix '.gif'; expected .svg or"),
        ("compare t.json t.json --html x.md", "x.md: the page cannot have the suffix '.md'; expected .html"),
        ("encode a.txt -t t.json --numpy x.json", "x.json: the ids cannot have the suffix '.json'; expected .npy"),
        ("prune -t t.json --keep 260 -o x.json --map y.json", "y.json: the map cannot have the suffix '.json'"),
        ("train a.txt --vocab-size 300 -o x.json --log-merges y.json", "y.json: the merges cannot have the suffix"),
    ],
)  # fmt: skip
def test_wrong_usage(line: str, said: str, here: None, capfd: pytest.CaptureFixture[str]) -> None:
    status, err = failed(capfd, *line.split())
    first, second = err.splitlines()
    assert first.startswith(f"bbpe: error: {said}")
    assert (status, re.fullmatch(r"see `bbpe [a-z ]+ --help`", second) is not None) == (2, True)
    assert not re.search(r"[a-z]_[a-z]+=?|=", first.partition("one of")[0])


def test_errors_of_files_have_status_1(here: None, capfd: pytest.CaptureFixture[str]) -> None:
    """They name options as the way out, and nothing is wrong with the usage."""
    for line in ("count b.jsonl --quiet -o x.parquet", "encode b.jsonl -t t.json", "eval b.jsonl -t t.json"):
        status, err = failed(capfd, *line.split())
        assert (status, err.count("\n")) == (1, 1)
        assert "b.jsonl: line 1: " in err
        assert err.endswith("by --text-field\n")
    status, err = failed(capfd, "convert", "t.json", "x.tiktoken")
    assert (status, err.count("\n")) == (1, 1)
    assert "with --drop special_tokens" in err


def test_whole_numbers() -> None:
    assert whole("0") == 0
    for wrong in ("-1", "1.0", "", "x", "²"):
        with pytest.raises(argparse.ArgumentTypeError, match="expected a whole number of at least 0"):
            whole(wrong)


#: Commands, and what each does with `-`: reads it, or says that it cannot.
STDIN = [
    "count - --quiet -o c.parquet", "train - --vocab-size 262 --quiet -o n.json", "tokens - -t t.json",
    "encode - -t t.json", "extend - -t t.json --add 1 --quiet -o n.json", "prune -t t.json --used-in - -o n.json",
    "lint - -t t.json", "eval - -t t.json", "compare t.json t.json -", "view - -t t.json -o v.html",
    "show - -t t.json", "convert t.json n.json --verify -", "bench - -t t.json --runs 1",
    "shard - -t t.json -o out", "counts merge - -o n.parquet", "counts show -", "inspect -", "decode -t - a.txt",
    "compare - t.json", "convert - n.json",
]  # fmt: skip
REFUSED = STDIN[STDIN.index("shard - -t t.json -o out") :]


@pytest.mark.parametrize("line", STDIN[: STDIN.index(REFUSED[0])])
def test_standard_input_is_read(
    line: str, here: None, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    given = io.BytesIO(b"see my dogs\n" * 50)
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(given))
    status, err = main(line.split()), capfd.readouterr().err
    assert status == (0 if "lint" not in line else status), err
    assert given.tell() == 600
    assert "standard input" not in err
    assert "No such file" not in err


@pytest.mark.parametrize("line", REFUSED)
def test_standard_input_is_refused(line: str, here: None, call: Call) -> None:
    status, _, said = call(line, b"see my dogs\n" * 50)
    assert (status, "standard input" in said, "No such file" in said) == (2, True, False), said


def test_standard_input_is_named_once(here: None, capfd: pytest.CaptureFixture[str]) -> None:
    status, err = failed(capfd, "eval", "-", "-", "-t", "t.json")
    assert (status, "is named twice" in err) == (2, True)
    assert issubclass(UsageError, ValueError)


def test_one_thing_is_no_things(here: None, capfd: pytest.CaptureFixture[str]) -> None:
    Path("a.jsonl").write_text('{"text": "see"}\n{"text": null}\n')
    assert main(["shard", "a.jsonl", "-t", "t.json", "-o", "out", "--quiet"]) == 0
    said = "1 document, 1 token of 3 bytes of text; 1 record without text; 1 part of megatron: out\n"
    assert capfd.readouterr().out == said
    assert main(["count", "a.jsonl", "-o", "c.parquet", "--quiet"]) == 0
    said = "1 document of 1 file, 3 bytes; 1 pretoken, 1 unique; 1 record without text"
    assert capfd.readouterr().out.startswith(said)
    assert main(["extend", "a.txt", "-t", "t.json", "--add", "1", "-o", "n.json", "--quiet"]) == 0
    assert capfd.readouterr().out.startswith("1 new token, ")


def test_short_options(here: None, capfd: pytest.CaptureFixture[str]) -> None:
    for option in ("-V", "--version"):
        with pytest.raises(SystemExit, match="0"):
            main([option])
        assert capfd.readouterr() == (f"bbpe {bbpe.__version__}\n", "")
