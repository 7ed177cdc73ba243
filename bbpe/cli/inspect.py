"""`bbpe inspect`: what a tokenizer file holds."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace
from pathlib import Path

from bbpe import formats
from bbpe.encoding.uncompiled import uncompiled
from bbpe.formats.ranks import live_merges
from bbpe.spec.models import WordLevelModel, WordPieceModel
from bbpe.spec.spec import TokenizerSpec
from bbpe.splitting.closest_pattern import nearest

from .command import Command, add_pattern, load_named
from .streams import say, say_json

_SHOWN = 8
# in which dialect a format writes its regexes, or how else it says how text is split
_DIALECTS = {
    "huggingface": "Oniguruma",
    "tekken": "fancy-regex, as tiktoken",
    "gguf": "the name of a kind of splitting in llama.cpp",
}


def _add_arguments(parser: ArgumentParser) -> None:
    parser.add_argument("file", metavar="FILE", help="the tokenizer: a file, a folder, or a published name")
    add_pattern(parser)
    parser.add_argument("--json", action="store_true", help="write one JSON object")


def _run(args: Namespace) -> int:
    facts = _facts(args.file, args.pattern)
    if args.json:
        say_json(facts)
        return 0
    for key, value in facts.items():
        if isinstance(value, dict):
            say(f"{key:<16} {len(value)}")
            for text, token_id in sorted(value.items(), key=lambda item: item[1]):
                say(f"{token_id:>16} {text!r}")
        elif isinstance(value, list):
            say(f"{key:<16} {' '.join(map(repr, value)) or '-'}")
        else:
            say(f"{key:<16} {'-' if value is None else value}")
    return 0


def _facts(name: str, pattern: str | None) -> dict[str, object]:
    tokenizer = load_named(name, pattern)
    spec = tokenizer.spec
    kind = formats.sniff(name) if Path(name).exists() else None
    return {
        "file": name,
        "format": kind,
        "kind": None if kind is None else formats.FORMATS[kind].description,
        "bytes": _bytes_of(Path(name)),
        "name": tokenizer.name,
        "vocab_size": tokenizer.vocab_size,
        "tokens": len(tokenizer),
        "holes": tokenizer.vocab_size - len(tokenizer),
        "longest_token": max(map(len, spec.vocab.values())),
        "mode": type(spec.model).__name__ if spec.model is not None else "ranks" if spec.merges is None else "merges",
        "merges": None if spec.merges is None else len(spec.merges),
        **_unmade(spec),
        **_without_tokens(spec),
        **_pattern(spec, kind, given=pattern is not None),
        "runs_in_python": uncompiled(spec),
        "unicode": tokenizer.unicode_version,
        "special_tokens": dict(tokenizer.special_tokens),
        "added_tokens": dict(tokenizer.added_tokens),
        "fingerprint": tokenizer.fingerprint,
    }


def _unmade(spec: TokenizerSpec) -> dict[str, object]:
    """Tokens that merging cannot build, and whether they are found as whole pretokens all the same."""
    if spec.model is not None or spec.characters is not None:
        return {}
    unmade = live_merges(spec).unmade
    return {
        "unmade_tokens": len(unmade),
        "unmade_examples": [spec.vocab[token_id].decode("utf-8", "backslashreplace") for token_id in unmade[:_SHOWN]],
        "whole_pretokens": spec.whole_pretokens,
    }


def _without_tokens(spec: TokenizerSpec) -> dict[str, object]:
    """Bytes or characters without a token, and their treatment."""
    symbols = spec.characters
    if symbols is None:
        is_lossy = isinstance(spec.model, WordPieceModel | WordLevelModel) and spec.model.unknown is None
        return {"tokenless_become": "left out"} if is_lossy else {}
    texts = {token_id: text for text, token_id in (*spec.special_tokens.items(), *spec.added_tokens.items())}
    treatment = "left out"
    if symbols.byte_ids:
        treatment = "written as the tokens of their bytes"
    elif symbols.unknown is not None:
        token = spec.vocab.get(symbols.unknown, b"").decode("utf-8", "backslashreplace")
        treatment = f"written as {texts.get(symbols.unknown, token)!r}"
    if not symbols.are_bytes:
        return {"tokenless_become": treatment}
    tokens = set(spec.vocab.values())
    missing = [f"0x{byte:02X}" for byte in range(256) if bytes((byte,)) not in tokens]
    return {"tokenless_bytes": len(missing), "tokenless_become": treatment, "tokenless_shown": missing[:_SHOWN]}


def _pattern(spec: TokenizerSpec, kind: str | None, *, given: bool) -> dict[str, object]:
    near = nearest(spec.pattern)
    source = "none in the file: known by its tokens"
    if given:
        source = "given, in the syntax of the regex package"
    elif kind in ("gguf", "sentencepiece") and spec.characters is not None:
        source = "none: such a model does not split texts"
    elif kind in _DIALECTS:
        source = _DIALECTS[kind]
    return {
        "pattern": str(spec.pattern),
        "pattern_equals": near.name if near is not None and not near.differs else None,
        "pattern_like": near.name if near is not None and near.differs else None,
        "pattern_differs": [] if near is None else list(near.differs),
        "pattern_example": None if near is None else near.example,
        "pattern_dialect": source,
        "compiled": spec.pattern.scheme is not None,
    }


def _bytes_of(path: Path) -> int | None:
    if path.is_dir():
        return sum(file.stat().st_size for file in path.iterdir() if file.is_file())
    return path.stat().st_size if path.exists() else None


COMMAND = Command(_add_arguments, _run)
