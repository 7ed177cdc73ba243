"""The folder of finished tables: nothing that happens to it makes loading fail or changes a tokenizer."""

from __future__ import annotations

import errno
import json
import os
import random
import stat
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, NoReturn

import pytest
from small_published import check, put

import bbpe
from bbpe.core.image import checksum
from bbpe.files import user_cache
from bbpe.tables import store
from bbpe.tables.sources import key_of_path

USER_FOLDER = store.user_folder
LINES = ["tokens, of the lowest; naïve 한국어 123 ...", "see my eyes first"] * 4
TEXT = "see the lowest tokens, 123 naïve 한국어 <s>"


@pytest.fixture(autouse=True)
def _small_ones_too(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("bbpe.tables.sources._LEAST", 1)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    saved = tmp_path / "model" / "tokenizer.json"
    saved.parent.mkdir()
    bbpe.train_from_iterator(LINES, 300, special_tokens=["<s>"]).save(saved)
    return saved


@pytest.fixture
def loaded(path: Path, tmp_path: Path) -> Callable[..., tuple[bool, list[int]]]:
    """`loaded()`: whether a tokenizer comes from tables, and its ids, which are always the same."""
    expected = bbpe.load(path, cache=False).encode(TEXT)

    def load(cache: Any = tmp_path / "tables", **options: Any) -> bool:
        tok = bbpe.load(path, cache=cache, **options)
        assert tok.encode(TEXT) == expected
        return tok._parts.model is not None

    return load


def files_of(folder: Path) -> list[Path]:
    return sorted(folder.glob("*.tables"))


def test_a_damaged_file_is_ignored_and_written_anew(loaded: Callable[..., bool], path: Path, tmp_path: Path) -> None:
    assert [loaded(), loaded()] == [False, True]
    (stored,) = files_of(tmp_path / "tables")
    good, key = stored.read_bytes(), stored.stem
    head = int.from_bytes(good[16:24], "little")
    blocks = json.loads(good[32 : 32 + head])["blocks"]
    assert list(blocks) == ["vocab", "merges", "model"]
    starts, place = [], 32 + head
    for size, _ in blocks.values():
        place += -place % 64
        starts += [place, place + size // 2, place + size - 1]
        place += size
    rng = random.Random(44)
    places = [*range(0, 40, 3), 32 + head - 1, *starts, *(rng.randrange(len(good)) for _ in range(150))]
    padding = range(32 + head, starts[0])
    for at in set(places) - set(padding):
        stored.write_bytes(good[:at] + bytes([good[at] ^ 1 << rng.randrange(8)]) + good[at + 1 :])
        assert store._opened(stored, key) is None, at
    for size in (0, 1, 16, 31, 32, 33, 32 + head, starts[0] + 64, starts[-1], len(good) - 1):
        stored.write_bytes(good[:size])
        assert store._opened(stored, key) is None, size
    stored.write_bytes(good + b"\0")
    assert [store._opened(stored, key), loaded(), loaded()] == [None, False, True]
    assert stored.read_bytes()[: len(good)][:32] == good[:32]


@pytest.mark.parametrize(
    "change",
    [
        {"key": "0" * 64}, {"key": None}, {"spec": []}, {"spec": None}, {"blocks": {}}, {"blocks": []},
        {"blocks": {"vocab": [64, 0]}}, {"blocks": {"vocab": [-64, 0]}}, {"blocks": {"vocab": ["64", 0]}},
        {"spec": [{"os.system": ["true"]}]}, {"spec": 7 * [[[[]]]]},
    ],
    ids=str,
)  # fmt: skip
def test_a_file_with_another_content_is_ignored(
    change: dict[str, Any], loaded: Callable[..., bool], tmp_path: Path
) -> None:
    """Also one that someone made, with the right checksum."""
    loaded()
    (stored,) = files_of(tmp_path / "tables")
    good = stored.read_bytes()
    size = int.from_bytes(good[16:24], "little")
    head = json.dumps({**json.loads(good[32 : 32 + size]), **change}).encode()
    numbers = len(head).to_bytes(8, "little") + checksum(head).to_bytes(8, "little")
    rest = good[32 + size + -(32 + size) % 64 :]
    stored.write_bytes(good[:16] + numbers + head + bytes(-(32 + len(head)) % 64) + rest)
    assert [loaded(), loaded()] == [False, True]


def test_another_key_for_everything_that_changes_a_tokenizer(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    keys = [key_of_path(path, None, None, None)]
    assert keys == [key_of_path(str(path), None, None, None)]
    keys += [key_of_path(path, pattern, None, None) for pattern in ("gpt2", ["gpt2"], ["a", "b"], r"\S+")]
    keys += [key_of_path(path, None, specials, None) for specials in ({}, {"<s>": 299}, {"<t>": 299})]
    keys += [key_of_path(path, None, None, "name"), key_of_path(path.parent, None, None, None)]
    path.with_name("tokenizer_config.json").write_text('{"bos_token": "<s>"}')
    keys.append(key_of_path(path, None, None, None))
    path.with_name("tokenizer_config.json").write_text('{"eos_token": "<s>"}')
    keys.append(key_of_path(path, None, None, None))
    path.with_name("vocab.json").write_text("{}")
    keys.append(key_of_path(path, None, None, None))
    path.write_bytes(path.read_bytes() + b"\n")
    keys.append(key_of_path(path, None, None, None))
    keys.append(key_of_path(path.rename(path.with_name("other.json")), None, None, None))
    monkeypatch.setattr("bbpe.tables.sources._program", lambda: b"another")
    keys.append(key_of_path(path.with_name("other.json"), None, None, None))
    assert len(set(keys)) == len(keys)
    assert None not in keys


def test_both_files_of_a_pair_are_in_the_key(path: Path, tmp_path: Path) -> None:
    pair = tmp_path / "pair"
    bbpe.load(path, cache=False).save(pair, format="gpt2", drop=["special_tokens"])
    for name in ("vocab.json", "merges.txt"):
        found = [key_of_path(pair, None, None, None), key_of_path(pair / "vocab.json", None, None, None)]
        (pair / name).write_bytes((pair / name).read_bytes() + b"\n")
        assert key_of_path(pair, None, None, None) not in (None, *found)
        assert key_of_path(pair / "vocab.json", None, None, None) not in (None, *found)


@pytest.mark.parametrize("wrong", ["missing.json", "model", 7, None, b"x"], ids=str)
def test_what_cannot_be_loaded_has_no_key(wrong: Any, tmp_path: Path) -> None:
    (tmp_path / "model").mkdir()
    source = tmp_path / wrong if isinstance(wrong, str) else wrong
    assert key_of_path(source, None, None, None) is None
    with pytest.raises((OSError, bbpe.VocabularyError, TypeError)):
        bbpe.load(source, cache=tmp_path / "tables")


def test_published_tokenizers_come_from_tables(bare: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = tmp_path / "tables"
    put(bare / "home/cache/bbpe/small.tiktoken")
    found = [bbpe.get_encoding("small", cache=folder) for _ in range(2)]
    assert [tok._parts.model is not None for tok in found] == [False, True]
    for tok in found:
        check(tok)
    assert bbpe.get_encoding("small")._parts.model is None
    # the tables are those of one content, and a file is used only if it has that
    (bare / "home/cache/bbpe/small.tiktoken").write_bytes(b"other")
    with pytest.raises(bbpe.VocabularyError, match="not on this machine"):
        bbpe.get_encoding("small", cache=folder)
    monkeypatch.setattr("bbpe.tables.sources._LEAST", 1 << 20)
    put(bare / "home/cache/bbpe/small.tiktoken")
    assert bbpe.get_encoding("small", cache=folder)._parts.model is None


def test_a_small_and_a_huge_vocabulary_are_not_stored(
    path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("bbpe.tables.sources._LEAST", 128 << 10)
    assert key_of_path(path, None, None, None) is None
    monkeypatch.setattr("bbpe.tables.sources._LEAST", 1)
    monkeypatch.setattr("bbpe.tables.sources._MOST", 100)
    assert key_of_path(path, None, None, None) is None
    bbpe.load(path, cache=tmp_path / "tables")
    assert files_of(tmp_path / "tables") == []


def test_a_source_that_changes_meanwhile_is_not_stored(
    path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    make = bbpe.Tokenizer.__init__

    def changed(self: bbpe.Tokenizer, spec: Any) -> None:
        path.write_bytes(path.read_bytes() + b"\n")
        make(self, spec)

    with monkeypatch.context() as patch:
        patch.setattr(bbpe.Tokenizer, "__init__", changed)
        bbpe.load(path, cache=tmp_path / "tables")
    assert files_of(tmp_path / "tables") == []


def test_what_cannot_be_stored_is_loaded(
    loaded: Callable[..., bool], path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: object) -> NoReturn:
        raise MemoryError

    with monkeypatch.context() as patch:
        patch.setattr(store, "table_file", fail)
        assert [loaded(), loaded()] == [False, False]
    with monkeypatch.context() as patch:
        patch.setattr("bbpe.tables.sources._program", _refuse)  # as in a zip file
        assert [loaded(), loaded()] == [False, False]
    assert files_of(tmp_path / "tables") == []
    with pytest.raises(TypeError, match="pattern must be a name"):
        bbpe.load(path, pattern=7, cache=tmp_path / "tables")  # type: ignore[arg-type]
    with pytest.raises(TypeError):
        bbpe.load(path, special_tokens=7, cache=tmp_path / "tables")  # type: ignore[arg-type]


def test_the_folder_of_the_user(loaded: Callable[..., bool], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(store, "user_folder", USER_FOLDER)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    assert [loaded(False), loaded(True), loaded(True)] == [False, False, True]
    folder = tmp_path / "cache" / "bbpe" / "tables"
    (stored,) = files_of(folder)
    if os.name == "posix":
        assert [stat.S_IMODE(status.stat().st_mode) for status in (folder, stored)] == [0o700, 0o600]
    monkeypatch.delenv("XDG_CACHE_HOME")
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    assert user_cache() == tmp_path / "home" / ".cache"
    assert loaded(True) is False
    assert not (tmp_path / "home").exists()
    (tmp_path / "home").mkdir()
    assert [loaded(True), loaded(True)] == [False, True]


def test_a_user_without_a_home(loaded: Callable[..., bool], monkeypatch: pytest.MonkeyPatch) -> None:
    def no_home() -> NoReturn:
        raise RuntimeError("Could not determine home directory.")

    monkeypatch.setattr(store, "user_folder", USER_FOLDER)
    monkeypatch.delenv("XDG_CACHE_HOME", raising=False)
    monkeypatch.setattr(Path, "home", no_home)
    assert loaded(True) is False


@pytest.mark.skipif(os.name != "posix", reason="modes of POSIX")
def test_what_others_can_write_to_is_not_used(loaded: Callable[..., bool], tmp_path: Path) -> None:
    folder = tmp_path / "tables"
    loaded()
    (stored,) = files_of(folder)
    for mode in (0o770, 0o707, 0o1777):
        folder.chmod(mode)
        assert loaded() is False
    folder.chmod(0o755)
    assert loaded() is True
    for mode in (0o660, 0o606):
        stored.chmod(mode)
        assert loaded() is False  # and a new one is written
        assert [stat.S_IMODE(stored.stat().st_mode), loaded()] == [0o600, True]
    kept = stored.rename(tmp_path / "kept")
    os.mkfifo(stored)
    assert loaded() is False
    stored.unlink(missing_ok=True)
    stored.symlink_to(kept)
    assert loaded() is True


@pytest.mark.skipif(os.name != "posix", reason="owners of POSIX")
def test_what_another_user_owns_is_not_used(
    loaded: Callable[..., bool], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    loaded()
    (stored,) = files_of(tmp_path / "tables")
    user = os.geteuid()
    monkeypatch.setattr(os, "geteuid", lambda: user + 1)
    assert loaded() is False
    assert store._opened(stored, stored.stem) is None


def _refuse(*args: object, **options: object) -> NoReturn:
    raise OSError(errno.ENOSPC, "No space left on device")


@pytest.mark.parametrize("what", ["os.open", "bbpe.core.temporary.FileIO", "os.replace", "pathlib.Path.iterdir"])
def test_a_full_disk_leaves_nothing(
    what: str, loaded: Callable[..., bool], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as patch:
        if what != "os.open":
            patch.setattr(what, _refuse)
        else:
            opened = os.open  # which reading needs too
            new = os.O_CREAT | os.O_EXCL
            patch.setattr(os, "open", lambda *args: _refuse() if args[1] & new else opened(*args))
        assert loaded() is False
    assert list((tmp_path / "tables").iterdir()) == []
    assert [loaded(), loaded()] == [False, True]


def test_a_folder_that_cannot_be_made(loaded: Callable[..., bool], tmp_path: Path) -> None:
    (tmp_path / "file").write_text("x")
    for folder in (tmp_path / "file", tmp_path / "file" / "tables", tmp_path / "no" / "such", "\0"):
        assert loaded(folder) is False
    assert (tmp_path / "file").read_text() == "x"


@pytest.mark.parametrize("wrong", [None, 1.5, b"folder", ("folder",)], ids=str)
def test_the_argument_is_checked(wrong: Any, path: Path) -> None:
    with pytest.raises(TypeError, match="cache is True, False or a folder"):
        bbpe.load(path, cache=wrong)


def test_the_folder_is_bounded(loaded: Callable[..., bool], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = tmp_path / "tables"
    now = time.time()
    names = ["one", "two", "three"]
    sizes = []
    for number, name in enumerate(names):
        assert loaded(name=name) is False
        (stored,) = set(files_of(folder)) - set(sizes)
        sizes.append(stored)
        os.utime(stored, (now, now - (10 - number) * 24 * 60 * 60))
    others = [
        folder / name
        for name in ("notes.txt", "x.tables", f"{'0' * 63}.tables", f"{'0' * 65}.tables", f"{'-' * 64}.tables")
    ]
    for other in others:
        other.write_bytes(bytes(1000))
        os.utime(other, (0, 0))
    size = sizes[0].stat().st_size
    killed = [folder / f".{'0' * 64}.tables.{name * 12}.tmp" for name in "abcd"]
    for temporary, age in zip(killed, (10**6, 70, 50, 0), strict=True):
        temporary.write_bytes(bytes(size))
        os.utime(temporary, (now - age, now - age))
    monkeypatch.setattr(store, "LIMIT", 3 * size + size // 2)
    assert loaded(name="one") is True  # used now, so that it is the last to go
    assert loaded(name="four") is False
    left = set(files_of(folder))
    assert sizes[1] not in left  # the least recently used, though "one" is older
    assert {sizes[0], sizes[2], *others[1:]} < left
    # a process writes for milliseconds, and what may be of one that writes takes nobody's room
    assert [temporary.exists() for temporary in killed] == [False, False, True, True]
    assert others[0].exists()
    assert sum(path.stat().st_size for path in left) <= store.LIMIT
    # several that go for one
    monkeypatch.setattr(store, "LIMIT", size + size // 2)
    assert [loaded(name="six"), loaded(name="six")] == [False, True]
    left = set(files_of(folder))
    assert len(left - {*others}) == 1
    # a file that does not fit alone
    monkeypatch.setattr(store, "LIMIT", size - 1)
    assert [loaded(name="five"), loaded(name="five")] == [False, False]
    assert set(files_of(folder)) == left


@pytest.mark.parametrize("harm", ["cut", "zeros", "copied over", "one byte"])
def test_a_file_in_use_may_be_cut_or_written_to(harm: str, path: Path, tmp_path: Path) -> None:
    """As when a backup of the folder is restored while programs run."""
    folder = tmp_path / "tables"
    expected = bbpe.load(path, cache=folder)
    (stored,) = files_of(folder)
    tok = bbpe.load(path, cache=folder)
    assert tok._parts.model is not None
    with stored.open("r+b") as file:
        if harm == "cut":
            file.truncate(0)
        elif harm == "one byte":
            file.write(b"x")
        else:
            size = stored.stat().st_size
            file.write(bytes(size) if harm == "zeros" else os.urandom(size // 2))
    assert tok.encode(TEXT) == expected.encode(TEXT)
    assert tok.get_vocab() == expected.get_vocab()
    assert tok.decode(tok.encode(TEXT)) == TEXT
    # the next process makes a new one
    del tok
    assert [bbpe.load(path, cache=folder)._parts.model is not None for _ in range(2)] == [False, True]


def test_tokenizers_of_one_file_share_its_content(path: Path, tmp_path: Path) -> None:
    folder = tmp_path / "tables"
    bbpe.load(path, cache=folder)
    (stored,) = files_of(folder)
    held = [bbpe.load(path, cache=folder) for _ in range(3)]
    content = store._HELD[stored.stem]
    assert len(held) == 3
    assert bytes(content) == stored.read_bytes()
    del held, content
    assert stored.stem not in store._HELD


def test_a_tokenizer_needs_no_descriptor(path: Path, tmp_path: Path) -> None:
    descriptors = Path("/proc/self/fd")
    if not descriptors.exists():
        pytest.skip("there is no /proc")
    bbpe.load(path, cache=tmp_path / "tables")
    before = len(list(descriptors.iterdir()))
    held = []
    for number in range(20):  # files of their own, which share nothing
        held += [bbpe.load(path, cache=tmp_path / "tables", name=f"n{number}") for _ in range(2)]
    assert sum(tok._parts.model is not None for tok in held) == 20
    assert len(list(descriptors.iterdir())) == before


def test_large_files_beside_a_vocabulary_are_not_stored(
    loaded: Callable[..., bool], path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path.with_name("chat_template.jinja").write_text("x" * 1000)
    monkeypatch.setattr("bbpe.tables.sources._MOST_BESIDE", 1000)
    assert [loaded(), loaded()] == [False, True]
    path.with_name("chat_template.jinja").write_text("x" * 1001)
    assert key_of_path(path, None, None, None) is None
    assert [loaded(), loaded()] == [False, False]
    assert len(files_of(tmp_path / "tables")) == 1


def test_each_file_has_the_layout_in_its_name(loaded: Callable[..., bool], tmp_path: Path) -> None:
    loaded()
    (stored,) = files_of(tmp_path / "tables")
    data = stored.read_bytes()
    assert data.startswith(store._MAGIC)
    stored.write_bytes(data.replace(b"bbpe tables 2", b"bbpe tables 1", 1))
    assert [loaded(), loaded()] == [False, True]


def test_one_file_may_fill_the_folder(loaded: Callable[..., bool], tmp_path: Path, monkeypatch: Any) -> None:
    assert loaded() is False
    for less, is_used in ((0, True), (1, False)):
        (stored,) = files_of(tmp_path / "tables")
        monkeypatch.setattr(store, "LIMIT", stored.stat().st_size - less)
        assert loaded() is is_used
