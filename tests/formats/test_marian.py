"""Folders of Marian: the ids and texts that `MarianTokenizer` of `transformers` 5.24 makes of them, or a refusal."""

from __future__ import annotations

import json
import os
import pickle
import random
import warnings
from pathlib import Path
from typing import Any

import pytest
from class_folders import model
from public_texts import public_text

import bbpe
from bbpe.errors import VocabularyError
from bbpe.reference.pipeline import SlowPipeline

sentencepiece = pytest.importorskip("sentencepiece")
pytest.importorskip("sentencepiece.sentencepiece_model_pb2")

# pieces of the source, without the first ones and `dogs`; then pieces of a target and codes
OWN = [*"</s> <unk> in the ▁the ▁see ▁my ▁in see dog th se my ▁t ▁d ee do gs ▁".split(), *"abcdefghimnostuvy,.<>/"]
KEYS = [*OWN, "東京", "東", "▁die", "die", "Ж", "ЖЖ", ">>fr<<", ">>a b<<", "▁▁x", ">>", "<s>", "<pad>"]
TEXTS = {
    "see my dogs": [5, 6, 18, 1, 0],
    "": [0],
    "  See  the\tTHE ": [18, 1, 15, 4, 18, 1, 1, 0],
    "東京 東 東京東 Ж ЖЖ ЖЖЖ": [18, 41, 18, 42, 18, 1, 18, 45, 18, 46, 18, 1, 0],
    ">>fr<< see": [47, 5, 0],
    ">>fr<<see": [47, 5, 0],
    ">>fr<<": [47, 0],
    ">>a b<<>>fr<< in": [48, 18, 39, 39, 24, 1, 38, 38, 7, 0],
    ">>zz<< in": [1, 7, 0],
    ">><<<in": [1, 18, 38, 2, 0],
    " >>fr<< in": [18, 39, 39, 24, 1, 38, 38, 7, 0],
    "in >>fr<<": [7, 18, 39, 39, 24, 1, 38, 38, 0],
    ">>fr< in": [18, 39, 39, 24, 1, 38, 7, 0],
    "in</s>>>fr<<the<pad><unk>in<unk><unk>": [7, 0, 47, 4, 52, 1, 7, 1, 1, 0],
    "ＦＵＬＬ ﬁ x 🤗": [18, 1, 1, 1, 18, 24, 27, 18, 1, 18, 1, 0],
    "dogsdogs zzdogs": [18, 1, 1, 18, 1, 1, 0],
    "<s>the": [18, 38, 31, 39, 3, 0],
}
#: Decoded text of ids, with special tokens.
DECODED = {
    (5, 6, 17, 0): "see mygs</s>",
    (47, 5, 0): ">>fr<< see</s>",
    (1, 4, 1, 1, 43, 0, 0): "<unk> the<unk> <unk>  die</s> </s>",
    (18, 18, 4): "the",
    (43, 4): "die the",
    (49, 50, 51, 52): "x>><pad>",
    (9, 41): "dog東京",
    (49, 18): "x",
}


def fill(folder: Path, source: bytes, keys: dict[str, int], config: dict[str, Any]) -> Path:
    folder.mkdir(exist_ok=True)
    for name in ("source.spm", "target.spm"):
        (folder / name).write_bytes(source)
    (folder / "vocab.json").write_text(json.dumps(keys), "utf-8")
    (folder / "tokenizer_config.json").write_text(json.dumps({"tokenizer_class": "MarianTokenizer", **config}), "utf-8")
    return folder


def small(folder: Path, **config: Any) -> Path:
    return fill(folder, model("?<unk> <s> </s>"), {key: number for number, key in enumerate(KEYS)}, config)


def encoded(tok: bbpe.Tokenizer, text: str) -> list[int]:
    return tok.encode(text, allowed_special="all", add_special_tokens=True)


