"""Which regex of a tokenizer runs in Python, and why: one sentence about the first one that does."""

from __future__ import annotations

from typing import Any

import pytest
from vocabularies import small_spec

from bbpe.encoding.plan import uncompiled
from bbpe.records import replace
from bbpe.spec.models import WordLevelModel
from bbpe.spec.rules import Digits, Lowercase, Replace, Split, UnicodeForm
from bbpe.spec.spec import TextRules, TokenizerSpec
from bbpe.splitting.patterns import Pattern, get_pattern

NEVER = r"(a)\1cd"
BEYOND = r"the escape \1"
WORDS = TokenizerSpec({0: b"see", 1: b"<u>"}, None, get_pattern("whitespace"), model=WordLevelModel(1))
PLAIN: dict[str, dict[str, Any]] = {
    "nothing": {},
    "rules": {"rules": TextRules((UnicodeForm("NFC"), Replace("a+", True, "b"), Lowercase()))},
    "splits": {"rules": TextRules(pre_tokenizers=(Digits(True), Split("a", "Isolated")))},
    "a regex": {"pattern": get_pattern([r"\w+|\W", r"\s"])},
    "splits instead of a pattern": {
        "pattern": Pattern(None, (NEVER,)), "rules": TextRules(pre_tokenizers=(Split("a", "Isolated"),)),
    },
}  # fmt: skip
REASONS: list[tuple[dict[str, Any], str]] = [
    ({"pattern": Pattern(None, (NEVER,))}, f"The pattern {NEVER!r} runs in Python because it has {BEYOND}."),
    ({"pattern": Pattern(None, (r"\s+", NEVER))}, f"The pattern {NEVER!r} runs in Python because it has {BEYOND}."),
    (
        {"rules": TextRules((Lowercase(), Replace(NEVER, True, "")))},
        f"The regex {NEVER!r} of the normalizer Replace runs in Python because it has {BEYOND}.",
    ),
    (
        {"rules": TextRules(pre_tokenizers=(Digits(True), Split(NEVER, "Isolated")))},
        f"The regex {NEVER!r} of the pre-tokenizer Split runs in Python because it has {BEYOND}.",
    ),
]


@pytest.mark.parametrize("name", PLAIN)
def test_what_is_compiled_has_no_reason(name: str) -> None:
    spec = replace(small_spec(), **PLAIN[name])
    assert uncompiled(spec) is None


@pytest.mark.parametrize(("changes", "reason"), REASONS, ids=[str(number) for number in range(len(REASONS))])
def test_the_first_rule_in_python_is_named(changes: dict[str, Any], reason: str) -> None:
    spec = replace(small_spec(), **changes)
    assert uncompiled(spec) == reason
