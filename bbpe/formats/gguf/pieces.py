"""The vocabulary of a GGUF file with SentencePiece's pieces: BPE (the model "llama") and Unigram (the model "t5").

The file has the texts, scores and types of the pieces.  llama.cpp cuts user-defined tokens out of a text first, as
they are written, and each part between them gets its own blank in front.  For BPE it ignores the normalization table
and does not squeeze blanks.
"""

from __future__ import annotations

from collections.abc import Collection

from ...errors import VocabularyError
from ...records import replace
from ...spec.decoders import DecoderStep
from ...spec.models import UnigramModel
from ...spec.rules import SPACE_MARK, Characters
from ...spec.spec import TokenizerSpec, usual_decoder
from ..common.given import Given
from ..sentencepiece.piece_rows import BYTE, CONTROL, NORMAL, UNKNOWN, UNUSED, USER_DEFINED, Row, is_padding
from ..sentencepiece.pieces import AS_SYMBOL, PieceModel, pieces_of, spec_of
from .fields import PREFIX, GGUFFields

BPE, UNIGRAM = "llama", "t5"
# the token that llama.cpp adds to a text if the file does not define whether to add it, and the ids of BOS and EOS
_DEFAULT_ADDED = {BPE: ("bos", (1, 2)), UNIGRAM: ("eos", (None, 1))}


def read_pieces(fields: GGUFFields, model: str, given: Given) -> TokenizerSpec:
    """Return the spec of a file whose model is "llama" or "t5"."""
    is_bpe = model == BPE
    pre = fields.text("pre", "default")
    if pre != "default":
        fields.refuse(f"pre-tokenizer {pre!r} is not supported for a model of pieces; expected 'default'", "pre")
    if is_bpe:
        fields.drop("merges")  # scores define merging, but some writers add a redundant list
    texts, scores, written = fields.texts("tokens"), fields.scores(), fields.kinds()
    for key, found in (("scores", len(scores)), ("token_type", len(written))):
        if found != len(texts):
            fields.refuse(f"found {found} numbers; expected {len(texts)}, one for each token", key)
    prefix = fields.flag("add_space_prefix", is_bpe)
    squeezes = fields.flag("remove_extra_whitespaces", False) and not is_bpe
    table = fields.block("precompiled_charsmap")
    kinds, both = fields.retyped(texts, written)
    use, ids = _DEFAULT_ADDED[model]
    template = fields.template(len(texts), adds=[use], ids=ids)
    fields.done()
    for token_id, (text, kind) in enumerate(zip(texts, written, strict=True)):
        if kind == UNUSED and not is_padding(text):
            fields.refuse(f"{text!r} has the type UNUSED, which is not supported in GGUF", f"tokens[{token_id}]")
    of = dict.fromkeys(texts)
    rows = [
        _bpe_row(of, *row) if is_bpe else _unigram_row(*row) for row in zip(texts, scores, kinds, written, strict=True)
    ]
    pieces = PieceModel(
        rows,
        is_bpe=is_bpe,
        byte_fallback=is_bpe and BYTE in kinds,
        add_dummy_prefix=prefix or squeezes,
        remove_extra_whitespaces=squeezes,
        charsmap=b"" if is_bpe else table,
        is_padded=True,
        unknown_text=texts[kinds.index(UNKNOWN)] if UNKNOWN in kinds else "",
    )
    spec = spec_of(pieces, given, place=_place, template=template)
    special = {text: token_id for token_id, text in enumerate(texts) if kinds[token_id] in (CONTROL, UNKNOWN)}
    special |= {texts[token_id]: token_id for token_id in both}
    special = dict(given.specials_or(special))
    added = {text: token_id for token_id, text in enumerate(texts) if kinds[token_id] == USER_DEFINED}
    added = {text: token_id for text, token_id in added.items() if text not in special}
    decoder = spec.decoder if is_bpe else _decoder(spec, prefix, BYTE in kinds)
    return replace(spec, special_tokens=special, added_tokens=added, decoder=decoder)


def _decoder(spec: TokenizerSpec, prefix: bool, has_bytes: bool) -> tuple[DecoderStep, ...]:
    """Return the steps of a Unigram model: its byte tokens, which no text gives, are bytes too."""
    if prefix and not has_bytes:
        return spec.decoder
    symbols = Characters(tuple(range(256)) if has_bytes else (), None, True, True)
    return usual_decoder(symbols, None, strip=int(prefix))


def _bpe_row(of: Collection[str], text: str, score: float, kind: int, written: int) -> Row:
    """Return the piece that a token is in the text between user-defined tokens.

    llama.cpp merges any two pieces whose concatenation is one of the tokens `of` the file, a control token too.  No
    user-defined token is left there as the file has it, but blanks are U+2581 by then.
    """
    is_made = kind == CONTROL and any(
        (at == 1 or text[:at] in of) and (at == len(text) - 1 or text[at:] in of) for at in range(1, len(text))
    )
    if is_made or (kind == USER_DEFINED and SPACE_MARK in text):
        return text, score, CONTROL if " " in text else NORMAL
    return text, score, CONTROL if kind == USER_DEFINED else kind


def _unigram_row(text: str, score: float, kind: int, written: int) -> Row:
    """Return the piece that a token is in the text between user-defined tokens, by the type as `written` in the file.

    Normalization may make a user-defined token, which then scores 0.  Byte tokens are not used.
    """
    if written == USER_DEFINED:
        return text, 0.0, CONTROL if " " in text else NORMAL
    return text, score, UNUSED if kind == BYTE else NORMAL if written == NORMAL else kind


def _place(token_id: int) -> str:
    return f"{PREFIX}tokens[{token_id}]"


def written_pieces(spec: TokenizerSpec) -> PieceModel:
    """Return the pieces to write.

    Raises `VocabularyError` on a spec that pieces cannot express, and on rules that llama.cpp does not follow.
    """
    symbols = [text for text, options in spec.token_options.items() if options.verbatim]
    if isinstance(spec.model, UnigramModel):
        symbols += [spec.vocab[token_id].decode() for token_id in spec.model.user_defined]
    if symbols:
        problem = f"found user-defined symbols such as {symbols[0]!r}, which llama.cpp cuts out of a text first"
        raise VocabularyError(f"{problem}, so that other blanks are added. Write a SentencePiece .model")
    options = {**dict.fromkeys(spec.added_tokens, AS_SYMBOL), **spec.token_options}
    model = pieces_of(replace(spec, token_options=options), pads=True)
    rows = list(model.pieces)
    for text, token_id in spec.added_tokens.items():
        rows[token_id] = (text, 0.0, USER_DEFINED)
    model = replace(model, pieces=rows)
    problem = ""
    if model.is_suffix or not model.marks_blanks:
        problem = "found a blank at the end of texts, or blanks that are not U+2581, which llama.cpp does not have"
    elif model.is_bpe and model.charsmap:
        problem = "found a normalization table, which llama.cpp does not apply for BPE"
    elif model.is_bpe and model.remove_extra_whitespaces:
        problem = "runs of blanks become one blank, which llama.cpp does not do for BPE"
    elif model.is_bpe and not model.byte_fallback:
        problem = "there are no byte tokens, which llama.cpp needs for BPE"
    elif model.remove_extra_whitespaces and not model.add_dummy_prefix:
        problem = "runs of blanks become one blank and none is added, but llama.cpp then adds one"
    elif not model.is_bpe and model.byte_fallback:
        problem = "found byte tokens, which llama.cpp does not use for Unigram"
    if problem:
        raise VocabularyError(f"{problem}. Write a SentencePiece .model")
    return model
