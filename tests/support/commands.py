"""A folder with texts and two tokenizers, and commands that run in this process."""

from __future__ import annotations

import io
import json
from collections.abc import Callable
from pathlib import Path

import pytest

import bbpe
from bbpe.cli import main

__all__ = ["SMALL", "TEXT", "TOK", "Call", "call", "here"]

TEXT = "see my eyes <s> first\nsee my dogs\n\nna\u00efve \u6df1\u5ea6\n"
#: Runs a command line, with the bytes of standard input; gives the status, and the texts on stdout and stderr.
Call = Callable[..., tuple[int, str, str]]

TOK = bbpe.train_from_iterator([TEXT] * 3, 300, special_tokens=["<s>"])
SMALL = bbpe.train_from_iterator([TEXT] * 3, 265)


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder, which is the current one."""
    monkeypatch.chdir(tmp_path)
    for name in ("a.txt", "b.txt"):
        Path(name).write_text(TEXT, "utf-8")
    Path("a.jsonl").write_text("".join(json.dumps({"text": text, "body": "my"}) + "\n" for text in TEXT.splitlines()))
    TOK.save("t.json")
    SMALL.save("u.json")
    return tmp_path


@pytest.fixture
def call(capfdbinary: pytest.CaptureFixture[bytes], monkeypatch: pytest.MonkeyPatch) -> Call:
    """What runs a command line."""

    def run(words: str | list[str], stdin: bytes | None = None) -> tuple[int, str, str]:
        if stdin is not None:
            monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(stdin)))
        try:
            status = main(words.split() if isinstance(words, str) else words)
        except SystemExit as ended:
            status = int(ended.code or 0)
        out, err = capfdbinary.readouterr()
        return status, out.decode(), err.decode()

    return run
