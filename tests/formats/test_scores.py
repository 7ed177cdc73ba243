"""Scores of Unigram models in a tokenizer.json are those that HF's tokenizers reads, and saving keeps them."""

from __future__ import annotations

import json
import random
from array import array
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import bbpe
from bbpe.core.token_table import TokenTable
from bbpe.formats.huggingface.scores import dumps, kept_number, score_of, written_score

EDGES = """
18446744073709551615 18446744073709551616
18446744073709551616.3 1844674407370955161.6 1844674407370955161.59 -0.0 -0 0e5
7.3997416684540026135 0.0e-400 1e-400 5e-324 123456789012345678e-340 1.5E+3
1e-310 -9.177328881901452 0.1e00003 -12345678901234567890123.25e-9
1844674407370955161.65 18446744073709551.6165 0.018446744073709551619512 1.8446744073709551619512
-18.4467440737095516170 184467440737095516163 18446744073709551617321.5 18446744073709551616e-19
184467440737095516191e-20
""".split()
TIES = [["<unk>", 0], ["x", -9.177328881901452], ["xx", -11.289659418771421], ["xxxxxxxx", -13.808836362429814]]


def unigram(rows: list[Any], text: str = "") -> str:
    """Return a tokenizer.json with the rows of a vocabulary, or with their JSON text."""
    return '{"version":"1.0","model":{"type":"Unigram","unk_id":0,"vocab":%s}}' % (text or json.dumps(rows))


def their_scores(tokenizers: Any, numbers: list[str]) -> list[float]:
    """Return the scores that HF's tokenizers reads from numbers in JSON."""
    rows = ",".join(f'["t{place}",{number}]' for place, number in enumerate(numbers))
    made = tokenizers.Tokenizer.from_str(unigram([], f"[{rows}]"))
    return [float(score) for _, score in json.loads(made.to_str())["model"]["vocab"]]


def some_numbers(draw: random.Random) -> list[str]:
    numbers = [*EDGES]
    for _ in range(500):
        score = draw.uniform(-20, 2)
        numbers += [repr(score), repr(float(np.float32(score))), f"{score:.20f}", f"{score:.25e}", f"{score:.17g}"]
        whole, fraction = ("".join(draw.choices("0123456789", k=draw.choice([1, 5, 17, 20, 30]))) for _ in range(2))
        power = draw.choice(["", "e5", "E-7", "e-330", "e+20"])
        numbers.append(f"{draw.choice(['', '-'])}{whole.lstrip('0') or 0}.{fraction}{power}")
    return numbers


def test_scores_are_those_that_tokenizers_reads() -> None:
    tokenizers = pytest.importorskip("tokenizers", minversion="0.23")
    numbers = some_numbers(random.Random(1))
    assert list(map(score_of, numbers)) == their_scores(tokenizers, numbers)


def read_rows(text: str) -> tuple[dict[int, bytes], list[float]] | None:
    """Return the keys and scores that C reads, within a longer text; `None` where it leaves them to Python."""
    data = f" [{text}]".encode("utf-8", "surrogatepass")
    found = TokenTable.of_scored_rows(data, 2, len(data) - 1)
    return found and (dict(found[0].pairs()), array("d", found[1]).tolist())


def test_scores_read_in_c_are_the_same() -> None:
    more = ["1e308", "17976931348623157e292", "0e99999999999999999999", "1e-99999999999999999999", "0.0E-0"]
    numbers = [*some_numbers(random.Random(2)), *more]
    rows = ",".join(f'["t{place}", {number} ]' for place, number in enumerate(numbers))
    keys = {place: f"t{place}".encode() for place in range(len(numbers))}
    assert read_rows(f"[{rows}]") == (keys, [0.0 if number == "-0" else score_of(number) for number in numbers])
    assert str(score_of("-0.0")) == str(score_of("-0.00000000000000000000")) == "0.0"
    assert read_rows('[["-", -0.0]]') == ({0: b"-"}, [0.0])
    assert read_rows("[]") == ({}, [])


@pytest.mark.parametrize("text", r"""
[["a"]] [["a",1,2]] [["a",1],] [["a",1] [["a".1]] [{"a":1}] [["a","1"]] [["a",true]] [[1,1]] [["a",01]] [["a",1.]]
["a",1] [["a",.5]] [["a",+1]] [["a",1e]] [["a",1e+]] [["a",NaN]] [["a",-Infinity]] [["a",1e309]]
[["a",-17976931348623159e292]] [["a",1e99999999999999999999]]
[["a",1],["a",2]] [["\ud800",1]] [["a\q",1]] [["a",1]]] [["a",-]] [["a",1]]x
""".split())
def test_rows_out_of_the_ordinary_are_left_to_python(text: str) -> None:
    assert read_rows(text) is None


