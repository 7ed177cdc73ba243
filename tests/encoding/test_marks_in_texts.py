"""Unigram models that write blanks as U+2581: a text may have that character too, and other rules still apply."""

from __future__ import annotations

import pytest

import bbpe
from bbpe.spec.models import UnigramModel
from bbpe.spec.rules import ESCAPED_MARK, SPACE_MARK, Characters, Metaspace, Prefix, Prepend, Replace
from bbpe.spec.spec import TextRules, make_spec
from bbpe.splitting.patterns import PATTERNS

SCORES = {" ": -3.0, "a": -3.0, "b": -3.0, " a": -4.0, " b": -4.0, "a b": -4.0}
IDS = {token: 257 + number for number, token in enumerate(SCORES)}
MARKED, PREPENDED = Replace(" ", False, SPACE_MARK), Prepend(SPACE_MARK)
#: The ids of the bytes of U+2581.
MARK = [1 + byte for byte in SPACE_MARK.encode()]


def tokenizer(rules: TextRules) -> bbpe.Tokenizer:
    return bbpe.Tokenizer(make_spec(
        {token_id: token.encode() for token, token_id in IDS.items()}, [], pattern=PATTERNS["none"],
        special_tokens={"<unk>": 0}, rules=rules, characters=Characters(tuple(range(1, 257)), 0, True, True),
        model=UnigramModel((*[0.0] * 257, *SCORES.values()), True),
    ))  # fmt: skip


@pytest.mark.parametrize(("rules", "text", "tokens"), [
    (TextRules((ESCAPED_MARK, PREPENDED, MARKED)), "a b", [" ", "a b"]),
    (TextRules((ESCAPED_MARK, MARKED)), "a b", ["a b"]),
    # words that are cut apart have no token together
    (TextRules((ESCAPED_MARK, PREPENDED, MARKED), None, (Metaspace("never", True),)), "a b", [" a", " b"]),
    (TextRules((ESCAPED_MARK, MARKED), None, (Metaspace("never", True),)), "a b", ["a", " b"]),
    # a prefix is a part of the text
    (TextRules((ESCAPED_MARK, MARKED), Prefix("b")), "a b", ["b", "a b"]),
    # other rules between these two
    (TextRules((ESCAPED_MARK, Replace("x", False, "a"), MARKED)), "x b", ["a b"]),
    (TextRules((ESCAPED_MARK, Replace("x", False, "a"), PREPENDED, MARKED)), "x b", [" ", "a b"]),
])  # fmt: skip
def test_each_rule_has_its_effect(rules: TextRules, text: str, tokens: list[str]) -> None:
    tok = tokenizer(rules)
    expected = [IDS[token] for token in tokens]
    assert tok.encode(text) == tok.encode_batch([text])[0] == expected


@pytest.mark.parametrize(("rules", "text", "ids"), [
    (TextRules((ESCAPED_MARK, PREPENDED, MARKED)), "a\u2581b", [IDS[" a"], *MARK, IDS["b"]]),
    (TextRules((ESCAPED_MARK, MARKED)), "a\u2581b a", [IDS["a"], *MARK, IDS["b"], IDS[" a"]]),
    (TextRules((ESCAPED_MARK, MARKED)), "\u2581", MARK),
    # without the first rule it is a blank as any other
    (TextRules((PREPENDED, MARKED)), "a\u2581b", [IDS[" "], IDS["a b"]]),
])  # fmt: skip
def test_a_mark_in_a_text_is_spelled_by_its_bytes(rules: TextRules, text: str, ids: list[int]) -> None:
    tok = tokenizer(rules)
    assert tok.encode(text) == ids
    if ESCAPED_MARK in rules.normalizers:
        assert tok.decode(ids) == (" " * (PREPENDED in rules.normalizers) + text)
