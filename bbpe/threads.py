"""All ways to use threads: ordered maps, workers with states, and work that Ctrl-C need not wait for."""

from __future__ import annotations

import os
from _queue import Empty, SimpleQueue
from _thread import allocate_lock as Lock  # noqa: N812
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from functools import partial
from typing import Generic, TypeVar

from .core import helper
from .core.helper import Crew
from .core.tasks import Tasks
from .records import whole

Item = TypeVar("Item")
Result = TypeVar("Result")
State = TypeVar("State")


#: More than any machine has cores.
MOST_THREADS = 1 << 16
#: Tasks that wait for each of the other workers before this thread does a task itself.
_WAITING = 2
#: Seconds between two looks at whether Ctrl-C was pressed, where the system does not wake a thread that waits.
_LOOK = 0.1


def thread_count(threads: int | None) -> int:
    """Return how many threads to use: as asked for, or one for each core that this process may use.

    Raises `ValueError` when fewer than one is asked for.
    """
    if threads is None:
        return len(_processors()) or os.cpu_count() or 1
    return whole("threads", threads, 1, MOST_THREADS, expected="an int or None")


def check_threads(threads: int | None) -> None:
    """Raise as `thread_count` does, also where the work is too little for more than one thread."""
    if threads is not None:
        thread_count(threads)


def imap(function: Callable[[Item], Result], items: Iterable[Item], threads: int | None = None) -> Iterator[Result]:
    """Yield `function(item)` in the order of the items; at most `2 * threads` results wait.

    With one thread the caller makes all calls.  If the system has no more threads, those that run make the calls, or
    the caller does.
    An error, Ctrl-C too, cancels what has not begun.

    >>> list(imap(len, ["a", "bcd"], threads=2))
    [1, 3]
    """
    workers = thread_count(threads)
    if workers == 1:
        yield from map(function, items)
        return
    pending: deque[_Task[Item, Result]] = deque()
    with Crew() as crew:
        work = partial(_take_tasks, crew.tasks, None)
        for item in items:
            pending.append(task := _Task(function, item))
            crew.tasks.put(task)
            if len(crew) < min(len(pending), workers) and not crew.begin(work) and not len(crew):
                crew.tasks.get()(None)
            if len(pending) >= 2 * workers:
                yield pending.popleft().result()
        while pending:
            yield pending.popleft().result()


def _take_tasks(tasks: SimpleQueue[Callable[[State], object] | None], state: State) -> None:
    """Do tasks until there is a None among them."""
    while (task := tasks.get()) is not None:
        task(state)


class _Task(Generic[Item, Result]):
    """A call whose result somebody waits for."""

    _result: Result

    def __init__(self, function: Callable[[Item], Result], item: Item) -> None:
        self._function, self._item, self._ended = function, item, Lock()
        self._error: BaseException | None = None
        self._ended.acquire()

    def __call__(self, _: object = None) -> None:
        """Make the call, and keep what it returns or raises."""
        try:
            self._result = self._function(self._item)
        except BaseException as error:
            self._error = error
        self._ended.release()

    def result(self) -> Result:
        """Wait for the end of the call; returns or raises what it did."""
        while not self._ended.acquire(timeout=_LOOK):
            pass
        if self._error is None:
            return self._result
        try:
            raise self._error
        finally:
            del self  # the error refers to this frame


class _Progress:
    """What the threads of `Workers` share: how many tasks have not ended, and the first error."""

    def __init__(self) -> None:
        self._lock, self._changed = Lock(), Lock()
        self.unfinished = 0
        self.error: BaseException | None = None

    def add(self) -> None:
        with self._lock:
            self.unfinished += 1

    def wait(self) -> None:
        """Wait until a task ends, or a moment."""
        self._changed.acquire(timeout=_LOOK)

    def raise_error(self) -> None:
        if self.error is not None:
            raise self.error

    def do(self, task: Callable[[State], object], state: State) -> None:
        """Do a task, and keep what it raises: whatever that is, for want of memory too, the task counts as done."""
        try:
            task(state)
        except BaseException as error:
            self.error = self.error or error
        finally:
            with self._lock:
                self.unfinished -= 1
            with suppress(RuntimeError):  # nobody waits
                self._changed.release()


