"""No option of a public function is ignored: of two values, each gives something else.

One table: for each option two values, and what else the call needs for the difference to show.  Options that change
time and memory alone are named in `ONLY_SPEED`; any other option that is not in the table fails
`test_the_table_is_whole`.
"""

from __future__ import annotations

import inspect
import json
from collections.abc import Callable, Iterator, Mapping
from dataclasses import fields, replace
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest

import bbpe
from bbpe.corpus.files import file_of
from bbpe.counting.options import FileOptions, TextOptions
from bbpe.shards.policy import ShardOptions
from bbpe.spec.rules import Template

#: The results are the same to the last bit.
ONLY_SPEED = {"threads", "executor", "in_flight", "attempts", "max_memory", "checkpoint", "progress"}
#: What a call is about; tests of the functions themselves have it.
SUBJECTS = {
    "self", "text", "texts", "ids", "batch", "chunks", "files", "folder", "tokenizer", "tokenizers", "n", "corpora",
    "corpus", "left", "right", "keep", "counting", "vocab_size", "max_tokens", "options",
}  # fmt: skip

TEXT = "see my eyes <s> first, see my dogs 123\nfirst low lower lowest newest"
OTHER = "a second text of a pair, see"


def made() -> bbpe.Tokenizer:
    tok = bbpe.train_from_iterator([TEXT, OTHER] * 3, 300, special_tokens=["<s>", "<pad>"])
    single, pair = ((0, 0), ("A", 0)), ((0, 0), ("A", 0), (0, 1), ("B", 1))
    return bbpe.Tokenizer(replace(tok.spec, template=Template(single, pair)))


TOK = made()
UNIGRAM = bbpe.train_from_iterator([TEXT, OTHER] * 3, 330, model="unigram")
IDS = TOK.encode(TEXT, allowed_special="all")
TEXTS = [TEXT, OTHER, "see"]


class Two(NamedTuple):
    """Two values of an option, `...` for none, and other arguments of both calls."""

    first: Any
    second: Any
    more: Mapping[str, Any] = {}


class Row(NamedTuple):
    call: Callable[..., Any]
    given: Mapping[str, Any]
    options: Mapping[str, Two]


