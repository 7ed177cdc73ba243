from collections.abc import Callable
from queue import SimpleQueue
from typing import Any, Self, final

@final
class Helper:
    def __new__(cls) -> Self: ...

def run(
    work: Callable[[int], None],
    threads: int,
    stop: Callable[[BaseException], None],
    processors: set[int],
    most: int,
) -> None: ...
def run_aside(
    work: Callable[[], None],
    stop: Callable[[BaseException], None],
    processors: set[int],
    most: int,
) -> None: ...

class Crew:
    tasks: SimpleQueue[Any]
    def __new__(cls, *args: Any, **options: Any) -> Self: ...
    def __len__(self) -> int: ...
    def begin(self, work: Callable[[], None]) -> bool: ...
    def __enter__(self) -> Self: ...
    def __exit__(self, *error: object) -> None: ...

def end_idle() -> None: ...
