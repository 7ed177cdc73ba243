"""Files of ids without lists of documents, which EOS or BOS divide: nanoGPT's, NumPy's and llm.c's, and Automodel's.

Automodel has a list of where documents begin beside the ids; without it, they are divided by EOS or BOS, too.
"""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Any

from ...errors import CorpusError
from ...lazy import np
from ...text import counted
from ..formats.format import Ids, mapped
from .reader import DelimitedFile, IdReading, IndexedFile, ReadFormat, check_bounds, checked_dtype, suffixed

_HEADER = 1024
#: The width of ids of llm.c by the magic number and the version of the header.
_LLMC = {(20240520, 1): "<u2", (20240801, 7): "<u4"}
_AUTOMODEL = (278895051, 1)
_LLMC_DTYPES = " or ".join(f"{magic}, {version}" for magic, version in _LLMC)


def _raw(path: Path, reading: IdReading) -> DelimitedFile:
    ids: Ids = mapped(path, checked_dtype(path, reading, None))
    return DelimitedFile(path, ids, reading)


def _numpy(path: Path, reading: IdReading) -> DelimitedFile:
    """Open a `.npy` file, whose header says dtype and shape; rows of a table follow one another."""
    with path.open("rb") as file:
        try:
            form: Any = np.lib.format
            read = form.read_array_header_1_0 if form.read_magic(file) == (1, 0) else form.read_array_header_2_0
            shape, by_column, dtype = read(file)
        except ValueError as error:
            raise CorpusError(
                f"{path}: expected the header of a .npy file: {error}; files without one, as dolma writes them, are "
                "read with format='olmo'"
            ) from error
        offset = file.tell()
    if len(shape) != 1 or by_column:
        raise CorpusError(f"{path}: the array has {counted(len(shape), 'dimension')}; expected ids in one")
    ids: Ids = mapped(path, checked_dtype(path, reading, dtype), offset=offset)
    if len(ids) != shape[0]:
        raise CorpusError(f"{path}: the file has {counted(len(ids), 'id')}; its header says {shape[0]:,}")
    return DelimitedFile(path, ids, reading)


def _headed(path: Path, reading: IdReading) -> tuple[Ids, bool]:
    """Return the ids after a header of llm.c or Automodel, and whether it is that of Automodel."""
    size = path.stat().st_size
    if size < _HEADER:
        raise CorpusError(f"{path}: the file has {counted(size, 'byte')}; the header alone has {_HEADER}")
    magic, version, count, width = np.fromfile(path, "<i4", 4).tolist()
    is_automodel = (magic, version) == _AUTOMODEL
    found = {2: "<u2", 4: "<u4"}.get(width) if is_automodel else _LLMC.get((magic, version))
    if found is None:
        expected = f"{_AUTOMODEL[0]}, {_AUTOMODEL[1]} with a width of 2 or 4" if is_automodel else _LLMC_DTYPES
        raise CorpusError(f"{path}: the header begins with {magic}, {version}; expected {expected}")
    ids: Ids = mapped(path, checked_dtype(path, reading, found), offset=_HEADER)
    if len(ids) != count:
        raise CorpusError(f"{path}: the file has {counted(len(ids), 'id')}; its header says {count:,}")
    return ids, is_automodel


def _llmc(name: str, path: Path, reading: IdReading) -> DelimitedFile | IndexedFile:
    ids, is_automodel = _headed(path, reading)
    if is_automodel != (name == "automodel"):
        its = "automodel" if is_automodel else "llmc"
        raise CorpusError(f"{path}: the header is that of {its}; read the file with format={its!r}")
    index = suffixed(AUTOMODEL.stem(path), ".bos.idx")
    if not is_automodel or not index.exists():
        return DelimitedFile(path, ids, reading)
    begins = mapped(index, "<i4")
    if len(begins) != 0 and int(begins[0]) != 0:
        raise CorpusError(f"{index}: the first document begins at id {int(begins[0])}; expected 0")
    bounds = np.append(begins.astype(np.int64), len(ids))
    if len(ids) == 0:
        bounds = np.zeros(1, np.int64)
    elif not len(begins):
        raise CorpusError(f"{index}: the list of documents is empty; there is {counted(len(ids), 'id')}")
    check_bounds(index, bounds[1:], len(ids))
    return indexed(ids, bounds)


def indexed(ids: Ids, bounds: Any, **more: Any) -> IndexedFile:
    """Return a file whose bounds of documents are known, int64[n + 1]."""
    return IndexedFile(
        ids, len(bounds) - 1, lambda first, stop: np.diff(bounds[first : stop + 1]),
        lambda document: int(bounds[document]), **more,
    )  # fmt: skip


NANOGPT = ReadFormat("nanogpt", ".bin", (), _raw, says_dtype=False)
NUMPY = ReadFormat("numpy", ".npy", (), _numpy)
LLMC = ReadFormat("llmc", ".bin", (), partial(_llmc, "llmc"))
AUTOMODEL = ReadFormat("automodel", ".bin", (".bos.idx",), partial(_llmc, "automodel"))
