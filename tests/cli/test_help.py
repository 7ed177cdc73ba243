"""`--help`: whole words, one description for each option, usage lines that fit a terminal, examples that work."""

from __future__ import annotations

import argparse
import re
import shlex
import shutil
from collections import defaultdict
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from commands import Call
from house import ROOT
from test_usage import LEAVES, inner, of_command

import bbpe
from bbpe.cli import COMMANDS, GROUPS, main, make_parser
from bbpe.cli.help_texts import EXAMPLES, columns, overview
from bbpe.cli.parsers import Parser

#: Options that are other things in other commands, or have another use there.
DIFFERENT = {"--output", "--pattern", "--sample", "--special", "--vocab-size", "--min-count", "--tokens"}
#: Examples that need a network, another package, what another example of the table does not make, or never end.
NOT_RUN = ("serve", "fetch", "completion", "--watch", "--against", "bbpe demo")


def described(action: argparse.Action) -> str:
    """The description of an option, without its default and other facts."""
    return re.sub(r"(?: \[.*\])+$", "", action.help or "")


def sample_value(action: argparse.Action) -> str:
    return action.choices[0] if action.choices else "1"  # type: ignore[index]


@pytest.mark.parametrize("prog", LEAVES)
def test_descriptions_are_sentences(prog: str) -> None:
    for action in LEAVES[prog]._actions:
        text = described(action)
        assert re.fullmatch(r"[A-Z][^\n]*\.", text), f"{prog} {action.option_strings}: {text}"
        assert "(default" not in text
        assert "may be given" not in text
    assert not re.search(r"\[default: (?:None|False|\(\)|\[\]|)\]", LEAVES[prog].format_help())
    for group in LEAVES[prog]._action_groups:
        assert group.description is None or re.fullmatch(r"[A-Z].*\.", group.description), group.title
    assert re.fullmatch(r"[A-Z].*\.", str(LEAVES[prog].description))


def test_an_option_has_one_description_everywhere() -> None:
    found = defaultdict(set)
    for leaf in LEAVES.values():
        for action in leaf._actions:
            for option in action.option_strings:
                found[option].add(described(action))
    assert {option for option, texts in found.items() if len(texts) > 1} <= DIFFERENT | {"-o"}


def test_a_tokenizer_is_named_alike_everywhere() -> None:
    """The text says every kind of name that `load_named` takes."""
    texts = {described(action) for leaf in LEAVES.values() for action in leaf._actions if action.dest == "tokenizer"}
    (text,) = texts
    for kind in ("file", "folder", "published name", "gpt-4o", "org/name"):
        assert kind in text
    for prog, dest in (("compare", "left"), ("convert", "source"), ("inspect", "file")):
        (action,) = (each for each in LEAVES[f"bbpe {prog}"]._actions if each.dest == dest)
        assert described(action) == text


@pytest.mark.parametrize("prog", LEAVES)
def test_help_of_a_command_line_names_its_arguments(prog: str, capsys: pytest.CaptureFixture[str]) -> None:
    """argparse hides arguments while it reads options among them, and `--help` is one of these."""
    with pytest.raises(SystemExit):
        main([*prog.split()[1:], "--help"])
    assert capsys.readouterr().out.splitlines()[0] == LEAVES[prog].format_help().splitlines()[0]


@pytest.mark.parametrize(
    ("names", "options", "usage", "shown"),
    [
        ("--n", {"choices": "pq", "default": "p"}, "", "--n {p,q} How. [default: p]"),
        ("--n", {"choices": ("a" * 12, "b" * 13)}, "", f"--n {{{'a' * 12},{'b' * 13}}} How."),
        ("--n", {"choices": ("a" * 12, "b" * 14)}, "", f"--n NAME How. [one of: {'a' * 12}, {'b' * 14}]"),
        ("--n", {"choices": ("a" * 30,), "default": "b"}, "", f"--n NAME How. [one of: {'a' * 30}] [default: b]"),
        ("--n", {"action": "append", "default": [], "metavar": "X"}, "", "--n X How. [repeatable]"),
        ("--n", {"action": "append", "choices": "pq"}, "", "--n {p,q} How. [repeatable]"),
        ("--n", {"action": "store_true"}, "", "--n How."),
        ("--n", {"type": int, "default": 0}, "", "--n N How. [default: 0]"),
        ("--n", {"default": 0.5, "metavar": "X"}, "", "--n X How. [default: 0.5]"),
        ("--n", {"default": 5, "help": "How. [default: five]"}, "", "--n N How. [default: five]"),
        ("--n", {"nargs": "?", "const": 5, "metavar": "X"}, "", "--n [X] How."),
        ("--n", {"nargs": "+", "default": (), "metavar": "X"}, "", "--n X ... How."),
        ("-o --n", {"required": True, "metavar": "X"}, " -o X", "-o, --n X How."),
        ("--n", {"required": True, "choices": ("a" * 30,)}, " --n NAME", f"--n NAME How. [one of: {'a' * 30}]"),
        ("file", {}, " file", "file How."),
        ("file", {"nargs": "+", "metavar": "FILE"}, " FILE ...", "FILE How."),
        ("file", {"nargs": "*", "metavar": "FILE", "default": ["x"]}, " [FILE ...]", "FILE How."),
        ("kind", {"choices": "pq", "metavar": "KIND"}, " KIND", "KIND How."),
    ],
)
def test_help_says_what_an_option_takes(names: str, options: dict[str, Any], usage: str, shown: str) -> None:
    """After its description choices that are too long to stand beside it, its default, and whether it repeats."""
    parser = Parser(prog="bbpe x")
    parser.add_argument(*names.split(), **{"help": "How.", **options})
    first, *others = parser.format_help().splitlines()
    assert first == f"usage: bbpe x [OPTIONS]{usage}"
    words = " ".join(" ".join(others).split())
    for usual in ("Arguments: ", "Options: ", "-h, --help Show this help and exit."):
        words = words.replace(usual, "")
    assert words.strip() == shown


