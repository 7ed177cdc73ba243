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

    with pytest.raises(ValueError, match=r"^parity is 'en', but tokenizer 1 makes no tokens of this corpus of 0 bytes"):
        bbpe.evaluate(TOK, texts={"de": texts(), "en": empty}, parity="en")
    assert not read


def test_a_reference_that_one_of_the_tokenizers_loses() -> None:
    """The reference has text, but a model without its characters, and without an unknown token, has none of it."""
    lossy = bbpe.Tokenizer(replace(LETTERS.spec, characters=Characters()))
    with pytest.raises(ValueError, match=r"^parity is 'en', but lossy makes no tokens of this corpus of 3 bytes"):
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
    assert "--parity is 'en.txt', but t makes no tokens of this corpus of 0 bytes" in capsys.readouterr().err


def test_bytes_per_token_of_nothing() -> None:
    """As for `evaluate`: no figure, neither in tables nor in data, figures and knees; others have theirs."""
    sizes = [*range(258, 271)]
    curve = bbpe.learning_curve(TOK, sizes, texts={"none": [""], "some": TEXTS})
    nothing = [point for point in curve if point.corpus == "none"]
    assert {(point.bytes_per_token, point.gain) for point in nothing} == {(None, None)}
    assert [row.bytes_per_token for row in bbpe.evaluate(TOK, texts=[""])] == [None]
    assert all(point.bytes_per_token for point in curve if point.corpus == "some")
    assert curve.table().rows[0] == ("none", "258", "0", "-", "-")
    assert curve.knee("none") is None
    assert curve.as_dict()["points"][0]["bytes_per_token"] is None
    assert ">none</span>" not in curve.to_html().partition("<table>")[0]
    assert ">some</span>" in curve.to_html().partition("<table>")[0]
    assert "<svg" not in bbpe.learning_curve(TOK, sizes, texts=[""]).to_html()
    of_corpus = bbpe.corpus_curve(TEXTS, 262, held_out_texts=[""])
    assert {(point.bytes_per_token, point.gain) for point in of_corpus} == {(None, None)}


@pytest.mark.parametrize(("count", "shares"), [(1, (0.125, 1.0)), (3, (0.125, 0.25, 0.5, 1.0)), (0, (0.5, 1))])
def test_shares_that_have_the_same_texts(count: int, shares: tuple[float, ...]) -> None:
    message = rf"^shares is \[.*\], and two of them are equally many of {count} texts?; expected more texts"
    with pytest.raises(ValueError, match=message):
        bbpe.corpus_curve(TEXTS[:count], 262, held_out_texts=["see"], shares=shares)


def test_equal_shares_are_one_point() -> None:
    assert len(bbpe.corpus_curve(TEXTS[:1], 262, held_out_texts=["see"], shares=(1, 1.0)).points) == 1


@pytest.mark.parametrize("texts", [[], [""]])
def test_an_empty_corpus_says_nothing_of_a_vocabulary(texts: list[str], tmp_path: Path) -> None:
    with pytest.raises(ValueError, match=r"^texts has no tokens; expected text, to find tokens that are unused"):
        bbpe.lint(TOK, texts=texts)
    (tmp_path / "a.txt").write_text("")
    with pytest.raises(ValueError, match=r"^corpus has no tokens; expected text"):
        bbpe.lint(TOK, tmp_path / "a.txt")


@pytest.mark.parametrize("size", [-1, 0, 10, 256])
def test_sizes_that_are_too_small(size: int) -> None:
    """By the argument of the call, not by that of `prune`, before any text is read."""
    special = bbpe.train_from_iterator(TEXTS, 270, special_tokens=["<s>"])
    with pytest.raises(ValueError, match=rf"^sizes is \[260, {size}\]; expected sizes of at least 257 tokens: bytes"):
        bbpe.learning_curve([TOK, special], [260, size], texts=iter([5]))
    assert bbpe.learning_curve(special, [257], texts=["see"]).points[0].tokens == 3
