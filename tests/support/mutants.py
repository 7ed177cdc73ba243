"""Plants faults in the product, one at a time, and lists those that no test notices: `make mutants SEED=1`.

Each fault is planted in a copy of the checkout, where the tests that should notice run from the fastest up until one
fails: in a fork of a process that has collected all tests, or in one of their own where code that runs at import or
compiled code has the fault.  For Python these are the tests that run the changed line, as measured once for each state
of the product and kept in build/mutants; for Cython and C those that are near it, and then others.  A fault that does
not compile is not counted.  The test that noticed runs alone, with the fault and without it: if it passes with it, or
fails without it, it has noticed nothing.
"""

from __future__ import annotations

import argparse
import contextlib
import hashlib
import json
import os
import queue
import random
import re
import resource
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
from collections import Counter
from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from itertools import accumulate
from pathlib import Path

from mutant_build import Build, BuildError
from mutant_edits import Edit, body_of, edits_of
from mutant_forks import UNPLANTED, Forks
from mutant_tests import Measured, tests_of

ROOT = Path(__file__).resolve().parents[2]
#: The least share of the faults that tests must notice, in percent.
TARGETS = {"Python": 95, "Cython and C": 90}
_SHORT = 8  # seconds of tests that are tried first, in a process of their own: most faults are noticed by then
_MEMORY = 16 << 30  # bytes of addresses of a process of tests, whatever a fault asks for


@dataclass
class Result:
    edit: Edit
    source: str
    outcome: str = "survived"
    noticed: str = ""
    ran: list[str] = field(default_factory=list)

    def line(self) -> str:
        by = f", by {self.noticed}" if self.noticed else f", {len(self.ran)} tests" if self.ran else ", no test runs it"
        return f"{self.outcome:9} {self.edit.path}:{self.edit.line} {self.edit.what}{by}"

    def listed(self) -> str:
        files = Counter(name.partition("::")[0] for name in self.ran)
        ran = ", ".join(f"{name} ({count})" for name, count in files.most_common(8)) or "none"
        more = f" and {len(files) - 8} more files" if len(files) > 8 else ""
        return f"{self.edit.path}:{self.edit.line} {self.edit.what}\n{self.edit.shown(self.source)}\n  ran {ran}{more}"


def sources() -> dict[str, str]:
    """The files that faults are planted in, by path: no generated one, and none for another processor."""
    listed = subprocess.run(["git", "ls-files", "bbpe", "csrc"], cwd=ROOT, check=True, capture_output=True, text=True)
    found = {}
    for name in listed.stdout.splitlines():
        is_code = re.fullmatch(r"bbpe/.*\.pyx?|csrc/.*\.[ch]", name) and "neon" not in name
        text = (ROOT / name).read_text("utf-8") if is_code else ""
        if text and not re.search(r"_generate\.py > ", text[:300]):
            found[name] = text
    return found


def room_of(path: str) -> str:
    """`encoding` of bbpe/encoding/decode.py, `csrc/split` of csrc/split/fill.h, `budget` of bbpe/budget.py."""
    parts = Path(path).with_suffix("").parts
    return f"csrc/{parts[1]}" if parts[0] == "csrc" else parts[1]


def chosen(files: dict[str, str], seed: str, room: str | None) -> dict[str, Iterator[Edit]]:
    """Faults by language, in an order that the seed decides; each line of code is as likely as any other."""
    by_language: dict[str, list[list[Edit]]] = {language: [] for language in TARGETS}
    for path, text in files.items():
        if room in (None, room_of(path)):
            by_line: dict[int, list[Edit]] = {}
            for edit in edits_of(path, text):
                by_line.setdefault(edit.line, []).append(edit)
            by_language["Python" if path.endswith(".py") else "Cython and C"] += by_line.values()

    def drawn(language: str) -> Iterator[Edit]:
        choice = random.Random(f"{seed} {language}")
        lines = by_language[language]
        for edits in choice.sample(lines, len(lines)):
            what = choice.choice(sorted({edit.what for edit in edits}))
            yield choice.choice([edit for edit in edits if edit.what == what])

    return {language: drawn(language) for language in TARGETS}


