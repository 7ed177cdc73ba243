"""How a spec is encoded: the model, how texts are split for it, and the pipeline of the rules that come before.

What only specs with rules need is imported for them.
"""

from __future__ import annotations

from collections.abc import Mapping

from ..core.bpe import CompiledBPE
from ..core.call import Codes, Pipeline
from ..core.model import Model
from ..core.pre_tokenizer import PreTokenizer
from ..core.word_bpe import WordBPE
from ..core.wordpiece import WordPiece
from ..lazy import safe_import
from ..records import dataclass, replace
from ..spec.models import LongestMatchModel, SymbolModel, UnigramModel, WordLevelModel, WordPieceModel
from ..spec.rules import (
    AT_BLANKS,
    ESCAPED_MARK,
    SPACE_MARK,
    Characters,
    Lowercase,
    Metaspace,
    Prepend,
    Replace,
    Split,
    UnicodeForm,
)
from ..spec.spec import TextRules, TokenizerSpec, other_tokens, spec_of_symbols
from ..splitting.patterns import PATTERNS, Pattern
from ..splitting.scheme import Scheme
from ..splitting.splitter import TextSplitter, compiled_steps


@dataclass(frozen=True)
class EncodingPlan:
    """A model whose texts are split by a pattern, or by a `scheme` that gives the same ids, after the rules of a spec.

    `spec` is `None` where no rule is left: the model gets texts as they are.
    """

    model: Model
    pattern: Pattern
    scheme: Scheme | None = None
    spec: TokenizerSpec | None = None

    def pipeline(self, splitter: TextSplitter) -> Pipeline:
        """Return the steps before the encoder, which splits by `splitter` what they leave."""
        if self.spec is None:
            steps = None if splitter.compiled is not None else compiled_steps(self.pattern)
            return Pipeline(pre_tokenizer=steps)
        return _pipeline(self.spec, self.model, splitter)

    @property
    def shrink_factor(self) -> int | None:
        """The most characters of a text that the rules can turn into one; `None` if there is no limit."""
        return 1 if self.spec is None else _shrink_factor(self.spec)


def plan_of(spec: TokenizerSpec, *, is_fused: bool, model: Model | None) -> EncodingPlan:
    """Return the plan for a spec.

    `is_fused`: the model may apply rules itself, which is faster, but then ids have no places.  `model`: that of a
    plan which this function returned for such a spec, or `None` to make it.
    """
    is_fused = is_fused and not spec.modelled
    rules = None if spec.rules == TextRules() and not spec.token_options else spec
    if isinstance(spec.model, UnigramModel):
        return unigram_plan(spec, spec.model, model)
    if isinstance(spec.model, SymbolModel):
        inner, written = spec_of_symbols(spec, spec.model)
        assert inner.characters is not None
        return _plan_of_words(inner, inner.characters, is_fused=is_fused, written=written)
    if isinstance(spec.model, WordPieceModel | WordLevelModel | LongestMatchModel):
        safe_import("bbpe.encoding.words")
        from .words import wordpiece_plan

        found = EncodingPlan(*wordpiece_plan(spec, spec.model, is_fused=is_fused, made=model))
        is_whole = (found.scheme is not None or rules is None) and _fused_id(spec) is None
        return found if is_whole else replace(found, spec=spec)
    if spec.characters is None:
        made = CompiledBPE(spec.vocab, spec.merges, whole_pretokens=spec.whole_pretokens) if model is None else model
        return EncodingPlan(made, spec.pattern, spec=rules)
    if _has_symbols(spec.characters):
        return _plan_of_words(spec, spec.characters, is_fused=is_fused)
    return _plan_of_characters(spec, spec.characters, is_fused=is_fused, model=model)


def unigram_plan(spec: TokenizerSpec, model: UnigramModel, made: Model | None) -> EncodingPlan:
    """Return the plan for a Unigram model; `made` is the compiled one, or `None` to make it."""
    safe_import("bbpe.spec.unigram")
    from ..spec.unigram import unigram_model, unigram_scheme

    made = unigram_model(spec) if made is None else made
    return EncodingPlan(made, spec.pattern, unigram_scheme(spec.pattern), _with_escaped_marks(spec, model))


def _has_symbols(characters: Characters) -> bool:
    """Return whether the symbols depend on positions in words, or some characters have none."""
    return characters.marks_words or characters.are_bytes or not characters.byte_ids


