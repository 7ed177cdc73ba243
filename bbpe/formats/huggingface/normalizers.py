"""The `normalizer` of a `tokenizer.json`, and the regexes of the file, which are in the dialect of Oniguruma.

Those of the named patterns mean the same in the dialect of the `regex` package.  `oniguruma.py` translates any other;
it is imported for them only, because its tables take longer to make than a known regex to look up.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ...errors import PatternError, VocabularyError
from ...files import StrPath
from ...lazy import safe_import
from ...spec.rules import (
    BertNormalizer,
    ByteLevelNormalizer,
    Lowercase,
    Nmt,
    Normalizer,
    Precompiled,
    Prepend,
    Replace,
    Strip,
    StripAccents,
    UnicodeForm,
)
from ...splitting.patterns import PATTERNS, with_line_ends
from ...splitting.regexes import compiled
from ..common.reading import Fields, parts_of

_KNOWN = (
    "NFC, NFD, NFKC, NFKD, Lowercase, StripAccents, Strip, Prepend, Replace, Nmt, ByteLevel, Precompiled, "
    "BertNormalizer or a Sequence"
)
# tests/formats/test_oniguruma.py compares the named patterns with Oniguruma on random text.  CLIP's needs another
# spelling there: under (?i) "st" would match the ligature U+FB06, and [\p{L}] the mark U+0345, which no class of the
# `regex` package matches.  In that of cl100k, `@huggingface/tokenizers` makes `\s+` and an end of each line of `\s++$`.
_SPELLED = {
    PATTERNS["cl100k"].steps[0]: PATTERNS["cl100k"].steps[0].replace(r"\s++$", r"\s+(?![\s\S])"),
    PATTERNS["clip"].steps[0]: r"(?i:<\|[s]tartoftext\|>|<\|endoftext\|>|'s|'t|'re|'ve|'m|'ll|'d)"
    r"|[\p{L}]+|[\p{N}]|[^\s\p{L}\p{N}\u0345]+"
}
_READ = {there: here for here, there in _SPELLED.items()}
_SAFE = {_SPELLED.get(step, step) for row in PATTERNS.values() for step in row.steps}
_SAFE |= {with_line_ends(step) for step in _SAFE}


def read_normalizers(value: object, *, path: StrPath) -> tuple[Normalizer, ...]:
    """Return the rules of a `normalizer` in order; `VocabularyError` naming an unknown one."""
    return tuple(_read(part, path, place) for part, place in parts_of(value, "normalizers", path, "normalizer"))


def _read(value: object, path: StrPath, place: str) -> Normalizer:
    fields = Fields(value, path=path, place=place)
    kind = fields.take_type("type", str)
    rule: Normalizer
    match kind:
        case "NFC" | "NFD" | "NFKC" | "NFKD":
            rule = UnicodeForm(kind)
        case "Lowercase":
            rule = Lowercase()
        case "StripAccents":
            rule = StripAccents()
        case "Strip":
            rule = Strip(fields.take_type("strip_left", bool), fields.take_type("strip_right", bool))
        case "Prepend":
            rule = Prepend(fields.take_type("prepend", str))
            if not rule.text:
                fields.refuse("found the empty string; expected at least one character", "prepend")
        case "Replace":
            rule = _read_normalizer_replace(fields)
        case "BertNormalizer":
            rule = _bert(fields)
        case "Nmt":
            rule = Nmt()
        case "ByteLevel":
            rule = ByteLevelNormalizer()
        case "Precompiled":
            rule = _precompiled(fields)
        case _:
            fields.refuse(f"{kind!r} is not supported; expected {_KNOWN}")
    fields.done()
    return rule


def _precompiled(fields: Fields) -> Precompiled:
    written = fields.take_type("precompiled_charsmap", str)
    safe_import("base64")
    from base64 import b64decode

    try:
        data = b64decode(written, validate=True)
    except ValueError:
        fields.refuse("the table is not valid base64; expected base64", "precompiled_charsmap")
    if data:
        safe_import("bbpe.pipeline.compiled_normalizers")
        from ...pipeline.compiled_normalizers import check_charsmap

        check_charsmap(data)
    return Precompiled(data)


def _bert(fields: Fields) -> BertNormalizer:
    clean, cjk = fields.take_type("clean_text", bool), fields.take_type("handle_chinese_chars", bool)
    strip, lower = fields.take("strip_accents", None), fields.take_type("lowercase", bool)
    if strip is not None and type(strip) is not bool:
        fields.refuse("expected true, false or null", "strip_accents")
    return BertNormalizer(clean, cjk, lower if strip is None else strip, lower)


def read_replace(fields: Fields) -> Replace:
    """Take the fields of a Replace, of a normalizer or a decoder; `PatternError` on a regex that cannot be followed."""
    source, is_regex = read_pattern(fields)
    if is_regex:
        source = from_oniguruma(source, path=fields.path, place=fields.at("pattern"))
        try:
            compiled(source)
        except PatternError as error:
            raise PatternError(f"{fields.path}: {fields.at('pattern')}: {error}") from None
    # an empty string is found between all characters, as is an empty regex
    return Replace(source, is_regex or not source, fields.take_type("content", str))


def _read_normalizer_replace(fields: Fields) -> Replace:
    # imported here, because few files have a regex
    safe_import("bbpe.splitting.automaton")
    from ...splitting.automaton import may_begin_empty

    rule = read_replace(fields)
    if rule.is_regex and rule.content and may_begin_empty(rule.pattern):
        fields.refuse(
            "it may match the empty string where a text begins, after which `tokenizers` repeats parts of the text; "
            "expected a pattern that matches a character there",
            "pattern",
        )
    return rule


def read_pattern(fields: Fields) -> tuple[str, bool]:
    """Take the field `pattern`; return a string or a regex in the dialect of the file, and whether it is a regex."""
    pattern = Fields(fields.take("pattern"), path=fields.path, place=fields.at("pattern"))
    is_regex = "String" not in pattern
    source = pattern.take_type("Regex" if is_regex else "String", str)
    pattern.done()
    return source, is_regex


def write_normalizers(rules: tuple[Normalizer, ...], *, path: StrPath) -> dict[str, Any] | None:
    """Return the `normalizer` of rules; `VocabularyError` on a rule that HF's `tokenizers` does not have."""
    parts = [_written(rule, path) for rule in rules]
    if len(parts) < 2:
        return parts[0] if parts else None
    return {"type": "Sequence", "normalizers": parts}


