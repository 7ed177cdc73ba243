"""The keys of tokens for the steps of a decoder, and the bytes of tokens where these suffice."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from itertools import product

from ..core.ids import TokenBytes
from ..core.stream import Forms
from ..lazy import safe_import
from ..pipeline.decoders import ERRORS, At, Token, divided, needs_first, needs_last, rewritten
from ..spec.decoders import CTC, UNMARK, ByteFallback, ByteLevel, DecoderStep, Metaspace, SpecialRuns, Strip
from ..spec.models import LongestMatchModel, Vocab
from ..spec.rules import BYTE_KEYS, SPACE_MARK
from ..spec.spec import TokenizerSpec, byte_tokens, other_tokens
from ..text import bytes_to_alphabet

#: The token that marks an unknown id.
MARK = Token("\ufffd", True)
_DIGITS = "0123456789ABCDEFabcdef"
# the keys that HF's `tokenizers` reads as bytes
_SPELLINGS = [f"<0x{high}{low}>" for high, low in product(f"{_DIGITS}+", _DIGITS)]


class TokenKeys:
    """The keys of the tokens of a spec, by id."""

    def __init__(self, spec: TokenizerSpec) -> None:
        self._vocab, self._key = spec.vocab, _key_function(spec)
        characters = spec.characters
        self._others = {token_id: Token(BYTE_KEYS[byte]) for token_id, byte in byte_tokens(spec).items()}
        for text, token_id in _outside(spec):
            options = spec.token_options.get(text)
            is_added = options is None or not options.verbatim  # a symbol of SentencePiece is a piece with marks
            self._others[token_id] = Token(text.encode("utf-8", "surrogatepass").decode("utf-8", ERRORS), is_added)
        #: Whether some tokens are found, and so decoded, as normalized: "▁<s>" takes a blank with it.
        self.has_normalized = False
        self._add_normalized(spec)
        if characters is not None and characters.unknown_text is not None and characters.unknown in other_tokens(spec):
            self._others[characters.unknown] = Token(characters.unknown_text, True)

    def _add_normalized(self, spec: TokenizerSpec) -> None:
        found = [text for text, row in spec.token_options.items() if row.normalized and not row.verbatim]
        if not found:
            return
        safe_import("bbpe.pipeline.compiled_normalizers")
        from ..pipeline.compiled_normalizers import normalize_function

        normalize = normalize_function(spec.rules.normalizers) or str
        for text in found:
            normalized = normalize(text)
            if normalized not in ("", text):
                self.has_normalized = True
                token_id = {**spec.added_tokens, **spec.special_tokens}[text]
                self._others[token_id] = Token(normalized.encode("utf-8", "surrogatepass").decode("utf-8", ERRORS))

    def __getitem__(self, token_id: int) -> Token:
        found = self._others.get(token_id)
        return Token(self._key(self._vocab[token_id])) if found is None else found

    def items(self) -> Iterator[tuple[int, Token]]:
        """Yield all ids with the keys of their tokens."""
        for token_id, token in self._vocab.items():
            if token_id not in self._others:
                yield token_id, Token(self._key(token))
        yield from self._others.items()


def _outside(spec: TokenizerSpec) -> Iterator[tuple[str, int]]:
    """Yield the special and added tokens that the model itself never makes; any other may be an ordinary token."""
    for text, token_id in (*spec.special_tokens.items(), *spec.added_tokens.items()):
        if token_id not in spec.vocab:
            yield text, token_id


def _key_function(spec: TokenizerSpec) -> Callable[[bytes], str]:
    characters = spec.characters
    if _is_of_bytes(spec):
        return bytes_to_alphabet
    if characters is not None and characters.marks_blanks:
        return lambda token: token.decode("utf-8", ERRORS).replace(" ", SPACE_MARK)
    return lambda token: token.decode("utf-8", ERRORS)


def _is_of_bytes(spec: TokenizerSpec) -> bool:
    if isinstance(spec.model, LongestMatchModel):
        return True
    return spec.model is None and (spec.characters is None or spec.characters.are_bytes)


def forms_of(spec: TokenizerSpec, keys: TokenKeys, tokens: TokenBytes) -> Forms | None:
    """Return the bytes of the tokens of a spec by their positions; `tokens` has their bytes in the vocabulary.

    Returns `None` where the bytes of a token depend on other tokens or change after all tokens became one.
    """
    steps, after = divided(spec.decoder)
    match after:
        case []:
            content, count = " ", 0
        case [Strip(content, count, 0)] if content.isascii():
            pass
        case _:
            return None
    if ByteFallback() in steps[:-1] or any(isinstance(step, CTC | SpecialRuns) for step in steps):
        return None

    def made(token: Token, at: At) -> bytes:
        key = token.key
        for step in steps:
            key = rewritten(step, Token(key, token.is_added), at)
        return key.encode("utf-8", ERRORS)

    def at_edge(token_id: int | None, is_first: bool, is_last: bool) -> bytes:
        return made(MARK if token_id is None else keys[token_id], At(is_first, is_last))

    unknown = None if spec.characters is None or spec.characters.unknown_text is None else spec.characters.unknown
    return Forms(
        _within(spec, keys, tokens, steps, made),
        at_edge,
        has_first=any(map(needs_first, steps)),
        has_last=any(map(needs_last, steps)),
        strip=count,
        content=ord(content),
        bare=-1 if unknown is None else unknown,
    )


def _within(
    spec: TokenizerSpec, keys: TokenKeys, tokens: TokenBytes, steps: Sequence[DecoderStep],
    made: Callable[[Token, At], bytes],
) -> TokenBytes:  # fmt: skip
    """Return the bytes of tokens within a text."""
    if keys.has_normalized or not _are_tokens(spec, steps):
        return TokenBytes({token_id: made(token, At(False, False)) for token_id, token in keys.items()})
    characters, others = spec.characters, other_tokens(spec)
    if characters is None or characters.unknown_text is None or characters.unknown not in others:
        return tokens
    return TokenBytes(spec.vocab, {**others, characters.unknown: characters.unknown_text.encode("utf-8", ERRORS)})


def _are_tokens(spec: TokenizerSpec, steps: Sequence[DecoderStep]) -> bool:
    """Return whether steps make the bytes of tokens in the vocabulary of their keys, wherever it saves a table."""
    characters = spec.characters
    if _is_of_bytes(spec):
        return list(steps) == [ByteLevel()]
    if characters is None:
        return False
    left = list(steps)
    if characters.marks_blanks:
        first = left.pop(0) if left else None
        if first != UNMARK and not (isinstance(first, Metaspace) and first.replacement == SPACE_MARK):
            return False
    if left != ([ByteFallback()] if characters.byte_tokens or left else []):
        return False
    assert isinstance(spec.vocab, Vocab)
    texts = {text for text, _ in _outside(spec)}
    if characters.marks_blanks and any(SPACE_MARK in text for text in texts):
        return False
    known = {BYTE_KEYS[byte] for byte in characters.byte_tokens}
    return not left or not any(
        key in texts or spec.vocab.has_token(key.encode())
        for key in _SPELLINGS
        if key not in known
    )
