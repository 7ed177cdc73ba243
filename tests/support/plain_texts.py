"""Texts that tests write to files are the same on every system: UTF-8, with the ends of lines that they have.

On Windows `Path.write_text` takes an encoding of the country and writes "\\r\\n" for "\\n".  The package names both
wherever it writes, so this changes tests alone.
"""

from __future__ import annotations

import sys
from pathlib import Path


def use_plain_texts() -> None:
    """Change the defaults of `Path.write_text` and `Path.read_text` on Windows."""
    if sys.platform != "win32":
        return
    write, read = Path.write_text, Path.read_text

    def write_text(
        self: Path, data: str, encoding: str | None = "utf-8", errors: str | None = None, newline: str | None = "\n"
    ) -> int:
        return write(self, data, encoding, errors, newline)

    def read_text(self: Path, encoding: str | None = "utf-8", errors: str | None = None, **options: str | None) -> str:
        return read(self, encoding, errors, **options)

    Path.write_text, Path.read_text = write_text, read_text  # type: ignore[method-assign,assignment]
