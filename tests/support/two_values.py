"""Rows of tables of options: for each option two values, and a call in which they give something else."""

from __future__ import annotations

import inspect
import json
from collections.abc import Callable, Iterator, Mapping
from dataclasses import is_dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

import bbpe
from bbpe.counting.options import CorpusOptions, FileOptions, TextOptions
from bbpe.shards.policy import IteratorOptions, ShardOptions

#: Keywords that a signature has as `**options`, by their annotation.
UNPACKED: dict[str, set[str]] = {
    f"Unpack[{kind.__name__}]": set(kind.__annotations__)
    for kind in (CorpusOptions, FileOptions, IteratorOptions, TextOptions, ShardOptions)
}


class Two(NamedTuple):
    """Two values of an option, `...` for none, and other arguments of both calls."""

    first: Any
    second: Any
    more: Mapping[str, Any] = {}


class Row(NamedTuple):
    call: Callable[..., Any]
    given: Mapping[str, Any]
    options: Mapping[str, Two]


def seen(result: Any) -> Any:
    """What somebody sees of a result, as something that can be compared."""
    if isinstance(result, np.ndarray):
        return result.dtype.str, result.tolist()
    if isinstance(result, bbpe.Tokenizer):
        return result.fingerprint, result.get_vocab(), result.name
    if isinstance(result, bbpe.PretokenCounts):
        return list(result), str(result.spec), result.summary
    if isinstance(result, bbpe.Shards):
        return [ids.tolist() for ids in result], len(result.plan), result.plan.policy
    if isinstance(result, bbpe.CountPlan):
        return str(result.record())
    if isinstance(result, tuple | list) or inspect.isgenerator(result):
        return list(map(seen, result))
    if hasattr(result, "as_dict"):
        return json.dumps(result.as_dict(), sort_keys=True, default=str)
    if hasattr(result, "lengths") or hasattr(result, "offsets") or hasattr(result, "spans"):
        names = ("ids", "mask", "lengths", "offsets", "spans", "type_ids", "sequence_ids")
        parts = {name: getattr(result, name, None) for name in names}
        return [(name, seen(np.asarray(part))) for name, part in parts.items() if part is not None]
    return repr(result) if is_dataclass(result) else result


def outcome(call: Callable[..., Any], given: Mapping[str, Any]) -> Any:
    """What a call returns, or the error by which it refuses."""
    try:
        return seen(call(**{name: value for name, value in given.items() if value is not ...}))
    except (ValueError, bbpe.BBPEError) as error:
        return type(error).__name__, str(error)


def differs(call: Callable[..., Any], given: Mapping[str, Any], option: str, two: Two) -> None:
    found = [outcome(call, {**given, **two.more, option: value}) for value in (two.first, two.second)]
    assert found[0] != found[1], f"{option} changes nothing"
    # one of both is no refusal, or the test would compare two messages
    assert any(not (isinstance(each, tuple) and each[:1] and str(each[0]).endswith("Error")) for each in found), found


def optional(call: Callable[..., Any]) -> set[str]:
    """The names of parameters that a call may leave out; other keywords that a function takes as `**name`."""
    found: set[str] = set()
    for name, row in inspect.signature(call).parameters.items():
        if row.kind is row.VAR_KEYWORD:
            found |= UNPACKED.get(str(row.annotation), {f"**{name}"})
        elif row.default is not row.empty:
            found.add(name)
    return found


def callables(kind: type) -> Iterator[tuple[str, Callable[..., Any]]]:
    """The public methods of a class, and `__init__` if it is written in Python."""
    for name, value in inspect.getmembers(kind):
        if not callable(value) or (name.startswith("_") and name != "__init__"):
            continue
        if name == "__init__" and not (inspect.isfunction(value) and value.__qualname__.startswith(kind.__name__)):
            continue
        if str(getattr(value, "__module__", "")).startswith("bbpe"):  # not of a base class of Python
            yield name, value


def public(*owners: type) -> Iterator[tuple[str, Callable[..., Any]]]:
    """Names and objects of what is public: functions of the package, methods of its classes, and those of others."""
    for name in bbpe.__all__:
        found = getattr(bbpe, name)
        if inspect.isclass(found):
            owners = (*owners, found)
        elif callable(found):
            yield name, found
    for kind in owners:
        for name, value in callables(kind):
            yield f"{label(kind)}.{name}", value


def label(kind: type) -> str:
    """The name of a class; with its module where another one of the package has that name."""
    is_public = getattr(bbpe, kind.__name__, None) is kind
    return kind.__name__ if is_public else f"{kind.__module__.removeprefix('bbpe.')}.{kind.__name__}"


def is_there(test: str) -> bool:
    """Whether a test is there, as "folder/test_file.py::test_name" below tests/."""
    path, _, name = test.partition("::")
    file = Path(__file__).resolve().parents[1] / path
    return file.exists() and f"def {name}(" in file.read_text("utf-8")
