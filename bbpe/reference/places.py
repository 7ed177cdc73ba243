"""Places: where in the original text each character of the normalized text comes from.

The rules are those of HF's `tokenizers`: an inserted character comes from the character next to it, a composed
character from the first of its parts, and a replacement of several characters from the last of them.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache
from typing import TypeAlias

from ..errors import VocabularyError
from ..lazy import np, npt, regex
from ..records import dataclass
from ..spec.rules import (
    BertNormalizer,
    ByteLevelNormalizer,
    Form,
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
from ..text import WHITE_SPACE
from .charsmap import grapheme_parts
from .normalizers import function_of
from .unicode_forms import combining, normal_form

Positions: TypeAlias = "npt.NDArray[np.int64]"


@dataclass(frozen=True)
class Aligned:
    """A normalized text, and the position in the original text that each of its characters comes from, int64[n].

    Its first `head` characters count as what became of the first one of the original text.
    """

    text: str
    sources: Positions
    head: int

    def then(self, text: str, taken: Sequence[int] | Positions, head: int | None = None) -> Aligned:
        """Return the result of another rule; `taken` has the position in this text of each character of `text`."""
        places = np.asarray(taken, dtype=np.int64)
        return Aligned(text, self.sources[places], int(np.count_nonzero(places < self.head)) if head is None else head)


def align(rules: Sequence[Normalizer], text: str) -> Aligned:
    r"""Apply normalizers in order.

    Raises `VocabularyError` naming a normalizer that changed the text and cannot be aligned.

    >>> aligned = align([UnicodeForm("NFC"), Prepend(">")], "e\u0301x")
    >>> aligned.text, aligned.sources.tolist()
    ('>éx', [0, 0, 2])
    """
    done = Aligned(text, np.arange(len(text), dtype=np.int64), min(1, len(text)))
    for step in (step for rule in rules for step in _steps(rule)):
        apply = function_of(step)
        after = apply(done.text)
        if after != done.text:
            head = _head(grapheme_parts(step.data, done.text), done.head) if isinstance(step, Precompiled) else None
            done = done.then(after, _taken(step, apply, done.text, after), head)
    return done


def _steps(rule: Normalizer) -> Sequence[Normalizer]:
    """Return rules that do the same one after the other, each of which can be aligned."""
    if not isinstance(rule, BertNormalizer):
        return (rule,)
    steps: list[Normalizer] = []
    if rule.clean_text:
        steps.append(BertNormalizer(True, False, False, False))
    if rule.cjk_apart:
        steps.append(BertNormalizer(False, True, False, False))
    if rule.strip_accents:
        steps += [UnicodeForm("NFD"), BertNormalizer(False, False, True, False)]
    return [*steps, Lowercase()] if rule.lowercase else steps


def _taken(rule: Normalizer, apply: Callable[[str], str], text: str, after: str) -> Sequence[int] | Positions:
    """Return the position in `text` of each character of `after`, the result of a rule."""
    match rule:
        case Prepend(prefix):
            return [0] * len(prefix) + list(range(len(text)))
        case Lowercase() | StripAccents() if len(after) == len(text):
            return range(len(text))
        case Lowercase() | StripAccents() | BertNormalizer() | Nmt() | ByteLevelNormalizer():
            return np.repeat(np.arange(len(text)), [len(apply(char)) for char in text])
        case Strip(left, _):
            first = len(text) - len(text.lstrip(WHITE_SPACE)) if left else 0
            if text[first : first + len(after)] == after:
                return range(first, first + len(after))
        case Replace(pattern, is_regex, content):
            taken = _replaced(pattern if is_regex else regex.escape(pattern), len(content), text)
            if len(taken) == len(after):
                return taken
        case SqueezeBlanks(suffix, _):
            return _squeezed(text, after, len(suffix) if text.endswith(suffix) else 0)
        case Precompiled(data):
            return _of_parts(grapheme_parts(data, text))
        case UnicodeForm(form):
            return _composed("NFKD" if "K" in form else "NFD", text, after)
    raise VocabularyError(f"normalizer {rule} changed the text in a way that has no offsets; encode without offsets")


def _squeezed(text: str, after: str, kept: int) -> list[int]:
    """Return the position of each character: blanks before a character come from the first of their run.

    The last `kept` characters are those of the text.
    """
    end = len(text) - kept
    first = end - len(text[:end].lstrip(" "))
    taken = [at for at in range(first, end) if text[at] != " " or text[at - 1 : at] != " "]
    return [*taken[: len(after) - kept], *range(end, len(text))]


def _of_parts(parts: Sequence[tuple[str, str]]) -> list[int]:
    """Return the position of each character of what parts became: the characters of the part in turn, then its last."""
    taken: list[int] = []
    done = 0
    for before, after in parts:
        taken += [done + min(number, len(before) - 1) for number in range(len(after))]
        done += len(before)
    return taken


def _head(parts: Sequence[tuple[str, str]], head: int) -> int:
    """Return how many characters `tokenizers` takes for what became of the first `head` characters of some parts.

    It aligns character with character, except that those which a part has gained stay with the one before, and that the
    number of those which it has lost is left out after the last character so far, if there is one.
    """
    changes: list[int] = []
    for before, after in parts:
        gained = len(after) - len(before)
        changes += [int(number >= len(before)) for number in range(len(after))]
        if gained < 0 and changes:
            changes[-1] += gained
    found = done = 0
    for change in changes:
        found += max(done - 1, 0) < head if change > 0 else done < head
        done += 0 if change > 0 else 1 - change
    return found


def _replaced(pattern: str, length: int, text: str) -> list[int]:
    taken: list[int] = []
    done = 0
    for first, last in compiled(pattern).as_oniguruma(text):
        taken += range(done, first)
        taken += [max(last - 1, 0)] * length
        done = last
    return [*taken, *range(done, len(text))]


def _composed(decomposition: Form, text: str, after: str) -> Positions:
    """Return the position in `text` of each character of `after`, one of its Unicode normal forms.

    Both texts have the same decomposition, so its parts are those of characters of both.  A character of `after` takes
    as many characters of `text` as it has first parts of, from the left; one that takes none comes from the last one
    that was taken.
    """
    parts, others = _decomposed(decomposition, text), _decomposed(decomposition, after)
    if len(parts) != len(others):
        raise VocabularyError(
            "a Unicode normal form changed the text in a way that has no offsets; encode without offsets"
        )
    taken = np.zeros(len(after), np.int64)
    for (_, number), (place, _) in zip(parts, others, strict=True):
        taken[place] += number == 0
    sources: Positions = np.maximum(np.cumsum(taken) - taken - (taken == 0), 0)
    return sources


def _decomposed(decomposition: Form, text: str) -> list[tuple[int, int]]:
    """Return the parts of the decomposition of a text, with marks in canonical order: the position, and which part."""
    found: list[tuple[int, int]] = []
    marks: list[tuple[int, int, int]] = []
    for place, char in enumerate(text):
        for number, part in enumerate(_parts(decomposition, char)):
            order = combining(part)
            if order == 0:
                found += [mark[1:] for mark in sorted(marks, key=lambda mark: mark[0])]
                marks.clear()
                found.append((place, number))
            else:
                marks.append((order, place, number))
    return found + [mark[1:] for mark in sorted(marks, key=lambda mark: mark[0])]


@cache
def _parts(decomposition: Form, char: str) -> str:
    """Return the decomposition of a character."""
    return normal_form(decomposition, char)
