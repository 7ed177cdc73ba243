"""The tables and plots of the documentation, from a recorded run: `python -m benchmarks.report [RECORD]`.

Writes the block of the README between its two marks, docs/benchmarks.md and its plots; by default from the latest
record in benchmarks/results.  A figure without a ratio is of a library whose answer was not the expected one.
"""

from __future__ import annotations

import json
import re
import statistics
import sys
from pathlib import Path
from typing import Any

from benchmarks.record import RESULTS

ROOT = Path(__file__).resolve().parent.parent
BEGIN, END = "<!-- benchmarks: rendered by benchmarks/report.py -->", "<!-- end of benchmarks -->"
NONE = "No run is recorded yet; `make bench` makes one.\n"
#: The areas of the README, and the libraries that it names besides the best peer.
_MAIN = ("Encoding a text, cold", "Training, 32,000 tokens")
SHOWN = (*_MAIN, "Encoding a text, warm", "Encoding documents to lists, cold")
NAMED = ("tiktoken", "tokenizers")
Record = dict[str, Any]
Row = dict[str, Any]


def latest(folder: Path = RESULTS) -> Record | None:
    """The record of the last date, or nothing."""
    found = [json.loads(path.read_text("utf-8")) for path in sorted(folder.glob("*.json"))]
    return max(found, key=lambda record: str(record["date"]), default=None)


def cost(row: Row) -> float:
    return statistics.median(row["costs"]) if row["costs"] and row["right"] else float("inf")


def cases(area: dict[str, Any]) -> dict[str, dict[str, Row]]:
    """The rows of an area by case, then by library; a case is its corpus and the options in which cases differ."""
    options = [row["options"] for row in area["rows"]]
    told = [name for name in (options[0] if options else {}) if len({each[name] for each in options}) > 1]
    found: dict[str, dict[str, Row]] = {}
    for row in area["rows"]:
        name = " ".join([row["corpus"], *(row["options"][option] for option in told)])
        found.setdefault(name, {})[row["library"]] = row
    return found


def ratio(own: Row, other: Row | None) -> str:
    """How many times the other's cost is ours, and what the other's figure is."""
    if other is None or not other["costs"]:
        return "-"
    if cost(own) in (0.0, float("inf")) or cost(other) == float("inf"):
        return f"({figure(other)})"
    return f"{cost(other) / cost(own):.1f}x"


def figure(row: Row) -> str:
    if not row["costs"]:
        return row["failed"] or "-"
    return f"{row['figure']:,.0f} {row['unit']}" if row["figure"] >= 100 else f"{row['figure']:.3g} {row['unit']}"


def best_peer(rows: dict[str, Row]) -> Row | None:
    peers = [row for name, row in rows.items() if name != "bbpe" and cost(row) < float("inf")]
    return min(peers, key=cost, default=None)


def area_table(area: dict[str, Any]) -> str:
    """All libraries of an area: ours as a figure, the others as times of its cost."""
    found = cases(area)
    libraries = list(dict.fromkeys(library for rows in found.values() for library in rows))
    lines = [f"| | {' | '.join(libraries)} |", f"|---|{'---|' * len(libraries)}"]
    for name, rows in found.items():
        cells = [
            figure(row) if row is not None and library == libraries[0] else ratio(rows[libraries[0]], row)
            for library in libraries
            for row in [rows.get(library)]
        ]
        lines.append(f"| {name} | {' | '.join(cells)} |")
    return "\n".join(lines)


def tables(record: Record) -> str:
    """Every area, in Markdown."""
    parts = []
    for area in record["areas"]:
        if area["rows"]:
            note = f"{area['note'][0].upper()}{area['note'][1:]}.\n\n" if area["note"] else ""
            parts.append(f"## {area['title']}\n\n{note}{area_table(area)}\n")
    if record["left_out"]:
        parts.append("## Left out\n\nThere was no time for: " + "; ".join(record["left_out"]) + ".\n")
    return "\n".join(parts)


def about(record: Record) -> str:
    """On what, with what and when."""
    machine, versions = record["machine"], record["versions"]
    names = ", ".join(f"{name} {version}" for name, version in versions.items() if name != "machine")
    return (
        f"{record['date']}, {machine['cpu']}, {machine['cores']} cores, {machine['memory_gb']} GB, "
        f"{machine['system']}; {names}."
    )


def readme_block(record: Record | None) -> str:
    """Ours, the best peer, and those that everybody knows, for the main jobs."""
    if record is None:
        return NONE
    lines = [f"| | bbpe | best peer | {' | '.join(NAMED)} |", f"|---|---|---|{'---|' * len(NAMED)}"]
    for area in record["areas"]:
        if area["title"] not in SHOWN:
            continue
        for name, rows in cases(area).items():
            own, best = rows["bbpe"], best_peer(rows)
            best_cell = "-" if best is None else f"{best['library']} {ratio(own, best)}"
            cells = [figure(own), best_cell, *(ratio(own, rows.get(library)) for library in NAMED)]
            lines.append(f"| {area['title']}: {name} | {' | '.join(cells)} |")
    what = "Others as times of bbpe's cost; one core, a fresh process each, answers compared first."
    all_of_them = "All of them: [docs/benchmarks.md](docs/benchmarks.md)."
    return f"{what} {about(record)} {all_of_them}\n\n" + "\n".join(lines) + "\n"


def page(record: Record | None) -> str:
    """docs/benchmarks.md."""
    head = "# Benchmarks\n\n"
    if record is None:
        return head + NONE
    sizes = ", ".join(f"{name} {text['sha256'][:12]}" for name, text in record["texts"].items())
    return (
        f"{head}Rendered by `make bench` from one run: {about(record)} The load before it was "
        f"{record['machine']['load']}, and it took {record['seconds'] / 60:.0f} minutes.\n\n"
        "The first column is bbpe's figure, the others are times of bbpe's cost: 2.0x took twice as long, or twice "
        "the memory. Each run is a fresh process on one core, libraries take turns, the median of "
        f"{record['repeat']} counts, and answers are compared first: a figure in brackets is of a library "
        "whose answer was not the expected one. A library eight times as slow as the fastest runs once. What a dash "
        "stands for cannot be done, or took more than half a minute.\n\n"
        "![encoding, cold](benchmarks-encode.svg)\n\n![training](benchmarks-train.svg)\n\n"
        f"{tables(record)}\n## Texts\n\nName, bytes asked for and the beginning of the SHA-256: {sizes}.\n"
    )


def with_block(readme: str, block: str) -> str:
    """The README with what stands between its marks replaced."""
    inside = f"{BEGIN}\n{block}{END}"
    return re.sub(f"{re.escape(BEGIN)}.*?{re.escape(END)}", lambda _: inside, readme, flags=re.DOTALL)


def publish(record: Record | None, root: Path = ROOT) -> None:
    """Write README's block, the page, and its plots."""
    readme = root / "README.md"
    readme.write_text(with_block(readme.read_text("utf-8"), readme_block(record)), "utf-8")
    (root / "docs" / "benchmarks.md").write_text(page(record), "utf-8")
    if record is not None:
        from benchmarks.plots import bars

        for title, name in zip(_MAIN, ("encode", "train"), strict=True):
            areas = [area for area in record["areas"] if area["title"] == title and area["rows"]]
            if areas:
                bars(title, cases(areas[0]), root / "docs" / f"benchmarks-{name}.svg")


def main() -> int:
    record = json.loads(Path(sys.argv[1]).read_text("utf-8")) if len(sys.argv) > 1 else latest()
    publish(record)
    return 0


if __name__ == "__main__":
    sys.exit(main())
