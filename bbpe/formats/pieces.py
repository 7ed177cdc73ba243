"""SentencePiece's pieces, from whichever file: rows of text, score and type, and flags, as a spec, and back.

Its symbols are characters.  In BPE any two neighbours merge whose concatenation is a piece, the highest score first; in
Unigram the pieces are taken whose scores sum up highest.  What is no piece becomes the tokens of its bytes, or unknown.
Control symbols are special tokens here; user-defined ones are added tokens of BPE, found in the text as normalised, and
pieces of Unigram that score by their length.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from ..errors import VocabularyError
from ..files import StrPath
from ..pipeline.charsmap import check_charsmap
from ..spec.characters import CharacterModel, ordered_by_score
from ..spec.models import UnigramModel
from ..spec.rules import (
    ALL_BLANKS,
    BLANK,
    BYTE_KEYS,
    Characters,
    Charsmap,
    Normalizer,
    Prepend,
    Replace,
    SqueezeBlanks,
    Template,
    TokenOptions,
)
from ..spec.spec import TextRules, TokenizerSpec, make_spec
from ..splitting.patterns import PATTERNS, Pattern, get_pattern
from .character_keys import key_of

#: The types of pieces, in models and in GGUF files.
NORMAL, UNKNOWN, CONTROL, USER_DEFINED, UNUSED, BYTE = range(1, 7)
#: What SentencePiece writes for the unknown piece by default.
UNKNOWN_TEXT = " \u2047 "
_LONGEST_PIECE = 1024  # pieces are words
_MOST_PADDING = 1 << 16
_PADDING = re.compile(r"\[PAD\d+\]")
_MARK = Replace(" ", False, BLANK)


class Piece(NamedTuple):
    """A row: what it says, with U+2581 for blanks, its score, and its type."""

    text: str
    score: float
    kind: int


@dataclass(frozen=True)
class PieceModel:
    """All pieces in order of ids, and what happens to a text before they are looked for.

    `byte_fallback`: what is no piece becomes the pieces of its bytes.  `charsmap`: a compiled table of normalisation,
    or empty.  `is_padded`: unused pieces called `[PADn]` fill ids, and are left out.  `unknown_text`: what decoding
    writes for the unknown piece.
    """

    pieces: Sequence[Piece]
    is_bpe: bool
    byte_fallback: bool
    add_dummy_prefix: bool
    remove_extra_whitespaces: bool
    charsmap: bytes = b""
    is_padded: bool = False
    unknown_text: str = UNKNOWN_TEXT


def spec_of(
    model: PieceModel,
    *,
    place: Callable[[int], str],
    pattern: str | Sequence[str] | Pattern | None = None,
    special_tokens: Mapping[str, int] | None = None,
    name: str | None = None,
    template: Template | None = None,
) -> TokenizerSpec:
    """Return the spec of a model; `place` says where the piece of an id stands in its file.

    `pattern` cuts the text before it is encoded, which such models do not; `special_tokens` replaces control symbols.

    Raises `VocabularyError` with the piece on what is broken or not supported, by name.
    """
    pieces = _Pieces(model, place)
    return make_spec(
        pieces.vocab,
        _merges(pieces) if model.is_bpe else [],
        pattern=PATTERNS["none"] if pattern is None else get_pattern(pattern),
        special_tokens=pieces.special if special_tokens is None else special_tokens,
        added_tokens=pieces.user_defined,
        name=name,
        rules=TextRules(_normalizers(model, pieces.kept), strip_blanks=_strips(model)),
        characters=pieces.characters(),
        token_options={text: TokenOptions(normalized=True, verbatim=True) for text in pieces.user_defined},
        template=template,
        model=None if model.is_bpe else _unigram(pieces),
    )


class _Pieces:
    """The pieces of a model by what they are."""

    def __init__(self, model: PieceModel, place: Callable[[int], str]) -> None:
        self.vocab: dict[int, bytes] = {}
        self.scores: dict[int, float] = {}
        self.special: dict[str, int] = {}
        self.user_defined: dict[str, int] = {}
        self.kept: list[str] = []
        self.unknown: int | None = None
        self.byte_ids: tuple[int, ...] = ()
        self.is_bpe, self.is_padded, self.unknown_text = model.is_bpe, model.is_padded, model.unknown_text
        self.by_length: list[int] = []
        #: The highest id that is no padding, plus one.
        self.count = 0
        found: dict[str, int] = {}
        for token_id, piece in enumerate(model.pieces):
            if not piece.text or piece.text in found:
                problem = f"{piece.text!r} is empty or stands twice; expected each piece once"
                raise VocabularyError(problem, place=place(token_id))
            found[piece.text] = token_id
            self._add(token_id, piece, place)
        bytes_found = [key for key in BYTE_KEYS if key in found and model.pieces[found[key]].kind == BYTE]
        if model.byte_fallback and len(bytes_found) < 256:
            raise VocabularyError(f"byte_fallback is set and {len(bytes_found)} bytes have pieces; expected all 256")
        if self.unknown is None:
            raise VocabularyError("no piece has the type UNKNOWN; expected one")
        if model.byte_fallback:
            self.byte_ids = tuple(found[key] for key in BYTE_KEYS)

    def _add(self, token_id: int, piece: Piece, place: Callable[[int], str]) -> None:
        text, _, kind = piece
        if kind == UNUSED and self.is_padded and _PADDING.fullmatch(text):
            return
        self.count = token_id + 1
        problem = self._problem_of(piece)
        if problem:
            raise VocabularyError(problem, place=place(token_id))
        if kind == UNKNOWN:
            self.unknown = self.special[text] = token_id
        elif kind == CONTROL:
            self.special[text] = token_id
        elif kind == USER_DEFINED:
            self.kept.append(text)
        if kind == USER_DEFINED and self.is_bpe:
            self.user_defined[text.replace(BLANK, " ")] = token_id
        elif kind in (NORMAL, USER_DEFINED):
            self.vocab[token_id] = text.replace(BLANK, " ").encode()
            self.scores[token_id] = piece.score
            if kind == USER_DEFINED:
                self.by_length.append(token_id)

    def _problem_of(self, piece: Piece) -> str:
        """Return what is wrong with a piece, or nothing."""
        text, score, kind = piece
        if len(text) > _LONGEST_PIECE:
            return f"it has {len(text)} characters; expected at most {_LONGEST_PIECE}"
        if kind == NORMAL and " " in text:
            return f"{text!r} holds a blank; expected U+2581 for each"
        if kind == NORMAL and math.isnan(score):
            return f"the score of {text!r} is no number"
        if kind == UNKNOWN and self.unknown is not None:
            return f"{text!r} is the second piece of the type UNKNOWN; expected one"
        if kind == CONTROL and len(text) == 1:
            return f"the control symbol {text!r} is one character, which is not supported"
        if kind == BYTE and text not in BYTE_KEYS:
            return f"{text!r} has the type BYTE; expected <0x00> to <0xFF>"
        if kind == UNUSED:
            return f"{text!r} has the type UNUSED, which is not supported"
        return "" if NORMAL <= kind <= BYTE else f"{text!r} has the type {kind}; expected {NORMAL} to {BYTE}"

    def characters(self) -> Characters:
        """Return what the model has beside its pieces of text."""
        # a text that is the piece's own needs no rule
        text = None if self.special.get(self.unknown_text) == self.unknown else self.unknown_text
        return Characters(self.byte_ids, self.unknown, True, True, unknown_text=text)


def _merges(pieces: _Pieces) -> list[tuple[bytes, bytes]]:
    """Return the merges that happen when any two neighbours merge whose concatenation is a piece."""
    order = _in_order(pieces)
    texts = [token.decode() for token in pieces.vocab.values()]
    singles = {text for text in texts if len(text) == 1}
    for text in texts:
        if len(text) > 1 and not singles.issuperset(text):
            # SentencePiece would join what is no piece
            char = next(char for char in text if char not in singles).replace(" ", BLANK)
            problem = f"{text.replace(' ', BLANK)!r} is a piece, and its character {char!r} is none"
            raise VocabularyError(f"{problem}, which is not supported")
    merges = CharacterModel(pieces.vocab, pieces.characters(), order).merges_by_rank()
    return [(pieces.vocab[left], pieces.vocab[right]) for left, right, _ in merges]


def _unigram(pieces: _Pieces) -> UnigramModel:
    if pieces.byte_ids and b" " not in pieces.vocab.values():
        # its three bytes would be three tokens of what is one blank here
        raise VocabularyError("byte_fallback is set and U+2581 alone is no piece, which is not supported")
    scores = tuple(pieces.scores.get(token_id, 0.0) for token_id in range(pieces.count))
    return UnigramModel(scores, True, tuple(pieces.by_length))


def _in_order(pieces: _Pieces) -> list[int]:
    """Return the pieces of several characters, the first to merge first."""
    rows = [(pieces.scores[token_id], token_id, token) for token_id, token in pieces.vocab.items()]
    try:
        return ordered_by_score([row for row in rows if len(row[2].decode()) > 1])
    except ValueError as error:
        raise VocabularyError(str(error)) from None


def _normalizers(model: PieceModel, kept: Sequence[str]) -> tuple[Normalizer, ...]:
    """Return the rules of a model; user-defined symbols are `kept` as they are in the text given."""
    rules: list[Normalizer] = []
    prefix = BLANK if model.add_dummy_prefix else ""
    if model.charsmap:
        check_charsmap(model.charsmap)
        rules.append(Charsmap(model.charsmap, tuple(kept), "" if model.remove_extra_whitespaces else prefix))
    if model.remove_extra_whitespaces:
        blank = next((text for text in kept if " " in text or BLANK in text), None)
        if blank is not None:
            raise VocabularyError(
                f"user-defined symbol {blank!r} holds a blank and remove_extra_whitespaces is true, which together are "
                "not supported"
            )
        rules.append(SqueezeBlanks())
    if prefix and (model.remove_extra_whitespaces or not model.charsmap):
        rules.append(Prepend(prefix))
    return (*rules, _MARK)


def _strips(model: PieceModel) -> int:
    return ALL_BLANKS if model.remove_extra_whitespaces else int(model.add_dummy_prefix)


def pieces_of(spec: TokenizerSpec, path: StrPath, *, pads: bool = False) -> PieceModel:
    """Return the model that has a spec's ids; `pads` fills holes between ids.

    Raises `VocabularyError` on what pieces cannot say: symbols that are bytes, splits, rules of other kinds, holes
    between ids, merges that are not all those that the pieces allow, sums of scores that are not SentencePiece's.
    """
    characters = spec.characters
    if characters is None or not characters.marks_blanks:
        raise VocabularyError("its symbols are not characters with U+2581 for blanks; write tokenizer.json", path=path)
    table, squeezes, prepends = _rules_of(spec, path)
    if isinstance(spec.model, UnigramModel):
        if not spec.model.is_float:
            problem = "its scores are summed up as HF's tokenizers does, which may give other ids; write tokenizer.json"
            raise VocabularyError(problem, path=path)
    else:
        _check_merges(spec, characters, path)
    rows = _rows(spec, characters)
    if pads:
        pieces = padded(rows, spec.vocab_size, path)
    else:
        if sorted(rows) != list(range(len(rows))):
            problem = "ids have holes; a SentencePiece model numbers its pieces from 0; write tokenizer.json"
            raise VocabularyError(problem, path=path)
        pieces = [rows[token_id] for token_id in range(len(rows))]
    if characters.unknown not in rows:
        raise VocabularyError("there is no unknown token, which SentencePiece always has", path=path)
    text = rows[characters.unknown].text if characters.unknown_text is None else characters.unknown_text
    return PieceModel(pieces, spec.model is None, bool(characters.byte_ids), prepends, squeezes, table, pads, text)


def padded(rows: Mapping[int, Piece], size: int, path: StrPath) -> list[Piece]:
    """Return pieces for all ids: those that there are, and between them unused ones, `[PADn]`."""
    if size > 2 * len(rows) + _MOST_PADDING:
        problem = f"{len(rows)} tokens have ids up to {size - 1}; GGUF has a token for each id"
        raise VocabularyError(f"{problem}. Write tokenizer.json", path=path)
    pieces = [rows.get(token_id) or Piece(f"[PAD{token_id}]", 0.0, UNUSED) for token_id in range(size)]
    if len({piece.text for piece in pieces}) < len(pieces):
        raise VocabularyError("a token is called like the padding of another id; write tokenizer.json", path=path)
    return pieces


def _rules_of(spec: TokenizerSpec, path: StrPath) -> tuple[bytes, bool, bool]:
    """Return the table, whether blanks are squeezed and whether one is put in front."""
    left = list(spec.rules.normalizers)
    table = left.pop(0) if left and isinstance(left[0], Charsmap) else Charsmap(b"")
    assert isinstance(table, Charsmap)
    squeezes, prepends = SqueezeBlanks() in left, Prepend(BLANK) in left
    expected = [*([SqueezeBlanks()] if squeezes else []), *([Prepend(BLANK)] if prepends else []), _MARK]
    others = spec.rules.prefix or spec.rules.pre_tokenizers or spec.pattern != PATTERNS["none"] or spec.whole_pretokens
    verbatim = TokenOptions(normalized=True, verbatim=True)
    options = {spec.token_options.get(text) for text in spec.added_tokens} | {
        spec.token_options.get(text, verbatim) for text in spec.special_tokens
    }
    if left != expected or table.prefix not in ("", BLANK) or others or options - {verbatim}:
        raise VocabularyError(
            "a SentencePiece model has no place for its normalizers, splits or options of tokens; write tokenizer.json",
            path=path,
        )
    return table.data, squeezes, prepends or bool(table.prefix)


def _rows(spec: TokenizerSpec, characters: Characters) -> dict[int, Piece]:
    """Return the pieces by id."""
    rows: dict[int, Piece] = {}
    if isinstance(spec.model, UnigramModel):
        for token_id, token in spec.vocab.items():
            kind = USER_DEFINED if token_id in spec.model.user_defined else NORMAL
            rows[token_id] = Piece(key_of(token, characters), spec.model.scores[token_id], kind)
    else:
        rank = {made: number for number, (_, _, made) in enumerate(spec.merges or ())}
        for token_id, token in spec.vocab.items():
            score = -float(rank.get(token_id, len(rank) + token_id))
            rows[token_id] = Piece(key_of(token, characters), score, NORMAL)
    bytes_of = zip(characters.byte_ids, BYTE_KEYS, strict=False)
    rows.update({token_id: Piece(key, 0.0, BYTE) for token_id, key in bytes_of})
    added = {token_id: text.replace(" ", BLANK) for text, token_id in spec.added_tokens.items()}
    rows.update({token_id: Piece(text, 0.0, USER_DEFINED) for token_id, text in added.items()})
    for text, token_id in spec.special_tokens.items():
        rows[token_id] = Piece(text, 0.0, UNKNOWN if token_id == characters.unknown else CONTROL)
    return rows


def _check_merges(spec: TokenizerSpec, characters: Characters, path: StrPath) -> None:
    """Refuse merges that are not those of any two neighbours whose concatenation is a token."""
    order = list(dict.fromkeys(made for _, _, made in spec.merges or ()))
    several = [token_id for token_id, token in spec.vocab.items() if len(token.decode()) > 1]
    order += sorted(set(several).difference(order))
    model = CharacterModel(spec.vocab, characters, order)
    # with a part that nothing makes a merge never happens, listed or not
    if model.live_merges(model.merges_by_rank()) != model.live_merges(spec.merges or ()):
        raise VocabularyError(
            "its list of merges differs from all merges that its tokens allow, which is what a SentencePiece model "
            "does; write tokenizer.json",
            path=path,
        )
