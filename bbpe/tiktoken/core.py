"""`Encoding`: the interface of `tiktoken.Encoding`, with its defaults and its errors, over the engine of bbpe.

The package `tiktoken` is not needed.  `ENCODINGS` has the encodings that `get_encoding` has made, by name.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence, Sized
from collections.abc import Set as AbstractSet
from functools import lru_cache
from operator import index
from typing import Any, Literal, NoReturn, TypeAlias

from ..compat.columns import opened
from ..core.column import Column
from ..encoding.engine import THREAD_WORTH, TextEncoder
from ..encoding.limits import check_list
from ..encodings import get_encoding as get_tokenizer
from ..encodings import published_vocabulary, tokenizer_of_ranks
from ..errors import SpecialTokenError, TokenIdError, TokenNotFoundError, VocabularyError, described
from ..lazy import lazy_property, np, npt
from ..pipeline.special_tokens import NOTHING, Matcher
from ..records import whole
from ..spec.models import WordPieceModel
from ..tokenizer import Tokenizer
from ..types import Ragged
from .unstable import Unstable

_Allowed: TypeAlias = Literal["all"] | AbstractSet[str]
_Disallowed: TypeAlias = Literal["all"] | Collection[str]
# as tiktoken's defaults are; never written to
_NONE: frozenset[str] = frozenset()
#: The most texts or rows whose lengths are added up before they are encoded or decoded.
_FEW = 256

#: The encodings that `get_encoding` has made, by name.
ENCODINGS: dict[str, Encoding] = {}
#: Functions that return the arguments of an `Encoding`, by its name, for names that bbpe does not know.
ENCODING_CONSTRUCTORS: dict[str, Callable[[], dict[str, Any]]] = {}


class Encoding:
    r"""A tokenizer with the interface of `tiktoken.Encoding`; `Tokenizer.as_tiktoken` and `get_encoding` make one, too.

    The regex is read as tiktoken reads it; text that no match covers is dropped. The guide on migrating lists where the
    two differ: of special tokens that begin at the same position the longest matches; the array of `encode_to_numpy` is
    writable; bytes, `True` and `False` are not ids.

    Args:
        name: The name.
        pat_str: The regex that splits texts, in tiktoken's dialect.
        mergeable_ranks: The bytes of ordinary tokens to their ranks, which are the ids and the priorities of merges.
        special_tokens: Special tokens to their ids.
        explicit_n_vocab: The number of tokens, which is checked, with the highest id; None checks nothing.

    Attributes:
        name: The name of the tokenizer, or "unnamed".
        max_token_value: The highest id.

    Raises:
        VocabularyError: The ranks, the special tokens and `explicit_n_vocab` do not fit together. By
            `Tokenizer.as_tiktoken`: the tokenizer has a feature that tiktoken lacks, such as normalizers, prefixes,
            options of special tokens, or symbols that are characters.
        PatternError: The regex cannot be followed.
        ValueError: By methods that encode: a text contains a disallowed special token.
        TypeError: By methods that encode: a text is not a `str`.
        KeyError: By methods that decode: no token has one of the ids.
        OverflowError: By methods that decode: an id is not a uint32.

    Example:
        >>> import bbpe.tiktoken as tiktoken
        >>> ranks = {bytes([byte]): byte for byte in range(256)} | {b"lo": 256}
        >>> enc = tiktoken.Encoding("tiny", pat_str=r"\w+|\W+", mergeable_ranks=ranks, special_tokens={"<s>": 300})
        >>> enc.encode("low<s>", allowed_special="all"), enc.n_vocab
        ([256, 119, 300], 301)
    """

    name: str
    max_token_value: int

    def __init__(
        self,
        name: str,
        *,
        pat_str: str,
        mergeable_ranks: Mapping[bytes, int],
        special_tokens: Mapping[str, int],
        explicit_n_vocab: int | None = None,
    ) -> None:
        self._view(tokenizer_of_ranks(name, pat_str, mergeable_ranks, special_tokens, explicit_n_vocab))

    @classmethod
    def _of(cls, tokenizer: Tokenizer) -> Encoding:
        """Return the view of a tokenizer, which keeps it."""
        made: Encoding | None = tokenizer.__dict__.get("_tiktoken")
        if made is None:
            made = cls.__new__(cls)
            made._view(tokenizer)
            made = tokenizer.__dict__.setdefault("_tiktoken", made)
        return made

    def _view(self, tokenizer: Tokenizer) -> None:
        spec = tokenizer.spec
        if tokenizer._parts.encoder.has_rules or spec.characters is not None or isinstance(spec.model, WordPieceModel):
            raise VocabularyError(
                "this tokenizer has normalizers, prefixes, options of special tokens or symbols that are characters; "
                "tiktoken has none of these"
            )
        self.name = tokenizer.name or "unnamed"
        self._tokenizer = tokenizer
        self._encoder: TextEncoder = tokenizer._parts.encoder
        self._special_tokens: dict[str, int] = {**spec.added_tokens, **spec.special_tokens}
        self._special_token_values = set(self._special_tokens.values())
        self.max_token_value = tokenizer.vocab_size - 1
        self._refused = _any_of(self._special_tokens)
        self._search = lru_cache(maxsize=128)(_any_of)
        self._matcher = lru_cache(maxsize=128)(self._make_matcher)

    def __repr__(self) -> str:
        return f"<Encoding {self.name!r}>"

    def __getstate__(self) -> str | dict[str, Any]:
        """Return the name of an encoding that `get_encoding` has made, or the definition of any other one."""
        return self.name if ENCODINGS.get(self.name) is self else {"tokenizer": self._tokenizer}

    def __setstate__(self, state: str | Mapping[str, Any]) -> None:
        """Take a state, also one that tiktoken's `Encoding` returned."""
        if isinstance(state, str):
            self.__dict__ = get_encoding(state).__dict__
        elif "tokenizer" in state:
            self._view(state["tokenizer"])
        else:
            self.__init__(**state)  # type: ignore[misc]

    # -- encoding ------------------------------------------------------------------------------------

    def encode_ordinary(self, text: str) -> list[int]:
        """Return the ids of a text in which special tokens are plain text."""
        return self._encoder.to_list(_checked(text))

    def encode(
        self, text: str, *, allowed_special: _Allowed = _NONE, disallowed_special: _Disallowed = "all"
    ) -> list[int]:
        """Encode a text.

        Args:
            text: The text.
            allowed_special: Special tokens that are encoded as such: a set of them, or "all".
            disallowed_special: Special tokens that raise an error: a collection, or "all" for those that are not
                allowed. All others are plain text; `()` makes every special token that is not allowed plain text.

        Returns:
            The ids.

        Raises:
            ValueError: The text contains a disallowed special token; the message names it and its position.
        """
        return self._encoder.to_list(text, self._policy(text, allowed_special, disallowed_special))

    def encode_to_numpy(
        self, text: str, *, allowed_special: _Allowed = _NONE, disallowed_special: _Disallowed = "all"
    ) -> npt.NDArray[np.uint32]:
        """Encode a text into an array.

        Args:
            text: The text.
            allowed_special: As in `encode`.
            disallowed_special: As in `encode`.

        Returns:
            The ids, uint32[n].

        Raises:
            UnicodeEncodeError: The text has a surrogate, for which `encode` takes U+FFFD.
        """
        matcher = self._policy(text, allowed_special, disallowed_special)
        return self._encoder.to_array(text if text.isascii() else text.encode(), matcher)

    def encode_ordinary_batch(self, text: Iterable[str], *, num_threads: int = 8) -> list[list[int]]:
        """Encode many texts in which special tokens are plain text.

        Args:
            text: The texts, or a column of Arrow, whose texts are read without a `str` for each.
            num_threads: The number of threads; texts that are short together take one.

        Returns:
            The ids of each text, in order.

        Raises:
            TypeError: One of the texts is not a `str`, or a row of a column is null.
        """
        check_list(text, "text")
        texts = opened(text)
        if not isinstance(texts, Column):
            texts = [_checked(one) for one in texts]
            num_threads = _workers(texts, num_threads)
        return self._encoder.lists(texts, None, num_threads)

    def encode_batch(
        self,
        text: Iterable[str],
        *,
        num_threads: int = 8,
        allowed_special: _Allowed = _NONE,
        disallowed_special: _Disallowed = "all",
    ) -> list[list[int]]:
        """Encode many texts.

        Args:
            text: As in `encode_ordinary_batch`.
            num_threads: As in `encode_ordinary_batch`.
            allowed_special: As in `encode`.
            disallowed_special: As in `encode`.

        Returns:
            The ids of each text, in order.

        Raises:
            ValueError: A text contains a disallowed special token.
            TypeError: One of the texts is not a `str`, or a row of a column is null.
        """
        check_list(text, "text")
        column = opened(text)
        if isinstance(column, Column):
            return self._column_lists(column, num_threads, allowed_special, disallowed_special)
        texts: list[Any] = list(text)
        matchers = [self._policy(one, allowed_special, disallowed_special) for one in texts]
        return self._encoder.lists(texts, matchers[0] if matchers else None, _workers(texts, num_threads))

    def encode_with_unstable(
        self, text: str, *, allowed_special: _Allowed = _NONE, disallowed_special: _Disallowed = "all"
    ) -> tuple[list[int], list[list[int]]]:
        """Encode the beginning of a text that may continue.

        Args:
            text: The text so far.
            allowed_special: As in `encode`.
            disallowed_special: As in `encode`.

        Returns:
            The ids that no continuation can change, and possible sequences of ids that begin with the rest of the text.

        Raises:
            UnicodeEncodeError: The text has a surrogate, for which `encode` takes U+FFFD.
        """
        matcher = self._policy(text, allowed_special, disallowed_special)
        text.encode()
        stable, completions = self._unstable.complete(text, matcher)
        return stable, [list(ids) for ids in completions]

    def encode_single_token(self, text_or_bytes: str | bytes) -> int:
        """Return the id of one token, ordinary or special; of the ordinary one where a text is both.

        Args:
            text_or_bytes: The token, as text or bytes.

        Returns:
            The id.

        Raises:
            KeyError: There is no such token.
            TypeError: The argument is neither `str` nor `bytes`.
        """
        if isinstance(text_or_bytes, str):
            text_or_bytes = text_or_bytes.encode("utf-8")
        if not isinstance(text_or_bytes, bytes):
            raise TypeError(f"a token is str or bytes, not {type(text_or_bytes).__name__}")
        ordinary = self._tokenizer._parts.vocabulary.ordinary_id(text_or_bytes)
        if ordinary is not None:
            return ordinary
        try:
            return self._tokenizer.token_to_id(text_or_bytes)
        except TokenNotFoundError:
            raise KeyError(text_or_bytes) from None

    # -- decoding ------------------------------------------------------------------------------------

    def decode_bytes(self, tokens: Sequence[int]) -> bytes:
        """Return the bytes of ids."""
        try:
            return self._tokenizer._parts.vocabulary.tokens.join(tokens)
        except TokenIdError:
            self._raise_wrong(tokens)

    def decode(self, tokens: Sequence[int], errors: str = "replace") -> str:
        """Decode ids to text.

        Args:
            tokens: The ids.
            errors: The treatment of bytes that are not UTF-8, as in `bytes.decode`.

        Returns:
            The text.
        """
        try:
            return self._tokenizer._parts.vocabulary.tokens.text(tokens, errors)
        except TokenIdError:
            self._raise_wrong(tokens)

    def decode_single_token_bytes(self, token: int) -> bytes:
        """Return the bytes of one id."""
        try:
            return self._tokenizer.id_to_token(token)
        except TokenIdError:
            raise _no_uint32(token) or KeyError(str(token)) from None

    def decode_tokens_bytes(self, tokens: Sequence[int]) -> list[bytes]:
        """Return the bytes of each id, in order."""
        check_list(tokens, "tokens")
        return [self.decode_single_token_bytes(token) for token in tokens]

    def decode_with_offsets(self, tokens: Sequence[int]) -> tuple[str, list[int]]:
        """Decode ids to text, and locate each in it.

        Args:
            tokens: The ids.

        Returns:
            The text, and for each id the index of the first character that contains one of its bytes.

        Raises:
            UnicodeDecodeError: The bytes are not UTF-8.
        """
        try:
            return self._tokenizer.decode_with_offsets(tokens)
        except TokenIdError:
            self.decode_tokens_bytes(tokens)
            raise

    def decode_batch(
        self, batch: Iterable[Sequence[int]], *, errors: str = "replace", num_threads: int = 8
    ) -> list[str]:
        """Decode many rows of ids to texts.

        Args:
            batch: The rows, also of a generator, or a `bbpe.Ragged`.
            errors: The treatment of bytes that are not UTF-8, as in `bytes.decode`.
            num_threads: The number of threads; rows that are short together take one.

        Returns:
            The text of each row, in order.
        """
        check_list(batch, "batch")
        rows: Any = list(batch) if isinstance(batch, Ragged) or not isinstance(batch, Sized) else batch
        try:
            threads = _workers(rows, num_threads)
            return self._tokenizer._parts.decoder.texts(rows, errors, threads, False, "raise")
        except TokenIdError:
            for tokens in rows:
                self.decode_bytes(tokens)
            raise

    def decode_bytes_batch(self, batch: Sequence[Sequence[int]], *, num_threads: int = 8) -> list[bytes]:
        """Decode many rows of ids to bytes.

        Args:
            batch: The rows.
            num_threads: Accepted for compatibility; one thread does the work.

        Returns:
            The bytes of each row, in order.

        Raises:
            ValueError: `num_threads` is less than 1.
        """
        check_list(batch, "batch")
        whole("num_threads", num_threads, 1)
        return [self.decode_bytes(tokens) for tokens in batch]

    # -- vocabulary ----------------------------------------------------------------------------------

    def token_byte_values(self) -> list[bytes]:
        """Return the bytes of all ordinary tokens, sorted."""
        return sorted(self._tokenizer.spec.vocab.values())

    @property
    def eot_token(self) -> int:
        """The id of `<|endoftext|>`; raises `KeyError` if there is none."""
        return self._special_tokens["<|endoftext|>"]

    @property
    def special_tokens_set(self) -> set[str]:
        """The special tokens."""
        return set(self._special_tokens)

    def is_special_token(self, token: int) -> bool:
        """Return whether an id is that of a special token."""
        assert isinstance(token, int)
        return token in self._special_token_values

    @property
    def n_vocab(self) -> int:
        """The highest id plus one."""
        return self.max_token_value + 1

    # -- private names that programs use nevertheless ---------------------------------------------------------

    @lazy_property
    def _mergeable_ranks(self) -> dict[bytes, int]:
        """Tokens and ranks; raises `VocabularyError` if ranks would give other ids."""
        return self._tokenizer.ranks

    @lazy_property
    def _pat_str(self) -> str:
        """The regex; raises `VocabularyError` if the pattern is a chain of several."""
        steps = self._tokenizer.spec.pattern.steps
        if len(steps) != 1:
            raise VocabularyError(
                f"pattern {self._tokenizer.pattern} is {len(steps)} regexes, one after the other; tiktoken has one"
            )
        return steps[0]

    def _encode_single_piece(self, text_or_bytes: str | bytes) -> list[int]:
        """Return the ids of a text that is not split."""
        if isinstance(text_or_bytes, str):
            text_or_bytes = text_or_bytes.encode("utf-8")
        return self._unstable.single_piece(text_or_bytes)

    def _encode_only_native_bpe(self, text: str) -> list[int]:
        """Return the ids of a text, as `encode_ordinary` does."""
        return self.encode_ordinary(text)

    def _encode_bytes(self, text: bytes) -> list[int]:
        """Return the ids of bytes; from the first byte that is not UTF-8 on, the rest joins the pretoken before it."""
        if not isinstance(text, bytes):
            raise TypeError(f"_encode_bytes takes bytes, not {type(text).__name__}")
        return self._unstable.encode_bytes(text)

    @lazy_property
    def _unstable(self) -> Unstable:
        return Unstable(self._tokenizer)

    # -- special tokens ------------------------------------------------------------------------------

    def _column_lists(
        self, texts: Column, threads: int, allowed: _Allowed, disallowed: _Disallowed
    ) -> list[list[int]]:
        """Return the ids of each text of a column, searched for disallowed tokens as it is encoded."""
        matcher, refused = self._choices(allowed, disallowed)
        try:
            return self._encoder.lists(texts, (matcher or NOTHING).refusing(refused) if refused else matcher, threads)
        except SpecialTokenError:
            for text in texts:
                if refused is not None and (found := refused.find(text)) is not None:
                    _raise_found(text, *found)
            raise

    def _policy(self, text: str, allowed: _Allowed, disallowed: _Disallowed) -> Matcher | None:
        """Return the matcher of a call; raises `ValueError` if the text contains a disallowed token."""
        _checked(text)
        if allowed is _NONE and disallowed == "all":  # most calls
            _refuse(self._refused, text)
            return None
        matcher, refused = self._choices(allowed, disallowed)
        _refuse(refused, text)
        return matcher

    def _choices(self, allowed: _Allowed, disallowed: _Disallowed) -> tuple[Matcher | None, Matcher | None]:
        """Return the matcher of the allowed tokens, and that of the disallowed ones; `None` of none."""
        if allowed == "all":
            allowed = self.special_tokens_set
        elif not isinstance(allowed, AbstractSet):
            raise TypeError(f'allowed_special is {described(allowed)}; expected "all" or a set of special tokens')
        if disallowed == "all":
            disallowed = self.special_tokens_set - allowed
        elif isinstance(disallowed, bytes) or not isinstance(disallowed, Collection):
            wrong = described(disallowed)
            raise TypeError(f'disallowed_special is {wrong}; expected "all" or a collection of special tokens')
        return self._matcher(frozenset(allowed & self._special_tokens.keys())), self._search(frozenset(disallowed))

    def _make_matcher(self, allowed: frozenset[str]) -> Matcher | None:
        ids = {text.encode("utf-8", "surrogatepass"): self._special_tokens[text] for text in allowed}
        return Matcher.of(ids) if ids else None

    def _raise_wrong(self, tokens: Sequence[int]) -> NoReturn:
        """Raise the error for the first wrong id; one that is not a uint32 comes before all others."""
        for token in tokens:
            if error := _no_uint32(token):
                raise error from None
        for token in tokens:
            try:
                self._tokenizer.id_to_token(token)
            except TokenIdError:
                raise KeyError(f"Invalid token for decoding: {token}") from None
        raise RuntimeError("the ids were written to while they were decoded")


