"""The options of an accelerated tokenizer that calls set: truncation, padding, and how special tokens are read.

`transformers` stores the options of a call in the tokenizer that all threads share, and reads them back.  Here a call
has its own, so calls of other threads never see them.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import NamedTuple
from weakref import WeakSet

from ..tokenizers.row_options import Padding, Truncation


class Options(NamedTuple):
    """Truncation, padding, and whether special tokens in texts are plain text."""

    truncation: Truncation | None = None
    padding: Padding | None = None
    is_plain: bool = False


class _Thread(threading.local):
    """What a thread sees, with the shared options at that time; without these it is what the thread itself has set."""

    seen: tuple[Options, Options | None] | None = None
    calls = 0


class Chosen:
    """The options of one tokenizer as each thread sees them: what it has set last itself.

    A thread that has set nothing sees what another one has set outside of calls.  What a call sets is seen by its
    thread alone: after it, as in `transformers`, until a thread sets something else.
    """

    def __init__(self, options: Options) -> None:
        self._shared, self._thread = options, _Thread()

    @property
    def options(self) -> Options:
        """The options that this thread sees."""
        seen = self._thread.seen
        if seen is None:
            return self._shared
        options, shared = seen
        return options if shared is None or shared is self._shared else self._shared

    @options.setter
    def options(self, options: Options) -> None:
        self._thread.seen = options, None
        if not self._thread.calls:
            self._shared = Options(*options)  # a new object, so that threads see that it was set

    def after_call(self, options: Options) -> None:
        """Take the options of a call that has read none of them here."""
        self._thread.seen = options, self._shared

    @contextmanager
    def call(self) -> Iterator[None]:
        """Keep the options that are set meanwhile to this call."""
        thread = self._thread
        before = thread.seen
        thread.seen = self.options, None
        thread.calls += 1
        try:
            yield
        finally:
            thread.calls -= 1
            # a call within another one, of a signal handler, leaves the options of the outer one
            thread.seen = before if thread.calls else (self.options, self._shared)


class TurnLock:
    """A lock that a thread may take several times; in a forked process it is free."""

    def __init__(self) -> None:
        self._lock = threading.RLock()
        _LOCKS.add(self)

    @contextmanager
    def turn(self) -> Iterator[None]:
        """Wait until no other thread has the lock, and have it meanwhile."""
        with self._lock:
            yield


_LOCKS: WeakSet[TurnLock] = WeakSet()


def _free_all() -> None:
    for each in _LOCKS:
        each._lock = threading.RLock()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_free_all)
