"""Models that SentencePiece trains: 27 combinations of type, normalization and options, through `as_sentencepiece`."""

from __future__ import annotations

import itertools
import random
from pathlib import Path
from typing import Any

import pytest

import bbpe

sentencepiece = pytest.importorskip("sentencepiece")
pytest.importorskip("google.protobuf")
from trained_pieces import trained  # noqa: E402 - it imports sentencepiece

LINES = ["see my eyes first", "see my dogs", "I have 12 dogs, naïve café 中文", "ﬁne  Ünïcode ＦＵＬＬ", "the end"] * 20
OPTIONS: list[dict[str, Any]] = [
    {},
    {"add_dummy_prefix": False, "remove_extra_whitespaces": False},
    {
        "byte_fallback": True, "user_defined_symbols": ["<sep>", "中文"], "remove_extra_whitespaces": False,
        "split_digits": True, "vocab_size": 340,
    },
]  # fmt: skip
RULES = ("identity", "nmt_nfkc", "nmt_nfkc_cf")
CASES = list(itertools.product(("unigram", "bpe", "char"), RULES, OPTIONS))
_PARTS = [*"aesmy dogs  12,ïé中文東\t\n▁ﬁ\u3000İ", "see", "my", " dogs", "<sep>", "ＦＵ", "e\u0301", "<s>", "中文"]


def texts(count: int) -> list[str]:
    rng = random.Random(11)
    soups = ["".join(rng.choices(_PARTS, k=rng.randint(1, 14))) for _ in range(count)]
    return ["", " ", "see my", "  see  my  ", "<unk> ⁇ ", *soups]


def compare(folder: Path, case: tuple[str, str, dict[str, Any]], count: int) -> None:
    kind, rule, options = case
    options = {"vocab_size": 75, **options}
    size = options.pop("vocab_size")
    path = trained(folder / "m.model", LINES, size, model_type=kind, normalization_rule_name=rule, **options)
    ours, theirs = bbpe.load(path).as_sentencepiece(), sentencepiece.SentencePieceProcessor(model_file=str(path))

    def scores(rows: list[list[int]]) -> list[float]:
        return [round(sum(map(theirs.get_score, row)), 3) for row in rows]

    for text in texts(count):
        ids, pieces = theirs.encode(text), theirs.encode(text, out_type=str)
        assert ours.encode(text) == ids, text
        assert ours.encode(text, out_type=str) == pieces, text
        assert ours.decode(ids) == theirs.decode(ids), text
        assert ours.decode(pieces) == theirs.decode(pieces), text
        if kind == "unigram":  # of equal scores either may be first
            best, expected = ours.nbest_encode_as_ids(text, 5), theirs.nbest_encode_as_ids(text, 5)
            assert best[:1] == expected[:1]
            assert best == expected or scores(best) == pytest.approx(scores(expected), abs=2e-3), text


def test_some_combinations(tmp_path: Path) -> None:
    for case in CASES[1::8]:
        compare(tmp_path, case, 25)


@pytest.mark.long
@pytest.mark.parametrize("number", range(len(CASES)))
def test_all_combinations(tmp_path: Path, number: int) -> None:
    compare(tmp_path, CASES[number], 300)
