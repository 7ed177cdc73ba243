"""The policy of special tokens: which of them a call makes ids of, and which it refuses.

Special tokens in a text are plain text unless the call allows them; added tokens always match. They are found before
splitting, so no merge crosses one. Where several begin at one place the longest wins.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from functools import cache
from typing import Literal, Self, TypeAlias

from ..core.matcher import LSTRIP, RSTRIP, SINGLE_WORD, Policy, TokenLevels, TokenMatcher
from ..errors import SpecialTokenError
from ..lazy import lazy_property, np, safe_import
from ..spec.rules import Normalizer, TokenOptions
from ..splitting.unicode_16 import END_OF_UNICODE

#: A policy argument: every special token, or some of them.
Selection: TypeAlias = Literal["all"] | Collection[str]

#: Names under which published vocabularies have their end-of-text token, in order of preference.
END_OF_TEXT = ("<|endoftext|>", "<|end_of_text|>", "<｜end▁of▁sentence｜>", "</s>", "<|return|>")
#: Policies of one tokenizer that are remembered; a program has few.
_MOST_POLICIES = 256
#: Tokens that are found at once, at least.
_BATCH = 1 << 16
#: The characters of words.
_WORD = r"\w"


def _token_matcher(ids: Mapping[bytes, int], options: Mapping[bytes, TokenOptions]) -> TokenMatcher:
    """Return the compiled matcher of tokens with their ids and options."""
    flags = [_flags(options.get(token)) for token in ids] if options else None
    words = _word_bits() if any(each.single_word for each in options.values()) else None
    return TokenMatcher(ids, list(ids.values()), flags, words)


@cache
def _word_bits() -> bytes:
    r"""Return the characters of words as HF's `tokenizers` has them, `\w`: one bit for each code point."""
    safe_import("bbpe.splitting.character_sets")
    from ..splitting.character_sets import members

    changes = np.zeros(END_OF_UNICODE + 1, np.uint8)
    changes[list(members(_WORD, 0))] = 1
    return np.packbits(np.bitwise_xor.accumulate(changes)[:-1], bitorder="little").tobytes()


def _flags(options: TokenOptions | None) -> int:
    if options is None:
        return 0
    return LSTRIP * options.lstrip + RSTRIP * options.rstrip + SINGLE_WORD * options.single_word


class Matcher:
    """Finds the tokens that one call makes ids of, and the tokens that it refuses.

    `found` searches for tokens, and `ids` has the id of each by its number.  A token that `refused` finds is an error.
    `after` searches the normalized text between the tokens that are found here.
    """

    def __init__(
        self, found: Policy, ids: Sequence[int], refused: Policy | None = None, after: Matcher | None = None
    ) -> None:
        self.found, self._ids, self.refused = found, ids, refused
        self.after = after
        #: The ids of all tokens that become ids, those of `after` too.
        self.ids: frozenset[int] = frozenset()
        #: The tokens that count in ranges of a text; `None` where all count everywhere.
        self.levels: TokenLevels | None = None
        #: The longest token looked for, in bytes.
        self.longest = max(found.longest, 0 if refused is None else refused.longest)

    @classmethod
    def of(cls, ids: Mapping[bytes, int]) -> Self:
        """Return a matcher of tokens and their ids."""
        return cls(_token_matcher(ids, {}).policy(range(len(ids))), list(ids.values()))

    def refusing(self, tokens: Matcher) -> Matcher:
        """Return a matcher that finds the same, and refuses the tokens that another one finds."""
        return Matcher(self.found, self._ids, tokens.found)

    def check(self, data: bytes | bytearray | memoryview, offset: int = 0) -> None:
        """Raise `SpecialTokenError` when the text, which begins at byte `offset`, holds a refused token."""
        done = 0
        while self.refused is not None and (found := self.refused.find(data, done, 1)):
            start, done, _ = found[0]
            if self.is_there(data, start, done):
                token = bytes(data[start:done]).decode("utf-8", "replace")
                raise SpecialTokenError(
                    f"the text holds the disallowed special token {token!r} at byte {offset + start}; "
                    f"pass allowed_special={{{token!r}}} to encode it as a special token, "
                    "or leave it out of disallowed_special to encode it as plain text"
                )

    def policies(self, levels: Sequence[Collection[int]]) -> list[Policy]:
        """Return the policy of the tokens with the ids of each level."""
        sets = [frozenset(ids) for ids in levels]
        matcher = self.found.matcher
        return [matcher.policy(number for number, each in enumerate(self._ids) if each in ids) for ids in sets]

    def is_there(self, data: bytes | bytearray | memoryview, start: int, end: int) -> bool:
        """Return whether the bytes of a token are that token; options may ask for more."""
        return True

    def find(self, data: bytes | bytearray | memoryview, start: int = 0) -> tuple[int, int, int] | None:
        """Return the next token at or after `start`: its start, end and id."""
        for begin, end, number in self.found.find(data, start, 1):
            return begin, end, self._ids[number]
        return None

    def matches(self, data: bytes | bytearray | memoryview) -> Iterator[tuple[int, int, int]]:
        """Yield the tokens in a text, in order: start, end and id.

        They are found a batch at a time, so memory does not grow with their number.  A batch has as many as the longest
        token has bytes, because a search in linear time reads that far ahead.
        """
        batch, done = max(_BATCH, self.longest), 0
        while True:
            found = self.found.find(data, done, batch)
            for start, end, number in found:
                yield start, end, self._ids[number]
            if len(found) < batch:
                return
            done = found[-1][1]

    def spans(self, data: bytes | memoryview) -> Iterator[tuple[int, int, int | None]]:
        """Yield the start and end of stretches of plain text, without an id, and of the tokens between them."""
        done = 0
        for start, end, token_id in self.matches(data):
            if start > done:
                yield done, start, None
            yield start, end, token_id
            done = end
        if done < len(data):
            yield done, len(data), None

    def pieces(self, data: bytes | memoryview) -> Iterator[bytes | memoryview | int]:
        """Yield stretches of plain text, and the ids of the tokens between them."""
        for start, end, token_id in self.spans(data):
            yield data[start:end] if token_id is None else token_id


