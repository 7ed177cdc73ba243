"""Loading a tokenizer from a file or folder of any format."""

from __future__ import annotations

import os
import warnings
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from . import formats
from .errors import VocabularyWarning
from .files import local_path
from .lazy import safe_import
from .tables.sources import key_of_path
from .tables.store import stored
from .tokenizer import Tokenizer


def load(
    path: str | os.PathLike[str],
    *,
    pattern: str | Sequence[str] | None = None,
    special_tokens: Mapping[str, int] | None = None,
    name: str | None = None,
    cache: bool | str | os.PathLike[str] = True,
) -> Tokenizer:
    """Load a tokenizer from a file, a folder, or a repository in the hub's cache.

    The format is recognised by name and content.

    Formats: tokenizer.json, tekken.json, .tiktoken, GGUF, SentencePiece's .model, vocab.json or vocab.txt with
    merges.txt, BERT's vocab.txt, subword-nmt's codes, CLIP's vocabulary, RWKV's, the unigram.json of `tokenizers`, and
    the models of minbpe and YouTokenToMe.  Nothing is downloaded.

    Args:
        path: The file, or a folder with a tokenizer.json, or with vocab.json and merges.txt; or the name of a
            repository, `org/name`, that `huggingface_hub` has downloaded, if there is no file of that name.
        pattern: The split pattern: a name, a regex, or several regexes that are applied in order.  It replaces the
            pattern of the file.  A file that names none needs it, unless it is a known vocabulary.
        special_tokens: Special tokens and their ids; they replace those of the file.
        name: The name of the tokenizer.
        cache: The folder of finished tables, which later processes read in milliseconds instead of making them
            again. True is the folder `bbpe/tables` of the user's cache, and False is none. Nothing depends on it but
            the time: what is damaged, or cannot be written, is ignored.

    Returns:
        The tokenizer.

    Raises:
        VocabularyError: The file is broken, or has a component that bbpe does not support; the message names the file,
            the position, and what was expected.
        PatternError: The pattern is unknown, or cannot be followed exactly.
        OSError: The file cannot be read.

    Warns:
        VocabularyWarning: Two libraries read the files differently, such as a folder whose class replaces rules of its
            tokenizer.json; the message says how. A folder has the ids of `AutoTokenizer`, a file those of its library.

    Example:
        >>> import tempfile
        >>> import bbpe
        >>> tok = bbpe.train_from_iterator(["low lower"], vocab_size=258)
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     tok.save(folder + "/tokenizer.json")
        ...     bbpe.load(folder + "/tokenizer.json") == tok
        True
    """
    if isinstance(path, str | os.PathLike) and not Path(path).exists():
        found = local_path(path, "a tokenizer is not read from a URL", "copy its files to this machine first")
        if isinstance(path, str):
            safe_import("bbpe.published.names")
            from .published.names import hub_folder

            path = str(found) if found.exists() else hub_folder(path) or str(found)
    options: Any = {"pattern": pattern, "special_tokens": special_tokens, "name": name}
    made = stored(cache, lambda: key_of_path(path, **options), lambda: Tokenizer(formats.load(path, **options)))
    for note in made.spec.notes:
        warnings.warn(f"{os.fspath(path)}: {note}", VocabularyWarning, stacklevel=2)
    return made
