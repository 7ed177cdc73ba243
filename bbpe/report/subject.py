"""The subject of the checks of lint: a tokenizer, and values that several checks need, each computed once."""

from __future__ import annotations

from collections.abc import Iterable

from ..formats.common.ranks import LiveMerges, live_merges
from ..lazy import lazy_property, np, npt
from ..spec.models import WordPieceModel
from ..spec.spec import TokenizerSpec
from ..tokenizer import Tokenizer
from .findings import Example


class Subject:
    """A tokenizer that is checked, with its ordinary tokens as arrays: `ids`, and in the same order `tokens`."""

    def __init__(self, tokenizer: Tokenizer) -> None:
        self.tokenizer, self.spec = tokenizer, tokenizer.spec
        named = {*self.spec.special_tokens.values(), *self.spec.added_tokens.values(), unknown_id(self.spec)}
        pairs = [(token_id, token) for token_id, token in self.spec.vocab.items() if token_id not in named]
        self.ids: npt.NDArray[np.int64] = np.array([token_id for token_id, _ in pairs], np.int64)
        self.tokens = [token for _, token in pairs]

    @lazy_property
    def texts(self) -> list[str | None]:
        """The text of each token, `None` where its bytes are not whole characters."""
        return [_decoded(token) for token in self.tokens]

    @lazy_property
    def spelled(self) -> list[bytes]:
        """The bytes that each token has in a text: without the marks of words that a vocabulary writes into it."""
        characters, model = self.spec.characters, self.spec.model
        prefix, suffix = b"", b""
        if isinstance(model, WordPieceModel):
            prefix = model.prefix.encode()
        if characters is not None:
            prefix, suffix = prefix or characters.prefix.encode(), characters.end_of_word.encode()
        return [token.removeprefix(prefix).removesuffix(suffix) or token for token in self.tokens]

    @lazy_property
    def live(self) -> LiveMerges | None:
        """The merges that can apply; `None` for models other than BPE of bytes."""
        return live_merges(self.spec) if self.spec.model is None and self.spec.characters is None else None

    @lazy_property
    def unmade(self) -> frozenset[int]:
        """The ids of the tokens that no merge makes."""
        return frozenset(() if self.live is None else self.live.unmade)

    def examples(self, numbers: Iterable[int], *, most: int = 12) -> tuple[Example, ...]:
        """Return tokens by their places in `tokens` as examples."""
        found: list[Example] = []
        for number in numbers:
            if len(found) == most:
                break
            found.append(Example(int(self.ids[number]), self.tokens[number]))
        return tuple(found)

    def ids_of(self, numbers: Iterable[int]) -> tuple[int, ...]:
        """Return the ids of tokens by their places in `tokens`."""
        return tuple(int(self.ids[number]) for number in numbers)


def unknown_id(spec: TokenizerSpec) -> int | None:
    """Return the id of the unknown token; `None` if there is none."""
    if spec.characters is not None:
        return spec.characters.unknown
    return getattr(spec.model, "unknown", None)


def _decoded(token: bytes) -> str | None:
    try:
        return token.decode()
    except UnicodeDecodeError:
        return None
