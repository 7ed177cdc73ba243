"""Folders of tokenizer classes without tokenizer.json, with their ids in `transformers`, kept in class_folders.json.

`python tests/support/class_folders.py` asks `transformers` again, which the tests do not need, and writes that file.
"""

from __future__ import annotations

import base64
import json
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from random_files import charsmap

from bbpe.text import bytes_to_alphabet

KEPT = Path(__file__).with_name("class_folders.json")
TEXTS = [
    "see my dogs", "  See  the\tTHE ", "`` é '' ＦＵＬＬ ﬁ x e\u0301", "<s>the</s> <pad> in", "a<mask> b  [MASK] e",
    "<extra_id_0>the<unk>",
    "[CLS] in [SEP] <cls>", "▁▁the\n\n in", "en_XX fr_XX eng_Latn", "<q> x<q>y <Q>", "the <image> in",
    "東x🤗, the.", "<|endoftext|>the <|im_start|> in", "",
]  # fmt: skip
PAIR = "in dogs"
USES = ("bos", "eos", "unk", "pad")
_NORMAL, _UNKNOWN, _CONTROL, _USER_DEFINED, _BYTE = 1, 2, 3, 4, 6
_PIECES = [
    "▁the", "▁see", "▁my", "▁in", "dogs", "see", "the", "dog", "th", "se", "my", "in", "▁▁", "▁t", "▁d", "ee", "do",
    "gs", "▁", *"abcdefghimnopqrstuvwxy,.'\"<>_/[]|`TSQLXMé\n",
]  # fmt: skip


def model(symbols: str, *, is_bpe: bool = False, has_bytes: bool = False, rule: str = "nmt_nfkc") -> bytes:
    """A model of SentencePiece with symbols first: `?` before an unknown one, `+` before one defined by the user."""
    from sentencepiece import sentencepiece_model_pb2

    made = sentencepiece_model_pb2.ModelProto()
    kinds = {"?": _UNKNOWN, "+": _USER_DEFINED}
    rows = [(name.lstrip("?+"), 0.0, kinds.get(name[0], _CONTROL)) for name in symbols.split()]
    rows += [(f"<0x{byte:02X}>", 0.0, _BYTE) for byte in range(256)] if has_bytes else []
    taken = {text for text, _, _ in rows}
    rows += [(text, -1.0 - number / 4, _NORMAL) for number, text in enumerate(_PIECES) if text not in taken]
    for text, score, kind in rows:
        made.pieces.add(piece=text, score=score, type=kind)
    made.trainer_spec.model_type = 2 if is_bpe else 1
    made.trainer_spec.byte_fallback = has_bytes
    made.trainer_spec.unk_id = next(number for number, row in enumerate(rows) if row[2] == _UNKNOWN)
    table = b"" if rule == "identity" else base64.b64decode(charsmap(rule))
    made.normalizer_spec.name, made.normalizer_spec.precompiled_charsmap = rule, table
    return bytes(made.SerializeToString())


def _row(text: str, **changes: Any) -> dict[str, Any]:
    flags = {"lstrip": False, "rstrip": False, "single_word": False, "normalized": False, "special": True}
    return {"content": text, **flags, **changes}


