"""The view as `tokenizers.Tokenizer`, side by side with it."""

from __future__ import annotations

import asyncio
import json
import pickle
import random
from collections.abc import Callable
from copy import copy, deepcopy
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import bbpe
from bbpe.compat.tokenizers import AddedToken, DecodeStream, Encoding, Tokenizer
from bbpe.encoding.plan import uncompiled

hf = pytest.importorskip("tokenizers")
import vocabularies  # noqa: E402 - without tokenizers nothing here runs
from small_hf import KINDS  # noqa: E402 - it imports tokenizers
from tokenizers import decoders  # noqa: E402

_rng = random.Random(5)
_POOL = [*"aesmy dogs  12,é中文x\n", "see", "my", " dogs", "<s>", "[SEP]", "😀", "DOGS", "e\u0301"]
_SOUPS = ["".join(_rng.choices(_POOL, k=_rng.randint(1, 14))) for _ in range(25)]
TEXTS = ["", " ", "see my dogs", " a  b<s>c ", *_SOUPS]
LISTS = (
    "ids", "tokens", "type_ids", "offsets", "word_ids", "attention_mask", "special_tokens_mask", "sequence_ids",
    "n_sequences",
)  # fmt: skip


@pytest.fixture(scope="module", params=KINDS)
def document(request: pytest.FixtureRequest) -> str:
    return str(KINDS[request.param]().to_str())


@pytest.fixture
def pair(document: str) -> tuple[Any, Any]:
    """The view and the tokenizer of HF, both of the same file."""
    return Tokenizer.from_str(document), hf.Tokenizer.from_str(document)


def assert_equal(ours: Any, theirs: Any, lists: Any = LISTS) -> None:
    for name in lists:
        assert getattr(ours, name) == getattr(theirs, name), name
    assert len(ours) == len(theirs)


def assert_rows(ours: Any, theirs: Any) -> None:
    """Overflowing rows too; HF's have types and sequences that do not depend on the template."""
    assert_equal(ours, theirs)
    assert len(ours.overflowing) == len(theirs.overflowing)
    for one, other in zip(ours.overflowing, theirs.overflowing, strict=True):
        assert_equal(one, other, LISTS[:2] + LISTS[3:7])


OPTIONS: list[tuple[dict[str, Any] | None, dict[str, Any] | None]] = [
    (None, None),
    ({"max_length": 9, "stride": 1}, None),
    ({"max_length": 11, "stride": 2, "direction": "left"}, {"length": 16}),
    ({"max_length": 14, "strategy": "only_first"}, {"direction": "left", "pad_id": 1, "pad_type_id": 2,
                                                    "pad_to_multiple_of": 8}),
    (None, {}),
]  # fmt: skip


@pytest.mark.parametrize(("truncation", "padding"), OPTIONS)
def test_encodings(pair: tuple[Any, Any], truncation: Any, padding: Any) -> None:
    for tokenizer in pair:
        if truncation is not None:
            tokenizer.enable_truncation(**truncation)
        if padding is not None:
            tokenizer.enable_padding(**padding)
    ours, theirs = pair
    assert (ours.truncation, ours.padding) == (theirs.truncation, theirs.padding)
    short = [text[:4] for text in TEXTS[::-1]]
    for text, other in zip(TEXTS, short, strict=True):
        for adds in (True, False):
            assert_rows(ours.encode(text, add_special_tokens=adds), theirs.encode(text, add_special_tokens=adds))
            try:
                expected = theirs.encode(text, other, add_special_tokens=adds)
            except Exception:
                with pytest.raises(ValueError, match="Truncation error"):
                    ours.encode(text, other, add_special_tokens=adds)
            else:
                assert_rows(ours.encode(text, other, add_special_tokens=adds), expected)
    for one, other in zip(ours.encode_batch(TEXTS), theirs.encode_batch(TEXTS), strict=True):
        assert_rows(one, other)
    words = [text.split() for text in TEXTS if text.split()]
    options = {"is_pretokenized": True}
    for one, other in zip(ours.encode_batch(words, **options), theirs.encode_batch(words, **options), strict=True):
        assert_rows(one, other)


