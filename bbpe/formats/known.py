"""Vocabularies that are recognised by their content.

A rank file and a `vocab.json` say nothing about the split pattern.  Those of published vocabularies are
known by the SHA-256 of their ordinary tokens, written as a rank file in order of ids; for the files of
OpenAI this is the digest that `tiktoken_ext/openai_public.py` states.

Sources: OpenAI's `tiktoken_ext/openai_public.py`; Meta's `llama3/tokenizer.py` (of its special tokens only
those that every release of Llama 3 has); the tokenizer files of Qwen 2, 2.5, 3 and of Qwen 3.5, 3.6.
"""

from __future__ import annotations

import hashlib
from base64 import b64encode
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from ..errors import VocabularyError
from ..files import StrPath
from ..patterns import PATTERNS, Pattern, get_pattern

_EOT, _EOP = "<|endoftext|>", "<|endofprompt|>"


@dataclass(frozen=True)
class Known:
    """What a published vocabulary is used with."""

    name: str
    pattern: str
    special_tokens: Mapping[str, int]


#: Published vocabularies by the digest of their ordinary tokens.
KNOWN: dict[str, Known] = {
    "306cd27f03c1a714eca7108e03d66b7dc042abe8c258b44c199a7ed9838dd930": Known("gpt2", "gpt2", {_EOT: 50256}),
    "94b5ca7dff4d00767bc256fdd1b27e5b17361d7b8a5f968547f9f23eb70d2069": Known("p50k_base", "gpt2", {_EOT: 50256}),
    "223921b76ee99bde995b7ff738513eef100fb51d18c93597a113bcffe865b2a7": Known(
        "cl100k_base",
        "cl100k",
        {
            _EOT: 100257,
            "<|fim_prefix|>": 100258,
            "<|fim_middle|>": 100259,
            "<|fim_suffix|>": 100260,
            _EOP: 100276,
        },
    ),
    "446a9538cb6c348e3516120d7c08b09f57c36495e2acfffe59a5bf8b0cfb1a2d": Known(
        "o200k_base", "o200k", {_EOT: 199999, _EOP: 200018}
    ),
    "82e9d31979e92ab929cd544440f129d9ecd797b69e327f80f17e1c50d5551b55": Known(
        "llama3",
        "llama3",
        {
            "<|begin_of_text|>": 128000,
            "<|end_of_text|>": 128001,
            "<|start_header_id|>": 128006,
            "<|end_header_id|>": 128007,
            "<|eot_id|>": 128009,
        },
    ),
    "b2b1b8dfb5cc5f024bafc373121c6aba3f66f9a5a0269e243470a1de16a33186": Known(
        "qwen", "qwen2", {_EOT: 151643, "<|im_start|>": 151644, "<|im_end|>": 151645}
    ),
    "8dde380a6405e935f5de16a99eb61c824f3f814dd1ed298784c72babb7a03cdd": Known(
        "qwen3_6", "qwen3_5", {_EOT: 248044, "<|im_start|>": 248045, "<|im_end|>": 248046}
    ),
}


def rank_text(vocab: Mapping[int, bytes]) -> bytes:
    r"""Return ordinary tokens as the text of a rank file: lines of base64, a blank and the id, by id.

    >>> rank_text({1: b"b", 0: b"a", 2: b""})
    b'YQ== 0\nYg== 1\n= 2\n'
    """
    # an empty token is "=", as Whisper's files have it: readers split lines at blanks
    return b"".join(b"%s %d\n" % (b64encode(token) or b"=", token_id) for token_id, token in sorted(vocab.items()))


def recognise(text: bytes) -> Known | None:
    """Return what is known about a vocabulary, given the text of its rank file."""
    return KNOWN.get(hashlib.sha256(text).hexdigest())


def pattern_of(
    pattern: str | Sequence[str] | Pattern | None, known: Known | None, *, path: StrPath, kind: str
) -> Pattern:
    """Return the pattern that the caller names, else the known one.

    Raises `VocabularyError` when there is neither: a guess would give wrong ids in silence.
    """
    if pattern is not None:
        return get_pattern(pattern)
    if known is None:
        names = ", ".join(row.name for row in KNOWN.values())
        raise VocabularyError(
            f"{kind} does not say how text is split, and this vocabulary is none of the known ones ({names}); "
            f"give pattern=, a regex or one of: {', '.join(PATTERNS)}",
            path=path,
        )
    return get_pattern(known.pattern)


def check_special_tokens(special_tokens: object) -> dict[str, int] | None:
    """Return special tokens that a caller gives; `TypeError` unless they map texts to ids."""
    if special_tokens is None:
        return None
    if not isinstance(special_tokens, Mapping):
        raise TypeError(f"special_tokens must map each text to its id, not be {type(special_tokens).__name__}")
    for text, token_id in special_tokens.items():
        if not isinstance(text, str) or not isinstance(token_id, int) or isinstance(token_id, bool):
            raise TypeError(f"special_tokens must map each text to its id; found {text!r}: {token_id!r}")
    return dict(special_tokens)
