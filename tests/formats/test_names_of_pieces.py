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


def ends(path: Path) -> list[int]:
    """The ids of the ends of texts, padding and the unknown piece in SentencePiece."""
    judge = sentencepiece.SentencePieceProcessor(model_file=str(path))
    return [judge.bos_id(), judge.eos_id(), judge.pad_id(), judge.unk_id()]


def check_names(path: Path, expected: tuple[str | None, ...]) -> None:
    tok = bbpe.load(path)
    assert (tok.bos_token, tok.eos_token, tok.pad_token, tok.unk_token) == (*expected, "<what>")
    ids = {text: number for number, (text, _) in enumerate(ROWS)}
    assert ends(path) == [*(-1 if text is None else ids[text] for text in expected), 0]


NAMED: list[tuple[dict[str, str], tuple[str | None, ...]]] = [
    ({"bos_piece": "<begin>", "eos_piece": "<end>", "pad_piece": "<fill>"}, ("<begin>", "<end>", "<fill>")),
    ({"bos_piece": "<end>", "eos_piece": "<begin>"}, ("<end>", "<begin>", None)),
    ({"eos_piece": "<end>"}, ("<s>", "<end>", None)),  # the usual name of a beginning is <s>
    ({}, ("<s>", None, None)),
    ({"bos_piece": "a", "eos_piece": "@@", "pad_piece": "<none>"}, (None, None, None)),  # no control symbols
]


@pytest.mark.parametrize("kind", [UNIGRAM, BPE])
@pytest.mark.parametrize(("named", "expected"), NAMED, ids=str)
def test_tokens_are_named_as_in_the_model(
    tmp_path: Path, kind: int, named: dict[str, str], expected: tuple[str | None, ...]
) -> None:
    check_names(model(tmp_path / "x.model", kind, **named), expected)


@pytest.mark.parametrize("kind", [UNIGRAM, BPE])
@pytest.mark.parametrize(("named", "expected"), NAMED[:4], ids=str)
def test_a_written_model_names_the_same_tokens(
    tmp_path: Path, kind: int, named: dict[str, str], expected: tuple[str | None, ...]
) -> None:
    bbpe.load(model(tmp_path / "x.model", kind, **named)).save(tmp_path / "again.model")
    check_names(tmp_path / "again.model", expected)


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


@pytest.mark.parametrize(
    ("kind", "name"),
    [*((BPE, name) for name in CHANGED), *((UNIGRAM, name) for name in CHANGED if name != "option of an added token")],
)
def test_each_rule_that_a_model_cannot_hold_is_refused(tmp_path: Path, kind: int, name: str) -> None:
    spec = bbpe.load(model(tmp_path / "x.model", kind)).spec
    # in a model of the type Unigram a symbol of the user is a piece
    assert dict(spec.added_tokens) == ({} if kind == UNIGRAM else {"@@": 5})
    assert [piece.text for piece in pieces_of(spec).pieces] == [text for text, _ in ROWS]
    with pytest.raises(VocabularyError, match="cannot hold the normalizers, splits or options of tokens"):
        pieces_of(changed(spec, name))
