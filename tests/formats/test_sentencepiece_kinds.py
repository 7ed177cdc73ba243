"""SentencePiece models of characters and of words, and with blanks at the end of words: the ids of SentencePiece."""

from __future__ import annotations

import io
import itertools
import random
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest

import bbpe
from bbpe.errors import VocabularyError

sentencepiece = pytest.importorskip("sentencepiece")
pytest.importorskip("google.protobuf")
TEXTS = ["see my eyes first", "see my dogs", "I have 12 dogs, na\u00efve caf\u00e9 \u4e2d\u6587"] * 20
RULES = ("nmt_nfkc", "identity")
#: A half has each kind with each pair of options.
halves = pytest.mark.parametrize("half", [0, pytest.param(1, marks=pytest.mark.full)])


def half_of(ways: Iterable[tuple[Any, ...]], half: int) -> list[tuple[Any, ...]]:
    return [way for number, way in enumerate(ways) if (number.bit_count() + half) % 2 == 0]


def trained(path: Path, **options: Any) -> Any:
    out = io.BytesIO()
    plain = {"vocab_size": 60, "model_type": "bpe", "minloglevel": 2, "hard_vocab_limit": False}
    sentencepiece.SentencePieceTrainer.train(
        sentence_iterator=iter(TEXTS), model_writer=out, **{**plain, "character_coverage": 1.0, **options}
    )
    path.write_bytes(out.getvalue())
    return sentencepiece.SentencePieceProcessor(model_file=str(path))


@pytest.mark.parametrize("kind", ["char", "word", "bpe", "unigram"])
@pytest.mark.parametrize("is_suffix", [False, True])
@pytest.mark.parametrize("squeezes", [False, True])
@pytest.mark.parametrize("prepends", [False, True])
def test_kinds(tmp_path: Path, kind: str, is_suffix: bool, squeezes: bool, prepends: bool) -> None:
    path = tmp_path / "m.model"
    judge = trained(
        path,
        model_type=kind,
        treat_whitespace_as_suffix=is_suffix,
        remove_extra_whitespaces=squeezes,
        add_dummy_prefix=prepends,
        control_symbols=["@"],
    )
    tok, rng = bbpe.load(path), random.Random(kind)
    pool = [*"aesmy dogs  @12,\u00ef\u6587\u6771\u00e9", "see", "my", " dogs", "\ufb01", "\u2581", "@@"]
    texts = ["", " ", "see my", *("".join(rng.choices(pool, k=rng.randint(1, 14))) for _ in range(60))]
    for text in texts:
        assert tok.encode(text) == judge.encode(text), text
    assert tok.encode_batch(texts) == [judge.encode(text) for text in texts]
    assert tok.count_tokens("see no my") == len(judge.encode("see no my"))


def test_words_in_a_row_without_a_token(tmp_path: Path) -> None:
    judge = trained(tmp_path / "m.model", model_type="word")
    tok = bbpe.load(tmp_path / "m.model")
    for text in ("x y z", "see x y my z", "x", "x see y"):
        assert tok.encode(text) == judge.encode(text), text
    assert tok.decode(judge.encode("see my dogs")) == judge.decode(judge.encode("see my dogs"))
    tok.save(tmp_path / "again.model")
    assert bbpe.load(tmp_path / "again.model") == tok


@pytest.mark.parametrize("kind", ["char", "word", "bpe", "unigram"])
@pytest.mark.parametrize("is_suffix", [False, True])
@pytest.mark.parametrize("symbols", [[], ["12", "s,"]], ids=str)
@halves
def test_a_loaded_model_is_saved_as_a_model(
    tmp_path: Path, kind: str, is_suffix: bool, symbols: list[str], half: int
) -> None:
    """No other file need hold it: what an error tells to write can be written."""
    path, again = tmp_path / "m.model", tmp_path / "again.model"
    texts = ["a12", "see12y", "12", "  see  12 my dogs, \u00e9 \ufb01\uff11\uff12", "", "x y see x12 y", "see\u2581my"]
    ways = itertools.product(({}, {"add_dummy_prefix": False}, {"remove_extra_whitespaces": False}), RULES)
    for flags, rule in half_of(ways, is_suffix + bool(symbols) + half):
        options = {"model_type": kind, "treat_whitespace_as_suffix": is_suffix, "normalization_rule_name": rule}
        judge = trained(path, user_defined_symbols=symbols, **options, **flags)
        for data in (path.read_bytes(), unescaped(path.read_bytes())):
            path.write_bytes(data)
            judge = sentencepiece.SentencePieceProcessor(model_file=str(path))
            tok = bbpe.load(path)
            tok.save(again)
            assert bbpe.load(again) == tok
            theirs = sentencepiece.SentencePieceProcessor(model_file=str(again))
            for text in texts:
                expected = judge.encode(text)
                assert tok.encode(text) == theirs.encode(text) == expected, (text, options, flags)
                assert theirs.decode(expected) == judge.decode(expected)
            for name in ("x.json", "x.tiktoken", "x.gguf", "x.txt", "x.codes", "tekken.json"):
                check_advice(tok, tmp_path, name)


