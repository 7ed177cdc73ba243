"""Tries the package with one interpreter: imports it, runs the smoke test and folders of tests, and records the run.

An interpreter may be one of this machine or of another, behind an emulator: `command` is how it starts.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import threading
import time
import xml.etree.ElementTree as ET
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from debian import NotThereError
from record import ROOT, Count, Run, add

sys.path.append(str(ROOT / "tests/support"))
from skips import counted

#: Prints digests of ids, as those of Linux are recorded.
_SCRIPT = ROOT / "tests/platforms/same_ids.py"
_IDS, _LINE = _SCRIPT.with_suffix(".txt"), re.compile(r"\w+ \w+ [0-9a-f]{64}")
#: Seconds in which the rest of what a program has printed is read.
_REST = 2
#: Imports each compiled module and prints how many there are.
_IMPORTS = (
    "import importlib, bbpe.core as core;"
    "print(len([importlib.import_module(f'bbpe.core.{name}') for name in sorted(core._MODULES)]))"
)
_DESCRIBES = (
    "import platform, sys, sysconfig;"
    "t = 't' if sysconfig.get_config_var('Py_GIL_DISABLED') else '';"
    "print(f'{sys.version_info[0]}.{sys.version_info[1]}{t}', platform.python_version())"
)


def run(*command: object, cwd: Path = ROOT, log: Path | None = None, env: dict[str, str] | None = None) -> None:
    """Run a command, whose output goes into a file or nowhere; an error has the end of it."""
    done = subprocess.run(
        [str(part) for part in command], cwd=cwd, env=env, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT, text=True, errors="replace", check=False,
    )  # fmt: skip
    if log is not None:
        log.write_text(done.stdout, "utf-8")
    if done.returncode:
        raise NotThereError(f"{' '.join(map(str, command))[:200]} ends with {done.returncode}: {done.stdout[-2000:]}")


def newest_pip() -> tuple[object, ...]:
    """The command of the newest pip: older ones do not run in newer Pythons."""
    folder = ROOT / "build/interpreters/pip"
    if not (folder / "there").exists():
        run(sys.executable, "-m", "venv", "--clear", folder)
        run(folder / "bin/python", "-m", "pip", "install", "--quiet", "--upgrade", "pip")
        (folder / "there").touch()
    return folder / "bin/python", "-m", "pip"


def _read(pipe: int, parts: list[bytes]) -> None:
    with open(pipe, "rb", buffering=0) as file:
        parts.extend(iter(lambda: file.read(1 << 16) or b"", b""))


@dataclass(frozen=True)
class Interpreter:
    """A Python that runs here, by an emulator or without."""

    platform: str
    command: Sequence[str]
    source: str
    on: str
    env: dict[str, str] = field(default_factory=dict)
    #: What paths begin with in the system that it believes to be in.
    drive: str = ""

    def run(self, *arguments: object, lib: Path | None = None) -> subprocess.CompletedProcess[str]:
        """Run it, in the folder of the package, with what it prints caught; standard input is empty."""
        # tests give each process its own view of warnings and of the path
        env = {name: value for name, value in os.environ.items() if not name.startswith(("PYTHON", "PYTEST"))}
        env |= {"PYTHONPATH": self.path(lib)} if lib is not None else {}
        words = [self.path(each) if isinstance(each, Path) else str(each) for each in arguments]
        reads, writes = os.pipe()
        with subprocess.Popen(
            [*self.command, *words], cwd=lib or ROOT, env=env | self.env, stdin=subprocess.DEVNULL,
            stdout=writes, stderr=subprocess.STDOUT,
        ) as process:  # fmt: skip
            os.close(writes)
            parts = list[bytes]()
            # wine's server, which the first program starts, has the pipe until the last one ends
            reader = threading.Thread(target=_read, args=(reads, parts), daemon=True)
            reader.start()
        reader.join(_REST)
        return subprocess.CompletedProcess(words, process.returncode, b"".join(parts).decode("utf-8", "replace"))

    def path(self, path: Path) -> str:
        """A path as the interpreter's system spells it."""
        return f"{self.drive}{path}"

    def names(self) -> tuple[str, str]:
        """What the table calls it, such as 3.13t, and its version."""
        done = self.run("-c", _DESCRIBES)
        assert done.returncode == 0, done.stdout
        # an emulator may have said something before
        python, version = done.stdout.splitlines()[-1].split()
        return python, version


@dataclass
class Outcome:
    """What came of folders of tests; `expected` has the tests that may fail, and the reason of each."""

    expected: dict[str, str]
    counts: dict[str, Count] = field(default_factory=dict)
    skips: Counter[str] = field(default_factory=Counter)
    limits: dict[str, str] = field(default_factory=dict)

    def add(self, folder: str, *reports: Path) -> None:
        """Add reports of pytest, of which the last that has a test counts; failures that nobody expects are told."""
        names = Counter[str]()
        for name, case in _cases(reports).items():
            skip, reason = case.find("skipped"), self.expected.get(name)
            if skip is not None:
                self.skips += counted([_reason(skip)])
                names["skipped"] += 1
            elif not _fails(case):
                names["passed"] += 1
            elif reason is None:
                _say(f"  failed: {name}")
                names["failed"] += 1
            else:
                self.limits[name] = reason
                names["limited"] += 1
        limited = names["limited"]
        self.counts[folder] = Count(names["passed"], names["skipped"], names["failed"] + limited, limited)

    def to_run(self, reports: Sequence[Path]) -> list[Path]:
        """The files with tests that failed and should not."""
        cases = _cases(reports).items()
        failed = (name for name, case in cases if _fails(case) and name not in self.expected)
        modules = dict.fromkeys(name.removeprefix("::").partition("::")[0] for name in failed)
        return [ROOT / f"{module.replace('.', '/')}.py" for module in modules]


