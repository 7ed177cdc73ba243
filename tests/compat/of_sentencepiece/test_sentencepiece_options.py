"""Options of SentencePiece's processor: each is seen in the result, in lists too, and not in that of the next call."""

from __future__ import annotations

import json
import math
import pickle
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import bbpe
from bbpe.compat.sentencepiece import SentencePieceProcessor
from bbpe.compat.sentencepiece.normalizer import SentencePieceNormalizer
from bbpe.records import replace

LINES = ["see my eyes first", "see my dogs", "eyes seem", "my my"] * 9
MODEL = bbpe.Unigram(byte_fallback=False)


@pytest.fixture(scope="module")
def unigram(tmp_path_factory: pytest.TempPathFactory) -> Any:
    path = tmp_path_factory.mktemp("model") / "m.model"
    bbpe.train_from_iterator(LINES, 60, model=MODEL).save(path)
    return bbpe.load(path).as_sentencepiece()


def pieces_model(tmp_path: Path) -> Any:
    """Words that are split, and a letter that no piece of one letter has."""
    pieces = [["<unk>", 0.0], ["\u2581", -2.0], ["\u2581a", -2.5], ["ab", -1.0], ["b", -3.0], ["c", -2.0], ["bc", -4.0]]
    metaspace = {"type": "Metaspace", "replacement": "\u2581", "prepend_scheme": "always", "split": True}
    document = {
        "version": "1.0", "added_tokens": [], "normalizer": None, "pre_tokenizer": metaspace, "post_processor": None,
        "decoder": metaspace, "model": {"type": "Unigram", "unk_id": 0, "vocab": pieces, "byte_fallback": False},
    }  # fmt: skip
    (tmp_path / "tokenizer.json").write_text(json.dumps(document))
    return bbpe.load(tmp_path / "tokenizer.json").as_sentencepiece()


@pytest.mark.parametrize("text", ["ab", "abc", "ac", "ca", "aab", "ab abc", "ac ca a", "b  a"])
@pytest.mark.parametrize("alpha", [0.3, 1.0])
def test_ways_of_several_words_and_of_unknown_letters(tmp_path: Path, text: str, alpha: float) -> None:
    sp = pieces_model(tmp_path)
    ways = {tuple(ids): alpha * score for ids, score in sp._model.tokenizer.encode_nbest(text, 5000)}
    total = math.log(sum(map(math.exp, ways.values())))
    expected = -sum(math.exp(score - total) * (score - total) for score in ways.values())
    assert sp.calculate_entropy([text], alpha) == [pytest.approx(expected, abs=1e-9)]
    for ids, score in sp.sample_encode_and_score(text, num_samples=20, alpha=alpha):
        assert score == pytest.approx(ways[tuple(ids)] - total)
    every = sp.sample_encode_and_score(text, num_samples=len(ways) + 1, alpha=alpha, wor=True)
    assert sorted(tuple(ids) for ids, _ in every) == sorted(ways)
    assert {tuple(sp.sample_encode_as_ids(text, -1, alpha)) for _ in range(20)} <= set(ways)


@pytest.mark.parametrize("count", [1, 2, 5, 50])
def test_as_many_samples_as_asked_for(tmp_path: Path, count: int) -> None:
    """Without replacement there are no more than ways; of both a text of a list has as many as one alone."""
    sp, text = pieces_model(tmp_path), "ab abc"
    ways = len(sp.nbest_encode_as_ids(text, 5000))
    assert 5 < ways < 50
    for options, expected in (
        ({}, count), ({"wor": True}, min(count, ways)), ({"wor": True, "include_best": True}, min(count, ways))
    ):  # fmt: skip
        found = sp.sample_encode_and_score([text, text], num_samples=count, alpha=0.3, **options)
        assert [len(rows) for rows in found] == [expected] * 2
        assert len(sp.sample_encode_and_score(text, num_samples=count, alpha=0.3, out_type=str, **options)) == expected
    assert len(sp.nbest_encode_as_ids(text, count)) == min(count, ways)
    assert len(sp.sample_encode_and_score(text)) == 1


