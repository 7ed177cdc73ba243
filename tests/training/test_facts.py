"""Bounds of vocabularies, facts that training tells of them, and where an option belongs."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import bbpe
from bbpe.core.count import PretokenTable
from bbpe.progress import Progress
from bbpe.spec.spec import MAX_ID
from bbpe.training.train import uses_in


def test_a_vocabulary_may_have_the_highest_id_and_no_more() -> None:
    assert bbpe.BPE().plan(MAX_ID + 1, (), None).merge_limit == MAX_ID + 1 - 256  # type: ignore[union-attr]
    for model in (bbpe.BPE(), bbpe.WordPiece(), bbpe.Unigram()):
        with pytest.raises(ValueError, match=f"vocab_size is {MAX_ID + 2}; expected at most {MAX_ID + 1}"):
            model.plan(MAX_ID + 2, (), None)


@pytest.mark.parametrize("half", [chr(0xD800), chr(0xDBFF), chr(0xDC00), chr(0xDFFF), "a\ude00b"])
def test_half_a_pair_is_no_special_token(half: str) -> None:
    for model in ("bpe", "wordpiece", "unigram"):
        with pytest.raises(ValueError, match=r"special_tokens: .* holds half a surrogate pair"):
            bbpe.train_from_iterator(["text"], 400, model=model, special_tokens=["<s>", half])  # type: ignore[arg-type]
    assert bbpe.train_from_iterator(["text"], 400, special_tokens=["\ud7ff\ue000"]).special_tokens


def test_facts_are_told_only_where_there_are_any() -> None:
    notes: list[str] = []
    counting = bbpe.Counting(progress=lambda report: notes.append(report.note if report.phase == "vocabulary" else ""))
    fewer = "the texts have no more parts that repeat"
    for model, texts, size, told in (
        ("bpe", ["ab ab"], 257, ["the longest token has 2 bytes: 'ab'"]),
        ("bpe", ["ab ab"], 258, ["the longest token has 3 bytes: ' ab'"]),
        ("bpe", ["abc abd"], 257, ["the longest token has 2 bytes: 'ab'"]),
        ("bpe", ["ab ab"], 400, ["258 tokens, not 400: no more pairs occur often enough", "the longest token has 3"]),
        ("unigram", ["ab ab"], 400, [f"261 tokens, not 400: {fewer}", "the longest token has "]),
        ("bpe", ["x" * 64] * 2, 262, ["the longest token has 64 bytes: 'xxx", "5 tokens are only"]),
        ("bpe", ["x" * 128] * 2, 263, [
            "warning: the longest token has 128 bytes: 'xxx", "max_token_length (", "6 tokens are only",
        ]),
    ):
        notes.clear()
        bbpe.train_from_iterator(texts, size, model=model, counting=counting)
        found = [note for note in notes if note]
        assert len(found) == len(told), found
        assert all(note.startswith(start) for note, start in zip(found, told, strict=True)), found


def test_uses_are_counted_for_each_pretoken() -> None:
    """Of pretokens of one token and of several, by how often each stands."""
    counts = {b"ab": 5, b"abab": 3, b"c": 2, b"": 7, b"abc": 1}
    tok = bbpe.train_from_counts({"ab": 9}, 257)
    given = bbpe.count_from_iterator([], pattern="gpt2")
    table = PretokenTable()
    for pretoken, count in counts.items():
        table.add(pretoken, count)
    used = uses_in(tok, bbpe.PretokenCounts.of_table(table, given.spec))
    named = {(tok.id_to_token(token_id) or b""): int(used[token_id]) for token_id in np.flatnonzero(used).tolist()}
    assert named == {b"ab": 5 + 2 * 3 + 1, b"c": 3}


@pytest.mark.parametrize("name", ["train", "train_from_iterator", "train_from_counts"])
def test_an_option_that_is_elsewhere_is_placed(name: str) -> None:
    counting = "" if name == "train_from_counts" else ": counting=bbpe.Counting(sample=0.5)"
    for options, place in (
        ({"score": "pmi"}, "; it is an option of bbpe.WordPiece: model=bbpe.WordPiece(score='pmi')"),
        ({"lowercase": True}, "; it is an option of bbpe.BPE and bbpe.WordPiece: model=bbpe.BPE(lowercase=True)"),
        ({"sample": 0.5}, f"; it is an option of bbpe.Counting{counting}"),
        ({"patern": "gpt2"}, "; did you mean 'pattern'?"),
        ({"zzz": 1}, ""),
    ):
        with pytest.raises(TypeError) as caught:
            getattr(bbpe, name)(["a"], 300, **options)
        (option,) = options
        assert str(caught.value) == f"{name}() got an unexpected keyword argument '{option}'{place}"


def test_special_tokens_of_counts_are_those_of_the_tokenizer() -> None:
    counts = bbpe.count_from_iterator(["ab<s>ab"], pattern="gpt2", special_tokens=["<s>", "<t>"])
    assert bbpe.train_from_counts(counts, 259).special_tokens == {"<s>": 257, "<t>": 258}
    assert bbpe.train_from_counts(counts, 259, special_tokens=[]).special_tokens == {}
    assert bbpe.train_from_counts({"ab": 2}, 259).special_tokens == {}


def test_facts_are_reports_without_progress() -> None:
    reports: list[Any] = []
    bbpe.train_from_iterator(["ab ab"], 257, counting=bbpe.Counting(progress=reports.append))
    told = [report for report in reports if report.note and report.phase == "vocabulary"]
    assert told == [Progress("vocabulary", 0, None, "tokens", "the longest token has 2 bytes: 'ab'")]
