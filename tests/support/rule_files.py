"""Components of a tokenizer.json, and small ones whose symbols are characters."""

from __future__ import annotations

from typing import Any

from vocabularies import added, document


def named(kind: str, **fields: Any) -> dict[str, Any]:
    return {"type": kind, **fields}


def replaced(source: str, content: str, kind: str = "String") -> dict[str, Any]:
    return named("Replace", pattern={kind: source}, content=content)


CHARS = "\u2581theingas12é中<>.,-\nABx"


PAIRS = "t h|i n|th e|\u2581 the|in g|a a|aa aa|\u2581 \u2581|\u2581\u2581 \u2581\u2581|1 2|中 中|é é".split("|")


def of_characters(*, fallback: bool = True, pairs: list[str] = PAIRS, **changes: Any) -> dict[str, Any]:
    """The object of a small tokenizer.json whose symbols are characters."""
    tokens = ["<unk>", "<s>", "</s>", *(f"<0x{byte:02X}>" for byte in range(256) if fallback), *CHARS]
    tokens += [pair.replace(" ", "") for pair in pairs]
    special = [added(text, tokens.index(text)) for text in tokens[:3]]
    decoders = [replaced("\u2581", " "), named("ByteFallback"), named("Fuse")]
    decoders.append(named("Strip", content=" ", start=1, stop=0))
    defaults: dict[str, Any] = {
        "normalizer": named("Sequence", normalizers=[named("Prepend", prepend="\u2581"), replaced(" ", "\u2581")]),
        "pre_tokenizer": None,
        "decoder": named("Sequence", decoders=decoders if fallback else [decoders[0], *decoders[2:]]),
        "added_tokens": special,
        "model__vocab": {token: number for number, token in enumerate(tokens)},
        "model__merges": pairs,
        "model__byte_fallback": fallback,
        "model__unk_token": "<unk>",
    }
    return document(**{**defaults, **changes})


METASPACES = [
    named("Metaspace", replacement="\u2581", prepend_scheme=scheme, split=cuts)
    for scheme in ("always", "first", "never")
    for cuts in (False, True)
]
