"""The types of errors.

Every error is also the built-in type that callers expect: bad values are `ValueError`, and a refusal of the operating
system stays the `OSError` that it raised.
"""

from __future__ import annotations

import os
from reprlib import repr as short_repr

_LONGEST_MESSAGE = 1000
#: The most characters of a value that a message shows.
_LONGEST_VALUE = 40
#: How the tokenizer of another library becomes one of bbpe, by the name of the library.
_TOKENIZERS = {
    "transformers": "its save_pretrained(folder) writes what bbpe.load(folder) reads",
    "tokenizers": "its save(file) writes what bbpe.load(file) reads",
    "tiktoken": "bbpe.get_encoding(name) gives the published one of its name",
    "sentencepiece": "bbpe.load(file) reads its .model file",
}


class BBPEError(Exception):
    """The base of all errors that bbpe itself raises; a message over 1,000 characters is shortened in the middle."""

    def __init__(self, message: object = "", *more: object) -> None:
        super().__init__(_cut(message) if isinstance(message, str) else message, *more)


def _cut(message: str) -> str:
    if len(message) <= _LONGEST_MESSAGE:
        return message
    half = _LONGEST_MESSAGE // 2
    return f"{message[:half]} [...] {message[-half:]}"


class VocabularyError(BBPEError, ValueError):
    """A vocabulary, or its file, is broken, or has a component that bbpe does not support.

    The message names the file, the position, what was found and what was expected.

    Attributes:
        problem: The message without file and position.
        path: The file, if there is one.
        place: The position in the file, such as the key of a JSON object, if it is known.
    """

    def __init__(self, problem: str, *, path: str | os.PathLike[str] | None = None, place: str | None = None) -> None:
        where = ": ".join(str(part) for part in (path, place) if part is not None)
        super().__init__(f"{where}: {problem}" if where else problem)
        self.problem, self.path, self.place = _cut(problem), path, place

    def __reduce__(self) -> tuple[object, ...]:
        return _restore_vocabulary_error, (self.problem, self.path, self.place)


def _restore_vocabulary_error(
    problem: str, path: str | os.PathLike[str] | None, place: str | None
) -> VocabularyError:
    return VocabularyError(problem, path=path, place=place)


class PatternError(BBPEError, ValueError):
    """A split pattern is unknown, malformed, or cannot be followed exactly."""


class CorpusError(BBPEError, ValueError):
    """There is no text to train on, a corpus file cannot be read as text, or a saved count is damaged."""


class MemoryLimitError(BBPEError, MemoryError):
    """A job would need more memory than it may take; raised before the step that needs it begins."""


class SpecialTokenError(BBPEError, ValueError):
    """A text contains a special token that the call disallows, or the call allows one that does not exist."""


class TokenIdError(BBPEError, ValueError):
    """An id is negative, too large, or unused in the vocabulary."""


class TokenNotFoundError(TokenIdError, KeyError):
    """A vocabulary has no such token; also a `KeyError`, like any other failed look-up."""

    def __str__(self) -> str:
        # a KeyError would show the message as a quoted string
        return str(self.args[0]) if self.args else ""


class AccelerationError(BBPEError, ValueError):
    """A tokenizer of `transformers` cannot be accelerated, because it would not give the same ids; it is unchanged."""


class AccelerationWarning(UserWarning):
    """Hugging Face's `tokenizers` does the work of a tokenizer of `transformers`; the message has the reason."""


class VocabularyWarning(UserWarning):
    """Two libraries read the files of a vocabulary differently; the message says how, and which one is followed."""


def described(given: object) -> str:
    """Return a wrong argument as messages show it: its value, in at most 40 characters, and its type.

    >>> described("tok.json"), described(5), described(None), described(Exception())
    ("'tok.json', a str", '5, an int', 'None', 'an Exception')
    """
    kind = type(given)
    # the public names of a package are those of its root, but for classes of ours that have the names of others
    root = kind.__module__ if kind.__module__.startswith("bbpe.compat.") else kind.__module__.partition(".")[0]
    name = kind.__name__ if root == "builtins" else f"{root}.{kind.__name__}"
    name = f"{'an' if name[0] in 'aeiouAEIOU' else 'a'} {name}"
    if isinstance(given, os.PathLike):
        given = os.fspath(given)
    if given is None or not isinstance(given, str | bytes | int | float | list | tuple | set | frozenset | dict):
        return "None" if given is None else name
    value = repr(given[: _LONGEST_VALUE + 1]) if isinstance(given, str | bytes) else short_repr(given)
    return f"{value if len(value) <= _LONGEST_VALUE else f'{value[:_LONGEST_VALUE]}...'}, {name}"


def no_tokenizer(given: object, argument: str, way: str | None = None) -> TypeError:
    """Return the error of an argument that must be a tokenizer: it says how what was given becomes one, as `way` may.

    >>> str(no_tokenizer("tok.json", "tokenizer")).partition(":")[0]
    "tokenizer is 'tok.json', a str; expected a Tokenizer"
    """
    parts = [part for kind in type(given).__mro__ for part in kind.__module__.split(".")]
    way = way or next((_TOKENIZERS[part] for part in parts if part in _TOKENIZERS), None)
    if way is None:
        way = "bbpe.load() makes one of a file, a folder, or the name of a vocabulary or model"
    return TypeError(f"{argument} is {described(given)}; expected a Tokenizer: {way}")
