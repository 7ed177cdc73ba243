"""Every example in the documentation runs."""

from __future__ import annotations

import doctest
import importlib
import pkgutil
import re
from pathlib import Path

import pytest

import bbpe

README = Path(__file__).resolve().parent.parent / "README.md"
MODULES = [module.name for module in pkgutil.walk_packages(bbpe.__path__, "bbpe.") if module.name != "bbpe.__main__"]


@pytest.mark.parametrize("name", ["bbpe", *MODULES])
def test_docstrings(name: str) -> None:
    module = importlib.import_module(name)
    failed, _ = doctest.testmod(module, extraglobs={"bbpe": bbpe})
    assert failed == 0


def test_the_readme(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    blocks = re.findall(r"```python\n(.*?)```", README.read_text("utf-8"), flags=re.DOTALL)
    assert blocks
    monkeypatch.chdir(tmp_path)
    for block in blocks:
        exec(compile(block, str(README), "exec"), {})
