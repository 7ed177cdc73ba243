"""The engine under an accelerated tokenizer, side by side with the tokenizer of HF that it replaces."""

from __future__ import annotations

import pickle
import random
import warnings
from copy import deepcopy
from pathlib import Path
from typing import Any

import pytest

from bbpe.compat.tokenizers import DecodeStream
from bbpe.compat.transformers.backend import Backend
from bbpe.errors import AccelerationError, AccelerationWarning

hf = pytest.importorskip("tokenizers")
from small_hf import KINDS  # noqa: E402 - it imports tokenizers
from tokenizers import decoders, models, normalizers, pre_tokenizers, processors  # noqa: E402

LISTS = ("ids", "tokens", "type_ids", "offsets", "word_ids", "attention_mask", "special_tokens_mask")
_rng = random.Random(7)
_POOL = [*"aesmy dogs  12,\u00e9\u4e2d\u6587x\n", "see", "my", " dogs", "<s>", "[SEP]", "<x>", "DOGS"]
TEXTS = ["", " ", "see my dogs", *("".join(_rng.choices(_POOL, k=_rng.randint(1, 14))) for _ in range(15))]
DOCUMENTS: dict[str, str] = {}


@pytest.fixture(params=KINDS)
def pair(request: pytest.FixtureRequest) -> tuple[Any, Any]:
    """The backend of a tokenizer, and another tokenizer of the same file."""
    if request.param not in DOCUMENTS:
        DOCUMENTS[request.param] = KINDS[request.param]().to_str()
    return Backend(hf.Tokenizer.from_str(DOCUMENTS[request.param])), hf.Tokenizer.from_str(DOCUMENTS[request.param])


def assert_same(ours: Any, theirs: Any) -> None:
    """All that both return for texts and ids is equal, and the tokenizer of HF had no part in it."""
    assert ours.ready() is not None
    for text in TEXTS:
        one, other = ours.encode(text, text[:5]), theirs.encode(text, text[:5])
        for name in LISTS:
            assert getattr(one, name) == getattr(other, name), (text, name)
        assert [row.ids for row in one.overflowing] == [row.ids for row in other.overflowing]
    rows = [row.ids for row in ours.encode_batch(TEXTS)]
    assert rows == [row.ids for row in theirs.encode_batch(TEXTS)]
    for skips in (False, True):
        assert ours.decode_batch(rows, skips) == theirs.decode_batch(rows, skips)
    assert ours.get_vocab() == theirs.get_vocab()
    assert (ours.truncation, ours.padding) == (theirs.truncation, theirs.padding)


def test_a_pickle_has_the_engine_whatever_plain_texts_give(pair: tuple[Any, Any]) -> None:
    ours, _ = pair
    ours.encode_special_tokens, ours._is_plain_equal = True, False
    assert ours.ready() is None
    assert pickle.loads(pickle.dumps(ours)).ready() is not None


#: Methods with each option in turn.
CALLS: list[tuple[str, tuple[Any, ...], dict[str, Any]]] = [
    *(("encode", (text,), options) for text, options in [
        ("see <s> my", {}), ("see <s> my", {"pair": "dogs"}), (["see", "my"], {"is_pretokenized": True}),
        ("see <s> my", {"add_special_tokens": False}),
    ]),
    *((name, (texts,), options) for name in ("encode_batch", "encode_batch_fast") for texts, options in [
        (["see <s>", ("see", "my")], {}), ([["see", "my"]], {"is_pretokenized": True}),
        (["see <s>"], {"add_special_tokens": False}),
    ]),
    *(("decode", ([1, 2, 3, 20, 30],), {"skip_special_tokens": skips}) for skips in (True, False)),
    *(("decode_batch", ([[1, 2, 3], [20, 30]],), {"skip_special_tokens": skips}) for skips in (True, False)),
    # without any option
    ("decode", ([1, 2, 3, 20, 30],), {}), ("decode_batch", ([[1, 2, 3], [20, 30]],), {}), ("get_vocab", (), {}),
    ("get_vocab_size", (), {}), ("to_str", (), {}),
    *((name, (), {"with_added_tokens": whole}) for name in ("get_vocab", "get_vocab_size") for whole in (True, False)),
    *(("num_special_tokens_to_add", (is_pair,), {}) for is_pair in (True, False)),
    *(("to_str", (), {"pretty": pretty}) for pretty in (True, False)),
    ("token_to_id", ("<s>",), {}), ("token_to_id", ("none",), {}), ("id_to_token", (3,), {}),
    ("id_to_token", (9999,), {}),
]  # fmt: skip


