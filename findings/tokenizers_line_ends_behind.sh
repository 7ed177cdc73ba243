#!/usr/bin/env bash
# tokenizers 0.23.3: \R in a look-behind is the two characters CR LF alone; a lone CR or LF is not found there.
#
# Outside of look-behinds, \R in the regex of a Split (Oniguruma) is any line end. So `(?<=\R)a` splits after CR LF only,
# and `(?<!\R)a` splits after a lone LF. The same set spelled out, `(?<=\r\n|[\n\r])a`, and an alternative of another
# length, `(?<=x|\R)a`, find all of them. No error, no warning.
#
# Seen (Python 3.11), the pieces of "1\na", "1\ra" and "1\r\na":
#   tokenizers 0.23.3
#   \Ra                 ['1', '\na']     ['1', '\ra']     ['1', '\r\na']
#   (?<=\R)a            ['1\na']         ['1\ra']         ['1\r\n', 'a']
#   (?<!\R)a            ['1\n', 'a']     ['1\r', 'a']     ['1\r\na']
#   (?<=\r\n|[\n\r])a   ['1\n', 'a']     ['1\r', 'a']     ['1\r\n', 'a']
#   (?<=x|\R)a          ['1\n', 'a']     ['1\r', 'a']     ['1\r\n', 'a']
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet --disable-pip-version-check tokenizers==0.23.3
cat > "$folder/see.py" <<'PYTHON'
import sys

import tokenizers
from tokenizers import Regex
from tokenizers.pre_tokenizers import Split

texts = ("1\na", "1\ra", "1\r\na")
whole, cut = [[text] for text in texts], [[text[:-1], "a"] for text in texts]
expected = {
    r"\Ra": [["1", text[1:]] for text in texts],
    r"(?<=\R)a": [*whole[:2], cut[2]],
    r"(?<!\R)a": [*cut[:2], whole[2]],
    r"(?<=\r\n|[\n\r])a": cut,
    r"(?<=x|\R)a": cut,
}
print("tokenizers", tokenizers.__version__)
changed = False
for regex, pieces in expected.items():
    seen = [[piece for piece, _ in Split(Regex(regex), "isolated").pre_tokenize_str(text)] for text in texts]
    print(f"{regex:19}", *(f"{row!s:16}" for row in seen))
    changed |= seen != pieces
if changed:
    sys.exit("the behaviour has changed")
PYTHON
"$folder/venv/bin/python" "$folder/see.py"
