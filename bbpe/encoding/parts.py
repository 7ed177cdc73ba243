"""The parts of a tokenizer, with which the rest of the package works; `warm_up` makes them before the first text."""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING, Any

from ..errors import VocabularyError
from ..lazy import in_gate, lazy_property, safe_import
from ..pipeline.special_tokens import SpecialTokens
from ..spec.spec import TokenizerSpec
from .engine import TextEncoder, text_encoder
from .vocabulary import Vocabulary

if TYPE_CHECKING:
    from ..core.model import Model
    from .decode import Decoder
    from .places import PlaceFinder

_PACKAGE = __name__.partition(".")[0]
#: Words, digits, blanks, and characters beyond ASCII, which normalizers have more to do with.
_TEXT = "See 12 e\u0301\u00e9\u4e2d,\n"
#: A text so many times as long has all tables of an encoder made.
_TIMES = 1 << 11
_LETTERS = "qwertzuiopasdfghjklyxcvbnm"
#: Modules of this package that methods of a tokenizer import when they are called.
_OWN = """
compat.chat compat.chat.counting compat.sentencepiece compat.tokenizers
encoding.chunks encoding.file_ids encoding.nbest encoding.places encoding.words
formats formats.huggingface.oniguruma formats.huggingface.unigram formats.huggingface.words formats.saving
formats.transformers.classes formats.transformers.load formats.transformers.own_files formats.transformers.rebuilt
pipeline.compiled_normalizers pipeline.pre_tokenizer_steps pipeline.scripts pipeline.unicode_ages
published.names published.table
report.trace report.view
spec.characters spec.fingerprint spec.pickled spec.roles spec.unigram
splitting.automaton splitting.fancy_regex splitting.recogniser tiktoken.core
"""
#: Modules that are not of this package.
_OTHERS = """
base64 copy dataclasses difflib gzip hashlib html numpy random regex secrets shutil string tempfile zlib
"""


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
        kept: What other rooms of the package keep for this tokenizer, by their own keys.
    """

    spec: TokenizerSpec
    model: Model | None = None

    @lazy_property
    def kept(self) -> dict[Any, Any]:  # noqa: D102 - see the class
        return {}

    @lazy_property
    def encoder(self) -> TextEncoder:  # noqa: D102
        return text_encoder(self.spec, model=self.model)

    @lazy_property
    def vocabulary(self) -> Vocabulary:  # noqa: D102
        return Vocabulary(self.spec)

    @lazy_property
    def specials(self) -> SpecialTokens:  # noqa: D102
        spec = self.spec
        return SpecialTokens(spec.special_tokens, spec.added_tokens, spec.token_options, spec.rules.normalizers)

    @lazy_property
    def places(self) -> PlaceFinder:  # noqa: D102
        safe_import("bbpe.encoding.places")
        from .places import PlaceFinder
        return PlaceFinder(self.encoder, self.spec, self.vocabulary)

    @lazy_property
    def decoder(self) -> Decoder:  # noqa: D102
        safe_import("bbpe.encoding.decode")
        from .decode import decoder_of
        return decoder_of(self.spec, self.vocabulary.tokens)


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


def warm_up(tokenizer: Any) -> None:
    """Import what methods of a `Tokenizer` import, and make the usual calls once.

    Each call makes the tables, policies and automatons that it keeps.
    """
    in_gate(_import_all)
    with suppress(ImportError, VocabularyError):  # no jinja2, or a template that is malformed
        safe_import(f"{_PACKAGE}.compat.chat").warm_up(tokenizer.spec)
    ids: list[int] = tokenizer.encode(_TEXT)
    # a word that is long enough for the tables of long words, and repeats nothing that is short
    tokenizer.encode("".join(one + other for one in _LETTERS for other in _LETTERS) * 40)
    tokenizer.count_tokens(_TEXT * _TIMES)
    for options in ({"allowed_special": ()}, {"allowed_special": "all"}, {"disallowed_special": "all"}):
        for adds in (False, True):
            ids = tokenizer.encode(_TEXT, add_special_tokens=adds, **options) or ids
            tokenizer.encode_batch([_TEXT], add_special_tokens=adds, **options)
            tokenizer.encode_padded([_TEXT], max_length=1 << 20, pad_id=0, add_special_tokens=adds, **options)
        tokenizer.count_tokens(_TEXT, **options)
        with suppress(VocabularyError):  # ids have no places
            tokenizer.encode_with_offsets(_TEXT, **options)
    for skips in (False, True):
        tokenizer.decode(ids, skip_special_tokens=skips)
        tokenizer.decode_batch([ids], skip_special_tokens=skips)
        stream = tokenizer.stream_decoder(skip_special_tokens=skips)
        for token_id in ids:
            stream.push(token_id)


def _import_all() -> None:
    for name in (*(f"{_PACKAGE}.{own}" for own in _OWN.split()), *_OTHERS.split()):
        safe_import(name)
    safe_import(f"{_PACKAGE}.files").system_folder()
    for row in safe_import(f"{_PACKAGE}.formats").FORMATS.values():
        _ = row.module