SELECTIONS = {"allowed_special": Two(..., "all"), "disallowed_special": Two(..., "all")}
ADDS = {"add_special_tokens": Two(..., True)}
ENDS = {
    "errors": Two(..., "strict", {"ids": [TOK.encode("é")[0]]}),
    "skip_special_tokens": Two(..., True),
    "unknown_ids": Two(..., "skip", {"ids": [*IDS, 5000]}),
}
ROWS: dict[str, Row] = {
    "Tokenizer.encode": Row(TOK.encode, {"text": TEXT}, {
        "pair": Two(..., OTHER), "dropout": Two(..., 0.9, {"seed": 1}), "seed": Two(1, 2, {"dropout": 0.5}),
        **SELECTIONS, **ADDS,
    }),
    "Tokenizer.encode_batch": Row(TOK.encode_batch, {"texts": TEXTS}, {**SELECTIONS, **ADDS}),
    "Tokenizer.encode_batch_to_numpy": Row(TOK.encode_batch_to_numpy, {"texts": TEXTS}, {**SELECTIONS, **ADDS}),
    "Tokenizer.encode_padded": Row(TOK.encode_padded, {"texts": TEXTS, "pad_id": 1}, {
        "max_length": Two(..., 5), "pad_id": Two(1, 2), "side": Two("left", "right"),
        "pad_to_multiple_of": Two(..., 64), "truncation": Two("longest_first", "only_first",
                                                               {"texts": [(OTHER, TEXT)], "max_length": 30}),
        "truncation_side": Two("left", "right", {"max_length": 5}),
        "stride": Two(None, 2, {"max_length": 9, "truncation": "only_first"}),
        "padding": Two("longest", "max_length", {"max_length": 90}), "dtype": Two("int64", "uint32"),
        **SELECTIONS, **ADDS,
    }),
    "Tokenizer.encode_with_offsets": Row(TOK.encode_with_offsets, {"text": "é " + TEXT}, {
        "unit": Two("char", "byte"), **SELECTIONS,
    }),
    "Tokenizer.encode_aligned": Row(TOK.encode_aligned, {"text": "é " + TEXT}, {
        "pair": Two(..., OTHER), "unit": Two("char", "byte"), **SELECTIONS, **ADDS,
    }),
    "Tokenizer.encode_iterable": Row(
        lambda **given: list(TOK.encode_iterable(**given)), {"chunks": [TEXT]}, SELECTIONS,
    ),
    "Tokenizer.encode_sampled": Row(UNIGRAM.encode_sampled, {"text": TEXT, "seed": 3}, {
        "alpha": Two(0.001, 50.0), "nbest": Two(1, 50, {"alpha": 0.001}), "seed": Two(1, 2, {"alpha": 0.001}),
    }),
    "Tokenizer.decode": Row(TOK.decode, {"ids": IDS}, ENDS),
    "Tokenizer.decode_batch": Row(
        lambda ids, **given: TOK.decode_batch([ids], **given), {"ids": IDS}, ENDS,
    ),
    "Tokenizer.stream_decoder": Row(
        lambda ids, **given: (each := TOK.stream_decoder(**given), [*map(each.push, ids)], each.finish())[1:],
        {"ids": IDS}, {**ENDS, "prompt": Two(..., TOK.encode("é")[:1], {"ids": TOK.encode("é")[1:]})},
    ),
    "Tokenizer.truncate": Row(TOK.truncate, {"text": TEXT, "n": 8}, {"side": Two("left", "right"), **SELECTIONS}),
    "Tokenizer.chunk": Row(TOK.chunk, {"text": TEXT, "max_tokens": 9}, {
        "overlap": Two(..., 3), "boundary": Two("token", "line", {"max_tokens": 18}), **SELECTIONS,
    }),
    "Tokenizer.fits": Row(TOK.fits, {"text": TEXT, "n": len(IDS)}, SELECTIONS),
    "Tokenizer.count_tokens": Row(TOK.count_tokens, {"text": TEXT}, {**SELECTIONS, **ADDS}),
    "Tokenizer.count_tokens_batch": Row(TOK.count_tokens_batch, {"texts": TEXTS}, {**SELECTIONS, **ADDS}),
    "train_from_iterator": Row(bbpe.train_from_iterator, {"texts": [TEXT], "vocab_size": 280}, {
        "model": Two("bpe", "unigram"), "pattern": Two("gpt2", "o200k"), "special_tokens": Two(..., ["<s>"]),
    }),
    "evaluate": Row(bbpe.evaluate, {"tokenizers": TOK, "texts": {"a": TEXTS * 9, "b": [OTHER]}}, {
        "parity": Two("a", "b"), "seed": Two(1, 2),
        "document": Two(..., "line", {"corpora": "lines.txt", "texts": None}),
        "text_field": Two("text", "more", {"corpora": "a.jsonl", "texts": None}),
        "format": Two(..., "text", {"corpora": "a.jsonl", "texts": None}),
    }),
    "lint": Row(bbpe.lint, {"tokenizer": TOK}, {
        "min_count": Two(1, 1000, {"texts": [TEXT] * 20}),
        "text_field": Two("text", "more", {"corpus": "a.jsonl", "min_count": 1}),
        "format": Two(..., "text", {"corpus": "a.jsonl", "min_count": 2}),
    }),
}  # fmt: skip
FULL_MODELS: dict[str, tuple[type, dict[str, Two]]] = {
    "BPE": (bbpe.BPE, {
        "alphabet": Two("bytes", "chars"), "end_of_word": Two(..., "</w>", {"alphabet": "chars"}),
        "word_start": Two("\u2581", "_", {"alphabet": "chars"}),  # the first is the only one that files have
        "lowercase": Two(..., True, {"alphabet": "chars", "end_of_word": "</w>"}),
        "unk_token": Two(..., "<u>", {"alphabet": "chars", "end_of_word": "</w>"}),
        "max_alphabet": Two(..., 4, {"alphabet": "chars", "end_of_word": "</w>"}),
        "tie_break": Two("ids", "first"), "min_frequency": Two(1, 4), "max_token_length": Two(..., 2),
        "pad_vocab_to": Two(1, 64),
    }),
    "WordPiece": (bbpe.WordPiece, {
        "score": Two("pmi", "frequency"), "lowercase": Two(True, False), "unk_token": Two("[UNK]", "<u>"),
        "max_alphabet": Two(..., 4), "min_frequency": Two(1, 4),
    }),
    "Unigram": (bbpe.Unigram, {
        "character_coverage": Two(1.0, 0.7), "byte_fallback": Two(True, False),
        "user_defined_symbols": Two(..., ["see my"]), "max_token_length": Two(..., 2), "pad_vocab_to": Two(1, 64),
    }),
}  # fmt: skip
#: Counting and sharding; "more" is a field of the records in a.jsonl, whose last line is no JSON.
FILES: dict[str, Two] = {
    "pattern": Two("gpt2", "whitespace"), "special_tokens": Two([], ["<s>"]), "sample": Two(1.0, 0.3),
    "document": Two("file", "line", {"files": "lines.txt"}), "max_pretoken_bytes": Two(None, 2),
    "text_field": Two("text", "more"), "format": Two(..., "text"),
    "on_error": Two("raise", "skip", {"files": "b.jsonl"}),
}  # fmt: skip
SHARDS: dict[str, Two] = {
    "format": Two("megatron", "parquet"), "eos": Two(None, "<s>"), "bos": Two(None, "<s>"),
    "allowed_special": Two((), "all"), "dtype": Two("uint16", "int32"), "text_field": Two("text", "more"),
    "id_field": Two(None, "more", {"format": "parquet"}), "document": Two("file", "line", {"files": "lines.txt"}),
    "input_format": Two(None, "text"), "part_size": Two("1MB", 300), "empty": Two("skip", "keep"),
    "on_error": Two("raise", "skip", {"files": "b.jsonl"}),
}  # fmt: skip


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The current folder, which has the files of the table."""
    monkeypatch.chdir(tmp_path)
    texts = [*TEXTS * 4, ""]
    rows = [json.dumps({"text": text, "more": f"{number} {text[::-1]}"}) for number, text in enumerate(texts)]
    Path("a.jsonl").write_text("\n".join(rows) + "\n")
    Path("b.jsonl").write_text("\n".join([*rows, "{"]) + "\n")
    Path("lines.txt").write_text("see my\neyes first\n" * 40)
    assert file_of(Path("lines.txt")).kind == "text"
    return tmp_path


def seen(result: Any) -> Any:
    """What somebody sees of a result, as something that can be compared."""
    if isinstance(result, np.ndarray):
        return result.dtype.str, result.tolist()
    if isinstance(result, bbpe.Tokenizer):
        return result.fingerprint, result.get_vocab()
    if isinstance(result, bbpe.PretokenCounts):
        return list(result), str(result.spec), result.summary
    if isinstance(result, tuple | list):
        return list(map(seen, result))
    if hasattr(result, "as_dict"):
        return json.dumps(result.as_dict(), sort_keys=True, default=str)
    if hasattr(result, "lengths") or hasattr(result, "offsets") or hasattr(result, "spans"):
        names = ("ids", "mask", "lengths", "offsets", "spans", "type_ids", "sequence_ids")
        parts = {name: getattr(result, name, None) for name in names}
        return [(name, seen(np.asarray(part))) for name, part in parts.items() if part is not None]
    return result


def outcome(call: Callable[..., Any], given: Mapping[str, Any]) -> Any:
    """What a call returns, or the error by which it refuses."""
    try:
        return seen(call(**{name: value for name, value in given.items() if value is not ...}))
    except (ValueError, bbpe.CorpusError) as error:
        return type(error).__name__, str(error)


def differs(call: Callable[..., Any], given: Mapping[str, Any], option: str, two: Two) -> None:
    found = [outcome(call, {**given, **two.more, option: value}) for value in (two.first, two.second)]
    assert found[0] != found[1], f"{option} changes nothing"
    # one of both is no refusal, or the test would compare two messages
    assert any(not (isinstance(each, tuple) and each[:1] and str(each[0]).endswith("Error")) for each in found), found


@pytest.mark.parametrize(("name", "option"), [(name, option) for name, row in ROWS.items() for option in row.options])
def test_functions(name: str, option: str, here: Path) -> None:
    differs(ROWS[name].call, ROWS[name].given, option, ROWS[name].options[option])


@pytest.mark.parametrize(
    ("name", "option"), [(name, option) for name, (_, options) in FULL_MODELS.items() for option in options]
)
def test_models_of_training(name: str, option: str) -> None:
    kind, options = FULL_MODELS[name]
    size = 300 if name != "WordPiece" else 90
    texts = ["See my eyes, see my dogs: low lower lowest newest \u00e9\u4e2d ab ba"] * 2 + [TEXT]

    def train(**given: Any) -> bbpe.Tokenizer:
        return bbpe.train_from_iterator(texts, size, model=kind(**given))

    differs(train, {}, option, options[option])


@pytest.mark.parametrize("option", FILES)
def test_counting(option: str, here: Path) -> None:
    def texts(files: str, **given: Any) -> bbpe.PretokenCounts:
        rows = Path(files).read_text().splitlines()
        wanted = [json.loads(row)["text"] for row in rows] if files.endswith("a.jsonl") else [Path(files).read_text()]
        return bbpe.count_from_iterator(wanted, **given)

    given = {"files": "a.jsonl", "pattern": "gpt2"}
    differs(bbpe.count, given, option, FILES[option])
    if option in TextOptions.__annotations__ or option in ("pattern", "special_tokens"):
        differs(texts, given, option, FILES[option])


@pytest.mark.parametrize("option", SHARDS)
def test_sharding(option: str, here: Path) -> None:
    folders: Iterator[int] = iter(range(2))

    def files_of(files: str, **given: Any) -> dict[str, bytes]:
        folder = Path(f"out{next(folders)}")
        bbpe.shard(files, folder, TOK, **given)
        return {path.name: path.read_bytes() for path in folder.glob("part-*") if path.suffix != ".json"}

    differs(files_of, {"files": "a.jsonl"}, option, SHARDS[option])


def options_of(call: Callable[..., Any]) -> set[str]:
    return set(inspect.signature(call).parameters) - SUBJECTS - ONLY_SPEED


def test_the_table_is_whole() -> None:
    for name, row in ROWS.items():
        owner, _, method = name.rpartition(".")
        call = getattr(getattr(bbpe, owner) if owner else bbpe, method)
        assert options_of(call) == set(row.options), name
    for name, (kind, options) in FULL_MODELS.items():
        assert {field.name for field in fields(kind)} == set(options), name
    assert {*FileOptions.__annotations__, *TextOptions.__annotations__} - ONLY_SPEED <= set(FILES)
    assert options_of(bbpe.count) <= set(FILES)
    assert set(ShardOptions.__annotations__) == set(SHARDS)
