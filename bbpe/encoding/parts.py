"""The parts of a tokenizer, with which the rest of the package works."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ..lazy import lazy_property, safe_import
from ..pipeline.special_tokens import SpecialTokens
from ..spec.spec import TokenizerSpec
from .engine import TextEncoder, text_encoder
from .vocabulary import Vocabulary

if TYPE_CHECKING:
    from ..core.bpe import BPE
    from .decode import Decoder
    from .places import PlacedTexts


class TokenizerParts:
    """The parts of a `Tokenizer`, each of which is made when it is first used.

    `Tokenizer._parts` has them. It is for the package: the command line, reports, shards, training and the interfaces
    of other libraries read it, and no user does.

    Attributes:
        encoder: Texts to ids, by the matcher of special tokens of each call.
        vocabulary: The tokens, and their ids, keys and uses.
        specials: The special and added tokens, and the matchers that find them, by the options of a call.
        places: Texts to ids with the places in the text that they come from.
        decoder: Ids to texts.
        spec: The spec that they are made of; who makes this object sets it.
        model: The model of the spec if it was made before; whoever has it sets it before the first use.
    """

    spec: TokenizerSpec
    model: BPE | None = None

    @lazy_property
    def encoder(self) -> TextEncoder:  # noqa: D102 - see the class
        return text_encoder(self.spec, model=self.model)

    @lazy_property
    def vocabulary(self) -> Vocabulary:  # noqa: D102
        return Vocabulary(self.spec)

    @lazy_property
    def specials(self) -> SpecialTokens:  # noqa: D102
        spec = self.spec
        return SpecialTokens(spec.special_tokens, spec.added_tokens, spec.token_options, spec.rules.normalizers)

    @lazy_property
    def places(self) -> PlacedTexts:  # noqa: D102
        safe_import("bbpe.encoding.places")
        from .places import PlacedTexts
        return PlacedTexts(self.encoder, self.spec, self.vocabulary)

    @lazy_property
    def decoder(self) -> Decoder:  # noqa: D102
        safe_import("bbpe.encoding.decode")
        from .decode import Decoder
        return Decoder(self.spec, self.vocabulary.tokens)


class NamedToken:
    """An attribute of a tokenizer: the text of the token with a use."""

    def __init__(self, use: str) -> None:
        self._use = use

    def __get__(self, owner: Any, kind: type) -> str | None:
        return None if owner is None else owner._parts.vocabulary.named.get(self._use)


class NamedId:
    """An attribute of a tokenizer: the id of the token with a use."""

    def __init__(self, use: str) -> None:
        self._use = use

    def __get__(self, owner: Any, kind: type) -> int | None:
        return None if owner is None else owner._parts.vocabulary.id_of_named(self._use)
