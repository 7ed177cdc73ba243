"""`vocabulary_map`: the old ids of each new token, by the bytes of the tokens, whatever the kind of vocabulary."""

from __future__ import annotations

import random
import re
from collections.abc import Callable
from functools import lru_cache
from itertools import pairwise, product
from typing import Any

import numpy as np
import pytest

import bbpe

TEXT = "the lower, the slower: see my eyes first, 1234 Äpfel und 中文 text\n" * 3
OTHER = "there were lowest eyes; we see 56 中 Apfel, slowly\n" * 3
SPECIALS = ["<|end|>", "<s>"]


def trained(text: str, size: int, **options: Any) -> bbpe.Tokenizer:
    return bbpe.train_from_iterator([text], size, **options)


KINDS: dict[str, Callable[[str], bbpe.Tokenizer]] = {
    "bytes": lambda text: trained(text, 300, special_tokens=SPECIALS),
    "gpt2": lambda text: trained(text, 290, pattern="gpt2"),
    "words": lambda text: trained(text, 90, model=bbpe.WordPiece(lowercase=False)),
    "unigram": lambda text: trained(text, 330, model=bbpe.Unigram()),
    "characters": lambda text: trained(text, 330, model=bbpe.BPE(alphabet="chars", word_start="\u2581")),
    "word ends": lambda text: trained(text, 120, model=bbpe.BPE(alphabet="chars", end_of_word="</w>")),
}


@lru_cache
def anywhere(tok: bbpe.Tokenizer) -> tuple[int, bytes]:
    """A token that is the same in any place of a text, and its bytes."""
    for each in tok.get_vocab().values():
        two, three, four = (tok.decode_bytes([each] * count) for count in (2, 3, 4))
        step = three[len(two) :]
        if step.isalpha() and three == two + step and four == three + step:
            return each, step
    raise AssertionError("each token depends on its place")


@lru_cache(maxsize=1 << 14)
def spelled(tok: bbpe.Tokenizer, token_id: int) -> bytes:
    """The bytes of a token within a text: what decoding writes for it between others."""
    other, data = anywhere(tok)
    before = len(tok.decode_bytes([other, other]))
    return tok.decode_bytes([other, other, token_id, other])[before : -len(data)]


@lru_cache
def made_of(kind: str, text: str) -> bbpe.Tokenizer:
    return KINDS[kind](text)


@pytest.mark.parametrize(("old", "new"), [*product(KINDS, KINDS)])
def test_rows_spell_their_tokens(old: str, new: str) -> None:
    left, right = made_of(old, TEXT), made_of(new, OTHER)
    made = bbpe.vocabulary_map(left, right)
    count = right.vocab_size
    assert [str(each.dtype) for each in (made.ids, made.offsets, made.exact)] == ["uint32", "int64", "int64"]
    assert (len(made), len(made.offsets), len(made.exact)) == (count, count + 1, count)
    specials = {*right.special_tokens.values()}
    found = same = 0
    for new_id, row in enumerate(made):
        assert np.array_equal(row, made[new_id])
        if not len(row) or new_id in specials:
            assert made.exact[new_id] == -1 or new_id in specials
            continue
        parts = [spelled(left, int(old_id)) for old_id in row]
        assert b"".join(parts) == spelled(right, new_id)
        found += 1
        if made.exact[new_id] >= 0:
            assert row.tolist() == [made.exact[new_id]]
            same += 1
    assert same > 10
    assert found >= same
    assert {*made.missing.tolist()} == {new_id for new_id in range(count) if not len(made[new_id])}


@pytest.mark.parametrize("kind", KINDS)
def test_a_vocabulary_maps_to_itself(kind: str) -> None:
    tok = made_of(kind, TEXT)
    made = bbpe.vocabulary_map(tok, tok)
    ids = sorted(tok.get_vocab().values())
    for new_id in ids:
        # of two tokens with the same bytes, such as a character and a byte, the first stands for both
        twin = int(made.exact[new_id])
        assert made[new_id].tolist() == [twin]
        assert twin == new_id or spelled(tok, twin) == spelled(tok, new_id)


def test_rows_of_bytes_are_what_encoding_gives() -> None:
    """A twin for byte-level BPE: merge by rank, until nothing merges."""
    rng = random.Random(3)
    old = trained(TEXT, 320)
    ranks = {bytes(token): token_id for token, token_id in old.ranks.items()}
    new = trained("".join(rng.choice("thelowrs my") for _ in range(4000)), 700)
    made, apart = bbpe.vocabulary_map(old, new), 0
    for new_id in range(new.vocab_size):
        token = new.id_to_token(new_id)
        parts = [token[at : at + 1] for at in range(len(token))]
        while len(parts) > 1:
            pairs = [(ranks.get(left + right, 1 << 30), at) for at, (left, right) in enumerate(pairwise(parts))]
            rank, at = min(pairs)
            if rank == 1 << 30:
                break
            parts[at : at + 2] = [parts[at] + parts[at + 1]]
        expected = [ranks[token]] if token in ranks else [ranks[part] for part in parts]
        apart += token not in ranks
        assert made[new_id].tolist() == expected
        assert made.exact[new_id] == ranks.get(token, -1)
    assert apart > 50


