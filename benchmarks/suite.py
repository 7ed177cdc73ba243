"""Everything, against every library: one command from texts to the tables and plots of the documentation.

    python -m benchmarks.suite              within 25 minutes, into benchmarks/results, then `report.py`
    python -m benchmarks.suite --quick      within 3, printed only
    python -m benchmarks.suite --size 200000 --repeat 1 --json try.json     to try it

`make bench` and `make bench-quick` are the first two.  What does not fit the time is left out and named.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from typing import Any

from benchmarks.compare import add_run_options
from benchmarks.plan import FULL, QUICK, Area
from benchmarks.record import RESULTS, facts, path_of
from benchmarks.report import latest, publish, tables
from benchmarks.runs import Case, Runner, as_json
from benchmarks.tables import table
from benchmarks.texts import natural


def run(areas: tuple[Area, ...], runner: Runner, *, size: str, seconds: float) -> dict[str, Any]:
    """Run the areas in order until the time is over; returns the record."""
    begin = time.monotonic()
    record: dict[str, Any] = {**facts(areas), "areas": [], "left_out": []}
    corpora = natural()
    for area in areas:
        rows: list[dict[str, Any]] = []
        for case in area.cases(size, corpora):
            if time.monotonic() - begin > seconds:
                record["left_out"].append(name_of(area, case))
                continue
            results = runner.compare(case, list(area.libraries))
            print(table(case, results, runner.best_pace), flush=True)
            # digests of answers have been compared; `right` is what became of that
            rows += [{**as_json(case, result), "answers": len(set(result.answers))} for result in results]
        record["areas"].append({"title": area.title, "note": area.note, "job": area.job, "rows": rows})
    return {**record, "texts": runner.texts, "repeat": runner.repeat, "seconds": round(time.monotonic() - begin)}


def name_of(area: Area, case: Case) -> str:
    return " ".join([area.title, case.corpus, *(f"{name}={case.options[name]}" for name in area.options)])


def main() -> int:
    parser = argparse.ArgumentParser(
        allow_abbrev=False, description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--quick", action="store_true", help="1 MB, fewer libraries and corpora, nothing published")
    parser.add_argument("--size", help="bytes of each text (8 MB, quick 1 MB)")
    parser.add_argument("--minutes", type=float, help="start no case after so many (25, quick 2.5)")
    parser.add_argument("--only", help="only areas whose titles have this in them")
    parser.add_argument("--no-report", action="store_true", help="leave README and documentation alone")
    add_run_options(parser, libraries=False)
    parser.set_defaults(repeat=None, timeout=30.0)
    args = parser.parse_args()
    areas = tuple(area for area in (QUICK if args.quick else FULL) if (args.only or "").lower() in area.title.lower())
    if not areas:
        parser.error(f"no area has {args.only!r} in its title; expected one of {', '.join(a.title for a in FULL)}")
    minutes = args.minutes or (2.5 if args.quick else 25.0)
    repeat = args.repeat or (1 if args.quick else 3)
    size = args.size or ("1000000" if args.quick else "8000000")
    with Runner(repeat=repeat, timeout=args.timeout, slow=args.slow, vocabularies=args.vocabularies) as runner:
        record = run(areas, runner, size=size, seconds=minutes * 60)
    print("\n" + tables(record))
    if args.json or not args.quick:
        path = args.json or path_of(record)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(json.dumps(record, indent=1, ensure_ascii=False) + "\n", "utf-8")
        print(f"recorded as {path}")
    if not (args.quick or args.json or args.no_report or args.only):
        publish(latest(RESULTS))
    return 0 if all(row["right"] for area in record["areas"] for row in area["rows"] if row["library"] == "bbpe") else 1


if __name__ == "__main__":
    sys.exit(main())
