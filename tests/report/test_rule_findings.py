"""Findings on what is around the tokens, whole: how many, of which tokens, why they matter and what to do."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from vocabularies import document

import bbpe
from bbpe.core.split import UNICODE_VERSION
from bbpe.report.findings import Example, Finding, Subject
from bbpe.report.rule_checks import _SAMPLES, RULE_CHECKS, _drops, _round_trip
from bbpe.spec.models import WordLevelModel
from bbpe.spec.rules import Characters, UnicodeForm
from bbpe.spec.spec import TextRules
from bbpe.splitting.patterns import get_pattern

BYTES = [bytes([byte]) for byte in range(256)]
PLAIN = bbpe.Tokenizer.from_ranks({token: rank for rank, token in enumerate([*BYTES, b"AB", b"see"])}, pattern="gpt2")


def changed(**changes: Any) -> bbpe.Tokenizer:
    return bbpe.Tokenizer(replace(PLAIN.spec, **changes))


def found(tok: bbpe.Tokenizer) -> dict[str, Finding]:
    subject = Subject(tok)
    return {finding.check: finding for check in RULE_CHECKS for finding in check(subject)}


def test_one_and_two_tokens_that_only_the_configuration_has() -> None:
    for names, shown in (
        ({"pad": "<pad>"}, "pad_token '<pad>'"), ({"pad": "<p>", "eos": "<e>"}, "pad_token '<p>', eos_token '<e>'"),
    ):  # fmt: skip
        assert found(changed(names=names))["named-tokens"] == Finding(
            "named-tokens", "error", len(names),
            f"the configuration names tokens that the vocabulary does not have: {shown}",
            "Other libraries add them with new ids, beyond the embeddings of the model.",
            "Correct tokenizer_config.json, or add the tokens.",
            tuple(Example(None, text.encode(), use) for use, text in names.items()),
        )  # fmt: skip
    assert "named-tokens" not in found(changed(names={"pad": "see"}))


@pytest.mark.parametrize(("count", "begins"), [
    (1, "1 text that looks like special tokens and is none: "),
    (2, "2 texts that look like special tokens and are none: "),
    (7, "7 texts that look like special tokens and are none: "),
    (13, "13 texts that look like special tokens and are none: "),
])  # fmt: skip
def test_texts_of_a_template_are_listed_in_order(count: int, begins: str, tmp_path: Path) -> None:
    """The message has the first six, and the finding twelve."""
    texts = [f"<|{letter}|>" for letter in "abcdefghijklm"[:count]]
    (tmp_path / "tokenizer.json").write_text(json.dumps(document()))
    (tmp_path / "tokenizer_config.json").write_text(json.dumps({"chat_template": "".join(texts[::-1])}))
    assert found(bbpe.load(tmp_path))["chat-template"] == Finding(
        "chat-template", "error", count,
        f"the chat template writes {begins}{', '.join(map(repr, texts[:6]))}",
        "They are encoded as ordinary text, which the model was not trained on.",
        "Add them as special tokens, or use the template of this tokenizer.",
        tuple(Example(None, text.encode(), "") for text in texts[:12]),
    )  # fmt: skip


@pytest.mark.parametrize("field", [5, [{"template": "<|a|>"}], {"default": ["<|a|>"]}])
def test_a_template_that_cannot_be_read_has_no_texts(field: Any, tmp_path: Path) -> None:
    (tmp_path / "tokenizer.json").write_text(json.dumps(document()))
    (tmp_path / "tokenizer_config.json").write_text(json.dumps({"chat_template": field}))
    assert "chat-template" not in found(bbpe.load(tmp_path))


@pytest.mark.parametrize(("specials", "message"), [
    ({"AB": 300}, "1 special or added token is also an ordinary token with another id"),
    ({"AB": 300, "see": 301}, "2 special or added tokens are also ordinary tokens with another id"),
])  # fmt: skip
@pytest.mark.parametrize("kind", ["special_tokens", "added_tokens"])
def test_a_text_with_two_ids(kind: str, specials: dict[str, int], message: str) -> None:
    ids = {"AB": 256, "see": 257}
    assert found(changed(**{kind: specials}))["special-twice"] == Finding(
        "special-twice", "warning", len(specials), message,
        "One text has two ids: which one a text gets depends on the call and the library.",
        "Remove such texts from the training text, and pass them as special tokens.",
        tuple(Example(token_id, text.encode(), f"is also token {ids[text]}") for text, token_id in specials.items()),
        tuple(specials.values()),
    )  # fmt: skip
    assert "special-is-text" not in found(changed(**{kind: specials}))


@pytest.mark.parametrize(("specials", "message"), [
    ({"stop": 300, "<|x|>": 301}, "1 special token is an ordinary word"),
    ({"stop": 300, "end of text": 301}, "2 special tokens are ordinary words"),
])  # fmt: skip
def test_special_tokens_that_are_words(specials: dict[str, int], message: str) -> None:
    words = {text: token_id for text, token_id in specials.items() if "<" not in text}
    assert found(changed(special_tokens=specials))["special-is-text"] == Finding(
        "special-is-text", "warning", len(words), message,
        "Text from outside that has the word becomes a control token where special tokens are allowed.",
        "Give special tokens a form that no text has, such as <|name|>.",
        tuple(Example(token_id, text.encode()) for text, token_id in words.items()), tuple(words.values()),
    )  # fmt: skip
    many = {f"word {number}": 300 + number for number in range(13)}
    finding = found(changed(special_tokens=many))["special-is-text"]
    assert (finding.count, len(finding.examples), len(finding.ids)) == (13, 12, 13)


def test_what_a_tokenizer_without_roles_lacks() -> None:
    findings = found(PLAIN)
    assert findings["no-pad"] == Finding(
        "no-pad", "info", 1, "no token for padding is named",
        "Batches are padded with the end-of-text token; a loss that leaves it out teaches a model never to end.",
        "Name a pad_token in tokenizer_config.json, or pass `pad_id=`, and mask padding in the loss.",
    )  # fmt: skip
    assert findings["no-end"] == Finding(
        "no-end", "info", 1, "no token for the end of a text is named",
        "A model that never sees an end does not learn to stop.",
        "Train with a special token such as <|endoftext|>, and name it as eos_token.",
    )  # fmt: skip
    assert {"no-pad", "no-end"}.isdisjoint(found(changed(names={"pad": "see", "eos": "see"})))


@pytest.mark.parametrize(("lost", "shown"), [
    ([7], "<0x07>"), ([0, 1], "<0x00> <0x01>"), (list(range(13)), " ".join(f"<0x{byte:02X}>" for byte in range(6))),
])  # fmt: skip
def test_bytes_without_a_token_are_named(lost: list[int], shown: str) -> None:
    vocab = {token_id: token for token_id, token in PLAIN.spec.vocab.items() if token_id not in lost}
    assert found(changed(vocab=vocab, characters=Characters(are_bytes=True)))["missing-bytes"] == Finding(
        "missing-bytes", "warning", len(lost), f"{len(lost)} of 256 bytes have no token: {shown} ...",
        "Texts with these bytes are not encoded as a whole.",
        "Train with all bytes (bbpe does, `tokenizers` with `initial_alphabet`).",
        tuple(Example(None, bytes([byte])) for byte in lost[:12]),
    )  # fmt: skip


@pytest.mark.parametrize(("unknown", "severity", "message"), [
    (None, "warning", "characters without a token are left out"),
    (0, "info", "characters without a token become one unknown token (0)"),
])  # fmt: skip
def test_characters_without_a_token_are_one_finding(unknown: int | None, severity: Any, message: str) -> None:
    vocab = {1: b"a", 2: b"b"}
    tok = changed(vocab=vocab, merges=(), special_tokens={"<u>": 0}, characters=Characters(unknown=unknown))
    assert found(tok)["unknown-characters"] == Finding(
        "unknown-characters", severity, 1, message, "Such text cannot be decoded again.",
        "Use byte fallback or a byte-level vocabulary where every text matters.",
    )  # fmt: skip


def round_trip(spec: Any, decode: Any) -> list[Finding]:
    subject: Any = SimpleNamespace(spec=spec, tokenizer=SimpleNamespace(encode=lambda text: text, decode=decode))
    return list(_round_trip(subject))


@pytest.mark.parametrize("changes", [
    None, {"rules": TextRules(normalizers=(UnicodeForm("NFC"),))}, {"pattern": get_pattern("whitespace")},
    {"characters": Characters(unknown=0)}, {"model": WordLevelModel(None)},
])  # fmt: skip
def test_texts_that_do_not_come_back(changes: dict[str, Any] | None) -> None:
    """An error where nothing of the tokenizer changes texts, and otherwise a fact."""
    spec = PLAIN.spec if changes is None else SimpleNamespace(**{
        **{name: getattr(PLAIN.spec, name) for name in ("rules", "pattern", "characters", "model")}, **changes
    })  # fmt: skip
    text = _SAMPLES["accents"]
    message = "decoding does not give back texts with: accents"
    example = Example(None, text.encode(), f"becomes {text.replace('é', 'e')!r}")
    expected = Finding(
        "round-trip", "info", 1, message, "What is lost in encoding, a model cannot learn or write.",
        "Expected with normalizers and unknown tokens; use a byte-level vocabulary where texts must survive.",
        (example,),
    ) if changes else Finding(
        "round-trip", "error", 1, message,
        "A tokenizer of bytes without rules gives back every text; this one does not.", "Report it with the file.",
        (example,),
    )  # fmt: skip
    assert round_trip(spec, lambda ids: ids.replace("é", "e")) == [expected]
    assert round_trip(spec, lambda ids: ids) == []
    (every,) = round_trip(spec, lambda ids: "")
    assert (every.count, len(every.examples)) == (14, 12)
    assert every.message.endswith("the mark of blanks, rare characters")


def test_a_pattern_that_loses_or_drops_text_is_one_finding() -> None:
    assert found(changed(pattern=get_pattern("whitespace")))["pattern-drops"] == Finding(
        "pattern-drops", "warning", 1, "the split pattern whitespace drops the text that it does not match",
        "White space, or more, is lost in encoding.",
        "Choose a pattern that keeps all text if decoding must give it back.",
    )  # fmt: skip
    pattern = SimpleNamespace(drops_gaps=False, spans=lambda text: [(0, 1)])
    subject: Any = SimpleNamespace(spec=SimpleNamespace(pattern=pattern))
    assert list(_drops(subject)) == [Finding(
        "pattern-loses", "error", 1,
        "the split pattern loses or repeats a part of \"Hello, world! It's 2024.\"",
        "Encoding does not cover the text.", "Correct the regex.",
    )]  # fmt: skip


def test_two_versions_of_unicode_are_a_fact() -> None:
    rules = TextRules(normalizers=(UnicodeForm("NFC"),))
    assert found(changed(rules=rules))["unicode-versions"] == Finding(
        "unicode-versions", "info", 1,
        f"characters are classified by Unicode {UNICODE_VERSION}, normal forms by Unicode 9.0",
        "Other libraries may split or normalize characters that are newer than one of the versions in another way.",
        "Pin the versions of the libraries that encode, or test the characters that matter.",
    )  # fmt: skip
    assert "unicode-versions" not in found(changed(rules=rules, pattern=get_pattern("none")))
