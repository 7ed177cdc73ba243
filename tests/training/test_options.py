"""Options are objects: checked when they are made, written once, and refused where they do not belong."""

from __future__ import annotations

import importlib.util
import subprocess
import sys
from dataclasses import FrozenInstanceError, fields, replace
from fractions import Fraction
from pathlib import Path
from typing import Any, get_type_hints

import numpy as np
import pytest

import bbpe
from bbpe.counting.options import FileOptions, TextOptions

TEXTS = ["see my eyes first", "see my dogs"] * 20
ROOT = Path(bbpe.__file__).parent.parent


@pytest.mark.parametrize(
    "kind", [bbpe.BPE, bbpe.WordPiece, bbpe.Unigram, bbpe.Counting], ids=lambda kind: kind.__name__
)
def test_options_are_frozen_named_and_documented(kind: Any) -> None:
    made = kind()
    assert made == kind()
    assert hash(made) == hash(kind())
    with pytest.raises(FrozenInstanceError):
        setattr(made, fields(kind)[0].name, None)
    with pytest.raises(TypeError, match="positional"):
        kind(1)
    with pytest.raises(TypeError, match="unexpected keyword argument 'none_such'"):
        kind(none_such=1)
    documented = kind.__doc__.partition("Attributes:")[2].partition("Raises:")[0]
    assert [line.partition(":")[0].strip() for line in documented.splitlines() if line[8:9].isalpha()] == [
        field.name for field in fields(kind)
    ]


def test_a_share_of_another_library_is_kept_as_a_number_of_python() -> None:
    share: Any
    for share in (np.float32(0.5), Fraction(1, 2), 0.5):
        made = bbpe.Unigram(character_coverage=share)
        assert repr(made) == repr(bbpe.Unigram(character_coverage=0.5))
        assert made.character_coverage * 2 == 1
    assert bbpe.Unigram(character_coverage=1).character_coverage == 1


@pytest.mark.parametrize(
    ("kind", "options", "error", "words"),
    [
        (bbpe.BPE, {"alphabet": "words"}, ValueError, "BPE.alphabet is 'words'; expected 'bytes' or 'chars'"),
        (bbpe.BPE, {"tie_break": "last"}, ValueError, "BPE.tie_break is 'last'; expected 'ids'"),
        (bbpe.BPE, {"min_frequency": -1}, ValueError, "BPE.min_frequency is -1; expected at least 0"),
        (bbpe.BPE, {"min_frequency": None}, TypeError, "BPE.min_frequency must be an int, not NoneType"),
        (bbpe.BPE, {"max_token_length": True}, TypeError, "BPE.max_token_length must be an int, not bool"),
        (bbpe.BPE, {"pad_vocab_to": 0}, ValueError, "BPE.pad_vocab_to is 0; expected at least 1"),
        (bbpe.BPE, {"alphabet": "chars", "max_alphabet": 0}, ValueError, "BPE.max_alphabet is 0; expected at least 1"),
        (
            bbpe.BPE,
            {"alphabet": "chars", "end_of_word": 1},
            TypeError,
            "BPE.end_of_word must be a str or None, not int",
        ),
        (bbpe.BPE, {"alphabet": "chars", "lowercase": 1}, TypeError, "BPE.lowercase must be a bool, not int"),
        (bbpe.WordPiece, {"score": "loss"}, ValueError, "WordPiece.score is 'loss'; expected 'pmi' or 'frequency'"),
        (bbpe.WordPiece, {"unk_token": None}, TypeError, "WordPiece.unk_token must be a str, not NoneType"),
        (bbpe.WordPiece, {"lowercase": None}, TypeError, "WordPiece.lowercase must be a bool, not NoneType"),
        (bbpe.WordPiece, {"max_alphabet": "9"}, TypeError, "WordPiece.max_alphabet must be an int or None, not str"),
        (bbpe.Unigram, {"character_coverage": 0}, ValueError, "Unigram.character_coverage is 0; expected more than 0"),
        (bbpe.Unigram, {"byte_fallback": 1}, TypeError, "Unigram.byte_fallback must be a bool, not int"),
        (bbpe.Unigram, {"user_defined_symbols": [1]}, TypeError, r"Unigram.user_defined_symbols\[0\] must be a str"),
        (bbpe.Unigram, {"max_token_length": 0}, ValueError, "Unigram.max_token_length is 0; expected at least 1"),
        (bbpe.Counting, {"document": "page"}, ValueError, "Counting.document is 'page'; expected 'file' or 'line'"),
        (bbpe.Counting, {"threads": 0}, ValueError, "Counting.threads is 0; expected 1 to 65536"),
        (bbpe.Counting, {"sample": "1"}, TypeError, "Counting.sample must be a number, not str"),
        (bbpe.Counting, {"format": "csv"}, ValueError, "Counting.format is 'csv'; expected 'text', 'jsonl', 'parquet'"),
        (bbpe.Counting, {"checkpoint": 5}, TypeError, "Counting.checkpoint must be a str, a path or None, not int"),
        (
            bbpe.Counting,
            {"progress": "yes"},
            TypeError,
            "Counting.progress must be a bool, a callable or None, not str",
        ),
        (bbpe.Counting, {"max_memory": 1.5}, TypeError, "Counting.max_memory: a size must be an int or a string"),
        (bbpe.Counting, {"max_pretoken_bytes": 0}, ValueError, "Counting.max_pretoken_bytes is 0; expected at least 1"),
    ],
    ids=str,
)
def test_errors_name_class_field_and_value(kind: Any, options: dict[str, Any], error: Any, words: str) -> None:
    with pytest.raises(error, match=rf"^{words}"):
        kind(**options)


