"""A wheel has every module of the package and every file that one reads."""

from __future__ import annotations

import random
import re
import runpy
import subprocess
import sys
import sysconfig
import tomllib
import zipfile
import zlib
from pathlib import Path

import pytest
from house import PACKAGE, ROOT
from processes import package_env
from setuptools import Distribution
from setuptools.command.build_py import build_py
from setuptools.config.pyprojecttoml import apply_configuration

import bbpe.core

sys.path.append(str(ROOT / "tests"))
import first_screen
import wheels


def shipped(monkeypatch: pytest.MonkeyPatch) -> set[Path]:
    """The files of the folder bbpe that a wheel contains, without the compiled modules."""
    monkeypatch.chdir(ROOT)
    distribution = Distribution({"script_name": "setup.py"})
    apply_configuration(distribution, ROOT / "pyproject.toml")
    assert distribution.include_package_data is False, "a wheel would have all of MANIFEST.in"
    command = build_py(distribution)
    command.ensure_finalized()
    modules = {Path(path) for _, _, path in command.find_all_modules()}
    data = {Path(folder, name) for _, folder, _, names in command.data_files or () for name in names}
    return {path.resolve() for path in modules | data}


def test_a_wheel_has_every_module_and_file(monkeypatch: pytest.MonkeyPatch) -> None:
    built = {".c", ".so", ".pyd", ".pyx", ".pxd"}
    written = {path for path in PACKAGE.rglob("*") if path.is_file() and "__pycache__" not in path.parts}
    written = {path for path in written if path.suffix not in built and path.name != "README.md"}
    assert written - shipped(monkeypatch) == set()


def test_a_wheel_is_small(monkeypatch: pytest.MonkeyPatch) -> None:
    compiled = Path(bbpe.core._FILE).read_bytes()
    if any(mark in compiled for mark in (b"__asan_init", b"__gcov_init", b".debug_info")):
        pytest.skip("a build for tests, which has more in it")
    paths = shipped(monkeypatch)
    # beside its contents a file takes 76 bytes and its name twice, and a line in RECORD with a digest; then the README
    beside = sum(76 + 2 * len(str(path.relative_to(ROOT))) + 50 for path in paths) + 8_000
    files = [compiled, *(path.read_bytes() for path in paths)]
    most = wheels.limit(Path(f"bbpe-1-cp311-cp311-{sysconfig.get_platform().replace('-', '_').replace('.', '_')}.whl"))
    assert sum(len(zlib.compress(data, 9)) for data in files) + beside < most


def test_the_numbers_that_bound_wheels_are_those_that_are_told() -> None:
    for name in (".github/workflows/wheels.yml", "docs/platforms.md", "CHANGELOG.md"):
        lines = re.findall(".*[Ww]heel.* MB.*", (ROOT / name).read_text("utf-8"))
        told = set(re.findall(r"\b[0-9.]+ MB", " ".join(lines)))
        assert told == {f"{size / 1e6:.1f} MB" for size in wheels.LIMITS.values()}, name


@pytest.mark.parametrize(
    ("platform", "most"),
    [("manylinux_2_28_aarch64", 2_700_000), ("musllinux_1_2_x86_64", 2_700_000), ("win_arm64", 3_000_000),
     ("macosx_11_0_arm64", 3_000_000)],
)  # fmt: skip
def test_a_wheel_has_no_more_bytes_than_is_told_for_its_platform(platform: str, most: int, tmp_path: Path) -> None:
    path = tmp_path / f"bbpe-1-cp315-cp315t-{platform}.whl"
    for more, fault in (0, []), (1, [f"has {most + 1:,} bytes, more than {most:,}"]):
        with zipfile.ZipFile(path, "w") as archive:
            archive.writestr("bbpe/core/_compiled.so", b"")
            archive.writestr("bbpe/big", b"")
        size = path.stat().st_size
        with zipfile.ZipFile(path, "w") as archive:
            archive.writestr("bbpe/core/_compiled.so", b"")
            archive.writestr("bbpe/big", bytes(most - size + more))
        assert wheels.faults(path) == fault


def wheel(folder: Path, **files: bytes) -> Path:
    path = folder / "bbpe-1-cp311-cp311-linux_x86_64.whl"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, data in {"bbpe/core/_compiled.so": b"", **files}.items():
            archive.writestr(name, data)
    return path


