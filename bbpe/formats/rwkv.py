"""RWKV's vocabulary: lines of an id, a Python literal (text or bytes) and the number of bytes.

The longest token that fits is taken at each position, without merges.
"""

from __future__ import annotations

from ast import literal_eval
from pathlib import Path

from ..errors import VocabularyError
from ..files import StrPath
from ..spec.models import LongestMatchModel
from ..spec.spec import MAX_ID, TokenizerSpec, make_spec
from ..splitting.patterns import PATTERNS
from .common.given import Given
from .common.reading import read_text

_LONGEST = 1 << 16  # characters of a line


def load(path: StrPath, given: Given) -> TokenizerSpec:
    """Read a vocabulary; such a file has no special tokens.  `pattern` splits texts, which RWKV does not do.

    Raises `VocabularyError` with the line that is not a token, and when a single byte has no token.
    """
    vocab: dict[int, bytes] = {}
    for number, line in enumerate(read_text(path).rstrip("\r\n").split("\n"), 1):
        token_id, token = _row(line.removesuffix("\r"), number)
        if vocab.setdefault(token_id, token) != token:
            raise VocabularyError(f"id {token_id} already has a token; expected each id once", place=f"line {number}")
    return make_spec(
        vocab,
        None,
        pattern=given.pattern_or(PATTERNS["none"]),
        special_tokens=given.special_tokens,
        name=given.name,
        model=LongestMatchModel(),
    )


def written(spec: TokenizerSpec, path: Path) -> dict[Path, bytes]:
    """Return a vocabulary; `VocabularyError` on a spec of another model."""
    if not isinstance(spec.model, LongestMatchModel):
        raise VocabularyError("RWKV's vocabulary holds only longest matches; write tokenizer.json")
    rows = [f"{token_id} {_literal(token)} {len(token)}\n" for token_id, token in sorted(spec.vocab.items())]
    return {path: "".join(rows).encode("utf-8", "backslashreplace")}


def _row(line: str, number: int) -> tuple[int, bytes]:
    """Return the id and the token of a line."""
    digits, _, rest = line.partition(" ")
    literal, _, length = rest.rpartition(" ")
    try:
        if len(line) > _LONGEST or not all(part.isascii() and part.isdigit() for part in (digits, length)):
            raise ValueError
        value = literal_eval(literal)
        token = value.encode() if isinstance(value, str) else value
        if int(digits) > MAX_ID or not isinstance(token, bytes) or len(token) != int(length):
            raise ValueError
    except (ValueError, SyntaxError, MemoryError, RecursionError):
        problem = f"found {line[:60]!r}; expected an id, a Python literal of text or bytes, and its number of bytes"
        raise VocabularyError(problem, place=f"line {number}") from None
    return int(digits), token


def _literal(token: bytes) -> str:
    try:
        return repr(token.decode("utf-8"))
    except UnicodeDecodeError:
        return repr(token)
