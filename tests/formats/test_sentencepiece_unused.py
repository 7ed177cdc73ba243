"""SentencePiece models with unused pieces, which no text is encoded as: the ids of SentencePiece."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import pytest

import bbpe
from bbpe.errors import VocabularyError

sentencepiece = pytest.importorskip("sentencepiece")
pytest.importorskip("google.protobuf")
from sentencepiece import sentencepiece_model_pb2  # noqa: E402 - it may be absent

UNIGRAM, BPE, WORD, CHAR = range(1, 5)
NORMAL, UNKNOWN, UNUSED, BYTE = 1, 2, 5, 6
MARK = "\u2581"


def written(path: Path, kind: int, rows: list[tuple[str, float, int]], *, fallback: bool = False, **rules: bool) -> Any:
    """Write a model by hand, and return SentencePiece's processor for it."""
    model = sentencepiece_model_pb2.ModelProto()
    model.trainer_spec.model_type, model.trainer_spec.byte_fallback = kind, fallback
    for name, value in rules.items():
        setattr(model.normalizer_spec, name, value)
    bytes_of = [(f"<0x{byte:02X}>", 0.0, BYTE) for byte in range(256)] if fallback else []
    for piece, score, type_of in [("<unk>", 0.0, UNKNOWN), *bytes_of, *rows]:
        model.pieces.add(piece=piece, score=score, type=type_of)
    path.write_bytes(model.SerializeToString())
    return sentencepiece.SentencePieceProcessor(model_file=str(path))


def compare(folder: Path, seed: int, count: int) -> None:
    """Few characters, many merges, some across blanks and some of one score."""
    rng, path = random.Random(seed), folder / "m.model"
    alphabet = ["a", "b", MARK, "\u00e9", "\u4e2d", "\n"][: rng.randint(3, 6)]
    kind = rng.choice([UNIGRAM, BPE, BPE, CHAR, WORD])
    fallback = kind != WORD and rng.random() < 0.5
    several = sorted({"".join(rng.choices(alphabet, k=rng.randint(2, 6))) for _ in range(rng.choice([10, 40]))})
    share, has_ties = rng.choice([0.1, 0.5, 0.9]), rng.random() < 0.3
    # without bytes a character that merges is refused
    with_characters = rng.random() < 0.4 and (fallback or kind != BPE)
    rows = []
    for piece in [*rng.sample(several, k=len(several)), *alphabet]:
        may = (len(piece) > 1 or with_characters) and not (piece == MARK and fallback)
        score = -float(rng.randint(1, 5)) if has_ties else -rng.random() * 10
        rows.append((piece, score, UNUSED if may and rng.random() < share else NORMAL))
    judge = written(
        path, kind, rows, fallback=fallback,
        add_dummy_prefix=rng.random() < 0.5, remove_extra_whitespaces=rng.random() < 0.5,
    )  # fmt: skip
    tok = bbpe.load(path)
    unused = [judge.is_unused(token_id) for token_id in range(len(judge))]
    view = tok.as_sentencepiece()
    assert view.is_unused(list(range(len(view)))) == unused
    for _ in range(count):
        text = "".join(rng.choices([*alphabet[:2], " ", *alphabet[3:], "x"], k=rng.randint(0, 40)))
        ids = judge.encode(text)
        assert tok.encode(text) == ids, (seed, text)
        assert tok.decode(ids) == judge.decode(ids), (seed, text)
        if kind == WORD or 0 not in ids:  # the text of an unknown piece may be found elsewhere too
            assert view.encode_as_pieces(text) == judge.encode_as_pieces(text), (seed, text)
    for token_id, is_unused in enumerate(unused):
        if is_unused and not judge.id_to_piece(token_id).startswith(MARK * 2):
            assert tok.decode([token_id]) == judge.decode([token_id]), (seed, token_id)
    if kind in (UNIGRAM, BPE) and not has_ties:
        tok.save(folder / "again.model")
        again = bbpe.load(folder / "again.model")
        assert again.fingerprint == tok.fingerprint
        assert again.as_sentencepiece().is_unused(list(range(len(view)))) == unused


@pytest.mark.parametrize(
    ("first", "last", "count"),
    [
        (0, 25, 30),
        pytest.param(25, 85, 100, marks=pytest.mark.full),
        *(pytest.param(at, at + 100, 200, marks=pytest.mark.long) for at in range(100, 1000, 100)),
    ],
)
def test_random_models(tmp_path: Path, first: int, last: int, count: int) -> None:
    for seed in range(first, last):
        compare(tmp_path, seed, count)


