"""Which characters of a text the characters of the normalised text come from.

As HF's `tokenizers` has it: what is put in comes from the character beside it, a composed character from the first of
those that it is composed of, and what replaces several from the last of them.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import accumulate

import numpy as np
import numpy.typing as npt
import regex

from ..errors import VocabularyError
from ..spec.rules import Form, Lowercase, Normalizer, Prepend, Replace, Strip, StripAccents, UnicodeForm
from ..splitting.regexes import compiled
from ..text import WHITE_SPACE
from .normalizers import normalizer

Places = npt.NDArray[np.int64]


@dataclass(frozen=True)
class Aligned:
    """A normalised text, and for each of its characters the character of the text that it comes from, int64[n]."""

    text: str
    sources: Places

    def then(self, text: str, taken: Sequence[int] | Places) -> Aligned:
        """Return what becomes of it, given the character here of each character there."""
        return Aligned(text, self.sources[np.asarray(taken, dtype=np.int64)])


def align(rules: Sequence[Normalizer], text: str) -> Aligned:
    r"""Apply normalizers in order; `VocabularyError` on one that changes the text and leaves no places, naming it.

    >>> aligned = align([UnicodeForm("NFC"), Prepend(">")], "e\u0301x")
    >>> aligned.text, aligned.sources.tolist()
    ('>éx', [0, 0, 2])
    """
    done = Aligned(text, np.arange(len(text), dtype=np.int64))
    for rule in rules:
        apply = normalizer((rule,))
        after = done.text if apply is None else apply(done.text)
        if after != done.text:
            assert apply is not None
            done = done.then(after, _taken(rule, apply, done.text, after))
    return done


def _taken(rule: Normalizer, apply: Callable[[str], str], text: str, after: str) -> Sequence[int] | Places:
    match rule:
        case Prepend(prefix):
            return [0] * len(prefix) + list(range(len(text)))
        case Lowercase() | StripAccents() if len(after) == len(text):
            return range(len(text))
        case Lowercase() | StripAccents():
            return np.repeat(np.arange(len(text)), [len(apply(char)) for char in text])
        case Strip(left, _):
            first = len(text) - len(text.lstrip(WHITE_SPACE)) if left else 0
            if text[first : first + len(after)] == after:
                return range(first, first + len(after))
        case Replace(pattern, is_regex, content):
            taken = _replaced(pattern if is_regex else regex.escape(pattern), len(content), text)
            if len(taken) == len(after):
                return taken
        case UnicodeForm(form):
            return _composed("NFKD" if "K" in form else "NFD", text, after)
    raise VocabularyError(f"normalizer {rule} has changed the text, which leaves no places; encode without offsets")


def _replaced(pattern: str, length: int, text: str) -> list[int]:
    taken: list[int] = []
    done = 0
    for first, last in compiled(pattern).spans(text):
        taken += range(done, first)
        taken += [max(last - 1, 0)] * length
        done = last
    return [*taken, *range(done, len(text))]


def _composed(decomposition: Form, text: str, after: str) -> Places:
    """Both texts decompose into as many characters; each begins with the first of those that are its own."""
    sources = _decomposed(decomposition, text)
    firsts = np.fromiter(accumulate((len(_parts(decomposition, char)) for char in after), initial=0), np.int64)
    if firsts[-1] != len(sources):
        raise VocabularyError("a Unicode form has changed the text, which leaves no places; encode without offsets")
    return sources[firsts[:-1]]


def _decomposed(decomposition: Form, text: str) -> Places:
    """Return where the characters of a decomposed text come from; marks are sorted, and what they add with them."""
    adds: list[int] = []
    marks: list[tuple[int, int]] = []
    for char in text:
        for number, part in enumerate(_parts(decomposition, char)):
            order = unicodedata.combining(part)
            if order == 0:
                adds += [is_more for _, is_more in sorted(marks, key=lambda mark: mark[0])]
                marks.clear()
                adds.append(int(number > 0))
            else:
                marks.append((order, int(number > 0)))
    adds += [is_more for _, is_more in sorted(marks, key=lambda mark: mark[0])]
    return np.maximum(np.cumsum(1 - np.array(adds, dtype=np.int64)) - 1, 0)


@cache
def _parts(decomposition: Form, char: str) -> str:
    """Return what a character decomposes into."""
    apply = normalizer((UnicodeForm(decomposition),))
    return char if apply is None else apply(char)
