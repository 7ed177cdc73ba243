"""Time jobs with several libraries, in turn, each run in a fresh process, answers compared first.

    python -m benchmarks.compare encode_flat en ja --option vocab=cl100k,o200k --option passes=1,3 --json out.json
    python -m benchmarks.compare worst one-letter base64 --option size=1000000,8000000 --timeout 60
    python -m benchmarks.compare train corpus.txt --libraries bbpe,tokenizers --option vocab_size=32768

A corpus is a text file, one compressed with xz, the name of one beside the checkout, or of one that is made
(`benchmarks.texts`: worst cases, and text that is no prose).
An option with several values, and several jobs, corpora or libraries, mean every combination.  Prints for every
combination the median of each library and its cost over the first one's, and, where other work disturbed some runs
(`benchmarks.pace`), the median of the others; a library whose answer is not the expected one is shown without a ratio.
Exits with 1 when answers differ.

Jobs and their options (all have size, passes, clock=wall|cpu and threads; a process with threads=1
stays on one CPU):
"""

from __future__ import annotations

import argparse
import itertools
import json
import platform
import sys
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

from benchmarks.jobs import JOBS
from benchmarks.runs import Case, Runner, as_json, case
from benchmarks.tables import table
from benchmarks.texts import SHARED

_DISTRIBUTIONS = {
    "quicktok": "quicktok-v1", "toktok": "toktok-rs", "splintr": "splintr-rs", "fastokens-regex": "fastokens",
    "streaming": "mosaicml-streaming",
}  # fmt: skip


def versions(libraries: list[str]) -> dict[str, str]:
    """Which versions are compared, and on what."""
    found = {"python": platform.python_version(), "machine": platform.machine()}
    for library in libraries:
        try:
            found[library] = version(_DISTRIBUTIONS.get(library, library))
        except PackageNotFoundError:
            found[library] = "not installed"
    return found


def run(cases: list[Case], libraries: list[str], runner: Runner, json_path: Path | None) -> list[dict[str, Any]]:
    """Run the cases, print their tables and return the rows that the JSON has, written after every case."""
    rows: list[dict[str, Any]] = []
    for each in cases:
        results = runner.compare(each, libraries)
        if not results:
            raise SystemExit(f"{each.job} is done by {', '.join(JOBS[each.job].libraries)} only")
        print(table(each, results, runner.best_pace), flush=True)
        rows += [as_json(each, result) for result in results]
        if json_path is not None:
            content = {"versions": versions(libraries), "rows": rows}
            json_path.write_text(json.dumps(content, indent=1, ensure_ascii=False), "utf-8")
    return rows


def combinations(jobs: list[str], corpora: list[str], options: dict[str, str]) -> list[Case]:
    choices = itertools.product(*(given.split(",") for given in options.values()))
    chosen = [dict(zip(options, choice, strict=True)) for choice in choices]
    return [case(*each) for each in itertools.product(jobs, corpora, chosen)]


def add_run_options(parser: argparse.ArgumentParser, *, libraries: bool = True) -> None:
    if libraries:
        parser.add_argument("--libraries", help="comma-separated; others are compared to the first; default all")
    parser.add_argument("--repeat", type=int, default=5)
    parser.add_argument("--timeout", type=float, default=600, help="seconds for one process")
    parser.add_argument("--slow", type=float, default=8, help="so many times the fastest: one run is enough")
    parser.add_argument("--vocabularies", type=Path, default=SHARED / "vocabs", help="the folder of the rank files")
    parser.add_argument("--json", type=Path, help="write all results here")


def runner_of(args: argparse.Namespace) -> Runner:
    return Runner(repeat=args.repeat, timeout=args.timeout, slow=args.slow, vocabularies=args.vocabularies)


def libraries_of(args: argparse.Namespace, jobs: list[str]) -> list[str]:
    if args.libraries:
        return str(args.libraries).split(",")
    return list(dict.fromkeys(library for job in jobs for library in JOBS[job].libraries))


def main() -> int:
    jobs_help = "".join(f"  {name}: {', '.join(job.options)}\n" for name, job in JOBS.items())
    parser = argparse.ArgumentParser(
        allow_abbrev=False, description=f"{__doc__}\n{jobs_help}", formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("jobs", help=f"comma-separated: {', '.join(JOBS)}")
    parser.add_argument("corpora", nargs="+")
    parser.add_argument("--option", action="append", default=[], metavar="KEY=VALUE[,VALUE...]")
    parser.add_argument("--size", help="take only so many bytes of each corpus")
    add_run_options(parser)
    args = parser.parse_args()
    jobs = args.jobs.split(",")
    if unknown := set(jobs) - JOBS.keys():
        parser.error(f"no job {', '.join(sorted(unknown))}; expected {', '.join(JOBS)}")
    options = dict(option.split("=", 1) for option in args.option) | ({"size": args.size} if args.size else {})
    with runner_of(args) as runner:
        rows = run(combinations(jobs, args.corpora, options), libraries_of(args, jobs), runner, args.json)
    return 0 if all(row["right"] for row in rows if row["costs"]) else 1


if __name__ == "__main__":
    sys.exit(main())
