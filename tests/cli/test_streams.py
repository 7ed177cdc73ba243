"""Standard streams within a process: whole contents in pieces of any size, and a name for one that is closed."""

from __future__ import annotations

import io
from collections.abc import Callable
from typing import Any

import pytest

from bbpe.cli import streams


@pytest.mark.parametrize("size", [0, 1, 7, 8, 9, 16, 17, 100])
def test_standard_input_is_read_whole(size: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """It may have more at once than a reader asks for."""
    monkeypatch.setattr(streams, "_CHUNK_BYTES", 8)
    data = bytes(range(size))
    readers: list[Callable[[], bytes]] = [
        lambda: streams.stdin().read(), lambda: b"".join(streams.stdin_chunks("text")),
        lambda: b"".join(iter(lambda: streams.stdin().read(3), b"")), lambda: b"".join(streams.stdin()),
    ]  # fmt: skip
    for read in readers:
        monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(data.replace(b"\0", b"a"))))
        assert read() == data.replace(b"\0", b"a")


@pytest.mark.parametrize(("write", "value"), [
    (streams.write, b"a"), (streams.say, "a"), (streams.say_json, {"a": 1}),
])  # fmt: skip
def test_a_closed_output_is_named(write: Callable[[Any], None], value: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.stdout", None)
    with pytest.raises(OSError, match="it is closed") as caught:
        write(value)
    assert caught.value.filename == "standard output"
    streams.flush()
