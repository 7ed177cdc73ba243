"""Where the ids of a text lie in it."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from .core.ids import TokenBytes
from .encoding import TextEncoder
from .normalize import Text, text_bytes
from .specials import Matcher

Ids = npt.NDArray[np.uint32]
Spans = npt.NDArray[np.int64]


def located(
    encoder: TextEncoder, token_bytes: TokenBytes, text: Text, matcher: Matcher | None
) -> tuple[Ids, Spans]:
    """Return the ids of a text, uint32[n], and their starts and ends in its UTF-8, int64[n, 2]."""
    if not encoder.splitter.pattern.drops_gaps:
        ids = encoder.to_array(text, matcher)
        return ids, token_bytes.spans(ids)
    data = text_bytes(text)
    if matcher is None:
        return _with_gaps(encoder, token_bytes, bytes(data))
    matcher.check(data)
    found: list[tuple[Ids, Spans]] = []
    for start, end, token_id in matcher.spans(data):
        if token_id is None:
            ids, spans = _with_gaps(encoder, token_bytes, bytes(data[start:end]))
            found.append((ids, spans + start))
        else:
            found.append((np.array([token_id], np.uint32), np.array([[start, end]], np.int64)))
    return (
        np.concatenate([np.empty(0, np.uint32), *(ids for ids, _ in found)]),
        np.concatenate([np.empty((0, 2), np.int64), *(spans for _, spans in found)]),
    )


def _with_gaps(encoder: TextEncoder, token_bytes: TokenBytes, data: bytes) -> tuple[Ids, Spans]:
    """Return the ids of a text that is dropped between pretokens."""
    kept, ends, places = encoder.splitter.cut(data)
    ids = encoder.given(kept, ends)
    spans = token_bytes.spans(ids)
    # all of a token lies in one pretoken, and is moved with it
    return ids, spans + (places - ends)[np.searchsorted(ends, spans[:, :1], side="right")]
