"""The parts of the `tokenizer.json` that a class of HF's `transformers` makes of a vocabulary without one."""

from __future__ import annotations

import json
from base64 import b64encode
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from ...errors import VocabularyError
from ...records import dataclass, replace
from ...spec.rows import RowPadding
from ...spec.rules import SPACE_MARK, TokenOptions
from ...spec.spec import TokenizerSpec
from ...splitting.patterns import PATTERNS
from ..common.keys import CLASS, CONFIG, assigned_ids, class_field, class_of
from ..common.reading import Fields, read_json
from .folder import FolderConfig, FolderToken, UsualTokens

END_OF_TEXT = "<|endoftext|>"


def usual_tokens(texts: Mapping[str, str], *listed: FolderToken, mask: TokenOptions | None = None) -> UsualTokens:
    """Return the usual tokens of a class: texts by use, a list of special tokens, and the options of the mask."""
    named = {
        f"{use}_token": FolderToken(text, mask if mask and use == "mask" else TokenOptions(), True, True)
        for use, text in texts.items()
    }
    return UsualTokens(named, listed)


def special(text: str) -> FolderToken:
    """Return a special token that changes nothing if the vocabulary has it."""
    return FolderToken(text, TokenOptions(), True, True)


@dataclass(frozen=True)
class ClassTokens:
    """The tokens of a folder, with the ids that they get after a vocabulary."""

    config: FolderConfig
    keys: Mapping[str, int]
    #: The file that names the class, for errors.
    fields: Fields

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
        ids = self.ids()
        found: dict[str, Any] = {}
        rows: list[list[dict[str, Any]]] = []
        for form in (single, pair):
            row: list[dict[str, Any]] = []
            for item in form.split():
                name, _, kind = item.partition(":")
                if name in ("A", "B"):
                    row.append({"Sequence": {"id": name, "type_id": int(kind or 0)}})
                    continue
                text = (extra or {}).get(name) or self.text(name)
                if text not in ids:
                    self.fields.refuse(f"the vocabulary has no token {text!r}; expected one for the template", name)
                found[text] = {"id": text, "ids": [ids[text]], "tokens": [text]}
                row.append({"SpecialToken": {"id": text, "type_id": int(kind or 0)}})
            rows.append(row)
        return {"type": "TemplateProcessing", "single": rows[0], "pair": rows[1], "special_tokens": found}

    def ids(self) -> dict[str, int]:
        """Return the ids of all tokens."""
        return {**self.keys, **assigned_ids((token.text for token in self.config.tokens), self.keys)}

    def flagged(self, has_bos: bool, has_eos: bool) -> dict[str, Any] | None:
        """Return the template that flags for BOS and EOS define; a token that no file names is left out."""
        first = "bos" if has_bos and "bos_token" in self.config.uses else ""
        last = "eos" if has_eos and "eos_token" in self.config.uses else ""
        if not (first or last):
            return None
        return self.template(f"{first} A {last}", f"{first} A {last} {first and 'bos:1'} B:1 {last and 'eos:1'}")


def precompiled(charsmap: bytes) -> list[dict[str, Any]]:
    """Return the normalizers of a compiled table, which may be empty."""
    if not charsmap:
        return []
    return [{"type": "Precompiled", "precompiled_charsmap": b64encode(charsmap).decode()}]


def replaced(source: str, content: str, *, is_regex: bool = False) -> dict[str, Any]:
    """Return a `Replace`."""
    return {"type": "Replace", "pattern": {"Regex" if is_regex else "String": source}, "content": content}


def metaspace(scheme: str, *, split: bool = True) -> dict[str, Any]:
    """Return a `Metaspace`, as a pre-tokenizer or a decoder."""
    return {"type": "Metaspace", "replacement": SPACE_MARK, "prepend_scheme": scheme, "split": split}


def sequence(name: str, parts: Iterable[dict[str, Any]]) -> dict[str, Any] | None:
    """Return a `Sequence` of parts, which is in the field `name`; `None` if there are none."""
    listed = [*parts]
    return {"type": "Sequence", name: listed} if listed else None


def class_fields(config: Path) -> Fields:
    """Return a configuration; in old folders, `special_tokens_map.json` replaces its fields."""
    values, path = read_json(config) if config.is_file() else {}, config.with_name("special_tokens_map.json")
    if isinstance(values, dict) and "added_tokens_decoder" not in values and path.is_file():
        names = read_json(path)
        values = {**values, **(names if isinstance(names, dict) else {})}
    return Fields(values, path=config, place="")


def flag(fields: Fields, name: str, usual: bool) -> bool:
    """Return a flag of a configuration, or the usual one of a class; null is false."""
    if name not in fields:
        return usual
    value = fields.peek(name)
    return False if value is None else fields.checked(value, bool, name)


def number(fields: Fields, name: str, usual: int) -> int:
    """Return a small number of a configuration, or the usual one of a class."""
    value = fields.peek(name) if name in fields else usual
    if not 0 <= fields.checked(value, int, name) <= _MOST:
        fields.refuse(f"found {value}; expected 0 to {_MOST}", name)
    return int(value)


_MOST = 1 << 16


def refused_class(folder: Path, problem: str) -> VocabularyError:
    """Return the error about the class of a folder."""
    config = folder / CONFIG
    path, place = class_field(config)
    return VocabularyError(f"the class {class_of(config)!r} {problem}", path=path, place=place)


def with_padding(spec: TokenizerSpec, tokens: FolderConfig, fields: Fields, side: str) -> TokenizerSpec:
    """Return a spec of a class, which pads rows at `side` unless the configuration has a `padding_side`."""
    side = fields.checked(fields.peek("padding_side") or side, str, "padding_side")
    if side not in ("left", "right"):
        fields.refuse(f'found "{side}"; expected "left" or "right"', "padding_side")
    text = tokens.uses.get("pad_token", "")
    pad_id = {**spec.added_tokens, **spec.special_tokens}.get(text)
    if pad_id is None or (side == "right" and "pad_token" in fields):
        return spec  # as rows are padded without a default
    kind = number(fields, "pad_token_type_id", 0)
    return replace(spec, padding=RowPadding(pad_id, text, kind, "left" if side == "left" else "right"))


def config_file(spec: TokenizerSpec, folder: Path) -> dict[Path, bytes]:
    """Return the `tokenizer_config.json` for a folder of a vocabulary and merges: the class of GPT-2 and the tokens.

    Other fields of an existing file are kept.  The result is empty for a pattern other than GPT-2's.
    """
    if spec.pattern != PATTERNS["gpt2"]:
        return {}
    config = folder / CONFIG
    found = read_json(config) if config.is_file() else None
    values: dict[str, Any] = {CLASS: "GPT2Tokenizer", **(found if isinstance(found, dict) else {})}
    if END_OF_TEXT not in spec.special_tokens:
        values |= {f"{use}_token": None for use in ("bos", "eos", "unk")}
    known = {**spec.added_tokens, **spec.special_tokens}
    if known.keys() - {END_OF_TEXT} or "added_tokens_decoder" in values:
        flags = {"lstrip": False, "rstrip": False, "single_word": False, "normalized": False}
        values["added_tokens_decoder"] = {
            str(token_id): {"content": text, **flags, "special": text in spec.special_tokens}
            for text, token_id in sorted(known.items(), key=lambda item: item[1])
        }
    return {config: json.dumps(values).encode()}
