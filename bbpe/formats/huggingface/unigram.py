"""The Unigram model of a `tokenizer.json`: tokens in order of ids, with their scores."""

from __future__ import annotations

import sys
from array import array
from collections.abc import Collection
from typing import Any

from ...spec.models import UnigramModel, Vocab
from ...spec.rules import SPACE_MARK, Characters
from ...spec.spec import TokenizerSpec
from ...spec.unigram import piece_scores
from ..common.key_tables import KeyTable, ScoredKeys
from ..common.keys import keys_of_characters, read_keys
from ..common.reading import Fields, shown
from .own_fields import OWN, OwnFields, read_own_fields, write_own_fields
from .scores import score_of, written_score


def read_unigram(
    model: Fields, left_out: Collection[str], *, marks_blanks: bool
) -> tuple[Vocab, UnigramModel, Characters]:
    """Return the ordinary tokens, the model with their scores, and the options of characters.

    Byte tokens and the keys `left_out` are not ordinary tokens.  Raises `VocabularyError` on a
    row that is not a token with a score, and on a repeated token.
    """
    model.only("type", "Unigram")
    unknown = model.take("unk_id", None)
    byte_fallback = model.take_type("byte_fallback", bool, False)
    keys = _scored_keys(model)
    scores = keys.scores
    own = model.component(OWN, read_own_fields, OwnFields())
    for token_id, score in own.scores:
        if token_id >= len(scores):
            model.refuse(f"scores has the id {token_id}; expected ids of tokens", "bbpe")
        scores[token_id] = score
    model.done()
    if unknown is not None and (type(unknown) is not int or not 0 <= unknown < len(scores)):
        model.refuse(f"found {shown(unknown)}; expected the id of a token, or null", "unk_id")
    vocab, characters = read_keys(
        keys,
        Characters((), unknown, True, marks_blanks, unknown_text=own.unknown_text),
        byte_fallback=byte_fallback,
        left_out={key for key in left_out if key in keys},
        path=model.path,
        place=model.at("vocab"),
        needs_all=False,
    )
    if marks_blanks and characters.byte_tokens and unknown is not None and SPACE_MARK.encode() in keys.table[unknown]:
        problem = "the unknown token is a piece with U+2581, which is not supported together with byte_fallback"
        model.refuse(f"{problem}; expected another one, such as <unk>", "unk_id")
    if any(token_id >= len(scores) for token_id in own.user_defined):
        model.refuse("user_defined has an id without a token; expected ids of tokens", "bbpe")
    unigram = UnigramModel(tuple(scores), own.is_float, own.user_defined)
    return vocab, unigram, characters


def _scored_keys(model: Fields) -> ScoredKeys:
    """Take the keys and scores of a model."""
    if isinstance(model.peek("vocab"), ScoredKeys):
        found: ScoredKeys = model.take("vocab")
        return found
    keys: dict[str, int] = {}
    scores = array("d")
    for token_id, row in enumerate(model.take_type("vocab", list)):
        is_pair = type(row) is list and len(row) == 2 and type(row[0]) is str and type(row[1]) in (int, float)
        if not is_pair or not abs(row[1]) <= sys.float_info.max:
            model.refuse(f"found {shown(row)}; expected a token and its score", f"vocab[{token_id}]")
        if keys.setdefault(row[0], token_id) != token_id:
            model.refuse(f"token {row[0]!r} is listed twice; expected each token once", f"vocab[{token_id}]")
        scores.append(row[1] if type(row[1]) is float else score_of(str(row[1])))
    return ScoredKeys(KeyTable.of(keys).table, scores)


def write_unigram(spec: TokenizerSpec, model: UnigramModel) -> dict[str, Any]:
    """Return the model for HF's `tokenizers`, with SentencePiece's scores of user-defined tokens.

    HF's `tokenizers` sums scores as doubles.  The field `bbpe`, which it ignores, has the rule of this model, and the
    scores of doubles that no number in JSON gives to `tokenizers`.
    """
    assert spec.characters is not None
    scores = list(model.scores)
    if model.is_float:
        found, _ = piece_scores(model, spec.vocab)
        for token_id, score in zip(spec.vocab, found.tolist(), strict=True):
            scores[token_id] = score
    numbers = [written_score(score) for score in scores]
    lost = [] if model.is_float else [token_id for token_id, number in enumerate(numbers) if number is None]
    written = [score if number is None else number for number, score in zip(numbers, scores, strict=True)]
    keys = {token_id: key for key, token_id in keys_of_characters(spec).items()}
    return {
        "type": "Unigram",
        "unk_id": spec.characters.unknown,
        "vocab": [[keys[token_id], number] for token_id, number in enumerate(written)],
        "byte_fallback": bool(spec.characters.byte_tokens),
        **write_own_fields(spec, [(token_id, scores[token_id]) for token_id in lost]),
    }
