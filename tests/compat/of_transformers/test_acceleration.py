"""Accelerated tokenizers of `transformers`, side by side with stock ones."""

from __future__ import annotations

import json
import logging
import pickle
import subprocess
import sys
import warnings
from collections.abc import Iterator
from copy import deepcopy
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import bbpe
from bbpe.compat.tokenizers import DecodeStream
from bbpe.compat.transformers.backend import Backend

hf = pytest.importorskip("tokenizers")
with warnings.catch_warnings():
    warnings.simplefilter("ignore")
    transformers = pytest.importorskip("transformers")
from small_hf import KINDS  # noqa: E402 - it imports tokenizers

TEXTS = ["see my dogs <s> first", "", "I have 12  dogs, naïve café 中文 x", "see"]
WORDS = [["see", "my", "dogs"], ["first"]]
OPTIONS: list[dict[str, Any]] = [
    {},
    {"padding": True},
    {"padding": "max_length", "max_length": 9},
    {"padding": "max_length", "max_length": 9, "truncation": True},
    {"padding": True, "truncation": True, "max_length": 9, "return_tensors": "np"},
    {"truncation": True, "max_length": 9, "stride": 1, "return_overflowing_tokens": True},
    {"truncation": "only_first", "max_length": 40},
    {"return_special_tokens_mask": True, "return_offsets_mapping": True},
    {"add_special_tokens": False, "return_attention_mask": False},
    {"return_token_type_ids": True},
    {"return_token_type_ids": True, "padding": True, "return_tensors": "np"},
    {"padding": True, "pad_to_multiple_of": 8, "padding_side": "left"},
    {"return_length": True},
]
_DOCUMENTS: dict[str, str] = {}


def stock(kind: str) -> Any:
    if kind not in _DOCUMENTS:
        _DOCUMENTS[kind] = KINDS[kind]().to_str()
    inner = hf.Tokenizer.from_str(_DOCUMENTS[kind])
    options = {"model_input_names": ["input_ids", "token_type_ids", "attention_mask"]} if kind == "wordpiece" else {}
    return transformers.PreTrainedTokenizerFast(
        tokenizer_object=inner, pad_token="<s>", unk_token="[UNK]", clean_up_tokenization_spaces=False, **options
    )


def pair_of(kind: str) -> tuple[Any, Any]:
    """An accelerated tokenizer and a stock one."""
    return bbpe.accelerate(stock(kind)), stock(kind)


#: For calls that leave nothing behind.
kept_pair = cache(pair_of)


@pytest.fixture(params=KINDS)
def pair(request: pytest.FixtureRequest) -> tuple[Any, Any]:
    return pair_of(request.param)


@pytest.fixture
def patched() -> Iterator[None]:
    bbpe.patch_transformers()
    yield
    bbpe.unpatch_transformers()


def assert_equal(ours: Any, theirs: Any) -> None:
    assert list(ours) == list(theirs)
    for name in theirs:
        one, other = ours[name], theirs[name]
        assert type(one) is type(other)
        assert np.array_equal(one, other) if isinstance(other, np.ndarray) else one == other, name
    assert ours.n_sequences == theirs.n_sequences
    assert [row.tokens for row in ours.encodings] == [row.tokens for row in theirs.encodings]
    assert [row.attention_mask for row in ours.encodings] == [row.attention_mask for row in theirs.encodings]
    assert ours.word_ids() == theirs.word_ids()


@pytest.mark.parametrize("options", OPTIONS, ids=str)
@pytest.mark.parametrize("kind", KINDS)
def test_calls(kind: str, options: dict[str, Any]) -> None:
    pair = kept_pair(kind)
    for arguments in ((TEXTS,), (TEXTS, TEXTS[::-1]), (TEXTS[0],), (TEXTS[0], TEXTS[2]), (tuple(TEXTS[2:]),)):
        try:
            expected = pair[1](*arguments, **options)
        except Exception as error:
            with pytest.raises((type(error), ValueError)):
                pair[0](*arguments, **options)
        else:
            assert_equal(pair[0](*arguments, **options), expected)
    ours, theirs = (tokenizer._tokenizer for tokenizer in pair)
    assert (ours.truncation, ours.padding) == (theirs.truncation, theirs.padding)


