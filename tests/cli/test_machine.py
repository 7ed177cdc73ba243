"""`bbpe inspect --machine`: what bbpe finds on a machine, without a tokenizer."""

from __future__ import annotations

import json
import os
import re
import sys
import tomllib
from importlib.metadata import version
from pathlib import Path
from typing import Any

import pytest
from commands import Call

import bbpe
from bbpe.budget import Limit
from bbpe.core.budget import CPU
from bbpe.records import replace
from bbpe.report.machine import PACKAGES, CacheFolder, Machine
from bbpe.threads import thread_count

PROJECT = Path(__file__).parents[2] / "pyproject.toml"
#: Extras that are for those who work on the package.
FOR_WORK = {"test", "bench", "cross", "dev", "docs"}


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A cache with two vocabularies and a file of tables."""
    tables = tmp_path / "bbpe/tables"
    tables.mkdir(parents=True)
    for path, size in ((tables.parent / "a.tiktoken", 1500), (tables.parent / "b.json", 700), (tables / "c", 2000)):
        path.write_bytes(bytes(size))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.delenv("BBPE_VOCABS", raising=False)
    monkeypatch.setattr("bbpe.report.machine.user_folder", lambda: tables)
    return tmp_path


def facts_of(call: Call) -> dict[str, object]:
    status, out, err = call("inspect --machine --json")
    assert (status, err) == (0, "")
    found: dict[str, object] = json.loads(out)
    return found


def test_the_facts(call: Call, home: Path) -> None:
    facts, folder = facts_of(call), home / "bbpe"
    assert facts["version"] == bbpe.__version__
    assert Path(str(facts["folder"])) == Path(bbpe.__file__).parent
    assert facts["python"] == f"CPython {'.'.join(map(str, sys.version_info[:3]))}"
    assert facts["simd"] == CPU
    assert (facts["cores"], facts["cores_of_machine"]) == (thread_count(None), os.cpu_count())
    assert facts["cache_folders"] == [
        {"holds": "vocabularies", "path": str(folder), "files": 2, "bytes": 2200},
        {"holds": "tables", "path": str(folder / "tables"), "files": 1, "bytes": 2000},
    ]
    packages = facts["packages"]
    assert isinstance(packages, dict)
    assert packages["numpy"] == version("numpy")


@pytest.mark.parametrize("enabled", [True, False, None])
def test_the_lock_of_the_interpreter(enabled: bool | None, call: Call, monkeypatch: pytest.MonkeyPatch) -> None:
    """Python before 3.13 does not say that it has one."""
    if enabled is None:
        monkeypatch.delattr(sys, "_is_gil_enabled", raising=False)
    else:
        monkeypatch.setattr(sys, "_is_gil_enabled", lambda: enabled, raising=False)
    assert facts_of(call)["interpreter_lock"] is (enabled is not False)


def test_what_a_screen_shows(call: Call, home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("bbpe.report.machine.PACKAGES", ("numpy", "no-such-package"))
    monkeypatch.setattr("bbpe.report.machine.system_limit", lambda: Limit(4 * 10**9, "the memory limit of a group"))
    monkeypatch.setattr("bbpe.report.machine.user_folder", lambda: home / "none")
    monkeypatch.setattr("bbpe.cli.inspect.line_columns", lambda: 1000)  # paths may be long
    status, out, _ = call("inspect --machine")
    lines = {line[:16].strip(): line[17:] for line in out.splitlines()}
    assert (status, len(lines)) == (0, len(out.splitlines()))
    assert lines["simd"] == CPU
    assert lines["cores"] == f"{thread_count(None)} of {os.cpu_count()}"
    assert lines["memory_limit"] == "4.0 GB, the memory limit of a group"
    assert re.fullmatch(r".*bbpe: 2 files, 2\.2 kB", lines["vocabularies"])
    assert lines["tables"] == f"{home / 'none'}: not there"
    assert lines["packages"] == f"numpy {version('numpy')}"
    assert lines["not_installed"] == "no-such-package"


@pytest.mark.parametrize(
    ("changes", "name", "shown"),
    [
        ({}, "bbpe", "1.2 in /lib/bbpe"),
        ({}, "python", "CPython 3.14.1, /bin/python"),
        ({"interpreter_lock": False}, "python", "CPython 3.14.1 without the interpreter's lock, /bin/python"),
        ({}, "platform", "Linux-6"),
        ({}, "simd", "avx2"),
        ({}, "cores", "2 of 8"),
        ({"cores_of_machine": None}, "cores", "2 of an unknown number"),
        ({}, "memory_limit", "2.5 GB, a limit"),
        ({"memory_limit": None, "memory_limit_of": None}, "memory_limit", "none"),
        ({}, "vocabularies", "/a: 1 file, 700 bytes"),
        ({}, "tables", "/b: not there"),
        ({}, "packages", "numpy 2.1, ray 3"),
        ({}, "not_installed", "gguf"),
        ({"packages": {"numpy": "2.1"}}, "not_installed", "nothing"),
    ],
)
def test_each_fact_has_its_line(changes: dict[str, Any], name: str, shown: str) -> None:
    facts = Machine(
        version="1.2", folder="/lib/bbpe", python="CPython 3.14.1", executable="/bin/python", interpreter_lock=True,
        platform="Linux-6", simd="avx2", cores=2, cores_of_machine=8, memory_limit=2_500_000_000,
        memory_limit_of="a limit", packages={"numpy": "2.1", "gguf": None, "ray": "3"},
        cache_folders=[CacheFolder("vocabularies", "/a", 1, 700), CacheFolder("tables", "/b", None, None)],
    )  # fmt: skip
    lines = list(replace(facts, **changes).lines())
    assert dict(lines)[name] == shown
    assert [each for each, _ in lines] == [
        "bbpe", "python", "platform", "simd", "cores", "memory_limit", "vocabularies", "tables", "packages",
        "not_installed",
    ]  # fmt: skip


def test_folders_of_the_environment(call: Call, home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Those that BBPE_VOCABS names are searched instead; a user without a home has these alone."""
    monkeypatch.setenv("BBPE_VOCABS", os.pathsep.join([str(home / "bbpe/tables"), str(home / "none")]))
    monkeypatch.setattr("bbpe.report.machine.user_folder", lambda: None)
    found = facts_of(call)["cache_folders"]
    assert isinstance(found, list)
    assert [(each["holds"], each["files"]) for each in found] == [("vocabularies", 1), ("vocabularies", None)]
    monkeypatch.delenv("BBPE_VOCABS")
    assert facts_of(call)["cache_folders"] == []


