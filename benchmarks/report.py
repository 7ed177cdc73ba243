"""The tables and pictures of the documentation, from a recorded run: `python -m benchmarks.report [RECORD]`.

Writes what is between the marks of the README, docs/benchmarks.md and the pictures; by default from the latest record
in benchmarks/results.  A figure in brackets belongs to a library whose answer was not the expected one.
"""

from __future__ import annotations

import json
import re
import statistics
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from benchmarks.record import RESULTS

ROOT = Path(__file__).resolve().parent.parent
BEGIN, END = "<!-- benchmarks: rendered by benchmarks/report.py -->", "<!-- end of benchmarks -->"
SENTENCE, SENTENCE_END = "<!-- figures: rendered by benchmarks/report.py -->", "<!-- end of figures -->"
NONE = "No run is recorded yet; `make bench` makes one.\n"
ENCODE, TRAIN = "Encoding a text, cold", "Training, 32,000 tokens"
#: The rows of the README: an area, a case of it, and how the README names the two.
SHOWN = (
    (ENCODE, "en", "Encode English, first pass"),
    (ENCODE, "ja", "Encode Japanese, first pass"),
    ("Encoding a text, warm", "en", "Encode English, third pass"),
    ("Encoding documents to lists, cold", "en", "Encode 2 kB documents to lists, first pass"),
    ("Start, first word", "en cl100k no", "Start Python, load a vocabulary, encode one word"),
    (TRAIN, "en", "Train 32,000 tokens on English"),
)
#: The libraries that the README names besides the fastest other one.
NAMED = ("tiktoken", "tokenizers")
#: The names of corpora in the pictures.
LANGUAGES = {"en": "English", "code": "code", "multi": "many languages", "ja": "Japanese", "zh": "Chinese"}
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


def left_out(names: list[str]) -> str:
    """A list of the cases that a run had no time for: one line for all that differ only in their options."""
    found: dict[str, dict[str, list[str]]] = {}
    for name in names:
        words = name.split(" ")
        options = found.setdefault(" ".join(word for word in words if "=" not in word), {})
        for option, _, value in (word.partition("=") for word in words if "=" in word):
            values = options.setdefault(option, [])
            values += [value] if value not in values else []
    lines = (
        "; ".join([case, *(f"{option}: {', '.join(values)}" for option, values in options.items())])
        for case, options in found.items()
    )
    return "\n".join(f"* {line}" for line in lines)


def tables(record: Record) -> str:
    """Every area, in Markdown."""
    parts = []
    for area in record["areas"]:
        if area["rows"]:
            note = f"{area['note'][0].upper()}{area['note'][1:]}.\n\n" if area["note"] else ""
            parts.append(f"## {area['title']}\n\n{note}{area_table(area)}\n")
    if record["left_out"]:
        parts.append(f"## Left out\n\nThe run had no time for these cases:\n\n{left_out(record['left_out'])}\n")
    return "\n".join(parts)


def about(record: Record) -> str:
    """On what, with what and when."""
    machine, versions = record["machine"], record["versions"]
    names = ", ".join(f"{name} {version}" for name, version in versions.items() if name != "machine")
    return (
        f"{record['date']}, {machine['cpu']}, {machine['cores']} cores, {machine['memory_gb']} GB, "
        f"{machine['system']}; {names}."
    )


def case_of(record: Record, title: str, case: str) -> dict[str, Row]:
    """The rows of one case of an area by library; none where the record has no such case."""
    return next((cases(area).get(case, {}) for area in record["areas"] if area["title"] == title), {})


def times(own: Row, other: Row | None) -> str:
    """How many times as fast as the other library ours is."""
    if other is None:
        return "-"
    found = ratio(own, other)
    return f"{found} as fast as {other['library']}" if found.endswith("x") else f"{other['library']} {found}"


def faster_than(own: Row, others: Iterable[Row | None]) -> str:
    """How many times as fast as each of some libraries ours is, to two digits; without those with wrong answers."""
    found = {row["library"]: ratio(own, row) for row in others if row is not None}
    known = {library: float(times[:-1]) for library, times in found.items() if times.endswith("x")}
    return ", ".join(f"{float(f'{times:.2g}'):g} times as fast as {library}" for library, times in known.items())


def sentence(record: Record | None) -> str:
    """The README's figures in two sentences."""
    rows = {} if record is None else case_of(record, ENCODE, "en")
    trained = {} if record is None else case_of(record, TRAIN, "en")
    if "bbpe" not in rows or "bbpe" not in trained:
        return NONE
    own, learned = rows["bbpe"], trained["bbpe"]
    encoders = faster_than(own, [best_peer(rows), *map(rows.get, NAMED)])
    learners = faster_than(learned, [best_peer(trained), trained.get("tokenizers")])
    return (
        f"One core encodes English at {figure(own)}: {encoders}, with identical ids. It trains at {figure(learned)}: "
        f"{learners}, with identical merges.\n"
    )


