"""What the first screen of the README shows, with bbpe as it is installed: `python tests/first_screen.py`."""

from __future__ import annotations

import ast
import contextlib
import io
import os
import re
import tempfile
from pathlib import Path

import bbpe


def example(readme: str) -> str:
    """The first program of the README, which needs no network."""
    found = re.search(r"^## Try it\n.*?^```python\n(.*?)^```\n", readme, re.MULTILINE | re.DOTALL)
    assert found is not None, "the README has no program under 'Try it'"
    return found[1]


def pieces(program: str) -> list[str]:
    """What a program prints, in a folder of its own: the pieces of a text."""
    said, here = io.StringIO(), Path.cwd()
    with tempfile.TemporaryDirectory() as folder, contextlib.redirect_stdout(said):
        os.chdir(folder)
        try:
            exec(program, {})
            assert bbpe.load("tokenizer.json").vocab_size == 8_000
        finally:
            os.chdir(here)
    return list(ast.literal_eval(said.getvalue()))


if __name__ == "__main__":
    readme = next(path for folder in Path(__file__).resolve().parents if (path := folder / "README.md").exists())
    program = example(readme.read_text("utf-8"))
    found = pieces(program)
    # where the cuts are depends on the version of Python, whose source the program learns from
    assert ast.literal_eval(re.findall(r'pieces\((".*?")\)', program)[-1]) == "".join(found), found
    assert len(found) < 20, found
    print(f"bbpe {bbpe.__version__} in {Path(bbpe.__file__).parent} runs the first screen of {readme.name}: {found}")
