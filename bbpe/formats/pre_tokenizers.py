"""The `pre_tokenizer` of a `tokenizer.json`, and the pattern that it is."""

from __future__ import annotations

from typing import Any

from ..errors import PatternError, VocabularyError
from ..files import StrPath
from ..pattern_limits import MOST_STEPS
from ..patterns import PATTERNS, Pattern, recognise
from .oniguruma import from_oniguruma, to_oniguruma
from .reading import Fields

_GPT2 = PATTERNS["gpt2"].steps[0]


def read_pre_tokenizer(value: object, *, path: StrPath, replaced: bool = False) -> Pattern:
    """Return the pattern of a `pre_tokenizer`: any number of splits and `ByteLevel` at the end.

    With `replaced` its regexes do not count and may be of any kind.

    Raises `VocabularyError` on any other component, by name, and `PatternError` on a regex that cannot be
    followed exactly.
    """
    parts = _flat(value, path, "pre_tokenizer")
    if len(parts) > MOST_STEPS:
        problem = f"found {len(parts)} components; expected at most {MOST_STEPS}"
        raise VocabularyError(problem, path=path, place="pre_tokenizer")
    steps: list[tuple[str, bool]] = []
    for number, (part, place) in enumerate(parts, 1):
        fields = Fields(part, path=path, place=place)
        kind = fields.take_type("type", str)
        if kind == "ByteLevel" and number == len(parts):
            if _uses_regex(fields):
                steps.append((_GPT2, False))
        elif kind in _SPLITS and number < len(parts):
            source, drops = _SPLITS[kind](fields)
            steps.append((source if replaced else from_oniguruma(source, path=path, place=place), drops))
        else:
            fields.refuse(f"{kind!r} is not supported here; expected splits (Split, Digits) and ByteLevel at the end")
        fields.done()
    if len({drops for _, drops in steps}) > 1:
        problem = "some splits drop text and some keep it; expected one kind"
        raise VocabularyError(problem, path=path, place="pre_tokenizer")
    if replaced:
        return PATTERNS["none"]
    try:
        return recognise([source for source, _ in steps], drops_gaps=any(drops for _, drops in steps))
    except PatternError as error:
        raise PatternError(f"{path}: pre_tokenizer: {error}") from None


def write_pre_tokenizer(pattern: Pattern) -> dict[str, Any]:
    """Return the `pre_tokenizer` that splits as a pattern does; it records the version of Unicode used here.

    Raises `PatternError` when Oniguruma would read a regex differently.
    """
    steps = to_oniguruma(pattern.steps)
    byte_level = steps[-1:] == [_GPT2] and not pattern.drops_gaps
    behavior, invert = ("Removed", True) if pattern.drops_gaps else ("Isolated", False)
    parts: list[dict[str, Any]] = [
        {"type": "Split", "pattern": {"Regex": step}, "behavior": behavior, "invert": invert}
        for step in (steps[:-1] if byte_level else steps)
    ]
    # HF ignores a field here that it does not know, and no other place of the file has room for a record
    record = {} if pattern.unicode_version is None else {"unicode_version": pattern.unicode_version}
    options = {"add_prefix_space": False, "trim_offsets": True, "use_regex": byte_level}
    parts.append({"type": "ByteLevel", **options, **record})
    return parts[0] if len(parts) == 1 else {"type": "Sequence", "pretokenizers": parts}


def _flat(value: object, path: StrPath, place: str) -> list[tuple[object, str]]:
    if not isinstance(value, dict) or value.get("type") != "Sequence":
        return [(value, place)]
    fields = Fields(value, path=path, place=place)
    fields.take("type")
    parts = fields.take_type("pretokenizers", list)
    fields.done()
    if not parts:
        fields.refuse("found no component; expected ByteLevel at the end", "pretokenizers")
    return [
        inner for number, part in enumerate(parts) for inner in _flat(part, path, f"{place}.pretokenizers[{number}]")
    ]


def _uses_regex(fields: Fields) -> bool:
    fields.only("add_prefix_space", False)
    fields.take("trim_offsets", True)  # moves offsets, not ids
    fields.take("unicode_version", None)  # a record of ours
    return fields.take_type("use_regex", bool, True)


def _split(fields: Fields) -> tuple[str, bool]:
    pattern = Fields(fields.take("pattern"), path=fields.path, place=fields.at("pattern"))
    source = pattern.take_type("Regex", str)
    pattern.done()
    behavior, invert = fields.take_type("behavior", str), fields.take_type("invert", bool)
    if (behavior, invert) not in (("Isolated", False), ("Removed", True)):
        fields.refuse(
            f"behavior {behavior!r} with invert {str(invert).lower()} is not supported; "
            "expected Isolated with false, or Removed with true"
        )
    return source, behavior == "Removed"


def _digits(fields: Fields) -> tuple[str, bool]:
    return r"\p{N}" if fields.take_type("individual_digits", bool) else r"\p{N}+", False


_SPLITS = {"Split": _split, "Digits": _digits}
