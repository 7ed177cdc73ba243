"""Added tokens, and the components of a tokenizer, which are read-only here, as `tokenizers` has them."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from ...formats.huggingface.added_tokens import AddedTokens
from ...records import flag, kind, replace
from ...spec.rules import TokenOptions
from ...spec.spec import TokenizerSpec, without_specials
from .texts import HfTexts


class AddedToken:
    """A token outside the model, with the fields of `tokenizers.AddedToken`.

    Attributes:
        content: The text of the token.
        single_word: Whether it is only found where no letter, number or mark is next to it.
        lstrip: Whether it takes the white space before it.
        rstrip: Whether it takes the white space after it.
        normalized: Whether it is looked for in the normalized text; unless this is given, special tokens are not.
        special: Whether decoding can skip it.

    Raises:
        TypeError: The content is no `str`, or an option no bool.
    """

    __slots__ = ("_normalized", "_special", "content", "lstrip", "rstrip", "single_word")

    def __init__(
        self,
        content: str = "",
        single_word: bool = False,
        lstrip: bool = False,
        rstrip: bool = False,
        normalized: bool | None = None,
        special: bool = False,
    ) -> None:
        kind("content", content, str, "a str")
        self.content, self.single_word = content, flag("single_word", single_word)
        self.lstrip, self.rstrip = flag("lstrip", lstrip), flag("rstrip", rstrip)
        self._normalized, self.special = None if normalized is None else flag("normalized", normalized), special

    @property
    def special(self) -> bool:
        """Whether decoding can skip it."""
        return self._special

    @special.setter
    def special(self, value: bool) -> None:
        self._special = flag("special", value)

    @property
    def normalized(self) -> bool:
        """Whether it is looked for in the normalized text."""
        return not self.special if self._normalized is None else self._normalized

    def _flags(self) -> tuple[bool, ...]:
        return self.single_word, self.lstrip, self.rstrip, self.normalized, self.special

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, AddedToken):
            return NotImplemented
        return (self.content, *self._flags()) == (other.content, *other._flags())

    def __hash__(self) -> int:
        return hash(self.content)  # `tokenizers` keeps it when an option changes, too

    def __str__(self) -> str:
        return self.content

    def __repr__(self) -> str:
        return (
            f'AddedToken("{self.content}", rstrip={self.rstrip}, lstrip={self.lstrip}, '
            f"single_word={self.single_word}, normalized={self.normalized}, special={self.special})"
        )


def as_added(token: Any, *, special: bool) -> AddedToken:
    """Return a token that is given as a text or as an object with the fields of `AddedToken`.

    Such an object becomes special where `special` is true, as in `tokenizers`, which may change its `normalized`.
    """
    if isinstance(token, str):
        return AddedToken(token, special=special)
    if not hasattr(token, "content"):
        raise TypeError(f"a token is a str or an AddedToken, not {type(token).__name__}")
    if special:
        token.special = True
    return AddedToken(token.content, token.single_word, token.lstrip, token.rstrip, token.normalized, token.special)


def tokens_of(spec: TokenizerSpec) -> dict[int, AddedToken]:
    """Return the added and special tokens of a spec by their ids."""
    rows = [(token_id, text, True) for text, token_id in spec.special_tokens.items()]
    rows += [(token_id, text, False) for text, token_id in spec.added_tokens.items()]
    found = {}
    for token_id, text, special in sorted(rows):
        options = spec.token_options.get(text, TokenOptions())
        flags = (options.single_word, options.lstrip, options.rstrip, options.normalized)
        found[token_id] = AddedToken(text, *flags, special)
    return found


def with_tokens(spec: TokenizerSpec, tokens: Mapping[int, Any]) -> TokenizerSpec:
    """Return a spec with these added and special tokens, by their ids, and no others."""
    special = {token.content: token_id for token_id, token in tokens.items() if token.special}
    added = {token.content: token_id for token_id, token in tokens.items() if not token.special}
    options = {
        token.content: TokenOptions(token.lstrip, token.rstrip, token.single_word, token.normalized)
        for token in tokens.values()
    }
    chosen = AddedTokens(special, added, options).options_with(spec.rules.normalizers)
    vocab: Mapping[int, bytes] = spec.vocab
    if spec.model is None and spec.characters is None:
        vocab = without_specials(vocab, {**added, **special}, spec.merges)
    return replace(spec, vocab=vocab, special_tokens=special, added_tokens=added, token_options=chosen)


class Component:
    """A part of a tokenizer.json."""

    def __init__(self, hf_texts: HfTexts, fields: dict[str, Any]) -> None:
        self._hf_texts, self._fields = hf_texts, fields

    @property
    def type(self) -> str:
        """The name of its type."""
        return str(self._fields["type"])

    def __getstate__(self) -> bytes:
        return json.dumps(self._fields, ensure_ascii=False).encode("utf-8", "surrogatepass")

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self._hf_texts, self._fields)

    def __repr__(self) -> str:
        return f"<bbpe {self.type}>"


class Normalizer(Component):
    """A normalizer, which changes a text before it is split."""

    def normalize_str(self, sequence: str) -> str:
        """Return the normalized text."""
        return self._hf_texts.normalized(sequence)


class Decoder(Component):
    """A decoder, which turns tokens into text."""

    def decode(self, tokens: Sequence[str]) -> str:
        """Return the text of tokens that the vocabulary has."""
        find = self._hf_texts.tokenizer.token_to_id
        return self._hf_texts.decoded([find(token) for token in tokens], False)


class PostProcessor(Component):
    """A post-processor, which adds the ids of the template."""

    def num_special_tokens_to_add(self, is_pair: bool) -> int:
        """Return the number of ids that it adds to a text or a pair."""
        return self._hf_texts.added_count(is_pair)


class Model(Component):
    """A model, which turns pretokens into ids."""

    def token_to_id(self, token: str) -> int | None:
        """Return the id of a token; None if there is no such token."""
        return self._hf_texts.keys.get(token)

    def id_to_token(self, id: int) -> str | None:
        """Return the token of an id; None if there is no such id."""
        return self._hf_texts.names.get(id)
