"""The field `bbpe` of a model in a `tokenizer.json`: options that the format lacks.  HF's `tokenizers` ignores it."""

from __future__ import annotations

import math
from collections.abc import Collection
from contextlib import suppress
from typing import Any

from ...files import StrPath
from ...records import dataclass
from ...spec.models import UnigramModel
from ...spec.spec import TokenizerSpec
from ..common.reading import Fields, shown

#: The name of the field.
OWN = "bbpe"
_FLOAT = "float32"


@dataclass(frozen=True)
class OwnFields:
    """The options in the field.

    `is_float`: a Unigram model sums scores as SentencePiece does.  `user_defined`: the ids of tokens of a Unigram model
    that score by their length.  `unknown_text`: the text that decoding writes for the unknown token, `None` for the
    token itself.  `scores`: ids and scores of a Unigram model that `tokenizers` reads from no number.
    """

    is_float: bool = False
    user_defined: tuple[int, ...] = ()
    unknown_text: str | None = None
    scores: tuple[tuple[int, float], ...] = ()


def read_own_fields(value: object, *, path: StrPath) -> OwnFields:
    """Return the field of a model; `VocabularyError` on content that `write_own_fields` does not write."""
    own = Fields(value, path=path, place=f"model.{OWN}")
    is_float = "sums" in own
    if is_float:
        own.only("sums", _FLOAT)
    user_defined = own.take_type("user_defined", list, [])
    wrong = next((item for item in user_defined if type(item) is not int or item < 0), None)
    if wrong is not None:
        own.refuse(f"found {shown(wrong)}; expected the id of a token", "user_defined")
    text = own.take_type("unknown_text", str) if "unknown_text" in own else None
    scores = [_score(own, row, number) for number, row in enumerate(own.take_type("scores", list, []))]
    own.done()
    return OwnFields(is_float, tuple(user_defined), text, tuple(scores))


def _score(own: Fields, row: Any, number: int) -> tuple[int, float]:
    """Return an id and a score, which is a string so that every reader of JSON keeps it as it is."""
    is_pair = type(row) is list and len(row) == 2 and type(row[0]) is int and row[0] >= 0 and type(row[1]) is str
    score = math.inf
    with suppress(ValueError):
        score = float(row[1]) if is_pair else score
    if not math.isfinite(score):
        own.refuse(f"found {shown(row)}; expected an id and a score as a string", f"scores[{number}]")
    return row[0], score


def write_own_fields(spec: TokenizerSpec, scores: Collection[tuple[int, float]] = ()) -> dict[str, Any]:
    """Return the field of a model by its name; empty if the format can express the whole spec.

    `scores` are those of `OwnFields`.
    """
    fields: dict[str, Any] = {}
    if isinstance(spec.model, UnigramModel) and spec.model.is_float:
        fields |= {"sums": _FLOAT, "user_defined": list(spec.model.user_defined)}
    if spec.characters is not None and spec.characters.unknown_text is not None:
        fields["unknown_text"] = spec.characters.unknown_text
    if scores:
        fields["scores"] = [[token_id, repr(score)] for token_id, score in scores]
    return {OWN: fields} if fields else {}
