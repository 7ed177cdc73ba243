"""WordLevel: a pretoken is a token or unknown, with the ids of `tokenizers`."""

from __future__ import annotations

import json
import random
from pathlib import Path
from typing import Any

import pytest
from tokenizers import Tokenizer
from vocabularies import added, document, sequence, split

import bbpe
from bbpe.cli import main
from bbpe.errors import VocabularyError
from bbpe.formats.common.keys import key_of_unknown

WORDS = ["[UNK]", "[PAD]", "see", "my", "▁see", "see▁", "C", "(", "=", "中", "中文", "naïve", "A4", ",", "new", "▁"]
FUSE = {"type": "Fuse"}
SPLITS: list[Any] = [
    None,
    {"type": "Whitespace"},
    {"type": "WhitespaceSplit"},
    {"type": "BertPreTokenizer"},
    {"type": "CharDelimiterSplit", "delimiter": "|"},
    split("."),
    sequence({"type": "WhitespaceSplit"}, {"type": "Punctuation", "behavior": "Isolated"}),
    {"type": "Metaspace", "replacement": "▁", "prepend_scheme": "always", "split": True},
    {"type": "Metaspace", "replacement": "▁", "prepend_scheme": "never", "split": False},
    {"type": "Metaspace", "replacement": "C", "prepend_scheme": "first", "split": True},
    sequence({"type": "Metaspace", "replacement": "|", "prepend_scheme": "always", "split": True}, split("[a-z]+")),
]
BERT = {"type": "BertNormalizer", "clean_text": True, "handle_chinese_chars": True, "strip_accents": None}


def word_level(words: list[str], unknown: str = "[UNK]", **changes: Any) -> dict[str, Any]:
    vocab = {word: number for number, word in enumerate(words)}
    model = {"type": "WordLevel", "vocab": vocab, "unk_token": unknown}
    return document(model=model, decoder=FUSE, pre_tokenizer=SPLITS[2], **changes)


@pytest.mark.parametrize("pre_tokenizer", SPLITS, ids=[str(number) for number in range(len(SPLITS))])
@pytest.mark.parametrize("normalizer", [None, {**BERT, "lowercase": True}])
def test_ids(tmp_path: Path, pre_tokenizer: Any, normalizer: Any) -> None:
    rng, path, saved = random.Random(4), tmp_path / "tokenizer.json", tmp_path / "saved.json"
    tokens = [added("[PAD]", 1), added("[UNK]", 0), added("new", 14, special=False), added("<x>", 16, special=False)]
    value = word_level(WORDS, added_tokens=tokens, normalizer=normalizer) | {"pre_tokenizer": pre_tokenizer}
    path.write_text(json.dumps(value), "utf-8")
    hf, tok = Tokenizer.from_file(str(path)), bbpe.load(path)
    tok.save(saved)
    again, other = bbpe.load(saved), Tokenizer.from_file(str(saved))
    assert again == tok
    pool = [*WORDS, *"x |\n\u0301", "<x>", "SEE", "new", "é"]
    for text in ["", *("".join(rng.choices(pool, k=rng.randint(1, 12))) for _ in range(120))]:
        ids = hf.encode(text, add_special_tokens=False).ids
        assert tok.encode(text, allowed_special="all") == ids, text
        assert again.encode(text, allowed_special="all") == ids
        assert other.encode(text, add_special_tokens=False).ids == ids
        assert tok.encode_batch([text, text], allowed_special="all") == [ids, ids]


def test_a_word_without_a_token_is_left_out_if_nothing_is_unknown(tmp_path: Path, capsys: Any) -> None:
    path = tmp_path / "tokenizer.json"
    path.write_text(json.dumps(word_level(["see", "my", "<unk>"], "[UNK]")), "utf-8")
    tok = bbpe.load(path)
    assert tok.encode("see no my <unk>") == [0, 1, 2]
    assert tok.encode(b"\xff see") == [0]
    assert tok.encode("no " * 50_000) == []
    tok.save(tmp_path / "saved.json")
    assert bbpe.load(tmp_path / "saved.json").encode("no see") == [0]
    assert main(["inspect", str(path)]) == 0
    assert "words of a text that have no token are left out" in capsys.readouterr().out


def test_special_tokens_are_plain_text_unless_they_are_allowed(tmp_path: Path) -> None:
    path = tmp_path / "tokenizer.json"
    path.write_text(json.dumps(word_level(WORDS, added_tokens=[added("[PAD]", 1)])), "utf-8")
    tok = bbpe.load(path)
    assert tok.encode("see [PAD]") == [2, 0]
    assert tok.encode("see [PAD]", allowed_special="all") == [2, 1]
    assert (tok.unk_token_id, tok.token_to_id("中文"), tok.decode([2, 3])) == (0, 10, "seemy")


@pytest.mark.parametrize(
    ("change", "problem"),
    [
        ({"vocab": {"a": 0, "b": 0}}, "model.vocab: tokens 'a' and 'b' have the same id 0"),
        ({"vocab": {"a": "0"}}, "model.vocab: token 'a' has id \"0\""),
        ({"vocab": {"\ud800": 0}}, "model.vocab: token '\\ud800' holds half a surrogate pair"),
        ({"unk_token": None}, "model.unk_token: found null"),
        ({"more": 1}, "model: unknown field 'more'"),
    ],
)
def test_errors_name_the_field(tmp_path: Path, change: dict[str, Any], problem: str) -> None:
    path, value = tmp_path / "tokenizer.json", word_level(["a", "[UNK]"])
    path.write_text(json.dumps({**value, "model": {**value["model"], **change}}), "utf-8")
    with pytest.raises(VocabularyError) as caught:
        bbpe.load(path)
    assert problem in str(caught.value)


def test_other_formats_cannot_hold_it(tmp_path: Path) -> None:
    path = tmp_path / "tokenizer.json"
    path.write_text(json.dumps(word_level(["a", "[UNK]"])), "utf-8")
    with pytest.raises(VocabularyError, match="holds no WordLevelModel"):
        bbpe.load(path).save(tmp_path / "vocab.txt")


@pytest.mark.parametrize(
    ("keys", "unknown", "expected"),
    [
        ({"a": 3, "[UNK]": 0}, 3, "a"), ({"a": 3, "[UNK]": 0}, 0, "[UNK]"), ({}, None, "[UNK]"),
        ({"a": 3}, None, "[UNK]"),
        ({"[UNK]": 0}, None, "[UNK]_"), ({"[UNK]": 0, "[UNK]_": 1, "a": 2}, None, "[UNK]__"), ({"a": 3}, 7, "[UNK]"),
    ],
)  # fmt: skip
def test_without_an_unknown_token_its_name_is_one_that_has_no_id(
    keys: dict[str, int], unknown: int | None, expected: str
) -> None:
    assert key_of_unknown(keys, unknown, "[UNK]") == expected
