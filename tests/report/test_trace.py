"""Traces: the last state of every model is what `encode` returns, and the classic examples take their known steps."""

from __future__ import annotations

import json
import random
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest
from rule_files import named, of_characters, replaced
from strings import adversarial_strings
from vocabularies import MERGES, document, small_spec

import bbpe
from bbpe.report.trace import Trace

TEXTS = ["see my eyes first, see my dogs", "low lower lowest newest widest", "世界 é 123 it's"] * 3


def made(**changes: Any) -> dict[str, Any]:
    return document(**changes)


FILES: dict[str, dict[str, Any]] = {
    "bytes": made(),
    "whole": made(model__ignore_merges=True),
    "lowercase": made(normalizer={"type": "Lowercase"}),
    "fallback": of_characters(),
    "unknown": of_characters(fallback=False, model__byte_fallback=False, model__unk_token="<unk>"),
    "fused": of_characters(fallback=False, model__byte_fallback=False, model__unk_token="<unk>", model__fuse_unk=True),
    "none": of_characters(fallback=False, model__byte_fallback=False, model__unk_token=None),
    "spaces": of_characters(
        normalizer=named("Sequence", normalizers=[named("Prepend", prepend="▁"), replaced(" ", "▁")])
    ),
}
TRAINED: dict[str, Any] = {
    "trained": {},
    "wordpiece": {"model": "wordpiece"},
    "unigram": {"model": "unigram"},
    "unigram without bytes": {"model": bbpe.Unigram(byte_fallback=False)},
    "end of word": {"model": bbpe.BPE(alphabet="chars", end_of_word="</w>")},
    "word start": {"model": bbpe.BPE(alphabet="chars", word_start="▁")},
    "prefix": {"model": bbpe.WordPiece(score="frequency")},
}


def tokenizer(kind: str, tmp_path: Path) -> bbpe.Tokenizer:
    if kind in TRAINED:
        size = {"wordpiece": 60, "prefix": 60, "end of word": 60, "word start": 60, "unigram without bytes": 60}
        return bbpe.train_from_iterator(TEXTS, size.get(kind, 320), **TRAINED[kind])
    if kind == "ranks":
        vocab = {token: number for number, token in small_spec(MERGES).vocab.items()}
        return bbpe.Tokenizer.from_ranks(vocab, pattern="cl100k", special_tokens={"<s>": 400})
    (tmp_path / "t.json").write_text(json.dumps(FILES[kind]))
    return bbpe.load(tmp_path / "t.json")


def spelled(trace: Trace, tok: bbpe.Tokenizer) -> list[bytes]:
    """The tokens that the steps end with, where each is in the vocabulary."""
    last = [each.steps[-1].symbols if each.steps else each.start for each in trace.pretokens]
    return [symbol for symbols in last for symbol in symbols]


@pytest.mark.parametrize("kind", [*FILES, *TRAINED, "ranks"])
def test_the_last_state_is_what_encode_returns(kind: str, tmp_path: Path) -> None:
    tok = tokenizer(kind, tmp_path)
    rng = random.Random(kind)
    alphabet = [*"theing 12aA中é.,▁\n", "the ", "see my", " dogs", "aaaa", "😀"]
    texts = ["", "the thing", *TEXTS[:3], *adversarial_strings(10, seed=3)]
    texts += ["".join(rng.choices(alphabet, k=rng.randint(1, 14))) for _ in range(15)]
    for text in texts:
        trace = tok.trace(text)
        assert trace.ids == tok.encode(text), text
        for each in trace.pretokens:
            if each.kind == "merges":
                ends = each.steps[-1].symbols if each.steps else each.start
                known = [tok.spec.vocab.get(token_id) for token_id in each.ids]
                assert len(ends) == len(each.ids), (text, ends, known)
                same = [token in (symbol, None) or len(symbol) == 1 or token_id == tok.unk_token_id
                        for symbol, token, token_id in zip(ends, known, each.ids, strict=True)]  # fmt: skip
                assert all(same), (text, ends, known)
            if each.kind == "longest" and each.steps:
                assert tuple(step.id for step in each.steps) == each.ids
                assert each.steps[-1].symbols == tuple(tok.spec.vocab[token_id] for token_id in each.ids)
            if each.kind == "lattice":
                best = [edge for edge in each.edges if edge.is_best]
                assert tuple(edge.id for edge in sorted(best, key=lambda edge: edge.start)) == each.ids


def test_special_tokens(tmp_path: Path) -> None:
    tok = tokenizer("ranks", tmp_path)
    assert [each.kind for each in tok.trace("the<s>", allowed_special="all").pretokens] == ["whole", "special"]
    assert tok.trace("the<s>", allowed_special={"<s>"}).ids == tok.encode("the<s>", allowed_special="all")


