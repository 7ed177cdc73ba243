"""Reports take a corpus as training does: a `str` is a path, always, and texts come by `texts=`."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import bbpe

TOK = bbpe.train_from_iterator(["see my eyes first", "see my dogs"] * 9, 270)
SMALL = bbpe.train_from_iterator(["see my eyes first", "see my dogs"] * 9, 265)
#: The package, for arguments of wrong types.
ANY: Any = bbpe
FILES = {"en.txt": "see my eyes first " * 20, "zh.txt": "\u6211\u7684\u72d7 " * 20}
#: What a report finds in a corpus, or in texts.
REPORTS: dict[str, Callable[..., Any]] = {
    "evaluate": lambda *corpus, **texts: [
        (row.text.bytes, row.tokens) for row in bbpe.evaluate(TOK, *corpus, **texts)
    ],
    "lint": lambda *corpus, **texts: bbpe.lint(TOK, *corpus, **texts)["unused"].ids,
    "compare": lambda *corpus, **texts: bbpe.compare(SMALL, TOK, *corpus, **texts).tokens,
    "learning_curve": lambda *corpus, **texts: [
        (point.bytes, point.tokens) for point in bbpe.learning_curve(TOK, [265, 270], *corpus, **texts)
    ],
    "corpus_curve": lambda *corpus, **texts: [
        (point.bytes, point.tokens)
        for point in bbpe.corpus_curve(
            ["see my dogs"] * 9, 260, *corpus, **({"held_out_texts": texts["texts"]} if texts else {}), shares=[1]
        )
    ],
}
#: What the argument for files is called.
CALLED = {"lint": "corpus", "compare": "corpus", "corpus_curve": "held_out"}


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for name, text in FILES.items():
        Path(name).write_text(text, "utf-8")
    Path("empty").mkdir()


@pytest.mark.parametrize("name", REPORTS)
def test_names_are_files_and_texts_are_texts(name: str) -> None:
    report = REPORTS[name]
    want = report(texts=list(FILES.values()))
    assert want != report(texts=list(FILES))
    ways: list[Any] = [list(FILES), tuple(FILES), list(map(Path, FILES)), "*.txt", iter(FILES), "."]
    assert [report(way) for way in ways] == [want] * len(ways)
    assert report("en.txt") == report(Path("en.txt")) == report(texts=[FILES["en.txt"].encode()])
    assert report(texts=iter(FILES.values())) == report(texts=[list(FILES.values())]) == want


@pytest.mark.parametrize("name", REPORTS)
@pytest.mark.parametrize("kind", [np.str_, object])
@pytest.mark.parametrize("texts", [list(FILES.values()), ["see my dogs"], [""], []])
def test_arrays_are_texts(name: str, kind: type, texts: list[str]) -> None:
    found = []
    for given in (texts, np.array(texts, kind)):
        try:
            found.append(REPORTS[name](texts=given))
        except ValueError as error:  # what lint says of texts without tokens
            found.append(str(error))
    assert found[0] == found[1]


def test_an_array_of_one_empty_text_is_a_document() -> None:
    assert bbpe.evaluate(TOK, texts=np.array([""])).rows[0].text.documents == 1


def test_an_empty_list_of_files_is_named_before_its_name() -> None:
    """The name of the corpus that it would be is that of the texts, too."""
    for report in (bbpe.evaluate, lambda tok, *corpora, **texts: bbpe.learning_curve(tok, [265], *corpora, **texts)):
        with pytest.raises(bbpe.CorpusError, match="corpora names no files"):
            report(TOK, [], texts=["see"])


@pytest.mark.parametrize("name", REPORTS)
@pytest.mark.parametrize(
    ("corpus", "kind", "message"),
    [
        ("none.txt", FileNotFoundError, "No such file or directory ({0}): 'none.txt'"),
        (["en.txt", "none.txt"], FileNotFoundError, "({0}): 'none.txt'"),
        ("see my dogs", FileNotFoundError, "if this is text, give it by texts="),
        ("*.none", bbpe.CorpusError, "'*.none' ({0}) matches no file"),
        ("empty", bbpe.CorpusError, "'empty' ({0}) holds no files"),
        ([], bbpe.CorpusError, "{0} names no files"),
        (5, TypeError, "{0} is 5, an int; expected a path, a glob"),
        (b"en.txt", TypeError, "{0} is b'en.txt', a bytes; expected a path"),
        ({"en.txt"}, TypeError, "{0} is {{'en.txt'}}, a set; expected a path"),
        (TOK, TypeError, "{0} is a bbpe.Tokenizer; expected a path"),
        ([TOK], TypeError, "{0}[0] is a bbpe.Tokenizer; expected the path of a file"),
        (["en.txt", None], TypeError, "{0}[1] is None; expected the path of a file"),
    ],
)
def test_what_is_no_corpus(name: str, corpus: Any, kind: type[Exception], message: str) -> None:
    with pytest.raises(kind) as caught:
        REPORTS[name](corpus)
    assert message.format(CALLED.get(name, "corpora")) in str(caught.value)


@pytest.mark.parametrize("name", REPORTS)
@pytest.mark.parametrize(
    ("texts", "message"),
    [
        ("see my dogs", "is 'see my dogs', a str; expected an iterable of texts"),
        (b"see", "is b'see', a bytes; expected an iterable of texts"),
        (Path("en.txt"), "Path; expected an iterable of texts"),
        ({"see", "my"}, "a set; expected an iterable of texts"),
        (5, "is 5, an int; expected an iterable of texts"),
        ([Path("en.txt")], "[0] is 'en.txt', a pathlib."),
        (["see", None], "[1] is None; expected a text"),
    ],
)
def test_what_is_no_texts(name: str, texts: Any, message: str) -> None:
    with pytest.raises(TypeError) as caught:
        REPORTS[name](texts=texts)
    found = str(caught.value)
    assert message in found
    assert found.startswith("held_out_texts" if name == "corpus_curve" else "texts")


@pytest.mark.parametrize("name", ["lint", "compare"])
def test_names_of_corpora_say_nothing_here(name: str) -> None:
    for given in ({"corpus": {"en": "en.txt"}}, {"texts": {"en": ["see"]}}):
        with pytest.raises(TypeError, match="a dict; expected"):
            REPORTS[name](**given)


def test_a_mapping_names_corpora() -> None:
    found = bbpe.evaluate(TOK, {"both": list(FILES), "zh": "zh.txt"}, texts={"mine": ["see"]})
    assert [row.corpus for row in found] == ["both", "zh", "mine"]
    sizes = {name: len(text.encode()) for name, text in FILES.items()}
    assert [row.text.bytes for row in found] == [sum(sizes.values()), sizes["zh.txt"], 3]
    with pytest.raises(FileNotFoundError, match=r"\(corpora\['zh'\]\): 'none.txt'"):
        bbpe.evaluate(TOK, {"en": "en.txt", "zh": ["none.txt"]})
    with pytest.raises(TypeError, match=r"texts\['a'\] is 'see', a str"):
        bbpe.evaluate(TOK, texts={"a": "see"})
    with pytest.raises(ValueError, match="corpora and texts both name a corpus 'en'"):
        bbpe.evaluate(TOK, {"en": "en.txt"}, texts={"en": ["see"]})
    with pytest.raises(TypeError, match="corpora has the key 1, an int"):
        bbpe.evaluate(TOK, {1: "en.txt"})  # type: ignore[dict-item]
    for nothing in (None, dict[str, str]()):
        with pytest.raises(ValueError, match="there is no corpus; expected files, given as corpora, or texts"):
            ANY.evaluate(TOK, nothing)


def test_exchanged_arguments() -> None:
    with pytest.raises(TypeError, match=r"^sizes is 'en.txt', a str; expected a list of sizes"):
        bbpe.learning_curve(TOK, "en.txt", [265, 270])  # type: ignore[arg-type,list-item]
    for sizes, message in (([[270]], r"sizes\[0\] must be an int"), (["270"], r"sizes\[0\]"), (270, "sizes is 270")):
        with pytest.raises(TypeError, match=message):
            bbpe.learning_curve(TOK, sizes, "en.txt")  # type: ignore[arg-type]


def test_the_files_of_prune_and_the_texts_of_training() -> None:
    with pytest.raises(FileNotFoundError, match=r"\(used_in\): 'none.txt'"):
        bbpe.prune(TOK, used_in=["none.txt"])
    for texts in ({"low": 5}, {"low", "lower"}, Path("en.txt"), "en.txt"):
        with pytest.raises(TypeError, match=r"^texts is .*; expected an iterable of texts"):
            bbpe.train_from_iterator(texts, 300)  # type: ignore[arg-type]
        with pytest.raises(TypeError, match=r"^texts is .*; expected an iterable of texts"):
            bbpe.count_from_iterator(texts, pattern="gpt2")  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("call", "kind", "message"),
    [
        (lambda: ANY.lint(TOK, min_count="2"), TypeError, "min_count must be an int, not str"),
        (lambda: ANY.lint(TOK, min_count=0), ValueError, "min_count is 0; expected at least 1"),
        (lambda: ANY.compare(TOK, SMALL, most="2"), TypeError, "most must be an int, not str"),
        (lambda: ANY.compare(TOK, SMALL, names=("a",)), ValueError, r"names is \('a',\), a tuple; expected two names"),
        (lambda: ANY.compare(TOK, SMALL, names="ab"), ValueError, "names is 'ab', a str; expected two names"),
        (lambda: ANY.prune(TOK, keep="260"), TypeError, "keep must be an int, a collection of ids, or None, not str"),
        (lambda: ANY.prune(TOK, keep=260.0), TypeError, "keep must be an int, a collection of ids, or None, not float"),
        (lambda: ANY.prune(TOK, keep=True), TypeError, "keep must be an int, a collection of ids, or None, not bool"),
        (lambda: ANY.prune(TOK, keep=260, min_count=None), TypeError, "min_count must be an int"),
    ],
)
def test_other_arguments(call: Callable[[], Any], kind: type[Exception], message: str) -> None:
    with pytest.raises(kind, match=f"^{message}"):
        call()


def test_numbers_of_numpy_are_numbers() -> None:
    number = np.int64(265)
    assert len(ANY.prune(TOK, keep=number)[0]) == 265
    assert [point.size for point in ANY.learning_curve(TOK, np.array([265, 270]), "en.txt")] == [265, 270]
    assert ANY.lint(TOK, "en.txt", min_count=number).as_dict() == ANY.lint(TOK, "en.txt", min_count=265).as_dict()
    assert ANY.compare(SMALL, TOK, "en.txt", most=np.int32(1)).pairs == ANY.compare(SMALL, TOK, "en.txt").pairs[:1]