def test_pairs_in_a_batch(pair: tuple[Any, Any]) -> None:
    ours, theirs = pair
    batch = [("see my", "dogs"), ["see", "my dogs"], "see"]
    for one, other in zip(ours.encode_batch(batch), theirs.encode_batch(batch), strict=True):
        assert_rows(one, other)
    words = [(["see", "my"], ["dogs"]), ["see"]]
    for one, other in zip(ours.encode_batch(words, True), theirs.encode_batch(words, True), strict=True):
        assert_rows(one, other)
    array = np.array(["see my", "dogs"])
    assert [row.ids for row in ours.encode_batch(array)] == [row.ids for row in theirs.encode_batch(array)]


def test_places(pair: tuple[Any, Any]) -> None:
    ours, theirs = (tokenizer.encode("see my dogs", "my 12") for tokenizer in pair)
    for name in ("token_to_chars", "token_to_sequence", "token_to_word"):
        for index in range(len(ours) + 2):
            assert getattr(ours, name)(index) == getattr(theirs, name)(index), (name, index)
    for name in ("char_to_token", "char_to_word", "word_to_tokens", "word_to_chars"):
        for index in range(12):
            for sequence in (0, 1):
                assert getattr(ours, name)(index, sequence) == getattr(theirs, name)(index, sequence), (name, index)
    with pytest.warns(DeprecationWarning, match="word_ids"):
        assert ours.words == ours.word_ids


def test_changes(pair: tuple[Any, Any]) -> None:
    ours, theirs = (tokenizer.encode("see my dogs first") for tokenizer in pair)
    for encoding in (ours, theirs):
        encoding.truncate(3, 1, "right")
        encoding.pad(6, direction="left", pad_id=7, pad_token="*")
    assert_equal(ours, theirs)
    assert [row.ids for row in ours.overflowing] == [row.ids for row in theirs.overflowing]
    merged = [type(one).merge([one, one], growing_offsets=True) for one in (ours, theirs)]
    assert_equal(*merged, LISTS[:2] + LISTS[3:7])
    assert len(merged[0].overflowing) == len(merged[1].overflowing)
    made = Encoding(ours.ids[:0])
    made.set_sequence_id(1)
    assert (made.sequence_ids, made.n_sequences) == ([], 1)
    for wrong in ({"max_length": 2, "direction": "up"}, {"max_length": 2, "stride": 2}):
        with pytest.raises(ValueError, match=r"direction|stride"):
            ours.truncate(**wrong)


def test_pickles(pair: tuple[Any, Any]) -> None:
    ours, _ = pair
    encoding = ours.encode("see my dogs", "my")
    again = pickle.loads(pickle.dumps(encoding))
    assert_equal(again, encoding)
    assert len(pickle.dumps(encoding)) < 2000
    assert_equal(pickle.loads(pickle.dumps(ours)).encode("see my dogs", "my"), encoding)
    assert repr(encoding).startswith("Encoding(num_tokens=")


def test_post_process(pair: tuple[Any, Any]) -> None:
    rows = []
    for tokenizer in pair:
        first, second = (tokenizer.encode(text, add_special_tokens=False) for text in ("see my dogs", "my"))
        rows.append((tokenizer.post_process(first), tokenizer.post_process(first, second)))
        assert [tokenizer.num_special_tokens_to_add(flag) for flag in (False, True)] == [
            len(row) - len(tokenizer.post_process(*texts, add_special_tokens=False))
            for row, texts in zip(rows[-1], ((first,), (first, second)), strict=True)
        ]
    for ours, theirs in zip(*rows, strict=True):  # HF trims offsets again, and keeps the sequences of before
        assert_equal(ours, theirs, LISTS[:3] + LISTS[4:7])


