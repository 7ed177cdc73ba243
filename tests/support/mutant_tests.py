"""Which tests should notice a fault: those that run the changed line, as a run of the suite under coverage.py shows.

Nobody knows which tests run a line of Cython or C: first come those that run a module of Python which imports that of
Cython, then those of folders that mirror it, then all others.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import shutil
import subprocess
import sys
from collections import defaultdict
from collections.abc import Iterable
from functools import cache
from pathlib import Path
from typing import Any

from mutant_edits import Edit, body_of

ROOT = Path(__file__).resolve().parents[2]
#: Seconds of tests at most for a fault: of Python, and of Cython or C, where no test is known to run the line.
MOST, MOST_COMPILED = 150, 400
#: The folders of tests for each folder of csrc, and for modules of Cython by the beginning of their names; the first
#: that fits.  tests/core is for all of them.
MIRRORS = {
    "csrc/split": ("splitting", "encoding"),
    "csrc/train": ("training",),
    "csrc/count": ("counting", "training"),
    "csrc/text": ("encoding", "corpus", "formats"),
    "csrc/tables": ("tables", "encoding", "training"),
    "csrc/pipeline": ("pipeline", "encoding"),
    "core/train": ("training",),
    "core/unigram_train": ("training",),
    "core/count": ("counting", "training"),
    "core/split": ("splitting", "encoding"),
    "core/automaton": ("splitting", "encoding"),
    "core/json": ("corpus", "formats"),
    "core/documents": ("shards", "encoding"),
    "core/piece_list": ("formats", "encoding"),
    "core/merge_list": ("formats", "spec"),
    "": ("encoding", "pipeline", "spec"),
}
_SETTINGS = """[run]
source = {root}/bbpe
data_file = {folder}/parts/data
parallel = true
concurrency = thread, multiprocessing
context = ${{MUTANTS_CONTEXT-}}
disable_warnings = no-data-collected, module-not-imported, module-not-measured, already-imported, couldnt-parse
"""


def _digest(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()[:16]


class Measured:
    """What each test runs and how long it takes, in a folder, and completed in a copy of the checkout."""

    def __init__(self, folder: Path, root: Path) -> None:
        self.folder, self.root = folder, root
        folder.mkdir(parents=True, exist_ok=True)
        self.files: dict[str, str] = self._read("files.json")
        #: By test function: its seconds, and whether all of it has passed.
        self.tests: dict[str, tuple[float, bool]] = self._read("tests.json")
        self._lines: dict[str, dict[int, set[str]]] = {}

    def _read(self, name: str) -> Any:
        path = self.folder / name
        return json.loads(path.read_text("utf-8")) if path.exists() else {}

    def complete(self, paths: Iterable[str]) -> None:
        """Measure the test files that are new or changed; after each folder all is kept, so a run may be cut off."""
        groups: dict[Path, list[str]] = defaultdict(list)
        for path in paths:
            given = self.root / path
            for file in sorted(given.rglob("test_*.py")) if given.is_dir() else [given]:
                name = str(file.relative_to(self.root))
                if self.files.get(name) != _digest(file):
                    groups[file.parent].append(name)
        for names in groups.values():
            print(f"measuring {names[0]} and {len(names) - 1} more", flush=True)
            self._measure(names)

    def _measure(self, names: list[str]) -> None:
        parts = self.folder / "parts"
        shutil.rmtree(parts, ignore_errors=True)
        parts.mkdir()
        settings = self.folder / "settings"
        settings.write_text(_SETTINGS.format(root=self.root, folder=self.folder), "utf-8")
        environment = os.environ | {
            "PYTHONPATH": f"{self.root}{os.pathsep}{self.root / 'tests/support'}", "MUTANTS_MEASURE": str(parts),
            "COVERAGE_PROCESS_START": str(settings),
        }  # fmt: skip
        command = [sys.executable, "-m", "pytest", "-p", "mutant_plugin", "-p", "no:cacheprovider", "--tb=no"]
        command += ["-n", "2", "--dist", "worksteal", *names]
        subprocess.run(command, cwd=self.root, env=environment, check=False)
        combine = [sys.executable, "-m", "coverage", "combine", "--quiet", "--append", f"--rcfile={settings}"]
        subprocess.run([*combine, f"--data-file={self.folder / 'data'}", parts], cwd=self.root, check=True)
        found = json.loads((parts / "tests.json").read_text("utf-8"))
        self.tests = {name: row for name, row in self.tests.items() if _file(name) not in names} | found
        self.files |= {name: _digest(self.root / name) for name in names}
        (self.folder / "tests.json").write_text(json.dumps(self.tests), "utf-8")
        (self.folder / "files.json").write_text(json.dumps(self.files), "utf-8")

    def running(self, path: str, line: int | None) -> set[str]:
        """The tests that run a line of Python, or anything of its file."""
        if path not in self._lines:
            file = self.folder / "data"
            file.stat()  # without the file no test would seem to run anything
            from coverage import CoverageData  # `make mutants` installs it; the tests of this tool do without

            data = CoverageData(str(file))
            data.read()
            lines: dict[int, set[str]] = defaultdict(set)
            # each copy that was measured had a folder of its own
            for name in (name for name in data.measured_files() if name.endswith(f"/{path}")):
                for number, contexts in data.contexts_by_lineno(name).items():
                    lines[number].update(contexts)
            self._lines = {path: lines}
        lines = self._lines[path]
        return set().union(*lines.values()) if line is None else lines.get(line, set())

    def fastest(self, names: Iterable[str]) -> dict[str, float]:
        """Those of the tests that pass, with their seconds, in the order of these."""
        rows = {name: self.tests[name] for name in names if name in self.tests}
        return {name: row[0] for name, row in sorted(rows.items(), key=lambda each: each[1][0]) if row[1]}


def tests_of(edit: Edit, source: str, measured: Measured) -> dict[str, float]:
    """The tests for a fault, the nearest first, by names of files and then by folder; of each the fastest first."""
    if edit.path.endswith(".py"):
        folder = f"tests/{Path(edit.path).parent.relative_to('bbpe')}/"
        names = _running(edit, source, measured)
        files = {_file(name) for name in names}
        # what is made once for all tests of a file counts for one of them
        beside = {name for name in measured.tests if _file(name) in files} - names
        akin = {name for name in names if _words(_file(name)) & _words(edit.path)}
        near = {name for name in names if name.startswith(folder)}
    else:
        key = edit.path if edit.path.startswith("csrc") else edit.path.removeprefix("bbpe/")
        folders = next(row for start, row in MIRRORS.items() if key.startswith(start))
        names = {name for name in measured.tests if name.split("/")[1] in ("core", *folders)}
        akin = {name for name in measured.tests if _words(_file(name)) & _words(edit.path)}
        near = set[str]().union(*(measured.running(path, None) for path in _importers(edit.path)))
        beside = {*measured.tests}
    most = MOST if edit.path.endswith(".py") else MOST_COMPILED
    found: dict[str, float] = {}
    for group in (akin, near, names - near, beside):
        for name, seconds in measured.fastest(group).items():
            if not found or sum(found.values()) + seconds <= most:
                found.setdefault(name, seconds)
    return found


def _file(name: str) -> str:
    return name.partition("::")[0]


@cache
def _importers(path: str) -> list[str]:
    """The modules of Python that import a module of Cython."""
    name = Path(path).stem
    imports = re.compile(rf"^ *from [\w.]*\bcore\.{name} import|^ *from [\w.]*\bcore import .*\b{name}\b", re.MULTILINE)
    files = (ROOT / "bbpe").rglob("*.py") if path.endswith(".pyx") else ()
    return [file.relative_to(ROOT).as_posix() for file in files if imports.search(file.read_text("utf-8"))]


def _words(path: str) -> set[str]:
    """The words of a file's name, without the plural: `bert` and `place` of bert_places.c and test_bert_places.py."""
    return {word.rstrip("s") for word in Path(path).stem.split("_") if len(word) > 2 and word != "test"}


def _running(edit: Edit, source: str, measured: Measured) -> set[str]:
    """The tests that run the line of a fault, or anything of its module if it runs as that is imported, or unseen."""
    first = body_of(edit, source)
    if not first:
        return measured.running(edit.path, None) - {""}
    # only the first line of an expression may have been noted
    for line in range(edit.line, first - 1, -1):
        names = measured.running(edit.path, line) - {""}
        if names:
            return names
    # a thread of C is not measured, and may run what its module has
    return measured.running(edit.path, None) - {""}
