"""Vocabularies that are lines of text: which lines are read, and which are refused by their number."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from test_other_tools import rwkv_lines
from vocabularies import MERGES, keys, merge_lines, small_spec, vocab_of, write_json

import bbpe
from bbpe import formats
from bbpe.errors import VocabularyError
from bbpe.records import replace
from bbpe.spec.rules import TokenOptions
from bbpe.spec.spec import MAX_ID
from bbpe.splitting.patterns import Pattern, get_pattern

BYTES = rwkv_lines(dict(enumerate((bytes([byte]) for byte in range(256)), 1))).splitlines()
RWKV = "rwkv_vocab_v20230424.txt"
BERT = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "see", "##s"]


def written(path: Path, lines: list[str], end: str = "\n") -> Path:
    path.write_bytes("".join(f"{line}{end}" for line in lines).encode())
    return path


def refused(path: Path, problem: str, **options: Any) -> None:
    with pytest.raises(VocabularyError) as caught:
        bbpe.load(path, **options)
    assert f"{path}: {problem}" in str(caught.value)


@pytest.mark.parametrize(
    ("name", "lines", "problem"),
    [
        ("x.model", ["minbpe v1", "x"], "line 3: found ''; expected the number of special tokens"),
        ("x.model", ["minbpe v1", "", "1000000"], "line 3: found '1000000'; expected the number of special"),
        ("x.model", ["minbpe v1", "", "²"], "line 3: found '²'; expected the number of special tokens"),
        ("x.model", ["minbpe v1", "", "-1"], "line 3: found '-1'; expected the number of special tokens"),
        ("x.model", ["minbpe v1", "", "999999"], "the end: found 0 special tokens; expected 999,999"),
        ("x.model", ["minbpe v1", "", "2", "<x> 500"], "the end: found 1 special tokens; expected 2"),
        ("x.model", ["minbpe v1", "", "2", "<x> 500", "<y>"], "line 5: found '<y>'; expected a special token, a blank"),
        ("x.model", ["minbpe v1", "", "1", " 500"], "line 4: found ' 500'; expected a special token, a blank and its"),
        ("x.model", ["minbpe v1", "", "1", "<x> 5x"], "line 4: found '<x> 5x'; expected a special token"),
        ("x.model", ["minbpe v1", "", "1", "<x> ٣"], "line 4: found '<x> ٣'; expected a special token"),
        ("x.model", ["minbpe v1", "", "1", "<x> 1234567890"], "line 4: found '<x> 1234567890'; expected a special"),
        ("x.model", ["minbpe v1", "", "0", "97 98 99"], "line 4: found '97 98 99'; expected the two ids of a merge"),
        ("x.model", ["minbpe v1", "", "0", "97 x"], "line 4: found '97 x'; expected the two ids of a merge"),
        ("x.model", ["minbpe v1", "", "0", "97 ³"], "line 4: found '97 ³'; expected the two ids of a merge"),
        ("x.model", ["minbpe v1", "", "0", "97 1234567890"], "line 4: found '97 1234567890'; expected the two ids"),
        ("x.model", ["minbpe v1", "", "0", "97 98", "98 257"], "line 5: merge of 98 and 257: expected ids below 257"),
        ("x.model", ["minbpe v1", "", "0", "256 97"], "line 4: merge of 256 and 97: expected ids below 256"),
        ("x.model", ["minbpe v1", "", "9" * 50], f"line 3: found '{'9' * 40}'; expected the number"),
        ("x.yttm", ["2 0", "97 4", "97 5", "1 0 2 3"], "line 3: token 'a' has id 5, but one of them is taken"),
        ("x.yttm", ["2 1", "97 4", "98 5", "7 4 6", "1 0 2 3"], "line 4: found a merge of 7 and 4; expected ids that"),
        ("x.yttm", ["2 1", "97 4", "98 5", "4 5 5", "1 0 2 3"], "line 4: token 'ab' has id 5, but one of them is"),
        ("x.yttm", ["1 0", "97 4", "1 0 2 3", "1 0 2 3"], "found 4 lines; expected 3, for 1 characters and 0 merges"),
        ("x.yttm", ["1 0", "-97 4", "1 0 2 3"], f"line 2: found '-97 4'; expected 2 numbers, 0 to {MAX_ID}"),
        ("x.yttm", ["1 0", "97 4", "-2 0 2 3"], f"line 3: found '-2 0 2 3'; expected 4 numbers, -1 to {MAX_ID}"),
        ("x.yttm", ["1 0", f"97 {MAX_ID + 1}", "1 0 2 3"], f"line 2: found '97 {MAX_ID + 1}'; expected 2 numbers"),
        ("x.yttm", ["1 0", "٣ 4", "1 0 2 3"], "line 2: found '٣ 4'; expected 2 numbers, 0 to"),
        ("x.yttm", ["1 0", "9-7 4", "1 0 2 3"], "line 2: found '9-7 4'; expected 2 numbers, 0 to"),
        ("x.yttm", ["1 0", f"{'0' * 10}97 4", "1 0 2 3"], f"line 2: found '{'0' * 10}97 4'; expected 2 numbers"),
        ("x.yttm", ["1 x", "97 4", "1 0 2 3"], "line 1: found '1 x'; expected 2 numbers, 0 to"),
        (RWKV, [*BYTES, "300 5 1"], "line 257: found '300 5 1'; expected an id, a Python literal of text or bytes"),
        (RWKV, [*BYTES, f"{MAX_ID + 1} 'ab' 2"], f"line 257: found \"{MAX_ID + 1} 'ab' 2\"; expected an id"),
        (RWKV, [*BYTES, "300 'ab' ²"], "line 257: found \"300 'ab' ²\"; expected an id"),
        (RWKV, [*BYTES, "٣ 'ab' 2"], "line 257: found \"٣ 'ab' 2\"; expected an id"),
        (RWKV, [*BYTES, ""], "line 257: found ''; expected an id"),
        ("x.codes", ["#version: 0.3", "a b</w>"], "line 1: found '#version: 0.3'; expected '#version: 0.2' or '#ver"),
        ("x.codes", ["#version: 0.2", "a b</w>", "a"], "line 3: found 'a'; expected two symbols with a blank between"),
        ("x.codes", ["#version: 0.2", "a b</w> 3"], "line 2: found 'a b</w> 3'; expected two symbols with a blank"),
        ("x.codes", ["#version: 0.2", " b</w>"], "line 2: found ' b</w>'; expected two symbols with a blank between"),
        ("x.codes", ["v3;false;true;x", "a b</w>"], "line 1: found the header of OpenNMT's Tokenizer; expected codes"),
        ("vocab.txt", ["[UNK]", "see", "my", "see"], "line 4: token 'see' is also on line 2; expected each token once"),
        ("vocab.txt", ["see", "my"], "no line is [UNK]; expected one for words without tokens"),
    ],
)
def test_lines_that_are_refused(tmp_path: Path, name: str, lines: list[str], problem: str) -> None:
    last = "\n." if lines[-1] == "" else ""
    path = written(tmp_path / name, [*lines, *([BYTES[0]] if last else [])])
    refused(path, problem)


@pytest.mark.parametrize("end", ["\n", "\r\n"])
def test_lines_that_end_in_either_way(tmp_path: Path, end: str) -> None:
    minbpe = bbpe.load(written(tmp_path / "x.model", ["minbpe v1", r"\w+|\W+", "1", "<x y> 500", "97 98"], end))
    assert (minbpe.encode("abba"), minbpe.pattern) == ([256, 98, 97], r"\w+|\W+")
    assert dict(minbpe.special_tokens) == {"<x y>": 500}
    words = bbpe.load(written(tmp_path / "vocab.txt", BERT, end))
    assert words.encode("sees") == [5, 6]
    assert words.vocab_size == 7
    longest = bbpe.load(written(tmp_path / RWKV, [*BYTES, "257 'ab' 2", "257 'ab' 2"], end))
    assert longest.encode("aba") == [257, 98]
    yttm = bbpe.load(written(tmp_path / "x.yttm", ["2 1", "9601 4", "97 5", "4 5 6", "1 -1 -1 3"], end))
    assert yttm.encode("a aab") == [6, 6, 5, 1]
    assert dict(yttm.special_tokens) == {"<UNK>": 1, "<EOS>": 3}
    codes = bbpe.load(written(tmp_path / "x.codes", ["#version: 0.2", "a b</w>"], end))
    assert codes.decode(codes.encode("ab a")) == "ab a"
    assert len(codes.encode("ab")) == 1
    counted = bbpe.load(written(tmp_path / "counted", ["a b</w> 7", "b a</w> 2"], end))
    assert len(counted.encode("ab ba")) == 2


def test_blank_lines_of_a_vocab_txt_of_ids_are_skipped(tmp_path: Path) -> None:
    lines = [f"{key} {number}" for key, number in (keys() | {"<|a b|>": 300}).items()]
    for end in ("\n", "\r\n"):
        path = written(tmp_path / "vocab.txt", ["", *lines[:9], "", "", *lines[9:], ""], end)
        written(tmp_path / "merges.txt", ["#version: 0.2", *merge_lines()], end)
        tok = bbpe.load(path, pattern="gpt2")
        assert tok.spec.vocab == vocab_of()
        assert dict(tok.special_tokens) == {"<|a b|>": 300}
        assert tok.encode("the") == [257]
        refused(written(path, ["", *lines[:9], "", "x"], end), "line 12: found 'x", pattern="gpt2")


def test_a_token_may_be_twice_in_a_file_of_longest_matches_only_with_one_id(tmp_path: Path) -> None:
    path = written(tmp_path / RWKV, [*BYTES, "300 'ab' 2"])
    assert bbpe.load(path).vocab_size == 301
    refused(written(path, [*BYTES, "300 'ab' 2", "300 'abc' 3"]), "line 258: id 300 already has a token; expected each")


def test_merges_that_have_counts_are_named_so(tmp_path: Path) -> None:
    write_json(tmp_path / "vocab.json", keys())
    for line, more in (("i n 5", ", with a count as in fastBPE's codes"), ("i n g", ""), ("i", ""), ("i n 5 6", "")):
        written(tmp_path / "merges.txt", ["#version: 0.2", "t h", line])
        with pytest.raises(VocabularyError) as caught:
            bbpe.load(tmp_path, pattern="gpt2")
        assert f"merges.txt: line 3: found {line!r}{more}; expected two tokens with one blank" in str(caught.value)


NOT_IN_MINBPE: list[tuple[dict[str, Any], str]] = [
    ({"pattern": Pattern(None, (r"\w+", r"\W+"))}, "minbpe holds one regex on one line"),
    ({"pattern": Pattern(None, ("a\n|b",))}, "minbpe holds one regex on one line"),
    ({"pattern": get_pattern("whitespace")}, "minbpe holds one regex on one line"),
    ({"special_tokens": {"<\n>": 300}}, "no added tokens or special tokens with white space"),
    ({"special_tokens": {" <x>": 300}}, "no added tokens or special tokens with white space"),
    ({"special_tokens": {"<x>": 300, "<x>\t": 301}}, "no added tokens or special tokens with white space"),
    ({"added_tokens": {"<x>": 300}}, "no added tokens or special tokens with white space"),
    ({"merges": None}, "the 256 bytes and then the results of merges in order"),
]


def of_minbpe(**changes: Any) -> Any:
    """A spec with the ids of minbpe."""
    vocab = {byte: bytes([byte]) for byte in range(256)}
    vocab |= {256 + number: left + right for number, (left, right) in enumerate(MERGES)}
    ids = {token: token_id for token_id, token in vocab.items()}
    merges = [(ids[left], ids[right], ids[left + right]) for left, right in MERGES]
    return replace(small_spec(special_tokens={}), vocab=vocab, **{"merges": merges, **changes})


@pytest.mark.parametrize(("changes", "problem"), NOT_IN_MINBPE)
def test_what_minbpe_does_not_hold(tmp_path: Path, changes: dict[str, Any], problem: str) -> None:
    with pytest.raises(VocabularyError, match=problem):
        formats.written(of_minbpe(**changes), tmp_path / "x.model", "minbpe")


def test_a_written_model_of_minbpe(tmp_path: Path) -> None:
    spec = of_minbpe(special_tokens={"<x y>": 301, "<a>": 300})
    (data,) = formats.written(spec, tmp_path / "x.model", "minbpe").values()
    lines = data.decode().split("\n")
    assert lines[:5] == ["minbpe v1", get_pattern("gpt2").steps[0], "2", "<x y> 301", "<a> 300"]
    assert lines[5:7] == ["116 104", "256 101"]
    assert (len(lines), lines[-1]) == (5 + len(MERGES) + 1, "")


@pytest.mark.parametrize(
    ("changes", "problem"),
    [
        ({"added_tokens": {"<x>": 9}}, "no other rules or added tokens; write tokenizer.json"),
        ({"token_options": {"<PAD>": TokenOptions(lstrip=True)}}, "no other rules or added tokens"),
        ({"pattern": get_pattern("gpt2")}, "no other rules or added tokens"),
        ({"special_tokens": {"<UNK>": 1, "<X>": 9}}, "holds the special tokens <UNK>, <PAD>, <BOS>, <EOS>; write tok"),
        ({"special_tokens": {"<PAD>": 1}}, "holds the special tokens <UNK>, <PAD>, <BOS>, <EOS>"),
    ],
)
def test_what_youtokentome_does_not_hold(tmp_path: Path, changes: dict[str, Any], problem: str) -> None:
    path = written(tmp_path / "x.yttm", ["2 1", "9601 4", "97 5", "4 5 6", "1 -1 -1 3"])
    spec = formats.load(path)
    (data,) = formats.written(spec, path, "youtokentome").values()
    assert data == path.read_bytes()
    with pytest.raises(VocabularyError, match=problem):
        formats.written(replace(spec, **changes), path, "youtokentome")
