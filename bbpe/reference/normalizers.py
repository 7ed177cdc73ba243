"""Apply normalizers to texts, with the results of HF's `tokenizers` and SentencePiece."""

from __future__ import annotations

import unicodedata
from collections.abc import Callable, Sequence
from functools import cache, reduce
from typing import TypeAlias

from ..core.charsmap import SentencePieceNormalizer
from ..lazy import lazy_re
from ..pipeline.unicode_ages import (
    FORMAT_NEWER,
    LOWER_NEWER_THAN_14,
    MARKS_NEWER_THAN_9,
    MARKS_ONLY_IN_9,
    NONSPACING_NEWER,
    NONSPACING_OLDER,
)
from ..spec.rules import (
    SPACE_MARK,
    BertNormalizer,
    ByteLevelNormalizer,
    Charsmap,
    Lowercase,
    Nmt,
    Normalizer,
    Precompiled,
    Prepend,
    Replace,
    SqueezeBlanks,
    Strip,
    StripAccents,
    UnicodeForm,
)
from ..splitting.regexes import compiled
from ..text import WHITE_SPACE, bytes_to_alphabet
from .charsmap import are_blanks, grapheme_function
from .unicode_forms import normal_form

Function: TypeAlias = Callable[[str], str]


def normalizer(rules: Sequence[Normalizer], *, marks_blanks: bool = False) -> Function | None:
    r"""Return a function that applies rules in order; `None` when there are none.

    `marks_blanks`: the function finally replaces U+2581 by a blank, and so skips a last rule that writes U+2581.

    >>> normalizer([UnicodeForm("NFC"), Prepend(">")])("e\u0301")
    '>é'
    """
    chosen = list(rules)
    functions: list[Function] = []
    if marks_blanks:
        if chosen and chosen[-1] == Replace(" ", False, SPACE_MARK):
            chosen.pop()
        functions = [lambda text: text.replace(SPACE_MARK, " ")]
    functions = [*map(function_of, chosen), *functions]
    if not functions:
        return None
    if len(functions) == 1:
        return functions[0]
    return lambda text: reduce(lambda done, apply: apply(done), functions, text)


_TWO_BLANKS = lazy_re("  +")


def _charsmap(rule: Charsmap) -> Function:
    normal = SentencePieceNormalizer(rule.data, None, rule.kept, unmarks=False)

    def apply(text: str) -> str:
        # surrogates stand for bytes that are not UTF-8; these bytes do not change
        normalized = normal.apply(text.encode("utf-8", "surrogatepass")).decode("utf-8", "surrogatepass")
        if rule.drops_blanks and not normalized.strip(" ") and are_blanks(rule.data, rule.kept, text):
            return ""
        return rule.prefix + normalized + rule.suffix

    return lambda text: apply(text) if text else text


def _squeezed(rule: SqueezeBlanks, text: str) -> str:
    suffix = rule.suffix if text.endswith(rule.suffix) else ""
    text = _TWO_BLANKS.sub(" ", text.removesuffix(suffix)).lstrip(" ")
    return text.rstrip(" " + SPACE_MARK if rule.drops_marks else " ") + suffix


def function_of(rule: Normalizer) -> Function:
    """Return the function of one rule."""
    match rule:
        case UnicodeForm(form):
            return lambda text: normal_form(form, text)
        case Lowercase():
            return _lowercase
        case StripAccents():
            return _strip_accents
        case Strip(left, right):
            return _strip(left, right)
        case Prepend(prefix):
            return lambda text: prefix + text if text else text
        case Replace(pattern, False, content):
            return lambda text: text.replace(pattern, content) if pattern else text
        case Replace(pattern, _, content):
            found = compiled(pattern)
            return lambda text: found.replaced(text, content)
        case Nmt():
            return lambda text: text.translate(_NMT)
        case ByteLevelNormalizer():
            return lambda text: bytes_to_alphabet(text.encode("utf-8", "surrogateescape"))
        case SqueezeBlanks():
            return lambda text: _squeezed(rule, text)
        case BertNormalizer():
            return lambda text: _bert(rule, text)
        case Precompiled(data):
            return grapheme_function(data)
        case Charsmap():
            return _charsmap(rule)


