"""`AddedToken` of the view, and errors that have the words of `tokenizers`."""

from __future__ import annotations

import copy
import itertools
import pickle
from typing import Any
from unittest.mock import ANY

import pytest

import bbpe
from bbpe.compat.tokenizers import AddedToken, Tokenizer

hf = pytest.importorskip("tokenizers")

FIELDS = ("content", "single_word", "lstrip", "rstrip", "normalized", "special")
FLAGS = [
    dict(zip(("lstrip", "normalized", "special"), flags, strict=True))
    for flags in itertools.product((False, True), (None, False, True), (False, True))
]


def fields(token: Any) -> list[Any]:
    return [getattr(token, name) for name in FIELDS]


def given(made: Any, flags: dict[str, Any]) -> Any:
    return made("see", **{name: value for name, value in flags.items() if value is not None})


@pytest.mark.parametrize("flags", FLAGS)
def test_fields(flags: dict[str, Any]) -> None:
    ours, theirs = given(AddedToken, flags), given(hf.AddedToken, flags)
    assert fields(ours) == fields(theirs)
    assert (repr(ours), str(ours)) == (repr(theirs), str(theirs))
    for change in (True, False):
        ours.special = theirs.special = change
        assert fields(ours) == fields(theirs)
    assert pickle.loads(pickle.dumps(ours)) == copy.copy(ours) == copy.deepcopy(ours) == ours


def test_equality() -> None:
    for one, other in itertools.product(FLAGS, repeat=2):
        assert (given(AddedToken, one) == given(AddedToken, other)) == (
            given(hf.AddedToken, one) == given(hf.AddedToken, other)
        ), (one, other)
    assert len({AddedToken("a"), AddedToken("a"), AddedToken("b")}) == 2
    assert AddedToken("a") != "a"
    assert AddedToken("a") == ANY  # which decides itself
    assert (AddedToken("a") == 3) is False


@pytest.mark.parametrize("flags", FLAGS)
@pytest.mark.parametrize("name", ["add_tokens", "add_special_tokens"])
def test_adding_changes_the_object_as_in_tokenizers(name: str, flags: dict[str, Any]) -> None:
    document = bbpe.train_from_iterator(["low lower"], 258).as_tokenizers().to_str()
    view, theirs = Tokenizer.from_str(document), hf.Tokenizer.from_str(document)
    one, other, mixed = given(AddedToken, flags), given(hf.AddedToken, flags), given(hf.AddedToken, flags)
    assert getattr(view, name)([one]) == getattr(theirs, name)([other]) == 1
    assert getattr(Tokenizer.from_str(document), name)([mixed]) == 1
    assert fields(one) == fields(other) == fields(mixed)
    key = view.token_to_id("see")
    assert fields(view.get_added_tokens_decoder()[key]) == fields(theirs.get_added_tokens_decoder()[key])


def test_errors_have_the_words_of_tokenizers() -> None:
    document = bbpe.train_from_iterator(["low lower"], 258).as_tokenizers().to_str()
    view, theirs = Tokenizer.from_str(document), hf.Tokenizer.from_str(document)
    calls: list[tuple[str, tuple[Any, ...]]] = [
        ("encode", (["low"],)), ("encode", (b"low",)), ("encode", ("low", ["low"])), ("encode", ("low", None, True)),
        ("encode", (["low"], "low", True)), ("encode", ([1], None, True)), ("encode_batch", ([1],)),
        ("encode_batch", ([None],)), ("encode_batch", ([("a", "b", "c")],)), ("encode_batch", ([("a",)],)),
    ]  # fmt: skip
    for name, arguments in calls:
        with pytest.raises(TypeError) as expected:
            getattr(theirs, name)(*arguments)
        with pytest.raises(TypeError) as found:
            getattr(view, name)(*arguments)
        assert str(expected.value) in str(found.value), (name, arguments)
    for name in ("add_tokens", "add_special_tokens"):
        for tokenizer in (view, theirs):
            with pytest.raises(TypeError, match="str"):
                getattr(tokenizer, name)("ab")


@pytest.mark.parametrize("name", ["lower case", "blanks as marks", "none"])
@pytest.mark.parametrize("content", ["<X>", " <X> ", "\u2581<x>"])
@pytest.mark.parametrize("sides", list(itertools.product((False, True), repeat=2)))
def test_the_blanks_of_a_token_are_told_as_in_tokenizers(name: str, content: str, sides: tuple[bool, bool]) -> None:
    vocab = {char: number for number, char in enumerate("semydog<x>X \u2581")}
    theirs = hf.Tokenizer(hf.models.BPE(vocab, []))
    marks = [hf.normalizers.Prepend("\u2581"), hf.normalizers.Replace(" ", "\u2581")]
    if name != "none":
        theirs.normalizer = hf.normalizers.Lowercase() if name == "lower case" else hf.normalizers.Sequence(marks)
    theirs.add_tokens([hf.AddedToken(content, normalized=True, lstrip=sides[0], rstrip=sides[1])])
    ours = Tokenizer.from_str(theirs.to_str())
    for text in ("see  <X>  my", "<X>", "  <X>", " <X><X>  dog <X>", "see<X>my", "see <X> <x>"):
        one, other = ours.encode(text), theirs.encode(text)
        assert (one.ids, one.tokens, one.offsets) == (other.ids, other.tokens, other.offsets), text
