"""A `vocab.txt` of lines `token id`, together with a `merges.txt` like GPT-2's.

Ordinary tokens are in the byte alphabet, special tokens in plain text; ids may be in any order and have gaps.
"""

from __future__ import annotations

from pathlib import Path

from ..errors import VocabularyError
from ..files import StrPath
from ..spec.spec import TokenizerSpec
from .common.given import Given
from .common.key_tables import KeyTable
from .common.keys import check_ids, keys_of
from .common.reading import read_text
from .gpt2_files import check_partner, config_file, find, merges_file, read_merges, spec_of_files
from .rows import FORMATS
from .transformers.names import own_class, refused_class

NAMES = FORMATS["vocab_txt"].names
_MOST_DIGITS = 20


def load(path: StrPath, given: Given) -> TokenizerSpec:
    """Read `vocab.txt` and `merges.txt`; `path` is the folder or either file.

    Special tokens and the pattern are found as for `vocab.json` (`spec_of_files`).

    Raises `VocabularyError` with file and line on a line that is not a token and an id, a repeated token or id, a merge
    whose parts or result have no id, and a single byte without a token.
    """
    vocab_path, merges_path = find(path, NAMES)
    folder = given.folder_of(vocab_path)
    if own_class(folder) is not None:
        raise refused_class(folder, "reads files of its own; expected the path of the folder")
    check_partner(vocab_path, merges_path)
    keys = KeyTable.of(check_ids(_parse(folder.opened(vocab_path)), path=vocab_path))
    merges = read_merges(folder.opened(merges_path), keys)
    return spec_of_files(keys, merges, given, path=vocab_path, kind="a vocab.txt")


def written(spec: TokenizerSpec, path: Path) -> dict[Path, bytes]:
    """Return `vocab.txt` and `merges.txt` in a folder, with special tokens as plain keys.

    For GPT-2's pattern a `tokenizer_config.json` has the class and the special tokens.

    Raises `VocabularyError` when the spec needs the look-up of whole pretokens, and when a special token looks like an
    ordinary one or has a line break.
    """
    merges = merges_file(spec)
    keys = keys_of(spec)
    broken = next((key for key in keys if "\n" in key or key.endswith("\r")), None)
    if broken is not None:
        problem = f"special token {broken!r} has a line break; expected one line for each token"
        raise VocabularyError(problem, path=path)
    vocab = "".join(f"{key} {token_id}\n" for key, token_id in keys.items())
    vocab_name, merges_name = NAMES[0]
    return {path / vocab_name: vocab.encode(), path / merges_name: merges, **config_file(spec, path)}


def _parse(path: StrPath) -> dict[str, int]:
    keys: dict[str, int] = {}
    for number, line in enumerate(read_text(path).split("\n"), 1):
        # split at the last blank, because special tokens may have blanks
        key, blank, digits = line.rstrip("\r").rpartition(" ")
        if not line.strip("\r"):
            continue
        place = f"line {number}"
        if not blank or not digits.isascii() or not digits.isdigit() or len(digits) > _MOST_DIGITS:
            problem = f"found {line[:60]!r}; expected a token, a blank and its id in decimal digits"
            raise VocabularyError(problem, path=path, place=place)
        if key in keys:
            raise VocabularyError(f"token {key!r} is listed twice; expected each token once", path=path, place=place)
        keys[key] = int(digits)
    return keys
