"""Write what the examples of pages print under them.

    python tests/support/page_outputs.py PAGE.md [PAGE.md ...]

The examples of a page run one after another in an empty folder and share what they define, as the tests run them.  A
block `text` directly under an example has what it prints.  Examples in tabs, which need other libraries, are left
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
from typing import Any

#: An example that is not in a tab, and the text under it.
EXAMPLE = re.compile(r"^```python\n(.*?)^```\n(\n```text\n.*?^```\n)?", re.DOTALL | re.MULTILINE)


def with_outputs(page: str, name: str) -> str:
    """Return a page whose examples have what they print."""
    space: dict[str, Any] = {}

    def run(found: re.Match[str]) -> str:
        with redirect_stdout(StringIO()) as shown:
            # no name of a file, whose lines somebody could look up
            code = compile(found[1], f"{name}, an example", "exec")
            try:
                exec(code, space)
            except ModuleNotFoundError as error:
                sys.stderr.write(f"{name}: left as it is: {error}\n{found[1]}\n")
                return found[0]
        under = f"\n```text\n{shown.getvalue()}```\n" if shown.getvalue() else ""
        return f"```python\n{found[1]}```\n{under}"

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
