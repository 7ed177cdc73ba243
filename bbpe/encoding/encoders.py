"""Choose the encoder of a spec: the engine alone, or the engine with rules around it.

What only specs with rules need is imported for them.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING

from ..core.bpe import BPE
from ..core.word_bpe import WordBPE
from ..core.wordpiece import WordPiece
from ..lazy import safe_import
from ..records import replace
from ..spec.models import LongestMatchModel, UnigramModel, WordLevelModel, WordPieceModel
from ..spec.rules import Characters
from ..spec.spec import TextRules, TokenizerSpec, with_modelled
from ..splitting.patterns import PATTERNS
from ..splitting.splitter import compiled_steps
from .engine import TextEncoder
from .piped import PipedTexts

if TYPE_CHECKING:
    from ..core.piped import Pipeline
    from .aligned import AlignedTexts


def text_encoder(spec: TokenizerSpec, *, is_fused: bool = True, model: BPE | None = None) -> TextEncoder:
    """Return the encoder for a spec.

    `is_fused`: the engine may apply rules itself, which is faster, but then tokens have no offsets.  `model`: that of
    an encoder that this function returned for such a spec; by default it is made.
    """
    encoder = _text_encoder(spec, is_fused=is_fused and not spec.modelled, model=model)
    encoder.aligned = partial(_aligned_texts, spec)
    encoder.with_words = partial(_word_texts, spec)
    pipeline = encoder.pipeline()
    if pipeline is not None:
        encoder.piped = PipedTexts(encoder.encoder, pipeline, spec.vocab_size)
    if spec.modelled:
        safe_import("bbpe.encoding.policy_encoder")
        from .policy_encoder import PolicyEncoder

        def make(ids: frozenset[int]) -> TextEncoder:
            return text_encoder(with_modelled(spec, ids), is_fused=is_fused)

        return PolicyEncoder(encoder, spec.modelled, make)
    return encoder


def _aligned_texts(spec: TokenizerSpec, encoder: TextEncoder) -> AlignedTexts | None:
    """Return what encodes texts with the places of ids; `None` when a rule needs Python."""
    model = encoder.encoder.model
    if (runs := _run_texts(spec)) is not None:
        return runs
    if isinstance(model, WordPiece) and model.is_bert and _begins_no_word(spec.model) and encoder.piped is not None:
        safe_import("bbpe.encoding.aligned")
        from .aligned import AlignedTexts

        return AlignedTexts(encoder.piped, spec, partial(_slow_texts, spec))
    return _slow_texts(spec) if isinstance(model, WordPiece | WordBPE) else _all_aligned(spec, encoder)


def _begins_no_word(model: object) -> bool:
    """Return whether only tokens within words have the prefix of these, as BERT's rules split after it."""
    safe_import("string")
    from string import punctuation

    return not isinstance(model, WordPieceModel) or model.prefix[:1] in punctuation


def _slow_texts(spec: TokenizerSpec) -> AlignedTexts | None:
    """Return what encodes texts with the places of ids by one rule after another; `None` when one needs Python."""
    return _all_aligned(spec, text_encoder(spec, is_fused=False))


def _all_aligned(spec: TokenizerSpec, encoder: TextEncoder) -> AlignedTexts | None:
    safe_import("bbpe.encoding.aligned")
    from .aligned import AlignedTexts

    return None if encoder.piped is None else AlignedTexts(encoder.piped, spec)


def _word_texts(spec: TokenizerSpec, encoder: TextEncoder) -> AlignedTexts | None:
    """Return what encodes texts with the numbers of pretokens too; `None` when a rule needs Python."""
    safe_import("bbpe.encoding.aligned")
    from .aligned import AlignedTexts
    safe_import("bbpe.encoding.simplified")
    from .simplified import simplified

    if (runs := _run_texts(spec)) is not None:
        return runs
    if isinstance(encoder.encoder.model, WordPiece | WordBPE) or simplified(spec) != spec:
        encoder = _text_encoder(spec, is_fused=False)
    pipeline = _splitting_pipeline(spec, encoder)
    return None if pipeline is None else AlignedTexts(PipedTexts(encoder.encoder, pipeline, spec.vocab_size), spec)


def _run_texts(spec: TokenizerSpec) -> AlignedTexts | None:
    """Return what finds the places of runs of unknown characters; `None` where their characters tell these."""
    if not isinstance(spec.model, UnigramModel):
        return None
    safe_import("bbpe.encoding.unknown_runs")
    from .unknown_runs import RunTexts, hides_ends

    if not hides_ends(spec):
        return None
    id_count = spec.vocab_size + 256
    encoder = _of_scores(spec, spec.model, range(spec.vocab_size, id_count))
    pipeline = _splitting_pipeline(spec, encoder)
    return None if pipeline is None else RunTexts(PipedTexts(encoder.encoder, pipeline, id_count), spec)