def test_added_tokens(pair: tuple[Any, Any]) -> None:
    rows = [
        ("<x>", {}), ("<y>", {"lstrip": True, "rstrip": True}), ("dogs", {"single_word": True}),
        ("DOGGY", {"normalized": True}), ("e!", {"normalized": False}), ("", {}), ("<x>", {}),
    ]  # fmt: skip
    ours, theirs = pair
    assert ours.add_tokens([AddedToken(text, **flags) for text, flags in rows]) == theirs.add_tokens(
        [hf.AddedToken(text, **flags) for text, flags in rows]
    )
    for tokenizer in pair:
        assert tokenizer.add_special_tokens(["<z>", "<s>"]) == 1
        assert tokenizer.add_tokens(["plain"]) == 1
    text = "a <x>  <y>  mydogs dogs DOGGY doggy e! <z> <s>plainly"
    assert_equal(ours.encode(text), theirs.encode(text))
    ids = ours.encode(text).ids
    for skips in (True, False):
        assert ours.decode(ids, skips) == theirs.decode(ids, skips)
    assert ours.get_vocab() == theirs.get_vocab()
    assert ours.get_vocab_size() == theirs.get_vocab_size()
    found = {number: str(token) for number, token in ours.get_added_tokens_decoder().items()}
    assert found == {number: token.content for number, token in theirs.get_added_tokens_decoder().items()}
    for tokenizer in pair:
        tokenizer.encode_special_tokens = True
    if "UnigramModel" not in repr(ours):  # in HF's, special tokens are ordinary tokens, too
        assert_equal(ours.encode(text), theirs.encode(text))
    with pytest.raises(TypeError, match="a token is a str"):
        ours.add_tokens([1])


def test_vocabulary_and_text(pair: tuple[Any, Any]) -> None:
    ours, theirs = pair
    assert ours.get_vocab() == theirs.get_vocab()
    for key, token_id in theirs.get_vocab().items():
        assert (ours.token_to_id(key), ours.id_to_token(token_id)) == (token_id, key)
    assert (ours.token_to_id("no such token"), ours.id_to_token(99999)) == (None, None)
    rows = [theirs.encode(text).ids for text in TEXTS] + [[99999, 5], []]
    for skips in (True, False):
        assert ours.decode_batch(rows, skips) == theirs.decode_batch(rows, skips)
    assert asyncio.run(ours.async_decode_batch(rows)) == theirs.decode_batch(rows)
    assert asyncio.run(ours.async_encode("see", "my")).ids == theirs.encode("see", "my").ids
    assert asyncio.run(ours.async_encode_batch(["see"]))[0].ids == theirs.encode("see").ids


def test_streams(pair: tuple[Any, Any]) -> None:
    ours, theirs = pair
    for text in TEXTS:
        ids = theirs.encode(text, add_special_tokens=False).ids
        for prompt in (0, 2):  # HF repeats the prompt if its last character is incomplete
            if theirs.decode(ids[:prompt]).endswith("\ufffd"):
                continue
            streams = DecodeStream(ids[:prompt]), decoders.DecodeStream(ids[:prompt])
            texts = ["".join(stream.step(each, token_id) or "" for token_id in ids[prompt:])
                     for stream, each in zip(streams, pair, strict=True)]  # fmt: skip
            assert texts[0] == texts[1]
    stream = DecodeStream(skip_special_tokens=True)
    assert stream.step(ours, theirs.encode("see", add_special_tokens=False).ids) == "see"
    assert copy(stream).step(ours, 3) is None