def readme_block(record: Record | None) -> str:
    """Ours, the fastest other library, and those that everybody knows, for the main jobs."""
    if record is None:
        return NONE
    heads = " | ".join(f"vs {name}" for name in NAMED)
    lines = [f"| | bbpe | vs the fastest other library | {heads} |", f"|---|---|---|{'---|' * len(NAMED)}"]
    for title, case, name in SHOWN:
        rows = case_of(record, title, case)
        if "bbpe" in rows:
            own = rows["bbpe"]
            cells = [figure(own), times(own, best_peer(rows)), *(ratio(own, rows.get(library)) for library in NAMED)]
            lines.append(f"| {name} | {' | '.join(cells)} |")
    machine = record["machine"]
    return (
        "\n".join(lines)
        + f"\n\nOne core, {machine['cpu']}, {machine['system']}, cl100k, {record['date']}; 2.0x: bbpe is twice as "
        "fast. We time a library only after its ids match ours. One row includes loading. "
        "[All results](docs/benchmarks.md).\n"
    )


def pictures(record: Record) -> dict[str, str]:
    """The pictures of the README and of docs/benchmarks.md, by file name."""
    from benchmarks.plots import NARROW, WIDE, picture

    machine = record["machine"]
    where = f"One core, {machine['cpu']}, {machine['system']}, {record['date']}. Longer is faster."
    encode = {
        f"Encoding {LANGUAGES[name]}": rows for name in LANGUAGES if (rows := case_of(record, ENCODE, name))
    }
    train = {f"Training on {LANGUAGES[name]}": rows for name in LANGUAGES if (rows := case_of(record, TRAIN, name))}
    first = {title: rows for title, rows in (encode | train).items() if title.endswith(LANGUAGES["en"])}
    encoding, training = "cl100k, a fresh tokenizer's first pass.", "32,000 tokens."
    made = {
        "speed": (first, f"{where} Encoding: {encoding} Training: {training}"),
        "benchmarks-encode": (encode, f"{where} {encoding}"),
        "benchmarks-train": (train, f"{where} {training}"),
    }
    # the site shows the narrow ones on phones
    sizes = {"": WIDE, "-narrow": NARROW}
    return {
        f"{name}{size}.svg": picture(panels, note, width)
        for name, (panels, note) in made.items() for size, width in sizes.items()
    }  # fmt: skip


def page(record: Record | None) -> str:
    """docs/benchmarks.md."""
    head = "# Benchmarks\n\n"
    if record is None:
        return head + NONE
    sizes = ", ".join(f"{name} {text['sha256'][:12]}" for name, text in record["texts"].items())
    return (
        f"{head}How fast bbpe is, and how much memory it takes, next to other libraries on the same "
        "texts.\n\n"
        "![Speed of encoding, first pass](benchmarks-encode.svg)\n\n![Speed of training](benchmarks-train.svg)\n\n"
        f"`make bench` makes all figures in one run: {about(record)} The load average before the run was "
        f"{record['machine']['load']}; the run took {record['seconds'] / 60:.0f} minutes.\n\n"
        "How to read the tables:\n\n"
        "* The first column is the result of bbpe. The other columns show how many times longer each other library "
        "takes, or how many times more memory: 2.0x means that bbpe is twice as fast.\n"
        f"* Each run is a fresh process on one core. Libraries take turns; the median of {record['repeat']} runs "
        "counts. A library that is eight times slower than the fastest runs once.\n"
        "* Every answer is compared. A figure in brackets belongs to a library that gives another answer, so it has no "
        "ratio.\n"
        "* A dash means that the library cannot do this, or took more than half a minute. Below 1.0x the other library "
        "is faster.\n"
        "* *Cold* is the first pass of a tokenizer that has just been loaded; *warm* is its third pass over the same "
        "text. Loading is measured separately, under [Loading](#loading).\n\n"
        f"{tables(record)}\n## Texts\n\nEach text by its name and size in bytes, with the beginning of its SHA-256: "
        f"{sizes}.\n"
    )


def with_block(readme: str, block: str, marks: tuple[str, str] = (BEGIN, END)) -> str:
    """The README with the text between two marks replaced."""
    begin, end = marks
    inside = f"{begin}\n{block}{end}"
    return re.sub(f"{re.escape(begin)}.*?{re.escape(end)}", lambda _: inside, readme, flags=re.DOTALL)


def rendered(readme: str, record: Record | None) -> str:
    """The README with its sentence and its table of a record."""
    return with_block(with_block(readme, readme_block(record)), sentence(record), (SENTENCE, SENTENCE_END))


def publish(record: Record | None, root: Path = ROOT) -> None:
    """Write the figures of the README, the page, and the pictures."""
    readme = root / "README.md"
    readme.write_text(rendered(readme.read_text("utf-8"), record), "utf-8")
    (root / "docs" / "benchmarks.md").write_text(page(record), "utf-8")
    if record is not None:
        for name, svg in pictures(record).items():
            (root / "docs" / name).write_text(svg, "utf-8")


def main() -> int:
    record = json.loads(Path(sys.argv[1]).read_text("utf-8")) if len(sys.argv) > 1 else latest()
    publish(record)
    return 0


if __name__ == "__main__":
    sys.exit(main())
