"""Modules, regexes and properties that are imported or made when they are first used.

Whatever the package imports after `import bbpe` passes one gate, `in_gate`.  A fork waits for it, so that a child finds
no module half imported, with a lock that nobody gives back.  The main thread has another thread do the import and
waits: handlers of signals run in the main thread alone, so that Ctrl-C cuts off the wait and never the import, after
which some packages refuse to be imported again.

    imported already                                    no gate, no lock
    within another import, which holds locks            imported here: waiting for the gate could wait for ourselves
    in the main thread                                  imported in a thread, which holds the gate
    in another thread, or where no thread can start     imported here, holding the gate
"""

from __future__ import annotations

import _imp
import atexit

# Python imports a codec when it is first used
import encodings.utf_16
import encodings.utf_16_le
import encodings.utf_32_le  # noqa: F401
import os
import re
import sys
import time
from _thread import RLock, allocate_lock, get_ident, stack_size, start_new_thread
from collections.abc import Callable
from contextlib import suppress
from importlib import import_module
from types import FrameType, ModuleType
from typing import TYPE_CHECKING, Any, AnyStr, Generic, Self, TypeVar, cast, overload

__all__ = [
    "IMPORTED", "VIEWS", "arrow_array", "futures", "hashlib", "in_gate", "lazy_property", "lazy_re", "lazy_regex", "np",
    "npt", "queue", "regex", "safe_import", "secrets", "tempfile", "threading",
]  # fmt: skip

Value = TypeVar("Value")
#: When the package was imported, in seconds: a module that changes later on the disk may not be the one that runs.
IMPORTED = time.time()

_GATE = RLock()
#: Seconds that a fork waits for an import at most: whoever forks may hold what the import waits for.
_FORK_WAIT = 10.0
#: Seconds that the exit of Python waits for one.
_EXIT_WAIT = 2.0
#: Importing large packages takes more of the stack than some programs give their threads.
_LEAST_STACK = 1 << 19
#: Packages that need no extra: they are gone when the program has changed `sys.path`, its root folder or its rights.
_ALWAYS_THERE = {__name__.partition(".")[0], "numpy", "regex", *sys.stdlib_module_names}
_WAY_OUT = (
    "bbpe imports this when it is first needed, and it was there before: call tok.warm_up() before the program clears "
    "sys.path or gives up rights"
)
#: What was imported through the gate, by the arguments of `safe_import`.
_IMPORTED: dict[tuple[str, ...], ModuleType] = {}


def safe_import(*wanted: str) -> ModuleType:
    """Import a module before the import statement that follows; forks and signals cannot cut it off.

    Args:
        wanted: The full name of the module, and the names that it imports or makes when they are first asked for.

    Returns:
        The module.

    Raises:
        ImportError: There is no such module, or the package was imported anew since the caller's module was: classes
            of the two would not know each other.

    Example:
        >>> safe_import("math").sqrt(9)
        3.0
    """
    module = _IMPORTED.get(wanted)
    if module is not None and sys.modules.get(wanted[0]) is module:
        return module
    _check_generation(wanted[0], module)
    module = _whole(*wanted)
    if module is None:
        module = in_gate(lambda: _import(*wanted))
    _IMPORTED[wanted] = module
    return module


def arrow_array(*arguments: Any) -> Any:
    """Return `pyarrow.array(...)`, which imports pandas where there is pandas; forks and signals cannot cut it off."""
    array = safe_import("pyarrow").array
    with suppress(ImportError):
        for name in ("pandas", "pyarrow.pandas_compat", "pyarrow.vendored.version"):
            safe_import(name)
    return array(*arguments)


def _import(name: str, *names: str) -> ModuleType:
    try:
        module = import_module(name)
        for each in names:
            getattr(module, each, None)  # the import statement says what is missing
    except ImportError as error:
        if name.partition(".")[0] in _ALWAYS_THERE:
            error.add_note(_WAY_OUT)
        raise
    return module


def _whole(name: str, *names: str) -> ModuleType | None:
    """Return a module that somebody has imported already, to its end."""
    module = sys.modules.get(name)
    is_importing = getattr(getattr(module, "__spec__", None), "_initializing", False)
    return None if module is None or is_importing or not module.__dict__.keys() >= {*names} else module


