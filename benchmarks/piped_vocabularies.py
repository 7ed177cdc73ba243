"""The tokenizers of the jobs about the pipeline, each a tokenizer.json, and the texts that only they need."""

from __future__ import annotations

import base64
import json
import lzma
import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

import bbpe
from bbpe.published.table import ALIASES, PUBLISHED

#: The file in the folder of the vocabularies that a name is made of.
_FILES = {
    "llama3": "llama3.tiktoken.xz",
    "qwen3.5": "qwen3_6.tiktoken.xz",
    "qwen3": "qwen.tiktoken.xz",
    "o200k_harmony": "o200k_base.tiktoken.xz",
    "tekken": "tekken_240911.json.xz",
    "deepseek_v3": "deepseek_v3.tokenizer.json.xz",
    "mistral_v1": "mistral_v1.model",
    "mistral_v3": "mistral_v3.model",
    "bert": "real/bert-bge.gguf.xz",
    "t5": "real/13_t5_unigram.tokenizer.json.xz",
}
_GPT2 = "gpt2.tokenizer.json.xz"


def _step(kind: str, **fields: object) -> dict[str, object]:
    return {"type": kind, **fields}


def _split(pattern: str, behavior: str = "Isolated") -> dict[str, object]:
    return _step("Split", pattern={"Regex": pattern}, behavior=behavior, invert=False)


def _bytes(use_regex: bool) -> dict[str, object]:
    return _step("ByteLevel", add_prefix_space=False, trim_offsets=True, use_regex=use_regex)


def _chain(*steps: dict[str, object]) -> Callable[[dict[str, Any]], None]:
    def change(content: dict[str, Any]) -> None:
        content["pre_tokenizer"] = _step("Sequence", pretokenizers=list(steps))

    return change


def _normalized(*steps: dict[str, object]) -> Callable[[dict[str, Any]], None]:
    def change(content: dict[str, Any]) -> None:
        content["normalizer"] = _step("Sequence", normalizers=list(steps)) if steps else None

    return change


def _added(**options: bool) -> Callable[[dict[str, Any]], None]:
    """Return what adds tokens with such options."""

    def change(content: dict[str, Any]) -> None:
        first = 1 + max(content["model"]["vocab"].values())
        off = dict.fromkeys(("single_word", "lstrip", "rstrip", "normalized", "special"), False)
        have = {token["content"] for token in content["added_tokens"]}
        for text in ("<mask>", "<tool>", "<sep>"):
            if text not in have:
                content["added_tokens"].append({"id": first, "content": text, **off, **options})
                first += 1

    return change


#: GPT-2's vocabulary with other rules.
_CHANGED: dict[str, Callable[[dict[str, Any]], None]] = {
    "gpt2": lambda content: None,
    "falcon": _chain(
        _step("Punctuation", behavior="Contiguous"),
        _bytes(use_regex=True),
        _step("Digits", individual_digits=False),
        _split("[0-9][0-9][0-9]"),
    ),
    "deepseek_coder": _chain(
        _split("[\r\n]"),
        _split(r"\s?\p{L}+"),
        _split(r"\s?\p{P}+"),
        _split("[一-龥ࠀ-一가-퟿]+"),
        _step("Digits", individual_digits=True),
        _bytes(use_regex=False),
    ),
    "starcoder": _chain(_step("Digits", individual_digits=True), _bytes(use_regex=True)),
    "whitespace_bytes": _chain(_step("Whitespace"), _bytes(use_regex=True)),
    "lowercase": _normalized(_step("Lowercase")),
    "nfd_lowercase": _normalized(_step("NFD"), _step("StripAccents"), _step("Lowercase")),
    "added_normalized": _added(normalized=True),
    "added_lstrip": _added(lstrip=True, special=True),
}


def tokenizer_file(options: dict[str, str]) -> Path:
    """Return the tokenizer.json of `tokenizer` in `folder`, made by the first process that needs it.

    NAME.model: a model of SentencePiece as it is.  NAME-plain: without its normalizers.
    """
    name, source = options["tokenizer"], Path(options["vocabularies"])
    if name.endswith(".model"):
        return source / name
    path = Path(options["folder"], f"{name}.tokenizer.json")
    if not path.exists():
        made = Path(f"{path}.part")
        made.write_text(json.dumps(_content(name, source, path.parent), ensure_ascii=False), "utf-8")
        made.rename(path)
    return path


def _data(path: Path) -> bytes:
    data = path.read_bytes()
    return lzma.decompress(data) if path.suffix == ".xz" else data


