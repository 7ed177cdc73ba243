"""Every argument of every public function, with values of wrong kinds: an error that names it, or an answer.

Whole numbers of NumPy are ints in all of them.
"""

from __future__ import annotations

import inspect
import os
import re
import sys
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any, Literal, get_args, get_origin

import numpy as np
import pytest

import bbpe

WRONG = [None, 5, 2.5, "text", b"bytes", ["list"], object(), True]
#: Errors of Python that name no argument.
RAW = re.compile(
    r"object (?:is not|has no|of type)|not supported between|expected str, bytes or os.PathLike|argument should be"
    r"|unhashable|indices must|unsupported operand|unpack|Cannot interpret|not understood|argument must be|can only"
)
#: What messages call arguments by, where not by their names.
CALLED = {
    "text": "a text|takes", "number": "part", "folders": "folders?",
    "left": "compare", "right": "compare",
     "texts": "texts|a text|a batch|items", "pair": "a text", "batch": "a batch|a text|items|row",
    "ids": "ids|an id", "token_id": "an id|token_id", "rows": "rows|row|a batch", "token": "a token", "path": "path",
    "files": "files|a file", "allowed_special": "allowed_special|special", "prompt": "ids|an id",
    "disallowed_special": "disallowed_special|special", "part_size": "a size", "max_memory": "a size|max_memory",
    "size": "a size", "limit": "a size", "chunks": "a text|chunks", "data": "bytes|encode_bytes", "column": "a column",
    "spans": "span", "used_in": "files|a file", "special_tokens": "special_tokens", "model": "model|BPE",
}  # fmt: skip
#: Made by methods of a tokenizer alone, or wrapped as they are; corpora and tokenizers are looked at elsewhere.
LEFT_OUT = {
    "StreamDecoder", "accelerate", "patch_transformers", "unpatch_transformers", "as_huggingface", "of_table",
}  # fmt: skip
CHATS = (
    "documents", "chat_template", "add_generation_prompt", "continue_final_message", "variables", "content_special",
    "train_on", "turn_end", "max_length",
)  # fmt: skip
#: Options that a function passes on, and names in its docstring alone.
PASSED_ON = {
    "encode_chat_batch": (*CHATS, "threads"), "encode_chat_columns": (*CHATS, "threads", "messages", "tools", "ignore"),
}  # fmt: skip
CHAT = b"{% for m in messages %}<s>{{ m.role }} {{ m.content }}{% endfor %}{% if add_generation_prompt %}<s>{% endif %}"
#: Classes that people make, and results that they ask.
OPTIONS = ("BPE", "WordPiece", "Unigram", "Counting", "BBPETokenizer")
EXECUTOR = ThreadPoolExecutor(1)
REPORTS = ("Evaluation", "Curve", "Comparison", "LintReport", "Trace", "TokenCounts")
CORPORA = {"tokenizer", "tokenizers", "corpus", "corpora", "held_out"}


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, Any]]:
    """Objects to call, and right arguments by the names of parameters."""
    before = Path.cwd()
    os.chdir(tmp_path_factory.mktemp("made"))
    Path("a.jsonl").write_text('{"text": "see my"}\n' * 3)
    tok = bbpe.train_from_iterator(["see my eyes"] * 3, 262, special_tokens=["<s>"])
    tok = bbpe.Tokenizer(replace(tok.spec, files={"chat_template.jinja": CHAT}))
    tok.save("t.json")
    messages = [{"role": "user", "content": "a"}, {"role": "assistant", "content": "b"}]
    counts = bbpe.count_from_iterator(["see my"], pattern="gpt2")
    counts.save("c.parquet")
    yield {
        "Tokenizer": tok, "PretokenCounts": counts, "Shards": bbpe.shard("a.jsonl", "out", tok),
        "Ragged": tok.encode_batch_to_numpy(["see", "my"]), "stream": tok.stream_decoder(),
        "unigram": bbpe.train_from_iterator(["see my eyes"] * 3, 340, model="unigram"), "tok": tok,
        "spec": tok.spec, "text": "see my", "texts": ["see"], "data": b"see", "ids": [64, 65],
        "rows": [[64]], "batch": ["a"], "tokenizer": tok, "files": "a.jsonl", "path": "t.json", "vocab_size": 262,
        "counts": counts, "pattern": "gpt2", "folder": "new", "folders": ["out"], "add": 1, "keep": 260, "number": 0,
        "corpora": "a.jsonl", "tokenizers": {"t": tok}, "left": tok, "right": tok, "sizes": [260],
        "retokenize.source": "out", "plan_retokenizing.source": "out",
        "vocabulary_map.old": tok, "vocabulary_map.new": tok,
        "held_out": "a.jsonl",
        "name": "gpt2", "model": "gpt-4o", "messages": messages, "token_id": 64, "n": 2,
        "max_tokens": 3, "max_length": 2, "limit": "1GB", "ranks": {bytes([byte]): byte for byte in range(256)},
        "vocab": {byte: bytes([byte]) for byte in range(256)}, "merges": [], "weight": 1.0, "special_tokens": ["<a>"],
        "tokens": ["a"], "chunks": ["a"], "parts": [], "size": "1GB",
        "count_part.plan": bbpe.plan_count("a.jsonl", "plan", pattern="gpt2"),
        "plan": bbpe.plan_shards("a.jsonl", "splan", tok), "load_counts.path": "c.parquet",
        "EncodedChat": tok.encode_chat(messages), "EncodedChats": tok.encode_chat_batch([messages]),
        "chat": tok.encode_chat(messages[:1], add_generation_prompt=True), "sampled_ids": [64],
        "conversations": [messages], "segments": [("a", ())], "encode_chat_columns.batch": {"messages": [messages]},
        "chats": [], "decode_batch.batch": [[64]], "encode_bytes.text": b"see", "sum_counts.folder": "plan",
        "find.path": "a.jsonl", "document": 0, "part": 0, "token": 0, "record": 0,
        "load_shards.folder": "out", "verify_shards.folder": "out", "shards_status.folder": "out",
        "open_shards.files": "out/part-00000.bin", "open_shards.format": "megatron", "source": "out",
        "convert_shards.format": "nanogpt", "plan_conversion.format": "olmo", "ShardFiles.number": 0,
        "ShardFiles": bbpe.open_shards("out/part-00000", format="megatron"),
        "blend_shards.folders": [("out", 1.0)], **made_of_rows(), **reports(tok), "corpus": "x",
    }  # fmt: skip
    os.chdir(before)


