"""The complete definition of a tokenizer as plain data; every file format reads and writes it."""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Mapping, Sequence
from operator import index
from types import MappingProxyType
from typing import Any

from ..core.token_table import MAX_ID
from ..errors import VocabularyError
from ..records import dataclass, field, kind, replace
from ..splitting.patterns import Pattern
from ..text import alphabet_to_bytes, bytes_to_alphabet, counted
from .decoders import UNMARK, Blanks, BPEDecoder, ByteFallback, ByteLevel, DecoderStep, Fuse, Strip, WordPiece
from .models import (
    LongestMatchModel,
    Merge,
    Merges,
    OtherModel,
    SymbolModel,
    UnigramModel,
    Vocab,
    WordLevelModel,
    WordPieceModel,
)
from .rules import (
    SPACE_MARK,
    Characters,
    LeadingCodes,
    Normalizer,
    Prefix,
    PreTokenizer,
    Replace,
    RowPadding,
    RowTruncation,
    Template,
    TokenOptions,
    TrimOffsets,
)

# the highest id may be at most _IDS_PER_TOKEN for each token, plus _FREE_IDS
_IDS_PER_TOKEN, _FREE_IDS = 16, 1 << 21

__all__ = ["MAX_ID", "TextRules", "TokenizerSpec", "make_spec", "vocab_of_ranks"]


@dataclass(frozen=True)
class TextRules:
    """The rules that change a text before the model.

    `normalizers` apply first, then `prefix` to each piece between special tokens.  If there are `pre_tokenizers`, they
    split the text instead of the pattern.  `codes` come before all of these.
    """

    normalizers: tuple[Normalizer, ...] = ()
    prefix: Prefix | None = None
    pre_tokenizers: tuple[PreTokenizer, ...] = ()
    codes: LeadingCodes | None = field(default=None, repr=False)


@dataclass(frozen=True)
class TokenizerSpec:
    """The definition of a tokenizer.

    `vocab` maps ids to the bytes of ordinary tokens.  `merges` has `(left id, right id, id)` in order of priority
    ("merge-list mode", HF); `None` means that any two neighbours merge whose concatenation is a token, the lowest id
    first ("rank mode", tiktoken).  With `whole_pretokens`, a pretoken that is a token becomes that token, whether or
    not merges would build it.  `special_tokens` follow the policy of each call; `added_tokens` always match.
    `token_options` has the tokens that are not matched exactly as written.

    `characters`: symbols are characters, not bytes, and `vocab` does not have the byte tokens.  `template` has the ids
    that a call can ask for around the ids of a text.  `files` has other files of the tokenizer, by name; saving writes
    them again.  `model`: `None` is BPE; any other model has no merges, and its tokens are of characters, not of bytes.
    `decoder` has the steps that turn tokens back into text; without any, it gets those that reverse the model.
    `padding` and `truncation` are defaults for rows of equal length.  `merge_levels`: for each merge a number no lower
    than the one before; merges of one level apply from left to right (SentencePiece).  Empty: all levels differ.
    `trims` change the places of ids, in order.  `dropout` is that of the file; only calls that give one drop merges.
    `names` has the texts of tokens by their uses ("bos", "pad") where the files alone do not name them.  `modelled` has
    the ids of tokens outside `vocab` that the model of the file has too: it makes them of texts that rules have
    changed, where a call looks for these tokens (`with_modelled`).  `notes` say where two libraries read the files
    differently, and which one is followed; they do not make specs differ.
    """

    vocab: Mapping[int, bytes]
    merges: Sequence[Merge] | None
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
    model: OtherModel | None = None
    decoder: tuple[DecoderStep, ...] = ()
    padding: RowPadding | None = None
    truncation: RowTruncation | None = None
    merge_levels: tuple[int, ...] = ()
    trims: tuple[TrimOffsets, ...] = ()
    dropout: float = 0.0
    names: Mapping[str, str] = field(default_factory=dict)
    modelled: tuple[int, ...] = ()
    notes: tuple[str, ...] = field(default=(), compare=False)

    def __post_init__(self) -> None:
        """Make the mappings immutable, choose the decoder, and refuse ids that are too high."""
        if not self.decoder:
            object.__setattr__(self, "decoder", usual_decoder(self.characters, self.model))
        if not isinstance(self.vocab, Vocab):
            object.__setattr__(self, "vocab", Vocab(self.vocab))
        if self.merges is not None and not isinstance(self.merges, Merges):
            object.__setattr__(self, "merges", Merges(self.merges))
        for name in ("special_tokens", "added_tokens", "token_options", "files", "names"):
            object.__setattr__(self, name, MappingProxyType(dict(getattr(self, name))))
        _check_highest(self)

    @property
    def vocab_size(self) -> int:
        """The highest id plus one."""
        assert isinstance(self.vocab, Vocab)
        others = (*byte_tokens(self), *self.special_tokens.values(), *self.added_tokens.values())
        return max(self.vocab.id_count, 1 + max(others, default=-1))

    def __reduce__(self) -> tuple[type[TokenizerSpec], tuple[Any, ...]]:
        values = (getattr(self, name) for name in self.__match_args__)
        return type(self), tuple(dict(value) if isinstance(value, MappingProxyType) else value for value in values)


