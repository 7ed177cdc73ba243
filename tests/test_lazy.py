"""The gate of late imports: forks, signals, purged modules and exits leave nothing half imported."""

from __future__ import annotations

import ast
import sys
import textwrap
from functools import cache
from pathlib import Path

import first_calls
import pytest
from fresh import needs_fork, run
from house import MODULES

from bbpe.lazy import in_gate, lazy_re, safe_import

SUPPORT = Path(first_calls.__file__).parent
#: Modules that import late without the gate: commands have a process of their own, and the reference imports nothing.
WITHOUT_GATE = ("__main__", "cli.", "reference", "lazy")


@cache
def imports_of(path: Path) -> list[tuple[int, list[str], list[str]]]:
    """Late imports of a file: the line, what they import, and what `safe_import` had imported in the lines before."""
    found = []
    for function in ast.walk(ast.parse(path.read_text("utf-8"))):
        if not isinstance(function, ast.FunctionDef):
            continue
        for block in ast.walk(function):
            for body in (getattr(block, name, None) for name in ("body", "orelse", "finalbody")):
                gated = []
                for node in body if isinstance(body, list) else ():
                    call = node.value if isinstance(node, ast.Expr) else None
                    if isinstance(call, ast.Call) and getattr(call.func, "id", "") == "safe_import":
                        gated += [each.value for each in call.args[:1] if isinstance(each, ast.Constant)]
                    if isinstance(node, (ast.Import, ast.ImportFrom)):
                        found.append((node.lineno, wanted(node, path), gated))
    return found


def wanted(node: ast.Import | ast.ImportFrom, path: Path) -> list[str]:
    if isinstance(node, ast.Import):
        return [alias.name for alias in node.names]
    package = ["bbpe", *path.relative_to(SUPPORT.parents[1] / "bbpe").parts[:-1]]
    parts = package[: len(package) - node.level + 1] if node.level else []
    module = ".".join([*parts, *(node.module.split(".") if node.module else ())])
    inner = [f"{module}.{alias.name}" for alias in node.names]
    known = [name for name in inner if {name[5:], f"{name[5:]}.__init__"} & MODULES.keys()]
    return known or [module]


def test_late_imports_are_written_with_the_gate():
    wrong = []
    for path in (path for name, path in MODULES.items() if not name.startswith(WITHOUT_GATE)):
        for line, modules, gated in imports_of(path):
            if not {*modules} <= {*gated}:
                wrong.append(f"{path}:{line}: call safe_import for {modules} before")
    assert wrong == []


#: Each first call in a child of its own, and the modules that a call imports past the gate.
PAST_THE_GATE = """
    import os, sys
    from pathlib import Path
    if sys.argv[1] == "with":
        import concurrent.futures.thread, hashlib, json, logging, numpy, regex
    import bbpe, first_calls
    from bbpe import lazy

    past, is_armed = set(), False
    def hook(event, arguments):
        if event == "import" and is_armed and not lazy._GATE._is_owned() and arguments[0] != "threading":
            past.add(arguments[0])

    sys.addaudithook(hook)
    calls = {**first_calls.METHODS, **first_calls.FILES, **first_calls.FUNCTIONS}
    for name, call in list(calls.items())[:: int(sys.argv[2])]:
        child = os.fork()
        if not child:
            tok = first_calls.load(Path()) if call is not first_calls.FUNCTIONS["load"] else None
            is_armed = True
            call(tok, Path())
            is_armed = False
            if past:
                print(name, *sorted(past), flush=True)
            os._exit(0)
        assert not os.waitpid(child, 0)[1], name
"""


FULL = [pytest.param(libraries, "1", marks=pytest.mark.full) for libraries in ("with", "without")]


