"""The `post_processor` of a `tokenizer.json`: the template for the ids around a text, and the blanks of offsets."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, TypeAlias

from ...files import StrPath
from ...spec.rules import Template, TrimOffsets
from ...spec.spec import MAX_ID, TokenizerSpec
from ..common.reading import Fields, parts_of, shown

#: The fields of a component that trims the places of tokens.
_TRIM = ("add_prefix_space", "trim_offsets")
_KNOWN = "ByteLevel, TemplateProcessing, BertProcessing, RobertaProcessing or a Sequence of these"
_MOST_TYPES = 255  # rows have type ids of 8 bits
_Items: TypeAlias = tuple[tuple[int | str, int], ...]
#: A component: it turns parts of a row, at first one for each text, into other parts; `None` if it cannot.
_Step: TypeAlias = Callable[[list[_Items]], list[_Items] | None]


def read_post_processor(value: object, *, path: StrPath) -> tuple[Template | None, tuple[TrimOffsets, ...]]:
    """Return the template of a `post_processor`, `None` when it adds nothing, and how it trims offsets.

    As in `tokenizers`, each token that one component of a Sequence adds is a part of its own for the next one, which
    takes two parts for a pair of texts.

    Raises `VocabularyError` naming an unknown component, and one that gets more parts than it has a form for.
    """
    trims: list[TrimOffsets] = []
    single: list[_Items] | None = [(("A", 0),)]
    pair: list[_Items] | None = [(("A", 0),), (("B", 1),)]
    found = False
    for part, place in parts_of(value, "processors", path, "post_processor"):
        fields = Fields(part, path=path, place=place)
        step = _step(fields, trims)
        fields.done()
        if step is None:
            continue
        found, single, pair = True, step(single or []), None if pair is None else step(pair)
        if single is None:
            fields.refuse("the components before it make three parts or more; expected one or two")
    if not found:
        return None, tuple(trims)
    items = tuple(item for part in single or () for item in part)
    if [item for item, _ in items if isinstance(item, str)] != ["A"]:
        Fields({}, path=path, place="post_processor").refuse("expected one Sequence A for one text")
    return Template(items, tuple(item for part in pair or () for item in part)), tuple(trims)


def _step(fields: Fields, trims: list[TrimOffsets]) -> _Step | None:
    """Read a component; `None` if it adds no ids."""
    kind = fields.take_type("type", str)
    match kind:
        case "ByteLevel":
            _take_trim(fields, trims)
            fields.take("use_regex", True)  # has no effect
            return None
        case "TemplateProcessing":
            return _template(fields)
        case "BertProcessing":
            return _bert(fields)
        case "RobertaProcessing" if all(name in fields for name in _TRIM):
            _take_trim(fields, trims)
            return _roberta(fields)
        case "RobertaProcessing":  # `tokenizers` goes by the fields: without both of these it reads a BertProcessing
            for name in _TRIM:
                fields.take(name, None)
            return _bert(fields)
    return fields.refuse(f"{kind!r} is not supported; expected {_KNOWN}")


def _template(fields: Fields) -> _Step:
    ids: dict[str, list[int]] = {}
    for text, value in fields.take_type("special_tokens", dict).items():
        token = Fields(value, path=fields.path, place=fields.at(f"special_tokens.{text}"))
        token.take_type("id", str)
        ids[text] = token.take_type("ids", list)
        token.take_type("tokens", list)
        token.done()
        if not ids[text] or not all(type(token_id) is int and 0 <= token_id <= MAX_ID for token_id in ids[text]):
            token.refuse(f"found {shown(ids[text])}; expected a list of ids, 0 to {MAX_ID}", "ids")
    forms = [_pieces(fields, "single", ids), _pieces(fields, "pair", ids)]
    if [text for text, _, _ in forms[0] if text is not None] != ["A"]:
        fields.refuse("expected one Sequence A", "single")

    def step(parts: list[_Items]) -> list[_Items] | None:
        if not 1 <= len(parts) <= 2:
            return None
        return [
            tuple((token_id, kind) for token_id in tokens)
            if text is None
            else tuple((item, kind) for item, _ in parts["AB".index(text)])
            for text, tokens, kind in forms[len(parts) - 1]
        ]

    return step


def _pieces(fields: Fields, name: str, ids: Mapping[str, list[int]]) -> list[tuple[str | None, list[int], int]]:
    """Take the pieces of a template: "A" or "B", or `None` for a special token; its ids; the type id."""
    pieces: list[tuple[str | None, list[int], int]] = []
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
            pieces.append((text, [], type_id))
        else:
            if text not in ids:
                inner.refuse(f"{text!r} is not among special_tokens", "id")
            pieces.append((None, ids[text], type_id))
    return pieces


def _bert(fields: Fields) -> _Step:
    sep, cls = _named(fields, "sep"), _named(fields, "cls")
    return lambda parts: [
        (*(() if number else ((cls, 0),)), *part, (sep, min(number, 1))) for number, part in enumerate(parts)
    ]


def _roberta(fields: Fields) -> _Step:
    sep, cls = _named(fields, "sep"), _named(fields, "cls")
    return lambda parts: [
        ((sep if number else cls, 0), *((item, 0) for item, _ in part), (sep, 0)) for number, part in enumerate(parts)
    ]


def _take_trim(fields: Fields, trims: list[TrimOffsets]) -> None:
    keeps_first = fields.take_type("add_prefix_space", bool)
    if fields.take_type("trim_offsets", bool):
        trims.append(TrimOffsets(keeps_first))


def _named(fields: Fields, name: str) -> int:
    value = fields.take_type(name, list)
    if len(value) != 2 or type(value[0]) is not str or type(value[1]) is not int or not 0 <= value[1] <= MAX_ID:
        fields.refuse(f"found {shown(value)}; expected a token and its id, 0 to {MAX_ID}", name)
    return int(value[1])


def write_post_processor(spec: TokenizerSpec) -> dict[str, Any] | None:
    """Return the `post_processor` for the template of a spec and its trims of offsets."""
    parts = [_written_trim(trim) for trim in spec.trims]
    if spec.template is not None:
        parts.append(_written_template(spec, spec.template))
    if len(parts) < 2:
        return parts[0] if parts else None
    return {"type": "Sequence", "processors": parts}


def _written_trim(trim: TrimOffsets) -> dict[str, Any]:
    return {"type": "ByteLevel", "add_prefix_space": trim.keeps_first, "trim_offsets": True, "use_regex": True}


def _written_template(spec: TokenizerSpec, template: Template) -> dict[str, Any]:
    named = {**spec.added_tokens, **spec.special_tokens}
    texts = {token_id: text for text, token_id in named.items()}
    used = {item for items in (template.single, template.pair) for item, _ in items if isinstance(item, int)}
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
        "single": written(template.single),
        "pair": written(template.pair),
        "special_tokens": {
            text: {"id": text, "ids": [token_id], "tokens": [text]} for token_id, text in names.items()
        },
    }