def check_advice(tok: bbpe.Tokenizer, folder: Path, name: str) -> None:
    """A tokenizer is saved in this format, or the error names a format that holds it."""
    problem = ""
    try:
        tok.save(folder / name)
    except VocabularyError as error:
        problem = str(error)
    if problem.endswith("rite tokenizer.json"):
        tok.save(folder / "x.json")
    else:
        assert not problem or problem.endswith("rite a SentencePiece .model"), problem


def unescaped(data: bytes) -> bytes:
    """Return a model with `escape_whitespaces` set to false."""
    from sentencepiece import sentencepiece_model_pb2

    model = sentencepiece_model_pb2.ModelProto()
    model.ParseFromString(data)
    model.normalizer_spec.escape_whitespaces = False
    return bytes(model.SerializeToString())


SYMBOLS = (["\u2581x"], ["x\u2581y", "\u2581\u2581"], ["y\u2581", "z\u2581\u2581"], ["\u2581"], ["\u2581\u2581see"])


@pytest.mark.parametrize("kind", ["bpe", "unigram"])
@pytest.mark.parametrize("rule", ["identity", "nmt_nfkc"])
def test_symbols_with_marks_and_blanks_that_are_removed(tmp_path: Path, kind: str, rule: str) -> None:
    rng = random.Random(kind)
    pool = [*"xyz  \u2581\u2581semy \t\u3000", " x", "see", "x y", *(symbol for row in SYMBOLS for symbol in row)]
    texts = ["", *("".join(rng.choices(pool, k=rng.randint(1, 8))) for _ in range(60))]
    for number, symbols in enumerate(SYMBOLS):
        options = {"normalization_rule_name": rule, "user_defined_symbols": symbols, "remove_extra_whitespaces": True}
        judge = trained(tmp_path / "m.model", model_type=kind, add_dummy_prefix=number % 2 == 0, **options)
        tok = bbpe.load(tmp_path / "m.model")
        for text in texts:
            assert tok.encode(text) == judge.encode(text), (symbols, text)


@pytest.mark.parametrize("kind", ["char", "word", "bpe", "unigram"])
@pytest.mark.parametrize("is_suffix", [False, True])
@pytest.mark.parametrize("rule", RULES)
@halves
def test_texts_of_which_nothing_is_left(tmp_path: Path, kind: str, is_suffix: bool, rule: str, half: int) -> None:
    """Blanks alone get no blank in front or at the end, and characters that are removed get one; with marks as well."""
    rng = random.Random(kind)
    pool = [" ", "  ", "\x01", "\x0b", "\t", "\u3000", "\u2581", "\u2581\u2581", "a", "y\u2581", "\u2581see"]
    texts = ["", " ", "  ", "\x01", "\x01 ", " \x0b", "\u2581", *("".join(rng.choices(pool, k=4)) for _ in range(20))]
    ways = itertools.product([False, True], [False, True], [[], ["y\u2581", "\u2581x"]])
    for squeezes, prepends, symbols in half_of(ways, is_suffix + (rule == "identity") + half):
        options = {"treat_whitespace_as_suffix": is_suffix, "user_defined_symbols": symbols, "model_type": kind}
        flags = {"remove_extra_whitespaces": squeezes, "add_dummy_prefix": prepends, "normalization_rule_name": rule}
        trained(tmp_path / "m.model", **options, **flags)
        for data in ((tmp_path / "m.model").read_bytes(), unescaped((tmp_path / "m.model").read_bytes())):
            (tmp_path / "m.model").write_bytes(data)
            judge = sentencepiece.SentencePieceProcessor(model_proto=data)
            tok = bbpe.load(tmp_path / "m.model")
            view = tok.as_sentencepiece()
            for text in texts:
                ids = judge.encode(text)
                assert tok.encode(text) == ids, (flags, symbols, text)
                assert tok.decode(ids) == judge.decode(ids), (flags, symbols, text)
                assert view.encode(text, out_type=str) == judge.encode(text, out_type=str), (flags, symbols, text)
                if not symbols:
                    normalized, places = judge.normalize(text, with_offsets=True)
                    assert view.normalize(text, with_offsets=True) == (normalized, [*places]), (flags, text)


def test_words_with_bytes_are_refused(tmp_path: Path) -> None:
    trained(tmp_path / "m.model", model_type="word", byte_fallback=True, vocab_size=300)
    with pytest.raises(VocabularyError, match="byte_fallback is set in a model of words"):
        bbpe.load(tmp_path / "m.model")
