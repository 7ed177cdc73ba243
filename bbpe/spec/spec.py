"""Everything that a tokenizer *is*, as plain data: the hub that all file formats meet at."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, fields
from types import MappingProxyType
from typing import Any

from ..core.token_table import MAX_ID
from ..errors import VocabularyError
from ..splitting.patterns import Pattern
from .models import UnigramModel, WordPieceModel
from .rules import BLANK, Characters, Normalizer, Prefix, PreTokenizer, Template, TokenOptions
from .vocab import Vocab

# how many ids for each token, and besides
_MOST_HOLES, _ROOM = 16, 1 << 21

__all__ = ["MAX_ID", "TextRules", "TokenizerSpec", "make_spec", "vocab_of_ranks"]


@dataclass(frozen=True)
class TextRules:
    """What happens to a text around splitting.

    `normalizers`, then, for each piece between special tokens, `prefix`; `pre_tokenizers`, when there are any, cut in
    place of the pattern.  Decoding takes up to `strip_blanks` blanks away from the beginning of a text.
    """

    normalizers: tuple[Normalizer, ...] = ()
    prefix: Prefix | None = None
    pre_tokenizers: tuple[PreTokenizer, ...] = ()
    strip_blanks: int = 0


@dataclass(frozen=True)
class TokenizerSpec:
    """The definition of a tokenizer.

    `vocab` maps ids to the bytes of ordinary tokens.  `merges` holds `(left id, right id, id)` in order
    of priority ("merge-list mode", HF); `None` means that any two neighbours merge whose concatenation is
    a token, the lowest id first ("rank mode", tiktoken).  With `whole_pretokens` a pretoken that is itself
    a token is that token, whether or not merging would build it.  `special_tokens` follow the policy of
    each call, `added_tokens` always match; `token_options` says how, where that is not as they stand.

    `characters`: symbols are characters, not bytes, and `vocab` leaves the tokens of bytes out.  `template` is what a
    call may ask to have around the ids.  `files` are what lies beside the vocabulary and is written with it, by name.
    `model`: None is BPE; with any other there are no merges, and tokens are of characters, not of bytes.
    """

    vocab: Mapping[int, bytes]
    merges: tuple[tuple[int, int, int], ...] | None
    pattern: Pattern
    special_tokens: Mapping[str, int] = field(default_factory=dict)
    added_tokens: Mapping[str, int] = field(default_factory=dict)
    whole_pretokens: bool = False
    name: str | None = None
    rules: TextRules = TextRules()
    characters: Characters | None = None
    token_options: Mapping[str, TokenOptions] = field(default_factory=dict)
    template: Template | None = None
    files: Mapping[str, bytes] = field(default_factory=dict)
    model: WordPieceModel | UnigramModel | None = None

    def __post_init__(self) -> None:
        """Keep mappings as ones that nobody can write to; refuse ids that are too far apart."""
        if not isinstance(self.vocab, Vocab):
            object.__setattr__(self, "vocab", Vocab(self.vocab))
        for name in ("special_tokens", "added_tokens", "token_options", "files"):
            object.__setattr__(self, name, MappingProxyType(dict(getattr(self, name))))
        _check_holes(self)

    @property
    def vocab_size(self) -> int:
        """The highest id plus one."""
        return 1 + max((*self.vocab, *_byte_ids(self), *self.special_tokens.values(), *self.added_tokens.values()))

    def __reduce__(self) -> tuple[type[TokenizerSpec], tuple[Any, ...]]:
        values = (getattr(self, row.name) for row in fields(self))
        return type(self), tuple(dict(value) if isinstance(value, MappingProxyType) else value for value in values)


def make_spec(
    vocab: Mapping[int, bytes],
    merges: Iterable[tuple[bytes, bytes]] | None,
    *,
    pattern: Pattern,
    special_tokens: Mapping[str, int] | None = None,
    added_tokens: Mapping[str, int] | None = None,
    whole_pretokens: bool = False,
    name: str | None = None,
    rules: TextRules | None = None,
    characters: Characters | None = None,
    token_options: Mapping[str, TokenOptions] | None = None,
    template: Template | None = None,
    files: Mapping[str, bytes] | None = None,
    model: WordPieceModel | UnigramModel | None = None,
) -> TokenizerSpec:
    """Check a vocabulary and return its spec.

    A special or added token may be in `vocab` too, under the same id.  It is no ordinary token then, unless merges of
    characters make it, it is a single character, or it is a word of a WordPiece model, which finds the word wherever
    the token was not matched.  With a `model` there are no merges.

    Raises `VocabularyError` on an id out of range, two ids of one token or two tokens of one id, a single
    byte without a token, and a merge whose parts or result have no id; `TypeError` on ids that are no int,
    tokens that are no bytes, and special tokens that are no str.
    """
    if not isinstance(vocab, Mapping):
        raise TypeError(f"a vocabulary maps int to bytes; it is not {type(vocab).__name__}")
    for tokens in (special_tokens, added_tokens):
        if tokens is not None and not isinstance(tokens, Mapping):
            raise TypeError(f"special tokens must map each text to its id, not be {type(tokens).__name__}")
    special, added = dict(special_tokens or {}), dict(added_tokens or {})
    _check_specials(special, added)
    if characters is None:
        ordinary = _without_specials(vocab, {**added, **special})
        if model is None:
            _check_bytes(ordinary)
        else:
            ordinary = vocab if isinstance(vocab, Vocab) else Vocab(vocab)
            _check_model(model, merges, ordinary, {**added, **special})
    else:
        ordinary = Vocab(vocab)
        _check_ids(ordinary, characters, {**added, **special})
        _check_characters(characters, whole_pretokens, ordinary, model)
    triples = None if merges is None else tuple(_merge_ids(merges, ordinary, characters))
    return TokenizerSpec(
        ordinary,
        triples,
        pattern,
        special,
        added,
        whole_pretokens,
        name,
        rules or TextRules(),
        characters,
        dict(token_options or {}),
        template,
        dict(files or {}),
        model,
    )


def _check_holes(spec: TokenizerSpec) -> None:
    """Refuse ids that are so far apart that tables of all ids would take gigabytes."""
    assert isinstance(spec.vocab, Vocab)
    others = (*spec.special_tokens.values(), *spec.added_tokens.values(), *_byte_ids(spec))
    highest = max((spec.vocab.id_count - 1, *others))
    tokens = len(spec.vocab) + len(others)
    most = _MOST_HOLES * tokens + _ROOM
    if highest > most:
        raise VocabularyError(f"found {tokens} tokens with ids up to {highest}; expected ids up to {most}")


def _byte_ids(spec: TokenizerSpec) -> tuple[int, ...]:
    """Return the ids of the tokens of bytes, where these are apart from the vocabulary."""
    return () if spec.characters is None else spec.characters.byte_ids


def _check_model(
    model: WordPieceModel | UnigramModel,
    merges: Iterable[tuple[bytes, bytes]] | None,
    ordinary: Vocab,
    specials: Mapping[str, int],
) -> None:
    """Refuse what does not fit a model of characters."""
    if merges is not None:
        raise VocabularyError(f"{type(model).__name__} has no merges; expected None")
    for token_id, token in ordinary.items():
        try:
            token.decode("utf-8")
        except UnicodeDecodeError:
            raise VocabularyError(f"token {token!r} (id {token_id}) is no UTF-8; expected text") from None
    if isinstance(model, UnigramModel):
        raise VocabularyError("a Unigram vocabulary is one of characters; expected `characters`")
    if model.unknown not in ordinary and model.unknown not in specials.values():
        raise VocabularyError(f"the unknown token has id {model.unknown}, which no token has")


def _check_scores(model: UnigramModel, ordinary: Vocab) -> None:
    """Refuse tokens without a finite score."""
    for token_id, token in ordinary.items():
        if token_id >= len(model.scores) or not math.isfinite(model.scores[token_id]):
            raise VocabularyError(f"token {token!r} (id {token_id}) has no finite score; expected one for each token")


def _check_ids(ordinary: Vocab, characters: Characters, specials: Mapping[str, int]) -> None:
    """Refuse ids that a vocabulary of characters has for two things."""
    byte_of = {token_id: byte for byte, token_id in enumerate(characters.byte_ids)}
    for token_id, byte in byte_of.items():
        if token_id in ordinary:
            raise VocabularyError(f"byte 0x{byte:02X} and token {ordinary[token_id]!r} have the same id {token_id}")
    for text, token_id in specials.items():
        token = text.replace(BLANK, " ") if characters.marks_blanks else text
        if token_id in byte_of or ordinary.get(token_id, token.encode()) != token.encode():
            other = ordinary.get(token_id, f"<0x{byte_of.get(token_id, 0):02X}>")
            raise VocabularyError(f"special token {text!r} and token {other!r} have the same id {token_id}")


def _check_characters(
    characters: Characters, whole_pretokens: bool, ordinary: Vocab, model: WordPieceModel | UnigramModel | None
) -> None:
    """Refuse scores that fit no vocabulary, and what words of marked characters cannot have."""
    if isinstance(model, UnigramModel):
        _check_scores(model, ordinary)
    if characters.marks_words and (whole_pretokens or characters.byte_ids or model is not None):
        raise VocabularyError("words of marked characters have no tokens of bytes, and are merged, never looked up")


def _check_bytes(ordinary: Vocab) -> None:
    missing = [byte for byte in range(256) if not ordinary.has_token(bytes((byte,)))]
    if missing:
        raise VocabularyError(
            f"{len(missing)} single bytes have no token, the first is 0x{missing[0]:02X}; "
            "a byte-level vocabulary has a token for each of the 256 bytes"
        )


def is_of_text(spec: TokenizerSpec) -> bool:
    """Whether tokens are text as they stand, so that nothing needs another alphabet."""
    is_of_words = spec.characters is not None and spec.characters.marks_words and not spec.characters.are_bytes
    return spec.model is not None or is_of_words


def keys_of_text(spec: TokenizerSpec) -> dict[str, int]:
    """Return all tokens of such a vocabulary as text, and their ids, in order of ids."""
    keys = {token.decode(): token_id for token_id, token in (*spec.vocab.items(), *other_tokens(spec).items())}
    return dict(sorted(keys.items(), key=lambda item: item[1]))


_CLEANUP = (
    *((f" {mark}", mark) for mark in ".?!,"),
    (" ' ", "'"),
    *((f" {ending}", ending) for ending in ("n't", "'m")),
    (" do not", " don't"),
    *((f" {ending}", ending) for ending in ("'s", "'ve", "'re")),
)


def decoded_tokens(spec: TokenizerSpec) -> tuple[Mapping[int, bytes], Mapping[int, bytes]] | None:
    """Return the ids and bytes of `spec.vocab` and of other tokens as they are written into a text.

    `None` where these are the tokens themselves.
    """
    vocab, others, characters = spec.vocab, other_tokens(spec), spec.characters
    words = _words_of(spec)
    if words is not None:
        prefix, cleanup = words
        return (
            {token_id: _word_part(token, prefix, cleanup) for token_id, token in vocab.items()},
            {token_id: _word_part(token, prefix, cleanup) for token_id, token in others.items()},
        )
    if characters is not None and characters.end_of_word:
        prefix, end = characters.prefix.encode(), characters.end_of_word.encode()
        return {token_id: _ended(token, prefix, end) for token_id, token in vocab.items()}, others
    if characters is not None and characters.unknown_text is not None and characters.unknown in others:
        return vocab, {**others, characters.unknown: characters.unknown_text.encode()}
    return None


def first_tokens(spec: TokenizerSpec) -> dict[int, bytes] | None:
    """Return all tokens as they are written at the beginning of a text; `None` where that is as within it."""
    words = _words_of(spec)
    if words is None:
        return None
    return {token_id: _clean(token, words[1]) for token_id, token in (*spec.vocab.items(), *other_tokens(spec).items())}


def _words_of(spec: TokenizerSpec) -> tuple[bytes, bool] | None:
    """Return the prefix of what continues a word, and whether text is cleaned up; `None` where no blank is put in."""
    if isinstance(spec.model, WordPieceModel):
        return spec.model.prefix.encode(), spec.model.cleanup
    characters = spec.characters
    if characters is not None and characters.prefix and not characters.end_of_word:
        return characters.prefix.encode(), characters.cleanup
    return None


def _ended(token: bytes, prefix: bytes, end: bytes) -> bytes:
    token = token.removeprefix(prefix)
    return token[: -len(end)] + b" " if token.endswith(end) else token


def _word_part(token: bytes, prefix: bytes, cleanup: bool) -> bytes:
    return _clean(token[len(prefix) :] if prefix and token.startswith(prefix) else b" " + token, cleanup)


def _clean(part: bytes, cleanup: bool) -> bytes:
    if cleanup:
        for found, written in _CLEANUP:
            part = part.replace(found.encode(), written.encode())
    return part


def other_tokens(spec: TokenizerSpec) -> dict[int, bytes]:
    """Return the ids and bytes of the tokens that are not in `spec.vocab`: of bytes, special and added ones."""
    others = {token_id: bytes((byte,)) for byte, token_id in enumerate(_byte_ids(spec))}
    for text, token_id in (*spec.special_tokens.items(), *spec.added_tokens.items()):
        if token_id not in spec.vocab:
            others[token_id] = text.encode("utf-8", "surrogatepass")
    return others


def vocab_of_ranks(ranks: Mapping[bytes, int]) -> dict[int, bytes]:
    """Turn tokens to ranks into ids to tokens; `VocabularyError` when two tokens have one rank."""
    vocab: dict[int, bytes] = {}
    for token, rank in ranks.items():
        if vocab.setdefault(rank, token) != token:
            raise VocabularyError(f"tokens {vocab[rank]!r} and {token!r} have the same rank {rank}; expected one each")
    return vocab


def _without_specials(vocab: Mapping[int, bytes], specials: Mapping[str, int]) -> Vocab:
    shared = set()
    for text, token_id in specials.items():
        token = vocab.get(token_id)
        if token is None:
            continue
        if token != text.encode("utf-8", "surrogatepass"):
            raise VocabularyError(f"special token {text!r} and token {token!r} have the same id {token_id}")
        shared.add(token_id)
    if shared:
        vocab = {token_id: token for token_id, token in vocab.items() if token_id not in shared}
    return vocab if isinstance(vocab, Vocab) else Vocab(vocab)


def _check_specials(special: Mapping[str, int], added: Mapping[str, int]) -> None:
    owner: dict[int, str] = {}
    for text, token_id in (*special.items(), *added.items()):
        if not isinstance(text, str) or type(token_id) is not int:
            raise TypeError(f"special tokens must map each text to its id; found {text!r}: {token_id!r}")
        if not text:
            raise VocabularyError("a special token is the empty string; expected at least one character")
        if not 0 <= token_id <= MAX_ID:
            raise VocabularyError(f"special token {text!r} has id {token_id}; expected 0 to {MAX_ID}")
        if owner.setdefault(token_id, text) != text:
            raise VocabularyError(f"special tokens {owner[token_id]!r} and {text!r} have the same id {token_id}")
    both = special.keys() & added.keys()
    if both:
        raise VocabularyError(f"{min(both)!r} is both a special and an added token; expected one of them")


def _merge_ids(
    merges: Iterable[tuple[bytes, bytes]], vocab: Vocab, characters: Characters | None
) -> Iterable[tuple[int, int, int]]:
    prefix = b"" if characters is None else characters.prefix.encode()
    id_of = vocab.id_of
    for number, (left, right) in enumerate(merges):
        try:
            yield id_of(left), id_of(right), id_of(left + right.removeprefix(prefix) if prefix else left + right)
        except KeyError as missing:
            if not (isinstance(left, bytes) and isinstance(right, bytes)):
                raise TypeError(f"merge {number} is of {left!r} and {right!r}; expected bytes") from None
            raise VocabularyError(
                f"merge {number} of {left!r} and {right!r}: {missing.args[0]!r} has no id; "
                "expected both parts and the result in the vocabulary"
            ) from None
