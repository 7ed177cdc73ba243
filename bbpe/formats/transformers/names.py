"""The classes of tokenizers of HF's `transformers` 5.24, and the types of models that stand for them.

`AutoTokenizer` chooses the class of a folder by the class that its files name and the type of its model.  Only classes
and types in these lists are known; all others are refused by name where rules could depend on them.
"""

from __future__ import annotations

from contextlib import suppress
from functools import cache
from typing import NamedTuple

from ...errors import VocabularyError
from .folder import CLASS, CONFIG, MODEL, ClassFolder

# Lists of names: a class, without the end "Tokenizer" or "TokenizerFast", begins with an upper-case letter; types of
# models that have this class follow it.
#: Classes that bbpe has rules for, in `classes.py`.
SUPPORTED = (
    "Albert albert yoso Bart florence2 Barthez barthez Bert align bark bert blip bros chinese_clip convbert distilbert "
    "electra ernie flava git grounding-dino layoutlm megatron-bert mm-grounding-dino nezha nomic_bert qdqbert realm "
    "retribert squeezebert tvp vilt visual_bert BigBird big_bird Blenderbot blenderbot CLIP aimv2 clip clipseg "
    "groupvit omdet-turbo oneformer owlv2 owlvit sam3 sam3_video xclip Camembert camembert CodeGen CodeLlama "
    "code_llama Cohere aya_vision cohere cohere2 ConvBert DPRContextEncoder DPRQuestionEncoder dpr DPRReader Deberta "
    "deberta DebertaV2 deberta-v2 DistilBert Electra FNet fnet Funnel funnel GPT2 blip-2 codegen dbrx emu3 gpt2 "
    "gpt_neo gptj hyperclovax_vision_v2 instructblip instructblipvideo jais2 opt phi starcoder2 GPTNeoX falcon_mamba "
    "gpt_neox mamba mamba2 mpt olmo olmoe rwkv xlstm Gemma diffusion_gemma gemma gemma2 gemma3 gemma3_text gemma3n "
    "gemma3n_text recurrent_gemma shieldgemma2 t5gemma zaya Herbert herbert LED led LayoutLM Llama idefics idefics2 "
    "Longformer Lxmert lxmert MBart mbart MBart50 mbart50 MPNet mpnet MobileBert mobilebert Mvp mvp Nllb nllb nllb-moe "
    "OpenAIGPT openai-gpt Pegasus pegasus Qwen2 audioflamingo3 colqwen2 cosmos3_omni dots3_note fun_asr_nano "
    "hunyuan_vl internvl lighton_ocr moss_transcribe_diarize ovis2 qianfan_ocr qwen2 qwen2_5_omni qwen2_5_vl "
    "qwen2_audio qwen2_moe qwen2_vl qwen3 qwen3_asr qwen3_moe qwen3_next qwen3_omni_moe qwen3_vl qwen3_vl_moe "
    "vibevoice Qwen3_5 qwen3_5 qwen3_5_moe qwen3_5_moe_text qwen3_5_text qwen4_exp Realm Reformer reformer RetriBert "
    "Roberta bart bridgetower clap data2vec-text ibert lilt longformer mega mra roberta roberta-prelayernorm Siglip2 "
    "siglip2 SqueezeBert T5 mt5 musicgen musicgen_melody switch_transformers t5 VideoPrism videoprism Whisper whisper "
    "XGLM xglm XLMRoberta gte jina_embeddings_v3 metaclip_2 trocr xlm-roberta xmod XLNet xlnet"
)
#: Classes of Python: they read no tokenizer.json.  bbpe has rules for Marian, in `marian.py`.
IN_PYTHON = (
    "Bartpho bartpho BertGeneration bert-generation BertJapanese bert-japanese Bertweet bertweet BioGpt biogpt "
    "BlenderbotSmall blenderbot-small ByT5 byt5 CTRL ctrl Canine canine Clvp clvp Cpm cpm CpmAnt cpmant Dia dia Esm "
    "esm FSMT fsmt FastSpeech2Conformer Flaubert flaubert GPTNeoXJapanese gpt_neox_japanese GPTSw3 gpt-sw3 M2M100 "
    "m2m_100 Marian marian Mgpstr mgp-str MyT5 myt5 PLBart plbart Perceiver perceiver Phobert phobert Pop2Piano "
    "ProphetNet prophetnet Rag rag RoCBert roc_bert Siglip siglip Speech2Text speech_to_text SpeechT5 speecht5 Tapas "
    "tapas Vits vits Wav2Vec2CTC data2vec-audio hubert unispeech unispeech-sat wav2vec2 wav2vec2-bert "
    "wav2vec2-conformer Wav2Vec2PhonemeCTC wav2vec2_phoneme XLM xlm"
)
#: Classes of Python that bbpe has rules for, which read files of their own, in `own_files.py`.
OWN = ("Bertweet", "ByT5", "CTRL", "Esm", "Mgpstr", "Perceiver", "Phobert", "Wav2Vec2CTC")
#: Why others of them cannot be supported.
WHY_NOT = {
    "Canine": "it has an id for each of 1,114,112 code points, and no file of a vocabulary holds so many tokens",
    "Dia": "it gives the bytes 0, 1 and 2 the ids of its special tokens, so ids do not define texts",
    "MyT5": "it rewrites bytes by tables of morphemes, which no rule of a tokenizer.json does",
}
#: Other classes with rules of their own.
OTHERS = (
    "Esmc esmc esmfold2 Lasr lasr_ctc lasr_encoder LayoutLMv2 layoutlmv2 LayoutLMv3 layoutlmv3 LayoutXLM layoutxlm "
    "Luke luke MLuke mluke MarkupLM markuplm Nougat nougat pp_formulanet Parakeet granite_speech5_ctc nemotron3_5_asr "
    "nemotron_asr_streaming omniasr_ctc parakeet_ctc parakeet_rnnt parakeet_tdt RemBert rembert RoFormer roformer "
    "SeamlessM4T seamless_m4t seamless_m4t_v2 Splinter splinter Tipsv2 tipsv2 Udop udop"
)
#: Types whose files `transformers` reads as they are, whatever class one of them names.
AS_IT_IS = (
    "EvollaModel arctic aria beam bigbird_pegasus camembertv2-base canary chatlm cohere_asr ernie4_5 ernie4_5_moe "
    "flex_olmo fuyu glm glm4 glm4_moe glm4_moe_lite glm4v glm4v_moe glm_image glmasr got_ocr2 gpt_bigcode "
    "gradium_phonon_tts granite granitemoe granitemoehybrid granitemoeshared h2ovl_chat hyperclovax hyperclovax_vlm "
    "internlm2 internlm3 iquestcoder jamba kimi_k25 kimi_linear kosmos-2 llava llava_next mimo_v2_flash minicpm3 "
    "minicpm_ocr minicpmv minicpmv4_6 minicpmv4_7 minimax_m2 ministral ministral3 mistral mistral3 mistral_large4 "
    "mixtral modernbert modernbert-decoder molmo molmo2 nemo_speechlm nemotron nvfp4 nystromformer olmo2 olmo3 "
    "olmo_hybrid omniasr opencua openvla paddleocr_vl pegasus_x persimmon phi3 phi3_v phimoe pix2struct pixtral "
    "pocket_tts smolvlm stablelm step3_vl umt5 vipllava voxtral voxtral_realtime xlm-roberta-xl"
)
#: Types without a class: a file may name one.
TYPES = (
    "afmoe apertus apertus1p5 arcee axk1 axk2 bailing_hybrid bamba bloom blt chameleon cohere2_moe cohere_compass "
    "colmodernvbert cosmos3_edge cwm deepseek_v2 deepseek_v3 deepseek_v32 deepseek_v4 deepseek_vl deepseek_vl_hybrid "
    "diffllama doge dots1 embedding_gemma2 ernie4_5_vl_moe eurobert exaone exaone4 exaone4_5 exaone_moe falcon "
    "falcon_h1 fast_vlm gemma4 gemma4_unified glm46v glm5_next glm_moe_dsa glmga gpt_oss granite_docling granite_swa "
    "granitemoe_swa helium hunyuan_v1_dense hunyuan_v1_moe hy_v3 hy_v4 hy_v4_vl idefics3 inkling2 inkling2_loop "
    "inkling_mm_model janus jetmoe kolibri1 kosmos-2.5 laguna lara_mini lfm2 lfm2_moe lfm2_vl lfm3 lfm3_vl llama "
    "llama4 longcat_flash longt5 mellum minimax minimax_m3_vl mistral4 mllama modernvbert muse_glimmer muse_spark "
    "musicflamingo nanochat nemotron_h nemotron_h_omni neomme openai_privacy_filter paligemma perception_lm "
    "phi4_multimodal pi0 sarvam_mla sarvam_moe seed_oss smollm3 solar_open step3p5 step3p7 t5gemma2 ultrabert "
    "vaultgemma youtu zamba zamba2"
)
#: Classes without rules of their own, which read a tokenizer.json or a SentencePiece model as it is.
_PLAIN = frozenset(("Bloom", "PreTrained", "PythonBackend", "TokenizersBackend"))
_TYPE = (MODEL, "model_type")
#: Types of the lists that are none of `AutoConfig`: for a tokenizer.json they stand for no class.
NO_CONFIG = frozenset(
    "barthez bartpho bert-japanese bertweet byt5 code_llama cpm herbert mbart50 mega mluke myt5 nezha nllb phobert "
    "qdqbert realm retribert wav2vec2_phoneme".split()
)
#: Classes of the lists that read a tokenizer.json as it is.
_READ_AS_IT_IS = frozenset(("Parakeet", "Realm", "RetriBert"))
#: Types for which `transformers` reads a tekken.json by `mistral-common`.
MISTRAL = frozenset(
    "ministral ministral3 mistral mistral3 mistral_large4 mixtral pixtral voxtral voxtral_realtime".split()
)
#: Types whose class counts whatever other class a file names.
_OVERRIDING = frozenset("hyperclovax_vision_v2 qwen2 qwen3_5 qwen3_5_moe qwen3_5_moe_text qwen4_exp siglip2".split())


