"""GPT-2's two files: `vocab.json`, an object of tokens and ids, and `merges.txt`, one merge on each line.

Ordinary tokens are in the byte alphabet, special tokens in plain text.  The files have no pattern and do not mark
special tokens; their readers never look up whole pretokens.  GPT-2 was published with such files (as `encoder.json` and
`vocab.bpe`), and HF's `tokenizers` and `transformers` write them.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

from ..core.token_table import TokenTable
from ..errors import VocabularyError
from ..files import ReadFile, StrPath
from ..lazy import safe_import
from ..spec.spec import TokenizerSpec
from .common.given import Given
from .common.key_tables import Keys
from .common.keys import (
    CONFIG,
    check_ids,
    class_of,
    file_merges,
    keys_of,
    merges_text,
    read_merges,
    spec_of_files,
)
from .common.reading import read_file, read_json, shown
from .rows import FORMATS
from .transformers.documents import config_file

NAMES = FORMATS["gpt2"].names


def load(path: StrPath, given: Given) -> TokenizerSpec:
    """Read `vocab.json` and `merges.txt`; `path` is the folder or either file.

    A class in the `tokenizer_config.json` of the folder defines all rules and special tokens.  Without one, a key that
    cannot be an ordinary token is a special token: a key outside the byte alphabet, or a key of several ASCII
    characters that is in no merge.  `special_tokens` replaces these.  Known vocabularies have default values of the
    arguments; any other vocabulary needs a pattern.

    Raises `VocabularyError` with file and position on malformed JSON or lines, a repeated key or id, a merge whose
    parts or result have no id, and a single byte without a token.
    """
    vocab_path, merges_path = find(path, NAMES)
    if vocab_path.name == NAMES[0][0] and class_of(vocab_path.with_name(CONFIG)):
        safe_import("bbpe.formats.transformers.merges")
        from .transformers.merges import class_row, load_class

        row, keys = class_row(vocab_path.with_name(CONFIG)), _keys(vocab_path)
        if row is not None:
            merges = read_merges(merges_path, keys)
            return load_class(row, vocab_path, keys, merges, given)
    return load_files(vocab_path, merges_path, given)


def load_files(vocab_path: StrPath, merges_path: StrPath, given: Given) -> TokenizerSpec:
    """Read two files with any names; `load` documents the other arguments."""
    keys = _keys(vocab_path)
    return spec_of_files(keys, read_merges(merges_path, keys), given, path=vocab_path, kind="a vocab.json")


def _keys(path: StrPath) -> Keys:
    data = read_file(path)
    table = TokenTable.of_json(data, 0, len(data))
    if table is not None:
        return Keys(table)
    values = read_json(ReadFile(Path(path), data))
    if not isinstance(values, dict):
        raise VocabularyError(f"found {shown(values)}; expected an object of tokens and ids", path=path)
    return Keys.of(check_ids(values, path=path))


def written(spec: TokenizerSpec, path: Path) -> dict[Path, bytes]:
    """Return `vocab.json` and `merges.txt` in a folder, with special tokens as plain keys.

    For GPT-2's pattern a `tokenizer_config.json` has the class and the special tokens.  The format cannot express any
    other pattern, so readers need it as an argument.

    Raises `VocabularyError` when the spec needs the look-up of whole pretokens, or when a special token looks like an
    ordinary one.
    """
    merges = merges_text(spec, file_merges(spec, path=path))
    vocab = json.dumps(keys_of(spec, path=path), ensure_ascii=False, separators=(",", ":"))
    vocab_name, merges_name = NAMES[0]
    return {path / vocab_name: vocab.encode(), path / merges_name: merges.encode(), **config_file(spec, path)}


def find(path: StrPath, names: Sequence[tuple[str, ...]]) -> tuple[Path, Path]:
    """Return the paths of the two files; `path` is their folder or either file.

    Raises `VocabularyError` when the name of the file does not end with one of the names.
    """
    source = Path(path)
    if source.is_dir():
        pairs = [(source / vocab, source / merges) for vocab, merges in names]
        return next((pair for pair in pairs if pair[0].exists()), pairs[0])
    for pair in names:
        for ending in pair:
            if source.name.endswith(ending):
                prefix = source.name.removesuffix(ending)
                return source.with_name(prefix + pair[0]), source.with_name(prefix + pair[1])
    expected = " or ".join(f"{vocab} next to {merges}" for vocab, merges in names)
    raise VocabularyError(f"found a file of another name; expected {expected}", path=path)
