"""Text -> pretokens in the form that the encoder takes: UTF-8 and the end of each pretoken.

A pattern with a compiled scheme is split in C, inside the encoder's own loops.  Any other is split by a chain of
automatons, in which the `regex` package finds the matches of regexes that have none.  Bytes that are not UTF-8 pass
through a regex as lone surrogates and come back unchanged.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import lru_cache
from itertools import pairwise

from ..core.pre_tokenizer import Batches, PreTokenizer, joined
from ..core.split import Splitter
from ..errors import PatternError
from ..lazy import lazy_property, np, npt, safe_import
from ..text import Text, text_bytes
from .patterns import Pattern, get_pattern
from .scheme import Scheme

#: Pretokens that a regex finds are handed on in batches of this many.
_BATCH = 1 << 16


@lru_cache(maxsize=64)
def compiled_steps(pattern: Pattern) -> PreTokenizer:
    """Return the chain of regexes that splits as a pattern does."""
    safe_import("bbpe.splitting.automaton")
    from .automaton import matcher_of

    behavior = "Removed" if pattern.drops_gaps else "Isolated"
    return PreTokenizer([("split", matcher_of(source), behavior, pattern.drops_gaps) for source in pattern.steps])


class TextSplitter:
    """Splits texts by one pattern; immutable.

    `compiled` is the C splitter of the pattern, or of a `scheme` in its place; `None` when its regexes do the work.
    """

    def __init__(self, pattern: Pattern, scheme: Scheme | None = None) -> None:
        self.pattern = pattern
        chosen = pattern.scheme if scheme is None else scheme
        self.compiled = None if chosen is None else Splitter(chosen)

    @lazy_property
    def _steps(self) -> PreTokenizer:
        return compiled_steps(self.pattern)

    def batches(self, data: bytes | memoryview) -> Iterator[tuple[bytes, npt.NDArray[np.int64]]]:
        """Yield bytes of pretokens and their ends in them, int64[n], as regexes find them."""
        found = Batches(self._steps, data, _BATCH)
        while (spans := found.next()) is not None:
            if len(spans[0]):
                yield joined(data, *spans)

    def cut(self, data: bytes) -> tuple[bytes, npt.NDArray[np.int64], npt.NDArray[np.int64]]:
        """Return the bytes of all pretokens, their ends in these, and their ends in `data`, int64[n] each.

        The two differ for patterns that drop text between matches.
        """
        if self.compiled is not None:
            ends = self.compiled.spans(data)[1:]
            return data, ends, ends
        _, starts, ends = self._steps.split(data)
        return (*joined(data, starts, ends), ends) if self.pattern.drops_gaps else (data, ends, ends)


def split(text: str, pattern: str | Sequence[str]) -> list[str]:
    """Split a text into pretokens, as training and encoding with the pattern do.

    Args:
        text: The text.  A surrogate pair is its code point, and a lone surrogate is U+FFFD, as in encoding.
        pattern: The split pattern: a name, a regex, or several regexes that are applied in order.

    Returns:
        The pretokens, in order.

    Raises:
        PatternError: The pattern is unknown, or cannot be followed exactly.
        TypeError: The text is not a `str`; `split_spans` also takes bytes.

    Example:
        >>> split("it's 2024", "cl100k")
        ['it', "'s", ' ', '202', '4']
    """
    if not isinstance(text, str):
        raise TypeError(f"split takes a str, not {type(text).__name__}; split_spans takes bytes too")
    chosen = get_pattern(pattern)
    row, ends, _ = TextSplitter(chosen).cut(bytes(text_bytes(text)))
    return [str(row[start:end], "utf-8") for start, end in pairwise([0, *ends.tolist()])]


def split_spans(text: Text, pattern: str | Sequence[str]) -> npt.NDArray[np.int64]:
    """Return where the pretokens of a text begin and end, in bytes of its UTF-8.

    Args:
        text: The text, as `str` or bytes-like.  Each byte that is not UTF-8 is a character of its own.
        pattern: The split pattern, as in `split`.

    Returns:
        An array, int64[n + 1] for n pretokens; pretoken i is `data[spans[i]:spans[i + 1]]`, where `data` is the UTF-8.

    Raises:
        PatternError: The pattern is unknown, or it drops text between pretokens, which spans cannot express.

    Example:
        >>> split_spans("it's 2024", "cl100k").tolist()
        [0, 2, 4, 5, 8, 9]
    """
    chosen = get_pattern(pattern)
    if chosen.drops_gaps:
        raise PatternError(f"pattern {chosen} drops text between pretokens, which spans cannot say; use split")
    return np.concatenate([np.zeros(1, np.int64), TextSplitter(chosen).cut(bytes(text_bytes(text)))[2]])
