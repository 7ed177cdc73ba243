from typing import Self

from ..splitting.automaton_tables import Tables
from ..splitting.regexes import HostRegex

class Automaton:
    tables: Tables | HostRegex
    def __new__(cls, tables: Tables | HostRegex) -> Self: ...
    def spans(self, data: bytes | bytearray | memoryview) -> list[tuple[int, int]]: ...