def _plan_of_words(
    spec: TokenizerSpec, characters: Characters, *, is_fused: bool, written: Mapping[int, int] | None = None
) -> EncodingPlan:
    safe_import("bbpe.encoding.words")
    from .words import word_plan

    parts, rules = word_plan(spec, characters, is_fused=is_fused, written=written)
    found = EncodingPlan(*parts)
    if characters.are_bytes and not characters.marks_words and spec.rules == TextRules() and not spec.token_options:
        return found
    if rules == spec.rules and found.pattern == spec.pattern:
        return replace(found, spec=spec)
    # the model applies all remaining rules itself
    ready = replace(spec, rules=rules, pattern=found.pattern, characters=None)
    return replace(found, spec=ready) if rules.normalizers or characters.are_bytes else found


def _plan_of_characters(
    spec: TokenizerSpec, characters: Characters, *, is_fused: bool, model: Model | None
) -> EncodingPlan:
    safe_import("bbpe.spec.characters")
    from ..spec.characters import CharacterModel, joined_pairs

    spec = simplified(spec) if is_fused else spec
    if model is None:
        model = CharacterModel(spec.vocab, characters).by_list(
            spec.merges or (), whole_pretokens=spec.whole_pretokens, levels=spec.merge_levels
        )
    scheme = None
    # splitting between bytes that no token joins keeps ids, except for whole pretokens and fused unknown characters
    if spec.pattern == PATTERNS["none"] and not spec.whole_pretokens and characters.byte_ids:
        scheme = Scheme(joins=joined_pairs(spec.vocab))
    return EncodingPlan(model, spec.pattern, scheme, spec)


def simplified(spec: TokenizerSpec) -> TokenizerSpec:
    """Remove splits that do not affect ids: before blanks that no token joins, and at blanks where none is left.

    The words of a text, which these splits define, are then not known.
    """
    characters, rules = spec.characters, spec.rules
    if spec.model is not None or characters is None or characters.marks_words:
        return spec
    is_at_blanks = spec.pattern.steps == AT_BLANKS and not spec.whole_pretokens
    if is_at_blanks and not any(b" " in token[1:] for token in spec.vocab.values()):
        spec = replace(spec, pattern=PATTERNS["none"])
    if characters.marks_blanks and rules.pre_tokenizers and _leaves_no_blank(rules):
        kept = tuple(rule for rule in rules.pre_tokenizers if not _is_at_blanks(rule))
        spec = replace(spec, rules=replace(rules, pre_tokenizers=kept))
    return spec


def _leaves_no_blank(rules: TextRules) -> bool:
    """Return whether the normalizers mark all blanks, and nothing after that adds one."""
    added = [rules.prefix.text] if rules.prefix else []
    for rule in reversed(rules.normalizers):
        if rule == Replace(" ", False, SPACE_MARK):
            return not any(" " in text for text in added)
        if not isinstance(rule, Prepend):
            return False
        added.append(rule.text)
    return False


def _is_at_blanks(rule: object) -> bool:
    """Return whether a pre-tokenizer leaves a text without blanks as it is."""
    return isinstance(rule, Split) and rule.regex == " " and not rule.invert


def _with_escaped_marks(spec: TokenizerSpec, model: UnigramModel) -> TokenizerSpec:
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


# -- the pipeline of rules ---------------------------------------------------------------------------------


def _pipeline(spec: TokenizerSpec, model: Model, splitter: TextSplitter) -> Pipeline:
    safe_import("bbpe.pipeline.compiled_normalizers")
    from ..pipeline.compiled_normalizers import compiled_normalizer

    rules, symbols = spec.rules, spec.characters
    marks_blanks = symbols is not None and symbols.marks_blanks
    has_words = symbols is not None and symbols.marks_words
    marks_pretokens = marks_blanks and bool(rules.pre_tokenizers)
    # tokens that are not verbatim are looked for where U+2581 is not yet a blank
    finds_normalized = any(row.normalized and not row.verbatim for row in spec.token_options.values())
    unmarks = marks_blanks and not marks_pretokens
    unmarks_first = unmarks and not finds_normalized
    is_of_bytes = symbols is not None and symbols.are_bytes and not has_words
    has_bytes = symbols is None or bool(symbols.byte_ids) or is_of_bytes
    is_of_words = isinstance(model, WordPiece) or (isinstance(model, WordBPE) and not is_of_bytes)
    split, leaves_blanks = _split_steps(spec, splitter, marks_pretokens=marks_pretokens, has_words=has_words)
    return Pipeline(
        prefix=b"" if rules.prefix is None else rules.prefix.text.encode(),
        prefix_first=rules.prefix is not None and rules.prefix.first,
        finds_head=_needs_head(rules),
        unmarks=unmarks and not unmarks_first,
        unmarks_pretokens=marks_pretokens and not leaves_blanks,
        replaces_invalid=is_of_words or not has_bytes,
        normalizer=(
            compiled_normalizer(rules.normalizers, marks_blanks=unmarks_first)
            if rules.normalizers or unmarks_first else None
        ),
        pre_tokenizer=split,
        fused=_fused_id(spec),
        codes=_codes(spec),
    )  # fmt: skip


