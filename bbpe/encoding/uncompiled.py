"""Why a rule or a pattern of a tokenizer runs in Python, in one plain sentence."""

from __future__ import annotations

from ..pipeline.pre_tokenizers import splits_of
from ..spec.models import WordLevelModel
from ..spec.rules import Replace
from ..spec.spec import TokenizerSpec
from ..splitting.automaton import automaton_of


def uncompiled(spec: TokenizerSpec) -> str | None:
    """Return the first rule of a spec that needs Python and the reason; `None` when all of it is compiled."""
    for rule in spec.rules.normalizers:
        if isinstance(rule, Replace) and rule.is_regex and (reason := automaton_of(rule.pattern).reason):
            return f"The normalizer Replace runs in Python because the regex {rule.pattern!r} has {reason}."
    for split in (split for rule in spec.rules.pre_tokenizers for split in splits_of(rule)):
        if reason := automaton_of(split.regex).reason:
            return f"The pre-tokenizers run in Python: pattern {split.regex!r}: {reason}."
    if spec.pattern.scheme is None and not spec.rules.pre_tokenizers:
        for source in spec.pattern.steps:
            if reason := automaton_of(source).reason:
                return f"The pattern {source!r} runs in Python because it has {reason}."
    if isinstance(spec.model, WordLevelModel) and spec.model.fuses:
        return "Words in a row without a token are joined in Python."
    return None
