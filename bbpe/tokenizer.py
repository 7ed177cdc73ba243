"""The tokenizer: an immutable value that encodes and decodes."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from typing import Any, NoReturn

import numpy as np
import numpy.typing as npt

from . import corpus, formats
from .core.bpe import Model
from .core.ids import TokenBytes
from .decoding import Ids, Rows, decode_rows, run_with
from .encoding import THREAD_WORTH, CacheInfo, TextEncoder, id_dtype
from .errors import SpecialTokenError
from .normalize import Text, bytes_to_alphabet
from .patterns import get_pattern
from .ragged import Ragged
from .spec import TokenizerSpec, make_spec, vocab_of_ranks
from .specials import END_OF_TEXT, Selection, SpecialTokens

# the one empty tuple, so that the usual call is known by it
_NOTHING: tuple[str, ...] = ()


class Tokenizer:
    """A byte-level BPE tokenizer.

    Made by `bbpe.train`, `bbpe.load`, `Tokenizer.from_merges` or `Tokenizer.from_ranks`; equal, hashable
    and picklable by content; safe to share between threads and with forked children.

    >>> tok = bbpe.train_from_iterator(["low lower lowest"], vocab_size=260)
    >>> tok.decode(tok.encode("slow")) == "slow"
    True
    """

    def __init__(self, spec: TokenizerSpec) -> None:
        values = self.__dict__
        values["spec"] = spec
        model = Model(spec.vocab, spec.merges, whole_pretokens=spec.whole_pretokens)
        values["_encoder"] = TextEncoder(model, spec.pattern)
        named = (*spec.special_tokens.items(), *spec.added_tokens.items())
        others = {token_id: text.encode("utf-8", "surrogatepass") for text, token_id in named}
        values["_token_bytes"] = TokenBytes(spec.vocab, others)
        values["_specials"] = specials = SpecialTokens(spec.special_tokens, spec.added_tokens)
        # a short text takes less time than asking what to look for in it
        values["_encode_short"] = self._encoder.encode_short if specials.matcher() is None else None

    spec: TokenizerSpec
    _encoder: TextEncoder
    _encode_short: Callable[[Text], list[int]] | None
    _token_bytes: TokenBytes
    _specials: SpecialTokens

    @classmethod
    def from_merges(
        cls,
        vocab: Mapping[int, bytes],
        merges: Iterable[tuple[bytes, bytes]],
        *,
        pattern: str | Sequence[str],
        special_tokens: Mapping[str, int] | None = None,
        name: str | None = None,
    ) -> Tokenizer:
        """Make a tokenizer of ids to bytes and merges in order of priority (merge-list mode, as HF's).

        Raises `VocabularyError` when the two do not fit together and `PatternError` on an unknown pattern.
        """
        chosen = get_pattern(pattern)
        return cls(make_spec(vocab, merges, pattern=chosen, special_tokens=special_tokens, name=name))

    @classmethod
    def from_ranks(
        cls,
        ranks: Mapping[bytes, int],
        *,
        pattern: str | Sequence[str],
        special_tokens: Mapping[str, int] | None = None,
        name: str | None = None,
    ) -> Tokenizer:
        """Make a tokenizer of tokens to ranks, which are the ids (rank mode, as tiktoken's).

        Any two neighbours merge whose concatenation is a token, the lowest rank first; a pretoken that is
        itself a token is that token.  Raises as `from_merges` does.
        """
        vocab = vocab_of_ranks(ranks)
        chosen = get_pattern(pattern)
        return cls(
            make_spec(vocab, None, pattern=chosen, special_tokens=special_tokens, whole_pretokens=True, name=name)
        )

    # -- encoding ------------------------------------------------------------------------------------

    def encode(
        self, text: Text, *, allowed_special: Selection = _NOTHING, disallowed_special: Selection = _NOTHING
    ) -> list[int]:
        """Return the ids of a text.

        Special tokens in the text are plain text unless allowed: `"all"` or a set of them.  One that is
        disallowed and not allowed raises `SpecialTokenError`, naming it and its place.  Bytes that are not
        UTF-8 are encoded as the bytes they are; in a `str` a lone surrogate is U+FFFD.

        >>> tok = bbpe.train_from_iterator(["a b"], vocab_size=257, special_tokens=["<s>"])
        >>> tok.encode("<s>", allowed_special="all"), len(tok.encode("<s>"))
        ([256], 3)
        """
        is_plain = allowed_special is _NOTHING and disallowed_special is _NOTHING
        if is_plain and self._encode_short is not None and isinstance(text, str) and len(text) < THREAD_WORTH:
            return self._encode_short(text)
        return self._encoder.to_list(text, self._specials.matcher(allowed_special, disallowed_special))

    def encode_ordinary(self, text: Text) -> list[int]:
        """Return the ids of a text in which special tokens are plain text."""
        return self.encode(text)

    def encode_bytes(
        self,
        text: bytes | bytearray | memoryview,
        *,
        allowed_special: Selection = (),
        disallowed_special: Selection = (),
    ) -> list[int]:
        """Return the ids of bytes, UTF-8 or not; raises `TypeError` on a `str`."""
        if isinstance(text, str):
            raise TypeError("encode_bytes takes bytes; encode takes str too")
        return self.encode(text, allowed_special=allowed_special, disallowed_special=disallowed_special)

    def encode_to_numpy(
        self,
        text: Text,
        *,
        dtype: npt.DTypeLike = np.uint32,
        threads: int | None = None,
        allowed_special: Selection = (),
        disallowed_special: Selection = (),
    ) -> npt.NDArray[np.unsignedinteger[Any]]:
        """Return the ids of a text as an array, uint32[n] or, with `dtype=np.uint16`, uint16[n].

        `threads=None` uses every core when there is enough text.  Raises `ValueError` on a dtype that is
        neither, or too small for the vocabulary; otherwise as `encode`.

        >>> bbpe.train_from_iterator(["a b"], vocab_size=256).encode_to_numpy("a", dtype=np.uint16)
        array([64], dtype=uint16)
        """
        chosen = id_dtype(dtype, self.vocab_size)
        matcher = self._specials.matcher(allowed_special, disallowed_special)
        return self._encoder.to_array(text, matcher, threads).astype(chosen, copy=False)

    def encode_batch(
        self,
        texts: Iterable[Text],
        *,
        threads: int | None = None,
        allowed_special: Selection = (),
        disallowed_special: Selection = (),
    ) -> list[list[int]]:
        """Return the ids of each text, in order; `threads=None` uses every core when there is enough text."""
        matcher = self._specials.matcher(allowed_special, disallowed_special)
        return self._encoder.lists(_as_batch(texts), matcher, threads)

    def encode_batch_to_numpy(
        self,
        texts: Iterable[Text],
        *,
        threads: int | None = None,
        allowed_special: Selection = (),
        disallowed_special: Selection = (),
    ) -> Ragged:
        """Return the ids of each text as `Ragged(ids: uint32[total], offsets: int64[len(texts) + 1])`."""
        matcher = self._specials.matcher(allowed_special, disallowed_special)
        return self._encoder.rows(_as_batch(texts), matcher, threads)

    def encode_iterable(
        self, chunks: Iterable[Text], *, allowed_special: Selection = (), disallowed_special: Selection = ()
    ) -> Iterator[int]:
        """Yield the ids of the joined chunks, wherever they were cut.

        Memory grows with the largest chunk and twice the longest pretoken, not with the text; with a regex
        that is no named pattern the text is collected first, because it may look ahead without bound.
        """
        return self._encoder.stream(chunks, self._specials.matcher(allowed_special, disallowed_special))

    def encode_files(
        self, files: corpus.Files, *, allowed_special: Selection = (), disallowed_special: Selection = ()
    ) -> Iterator[npt.NDArray[np.uint32]]:
        """Yield the ids of each file as uint32[n]; `files` as in `bbpe.train`.

        Raises `OSError` naming a file that cannot be read.
        """
        for path in corpus.paths(files):
            with corpus.open_text(path) as data:
                matcher = self._specials.matcher(allowed_special, disallowed_special)
                yield self._encoder.to_array(data, matcher)

    def tokenize(self, text: Text) -> list[str]:
        """Return the tokens of a text in GPT-2's byte alphabet, as `vocab.json` writes them.

        >>> bbpe.train_from_iterator(["a b"], vocab_size=256).tokenize("a b")
        ['a', 'Ġ', 'b']
        """
        return [bytes_to_alphabet(self._token_bytes.token(token_id)) for token_id in self.encode(text)]

    def cache_info(self) -> CacheInfo:
        """Return how many bytes the caches take: this tokenizer's, and all of the process's with their limit."""
        shared, idle, used, limit = self._encoder.encoder.states.info()
        return CacheInfo(shared + idle, used, limit)

    def clear_cache(self) -> None:
        """Free this tokenizer's caches; calls that run meanwhile keep theirs until they end.

        >>> tok = bbpe.train_from_iterator(["a b"], vocab_size=256)
        >>> tok.clear_cache()
        >>> tok.cache_info().tokenizer
        0
        """
        self._encoder.encoder.states.clear()

    # -- decoding ------------------------------------------------------------------------------------

    def decode(self, ids: Ids, *, errors: str = "replace", threads: int | None = None) -> str:
        """Return the text of ids: a sequence of int or any integer array of one dimension.

        `errors` says what becomes of bytes that are not UTF-8, as in `bytes.decode`.  `threads=None` uses every
        core when there are enough ids.  Raises `TokenIdError` naming the first id that is negative, too large
        or a hole, and `TypeError` on what are no ids.

        >>> tok = bbpe.train_from_iterator(["a b"], vocab_size=256)
        >>> tok.decode(tok.encode("a b")), tok.decode(tok.encode_to_numpy("é")[:1], errors="ignore")
        ('a b', '')
        """
        return self._token_bytes.text(ids, errors, run_with(threads))

    def decode_bytes(self, ids: Ids, *, threads: int | None = None) -> bytes:
        """Return the bytes of ids; for every text, `decode_bytes(encode(text))` is its UTF-8.

        Ids, threads and errors as in `decode`.
        """
        return self._token_bytes.join(ids, run_with(threads))

    def decode_batch(self, batch: Rows, *, errors: str = "replace", threads: int | None = None) -> list[str]:
        """Return the text of each row of ids, in order: rows of any kind, a `Ragged` or an array [rows, ids].

        `threads=None` uses every core when there are enough ids; otherwise as `decode`.

        >>> tok = bbpe.train_from_iterator(["a b"], vocab_size=256)
        >>> tok.decode_batch(tok.encode_batch_to_numpy(["a", "", "b a"]))
        ['a', '', 'b a']
        """
        return decode_rows(self._token_bytes, batch, errors=errors, threads=threads)

    # -- what it is ----------------------------------------------------------------------------------

    def save(self, path: str | os.PathLike[str], *, format: str | None = None) -> None:  # noqa: A002
        """Write the tokenizer to a file, atomically.

        `format`: "huggingface" (tokenizer.json), "tiktoken", "gpt2" (a folder with vocab.json and merges.txt)
        or "vocab_txt"; by default the suffix of the path says which.  Raises `VocabularyError` when the
        format cannot hold this tokenizer.
        """
        formats.dump(self.spec, path, format=format)

    def id_to_token(self, token_id: int) -> bytes:
        """Return the bytes of an id, special tokens too; `TokenIdError` when no token has it."""
        return self._token_bytes.token(token_id)

    def token_to_id(self, token: bytes | str) -> int:
        """Return the id of a token, given as bytes or text; a special token goes before an ordinary one.

        Raises `KeyError` when there is no such token.
        """
        if isinstance(token, str):
            token = token.encode("utf-8", "surrogatepass")
        return self._ids_by_token[token]

    def get_vocab(self) -> dict[str, int]:
        """Return all tokens and their ids; ordinary tokens in GPT-2's byte alphabet."""
        ordinary = {bytes_to_alphabet(token): token_id for token_id, token in self.spec.vocab.items()}
        return {**ordinary, **self.spec.added_tokens, **self.spec.special_tokens}

    @property
    def vocab_size(self) -> int:
        """The highest id plus one."""
        return self._token_bytes.id_count

    @property
    def n_vocab(self) -> int:
        """The same as `vocab_size`."""
        return self.vocab_size

    def __len__(self) -> int:
        return len(self.spec.vocab) + len(self.spec.special_tokens) + len(self.spec.added_tokens)

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

    @property
    def eot_token(self) -> int:
        """The id of the end-of-text token; `SpecialTokenError` when there is none."""
        for text in END_OF_TEXT:
            if text in self.spec.special_tokens:
                return self.spec.special_tokens[text]
        raise SpecialTokenError(f"this tokenizer has no end-of-text token; expected one of {', '.join(END_OF_TEXT)}")

    @property
    def merges(self) -> list[tuple[bytes, bytes]]:
        """The merges in order of priority; in rank mode, merges that give the same ids."""
        vocab = self.spec.vocab
        return [(vocab[left], vocab[right]) for left, right, _ in formats.merges_of(self.spec)]

    @property
    def ranks(self) -> dict[bytes, int]:
        """Tokens and their ranks; `VocabularyError` when rank mode would not give the same ids."""
        return formats.ranks_of(self.spec)

    @cached_property
    def fingerprint(self) -> str:
        """64 hex digits over ids and bytes, special and added tokens and the pattern."""
        return self.spec.fingerprint()

    @cached_property
    def _ids_by_token(self) -> dict[bytes, int]:
        ids = {token: token_id for token_id, token in self.spec.vocab.items()}
        for text, token_id in (*self.spec.added_tokens.items(), *self.spec.special_tokens.items()):
            ids[text.encode("utf-8", "surrogatepass")] = token_id
        return ids

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Tokenizer) and self.fingerprint == other.fingerprint

    def __hash__(self) -> int:
        return hash(self.fingerprint)

    def __reduce__(self) -> tuple[type[Tokenizer], tuple[TokenizerSpec]]:
        return Tokenizer, (self.spec,)

    def __setattr__(self, name: str, value: object) -> NoReturn:
        raise AttributeError(f"a Tokenizer is immutable; cannot set {name!r}")

    def __delattr__(self, name: str) -> NoReturn:
        raise AttributeError(f"a Tokenizer is immutable; cannot delete {name!r}")

    def __repr__(self) -> str:
        mode = "ranks" if self.spec.merges is None else f"{len(self.spec.merges)} merges"
        return f"<bbpe.Tokenizer {self.name or 'unnamed'}: {len(self)} tokens, {mode}, pattern {self.pattern}>"


def load(
    path: str | os.PathLike[str],
    *,
    pattern: str | Sequence[str] | None = None,
    special_tokens: Mapping[str, int] | None = None,
    name: str | None = None,
) -> Tokenizer:
    """Load a tokenizer: tokenizer.json, tekken.json, a .tiktoken or GGUF file, vocab.json (vocab.txt) with merges.txt.

    A vocab.json folder is given by its path or by either file's.  `pattern` and `special_tokens` replace
    what the file says or what is known of it; a file that names no pattern and is not a known vocabulary
    needs one.  Nothing is downloaded.

    Raises `VocabularyError` naming the file, the place and what was expected; `OSError` when the file
    cannot be read; `PatternError` on a pattern that cannot be followed exactly.
    """
    return Tokenizer(formats.load(path, pattern=pattern, special_tokens=special_tokens, name=name))


def _as_batch(texts: Iterable[Text]) -> list[Text]:
    if isinstance(texts, (str, bytes, bytearray, memoryview)):
        raise TypeError(f"a batch is an iterable of texts, not one {type(texts).__name__}")
    return texts if isinstance(texts, list) else list(texts)
