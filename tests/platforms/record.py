"""What has run on which platform: a record that scripts add to, and the page that shows it.

    python tests/platforms/record.py

writes the tables of docs/platforms.md from runs.json.  A script that has tried an interpreter calls `add`, which
replaces the run of the same platform and Python and keeps all others with their dates.  A platform without a run is
"by workflow only" where the release workflow builds a wheel for it, and "not tried" elsewhere.
"""

from __future__ import annotations

import json
import re
import tomllib
from collections.abc import Iterable, Iterator
from dataclasses import asdict, dataclass, field
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
RUNS, PAGE = Path(__file__).with_name("runs.json"), ROOT / "docs/platforms.md"
BEGIN, END = "<!-- platforms: rendered by tests/platforms/record.py -->", "<!-- end of platforms -->"
#: The platforms of the table, and how cibuildwheel names each.
PLATFORMS = {
    "Linux x86-64": "manylinux_x86_64",
    "Linux x86-64, musl": "musllinux_x86_64",
    "Linux Arm": "manylinux_aarch64",
    "Linux Arm, musl": "musllinux_aarch64",
    "macOS x86-64": "macosx_x86_64",
    "macOS Arm": "macosx_arm64",
    "Windows x86-64": "win_amd64",
    "Windows Arm": "win_arm64",
}
PYTHONS = ("3.11", "3.12", "3.13", "3.13t", "3.14", "3.14t", "3.15", "3.15t")
#: The system of a runner, by how its name begins, as cibuildwheel names it.
_RUNNERS = {"ubuntu": ("manylinux", "musllinux"), "macos": ("macosx",), "windows": ("win",)}


@dataclass(frozen=True)
class Count:
    """The tests of one folder."""

    passed: int
    skipped: int
    failed: int
    #: Of `failed`, those that `expected` lists with a reason.
    expected: int = 0


@dataclass(frozen=True)
class Run:
    """One interpreter that was tried; `None` is a step that was not reached."""

    platform: str
    python: str
    #: The interpreter's version, where it is from, and what ran it.
    version: str
    source: str
    on: str
    date: str
    compiled: bool
    imported: int | None = None
    smoke: bool | None = None
    tests: dict[str, Count] = field(default_factory=dict)
    #: How many tests were skipped, by cause.
    skips: dict[str, int] = field(default_factory=dict)
    #: The tests that failed as expected, and the reason of each.
    limits: dict[str, str] = field(default_factory=dict)
    #: How many of the digests of ids, counts and files are those of Linux, and of how many; none without corpora.
    same_ids: int = 0
    all_ids: int = 0
    #: What a reader has to know besides: a fault, packages that could not be had.
    note: str = ""

    def __post_init__(self) -> None:
        assert self.platform in PLATFORMS, self.platform
        assert self.python in PYTHONS, self.python
        assert re.fullmatch(r"\d{4}-\d\d-\d\d", self.date), self.date

    def total(self) -> Count:
        counts = self.tests.values()
        columns = zip(*((each.passed, each.skipped, each.failed, each.expected) for each in counts), strict=True)
        return Count(*map(sum, columns)) if counts else Count(0, 0, 0)

    def outcome(self) -> str:
        """The word for it in the table of all platforms."""
        total = self.total()
        works = self.compiled and self.imported and self.smoke and self.same_ids == self.all_ids
        if not works or total.failed > total.expected:
            return "**fails**"
        return "tested" if total.passed else "smoke test"


def read() -> list[Run]:
    rows = json.loads(RUNS.read_text("utf-8")) if RUNS.exists() else []
    return [Run(**{**row, "tests": {name: Count(**each) for name, each in row["tests"].items()}}) for row in rows]


def add(run: Run) -> None:
    """Put a run into the record in place of an earlier one, and write the page anew."""
    kept = [each for each in read() if (each.platform, each.python) != (run.platform, run.python)]
    order = (list(PLATFORMS).index, PYTHONS.index)
    runs = sorted([*kept, run], key=lambda each: (order[0](each.platform), order[1](each.python)))
    RUNS.write_text(json.dumps(list(map(asdict, runs)), indent=1) + "\n", "utf-8", newline="\n")
    render()


