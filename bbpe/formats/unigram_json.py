"""The pieces and scores of a Unigram model alone: the `unigram.json` that `save_model` of HF's `tokenizers` writes.

The file does not say how texts are normalized and split.  `SentencePieceUnigramTokenizer`, the class that has this
method, applies NFKC after SentencePiece's old rules for control characters, squeezes blanks, and puts U+2581 in front
of words.  The pieces that it was given as special tokens have the score 0, which no trained piece has.
"""

from __future__ import annotations

import json
from pathlib import Path

from ..errors import VocabularyError
from ..files import StrPath
from ..records import replace
from ..spec.models import UnigramModel
from ..spec.spec import TokenizerSpec
from .common.given import Given
from .common.keys import keys_of_characters, keys_of_rows
from .common.reading import Fields, read_json
from .huggingface.tokenizer_json import read_document
from .transformers.documents import metaspace, replaced
from .transformers.names import refused_class

_SPECIAL = {"special": True, **dict.fromkeys(("lstrip", "rstrip", "single_word", "normalized"), False)}
_NORMALIZERS = [{"type": "Nmt"}, {"type": "NFKC"}, replaced(" {2,}", " ", is_regex=True)]
_NOTE = (
    "unigram.json does not say how texts are normalized and split; ids are those of SentencePieceUnigramTokenizer of "
    "tokenizers with its usual options, and another tokenizer's are in its tokenizer.json"
)


def load(path: StrPath, given: Given) -> TokenizerSpec:
    """Read the pieces of a model; `special_tokens` replaces the pieces of the score 0.

    Raises `VocabularyError` with the row that is not a piece and its score, and in the folder of a class, because none
    reads such a file.
    """
    folder = given.folder_of(Path(path))
    if folder.stated[0]:
        raise refused_class(folder, "reads no unigram.json; expected a folder without a class, or a tokenizer.json")
    model = Fields(read_json(path), path=path, place="")
    rows = model.peek("vocab")
    listed = [row[0] for row in rows if isinstance(row, list) and row[1:] == [0]] if isinstance(rows, list) else []
    keys = keys_of_rows(rows)
    value = {
        "added_tokens": [{"id": keys[text], "content": text, **_SPECIAL} for text in listed if text in keys],
        "normalizer": {"type": "Sequence", "normalizers": _NORMALIZERS},
        "pre_tokenizer": metaspace("always"),
        "decoder": metaspace("always"),
        "model": {"type": "Unigram", **{name: model.peek(name) for name in model.names()}},
    }
    return replace(read_document(value, path, given), notes=(_NOTE,))


def written(spec: TokenizerSpec, path: Path) -> dict[Path, bytes]:
    """Return the pieces of a model without its rules; `VocabularyError` on a spec of another model."""
    model, characters = spec.model, spec.characters
    if not isinstance(model, UnigramModel) or characters is None:
        raise VocabularyError("unigram.json holds only the pieces of Unigram models; write tokenizer.json")
    keys = {token_id: key for key, token_id in keys_of_characters(spec).items()}
    value = {
        "type": "Unigram", "unk_id": characters.unknown,
        "vocab": [[keys[token_id], score] for token_id, score in enumerate(model.scores)],
        "byte_fallback": bool(characters.byte_tokens),
    }  # fmt: skip
    return {path: json.dumps(value, ensure_ascii=False).encode()}
