"""Everything about encoding, against every library: tables, then the gates.

python -m benchmarks.encode_suite --json results.json     hours
python -m benchmarks.encode_suite --quick                 less text, one vocabulary, 3 runs, no tokenizers
python -m benchmarks.encode_suite --jobs encode_flat,worst --json results.json
"""

from __future__ import annotations

import argparse
import sys

from benchmarks.compare import add_run_options, combinations, libraries_of, run, runner_of
from benchmarks.gates import gates
from benchmarks.runs import Case
from benchmarks.texts import WORST

CORPORA = ["en", "code", "ja", "zh", "multi"]
#: Jobs, with their corpora and the options that make their cases; the size is added.
PLAN: list[tuple[str, list[str], dict[str, str]]] = [
    ("encode_flat", CORPORA, {"passes": "1,3"}),
    ("encode_threads", CORPORA, {"passes": "1,3"}),
    ("encode_lists", CORPORA, {"passes": "1,3"}),
    ("encode_batch_flat", CORPORA, {"passes": "1,3"}),
    ("decode_array", CORPORA, {}),
    ("decode_list", CORPORA, {}),
]
ONE_VOCABULARY: list[tuple[str, list[str], dict[str, str]]] = [
    ("latency", ["en", "zh"], {"chars": "20,100,2000", "texts": "turn,same", "size": "16000000"}),
    ("worst", list(WORST), {"size": "1000000,8000000"}),
    ("load", ["en"], {"size": "1000"}),
    ("memory", ["ja"], {"growth": "same,fresh", "size": "24000000"}),
]


def cases(quick: bool) -> list[Case]:
    vocabularies = "cl100k" if quick else "gpt2,cl100k,o200k"
    size = "4000000" if quick else "16000000"
    plan = [(job, corpora, {"vocab": vocabularies, "size": size, **options}) for job, corpora, options in PLAN]
    plan += [(job, corpora, {"vocab": "cl100k", **options}) for job, corpora, options in ONE_VOCABULARY]
    return [case for job, corpora, options in plan for case in combinations([job], corpora, options)]


def main() -> int:
    parser = argparse.ArgumentParser(
        allow_abbrev=False, description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--jobs", help="only these, comma-separated")
    add_run_options(parser)
    parser.set_defaults(timeout=120)
    args = parser.parse_args()
    chosen = [case for case in cases(args.quick) if not args.jobs or case.job in args.jobs.split(",")]
    if not chosen:
        parser.error(f"no such jobs; expected {', '.join(job for job, _, _ in [*PLAN, *ONE_VOCABULARY])}")
    libraries = libraries_of(args, [case.job for case in chosen])
    if args.quick:
        args.repeat = min(args.repeat, 3)
        libraries = [library for library in libraries if library != "tokenizers" or args.libraries]
    with runner_of(args) as runner:
        rows = run(chosen, libraries, runner, args.json)
    found = list(gates(rows))
    print("\nGates", *found, sep="\n")
    return 0 if all(gate.passed for gate in found) else 1


if __name__ == "__main__":
    sys.exit(main())
