"""Files of ids alone: nanoGPT's `.bin`, without a header, and NumPy's `.npy`, with one.

Where documents end is in the `.lens` file that every part has, and in the ids between them.
"""

from __future__ import annotations

from pathlib import Path

from ...errors import CorpusError
from ...lazy import np, npt
from ..outputs import Output, Outputs
from .format import PLAIN, AllLengths, Columns, Ids, Keys, Lengths, Masks, OutputFormat, mapped, no_lengths, with_suffix

#: The bytes of the header of a `.npy` file with the shape of any length.
_HEADER = 128


class RawWriter:
    """Writes ids one after another."""

    suffix = ".bin"

    def __init__(self, outputs: Outputs, dtype: str, name: str, columns: Columns = PLAIN) -> None:
        self._output, self._dtype = outputs.open(self.suffix), dtype

    @property
    def output(self) -> Output:
        """The file."""
        return self._output

    def add(self, ids: npt.NDArray[np.uint8], masks: Masks = None) -> None:
        """Append ids; there is no place for masks."""
        self._output.write(ids.data)

    def end(self, lengths: Lengths, source: str, keys: Keys) -> None:
        """Do nothing: there is no place for it."""

    def finish(self, lengths: AllLengths) -> None:
        """Do nothing."""


class HeadedWriter(RawWriter):
    """Writes a header with the number of ids, and ids.

    The header is written first with the number that is expected.
    """

    def __init__(self, outputs: Outputs, dtype: str, name: str, columns: Columns = PLAIN) -> None:
        super().__init__(outputs, dtype, name, columns)
        self._begun = self.header(outputs.ids() or 0)
        self.output.write(self._begun)

    def header(self, count: int) -> bytes:
        """Return the header of a file of so many ids; its length is always the same."""
        raise NotImplementedError

    def finish(self, lengths: AllLengths) -> None:
        """Write the header again if another number of ids was expected."""
        head = self.header((self.output.tell() - len(self._begun)) // np.dtype(self._dtype).itemsize)
        if head != self._begun:
            self.output.patch(head)


class NumpyWriter(HeadedWriter):
    """Writes a `.npy` file, whose header has the number of ids."""

    suffix = ".npy"

    def header(self, count: int) -> bytes:
        """Return the header of an array."""
        text = f"{{'descr': '{np.dtype(self._dtype).str}', 'fortran_order': False, 'shape': ({count},), }}"
        head = b"\x93NUMPY\x01\x00" + (_HEADER - 10).to_bytes(2, "little")
        return head + text.encode().ljust(_HEADER - 11) + b"\n"


def _raw_ids(stem: Path, dtype: str) -> Ids:
    found: Ids = mapped(with_suffix(stem, ".bin"), dtype)
    return found


def _numpy_ids(stem: Path, dtype: str) -> Ids:
    path = with_suffix(stem, ".npy")
    try:
        ids: Ids = np.load(path, mmap_mode="r") if path.stat().st_size > _HEADER else np.load(path)
    except ValueError as error:
        raise CorpusError(f"{path}: expected a .npy file: {error}") from error
    if ids.dtype != dtype or ids.ndim != 1:
        raise CorpusError(f"{path}: the array is {ids.dtype} of {ids.ndim} dimensions; expected {dtype} of one")
    if isinstance(ids, np.memmap):
        # numpy would keep the file open
        ids = mapped(path, dtype, offset=ids.offset, count=len(ids))
    return ids


_DTYPES = {"uint16": 1 << 16, "uint32": 1 << 32}
NANOGPT = OutputFormat("nanogpt", (".bin",), _DTYPES, False, RawWriter, _raw_ids, no_lengths)
NUMPY = OutputFormat("numpy", (".npy",), _DTYPES, False, NumpyWriter, _numpy_ids, no_lengths)
