"""Tokens on a terminal, each on its own background."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import cycle
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from .boxes import Boxes

# pale colours of the 256-colour palette that black text reads well on, neighbours far apart; special tokens are inverse
_BACKGROUNDS = (153, 223, 157, 225, 229, 195)
_RESET = "\x1b[0m"


def sample(tokens: Iterable[bytes], *, colour: bool, special: Iterable[bool] = ()) -> str:
    r"""Write tokens one after the other so that their borders show: backgrounds, or square brackets.

    The result is safe to print whatever the tokens are: controls and parts of characters are escapes.  A token with a
    line end is followed by a line break.

    >>> print(sample([b"Hi", b" there", b"\xe6\xb7"], colour=False))
    [Hi][ there][\xe6\xb7]
    """
    parts = []
    marks = iter(special)
    for background, token in zip(cycle(_BACKGROUNDS), tokens, strict=False):
        text, is_special = _printable(token), next(marks, False)
        look = "1;7" if is_special else f"48;5;{background};38;5;16"
        parts.append(f"\x1b[{look}m{text}{_RESET}" if colour else f"[{text}]")
        if b"\n" in token:
            parts.append("\n")
    return "".join(parts)


def shown(found: Iterable[Boxes], *, colour: bool, with_ids: bool = False) -> str:
    """Return the tokens of a text by several tokenizers, one below another."""
    blocks = []
    for each in found:
        name = f"\x1b[1m{each.name}\x1b[0m" if colour else each.name
        special = [token_id in each.special for token_id in each.ids]
        body = sample(each.tokens, colour=colour, special=special).rstrip("\n")
        ids = [" ".join(map(str, each.ids))] if with_ids else []
        blocks.append("\n".join([f"{name}: {each.summary}", body, *ids]))
    return "\n\n".join(blocks)


def _printable(token: bytes) -> str:
    text = token.decode("utf-8", "backslashreplace")
    return "".join(char if char.isprintable() else char.encode("unicode_escape").decode("ascii") for char in text)
