"""What is timed: a room for each concept; importing them fills `JOBS`."""

from . import (
    decoding,
    encoding,
    latency,
    loading,
    memory,
    models,
    pipeline,
    rows,
    shards,
    splitting,
    start,
    training,
    wrapped,
)
from .registry import CLOCKS, JOBS, Measured, Unit, digest

__all__ = [
    "CLOCKS",
    "JOBS",
    "Measured",
    "Unit",
    "decoding",
    "digest",
    "encoding",
    "latency",
    "loading",
    "memory",
    "models",
    "pipeline",
    "rows",
    "shards",
    "splitting",
    "start",
    "training",
    "wrapped",
]
