"""The one place for special-token policy.

Special tokens in a text are plain text unless the call allows them; added tokens always match.  They are
found before splitting, so no merge crosses one.  Where several begin at one place the longest wins.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator, Mapping
from typing import Literal, TypeAlias

from .errors import SpecialTokenError

#: A policy argument: every special token, or some of them.
Selection: TypeAlias = Literal["all"] | Collection[str]

#: Names under which published vocabularies have their end-of-text token, in order of preference.
END_OF_TEXT = ("<|endoftext|>", "<|end_of_text|>", "<｜end▁of▁sentence｜>", "</s>", "<|return|>")


def any_of(tokens: Iterable[bytes]) -> re.Pattern[bytes] | None:
    """Compile a search for any of the tokens, the longest first; `None` when there are none."""
    ordered = sorted(tokens, key=len, reverse=True)
    return re.compile(b"|".join(map(re.escape, ordered))) if ordered else None


class Matcher:
    """What one call looks for: the tokens that become ids, and those that are refused."""

    def __init__(self, ids: Mapping[bytes, int], refused: Collection[bytes] = ()) -> None:
        self._ids = dict(ids)
        self._search = any_of(self._ids)
        self._refused = any_of(refused)
        #: The longest token looked for, in bytes.
        self.longest = max(map(len, (*self._ids, *refused)), default=0)

    def check(self, data: bytes | memoryview, offset: int = 0) -> None:
        """Raise `SpecialTokenError` when the text, which begins at byte `offset`, holds a refused token."""
        found = self._refused.search(data) if self._refused else None
        if found:
            token = bytes(found[0]).decode("utf-8", "replace")
            raise SpecialTokenError(
                f"the text holds the disallowed special token {token!r} at byte {offset + found.start()}; "
                f"pass allowed_special={{{token!r}}} to encode it as a special token, "
                "or leave it out of disallowed_special to encode it as plain text"
            )

    def find(self, data: bytes | bytearray | memoryview, start: int = 0) -> tuple[int, int, int] | None:
        """Return the next token at or after `start` as (start, end, id)."""
        found = self._search.search(data, start) if self._search else None
        return (found.start(), found.end(), self._ids[bytes(found[0])]) if found else None

    def checked_pieces(self, data: bytes | memoryview) -> Iterator[bytes | memoryview | int]:
        """Return `pieces` of a text that holds no refused token; `SpecialTokenError` when it does."""
        self.check(data)
        return self.pieces(data)

    def pieces(self, data: bytes | memoryview) -> Iterator[bytes | memoryview | int]:
        """Yield stretches of plain text, and the ids of the tokens between them."""
        done = 0
        while (found := self.find(data, done)) is not None:
            start, end, token_id = found
            if start > done:
                yield data[done:start]
            yield token_id
            done = end
        if done < len(data):
            yield data[done:]


class SpecialTokens:
    """The special and added tokens of a tokenizer, and what each call may do with them."""

    def __init__(self, special: Mapping[str, int], added: Mapping[str, int]) -> None:
        self._special = {_encode(text): token_id for text, token_id in special.items()}
        self._added = {_encode(text): token_id for text, token_id in added.items()}
        self._plain = Matcher(self._added) if self._added else None
        self._all = Matcher({**self._added, **self._special}) if self._special else self._plain

    def matcher(self, allowed: Selection = (), disallowed: Selection = ()) -> Matcher | None:
        """Return what a call with these arguments looks for; `None` when there is nothing to find.

        Raises `SpecialTokenError` on an allowed token that the tokenizer does not have, `TypeError` on a
        selection that is neither "all" nor a collection of strings.
        """
        if isinstance(disallowed, tuple) and not disallowed:
            if isinstance(allowed, str) and allowed == "all":
                return self._all
            if isinstance(allowed, tuple) and not allowed:
                return self._plain
        chosen = self._select(allowed, "allowed_special")
        unknown = chosen - self._special.keys()
        if unknown:
            raise SpecialTokenError(f"{min(unknown).decode()!r} is not a special token of this tokenizer")
        ids = {**self._added, **{token: self._special[token] for token in chosen}}
        return Matcher(ids, self._select(disallowed, "disallowed_special") - chosen)

    def _select(self, selection: Selection, name: str) -> set[bytes]:
        if isinstance(selection, str):
            if selection != "all":
                raise TypeError(f'{name} must be "all" or a collection of strings, not the string {selection!r}')
            return set(self._special)
        if not isinstance(selection, Collection) or not all(isinstance(text, str) for text in selection):
            raise TypeError(f'{name} must be "all" or a collection of strings, not {selection!r}')
        return {_encode(text) for text in selection}


def _encode(text: str) -> bytes:
    return text.encode("utf-8", "surrogatepass")
