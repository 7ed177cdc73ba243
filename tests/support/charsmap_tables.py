"""SentencePiece's tables of normalisation, compiled in Python."""

from __future__ import annotations

from collections.abc import Mapping


def compiled_table(table: Mapping[str, str]) -> bytes:
    """A double array over the keys: every node gets a block of 256 of its own."""
    nodes: dict[bytes, int] = {b"": 0}
    for key in sorted(table):
        data = key.encode()
        for end in range(1, len(data) + 1):
            nodes.setdefault(data[:end], len(nodes))
    values = {key.encode(): value.encode() for key, value in table.items()}
    # the children of node k stand in block k + 1; an offset is from its own place
    units, texts = [0] * (256 * (len(nodes) + 1)), b""
    for prefix, number in nodes.items():
        base = 256 * (number + 1)
        place = 256 * (nodes[prefix[:-1]] + 1) ^ prefix[-1] if prefix else 0
        units[place] = (base ^ place) << 10 | (prefix in values) << 8 | (prefix[-1] if prefix else 0)
        if prefix in values:
            units[base] = 1 << 31 | len(texts)
            texts += values[prefix] + b"\0"
    trie = b"".join(unit.to_bytes(4, "little") for unit in units)
    return len(trie).to_bytes(4, "little") + trie + texts
