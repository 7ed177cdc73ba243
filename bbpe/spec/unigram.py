"""Unigram vocabularies as the models that encode: which strings are found in texts, and what each scores."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import numpy.typing as npt

from ..core import unigram as core
from ..splitting.patterns import PATTERNS, Pattern
from ..splitting.scheme import Scheme
from .models import UnigramModel
from .rules import BLANK, BYTE_KEYS
from .spec import TokenizerSpec

#: What a character without a token scores less than the lowest token, in SentencePiece and HF's `tokenizers`.
UNKNOWN_PENALTY = 10.0
#: The pattern of HF's Metaspace that splits, where blanks are its marks.
AT_BLANKS = (r" [^ ]*|[^ ]+",)


def unigram_model(spec: TokenizerSpec) -> core.UnigramModel:
    """Return the model of a spec that has one of the kind Unigram."""
    assert isinstance(spec.model, UnigramModel)
    assert spec.characters is not None
    pieces = spec.vocab if spec.model.is_float else {**spec.vocab, **_literals(spec, spec.model)}
    scores, unknown_score = piece_scores(spec.model, pieces)
    return core.UnigramModel(
        pieces,
        scores,
        unknown_score=unknown_score,
        unknown=spec.characters.unknown,
        byte_ids=spec.characters.byte_ids,
        is_float=spec.model.is_float,
    )


def unigram_scheme(pattern: Pattern) -> Scheme | None:
    """Return the scheme that cuts as a pattern does which knows of nothing but blanks."""
    if pattern == PATTERNS["none"]:
        return Scheme(joins=b"\xff" * 8192)
    if pattern.steps == AT_BLANKS and not pattern.drops_gaps:
        bits = np.ones((256, 256), np.bool_)
        bits[:, ord(" ")] = False
        return Scheme(joins=np.packbits(bits.reshape(-1), bitorder="little").tobytes())
    return None


def piece_scores(model: UnigramModel, pieces: Mapping[int, bytes]) -> tuple[npt.NDArray[np.float64], float]:
    """Return the scores of pieces, float64[n], and that of a character without one."""
    found = np.array([model.scores[token_id] for token_id in pieces], np.float64)
    if not model.is_float:
        return found, min(model.scores, default=0.0) - UNKNOWN_PENALTY
    found = found.astype(np.float32).astype(np.float64)
    chosen = frozenset(model.user_defined)
    normal = [score for token_id, score in zip(pieces, found.tolist(), strict=True) if token_id not in chosen]
    for number, (token_id, token) in enumerate(pieces.items()):
        if token_id in chosen:  # by the bytes that it has in the file; more than 0, so that it is always taken
            found[number] = float(np.float32(0.1 * (len(token.replace(b" ", BLANK.encode())) - 1)))
    return found, float(np.float32(min(normal, default=0.0)) - np.float32(UNKNOWN_PENALTY))


def _literals(spec: TokenizerSpec, model: UnigramModel) -> dict[int, bytes]:
    """Return the ids of tokens of bytes as they are written, which HF's `tokenizers` finds in texts like any other.

    Special and added tokens are found by their own policy alone, so that no text from outside can bring them in.
    """
    assert spec.characters is not None
    known = set(spec.vocab.values())
    return {
        token_id: key.encode()
        for token_id, key in zip(spec.characters.byte_ids, BYTE_KEYS, strict=False)
        if token_id < len(model.scores) and key.encode() not in known
    }