def test_beginnings_of_words_are_blanks() -> None:
    words, tok = trained(TEXT, 90, model=bbpe.WordPiece(lowercase=False)), trained(TEXT, 330, pattern="gpt2")
    made = bbpe.vocabulary_map(tok, words)
    the, er = words.token_to_id("the"), next(i for text, i in words.get_vocab().items() if text.startswith("##"))
    assert tok.decode(made[the]) == " the"
    assert tok.decode(made[er]) == words.tokenize("x")[0][:0] + words.id_to_token(er).decode().removeprefix("##")
    back = bbpe.vocabulary_map(words, tok)
    (space_the,) = tok.encode(" the")
    assert back[space_the].tolist() == [the]


def test_unknown_characters_have_no_ids() -> None:
    words, tok = trained("abc abd", 40, model=bbpe.WordPiece()), trained("ab zz zz", 258)
    made = bbpe.vocabulary_map(words, tok)
    assert tok.token_to_id("zz") in made.missing
    assert tok.token_to_id(b"z") in made.missing
    assert made.exact[tok.token_to_id(b"z")] == -1


def test_special_tokens_are_mapped_by_text_and_by_name() -> None:
    old = trained(TEXT, 300, special_tokens=["<s>", "<|end|>", "<a>"])
    new = trained(TEXT, 300, special_tokens=["<s>", "</s>", "<b>"])
    ids, others = old.special_tokens, new.special_tokens
    made = bbpe.vocabulary_map(old, new, special={"<|end|>": "</s>"})
    assert made[others["<s>"]].tolist() == [ids["<s>"]]
    assert made[others["</s>"]].tolist() == [ids["<|end|>"]]
    assert made.exact[others["</s>"]] == ids["<|end|>"]
    assert made.missing.tolist() == [others["<b>"]]
    assert bbpe.vocabulary_map(old, new, special={"<s>": None}).exact[others["<s>"]] == -1
    # no ordinary tokens for a special one, and the other way round
    plain = bbpe.Tokenizer.from_ranks({**{bytes((byte,)): byte for byte in range(256)}, b"<s>": 256}, pattern="gpt2")
    assert bbpe.vocabulary_map(plain, new).exact[others["<s>"]] == -1
    assert bbpe.vocabulary_map(old, plain)[256].tolist() == [old.token_to_id(bytes((byte,))) for byte in b"<s>"]


def test_holes_and_added_tokens() -> None:
    old = trained(TEXT, 280).with_added_tokens(["    "])
    ranks = {**{bytes((byte,)): byte for byte in range(256)}, b"    ": 300}
    new = bbpe.Tokenizer.from_ranks(ranks, pattern="gpt2")
    made = bbpe.vocabulary_map(old, new)
    assert made.missing.tolist() == list(range(256, 300))
    assert made.exact[300] == old.token_to_id("    ")


def test_bytes_of_fallback() -> None:
    old = trained(TEXT, 330, model=bbpe.Unigram())
    new = trained("ж ж ж ж", 258)
    made = bbpe.vocabulary_map(old, new)
    for token in (b"\xd0", "ж".encode()):
        row = made[new.token_to_id(token)].tolist()
        assert row == [old.get_vocab()[f"<0x{byte:02X}>"] for byte in token]
        assert old.decode_bytes(row) == token


@pytest.mark.parametrize(
    ("given", "error", "shown"),
    [
        ({"special": ["<s>"]}, TypeError, "special must be a dict"),
        ({"special": {"<s>": 3}}, TypeError, "it has a int"),
        ({"special": {"<x>": "<s>"}}, ValueError, "special names '<x>', which is no special token of `old`"),
        ({"special": {"<s>": "<x>"}}, ValueError, "special names '<x>', which is no special token of `new`"),
        ({"old": "gpt2"}, TypeError, "old"),
        ({"new": 3}, TypeError, "new"),
    ],
)
def test_wrong_arguments_are_named(given: dict[str, Any], error: type[Exception], shown: str) -> None:
    tok = trained(TEXT, 280, special_tokens=["<s>"])
    with pytest.raises(error, match=re.escape(shown)):
        bbpe.vocabulary_map(**{"old": tok, "new": tok, **given})


def test_ids_out_of_range() -> None:
    tok = trained(TEXT, 280)
    made = bbpe.vocabulary_map(tok, tok)
    for wrong in (-1, 280):
        with pytest.raises(IndexError, match=f"id {wrong} of a vocabulary of 280"):
            made[wrong]
    assert repr(made) == "<bbpe.VocabularyMap: 280 ids, 280 in both, 0 without old ids>"
