"""Every public function that takes a corpus, an output or options refuses what it cannot use, and names it.

One table of calls that work. Names in the signatures give the roles of the arguments, so a new function that is not in
the table fails `test_the_table_is_whole`.
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest

import bbpe

TEXT = "see my eyes first\nthe second line\n" * 40
#: Parameters that take a corpus, and those that take a tokenizer, have these names everywhere.
CORPORA = {"files", "corpus", "corpora", "used_in", "held_out"}
TOKENIZERS = {"tokenizer", "tokenizers", "left", "right"}
#: Arguments of these names are names in a report here.
NAMES_IN_REPORTS = {"Curve.knee", "Evaluation.row"}
#: A parameter of these names is an output here; elsewhere it is an input.
FILES_WRITTEN = {
    "Tokenizer.save": ("path",),
    "PretokenCounts.save": ("path",),
    "SourceTable.save": ("path",),
    "Curve.plot": ("path",),
    "Evaluation.plot": ("path",),
    "BBPETokenizer.train_tokenizer": ("vocab_outfile", "merges_outfile"),
}
FOLDERS_WRITTEN = {
    "count": ("checkpoint",),
    "count_from_iterator": ("checkpoint",),
    "count_shards": ("checkpoint",),
    "plan_count": ("folder",),
    "plan_shards": ("folder",),
    "shard": ("folder",),
    "shard_from_iterator": ("folder",),
    "merge_shards": ("folder",),
    "convert_shards": ("folder",),
    "plan_conversion": ("folder",),
    "plan_retokenizing": ("folder",),
    "retokenize": ("folder",),
}
#: Takes a tokenizer of another library.
OTHER_TOKENIZERS = {"accelerate", "is_accelerated"}

Call = tuple[Callable[..., Any], dict[str, Any]]


def calls(corpus: str, here: Path) -> dict[str, Call]:
    """Calls that work, by the name of the function."""
    tok = bbpe.train_from_iterator([TEXT], 280)
    counts = bbpe.count_from_iterator([TEXT], pattern="gpt2")
    shards = here / "shards"
    if not shards.exists():
        bbpe.shard(corpus, shards, tok)
    plan = bbpe.plan_count(corpus, here / "plan", pattern="gpt2")
    for number in range(len(plan.parts)):
        bbpe.count_part(plan, number)
    out = here / "out"
    return {
        "BBPETokenizer.train_tokenizer": (
            bbpe.BBPETokenizer.train_tokenizer,
            {"data": TEXT, "vocab_size": 270, "vocab_outfile": here / "v.json", "merges_outfile": here / "m.txt"},
        ),
        "Curve.plot": (bbpe.learning_curve(tok, [270, 280], corpus).plot, {"path": here / "curve.svg"}),
        "Evaluation.plot": (bbpe.evaluate(tok, corpus).plot, {"path": here / "bars.svg"}),
        "PretokenCounts.save": (counts.save, {"path": here / "counts.parquet"}),
        "SourceTable.save": (bbpe.count_tokens(corpus, [tok]).save, {"path": here / "tokens.parquet"}),
        "Tokenizer.as_huggingface": (tok.as_huggingface, {}),
        **chat_calls(tok),
        **conversions(shards, out, tok),
        "Tokenizer.encode_files": (lambda files, **more: list(tok.encode_files(files, **more)), {"files": corpus}),
        "Tokenizer.save": (tok.save, {"path": here / "t.json"}),
        "accelerate": (bbpe.accelerate, {}),
        "compare": (bbpe.compare, {"left": tok, "right": tok, "corpus": corpus}),
        "corpus_curve": (bbpe.corpus_curve, {"texts": [TEXT] * 8, "vocab_size": 270, "held_out": corpus}),
        "count": (bbpe.count, {"files": corpus, "pattern": "gpt2"}),
        "count_from_iterator": (bbpe.count_from_iterator, {"texts": [TEXT], "pattern": "gpt2"}),
        "count_shards": (bbpe.count_shards, {"folder": shards, "pattern": "gpt2"}),
        "count_tokens": (bbpe.count_tokens, {"files": corpus, "tokenizer": tok}),
        "evaluate": (bbpe.evaluate, {"tokenizers": tok, "corpora": corpus}),
        "extend": (bbpe.extend, {"tokenizer": tok, "files": corpus, "add": 2}),
        "is_accelerated": (bbpe.is_accelerated, {}),
        "learning_curve": (bbpe.learning_curve, {"tokenizers": tok, "sizes": [270, 280], "corpora": corpus}),
        "lint": (bbpe.lint, {"tokenizer": tok, "corpus": corpus}),
        "plan_count": (bbpe.plan_count, {"files": corpus, "folder": out / "plan", "pattern": "gpt2"}),
        "plan_shards": (bbpe.plan_shards, {"files": corpus, "folder": out / "planned", "tokenizer": tok}),
        "prune": (bbpe.prune, {"tokenizer": tok, "used_in": corpus}),
        "shard": (bbpe.shard, {"files": corpus, "folder": out / "sharded", "tokenizer": tok}),
        "shard_from_iterator": (bbpe.shard_from_iterator, {
            "texts": ["low"], "folder": out / "iterated", "tokenizer": tok}),
        "train": (bbpe.train, {"files": corpus, "vocab_size": 280}),
        "verify_shards": (bbpe.verify_shards, {"folder": shards, "tokenizer": tok}),
    }


def conversions(shards: Path, out: Path, tok: bbpe.Tokenizer) -> dict[str, Call]:
    given = {"source": shards, "folder": out / "converted", "format": "olmo"}
    return {
        "merge_shards": (bbpe.merge_shards, {"folders": [shards], "folder": out / "merged"}),
        "plan_retokenizing": (bbpe.plan_retokenizing, {"source": shards, "folder": out / "plan_r", "tokenizer": tok}),
        "retokenize": (bbpe.retokenize, {"source": shards, "folder": out / "retokenized", "tokenizer": tok}),
        "convert_shards": (bbpe.convert_shards, given), "plan_conversion": (bbpe.plan_conversion, given),
        "open_shards": (bbpe.open_shards, {"files": shards / "part-00000", "format": "megatron"}),
    }  # fmt: skip


def chat_calls(tok: bbpe.Tokenizer) -> dict[str, Call]:
    messages = [{"role": "user", "content": "see"}]
    calls: dict[str, Call] = {
        "Tokenizer.apply_chat_template": (tok.apply_chat_template, {"messages": messages}),
        "Tokenizer.encode_chat": (tok.encode_chat, {"messages": messages}),
        "Tokenizer.encode_chat_batch": (tok.encode_chat_batch, {"conversations": [messages]}),
        "Tokenizer.encode_chat_columns": (tok.encode_chat_columns, {"batch": {"messages": [messages]}}),
    }
    return {name: (call, {**given, "chat_template": "{{x}}"}) for name, (call, given) in calls.items()}


@pytest.fixture(scope="module")
def table(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Call]:
    here = tmp_path_factory.mktemp("arguments")
    (here / "corpus.txt").write_text(TEXT, encoding="utf-8")
    return calls(str(here / "corpus.txt"), here)


@pytest.fixture(autouse=True)
def empty(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The current folder, in which nothing may be left."""
    monkeypatch.chdir(tmp_path)
    return tmp_path


