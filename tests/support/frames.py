"""How many functions of Python a call enters."""

from __future__ import annotations

import sys
from collections.abc import Callable
from types import FrameType


def frames(call: Callable[[], object]) -> int:
    """Return how many functions of bbpe's Python a call enters, when it is made for the second time."""
    entered = 0

    def count(frame: FrameType, event: str, argument: object) -> None:
        nonlocal entered
        entered += event == "call" and "bbpe" in frame.f_code.co_filename

    call()
    sys.setprofile(count)
    try:
        call()
    finally:
        sys.setprofile(None)
    return entered
