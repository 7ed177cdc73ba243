"""The key of finished tables covers everything that loading reads."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from types import MappingProxyType
from typing import Any

import class_folders
import pytest
from systems import link

import bbpe
from bbpe import formats
from bbpe.core import image
from bbpe.files import digest_of, is_covered, noting_reads, open_file, read_bytes
from bbpe.tables import sources
from bbpe.tables.sources import key_of_bytes, key_of_path

TEXT = "see the lowest tokens, 123 naïve 한국어 <s>"


@pytest.fixture(autouse=True)
def _small_ones_too(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("bbpe.tables.sources._LEAST", 1)


def test_the_key_covers_all_files_that_loading_reads(tmp_path: Path) -> None:
    pytest.importorskip("sentencepiece.sentencepiece_model_pb2")
    for number, (name, *case) in enumerate(class_folders.cases()):
        if not class_folders.is_plain(name):
            continue
        folder = tmp_path / str(number)
        folder.mkdir()
        class_folders.fill(folder, *case)
        (folder / "config.json").write_text("{}")
        with noting_reads() as hashed:
            assert key_of_path(folder, None, None, None) is not None
        with noting_reads() as read:
            bbpe.load(folder, cache=False)
        assert read.keys() <= hashed.keys(), name
        assert is_covered(read, hashed), name


def test_equal_arguments_have_one_key(tmp_path: Path) -> None:
    """Whatever their types are; other arguments have another key."""
    path = tmp_path / "t.json"
    bbpe.train_from_iterator([TEXT], 270).save(path)
    arguments: list[list[tuple[Any, Any, Any]]] = [
        [("gpt2", None, None)],
        [(["a", "b"], None, None), (("a", "b"), None, None)],
        [(["b", "a"], None, None)],
        [(None, {"<s>": 300}, None), (None, MappingProxyType({"<s>": 300}), None)],
        [(None, {"<s>": 301}, None)],
        [(None, {}, None)],
        [(None, None, "name")],
        [(None, None, None)],
    ]
    sources: list[tuple[Callable[..., Any], Any]] = [(key_of_path, path), (key_of_bytes, path.read_bytes())]
    for key_of, source in sources:
        keys = [{key_of(source, *each) for each in equal} for equal in arguments]
        assert all(len(found) == 1 for found in keys)
        assert len(set().union(*keys)) == len(arguments)
        assert None not in set().union(*keys)


def test_the_type_of_a_model_is_in_the_key(tmp_path: Path) -> None:
    pytest.importorskip("sentencepiece.sentencepiece_model_pb2")
    folder, cache, found = tmp_path / "model", tmp_path / "tables", []
    folder.mkdir()
    class_folders.fill(folder, "XLMRobertaTokenizer", {}, {})
    (folder / "tokenizer_config.json").unlink()
    for kind in ("mbart", "xlm-roberta", "mbart"):
        (folder / "config.json").write_text(json.dumps({"model_type": kind}))
        loaded = [bbpe.load(folder, cache=cache), bbpe.load(folder, cache=cache), bbpe.load(folder, cache=False)]
        found.append(loaded[0].encode(TEXT, add_special_tokens=True))
        assert [tok.encode(TEXT, add_special_tokens=True) for tok in loaded] == 3 * [found[-1]]
    assert found[0] == found[2] != found[1]


def test_each_file_beside_a_vocabulary_is_in_the_key(tmp_path: Path) -> None:
    """The others are there too, and the same."""
    bbpe.train_from_iterator([TEXT], 270).save(tmp_path / "tokenizer.json")
    (tmp_path / "additional_chat_templates").mkdir()
    names = [
        "tokenizer_config.json", "special_tokens_map.json", "added_tokens.json", "chat_template.jinja",
        "chat_template.json", "generation_config.json", "config.json", "tokenizer.json",
        "additional_chat_templates/a.jinja", "additional_chat_templates/b.jinja",
    ]  # fmt: skip
    for name in names:
        if name != "tokenizer.json":
            (tmp_path / name).write_text("{}")
    keys = [key_of_path(tmp_path, None, None, None)]
    assert keys == [key_of_path(tmp_path, None, None, None)]
    for name in names:
        path = tmp_path / name
        data = path.read_bytes()
        path.write_bytes(data + b" ")
        keys.append(key_of_path(tmp_path, None, None, None))
        path.write_bytes(data)
        if name != "tokenizer.json":
            path.unlink()
            keys.append(key_of_path(tmp_path, None, None, None))
            path.write_bytes(data)
    assert key_of_path(tmp_path, None, None, None) == keys[0]
    assert None not in keys
    assert len(set(keys)) == len(keys)


def test_a_file_under_another_name_has_another_key(tmp_path: Path) -> None:
    """What is the text of one template may not be taken for that of another one."""
    bbpe.train_from_iterator([TEXT], 270).save(tmp_path / "tokenizer.json")
    keys = []
    for name in ("added_tokens.json", "special_tokens_map.json", "generation_config.json"):
        (tmp_path / name).write_text("{}")
        keys.append(key_of_path(tmp_path, None, None, None))
        (tmp_path / name).unlink()
    assert None not in keys
    assert len(set(keys)) == 3


def test_what_reads_a_file_that_the_key_does_not_cover_is_not_stored(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path, other, load = tmp_path / "tokenizer.json", tmp_path / "other", formats.load
    bbpe.train_from_iterator([TEXT], 300).save(path)
    other.write_text("x")

    def reads(*args: Any, **options: Any) -> Any:
        read_bytes(other, most=1)
        return load(*args, **options)

    monkeypatch.setattr(formats, "load", reads)
    bbpe.load(path, cache=tmp_path / "tables")
    assert [*(tmp_path / "tables").iterdir()] == []
    monkeypatch.setattr(formats, "load", load)
    bbpe.load(path, cache=tmp_path / "tables")
    assert len([*(tmp_path / "tables").iterdir()]) == 1


def test_what_was_read_is_noted_by_its_content(tmp_path: Path) -> None:
    path = tmp_path / "a"
    path.write_bytes(b"one")
    times = (path.stat().st_atime_ns, path.stat().st_mtime_ns)
    with noting_reads() as hashed:
        digest_of(path)
    cases: dict[str, Callable[[], Any]] = {
        "read": lambda: read_bytes(path, most=9),
        "head": lambda: open_file(path).close(),
    }
    for read in cases.values():
        with noting_reads() as later:
            read()
        assert is_covered(later, hashed)
        assert not is_covered(later, {})
    # other bytes of the same size, as if at the same time in the same file
    with noting_reads() as later:
        read_bytes(path, most=9)
    (facts,) = later.values()
    assert len(facts) == 2
    path.write_bytes(b"two")
    os.utime(path, ns=times)
    with noting_reads() as flipped:
        read_bytes(path, most=9)
    (others,) = flipped.values()
    assert len([fact for fact in others - facts if isinstance(fact, bytes)]) == 1
    assert not is_covered(flipped, hashed)


@pytest.mark.parametrize("way", ["written", "renamed", "linked"])
def test_a_file_that_is_another_only_while_it_is_loaded(
    way: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The key would be that of the one, and the tables those of the other."""
    path, cache, load = tmp_path / "tokenizer.json", tmp_path / "tables", formats.load
    one, other = bbpe.train_from_iterator([TEXT], 290), bbpe.train_from_iterator([TEXT[::-1]], 290)
    files = [tmp_path / "one.json", tmp_path / "other.json"]
    for tok, file in zip((one, other), files, strict=True):
        tok.save(file)

    def put(file: Path) -> None:
        if way == "linked":
            path.unlink(missing_ok=True)
            link(path, file)
        elif way == "written":
            path.write_bytes(file.read_bytes())
            os.utime(path, (1, 1))
        else:
            shutil.copy2(file, tmp_path / "new")
            (tmp_path / "new").replace(path)

    def flips(*args: Any, **options: Any) -> Any:
        put(files[1])
        try:
            return load(*args, **options)
        finally:
            put(files[0])

    put(files[0])
    with monkeypatch.context() as patch:
        patch.setattr(formats, "load", flips)
        assert bbpe.load(path, cache=cache) == other
    assert bbpe.load(path, cache=cache) == one
    assert bbpe.load(path, cache=cache) == one


