from typing import Self

from ..parts import Parts

class PartIds:
    used: int
    def __new__(cls, parts: Parts) -> Self: ...
