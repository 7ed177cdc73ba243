"""What a run is recorded with: the machine, the day, the versions; one JSON a machine and date."""

from __future__ import annotations

import datetime
import os
import platform
import re
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from benchmarks.compare import versions

if TYPE_CHECKING:
    from benchmarks.plan import Area

RESULTS = Path(__file__).resolve().parent / "results"


def facts(areas: Sequence[Area]) -> dict[str, Any]:
    """The machine, the date and the versions of all libraries of the areas."""
    libraries = list(dict.fromkeys(library for area in areas for library in area.libraries))
    return {
        "date": datetime.datetime.now(datetime.UTC).date().isoformat(),
        "machine": {
            "cpu": cpu(),
            "cores": len(os.sched_getaffinity(0)),
            "memory_gb": round(os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 1e9),
            "system": platform.system(),
            # what else the machine did when the run began; a run counts when this is near nothing
            "load": round(os.getloadavg()[0], 1),
        },
        "versions": versions(libraries),
    }


def cpu() -> str:
    """The processor's name."""
    try:
        text = Path("/proc/cpuinfo").read_text("utf-8", "replace")
    except OSError:
        return platform.processor() or platform.machine()
    found = re.search(r"^model name\s*: (.*)$", text, flags=re.MULTILINE)
    return found[1].strip() if found else platform.machine()


def path_of(record: dict[str, Any]) -> Path:
    """Where a record goes: benchmarks/results/MACHINE-DATE.json."""
    machine = re.sub(r"[^a-z0-9]+", "-", f"{record['machine']['cpu']} {record['machine']['cores']} cores".lower())
    return RESULTS / f"{machine.strip('-')}-{record['date']}.json"
