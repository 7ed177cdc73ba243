"""The vocabulary of a GGUF file with SentencePiece's pieces: BPE (the model "llama") and Unigram (the model "t5").

The file has the texts, scores and types of the pieces.  This module follows the rules of the original tokenizers.
llama.cpp (`src/llama-vocab.cpp`) does not follow all of them: for BPE it ignores the normalization table and does not
squeeze blanks, and for Unigram it ignores byte pieces.  Files with these are read but never written.
"""

from __future__ import annotations

from ...errors import VocabularyError
from ...spec.spec import TokenizerSpec
from ..common.given import Given
from ..sentencepiece.piece_rows import BYTE
from ..sentencepiece.pieces import PieceModel, pieces_of, spec_of
from .fields import PREFIX, GGUFFields

BPE, UNIGRAM = "llama", "t5"
# the token that llama.cpp adds to a text if the file does not define whether to add it
_DEFAULT_ADDED = {BPE: "bos", UNIGRAM: "eos"}


def read_pieces(fields: GGUFFields, model: str, given: Given) -> TokenizerSpec:
    """Return the spec of a file whose model is "llama" or "t5"."""
    is_bpe = model == BPE
    pre = fields.text("pre", "default")
    if pre != "default":
        fields.refuse(f"pre-tokenizer {pre!r} is not supported for a model of pieces; expected 'default'", "pre")
    if is_bpe:
        fields.drop("merges")  # scores define merging, but some writers add a redundant list
    texts, scores, kinds = fields.texts("tokens"), fields.scores(), fields.kinds()
    for key, found in (("scores", len(scores)), ("token_type", len(kinds))):
        if found != len(texts):
            fields.refuse(f"found {found} numbers; expected {len(texts)}, one for each token", key)
    prefix = fields.flag("add_space_prefix", is_bpe)
    squeezes = fields.flag("remove_extra_whitespaces", False)
    table = fields.block("precompiled_charsmap")
    template = fields.template(len(texts), default=_DEFAULT_ADDED[model])
    fields.done()
    pieces = PieceModel(
        list(zip(texts, scores, kinds, strict=True)),
        is_bpe=is_bpe,
        byte_fallback=BYTE in kinds,
        add_dummy_prefix=prefix,
        remove_extra_whitespaces=squeezes,
        charsmap=table,
        is_padded=True,
    )
    return spec_of(pieces, given, place=_place, template=template)


def _place(token_id: int) -> str:
    return f"{PREFIX}tokens[{token_id}]"


def written_pieces(spec: TokenizerSpec) -> PieceModel:
    """Return the pieces to write.

    Raises `VocabularyError` on a spec that pieces cannot express, and on rules that llama.cpp does not follow.
    """
    model = pieces_of(spec, pads=True)
    problem = ""
    if model.is_suffix or not model.marks_blanks:
        problem = "found a blank at the end of texts, or blanks that are not U+2581, which llama.cpp does not have"
    elif model.is_bpe and model.charsmap:
        problem = "found a normalization table, which llama.cpp does not apply for BPE"
    elif model.is_bpe and model.remove_extra_whitespaces:
        problem = "runs of blanks become one blank, which llama.cpp does not do for BPE"
    elif model.is_bpe and not model.byte_fallback:
        problem = "there are no byte tokens, which llama.cpp needs for BPE"
    elif not model.is_bpe and model.byte_fallback:
        problem = "found byte tokens, which llama.cpp does not use for Unigram"
    if problem:
        raise VocabularyError(f"{problem}. Write a SentencePiece .model")
    return model
