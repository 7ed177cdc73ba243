"""The one place for special-token policy.

Special tokens in a text are plain text unless the call allows them; added tokens always match.  They are
found before splitting, so no merge crosses one.  Where several begin at one place the longest wins.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from typing import Literal, TypeAlias

import regex

from ..errors import SpecialTokenError
from ..spec.rules import TokenOptions
from ..text import WHITE_SPACE

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

    def __init__(
        self, ids: Mapping[bytes, int], refused: Collection[bytes] = (), after: Matcher | None = None
    ) -> None:
        self._ids = dict(ids)
        self._search = any_of(self._ids)
        self._refused = any_of(refused)
        #: What to look for in the text as normalised, between what was found.
        self.after = after
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

    def spans(self, data: bytes | memoryview) -> Iterator[tuple[int, int, int | None]]:
        """Yield the start and end of stretches of plain text, without an id, and of the tokens between them."""
        done = 0
        while (found := self.find(data, done)) is not None:
            start, end, token_id = found
            if start > done:
                yield done, start, None
            yield start, end, token_id
            done = end
        if done < len(data):
            yield done, len(data), None

    def checked_pieces(self, data: bytes | memoryview) -> Iterator[bytes | memoryview | int]:
        """Return `pieces` of a text that holds no refused token; `SpecialTokenError` when it does."""
        self.check(data)
        return self.pieces(data)

    def pieces(self, data: bytes | memoryview) -> Iterator[bytes | memoryview | int]:
        """Yield stretches of plain text, and the ids of the tokens between them."""
        for start, end, token_id in self.spans(data):
            yield data[start:end] if token_id is None else token_id


_WORD = r"[\p{Alphabetic}\p{M}\p{Nd}\p{Pc}\p{Join_Control}]"
_ENDS_WITH_WORD, _STARTS_WITH_WORD = regex.compile(rf"{_WORD}\Z"), regex.compile(_WORD)


class OptionMatcher(Matcher):
    """A matcher of tokens some of which take white space with them, or match single words only, as in HF."""

    def __init__(
        self,
        ids: Mapping[bytes, int],
        options: Mapping[bytes, TokenOptions],
        refused: Collection[bytes] = (),
        after: Matcher | None = None,
    ) -> None:
        super().__init__(ids, refused, after)
        self._options = options

    def spans(self, data: bytes | memoryview) -> Iterator[tuple[int, int, int | None]]:
        """Yield as the plain one does; what a token takes of the text behind it may overlap with the next one."""
        whole = bytes(data)
        done = at = 0
        while (found := self.find(whole, at)) is not None:
            start, end, token_id = found
            at = end
            options = self._options.get(whole[start:end], TokenOptions())
            if options.single_word and _touches_word(whole, start, end):
                continue
            if options.lstrip:
                start = max(start - _length_at_end(whole[:start]), done)
            if options.rstrip:
                end += _length_at_start(whole[end:])
            if start > done:
                yield done, start, None
            yield start, end, token_id
            done = end
        if done < len(whole):
            yield done, len(whole), None


def _touches_word(data: bytes, start: int, end: int) -> bool:
    before = data[max(0, start - 4) : start].decode("utf-8", "ignore")
    behind = data[end : end + 4].decode("utf-8", "ignore")
    return bool(_ENDS_WITH_WORD.search(before) or _STARTS_WITH_WORD.match(behind))


def _length_at_end(data: bytes) -> int:
    text = data.decode("utf-8", "surrogateescape")
    return len(text[len(text.rstrip(WHITE_SPACE)) :].encode())


def _length_at_start(data: bytes) -> int:
    text = data.decode("utf-8", "surrogateescape")
    return len(text[: len(text) - len(text.lstrip(WHITE_SPACE))].encode())


class SpecialTokens:
    """The special and added tokens of a tokenizer, and what each call may do with them."""

    def __init__(
        self,
        special: Mapping[str, int],
        added: Mapping[str, int],
        options: Mapping[str, TokenOptions] | None = None,
        normalize: Callable[[str], str] | None = None,
    ) -> None:
        self._special = {_encode(text): token_id for text, token_id in special.items()}
        self._added = {_encode(text): token_id for text, token_id in added.items()}
        self._options = {_encode(text): choice for text, choice in (options or {}).items()}
        self._normalize = normalize
        #: All tokens that a call may look for.
        self.texts = (*special, *added)
        self._plain = self._match(self._added, ()) if self._added else None
        self._all = self._match({**self._added, **self._special}, ()) if self._special else self._plain

    def _match(self, ids: Mapping[bytes, int], refused: Collection[bytes]) -> Matcher:
        """Return the matcher of some tokens, in two steps where some are looked for in the text as normalised."""
        if not self._options:
            return Matcher(ids, refused)
        late = {token: self._options[token] for token in ids if token in self._options}
        late = {token: options for token, options in late.items() if options.normalized}
        after = None
        if late:
            written = {token: self._written(token, options) for token, options in late.items()}
            # of two that are normalised to the same the lower id counts; HF takes any
            by_id = sorted(late, key=lambda token: -ids[token])
            after_ids = {written[token]: ids[token] for token in by_id if written[token]}
            after = OptionMatcher(after_ids, {written[token]: late[token] for token in by_id})
        first = {token: token_id for token, token_id in ids.items() if token not in late}
        return OptionMatcher(first, self._options, refused, after)

    def _written(self, token: bytes, options: TokenOptions) -> bytes:
        """Return a token as it stands in the text as normalised."""
        if self._normalize is None or options.verbatim:
            return token
        return _encode(self._normalize(token.decode("utf-8", "surrogatepass")))

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
        return self._match(ids, self._select(disallowed, "disallowed_special") - chosen)

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
