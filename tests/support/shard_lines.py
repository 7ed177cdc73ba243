"""Corpora of JSON Lines for tests of shards."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any


def lines(path: Path, texts: list[Any]) -> Path:
    """Write a record with each text under the name of the field that is read by default."""
    path.write_text("".join(json.dumps({"text": text}) + "\n" for text in texts))
    return path