def reports(tok: bbpe.Tokenizer) -> dict[str, Any]:
    texts = ["see my"] * 3
    return {
        "Evaluation": bbpe.evaluate({"t": tok}, texts={"x": texts}), "Comparison": bbpe.compare(tok, tok, texts=texts),
        "Curve": bbpe.learning_curve(tok, [258, 262], texts=texts), "LintReport": bbpe.lint(tok, texts=texts),
        "Trace": tok.trace("see my"), "TokenCounts": bbpe.count_tokens("a.jsonl", tok),
    }  # fmt: skip


def made_of_rows() -> dict[str, Any]:
    windows = bbpe.load_shards("out").windows(2)
    return {
        "Windows": windows, "Bins": bbpe.load_shards("out").bins(2, ragged=True), "RowStream": windows.stream(),
        "epoch": 0, "state": windows.stream().state_dict(),
    }  # fmt: skip


def functions() -> Iterator[tuple[str, str]]:
    """Names of public functions and methods, with the classes that have them."""
    for name in bbpe.__all__:
        found = getattr(bbpe, name)
        if (inspect.isfunction(found) or name in OPTIONS) and name not in LEFT_OUT:
            yield "", name
    for owner in (
        "Tokenizer", "PretokenCounts", "Shards", "ShardFiles", "Windows", "Bins", "RowStream", "Ragged", "EncodedChat",
        "EncodedChats", *REPORTS,
    ):  # fmt: skip
        kind = getattr(bbpe, owner)
        for name in dir(kind):
            if not name.startswith("_") and callable(getattr(kind, name)) and name not in LEFT_OUT:
                yield owner, name
    yield "stream", "push"
    yield "stream", "stream"


