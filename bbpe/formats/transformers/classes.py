"""The classes of tokenizers of HF's `transformers`, and the types of models whose files name no class.

A class makes a `tokenizer.json` of a vocabulary without one.  Its row says how; `documents` makes it.
"""

from __future__ import annotations

from ...errors import VocabularyError
from ...records import replace
from ...spec.rules import TokenOptions
from . import keys, pieces
from .documents import BERT_OPTIONS, ModelClass, replaced
from .folder import CLASS, ClassFolder

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

MERGES, WORDS = "vocab.json", "vocab.txt"
_SPIECE, _BPE_MODEL, _TOKENIZER = "spiece.model", "sentencepiece.bpe.model", "tokenizer.model"
_OF_GPT2 = ModelClass(MERGES, _GPT2, keys.byte_level)
_OF_ROBERTA = ModelClass(MERGES, _FAIRSEQ, keys.byte_level, keys.roberta_ends)
#: The class of words whose files name no class.
BERT = ModelClass(WORDS, _BRACKETS, keys.word_piece, _PAIR, padding_side="")
_DPR = replace(BERT, options=BERT_OPTIONS[1:])  # lower-cases every text

#: Classes by their names without the end "Tokenizer" or "TokenizerFast".
CLASSES = {
    "GPT2": replace(
        _OF_GPT2,
        types="blip-2 codegen dbrx emu3 gpt2 gpt_neo gptj instructblip instructblipvideo jais2 opt phi starcoder2",
    ),
    "CodeGen": replace(_OF_GPT2, template=keys.code_gen_ends),
    "Whisper": replace(_OF_GPT2, template=keys.whisper_ends, types="whisper"),
    "GPTNeoX": replace(
        _OF_GPT2, tokens={**_GPT2, "pad": "<|padding|>"}, normalizers=(_NFC,),
        types="falcon_mamba gpt_neox mamba mamba2 mpt olmo olmoe rwkv xlstm",
    ),
    "Roberta": replace(
        _OF_ROBERTA,
        types="bart bridgetower clap data2vec-text ibert lilt longformer mega mra roberta roberta-prelayernorm",
    ),
    **dict.fromkeys(("Bart", "Longformer"), _OF_ROBERTA),
    "LED": replace(_OF_ROBERTA, types="led"),
    "Mvp": replace(_OF_ROBERTA, types="mvp"),
    "Blenderbot": ModelClass(
        MERGES, _FAIRSEQ, keys.byte_level, mask=_STRIPS, is_prefixed=True, types="blenderbot"
    ),
    "Deberta": ModelClass(MERGES, {**_BERT_ENDS, **_BRACKETS}, keys.byte_level, _DOUBLE, "deberta"),
    "Qwen2": ModelClass(
        MERGES, dict.fromkeys(("unk", "eos", "pad"), "<|endoftext|>"), keys.byte_level, normalizers=(_NFC,),
        pattern="qwen2", resets_options=True,
        types="colqwen2 internvl ovis2 qwen2 qwen2_5_omni qwen2_5_vl qwen2_audio qwen2_moe qwen2_vl qwen3 qwen3_asr "
        "qwen3_moe qwen3_next qwen3_omni_moe qwen3_vl qwen3_vl_moe",
    ),
    "CLIP": ModelClass(
        MERGES, {**_GPT2, "bos": "<|startoftext|>", "pad": "<|endoftext|>"}, keys.byte_level, keys.clip_ends,
        types="aimv2 clip clipseg groupvit omdet-turbo oneformer owlv2 owlvit sam3 sam3_video xclip",
        normalizers=(_NFC, replaced(r"\s+", " ", is_regex=True), {"type": "Lowercase"}),
        pattern=_CLIP, drops_gaps=True, end_of_word="</w>",
    ),
    "Bert": replace(
        BERT,
        types="align bark bert blip bros chinese_clip convbert distilbert electra ernie flava git grounding-dino "
        "layoutlm megatron-bert mm-grounding-dino nezha nomic_bert qdqbert realm retribert squeezebert tvp vilt "
        "visual_bert",
    ),
    **dict.fromkeys("DistilBert Electra SqueezeBert ConvBert LayoutLM Realm RetriBert".split(), BERT),
    "Lxmert": replace(BERT, types="lxmert"),
    "MobileBert": replace(BERT, types="mobilebert"),
    "DPRQuestionEncoder": replace(_DPR, types="dpr"),
    **dict.fromkeys(("DPRContextEncoder", "DPRReader"), _DPR),
    "MPNet": replace(BERT, tokens={**_FAIRSEQ, "unk": "[UNK]"}, template=_DOUBLE, mask=_STRIPS, types="mpnet"),
    "Funnel": replace(
        BERT, tokens={**_ENDS, **{use: f"<{use}>" for use in _BRACKETS}}, options=(*BERT_OPTIONS, "clean_text"),
        template=("cls:2 A sep", "cls:2 A sep B:1 sep:1"), types="funnel",
    ),
    "T5": ModelClass(
        _SPIECE, {"eos": "</s>", "unk": "<unk>", "pad": "<pad>"}, pieces.t5, _EOS, listed=pieces.extra_ids,
        types="mt5 musicgen musicgen_melody switch_transformers t5",
    ),
    "Albert": ModelClass(
        _SPIECE, {**_BRACKETS, **_BERT_ENDS, "unk": "<unk>", "pad": "<pad>"}, pieces.albert, pieces.albert_ends,
        "albert yoso", reads_prefix=True,
    ),
    "XLNet": ModelClass(
        _SPIECE, {**_FAIRSEQ, "sep": "<sep>", "cls": "<cls>"}, pieces.xlnet,
        ("A sep cls:2", "A sep B:1 sep:1 cls:2"), "xlnet", mask=_STRIPS, padding_side="left",
    ),
    "Pegasus": ModelClass(
        _SPIECE, {"eos": "</s>", "unk": "<unk>", "pad": "<pad>", "mask": "<mask_2>"}, pieces.pegasus,
        ("A eos", "A B eos"), "pegasus", listed=pieces.pegasus_tokens, lists_symbols=False,
    ),
    "BigBird": ModelClass(
        _SPIECE, {**_FAIRSEQ, "sep": "[SEP]", "cls": "[CLS]", "mask": "[MASK]"}, pieces.big_bird, _PAIR, "big_bird",
        mask=_STRIPS, reads_prefix=True,
    ),
    "Reformer": ModelClass(_SPIECE, {"eos": "</s>", "unk": "<unk>"}, pieces.reformer, types="reformer"),
    "XLMRoberta": ModelClass(
        _BPE_MODEL, _FAIRSEQ, pieces.xlm_roberta, _AROUND,
        "gte jina_embeddings_v3 metaclip_2 trocr xlm-roberta xmod", reads_prefix=True,
    ),
    "Camembert": ModelClass(
        _BPE_MODEL, _FAIRSEQ, pieces.camembert, _AROUND, "camembert", mask=_STRIPS, reads_prefix=True
    ),
    "MBart": ModelClass(
        _BPE_MODEL, _FAIRSEQ, pieces.mbart, ("A eos src_lang", "A B eos src_lang"), "mbart", mask=_STRIPS,
        listed=lambda _: pieces.MBART, language="en_XX",
    ),
    "MBart50": ModelClass(
        _BPE_MODEL, {use: text for use, text in _FAIRSEQ.items() if use != "bos"}, pieces.mbart50,
        ("src_lang A eos", "src_lang A B eos"), "mbart50", mask=_STRIPS, listed=lambda _: pieces.MBART50,
        language="en_XX",
    ),
    "Nllb": ModelClass(
        _BPE_MODEL, _FAIRSEQ, pieces.nllb, pieces.nllb_ends, "nllb nllb-moe",
        mask=TokenOptions(lstrip=True, normalized=True), language="eng_Latn",
    ),
    "DebertaV2": ModelClass(
        "spm.model", {**_BRACKETS, **_BERT_ENDS}, pieces.deberta_v2, _PAIR, "deberta-v2", reads_prefix=True
    ),
    "Llama": ModelClass(
        _TOKENIZER, {**_ENDS, "unk": "<unk>"}, pieces.llama, types="idefics idefics2", padding_side="left"
    ),
    "CodeLlama": ModelClass(
        _TOKENIZER, {**_ENDS, "unk": "<unk>", **_INFILLING}, pieces.code_llama, types="code_llama",
        padding_side="left", adds_bos=True,
    ),
    "Gemma": ModelClass(
        _TOKENIZER, {use: f"<{use}>" for use in ("bos", "eos", "unk", "pad", "mask")}, pieces.gemma,
        types="diffusion_gemma gemma gemma2 gemma3 gemma3_text gemma3n gemma3n_text recurrent_gemma shieldgemma2 "
        "t5gemma zaya",
        padding_side="left",
    ),
}  # fmt: skip