def _lowercase(text: str) -> str:
    if text.isascii():
        return text.lower()
    # str.lower depends on context only for a sigma at the end of a word
    lowered = text.translate(LOWER_NEWER_THAN_14)
    return lowered.lower() if "Σ" not in lowered else "σ".join(part.lower() for part in lowered.split("Σ"))


def _strip_accents(text: str) -> str:
    return text if text.isascii() else "".join(char for char in text if not is_mark(char))


@cache
def is_mark(char: str) -> bool:
    """Return whether `StripAccents` drops a character."""
    point = ord(char)
    if any(first <= point <= last for first, last in MARKS_ONLY_IN_9):
        return True
    return unicodedata.category(char)[0] == "M" and not any(
        first <= point <= last for first, last in MARKS_NEWER_THAN_9
    )


_NMT_DROPPED = frozenset(map(chr, (*range(0x01, 0x09), 0x0B, *range(0x0E, 0x20), 0x7F, 0x8F, 0x9F)))
_NMT_BLANKS = frozenset(
    map(chr, (0x09, 0x0A, 0x0C, 0x0D, 0x1680, *range(0x200B, 0x2010), 0x2028, 0x2029, 0x2581, 0xFEFF, 0xFFFD))
)


def is_nmt_dropped(char: str) -> bool:
    """Return whether `Nmt` drops a character."""
    return char in _NMT_DROPPED


def is_nmt_blank(char: str) -> bool:
    """Return whether `Nmt` writes a blank for a character."""
    return char in _NMT_BLANKS


_NMT = str.maketrans({**dict.fromkeys(_NMT_DROPPED, ""), **dict.fromkeys(_NMT_BLANKS, " ")})


def _strip(left: bool, right: bool) -> Function:
    def strip(text: str) -> str:
        text = text.lstrip(WHITE_SPACE) if left else text
        return text.rstrip(WHITE_SPACE) if right else text

    return strip


# -- BERT --------------------------------------------------------------------------------------------------

# white space except control characters
_WHITE_SPACE = lazy_re("[\\t\\n\\r \\u00a0\\u1680\\u2000-\\u200a\\u2028\\u2029\\u202f\\u205f\\u3000]")
_IDEOGRAPH = lazy_re(
    "([\\u3400-\\u4dbf\\u4e00-\\u9fff\\uf900-\\ufaff\\U00020000-\\U0002a6df\\U0002a700-\\U0002b81f"
    "\\U0002b920-\\U0002ceaf\\U0002f800-\\U0002fa1f])"
)


def _bert(rule: BertNormalizer, text: str) -> str:
    if rule.clean_text:
        text = "".join(char for char in text if not is_dropped(char))
        text = _WHITE_SPACE.sub(" ", text)
    if rule.cjk_apart:
        text = _IDEOGRAPH.sub(r" \1 ", text)
    if rule.strip_accents:
        text = "".join(char for char in normal_form("NFD", text) if not is_nonspacing(char))
    return _lowercase(text) if rule.lowercase else text


@cache
def is_dropped(char: str) -> bool:
    """Return whether cleaning drops a character: a control, format or private-use character, or U+FFFD."""
    if char in "\t\n\r" or _is_in(FORMAT_NEWER, char):
        return False
    return char == "\ufffd" or unicodedata.category(char) in ("Cc", "Cf", "Co")


@cache
def is_nonspacing(char: str) -> bool:
    """Return whether stripping accents drops a character.

    >>> is_nonspacing("\N{COMBINING ACUTE ACCENT}"), is_nonspacing("a")
    (True, False)
    """
    if _is_in(NONSPACING_OLDER, char):
        return True
    return unicodedata.category(char) == "Mn" and not _is_in(NONSPACING_NEWER, char)


def _is_in(ranges: tuple[tuple[int, int], ...], char: str) -> bool:
    return any(first <= ord(char) <= last for first, last in ranges)