def judge(folder: Path) -> Any:
    os.environ.setdefault("HF_HUB_OFFLINE", "1")
    transformers = pytest.importorskip("transformers", minversion="5.24")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # about a package that encoding does not use
        return transformers.AutoTokenizer.from_pretrained(folder)


def check_as_judge(folder: Path, texts: list[str]) -> None:
    hf, tok = judge(folder), bbpe.load(folder)
    for text in texts:
        ids = encoded(tok, text)
        assert ids == hf(text)["input_ids"], text
        assert tok.encode(text, allowed_special="all") == hf(text, add_special_tokens=False)["input_ids"]
        for skips in (False, True):
            found = tok.decode(ids, skip_special_tokens=skips)
            assert found == hf.decode(ids, skip_special_tokens=skips, clean_up_tokenization_spaces=False), text
    draw, every = random.Random(5), sorted(hf.get_vocab().values())
    for _ in range(120):
        ids = [draw.choice(every) for _ in range(draw.randrange(1, 9))]
        assert tok.decode(ids) == hf.decode(ids, clean_up_tokenization_spaces=False), ids


def test_ids(tmp_path: Path) -> None:
    tok = bbpe.load(small(tmp_path))
    assert {text: encoded(tok, text) for text in TEXTS} == TEXTS
    assert {ids: tok.decode(ids) for ids in DECODED} == DECODED
    assert (tok.eos_token, tok.unk_token, tok.pad_token, tok.bos_token) == ("</s>", "<unk>", "<pad>", None)
    assert tok.encode("in", pair="the", add_special_tokens=True) == [7, 4, 0]
    assert tok.vocab_size == len(KEYS)


def test_as_transformers(tmp_path: Path) -> None:
    check_as_judge(small(tmp_path), [*TEXTS])


def test_all_ways_to_encode(tmp_path: Path) -> None:
    """Places, streams, counts, pickles and the definition in Python have the same ids."""
    tok = bbpe.load(small(tmp_path))
    slow = SlowPipeline(tok.spec)
    again = pickle.loads(pickle.dumps(tok))
    assert again == tok
    assert again.fingerprint == tok.fingerprint
    for text in TEXTS:
        ids = tok.encode(text)
        assert tok.encode_with_offsets(text)[0] == ids
        assert [*tok.encode_iterable(text[start : start + 3] for start in range(0, len(text), 3))] == ids
        assert (tok.count_tokens(text), again.encode(text)) == (len(ids), ids)
        if not any(char in text for char in "ＦﬁL\t"):
            assert slow.encode(text) == ids
        stream = tok.stream_decoder()
        assert "".join(map(stream.push, ids)) + stream.finish() == tok.decode(ids)


def test_places(tmp_path: Path) -> None:
    tok = bbpe.load(small(tmp_path))
    ids, places = tok.encode_with_offsets(">>fr<<zzdogs東京 in")
    assert ids == [47, 18, 1, 1, 41, 7]
    assert places.tolist() == [[0, 6], [6, 7], [6, 8], [8, 12], [12, 14], [14, 17]]


def test_missing_pieces_and_others_change_the_fingerprint(tmp_path: Path) -> None:
    tok = bbpe.load(small(tmp_path))
    other = model("?<unk> <s> </s>").replace(b"dogs", b"sgod")
    for name in ("source.spm", "target.spm"):
        (tmp_path / name).write_bytes(other)
    changed = bbpe.load(tmp_path)
    assert changed.fingerprint != tok.fingerprint
    assert changed.encode("dogs") != tok.encode("dogs")


def test_a_tokenizer_json_beside_it_is_not_read(tmp_path: Path) -> None:
    ids = bbpe.load(small(tmp_path)).encode("see my dogs")
    (tmp_path / "tokenizer.json").write_text("{}", "utf-8")
    assert bbpe.load(tmp_path).encode("see my dogs") == ids


