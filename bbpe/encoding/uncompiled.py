"""Why a rule or a pattern of a tokenizer runs in Python, in one plain sentence."""

from __future__ import annotations

from ..pipeline.compiled_normalizers import compiled_normalizer
from ..pipeline.pre_tokenizer_steps import compiled_rules
from ..spec.models import WordLevelModel
from ..spec.rules import Normalizer, Replace
from ..spec.spec import TokenizerSpec
from ..splitting.automaton import automaton_of


def uncompiled(spec: TokenizerSpec) -> str | None:
    """Return the first rule of a spec that needs Python and the reason; `None` when all of it is compiled."""
    for rule in spec.rules.normalizers:
        if compiled_normalizer([rule]) is None:
            return f"The normalizer {type(rule).__name__} runs in Python because {_reason(rule)}."
    if spec.rules.pre_tokenizers:
        reason = compiled_rules(spec.rules.pre_tokenizers).reason
        return f"The pre-tokenizers run in Python: {reason}." if reason else None
    if spec.pattern.scheme is None:
        for source in spec.pattern.steps:
            reason = automaton_of(source).reason
            if reason:
                return f"The pattern {source!r} runs in Python because it has {reason}."
    if isinstance(spec.model, WordLevelModel) and spec.model.fuses:
        return "Words in a row without a token are joined in Python."
    return None


def _reason(rule: Normalizer) -> str:
    if isinstance(rule, Replace) and rule.is_regex:
        found = automaton_of(rule.pattern)
        if found.tables is None:
            return f"the regex {rule.pattern!r} has {found.reason}"
    return "a string of it has a surrogate"
