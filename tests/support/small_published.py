"""A published vocabulary of a few tokens, and a machine on which nothing else is."""

from __future__ import annotations

import hashlib
import json
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest
from vocabularies import keys, merge_lines, vocab_of

import bbpe
from bbpe.formats.common.given import rank_text
from bbpe.published import find
from bbpe.published.table import PUBLISHED, Form, Published, PublishedFile

RANKS = rank_text(vocab_of())
SPECIAL = {"<|endoftext|>": 300, "<s>": 301}


def file_of(name: str, data: bytes, **more: Any) -> PublishedFile:
    git = hashlib.sha1(b"blob %d\0" % len(data) + data).hexdigest()
    return PublishedFile(name, hashlib.sha256(data).hexdigest(), len(data), git, **more)


def put(path: Path, data: bytes = RANKS) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(data)
    return path


def check(tok: bbpe.Tokenizer) -> None:
    assert (tok.name, tok.pattern, dict(tok.special_tokens)) == ("small", "llama3", SPECIAL)
    assert tok.spec.vocab == vocab_of()
    assert tok.encode("the<s>", allowed_special="all") == [257, 301]


def public_files() -> list[PublishedFile]:
    return [file for row in PUBLISHED.values() for form in row.forms for file in form.files]


def make_bare(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A machine with no vocabulary, on which the name "small" is known; returns a folder for files."""
    home = tmp_path / "home"
    home.mkdir()
    with_vocabularies = {inside.partition("/")[0] for file in public_files() for inside in file.packages}
    monkeypatch.setattr(find, "find_spec", lambda name: None if name in with_vocabularies else find_spec(name))
    for variable in ("BBPE_VOCABS", "DATA_GYM_CACHE_DIR", "HF_HOME", "HF_HUB_CACHE", "HUGGINGFACE_HUB_CACHE"):
        monkeypatch.delenv(variable, raising=False)
    monkeypatch.setenv("XDG_CACHE_HOME", str(home / "cache"))
    monkeypatch.setenv("TIKTOKEN_CACHE_DIR", str(home / "tiktoken"))
    packages = ("some_package/data/small.tiktoken.gz", "other_package/small")
    file = file_of("small.tiktoken", RANKS, url="https://example.org/small.tiktoken", packages=packages)
    vocab, merges = json.dumps(keys()), "".join(f"{line}\n" for line in ["#version: 0.2", *merge_lines()])
    pair = (file_of("encoder.json", vocab.encode()), file_of("vocab.bpe", merges.encode()))
    forms = (Form("tiktoken", (file,)), Form("gpt2", pair))
    monkeypatch.setitem(PUBLISHED, "small", Published("small", forms, "llama3", lambda: SPECIAL))
    (tmp_path / "files").mkdir()
    (tmp_path / "files/vocab").write_text(vocab, encoding="utf-8")
    (tmp_path / "files/merges").write_text(merges, encoding="utf-8")
    return tmp_path
