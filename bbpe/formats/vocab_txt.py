"""A `vocab.txt` of lines `token id`, with the `merges.txt` of GPT-2 beside it.

Tokens are written in the byte alphabet, special tokens as they are; ids may stand in any order and leave
holes.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from ..errors import VocabularyError
from ..files import StrPath
from ..spec.spec import TokenizerSpec
from ..splitting.patterns import Pattern
from .gpt2_files import find
from .keys import check_ids, config_beside, file_merges, keys_of, merges_text, read_merges, spec_of_files
from .reading import read_text
from .rows import FORMATS

NAMES = FORMATS["vocab_txt"].names
_MOST_DIGITS = 20


def load(
    path: StrPath,
    *,
    pattern: str | Sequence[str] | Pattern | None = None,
    special_tokens: Mapping[str, int] | None = None,
    name: str | None = None,
) -> TokenizerSpec:
    """Read a folder of `vocab.txt` and `merges.txt`, given by its path or by that of either file.

    Special tokens and the pattern are found as for `vocab.json`.

    Raises `VocabularyError` with file and line on a line that is no token and id, a repeated token or id,
    a merge whose parts or result have no id, and a single byte without a token.
    """
    vocab_path, merges_path = find(path, NAMES)
    return load_files(vocab_path, merges_path, pattern=pattern, special_tokens=special_tokens, name=name)


def load_files(
    vocab_path: StrPath,
    merges_path: StrPath,
    *,
    pattern: str | Sequence[str] | Pattern | None = None,
    special_tokens: Mapping[str, int] | None = None,
    name: str | None = None,
) -> TokenizerSpec:
    """Read the two files by their paths, whatever their names; the rest is as in `load`."""
    return spec_of_files(
        check_ids(_parse(vocab_path), path=vocab_path),
        read_merges(merges_path),
        path=vocab_path,
        kind="a vocab.txt",
        pattern=pattern,
        special_tokens=special_tokens,
        name=name,
    )


def written(spec: TokenizerSpec, path: Path) -> dict[Path, bytes]:
    """Return `vocab.txt` and `merges.txt` in a folder, special tokens as plain keys, and the pattern as `vocab.json`.

    Raises `VocabularyError` when the spec needs the look-up of whole pretokens, or a special token reads
    like an ordinary one or holds a line break.
    """
    merges = merges_text(spec, file_merges(spec, path=path))
    keys = keys_of(spec, path=path)
    broken = next((key for key in keys if "\n" in key or key.endswith("\r")), None)
    if broken is not None:
        problem = f"special token {broken!r} holds a line break; expected one line for each token"
        raise VocabularyError(problem, path=path)
    vocab = "".join(f"{key} {token_id}\n" for key, token_id in keys.items())
    vocab_name, merges_name = NAMES[0]
    return {path / vocab_name: vocab.encode(), path / merges_name: merges.encode(), **config_beside(spec, path)}


def _parse(path: StrPath) -> dict[str, int]:
    keys: dict[str, int] = {}
    for number, line in enumerate(read_text(path).split("\n"), 1):
        # from the right: special tokens may hold blanks
        key, blank, digits = line.rstrip("\r").rpartition(" ")
        if not line.strip("\r"):
            continue
        place = f"line {number}"
        if not blank or not digits.isascii() or not digits.isdigit() or len(digits) > _MOST_DIGITS:
            problem = f"found {line[:60]!r}; expected a token, a blank and its id in decimal digits"
            raise VocabularyError(problem, path=path, place=place)
        if key in keys:
            raise VocabularyError(f"token {key!r} stands twice; expected each token once", path=path, place=place)
        keys[key] = int(digits)
    return keys
