"""The tokens that a model's files name by their use: padding, beginning and end of a text, unknown."""

from __future__ import annotations

import json
from typing import Any

from ..errors import VocabularyError
from .models import WordPieceModel
from .spec import TokenizerSpec

#: The uses, as HF's `transformers` names them.
USES = ("pad", "bos", "eos", "unk", "cls", "sep", "mask")
# the first file that names a token counts
_FILES = ("tokenizer_config.json", "special_tokens_map.json")


def named_tokens(spec: TokenizerSpec) -> dict[str, str]:
    """Return the texts of tokens by their uses; a use that no file names is not there.

    Raises `VocabularyError` naming the file and the field that is no token's text.
    """
    found: dict[str, str] = {}
    for name in _FILES:
        values = _object(spec.files.get(name))
        for use in USES:
            value = values.get(f"{use}_token")
            text = value.get("content") if isinstance(value, dict) else value
            if text is None:
                continue
            if not isinstance(text, str):
                raise VocabularyError(f"found {text!r}; expected the text of a token", path=name, place=f"{use}_token")
            found.setdefault(use, text)
    unknown = spec.model.unknown if isinstance(spec.model, WordPieceModel) else None
    if spec.characters is not None:
        unknown = spec.characters.unknown
    for text, token_id in (*spec.special_tokens.items(), *spec.added_tokens.items()):
        if token_id == unknown:
            found.setdefault("unk", text)
    return found


def _object(data: bytes | None) -> dict[str, Any]:
    try:
        value = json.loads(data) if data else {}
    except (ValueError, RecursionError):
        return {}  # the file is only carried along
    return value if isinstance(value, dict) else {}
