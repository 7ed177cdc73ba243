"""All compiled modules are in one file, and each is found there by its name."""

from __future__ import annotations

import subprocess
import sys
from importlib import import_module
from importlib.util import find_spec

import pytest
from house import PACKAGE

import bbpe.core

NAMES = sorted(path.stem for path in (PACKAGE / "core").glob("*.pyx"))


def test_each_module_is_in_the_list_and_in_the_file() -> None:
    assert sorted(bbpe.core._MODULES) == NAMES
    for name in NAMES:
        module = import_module(f"bbpe.core.{name}")
        assert (module.__name__, module.__package__) == (f"bbpe.core.{name}", "bbpe.core")
        assert module.__file__ is not None
        assert module.__spec__ is not None


def test_there_is_no_other_module() -> None:
    assert find_spec("bbpe.core.nosuch") is None
    with pytest.raises(ModuleNotFoundError, match=r"^No module named 'bbpe\.core\.nosuch'$"):
        import_module("bbpe.core.nosuch")
    assert bbpe.core._Finder.find_spec("other.encoder") is None


def test_modules_are_found_after_the_package_is_imported_anew() -> None:
    code = """
import sys, bbpe
old = bbpe.train_from_iterator(["low"], vocab_size=257).encode("low")
for name in [name for name in sys.modules if name.partition(".")[0] == "bbpe"]:
    del sys.modules[name]
import bbpe.core.encoder
assert bbpe.train_from_iterator(["low"], vocab_size=257).encode("low") == old
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=False)
    assert (done.returncode, done.stderr) == (0, "")
