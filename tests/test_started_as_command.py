"""A process is the command line if it is started as `bbpe` or `python -m bbpe`, and a program in any other way."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

import bbpe

BESIDE = Path(sys.executable).absolute().parent
ELSEWHERE = BESIDE / "elsewhere"


@pytest.mark.parametrize(("argv", "words", "is_command"), [
    # while Python looks for the module
    (["-m"], ["python", "-m", "bbpe"], True), (["-m", "x"], ["python", "-X", "dev", "-m", "bbpe", "x"], True),
    (["-m"], ["python", "-mbbpe"], True), (["-m", "bbpe"], ["python", "-m", "pytest", "bbpe"], False),
    (["-m"], ["python", "-mbbpe.cli"], False), (["-m"], ["python", "-m", "x", "-m", "y"], False),
    (["-m"], [], False), (["-m"], ["python", "bbpe", "-m"], False),
    # a script of any name that an installer gives it, beside the interpreter
    (["{beside}/bbpe"], [], True), (["{beside}/bbpe.exe", "count"], [], True),
    (["{beside}/bbpe-script.py", "-m"], [], True), (["{beside}/bbpe.py"], [], False),
    (["{beside}/other", "{beside}/bbpe"], [], False), (["{elsewhere}/bbpe"], [], False), (["bbpe"], [], False),
    (["-c"], ["python", "-c", "import bbpe", "-m", "bbpe"], False), ([""], ["python"], False), ([], [], False),
])  # fmt: skip
def test_what_is_started_as_a_command(
    argv: list[str], words: list[str], is_command: bool, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.chdir(tmp_path)
    places = {"beside": BESIDE.resolve(), "elsewhere": ELSEWHERE}
    # a virtual environment may itself be reached by a link
    monkeypatch.setattr(sys, "executable", str(BESIDE.resolve() / "python"))
    monkeypatch.setattr(sys, "argv", [word.format(**places) for word in argv])
    monkeypatch.setattr(sys, "orig_argv", words)
    assert bbpe._is_command() is is_command


def test_a_program_that_embeds_python_is_none(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delattr(sys, "argv")
    monkeypatch.delattr(sys, "orig_argv")
    assert bbpe._is_command() is False


def test_ctrl_c_ends_a_command_without_a_traceback_unless_its_user_decided_otherwise() -> None:
    """A shell has a command in the background ignore Ctrl-C; a program that is none keeps the handler of Python."""
    code = """
import importlib, signal, sys
import bbpe
def own(*_): pass
for words in ["python", "-m", "bbpe"], ["python", "-m", "other"]:
    sys.argv, sys.orig_argv = ["-m"], words
    for handler in signal.default_int_handler, signal.SIG_IGN, own:
        signal.signal(signal.SIGINT, handler)
        importlib.reload(bbpe)
        now = signal.getsignal(signal.SIGINT)
        print("as it was" if now is handler else now.name)
"""
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=60)
    assert found.stdout.splitlines() == ["SIG_DFL", *["as it was"] * 5]
