"""GGUF files of every kind give llama.cpp's ids: those of a table, and of the library where it is installed."""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path
from typing import Any

import llama_cpp
import pytest
from gguf_files import gguf

from bbpe.formats.gguf.bpe import _ADDS_BOS, _PRE
from bbpe.formats.gguf.fields import JUDGE

VERSION, KEPT = llama_cpp.kept()
#: The files train a vocabulary, which only their tests wait for.
files = cache(llama_cpp.files)


def alike() -> dict[str, list[str]]:
    """Files that differ in names of one pre-tokenizer alone, by the first name of each."""
    first: dict[Any, str] = {}
    found: dict[str, list[str]] = {}
    for name in KEPT:
        kind, _, pre = name.partition(" ")
        way = (_PRE[pre], pre in _ADDS_BOS) if kind == "gpt2" and pre in _PRE else name
        found.setdefault(first.setdefault(way, name), []).append(name)
    return found


@pytest.mark.parametrize("name", alike())
def test_the_table(tmp_path: Path, name: str) -> None:
    """A new kind of file, or a new name of a pre-tokenizer, gets its row by `tests/support/llama_cpp.py`."""
    path = tmp_path / "x.gguf"
    path.write_bytes(gguf(files()[name]))
    assert llama_cpp.differences(path, llama_cpp.TEXTS, KEPT[name]) == []


def test_the_table_has_what_there_is() -> None:
    assert set(KEPT) == set(files())
    assert len(alike()) > 30


def test_names_of_one_pre_tokenizer_have_one_answer() -> None:
    """test_gguf.py::test_every_known_splitting shows that each name is read as its row says."""
    for first, names in alike().items():
        assert [name for name in names if KEPT[name] != KEPT[first]] == []


@pytest.fixture(scope="module")
def installed() -> str:
    if not llama_cpp.PACKAGE.is_dir():
        pytest.skip("could not import 'node-llama-cpp': npm install --prefix build/llama node-llama-cpp@3.22.1")
    return str(json.loads((llama_cpp.PACKAGE / "package.json").read_text("utf-8"))["version"])


@pytest.mark.engines
def test_the_library_is_that_of_the_table(installed: str) -> None:
    info = json.loads((llama_cpp.PACKAGE / "llama" / "llama.cpp.info.json").read_text("utf-8"))
    assert (installed, info["tag"]) == (VERSION, JUDGE)


@pytest.mark.engines
@pytest.mark.parametrize("kind", sorted({name.split(" ")[0] for name in KEPT}))
def test_a_thousand_texts(installed: str, tmp_path: Path, kind: str) -> None:
    chosen = {name: values for name, values in files().items() if name.split(" ")[0] == kind}
    asked = llama_cpp.texts(1000)
    if kind == "bert":  # control characters that are white space are in the list of docs/formats.md
        asked = [text for text in asked if not {"\x0b", "\x0c", "\x85"} & set(text)]
    path, found = tmp_path / "x.gguf", {}
    for name, said in llama_cpp.answers(chosen, asked).items():
        path.write_bytes(gguf(chosen[name]))
        found[name] = llama_cpp.differences(path, asked, said)[:3]
    assert {name: some for name, some in found.items() if some} == {}
