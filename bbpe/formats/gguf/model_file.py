"""GGUF, llama.cpp's model files: the vocabulary in their metadata, below `tokenizer.ggml.`.

`tokenizer.ggml.model` says of which kind: byte-level BPE is "gpt2", SentencePiece's BPE "llama" and its Unigram "t5".
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from ...errors import VocabularyError
from ...files import StrPath
from ...pipeline.special_tokens import END_OF_TEXT
from ...spec.spec import TextRules, TokenizerSpec
from ...splitting.patterns import Pattern
from ..known import check_special_tokens
from ..pieces import UNKNOWN, Piece, PieceModel
from .bpe import byte_level_pieces, read_byte_level
from .fields import read_fields
from .pieces import BPE, UNIGRAM, read_pieces, written_pieces

_BYTE_LEVEL = "gpt2"


def load(
    path: StrPath,
    *,
    pattern: str | Sequence[str] | Pattern | None = None,
    special_tokens: Mapping[str, int] | None = None,
    name: str | None = None,
) -> TokenizerSpec:
    """Read the vocabulary of a GGUF file.

    Control tokens are special tokens, user-defined ones added tokens (pieces, in Unigram); unused ones that pad models
    are left out.  `pattern` replaces what `tokenizer.ggml.pre` says, `special_tokens` the control tokens.  Whether BOS
    and EOS shall stand around a text becomes the template for `add_special_tokens=True`; a file of pieces that gives
    the id and does not say has BOS in BPE and EOS in Unigram, as llama.cpp does.

    Raises `VocabularyError` with file and place on a kind of model or of splitting that is not known, by name; on a
    file that ends too early, lists of different lengths, and a broken vocabulary.
    """
    given = check_special_tokens(special_tokens)
    fields = read_fields(path)
    model = fields.model()
    if model in (BPE, UNIGRAM):
        return read_pieces(fields, model, path, pattern=pattern, special_tokens=given, name=name)
    if model != _BYTE_LEVEL:
        problem = f"found {model!r}, which is not supported; expected {_BYTE_LEVEL!r}, {BPE!r} or {UNIGRAM!r}"
        fields.refuse(problem, "model")
    return read_byte_level(fields, path, pattern=pattern, special_tokens=given, name=name)


def written(spec: TokenizerSpec, path: Path) -> dict[Path, bytes]:
    """Return a GGUF file of a vocabulary alone, as llama.cpp's converter does with `--vocab-only`.

    Ids without a token get an unused one, `[PADn]`.

    Raises `VocabularyError` on what llama.cpp has no place for, or would read as other ids; `ImportError` without the
    `gguf` package, which `pip install bbpe[gguf]` brings.
    """
    if spec.template is not None and max(map(len, spec.template.around)) > 1:
        problem = "GGUF has a place for one token before a text and one behind it; its template has more"
        raise VocabularyError(f"{problem}. Write tokenizer.json", path=path)
    if spec.characters is None:
        if spec.rules != TextRules() or spec.token_options:
            problem = "a GGUF model of bytes holds no normalizer, prefix or options of special tokens, which this has"
            raise VocabularyError(f"{problem}; write tokenizer.json", path=path)
        pieces, merges, pre = byte_level_pieces(spec, path)
        data = _written(spec, pieces, _BYTE_LEVEL, pre, lambda writer: writer.add_token_merges(merges))
    else:
        model = written_pieces(spec, path)
        data = _written(spec, model.pieces, BPE if model.is_bpe else UNIGRAM, "default", partial(_write_model, model))
    return {path: data}


def _write_model(model: PieceModel, writer: Any) -> None:
    """Write what a model of pieces has beside texts and types."""
    writer.add_token_scores([piece.score for piece in model.pieces])
    writer.add_add_space_prefix(model.add_dummy_prefix)
    writer.add_remove_extra_whitespaces(model.remove_extra_whitespaces)
    if model.charsmap:
        writer.add_precompiled_charsmap(model.charsmap)


def _written(
    spec: TokenizerSpec, pieces: Sequence[Piece], model: str, pre: str, write_rest: Callable[[Any], None]
) -> bytes:
    """Return the file; `write_rest` writes what only this kind of model has."""
    try:
        from gguf import GGUFWriter
    except ImportError:
        raise ImportError("writing GGUF needs the gguf package: pip install bbpe[gguf]") from None
    with TemporaryDirectory() as folder:
        file = Path(folder, "vocabulary.gguf")
        writer = GGUFWriter(file, "llama")
        writer.add_type("model")
        writer.add_tokenizer_model(model)
        writer.add_tokenizer_pre(pre)
        writer.add_token_list([piece.text for piece in pieces])
        writer.add_token_types([piece.kind for piece in pieces])
        write_rest(writer)
        _write_ends(writer, spec, pieces)
        writer.write_header_to_file()
        writer.write_kv_data_to_file()
        writer.close()
        return file.read_bytes()


def _write_ends(writer: Any, spec: TokenizerSpec, pieces: Sequence[Piece]) -> None:
    """Write which tokens begin and end a text, and whether they shall."""
    before, behind = ((), ()) if spec.template is None else spec.template.around
    begins = [spec.special_tokens["<s>"]] if spec.characters is not None and "<s>" in spec.special_tokens else []
    ends = [spec.special_tokens[text] for text in END_OF_TEXT if text in spec.special_tokens]
    for token_id in (*before, *begins)[:1]:
        writer.add_bos_token_id(token_id)
    for token_id in (*behind, *ends)[:1]:
        writer.add_eos_token_id(token_id)
    for token_id, piece in enumerate(pieces):
        if piece.kind == UNKNOWN:
            writer.add_unk_token_id(token_id)
    writer.add_add_bos_token(bool(before))
    if behind or spec.characters is not None:
        writer.add_add_eos_token(bool(behind))