def test_samples_without_replacement_estimate_the_number_of_ways(tmp_path: Path) -> None:
    """Of ways that are drawn with probability p, the sum of 1/p is their number in the mean."""
    sp, text = pieces_model(tmp_path), "abc abc bc"
    sp._random.seed(3)
    ways = len(sp._model.tokenizer.encode_nbest(text, 5000))
    assert ways > 20
    rows = [sp.sample_encode_and_score(text, num_samples=5, alpha=0.2, wor=True) for _ in range(400)]
    assert sum(math.exp(-score) for row in rows for _, score in row) / 400 == pytest.approx(ways, rel=0.2)
    # all ways of one probability are drawn with one probability, which is exactly known
    rows = sp.sample_encode_and_score(text, num_samples=ways, alpha=0.0, wor=True)
    assert {score for _, score in rows} == {0.0}


def test_options_of_batches_and_of_the_object(tmp_path: Path) -> None:
    """An option of the call applies to each text of a list; an option of the object applies where the call has none."""
    bbpe.train_from_iterator(LINES, 62, model=MODEL, special_tokens=["<s>", "</s>"]).save(tmp_path / "m.model")
    ours = bbpe.load(tmp_path / "m.model").as_sentencepiece()
    texts = ["see my", "䷀ eyes"]
    for options in ({"emit_unk_piece": True}, {"add_bos": True, "add_eos": True}, {"reverse": True}):
        assert ours.nbest_encode_as_pieces(texts, 3, **options) == [
            ours.nbest_encode_as_pieces(text, 3, **options) for text in texts
        ]
        assert ours.nbest_encode_as_pieces(texts, 3, **options) != ours.nbest_encode_as_pieces(texts, 3)
        assert ours.encode(texts, out_type=str, **options) == [
            ours.encode(text, out_type=str, **options) for text in texts
        ]
        drawn = ours.sample_encode_and_score(texts, out_type=str, num_samples=4, wor=True, **options)
        if "add_bos" in options:
            assert all(row[0] == "<s>" and row[-1] == "</s>" for rows in drawn for row, _ in rows)
    data = ours.serialized_model_proto()
    for name, value in {"add_bos": True, "reverse": True, "out_type": str, "emit_unk_piece": True}.items():
        made = SentencePieceProcessor(model_proto=data, **{"out_type": str, name: value})
        given = {"out_type": str, name: value}
        assert made.encode(texts) == ours.encode(texts, **given)
        if name != "out_type":
            assert made.encode(texts, **{name: False}) == ours.encode(texts, out_type=str)
            assert made.encode(texts, **{name: None}) == made.encode(texts)
    assert SentencePieceProcessor(model_proto=data, return_type=str).encode("see") == ours.encode_as_pieces("see")
    for one in (ours.encode, ours.decode):
        with pytest.raises(ValueError, match="both out_type and return_type"):
            one("see", out_type=str, return_type=str)


def test_a_sample_is_of_the_best_only(unigram: Any) -> None:
    best = {tuple(row) for row in unigram.nbest_encode_as_ids("see my eyes", 3)}
    drawn = {tuple(unigram.sample_encode_as_ids("see my eyes", 3, 0.01)) for _ in range(60)}
    assert drawn == best
    drawn = {tuple(unigram.encode("see my eyes", enable_sampling=True, nbest_size=3, alpha=0.01)) for _ in range(60)}
    assert drawn == best
    assert len({tuple(unigram.sample_encode_as_ids("see my eyes", -1, 0.01)) for _ in range(60)}) > 3
    # a greater alpha draws the best way more often
    often = [tuple(unigram.sample_encode_as_ids("see my eyes", -1, 30.0)) for _ in range(30)]
    assert set(often) == {tuple(unigram.encode("see my eyes"))}


