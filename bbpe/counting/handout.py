"""Hand out parts of work to an executor: a window of them at a time, whose results come in any order."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Mapping
from itertools import starmap
from time import monotonic
from typing import Any, Generic, TypeVar

from ..errors import BBPEError
from ..lazy import futures
from ..records import dataclass
from ..text import counted

Item = TypeVar("Item")
Result = TypeVar("Result")

#: Parts in flight for each worker: one that is worked on, and one that waits.
_EACH = 2
#: Seconds that an item may take before it is handed out again, and how many times as long as the longest one.
_PATIENCE, _TIMES = 60.0, 4
#: Errors that another attempt does not change.
_FINAL = (BBPEError, ValueError, TypeError, ImportError, MemoryError)


def workers_of(executor: futures.Executor) -> int:
    """Return how many workers an executor has, as far as it says, else one for each core.

    >>> with futures.ThreadPoolExecutor(3) as executor:
    ...     workers_of(executor)
    3
    """
    known = getattr(executor, "_max_workers", None)
    if known is None:
        # Dask's executor
        threads = getattr(getattr(executor, "_client", None), "nthreads", None)
        known = sum(threads().values()) if callable(threads) else None
    return int(known or os.cpu_count() or 1)


@dataclass(eq=False)
class _Work(Generic[Item]):
    """An item and its number, how often it was handed out, when it was last, and whether it is done."""

    number: int
    item: Item
    attempts: int = 0
    begun: float = 0.0
    is_done: bool = False


class HandOut:
    """Hands out items of work.

    `in_flight` is how many an executor has at once; by default twice its workers.  An item whose work fails, or whose
    worker dies, is handed out again, `attempts` times in all, unless the error is one that another attempt does not
    change.  A process pool that broke is replaced by one of the same size.  In the end, an item that takes `patience`
    seconds, and four times as long as any that is done, is handed out again too, for a worker may hang; whichever of
    both ends first counts.
    """

    def __init__(
        self, executor: futures.Executor, in_flight: int | None = None, attempts: int = 3, *,
        patience: float = _PATIENCE,
    ) -> None:  # fmt: skip
        self._given = self._executor = executor
        self._most = in_flight or _EACH * workers_of(executor)
        self._attempts, self._patience = attempts, patience

    def results(self, function: Callable[[Item], Result], items: Iterable[Item]) -> Iterator[tuple[Item, Result]]:
        """Yield each item with `function(item)`, in the order in which results come.

        An error, Ctrl-C too, cancels what has not begun; the executor stays open. Threads of this process end what
        they have begun anyway: of several errors, that of the earliest item is raised, whichever thread was first.

        >>> with futures.ThreadPoolExecutor(2) as executor:
        ...     sorted(HandOut(executor).results(len, ["a", "bcd"]))
        [('a', 1), ('bcd', 3)]
        """
        waiting, flying = starmap(_Work, enumerate(items)), dict[Any, _Work[Item]]()
        again: list[_Work[Item]] = []
        longest = 0.0
        try:
            while True:
                while len(flying) < self._most:
                    work = again.pop() if again else next(waiting, None) or self._late(flying.values(), longest)
                    if work is None:
                        break
                    work.attempts, work.begun = work.attempts + 1, monotonic()
                    flying[self._submit(function, work.item)] = work
                if not flying:
                    return
                look = self._limit(longest) if longest and len(flying) < self._most else None
                done, _ = futures.wait(flying, timeout=look, return_when=futures.FIRST_COMPLETED)
                for future in [future for future in flying if future in done]:
                    work = flying.pop(future)
                    error = _error_of(future)
                    if work.is_done:
                        continue
                    if error is None:
                        work.is_done, longest = True, max(longest, monotonic() - work.begun)
                        yield work.item, future.result()
                    elif work not in flying.values():
                        if self._is_final(error, work.attempts):
                            raise self._first(error, work, flying)
                        again.append(work)
                for future in [future for future, work in flying.items() if work.is_done]:
                    future.cancel()
                    del flying[future]
        finally:
            for future in flying:
                future.cancel()
            if self._executor is not self._given:
                self._executor.shutdown(wait=True, cancel_futures=True)

    def _limit(self, longest: float) -> float:
        return max(self._patience, _TIMES * longest)

    def _late(self, flying: Iterable[_Work[Item]], longest: float) -> _Work[Item] | None:
        """Return work that takes too long, if there is any, by the longest that took an item that is done."""
        now, limit = monotonic(), self._limit(longest)
        late = (work for work in flying if longest and now - work.begun >= limit and work.attempts < self._attempts)
        return next(late, None)

    def _submit(self, function: Callable[[Item], Result], item: Item) -> futures.Future[Result]:
        try:
            return self._executor.submit(function, item)
        except futures.BrokenExecutor:
            self._replace()
            return self._executor.submit(function, item)

    def _replace(self) -> None:
        """Replace a process pool that broke; raises what broke it for another executor."""
        broken = self._executor
        if not isinstance(broken, futures.ProcessPoolExecutor):
            raise
        pool: Any = broken
        broken.shutdown(wait=False, cancel_futures=True)
        self._executor = futures.ProcessPoolExecutor(
            pool._max_workers, pool._mp_context, pool._initializer, pool._initargs
        )

    def _is_final(self, error: BaseException, attempts: int) -> bool:
        return attempts >= self._attempts or isinstance(error, _FINAL) or not isinstance(error, Exception)

    def _first(
        self, error: BaseException, failed: _Work[Item], flying: Mapping[futures.Future[Any], _Work[Item]]
    ) -> BaseException:  # fmt: skip
        """Return the error of the earliest item that has one, among those that threads of this process work on."""
        found = [(failed, error)]
        if isinstance(self._executor, futures.ThreadPoolExecutor):
            earlier = [future for future, work in flying.items() if work.number < failed.number]
            futures.wait(earlier)
            errors = [(flying[future], _error_of(future)) for future in earlier]
            found += [(work, each) for work, each in errors if each is not None and self._is_final(each, work.attempts)]
        work, error = min(found, key=lambda each: each[0].number)
        if work.attempts > 1:
            error.add_note(f"part {work.item!r} failed {counted(work.attempts, 'time')}")
        return error


def _error_of(future: futures.Future[Any]) -> BaseException | None:
    try:
        return future.exception()
    except futures.CancelledError as error:
        return error
