"""Reports are read by people: tokens are short, and lines as wide as the terminal at most, whatever the tokens."""

from __future__ import annotations

import random
import unicodedata
from pathlib import Path
from typing import Any

import pytest

import bbpe
from bbpe.cli import main
from bbpe.report import terminal
from bbpe.report.tables import Table
from bbpe.report.terminal import sample, shown, wrapped
from bbpe.report.view import Boxes
from bbpe.text import columns_of, readable, shortened

LONG = "-" * 4096
#: A vocabulary with long tokens, wide characters and parts of characters; and another one.
TEXTS = [LONG, LONG, "word123 " * 40, "\u4e16\u754c caf\u00e9 \u4e16\u754c" * 9, "low\r\n\tlower" * 9]
A = bbpe.train_from_iterator(TEXTS, 330)
B = bbpe.train_from_iterator(["see my dogs and eyes"] * 9, 300)
CORPUS = ("see my dogs and eyes \u4e16\u754c caf\u00e9 " * 40) + LONG + "\n"
COMMANDS = {
    "lint": ["lint", "-t", "a.json", "x.txt", "--examples", "12"],
    "compare": ["compare", "a.json", "b.json", "x.txt"],
    "eval": ["eval", "-t", "a.json", "-t", "b.json", "x.txt", "--document", "line"],
    "sizes": ["eval", "-t", "a.json", "--sizes", "270,290", "x.txt"],
    "inspect": ["inspect", "a.json"],
    "show": ["show", "-t", "a.json", "--ids", CORPUS],
    "trace": ["show", "-t", "a.json", "--trace", "see my \u4e16\u754c " + LONG[:500]],
}


def screen_columns(line: str) -> int:
    """The columns of a line by the rules of terminals, less escapes of colours."""
    line = line.replace("\x1b[0m", "")
    return sum(2 if unicodedata.east_asian_width(char) in "WF" else not unicodedata.combining(char) for char in line)


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    A.save("a.json")
    B.save("b.json")
    Path("x.txt").write_text(CORPUS, "utf-8")


