"""The gate of late imports: errors, exits and tracers pass it, and a property is made once."""

from __future__ import annotations

import re
import subprocess
import sys
import textwrap
import threading

import pytest

from bbpe import lazy
from bbpe.lazy import in_gate, lazy_property, lazy_re, lazy_regex, safe_import


def run(code: str) -> str:
    """Run a script in a fresh process, and return what it prints."""
    command = [sys.executable, "-c", textwrap.dedent(code)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=30, check=False)
    assert (done.returncode, done.stderr) == (0, ""), done.stderr[-2000:]
    return done.stdout


def test_the_way_out_is_for_what_was_there():
    """A package that is not installed was never there: only modules of bbpe, numpy and regex ask for `warm_up`."""
    with pytest.raises(ImportError) as other:
        safe_import("no_such_module")
    assert not getattr(other.value, "__notes__", [])
    with pytest.raises(ImportError) as own:
        safe_import("numpy.no_such_module")
    assert "call tok.warm_up()" in own.value.__notes__[0]


def test_the_value_that_was_stored_first_is_kept():
    """Two threads may compute a value at once: both get one and the same."""

    class Owner:
        @lazy_property
        def value(self):
            self.__dict__.setdefault("value", "of another thread")
            return "mine"

    owner = Owner()
    assert owner.value == owner.value == "of another thread"
    assert isinstance(Owner.value, lazy_property)


def test_an_exit_within_an_import_is_an_exit():
    """It is raised where the import was asked for, and nobody waits for a thread that has ended."""
    code = """
        import sys
        from bbpe.lazy import in_gate
        try:
            in_gate(sys.exit)
        except SystemExit:
            print(in_gate(lambda: "goes on"))
    """
    assert run(code) == "goes on\n"


def test_what_is_imported_aside_is_traced():
    """By the tracer of threads, as coverage sets it."""
    code = """
        import threading
        from bbpe.lazy import in_gate
        seen = set()
        threading.settrace(lambda frame, event, argument: seen.add(frame.f_code.co_name))
        def imported(): return 1
        in_gate(imported)
        print("imported" in seen)
    """
    assert run(code) == "True\n"


def test_a_module_has_what_it_imports_while_it_is_imported(tmp_path, monkeypatch):
    """The gate is open within an import: the call is made there, and its result is that of the call."""
    lines = ["from bbpe.lazy import in_gate, safe_import", "found = safe_import('an_inner_module').value"]
    lines += ["called = in_gate(lambda: 'called')"]
    (tmp_path / "an_outer_module.py").write_text("\n".join(lines))
    (tmp_path / "an_inner_module.py").write_text("value = 7\n")
    monkeypatch.syspath_prepend(tmp_path)
    outer = safe_import("an_outer_module")
    assert (outer.found, outer.called) == (7, "called")
    for name in ("an_outer_module", "an_inner_module"):
        monkeypatch.delitem(sys.modules, name)


def test_the_thread_that_makes_a_call_of_the_gate():
    """Another one than the main thread, unless threads have little room; any other thread makes its calls itself."""
    here = threading.get_ident()
    before = threading.stack_size()
    try:
        least = 1 << 19
        for size, is_aside in ((0, True), (least // 2, False), (least - 4096, False), (least, True), (2 * least, True)):
            threading.stack_size(size)
            assert (in_gate(threading.get_ident) != here) is is_aside, size
    finally:
        threading.stack_size(before)
    found = []

    def work() -> None:
        found.append((in_gate(threading.get_ident) == threading.get_ident(), in_gate(lazy._GATE._is_owned)))

    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    assert found == [(True, True)]
    assert in_gate(lazy._GATE._is_owned)
    with pytest.raises(KeyError, match="mine"):
        in_gate(lambda: {}["mine"])
    assert not lazy._WAITED_FOR


def test_a_call_while_the_interpreter_ends(monkeypatch: pytest.MonkeyPatch) -> None:
    """It is made at once, or not at all if a thread was importing, which never goes on."""

    def is_free() -> bool:
        found: list[bool] = []

        def work() -> None:
            found.append(lazy._GATE.acquire(blocking=False))
            if found[0]:
                lazy._GATE.release()

        thread = threading.Thread(target=work)
        thread.start()
        thread.join()
        return found[0]

    held, ended = threading.Event(), threading.Event()

    def hold() -> None:
        with lazy._GATE:
            held.set()
            ended.wait()

    thread = threading.Thread(target=hold)
    called: list[str] = []
    monkeypatch.setattr(lazy.sys, "is_finalizing", lambda: True)
    here = threading.get_ident()
    assert in_gate(threading.get_ident) == here
    with pytest.raises(KeyError, match="mine"):
        in_gate(lambda: {}["mine"])
    monkeypatch.undo()
    assert is_free()
    thread.start()
    held.wait()
    monkeypatch.setattr(lazy.sys, "is_finalizing", lambda: True)
    try:
        with pytest.raises(ImportError, match=r"^bbpe cannot import any more: Python is shutting down; call warm_up"):
            in_gate(lambda: called.append("called"))
    finally:
        monkeypatch.undo()
        ended.set()
        thread.join()
    assert called == []
    assert is_free()


def test_regexes_that_are_compiled_when_they_are_used() -> None:
    """With their flags, of texts and of bytes."""
    for pattern, text, found in (
        (lazy_re("b.c"), "ab\nB\nc", None), (lazy_re("b.c", re.DOTALL | re.IGNORECASE), "aB\nc", "B\nc"),
        (lazy_regex("b.c"), "ab\nc", None), (lazy_regex("(?s)b.c"), "ab\nc", "b\nc"),
    ):  # fmt: skip
        match = pattern.search(text)
        assert (match and match[0]) == found
    assert lazy_re(b"b.", re.IGNORECASE).findall(b"aBcbb") == [b"Bc", b"bb"]
    wrong = lazy_re("(")
    with pytest.raises(re.error):
        wrong.search("a")
