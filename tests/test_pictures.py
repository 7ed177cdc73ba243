"""The pictures of terminals, and of plans, show what the commands print and plan today."""

from __future__ import annotations

import re
from importlib.util import find_spec
from pathlib import Path

import pictures
import pytest

ROOT = Path(__file__).resolve().parent.parent
PAGES = [ROOT / "README.md", *(ROOT / "docs").rglob("*.md")]


@pytest.mark.parametrize("name", ["show", "trace", "lint", "table", "plan"])
def test_a_drawing(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for package in ("rich", "bpe_openai"):
        if find_spec(package) is None:
            pytest.skip(f"{package} is not installed")
    known = (pictures.FOLDER / f"{name}.svg").read_text("utf-8")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(pictures, "FOLDER", tmp_path)
    pictures.PICTURES[name]()
    assert (tmp_path / f"{name}.svg").read_text("utf-8") == known, "run `make pictures`"


def test_every_picture_is_shown_and_every_one_that_is_shown_is_there() -> None:
    shown = {
        (page.parent / path).resolve()
        for page in PAGES
        for path in re.findall(r"!\[[^\]]+\]\(([^)]+\.(?:svg|png))\)", page.read_text("utf-8"))
    }
    assert {path for path in shown if not path.exists()} == set()
    assert {path.resolve() for path in pictures.FOLDER.iterdir()} <= shown
    assert {path.stem for path in pictures.FOLDER.iterdir()} == pictures.PICTURES.keys()