@pytest.mark.parametrize(
    ("files", "said"),
    [
        ({}, []),
        ({"bbpe/big": random.Random(1).randbytes(2_700_000)}, ["bytes, more than 2,700,000"]),
        ({"bbpe/core/split.so": b""}, ["has not one compiled file"]),
        ({"bbpe/core/split.pyx": b"", "tests/test_a.py": b""}, ["has bbpe/core/split.pyx", "has tests/test_a.py"]),
        ({"bbpe/core/split.pxd": b""}, ["has bbpe/core/split.pxd"]),
    ],
)
def test_wheels_with_faults_are_not_published(
    files: dict[str, bytes], said: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    found = wheels.faults(wheel(tmp_path, **files))
    assert len(found) == len(said)
    assert all(part in fault for part, fault in zip(said, found, strict=True))
    assert wheels.main(str(tmp_path)) == bool(said)
    assert all(part in capsys.readouterr().out for part in said[:1])


def test_a_folder_without_wheels_is_a_fault(tmp_path: Path) -> None:
    assert wheels.main(str(tmp_path)) == 1


def test_the_check_of_wheels_passes() -> None:
    """It runs alone where wheels are built, and would otherwise be out of date unnoticed."""
    environment = package_env()
    command = [sys.executable, str(ROOT / "tests" / "smoke.py")]
    done = subprocess.run(command, capture_output=True, text=True, env=environment, timeout=120)
    assert (done.returncode, done.stderr) == (0, "")
    assert re.fullmatch(r"bbpe .* works, with the instructions '\w+'\n", done.stdout)


def test_the_recipe_for_conda_requires_what_the_package_does() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))
    recipe = (ROOT / "conda/recipe.yaml").read_text("utf-8")
    assert f'  version: "{bbpe.__version__}"\n' in recipe
    assert f'  summary: "{project["project"]["description"]}"\n' in recipe
    required = {*project["project"]["dependencies"], *project["build-system"]["requires"]}
    required = {each.partition(";")[0].lower() for each in required}
    required |= {f"python{project['project']['requires-python']}"}
    lines = re.findall(r"^ +(?:- |then: )(.*>=.*)$", recipe, re.MULTILINE)
    written = {line.replace(" ", "") for line in lines}
    assert written == required


def test_the_first_screen_of_the_readme_runs() -> None:
    program = first_screen.example((ROOT / "README.md").read_text("utf-8"))
    assert "".join(first_screen.pieces(program)) == "def import_name(self):\n    return None"


@pytest.mark.parametrize(
    ("compiler", "headers", "said"),
    [
        ("gcc", True, "None"),
        ("gcc -m64", True, "None"),
        ("absent-cc", True, "there is no C compiler 'absent-cc'; install a wheel"),
        ("gcc", False, "Python's headers are not installed: no {folder}/Python.h; install a wheel"),
    ],
)
def test_what_building_needs_is_said(
    compiler: str, headers: bool, said: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("gcc", "Python.h"):
        (tmp_path / name).write_text("#!/bin/sh\n", "utf-8")
        (tmp_path / name).chmod(0o755)
    if not headers:
        (tmp_path / "Python.h").unlink()
    monkeypatch.chdir(ROOT)
    monkeypatch.setenv("CC", compiler)
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setattr(sysconfig, "get_path", lambda name: str(tmp_path))
    setup = runpy.run_path("setup.py", run_name="setup")
    assert said.format(folder=tmp_path) in str(setup["what_is_missing"]())


def test_the_environment_s_options_replace_none_that_the_product_needs(monkeypatch: pytest.MonkeyPatch) -> None:
    """setuptools drops the interpreter's flags where CFLAGS is set, as builders of distributions do."""
    monkeypatch.chdir(ROOT)
    monkeypatch.setattr(sys, "platform", "linux")
    monkeypatch.setenv("CFLAGS", "-Wall")
    options = runpy.run_path("setup.py", run_name="setup")["options_of"]
    of_python = set((sysconfig.get_config_var("CFLAGS") or "").split())
    for source in ("csrc/encode/state.c", "bbpe/core/ids.pyx"):
        assert {"-DNDEBUG", "-fwrapv"} & of_python <= set(options(source))
        assert "-DNDEBUG" in options(source)
    monkeypatch.setenv("CFLAGS", "-fsanitize=undefined -DBBPE_CHECKED")
    checked = runpy.run_path("setup.py", run_name="setup")["options_of"]("csrc/encode/state.c")
    assert not {"-DNDEBUG", "-fwrapv"} & set(checked), "overflows and broken contracts would go unseen"


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
