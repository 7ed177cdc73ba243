"""What `Tokenizer.from_merges` refuses of merges and special tokens, and what stands at the edge of it."""

from __future__ import annotations

from typing import Any

import pytest

import bbpe
from bbpe.errors import VocabularyError

VOCAB = {**{byte: bytes([byte]) for byte in range(256)}, 256: b"ab"}


def made(merges: Any = (), **options: Any) -> bbpe.Tokenizer:
    return bbpe.Tokenizer.from_merges(VOCAB, merges, pattern="gpt2", **options)


@pytest.mark.parametrize(
    ("merges", "problem"),
    [
        (5, r"merges must be pairs of tokens in the order of their ranks, not int"),
        ([5], r"merges\[0\] must be a pair of tokens, not int"),
        ([(b"a", b"b"), None], r"merges\[1\] must be a pair of tokens, not NoneType"),
        ([(b"a", b"b"), {b"a", b"b"}], r"merges\[1\] must be a pair of tokens, not set"),
        ([("a", "b")], r"merge 0 has 'a' and 'b'; expected bytes"),
    ],
)
def test_merges_that_are_none_are_named(merges: Any, problem: str) -> None:
    with pytest.raises(TypeError, match=problem):
        made(merges)


@pytest.mark.parametrize("merges", [[(b"a", b"b")], ((b"a", b"b"),), iter([[b"a", b"b"]]), {(b"a", b"b"): 0}])
def test_merges_come_in_any_iterable(merges: Any) -> None:
    assert made(merges).encode("ab") == [256]


@pytest.mark.parametrize("merge", [(b"b", b"a"), (b"ab", b"c"), (b"", b"a"), (b"zz", b"a"), (b"a", b"zz")])
def test_a_merge_without_an_id_says_which(merge: tuple[bytes, bytes]) -> None:
    with pytest.raises(VocabularyError, match=r"merge 1 of .* has no id"):
        made([(b"a", b"b"), merge])


@pytest.mark.parametrize(
    ("tokens", "problem"),
    [
        ({"": 300}, "a special token is the empty string"),
        ({"<s>": -1}, "special token '<s>' has id -1; expected 0 to"),
        ({"<s>": 1 << 40}, f"special token '<s>' has id {1 << 40}; expected 0 to"),
        ({"<s>": 300, "<t>": 300}, "special tokens '<s>' and '<t>' have the same id 300"),
        ({"<s>": 97}, "special token '<s>' and token b'a' have the same id 97"),
    ],
)
def test_special_tokens_that_cannot_be(tokens: dict[str, int], problem: str) -> None:
    with pytest.raises(VocabularyError, match=problem):
        made(special_tokens=tokens)


@pytest.mark.parametrize("tokens", [{"<s>": "300"}, {"<s>": True}, {"<s>": 300.0}, {b"<s>": 300}, {5: 300}])
def test_special_tokens_map_texts_to_whole_numbers(tokens: Any) -> None:
    with pytest.raises(TypeError, match="special_tokens must map each text to its id; found"):
        made(special_tokens=tokens)
