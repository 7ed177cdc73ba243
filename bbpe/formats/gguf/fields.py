"""The values that a GGUF file has below `tokenizer.ggml.`, checked as they are taken."""

from __future__ import annotations

import re
from typing import Any, NoReturn

from ...errors import VocabularyError
from ...files import StrPath
from ...spec.rules import Template
from ..keys import MergeKeys
from .metadata import read_metadata

PREFIX = "tokenizer.ggml."

# what says nothing about the ids of a text
_NOT_TEXT = re.compile(r"(?:\w+_token_ids?|add_(?:bos|eos|sep)_token|scores|token_type_count|suppress_tokens)\Z")
# what would change ids, and does not in the models that have it and no pieces
_OFF = ("add_space_prefix", "remove_extra_whitespaces")


def read_fields(path: StrPath) -> GGUFFields:
    """Return the values of a file."""
    values = read_metadata(path, lambda key: key.startswith(PREFIX))
    return GGUFFields({key.removeprefix(PREFIX): value for key, value in values.items()}, path)


class GGUFFields:
    """The values below `tokenizer.ggml.`, taken one by one so that none is overlooked."""

    def __init__(self, values: dict[str, Any], path: StrPath) -> None:
        self._left, self._path = values, path

    def model(self) -> str:
        """Return the name of the kind of model."""
        if not self._left:
            raise VocabularyError(f"found no vocabulary; expected values below {PREFIX}", path=self._path)
        return self.text("model")

    def text(self, key: str, default: str | None = None) -> str:
        """Return a string."""
        value = self._left.pop(key, default)
        if isinstance(value, str):
            return value
        if not isinstance(value, bytes):
            self.refuse("expected a string" if value is not None else "it is missing; expected a string", key)
        return self._decoded(value, key)

    def texts(self, key: str) -> list[str]:
        """Return a list of strings."""
        values = self._left.pop(key, None)
        if not isinstance(values, list) or not all(isinstance(value, bytes) for value in values):
            self.refuse("it is missing; expected a list" if values is None else "expected a list of strings", key)
        try:
            return [value.decode("utf-8") for value in values]
        except UnicodeDecodeError:
            return [self._decoded(value, f"{key}[{number}]") for number, value in enumerate(values)]

    def kinds(self) -> list[int]:
        """Return the kinds of the tokens."""
        values = self._left.pop("token_type", None)
        if not isinstance(values, list) or not all(type(value) is int for value in values):
            found = "it is missing; expected a list" if values is None else "expected a list of numbers"
            self.refuse(found, "token_type")
        return values

    def merges(self) -> MergeKeys:
        """Return the merges."""
        pairs: list[tuple[str, str]] = []
        for number, merge in enumerate(self.texts("merges")):
            left, _, right = merge.partition(" ")
            if not left or not right or " " in right:
                self.refuse(f"found {merge[:60]!r}; expected two tokens with one blank between", f"merges[{number}]")
            pairs.append((left, right))
        return MergeKeys(pairs, self._path, lambda number: f"{PREFIX}merges[{number}]")

    def flag(self, key: str, default: bool) -> bool:
        """Return a bool."""
        value = self._left.pop(key, default)
        if type(value) is not bool:
            self.refuse("expected true or false", key)
        return value

    def scores(self) -> list[float]:
        """Return the scores of the tokens."""
        values = self._left.pop("scores", None)
        if not isinstance(values, list) or not all(type(value) is float for value in values):
            found = "it is missing; expected a list" if values is None else "expected a list of floats"
            self.refuse(found, "scores")
        return values

    def block(self, key: str) -> bytes:
        """Return bytes, which are a list of numbers of one byte or a string; none when there are none."""
        value = self._left.pop(key, b"")
        if isinstance(value, bytes):
            return value
        if not isinstance(value, list) or not all(type(byte) is int and -128 <= byte < 256 for byte in value):
            self.refuse("expected a list of bytes", key)
        return bytes(byte & 0xFF for byte in value)

    def template(self, count: int, *, unless_said: str | None = None) -> Template | None:
        """Return what stands around a text, of `count` tokens; `None` when that is nothing.

        `unless_said`: "bos" or "eos", which stands there when the file gives its id, and not whether it does.
        """
        if unless_said is not None and f"{unless_said}_token_id" in self._left:
            self._left.setdefault(f"add_{unless_said}_token", True)
        before, behind = self._added("bos", count), self._added("eos", count)
        return Template((*before, ("A", 0), *behind)) if before or behind else None

    def _added(self, kind: str, count: int) -> tuple[tuple[int, int], ...]:
        if not self.flag(f"add_{kind}_token", False):
            return ()
        token_id = self._left.get(f"{kind}_token_id")
        if type(token_id) is not int or not 0 <= token_id < count:
            found = "it is missing" if token_id is None else f"found {token_id!r}"
            self.refuse(f"{found}; expected an id, 0 to {count - 1}, as add_{kind}_token is true", f"{kind}_token_id")
        return ((token_id, 0),)

    def drop(self, key: str) -> None:
        """Leave out a value that says nothing about ids in this kind of model."""
        self._left.pop(key, None)

    def done(self) -> None:
        """Refuse the values that nobody took and that might change ids."""
        for key, value in self._left.items():
            if not _NOT_TEXT.match(key) and not (key in _OFF and value is False):
                self.refuse("it is not supported" + ("; expected false" if key in _OFF else ""), key)

    def refuse(self, problem: str, key: str) -> NoReturn:
        """Raise a `VocabularyError` about a value."""
        raise VocabularyError(problem, path=self._path, place=PREFIX + key)

    def _decoded(self, value: bytes, key: str) -> str:
        try:
            return value.decode("utf-8")
        except UnicodeDecodeError as error:
            self.refuse(f"found byte 0x{value[error.start]:02X}; expected UTF-8 text", key)
