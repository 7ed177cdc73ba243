"""Convert between texts and bytes: well-formed UTF-8, and the byte alphabet.

The byte alphabet of GPT-2 has one printable character for each byte.  `vocab.json`, `merges.txt` and `tokenizer.json`
write tokens in it, because a text file cannot hold bytes that are controls or parts of characters.  A printable Latin-1
byte is its own character; the other bytes are U+0100, U+0101, ... in order (Radford et al., 2019, "Language Models are
Unsupervised Multitask Learners", and its published encoder).
"""

from __future__ import annotations

import mmap
import os
from codecs import charmap_decode
from collections.abc import Sequence
from itertools import accumulate
from typing import TypeAlias, cast

from .errors import VocabularyError
from .lazy import lazy_re, np, npt, safe_import

#: The buffers that the C core reads: contiguous UTF-8.
Buffer: TypeAlias = bytes | bytearray | memoryview | mmap.mmap
#: The types of texts that all functions accept: a string, or its UTF-8 bytes in any buffer of bytes.
Text: TypeAlias = "str | Buffer | npt.NDArray[np.uint8]"

#: The characters that `\s` matches in a regex and that HF's `tokenizers` strips; `str.strip` also strips four others.
WHITE_SPACE = "\t\n\v\f\r \x85\xa0\u1680\u2028\u2029\u202f\u205f\u3000" + "".join(map(chr, range(0x2000, 0x200B)))

_PRINTABLE = (*range(0x21, 0x7F), *range(0xA1, 0xAD), *range(0xAE, 0x100))

#: The 256 bytes in the order of their characters, which is the order of their ids in a trained vocabulary.
BYTE_ORDER = bytes((*_PRINTABLE, *sorted({*range(256)} - {*_PRINTABLE})))

_CHARS = [chr(point) for point in _PRINTABLE] + [chr(0x100 + i) for i in range(256 - len(_PRINTABLE))]
_TO_CHAR = dict(zip(BYTE_ORDER, _CHARS, strict=True))
#: The characters of bytes 0 to 255, in order.
_BY_BYTE = "".join(_TO_CHAR[byte] for byte in range(256))
_TO_BYTE = {ord(char): chr(byte) for byte, char in _TO_CHAR.items()}
_ALPHABET = frozenset(_CHARS)
# the surrogates that stand for bytes that are not UTF-8
_ESCAPED = lazy_re("[\udc80-\udcff]")


def text_of_file(data: bytes, path: str | os.PathLike[str]) -> str:
    """Return the text of a UTF-8 file with this content; `VocabularyError` naming the byte that is none."""
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError as error:
        # the decoder has this reason only where the data ends
        is_cut = error.reason == "unexpected end of data"
        found = "the file ends within a character" if is_cut else f"found byte 0x{data[error.start]:02X}"
        raise VocabularyError(f"{found}; expected UTF-8 text", path=path, place=f"byte {error.start}") from None


def bytes_to_alphabet(token: bytes) -> str:
    r"""Return bytes as a text in the byte alphabet.

    >>> bytes_to_alphabet(b" a\n")
    'ĠaĊ'
    """
    return token.decode("latin-1").translate(_TO_CHAR)


def tokens_to_alphabet(tokens: Sequence[bytes]) -> list[str]:
    r"""Return many byte strings as texts in the byte alphabet.

    >>> tokens_to_alphabet([b" a", b"\n"])
    ['Ġa', 'Ċ']
    """
    text = charmap_decode(b"".join(tokens), "strict", _BY_BYTE)[0]
    return [text[end - len(token) : end] for token, end in zip(tokens, accumulate(map(len, tokens)), strict=True)]


def alphabet_to_bytes(text: str) -> bytes:
    r"""Return the bytes of a text in the byte alphabet; `ValueError` on a character outside the alphabet.

    >>> alphabet_to_bytes("ĠaĊ")
    b' a\n'
    """
    if not _ALPHABET.issuperset(text):
        stray = next(char for char in text if char not in _ALPHABET)
        raise ValueError(f"{stray!r} (U+{ord(stray):04X}) is not in the byte alphabet")
    return text.translate(_TO_BYTE).encode("latin-1")


def well_formed(text: str) -> str:
    r"""Return a string without surrogates: a pair becomes its code point, an unpaired one U+FFFD, as in tiktoken.

    >>> well_formed("\ud83d\ude00 \ud800") == "\U0001f600 \ufffd"
    True
    """
    return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")


def check_unicode(name: str, text: str) -> None:
    """Raise `ValueError` naming an argument that holds half a surrogate pair, which no text has once it is encoded."""
    if not text.isascii() and well_formed(text) != text:
        raise ValueError(f"{name}: {text!r} holds half a surrogate pair; expected Unicode text")


def text_bytes(text: Text) -> bytes | memoryview:
    """Return a text as UTF-8 bytes; a buffer of bytes is returned without a copy.

    Raises `TypeError` unless the text is a `str` or a contiguous one-dimensional buffer of bytes.
    """
    if isinstance(text, str):
        try:
            return text.encode()
        except UnicodeEncodeError:
            return well_formed(text).encode()
    if isinstance(text, bytes):
        return text
    try:
        view = memoryview(cast(Buffer, text))
    except TypeError:
        raise TypeError(f"a text is str or bytes-like, not {type(text).__name__}") from None
    if view.ndim != 1 or view.itemsize != 1 or not view.contiguous:
        raise TypeError(
            "a bytes-like text must be a contiguous buffer of bytes, not one of "
            f"{view.ndim} dimensions and format {view.format!r}"
        )
    return view.cast("B")


