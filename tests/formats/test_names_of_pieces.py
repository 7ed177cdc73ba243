"""The tokens that a SentencePiece model names by their uses, and the rules that such a model cannot hold."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

import bbpe
from bbpe.errors import VocabularyError
from bbpe.formats.sentencepiece.pieces import pieces_of
from bbpe.spec.rules import LeadingCodes, Lowercase, Prefix, Split, TokenOptions
from bbpe.spec.spec import TextRules, TokenizerSpec
from bbpe.splitting.patterns import PATTERNS

sentencepiece = pytest.importorskip("sentencepiece")
pytest.importorskip("google.protobuf")
pb2 = pytest.importorskip("sentencepiece.sentencepiece_model_pb2")

UNIGRAM, BPE = 1, 2
NORMAL, UNKNOWN, CONTROL, USER_DEFINED = 1, 2, 3, 4
ROWS = [
    ("<what>", UNKNOWN), ("<begin>", CONTROL), ("<end>", CONTROL), ("<fill>", CONTROL), ("<s>", CONTROL),
    ("@@", USER_DEFINED), ("\u2581", NORMAL), ("a", NORMAL), ("b", NORMAL), ("ab", NORMAL),
]  # fmt: skip


def model(path: Path, kind: int = BPE, **named: str) -> Path:
    """Write a model whose `trainer_spec` has these fields."""
    made = pb2.ModelProto()
    made.trainer_spec.model_type = kind
    for name, text in named.items():
        setattr(made.trainer_spec, name, text)
    for number, (piece, type_of) in enumerate(ROWS):
        made.pieces.add(piece=piece, score=-float(number), type=type_of)
    path.write_bytes(made.SerializeToString())
    return path


@pytest.mark.parametrize("kind", [UNIGRAM, BPE])
@pytest.mark.parametrize(
    ("named", "expected"),
    [
        ({"bos_piece": "<begin>", "eos_piece": "<end>", "pad_piece": "<fill>"}, ("<begin>", "<end>", "<fill>")),
        ({"bos_piece": "<end>", "eos_piece": "<begin>"}, ("<end>", "<begin>", None)),
        ({"eos_piece": "<end>"}, ("<s>", "<end>", None)),  # the usual name of a beginning is <s>
        ({"bos_piece": "a", "eos_piece": "@@", "pad_piece": "<none>"}, (None, None, None)),  # no control symbols
        ({}, ("<s>", None, None)),
    ],
    ids=str,
)
def test_tokens_are_named_as_in_the_model(
    tmp_path: Path, kind: int, named: dict[str, str], expected: tuple[str | None, ...]
) -> None:
    tok = bbpe.load(model(tmp_path / "x.model", kind, **named))
    assert (tok.bos_token, tok.eos_token, tok.pad_token, tok.unk_token) == (*expected, "<what>")
    tok.save(tmp_path / "again.model")
    again = bbpe.load(tmp_path / "again.model")
    assert (again.bos_token, again.eos_token, again.pad_token, again.unk_token) == (*expected, "<what>")
    ids = {text: number for number, (text, _) in enumerate(ROWS)}
    judge = sentencepiece.SentencePieceProcessor(model_file=str(tmp_path / "again.model"))
    found = [judge.unk_id(), judge.bos_id(), judge.eos_id(), judge.pad_id()]
    assert found == [0, *(-1 if text is None else ids[text] for text in expected)]


CHANGED: dict[str, dict[str, Any]] = {
    "prefix": {"rules__prefix": Prefix(" ")},
    "pre-tokenizer": {"rules__pre_tokenizers": (Split("a", "Isolated"),)},
    "codes": {"rules__codes": LeadingCodes(">>", "<<", 0)},
    "normalizer": {"rules__normalizers": (Lowercase(),)},
    "pattern": {"pattern": PATTERNS["gpt2"]},
    "whole pretokens": {"whole_pretokens": True},
    "option of an added token": {"token_options": {"@@": TokenOptions(lstrip=True)}},
    "option of a special token": {"token_options": {"<end>": TokenOptions(rstrip=True)}},
}


def changed(spec: TokenizerSpec, name: str) -> TokenizerSpec:
    fields = CHANGED[name]
    rules = {field.removeprefix("rules__"): value for field, value in fields.items() if field.startswith("rules__")}
    if "token_options" in fields:
        fields = {"token_options": {**spec.token_options, **fields["token_options"]}}
    plain = {field: value for field, value in fields.items() if not field.startswith("rules__")}
    return replace(spec, **plain, rules=TextRules(**{**vars_of(spec.rules), **rules}))


def vars_of(rules: TextRules) -> dict[str, Any]:
    return {name: getattr(rules, name) for name in ("normalizers", "prefix", "pre_tokenizers", "codes")}


@pytest.mark.parametrize("kind", [UNIGRAM, BPE])
@pytest.mark.parametrize("name", CHANGED)
def test_each_rule_that_a_model_cannot_hold_is_refused(tmp_path: Path, kind: int, name: str) -> None:
    spec = bbpe.load(model(tmp_path / "x.model", kind)).spec
    assert [piece.text for piece in pieces_of(spec).pieces] == [text for text, _ in ROWS]
    with pytest.raises(VocabularyError, match="cannot hold the normalizers, splits or options of tokens"):
        pieces_of(changed(spec, name))
