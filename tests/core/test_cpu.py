"""Which instructions the core uses, against what the system says of the processor."""

from __future__ import annotations

import platform
import re
from pathlib import Path

import pytest

from bbpe.core.budget import CPU

CPUINFO = Path("/proc/cpuinfo")
AVX2 = {"avx2", "bmi1", "bmi2", "abm", "popcnt"}
AVX512 = {"avx512f", "avx512dq", "avx512bw", "avx512cd", "avx512vl", "avx512vbmi", "avx512_vbmi2"}


@pytest.mark.skipif(platform.machine() != "x86_64" or not CPUINFO.exists(), reason="reads /proc/cpuinfo of x86-64")
def test_the_instructions_are_those_that_the_processor_has() -> None:
    found = re.search(r"^flags\s*:(.*)", CPUINFO.read_text("utf-8"), re.MULTILINE)
    assert found is not None
    flags = set(found[1].split())
    expected = "base" if not flags >= AVX2 else "avx512" if flags >= AVX512 else "avx2"
    assert expected == CPU


@pytest.mark.skipif(platform.machine() not in ("aarch64", "arm64"), reason="Arm alone")
def test_arm_has_neon() -> None:
    assert CPU == "neon"
