"""From names to files, and from files to bytes."""

from __future__ import annotations

from pathlib import Path

import pytest
from systems import link

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
        (["b.txt", "*.txt", "./a.txt"], ["b.txt", "a.txt", "b.txt", "x[1].txt", "a.txt"]),
        (["sub/../a.txt", "a.txt"], ["sub/../a.txt", "a.txt"]),
        (["sub", "sub/d.txt"], ["sub/d.txt", "sub/deep/e.txt", "sub/d.txt"]),
        ("./*.txt", ["a.txt", "b.txt", "x[1].txt"]),
        ("s*/*.txt", ["sub/d.txt"]),
        ("**", ["a.txt", "b.txt", "c.md", "sub/d.txt", "sub/deep/e.txt", "x[1].txt"]),
        ("**/deep/**/*.txt", ["sub/deep/e.txt"]),
        ("sub/**/**/e.txt", ["sub/deep/e.txt"]),
        (".h*", [".hidden"]),
        ("**/.git/*", [".git/f.txt"]),
        ((name for name in ("a.txt", "b.txt")), ["a.txt", "b.txt"]),
    ],
    ids=lambda value: repr(value).partition(" at 0x")[0],
)
def test_names_stand_for_files_in_a_fixed_order(tree: Path, files: object, expected: list[str]) -> None:
    assert names(files) == expected


def test_an_absolute_pattern(tree: Path) -> None:
    assert names(f"{tree}/**/d.txt") == names(f"{tree}/*/d.txt") == [(tree / "sub" / "d.txt").as_posix()]


@pytest.mark.parametrize("given", ["sub", "sub/*", "sub/**", "sub/**/*.txt"])
def test_a_folder_and_a_pattern_give_each_file_once(tree: Path, given: str) -> None:
    link((tree / "sub" / "a_link.txt"), "d.txt")
    assert names(given) == [name for name in ("sub/d.txt", "sub/deep/e.txt") if given != "sub/*" or "deep" not in name]
    assert names(["sub/a_link.txt", "sub/d.txt"]) == ["sub/a_link.txt", "sub/d.txt"]


@pytest.mark.parametrize("given", ["sub", "sub/**", "sub/**/*.txt"])
def test_links_to_folders_are_followed(tree: Path, given: str) -> None:
    (tree / "elsewhere").mkdir()
    for name in ("f.txt", "g.txt"):
        (tree / "elsewhere" / name).write_text(name)
    link((tree / "sub" / "web"), tree / "elsewhere", target_is_directory=True)
    link((tree / "sub" / "again"), tree / "elsewhere", target_is_directory=True)
    link((tree / "sub" / "deep" / "down"), tree / "sub" / "web", target_is_directory=True)
    found = names(given)
    assert sorted(path.rpartition("/")[2] for path in found) == ["d.txt", "e.txt", "f.txt", "g.txt"]
    assert names("sub/web/*") == ["sub/web/f.txt", "sub/web/g.txt"]
    assert names("**/web/**") == ["sub/web/f.txt", "sub/web/g.txt"]


@pytest.mark.parametrize("given", ["sub", "sub/**", "sub/**/*.txt"])
def test_links_to_folders_are_not_followed_into_a_circle(tree: Path, given: str) -> None:
    for number in range(6):
        link((tree / "sub" / f"circle{number}"), tree / "sub", target_is_directory=True)
        link((tree / "sub" / "deep" / f"up{number}"), tree, target_is_directory=True)
    found = names(given)
    assert [name for name in found if name.count("/") < 3] == ["sub/d.txt", "sub/deep/e.txt"]
    assert len({Path(name).resolve() for name in found}) == len(found)


TABLE = [
    "_SUCCESS", "_metadata", "_common_metadata", "_delta_log/0.json", "_delta_log/0.crc", "_temporary/0/part-0.parquet",
    "dataset_infos.json", "README.md", "data/README.md", "data/dataset_info.json", "data/_tmp.jsonl.gz",
]  # fmt: skip


@pytest.mark.parametrize("given", ["table", "table/**", "table/**/*"])
def test_what_belongs_to_a_table_but_has_no_texts_is_left_out(tree: Path, given: str) -> None:
    kept = ["table/_notes.txt", "table/code/__init__.py", "table/data/part-0.parquet", "table/docs/README.md"]
    for name in (*TABLE, *(name.removeprefix("table/") for name in kept)):
        path = tree / "table" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.touch()
    assert names(given) == kept
    for name in TABLE:
        assert names(f"table/{name}") == [f"table/{name}"], "a file that is named itself is read"
    assert names("table/_*") == ["table/_SUCCESS", "table/_common_metadata", "table/_metadata", "table/_notes.txt"]
    # as text, records and cards are texts like others
    as_text = list(map(str, corpus_paths(given, "text")))
    assert as_text == sorted([*kept, *(f"table/{name}" for name in TABLE if "." in name and not name.endswith(".crc"))])
    (tree / "empty" / "_SUCCESS").touch()
    with pytest.raises(CorpusError, match="'empty' holds no files but 1 that are left out, such as '_SUCCESS'"):
        names("empty")


def test_a_card_of_texts_is_a_text(tree: Path) -> None:
    (tree / "sub" / "README.md").write_text("see my eyes")
    assert names("sub") == ["sub/README.md", "sub/d.txt", "sub/deep/e.txt"]


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