def test_no_limit_of_memory(call: Call, home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("bbpe.budget._system_limits", lambda: iter(()))
    assert facts_of(call)["memory_limit"] is None
    monkeypatch.setattr("bbpe.budget._system_limits", lambda: iter((Limit(9, "a"), Limit(5, "b"), Limit(7, "c"))))
    facts = facts_of(call)
    assert (facts["memory_limit"], facts["memory_limit_of"]) == (5, "b")


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ("inspect", "there is nothing to inspect; expected FILE, or --machine"),
        ("inspect t.json --machine", "--machine is about no tokenizer; expected it without t.json"),
        ("inspect --machine --pattern gpt2", "--machine is about no tokenizer; expected it without --pattern"),
    ],
)
def test_wrong_usage(call: Call, words: str, said: str) -> None:
    assert call(words) == (2, "", f"bbpe: error: {said}\nsee `bbpe inspect --help`\n")


def test_every_package_of_an_extra_is_listed() -> None:
    project = tomllib.loads(PROJECT.read_text("utf-8"))["project"]
    extras = project["optional-dependencies"]
    needs = [*project["dependencies"], *(each for name in extras.keys() - FOR_WORK for each in extras[name])]
    assert {*PACKAGES} - {"torch"} == {re.split(r"[^\w-]", each)[0] for each in needs}
