"""Seeds of random sweeps: the first ones run with the long tests, the others with those that take longer still."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import pytest


def full_then_long(full: Iterable[int], long: Iterable[int]) -> list[Any]:
    """The seeds for `pytest.mark.parametrize`, those of `full` and of `long` with these marks."""
    marked = ((full, pytest.mark.full), (long, pytest.mark.long))
    return [pytest.param(seed, marks=mark) for seeds, mark in marked for seed in seeds]