def public() -> dict[str, inspect.Signature]:
    """Signatures of the public functions, and of the methods of public classes."""
    found: dict[str, inspect.Signature] = {}
    for name in bbpe.__all__:
        value = getattr(bbpe, name)
        if inspect.isclass(value):
            methods = {key: getattr(value, key) for key in vars(value) if not key.startswith("_")}
            callables = {f"{name}.{key}": method for key, method in methods.items() if callable(method)}
        else:
            callables = {name: value} if callable(value) else {}
        found |= {key: inspect.signature(function) for key, function in callables.items()}
    return found


SIGNATURES = public()


def parameters(kind: set[str]) -> list[tuple[str, str]]:
    chosen = {name: signature for name, signature in SIGNATURES.items() if name not in NAMES_IN_REPORTS}
    return [(name, key) for name, signature in chosen.items() for key in signature.parameters if key in kind]


CORPUS_ARGUMENTS = parameters(CORPORA)
TOKENIZER_ARGUMENTS = parameters(TOKENIZERS)  # tests/test_arguments.py has wrong ones
TAKES_OPTIONS = [
    name
    for name, signature in SIGNATURES.items()
    if any(parameter.kind is parameter.VAR_KEYWORD for parameter in signature.parameters.values())
]
WRITTEN = FILES_WRITTEN | FOLDERS_WRITTEN
OUTPUT_ARGUMENTS = [(name, key) for name in WRITTEN for key in WRITTEN[name]]
NAMES = sorted({*TAKES_OPTIONS, *(name for name, _ in (*CORPUS_ARGUMENTS, *TOKENIZER_ARGUMENTS, *OUTPUT_ARGUMENTS))})


