"""The scores of Unigram models in a `tokenizer.json`, as HF's `tokenizers` reads them.

`tokenizers` reads numbers with serde_json, which does not round them correctly: it takes the digits as a whole number
of 64 bits, rounds that to a double, and multiplies or divides by a power of ten, which rounds again.  A score of 16 or
more digits may so become one of its neighbours, and that decides between segmentations with equal sums.  Source:
`f64_from_parts` and its callers in serde_json's `src/de.rs`, without its feature `float_roundtrip`.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterator
from typing import Any

from ...lazy import lazy_re

_POWERS = tuple(float(f"1e{exponent}") for exponent in range(309))
_MOST = 2**64 - 1
#: The characters of a number whose digits always fit 64 bits: a point and 19 digits.
_SHORT = 20
#: Begins the text of a number where JSON has a string.  No text of a tokenizer has half a surrogate pair.
_MARK = "\udfff"
_MARKED = lazy_re(f'"{_MARK}([^"]*)"')


def score_of(text: str) -> float:
    """Return the double that `tokenizers` reads for a number in JSON; `inf` for one that it refuses.

    >>> score_of("-11.289659418771421"), float("-11.289659418771421")
    (-11.28965941877142, -11.289659418771421)
    """
    if len(text) <= _SHORT:
        try:
            whole, fraction = text.split(".")
            return int(whole + fraction) / _POWERS[len(fraction)]
        except ValueError:
            pass  # no point, or an exponent
    return _long_score(text)


def _long_score(text: str) -> float:
    """Return what `score_of` returns, for a number with an exponent or with more digits than 64 bits hold."""
    number, _, power = text.lower().partition("e")
    whole, _, fraction = number.removeprefix("-").partition(".")
    digits, exponent = 0, 0
    for at, digit in enumerate(whole):
        if digits * 10 + int(digit) > _MOST:
            exponent = len(whole) - at
            break
        digits = digits * 10 + int(digit)
    for digit in fraction:
        if digits * 10 + int(digit) > _MOST:
            break
        digits = digits * 10 + int(digit)
        exponent -= 1
    found = _scaled(float(digits), exponent + int(power or 0))
    return -found if found and text.startswith("-") else found


def _scaled(found: float, exponent: int) -> float:
    if exponent >= len(_POWERS):
        return math.inf if found else found
    while exponent <= -len(_POWERS) and found:
        found, exponent = found / _POWERS[-1], exponent + len(_POWERS) - 1
    if exponent >= 0:
        return found * _POWERS[exponent]
    return found / _POWERS[-exponent] if found else found


def written_score(score: float) -> float | str | None:
    """Return what `dumps` writes as a number that is read as `score`; `None` if there is no such number."""
    if score_of(repr(score)) == score:
        return score
    top, bottom = abs(score).as_integer_ratio()
    for places, digits in _candidates(top, bottom):
        if float(digits) / _POWERS[places] == abs(score):
            text = f"{digits:0{places + 1}d}"
            sign = "-" if score < 0 else ""
            return f"{_MARK}{sign}{text[: len(text) - places]}.{text[len(text) - places :]}"
    return None


def _candidates(top: int, bottom: int) -> Iterator[tuple[int, int]]:
    """Yield decimal places, and digits for `top / bottom` with so many, as far as these fit 64 bits."""
    for places in range(1, len(_POWERS)):
        digits = (2 * top * 10**places + bottom) // (2 * bottom)
        if digits > _MOST:
            return
        if digits > 2**52:  # fewer digits have fewer values than doubles
            yield places, digits
            step = int(math.ulp(float(digits)))
            yield from ((places, digits + way) for way in (-step, step) if digits + way <= _MOST)


def kept_number(text: str) -> str:
    """Return what `dumps` writes as the same number, for `json.loads(parse_float=...)`."""
    return _MARK + text


def dumps(document: Any, **options: Any) -> str:
    """Return the JSON text of a document with results of `written_score` and `kept_number`."""
    return _MARKED.sub(r"\1", json.dumps(document, ensure_ascii=False, **options))
