"""Lines that fit a terminal, and tokens on it, each on its own background."""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Iterable, Iterator
from itertools import cycle
from typing import TYPE_CHECKING

from ..text import columns_of, readable, shortened

if TYPE_CHECKING:
    from .view import Boxes

# pale colours of the 256-colour palette that black text reads well on, neighbours far apart; special tokens are inverse
_BACKGROUNDS = (153, 223, 157, 225, 229, 195)
_RESET = "\x1b[0m"
#: The columns of a line of prose or tokens where there is no terminal.
_WIDEST = 100


def terminal_columns() -> int | None:
    """Return the columns of the terminal that standard output is; None if it is none."""
    if sys.stdout is None or not sys.stdout.isatty():
        return None
    return max(shutil.get_terminal_size().columns, 20)


def line_columns() -> int:
    """Return the most columns of a line: those of the terminal, or 100."""
    return terminal_columns() or _WIDEST


def error_line(line: str) -> str:
    """Return a line for standard error: lines that fit the terminal if it is one, and a single line in a log.

    No word is shortened, as it may be a path.
    """
    try:
        if sys.stderr is None or not sys.stderr.isatty():
            return line
        most = os.get_terminal_size(sys.stderr.fileno()).columns
    except (OSError, ValueError):  # a stream that has no descriptor, or a closed one
        return line
    return "\n".join(wrapped(line, max(most, 20), 2, whole=True))


def wrapped(line: str, most: int, indent: int = 0, *, whole: bool = False) -> Iterator[str]:
    """Yield a line as lines of at most so many columns, broken at blanks; all but the first are indented.

    A word that is too long for a line is shortened, or with `whole` has a longer line of its own.  The indent of
    a line is smaller if its word does not fit otherwise.

    >>> list(wrapped("see my dogs and eyes", 12, 2))
    ['see my dogs', '  and eyes']
    """
    start = len(line) - len(line.lstrip(" "))
    held = line[:start]
    is_empty = True
    for word in line[start:].split(" "):
        short = word if whole or columns_of(word) <= most else shortened(word, most)
        if not is_empty and columns_of(held) + 1 + columns_of(short) > most:
            yield held.rstrip(" ")
            held, is_empty = " " * max(min(indent, most - columns_of(short)), 0), True
        held += short if is_empty else f" {short}"
        is_empty = False
    yield held


def sample(tokens: Iterable[bytes], *, colour: bool, special: Iterable[bool] = (), most: int | None = None) -> str:
    r"""Write tokens one after the other so that their borders show: backgrounds, or square brackets.

    The result is safe to print whatever the tokens are: controls are escapes, and bytes of no whole character hex.  A
    token with a line end is followed by a line break.  With `most`, lines have at most that many columns: they end
    between tokens, and the middle of a longer token is left out.

    >>> print(sample([b"Hi", b" there", b"\xe6\xb7"], colour=False))
    [Hi][ there][<0xE6><0xB7>]
    >>> print(sample([b"Hi", b" there", b"-" * 99], colour=False, most=12))
    [Hi][ there]
    [----...---]
    """
    parts = []
    marks = iter(special)
    frame, taken = 0 if colour else 2, 0
    for background, token in zip(cycle(_BACKGROUNDS), tokens, strict=False):
        text, is_special = _printable(token), next(marks, False)
        if most is not None:
            text = shortened(text, most - frame)
            width = columns_of(text) + frame
            if taken and taken + width > most:
                parts.append("\n")
                taken = 0
            taken += width
        look = "1;7" if is_special else f"48;5;{background};38;5;16"
        parts.append(f"\x1b[{look}m{text}{_RESET}" if colour else f"[{text}]")
        if b"\n" in token:
            parts.append("\n")
            taken = 0
    return "".join(parts)


def shown(found: Iterable[Boxes], *, colour: bool, with_ids: bool = False, most: int | None = None) -> str:
    """Return the tokens of a text by several tokenizers, one below another, in lines of at most `most` columns."""
    blocks = []
    for each in found:
        short = shortened(each.name)
        name = f"\x1b[1m{short}\x1b[0m" if colour else short
        special = [token_id in each.special for token_id in each.ids]
        body = sample(each.tokens, colour=colour, special=special, most=most).rstrip("\n")
        ids = " ".join(map(str, each.ids))
        lines = [] if not with_ids else [ids] if most is None else list(wrapped(ids, most))
        blocks.append("\n".join([f"{name}: {each.summary}", body, *lines]))
    return "\n\n".join(blocks)


def _printable(token: bytes) -> str:
    text = readable(token)
    return "".join(char if char.isprintable() else char.encode("unicode_escape").decode("ascii") for char in text)
