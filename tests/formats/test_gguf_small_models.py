"""Small GGUF models of pieces: control tokens that are ordinary ones too, and pieces of equal scores."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from gguf_files import PREFIX, gguf, piece_vocabulary

import bbpe


def with_pieces(model: str, *pieces: tuple[str, float, int]) -> dict[str, Any]:
    """The values of a small vocabulary, and of more pieces at its end."""
    plain = piece_vocabulary(model)
    rows = {"tokens": 0, "scores": 1, "token_type": 2}
    return piece_vocabulary(model, **{name: [*plain[PREFIX + name], *(each[at] for each in pieces)]
                                      for name, at in rows.items()})  # fmt: skip


@pytest.mark.parametrize("model", ["llama", "t5"])
def test_an_ordinary_piece_that_ends_a_turn_is_a_special_token_too(tmp_path: Path, model: str) -> None:
    letters = [(letter, -99.0, 1) for letter in "<|_>mdsr"]  # those of BPE's pieces are pieces
    values = with_pieces(model, ("<|im_end|>", -3.0, 1), ("<|im_start|>", -3.0, 1), ("<|end|>", -3.0, 1), *letters)
    path = tmp_path / "x.gguf"
    path.write_bytes(gguf(values))
    tok = bbpe.load(path)
    first = values[PREFIX + "tokens"].index("<|im_end|>")
    assert tok.special_tokens == {"<unk>": 0, "<s>": 1, "</s>": 2, "<|im_end|>": first, "<|end|>": first + 2}
    assert tok.encode("<|im_end|>the<|end|>", allowed_special="all")[::len(tok.encode("the")) + 1] == [first, first + 2]
    assert bbpe.load(path, special_tokens={"<s>": 1}).special_tokens == {"<s>": 1}


@pytest.mark.parametrize(
    ("text", "pieces"),
    [("cab", ["ca", "b"]), ("abca", ["ab", "ca"]), ("cabca", ["ca", "b", "ca"]), ("xcab", ["x", "ca", "b"])],
)
@pytest.mark.parametrize("order", [["ab", "ca"], ["ca", "ab"]])
def test_of_equal_pairs_the_leftmost_merges_first(
    tmp_path: Path, text: str, pieces: list[str], order: list[str]
) -> None:
    values = with_pieces("llama", *((piece, -1.5, 1) for piece in order), ("c", -99.0, 1), ("x", -99.0, 1))
    path = tmp_path / "x.gguf"
    path.write_bytes(gguf({**values, PREFIX + "add_space_prefix": False}))
    assert [bbpe.load(path).id_to_token(token_id) for token_id in bbpe.load(path).encode(text)] == [
        piece.encode() for piece in pieces
    ]