def make_spec(
    vocab: Mapping[int, bytes],
    merges: Iterable[tuple[bytes, bytes]] | Merges | None,
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
    model: OtherModel | None = None,
    decoder: tuple[DecoderStep, ...] = (),
    merge_levels: tuple[int, ...] = (),
) -> TokenizerSpec:
    """Check a vocabulary and return its spec.  `merges` are pairs of tokens, or ids that are known to fit.

    A special or added token may also be in `vocab` under the same id.  It stays an ordinary token if merges or words
    may make it where it was not found as a special token; a byte-level vocabulary without such merges loses it.  With
    a `model` there are no merges.

    Raises `VocabularyError` on an id out of range, two ids of one token or two tokens of one id, a single byte
    without a token if `characters` is `None`, and a merge whose parts or result have no id.  Raises `TypeError` on an
    id that is not an int, a token that is not bytes and a special token that is not a str.
    """
    _check_mappings(vocab, special_tokens, added_tokens)
    special, added = _with_ints(special_tokens or {}), _with_ints(added_tokens or {})
    specials = {**added, **special}
    _check_specials(special, added)
    ordinary = vocab
    if not isinstance(ordinary, Vocab):
        are_ints = set(map(type, vocab)) <= {int}
        ordinary = Vocab(vocab if are_ints else {_as_int(number): token for number, token in vocab.items()})
    if characters is not None:
        _check_ids(ordinary, characters, specials)
        _check_characters(characters, whole_pretokens, ordinary, model)
    elif model is not None:
        _check_model(model, merges, ordinary, specials)
    listed = None if merges is None else _merge_ids(merges, ordinary, characters)
    if characters is None and model is None:
        ordinary = without_specials(ordinary, specials, listed)
        _check_bytes(ordinary)
    return TokenizerSpec(
        ordinary, listed, pattern, special, added, whole_pretokens, name, rules or TextRules(), characters,
        token_options or {}, template, files or {}, model, decoder, merge_levels=merge_levels,
    )  # fmt: skip


def _with_ints(tokens: Mapping[str, int]) -> dict[str, int]:
    return {text: _as_int(token_id) for text, token_id in tokens.items()}


def _as_int(token_id: Any) -> Any:
    """Return a whole number of NumPy, say, as an int, and anything else as it is."""
    return token_id if isinstance(token_id, bool) or not hasattr(token_id, "__index__") else index(token_id)


def _check_mappings(vocab: object, *specials: object) -> None:
    if not isinstance(vocab, Mapping):
        raise TypeError(f"vocab must map ids to the bytes of tokens, not be {type(vocab).__name__}")
    for tokens in specials:
        if tokens is not None and not isinstance(tokens, Mapping):
            raise TypeError(f"special_tokens must map each text to its id, not be {type(tokens).__name__}")


