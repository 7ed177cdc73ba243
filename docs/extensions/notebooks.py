"""Notebooks as pages: their cells run when the site is built, and what they show stands under them."""

from __future__ import annotations

import ast
import json
import os
import tempfile
from contextlib import redirect_stdout
from io import StringIO
from pathlib import Path
from pprint import pformat
from typing import Any

#: The widest line of a shown value.
_WIDTH = 100


def page(path: Path) -> str:
    """Return a notebook as Markdown; a cell that fails ends the build."""
    parts, space = [], {"__name__": path.stem}
    before = Path.cwd()
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        try:
            for number, cell in enumerate(json.loads(path.read_text("utf-8"))["cells"], 1):
                source = "".join(cell["source"]).strip()
                if cell["cell_type"] == "markdown":
                    parts.append(source)
                else:
                    parts += [_fence(source, "python"), *_run(source, space, f"{path.name}, cell {number}")]
        finally:
            os.chdir(before)
    return "\n\n".join(parts) + "\n"


def _run(source: str, space: dict[str, Any], name: str) -> list[str]:
    """Run a cell, and return what it prints and what its last expression shows."""
    tree = ast.parse(source)
    last = tree.body.pop() if isinstance(tree.body[-1], ast.Expr) else None
    with redirect_stdout(StringIO()) as printed:
        exec(compile(tree, name, "exec"), space)
        value = eval(compile(ast.Expression(last.value), name, "eval"), space) if isinstance(last, ast.Expr) else None
    parts = [_fence(printed.getvalue().rstrip("\n"), "text")] if printed.getvalue() else []
    if value is not None:
        parts.append(_shown(value))
    return parts


def _shown(value: Any) -> str:
    """Return what a notebook shows of a value: its picture or table, or its text."""
    if not hasattr(value, "_repr_html_"):
        return _fence(pformat(value, width=_WIDTH, sort_dicts=False), "text")
    html: str = value._repr_html_()
    return html.replace("\n", " ")


def _fence(text: str, language: str) -> str:
    return f"```{language}\n{text}\n```"