def test_parts_of_unused_pieces(tmp_path: Path) -> None:
    """What a merge has made is taken apart again, as far as the parts are unused too."""
    rows = [("ab", -1.0, UNUSED), ("abab", -2.0, UNUSED), ("ababc", -3.0, UNUSED), ("cab", -4.0, NORMAL)]
    rows += [(char, -9.0, NORMAL) for char in f"abc{MARK}"]
    written(tmp_path / "m.model", BPE, rows, add_dummy_prefix=False)
    tok = bbpe.load(tmp_path / "m.model")
    assert tok.tokenize("ababc cab") == [*"ababc", "\u0120", "cab"]
    ids, spans = tok.encode_with_offsets("ababc cab")
    assert ids == tok.encode("ababc cab")
    assert spans.tolist() == [[0, 1], [1, 2], [2, 3], [3, 4], [4, 5], [5, 6], [6, 9]]
    assert tok.encode("ababc", dropout=1.0, seed=1) == tok.encode("ababc")


def test_long_unused_pieces(tmp_path: Path) -> None:
    """A chain of merges that is longer than Python's stack."""
    rows = [("a" * length, -float(length), UNUSED) for length in range(2, 1025)]
    judge = written(tmp_path / "m.model", BPE, [*rows, ("a", -2000.0, NORMAL), (MARK, -2001.0, NORMAL)])
    text = "a" * 1023
    assert bbpe.load(tmp_path / "m.model").encode(text) == judge.encode(text)


def test_unused_pieces_change_the_fingerprint(tmp_path: Path) -> None:
    rows = [("ab", -1.0, NORMAL), ("a", -2.0, NORMAL), ("b", -3.0, NORMAL), (MARK, -4.0, NORMAL)]
    for kind in (UNIGRAM, BPE):
        written(tmp_path / "a.model", kind, rows)
        written(tmp_path / "b.model", kind, [("ab", -1.0, UNUSED), *rows[1:]])
        assert bbpe.load(tmp_path / "a.model").fingerprint != bbpe.load(tmp_path / "b.model").fingerprint


def test_what_other_files_cannot_hold(tmp_path: Path) -> None:
    rows = [("ab", -1.0, UNUSED), ("a", -2.0, NORMAL), ("b", -3.0, NORMAL), (MARK, -4.0, NORMAL)]
    written(tmp_path / "m.model", BPE, rows, remove_extra_whitespaces=False, fallback=True)
    tok = bbpe.load(tmp_path / "m.model")
    with pytest.raises(VocabularyError, match="no field holds pieces of the type UNUSED"):
        tok.save(tmp_path / "tokenizer.json")
    pytest.importorskip("gguf")
    with pytest.raises(VocabularyError, match="'ab' has the type UNUSED, which is not supported in GGUF"):
        tok.save(tmp_path / "m.gguf")


def test_an_unused_character_that_merges_needs_bytes(tmp_path: Path) -> None:
    rows = [("ab", -1.0, NORMAL), ("a", -2.0, UNUSED), ("b", -3.0, NORMAL), (MARK, -4.0, NORMAL)]
    written(tmp_path / "m.model", BPE, rows)
    with pytest.raises(VocabularyError, match="piece 2: 'a' is a character of the type UNUSED that merges"):
        bbpe.load(tmp_path / "m.model")
    judge = written(tmp_path / "m.model", BPE, rows, fallback=True)
    assert bbpe.load(tmp_path / "m.model").encode("aab ba") == judge.encode("aab ba")


def test_traces_leave_unused_pieces_out(tmp_path: Path) -> None:
    rows = [("ab", -1.0, UNUSED), ("a", -2.0, NORMAL), ("b", -3.0, NORMAL), (MARK, -4.0, NORMAL)]
    written(tmp_path / "m.model", UNIGRAM, rows)
    edges = bbpe.load(tmp_path / "m.model").trace("ab").pretokens[0].edges
    assert 1 not in [edge.id for edge in edges]


@pytest.mark.parametrize("fallback", [False, True])
def test_unused_characters_are_unknown(fallback: bool, tmp_path: Path) -> None:
    rows = [("ab", -1.0, NORMAL), *((char, -2.0, NORMAL) for char in f"ab{MARK}")]
    rows += [("x", -3.0, UNUSED), ("é", -4.0, UNUSED)]
    for kind in (BPE, UNIGRAM):
        judge = written(tmp_path / "m.model", kind, rows, fallback=fallback)
        tok = bbpe.load(tmp_path / "m.model")
        for text in ("x", "axb", "ab x é", "xx éx", "abxab"):
            assert tok.encode(text) == judge.encode(text), (kind, text)
