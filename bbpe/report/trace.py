"""Trace: how a model makes the tokens of a text, step by step."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise
from typing import Any

from ..encoding.engine import TextEncoder, text_encoder
from ..lazy import lazy_property, np
from ..pipeline.special_tokens import Selection
from ..records import dataclass
from ..spec.models import LongestMatchModel, SymbolModel, UnigramModel, WordLevelModel, WordPieceModel
from ..spec.rules import Characters
from ..spec.spec import TokenizerSpec, spec_of_symbols
from ..spec.unigram import piece_scores
from ..text import Text, counted, readable, text_bytes
from ..tokenizer import Tokenizer
from .terminal import line_columns
from .trace_view import Edge, PretokenTrace, Step, fragment, html, lines, svg

#: The most bytes of a text: each step keeps all symbols.
_MOST = 4096


@dataclass(frozen=True)
class Trace:
    """How the tokens of a text are made, pretoken by pretoken; `str` is a text, and a notebook shows a picture.

    Attributes:
        pretokens: The traces of the pretokens, in order.
        tokens: The bytes of the tokens, by id.

    Example:
        >>> tok = bbpe.train_from_iterator(["low lower lowest"], 258)
        >>> print(tok.trace("low"))
        'low'
         step  merge          symbols
                              l o w
            1  lo (rank 0)    lo w
            2  low (rank 1)   low
          ids 257

    """

    pretokens: tuple[PretokenTrace, ...]
    tokens: dict[int, bytes]

    @property
    def ids(self) -> list[int]:
        """The ids of the text, as `encode` returns them."""
        return [token_id for pretoken in self.pretokens for token_id in pretoken.ids]

    def as_dict(self) -> dict[str, Any]:
        """Return the trace as data for JSON."""
        return {
            "ids": self.ids,
            "pretokens": [
                {
                    "pretoken": readable(each.pretoken), "kind": each.kind, "start": list(map(readable, each.start)),
                    "steps": [
                        {"place": step.place, "made": readable(step.made), "id": step.id, "rank": step.rank,
                         "symbols": list(map(readable, step.symbols))}
                        for step in each.steps
                    ],
                    "edges": [edge.__dict__ for edge in each.edges], "ids": list(each.ids),
                }
                for each in self.pretokens
            ],
        }  # fmt: skip

    def to_svg(self) -> str:
        """Return a picture: a tree of merges, rows of longest matches, or the lattice, of each pretoken."""
        return svg(self.pretokens)

    def to_html(self) -> str:
        """Return a page of HTML with the picture and the steps, which needs no other file."""
        return html(self.pretokens)

    def __str__(self) -> str:
        return "\n".join(lines(self.pretokens, line_columns()))

    def _repr_html_(self) -> str:
        return fragment(self.pretokens)


def trace(tokenizer: Tokenizer, text: Text, *, allowed_special: Selection = ()) -> Trace:
    """Return how the model makes the tokens of a text; `Tokenizer.trace` documents it."""
    tracer = _Tracer(tokenizer)
    data = bytes(text_bytes(text))
    if len(data) > _MOST:
        raise ValueError(f"the text has {counted(len(data), 'byte')}; expected at most {_MOST:,}, as each step is kept")
    found = [*tracer.of_text(data, tokenizer, allowed_special)]
    ids = {token_id for each in found for token_id in each.ids}
    return Trace(tuple(found), {token_id: tokenizer.id_to_token(token_id) for token_id in ids})


class _Tracer:
    """Traces pretokens by the definition of a spec, and takes the ids from the engine."""

    def __init__(self, tokenizer: Tokenizer) -> None:
        self.spec: TokenizerSpec = tokenizer.spec
        # without models that apply rules themselves
        self.encoder: TextEncoder = text_encoder(self.spec, is_fused=False)
        self.written: dict[int, int] = {}
        if isinstance(self.spec.model, SymbolModel):
            self.spec, self.written = spec_of_symbols(self.spec, self.spec.model)

    @lazy_property
    def ids(self) -> dict[bytes, int]:
        """The ids of ordinary tokens."""
        return {token: token_id for token_id, token in self.spec.vocab.items()}

    @lazy_property
    def ranks(self) -> dict[tuple[int, int], tuple[int, int]]:
        """The rank of each listed merge, and what it makes."""
        return {(left, right): (rank, made) for rank, (left, right, made) in enumerate(self.spec.merges or ())}

    def of_text(self, data: bytes, tokenizer: Tokenizer, allowed: Selection) -> Iterator[PretokenTrace]:
        for pretokens, token_id, token in self.encoder.call(tokenizer._parts.specials.matcher(allowed)).parts(data):
            yield from self._of_pretokens(pretokens)
            if token_id is not None:
                yield PretokenTrace(token, "special", (token,), (), (), (token_id,))

    def _of_pretokens(self, pretokens: list[bytes]) -> Iterator[PretokenTrace]:
        is_unknown = False
        for pretoken in pretokens:
            ends = np.array([len(pretoken)], np.int64)
            ids = tuple(self.encoder.encode_pretokens(pretoken, ends).tolist())
            model = self.spec.model
            if isinstance(model, WordLevelModel) and model.fuses:
                was, is_unknown = is_unknown, ids == (model.unknown,)
                ids = () if was and is_unknown else ids
            yield self._traced(pretoken, ids)

    def _traced(self, pretoken: bytes, ids: tuple[int, ...]) -> PretokenTrace:
        model = self.spec.model
        if isinstance(model, UnigramModel):
            return PretokenTrace(pretoken, "lattice", (), (), tuple(self._edges(pretoken, ids, model)), ids)
        is_whole = self.spec.whole_pretokens and pretoken in self.ids
        if is_whole or isinstance(model, WordLevelModel):
            return PretokenTrace(pretoken, "whole", (pretoken,), (), (), ids)
        if model is not None:
            prefix = model.prefix.encode() if isinstance(model, WordPieceModel) else b""
            is_split = isinstance(model, LongestMatchModel) or ids != (model.unknown,)
            steps = tuple(self._matches(pretoken, ids, prefix)) if is_split else ()
            return PretokenTrace(pretoken, "longest", (pretoken,), steps, (), ids)
        symbols = self._symbols(pretoken)
        start = tuple(token for token, _ in symbols)
        return PretokenTrace(pretoken, "merges", start, tuple(self._merges(symbols)), (), ids)

    # -- BPE -----------------------------------------------------------------------------------------------

    def _symbols(self, pretoken: bytes) -> list[tuple[bytes, int | None]]:
        """Return the symbols of a pretoken and their ids; the id of a symbol that never merges is None."""
        characters = self.spec.characters
        if characters is None:
            return [(pretoken[at : at + 1], self.ids[pretoken[at : at + 1]]) for at in range(len(pretoken))]
        if characters.are_bytes:
            units = [pretoken[at : at + 1] for at in range(len(pretoken))]
        else:
            text = pretoken.decode("utf-8", "surrogateescape")
            units = [char.encode("utf-8", "surrogateescape") for char in text]
        prefix, end = characters.prefix.encode(), characters.end_of_word.encode()
        symbols: list[tuple[bytes, int | None]] = []
        for place, unit in enumerate(units):
            is_end = place == len(units) - 1 and not characters.end_apart
            token = (prefix if place else b"") + unit + (end if is_end else b"")
            symbols += self._of_unit(token, unit, characters, symbols)
        # an unknown character is no symbol that the end of a word could merge with
        return [*symbols, (end, self.ids[end])] if characters.end_apart and symbols[-1][1] is not None else symbols

    def _of_unit(
        self, token: bytes, unit: bytes, characters: Characters, before: list[tuple[bytes, int | None]]
    ) -> list[tuple[bytes, int | None]]:
        if token in self.ids and self.ids[token] != characters.unknown:
            return [(token, self.ids[token])]
        if characters.byte_ids:
            return [(unit[at : at + 1], None) for at in range(len(unit))]
        some = dict(characters.some_byte_ids)
        if some and some.keys() >= set(unit):
            return [(bytes((byte,)), some[byte]) for byte in unit]
        if characters.unknown is None:
            return []
        if characters.fuse_unknown and before and before[-1][1] is None:
            before[-1] = (before[-1][0] + unit, None)
            return []
        return [(unit, None)]

    def _merges(self, symbols: list[tuple[bytes, int | None]]) -> Iterator[Step]:
        while True:
            best: tuple[int, int, int] | None = None
            for place, ((left, left_id), (right, right_id)) in enumerate(pairwise(symbols)):
                if left_id is None or right_id is None:
                    continue
                found = self._merge(left + right, left_id, right_id)
                if found is not None and (best is None or found[0] < best[0]):
                    best = (found[0], place, found[1])
            if best is None:
                return
            rank, place, made = best
            token = self.spec.vocab[made]
            symbols[place : place + 2] = [(token, made)]
            yield Step(place, token, self.written.get(made, made), rank, tuple(each for each, _ in symbols))

    def _merge(self, joined: bytes, left: int, right: int) -> tuple[int, int] | None:
        """Return the rank of a merge and what it makes."""
        if self.spec.merges is not None:
            return self.ranks.get((left, right))
        made = self.ids.get(joined)
        return None if made is None else (made, made)

    # -- longest matches and lattices ----------------------------------------------------------------------

    def _matches(self, pretoken: bytes, ids: tuple[int, ...], prefix: bytes) -> Iterator[Step]:
        """Yield the longest matches, which are the tokens in order."""
        done: list[bytes] = []
        at = 0
        for place, token_id in enumerate(ids):
            token = self.spec.vocab.get(token_id, b"")
            done.append(token)
            at += len(token.removeprefix(prefix) if place else token)
            rest = (pretoken[at:],) if at < len(pretoken) else ()
            yield Step(place, token, token_id, None, (*done, *rest))

    @lazy_property
    def scores(self) -> tuple[dict[bytes, tuple[int, float]], float, int]:
        """The id and score of each token, the score of an unknown character, and the longest token."""
        model = self.spec.model
        assert isinstance(model, UnigramModel)
        unused = () if self.spec.characters is None else frozenset(self.spec.characters.unused)
        pieces = {token_id: token for token_id, token in self.spec.vocab.items() if token_id not in unused}
        scores, unknown = piece_scores(model, pieces)
        rows = zip(pieces.items(), scores.tolist(), strict=True)
        known = {token: (token_id, score) for (token_id, token), score in rows if token}
        if model.unnamed and self.spec.characters is not None and self.spec.characters.unknown is not None:
            known |= {token: (self.spec.characters.unknown, score) for token, score in model.unnamed}
        return known, unknown, max(map(len, known))

    def _edges(self, pretoken: bytes, ids: tuple[int, ...], model: UnigramModel) -> Iterator[Edge]:
        """Yield all tokens that fit at each character, and whether the path of the ids takes them."""
        known, unknown_score, longest = self.scores
        best, at = {}, 0
        byte_ids = () if self.spec.characters is None else self.spec.characters.byte_tokens.values()
        for token_id in ids:
            token = self.spec.vocab.get(token_id, b"")
            is_known = pretoken.startswith(token, at) and token and token_id not in byte_ids
            if is_known:
                best[at, at + len(token)] = token_id
                at += len(token)
            elif token_id in byte_ids:
                best[at, at + 1] = token_id
                at += 1
            else:  # unknown characters in a row are one id
                end = at
                while end < len(pretoken) and (end == at or not any(
                    pretoken[end : end + size] in known for size in range(1, longest + 1)
                )):
                    end += 1
                best[at, end] = token_id
                at = end
        for start in range(len(pretoken)):
            for end in range(start + 1, min(start + longest, len(pretoken)) + 1):
                found = known.get(pretoken[start:end])
                if found is not None:
                    yield Edge(start, end, found[0], found[1], best.pop((start, end), None) == found[0])
        for (start, end), token_id in sorted(best.items()):
            yield Edge(start, end, token_id, unknown_score, True)
