"""The documents of classes with a SentencePiece model: T5, XLM-R, Llama and their kin.

Source: the classes of HF's `transformers` 5.  Each function has the name of a class in `classes.py`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from ...lazy import safe_import
from ...records import replace
from ...spec.models import Merges
from ...spec.rules import SPACE_MARK
from ..common.key_tables import KeyTable, MergeIds
from ..common.reading import Fields
from .documents import ClassFiles, ClassParts, metaspace, number, precompiled, replaced

#: The codes of mBART's languages, which are tokens after the pieces; mBART-50 has more.
MBART = (
    "ar_AR cs_CZ de_DE en_XX es_XX et_EE fi_FI fr_XX gu_IN hi_IN it_IT ja_XX kk_KZ ko_KR lt_LT lv_LV my_MM ne_NP nl_XX "
    "ro_RO ru_RU si_LK tr_TR vi_VN zh_CN"
).split()
MBART50 = [
    *MBART,
    *"af_ZA az_AZ bn_IN fa_IR he_IL hr_HR id_ID ka_GE km_KH mk_MK ml_IN mn_MN mr_IN pl_PL ps_AF pt_XX sv_SE".split(),
    *"sw_KE ta_IN te_IN th_TH tl_XX uk_UA ur_PK xh_ZA gl_ES sl_SI".split(),
]
_WORDS = {"type": "WhitespaceSplit"}
_QUOTES = (replaced("``", '"'), replaced("''", '"'))
_ACCENTS = ({"type": "NFKD"}, {"type": "StripAccents"})
_SQUEEZED = replaced(" {2,}", " ", is_regex=True)
_LINES = (replaced(r"\s{2,}|[\n\r\t]", " ", is_regex=True), {"type": "NFC"})
_LINES_END = {"type": "Strip", "strip_left": False, "strip_right": True}
_NLLB, _OLD_NLLB = ("src_lang A eos", "src_lang A B eos"), ("A eos src_lang", "A B eos src_lang")
_Vocab = list[tuple[str, float]]


def _rows(files: ClassFiles, start: int = 0) -> _Vocab:
    """Return the texts and scores of the pieces from an id on; those of a tokenizer.json are rows as they are."""
    rows: Any = files.pieces[start:]
    return [*rows] if files.is_listed else [(text, score) for text, score, _ in rows]


def _texts(files: ClassFiles) -> list[str]:
    return [row[0] for row in files.pieces]


def _listed(texts: Iterable[str], score: float = 0.0) -> _Vocab:
    return [(text, score) for text in texts]


def _named(files: ClassFiles, *uses: str) -> _Vocab:
    """Return rows of the score 0 for tokens by their uses."""
    return _listed(files.text(use) for use in uses)


def _unknown(files: ClassFiles) -> int:
    if files.is_listed:
        return 0
    safe_import("bbpe.formats.sentencepiece.piece_rows")
    from ..sentencepiece.piece_rows import UNKNOWN

    return next((i for i, (_, _, kind) in enumerate(files.pieces) if kind == UNKNOWN), 0)


def _unigram(files: ClassFiles, rows: _Vocab, unknown: int) -> dict[str, Any]:
    rows = _rows(files) if files.is_listed else rows
    if not 0 <= unknown < len(rows):
        text = files.text("unk")
        files.fields.refuse(f"the vocabulary has no token {text!r}; expected one for the unknown token", "unk_token")
    vocab = [] if files.is_listed else [list(row) for row in rows]
    return {"type": "Unigram", "unk_id": unknown, "vocab": vocab, "byte_fallback": False}


def _bpe(files: ClassFiles, texts: Iterable[str], unknown: str | None, *, fallback: bool) -> dict[str, Any]:
    """Return a BPE model with all merges that its tokens allow."""
    keys = {} if files.is_listed else {text: token_id for token_id, text in enumerate(texts)}
    table = KeyTable.of(keys)
    return {
        "type": "BPE", "unk_token": unknown, "fuse_unk": True, "byte_fallback": fallback, "vocab": table,
        "merges": MergeIds(_merges(keys), table),
    }  # fmt: skip


def _merges(keys: Mapping[str, int]) -> Merges:
    """Return each way to make a token of two others, in order of ids and then of the length of the first part."""
    return Merges(
        (keys[text[:cut]], keys[text[cut:]], made)
        for text, made in keys.items()
        for cut in range(1, len(text))
        if text[:cut] in keys and text[cut:] in keys
    )


def _marked(files: ClassFiles, *before: dict[str, Any], other: str = "never") -> tuple[tuple[dict[str, Any], ...], Any]:
    """Return the pre-tokenizers and the decoder of words after a mark."""
    has_prefix = files.flag("add_prefix_space", True) if files.row.reads_prefix else True
    mark = metaspace("always" if has_prefix else other)
    return (*before, mark), mark


def _lower(files: ClassFiles, usual: bool) -> list[dict[str, Any]]:
    return [{"type": "Lowercase"}] if files.flag("do_lower_case", usual) else []


def _squeezed(files: ClassFiles) -> list[dict[str, Any]]:
    return [*precompiled(files.charsmap), _SQUEEZED] if files.charsmap else []


def t5(files: ClassFiles) -> ClassParts:
    """T5: extra ids follow the pieces, the last one first."""
    rows = [*_rows(files), *_listed(reversed(extra_ids(files.fields)))]
    return ClassParts(_unigram(files, rows, 2), precompiled(files.charsmap), *_marked(files, _WORDS))


def extra_ids(fields: Fields) -> list[str]:
    """Return the tokens of T5 for masked spans."""
    return [f"<extra_id_{i}>" for i in range(number(fields, "extra_ids", 100))]


def albert(files: ClassFiles) -> ClassParts:
    """ALBERT: quotes and accents are replaced, and flags for both."""
    accents = () if files.flag("keep_accents", False) else _ACCENTS
    normalizers = [*_QUOTES, *accents, *_lower(files, True), *precompiled(files.charsmap)]
    return ClassParts(_unigram(files, _rows(files), 1), normalizers, *_marked(files, _WORDS))


def albert_ends(files: ClassFiles) -> dict[str, Any] | None:
    """Return the template of flags that the configuration has, or that of BERT."""
    has_flags = "add_bos_token" in files.fields or "add_eos_token" in files.fields
    return files.flagged() if has_flags and not files.is_listed else files.template("cls A sep", "cls A sep B:1 sep:1")


def xlnet(files: ClassFiles) -> ClassParts:
    """XLNet: as ALBERT without its flags."""
    normalizers = [*_QUOTES, *_ACCENTS, *_lower(files, False), *precompiled(files.charsmap)]
    return ClassParts(_unigram(files, _rows(files), _unknown(files)), normalizers, *_marked(files, _WORDS))


def pegasus(files: ClassFiles) -> ClassParts:
    """Pegasus: masks and reserved tokens come before the pieces."""
    masks = _optional(files.fields, "mask_token", "<mask_1>") + _optional(files.fields, "mask_token_sent", "<mask_2>")
    reserved = _listed(_reserved(files.fields), -100.0)
    rows = [*_named(files, "pad", "eos"), *_listed(dict.fromkeys(masks)), *reserved, *_rows(files, 2)]
    rows = _rows(files) if files.is_listed else rows
    unknown = files.text("unk")
    place = next((place for place, (text, score) in enumerate(rows) if place and text == unknown and not score), -1)
    spaces = _squeezed(files) or [replaced(r"\n", " ", is_regex=True), _SQUEEZED]
    return ClassParts(_unigram(files, rows, place), spaces, *_marked(files))


def pegasus_tokens(fields: Fields) -> list[str]:
    """Return the special tokens of Pegasus: the mask of sentences, and the reserved ones."""
    return _optional(fields, "mask_token_sent", "<mask_1>") + _reserved(fields)


def _reserved(fields: Fields) -> list[str]:
    return [f"<unk_{i}>" for i in range(2, number(fields, "offset", 103))]


def _optional(fields: Fields, use: str, usual: str) -> list[str]:
    """Return the text of a token of a configuration, or the usual one; nothing if it is null."""
    value = fields.peek(use) if use in fields else usual
    value = value.get("content") if isinstance(value, dict) else value
    return [] if value is None else [fields.checked(value, str, use)]


def xlm_roberta(files: ClassFiles) -> ClassParts:
    """XLM-RoBERTa: the special tokens of fairseq replace those of the model."""
    return ClassParts(_fairseq(files, "bos"), precompiled(files.charsmap), *_marked(files, _WORDS))


def _fairseq(files: ClassFiles, first: str, more: Iterable[str] = ()) -> dict[str, Any]:
    before = _named(files, first, "pad", "eos", "unk")
    return _unigram(files, [*before, *_rows(files, 3), *_listed(more), *_named(files, "mask")], 3)


def camembert(files: ClassFiles) -> ClassParts:
    """CamemBERT: as XLM-RoBERTa with tokens that are not used."""
    first = [("<s>NOTUSED", 0.0), *_named(files, "pad"), ("</s>NOTUSED", 0.0), *_named(files, "unk")]
    rows = [*first, ("<unk>NOTUSED", -100.0), *_rows(files, 1), *_named(files, "mask")]
    rows = _rows(files) if files.is_listed else rows
    unknown = files.text("unk")
    place = next((place for place, (text, _) in enumerate(rows) if text == unknown), 0)
    return ClassParts(_unigram(files, rows, place), precompiled(files.charsmap), *_marked(files, _WORDS))


def mbart(files: ClassFiles) -> ClassParts:
    """mBART: codes of languages follow the pieces; the table of the model is not used."""
    return ClassParts(_fairseq(files, "bos", MBART), (), *_marked(files, _WORDS))


def mbart50(files: ClassFiles) -> ClassParts:
    """mBART-50: codes of languages follow the pieces."""
    if files.is_listed and not any(code in files.keys for code in MBART50):
        files.fields.refuse("the vocabulary of tokenizer.json has no code of a language; expected those of mBART-50")
    normalizers = [*precompiled(files.charsmap), _SQUEEZED]
    return ClassParts(_fairseq(files, "cls", MBART50), normalizers, *_marked(files))


def nllb(files: ClassFiles) -> ClassParts:
    """NLLB: merges of the pieces, after the special tokens of fairseq."""
    texts = dict.fromkeys((*(files.text(use) for use in ("bos", "pad", "eos", "unk")), *_texts(files)))
    return ClassParts(_bpe(files, texts, files.text("unk"), fallback=False), _squeezed(files), *_marked(files))


def nllb_ends(files: ClassFiles) -> dict[str, Any]:
    """Return the template of NLLB, which a flag for old files turns round."""
    is_old = files.flag("legacy_behaviour", False)
    return files.template(*(_OLD_NLLB if is_old else _NLLB))


def deberta_v2(files: ClassFiles) -> ClassParts:
    """DeBERTa-v2: line ends are blanks, and a flag splits at punctuation."""
    punctuation = [{"type": "Punctuation", "behavior": "Isolated"}] if files.flag("split_by_punct", False) else []
    normalizers = [*_lower(files, False), *_LINES, _LINES_END]
    return ClassParts(_bracketed(files, _unknown(files)), normalizers, *_marked(files, *punctuation, other="first"))


def big_bird(files: ClassFiles) -> ClassParts:
    """BigBird: several blanks become one mark."""
    no_strip = {"type": "Strip", "strip_left": False, "strip_right": False}
    normalizers = [no_strip, replaced(" {2,}", SPACE_MARK, is_regex=True)]
    return ClassParts(_bracketed(files, 100), normalizers, *_marked(files))


def _bracketed(files: ClassFiles, usual: int) -> dict[str, Any]:
    """Return a model whose unknown token is a piece of the score 0, or the one with the usual id."""
    rows, unknown = _rows(files), (files.text("unk"), 0.0)
    return _unigram(files, rows, next((place for place, row in enumerate(rows) if (*row,) == unknown), usual))


def reformer(files: ClassFiles) -> ClassParts:
    """Reformer: merges of the pieces."""
    return ClassParts(_bpe(files, _texts(files), files.text("unk"), fallback=False), _squeezed(files), *_marked(files))


def llama(files: ClassFiles) -> ClassParts:
    """Llama: merges of the pieces, and a mark in front of a text."""
    has_prefix = _prefixed(files)
    scheme = ("always" if files.flag("legacy", False) else "first") if has_prefix else "never"
    model = _bpe(files, _texts(files), None, fallback=True)
    return ClassParts(model, (), (metaspace(scheme, split=False),), _of_marks(has_prefix))


def code_llama(files: ClassFiles) -> ClassParts:
    """Code Llama: as Llama; a token for infilling is refused, beside a tokenizer.json it has a note."""
    fill = files.config.uses.get("fill_token")
    if fill is not None and not files.is_listed:
        problem = f"the class makes an infilling prompt of a text with {fill!r}, which is not supported"
        files.fields.refuse(f"{problem}; expected null", "fill_token")
    mark = metaspace("first" if _prefixed(files) else "never", split=False)
    return ClassParts(_bpe(files, _texts(files), files.text("unk"), fallback=True), (), (mark,), _of_marks(True))


def gemma(files: ClassFiles) -> ClassParts:
    """Gemma: merges of the pieces, and nothing in front of a text."""
    model = _bpe(files, _texts(files), files.text("unk"), fallback=True)
    return ClassParts(model, (replaced(" ", SPACE_MARK),), (), _of_marks(False))


def siglip2(files: ClassFiles) -> ClassParts:
    """SigLIP 2: as Gemma, in lower case."""
    made = gemma(files)
    return replace(made, normalizers=({"type": "Lowercase"}, *made.normalizers))


def barthez(files: ClassFiles) -> ClassParts:
    """BARThez: line ends are blanks."""
    return ClassParts(_unigram(files, _rows(files), 3), (*_LINES, _LINES_END), *_marked(files))


def xglm(files: ClassFiles) -> ClassParts:
    """XGLM: blanks; the special tokens of fairseq are in the vocabulary."""
    normalizers = [*precompiled(files.charsmap), _SQUEEZED]
    return ClassParts(_unigram(files, _rows(files), 3), normalizers, *_marked(files))


def made_up_words(fields: Fields) -> list[str]:
    """Return the tokens of XGLM that fill its vocabulary."""
    return [f"<madeupword{i}>" for i in range(7)]


def _prefixed(files: ClassFiles) -> bool:
    """Return the flag for a blank in front; null is true."""
    value = files.fields.peek("add_prefix_space")
    return True if value is None else files.fields.checked(value, bool, "add_prefix_space")


def _of_marks(has_prefix: bool) -> dict[str, Any]:
    """Return the decoder of marks and bytes, which removes the blank that was put in front."""
    strip = [{"type": "Strip", "content": " ", "start": 1, "stop": 0}] if has_prefix else []
    return {
        "type": "Sequence",
        "decoders": [replaced(SPACE_MARK, " "), {"type": "ByteFallback"}, {"type": "Fuse"}, *strip],
    }
