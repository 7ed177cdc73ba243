"""Every public function that takes a tokenizer refuses what is none, by the name of its argument, with a way out."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import bbpe
from bbpe.report.view import to_html

TOK = bbpe.train_from_iterator(["see my dogs"] * 9, 265)
#: A call for each argument that is a tokenizer.
TAKING: dict[str, Callable[[Any], Any]] = {
    "compare.left": lambda tok: bbpe.compare(tok, TOK),
    "compare.right": lambda tok: bbpe.compare(TOK, tok),
    "count_tokens.tokenizer": lambda tok: bbpe.count_tokens("a.txt", tok),
    "evaluate.tokenizers": lambda tok: bbpe.evaluate(tok, "a.txt"),
    "extend.tokenizer": lambda tok: bbpe.extend(tok, "a.txt"),
    "learning_curve.tokenizers": lambda tok: bbpe.learning_curve(tok, [260], "a.txt"),
    "lint.tokenizer": lambda tok: bbpe.lint(tok),
    "open_shards.tokenizer": lambda tok: bbpe.open_shards("a.txt", format="megatron", tokenizer=tok),
    "plan_shards.tokenizer": lambda tok: bbpe.plan_shards("a.txt", "out", tok),
    "plan_retokenizing.tokenizer": lambda tok: bbpe.plan_retokenizing("old", "out", tok),
    "retokenize.tokenizer": lambda tok: bbpe.retokenize("old", "out", tok),
    "prune.tokenizer": lambda tok: bbpe.prune(tok, keep=260),
    "shard_from_iterator.tokenizer": lambda tok: bbpe.shard_from_iterator(["a"], "out", tok),
    "shard.tokenizer": lambda tok: bbpe.shard("a.txt", "out", tok),
    "verify_shards.tokenizer": lambda tok: bbpe.verify_shards("out", tok),
}
#: Those that may be several.
SEVERAL = {"count_tokens.tokenizer", "evaluate.tokenizers"}
#: Those that may be left out, and those that take the tokenizer of another library.
OPTIONAL = {"open_shards.tokenizer", "verify_shards.tokenizer"}
OTHERS = {"accelerate.tokenizer", "is_accelerated.tokenizer"}


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("a.txt").write_text("see my dogs")


def test_the_table_has_all() -> None:
    taking = {
        f"{name}.{argument}"
        for name in bbpe.__all__
        if inspect.isfunction(getattr(bbpe, name))
        for argument in inspect.signature(getattr(bbpe, name)).parameters
        if "tokenizer" in argument or argument in ("left", "right")
    }
    assert taking - OTHERS == set(TAKING)


@pytest.mark.parametrize("name", TAKING)
@pytest.mark.parametrize(
    ("given", "shown", "way"),
    [
        ("tok.json", "'tok.json', a str", "bbpe.load() makes one of a file"),
        ("llama3", "'llama3', a str", "bbpe.get_encoding('llama3') makes one"),
        ("gpt-4o", "'gpt-4o', a str", "bbpe.encoding_for_model('gpt-4o') makes one"),
        (Path("tok.json"), "'tok.json', a pathlib.", "bbpe.load() makes one of a file"),
        (None, "None", "bbpe.load() makes one of a file"),
        (5, "5, an int", "bbpe.load() makes one of a file"),
        (b"x" * 99, "b'" + "x" * 38 + "..., a bytes", "bbpe.load() makes one of a file"),
        ({TOK}, ", a set", "bbpe.load() makes one of a file"),
        (bbpe.Tokenizer, "a type", "bbpe.load() makes one of a file"),
        (TOK.as_tiktoken(), "a bbpe.Encoding", "bbpe.get_encoding(name)"),
        (TOK.as_tokenizers(), "a bbpe.compat.tokenizers.Tokenizer", "its save(file)"),
    ],
)
def test_what_is_no_tokenizer(name: str, given: Any, shown: str, way: str) -> None:
    if given is None and name in OPTIONAL:
        return
    with pytest.raises(TypeError) as caught:
        TAKING[name](given)
    message = str(caught.value)
    assert message.startswith(f"{name.partition('.')[2]} is ")
    assert shown in message
    assert "; expected a Tokenizer: " in message
    assert way in message


def test_several_where_one_is_expected_and_one_that_is_none_of_several() -> None:
    for name, call in TAKING.items():
        if name not in SEVERAL and not name.endswith(".tokenizers"):
            with pytest.raises(TypeError, match=f"^{name.partition('.')[2]} is .*, a list; expected a Tokenizer"):
                call([TOK, TOK])
    for name in SEVERAL:
        with pytest.raises(TypeError, match=rf"^{name.partition('.')[2]}\[1\] is 'tok.json', a str"):
            TAKING[name]([TOK, "tok.json"])
    for call in (lambda toks: bbpe.evaluate(toks, "a.txt"), lambda toks: to_html("see", toks)):
        with pytest.raises(TypeError, match=r"^tokenizers\['a'\] is 'tok.json', a str"):
            call({"a": "tok.json"})


@pytest.mark.parametrize("name", ["transformers", "tokenizers"])
def test_tokenizers_of_other_libraries(name: str) -> None:
    library = pytest.importorskip(name)
    if name == "transformers":
        given, way = TOK.as_huggingface(), r"its save_pretrained\(folder\) writes what bbpe.load\(folder\) reads"
    else:
        given, way = library.Tokenizer(library.models.BPE()), r"its save\(file\) writes what bbpe.load\(file\) reads"
    with pytest.raises(TypeError, match=f"^tokenizer is a {name}.[A-Za-z]+; expected a Tokenizer: {way}"):
        bbpe.shard("a.txt", "out", given)
