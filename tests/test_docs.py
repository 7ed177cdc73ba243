"""Every example in the documentation runs."""

from __future__ import annotations

import ast
import doctest
import importlib
import pkgutil
import re
import textwrap
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

import bbpe

ROOT = Path(__file__).resolve().parent.parent
PAGES = sorted([ROOT / "README.md", *(ROOT / "docs").rglob("*.md")])
MODULES = [module.name for module in pkgutil.walk_packages(bbpe.__path__, "bbpe.") if module.name != "bbpe.__main__"]
#: What only some examples need; those that compare with other libraries, and the one that keeps counts.
OPTIONAL = {"tiktoken", "tokenizers", "sentencepiece", "gigatoken", "pyarrow", "google"}


def blocks_of(page: Path) -> list[str]:
    """The Python examples of a page, those in tabs too."""
    found = re.findall(r"^( *)```python\n(.*?)^\1```", page.read_text("utf-8"), flags=re.DOTALL | re.MULTILINE)
    return [textwrap.dedent(block) for _, block in found]


def missing(block: str) -> set[str]:
    """The optional packages that a block imports and that are not there."""
    names = set()
    for node in ast.walk(ast.parse(block)):
        if isinstance(node, ast.Import):
            names |= {alias.name.partition(".")[0] for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            names.add(node.module.partition(".")[0])
    return {name for name in names & OPTIONAL if find_spec(name) is None}


@pytest.mark.parametrize("name", ["bbpe", *MODULES])
def test_docstrings(name: str) -> None:
    module = importlib.import_module(name)
    failed, _ = doctest.testmod(module, extraglobs={"bbpe": bbpe})
    assert failed == 0


@pytest.mark.parametrize("page", [page for page in PAGES if blocks_of(page)], ids=lambda page: page.name)
def test_pages(page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The blocks of a page run one after another and share what they define; without a peer, its part is left out."""
    monkeypatch.chdir(tmp_path)
    space: dict[str, Any] = {}
    absent: set[str] = set()
    for number, block in enumerate(blocks_of(page), 1):
        absent |= missing(block)
        if not absent & {name for name in OPTIONAL if re.search(rf"\b{name}\b", block)}:
            exec(compile(block, f"{page.name}, example {number}", "exec"), space)


def test_the_readme_and_the_guides_have_examples() -> None:
    assert {page.name for page in PAGES if blocks_of(page)} >= {
        "README.md", "index.md", "training.md", "encoding.md", "migrating.md", "formats.md"
    }


def test_the_site_leads_to_every_page() -> None:
    nav = (ROOT / "mkdocs.yml").read_text("utf-8")
    listed = set(re.findall(r": ([\w/-]+\.md)$", nav, flags=re.MULTILINE))
    for name in listed:
        assert (ROOT / "docs" / name).is_file(), f"mkdocs.yml names {name}, which is not there"


def test_the_reference_has_every_public_name() -> None:
    pages = "".join(page.read_text("utf-8") for page in (ROOT / "docs" / "reference").glob("*.md"))
    named = set(re.findall(r"^::: bbpe\.(\w+)$", pages, flags=re.MULTILINE))
    assert {name for name in bbpe.__all__ if not name.endswith("Error")} - named == set()
    assert "errors" in named