def test_the_type_of_the_model_stands_for_the_class(tmp_path: Path) -> None:
    ids = bbpe.load(small(tmp_path)).encode("see my dogs")
    (tmp_path / "tokenizer_config.json").write_text('{"source_lang": "en"}', "utf-8")
    (tmp_path / "config.json").write_text('{"model_type": "marian"}', "utf-8")
    assert bbpe.load(tmp_path).encode("see my dogs") == ids
    alone = bbpe.load(tmp_path / "source.spm")
    assert alone.encode("see my dogs") == sentencepiece.SentencePieceProcessor(
        model_file=str(tmp_path / "source.spm")
    ).encode("see my dogs")


ROW = {"lstrip": False, "rstrip": False, "single_word": False, "normalized": False}


@pytest.mark.parametrize(
    ("config", "files", "ids", "decoded"),
    [
        (
            {
                "added_tokens_decoder": {
                    "0": {"content": "</s>", **ROW, "special": True}, "53": {"content": "<q>", **ROW, "special": False},
                },
                "additional_special_tokens": ["<x>"],
            },
            {}, [7, 53, 47, 4, 54, 7, 0], "in<q>>>fr<< the<x> in</s>",
        ),
        (
            {"added_tokens_decoder": {"58": {"content": "<q>", **ROW, "special": True}}, "eos_token": "<x>"},
            {}, [7, 58, 47, 4, 54, 7, 54], "in<q>>>fr<< the<x> in<x>",
        ),
        ({}, {"added_tokens.json": {"<q>": 56, "<x>": 54}}, [7, 56, 47, 4, 54, 7, 0], "in<q>>>fr<< the<x> in</s>"),
        ({"extra_special_tokens": {"a": "<q>"}}, {}, [7, 53, 47, 4, 38, 1, 39, 2, 0], "in<q> >>fr<< the<<unk> >in</s>"),
    ],
)  # fmt: skip
def test_added_tokens(
    tmp_path: Path, config: dict[str, Any], files: dict[str, Any], ids: list[int], decoded: str
) -> None:
    """A file may give a token an id; others follow the vocabulary."""
    folder = small(tmp_path, **config)
    for name, value in files.items():
        (folder / name).write_text(json.dumps(value), "utf-8")
    tok, text = bbpe.load(folder), "in<q>>>fr<<the<x>in"
    assert encoded(tok, text) == ids
    assert tok.decode(ids) == decoded
    check_as_judge(folder, [text, *TEXTS])


@pytest.mark.parametrize(
    ("config", "problem"),
    [
        ({"separate_vocabs": True}, "separate_vocabs: true gives texts the ids of vocab.json and decodes"),
        ({"sp_model_kwargs": {"alpha": 0.1}}, "sp_model_kwargs: options of SentencePiece are not supported"),
        ({"unk_token": "<none>"}, "unk_token: vocab.json has no token '<none>'; expected one"),
        ({"padding_side": "top"}, 'padding_side: found "top"; expected "left" or "right"'),
        (
            {"added_tokens_decoder": {"0": {"content": "</s>", "lstrip": True}}},
            "'</s>' has lstrip, which is not supported",
        ),
        (
            {"added_tokens_decoder": {"9": {"content": "</s>", "special": True}}},
            "added_tokens_decoder: '</s>' has the id 9, but 0 in vocab.json",
        ),
    ],
)
def test_refusals(tmp_path: Path, config: dict[str, Any], problem: str) -> None:
    with pytest.raises(VocabularyError) as caught:
        bbpe.load(small(tmp_path, **config))
    assert "tokenizer_config.json: " in str(caught.value)
    assert problem in str(caught.value)


def test_added_tokens_of_a_tokenizer_json(tmp_path: Path) -> None:
    """Without a table of tokens they are tokens of this class too, by their ids, but no special ones."""
    folder = small(tmp_path, eos_token={"content": "</s>", "lstrip": True})
    rows = [{"id": 60, "content": "<q>", "special": True}, {"id": 61, "content": "in dogs", "special": False}]
    (folder / "tokenizer.json").write_text(json.dumps({"added_tokens": rows}), "utf-8")
    tok = bbpe.load(folder, cache=False)
    assert encoded(tok, "<q>see </s>in dogs") == [60, 5, 0, 61, 0]
    assert tok.added_tokens == {"<q>": 60, "in dogs": 61}
    (folder / "tokenizer_config.json").write_text('{"tokenizer_class": "MarianTokenizer", "added_tokens_decoder": {}}')
    assert bbpe.load(folder, cache=False).added_tokens == {}