def test_encode_and_decode(pair: tuple[Any, Any]) -> None:
    ours, theirs = pair
    for text in TEXTS:
        for adds in (True, False):
            ids = theirs.encode(text, add_special_tokens=adds)
            assert ours.encode(text, add_special_tokens=adds) == ids
            for skips in (True, False):
                assert ours.decode(ids, skip_special_tokens=skips) == theirs.decode(ids, skip_special_tokens=skips)
                assert ours.decode(np.array(ids, int), skips) == theirs.decode(np.array(ids, int), skips)
        assert ours.encode(text, "my") == theirs.encode(text, "my")
        assert ours.tokenize(text) == theirs.tokenize(text)
    rows = theirs(TEXTS)["input_ids"]
    assert ours.batch_decode(rows) == theirs.batch_decode(rows)
    assert ours.batch_decode([]) == theirs.batch_decode([])
    assert ours.decode(7) == theirs.decode(7)
    assert ours.encode(TEXTS[0], None, True, "max_length", True, 30) == theirs.encode(
        TEXTS[0], None, True, "max_length", True, 30
    )
    assert ours.convert_ids_to_tokens(rows[0]) == theirs.convert_ids_to_tokens(rows[0])
    assert ours(WORDS, is_split_into_words=True).data == theirs(WORDS, is_split_into_words=True).data
    tokens = theirs.tokenize(TEXTS[0])
    assert ours.convert_tokens_to_string(tokens) == theirs.convert_tokens_to_string(tokens)
    assert (len(ours), ours.vocab_size) == (len(theirs), theirs.vocab_size)
    assert ours.get_added_vocab() == theirs.get_added_vocab()


def test_the_object_stays_what_it_is(pair: tuple[Any, Any], tmp_path: Path) -> None:
    ours, theirs = pair
    assert isinstance(ours, type(theirs))
    assert type(ours).__name__ == type(theirs).__name__
    assert bbpe.accelerate(ours) is ours
    assert ours.is_fast
    ours.chat_template = theirs.chat_template = "{% for m in messages %}{{ m.content }}<s>{% endfor %}"
    chat = [{"role": "user", "content": "see my dogs"}]
    assert ours.apply_chat_template(chat, tokenize=False) == theirs.apply_chat_template(chat, tokenize=False)
    rows = [tokenizer.apply_chat_template(chat, return_dict=True) for tokenizer in pair]
    assert rows[0].data == rows[1].data
    for name, tokenizer in zip(("ours", "theirs"), pair, strict=True):
        tokenizer.save_pretrained(tmp_path / name)
    for name in ("tokenizer.json", "tokenizer_config.json"):
        one, other = (json.loads((tmp_path / folder / name).read_text("utf-8")) for folder in ("ours", "theirs"))
        assert one == other


def test_tokens_that_are_added_are_followed(pair: tuple[Any, Any]) -> None:
    ours, theirs = pair
    copied, again = deepcopy(ours), pickle.loads(pickle.dumps(ours))
    for tokenizer in pair:
        tokenizer.add_tokens(["<x>", hf.AddedToken("<y>", lstrip=True)])
        tokenizer.add_special_tokens({"additional_special_tokens": ["<z>"]})
    text = "see <x> my  <y>dogs<z>"
    assert_equal(ours(text), theirs(text))
    assert ours.decode(ours.encode(text), skip_special_tokens=True) == theirs.decode(
        theirs.encode(text), skip_special_tokens=True
    )
    for other in (copied, again):
        assert type(other._tokenizer) is Backend
        assert_equal(other(TEXTS), stock_of(other)(TEXTS))
        assert "<x>" not in other.get_vocab()
    assert_equal(pickle.loads(pickle.dumps(ours))(text), theirs(text))