def _checked(text: str) -> str:
    if not isinstance(text, str):
        raise TypeError(f"a text is str, not {type(text).__name__}")
    return text


def _workers(items: Sequence[Any], threads: int) -> int:
    """Return 1 instead of this number of threads for texts or ids that one has done before others have begun."""
    whole("num_threads", threads)
    sizes = [len(item) if hasattr(item, "__len__") else 0 for item in items] if len(items) <= _FEW else []
    is_short = threads > 1 and len(items) <= _FEW and sum(sizes) < THREAD_WORTH
    return 1 if is_short else threads


def _no_uint32(token: int) -> OverflowError | None:
    fits = 0 <= index(token) < 1 << 32
    return None if fits else OverflowError(f"id {token} is out of range; expected 0 to {2**32 - 1}")


def _any_of(tokens: Collection[str]) -> Matcher | None:
    return Matcher.of({token.encode("utf-8", "surrogatepass"): 0 for token in tokens if token}) if tokens else None


def _refuse(search: Matcher | None, text: str) -> None:
    data = b"" if search is None else text.encode("utf-8", "surrogatepass")
    found = None if search is None else search.find(data)
    if found is not None:
        _raise_found(data, *found)


def _raise_found(data: bytes, start: int, end: int, _: int) -> NoReturn:
    raise_disallowed_special_token(data[start:end].decode("utf-8", "surrogatepass"), start)


