"""For how much text each token of a vocabulary stands, and which blanks at its ends do not count."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TypeAlias

from ..core.model import Model
from ..core.places import VARIES, PlaceTrims, TokenLengths
from ..core.wordpiece import WordPiece
from ..lazy import np, npt
from ..spec.models import UnigramModel, Vocab, WordLevelModel, WordPieceModel
from ..spec.rules import Characters
from ..spec.spec import TokenizerSpec, other_tokens
from ..text import WHITE_SPACE, bytes_to_alphabet

Spans: TypeAlias = "npt.NDArray[np.int64]"
#: What begins and ends tokens and is trimmed: white space, and GPT-2's alphabet for a blank.
_BLANKS = WHITE_SPACE + bytes_to_alphabet(b" ")


def place_trims(spec: TokenizerSpec, keys: Mapping[str, int]) -> PlaceTrims:
    """Return how the places of a spec that trims them are trimmed; `keys` are the tokens in files."""
    blanks = np.zeros((spec.vocab_size, 2), np.uint32)
    for key, token_id in keys.items():
        if key and (key[0] in _BLANKS or key[-1] in _BLANKS):
            blanks[token_id] = len(key) - len(key.lstrip(_BLANKS)), len(key) - len(key.rstrip(_BLANKS))
    is_added = np.zeros(spec.vocab_size, np.uint8)
    is_added[[*spec.special_tokens.values(), *spec.added_tokens.values()]] = 1
    if isinstance(spec.model, UnigramModel) and spec.characters is not None and spec.characters.unknown is not None:
        is_added[spec.characters.unknown] = 1  # for HF its text is that which it stands for
    return PlaceTrims(blanks, [trim.keeps_first for trim in spec.trims], is_added)


def token_lengths(spec: TokenizerSpec) -> npt.NDArray[np.uint32]:
    """Return how many bytes each token has, uint32[spec.vocab_size], or of one 0 for a spec without tokens."""
    lengths = np.zeros(max(spec.vocab_size, 1), np.uint32)
    assert isinstance(spec.vocab, Vocab)
    own = spec.vocab.lengths()
    lengths[: len(own)] = own
    for token_id, token in other_tokens(spec).items():
        lengths[token_id] = len(token)
    return lengths


def lengths_of(spec: TokenizerSpec, made: Model) -> TokenLengths:
    """Return for how many bytes of normalized text each id stands."""
    inside = token_lengths(spec)
    first = inside.copy()
    bert = made if isinstance(made, WordPiece) and made.is_bert else None
    match spec.model, spec.characters:
        case WordLevelModel(unknown), _:
            _set_varying(unknown, first)
            return TokenLengths(first, first, whole=True, bert=bert, extents=_extents(spec, first))
        case WordPieceModel(unknown, prefix), _:
            _shorten(inside, spec, prefix, "")
            if bert is not None:
                _set_varying(unknown, inside)
                return TokenLengths(inside, inside, whole=True, bert=bert, extents=_sizes(inside))
            _set_varying(unknown, first)
            text = None if unknown is None else spec.vocab.get(unknown)  # a special token is not in texts
            return TokenLengths(first, inside, whole=True, unknown=text)
        case _, None:
            return TokenLengths(inside, inside, extents=_extents(spec, inside))
        case model, characters if characters.byte_ids:
            return TokenLengths(inside, inside, extents=_extents(spec, inside))
        case model, characters:
            _shorten(inside, spec, characters.prefix, characters.end_of_word)
            _shorten(first, spec, "", characters.end_of_word)
            _set_varying(characters.unknown, first, inside)
            if model is None and characters.unknown is not None:  # which comes after the bytes of what follows it
                inside[[token_id for _, token_id in characters.some_byte_ids]] = 0
                first[[token_id for _, token_id in characters.some_byte_ids]] = 0
            is_marked = characters.prefix or characters.end_of_word
            return TokenLengths(
                first,
                inside,
                fuses=characters.fuse_unknown or isinstance(model, UnigramModel),
                drops=characters.unknown is None,
                of_bytes=characters.are_bytes,
                known=_known(spec, characters),
                extents=None if is_marked or characters.unknown is None else _extents(spec, inside),
            )


def _extents(spec: TokenizerSpec, lengths: npt.NDArray[np.uint32]) -> npt.NDArray[np.uint8]:
    """Return what tokens of these lengths stand for, uint8[n, 2]: 0 for long ones and those of other lengths."""
    result = np.zeros((len(lengths), 2), np.uint8)
    own = spec.vocab.extents() if isinstance(spec.vocab, Vocab) else result
    result[: len(own)] = own
    for token_id, token in other_tokens(spec).items():
        is_within = bool(token) and token[0] & 0xC0 == 0x80
        heads = sum(byte & 0xC0 != 0x80 for byte in token)
        result[token_id] = (len(token), heads | is_within << 7) if len(token) < 128 else 0
    result[result[:, 0] != lengths] = 0
    return result


def _sizes(lengths: npt.NDArray[np.uint32]) -> npt.NDArray[np.uint8]:
    """Return the lengths that are short as extents, uint8[n, 2]."""
    result = np.zeros((len(lengths), 2), np.uint8)
    result[:, 0] = np.where(lengths < 128, lengths, 0)
    return result


def _set_varying(unknown: int | None, *lengths: npt.NDArray[np.uint32]) -> None:
    for each in lengths:
        if unknown is not None:
            each[unknown] = VARIES


def _shorten(lengths: npt.NDArray[np.uint32], spec: TokenizerSpec, prefix: str, end: str) -> None:
    """Subtract the marks of tokens, which the text does not have."""
    front, back = prefix.encode(), end.encode()
    if not front and not back:
        return
    for token_id, token in spec.vocab.items():
        begins, ends = token.startswith(front), bool(back) and token.endswith(back)
        lengths[token_id] = len(token) - begins * len(front) - ends * len(back)


def _known(spec: TokenizerSpec, characters: Characters) -> list[bytes]:
    """Return the characters, or bytes, that have a token, one bit each, by the position in a pretoken."""
    marks = [(front, back) for back in ("", characters.end_of_word) for front in (characters.prefix, "")]
    by_marks = {pair: _known_between(spec, characters, *map(str.encode, pair)) for pair in dict.fromkeys(marks)}
    return [by_marks[pair] for pair in marks]


def _spelled(characters: Characters) -> npt.NDArray[np.uint8]:
    """Return 1 by code point for the characters of which all bytes have a token."""
    has_token = np.zeros(256, np.uint8)
    has_token[[byte for byte, _ in characters.some_byte_ids]] = 1
    points = np.arange(0x110000)
    tails = [has_token[0x80 | points >> shift & 0x3F] for shift in (0, 6, 12)]
    heads = ((0xC0, 6), (0xE0, 12), (0xF0, 18))
    two, three, four = (has_token[(head | points >> shift) & 0xFF] for head, shift in heads)
    three, four = three & tails[0] & tails[1], four & tails[0] & tails[1] & tails[2]
    choices = [has_token[points & 0xFF], two & tails[0], three]
    return np.select([points < 0x80, points < 0x800, points < 0x10000], choices, four)


def _known_between(spec: TokenizerSpec, characters: Characters, front: bytes, back: bytes) -> bytes:
    known = np.zeros(0x110000, np.uint8)
    unused = frozenset(characters.unused)
    for token_id, token in spec.vocab.items():
        if token_id in unused:
            continue
        symbol = token[len(front) : len(token) - len(back)]
        if not symbol or len(symbol) > 4 or not (token.startswith(front) and token.endswith(back)):
            continue
        if characters.are_bytes:
            known[symbol[0]] |= len(symbol) == 1
        elif len(text := symbol.decode("utf-8", "replace")) == 1:
            known[ord(text)] = 1
    if characters.some_byte_ids and spec.model is None:  # Unigram has one unknown token for a run with such characters
        known |= _spelled(characters)
    return np.packbits(known, bitorder="little").tobytes()
