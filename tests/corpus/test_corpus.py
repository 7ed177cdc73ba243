"""From names to files, and from files to bytes."""

from __future__ import annotations

from pathlib import Path

import pytest

from bbpe.corpus.files import corpus_paths
from bbpe.errors import CorpusError


@pytest.fixture
def tree(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    for name in ("b.txt", "a.txt", "c.md", ".hidden", "sub/d.txt", "sub/deep/e.txt", ".git/f.txt", "x[1].txt"):
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(name)
    (tmp_path / "empty").mkdir()
    return tmp_path


def names(files: object) -> list[str]:
    return [path.as_posix() for path in corpus_paths(files)]  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("files", "expected"),
    [
        ("a.txt", ["a.txt"]),
        (Path("a.txt"), ["a.txt"]),
        (["b.txt", "a.txt"], ["b.txt", "a.txt"]),
        (("c.md", Path("sub")), ["c.md", "sub/d.txt", "sub/deep/e.txt"]),
        ("*.txt", ["a.txt", "b.txt", "x[1].txt"]),
        ("**/*.txt", ["a.txt", "b.txt", "sub/d.txt", "sub/deep/e.txt", "x[1].txt"]),
        ("sub/**", ["sub/d.txt", "sub/deep/e.txt"]),
        ("[ab].txt", ["a.txt", "b.txt"]),
        ("x[1].txt", ["x[1].txt"]),
        (".", ["a.txt", "b.txt", "c.md", "sub/d.txt", "sub/deep/e.txt", "x[1].txt"]),
        (["b.txt", "*.txt", "./a.txt"], ["b.txt", "a.txt", "x[1].txt"]),
        (["sub/../a.txt", "a.txt"], ["sub/../a.txt"]),
        ((name for name in ("a.txt", "b.txt")), ["a.txt", "b.txt"]),
    ],
    ids=lambda value: repr(value).partition(" at 0x")[0],
)
def test_names_stand_for_files_in_a_fixed_order(tree: Path, files: object, expected: list[str]) -> None:
    assert names(files) == expected


def test_a_link_to_a_file_is_the_same_file(tree: Path) -> None:
    (tree / "link.txt").symlink_to("a.txt")
    assert names(["link.txt", "a.txt"]) == ["link.txt"]


def test_links_to_folders_are_not_followed_into_a_circle(tree: Path) -> None:
    (tree / "sub" / "circle").symlink_to(tree / "sub", target_is_directory=True)
    assert names("sub") == ["sub/d.txt", "sub/deep/e.txt"]


@pytest.mark.parametrize("files", ["none.txt", ["a.txt", "none.txt"], ""])
def test_a_missing_file_is_named(tree: Path, files: object) -> None:
    with pytest.raises(FileNotFoundError) as caught:
        names(files)
    assert caught.value.filename == ("" if files == "" else "none.txt")


@pytest.mark.parametrize(("files", "named"), [("*.rst", r"\*.rst"), ("empty", "empty"), ([], "no files")])
def test_what_yields_no_file_is_named(tree: Path, files: object, named: str) -> None:
    with pytest.raises(CorpusError, match=named):
        names(files)


def test_a_text_is_no_name() -> None:
    text = "some words * and [others]\n" * 2000
    for files in (text, [text]):
        with pytest.raises(CorpusError, match=r"52000 characters.*count_from_iterator"):
            corpus_paths(files)


@pytest.mark.parametrize("files", [None, 3, b"a.txt", [b"a.txt"], [None], {"a.txt"}, {"a.txt": 1}, [["a"]]], ids=repr)
def test_other_types_are_refused(tree: Path, files: object) -> None:
    with pytest.raises(TypeError):
        names(files)