@needs_fork
@pytest.mark.parametrize(("libraries", "step"), [("with", "9"), ("without", "31"), *FULL])
def test_all_that_first_calls_import_passes_the_gate(libraries, step, calls_folder):
    """Of all calls, or of each so many: where the libraries are absent, each child takes its time to import them."""
    assert not run(PAST_THE_GATE, calls_folder, libraries, step, seconds=600)


#: After `warm_up`, each call in a child of its own, and what it imports; then the modules that are there.
AFTER_WARM_UP = """
    import os, sys
    from pathlib import Path
    import bbpe, first_calls

    found, is_armed = set(), False
    sys.addaudithook(lambda event, arguments: is_armed and event == "import" and found.add(arguments[0]))
    tok = first_calls.load(Path())
    tok.warm_up()
    for name, call in {**first_calls.METHODS, **first_calls.FILES}.items():
        child = os.fork()
        if not child:
            is_armed = True
            call(tok, Path())
            is_armed = False
            if found:
                print(name, *sorted(found), file=sys.stderr)
            os._exit(0)
        assert not os.waitpid(child, 0)[1], name
    print(*sys.modules)
"""
#: Packages that bbpe does not require, and a module for limits of memory: `warm_up` leaves these out.
LEFT_OUT = {"fsspec", "gguf", "jinja2", "psutil", "pyarrow", "resource", "tokenizers", "zstandard"}


@needs_fork
def test_no_method_imports_anything_after_warm_up(calls_folder):
    loaded = set(run(AFTER_WARM_UP, calls_folder, seconds=600).split())
    for name, path in MODULES.items():
        if f"bbpe.{name}".removesuffix(".__init__") in loaded and not name.startswith(WITHOUT_GATE):
            late = {module for _, modules, _ in imports_of(path) for module in modules}
            assert {module.partition(".")[0] for module in late - loaded} <= LEFT_OUT, (name, late - loaded)


def test_names_that_a_module_makes_late_are_asked_for_in_the_gate(tmp_path, monkeypatch):
    """What the import statement after it takes is there then; a name that is missing is that statement's to report."""
    made = "def __getattr__(name):\n    if name not in ('late', 'later'): raise AttributeError(name)\n"
    made += "    from bbpe import lazy\n    globals()[name] = lazy._GATE._is_owned()\n    return globals()[name]\n"
    (tmp_path / "a_late_name.py").write_text(made)
    monkeypatch.syspath_prepend(tmp_path)
    module = safe_import("a_late_name")
    assert "late" not in vars(module)
    assert safe_import("a_late_name", "late", "missing", "later") is module
    assert (vars(module)["late"], vars(module)["later"]) == (True, True)
    monkeypatch.delitem(sys.modules, "a_late_name")


PURGE = "for name in [name for name in sys.modules if name.partition('.')[0] == 'bbpe']: del sys.modules[name]\n"


@pytest.mark.parametrize("again", ["", "import bbpe; bbpe.Tokenizer"])
def test_an_object_of_modules_that_were_removed_says_so(again, calls_folder):
    code = f"import sys, bbpe\ntok = bbpe.load('t.json', cache=False)\nids = tok.encode('see')\n{PURGE}{again}\n"
    calls = ("tok.decode(ids)", "tok.encode_with_offsets('see')", "tok.fingerprint", "tok.save('x.json')")
    tries = [f"try: {call}\nexcept ImportError as error: print(error)" for call in calls]
    out = run("\n".join([code, *tries]), calls_folder)
    assert out.count("was removed from sys.modules, or imported again") == 4, out
    # what was used before goes on
    out = run(code.replace("ids =", "tok.warm_up(); ids =") + "print(tok.encode('see') == ids)", calls_folder)
    assert out == "True\n"


def test_one_module_imported_again_is_refused(calls_folder):
    code = """
        import sys, bbpe
        tok = bbpe.load("t.json", cache=False)
        tok.fingerprint
        del sys.modules["bbpe.spec.fingerprint"]
        try:
            bbpe.load("t.json", cache=False).fingerprint
        except ImportError as error:
            print(error.name)
    """
    assert run(code, calls_folder) == "bbpe.spec.fingerprint\n"


