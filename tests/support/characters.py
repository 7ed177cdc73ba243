"""Characters for sweeps over all of Unicode."""

from __future__ import annotations

#: Every character.
POINTS = [chr(point) for point in range(0x110000) if not 0xD800 <= point < 0xE000]
#: Every character of the planes in which any is assigned, and one in 61 of the planes that are empty or private.
CHARACTERS = [char for char in POINTS if ord(char) < 0x40000 or 0xE0000 <= ord(char) < 0xF0000 or ord(char) % 61 == 0]
#: All of these but in the long rows of one kind, such as Han and Hangul, and in higher planes: one in 29 of those.
SAMPLED = [
    char
    for char in CHARACTERS
    if not (0x3400 <= ord(char) < 0xA000 or 0xAC00 <= ord(char) < 0xD7A0 or ord(char) >= 0x20000) or ord(char) % 29 == 0
]
