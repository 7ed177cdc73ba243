"""The folder of a checkpoint: whose it is, and who may use it."""

from __future__ import annotations

import errno
import json
import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from threading import Thread
from typing import Any

import half_counts
import pytest
from half_counts import KilledError, count, error_of, make_corpus, make_half, save_states_quickly, stopped_after
from processes import package_env
from systems import link

import bbpe
from bbpe.counting import checkpoint
from bbpe.progress import Progress

pytest.importorskip("pyarrow")

MARKER = "bbpe-checkpoint.json"


@pytest.fixture(autouse=True)
def states_in_quick_succession(monkeypatch: pytest.MonkeyPatch) -> None:
    save_states_quickly(monkeypatch)


@pytest.fixture(scope="module")
def corpus(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_corpus(tmp_path_factory.mktemp("corpus"))


@pytest.fixture
def half(corpus: Path, tmp_path: Path) -> Path:
    return make_half(corpus, tmp_path / "half")


def names_in(folder: Path) -> list[str]:
    return sorted(path.relative_to(folder).as_posix() for path in folder.rglob("*"))


# -- whose folder it is --------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "name",
    ["part-00000.parquet", "run-00000.parquet", ".a.tmp", "bbpe-run-00000-000000000000.parquet", "state.json", "sub/x"],
)
def test_a_folder_that_is_not_ours_is_refused_and_left_alone(name: str, corpus: Path, tmp_path: Path) -> None:
    folder = tmp_path / "mine"
    (folder / name).parent.mkdir(parents=True)
    (folder / name).write_bytes(b"precious")
    told = r"is no checkpoint of bbpe and holds '.*'; expected a new or empty folder"
    with pytest.raises(bbpe.CorpusError, match=told) as caught:
        count(corpus, folder)
    assert str(folder) in str(caught.value)
    assert repr(name.split("/")[0]) in str(caught.value)
    assert (folder / name).read_bytes() == b"precious"
    assert names_in(folder) == sorted({name, name.split("/")[0]})