def built_by_workflow() -> set[tuple[str, str]]:
    """The platforms and Pythons for which the workflow builds wheels, from its matrix and pyproject.toml."""
    workflow = (ROOT / ".github/workflows/wheels.yml").read_text("utf-8")
    options = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["tool"]["cibuildwheel"]
    pythons = re.findall(r"cp3(\d+)(t?)-", " ".join(options["build"]))
    found = set()
    for runner, architecture in re.findall(r"os: (\w+)[\w.-]*, archs: (\w+)", workflow):
        names = {f"{system}_{architecture.lower()}" for system in _RUNNERS[runner]}
        found |= {(platform, f"3.{minor}{t}") for platform, name in PLATFORMS.items() if name in names
                  for minor, t in pythons}  # fmt: skip
    return found


def _table(header: Iterable[str], rows: Iterable[Iterable[str]]) -> str:
    head = list(header)
    lines = [head, ["---"] * len(head), *rows]
    return "".join(f"| {' | '.join(line)} |\n" for line in lines)


def overview(runs: list[Run]) -> str:
    """Each platform with each Python in a word."""
    known, planned = {(run.platform, run.python): run.outcome() for run in runs}, built_by_workflow()

    def cell(platform: str, python: str) -> str:
        return known.get((platform, python), "by workflow only" if (platform, python) in planned else "not tried")

    rows = ([platform, *(cell(platform, python) for python in PYTHONS)] for platform in PLATFORMS)
    return _table(["platform", *PYTHONS], rows)


def _tests(run: Run) -> str:
    total, folders = run.total(), ", ".join(f"`{folder}`" for folder in run.tests)
    expected = f" ({total.expected:,} of them expected)" if total.expected else ""
    told = f"{total.passed:,} passed, {total.skipped:,} skipped, {total.failed:,} failed{expected}"
    return f"{told}: {folders}" if run.tests else "-"


def _modules(run: Run) -> str:
    return f"{run.imported or 0} imported" if run.compiled else "**not compiled**"


def _notes(run: Run) -> Iterator[str]:
    if run.note:
        yield run.note
    if run.skips:
        causes = sorted(run.skips.items(), key=lambda each: (-each[1], each[0]))
        yield f"skipped, by cause: {', '.join(f'{cause} {count:,}' for cause, count in causes)}"
    for reason in dict.fromkeys(run.limits.values()):
        tests = [f"`{test}`" for test, each in run.limits.items() if each == reason]
        yield f"expected to fail, because {reason}: {', '.join(tests)}"


def details(runs: list[Run]) -> str:
    """Each run with what it was and what came of it."""
    smoke = {True: "passed", False: "**failed**", None: "-"}
    rows = (
        [run.platform, f"CPython {run.version}, {run.source}", f"{run.on}; {run.date}", _modules(run), smoke[run.smoke],
         f"{run.same_ids} of {run.all_ids}" if run.all_ids else "-", _tests(run)]
        for run in runs
    )  # fmt: skip
    notes = "".join(f"* {run.platform}, {run.version}: {note}.\n" for run in runs for note in _notes(run))
    header = ("platform", "interpreter", "run by", "modules", "smoke test", "same ids", "tests")
    return _table(header, rows) + (f"\n{notes}" if notes else "")


def rendered(page: str, runs: list[Run]) -> str:
    before, begin, rest = page.partition(f"{BEGIN}\n")
    _, end, after = rest.partition(END)
    assert "" not in (begin, end), f"{PAGE} has no place for the tables"
    return f"{before}{begin}\n{overview(runs)}\n## Runs\n\n{details(runs)}\n{end}{after}"


def render() -> None:
    PAGE.write_text(rendered(PAGE.read_text("utf-8"), read()), "utf-8", newline="\n")


if __name__ == "__main__":
    render()