def test_other_refused_files(tmp_path: Path) -> None:
    folder = small(tmp_path)
    (folder / "source.spm").write_bytes(model("?<unk> <s> </s>", is_bpe=True))
    with pytest.raises(VocabularyError, match=r"source\.spm: the model is not of the kind that OPUS-MT has"):
        bbpe.load(folder)
    (folder / "vocab.json").write_text('{"<unk>": 0, "a": 2}', "utf-8")
    with pytest.raises(VocabularyError, match=r"vocab\.json: ids have gaps or are used twice"):
        bbpe.load(folder)
    (folder / "target.spm").unlink()
    with pytest.raises(VocabularyError, match=r"found no target\.spm; expected source\.spm, target\.spm and vocab"):
        bbpe.load(folder)


def test_finished_tables(tmp_path: Path) -> None:
    """Their key covers the ids, too."""
    keys = {key: number for number, key in enumerate([*KEYS, *(f"{number:099}" for number in range(2000))])}
    folder = fill(tmp_path / "m", model("?<unk> <s> </s>"), keys, {})
    cache = tmp_path / "tables"
    made, stored = bbpe.load(folder, cache=cache), bbpe.load(folder, cache=cache)
    assert len([*cache.iterdir()]) == 1
    assert stored == made
    assert [stored.encode(text) for text in TEXTS] == [made.encode(text) for text in TEXTS]
    fill(folder, model("?<unk> <s> </s>"), {**keys, "▁in": keys["▁the"], "▁the": keys["▁in"]}, {})
    assert bbpe.load(folder, cache=cache).encode("see in the") != made.encode("see in the")


def test_no_format_holds_it(tmp_path: Path) -> None:
    tok = bbpe.load(small(tmp_path))
    with pytest.raises(VocabularyError, match=r"other ids than a SentencePiece model; load source\.spm alone"):
        tok.as_sentencepiece()
    for name in ("tokenizer.json", "a.model", "a.gguf"):
        with pytest.raises(VocabularyError, match="no format holds the rules of the class of this folder; copy"):
            tok.save(tmp_path / name)


@pytest.mark.full
@pytest.mark.parametrize("rule", ["nmt_nfkc", "identity"])
def test_trained_models(tmp_path: Path, rule: str) -> None:
    """A joint vocabulary of two trained models, of which each lacks some pieces of the source."""
    from trained_pieces import trained

    names = ("en", "multi")
    found = [public_text(name) for name in names]
    texts = [data.decode("utf-8", "replace").splitlines()[:4000] for data in found if data is not None]
    if len(texts) < len(names):
        pytest.skip("no real text, which packages of the group test have")
    keys = {"</s>": 0, "<unk>": 1}
    for name, lines in zip(("source.spm", "target.spm"), texts, strict=True):
        path = trained(tmp_path / name, lines, size=3000, normalization_rule_name=rule)
        pieces = sentencepiece.SentencePieceProcessor(model_file=str(path))
        for number in range(3, len(pieces)):
            if number % 50:
                keys.setdefault(pieces.id_to_piece(number), len(keys))
    keys |= {">>fr<<": len(keys), "<pad>": len(keys) + 1}
    source, target = ((tmp_path / name).read_bytes() for name in ("source.spm", "target.spm"))
    folder = fill(tmp_path, source, keys, {})
    (folder / "target.spm").write_bytes(target)
    rows = [line for lines in texts for line in lines[::7] if line.strip()][:1000]
    check_as_judge(folder, [*rows, *(f">>fr<< {row}" for row in rows[:100]), *TEXTS])
