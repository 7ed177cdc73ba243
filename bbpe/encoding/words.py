"""Plans for WordPiece and for BPE of characters in words, whose models apply rules themselves.

Where the rules allow it, the model splits the original text at borders of words and normalizes each stretch only when
it is new.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TypeAlias

from ..core.model import Model
from ..core.word_bpe import WordBPE
from ..core.wordpiece import WordPiece
from ..pipeline.word_symbols import WordSymbols
from ..records import dataclass, replace
from ..spec.models import LongestMatchModel, Vocab, WordLevelModel, WordPieceModel
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
from ..splitting.patterns import PATTERNS, Pattern
from ..splitting.scheme import Scheme

#: The first fields of an `EncodingPlan`: the model, the pattern, and the scheme in place of it.
WordParts: TypeAlias = tuple[Model, Pattern, Scheme | None]
# characters whose lower case has more bytes in UTF-8
_GROWING = tuple(Replace(char, False, char.lower()) for char in "\u0130\u023a\u023e")
_UNLIMITED = (1 << 64) - 1  # characters of a word
_SQUEEZE_WHITE_SPACE = Replace(r"\s+", True, " ")


def wordpiece_plan(
    spec: TokenizerSpec, model: WordPieceModel | WordLevelModel | LongestMatchModel, *, is_fused: bool,
    made: Model | None,
) -> WordParts:  # fmt: skip
    """Return the plan for a spec: with a scheme if the model applies all rules itself, which `is_fused` allows.

    `made` is the compiled model, or `None` to make it.

    WordLevel is WordPiece without tokens that continue a word; for longest matches all tokens begin and continue one.
    """
    bert = bert_of(spec.rules) if is_fused and not spec.token_options else None
    prefix, most = b"" if isinstance(model, LongestMatchModel) else None, _UNLIMITED
    if isinstance(model, WordPieceModel):
        prefix, most = model.prefix.encode(), model.max_characters
    unknown = None if isinstance(model, LongestMatchModel) else model.unknown
    words = spec.vocab
    assert isinstance(words, Vocab)
    if spec.characters is not None and spec.characters.unused:
        words = Vocab.of_changed(words, {*spec.characters.unused}.intersection(words), {})
    if made is None:
        made = WordPiece(words, unknown=unknown, prefix=prefix, max_characters=most, bert=bert)
    if bert is None:
        return made, spec.pattern, None
    return made, PATTERNS["none"], _bert_scheme(bert)


def word_plan(
    spec: TokenizerSpec, characters: Characters, *, is_fused: bool, written: Mapping[int, int] | None
) -> tuple[WordParts, TextRules]:
    """Return the plan for words of symbols, and the rules of the spec that must be applied before it.

    Tokens in `written` are written as other ids.
    """
    symbols = WordSymbols(
        spec.vocab, spec.merges or (), characters, whole_pretokens=spec.whole_pretokens, levels=spec.merge_levels,
        written=written,
    )  # fmt: skip
    is_planned = is_fused and characters.marks_words and not spec.token_options and not spec.whole_pretokens
    plan = _word_plan(spec) if is_planned else None
    if characters.are_bytes and plan is not None:
        plan = _without_growth(plan)
    model = WordBPE(
        symbols.model,
        symbols.symbols,
        begins=bool(characters.prefix),
        ends=bool(characters.end_of_word),
        fuses=characters.fuse_unknown,
        unknown=symbols.unknown,
        of_bytes=characters.are_bytes,
        bert=None if plan is None else plan.normalizer,
        joins=plan is not None and not plan.is_bert,
        blanks=plan is not None and plan.at_blanks,
        clip=plan is not None and plan.is_clip,
        spelled=[byte for byte, _ in characters.some_byte_ids],
    )
    if plan is None:
        return (model, spec.pattern, None), spec.rules
    at_spaces = Scheme(words="blank" if plan.at_blanks else "space")
    scheme = _bert_scheme(plan.normalizer) if plan.is_bert else at_spaces
    left = replace(spec.rules, normalizers=plan.before, pre_tokenizers=())
    return (model, PATTERNS["none"], scheme), left


@dataclass(frozen=True)
class _WordPlan:
    """The steps by which a model splits a text into words itself.

    The rules `before` apply to the text first.  The model then applies `normalizer` to each new stretch, and splits it
    by BERT's rules, by CLIP's pattern, or at white space, which with `at_blanks` is blanks and line ends.
    """

    before: tuple[Normalizer, ...]
    normalizer: BertNormalizer
    is_bert: bool = False
    is_clip: bool = False
    at_blanks: bool = False


def _word_plan(spec: TokenizerSpec) -> _WordPlan | None:
    """Return the plan by which the model applies the rules of a spec; `None` when it cannot apply them."""
    rules = spec.rules
    before = rules.normalizers[:1] if isinstance(next(iter(rules.normalizers), None), UnicodeForm) else ()
    left = replace(rules, normalizers=rules.normalizers[len(before) :])
    bert = bert_of(left)
    if bert is not None:
        return _WordPlan(before, bert, is_bert=True)
    is_clip = not rules.pre_tokenizers and spec.pattern == PATTERNS["clip"]
    at_blanks = not rules.pre_tokenizers and spec.pattern == PATTERNS["subword_nmt"]
    at_spaces = rules.pre_tokenizers == (WhitespaceSplit(),) or (
        not rules.pre_tokenizers and spec.pattern == PATTERNS["whitespace"]
    )
    if rules.prefix is not None or not (is_clip or at_blanks or at_spaces):
        return None
    match left.normalizers:
        case (BertNormalizer() as bert,) if at_spaces:
            return _WordPlan(before, bert)
    # the amount of white space between words does not affect them
    match tuple(rule for rule in left.normalizers if at_blanks or rule != _SQUEEZE_WHITE_SPACE):
        case ():
            return _WordPlan(before, BertNormalizer(False, False, False, False), is_clip=is_clip, at_blanks=at_blanks)
        case (Lowercase(),):
            return _WordPlan(before, BertNormalizer(False, False, False, True), is_clip=is_clip, at_blanks=at_blanks)
    return None


def _without_growth(plan: _WordPlan) -> _WordPlan | None:
    """Return a plan in which the model never makes a text longer in bytes; `None` for BERT's rules.

    The model has no space for more bytes than the text has.
    """
    normalizer = plan.normalizer
    if plan.is_bert or normalizer != BertNormalizer(False, False, False, normalizer.lowercase):
        return None
    return replace(plan, before=(*plan.before, *(_GROWING if normalizer.lowercase else ())))


def bert_of(rules: TextRules) -> BertNormalizer | None:
    """Return BERT's normalizer if the rules are only that and BERT's pre-tokenizer, else `None`."""
    match rules.normalizers, rules.pre_tokenizers:
        case (BertNormalizer() as bert,), (BertPreTokenizer(),) if rules.prefix is None:
            return bert
    return None


def _bert_scheme(bert: BertNormalizer) -> Scheme:
    return Scheme(words="bert_apart" if bert.cjk_apart else "bert")
