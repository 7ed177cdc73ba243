"""The `post_processor` of a `tokenizer.json`: the template for the ids around a text."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeAlias

from ...files import StrPath
from ...spec.rules import Template
from ...spec.spec import MAX_ID, TokenizerSpec
from ..reading import Fields, parts_of, shown

_KNOWN = "ByteLevel, TemplateProcessing, BertProcessing, RobertaProcessing or a Sequence of these"
_MOST_TYPES = 255  # rows of ids have type ids of 8 bits
_Items: TypeAlias = tuple[tuple[int | str, int], ...]


def read_post_processor(value: object, *, path: StrPath) -> Template | None:
    """Return the template of a `post_processor`, `None` when it adds nothing.

    Raises `VocabularyError` naming an unknown component, and on two components that add ids.
    """
    if value is None:
        return None
    found: Template | None = None
    for part, place in parts_of(value, "processors", path, "post_processor"):
        fields = Fields(part, path=path, place=place)
        kind = fields.take_type("type", str)
        if kind == "ByteLevel":
            for name in ("add_prefix_space", "trim_offsets", "use_regex"):  # these change offsets, not ids
                fields.take(name, True)
            fields.done()
            continue
        if kind not in ("TemplateProcessing", "BertProcessing", "RobertaProcessing"):
            fields.refuse(f"{kind!r} is not supported; expected {_KNOWN}")
        if found is not None:
            fields.refuse(f"{kind!r} is the second component that adds ids; expected one")
        is_template, is_bert = kind == "TemplateProcessing", kind == "BertProcessing"
        found = _template(fields) if is_template else _pair_of(fields, is_bert=is_bert)
        fields.done()
    return found


def _template(fields: Fields) -> Template:
    ids: dict[str, list[int]] = {}
    for text, value in fields.take_type("special_tokens", dict).items():
        token = Fields(value, path=fields.path, place=fields.at(f"special_tokens.{text}"))
        token.take_type("id", str)
        ids[text] = token.take_type("ids", list)
        token.take_type("tokens", list)
        token.done()
        if not ids[text] or not all(type(token_id) is int and 0 <= token_id <= MAX_ID for token_id in ids[text]):
            token.refuse(f"found {shown(ids[text])}; expected a list of ids, 0 to {MAX_ID}", "ids")
    single = _items(fields, "single", ids)
    if [item for item, _ in single if isinstance(item, str)] != ["A"]:
        fields.refuse("expected one Sequence A", "single")
    return Template(single, _items(fields, "pair", ids))


def _items(fields: Fields, name: str, ids: Mapping[str, list[int]]) -> _Items:
    items: list[tuple[int | str, int]] = []
    for number, value in enumerate(fields.take_type(name, list)):
        item = Fields(value, path=fields.path, place=fields.at(f"{name}[{number}]"))
        kind = "Sequence" if "Sequence" in item else "SpecialToken"
        inner = Fields(item.take(kind), path=fields.path, place=item.at(kind))
        text, type_id = inner.take_type("id", str), inner.take_int("type_id", 0, _MOST_TYPES)
        inner.done()
        item.done()
        if kind == "Sequence":
            if text not in ("A", "B"):
                inner.refuse(f"{text!r} is not a sequence; expected A or B", "id")
            items.append((text, type_id))
        else:
            if text not in ids:
                inner.refuse(f"{text!r} is not among special_tokens", "id")
            items += [(token_id, type_id) for token_id in ids[text]]
    return tuple(items)


def _pair_of(fields: Fields, *, is_bert: bool) -> Template:
    """Return the template that is equivalent to BertProcessing or RobertaProcessing."""
    sep, cls = (_named(fields, name) for name in ("sep", "cls"))
    if not is_bert:
        for name in ("trim_offsets", "add_prefix_space"):  # these change offsets, not ids
            fields.take(name, True)
    first: _Items = ((cls, 0), ("A", 0), (sep, 0))
    second: _Items = (("B", 1), (sep, 1)) if is_bert else ((sep, 0), ("B", 0), (sep, 0))
    return Template(first, first + second)


def _named(fields: Fields, name: str) -> int:
    value = fields.take_type(name, list)
    if len(value) != 2 or type(value[0]) is not str or type(value[1]) is not int or not 0 <= value[1] <= MAX_ID:
        fields.refuse(f"found {shown(value)}; expected a token and its id, 0 to {MAX_ID}", name)
    return int(value[1])


def write_post_processor(spec: TokenizerSpec) -> dict[str, Any] | None:
    """Return the `post_processor` for the template of a spec."""
    if spec.template is None:
        return None
    named = {**spec.added_tokens, **spec.special_tokens}
    texts = {token_id: text for text, token_id in named.items()}
    used = {item for items in (spec.template.single, spec.template.pair) for item, _ in items if isinstance(item, int)}
    names = {token_id: texts.get(token_id, f"id {token_id}") for token_id in sorted(used)}

    def written(items: _Items) -> list[dict[str, Any]]:
        return [
            {"Sequence": {"id": item, "type_id": type_id}}
            if isinstance(item, str)
            else {"SpecialToken": {"id": names[item], "type_id": type_id}}
            for item, type_id in items
        ]

    return {
        "type": "TemplateProcessing",
        "single": written(spec.template.single),
        "pair": written(spec.template.pair),
        "special_tokens": {
            text: {"id": text, "ids": [token_id], "tokens": [text]} for token_id, text in names.items()
        },
    }
