"""How much memory a job may take: what the user says, what the system says, and what is there already."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from processes import package_env

import bbpe
from bbpe import budget
from bbpe.budget import Budget, Limit, limit_of, resident_bytes
from bbpe.core.train import merge_memory
from bbpe.counting import options as count_options
from bbpe.training import bpe

MB = 10**6


@pytest.fixture(autouse=True)
def no_groups(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A system whose control groups are those that a test makes."""
    monkeypatch.setattr(budget, "_CGROUPS_OF", tmp_path / "self")
    monkeypatch.setattr(budget, "_CGROUPS", tmp_path / "cgroup")
    return tmp_path


def grouped(folder: Path, lines: str, limits: dict[str, str]) -> None:
    (folder / "self").write_text(lines)
    for name, text in limits.items():
        (folder / "cgroup" / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / "cgroup" / name).write_text(text + "\n")


V1 = "9:name=systemd:/\n4:memory:/user/job\n0::/\n"


@pytest.mark.parametrize(
    ("lines", "limits", "size", "holds"),
    [
        ("0::/\n", {"memory.max": "500000000"}, 500 * MB, "memory.max"),
        ("0::/a/b\n", {"memory.max": "max", "a/memory.max": "400000000"}, 400 * MB, "a/memory.max"),
        ("0::/a/b\n", {"a/memory.max": "400000000", "a/b/memory.max": "300000000"}, 300 * MB, "a/b/memory.max"),
        # in a container whose group is the root of what it sees
        ("0::/docker/0123\n", {"memory.max": "200000000"}, 200 * MB, "memory.max"),
        (V1, {"memory/user/job/memory.limit_in_bytes": "300000000"}, 300 * MB, "memory/user/job/memory.limit_in_bytes"),
        (V1, {"memory/memory.limit_in_bytes": "100000000"}, 100 * MB, "memory/memory.limit_in_bytes"),
        ("5:cpu,memory:/\n", {"memory/memory.limit_in_bytes": "90000000"}, 90 * MB, "memory/memory.limit_in_bytes"),
        # none at all
        (V1, {"memory/user/job/memory.limit_in_bytes": "9223372036854771712"}, 1000 * MB, None),
        ("0::/\n", {"memory.max": "max"}, 1000 * MB, None),
        ("0::/\n", {"memory.max": "many"}, 1000 * MB, None),
        ("0::/\n", {}, 1000 * MB, None),
        ("5:cpu:/x\n", {"memory/x/memory.limit_in_bytes": "5000000"}, 1000 * MB, None),
        ("", {"memory.max": "1"}, 1000 * MB, None),
        # more than what is asked for
        ("0::/\n", {"memory.max": "2000000000"}, 1000 * MB, None),
    ],
)  # fmt: skip
def test_the_lowest_limit_holds(
    lines: str, limits: dict[str, str], size: int, holds: str | None, no_groups: Path
) -> None:
    grouped(no_groups, lines, limits)
    path = no_groups / "cgroup" / (holds or "")
    name = f"the memory limit of the control group ({path})" if holds else "max_memory"
    assert limit_of("1GB") == limit_of(10**9) == Limit(size, name)


def test_without_control_groups_max_memory_holds() -> None:
    assert limit_of("1GB") == Limit(1000 * MB, "max_memory")


def test_errors_name_the_limit_that_holds(no_groups: Path) -> None:
    grouped(no_groups, "0::/\n", {"memory.max": str(20 * MB)})
    told = r"^the memory limit of the control group \(.*memory\.max\) is 20\.0 MB; Python, pyarrow.*expected at least"
    with pytest.raises(ValueError, match=told):
        bbpe.count_from_iterator(["a"], pattern="gpt2", max_memory="4GB")
    with pytest.raises(ValueError, match=r"^max_memory is 19\.0 MB; Python"):
        bbpe.count_from_iterator(["a"], pattern="gpt2", max_memory="19MB")
    plan = bbpe.BPE().plan(300, (), None)
    told = r"and the memory limit of the control group \(.*\) is 20\.0 MB;.*a limit of \d+\.\d[MG]B$"
    with pytest.raises(bbpe.MemoryLimitError, match=told):
        plan.check_memory(bbpe.Counting(max_memory="4GB"), 10**6, 10**7)


def test_the_budget_is_of_the_limit_that_holds(no_groups: Path) -> None:
    free = Budget.of("4GB", buffers=MB)
    room = resident_bytes() + 300 * MB
    grouped(no_groups, "0::/\n", {"memory.max": str(room)})
    held = Budget.of("4GB", buffers=MB)
    assert (free.limit, free.name) == (4000 * MB, "max_memory")
    assert held.limit == room
    assert held.tables < 100 * MB < free.tables
    assert budget.affordable_threads("4GB", 64, 20 * MB) < 5 < budget.affordable_threads("40GB", 4, MB) + 2
    seen: list[Any] = []
    bbpe.count_from_iterator(["a"], pattern="gpt2", max_memory="4GB", progress=seen.append)
    assert "the memory limit of the control group" in seen[0].note


