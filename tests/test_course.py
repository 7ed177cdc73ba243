"""The notebooks of the course: each runs from the first cell to the last, and is kept without outputs."""

from __future__ import annotations

import ast
import json
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).resolve().parent.parent
NOTEBOOKS = sorted((ROOT / "examples" / "course").glob("*.ipynb"))


def test_there_are_four_chapters() -> None:
    page = (ROOT / "docs" / "course.md").read_text("utf-8")
    assert len(NOTEBOOKS) == 4
    assert all(path.name in page and f"(course/{path.stem}.md)" in page for path in NOTEBOOKS)


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_a_notebook(path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    cells = json.loads(path.read_text("utf-8"))["cells"]
    code = [cell for cell in cells if cell["cell_type"] == "code"]
    assert all(cell["outputs"] == [] and cell["execution_count"] is None for cell in code)
    # what the column of the site shows at 1300 pixels
    assert [line for cell in code for line in "".join(cell["source"]).splitlines() if len(line) > 88] == []
    space: dict[str, Any] = {}
    for number, cell in enumerate(code, 1):
        tree = ast.parse("".join(cell["source"]))
        last = tree.body.pop() if isinstance(tree.body[-1], ast.Expr) else None
        exec(compile(tree, f"{path.name}, cell {number}", "exec"), space)
        if last is not None:  # what a notebook shows
            shown = eval(compile(ast.Expression(last.value), f"{path.name}, cell {number}", "eval"), space)
            assert shown is not None or capsys.readouterr().out
            if hasattr(shown, "_repr_html_"):
                assert shown._repr_html_().startswith("<")
