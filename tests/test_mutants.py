"""What `make mutants` plants: faults that a slip could make, and nothing in what is no behaviour."""

from __future__ import annotations

import ast
import contextlib
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any, cast

import pytest
from mutant_build import Build
from mutant_edits import edits_of
from mutant_forks import UNPLANTED, Forks, plant
from mutants import Copy, tried

PYTHON = '''
"""Words: a < b and 1."""
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    SIZE = 5


def first(texts: list[str | int], most: int = 3) -> int:
    """Up to 9."""
    if not texts and most > 1:
        raise ValueError(f"{most + 1} of 7")
    assert most < 9
    for _ in zip(texts, texts, strict=True):
        return len(texts)
    raise AssertionError("4")
'''
CYTHON = '''
cdef enum:
    LARGE = 7


cdef size_t take(const uint8_t[::1] data not None, size_t n):
    """n < 5."""
    cdef size_t i
    i = n + 2  # n - 4
    return i
'''
C = """
#include "base/common.h"
/* i < 5;
   i = 6; */
enum {
    FEW = 8,
};

static size_t next(size_t i, size_t n) {
    size_t unset;
    BBPE_ASSERT(i < n);
    if (i == n) return 0;
    return i + 1;
}
"""


@pytest.mark.parametrize(
    ("path", "source", "planted"),
    [
        (
            "a.py",
            PYTHON,
            {
                "most = 3", "most: int = 4", "most: int = 2", "not (not texts and most > 1)", "if True:", "if False:",
                "not texts or most > 1", "bool(texts)", "most >= 1", "most > 2", "most > 0", "pass", "return None",
                "return (len(texts) + 1)",
            },
        ),
        ("a.pyx", CYTHON, {"i = n - 2", "i = n + 3", "pass", "return 0"}),
        ("a.c", C, {"if (i != n)", "if (!(i == n))", "if (0)", "== n) return 1;", "i - 1", "i + 2", "return 0;"}),
    ],
)  # fmt: skip
def test_faults_are_planted_in_code_alone(path, source, planted):
    edits = edits_of(path, source)
    lines = {line for edit in edits for line in edit.applied(source).splitlines()} - set(source.splitlines())
    for text in planted:
        assert any(text in line for line in lines), text
    for line in lines:
        assert any(text in line for text in planted), line


