"""Results of SentencePiece's processor beside ids: places, entropy, samples, vocabularies, flags of normalization.

The package has no entropy, no scored samples and no restricted vocabularies after version 0.2.0, so these are compared
with sums over all segmentations.
"""

from __future__ import annotations

import math
import pickle
import random
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

import bbpe
from bbpe.compat.sentencepiece.normalizer import SentencePieceNormalizer

sentencepiece = pytest.importorskip("sentencepiece")
pytest.importorskip("google.protobuf")
from trained_pieces import trained  # noqa: E402 - it imports sentencepiece

LINES = ["see my eyes first", "see my dogs", "I have 12 dogs, naïve café 中文"] * 20
TEXTS = ["", " ", "see my dogs", " x東  y ", "naïve 東東 café", "中文 ㍻!", "  ", "▁see", "ＦＵ Ｌ"]
MODEL = bbpe.Unigram(byte_fallback=False)
KINDS: dict[str, dict[str, Any]] = {
    "unigram": {"model_type": "unigram"},
    "bytes": {"model_type": "unigram", "byte_fallback": True, "vocab_size": 340},
    "bpe": {"model_type": "bpe"},
    "bpe of bytes": {"model_type": "bpe", "byte_fallback": True, "vocab_size": 340},
}


@pytest.fixture(scope="module", params=KINDS)
def pair(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> tuple[Any, Any]:
    options = {"vocab_size": 80, **KINDS[request.param]}
    path = trained(tmp_path_factory.mktemp("model") / "m.model", LINES, options.pop("vocab_size"), **options)
    return bbpe.load(path).as_sentencepiece(), sentencepiece.SentencePieceProcessor(model_file=str(path))


@pytest.fixture(scope="module")
def unigram(tmp_path_factory: pytest.TempPathFactory) -> Any:
    path = tmp_path_factory.mktemp("model") / "m.model"
    bbpe.train_from_iterator(["see my eyes first", "see my dogs", "eyes seem", "my my"] * 9, 60, model=MODEL).save(path)
    return bbpe.load(path).as_sentencepiece()


def test_places_of_encoded_texts(pair: tuple[Any, Any]) -> None:
    ours, theirs = pair
    for text in TEXTS:
        for given in (text, text.encode()):
            assert ours.encode_as_serialized_proto(given) == theirs.encode(given, out_type="serialized_proto"), given
            assert ours.encode_as_offset_mapping(given) == theirs.encode(given, out_type="offset_mapping"), given
            assert ours.encode(given, out_type=bytes) == theirs.encode(given, out_type=bytes)
        placed = ours.encode_as_immutable_proto(text)
        assert [piece.id for piece in placed.pieces] == ours.encode(text)
        assert [text[piece.begin : piece.end] for piece in placed.pieces] == [piece.surface for piece in placed.pieces]
        assert placed.SerializeAsString() == ours.encode_as_serialized_proto(text)
    assert ours.encode(TEXTS, out_type="offset_mapping") == theirs.encode(TEXTS, out_type="offset_mapping")
    with pytest.raises(ValueError, match="have no place"):
        ours.encode("a", out_type="immutable_proto", reverse=True)


def test_places_of_decoded_texts(pair: tuple[Any, Any]) -> None:
    ours, theirs = pair
    for text in TEXTS:
        ids, pieces = theirs.encode(text), theirs.encode(text, out_type=str)
        for row in (ids, pieces, [*pieces, "<s>", "東", *pieces], [1, *ids, 2, 0, *ids, 2], [*ids, 0, 0], [2], [1, 2]):
            for kind in ("serialized_proto", "offset_mapping"):
                assert ours.decode(row, out_type=kind) == theirs.decode(row, out_type=kind), row
        assert ours.decode_ids_as_immutable_proto(ids).text == ours.decode(ids)
    size = ours.get_piece_size()
    for row in ([size - 1, 230, 140, 200, 4], list(range(size))):
        row = [token_id % size for token_id in row]
        assert ours.decode(row) == theirs.decode(row)
        assert ours.decode(row, out_type="serialized_proto") == theirs.decode(row, out_type="serialized_proto")


def test_the_best_segmentations(unigram: Any) -> None:
    found = unigram.nbest_encode_as_immutable_proto("see my", nbest_size=3)
    assert [[piece.id for piece in text.pieces] for text in found.nbests] == unigram.nbest_encode_as_ids("see my", 3)
    assert [text.score for text in found.nbests] == sorted((text.score for text in found.nbests), reverse=True)
    sums = [sum(unigram.get_score(piece.id) for piece in text.pieces) for text in found.nbests]
    assert [text.score for text in found.nbests] == pytest.approx(sums, abs=1e-3)
    assert len(set(sums)) > 1
    assert hash(found) == hash(unigram.nbest_encode_as_immutable_proto("see my", nbest_size=3))
    assert "nbests {" in str(found)
    assert "surface" in str(found.nbests[0])


def test_entropy_is_that_of_all_segmentations(unigram: Any) -> None:
    for text in ("see", "my x", "東y", ""):
        for alpha in (0.0, 0.3, 1.0):
            scores = [alpha * score for _, score in unigram._model.tokenizer.encode_nbest(text, 20_000)]
            total = math.log(sum(map(math.exp, scores)))
            expected = -sum(math.exp(score - total) * (score - total) for score in scores)
            assert unigram.calculate_entropy(text, alpha) == pytest.approx(expected, abs=1e-9)
    texts = ["see", "my"]
    assert unigram.CalculateEntropy(texts, 1.0) == [unigram.calculate_entropy(text, 1.0) for text in texts]


def test_samples_and_their_probabilities(unigram: Any) -> None:
    unigram._random.seed(5)
    all_ways = {tuple(ids): 0.5 * score for ids, score in unigram._model.tokenizer.encode_nbest("see my", 20_000)}
    total = math.log(sum(map(math.exp, all_ways.values())))
    drawn = unigram.sample_encode_and_score_as_ids("see my", 4000, 0.5)
    assert all(score == pytest.approx(all_ways[tuple(ids)] - total) for ids, score in drawn)
    best = max(all_ways, key=all_ways.__getitem__)
    share = Counter(tuple(ids) for ids, _ in drawn)[best] / 4000
    assert share == pytest.approx(math.exp(all_ways[best] - total), abs=0.03)
    once = unigram.sample_encode_and_score("see my", num_samples=3, alpha=0.5, wor=True, out_type=int)
    assert len({tuple(ids) for ids, _ in once}) == 3
    assert all(score <= 0 for _, score in once)
    # the sum of 1/p over samples that are drawn with probability p estimates the number of all segmentations
    estimates = []
    for _ in range(400):
        rows = unigram.sample_encode_and_score("my", num_samples=2, alpha=0.2, wor=True)
        estimates.append(sum(math.exp(-score) for _, score in rows))
    count = len(unigram._model.tokenizer.encode_nbest("my", 1000))
    assert sum(estimates) / 400 == pytest.approx(count, rel=0.25)
    with_best = unigram.sample_encode_and_score("see my", num_samples=3, alpha=0.1, wor=True, include_best=True)
    assert with_best[0] == (unigram.encode("see my"), 0.0)
    for _ in range(20):
        rows = unigram.sample_encode_and_score("my", num_samples=3, alpha=0.5, wor=True, include_best=True)
        assert rows[0] == (unigram.encode("my"), 0.0)
        assert len({tuple(ids) for ids, _ in rows}) == len(rows) == min(count, 3)
    few = unigram.sample_encode_and_score("x", num_samples=50, wor=True)
    assert {score for _, score in few} == {0.0}
    assert unigram.sample_encode_and_score_as_immutable_proto("my", 2).nbests[0].text == "my"
    assert isinstance(unigram.sample_encode_and_score_as_serialized_proto(["my", "see"], 2)[1], bytes)
    with pytest.raises(ValueError, match="wor=True"):
        unigram.sample_encode_and_score("my", include_best=True)


def test_a_seed_decides_what_is_drawn(pair: tuple[Any, Any], unigram: Any) -> None:
    drawn = []
    for _ in range(2):
        rows = []
        for view in (pair[0], unigram):
            view._random.seed(3)
            rows += [view.encode("see my eyes", enable_sampling=True, nbest_size=-1, alpha=0.2) for _ in range(20)]
        drawn.append(rows)
    assert drawn[0] == drawn[1]
    assert len(set(map(tuple, drawn[0][20:]))) > 1


def test_models_without_scores(pair: tuple[Any, Any]) -> None:
    ours, _ = pair
    if not outcome_is_scored(ours):
        for call in (lambda: ours.calculate_entropy("a", 1.0), lambda: ours.sample_encode_and_score("a")):
            with pytest.raises(TypeError, match="no scores"):
                call()


def outcome_is_scored(ours: Any) -> bool:
    try:
        ours.nbest_encode("a", nbest_size=1)
    except TypeError:
        return False
    return True


def test_vocabularies(pair: tuple[Any, Any], tmp_path: Path) -> None:
    ours, _ = pair
    several = [piece for piece in map(ours.id_to_piece, range(3, len(ours))) if len(piece) > 1 and piece[:3] != "<0x"]
    kept, *others = several
    assert others
    assert ours.set_vocabulary([kept, "none"])
    found = {token_id for text in TEXTS for token_id in ours.encode(text)} - {ours.unk_id()}
    pieces = {piece for piece in map(ours.id_to_piece, found) if len(piece) > 1 and not piece.startswith("<0x")}
    assert pieces <= {kept}
    assert all(ours.is_unused(ours.piece_to_id(others)))
    (tmp_path / "vocab.txt").write_text(f"{others[0]}\t5\n{kept}\t1\n", "utf-8")
    for threshold, unused in ((1, [False, False]), (2, [True, False]), (5, [True, False]), (6, [True, True])):
        assert ours.load_vocabulary(tmp_path / "vocab.txt", threshold)
        assert ours.is_unused(ours.piece_to_id([kept, others[0]])) == unused
    (tmp_path / "vocab.txt").write_text(f"{kept}\n{others[0]}\t1\n", "utf-8")  # a piece without a count is written
    assert ours.load_vocabulary(tmp_path / "vocab.txt", 2)
    assert ours.is_unused(ours.piece_to_id([kept, others[0]])) == [False, True]
    assert ours.reset_vocabulary()
    assert not any(ours.is_unused(ours.piece_to_id(several)))


def test_extra_options(pair: tuple[Any, Any]) -> None:
    ours, _ = pair
    plain = ours.encode("see my")
    for options, expected in (
        ("bos:eos", [1, *plain, 2]), ("bos:reverse", [*plain[::-1], 1]), ("reverse:bos", [1, *plain[::-1]])
    ):  # fmt: skip
        assert ours.set_encode_extra_options(options)
        assert ours.encode("see my") == expected
        assert ours.encode(["see my"]) == [expected]
    assert ours.encode("see my", add_bos=True) == [1, 1, *plain[::-1]]
    ours.set_encode_extra_options("unk")
    assert "䷀" not in ours.encode_as_pieces("see䷀")
    # each of the two leaves the other
    ours.set_encode_extra_options("bos")
    ours.set_decode_extra_options("reverse")
    assert (ours.encode("see my"), ours.decode(plain[::-1])) == ([1, *plain], "see my")
    assert ours.encode_as_pieces("see my") == ["<s>", *map(ours.id_to_piece, plain)]
    assert ours.decode(ours.encode_as_pieces("see my")[:0:-1]) == "see my"
    with pytest.raises(ValueError, match="have no place"):
        ours.encode("see my", out_type="proto")
    ours.set_encode_extra_options("eos")
    assert (ours.encode("see my"), ours.decode(plain[::-1])) == ([*plain, 2], "see my")
    assert ours.set_encode_extra_options("")
    assert ours.set_decode_extra_options("reverse")
    assert ours.decode(plain[::-1]) == "see my"
    assert ours.set_decode_extra_options("")
    with pytest.raises(ValueError, match="option 'x' is not known"):
        ours.set_encode_extra_options("x")


def test_flags_of_the_normalizer(tmp_path: Path) -> None:
    from sentencepiece import sentencepiece_model_pb2

    for kind in ("unigram", "bpe"):
        path = trained(tmp_path / "m.model", LINES, 80, model_type=kind)
        ours = bbpe.load(path).as_sentencepiece()
        model = sentencepiece_model_pb2.ModelProto()
        model.ParseFromString(path.read_bytes())
        for name in ("add_dummy_prefix", "remove_extra_whitespaces", "escape_whitespaces"):
            setattr(model.normalizer_spec, name, False)
            assert ours.override_normalizer_spec(**{name: False})
            theirs = sentencepiece.SentencePieceProcessor(model_proto=model.SerializeToString())
            (tmp_path / "changed.model").write_bytes(model.SerializeToString())
            loaded = bbpe.load(tmp_path / "changed.model").as_sentencepiece()
            for text in [*TEXTS, "a▁b", " see  my dogs "]:
                ids = theirs.encode(text)
                for view in (ours, loaded):
                    assert view.encode(text) == ids, (name, text)
                    assert view.encode(text, out_type=str) == theirs.encode(text, out_type=str), (name, text)
                    assert view.decode(ids) == theirs.decode(ids), (name, text)


@pytest.mark.parametrize("rule", ["identity", "nfkc", "nfkc_cf", "nmt_nfkc", "nmt_nfkc_cf"])
def test_normalizers_by_name(rule: str) -> None:
    for flags in range(8):
        names = ("add_dummy_prefix", "escape_whitespaces", "remove_extra_whitespaces")
        given = {name: bool(flags >> number & 1) for number, name in enumerate(names)}
        ours = SentencePieceNormalizer(rule_name=rule, **given)
        theirs = sentencepiece.SentencePieceNormalizer(rule_name=rule, **given)
        more = ["ßẞ İ Σς\u3000\u200b①ﬁ", "\t a\n", "한글 ｶﾞ", "👩\u200d👩～ \u061cא \u200f"]
        more += ["a\ufdd0\ufdd1～", "～\u200d" + "".join(map(chr, range(0xFDD0, 0xFDF0)))]
        for text in [*TEXTS, *more]:
            assert ours.normalize(text) == theirs.normalize(text), (given, text)
            assert ours.Normalize(text.encode()) == theirs.Normalize(text.encode())


def test_normalizers_of_models(tmp_path: Path) -> None:
    path = trained(tmp_path / "m.model", LINES, 80)
    flags = {"add_dummy_prefix": True, "escape_whitespaces": True, "remove_extra_whitespaces": True}
    for given in ({}, flags):
        ours = SentencePieceNormalizer(model_file=path, **given)
        theirs = sentencepiece.SentencePieceNormalizer(
            model_file=str(path), **{**dict.fromkeys(flags, False), **given}
        )
        for text in (*TEXTS, "ﬁ  ㍻"):
            for with_offsets in (False, True):
                assert ours.normalize(text, with_offsets) == theirs.normalize(text, with_offsets), text
                data = [text.encode(), b"a"]
                assert ours.normalize(data, with_offsets) == theirs.normalize(data, with_offsets)
    assert SentencePieceNormalizer(model_proto=path.read_bytes()).normalize("ﬁ") == "fi"
    for given in ({}, {"rule_name": "nfkc", "model_file": path}):
        with pytest.raises(ValueError, match="expected one of"):
            SentencePieceNormalizer(**given)
    with pytest.raises(ValueError, match="rule_name is 'x'"):
        SentencePieceNormalizer(rule_name="x")


def test_protos_have_places_in_bytes() -> None:
    """As the objects of `return_type="proto"`, which sentencepiece 0.2.3 returns, have them."""
    tok = bbpe.train_from_iterator(["see my eyes", "na\u00efve caf\u00e9"] * 9, 300, model="unigram")
    sp = tok.as_sentencepiece()
    for text in ("see my eyes", "na\u00efve caf\u00e9 \u6771", ""):
        proto, placed = sp.encode(text, out_type="proto"), sp.encode(text, out_type="immutable_proto")
        data = text.encode()
        assert proto.text == text
        assert [piece.piece for piece in proto.pieces] == [piece.piece for piece in placed.pieces]
        for piece in proto.pieces:
            assert data[piece.begin : piece.end].decode() == piece.surface
        assert proto.SerializeToString() == sp.encode(text, out_type="serialized_proto") == placed.SerializeAsString()
    assert sp.EncodeAsProto("see") == sp.encode("see", return_type="proto") == sp.encode_as_proto("see")
    assert sp.NBestEncodeAsProto("see", 2).nbests[0].pieces == sp.EncodeAsProto("see").pieces
    ids = sp.encode("caf\u00e9")
    assert sp.DecodeIdsAsProto(ids).SerializeToString() == sp.decode(ids, out_type="serialized_proto")


def soups(count: int) -> list[str]:
    """Blanks, marks of blanks and characters without a text, around and between letters."""
    rng = random.Random(11)
    return ["".join(rng.choices([" ", "  ", "▁", "\u200b", "\u3000", "\t", "a", "b"], k=rng.randint(1, 6)))
            for _ in range(count)]  # fmt: skip


@pytest.mark.parametrize("rule", ["identity", "nfkc", "nmt_nfkc_cf"])
def test_blanks_at_the_ends_and_their_places(rule: str) -> None:
    for flags in range(8):
        names = ("add_dummy_prefix", "escape_whitespaces", "remove_extra_whitespaces")
        given = {name: bool(flags >> number & 1) for number, name in enumerate(names)}
        ours = SentencePieceNormalizer(rule_name=rule, **given)
        theirs = sentencepiece.SentencePieceNormalizer(rule_name=rule, **given)
        for text in [*soups(60), "\u200b▁", " \u200b▁ ", "Ab ẞ", "A\u200dB～", " ＦＵ\u3000Ｌ "]:
            assert ours.normalize(text) == theirs.normalize(text), (given, text)
            found, expected = ours.normalize(text, True), theirs.normalize(text, True)
            assert found == expected, (given, text)
        again = pickle.loads(pickle.dumps(ours))  # after its use
        assert pickle.dumps(again) == pickle.dumps(SentencePieceNormalizer(rule_name=rule, **given))
        assert again.normalize(soups(60)) == theirs.normalize(soups(60))
        assert again.normalize(["a", "b"], True) == [again.normalize(text, True) for text in ("a", "b")]


def test_places_of_blanks_in_encoded_texts(pair: tuple[Any, Any]) -> None:
    ours, theirs = pair
    for text in soups(60):
        assert ours.normalize(text, True) == theirs.normalize(text, True), text
        assert ours.encode_as_serialized_proto(text) == theirs.encode(text, out_type="serialized_proto"), text


def test_tables_are_read_once(monkeypatch: pytest.MonkeyPatch) -> None:
    from bbpe.compat.sentencepiece import model

    calls = []
    compile_rules = model.compiled_normalizer
    monkeypatch.setattr(model, "compiled_normalizer", lambda *a, **o: calls.append(1) or compile_rules(*a, **o))
    sp = bbpe.train_from_iterator(["see my eyes"] * 9, 300, model="unigram").as_sentencepiece()
    for _ in range(3):
        sp.encode("see my", out_type="serialized_proto")
    assert len(calls) == 1


@pytest.mark.parametrize("text", ["naïve 東東 café", " x東  y ", "see my dogs"])
def test_pieces_and_surfaces_as_bytes(pair: tuple[Any, Any], text: str) -> None:
    ours, theirs = pair
    found = ours.encode(text, out_type="immutable_proto").pieces
    expected = [(piece, token_id) for piece, token_id in zip(theirs.encode(text, out_type=str), theirs.encode(text),
                                                             strict=True)]  # fmt: skip
    assert [(each.piece, each.id) for each in found] == expected
    assert [each.piece_as_bytes.decode() for each in found] == [piece for piece, _ in expected]
    assert b"".join(each.surface_as_bytes for each in found).decode() == "".join(each.surface for each in found)
    assert [len(each.surface_as_bytes) for each in found] == [len(each.surface.encode()) for each in found]
