"""The rows of SentencePiece's models and of GGUF files, text, score and type each, and those of a spec."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple, TypeAlias, overload

from ...core.piece_list import PieceList
from ...errors import VocabularyError
from ...lazy import lazy_re
from ...spec.models import UnigramModel
from ...spec.rules import BYTE_KEYS, SPACE_MARK, Characters
from ...spec.spec import TokenizerSpec
from ..common.keys import key_of

#: The types of pieces in models and in GGUF files.
NORMAL, UNKNOWN, CONTROL, USER_DEFINED, UNUSED, BYTE = range(1, 7)
_MOST_PADDING = 1 << 16
_PADDING = lazy_re(r"\[PAD\d+\]")

#: The text with U+2581 for blanks, the score and the type of a piece.
Row: TypeAlias = tuple[str, float, int]


class PieceRows(PieceList, Sequence[Row]):
    """Rows in order of ids; immutable.  Tuples are made on access, so a model loads without making 32,000 of them."""

    __slots__ = ()

    @overload
    def __getitem__(self, key: int) -> Row: ...
    @overload
    def __getitem__(self, key: slice) -> list[Row]: ...
    def __getitem__(self, key: int | slice) -> Row | list[Row]:
        return list(self)[key] if isinstance(key, slice) else PieceList.__getitem__(self, key)


class PieceRow(NamedTuple):
    """A row: its text with U+2581 for blanks, its score, and its type."""

    text: str
    score: float
    kind: int


def is_padding(text: str) -> bool:
    """Return whether a token of the type UNUSED fills a gap between ids."""
    return _PADDING.fullmatch(text) is not None


def padded(rows: Mapping[int, PieceRow], size: int) -> list[PieceRow]:
    """Return a piece for each id; gaps get unused pieces `[PADn]`."""
    if size > 2 * len(rows) + _MOST_PADDING:
        problem = f"{len(rows)} tokens have ids up to {size - 1}, but GGUF needs a token for each id"
        raise VocabularyError(f"{problem}; write tokenizer.json")
    pieces = [rows.get(token_id) or PieceRow(f"[PAD{token_id}]", 0.0, UNUSED) for token_id in range(size)]
    if len({piece.text for piece in pieces}) < len(pieces):
        raise VocabularyError("a token has the name of the padding for another id; write tokenizer.json")
    return pieces


def rows_of(spec: TokenizerSpec, characters: Characters) -> dict[int, PieceRow]:
    """Return the pieces by id; without scores in the model, these are 0, -1, -2, ... in the order of merges and ids."""
    rows: dict[int, PieceRow] = {}
    if isinstance(spec.model, UnigramModel):
        for token_id, token in spec.vocab.items():
            kind = USER_DEFINED if token_id in spec.model.user_defined else NORMAL
            rows[token_id] = PieceRow(key_of(token, characters), spec.model.scores[token_id], kind)
    else:
        levels: dict[int, int] = {}  # a piece may have several merges, which follow one another
        for (_, _, made), level in zip(spec.merges or (), _levels_of(spec), strict=True):
            levels.setdefault(made, level)
        numbers = {level: number for number, level in enumerate(sorted(set(levels.values())))}
        others = {token_id: len(numbers) + i for i, token_id in enumerate(sorted(spec.vocab.keys() - levels.keys()))}
        for token_id, token in spec.vocab.items():
            number = numbers[levels[token_id]] if token_id in levels else others[token_id]
            rows[token_id] = PieceRow(key_of(token, characters), -float(number), NORMAL)
    rows.update({token_id: rows[token_id]._replace(kind=UNUSED) for token_id in characters.unused})
    rows.update({token_id: PieceRow(BYTE_KEYS[byte], 0.0, BYTE) for byte, token_id in characters.byte_tokens.items()})
    blank = SPACE_MARK if characters.marks_blanks else " "
    added = {token_id: text.replace(" ", blank) for text, token_id in spec.added_tokens.items()}
    rows.update({token_id: PieceRow(text, 0.0, USER_DEFINED) for token_id, text in added.items()})
    for text, token_id in spec.special_tokens.items():
        # a symbol of the user with a blank is special, because no text has it
        kind = USER_DEFINED if text in spec.token_options and spec.token_options[text].verbatim else CONTROL
        rows[token_id] = PieceRow(text, 0.0, UNKNOWN if token_id == characters.unknown else kind)
    return rows


def _levels_of(spec: TokenizerSpec) -> Sequence[int]:
    return spec.merge_levels or range(len(spec.merges or ()))