# classes that are not supported, with types of models
_OTHERS = (
    "Bertweet=bertweet CpmAnt=cpmant Esm=esm GPTNeoXJapanese=gpt_neox_japanese Herbert=herbert LayoutLMv2=layoutlmv2 "
    "Phobert=phobert ProphetNet=prophetnet Tapas=tapas RoCBert=roc_bert RoFormer=roformer Splinter=splinter"
)
_OF_PIECES = (
    "Barthez=barthez Bartpho=bartpho BertGeneration=bert-generation BertJapanese=bert-japanese Cpm=cpm FNet "
    "GPTSw3=gpt-sw3 Lasr LayoutXLM=layoutxlm M2M100=m2m_100 Marian=marian MLuke=mluke PLBart=plbart RemBert=rembert "
    "Qwen3_5 SeamlessM4T=seamless_m4t,seamless_m4t_v2 Siglip=siglip Speech2Text=speech_to_text SpeechT5=speecht5 "
    "Tipsv2 Udop=udop VideoPrism XGLM=xglm XLMProphetNet"
)
_TYPES = {
    **{name: row.types.split() for name, row in CLASSES.items()},
    **{item.partition("=")[0]: item.partition("=")[2].split(",") for item in f"{_OTHERS} {_OF_PIECES}".split()},
}
_OTHER_PIECES = frozenset(item.partition("=")[0] for item in _OF_PIECES.split())
_CLASS_OF_TYPE = {kind: f"{name}Tokenizer" for name, kinds in _TYPES.items() for kind in kinds if kind}


def class_name(folder: ClassFolder) -> str:
    """Return the class of the tokenizer in a folder, "" if no file names one that is known."""
    name, _, field = folder.class_field
    return name if field == CLASS else _CLASS_OF_TYPE.get(name, "")


def class_row(name: str, file: str) -> ModelClass | None:
    """Return the row of a class that reads such a file; `None` for other classes."""
    row = CLASSES.get(_short(name))
    return row if row is not None and row.file.endswith(file) else None


def reads_pieces(name: str) -> bool:
    """Return whether a class that is not supported has rules of its own for pieces."""
    return _short(name) in _OTHER_PIECES


def refused_class(folder: ClassFolder, problem: str) -> VocabularyError:
    """Return the error about the class of a folder."""
    _, file, field = folder.class_field
    return VocabularyError(f"the class {class_name(folder)!r} {problem}", path=folder.path / file, place=field)


def _short(name: str) -> str:
    return name.removesuffix("Fast").removesuffix("Tokenizer")
