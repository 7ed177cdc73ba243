"""Rank files (`.tiktoken`): each line has the bytes of a token in base64, a blank, and its rank.

The rank is the id and the priority of merging; the files have neither the pattern nor special tokens.
This module follows the reader of OpenAI's tiktoken: a pretoken that is a token becomes that token, ranks may have gaps,
blank lines are skipped, and `=` is the empty token (in Whisper's files).
"""

from __future__ import annotations

from binascii import Error as Base64Error
from binascii import a2b_base64
from collections.abc import Mapping
from pathlib import Path

from ..errors import VocabularyError
from ..files import StrPath
from ..spec.models import Vocab
from ..spec.spec import MAX_ID, TokenizerSpec, make_spec
from .common.given import Given, needed_pattern, rank_text
from .common.ranks import ranks_of
from .common.reading import about, read_file

_MOST_NAMED = 1 << 16
_RANK = f"a rank of 0 to {MAX_ID}"


def load(path: StrPath, given: Given) -> TokenizerSpec:
    """Read a rank file.

    Known vocabularies have default values of the arguments; any other vocabulary needs a pattern, and has the special
    tokens that its folder names.

    Raises `VocabularyError` with the line on bad base64, a bad rank, and a repeated rank or token.
    """
    data = read_file(path)
    vocab, is_canonical = _read(data)
    whole = given.or_known(lambda: data if is_canonical else rank_text(vocab))
    named = _named(len(vocab), given) if given.special_tokens is None else {}
    return make_spec(
        vocab,
        None,
        pattern=needed_pattern(whole, "a rank file"),
        special_tokens=named or whole.special_tokens,
        whole_pretokens=True,
        name=whole.name,
    )


def _named(size: int, given: Given) -> dict[str, int]:
    """Return the tokens after the ranks that `added_tokens_decoder` of a folder names, as `transformers` numbers them.

    Ids between them have names too.
    """
    if given.folder is None or not given.is_folder:
        return {}
    fields, place = given.folder.fields, "added_tokens_decoder"
    rows = fields.peek(place) if isinstance(fields.peek(place), dict) else {}
    rows = {int(key): row.get("content") for key, row in rows.items() if key.isdecimal() and isinstance(row, dict)}
    names = {token_id: text for token_id, text in rows.items() if isinstance(text, str)}
    last = max(names, default=-1)
    if last - size > _MOST_NAMED:
        fields.refuse(f"found the id {last}; expected at most {size + _MOST_NAMED}", place)
    return {names.get(token_id, f"<|reserved_token_{token_id}|>"): token_id for token_id in range(size, last + 1)}


def written(spec: TokenizerSpec, path: Path) -> dict[Path, bytes]:
    """Return the rank file of the ordinary tokens of a spec.

    The format cannot hold the pattern and the special tokens, so readers need them as arguments.

    Raises `VocabularyError` when merging by rank would give other ids than the merges of the spec.
    """
    return {path: rank_text({token_id: token for token, token_id in ranks_of(spec).items()})}


def _read(data: bytes) -> tuple[Mapping[int, bytes], bool]:
    """Return the vocabulary of a rank file, and whether the file has the canonical form of `rank_text`."""
    read = Vocab.of_rank_text(data)
    return (_parse(data), False) if read is None else read


def read_ranks(data: bytes, path: StrPath) -> Mapping[int, bytes]:
    """Return the ranks and tokens of a rank file; `VocabularyError` with the line that is wrong."""
    with about(path):
        return _read(data)[0]


def _parse(data: bytes) -> dict[int, bytes]:
    """Read line by line a file that the compiled reader did not accept; errors name the line."""
    vocab: dict[int, bytes] = {}
    lines: dict[bytes | int, int] = {}
    for number, line in enumerate(data.split(b"\n"), 1):
        parts = line.split()
        if not parts:
            continue
        expected = "a token in base64, a blank and its rank"
        try:
            encoded, digits = parts
            expected = "a rank of decimal digits at the end"
            if not digits.isdigit():
                raise ValueError
            token = b"" if encoded == b"=" else a2b_base64(encoded, strict_mode=True)
            expected = _RANK
            rank = int(digits)
        except ValueError as error:
            expected = f"a token in base64 ({error})" if isinstance(error, Base64Error) else expected
            found = line[:60].decode("utf-8", "backslashreplace")
            raise VocabularyError(f"found {found!r}; expected {expected}", place=f"line {number}") from None
        if lines.setdefault(rank, number) != number or lines.setdefault(token, number) != number:
            key, what = (rank, "rank") if lines[rank] != number else (token, "token")
            problem = f"{what} {key!r} is already in line {lines[key]}; expected each {what} once"
            raise VocabularyError(problem, place=f"line {number}")
        vocab[rank] = token
    if not vocab:
        raise VocabularyError("found no line; expected lines of base64, a blank and a rank")
    return vocab
