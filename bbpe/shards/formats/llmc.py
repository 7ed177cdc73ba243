"""llm.c's `.bin`: a header of 256 int32, then ids.

The header has a magic number and a version by the width of ids, and the number of ids.  The loader seeks with an `int`,
so a file stays below 2 GiB; it refuses a file with fewer ids than one step of training takes.
"""

from __future__ import annotations

from pathlib import Path

from ...errors import CorpusError
from ...lazy import np, npt
from ..outputs import Outputs
from .format import AllLengths, Format, Ids, mapped, no_lengths, with_suffix
from .raw import RawWriter

_HEADER = 1024
_MAGIC = {"uint16": (20240520, 1), "uint32": (20240801, 7)}
_MOST = (1 << 31) - 1


class LlmcWriter(RawWriter):
    """Writes a header and ids; `CorpusError` where a file passes 2 GiB."""

    def __init__(self, outputs: Outputs, dtype: str, name: str) -> None:
        super().__init__(outputs, dtype, name)
        self._stem = outputs.stem
        self.output.write(bytes(_HEADER))

    def add(self, ids: npt.NDArray[np.uint8]) -> None:
        """Append ids."""
        if self.output.tell() + len(ids) > _MOST:
            raise CorpusError(f"{self._stem}.bin: llm.c reads files of less than 2 GiB; give a smaller part_size")
        super().add(ids)

    def finish(self, lengths: AllLengths) -> None:
        """Write the header."""
        count = (self.output.tell() - _HEADER) // np.dtype(self._dtype).itemsize
        head = np.zeros(_HEADER // 4, "<i4")
        head[:3] = *_MAGIC[self._dtype], count
        self.output.patch(head.tobytes())


def _ids(stem: Path, dtype: str) -> Ids:
    path = with_suffix(stem, ".bin")
    if path.stat().st_size < _HEADER:
        raise CorpusError(f"{path}: the file is shorter than the header of llm.c, {_HEADER} bytes")
    head = np.fromfile(path, "<i4", _HEADER // 4)
    ids: Ids = mapped(path, dtype, offset=_HEADER)
    if tuple(head[:3].tolist()) != (*_MAGIC[dtype], len(ids)):
        raise CorpusError(f"{path}: the header is {head[:3].tolist()}; expected {[*_MAGIC[dtype], len(ids)]}")
    return ids


LLMC = Format("llmc", (".bin",), {"uint16": 1 << 16, "uint32": 1 << 32}, False, LlmcWriter, _ids, no_lengths)
