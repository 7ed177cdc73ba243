"""Running cases: a case is a job, a corpus and options; every library does it in fresh processes, in turn."""

from __future__ import annotations

import hashlib
import json
import os
import statistics
import subprocess
import sys
import tempfile
from collections import Counter
from dataclasses import asdict, dataclass, field
from itertools import chain
from pathlib import Path
from types import TracebackType
from typing import Any

from benchmarks.jobs import JOBS
from benchmarks.texts import SHARED, read
from benchmarks.vocabularies import prepare

DEFAULTS = {"threads": "1", "passes": "1", "clock": "wall"}
#: Whose ids are right when libraries differ.
REFERENCE = "tiktoken"


@dataclass(frozen=True)
class Case:
    job: str
    corpus: str
    #: all options, those of the job and the defaults too
    options: dict[str, str]


@dataclass
class Result:
    """The runs of one library on one case; costs are seconds (bytes for memory), the lower the better."""

    library: str
    size: int
    costs: list[float] = field(default_factory=list)
    answers: list[str] = field(default_factory=list)
    #: how fast the machine was around each run, in seconds (`benchmarks.pace`)
    paces: list[float] = field(default_factory=list)
    peak_mb: float = 0.0
    #: CPU seconds a second of the run that had least of them
    busy: float = float("inf")
    extra: dict[str, float] = field(default_factory=dict)
    failed: str = ""
    #: whether its answer is what is expected; a library that differs has no ratio
    right: bool = False

    @property
    def cost(self) -> float:
        return statistics.median(self.costs)

    def add(self, run: dict[str, Any]) -> None:
        if "failed" in run:
            self.failed = str(run["failed"])
            return
        self.costs.append(run.pop("cost"))
        self.answers.append(run.pop("answer"))
        self.paces.append(run.pop("pace"))
        self.peak_mb = max(self.peak_mb, run.pop("peak_mb"))
        self.busy = min(self.busy, run.pop("busy"))
        self.extra = {name: max(value, self.extra.get(name, value)) for name, value in run.items()}


def case(job: str, corpus: str, options: dict[str, str]) -> Case:
    unknown = options.keys() - DEFAULTS.keys() - JOBS[job].options.keys() - {"size"}
    if unknown:
        raise SystemExit(f"{job} has no option {', '.join(sorted(unknown))}; it has {', '.join(JOBS[job].options)}")
    if options.get("clock") == "cpu" and {**JOBS[job].options, **options}.get("threads", "1") != "1":
        raise SystemExit("clock=cpu adds up the threads of a process; it is for threads=1")
    return Case(job, corpus, {**DEFAULTS, **JOBS[job].options, **options})


class Runner:
    """Runs cases with texts and vocabularies kept in a temporary folder; a context manager."""

    def __init__(
        self, *, repeat: int = 5, timeout: float = 600, slow: float = 8, vocabularies: Path = SHARED / "vocabs"
    ) -> None:
        """`slow`: a library that takes so many times longer than the fastest is not run again for that case."""
        self.repeat = repeat
        self.timeout = timeout
        self.slow = slow
        self.vocabularies = vocabularies
        self._temporary = tempfile.TemporaryDirectory(prefix="bbpe-benchmarks-")
        self._folder = Path(self._temporary.name)
        #: the texts that were read: bytes and SHA-256 by name and size
        self.texts: dict[str, dict[str, object]] = {}
        #: the best pace of all runs so far
        self.best_pace = float("inf")

    def __enter__(self) -> Runner:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._temporary.cleanup()

    def compare(self, case: Case, libraries: list[str]) -> list[Result]:
        """Run a case with every library that has the job, `repeat` times in turn."""
        text = self._text(case)
        if "vocab" in case.options:
            prepare(case.options["vocab"], self.vocabularies, self._folder)
        able = [library for library in libraries if library in JOBS[case.job].libraries]
        results = {library: Result(library, text.stat().st_size) for library in able}
        for _ in range(self.repeat):
            for library in self._still_running(results):
                results[library].add(self._run(case, library, text))
        self.best_pace = min([self.best_pace, *chain.from_iterable(result.paces for result in results.values())])
        mark(list(results.values()))
        return list(results.values())

    def _still_running(self, results: dict[str, Result]) -> list[str]:
        costs = [result.cost for result in results.values() if result.costs]
        limit = min(costs) * self.slow if costs else 0.0
        return [
            library
            for library, result in results.items()
            if not result.failed and (not result.costs or result.cost <= limit)
        ]

    def _text(self, case: Case) -> Path:
        size = case.options.get("size")
        path = self._folder / f"{Path(case.corpus).name}.{size}.text"
        if not path.exists():
            data = read(case.corpus, int(size) if size else None)
            path.write_bytes(data)
            self.texts[path.stem] = {"bytes": len(data), "sha256": hashlib.sha256(data).hexdigest()}
        return path

    def _run(self, case: Case, library: str, text: Path) -> dict[str, Any]:
        folders = {"folder": str(self._folder), "vocabularies": str(self.vocabularies)}
        options = {**case.options, **folders, "job": case.job}
        request = {"job": case.job, "library": library, "text": str(text), "options": options}
        command = [sys.executable, "-m", "benchmarks.once", json.dumps(request)]
        environment = {**os.environ, **thread_limits(case.options["threads"])}
        try:
            done = subprocess.run(
                command, capture_output=True, text=True, check=False, timeout=self.timeout, env=environment
            )
        except subprocess.TimeoutExpired:
            return {"failed": f"more than {self.timeout:g} s"}
        if done.returncode:
            last = done.stderr.strip().splitlines()[-1:] or [f"no message, exit status {done.returncode}"]
            return {"failed": last[0]}
        run: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
        return run


def thread_limits(threads: str) -> dict[str, str]:
    """What tells the libraries' own pools, Rayon's above all, how many threads to have.

    numpy's BLAS, which nobody here asks for anything, has one: the others would spin for 0.1 s after the import.
    """
    limits = dict.fromkeys(("RAYON_NUM_THREADS", "FASTOKENS_BPE_THREADS", "OMP_NUM_THREADS"), threads)
    parallelism = {"TOKENIZERS_PARALLELISM": "false" if threads == "1" else "true"}
    return {**limits, **parallelism, "OPENBLAS_NUM_THREADS": "1"}


def mark(results: list[Result]) -> None:
    """Say who is right: who agrees with tiktoken, or without it with what most libraries answered."""
    firsts = {result.library: result.answers[0] for result in results if result.answers}
    if not firsts:
        return
    ((common, _),) = Counter(firsts.values()).most_common(1)
    expected = firsts.get(REFERENCE, common)
    for result in results:
        result.right = bool(result.answers) and set(result.answers) == {expected}


def as_json(case: Case, result: Result) -> dict[str, Any]:
    row = {**asdict(case), **asdict(result)}
    if result.costs:
        unit = JOBS[case.job].unit
        row |= {"figure": unit.figure(result.cost, result.size), "unit": unit.name}
    return row
