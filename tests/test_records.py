"""Records against the classes that `dataclasses` makes of the same fields."""

from __future__ import annotations

import copy
import dataclasses
import inspect
import pickle
import threading
from pathlib import Path
from typing import Any

import numpy as np
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


def test_a_field_of_a_later_base_has_the_place_of_the_first_one() -> None:
    """As `dataclasses` has it: the order of the farthest base, the default of the nearest."""

    @records.dataclass(frozen=True)
    class First:
        a: int = 1
        b: int = 2

    @records.dataclass(frozen=True)
    class Second(First):
        c: int = 3
        a: int = 4

    @records.dataclass(frozen=True)
    class Third(Second):
        b: int = 5

    assert repr(Third()).endswith("Third(a=4, b=5, c=3)")
    assert [row.name for row in records.fields(Third)] == ["a", "b", "c"]
    assert First() != Second(1, 2) != Third(1, 2)
    assert (First().__eq__(Second(1, 2)), Second(1, 2).__eq__(First())) == (NotImplemented, NotImplemented)


def test_replacing_takes_what_is_given_whatever_it_is() -> None:
    point = Point(1, 7, {"a": 1}, "note")
    for name, value in (("x", 0), ("y", 0), ("tags", {}), ("note", "")):
        changed = records.replace(point, **{name: value})
        assert getattr(changed, name) == value
        assert [getattr(changed, row) for row in ("x", "y", "tags", "note") if row != name] == [
            getattr(point, row) for row in ("x", "y", "tags", "note") if row != name
        ]
    assert point == Point(1, 7, {"a": 1}, "note")


@pytest.mark.parametrize(
    ("least", "most", "inside", "outside", "said"),
    [
        (None, None, [-(2**70), 0, 2**70], [], ""),
        (1, None, [1, 2**70], [0, -1], "expected at least 1 here"),
        (None, 8, [-5, 8], [9], "expected at most 8 here"),
        (1, 8, [1, 8], [0, 9], "expected 1 to 8 here"),
        (0, 0, [0], [-1, 1], "expected 0 to 0 here"),
    ],
)
def test_whole_numbers_have_bounds_that_are_told(
    least: int | None, most: int | None, inside: list[int], outside: list[int], said: str
) -> None:
    for number in inside:
        assert records.whole("n", number, least, most) == number
    for number in outside:
        with pytest.raises(ValueError, match=f"^n is {number}; {said}$"):
            records.whole("n", number, least, most, detail=" here")


def test_what_is_a_number() -> None:
    for value in (np.int8(5), np.uint64(5), np.array(5)):
        assert (records.whole("n", value), type(records.whole("n", value))) == (5, int)
    for value in (True, False, np.True_, 5.0, np.float64(5), "5", None, np.array([5, 6]), b"5"):
        with pytest.raises(TypeError, match=f"^n must be a count, not {type(value).__name__}$"):
            records.whole("n", value, expected="a count")
    for value in (1, 0.5, np.float32(0.5), np.int64(1), np.array(0.5)):
        assert records.real("x", value) == value
        assert type(records.real("x", value)) in (int, float)
    for value in (True, np.True_, np.array(True), "1", None, np.array([0.5]), 1j):
        with pytest.raises(TypeError, match=f"^x must be a number, not {type(value).__name__}$"):
            records.real("x", value)


def test_a_wrong_kind_is_named_with_the_way_out() -> None:
    records.kind("a", 5, int | None, "an int")
    for way, end in (("", ""), ("give a list", ": give a list")):
        with pytest.raises(TypeError) as caught:
            records.kind("a", "5", int | None, "an int", way)
        assert str(caught.value) == f"a must be an int, not str{end}"
    assert (records.checked_path("path", "a"), records.checked_path("path", Path("b"))) == ("a", Path("b"))
    for wrong in (b"a", 5, None, ["a"]):
        with pytest.raises(TypeError, match=f"^path must be a str or a path, not {type(wrong).__name__}$"):
            records.checked_path("path", wrong)
    records.check_names("f", {"b": 1}, iter(["a", "b"]))
    for wrong, hint in (("patern", "; did you mean 'pattern'?"), ("zzz", "")):
        with pytest.raises(TypeError) as caught:
            records.check_names("f", {"b": 1, wrong: 2}, ["a", "b", "pattern"])
        assert str(caught.value) == f"f() got an unexpected keyword argument {wrong!r}{hint}"


def test_fields_of_a_class_and_its_own_methods() -> None:
    @records.dataclass(frozen=True)
    class Made:
        given: int = records.field(default=5, repr=False)
        needed: int = records.field(7, compare=False)
        made: list[int] = records.field(default_factory=list)

        def __repr__(self) -> str:
            return "its own"

        def __hash__(self) -> int:
            return 3

    assert (Made.given, Made.needed, hasattr(Made, "made")) == (5, 7, False)
    assert (repr(Made()), hash(Made())) == ("its own", 3)
    assert (Made() == Made(needed=9), Made() == Made(given=6)) == (True, False)
    assert Made().made is not Made().made
    assert Made.__dataclass_fields__ is Made.__dataclass_fields__  # type: ignore[attr-defined]

    @records.dataclass
    class Needed:
        first: int = records.field()

    assert not hasattr(Needed, "first")
    with pytest.raises(TypeError, match="missing 1 required positional argument: 'first'"):
        Needed()  # type: ignore[call-arg]


