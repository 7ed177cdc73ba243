"""How many functions of Python a call enters."""

from __future__ import annotations

import os
import sys
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from types import FrameType

import bbpe

#: Files of the package, wherever the checkout lies: a folder above it may be called `bbpe` too, and holds the tests.
_PACKAGE = f"{Path(bbpe.__file__).parent}{os.sep}"


def frames(call: Callable[[], object]) -> int:
    """Return how many functions of bbpe's Python a call enters, when it is made for the second time."""
    return entered_modules(call).total()


def entered_modules(call: Callable[[], object]) -> Counter[str]:
    """Return how many functions of each module a call enters, when it is made for the second time."""
    entered: Counter[str] = Counter()

    def count(frame: FrameType, event: str, argument: object) -> None:
        name = frame.f_code.co_filename
        if event == "call" and name.startswith(_PACKAGE):
            entered[name.removeprefix(_PACKAGE).removesuffix(".py").replace(os.sep, ".")] += 1

    call()
    sys.setprofile(count)
    try:
        call()
    finally:
        sys.setprofile(None)
    return entered
