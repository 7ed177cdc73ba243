"""Threads that go on on another processor."""

import os
import threading

import pytest

from bbpe.core.cpu import Place, yield_cpu
from bbpe.threads import run_threads

pytestmark = pytest.mark.skipif(not hasattr(os, "sched_setaffinity"), reason="needs affinities")


@pytest.fixture
def allowed() -> set[int]:
    """The processors of this thread, of which there are two or more."""
    cpus = os.sched_getaffinity(0)
    if len(cpus) < 2:
        pytest.skip("needs two processors")
    return cpus


def beside(place: Place, cpus: set[int]) -> tuple[int, set[int]]:
    """Where a thread is that was on the first of some processors and went beside a place, and where it may run then."""
    found = []

    def run() -> None:
        os.sched_setaffinity(0, {min(cpus)})  # it is there when this returns
        os.sched_setaffinity(0, cpus)
        place.beside()
        found.append((Place().cpu, os.sched_getaffinity(0)))

    thread = threading.Thread(target=run)
    thread.start()
    thread.join()
    return found[0]


def place_in(cpus: set[int]) -> Place:
    """The place of a thread that may run on these processors."""
    found = []

    def run() -> None:
        os.sched_setaffinity(0, cpus)
        found.append(Place())

    thread = threading.Thread(target=run)
    thread.start()
    thread.join()
    return found[0]


def test_a_thread_may_run_where_the_other_one_may(allowed: set[int]) -> None:
    for cpus in (allowed, {min(allowed)}, {max(allowed)}):
        for own in (allowed, {min(allowed)}, {max(allowed)}):
            cpu, after = beside(place_in(cpus), own)
            assert cpu in cpus
            assert after == cpus


def test_a_thread_goes_to_another_processor(allowed: set[int]) -> None:
    place = place_in(allowed)
    went = [beside(place, {place.cpu})[0] != place.cpu for _ in range(20)]
    assert sum(went) > 10  # the system may move it back


def test_with_one_processor_it_is_the_same(allowed: set[int]) -> None:
    for cpu in allowed:
        assert beside(place_in({cpu}), {cpu}) == (cpu, {cpu})


def test_yielding_is_harmless() -> None:
    yield_cpu()
    assert Place().cpu in os.sched_getaffinity(0)


def test_threads_that_work_together_run_where_the_caller_may(allowed: set[int]) -> None:
    """Those too that another caller has left."""
    for cpus in (allowed, {min(allowed)}, {max(allowed)}, allowed):
        os.sched_setaffinity(0, cpus)
        masks: list[set[int]] = []
        run_threads(lambda number, masks=masks: masks.append(os.sched_getaffinity(0)), 4, print)
        assert masks == [cpus] * 4
