"""How many digits the numbers of minbpe's models may have, and lines that end as on Windows."""

from __future__ import annotations

from pathlib import Path

import pytest

import bbpe
from bbpe.errors import VocabularyError


def model(path: Path, *lines: str, end: str = "\n") -> Path:
    path.write_bytes("".join(line + end for line in ("minbpe v1", "", *lines)).encode())
    return path


@pytest.mark.parametrize("end", ["\n", "\r\n"])
@pytest.mark.parametrize(
    "lines",
    [
        ("1", "<|x|> 500", "97 98"), ("000001", "<|x|> 500", "97 98"), ("1", "<|x|> 000000500", "97 98"),
        ("1", "<|x|> 500", "000000097 000000098"),
    ],
)  # fmt: skip
def test_numbers_may_have_zeros_in_front(tmp_path: Path, lines: tuple[str, ...], end: str) -> None:
    tok = bbpe.load(model(tmp_path / "x.model", *lines, end=end))
    assert (tok.special_tokens, tok.encode("ab"), tok.pattern) == ({"<|x|>": 500}, [256], "none")


@pytest.mark.parametrize(
    ("lines", "problem"),
    [
        (("0000001", "<|x|> 500"), "line 3: found '0000001'; expected the number of special tokens"),
        (("-1", "97 98"), "line 3: found '-1'; expected the number"),
        (("\u0661", "<|x|> 500"), "line 3: found '\u0661'; expected the number"),
        (("1", "<|x|> 0000000500"), "line 4: found '<|x|> 0000000500'; expected a special token"),
        (("1", "<|x|> -5"), "line 4: found '<|x|> -5'; expected a special token"),
        (("1", " 500"), "line 4: found ' 500'; expected a special token"),
        (("1", "<|x|> 500", "97 0000000098"), "line 5: found '97 0000000098'; expected the two ids"),
        (("3", "<|x|> 500"), "the end: found 1 special tokens; expected 3"),
        (("1",), "the end: found 0 special tokens; expected 1"),
        (("0", "97 98 99"), "line 4: found '97 98 99'; expected the two ids"),
        (("0", "97  98"), "line 4: found '97  98'; expected the two ids"),
        (("0", "97 98", "256 257"), "line 5: merge of 256 and 257: expected ids below 257"),
        (("0", "97 98", "", "97 99"), "line 5: found ''; expected the two ids"),
    ],
)
def test_other_numbers_are_refused_with_their_line(tmp_path: Path, lines: tuple[str, ...], problem: str) -> None:
    with pytest.raises(VocabularyError) as caught:
        bbpe.load(model(tmp_path / "x.model", *lines))
    assert problem in str(caught.value)
