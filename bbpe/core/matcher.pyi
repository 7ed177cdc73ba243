from collections.abc import Iterable, Sequence
from typing import Self

LSTRIP: int
RSTRIP: int
SINGLE_WORD: int

class TokenMatcher:
    tokens: tuple[bytes, ...]
    def __new__(
        cls,
        tokens: Iterable[bytes],
        ids: Sequence[int] | None = None,
        options: Sequence[int] | None = None,
        words: bytes | None = None,
    ) -> Self: ...
    @property
    def longest(self) -> int: ...
    def policy(self, numbers: Iterable[int], then: Policy | None = None) -> Policy: ...

class Policy:
    matcher: TokenMatcher
    longest: int
    def __new__(cls, matcher: TokenMatcher, numbers: Iterable[int], then: Policy | None = None) -> Self: ...
    def find(
        self,
        data: bytes | bytearray | memoryview,
        start: int = 0,
        most: int | None = None,
    ) -> list[tuple[int, int, int]]: ...

class TokenLevels:
    count: int
    def __new__(cls, tokens: Sequence[Policy], normalized: Sequence[Policy] = ()) -> Self: ...

class Linear:
    def __new__(cls, matcher: TokenMatcher) -> Self: ...

class Best:
    def __new__(cls, linear: Linear, policy: Policy) -> Self: ...