@pytest.mark.parametrize(
    ("size", "number"),
    [
        ("1", 1), ("1kB", 1000), ("1 KiB", 1024), ("1.5k", 1500), ("2M", 2 * MB), ("2 mib", 2 << 20), ("1GB", 10**9),
        ("1gib", 1 << 30), ("1TB", 10**12), ("1 TiB", 1 << 40), (" 7 b ", 7), (5, 5),
    ],
)  # fmt: skip
def test_sizes_in_words(size: Any, number: int) -> None:
    assert budget.parse_bytes(size) == number


@pytest.mark.parametrize("size", ["0", 0, "0.4", -5])
def test_no_bytes_are_no_size(size: Any) -> None:
    for name, told in (("", "a size"), ("limit", "limit")):
        with pytest.raises(ValueError, match=rf"^{told}.* (is .* bytes; expected more than 0|is no size; )"):
            budget.parse_bytes(size, name)
    with pytest.raises(ValueError, match=r"^limit: 'iB' is no size"):
        budget.parse_bytes("iB", "limit")


@pytest.mark.parametrize("size", [1.5, True, None, b"4GB"])
def test_what_is_no_number_is_named_by_its_argument(size: Any) -> None:
    kind = f"an int or a string such as '{{}}', not {type(size).__name__}"
    for name, subject in (("", "a size"), ("part_size", "part_size")):
        with pytest.raises(TypeError, match=f"^{subject} must be {kind.format('4GB')}$"):
            budget.parse_bytes(size, name)
    with pytest.raises(TypeError, match=f"^tokens must be {kind.format('100B')}$"):
        budget.parse_count(size, "tokens")


@pytest.mark.parametrize(
    ("size", "text"),
    [
        (0, "0 bytes"), (999, "999 bytes"), (1000, "1.0 kB"), (999_949, "999.9 kB"), (MB, "1.0 MB"), (10**9, "1.0 GB"),
        (2_340_000_000, "2.3 GB"), (10**12, "1.0 TB"), (10**16, "10000.0 TB"),
    ],
)  # fmt: skip
def test_sizes_for_people(size: int, text: str) -> None:
    assert budget.shown(size) == text


def test_what_is_divided_is_what_is_left(monkeypatch: pytest.MonkeyPatch) -> None:
    """Tables get a third of what the process and the texts leave, and threads a quarter of what the process leaves."""
    monkeypatch.setattr(budget, "resident_bytes", lambda: 100 * MB)
    monkeypatch.setattr(budget, "_SLACK", 20 * MB)
    monkeypatch.setitem(sys.modules, "pyarrow", object())  # type: ignore[arg-type]
    for limit in (500 * MB, "500MB"):
        assert Budget.of(limit, buffers=80 * MB) == Budget(500 * MB, 100 * MB, "max_memory")
        threads = [budget.affordable_threads(limit, 8, each * MB) for each in (1, 10, 19, 20, 96, 500)]
        assert threads == [8, 8, 5, 4, 1, 1]
    least = 120 * MB + 80 * MB + 3 * (1 << 20)
    assert Budget.of(least, buffers=80 * MB).tables == 1 << 20
    with pytest.raises(ValueError, match=r"buffers take 200\.0 MB of it, expected at least 208\.4 MB$"):
        Budget.of(least - 1, buffers=80 * MB)
    monkeypatch.delitem(sys.modules, "pyarrow")
    assert Budget.of(500 * MB, buffers=80 * MB).tables == (300 * MB - (64 << 20)) // 3


