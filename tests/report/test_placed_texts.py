"""Texts as two tokenizers encode them: alone, or as within a longer text; and texts that tell two tokenizers apart."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
import pytest
from vocabularies import MERGES, vocab_of

import bbpe
from bbpe.progress import Progress
from bbpe.report import verify
from bbpe.report.verify import Difference, PlacedTexts, agreement, differences, first_difference, hard_texts

BYTES = [bytes([byte]) for byte in range(256)]


def ranks(*tokens: bytes) -> bbpe.Tokenizer:
    """A tokenizer of all bytes and some tokens, whose ids count from 256 in the order of merging."""
    known = [*BYTES, *tokens]
    return bbpe.Tokenizer.from_ranks({token: rank for rank, token in enumerate(known)}, pattern="none")


ONE = ranks(b" a")
#: After an x, a blank is a part of the token before.
JOINS = ranks(b"x ", b" a", b"ab")


def test_a_text_within_another_one_has_the_ids_of_its_place() -> None:
    """Unless a token of what is before goes on in the text, which is then compared alone."""
    plain = PlacedTexts(ONE, ranks(b"ab"), [b" ab", b"ab", b" b"], b"x")
    assert [[ids.tolist() for ids in row] for row in plain.ids] == [
        [[256, 98], [97, 98], [32, 98]], [[32, 256], [256], [32, 98]],
    ]  # fmt: skip
    assert plain.tokens(0) == ((b" a", b"b"), (b" ", b"ab"))
    assert [plain.has_same_cuts(number) for number in range(3)] == [False, False, True]
    joined = PlacedTexts(ONE, JOINS, [b" ab", b"ab"], b"x")
    assert [[ids.tolist() for ids in row] for row in joined.ids] == [[[256, 98], [97, 98]], [[257, 98], [258]]]
    # alone both cut " ab" after " a"
    assert [joined.has_same_cuts(number) for number in range(2)] == [True, False]
    assert joined.difference(0) == Difference(b" ab", 0, ((256, b" a"), (98, b"b")), ((257, b" a"), (98, b"b")))
    assert plain.difference(2) is None


@pytest.mark.parametrize("blank", [" ", "\n", "\t", "\u00a0", "\u3000", "\u2003"])
def test_any_white_space_is_a_blank_at_the_beginning(blank: str) -> None:
    assert verify._begins_with_blank(f"{blank}a".encode())
    assert not verify._begins_with_blank(f"a{blank}".encode())
    assert not verify._begins_with_blank(b"")
    assert not verify._begins_with_blank(blank.encode()[1:])


@pytest.mark.parametrize("batch", [1, 2, 3, 4, 100])
def test_agreement_of_texts_in_batches(batch: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(verify, "_BATCH", batch)
    told: list[Progress] = []
    texts = [b"ab", b"b", b" ab", b"cc"]
    found = agreement(ranks(b"ab"), ranks(b"cc", b"ab"), texts, told.append)
    assert found.counts.tolist() == [[1, 1, 2, 2], [1, 1, 2, 1]]
    assert found.same_ids.tolist() == [False, True, False, False]
    assert found.same_cuts is not None
    assert found.same_cuts.tolist() == [True, True, True, False]
    assert [(each.phase, each.total, each.unit) for each in told] == [("compare", 4, "texts")] * len(told)
    assert [each.done for each in told] == [*range(0, 4, batch), 4]


def test_tokens_of_one_that_have_no_places() -> None:
    class Placeless(bbpe.Tokenizer):
        def encode_with_offsets(self, *_: object, **__: object) -> tuple[list[int], np.ndarray]:
            raise bbpe.VocabularyError("no places")

    found = agreement(ONE, Placeless(ONE.spec), [b"ab", b"a"], lambda progress: None)
    assert (found.same_cuts, found.same_ids.tolist()) == (None, [True, True])


@pytest.mark.parametrize(("text", "byte", "left", "right"), [
    (b"ab", 0, [(97, b"a"), (98, b"b")], [(256, b"ab")]),
    (b"xxab", 2, [(97, b"a"), (98, b"b")], [(256, b"ab")]),
    (b"x ab ab", 1, [(256, b" a"), (98, b"b"), (256, b" a"), (98, b"b")],
     [(32, b" "), (256, b"ab"), (32, b" "), (256, b"ab")]),
    (b"x a" * 5, 1, [(256, b" a"), (120, b"x")] * 2, [(32, b" "), (97, b"a"), (120, b"x"), (32, b" ")]),
])  # fmt: skip
def test_a_difference_shows_up_to_four_tokens(
    text: bytes, byte: int, left: list[tuple[int, bytes]], right: list[tuple[int, bytes]]
) -> None:
    assert first_difference(ONE, ranks(b"ab"), text) == Difference(text, byte, tuple(left), tuple(right))
    assert first_difference(ONE, ONE, text) is None


@pytest.mark.parametrize("batch", [1, 2, 3, 100])
def test_every_text_that_differs_is_given_once(batch: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(verify, "_BATCH", batch)
    texts = [b"ab", b"x", b"", b" a", b"ab", b"y", b" ab"]
    found = differences(ONE, ranks(b"ab"), iter(texts))
    assert [each.text for each in found] == [b"ab", b" a", b"ab", b" ab"]
    assert list(differences(ONE, ONE, texts)) == list(differences(ONE, JOINS, [])) == []


def hard(tok: bbpe.Tokenizer, pairs: int, seed: int = 0) -> tuple[list[bytes], list[bytes], list[bytes]]:
    """The tokens, the pairs and the rest of the hard texts."""
    texts: Iterable[bytes] = hard_texts(tok, pairs=pairs, seed=seed)
    found, count = list(texts), len([token for token in tok.spec.vocab.values() if token])
    return found[:count], found[count : count + pairs], found[count + pairs :]


def test_hard_texts_are_tokens_and_pairs_and_what_no_merge_makes() -> None:
    vocab = {**vocab_of(), 300: b"xyz", 301: b"uvw"}
    tok = bbpe.Tokenizer.from_merges(vocab, MERGES, pattern="gpt2")
    tokens, pairs, rest = hard(tok, 50)
    assert tokens == list(vocab.values())
    joined = {left + right for left in tokens for right in tokens}
    assert len(pairs) == 50
    assert set(pairs) <= joined
    assert len(set(pairs)) > 40
    assert [rest[:3], rest[4:7]] == [[b"xyz", b" xyz ", b"xxyzy"], [b"uvw", b" uvw ", b"xuvwy"]]
    assert (len(rest), b"xyz" in rest[3], b"uvw" in rest[7]) == (8, True, True)
    assert hard(tok, 50) == (tokens, pairs, rest)
    assert hard(tok, 50, seed=1)[1] != pairs
    assert hard(tok, 0)[:2] == (tokens, [])
    # other models look up no whole pretokens
    words = bbpe.train_from_iterator(["see my dogs"], 40, model="wordpiece")
    assert hard(words, 5)[2] == []
    letters = bbpe.train_from_iterator(["see my dogs"], 40, model=bbpe.BPE(alphabet="chars"))
    assert hard(letters, 5)[2] == []
