"""The formats of files of ids that are read, of other programs and of our own, and a reader for each."""

from __future__ import annotations

from .megatron import MEGATRON
from .own import OWN
from .packed import LITDATA, MDS
from .raw import AUTOMODEL, LLMC, NANOGPT, NUMPY
from .reader import (
    BLOCK,
    DOCUMENTS,
    DelimitedFile,
    IdBlock,
    IdFile,
    IdReading,
    IndexedFile,
    OnMissing,
    ReadFormat,
    in_blocks,
    missing,
    suffixed,
)
from .rows import PARQUET
from .tables import DATATROVE, OLMO

__all__ = [
    "BLOCK",
    "DOCUMENTS",
    "READ_FORMATS",
    "DelimitedFile",
    "IdBlock",
    "IdFile",
    "IdReading",
    "IndexedFile",
    "OnMissing",
    "ReadFormat",
    "in_blocks",
    "missing",
    "suffixed",
]

#: The formats by their names.
READ_FORMATS: dict[str, ReadFormat] = {
    form.name: form
    for form in (
        MEGATRON, NANOGPT, LLMC, AUTOMODEL, OLMO, DATATROVE, NUMPY, PARQUET, MDS, LITDATA, OWN,
    )
}  # fmt: skip
