"""Seeds and corpora of sweeps: the first ones run with the long tests, the others with those that take longer still."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import pytest


def full_then_long(full: Iterable[object], long: Iterable[object]) -> list[Any]:
    """The values for `pytest.mark.parametrize`, those of `full` and of `long` with these marks."""
    marked = ((full, pytest.mark.full), (long, pytest.mark.long))
    return [pytest.param(value, marks=mark) for values, mark in marked for value in values]
