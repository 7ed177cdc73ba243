"""Read a `tokenizer.json` whose vocabulary and merges go straight into tables; `json` reads all the rest."""

from __future__ import annotations

from typing import Any, NamedTuple

from ...core.json_text import find_members
from ...core.token_table import TokenTable
from ...errors import VocabularyError
from ...spec.merges import Merges
from ..key_tables import Keys, MergeIds
from ..reading import loads


class Unread(NamedTuple):
    """A list of merges in the bytes of a file."""

    data: bytes
    start: int
    end: int

    def merges(self, keys: Keys, prefix: str) -> MergeIds:
        """Return the merges of keys; `VocabularyError` when a slower reader has to look at them."""
        found = Merges.of_json(self.data, self.start, self.end, keys.table, prefix.encode())
        if found is None:
            raise VocabularyError("a merge is out of the ordinary; expected two tokens and their result")
        return MergeIds(found, keys)


def quick_document(data: bytes) -> dict[str, Any] | None:
    """Return the value of a document with the `Keys` of a BPE model in place of its vocabulary and `Unread` merges.

    `None` when something is out of the ordinary, such as a number that is not an id, or wrong.  `read_json` has the
    value of such a file, or explains what is wrong with it.
    """
    places = find_members(data, (b"model", b"vocab"), (b"model", b"merges"))
    if places is None or (0, 0) in places:
        return None
    (start, end), (first, last) = places
    if data[start:start + 1] != b"{" or data[first:first + 1] != b"[":
        return None
    table = TokenTable.of_json(data, start, end)
    if table is None:
        return None
    try:
        value: dict[str, Any] = loads(_without(data, places).decode())
    except (ValueError, RecursionError):  # also `VocabularyError`
        return None
    if value["model"].get("type", "BPE") != "BPE":
        return None
    value["model"] |= {"vocab": Keys(table), "merges": Unread(data, first, last)}
    return value


def _without(data: bytes, places: list[tuple[int, int]]) -> bytes:
    """Return a document with `null` for each of two values."""
    (a, b), (c, d) = sorted(places)
    return b"null".join((data[:a], data[b:c], data[d:]))
