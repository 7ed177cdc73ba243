"""Records against the classes that `dataclasses` makes of the same fields."""

from __future__ import annotations

import copy
import dataclasses
import inspect
import pickle
import threading
from typing import Any

import pytest

from bbpe import records
from bbpe.spec.rules import Characters, Prefix, TokenOptions


@records.dataclass(frozen=True)
class Point:
    """A class with a default, a made default and a field that `repr` leaves out."""

    x: int
    y: int = 2
    tags: dict[str, int] = records.field(default_factory=dict)
    note: str = records.field(default="n", repr=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "y", abs(self.y))


@records.dataclass(frozen=True)
class Named(Point):
    name: str = "a"


@records.dataclass(frozen=True, eq=False)
class Unequal:
    x: int


@records.dataclass
class Mutable:
    x: int
    y: list[int] = records.field(default_factory=list)


@records.dataclass(frozen=True, order=True)
class Ordered:
    x: int
    y: str = records.field(default="", compare=False)


@dataclasses.dataclass(frozen=True, order=True)
class _Ordered:
    x: int
    y: str = dataclasses.field(default="", compare=False)


@records.dataclass(frozen=True, kw_only=True)
class Keyed:
    x: int
    sum: int = records.field(init=False)
    y: int = 2

    def __post_init__(self) -> None:
        object.__setattr__(self, "sum", self.x + self.y)


@dataclasses.dataclass(frozen=True, kw_only=True)
class _Keyed:
    x: int
    sum: int = dataclasses.field(init=False)
    y: int = 2

    def __post_init__(self) -> None:
        object.__setattr__(self, "sum", self.x + self.y)


@dataclasses.dataclass(frozen=True)
class _Point:
    x: int
    y: int = 2
    tags: dict[str, int] = dataclasses.field(default_factory=dict)
    note: str = dataclasses.field(default="n", repr=False)


def test_records_are_made_as_data_classes_are() -> None:
    assert str(inspect.signature(Point)) == str(inspect.signature(_Point))
    assert repr(Point(1, tags={"a": 1})) == repr(_Point(1, tags={"a": 1})).removeprefix("_")
    assert Point(1).tags is not Point(1).tags
    assert Point(1, -3).y == 3
    assert Named(1, 2, {}, "n", "b") == Named(x=1, name="b") != Named(1)
    assert [*inspect.signature(Named).parameters] == ["x", "y", "tags", "note", "name"]
    assert Point.__match_args__ == _Point.__match_args__
    for arguments, named in (((), {}), ((1, 2, {}, "", 5), {}), ((1,), {"z": 1}), ((1,), {"x": 1})):
        for kind in (Point, _Point):
            with pytest.raises(TypeError, match=r"__init__\(\)"):
                kind(*arguments, **named)  # type: ignore[arg-type]


def test_records_are_compared_by_value_and_never_change() -> None:
    assert Point(1) == Point(1) != Point(2)
    assert Point(1) != Named(1)
    assert Point(1).__eq__(5) is NotImplemented
    assert Unequal(1) != Unequal(1)
    assert hash(Prefix(" ")) == hash(Prefix(" ")) == hash((" ", False))
    with pytest.raises(dataclasses.FrozenInstanceError, match="cannot assign to field 'x'"):
        Point(1).x = 2  # type: ignore[misc]
    with pytest.raises(dataclasses.FrozenInstanceError, match="cannot delete field 'x'"):
        del Point(1).x


def test_records_that_are_not_frozen_change() -> None:
    record = Mutable(1)
    record.x += 1
    record.y.append(3)
    assert record == Mutable(2, [3]) != Mutable(2)
    assert record != Mutable(1, [3])
    with pytest.raises(TypeError, match="unhashable"):
        hash(record)


def test_the_module_dataclasses_accepts_records() -> None:
    point: Any = Point(1, tags={"a": 1})
    assert dataclasses.is_dataclass(Point)
    names = [(row.name, row.type, row.default, row.repr) for row in dataclasses.fields(_Point)]
    assert [(row.name, row.type, row.default, row.repr) for row in dataclasses.fields(Point)] == names
    assert dataclasses.asdict(point) == dataclasses.asdict(_Point(1, tags={"a": 1}))
    assert dataclasses.replace(point, x=5) == records.replace(point, x=5) == Point(5, tags={"a": 1})
    assert dataclasses.fields(Named)[-1].name == "name"

    @dataclasses.dataclass(frozen=True)
    class Standard(Point):
        z: int = 0

    assert repr(Standard(1, z=4)).endswith("Standard(x=1, y=2, tags={}, z=4)")


def test_records_are_copied_and_pickled() -> None:
    for record in (Point(1, tags={"a": 1}), TokenOptions(lstrip=True), Characters(unknown=1)):
        assert pickle.loads(pickle.dumps(record)) == copy.deepcopy(record) == copy.copy(record) == record


def test_threads_make_the_first_objects_of_a_class() -> None:
    for _ in range(20):

        @records.dataclass(frozen=True)
        class Fresh:
            x: int

        made: list[Fresh] = []
        threads = [threading.Thread(target=lambda kind=Fresh, made=made: made.append(kind(1))) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert made == [Fresh(1)] * 4


def test_order_and_fields_that_do_not_compare() -> None:
    for kind in (Ordered, _Ordered):
        one, same, other = kind(1, "a"), kind(1, "b"), kind(2)
        assert one == same != other
        assert hash(one) == hash(same)
        assert one < other <= other
        assert other > one >= same
        with pytest.raises(TypeError, match="not supported between"):
            assert one < (1,)


def test_keywords_and_fields_that_are_made() -> None:
    assert str(inspect.signature(Keyed)) == str(inspect.signature(_Keyed))
    assert Keyed.__match_args__ == _Keyed.__match_args__ == ()
    for kind in (Keyed, _Keyed):
        made = kind(x=1)
        assert repr(made).endswith("Keyed(x=1, sum=3, y=2)")
        assert (records.replace if kind is Keyed else dataclasses.replace)(made, x=5).sum == 7
        assert records.asdict(made) == {"x": 1, "y": 2, "sum": 3}
        assert [(row.name, row.init, row.kw_only) for row in records.fields(kind)] == [
            ("x", True, True), ("sum", False, True), ("y", True, True),
        ]  # fmt: skip
        with pytest.raises(TypeError):
            kind(1)
