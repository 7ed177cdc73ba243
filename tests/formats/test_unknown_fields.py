"""A field that bbpe does not know is refused by name wherever it is, or the documentation lists it as ignored."""

from __future__ import annotations

import copy
import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from gguf_files import gguf, piece_vocabulary, vocabulary
from random_files import RandomFile
from vocabularies import document, write_json

import bbpe
from bbpe.errors import PatternError, VocabularyError
from bbpe.formats.sentencepiece.protobuf import bytes_field, number_field

NEW = "zz_new"


def objects(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """The paths of the objects in a document whose keys are fields."""
    if isinstance(value, dict):
        if path[-1:] not in (("vocab",), ("special_tokens",)):
            yield path
        for name, part in value.items():
            yield from objects(part, (*path, name))
    elif isinstance(value, list) and path[-1:] != ("merges",):
        for number, part in enumerate(value):
            yield from objects(part, (*path, number))


def with_field(value: Any, path: tuple[Any, ...]) -> Any:
    changed = copy.deepcopy(value)
    at = changed
    for name in path:
        at = at[name]
    at[NEW] = 1
    return changed


def check(path: Path, value: dict[str, Any]) -> int:
    write_json(path, value)
    try:
        bbpe.load(path)
    except (PatternError, VocabularyError):
        return 0
    found = list(objects(value))
    for place in found:
        write_json(path, with_field(value, place))
        with pytest.raises(VocabularyError, match=NEW):
            bbpe.load(path)
    return len(found)


@pytest.mark.parametrize("seeds", [range(4), pytest.param(range(4, 120), marks=pytest.mark.long)], ids=["some", "all"])
def test_tokenizer_json(tmp_path: Path, seeds: range) -> None:
    rows = {"direction": "Right", "max_length": 9, "strategy": "LongestFirst", "stride": 0}
    padding = {"strategy": {"Fixed": 3}, "direction": "Left", "pad_id": 0, "pad_type_id": 0, "pad_token": "x"}
    assert check(tmp_path / "x.json", document(truncation=rows, padding=padding)) >= 6
    assert sum(check(tmp_path / "x.json", RandomFile(seed).value) for seed in seeds) > 10


IGNORED = ("clean_up_tokenization_spaces", "model_max_length", "name_or_path", "padding_side", "processor_class")


def test_tokenizer_config(tmp_path: Path) -> None:
    """All other fields are ignored, as documented, and kept; the fields of tokens are not."""
    write_json(tmp_path / "tokenizer.json", document())
    plain = bbpe.load(tmp_path)
    config = {"tokenizer_class": "PreTrainedTokenizerFast", NEW: 1, **dict.fromkeys(IGNORED, 1)}
    write_json(tmp_path / "tokenizer_config.json", config)
    tok = bbpe.load(tmp_path)
    assert tok.spec.vocab == plain.spec.vocab
    tok.save(tmp_path / "saved")
    assert json.loads((tmp_path / "saved" / "tokenizer_config.json").read_text("utf-8")) == config


PIECE = bytes_field(1, b"a") + b"\x15\x00\x00\x80\xbf"


def model(*, piece: bytes = b"", trainer: bytes = b"", normalizer: bytes = b"", denormalizer: bytes = b"") -> bytes:
    unknown = bytes_field(1, b"<unk>") + b"\x15\x00\x00\x00\x00" + number_field(3, 2)
    rows = bytes_field(1, unknown) + bytes_field(1, PIECE) + bytes_field(1, bytes_field(1, b"b") + piece)
    return rows + bytes_field(2, trainer) + bytes_field(3, normalizer) + bytes_field(5, denormalizer)


@pytest.mark.parametrize("number", [99, 200, 536870911])
def test_sentencepiece(tmp_path: Path, number: int) -> None:
    path = tmp_path / "x.model"
    path.write_bytes(model())
    assert len(bbpe.load(path)) == 3
    ignored = number_field(49, 1) + bytes_field(1, b"corpus.txt") + number_field(10, 1)
    path.write_bytes(model(trainer=ignored, normalizer=bytes_field(6, b"x")) + bytes_field(4, b""))
    assert len(bbpe.load(path)) == 3
    for name, place in {
        "piece": "piece 2", "trainer": "trainer_spec", "normalizer": "normalizer_spec",
        "denormalizer": "denormalizer_spec",
    }.items():  # fmt: skip
        path.write_bytes(model(**{name: number_field(number, 1)}))
        with pytest.raises(VocabularyError, match=f"{place}: unknown field {number};"):
            bbpe.load(path)
    path.write_bytes(model() + number_field(number, 1))
    with pytest.raises(VocabularyError, match=f"unknown field {number};"):
        bbpe.load(path)


@pytest.mark.parametrize("values", [vocabulary, piece_vocabulary])
def test_gguf(tmp_path: Path, values: Callable[..., dict[str, Any]]) -> None:
    path = tmp_path / "x.gguf"
    ignored = {"token_type_count": 2, "fim_pre_token_id": 3, "add_sep_token": False, "suppress_tokens": [1]}
    path.write_bytes(gguf({**values(**ignored), "general.zz_new": 1, "tokenizer.chat_template.other": "x"}))
    bbpe.load(path)
    for number in (1, True, "x", [1], [1.5], ["x"]):
        path.write_bytes(gguf(values(**{NEW: number})))
        with pytest.raises(VocabularyError, match=f"tokenizer.ggml.{NEW}: the value is not supported"):
            bbpe.load(path)
