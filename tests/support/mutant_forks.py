"""Runs tests with a fault in a fork of a process that has collected all of them: a plugin of pytest, and its caller.

A fault in the body of a function is planted by giving the function the code of the changed source, so nothing is
imported again; modules that are imported later, and processes that tests start, find the changed source on the disk.
"""

from __future__ import annotations

import faulthandler
import gc
import json
import os
import select
import shutil
import signal
import socket
import subprocess
import sys
import time
from collections import defaultdict
from collections.abc import Iterable, Mapping
from contextlib import suppress
from pathlib import Path
from types import CodeType, FunctionType
from typing import Any

import pytest

#: The most seconds of the clock of one test: these, and so many times what it took without a fault.
HANGING, SLOWER = 120, 9
_SOCKET = "MUTANTS_SOCKET"
#: In place of a case: no function has the fault, as one that has lost its `super()` has another closure.
UNPLANTED = "no function has the fault"


class Forks:
    """All tests of a copy of the checkout, collected once."""

    def __init__(self, root: Path, folder: Path, environment: Mapping[str, str]) -> None:
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir()
        self._folder = folder
        ours, theirs = socket.socketpair()
        command = [sys.executable, "-m", "pytest", "-p", "mutant_forks", "-p", "no:cacheprovider", "--tb=no", "tests"]
        with (folder / "printed.txt").open("wb") as file, theirs:
            self._process = subprocess.Popen(
                command, cwd=root, start_new_session=True, stdin=subprocess.DEVNULL, stdout=file, stderr=file,
                env={**environment, _SOCKET: str(theirs.fileno()), "TMPDIR": str(folder)}, pass_fds=[theirs.fileno()],
            )  # fmt: skip
        self._stream = ours.makefile("rw")
        ours.close()
        if not self._stream.readline():
            raise RuntimeError(f"the tests cannot be collected: {(folder / 'printed.txt').read_text('utf-8')[-2000:]}")

    def run(self, tests: Mapping[str, float], path: str = "", before: str = "", after: str = "") -> str:
        """The first case of these tests that fails, dies or hangs with a module changed; "" if none does.

        `UNPLANTED` if the module is known, and none of its functions has other code.
        """
        job = {"tests": dict(tests), "path": path, "before": before, "after": after}
        print(json.dumps(job), file=self._stream, flush=True)
        line = self._stream.readline()
        if not line:
            raise RuntimeError(f"the process of all tests has ended with {self._process.wait()}")
        noticed: str = json.loads(line)
        for left in self._folder.glob("pytest-of-*/pytest-*/test_*"):
            shutil.rmtree(left, ignore_errors=True)
        return noticed

    def close(self) -> None:
        self._stream.close()
        with suppress(ProcessLookupError):
            os.killpg(self._process.pid, signal.SIGKILL)
        self._process.wait()


@pytest.hookimpl(tryfirst=True)
def pytest_runtestloop(session: pytest.Session) -> bool:
    """Run the tests of each job instead of all."""
    functions = _functions()
    cases: dict[str, list[pytest.Item]] = defaultdict(list)
    for item in session.items:
        cases[item.nodeid.partition("[")[0]].append(item)
    # what is unpacked once for all tests stays for the next job
    session.config._tmp_path_factory.getbasetemp()  # type: ignore[attr-defined]
    with socket.socket(fileno=int(os.environ[_SOCKET])) as connection, connection.makefile("rw") as stream:
        print("ready", file=stream, flush=True)
        for line in stream:
            print(json.dumps(_forked(json.loads(line), cases, functions)), file=stream, flush=True)
    return True


def _forked(job: Any, cases: Mapping[str, list[pytest.Item]], functions: Mapping[str, list[FunctionType]]) -> str:
    reads, writes = os.pipe()
    process = os.fork()
    if not process:
        try:
            os.setsid()
            os.close(reads)
            if job["path"]:
                path = str(Path.cwd() / job["path"])
                known = functions.get(path, ())
                if not plant(known, path, job["before"], job["after"]) and known:
                    os.write(writes, f"{UNPLANTED}\n\n".encode())
                    os._exit(0)
            _run([item for name in job["tests"] for item in cases.get(name, ())], job["tests"], writes)
        finally:
            os._exit(1)
    os.close(writes)
    noticed = _heard(reads, HANGING + 10 * sum(job["tests"].values()))
    os.close(reads)
    for kill in (os.killpg, os.kill):
        with suppress(ProcessLookupError):
            kill(process, signal.SIGKILL)
    os.waitpid(process, 0)
    return noticed


def _heard(reads: int, seconds: float) -> str:
    """What a fork says: the case that it has begun, in a line each, and at last the one that failed, in two."""
    end, said = time.monotonic() + seconds, b""
    while not said.endswith(b"\n\n"):
        ready = select.select([reads], [], [], max(0, end - time.monotonic()))[0]
        some = os.read(reads, 1 << 16) if ready else b""
        said += some
        if not some:
            begun = said.decode().strip().rpartition("\n")[2]
            return f"{begun} {'ended the process' if ready else 'did not end'}"
    return said.decode()[:-2].rpartition("\n")[2]


def _run(items: list[pytest.Item], seconds: Mapping[str, float], writes: int) -> None:
    """Run cases until one fails."""
    failed: list[str] = []

    class Watch:
        @staticmethod
        def pytest_runtest_logreport(report: pytest.TestReport) -> None:
            if report.failed:
                failed.append(report.nodeid)

    nowhere = Path(os.devnull).open("w")  # noqa: SIM115
    if items:
        items[0].config.pluginmanager.register(Watch())
    for item, following in zip(items, [*items[1:], None], strict=False):
        os.write(writes, f"{item.nodeid}\n".encode())
        # a thread of C, so that a loop that holds the interpreter lock ends too
        most = HANGING + SLOWER * seconds[item.nodeid.partition("[")[0]]
        faulthandler.dump_traceback_later(most, exit=True, file=nowhere)
        item.config.hook.pytest_runtest_protocol(item=item, nextitem=following)
        faulthandler.cancel_dump_traceback_later()
        if failed:
            break
    os.write(writes, f"{failed[0] if failed else ''}\n\n".encode())


def _functions() -> Mapping[str, list[FunctionType]]:
    """The functions that there are, by their files."""
    found: dict[str, list[FunctionType]] = defaultdict(list)
    gc.unfreeze()
    for each in gc.get_objects():
        if isinstance(each, FunctionType):
            found[each.__code__.co_filename].append(each)
    gc.freeze()
    return found


def plant(functions: Iterable[FunctionType], path: str, before: str, after: str) -> int:
    """Give the functions of a module the code of its changed source; how many have other code then."""
    old, new = (compile(source, path, "exec", dont_inherit=True) for source in (before, after))
    codes = dict(_pairs(old, new))
    planted = 0
    for function in functions:
        own = function.__code__
        code = codes.get((own.co_qualname, own.co_firstlineno))
        if code is not None and code != own and code.co_freevars == own.co_freevars:
            function.__code__ = code
            planted += 1
    return planted


def _pairs(old: CodeType, new: CodeType) -> Iterable[tuple[tuple[str, int], CodeType]]:
    """What is in one code object and then in the other, by its name and line in the first."""
    yield (old.co_qualname, old.co_firstlineno), new
    within: dict[str, list[CodeType]] = defaultdict(list)
    for each in new.co_consts:
        if isinstance(each, CodeType):
            within[each.co_name].append(each)
    for each in old.co_consts:
        if isinstance(each, CodeType) and within[each.co_name]:
            yield from _pairs(each, within[each.co_name].pop(0))
