"""llm.c's `.bin`: a header of 256 int32, then ids; and NeMo Automodel's, with a list of where documents begin.

The header has a magic number and a version by the width of ids, and the number of ids.  llm.c's loader seeks with an
`int`, so a file stays below 2 GiB; it refuses a file with fewer ids than one step of training takes.  Automodel's
header has the bytes of an id, too, and its `.bos.idx` has the places of first ids of documents in ids, as int32.
"""

from __future__ import annotations

from functools import partial
from pathlib import Path

from ...errors import CorpusError
from ...lazy import np, npt
from ..outputs import Outputs
from .format import PLAIN, Columns, Ids, Keys, Lengths, Masks, OutputFormat, mapped, no_lengths, with_suffix
from .raw import HeadedWriter

_HEADER = 1024
#: The first numbers of a header, but for the number of ids, which is the third one; by format and dtype.
_MAGIC: dict[str, dict[str, tuple[int, ...]]] = {
    "llmc": {"uint16": (20240520, 1), "uint32": (20240801, 7)},
    "automodel": {"uint16": (278895051, 1, 2), "uint32": (278895051, 1, 4)},
}
_MOST = (1 << 31) - 1


class LlmcWriter(HeadedWriter):
    """Writes a header and ids; `CorpusError` where a file passes 2 GiB."""

    format = "llmc"

    def __init__(self, outputs: Outputs, dtype: str, name: str, columns: Columns = PLAIN) -> None:
        super().__init__(outputs, dtype, name)
        self._stem = outputs.stem

    def add(self, ids: npt.NDArray[np.uint8], masks: Masks = None) -> None:
        """Append ids."""
        if self.output.tell() + len(ids) > _MOST:
            raise CorpusError(f"{self._stem}.bin: {self.format} has files of less than 2 GiB; give a smaller part_size")
        super().add(ids)

    def header(self, count: int) -> bytes:
        """Return the header of the format."""
        head = np.zeros(_HEADER // 4, "<i4")
        # `add` refuses more ids than the header has room for
        expected = _head(self.format, self._dtype, min(count, _MOST))
        head[: len(expected)] = expected
        return head.tobytes()


class AutomodelWriter(LlmcWriter):
    """Writes a header and ids, and where documents begin."""

    format = "automodel"

    def __init__(self, outputs: Outputs, dtype: str, name: str, columns: Columns = PLAIN) -> None:
        super().__init__(outputs, dtype, name)
        self._begins, self._at = outputs.open(".bos.idx"), 0

    def end(self, lengths: Lengths, source: str, keys: Keys) -> None:
        """Write where documents begin, but for those without ids."""
        ends = self._at + np.cumsum(lengths, dtype=np.int64)
        self._begins.write((ends - lengths)[lengths > 0].astype("<i4").tobytes())
        self._at = int(ends[-1])


def _head(format_name: str, dtype: str, count: int) -> list[int]:
    magic, version, *more = _MAGIC[format_name][dtype]
    return [magic, version, count, *more]


def _ids(format_name: str, stem: Path, dtype: str) -> Ids:
    path = with_suffix(stem, ".bin")
    if path.stat().st_size < _HEADER:
        raise CorpusError(f"{path}: the file is shorter than the header of {format_name}, {_HEADER} bytes")
    head = np.fromfile(path, "<i4", _HEADER // 4).tolist()
    ids: Ids = mapped(path, dtype, offset=_HEADER)
    expected = _head(format_name, dtype, len(ids))
    if head[: len(expected)] != expected:
        raise CorpusError(f"{path}: the header is {head[: len(expected)]}; expected {expected}")
    return ids


_DTYPES = {"uint16": 1 << 16, "uint32": 1 << 32}
LLMC = OutputFormat("llmc", (".bin",), _DTYPES, False, LlmcWriter, partial(_ids, "llmc"), no_lengths)
AUTOMODEL = OutputFormat(
    "automodel", (".bin", ".bos.idx"), _DTYPES, False, AutomodelWriter, partial(_ids, "automodel"), no_lengths
)