def raise_disallowed_special_token(token: str, start: int | None = None) -> NoReturn:
    """Raise the `ValueError` for a disallowed special token, which begins at a byte of the text's UTF-8.

    Args:
        token: The token.
        start: The byte; None if it is not known.

    Raises:
        ValueError: Always.
    """
    place = "" if start is None else f" at byte {start}"
    raise ValueError(
        f"the text holds the disallowed special token {token!r}{place}; to encode it as a "
        f"special token pass allowed_special={{{token!r}}}, to encode it as plain text disallowed_special=() or "
        f"(enc.special_tokens_set - {{{token!r}}})"
    )


def get_encoding(encoding_name: str) -> Encoding:
    """Return a published encoding by its name; every call returns the same object.

    `bbpe.get_encoding` finds its file on this machine; nothing is downloaded.  A name that bbpe does not know may be
    that of an installed plugin of tiktoken (a module in `tiktoken_ext`), or a key of
    `bbpe.tiktoken.registry.ENCODING_CONSTRUCTORS`.

    Args:
        encoding_name: The name, such as "o200k_base".

    Returns:
        The encoding.

    Raises:
        VocabularyError: The name is unknown, the file is not on this machine, or tiktoken cannot express the
            vocabulary; the error is a `ValueError`.

    Example:
        >>> get_encoding("o200k_base").encode("hello world")  # doctest: +SKIP
        [24912, 2375]
    """
    if not isinstance(encoding_name, str):
        raise VocabularyError(f"an encoding name is a str, not {type(encoding_name).__name__}")
    found = ENCODINGS.get(encoding_name)
    # no lock, which a child process could inherit while it is held: two threads may both make one, and the first stays
    return ENCODINGS.setdefault(encoding_name, _made(encoding_name)) if found is None else found


def _made(name: str) -> Encoding:
    try:
        published_vocabulary(name)
    except VocabularyError:
        constructor = ENCODING_CONSTRUCTORS.get(name)
        if constructor is not None:
            return Encoding(**constructor())
    return Encoding._of(get_tokenizer(name))
