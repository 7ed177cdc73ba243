"""Which instructions the core uses, against what the system says of the processor."""

from __future__ import annotations

import platform
import re
from pathlib import Path

from bbpe.core.budget import CPU

CPUINFO = Path("/proc/cpuinfo")
AVX2 = {"avx2", "bmi1", "bmi2", "abm", "popcnt"}
AVX512 = {"avx512f", "avx512dq", "avx512bw", "avx512cd", "avx512vl", "avx512vbmi", "avx512_vbmi2"}


def test_the_instructions_are_those_that_the_processor_has() -> None:
    if platform.machine() in ("aarch64", "arm64"):
        assert CPU == "neon"
    elif not CPUINFO.exists():
        assert CPU in ("base", "avx2", "avx512")
    else:
        found = re.search(r"^flags\s*:(.*)", CPUINFO.read_text("utf-8"), re.MULTILINE)
        assert found is not None
        flags = set(found[1].split())
        assert ("base" if not flags >= AVX2 else "avx512" if flags >= AVX512 else "avx2") == CPU