def stock_of(tokenizer: Any) -> Any:
    inner = hf.Tokenizer.from_str(tokenizer._tokenizer.to_str())
    names = {"model_input_names": tokenizer.model_input_names, "pad_token": "<s>", "unk_token": "[UNK]"}
    return transformers.PreTrainedTokenizerFast(tokenizer_object=inner, **names)


def test_a_long_text_warns_once(pair: tuple[Any, Any], caplog: pytest.LogCaptureFixture) -> None:
    messages, logger = [], logging.getLogger("transformers")
    level, logger.propagate = logger.level, True
    logger.setLevel(logging.WARNING)
    for tokenizer in pair:
        tokenizer.model_max_length = 3
        caplog.clear()
        tokenizer(TEXTS[2:])
        tokenizer.encode(TEXTS[2])
        messages.append([record.getMessage() for record in caplog.records])
    logger.setLevel(level)
    logger.propagate = False
    assert messages[0] == messages[1] != []


def test_one_id_too_many_is_warned_of(
    pair: tuple[Any, Any], caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    logger = logging.getLogger("transformers")
    monkeypatch.setattr(logger, "propagate", True)
    caplog.set_level(logging.WARNING, "transformers")
    size = len(pair[1].encode(TEXTS[0]))
    for tokenizer in pair:
        tokenizer.verbose = True
        for most, expected in ((size + 1, False), (size, False), (size - 1, True)):
            tokenizer.model_max_length = most
            for call in (tokenizer.encode, tokenizer):
                tokenizer.deprecation_warnings.clear()  # it warns once
                caplog.clear()
                call(TEXTS[0])
                assert any("longer than the specified" in line for line in caplog.messages) is expected, (most, call)


@pytest.mark.parametrize("side", ["left", "right"])
def test_the_type_of_padding(pair: tuple[Any, Any], side: str) -> None:
    for tokenizer in pair:
        tokenizer._pad_token_type_id = 3
    options: dict[str, Any] = {"padding": True, "return_token_type_ids": True, "padding_side": side}
    for more in ({}, {"return_tensors": "np"}, {"padding": "max_length", "max_length": 12, "truncation": True}):
        ours, theirs = (tokenizer(TEXTS, **options | more) for tokenizer in pair)
        assert_equal(ours, theirs)
        assert 3 in np.array(ours["token_type_ids"])


def test_a_class_with_its_own_methods_keeps_them() -> None:
    class Own(transformers.PreTrainedTokenizerFast):
        def decode(self, token_ids: Any, *arguments: Any, **options: Any) -> Any:
            return "own " + super().decode(token_ids, *arguments, **options)

    tokenizer = Own(tokenizer_object=KINDS["bytes"]())
    expected = tokenizer.decode(tokenizer.encode("see"))
    assert expected.startswith("own ")
    assert bbpe.accelerate(tokenizer).decode(tokenizer.encode("see")) == expected
    trained = tokenizer.train_new_from_iterator(["see my"] * 9, 262)
    assert trained.encode("see")


def test_what_is_refused_is_unchanged() -> None:
    inner = KINDS["bytes"]()
    inner.model.dropout = 0.1
    tokenizer = transformers.PreTrainedTokenizerFast(tokenizer_object=inner)
    kind, own = type(tokenizer), tokenizer._tokenizer
    with pytest.raises(bbpe.AccelerationError, match="dropout"):
        bbpe.accelerate(tokenizer)
    assert (type(tokenizer), tokenizer._tokenizer) == (kind, own)
    with pytest.raises(TypeError, match="PreTrainedTokenizerFast"):
        bbpe.accelerate(inner)
    for other in (None, object()):
        vars(tokenizer)["_tokenizer"] = other
        with pytest.raises(bbpe.AccelerationError, match=f"its _tokenizer is a {type(other).__name__}; expected a tok"):
            bbpe.accelerate(tokenizer)
        assert (type(tokenizer), vars(tokenizer)["_tokenizer"]) == (kind, other)


def test_patch(pair: tuple[Any, Any], patched: None, tmp_path: Path) -> None:
    pair[1].save_pretrained(tmp_path)
    bbpe.patch_transformers()
    made = transformers.PreTrainedTokenizerFast(tokenizer_file=str(tmp_path / "tokenizer.json"))
    loaded = [transformers.AutoTokenizer.from_pretrained(tmp_path), type(pair[1]).from_pretrained(tmp_path), made]
    for tokenizer in loaded:
        assert type(tokenizer._tokenizer) is Backend
        assert tokenizer(TEXTS)["input_ids"] == pair[1](TEXTS)["input_ids"]
    from tokenizers import decoders

    assert decoders.DecodeStream is DecodeStream
    bbpe.unpatch_transformers()
    bbpe.unpatch_transformers()
    assert decoders.DecodeStream is not DecodeStream
    assert type(transformers.AutoTokenizer.from_pretrained(tmp_path)._tokenizer) is hf.Tokenizer
    assert type(stock("bytes")._tokenizer) is hf.Tokenizer


def test_strictly_patched_loading_is_an_error(patched: None, tmp_path: Path) -> None:
    inner = KINDS["bytes"]()
    inner.model.dropout = 0.1
    inner.save(str(tmp_path / "tokenizer.json"))
    bbpe.patch_transformers(strict=True)
    for make in (
        lambda: transformers.PreTrainedTokenizerFast(tokenizer_object=inner),
        lambda: transformers.PreTrainedTokenizerFast.from_pretrained(tmp_path),
    ):
        with pytest.raises(bbpe.AccelerationError, match=r" cannot be accelerated: model\.dropout is 0\.1"):
            make()
    bbpe.patch_transformers()
    with pytest.warns(bbpe.AccelerationWarning):
        transformers.PreTrainedTokenizerFast(tokenizer_object=inner)


def test_patched_loading_warns_about_what_it_cannot_accelerate(patched: None) -> None:
    inner = KINDS["bytes"]()
    inner.model.dropout = 0.1
    with pytest.warns(bbpe.AccelerationWarning, match=r"PreTrainedTokenizerFast|TokenizersBackend.*dropout"):
        made = transformers.PreTrainedTokenizerFast(tokenizer_object=inner)
    assert type(made._tokenizer) is hf.Tokenizer


def test_importing_bbpe_does_not_import_transformers() -> None:
    code = "import bbpe, sys; bbpe.accelerate, bbpe.patch_transformers; assert 'transformers' not in sys.modules"
    subprocess.run([sys.executable, "-c", code], check=True)


def test_a_path_or_name(pair: tuple[Any, Any], tmp_path: Path) -> None:
    pair[1].save_pretrained(tmp_path)
    for path in (tmp_path, str(tmp_path)):
        tokenizer = bbpe.accelerate(path)
        assert bbpe.is_accelerated(tokenizer)
        assert tokenizer(TEXTS)["input_ids"] == pair[1](TEXTS)["input_ids"]
    with pytest.raises(OSError, match="no such folder"):
        bbpe.accelerate(tmp_path / "no such folder")


def test_what_is_no_tokenizer_of_transformers_is_named() -> None:
    ours = bbpe.train_from_iterator(["a b"], 256)
    wrong = (ours, "as_huggingface"), (KINDS["bytes"](), "tokenizer_object"), (None, "NoneType;"), (3, "int;")
    for given, named in wrong:
        with pytest.raises(TypeError, match=f"tokenizer is .*{named}.*expected a PreTrainedTokenizerFast or a path"):
            bbpe.accelerate(given)
        assert not bbpe.is_accelerated(given)


def test_is_accelerated_until_a_change_ends_it(pair: tuple[Any, Any]) -> None:
    ours, theirs = pair
    assert (bbpe.is_accelerated(ours), bbpe.is_accelerated(theirs)) == (True, False)
    assert bbpe.is_accelerated(pickle.loads(pickle.dumps(ours)))
    # a call leaves its options with the tokenizer of `tokenizers`
    for is_plain in (False, True):
        ours.split_special_tokens = theirs.split_special_tokens = is_plain
        assert ours.encode("see <s>") == theirs.encode("see <s>")
        assert ours._tokenizer.encode_special_tokens == theirs._tokenizer.encode_special_tokens == is_plain
    assert bbpe.is_accelerated(ours)
    if hasattr(ours._tokenizer.model, "dropout"):
        ours._tokenizer.model.dropout = 0.1
        with pytest.warns(bbpe.AccelerationWarning, match="dropout"):
            assert not bbpe.is_accelerated(ours)


def test_other_offsets_are_taken_only_if_they_are_accepted() -> None:
    """`tokenizers` counts wrong after a character that it leaves out."""
    vocab = {char: number for number, char in enumerate("ĠdegmosyeH")}
    inner = hf.Tokenizer(hf.models.BPE(vocab, []))
    inner.pre_tokenizer = hf.pre_tokenizers.ByteLevel(add_prefix_space=False)
    inner.decoder = hf.decoders.ByteLevel()
    plain, ours = (transformers.PreTrainedTokenizerFast(tokenizer_object=inner) for _ in range(2))
    with pytest.raises(bbpe.AccelerationError, match="accept_other_offsets=True"):
        bbpe.accelerate(ours)
    assert not bbpe.is_accelerated(ours)
    assert bbpe.accelerate(ours, accept_other_offsets=True) is ours
    text = "see my 12 dogs, naïve"
    copies = [ours, deepcopy(ours), pickle.loads(pickle.dumps(ours))]
    for each in copies:
        assert each(text)["input_ids"] == plain(text)["input_ids"]
        each.add_tokens(["<x>"])  # which is proven in the same way
        assert bbpe.is_accelerated(each)
    spans = ours(text, return_offsets_mapping=True)["offset_mapping"]
    assert "".join(text[start:end] for start, end in spans) == "see my  dogs e"


def test_lines_of_the_log(caplog: pytest.LogCaptureFixture) -> None:
    inner = KINDS["bytes"]()
    inner.model.dropout = 0.1
    caplog.set_level(logging.INFO, "bbpe")
    bbpe.patch_transformers()
    try:
        bbpe.patch_transformers()
        with pytest.warns(bbpe.AccelerationWarning):
            transformers.PreTrainedTokenizerFast(tokenizer_object=inner)
        stock("bytes")
    finally:
        bbpe.unpatch_transformers()
    lines = [(record.levelname, record.getMessage()) for record in caplog.records if record.name == "bbpe"]
    assert [level for level, _ in lines] == ["INFO", "INFO"]
    assert lines[0][1].startswith(f"patched transformers {transformers.__version__}")
    assert "alone" in lines[1][1]
    assert "dropout" in lines[1][1]


@pytest.mark.parametrize("has_own", [False, True])
def test_the_class_is_named_and_described_as_before(has_own: bool) -> None:
    class Own(transformers.PreTrainedTokenizerFast):
        """A class of one's own."""

    kind = Own if has_own else transformers.PreTrainedTokenizerFast
    inner = hf.Tokenizer.from_str(stock("bytes")._tokenizer.to_str())
    made = type(bbpe.accelerate(kind(tokenizer_object=inner)))
    assert issubclass(made, kind)
    for name in ("__name__", "__qualname__", "__module__", "__doc__"):
        assert getattr(made, name) == getattr(kind, name), name