def test_threads_of_a_call(unigram: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    given, encode = [], bbpe.Tokenizer.encode_batch

    def noted(self: bbpe.Tokenizer, texts: Any, *, threads: int | None) -> Any:
        given.append(threads)
        return encode(self, texts, threads=threads)

    monkeypatch.setattr(bbpe.Tokenizer, "encode_batch", noted)
    for number in (None, -1, 0, 1, 5):
        assert unigram.encode(["see", "my"], num_threads=number) == [unigram.encode("see"), unigram.encode("my")]
    assert given == [None, None, 1, 1, 5]


def test_every_way_to_a_model(unigram: Any, tmp_path: Path) -> None:
    data, path = unigram.serialized_model_proto(), tmp_path / "m.model"
    path.write_bytes(data)
    empty = SentencePieceProcessor()
    with pytest.raises(bbpe.VocabularyError, match=r"no model is loaded; call Load"):
        empty.encode("see")
    by_file, by_bytes = SentencePieceProcessor(), SentencePieceProcessor()
    assert by_file.LoadFromFile(path)
    assert by_bytes.LoadFromSerializedProto(data)
    for model in (
        by_file, by_bytes, SentencePieceProcessor.from_proto(data), SentencePieceProcessor.from_file(path),
        SentencePieceProcessor(model_proto=bytearray(data)),
    ):  # fmt: skip
        assert model.encode("see my eyes") == unigram.encode("see my eyes")
    assert SentencePieceProcessor.from_proto(data, add_bos=True)._options["add_bos"]
    for wrong in ({}, {"model_file": path, "model_proto": data}):
        with pytest.raises(ValueError, match="found both or neither of model_file and model_proto"):
            by_file.Load(**wrong)
    for value in (5, "model", path, [1]):
        with pytest.raises(TypeError, match="model_proto must be bytes, not"):
            by_file.Load(model_proto=value)


def test_each_name_of_decoding(unigram: Any) -> None:
    ids, pieces = unigram.encode("see my"), unigram.encode("see my", out_type=str)
    for call, row in ((unigram.DecodeIds, ids), (unigram.DecodePieces, pieces), (unigram.Detokenize, ids)):
        assert call(row) == call(row, out_type=str) == "see my"
        assert call(row, out_type=bytes) == b"see my"
        assert call(row, out_type="immutable_proto").text_as_bytes == b"see my"
    assert unigram.DecodeIds(None) == unigram.DecodeIds("") == unigram.DecodeIds([]) == ""
    assert unigram.DecodeIds(ids[0]) == unigram.DecodePieces(pieces[0]) == unigram.DecodeIds(ids[:1])
    with pytest.raises(ValueError, match="out_type is 'text'; expected str, bytes or one of proto"):
        unigram.Decode(ids, out_type="text")


def test_equal_views_have_equal_bytes(unigram: Any) -> None:
    before = pickle.dumps(unigram)
    unigram.sample_encode_as_ids("see", -1, 0.1)
    assert pickle.dumps(unigram) == before
    again = pickle.loads(before)
    assert again.encode("see my") == unigram.encode("see my")
    assert again.sample_encode_as_ids("see", -1, 0.1)


def test_the_names_of_methods_are_those_of_sentencepiece(unigram: Any) -> None:
    """And no kind of result that a method cannot have."""
    for name in ("Ids", "Pieces", "Numpy", "OffsetMapping"):
        assert not hasattr(unigram, f"DecodeIdsAs{name}")
    for start in ("Encode", "SampleEncode", "NBestEncode", "SampleEncodeAndScore"):
        for name in ("Ids", "Pieces", "Numpy", "OffsetMapping", "Proto", "ImmutableProto", "SerializedProto"):
            assert callable(getattr(unigram, f"{start}As{name}"))


def test_pieces_that_files_name(tmp_path: Path) -> None:
    """A file that names some uses names all that there are."""
    specials = ["<s>", "</s>", "<pad>", "<bos>"]
    tok = bbpe.train_from_iterator(["see my"] * 9, 300, model=MODEL, special_tokens=specials)
    plain = tok.as_sentencepiece()
    assert (plain.bos_id(), plain.eos_id(), plain.pad_id()) == tuple(map(tok.token_to_id, ("<s>", "</s>", "<pad>")))
    named = bbpe.Tokenizer(replace(tok.spec, names={"bos": "<bos>"})).as_sentencepiece()
    assert (named.bos_id(), named.eos_id(), named.pad_id()) == (tok.token_to_id("<bos>"), -1, -1)
    with pytest.raises(ValueError, match="'</s>' for add_eos"):
        named.encode("see", add_eos=True)


FLAGS = ("add_bos", "add_eos", "reverse", "emit_unk_piece", "enable_sampling")
NO_FLAGS = ["no", "", [], [1], 1.5]
NO_NUMBERS = ["x", [1], b"1"]


@pytest.mark.parametrize("option", [*FLAGS, "nbest_size", "alpha", "num_threads"])
def test_an_option_of_the_wrong_type_is_refused_where_it_is_not_used(unigram: Any, option: str) -> None:
    model = unigram.serialized_model_proto()
    for wrong in NO_FLAGS if option in FLAGS else NO_NUMBERS:
        for call in (
            partial(unigram.encode, "see my"), partial(unigram.encode, ["see my"]), partial(unigram.encode, []),
            partial(unigram.nbest_encode_as_ids, "see"), partial(unigram.sample_encode_and_score, "see"),
            partial(SentencePieceProcessor, model_proto=model),
        ):  # fmt: skip
            found = type(wrong).__name__
            with pytest.raises(TypeError, match=rf"^{option} must be an? (bool|int|number), not {found}"):
                call(**{option: wrong})


@pytest.mark.parametrize("option", ["add_bos", "add_eos", "reverse"])
@pytest.mark.parametrize("value", [2, -1, 1, 0, np.True_, np.False_])
def test_a_number_is_a_flag_as_in_sentencepiece(option: str, value: Any) -> None:
    theirs = pytest.importorskip("sentencepiece").SentencePieceProcessor()
    model = bbpe.train_from_iterator(LINES, 60, special_tokens=["<s>", "</s>"], model=MODEL).as_sentencepiece()
    theirs.LoadFromSerializedProto(model.serialized_model_proto())
    assert model.encode("see my", **{option: value}) == theirs.encode("see my", **{option: value})
    made = SentencePieceProcessor(model_proto=model.serialized_model_proto(), **{option: value})
    assert made.encode("see my") == theirs.encode("see my", **{option: value})


@pytest.mark.parametrize("ids", [
    [7.5], [7, "8"], [7, None], [7.0], np.array([7.5]), np.array([True]), [[7], [8.5]], [[7], 8], [7, [8]], [b"a", 7],
])  # fmt: skip
def test_only_ids_and_pieces_are_decoded(unigram: Any, ids: Any) -> None:
    theirs = pytest.importorskip("sentencepiece").SentencePieceProcessor()
    theirs.LoadFromSerializedProto(unigram.serialized_model_proto())
    with pytest.raises(TypeError):
        theirs.decode(ids)
    for options in ({}, {"out_type": bytes}, {"out_type": "proto"}, {"out_type": "offset_mapping"}):
        with pytest.raises(TypeError, match=r"an id is an int, not|a text is str or bytes, not|row of input must be"):
            unigram.decode(ids, **options)
    assert unigram.decode([np.int64(7), np.uint8(8)]) == theirs.decode([7, 8])


def test_other_arguments_of_the_wrong_type_are_named(unigram: Any) -> None:
    for wrong in ("abc", b"ab", ["see", 1], {1}, [b"see"]):
        with pytest.raises(TypeError, match=r"valid_vocab is .*; expected a list of str"):
            unigram.set_vocabulary(wrong)
    flags = "add_dummy_prefix", "escape_whitespaces", "remove_extra_whitespaces"
    normalizer = SentencePieceNormalizer(rule_name="nfkc")
    for wrong in NO_FLAGS:
        for name in flags:
            with pytest.raises(TypeError, match=f"^{name} must be a bool"):
                SentencePieceNormalizer(rule_name="nfkc", **{name: wrong})
            with pytest.raises(TypeError, match=f"^{name} must be a bool"):
                unigram.override_normalizer_spec(**{name: wrong})
        for name in ("wor", "include_best"):
            with pytest.raises(TypeError, match=f"^{name} must be a bool"):
                unigram.sample_encode_and_score("see", **{name: wrong})
        for view in (unigram, normalizer):
            with pytest.raises(TypeError, match=r"^with_offsets must be a bool"):
                view.normalize([], with_offsets=wrong)
    for wrong in NO_NUMBERS:
        for call in (partial(unigram.decode, [7]), partial(unigram.calculate_entropy, "see", 0.1)):
            with pytest.raises(TypeError, match=r"^num_threads must be an int"):
                call(num_threads=wrong)
