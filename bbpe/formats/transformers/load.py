"""Load a vocabulary as the class of its folder reads it.

Each function raises `VocabularyError` naming the file and the field, the token or the piece that is broken or not
supported.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from ...errors import VocabularyError
from ...files import StrPath
from ...lazy import safe_import
from ...records import replace
from ...spec.rules import RowPadding
from ...spec.spec import TokenizerSpec
from ..common.given import Given
from ..common.key_tables import KeyTable, MergeIds, MergeKeys
from ..huggingface.tokenizer_json import read_document
from ..sentencepiece.piece_rows import CONTROL, USER_DEFINED
from .classes import BERT, PIECES, WORDS, class_row
from .documents import ClassFiles, ModelClass, class_files, document, number
from .folder import CONFIG, ClassFolder
from .marian import load_marian
from .names import class_of, refused_class
from .tokens import FolderToken

if TYPE_CHECKING:
    from ..sentencepiece.pieces import PieceModel


def load_merges(
    row: ModelClass, path: Path, folder: ClassFolder, keys: KeyTable, merges: MergeKeys | MergeIds, given: Given
) -> TokenizerSpec:
    """Return the spec that a class makes of keys and merges in a folder; `path` is that of the keys."""
    return _spec(class_files(row, folder, keys=keys, merges=merges), folder, path, given)


def load_pieces(read: Callable[[StrPath], PieceModel], folder: ClassFolder, given: Given) -> TokenizerSpec | None:
    """Return the spec of the pieces that `read` returns for a file of a folder; `None` without a class."""
    if class_of(folder).short == "Marian":
        return load_marian(read, folder, given)
    row = class_row(folder, PIECES)
    if row is None:
        return None
    path = folder.path / row.file
    if not path.is_file():
        raise refused_class(folder, f"reads {row.file}; expected such a file in the folder")
    model = read(folder.opened(path))
    kinds = (CONTROL, USER_DEFINED) if row.lists_symbols else ()
    listed = [(text, kind == CONTROL) for text, _, kind in model.pieces if kind in kinds]
    symbols = (FolderToken(text, is_special=is_special) for text, is_special in listed)
    files = class_files(row, folder, *symbols, pieces=model.pieces, charsmap=model.charsmap)
    spec, kinds_of = _spec(files, folder, path, given), ("Unigram", "BPE")
    if model.is_bpe == (spec.model is None):
        return spec
    found, made = reversed(kinds_of) if model.is_bpe else kinds_of
    name, file, field = class_of(folder)
    note = f"{path.name} is {found}, of which {name} ({field} in {file}) makes {made}, as in transformers 5; the"
    return replace(spec, notes=(f"{note} path of {path.name} alone gives the ids of SentencePiece",))


def load_own(folder: ClassFolder, given: Given) -> TokenizerSpec:
    """Return the spec that a class of Python makes of its own files."""
    safe_import("bbpe.formats.transformers.own_files")
    from .own_files import OWN_CLASSES, own_files, with_symbols

    row = OWN_CLASSES[class_of(folder).short]
    missing = next((file for file in (row.file, row.merges) if file and not folder.has(file)), None)
    if missing is not None:
        raise refused_class(folder, f"reads {missing}; expected such a file in the folder")
    files = own_files(row, folder)
    spec = _spec(files, folder, folder.path / (row.file or CONFIG), given)
    spec = with_symbols(spec, files, folder) if row.merges else spec
    return replace(spec, notes=(*spec.notes, row.note)) if row.note else spec


def load_words(path: Path, keys: Mapping[str, int], given: Given) -> TokenizerSpec:
    """Return the spec of words, and without a class as BERT reads them.

    Without a class texts are lower-cased unless a word has an upper-case letter, and there are no usual tokens but
    words.  A file under another name than vocab.txt is read without the folder.
    """
    # no file is below a file
    folder = given.folder_of(path) if path.name == WORDS else ClassFolder(path)
    row = class_row(folder, WORDS)
    has_class = row is not None
    if row is None:
        if folder.stated[0]:
            raise refused_class(folder, "reads no vocab.txt; expected a class such as BertTokenizer")
        tokens = {use: text for use, text in BERT.tokens.items() if text in keys}
        row = replace(BERT, tokens=tokens, lowers=not _has_upper(keys))
    files = class_files(row, folder, keys=keys)
    _check_unknown(files, path)
    has_ends = has_class or {"cls_token", "sep_token"} <= files.config.uses.keys()
    if has_ends and given.special_tokens is not None:
        ends = (files.text("cls"), files.text("sep"))
        has_ends = all(given.special_tokens.get(text) == files.id_of(text) for text in ends)
    return _spec(files if has_ends else replace(files, row=replace(row, template=None)), folder, path, given)


def _has_upper(keys: Mapping[str, int]) -> bool:
    return any(key != key.lower() for key in keys if not re.fullmatch(r"\[\w+\]", key))


def _check_unknown(files: ClassFiles, path: Path) -> None:
    """Refuse words without a token for other words."""
    expected = "expected one for words without tokens"
    if files.config.uses.get("unk_token") is None and "unk_token" not in files.fields:
        raise VocabularyError(f"no line is [UNK]; {expected}", path=path)
    text = files.text("unk")
    if text not in files.keys:
        files.fields.refuse(f"no line of {path.name} is {text}; {expected}", "unk_token")


def _spec(files: ClassFiles, folder: ClassFolder, path: Path, given: Given) -> TokenizerSpec:
    """Return the spec of the document of a class, which pads rows at a side of its own if there is a token for that."""
    spec = read_document(document(files), path, given)
    spec = replace(spec, files=folder.other_files(), names=files.config.names)
    if given.pattern is not None and class_of(folder).name:
        own = read_document(document(files), path, replace(given, pattern=None))
        if (own.pattern, own.rules) != (spec.pattern, spec.rules):
            name, file, field = class_of(folder)
            note = f"pattern= replaces how the class {name} ({field} in {file}) splits texts"
            spec = replace(spec, notes=(f"{note}; ids are not those of transformers",))
    usual, fields = files.row.padding_side, files.fields
    side = fields.checked(fields.peek("padding_side") or usual or "right", str, "padding_side")
    if side not in ("left", "right"):
        fields.refuse(f'found "{side}"; expected "left" or "right"', "padding_side")
    text = files.config.uses.get("pad_token", "")
    pad_id = {**spec.added_tokens, **spec.special_tokens}.get(text)
    if pad_id is None or (side == "right" and (not usual or "pad_token" in fields)):
        return spec  # as rows are padded without a default
    kind = number(fields, "pad_token_type_id", 0)
    return replace(spec, padding=RowPadding(pad_id, text, kind, "left" if side == "left" else "right"))
