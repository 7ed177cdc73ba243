"""Data classes that are made without compiling code at import, and checks of the arguments of callers.

`dataclasses.dataclass` compiles about six functions for each class, and imports `inspect`: together a fifth of the time
in which a process loads a tokenizer and encodes its first text.  The classes of this module share their functions,
and compile their `__init__` when the first object is made.  `dataclasses.fields`, `replace` and `asdict` accept them.
"""

from __future__ import annotations

import errno
import operator
import os
from collections.abc import Callable, Iterable, Sequence
from pathlib import PurePath
from types import FunctionType
from typing import TYPE_CHECKING, Any, NoReturn

from .lazy import lazy_re, np, safe_import

__all__ = [
    "asdict", "check_file_name", "check_names", "check_suffix", "check_unmasked", "checked_path", "dataclass",
    "dtype_of", "field", "fields", "flag", "index_of", "is_file_suffix", "is_text_or_bytes", "kind", "names_folder",
    "real", "replace", "whole",
]  # fmt: skip

#: The suffix of a kind of files.
_SUFFIX = lazy_re(r"\.(?!v\d)[A-Za-z][A-Za-z0-9]{1,8}")
_MISSING: Any = object()


class _Made:
    """The default of an argument whose field has a maker, as `dataclasses` shows it."""

    def __repr__(self) -> str:
        return "<factory>"



class _Field:
    """A field: its default or the maker of its default, and where it takes part."""

    def __init__(
        self,
        default: Any = _MISSING,
        *,
        default_factory: Any = None,
        init: bool = True,
        repr: bool = True,  # noqa: A002
        compare: bool = True,
    ) -> None:
        self.default, self.factory = default, default_factory
        self.init, self.repr, self.compare = init, repr, compare
        self.kw_only, self.annotation = False, ""

    def as_standard(self) -> Any:
        """Return the same field of the module `dataclasses`."""
        safe_import("dataclasses")
        from dataclasses import field

        options: dict[str, Any] = {"init": self.init, "repr": self.repr, "compare": self.compare}
        options["kw_only"] = self.kw_only
        if self.factory is not None:
            return field(default_factory=self.factory, **options)
        return field(**options) if self.default is _MISSING else field(default=self.default, **options)


class _Init:
    """The `__init__` of a class, which replaces itself by the compiled function on its first use."""

    def __init__(self, owner: Any) -> None:
        self._owner = owner

    def __get__(self, instance: object, kind: type | None = None) -> Any:
        made = self._owner.__init__ = _compiled_init(self._owner)
        return made if instance is None else made.__get__(instance)


class _Standard:
    """An attribute that `dataclasses` gives its classes, made on its first use."""

    def __init__(self, owner: Any, name: str) -> None:
        self._owner, self._name = owner, name

    def __get__(self, instance: object, kind: type | None = None) -> Any:
        safe_import("dataclasses")
        from dataclasses import dataclass

        owner = self._owner
        values = {name: row.as_standard() for name, row in owner.__record__.items()}
        annotations = {name: row.annotation for name, row in owner.__record__.items()}
        namespace = {"__module__": owner.__module__, "__annotations__": annotations, **values}
        is_frozen = owner.__setattr__ is _refuse_to_set
        made = getattr(dataclass(frozen=is_frozen)(type(owner.__name__, (), namespace)), self._name)
        setattr(owner, self._name, made)
        return made


def _compiled_init(owner: Any) -> FunctionType:
    """Return the `__init__` of a class, as `dataclasses` writes it."""
    values: dict[str, Any] = {"_made": _Made(), "_set": object.__setattr__}
    arguments: list[str] = []
    keywords, lines = ["*"], list[str]()
    for name, row in owner.__record__.items():
        if not row.init:
            continue  # `__post_init__` sets it
        has_default = row.default is not _MISSING or row.factory is not None
        values[f"_of_{name}"] = row.default if row.factory is None else row.factory
        default = "" if not has_default else f"=_of_{name}" if row.factory is None else "=_made"
        (keywords if row.kw_only else arguments).append(name + default)
        made = name if row.factory is None else f"_of_{name}() if {name} is _made else {name}"
        lines.append(f"_set(self, {name!r}, {made})")
    if hasattr(owner, "__post_init__"):
        lines.append("self.__post_init__()")
    body = "\n ".join(lines or ["pass"])
    parts = ["self", *arguments, *(keywords if len(keywords) > 1 else ())]
    exec(f"def __init__({', '.join(parts)}):\n {body}", values)
    made_function: FunctionType = values["__init__"]
    made_function.__qualname__, made_function.__module__ = f"{owner.__qualname__}.__init__", owner.__module__
    annotations = {name: row.annotation for name, row in owner.__record__.items() if row.init}
    made_function.__annotations__ = {**annotations, "return": None}
    return made_function


