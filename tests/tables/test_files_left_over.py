"""Which files of the folder of tables go away to make room, and which stay."""

from __future__ import annotations

import os
import time
from pathlib import Path

import pytest

from bbpe.tables import store

KEYS = [letter * 64 for letter in "abcd"]


def put(folder: Path, name: str, *, size: int = 0, age: float = 0) -> None:
    (folder / name).write_bytes(bytes(size))
    os.utime(folder / name, (time.time() - age,) * 2)


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def test_temporary_files_of_processes_that_were_killed_go_and_no_others(tmp_path: Path) -> None:
    kept = [f".{KEYS[0]}.tables.x.tmp", f".{KEYS[0][1:]}.tables.x.tmp", f".{KEYS[0]}.other.x.tmp", "x.tmp", "notes"]
    for name, age in zip(kept, (0, 3600, 3600, 3600, 3600), strict=True):
        put(tmp_path, name, age=age)
    for name in (f".{KEYS[1]}.tables.x.tmp", f"{KEYS[2]}.tables.y.tmp"):
        put(tmp_path, name, age=3600)
    put(tmp_path, f"{KEYS[3]}.tables", size=1, age=10**7)
    assert store._has_room(tmp_path, 1)
    assert names(tmp_path) == sorted([*kept, f"{KEYS[3]}.tables"])


@pytest.mark.parametrize(("size", "gone"), [(70, 0), (71, 1), (80, 1), (81, 2), (90, 2), (91, 3), (100, 3)])
def test_the_files_that_were_used_least_recently_go(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, size: int, gone: int
) -> None:
    monkeypatch.setattr(store, "LIMIT", 100)
    order = [KEYS[2], KEYS[0], KEYS[1]]
    for number, key in enumerate(order):
        put(tmp_path, f"{key}.tables", size=10, age=1000 - number)
    put(tmp_path, "other.tables", size=1000, age=9999)
    assert store._has_room(tmp_path, size)
    assert names(tmp_path) == sorted([*(f"{key}.tables" for key in order[gone:]), "other.tables"])


def test_a_file_that_is_larger_than_all_may_be_removes_none(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(store, "LIMIT", 100)
    put(tmp_path, f"{KEYS[0]}.tables", size=10)
    assert not store._has_room(tmp_path, 101)
    assert names(tmp_path) == [f"{KEYS[0]}.tables"]
