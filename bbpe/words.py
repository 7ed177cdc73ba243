"""WordPiece behind BERT's rules at the engine's speed: text is cut where no word goes on, and normalised when new."""

from __future__ import annotations

import numpy as np

from .core.wordpiece import WordPiece as WordPieceModel
from .encoding import TextEncoder
from .models import WordPiece
from .patterns import PATTERNS
from .rules import BertNormalizer, BertPreTokenizer
from .scheme import Scheme
from .spec import TextRules, TokenizerSpec

_SPACE = np.frombuffer(b" \t\n\r\v\f", np.uint8)
_PUNCTUATION = np.frombuffer(bytes(byte for byte in range(33, 127) if not chr(byte).isalnum()), np.uint8)
_IDEOGRAPHS = range(0xE5, 0xEA)  # what begins U+5000 to U+9FFF in UTF-8


def wordpiece_encoder(spec: TokenizerSpec, model: WordPiece) -> tuple[TextEncoder, bool]:
    """Return what encodes pretokens of a spec, and whether it takes texts as they are, by all rules of the spec."""
    bert = bert_of(spec.rules) if not spec.token_options else None
    made = WordPieceModel(
        spec.vocab,
        unknown=model.unknown,
        prefix=model.prefix.encode(),
        max_characters=model.max_characters,
        bert=bert,
    )
    if bert is None:
        return TextEncoder(made, spec.pattern), False
    return TextEncoder(made, PATTERNS["none"], Scheme(joins=bert_joins(apart=bert.cjk_apart))), True


def bert_of(rules: TextRules) -> BertNormalizer | None:
    """Return BERT's normaliser where rules are it and its pre-tokeniser, and nothing else."""
    match rules.normalizers, rules.pre_tokenizers:
        case (BertNormalizer() as bert,), (BertPreTokenizer(),) if rules.prefix is None:
            return bert
    return None


def bert_joins(*, apart: bool) -> bytes:
    """Return the pairs of neighbouring bytes that are not surely of two words, as `Scheme.joins`.

    A text is cut before white space, so that a blank stands before its word, and around punctuation of ASCII; with
    `apart` also before ideographs.
    """
    bits = np.ones((256, 256), dtype=np.bool_)
    bits[:, _SPACE] = False
    bits[:, _PUNCTUATION] = False
    bits[_PUNCTUATION, :] = False
    if apart:
        bits[:, _IDEOGRAPHS] = False
    bits[ord(" "), :] = True
    bits[ord(" "), _SPACE] = False
    return np.packbits(bits.reshape(-1), bitorder="little").tobytes()
