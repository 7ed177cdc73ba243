"""Counts with a checkpoint, some of them killed half-way, for the tests of its folder."""

from __future__ import annotations

import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import bbpe
from bbpe.counting import count as count_module
from bbpe.counting import options as count_options
from bbpe.progress import Progress


class KilledError(Exception):
    """Stands for the end of the process."""


def save_states_quickly(monkeypatch: pytest.MonkeyPatch) -> None:
    """Have a state saved after each of many small blocks."""
    monkeypatch.setattr(count_options, "_BLOCK", 3000)
    monkeypatch.setattr(count_module, "_CHECKPOINT_SECONDS", -1e9)


def make_corpus(folder: Path) -> Path:
    """Write three files of text."""
    rng = random.Random(5)
    for number in range(3):
        words = rng.choices([f" w{n}" for n in range(300)], k=3000)
        (folder / f"{number}.txt").write_text("".join(words))
    return folder


def count(corpus: Path, folder: Path, **options: Any) -> bbpe.PretokenCounts:
    """Count with a checkpoint."""
    return bbpe.count(corpus, pattern="gpt2", checkpoint=folder, threads=1, **options)


def stopped_after(reports: int) -> Callable[[Progress], None]:
    """Return a callback for progress that ends the count after so many reports."""
    left = iter(range(reports))

    def report(_: Progress) -> None:
        if next(left, None) is None:
            raise KilledError

    return report


def make_half(corpus: Path, folder: Path) -> Path:
    """Make a checkpoint of a count that is half done."""
    with pytest.raises(KilledError):
        count(corpus, folder, progress=stopped_after(10))
    return folder


def error_of(call: Callable[[], Any]) -> str | None:
    """Return the message of a `CorpusError`."""
    try:
        call()
    except bbpe.CorpusError as error:
        return str(error)
    return None