def test_the_table_is_whole(table: dict[str, Call]) -> None:
    """Each function with such an argument is called below, and each call of the table works."""
    assert len(CORPUS_ARGUMENTS) >= 11
    assert len(TOKENIZER_ARGUMENTS) >= 10
    assert set(NAMES) <= set(table)
    for name, (function, arguments) in table.items():
        if name not in OTHER_TOKENIZERS and not name.endswith(".plot"):
            function(**arguments)


def refused(call: Call, changes: Mapping[str, Any]) -> str:
    """The message of the error that a call raises with changed arguments."""
    function, arguments = call
    with pytest.raises((TypeError, ValueError, OSError, bbpe.BBPEError)) as error:
        function(**{**arguments, **changes})
    return str(error.value)


@pytest.mark.parametrize("name", sorted({*NAMES, "train_from_iterator", "train_from_counts", "load", "get_encoding"}))
def test_a_misspelt_option(table: dict[str, Call], name: str) -> None:
    function, arguments = table.get(name, (getattr(bbpe, name, None), {}))
    with pytest.raises(TypeError, match="misspelt"):
        function(**arguments, misspelt=1)  # type: ignore[misc]


@pytest.mark.parametrize(("name", "key"), CORPUS_ARGUMENTS)
def test_a_corpus_that_is_not_there(table: dict[str, Call], name: str, key: str, empty: Path) -> None:
    (empty / "folder").mkdir()
    names = ["missing.txt", "missing*.txt", Path("missing.txt"), ["missing.txt"], "folder", "no such text at all"]
    for missing in names:
        needle = missing[0] if isinstance(missing, list) else str(missing)
        assert needle in refused(table[name], {key: missing}), missing


@pytest.mark.parametrize(("name", "key"), CORPUS_ARGUMENTS)
def test_what_is_no_corpus(table: dict[str, Call], name: str, key: str) -> None:
    tok = bbpe.train_from_iterator([TEXT], 270)
    wrong: list[object] = [5, 1.5, True, object(), {"missing.txt"}, frozenset({"missing.txt"}), b"missing.txt", tok]
    wrong.append([5])
    if key not in {"corpora", "held_out"}:
        wrong.append({"missing.txt": 2.0})
    for value in wrong:
        message = refused(table[name], {key: value})
        assert re.search(rf"\b{key}\b", message), (value, message)


@pytest.mark.parametrize(("name", "key"), OUTPUT_ARGUMENTS)
def test_an_output_that_cannot_be_written(table: dict[str, Call], name: str, key: str, empty: Path) -> None:
    """A URL is written or refused, and never becomes a folder of that name."""
    if name.endswith(".plot"):
        pytest.importorskip("matplotlib")
    urls = ["nosuchscheme://bucket/out"]
    if name in FOLDERS_WRITTEN:
        urls += ["memory://bucket/out", "s3://bucket/out"]
    for url in urls:
        message = refused(table[name], {key: url})
        assert url in message, message
        assert list(empty.iterdir()) == []
    for value in (5, object(), {"out"}):
        message = refused(table[name], {key: value})
        assert re.search(rf"\b{key}\b", message), (value, message)
