"""Characters for sweeps over all of Unicode."""

from __future__ import annotations

#: Every character.
POINTS = [chr(point) for point in range(0x110000) if not 0xD800 <= point < 0xE000]
#: Every character of the planes in which any is assigned, and one in 61 of the planes that are empty or private.
CHARACTERS = [char for char in POINTS if ord(char) < 0x40000 or 0xE0000 <= ord(char) < 0xF0000 or ord(char) % 61 == 0]
#: Long rows of one kind: Han, Yi, Hangul, private, Cuneiform, Hieroglyphs, Tangut, unassigned, higher planes.
ROWS = [
    (0x3400, 0x4DC0), (0x4E00, 0xA48D), (0xAC00, 0xD7A4), (0xE000, 0xF900), (0x12000, 0x1239A), (0x12544, 0x12F90),
    (0x13000, 0x13430), (0x13460, 0x143FB), (0x14647, 0x16100), (0x16200, 0x16800), (0x17000, 0x187F8),
    (0x18800, 0x18CD6), (0x18D09, 0x1AFF0), (0x1B2FC, 0x1BC00), (0x1BCA4, 0x1CC00), (0x20000, 0x110000),
]  # fmt: skip
_IN_ROWS = frozenset(char for first, end in ROWS for char in map(chr, range(first + 4, end - 4)))
#: All of these but within such rows: one in 61 there.
SAMPLED = [char for char in CHARACTERS if char not in _IN_ROWS or ord(char) % 61 == 0]
