"""Ctrl-C at a terminal, and Ctrl-Break at a console of Windows: a command ends at once, and says what it leaves.

A program plays the keyboard: on Windows it has a console of its own, elsewhere a terminal.
"""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest
from processes import package_env

KEYBOARD = """
import json, os, signal, subprocess, sys

key, begun, command = sys.argv[1], sys.argv[2], sys.argv[3:]
reads, writes = os.pipe()

if sys.platform == "win32":
    import ctypes

    console = ctypes.windll.kernel32
    console.FreeConsole()
    assert console.AllocConsole()
    # a key is for every process of the console
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGBREAK, signal.SIG_IGN)
    process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=writes)
    press = lambda: console.GenerateConsoleCtrlEvent({"C": 0, "Break": 1}[key], 0)
    wait = process.wait
else:
    import pty

    child, terminal = pty.fork()
    if not child:
        os.dup2(writes, 2)
        os.execv(command[0], command)
    press = lambda: os.write(terminal, b"\\x03")
    wait = lambda: os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])

os.close(writes)
said = b""
while begun.encode() not in said:
    part = os.read(reads, 1 << 12)
    assert part, said
    said += part
assert press()
while part := os.read(reads, 1 << 12):
    said += part
print(json.dumps([wait(), said.decode()]))
"""


@pytest.mark.parametrize("key", ["C", *(["Break"] if sys.platform == "win32" else [])])
def test_a_key_ends_a_command(key: str, tmp_path: Path) -> None:
    # so many words that merging takes seconds
    letters = str.maketrans("0123456789", "ghijklmnop")
    words = (f"{number * 107_508_606_353_809 % 16**12:012x}".translate(letters) for number in range(1, 150_001))
    corpus, output = tmp_path / "words.txt", tmp_path / "t.json"
    corpus.write_text("\n".join(words))
    command = [sys.executable, "-m", "bbpe", "train", str(corpus), "--vocab-size", "200k", "--progress", "json"]
    done = subprocess.run(
        [sys.executable, "-c", KEYBOARD, key, '"merge"', *command, "-o", str(output)],
        env=package_env(), capture_output=True, text=True, stdin=subprocess.DEVNULL, timeout=120, check=False,
    )  # fmt: skip
    assert (done.returncode, done.stderr) == (0, "")
    status, said = json.loads(done.stdout.splitlines()[-1])
    assert (status, said.splitlines()[-1]) == (130, "bbpe: interrupted; nothing was written")
    assert [path.name for path in tmp_path.iterdir()] == ["words.txt"]
