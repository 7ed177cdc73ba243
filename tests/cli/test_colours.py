"""Colours of reports: on a terminal alone, unless one is asked for; they change no character."""

from __future__ import annotations

import os
import re
import sys
from argparse import Namespace
from pathlib import Path

import pytest
from commands import Call

import bbpe
from bbpe.cli.streams import BENCH, COMPARE, EVAL, INSPECT, LINT, painted

RED, GREEN, YELLOW, CYAN = "31", "32", "33", "36"
COMMANDS = [
    "lint -t t.json", "compare t.json u.json a.txt", "compare t.json t.json", "inspect t.json", "eval -t t.json a.txt",
    "show see -t t.json", "bench a.txt -t t.json --runs 1",
]  # fmt: skip
pytestmark = pytest.mark.usefixtures("here")


@pytest.mark.parametrize(("line", "rules", "found"), [
    ("error    no-byte: a", LINT, [(RED, "error")]),
    ("warning  digits: an error", LINT, [(YELLOW, "warning")]),
    ("info     twins: 9", LINT, [(CYAN, "info")]),
    ("t.json: 9 tokens; 0 errors, 0 warnings, 1 info", LINT, [(GREEN, "; 0 errors, 0 warnings")]),
    ("b needs 4 % more tokens than a: 14, not 6", COMPARE, [(RED, "4 % more")]),
    ("b needs 0.27 % fewer tokens than a: 3, not 6", COMPARE, [(GREEN, "0.27 % fewer")]),
    ("' corpus'  co|r|p|us  corpus  1,205  1,512 fewer", COMPARE, [(GREEN, "1,512 fewer")]),
    ("a and b are identical: 268 tokens", COMPARE, [(GREEN, "are identical")]),
    ("README.md    1.743  2.036*", EVAL, [(GREEN, "2.036*")]),
    ("README.md    54.2%*  60.0%", EVAL, [(GREEN, "54.2%*")]),
    ("unusual          nothing", INSPECT, [(GREEN, "unusual          nothing")]),
    ("unusual          3 bytes have no token", INSPECT, [(YELLOW, "unusual          3 bytes have no token")]),
    ("bbpe is 49x as fast as tiktoken; 0.9x warm", BENCH, [(GREEN, "49x"), (RED, "0.9x")]),
    ("bbpe is 1,234x as fast as tokenizers", BENCH, [(GREEN, "1,234x")]),
])  # fmt: skip
def test_better_and_worse(line: str, rules: dict[str, str], found: list[tuple[str, str]]) -> None:
    shown = painted(line, rules, Namespace(color="always"))
    assert re.findall(r"\x1b\[(\d+)m(.*?)\x1b\[0m", shown) == found
    assert re.sub(r"\x1b\[\d+m", "", shown) == line
    assert painted(line, rules, Namespace(color="never")) == line


@pytest.mark.parametrize("words", COMMANDS)
def test_colours_change_no_character(words: str, call: Call) -> None:
    plain = call(f"{words} --color never")[1]
    assert "\x1b" not in plain
    assert "\x1b" not in call(words)[1]  # no terminal
    status, coloured, _ = call(f"{words} --color always")
    assert status in (0, 1)
    if not words.startswith(("show", "bench")):  # which has backgrounds instead of brackets, and other figures
        assert re.sub(r"\x1b\[\d+m", "", coloured) == plain


def test_a_terminal_has_colours_unless_the_user_wants_none(call: Call, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("NO_COLOR", raising=False)
    monkeypatch.setattr(sys.stdout, "isatty", lambda: True)
    assert "\x1b[" in call("compare t.json t.json")[1]
    assert "\x1b[" not in call("compare t.json t.json --color never")[1]
    monkeypatch.setenv("NO_COLOR", "1")
    assert "\x1b[" not in call("compare t.json t.json")[1]


def test_decoded_text_at_a_terminal_ends_its_line(call: Call, monkeypatch: pytest.MonkeyPatch) -> None:
    """The prompt of the shell comes after it; a file or a pipe gets the bytes alone."""
    tok = bbpe.load("t.json")
    for text in ("see", "see\n", ""):
        Path("ids.txt").write_text(" ".join(map(str, tok.encode(text))))
        monkeypatch.setattr(sys.stdout, "isatty", lambda: False)
        assert call("decode -t t.json ids.txt --quiet")[1] == text
        monkeypatch.setattr(sys.stdout, "isatty", lambda: True)
        assert call("decode -t t.json ids.txt --quiet")[1] == (text and text.removesuffix("\n") + "\n")


@pytest.mark.parametrize(
    "command", ["train a.txt --vocab-size 300", "extend a.txt -t t.json", "prune -t t.json --keep 280"]
)
def test_an_unknown_suffix_is_refused(command: str, call: Call) -> None:
    status, _, err = call(f"{command} -o a.xyz --quiet")
    assert (status, Path("a.xyz").exists()) == (2, False)
    assert err.startswith("bbpe: error: a.xyz: no format is chosen by the suffix '.xyz'; expected one of .codes, .gguf")
    assert "--format huggingface" in err
    assert call(f"{command} -o a.xyz --quiet --format huggingface")[0] == 0
    assert Path("a.xyz/tokenizer.json").exists()
    for name in ("v1.5", "folder", ".hidden"):
        assert call(f"{command} -o {name} --quiet")[0] == 0
        assert Path(name, "tokenizer.json").exists()


def test_errors_fit_the_terminal(call: Call, monkeypatch: pytest.MonkeyPatch) -> None:
    """In a log each is one line; a path is never broken."""
    long = f"{'long' * 20}.json"
    for words in (f"tokens a.txt {long} -t t.json", "tokens -t nosuch", f"inspect {long}", "train"):
        whole = call(words)[2]
        with monkeypatch.context() as patch:
            patch.setattr(sys.stderr, "isatty", lambda: True)
            patch.setattr(sys.stderr, "fileno", lambda: 2)
            patch.setattr(os, "get_terminal_size", lambda number: os.terminal_size((30, 9)))
            shown = call(words)[2]
        assert shown.split() == whole.split(), words
        assert all(len(line) <= 30 or long in line for line in shown.splitlines()), shown
        assert whole.startswith("bbpe: error: ")


def test_the_name_of_a_file_is_shown_as_a_text_with_a_note(call: Call) -> None:
    assert call("show a.txt -t t.json")[2].startswith("bbpe: a.txt is shown as a text, and there is a file")
    assert call("show a.text -t t.json")[2] == call("show a\0 -t t.json")[2] == ""
