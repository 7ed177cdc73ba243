"""Megatron's `.bin` of ids and `.idx` of sequences and documents, as Megatron-LM and its forks write them.

A document has any number of sequences; their ends within a document are not kept, since no other format has them.
Indices of multimodal data, which have a mode for each sequence, and numbers that are no integers are refused.
"""

from __future__ import annotations

from pathlib import Path

from ...errors import CorpusError
from ..formats.format import mapped
from ..formats.megatron import read_index
from .reader import IdReading, IndexedFile, ReadFormat, checked_dtype, suffixed


def _open(path: Path, reading: IdReading) -> IndexedFile:
    stem = MEGATRON.stem(path)
    index = suffixed(stem, ".idx")
    if not index.exists():
        raise CorpusError(f"{path}: there is no {index.name} beside it; Megatron's ids come as a .bin and an .idx")
    found = read_index(index)
    ids = mapped(path, checked_dtype(index, reading, found.dtype))
    bounds = found.bounds(len(ids))
    masks = None
    if reading.masks is not None:
        masks = mapped(suffixed(stem, ".mask.bin"), "u1", count=len(ids))
    held = (found.sizes, found.begins, found.documents)
    return IndexedFile(ids, len(found.documents) - 1, bounds.lengths, bounds.position, masks=masks, held=held)


_MASKS = (".mask.bin", ".mask.idx")
MEGATRON = ReadFormat("megatron", ".bin", (".idx", *_MASKS), _open, mask_files=_MASKS)