@pytest.mark.parametrize("is_ready", [True, False])
def test_each_option_of_each_method(pair: tuple[Any, Any], is_ready: bool) -> None:
    """By the engine and, where it cannot follow a change, by the tokenizer of HF."""
    ours, _ = pair
    for each in pair:
        each.add_tokens(["<added>"])
        each.encode_special_tokens = not is_ready
    ours.ready()
    ours._is_plain_equal = ours._is_plain_equal and is_ready
    assert (ours.ready() is not None) == is_ready
    for name, given, options in CALLS:
        one, other = (getattr(each, name)(*given, **options) for each in pair)
        if name.startswith("encode"):
            # without offsets `tokenizers` has no tokens either
            parts = LISTS if name != "encode_batch_fast" else ("ids", "type_ids", "special_tokens_mask")
            rows = [each if isinstance(each, list) else [each] for each in (one, other)]
            one, other = ([[getattr(row, part) for part in parts] for row in each] for each in rows)
        assert one == other, (name, given, options)


def test_what_bbpe_does_not_read_is_an_error() -> None:
    inner = hf.Tokenizer.from_str(KINDS["bytes"]().to_str())
    inner.pre_tokenizer = pre_tokenizers.Split(hf.Regex(r"\X"), "isolated")
    with pytest.raises(AccelerationError, match="pre_tokenizer: in the regex"):
        Backend(inner)
    made = Backend(hf.Tokenizer.from_str(KINDS["bytes"]().to_str()))
    with pytest.raises(AttributeError, match="'Backend' has no attribute '_nope'"):
        _ = made._nope


def test_it_is_equal(pair: tuple[Any, Any]) -> None:
    ours, theirs = pair
    assert_same(ours, theirs)
    for tokenizer in pair:
        tokenizer.enable_truncation(12, stride=1)
        tokenizer.enable_padding(length=14)
    assert_same(ours, theirs)
    assert_same(Backend(hf.Tokenizer.from_str(ours.to_str())), theirs)
    assert ours.token_to_id("[SEP]") == theirs.token_to_id("[SEP]")
    assert ours.id_to_token(2) == theirs.id_to_token(2)
    assert ours.get_vocab_size(False) == theirs.get_vocab_size(False)
    assert ours.num_special_tokens_to_add(True) == theirs.num_special_tokens_to_add(True)
    assert repr(ours).startswith("<accelerated by bbpe: Tokenizer(")


def test_added_tokens_are_followed(pair: tuple[Any, Any]) -> None:
    ours, theirs = pair
    copied = deepcopy(ours)
    for tokenizer in pair:
        assert tokenizer.add_tokens(["<x>", hf.AddedToken("see", single_word=True)]) == 2
        assert tokenizer.add_special_tokens(["<z>", "<s>"]) == 1
    assert_same(ours, theirs)
    assert copied.token_to_id("<x>") is None
    assert copied.encode("<x>").ids != ours.encode("<x>").ids


def test_components_are_followed(pair: tuple[Any, Any]) -> None:
    ours, theirs = pair
    copied, first = deepcopy(ours), theirs.normalizer
    for tokenizer in pair:
        tokenizer.post_processor = processors.TemplateProcessing(single="$A <s>", special_tokens=[("<s>", 3)])
    assert ours.encode("see").ids == theirs.encode("see").ids
    assert ours.encode("see").ids[-1] == 3 != copied.encode("see").ids[-1]
    for tokenizer in pair:
        tokenizer.normalizer = normalizers.Sequence([normalizers.NFC(), normalizers.Strip()])
    assert ours.encode(" e\u0301 ").ids == theirs.encode(" e\u0301 ").ids
    # and back to what it was at first
    for tokenizer in pair:
        tokenizer.normalizer = first
    assert ours.encode(" e\u0301 ").ids == theirs.encode(" e\u0301 ").ids
    assert ours.ready() is not None
    if type(theirs.model).__name__ == "WordPiece":
        for tokenizer in pair:
            tokenizer.model.max_input_chars_per_word = 2
        assert ours.encode("see my").ids == theirs.encode("see my").ids


