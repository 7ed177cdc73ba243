from typing import Self

class TextGroup:
    def __new__(cls) -> Self: ...
