"""The special-token policy.

Special tokens in a text are plain text unless the call allows them; added tokens always match.  They are found before
splitting, so no merge crosses one.  Where several tokens begin at one position, the longest wins.
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

#: The texts of end-of-text tokens in published vocabularies, in order of preference.
END_OF_TEXT = ("<|endoftext|>", "<|end_of_text|>", "<｜end▁of▁sentence｜>", "</s>", "<|return|>")


def any_of(tokens: Iterable[bytes]) -> re.Pattern[bytes] | None:
    """Compile a search for any of some tokens, longest first; `None` when there are no tokens."""
    ordered = sorted(tokens, key=len, reverse=True)
    return re.compile(b"|".join(map(re.escape, ordered))) if ordered else None


class Matcher:
    """The tokens that one call searches for: tokens that become ids, and refused tokens."""

    def __init__(
        self, ids: Mapping[bytes, int], refused: Collection[bytes] = (), after: Matcher | None = None
    ) -> None:
        self._ids = dict(ids)
        self._search = any_of(self._ids)
        self._refused = any_of(refused)
        #: The matcher for the normalized text between the tokens that this matcher finds.
        self.after = after
        #: The length of the longest token, in bytes.
        self.longest = max(map(len, (*self._ids, *refused)), default=0)

    def check(self, data: bytes | memoryview, offset: int = 0) -> None:
        """Raise `SpecialTokenError` when a part of a text, from byte `offset`, has a refused token."""
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
        """Yield (start, end, id) for each token and for the plain text between tokens, whose id is `None`."""
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
        """Return `pieces` of a text; `SpecialTokenError` when it has a refused token."""
        self.check(data)
        return self.pieces(data)

    def pieces(self, data: bytes | memoryview) -> Iterator[bytes | memoryview | int]:
        """Yield the plain text between tokens, and the ids of the tokens."""
        for start, end, token_id in self.spans(data):
            yield data[start:end] if token_id is None else token_id


_WORD = r"[\p{Alphabetic}\p{M}\p{Nd}\p{Pc}\p{Join_Control}]"
_ENDS_WITH_WORD, _STARTS_WITH_WORD = regex.compile(rf"{_WORD}\Z"), regex.compile(_WORD)


class OptionMatcher(Matcher):
    """A matcher for tokens that include surrounding white space or match only whole words, as in HF's `tokenizers`."""

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
        """Yield (start, end, id) as `Matcher.spans` does; the white space after a token may overlap the next token."""
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
    after = data[end : end + 4].decode("utf-8", "ignore")
    return bool(_ENDS_WITH_WORD.search(before) or _STARTS_WITH_WORD.match(after))


def _length_at_end(data: bytes) -> int:
    text = data.decode("utf-8", "surrogateescape")
    return len(text[len(text.rstrip(WHITE_SPACE)) :].encode())


def _length_at_start(data: bytes) -> int:
    text = data.decode("utf-8", "surrogateescape")
    return len(text[: len(text) - len(text.lstrip(WHITE_SPACE))].encode())


class SpecialTokens:
    """The special and added tokens of a tokenizer, and the matchers for the policies of calls."""

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
        #: All tokens that a call can search for.
        self.texts = (*special, *added)
        self._plain = self._match(self._added, ()) if self._added else None
        self._all = self._match({**self._added, **self._special}, ()) if self._special else self._plain

    def _match(self, ids: Mapping[bytes, int], refused: Collection[bytes]) -> Matcher:
        """Return the matcher of some tokens, with a second matcher for those searched in the normalized text."""
        if not self._options:
            return Matcher(ids, refused)
        options_of = {token: self._options[token] for token in ids if token in self._options}
        normalized = {token: options for token, options in options_of.items() if options.normalized}
        after = None
        if normalized:
            written = {token: self._normalized(token, options) for token, options in normalized.items()}
            # the lowest id wins if two tokens have the same normalized form; HF's choice is arbitrary
            by_id = sorted(normalized, key=lambda token: -ids[token])
            after_ids = {written[token]: ids[token] for token in by_id if written[token]}
            after = OptionMatcher(after_ids, {written[token]: normalized[token] for token in by_id})
        first = {token: token_id for token, token_id in ids.items() if token not in normalized}
        return OptionMatcher(first, self._options, refused, after)

    def _normalized(self, token: bytes, options: TokenOptions) -> bytes:
        """Return the form of a token in the normalized text."""
        if self._normalize is None or options.verbatim:
            return token
        return _encode(self._normalize(token.decode("utf-8", "surrogatepass")))

    def matcher(self, allowed: Selection = (), disallowed: Selection = ()) -> Matcher | None:
        """Return the matcher for a call with these arguments; `None` when there are no tokens to search for.

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
