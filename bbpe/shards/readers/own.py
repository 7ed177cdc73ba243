"""The files of a folder that bbpe wrote, in a format whose ids can be mapped: `.lens` has the lengths of documents."""

from __future__ import annotations

from functools import partial
from pathlib import Path

from ...errors import CorpusError
from ...lazy import np
from ...text import counted
from ..formats import FORMATS
from ..formats.format import Lengths, forget, mapped
from .reader import BLOCK, IdReading, IndexedFile, ReadFormat


def _open(path: Path, reading: IdReading) -> IndexedFile:
    assert reading.own is not None
    assert reading.dtype is not None
    stem, form = OWN.stem(path), FORMATS[reading.own]
    listed = mapped(path, "<i4")
    ids = form.ids(stem, reading.dtype)
    sums = _Sums(listed)
    if (total := sums.before(len(listed))) != len(ids):
        raise CorpusError(f"{path}: the documents have {counted(total, 'id')} together; expected {len(ids):,}")
    masks = None if reading.masks is None or form.masks is None else form.masks.read(stem)
    keys = None if reading.id_field is None or form.keys is None else partial(form.keys, stem)
    return IndexedFile(ids, len(listed), sums.lengths, sums.before, keys=keys, masks=masks, held=(listed,))


class _Sums:
    """Lengths of documents, and sums of them up to every `BLOCK`th."""

    def __init__(self, listed: Lengths) -> None:
        self._listed, self._sums = listed, [0]
        for first in range(0, len(listed), BLOCK):
            self._sums.append(self._sums[-1] + int(listed[first : first + BLOCK].sum(dtype=np.int64)))
            forget(listed)

    def before(self, document: int) -> int:
        """Return the number of ids before a document."""
        block = document // BLOCK
        return self._sums[block] + int(self._listed[block * BLOCK : document].sum(dtype=np.int64))

    def lengths(self, first: int, stop: int) -> Lengths:
        """Return the lengths of documents."""
        return self._listed[first:stop].astype(np.int64)


OWN = ReadFormat("bbpe", ".lens", tuple(dict.fromkeys(
    suffix for form in FORMATS.values() for suffix in (*form.suffixes, *(form.masks.suffixes if form.masks else ()))
)), _open)  # fmt: skip
