"""tiktoken's treatment of a text that may continue, or that ends in the middle of a character.

The last pretoken of such a text is not final.  Source: tiktoken's `encode_with_unstable` and `_encode_bytes`
(`src/lib.rs`), whose results these are.
"""

from __future__ import annotations

from bisect import bisect_left
from typing import TYPE_CHECKING

from ..core.bpe import CompiledBPE
from ..encoding.engine import TextEncoder
from ..lazy import lazy_property
from ..pipeline.special_tokens import Matcher
from ..text import text_bytes

if TYPE_CHECKING:
    from ..tokenizer import Tokenizer

_SPACE = b" \n\t"


class Unstable:
    """Encoding around the end of a text."""

    def __init__(self, tokenizer: Tokenizer) -> None:
        self._tokenizer = tokenizer
        self._encoder: TextEncoder = tokenizer._parts.encoder

    @lazy_property
    def _model(self) -> CompiledBPE:
        model = self._encoder.encoder.model
        assert isinstance(model, CompiledBPE), "only tokenizers of bytes have this view"
        return model

    @lazy_property
    def _ids(self) -> dict[bytes, int]:
        return {token: token_id for token_id, token in self._tokenizer.spec.vocab.items()}

    @lazy_property
    def _sorted(self) -> list[bytes]:
        return sorted(self._tokenizer.spec.vocab.values())

    def single_piece(self, piece: bytes) -> list[int]:
        """Return the ids of bytes that are not split."""
        return [self._ids[piece]] if piece in self._ids else self._model.encode_pretoken(piece)

    def encode_bytes(self, data: bytes) -> list[int]:
        """Return the ids of bytes; from the first byte that is not UTF-8 on, the rest joins the pretoken before it."""
        try:
            data.decode()
        except UnicodeDecodeError as error:
            ids, rest = self._split_off(data[: error.start], None)
            return ids + self.single_piece(rest + data[error.start :])
        return self._encoder.to_list(data)

    def complete(self, text: str, matcher: Matcher | None) -> tuple[list[int], set[tuple[int, ...]]]:
        """Return the stable ids of a text, and the ways in which tokens can go on from there."""
        ids, rest = self._split_off(bytes(text_bytes(text)), matcher)
        return ids, self._completions(rest) if rest else set()

    def _split_off(self, data: bytes, matcher: Matcher | None) -> tuple[list[int], bytes]:
        """Return the ids before the last pretoken and the white space before it, and the bytes from there on."""
        start = 0
        if matcher is not None:
            for begin, end, token_id in matcher.spans(data):
                start = end if token_id is not None else begin
        ids = self._encoder.to_list(data, matcher)
        pretokens, ends, _ = self._encoder.splitter.cut(data[start:])
        if len(ends) == 0:
            return ids, b""
        first = int(ends[-2]) if len(ends) > 1 else 0
        taken = len(self.single_piece(pretokens[first:]))
        bytes_of = self._tokenizer.id_to_token
        if not bytes_of(ids[-taken]).strip(_SPACE):
            while taken < len(ids) and not bytes_of(ids[-taken - 1]).strip(_SPACE):
                taken += 1
        return ids[:-taken], self._tokenizer.decode_bytes(ids[-taken:])

    def _starting_with(self, begin: bytes) -> list[bytes]:
        found = []
        for place in range(bisect_left(self._sorted, begin), len(self._sorted)):
            if not self._sorted[place].startswith(begin):
                break
            found.append(self._sorted[place])
        return found

    def _completions(self, rest: bytes) -> set[tuple[int, ...]]:
        completions: set[tuple[int, ...]] = {(self._ids[token],) for token in self._starting_with(rest)}
        for cut in range(1, len(rest)):
            # a token that begins in the middle of the rest may change the ids of the text before it
            for token in self._starting_with(rest[cut:]):
                completions.add(self._covering(rest[:cut] + token, len(rest)))
        last = rest.decode("utf-8", "surrogateescape")[-1]
        size = len(last.encode("utf-8", "surrogateescape"))
        if 0 < size < len(rest) and last.isspace():
            merge = self._model.encode_pretoken
            completions.add((*merge(rest[:-size]), *merge(rest[-size:])))
        return completions

    def _covering(self, data: bytes, length: int) -> tuple[int, ...]:
        """Return the first ids of bytes, as many as cover `length` of them."""
        try:
            data.decode()
            ids = self._encoder.to_list(data)
        except UnicodeDecodeError:
            ids = self._model.encode_pretoken(data)
        covered = count = 0
        while covered < length and count < len(ids):  # a pattern may drop text
            covered += len(self._tokenizer.id_to_token(ids[count]))
            count += 1
        return tuple(ids[:count])
