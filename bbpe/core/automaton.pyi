from typing import Self

from ..splitting.automaton_tables import Tables

class Automaton:
    tables: Tables
    def __new__(cls, tables: Tables) -> Self: ...
    def spans(self, data: bytes | bytearray | memoryview) -> list[tuple[int, int]]: ...