@pytest.mark.parametrize(
    ("value", "known", "options", "said"),
    [
        ("lift", ("left", "right"), {}, "'lift'; expected 'left' or 'right'; did you mean 'left'?"),
        ("LEFT", ("left", "right"), {}, "'LEFT'; expected 'left' or 'right'; did you mean 'left'?"),
        ("zzz", ("a", "b", "c"), {}, "'zzz'; expected 'a', 'b' or 'c'"),
        ("zzz", ("a",), {}, "'zzz'; expected 'a'"),
        ("zzz", ("a",), {"other": "a function"}, "'zzz'; expected 'a' or a function"),
        ("a_", ("a", "ab"), {"hint": "; see there"}, "'a_'; expected 'a' or 'ab'; see there"),
        (3, (1, 2, None), {}, "3; expected 1, 2 or None"),
        (["a"], ("a",), {}, "['a']; expected 'a'"),
        ("x" * 99, ("a",), {}, "'" + "x" * 59 + "; expected 'a'"),
    ],
)
def test_what_is_none_of_the_choices(value: Any, known: tuple[Any, ...], options: dict[str, str], said: str) -> None:
    with pytest.raises(ValueError, match="expected") as caught:
        records.choice("side", value, known, **options)
    assert str(caught.value) == f"side is {said}"
    for right in known:
        records.choice("side", right, iter(known), **options)


def test_types_of_arrays() -> None:
    for given, expected in (("uint16", np.uint16), (np.int32, np.int32), (np.dtype("<f8"), np.float64)):
        assert records.dtype_of(given, "an integer type") == np.dtype(expected)
    for wrong, shown in ((None, "None"), ("uint17", "'uint17'"), (5, "5"), (["a"], r"\['a'\]")):
        with pytest.raises(TypeError, match=f"^dtype is {shown}; expected an integer type$"):
            records.dtype_of(wrong, "an integer type")


def test_truth_values() -> None:
    for value in (True, False, np.True_, np.False_, np.array(True)):
        assert records.flag("f", value) is bool(value)
    for wrong in ("no", 0, 1, None, np.array([True]), np.int8(1), []):
        with pytest.raises(TypeError, match=f"^f must be a bool, not {type(wrong).__name__}$"):
            records.flag("f", wrong)


def test_texts_and_bytes_are_told_from_arrays() -> None:
    data = memoryview(b"abcd")
    for value in ("a", b"a", bytearray(b"a"), data, data.cast("c")):
        assert records.is_text_or_bytes(value) is True
    for value in ([1], (1,), np.array([1]), data.cast("b"), data.cast("i"), None, 5):
        assert records.is_text_or_bytes(value) is False


def test_masks_that_leave_something_out_are_refused() -> None:
    for right in ([1], np.array([1]), np.ma.array([1, 2]), np.ma.array([1, 2], mask=[False, False])):
        records.check_unmasked("ids", right)
    with pytest.raises(TypeError, match=r"^ids must be without a mask, which is not used: give ids\.compressed\(\)"):
        records.check_unmasked("ids", np.ma.array([1, 2], mask=[False, True]))


@pytest.mark.parametrize(
    ("word", "known", "most", "hint"),
    [
        ("GPT-4o", ["gpt-4o", "gpt2"], 1, " (did you mean 'gpt-4o'?)"),
        ("gpt-4o", ["GPT-4o", "gpt-4O"], 2, " (did you mean 'GPT-4o'?)"),  # two that differ in case are one
        ("pattern", ["patterns", "patter", "other"], 2, " (did you mean 'patterns' or 'patter'?)"),
        ("pattern", ["patterns", "patter", "other"], 1, " (did you mean 'patterns'?)"),
        ("zebra", ["gpt2"], 2, ""), ("zebra", [], 1, ""),
    ],
)  # fmt: skip
def test_words_that_are_like_a_known_one(word: str, known: list[str], most: int, hint: str) -> None:
    assert records.did_you_mean(word, iter(known), most) == hint


def test_suffixes_of_kinds_of_files() -> None:
    for suffix in (".html", ".JSON", ".x9", ".parquet12"):
        assert records.is_file_suffix(suffix)
    for suffix in ("", ".", ".5", ".v2", ".v", ".x", ".a-b", "html", ".parquet123"):
        assert not records.is_file_suffix(suffix)
    for right in ("a.parquet", "a.PARQUET", "a", "model-1.5", Path("b.v2"), "a.tsv"):
        records.check_suffix(right, "counts", [".parquet", ".tsv"])
    for path, suffix in (("b/a.csv", ".csv"), (Path("a.parquet.gz"), ".gz")):
        with pytest.raises(ValueError, match="expected") as caught:
            records.check_suffix(path, "counts", [".parquet", ".tsv"])
        assert str(caught.value) == f"{path}: counts cannot have the suffix '{suffix}'; expected .parquet or .tsv"


def test_places_in_a_sequence_are_whole_numbers() -> None:
    for value in (3, np.int8(3), np.array(3)):
        assert (records.index_of("row", value), type(records.index_of("row", value))) == (3, int)
    for wrong in (True, 1.0, "1", None):
        with pytest.raises(TypeError, match=f"^row must be an int, not {type(wrong).__name__}$"):
            records.index_of("row", wrong)
