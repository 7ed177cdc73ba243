"""Time one job with several libraries, in turn, each run in a fresh process.

    python -m benchmarks.compare train CORPUS... --libraries bbpe,tokenizers --option vocab_size=32768

A corpus is a text file, or one compressed with xz.  Prints, for every corpus, the median seconds and MB/s of each
library and the ratio of its time to the first one's; exits with 1 when their answers differ.
"""

from __future__ import annotations

import argparse
import json
import lzma
import resource
import statistics
import subprocess
import sys
import time
from pathlib import Path

from benchmarks.jobs import JOBS, digest

DEFAULTS = {"vocab_size": "32768", "threads": "1", "pattern": "gpt2", "isa": "auto", "passes": "1"}


def read_corpus(path: Path, size: int | None) -> bytes:
    data = lzma.decompress(path.read_bytes()) if path.suffix == ".xz" else path.read_bytes()
    # whole characters, so that every library sees the same text
    return data[:size].decode("utf-8", "ignore").encode()


def run_once(name: str, library: str, path: Path, size: int | None, options: dict[str, str]) -> dict[str, object]:
    """Run a job in this process; with `passes`, the last pass is timed, so 2 is a warm run."""
    text = read_corpus(path, size)
    timed = JOBS[name, library](text, options)
    seconds, answer = 0.0, None
    for _ in range(int(options["passes"])):
        start = time.perf_counter()
        answer = timed()
        seconds = time.perf_counter() - start
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024
    return {"seconds": seconds, "bytes": len(text), "answer": digest(name, answer), "peak_mb": peak}


def run_fresh(arguments: list[str]) -> dict[str, object]:
    """Run a job in a process of its own."""
    command = [sys.executable, "-m", "benchmarks.compare", *arguments, "--once"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        sys.exit(f"{' '.join(command)} failed:\n{done.stderr}")
    result: dict[str, object] = json.loads(done.stdout)
    return result


def compare(args: argparse.Namespace, path: Path) -> bool:
    """Print the table of one corpus; False when answers differ."""
    libraries = args.libraries.split(",")
    forwarded = [part for option in args.option for part in ("--option", option)]
    size = [] if args.size is None else ["--size", str(args.size)]
    runs: dict[str, list[dict[str, object]]] = {library: [] for library in libraries}
    for _ in range(args.repeat):
        for library in libraries:
            runs[library].append(
                run_fresh([args.job, str(path), "--libraries", library, *forwarded, *size])
            )
    answers = {str(run["answer"]) for results in runs.values() for run in results}
    base = statistics.median(float(run["seconds"]) for run in runs[libraries[0]])
    print(f"{args.job} {path.name} {' '.join(args.option)}: answers {'equal' if len(answers) == 1 else 'DIFFER'}")
    for library, results in runs.items():
        seconds = statistics.median(float(run["seconds"]) for run in results)
        speed = int(results[0]["bytes"]) / seconds / 1e6
        peak = max(int(run["peak_mb"]) for run in results)
        print(f"  {library:12} {seconds:9.3f} s {speed:9.1f} MB/s {seconds / base:8.2f}x  peak {peak} MB")
    return len(answers) == 1


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("job", choices=sorted({name for name, _ in JOBS}))
    parser.add_argument("corpora", nargs="+", type=Path)
    parser.add_argument("--libraries", required=True, help="comma-separated; the first is what others are compared to")
    parser.add_argument("--option", action="append", default=[], metavar="KEY=VALUE")
    parser.add_argument("--size", type=int, help="take only so many bytes of each corpus")
    parser.add_argument("--repeat", type=int, default=5)
    parser.add_argument("--once", action="store_true", help="run in this process and print JSON")
    args = parser.parse_args()
    options = {**DEFAULTS, **dict(option.split("=", 1) for option in args.option)}
    if args.once:
        print(json.dumps(run_once(args.job, args.libraries, args.corpora[0], args.size, options)))
        return 0
    equal = [compare(args, path) for path in args.corpora]
    return 0 if all(equal) else 1


if __name__ == "__main__":
    sys.exit(main())
