"""Compile normalizers to C; `normalizers.py` has their slow definitions."""

from __future__ import annotations

from collections.abc import Sequence

from ..core.charsmap import SentencePieceNormalizer
from ..core.normalizer import Normalizer as CompiledNormalizer
from ..errors import VocabularyError
from ..lazy import safe_import
from ..spec.rules import (
    SPACE_MARK,
    BertNormalizer,
    ByteLevelNormalizer,
    Charsmap,
    Lowercase,
    Nmt,
    Normalizer,
    Precompiled,
    Prepend,
    Replace,
    SqueezeBlanks,
    Strip,
    StripAccents,
    UnicodeForm,
)
from .normalizers import sentencepiece_normalizer


def compiled_normalizer(rules: Sequence[Normalizer], *, marks_blanks: bool = False) -> CompiledNormalizer:
    r"""Return a normalizer that applies rules in order.

    Raises `VocabularyError` on a rule with a string that is no text.

    `marks_blanks`: it finally replaces U+2581 by a blank, and so skips a last rule that writes U+2581.

    >>> compiled = compiled_normalizer([UnicodeForm("NFC"), Prepend(">")])
    >>> compiled.apply("e\u0301".encode()).decode()
    '>é'
    """
    compiled, chosen = CompiledNormalizer(), list(rules)
    if marks_blanks:
        sentencepiece = sentencepiece_normalizer(rules)
        if sentencepiece is not None:  # in one pass
            compiled.add_charsmap(sentencepiece, b"", b"", drops_blanks=False)
            return compiled
        if chosen and chosen[-1] == Replace(" ", False, SPACE_MARK):
            chosen.pop()
        chosen.append(Replace(SPACE_MARK, False, " "))
    for rule in chosen:
        try:
            _add(compiled, rule)
        except UnicodeEncodeError:
            raise VocabularyError(f"normalizer {rule} has a lone surrogate, which no text has") from None
    return compiled


def _add(compiled: CompiledNormalizer, rule: Normalizer) -> None:
    """Add the steps of a rule."""
    match rule:
        case UnicodeForm(form):
            compiled.add_form(form)
        case Lowercase():
            compiled.add_map("lowercase")
        case StripAccents():
            compiled.add_map("marks")
        case Strip(left, right):
            compiled.add_strip(left=left, right=right)
        case Prepend(text):
            compiled.add_prepend(text.encode())
        case Replace(pattern, False, content):
            if pattern:
                compiled.add_replace(pattern.encode(), content.encode())
        case Replace(pattern, _, content):
            # imported here, because few rules have a regex and the module takes milliseconds to import
            safe_import("bbpe.splitting.automaton")
            from ..splitting.automaton import matcher_of

            compiled.add_replace_matches(matcher_of(pattern), content.encode())
        case SqueezeBlanks(suffix, drops_marks):
            compiled.add_squeeze(suffix.encode(), drops_marks=drops_marks)
        case BertNormalizer():
            _add_bert(compiled, rule)
        case Nmt():
            compiled.add_map("nmt")
        case ByteLevelNormalizer():
            compiled.add_bytes()
        case Charsmap(data, kept, prefix, suffix, drops_blanks):
            charsmap = SentencePieceNormalizer(data, None, kept, unmarks=False)
            compiled.add_charsmap(charsmap, prefix.encode(), suffix.encode(), drops_blanks=drops_blanks)
        case Precompiled(data):
            compiled.add_precompiled(SentencePieceNormalizer(data, None, (), unmarks=False))


def _add_bert(compiled: CompiledNormalizer, rule: BertNormalizer) -> None:
    if rule.clean_text:
        compiled.add_map("clean")
    if rule.cjk_apart:
        compiled.add_map("ideographs")
    if rule.strip_accents:
        compiled.add_form("NFD")
        compiled.add_map("nonspacing")
    if rule.lowercase:
        compiled.add_map("lowercase")
