"""A folder that exists as the output of a tokenizer whose file would have any name."""

from __future__ import annotations

from pathlib import Path

import pytest
from commands import Call

import bbpe


@pytest.mark.parametrize(
    "command", ["train a.txt --vocab-size 300 -o", "extend a.txt -t u.json --add 2 -o", "convert u.json"]
)
def test_commands_say_so_before_they_learn(
    command: str, call: Call, here: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    learned: list[str] = []
    for name in ("train", "extend"):
        monkeypatch.setattr(bbpe, name, lambda *_, name=name, **__: learned.append(name))
    (here / "there").mkdir()
    status, out, err = call(f"{command} there --format tiktoken --quiet")
    assert (status, out, learned) == (1, "", [])
    assert "there is a folder, and a .tiktoken rank file is a file of any name; give one, such as " in err
    assert [*(here / "there").iterdir()] == []
