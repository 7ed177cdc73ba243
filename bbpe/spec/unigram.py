"""Translate Unigram specs to compiled models: the strings that are searched in texts, and the score of each."""

from __future__ import annotations

from array import array
from collections.abc import Mapping

from ..core import unigram as core
from ..splitting.patterns import PATTERNS, Pattern
from ..splitting.scheme import Scheme
from .models import UnigramModel, Vocab
from .rules import AT_BLANKS, BYTE_KEYS, SPACE_MARK
from .spec import TokenizerSpec, byte_tokens, other_tokens

#: A character without a token scores this much less than the lowest token, in SentencePiece and HF's `tokenizers`.
UNKNOWN_PENALTY = 10.0


def unigram_model(spec: TokenizerSpec) -> core.CompiledUnigram:
    """Return the compiled model of a spec with a Unigram model."""
    assert isinstance(spec.model, UnigramModel)
    assert spec.characters is not None
    pieces, scores, unknown_score = scored_pieces(spec)
    spelled = spec.characters.byte_tokens
    # where texts have the unknown token, too, only a run of what is unknown shows how that is written
    is_whole = len(spelled) == 256 and spec.characters.unknown not in pieces
    return core.CompiledUnigram(
        pieces,
        scores,
        unknown_score=unknown_score,
        unknown=spec.characters.unknown,
        byte_ids=[spelled[byte] for byte in range(256)] if is_whole else (),
        some_byte_ids={} if is_whole else spelled,
        runs=runs_of(spec, pieces),
        named=first_unnamed(spec) if spec.model.finds_runs or spec.model.unnamed else None,
        is_float=spec.model.is_float,
    )


def with_unknown_bytes(spec: TokenizerSpec, model: core.CompiledUnigram) -> core.UnknownBytes:
    """Return the compiled model of a spec whose unknown bytes have the ids from `spec.vocab_size` on."""
    assert isinstance(spec.model, UnigramModel)
    assert spec.characters is not None
    first = first_unnamed(spec)
    unknown = spec.characters.unknown
    is_whole = spec.model.is_float or unknown not in spec.vocab or unknown in spec.characters.unused
    return core.UnknownBytes(model, range(spec.vocab_size, first), is_whole, first + len(spec.model.unnamed))


def first_unnamed(spec: TokenizerSpec) -> int:
    """Return the id that the first piece without one has in a compiled model, after those of unknown bytes."""
    return spec.vocab_size + 256


def runs_of(spec: TokenizerSpec, pieces: Mapping[int, bytes]) -> dict[int, bytes] | None:
    """Return the tokens that only a run of unknown characters becomes; `None` where no run becomes a token."""
    assert isinstance(spec.model, UnigramModel)
    if not spec.model.finds_runs:
        return None
    tokens = {**other_tokens(spec), **spec.vocab}
    return {token_id: token for token_id, token in tokens.items() if token_id not in pieces}


def scored_pieces(spec: TokenizerSpec) -> tuple[Vocab, array[float], float]:
    """Return the strings that are searched in texts, their scores, and the score of a character without a token."""
    assert isinstance(spec.model, UnigramModel)
    assert isinstance(spec.vocab, Vocab)
    assert spec.characters is not None
    # `tokenizers` finds the text of the unknown token as that of any other piece; SentencePiece never does
    left_out = {*spec.characters.unused, *([spec.characters.unknown] if spec.model.is_float else ())}
    left_out &= {token_id for token_id in left_out if token_id in spec.vocab}
    literals = {} if spec.model.is_float else _literals(spec, spec.model)
    pieces = Vocab.of_changed(spec.vocab, left_out, literals) if left_out or literals else spec.vocab
    scores, unknown_score = piece_scores(spec.model, pieces)
    if spec.model.unnamed:
        unnamed = enumerate((token for token, _ in spec.model.unnamed), first_unnamed(spec))
        pieces = Vocab.of_changed(pieces, (), dict(unnamed))
        scores.extend(array("d", array("f", [score for _, score in spec.model.unnamed])))
    return pieces, scores, unknown_score


def unigram_scheme(pattern: Pattern) -> Scheme | None:
    """Return the scheme of a pattern that does not split or splits before blanks; `None` for any other pattern."""
    if pattern == PATTERNS["none"]:
        return Scheme(joins=b"\xff" * 8192)
    if pattern.steps == AT_BLANKS and not pattern.drops_gaps:
        # a bit for each second byte, the lowest one first
        after_each = ~(1 << ord(" ")) % (1 << 256)
        return Scheme(joins=after_each.to_bytes(32, "little") * 256)
    return None


def piece_scores(model: UnigramModel, pieces: Mapping[int, bytes]) -> tuple[array[float], float]:
    """Return the scores of pieces, float64[n], and the score of a character without a token."""
    found = array("d", [model.scores[token_id] for token_id in pieces])
    if not model.is_float:
        return found, min(model.scores, default=0.0) - UNKNOWN_PENALTY
    found = array("d", array("f", found))
    chosen = frozenset(model.user_defined)
    normal = [score for token_id, score in zip(pieces, found, strict=True) if token_id not in chosen]
    normal += [score for _, score in model.unnamed]
    for number, token_id in enumerate(pieces):
        if token_id in chosen:  # 0.1 for each byte in the file except the first; above 0, so the token always wins
            found[number] = _float32(0.1 * (len(pieces[token_id].replace(b" ", SPACE_MARK.encode())) - 1))
    return found, _float32(_float32(min(normal, default=0.0)) - UNKNOWN_PENALTY)


def _float32(number: float) -> float:
    return array("f", [number])[0]


def _literals(spec: TokenizerSpec, model: UnigramModel) -> dict[int, bytes]:
    """Return the ids and names of byte tokens ("<0x0A>"), which HF's `tokenizers` finds in texts like other tokens.

    Special and added tokens are left out: only the special-token policy of a call may find them in a text.
    """
    assert spec.characters is not None
    assert isinstance(spec.vocab, Vocab)
    found = ((token_id, BYTE_KEYS[byte].encode()) for token_id, byte in byte_tokens(spec).items())
    count = len(model.scores)
    return {token_id: key for token_id, key in found if token_id < count and not spec.vocab.has_token(key)}
