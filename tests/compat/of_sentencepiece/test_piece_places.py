"""The view for `sentencepiece` on the edges of texts: places of removed characters, symbols with a blank, keywords."""

from __future__ import annotations

import io
from typing import Any

import pytest

from bbpe.compat.sentencepiece import SentencePieceProcessor

sentencepiece = pytest.importorskip("sentencepiece")
LINES = ["see my eyes first", "see my dogs", "the ing the in 12"] * 20
TEXTS = [
    "\x01\x02\x03\x1b[0m", "\x01a", "  see", "\x01 see\x02 my", "see \x01", "see\x01", " see  \x01 ", "\t see\x01 \x01",
    "a", "see my",
]  # fmt: skip


def both(**options: Any) -> tuple[Any, SentencePieceProcessor]:
    out = io.BytesIO()
    sentencepiece.SentencePieceTrainer.train(
        sentence_iterator=iter(LINES), model_writer=out, vocab_size=60, minloglevel=2, hard_vocab_limit=False, **options
    )
    judge = sentencepiece.SentencePieceProcessor(model_proto=out.getvalue())
    return judge, SentencePieceProcessor(model_proto=out.getvalue())


@pytest.mark.parametrize("kind", ["unigram", "bpe", "char"])
@pytest.mark.parametrize("is_suffix", [False, True])
@pytest.mark.parametrize("squeezes", [False, True])
@pytest.mark.parametrize("prepends", [False, True])
def test_places_of_removed_characters(kind: str, is_suffix: bool, squeezes: bool, prepends: bool) -> None:
    judge, ours = both(
        model_type=kind, treat_whitespace_as_suffix=is_suffix, remove_extra_whitespaces=squeezes,
        add_dummy_prefix=prepends,
    )  # fmt: skip
    for text in TEXTS:
        normalized, places = judge.normalize(text, with_offsets=True)
        assert ours.normalize(text, with_offsets=True) == (normalized, [*places]), text
        spans = ours.encode(text, out_type="immutable_proto").pieces
        at = 0
        for part, piece in zip(spans, judge.encode(text, out_type=str), strict=True):
            assert (part.piece, part.begin, part.end) == (piece, places[at], places[at + len(piece)]), text
            assert part.surface == text[part.begin : part.end]
            at += len(piece)


def test_symbols_of_the_user_with_a_blank() -> None:
    for kind in ("unigram", "bpe", "char"):
        options = {"user_defined_symbols": ["foo bar"], "control_symbols": ["c d"], "remove_extra_whitespaces": False}
        judge, ours = both(model_type=kind, **options)
        ids = range(judge.get_piece_size())
        assert [ours.IsControl(i) for i in ids] == [judge.IsControl(i) for i in ids]
        assert [ours.decode([i]) for i in ids] == [judge.decode([i]) for i in ids]
        for text in ("foo bar", "see foo bar c d"):
            assert ours.encode(text) == judge.encode(text)
        again = SentencePieceProcessor(model_proto=ours.serialized_model_proto())
        assert not again.IsControl(ours.PieceToId("foo bar"))


def test_both_names_of_the_kind_of_results() -> None:
    judge, ours = both()
    for kind in (int, str):
        assert ours.encode("see my", return_type=kind) == judge.encode("see my", out_type=kind)
        assert ours.NBestEncode("see my", 2, return_type=kind) == ours.NBestEncode("see my", 2, out_type=kind)
    ids = judge.encode("see my")
    assert ours.decode(ids, return_type=bytes) == ours.DecodeIds(ids, return_type=bytes) == b"see my"
    made = SentencePieceProcessor(model_proto=ours.serialized_model_proto(), return_type=str)
    assert made.encode("see") == judge.encode("see", out_type=str)
    for call in (ours.encode, ours.NBestEncode):
        with pytest.raises(ValueError, match="both out_type and return_type"):
            call("see", out_type=int, return_type=int)
    with pytest.raises(ValueError, match="both out_type and return_type"):
        ours.decode(ids, out_type=str, return_type=str)
