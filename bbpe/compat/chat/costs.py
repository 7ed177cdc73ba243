"""The sizes of what filters, methods and operators of a template make, found before they make it.

A cost has the arguments of the function it is for, and pays for at least the size of its result.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

from ...lazy import lazy_re
from .budget import ITEM, LimitReached, current

#: The widths and precisions of `"%08.3f" % number`, and those of `"{:>8.3}".format(number)`.
_PRINTF = lazy_re(r"%(?:\([^)]*\))?[#0\- +]*(\*|\d+)?(?:\.(\*|\d+))?")
_NUMBERS = lazy_re(r"\d+")
_TEXTS = (str, bytes)
# a method that looks at each character takes as long for so many as a step
_CHARACTERS = 64
# repr() writes up to so many characters for one, lower and upper case up to three
_REPR, _CASE, _ESCAPED, _QUOTED, _JSON, _ASCII = 10, 3, 6, 12, 6, 12


def length_of(value: Any) -> int:
    """Return the length of a text or of a list; 0 for an iterator, whose items pay for themselves."""
    try:
        return len(value)
    except TypeError:
        return 0


def text_size(value: Any) -> int:
    """Return the characters of a value as a text, at most."""
    if isinstance(value, bytes):  # a byte may be written as four characters
        return 4 * len(value) + 3
    return len(value) if isinstance(value, str) else _REPR * current().measure(value)


def total_size(*values: Any, **named: Any) -> int:
    """Return the characters of some values as texts, at most."""
    return sum(map(text_size, values)) + sum(map(text_size, named.values()))


def _text(value: Any) -> Any:
    if isinstance(value, _TEXTS):
        return value
    current().take(text_size(value))
    return str(value)


def escaping(*values: Any) -> int:
    """Return how many characters one of a text may become, because a value is markup and the others are escaped."""
    return _ESCAPED if any(hasattr(value, "__html__") for value in values) else 1


def take_value(value: Any, factor: int = 1) -> None:
    """Pay for a text or list that an operator has made of others, and that is no larger than these."""
    current().take(factor * length_of(value) * (1 if isinstance(value, _TEXTS) else ITEM))


# -- operators --------------------------------------------------------------------------------------------------------


def pay_operator(operator: str, left: Any, right: Any) -> None:
    """Pay for what a binary operator makes."""
    budget = current()
    budget.step()
    if isinstance(left, int) and isinstance(right, int):
        bits = left.bit_length(), right.bit_length()
        budget.check_bits(*((bits[0] * max(right, 0),) if operator == "**" and bits[0] > 1 else bits))
    elif operator == "%" and isinstance(left, _TEXTS):
        budget.take(_printf(left, right) * escaping(left))
    elif operator == "+":
        for value in (left, right):
            take_value(value, escaping(left, right))
    elif operator == "*":
        for value, count in ((left, right), (right, left)):
            if isinstance(count, int) and isinstance(value, str | bytes | list | tuple):
                budget.take(len(value) * (1 if isinstance(value, _TEXTS) else ITEM) * max(count, 0))


def _printf(form: Any, values: Any) -> int:
    text = form.decode("latin-1") if isinstance(form, bytes) else form
    parts = values if isinstance(values, tuple) else (values,)
    parts = tuple(values.values()) if isinstance(values, Mapping) else parts
    widths = [width for found in _PRINTF.findall(text) for width in found if width]
    stars = sum(abs(part) for part in parts if isinstance(part, int)) * sum(width == "*" for width in widths)
    fixed = sum(_width(width) for width in widths if width != "*")
    # a key may stand in the text many times
    return int(len(text) + fixed + stars + text.count("%") * total_size(*parts))


def _width(digits: str) -> int:
    return int(digits) if len(digits) < 16 else 1 << 62


def pay_field(value: Any, spec: str) -> None:
    """Pay for a field of `str.format` with its width and precision."""
    current().take(sum(map(_width, _NUMBERS.findall(spec))) + text_size(value) + len(spec))


# -- filters ----------------------------------------------------------------------------------------------------------


def plain(value: Any, *more: Any, **named: Any) -> int:
    """Return the cost of a filter that makes a text of at most three times the size of its arguments."""
    return _CASE * total_size(value, *more, **named)


def _free(*values: Any, **named: Any) -> int:
    return 0


def _items(value: Any, *more: Any, **named: Any) -> int:
    current().step(length_of(value))
    return ITEM * length_of(value)


def _passed(value: Any, *more: Any, **named: Any) -> int:
    # an iterator is returned: its items pay; but what it leaves out is looked at too
    current().step(length_of(value))
    return 0


def _compared(value: Any, *more: Any, **named: Any) -> int:
    size = total_size(value, *more, **named)
    current().step(size // ITEM)
    return ITEM * length_of(value) + size


def _sum(value: Any, attribute: Any = None, start: Any = 0) -> int:
    return ITEM * length_of(value) if isinstance(start, int | float) else _compared(value) * (1 + length_of(value))


def _join(value: Any, d: Any = "", attribute: Any = None) -> int:
    return text_size(value) + length_of(value) * text_size(d)


def _replace(s: Any, old: Any, new: Any, count: Any = None) -> int:
    text, searched = _text(s), _text(old)
    found = text.count(searched)
    found = min(found, count) if isinstance(count, int) and count >= 0 else found
    current().search(len(text))
    return int(len(text) + found * text_size(new))


def _center(value: Any, width: Any = 80) -> int:
    return text_size(value) + (max(width, 0) if isinstance(width, int) else 0)


def _indent(s: Any, width: Any = 4, *more: Any, **named: Any) -> int:
    size = len(width) if isinstance(width, str) else max(width, 0) if isinstance(width, int) else 0
    lines = 2 + len(s.splitlines()) if isinstance(s, str) else 2
    return text_size(s) + lines * size


def _wordwrap(
    s: Any, width: Any = 79, break_long_words: Any = True, wrapstring: Any = None, *more: Any, **named: Any
) -> int:
    current().step(text_size(s) // ITEM)
    return text_size(s) * (1 + (len(wrapstring) if isinstance(wrapstring, str) else 1))


def _format(value: Any, *args: Any, **named: Any) -> int:
    return _printf(_text(value), args or named)


def _urlize(value: Any, *options: Any, **named: Any) -> int:
    size = text_size(value)
    current().step(size)
    return size * (8 + total_size(*options, **named))


def _round(value: Any, precision: Any = 0, method: Any = "common") -> int:
    current().check_bits(4 * abs(precision) if isinstance(precision, int) else 0)
    return 0


def _int(value: Any, default: Any = 0, base: Any = 10) -> int:
    # Python itself limits the decimal digits
    if isinstance(value, str) and base != 10:
        current().check_bits(5 * len(value))
    return 0


def _batch(value: Any, linecount: Any, fill_with: Any = None) -> int:
    count = linecount if isinstance(linecount, int) and fill_with is not None else 0
    return ITEM * (length_of(value) + max(count, 0))


def _slice(value: Any, slices: Any, fill_with: Any = None) -> int:
    return ITEM * (length_of(value) + (max(slices, 0) if isinstance(slices, int) else 0))


def _striptags(value: Any) -> int:
    size = text_size(value)
    return size * (1 + value.count("<") if isinstance(value, str) else 1)


def _pprint(value: Any) -> int:
    size = _REPR * current().measure(value)
    current().step(size)
    return size * 2


def _tojson(x: Any, ensure_ascii: Any = False, indent: Any = None, separators: Any = None, **named: Any) -> int:
    size = current().measure(x)
    between = text_size(separators) if separators else 4
    margin = len(indent) if isinstance(indent, str) else max(indent, 0) if isinstance(indent, int) else 0
    # a line for each part, indented by its depth
    lines, depth = size // 4, _depth(x) if margin else 0
    return size * (_ASCII if ensure_ascii else _JSON) + lines * (between + margin * depth)


def _depth(value: Any) -> int:
    """Return how many lists and dicts are within each other."""
    depth, level = 0, [value]
    while level:
        current().step(len(level))
        containers = [part for part in level if isinstance(part, list | tuple | dict)]
        level = [inner for part in containers for inner in (part.values() if isinstance(part, dict) else part)]
        depth += bool(containers)
    return depth


def _times(factor: int) -> Callable[..., int]:
    def cost(value: Any, *more: Any, **named: Any) -> int:
        return factor * total_size(value, *more, **named)

    return cost


#: The cost of a filter; one that is not here makes a text of at most three times the size of its arguments.
FILTERS: dict[str, Callable[..., int]] = {
    **dict.fromkeys("first last random length count default d attr abs float filesizeformat".split(), _free),
    **dict.fromkeys("list reverse".split(), _items),
    **dict.fromkeys("map select reject selectattr rejectattr items".split(), _passed),
    **dict.fromkeys("sort unique min max groupby dictsort".split(), _compared),
    **dict.fromkeys("e escape forceescape xmlattr".split(), _times(_ESCAPED)),
    "urlencode": _times(_QUOTED), "sum": _sum, "join": _join, "replace": _replace, "center": _center, "indent": _indent,
    "wordwrap": _wordwrap, "format": _format, "urlize": _urlize, "round": _round,
    "batch": _batch, "int": _int, "slice": _slice, "striptags": _striptags, "pprint": _pprint, "tojson": _tojson,
}  # fmt: skip
#: Filters that go through all items of an iterator before they return.
WHOLE = frozenset("sort unique min max groupby sum join batch slice list reverse".split())
#: Tests that compare, or write a value as a text.
COMPARING = frozenset("eq == equalto ne != lt < lessthan le <= gt > greaterthan ge >= in upper lower".split())

# -- methods ----------------------------------------------------------------------------------------------------------


def _padded(own: Any, width: Any = 0, *fill: Any) -> int:
    return len(own) + (max(width, 0) if isinstance(width, int) else 0)


def _split(own: Any, sep: Any = None, maxsplit: Any = -1) -> int:
    # each part is an object of its own
    parts = own.count(sep) if isinstance(sep, _TEXTS) and sep else len(own) // 2
    parts = min(parts, maxsplit) if isinstance(maxsplit, int) and maxsplit >= 0 else parts
    current().search(len(own))
    return len(own) + ITEM * (parts + 1)


def _expanded(own: Any, tabsize: Any = 8) -> int:
    tabs = own.count("\t" if isinstance(own, str) else b"\t")
    return int(len(own) + tabs * (max(tabsize, 0) if isinstance(tabsize, int) else 0))


def _translated(own: Any, table: Any = None, *deleted: Any) -> int:
    values = table.values() if isinstance(table, Mapping) else ()
    return len(own) * max(1, *(len(value) if isinstance(value, str) else 1 for value in values), 1)


def _filled(own: Any, keys: Any = (), *value: Any) -> int:
    return ITEM * length_of(keys) * 2


def _from_bytes(own: Any, data: Any = b"", *order: Any, **named: Any) -> int:
    current().check_bits(8 * length_of(data))
    return 0


def _to_bytes(own: Any, length: Any = 1, *order: Any, **named: Any) -> int:
    return max(length, 0) if isinstance(length, int) else 0


def _searched(own: Any, *arguments: Any) -> int:
    current().search(length_of(own))
    current().measure(arguments)
    return 0


def _examined(own: Any, *arguments: Any) -> int:
    current().step(length_of(own) // _CHARACTERS)
    current().measure(arguments)
    return 0


def _same(own: Any, *arguments: Any, **named: Any) -> int:
    if isinstance(own, str | bytes):
        return _CASE * total_size(own, *arguments, **named)
    return ITEM * length_of(own) + current().measure(arguments) + current().measure(named)


#: The cost of a method of a text, number, list or dict; another one makes at most three times what it is given.
METHODS: dict[str, Callable[..., int]] = {
    **dict.fromkeys("center ljust rjust zfill".split(), _padded),
    **dict.fromkeys("split rsplit splitlines".split(), _split),
    **dict.fromkeys("get keys values items bit_length is_integer".split(), _free),
    **dict.fromkeys(
        "isalnum isalpha isascii isdecimal isdigit isidentifier islower isnumeric isprintable isspace istitle "
        "isupper count".split(),
        _examined,
    ),
    **dict.fromkeys("startswith endswith find rfind index rindex".split(), _searched),
    "expandtabs": _expanded, "translate": _translated, "fromkeys": _filled, "to_bytes": _to_bytes,
    "from_bytes": _from_bytes, "striptags": _striptags,
    "escape": lambda own, *values: total_size(*values),
    "join": lambda own, value=(): _join(value, own), "replace": _replace,
    # its fields pay for themselves
    "format": lambda own, *args, **named: len(own), "format_map": lambda own, *args: len(own),
}  # fmt: skip


def pay_call(function: Any, args: tuple[Any, ...], named: Mapping[str, Any]) -> tuple[Any, ...]:
    """Pay for a call of a method of a built-in type, or of another function; return its positional arguments."""
    budget = current()
    budget.step()
    function = getattr(function, "__wrapped__", function)
    own, name = getattr(function, "__self__", None), getattr(function, "__name__", "")
    if own is None or not isinstance(own, str | bytes | int | float | list | tuple | Mapping | type):
        budget.take(sum(map(budget.measure, (*args, *named.values()))))
        return args
    if name in ("join", "fromkeys") and args:
        args = (whole(args[0]), *args[1:])
    cost: Callable[..., int] = METHODS.get(name, _same)
    budget.take(cost(own, *args, **named) * escaping(own, *args, *named.values()))
    return args


def whole(value: Any) -> Any:
    """Return an iterator as a list, and anything else as it is."""
    return list(value) if isinstance(value, Iterator) else value


class PaidItems:
    """The items of an iterator of a filter; each pays for itself."""

    def __init__(self, items: Iterator[Any], source: object) -> None:
        self._items = items
        self.depth: int = getattr(source, "depth", 0) + 1
        if self.depth > current().limits.calls:
            raise LimitReached(f"puts more than {current().limits.calls} filters on top of each other")

    def __iter__(self) -> Iterator[Any]:
        return self

    def __next__(self) -> Any:
        budget = current()
        budget.step()
        budget.take_items(1)
        item = next(self._items)
        if isinstance(item, list | tuple):
            budget.take_items(len(item))
        return item