class Workers(Crew, Generic[State]):
    """Does tasks in several threads, of which this one is the first, each with a state of its own.  A context manager.

    Idle workers take the oldest task that waits, so the numbers of the tasks of each state rise.  This thread does
    tasks when enough of them wait for the others: if it only handed them out, it would want a core now and then.
    Another thread begins when there is a task for it, as long as the system has more of them.
    """

    def __init__(self, states: Sequence[State]) -> None:
        self._states, self._progress = states, _Progress()
        self._others = len(states) - 1

    def put(self, task: Callable[[State], object]) -> None:
        """Have a task done.  Raises what an earlier task has raised."""
        self._progress.raise_error()
        self._progress.add()
        self.tasks.put(partial(self._progress.do, task))
        # a thread refers to its state and not to this object, whose end it waits for
        if len(self) < min(self.tasks.qsize(), self._others) and not self.begin(
            partial(_take_tasks, self.tasks, self._states[len(self) + 1])
        ):
            self._others = len(self)
        while self.tasks.qsize() > _WAITING * self._others and self._help():
            pass

    def finish(self) -> None:
        """Do what is left, and wait until the others are done.  Raises what a task has raised."""
        while self._help():
            pass
        while self._progress.unfinished and self._progress.error is None:
            self._progress.wait()
        self._progress.raise_error()

    def _help(self) -> bool:
        """Do the oldest task in this thread; returns whether there was one."""
        try:
            task = self.tasks.get_nowait()
        except Empty:
            return False
        task(self._states[0])
        self._progress.raise_error()
        return True


def run_threads(work: Callable[[int], None], threads: int, stop: Callable[[BaseException], None]) -> None:
    """Call `work(0)` in this thread and `work(1)` to `work(threads - 1)` in others, and return when all have.

    Where the system has no more threads, this one makes the calls of those that are missing when its own is done.
    `stop` gets what is raised, also what interrupts this thread while it waits, and has the others end soon: they are
    waited for even then, as they use what the caller may free. Then they wait for the next call for some seconds, as
    many as there are cores; Python does not wait for them when it exits. They run on the processors where this thread
    may.

    >>> squares = [0, 0, 0]
    >>> run_threads(lambda number: squares.__setitem__(number, number**2), 3, print)
    >>> squares
    [0, 1, 4]
    """
    helper.run(work, threads, stop, _processors(), thread_count(None))


def _processors() -> set[int]:
    """Return the processors that this thread may run on; none where that is not known."""
    return os.sched_getaffinity(0) if hasattr(os, "sched_getaffinity") else set()


def run(tasks: Tasks, work: Callable[[int], None]) -> None:
    """Have `work(0)` done by this thread and `work(1)`, ... by others, each of which takes tasks until there are none.

    The first error ends all of them and is raised.
    """

    def attempt(worker: int) -> None:
        try:
            work(worker)
        except BaseException as error:
            tasks.fail(error)

    run_threads(attempt, tasks.threads, tasks.fail)
    tasks.raise_error()


def run_in_thread(work: Callable[[], Result], stop: Callable[[], object] = lambda: None) -> Result:
    """Return `work()`, done in a thread, so that Ctrl-C is heard although the work is long calls into C.

    `stop` is called then, and has the work end soon: it is waited for, as it may write to what the caller takes away.
    Where the system has no more threads, this one does it.

    >>> run_in_thread(lambda: 1 + 1)
    2
    """
    found: list[Result] = []
    errors: list[BaseException] = []

    def end(error: BaseException) -> None:
        errors.append(error)
        stop()
        raise errors[0]  # the others are about the end

    helper.run_aside(lambda: found.append(work()), end, _processors(), thread_count(None))
    return found[0]
