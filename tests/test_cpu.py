"""Threads that go on on another processor."""

import os
import threading

import pytest

from bbpe.core.cpu import cpu_here, leave_cpu, yield_cpu
from bbpe.parallel import together

pytestmark = pytest.mark.skipif(not hasattr(os, "sched_setaffinity"), reason="needs affinities")


@pytest.fixture
def allowed() -> set[int]:
    """The processors of this thread, of which there are two or more."""
    cpus = os.sched_getaffinity(0)
    if len(cpus) < 2:
        pytest.skip("needs two processors")
    return cpus


def in_thread(cpus: set[int], cpu: int) -> tuple[int, set[int]]:
    """Where a thread is that begins on the first of some processors and leaves one, and where it may run then."""
    found = []

    def run() -> None:
        os.sched_setaffinity(0, {min(cpus)})  # it is there when this returns
        os.sched_setaffinity(0, cpus)
        leave_cpu(cpu)
        found.append((cpu_here(), os.sched_getaffinity(0)))

    thread = threading.Thread(target=run)
    thread.start()
    thread.join()
    return found[0]


def test_a_thread_may_run_where_it_might_before(allowed: set[int]) -> None:
    for cpu in {min(allowed), max(allowed), -1, 1 << 20}:
        here, after = in_thread(allowed, cpu)
        assert here in allowed
        assert after == allowed


def test_a_thread_leaves(allowed: set[int]) -> None:
    pairs = [set(sorted(allowed)[:2])] * 20
    left = [in_thread(cpus, min(cpus))[0] == max(cpus) for cpus in pairs]
    assert sum(left) > 10  # the system may move it back


def test_a_thread_with_one_processor_stays(allowed: set[int]) -> None:
    for cpu in allowed:
        assert in_thread({cpu}, cpu) == (cpu, {cpu})


def test_yielding_is_harmless() -> None:
    yield_cpu()
    assert cpu_here() in os.sched_getaffinity(0)


def test_threads_that_work_together_may_run_anywhere(allowed: set[int]) -> None:
    masks: list[set[int]] = []
    together(lambda number: masks.append(os.sched_getaffinity(0)), 4, print)
    assert masks == [allowed] * 4