def _check_highest(spec: TokenizerSpec) -> None:
    """Refuse ids so sparse that tables indexed by id would take gigabytes, and ids of a template above all others."""
    assert isinstance(spec.vocab, Vocab)
    others = (*spec.special_tokens.values(), *spec.added_tokens.values(), *byte_tokens(spec))
    highest = max((spec.vocab.id_count - 1, *others))
    tokens = len(spec.vocab) + len(others)
    most = _IDS_PER_TOKEN * tokens + _FREE_IDS
    if highest > most:
        raise VocabularyError(f"found {tokens} tokens with ids up to {highest}; expected ids up to {most}")
    items = () if spec.template is None else (*spec.template.single, *spec.template.pair)
    for item, _ in items:
        if isinstance(item, int) and not 0 <= item <= highest:
            raise VocabularyError(f"the template has id {item}; expected at most {highest}, the highest id of a token")


def with_modelled(spec: TokenizerSpec, ids: Collection[int]) -> TokenizerSpec:
    """Return a spec whose model makes those of the `modelled` tokens too that are among `ids`."""
    tokens = {token_id: text for text, token_id in (*spec.special_tokens.items(), *spec.added_tokens.items())}
    vocab = dict(spec.vocab)
    for token_id in spec.modelled:
        if token_id in ids:
            vocab[token_id] = _token_of(tokens[token_id], spec)
    return replace(spec, vocab=dict(sorted(vocab.items())), modelled=())


def spec_of_symbols(spec: TokenizerSpec, model: SymbolModel) -> tuple[TokenizerSpec, dict[int, int]]:
    """Return a spec whose tokens are the symbols of a model, with ids above all others, and those they become."""
    first = spec.vocab_size
    merges = Merges((first + left, first + right, first + made) for left, right, made in model.merges)
    tokens = {first + number: text.encode() for number, text in enumerate(model.symbols.split(" "))}
    made = replace(
        spec, vocab=tokens, merges=merges, model=None, modelled=(),
        characters=Characters((), model.unknown, end_of_word=model.end_of_word),
    )  # fmt: skip
    return made, dict(enumerate(model.ids, first))


def _token_of(text: str, spec: TokenizerSpec) -> bytes:
    """Return the bytes of a token that a vocabulary in a file has under this key."""
    symbols = spec.characters
    if symbols.are_bytes if symbols is not None else spec.model is None:
        return alphabet_to_bytes(text)
    return (text.replace(SPACE_MARK, " ") if symbols is not None and symbols.marks_blanks else text).encode()


def byte_tokens(spec: TokenizerSpec) -> dict[int, int]:
    """Return the ids of byte tokens, and their bytes; a byte that is a character in `spec.vocab` may have none."""
    ids = {} if spec.characters is None else spec.characters.byte_tokens
    return {token_id: byte for byte, token_id in ids.items() if token_id not in spec.vocab}


def _check_model(
    model: OtherModel,
    merges: object,
    ordinary: Vocab,
    specials: Mapping[str, int],
) -> None:
    """Refuse merges, tokens and an unknown token that do not fit a model other than BPE."""
    if merges is not None:
        raise VocabularyError(f"found merges for {type(model).__name__}, which has none; expected None")
    if isinstance(model, LongestMatchModel):
        _check_bytes(ordinary)
        return
    for token_id, token in () if ordinary.is_text() else ordinary.items():
        try:
            token.decode("utf-8")
        except UnicodeDecodeError:
            raise VocabularyError(f"token {token!r} (id {token_id}) is not valid UTF-8; expected text") from None
    if isinstance(model, UnigramModel):
        raise VocabularyError("characters is None; expected the options of characters for a Unigram vocabulary")
    if model.unknown is not None and model.unknown not in ordinary and model.unknown not in specials.values():
        raise VocabularyError(f"the unknown token has id {model.unknown}; expected the id of a token")


def _check_scores(model: UnigramModel, ordinary: Vocab) -> None:
    """Refuse tokens without a finite score."""
    if ordinary.id_count <= len(model.scores) and all(map(math.isfinite, model.scores)):
        return
    for token_id, token in ordinary.items():
        if token_id >= len(model.scores) or not math.isfinite(model.scores[token_id]):
            raise VocabularyError(f"token {token!r} (id {token_id}) has no finite score; expected one for each token")