class Copy:
    """A copy of the checkout in which faults are planted, and tests are run."""

    def __init__(self, root: Path) -> None:
        self.root = root / "copy"
        self.room = root
        self.root.mkdir(parents=True)
        (self.room / "tmp").mkdir()
        listed = ["git", "ls-files", "-co", "--exclude-standard"]
        names = subprocess.run(listed, cwd=ROOT, check=True, capture_output=True, text=True).stdout.splitlines()
        compiled = [path for kind in ("so", "c") for path in (ROOT / "bbpe/core").glob(f"*.{kind}")]
        for name in {*names, *(str(path.relative_to(ROOT)) for path in compiled)}:
            if (ROOT / name).is_file():
                (self.root / name).parent.mkdir(parents=True, exist_ok=True)
                shutil.copy2(ROOT / name, self.root / name)
        self.build = Build(self.root)
        self.forks: Forks | None = None
        self.environment = os.environ | {
            "PYTHONPATH": f"{self.root}{os.pathsep}{self.root / 'tests/support'}", "PYTHONDONTWRITEBYTECODE": "1",
        }  # fmt: skip

    def take_modules(self, other: Copy) -> None:
        """Have the modules that another copy has built."""
        shutil.copytree(other.root / "bbpe/core", self.root / "bbpe/core", dirs_exist_ok=True)
        shutil.copytree(other.root / "build", self.root / "build", dirs_exist_ok=True)

    @contextlib.contextmanager
    def planted(self, edit: Edit, source: str) -> Iterator[None]:
        """The copy with this fault."""
        path = self.root / edit.path
        before = path.stat()
        try:
            path.write_text(edit.applied(source), "utf-8")
            kept = self.build.rebuild(edit.path) if not edit.path.endswith(".py") else {}
            yield
            self.build.restore(kept)
        finally:
            path.write_text(source, "utf-8")
            os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))

    def noticed_by(self, tests: Mapping[str, float], edit: Edit, source: str, *, planted: bool = True) -> str:
        """The case of these tests that fails with the fault that is planted here, or without one; "" if none does."""
        noticed = UNPLANTED
        if self.forks is not None and body_of(edit, source):
            change = (edit.path, source, edit.applied(source)) if planted else ()
            noticed = self.forks.run(tests, *change)
        if noticed == UNPLANTED:
            sums = zip(tests, accumulate(tests.values()), strict=True)
            early = {name: tests[name] for number, (name, total) in enumerate(sums) if total <= _SHORT or not number}
            late = {name: seconds for name, seconds in tests.items() if name not in early}
            noticed = next(filter(None, map(self._in_a_process, filter(None, (early, late)))), "")
        return noticed

    def _in_a_process(self, tests: Mapping[str, float]) -> str:
        """The case that fails in a process of its own, or how that ended."""
        listed = self.room / "tests.json"
        listed.write_text(json.dumps(tests), "utf-8")
        environment = self.environment | {"TMPDIR": str(self.room / "tmp"), "MUTANTS_TESTS": str(listed)}
        files = list(dict.fromkeys(name.partition("::")[0] for name in tests))
        command = [sys.executable, "-m", "pytest", "-x", "-p", "mutant_plugin", "-p", "no:cacheprovider", "--tb=no"]
        printed, begun = self.room / "printed.txt", self.room / "begun.txt"
        begun.unlink(missing_ok=True)
        # a file, as a pipe would be open as long as any process that a test has left behind
        with printed.open("wb") as file:
            process = subprocess.Popen(
                [*command, *files], cwd=self.root, env=environment, start_new_session=True,
                stdin=subprocess.DEVNULL, stdout=file, stderr=subprocess.STDOUT,
                preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_AS, (_MEMORY, _MEMORY)),
            )  # fmt: skip
            with contextlib.suppress(subprocess.TimeoutExpired):
                process.wait(600 + 10 * sum(tests.values()))
            with contextlib.suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
            status = process.wait()
        for left in (self.room / "tmp").iterdir():
            shutil.rmtree(left, ignore_errors=True)
        if status in (0, 5):
            return ""
        text = printed.read_text("utf-8", "replace")
        failed = re.search(r"^(?:FAILED|ERROR) (\S+)", text, re.MULTILINE)
        if begun.exists():
            return f"{begun.read_text('utf-8')} ended the process"
        return failed[1] if failed else text.strip().rpartition("\n")[2][:80] or f"status {status}"

    def is_due_to(self, edit: Edit, source: str, test: Mapping[str, float]) -> bool:
        """Whether a test that has failed passes without this fault.

        In a fork the module has been written to since it was imported, so there are no stored tables: a test that fails
        for that alone is run with the fault, and without it, in processes of its own.
        """
        if not self.noticed_by(test, edit, source, planted=False):
            return True
        if self.forks is None or not body_of(edit, source):
            return False
        with self.planted(edit, source):
            fails = self._in_a_process(test)
        return bool(fails) and not self._in_a_process(test)

    def collect(self) -> None:
        """Collect all tests once; while no fault is planted, as what is imported then has none."""
        if self.forks is None:
            self.forks = Forks(self.root, self.room / "forks", self.environment)

    def close(self) -> None:
        if self.forks is not None:
            self.forks.close()
        self.forks = None


