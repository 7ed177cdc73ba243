"""Decoders whose mark is the empty string, at which HF's tokenizers puts blanks around every character."""

from __future__ import annotations

import pytest

from bbpe.pipeline.decoders import DecoderMachine, Token
from bbpe.spec.decoders import CTC, BPEDecoder, DecoderStep
from bbpe.spec.rules import Replace


@pytest.mark.parametrize(
    ("step", "ours", "theirs"),
    [(BPEDecoder(""), "ab c d", " a b  c d"), (CTC("<pad>", "", True), "abcd", " a b  c  d ")],
)
def test_an_empty_mark_does_not_part_characters(step: DecoderStep, ours: str, theirs: str) -> None:
    machine, keys = DecoderMachine([step]), ["ab", "c", "d"]
    assert "".join(machine.push(Token(key)) for key in keys) + machine.finish() == ours
    decoders = pytest.importorskip("tokenizers").decoders
    judge = decoders.BPEDecoder("") if isinstance(step, BPEDecoder) else decoders.CTC("<pad>", "", True)
    assert judge.decode(keys) == theirs


@pytest.mark.parametrize("pattern", [".", "a+", "(", "$", "\\", "[b]", "^", "a|b", "\\d"])
def test_a_text_that_is_replaced_is_no_regex(pattern: str) -> None:
    keys = ["ab.", f"{pattern}1", "aa+b", f"({pattern}", pattern * 2]
    machine = DecoderMachine([Replace(pattern, False, "<>")])
    found = "".join(machine.push(Token(key)) for key in keys) + machine.finish()
    assert found == "".join(key.replace(pattern, "<>") for key in keys)
    judge = pytest.importorskip("tokenizers").decoders.Replace(pattern, "<>")
    assert judge.decode(keys) == found
