"""Split text that arrives in chunks, at borders that later text cannot change.

More text can change only the last few pretokens (`Pattern.open_tail`), a partial special token at the end, and an
incomplete character at the end; these wait for the next chunk.  Pending text is split again only after it has doubled
in length, so a long pretoken in tiny chunks takes linear time.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import TypeAlias

from ..lazy import np, npt
from ..text import Text, text_bytes
from .special_tokens import NOTHING, Matcher

#: Splits a text; returns the bytes to encode, the ends of the pretokens in these bytes, int64[n], and the ends of
#: the pretokens in the text, int64[n].
Cut: TypeAlias = "Callable[[bytes], tuple[bytes, npt.NDArray[np.int64], npt.NDArray[np.int64]]]"
#: Text and the ends of its pretokens, or the id of a special token.
Piece: TypeAlias = "tuple[bytes, npt.NDArray[np.int64]] | int"


def chunk_bytes(chunks: Iterable[Text]) -> Iterator[bytes | memoryview]:
    """Yield chunks as UTF-8; a surrogate pair split over two strings is joined."""
    high = ""
    for chunk in chunks:
        if not isinstance(chunk, str):
            if high:
                yield text_bytes(high)
                high = ""
            yield text_bytes(chunk)
            continue
        text = high + chunk
        high = text[-1] if text and "\ud800" <= text[-1] <= "\udbff" else ""
        yield text_bytes(text[: len(text) - len(high)])
    if high:
        yield text_bytes(high)


def pieces(chunks: Iterable[Text], cut: Cut, open_tail: int | None, matcher: Matcher | None) -> Iterator[Piece]:
    """Yield the pretokens and special tokens of the joined chunks as soon as they are final.

    Raises `SpecialTokenError` when the text has a token that the matcher refuses.
    """
    matcher = matcher or NOTHING
    pending, enough = bytearray(), 0
    for chunk in _checked(chunk_bytes(chunks), matcher):
        pending += chunk
        if len(pending) < enough:
            continue
        yield from _take(pending, cut, open_tail, matcher)
        enough = 2 * len(pending)
    for piece in matcher.pieces(bytes(pending)):
        yield piece if isinstance(piece, int) else cut(bytes(piece))[:2]


def _checked(chunks: Iterable[bytes | memoryview], matcher: Matcher) -> Iterator[bytes | memoryview]:
    """Yield chunks after a check that no refused token ends in them, even one that begins in an earlier chunk."""
    before, done = b"", 0
    for chunk in chunks:
        window = before + chunk
        matcher.check(window, done - len(before))
        done += len(chunk)
        before = window[max(0, len(window) - matcher.longest + 1) :] if matcher.longest else b""
        yield chunk


def _take(pending: bytearray, cut: Cut, open_tail: int | None, matcher: Matcher) -> Iterator[Piece]:
    """Remove final pieces from the front of `pending`, and yield them."""
    # a token that begins after this may be incomplete, or a prefix of a longer token
    final = len(pending) - max(matcher.longest - 1, 0)
    done = 0
    for start, end, token_id in matcher.matches(pending):
        if start >= final:
            break
        if start > done:
            yield cut(bytes(pending[done:start]))[:2]
        yield token_id
        done = end
    if open_tail is not None and done < final:
        text = bytes(pending[done:final])
        data, ends, text_ends = cut(text[: complete_characters(text)])
        keep = len(ends) - open_tail
        if keep > 0:
            yield data[: int(ends[keep - 1])], ends[:keep]
            done += int(text_ends[keep - 1])
    del pending[:done]


def complete_characters(text: bytes) -> int:
    """Return the length of a text without an incomplete character at its end."""
    for back in range(1, min(4, len(text) + 1)):
        byte = text[-back]
        if byte & 0xC0 != 0x80:
            length = 4 if byte >= 0xF0 else 3 if byte >= 0xE0 else 2 if byte >= 0xC0 else 1
            return len(text) - back if length > back else len(text)
    return len(text)