def call_of(owner: str, name: str, made: dict[str, Any]) -> tuple[Callable[..., Any], dict[str, Any], list[str]]:
    """A function, its right arguments, and the names of those that go by position."""
    scored = name in ("encode_nbest", "encode_sampled")
    call = getattr(made["unigram"] if scored else made[owner] if owner else bbpe, name)
    right: dict[str, Any] = {}
    placed = []
    for row in inspect.signature(call).parameters.values():
        if row.default is row.empty and row.kind in (row.POSITIONAL_ONLY, row.POSITIONAL_OR_KEYWORD):
            placed.append(row.name)
        if row.default is row.empty and row.kind not in (row.VAR_POSITIONAL, row.VAR_KEYWORD):
            right[row.name] = made.get(f"{name}.{row.name}", made.get(row.name, "a"))
    return call, right, placed


def answer_of(call: Callable[..., Any], placed: list[Any], named: dict[str, Any]) -> None:
    """Call a function; a generator begins its work with its first value."""
    found = call(*placed, **named)
    if inspect.isgenerator(found):
        next(found, None)


@pytest.mark.parametrize(("owner", "name"), list(functions()))
def test_wrong_kinds_are_named(owner: str, name: str, made: dict[str, Any]) -> None:
    call, right, placed = call_of(owner, name, made)
    rows = list(inspect.signature(call).parameters.values())
    for row in rows + [inspect.Parameter(each, inspect.Parameter.KEYWORD_ONLY) for each in PASSED_ON.get(name, ())]:
        if row.kind in (row.VAR_POSITIONAL, row.VAR_KEYWORD) or row.name in CORPORA:
            continue
        for wrong in WRONG:
            if wrong is None and row.default is not row.empty:
                continue
            arguments = {**right, row.name: wrong}
            first = [arguments.pop(each) for each in placed]
            try:
                answer_of(call, first, arguments)
            except (ValueError, OSError, ImportError, OverflowError, KeyError, bbpe.BBPEError):
                pass
            except TypeError as error:
                message, names = str(error), CALLED.get(row.name, row.name)
                assert not RAW.search(message), (row.name, wrong, message)
                assert re.search(rf"\b(?:{names}|{row.name})\b", message), (row.name, wrong, message)


@cache
def choices() -> dict[str, Any]:
    """The names for choices in the package."""
    return {
        name: value for path, module in [*sys.modules.items()] if path.partition(".")[0] == "bbpe"
        for name, value in vars(module).items() if get_origin(value) is Literal
    }  # fmt: skip


def literals_of(annotation: str) -> list[str]:
    """The texts that an argument may be, of an annotation with nothing else but None, numbers and collections."""
    names = choices()
    found: list[str] = []
    for part in annotation.split(" | "):
        if part == "Selection":
            found.append("all")
        elif part in names or part.startswith("Literal["):
            found += get_args(names[part] if part in names else eval(part, {"Literal": Literal}))
        elif part not in ("None", "bool", "int"):
            return []
    return [text for text in found if isinstance(text, str)]


#: What calls need besides, so that they look at their choices.
WITH = {
    "evaluate": {"texts": {"x": ["a"]}}, "encode_padded": {"pad_id": 0}, "convert_shards": {"format": "olmo"},
}  # fmt: skip


@pytest.mark.parametrize(("owner", "name"), list(functions()))
def test_a_text_that_is_no_choice_is_refused(owner: str, name: str, made: dict[str, Any]) -> None:
    call, right, placed = call_of(owner, name, made)
    for row in inspect.signature(call).parameters.values():
        texts = literals_of(str(row.annotation))
        if texts:
            arguments = {**right, **WITH.get(name, {}), row.name: "no such choice"}
            first = [arguments.pop(each) for each in placed]
            with pytest.raises((ValueError, TypeError), match=rf"\b{row.name}\b|{'.*'.join(texts[:2])}"):
                answer_of(call, first, arguments)


@pytest.mark.parametrize(("owner", "name"), [*functions(), ("", "accelerate"), ("", "patch_transformers")])
def test_what_is_no_bool_is_refused(owner: str, name: str, made: dict[str, Any]) -> None:
    """Of a flag; "no" is true to Python."""
    call, right, placed = call_of(owner, name, made)
    for row in inspect.signature(call).parameters.values():
        if str(row.annotation) in ("bool", "bool | None"):
            for wrong in ("no", 2, [], np.ones(1, bool), *([] if "None" in str(row.annotation) else [None])):
                arguments = {**right, **WITH.get(name, {}), row.name: wrong}
                first = [arguments.pop(each) for each in placed]
                with pytest.raises(TypeError, match=rf"\b{row.name}\b.* (?:a bool|True|False)"):
                    answer_of(call, first, arguments)


