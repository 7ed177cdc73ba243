"""Ctrl-C is heard within a fraction of a second, whatever the job is at."""

from __future__ import annotations

import os
import shlex
import signal
import subprocess
import sys
import time
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from processes import package_env
from systems import system_has

import bbpe
from bbpe.__main__ import main

# is interrupted a moment after the phase began, and prints how much processor time passed until it heard of it
CHILD = """
import itertools, os, signal, sys, threading, time
import bbpe
from bbpe import budget
from bbpe.counting import options as count_options

phase, options = sys.argv[1], eval(sys.argv[2])
sent = 0.0
begun = False

def interrupt():
    global sent
    sent = time.process_time()
    # on Windows `kill` ends the process
    signal.raise_signal(signal.SIGINT) if sys.platform == "win32" else os.kill(os.getpid(), signal.SIGINT)

def tell(progress):
    global begun
    if progress.phase == phase and not begun:
        begun = True
        threading.Timer(0.01 if phase == "sum" else 0.1, interrupt).start()

# a shell may have started us with the signal ignored, which children inherit
signal.signal(signal.SIGINT, signal.default_int_handler)
# spills now and then, whatever the memory
count_options._BLOCK = 1 << 16
budget.Budget.of = classmethod(lambda cls, limit, buffers: cls(1 << 40, 1 << 21))
letters = str.maketrans("0123456789", "ghijklmnop")
words = [f"{number * 107_508_606_353_809 % 16**12:012x}".translate(letters) for number in range(1, 150_001)]
assert len(set(words)) == len(words)
try:
    if phase == "merge":
        bbpe.train_from_counts(dict.fromkeys(words, 1), 200_000, progress=tell)
    else:
        texts = itertools.repeat(" ".join(words)) if phase == "count" else (" ".join(words[i::40]) for i in range(40))
        bbpe.count_from_iterator(texts, pattern="gpt2", progress=tell, **options)
    print("ended")
except KeyboardInterrupt:
    print(time.process_time() - sent)
"""


@pytest.mark.parametrize(
    ("phase", "options"),
    [
        ("count", {"threads": 1}),
        ("count", {"threads": 2}),
        ("count", {"max_memory": "1GB"}),
        ("sum", {"max_memory": "1GB"}),
        ("merge", {}),
    ],
    ids=str,
)
def test_ctrl_c_is_heard_soon(phase: str, options: dict[str, object]) -> None:
    if "max_memory" in options:
        pytest.importorskip("pyarrow")
    command = [sys.executable, "-c", CHILD, phase, repr(options)]
    done = subprocess.run(command, env=package_env(), capture_output=True, text=True, timeout=60)
    assert (done.returncode, done.stderr) == (0, "")
    # 0.2 s are promised, and on a machine that is busy with other things all takes longer, on several threads above all
    assert float(done.stdout) < 0.5, done.stdout

# SIGINT comes with the import that has this number after `import bbpe` has begun
SITE = """
import os, signal, sys

class Finder:
    left = int(os.environ["INTERRUPT_AT"])

    def find_spec(self, name, path=None, target=None):
        if name == "bbpe.lazy" or "bbpe.lazy" in sys.modules:
            Finder.left -= 1
            if not Finder.left:
                os.kill(os.getpid(), signal.SIGINT)

sys.meta_path.insert(0, Finder())
"""


#: Before the command line is read, no output is known.
SAID = "bbpe: interrupted; nothing was written\n"


@pytest.fixture
def command(tmp_path: Path) -> list[str]:
    bbpe.train_from_iterator(["see my dogs"] * 9, 262).save(tmp_path / "t.json")
    (tmp_path / "sitecustomize.py").write_text(SITE)
    return [sys.executable, "-m", "bbpe", "encode", "-t", str(tmp_path / "t.json")]


def ended(command: list[str], folder: Path, **environment: str) -> tuple[int, str]:
    paths = os.pathsep.join([str(folder), package_env()["PYTHONPATH"]])
    done = subprocess.run(
        command, input=b"see my dogs", capture_output=True, env=package_env(PYTHONPATH=paths, **environment),
        timeout=60, check=False,
    )  # fmt: skip
    return done.returncode, done.stderr.decode()


@pytest.mark.skipif(sys.platform == "win32", reason="needs POSIX signals")
@pytest.mark.parametrize("at", [1, 3, 8, 20, 40, 60])
def test_ctrl_c_while_the_command_starts(at: int, command: list[str], tmp_path: Path) -> None:
    heard = [(130, SAID), (130, "bbpe: interrupted\n"), (-signal.SIGINT, "")]
    assert ended(command, tmp_path, INTERRUPT_AT=str(at)) in heard