def tried(copy: Copy, edit: Edit, source: str, tests: Mapping[str, float]) -> Result:
    """What the tests say of one fault; one that fails without it too, or only after others, says nothing."""
    result = Result(edit, source)
    if edit.path.endswith(".py"):
        copy.collect()
    try:
        while True:
            result.ran = [*tests]
            with copy.planted(edit, source):
                noticed = copy.noticed_by(tests, edit, source)
                name = re.split(r"[\[ ]", noticed)[0]
                alone = {name: tests[name]} if name in tests else {}
                fails = not alone or bool(copy.noticed_by(alone, edit, source))
            if not noticed:
                break
            if not alone or (fails and copy.is_due_to(edit, source, alone)):
                result.outcome, result.noticed = "caught", noticed
                break
            tests = {each: seconds for each, seconds in tests.items() if each != name}
    except BuildError:
        result.outcome = "no build"
    return result


def ensued(
    copies: list[Copy], faults: Iterator[Edit], count: int, files: dict[str, str], measured: Measured
) -> list[Result]:
    """Try faults until so many count, in all copies side by side."""
    results: list[Result] = []
    free: queue.Queue[Copy] = queue.Queue()
    lock, room = threading.Lock(), threading.Semaphore(count)
    for copy in copies:
        free.put(copy)

    def work() -> None:
        copy = free.get()
        while room.acquire(blocking=False):
            with lock:
                edit = next(faults, None)
                tests = tests_of(edit, files[edit.path], measured) if edit else {}
            if edit is None:
                return
            result = tried(copy, edit, files[edit.path], tests)
            if result.outcome == "no build":
                room.release()
            with lock:
                results.append(result)
                print(result.line(), flush=True)

    with ThreadPoolExecutor(len(copies)) as pool:
        for done in [pool.submit(work) for _ in copies]:
            done.result()
    return [result for result in results if result.outcome != "no build"]


def report(language: str, results: list[Result]) -> bool:
    """Print the share that was caught and what survived; whether the share is enough."""
    caught = sum(result.outcome == "caught" for result in results)
    share = 100 * caught / max(1, len(results))
    print(f"\n{language}: {caught} of {len(results)} faults caught, {share:.1f} % (at least {TARGETS[language]} %)")
    for result in sorted(results, key=lambda each: (each.edit.path, each.edit.line)):
        if result.outcome == "survived":
            print(result.listed())
    return share >= TARGETS[language]


def product(files: dict[str, str]) -> str:
    """A digest of the product, whose lines were measured."""
    return hashlib.sha256(repr(sorted(files.items())).encode()).hexdigest()[:16]


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--seed", default="1", help="which faults are chosen")
    parser.add_argument("--python", type=int, default=100, metavar="COUNT", help="how many faults of Python")
    parser.add_argument("--compiled", type=int, default=30, metavar="COUNT", help="how many of Cython and C")
    parser.add_argument("--room", help="only in this folder of bbpe or csrc, such as encoding or csrc/split")
    parser.add_argument("--at", metavar="PATH:LINE", help="every fault of this line instead")
    parser.add_argument("--workers", type=int, default=2, help="how many are tried at a time")
    parser.add_argument("--tests", nargs="*", default=["tests"], help="the folders of tests that may notice")
    return parser.parse_args()


def main() -> int:
    options = arguments()
    files = sources()
    faults = chosen(files, options.seed, options.room)
    counts = {"Python": options.python, "Cython and C": options.compiled}
    if options.at:
        path, _, line = options.at.rpartition(":")
        edits = [edit for edit in edits_of(path, files[path]) if edit.line == int(line)]
        language = "Python" if path.endswith(".py") else "Cython and C"
        faults, counts = {language: iter(edits)}, {language: len(edits)}
    with tempfile.TemporaryDirectory(prefix="mutants-") as folder:
        copies = [Copy(Path(folder, str(number))) for number in range(options.workers)]
        measured = Measured(ROOT / "build/mutants" / product(files), copies[0].root)
        measured.complete(options.tests)
        is_enough = True
        for language, count in counts.items():
            if count and language != "Python":
                copies[0].build.build()
                for copy in copies[1:]:
                    copy.take_modules(copies[0])
            results = ensued(copies, faults[language], count, files, measured) if count else []
            for copy in copies:
                copy.close()
            if count:
                is_enough &= report(language, results)
    return 0 if is_enough else 1


if __name__ == "__main__":
    sys.exit(main())
