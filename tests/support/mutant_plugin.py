"""A plugin of pytest for mutants.py, which starts each run of the tests with it.

With a folder in `MUTANTS_MEASURE` it measures: coverage.py notes the lines that each test function runs, here and in
processes that it starts, and a file in the folder gets the seconds and the outcome of each.  With a file in
`MUTANTS_TESTS`, of test functions and their seconds, only these run, in its order; a test that takes far longer ends
the process.  A file beside it names the case that runs, for a process that does not live to name it.
"""

from __future__ import annotations

import faulthandler
import json
import os
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

_MEASURE = os.environ.get("MUTANTS_MEASURE")
_TESTS = os.environ.get("MUTANTS_TESTS")
_BEGUN = Path(_TESTS).with_name("begun.txt") if _TESTS else None
#: By test function: its seconds, and whether every case of it has passed or was skipped.
_measured: dict[str, list[Any]] = defaultdict(lambda: [0.0, True])
_listed: dict[str, float] = json.loads(Path(_TESTS).read_text("utf-8")) if _TESTS else {}


def function_of(nodeid: str) -> str:
    """The test function of a case, as all cases of one function are run together."""
    return nodeid.partition("[")[0]


def _processor() -> float:
    return sum(os.times()[:4])


_spent = _processor()


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_runtest_protocol(item: pytest.Item) -> Iterator[Any]:
    name = function_of(item.nodeid)
    if _MEASURE and os.environ.get("MUTANTS_CONTEXT") != name:
        import coverage

        os.environ["MUTANTS_CONTEXT"] = name
        coverage.Coverage.current().switch_context(name)  # type: ignore[union-attr]
    if _BEGUN:
        _BEGUN.write_text(item.nodeid, "utf-8")
        # a thread of C, so that a loop that holds the interpreter lock ends too
        faulthandler.dump_traceback_later(120 + 9 * _listed.get(name, 0), exit=True)
    result = yield
    if _BEGUN:
        faulthandler.cancel_dump_traceback_later()
        _BEGUN.unlink()
    return result


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport() -> Iterator[pytest.TestReport]:
    """A report with the seconds of the processor since the one before: of the clock they would depend on other load."""
    global _spent
    report = yield
    report.seconds, _spent = _processor() - _spent, _processor()
    return report


def pytest_runtest_logreport(report: pytest.TestReport) -> None:
    record = _measured[function_of(report.nodeid)]
    record[0] += report.seconds
    record[1] = record[1] and report.outcome != "failed"


def pytest_sessionfinish() -> None:
    if _MEASURE and "PYTEST_XDIST_WORKER" not in os.environ:
        Path(_MEASURE, "tests.json").write_text(json.dumps(_measured), "utf-8")


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    if _TESTS:
        order = {name: index for index, name in enumerate(_listed)}
        chosen = [item for item in items if function_of(item.nodeid) in order]
        items[:] = sorted(chosen, key=lambda item: order[function_of(item.nodeid)])
