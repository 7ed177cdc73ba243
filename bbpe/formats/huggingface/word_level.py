"""The WordLevel model of a `tokenizer.json`: a table of words."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

from ...spec.models import WordLevelModel
from ...spec.spec import TokenizerSpec, keys_of_text
from ..common.keys import check_ids, check_well_formed, key_of_unknown, take_unused, without_added
from ..common.reading import Fields

_UNKNOWN = "<unk>"


def read_word_level(fields: Fields, special: Collection[str]) -> tuple[dict[int, bytes], WordLevelModel]:
    """Return the words and the model.  Special tokens are not words, so they are plain text unless a call allows them.

    Words without a token are left out if the vocabulary does not have `unk_token`; `tokenizers` cannot encode them.
    """
    fields.only("type", "WordLevel")
    unknown = fields.take_type("unk_token", str, _UNKNOWN)
    place = fields.at("vocab")
    keys = check_ids(fields.take_type("vocab", dict), path=fields.path, place=place)
    take_unused(fields)
    fields.done()
    check_well_formed(keys, path=fields.path, place=place)
    words = {token_id: key.encode() for key, token_id in keys.items() if key not in special}
    return words, WordLevelModel(keys.get(unknown))


def write_word_level(spec: TokenizerSpec, model: WordLevelModel) -> dict[str, Any]:
    """Return the field `model` of a `tokenizer.json`."""
    last = max((token_id for token_id, _ in spec.vocab.items()), default=-1)
    # those before the last word need their place in the vocabulary
    tokens = (*spec.added_tokens.items(), *spec.special_tokens.items())
    outside = {text for text, token_id in tokens if token_id > last and token_id not in spec.modelled}
    keys = without_added(spec, keys_of_text(spec), outside)
    return {"type": "WordLevel", "vocab": keys, "unk_token": key_of_unknown(keys, model.unknown, _UNKNOWN)}