def test_a_name_is_the_short_form_of_the_defaults() -> None:
    for name, model in (("bpe", bbpe.BPE()), ("wordpiece", bbpe.WordPiece()), ("unigram", bbpe.Unigram())):
        size = 340 if name == "unigram" else 270
        assert bbpe.train_from_iterator(TEXTS, size, model=name) == bbpe.train_from_iterator(TEXTS, size, model=model)


def test_one_object_serves_many_calls(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("\n".join(TEXTS))
    counting, model = bbpe.Counting(document="line", threads=1), bbpe.BPE(tie_break="first")
    tok = bbpe.train(tmp_path, 280, model=model, counting=counting)
    assert bbpe.train_from_iterator(["\n".join(TEXTS)], 280, model=model, counting=counting) == tok
    more = bbpe.extend(tok, tmp_path, 2, tie_break="first", counting=counting)
    assert more.merges == bbpe.train(tmp_path, 282, model=model, counting=counting).merges
    assert bbpe.prune(more, used_in=tmp_path, counting=counting)[0].encode(TEXTS[0]) == more.encode(TEXTS[0])
    assert replace(counting, threads=2).document == "line"


def test_symbols_may_be_a_list() -> None:
    assert bbpe.Unigram(user_defined_symbols=["a", "b"]) == bbpe.Unigram(user_defined_symbols=("a", "b"))


def test_counting_is_written_once() -> None:
    """The keywords of `count` are the fields of `Counting`, with their types."""
    hints = get_type_hints(bbpe.Counting)
    assert get_type_hints(FileOptions) == hints
    of_files = ("text_field", "format", "on_error")
    assert get_type_hints(TextOptions) == {name: hints[name] for name in hints if name not in of_files}
    assert not FileOptions.__required_keys__
    # a default by `count`, and one by the object, are the same
    assert bbpe.count_from_iterator(TEXTS, pattern="gpt2") == bbpe.count_from_iterator(
        TEXTS, pattern="gpt2", **{field.name: field.default for field in fields(bbpe.Counting) if field.name in hints}
    )


PROGRAM = """
import bbpe
bbpe.train("a", 300, model=bbpe.BPE(tie_break="first"), counting=bbpe.Counting(threads=2))
bbpe.count("a", pattern="gpt2", text_field="b", sample=0.5)
bbpe.train("a", 300, model=bbpe.BPE(score="pmi"))
bbpe.train("a", 300, model="bep")
bbpe.train("a", 300, end_of_word="</w>")
bbpe.WordPiece(tie_break="ids")
bbpe.Unigram(min_frequency=2)
bbpe.count("a", pattern="gpt2", theads=2)
bbpe.count("a", pattern="gpt2", threads="2")
bbpe.count_from_iterator(["a"], pattern="gpt2", text_field="b")
"""


@pytest.mark.full
@pytest.mark.skipif(importlib.util.find_spec("mypy") is None, reason="no mypy here")
def test_mypy_refuses_an_option_of_another_model(tmp_path: Path) -> None:
    (tmp_path / "program.py").write_text(PROGRAM)
    (tmp_path / "mypy.ini").write_text("[mypy]\nfollow_imports = silent\nignore_missing_imports = True\n")
    command = [sys.executable, "-m", "mypy", "--config-file", "mypy.ini", "--cache-dir", "cache", "program.py"]
    done = subprocess.run(
        command, cwd=tmp_path, env={"MYPYPATH": str(ROOT)}, capture_output=True, text=True, check=False
    )
    lines = [int(line.split(":")[1]) for line in done.stdout.splitlines() if ": error:" in line]
    assert lines == [5, 6, 7, 8, 9, 10, 11, 12], done.stdout + done.stderr


def test_ids_to_keep_have_no_weights() -> None:
    tok = bbpe.train_from_iterator(["low lower"], 258)
    with pytest.raises(TypeError, match="keep must be a collection of ids, not dict"):
        bbpe.prune(tok, {256: 1})  # type: ignore[arg-type]
