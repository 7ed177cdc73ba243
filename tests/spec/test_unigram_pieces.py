"""Unigram models: texts such as `<0x41>`, pieces without an id, and U+2581 beside other rules."""

from __future__ import annotations

from typing import Any

import pytest

import bbpe
from bbpe.errors import VocabularyError
from bbpe.spec.models import UnigramModel
from bbpe.spec.rules import ESCAPED_MARK, SPACE_MARK, Characters, Prefix, Replace, Split
from bbpe.spec.spec import TextRules, make_spec
from bbpe.splitting.patterns import PATTERNS

NONE = PATTERNS["none"]


def of_bytes(vocab: dict[int, bytes], model: UnigramModel, rules: TextRules | None = None) -> bbpe.Tokenizer:
    """A tokenizer whose byte tokens follow the others; with rules a blank is marked."""
    first = len(vocab)
    characters = Characters(tuple(range(first, first + 256)), marks_blanks=rules is not None)
    return bbpe.Tokenizer(make_spec(vocab, None, pattern=NONE, characters=characters, model=model, rules=rules))


@pytest.mark.parametrize(
    ("scores", "ids"),
    [
        (2, [0, *(2 + byte for byte in b"<0x00><0x41>")]),
        (3, [0, 2, *(2 + byte for byte in b"<0x41>")]),
        (258, [0, 2, 2 + 0x41]),
    ],
)
def test_texts_of_byte_tokens_are_found_where_these_have_a_score(scores: int, ids: list[int]) -> None:
    tok = of_bytes({0: b"a", 1: b"b"}, UnigramModel((-1.0,) * scores, is_float=False))
    assert tok.encode("a<0x00><0x41>") == ids


def test_a_token_goes_before_the_byte_whose_text_it_has() -> None:
    tok = of_bytes({0: b"a", 1: b"<0x41>"}, UnigramModel((-1.0,) * 258, is_float=False))
    assert tok.encode("a<0x41><0x42>") == [0, 1, 2 + 0x42]


@pytest.mark.parametrize(
    ("rules", "ids"),
    [
        ({}, [1, 2, 1]),
        ({"prefix": Prefix("b")}, [3, 1, 2, 1]),
        ({"pre_tokenizers": (Split("b", "Isolated"),)}, [0, 3, 2, 0, 3]),
    ],
)
def test_marks_that_are_escaped_beside_other_rules(rules: dict[str, Any], ids: list[int]) -> None:
    vocab = {0: b"a", 1: b"ab", 2: b" ", 3: b"b"}
    given = TextRules((ESCAPED_MARK, Replace(" ", False, SPACE_MARK)), **rules)
    tok = of_bytes(vocab, UnigramModel((-5.0, -1.0, -5.0, -5.0)), given)
    assert tok.encode("ab ab") == ids


@pytest.mark.parametrize("vocab", [{}, {1: b"a"}], ids=len)
def test_places_of_pieces_without_an_id(vocab: dict[int, bytes]) -> None:
    """They and characters without a token are the unknown token, each of its own length."""
    model = UnigramModel((-1.0,) * (1 + len(vocab)), unnamed=((b"xyz", -1.0), (b"q", -1.0)))
    tok = bbpe.Tokenizer(
        make_spec(vocab, None, pattern=NONE, special_tokens={"<unk>": 0}, characters=Characters((), 0), model=model)
    )
    ids, spans = tok.encode_with_offsets("\0xyz qxyz\0")
    assert (ids, spans.tolist()) == ([0] * 6, [[0, 1], [1, 4], [4, 5], [5, 6], [6, 9], [9, 10]])


def test_places_without_any_token() -> None:
    model = UnigramModel(())
    tok = bbpe.Tokenizer(make_spec({}, None, pattern=NONE, characters=Characters(), model=model))
    ids, spans = tok.encode_with_offsets("abc")
    assert (ids, spans.shape) == ([], (0, 2))


def test_pieces_without_an_id_need_the_unknown_token() -> None:
    model = UnigramModel((-1.0, -1.0), unnamed=((b"xyz", -1.0),))
    with pytest.raises(VocabularyError, match="found unnamed pieces without the unknown token"):
        make_spec({1: b"a"}, None, pattern=NONE, characters=Characters((), None, True, False), model=model)
    known = Characters((), 0, True, False)
    tok = bbpe.Tokenizer(make_spec({0: b"?", 1: b"a"}, None, pattern=NONE, characters=known, model=model))
    assert tok.encode("axyz") == [1, 0]
