"""Which tokens no text gives: each token is encoded alone, then in many surroundings, until a text gives it.

A token that a text gives is reached, so this never calls a token unreachable that occurs.  The surroundings have every
kind of character that patterns distinguish, before and after the token, and for a token that begins or ends within a
character the characters that complete it.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Iterable, Iterator, Sequence
from itertools import product
from typing import Literal, TypeAlias

from ..lazy import np
from ..pipeline.compiled_normalizers import normalize_function
from ..pipeline.pre_tokenizer_steps import compiled_rules
from ..records import dataclass
from ..spec.models import UnigramModel, WordPieceModel
from ..splitting.splitter import compiled_steps
from .findings import Subject

Reason: TypeAlias = Literal["normalized", "cut", "unmade", "outscored", "covered"]

#: What texts have around a token: at least one character of each class of the known patterns.
_AROUND = (
    "", " ", "  ", "\n", "\r\n", "\t", "a", "A", "1", "!", ".", "'", "-", "/", "_", "é", "中", "あ", "\u0301",
    "😀", "क",
)  # fmt: skip
#: The rest of contractions, which patterns join to the word before them.
_ENDINGS = tuple("s S t T d D m M ll LL ve VE re RE Ll lL Ve vE Re rE".split())
_FEW = ("", " ", "\n", "a", "A", "1", "!", "中")
#: The most characters that are tried to complete a token at one end, and texts that are encoded at once.
_MOST_COMPLETIONS, _BATCH = 320, 1 << 16


@dataclass(frozen=True)
class Reach:
    """The tokens that are not themselves alone, and those that no text gave, as places in `Subject.tokens`."""

    alone: tuple[int, ...]
    never: tuple[int, ...]
    reasons: tuple[Reason, ...]


def reach(subject: Subject) -> Reach:
    """Encode each token alone and in surroundings."""
    alone = _alone(subject)
    left = _tried(subject, alone, [(before, "") for before in _AROUND[1:]])
    left = _tried(subject, left, [("", after) for after in (*_AROUND[1:], *_ENDINGS)])
    left = _tried(subject, left, list(product(_FEW[1:], _FEW[1:])))
    left = _tried_in_words(subject, left)
    left = _completed(subject, left)
    left = _tried(subject, left, list(product(_FEW[1:], _ENDINGS)))
    return Reach(tuple(alone), tuple(left), tuple(_reason(subject, number) for number in left))


def _alone(subject: Subject) -> list[int]:
    """Return the tokens whose bytes encode to something else."""
    rows = subject.tokenizer.encode_batch_to_numpy(subject.spelled)
    first = np.minimum(rows.offsets[:-1], max(len(rows.ids) - 1, 0))
    is_one = np.diff(rows.offsets) == 1
    if len(rows.ids):
        is_one &= rows.ids[first] == subject.ids
    found: list[int] = np.flatnonzero(~is_one).tolist()
    return found


def _tried(subject: Subject, numbers: Sequence[int], around: Sequence[tuple[str, str]]) -> list[int]:
    """Return the tokens that no text gives of those between each pair of strings."""
    pairs = [(before.encode(), after.encode()) for before, after in around]
    texts = ((n, before + subject.spelled[n] + after) for n in numbers for before, after in pairs)
    return _without_given(subject, numbers, texts)


def _without_given(subject: Subject, numbers: Sequence[int], texts: Iterable[tuple[int, bytes]]) -> list[int]:
    """Return the tokens that none of their texts gives."""
    given: set[int] = set()
    batch: list[bytes] = []
    owners: list[int] = []
    for number, text in texts:
        if number not in given:
            batch.append(text)
            owners.append(number)
        if len(batch) == _BATCH:
            given |= _given(subject, owners, batch)
            batch, owners = [], []
    given |= _given(subject, owners, batch)
    return [number for number in numbers if number not in given]


def _given(subject: Subject, owners: Sequence[int], texts: Sequence[bytes]) -> set[int]:
    rows = subject.tokenizer.encode_batch_to_numpy(texts)
    of_text = np.repeat(np.array(owners, np.int64), np.diff(rows.offsets))
    return set(of_text[rows.ids == subject.ids[of_text]].tolist())


def _tried_in_words(subject: Subject, numbers: Sequence[int]) -> list[int]:
    """Return the tokens that are not given within words of other tokens, for models that mark places in words."""
    characters = subject.spec.characters
    if not (isinstance(subject.spec.model, WordPieceModel) or (characters is not None and characters.marks_words)):
        return list(numbers)
    whole = [token for token in subject.spelled if _is_word(token)]
    words = [(word, "") for word in (whole[i * len(whole) // 48].decode() for i in range(48 if whole else 0))]
    left = _tried(subject, numbers, words)
    return _tried(subject, left, [(word, "a") for word, _ in words] + [(" ", word) for word, _ in words])


def _is_word(token: bytes) -> bool:
    try:
        return token.decode().isalpha()
    except UnicodeDecodeError:
        return False


# -- tokens that begin or end within a character -----------------------------------------------------------


def _completed(subject: Subject, numbers: Sequence[int]) -> list[int]:
    """Return the tokens that are not given where whole characters complete them."""
    partial = [number for number in numbers if subject.texts[number] is None]

    def texts() -> Iterator[tuple[int, bytes]]:
        for number in partial:
            token = subject.tokens[number]
            before, after = _befores(token), _afters(token)
            if len(before) > 1 and len(after) > 1:
                before, after = before[::8], after[::8]
            for first, last in product(before, after):
                yield number, first + token + last
                yield number, b"a" + first + token + last + b"a"

    def longer() -> Iterator[tuple[int, bytes]]:
        # bytes of the next character may join those that complete the token before the token is merged further
        for number in sorted(left):
            token = subject.tokens[number]
            after = _afters(token)
            whole = [_head(token) + rest for rest in after]
            for last, following in product(after[::5] + after[:1], whole):
                yield number, token + last + following
                yield number, whole[0] + token + last + following

    left = set(_without_given(subject, partial, texts()))
    left = set(_without_given(subject, sorted(left), longer()))
    return [number for number in numbers if number in left or subject.texts[number] is not None]


def _befores(token: bytes) -> list[bytes]:
    """Return bytes that complete the character whose last bytes begin a token."""
    count = next((n for n, byte in enumerate(token) if byte & 0xC0 != 0x80), len(token))
    if not count:
        return [b""]
    tail = token[: min(count, 3)]
    found = [lead + tail for lead in _LEADS[len(tail)] if _is_whole(lead + tail)]
    return [char[: -len(tail)] for char in found[:: 1 + len(found) // _MOST_COMPLETIONS]] or [b""]


def _head(token: bytes) -> bytes:
    """Return the last bytes of a token from the last byte that begins a character."""
    start = next((n for n in range(1, min(len(token), 3) + 1) if token[-n] & 0xC0 != 0x80), 1)
    return token[-start:]


def _afters(token: bytes) -> list[bytes]:
    """Return bytes that complete the character whose first bytes end a token."""
    head = _head(token)
    size = 2 if head[0] in range(0xC2, 0xE0) else 3 if head[0] in range(0xE0, 0xF0) else 4 if head[0] >= 0xF0 else 1
    missing = size - len(head)
    if missing <= 0:
        return [b""]
    found = list(map(bytes, product(_INNER, repeat=min(missing, 2))))
    found = [rest + b"\x80" * (missing - len(rest)) for rest in found]
    found = [rest for rest in found if _is_whole(head + rest)]
    return found[:: 1 + len(found) // _MOST_COMPLETIONS] or [b""]


def _is_whole(data: bytes) -> bool:
    try:
        return unicodedata.category(data.decode()) != "Cn"
    except (UnicodeDecodeError, TypeError):
        return False


_INNER = range(0x80, 0xC0)
#: The first bytes of characters by the number of bytes that follow; of characters of four bytes the common ones.
_LEADS: dict[int, list[bytes]] = {
    1: [
        *(bytes((lead,)) for lead in range(0xC2, 0xE0)),
        *(bytes((lead, second)) for lead in range(0xE0, 0xF0) for second in _INNER),
        *(bytes((0xF0, second, third)) for second in (0x90, 0x9D, 0x9F, 0xA0) for third in _INNER),
    ],
    2: [
        *(bytes((lead,)) for lead in range(0xE0, 0xF0)),
        *(bytes((lead, second)) for lead in range(0xF0, 0xF5) for second in _INNER),
    ],
    3: [bytes((lead,)) for lead in range(0xF0, 0xF5)],
}


# -- reasons -----------------------------------------------------------------------------------------------


def _reason(subject: Subject, number: int) -> Reason:
    """Return why no text gives a token."""
    token = subject.spelled[number]
    text = token.decode("utf-8", "surrogateescape")
    normalize = normalize_function(subject.spec.rules.normalizers)
    if normalize is not None and normalize(text) != text:
        return "normalized"
    if subject.live is not None and int(subject.ids[number]) in subject.unmade:
        return "unmade"
    steps = subject.spec.rules.pre_tokenizers
    split = compiled_rules(steps).steps if steps else compiled_steps(subject.spec.pattern)
    if len(split.split(token)[1]) > 1:
        return "cut"
    return "outscored" if isinstance(subject.spec.model, UnigramModel) else "covered"