@pytest.mark.skipif(not system_has("/proc/self/maps"), reason="there is no /proc")
@pytest.mark.parametrize("times", [5, pytest.param(200, marks=pytest.mark.long)])
def test_ctrl_c_at_any_moment_of_a_command(times: int, command: list[str], tmp_path: Path) -> None:
    def listens(process: subprocess.Popen[bytes]) -> bool:
        # Python's own start is not ours: it lasts until the package is opened
        return process.poll() is not None or "/bbpe/core/" in Path(f"/proc/{process.pid}/maps").read_text()

    environment = package_env(INTERRUPT_AT="0")
    start = time.monotonic()
    subprocess.run(command, input=b"see", env=environment, capture_output=True, check=True)
    span = time.monotonic() - start
    for number in range(times):
        pipes = {"stdin": subprocess.PIPE, "stderr": subprocess.PIPE, "stdout": subprocess.DEVNULL}
        process = subprocess.Popen(command, env=environment, **pipes)  # type: ignore[call-overload]
        while not listens(process):
            time.sleep(0.001)
        time.sleep(span * number / times)
        process.send_signal(signal.SIGINT)
        _, told = process.communicate(b"see")
        assert process.returncode in (0, 130, -signal.SIGINT), number
        assert told.decode() in ("", SAID, "bbpe: interrupted\n"), number


@pytest.mark.skipif(sys.platform == "win32", reason="needs POSIX signals")
def test_a_job_that_ignores_the_signal_goes_on(command: list[str], tmp_path: Path) -> None:
    script = f"trap '' INT; exec {shlex.join(command)}"
    assert ended(["/bin/sh", "-c", script], tmp_path, INTERRUPT_AT="8") == (0, "")


def test_other_programs_that_import_bbpe_keep_their_handler() -> None:
    code = "import signal, bbpe, bbpe.__main__\nprint(signal.getsignal(signal.SIGINT) is signal.default_int_handler)"
    done = subprocess.run([sys.executable, "-c", code], env=package_env(), capture_output=True, text=True, check=True)
    assert done.stdout == "True\n"


DEFAULT, ENDS, IGNORED = signal.default_int_handler, signal.SIG_DFL, signal.SIG_IGN


@pytest.mark.parametrize(
    ("before", "handlers"),
    [(DEFAULT, [ENDS, DEFAULT, ENDS]), (ENDS, [ENDS, DEFAULT, ENDS]), (IGNORED, [IGNORED] * 3)],
)
@pytest.mark.parametrize("is_interrupted", [False, True])
def test_ctrl_c_ends_the_process_before_and_after_the_command(
    before: Any, handlers: list[Any], is_interrupted: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    found: list[Any] = []

    def run() -> int:
        found.append(signal.getsignal(signal.SIGINT))
        if is_interrupted:
            raise KeyboardInterrupt
        return 7

    class Imported(ModuleType):
        def __getattr__(self, name: str) -> Any:
            if name != "main":
                raise AttributeError(name)
            found.append(signal.getsignal(signal.SIGINT))
            return run

    monkeypatch.setitem(sys.modules, "bbpe.cli", Imported("bbpe.cli"))
    kept = signal.signal(signal.SIGINT, before)
    try:
        status = main()
        found.append(signal.getsignal(signal.SIGINT))
    finally:
        signal.signal(signal.SIGINT, kept)
    assert (status, found) == (130 if is_interrupted else 7, handlers)


class Interrupts:
    """Raises in the one place where Python catches whatever is raised, and goes on."""

    def __init__(self, error: BaseException | None = None) -> None:
        self.error = error

    def __del__(self) -> None:
        if self.error is not None:
            raise self.error
        signal.raise_signal(signal.SIGINT)


def test_an_interrupt_that_python_drops_comes_again(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    reported: list[type[BaseException]] = []
    monkeypatch.setattr(sys, "unraisablehook", lambda dropped: reported.append(dropped.exc_type))

    def run() -> int:
        Interrupts(ValueError())
        Interrupts()
        time.sleep(20)
        return 7

    monkeypatch.setattr("bbpe.cli.main", run)
    before, kept = sys.unraisablehook, signal.signal(signal.SIGINT, signal.default_int_handler)
    begun = time.monotonic()
    try:
        assert main() == 130
    finally:
        signal.signal(signal.SIGINT, kept)
    assert time.monotonic() - begun < 10  # the wait ends, too
    assert (sys.unraisablehook, reported, capsys.readouterr().err) == (before, [ValueError], "")


@pytest.mark.parametrize("name", [name for name in ("SIGINT", "SIGBREAK") if hasattr(signal, name)])
def test_the_signals_of_keys_end_a_command(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    key = getattr(signal, name)
    monkeypatch.setattr("bbpe.cli.main", lambda: signal.raise_signal(key))
    kept = signal.getsignal(key)
    try:
        assert main() == 130
        assert signal.getsignal(key) == signal.SIG_DFL
    finally:
        signal.signal(key, kept)