def _check_ids(ordinary: Vocab, characters: Characters, specials: Mapping[str, int]) -> None:
    """Refuse a vocabulary of characters that uses one id for two different tokens."""
    byte_of: dict[int, int] = {}
    for byte, token_id in characters.byte_tokens.items():
        if token_id not in ordinary:
            byte_of[token_id] = byte
        elif byte >= 0x80 or ordinary[token_id] != bytes((byte,)):
            raise VocabularyError(f"byte 0x{byte:02X} and token {ordinary[token_id]!r} have the same id {token_id}")
    for text, token_id in specials.items():
        shown = text.replace(SPACE_MARK, " ") if characters.marks_blanks else text
        token = shown.encode("utf-8", "surrogatepass")
        found = ordinary.get(token_id, token)
        is_key = characters.are_bytes and bytes_to_alphabet(found) == text
        if token_id in byte_of or not (found == token or is_key):
            other = ordinary.get(token_id, f"<0x{byte_of.get(token_id, 0):02X}>")
            raise VocabularyError(f"special token {text!r} and token {other!r} have the same id {token_id}")


def _check_characters(
    characters: Characters, whole_pretokens: bool, ordinary: Vocab, model: OtherModel | None
) -> None:
    """Refuse missing scores, and options that vocabularies with marked words cannot have."""
    if isinstance(model, UnigramModel):
        _check_scores(model, ordinary)
        if model.unnamed and characters.unknown is None:
            raise VocabularyError("found unnamed pieces without the unknown token that is written for them")
    if characters.marks_words and (characters.byte_tokens or model is not None):
        raise VocabularyError("found byte_ids or a model with end_of_word or prefix; expected neither of them")
    if characters.end_apart and not (characters.end_of_word and ordinary.has_token(characters.end_of_word.encode())):
        raise VocabularyError("found end_apart without a token of the text end_of_word; expected one")
    if characters.prefix and whole_pretokens:
        raise VocabularyError("found whole_pretokens with prefix; expected one of them")


def _check_bytes(ordinary: Vocab) -> None:
    missing = [byte for byte in range(256) if not ordinary.has_token(bytes((byte,)))]
    if missing:
        raise VocabularyError(
            f"{len(missing)} single bytes have no token, the first is 0x{missing[0]:02X}; "
            "expected a token for each of the 256 bytes in a byte-level vocabulary"
        )


def is_of_text(spec: TokenizerSpec) -> bool:
    """Return whether all tokens are text, so that files can have them without GPT-2's byte alphabet."""
    is_of_words = spec.characters is not None and spec.characters.marks_words and not spec.characters.are_bytes
    return is_of_words or not (spec.model is None or isinstance(spec.model, LongestMatchModel))


def keys_of_text(spec: TokenizerSpec) -> dict[str, int]:
    """Return the texts and ids of all tokens of a vocabulary of text (`is_of_text`), in order of ids."""
    keys = {token.decode(): token_id for token_id, token in (*spec.vocab.items(), *other_tokens(spec).items())}
    return dict(sorted(keys.items(), key=lambda item: item[1]))


def other_tokens(spec: TokenizerSpec) -> dict[int, bytes]:
    """Return the ids and bytes of the tokens that are not in `spec.vocab`: byte, special and added tokens."""
    others = {token_id: bytes((byte,)) for token_id, byte in byte_tokens(spec).items()}
    for text, token_id in (*spec.special_tokens.items(), *spec.added_tokens.items()):
        if token_id not in spec.vocab:
            others[token_id] = text.encode("utf-8", "surrogatepass")
    return others


def vocab_of_ranks(ranks: Mapping[bytes, int]) -> dict[int, bytes]:
    """Invert a mapping of tokens to ranks; `VocabularyError` when two tokens have the same rank."""
    kind("ranks", ranks, Mapping, "a mapping of tokens to ranks")
    if not set(map(type, ranks.values())) <= {int}:
        ranks = {token: _as_int(rank) for token, rank in ranks.items()}
    vocab: dict[int, bytes] = {}
    for token, rank in ranks.items():
        if vocab.setdefault(rank, token) != token:
            raise VocabularyError(f"tokens {vocab[rank]!r} and {token!r} have the same rank {rank}; expected one each")
    return vocab


