"""The `truncation` and `padding` of a `tokenizer.json`: defaults for batches.

`tokenizers` also pads a text that it encodes alone, to a fixed length or to a multiple, so its ids would differ from
those of `encode`.  Such padding is written into the field `bbpe` of the model, which `tokenizers` ignores.
"""

from __future__ import annotations

from typing import Any, get_args

from ...files import StrPath
from ...spec.rules import RowPadding, RowSide, RowTruncation, TruncationStrategy
from ...spec.spec import MAX_ID
from ..common.reading import Fields, shown
from .own_fields import OWN

_MOST = (1 << 62) - 1
_SIDES: dict[str, RowSide] = {"Right": "right", "Left": "left"}
_DIRECTIONS = {side: direction for direction, side in _SIDES.items()}
_STRATEGIES: tuple[TruncationStrategy, ...] = get_args(TruncationStrategy)
_LONGEST, _FIXED = "BatchLongest", "Fixed"
_OWN_PADDING = "padding"


def read_truncation(value: object, *, path: StrPath) -> RowTruncation:
    """Return the `truncation` of a file."""
    fields = Fields(value, path=path, place="truncation")
    found = fields.take_type("strategy", str, _STRATEGIES[0])
    strategy = next((known for known in _STRATEGIES if known == found), None)
    if strategy is None:
        fields.refuse(f"found {found!r}; expected {', '.join(_STRATEGIES)}", "strategy")
    most, stride = fields.take_int("max_length", 0, _MOST), fields.take_int("stride", 0, _MOST, 0)
    rule = RowTruncation(most, _side(fields), strategy, stride)
    fields.done()
    return rule


def take_own_padding(model: Fields) -> RowPadding | None:
    """Take the padding of the field `bbpe` of a model; `None` if it has none."""
    own = model.peek(OWN)
    if not isinstance(own, dict) or _OWN_PADDING not in own:
        return None
    rule = read_padding(own.pop(_OWN_PADDING), path=model.path, place=model.at(f"{OWN}.{_OWN_PADDING}"))
    if not own:
        model.take(OWN)
    return rule


def read_padding(value: object, *, path: StrPath, place: str = "padding") -> RowPadding:
    """Return the `padding` of a file."""
    fields = Fields(value, path=path, place=place)
    strategy, length = fields.take("strategy"), 0
    if isinstance(strategy, dict):
        fixed = Fields(strategy, path=path, place=fields.at("strategy"))
        length = fixed.take_int(_FIXED, 0, _MOST)
        fixed.done()
    elif strategy != _LONGEST:
        fields.refuse(f'found {shown(strategy)}; expected "{_LONGEST}" or {{"{_FIXED}": length}}', "strategy")
    multiple = 1
    if fields.peek("pad_to_multiple_of") is not None:
        multiple = fields.take_int("pad_to_multiple_of", 0, _MOST)
    else:
        fields.take("pad_to_multiple_of", None)
    rule = RowPadding(
        fields.take_int("pad_id", 0, MAX_ID),
        fields.take_type("pad_token", str),
        fields.take_int("pad_type_id", 0, (1 << 32) - 1),
        _side(fields),
        length,
        max(multiple, 1),  # `tokenizers` ignores 0
    )
    fields.done()
    return rule


def _side(fields: Fields) -> RowSide:
    found = fields.take_type("direction", str, "Right")
    if found not in _SIDES:
        fields.refuse(f"found {found!r}; expected {' or '.join(_SIDES)}", "direction")
    return _SIDES[found]


def write_truncation(rule: RowTruncation | None) -> dict[str, Any] | None:
    """Return the `truncation` of a rule."""
    if rule is None:
        return None
    return {
        "direction": _DIRECTIONS[rule.side],
        "max_length": rule.max_length,
        "strategy": rule.strategy,
        "stride": rule.stride,
    }


def write_padding(rule: RowPadding | None) -> tuple[dict[str, Any] | None, dict[str, Any]]:
    """Return the `padding` of a rule, and what the field `bbpe` of the model has for it."""
    if rule is None:
        return None, {}
    written = _written(rule)
    return (written, {}) if rule.length == 0 and rule.multiple == 1 else (None, {_OWN_PADDING: written})


def _written(rule: RowPadding) -> dict[str, Any]:
    return {
        "strategy": {_FIXED: rule.length} if rule.length else _LONGEST,
        "direction": _DIRECTIONS[rule.side],
        "pad_to_multiple_of": rule.multiple if rule.multiple > 1 else None,
        "pad_id": rule.pad_id,
        "pad_type_id": rule.pad_type_id,
        "pad_token": rule.pad_token,
    }
