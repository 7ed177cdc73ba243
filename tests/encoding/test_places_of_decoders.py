"""Where each id begins in a decoded text, for decoders that look at more than one token."""

from __future__ import annotations

import pytest

import bbpe
from bbpe.spec.decoders import CTC, Blanks, DecoderStep, Fuse, Strip, WordPiece
from bbpe.spec.rules import Characters
from bbpe.spec.spec import make_spec
from bbpe.splitting.patterns import PATTERNS

KEYS = ["<pad>", "see", "|", "a", "\u4e16", "##s", ".", " "]
PAD, SEE, BAR, A, WORLD, S, DOT, BLANK = range(1, 9)


@pytest.mark.parametrize(("decoder", "ids", "text", "places"), [
    # what is dropped has the place of what follows it
    ((CTC("<pad>", "|", True),), [SEE, SEE, BAR, A, PAD, A, A], "see aa", [0, 3, 3, 4, 5, 5, 6]),
    ((CTC("<pad>", "|", True),), [PAD, PAD, WORLD, PAD, DOT], "\u4e16.", [0, 0, 0, 1, 1]),
    ((CTC("<pad>", "|", False),), [A, BAR, A], "a|a", [0, 1, 2]), ((CTC("<pad>", "|", False),), [PAD], "", [0]),
    ((Blanks(),), [SEE, WORLD, A], "see \u4e16 a", [0, 3, 5]), ((Blanks(),), [A], "a", [0]),
    ((WordPiece("##", True),), [SEE, S, DOT, A], "sees. a", [0, 3, 4, 5]),
    ((WordPiece("##", False),), [SEE, S, DOT, A], "sees . a", [0, 3, 4, 6]),
    ((Strip(" ", 1, 0),), [BLANK, A, BLANK, A], "aa", [0, 0, 1, 1]),
    ((Fuse(), Strip(" ", 1, 0)), [BLANK, A, BLANK, WORLD, A], "a \u4e16a", [0, 0, 1, 2, 3]),
    ((), [WORLD, A, WORLD], "\u4e16a\u4e16", [0, 1, 2]),
])  # fmt: skip
def test_the_first_character_of_each_id(
    decoder: tuple[DecoderStep, ...], ids: list[int], text: str, places: list[int]
) -> None:
    tok = bbpe.Tokenizer(make_spec(
        {number: key.encode() for number, key in enumerate(KEYS, 1)}, [], pattern=PATTERNS["none"],
        special_tokens={"<unk>": 0}, characters=Characters(unknown=0), decoder=decoder,
    ))  # fmt: skip
    assert tok.decode(ids) == "".join(tok.stream_decoder().stream(ids)) == text
    assert tok.decode_with_offsets(ids) == (text, places)