def _values(record: Any) -> tuple[Any, ...]:
    return tuple([getattr(record, name) for name, row in record.__record__.items() if row.compare])


def _equal(self: Any, other: object) -> Any:
    return _values(self) == _values(other) if other.__class__ is self.__class__ else NotImplemented


def _ordering(compare: Callable[[Any, Any], bool]) -> Callable[[Any, object], Any]:
    def method(self: Any, other: object) -> Any:
        return compare(_values(self), _values(other)) if other.__class__ is self.__class__ else NotImplemented

    return method


_ORDERINGS = {f"__{name}__": _ordering(getattr(operator, name)) for name in ("lt", "le", "gt", "ge")}


def _hash(self: Any) -> int:
    return hash(_values(self))


def _repr(self: Any) -> str:
    shown = (f"{name}={getattr(self, name)!r}" for name, row in self.__record__.items() if row.repr)
    return f"{self.__class__.__qualname__}({', '.join(shown)})"


def _refuse_to_set(self: object, name: str, value: object) -> NoReturn:
    safe_import("dataclasses")
    from dataclasses import FrozenInstanceError

    raise FrozenInstanceError(f"cannot assign to field {name!r}")


def _refuse_to_delete(self: object, name: str) -> NoReturn:
    safe_import("dataclasses")
    from dataclasses import FrozenInstanceError

    raise FrozenInstanceError(f"cannot delete field {name!r}")


def _replace(record: Any, /, **changes: Any) -> Any:
    """Return a record with other values in some fields."""
    for name, row in record.__record__.items():
        if row.init:
            changes.setdefault(name, getattr(record, name))
    return type(record)(**changes)


def _asdict(record: Any) -> dict[str, Any]:
    """Return the fields and values of a record, and of records in these, as dicts."""
    safe_import("dataclasses")
    from dataclasses import asdict

    return asdict(record)


def _fields(record: Any) -> tuple[Any, ...]:
    """Return the fields of a record or its class."""
    safe_import("dataclasses")
    from dataclasses import fields

    return fields(record)


def _dataclass(
    owner: Any = None, /, *, frozen: bool = False, eq: bool = True, order: bool = False, kw_only: bool = False
) -> Any:
    """Make a class with annotated fields a data class."""

    def make(owner: Any) -> Any:
        rows: dict[str, _Field] = {}
        for base in owner.__mro__[:0:-1]:
            rows.update(base.__dict__.get("__record__", {}))
        for name, annotation in owner.__annotations__.items():
            value = owner.__dict__.get(name, _MISSING)
            row = rows[name] = value if isinstance(value, _Field) else _Field(value)
            row.annotation, row.kw_only = annotation, kw_only
            if row is value and row.default is not _MISSING:
                setattr(owner, name, row.default)
            elif row is value:
                delattr(owner, name)
        shared: dict[str, Any] = {"__repr__": _repr, "__replace__": _replace}
        shared |= {"__eq__": _equal, "__hash__": _hash if frozen else None} if eq else {}
        shared |= _ORDERINGS if order else {}
        for name, function in shared.items():
            if name not in owner.__dict__:
                setattr(owner, name, function)
        if frozen:
            owner.__setattr__, owner.__delattr__ = _refuse_to_set, _refuse_to_delete
        positional = tuple(name for name, row in rows.items() if row.init and not row.kw_only)
        made = {"__record__": rows, "__match_args__": positional, "__init__": _Init(owner)}
        made |= {name: _Standard(owner, name) for name in ("__dataclass_fields__", "__dataclass_params__")}
        for name, value in made.items():
            setattr(owner, name, value)
        return owner

    return make if owner is None else make(owner)


