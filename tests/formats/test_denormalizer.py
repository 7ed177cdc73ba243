"""A model's table for decoded text (`denormalization_rule_tsv`), and the field of Marian's fork: as SentencePiece."""

from __future__ import annotations

import io
import pickle
import random
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import bbpe
from bbpe.compat.tokenizers import DecodeStream
from bbpe.core.documents import Layout
from bbpe.errors import VocabularyError
from bbpe.formats.sentencepiece.protobuf import bytes_field, number_field
from bbpe.shards.retokenizer import Retokenizer

sentencepiece = pytest.importorskip("sentencepiece")
pb2 = pytest.importorskip("sentencepiece.sentencepiece_model_pb2")
TEXTS = ["xxl axe", "see my eyes, abcd abc ab lll llll \u00e9", "zzz q \u00e9", "abcabcd", "a  a"]
# keys that begin others, that cross pieces, that become nothing or more; U+2047 is the text of the unknown piece
RULES = {
    "x": "y", " a": "A", "abc": "", "abcd": "Z Z", "ll": "L", "\u00e9": "e\u0301", "\u2047": "?", "\ufffd": "!",
}  # fmt: skip


def trained(folder: Path, **options: Any) -> Path:
    lines = ("\t".join(" ".join(f"{ord(char):X}" for char in text) for text in rule) for rule in RULES.items())
    (folder / "rules.tsv").write_text("".join(f"{line}\n" for line in lines), "utf-8")
    out = io.BytesIO()
    sentencepiece.SentencePieceTrainer.train(
        sentence_iterator=iter(TEXTS * 20), model_writer=out, hard_vocab_limit=False, minloglevel=2,
        denormalization_rule_tsv=str(folder / "rules.tsv"), **{"vocab_size": 60, **options},
    )  # fmt: skip
    (folder / "m.model").write_bytes(out.getvalue())
    return folder / "m.model"


OPTIONS: list[dict[str, Any]] = [
    {"model_type": "bpe", "remove_extra_whitespaces": False},
    {"model_type": "unigram", "user_defined_symbols": ["ab", "qx"]},
    {"model_type": "unigram", "byte_fallback": True, "vocab_size": 300},
    {"model_type": "word", "treat_whitespace_as_suffix": True},
    {"model_type": "char"},
]


@pytest.mark.parametrize("prefix", [True, False])
@pytest.mark.parametrize("kind", ["bpe", "unigram"])
def test_documents_are_decoded_by_the_table(tmp_path: Path, kind: str, prefix: bool) -> None:
    tok = bbpe.load(trained(tmp_path, model_type=kind, add_dummy_prefix=prefix))
    rows = [tok.encode(text) for text in TEXTS]
    ids, offsets = np.concatenate(rows).astype(np.uint32), np.cumsum([0, *map(len, rows)])
    data, ends = tok._parts.decoder.documents(ids, offsets)
    texts = [data[start:end] for start, end in pairwise([0, *ends.tolist()])]
    assert texts == [tok.decode_bytes(row) for row in rows]
    assert any("Z Z" in text.decode() for text in texts)
    other = bbpe.train_from_iterator(TEXTS, 260)
    retokenizer = Retokenizer(tok, other, layout=Layout((), (), 4))
    assert list(retokenizer.texts(ids, np.diff(offsets), str)) == texts


@pytest.mark.parametrize("options", OPTIONS, ids=lambda options: "-".join(map(str, options.values())))
def test_decoded_text_is_that_of_sentencepiece(tmp_path: Path, options: dict[str, Any]) -> None:
    path = trained(tmp_path, **options)
    judge, tok, rng = sentencepiece.SentencePieceProcessor(model_file=str(path)), bbpe.load(path), random.Random(1)
    assert [tok.encode(text) for text in TEXTS] == [judge.encode(text) for text in TEXTS]
    view = tok.as_sentencepiece()
    bytes_and_controls = {i for i in range(judge.vocab_size()) if judge.is_control(i) or judge.is_byte(i)}
    plain = [i for i in range(judge.vocab_size()) if i not in bytes_and_controls]
    for _ in range(60):
        ids = rng.choices(plain, k=rng.randrange(9))
        expected = judge.decode(ids)
        assert tok.decode(ids) == view.decode(ids) == expected
        assert tok.decode_bytes(ids).decode() == expected
        assert tok.decode_batch([ids, ids]) == [expected, expected]
        decoder, cut = tok.stream_decoder(prompt=ids[:2]), tok.stream_decoder()
        begun = "".join(map(cut.push, ids[:2]))
        rest = "".join(map(cut.copy().push, ids[2:]))
        assert "".join(map(decoder.push, ids[2:])) == rest
        assert begun + rest + decoder.finish() == expected
        pieces = [judge.id_to_piece(token_id) for token_id in ids]
        assert view.decode(pieces) == judge.decode(pieces)


def test_bytes_that_are_no_text_are_mapped_as_their_mark(tmp_path: Path) -> None:
    path = trained(tmp_path, **OPTIONS[2])
    judge, tok = sentencepiece.SentencePieceProcessor(model_file=str(path)), bbpe.load(path)
    ids = [judge.piece_to_id(f"<0x{byte:02X}>") for byte in (0x41, 0xC3, 0x42)]
    assert tok.decode(ids) == tok.as_sentencepiece().decode(ids) == judge.decode(ids) == "A!B"


