from ..text import Buffer

ALIGNMENT: int
BUILD: str
def checksum(data: Buffer) -> int: ...