def test_choices_are_found() -> None:
    assert literals_of("OnMissing") == literals_of("Literal['error', 'keep'] | None") == ["error", "keep"]
    assert literals_of("Selection") == ["all"]
    assert literals_of("str | None") == literals_of("Model") == []


def test_all_public_functions_are_looked_at() -> None:
    found = {name for _, name in functions()}
    assert {"train", "count", "shard", "lint", "evaluate", "load", "encode", "decode", "chunk", "save"} <= found
    assert len(found) > 80


#: Views with the names of other libraries: these check types themselves, so words of theirs are not looked for.
VIEWS = ("as_tiktoken", "as_tokenizers", "as_sentencepiece")
OF_VIEWS = {
    "text": "see", "texts": ["see"], "tokens": [64], "token": 64, "sequence": "see", "input": ["see"], "piece": "s",
    "sequences": [[64]], "batch": [[64]], "id": 64, "text_or_bytes": "see", "nbest_size": 2, "alpha": 0.1,
    "max_length": 3, "special_tokens": ["a"], "encoding": None,
}  # fmt: skip


def methods_of(view: object) -> Iterator[tuple[str, Callable[..., Any]]]:
    for name in dir(type(view)):
        found = inspect.getattr_static(type(view), name)
        if inspect.isfunction(found) and not name.startswith("_") and not inspect.iscoroutinefunction(found):
            yield name, getattr(view, name)


