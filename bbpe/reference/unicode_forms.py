"""Normal forms of Unicode 9.0, the version of HF's `tokenizers`; fast for texts with little to change.

Normalization never crosses a stable code point (Unicode Standard Annex 15, "Stable Code Points").  So only the
stretches of a text that have other code points are normalized.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Iterator
from functools import cache

from ..lazy import lazy_re, np, npt
from ..pipeline.unicode_ages import NEWER_THAN_9, character_class
from ..spec.rules import Form

# `re`, because `regex` searches for a class of ranges more slowly
_NEWER = lazy_re(f"({character_class(NEWER_THAN_9)}+)")
#: The ranges of code points with characters that a normal form changes, joins or reorders, without Hangul syllables.
_RANGES = ((0xA0, 0x3400), (0xA000, 0xAC00), (0xF900, 0x20000), (0x2F800, 0x2FA20))
_HANGUL = (0xAC00, 0xD7A4)
_CHUNK = 1 << 18
#: A text with more than one unstable character in this many is normalized as a whole, because slices would cost more.
_FEW = 16


def normal_form(form: Form, text: str) -> str:
    """Return a text in a normal form; characters newer than Unicode 9.0 do not change and join with nothing.

    >>> normal_form("NFC", "e\u0301 ok") == "\u00e9 ok"
    True
    """
    if text.isascii():
        return text
    if len(text) < _FEW:
        return _whole(form, text)
    found = np.concatenate([_unstable(form, text, at) for at in range(0, len(text), _CHUNK)])
    if not len(found):
        return text
    if len(found) * _FEW > len(text):
        return _whole(form, text)
    return "".join(_pieces(form, text, found))


def combining(char: str) -> int:
    """Return the class by which normal forms sort a mark; 0 for a character that they do not sort.

    >>> combining("\N{COMBINING ACUTE ACCENT}"), combining("a")
    (230, 0)
    """
    return 0 if _NEWER.match(char) else unicodedata.combining(char)


def _pieces(form: Form, text: str, found: npt.NDArray[np.int64]) -> Iterator[str]:
    """Yield the stretches of a text; those around the positions `found` are normalized."""
    breaks = np.flatnonzero(np.diff(found) > 1)
    starts = found[np.concatenate(([0], breaks + 1))]
    ends = found[np.concatenate((breaks, [len(found) - 1]))] + 1
    done = 0
    for start, end in zip(starts.tolist(), ends.tolist(), strict=True):
        # the stretch includes the character before it, because the first one may join that
        start = max(start - 1, done)
        yield text[done:start]
        yield _whole(form, text[start:end])
        done = end
    yield text[done:]


def _unstable(form: Form, text: str, start: int) -> npt.NDArray[np.int64]:
    """Return the positions of characters in a chunk of a text that are not stable in a normal form, int64[n]."""
    points = np.frombuffer(text[start : start + _CHUNK].encode("utf-32-le", "surrogatepass"), np.uint32)
    return np.flatnonzero(_table(form)[points]) + start


@cache
def _table(form: Form) -> npt.NDArray[np.bool_]:
    """Return for each code point whether a normal form can change it, alone or with neighbours: bool[0x110000]."""
    table = np.zeros(0x110000, np.bool_)
    composes = form in ("NFC", "NFKC")
    for first, end in _RANGES:
        for point in range(first, end):
            char = chr(point)
            if not unicodedata.is_normalized(form, char) or unicodedata.combining(char):
                table[point] = True
            parts = unicodedata.decomposition(char)
            if composes and parts and parts[0] != "<" and " " in parts:
                table[int(parts.split()[1], 16)] = True
    if composes:
        table[0x1161:0x1176] = table[0x11A8:0x11C3] = True  # jamo join the character before them
    else:
        table[slice(*_HANGUL)] = True
    for first, last in NEWER_THAN_9:
        table[first : last + 1] = True
    table.flags.writeable = False
    return table


def _whole(form: Form, text: str) -> str:
    if unicodedata.is_normalized(form, text) and not _NEWER.search(text):
        return text
    # the text between newer characters is normalized separately
    parts = _NEWER.split(text)
    parts[::2] = [unicodedata.normalize(form, part) for part in parts[::2]]
    return "".join(parts)
