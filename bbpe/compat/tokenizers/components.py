"""The parts of a tokenizer with the names and the interface that they have in `tokenizers`; they are read-only."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from .texts import HfTexts


class Component:
    """A part of a tokenizer.json."""

    def __init__(self, engine: HfTexts, fields: dict[str, Any]) -> None:
        self._engine, self._fields = engine, fields

    @property
    def type(self) -> str:
        """The name of its type."""
        return str(self._fields["type"])

    def __getstate__(self) -> bytes:
        return json.dumps(self._fields, ensure_ascii=False).encode("utf-8", "surrogatepass")

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self._engine, self._fields)

    def __repr__(self) -> str:
        return f"<bbpe {self.type}>"


class Normalizer(Component):
    """A normalizer, which changes a text before it is split."""

    def normalize_str(self, sequence: str) -> str:
        """Return the normalized text."""
        return self._engine.normalized(sequence)


class Decoder(Component):
    """A decoder, which turns tokens into text."""

    def decode(self, tokens: Sequence[str]) -> str:
        """Return the text of tokens that the vocabulary has."""
        find = self._engine.tokenizer.token_to_id
        return self._engine.decoded([find(token) for token in tokens], False)


class PostProcessor(Component):
    """A post-processor, which adds the ids of the template."""

    def num_special_tokens_to_add(self, is_pair: bool) -> int:
        """Return the number of ids that it adds to a text or a pair."""
        return self._engine.added_count(is_pair)


class Model(Component):
    """A model, which turns pretokens into ids."""

    def token_to_id(self, token: str) -> int | None:
        """Return the id of a token; None if there is no such token."""
        return self._engine.keys.get(token)

    def id_to_token(self, id: int) -> str | None:
        """Return the token of an id; None if there is no such id."""
        return self._engine.names.get(id)
