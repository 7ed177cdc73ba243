"""The vocabulary of a GGUF file with WordPiece (the model "bert"), and RWKV's longest matches (the model "rwkv").

For WordPiece llama.cpp marks the tokens that begin a word with U+2581, and not those that continue one; BERT's rules
apply to texts.
"""

from __future__ import annotations

import re

from ...lazy import lazy_re
from ...spec.models import LongestMatchModel, WordPieceModel
from ...spec.rules import SPACE_MARK, BertNormalizer, BertPreTokenizer, Template
from ...spec.spec import TextRules, TokenizerSpec, make_spec
from ...splitting.patterns import PATTERNS
from ..common.given import Given
from ..sentencepiece.piece_rows import BYTE, CONTROL, NORMAL, UNKNOWN, USER_DEFINED
from .fields import GGUFFields

BERT, RWKV = "bert", "rwkv"
_PREFIX = "##"
# BOS, the separator and the unknown token where the file does not name them, as in BERT
_USUAL_IDS = (101, 102, 100)
_BRACKETED = lazy_re(r"\[\w+\]")
_ESCAPED = lazy_re(rb"\\(?:x([0-9A-Fa-f]{2})|(.))", re.DOTALL)
_LETTERS = {b"t": b"\t", b"n": b"\n", b"r": b"\r"}


def read_bert(fields: GGUFFields, given: Given) -> TokenizerSpec:
    """Return the spec of a file whose model is "bert"; `pattern` replaces BERT's pre-tokenizer."""
    fields.text("pre", "default")
    fields.drop("merges")
    texts, kinds = fields.texts("tokens"), fields.counted_kinds()
    kinds, both = fields.retyped(texts, kinds)
    for key in ("add_bos_token", "add_sep_token"):
        fields.flag(key, True)  # llama.cpp adds both tokens, whatever the file says
    first, begin, last, unknown = (fields.token_id(key, len(texts)) for key in ("cls", "bos", "seperator", "unknown"))
    usual = [token_id if token_id < len(texts) else None for token_id in _USUAL_IDS]
    begin = _first_of(begin, usual[0], first)
    last, unknown = _first_of(last, usual[1]), _first_of(unknown, usual[2])
    lowers = fields.flag("normalizer.lowercase", True)
    strips = fields.flag("normalizer.strip_accents", lowers)
    fields.done()
    keys: dict[str, int] = {}
    special = {texts[token_id]: token_id for token_id in both}
    added: dict[str, int] = {}
    for token_id, (text, kind) in enumerate(zip(texts, kinds, strict=True)):
        is_plain = kind in (NORMAL, BYTE, USER_DEFINED) and not _BRACKETED.fullmatch(text)
        key = text if not is_plain else text.removeprefix(SPACE_MARK) if text[:1] == SPACE_MARK else _PREFIX + text
        if keys.setdefault(key, token_id) != token_id:
            fields.refuse_repeated(text, keys[key], token_id)
        if kind == USER_DEFINED:
            added[text] = token_id
        elif kind in (CONTROL, UNKNOWN) or token_id in (begin, last, unknown):
            special[key] = token_id
    if given.special_tokens is not None:
        special = dict(given.special_tokens)
    normalizer = BertNormalizer(strip_accents=strips, lowercase=lowers)
    rules = TextRules((normalizer,), None, (BertPreTokenizer(),) if given.pattern is None else ())
    return make_spec(
        {token_id: key.encode() for key, token_id in keys.items() if key},
        None,
        pattern=given.pattern_or(PATTERNS["none"]),
        special_tokens=special,
        added_tokens={text: token_id for text, token_id in added.items() if text not in special},
        name=given.name,
        rules=rules,
        template=_template(begin, last),
        model=WordPieceModel(keys.get("[UNK]") if unknown is None else unknown, _PREFIX),
    )


def _first_of(*ids: int | None) -> int | None:
    return next((token_id for token_id in ids if token_id is not None), None)


def _template(begin: int | None, last: int | None) -> Template | None:
    """Return the template that puts a token before texts and one after each."""
    first = () if begin is None else ((begin, 0),)
    ends = [() if last is None else ((last, kind),) for kind in (0, 1)]
    single: tuple[tuple[int | str, int], ...] = (*first, ("A", 0), *ends[0])
    return Template(single, (*single, ("B", 1), *ends[1])) if first or ends[0] else None


def read_rwkv(fields: GGUFFields, given: Given) -> TokenizerSpec:
    """Return the spec of a file whose model is "rwkv"; its tokens have escapes for bytes.

    llama.cpp finds control tokens in plain text too, and adds no token to a text.
    """
    fields.text("pre", "default")
    texts, kinds = fields.texts("tokens"), fields.counted_kinds()
    kinds, both = fields.retyped(texts, kinds)
    fields.done()
    special = {text: number for number, text in enumerate(texts) if kinds[number] == CONTROL or number in both}
    special = dict(given.specials_or(special))
    added = {text: number for number, text in enumerate(texts) if kinds[number] == USER_DEFINED and text not in special}
    return make_spec(
        {number: _unescaped(text) for number, text in enumerate(texts)},
        None,
        pattern=given.pattern_or(PATTERNS["none"]),
        special_tokens=special,
        added_tokens=added,
        name=given.name,
        model=LongestMatchModel(),
    )


def _unescaped(text: str) -> bytes:
    def replaced(match: re.Match[bytes]) -> bytes:
        digits, letter = match.groups()
        return bytes((int(digits, 16),)) if digits else _LETTERS.get(letter, letter)

    return _ESCAPED.sub(replaced, text.encode())