#: Calls a decoder at an odd moment; "see" is printed.
MOMENTS = {
    "at exit": "import atexit; atexit.register(show)",
    "in a late thread": "import threading; threading.Thread(target=lambda: (time.sleep(0.2), show())).start()",
    "in a thread of _thread": "import _thread; _thread.start_new_thread(show, ()); time.sleep(3)",
    "with a small stack": """
        import threading
        threading.stack_size(64 << 10)
        show()
    """,
    "where no thread can start": """
        from bbpe import lazy
        def start_new_thread(*_): raise RuntimeError("can't start new thread")
        lazy.start_new_thread = start_new_thread
        show()
    """,
    "where memory for a thread is short": """
        from bbpe import lazy
        def start_new_thread(*_): raise MemoryError
        lazy.start_new_thread = start_new_thread
        show()
    """,
    "within another import": """
        import builtins, sys
        from pathlib import Path
        builtins.show = show
        Path("asking.py").write_text("show()")
        sys.path.insert(0, ".")
        import asking
    """,
    "while another thread waits for the gate in an import": """
        import builtins, sys, threading
        from pathlib import Path
        Path("slow.py").write_text("import time; time.sleep(0.3); show()")
        builtins.show = show
        sys.path.insert(0, ".")
        from bbpe.lazy import safe_import
        thread = threading.Thread(target=lambda: safe_import("slow"))
        thread.start()
        import slow
        thread.join()
    """,
    "in the handler of a signal": """
        import signal
        signal.signal(signal.SIGALRM, lambda *_: show())
        signal.setitimer(signal.ITIMER_REAL, 0.001)
        tok.encode_with_offsets("see my dogs")
        time.sleep(0.2)
    """,
    "without a path": "import sys; tok.warm_up(); sys.path[:] = []; show()",
}


@pytest.mark.parametrize("moment", MOMENTS)
def test_a_first_call_at_an_odd_moment_answers(moment, calls_folder):
    code = "import time, bbpe\ntok = bbpe.load('t.json', cache=False)\nids = tok.encode('see')\n"
    code += "def show(): print(tok.decode(ids), flush=True)\n" + textwrap.dedent(MOMENTS[moment])
    assert run(code, calls_folder) == "see\n"


def test_an_object_that_dies_with_the_interpreter_does_not_hang(calls_folder):
    code = """
        import bbpe
        class Last:
            tok = bbpe.load("t.json", cache=False)
            def __del__(self):
                try:
                    print(self.tok.decode(self.tok.encode("see")))
                except ImportError as error:
                    print("refused")
        last = Last()
        last.itself = last
    """
    assert run(code, calls_folder) in ("see\n", "refused\n")


#: SIGINT comes with the import of a module.
INTERRUPTED = """
    import os, signal, sys
    import bbpe
    tok = bbpe.load("t.json", cache=False)
    class Finder:
        def find_spec(self, name, path=None, target=None):
            if name == sys.argv[1]:
                sys.meta_path.remove(self)
                os.kill(os.getpid(), signal.SIGINT)
    sys.meta_path.insert(0, Finder())
    try:
        tok.encode_with_offsets("see my dogs")
    except KeyboardInterrupt:
        print("stopped")
    print(tok.encode_with_offsets("see my dogs")[0] == tok.encode("see my dogs"))
"""


@pytest.mark.parametrize("module", ["numpy.version", "numpy.exceptions", "bbpe.encoding.places"])
def test_an_import_goes_on_after_an_interruption(module, calls_folder):
    assert run(INTERRUPTED, calls_folder, module) == "stopped\nTrue\n"