def _content(name: str, source: Path, folder: Path) -> dict[str, Any]:
    base, _, change = name.partition("-")
    if base in _CHANGED:
        content = json.loads(_data(source / _GPT2))
        _CHANGED[base](content)
    elif base == "metaspace":
        content = _saved("mistral_v1", source, folder)
        content["normalizer"] = None
        content["pre_tokenizer"] = _step("Metaspace", replacement="▁", prepend_scheme="always", split=True)
    else:
        content = _saved(base, source, folder)
    if change == "plain":
        content["normalizer"] = None
    if base == "bert":
        content["post_processor"] = _step("BertProcessing", sep=["[SEP]", 102], cls=["[CLS]", 101])
    return content


def _saved(name: str, source: Path, folder: Path) -> dict[str, Any]:
    """Return the content of the tokenizer.json of a published vocabulary, with all its special tokens."""
    path = source / _FILES[name]
    data = _data(path)
    plain = folder / path.name.removesuffix(".xz")
    if plain.name.endswith("tokenizer.json"):
        return json.loads(data)  # type: ignore[no-any-return]
    plain.write_bytes(data)
    published = PUBLISHED.get(ALIASES.get(name, name))
    given: dict[str, Any] = {}
    if published is not None and published.pattern is not None:
        specials = {**(published.special_tokens or {}), **published.added_tokens}
        given = {"pattern": published.pattern, "special_tokens": specials}
    made = folder / f"{name}.saved.json"
    bbpe.load(plain, **given).save(made, format="huggingface")
    content: dict[str, Any] = json.loads(made.read_text("utf-8"))
    if published is not None and published.is_nfc:
        content["normalizer"] = _step("NFC")
    return content


#: The markers of chats: begin, the head of a turn (of the user, of the assistant), the end of a turn.
_MARKERS = {
    "llama3": (
        "<|begin_of_text|>",
        *(f"<|start_header_id|>{role}<|end_header_id|>\n\n" for role in ("user", "assistant")),
        "<|eot_id|>",
    ),
    "qwen3.5": ("", "<|im_start|>user\n", "<|im_start|>assistant\n", "<|im_end|>\n"),
    "o200k_harmony": (
        "",
        "<|start|>user<|message|>",
        "<|start|>assistant<|channel|>final<|message|>",
        "<|end|>",
    ),
    "deepseek_v3": ("<｜begin▁of▁sentence｜>", "<｜User｜>", "<｜Assistant｜>", "<｜end▁of▁sentence｜>"),
    "tekken": ("<s>", "[INST]", "[/INST]", "</s>"),
}


def chats(text: str, options: dict[str, str]) -> list[str]:
    """Return 2,000 prompts of 50 to 4,000 tokens, turns of 80 to 900 characters; `special=absent` has no markers."""
    begin, user, assistant, end = _MARKERS[options["tokenizer"]]
    random_numbers, found = random.Random(7), []
    for _ in range(2000):
        length, prompt, heads = int(200 * 80 ** random_numbers.random()), begin, 0
        while len(prompt) < length:
            size = random_numbers.randint(80, 900)
            at = random_numbers.randrange(len(text) - size)
            prompt += (assistant if heads % 2 else user) + text[at : at + size].strip() + end
            heads += 1
        found.append(prompt)
    if options["special"] in ("refuse", "absent", "none"):
        table = str.maketrans("<>[]|｜", "()()!!")
        return [prompt.translate(table) for prompt in found]
    return found


#: Scripts whose text is made of the tokens of a vocabulary that are written in them.
SCRIPTS = {
    "thai": ("\u0e00", "\u0e7f"),
    "hindi": ("\u0900", "\u097f"),
    "arabic": ("\u0600", "\u06ff"),
    "vietnamese": ("\u1ea0", "\u1ef9"),
    "german": ("äöüß", "äöüß"),
}


def script_text(script: str, source: Path, size: int = 2_000_000) -> str:
    """Return words in a script: tokens of o200k that have a character of it, with words of ASCII letters between."""
    first, last = SCRIPTS[script]
    ranks = _data(source / _FILES["o200k_harmony"]).split(b"\n")
    tokens = [base64.b64decode(line.split()[0]).decode("utf-8", "ignore") for line in ranks if line]
    letters = [token for token in tokens if any(first <= c <= last if len(first) == 1 else c in first for c in token)]
    latin = [token for token in tokens[2000:20000] if token.strip().isascii() and token.strip().isalpha()]
    random_numbers, parts, length = random.Random(5), [], 0
    shares = {"german": 0.2, "vietnamese": 0.4}
    while length < size:
        own = random_numbers.random() < shares.get(script, 0.95)
        parts.append(random_numbers.choice(letters if own else latin))
        if random_numbers.random() < 0.3:
            parts.append(" ")
        length += len(parts[-1].encode())
    return "".join(parts)