def test_code_for_another_system_has_no_faults(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.platform", "linux")
    parts = {
        "#if defined(_WIN32)": "a", "#elif defined(__linux__) || defined(__APPLE__)": "b", "#else": "c",
        "#endif\n#if defined(__linux__) && defined(X)": "d", "#ifdef BBPE_CHECKED": "e", "#else ": "f",
        "#endif\n#ifdef OTHER": "g", "#endif": "h", "#else  ": "i", "#endif ": "j",
    }  # fmt: skip
    source = "".join(f"{line}\nint {name}(void) {{\n    return {name}_ + 1;\n}}\n" for line, name in parts.items())
    lines = {source.split("\n")[edit.line - 1].strip() for edit in edits_of("a.c", source)}
    assert lines == {f"return {name}_ + 1;" for name in "bdfghj"}


def test_a_module_with_a_fault_is_a_module():
    path = Path(__file__).resolve().parents[1] / "bbpe/files.py"
    source = path.read_text("utf-8")
    edits = edits_of("bbpe/files.py", source)
    assert len(edits) > 200
    for edit in edits[::5]:
        ast.parse(edit.applied(source))
        assert edit.applied(source) != source


def test_a_function_gets_the_code_of_its_changed_source(tmp_path: Path) -> None:
    before = (
        "from functools import cache\n"
        "@cache\n"
        "def outer(n):\n"
        "    def inner():\n"
        "        return n + 1\n"
        "    return inner() if n < 3 else 0\n"
        "class Some:\n"
        "    def method(self):\n"
        "        return [n * 2 for n in (1, 2)]\n"
    )
    path = str(tmp_path / "module.py")
    faults = [
        ("n + 1", "n - 1", (1, 0, [2, 4])), ("n < 3", "n < 3 and False", (0, 0, [2, 4])),
        ("n * 2", "n * 3", (3, 0, [3, 6])), ("return [", "self = None\n        return [9] + [", (3, 0, [9, 2, 4])),
    ]  # fmt: skip
    for old, new, value in faults:
        names: dict[str, Any] = {}
        exec(compile(before, path, "exec"), names)
        functions = [names["outer"].__wrapped__, names["Some"].method]
        plant(functions, path, before, before.replace(old, new))
        assert (names["outer"](2), names["outer"](4), names["Some"]().method()) == value
        names["outer"].cache_clear()
        plant(functions, path, before.replace(old, new), before)
        assert (names["outer"](2), names["outer"](4), names["Some"]().method()) == (3, 0, [2, 4])


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
def test_tests_run_in_forks(tmp_path: Path) -> None:
    (tmp_path / "tests").mkdir()
    source = (
        "def least(a, b):\n    return a if a < b else b\n"
        "class Some(dict):\n    def __init__(self):\n        super().__init__(a=1)\n"
    )
    (tmp_path / "some.py").write_text(source)
    (tmp_path / "tests/test_some.py").write_text(
        "import os, time\n"
        "import pytest\n"
        "import some\n"
        "@pytest.mark.parametrize('n', [1, 2])\n"
        "def test_least(n, tmp_path):\n"
        "    assert some.least(n, 2) == n\n"
        "def test_more():\n"
        "    assert some.least(3, 1) == 1\n"
        "def test_that_ends():\n"
        "    if some.least(1, 2) != 1:\n"
        "        os._exit(3)\n"
    )
    support = str(Path(__file__).parent / "support")
    environment = os.environ | {"PYTHONPATH": os.pathsep.join([str(tmp_path), support]), "PYTHONDONTWRITEBYTECODE": "1"}
    tests = {f"tests/test_some.py::{name}": 0.1 for name in ("test_least", "test_more", "test_that_ends")}
    forks = Forks(tmp_path, tmp_path / "forks", environment)
    try:
        assert forks.run(tests) == ""
        changed = source.replace("a < b", "a > b")
        assert forks.run(tests, "some.py", source, changed) == "tests/test_some.py::test_least[1]"
        last = "tests/test_some.py::test_that_ends"
        assert forks.run({last: 0.1}, "some.py", source, changed) == f"{last} ended the process"
        assert forks.run({}, "some.py", source, changed) == ""
        # a function without `super()` has no closure: it cannot take the place of one that has
        assert forks.run(tests, "some.py", source, source.replace("super().__init__(a=1)", "pass")) == UNPLANTED
        assert forks.run(tests) == ""
    finally:
        forks.close()


def test_a_case_that_ends_its_process_is_named(tmp_path: Path) -> None:
    (tmp_path / "tmp").mkdir()
    (tmp_path / "test_some.py").write_text(
        "import os\n"
        "def test_first():\n"
        "    pass\n"
        "def test_that_ends():\n"
        "    os.abort()\n"
        "def test_that_fails():\n"
        "    assert False\n"
    )
    copy = object.__new__(Copy)  # a copy of the checkout takes seconds
    copy.root = copy.room = tmp_path
    support = str(Path(__file__).parent / "support")
    copy.environment = os.environ | {"PYTHONPATH": support, "PYTHONDONTWRITEBYTECODE": "1"}
    names = {name: f"test_some.py::test_{name}" for name in ("first", "that_ends", "that_fails")}
    for chosen, noticed in (
        (("first",), ""),
        (("first", "that_ends", "that_fails"), f"{names['that_ends']} ended the process"),
        (("that_fails", "that_ends"), names["that_fails"]),
    ):
        assert copy._in_a_process({names[name]: 0.1 for name in chosen}) == noticed


def test_what_a_build_replaces_is_kept_outside_of_the_package(tmp_path: Path) -> None:
    """A file more in the package makes a test fail whatever the fault is."""
    module = tmp_path / "bbpe/core/some.so"
    module.parent.mkdir(parents=True)
    module.write_bytes(b"before")
    build = Build(tmp_path)
    for _ in range(2):
        kept = build._kept([module.relative_to(tmp_path)])
        assert [path.name for path in module.parent.iterdir()] == ["some.so"]
        module.write_bytes(b"after")
        build.restore(kept)
        assert module.read_bytes() == b"before"


class TriedCopy:
    """A copy in which one test fails after others with a fault and without it, and another one notices the fault."""

    def __init__(self, noticing: list[str]) -> None:
        self.noticing = noticing

    @contextlib.contextmanager
    def planted(self, edit: Any, source: str) -> Iterator[None]:
        yield

    def noticed_by(self, tests: dict[str, float], edit: Any, source: str) -> str:
        if "flaky" in tests and len(tests) > 1:
            return "flaky"
        return next((f"{name}[case]" for name in tests if name in self.noticing), "")

    def is_due_to(self, edit: Any, source: str, test: dict[str, float]) -> bool:
        return True


@pytest.mark.parametrize(("noticing", "outcome", "by"), [(["one"], "caught", "one[case]"), ([], "survived", "")])
def test_a_test_that_fails_only_after_others_notices_nothing(noticing: list[str], outcome: str, by: str) -> None:
    edit = edits_of("a.c", C)[0]
    result = tried(cast("Any", TriedCopy(noticing)), edit, C, {"first": 1.0, "flaky": 1.0, "one": 1.0})
    assert (result.outcome, result.noticed, "flaky" in result.ran) == (outcome, by, False)
