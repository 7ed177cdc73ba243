"""A report of `lint` as a collection: its findings by check, and their numbers by severity."""

from __future__ import annotations

from typing import Any

import pytest

from bbpe.report.findings import Finding, LintReport


def finding(check: str, severity: Any) -> Finding:
    return Finding(check, severity, 1, f"message of {check}", "why", "advice")


FOUND = [finding("twins", "info"), finding("rare", "warning"), finding("long", "info")]
REPORT = LintReport("small", 300, tuple(FOUND))


def test_findings_are_found_by_their_check() -> None:
    assert (list(REPORT), len(REPORT)) == (FOUND, 3)
    assert [REPORT[check] for check in ("long", "twins", "rare")] == [FOUND[2], FOUND[0], FOUND[1]]
    assert [check in REPORT for check in ("long", "twins", "unused", 3)] == [True, True, False, False]
    with pytest.raises(KeyError, match="unused"):
        REPORT["unused"]


def test_findings_are_counted_by_severity() -> None:
    assert [REPORT.count(severity) for severity in ("error", "warning", "info")] == [0, 1, 2]
    wrong: Any = "fatal"
    with pytest.raises(ValueError, match=r"^severity is 'fatal'; expected 'error', 'warning' or 'info'"):
        REPORT.count(wrong)
