"""The parts of the `tokenizer.json` that a class of HF's `transformers` makes of a vocabulary without one.

A row of `classes.py` has the function that makes the parts of a class, `document` puts them together.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from ...lazy import lazy_property, safe_import
from ...records import dataclass, field, replace
from ...spec.rules import SPACE_MARK, TokenOptions
from ..common.keys import assigned_ids
from ..common.reading import Fields
from .folder import ClassFolder, FolderConfig
from .tokens import FolderToken

if TYPE_CHECKING:
    from ..common.key_tables import MergeIds, MergeKeys
    from ..sentencepiece.piece_rows import Row

_MOST = 1 << 16
#: The options of a configuration that the rules of BERT have.
BERT_OPTIONS = ("do_lower_case", "tokenize_chinese_chars", "strip_accents")


@dataclass(frozen=True)
class ClassFiles:
    """What a class makes a document of: the tokens and the fields of its folder, and the vocabulary.

    `keys` has the ids of the model.  A SentencePiece model has `pieces` and a `charsmap` instead, until its document
    is made.  With `is_listed` the vocabulary is that of a tokenizer.json, and all of it; the document has none.
    `added` are the added tokens of that file, which come before those of the folder.
    """

    row: ModelClass
    config: FolderConfig
    fields: Fields
    keys: Mapping[str, int] = field(default_factory=dict)
    merges: MergeKeys | MergeIds | None = None
    pieces: Sequence[Row] = ()
    charsmap: bytes | str = b""
    is_listed: bool = False
    added: Sequence[str] = ()

    def flag(self, name: str, usual: bool) -> bool:
        """Return a flag of the configuration, or the usual one of the class; null is false."""
        if name not in self.fields:
            return usual
        value = self.fields.peek(name)
        return False if value is None else self.fields.checked(value, bool, name)

    @lazy_property
    def _added_ids(self) -> dict[str, int]:
        return assigned_ids(dict.fromkeys((*self.added, *(token.text for token in self.config.tokens))), self.keys)

    def id_of(self, text: str) -> int | None:
        """Return the id of a token of the model or an added one."""
        return self._added_ids.get(text, self.keys.get(text))

    def rows(self) -> list[dict[str, Any]]:
        """Return the `added_tokens`; their order counts, not their ids."""
        return [
            {
                "id": 0, "content": token.text, "special": token.is_special, "lstrip": token.options.lstrip,
                "rstrip": token.options.rstrip, "single_word": token.options.single_word,
                "normalized": token.options.normalized,
            }
            for token in self.config.tokens
        ]  # fmt: skip

    def text(self, use: str) -> str:
        """Return the text of the token of a use; `VocabularyError` if there is none."""
        text = self.config.uses.get(f"{use}_token")
        if text is None:
            self.fields.refuse("found null; expected the text of a token", f"{use}_token")
        return text

    def template(self, single: str, pair: str, extra: Mapping[str, str] | None = None) -> dict[str, Any]:
        """Return a `TemplateProcessing`.

        `single` and `pair` have the texts A and B and the uses of tokens, each with its type id after a colon if that
        is not 0.  `extra` has other tokens by name.
        """
        named = {"src_lang": self._language(), **(extra or {})}
        found: dict[str, Any] = {}
        rows: list[list[dict[str, Any]]] = []
        for form in (single, pair):
            row: list[dict[str, Any]] = []
            for item in form.split():
                name, _, kind = item.partition(":")
                if name in ("A", "B"):
                    row.append({"Sequence": {"id": name, "type_id": int(kind or 0)}})
                    continue
                text = named.get(name) or self.text(name)
                token_id = self.id_of(text)
                if token_id is None:
                    self.fields.refuse(f"the vocabulary has no token {text!r}; expected one for the template", name)
                found[text] = {"id": text, "ids": [token_id], "tokens": [text]}
                row.append({"SpecialToken": {"id": text, "type_id": int(kind or 0)}})
            rows.append(row)
        return {"type": "TemplateProcessing", "single": rows[0], "pair": rows[1], "special_tokens": found}

    def _language(self) -> str:
        """Return the code of the language of texts, "" for a class without languages."""
        value = self.fields.peek("src_lang") if self.row.language else None
        return self.row.language if value is None else self.fields.checked(value, str, "src_lang")

    def flagged(self) -> dict[str, Any] | None:
        """Return the template that flags for BOS and EOS define; a token that no file names is left out."""
        uses = self.config.uses
        if self.is_listed and not self.row.adds_bos:
            return None  # beside a tokenizer.json the flags do not count
        first = "bos" if self.flag("add_bos_token", self.row.adds_bos) and "bos_token" in uses else ""
        last = "eos" if self.flag("add_eos_token", False) and "eos_token" in uses else ""
        if not (first or last):
            return None
        return self.template(f"{first} A {last}", f"{first} A {last} {first and 'bos:1'} B:1 {last and 'eos:1'}")


@dataclass(frozen=True)
class ClassParts:
    """The parts of a document that a class makes; tokens and the template follow from its row."""

    model: dict[str, Any]
    normalizers: Iterable[dict[str, Any]]
    splits: Iterable[dict[str, Any]]
    decoder: dict[str, Any] | None


def _no_tokens(fields: Fields) -> Sequence[str]:
    return ()


def _no_keys(files: ClassFiles, folder: ClassFolder) -> dict[str, int]:
    return {}


def _no_pairs(rows: Sequence[str]) -> Iterable[Sequence[str]]:
    return ()


def _tokens(files: ClassFiles, base: Mapping[str, int]) -> Sequence[FolderToken]:
    return files.config.tokens


@dataclass(frozen=True)
class ModelClass:
    """A class: the file of its vocabulary, its usual tokens by use, and the function that makes parts of a document.

    `template` has the ids around one text and around two, in the form of `ClassFiles.template`, or makes a processor.
    `usual` has the options of the usual tokens, and `mask` those of the usual mask; `listed` returns special tokens
    that follow those of a model, whose symbols are special tokens only with `lists_symbols`.  With `resets_options`
    tokens with a use, and listed ones, lose their options.  Without a `padding_side` rows are padded as without a
    class.  `language` is the usual one of a text; `adds_bos` is the usual flag.  With `keeps_template` the template of
    a tokenizer.json stays, with `keeps_rules` all else.

    Of bytes: `splits` come first, `pattern` is the name or the regex of another one, and `drops_gaps` means that text
    between its matches is dropped; `is_prefixed` is the usual flag for a blank in front.  Of words: the class reads the
    `options`, and `lowers` is the usual flag.  Of pieces: `reads_prefix` means that it reads the flag for a blank in
    front.  Of files that the class reads itself: `base` returns its vocabulary without added tokens, and `found` the
    tokens that are found in texts; `note` says where its ids differ.  `merges` is the file of merges whose symbols need
    not be tokens, `pairs` returns the merges of its lines, and `counts` says what they have besides.
    """

    file: str
    tokens: Mapping[str, str]
    parts: Callable[[ClassFiles], ClassParts]
    template: tuple[str, str] | Callable[[ClassFiles], Any] | None = ClassFiles.flagged
    mask: TokenOptions | None = None
    usual: TokenOptions = TokenOptions()
    listed: Callable[[Fields], Sequence[str]] = _no_tokens
    lists_symbols: bool = True
    resets_options: bool = False
    padding_side: str = "right"
    language: str = ""
    adds_bos: bool = False
    keeps_template: bool = False
    keeps_rules: bool = False
    normalizers: tuple[dict[str, Any], ...] = ()
    splits: tuple[dict[str, Any], ...] = ()
    pattern: str = ""
    drops_gaps: bool = False
    is_prefixed: bool = False
    end_of_word: str = ""
    options: tuple[str, ...] = BERT_OPTIONS
    lowers: bool = True
    reads_prefix: bool = False
    base: Callable[[ClassFiles, ClassFolder], dict[str, int]] = _no_keys
    found: Callable[[ClassFiles, Mapping[str, int]], Sequence[FolderToken]] = _tokens
    note: str = ""
    merges: str = ""
    pairs: Callable[[Sequence[str]], Iterable[Sequence[str]]] = _no_pairs
    counts: str = ""


def class_files(
    row: ModelClass, folder: ClassFolder, *symbols: FolderToken, taken: Collection[int] = (), **vocabulary: Any
) -> ClassFiles:
    """Return a vocabulary with the tokens of its folder, and those that the class gives a model.

    `taken` are the ids of the added tokens of a tokenizer.json.
    """
    fields = folder.fields
    options = {"mask": row.usual if row.mask is None else row.mask}
    usual = {f"{use}_token": FolderToken(text, options.get(use, row.usual)) for use, text in row.tokens.items()}
    config = folder.config(usual, (*symbols, *map(FolderToken, row.listed(fields))), taken)
    if row.resets_options:
        plain = TokenOptions()
        tokens = [replace(token, options=plain) if token.text in config.named else token for token in config.tokens]
        config = replace(config, tokens=tuple(tokens))
    return ClassFiles(row, config, fields, **vocabulary)


def document(files: ClassFiles) -> dict[str, Any]:
    """Return the `tokenizer.json` of a class."""
    row = files.row
    parts = row.parts(files)
    vocab = files.keys if files.is_listed else parts.model["vocab"]
    if isinstance(vocab, list):
        vocab = {text: token_id for token_id, (text, _) in enumerate(vocab)}
    files = replace(files, keys=vocab)
    template = row.template
    return {
        "added_tokens": files.rows(),
        "normalizer": _sequence("normalizers", parts.normalizers),
        "pre_tokenizer": _sequence("pretokenizers", parts.splits),
        "post_processor": template(files) if callable(template) else template and files.template(*template),
        "decoder": parts.decoder,
        "model": parts.model,
    }


def _sequence(name: str, parts: Iterable[dict[str, Any]]) -> dict[str, Any] | None:
    listed = [*parts]
    return {"type": "Sequence", name: listed} if listed else None


def precompiled(charsmap: bytes | str) -> list[dict[str, Any]]:
    """Return the normalizers of a compiled table, which may be empty, or is in base64 already."""
    if not charsmap:
        return []
    if isinstance(charsmap, bytes):
        safe_import("base64")
        from base64 import b64encode

        charsmap = b64encode(charsmap).decode()
    return [{"type": "Precompiled", "precompiled_charsmap": charsmap}]


def replaced(source: str, content: str, *, is_regex: bool = False) -> dict[str, Any]:
    """Return a `Replace`."""
    return {"type": "Replace", "pattern": {"Regex" if is_regex else "String": source}, "content": content}


def metaspace(scheme: str, *, split: bool = True) -> dict[str, Any]:
    """Return a `Metaspace`, as a pre-tokenizer or a decoder."""
    return {"type": "Metaspace", "replacement": SPACE_MARK, "prepend_scheme": scheme, "split": split}


def number(fields: Fields, name: str, usual: int) -> int:
    """Return a small number of a configuration, or the usual one of a class."""
    value = fields.peek(name) if name in fields else usual
    if not 0 <= fields.checked(value, int, name) <= _MOST:
        fields.refuse(f"found {value}; expected 0 to {_MOST}", name)
    return int(value)
