"""The model `WordPiece` of a `tokenizer.json`."""

from __future__ import annotations

from typing import Any

from ...spec.models import WordPieceModel
from ...spec.spec import TokenizerSpec, keys_of_text
from ..common.keys import check_ids, check_well_formed, key_of_unknown, take_unused, without_added
from ..common.reading import Fields

_UNKNOWN = "[UNK]"


def read_wordpiece(fields: Fields) -> tuple[dict[int, bytes], WordPieceModel]:
    """Return the vocabulary and model of the field `model` of a `tokenizer.json`.

    Words without tokens are left out if the vocabulary does not have `unk_token`; `tokenizers` cannot encode them.
    """
    fields.only("type", "WordPiece")
    unknown = fields.take_type("unk_token", str, _UNKNOWN)
    prefix = fields.take_type("continuing_subword_prefix", str, "##")
    most = fields.take_int("max_input_chars_per_word", 0, (1 << 64) - 1, 100)
    keys = check_ids(fields.take_type("vocab", dict), path=fields.path, place=fields.at("vocab"))
    take_unused(fields)
    fields.done()
    check_well_formed(keys, path=fields.path, place=fields.at("vocab"))
    vocab = {token_id: key.encode() for key, token_id in keys.items()}
    return vocab, WordPieceModel(keys.get(unknown), prefix, most)


def write_wordpiece(spec: TokenizerSpec, model: WordPieceModel) -> dict[str, Any]:
    """Return the field `model` of a `tokenizer.json`.

    Special and added tokens that are not words are only in `added_tokens`, and HF's `tokenizers` gives them the next
    ids.  In the vocabulary of the model they would also match words.
    """
    keys = keys_of_text(spec)
    words = without_added(spec, keys, {key for key, token_id in keys.items() if token_id not in spec.vocab})
    return {
        "type": "WordPiece",
        "unk_token": key_of_unknown(words, model.unknown, _UNKNOWN),
        "continuing_subword_prefix": model.prefix,
        "max_input_chars_per_word": model.max_characters,
        "vocab": words,
    }
