"""The `unigram.json` of `SentencePieceUnigramTokenizer.save_model`, with the rules of that class of `tokenizers`."""

from __future__ import annotations

import json
import random
from pathlib import Path
from typing import Any

import pytest

import bbpe
from bbpe import formats
from bbpe.errors import VocabularyError, VocabularyWarning

tokenizers = pytest.importorskip("tokenizers")

PARTS = (
    "<unk> <mask> see my dogs \u2581 \u200b \ufb01 \u2460 \u00ad \t \n \u00e9 e\u0301 \u6771\u4eac \u0939\u093f "
    "\U0001f917 \x07 \ufeff \u2163 \uff26 \u3000 a the  "
).split(" ")
WORDS = (
    "see my dogs the other dog sees his eyes first low lower lowest new newest news, and then? a b c d \u00e9t\u00e9 "
    "\u6771\u4eac \u6771\u4eac\u90fd \u0939\u093f\u0928\u094d\u0926\u0940 FULL 12 345 (x) f(x) some thing something"
).split()
SPECIALS = ["<unk>", "<mask>"]


def trained(folder: Path, **options: Any) -> Any:
    hf = tokenizers.SentencePieceUnigramTokenizer()
    chosen = random.Random(0)
    lines = [" ".join(chosen.choices(WORDS, k=9)) for _ in range(400)]
    hf.train_from_iterator(lines, vocab_size=90, show_progress=False, unk_token="<unk>", **options)
    hf.save_model(str(folder))
    return hf


def loaded(path: Path, **options: Any) -> bbpe.Tokenizer:
    with pytest.warns(VocabularyWarning, match=r"unigram\.json does not say how texts are normalized and split"):
        return bbpe.load(path, cache=False, **options)


def test_ids_and_texts(tmp_path: Path) -> None:
    hf, tok, chosen = trained(tmp_path, special_tokens=SPECIALS), loaded(tmp_path), random.Random(1)
    assert tok.vocab_size == hf.get_vocab_size()
    assert tok.special_tokens == {"<unk>": 0, "<mask>": 1}
    texts = [" ".join(chosen.choices(PARTS, k=chosen.randint(1, 9))) for _ in range(300)]
    for text in ["", " ", *texts, *("".join(text.split(" ")) for text in texts)]:
        ids = hf.encode(text).ids
        assert tok.encode(text, allowed_special="all") == ids
        for skips in (False, True):
            assert tok.decode(ids, skip_special_tokens=skips) == hf.decode(ids, skip_special_tokens=skips)


def test_it_is_found_by_name_and_by_content(tmp_path: Path) -> None:
    trained(tmp_path, special_tokens=SPECIALS)
    tok, data = loaded(tmp_path), (tmp_path / "unigram.json").read_bytes()
    old = {name: value for name, value in json.loads(data).items() if name in ("unk_id", "vocab")}
    (tmp_path / "old").write_text(json.dumps(old), "utf-8")  # as older versions wrote it
    (tmp_path / "x.json").write_bytes(data)
    for path in (tmp_path / "unigram.json", tmp_path / "x.json", tmp_path / "old"):
        assert formats.sniff(path) == "unigram_json"
        assert loaded(path) == tok


def test_it_is_saved(tmp_path: Path) -> None:
    trained(tmp_path, special_tokens=SPECIALS)
    tok = loaded(tmp_path)
    (tmp_path / "a").mkdir()
    tok.save(tmp_path / "a" / "unigram.json", format="unigram_json")
    tok.save(tmp_path / "tokenizer.json")
    assert loaded(tmp_path / "a") == bbpe.load(tmp_path / "tokenizer.json", cache=False) == tok
    before, after = (json.loads((path / "unigram.json").read_bytes()) for path in (tmp_path, tmp_path / "a"))
    assert after == before
    for other in ("unigram", "bpe"):  # of other rules, and of another model
        with pytest.raises(VocabularyError, match=r"unigram\.json|the unigram\.json"):
            bbpe.train_from_iterator(["see my dogs"], 280, model=other).save(tmp_path / "b", format="unigram_json")


def test_special_tokens(tmp_path: Path) -> None:
    trained(tmp_path, special_tokens=SPECIALS)
    tok = loaded(tmp_path, special_tokens={"<mask>": 1})
    assert tok.special_tokens == {"<mask>": 1}
    assert 1 not in tok.encode("<mask>")


@pytest.mark.parametrize(
    ("value", "problem"),
    [
        ({"unk_id": 0, "vocab": [["a", 0.0, 1]]}, "vocab[0]: found"),
        ({"unk_id": 0, "vocab": 7}, "vocab: found 7"),
        ({"unk_id": 3, "vocab": [["a", 0.0]]}, "unk_id: found 3; expected the id of a token, or null"),
        ({"unk_id": 0, "vocab": [["a", 0.0], ["a", -1.0]]}, "'a' is listed twice"),
        ({"unk_id": 0, "vocab": [["a", 0.0]], "x": 1}, "'x'"),
    ],
)
def test_broken_files(tmp_path: Path, value: dict[str, Any], problem: str) -> None:
    (tmp_path / "unigram.json").write_text(json.dumps(value), "utf-8")
    with pytest.raises(VocabularyError) as caught:
        bbpe.load(tmp_path)
    assert problem in str(caught.value)
    assert "unigram.json" in str(caught.value)


def test_no_class_reads_it(tmp_path: Path) -> None:
    trained(tmp_path)
    (tmp_path / "tokenizer_config.json").write_text('{"tokenizer_class": "T5Tokenizer"}')
    with pytest.raises(VocabularyError, match=r"the class 'T5Tokenizer' reads no unigram\.json; expected a folder"):
        bbpe.load(tmp_path)
