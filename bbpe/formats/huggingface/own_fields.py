"""The field `bbpe` of a model in a `tokenizer.json`: options that the format lacks.  HF's `tokenizers` ignores it."""

from __future__ import annotations

from typing import Any

from ...files import StrPath
from ...records import dataclass
from ...spec.models import UnigramModel
from ...spec.spec import TokenizerSpec
from ..reading import Fields, shown

#: The name of the field.
OWN = "bbpe"
_FLOAT = "float32"


@dataclass(frozen=True)
class OwnFields:
    """The options in the field.

    `is_float`: a Unigram model sums scores as SentencePiece does.  `user_defined`: the ids of tokens of a Unigram model
    that score by their length.  `unknown_text`: the text that decoding writes for the unknown token, `None` for the
    token itself.
    """

    is_float: bool = False
    user_defined: tuple[int, ...] = ()
    unknown_text: str | None = None


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
    own.done()
    return OwnFields(is_float, tuple(user_defined), text)


def write_own_fields(spec: TokenizerSpec) -> dict[str, Any]:
    """Return the field of a model by its name; empty if the format can express the whole spec."""
    fields: dict[str, Any] = {}
    if isinstance(spec.model, UnigramModel) and spec.model.is_float:
        fields |= {"sums": _FLOAT, "user_defined": list(spec.model.user_defined)}
    if spec.characters is not None and spec.characters.unknown_text is not None:
        fields["unknown_text"] = spec.characters.unknown_text
    return {OWN: fields} if fields else {}