def _check_generation(name: str, known: ModuleType | None) -> None:
    """Refuse to import a module of this package beside others that were removed from `sys.modules`."""
    package = __name__.partition(".")[0]
    if name.partition(".")[0] != package:
        return
    own = sys.modules.get(__name__)
    if known is not None or own is None or own.__dict__ is not globals():
        raise ImportError(
            f"{name} was removed from sys.modules, or imported again, since {package} made this object; make the object"
            f" again, or call warm_up() on a tokenizer before",
            name=name,
        )


def in_gate(call: Callable[[], Value]) -> Value:
    """Return `call()`, which imports something; forks wait for it, and no handler of a signal runs within it.

    >>> in_gate(lambda: 1 + 1)
    2
    """
    if _within_import(sys._getframe()):
        return call()
    if sys.is_finalizing():
        return _at_exit(call)
    import threading  # here, because the thread that imports it first is the main thread for it

    if get_ident() == threading.main_thread().ident and not 0 < stack_size() < _LEAST_STACK:
        return _aside(call, threading.gettrace())
    with _GATE:
        return call()


def _within_import(frame: FrameType | None) -> bool:
    """Return whether this thread is importing something, so that it holds the locks of modules."""
    while frame is not None:
        if frame.f_code.co_filename == "<frozen importlib._bootstrap>":
            return True
        frame = frame.f_back
    return False


def _at_exit(call: Callable[[], Value]) -> Value:
    """Call while the interpreter ends: no thread may begin, and one that was importing never gives its locks back."""
    if not _GATE.acquire(blocking=False):
        raise ImportError("bbpe cannot import any more: Python is shutting down; call warm_up() on a tokenizer before")
    try:
        return call()
    finally:
        _GATE.release()


class _Call(Generic[Value]):
    """A call that a thread makes."""

    value: Value

    def __init__(self, call: Callable[[], Value], trace: Any) -> None:
        self._call, self._trace = call, trace
        self.error: BaseException | None = None
        self.has_ended, self.ended = False, allocate_lock()
        self.ended.acquire()

    def run(self) -> None:
        if self._trace is not None:
            sys.settrace(self._trace)
        with _GATE:
            try:
                self.value = self._call()
            except BaseException as error:
                self.error = error
            self.has_ended = True
            _WAITED_FOR.discard(self)
            # before a fork goes on: in the child there is no such thread
            self.ended.release()


_WAITED_FOR: set[_Call[Any]] = set()


def _give_back_import_lock() -> None:
    """Release the lock of Python's own import, if this thread, which imports nothing, has it.

    The handler of a signal that raises in `importlib._bootstrap` between its taking the lock and the `try` after that
    leaves it so, in CPython 3.11 at least; the exception may be ignored, as in a callback of a weak reference.  No
    other thread could import then.
    """
    with suppress(RuntimeError):  # another thread has it, for a moment
        while _imp.lock_held():
            _imp.release_lock()


def _aside(call: Callable[[], Value], trace: Any) -> Value:
    """Have a thread call, and wait; an exception from the handler of a signal ends the wait alone."""
    _give_back_import_lock()
    while True:
        made = _Call(call, trace)
        _WAITED_FOR.add(made)
        try:
            start_new_thread(made.run, ())
        except (RuntimeError, MemoryError):  # the system has no more threads, or the interpreter permits none
            _WAITED_FOR.discard(made)
            with _GATE:
                return call()
        made.ended.acquire()
        if made.error is not None:
            try:
                raise made.error
            finally:
                del made  # the error refers to this frame
        if made.has_ended:
            return made.value
        # a handler has forked meanwhile, and this is the child


#: Modules of the standard library that take a lock at a fork, a name that they have from then on, and the lock.
_LOCKS_AT_FORK = (
    ("logging", "LogRecord", "_lock"),
    ("concurrent.futures.thread", "_WorkItem", "_global_shutdown_lock"),
)
#: Whether the fork of a thread has the gate.
_FORKING: dict[int, bool] = {}


def _locks_at_fork() -> dict[str, Any]:
    modules = ((sys.modules.get(name), begun, lock) for name, begun, lock in _LOCKS_AT_FORK)
    return {lock: getattr(module, lock) for module, begun, lock in modules if hasattr(module, begun)}


