"""The table of a case, and the ratios that gates are about."""

from __future__ import annotations

import statistics

from benchmarks.jobs import JOBS
from benchmarks.pace import undisturbed
from benchmarks.runs import Case, Result

#: A run on one CPU that had it for less than this share of its time was disturbed by other work.
DISTURBED = 0.95


def table(case: Case, results: list[Result], best_pace: float) -> str:
    """A line a library: its median, how far its runs lie apart, and how many times its cost the first one's is.

    Behind those, the median of the runs that were not disturbed if others were.
    """
    unit = JOBS[case.job].unit
    options = " ".join(f"{name}={value}" for name, value in case.options.items())
    first = results[0]
    lines = [f"{case.job} {case.corpus} ({first.size / 1e6:.1f} MB) {options}"]
    for result in results:
        if not result.costs:
            lines.append(f"  {result.library:16} {result.failed}")
            continue
        figure = unit.figure(result.cost, result.size)
        spread = (max(result.costs) - min(result.costs)) / result.cost if result.cost else 0.0
        ratio = result.cost / first.cost if first.costs and first.cost > 0 else float("nan")
        shown = f"{ratio:8.2f}x" if result.right and first.right else f"{'-' if result.right else 'DIFFERS':>9}"
        extra = "".join(f", {name} {value:.1f}" for name, value in result.extra.items())
        if result.busy < DISTURBED:
            extra += f", had the CPU {result.busy:.0%} of the time"
        quiet = undisturbed(result.costs, result.paces, best_pace)
        if 0 < len(quiet) < len(result.costs):
            extra += f"; {unit.figure(statistics.median(quiet), result.size):.2f} in {len(quiet)} undisturbed"
        if result.failed:
            extra += f", then {result.failed}"
        lines.append(
            f"  {result.library:16} {figure:10.2f} {unit.name:6} +-{spread / 2:4.0%} {shown}"
            f"  {len(result.costs)} runs, peak {result.peak_mb:.0f} MB{extra}"
        )
    return "\n".join([*lines, *ratios(results)])


def ratios(results: list[Result]) -> list[str]:
    """How many times better the first library is than the best peer, and than gigatoken."""
    first, *others = results
    right = [peer for peer in others if peer.right and peer.cost > 0]
    if not first.right or first.cost <= 0 or not right:
        return []
    best = min(right, key=lambda peer: peer.cost)
    shown = [f"{first.library} / best peer ({best.library}) {best.cost / first.cost:.2f}x"]
    for peer in right:
        if peer.library == "gigatoken":
            shown.append(f"{first.library} / gigatoken {peer.cost / first.cost:.2f}x")
    return ["  " + ", ".join(shown)]
