"""The classes of tokenizers of HF's `transformers` that bbpe has rules for; `names.py` has all names.

A class makes a `tokenizer.json` of a vocabulary without one.  Its row says how; `documents` makes it.
"""

from __future__ import annotations

from ...records import replace
from ...spec.rules import TokenOptions
from . import keys, pieces
from .documents import BERT_OPTIONS, ModelClass, replaced
from .folder import CLASS, ClassFolder
from .names import FolderClass, check_type, class_of, refused_class

_ENDS = {"bos": "<s>", "eos": "</s>"}
_FAIRSEQ = {**_ENDS, "sep": "</s>", "cls": "<s>", "unk": "<unk>", "pad": "<pad>", "mask": "<mask>"}
_BRACKETS = {use: f"[{use.upper()}]" for use in ("unk", "sep", "pad", "cls", "mask")}
_BERT_ENDS = {"bos": "[CLS]", "eos": "[SEP]"}
_GPT2 = dict.fromkeys(("bos", "eos", "unk"), "<|endoftext|>")
_INFILLING = {"prefix": "▁<PRE>", "middle": "▁<MID>", "suffix": "▁<SUF>", "eot": "▁<EOT>", "fill": "<FILL_ME>"}
_STRIPS = TokenOptions(lstrip=True)
_NFC = {"type": "NFC"}
# unlike the pattern of CLIP's own program, it minds the case: of U+017F after an apostrophe, and of U+0345
_CLIP = r"<\|startoftext\|>|<\|endoftext\|>|'s|'t|'re|'ve|'m|'ll|'d|[\p{L}]+|[\p{N}]|[^\s\p{L}\p{N}]+"
# the ids around texts
_PAIR, _DOUBLE = ("cls A sep", "cls A sep B:1 sep:1"), ("cls A sep", "cls A sep sep B sep")
_EOS, _AROUND = ("A eos", "A eos B eos"), ("bos A eos", "bos A eos eos B eos")

MERGES, WORDS, PIECES = "vocab.json", "vocab.txt", ".model"
_SHOWN = {MERGES: "vocab.json", WORDS: "vocab.txt", PIECES: "SentencePiece's models"}
_SPIECE, _BPE_MODEL, _TOKENIZER = "spiece.model", "sentencepiece.bpe.model", "tokenizer.model"
_OF_GPT2 = ModelClass(MERGES, _GPT2, keys.byte_level, keeps_template=True)
_OF_ROBERTA = ModelClass(MERGES, _FAIRSEQ, keys.byte_level, keys.roberta_ends)
#: The class of words whose files name no class.
BERT = ModelClass(WORDS, _BRACKETS, keys.word_piece, _PAIR, padding_side="")
_DPR = replace(BERT, options=BERT_OPTIONS[1:])  # lower-cases every text

_GEMMA = ModelClass(
    _TOKENIZER, {use: f"<{use}>" for use in ("bos", "eos", "unk", "pad", "mask")}, pieces.gemma, padding_side="left",
    keeps_template=True,
)  # fmt: skip
_COHERE = {
    "bos": "<BOS_TOKEN>", "eos": "<|END_OF_TURN_TOKEN|>", "unk": "<UNK>", "sep": "<SEP>", "pad": "<PAD>",
    "cls": "<CLS>", "mask": "<MASK_TOKEN>",
}  # fmt: skip
#: The file of classes that read a vocabulary of another kind by rules that bbpe does not have.
_WHOLE = "tokenizer.json"

