"""Loading a tokenizer from a file or folder of any format."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence

from . import formats
from .tokenizer import Tokenizer


def load(
    path: str | os.PathLike[str],
    *,
    pattern: str | Sequence[str] | None = None,
    special_tokens: Mapping[str, int] | None = None,
    name: str | None = None,
) -> Tokenizer:
    """Load a tokenizer: tokenizer.json, tekken.json, a .tiktoken or GGUF file, vocab.json (vocab.txt) with merges.txt.

    A vocab.json folder is given by its path or by either file's.  `pattern` and `special_tokens` replace
    what the file says or what is known of it; a file that names no pattern and is not a known vocabulary
    needs one.  Nothing is downloaded.

    Raises `VocabularyError` naming the file, the place and what was expected; `OSError` when the file
    cannot be read; `PatternError` on a pattern that cannot be followed exactly.
    """
    return Tokenizer(formats.load(path, pattern=pattern, special_tokens=special_tokens, name=name))
