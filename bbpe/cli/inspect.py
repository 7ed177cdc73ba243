"""`bbpe inspect`: what a tokenizer file holds, or with `--machine` what bbpe finds on this machine."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace
from collections.abc import Iterator
from itertools import islice
from pathlib import Path

import bbpe
from bbpe import formats
from bbpe.encoding.plan import uncompiled
from bbpe.formats.common.ranks import live_merges
from bbpe.formats.transformers.folder import ClassFolder
from bbpe.formats.transformers.names import class_of, own_class
from bbpe.records import asdict
from bbpe.report.terminal import line_columns, wrapped
from bbpe.report.unusual import missing_bytes, treatment, unusual
from bbpe.spec.models import WordLevelModel, WordPieceModel
from bbpe.spec.rules import UnicodeForm
from bbpe.spec.spec import TokenizerSpec
from bbpe.splitting.closest_pattern import nearest
from bbpe.text import counted, first_few, shortened

from .command import TOKENIZER, Command, add_pattern, load_named
from .parsers import UsageError
from .streams import INSPECT, add_color, add_json, painted, say, say_json

_SHOWN, _TOKENS, _WIDTH = 8, 4, 200
#: The facts for readers, in order; `--json` has all.
_LINES = (
    "file", "kind", "class", "name", "bytes", "vocab_size", "longest_token", "model", "first_merges", "normalizers",
    "pattern", "pre_tokenizers", "pattern_dialect", "unicode", "template", "decoder", "special_tokens", "added_tokens",
    "fingerprint", "unusual",
)  # fmt: skip
# in which dialect a format writes its regexes, or how else it says how text is split
_DIALECTS = {
    "huggingface": "Oniguruma",
    "tekken": "fancy-regex, as tiktoken",
    "gguf": "the name of a kind of splitting in llama.cpp",
}


def _add_arguments(parser: ArgumentParser) -> None:
    parser.add_argument("file", nargs="?", metavar="FILE", help=TOKENIZER)
    what = "Show what bbpe finds on this machine, for a report of a fault: no FILE is read."
    parser.add_argument("--machine", action="store_true", help=what)
    add_pattern(parser)
    add_json(parser)
    add_color(parser)


def _run(args: Namespace) -> int:
    if args.machine:
        return _machine(args)
    if args.file is None:
        raise UsageError("there is nothing to inspect; expected FILE, or --machine")
    facts = _facts(args.file, args.pattern)
    if args.json:
        say_json(facts)
        return 0
    for key in _LINES:
        for line in _lines(facts.get(key)):
            for part in _parts(key, line):
                say(painted(part, INSPECT, args) if key == "unusual" else part)
    return 0


def _machine(args: Namespace) -> int:
    from bbpe.report.machine import machine  # which asks for many packages, and no tokenizer needs it

    for given in (args.file, args.pattern and "--pattern"):
        if given is not None:
            raise UsageError(f"--machine is about no tokenizer; expected it without {given}")
    found = machine(bbpe.__version__)
    if args.json:
        say_json(asdict(found))
        return 0
    for key, line in found.lines():
        for part in _parts(key, line):
            say(part)
    return 0


def _parts(key: str, line: str) -> Iterator[str]:
    return wrapped(f"{key:<16} {line}", line_columns(), 17)


def _lines(value: object) -> Iterator[str]:
    """Yield what to show of a fact: a line, or one for each sentence; none for what the tokenizer does not have."""
    if isinstance(value, dict):
        rows = sorted(value.items(), key=lambda item: item[1])
        shown = first_few([f"{token_id} {shortened(text, quoted=True)}" for text, token_id in rows], _TOKENS)
        yield f"{len(rows):,}: {shown}" if rows else "0"
    elif isinstance(value, list):
        yield from (value if value else ["nothing"])
    elif value is not None and value != "":
        text = " | ".join(str(value).split("\n"))
        yield shortened(text, _WIDTH)


def _facts(name: str, pattern: str | None) -> dict[str, object]:
    tokenizer = load_named(name, pattern, has_notes=False)  # they are among what is unusual
    spec = tokenizer.spec
    kind = formats.sniff(name) if Path(name).exists() else None
    is_own = Path(name).is_dir() and own_class(ClassFolder(Path(name))) is not None
    return {
        "file": name,
        "format": kind,
        "kind": "files of a class" if is_own else None if kind is None else formats.FORMATS[kind].description,
        "class": _class(Path(name), kind),
        "bytes": _bytes_of(Path(name)),
        "name": tokenizer.name,
        "vocab_size": tokenizer.vocab_size,
        "tokens": len(tokenizer),
        "holes": tokenizer.vocab_size - len(tokenizer),
        "longest_token": max(map(len, spec.vocab.values())),
        "model": _model(spec),
        "mode": type(spec.model).__name__ if spec.model is not None else "ranks" if spec.merges is None else "merges",
        "merges": None if spec.merges is None else len(spec.merges),
        "first_merges": _first_merges(spec),
        **_unmade(spec),
        **_without_tokens(spec),
        "normalizers": " ".join(map(_name, spec.rules.normalizers)),
        "pre_tokenizers": " ".join(map(_name, spec.rules.pre_tokenizers)),
        **_pattern(spec, None if is_own else kind, given=pattern is not None, has_class=bool(_class(Path(name), kind))),
        "template": _template(spec),
        "decoder": " ".join(map(_name, spec.decoder)),
        "runs_in_python": uncompiled(spec),
        "unicode": tokenizer.unicode_version,
        "special_tokens": dict(tokenizer.special_tokens),
        "added_tokens": dict(tokenizer.added_tokens),
        "fingerprint": tokenizer.fingerprint,
        "unusual": unusual(spec),
    }


def _class(path: Path, kind: str | None) -> str | None:
    """The class of `transformers` that defines the rules of a vocabulary without a tokenizer.json."""
    folder = ClassFolder.of(path)
    if kind == "gpt2" or (path.is_dir() and (kind == "sentencepiece" or own_class(folder) is not None)):
        return class_of(folder).name or None
    return None


def _name(rule: object) -> str:
    return rule.form if isinstance(rule, UnicodeForm) else type(rule).__name__


def _first_merges(spec: TokenizerSpec) -> str:
    """The merges that were learned first, as the two parts of each; empty for a model without merges."""
    pairs = ((spec.vocab[left], spec.vocab[right]) for left, right, _ in islice(spec.merges or (), _SHOWN))
    return ", ".join(f"{shortened(left, quoted=True)} + {shortened(right, quoted=True)}" for left, right in pairs)


def _is_of_bytes(spec: TokenizerSpec) -> bool:
    return spec.model is None and (spec.characters is None or spec.characters.are_bytes)


def _model(spec: TokenizerSpec) -> str:
    """The kind of the model, its symbols and how it joins them."""
    if spec.model is not None:
        return type(spec.model).__name__.removesuffix("Model")
    marked = " of words" if spec.characters is not None and spec.characters.marks_words else ""
    symbols = "bytes" if _is_of_bytes(spec) else "characters"
    how = "by ranks" if spec.merges is None else f"by {counted(len(spec.merges), 'merge')}"
    return f"BPE of {symbols}{marked}, {how}"


def _template(spec: TokenizerSpec) -> str | None:
    """The template of one text, with the texts of its tokens."""
    if spec.template is None:
        return None
    texts = {token_id: text for text, token_id in (*spec.added_tokens.items(), *spec.special_tokens.items())}
    return " ".join("text" if item == "A" else texts.get(int(item), str(item)) for item, _ in spec.template.single)


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
    if not symbols.are_bytes:
        return {"tokenless_become": treatment(spec)}
    missing = missing_bytes(spec)
    return {"tokenless_bytes": len(missing), "tokenless_become": treatment(spec), "tokenless_shown": missing[:_SHOWN]}


def _pattern(spec: TokenizerSpec, kind: str | None, *, given: bool, has_class: bool) -> dict[str, object]:
    near = nearest(spec.pattern)
    source = f"none in the file: known by its {'class' if has_class else 'tokens'}"
    if given:
        source = "given, in the syntax of the regex package"
    elif kind in ("gguf", "sentencepiece") and (spec.model is not None or not _is_of_bytes(spec)):
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
