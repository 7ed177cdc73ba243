"""The tokens of a spec: look them up by id, by bytes, and by the keys that files use for them; add some to it."""

from __future__ import annotations

from collections.abc import Iterable, KeysView, Mapping, Set
from typing import NoReturn

from ..core.ids import TokenBytes
from ..errors import SpecialTokenError, TokenNotFoundError
from ..lazy import lazy_property, safe_import
from ..pipeline.special_tokens import END_OF_TEXT
from ..records import flag, kind, replace
from ..spec.models import Vocab
from ..spec.named_tokens import named_tokens
from ..spec.rules import BYTE_KEYS, TokenOptions
from ..spec.spec import TokenizerSpec, byte_tokens, is_of_text, keys_of_text, other_tokens, without_specials
from ..text import alphabet_to_bytes, bytes_to_alphabet, check_unicode, counted, tokens_to_alphabet

#: The most characters of a token that a message shows.
_SHOWN = 60


class Vocabulary:
    """Looks up tokens; the methods of `Tokenizer` document the results."""

    def __init__(self, spec: TokenizerSpec) -> None:
        self._spec = spec

    @lazy_property
    def tokens(self) -> TokenBytes:
        """The bytes of each id."""
        return TokenBytes(self._spec.vocab, other_tokens(self._spec))

    @lazy_property
    def size(self) -> int:
        """The highest id plus one, which does not need the bytes of all tokens."""
        return self._spec.vocab_size

    def keys(self) -> dict[str, int]:
        """Return the keys of all tokens in `vocab.json`, and their ids."""
        spec = self._spec
        if spec.characters is not None:
            safe_import("bbpe.formats.common.keys")
            from ..formats.common.keys import keys_of_characters

            return keys_of_characters(spec)
        if is_of_text(spec):
            return keys_of_text(spec)
        ordinary = dict(zip(tokens_to_alphabet([*spec.vocab.values()]), spec.vocab, strict=True))
        return {**ordinary, **spec.added_tokens, **spec.special_tokens}

    def merges(self) -> list[tuple[bytes, bytes]]:
        """Return the merges in order of priority; none for a model other than BPE."""
        safe_import("bbpe.formats.common.ranks")
        from ..formats.common.ranks import merges_of

        vocab = self._spec.vocab
        merges = () if self._spec.model is not None else merges_of(self._spec)
        return [(vocab[left], vocab[right]) for left, right, _ in merges]

    def learned_as(self) -> str:
        """Return a short description of the model."""
        if self._spec.model is not None:
            return type(self._spec.model).__name__
        mode = "ranks" if self._spec.merges is None else counted(len(self._spec.merges), "merge")
        return f"{mode}, pattern {self._spec.pattern}"

    def key(self, token_id: int) -> str:
        """Return the key of a token, as `tokenize` returns it."""
        if token_id in self._byte_keys:
            return self._byte_keys[token_id]
        token = self.tokens.token(token_id)
        return token.decode() if is_of_text(self._spec) else bytes_to_alphabet(token)

    def id_of(self, token: bytes | str) -> int:
        """Return the id of a token; a str is looked up as a key, as a key with GPT-2's alphabet, and then as a text."""
        if isinstance(token, str):
            found = self._id_of_key(token)
            found = found if found is not None else self._id_of_bytes(_bytes_of_key(token))
            found = found if found is not None else self.id_of_text(token)
        elif isinstance(token, bytes | bytearray | memoryview):
            found = self._id_of_bytes(bytes(token))
        else:
            raise TypeError(f"a token is str or bytes, not {type(token).__name__}")
        return _raise_not_found(token) if found is None else found

    def id_of_text(self, text: str) -> int | None:
        """Return the id of the token with this text; `None` when there is none."""
        return self._id_of_bytes(text.encode("utf-8", "surrogatepass"))

    def _id_of_key(self, key: str) -> int | None:
        spec = self._spec
        if spec.characters is not None or is_of_text(spec):
            return self._ids_by_key.get(key)
        for marked in (spec.special_tokens, spec.added_tokens):
            if key in marked:
                return marked[key]
        return self.ordinary_id(_bytes_of_key(key))

    def _id_of_bytes(self, token: bytes | None) -> int | None:
        if token is None:
            return None
        found = self._marked_ids.get(token)
        found = found if found is not None else self.ordinary_id(token)
        return found if found is not None else self._other_ids.get(token)

    def ordinary_id(self, token: bytes | None) -> int | None:
        """Return the id of an ordinary token with these bytes; `None` when there is none."""
        vocab = self._spec.vocab
        assert isinstance(vocab, Vocab)
        # one look-up in its table; a dict of all tokens takes as long as loading
        return vocab.id_of(token) if token is not None and vocab.has_token(token) else None

    def end_of_text(self) -> int:
        """Return the id of the end-of-text token; `SpecialTokenError` when there is none."""
        for text in END_OF_TEXT:
            if text in self._spec.special_tokens:
                return self._spec.special_tokens[text]
        raise SpecialTokenError(f"this tokenizer has no end-of-text token; expected one of {', '.join(END_OF_TEXT)}")

    @lazy_property
    def named(self) -> dict[str, str]:
        """The texts of tokens by their uses ("pad", "bos", ...)."""
        return named_tokens(self._spec)

    def id_of_named(self, use: str) -> int | None:
        """Return the id of the token for a use; `None` when no file names one or the vocabulary does not have it."""
        text = self.named.get(use)
        return None if text is None else self.id_of_text(text)

    def padding(self) -> int:
        """Return the id for padding; `SpecialTokenError` when there is none."""
        declared, token_id = self.named.get("pad"), self.id_of_named("pad")
        if declared is not None and token_id is None:
            raise SpecialTokenError(
                f"the files of this tokenizer name {declared!r} as pad_token, but the vocabulary does not have it; "
                "expected pad_id"
            )
        if token_id is not None:
            return token_id
        if self._spec.padding is not None:
            return self._spec.padding.pad_id
        try:
            return self.end_of_text()
        except SpecialTokenError:
            raise SpecialTokenError(
                "this tokenizer has no pad_token and no end-of-text token to pad with; expected pad_id"
            ) from None

    @lazy_property
    def _byte_keys(self) -> dict[int, str]:
        """The keys of the bytes of a vocabulary of text, most of which are no text."""
        spec = self._spec
        return {token_id: BYTE_KEYS[byte] for token_id, byte in byte_tokens(spec).items()} if is_of_text(spec) else {}

    @lazy_property
    def _ids_by_key(self) -> dict[str, int]:
        return self.keys()

    @lazy_property
    def _marked_ids(self) -> dict[bytes, int]:
        spec = self._spec
        marked = (*spec.added_tokens.items(), *spec.special_tokens.items())
        return {text.encode("utf-8", "surrogatepass"): token_id for text, token_id in marked}

    @lazy_property
    def _other_ids(self) -> dict[bytes, int]:
        return {token: token_id for token_id, token in other_tokens(self._spec).items()}