_FAIRSEQ = ("sentencepiece.bpe.model", {"symbols": "?<unk> <s> </s>"})
_LLAMA = ("tokenizer.model", {"symbols": "?<unk> <s> </s>", "is_bpe": True, "has_bytes": True, "rule": "identity"})
_MODELS: dict[str, tuple[str, dict[str, Any]]] = {
    "T5Tokenizer": ("spiece.model", {"symbols": "<pad> </s> ?<unk>"}),
    "AlbertTokenizer": ("spiece.model", {"symbols": "<pad> ?<unk> [CLS] [SEP] +[MASK]"}),
    "XLNetTokenizer": ("spiece.model", {"symbols": "?<unk> <s> </s> <cls> <sep> <pad> <mask> <eod> <eop>"}),
    "PegasusTokenizer": ("spiece.model", {"symbols": "<pad> </s> ?<unk>"}),
    "BigBirdTokenizer": ("spiece.model", {"symbols": "<pad> </s> <s> ?<unk>"}),
    "ReformerTokenizer": ("spiece.model", {"symbols": "<pad> </s> ?<unk>", "is_bpe": True}),
    "XLMRobertaTokenizer": _FAIRSEQ,
    "CamembertTokenizer": ("sentencepiece.bpe.model", {"symbols": "?<unk>"}),
    "MBartTokenizer": _FAIRSEQ,
    "MBart50Tokenizer": _FAIRSEQ,
    "NllbTokenizer": ("sentencepiece.bpe.model", {"symbols": "?<unk> <s> </s>", "is_bpe": True}),
    "DebertaV2Tokenizer": ("spm.model", {"symbols": "[PAD] [CLS] [SEP] ?[UNK]"}),
    "LlamaTokenizer": _LLAMA,
    "CodeLlamaTokenizer": _LLAMA,
    "GemmaTokenizer": (
        "tokenizer.model", {**_LLAMA[1], "symbols": "<pad> <eos> <bos> ?<unk> +<mask> +<image> +\u2581\u2581"}
    ),
}  # fmt: skip
_ALPHABET = [bytes_to_alphabet(bytes((byte,))) for byte in range(256)]
_KEYS = [*_ALPHABET, "th", "the", "Ġthe", "in", "ing"]
_MERGES = ["t h", "th e", "Ġ the", "i n", "in g"]
_ENDS = ["<|endoftext|>", "<|im_start|>", "<|startoftranscript|>"]
#: Keys and merges; special tokens are first, last, or none.
_TABLES: dict[str, tuple[list[str], list[str]]] = {
    "GPT2Tokenizer": ([*_KEYS, *_ENDS], _MERGES),
    "CodeGenTokenizer": ([*_ENDS, *_KEYS], _MERGES),
    "WhisperTokenizer": ([*_KEYS, *_ENDS], _MERGES),
    "GPTNeoXTokenizer": ([*_ENDS, *_KEYS], _MERGES),
    "RobertaTokenizer": (["<s>", "<pad>", "</s>", "<unk>", *_KEYS, "<mask>", "<｜x｜>"], _MERGES),
    "BartTokenizer": ([*_ENDS, *_KEYS], _MERGES),
    "BlenderbotTokenizer": ([*_KEYS, *_ENDS], _MERGES),
    "DebertaTokenizer": ([*_KEYS, *_ENDS], _MERGES),
    "Qwen2Tokenizer": ([*_KEYS, *_ENDS], _MERGES),
    "CLIPTokenizer": (
        [*_KEYS, *(f"{char}</w>" for char in _ALPHABET), "the</w>", "in</w>", "<|startoftext|>", *_ENDS],
        ["t h", "th e</w>", "i n</w>"],
    ),
}
_LINES = (
    "[PAD] [unused1] [unused2] [UNK] [CLS] [SEP] [MASK] <s> </s> <pad> <mask> <unk> <cls> <sep> see my the dog dogs "
    "##s ##g do See in x a b c d e é , . ' [ ]"
).split()
#: Classes that read the lines of a vocab.txt; the second vocabulary lacks usual tokens.
_WORDS = {
    **dict.fromkeys(("BertTokenizer", "ElectraTokenizerFast", "DPRReaderTokenizer", "FunnelTokenizer"), _LINES),
    "MPNetTokenizer": _LINES,
    "DistilBertTokenizer": [line for line in _LINES if line not in ("[PAD]", "[SEP]", "[MASK]")],
}
_OLD_FILES = {
    "added_tokens.json": {"<q>": 900},
    "special_tokens_map.json": {"mask_token": {"content": "[MASK]", "lstrip": True}, "pad_token": "<q>"},
}
# configurations and other files of a folder
_FOLDERS: list[tuple[dict[str, Any], dict[str, Any]]] = [
    ({}, {}),
    ({"additional_special_tokens": ["<q>", "<extra_id_7>"], "do_lower_case": True, "legacy": True}, {}),
    ({"extra_special_tokens": {"image_token": "<image>"}, "keep_accents": True, "add_bos_token": True}, {}),
    ({"image_token": "<image>", "add_prefix_space": False, "add_eos_token": True, "split_by_punct": True}, {}),
    ({}, _OLD_FILES),
    (
        {"added_tokens_decoder": {"3": _row("<q>", normalized=True, special=False), "9": _row("<image>", lstrip=True)}},
        {},
    ),
]
_BYTE_FOLDERS: list[tuple[dict[str, Any], dict[str, Any]]] = [
    ({}, {}),
    ({"image_token": "<image>", "add_prefix_space": True, "add_bos_token": True, "bos_token": "<|im_start|>"}, {}),
    ({"extra_special_tokens": {"image_token": "<image>"}, "additional_special_tokens": ["<|im_start|>"]}, {}),
    ({"add_eos_token": True}, _OLD_FILES),
    _FOLDERS[-1],
]
_WORD_FOLDERS: list[tuple[dict[str, Any], dict[str, Any]]] = [
    ({}, {}),
    ({"cls_token": "[unused1]", "sep_token": "[unused2]", "unk_token": "a", "mask_token": "the"}, {}),
    ({"do_lower_case": False, "cls_token": "<q>", "additional_special_tokens": ["<image>"]}, {}),
    ({"strip_accents": False, "tokenize_chinese_chars": False, "clean_text": False}, _OLD_FILES),
    ({"sep_token": "b"}, {"special_tokens_map.json": {"cls_token": "[unused1]", "unk_token": _row("[unused2]")}}),
    (
        {"cls_token": "c", "added_tokens_decoder": {"1": _row("[unused1]"), "60": _row("<q>", special=False)}},
        {"special_tokens_map.json": {"cls_token": "[unused1]"}},
    ),
]
_OTHERS: list[tuple[str, dict[str, Any], dict[str, Any]]] = [
    ("T5Tokenizer", {"extra_ids": 3}, {}),
    ("PegasusTokenizer", {"mask_token": "<mask_2>", "mask_token_sent": "<mask_1>", "offset": 5}, {}),
    ("MBartTokenizer", {"src_lang": "fr_XX"}, {}),
    ("NllbTokenizer", {"additional_special_tokens": ["eng_Latn", "fr_XX"], "legacy_behaviour": True}, {}),
]