@pytest.fixture
def package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A copy of the package's modules, all of one time, whose keys are made."""
    copy = tmp_path / "copy"
    shutil.copytree(Path(bbpe.__file__).parent, copy, ignore=shutil.ignore_patterns("*.c", "*.so", "__pycache__"))
    for path in copy.rglob("*"):
        os.utime(path, (1, 1))
    monkeypatch.setattr(sources, "__file__", str(copy / "tables" / "sources.py"))
    monkeypatch.setattr(sources, "IMPORTED", time.time() + 1000)
    return copy


def program() -> bytes:
    return sources._program.__wrapped__()


NAMES = ["files.py", "tokenizer.py", "splitting/patterns.py", "formats/gguf/metadata.py", "tables/store.py"]


@pytest.mark.parametrize("name", NAMES)
def test_another_version_has_another_key(name: str, package: Path) -> None:
    """Also where all modules have the size and the time that they had, as in a store of packages."""
    found = program()
    assert program() == found
    path = package / name
    data = path.read_bytes()
    path.write_bytes(data[:-2] + bytes([data[-2] ^ 1]) + data[-1:])
    os.utime(path, (1, 1))
    assert program() != found
    path.write_bytes(data)
    assert program() == found


def test_modules_that_move_have_another_key(package: Path) -> None:
    found = [program()]
    (package / "spec" / "new.py").write_bytes(b"")
    found.append(program())
    (package / "spec" / "new.py").rename(package / "splitting" / "new.py")
    found.append(program())
    (package / "new_folder").mkdir()
    (package / "splitting" / "new.py").rename(package / "new_folder" / "new.pyc")
    found.append(program())
    assert len(set(found)) == len(found)
    (package / "cli" / "new.py").write_bytes(b"")
    assert program() == found[-1]


