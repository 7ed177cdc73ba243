"""The classes of tokenizers that HF's `transformers` uses for types of models whose files name no class."""

from __future__ import annotations

_TYPES = {
    "GPT2": "blip-2 codegen dbrx emu3 gpt2 gpt_neo gptj instructblip instructblipvideo jais2 opt phi starcoder2",
    "Whisper": "whisper",
    "GPTNeoX": "falcon_mamba gpt_neox mamba mamba2 mpt olmo olmoe rwkv xlstm",
    "Roberta": "bart bridgetower clap data2vec-text ibert lilt longformer mega mra roberta roberta-prelayernorm",
    "LED": "led",
    "Mvp": "mvp",
    "Blenderbot": "blenderbot",
    "Deberta": "deberta",
    "Qwen2": (
        "colqwen2 internvl ovis2 qwen2 qwen2_5_omni qwen2_5_vl qwen2_audio qwen2_moe qwen2_vl qwen3 qwen3_asr "
        "qwen3_moe qwen3_next qwen3_omni_moe qwen3_vl qwen3_vl_moe"
    ),
    "CLIP": "aimv2 clip clipseg groupvit omdet-turbo oneformer owlv2 owlvit sam3 sam3_video xclip",
    "T5": "mt5 musicgen musicgen_melody switch_transformers t5",
    "Albert": "albert yoso",
    "XLNet": "xlnet",
    "Pegasus": "pegasus",
    "BigBird": "big_bird",
    "Reformer": "reformer",
    "XLMRoberta": "gte jina_embeddings_v3 metaclip_2 trocr xlm-roberta xmod",
    "Camembert": "camembert",
    "MBart": "mbart",
    "MBart50": "mbart50",
    "Nllb": "nllb nllb-moe",
    "DebertaV2": "deberta-v2",
    "Llama": "idefics idefics2",
    "CodeLlama": "code_llama",
    "Gemma": (
        "diffusion_gemma gemma gemma2 gemma3 gemma3_text gemma3n gemma3n_text recurrent_gemma shieldgemma2 t5gemma zaya"
    ),
    "Bert": (
        "align bark bert blip bros chinese_clip convbert distilbert electra ernie flava git grounding-dino layoutlm "
        "megatron-bert mm-grounding-dino nezha nomic_bert qdqbert realm retribert squeezebert tvp vilt visual_bert"
    ),
    "DPRQuestionEncoder": "dpr",
    "Lxmert": "lxmert",
    "MobileBert": "mobilebert",
    "Bertweet": "bertweet",
    "CpmAnt": "cpmant",
    "Esm": "esm",
    "GPTNeoXJapanese": "gpt_neox_japanese",
    "Herbert": "herbert",
    "LayoutLMv2": "layoutlmv2",
    "Phobert": "phobert",
    "ProphetNet": "prophetnet",
    "Tapas": "tapas",
    "Barthez": "barthez",
    "Bartpho": "bartpho",
    "BertGeneration": "bert-generation",
    "BertJapanese": "bert-japanese",
    "Cpm": "cpm",
    "Funnel": "funnel",
    "GPTSw3": "gpt-sw3",
    "LayoutXLM": "layoutxlm",
    "M2M100": "m2m_100",
    "Marian": "marian",
    "MLuke": "mluke",
    "MPNet": "mpnet",
    "PLBart": "plbart",
    "RemBert": "rembert",
    "RoCBert": "roc_bert",
    "RoFormer": "roformer",
    "SeamlessM4T": "seamless_m4t seamless_m4t_v2",
    "Siglip": "siglip",
    "Speech2Text": "speech_to_text",
    "SpeechT5": "speecht5",
    "Splinter": "splinter",
    "Udop": "udop",
    "XGLM": "xglm",
}
CLASS_OF_TYPE = {kind: f"{name}Tokenizer" for name, kinds in _TYPES.items() for kind in kinds.split()}
