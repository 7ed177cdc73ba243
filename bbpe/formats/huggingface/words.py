"""The models `WordPiece` and `WordLevel` of a `tokenizer.json`: words, or their parts, with ids."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

from ...spec.models import Vocab, WordLevelModel, WordPieceModel
from ...spec.spec import TokenizerSpec, keys_of_text
from ..common.key_tables import KeyTable
from ..common.keys import check_ids, check_well_formed, key_of_unknown, take_unused, without_added
from ..common.reading import Fields

_UNKNOWN = {"WordPiece": "[UNK]", "WordLevel": "<unk>"}


def read_words(fields: Fields, special: Collection[str]) -> tuple[Vocab, WordPieceModel | WordLevelModel]:
    """Return the vocabulary and the model of the field `model`.

    In WordLevel `special` tokens are not words, so they are plain text unless a call allows them.  Words without tokens
    are left out if the vocabulary does not have `unk_token`; `tokenizers` cannot encode them.
    """
    kind = fields.take("type")
    unknown = fields.take_type("unk_token", str, _UNKNOWN[kind])
    if kind == "WordPiece":
        prefix = fields.take_type("continuing_subword_prefix", str, "##")
        most = fields.take_int("max_input_chars_per_word", 0, (1 << 64) - 1, 100)
    place = fields.at("vocab")
    if isinstance(fields.peek("vocab"), KeyTable):
        keys: KeyTable = fields.take("vocab")
    else:
        found = check_ids(fields.take_type("vocab", dict), path=fields.path, place=place)
        check_well_formed(found, path=fields.path, place=place)
        keys = KeyTable.of(found)
    take_unused(fields)
    fields.done()
    if kind == "WordPiece":
        return Vocab.of_changed(keys.table, (), {}), WordPieceModel(keys.get(unknown), prefix, most)
    left_out = keys.ids([key for key in special if key in keys])
    return Vocab.of_changed(keys.table, left_out, {}), WordLevelModel(keys.get(unknown))


def write_words(spec: TokenizerSpec, model: WordPieceModel | WordLevelModel) -> dict[str, Any]:
    """Return the field `model` of a `tokenizer.json`.

    Special and added tokens that are not words are only in `added_tokens`, and HF's `tokenizers` gives them the next
    ids.  In the vocabulary of the model they would also match words.
    """
    keys = keys_of_text(spec)
    if isinstance(model, WordPieceModel):
        words = without_added(spec, keys, {key for key, token_id in keys.items() if token_id not in spec.vocab})
        return {
            "type": "WordPiece",
            "unk_token": key_of_unknown(words, model.unknown, _UNKNOWN["WordPiece"]),
            "continuing_subword_prefix": model.prefix,
            "max_input_chars_per_word": model.max_characters,
            "vocab": words,
        }
    last = max((token_id for token_id, _ in spec.vocab.items()), default=-1)
    # those before the last word need their place in the vocabulary
    tokens = (*spec.added_tokens.items(), *spec.special_tokens.items())
    outside = {text for text, token_id in tokens if token_id > last and token_id not in spec.modelled}
    words = without_added(spec, keys, outside)
    unknown = key_of_unknown(words, model.unknown, _UNKNOWN["WordLevel"])
    return {"type": "WordLevel", "vocab": words, "unk_token": unknown}
