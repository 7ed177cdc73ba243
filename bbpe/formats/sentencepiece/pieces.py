"""Convert between specs and the pieces of SentencePiece: rows of text, score and type, with flags.

The symbols are characters.  In BPE any two neighbours merge whose concatenation is a piece, the highest score first.
In Unigram the segmentation with the highest sum of scores wins.  A character without a piece becomes byte tokens or the
unknown token.  Control symbols are special tokens of the spec.  User-defined symbols are added tokens of BPE, found in
the normalized text, and pieces of Unigram that score by their length.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Literal, TypeAlias

from ...core.piece_list import missing_character
from ...errors import VocabularyError
from ...lazy import safe_import
from ...records import dataclass, field, replace
from ...spec.characters import CharacterModel, MergeOrder
from ...spec.decoders import UNMARK
from ...spec.models import Merges, UnigramModel, Vocab, WordLevelModel
from ...spec.rules import (
    ALL_BLANKS,
    BYTE_KEYS,
    ESCAPED_MARK,
    SPACE_MARK,
    Characters,
    Charsmap,
    Normalizer,
    Prepend,
    Replace,
    SqueezeBlanks,
    Template,
    TokenOptions,
)
from ...spec.spec import TextRules, TokenizerSpec, make_spec, usual_decoder
from ...splitting.patterns import PATTERNS, Pattern
from ..common.given import Given
from .piece_rows import (
    BYTE,
    CONTROL,
    NORMAL,
    UNKNOWN,
    UNUSED,
    USER_DEFINED,
    PieceRows,
    Row,
    is_padding,
    padded,
    rows_of,
)

#: The text that SentencePiece decodes the unknown piece to by default.
UNKNOWN_TEXT = " \u2047 "
_LONGEST_PIECE = 1024  # characters
_MARK = Replace(" ", False, SPACE_MARK)
#: The options of a user-defined symbol.
AS_SYMBOL = TokenOptions(normalized=True, verbatim=True)
# SentencePiece would encode U+2581 as three bytes, but here it is a blank, which is one byte
_BLANK_OF_BYTES = "byte_fallback is set, but U+2581 alone is not a piece in use, which is not supported"


#: What a model finds: pieces that merges or scores make, single characters, or whole words.
Unit: TypeAlias = Literal["piece", "character", "word"]
# a model of words splits before blanks, even if it was trained with blanks at the end of words
_WORDS = Pattern(None, (r" [^ ]*|[^ ]+",))
_WORDS_AT_MARKS = Pattern(None, (_WORDS.steps[0].replace(" ", SPACE_MARK),))


@dataclass(frozen=True)
class PieceModel:
    """All pieces in order of ids, and the rules for texts.

    `byte_fallback`: a character without a piece becomes the pieces of its bytes.  `charsmap`: a compiled normalization
    table, or empty.  `is_padded`: unused pieces named `[PADn]` fill gaps between ids and are ignored.
    `unknown_text`: the text that decoding writes for the unknown piece.
    `is_suffix`: blanks end words, so the added blank is at the end of a text.  `unit`: a text is split into characters
    or words without merges, or merges make its pieces.  `escapes_marks`: U+2581 in a text becomes its bytes, as only
    bbpe has it.  `denormalizer`: a compiled table that decoding applies to the text, or empty.  `marks_blanks`:
    blanks of a text become U+2581; otherwise pieces with U+2581 are found only where it has that.  `names` has the
    texts of control symbols and of the unknown piece by their uses.
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
    marks_blanks: bool = True
    names: Mapping[str, str] = field(default_factory=dict)
    denormalizer: bytes = b""

    def token_of(self, text: str) -> str:
        """Return the text of a piece as the spec has it."""
        return text.replace(SPACE_MARK, " ") if self.marks_blanks else text


