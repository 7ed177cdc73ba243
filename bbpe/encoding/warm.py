"""Make and import before the first text what a tokenizer makes and imports at its first calls."""

from __future__ import annotations

from contextlib import suppress
from typing import Any

from ..errors import VocabularyError
from ..lazy import in_gate, safe_import

_PACKAGE = __name__.partition(".")[0]
#: Words, digits, blanks, and characters beyond ASCII, which normalizers have more to do with.
_TEXT = "See 12 e\u0301\u00e9\u4e2d,\n"
#: A text so many times as long has all tables of an encoder made.
_TIMES = 1 << 11
#: Modules of this package that methods of a tokenizer import when they are called.
_OWN = """
compat.chat compat.sentencepiece compat.tokenizers
encoding.chunks encoding.file_ids encoding.nbest encoding.places encoding.words
formats formats.huggingface.oniguruma formats.huggingface.unigram formats.huggingface.words formats.saving
formats.transformers.classes formats.transformers.load
pipeline.charsmap pipeline.compiled_normalizers pipeline.pre_tokenizer_steps pipeline.scripts
published.names published.table
report.trace report.view
spec.characters spec.fingerprint spec.pickled spec.unigram splitting.automaton splitting.recogniser
tiktoken.core
"""
#: Modules that are not of this package.
_OTHERS = """
base64 copy dataclasses difflib gzip hashlib numpy random regex secrets shutil string tempfile zlib
"""


def warm_up(tokenizer: Any) -> None:
    """Import what methods of a `Tokenizer` import, and make the usual calls once.

    Each call makes the tables, policies and automatons that it keeps.
    """
    in_gate(_import_all)
    with suppress(ImportError, VocabularyError):  # no jinja2, or a template that is malformed
        safe_import(f"{_PACKAGE}.compat.chat").warm_up(tokenizer.spec)
    with suppress(VocabularyError):  # from a pattern without a version
        _ = tokenizer.unicode_version
    ids: list[int] = tokenizer.encode(_TEXT)
    tokenizer.count_tokens(_TEXT * _TIMES)
    for options in ({"allowed_special": ()}, {"allowed_special": "all"}, {"disallowed_special": "all"}):
        for adds in (False, True):
            ids = tokenizer.encode(_TEXT, add_special_tokens=adds, **options) or ids
            tokenizer.encode_batch([_TEXT], add_special_tokens=adds, **options)
            tokenizer.encode_padded([_TEXT], max_length=1 << 20, pad_id=0, add_special_tokens=adds, **options)
        tokenizer.count_tokens(_TEXT, **options)
        with suppress(VocabularyError):  # from a rule without offsets
            tokenizer.encode_with_offsets(_TEXT, **options)
    for skips in (False, True):
        tokenizer.decode(ids, skip_special_tokens=skips)
        tokenizer.decode_batch([ids], skip_special_tokens=skips)
        stream = tokenizer.stream_decoder(skip_special_tokens=skips)
        for token_id in ids:
            stream.push(token_id)


def _import_all() -> None:
    for name in (*(f"{_PACKAGE}.{own}" for own in _OWN.split()), *_OTHERS.split()):
        safe_import(name)
    safe_import(f"{_PACKAGE}.files").system_folder()
    for row in safe_import(f"{_PACKAGE}.formats").FORMATS.values():
        _ = row.module