def test_a_change_that_cannot_be_followed_warns(pair: tuple[Any, Any]) -> None:
    ours, theirs = pair

    class Shout:
        def normalize(self, normalized: Any) -> None:
            normalized.uppercase()

    for tokenizer in pair:
        tokenizer.normalizer = normalizers.Normalizer.custom(Shout())
    with pytest.warns(AccelerationWarning, match="ends its acceleration"):
        found = ours.encode("see my", "dogs")
    assert ours.ready() is None
    assert found.ids == theirs.encode("see my", "dogs").ids
    batches: tuple[Any, ...] = (["see"],), (["see", ("my", "dogs")],), ([["see", "my"]], True), (["see"], False, False)
    for arguments in batches:
        rows = [tokenizer.encode_batch(*arguments) for tokenizer in pair]
        assert [row.ids for row in rows[0]] == [row.ids for row in rows[1]]
    for arguments in (("see", None, False, False), (["see"], ["my"], True), (["see", "my"], None, True, False)):
        assert ours.encode(*arguments).ids == theirs.encode(*arguments).ids
    for skips in (True, False):
        assert ours.decode([3, 5, 6], skips) == theirs.decode([3, 5, 6], skips)
        assert ours.decode_batch([[3], [5, 6]], skips) == theirs.decode_batch([[3], [5, 6]], skips)
    one, other = DecodeStream(), decoders.DecodeStream()
    assert [one.step(ours, number) for number in (20, 21)] == [other.step(theirs, number) for number in (20, 21)]


def test_special_tokens_as_plain_text(pair: tuple[Any, Any]) -> None:
    ours, theirs = pair
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        for tokenizer in pair:
            tokenizer.encode_special_tokens = True
        for text in ("<s>see", "a [SEP] b"):
            assert ours.encode(text).ids == theirs.encode(text).ids
            assert ours.encode_batch([text])[0].ids == theirs.encode(text).ids
    assert not caught


def test_special_tokens_as_plain_text_of_which_a_model_makes_tokens() -> None:
    """Without a normalizer our engine has no model with special tokens, so `tokenizers` encodes."""
    theirs = KINDS["unigram"]()
    theirs.normalizer = None
    ours = Backend(hf.Tokenizer.from_str(theirs.to_str()))
    ours.encode_special_tokens = theirs.encode_special_tokens = True
    with pytest.warns(AccelerationWarning, match="without special tokens, because bbpe differs"):
        assert ours.encode("<s>see").ids == theirs.encode("<s>see").ids
    assert ours.ready() is None
    assert ours.ready(is_plain=False) is not None  # for a call with another option
    ours.encode_special_tokens = theirs.encode_special_tokens = False
    assert ours.ready() is not None
    assert ours.ready(is_plain=True) is None
    assert ours.encode("<s>see").ids == theirs.encode("<s>see").ids


def test_tokens_are_added_while_special_tokens_are_plain_text(pair: tuple[Any, Any]) -> None:
    """The tokenizer of HF still has the option of the last call when the new tokens are compared."""
    ours, theirs = pair
    for tokenizer in pair:
        tokenizer.encode_special_tokens = True
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        ours.to_str()  # gives the option to the tokenizer of HF
        for tokenizer in pair:
            tokenizer.add_tokens(["<x>"])
        assert ours.encode("my <x><s>").ids == theirs.encode("my <x><s>").ids
        for tokenizer in pair:
            tokenizer.encode_special_tokens = False
        assert_same(ours, theirs)
    assert not caught


