"""Specs without splits that do not affect ids; the words of a text, which these splits define, are then not known."""

from __future__ import annotations

from dataclasses import replace

from ..spec.spec import TokenizerSpec
from ..spec.unigram import AT_BLANKS
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
