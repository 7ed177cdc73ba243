"""What a tokenizer is: its tokens, ids, merges and patterns, apart from what it does."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NoReturn, Self

from . import formats
from .core.ids import TokenBytes
from .errors import SpecialTokenError, TokenNotFoundError
from .lazy import FirstUse
from .pipeline.special_tokens import END_OF_TEXT
from .spec.fingerprint import fingerprint
from .spec.named_tokens import named_tokens
from .spec.spec import TokenizerSpec, is_of_text, keys_of_text, other_tokens
from .text import alphabet_to_bytes, bytes_to_alphabet


class Identity:
    """The part of a `Tokenizer` that says what it is; immutable."""

    spec: TokenizerSpec
    _tokens: TokenBytes
    _token_bytes: TokenBytes  # as they are written into a text

    def id_to_token(self, token_id: int) -> bytes:
        """Return the bytes of an id, special tokens too; `TokenIdError` when no token has it."""
        return self._tokens.token(token_id)

    def token_to_id(self, token: bytes | str) -> int:
        """Return the id of a token; a special token goes before an ordinary one.

        Args:
            token: The token as `get_vocab` or `tokenize` writes it, or its text, or its bytes.  What can be read in
                several ways is read in the first of these.

        Raises:
            TokenNotFoundError: There is no such token; it is a `TokenIdError` and a `KeyError`.
            TypeError: It is neither str nor bytes.

        Example:
            >>> tok = bbpe.train_from_iterator(["a cat"], vocab_size=259)
            >>> [tok.token_to_id(token) for token in (*tok.tokenize("a cat"), " cat", b" cat")]
            [64, 258, 258, 258]

        """
        if isinstance(token, str):
            found = self._ids_by_key.get(token)
            found = found if found is not None else self._id_of(_bytes_of_key(token))
            found = found if found is not None else self._id_of(token.encode("utf-8", "surrogatepass"))
        elif isinstance(token, bytes | bytearray | memoryview):
            found = self._id_of(bytes(token))
        else:
            raise TypeError(f"a token is str or bytes, not {type(token).__name__}")
        return self._not_found(token) if found is None else found

    def _id_of(self, token: bytes | None) -> int | None:
        return None if token is None else self._ids_by_token.get(token)

    def _not_found(self, token: object) -> NoReturn:
        shown = repr(token) if len(repr(token)) <= 60 else f"{repr(token)[:60]}..."
        expected = "a token as get_vocab() writes it, its text or its bytes"
        raise TokenNotFoundError(f"no token is {shown}; expected {expected}; `encode` takes any text")

    # tiktoken's names

    def encode_single_token(self, text_or_bytes: str | bytes) -> int:
        """Return the id of one token, given as text or bytes, special ones too; errors as in `token_to_id`.

        >>> bbpe.train_from_iterator(["low"], vocab_size=257).encode_single_token("lo")
        256
        """
        is_text = isinstance(text_or_bytes, str)
        token = text_or_bytes.encode("utf-8", "surrogatepass") if isinstance(text_or_bytes, str) else text_or_bytes
        found = self._ids_by_token.get(token) if is_text or isinstance(token, bytes) else self.token_to_id(token)
        return self._not_found(text_or_bytes) if found is None else found

    def decode_single_token_bytes(self, token: int) -> bytes:
        """Return the bytes of an id: `id_to_token` by tiktoken's name.

        >>> bbpe.train_from_iterator(["low"], vocab_size=257).decode_single_token_bytes(256)
        b'lo'
        """
        return self.id_to_token(token)

    def decode_tokens_bytes(self, tokens: Iterable[int]) -> list[bytes]:
        """Return the bytes of each id; `TokenIdError` when no token has it.

        >>> tok = bbpe.train_from_iterator(["low"], vocab_size=257)
        >>> tok.decode_tokens_bytes(tok.encode("low"))
        [b'lo', b'w']
        """
        return [self._token_bytes.token(token) for token in tokens]

    def token_byte_values(self) -> list[bytes]:
        """Return the bytes of all ordinary tokens, in the order of bytes."""
        return sorted(self.spec.vocab.values())

    def get_vocab(self) -> dict[str, int]:
        """Return all tokens and their ids: in GPT-2's byte alphabet, and those of characters as files write them."""
        if self.spec.characters is not None:
            return formats.keys_of_characters(self.spec)
        if is_of_text(self.spec):
            return keys_of_text(self.spec)
        ordinary = {bytes_to_alphabet(token): token_id for token_id, token in self.spec.vocab.items()}
        return {**ordinary, **self.spec.added_tokens, **self.spec.special_tokens}

    @property
    def vocab_size(self) -> int:
        """The highest id plus one."""
        return self._token_bytes.id_count

    @property
    def max_token_value(self) -> int:
        """The highest id."""
        return self.vocab_size - 1

    @property
    def n_vocab(self) -> int:
        """The same as `vocab_size`."""
        return self.vocab_size

    def __len__(self) -> int:
        return len(self.spec.vocab) + len(other_tokens(self.spec))

    @property
    def name(self) -> str | None:
        """The name it was given or recognised by."""
        return self.spec.name

    @property
    def pattern(self) -> str:
        """The name of its split pattern, or its regexes, one a line."""
        return str(self.spec.pattern)

    @property
    def unicode_version(self) -> str | None:
        """The version of Unicode that its pattern classifies characters by, if that is known."""
        return self.spec.pattern.unicode_version

    @property
    def special_tokens(self) -> dict[str, int]:
        """Special tokens and their ids."""
        return dict(self.spec.special_tokens)

    @property
    def added_tokens(self) -> dict[str, int]:
        """Tokens that always match, and their ids."""
        return dict(self.spec.added_tokens)

    @FirstUse
    def special_tokens_set(self) -> frozenset[str]:
        """The special tokens."""
        return frozenset(self.spec.special_tokens)

    def is_special_token(self, token_id: int) -> bool:
        """Say whether an id is that of a special token."""
        return token_id in self._special_ids

    @property
    def eot_token(self) -> int:
        """The id of the end-of-text token; `SpecialTokenError` when there is none."""
        for text in END_OF_TEXT:
            if text in self.spec.special_tokens:
                return self.spec.special_tokens[text]
        raise SpecialTokenError(f"this tokenizer has no end-of-text token; expected one of {', '.join(END_OF_TEXT)}")

    @property
    def pad_token(self) -> str | None:
        """The token that fills rows up, as the files that were loaded name it; `None` when they name none."""
        return self._named.get("pad")

    @property
    def pad_token_id(self) -> int | None:
        """The id of `pad_token`; `None` when there is none."""
        return self._id_of_named("pad")

    @property
    def bos_token(self) -> str | None:
        """The token that begins a text, as the files name it; `None` when they name none."""
        return self._named.get("bos")

    @property
    def bos_token_id(self) -> int | None:
        """The id of `bos_token`; `None` when there is none."""
        return self._id_of_named("bos")

    @property
    def eos_token(self) -> str | None:
        """The token that ends a text, as the files name it; `None` when they name none."""
        return self._named.get("eos")

    @property
    def eos_token_id(self) -> int | None:
        """The id of `eos_token`; `None` when there is none."""
        return self._id_of_named("eos")

    @property
    def unk_token(self) -> str | None:
        """The token of what is unknown, as the files or the model name it; `None` when there is none."""
        return self._named.get("unk")

    @property
    def unk_token_id(self) -> int | None:
        """The id of `unk_token`; `None` when there is none."""
        return self._id_of_named("unk")

    @FirstUse
    def _named(self) -> dict[str, str]:
        return named_tokens(self.spec)

    def _id_of_named(self, use: str) -> int | None:
        text = self._named.get(use)
        return None if text is None else self._ids_by_token.get(text.encode("utf-8", "surrogatepass"))

    @property
    def merges(self) -> list[tuple[bytes, bytes]]:
        """The merges in order of priority; in rank mode, merges that give the same ids; none but in BPE."""
        if self.spec.model is not None:
            return []
        vocab = self.spec.vocab
        return [(vocab[left], vocab[right]) for left, right, _ in formats.merges_of(self.spec)]

    @property
    def ranks(self) -> dict[bytes, int]:
        """Tokens and their ranks; `VocabularyError` when rank mode would not give the same ids."""
        return formats.ranks_of(self.spec)

    @FirstUse
    def fingerprint(self) -> str:
        """64 hex digits over everything that can change an id or a text: tokens, merges, rules, template, decoding."""
        return fingerprint(self.spec)

    @FirstUse
    def _special_ids(self) -> frozenset[int]:
        return frozenset(self.spec.special_tokens.values())

    @FirstUse
    def _ids_by_key(self) -> dict[str, int]:
        return self.get_vocab()

    @FirstUse
    def _ids_by_token(self) -> dict[bytes, int]:
        ids = {token: token_id for token_id, token in other_tokens(self.spec).items()}
        ids.update({token: token_id for token_id, token in self.spec.vocab.items()})
        for text, token_id in (*self.spec.added_tokens.items(), *self.spec.special_tokens.items()):
            ids[text.encode("utf-8", "surrogatepass")] = token_id
        return ids

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Identity):
            return NotImplemented
        if self is other:
            return True
        return self.spec.special_tokens == other.spec.special_tokens and self.fingerprint == other.fingerprint

    def __hash__(self) -> int:
        return hash(self.fingerprint)

    def __copy__(self) -> Self:
        return self

    def __deepcopy__(self, memo: object) -> Self:
        return self

    def __reduce__(self) -> tuple[type[Identity], tuple[TokenizerSpec]]:
        return type(self), (self.spec,)

    def __setattr__(self, name: str, value: object) -> NoReturn:
        raise AttributeError(f"a Tokenizer is immutable; cannot set {name!r}")

    def __delattr__(self, name: str) -> NoReturn:
        raise AttributeError(f"a Tokenizer is immutable; cannot delete {name!r}")

    def __repr__(self) -> str:
        if self.spec.model is not None:
            return f"<bbpe.Tokenizer {self.name or 'unnamed'}: {len(self)} tokens, {type(self.spec.model).__name__}>"
        mode = "ranks" if self.spec.merges is None else f"{len(self.spec.merges)} merges"
        return f"<bbpe.Tokenizer {self.name or 'unnamed'}: {len(self)} tokens, {mode}, pattern {self.pattern}>"


def _bytes_of_key(key: str) -> bytes | None:
    try:
        return alphabet_to_bytes(key)
    except ValueError:
        return None
