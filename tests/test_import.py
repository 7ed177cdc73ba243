"""What `import bbpe` costs, and that public names are where the package says."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

import bbpe

TIMED = """
import sys, time
import numpy, regex
start = time.process_time()
import bbpe
sys.stdout.write(str(time.process_time() - start))
"""


#: Each first call, and what it imported.
FIRST_CALLS = """
import sys
import bbpe
tok = bbpe.load(sys.argv[1])
text = "some words in a row, " * 60_000
texts = [text, text[:50], "", text]
calls = {
    "encode": lambda: tok.encode(text),
    "encode_to_numpy": lambda: tok.encode_to_numpy(text, threads=2),
    "encode_batch": lambda: tok.encode_batch(texts, threads=2),
    "encode_batch_to_numpy": lambda: tok.encode_batch_to_numpy(texts, threads=2),
    "count_tokens_batch": lambda: tok.count_tokens_batch(texts, threads=2),
    "decode": lambda: tok.decode(ids),
    "decode_batch": lambda: tok.decode_batch([ids, ids[:9]], threads=2),
}
for name, call in calls.items():
    before = set(sys.modules)
    ids = call()
    print(name, *sys.modules.keys() - before)
    ids = tok.encode(text)
"""


def fresh(code: str, *args: str) -> str:
    return subprocess.run([sys.executable, "-c", code, *args], check=True, capture_output=True, text=True).stdout


def test_importing_is_quick() -> None:
    """At most 25 ms beyond numpy and regex; the least of three, as the machine may be busy."""
    assert min(float(fresh(TIMED)) for _ in range(3)) <= 0.025


def test_importing_imports_no_room() -> None:
    rooms = fresh("import sys, bbpe; print(*sorted(name for name in sys.modules if name.startswith('bbpe.')))")
    # the registry of views alone
    assert rooms.split() == ["bbpe.lazy"]


def test_loading_leaves_training_alone() -> None:
    code = "import sys, bbpe; bbpe.load; print(*sorted(name for name in sys.modules if name.startswith('bbpe.')))"
    rooms = set(fresh(code).split())
    assert "bbpe.tokenizer" in rooms
    assert not rooms & {"bbpe.training.train", "bbpe.counting.count", "bbpe.counting.spill", "bbpe.compat.classic"}


def test_first_calls_import_nothing(tmp_path: Path) -> None:
    """Not even parts of numpy that it imports when they are asked for, for 10 ms."""
    path = tmp_path / "tokenizer.json"
    bbpe.train_from_iterator(["some words in a row"], 270, pattern="cl100k").save(path)
    called = [line.split() for line in fresh(FIRST_CALLS, str(path)).splitlines()]
    assert len(called) == 7
    assert [line for line in called if len(line) > 1] == []


@pytest.mark.parametrize("name", bbpe.__all__)
def test_names_are_there(name: str) -> None:
    assert getattr(bbpe, name) is not None
    assert name in dir(bbpe)


def test_the_table_has_all_names() -> None:
    assert sorted(bbpe._MODULE_OF) == sorted(bbpe.__all__)


def test_an_unknown_name_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="no attribute 'trian'"):
        bbpe.trian  # noqa: B018
