"""The `added_tokens` of a `tokenizer.json`: special tokens, and tokens that always match."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any

from ...errors import VocabularyError
from ...files import StrPath
from ...records import dataclass, replace
from ...spec.models import UnigramModel, WordLevelModel
from ...spec.rules import Normalizer, TokenOptions
from ...spec.spec import MAX_ID, TokenizerSpec
from ...text import WHITE_SPACE, alphabet_to_bytes
from ..common.keys import assigned_ids, in_alphabet
from ..common.reading import Fields, well_formed
from ..transformers.tokens import FolderToken


@dataclass(frozen=True)
class AddedTokens:
    """Special tokens, added tokens, and the options of both; `texts` has the listed tokens in the order of the file."""

    special: Mapping[str, int]
    added: Mapping[str, int]
    options: Mapping[str, TokenOptions]
    texts: tuple[str, ...] = ()

    def extended(self, tokens: Iterable[FolderToken]) -> AddedTokens:
        """Return these and the tokens of other files in the folder, whose options count; named ones are only added."""
        special, added, options, texts = dict(self.special), dict(self.added), dict(self.options), [*self.texts]
        for token in tokens:
            if token.is_named and token.text in texts:
                continue
            for known in (special, added, options):
                known.pop(token.text, None)
            (special if token.is_special else added)[token.text] = -1  # `numbered` gives the id
            if token.options != TokenOptions():
                options[token.text] = token.options
            texts.append(token.text)
        return AddedTokens(special, added, options, tuple(dict.fromkeys(texts)))

    def numbered(self, keys: Mapping[str, int]) -> AddedTokens:
        """Return these with the ids that `tokenizers` gives them (`assigned_ids`)."""
        ids = assigned_ids(self.texts, keys)
        return replace(
            self,
            special={text: ids[text] for text in self.special},
            added={text: ids[text] for text in self.added},
        )

    def with_special(self, special: Mapping[str, int]) -> AddedTokens:
        """Return these with other special tokens."""
        added = {text: token_id for text, token_id in self.added.items() if text not in special}
        options = {text: choice for text, choice in self.options.items() if text in added or text in special}
        return AddedTokens(special, added, options, self.texts)

    def options_with(self, normalizers: Collection[Normalizer]) -> dict[str, TokenOptions]:
        """Return the options that have an effect.

        Without normalizers the normalized text equals the original text.  Then `normalized` only means that a token is
        searched after the other tokens, which has an effect only if two tokens can overlap or take the same blanks, or
        if another token can be next to a single word.
        """
        second = [text for text, options in self.options.items() if options.normalized]
        first = [text for text in (*self.special, *self.added) if not self._of(text).normalized]
        has_effect = bool(normalizers) or _overlap(first, second)
        if first and second and not has_effect:
            has_effect = self._share_blanks(first, second) or any(self._of(text).single_word for text in second)
        chosen = dict(self.options)
        if not has_effect:
            chosen = {text: replace(options, normalized=False) for text, options in chosen.items()}
        return {text: options for text, options in chosen.items() if options != TokenOptions()}

    def _share_blanks(self, one: Iterable[str], other: Iterable[str]) -> bool:
        """Return whether tokens of two groups may take the same white space."""
        stripping = [any(self._of(text).lstrip or self._of(text).rstrip for text in group) for group in (one, other)]
        blank = [any(set(WHITE_SPACE) & set(text) for text in group) for group in (one, other)]
        return (stripping[0] and (stripping[1] or blank[1])) or (stripping[1] and blank[0])

    def _of(self, text: str) -> TokenOptions:
        return self.options.get(text, TokenOptions())


def _overlap(first: Sequence[str], second: Sequence[str]) -> bool:
    """Return whether a token of one list and one of the other can overlap in a text."""
    return _reach(first, second) or _reach(second, first)


def _reach(texts: Sequence[str], others: Sequence[str]) -> bool:
    """Return whether one of the others is within a text, or begins with the end of one."""
    joined = "\ud800".join(texts)  # half a surrogate pair, which no token has
    if any(other in joined for other in others):
        return True
    beginning: dict[str, list[str]] = {}
    for other in others:
        beginning.setdefault(other[0], []).append(other)
    return any(
        other.startswith(text[start:])
        for text in texts
        for start, char in enumerate(text)
        if start  # one that begins with all of a text has it within
        for other in beginning.get(char, ())
    )


def spelled(key: str) -> str | None:
    """Return the text of a key in the byte alphabet; `None` if it is none, so that no pretoken has it."""
    if not in_alphabet(key):
        return None
    try:
        return alphabet_to_bytes(key).decode()
    except UnicodeDecodeError:
        return None


def makes_texts(spec: TokenizerSpec) -> bool:
    """Return whether a text that no token was found in can hold one for the model: rules change it after the search."""
    return bool(spec.rules.normalizers) or any(options.single_word for options in spec.token_options.values())


def modelled_ids(spec: TokenizerSpec, keys: Mapping[str, int]) -> tuple[int, ...]:
    """Return the `modelled` ids of a spec whose file has a model with these keys."""
    of_scores = isinstance(spec.model, UnigramModel) and not spec.model.is_float
    has_whole_words = spec.model is None and spec.whole_pretokens
    symbols = spec.characters
    of_bytes = spec.model is None if symbols is None else symbols.are_bytes
    if not (of_scores or has_whole_words or isinstance(spec.model, WordLevelModel)):
        return ()
    if not makes_texts(spec) and not of_bytes:
        return ()
    known = () if symbols is None else symbols.byte_tokens.values()
    return tuple(sorted(
        token_id
        for text, token_id in (*spec.special_tokens.items(), *spec.added_tokens.items())
        if keys.get(text) == token_id and token_id not in spec.vocab and token_id not in known
        if not of_bytes or spelled(text) not in (None, None if makes_texts(spec) else text)
    ))  # fmt: skip


def read_added_tokens(document: Fields) -> AddedTokens:
    """Take the `added_tokens` of a document; `VocabularyError` on one that is not Unicode text.

    As in `tokenizers`, an empty token has no effect, and of a token that is listed twice the last options count.
    """
    special: dict[str, int] = {}
    added: dict[str, int] = {}
    options: dict[str, TokenOptions] = {}
    order: list[str] = []
    for number, value in enumerate(document.take_type("added_tokens", list, [])):
        text, token_id, chosen, is_special = _token(value, f"added_tokens[{number}]", document.path)
        if not text:
            continue
        for found in (special, added, options):
            found.pop(text, None)
        (special if is_special else added)[text] = token_id
        if chosen != TokenOptions():
            options[text] = chosen
        order.append(text)
    return AddedTokens(special, added, options, tuple(dict.fromkeys(order)))


_KINDS = {
    "id": int, "content": str, "single_word": bool, "lstrip": bool, "rstrip": bool, "normalized": bool, "special": bool
}  # fmt: skip


def _token(value: Any, place: str, path: StrPath) -> tuple[str, int, TokenOptions, bool]:
    """Return the text, the id and the options of a token, and whether it is special."""
    if not isinstance(value, dict) or {name: type(field) for name, field in value.items()} != _KINDS:
        return _checked_token(Fields(value, path=path, place=place))
    text, token_id = value["content"], value["id"]
    if not 0 <= token_id <= MAX_ID or not well_formed(text):
        return _checked_token(Fields(value, path=path, place=place))
    options = TokenOptions(value["lstrip"], value["rstrip"], value["single_word"], value["normalized"])
    return text, token_id, options, value["special"]


def _checked_token(token: Fields) -> tuple[str, int, TokenOptions, bool]:
    """Return the same of a token that lacks a field, or has a wrong one."""
    text, token_id = token.take_type("content", str), token.take_int("id", 0, MAX_ID)
    lstrip, rstrip = token.take_type("lstrip", bool), token.take_type("rstrip", bool)
    single_word, normalized = token.take_type("single_word", bool), token.take_type("normalized", bool, False)
    is_special = token.take_type("special", bool)
    token.done()
    return text, token_id, TokenOptions(lstrip, rstrip, single_word, normalized), is_special


def write_added_tokens(spec: TokenizerSpec) -> list[dict[str, Any]]:
    """Return the `added_tokens` of a spec, in order of ids."""
    rows: Iterable[tuple[int, str, bool]] = (
        *((token_id, text, True) for text, token_id in spec.special_tokens.items()),
        *((token_id, text, False) for text, token_id in spec.added_tokens.items()),
    )
    written = []
    for token_id, text, special in sorted(rows):
        options = spec.token_options.get(text, TokenOptions())
        if options.verbatim:
            problem = f"tokenizer.json cannot hold {text!r}, which is found unchanged in the normalized text"
            raise VocabularyError(f"{problem}; write a SentencePiece .model")
        if options.turn:
            problem = f"tokenizer.json cannot hold {text!r}, which is found after longer tokens that overlap it"
            raise VocabularyError(f"{problem}; write a GGUF file")
        written.append(
            {
                "id": token_id,
                "content": text,
                "single_word": options.single_word,
                "lstrip": options.lstrip,
                "rstrip": options.rstrip,
                "normalized": options.normalized,
                "special": special,
            }
        )
    return written
