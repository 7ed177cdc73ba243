"""The demo, and the sample of tokens that it shows."""

from __future__ import annotations

import io
import json
import subprocess
import sys
import sysconfig
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from processes import package_env
from systems import MAKES_LINKS

import bbpe
from bbpe.cli import demo, main, streams
from bbpe.report.terminal import sample

Call = Callable[..., tuple[int, bytes, str]]


@pytest.fixture
def call(capfdbinary: pytest.CaptureFixture[bytes]) -> Call:
    def invoke(*arguments: object) -> tuple[int, bytes, str]:
        status = main(list(map(str, arguments)))
        out, err = capfdbinary.readouterr()
        return status, out, err.decode()

    return invoke


def test_the_demo_on_this_machine(tmp_path: Path) -> None:
    arguments = ["demo", "--vocab-size", "2000", "-o", str(tmp_path / "tokenizer.json")]
    environment = package_env()
    process = subprocess.run([sys.executable, "-m", "bbpe", *arguments], env=environment, capture_output=True)
    assert process.returncode == 0, process.stderr
    assert b"bytes per token" in process.stdout
    assert b"MB/s" in process.stdout
    assert b"the longest token has" in process.stderr
    assert bbpe.load(tmp_path / "tokenizer.json").vocab_size == 2000
    assert [path.name for path in tmp_path.iterdir()] == ["tokenizer.json"]


