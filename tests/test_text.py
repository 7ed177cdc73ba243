"""Texts in the byte alphabet, and what a terminal shows of others."""

from __future__ import annotations

import pytest

from bbpe.text import alphabet_to_bytes, bytes_to_alphabet


@pytest.mark.parametrize("char", [" ", "\n", "\x7f", "\xa0", "\xad", "\u0144", "世", "\ud800"])
def test_a_character_outside_the_byte_alphabet_is_named(char: str) -> None:
    # some of these have a byte of their own in Latin-1
    with pytest.raises(ValueError, match=rf"U\+{ord(char):04X}\) is not in the byte alphabet"):
        alphabet_to_bytes(f"a{char}b")


def test_the_byte_alphabet_has_every_byte() -> None:
    data = bytes(range(256))
    assert alphabet_to_bytes(bytes_to_alphabet(data)) == data
