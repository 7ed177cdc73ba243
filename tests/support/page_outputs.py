"""Write what the examples of pages print under them.

    python tests/support/page_outputs.py PAGE.md [PAGE.md ...]

The examples of a page run one after another in an empty folder and share what they define, as the tests run them.  A
block `text` directly under an example has what it prints.  Examples that need a library which is not installed are left
alone.
"""

from __future__ import annotations

import os
import re
import sys
import tempfile
from contextlib import redirect_stdout
from io import StringIO
from pathlib import Path
from textwrap import dedent, indent
from typing import Any

#: An example, which is indented in a tab, and the text under it.
EXAMPLE = re.compile(r"^( *)```python\n(.*?)^\1```\n(\n\1```text\n.*?^\1```\n)?", re.DOTALL | re.MULTILINE)


def with_outputs(page: str, name: str) -> str:
    """Return a page whose examples have what they print."""
    space: dict[str, Any] = {}

    def run(found: re.Match[str]) -> str:
        with redirect_stdout(StringIO()) as shown:
            # no name of a file, whose lines somebody could look up
            code = compile(dedent(found[2]), f"{name}, an example", "exec")
            try:
                exec(code, space)
            except ModuleNotFoundError as error:
                sys.stderr.write(f"{name}: left as it is: {error}\n{found[2]}\n")
                return found[0]
        printed = indent(shown.getvalue(), found[1], lambda line: line != "\n")
        under = f"\n{found[1]}```text\n{printed}{found[1]}```\n" if printed else ""
        return f"{found[1]}```python\n{found[2]}{found[1]}```\n{under}"

    # tiktoken keeps copies of files by the path that is given, and would read those of an earlier state of a page
    os.environ["TIKTOKEN_CACHE_DIR"] = ""
    before = Path.cwd()
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        try:
            return EXAMPLE.sub(run, page)
        finally:
            os.chdir(before)


def main() -> int:
    """Write the pages that are named."""
    for path in map(Path, sys.argv[1:]):
        path.write_text(with_outputs(path.read_text("utf-8"), path.name), "utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
