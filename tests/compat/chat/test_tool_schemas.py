"""JSON schemas of functions, compared with those of `transformers`."""

from __future__ import annotations

import copy
import warnings
from collections.abc import Callable
from enum import Enum
from typing import Any, Dict, List, Literal, Optional, Tuple, Union  # noqa: UP035 - hints that users still write

import pytest

from bbpe.compat.chat.messages import tools_of

with warnings.catch_warnings():
    warnings.simplefilter("ignore")
    pytest.importorskip("transformers")
    from transformers.utils import get_json_schema


class Drink(Enum):
    TEA, COFFEE = "tea", "coffee"


class Mixed(Enum):
    ONE, TWO, NONE = 1, "two", None


class Own:
    def method(self, x: int) -> str:
        """A method.

        Args:
            x: A number.
        """
        return str(x)


def plain(city: str, days: int, exact: float, ok: bool) -> None:
    """Describe the weather.

    A second paragraph
    of two lines.

    Args:
        city: The city,
            and its country: both.
        days (int): How many
          days.

        exact: A number
        ok: Whether; (optional)
    """


def defaults(
    a: str = "x", b: int | None = None, *, c: Optional[List[str]] = None,  # noqa: UP006, UP045
) -> dict[str, int]:  # fmt: skip
    """Have defaults.

    Args:
        a: First
        b: Second
        c: Third

    Returns:
        A table of numbers.
    Raises:
        ValueError: never
    """
    return {}


def containers(
    a: list[int], b: dict[str, list[float]], c: tuple[int, str], d: list, e: dict, f: tuple, g: Any,
    h: Dict, i: Tuple, j: List,  # noqa: UP006
) -> None:  # fmt: skip
    """Take containers.

    Args:
        a: a
        b: b
        c: c
        d: d
        e: e
        f: f
        g: g
        h: h
        i: i
        j: j
    """


def unions(
    a: int | str, b: Union[list[int], dict], c: list | tuple | None, d: str | None, e: int | list[int],  # noqa: UP007
) -> int | None:  # fmt: skip
    """Take unions.

    Args:
        a: a
        b: b
        c: c
        d: d
        e: e

    Returns: in one line
    """
    return None


def choices(
    a: Drink, b: Mixed, c: Literal["x", "y"], d: Literal[1, "z", None], e: str, f: int, g: Literal[True]
) -> None:
    """Choose.

    Args:
        a: a
        b: b
        c: c
        d: d
        e: A drink (choices: ["tea ", "coffee"])
        f: A number (Choices: [1, 2])
        g: g
    """


def nothing() -> Own:
    """Take nothing, and return a class of its own."""
    return Own()


def odd(x: int) -> int:
    """Say Returns: in a sentence. Args:

    Args:
        x: described

    Returns:
        Something
          else.
    """
    return x


def bare(x: int):  # type: ignore[no-untyped-def]
    """Say nothing of a result.

    Args:
        x: A number
    """


FUNCTIONS: list[Callable[..., Any]] = [
    plain, defaults, containers, unions, choices, nothing, odd, bare, Own().method, Own.method
]  # fmt: skip


@pytest.mark.parametrize("function", FUNCTIONS, ids=lambda function: str(function.__qualname__))
def test_schemas(function: Callable[..., Any]) -> None:
    want = get_json_schema(function)
    got = tools_of([function])
    assert got == [want]
    # a template writes them in their order
    assert repr(got) == repr([want])


def no_docstring(x: int) -> None: ...


def no_hint(x) -> None:  # type: ignore[no-untyped-def]
    """Do it.

    Args:
        x: A number
    """


def not_described(x: int, y: int) -> None:
    """Do it.

    Args:
        x: A number
    """


def own_class(x: Own) -> None:
    """Do it.

    Args:
        x: A class
    """


def second_self(x: int, self) -> None:  # type: ignore[no-untyped-def]
    """Do it.

    Args:
        x: A number
        self: Another
    """


def any_length(x: tuple[int, ...]) -> None:
    """Do it.

    Args:
        x: A tuple
    """


def own_set(x: set[int]) -> None:
    """Do it.

    Args:
        x: A set
    """


def choice_of_bytes(x: Literal[b"a"]) -> None:
    """Do it.

    Args:
        x: A choice
    """


def wrong_choices(x: str) -> None:
    """Do it.

    Args:
        x: A text (choices: tea, coffee)
    """


def unknown_name(x: NoSuchName) -> None:  # type: ignore[name-defined]  # noqa: F821
    """Do it.

    Args:
        x: A thing
    """


@pytest.mark.parametrize(
    ("function", "words"),
    [
        (no_docstring, "has no docstring"),
        (no_hint, "argument 'x' has no type hint; expected one such as x: str"),
        (not_described, "does not describe the argument 'y'"),
        (second_self, "argument 'self' has no type hint"),
        (own_class, "argument 'x' has the type hint .*Own.*; or give the tool as a JSON schema"),
        (any_length, "argument 'x' has the type hint .*list"),
        (own_set, "argument 'x' has the type hint set.*; or give the tool as a JSON schema"),
        (wrong_choices, "argument 'x' has choices 'tea, coffee'; expected a list in JSON"),
        (unknown_name, "has a type hint that cannot be read .*NoSuchName"),
    ],
    ids=lambda value: getattr(value, "__name__", ""),
)
def test_what_cannot_be_described_is_named(function: Callable[..., Any], words: str) -> None:
    with pytest.raises(Exception):  # noqa: B017, PT011 - `transformers` has types of its own
        get_json_schema(function)
    with pytest.raises(ValueError, match=rf"^tools\[1\]: function {function.__name__}.*{words}"):
        tools_of([{"name": "f"}, function])


def test_a_choice_is_of_values_that_json_has() -> None:
    said = r"^tools\[0\]: function choice_of_bytes: argument 'x' has a choice of \[b'a'\]; expected values "
    with pytest.raises(ValueError, match=said):
        tools_of([choice_of_bytes])


def test_words_before_the_first_argument_describe_none() -> None:
    def function(x: int, y: int) -> None:
        """Do it.

        Args:
            Two numbers
            x: The first
            y: The second
              and more
        """

    properties = tools_of([function])[0]["function"]["parameters"]["properties"]  # type: ignore[index]
    assert [row["description"] for row in properties.values()] == ["The first", "The second and more"]


def test_a_schema_is_as_it_is() -> None:
    schema = {"name": "f", "parameters": {"properties": {"a": {"default": None, "type": ("string",)}}}}
    before = copy.deepcopy(schema)
    assert tools_of([schema]) == [before]
    assert tools_of(None) is None
    assert tools_of(()) == []


def test_a_line_that_is_indented_deeper_goes_on_with_its_argument() -> None:
    """Also where it begins as an argument does; one that is indented as the first one begins another."""
    def function(city: str, unit: str, days: int) -> None:
        """Look.

        Args:
            city: One of
                paris: the capital
                rome (it): another
              oslo: a third
            unit (str): The unit
              kelvin: not this one
            days: How many
        """

    properties = get_json_schema(function)["function"]["parameters"]["properties"]
    assert tools_of([function]) == [get_json_schema(function)]
    assert {name: row["description"] for name, row in properties.items()} == {
        "city": "One of paris: the capital rome (it): another oslo: a third",
        "unit": "The unit kelvin: not this one", "days": "How many",
    }  # fmt: skip