def _before_fork() -> None:
    taken = _locks_at_fork()
    has_gate = _GATE.acquire(blocking=False)
    if not has_gate:
        # the import that we wait for may need the lock of `logging`, whose own hook has run if it was imported after us
        of_logging: Any = taken.get("_lock")
        held = of_logging._release_save() if of_logging is not None and of_logging._is_owned() else None
        has_gate = _GATE.acquire(timeout=_FORK_WAIT)
        if held is not None:
            of_logging._acquire_restore(held)
    _FORKING[get_ident()] = has_gate
    # what was imported while we waited gives its lock back after this fork, and was not asked to take it before
    for name, lock in _locks_at_fork().items():
        if name not in taken:
            lock.acquire()


def _after_fork_in_parent() -> None:
    if _FORKING.pop(get_ident(), False):
        _GATE.release()


def _after_fork_in_child() -> None:
    _FORKING.clear()
    _GATE._at_fork_reinit()  # type: ignore[attr-defined]
    for waited in list(_WAITED_FOR):
        _WAITED_FOR.discard(waited)
        waited.ended.release()


def _before_exit() -> None:
    """Wait for an import that an exception has left to its thread: some packages crash when they are cut off."""
    for waited in list(_WAITED_FOR):
        waited.ended.acquire(timeout=_EXIT_WAIT)


atexit.register(_before_exit)
if hasattr(os, "register_at_fork"):
    os.register_at_fork(
        before=_before_fork, after_in_parent=_after_fork_in_parent, after_in_child=_after_fork_in_child
    )


class _LazyModule(ModuleType):
    """A module that is imported when one of its names is first used."""

    def __getattr__(self, name: str) -> Any:
        # Python calls this only for names that the dictionary does not have yet
        value = self.__dict__[name] = getattr(safe_import(self.__name__, name), name)
        return value


# Many calls need none of these, and importing them takes longer than such a call.
if TYPE_CHECKING:
    import hashlib
    import queue
    import secrets
    import tempfile
    import threading
    from concurrent import futures

    import numpy as np
    import numpy.typing as npt
    import regex
else:
    np, npt, regex = _LazyModule("numpy"), _LazyModule("numpy.typing"), _LazyModule("regex")
    futures, queue = _LazyModule("concurrent.futures"), _LazyModule("queue")
    hashlib, secrets = _LazyModule("hashlib"), _LazyModule("secrets")
    tempfile, threading = _LazyModule("tempfile"), _LazyModule("threading")


class _LazyPattern:
    """A regex that is compiled when one of its names is first used."""

    def __init__(self, compiler: ModuleType, source: str | bytes, flags: int) -> None:
        self._compiler, self._source, self._flags = compiler, source, flags

    def __getattr__(self, name: str) -> Any:
        value = self.__dict__[name] = getattr(self._compiler.compile(self._source, self._flags), name)
        return value


def lazy_re(source: AnyStr, flags: int = 0) -> re.Pattern[AnyStr]:
    """Return a regex of the module `re` that is compiled on its first use.

    >>> lazy_re("[0-9]+").findall("1 and 22")
    ['1', '22']
    """
    return cast("re.Pattern[AnyStr]", _LazyPattern(re, source, flags))


def lazy_regex(source: str) -> regex.Pattern[str]:
    """Return a regex of the package `regex` that is compiled on its first use; `source` names its flags, as `(?s)`."""
    return cast("regex.Pattern[str]", _LazyPattern(regex, source, 0))

#: Makers of objects with the interface of another library, by the name of the library.  The package enters its own ones
#: when it is imported, so that a tokenizer makes views and imports none of them.
VIEWS: dict[str, Callable[..., Any]] = {}


class lazy_property(Generic[Value]):  # noqa: N801 - a decorator, named like `property`
    """Turn a method without arguments into an attribute that is computed once per object.

    It takes no lock, so a child process cannot inherit a lock that is held.  Two threads may compute the value at the
    same time; both get the value that was stored first.

    >>> class Text:
    ...     @lazy_property
    ...     def words(self) -> list[str]:
    ...         return ["a", "b"]
    >>> text = Text()
    >>> text.words is text.words
    True
    """

    def __init__(self, make: Callable[[Any], Value]) -> None:
        self._make, self._name = make, make.__name__

    @overload
    def __get__(self, owner: None, kind: type) -> Self: ...
    @overload
    def __get__(self, owner: object, kind: type) -> Value: ...
    def __get__(self, owner: object, kind: type) -> Self | Value:
        # an attribute in the object's `__dict__` takes precedence, so later accesses do not call this
        return self if owner is None else owner.__dict__.setdefault(self._name, self._make(owner))
