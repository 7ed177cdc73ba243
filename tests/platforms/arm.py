"""Tries the package in Debian's Python for Arm, run by an emulator: `make arm`.

    python tests/platforms/arm.py [FOLDER ...]

Everything lies in build/arm: Python from Debian's packages, others from PyPI.  The package is compiled here by
Debian's cross compiler, for the Python version that runs this; modules are imported there, and the smoke test and
folders of tests run there.  An emulator is no Arm processor: this shows that the package works, not how fast.
"""

from __future__ import annotations

import argparse
import os
import platform
import re
import shutil
import subprocess
import sys
from pathlib import Path

from debian import Debian, NotThereError
from interpreters import requirements
from record import ROOT
from trial import Interpreter, newest_pip, recorded, run, try_out

PLACE = ROOT / "build/arm"
FOLDERS = ("core",)
_ROOT, _LIB = PLACE / "root", PLACE / "lib"
#: Where that Python looks for packages, whatever the environment of a process says.
_PACKAGES = _ROOT / "usr/lib/python3/dist-packages"
#: The release of Debian that has a Python.
_RELEASES = {"3.11": "bookworm", "3.13": "trixie"}
_PYTHON = f"{sys.version_info[0]}.{sys.version_info[1]}"
_TRIPLE = "aarch64-linux-gnu"
_COMPILER, _EMULATOR = f"{_TRIPLE}-gcc", "qemu-aarch64"
_TOOLS = f"gcc-{_TRIPLE} libc6-dev-arm64-cross qemu-user"
_NEEDED = ("numpy", "regex", "jinja2", "pytest", "hypothesis", "pytest-xdist", "psutil")
#: Packages whose tests are skipped without them.
_MORE = ("pyarrow", "zstandard", "tokenizers", "tiktoken")
#: Tests that may fail under qemu 7.2, each with the reason, which is not the package's.
_FORK = "qemu fails an assertion of its own in a child that starts a thread, if its parent had threads"
_FAULTS = "qemu counts page faults otherwise"
EXPECTED = {
    "tests.core.test_cache_memory::test_the_memory_of_lists_serves_the_next_ones": _FAULTS,
    "tests.core.test_cache_memory::test_the_memory_of_results_serves_the_next_ones": _FAULTS,
    "tests.core.test_limits::test_a_child_is_fit_whatever_threads_do_to_caches_at_the_fork": _FORK,
    "tests.core.test_parts::test_no_thread_waits_where_a_process_forks": _FORK,
    "tests.core.test_limits::test_huge_pages_are_asked_for_in_our_own_memory_alone": "qemu hands no advice on pages on",
}
_WHEELS = ("manylinux_2_28", "manylinux_2_27", "manylinux_2_24", "manylinux_2_17", "manylinux2014")


def check_tools() -> None:
    """Name what this machine lacks."""
    for tool in (_COMPILER, _EMULATOR):
        if shutil.which(tool) is None:
            raise NotThereError(f"there is no {tool}; on Debian: apt-get install {_TOOLS}")
    if _PYTHON not in _RELEASES:
        raise NotThereError(f"this is Python {_PYTHON}, and Debian has {', '.join(_RELEASES)}: run it with that")


def python() -> Path:
    """A program that starts the Python for Arm, and that it takes for itself: tests start others by that name."""
    program = PLACE / f"python{_PYTHON}"
    if not _ROOT.exists():
        debian = Debian(PLACE / "apt", _RELEASES[_PYTHON], "arm64")
        packages = (f"python{_PYTHON}", f"libpython{_PYTHON}-dev", "libstdc++6")
        debian.unpack(_ROOT.with_suffix(".partial"), *packages).rename(_ROOT)
    start = f'exec {_EMULATOR} -L {_ROOT} -0 {program} {_ROOT}/usr/bin/python{_PYTHON} "$@"'
    program.write_text(f"#!/bin/sh\nPYTHONHOME={_ROOT}/usr {start}\n", "utf-8")
    program.chmod(0o755)
    return program


def packages() -> list[str]:
    """Packages for Arm into one folder; those that there are not."""
    if not (PLACE / "missing").exists():
        needs, missing = requirements(), []
        wheels = [word for name in _WHEELS for word in ("--platform", f"{name}_aarch64")]
        options = ("install", "--quiet", "--target", _PACKAGES, "--upgrade", *wheels, "--python-version", _PYTHON,
                   "--only-binary", ":all:")  # fmt: skip
        run(*newest_pip(), *options, *(needs[name] for name in _NEEDED))
        for name in _MORE:
            try:
                run(*newest_pip(), *options, needs[name])
            except NotThereError:
                missing.append(name)
        (PLACE / "missing").write_text("\n".join(missing), "utf-8")
    return (PLACE / "missing").read_text("utf-8").split()


def compile_package() -> None:
    """Compile the package for Arm, as setup.py does it for a wheel where sysconfig speaks of that Python."""
    described = f"_sysconfigdata__{_TRIPLE}"
    place = PLACE / "sysconfig"
    place.mkdir(exist_ok=True)
    shutil.copy(_ROOT / f"usr/lib/python{_PYTHON}/{described}.py", place)
    headers = _ROOT / "usr/include"
    env = {
        **os.environ, "_PYTHON_HOST_PLATFORM": "linux-aarch64", "_PYTHON_SYSCONFIGDATA_NAME": described,
        "PYTHONPATH": str(place), "CC": _COMPILER, "LDSHARED": f"{_COMPILER} -shared",
        "CFLAGS": f"-I{headers}/python{_PYTHON} -I{headers}",
    }  # fmt: skip
    options = ("--build-base", PLACE / "build", "--build-lib", _LIB)
    run(sys.executable, "setup.py", "-q", "build", *options, env=env, log=PLACE / "build.log")


def _tools() -> str:
    """The system, and the versions of the compiler and the emulator."""
    found = [platform.freedesktop_os_release()["PRETTY_NAME"].partition(" (")[0]]
    for name, tool in (("gcc", _COMPILER), ("qemu", _EMULATOR)):
        told = subprocess.run([tool, "--version"], capture_output=True, text=True, check=True).stdout
        version = re.search(r"\d+(?:\.\d+)+", told)
        found.append(f"{name} {version[0] if version else '?'}")
    return ", ".join(found)


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("folder", nargs="*", help="folders of tests; what comes of these alone is not recorded")
    folders = parser.parse_args().folder
    PLACE.mkdir(parents=True, exist_ok=True)
    try:
        check_tools()
        program, missing = python(), packages()
        compile_package()
    except NotThereError as error:
        sys.stderr.write(f"{error}\n")
        return 1
    interpreter = Interpreter("Linux Arm", [str(program)], f"of Debian {_RELEASES[_PYTHON]}", _tools())
    note = f"no packages {', '.join(missing)}: their tests are skipped" if missing else ""
    options = ("--numprocesses", str(os.cpu_count() or 1))
    tried = try_out(interpreter, _LIB, PLACE, folders or FOLDERS, options=options, expected=EXPECTED, note=note)
    return "fails" in tried.outcome() if folders else not recorded(tried)


if __name__ == "__main__":
    sys.exit(main())
