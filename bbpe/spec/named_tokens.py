"""The tokens that the files of a model name by their use: padding, beginning and end of a text, unknown."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from ..errors import VocabularyError
from .models import WordLevelModel, WordPieceModel
from .spec import TokenizerSpec

#: The uses, with the names of HF's `transformers`.
USES = ("pad", "bos", "eos", "unk", "cls", "sep", "mask")
_CONFIG, _MAP = "tokenizer_config.json", "special_tokens_map.json"


def named_tokens(spec: TokenizerSpec) -> dict[str, str]:
    """Return the texts of tokens by their uses, without the uses that have none.

    The names of the spec take precedence over the files, which its class or its model has read already.

    Raises `VocabularyError` naming the file and the field that does not have a text.
    """
    found = {use: spec.names[use] for use in USES if use in spec.names}
    sources = () if found else _sources(spec)
    for use in USES:
        field = f"{use}_token"
        name, values = next(((name, values) for name, values in sources if field in values), ("", {}))
        value = values.get(field)
        text = value.get("content") if isinstance(value, dict) else value
        if text is not None and not isinstance(text, str):
            raise VocabularyError(f"found {text!r}; expected the text of a token", path=name, place=field)
        if text is not None:
            found[use] = text
    unknown = spec.model.unknown if isinstance(spec.model, WordPieceModel | WordLevelModel) else None
    if spec.characters is not None:
        unknown = spec.characters.unknown
    pad = None if spec.padding is None else (spec.padding.pad_token, spec.padding.pad_id)
    for text, token_id in (*spec.special_tokens.items(), *spec.added_tokens.items()):
        if token_id == unknown:
            found.setdefault("unk", text)
        if (text, token_id) == pad:
            found.setdefault("pad", text)
    if unknown is not None and unknown in spec.vocab:
        found.setdefault("unk", spec.vocab[unknown].decode("utf-8", "replace"))
    return found


def template_tokens(spec: TokenizerSpec, named: Mapping[str, str]) -> dict[str, str]:
    """Return the variables of chat templates that are tokens: those of the uses, then `image_token` and others.

    `transformers` takes the others from fields of a `tokenizer_config.json` whose names end in `_token`, and from its
    table `extra_special_tokens`.
    """
    found: dict[str, str] = {}
    for _, values in reversed(_sources(spec)):
        tables = (values.get(table) for table in ("extra_special_tokens", "model_specific_special_tokens"))
        rows = [values, *(table for table in tables if isinstance(table, dict))]
        for number, row in enumerate(rows):
            for key, value in row.items():
                text = value.get("content") if isinstance(value, dict) else value
                if isinstance(text, str) and (number or key.endswith("_token")):
                    found[key] = text
    uses = {f"{use}_token" for use in USES}
    named_by_use = {f"{use}_token": named[use] for use in USES if use in named}
    return {**{key: text for key, text in found.items() if key not in uses}, **named_by_use}


def _sources(spec: TokenizerSpec) -> list[tuple[str, dict[str, Any]]]:
    """Return the files that name tokens and their fields; the first file with a field takes precedence.

    As in `transformers`, `special_tokens_map.json` counts only beside a configuration without `added_tokens_decoder`,
    which is older, and then it replaces the fields of the configuration.
    """
    config, names = (_object(spec.files.get(name)) for name in (_CONFIG, _MAP))
    is_older = config.get("added_tokens_decoder") is None
    return [*([(_MAP, names)] if is_older else []), (_CONFIG, config)]


def _object(data: bytes | None) -> dict[str, Any]:
    try:
        value = json.loads(data) if data else {}
    except (ValueError, RecursionError):
        return {}  # such a file has no effect; it is only saved again
    return value if isinstance(value, dict) else {}
