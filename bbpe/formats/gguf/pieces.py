"""The vocabulary of a GGUF file with SentencePiece's pieces: BPE, the model "llama", and Unigram, the model "t5".

Tokens, scores and types are those of the pieces, and the rules those of the models' own tokenizers, which llama.cpp
(`src/llama-vocab.cpp`) does not follow everywhere: of BPE it takes no table of normalisation and squeezes no blanks,
and of Unigram no pieces of bytes.  Such files are read, as their models have it, and not written.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from ...errors import VocabularyError
from ...files import StrPath
from ...spec.spec import TokenizerSpec
from ...splitting.patterns import Pattern
from ..pieces import BYTE, Piece, PieceModel, pieces_of, spec_of
from ..reading import about
from .fields import PREFIX, GGUFFields

BPE, UNIGRAM = "llama", "t5"
# what llama.cpp puts around a text when the file does not say
_AROUND = {BPE: "bos", UNIGRAM: "eos"}


def read_pieces(
    fields: GGUFFields,
    model: str,
    path: StrPath,
    *,
    pattern: str | Sequence[str] | Pattern | None,
    special_tokens: Mapping[str, int] | None,
    name: str | None,
) -> TokenizerSpec:
    """Return the spec of a file of the model "llama" or "t5"."""
    is_bpe = model == BPE
    pre = fields.text("pre", "default")
    if pre != "default":
        fields.refuse(f"splitting {pre!r} is not supported where tokens are pieces; expected 'default'", "pre")
    if is_bpe:
        fields.drop("merges")  # scores say what merges, and some writers put a list beside them
    texts, scores, kinds = fields.texts("tokens"), fields.scores(), fields.kinds()
    for key, found in (("scores", len(scores)), ("token_type", len(kinds))):
        if found != len(texts):
            fields.refuse(f"found {found} numbers; expected {len(texts)}, one for each token", key)
    prefix = fields.flag("add_space_prefix", is_bpe)
    squeezes = fields.flag("remove_extra_whitespaces", False)
    table = fields.block("precompiled_charsmap")
    template = fields.template(len(texts), unless_said=_AROUND[model])
    fields.done()
    pieces = PieceModel(
        [Piece(*row) for row in zip(texts, scores, kinds, strict=True)],
        is_bpe=is_bpe,
        byte_fallback=BYTE in kinds,
        add_dummy_prefix=prefix,
        remove_extra_whitespaces=squeezes,
        charsmap=table,
        is_padded=True,
    )
    with about(path):
        return spec_of(
            pieces, place=_place, pattern=pattern, special_tokens=special_tokens, name=name, template=template
        )


def _place(token_id: int) -> str:
    return f"{PREFIX}tokens[{token_id}]"


def written_pieces(spec: TokenizerSpec, path: StrPath) -> PieceModel:
    """Return the pieces to write.

    Raises `VocabularyError` on what pieces cannot say, and on what llama.cpp would not follow.
    """
    model = pieces_of(spec, path, pads=True)
    problem = ""
    if model.is_bpe and model.charsmap:
        problem = "its texts are normalised by a table, which llama.cpp does not do for BPE"
    elif model.is_bpe and model.remove_extra_whitespaces:
        problem = "runs of blanks become one, which llama.cpp does not do for BPE"
    elif model.is_bpe and not model.byte_fallback:
        problem = "it has no tokens of bytes, which llama.cpp needs for BPE"
    elif not model.is_bpe and model.byte_fallback:
        problem = "it has tokens of bytes, which llama.cpp does not use for Unigram"
    if problem:
        raise VocabularyError(f"{problem}. Write tokenizer.json, or a SentencePiece model", path=path)
    return model
