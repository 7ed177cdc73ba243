"""Add tokens to a spec, as HF's `tokenizers` does at run time."""

from __future__ import annotations

from collections.abc import Iterable, KeysView, Mapping, Set

from ..records import kind, replace
from .rules import TokenOptions
from .spec import TokenizerSpec, without_specials


def with_added_tokens(
    spec: TokenizerSpec, tokens: Iterable[str], *, special: bool, keys: Mapping[str, int]
) -> TokenizerSpec:
    """Return a spec with more special tokens, or more tokens that always match.

    A token that is one of the `keys` of the vocabulary keeps its id; the others get the next ids.  A token that is not
    special is looked for in the text as normalized.  Raises `TypeError` on a token that is not a str.
    """
    specials, added, options = dict(spec.special_tokens), dict(spec.added_tokens), dict(spec.token_options)
    next_id = spec.vocab_size
    for text in _checked(tokens):
        known = specials.pop(text, added.pop(text, None)) if text in specials or text in added else keys.get(text)
        token_id = next_id if known is None else known
        next_id = max(next_id, token_id + 1)
        (specials if special else added)[text] = token_id
        if special:
            options.pop(text, None)
        elif spec.rules.normalizers:
            options[text] = TokenOptions(normalized=True)
    vocab: Mapping[int, bytes] = spec.vocab
    if spec.model is None and spec.characters is None:
        vocab = without_specials(vocab, {**added, **specials}, spec.merges)
    return replace(spec, vocab=vocab, special_tokens=specials, added_tokens=added, token_options=options)


def _checked(tokens: Iterable[str]) -> list[str]:
    if isinstance(tokens, str | bytes):
        raise TypeError(f"tokens is {tokens!r}; expected a list of texts")
    kind("tokens", tokens, Iterable, "a list of texts")
    if isinstance(tokens, Mapping):
        raise TypeError(
            f"tokens must be a list of texts, not {type(tokens).__name__}: new tokens get the next ids in order; give "
            "list(tokens), and read the ids from the tokenizer's token_to_id"
        )
    if isinstance(tokens, Set) and not isinstance(tokens, KeysView):
        raise TypeError(
            f"tokens must be a list of texts, not {type(tokens).__name__}, whose order, which their ids have, is "
            "another one in each run; give sorted(tokens), or a list"
        )
    listed = list(tokens)
    for text in listed:
        if not isinstance(text, str):
            raise TypeError(f"tokens has {text!r}; expected texts")
        if not text:
            raise ValueError("tokens has an empty text; expected at least one character in each")
    return listed
