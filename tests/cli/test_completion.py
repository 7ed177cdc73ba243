"""`bbpe completion`: scripts that shells can read, and what bash completes by its own."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest

from bbpe.cli import COMMANDS, main

#: Complete the words of a command line, the last of which is not finished, and print what it may become.
TRY = """
source "$1"; shift
COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); COMP_LINE="$*"; COMP_POINT=${#COMP_LINE}
_shtab_bbpe
printf '%s\\n' "${COMPREPLY[@]}"
"""


def script(shell: str, capfdbinary: Any) -> str:
    assert main(["completion", shell]) == 0
    return str(capfdbinary.readouterr().out, "utf-8")


def test_a_missing_package_is_named(capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(__import__("sys").modules, "shtab", None)
    assert main(["completion", "bash"]) == 1
    assert "pip install 'bbpe[cli]'" in capfd.readouterr().err


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_a_script(shell: str, tmp_path: Path, capfdbinary: Any) -> None:
    pytest.importorskip("shtab")
    text = script(shell, capfdbinary)
    assert all(name in text for name in (*COMMANDS, "truncate", "gpt-4o", "o200k_base", "merge"))
    if program := shutil.which(shell):
        path = tmp_path / "script"
        path.write_text(text)
        subprocess.run([program, "-n", str(path)], check=True)


def test_what_bash_completes(tmp_path: Path, capfdbinary: Any) -> None:
    pytest.importorskip("shtab")
    if (bash := shutil.which("bash")) is None:
        pytest.skip("there is no bash")
    path = tmp_path / "script"
    path.write_text(script("bash", capfdbinary))
    (tmp_path / "gpt-text.txt").touch()
    (tmp_path / "tokens.json").touch()
    for line, expected in {
        "tok": {"tokens"},
        "tokens --tr": {"--truncate"},
        "tokens -t gpt-4": {"gpt-4", "gpt-4o", "gpt-4.1"},
        "tokens -t gpt-t": {"gpt-text.txt"},
        "tokens -t gpt2 to": {"tokens.json"},
        "train --model u": {"unigram"},
        "counts m": {"merge"},
        "counts merge to": {"tokens.json"},
        "inspect o200k": {"o200k_base", "o200k_harmony"},
    }.items():
        command = [bash, "-c", TRY, "bash", str(path), "bbpe", *line.split(" ")]
        found = subprocess.run(command, cwd=tmp_path, check=True, capture_output=True, text=True).stdout
        assert set(found.split()) == expected, line
