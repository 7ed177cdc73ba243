"""Encode texts and pairs of texts together with the places of ids, through all rules of a tokenizer."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import chain, groupby
from typing import TypeAlias

from ..core.places import PlacesCall, PlaceTrims, TextRanges, TokenLengths, map_places
from ..core.split import Splitter
from ..core.unigram import CompiledUnigram
from ..core.word_bpe import WordBPE
from ..core.wordpiece import WordPiece
from ..errors import VocabularyError
from ..lazy import lazy_property, np, npt, safe_import
from ..pipeline.special_tokens import Matcher, Selection, SpecialTokens
from ..records import choice, flag
from ..spec.models import SymbolModel, UnigramModel, WordLevelModel, WordPieceModel
from ..spec.rules import NO_TEMPLATE
from ..spec.spec import TokenizerSpec, spec_of_symbols
from ..spec.unigram import first_unnamed, runs_of, scored_pieces, unigram_scheme, with_unknown_bytes
from ..text import Text, text_bytes
from ..types import AlignedIds, Unit
from .engine import TextEncoder, text_encoder
from .plan import simplified, unigram_plan
from .token_lengths import lengths_of, place_trims, token_lengths
from .vocabulary import Vocabulary

#: The start and the end of the place of each id, int64[n, 2].
Places: TypeAlias = "npt.NDArray[np.int64]"
#: Ids, their places, and the numbers of their pretokens and texts, and their types.
_Part: TypeAlias = "tuple[list[int], Places, list[int | None], list[int | None], list[int]]"
#: An id, the start and the end of its place, and the number of its pretoken.
_IdWithPlace: TypeAlias = tuple[int, int, int, int]


class PlaceFinder:
    """Encodes texts together with the places of ids, by an encoder, and by the template and trims of a spec."""

    def __init__(self, encoder: TextEncoder, spec: TokenizerSpec, vocabulary: Vocabulary) -> None:
        self._encoder, self._spec, self._vocabulary = encoder, spec, vocabulary

    @lazy_property
    def _trims(self) -> PlaceTrims | None:
        return place_trims(self._spec, self._vocabulary.keys()) if self._spec.trims else None

    @property
    def has_words(self) -> bool:
        """Whether `words` finds the numbers of pretokens."""
        return word_calls(self._encoder) is not None

    def with_offsets(self, text: Text, unit: Unit, matcher: Matcher | None) -> tuple[list[int], Places]:
        """Return the ids of a text and their places, int64[n, 2]."""
        _check_unit(unit)
        return encode_with_places(self._encoder, text, unit, matcher, self._trims)

    def call(self, specials: SpecialTokens, allowed: Selection, refused: Selection, _adds: bool) -> PlacesCall | None:
        """Return the call that encodes texts with the places of ids; `None` where ids have none."""
        matcher = specials.matcher(allowed, refused)
        calls = place_calls(self._encoder.of(matcher))
        return None if calls is None else calls.call(matcher, self._trims)

    def in_ranges(self, matcher: Matcher) -> PlacesCall:
        """Return the call that encodes texts in whose ranges the tokens of the matcher's levels count.

        Places keep the blanks of tokens, so that each character has one.

        Raises `VocabularyError` where ids have no places.
        """
        calls = place_calls(self._encoder.of(matcher))
        if calls is None:
            raise VocabularyError(_NO_PLACES)
        return calls.call(matcher, None)

    def aligned(self, text: Text, pair: Text | None, unit: Unit, matcher: Matcher | None, adds: bool) -> AlignedIds:
        """Return the ids of a text or a pair and where they come from, with those of the template if `adds` is true."""
        _check_unit(unit)
        template, adds = self._spec.template or NO_TEMPLATE, flag("add_special_tokens", adds)
        if pair is not None and adds:
            template.check_has_pair()
        texts = {"A": text} if pair is None else {"A": text, "B": pair}
        found = {name: self.words(given, unit, matcher) for name, given in texts.items()}
        rows: list[_Part] = []
        for item, type_id in template.single if pair is None else template.pair or NO_TEMPLATE.pair:
            if not adds and not isinstance(item, str):
                continue
            ids, places, words = found[item] if isinstance(item, str) else ([item], np.zeros((1, 2), np.int64), [None])
            number = "AB".index(item) if isinstance(item, str) else None
            rows.append((ids, places, list(words), [number] * len(ids), [type_id] * len(ids)))
        ids_of, places_of, *others = zip(*rows, strict=True)
        return AlignedIds(list(chain(*ids_of)), np.concatenate(places_of), *(list(chain(*each)) for each in others))

    def words(self, text: Text, unit: Unit, matcher: Matcher | None) -> tuple[list[int], Places, list[int]]:
        """Return the ids of a text, their places, int64[n, 2], and the numbers of their pretokens."""
        calls = word_calls(self._encoder.of(matcher))
        if calls is None:
            raise VocabularyError(_NO_PLACES)
        return calls.call(matcher, self._trims).encode_words(text, unit)


def _check_unit(unit: str) -> None:
    choice("unit", unit, ("char", "byte", "utf16"))


_NO_PLACES = "words without a token are one unknown token in a row, so tokens have no places; encode without offsets"


def encode_with_places(
    encoder: TextEncoder, text: Text, unit: Unit, matcher: Matcher | None, trims: PlaceTrims | None = None
) -> tuple[list[int], Places]:
    """Return the ids of a text and their places, int64[n, 2]; `trims` remove the blanks of tokens.

    Raises `VocabularyError` when an id has no place in the text.
    """
    calls = place_calls(encoder.of(matcher))
    if calls is None:
        raise VocabularyError(_NO_PLACES)
    return calls.call(matcher, trims).encode(text, unit)


# -- encoders with places ----------------------------------------------------------------------------------


def place_calls(encoder: TextEncoder) -> PlaceCalls | None:
    """Return the maker of calls with places, from a cache; `None` where ids have no places."""
    return encoder.kept("places", _place_calls)


def word_calls(encoder: TextEncoder) -> PlaceCalls | None:
    """Return the maker of calls with the numbers of pretokens too; `None` where ids have no places."""
    return encoder.kept("words", _word_calls)


def _place_calls(encoder: TextEncoder) -> PlaceCalls | None:
    spec, model = encoder.spec, encoder.encoder.model
    if isinstance(spec.model, WordLevelModel) and spec.model.fuses:
        return None
    if isinstance(spec.model, SymbolModel):
        return SymbolCalls(spec, spec.model)
    if (runs := _run_calls(encoder)) is not None:
        return runs
    if isinstance(model, WordPiece) and model.is_bert and _begins_no_word(spec.model):
        return PlaceCalls(encoder.copy(), lambda: PlaceCalls(text_encoder(spec, is_fused=False)))
    is_fused = isinstance(model, WordPiece | WordBPE)
    return PlaceCalls(text_encoder(spec, is_fused=False) if is_fused else encoder.copy())


def _word_calls(encoder: TextEncoder) -> PlaceCalls | None:
    spec = encoder.spec
    if isinstance(spec.model, SymbolModel) or (isinstance(spec.model, WordLevelModel) and spec.model.fuses):
        return place_calls(encoder)
    if (runs := _run_calls(encoder)) is not None:
        return runs
    if isinstance(encoder.encoder.model, WordPiece | WordBPE) or simplified(spec) != spec:
        encoder = text_encoder(spec, is_fused=False)
    return PlaceCalls(encoder.splitting())


def _begins_no_word(model: object) -> bool:
    """Return whether only tokens within words have the prefix of these, as BERT's rules split after it."""
    safe_import("string")
    from string import punctuation

    return not isinstance(model, WordPieceModel) or model.prefix[:1] in punctuation