def _written(rule: Normalizer, path: StrPath) -> dict[str, Any]:
    match rule:
        case UnicodeForm(form):
            return {"type": form}
        case Lowercase() | StripAccents() | Nmt():
            return {"type": type(rule).__name__}
        case ByteLevelNormalizer():
            return {"type": "ByteLevel"}
        case Strip(left, right):
            return {"type": "Strip", "strip_left": left, "strip_right": right}
        case Prepend(text):
            return {"type": "Prepend", "prepend": text}
        case Precompiled(data):
            safe_import("base64")
            from base64 import b64encode

            return {"type": "Precompiled", "precompiled_charsmap": b64encode(data).decode()}
        case Replace():
            return write_replace(rule)
        case BertNormalizer(clean, cjk, strip, lower):
            return {
                "type": "BertNormalizer",
                "clean_text": clean,
                "handle_chinese_chars": cjk,
                "strip_accents": strip,
                "lowercase": lower,
            }
        case _:
            problem = f"tokenizer.json has no normalizer like SentencePiece's {type(rule).__name__}"
            raise VocabularyError(f"{problem}; write a SentencePiece .model", path=path)


def write_replace(rule: Replace) -> dict[str, Any]:
    """Return a Replace, of a normalizer or a decoder; `PatternError` on a regex that Oniguruma reads differently."""
    source = {"Regex": to_oniguruma([rule.pattern])[0]} if rule.is_regex else {"String": rule.pattern}
    return {"type": "Replace", "pattern": source, "content": rule.content}


def to_oniguruma(steps: Sequence[str]) -> list[str]:
    """Translate a chain of regexes of the `regex` package to Oniguruma.

    Raises `PatternError` on a construct that may mean something else in Oniguruma.
    """
    spelled = [_SPELLED.get(step, step) for step in steps]
    for step in spelled:
        if step not in _SAFE:
            safe_import("bbpe.formats.huggingface.oniguruma")
            from .oniguruma import check_agreed

            check_agreed(step)
    return spelled


def from_oniguruma(source: str, *, path: StrPath, place: str) -> str:
    r"""Translate a regex of a `tokenizer.json` to the dialect of the `regex` package.

    Raises `PatternError` with file and position on a construct that may mean something else in the `regex` package and
    has no other spelling.

    >>> from_oniguruma(r"\p{N}{1,3}+|\s+", path="tokenizer.json", place="pre_tokenizer")
    '(?:\\p{N}{1,3})+|\\s+'
    """
    if source in _SAFE:
        return _READ.get(source, source)
    safe_import("bbpe.formats.huggingface.oniguruma")
    from .oniguruma import translated

    return translated(source, path=path, place=place)