def test_other_builds_have_another_key(package: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert package.is_dir()
    assert len(image.BUILD) == 64
    found = program()
    monkeypatch.setattr(sources, "BUILD", "0" * 64)
    assert program() != found


def test_modules_that_changed_after_they_were_imported_have_no_key(
    package: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What runs is the module as it was, perhaps."""
    now = time.time()
    monkeypatch.setattr(sources, "IMPORTED", now - 1000)
    with pytest.raises(ValueError, match="changed since the package was imported"):
        program()
    monkeypatch.setattr(sources, "IMPORTED", now + 1000)
    os.utime(package / "files.py", (now + 2000, now + 2000))
    with pytest.raises(ValueError, match=r"files\.py has changed"):
        program()
    shutil.rmtree(package)
    with pytest.raises(OSError, match="copy"):  # as in a zip file
        program()


#: What loading imports, whichever format it is.
LOADING = """
import sys
import bbpe
for path in sys.argv[1:]:
    bbpe.load(path, cache=False).encode("see my eyes first")
print(*(name for name in sys.modules if name.startswith("bbpe.")))
"""


def test_the_key_covers_all_modules_that_loading_uses(tmp_path: Path) -> None:
    tok, paths = bbpe.train_from_iterator([TEXT], 300), [tmp_path / "tokenizer.json", tmp_path / "pair"]
    tok.save(paths[0])
    tok.save(paths[1], format="gpt2")
    for kind in ("wordpiece", "unigram"):
        paths.append(tmp_path / kind / "tokenizer.json")
        paths[-1].parent.mkdir()
        bbpe.train_from_iterator([TEXT], 300, model=kind, special_tokens=["[UNK]"]).save(paths[-1])
    command = [sys.executable, "-c", LOADING, *map(str, paths)]
    run = subprocess.run(command, capture_output=True, text=True, check=True)
    names = {name.split(".")[1] for name in run.stdout.split()}
    assert {"formats", "spec", "splitting", "tables", "loading"} <= names
    assert not names & sources._NOT_LOADING