class PlaceCalls:
    """Makes the calls that encode texts with the places of ids."""

    def __init__(
        self, encoder: TextEncoder, slow: Callable[[], PlaceCalls] | None = None, lengths: TokenLengths | None = None
    ) -> None:
        """`slow` makes the maker of calls that apply one rule after another; `None` if those of `encoder` do.

        `lengths`: of ids that are not those of the spec.
        """
        self._encoder, self._pattern = encoder, encoder.spec.pattern
        self._lengths = lengths or lengths_of(encoder.spec, encoder.encoder.model)
        self._make_slow = slow

    @lazy_property
    def _slow(self) -> PlaceCalls:
        assert self._make_slow is not None
        return self._make_slow()

    @lazy_property
    def _splitter(self) -> Splitter | None:
        """Return the splitter for pretokens that the pipeline leaves to the encoder."""
        scheme = self._pattern.scheme
        if scheme is None and not self._lengths.knows(ord(" ")):  # else a run of unknown characters ends before it
            scheme = unigram_scheme(self._pattern)
        return None if scheme is None else Splitter(scheme)

    def call(self, matcher: Matcher | None, trims: PlaceTrims | None) -> PlacesCall:
        """Return the call that looks for the tokens of a matcher."""
        slow = None if self._make_slow is None else lambda: self._slow.call(matcher, trims)
        return PlacesCall(self._encoder.call(matcher), self._lengths, trims, self._splitter, slow)


