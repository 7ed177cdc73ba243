"""Loading a tokenizer from a file or folder of any format, or by a published name."""

from __future__ import annotations

import mmap
import os
import warnings
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Protocol

from . import formats
from .errors import VocabularyError, VocabularyWarning
from .files import StrPath, local_path
from .lazy import safe_import
from .tables.sources import key_of_bytes, key_of_path
from .tables.store import stored
from .text import Buffer
from .tokenizer import Tokenizer


class SupportsRead(Protocol):
    """A file object that is open for reading bytes."""

    def read(self) -> bytes:
        """Return the rest of the file."""


def load(
    path: StrPath | Buffer | SupportsRead,
    *,
    pattern: str | Sequence[str] | None = None,
    special_tokens: Mapping[str, int] | None = None,
    name: str | None = None,
    cache: bool | str | os.PathLike[str] = True,
) -> Tokenizer:
    """Load a tokenizer from a file or a folder, or by the name of a vocabulary or model.

    bbpe recognises the format by the name and the content of the file: tokenizer.json, tekken.json, .tiktoken, GGUF,
    SentencePiece's .model, vocab.json or vocab.txt with merges.txt, BERT's vocab.txt, subword-nmt's codes, CLIP's
    vocabulary, RWKV's, the unigram.json of `tokenizers`, and the models of minbpe and YouTokenToMe.  It downloads
    nothing.

    Args:
        path: One of these; the first one that exists counts:

            * a file, or a folder such as one that `save_pretrained` of transformers wrote; or the content of a file
              whose format has one file, as bytes or as a file object that is open for reading bytes;
            * a repository in the cache of `huggingface_hub`, `"org/name"`;
            * a published vocabulary, such as `"o200k_base"`, or a model that uses one, such as `"gpt-4o"` or
              `"Qwen/Qwen3-8B"`, as `get_encoding` and `encoding_for_model` find them.
        pattern: The split pattern: a name, a regex, or several regexes that are applied in order.  It replaces the
            pattern of the file.  A file that names none needs it, unless it is a known vocabulary.
        special_tokens: Special tokens and their ids; they replace those of the file.
        name: The name of the tokenizer.
        cache: The folder of finished tables, from which later processes load the tokenizer in milliseconds. True is
            the folder `bbpe/tables` of the user's cache, and False is none. Only the time depends on it: bbpe ignores
            a damaged file and a folder that it cannot write.

    Returns:
        The tokenizer.

    Raises:
        VocabularyError: The file is broken, or has a component that bbpe does not support; the message names the file,
            the position, and what was expected. Or a published vocabulary is not on this machine; the message lists
            the ways to get it.
        PatternError: The pattern is unknown, or cannot be followed exactly.
        OSError: There is no such file, vocabulary or model, or the file cannot be read.

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
    options: Any = {"pattern": pattern, "special_tokens": special_tokens, "name": name}
    if not isinstance(path, str | os.PathLike):
        data, own = _content(path), formats.given(**options)
        made = stored(cache, lambda: key_of_bytes(data, **options), lambda: Tokenizer(formats.load_bytes(data, own)))
        return _noted(made, "<bytes>")
    if path == "" or not Path(path).exists():
        found = local_path(path, "a tokenizer is not read from a URL", "copy its files to this machine first")
        if found.exists():  # it is a URL of a file
            path = str(found)
        elif isinstance(path, str):
            safe_import("bbpe.published.names")
            from .published.names import counted_by_provider, hub_folder, vocabulary_named

            in_hub = hub_folder(path)
            # the prefix of a model's name is enough for it, so "gpt-4-mine.json" would be one
            is_file = in_hub is not None or formats.format_by_name(found) is not None
            known = None if is_file else vocabulary_named(path)
            if known is not None:
                safe_import("bbpe.encodings")
                from .encodings import named_tokenizer

                return named_tokenizer(known, cache, formats.given(**options))
            if in_hub is None and (counted := counted_by_provider(path)) is not None:
                raise VocabularyError(counted)
            path = path if in_hub is None else str(in_hub)
    made = stored(cache, lambda: key_of_path(path, **options), lambda: Tokenizer(formats.load(path, **options)))
    return _noted(made, os.fspath(path))


def _noted(made: Tokenizer, path: str) -> Tokenizer:
    """Return a tokenizer, with a warning for each note on its files."""
    for note in made.spec.notes:
        warnings.warn(f"{path}: {note}", VocabularyWarning, stacklevel=3)
    return made


def _content(source: object) -> bytes:
    """Return the content of a file that is given as bytes or as a file object; `TypeError` for anything else."""
    data = source.read() if hasattr(source, "read") else source
    if isinstance(data, str):
        raise TypeError("path is a file that is open for reading text; expected one that is open for bytes, mode 'rb'")
    if not isinstance(data, bytes | bytearray | memoryview | mmap.mmap):
        raise TypeError(f"path must be a str or a path, not {type(source).__name__}")
    return bytes(data)
