"""Published tokenizers by name, from files that are on this machine."""

from __future__ import annotations

from collections.abc import Mapping

from .errors import VocabularyError, described
from .files import ReadFile, StrPath
from .formats.common.given import Given
from .lazy import safe_import
from .published.find import FOLDERS_VARIABLE, MissingError, found, own_folders
from .published.names import counted_by_provider, name_for_model, near_names, plugin_constructors
from .published.table import ALIASES, PUBLISHED, Published
from .records import did_you_mean, kind, replace
from .spec.rules import UnicodeForm
from .spec.spec import TextRules, make_spec, vocab_of_ranks
from .tables.sources import key_of_published
from .tables.store import stored
from .tokenizer import Tokenizer

_NOTHING = Given()


def get_encoding(name: str, *, folder: StrPath | None = None, cache: bool | StrPath = True) -> Tokenizer:
    """Return a published tokenizer, with its pattern and all of its special tokens.

    bbpe looks for the file in `folder`, then in the folders of the environment variable `BBPE_VOCABS` (if it is not
    set, in the folder `bbpe` of the user's cache), in the caches of tiktoken and `huggingface_hub`, and in installed
    packages that carry the file.  It uses a file only if its SHA-256 is right.  It downloads nothing: `bbpe fetch NAME`
    does that.  Qwen's tokenizers convert a text to NFC first, as the models' own tokenizers do.  The name may also be
    that of an encoding of an installed plugin of tiktoken, a module in `tiktoken_ext`.

    Args:
        name: The name of the vocabulary, such as "o200k_base", "llama3" or "qwen3"; the error for an unknown name lists
            all names.
        folder: A folder to search first.
        cache: The folder of finished tables, as in `bbpe.load`.

    Returns:
        The tokenizer.

    Raises:
        VocabularyError: The name is unknown, or the file is not on this machine; the message lists ways to get it.
        FileNotFoundError: There is no such `folder`.

    Example:
        >>> tok = get_encoding("cl100k_base")  # doctest: +SKIP
        >>> tok.encode("hello world")  # doctest: +SKIP
        [15339, 1917]
    """
    try:
        published = published_vocabulary(name)
    except VocabularyError:
        constructor = plugin_constructors().get(name)
        if constructor is None:
            raise
        return tokenizer_of_ranks(**constructor())
    return _published(published, folder, cache)


def named_tokenizer(name: str, cache: bool | StrPath, given: Given) -> Tokenizer:
    """Return the published tokenizer of a name that `vocabulary_named` found, with the arguments of a caller."""
    return _published(published_vocabulary(name), None, cache, given)


def _published(
    published: Published, folder: StrPath | None, cache: bool | StrPath, given: Given = _NOTHING
) -> Tokenizer:
    try:
        format_name, files = found(published, folder)
    except MissingError as missing:
        raise VocabularyError(_what_to_do(published, missing)) from None

    def key() -> str | None:
        digests = [file.sha256 for form in published.forms if form.format == format_name for file in form.files]
        if given != _NOTHING:
            digests.append(repr(given))
        return key_of_published(published.name, digests, sum(len(file.data) for file in files))

    return stored(cache, key, lambda: _load(published, format_name, files, given))


def tokenizer_of_ranks(
    name: str, pat_str: str, mergeable_ranks: Mapping[bytes, int], special_tokens: Mapping[str, int],
    explicit_n_vocab: int | None = None,
) -> Tokenizer:  # fmt: skip
    """Return the tokenizer of the arguments of tiktoken's `Encoding`; `VocabularyError` when they do not fit."""
    safe_import("bbpe.splitting.fancy_regex")
    from .splitting.fancy_regex import tiktoken_pattern

    vocab, pattern = vocab_of_ranks(mergeable_ranks), tiktoken_pattern(pat_str)
    spec = make_spec(vocab, None, pattern=pattern, special_tokens=special_tokens, whole_pretokens=True, name=name)
    made = Tokenizer(spec)
    found = len(mergeable_ranks) + len(special_tokens)
    if explicit_n_vocab and (found, made.vocab_size) != (explicit_n_vocab, explicit_n_vocab):
        raise VocabularyError(
            f"explicit_n_vocab is {explicit_n_vocab}, but there are {len(mergeable_ranks)} mergeable_ranks and "
            f"{len(special_tokens)} special_tokens with ids up to {made.vocab_size - 1}; expected {found} ids "
            "without a gap"
        )
    return made