#: Finds nothing.
NOTHING = Matcher.of({})


class OptionMatcher(Matcher):
    """A matcher of tokens some of which take white space with them, or match single words only, as in HF.

    The compiled pipeline knows their options; `token_places` in `bbpe/reference/pipeline.py` is the definition.
    """

    def __init__(
        self,
        found: Policy,
        ids: Sequence[int],
        options: Mapping[bytes, TokenOptions],
        refused: Policy | None = None,
        after: Matcher | None = None,
    ) -> None:
        super().__init__(found, ids, refused, after)
        self.options = options

    def is_there(self, data: bytes | bytearray | memoryview, start: int, end: int) -> bool:
        """Return whether the bytes of a token are that token, which may be a single word only."""
        options = self.options.get(bytes(data[start:end]))
        return options is None or not (options.single_word and _touches_word(data, start, end))


def _touches_word(data: bytes | bytearray | memoryview, start: int, end: int) -> bool:
    before = str(data[max(0, start - 4) : start], "utf-8", "surrogateescape")
    after = str(data[end : end + 4], "utf-8", "surrogateescape")
    near = [ord(char) for char in before[-1:] + after[:1]]
    return any(_word_bits()[point >> 3] >> (point & 7) & 1 for point in near)


class SpecialTokens:
    """The special and added tokens of a tokenizer, and what each call may do with them.

    The tokens with the option `normalized` are looked for in what the normalizers `rules` make of a text.
    """

    def __init__(
        self,
        special: Mapping[str, int],
        added: Mapping[str, int],
        options: Mapping[str, TokenOptions] | None = None,
        rules: Sequence[Normalizer] = (),
    ) -> None:
        self._special = {_encode(text): token_id for text, token_id in special.items()}
        self._added = {_encode(text): token_id for text, token_id in added.items()}
        self._options = {_encode(text): choice for text, choice in (options or {}).items()}
        self._rules = rules
        #: All tokens that a call may look for.
        self.texts = (*special, *added)
        self._policies: dict[tuple[str | frozenset[str], str | frozenset[str]], Matcher | None] = {}

    @lazy_property
    def _normalize(self) -> Callable[[str], str] | None:
        safe_import("bbpe.pipeline.compiled_normalizers")
        from .compiled_normalizers import normalize_function

        return normalize_function(self._rules)

    @lazy_property
    def _matcher(self) -> TokenMatcher:
        return _token_matcher({**self._added, **self._special}, self._options)

    @lazy_property
    def _numbers(self) -> dict[bytes, int]:
        return {token: number for number, token in enumerate(self._matcher.tokens)}

    @lazy_property
    def _ids(self) -> list[int]:
        ids = {**self._added, **self._special}
        return [ids[token] for token in self._matcher.tokens]

    @lazy_property
    def _plain(self) -> Matcher | None:
        return self._made(self._added, ()) if self._added else None

    @lazy_property
    def _all(self) -> Matcher | None:
        return self._made({**self._added, **self._special}, ()) if self._special else self._plain

    def _made(self, tokens: Mapping[bytes, int], refused: Collection[bytes]) -> Matcher:
        """Return the matcher of some tokens, in two steps where some are looked for in the text as normalised."""
        made = self._matcher_of_tokens(tokens, refused)
        made.ids = frozenset(tokens.values())
        return made

    def _matcher_of_tokens(self, tokens: Mapping[bytes, int], refused: Collection[bytes]) -> Matcher:
        if not self._options:
            return Matcher(self._policy(tokens), self._ids, self._policy_of_any(refused))
        normalized = [token for token in tokens if token in self._options and self._options[token].normalized]
        first = self._policy(tokens.keys() - normalized)
        after = self._normalised(normalized, tokens) if normalized else None
        return OptionMatcher(first, self._ids, self._options, self._policy_of_any(refused), after)

    def _policy(self, tokens: Iterable[bytes]) -> Policy:
        turns: dict[int, list[int]] = {0: []}
        for token in tokens:
            turn = self._options[token].turn if token in self._options else 0
            turns.setdefault(turn, []).append(self._numbers[token])
        policy = None
        for turn in sorted(turns, reverse=True):
            policy = self._matcher.policy(turns[turn], policy)
        assert policy is not None
        return policy

    def _policy_of_any(self, tokens: Collection[bytes]) -> Policy | None:
        """Return the policy of tokens that may be none of this tokenizer's; `None` of none."""
        tokens = [token for token in tokens if token]
        if not tokens:
            return None
        if all(token in self._numbers for token in tokens):
            return self._policy(tokens)
        return TokenMatcher(tokens).policy(range(len(tokens)))

    def _normalised(self, tokens: Sequence[bytes], ids: Mapping[bytes, int]) -> Matcher:
        """Return the matcher of tokens in the text as normalised."""
        written = {token: self._written(token, self._options[token]) for token in tokens}
        # of two that are normalised to the same the lower id counts; HF takes any
        by_id = sorted(tokens, key=lambda token: -ids[token])
        written_ids = {written[token]: ids[token] for token in by_id if written[token]}
        options = {written[token]: self._options[token] for token in by_id}
        found = _token_matcher(written_ids, options).policy(range(len(written_ids)))
        return OptionMatcher(found, list(written_ids.values()), options)

    def _written(self, token: bytes, options: TokenOptions) -> bytes:
        """Return a token as it is in the text as normalised."""
        if self._normalize is None or options.verbatim:
            return token
        return _encode(self._normalize(token.decode("utf-8", "surrogatepass")))

    def matcher(self, allowed: Selection = (), disallowed: Selection = ()) -> Matcher | None:
        """Return the matcher of a call with these arguments; `None` when there is nothing to find.

        Raises `SpecialTokenError` on an allowed token that the tokenizer does not have, `TypeError` on a
        selection that is neither "all" nor a collection of strings.
        """
        if isinstance(disallowed, tuple) and not disallowed:
            if isinstance(allowed, str) and allowed == "all":
                return self._all
            if isinstance(allowed, tuple) and not allowed:
                return self._plain
        key = _checked(allowed, "allowed_special"), _checked(disallowed, "disallowed_special")
        if key not in self._policies:
            if len(self._policies) >= _MOST_POLICIES:
                self._policies.clear()
            self._policies[key] = self._matcher_of(*key)
        return self._policies[key]

    def in_ranges(self, levels: Sequence[Collection[str]]) -> Matcher:
        """Return the matcher of a text with ranges, each of which has a level: the tokens that count in it.

        Raises `SpecialTokenError` on a token that the tokenizer does not have.
        """
        ids = {**self._added, **self._special}
        chosen = [frozenset(map(_encode, level)) for level in levels]
        every = frozenset().union(*chosen)
        if unknown := every - ids.keys():
            raise SpecialTokenError(f"{min(unknown).decode('utf-8', 'surrogatepass')!r} is no token of this tokenizer")
        made = self._matcher_of_tokens({token: ids[token] for token in every}, ())
        # a text from outside, which allows the fewest, must not become another token, so the model has only these
        made.ids = frozenset(ids[token] for token in every.intersection(*chosen))
        policies = [self._matcher.policy(self._numbers[token] for token in level) for level in chosen]
        after = () if made.after is None else made.after.policies([[ids[token] for token in level] for level in chosen])
        made.levels = TokenLevels(policies, after)
        return made

    def _matcher_of(self, allowed: str | frozenset[str], disallowed: str | frozenset[str]) -> Matcher | None:
        chosen = self._selected(allowed)
        unknown = chosen - self._special.keys()
        if unknown:
            name = min(unknown).decode("utf-8", "surrogatepass")
            raise SpecialTokenError(f"{name!r} is not a special token of this tokenizer")
        refused = self._selected(disallowed) - chosen
        if not (self._added or chosen or refused):
            return None
        return self._made({**self._added, **{token: self._special[token] for token in chosen}}, refused)

    def _selected(self, selection: str | frozenset[str]) -> set[bytes]:
        return set(self._special) if isinstance(selection, str) else {_encode(text) for text in selection}


def _checked(selection: Selection, name: str) -> str | frozenset[str]:
    """Return a selection as a key; `TypeError` naming the argument when it is none."""
    if isinstance(selection, str):
        if selection != "all":
            raise TypeError(f'{name} must be "all" or a collection of strings, not the string {selection!r}')
        return selection
    if not isinstance(selection, Collection) or not all(isinstance(text, str) for text in selection):
        raise TypeError(f'{name} must be "all" or a collection of strings, not {selection!r}')
    return frozenset(selection)


def _encode(text: str) -> bytes:
    return text.encode("utf-8", "surrogatepass")
