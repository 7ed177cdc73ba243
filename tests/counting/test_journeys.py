"""One small file is counted without a detour."""

from __future__ import annotations

from pathlib import Path

from journeys import journey

import bbpe


def test_counting_a_file_is_a_short_journey(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("low lower lowest")
    found = journey(lambda: bbpe.count(tmp_path / "a.txt", pattern="gpt2"))
    assert found.rooms <= 8, found
    assert found.changes <= 15, found