def test_copies_and_pickles(pair: tuple[Any, Any]) -> None:
    ours, theirs = pair
    for tokenizer in pair:
        tokenizer.enable_truncation(9, strategy="longest_first", direction="left")
        tokenizer.enable_padding(direction="left", length=11, pad_id=3, pad_type_id=1, pad_token="<s>")
        tokenizer.add_tokens(["<x>"])
    for copied in (deepcopy(ours), pickle.loads(pickle.dumps(ours))):
        assert_same(copied, theirs)
        copied.no_truncation()
        copied.enable_padding(length=30)
        copied.encode_special_tokens = True
        copied.add_tokens(["<y>"])
        assert copied.token_to_id("<y>") is not None
    assert_same(ours, theirs)
    assert ours.token_to_id("<y>") is None


def test_tokens_that_are_decoded_in_another_way_stay_so_when_others_are_added(pair: tuple[Any, Any]) -> None:
    ours, theirs = pair
    for token in ("\u00e9!", "<x>", "\u4e2d?"):
        for tokenizer in pair:
            tokenizer.add_tokens([token])
        for copied in (ours, deepcopy(ours), pickle.loads(pickle.dumps(ours))):
            ids = theirs.encode("see \u00e9! my <x>\u4e2d?").ids
            assert [copied.decode(ids, skips) for skips in (True, False)] == [
                theirs.decode(ids, skips) for skips in (True, False)
            ]


@pytest.mark.parametrize("skips", [True, False])
def test_tokenizers_decodes_what_differs_with_or_without_special_tokens(
    pair: tuple[Any, Any], monkeypatch: pytest.MonkeyPatch, skips: bool
) -> None:
    """An id may be decoded in another way only where special tokens are skipped, or only where they are not."""
    ours, _ = pair
    odd = frozenset({20}), frozenset({21})  # without, with skipping
    monkeypatch.setattr(ours, "_odd", odd)
    monkeypatch.setattr(ours, "_inner", type("Theirs", (), {"decode": lambda _, ids, skip: f"{ids} {skip}"})())
    assert ours.decode([19, *odd[skips]], skips) == f"{[19, *odd[skips]]} {skips}"
    assert ours.decode([19, *odd[not skips]], skips) == ours._hf_texts.decoded([19, *odd[not skips]], skips)
    assert ours.stream_decoder([], skips) is None
    monkeypatch.setattr(ours, "_odd", (frozenset(), odd[1]) if not skips else (odd[0], frozenset()))
    assert ours.stream_decoder([], skips) is not None


def test_a_new_token_says_nothing_of_how_others_are_decoded(pair: tuple[Any, Any]) -> None:
    ours, _ = pair
    ours._odd = frozenset({20}), frozenset({21})
    ours.add_tokens(["<x>"])
    assert ours.ready() is not None
    assert ours._odd == (frozenset({20}), frozenset({21}))


@pytest.mark.parametrize("name", ["train", "train_from_iterator"])
def test_a_model_that_is_trained_again_is_followed(name: str, tmp_path: Path) -> None:
    ours = Backend(KINDS["wordpiece"]())
    specials = ["[UNK]", "[CLS]", "[SEP]", "<s>"]
    trainer = hf.trainers.WordPieceTrainer(vocab_size=90, special_tokens=specials, show_progress=False)
    before = ours.encode("quick brown foxes").ids
    (tmp_path / "lines").write_text("quick brown foxes jump\n" * 9)
    getattr(ours, name)(["quick brown foxes jump"] * 9 if "iterator" in name else [str(tmp_path / "lines")], trainer)
    again = hf.Tokenizer.from_str(ours.to_str())
    assert ours.ready() is not None
    assert ours.get_vocab() == again.get_vocab()
    assert ours.encode("quick brown foxes").ids == again.encode("quick brown foxes").ids != before


def test_a_change_is_proven_with_special_tokens_as_plain_text_again() -> None:
    """Equal results before it say nothing of results after it."""
    theirs = KINDS["unigram"]()
    ours = Backend(hf.Tokenizer.from_str(theirs.to_str()))
    ours.encode_special_tokens = theirs.encode_special_tokens = True
    assert ours.encode("<s>see").ids == theirs.encode("<s>see").ids
    ours.normalizer = theirs.normalizer = None
    with pytest.warns(AccelerationWarning, match="without special tokens, because bbpe differs"):
        assert ours.encode("<s>see").ids == theirs.encode("<s>see").ids


