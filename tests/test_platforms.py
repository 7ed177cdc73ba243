"""The record of platforms, and the page that shows it."""

from __future__ import annotations

import sys
import time
from dataclasses import replace
from pathlib import Path

import pytest

sys.path.append(str(Path(__file__).with_name("platforms")))
import interpreters
import record
import same_ids
from record import Count, Run
from trial import Interpreter, Outcome

COUNTS = {"core": Count(9, 1, 0)}
RUN = Run("Linux x86-64", "3.12", "3.12.1", "pyenv", "Debian 12, gcc 12.2", "2026-11-29", True, 53, True, COUNTS)


def cell(table: str, platform: str, python: str) -> str:
    head, _, *rows = ([each.strip() for each in line.split("|")] for line in table.splitlines())
    return next(row for row in rows if row[1] == platform)[head.index(python)]


def test_the_page_shows_the_record():
    page = record.PAGE.read_text("utf-8")
    assert record.rendered(page, record.read()) == page, "python tests/platforms/record.py renders it"


@pytest.mark.parametrize(
    ("change", "word"),
    [
        ({}, "tested"),
        ({"tests": {}}, "smoke test"),
        ({"smoke": False}, "**fails**"),
        ({"compiled": False, "imported": None, "smoke": None, "tests": {}}, "**fails**"),
        ({"tests": {"core": Count(9, 0, 0), "encoding": Count(9, 0, 1)}}, "**fails**"),
        ({"tests": {"core": Count(9, 0, 2, 2)}}, "tested"),
        ({"same_ids": 20, "all_ids": 20}, "tested"),
        ({"same_ids": 19, "all_ids": 20}, "**fails**"),
    ],
)
def test_nothing_is_claimed_beyond_a_run(change, word):
    table = record.overview([replace(RUN, **change)])
    assert cell(table, "Linux x86-64", "3.12") == word
    assert "tested" not in table.replace(word, "")


def test_what_nobody_ran():
    table = record.overview([])
    for platform, name in record.PLATFORMS.items():
        for python in record.PYTHONS:
            said = cell(table, platform, python)
            planned = (platform, python) in record.built_by_workflow()
            assert said == ("by workflow only" if planned else "not tried"), name
    assert cell(table, "Linux x86-64", "3.12") == cell(table, "macOS Arm", "3.12") == "by workflow only"


def test_a_run_replaces_only_the_one_of_its_platform_and_python(tmp_path, monkeypatch):
    page = tmp_path / "platforms.md"
    page.write_text(record.PAGE.read_text("utf-8"), "utf-8")
    monkeypatch.setattr(record, "PAGE", page)
    monkeypatch.setattr(record, "RUNS", tmp_path / "runs.json")
    other, later = replace(RUN, python="3.11", version="3.11.7"), replace(RUN, date="2026-12-01", smoke=False)
    for run in (RUN, other, later):
        record.add(run)
    assert record.read() == [other, later]
    shown = page.read_text("utf-8")
    assert "2026-12-01" in shown
    assert "CPython 3.11.7, pyenv" in shown
    assert shown.count("| Debian 12, gcc 12.2; ") == 2


def test_totals_are_of_all_folders():
    run = replace(RUN, tests={"core": Count(1000, 2, 3, 1), "encoding": Count(234, 5, 6)}, note="no pyarrow")
    told = "| - | 1,234 passed, 7 skipped, 9 failed (1 of them expected): `core`, `encoding` |"
    assert told in record.details([run])
    assert "* Linux x86-64, 3.12.1: no pyarrow.\n" in record.details([run])


def test_skips_and_expected_failures_have_their_reasons():
    skips = {"no torch": 2, "this system": 1234}
    run = replace(RUN, skips=skips, limits={"a::b": "it rains", "c": "x", "d": "it rains"})
    shown = record.details([run])
    assert "* Linux x86-64, 3.12.1: skipped, by cause: this system 1,234, no torch 2.\n" in shown
    assert "* Linux x86-64, 3.12.1: expected to fail, because it rains: `a::b`, `d`.\n" in shown
    assert "because x: `c`" in shown