class FolderClass(NamedTuple):
    """The class of a folder, "" if it has none with rules of its own; the file and the field that name it."""

    name: str
    file: str
    field: str

    @property
    def short(self) -> str:
        """The name without its end."""
        return self.name.removesuffix("Fast").removesuffix("Tokenizer")

    @property
    def is_plain(self) -> bool:
        """Whether the class has no rules of its own."""
        return self.short in _PLAIN

    @property
    def is_known(self) -> bool:
        """Whether `transformers` has the class."""
        return any(self.short in _classes(listed) for listed in (SUPPORTED, IN_PYTHON, OTHERS))

    @property
    def is_supported(self) -> bool:
        """Whether bbpe has rules for the class."""
        return self.short in _classes(SUPPORTED)

    @property
    def is_in_python(self) -> bool:
        """Whether the class reads no tokenizer.json."""
        return self.short in _classes(IN_PYTHON)

    @property
    def reads_own_files(self) -> bool:
        """Whether bbpe reads the files of the class itself, and no tokenizer.json beside them."""
        return self.short in OWN

    @property
    def rebuilds_json(self) -> bool:
        """Whether the class replaces rules of a tokenizer.json by its own."""
        return (self.is_supported or self.short in _classes(OTHERS)) and self.short not in _READ_AS_IT_IS