def test_pickles_of_equal_tokenizers_are_equal(pair: tuple[Any, Any]) -> None:
    """Whatever calls have set, and in whatever order ids were found to be decoded in another way."""
    ours, _ = pair
    other = pickle.loads(pickle.dumps(ours))
    expected = pickle.dumps(ours)
    other.encode_special_tokens = True
    assert pickle.dumps(other) == expected
    ids = [8, 1 << 20, 3, 1 << 10, 5, 77, 1 << 30]
    ours._odd = frozenset(ids), frozenset()
    other._odd = frozenset(sorted(ids)) | frozenset(ids[::-1]), frozenset()
    assert pickle.dumps(other) == pickle.dumps(ours)
    assert pickle.loads(pickle.dumps(ours)).__reduce__()[1][2] == (tuple(sorted(ids)), ())


def test_streams(pair: tuple[Any, Any]) -> None:
    _, theirs = pair
    for text in TEXTS:
        ids = theirs.encode(text).ids
        streams = DecodeStream(skip_special_tokens=True), decoders.DecodeStream(skip_special_tokens=True)
        found = ["".join(stream.step(tokenizer, token_id) or "" for token_id in ids)
                 for stream, tokenizer in zip(streams, pair, strict=True)]  # fmt: skip
        assert found[0] == found[1]
    stream = DecodeStream([ids[0]] if (ids := theirs.encode("see my").ids) else [])
    assert stream.step(theirs, ids[1:]) is not None  # a tokenizer of HF


def test_ids_that_are_decoded_in_another_way(pair: tuple[Any, Any]) -> None:
    """HF decodes an added token of a byte-level model as if it were in the byte alphabet."""
    ours, theirs = pair
    for tokenizer in pair:
        tokenizer.add_tokens(["\u00e9!"])
    ids = theirs.encode("see \u00e9! my").ids
    assert [ours.decode(ids, flag) for flag in (True, False)] == [theirs.decode(ids, flag) for flag in (True, False)]
    streams = DecodeStream(), decoders.DecodeStream()
    assert [streams[0].step(ours, each) for each in ids] == [streams[1].step(theirs, each) for each in ids]
    assert ours.ready() is not None


def test_what_is_refused() -> None:
    bytes_only = hf.Tokenizer.from_str(KINDS["bytes"]().to_str())
    bytes_only.model.dropout = 0.5
    with pytest.raises(AccelerationError, match="dropout"):
        Backend(bytes_only)
    lost = hf.Tokenizer(models.BPE(vocab={"a": 0, "b": 1}, merges=[]))
    lost.pre_tokenizer = pre_tokenizers.Whitespace()
    with pytest.raises(AccelerationError, match="offsets of"):
        Backend(lost)
    with pytest.raises(AccelerationError, match="no tokens"):
        Backend(hf.Tokenizer(models.BPE()))
    with pytest.raises(AttributeError):
        Backend(KINDS["wordpiece"]()).no_such_name  # noqa: B018


@pytest.mark.parametrize("kind", ["WordPiece", "WordLevel", "Unigram"])
def test_a_model_without_unknown_token_is_refused_by_name(kind: str) -> None:
    """HF raises its error only for a text that needs that token."""
    keys = {"s": 0, "m": 1}
    model = models.Unigram([(key, -1.0) for key in keys]) if kind == "Unigram" else getattr(models, kind)(keys)
    inner = hf.Tokenizer(model)
    inner.pre_tokenizer = pre_tokenizers.Whitespace()
    assert inner.encode("s m").ids == [0, 1]
    with pytest.raises(AccelerationError, match=r"tokenizers raises an error .*(unk_id|UNK)"):
        Backend(inner)


@pytest.mark.parametrize("options", [{}, {"pretty": True}, {"pretty": False}], ids=str)
def test_files_are_written_as_pretty_as_tokenizers_writes_them(
    pair: tuple[Any, Any], options: dict[str, bool], tmp_path: Path
) -> None:
    written = []
    for number, tokenizer in enumerate(pair):
        tokenizer.save(str(tmp_path / f"{number}.json"), **options)
        written.append((tokenizer.to_str(**options), (tmp_path / f"{number}.json").read_text("utf-8")))
    assert written[0] == written[1]
