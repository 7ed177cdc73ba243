"""Convert between specs and the pieces of SentencePiece: rows of text, score and type, with flags.

The symbols are characters.  In BPE any two neighbours merge whose concatenation is a piece, the highest score first.
In Unigram the segmentation with the highest sum of scores wins.  A character without a piece becomes byte tokens or the
unknown token.  Control symbols are special tokens of the spec.  User-defined symbols are added tokens of BPE, found in
the normalized text, and pieces of Unigram that score by their length.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Literal, NamedTuple, TypeAlias

from ..errors import VocabularyError
from ..files import StrPath
from ..lazy import lazy_re
from ..records import dataclass
from ..spec.characters import CharacterModel, ordered_by_score
from ..spec.merges import Merges
from ..spec.models import UnigramModel, WordLevelModel
from ..spec.rules import (
    ALL_BLANKS,
    BYTE_KEYS,
    ESCAPED_MARK,
    SPACE_MARK,
    Append,
    Characters,
    Charsmap,
    Normalizer,
    Prepend,
    Replace,
    SqueezeBlanks,
    Template,
    TokenOptions,
)
from ..spec.spec import TextRules, TokenizerSpec, make_spec, usual_decoder
from ..spec.vocab import Vocab
from ..splitting.patterns import PATTERNS, Pattern, get_pattern
from .character_keys import key_of

#: The types of pieces in models and in GGUF files.
NORMAL, UNKNOWN, CONTROL, USER_DEFINED, UNUSED, BYTE = range(1, 7)
#: The text that SentencePiece decodes the unknown piece to by default.
UNKNOWN_TEXT = " \u2047 "
_LONGEST_PIECE = 1024  # characters
_MOST_PADDING = 1 << 16
_PADDING = lazy_re(r"\[PAD\d+\]")
_MARK = Replace(" ", False, SPACE_MARK)


#: What a model finds: pieces that merges or scores make, single characters, or whole words.
Unit: TypeAlias = Literal["piece", "character", "word"]
# a model of words splits before blanks, even if it was trained with blanks at the end of words
_WORDS = Pattern(None, (r" [^ ]*|[^ ]+",))


#: The text with U+2581 for blanks, the score and the type of a piece.
Row: TypeAlias = tuple[str, float, int]


class Piece(NamedTuple):
    """A row: its text with U+2581 for blanks, its score, and its type."""

    text: str
    score: float
    kind: int


@dataclass(frozen=True)
class PieceModel:
    """All pieces in order of ids, and the rules for texts.

    `byte_fallback`: a character without a piece becomes the pieces of its bytes.  `charsmap`: a compiled normalization
    table, or empty.  `is_padded`: unused pieces named `[PADn]` fill gaps between ids and are ignored.  `unknown_text`:
    the text that decoding writes for the unknown piece.  `is_suffix`: blanks end words, so the added blank is at the
    end of a text.  `unit`: a text is split into characters or words without merges, or merges make its pieces.
    `escapes_marks`: U+2581 in a text becomes its bytes, as only bbpe has it.
    """

    pieces: Sequence[Row]
    is_bpe: bool
    byte_fallback: bool
    add_dummy_prefix: bool
    remove_extra_whitespaces: bool
    charsmap: bytes = b""
    is_padded: bool = False
    unknown_text: str = UNKNOWN_TEXT
    is_suffix: bool = False
    unit: Unit = "piece"
    escapes_marks: bool = False


def spec_of(
    model: PieceModel,
    *,
    place: Callable[[int], str],
    pattern: str | Sequence[str] | Pattern | None = None,
    special_tokens: Mapping[str, int] | None = None,
    name: str | None = None,
    template: Template | None = None,
) -> TokenizerSpec:
    """Return the spec of a model; `place` returns the position of a piece in its file, by id.

    `pattern` splits the text before it is encoded, which such models do not do themselves.  `special_tokens` replaces
    the control symbols.

    Raises `VocabularyError` naming the piece or the flag that is broken or not supported.
    """
    of_words = model.unit == "word"
    if of_words and model.byte_fallback:
        raise VocabularyError("byte_fallback is set in a model of words, which is not supported")
    pieces = _Pieces(model, place)
    characters = pieces.characters()
    plain = _WORDS if of_words else PATTERNS["none"]
    other = WordLevelModel(pieces.unknown, True) if of_words else None if model.is_bpe else _unigram(pieces)
    merges, levels = _merges(pieces) if model.is_bpe and model.unit == "piece" else (Merges(()), ())
    return make_spec(
        pieces.vocab,
        merges,
        pattern=plain if pattern is None else get_pattern(pattern),
        special_tokens=pieces.special if special_tokens is None else special_tokens,
        added_tokens=pieces.user_defined,
        name=name,
        rules=TextRules(_normalizers(model, pieces.kept)),
        characters=characters,
        token_options={text: TokenOptions(normalized=True, verbatim=True) for text in pieces.user_defined},
        template=template,
        model=other,
        decoder=usual_decoder(characters, None, strip=_strips(model)),
        merge_levels=levels,
    )


class _Pieces:
    """The pieces of a model, sorted by their types."""

    def __init__(self, model: PieceModel, place: Callable[[int], str]) -> None:
        tokens: dict[int, bytes] = {}
        self.scores: dict[int, float] = {}
        self.special: dict[str, int] = {}
        self.user_defined: dict[str, int] = {}
        self.kept: list[str] = []
        self.unknown: int | None = None
        self.byte_ids: tuple[int, ...] = ()
        self.is_bpe, self.is_padded, self.unknown_text = model.is_bpe, model.is_padded, model.unknown_text
        self.by_length: list[int] = []
        #: The highest id that is not padding, plus one.
        self.count = 0
        found = {text: token_id for token_id, (text, _, _) in enumerate(model.pieces)}
        _check_unique(model.pieces, found, place)
        for token_id, piece in enumerate(model.pieces):
            text, score, kind = piece
            if kind == NORMAL and score == score and " " not in text and len(text) <= _LONGEST_PIECE:
                tokens[token_id], self.scores[token_id] = text.replace(SPACE_MARK, " ").encode(), score
                self.count = token_id + 1
            elif (token := self._add(token_id, piece, place)) is not None:
                tokens[token_id], self.scores[token_id] = token, score
        self.vocab = Vocab(tokens)
        bytes_found = [key for key in BYTE_KEYS if key in found and model.pieces[found[key]][2] == BYTE]
        if model.byte_fallback and len(bytes_found) < 256:
            raise VocabularyError(f"byte_fallback is set, but {len(bytes_found)} bytes have pieces; expected all 256")
        if self.unknown is None:
            raise VocabularyError("no piece has the type UNKNOWN; expected one")
        if model.byte_fallback:
            self.byte_ids = tuple(found[key] for key in BYTE_KEYS)

    def _add(self, token_id: int, piece: Row, place: Callable[[int], str]) -> bytes | None:
        """Sort a piece that is not an ordinary one without a problem; return its token if it is in the vocabulary."""
        text, _, kind = piece
        if kind == UNUSED and self.is_padded and _PADDING.fullmatch(text):
            return None
        self.count = token_id + 1
        problem = self._problem_of(piece)
        if problem:
            raise VocabularyError(problem, place=place(token_id))
        if kind == USER_DEFINED and " " in text:  # SentencePiece looks for it where blanks are U+2581 by then
            kind = CONTROL
        if kind == UNKNOWN and self.unknown is not None:
            self.special[text] = token_id  # never found in plain text
        elif kind == UNKNOWN:
            self.unknown = self.special[text] = token_id
        elif kind == CONTROL:
            self.special[text] = token_id
        elif kind == USER_DEFINED:
            self.kept.append(text)
        if kind == USER_DEFINED and self.is_bpe:
            self.user_defined[text.replace(SPACE_MARK, " ")] = token_id
        elif kind in (NORMAL, USER_DEFINED):
            if kind == USER_DEFINED:
                self.by_length.append(token_id)
            return text.replace(SPACE_MARK, " ").encode()
        return None

    def _problem_of(self, piece: Row) -> str:
        """Return a description of what is wrong with a piece, "" if nothing is."""
        text, score, kind = piece
        if len(text) > _LONGEST_PIECE:
            return f"the piece has {len(text)} characters; expected at most {_LONGEST_PIECE}"
        if kind == NORMAL and " " in text:
            return f"{text!r} has a blank; expected U+2581 for each"
        if kind == NORMAL and score != score:
            return f"the score of {text!r} is NaN; expected a number"
        if kind == UNKNOWN and self.unknown is not None and not self.is_padded:
            return f"{text!r} is the second piece of the type UNKNOWN; expected one"
        if kind == BYTE and text not in BYTE_KEYS:
            return f"{text!r} has the type BYTE; expected <0x00> to <0xFF>"
        if kind == UNUSED:
            return f"{text!r} has the type UNUSED, which is not supported"
        return "" if NORMAL <= kind <= BYTE else f"{text!r} has the type {kind}; expected {NORMAL} to {BYTE}"

    def characters(self) -> Characters:
        """Return the options of characters."""
        # no rule is needed if decoding writes the text of the piece itself
        text = None if self.special.get(self.unknown_text) == self.unknown else self.unknown_text
        return Characters(self.byte_ids, self.unknown, True, True, unknown_text=text)


def _check_unique(pieces: Sequence[Row], found: Mapping[str, int], place: Callable[[int], str]) -> None:
    """Refuse an empty piece, and a piece that is listed twice; `found` has the last place of each."""
    if len(found) == len(pieces) and "" not in found:
        return
    seen = {""}
    for token_id, (text, _, _) in enumerate(pieces):
        if text in seen:
            problem = f"{text!r} is empty or listed twice; expected each piece once"
            raise VocabularyError(problem, place=place(token_id))
        seen.add(text)


def _merges(pieces: _Pieces) -> tuple[Merges, tuple[int, ...]]:
    """Return the merges that can apply when any two neighbours merge whose concatenation is a piece, and their levels.

    There are no levels if no two of these merges have equal scores.
    """
    texts = [token.decode() for token in pieces.vocab.values()]
    rows = zip(pieces.scores.values(), *zip(*pieces.vocab.items(), strict=True), strict=True) if texts else ()
    order, levels = ordered_by_score([row for row, text in zip(rows, texts, strict=True) if len(text) > 1])
    missing = set("".join(texts)).difference(texts)
    if missing:
        # SentencePiece also merges characters that are not pieces
        text = next(text for text in texts if not missing.isdisjoint(text))
        char = next(char for char in text if char in missing).replace(" ", SPACE_MARK)
        problem = f"{text.replace(' ', SPACE_MARK)!r} is a piece, but its character {char!r} is not"
        raise VocabularyError(f"{problem}, which is not supported")
    model = CharacterModel(pieces.vocab, pieces.characters(), order)
    has_levels = len(set(levels.values())) < len(order)
    merges = model.merges_by_rank([levels[token_id] for token_id in order] if has_levels else ())
    if not has_levels:
        return merges, ()
    dense = {level: number for number, level in enumerate(dict.fromkeys(levels[made] for _, _, made in merges))}
    return merges, tuple(dense[levels[made]] for _, _, made in merges) if len(dense) < len(merges) else ()


def _unigram(pieces: _Pieces) -> UnigramModel:
    if pieces.byte_ids and b" " not in pieces.vocab.values():
        # SentencePiece would encode U+2581 as three bytes, but here it is a blank, which is one byte
        raise VocabularyError("byte_fallback is set, but U+2581 alone is not a piece, which is not supported")
    scores = tuple(pieces.scores.get(token_id, 0.0) for token_id in range(pieces.count))
    return UnigramModel(scores, True, tuple(pieces.by_length))


def _normalizers(model: PieceModel, kept: Sequence[str]) -> tuple[Normalizer, ...]:
    """Return the rules of a model; normalization does not change the user-defined symbols `kept`."""
    rules: list[Normalizer] = []
    prefix = SPACE_MARK if model.add_dummy_prefix and not model.is_suffix else ""
    if model.charsmap:
        from ..pipeline.charsmap import check_charsmap

        check_charsmap(model.charsmap)
        rules.append(Charsmap(model.charsmap, tuple(kept), "" if model.remove_extra_whitespaces else prefix))
    if model.remove_extra_whitespaces:
        blank = next((text for text in kept if " " in text), None)
        if blank is not None:
            raise VocabularyError(
                f"user-defined symbol {blank!r} has a blank and remove_extra_whitespaces is true; this combination is "
                "not supported"
            )
        rules.append(SqueezeBlanks())
    if prefix and (model.remove_extra_whitespaces or not model.charsmap):
        rules.append(Prepend(prefix))
    if model.add_dummy_prefix and model.is_suffix:
        rules.append(Append(SPACE_MARK))
    return (*((ESCAPED_MARK,) if model.escapes_marks else ()), *rules, _MARK)


def _strips(model: PieceModel) -> int:
    return ALL_BLANKS if model.remove_extra_whitespaces else int(model.add_dummy_prefix)


def pieces_of(spec: TokenizerSpec, path: StrPath, *, pads: bool = False) -> PieceModel:
    """Return the model that gives the ids of a spec; `pads` fills gaps between ids.

    Raises `VocabularyError` on a spec that pieces cannot express: symbols that are bytes, splits, other rules, gaps
    between ids, merges that differ from all merges that the pieces allow, and sums of scores other than
    SentencePiece's.
    """
    characters = spec.characters
    if characters is None or not characters.marks_blanks:
        raise VocabularyError(
            "the symbols of the vocabulary are not characters with U+2581 for blanks; write tokenizer.json", path=path
        )
    escapes = isinstance(spec.model, UnigramModel) and spec.rules.normalizers[:1] == (ESCAPED_MARK,)
    table, squeezes, prepends = _rules_of(spec, spec.rules.normalizers[1 if escapes else 0 :], path)
    if isinstance(spec.model, UnigramModel):
        if not spec.model.is_float:
            problem = "scores are summed as in HF's tokenizers, which may give other ids; write tokenizer.json"
            raise VocabularyError(problem, path=path)
    else:
        _check_merges(spec, characters, path)
    rows = rows_of(spec, characters)
    if pads:
        pieces = padded(rows, spec.vocab_size, path)
    else:
        if sorted(rows) != list(range(len(rows))):
            problem = "ids have gaps, but a SentencePiece model numbers its pieces from 0; write tokenizer.json"
            raise VocabularyError(problem, path=path)
        pieces = [rows[token_id] for token_id in range(len(rows))]
    if characters.unknown not in rows:
        raise VocabularyError(
            "there is no unknown token, but a SentencePiece model needs one; write tokenizer.json", path=path
        )
    text = rows[characters.unknown].text if characters.unknown_text is None else characters.unknown_text
    return PieceModel(
        pieces, spec.model is None, bool(characters.byte_ids), prepends, squeezes, table, pads, text,
        escapes_marks=escapes,
    )  # fmt: skip


def padded(rows: Mapping[int, Piece], size: int, path: StrPath) -> list[Piece]:
    """Return a piece for each id; gaps get unused pieces `[PADn]`."""
    if size > 2 * len(rows) + _MOST_PADDING:
        problem = f"{len(rows)} tokens have ids up to {size - 1}, but GGUF needs a token for each id"
        raise VocabularyError(f"{problem}; write tokenizer.json", path=path)
    pieces = [rows.get(token_id) or Piece(f"[PAD{token_id}]", 0.0, UNUSED) for token_id in range(size)]
    if len({piece.text for piece in pieces}) < len(pieces):
        raise VocabularyError("a token has the name of the padding for another id; write tokenizer.json", path=path)
    return pieces


def _rules_of(spec: TokenizerSpec, rules: Sequence[Normalizer], path: StrPath) -> tuple[bytes, bool, bool]:
    """Return the normalization table, whether blanks are squeezed, and whether a blank is put in front."""
    left = list(rules)
    table = left.pop(0) if left and isinstance(left[0], Charsmap) else Charsmap(b"")
    assert isinstance(table, Charsmap)
    squeezes, prepends = SqueezeBlanks() in left, Prepend(SPACE_MARK) in left
    expected = [*([SqueezeBlanks()] if squeezes else []), *([Prepend(SPACE_MARK)] if prepends else []), _MARK]
    others = spec.rules.prefix or spec.rules.pre_tokenizers or spec.pattern != PATTERNS["none"] or spec.whole_pretokens
    verbatim = TokenOptions(normalized=True, verbatim=True)
    options = {spec.token_options.get(text) for text in spec.added_tokens} | {
        spec.token_options.get(text, verbatim) for text in spec.special_tokens
    }
    if left != expected or table.prefix not in ("", SPACE_MARK) or others or options - {verbatim}:
        raise VocabularyError(
            "a SentencePiece model cannot hold the normalizers, splits or options of tokens; write tokenizer.json",
            path=path,
        )
    return table.data, squeezes, prepends or bool(table.prefix)


def rows_of(spec: TokenizerSpec, characters: Characters) -> dict[int, Piece]:
    """Return the pieces by id; without scores in the model, these are 0, -1, -2, ... in the order of merges and ids."""
    rows: dict[int, Piece] = {}
    if isinstance(spec.model, UnigramModel):
        for token_id, token in spec.vocab.items():
            kind = USER_DEFINED if token_id in spec.model.user_defined else NORMAL
            rows[token_id] = Piece(key_of(token, characters), spec.model.scores[token_id], kind)
    else:
        levels: dict[int, int] = {}  # a piece may have several merges, which follow one another
        for (_, _, made), level in zip(spec.merges or (), _levels_of(spec), strict=True):
            levels.setdefault(made, level)
        numbers = {level: number for number, level in enumerate(sorted(set(levels.values())))}
        others = {token_id: len(numbers) + i for i, token_id in enumerate(sorted(spec.vocab.keys() - levels.keys()))}
        for token_id, token in spec.vocab.items():
            number = numbers[levels[token_id]] if token_id in levels else others[token_id]
            rows[token_id] = Piece(key_of(token, characters), -float(number), NORMAL)
    bytes_of = zip(characters.byte_ids, BYTE_KEYS, strict=False)
    rows.update({token_id: Piece(key, 0.0, BYTE) for token_id, key in bytes_of})
    added = {token_id: text.replace(" ", SPACE_MARK) for text, token_id in spec.added_tokens.items()}
    rows.update({token_id: Piece(text, 0.0, USER_DEFINED) for token_id, text in added.items()})
    for text, token_id in spec.special_tokens.items():
        rows[token_id] = Piece(text, 0.0, UNKNOWN if token_id == characters.unknown else CONTROL)
    return rows


def _levels_of(spec: TokenizerSpec) -> Sequence[int]:
    return spec.merge_levels or range(len(spec.merges or ()))


def _check_merges(spec: TokenizerSpec, characters: Characters, path: StrPath) -> None:
    """Refuse merges that differ from merging any two neighbours whose concatenation is a token."""
    order = list(dict.fromkeys(made for _, _, made in spec.merges or ()))
    several = [token_id for token_id, token in spec.vocab.items() if len(token.decode()) > 1]
    order += sorted(set(several).difference(order))
    model = CharacterModel(spec.vocab, characters, order)
    # with levels no token is made by two merges
    count = len(spec.merge_levels)
    level = dict(zip(order, (*spec.merge_levels, *range(count, len(order))), strict=True)) if count else {}
    merges = model.merges_by_rank(list(level.values()))
    by_rank = model.live_merges(merges, [level[made] for _, _, made in merges] if count else ())
    # compare live merges only: a merge with a part that nothing makes can never apply
    if by_rank != model.live_merges(spec.merges or (), spec.merge_levels):
        raise VocabularyError(
            "the list of merges differs from all merges that the tokens allow, but a SentencePiece model always does "
            "all of these; write tokenizer.json",
            path=path,
        )