@pytest.mark.parametrize("skips", [True, False])
@pytest.mark.parametrize("prompt", [0, 3])
def test_streams_leave_out_ids_without_a_token(pair: tuple[Any, Any], prompt: int, skips: bool) -> None:
    """In the prompt, alone, and in a list of ids."""
    ours, theirs = pair
    unknown = theirs.get_vocab_size() + 5
    ids = [each for token_id in theirs.encode("see my dogs").ids for each in (unknown, token_id)]
    streams = DecodeStream(ids[:prompt], skips), decoders.DecodeStream(ids[:prompt], skips)
    texts = [[stream.step(each, token_id) for token_id in ids[prompt:]]
             for stream, each in zip(streams, pair, strict=True)]  # fmt: skip
    assert texts[0] == texts[1]
    assert DecodeStream(ids[:prompt], skips).step(ours, ids[prompt:]) == "".join(filter(None, texts[1]))


def test_files(pair: tuple[Any, Any], tmp_path: Path) -> None:
    ours, theirs = pair
    ours.enable_truncation(9, stride=1)
    ours.enable_padding(length=12, pad_id=3, pad_token="<s>")
    ours.add_tokens(["<x>"])
    ours.save(tmp_path / "t.json")
    for text in (ours.to_str(), (tmp_path / "t.json").read_text("utf-8")):
        again = hf.Tokenizer.from_str(text)
        assert_rows(ours.encode("see my dogs<x>"), again.encode("see my dogs<x>"))
        assert (ours.truncation, ours.padding) == (again.truncation, again.padding)
    assert Tokenizer.from_file(tmp_path / "t.json").truncation == ours.truncation
    assert Tokenizer.from_buffer(ours.to_str().encode()).get_vocab() == ours.get_vocab()
    ours.no_truncation()
    ours.no_padding()
    assert (ours.truncation, ours.padding) == (None, None)
    for name in ("normalizer", "pre_tokenizer", "model", "decoder", "post_processor"):
        part, own = getattr(theirs, name), getattr(ours, name)
        assert (part is None) == (own is None), name
        if own is not None:
            assert own.type in (type(part).__name__, "TemplateProcessing", "Sequence"), name
            assert json.loads(own.__getstate__())["type"] == own.type
    tokens = theirs.encode("see my dogs", add_special_tokens=False).tokens
    assert ours.decoder.decode(tokens) == theirs.decoder.decode(tokens)
    assert [ours.model.id_to_token(ours.model.token_to_id(token)) for token in tokens] == tokens
    assert ours.post_processor.num_special_tokens_to_add(True) == theirs.num_special_tokens_to_add(True)
    if ours.normalizer is not None:
        assert ours.normalizer.normalize_str("ＡB é") == theirs.normalizer.normalize_str("ＡB é")


@pytest.mark.parametrize("copied", [copy, deepcopy, lambda part: pickle.loads(pickle.dumps(part))])
def test_copies_of_components_do_as_they_do(pair: tuple[Any, Any], copied: Callable[[Any], Any]) -> None:
    ours, theirs = pair
    for name in ("normalizer", "pre_tokenizer", "model", "decoder", "post_processor"):
        part = getattr(ours, name)
        again = copied(part)
        assert type(again) is type(part)
        assert part is None or (again.type, again.__getstate__()) == (part.type, part.__getstate__())
    tokens = theirs.encode("see my dogs", add_special_tokens=False).tokens
    assert copied(ours.decoder).decode(tokens) == theirs.decoder.decode(tokens)
    model = copied(ours.model)
    assert [model.id_to_token(model.token_to_id(token)) for token in tokens] == tokens
    assert copied(ours.post_processor).num_special_tokens_to_add(True) == theirs.num_special_tokens_to_add(True)
    if ours.normalizer is not None:
        assert copied(ours.normalizer).normalize_str("ＡB é") == theirs.normalizer.normalize_str("ＡB é")


