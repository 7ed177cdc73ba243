#!/usr/bin/env bash
# regex 2026.11.19: a negated set of two members or more, an alternative beside `(?i:z)`, ignores case as well.
#
# The flag is written for `z` alone. With regex's default behaviour (V0) `[^xb]|(?i:z)` does not find "B" or "X", and
# `[^\p{Lu}\p{N}]|(?i:z)` finds no letter at all. V1 and the module `re` find them. A set of one member, one that is not
# negated, and a flag on more than one character (`q(?i:z)`) behave as written.
#
# Seen (Python 3.11), all matches in "aBbXxq":
#   regex 2026.11.19
#   [^xb]|(?i:z)           V0 ['a', 'q']    V1 ['a', 'B', 'X', 'q']    re ['a', 'B', 'X', 'q']
#   (?i:z)|[^xb]           V0 ['a', 'q']    V1 ['a', 'B', 'X', 'q']    re ['a', 'B', 'X', 'q']
#   [^xb]|q(?i:z)          V0 ['a', 'B', 'X', 'q']    V1 ['a', 'B', 'X', 'q']    re ['a', 'B', 'X', 'q']
#   [^\p{Lu}\p{N}]|(?i:z)  V0 []    V1 ['a', 'b', 'x', 'q']    re -
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet --disable-pip-version-check regex==2026.11.19
cat > "$folder/see.py" <<'PYTHON'
import re
import sys
from importlib.metadata import version

import regex

TEXT = "aBbXxq"
print("regex", version("regex"))
found = []
for pattern in (r"[^xb]|(?i:z)", r"(?i:z)|[^xb]", r"[^xb]|q(?i:z)", r"[^\p{Lu}\p{N}]|(?i:z)"):
    row = [regex.findall(pattern, TEXT), regex.findall(pattern, TEXT, regex.V1)]
    row.append("-" if r"\p" in pattern else re.findall(pattern, TEXT))
    print(f"{pattern:22} V0 {row[0]}    V1 {row[1]}    re {row[2]}")
    found.append(row)
written = ["a", "B", "X", "q"]
expected = [
    [["a", "q"], written, written],
    [["a", "q"], written, written],
    [written, written, written],
    [[], ["a", "b", "x", "q"], "-"],
]
sys.exit(found != expected)
PYTHON
"$folder/venv/bin/python" "$folder/see.py"
