"""The `pre_tokenizer` of a `tokenizer.json`: a pattern if it is equivalent to one, otherwise a chain of rules."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ...errors import PatternError, VocabularyError
from ...files import StrPath
from ...records import dataclass, replace
from ...spec.rules import (
    BEHAVIORS,
    SPACE_MARK,
    Behavior,
    BertPreTokenizer,
    ByteAlphabet,
    ByteLevel,
    CharDelimiterSplit,
    Digits,
    FixedLength,
    Metaspace,
    Prefix,
    PrependScheme,
    PreTokenizer,
    Punctuation,
    Replace,
    Split,
    UnicodeScripts,
    Whitespace,
    WhitespaceSplit,
)
from ...spec.spec import TokenizerSpec
from ...splitting.pattern_limits import MOST_STEPS
from ...splitting.patterns import PATTERNS, Pattern, recognise
from ...splitting.regexes import compiled
from ..common.reading import Fields, parts_of
from .decoders import read_prepend_scheme
from .normalizers import from_oniguruma, read_pattern, to_oniguruma

_GPT2 = PATTERNS["gpt2"].steps[0]
_KNOWN = (
    "Split, ByteLevel, Digits, Punctuation, Whitespace, WhitespaceSplit, CharDelimiterSplit, Metaspace, "
    "BertPreTokenizer, FixedLength, UnicodeScripts or a Sequence of these"
)
#: The pattern of Metaspace with `split`, for texts that have blanks in place of U+2581.
AT_BLANKS = Pattern(None, (r" [^ ]*|[^ ]+",))


@dataclass(frozen=True)
class PreTokenization:
    """The effect of a `pre_tokenizer`: the `rules` split texts if there are any, otherwise the pattern does.

    `byte_level`: tokens are in the byte alphabet.  `marks_blanks`: blanks become U+2581.
    """

    pattern: Pattern
    prefix: Prefix | None = None
    rules: tuple[PreTokenizer, ...] = ()
    byte_level: bool = False
    marks_blanks: bool = False

    def spelled(self) -> PreTokenization:
        """Return the effect for models whose tokens are texts in the byte alphabet, not bytes."""
        rules = self.rules or _rules_of_bytes(self.pattern, self.prefix is not None)
        return PreTokenization(PATTERNS["none"], None, (*rules, ByteAlphabet()))

    def on_words(self) -> PreTokenization:
        """Return the effect for models whose tokens have U+2581, not a blank, where Metaspace writes it."""
        if self.rules or not self.marks_blanks:
            return replace(self, marks_blanks=False)
        scheme: PrependScheme = "never" if self.prefix is None else "first" if self.prefix.first else "always"
        return PreTokenization(PATTERNS["none"], None, (Metaspace(scheme, self.pattern == AT_BLANKS),))


def read_pre_tokenizer(value: object, *, path: StrPath, replaced: bool = False) -> PreTokenization:
    """Return the effect of a `pre_tokenizer`.

    `replaced`: another pattern replaces its splits, so its regexes are not checked.

    Raises `VocabularyError` naming an unknown component, and `PatternError` on a regex that cannot be followed exactly.
    """
    if value is None:
        return PreTokenization(PATTERNS["none"])
    parts = parts_of(value, "pretokenizers", path, "pre_tokenizer")
    if len(parts) > MOST_STEPS:
        problem = f"found {len(parts)} components; expected at most {MOST_STEPS}"
        raise VocabularyError(problem, path=path, place="pre_tokenizer")
    rules: list[PreTokenizer] = []
    for part, place in parts:
        fields = Fields(part, path=path, place=place)
        kind = fields.take_type("type", str)
        if kind not in _READERS:
            fields.refuse(f"{kind!r} is not supported; expected {_KNOWN}")
        rules.append(_read_split(fields, replaced) if kind == "Split" else _READERS[kind](fields))
        fields.done()
    byte_level = any(isinstance(rule, ByteLevel) for rule in rules)
    marks = not byte_level and any(isinstance(rule, Metaspace) and rule.mark == SPACE_MARK for rule in rules)
    kinds = [type(rule) for rule in rules]
    if byte_level and Metaspace in kinds[kinds.index(ByteLevel) :]:
        Fields({}, path=path, place="pre_tokenizer").refuse("Metaspace is not supported after ByteLevel")
    if replaced:
        return PreTokenization(PATTERNS["none"], byte_level=byte_level, marks_blanks=marks)
    try:
        known = _as_pattern(rules)
        for rule in () if known is not None else rules:
            if isinstance(rule, Split):
                compiled(rule.regex)
    except PatternError as error:
        raise PatternError(f"{path}: pre_tokenizer: {error}") from None
    return known or PreTokenization(PATTERNS["none"], None, tuple(rules), byte_level, marks)


#: The patterns of words, which need no rules.
_WORDS = ("whitespace", "subword_nmt")


def _as_pattern(rules: list[PreTokenizer]) -> PreTokenization | None:
    """Return the pattern that is equivalent to a chain of rules, `None` if there is none.

    The general case is ByteLevel after splits that either all keep or all drop the text between matches.
    """
    match rules:
        case []:
            return PreTokenization(PATTERNS["none"])
        case [Split(source, "Removed", True)] if recognise((source,), drops_gaps=True).name in _WORDS:
            return PreTokenization(recognise((source,), drops_gaps=True))
        case [Metaspace(scheme, cuts, mark)] if mark == SPACE_MARK:
            prefix = None if scheme == "never" else Prefix(" ", first=scheme == "first")
            return PreTokenization(AT_BLANKS if cuts else PATTERNS["none"], prefix, marks_blanks=True)
        case [ByteLevel(True, cuts)]:
            pattern = PATTERNS["gpt2" if cuts else "none"]
            return PreTokenization(pattern, Prefix(" "), byte_level=True)
        case [*splits, ByteLevel(False, cuts)]:
            steps = [_step(rule) for rule in splits]
            if cuts:
                steps.append((_GPT2, False))
            kinds = {drops for step in steps if step is not None for drops in step[1:]}
            if None in steps or len(kinds) > 1:
                return None
            sources = [step[0] for step in steps if step is not None]
            return PreTokenization(recognise(sources, drops_gaps=True in kinds), byte_level=True)
    return None


def _step(rule: PreTokenizer) -> tuple[str, bool] | None:
    match rule:
        case Split(source, "Isolated", _):
            return source, False
        case Split(source, "Removed", True):
            return source, True
        case Digits(individual):
            return r"\p{N}" if individual else r"\p{N}+", False
    return None


def _read_split(fields: Fields, replaced: bool) -> Split:
    source, is_regex = read_pattern(fields)
    if not source:
        return _split_characters(fields)
    if not is_regex:
        source = _escaped(source)
    elif not replaced:
        source = from_oniguruma(source, path=fields.path, place=fields.place)
    return Split(source, _behavior(fields), fields.take_type("invert", bool))


def _split_characters(fields: Fields) -> Split:
    """Return the effect of an empty pattern, which matches between all characters."""
    behavior, invert = _behavior(fields), fields.take_type("invert", bool)
    return Split(r"[\s\S]", "Removed" if invert and behavior == "Removed" else "Isolated")


def _behavior(fields: Fields, *default: str) -> Behavior:
    found = fields.take_type("behavior", str, *default)
    for behavior in BEHAVIORS:
        if found == behavior:
            return behavior
    return fields.refuse(f"{found!r} is not supported; expected one of {', '.join(BEHAVIORS)}", "behavior")


def _escaped(text: str) -> str:
    """Return a regex that matches a string, valid in both dialects."""
    special = frozenset(r"\.*+?()[]{}^$|/-\"!#&=~")
    return "".join(f"\\{char}" if char in special else char for char in text)


def _read_metaspace(fields: Fields) -> Metaspace:
    mark = fields.take_type("replacement", str)
    if len(mark) != 1:
        fields.refuse(f"found {mark!r}; expected one character", "replacement")
    fields.take_type("str_rep", str, mark)  # `tokenizers` ignores it
    scheme = read_prepend_scheme(fields)
    return Metaspace(scheme, fields.take_type("split", bool, True), mark)


def _read_byte_level(fields: Fields) -> ByteLevel:
    prefixed = fields.take_type("add_prefix_space", bool)
    fields.take("trim_offsets", True)  # changes offsets, not ids
    fields.take("unicode_version", None)  # written by `write_pre_tokenizer`
    return ByteLevel(prefixed, fields.take_type("use_regex", bool, True))


def _read_length(fields: Fields) -> FixedLength:
    length = fields.take_type("length", int, 5)
    if length < 1:
        fields.refuse(f"found {length}; expected at least 1", "length")
    return FixedLength(length)


def _read_delimiter(fields: Fields) -> CharDelimiterSplit:
    delimiter = fields.take_type("delimiter", str)
    if len(delimiter) != 1:
        fields.refuse(f"found {delimiter!r}; expected one character", "delimiter")
    return CharDelimiterSplit(delimiter)


_READERS: dict[str, Any] = {
    "Split": _read_split,
    "ByteLevel": _read_byte_level,
    "Digits": lambda fields: Digits(fields.take_type("individual_digits", bool)),
    "Punctuation": lambda fields: Punctuation(_behavior(fields, "Isolated")),
    "Whitespace": lambda _: Whitespace(),
    "WhitespaceSplit": lambda _: WhitespaceSplit(),
    "BertPreTokenizer": lambda _: BertPreTokenizer(),
    "CharDelimiterSplit": _read_delimiter,
    "FixedLength": _read_length,
    "UnicodeScripts": lambda _: UnicodeScripts(),
    "Metaspace": _read_metaspace,
}


def write_pre_tokenizer(spec: TokenizerSpec) -> dict[str, Any] | None:
    """Return the `pre_tokenizer` that splits as a spec does, with the version of Unicode of the spec's pattern.

    Raises `PatternError` when a regex would mean something else in Oniguruma.
    """
    rules = spec.rules.pre_tokenizers or _as_rules(spec)
    rules = rules[:-1] if rules[-1:] == (ByteAlphabet(),) else rules  # which follows from the model
    parts = [_written(rule) for rule in rules]
    if isinstance(rules[-1] if rules else None, ByteLevel):
        # HF ignores unknown fields of this component, but not of others
        parts[-1]["unicode_version"] = spec.pattern.unicode_version
    if len(parts) < 2:
        return parts[0] if parts else None
    return {"type": "Sequence", "pretokenizers": parts}


def _as_rules(spec: TokenizerSpec) -> tuple[PreTokenizer, ...]:
    """Return the rules that are equivalent to the pattern and the prefix of a spec."""
    prefix, pattern = spec.rules.prefix, spec.pattern
    of_bytes = spec.model is None and (spec.characters is None or spec.characters.are_bytes)
    if not of_bytes and spec.characters is not None and spec.characters.marks_blanks:
        # if a normalizer marks blanks, Metaspace is needed only for a prefix or for splits
        is_needed = spec.rules.normalizers[-1:] != (Replace(" ", False, SPACE_MARK),) or prefix is not None
        if is_needed or pattern == AT_BLANKS:
            scheme: PrependScheme = "never" if prefix is None else "first" if prefix.first else "always"
            return (Metaspace(scheme, pattern == AT_BLANKS),)
    if not of_bytes and pattern == PATTERNS["none"]:
        return ()
    return _rules_of_bytes(pattern, prefix is not None) if of_bytes else _splits(pattern, pattern.steps)


def _rules_of_bytes(pattern: Pattern, is_prefixed: bool) -> tuple[PreTokenizer, ...]:
    steps = pattern.steps
    is_cut = steps[-1:] == (_GPT2,) and not pattern.drops_gaps
    return (*_splits(pattern, steps[:-1] if is_cut else steps), ByteLevel(is_prefixed, is_cut))


def _splits(pattern: Pattern, steps: Sequence[str]) -> tuple[Split, ...]:
    behavior: Behavior = "Removed" if pattern.drops_gaps else "Isolated"
    return tuple(Split(step, behavior, pattern.drops_gaps) for step in steps)


def _written(rule: PreTokenizer) -> dict[str, Any]:
    match rule:
        case Split(source, behavior, invert):
            regex = to_oniguruma([source])[0]
            return {"type": "Split", "pattern": {"Regex": regex}, "behavior": behavior, "invert": invert}
        case ByteLevel(prefixed, cuts):
            return {"type": "ByteLevel", "add_prefix_space": prefixed, "trim_offsets": True, "use_regex": cuts}
        case Digits(individual):
            return {"type": "Digits", "individual_digits": individual}
        case Punctuation(behavior):
            return {"type": "Punctuation", "behavior": behavior}
        case CharDelimiterSplit(delimiter):
            return {"type": "CharDelimiterSplit", "delimiter": delimiter}
        case Metaspace(scheme, cuts, mark):
            return {"type": "Metaspace", "replacement": mark, "prepend_scheme": scheme, "split": cuts}
        case FixedLength(length):
            return {"type": "FixedLength", "length": length}
        case Whitespace() | WhitespaceSplit() | BertPreTokenizer() | UnicodeScripts() | ByteAlphabet():
            return {"type": type(rule).__name__}