def cases() -> Iterator[tuple[str, str, dict[str, Any], dict[str, Any]]]:
    """Yield the name, the class, the configuration and the other files of each folder."""
    for kind in _MODELS:
        for number, (config, files) in enumerate(_FOLDERS):
            if kind == "NllbTokenizer":
                if "extra_special_tokens" in config:
                    continue  # without a list it has no language
                listed = config.get("additional_special_tokens", [])
                config = {**config, "additional_special_tokens": ["eng_Latn", *listed]}
            if kind == "CodeLlamaTokenizer":
                config = {**config, "fill_token": None}  # which the class splits texts at
            yield f"{kind} {number}", kind, config, files
    for kind in _TABLES:
        for number, (config, files) in enumerate(_BYTE_FOLDERS):
            yield f"{kind} {number}", kind, config, files
    for kind in _WORDS:
        for number, (config, files) in enumerate(_WORD_FOLDERS):
            yield f"{kind} {number}", kind, config, files
    for number, (kind, config, files) in enumerate(_OTHERS):
        yield f"{kind} other {number}", kind, config, files


def fill(folder: Path, kind: str, config: dict[str, Any], files: dict[str, Any]) -> None:
    """Write the files of a folder."""
    if kind in _TABLES:
        keys, merges = _TABLES[kind]
        (folder / "vocab.json").write_text(json.dumps({key: number for number, key in enumerate(keys)}), "utf-8")
        (folder / "merges.txt").write_text("\n".join(["#version: 0.2", *merges, ""]), "utf-8")
    elif kind in _WORDS:
        (folder / "vocab.txt").write_text("\n".join([*_WORDS[kind], ""]), "utf-8")
    else:
        name, options = _MODELS[kind]
        (folder / name).write_bytes(model(**options))
    for file, value in {**files, "tokenizer_config.json": {"tokenizer_class": kind, **config}}.items():
        (folder / file).write_text(json.dumps(value), "utf-8")


def is_plain(name: str) -> bool:
    """Return whether a folder has a configuration of a class alone, so that decoded texts are kept too."""
    return name.endswith(" 0")


def main() -> None:
    import transformers

    kept: dict[str, list[Any]] = {}
    for name, *case in cases():
        with tempfile.TemporaryDirectory() as folder:
            fill(Path(folder), *case)
            judge = transformers.AutoTokenizer.from_pretrained(folder)
        kept[name] = [*(judge(text)["input_ids"] for text in TEXTS), judge(TEXTS[0], PAIR)["input_ids"]]
        if is_plain(name):
            kept[f"{name} names"] = [getattr(judge, f"{use}_token") for use in USES]
            kept[f"{name} decoded"] = [judge.decode(ids) for ids in kept[name]]
    rows = [f" {json.dumps(name)}: {json.dumps(row, separators=(',', ':'))}" for name, row in kept.items()]
    head = f'{{"transformers": "{transformers.__version__}", "ids": {{'
    KEPT.write_text("\n".join([head, ",\n".join(rows), "}}", ""]), "utf-8")


if __name__ == "__main__":
    main()
