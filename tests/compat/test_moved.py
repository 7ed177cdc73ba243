"""Modules of `bbpe.compat` by the names that they had before: pickles and programs that have these go on."""

from __future__ import annotations

import pickle
import sys
from importlib import import_module

import pytest

import bbpe
from bbpe import compat

KINDS = {
    "tokenizers": lambda tok: tok.as_tokenizers(),
    "encoding": lambda tok: tok.as_tokenizers().encode("see my dogs"),
    "sentencepiece": lambda tok: tok.as_sentencepiece(),
}


@pytest.mark.parametrize("name", compat._MOVED)
def test_both_names_are_of_one_module(name: str) -> None:
    before = import_module(f"bbpe.compat.{name}")
    assert before is import_module(f"bbpe.compat.{compat._MOVED[name]}")
    assert before is getattr(compat, name)
    assert before is sys.modules[f"bbpe.compat.{name}"]


@pytest.mark.parametrize("name", KINDS)
def test_pickles_with_names_from_before(name: str) -> None:
    tok = bbpe.train_from_iterator(["see my eyes first", "see my dogs"] * 3, 290, model=bbpe.Unigram())
    made = KINDS[name](tok)
    # protocol 0 has names as lines, so that their lengths do not matter
    data = pickle.dumps(made, 0)
    classes = (*compat._RENAMED.items(), ("", ""))
    for before, now in compat._MOVED.items():
        for old, new in classes:
            data = data.replace(f"cbbpe.compat.{now}\n{new}".encode(), f"cbbpe.compat.{before}\n{old}".encode())
    assert data != pickle.dumps(made, 0)
    read = pickle.loads(data)
    assert type(read) is type(made)
    assert pickle.dumps(read, 0) == pickle.dumps(made, 0)
