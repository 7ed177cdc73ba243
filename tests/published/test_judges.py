"""Ids that the tests of other projects expect of published vocabularies.

A table says whose tests they are (`source`, `commit`, `licence`), and has rows of a vocabulary, a text and its ids.  A
long row has the SHA-256 of the ids instead, in decimal and with blanks between.  judges.json holds short facts;
whole tables of other projects are not committed, but read from `../shared/judges` where it exists.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from compared import compared
from published import SHARED

import bbpe

FILES = [Path(__file__).with_name("judges.json"), *sorted(SHARED.glob("judges/*.json"))]


def tables() -> list[Any]:
    """Each source with each of its vocabularies."""
    rows: dict[tuple[str, str], list[Any]] = {}
    for table in (table for path in FILES for table in json.loads(path.read_text("utf-8"))):
        for vocabulary, *row in table["rows"]:
            rows.setdefault((table["source"], vocabulary), []).append(row)
    return [pytest.param(key[1], some, id=" ".join(key)) for key, some in rows.items()]


def digest(ids: list[int]) -> str:
    return hashlib.sha256(" ".join(map(str, ids)).encode()).hexdigest()


@pytest.mark.parametrize(("vocabulary", "rows"), tables())
def test_ids_that_other_projects_expect(
    vocabulary: str, rows: list[Any], real: Callable[[str], bbpe.Tokenizer]
) -> None:
    tok = real(vocabulary)
    with compared(at_least=len(rows)) as one_more:
        for text, expected in rows:
            ids = tok.encode(text, allowed_special="all")
            assert (ids if isinstance(expected, list) else digest(ids)) == expected, text
            one_more()