def _splitting_pipeline(spec: TokenizerSpec, encoder: TextEncoder) -> Pipeline | None:
    """Return the rules of an encoder, compiled, that split as the pattern does; `None` when some need Python."""
    pipeline = encoder.pipeline()
    if pipeline is None or pipeline.pre_tokenizer is not None or spec.pattern.scheme is not None:
        return pipeline
    # the encoder may split otherwise than the pattern
    split = compiled_steps(spec.pattern)
    return None if split is None else pipeline.splitting(split)


def _text_encoder(spec: TokenizerSpec, *, is_fused: bool, model: BPE | None = None) -> TextEncoder:
    if spec.model is None and spec.characters is None and _is_plain(spec):
        return _of_bytes(spec, model)
    safe_import("bbpe.encoding.rule_encoder")
    from .rule_encoder import FusingEncoder, RuleEncoder

    if isinstance(spec.model, UnigramModel):
        return _of_scores(spec, spec.model)
    if isinstance(spec.model, WordPieceModel | WordLevelModel | LongestMatchModel):
        safe_import("bbpe.encoding.words")
        from .words import wordpiece_encoder

        encoder, is_whole = wordpiece_encoder(spec, spec.model, is_fused=is_fused)
        if isinstance(spec.model, WordLevelModel) and spec.model.fuses and spec.model.unknown is not None:
            return FusingEncoder(encoder, spec, spec.model.unknown)
        return encoder if is_whole or _is_plain(spec) else RuleEncoder(encoder, spec)
    if spec.characters is None:
        return RuleEncoder(_of_bytes(spec, model), spec)
    if _has_symbols(spec, spec.characters):
        return _of_words(spec, spec.characters, is_fused=is_fused)
    return _of_characters(spec, spec.characters, is_fused=is_fused, model=model)


def _of_bytes(spec: TokenizerSpec, model: BPE | None) -> TextEncoder:
    made = BPE(spec.vocab, spec.merges, whole_pretokens=spec.whole_pretokens) if model is None else model
    return TextEncoder(made, spec.pattern)


def _of_scores(spec: TokenizerSpec, model: UnigramModel, byte_ids: Sequence[int] = ()) -> TextEncoder:
    safe_import("bbpe.spec.unigram")
    from ..spec.unigram import unigram_model, unigram_scheme
    safe_import("bbpe.encoding.rule_encoder")
    from .rule_encoder import RuleEncoder
    safe_import("bbpe.encoding.simplified")
    from .simplified import with_escaped_marks

    unigram = TextEncoder(unigram_model(spec, byte_ids), spec.pattern, unigram_scheme(spec.pattern))
    return RuleEncoder(unigram, with_escaped_marks(spec, model))


def _has_symbols(spec: TokenizerSpec, characters: Characters) -> bool:
    """Return whether the symbols depend on positions in words, or some characters have none."""
    return characters.marks_words or characters.are_bytes or not characters.byte_ids


def _of_words(spec: TokenizerSpec, characters: Characters, *, is_fused: bool) -> TextEncoder:
    safe_import("bbpe.encoding.rule_encoder")
    from .rule_encoder import RuleEncoder
    safe_import("bbpe.encoding.words")
    from .words import word_encoder

    encoder, rules = word_encoder(spec, characters, is_fused=is_fused)
    if characters.are_bytes and not characters.marks_words and _is_plain(spec):
        return encoder
    if rules == spec.rules and encoder.splitter.pattern == spec.pattern:
        return RuleEncoder(encoder, spec)
    # the engine applies all remaining rules itself
    ready = replace(spec, rules=rules, pattern=encoder.splitter.pattern, characters=None)
    return RuleEncoder(encoder, ready) if rules.normalizers or characters.are_bytes else encoder


def _of_characters(
    spec: TokenizerSpec, characters: Characters, *, is_fused: bool, model: BPE | None
) -> TextEncoder:
    safe_import("bbpe.spec.characters")
    from ..spec.characters import CharacterModel, joined_pairs
    safe_import("bbpe.splitting.scheme")
    from ..splitting.scheme import Scheme
    safe_import("bbpe.encoding.rule_encoder")
    from .rule_encoder import RuleEncoder
    safe_import("bbpe.encoding.simplified")
    from .simplified import simplified

    spec = simplified(spec) if is_fused else spec
    if model is None:
        model = CharacterModel(spec.vocab, characters).by_list(
            spec.merges or (), whole_pretokens=spec.whole_pretokens, levels=spec.merge_levels
        )
    scheme = None
    # splitting between bytes that no token joins keeps ids, except for whole pretokens and fused unknown characters
    if spec.pattern == PATTERNS["none"] and not spec.whole_pretokens and characters.byte_ids:
        scheme = Scheme(joins=joined_pairs(spec.vocab))
    return RuleEncoder(TextEncoder(model, spec.pattern, scheme), spec)


def _is_plain(spec: TokenizerSpec) -> bool:
    return spec.rules == TextRules() and not spec.token_options