@pytest.mark.parametrize("view", VIEWS)
def test_views_raise_no_errors_of_their_insides(
    view: str, made: dict[str, Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    found = getattr(made["unigram"] if view == "as_sentencepiece" else made["tok"], view)()
    right = {**OF_VIEWS, "encoding": found.encode("see") if view == "as_tokenizers" else None}
    wrongs = []
    for name, call in methods_of(found):
        rows = [row for row in inspect.signature(call).parameters.values() if row.kind not in (
            row.VAR_POSITIONAL, row.VAR_KEYWORD)]
        given = {row.name: right.get(row.name, "a") for row in rows if row.default is row.empty}
        for row in rows:
            for wrong in WRONG:
                try:
                    call(**{**given, row.name: wrong})
                except (ValueError, OSError, ImportError, OverflowError, KeyError, AssertionError, bbpe.BBPEError):
                    pass
                except TypeError as error:
                    if RAW.search(str(error)):
                        wrongs.append((name, row.name, wrong, str(error)))
                except Exception as error:
                    wrongs.append((name, row.name, wrong, repr(error)))
    assert not wrongs, "\n".join(map(str, wrongs))


def numpy_numbers(made: dict[str, Any]) -> list[tuple[Callable[..., Any], dict[str, Any], str, int]]:
    tok, texts = made["tok"], ["see my eyes"] * 3
    return [
        (tok.encode_batch, {"texts": ["see"]}, "threads", 1),
        (tok.decode, {"ids": [65]}, "threads", 1),
        (tok.count_tokens, {"text": "see"}, "threads", 2),
        (tok.encode, {"text": "see my", "dropout": 0.5}, "seed", 7),
        (tok.truncate, {"text": "see my"}, "n", 2),
        (tok.chunk, {"text": "see my"}, "max_tokens", 2),
        (tok.chunk, {"text": "see my", "max_tokens": 3}, "overlap", 1),
        (tok.encode_padded, {"texts": ["see"], "pad_id": 0}, "max_length", 2),
        (tok.encode_padded, {"texts": ["see"], "max_length": 2, "pad_id": 0}, "stride", 1),
        (tok.encode_padded, {"texts": ["see"]}, "pad_id", 3),
        (tok.encode_padded, {"texts": ["see"], "pad_id": 0}, "pad_to_multiple_of", 4),
        (tok.id_to_token, {}, "token_id", 64),
        (tok.is_special_token, {}, "token_id", 261),
        (bbpe.train_from_iterator, {"texts": texts}, "vocab_size", 260),
        (bbpe.extend, {"tokenizer": tok, "files": "a.jsonl"}, "add", 1),
        (bbpe.prune, {"tokenizer": tok}, "keep", 260),
        (bbpe.prune, {"tokenizer": tok, "used_in": "a.jsonl"}, "min_count", 2),
        (bbpe.lint, {"tokenizer": tok, "texts": ["a"]}, "min_count", 3),
        (bbpe.compare, {"left": tok, "right": tok, "texts": ["a"]}, "most", 3),
        (bbpe.count_tokens, {"files": "a.jsonl", "tokenizer": tok}, "threads", 1),
        (made["PretokenCounts"].most_common, {}, "n", 1),
        (made["PretokenCounts"].scale, {}, "weight", 2),
        (bbpe.verify_shards, {"folder": "out", "tokenizer": tok, "sample": 0.5}, "seed", 3),
        (bbpe.Counting, {}, "threads", 2),
        (bbpe.Counting, {}, "max_memory", 10**9),
        (bbpe.Counting, {}, "max_pretoken_bytes", 100),
        (bbpe.Counting, {"executor": EXECUTOR}, "in_flight", 2),
        (bbpe.Counting, {"executor": EXECUTOR}, "attempts", 2),
        *((bbpe.BPE, {}, name, 3) for name in ("min_frequency", "max_token_length", "pad_vocab_to", "max_words")),
        *((bbpe.WordPiece, {}, name, 3) for name in ("min_frequency", "max_alphabet")),
        *((bbpe.Unigram, {}, name, 3) for name in ("max_token_length", "pad_vocab_to")),
    ]


def test_whole_numbers_of_numpy_are_ints(made: dict[str, Any]) -> None:
    """As they come from a table of settings; truth values, fractions and texts are none."""
    for call, others, name, value in numpy_numbers(made):
        want = call(**others, **{name: value})
        for kind in (np.int64, np.uint16, np.int32):
            if kind is np.uint16 and value > 65_535:
                continue
            got = call(**others, **{name: kind(value)})
            assert repr(got) == repr(want), name
            assert "np." not in repr(got), name
        for wrong in (True, np.True_, 1.5, "1", [1]):
            if name == "weight" and wrong == 1.5:
                continue
            if (name, wrong) in (("max_memory", "1"), ("keep", [1])):  # one byte, which is a size; and one id
                continue
            with pytest.raises(TypeError, match=rf"{name}.* must be an? (?:int|number)|an id is an int|a size must be"):
                call(**others, **{name: wrong})


def least_numbers(made: dict[str, Any]) -> list[tuple[Callable[..., Any], dict[str, Any], str, int]]:
    tok, windows = made["tok"], made["Windows"]
    chat = {"messages": [{"role": "user", "content": "a"}], "chat_template": "{{ messages[0].content }}"}
    return [
        *((bbpe.BPE, {}, *row) for row in (
            ("min_frequency", 0), ("max_token_length", 1), ("pad_vocab_to", 1), ("max_words", 1))),
        *((bbpe.WordPiece, {}, *row) for row in (("min_frequency", 0), ("max_alphabet", 1))),
        *((bbpe.Unigram, {}, *row) for row in (("max_token_length", 1), ("pad_vocab_to", 1))),
        *((bbpe.Counting, {}, name, 1) for name in ("threads", "max_pretoken_bytes")),
        *((bbpe.Counting, {"executor": EXECUTOR}, name, 1) for name in ("attempts", "in_flight")),
        (bbpe.extend, {"tokenizer": tok, "files": "a.jsonl"}, "add", 1),
        (bbpe.prune, {"tokenizer": tok, "used_in": "a.jsonl"}, "min_count", 0),
        (bbpe.lint, {"tokenizer": tok, "texts": ["a"]}, "min_count", 1),
        (bbpe.compare, {"left": tok, "right": tok, "texts": ["a"]}, "most", 0),
        (bbpe.evaluate, {"tokenizers": tok, "texts": ["a"]}, "seed", 0),
        (bbpe.count_tokens, {"files": "a.jsonl", "tokenizer": tok}, "threads", 1),
        (made["PretokenCounts"].most_common, {}, "n", 0),
        (made["unigram"].encode_nbest, {"text": "see"}, "n", 1),
        (made["unigram"].encode_sampled, {"text": "see"}, "nbest", 1),
        (tok.encode_batch, {"texts": ["see"]}, "threads", 1),
        (tok.encode_chat, chat, "max_length", 1),
        (made["Shards"].windows, {}, "n", 1), (made["Shards"].bins, {"ragged": True}, "n", 1),
        *((windows.stream, {}, name, 1) for name in ("world", "batch", "epochs")),
        (windows.stream, {"world": 2}, "rank", 0),
        (bbpe.open_shards, {"files": "out/part-00000.bin", "format": "megatron"}, "vocab_size", 1),
    ]  # fmt: skip


def test_numbers_are_taken_from_the_least_on(made: dict[str, Any]) -> None:
    for call, others, name, least in least_numbers(made):
        with pytest.raises(ValueError, match=rf"\b{name} is {least - 1}; expected (?:at least )?{least}\b"):
            call(**others, **{name: least - 1})
        call(**others, **{name: least})


def test_shards_take_numbers_of_numpy(made: dict[str, Any], tmp_path: Path) -> None:
    tok = made["tok"]
    eos = np.int64(tok.special_tokens["<s>"])
    done = bbpe.shard("a.jsonl", tmp_path / "a", tok, eos=eos, part_size=np.int64(1000), threads=np.int8(1))
    assert done.plan.policy.eos == 256 + 5 or type(done.plan.policy.eos) is int
    joined = bbpe.merge_shards([tmp_path / "a"], tmp_path / "b", shuffle=np.int64(7), shard_size=np.uint8(20))
    assert len(joined) == 3
    assert joined[np.int64(1)].tolist() == joined[1].tolist()
    assert bbpe.shard_part(made["plan"], np.int64(0)).documents == 3
    assert bbpe.count_part(made["count_part.plan"], np.int64(0)).documents == 3
    with pytest.raises(ValueError, match="part is 1; expected 0 to 0"):
        bbpe.shard_part(made["plan"], np.int64(1))


#: Results with rows by number, and what errors call a row; others have tokens by id or results by name.
INDEXED = {
    "Shards": "document", "ShardFiles": "document", "Ragged": "row", "EncodedChats": "conversation", "Windows": "row",
    "Bins": "row",
}  # fmt: skip
KEYED = {"LintReport", "VocabularyMap"}


def test_all_results_with_rows_are_looked_at() -> None:
    kinds = {name for name in bbpe.__all__ if hasattr(getattr(bbpe, name), "__getitem__")}
    assert {name for name in kinds if not issubclass(getattr(bbpe, name), tuple)} == INDEXED.keys() | KEYED


@pytest.mark.parametrize(("name", "word"), INDEXED.items())
def test_rows_are_counted_from_either_end(name: str, word: str, made: dict[str, Any]) -> None:
    rows, right = made[name], [repr(row) for row in made[name]]
    count = len(rows)
    assert count == len(right) > 0
    for number in range(-count, count):
        assert repr(rows[number]) == repr(rows[np.int64(number)]) == right[number]
    for wrong in (count, -count - 1, 1 << 70):
        with pytest.raises(IndexError, match=f"^{word} {wrong} of {count}$"):
            rows[wrong]
    for part in (slice(None), slice(-1, None), slice(None, -1), slice(count, None), slice(None, None, -1), slice(1, 0)):
        assert [repr(row) for row in rows[part]] == right[part]


def test_ids_of_numpy_make_a_vocabulary() -> None:
    ranks = {bytes([byte]): np.int64(byte) for byte in range(256)}
    tok = bbpe.Tokenizer.from_ranks(ranks, pattern="gpt2", special_tokens={"<s>": np.int32(256)})
    assert tok == bbpe.Tokenizer.from_ranks(
        {token: int(rank) for token, rank in ranks.items()}, pattern="gpt2", special_tokens={"<s>": 256}
    )
    vocab = {np.uint32(byte): bytes([byte]) for byte in range(256)}
    assert bbpe.Tokenizer.from_merges(vocab, [], pattern="gpt2").encode("a") == [97]
    with pytest.raises(TypeError, match="a vocabulary maps int to bytes"):
        bbpe.Tokenizer.from_merges({**vocab, 999.5: b"ab"}, [], pattern="gpt2")  # type: ignore[dict-item]