class SymbolCalls(PlaceCalls):
    """Makes the calls that find the places of symbols, which are then written as tokens."""

    def __init__(self, spec: TokenizerSpec, model: SymbolModel) -> None:
        inner, self._written = spec_of_symbols(spec, model)
        super().__init__(text_encoder(inner, is_fused=False).splitting())

    def call(self, matcher: Matcher | None, trims: PlaceTrims | None) -> PlacesCall:
        """Return the call that looks for the tokens of a matcher."""
        call = SymbolCall(self._encoder.call(matcher), self._lengths, trims, self._splitter)
        call.written = self._written
        return call


class SymbolCall(PlacesCall):
    """A call of `SymbolCalls`."""

    written: dict[int, int]

    def encode(self, text: Text, unit: str) -> tuple[list[int], Places]:
        """Return the ids of a text and their places, int64[n, 2]."""
        ids, places = super().encode(text, unit)
        return [self.written.get(each, each) for each in ids], places

    def encode_words(
        self, text: Text, unit: str, ranges: TextRanges | None = None
    ) -> tuple[list[int], Places, list[int]]:
        """Return the ids of a text, their places, int64[n, 2], and the numbers of their pretokens."""
        ids, places, words = super().encode_words(text, unit, ranges)
        return [self.written.get(each, each) for each in ids], places, words

    def encode_ranges(self, text: Text, ranges: TextRanges) -> tuple[npt.NDArray[np.int32], Places]:
        """Return the ids of a text in whose ranges the tokens of their levels count, and their places."""
        ids, places = super().encode_ranges(text, ranges)
        return np.array([self.written.get(each, each) for each in ids.tolist()], np.int32), places


# -- runs of unknown characters ----------------------------------------------------------------------------
#
# Where the characters of a Unigram model do not tell where a run of unknown ones ends, a token may begin with a
# character that is none by itself: it is in the run, or the token is after the run.  So the bytes of unknown characters
# get an id each here, and a run of them becomes one id when its place is known.


def _run_calls(encoder: TextEncoder) -> RunCalls | None:
    """Return the maker of calls that find where runs of unknown characters end; `None` where their characters tell."""
    spec, model = encoder.spec, encoder.encoder.model
    if not isinstance(spec.model, UnigramModel) or not isinstance(model, CompiledUnigram) or not hides_ends(spec):
        return None
    plan = unigram_plan(spec, spec.model, with_unknown_bytes(spec, model))
    return RunCalls(TextEncoder(plan, spec).splitting())


def hides_ends(spec: TokenizerSpec) -> bool:
    """Return whether a token of a Unigram model that has unknown characters begins or goes on with one of these.

    The unknown token itself, where it is found in texts, joins the run that it is next to.  Trimmed places need to know
    what a run has at its ends.
    """
    if not isinstance(spec.model, UnigramModel) or spec.characters is None or spec.characters.byte_ids:
        return False
    if spec.model.finds_runs or spec.model.unnamed or spec.trims:
        return True
    if spec.characters.unknown in spec.vocab and not spec.model.is_float:
        return True
    pieces = [piece.decode("utf-8", "replace") for piece in scored_pieces(spec)[0].values()]
    return not set().union(*pieces).issubset(piece for piece in pieces if len(piece) == 1)


