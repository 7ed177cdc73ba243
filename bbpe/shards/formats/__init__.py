"""The formats of shards, one file each with its writer and its reader."""

from __future__ import annotations

from .datatrove import DATATROVE
from .format import Columns, Keys, Lengths, Masks, OutputFormat, Writer
from .llmc import AUTOMODEL, LLMC
from .megatron import MEGATRON
from .olmo import OLMO
from .parquet import PARQUET
from .raw import NANOGPT, NUMPY

__all__ = ["FORMATS", "Columns", "Format", "Keys", "Lengths", "Masks", "Writer"]

#: The formats by their names.
FORMATS: dict[str, OutputFormat] = {
    "megatron": MEGATRON,
    "nanogpt": NANOGPT,
    "llmc": LLMC,
    "automodel": AUTOMODEL,
    "olmo": OLMO,
    "datatrove": DATATROVE,
    "numpy": NUMPY,
    "parquet": PARQUET,
}
