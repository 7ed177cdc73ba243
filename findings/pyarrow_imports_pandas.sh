#!/usr/bin/env bash
# pyarrow 26.0.1: the first pyarrow.array([1, 2, 3]) imports all of pandas if it is installed.
#
# No pandas object is in sight: a list of numbers is enough, as is pyarrow.chunked_array or pyarrow.array of a numpy array.
# `import pyarrow` alone does not. So the first array costs time and memory, in whichever process and thread makes it.
#
# Seen (Python 3.11, 2 cores, warm disk cache):
#   pandas absent, array of a list: pandas imported before False, after False; 0.9 ms, 5 MB
#   pandas installed, array of a list: pandas imported before False, after True; 242.5 ms, 59 MB
#   pandas installed, array of numpy: pandas imported before False, after True; 215.0 ms, 54 MB
#   pandas installed, chunked_array: pandas imported before False, after True; 217.9 ms, 59 MB
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
pip() { "$folder/venv/bin/pip" install --quiet --disable-pip-version-check "$@"; }
cat > "$folder/see.py" <<'PYTHON'
import importlib.util
import resource
import sys
import time

import numpy
import pyarrow

calls = {
    "array of a list": lambda: pyarrow.array([1, 2, 3]),
    "array of numpy": lambda: pyarrow.array(numpy.arange(3)),
    "chunked_array": lambda: pyarrow.chunked_array([[1, 2, 3]]),
}


def peak():
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * (1 if sys.platform == "darwin" else 1024) / 1e6


installed = importlib.util.find_spec("pandas") is not None
before, memory, start = "pandas" in sys.modules, peak(), time.perf_counter()
calls[sys.argv[1]]()
took, more, after = time.perf_counter() - start, peak() - memory, "pandas" in sys.modules
print(f"pyarrow {pyarrow.__version__}, pandas {'installed' if installed else 'absent'}, {sys.argv[1]}: "
      f"pandas imported before {before}, after {after}; {took * 1000:.1f} ms, {more:.0f} MB")
if before or after != installed:
    sys.exit("the behaviour has changed: the first array does not import pandas, or something imported it before")
PYTHON
pip pyarrow==26.0.1 numpy==2.4.6
"$folder/venv/bin/python" "$folder/see.py" "array of a list"
pip pandas==3.1.1
for call in "array of a list" "array of numpy" "chunked_array"; do
    "$folder/venv/bin/python" "$folder/see.py" "$call"
done