def _cases(reports: Sequence[Path]) -> dict[str, ET.Element]:
    """The tests of reports by module and name, as the last one has them; a module that cannot be read has no name."""
    found: dict[str, ET.Element] = {}
    for report in reports:
        for case in ET.parse(report).iter("testcase"):
            found.pop(f"::{case.get('classname')}", None)
            found[f"{case.get('classname')}::{case.get('name')}"] = case
    return found


def _reason(skip: ET.Element) -> str:
    """Why a test was skipped; that of a whole module stands in the text, in what Python prints of a tuple."""
    found = re.search(r"""['"]Skipped: (.*)['"]\)$""", skip.text or "")
    return found[1] if found else skip.get("message", "")


def _fails(case: ET.Element) -> bool:
    return case.find("failure") is not None or case.find("error") is not None


def run_tests(
    interpreter: Interpreter, folder: str, lib: Path, place: Path, options: Sequence[str], outcome: Outcome, *,
    keep: bool,
) -> None:  # fmt: skip
    """Run a folder of tests, or with `keep` the files of which an earlier report has failures.

    A run that ends without a report counts as one failure.
    """
    name = folder.replace("/", "-")
    reports = sorted(place.glob(f"{name}.*.xml"))
    if not keep:
        for each in reports:
            each.unlink()
        reports = []
    files = outcome.to_run(reports) if reports else [ROOT / "tests" / folder]
    report = place / f"{name}.{len(reports)}.xml"
    if files:
        done = interpreter.run(
            "-m", "pytest", *files, f"--junitxml={interpreter.path(report)}", "-p", "no:cacheprovider", "-rs",
            *options, lib=lib,
        )  # fmt: skip
        report.with_suffix(".log").write_text(done.stdout, "utf-8")
        reports.append(report)
    if report in reports and not report.exists():
        _say(f"  {folder}: ended without a report, see {report.with_suffix('.log')}")
        outcome.counts[folder] = Count(0, 0, 1)
    else:
        outcome.add(folder, *reports)
    _say(f"  {folder}: {outcome.counts[folder]}")


def same_ids(interpreter: Interpreter, lib: Path, place: Path) -> tuple[int, int]:
    """How many lines of same_ids.py are those of Linux, and of how many; 0 of 0 where there are no corpora."""
    folder = place / "ids"
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir()
    done = interpreter.run(_SCRIPT, folder, lib=lib)
    found = [line for line in done.stdout.splitlines() if _LINE.fullmatch(line)]
    if done.returncode == 0 and not found:
        return 0, 0
    wanted = _IDS.read_text("utf-8").splitlines()
    same = len({*wanted} & {*found})
    _say(f"  same ids as on Linux: {same} of {len(wanted)}{'' if done.returncode == 0 else done.stdout[-2000:]}")
    return same, len(wanted)


def _say(line: str) -> None:
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()


def try_out(
    interpreter: Interpreter, lib: Path | None, place: Path, folders: Sequence[str], *,
    options: Sequence[str] = (), expected: dict[str, str] | None = None, note: str = "",
    keep: bool = False,
) -> Run:  # fmt: skip
    """Import, smoke test and tests of the package in `lib`, or none of it where that is None: it did not compile."""
    python, version = interpreter.names()
    about = (interpreter.platform, python, version, interpreter.source, interpreter.on)
    date = time.strftime("%Y-%m-%d", time.gmtime())
    if lib is None:
        return Run(*about, date, compiled=False, note=note)
    imports = interpreter.run("-c", _IMPORTS, lib=lib)
    if imports.returncode:
        _say(imports.stdout)
        return Run(*about, date, compiled=True, imported=0, note=note)
    smoke = interpreter.run(ROOT / "tests/smoke.py", lib=lib)
    _say(f"  {smoke.stdout.strip()}")
    passes = smoke.returncode == 0
    same, recorded_ids = same_ids(interpreter, lib, place) if passes else (0, 0)
    tests = Outcome(expected or {})
    for folder in folders if passes else ():
        run_tests(interpreter, folder, lib, place, options, tests, keep=keep)
    modules = int(imports.stdout.splitlines()[-1])
    return Run(
        *about, date, True, modules, passes, tests.counts, dict(tests.skips), tests.limits, same, recorded_ids, note
    )  # fmt: skip


def recorded(run: Run) -> bool:
    """Add a run to the record; whether it went as it should."""
    add(run)
    _say(f"{run.platform}, CPython {run.version}: {run.outcome().strip('*')}")
    return "fails" not in run.outcome()
