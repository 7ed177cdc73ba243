"""Counts of what was compared with a judge, so that a test in which nothing is compared fails."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager


class Compared:
    """Call it once for each thing that was compared, or with how many there were."""

    def __init__(self) -> None:
        self.count = 0

    def __call__(self, count: int = 1) -> None:
        self.count += count


@contextmanager
def compared(*, at_least: int) -> Iterator[Compared]:
    """Fail at the end of the block unless so many things were compared in it.

    For every comparison with a judge that may refuse, or may have no answer: without a count such a test passes when
    all are refused.

    >>> with compared(at_least=2) as one_more:
    ...     for text in ("a", "b"):
    ...         one_more()
    """
    found = Compared()
    yield found
    assert found.count >= at_least, f"{found.count} were compared; expected at least {at_least}"