class RunCalls(PlaceCalls):
    """Makes the calls of an encoder that gives the bytes of unknown characters the ids from `spec.vocab_size` on."""

    def __init__(self, encoder: TextEncoder) -> None:
        spec = encoder.spec
        assert spec.characters is not None
        assert isinstance(spec.model, UnigramModel)
        unnamed = [len(token) for token, _ in spec.model.unnamed]
        lengths = np.concatenate((token_lengths(spec), np.ones(256, np.uint32), np.array(unnamed, np.uint32)))
        super().__init__(encoder, lengths=TokenLengths(lengths, lengths))
        self._first_byte, self._first_unnamed = spec.vocab_size, first_unnamed(spec)
        self._unknown = spec.characters.unknown
        self._byte_ids = dict(spec.characters.some_byte_ids)
        pieces = scored_pieces(spec)[0]
        runs = runs_of(spec, pieces)
        self._runs = {} if runs is None else {token: token_id for token_id, token in (*runs.items(), *pieces.items())}
        self._writes_unknown = not spec.model.is_float  # where texts have that token, too

    def call(self, matcher: Matcher | None, trims: PlaceTrims | None) -> PlacesCall:
        """Return the call that looks for the tokens of a matcher."""
        call = RunCall(self._encoder.call(matcher), self._lengths)
        call.calls, call.place_trims = self, trims
        return call

    def _is_unknown(self, token_id: int) -> bool:
        is_byte = self._first_byte <= token_id < self._first_unnamed
        return is_byte or (self._writes_unknown and token_id == self._unknown)

    def _named(self, token_id: int | None) -> int:
        if token_id is not None and token_id < self._first_unnamed:
            return token_id
        assert self._unknown is not None
        return self._unknown

    def joined(self, ids: list[int], places: Places, words: list[int]) -> Iterator[_IdWithPlace]:
        """Yield ids with their places, and one for each run of unknown characters within a pretoken."""
        rows = zip(ids, *places.T.tolist(), words, strict=True)
        for (is_run, word), group in groupby(rows, lambda row: (self._is_unknown(row[0]), row[3])):
            if not is_run:
                yield from ((self._named(token_id), start, end, at) for token_id, start, end, at in group)
                continue
            run = list(group)
            if self._runs:
                data = bytes(token_id - self._first_byte for token_id, *_ in run)
                yield self._named(self._runs.get(data)), run[0][1], run[-1][2], word
                continue
            found = [self._byte_ids.get(token_id - self._first_byte) for token_id, *_ in run]
            if self._byte_ids and None not in found:
                yield from ((token_id, *rest) for token_id, (_, *rest) in zip(found, run, strict=True))
            elif self._unknown is not None:
                yield self._unknown, run[0][1], run[-1][2], word


class RunCall(PlacesCall):
    """A call of `RunCalls`."""

    calls: RunCalls
    place_trims: PlaceTrims | None

    def encode(self, text: Text, unit: str) -> tuple[list[int], Places]:
        """Return the ids of a text and their places, int64[n, 2]."""
        return self.encode_words(text, unit)[:2]

    def encode_ranges(self, text: Text, ranges: TextRanges) -> tuple[npt.NDArray[np.int32], Places]:
        """Return the ids of a text in whose ranges the tokens of their levels count, and their places."""
        ids, places, _ = self.encode_words(text, "char" if isinstance(text, str) else "byte", ranges)
        return np.array(ids, np.int32), places

    def encode_words(
        self, text: Text, unit: str, ranges: TextRanges | None = None
    ) -> tuple[list[int], Places, list[int]]:
        """Return the ids of a text, their places, int64[n, 2], and the numbers of their pretokens."""
        rows = list(self.calls.joined(*super().encode_words(text, "byte", ranges)))
        ids, words = [row[0] for row in rows], [row[3] for row in rows]
        places = np.array([row[1:3] for row in rows], np.int64).reshape(-1, 2)
        if self.place_trims is not None:
            self.place_trims.trim(text_bytes(text), np.array(ids, np.uint32), places)
        if unit != "byte":
            map_places(text, places, unit)
        return ids, places, words