def test_an_empty_folder_is_taken(corpus: Path, tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    assert count(corpus, tmp_path / "empty") == bbpe.count(corpus, pattern="gpt2")


def test_what_is_left_over_of_ours_goes_and_everything_else_stays(half: Path, corpus: Path) -> None:
    ours = [
        "bbpe-run-00099-0123456789ab.parquet",
        "bbpe-part-00003-0123456789ab.parquet",
        ".bbpe-run-00099-0123456789ab.parquet.0123456789ab.tmp",
        ".state.json.0123456789ab.tmp",
    ]
    others = [
        "part-00000.parquet", "run-00000.parquet", "part-0000.parquet", "bbpe-run-1.parquet",
        ".c.parquet.0123456789ab.tmp", "bbpe-run-00099-0123456789ab.parquet.bak",
        "xbbpe-run-00099-0123456789ab.parquet", "counts.parquet", ".x.tmp",
    ]  # fmt: skip
    for name in (*ours, *others):
        (half / name).write_bytes(b"x")
    found = count(corpus, half)
    assert found == bbpe.count(corpus, pattern="gpt2")
    runs = [run["name"] for run in json.loads((half / "state.json").read_bytes())["state"]["runs"]]
    assert names_in(half) == sorted([*others, *runs, "state.json", MARKER])
    assert all((half / name).read_bytes() == b"x" for name in others)


def test_what_is_left_over_in_a_folder_without_a_state_goes_too(corpus: Path, tmp_path: Path) -> None:
    with pytest.raises(KilledError):
        count(corpus, tmp_path / "c", progress=stopped_after(0))
    left = tmp_path / "c" / "bbpe-run-00099-0123456789ab.parquet"
    left.write_bytes(b"x")
    assert count(corpus, tmp_path / "c") == bbpe.count(corpus, pattern="gpt2")
    assert not left.exists()


@pytest.mark.parametrize(
    ("content", "said"),
    [(b'{"format": "bbpe checkpoint", "version": 99}\n', "99"), (b"\x00" * 20, "x00"), (b"mine", "mine")],
)
def test_a_marker_of_another_version_is_refused(content: bytes, said: str, half: Path, corpus: Path) -> None:
    (half / MARKER).write_bytes(content)
    before = names_in(half)
    with pytest.raises(bbpe.CorpusError, match=rf"{MARKER}: found b.*{said}.*, expected .*version"):
        count(corpus, half)
    assert names_in(half) == before
    assert checkpoint._HELD == {}
    (half / MARKER).unlink()
    (half / MARKER).mkdir()
    # what Windows says of a folder that is opened as a file
    with pytest.raises(PermissionError if sys.platform == "win32" else IsADirectoryError) as caught:
        count(corpus, half)
    assert caught.value.filename == str(half / MARKER)
    assert checkpoint._HELD == {}


def test_a_marker_that_a_power_cut_left_empty_is_written(half: Path, corpus: Path) -> None:
    (half / MARKER).write_bytes(b"")
    assert count(corpus, half) == bbpe.count(corpus, pattern="gpt2")
    assert b"bbpe checkpoint" in (half / MARKER).read_bytes()


def test_a_marker_is_on_the_disk_before_anything_is_counted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Without it, files that survive a power cut would be those of a stranger."""
    flushed: list[int] = []
    monkeypatch.setattr(os, "fsync", lambda handle: flushed.append(os.fstat(handle).st_size))
    lock = checkpoint.FolderLock(tmp_path / "marker")
    try:
        assert [lock.content(b"mark"), lock.content(b"another")] == [b"mark", b"mark"]
    finally:
        lock.release()
    assert flushed == [4]
    assert (tmp_path / "marker").read_bytes() == b"mark"


@pytest.mark.parametrize("spelling", ["{c}", "{c}/state", "{c}/./", "{link}", "{c}/0.txt/..", "{c}/a/b"])
def test_a_folder_of_the_corpus_is_no_checkpoint(spelling: str, corpus: Path, tmp_path: Path) -> None:
    link((tmp_path / "link"), corpus)
    folder = spelling.format(c=corpus, link=tmp_path / "link")
    before = names_in(corpus)
    for files in (corpus, [corpus], iter([corpus])):
        with pytest.raises(bbpe.CorpusError, match=r"checkpoint folder is in the corpus.*; use another folder"):
            bbpe.count(files, pattern="gpt2", checkpoint=folder)  # type: ignore[arg-type]
    with pytest.raises(bbpe.CorpusError, match="checkpoint folder is in the corpus"):
        bbpe.train(corpus, 260, counting=bbpe.Counting(checkpoint=folder))
    assert names_in(corpus) == before


@pytest.mark.parametrize(
    ("pattern", "is_in"),
    [
        ("*/*.json", True), ("*/bbpe-*", True), ("**/*.parquet", True), ("**", True), ("corpus/*.txt", False),
        ("*", False),
    ],
)  # fmt: skip
def test_a_pattern_that_results_would_match_is_refused(pattern: str, is_in: bool, corpus: Path, tmp_path: Path) -> None:
    """A second count would read the first one's files as texts."""
    shutil.copytree(corpus, tmp_path / "corpus")
    for name in ("a.json", "bbpe-a", "a.parquet", "a.txt"):
        (tmp_path / "corpus" / name).write_text('{"text": "see"}')
    (tmp_path / "a").write_text("see")
    (tmp_path / "corpus" / "a.parquet").unlink(missing_ok=pattern == "**/*.parquet")
    files, folder = str(tmp_path / pattern), tmp_path / "state"
    if pattern == "**/*.parquet":
        pa, parquet = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
        parquet.write_table(pa.table({"text": ["see"]}), tmp_path / "corpus" / "a.parquet")
    if is_in:
        with pytest.raises(bbpe.CorpusError, match=r"state: the checkpoint folder is in the corpus, .*use another"):
            bbpe.count(files, pattern="gpt2", checkpoint=folder)
        assert not folder.exists()
    else:
        assert bbpe.count(files, pattern="gpt2", checkpoint=folder) == bbpe.count(files, pattern="gpt2")


def test_a_corpus_of_more_or_fewer_files_is_another_one(half: Path, corpus: Path, tmp_path: Path) -> None:
    files = sorted(corpus.iterdir())
    more = [*files, files[0]]
    for others, told in ((more, "there were 3, now 4"), (files[:2], "there were 3, now 2")):
        with pytest.raises(bbpe.CorpusError, match=rf"is of another count: files: {told}; use another folder"):
            bbpe.count(others, pattern="gpt2", checkpoint=half)
    with pytest.raises(bbpe.CorpusError, match=r"files: number 0 was \[.*0\.txt.*, now \[.*1\.txt"):
        bbpe.count(files[1:], pattern="gpt2", checkpoint=half)


def test_a_file_of_the_corpus_in_the_checkpoint_is_refused(half: Path, corpus: Path) -> None:
    (half / "more.txt").write_text("more")
    for files in ([corpus, half / "more.txt"], str(half / "*.txt")):
        with pytest.raises(bbpe.CorpusError, match=r"half: the checkpoint folder holds .*txt of the corpus"):
            bbpe.count(files, pattern="gpt2", checkpoint=half)
    assert (half / "more.txt").read_text() == "more"


def test_a_hidden_folder_of_the_corpus_may_be_the_checkpoint(corpus: Path, tmp_path: Path) -> None:
    shutil.copytree(corpus, tmp_path / "c")
    for _ in range(2):
        assert count(tmp_path / "c", tmp_path / "c" / ".state") == bbpe.count(corpus, pattern="gpt2")


# -- who may use it ------------------------------------------------------------------------------------


def in_a_fork(call: Callable[[], str | None]) -> str | None:
    """What a call returns in a forked process."""
    reads, writes = os.pipe()
    child = os.fork()
    if not child:
        try:
            os.write(writes, json.dumps(call()).encode())
        finally:
            os._exit(0)
    os.close(writes)
    with os.fdopen(reads, "rb") as pipe:
        data = pipe.read()
    os.waitpid(child, 0)
    found: str | None = json.loads(data)
    return found


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
def test_a_second_count_is_refused_whoever_begins_it(corpus: Path, tmp_path: Path) -> None:
    folder, refusals = tmp_path / "c", list[str | None]()

    def second() -> str | None:
        return error_of(lambda: count(corpus, folder))

    def report(_: Progress) -> None:
        if len(refusals) < 6:
            refusals.append(second())
            refusals.append(in_a_fork(second))
            thread = Thread(target=lambda: refusals.append(second()))
            thread.start()
            thread.join()

    found = count(corpus, folder, progress=report)
    said = f"{folder}: another count is using this checkpoint folder; wait until it ends, or use another folder"
    assert refusals == [said] * 6
    assert found == bbpe.count(corpus, pattern="gpt2")
    # it is free again, for this process and for others
    assert in_a_fork(second) is None
    assert second() is None


SECOND = """
import sys
from pathlib import Path
from half_counts import count, error_of

print(error_of(lambda: count(Path(sys.argv[1]), Path(sys.argv[2]))))
"""


def test_a_second_process_is_refused(corpus: Path, tmp_path: Path) -> None:
    """Another one that was started, not forked: on every system."""
    folder, refusals = tmp_path / "c", list[str]()
    paths = os.pathsep.join([str(Path(half_counts.__file__).parent), package_env()["PYTHONPATH"]])

    def second() -> str:
        command = [sys.executable, "-c", SECOND, str(corpus), str(folder)]
        done = subprocess.run(command, env=package_env(PYTHONPATH=paths), capture_output=True, text=True)
        return done.stdout.strip() or done.stderr

    def report(_: Progress) -> None:
        refusals.extend([] if refusals else [second()])

    count(corpus, folder, progress=report)
    assert len(refusals) == 1
    assert refusals[0].startswith(f"{folder}: another count is using this checkpoint folder; ")
    assert second() == "None"


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
def test_a_count_that_failed_gives_the_folder_back(half: Path, corpus: Path, tmp_path: Path) -> None:
    assert in_a_fork(lambda: error_of(lambda: count(corpus, half))) is None
    (half / "state.json").write_bytes(b"{")
    assert "state.json" in (error_of(lambda: count(corpus, half)) or "")
    assert "state.json" in (in_a_fork(lambda: error_of(lambda: count(corpus, half))) or "")
    assert checkpoint._HELD == {}


HOLDER = """
import os, sys, time
import bbpe

files, folder = sys.argv[1:]

def report(progress):
    if os.fork() == 0:  # a worker that outlives the process
        print(os.getpid(), flush=True)
        time.sleep(600)
    time.sleep(600)

bbpe.count(files, pattern="gpt2", checkpoint=folder, progress=report)
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
def test_the_folder_is_free_when_its_process_dies_whatever_it_forked(corpus: Path, tmp_path: Path) -> None:
    command = [sys.executable, "-c", HOLDER, str(corpus), str(tmp_path / "c")]
    with subprocess.Popen(command, env=package_env(), stdout=subprocess.PIPE, text=True) as holder:
        assert holder.stdout is not None
        worker = int(holder.stdout.readline())
        try:
            assert "another count is using" in (error_of(lambda: count(corpus, tmp_path / "c")) or "")
            holder.send_signal(signal.SIGKILL)
            holder.wait(timeout=60)
            assert error_of(lambda: count(corpus, tmp_path / "c")) is None
        finally:
            os.kill(worker, signal.SIGKILL)


def test_without_locks_a_second_count_may_fail_but_counts_right(
    corpus: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    fcntl = pytest.importorskip("fcntl")
    refused = iter([errno.ENOLCK, errno.ENOTSUP, errno.ENOSYS] * 99)

    def no_locks(*_: object) -> None:
        number = next(refused)
        raise OSError(number, os.strerror(number))

    monkeypatch.setattr(fcntl, "lockf", no_locks)
    right, folder, others = bbpe.count(corpus, pattern="gpt2"), tmp_path / "c", list[Any]()

    def second() -> str | None:
        try:
            return None if count(corpus, folder) == right else "wrong counts"
        except (OSError, ValueError) as error:
            return str(error)

    def report(_: Progress) -> None:
        if len(others) < 4:
            others.append(in_a_fork(second))

    try:
        found: object = count(corpus, folder, progress=report)
    except (OSError, ValueError) as error:
        found = str(error)
    assert found == right or str(folder) in str(found)
    assert others == [None] * len(others)
    assert count(corpus, folder) == right