@pytest.mark.parametrize("columns", ["60", "100", "200"])
@pytest.mark.parametrize("prog", LEAVES)
def test_usage_is_one_short_line(prog: str, columns: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", columns)
    lines = LEAVES[prog].format_help().splitlines()
    assert re.fullmatch(rf"usage: {prog} \[OPTIONS\]( .*)?", lines[0])
    assert len(lines[0]) <= 80
    for action in LEAVES[prog]._actions:
        if action.required:
            assert (action.option_strings or [str(action.metavar)])[0] in lines[0]
    examples = lines.index("Examples:")
    assert all(len(line) <= max(int(columns), 60) for line in lines[1:examples]), max(lines, key=len)
    assert all(len(line) <= 100 for line in lines[examples:])


def test_the_program_lists_its_commands_in_groups(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit, match="0"):
        main(["--help"])
    shown = capsys.readouterr().out
    assert shown == overview(make_parser().description or "", GROUPS)
    titles = [line[:-1] for line in shown.splitlines() if re.fullmatch(r"[A-Z]\w+:", line)]
    assert titles == ["Train", "Use", "Judge", "Data", "Files", "Shell", "Options"]
    found = re.findall(r"^  (\w+) +[A-Z]", shown, re.MULTILINE)
    assert found == [*COMMANDS]
    assert "docs/command-line.md" in shown.splitlines()[-1]
    assert (ROOT / "docs/command-line.md").exists()


@pytest.mark.parametrize(("terminal", "expected"), [(20, 60), (70, 68), (102, 100), (300, 100)])
def test_help_is_as_wide_as_the_terminal(terminal: int, expected: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Within limits, and two columns less; a line of a summary ends where the next word has no room."""
    monkeypatch.setenv("COLUMNS", str(terminal))
    assert columns() == expected
    summary = "long" + " word" * 60
    shown = overview("", {"Use": {"encode": summary}})
    first, *others = re.findall(r"^ .*word$", shown, re.MULTILINE)
    assert " ".join([first.split(maxsplit=1)[1], *map(str.strip, others)]) == summary
    assert all(expected - len(" word") < len(line) <= expected for line in (first, *others[:-1]))


def test_actions_are_listed_with_their_summaries() -> None:
    for name in ("counts", "shards"):
        shown = of_command(name).format_help()
        assert shown.startswith(f"usage: bbpe {name} [OPTIONS] ACTION ...\n")
        for action, leaf in inner(of_command(name)).items():
            assert re.search(rf"^    {action} +[A-Z]", shown, re.MULTILINE)
            assert leaf.description


def words_of(line: str) -> list[str]:
    return shlex.split(line.partition(" > ")[0])[1:]


def test_all_commands_have_examples() -> None:
    assert EXAMPLES.keys() == {prog.removeprefix("bbpe ") for prog in LEAVES}
    for name, rows in EXAMPLES.items():
        assert 2 <= len(rows) <= 3
        for what, line in rows:
            assert re.fullmatch(r"[A-Z].*\.", what)
            assert line == f"bbpe {name}" or line.startswith(f"bbpe {name} ")


@pytest.mark.parametrize("line", [line for rows in EXAMPLES.values() for _, line in rows])
def test_examples_are_parsed(line: str) -> None:
    make_parser().parse_args(words_of(line))


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The files that examples name."""
    here = tmp_path_factory.mktemp("examples")
    text = "Tokenizers are fun, and these are the texts that they learn from.\n"
    for path in ("en.txt", "zh.txt", "corpus/a.txt", "corpus/more/b.txt"):
        (here / path).parent.mkdir(parents=True, exist_ok=True)
        (here / path).write_text((text if path != "zh.txt" else "字节对编码很有趣。\n") * 40, "utf-8")
    tok = bbpe.train(here / "corpus", 330, special_tokens=["<|end|>"])
    tok.save(here / "tokenizer.json")
    bbpe.train(here / "zh.txt", 300, special_tokens=["<|end|>"]).save(here / "other.json")
    model = bbpe.Unigram()
    bbpe.train(here / "corpus", 280, model=model).save(here / "unigram.model")
    ids = tok.encode(text)
    (here / "ids.txt").write_text(" ".join(map(str, ids)))
    np.save(here / "ids.npy", np.array(ids))
    for name in ("counts", "monday", "tuesday"):
        bbpe.count(here / "corpus", pattern="gpt2").save(here / f"{name}.parquet")
    for name in ("web", "code"):
        bbpe.shard(here / "corpus", here / "out" / name, tok, eos="<|end|>", document="line")
    return here


def test_examples_run(folder: Path, monkeypatch: pytest.MonkeyPatch, call: Call, tmp_path: Path) -> None:
    """Those of a command one after the other in a folder; sizes are those of the corpus here."""
    pytest.importorskip("pyarrow")
    for name, rows in EXAMPLES.items():
        monkeypatch.chdir(shutil.copytree(folder, tmp_path / name))
        if name == "shard":
            shutil.rmtree("out")
        for _, line in rows:
            if any(each in line for each in NOT_RUN):
                continue
            small = re.sub(rf"({'|'.join(SMALL)}) (?=\w)\S+", lambda found: f"{found[1]} {SMALL[found[1]]}", line)
            status, _, err = call(words_of(small))
            assert status == (0 if name != "lint" else status), f"{line}\n{err}"
            assert "Traceback" not in err


SMALL = {"--vocab-size": "290", "--add": "9", "--sizes": "270,280", "--keep": "270", "--tokens": "200"}
