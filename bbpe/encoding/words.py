"""Words behind rules at the engine's speed: text is cut where no word goes on, and each stretch normalised when new.

For WordPiece, and BPE of characters in words.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from ..core.word_bpe import WordBPE
from ..core.wordpiece import WordPiece
from ..pipeline.word_symbols import WordSymbols
from ..spec.models import WordPieceModel
from ..spec.rules import (
    BertNormalizer,
    BertPreTokenizer,
    Characters,
    Lowercase,
    Normalizer,
    Replace,
    UnicodeForm,
    WhitespaceSplit,
)
from ..spec.spec import TextRules, TokenizerSpec
from ..splitting.patterns import PATTERNS
from ..splitting.scheme import Scheme
from .engine import TextEncoder

# characters whose lower case has more bytes
_GROWING = tuple(Replace(char, False, char.lower()) for char in "\u0130\u023a\u023e")
_BLANKS_AS_ONE = Replace(r"\s+", True, " ")


def wordpiece_encoder(spec: TokenizerSpec, model: WordPieceModel) -> tuple[TextEncoder, bool]:
    """Return what encodes pretokens of a spec, and whether it takes texts as they are, by all rules of the spec."""
    bert = bert_of(spec.rules) if not spec.token_options else None
    made = WordPiece(
        spec.vocab,
        unknown=model.unknown,
        prefix=model.prefix.encode(),
        max_characters=model.max_characters,
        bert=bert,
    )
    if bert is None:
        return TextEncoder(made, spec.pattern), False
    return TextEncoder(made, PATTERNS["none"], _bert_scheme(bert)), True


def word_encoder(spec: TokenizerSpec, characters: Characters) -> tuple[TextEncoder, TextRules]:
    """Return what encodes words of characters, and the rules of the spec that are still to be applied before."""
    symbols = WordSymbols(spec.vocab, spec.merges or (), characters)
    ways = None if spec.token_options else _ways_of(spec)
    if characters.are_bytes and ways is not None:
        ways = _without_growth(ways)
    model = WordBPE(
        symbols.model,
        symbols.symbols,
        begins=bool(characters.prefix),
        ends=bool(characters.end_of_word),
        fuses=characters.fuse_unknown,
        bert=None if ways is None else ways.normalizer,
        joins=ways is not None and not ways.is_bert,
        clip=ways is not None and ways.is_clip,
    )
    if ways is None:
        return TextEncoder(model, spec.pattern), spec.rules
    scheme = _bert_scheme(ways.normalizer) if ways.is_bert else Scheme(words="space")
    return TextEncoder(model, PATTERNS["none"], scheme), replace(spec.rules, normalizers=ways.before, pre_tokenizers=())


@dataclass(frozen=True)
class _Ways:
    """How the engine makes words of a text: behind normal forms, by rules of BERT's, at blanks or by its marks."""

    before: tuple[Normalizer, ...]
    normalizer: BertNormalizer
    is_bert: bool = False
    is_clip: bool = False


def _ways_of(spec: TokenizerSpec) -> _Ways | None:
    """Return how the engine can do what the rules of a spec say; `None` when it cannot."""
    rules = spec.rules
    before = rules.normalizers[:1] if isinstance(next(iter(rules.normalizers), None), UnicodeForm) else ()
    left = replace(rules, normalizers=rules.normalizers[len(before) :])
    bert = bert_of(left)
    if bert is not None:
        return _Ways(before, bert, is_bert=True)
    is_clip = not rules.pre_tokenizers and spec.pattern == PATTERNS["clip"]
    at_blanks = rules.pre_tokenizers == (WhitespaceSplit(),) or (
        not rules.pre_tokenizers and spec.pattern == PATTERNS["whitespace"]
    )
    if rules.prefix is not None or not (is_clip or at_blanks):
        return None
    match left.normalizers:
        case (BertNormalizer() as bert,) if not is_clip:
            return _Ways(before, bert)
    # words do not tell how much white space is between them
    match tuple(rule for rule in left.normalizers if rule != _BLANKS_AS_ONE):
        case ():
            return _Ways(before, BertNormalizer(False, False, False, False), is_clip=is_clip)
        case (Lowercase(),):
            return _Ways(before, BertNormalizer(False, False, False, True), is_clip=is_clip)
    return None


def _without_growth(ways: _Ways) -> _Ways | None:
    """Return ways in which the engine makes no more bytes of a text than it has; `None` for BERT's rules."""
    normalizer = ways.normalizer
    if ways.is_bert or normalizer != BertNormalizer(False, False, False, normalizer.lowercase):
        return None
    return replace(ways, before=(*ways.before, *(_GROWING if normalizer.lowercase else ())))


def bert_of(rules: TextRules) -> BertNormalizer | None:
    """Return BERT's normaliser where rules are it and its pre-tokeniser, and nothing else."""
    match rules.normalizers, rules.pre_tokenizers:
        case (BertNormalizer() as bert,), (BertPreTokenizer(),) if rules.prefix is None:
            return bert
    return None


def _bert_scheme(bert: BertNormalizer) -> Scheme:
    return Scheme(words="bert_apart" if bert.cjk_apart else "bert")
