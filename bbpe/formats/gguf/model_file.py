"""Read and write the vocabulary in the metadata of a GGUF file, below `tokenizer.ggml.`.

`tokenizer.ggml.model` is the type of the vocabulary: "gpt2" is byte-level BPE, "llama" is SentencePiece's BPE, "t5" is
SentencePiece's Unigram, "bert" is WordPiece, "rwkv" takes longest matches, "gemma4" merges characters by a list.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Sequence
from difflib import get_close_matches
from functools import partial
from pathlib import Path
from typing import Any

from ...errors import VocabularyError
from ...files import StrPath, temporary_folder
from ...lazy import safe_import
from ...pipeline.special_tokens import END_OF_TEXT
from ...records import replace
from ...spec.rules import TokenOptions
from ...spec.spec import TextRules, TokenizerSpec
from ..common.given import Given
from ..sentencepiece.piece_rows import UNKNOWN, Row
from ..sentencepiece.pieces import PieceModel
from .bert import BERT, RWKV, read_bert, read_rwkv
from .bpe import byte_level_pieces, read_byte_level
from .characters import CHARACTERS, GEMMA, read_characters
from .fields import GGUFFields, read_fields
from .pieces import BPE, UNIGRAM, read_pieces, written_pieces

_BYTE_LEVEL = "gpt2"
_MOST_PAIRS = 1 << 20
# models whose mask takes the white space before it
_MASKS_BY_PRE = ("jina-v2-de", "jina-v2-es", "jina-v2-code")
_MASKS_BY_ARCHITECTURE = ("nomic-bert-moe", "jina-bert-v3")


def load(path: StrPath, given: Given) -> TokenizerSpec:
    """Read the vocabulary of a GGUF file.

    Control tokens become special tokens, user-defined tokens become added tokens (in Unigram, pieces), and unused
    tokens for padding are ignored.  `pattern` replaces the pattern of `tokenizer.ggml.pre`, `special_tokens` the
    control tokens.  The flags for BOS and EOS become the template for `add_special_tokens=True`.  A file of pieces that
    has the id but not the flag adds BOS in BPE and EOS in Unigram, as llama.cpp does.

    Raises `VocabularyError` with file and position on an unknown model or pre-tokenizer, a file that ends too early,
    lists of different lengths, and a broken vocabulary.
    """
    fields = read_fields(path)
    return _in_turn(_trimming(_read(fields, given), *fields.about), path)


def _read(fields: GGUFFields, given: Given) -> TokenizerSpec:
    model = fields.model()
    if model in (BPE, UNIGRAM):
        return read_pieces(fields, model, given)
    if model == BERT:
        return read_bert(fields, given)
    if model == RWKV:
        return read_rwkv(fields, given)
    if model == GEMMA or (model == _BYTE_LEVEL and fields.is_one_of("pre", CHARACTERS)):
        return read_characters(fields, given)
    if model != _BYTE_LEVEL:
        known = (_BYTE_LEVEL, BPE, UNIGRAM, BERT, RWKV, GEMMA)
        near = get_close_matches(model, known, n=1)
        hint = f" (did you mean {near[0]!r}?)" if near else ""
        problem = f"found {model!r}, which is not supported{hint}; expected one of {', '.join(map(repr, known))}"
        fields.refuse(problem, "model")
    return read_byte_level(fields, given)


def _trimming(spec: TokenizerSpec, name: str, architecture: str, pre: str) -> TokenizerSpec:
    """Return a spec whose tokens take the white space beside them that llama.cpp gives them by the name of a model."""
    tokens = spec.special_tokens.keys() | spec.added_tokens.keys()
    left, right, model = set[str](), set[str](), name.lower()
    if any(part in pre for part in _MASKS_BY_PRE) or any(part in architecture for part in _MASKS_BY_ARCHITECTURE):
        left = {"<mask>"}
    elif "phi-3" in model or "phi3" in model:
        right = tokens - {"<unk>", "<s>", "<|endoftext|>"}
    elif "modern-bert" in model:
        left = {"[MASK]"}
    options = dict.fromkeys(left & tokens, TokenOptions(lstrip=True)) | dict.fromkeys(right, TokenOptions(rstrip=True))
    return replace(spec, token_options={**spec.token_options, **options}) if options else spec


def _in_turn(spec: TokenizerSpec, path: StrPath) -> TokenizerSpec:
    """Return a spec that finds the longest tokens in the whole text first, and of equally long ones the lowest id.

    Tokens are usually found from left to right, the longest at each place.  That differs only where a token overlaps
    the beginning of one that comes before it; from such a token on tokens have the next turn.
    """
    ids = {text.encode("utf-8", "surrogatepass"): number for text, number in spec.added_tokens.items()}
    added = frozenset(ids)
    ids |= {text.encode("utf-8", "surrogatepass"): number for text, number in spec.special_tokens.items()}
    every, firsts = sorted(ids), {token[0] for token in ids}
    # a run of one byte overlaps a longer one only where that one begins as early
    runs = {token for token in every if token == token[:1] * len(token)}
    others = [token for token in every if token not in runs]
    turns: dict[bytes, int] = {}
    turn = pairs = 0
    for token in sorted(ids, key=lambda token: (-len(token), ids[token])):
        ordered = others if token in runs else every
        inside = () if firsts.isdisjoint(token[1:]) else range(1, len(token))
        for start in inside:
            at = bisect_left(ordered, token[start:]) if token[start] in firsts else len(ordered)
            while at < len(ordered) and ordered[at].startswith(token[start:]):
                other, at, pairs = ordered[at], at + 1, pairs + 1
                if turns.get(other) == turn and _is_found(token, token[:start] + other, other, added):
                    turn += 1
                if pairs > _MOST_PAIRS:
                    problem = f"more than {_MOST_PAIRS} pairs of control and user-defined tokens overlap"
                    raise VocabularyError(f"{problem}; expected fewer", path=path, place="tokenizer.ggml.tokens")
        turns[token] = turn
    options, usual = dict(spec.token_options), TokenOptions()
    for token, turn in turns.items():
        text = token.decode("utf-8", "surrogatepass")
        if turn:
            options[text] = replace(options.get(text, usual), turn=turn)
    return replace(spec, token_options=options)


def _is_found(token: bytes, text: bytes, other: bytes, added: frozenset[bytes]) -> bool:
    """Return whether a token is the longest at the beginning of a text; `other` and those `added` are always found."""
    longer = range(len(token) + 1, len(text) + 1)
    return not text.startswith(other) and not any(text[:end] in added for end in longer)


def written(spec: TokenizerSpec, path: Path) -> dict[Path, bytes]:
    """Return a GGUF file that has only a vocabulary, like that of llama.cpp's converter with `--vocab-only`.

    Ids without a token get an unused token `[PADn]`.

    Raises `VocabularyError` on a spec that GGUF cannot hold or llama.cpp would encode differently; `ImportError`
    without the `gguf` package, which `pip install bbpe[gguf]` installs.
    """
    if spec.template is not None and max(map(len, spec.template.around)) > 1:
        problem = "GGUF holds one token before a text and one after it, but the template has more"
        raise VocabularyError(f"{problem}; write tokenizer.json")
    # the turns of tokens follow from their lengths
    options = {text: row for text, row in spec.token_options.items() if row != TokenOptions(turn=row.turn)}
    spec = replace(spec, token_options=options)
    if spec.characters is None or spec.characters.are_bytes:
        if spec.rules != TextRules() or spec.token_options:
            problem = "a GGUF model of bytes holds no normalizer, prefix or options of special tokens, but this "
            raise VocabularyError(f"{problem}tokenizer has some; write tokenizer.json")
        pieces, merges, pre = byte_level_pieces(spec)
        data = _written(spec, pieces, _BYTE_LEVEL, pre, lambda writer: writer.add_token_merges(merges))
    else:
        model = written_pieces(spec)
        data = _written(spec, model.pieces, BPE if model.is_bpe else UNIGRAM, "default", partial(_write_model, model))
    return {path: data}


def _write_model(model: PieceModel, writer: Any) -> None:
    """Write the values of a model of pieces other than texts and types."""
    writer.add_token_scores([score for _, score, _ in model.pieces])
    writer.add_add_space_prefix(model.add_dummy_prefix)
    writer.add_remove_extra_whitespaces(model.remove_extra_whitespaces)
    if model.charsmap:
        writer.add_precompiled_charsmap(model.charsmap)


def _written(
    spec: TokenizerSpec, pieces: Sequence[Row], model: str, pre: str, write_rest: Callable[[Any], None]
) -> bytes:
    """Return the bytes of the file; `write_rest` writes the values that only this type of model has."""
    try:
        safe_import("gguf")
        from gguf import GGUFWriter
    except ImportError:
        raise ImportError("writing GGUF needs the gguf package: pip install bbpe[gguf]") from None
    with temporary_folder() as folder:
        file = Path(folder, "vocabulary.gguf")
        writer = GGUFWriter(file, "llama")
        writer.add_type("model")
        writer.add_tokenizer_model(model)
        writer.add_tokenizer_pre(pre)
        writer.add_token_list([text for text, _, _ in pieces])
        writer.add_token_types([kind for _, _, kind in pieces])
        write_rest(writer)
        _write_ends(writer, spec, pieces)
        writer.write_header_to_file()
        writer.write_kv_data_to_file()
        writer.close()
        return file.read_bytes()


def _write_ends(writer: Any, spec: TokenizerSpec, pieces: Sequence[Row]) -> None:
    """Write the ids of BOS, EOS and the unknown token, and whether BOS and EOS are added to a text."""
    before, after = ((), ()) if spec.template is None else spec.template.around
    begins = [spec.special_tokens["<s>"]] if spec.characters is not None and "<s>" in spec.special_tokens else []
    ends = [spec.special_tokens[text] for text in END_OF_TEXT if text in spec.special_tokens]
    for token_id in (*before, *begins)[:1]:
        writer.add_bos_token_id(token_id)
    for token_id in (*after, *ends)[:1]:
        writer.add_eos_token_id(token_id)
    for token_id, (_, _, kind) in enumerate(pieces):
        if kind == UNKNOWN:
            writer.add_unk_token_id(token_id)
    writer.add_add_bos_token(bool(before))
    if after or spec.characters is not None:
        writer.add_add_eos_token(bool(after))