def without_specials(
    vocab: Mapping[int, bytes], specials: Mapping[str, int], merges: Sequence[Merge] | None
) -> Vocab:
    """Return a byte-level vocabulary without the special tokens that no merge uses; a token of one byte stays."""
    shared = set()
    for text, token_id in specials.items():
        token = vocab.get(token_id)
        if token is None:
            continue
        if token != text.encode("utf-8", "surrogatepass") and bytes_to_alphabet(token) != text:
            raise VocabularyError(f"special token {text!r} and token {token!r} have the same id {token_id}")
        if len(token) > 1 or merges is None:
            shared.add(token_id)
    if shared and merges:
        shared -= (merges if isinstance(merges, Merges) else Merges(merges)).uses(shared)
    if shared:
        vocab = {token_id: token for token_id, token in vocab.items() if token_id not in shared}
    return vocab if isinstance(vocab, Vocab) else Vocab(vocab)


def _check_specials(special: Mapping[str, int], added: Mapping[str, int]) -> None:
    owner: dict[int, str] = {}
    for text, token_id in (*special.items(), *added.items()):
        if not isinstance(text, str) or type(token_id) is not int:
            raise TypeError(f"special_tokens must map each text to its id; found {text!r}: {token_id!r}")
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
    merges: Iterable[tuple[bytes, bytes]] | Merges, vocab: Vocab, characters: Characters | None
) -> Merges:
    if isinstance(merges, Merges):
        return merges
    if isinstance(merges, set | frozenset | str | bytes) or not isinstance(merges, Iterable):
        raise TypeError(f"merges must be pairs of tokens in the order of their ranks, not {type(merges).__name__}")
    prefix = b"" if characters is None else characters.prefix.encode()
    id_of = vocab.id_of
    found: list[Merge] = []
    for number, pair in enumerate(merges):
        kind(f"merges[{number}]", pair, Sequence, "a pair of tokens")
        if len(pair) != 2:
            raise TypeError(f"merges[{number}] has {counted(len(pair), 'part')}; expected a pair of tokens")
        left, right = pair
        try:
            made = id_of(left + right.removeprefix(prefix) if prefix else left + right)
            found.append((id_of(left), id_of(right), made))
        except KeyError as missing:
            if not (isinstance(left, bytes) and isinstance(right, bytes)):
                raise TypeError(f"merge {number} has {left!r} and {right!r}; expected bytes") from None
            raise VocabularyError(
                f"merge {number} of {left!r} and {right!r}: {missing.args[0]!r} has no id; "
                "expected both parts and the result in the vocabulary"
            ) from None
    return Merges(found)


def usual_decoder(
    characters: Characters | None, model: OtherModel | None, *, strip: int = 0
) -> tuple[DecoderStep, ...]:
    """Return the steps that reverse a model; `strip` blanks are removed from the beginning of a text."""
    if isinstance(model, WordPieceModel):
        return (WordPiece(model.prefix),)
    if isinstance(model, WordLevelModel):
        return (Blanks(),)
    if characters is None:
        return (ByteLevel(),) if model is None or isinstance(model, LongestMatchModel) else (Fuse(),)
    if characters.are_bytes:
        return (ByteLevel(characters.end_of_word),)
    if characters.end_of_word:
        dropped = (Replace(characters.prefix, False, ""),) if characters.prefix else ()
        return (*dropped, BPEDecoder(characters.end_of_word))
    if characters.prefix:
        return (WordPiece(characters.prefix, cleanup=False),)
    unmarked = (UNMARK,) if characters.marks_blanks else ()
    joined = (ByteFallback(),) if characters.byte_tokens else ()
    return (*unmarked, *joined, Fuse(), *((Strip(" ", strip, 0),) if strip else ()))
