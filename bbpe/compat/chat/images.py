"""The number of tokens of images in a prompt of OpenAI's models, by the rules that OpenAI has published.

Source: "Images and vision" of OpenAI's guide, section "Calculating costs", of 2025.  Sizes are rounded to whole pixels,
which the guide leaves open: the API has charged 8 tiles for 2049 x 513 pixels, and 4 for 2050 x 513.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from math import isqrt
from operator import index
from typing import Any, NoReturn, TypeAlias

#: An image: its width and height in pixels, or its number of tokens.
ImageSize: TypeAlias = "tuple[int, int] | int"

#: The types of parts that are images.
IMAGES = ("image_url", "input_image")
# of an image of low detail, and more for each tile of one of high detail
_TILES = {
    model: tokens
    for tokens, models in {
        (85, 170): "gpt-4o chatgpt-4o-latest gpt-4.1 gpt-4.5-preview gpt-4-turbo",
        (2833, 5667): "gpt-4o-mini",
        (70, 140): "gpt-5 gpt-5-chat-latest",
        (75, 150): "o1 o1-pro o3",
    }.items()
    for model in models.split()
}
# hundredths of a token for each patch
_PATCHES = {"gpt-4.1-mini": 162, "gpt-5-mini": 162, "gpt-4.1-nano": 246, "gpt-5-nano": 246, "o4-mini": 172}
# pixels
_SQUARE, _SHORT_SIDE, _TILE, _PATCH = 2048, 768, 512, 32
_MOST_PATCHES = 1536
_DETAILS = (None, "auto", "low", "high")
_WAY = "images=[(width, height), ...], in pixels and one for each image in order"


class Images:
    """Counts the images of a call in the order of its messages; `finish` checks that none was given in vain."""

    def __init__(self, given: object, model: str | None) -> None:
        if given is not None and (not isinstance(given, Sequence) or isinstance(given, str | bytes)):
            raise TypeError(f"images is {type(given).__name__} {given!r:.40}; expected {_WAY}")
        self._sizes, self._model, self._count = given, model, 0

    def tokens(self, part: Mapping[str, Any], where: str) -> int:
        """Return the number of tokens of a part of a message; `ValueError` naming what is missing to count it."""
        number, self._count = self._count, self._count + 1
        if self._sizes is None:
            _refuse(f"{where} is an image, whose tokens depend on its size", f"{_WAY}; or their numbers of tokens")
        if number >= len(self._sizes):
            _refuse(f"images has {number} of them, and {where} is one more", _WAY)
        size = self._sizes[number]
        if not isinstance(size, Sequence) and hasattr(size, "__index__") and not isinstance(size, bool):
            if index(size) < 0:
                _refuse(f"images[{number}] is {size!r}", "a number of tokens")
            return index(size)
        inner = part.get("image_url")
        detail = (inner if isinstance(inner, Mapping) else part).get("detail")
        if detail not in _DETAILS:
            _refuse(f"{where}: detail is {detail!r:.40}, for which no rule is known", "'low', 'high' or 'auto'")
        if self._model is None:
            _refuse(f"{where} is an image, whose tokens depend on the model", "model=, such as 'gpt-4o'")
        model = _family(self._model)
        if model not in (*_TILES, *_PATCHES):
            problem = f"{where}: the tokens of images of model {self._model!r} are not published"
            known = ", ".join((*_TILES, *_PATCHES))
            _refuse(problem, f"images=[tokens, ...], as the usage of an answer reports; or one of the models {known}")
        width, height = _checked_size(size, f"images[{number}]")
        if model in _PATCHES:
            return -(-_patches(width, height) * _PATCHES[model] // 100)
        base, tile = _TILES[model]
        return base if detail == "low" else base + tile * _tiles(width, height)

    def finish(self) -> None:
        """Refuse sizes that no image has used."""
        if self._sizes is not None and len(self._sizes) != self._count:
            problem = f"images has {len(self._sizes)} of them, and the messages have {self._count}"
            _refuse(problem, _WAY)


def _family(model: str) -> str:
    """Return the name of a model without the date of a version and what fine-tuning adds to it."""
    name = model.removeprefix("openai/").removeprefix("ft:").partition(":")[0]
    return re.sub(r"-\d{4}-\d\d-\d\d$", "", name)


def _checked_size(size: Any, where: str) -> tuple[int, int]:
    if isinstance(size, Sequence) and not isinstance(size, str) and len(size) == 2:
        width, height = size
        if all(hasattr(side, "__index__") and not isinstance(side, bool) and side > 0 for side in size):
            return index(width), index(height)
    return _refuse(f"{where} is {size!r:.40}", "(width, height) in pixels, or a number of tokens")


def _tiles(width: int, height: int) -> int:
    """Return the number of tiles of an image, which is made smaller to fit into a square, then by its short side."""
    for most, chosen in ((_SQUARE, max), (_SHORT_SIDE, min)):
        side = chosen(width, height)
        if side > most:
            width, height = max(round(width * most / side), 1), max(round(height * most / side), 1)
    return -(-width // _TILE) * -(-height // _TILE)


def _patches(width: int, height: int) -> int:
    """Return the number of patches of an image, which is made smaller until as many as there may be cover it."""
    across, down = -(-width // _PATCH), -(-height // _PATCH)
    if across * down <= _MOST_PATCHES:
        return across * down
    # the largest size of this shape whose patches are few enough, and then one side of whole patches
    across, down = isqrt(_MOST_PATCHES * width // height), isqrt(_MOST_PATCHES * height // width)
    if across * height <= down * width:
        down = -(-height * across // width)
    else:
        across = -(-width * down // height)
    return across * down or _MOST_PATCHES  # a line of pixels has one patch across


def _refuse(problem: str, expected: str) -> NoReturn:
    raise ValueError(f"{problem}; expected {expected}")
