"""Run one job with one library in this process: `python -m benchmarks.once '{"job": ...}'` prints JSON."""

from __future__ import annotations

import gc
import json
import os
import sys
import time
from pathlib import Path
from typing import Any

from benchmarks.free_memory import touch_elsewhere
from benchmarks.jobs import CLOCKS, JOBS, Measured, digest
from benchmarks.jobs.memory import resident
from benchmarks.pace import pace
from benchmarks.peers import NotSupported


def pin() -> None:
    """Stay on one CPU, the last one allowed: the process that waits for this one wakes up on another."""
    os.sched_setaffinity(0, {max(os.sched_getaffinity(0))})


def run(request: dict[str, Any]) -> dict[str, object]:
    """Run the job; with `passes`, the last pass is what counts, so 1 is a cold run and 3 a warm one."""
    name, library, options = request["job"], request["library"], request["options"]
    clock = CLOCKS[options["clock"]]
    threads = int(options["threads"])
    if threads == 1:
        pin()
    text = Path(request["text"]).read_bytes()
    timed = JOBS[name].libraries[library](library, text, options)
    cost, busy, before, answer = 0.0, 0.0, 0.0, None
    touch_elsewhere()
    for _ in range(int(options["passes"])):
        answer = None  # an earlier answer is freed outside the clock
        before = pace(threads)
        gc.collect()
        start, wall, cpu = clock(), time.perf_counter(), time.process_time()
        answer = timed()
        cost = clock() - start
        busy = (time.process_time() - cpu) / (time.perf_counter() - wall)
    slowest = max(before, pace(threads))
    measured = answer if isinstance(answer, Measured) else Measured(cost, answer)
    peak_mb = resident("VmHWM") / 1e6
    answered = digest(name, measured.answer)
    conditions = {"peak_mb": peak_mb, "busy": busy, "pace": slowest}
    return {"cost": measured.cost, "answer": answered, **conditions, **measured.extra}


def main() -> int:
    try:
        result = run(json.loads(sys.argv[1]))
    except NotSupported as error:
        result = {"failed": f"not supported: {error}"}
    print(json.dumps(result))
    return 0


if __name__ == "__main__":
    sys.exit(main())
