"""The gate of late imports: errors, exits and tracers pass it, and a property is made once."""

from __future__ import annotations

import subprocess
import sys
import textwrap

import pytest

from bbpe.lazy import lazy_property, safe_import


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