REPORT = """<testsuites><testsuite>
<testcase classname="tests.a" name="one"/>
<testcase classname="tests.a" name="two"><failure message="no"/></testcase>
<testcase classname="tests.a" name="three"><error message="no"/></testcase>
<testcase classname="tests.a" name="four"><skipped message="needs fork"/></testcase>
<testcase classname="" name="tests.c">
<skipped message="collection skipped">('/x/c.py', 9, "Skipped: could not import 'torch'")</skipped></testcase>
</testsuite></testsuites>"""


def test_a_report_of_pytest_is_counted(tmp_path, capsys):
    (tmp_path / "r.xml").write_text(REPORT)
    tests = Outcome({"tests.a::two": "it rains", "tests.a::one": "it passes"})
    tests.add("a", tmp_path / "r.xml")
    assert tests.counts == {"a": Count(1, 2, 2, 1)}
    assert (dict(tests.skips), tests.limits) == ({"this system": 1, "no torch": 1}, {"tests.a::two": "it rains"})
    assert capsys.readouterr().out == "  failed: tests.a::three\n"
    assert tests.to_run([tmp_path / "r.xml"]) == [record.ROOT / "tests/a.py"]
    # once more, after a repair
    unreadable = '<testsuite><testcase classname="" name="tests.b"><error/></testcase>'
    (tmp_path / "r.xml").write_text(REPORT.replace("<testsuite>", unreadable))
    assert tests.to_run([tmp_path / "r.xml"]) == [record.ROOT / "tests/b.py", record.ROOT / "tests/a.py"]
    (tmp_path / "s.xml").write_text(
        '<testsuite><testcase classname="tests.a" name="three"/><testcase classname="tests.b" name="x"/></testsuite>'
    )
    again = [tmp_path / "r.xml", tmp_path / "s.xml"]
    assert tests.to_run(again) == []
    tests = Outcome({"tests.a::two": "it rains"})
    tests.add("a", *again)
    assert tests.counts == {"a": Count(3, 2, 1, 1)}


@pytest.mark.parametrize("change", [{"platform": "Solaris"}, {"python": "3.10"}, {"date": "today"}])
def test_a_run_names_what_the_table_has(change):
    with pytest.raises(AssertionError, match=next(iter(change.values()))):
        replace(RUN, **change)


def test_a_program_that_leaves_another_one_behind_is_not_waited_for():
    code = "import os, subprocess, sys; print(7, flush=True)"
    code += "; subprocess.Popen([sys.executable, '-c', 'import time; time.sleep(20)']); os._exit(3)"
    interpreter = Interpreter("Linux x86-64", [sys.executable], "", "", {"A": "b"})
    start = time.monotonic()
    done = interpreter.run("-c", code)
    assert (done.returncode, done.stdout.split()[0]) == (3, "7")
    assert time.monotonic() - start < 15


@pytest.mark.full
def test_the_ids_of_the_corpora_are_those_recorded(tmp_path):
    """What `make wine` compares with; `python tests/platforms/same_ids.py` writes it anew."""
    found = list(same_ids.lines(tmp_path))
    if not found:
        pytest.skip("no corpora beside the checkout")
    assert found == same_ids.RECORDED.read_text("utf-8").splitlines()


def test_interpreters_are_all_by_default(monkeypatch: pytest.MonkeyPatch) -> None:
    """Those that are named, or each; a name that is none is refused."""
    tried: list[list[str]] = []
    monkeypatch.setattr(interpreters, "interpreters", lambda wanted: iter(tried.append(wanted) or ()))
    monkeypatch.setattr(interpreters, "_without_lock", list)
    for names in ([], ["3.12", "3.14"]):
        monkeypatch.setattr(sys, "argv", ["interpreters.py", *names])
        assert interpreters.main() == 0
    assert tried == [[], ["3.12", "3.14"]]
    monkeypatch.setattr(sys, "argv", ["interpreters.py", "2.7"])
    with pytest.raises(SystemExit):
        interpreters.main()