def test_forks_wait_for_an_import_and_leave_the_locks_of_logging_alone(calls_folder):
    code = """
        import os, sys, threading, time, warnings
        warnings.simplefilter("ignore")
        from bbpe.lazy import in_gate
        def slow():
            time.sleep(0.2)
            import concurrent.futures.thread
        thread = threading.Thread(target=lambda: in_gate(slow))
        thread.start()
        time.sleep(0.1)
        child = os.fork()
        import concurrent.futures, logging
        assert "concurrent.futures.thread" in sys.modules
        logging.warning and logging._lock.acquire(blocking=False) or print("held")
        logging._lock.release()
        with concurrent.futures.ThreadPoolExecutor(1) as pool:
            pool.submit(len, "").result()
        if not child:
            os._exit(0)
        print(os.waitpid(child, 0)[1])
    """
    assert run(code, calls_folder) == "0\n"


def test_a_fork_gives_an_import_the_lock_of_logging(calls_folder):
    """The hook of `logging`, imported after ours, runs first and takes its lock; an import may need that lock."""
    code = """
        import os, sys, threading, time, warnings
        warnings.simplefilter("ignore")
        from bbpe.lazy import in_gate
        import logging
        def slow():
            time.sleep(0.3)
            logging.addLevelName(35, "LOUD")  # as modules do that are imported
        thread = threading.Thread(target=lambda: in_gate(slow))
        thread.start()
        time.sleep(0.1)
        begin = time.monotonic()
        child = os.fork()
        if time.monotonic() - begin > 5:
            print("the fork waited for its own lock")
        logging.addLevelName(36, "LOUDER")
        if not child:
            os._exit(logging.getLevelName(35) != "LOUD")
        print(os.waitpid(child, 0)[1], logging._lock._is_owned())
    """
    assert run(code, calls_folder) == "0 False\n"


def test_what_an_import_raises_is_raised():
    with pytest.raises(ModuleNotFoundError, match="no_such_module"):
        safe_import("no_such_module")
    with pytest.raises(ZeroDivisionError):
        in_gate(lambda: 1 // 0)
    assert in_gate(lambda: in_gate(lambda: lazy_re("[0-9]").findall("1a2"))) == ["1", "2"]


def test_a_call_in_the_gate_has_its_value_where_no_thread_can_start(monkeypatch):
    def refused(*_):
        raise RuntimeError("can't start new thread")

    monkeypatch.setattr("bbpe.lazy.start_new_thread", refused)
    assert in_gate(lambda: 1 + 1) == 2


@needs_fork
@pytest.mark.parametrize("thread", ["main", "other"])
def test_nobody_has_the_gate_after_a_fork(thread, tmp_path):
    """Neither in the parent nor in the child; what the parent imports within the gate it has as before."""
    code = """
        import os, sys, threading
        import logging
        from bbpe import lazy

        def fork():
            child = os.fork()
            if not child:
                os._exit(lazy._GATE._is_owned() + 2 * bool(lazy._FORKING))
            assert os.waitpid(child, 0)[1] == 0
            assert not lazy._GATE._is_owned() and not lazy._FORKING

        def forks():
            fork()
            fork()
            with lazy._GATE:
                child = os.fork()
                if not child:
                    os._exit(lazy._GATE._is_owned())
                assert os.waitpid(child, 0)[1] == 0
                assert lazy._GATE._is_owned()
            assert not lazy._GATE._is_owned()
            print("forked")

        if sys.argv[1] == "main":
            forks()
        else:
            thread = threading.Thread(target=forks)
            thread.start()
            thread.join()
    """
    assert run(code, tmp_path, thread) == "forked\n"


def test_a_lock_that_ctrl_c_has_left_behind_stops_no_import(tmp_path):
    """The interpreter's lock of imports is this thread's, as a signal within `importlib._bootstrap` may leave it."""
    code = """
        import _imp, bbpe
        _imp.acquire_lock()
        tok = bbpe.train_from_iterator(["low lower"], 258)
        assert tok.encode("low") and not _imp.lock_held()
    """
    run(code, tmp_path)