@pytest.fixture
def library(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    root = tmp_path / "library"
    for number in range(25):
        path = root / "package" / f"module{number:02}.py"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(b"# \xe6\xb7\xb1\ndef function(number):\n    return number + %d  # caf\xe9\n" % number)
    if MAKES_LINKS:
        (root / "package" / "gone.py").symlink_to("nowhere.py")
    (root / "package" / "folder.py").mkdir()
    (root / "package" / "nothing.py").touch()
    for skipped in ("site-packages", "test"):
        (root / skipped).mkdir()
        (root / skipped / "x.py").write_bytes(b"skipped")
    monkeypatch.setattr(sysconfig, "get_path", lambda name: str(root))
    return root


def test_the_demo_survives_sources_that_it_cannot_read(call: Call, library: Path) -> None:
    status, out, errors = call("demo", "--vocab-size", 300, "--json")
    assert status == 0, errors
    figures = json.loads(out)
    assert (figures["files_trained_on"], figures["files_encoded"]) == (22, 3)
    assert "gone.py" in errors


def test_the_demo_keeps_a_tokenizer_with_an_end_of_text(call: Call, library: Path, tmp_path: Path) -> None:
    """In a folder, too; its figures fit each other and the time that it took."""
    folder, began = tmp_path / "kept", time.perf_counter()
    folder.mkdir()
    status, out, errors = call("demo", "--vocab-size", 300, "-o", folder, "--json", "--quiet")
    took, figures = time.perf_counter() - began, json.loads(out)
    assert (status, errors if not MAKES_LINKS else "") == (0, "")
    assert bbpe.load(folder).special_tokens == {"<|endoftext|>": bbpe.load(folder).vocab_size - 1}
    seconds = [figures[f"{name}_seconds"] for name in ("train", "first_encode", "encode")]
    assert all(0 < each <= took for each in seconds)
    assert sum(seconds) <= took
    assert figures["bytes_per_token"] == figures["bytes_encoded"] / figures["tokens_encoded"]
    for name, done in (("train", "trained_on"), ("encode", "encoded")):
        megabytes = figures[f"{name}_mb_per_second"] * figures[f"{name}_seconds"]
        assert megabytes == pytest.approx(figures[f"bytes_{done}"] / 1e6)


def test_the_demo_refuses_an_output_before_it_trains(
    call: Call, library: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(bbpe, "train", lambda *_, **__: pytest.fail("it has trained"))
    status, _, errors = call("demo", "-o", tmp_path / "none" / "tokenizer.json", "--quiet")
    assert status == 1
    assert "there is no such folder to save the tokenizer in" in errors


@pytest.mark.parametrize(
    ("output", "kept"),
    [(None, "saved as tokenizer.json and loaded again"), ("x.json", "saved as x.json and loaded again")],
)
def test_the_demo_tells_its_figures(
    output: str | None, kept: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(demo, "line_columns", lambda: 1000)
    figures = (16_000, 1_200, 25_640_000, 3.14, 1, 2_340_000, 650_000, 0.256, 0.0126, 3.6, 8.17, 187.2)
    demo._report(demo.Figures(*figures), output)
    assert capsys.readouterr().out.splitlines() == [
        f"trained  16,000 tokens on 1,200 files of Python's standard library, 25.6 MB in 3.1 s: 8.2 MB/s; {kept}",
        "encoded  1 file it did not train on, 2.3 MB in 0.013 s: 187.2 MB/s; the first call took 0.26 s, which makes "
        "the encoder",
        "         650,000 tokens, 3.60 bytes per token; all of it decodes to the same bytes",
    ]


@pytest.mark.parametrize(
    ("output", "path"), [(None, "tokenizer.json"), ("a.json", "a.json"), ("a b.json", "'a b.json'")]
)
def test_the_demo_says_what_to_type_next(output: str | None, path: str, capsys: pytest.CaptureFixture[str]) -> None:
    demo._show_next(output)
    lines = capsys.readouterr().out.splitlines()
    assert any(f'bbpe show "some text" -t {path} ' in line for line in lines)
    assert any(f"bbpe serve -t {path} " in line for line in lines)
    assert any("keep this tokenizer" in line for line in lines) == (output is None)


@pytest.mark.parametrize(("color", "mark"), [("always", b"\x1b[48;5;"), ("never", b"["), ("auto", b"[")])
def test_the_sample_shows_borders(call: Call, library: Path, color: str, mark: bytes) -> None:
    status, out, _ = call("demo", "--vocab-size", 260, "--color", color, "--quiet")
    assert status == 0
    assert mark in out
    assert (b"\x1b" in out) == (color == "always")


def test_the_demo_says_when_the_round_trip_fails(
    call: Call, library: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(bbpe.Tokenizer, "decode_bytes", lambda self, ids: b"something else")
    status, _, errors = call("demo", "--vocab-size", 260, "--quiet")
    assert status == 1
    assert "differ" in errors


def test_the_demo_without_sources_says_so(call: Call, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sysconfig, "get_path", lambda name: str(tmp_path / "python.zip"))
    status, _, errors = call("demo")
    assert status == 1
    assert "bbpe train" in errors


# -- tokens on a terminal ------------------------------------------------------------------------------


def test_a_sample_cannot_break_the_terminal() -> None:
    tokens = [b"ok", b"\xe6\xb7", b"\xb1", b"\x1b[2J", b"\x00\x7f\x07", "\u202e\u200b\ud55c".encode(), b"a\nb", b""]
    plain = sample(tokens, colour=False)
    assert plain == "[ok][<0xE6><0xB7>][<0xB1>][\\x1b[2J][\\x00\\x7f\\x07][\\u202e\\u200b한][a\\nb]\n[]"
    coloured = sample(tokens, colour=True)
    for line in coloured.split("\n"):
        assert line.count("\x1b[0m") == line.count("\x1b[48;5;") == line.count("\x1b") // 2


def test_every_pair_of_bytes_can_be_shown() -> None:
    for first in range(256):
        for second in (*range(first % 5, 256, 5), 0x00, 0x7F, 0x80, 0xBF, 0xFF):
            shown = sample([bytes((first, second))], colour=False)
            assert shown.replace("\n", "").isprintable()


def test_colour_needs_a_willing_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    class Terminal(io.StringIO):
        def isatty(self) -> bool:
            return True

    monkeypatch.delenv("NO_COLOR", raising=False)
    assert streams.shows_colour(Terminal())
    assert not streams.shows_colour(io.StringIO())
    monkeypatch.setenv("NO_COLOR", "1")
    assert not streams.shows_colour(Terminal())