def encoding_for_model(
    model: str, *, folder: StrPath | None = None, cache: bool | StrPath = True
) -> Tokenizer:
    """Return the tokenizer of a model, by the name of the model.

    Args:
        model: The name of an OpenAI model, such as "gpt-4o", or of some open models, such as "Qwen2.5-7B-Instruct",
            with or without the name of its organisation.
        folder: A folder to search first, as in `get_encoding`.
        cache: The folder of finished tables, as in `bbpe.load`.

    Returns:
        The tokenizer.

    Raises:
        VocabularyError: The model is unknown, or its vocabulary is not on this machine.
        FileNotFoundError: There is no such `folder`.

    Example:
        >>> encoding_for_model("gpt-4o").name  # doctest: +SKIP
        'o200k_base'
    """
    if not isinstance(model, str):
        raise TypeError(f"model is {described(model)}; expected the name of a model, a str")
    name = name_for_model(model)
    if name is None:
        if model in (*PUBLISHED, *ALIASES):
            raise VocabularyError(f"{model!r} is a vocabulary, not a model; expected bbpe.get_encoding({model!r})")
        if (counted := counted_by_provider(model)) is not None:
            raise VocabularyError(counted)
        raise VocabularyError(
            f"bbpe does not know the vocabulary of model {model!r}{near_names(model)}; load the folder of the model "
            f"with bbpe.load(), or pass the name of its vocabulary to bbpe.get_encoding(): {', '.join(PUBLISHED)}"
        )
    return get_encoding(name, folder=folder, cache=cache)


def published_vocabulary(name: str) -> Published:
    """Return the table row of a published vocabulary; `VocabularyError` on an unknown name."""
    kind("name", name, str, "the name of a vocabulary, a str")
    known = PUBLISHED.get(ALIASES.get(name, name))
    if known is None and name_for_model(name) is not None:
        raise VocabularyError(f"{name!r} is a model, not a vocabulary; expected bbpe.encoding_for_model({name!r})")
    if known is None and (counted := counted_by_provider(name)) is not None:
        raise VocabularyError(counted)
    if known is None:
        hint = did_you_mean(name, [*PUBLISHED, *ALIASES])
        raise VocabularyError(f"unknown vocabulary {name!r}{hint}; expected one of: {', '.join(PUBLISHED)}")
    return known


def _load(published: Published, format_name: str, files: list[ReadFile], own: Given) -> Tokenizer:
    safe_import("bbpe.formats")
    from . import formats
    safe_import("bbpe.formats.gpt2_files")
    from .formats import gpt2_files

    specials = published.special_tokens if own.special_tokens is None else own.special_tokens
    given = Given(published.pattern if own.pattern is None else own.pattern, specials, own.name or published.name)
    # the two files of a pair have other names in these folders than in a folder of vocab.json and merges.txt
    if format_name == "gpt2":
        spec = gpt2_files.load_files(files[0], files[1], given)
    else:
        spec = formats.FORMATS[format_name].load(files[0], given)
    if published.added_tokens and own.special_tokens is None:
        spec = replace(spec, added_tokens=published.added_tokens)
    if published.is_nfc:
        spec = replace(spec, rules=TextRules((UnicodeForm("NFC"),)))
    return Tokenizer(spec)


def _what_to_do(published: Published, missing: MissingError) -> str:
    first = published.forms[0].files[0]
    ways = []
    if first.url is not None:
        ways.append(f"`bbpe fetch {published.name}` downloads it")
    if first.pip is not None:
        ways.append(first.pip)
    ways.append(f"put {first.name} into {own_folders()[0]}, or into a folder that {FOLDERS_VARIABLE} names")
    problem = f"vocabulary {published.name!r} is not on this machine"
    if missing.wrong:
        problem += f" (found {', '.join(missing.wrong)}, with another checksum than SHA-256 {first.sha256})"
    return f"{problem}; get it in one of these ways:\n  " + ";\n  ".join(ways)
