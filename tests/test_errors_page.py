"""The page on errors has every class and every message, with a cause and a cure."""

from __future__ import annotations

import re
import sys
from pathlib import Path
from typing import Any

import pytest
from test_messages import ROWS, TOK

import bbpe

ROOT = Path(__file__).resolve().parent.parent
PAGE = (ROOT / "docs" / "errors.md").read_text("utf-8")
sys.path.insert(0, str(ROOT / "docs" / "extensions"))

import hooks  # noqa: E402


def test_every_class_has_a_section_with_cause_and_cure() -> None:
    sections = re.split(r"^## ", PAGE, flags=re.MULTILINE)
    for name in hooks.error_classes().keys() - {"BBPEError"}:
        (section,) = (each for each in sections if name in each.partition("\n")[0])
        assert "**Cause:**" in section, name
        assert "**Cure:**" in section, name
    assert set(hooks.error_classes()) <= set(re.findall(r"^\| `(\w+)` \|", hooks.errors_page(PAGE), re.MULTILINE))


def test_every_message_stands_in_one_section_and_no_section_is_empty() -> None:
    marks = hooks.owners(PAGE)
    used = [hooks.owner(each, marks) for each in hooks.known_messages()]
    assert len(used) > 600
    assert [each for each, mark in zip(hooks.known_messages(), used, strict=True) if mark is None] == []
    assert set(marks.values()) - set(used) == set()
    modules = [module for _, module in marks]
    assert [name for name in modules if not (ROOT / name).exists()] == []


@pytest.mark.parametrize("number", [
    number for number, (_, kind, _) in enumerate(ROWS) if issubclass(kind, bbpe.BBPEError)
])  # fmt: skip
def test_what_calls_raise_is_on_the_page(number: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    TOK.save("t.json")
    Path("empty").mkdir()
    call: Any = ROWS[number][0]
    with pytest.raises(bbpe.BBPEError) as caught:
        call()
    kind = type(caught.value).__name__
    assert any(each.kind == kind and each.matches(str(caught.value)) for each in hooks.known_messages())


SOURCE = '''
def failed(path: str, problem: str) -> CorpusError:
    return CorpusError(f"{path}: {problem}")


def read(path: str, count: int) -> None:
    problem = f"the file has {counted(count, 'odd line')}; expected none"
    raise CorpusError(f"{path}: {problem}")


def written(path: str) -> None:
    raise failed(path, "another program writes the file" if path else f"{path!r} is written by another program")
'''


def test_messages_are_found_in_variables_and_through_helpers(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import messages

    (tmp_path / "bbpe").mkdir()
    (tmp_path / "bbpe" / "a.py").write_text(SOURCE)
    (tmp_path / "bbpe" / "b.pyx").write_text(
        'cdef int look(int n) except -1:\n    raise CorpusError(f"{n:d} is an odd number of rows") from None\n'
    )
    monkeypatch.setattr(messages, "ROOT", tmp_path)
    assert [(each.found, each.way) for each in messages.messages({"CorpusError"})] == [
        ("FILE: the file has …", "expected none"),
        ("another program writes the file", ""),
        ("… is written by another program", ""),
        ("… is an odd number of rows", ""),
    ]