@pytest.mark.parametrize(
    ("name", "columns"), [(name, width) for at, name in enumerate(COMMANDS) for width in (40, (80, 131, None)[at % 3])]
)
def test_lines_end_where_the_terminal_does(
    name: str, columns: int | None, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(terminal, "terminal_columns", lambda: columns)
    for module in ("evaluation", "curves"):
        monkeypatch.setattr(f"bbpe.report.{module}.line_columns", lambda: columns or 100)
    assert main(COMMANDS[name]) == 0
    lines = capsys.readouterr().out.split("\n")
    assert max(map(screen_columns, lines)) <= (columns or 100)
    assert len(lines) > 3


def test_no_terminal_is_asked_without_one(monkeypatch: pytest.MonkeyPatch) -> None:
    assert terminal.terminal_columns() is None
    monkeypatch.setattr("sys.stdout", None)
    assert terminal.terminal_columns() is None


def test_a_terminal_is_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.stdout", type("Terminal", (), {"isatty": lambda self: True})())
    for told, columns in (("70", 70), ("3", 20)):
        monkeypatch.setenv("COLUMNS", told)
        assert terminal.terminal_columns() == columns == terminal.line_columns()


@pytest.mark.parametrize("seed", range(4))
def test_a_shortened_text_fits_and_says_that_it_is_shortened(seed: int) -> None:
    rng = random.Random(seed)
    alphabet = "ab '\\\"\n\t\x1b\u0301\u4e16\u200b\U0001f600\ud800\xad"
    for _ in range(60):
        text = "".join(rng.choices(alphabet, k=rng.choice((1, 5, 30, 900))))
        most, quoted = rng.choice((8, 13, 40)), rng.random() < 0.5
        given: str | bytes = text if rng.random() < 0.5 else text.encode("utf-8", "surrogatepass")
        found = shortened(given, most, quoted=quoted)
        assert screen_columns(found) <= most
        assert found.isprintable()
        whole = repr(readable(given) if isinstance(given, bytes) else given)
        if "..." not in found and quoted:
            assert found == whole
        if quoted and columns_of(whole) <= most:
            assert found == whole
        if columns_of(whole) > 2 * most + 2:
            assert "..." in found


def test_what_has_no_width_is_not_lost() -> None:
    assert shortened("a" + "\u0301" * 5000, 20).count("...") == 1
    assert shortened(b"\xe4\xb8", 20) == "<0xE4><0xB8>"
    assert shortened("", 20) == ""


@pytest.mark.parametrize("seed", range(10))
def test_words_are_wrapped_and_none_is_lost(seed: int) -> None:
    rng = random.Random(seed)
    words = ["".join(rng.choices("ab\u4e16", k=rng.randint(1, 18))) for _ in range(40)]
    for most, indent in ((20, 0), (40, 9), (200, 9)):
        lines = list(wrapped("   " + " ".join(words), most, indent))
        assert max(map(screen_columns, lines)) <= max(most, 39)
        if most > 20:
            assert " ".join(lines).split() == words
            assert all(line.startswith(" " * indent) for line in lines[1:])


def test_a_wide_table_becomes_several() -> None:
    table = Table(("corpus", *(f"figure {at}" for at in range(9))), tuple((name, *"123456789") for name in ("a", "bc")))
    whole = table.text()
    assert table.text(200) == whole
    found = table.text(40)
    assert all(len(line) <= 40 for line in found.split("\n"))
    blocks = found.split("\n\n")
    assert len(blocks) == 3
    cells = [line.split() for block in blocks for line in block.split("\n") if line.startswith("bc")]
    assert [cell for line in cells for cell in line[1:]] == list("123456789")
    name = Table(("corpus", "tokens"), (("x" * 99, "7"),)).text()
    assert name.split("\n")[1] == f"{'x' * 19}...{'x' * 18}       7"


def test_tokens_are_broken_between_lines() -> None:
    tokens = [b"low"] * 20 + [LONG.encode()]
    for colour in (False, True):
        lines = sample(tokens, colour=colour, most=30).split("\n")
        assert len(lines) == (3 if colour else 5)
        assert sample(tokens, colour=colour).count("\n") == 0


def test_examples_are_short_and_data_is_whole() -> None:
    report = bbpe.lint(A, texts=["see"])
    longest = max(A.spec.vocab.values(), key=len)
    assert longest in [example.token for example in report["unused"].examples]
    texts: list[Any] = [row["text"] for row in report["unused"].as_dict()["examples"]]
    assert readable(longest) in texts
    for finding in report:
        assert all(columns_of(str(example)) < 130 for example in finding.examples)


def test_a_line_end_begins_a_new_line() -> None:
    """What stands before it takes no room of the next line."""
    tokens = [b"abcdef", b"\n", b"abc", b"def", b"ghi"]
    assert sample(tokens, colour=False, most=12) == "[abcdef][\\n]\n[abc][def]\n[ghi]"
    assert sample(tokens, colour=True, most=9).count("\n") == 1
    assert sample([b"abcdef", b"ghij"], colour=False, most=14) == "[abcdef][ghij]"
    assert sample([b"abcdef", b"ghij"], colour=False, most=13) == "[abcdef]\n[ghij]"


def test_special_tokens_are_marked_where_they_stand() -> None:
    found = [Boxes("t", 5, [9, 3, 7], [b"a", b"<s>", b"b"], None, frozenset({3}))]
    lines = shown(found, colour=True, with_ids=True).splitlines()
    assert [part.partition("m")[0] for part in lines[1].split("\x1b[")[1::2]] == [
        "48;5;153;38;5;16", "1;7", "48;5;157;38;5;16"
    ]  # fmt: skip
    assert lines[0] == "\x1b[1mt\x1b[0m: 3 tokens, 1.67 bytes per token"
    assert lines[2] == "9 3 7"
