"""GPT-2's two files: `vocab.json`, an object of tokens and ids, and `merges.txt`, a merge in each line.

Tokens are written in the byte alphabet, special tokens as they are.  The files hold no pattern, do not
mark special tokens, and their readers merge every pretoken, tokens or not.  First published with GPT-2
(as `encoder.json` and `vocab.bpe`), now written by HF's `tokenizers` and `transformers`.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path

from ..errors import VocabularyError
from ..files import StrPath
from ..spec.spec import TokenizerSpec
from ..splitting.patterns import Pattern
from .keys import check_ids, config_beside, file_merges, keys_of, merges_text, read_merges, spec_of_files
from .reading import read_json, shown
from .rows import FORMATS

NAMES = FORMATS["gpt2"].names


def load(
    path: StrPath,
    *,
    pattern: str | Sequence[str] | Pattern | None = None,
    special_tokens: Mapping[str, int] | None = None,
    name: str | None = None,
) -> TokenizerSpec:
    """Read a folder of `vocab.json` and `merges.txt`, given by its path or by that of either file.

    A key that can be no ordinary token is a special one: outside the byte alphabet, or of several
    printable ASCII characters and in no merge.  `special_tokens` replaces these.  What is not given is
    taken from the known vocabularies; one that is not known needs a pattern.

    Raises `VocabularyError` with file and place on malformed JSON or lines, a repeated key or id, a merge
    whose parts or result have no id, and a single byte without a token.
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
    values = read_json(vocab_path)
    if not isinstance(values, dict):
        raise VocabularyError(f"found {shown(values)}; expected an object of tokens and ids", path=vocab_path)
    return spec_of_files(
        check_ids(values, path=vocab_path),
        read_merges(merges_path),
        path=vocab_path,
        kind="a vocab.json",
        pattern=pattern,
        special_tokens=special_tokens,
        name=name,
    )


def written(spec: TokenizerSpec, path: Path) -> dict[Path, bytes]:
    """Return `vocab.json` and `merges.txt` in a folder, special tokens as plain keys.

    A `tokenizer_config.json` beside them says that the pattern is GPT-2's, where it is and the folder has no such file.
    The format has no place for another pattern: readers must be told.

    Raises `VocabularyError` when the spec needs the look-up of whole pretokens, or a special token reads
    like an ordinary one.
    """
    merges = merges_text(spec, file_merges(spec, path=path))
    vocab = json.dumps(keys_of(spec, path=path), ensure_ascii=False, separators=(",", ":"))
    vocab_name, merges_name = NAMES[0]
    return {path / vocab_name: vocab.encode(), path / merges_name: merges.encode(), **config_beside(spec, path)}


def find(path: StrPath, names: Sequence[tuple[str, ...]]) -> tuple[Path, Path]:
    """Return the two files that a path stands for: their folder, or either of them.

    Raises `VocabularyError` when the name is none of the two, `FileNotFoundError` when a file is missing.
    """
    given = Path(path)
    if given.is_dir():
        pairs = [(given / vocab, given / merges) for vocab, merges in names]
        return next((pair for pair in pairs if pair[0].exists()), pairs[0])
    for pair in names:
        for ending in pair:
            if given.name.endswith(ending):
                prefix = given.name.removesuffix(ending)
                return given.with_name(prefix + pair[0]), given.with_name(prefix + pair[1])
    expected = " or ".join(f"{vocab} beside {merges}" for vocab, merges in names)
    raise VocabularyError(f"found a file of another name; expected {expected}", path=path)