#: Classes by their names without the end "Tokenizer" or "TokenizerFast".
CLASSES = {
    "GPT2": _OF_GPT2,
    "CodeGen": replace(_OF_GPT2, template=keys.code_gen_ends),
    "Whisper": replace(_OF_GPT2, template=keys.whisper_ends, keeps_template=False),
    "GPTNeoX": ModelClass(MERGES, {**_GPT2, "pad": "<|padding|>"}, keys.byte_level, normalizers=(_NFC,)),
    **dict.fromkeys(("Bart", "LED", "Longformer", "Mvp", "Roberta"), _OF_ROBERTA),
    "Blenderbot": ModelClass(
        MERGES, _FAIRSEQ, keys.byte_level, mask=_STRIPS, is_prefixed=True, keeps_template=True
    ),
    "Deberta": ModelClass(MERGES, {**_BERT_ENDS, **_BRACKETS}, keys.byte_level, _DOUBLE),
    "Qwen2": ModelClass(
        MERGES, dict.fromkeys(("unk", "eos", "pad"), "<|endoftext|>"), keys.byte_level, normalizers=(_NFC,),
        pattern="qwen2", resets_options=True, keeps_template=True,
    ),
    "Qwen3_5": ModelClass(
        _WHOLE, dict.fromkeys(("unk", "eos", "pad"), "<|endoftext|>"), keys.byte_level, normalizers=(_NFC,),
        pattern="qwen3_5", resets_options=True, keeps_template=True,
    ),
    "Cohere": ModelClass(
        MERGES, _COHERE, keys.byte_level, normalizers=(_NFC,), splits=({"type": "Digits", "individual_digits": True},),
        padding_side="left", keeps_template=True,
    ),
    "Herbert": ModelClass(
        MERGES, {use: _FAIRSEQ[use] for use in _BRACKETS}, keys.words, keys.herbert_ends,
        normalizers=(keys.bert_normalizer(lowercase=False, strips_accents=False),),
    ),
    "OpenAIGPT": ModelClass(
        MERGES, {"unk": "<unk>"}, keys.words, keeps_template=True,
        normalizers=(keys.bert_normalizer(lowercase=True, strips_accents=None),),
    ),
    "CLIP": ModelClass(
        MERGES, {**_GPT2, "bos": "<|startoftext|>", "pad": "<|endoftext|>"}, keys.byte_level, keys.clip_ends,
        normalizers=(_NFC, replaced(r"\s+", " ", is_regex=True), {"type": "Lowercase"}),
        pattern=_CLIP, drops_gaps=True, end_of_word="</w>",
    ),
    **dict.fromkeys(
        "Bert DistilBert Electra LayoutLM Lxmert MobileBert Realm RetriBert SqueezeBert".split(), BERT
    ),
    "ConvBert": replace(BERT, keeps_rules=True),
    **dict.fromkeys(("DPRContextEncoder", "DPRQuestionEncoder", "DPRReader"), _DPR),
    "MPNet": replace(BERT, tokens={**_FAIRSEQ, "unk": "[UNK]"}, template=_DOUBLE, mask=_STRIPS),
    "Funnel": replace(
        BERT, tokens={**_ENDS, **{use: f"<{use}>" for use in _BRACKETS}}, options=(*BERT_OPTIONS, "clean_text"),
        template=("cls:2 A sep", "cls:2 A sep B:1 sep:1"),
    ),
    "T5": ModelClass(
        _SPIECE, {"eos": "</s>", "unk": "<unk>", "pad": "<pad>"}, pieces.t5, _EOS, listed=pieces.extra_ids
    ),
    "Albert": ModelClass(
        _SPIECE, {**_BRACKETS, **_BERT_ENDS, "unk": "<unk>", "pad": "<pad>"}, pieces.albert, pieces.albert_ends,
        reads_prefix=True, keeps_template=True,
    ),
    "XLNet": ModelClass(
        _SPIECE, {**_FAIRSEQ, "sep": "<sep>", "cls": "<cls>"}, pieces.xlnet,
        ("A sep cls:2", "A sep B:1 sep:1 cls:2"), mask=_STRIPS, padding_side="left",
    ),
    "Pegasus": ModelClass(
        _SPIECE, {"eos": "</s>", "unk": "<unk>", "pad": "<pad>", "mask": "<mask_2>"}, pieces.pegasus,
        ("A eos", "A B eos"), listed=pieces.pegasus_tokens, lists_symbols=False,
    ),
    "BigBird": ModelClass(
        _SPIECE, {**_FAIRSEQ, "sep": "[SEP]", "cls": "[CLS]", "mask": "[MASK]"}, pieces.big_bird, _PAIR,
        mask=_STRIPS, reads_prefix=True,
    ),
    "Reformer": ModelClass(_SPIECE, {"eos": "</s>", "unk": "<unk>"}, pieces.reformer, keeps_template=True),
    "XLMRoberta": ModelClass(_BPE_MODEL, _FAIRSEQ, pieces.xlm_roberta, _AROUND, reads_prefix=True),
    "Camembert": ModelClass(_BPE_MODEL, _FAIRSEQ, pieces.camembert, _AROUND, mask=_STRIPS, reads_prefix=True),
    "MBart": ModelClass(
        _BPE_MODEL, _FAIRSEQ, pieces.mbart, ("A eos src_lang", "A B eos src_lang"), mask=_STRIPS,
        listed=lambda _: pieces.MBART, language="en_XX",
    ),
    "MBart50": ModelClass(
        _BPE_MODEL, {use: text for use, text in _FAIRSEQ.items() if use != "bos"}, pieces.mbart50,
        ("src_lang A eos", "src_lang A B eos"), mask=_STRIPS, listed=lambda _: pieces.MBART50, language="en_XX",
    ),
    "Nllb": ModelClass(
        _BPE_MODEL, _FAIRSEQ, pieces.nllb, pieces.nllb_ends,
        mask=TokenOptions(lstrip=True, normalized=True), language="eng_Latn",
    ),
    "DebertaV2": ModelClass(
        "spm.model", {**_BRACKETS, **_BERT_ENDS}, pieces.deberta_v2, _PAIR, reads_prefix=True
    ),
    "Llama": ModelClass(
        _TOKENIZER, {**_ENDS, "unk": "<unk>"}, pieces.llama, padding_side="left", keeps_template=True
    ),
    "CodeLlama": ModelClass(
        _TOKENIZER, {**_ENDS, "unk": "<unk>", **_INFILLING}, pieces.code_llama, padding_side="left", adds_bos=True
    ),
    "Gemma": _GEMMA,
    "Siglip2": replace(_GEMMA, file=_WHOLE, parts=pieces.siglip2),
    "Barthez": ModelClass(_WHOLE, _FAIRSEQ, pieces.barthez, mask=_STRIPS, keeps_template=True, reads_prefix=True),
    "XGLM": ModelClass(
        _WHOLE, {use: text for use, text in _FAIRSEQ.items() if use != "mask"}, pieces.xglm,
        ("eos A", "eos A eos eos B"), listed=pieces.made_up_words, reads_prefix=True,
    ),
    "FNet": ModelClass(
        _WHOLE, {**_BRACKETS, "unk": "<unk>", "pad": "<pad>"}, pieces.t5, keeps_template=True, keeps_rules=True
    ),
    "VideoPrism": ModelClass(
        _WHOLE, {"eos": "</s>", "unk": "<unk>", "pad": "<pad>"}, pieces.t5, listed=pieces.extra_ids,
        keeps_template=True,
    ),
}  # fmt: skip


def class_row(folder: ClassFolder, file: str) -> ModelClass | None:
    """Return the row of the class that reads a file of this name, or an end of one; `None` if files name no class.

    Raises `VocabularyError` for a class or a type of models that is not known to read such a file.
    """
    named = class_of(folder)
    if not named.name and folder.stated[0] and not (file == PIECES and (folder.path / _TOKENIZER).is_file()):
        named = FolderClass(*folder.stated[:2], CLASS)  # `transformers` reads no other file as it is
        if named.is_plain:
            return None
    if not named.name:
        check_type(folder)
        return None
    if named.reads_own_files:
        raise refused_class(folder, "reads files of its own; expected the path of the folder")
    row = CLASSES.get(named.short)
    if row is None:
        raise refused_class(folder, f"is not supported; expected one that docs/formats.md lists for {_SHOWN[file]}")
    if row.file == _WHOLE:
        raise refused_class(folder, f"is supported only with a tokenizer.json, not with {_SHOWN[file]}")
    if not row.file.endswith(file):
        raise refused_class(folder, f"reads {row.file}; expected such a file in the folder")
    return row
