"""SentencePiece models of the type BPE give the ids that SentencePiece gives, before and after they are written."""

from __future__ import annotations

import io
import random
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from strings import adversarial_strings

import bbpe
from bbpe.errors import VocabularyError
from bbpe.spec.characters import joined_pairs

sentencepiece = pytest.importorskip("sentencepiece")
pytest.importorskip("google.protobuf")
sentencepiece_model_pb2 = pytest.importorskip("sentencepiece.sentencepiece_model_pb2")

CORPORA = ["en", "code", "multi", "ja", "zh"]
REAL = ["mistral_v1.model", "mistral_v3.model"]


def peer(path: Path) -> Any:
    return sentencepiece.SentencePieceProcessor(model_file=str(path))


def same(tok: bbpe.Tokenizer, judge: Any, text: str) -> None:
    same_ids(tok, text, judge.encode(text))


def same_ids(tok: bbpe.Tokenizer, text: str, expected: list[int]) -> None:
    ids = tok.encode(text)
    if ids != expected:
        at = next((i for i, pair in enumerate(zip(ids, expected, strict=False)) if pair[0] != pair[1]), None)
        pytest.fail(f"token {at} of {text[:200]!r}: {ids[:40]}, expected {expected[:40]}")


def hard_strings(tok: bbpe.Tokenizer, count: int, seed: int) -> list[str]:
    """Adversarial strings, two tokens together, runs of blanks, and the marks that stand for them."""
    rng = random.Random(seed)
    tokens = [token.decode() for token in tok.spec.vocab.values()]
    texts = adversarial_strings(count // 2, seed=seed, tokens=list(tok.spec.vocab.values()))
    texts += ["".join(rng.choices(tokens, k=2)) for _ in range(count // 4)]
    pieces = [*tokens[:3000:7], *tok.added_tokens, *tok.special_tokens, "\u2581", "\u2581\u2581", *" \n\t\u3000\xa0😀ꦀ"]
    for _ in range(count - len(texts)):
        runs = rng.choices(pieces, k=rng.randint(1, 6))
        texts.append("".join(run + " " * rng.choice((0, 0, 1, 2, 3, 7, 15, 16, 17, 31, 40)) for run in runs))
    return texts


@pytest.mark.parametrize("number", [300, pytest.param(20_000, marks=pytest.mark.full)])
@pytest.mark.parametrize("name", REAL)
def test_real_models(name: str, number: int, vocab_path: Callable[[str], Path], corpus: Callable[..., str]) -> None:
    """On 2 MB of each corpus in test_gguf_pieces.py, which asks SentencePiece once for this and for that."""
    path = vocab_path(name)
    tok, judge = bbpe.load(path), peer(path)
    for source in CORPORA:
        text = corpus(source, 40_000)
        expected = judge.encode(text)
        same_ids(tok, text, expected)
        assert tok.encode_to_numpy(text.encode(), threads=2).tolist() == expected
        assert tok.decode(expected) == text
    for text in hard_strings(tok, number, seed=31):
        same(tok, judge, text)


@pytest.mark.parametrize("name", REAL)
def test_real_models_are_written(
    name: str, vocab_path: Callable[[str], Path], tmp_path: Path, corpus: Callable[..., str]
) -> None:
    tok = bbpe.load(vocab_path(name))
    tok.save(tmp_path / "a.model")
    assert bbpe.load(tmp_path / "a.model") == tok
    judge = peer(tmp_path / "a.model")
    for text in [*(corpus(source, 4_000) for source in CORPORA), *hard_strings(tok, 120, seed=32)]:
        same(tok, judge, text)


def test_a_real_model_as_tokenizer_json(vocab_path: Callable[[str], Path], tmp_path: Path) -> None:
    tokenizers = pytest.importorskip("tokenizers")
    tok = bbpe.load(vocab_path(REAL[0]))
    tok.save(tmp_path / "tokenizer.json")
    assert bbpe.load(tmp_path) == tok
    judge = tokenizers.Tokenizer.from_file(str(tmp_path / "tokenizer.json"))
    for text in hard_strings(tok, 300, seed=33):
        assert tok.encode(text, allowed_special="all") == judge.encode(text).ids, text
    with pytest.raises(VocabularyError, match="REFERENCE_DOC"):
        bbpe.load(vocab_path(REAL[1])).save(tmp_path / "b.json")


TEXT = """The thing is in the thick of things; the   thinking thins.  Ｆｕｌｌ width, ﬁne ligatures, ｶﾀｶﾅ and カタカナ.
	Tabs, é and e\u0301, 12 1234 3.14, www.example.com/index.html. 漢字かな交じり文、漢字。 漢字かな交じり文。"""


def trained(tmp_path: Path, **options: Any) -> Path:
    """A small model of SentencePiece's own training."""
    model = io.BytesIO()
    lines = [line for _ in range(6) for line in (*TEXT.split("\n"), *TEXT.split(". "), TEXT.lower())]
    sentencepiece.SentencePieceTrainer.train(
        sentence_iterator=iter(lines), model_writer=model, model_type="bpe", vocab_size=420,
        hard_vocab_limit=False, minloglevel=2, **options,
    )  # fmt: skip
    path = tmp_path / "trained.model"
    path.write_bytes(model.getvalue())
    return path


OPTIONS: list[dict[str, Any]] = [
    {"byte_fallback": fallback, "normalization_rule_name": rule, "remove_extra_whitespaces": squeezes}
    for fallback in (False, True)
    for rule in ("identity", "nmt_nfkc", "nmt_nfkc_cf")
    for squeezes in (False, True)
]
OPTIONS += [
    {"byte_fallback": True, "add_dummy_prefix": False},
    {"byte_fallback": True, "split_by_whitespace": False, "normalization_rule_name": "identity"},
    {"byte_fallback": True, "user_defined_symbols": ["<sep>", "ing", "漢", "Ｆ", "<sep>x"], "control_symbols": "<ctl>"},
    {"user_defined_symbols": ["\u2581the", "th\u2581"], "remove_extra_whitespaces": False},
    {"user_defined_symbols": ["the thing", "  ", " in"], "remove_extra_whitespaces": False},
    {"byte_fallback": True, "split_digits": True, "allow_whitespace_only_pieces": True},
]


@pytest.mark.parametrize("options", OPTIONS, ids=lambda options: "-".join(map(str, options.values())))
def test_trained_models(tmp_path: Path, options: dict[str, Any]) -> None:
    path = trained(tmp_path, **options)
    tok, judge = bbpe.load(path), peer(path)
    tok.save(tmp_path / "again.model")
    assert bbpe.load(tmp_path / "again.model") == tok
    again = peer(tmp_path / "again.model")
    rng = random.Random(5)
    scraps = [*TEXT.split(" "), " ", "  ", "\u2581", "<sep>", "<ctl>", "<unk>", "</s>", "ing", *"Ｆ\n\t😀ﬃ"]
    texts = ["", " ", "\u2581", "  a  ", " \u2581 ", "a\u2581 ", TEXT]
    texts += ["".join(rng.choices(scraps, k=rng.randint(1, 12))) for _ in range(30)]
    for text in [*texts, *adversarial_strings(20, seed=6)]:
        same(tok, judge, text.replace("\0", ""))
        same(tok, again, text.replace("\0", ""))
        assert tok.encode(text.encode()) == tok.encode(text)


def slow_ids(text: str, scores: dict[str, float]) -> list[str]:
    """The definition: again and again the pair of the highest score, the leftmost of equals."""
    symbols = list(text)
    while True:
        pairs = [(-scores[a + b], i) for i, (a, b) in enumerate(pairwise(symbols)) if a + b in scores]
        if not pairs:
            return symbols
        _, i = min(pairs)
        symbols[i : i + 2] = [symbols[i] + symbols[i + 1]]


def model_of(pieces: dict[str, float], **changes: Any) -> Any:
    """A model by hand, of normal pieces with scores, and tokens of all bytes."""
    model = sentencepiece_model_pb2.ModelProto()
    model.trainer_spec.model_type = 2
    model.trainer_spec.byte_fallback = True
    model.normalizer_spec.add_dummy_prefix = False
    model.normalizer_spec.remove_extra_whitespaces = False
    model.pieces.add(piece="<unk>", score=0, type=2)
    for byte in range(256):
        model.pieces.add(piece=f"<0x{byte:02X}>", score=0, type=6)
    for piece, score in pieces.items():
        model.pieces.add(piece=piece, score=score, type=1)
    for name, value in changes.items():
        spec, _, field = name.partition("__")
        setattr(getattr(model, spec), field, value)
    return model


def written(tmp_path: Path, model: Any) -> Path:
    path = tmp_path / "made.model"
    path.write_bytes(model.SerializeToString())
    return path


@pytest.mark.parametrize("seed", range(10))
def test_random_models_by_the_definition(tmp_path: Path, seed: int) -> None:
    """Few characters, many merges, some across blanks: against SentencePiece and the definition."""
    rng = random.Random(seed)
    alphabet = ["a", "b", "\u2581", "é", "中", "\n"]
    several = {"".join(rng.choices(alphabet[: rng.randint(2, 6)], k=rng.randint(2, 5))) for _ in range(40)}
    order = rng.sample(sorted(several), k=len(several))
    scores = {piece: -float(number) for number, piece in enumerate(order)}
    path = written(tmp_path, model_of({**scores, **{char: -1e3 - i for i, char in enumerate(alphabet)}}))
    tok, judge = bbpe.load(path), peer(path)
    for _ in range(100):
        text = "".join(rng.choices([*alphabet[:2], " ", *alphabet[3:], "x"], k=rng.randint(1, 40)))
        same(tok, judge, text)
        tokens = [token for symbol in slow_ids(text.replace(" ", "\u2581"), scores)
                  for token in ([symbol] if symbol in {*scores, *alphabet} else ["<0x78>"])]  # fmt: skip
        assert [judge.id_to_piece(token_id) for token_id in tok.encode(text)] == tokens


@pytest.mark.parametrize("lengths", [range(2, 17), [2, 3, 4, 5, 6, 7, 8, 14, 16], [2, 4, 8], [3, 5], [2, 3, 5, 9, 10]])
def test_runs_of_equal_score(tmp_path: Path, lengths: list[int]) -> None:
    """Of equal scores the leftmost pair goes first, which makes 14 and 2 blanks 16."""
    pieces = {"\u2581" * length: -1e9 for length in lengths} | {"\u2581": -2e9, "a": -3e9, "\u2581a": -1.0}
    path = written(tmp_path, model_of(pieces))
    tok, judge = bbpe.load(path), peer(path)
    for count in range(70):
        for text in (" " * count, "a" + " " * count + "a", " " * count + "a" + " " * (70 - count)):
            same(tok, judge, text)


BROKEN: list[tuple[dict[str, Any], str]] = [
    ({"normalizer_spec__precompiled_charsmap": b"\xff" * 9}, "table of the normalizer"),
    ({"denormalizer_spec__precompiled_charsmap": b"\xff"}, "denormalizer"),
]


@pytest.mark.parametrize(("changes", "problem"), BROKEN)
def test_what_is_not_followed_is_refused(tmp_path: Path, changes: dict[str, Any], problem: str) -> None:
    path = written(tmp_path, model_of({"a": -1.0}, **changes))
    with pytest.raises(VocabularyError, match=problem) as caught:
        bbpe.load(path)
    assert str(path) in str(caught.value)


@pytest.mark.parametrize(
    ("piece", "score", "kind", "problem"),
    [
        ("a", -1.0, 1, "piece 259: 'a' is empty or listed twice"),
        ("", -1.0, 1, "'' is empty or listed twice"),
        ("b c", -1.0, 1, "'b c' has a blank"),
        ("bc", float("nan"), 1, "score of 'bc' is NaN"),
        ("bc", float("nan"), 5, "score of 'bc' is NaN"),
        ("<0x100>", 0.0, 6, "expected <0x00> to <0xFF>"),
        ("<unk2>", 0.0, 2, "second piece of the type UNKNOWN"),
    ],
)
def test_broken_pieces(tmp_path: Path, piece: str, score: float, kind: int, problem: str) -> None:
    model = model_of({"a": -1.0, "ab": -2.0})
    model.pieces.add(piece=piece, score=score, type=kind)
    with pytest.raises(VocabularyError, match=problem):
        bbpe.load(written(tmp_path, model))


def test_missing_pieces(tmp_path: Path) -> None:
    model = model_of({"a": -1.0})
    del model.pieces[5]
    with pytest.raises(VocabularyError, match="255 bytes have pieces"):
        bbpe.load(written(tmp_path, model))
    del model.pieces[0]
    model.trainer_spec.byte_fallback = False
    with pytest.raises(VocabularyError, match="no piece has the type UNKNOWN"):
        bbpe.load(written(tmp_path, model))
    path = tmp_path / "cut.model"
    path.write_bytes(model_of({"a": -1.0}).SerializeToString()[:-3])
    with pytest.raises(VocabularyError, match=r"cut\.model.*expected a SentencePiece model"):
        bbpe.load(path)


@pytest.mark.parametrize("model_type", [1, 2])
@pytest.mark.parametrize("kind", [None, 1, 5])
def test_a_blank_of_bytes_is_refused(tmp_path: Path, model_type: int, kind: int | None) -> None:
    """SentencePiece writes the three bytes of U+2581 where it is no piece, or one that is not used."""
    model = model_of({"a": -1.0, "\u2581a": -2.0}, trainer_spec__model_type=model_type)
    if kind is not None:
        model.pieces.add(piece="\u2581", score=-3.0, type=kind)
    path = written(tmp_path, model)
    if kind == 1:
        same(bbpe.load(path), peer(path), "a  a a")
        return
    is_cut = (model_type, kind) == (2, None)
    problem = r"character '\u2581' is not" if is_cut else r"byte_fallback is set, but U\+2581 alone is not a piece"
    with pytest.raises(VocabularyError, match=problem):
        bbpe.load(path)


def test_a_piece_that_is_no_utf8(tmp_path: Path) -> None:
    """Found by mutating files: protobuf gives such a string as bytes."""
    path = tmp_path / "bytes.model"
    path.write_bytes(model_of({"a": -1.0, "abc": -2.0}).SerializeToString().replace(b"abc", b"a\xc1c"))
    with pytest.raises(VocabularyError, match=r"bytes\.model: piece \d+: b'a\\xc1c' is not valid UTF-8; expected text"):
        bbpe.load(path)


def test_what_a_model_cannot_say_is_not_written(tmp_path: Path) -> None:
    byte_level = bbpe.train_from_iterator(["a b"], 257)
    with pytest.raises(VocabularyError, match="symbols of the vocabulary are not characters"):
        byte_level.save(tmp_path / "a.model")
    tok = bbpe.load(written(tmp_path, model_of({"a": -1.0, "b": -2.0, "ab": -3.0})))
    for target, name in (("a.tiktoken", None), ("pair", "gpt2")):
        with pytest.raises(VocabularyError, match="holds no normalizer"):
            tok.save(tmp_path / target, format=name)


def test_pairs_of_bytes_that_tokens_join() -> None:
    joins = joined_pairs(dict(enumerate([b"ab", b"c", "é".encode(), b"b c"])))
    bits = np.unpackbits(np.frombuffer(joins, np.uint8), bitorder="little")
    table = bits.reshape(256, 256)
    joined = {(chr(a), chr(b)) for a, b in zip(*np.nonzero(table[:, :128]), strict=True)}
    assert joined == {("a", "b"), ("b", " "), (" ", "c")}
    assert table[:, 0x80:0xC0].all()
    assert not table[:, 0xC0:].any()
