"""Added tokens, as `tokenizers` has them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ..formats.huggingface.added_tokens import AddedTokens
from ..records import dataclass, replace
from ..spec.rules import TokenOptions
from ..spec.spec import TokenizerSpec, without_specials


@dataclass
class AddedToken:
    """A token outside the model, with the fields of `tokenizers.AddedToken`.

    Attributes:
        content: The text of the token.
        single_word: Whether it is only found where no letter, number or mark is next to it.
        lstrip: Whether it takes the white space before it.
        rstrip: Whether it takes the white space after it.
        normalized: Whether it is looked for in the normalized text.
        special: Whether decoding can skip it.
    """

    content: str = ""
    single_word: bool = False
    lstrip: bool = False
    rstrip: bool = False
    normalized: bool = True
    special: bool = False

    def __str__(self) -> str:
        return self.content


def as_added(token: Any, *, special: bool) -> AddedToken:
    """Return a token that is given as a text or as an object with the fields of `AddedToken`."""
    if isinstance(token, str):
        return AddedToken(token, normalized=not special, special=special)
    if not hasattr(token, "content"):
        raise TypeError(f"a token is a str or an AddedToken, not {type(token).__name__}")
    flags = (token.single_word, token.lstrip, token.rstrip, token.normalized)
    return AddedToken(token.content, *flags, special or token.special)


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
