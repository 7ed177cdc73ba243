"""All ways to use threads: ordered maps, workers with states, and work that Ctrl-C need not wait for."""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from functools import partial
from typing import Generic, Self, TypeVar

from .core.helper import Helper
from .core.tasks import Tasks
from .lazy import futures, queue, threading
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

    One thread means no pool.  Where the system has no more threads, those that there are make the calls, this one too,
    and it alone in a process that may no longer read the modules of pools.
    An error, Ctrl-C too, cancels what has not begun.

    >>> list(imap(len, ["a", "bcd"], threads=2))
    [1, 3]
    """
    workers = thread_count(threads)
    pool = None
    if workers > 1:
        with suppress(ImportError):
            pool = futures.ThreadPoolExecutor(workers)
    if pool is None:
        yield from map(function, items)
        return

    def submit(item: Item) -> futures.Future[Result]:
        task = _Task(function, item)
        try:
            pool.submit(task.run)
        except RuntimeError:  # the system has no more threads
            task.run()
        return task.future

    try:
        yield from _in_order(submit, items, 2 * workers)
    finally:
        pool.shutdown(cancel_futures=True)


class _Task(Generic[Item, Result]):
    """A call that whoever comes first makes: a pool that gets no thread for it may leave it to one that it has."""

    def __init__(self, function: Callable[[Item], Result], item: Item) -> None:
        self._function, self._item, self._taken = function, item, threading.Lock()
        self.future: futures.Future[Result] = futures.Future()

    def cancel(self) -> bool:
        """Have nobody make the call; false if somebody does or has."""
        return self._taken.acquire(blocking=False)

    def run(self) -> None:
        if not self.cancel():
            return
        future = self.future
        try:
            future.set_result(self._function(self._item))
        except BaseException as error:
            future.set_exception(error)
            del self, future  # the error refers to this frame


def _in_order(
    submit: Callable[[Item], futures.Future[Result]], items: Iterable[Item], waiting: int
) -> Iterator[Result]:
    pending: deque[futures.Future[Result]] = deque()
    try:
        for item in items:
            pending.append(submit(item))
            if len(pending) >= waiting:
                yield pending.popleft().result()
        while pending:
            yield pending.popleft().result()
    finally:
        for future in pending:
            future.cancel()


class Workers(Generic[State]):
    """Does tasks in several threads, of which this one is the first, each with a state of its own.  A context manager.

    Idle workers take the oldest task that waits, so the numbers of the tasks of each state rise.  This thread does
    tasks when enough of them wait for the others: if it only handed them out, it would want a core now and then.
    Another thread begins when there is a task for it, as long as the system has more of them.
    """

    def __init__(self, states: Sequence[State]) -> None:
        self._states = states
        self._tasks: queue.SimpleQueue[Callable[[State], object] | None] = queue.SimpleQueue()
        self._changed = threading.Condition()
        self._unfinished = 0
        self._error: BaseException | None = None
        self._stopped = False
        self._helpers: list[Helper] = []
        self._others = len(states) - 1

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self._stopped = True
        for _ in self._helpers:
            self._tasks.put(None)
        # each does the task that it has to its end, which is a moment
        interrupted = _ended(self._helpers, _raise)
        if interrupted is not None:
            raise interrupted

    def put(self, task: Callable[[State], object]) -> None:
        """Have a task done.  Raises what an earlier task has raised."""
        with self._changed:
            self._raise()
            self._unfinished += 1
        self._tasks.put(task)
        if len(self._helpers) < min(self._tasks.qsize(), self._others):
            self._begin()
        while self._tasks.qsize() > _WAITING * self._others and self._help():
            pass

    def finish(self) -> None:
        """Do what is left, and wait until the others are done.  Raises what a task has raised."""
        while self._help():
            pass
        with self._changed:
            while self._unfinished and self._error is None:
                self._changed.wait(_LOOK)
            self._raise()

    def _begin(self) -> None:
        """Begin another thread, or know that there is none.

        Ctrl-C may come between any two steps: a helper that is in the list has its work or none, and Python does not
        wait at its exit for one that is not, as it would for a `Thread`.
        """
        helper = _helper()
        if helper is None:
            self._others = len(self._helpers)
            return
        self._helpers.append(helper)
        helper.give(partial(_run_on, _processors(), partial(self._work, self._states[len(self._helpers)])))

    def _help(self) -> bool:
        """Do the oldest task in this thread; returns whether there was one."""
        try:
            task = self._tasks.get_nowait()
        except queue.Empty:
            return False
        assert task is not None
        self._do(task, self._states[0])
        with self._changed:
            self._raise()
        return True

    def _raise(self) -> None:
        if self._error is not None:
            raise self._error

    def _work(self, state: State) -> None:
        while (task := self._tasks.get()) is not None and not self._stopped:
            self._do(task, state)

    def _do(self, task: Callable[[State], object], state: State) -> None:
        """Do a task, and keep what it raises: whatever that is, for want of memory too, the task counts as done."""
        try:
            task(state)
        except BaseException as error:
            self._error = self._error or error
        finally:
            with self._changed:
                self._unfinished -= 1
                self._changed.notify()


#: Threads that wait for work.
_IDLE = deque[Helper]()


def _end_idle() -> None:
    """End the threads that wait for work, and return when they have: Python warns where one is there at a fork."""
    while _IDLE:
        try:
            helper = _IDLE.pop()
        except IndexError:
            return
        helper.give(None)
        helper.wait()


if hasattr(os, "register_at_fork"):
    # those that come between are not in the child
    os.register_at_fork(before=_end_idle, after_in_child=_IDLE.clear)


def run_threads(work: Callable[[int], None], threads: int, stop: Callable[[BaseException], None]) -> None:
    """Call `work(0)` in this thread and `work(1)` to `work(threads - 1)` in others, and return when all have.

    Where the system has no more threads, this one makes the calls of those that are missing when its own is done.
    `stop` gets what is raised, also what interrupts this thread while it waits, and has the others end soon: they are
    waited for even then, as they use what the caller may free. Then they wait for the next call, as many as there are
    cores; Python does not wait for them when it exits. They run on the processors where this thread may.

    >>> squares = [0, 0, 0]
    >>> run_threads(lambda number: squares.__setitem__(number, number**2), 3, print)
    >>> squares
    [0, 1, 4]
    """
    processors = _processors()
    helpers: list[Helper] = []
    unheard: BaseException | None = None
    try:
        while len(helpers) < threads - 1 and (helper := _helper()) is not None:
            helpers.append(helper)
            helper.give(partial(_run_on, processors, partial(work, len(helpers))))
        for number in (0, *range(len(helpers) + 1, threads)):
            work(number)
    except BaseException as error:
        unheard = _stopped(stop, error)
    unheard = _ended(helpers, stop) or unheard
    if unheard is not None:
        raise unheard


def _run_on(processors: set[int], work: Callable[[], None]) -> None:
    """Do work on these processors: the thread may have been begun by one that may run on others."""
    if _processors() != processors:
        os.sched_setaffinity(0, processors)
    work()


def _ended(helpers: list[Helper], stop: Callable[[BaseException], None]) -> BaseException | None:
    """Wait until helpers have done their work, and dismiss them; returns what `stop` raises about what they raise."""
    unheard: BaseException | None = None
    for helper in helpers:
        while True:
            try:
                helper.wait()
                break
            except BaseException as error:
                unheard = _stopped(stop, error) or unheard
        _dismiss(helper)
    return unheard


def _processors() -> set[int]:
    """Return the processors that this thread may run on; none where that is not known."""
    return os.sched_getaffinity(0) if hasattr(os, "sched_getaffinity") else set()


def _raise(error: BaseException) -> None:
    raise error


def _stopped(stop: Callable[[BaseException], None], error: BaseException) -> BaseException | None:
    """Call `stop`; returns what that raises, for want of memory say: nobody may leave before the others have ended."""
    try:
        stop(error)
    except BaseException as worse:
        return worse
    return None


def _helper() -> Helper | None:
    """Return a thread that waits, or a new one; None where the system has no more."""
    try:
        return _IDLE.pop()
    except IndexError:
        pass
    try:
        return Helper()
    except (RuntimeError, MemoryError):
        return None


def _dismiss(helper: Helper) -> None:
    if len(_IDLE) < thread_count(None):
        _IDLE.append(helper)
    else:
        helper.give(None)


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
    task = _Task(lambda _: work(), None)
    thread = threading.Thread(target=task.run)
    try:
        try:
            thread.start()
        except RuntimeError:
            task.run()
        return task.future.result()
    except BaseException:
        stop()
        raise
    finally:
        if not task.cancel():
            futures.wait([task.future])
            if thread.ident is not None:
                thread.join()