def with_added_tokens(
    spec: TokenizerSpec, tokens: Iterable[str], *, special: bool, keys: Mapping[str, int]
) -> TokenizerSpec:
    """Return a spec with more special tokens, or more tokens that always match.

    A token that is one of the `keys` of the vocabulary keeps its id; the others get the next ids.  A token that is not
    special is looked for in the text as normalized.  Raises `TypeError` on a token that is not a str.
    """
    specials, added, options = dict(spec.special_tokens), dict(spec.added_tokens), dict(spec.token_options)
    special, next_id = flag("special", special), spec.vocab_size
    for text in _checked_texts(tokens):
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


def _raise_not_found(token: object) -> NoReturn:
    shown = repr(token) if len(repr(token)) <= _SHOWN else f"{repr(token)[:_SHOWN]}..."
    expected = "a key of get_vocab(), the text of a token or its bytes"
    raise TokenNotFoundError(f"no token is {shown}; expected {expected}; `encode` takes any text")


def _bytes_of_key(key: str) -> bytes | None:
    try:
        return alphabet_to_bytes(key)
    except ValueError:
        return None


def _checked_texts(tokens: Iterable[str]) -> list[str]:
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
            f"tokens must be a list of texts, not {type(tokens).__name__}: in each run it has another order, "
            "and tokens get ids in that order; give sorted(tokens), or a list"
        )
    listed = list(tokens)
    for text in listed:
        if not isinstance(text, str):
            raise TypeError(f"tokens has {text!r}; expected texts")
        if not text:
            raise ValueError("tokens has an empty text; expected at least one character in each")
        check_unicode("tokens", text)
    return listed
