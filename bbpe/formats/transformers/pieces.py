"""Folders with a SentencePiece model whose class gives it other ids, tokens or rules: T5, XLM-R, Llama and their kin.

Source: the classes of HF's `transformers` 5, which make a `tokenizer.json` of the pieces.  Each class has a row in
`_CLASSES`; `tokenizer_json` reads what its function returns.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from ...records import dataclass, replace
from ...spec.merges import Merges
from ...spec.rules import SPACE_MARK, TokenOptions
from ...spec.spec import TokenizerSpec
from ..common.given import Given
from ..common.key_tables import Keys, MergeIds
from ..common.keys import CONFIG, class_of
from ..common.reading import Fields
from ..huggingface.tokenizer_json import read_document
from ..sentencepiece.piece_rows import CONTROL, UNKNOWN, USER_DEFINED, Row
from ..sentencepiece.pieces import PieceModel
from .documents import (
    ClassTokens,
    class_fields,
    flag,
    metaspace,
    number,
    precompiled,
    refused_class,
    replaced,
    sequence,
    special,
    usual_tokens,
    with_padding,
)
from .folder import FolderConfig, FolderToken, UsualTokens, other_files, read_folder
from .language_codes import MBART, MBART50

_Vocab = list[tuple[str, float]]


class _Folder:
    """A model and the configuration of its folder, as the functions of the classes read them."""

    def __init__(self, model: PieceModel, fields: Fields, config: FolderConfig) -> None:
        self.pieces: Sequence[Row] = model.pieces
        self.charsmap, self.fields, self.config = model.charsmap, fields, config
        self.unknown = next((i for i, (_, _, kind) in enumerate(model.pieces) if kind == UNKNOWN), 0)

    def rows(self, start: int = 0) -> _Vocab:
        """Return the texts and scores of the pieces from an id on."""
        return [(text, score) for text, score, _ in self.pieces[start:]]

    def named(self, *uses: str) -> _Vocab:
        """Return rows of the score 0 for tokens by their uses."""
        tokens = self.tokens({})
        return [(tokens.text(use), 0.0) for use in uses]

    def tokens(self, keys: Mapping[str, int]) -> ClassTokens:
        """Return the tokens of the folder after a vocabulary."""
        return ClassTokens(self.config, keys, self.fields)

    def flag(self, name: str, usual: bool) -> bool:
        """Return a flag of the configuration."""
        return flag(self.fields, name, usual)

    def unigram(self, rows: _Vocab, unknown: int, *, template: tuple[str, str], **parts: Any) -> dict[str, Any]:
        """Return a document with a Unigram model."""
        if not 0 <= unknown < len(rows):
            text = self.tokens({}).text("unk")
            self.fields.refuse(f"the vocabulary has no token {text!r}; expected one for the unknown token", "unk_token")
        keys = {text: token_id for token_id, (text, _) in enumerate(rows)}
        model = {"type": "Unigram", "unk_id": unknown, "vocab": [list(row) for row in rows], "byte_fallback": False}
        return self._document(model, keys, template, **parts)

    def bpe(
        self, texts: Iterable[str], *, unknown: str | None, fallback: bool, template: tuple[str, str] = ("", ""),
        **parts: Any,
    ) -> dict[str, Any]:  # fmt: skip
        """Return a document with a BPE model and all merges that its tokens allow."""
        keys = {text: token_id for token_id, text in enumerate(texts)}
        table = Keys.of(keys)
        model = {
            "type": "BPE", "unk_token": unknown, "fuse_unk": True, "byte_fallback": fallback, "vocab": table,
            "merges": MergeIds(_merges(keys), table),
        }  # fmt: skip
        return self._document(model, keys, template, **parts)

    def _document(
        self, model: dict[str, Any], keys: Mapping[str, int], template: tuple[str, str], *,
        normalizers: Iterable[dict[str, Any]] = (), splits: Iterable[dict[str, Any]], decoder: dict[str, Any] | None,
        names: Mapping[str, str] | None = None, has_bos: bool = False,
    ) -> dict[str, Any]:  # fmt: skip
        tokens = self.tokens(keys)
        return {
            "added_tokens": tokens.rows(),
            "normalizer": sequence("normalizers", normalizers),
            "pre_tokenizer": sequence("pretokenizers", splits),
            "post_processor": tokens.template(*template, names) if template[0] else self._flagged(tokens, has_bos),
            "decoder": decoder,
            "model": model,
        }

    def _flagged(self, tokens: ClassTokens, has_bos: bool) -> dict[str, Any] | None:
        return tokens.flagged(self.flag("add_bos_token", has_bos), self.flag("add_eos_token", False))


def _merges(keys: Mapping[str, int]) -> Merges:
    """Return each way to make a token of two others, in order of ids and then of the length of the first part."""
    return Merges(
        (keys[text[:cut]], keys[text[cut:]], made)
        for text, made in keys.items()
        for cut in range(1, len(text))
        if text[:cut] in keys and text[cut:] in keys
    )


_WORDS = {"type": "WhitespaceSplit"}
_QUOTES = (replaced("``", '"'), replaced("''", '"'))
_ACCENTS = ({"type": "NFKD"}, {"type": "StripAccents"})
_SQUEEZED = replaced(" {2,}", " ", is_regex=True)
_LINES = (replaced(r"\s{2,}|[\n\r\t]", " ", is_regex=True), {"type": "NFC"})
_LINES_END = {"type": "Strip", "strip_left": False, "strip_right": True}
_AROUND = ("cls A sep", "cls A sep B:1 sep:1")
_FAIRSEQ = ("bos A eos", "bos A eos eos B eos")


def _marked(folder: _Folder, *before: dict[str, Any], **options: Any) -> dict[str, Any]:
    """Return the pre-tokenizer and decoder of words after a mark."""
    prefixed = folder.flag("add_prefix_space", True) if options.pop("has_flag", False) else True
    mark = metaspace("always" if prefixed else options.pop("other", "never"))
    return {"splits": (*before, mark), "decoder": mark}


def _t5(folder: _Folder) -> dict[str, Any]:
    extra = [(f"<extra_id_{i}>", 0.0) for i in reversed(range(number(folder.fields, "extra_ids", 100)))]
    return folder.unigram(
        [*folder.rows(), *extra], 2, normalizers=precompiled(folder.charsmap), **_marked(folder, _WORDS),
        template=("A eos", "A eos B eos"),
    )  # fmt: skip


def _extra_ids(fields: Fields) -> list[str]:
    return [f"<extra_id_{i}>" for i in range(number(fields, "extra_ids", 100))]


def _lower(folder: _Folder, usual: bool) -> list[dict[str, Any]]:
    return [{"type": "Lowercase"}] if folder.flag("do_lower_case", usual) else []


def _albert(folder: _Folder) -> dict[str, Any]:
    accents = () if folder.flag("keep_accents", False) else _ACCENTS
    normalizers = [*_QUOTES, *accents, *_lower(folder, True), *precompiled(folder.charsmap)]
    has_flags = "add_bos_token" in folder.fields or "add_eos_token" in folder.fields
    return folder.unigram(
        folder.rows(), 1, normalizers=normalizers, **_marked(folder, _WORDS, has_flag=True),
        template=("", "") if has_flags else _AROUND,
    )  # fmt: skip


def _xlnet(folder: _Folder) -> dict[str, Any]:
    normalizers = [*_QUOTES, *_ACCENTS, *_lower(folder, False), *precompiled(folder.charsmap)]
    return folder.unigram(
        folder.rows(), folder.unknown, normalizers=normalizers, **_marked(folder, _WORDS),
        template=("A sep cls:2", "A sep B:1 sep:1 cls:2"),
    )  # fmt: skip


def _optional(fields: Fields, use: str, usual: str) -> list[str]:
    """Return the text of a token of a configuration, or the usual one; nothing if it is null."""
    value = fields.peek(use) if use in fields else usual
    value = value.get("content") if isinstance(value, dict) else value
    return [] if value is None else [fields.checked(value, str, use)]


def _pegasus_masks(fields: Fields) -> list[str]:
    """Return the masks in the order of their ids."""
    masks = _optional(fields, "mask_token", "<mask_1>") + _optional(fields, "mask_token_sent", "<mask_2>")
    return list(dict.fromkeys(masks))


def _pegasus_names(fields: Fields) -> list[str]:
    unknown = [f"<unk_{i}>" for i in range(2, number(fields, "offset", 103))]
    return _optional(fields, "mask_token_sent", "<mask_1>") + unknown


def _pegasus(folder: _Folder) -> dict[str, Any]:
    masks = [(text, 0.0) for text in _pegasus_masks(folder.fields)]
    reserved = [(f"<unk_{i}>", -100.0) for i in range(2, number(folder.fields, "offset", 103))]
    rows = [*folder.named("pad", "eos"), *masks, *reserved, *folder.rows(2)]
    unknown = folder.tokens({}).text("unk")
    place = next((place for place, (text, score) in enumerate(rows) if place and text == unknown and not score), -1)
    spaces = [_SQUEEZED] if folder.charsmap else [replaced(r"\n", " ", is_regex=True), _SQUEEZED]
    return folder.unigram(
        rows, place, normalizers=[*precompiled(folder.charsmap), *spaces], **_marked(folder),
        template=("A eos", "A B eos"),
    )  # fmt: skip


def _xlm_roberta(folder: _Folder) -> dict[str, Any]:
    rows = [*folder.named("bos", "pad", "eos", "unk"), *folder.rows(3), *folder.named("mask")]
    return folder.unigram(
        rows, 3, normalizers=precompiled(folder.charsmap), **_marked(folder, _WORDS, has_flag=True), template=_FAIRSEQ
    )


def _camembert(folder: _Folder) -> dict[str, Any]:
    first = [("<s>NOTUSED", 0.0), *folder.named("pad"), ("</s>NOTUSED", 0.0), *folder.named("unk")]
    rows = [*first, ("<unk>NOTUSED", -100.0), *folder.rows(1), *folder.named("mask")]
    unknown = folder.tokens({}).text("unk")
    place = next((place for place, (text, _) in enumerate(rows) if text == unknown), 0)
    return folder.unigram(
        rows, place, normalizers=precompiled(folder.charsmap), **_marked(folder, _WORDS, has_flag=True),
        template=_FAIRSEQ,
    )  # fmt: skip


def _source_language(folder: _Folder, usual: str) -> dict[str, str]:
    value = folder.fields.peek("src_lang")
    return {"src_lang": usual if value is None else folder.fields.checked(value, str, "src_lang")}


def _mbart(folder: _Folder) -> dict[str, Any]:
    codes = [(code, 0.0) for code in MBART]
    rows = [*folder.named("bos", "pad", "eos", "unk"), *folder.rows(3), *codes, *folder.named("mask")]
    return folder.unigram(
        rows, 3, **_marked(folder, _WORDS), template=("A eos src_lang", "A B eos src_lang"),
        names=_source_language(folder, "en_XX"),
    )  # fmt: skip


def _mbart50(folder: _Folder) -> dict[str, Any]:
    codes = [(code, 0.0) for code in MBART50]
    rows = [*folder.named("cls", "pad", "eos", "unk"), *folder.rows(3), *codes, *folder.named("mask")]
    return folder.unigram(
        rows, 3, normalizers=[*precompiled(folder.charsmap), _SQUEEZED], **_marked(folder),
        template=("src_lang A eos", "src_lang A B eos"), names=_source_language(folder, "en_XX"),
    )  # fmt: skip


def _nllb(folder: _Folder) -> dict[str, Any]:
    first = [text for text, _ in folder.named("bos", "pad", "eos", "unk")]
    is_old = folder.flag("legacy_behaviour", False)
    forms = ("A eos src_lang", "A B eos src_lang") if is_old else ("src_lang A eos", "src_lang A B eos")
    return folder.bpe(
        dict.fromkeys((*first, *(text for text, _ in folder.rows()))), unknown=folder.tokens({}).text("unk"),
        fallback=False, normalizers=[*precompiled(folder.charsmap), _SQUEEZED] if folder.charsmap else [],
        **_marked(folder), template=forms, names=_source_language(folder, "eng_Latn"),
    )  # fmt: skip


def _deberta_v2(folder: _Folder) -> dict[str, Any]:
    punctuation = [{"type": "Punctuation", "behavior": "Isolated"}] if folder.flag("split_by_punct", False) else []
    rows, unknown = folder.rows(), (folder.tokens({}).text("unk"), 0.0)
    return folder.unigram(
        rows, rows.index(unknown) if unknown in rows else folder.unknown,
        normalizers=[*_lower(folder, False), *_LINES, _LINES_END],
        **_marked(folder, *punctuation, has_flag=True, other="first"), template=_AROUND,
    )  # fmt: skip


def _big_bird(folder: _Folder) -> dict[str, Any]:
    rows, unknown = folder.rows(), (folder.tokens({}).text("unk"), 0.0)
    return folder.unigram(
        rows, rows.index(unknown) if unknown in rows else 100,
        normalizers=[replaced(" {2,}", SPACE_MARK, is_regex=True)], **_marked(folder, has_flag=True), template=_AROUND,
    )  # fmt: skip


def _reformer(folder: _Folder) -> dict[str, Any]:
    return folder.bpe(
        (text for text, _ in folder.rows()), unknown=folder.tokens({}).text("unk"), fallback=False,
        normalizers=[*precompiled(folder.charsmap), _SQUEEZED] if folder.charsmap else [], **_marked(folder),
    )  # fmt: skip


def _of_marks(has_prefix: bool) -> dict[str, Any]:
    """Return the decoder of marks and bytes, which removes the blank that was put in front."""
    strip = [{"type": "Strip", "content": " ", "start": 1, "stop": 0}] if has_prefix else []
    return {
        "type": "Sequence",
        "decoders": [replaced(SPACE_MARK, " "), {"type": "ByteFallback"}, {"type": "Fuse"}, *strip],
    }


def _prefixed(folder: _Folder) -> bool:
    value = folder.fields.peek("add_prefix_space")
    return True if value is None else folder.fields.checked(value, bool, "add_prefix_space")


def _llama(folder: _Folder) -> dict[str, Any]:
    has_prefix = _prefixed(folder)
    scheme = ("always" if folder.flag("legacy", False) else "first") if has_prefix else "never"
    return folder.bpe(
        (text for text, _ in folder.rows()), unknown=None, fallback=True, splits=[metaspace(scheme, split=False)],
        decoder=_of_marks(has_prefix),
    )  # fmt: skip


def _code_llama(folder: _Folder) -> dict[str, Any]:
    fill = folder.config.uses.get("fill_token")
    if fill is not None:
        problem = f"the class makes an infilling prompt of a text with {fill!r}, which is not supported"
        folder.fields.refuse(f"{problem}; expected null, or a tokenizer.json", "fill_token")
    scheme = "first" if _prefixed(folder) else "never"
    return folder.bpe(
        (text for text, _ in folder.rows()), unknown=folder.tokens({}).text("unk"), fallback=True,
        splits=[metaspace(scheme, split=False)], decoder=_of_marks(True), has_bos=True,
    )  # fmt: skip


def _gemma(folder: _Folder) -> dict[str, Any]:
    return folder.bpe(
        (text for text, _ in folder.rows()), unknown=folder.tokens({}).text("unk"), fallback=True,
        normalizers=[replaced(" ", SPACE_MARK)], splits=[], decoder=_of_marks(False),
    )  # fmt: skip


_S = {"bos": "<s>", "eos": "</s>"}
_ENDS = {**_S, "sep": "</s>", "cls": "<s>", "unk": "<unk>", "pad": "<pad>", "mask": "<mask>"}
_INFILLING = {"prefix": "▁<PRE>", "middle": "▁<MID>", "suffix": "▁<SUF>", "eot": "▁<EOT>", "fill": "<FILL_ME>"}
_BERT = {"bos": "[CLS]", "eos": "[SEP]", "sep": "[SEP]", "cls": "[CLS]", "mask": "[MASK]"}

_STRIPS = TokenOptions(lstrip=True)


def _none(fields: Fields) -> list[str]:
    return []


@dataclass(frozen=True)
class _Class:
    """A class: the name of its model, the tokens by use, and the function that makes a document.

    `listed` returns special tokens that follow those of the model.  `mask` has the options of the mask.
    Without `lists_symbols` the symbols of the model are not special tokens.
    """

    file: str
    tokens: Mapping[str, str]
    document: Callable[[_Folder], dict[str, Any]]
    listed: Callable[[Fields], list[str]] = _none
    mask: TokenOptions = TokenOptions()
    lists_symbols: bool = True
    padding_side: str = "right"


_SPIECE, _FAIRSEQ_FILE, _TOKENIZER = "spiece.model", "sentencepiece.bpe.model", "tokenizer.model"
_CLASSES = {
    "T5": _Class(_SPIECE, {"eos": "</s>", "unk": "<unk>", "pad": "<pad>"}, _t5, _extra_ids),
    "Albert": _Class(_SPIECE, {**_BERT, "unk": "<unk>", "pad": "<pad>"}, _albert),
    "XLNet": _Class(_SPIECE, {**_ENDS, "sep": "<sep>", "cls": "<cls>"}, _xlnet, mask=_STRIPS, padding_side="left"),
    "Pegasus": _Class(
        _SPIECE, {"eos": "</s>", "unk": "<unk>", "pad": "<pad>", "mask": "<mask_2>"}, _pegasus, _pegasus_names,
        lists_symbols=False,
    ),
    "BigBird": _Class(_SPIECE, {**_ENDS, "sep": "[SEP]", "cls": "[CLS]", "mask": "[MASK]"}, _big_bird, mask=_STRIPS),
    "Reformer": _Class(_SPIECE, {"eos": "</s>", "unk": "<unk>"}, _reformer),
    "XLMRoberta": _Class(_FAIRSEQ_FILE, _ENDS, _xlm_roberta),
    "Camembert": _Class(_FAIRSEQ_FILE, _ENDS, _camembert, mask=_STRIPS),
    "MBart": _Class(_FAIRSEQ_FILE, _ENDS, _mbart, lambda _: [*MBART], mask=_STRIPS),
    "MBart50": _Class(
        _FAIRSEQ_FILE, {use: text for use, text in _ENDS.items() if use != "bos"}, _mbart50, lambda _: [*MBART50],
        mask=_STRIPS,
    ),
    "Nllb": _Class(_FAIRSEQ_FILE, _ENDS, _nllb, mask=TokenOptions(lstrip=True, normalized=True)),
    "DebertaV2": _Class("spm.model", {**_BERT, "unk": "[UNK]", "pad": "[PAD]"}, _deberta_v2),
    "Llama": _Class(_TOKENIZER, {**_S, "unk": "<unk>"}, _llama, padding_side="left"),
    "CodeLlama": _Class(_TOKENIZER, {**_S, "unk": "<unk>", **_INFILLING}, _code_llama, padding_side="left"),
    "Gemma": _Class(
        _TOKENIZER, {"bos": "<bos>", "eos": "<eos>", "unk": "<unk>", "pad": "<pad>", "mask": "<mask>"}, _gemma,
        padding_side="left",
    ),
}  # fmt: skip
# other classes of `transformers` that read pieces by rules of their own
_OTHERS = frozenset(
    "Barthez Bartpho BertGeneration BertJapanese Cpm FNet GPTSw3 Lasr LayoutXLM M2M100 Marian MLuke PLBart RemBert "
    "Qwen3_5 SeamlessM4T Siglip Speech2Text SpeechT5 Tipsv2 Udop VideoPrism XGLM XLMProphetNet".split()
)


def load_class(folder: Path, read: Callable[[Path], PieceModel], given: Given) -> TokenizerSpec | None:
    """Return the spec of a folder as its class makes it of the pieces that `read` returns; `None` for other classes.

    Raises `VocabularyError` naming the file and the field or the piece that is broken or not supported.
    """
    kind = class_of(folder / CONFIG).removesuffix("Fast")
    row = _CLASSES.get(kind.removesuffix("Tokenizer"))
    if row is None and kind.removesuffix("Tokenizer") not in _OTHERS:
        return None
    fields = class_fields(folder / CONFIG)
    if row is None:
        problem = "reads pieces by rules that are not supported; expected a tokenizer.json"
        raise refused_class(folder, problem)
    path = folder / row.file
    if not path.is_file():
        raise refused_class(folder, f"reads {row.file}; expected such a file in the folder")
    model = read(path)
    config = read_folder(folder, _usual(row, model, fields))
    document = row.document(_Folder(model, fields, config))
    spec = read_document(document, path, given)
    return with_padding(replace(spec, files=other_files(folder), names=config.names), config, fields, row.padding_side)


def _usual(row: _Class, model: PieceModel, fields: Fields) -> UsualTokens:
    """Return the tokens that a class gives a model: its uses, the symbols of the model, and a list of its own."""
    listed = [
        FolderToken(text, TokenOptions(), kind == CONTROL, True)
        for text, _, kind in model.pieces
        if kind in (CONTROL, USER_DEFINED) and row.lists_symbols
    ]
    return usual_tokens(row.tokens, *listed, *map(special, row.listed(fields)), mask=row.mask)
