"""The ratios that the first library is held to, from the rows of a run.

    python -m benchmarks.gates results.json
"""

from __future__ import annotations

import json
import math
import statistics
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benchmarks.pace import undisturbed

Row = dict[str, Any]
#: Rows of one case, by library.
Group = dict[str, Row]

#: Cold, one text to an array: how many times gigatoken's speed.
COLD_GIGATOKEN = {"en": 2.0, "code": 2.0, "multi": 2.5, "ja": 6.0, "zh": 6.0}
#: How many times the best peer's speed, by job, cold and warm.
BEST_PEER = {
    ("encode_flat", "1"): 1.0,
    ("encode_flat", "3"): 1.5,
    ("encode_lists", "1"): 1.5,
    ("encode_lists", "3"): 1.5,
    ("encode_batch_flat", "1"): 1.5,
    ("encode_batch_flat", "3"): 1.5,
    ("decode_array", "3"): 2.0,
    ("decode_list", "3"): 2.0,
    ("latency", "1"): 1.0,
}
TWO_THREADS = 1.7
#: 8 times the input costs at most so many times as much.
WORST_GROWTH = 12.0
#: A worst case costs at most so many times the best peer's.
WORST_PEER = 3.0
MEMORY_MB = 100.0
GROWTH_MB = 16.0
LOAD_MS = 40.0


@dataclass(frozen=True)
class Gate:
    """What is asked, how much of it is needed and was found; `most` says that less is better."""

    name: str
    needed: float
    found: float
    most: bool = False

    @property
    def passed(self) -> bool:
        return self.found <= self.needed if self.most else self.found >= self.needed

    def __str__(self) -> str:
        sign = "<=" if self.most else ">="
        return f"{'ok  ' if self.passed else 'FAIL'} {self.found:8.2f} {sign} {self.needed:<6g} {self.name}"


def gates(rows: list[Row], library: str = "bbpe") -> Iterator[Gate]:
    """Yield the gates that these rows can answer."""
    groups: dict[str, Group] = {}
    for row in rows:
        key = json.dumps([row["job"], row["corpus"], row["options"]], sort_keys=True)
        groups.setdefault(key, {})[row["library"]] = row
    for group in groups.values():
        own = group.get(library)
        if own is None:
            continue
        name = _name(own)
        if not own["right"]:
            yield Gate(f"{name}: the expected ids", 1, 0)
            continue
        yield from _of_peers(name, own, group, library)
        yield from _alone(name, own)
    yield from _pairs(list(groups.values()), library)


def _name(row: Row) -> str:
    options = {name: value for name, value in row["options"].items() if name not in ("threads", "clock")}
    return " ".join([row["job"], row["corpus"], *(f"{name}={value}" for name, value in options.items())])


def _cost(row: Row) -> float:
    return statistics.median(row["costs"])


def _of_peers(name: str, own: Row, group: Group, library: str) -> Iterator[Gate]:
    peers = [row for row in group.values() if row["library"] != library and row["right"]]
    if not peers:
        return
    best = min(peers, key=_cost)
    ratio = _cost(best) / _cost(own)
    against = f"{name}: of the best peer's speed ({best['library']})"
    job, passes = own["job"], own["options"]["passes"]
    if job == "worst":
        yield Gate(f"{name}: times the best peer's cost ({best['library']})", WORST_PEER, 1 / ratio, most=True)
    elif (job, passes) in BEST_PEER:
        yield Gate(against, BEST_PEER[job, passes], ratio)
    if job == "encode_flat" and passes == "1" and own["corpus"] in COLD_GIGATOKEN and "gigatoken" in group:
        found = _cost(group["gigatoken"]) / _cost(own) if group["gigatoken"]["right"] else math.inf
        yield Gate(f"{name}: of gigatoken's speed", COLD_GIGATOKEN[own["corpus"]], found)


def _alone(name: str, own: Row) -> Iterator[Gate]:
    if own["job"] == "memory":
        yield Gate(f"{name}: MB besides the ids", MEMORY_MB, _cost(own) / 1e6, most=True)
        yield Gate(f"{name}: MB more after 20 passes", GROWTH_MB, own["extra"]["growth_mb"], most=True)
    if own["job"] == "load":
        yield Gate(f"{name}: ms", LOAD_MS, _cost(own) * 1e3, most=True)


def _pairs(groups: list[Group], library: str) -> Iterator[Gate]:
    """Gates that compare two cases of the library itself: two threads with one, 8 MB with 1 MB."""
    own = [group[library] for group in groups if library in group and group[library]["right"]]
    best_pace = min((pace for row in own for pace in row["paces"]), default=0.0)
    for row, other in _matching(own, "encode_threads", "encode_flat", lambda o: {**o, "threads": "1"}):
        # two processors that are one core of a host do no more than one: what such runs took is not ours
        two, one = (undisturbed(each["costs"], each["paces"], best_pace) for each in (row, other))
        name = f"{_name(row)}: two threads, of one thread's speed ({len(one)} and {len(two)} runs undisturbed)"
        found = statistics.median(one or other["costs"]) / statistics.median(two or row["costs"])
        yield Gate(name, TWO_THREADS, found)
    for row, other in _matching(own, "worst", "worst", lambda o: {**o, "size": str(int(o["size"]) // 8)}):
        yield Gate(f"{_name(row)}: times the cost of an eighth", WORST_GROWTH, _cost(row) / _cost(other), most=True)


def _matching(
    rows: list[Row], job: str, other_job: str, options: Callable[[dict[str, str]], dict[str, str]]
) -> Iterator[tuple[Row, Row]]:
    for row in rows:
        for other in rows:
            if (row["job"], other["job"], row["corpus"]) != (job, other_job, other["corpus"]):
                continue
            if ("size" in row["options"] or job != "worst") and options(row["options"]) == other["options"]:
                yield row, other


def main() -> int:
    found = list(gates(json.loads(Path(sys.argv[1]).read_text("utf-8"))["rows"]))
    print(*found, sep="\n")
    return 0 if all(gate.passed for gate in found) else 1


if __name__ == "__main__":
    sys.exit(main())
