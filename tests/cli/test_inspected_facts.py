"""`bbpe inspect` of tokenizers made by hand: all facts as data, and the lines for readers."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from commands import Call

import bbpe
from bbpe.core.split import UNICODE_VERSION

RANKS = {bytes([byte]): byte for byte in range(256)} | {b"ab": 256, b"abc": 257, b"xyz": 260}
WORDS = ["see my eyes first, see my dogs"] * 3


@pytest.fixture
def ranked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> bbpe.Tokenizer:
    """In r.json: 256 bytes, three tokens of which no merge makes one, two special tokens, and ids without a token."""
    monkeypatch.chdir(tmp_path)
    tok = bbpe.Tokenizer.from_ranks(RANKS, pattern="gpt2", special_tokens={"<z>": 300, "<a>": 262})
    tok.save("r.json")
    return tok


def test_facts_of_a_vocabulary_of_bytes(ranked: bbpe.Tokenizer, call: Call) -> None:
    facts: dict[str, Any] = {
        "file": "r.json", "format": "huggingface", "kind": "tokenizer.json", "class": None,
        "bytes": Path("r.json").stat().st_size, "name": None, "vocab_size": 301, "tokens": 256 + 3 + 2,
        "holes": 301 - 261, "longest_token": 3, "model": "BPE of bytes, by 2 merges", "mode": "merges", "merges": 2,
        "first_merges": "'a' + 'b', 'ab' + 'c'", "unmade_tokens": 1, "unmade_examples": ["xyz"],
        "whole_pretokens": True, "normalizers": "", "pre_tokenizers": "", "pattern": "gpt2", "pattern_equals": "gpt2",
        "pattern_like": None, "pattern_differs": [], "pattern_example": None, "pattern_dialect": "Oniguruma",
        "compiled": True, "template": None, "decoder": "ByteLevel", "runs_in_python": None, "unicode": UNICODE_VERSION,
        "special_tokens": {"<a>": 262, "<z>": 300}, "added_tokens": {}, "fingerprint": ranked.fingerprint,
        "unusual": [
            "no merges make 1 token ('xyz'); it is found where a whole pretoken is one",
            "40 ids below 301 have no token; texts never have them",
        ],
    }  # fmt: skip
    status, out, err = call("inspect r.json --json")
    assert (status, err) == (0, "")
    assert json.loads(out) == facts
    assert list(json.loads(out)) == list(facts)
    given = json.loads(call("inspect r.json --json --pattern gpt2")[1])
    assert given == {**facts, "pattern_dialect": "given, in the syntax of the regex package"}


def test_lines_of_a_vocabulary_of_bytes(ranked: bbpe.Tokenizer, call: Call) -> None:
    """Facts that the tokenizer does not have are left out; each unusual one has a line."""
    assert call("inspect r.json")[1].splitlines() == [
        "file             r.json",
        "kind             tokenizer.json",
        f"bytes            {Path('r.json').stat().st_size}",
        "vocab_size       301",
        "longest_token    3",
        "model            BPE of bytes, by 2 merges",
        "first_merges     'a' + 'b', 'ab' + 'c'",
        "pattern          gpt2",
        "pattern_dialect  Oniguruma",
        f"unicode          {UNICODE_VERSION}",
        "decoder          ByteLevel",
        "special_tokens   2: 262 '<a>', 300 '<z>'",
        "added_tokens     0",
        f"fingerprint      {ranked.fingerprint}",
        "unusual          no merges make 1 token ('xyz'); it is found where a whole pretoken is one",
        "unusual          40 ids below 301 have no token; texts never have them",
    ]


def test_five_special_tokens_are_not_all_shown(ranked: bbpe.Tokenizer, call: Call) -> None:
    for count, shown in ((4, "4: 300 '<0>', 301 '<1>', 302 '<2>', 303 '<3>'"),
                         (6, "6: 300 '<0>', 301 '<1>', 302 '<2>', 303 '<3>' and 2 more")):  # fmt: skip
        special = {f"<{number}>": 300 + number for number in reversed(range(count))}
        bbpe.Tokenizer.from_ranks(RANKS, pattern="gpt2", special_tokens=special).save("s.json")
        assert f"\nspecial_tokens   {shown}\n" in call("inspect s.json")[1]


@pytest.mark.parametrize(
    ("name", "model", "size", "expected", "absent"),
    [
        ("c.json", bbpe.BPE(alphabet="chars", end_of_word="</w>"), 24, {
            "model": "BPE of characters of words, by 8 merges", "mode": "merges", "merges": 8, "vocab_size": 24,
            "tokens": 24, "holes": 0, "tokenless_become": "written as '<unk>'", "special_tokens": {"<unk>": 0},
            "unusual": ["words of a text that have no token are written as '<unk>'"], "decoder": "BPEDecoder",
            "pattern_dialect": "Oniguruma",
        }, ["unmade_tokens", "whole_pretokens", "tokenless_bytes"]),
        ("w.json", "wordpiece", 34, {
            "model": "WordPiece", "mode": "WordPieceModel", "merges": None, "first_merges": "",
            "normalizers": "BertNormalizer", "pre_tokenizers": "BertPreTokenizer", "pattern": "none",
            "special_tokens": {"[UNK]": 0}, "longest_token": 5,
            "unusual": ["texts are changed before the model by BertNormalizer; `decode` does not undo it"],
        }, ["unmade_tokens", "whole_pretokens", "tokenless_become", "tokenless_bytes"]),
        ("u.model", bbpe.Unigram(), 290, {
            "format": "sentencepiece", "kind": "a SentencePiece .model", "model": "Unigram", "mode": "UnigramModel",
            "tokenless_become": "written as the tokens of their bytes", "first_merges": "",
            "pattern_dialect": "none: such a model does not split texts", "normalizers": "Replace Prepend Replace",
            "unusual": ["texts are changed before the model by Replace; `decode` does not undo it"],
        }, ["unmade_tokens", "whole_pretokens", "tokenless_bytes"]),
    ],
    ids=lambda value: value if isinstance(value, str) and "." in value else "",
)  # fmt: skip
def test_facts_of_other_models(
    name: str, model: Any, size: int, expected: dict[str, Any], absent: list[str], ranked: bbpe.Tokenizer, call: Call
) -> None:
    bbpe.train_from_iterator(WORDS, size, model=model).save(name)
    facts = json.loads(call(f"inspect {name} --json")[1])
    assert {key: facts[key] for key in expected} == expected
    assert not facts.keys() & set(absent)
    lines = call(f"inspect {name}")[1].splitlines()
    assert f"model            {expected['model']}" in lines
    assert lines[-1] == f"unusual          {expected['unusual'][0]}"


def test_the_first_eight_merges_are_shown(ranked: bbpe.Tokenizer, call: Call) -> None:
    texts = ["abcdefghij" * 3]
    for size in (263, 264, 265):
        tok = bbpe.train_from_iterator(texts, size)
        tok.save("m.json")
        shown = [f"{left.decode()!r} + {right.decode()!r}" for left, right in tok.merges[:8]]
        assert len(shown) == min(size - 256, 8)
        assert json.loads(call("inspect m.json --json")[1])["first_merges"] == ", ".join(shown)
