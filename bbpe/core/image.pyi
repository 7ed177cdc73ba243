from ..text import Buffer

ALIGNMENT: int
def checksum(data: Buffer) -> int: ...
