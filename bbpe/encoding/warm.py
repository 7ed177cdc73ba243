"""Make before the first text what a tokenizer makes at its first calls."""

from __future__ import annotations

from contextlib import suppress
from typing import Any

from ..errors import VocabularyError

#: Words, digits, blanks, and characters beyond ASCII, which normalizers have more to do with.
_TEXT = "See 12 e\u0301\u00e9\u4e2d,\n"
#: A text so many times as long has all tables of an encoder made.
_TIMES = 1 << 11


def warm_up(tokenizer: Any) -> None:
    """Make the usual calls of a `Tokenizer` once: each makes the tables, policies and automatons that it keeps."""
    ids: list[int] = tokenizer.encode(_TEXT)
    tokenizer.count_tokens(_TEXT * _TIMES)
    for options in ({"allowed_special": ()}, {"allowed_special": "all"}, {"disallowed_special": "all"}):
        for adds in (False, True):
            ids = tokenizer.encode(_TEXT, add_special_tokens=adds, **options) or ids
            tokenizer.encode_batch([_TEXT], add_special_tokens=adds, **options)
            tokenizer.encode_padded([_TEXT], max_length=1 << 20, pad_id=0, add_special_tokens=adds, **options)
        tokenizer.count_tokens(_TEXT, **options)
        with suppress(VocabularyError):  # from a rule without offsets
            tokenizer.encode_with_offsets(_TEXT, **options)
    for skips in (False, True):
        tokenizer.decode(ids, skip_special_tokens=skips)
        tokenizer.decode_batch([ids], skip_special_tokens=skips)
        stream = tokenizer.stream_decoder(skip_special_tokens=skips)
        for token_id in ids:
            stream.push(token_id)
