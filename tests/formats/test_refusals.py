"""What is refused one by one, and by name: files, specs and arguments that nothing else has."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from charsmap_tables import compiled_table
from rule_files import PAIRS, of_characters
from vocabularies import write_json

import bbpe
from bbpe import formats
from bbpe.cli import main
from bbpe.errors import VocabularyError
from bbpe.formats.gguf.metadata import read_metadata
from bbpe.pipeline import compiled_normalizers
from bbpe.pipeline.compiled_normalizers import check_charsmap
from bbpe.reference import charsmap as reference_charsmap
from bbpe.reference.charsmap import read_charsmap
from bbpe.spec.models import UnigramModel, WordPieceModel
from bbpe.spec.rules import BertNormalizer, BertPreTokenizer, Characters
from bbpe.spec.spec import TextRules, TokenizerSpec, make_spec
from bbpe.splitting.clauses import UnknownClauseError, parse_clauses
from bbpe.splitting.patterns import PATTERNS
from bbpe.types import Ragged

TEXTS = ["see my eyes first", "see my dogs"] * 3
WORDS = Characters((), 0, end_of_word="</w>")


def spec_of(vocab: dict[int, bytes], merges: Any = None, **options: Any) -> TokenizerSpec:
    return make_spec(vocab, merges, pattern=PATTERNS["whitespace"], **options)


# -- specs --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("options", "problem"),
    [
        ({"model": UnigramModel((0.0,), False)}, "characters is None"),
        ({"characters": Characters((1, 0)), "merges": []}, "byte 0x01 and token b'a' have the same id 0"),
        ({"characters": WORDS, "merges": [], "special_tokens": {"x": 0}}, "'x' and token b'a' have the same id 0"),
        ({"characters": WORDS, "merges": [], "model": UnigramModel((0.0,))}, "expected neither of them"),
        ({"characters": replace(WORDS, prefix="#"), "merges": [], "whole_pretokens": True}, "expected one of them"),
        (
            {"model": WordPieceModel(0), "special_tokens": {"x": 1}, "added_tokens": {"x": 1}},
            "both a special and an added",
        ),
    ],
)
def test_specs(options: dict[str, Any], problem: str) -> None:
    with pytest.raises(VocabularyError, match=problem):
        spec_of({0: b"a"}, **options)


def test_two_tokens_of_one_rank() -> None:
    ranks = {bytes([byte]): byte for byte in range(256)} | {b"ab": 5}
    with pytest.raises(VocabularyError, match="same rank 5"):
        bbpe.Tokenizer.from_ranks(ranks, pattern="gpt2")


# -- writing ------------------------------------------------------------------------------------------------


def wordpiece(vocab: dict[int, bytes], unknown: int = 0) -> TokenizerSpec:
    rules = TextRules((BertNormalizer(True, True, True, True),), None, (BertPreTokenizer(),))
    return make_spec(vocab, None, pattern=PATTERNS["none"], rules=rules, model=WordPieceModel(unknown))


@pytest.mark.parametrize(
    ("spec", "problem"),
    [
        (bbpe.train_from_iterator(TEXTS, 260).spec, "vocab.txt holds only WordPiece"),
        (wordpiece({0: b"[UNK]", 1: b"a"}, 1), "the unknown token of this tokenizer is not [UNK]"),
        (wordpiece({0: b"[UNK]", 2: b"a"}), "no token has id 1"),
        (wordpiece({0: b"[UNK]", 1: b"a\n"}), "has a line break"),
    ],
)
def test_vocab_txt_of_wordpiece(spec: TokenizerSpec, problem: str, tmp_path: Path) -> None:
    with pytest.raises(VocabularyError, match=re.escape(problem)):
        formats.dump(spec, tmp_path / "vocab.txt", format="wordpiece")


@pytest.mark.parametrize(
    ("changes", "problem"),
    [
        ({"model__unk_token": None}, "there is no unknown token, but a SentencePiece model needs one"),
        ({"gap": 1}, "ids have gaps, but a SentencePiece model numbers its pieces from 0"),
        ({"model__merges": PAIRS[:-1]}, "merges"),
    ],
)
def test_models_of_pieces(changes: dict[str, Any], problem: str, tmp_path: Path) -> None:
    pytest.importorskip("sentencepiece.sentencepiece_model_pb2")
    gap, value = changes.get("gap", 0), of_characters(**{name: of for name, of in changes.items() if name != "gap"})
    if gap:
        last = max(value["model"]["vocab"], key=value["model"]["vocab"].__getitem__)
        value["model"]["vocab"][last] += gap
    tok = bbpe.load(write_json(tmp_path / "tokenizer.json", value))
    with pytest.raises(VocabularyError, match=re.escape(problem)):
        tok.save(tmp_path / "x.model")
    assert not (tmp_path / "x.model").exists()


def test_codes(tmp_path: Path) -> None:
    """Merges go and come back; no other model is written, and no merge that a line of two symbols cannot hold."""
    path = tmp_path / "x.codes"
    tok = bbpe.train_from_iterator(TEXTS, 80, model=bbpe.BPE(alphabet="chars", end_of_word="</w>"))
    tok.save(path)
    back = bbpe.load(path)
    assert back.merges == tok.merges
    assert [back.id_to_token(i) for i in back.encode(TEXTS[0])] == [tok.id_to_token(i) for i in tok.encode(TEXTS[0])]
    with pytest.raises(VocabularyError, match="codes hold only merges of characters"):
        bbpe.train_from_iterator(TEXTS, 260).save(path, format="codes")
    blanks = spec_of({0: b"?", 1: b"a", 2: b"\xc2\xa0", 3: b"a\xc2\xa0"}, [(b"a", b"\xc2\xa0")], characters=WORDS)
    with pytest.raises(VocabularyError, match="holds white space"):
        formats.dump(blanks, path, format="codes")


# -- reading ------------------------------------------------------------------------------------------------

UNIGRAM: list[tuple[Callable[[dict[str, Any]], object], str]] = [
    (lambda model: model["vocab"].append(["zz"]), "expected a token and its score"),
    (lambda model: model["vocab"].append(["zz", float("1e999")]), "Infinity"),
    (lambda model: model["vocab"].append(model["vocab"][5]), "is listed twice; expected each token once"),
    (lambda model: model.update(unk_id=10_000), "unk_id: found 10000; expected the id of a token"),
    (lambda model: model["vocab"].append(["a b", -9.0]), "'a b' has a blank and would never be found"),
    (lambda model: model["vocab"].append(["", -9.0]), "a token is the empty string"),
    (lambda model: model["vocab"].append(["\ud800", -9.0]), r"token '\ud800' holds half a surrogate pair"),
]


@pytest.mark.parametrize(("change", "problem"), UNIGRAM)
def test_unigram(change: Callable[[dict[str, Any]], object], problem: str, tmp_path: Path) -> None:
    path = tmp_path / "tokenizer.json"
    bbpe.train_from_iterator(TEXTS, 300, model="unigram").save(path)
    document = json.loads(path.read_bytes())
    change(document["model"])
    path.write_text(json.dumps(document), "utf-8")
    with pytest.raises(VocabularyError, match=re.escape(problem)) as caught:
        bbpe.load(path)
    assert str(path) in str(caught.value)


def test_what_mutated_tokenizer_json_held(tmp_path: Path) -> None:
    """Found by mutating files: half a surrogate pair in a vocabulary of words, an unknown token that is an object."""
    path = tmp_path / "tokenizer.json"
    words = bbpe.train_from_iterator(TEXTS, 80, model=bbpe.BPE(alphabet="chars", end_of_word="</w>"))
    for made in (bbpe.train_from_iterator(TEXTS, 80, model="wordpiece", special_tokens=["[UNK]"]), words):
        made.save(path)
        document = json.loads(path.read_bytes())
        document["model"]["vocab"]["\ud800"] = 80
        path.write_text(json.dumps(document), "utf-8")
        with pytest.raises(VocabularyError, match=r"vocab: token '\\ud800' holds half a surrogate pair") as caught:
            bbpe.load(path)
        assert str(path) in str(caught.value)
    for made in (bbpe.train_from_iterator(TEXTS, 270), words):
        made.save(path)
        document = json.loads(path.read_bytes())
        document["model"]["unk_token"] = {"a": 1}
        path.write_text(json.dumps(document), "utf-8")
        with pytest.raises(VocabularyError, match=r"unk_token: found .*; expected a string or null"):
            bbpe.load(path)


def test_tables_of_sentencepiece(monkeypatch: pytest.MonkeyPatch) -> None:
    whole = compiled_table({"a": "b"})
    assert read_charsmap(whole) == {"a": "b"}
    for data, problem in ((whole[:9], "truncated"), (whole[:-1], "the table of the normalizer is broken")):
        for read in (read_charsmap, check_charsmap):
            with pytest.raises(VocabularyError, match=problem):
                read(data)
    monkeypatch.setattr(compiled_normalizers, "_MOST_BYTES", len(whole))
    check_charsmap(whole)
    with pytest.raises(VocabularyError, match=f"has {len(whole) + 1} bytes; expected at most {len(whole)}"):
        check_charsmap(whole + b"\0")
    monkeypatch.setattr(reference_charsmap, "_MOST_STEPS", 1)
    with pytest.raises(VocabularyError, match="the table of the normalizer is broken"):
        read_charsmap(whole + b"\0\0")


def test_an_empty_gguf_file(tmp_path: Path) -> None:
    path = tmp_path / "x.gguf"
    path.write_bytes(b"")
    with pytest.raises(VocabularyError, match="empty file"):
        read_metadata(path, lambda name: True)


# -- arguments ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("source", ["(?>a|b)c", r"\x4", r"[a&&[b]]", "[]a]", "[^]a]", *"().*+?{}[]^"])
def test_regexes_of_unknown_clauses(source: str) -> None:
    with pytest.raises(UnknownClauseError):
        parse_clauses(source)


def test_rows_end() -> None:
    rows = Ragged.from_rows([np.zeros(1, np.uint32)])
    for row in (1, -2):
        with pytest.raises(IndexError, match=f"row {row} of 1"):
            _ = rows[row]


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["train", "a.txt", "--vocab-size", "270", "-o", "t.json", "--counts", "c.parquet"], "does not go with files"),
        (["count", "-", "a.txt", "-o", "c.parquet"], "does not go with other files"),
        (["count", "a.txt", "-o", "none/c.parquet"], "there is no such folder"),
        (["count", "a.txt", "-o", "c.parquet", "--sample", "many"], "--sample"),
        (["encode", "-t", "t.json", "a.txt", "--numpy", "x.npy", "--tokens"], "does not go with --tokens"),
        (["prune", "-t", "t.json", "-o", "u.json"], "nothing says what to keep"),
        (["prune", "-t", "t.json", "-o", "u.json", "--used-in", "a.txt", "--counts", "c.parquet"], "does not go with"),
    ],
)
def test_arguments(
    arguments: list[str], said: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("a.txt").write_text(TEXTS[0], "utf-8")
    bbpe.train_from_iterator(TEXTS, 260).save("t.json")
    try:
        status = main(arguments)
    except SystemExit as exit_of_argparse:
        status = exit_of_argparse.code
    assert status
    assert said in capfd.readouterr().err
    assert not Path("c.parquet").exists()
    assert not Path("u.json").exists()