def test_errors(pair: tuple[Any, Any]) -> None:
    ours, _ = pair
    for call in (
        lambda: ours.encode(b"see"), lambda: ours.encode("see", is_pretokenized=True), lambda: ours.encode_batch("see"),
        lambda: ours.encode_batch([1]), lambda: ours.encode_batch([("a", "b", "c")]), lambda: ours.encode(["see"]),
    ):  # fmt: skip
        with pytest.raises(TypeError):
            call()
    with pytest.raises(bbpe.TokenIdError, match="-1"):  # an OverflowError of HF
        ours.decode([5, -1])
    with pytest.raises(ValueError, match="stride is 9"):
        ours.enable_truncation(9, stride=9)
    with pytest.raises(ValueError, match="strategy"):
        ours.enable_truncation(9, strategy="some")
    with pytest.raises(ValueError, match="direction"):
        ours.enable_padding("up")
    with pytest.raises(ValueError, match="revision"):
        Tokenizer.from_pretrained("org/name", revision="other")


def test_invalid_bytes_are_marked_one_by_one() -> None:
    """Of a model with byte tokens, as HF does: each byte of a run that is not UTF-8 is one U+FFFD."""
    trained = bbpe.train_from_iterator(["see my"], 300, model="unigram").as_tokenizers()
    theirs = hf.Tokenizer.from_str(trained.to_str())
    key = [trained.token_to_id(f"<0x{byte:02X}>") for byte in "中".encode()]
    for ids in (key, key[:2], [*key, key[0]], [key[1], *key], [*key[:2], trained.token_to_id("s"), *key]):
        assert trained.decode(ids) == theirs.decode(ids)


def test_a_vocabulary_without_tokens() -> None:
    empty = Tokenizer.from_str(hf.Tokenizer(hf.models.BPE()).to_str())
    assert (empty.get_vocab_size(), empty.get_vocab_size(False), empty.get_vocab(False)) == (0, 0, {})
    assert (empty.encode("see").ids, empty.get_vocab(), empty.decode([])) == ([], {}, "")
    assert empty.add_tokens(["see"]) == 1
    assert empty.encode("see my see").tokens == ["see", "see"]
    assert (empty.get_vocab_size(), empty.get_vocab_size(False), empty.get_vocab(False)) == (1, 0, {})


def test_offsets_by_a_rule_that_needs_python(tmp_path: Path) -> None:
    """Camel case: a lookahead of two characters has no compiled form."""
    camel = r"(?<=[a-z])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])"
    parts = vocabularies.sequence(vocabularies.split(camel), vocabularies.byte_level())
    path = vocabularies.write_json(tmp_path / "tokenizer.json", vocabularies.document(pre_tokenizer=parts))
    theirs, view = hf.Tokenizer.from_file(str(path)), bbpe.load(path).as_tokenizers()
    for text in ("camelCase HTMLParser", "the é THe", ""):
        found, expected = view.encode(text), theirs.encode(text)
        assert (found.ids, found.tokens, found.offsets) == (expected.ids, expected.tokens, expected.offsets)


def test_places_in_bytes_that_are_no_utf8(tmp_path: Path) -> None:
    """By a rule that needs Python, too: each token is the bytes between its places."""
    camel = r"(?<=[a-z])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z](?!(~)\1))"
    parts = vocabularies.sequence(vocabularies.split(camel), vocabularies.byte_level())
    given = vocabularies.document(pre_tokenizer=parts, normalizer={"type": "Lowercase"})
    slow = bbpe.load(vocabularies.write_json(tmp_path / "slow.json", given))
    quick = bbpe.load(vocabularies.write_json(tmp_path / "quick.json", vocabularies.document()))
    assert uncompiled(slow.spec) is not None
    for data in (b"caf\xe9 the", b"\xff\xffthe", b"the \xe4\xb8 in", b"\xed\xb2\x80x"):
        for tok in (slow, quick):
            ids, spans = tok.encode_with_offsets(data, "byte")
            assert [data[start:end] for start, end in spans.tolist()] == [tok.id_to_token(each) for each in ids]
            assert ids == tok.encode(data)