@cache
def _classes(listed: str) -> dict[str, list[str]]:
    """Return the classes of a list with their types."""
    found: dict[str, list[str]] = {}
    for name in listed.split():
        if name[0].isupper():
            types = found[name] = []
        else:
            types.append(name)
    return found


@cache
def _class_of_type() -> dict[str, str]:
    every = (SUPPORTED, IN_PYTHON, OTHERS)
    return {kind: name for listed in every for name, types in _classes(listed).items() for kind in types}


def class_of(folder: ClassFolder) -> FolderClass:
    """Return the class that `AutoTokenizer` chooses for a folder."""
    name, file, kind = folder.stated
    named, of_type = FolderClass(name, file, CLASS), FolderClass("", *_TYPE)
    if name and folder.has_code:
        return of_type if named.is_plain else named
    if kind in AS_IT_IS.split() or not (name or kind):
        return of_type
    if kind in _class_of_type() and (not name or kind in _OVERRIDING):
        of_type = FolderClass(f"{_class_of_type()[kind]}Tokenizer", *_TYPE)
        return named if named.short == of_type.short else of_type
    return of_type if named.is_plain else named


def own_class(folder: ClassFolder) -> FolderClass | None:
    """Return the class of a folder if bbpe reads the files of the class itself."""
    if not (folder.has(CONFIG) or folder.has(MODEL)):
        return None
    with suppress(VocabularyError):  # a configuration that is not JSON has no effect
        named = class_of(folder)
        if named.reads_own_files and (named.field == CLASS or folder.stated[2] not in NO_CONFIG):
            return named
    return None


def check_type(folder: ClassFolder) -> None:
    """Refuse a type that is not known in a folder whose files name no class."""
    name, _, kind = folder.stated
    if kind and not name and kind not in {*_class_of_type(), *AS_IT_IS.split(), *TYPES.split()}:
        file, field = _TYPE
        problem = f"the type {kind!r} is not known, so its class may have rules of its own; expected a {CLASS} in"
        raise VocabularyError(f"{problem} tokenizer_config.json", path=folder.path / file, place=field)


def refused_class(folder: ClassFolder, problem: str) -> VocabularyError:
    """Return the error about the class of a folder."""
    found = class_of(folder)
    name, file, field = found if found.name else (*folder.stated[:2], CLASS)
    if found.short in WHY_NOT and problem.startswith("is not supported"):
        problem = f"is not supported: {WHY_NOT[found.short]}"
    return VocabularyError(f"the class {name!r} {problem}", path=folder.path / file, place=field)
