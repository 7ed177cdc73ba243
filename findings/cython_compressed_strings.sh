#!/usr/bin/env bash
# Cython 3.3.1: compressing a module's strings makes the wheel larger.
#
# Cython keeps names, docstrings and messages of a module in one block, which it compresses by default (LZSS), and puts a
# function that expands it into each module. The file on disk gets smaller. A wheel is a ZIP file, and what is compressed
# once cannot be compressed again as well: with -DCYTHON_COMPRESS_STRINGS=0 the file is larger and the wheel smaller.
# With -Wall each module then warns of that function: it is written all the same, and nothing calls it.
#
# Seen (five modules of Python 3.11.7's standard library, GCC 12.2.0, -Os; bytes on disk and at ZIP's level 9):
#   default                      1,231,664 on disk      516,074 in a wheel
#   CYTHON_COMPRESS_STRINGS=0    1,260,336 on disk      502,481 in a wheel
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
python3 -m venv env
env/bin/pip install --quiet --disable-pip-version-check "cython==3.3.1" "setuptools==84.2.1"
env/bin/python - <<'PYTHON'
import shlex
import subprocess
import sysconfig
import zlib
from pathlib import Path

from Cython.Build import cythonize

NAMES = "calendar configparser csv difflib fractions".split()
library, include = Path(sysconfig.get_path("stdlib")), sysconfig.get_path("include")
for name in NAMES:
    Path(f"{name}.py").write_bytes((library / f"{name}.py").read_bytes())
cythonize([f"{name}.py" for name in NAMES], language_level=3, quiet=True)
compiler = [*shlex.split(sysconfig.get_config_var("CC") or "cc"), "-shared", "-fPIC", "-Os", "-DNDEBUG", "-s", f"-I{include}"]
seen = {}
for options in ([], ["-DCYTHON_COMPRESS_STRINGS=0"]):
    built = []
    for name in NAMES:
        subprocess.run([*compiler, *options, f"{name}.c", "-o", "built.so"], check=True)
        built.append(Path("built.so").read_bytes())
    seen[bool(options)] = sum(map(len, built)), sum(len(zlib.compress(data, 9)) for data in built)
    kind = options[0].removeprefix("-D") if options else "default"
    print(f"{kind:<26} {seen[bool(options)][0]:>11,} on disk  {seen[bool(options)][1]:>11,} in a wheel")
warned = subprocess.run(
    [*compiler, "-Wall", "-DCYTHON_COMPRESS_STRINGS=0", "csv.c", "-o", "built.so"], capture_output=True, text=True
).stderr
print(*(line for line in warned.splitlines() if "DecompressString" in line and "warning" in line), sep="\n")
assert seen[True][0] > seen[False][0] and seen[True][1] < seen[False][1], seen
assert "-Wunused-function" in warned, warned
PYTHON