def test_lowest_and_newest() -> None:
    """Sennrich et al., 2016: low 5 times, lower 2, newest 6, widest 3; of equal pairs subword-nmt takes "s t</w>"."""
    text = " ".join(["low"] * 5 + ["lower"] * 2 + ["newest"] * 6 + ["widest"] * 3)
    tok = bbpe.train_from_iterator([text], 15, model=bbpe.BPE(alphabet="chars", end_of_word="</w>"))
    newest = tok.trace("newest").pretokens[0]
    assert newest.start == (b"n", b"e", b"w", b"e", b"s", b"t</w>")
    assert [step.made for step in newest.steps][:2] == [b"st</w>", b"est</w>"]
    lowest = tok.trace("lowest").pretokens[0]
    assert {step.made for step in lowest.steps} == {b"st</w>", b"est</w>", b"lo"}
    assert lowest.steps[-1].symbols == (b"lo", b"w", b"est</w>")


def test_hug_and_pug() -> None:
    """The example of HF's course: hug 10 times, pug 5, pun 12, bun 4, hugs 5."""
    words = {"hug": 10, "pug": 5, "pun": 12, "bun": 4, "hugs": 5}
    tok = bbpe.train_from_counts(words, 256 + 3)
    assert [step.made for step in tok.trace("hugs").pretokens[0].steps] == [b"ug", b"hug"]
    assert [step.symbols for step in tok.trace("pug").pretokens[0].steps] == [(b"p", b"ug")]
    assert [step.symbols for step in tok.trace("bun").pretokens[0].steps] == [(b"b", b"un")]


@pytest.mark.parametrize("model", ["bpe", "wordpiece", "unigram", bbpe.BPE(alphabet="chars")])
def test_nothing_may_be_before_a_special_token(model: Any) -> None:
    tok = bbpe.train_from_iterator(TEXTS, 320, model=model, special_tokens=["<s>"]).with_added_tokens(["zz"])
    for text in ("<s>low", "<s><s>", "low<s><s> zz", "zz", "zzzz low", ""):
        assert tok.trace(text, allowed_special="all").ids == tok.encode(text, allowed_special="all")


def test_views() -> None:
    tok = bbpe.train_from_iterator(TEXTS, 300)
    trace = tok.trace("low <b>")
    assert "rank" in str(trace)
    picture = ElementTree.fromstring(trace.to_svg())
    texts = [text.text for text in picture.iter("{http://www.w3.org/2000/svg}text")]
    assert "low" in texts
    assert "<b>" not in trace.to_html().replace("&lt;b&gt;", "")
    shown = trace._repr_html_()
    assert "overflow-x: auto" in shown
    assert trace.to_svg() in shown
    assert "prefers-color-scheme" not in shown  # a notebook has a theme of its own, and its ink
    assert "currentColor" in shown
    json.dumps(trace.as_dict())
    lattice = bbpe.train_from_iterator(TEXTS, 320, model="unigram").trace("low é")
    ElementTree.fromstring(lattice.to_svg())
    assert "*" in str(lattice)
    with pytest.raises(ValueError, match="expected at most 4,096"):
        tok.trace("a" * 5000)


def test_pieces() -> None:
    tok = bbpe.train_from_iterator(TEXTS, 300, special_tokens=["<s>"])
    assert tok.pieces("<s>a", allowed_special="all") == ["<s>", "a"]
    assert tok.pieces("ü") == ["<0xC3>", "<0xBC>"]
    assert "".join(tok.pieces("see my dogs")) == "see my dogs"


def test_longest_matches_and_what_is_left() -> None:
    tok = bbpe.train_from_iterator(TEXTS, 60, model="wordpiece")
    (found,) = tok.trace("lowestdogs").pretokens
    texts = [tok.spec.vocab[token_id].removeprefix(b"##") for token_id in found.ids]
    assert len(texts) > 2
    assert (found.kind, found.start, b"".join(texts)) == ("longest", (b"lowestdogs",), b"lowestdogs")
    for place, step in enumerate(found.steps):
        made = tuple(tok.spec.vocab[token_id] for token_id in found.ids[: place + 1])
        rest = b"lowestdogs"[len(b"".join(texts[: place + 1])) :]
        assert (step.place, step.made, step.rank) == (place, made[-1], None)
        assert step.symbols == (*made, *([rest] if rest else []))


def test_lines_of_a_lattice_mark_the_best_path() -> None:
    trace = bbpe.train_from_iterator(TEXTS, 320, model="unigram").trace("see")
    (each,) = trace.pretokens
    expected = [("*" if edge.is_best else " ", f"{edge.start}-{edge.end}", f"{edge.score:.3f}") for edge in each.edges]
    found = [(row[2], row[4:11].replace(" ", ""), row[12:].split()[0]) for row in str(trace).splitlines() if "-" in row]
    assert found == expected
    assert {mark for mark, _, _ in found} == {"*", " "}
