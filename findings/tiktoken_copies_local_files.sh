#!/usr/bin/env bash
# tiktoken 0.14.0: load_tiktoken_bpe("ranks.tiktoken") of a file of your own goes on with its first content after it changed.
#
# The function keeps a copy of what it reads, below a hash of the address, so that nothing is downloaded twice. A path on
# this machine is an address too: the copy is found before the file is opened again. So a vocabulary that was trained anew
# under the same name gives the ids of the old one, in the same process and in later ones, without a word. With expected_hash=
# the copy is checked; TIKTOKEN_CACHE_DIR="" turns copies off.
#
# Seen (Python 3.11):
#   first file: 256 tokens, and later 257: the second reading has 256
#   TIKTOKEN_CACHE_DIR is empty:
#   first file: 256 tokens, and later 257: the second reading has 257
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet --disable-pip-version-check tiktoken==0.14.0
cat > "$folder/see.py" <<'PYTHON'
import base64
import sys
from pathlib import Path

from tiktoken.load import load_tiktoken_bpe

path, expected = Path("ranks.tiktoken"), int(sys.argv[1])
tokens = [bytes([value]) for value in range(256)]
found = []
for more in ([], [b"ab"]):
    rows = [f"{base64.b64encode(token).decode()} {rank}\n" for rank, token in enumerate(tokens + more)]
    path.write_text("".join(rows))
    found.append(len(load_tiktoken_bpe(str(path))))
print(f"first file: {found[0]} tokens, and later 257: the second reading has {found[1]}")
if found != [256, expected]:
    sys.exit(f"the behaviour has changed: expected 256 and {expected}")
PYTHON
cd "$folder"
mkdir tmp
TMPDIR="$folder/tmp" venv/bin/python see.py 256
echo "TIKTOKEN_CACHE_DIR is empty:"
TIKTOKEN_CACHE_DIR="" venv/bin/python see.py 257
