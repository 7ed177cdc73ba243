"""What `import bbpe` costs, and that public names are where the package says."""

from __future__ import annotations

import subprocess
import sys

import pytest

import bbpe

TIMED = """
import sys, time
import numpy, regex
start = time.process_time()
import bbpe
sys.stdout.write(str(time.process_time() - start))
"""


def fresh(code: str) -> str:
    return subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True).stdout


def test_importing_is_quick() -> None:
    """At most 25 ms beyond numpy and regex; the least of three, as the machine may be busy."""
    assert min(float(fresh(TIMED)) for _ in range(3)) <= 0.025


def test_importing_imports_no_room() -> None:
    rooms = fresh("import sys, bbpe; print(*sorted(name for name in sys.modules if name.startswith('bbpe.')))")
    assert rooms.split() == []


def test_loading_leaves_training_alone() -> None:
    code = "import sys, bbpe; bbpe.load; print(*sorted(name for name in sys.modules if name.startswith('bbpe.')))"
    rooms = set(fresh(code).split())
    assert "bbpe.tokenizer" in rooms
    assert not rooms & {"bbpe.training", "bbpe.counting", "bbpe.tally", "bbpe.compat.classic"}


@pytest.mark.parametrize("name", bbpe.__all__)
def test_names_are_there(name: str) -> None:
    assert getattr(bbpe, name) is not None
    assert name in dir(bbpe)


def test_the_table_has_all_names() -> None:
    assert sorted(bbpe._ROOM_OF) == sorted(bbpe.__all__)


def test_an_unknown_name_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="no attribute 'trian'"):
        bbpe.trian  # noqa: B018
