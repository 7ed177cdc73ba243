#!/usr/bin/env bash
# rich 15.0.0: a picture of a terminal (`Console.export_svg`) presses Chinese, Japanese and Korean text together.
#
# A wide character takes two columns. rich counts two when it decides where the next text begins, and one when it tells the
# viewer how long the text itself is (`textLength` of SVG). So a viewer squeezes the text to half of its width, and a gap of
# the same size follows. Text in the terminal, and `export_html`, are right.
#
# Seen (Python 3.11), with a width of 12.2 a column:
#   abcdef: 6 columns, begins at 0.0, the next text at 73.2, length told 73.2
#   你好世界: 8 columns, begins at 0.0, the next text at 97.6, length told 48.8
#   한국어: 6 columns, begins at 0.0, the next text at 73.2, length told 36.6
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet --disable-pip-version-check rich==15.0.0
cat > "$folder/see.py" <<'PYTHON'
import io
import re
import sys

from rich.cells import cell_len
from rich.console import Console
from rich.text import Text

squeezed = []
for text in ("abcdef", "你好世界", "한국어"):
    console = Console(record=True, width=20, file=io.StringIO())
    console.print(Text(text, style="red") + Text("|", style="blue"))
    rows = re.findall(r'x="([\d.]+)"[^>]*textLength="([\d.]+)"[^>]*>([^<]+)<', console.export_svg())
    at = {shown: (float(x), float(length)) for x, length, shown in rows}
    begin, length = at[text]
    print(f"{text}: {cell_len(text)} columns, begins at {begin}, the next text at {at['|'][0]}, length told {length}")
    squeezed.append(at["|"][0] / length)
if squeezed != [1, 2, 2]:
    sys.exit(f"the behaviour has changed: room by length told is {squeezed}, not 1, 2, 2")
PYTHON
"$folder/venv/bin/python" "$folder/see.py"
