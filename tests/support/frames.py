"""How many functions of Python a call enters."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from pathlib import Path
from types import FrameType

import bbpe

#: Files of the package, wherever the checkout lies: a folder above it may be called `bbpe` too, and holds the tests.
_PACKAGE = f"{Path(bbpe.__file__).parent}{os.sep}"


def frames(call: Callable[[], object]) -> int:
    """Return how many functions of bbpe's Python a call enters, when it is made for the second time."""
    entered = 0

    def count(frame: FrameType, event: str, argument: object) -> None:
        nonlocal entered
        entered += event == "call" and frame.f_code.co_filename.startswith(_PACKAGE)

    call()
    sys.setprofile(count)
    try:
        call()
    finally:
        sys.setprofile(None)
    return entered