def spec_of(
    model: PieceModel, given: Given, *, place: Callable[[int], str], template: Template | None = None
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
    plain = (_WORDS if model.marks_blanks else _WORDS_AT_MARKS) if of_words else PATTERNS["none"]
    other = WordLevelModel(pieces.unknown, True) if of_words else None if model.is_bpe else _unigram(pieces)
    merges, levels = _merges(pieces) if model.is_bpe and model.unit == "piece" else (Merges(()), ())
    if pieces.unused:
        _check_unused_characters(pieces, merges, place)
    strip = ALL_BLANKS if model.remove_extra_whitespaces else int(model.add_dummy_prefix)
    decoder = usual_decoder(characters, None, strip=strip)
    if model.denormalizer:
        _check_table(model.denormalizer)
        decoder = (*decoder, Charsmap(model.denormalizer))
    spec = make_spec(
        pieces.vocab,
        merges,
        pattern=given.pattern_or(plain),
        special_tokens=given.specials_or(pieces.special),
        added_tokens=pieces.user_defined,
        name=given.name,
        rules=TextRules(_normalizers(model, pieces.kept)),
        characters=characters,
        token_options=dict.fromkeys((*pieces.user_defined, *pieces.never_found), AS_SYMBOL),
        template=template,
        model=other,
        decoder=decoder if model.marks_blanks else (UNMARK, *decoder),
        merge_levels=levels,
    )
    return replace(spec, names=model.names)


class _Pieces:
    """The pieces of a model, sorted by their types."""

    def __init__(self, model: PieceModel, place: Callable[[int], str]) -> None:
        self.rows = model.pieces if isinstance(model.pieces, PieceRows) else PieceRows(model.pieces)
        self.special: dict[str, int] = {}
        self.user_defined: dict[str, int] = {}
        self.kept: list[str] = []
        #: User-defined symbols with a blank, which are special tokens.
        self.never_found: list[str] = []
        self.unknown: int | None = None
        self.is_bpe, self.is_padded, self.unknown_text = model.is_bpe, model.is_padded, model.unknown_text
        self.marks_blanks, self._token_of = model.marks_blanks, model.token_of
        # a model of words looks up whole words only, and normalization alone spares such a symbol
        self._finds_symbols = model.is_bpe and model.unit != "word"
        self.by_length: list[int] = []
        self.unused: list[int] = []
        _check_unique(self.rows, place)
        unusual = self.rows.unusual(_LONGEST_PIECE, self.marks_blanks)
        left_out = [token_id for token_id in unusual if not self._add(token_id, self.rows[token_id], place)]
        #: The highest id that is not padding, plus one.
        self.count = len(self.rows)
        while self.count and self._is_padding(self.rows[self.count - 1]):
            self.count -= 1
        self.vocab = self.rows.tokens(Vocab, left_out, self.marks_blanks)
        self.byte_ids = self._byte_ids(model.byte_fallback)
        if self.unknown is None:
            raise VocabularyError("no piece has the type UNKNOWN; expected one")

    def _byte_ids(self, needs_all: bool) -> tuple[int, ...]:
        """Return the ids of the pieces of all bytes if a model needs them."""
        if not needs_all:
            return ()
        found = {self.rows[token_id][0]: token_id for token_id in self.rows.of_kind(BYTE)}
        if len(found) < 256:
            raise VocabularyError(f"byte_fallback is set, but {len(found)} bytes have pieces; expected all 256")
        return tuple(found[key] for key in BYTE_KEYS)

    def _is_padding(self, piece: Row) -> bool:
        return self.is_padded and piece[2] == UNUSED and is_padding(piece[0])

    def _add(self, token_id: int, piece: Row, place: Callable[[int], str]) -> bool:
        """Sort a piece that is not an ordinary one without a problem; return whether it is in the vocabulary."""
        text, _, kind = piece
        if self._is_padding(piece):
            return False
        problem = self._problem_of(piece)
        if problem:
            raise VocabularyError(problem, place=place(token_id))
        # SentencePiece looks for it where blanks are U+2581 by then
        if kind == USER_DEFINED and " " in text and self.marks_blanks:
            kind = CONTROL
            self.never_found.append(text)
        if kind == UNKNOWN and self.unknown is not None:
            self.special[text] = token_id  # never found in plain text
        elif kind == UNKNOWN:
            self.unknown = self.special[text] = token_id
        elif kind == CONTROL:
            self.special[text] = token_id
        elif kind == USER_DEFINED:
            self.kept.append(text)
        if kind == USER_DEFINED and self._finds_symbols:
            self.user_defined[self._token_of(text)] = token_id
        elif kind in (NORMAL, USER_DEFINED, UNUSED):
            if kind == USER_DEFINED:
                self.by_length.append(token_id)
            elif kind == UNUSED:
                self.unused.append(token_id)
            return True
        return False

    def _problem_of(self, piece: Row) -> str:
        """Return a description of what is wrong with a piece, "" if nothing is."""
        text, score, kind = piece
        if len(text) > _LONGEST_PIECE:
            return f"the piece has {len(text)} characters; expected at most {_LONGEST_PIECE}"
        if kind in (NORMAL, UNUSED) and " " in text and self.marks_blanks:
            return f"{text!r} has a blank; expected U+2581 for each"
        if kind in (NORMAL, UNUSED) and score != score:
            return f"the score of {text!r} is NaN; expected a number"
        if kind == UNKNOWN and self.unknown is not None and not self.is_padded:
            return f"{text!r} is the second piece of the type UNKNOWN; expected one"
        if kind == BYTE and text not in BYTE_KEYS:
            return f"{text!r} has the type BYTE; expected <0x00> to <0xFF>"
        return "" if NORMAL <= kind <= BYTE else f"{text!r} has the type {kind}; expected {NORMAL} to {BYTE}"

    def characters(self) -> Characters:
        """Return the options of characters."""
        # no rule is needed if decoding writes the text of the piece itself
        text = None if self.special.get(self.unknown_text) == self.unknown else self.unknown_text
        return Characters(
            self.byte_ids, self.unknown, True, self.marks_blanks, unknown_text=text, unused=tuple(self.unused)
        )


def _check_unique(pieces: PieceRows, place: Callable[[int], str]) -> None:
    """Refuse an empty piece, and a piece that is listed twice."""
    if pieces.are_unique():
        return
    seen = {""}
    for token_id, (text, _, _) in enumerate(pieces):
        if text in seen:
            raise VocabularyError(f"{text!r} is empty or listed twice; expected each piece once", place=place(token_id))
        seen.add(text)


def _merges(pieces: _Pieces) -> tuple[Merges, tuple[int, ...]]:
    """Return the merges that can apply when any two neighbours merge whose concatenation is a piece, and their levels.

    There are no levels if none of these merges need one.
    """
    missing = missing_character(pieces.vocab)
    if missing is not None:
        # SentencePiece also merges characters that are not pieces
        text, char = (found.decode().replace(" ", SPACE_MARK) for found in missing)
        problem = f"{text!r} is a piece, but its character {char!r} is not"
        raise VocabularyError(f"{problem}, which is not supported")
    order = MergeOrder.of(pieces.rows, pieces.vocab)
    merges = CharacterModel(pieces.vocab, pieces.characters(), order.ids).merges_by_rank(order.levels)
    return merges, order.levels_of(merges)


def _check_unused_characters(pieces: _Pieces, merges: Merges, place: Callable[[int], str]) -> None:
    """Refuse an unused blank with bytes, and an unused character that merges without them.

    The latter is unknown after merging, and runs of unknown characters are one id.
    """
    unused = frozenset(pieces.unused)
    if pieces.byte_ids:
        if pieces.marks_blanks and any(pieces.vocab[token_id] == b" " for token_id in unused):
            raise VocabularyError(_BLANK_OF_BYTES)
        return
    for left, right, _ in merges:
        for token_id in (left, right):
            text = pieces.vocab[token_id].decode()
            if token_id in unused and len(text) == 1:
                problem = f"{text.replace(' ', SPACE_MARK)!r} is a character of the type UNUSED that merges"
                raise VocabularyError(f"{problem}, which needs byte_fallback", place=place(token_id))


def _unigram(pieces: _Pieces) -> UnigramModel:
    if pieces.byte_ids and pieces.marks_blanks and b" " not in pieces.vocab.values():
        raise VocabularyError(_BLANK_OF_BYTES)
    scores = pieces.rows.scores(pieces.vocab, pieces.count)
    return UnigramModel(tuple(scores), True, tuple(pieces.by_length))


def _normalizers(model: PieceModel, kept: Sequence[str]) -> tuple[Normalizer, ...]:
    """Return the rules of a model; normalization does not change the user-defined symbols `kept`."""
    rules: list[Normalizer] = []
    blank = SPACE_MARK if model.marks_blanks else " "
    prefix = blank if model.add_dummy_prefix and not model.is_suffix else ""
    suffix = blank if model.add_dummy_prefix and model.is_suffix else ""
    squeezes = model.remove_extra_whitespaces
    if model.charsmap:
        _check_table(model.charsmap)
    if model.charsmap or suffix:
        # also what becomes nothing gets a suffix, or a prefix that is not removed as one of the blanks; blanks get none
        drops_blanks = squeezes and suffix != ""
        rules.append(Charsmap(model.charsmap, tuple(kept), "" if squeezes else prefix, suffix, drops_blanks))
    if squeezes:
        with_blank = next((text for text in kept if " " in text), None)
        if with_blank is not None:
            raise VocabularyError(
                f"user-defined symbol {with_blank!r} has a blank and remove_extra_whitespaces is true; this "
                "combination is not supported"
            )
        rules.append(SqueezeBlanks(suffix, model.marks_blanks))
    if prefix and (squeezes or not model.charsmap):
        rules.append(Prepend(prefix))
    return (*((ESCAPED_MARK,) if model.escapes_marks else ()), *rules, *((_MARK,) if model.marks_blanks else ()))


def _check_table(data: bytes) -> None:
    safe_import("bbpe.pipeline.compiled_normalizers")
    from ...pipeline.compiled_normalizers import check_charsmap

    check_charsmap(data)


def pieces_of(spec: TokenizerSpec, *, pads: bool = False) -> PieceModel:
    """Return the model that gives the ids of a spec; `pads` fills gaps between ids.

    Raises `VocabularyError` on a spec that pieces cannot express: symbols that are bytes, splits, other rules, gaps
    between ids, merges that differ from all merges that the pieces allow, and sums of scores other than
    SentencePiece's.
    """
    characters = spec.characters
    if characters is None or not (characters.marks_blanks or spec.decoder[:1] == (UNMARK,)):
        raise VocabularyError(
            "the symbols of the vocabulary are not characters with U+2581 for blanks; write tokenizer.json"
        )
    escapes = isinstance(spec.model, UnigramModel) and spec.rules.normalizers[:1] == (ESCAPED_MARK,)
    of_words = isinstance(spec.model, WordLevelModel) and spec.model.fuses
    table, squeezes, blank_at = _rules_of(spec, characters, spec.rules.normalizers[1 if escapes else 0 :])
    if isinstance(spec.model, UnigramModel):
        if not spec.model.is_float:
            problem = "scores are summed as in HF's tokenizers, which may give other ids; write tokenizer.json"
            raise VocabularyError(problem)
    elif not of_words:
        _check_merges(spec, characters)
    rows = rows_of(spec, characters)
    if of_words:
        kept = {token_id: row for token_id, row in rows.items() if row.text in table.kept}
        rows |= {token_id: row._replace(kind=USER_DEFINED) for token_id, row in kept.items()}
    if pads:
        pieces = padded(rows, spec.vocab_size)
    else:
        if sorted(rows) != list(range(len(rows))):
            problem = "ids have gaps, but a SentencePiece model numbers its pieces from 0; write tokenizer.json"
            raise VocabularyError(problem)
        pieces = [rows[token_id] for token_id in range(len(rows))]
    if characters.unknown not in rows:
        raise VocabularyError("there is no unknown token, but a SentencePiece model needs one; write tokenizer.json")
    text = rows[characters.unknown].text if characters.unknown_text is None else characters.unknown_text
    last = spec.decoder[-1]
    return PieceModel(
        pieces, not isinstance(spec.model, UnigramModel), bool(characters.byte_ids), blank_at != "", squeezes,
        table.data, pads, text, is_suffix=blank_at == "end", unit="word" if of_words else "piece",
        escapes_marks=escapes, marks_blanks=characters.marks_blanks, names=spec.names,
        denormalizer=last.data if isinstance(last, Charsmap) else b"",
    )  # fmt: skip


def _rules_of(
    spec: TokenizerSpec, characters: Characters, rules: Sequence[Normalizer]
) -> tuple[Charsmap, bool, Literal["", "front", "end"]]:
    """Return the normalization table, whether blanks are squeezed, and where a blank is added."""
    blank = SPACE_MARK if characters.marks_blanks else " "
    left = list(rules)
    table = left.pop(0) if left and isinstance(left[0], Charsmap) else Charsmap(b"")
    assert isinstance(table, Charsmap)
    squeeze = SqueezeBlanks(table.suffix, characters.marks_blanks)
    squeezes, prepends, appends = squeeze in left, Prepend(blank) in left, table.suffix != ""
    expected: list[Normalizer] = [squeeze] if squeezes else []
    expected += [Prepend(blank)] if prepends else []
    expected += [_MARK] if characters.marks_blanks else []
    words = _WORDS if characters.marks_blanks else _WORDS_AT_MARKS
    plain = words if isinstance(spec.model, WordLevelModel) else PATTERNS["none"]
    more = spec.rules.prefix or spec.rules.pre_tokenizers or spec.rules.codes
    others = more or spec.pattern != plain or spec.whole_pretokens
    options = {spec.token_options.get(text) for text in spec.added_tokens} | {
        spec.token_options.get(text, AS_SYMBOL) for text in spec.special_tokens
    }
    is_charsmap = {table.prefix, table.suffix} <= {"", blank} and table.drops_blanks == (squeezes and appends)
    if left != expected or not is_charsmap or others or options - {AS_SYMBOL}:
        raise VocabularyError(
            "a SentencePiece model cannot hold the normalizers, splits or options of tokens; write tokenizer.json",
        )
    return table, squeezes, "end" if appends else "front" if prepends or table.prefix else ""


def _check_merges(spec: TokenizerSpec, characters: Characters) -> None:
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
        )
