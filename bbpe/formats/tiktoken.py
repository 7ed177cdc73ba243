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
from ..spec.spec import MAX_ID, TokenizerSpec, make_spec
from ..spec.vocab import Vocab
from .common.given import Given, needed_pattern, rank_text
from .common.ranks import ranks_of
from .common.reading import about, read_file


def load(path: StrPath, given: Given) -> TokenizerSpec:
    """Read a rank file.

    Known vocabularies have default values of the arguments; any other vocabulary needs a pattern and has no special
    tokens by default.

    Raises `VocabularyError` with the line on bad base64, a bad rank, and a repeated rank or token.
    """
    data = read_file(path)
    vocab, is_canonical = _read(data)
    whole = given.or_known(lambda: data if is_canonical else rank_text(vocab))
    return make_spec(
        vocab,
        None,
        pattern=needed_pattern(whole, "a rank file"),
        special_tokens=whole.special_tokens,
        whole_pretokens=True,
        name=whole.name,
    )


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
    count = 0
    for number, line in enumerate(data.split(b"\n"), 1):
        parts = line.split()
        if not parts:
            continue
        try:
            encoded, rank = parts
            if not rank.isdigit():
                raise ValueError
            vocab[int(rank)] = b"" if encoded == b"=" else a2b_base64(encoded, strict_mode=True)
        except ValueError:  # also raised by bad base64 and by a line that is not a pair
            raise _explained(line, number) from None
        count += 1
    if count != len(vocab) or count != len(set(vocab.values())):
        raise _repeated(data)
    if not vocab:
        raise VocabularyError("found no line; expected lines of base64, a blank and a rank")
    return vocab


def _explained(line: bytes, number: int) -> VocabularyError:
    found = f"found {line[:60].decode('utf-8', 'backslashreplace')!r}"
    parts = line.split()
    if len(parts) != 2:
        problem = f"{found}; expected a token in base64, a blank and its rank"
    elif not parts[1].isdigit():
        problem = f"{found}; expected a rank of decimal digits at the end"
    else:
        try:
            a2b_base64(parts[0], strict_mode=True)
            problem = f"{found}; expected a rank of 0 to {MAX_ID}"
        except Base64Error as error:
            problem = f"{found}; expected a token in base64 ({error})"
    return VocabularyError(problem, place=f"line {number}")


def _repeated(data: bytes) -> VocabularyError:
    lines: dict[bytes | int, int] = {}
    for number, line in enumerate(data.split(b"\n"), 1):
        if not line.split():
            continue
        encoded, rank = line.split()
        token = b"" if encoded == b"=" else a2b_base64(encoded)
        for key, what in ((int(rank), "rank"), (token, "token")):
            if key in lines:
                problem = f"{what} {key!r} is already in line {lines[key]}; expected each {what} once"
                return VocabularyError(problem, place=f"line {number}")
            lines[key] = number
    raise AssertionError("there is a repeated line")
