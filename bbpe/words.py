"""WordPiece behind BERT's rules at the engine's speed: text is cut where no word goes on, and normalised when new."""

from __future__ import annotations

from .core.wordpiece import WordPiece as WordPieceModel
from .encoding import TextEncoder
from .models import WordPiece
from .patterns import PATTERNS
from .rules import BertNormalizer, BertPreTokenizer
from .scheme import Scheme
from .spec import TextRules, TokenizerSpec


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
    return TextEncoder(made, PATTERNS["none"], Scheme(words="bert_apart" if bert.cjk_apart else "bert")), True


def bert_of(rules: TextRules) -> BertNormalizer | None:
    """Return BERT's normaliser where rules are it and its pre-tokeniser, and nothing else."""
    match rules.normalizers, rules.pre_tokenizers:
        case (BertNormalizer() as bert,), (BertPreTokenizer(),) if rules.prefix is None:
            return bert
    return None
