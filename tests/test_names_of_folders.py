"""A path with a slash at its end is that of a folder: no file is read or written under it."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

import bbpe
from bbpe.cli import main

TOK = bbpe.train_from_iterator(["low lower"], vocab_size=258, pattern="gpt2")


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The current folder, with a text, a tokenizer, and a folder."""
    monkeypatch.chdir(tmp_path)
    Path("a.txt").write_text("low lower")
    Path("there").mkdir()
    TOK.save("tok.json")
    return tmp_path


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


WRITERS: dict[str, Callable[[str], object]] = {
    ".json": TOK.save,
    ".gguf": lambda path: TOK.save(path, format="gguf"),
    ".parquet": lambda path: bbpe.count(["a.txt"], pattern="gpt2").save(path),
    ".txt": lambda path: bbpe.train(["a.txt"], vocab_size=258, log_merges=path),
}


@pytest.mark.parametrize("name", ["new{}/", "gone/new{}/", "new{}/."])
@pytest.mark.parametrize("suffix", WRITERS)
def test_no_file_is_written_under_the_name_of_a_folder(folder: Path, suffix: str, name: str) -> None:
    path, write = name.format(suffix), WRITERS[suffix]
    before = names(folder)
    with pytest.raises(IsADirectoryError, match="a path that ends so is a folder; expected the name of") as caught:
        write(path)
    assert caught.value.filename == path
    assert names(folder) == before


def test_a_name_with_a_slash_is_a_folder_for_a_tokenizer(folder: Path) -> None:
    for path in ("new/", "v1.5/", "there/"):
        TOK.save(path)
        assert (folder / path / "tokenizer.json").is_file()
        assert bbpe.load(path) == TOK


@pytest.mark.parametrize(
    "command",
    [
        "count a.txt --pattern gpt2 -o new.csv/", "train a.txt --vocab-size 258 -o new.json/",
        "convert tok.json new.json/", "extend -t tok.json a.txt --add 1 --format gguf -o new/",
        "train a.txt --vocab-size 258 -o tok2 --log-merges new.txt/",
    ],
)  # fmt: skip
def test_commands_refuse_it_before_they_work(folder: Path, command: str, capsys: pytest.CaptureFixture[str]) -> None:
    before = names(folder)
    assert main(command.split()) != 0
    error = capsys.readouterr().err
    assert f"{command.split()[-1]}: a path that ends so is a folder" in error
    assert names(folder) == before


def test_the_merges_are_not_written_to_a_folder_that_there_is(folder: Path) -> None:
    with pytest.raises(IsADirectoryError, match="this is a folder; expected the name of a file for the merges"):
        bbpe.train(["not there"], vocab_size=258, log_merges="there")


def test_a_file_is_not_read_under_the_name_of_a_folder(folder: Path) -> None:
    with pytest.raises(NotADirectoryError, match="this is a file; leave out the slash after its name"):
        bbpe.load("tok.json/")
    np.save("some.npy", np.array([5, 1], np.uint16))
    for path in ("some.npy/", "some.npy/."):
        with pytest.raises(NotADirectoryError, match="this is a file"):
            bbpe.open_shards(path, format="numpy", eos=1)


def test_a_file_of_ids_is_not_taken_for_a_folder_of_its_name(folder: Path) -> None:
    np.save("some.npy", np.array([5, 1], np.uint16))

    def ids(path: str | Path) -> list[list[int]]:
        return [ids.tolist() for ids in bbpe.open_shards(path, format="numpy", eos=1)]

    assert ids("some") == ids(Path("some")) == ids("some.npy") == [[5, 1]]
    with pytest.raises(FileNotFoundError, match="no such folder"):
        ids("some/")
    Path("some").mkdir()
    np.save("some/other.npy", np.array([6, 1], np.uint16))
    assert ids("some/") == ids("some/.") == [[6, 1]]
    assert ids("some.npy") == [[5, 1]]
    for path in ("some", Path("some")):
        with pytest.raises(bbpe.CorpusError, match=r"there is some\.npy, too; add \.npy, or a slash for this folder"):
            ids(path)