def readable(token: bytes) -> str:
    r"""Return bytes as a text in which each byte that is not part of a whole character is written in hex.

    >>> readable(b" caf\xc3\xa9"), readable(b"a\xe6\xb7")
    (' café', 'a<0xE6><0xB7>')
    """
    text = token.decode("utf-8", "surrogateescape")
    if not _ESCAPED.search(text):
        return text
    return _ESCAPED.sub(lambda byte: f"<0x{ord(byte[0]) - 0xDC00:02X}>", text)


def columns_of(text: str) -> int:
    r"""Return how many columns of a terminal a text takes: wide characters two, combining marks none.

    >>> columns_of("low"), columns_of("\u4e16\u754c"), columns_of("e\u0301")
    (3, 4, 1)
    """
    if text.isascii():
        return len(text)
    safe_import("unicodedata")
    import unicodedata

    return sum(2 if unicodedata.east_asian_width(char) in "WF" else not unicodedata.combining(char) for char in text)


def shortened(text: str | bytes, most: int = 40, *, quoted: bool = False) -> str:
    r"""Return a text for one line of a terminal, in at most so many columns: its middle is left out.

    Controls and other characters that a terminal does not show are escapes, and bytes of no whole character hex.

    >>> shortened("low\n"), shortened(b"-" * 99, 13), shortened("\u4e16" * 9, 10), shortened(b" a\xff", quoted=True)
    ('low\\n', '-----...-----', '\u4e16\u4e16...\u4e16', "' a<0xFF>'")
    """
    cut = len(text) > 16 * most
    # no more of a long text is looked at than can be shown
    ends = (text[: 8 * most], text[-8 * most :]) if cut else (text,)
    shown = "".join(readable(end) if isinstance(end, bytes) else end for end in ends)
    shown = repr(shown) if quoted else "".join(map(_escaped, shown))
    if not cut and columns_of(shown) <= most:
        return shown
    room = max(most - 3, 2)
    return f"{_beginning(shown, room - room // 2)}...{_beginning(shown[::-1], room // 2)[::-1]}"


def _escaped(char: str) -> str:
    return char if char.isprintable() else char.encode("unicode_escape").decode("ascii")


def _beginning(text: str, most: int) -> str:
    """Return the longest beginning of at most so many columns."""
    end = taken = 0
    for char in text[: 8 * most]:
        taken += columns_of(char)
        if taken > most:
            break
        end += 1
    return text[:end]


def counted(number: int, noun: str, one: str = "", more: str = "") -> str:
    """Return a number of things for people, and a verb that has two forms.

    >>> counted(1, "part"), counted(2000, "part")
    ('1 part', '2,000 parts')
    >>> counted(1, "part", "is", "are"), counted(2, "part", "is", "are")
    ('1 part is', '2 parts are')
    """
    verb = one if number == 1 else more
    return f"{number:,} {noun}{'' if number == 1 else 's'}{verb and f' {verb}'}"


def first_few(texts: Sequence[str], most: int, between: str = ", ") -> str:
    """Return the first texts of a list in one line, and how many more it has.

    >>> first_few(["a", "b"], 2), first_few(["a", "b", "c"], 2), first_few([], 2)
    ('a, b', 'a, b and 1 more', 'none')
    """
    more = f" and {len(texts) - most:,} more" if len(texts) > most else ""
    return (between.join(texts[:most]) or "none") + more


def sized(size: float) -> str:
    """Return a number of bytes for people, in units of powers of 1000.

    >>> sized(1), sized(999), sized(1_234_567), sized(25_600_000_000)
    ('1 byte', '999 bytes', '1.2 MB', '26 GB')
    """
    units, value = ["kB", "MB", "GB", "TB", "PB"], size / 1000
    if size < 999.5:
        return counted(round(size), "byte")
    while value >= 999.5 and len(units) > 1:
        value /= 1000
        del units[0]
    unit = units[0]
    return f"{value:.1f} {unit}" if value < 9.95 else f"{value:,.0f} {unit}"


def distinct(names: Sequence[str]) -> list[str]:
    """Return names with their places where they are equal.

    >>> distinct(["x", "x", "y"])
    ['x (1)', 'x (2)', 'y']
    """
    return [name if names.count(name) == 1 else f"{name} ({place})" for place, name in enumerate(names, 1)]


def aligned(rows: Sequence[Sequence[str]], names: int = 1, most: int | None = None) -> str:
    """Return rows as lines with columns of equal width: the first `names` at the left, figures at the right.

    `most` limits the columns of a line.  Figures that do not fit go to another table below, which repeats the names.

    >>> print(aligned([("name", "tokens"), ("a", "1,024")]))
    name  tokens
    a      1,024
    """
    widths = [max(map(columns_of, column)) for column in zip(*rows, strict=True)]
    left = list(range(min(names, len(widths))))
    blocks = [left.copy()]
    for at in range(len(left), len(widths)):
        is_full = most is not None and sum(widths[each] + 2 for each in blocks[-1]) + widths[at] > most
        if is_full and len(blocks[-1]) > len(left):
            blocks.append(left.copy())
        blocks[-1].append(at)
    return "\n\n".join("\n".join(_cells(row, widths, block, names) for row in rows) for block in blocks)


def _cells(row: Sequence[str], widths: Sequence[int], block: Sequence[int], names: int) -> str:
    cells = []
    for at in block:
        room = " " * (widths[at] - columns_of(row[at]))
        cells.append(row[at] + room if at < names else room + row[at])
    return "  ".join(cells).rstrip()
