"""Errors: what they show of a wrong argument, how long they may be, and that they travel between processes."""

from __future__ import annotations

import collections
import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import bbpe
from bbpe.errors import BBPEError, TokenIdError, TokenNotFoundError, VocabularyError, described, no_tokenizer


@pytest.mark.parametrize("kind", [BBPEError, bbpe.CorpusError, bbpe.PatternError, TokenIdError])
def test_a_long_message_is_shortened_in_its_middle(kind: type[BBPEError]) -> None:
    text = "a" * 500 + "b" * 500
    assert str(kind(text)) == text
    assert str(kind(text + "b")) == "a" * 500 + " [...] " + "b" * 500
    assert (kind(5).args, kind().args, kind("a", 7).args) == ((5,), ("",), ("a", 7))


def test_an_error_of_a_vocabulary_has_its_parts() -> None:
    for options, before in (
        ({}, ""), ({"path": "a.json"}, "a.json: "), ({"place": "model.vocab"}, "model.vocab: "),
        ({"path": Path("a.json"), "place": "byte 5"}, "a.json: byte 5: "),
    ):  # fmt: skip
        given: dict[str, Any] = options
        error = VocabularyError("found x", **given)
        again = pickle.loads(pickle.dumps(error))
        for each in (error, again):
            assert (str(each), each.problem) == (f"{before}found x", "found x")
            assert (each.path, each.place) == (given.get("path"), given.get("place"))
    assert len(VocabularyError("x" * 2000).problem) == 1007
    assert isinstance(VocabularyError("a"), ValueError)


def test_a_token_that_is_missing_is_said_without_quotes() -> None:
    assert str(TokenNotFoundError("no token 'a'")) == "no token 'a'"
    assert str(TokenNotFoundError()) == ""
    assert issubclass(TokenNotFoundError, KeyError)


class Sub(str):
    __slots__ = ()


@pytest.mark.parametrize(
    ("given", "shown"),
    [
        ("a" * 38, f"'{'a' * 38}', a str"), ("a" * 39, f"'{'a' * 39}..., a str"), (b"ab", "b'ab', a bytes"),
        (5, "5, an int"), (1.5, "1.5, a float"), (True, "True, a bool"), (None, "None"), ([1, 2], "[1, 2], a list"),
        (list(range(99)), "[0, 1, 2, 3, 4, 5, ...], a list"), ({"a": 1}, "{'a': 1}, a dict"), ({1}, "{1}, a set"),
        ((1,), "(1,), a tuple"), (frozenset({1}), "frozenset({1}), a frozenset"),
        (Path("a"), f"'a', a pathlib.{type(Path()).__name__}"), (object(), "an object"), (np.int8(5), "a numpy.int8"),
        (collections.Counter(), "Counter(), a collections.Counter"),
        (Sub("a"), f"'a', a {__name__.partition('.')[0]}.Sub"), (10**60, f"{'1' + '0' * 17}...{'0' * 19}, an int"),
    ],
    ids=lambda value: f"{value!s:.20}",
)  # fmt: skip
def test_a_wrong_argument_is_shown_by_its_value_and_type(given: object, shown: str) -> None:
    assert described(given) == shown


def test_the_tokenizer_of_another_library_has_a_way_to_become_one() -> None:
    def of(module: str, *bases: type) -> Any:
        return type("Tok", bases, {"__module__": module})

    ways = {
        of("transformers.models.auto"): "its save_pretrained(folder) writes what bbpe.load(folder) reads",
        of("tokenizers"): "its save(file) writes what bbpe.load(file) reads",
        of("tiktoken.core"): "bbpe.get_encoding(name) gives the published one of its name",
        of("sentencepiece"): "bbpe.load(file) reads its .model file",
        of("mine", of("tokenizers.implementations")): "its save(file) writes what bbpe.load(file) reads",
        of("mytokenizers"): "bbpe.load() makes one of a file, a folder, or the name of a vocabulary or model",
    }
    for kind, way in ways.items():
        error = no_tokenizer(kind(), "left")
        root = kind.__module__.partition(".")[0]
        assert str(error) == f"left is a {root}.Tok; expected a Tokenizer: {way}"
        assert isinstance(error, TypeError)
