"""What `make mutants` plants: faults that a slip could make, and nothing in what is no behaviour."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest
from mutant_edits import edits_of

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
