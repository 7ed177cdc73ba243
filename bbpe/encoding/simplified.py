"""Specs that give the same ids by less work; the words of a text, which removed splits define, are then not known."""

from __future__ import annotations

from ..records import replace
from ..spec.models import UnigramModel
from ..spec.rules import AT_BLANKS, ESCAPED_MARK, SPACE_MARK, Prepend, Replace
from ..spec.spec import TextRules, TokenizerSpec
from ..splitting.patterns import PATTERNS


def simplified(spec: TokenizerSpec) -> TokenizerSpec:
    """Remove splits that do not affect ids: before blanks that no token joins, and at blanks after all are marked."""
    characters, rules = spec.characters, spec.rules
    if spec.model is not None or characters is None or characters.marks_words:
        return spec
    is_at_blanks = spec.pattern.steps == AT_BLANKS and not spec.whole_pretokens
    if is_at_blanks and not any(b" " in token[1:] for token in spec.vocab.values()):
        spec = replace(spec, pattern=PATTERNS["none"])
    if characters.marks_blanks and rules.normalizers and rules.pre_tokenizers:
        kept = tuple(rule for rule in rules.pre_tokenizers if getattr(rule, "regex", None) != " ")
        spec = replace(spec, rules=replace(rules, pre_tokenizers=kept))
    return spec


def with_escaped_marks(spec: TokenizerSpec, model: UnigramModel) -> TokenizerSpec:
    """Return a spec that leaves U+2581 in texts, which no token has, where a rule makes its bytes of it."""
    first, *middle, last = spec.rules.normalizers if len(spec.rules.normalizers) > 1 else (None, None)
    is_escaped = first == ESCAPED_MARK and last == Replace(" ", False, SPACE_MARK)
    is_plain = not (spec.rules.prefix or spec.rules.pre_tokenizers or spec.token_options)
    if not (is_escaped and is_plain and model.is_float and middle in ([], [Prepend(SPACE_MARK)])):
        return spec
    if spec.characters is None or not (spec.characters.byte_ids and spec.characters.marks_blanks):
        return spec
    rules = TextRules((Prepend(" "),) if middle else ())
    return replace(spec, rules=rules, characters=replace(spec.characters, marks_blanks=False))
