from typing import Self

class IntObjects:
    def __new__(cls, count: int) -> Self: ...
