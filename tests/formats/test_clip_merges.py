"""CLIP's file has more merges than CLIP uses; its ids depend on how many these are."""

from __future__ import annotations

import itertools
from pathlib import Path

import pytest

import bbpe
from bbpe.errors import VocabularyError
from bbpe.text import BYTE_ORDER, bytes_to_alphabet


def test_clip_uses_the_first_48894_merges(tmp_path: Path) -> None:
    letters = [bytes_to_alphabet(bytes((byte,))) for byte in BYTE_ORDER]
    pairs = list(itertools.islice(itertools.product(letters, letters), 48_900))
    path = tmp_path / "bpe_simple_vocab_16e6.txt"
    lines = ['"bpe_simple_vocab_16e6.txt#version: 0.2', *map(" ".join, pairs)]
    path.write_text("\n".join(lines) + "\n", "utf-8")
    tok = bbpe.load(path, cache=False)
    assert tok.special_tokens == {"<|startoftext|>": 49_406, "<|endoftext|>": 49_407}
    assert tok.vocab_size == 49_408
    keys = tok.get_vocab()
    assert [keys.get("".join(pair)) for pair in pairs[48_892:48_896]] == [49_404, 49_405, None, None]


@pytest.mark.parametrize("line", ["e", "e n s", "e  n", " e n", "e n ", ""])
def test_a_line_that_is_no_merge_has_its_number(tmp_path: Path, line: str) -> None:
    path = tmp_path / "bpe_simple_vocab_16e6.txt"
    path.write_text(f'"bpe_simple_vocab_16e6.txt#version: 0.2\ns e\n{line}\nm y</w>\n', "utf-8")
    with pytest.raises(VocabularyError, match=r"line 3: found .*; expected two symbols with a blank between"):
        bbpe.load(path)


@pytest.mark.parametrize(
    ("texts", "around"),
    [
        (None, (514, 515)), (["<|startoftext|>", "<|endoftext|>"], (600, 601)), (["<|startoftext|>"], ()),
        (["<|endoftext|>"], ()), ([], ()), (["<s>"], ()),
    ],
)  # fmt: skip
def test_ids_are_put_around_a_text_where_both_tokens_are_there(
    tmp_path: Path, texts: list[str] | None, around: tuple[int, ...]
) -> None:
    path = tmp_path / "bpe_simple_vocab_16e6.txt"
    path.write_text('"bpe_simple_vocab_16e6.txt#version: 0.2\ns e\nse e</w>\n', "utf-8")
    tok = bbpe.load(path, special_tokens=None if texts is None else {text: 600 + i for i, text in enumerate(texts)})
    assert tok.encode("SEE  see") == [513, 513]
    assert tok.encode("see", add_special_tokens=True) == [*around[:1], 513, *around[1:]]
