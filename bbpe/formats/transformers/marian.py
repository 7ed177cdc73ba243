"""Folders of Marian (OPUS-MT): `source.spm` divides texts into pieces, and `vocab.json` has the ids.

Source: `MarianTokenizer` of HF's `transformers` 5.24, a class of Python.  A piece that `vocab.json` lacks is the
unknown token.  A run of characters that `source.spm` does not know is looked up, too, because `vocab.json` has the
pieces of `target.spm` as well.  A code such as `>>fr<<` begins a text.  Decoding joins pieces as `source.spm` does.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING

from ...errors import VocabularyError
from ...files import StrPath
from ...records import replace
from ...spec.decoders import SpecialRuns
from ...spec.models import UnigramModel
from ...spec.rules import SPACE_MARK, Characters, LeadingCodes, RowPadding, Template
from ...spec.spec import TokenizerSpec, make_spec
from ..common.given import Given
from ..common.reading import Fields, about, shown, well_formed
from ..sentencepiece.piece_rows import CONTROL, NORMAL, UNKNOWN, USER_DEFINED
from ..sentencepiece.pieces import spec_of
from .folder import ClassFolder, FolderConfig
from .tokens import FolderToken

if TYPE_CHECKING:
    from ..sentencepiece.pieces import PieceModel

#: The files of pieces and of ids.
SOURCE, TARGET, VOCAB = "source.spm", "target.spm", "vocab.json"
_USUAL = {"eos_token": FolderToken("</s>"), "unk_token": FolderToken("<unk>"), "pad_token": FolderToken("<pad>")}
_OPTIONS = ("lstrip", "rstrip", "single_word")


def load_marian(read: Callable[[StrPath], PieceModel], folder: ClassFolder, given: Given) -> TokenizerSpec:
    """Return the spec of a folder of Marian; `read` returns the pieces of a file.

    Raises `VocabularyError` naming the file and the field, the token or the piece that is broken or not supported.
    """
    missing = next((name for name in (SOURCE, TARGET, VOCAB) if not (folder.path / name).is_file()), None)
    if missing is not None:
        problem = f"found no {missing}; expected {SOURCE}, {TARGET} and {VOCAB}, which MarianTokenizer reads"
        raise VocabularyError(problem, path=folder.path)
    fields = folder.fields
    _check_fields(fields)
    model, keys = read(folder.opened(folder.path / SOURCE)), _keys(folder)
    config, given_ids = folder.config_in_python(_USUAL)
    ids = _added_ids(fields, config, keys, given_ids)
    with about(folder.path / SOURCE):
        if model.is_bpe or model.byte_fallback or model.is_suffix or not model.marks_blanks or model.denormalizer:
            problem = "the model is not of the kind that OPUS-MT has, which is Unigram without byte_fallback"
            raise VocabularyError(f"{problem}; only that is supported in a folder of Marian")
        own = spec_of(model, given, place=lambda token_id: f"piece {token_id}")
    specials = [token.text for token in config.tokens if token.is_special]
    spec = _spec(own, model, keys, ids, specials, config, given)
    return replace(spec, files=folder.other_files(), names=config.names, padding=_padding(config, ids, fields))


def _check_fields(fields: Fields) -> None:
    if fields.peek("separate_vocabs") not in (None, False):
        problem = "true gives texts the ids of vocab.json and decodes ids by target_vocab.json, which is not supported"
        fields.refuse(f"{problem}; expected false", "separate_vocabs")
    if fields.peek("sp_model_kwargs") not in (None, {}):
        fields.refuse("options of SentencePiece are not supported; expected {}", "sp_model_kwargs")


def _keys(folder: ClassFolder) -> dict[str, int]:
    """Return the pieces and ids of vocab.json."""
    keys, path = folder.json(VOCAB), folder.path / VOCAB
    if not isinstance(keys, dict) or not set(map(type, keys.values())) <= {int}:
        raise VocabularyError(f"found {shown(keys)}; expected an object of pieces and their ids", path=path)
    if sorted(keys.values()) != list(range(len(keys))):
        raise VocabularyError("ids have gaps or are used twice; expected 0, 1, 2, ...", path=path)
    if not all(map(well_formed, keys)):
        raise VocabularyError("a piece holds half a surrogate pair; expected Unicode text", path=path)
    return keys


def _added_ids(
    fields: Fields, config: FolderConfig, keys: Mapping[str, int], given_ids: Mapping[str, int]
) -> dict[str, int]:
    """Return the ids of added and special tokens; a file may give one an id, and others follow the vocabulary."""
    unknown = config.uses.get("unk_token")
    if unknown not in keys:
        fields.refuse(f"{VOCAB} has no token {unknown!r}; expected one for unknown pieces", "unk_token")
    ids: dict[str, int] = {}
    for token in config.tokens:
        option = next((name for name in _OPTIONS if getattr(token.options, name)), None)
        if option is not None:
            fields.refuse(f"{token.text!r} has {option}, which is not supported for MarianTokenizer; expected false")
        usual = keys.get(token.text, len(keys) + sum(text not in keys for text in ids))
        ids[token.text] = given_ids.get(token.text, usual)
        if token.text in keys and ids[token.text] != usual:
            problem = f"{token.text!r} has the id {ids[token.text]}, but {usual} in {VOCAB}; expected one id"
            fields.refuse(problem, "added_tokens_decoder")
    return ids


def _spec(
    own: TokenizerSpec, model: PieceModel, keys: Mapping[str, int], ids: Mapping[str, int],
    specials: Iterable[str], config: FolderConfig, given: Given,
) -> TokenizerSpec:  # fmt: skip
    """Return the spec of pieces, `own` by their own ids, with the ids of `keys` and of added tokens."""
    assert own.characters is not None
    tokens = {token_id: text.replace(SPACE_MARK, " ").encode() for text, token_id in keys.items() if text not in ids}
    scores, found, user_defined = [0.0] * len(keys), set[int](), list[int]()
    unnamed: list[tuple[bytes, float]] = []
    unused = frozenset(own.characters.unused)
    for piece_id, (text, score, kind) in enumerate(model.pieces):
        if kind not in (NORMAL, USER_DEFINED) or piece_id in unused:
            continue
        token_id = keys.get(text)
        if token_id in tokens:
            found.add(token_id)
            scores[token_id] = score
            if kind == USER_DEFINED:
                user_defined.append(token_id)
        elif kind == USER_DEFINED or token_id is not None:
            problem = f"{text!r} is a user-defined or special piece without a plain id in {VOCAB}; expected one"
            raise VocabularyError(problem, place=f"piece {piece_id}")
        else:
            unnamed.append((own.vocab[piece_id], score))
    unknown = ids[config.uses["unk_token"]]
    special = {text: ids[text] for text in specials}
    return make_spec(
        tokens,
        None,
        pattern=own.pattern,
        special_tokens=given.specials_or(special),
        added_tokens={text: token_id for text, token_id in ids.items() if text not in special},
        name=given.name,
        rules=replace(own.rules, codes=LeadingCodes(">>", "<<", unknown)),
        characters=Characters((), unknown, True, True, unused=tuple(sorted(tokens.keys() - found))),
        template=_template(config, ids),
        model=UnigramModel(tuple(scores), True, tuple(user_defined), tuple(unnamed), True),
        decoder=(_decoder(model, {**keys, **ids}, special),),
    )


def _decoder(model: PieceModel, keys: Mapping[str, int], special: Mapping[str, int]) -> SpecialRuns:
    kinds = {text: kind for text, _, kind in model.pieces}
    others = tuple(text for text in keys if kinds.get(text, UNKNOWN) == UNKNOWN and text not in special)
    controls = tuple(text for text, kind in kinds.items() if kind == CONTROL and text not in special)
    strips = model.add_dummy_prefix or model.remove_extra_whitespaces
    return SpecialRuns(tuple(special), others, controls, strips, model.remove_extra_whitespaces)


def _template(config: FolderConfig, ids: Mapping[str, int]) -> Template | None:
    end = config.uses.get("eos_token")
    if end is None:
        return None
    return Template((("A", 0), (ids[end], 0)), (("A", 0), ("B", 1), (ids[end], 1)))


def _padding(config: FolderConfig, ids: Mapping[str, int], fields: Fields) -> RowPadding | None:
    text = config.uses.get("pad_token")
    side = fields.peek("padding_side") or "right"
    if side not in ("left", "right"):
        fields.refuse(f'found "{side}"; expected "left" or "right"', "padding_side")
    if text is None or (side == "right" and "pad_token" in fields):
        return None  # as rows are padded without a default
    return RowPadding(ids[text], text, side="left" if side == "left" else "right")
