"""The field of a record: a name, a path into objects, or a list of these, from which the first that is there counts.

A name with dots, such as "meta.text", is a field of that name if the record has one, else the field `text` of the
object in the field `meta`.  Of several names the first one counts that the record has a value for: null is none.  The
same holds for the columns of Parquet files and the fields of structs in them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import Any, TypeAlias

from ..lazy import safe_import

#: The name of a field, or names in the order in which they are looked for.
FieldName: TypeAlias = str | Sequence[str]
#: Where a value may be: the names of fields, from the record on.
Place: TypeAlias = tuple[str, ...]

#: The most names in a list.  A name with a dot has two places: the field of that name, and the path.
_MOST = 32
#: The most fields on the way to a value.
_DEEPEST = 16
_NOWHERE: Any = object()


def checked_field(argument: str, name: object, or_none: str = "") -> str | tuple[str, ...]:
    """Return the name of a field, or a tuple of names; `TypeError` or `ValueError` naming the argument.

    >>> checked_field("text_field", ["content", "text"]), checked_field("text_field", ["text"])
    (('content', 'text'), 'text')
    """
    if isinstance(name, str):
        names: tuple[str, ...] = (name,)
    elif isinstance(name, list | tuple):
        names = tuple(name)
    else:
        raise TypeError(f"{argument} must be a str{or_none}, or a list of them, not {type(name).__name__}")
    for each in names:
        if not isinstance(each, str):
            raise TypeError(f"{argument} must be a str{or_none}, or a list of them, not one of {type(each).__name__}")
        if each.count(".") >= _DEEPEST:
            raise ValueError(f"{argument} is {each[:40]!r}; expected a path of at most {_DEEPEST} names")
    if not 0 < len(names) <= _MOST or len({*names}) < len(names):
        raise ValueError(f"{argument} is {name!r}; expected 1 to {_MOST} names, each of them once")
    return names[0] if len(names) == 1 else names


def plain_field(name: FieldName) -> str | list[str]:
    """Return a name, or a list of names, as JSON has them."""
    return name if isinstance(name, str) else list(name)


def shown_field(name: FieldName) -> str:
    """Return a name for a message.

    >>> print(shown_field(("content", "meta.text")))
    'content' or 'meta.text'
    """
    return repr(name) if isinstance(name, str) else " or ".join(map(repr, name))


def places_of(name: FieldName) -> tuple[Place, ...]:
    """Return where the value of a field may be, in the order in which it is looked for.

    >>> places_of(("meta.text", "text"))
    (('meta.text',), ('meta', 'text'), ('text',))
    """
    return _places((name,) if isinstance(name, str) else tuple(name))


@lru_cache(maxsize=64)
def _places(names: tuple[str, ...]) -> tuple[Place, ...]:
    places: list[Place] = []
    for name in names:
        places.append((name,))
        if "." in name:
            places.append(tuple(name.split(".")))
    return tuple(places)


def encoded_field(name: FieldName) -> bytes | tuple[tuple[bytes, ...], ...]:
    """Return the name of a field, or its places, as `core.json_lines.read_lines` takes them."""
    places = tuple(tuple(key.encode("utf-8", "surrogatepass") for key in place) for place in places_of(name))
    return places[0][0] if len(places) == 1 else places


def value_of(record: Mapping[str, Any], name: FieldName, missing: Any = _NOWHERE) -> Any:
    """Return the value of a field of a record, `missing` if the record lacks it, or else `KeyError`.

    >>> value_of({"meta": {"text": "a"}}, "meta.text"), value_of({"b": "c", "a": None}, ("a", "b"))
    ('a', 'c')
    """
    found = missing
    for place in places_of(name):
        value: Any = record
        for key in place:
            value = value.get(key, _NOWHERE) if isinstance(value, Mapping) else None if value is None else _NOWHERE
        if value is None:
            found = None
        elif value is not _NOWHERE:
            return value
    if found is _NOWHERE:
        raise KeyError(name)
    return found


def fields_of(record: Mapping[str, Any], name: FieldName) -> str:
    """Return the fields of a record for a message, with those of objects that a path of the name begins with.

    >>> print(fields_of({"id": 1, "meta": {"title": "a"}}, "meta.text"))
    'id', 'meta.title'
    """
    begins = {place[0] for place in places_of(name) if len(place) > 1}
    found: list[str] = []
    for key, value in record.items():
        is_object = key in begins and isinstance(value, Mapping) and value
        found += [f"{key}.{inner}" for inner in value] if is_object else [key]
    return ", ".join(map(repr, found))


def paths_in_schema(schema: Any, name: FieldName) -> list[tuple[str, Any]]:
    """Return the paths of the columns of a schema of Arrow that a field may be in, in order, and their types."""
    safe_import("pyarrow")
    import pyarrow as pa

    found = []
    for place in places_of(name):
        if place[0] not in schema.names:
            continue
        kind = schema.field(place[0]).type
        for key in place[1:]:
            index = kind.get_field_index(key) if kind is not None and pa.types.is_struct(kind) else -1
            kind = kind.field(index).type if index >= 0 else None
        if kind is not None:
            found.append((".".join(place), kind))
    return found


def columns_in_schema(schema: Any, name: FieldName) -> str:
    """Return the columns of a schema of Arrow for a message, as `fields_of` those of a record."""
    safe_import("pyarrow")
    import pyarrow as pa

    begins = {place[0] for place in places_of(name) if len(place) > 1}
    found: list[str] = []
    for field in schema:
        is_struct = field.name in begins and pa.types.is_struct(field.type) and field.type.num_fields
        found += [f"{field.name}.{inner.name}" for inner in field.type] if is_struct else [field.name]
    return ", ".join(map(repr, found))


def columns_of(batch: Any, name: FieldName) -> list[Any]:
    """Return the columns of a batch of Arrow that a field may be in, in order."""
    safe_import("pyarrow")
    import pyarrow as pa

    found = []
    for place in places_of(name):
        column = batch.column(place[0]) if place[0] in batch.schema.names else None
        for key in place[1:]:
            index = column.type.get_field_index(key) if column is not None and pa.types.is_struct(column.type) else -1
            # a field of a struct that is null is null, which `field` would not say
            column = None if column is None or index < 0 else column.flatten()[index]
        if column is not None:
            found.append(column)
    return found


def first_of(columns: Sequence[Any]) -> Any:
    """Return a column of Arrow with the first value of each row of some columns of texts that is not null."""
    first = columns[0]
    if len(columns) == 1 or not first.null_count:
        return first
    safe_import("pyarrow.compute")
    import pyarrow.compute as pc

    return pc.coalesce(*(column.cast("large_binary") for column in columns))
