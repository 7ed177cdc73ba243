"""WordPiece: BERT's `vocab.txt` with one token on each line.

A `vocab.txt` does not contain the rules for texts.  They come from the class and the options in the
`tokenizer_config.json` of its folder.  Without a class texts are lower-cased unless a token has an upper-case letter,
because no lower-cased text could match such a token.
"""

from __future__ import annotations

import json
from pathlib import Path

from ..errors import VocabularyError
from ..files import StrPath
from ..lazy import safe_import
from ..spec.models import WordPieceModel
from ..spec.rules import BertNormalizer, BertPreTokenizer
from ..spec.spec import TextRules, TokenizerSpec, keys_of_text
from .common.given import Given
from .common.reading import read_json, read_text
from .rows import FORMATS

NAMES = FORMATS["wordpiece"].names
_UNKNOWN = "[UNK]"
_SPECIALS = ("[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]")
_CONFIG = "tokenizer_config.json"


def load(path: StrPath, given: Given) -> TokenizerSpec:
    """Read a `vocab.txt`; the id of a token is its line number, from 0.  `pattern` replaces BERT's pre-tokenizer.

    Raises `VocabularyError` with file and line on a repeated token, and with the field on a class that reads such a
    file by other rules and on a token of the class that is missing.
    """
    safe_import("bbpe.formats.transformers.load")
    from .transformers.load import load_words

    file = Path(path) / NAMES[0][0] if Path(path).is_dir() else path
    return load_words(Path(file), _read(file), given)


def written(spec: TokenizerSpec, path: Path) -> dict[Path, bytes]:
    """Return a `vocab.txt`; for a folder, also a `tokenizer_config.json` with the options of BERT's rules.

    Other fields of an existing configuration are kept.

    Raises `VocabularyError` when the spec is not WordPiece with BERT's rules, when ids have a gap, and when a token has
    a line break.
    """
    model = spec.model
    if not isinstance(model, WordPieceModel):
        raise VocabularyError("vocab.txt holds only WordPiece; write tokenizer.json")
    normalizers = spec.rules.normalizers
    bert = normalizers[0] if len(normalizers) == 1 else None
    plain = spec.rules == TextRules(normalizers, None, (BertPreTokenizer(),)) and not spec.token_options
    usual = (model.prefix, model.max_characters) == ("##", 100)
    if not isinstance(bert, BertNormalizer) or not plain or not usual:
        raise VocabularyError(
            "readers of vocab.txt use BERT's rules, but this tokenizer has others; write tokenizer.json"
        )
    keys = keys_of_text(spec)
    if keys.get(_UNKNOWN) != model.unknown:
        raise VocabularyError(
            f"the unknown token of this tokenizer is not {_UNKNOWN}, as vocab.txt requires; write tokenizer.json",
        )
    gap = next((number for number, token_id in enumerate(keys.values()) if token_id != number), None)
    if gap is not None:
        raise VocabularyError(f"no token has id {gap}; expected ids without a gap, one for each line")
    broken = next((key for key in keys if "\n" in key or key.endswith("\r")), None)
    if broken is not None:
        raise VocabularyError(f"token {broken!r} has a line break; expected one line for each token")
    data = "".join(f"{key}\n" for key in keys).encode()
    if path.suffix and not path.is_dir():
        return {path: data}
    return {path / NAMES[0][0]: data, path / _CONFIG: _config(spec, bert, path / _CONFIG)}


def _read(path: StrPath) -> dict[str, int]:
    lines = read_text(path).split("\n")
    if lines[-1] == "":
        lines.pop()
    keys: dict[str, int] = {}
    for number, line in enumerate(lines):
        key = line.rstrip("\r")
        if keys.setdefault(key, number) != number:
            problem = f"token {key!r} is also on line {keys[key] + 1}; expected each token once"
            raise VocabularyError(problem, place=f"line {number + 1}")
    return keys


def _config(spec: TokenizerSpec, bert: BertNormalizer, path: Path) -> bytes:
    found = read_json(path) if path.is_file() else None
    options = {
        **(found if isinstance(found, dict) else {}),
        "do_lower_case": bert.lowercase,
        "strip_accents": bert.strip_accents,
        "tokenize_chinese_chars": bert.cjk_apart,
    }
    # the class adds the tokens that are missing, so a vocabulary without them has none
    has_all = all(text in spec.special_tokens for text in _SPECIALS)
    return json.dumps({**options, **({"tokenizer_class": "BertTokenizer"} if has_all else {})}).encode()
