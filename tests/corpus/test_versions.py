"""By what a file is known again: its bytes, its time, and what a server says of it."""

from __future__ import annotations

import os
import pickle
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from bbpe.corpus.files import file_of
from bbpe.corpus.opened import digest_of_ends, version_of
from bbpe.corpus.urls import Url, UrlStatus, _status

END = 1 << 16


def changed(path: Path, at: int) -> None:
    """Replace a byte, and keep the time of change."""
    times, data = path.stat(), bytearray(path.read_bytes())
    data[at] ^= 1
    path.write_bytes(data)
    os.utime(path, ns=(times.st_atime_ns, times.st_mtime_ns))


def touched(path: Path, _: int) -> None:
    os.utime(path, ns=(0, path.stat().st_mtime_ns + 1_000_000_000))


@pytest.mark.parametrize("size", [1, END, END + 1, 2 * END, 2 * END + 1, 5 * END])
@pytest.mark.parametrize("place", [0, 0.5, 0.9999999])
def test_a_file_is_known_by_the_bytes_at_both_ends(size: int, place: float, tmp_path: Path) -> None:
    path, at = tmp_path / "a.txt", int(size * place)
    path.write_bytes(os.urandom(size))
    version, ends = version_of(file_of(path)), digest_of_ends(file_of(path))
    assert version_of(file_of(path)) == version
    changed(path, at)
    # in the middle of a large file only the time shows a change
    is_seen = size <= 2 * END or place != 0.5
    assert (version_of(file_of(path)) != version, digest_of_ends(file_of(path)) != ends) == (is_seen, is_seen)


@pytest.mark.parametrize(("size", "is_other"), [(2 * END, False), (2 * END + 1, True)])
def test_a_small_file_may_be_touched_or_copied(size: int, is_other: bool, tmp_path: Path) -> None:
    path = tmp_path / "a.txt"
    path.write_bytes(bytes(size))
    version = version_of(file_of(path))
    touched(path, 0)
    assert (version_of(file_of(path)) != version) is is_other


NOW = datetime(2024, 5, 6, 7, 8, 9, tzinfo=UTC)
SAME: list[tuple[dict[str, Any], dict[str, Any]]] = [
    # the surest version counts, whatever else is said
    ({"ETag": "a", "mtime": 1}, {"ETag": "a", "mtime": 2}),
    ({"md5": "a", "updated": "x"}, {"md5": "a", "created": "y"}),
    ({"mtime": 5.5, "created": 1}, {"mtime": 5.5, "created": 2}),
    # a listing quotes otherwise, or has a number where a question has a date
    ({"ETag": '"a"'}, {"ETag": "a"}),
    ({"mtime": NOW}, {"mtime": NOW.timestamp()}),
    ({"ETag": None, "mtime": 3}, {"mtime": 3}),
]
OTHER: list[tuple[dict[str, Any], dict[str, Any]]] = [
    ({"ETag": "a"}, {"ETag": "b"}),
    ({"ETag": "a", "mtime": 1}, {"ETag": "b", "mtime": 1}),
    ({"mtime": 1}, {"mtime": 2}),
    ({"LastModified": NOW}, {"LastModified": NOW.replace(second=10)}),
    ({"size": 9, "ETag": "a"}, {"ETag": "a"}),
]


@pytest.mark.parametrize(
    ("one", "two", "is_same"), [(*pair, True) for pair in SAME] + [(*pair, False) for pair in OTHER], ids=str
)
def test_a_file_elsewhere_is_known_by_what_its_server_says(
    one: dict[str, Any], two: dict[str, Any], is_same: bool
) -> None:
    first, second = (_status("server://a", {"size": 8, **info}) for info in (one, two))
    assert (first == second) is is_same


def test_a_status_does_not_travel_to_another_process() -> None:
    """There the server is asked anew: the file may have changed since the listing."""
    url = Url("server://bucket/a.txt", UrlStatus(5, 17))
    again: Url = pickle.loads(pickle.dumps(url))
    assert (again, url.listed, again.listed) == (url, UrlStatus(5, 17), None)


@pytest.mark.parametrize("name", ["name", "suffix", "suffixes"])
@pytest.mark.parametrize(
    ("url", "path"),
    [
        ("https://host/a/b.jsonl.gz?download=1", "b.jsonl.gz"),
        ("http://host/b.txt?x=/c.zip", "b.txt"),
        ("s3://bucket/what?.txt", "what?.txt"),
        ("s3://bucket/a.parquet::x", "a.parquet"),
    ],
)
def test_the_name_of_a_url(url: str, path: str, name: str) -> None:
    assert getattr(Url(url), name) == getattr(Path(path), name)
