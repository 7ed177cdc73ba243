"""The tokens that files beside a vocabulary name by their uses, list, or give ids, as HF's `transformers` reads them.

Each function raises `VocabularyError` naming the file and the field that is malformed.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from ...records import dataclass, field, replace
from ...spec.rules import TokenOptions
from ...spec.spec import MAX_ID
from ..common.reading import Fields, shown

#: The order in which `transformers` adds tokens that are named by their uses, before those of other uses.
NAMED = ("bos_token", "eos_token", "unk_token", "sep_token", "pad_token", "cls_token", "mask_token")
EXTRA, ADDITIONAL, SPECIFIC = "extra_special_tokens", "additional_special_tokens", "model_specific_special_tokens"


@dataclass(frozen=True)
class FolderToken:
    """A token of the files.

    `is_named`: it is named by its use or in a list, so it changes nothing if the vocabulary has it.  `is_object`: it is
    no plain text, in a file or for its class.
    """

    text: str
    options: TokenOptions = TokenOptions()
    is_special: bool = True
    is_named: bool = True
    is_object: bool = field(default=False, compare=False)

    def with_text(self, text: str) -> FolderToken:
        """Return a token of another text with the options of this one."""
        return FolderToken(text, self.options, is_object=self.is_object or self.options != TokenOptions())


def chosen_tokens(tokens: Iterable[FolderToken]) -> dict[str, FolderToken]:
    """Return one token for each text: the last one that is not equal to one before it, as a text and an object are."""
    chosen: dict[str, FolderToken] = {}
    seen: set[tuple[str, TokenOptions, bool]] = set()
    for token in tokens:
        form = token.text, token.options, token.is_object
        if form not in seen:
            chosen[token.text] = token
            seen.add(form)
    return chosen


def named_tokens(sources: Sequence[Fields], usual: Mapping[str, FolderToken]) -> dict[str, FolderToken]:
    """Return the tokens by their uses, in order; the first source that has a use counts, and the usual ones last."""
    found: dict[str, FolderToken] = {}
    for use in NAMED:
        source = next((source for source in sources if use in source), None)
        if source is None and use in usual:
            found[use] = usual[use].with_text(usual[use].text)
        elif source is not None and source.peek(use) is not None:
            found[use] = _token(source.peek(use), source, use)
            if use in usual and isinstance(source.peek(use), str):
                found[use] = usual[use].with_text(found[use].text)  # a text has the options of the class
    nulls = {use for source in sources for use in source.names() if source.peek(use) is None}
    found |= {use: token for use, token in usual.items() if use not in NAMED and use not in nulls}
    # tokens of a model's own: objects of the configuration, those of the map, and then texts and groups
    config = sources[-1]
    for source, kinds in ((config, dict), *((each, str | dict) for each in sources[:-1]), (config, str)):
        for use in source.names():
            # flags such as add_bos_token have such names too
            if use.endswith("_token") and use not in NAMED and isinstance(source.peek(use), kinds):
                found[use] = _token(source.peek(use), source, use)
    for source in reversed(sources):
        for group in (SPECIFIC, EXTRA):
            values = source.peek(group)
            for use, value in values.items() if isinstance(values, dict) else ():
                found[use] = _token(value, source, f"{group}.{use}")
    return found


def listed_tokens(sources: Sequence[Fields], usual: Sequence[FolderToken]) -> list[FolderToken]:
    """Return the list of special tokens of the last file that has one, or the usual list.

    The usual list takes precedence over that of `special_tokens_map.json`, and over one beside a table of tokens.
    """
    config = sources[-1]
    has_table = isinstance(config.peek(EXTRA), dict)
    has_list = any(isinstance(config.peek(use), list) for use in (EXTRA, ADDITIONAL))
    for source in reversed(sources):
        # a list of the configuration replaces the one of the map, even if it is empty
        is_weak = (bool(usual) and (source is not config or has_table)) or (source is not config and has_list)
        for use in (EXTRA,) if is_weak else (EXTRA, ADDITIONAL):
            if source.peek(use) and not isinstance(source.peek(use), dict):
                return _list(source, use)
    is_given = any(use in config for use in (EXTRA, ADDITIONAL))
    return [] if is_given and not has_table else [*usual]


def flag(config: Fields, name: str) -> bool | None:
    """Return a flag, `None` without one."""
    value = config.peek(name)
    if value is not None and type(value) is not bool:
        config.refuse(f"found {shown(value)}; expected true or false", name)
    return value


def table_tokens(config: Fields) -> Iterator[tuple[int, FolderToken]]:
    """Yield the ids and tokens of `added_tokens_decoder`, in order."""
    rows = config.peek("added_tokens_decoder")
    if rows is None:
        return
    if not isinstance(rows, Mapping) or not all(key.isascii() and key.isdigit() and len(key) < 11 for key in rows):
        config.refuse(f"found {shown(rows)}; expected ids and tokens", "added_tokens_decoder")
    for key, value in sorted(rows.items(), key=lambda row: int(row[0])):
        place = f"added_tokens_decoder.{key}"
        if int(key) > MAX_ID or not isinstance(value, dict):
            config.refuse(f"found {shown(value)}; expected a token and its options", place)
        token = _token(value, config, place)
        yield int(key), replace(token, is_special=value.get("special") is True, is_named=False)


def document_tokens(document: Fields) -> Iterator[tuple[int, FolderToken]]:
    """Yield the ids and added tokens of a tokenizer.json."""
    for number, value in enumerate(document.checked(document.peek("added_tokens") or [], list, "added_tokens")):
        row = Fields(value, path=document.path, place=f"added_tokens[{number}]")
        yield row.take_int("id", 0, MAX_ID), replace(_token(value, document, row.place), is_named=False)


def numbered_tokens(added: Fields, special: set[str]) -> list[tuple[int, FolderToken]]:
    """Return the ids and tokens of `added_tokens.json`, in order."""
    rows: dict[int, str] = {}
    for text in added.names():
        token_id = added.take_int(text, 0, MAX_ID)
        if rows.setdefault(token_id, text) != text:
            added.refuse(f"{rows[token_id]!r} has the id {token_id} too; expected one token for each id", text)
    # `transformers` finds those that are not special in the normalized text
    return [
        (token_id, FolderToken(text, TokenOptions(normalized=text not in special), text in special, False))
        for token_id, text in sorted(rows.items())
    ]


def _list(source: Fields, use: str) -> list[FolderToken]:
    values = source.peek(use)
    if not isinstance(values, list):
        source.refuse(f"found {shown(values)}; expected a list of tokens", use)
    return [_token(value, source, f"{use}[{number}]") for number, value in enumerate(values)]


def _token(value: Any, source: Fields, place: str) -> FolderToken:
    """Return a token that is a text or an object with its options."""
    is_object = not isinstance(value, str)
    value = value if is_object else {"content": value}
    fields = Fields(value, path=source.path, place=place)
    text = fields.take_type("content", str)
    if not text:
        fields.refuse("the token is the empty string; expected at least one character", "content")
    flags = [fields.take_type(name, bool, False) for name in ("lstrip", "rstrip", "single_word", "normalized")]
    return FolderToken(text, TokenOptions(*flags), is_object=is_object)