if TYPE_CHECKING:
    from dataclasses import asdict, dataclass, field, fields, replace
else:
    asdict, dataclass, field, fields, replace = _asdict, _dataclass, _Field, _fields, _replace


def whole(
    name: str, value: object, least: int | None = None, most: int | None = None, *, expected: str = "an int",
    detail: str = "",
) -> int:  # fmt: skip
    """Return an argument that is a whole number, such as an int or one of NumPy's, as an int; a bool is none.

    Raises `TypeError` or `ValueError` naming the argument and its bounds; `detail` says why there are such.

    >>> whole("threads", 2, 1, 8)
    2
    """
    try:
        number = None if isinstance(value, bool) else operator.index(value)  # type: ignore[arg-type]
    except TypeError:
        number = None
    if number is None:
        raise TypeError(f"{name} must be {expected}, not {type(value).__name__}")
    if (least is not None and number < least) or (most is not None and number > most):
        bounds = f"at most {most}" if least is None else f"at least {least}" if most is None else f"{least} to {most}"
        raise ValueError(f"{name} is {number}; expected {bounds}{detail}")
    return number


def index_of(name: str, value: Any) -> int:
    """Return a place in a sequence as an int; a bool is none, nor is a number with a point.  Raises as `whole`.

    >>> index_of("document", 3)
    3
    """
    return value if type(value) is int else whole(name, value)


def choice(name: str, value: object, known: Iterable[object], other: str = "", hint: str = "") -> None:
    """Raise `ValueError` that names an argument, what it may be, and what is like it, unless it is one of `known`.

    `other` is what else the argument may be, and `hint` the end of the message.

    >>> choice("side", "lift", ("left", "right"))
    Traceback (most recent call last):
    ValueError: side is 'lift'; expected 'left' or 'right'; did you mean 'left'?
    """
    values = tuple(known)
    if type(value) in (str, int, bool, type(None)) and value in values:
        return
    safe_import("difflib")
    from difflib import get_close_matches

    texts = [text for text in values if isinstance(text, str)]
    near = get_close_matches(value.lower(), texts, n=1) if isinstance(value, str) else []
    hint = hint or (f"; did you mean {near[0]!r}?" if near else "")
    *first, last = [*map(repr, values), *([other] if other else [])]
    raise ValueError(f"{name} is {value!r:.60}; expected {', '.join(first)}{' or ' * bool(first)}{last}{hint}")


def real(name: str, value: Any) -> float:
    """Return an argument that is a number, such as an int, a float or one of NumPy's; a bool is none.

    Raises `TypeError` naming the argument.

    >>> real("sample", 1)
    1
    """
    if _is_truth(value) or not hasattr(value, "__float__") or getattr(value, "ndim", False):
        raise TypeError(f"{name} must be a number, not {type(value).__name__}")
    found: float = value if isinstance(value, int | float) else float(value)
    return found


def _is_truth(value: object) -> bool:
    return isinstance(value, bool) or getattr(getattr(value, "dtype", None), "kind", "") == "b"


def flag(name: str, value: Any) -> bool:
    """Return an argument that is True or False, such as a bool or one of NumPy's.

    Raises `TypeError` naming the argument; a text such as "no" is true to Python.

    >>> flag("special", False)
    False
    """
    if value is True or value is False:
        return value
    if not _is_truth(value) or getattr(value, "ndim", False):
        raise TypeError(f"{name} must be a bool, not {type(value).__name__}")
    return bool(value)


def dtype_of(value: Any, expected: str) -> np.dtype[Any]:
    """Return the argument `dtype` as NumPy reads it, but for `None`, which NumPy takes for a double; or `TypeError`.

    >>> dtype_of("uint16", "one of integers")
    dtype('uint16')
    """
    try:
        found: np.dtype[Any] | None = None if value is None else np.dtype(value)
    except TypeError:
        found = None
    if found is None:
        raise TypeError(f"dtype is {value!r}; expected {expected}")
    return found


def kind(name: str, value: object, kinds: Any, expected: str, way: str = "") -> None:
    """Raise `TypeError` that names an argument of another kind, what is expected of it, and the way out."""
    if not isinstance(value, kinds):
        raise TypeError(f"{name} must be {expected}, not {type(value).__name__}{way and f': {way}'}")