def test_a_process_may_take_what_its_limit_is_and_no_more(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(budget, "resident_bytes", lambda: 100 * MB)
    budget.check_resident(100 * MB)
    told = r"^the process takes 100\.0 MB already, and max_memory is 99\.9 MB; expected more$"
    with pytest.raises(bbpe.MemoryLimitError, match=told):
        budget.check_resident(99_900_000)


LIMITED = """
import resource, sys
from bbpe import budget

before = budget.resident_bytes()
resource.setrlimit(resource.RLIMIT_AS, (budget._mapped_bytes() + (200 << 20),) * 2)
limit = budget.limit_of("4GB")
print(limit.size - before >> 20, limit.name)
"""


@pytest.mark.skipif(sys.platform != "linux", reason="macOS does not keep to RLIMIT_AS")
def test_the_limit_of_address_space_holds() -> None:
    command = [sys.executable, "-c", LIMITED]
    done = subprocess.run(command, env=package_env(), capture_output=True, text=True, check=True)
    size, name = done.stdout.strip().split(" ", 1)
    assert name == "what the limit of address space (ulimit -v) allows"
    assert 190 <= int(size) <= 220


def test_without_psutil_the_limit_of_address_space_holds(monkeypatch: pytest.MonkeyPatch) -> None:
    resource = pytest.importorskip("resource")
    monkeypatch.setitem(sys.modules, "psutil", None)
    monkeypatch.setattr(resource, "getrlimit", lambda _: (256 << 20, 256 << 20))
    limit = limit_of("4GB")
    assert limit.name == "what the limit of address space (ulimit -v) allows"
    assert limit.size == pytest.approx(256 << 20, rel=0.05)


@pytest.mark.parametrize(("soft", "hard"), [(256 << 20, None), (256 << 20, 512 << 20), (None, None)])
def test_the_soft_limit_of_address_space_is_the_one_that_holds(
    soft: int | None, hard: int | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The hard one says how far the user may raise it."""
    resource = pytest.importorskip("resource")
    monkeypatch.setattr(budget, "resident_bytes", lambda: 100 * MB)
    monkeypatch.setattr(budget, "_mapped_bytes", lambda: 150 * MB)
    limits = tuple(resource.RLIM_INFINITY if each is None else each for each in (soft, hard))
    monkeypatch.setattr(resource, "getrlimit", lambda _: limits)
    name = "what the limit of address space (ulimit -v) allows"
    assert budget.system_limit() == (None if soft is None else Limit(soft - 50 * MB, name))


# -- what is there already -----------------------------------------------------------------------------


def test_resident_bytes_grow_and_shrink() -> None:
    pytest.importorskip("psutil")
    before = resident_bytes()
    block = bytearray(os.urandom(1 << 20) * 64)
    assert 60 << 20 < resident_bytes() - before < 80 << 20
    del block
    assert resident_bytes() - before < 20 << 20


def test_without_psutil_the_peak_counts(monkeypatch: pytest.MonkeyPatch) -> None:
    exact = resident_bytes()
    monkeypatch.setitem(sys.modules, "psutil", None)
    assert exact * 0.9 < resident_bytes() < 1 << 42
    assert resident_bytes() >> 20 == pytest.approx(peak_megabytes(), abs=2)
    monkeypatch.setitem(sys.modules, "resource", None)
    assert resident_bytes() == 40 << 20
    assert limit_of("4GB") == Limit(4000 * MB, "max_memory")


def peak_megabytes() -> int:
    status = Path("/proc/self/status")
    if not status.exists():
        pytest.skip("reads /proc")
    found = re.search(r"VmHWM:\s*(\d+)", status.read_text())
    assert found is not None
    return int(found[1]) >> 10


# -- merging -------------------------------------------------------------------------------------------


def test_merging_fits_to_the_byte(monkeypatch: pytest.MonkeyPatch) -> None:
    """Resident memory, less what of the need is there already, and the need: all of both, and no more."""
    monkeypatch.setattr(bpe, "resident_bytes", lambda: 100 * MB)
    plan = bbpe.BPE().plan(300, (), None)
    pretokens, size, held = 10**6, 8 * MB, 70 * MB
    need = merge_memory(size, pretokens, 44) + size + 56 * pretokens

    def refused(limit: int, **options: Any) -> bool:
        try:
            plan.check_memory(bbpe.Counting(max_memory=limit), pretokens, size, **options)
        except bbpe.MemoryLimitError:
            return True
        return False

    assert (refused(100 * MB + need), refused(100 * MB + need - 1)) == (False, True)
    assert (refused(30 * MB + need, held=held), refused(30 * MB + need - 1, held=held)) == (False, True)


@pytest.mark.parametrize("sample", [1.0, 0.5])
def test_the_sample_that_should_fit_is_named(sample: float, monkeypatch: pytest.MonkeyPatch) -> None:
    """Unique pretokens grow at least with the power 0.6 of a text, so the need of a part of it does."""
    monkeypatch.setattr(bpe, "resident_bytes", lambda: 100 * MB)
    plan = bbpe.BPE().plan(300, (), None)
    pretokens, size = 10**6, 8 * MB
    need = merge_memory(size, pretokens, 44) + size + 56 * pretokens
    for part in (0.1, 0.5, 0.9):
        counting = bbpe.Counting(max_memory=100 * MB + int(part * need), sample=sample)
        with pytest.raises(bbpe.MemoryLimitError, match="should fit, or max_memory=") as caught:
            plan.check_memory(counting, pretokens, size)
        named = float(str(caught.value).partition("sample=")[2].partition(" ")[0])
        # rounded to one digit
        assert named == float(f"{sample * part ** (1 / 0.6):.1g}")
    for none in (100 * MB, 60 * MB):
        with pytest.raises(bbpe.MemoryLimitError, match="max_memory") as caught:
            plan.check_memory(bbpe.Counting(max_memory=none), pretokens, size)
        assert "sample=" not in str(caught.value)


NEEDS = """
import random, re, sys
from pathlib import Path
import bbpe
from bbpe.budget import resident_bytes

rng = random.Random(0)
letters = "abcdefghijklmnop"
words = dict.fromkeys(("".join(rng.choices(letters, k=16)) for _ in range(200_000)), 1)
counts = bbpe.Counting().task("gpt2").spec
table = bbpe.core.count.PretokenTable()
for word in words:
    table.add(word.encode(), 1)
del words
counts = bbpe.PretokenCounts.of_table(table, counts)
before = resident_bytes()
try:
    bbpe.train_from_counts(counts, 20_000, max_memory=before + 1)
    told = 0.0
except bbpe.MemoryLimitError as error:
    number, unit = re.search(r"needs about ([\\d.]+) ([MG])B", str(error)).groups()
    told = float(number) * (1e6 if unit == "M" else 1e9)
Path("/proc/self/clear_refs").write_text("5")
bbpe.train_from_counts(counts, 20_000)
peak = int(re.search(r"VmHWM:\\s*(\\d+)", Path("/proc/self/status").read_text())[1]) << 10
print(told / 1e6, peak / 1e6)
"""


@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
def test_merging_takes_what_the_error_says() -> None:
    code = NEEDS.replace("import bbpe\n", "import bbpe, bbpe.counting.counts, bbpe.core.count\n", 1)
    done = subprocess.run([sys.executable, "-c", code], env=package_env(), capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    told, peak = map(float, done.stdout.split())
    assert peak <= told * 1.02
    # what it says would be of no use if it were much too much
    assert told < 2.5 * peak


def test_the_plan_expects_pretokens_that_the_heads_do_not_have(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("pyarrow")
    monkeypatch.setattr(count_options, "_BLOCK", 10_000)
    (tmp_path / "a.txt").write_text(" ".join(f"{number:06}" for number in range(100_000)))
    seen: list[Any] = []
    counts = bbpe.count(tmp_path / "a.txt", pattern="whitespace", max_memory="4GB", progress=seen.append)
    found = re.search(r"about ([\d,]+) unique pretokens of ([\d.]+) ([kM])B expected", seen[0].note)
    assert found is not None, seen[0].note
    expected = int(found[1].replace(",", ""))
    size = float(found[2]) * {"k": 1e3, "M": 1e6}[found[3]]
    assert len(counts) / 4 < expected < len(counts) * 2
    assert 6 * expected == pytest.approx(size, rel=0.1)


def test_the_plan_reads_the_beginning_of_a_file_alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What comes after the first block is expected to be as new as text that hardly repeats, not read twice."""
    pytest.importorskip("pyarrow")
    monkeypatch.setattr(count_options, "_BLOCK", 10_000)
    (tmp_path / "a.txt").write_text("see my dogs first " * 40_000)
    seen: list[Any] = []
    counts = bbpe.count(tmp_path / "a.txt", pattern="whitespace", max_memory="4GB", progress=seen.append)
    assert len(counts) == 4
    assert f"about {int(4 * (720_000 / 10_000) ** 0.8)} unique pretokens" in seen[0].note


# -- caches --------------------------------------------------------------------------------------------


@pytest.fixture
def cache_limit() -> Any:
    tok = bbpe.train_from_iterator(["a"], 256)
    before = tok.cache_info().limit
    yield lambda: tok.cache_info().limit
    bbpe.set_cache_limit(before)


@pytest.mark.parametrize(
    ("given", "limit"),
    [(0, 0), (1, 1), (5_000_000, 5_000_000), ("1GB", 10**9), ("64 MiB", 64 << 20), ("1.5kB", 1500), ("512", 512)],
)
def test_the_cache_limit_is_a_size(given: Any, limit: int, cache_limit: Any) -> None:
    bbpe.set_cache_limit(given)
    assert cache_limit() == limit


@pytest.mark.parametrize(
    ("given", "error", "said"),
    [
        (-1, ValueError, "-1"),
        ("many", ValueError, "'many' is no size.*such as '4GB'"),
        ("-1GB", ValueError, "'-1GB' is no size"),
        (2**63, ValueError, r"9223372036854775808 bytes; expected less than 2\*\*63"),
        (2**70, ValueError, r"expected less than 2\*\*63"),
        (1.5, TypeError, "not float"),
        (True, TypeError, "not bool"),
        (False, TypeError, "not bool"),
        (None, TypeError, "not NoneType"),
    ],
)
def test_what_is_no_cache_limit(given: Any, error: type[Exception], said: str, cache_limit: Any) -> None:
    before = cache_limit()
    with pytest.raises(error, match=said):
        bbpe.set_cache_limit(given)
    assert cache_limit() == before