def _codes(spec: TokenizerSpec) -> Codes | None:
    rule = spec.rules.codes
    if rule is None:
        return None
    tokens, opens, closes = {**other_tokens(spec), **spec.vocab}, rule.opens.encode(), rule.closes.encode()
    codes = ((each, token) for each, token in tokens.items() if token.startswith(opens) and token.endswith(closes))
    return Codes(opens, closes, dict(codes), rule.unknown)


def _split_steps(
    spec: TokenizerSpec, splitter: TextSplitter, *, marks_pretokens: bool, has_words: bool
) -> tuple[PreTokenizer | None, bool]:
    """Return what splits texts before the encoder, and whether it leaves blanks in place of U+2581."""
    if spec.rules.pre_tokenizers:
        safe_import("bbpe.pipeline.pre_tokenizer_steps")
        from ..pipeline.pre_tokenizer_steps import compiled_rules

        compiled = compiled_rules(spec.rules.pre_tokenizers, unmarks=marks_pretokens)
        return compiled.steps, compiled.unmarks
    if splitter.pattern.steps == AT_BLANKS and splitter.compiled is None:
        return PreTokenizer([("blanks",)]), False
    is_needed = has_words or splitter.compiled is None
    return compiled_steps(splitter.pattern) if is_needed else None, False


def _fused_id(spec: TokenizerSpec) -> int | None:
    """Return the unknown id of words that become one in a row."""
    return spec.model.unknown if isinstance(spec.model, WordLevelModel) and spec.model.fuses else None


def _needs_head(rules: TextRules) -> bool:
    """Return whether a rule asks for the head, and it may not be the first character of the normalized text alone."""
    chain = rules.pre_tokenizers
    asks = rules.prefix is not None and rules.prefix.first
    asks = asks or any(isinstance(rule, Metaspace) and rule.prepend_scheme == "first" for rule in chain)
    return asks and not all(
        isinstance(rule, Replace) and not rule.is_regex and len(rule.pattern) == len(rule.content) == 1
        for rule in rules.normalizers
    )


def _shrink_factor(spec: TokenizerSpec) -> int | None:
    """Return the most characters of a text that the rules can turn into one; `None` if there is no limit."""
    has_unknown = spec.characters is not None and not spec.characters.byte_ids
    if has_unknown or spec.rules.pre_tokenizers or _fused_id(spec) is not None:
        return None
    factor = 1
    for rule in spec.rules.normalizers:
        match rule:
            case UnicodeForm():  # a composed character comes from at most four characters
                factor *= 4
            case Lowercase() | Prepend():
                pass
            case Replace(pattern, False, content) if len(content) >= len(pattern):
                pass
            case _:
                return None
    return factor


def uncompiled(spec: TokenizerSpec) -> str | None:
    """Return which regex of a spec runs in Python, the first one, and why; `None` when all of it is compiled."""
    safe_import("bbpe.pipeline.pre_tokenizer_steps")
    from ..pipeline.pre_tokenizer_steps import splits_of
    safe_import("bbpe.splitting.automaton")
    from ..splitting.automaton import automaton_of

    for rule in spec.rules.normalizers:
        if isinstance(rule, Replace) and rule.is_regex and (reason := automaton_of(rule.pattern).reason):
            return f"The regex {rule.pattern!r} of the normalizer Replace runs in Python because it has {reason}."
    for step in spec.rules.pre_tokenizers:
        for split in splits_of(step):
            if reason := automaton_of(split.regex).reason:
                of = f"of the pre-tokenizer {type(step).__name__}"
                return f"The regex {split.regex!r} {of} runs in Python because it has {reason}."
    if spec.pattern.scheme is None and not spec.rules.pre_tokenizers:
        for source in spec.pattern.steps:
            if reason := automaton_of(source).reason:
                return f"The pattern {source!r} runs in Python because it has {reason}."
    return None
