"""Tokens that the files beside a tokenizer.json add, and which of their options have an effect."""

from __future__ import annotations

from collections.abc import Mapping

import pytest

from bbpe.formats.huggingface.added_tokens import AddedTokens
from bbpe.formats.transformers.tokens import FolderToken
from bbpe.spec.rules import Lowercase, TokenOptions

LEFT, RIGHT, WORD = TokenOptions(lstrip=True), TokenOptions(rstrip=True), TokenOptions(single_word=True)
KEPT = {"<a>": LEFT, "<t>": RIGHT}
BASE = AddedTokens({"<s>": 5, "<t>": 6}, {"<a>": 7, "<b>": 8}, KEPT, ("<s>", "<t>", "<a>", "<b>"))


@pytest.mark.parametrize(
    ("token", "special", "added", "options"),
    [
        # one that is only named changes nothing if it is there
        (FolderToken("<a>", RIGHT), {"<s>", "<t>"}, {"<a>", "<b>"}, KEPT),
        (FolderToken("<n>"), {"<s>", "<t>", "<n>"}, {"<a>", "<b>"}, KEPT),
        (FolderToken("<n>", WORD, False), {"<s>", "<t>"}, {"<a>", "<b>", "<n>"}, {**KEPT, "<n>": WORD}),
        # any other one replaces it, with its options
        (FolderToken("<a>", is_named=False), {"<s>", "<t>", "<a>"}, {"<b>"}, {"<t>": RIGHT}),
        (FolderToken("<a>", WORD, True, False), {"<s>", "<t>", "<a>"}, {"<b>"}, {"<a>": WORD, "<t>": RIGHT}),
        (FolderToken("<t>", is_special=False, is_named=False), {"<s>"}, {"<a>", "<b>", "<t>"}, {"<a>": LEFT}),
        (FolderToken("<b>", LEFT, False, False), {"<s>", "<t>"}, {"<a>", "<b>"}, {**KEPT, "<b>": LEFT}),
    ],
)
def test_a_token_of_another_file(
    token: FolderToken, special: set[str], added: set[str], options: Mapping[str, TokenOptions]
) -> None:
    found = BASE.extended([token])
    assert (set(found.special), set(found.added), found.options) == (special, added, options)
    assert found.texts == (*BASE.texts, *(["<n>"] if token.text == "<n>" else []))
    numbered = found.numbered({"x": 0, "<t>": 1, "<a>": 2, "<b>": 3})
    ids = {"<s>": 4, "<t>": 1, "<a>": 2, "<b>": 3, "<n>": 5}
    assert numbered.special == {text: ids[text] for text in special}
    assert numbered.added == {text: ids[text] for text in added}


def test_tokens_are_added_in_their_order_and_each_once() -> None:
    found = BASE.extended([FolderToken("<n>"), FolderToken("<m>", is_special=False), FolderToken("<n>", LEFT)])
    assert found.texts == ("<s>", "<t>", "<a>", "<b>", "<n>", "<m>")
    assert found.numbered({}).special == {"<s>": 0, "<t>": 1, "<n>": 4}
    assert (list(found.added), found.options) == (["<a>", "<b>", "<m>"], KEPT)
    assert BASE.extended([]) == BASE


def test_special_tokens_of_a_caller_replace_those_of_the_file() -> None:
    found = BASE.with_special({"<b>": 9, "<q>": 3})
    assert (found.special, found.added, found.options) == ({"<b>": 9, "<q>": 3}, {"<a>": 7}, {"<a>": LEFT})
    assert BASE.with_special({"<t>": 1}).options == KEPT


def tokens(*rows: tuple[str, TokenOptions]) -> AddedTokens:
    return AddedTokens({}, {text: number for number, (text, _) in enumerate(rows)}, dict(rows))


NORMALIZED = TokenOptions(normalized=True)


@pytest.mark.parametrize(
    ("rows", "has_effect"),
    [
        ([("<a>", NORMALIZED)], False),
        ([("<a>", NORMALIZED), ("<b>", TokenOptions())], False),
        # two tokens that can overlap
        ([("<a>", NORMALIZED), ("x<a", TokenOptions())], True),
        ([("<a>", NORMALIZED), ("a>b", TokenOptions())], True),
        ([("<a>", NORMALIZED), ("a", TokenOptions())], True),
        ([("a", NORMALIZED), ("<a>", TokenOptions())], True),
        ([("<a>", NORMALIZED), ("a>b", NORMALIZED)], False),
        ([("ab", NORMALIZED), ("ca", TokenOptions())], True),
        ([("ab", NORMALIZED), ("bc", TokenOptions())], True),
        ([("ab", NORMALIZED), ("cd", TokenOptions())], False),
        ([("ab", NORMALIZED), ("cd", TokenOptions()), ("da", TokenOptions())], True),
        # two tokens that can take the same blanks
        ([("<a>", TokenOptions(lstrip=True, normalized=True)), ("<b>", TokenOptions())], False),
        ([("<a>", TokenOptions(lstrip=True, normalized=True)), ("<b>", LEFT)], True),
        ([("<a>", TokenOptions(rstrip=True, normalized=True)), ("<b>", LEFT)], True),
        ([("<a>", NORMALIZED), ("<b>", RIGHT)], False),
        ([("<a>", TokenOptions(rstrip=True, normalized=True)), ("b c", TokenOptions())], True),
        ([("<a>", TokenOptions(lstrip=True, normalized=True)), ("\n", TokenOptions())], True),
        ([("a c", NORMALIZED), ("<b>", LEFT)], True),
        ([("a c", NORMALIZED), ("<b> x", TokenOptions())], False),
        # another token beside a single word
        ([("<a>", TokenOptions(single_word=True, normalized=True)), ("<b>", TokenOptions())], True),
        ([("<a>", TokenOptions(single_word=True, normalized=True))], False),
        ([("<a>", NORMALIZED), ("<b>", WORD)], False),
    ],
)
def test_normalized_has_an_effect_without_normalizers_where_tokens_meet(
    rows: list[tuple[str, TokenOptions]], has_effect: bool
) -> None:
    given = tokens(*rows)
    kept = given.options_with(())
    assert {text for text, options in kept.items() if options.normalized} == (
        {text for text, options in rows if options.normalized} if has_effect else set()
    )
    # the other options stay, and with a normalizer all do
    stripped = {text: (options.lstrip, options.rstrip, options.single_word) for text, options in kept.items()}
    for text, options in rows:
        assert stripped.get(text, (False,) * 3) == (options.lstrip, options.rstrip, options.single_word)
    assert given.options_with((Lowercase(),)) == {text: options for text, options in rows if options != TokenOptions()}
