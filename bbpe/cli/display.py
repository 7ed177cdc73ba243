"""Tokens on a terminal, each on a background of its own."""

from __future__ import annotations

import os
from collections.abc import Iterable
from itertools import cycle
from typing import TextIO

# pale colours of the 256-colour palette that black text reads well on, neighbours far apart
_BACKGROUNDS = (153, 223, 157, 225, 229, 195)
_RESET = "\x1b[0m"


def sample(tokens: Iterable[bytes], *, colour: bool) -> str:
    r"""Write tokens one after the other so that their borders show: backgrounds, or square brackets.

    Whatever a token holds, the result is safe to print: controls and bytes that are no whole character
    are written as escapes.  A token that holds a line end is followed by a line break.

    >>> print(sample([b"Hi", b" there", b"\xe6\xb7"], colour=False))
    [Hi][ there][\xe6\xb7]
    """
    parts = []
    for background, token in zip(cycle(_BACKGROUNDS), tokens):
        text = _printable(token)
        parts.append(f"\x1b[48;5;{background};38;5;16m{text}{_RESET}" if colour else f"[{text}]")
        if b"\n" in token:
            parts.append("\n")
    return "".join(parts)


def shows_colour(stream: TextIO) -> bool:
    """Whether a stream is a terminal whose user has not asked for none (https://no-color.org)."""
    return stream.isatty() and not os.environ.get("NO_COLOR")


def _printable(token: bytes) -> str:
    text = token.decode("utf-8", "backslashreplace")
    return "".join(char if char.isprintable() else _escape(char) for char in text)


def _escape(char: str) -> str:
    return char.encode("unicode_escape").decode("ascii")
