"""Seeds and corpora of sweeps: some run always, others with the full tests, the rest with the long ones."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import pytest


def then_full(always: Iterable[object], full: Iterable[object]) -> list[Any]:
    """The values for `pytest.mark.parametrize`, those of `full` with this mark."""
    return [*always, *(pytest.param(value, marks=pytest.mark.full) for value in full)]


def full_then_long(full: Iterable[object], long: Iterable[object]) -> list[Any]:
    """The values for `pytest.mark.parametrize`, those of `full` and of `long` with these marks."""
    marked = ((full, pytest.mark.full), (long, pytest.mark.long))
    return [pytest.param(value, marks=mark) for values, mark in marked for value in values]