def test_a_number_out_of_range_is_infinite() -> None:
    assert score_of("1e309") == score_of("12345678901e305") == float("inf")
    assert score_of("0e999") == 0.0


def test_digits_are_read_as_far_as_64_bits_hold_them() -> None:
    """The largest number is read whole, and of one more the last digit is left."""
    several = 0
    for places in range(1, 60):
        whole, cut = (f"{number:0{places + 1}d}" for number in (2**64 - 1, 2**64))
        texts = [f"{text[: len(text) - places]}.{text[len(text) - places :]}" for text in (whole, cut)]
        expected = [18446744073709551615.0 / float(f"1e{places}"), 1844674407370955161.0 / float(f"1e{places - 1}")]
        assert [score_of(text) for text in texts] == expected, places
        assert [score_of(f"{number}e-{places}") for number in (2**64 - 1, 2**64)] == expected, places
        several += len({*expected}) > 1
    assert several > 5


def test_a_written_score_is_read_back() -> None:
    """Every score that can be read can be written, by the digits of another double if need be."""
    numbers = [number for number in some_numbers(random.Random(2)) if 1e-5 < abs(float(number)) < 1e5]
    for score in map(score_of, numbers):
        written = written_score(score)
        assert written is not None
        text = dumps([written])[1:-1]
        assert score_of(text) == score
        assert dumps([kept_number(text)]) == f"[{text}]"


def test_scores_decide_between_equal_sums(tmp_path: Path) -> None:
    tokenizers = pytest.importorskip("tokenizers", minversion="0.23")
    path, saved = tmp_path / "tokenizer.json", tmp_path / "saved.json"
    path.write_text(unigram(TIES), encoding="utf-8")
    bbpe.load(path).save(saved)
    view = bbpe.load(path).as_tokenizers()
    views = [tokenizers.Tokenizer.from_str(view.to_str(pretty)) for pretty in (False, True)]
    judge = tokenizers.Tokenizer.from_file(str(path))
    for length in range(1, 60):
        expected = judge.encode("x" * length).ids
        assert bbpe.load(path).encode("x" * length) == bbpe.load(saved).encode("x" * length) == expected
        for made in (tokenizers.Tokenizer.from_file(str(saved)), *views):
            assert made.encode("x" * length).ids == expected
    assert bbpe.load(path).encode("x" * 26) == [2, 3, 3, 3]


@pytest.mark.parametrize("is_float", [False, True])
def test_scores_that_no_number_gives_are_kept(tmp_path: Path, is_float: bool) -> None:
    rows = [[token, score] for token, score in zip("abc", (15.364461898803711, 14.503624314378241, -2.5), strict=True)]
    value = json.loads(unigram(rows))
    value["model"]["bbpe"] = {"scores": [[0, "15.364461898803711"], [1, "14.503624314378241"]]}
    if is_float:
        value["model"]["bbpe"] |= {"sums": "float32", "user_defined": []}
    path, saved = tmp_path / "tokenizer.json", tmp_path / "saved.json"
    path.write_text(json.dumps(value), encoding="utf-8")
    made = bbpe.load(path)
    assert made.spec.model is not None
    assert written_score(15.364461898803711) is None
    made.save(saved)
    assert bbpe.load(saved) == made
    assert ("scores" in json.loads(saved.read_text(encoding="utf-8"))["model"]["bbpe"]) is not is_float


@pytest.mark.parametrize("row", [[0, 1.5], [3, "1"], [-1, "1"], [0, "nan"], [0, "x"], [0], "0"])
def test_a_wrong_score_of_the_own_field_is_refused(tmp_path: Path, row: Any) -> None:
    value = json.loads(unigram([["a", -1], ["b", -2]]))
    value["model"]["bbpe"] = {"scores": [row]}
    path = tmp_path / "tokenizer.json"
    path.write_text(json.dumps(value), encoding="utf-8")
    with pytest.raises(bbpe.VocabularyError, match=r"tokenizer\.json.*scores.*expected"):
        bbpe.load(path)


def test_a_tokenizer_in_memory_has_its_own_scores() -> None:
    """HF's tokenizers writes scores that it would not read back; a live tokenizer keeps those that it has."""
    tokenizers = pytest.importorskip("tokenizers", minversion="0.23")
    pytest.importorskip("transformers")
    from bbpe.compat.tokenizers import tokenizer_of_json

    made = tokenizers.Tokenizer(tokenizers.models.Unigram([tuple(row) for row in TIES], unk_id=0, byte_fallback=False))
    ours = tokenizer_of_json(made.to_str().encode(), float)
    for length in range(1, 60):
        assert ours.encode("x" * length) == made.encode("x" * length).ids