def is_text_or_bytes(value: object) -> bool:
    """Return whether a value is a text or bytes, whose items would be taken for ids."""
    return isinstance(value, str | bytes | bytearray) or (isinstance(value, memoryview) and value.format in ("B", "c"))


def check_unmasked(name: str, array: Any) -> None:
    """Raise `TypeError` naming an argument that is a masked array of NumPy, unless its mask leaves nothing out."""
    if hasattr(array, "mask") and array.mask.any():
        raise TypeError(f"{name} must be without a mask, which is not used: give ids.compressed(), what is not masked")


def checked_path(name: str, value: Any) -> str | os.PathLike[str]:
    """Return an argument that is a path or a URL; `TypeError` naming it when it is none, such as bytes or a number.

    Raises `ValueError` for an empty one, which a variable that is not set gives: it would be the current folder.
    """
    kind(name, value, str | os.PathLike, "a str or a path")
    if value == "":
        raise ValueError(f"{name} is empty; expected the name of a file or a folder")
    path: str | os.PathLike[str] = value
    return path


def is_file_suffix(suffix: str) -> bool:
    """Return whether a suffix looks like the kind of a file; a version, as in "model-1.5" and "model.v2", does not.

    >>> is_file_suffix(".html"), is_file_suffix(".5"), is_file_suffix(".v2"), is_file_suffix("")
    (True, False, False, False)
    """
    return _SUFFIX.fullmatch(suffix) is not None


def names_folder(path: str | os.PathLike[str]) -> bool:
    """Return whether a path can be that of a folder only, as one with a slash at its end is.

    >>> names_folder("a/"), names_folder("a/."), names_folder("a.json")
    (True, True, False)
    """
    # a Path has lost the slash
    return os.path.split(path)[1] in ("", ".", "..")


def check_file_name(path: str | os.PathLike[str], what: str = "a file") -> None:
    """Refuse to write `what` under the name of a folder; raises `IsADirectoryError` naming it.

    >>> check_file_name("a.csv/", "the counts")
    Traceback (most recent call last):
    IsADirectoryError: [Errno 21] a path that ends so is a folder; expected the name of the counts: 'a.csv/'
    """
    if names_folder(path):
        problem = f"a path that ends so is a folder; expected the name of {what}"
        raise IsADirectoryError(errno.EISDIR, problem, os.fspath(path))


def check_suffix(path: str | os.PathLike[str], what: str, suffixes: Sequence[str]) -> None:
    """Refuse to write `what` under the name of another kind of file; any name without the suffix of one is right.

    >>> check_suffix("a.csv", "counts", [".parquet"])
    Traceback (most recent call last):
    ValueError: a.csv: counts cannot have the suffix '.csv'; expected .parquet
    """
    suffix = PurePath(path).suffix
    if is_file_suffix(suffix) and suffix.lower() not in suffixes:
        raise ValueError(f"{path}: {what} cannot have the suffix {suffix!r}; expected {' or '.join(suffixes)}")


def did_you_mean(word: str, known: Iterable[str], most: int = 1) -> str:
    """Return a hint with the known words that are most like a word, in upper or lower case; empty if none is.

    >>> did_you_mean("GPT-4o", ["gpt-4o", "gpt2"]), did_you_mean("zebra", ["gpt2"])
    (" (did you mean 'gpt-4o'?)", '')
    """
    safe_import("difflib")
    from difflib import get_close_matches

    folded: dict[str, str] = {}
    for each in known:
        folded.setdefault(each.lower(), each)
    near = [folded[found] for found in get_close_matches(word.lower(), folded, n=most)]
    return f" (did you mean {' or '.join(map(repr, near))}?)" if near else ""


def check_names(function: str, options: Iterable[str], known: Iterable[str]) -> None:
    """Raise `TypeError` for the function that the user called when it has no option of a name."""
    names = list(known)
    wrong = next((name for name in options if name not in names), None)
    if wrong is not None:
        safe_import("difflib")
        from difflib import get_close_matches

        near = get_close_matches(wrong, names, n=1)
        hint = f"; did you mean {near[0]!r}?" if near else ""
        raise TypeError(f"{function}() got an unexpected keyword argument {wrong!r}{hint}")
