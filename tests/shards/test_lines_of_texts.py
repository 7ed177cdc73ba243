"""Lines of a text that comes in blocks, each a document; and digests of texts, which tell that a file is another."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest

from bbpe.corpus.sources import Texts
from bbpe.shards.documents import _by_line, _digest_of

LINES: list[list[bytes]] = [
    [], [b"\n"], [b"a"], [b"a\n"], [b"a\n", b"b"], [b"a\n", b"\n", b"\n", b"b\n"], [b"\n", b"low\r\n", b"\rx"],
    [b"caf\xc3\xa9\n", b"\x0b\xe2\x80\xa8\n", b"l" * 9],
]  # fmt: skip


@pytest.mark.parametrize("lines", LINES)
@pytest.mark.parametrize("size", [1, 2, 3, 5, 100])
def test_lines_do_not_depend_on_blocks(lines: list[bytes], size: int) -> None:
    """A line ends with a line feed alone, and the last one with the text."""
    text = b"".join(lines)
    blocks = [text[at : at + size] for at in range(0, len(text), size)] or [b""]
    events = [Texts(block, None, at == len(blocks) - 1, 10 * (at + 1)) for at, block in enumerate(blocks)]
    found: list[bytes] = []
    for number, event in enumerate(_by_line(iter(events)), 1):
        assert event.ends is not None
        assert (event.read, event.last) == (10 * number, True)
        assert event.ends.dtype == np.int64
        assert event.ends.tolist()[-1:] == [len(event.data)] * bool(len(event.data))
        found += [bytes(event.data[start:end]) for start, end in pairwise([0, *event.ends.tolist()])]
    assert found == lines


def test_texts_have_one_digest_if_nothing_of_them_differs() -> None:
    """Their bytes, where each ends, and their ids in the corpus; not how far in the file they are."""

    def digest(data: bytes, ends: list[int] | None, keys: list[str] | None = None, read: int = 0) -> int:
        return _digest_of(Texts(data, None if ends is None else np.array(ends, np.int64), read=read, keys=keys))

    different = [
        digest(b"ab", [2]), digest(b"ab", [1, 2]), digest(b"ba", [2]), digest(b"ab", [2, 2]), digest(b"ab", None),
        digest(b"", []), digest(b"ab", [1, 2], ["x", "y"]), digest(b"ab", [1, 2], ["y", "x"]),
        digest(b"ab", [1, 2], ["x", "z"]), digest(b"", [0]),
    ]  # fmt: skip
    assert len({*different}) == len(different)
    assert digest(b"ab", [2], read=5) == digest(b"ab", [2])
    assert digest(b"ab", [2], []) == digest(b"ab", [2])
