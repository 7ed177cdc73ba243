"""A wheel has every module of the package and every file that one reads."""

from __future__ import annotations

import re
import runpy
import subprocess
import sys
import zlib
from pathlib import Path

import pytest
from house import PACKAGE, ROOT
from processes import package_env
from setuptools import Distribution
from setuptools.command.build_py import build_py
from setuptools.config.pyprojecttoml import apply_configuration

import bbpe.core


def shipped(monkeypatch: pytest.MonkeyPatch) -> set[Path]:
    """The files of the folder bbpe that a wheel contains, without the compiled modules."""
    monkeypatch.chdir(ROOT)
    distribution = Distribution({"script_name": "setup.py"})
    apply_configuration(distribution, ROOT / "pyproject.toml")
    distribution.include_package_data = False  # else a manifest is written
    command = build_py(distribution)
    command.ensure_finalized()
    modules = {Path(path) for _, _, path in command.find_all_modules()}
    data = {Path(folder, name) for _, folder, _, names in command.data_files or () for name in names}
    return {path.resolve() for path in modules | data}


def test_a_wheel_has_every_module_and_file(monkeypatch: pytest.MonkeyPatch) -> None:
    built = {".c", ".so", ".pyd", ".pyx"}
    written = {path for path in PACKAGE.rglob("*") if path.is_file() and "__pycache__" not in path.parts}
    written = {path for path in written if path.suffix not in built and path.name != "README.md"}
    assert written - shipped(monkeypatch) == set()


def test_a_wheel_is_small(monkeypatch: pytest.MonkeyPatch) -> None:
    compiled = Path(bbpe.core._FILE).read_bytes()
    if any(mark in compiled for mark in (b"__asan_init", b"__gcov_init", b".debug_info")):
        pytest.skip("a build for tests, which has more in it")
    files = [compiled, *(path.read_bytes() for path in shipped(monkeypatch))]
    assert sum(len(zlib.compress(data, 6)) for data in files) < 3_100_000


def test_the_check_of_wheels_passes() -> None:
    """It runs alone where wheels are built, and would otherwise be out of date unnoticed."""
    environment = package_env()
    command = [sys.executable, str(ROOT / "tests" / "smoke.py")]
    done = subprocess.run(command, capture_output=True, text=True, env=environment, timeout=120)
    assert (done.returncode, done.stderr) == (0, "")
    assert re.fullmatch(r"bbpe .* works, with the instructions '\w+'\n", done.stdout)


@pytest.mark.parametrize(
    ("kind", "compilers", "said"),
    [
        ("msvc", {"clang-cl": ""}, "{folder}/clang-cl"),
        ("msvc", {}, "bbpe needs clang-cl, and cl.exe alone was found; add 'C++ Clang tools for Windows'"),
        ("mingw32", {"gcc": "gcc (GCC) 14.2.0 Copyright (C) 2024 Free Software Foundation, Inc."}, "use Clang"),
        ("mingw32", {"gcc": "clang version 19.1.7"}, "None"),
    ],
)
def test_on_windows_only_compilers_that_work_are_used(
    kind: str, compilers: dict[str, str], said: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, version in compilers.items():
        (tmp_path / name).write_text(f"#!/bin/sh\necho '{version}'\n", "utf-8")
        (tmp_path / name).chmod(0o755)
    monkeypatch.chdir(ROOT)
    choose = runpy.run_path("setup.py", run_name="setup")["windows_compiler"]
    for name, value in {"PATH": str(tmp_path), "CC": "", "VCINSTALLDIR": ""}.items():
        monkeypatch.setenv(name, value)
    try:
        found = str(choose(kind))
    except SystemExit as error:
        found = str(error.code)
    assert said.format(folder=tmp_path) in found
