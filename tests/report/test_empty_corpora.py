"""Reports of corpora without text: no figure is made of nothing, and what needs text says so."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

import bbpe
from bbpe.cli import main
from bbpe.spec.rules import Characters

TEXTS = ["see my eyes first, see my dogs"] * 9
TOK = bbpe.train_from_iterator(TEXTS, 270)
LETTERS = bbpe.train_from_iterator(["zq"], 4, model=bbpe.BPE(alphabet="chars", word_start="\u2581"))


@pytest.mark.parametrize("empty", [[], [""], ["", ""]])
def test_a_reference_without_tokens_is_named_before_others_are_read(empty: list[str]) -> None:
    read = []

    def texts() -> object:
        read.append(1)
        yield "see"

    with pytest.raises(ValueError, match=r"^parity is 'en', a corpus of 0 bytes of which tokenizer 1 has no tokens"):
        bbpe.evaluate(TOK, texts={"de": texts(), "en": empty}, parity="en")  # type: ignore[dict-item]
    assert not read


def test_a_reference_that_one_of_the_tokenizers_loses() -> None:
    """The reference has text, but a model without its characters, and without an unknown token, has none of it."""
    lossy = bbpe.Tokenizer(replace(LETTERS.spec, characters=Characters()))
    with pytest.raises(ValueError, match=r"^parity is 'en', a corpus of 3 bytes of which lossy has no tokens"):
        bbpe.evaluate({"all": TOK, "lossy": lossy}, texts={"en": ["see"], "zq": ["zq"]}, parity="en")


def test_the_order_of_corpora_is_as_given() -> None:
    found = bbpe.evaluate(TOK, texts={"de": ["see my"], "en": ["see"], "fr": ["", "see my eyes"]}, parity="en")
    assert [(row.corpus, row.parity) for row in found] == [
        (name, found.row("tokenizer 1", name).tokens / found.row("tokenizer 1", "en").tokens)
        for name in ("de", "en", "fr")
    ]
    assert [row.tokens for row in found] == [
        row.tokens for row in bbpe.evaluate(TOK, texts={"de": ["see my"], "en": ["see"], "fr": ["", "see my eyes"]})
    ]


def test_the_command_names_its_option(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    TOK.save(tmp_path / "t.json")
    for name, text in (("en.txt", ""), ("de.txt", "see my eyes")):
        (tmp_path / name).write_text(text)
    files = [str(tmp_path / name) for name in ("de.txt", "en.txt")]
    assert main(["eval", *files, "-t", str(tmp_path / "t.json"), "--parity", "en.txt"]) == 2
    assert "--parity is 'en.txt', a corpus of 0 bytes" in capsys.readouterr().err
