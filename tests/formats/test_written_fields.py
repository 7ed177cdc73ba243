"""Each field of a written file is the one that the program of the format writes."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from vocabularies import keys, merge_lines, small_spec

import bbpe
from bbpe import formats
from bbpe.spec.rules import Template
from bbpe.tokenizer import Tokenizer

sentencepiece = pytest.importorskip("sentencepiece")
pb2 = pytest.importorskip("sentencepiece.sentencepiece_model_pb2")
from trained_pieces import trained  # noqa: E402 - it needs the package

LINES = ["see my eyes first", "see my dogs", "the ing the in 12"] * 20
_PLAIN = {"normalization_rule_name": "identity", "remove_extra_whitespaces": False, "add_dummy_prefix": False}
#: Options of the trainer, by which models differ.
TRAINED: list[dict[str, Any]] = [
    {"model_type": "bpe"},
    {"model_type": "bpe", "byte_fallback": True, **_PLAIN},
    {"model_type": "unigram", "user_defined_symbols": ["my"]},
    {"treat_whitespace_as_suffix": True, "bos_id": -1, "pad_id": 3, "pad_piece": "[P]", "unk_surface": "?"},
    {"eos_id": -1, "unk_id": 2, "bos_id": 0, "pad_id": 1, "unk_piece": "[U]", "bos_piece": "[B]", **_PLAIN},
    {"model_type": "char", "bos_id": -1, "eos_id": 0, "unk_id": 1, "eos_piece": "[E]"},
    {"model_type": "word", "control_symbols": "<c>"},
]


def proto(path: Path) -> Any:
    return pb2.ModelProto.FromString(path.read_bytes())


def pieces_of(model: Any) -> list[tuple[str, float, int]]:
    return [(row.piece, row.score, row.type) for row in model.pieces]


@pytest.mark.parametrize("options", TRAINED, ids=str)
def test_a_written_model_has_the_pieces_and_options_of_the_one_that_was_read(
    tmp_path: Path, options: dict[str, Any]
) -> None:
    path = trained(tmp_path / "a.model", LINES, 320 if "byte_fallback" in options else 60, **options)
    bbpe.load(path).save(tmp_path / "b.model")
    own, again = proto(path), proto(tmp_path / "b.model")
    if options.get("model_type") in ("char", "word"):
        # a model that merges nothing needs no scores, and these are its ranks
        ordinary = [row for row in pieces_of(own) if row[2] == 1]
        ranks = {text: -float(rank) for rank, (text, _, _) in enumerate(ordinary)}
        assert pieces_of(again) == [(text, ranks.get(text, 0.0), kind) for text, _, kind in pieces_of(own)]
        assert again.trainer_spec.model_type == {"char": 2, "word": 3}[options["model_type"]]
    else:
        assert pieces_of(again) == pieces_of(own)
        assert again.trainer_spec.model_type == own.trainer_spec.model_type
    written = {field.name: value for field, value in again.trainer_spec.ListFields() if field.name != "model_type"}
    assert written == {name: getattr(own.trainer_spec, name) for name in written} | {"vocab_size": len(own.pieces)}
    for use in ("bos", "eos", "unk", "pad"):
        for kind in ("id", "piece"):
            name = f"{use}_{kind}"
            assert getattr(again.trainer_spec, name) == getattr(own.trainer_spec, name), name
    for name in ("treat_whitespace_as_suffix", "byte_fallback", "unk_surface"):
        assert getattr(again.trainer_spec, name) == getattr(own.trainer_spec, name), name
    for name in ("precompiled_charsmap", "add_dummy_prefix", "remove_extra_whitespaces", "escape_whitespaces"):
        assert getattr(again.normalizer_spec, name) == getattr(own.normalizer_spec, name), name


def gguf_fields(path: Path) -> dict[str, Any]:
    """The values of a file below `tokenizer.ggml.`, and how many others it has."""
    reader = pytest.importorskip("gguf").GGUFReader(path)
    prefix = "tokenizer.ggml."
    found = {name.removeprefix(prefix): row.contents() for name, row in reader.fields.items() if prefix in name}
    assert {name: reader.fields[name].contents() for name in ("general.architecture", "general.type")} == {
        "general.architecture": "llama", "general.type": "model",
    }  # fmt: skip
    return found


@pytest.mark.parametrize(
    ("template", "ends"),
    [
        (None, {"add_bos_token": False, "eos_token_id": 268}),
        ((270, "A"), {"add_bos_token": True, "bos_token_id": 270, "eos_token_id": 268}),
        (("A", 270), {"add_bos_token": False, "eos_token_id": 270, "add_eos_token": True}),
        ((268, "A", 270), {"add_bos_token": True, "bos_token_id": 268, "eos_token_id": 270, "add_eos_token": True}),
    ],
    ids=str,
)
def test_the_values_of_a_gguf_file_of_bytes(
    tmp_path: Path, template: tuple[int | str, ...] | None, ends: dict[str, Any]
) -> None:
    around = None if template is None else Template(tuple((item, 0) for item in template))
    spec = small_spec(
        special_tokens={"<|endoftext|>": 268, "<s>": 270}, added_tokens={"<think>": 269}, template=around
    )
    Tokenizer(spec).save(tmp_path / "x.gguf")
    assert gguf_fields(tmp_path / "x.gguf") == {
        "model": "gpt2", "pre": "gpt-2",
        "tokens": [*keys(), "[PAD267]", "<|endoftext|>", "<think>", "<s>"],
        "token_type": [1] * 267 + [5, 3, 4, 3],
        "merges": merge_lines(),
        **ends,
    }  # fmt: skip


@pytest.mark.parametrize("options", [{"model_type": "bpe", "byte_fallback": True, **_PLAIN}, {}], ids=str)
def test_the_values_of_a_gguf_file_of_pieces(tmp_path: Path, options: dict[str, Any]) -> None:
    (tmp_path / "rules.tsv").write_text("41\t61\n42\t62\n")  # a small table: A and B as a and b
    rules = {} if options else {"normalization_rule_tsv": str(tmp_path / "rules.tsv")}
    own = proto(trained(tmp_path / "a.model", LINES, 320 if options else 60, **options, **rules))
    bbpe.load(tmp_path / "a.model").save(tmp_path / "x.gguf")
    texts, scores, kinds = zip(*pieces_of(own), strict=True)
    fields = gguf_fields(tmp_path / "x.gguf")
    table = bytes(fields.pop("precompiled_charsmap", b""))
    assert table == own.normalizer_spec.precompiled_charsmap
    assert bool(table) is not bool(options)
    assert fields == {
        "model": "llama" if options else "t5", "pre": "default",
        "tokens": [*texts], "scores": [*scores], "token_type": [*kinds],
        "add_space_prefix": not options, "remove_extra_whitespaces": not options,
        "bos_token_id": 1, "eos_token_id": 2, "unknown_token_id": 0, "add_bos_token": False, "add_eos_token": False,
    }  # fmt: skip


def test_the_symbols_of_users_score_by_their_length_in_tokenizer_json(tmp_path: Path) -> None:
    """As SentencePiece finds them, whatever the score in its file: by that of the best piece for each byte."""
    tokenizers = pytest.importorskip("tokenizers")
    made = pb2.ModelProto()
    for text, score, kind in (
        ("<unk>", 0.0, 2), ("\u2581", -2.0, 1), ("a", -0.5, 1), ("b", -1.5, 1), ("ab", -99.0, 4), ("ba", -2.5, 1),
    ):  # fmt: skip
        made.pieces.add(piece=text, score=score, type=kind)
    made.trainer_spec.model_type, made.normalizer_spec.name = 1, "identity"
    made.normalizer_spec.remove_extra_whitespaces = False
    (tmp_path / "a.model").write_bytes(made.SerializeToString())
    judge = sentencepiece.SentencePieceProcessor(model_file=str(tmp_path / "a.model"))
    bbpe.load(tmp_path / "a.model").save(tmp_path / "tokenizer.json")
    document = json.loads((tmp_path / "tokenizer.json").read_bytes())
    found = tokenizers.Tokenizer.from_file(str(tmp_path / "tokenizer.json"))
    for text in ("ab", "aab", "bab", "abab", "b a ab"):
        assert found.encode(text).ids == judge.encode(text), text
    assert [row for row in document["model"]["vocab"] if row[0] != "ab"] == [
        ["<unk>", 0.0], ["\u2581", -2.0], ["a", -0.5], ["b", -1.5], ["ba", -2.5],
    ]  # fmt: skip
    assert document["model"]["bbpe"] == {"sums": "float32", "user_defined": [4], "unknown_text": " \u2047 "}


def test_two_files_of_gpt2_name_the_tokens_that_keys_do_not(tmp_path: Path) -> None:
    flags = {"lstrip": False, "rstrip": False, "single_word": False, "normalized": False}
    rows = {
        "268": {"content": "<|endoftext|>", **flags, "special": True},
        "269": {"content": "<think>", **flags, "special": False},
        "270": {"content": "<s>", **flags, "special": True},
    }
    no_ends = {"bos_token": None, "eos_token": None, "unk_token": None}
    name = {"tokenizer_class": "GPT2Tokenizer"}
    cases: list[tuple[dict[str, int], dict[str, int], dict[str, Any]]] = [
        ({"<s>": 270, "<|endoftext|>": 268}, {"<think>": 269}, {**name, "added_tokens_decoder": rows}),
        ({"<|endoftext|>": 268}, {}, name),
        ({}, {}, name | no_ends),
        ({"<s>": 270}, {}, name | no_ends | {"added_tokens_decoder": {"270": rows["270"]}}),
        (
            {"<|endoftext|>": 268}, {"<think>": 269},
            {**name, "added_tokens_decoder": {number: rows[number] for number in ("268", "269")}},
        ),
    ]  # fmt: skip
    for number, (special, added, config) in enumerate(cases):
        spec = small_spec(special_tokens=special, added_tokens=added)
        for kind, vocab in (("gpt2", "vocab.json"), ("vocab_txt", "vocab.txt")):
            files = formats.written(spec, tmp_path / f"{kind}{number}", kind)
            assert [path.name for path in files] == [vocab, "merges.txt", "tokenizer_config.json"]
            head, merges, last = files.values()
            table = keys() | special | added
            if kind == "gpt2":
                assert list(json.loads(head).items()) == sorted(table.items(), key=lambda row: row[1])
            else:
                rows_of = [line.rpartition(" ")[::2] for line in head.decode().splitlines()]
                assert rows_of == [(text, str(at)) for text, at in sorted(table.items(), key=lambda row: row[1])]
            assert merges.decode().splitlines() == ["#version: 0.2", *merge_lines()]
            assert json.loads(last) == config, number
            # in the order of ids, too
            listed = json.loads(last).get("added_tokens_decoder", {})
            assert [*listed] == sorted(listed, key=int), number