def test_the_view_has_no_places_in_such_a_text(tmp_path: Path) -> None:
    view = bbpe.load(trained(tmp_path, model_type="char")).as_sentencepiece()
    for kind in ("proto", "immutable_proto", "serialized_proto", "offset_mapping"):
        with pytest.raises(ValueError, match="table that changes decoded text"):
            view.decode(view.encode("xx"), return_type=kind)


def test_places_are_those_in_the_text_that_the_table_makes(tmp_path: Path) -> None:
    tok = bbpe.load(trained(tmp_path, model_type="char"))
    ids = tok.encode("xabcdx abcx ab")
    text, starts = tok.decode_with_offsets(ids)
    assert text == tok.decode(ids) == "yZ ZyAbcyAb"
    assert [tok.id_to_token(token_id) for token_id in ids[1:]] == [char.encode() for char in "xabcdx abcx ab"]
    assert starts[1:] == [0, 1, 1, 1, 1, 4, 5, 5, 6, 7, 8, 9, 9, 10]


def test_a_stream_holds_back_only_what_the_next_piece_may_change(tmp_path: Path) -> None:
    tok = bbpe.load(trained(tmp_path, model_type="char"))
    decoder = tok.stream_decoder()
    assert [decoder.push(tok.token_to_id(char)) for char in "xabxabcx"] == ["y", "", "", "aby", "", "", "", "y"]
    assert [decoder.push(tok.token_to_id(char)) for char in "ab"] + [decoder.finish()] == ["", "", "ab"]


def test_a_stream_without_an_end_is_refused(tmp_path: Path) -> None:
    tok = bbpe.load(trained(tmp_path, model_type="char"))
    with pytest.raises(ValueError, match=r"use Tokenizer\.stream_decoder\(\), and its finish\(\)"):
        DecodeStream().step(tok.as_tokenizers(), 5)


def test_saving(tmp_path: Path) -> None:
    path = trained(tmp_path, model_type="bpe")
    tok = bbpe.load(path)
    tok.save(tmp_path / "again.model")
    again, judge = bbpe.load(tmp_path / "again.model"), sentencepiece.SentencePieceProcessor()
    judge.load(str(tmp_path / "again.model"))
    assert again == tok == pickle.loads(pickle.dumps(tok))
    assert tok.fingerprint != bbpe.Tokenizer(bbpe.load(path).as_sentencepiece()._model._plain.spec).fingerprint
    assert judge.decode(judge.encode("xxl axe")) == again.decode(again.encode("xxl axe")) == "yylAye"
    for name in ("tokenizer.json", "x.gguf"):
        with pytest.raises(VocabularyError, match="holds no table for decoded text"):
            tok.save(tmp_path / name)


def test_a_table_with_rules_for_blanks_is_refused(tmp_path: Path) -> None:
    model = pb2.ModelProto.FromString(trained(tmp_path, model_type="bpe").read_bytes())
    for flag in ("add_dummy_prefix", "remove_extra_whitespaces", "escape_whitespaces"):
        changed = pb2.ModelProto()
        changed.CopyFrom(model)
        setattr(changed.denormalizer_spec, flag, True)
        (tmp_path / "x.model").write_bytes(changed.SerializeToString())
        with pytest.raises(VocabularyError, match=r"x\.model: denormalizer_spec: found a table with rules for blanks"):
            bbpe.load(tmp_path / "x.model")
    model.denormalizer_spec.precompiled_charsmap = model.denormalizer_spec.precompiled_charsmap[:-9]
    (tmp_path / "x.model").write_bytes(model.SerializeToString())
    with pytest.raises(VocabularyError, match="table of the normalizer"):
        bbpe.load(tmp_path / "x.model")


@pytest.mark.parametrize("place", ["normalizer_spec", "denormalizer_spec"])
def test_the_field_of_marians_fork(tmp_path: Path, place: str) -> None:
    """Its trainer writes 0 into all models; SentencePiece ignores the field whatever its value."""
    out, number = io.BytesIO(), {"normalizer_spec": 3, "denormalizer_spec": 5}[place]
    sentencepiece.SentencePieceTrainer.train(
        sentence_iterator=iter(TEXTS * 20), model_writer=out, model_type="unigram", vocab_size=60, minloglevel=2,
        hard_vocab_limit=False,
    )  # fmt: skip
    path = tmp_path / "source.spm"
    path.write_bytes(out.getvalue() + bytes_field(number, number_field(7, 0)))
    judge, tok = sentencepiece.SentencePieceProcessor(model_file=str(path)), bbpe.load(path)
    for text in [*TEXTS, " Is  it? \uff21", ""]:
        assert tok.encode(text) == judge.encode(text)
    for value in (1, 2):
        path.write_bytes(out.getvalue() + bytes_field(number, number_field(7, value)))
        with pytest.raises(VocabularyError, match=rf"source\.spm: {place}: field 7 is {value}, with which Marian's"):
            bbpe.load(path)
