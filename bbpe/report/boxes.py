"""Tokens as boxes: what a text becomes, as data that terminals and pages show."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from itertools import accumulate
from typing import Any

from ..pipeline.special_tokens import Selection
from ..records import dataclass
from ..text import Text, text_bytes
from ..tokenizer import Tokenizer, checked_tokenizer
from .trace_view import visible


@dataclass(frozen=True)
class Boxes:
    """The tokens of a text by one tokenizer: the id of each, its bytes, and its span in the bytes of the text.

    `spans` is None if the tokens have no places in the text.
    """

    name: str
    size: int
    ids: list[int]
    tokens: list[bytes]
    spans: list[tuple[int, int]] | None
    special: frozenset[int]

    @property
    def summary(self) -> str:
        """The number of tokens, and bytes for each."""
        ratio = f", {self.size / len(self.ids):.2f} bytes per token" if self.ids else ""
        return f"{len(self.ids):,} token{'' if len(self.ids) == 1 else 's'}{ratio}"

    def as_dict(self) -> dict[str, Any]:
        """Return the boxes as data for JSON, with each different token once.

        `kinds` has `[id, text, hex, flags]` of each token, and `order` the number of the kind of each box.  `spans` has
        where each box begins and ends in the bytes of the text, or true if the bytes of the tokens are the text.
        Flags: 1 special, 2 not whole characters, 4 has a line end.
        """
        rows = []
        for token_id, token in dict(zip(self.ids, self.tokens, strict=True)).items():
            flags = (token_id in self.special) | 2 * (not _is_whole(token)) | 4 * (b"\n" in token)
            rows.append([token_id, visible(token), token.hex(" "), flags])
        place = {row[0]: number for number, row in enumerate(rows)}
        order = list(map(place.__getitem__, self.ids))
        spans: list[int] | bool | None = None
        if self.spans is not None:
            ends = list(accumulate(map(len, self.tokens)))
            joins = self.spans == list(zip([0, *ends], ends, strict=False))
            spans = joins or [place for span in self.spans for place in span]
        return {
            "name": self.name, "summary": self.summary, "bytes": self.size, "kinds": rows, "order": order,
            "spans": spans,
        }  # fmt: skip


def boxes(text: Text, tokenizers: Mapping[str, Tokenizer], *, allowed_special: Selection = ()) -> list[Boxes]:
    """Return the tokens of a text by each tokenizer; allowed special tokens that one does not have are text for it."""
    size = len(text_bytes(text))
    found = []
    for name, tok in tokenizers.items():
        checked_tokenizer(tok, f"tokenizers[{name!r}]")
        known = {*tok.special_tokens, *tok.added_tokens}
        allowed = allowed_special
        if isinstance(allowed_special, Collection) and not isinstance(allowed_special, str):
            allowed = set(allowed_special) & known
        try:
            ids, places = tok.encode_with_offsets(text, "byte", allowed_special=allowed)
            spans: list[tuple[int, int]] | None = list(map(tuple, places.tolist()))
        except ValueError:
            ids, spans = tok.encode(text, allowed_special=allowed), None
        special = frozenset({*tok.special_tokens.values(), *tok.added_tokens.values()})
        found.append(Boxes(name, size, ids, _tokens(tok, ids), spans, special))
    return found


def _tokens(tok: Tokenizer, ids: list[int]) -> list[bytes]:
    known = {token_id: tok.id_to_token(token_id) for token_id in set(ids)}
    return list(map(known.__getitem__, ids))


def _is_whole(token: bytes) -> bool:
    try:
        token.decode()
    except UnicodeDecodeError:
        return False
    return True
