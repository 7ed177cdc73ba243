"""Normalizers at work: one text becomes another, as HF's `tokenizers` and SentencePiece make it."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Sequence
from functools import cache, reduce
from typing import TypeAlias

import numpy as np
import regex

from .charsmap import charsmap_function, grapheme_function
from .rules import (
    BLANK,
    BertNormalizer,
    Charsmap,
    Lowercase,
    Normalizer,
    Precompiled,
    Prepend,
    Replace,
    SqueezeBlanks,
    Strip,
    StripAccents,
    UnicodeForm,
)
from .unicode_ages import (
    FORMAT_NEWER,
    LOWER_NEWER_THAN_14,
    MARKS_NEWER_THAN_9,
    MARKS_ONLY_IN_9,
    NONSPACING_NEWER,
    NONSPACING_OLDER,
)
from .unicode_forms import normal_form

Function: TypeAlias = Callable[[str], str]


def normalizer(rules: Sequence[Normalizer], *, marks_blanks: bool = False) -> Function | None:
    r"""Return the function that applies rules in order; `None` when it would change nothing.

    `marks_blanks`: U+2581 is a blank at last, and so needs not be written first.

    >>> normalizer([UnicodeForm("NFC"), Prepend(">")])("e\u0301")
    '>é'
    """
    chosen = list(rules)
    functions: list[Function] = []
    if marks_blanks:
        if chosen and chosen[-1] == Replace(" ", False, BLANK):
            chosen.pop()
        functions = [lambda text: text.replace(BLANK, " ")]
    functions = [*map(_function, chosen), *functions]
    if not functions:
        return None
    if len(functions) == 1:
        return functions[0]
    return lambda text: reduce(lambda done, apply: apply(done), functions, text)


#: What stands between texts that are normalised together.
_BETWEEN = "\x1e"
_TWO_BLANKS = re.compile("  +")
_BLANKS_AT_END = re.compile(f"[ {BLANK}]+(?={_BETWEEN})")


def batch_normalizer(rules: Sequence[Normalizer]) -> Callable[[Sequence[str]], list[str] | None] | None:
    """Return the function that applies a SentencePiece model's rules to many texts at once, U+2581 a blank at last.

    It returns `None` for texts that have to be normalised one by one.  `None` where the rules are others.

    >>> together = batch_normalizer([SqueezeBlanks(), Prepend(BLANK), Replace(" ", False, BLANK)])
    >>> together(["a  b ", "", "c"])
    [' a b', '', ' c']
    """
    left = list(rules)
    apply: Function | None = None
    match left:
        case [Charsmap(data, kept, prefix), *rest]:
            if prefix:
                return None
            apply, left = charsmap_function(data, kept, untouched=_BETWEEN), rest
    squeezes = left[:1] == [SqueezeBlanks()]
    left = left[1:] if squeezes else left
    prepends = left[:1] == [Prepend(BLANK)]
    if left[1 if prepends else 0 :] != [Replace(" ", False, BLANK)]:
        return None

    def together(texts: Sequence[str]) -> list[str] | None:
        text = f"{_BETWEEN}{_BETWEEN.join(texts)}{_BETWEEN}"
        if text.count(_BETWEEN) != len(texts) + 1 or not _is_well_formed(text):
            return None
        text = text if apply is None else apply(text)
        text = _squeezed(text) if squeezes else text
        if prepends:
            text = text.replace(_BETWEEN, _BETWEEN + " ")
            for _ in range(2):  # the second time those between two that were taken away
                text = text.replace(f"{_BETWEEN} {_BETWEEN}", _BETWEEN * 2)
            text = text[:-1]
        return text.replace(BLANK, " ").split(_BETWEEN)[1:-1]

    return together


def _is_well_formed(text: str) -> bool:
    """Whether a text has no half of a surrogate pair."""
    try:
        return text.isascii() or bool(text.encode())
    except UnicodeEncodeError:
        return False


def _squeezed(text: str) -> str:
    """Apply SqueezeBlanks to texts with `_BETWEEN` around."""
    if BLANK in text:
        text = _TWO_BLANKS.sub(" ", text).replace(f"{_BETWEEN} ", _BETWEEN)
        return _BLANKS_AT_END.sub("", text)
    units = np.frombuffer(text.encode(), np.uint8)  # blanks are one byte each, which is no part of any other
    is_blank = units == ord(" ")
    places = np.flatnonzero(is_blank)
    alone = np.diff(places, prepend=-1, append=len(units)) > 1
    first, last = places[alone[:-1]], places[alone[1:]]  # of each run
    is_within = (units[first - 1] != ord(_BETWEEN)) & (units[last + 1] != ord(_BETWEEN))
    if len(first) == len(places) and is_within.all():
        return text
    kept = ~is_blank
    kept[first[is_within]] = True
    data: bytes = units[kept].tobytes()
    return data.decode()


def _function(rule: Normalizer) -> Function:
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
            compiled = regex.compile(pattern)
            return lambda text: compiled.sub(lambda _: content, text)
        case SqueezeBlanks():
            return lambda text: _TWO_BLANKS.sub(" ", text).lstrip(" ").rstrip(" " + BLANK)
        case BertNormalizer():
            return lambda text: _bert(rule, text)
        case Precompiled(data):
            return grapheme_function(data)
        case Charsmap(data, kept, prefix):
            apply = charsmap_function(data, kept)
            return lambda text: prefix + apply(text) if text else text


def _lowercase(text: str) -> str:
    if text.isascii():
        return text.lower()
    # one by one: str.lower makes a sigma at the end of a word another letter
    lowered = text.translate(LOWER_NEWER_THAN_14)
    return lowered.lower() if "Σ" not in lowered else "σ".join(part.lower() for part in lowered.split("Σ"))


def _strip_accents(text: str) -> str:
    return text if text.isascii() else "".join(char for char in text if not _is_mark(char))


@cache
def _is_mark(char: str) -> bool:
    point = ord(char)
    if any(first <= point <= last for first, last in MARKS_ONLY_IN_9):
        return True
    return unicodedata.category(char)[0] == "M" and not any(
        first <= point <= last for first, last in MARKS_NEWER_THAN_9
    )


def _strip(left: bool, right: bool) -> Function:
    sides = [side for side, wanted in ((r"\A\s+", left), (r"\s+\Z", right)) if wanted]
    compiled = regex.compile("|".join(sides)) if sides else None
    return lambda text: text if compiled is None else compiled.sub("", text)


# -- BERT's ------------------------------------------------------------------------------------------------

# what is white space and no control character
_BLANK = re.compile("[\\t\\n\\r \\u00a0\\u1680\\u2000-\\u200a\\u2028\\u2029\\u202f\\u205f\\u3000]")
_IDEOGRAPH = re.compile(
    "([\\u3400-\\u4dbf\\u4e00-\\u9fff\\uf900-\\ufaff\\U00020000-\\U0002a6df\\U0002a700-\\U0002b81f"
    "\\U0002b920-\\U0002ceaf\\U0002f800-\\U0002fa1f])"
)


def _bert(rule: BertNormalizer, text: str) -> str:
    if rule.clean_text:
        text = "".join(char for char in text if not is_dropped(char))
        text = _BLANK.sub(" ", text)
    if rule.cjk_apart:
        text = _IDEOGRAPH.sub(r" \1 ", text)
    if rule.strip_accents:
        text = "".join(char for char in normal_form("NFD", text) if not is_nonspacing(char))
    return _lowercase(text) if rule.lowercase else text


@cache
def is_dropped(char: str) -> bool:
    """Whether cleaning drops a character: a control or format character, U+0000 or U+FFFD."""
    if char in "\t\n\r" or _is_in(FORMAT_NEWER, char):
        return False
    return char == "\ufffd" or unicodedata.category(char) in ("Cc", "Cf", "Co")


@cache
def is_nonspacing(char: str) -> bool:
    """Whether stripping accents drops a character.

    >>> is_nonspacing("\N{COMBINING ACUTE ACCENT}"), is_nonspacing("a")
    (True, False)
    """
    if _is_in(NONSPACING_OLDER, char):
        return True
    return unicodedata.category(char) == "Mn" and not _is_in(NONSPACING_NEWER, char)


def _is_in(ranges: tuple[tuple[int, int], ...], char: str) -> bool:
    return any(first <= ord(char) <= last for first, last in ranges)
