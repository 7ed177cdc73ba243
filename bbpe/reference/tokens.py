"""Where special and added tokens are in a text, with their options, by the rules of HF's `tokenizers`."""

from __future__ import annotations

import re
from collections.abc import Iterator

from ..lazy import lazy_re
from ..pipeline.special_tokens import Matcher, OptionMatcher
from ..spec.rules import TokenOptions
from ..text import WHITE_SPACE


def token_spans(matcher: Matcher, data: bytes) -> Iterator[tuple[int, int, int | None]]:
    """Yield the start and end of stretches of plain text, without an id, and of the tokens between them.

    White space that a token takes may be that of the token after it too.
    """
    if not isinstance(matcher, OptionMatcher):
        yield from matcher.spans(data)
        return
    done = 0
    for start, end, token_id in matcher.matches(data):
        options = matcher.options.get(data[start:end], TokenOptions())
        if not matcher.is_there(data, start, end):
            continue
        if options.rstrip:
            end = _WHITE_SPACE_RUN.match(data, end).end()  # type: ignore[union-attr]
        if options.lstrip:  # what the token before has taken is not taken again, and may be the whole token
            start = start - _white_space_at_end(data[done:start]) if start > done else done
            if start >= end:
                continue
        if start > done:
            yield done, start, None
        yield start, end, token_id
        done = end
    if done < len(data):
        yield done, len(data), None


#: White space in UTF-8, any number of characters; it always matches.
_WHITE_SPACE_RUN = lazy_re(b"(?:" + b"|".join(re.escape(char.encode()) for char in WHITE_SPACE) + b")*")


def _white_space_at_end(data: bytes) -> int:
    """Return the bytes of white space that a text ends with."""
    text = data.decode("utf-8", "surrogateescape")
    return len(text[len(text.rstrip(WHITE_SPACE)) :].encode())
