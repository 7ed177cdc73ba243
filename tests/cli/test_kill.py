"""Processes that are killed leave whole files, and counts that go on where they were.

They are killed at each step of the replacement of a file, and, in long runs, at random moments.
"""

from __future__ import annotations

import random
import re
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from processes import KILLED, kill, package_env

import bbpe

pytest.importorskip("pyarrow")

# does one job again and again, with two results in turn, until it is killed
CHILD = """
import errno, itertools, os, random, signal, sys
KILL = getattr(signal, "SIGKILL", signal.SIGTERM)
import bbpe
from bbpe import files
from bbpe.counting import count, options
from bbpe.cli import main

job, inputs, out, step, number = sys.argv[1:]
left = int(number)

def killed_at(name, way):
    def call(self):
        global left
        if step.startswith(name):
            left -= 1
            if left == 0 and step == f"{name} before":
                os.kill(os.getpid(), KILL)
        way(self)
        if step == f"{name} after" and left == 0:
            os.kill(os.getpid(), KILL)
    return call

files.Replacement.finish = killed_at("finish", files.Replacement.finish)
files.Replacement.move = killed_at("move", files.Replacement.move)
options._BLOCK = 1 << 16
count._CHECKPOINT_SECONDS = 0.005
tokenizers = [bbpe.load(f"{inputs}/{name}.json") for name in "ab"]
counts = [bbpe.load_counts(f"{inputs}/{name}.parquet") for name in "ab"]

def run(*arguments):
    return main(list(map(str, arguments)))

def save(i):
    ways = [
        lambda: tokenizers[i].save(f"{out}/t.json"),
        lambda: tokenizers[i].save(f"{out}/t.tiktoken", drop=["special_tokens"]),
        lambda: tokenizers[i].save(f"{out}/pair", format="gpt2"),
        lambda: counts[i].save(f"{out}/c.parquet"),
    ]
    random.shuffle(ways)
    for way in ways:
        way()

def train(i):
    run("train", f"{inputs}/ab"[:-1 - i] + ".txt", "--vocab-size", 300, "-o", f"{out}/trained.json", "--quiet")

def convert(i):
    run("convert", f"{inputs}/{'ab'[i]}.json", f"{out}/converted.json")
    run("convert", f"{inputs}/{'ab'[i]}.json", f"{out}/converted", "--format", "gpt2")

def extend(i):
    source = f"{inputs}/{'ab'[i]}.json"
    run("extend", "-t", source, f"{inputs}/a.txt", "--add", 5, "-o", f"{out}/extended.json", "--quiet")

def count(i):
    files = [f"{inputs}/a.txt", f"{inputs}/long.txt"]
    found = bbpe.count(files, pattern="gpt2", checkpoint=f"{out}/state", threads=1 + i)
    found.save(f"{out}/counted.parquet")
    sys.exit()

print("begins", flush=True)
full = False
for i in itertools.cycle((0, 1)):
    try:
        globals()[job](i)
    except OSError as error:
        # of a small disk
        assert error.errno == errno.ENOSPC and error.filename.startswith(out), repr(error)
        full = full or not print("full", flush=True)
"""
JOBS = ("save", "train", "convert", "extend", "count")


def text(seed: int, words: int) -> str:
    rng = random.Random(seed)
    return "".join(rng.choices([" w", " x", "y", "é", "\n", *(f" z{n}" for n in range(300))], k=words))


@pytest.fixture(scope="module")
def inputs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("inputs")
    for seed, name in enumerate("ab"):
        (folder / f"{name}.txt").write_text(text(seed, 6_000))
        tok = bbpe.train(folder / f"{name}.txt", 400 + 50 * seed, special_tokens=["<s>"])
        tok.save(folder / f"{name}.json")
        bbpe.count(folder / f"{name}.txt", pattern="gpt2").save(folder / f"{name}.parquet")
    (folder / "long.txt").write_text(text(2, 60_000))
    return folder


@pytest.fixture(scope="module")
def right(inputs: Path, tmp_path_factory: pytest.TempPathFactory) -> dict[str, set[bytes]]:
    """What each file may hold."""
    folder, found = tmp_path_factory.mktemp("right"), dict[str, set[bytes]]()

    def take(name: str) -> None:
        found.setdefault(name, set()).add((folder / name).read_bytes())

    for letter in "ab":
        tok, path = bbpe.load(inputs / f"{letter}.json"), inputs / f"{letter}.txt"
        tok.save(folder / "t.json")
        tok.save(folder / "converted.json")
        tok.save(folder / "t.tiktoken", drop=["special_tokens"])
        for name in ("pair", "converted"):
            tok.save(folder / name, format="gpt2")
            take(f"{name}/vocab.json")
            take(f"{name}/merges.txt")
            take(f"{name}/tokenizer_config.json")
        bbpe.load_counts(inputs / f"{letter}.parquet").save(folder / "c.parquet")
        bbpe.train(path, 300).save(folder / "trained.json")
        bbpe.extend(tok, inputs / "a.txt", 5).save(folder / "extended.json")
        for name in ("t.json", "converted.json", "t.tiktoken", "c.parquet", "trained.json", "extended.json"):
            take(name)
    bbpe.count([inputs / "a.txt", inputs / "long.txt"], pattern="gpt2").save(folder / "counted.parquet")
    take("counted.parquet")
    return found


LEFT_OVER = re.compile(r"\..*\.[0-9a-f]{12}\.tmp")


def check_whole(out: Path, right: dict[str, set[bytes]]) -> int:
    """Every file is one of those that were written, whole; returns how many, and removes what is left over."""
    count = 0
    for path in [path for path in out.rglob("*") if path.is_file() and "state" not in path.parts]:
        if LEFT_OVER.fullmatch(path.name):
            path.unlink()
            continue
        assert path.read_bytes() in right[path.relative_to(out).as_posix()], path
        count += 1
    return count


def killed(
    job: str, inputs: Path, out: Path, seconds: float, step: str = "", number: int = 0, *, until: str = "begins"
) -> tuple[bool, str]:
    """Start a job and kill it some seconds after it said `until`; whether it was killed, and what it wrote to stdout.

    With `step` it kills itself at this step of the replacement of a file, the `number`th time.
    """
    command = [sys.executable, "-c", CHILD, job, str(inputs), str(out), step, str(number)]
    pipes: dict[str, Any] = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
    with subprocess.Popen(command, env=package_env(), **pipes) as child:
        assert child.stdout is not None
        first = next((line for line in child.stdout if line.strip() == until), "")
        try:
            child.wait(seconds)
        except subprocess.TimeoutExpired:
            kill(child)
        output, errors = child.communicate(timeout=60)
    assert child.returncode in (0, KILLED), errors
    return child.returncode != 0, first + output


STEPS = [("finish before", 1), ("finish after", 1), ("move before", 1), ("move after", 1), ("move after", 2)]
CASES = [(job, *step) for job in JOBS for step in (STEPS if job == "save" else STEPS[2::2])]


@pytest.mark.parametrize(("job", "step", "number"), CASES)
def test_a_process_killed_at_a_step_leaves_whole_files(
    job: str, step: str, number: int, inputs: Path, right: dict[str, set[bytes]], tmp_path: Path
) -> None:
    assert killed(job, inputs, tmp_path, 60, step, number)[0]
    left = [path.name for path in tmp_path.rglob("*") if LEFT_OVER.fullmatch(path.name)]
    assert len(left) <= 3
    # what was written, but not moved, is still under its hidden name
    assert bool(left) or step == "move after"
    found = check_whole(tmp_path, right)
    if job == "count":
        assert (tmp_path / "state" / "state.json").exists() is (step == "move after" and number == 2)
        assert not killed(job, inputs, tmp_path, 60)[0]
        assert check_whole(tmp_path, right) == 1
    else:
        assert bool(found) is (step == "move after")


@pytest.mark.long
@pytest.mark.parametrize("job", JOBS)
def test_a_process_killed_at_random_moments_leaves_whole_files(
    job: str, inputs: Path, right: dict[str, set[bytes]], tmp_path: Path
) -> None:
    rng, found, done, left = random.Random(f"{job} 40"), 0, 0, 40
    while left:
        if killed(job, inputs, tmp_path, rng.uniform(0, 0.4))[0]:
            left -= 1
        else:
            # a count that came to its end, by as many processes as it took
            assert (tmp_path / "counted.parquet").read_bytes() in right["counted.parquet"]
            shutil.rmtree(tmp_path / "state")
            done += 1
        found = max(found, check_whole(tmp_path, right))
    if job == "count":
        while killed(job, inputs, tmp_path, 60)[0]:
            pass
        found, done = check_whole(tmp_path, right), done + 1
    assert found
    assert done or job != "count"


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """A file system of 200 kB."""
    folder = tmp_path / "disk"
    folder.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", "size=200k", "tmpfs", str(folder)]
    if shutil.which("mount") is None or subprocess.run(mount, capture_output=True).returncode:
        pytest.skip("a file system can be mounted by root alone")
    yield folder
    for _ in range(50):
        if not subprocess.run(["umount", str(folder)], capture_output=True).returncode:
            return
        time.sleep(0.1)


@pytest.mark.parametrize("kills", [2, pytest.param(40, marks=pytest.mark.long)])
def test_a_full_disk_leaves_whole_files(
    kills: int, inputs: Path, right: dict[str, set[bytes]], small_disk: Path
) -> None:
    rng, full = random.Random(kills), 0
    for number in range(kills):
        # there is room for some of the files, and at first for none
        room = rng.randrange(16_000) if number else 0
        free = shutil.disk_usage(small_disk).free
        (small_disk / ".filler.0123456789ab.tmp").write_bytes(b"x" * max(free - room, 0))
        until = "begins" if number else "full"
        at_work, output = killed("save", inputs, small_disk, rng.uniform(0.05, 0.4), until=until)
        full += "full" in output
        assert at_work
        check_whole(small_disk, right)
    assert full


COUNTER = """
import sys
import bbpe
from bbpe.counting import count, options

options._BLOCK = 1 << 14
count._CHECKPOINT_SECONDS = 0.005
inputs, folder, output = sys.argv[1:]
print("ready", flush=True)
sys.stdin.readline()
bbpe.count([f"{inputs}/a.txt", f"{inputs}/long.txt"], pattern="gpt2", checkpoint=folder, threads=1).save(output)
"""


@pytest.mark.long  # in test_checkpoint_folder the second process begins while the first is at work
def test_of_two_processes_one_works_and_the_other_says_so(
    inputs: Path, right: dict[str, set[bytes]], tmp_path: Path
) -> None:
    refused = 0
    for number in range(30):
        folder, children = tmp_path / f"state{number}", []
        for name in "ab":
            command = [sys.executable, "-c", COUNTER, str(inputs), str(folder), str(tmp_path / name)]
            pipes: dict[str, Any] = dict.fromkeys(("stdin", "stdout", "stderr"), subprocess.PIPE)
            children.append(subprocess.Popen(command, env=package_env(), text=True, **pipes))
        for child in children:
            assert child.stdout is not None
            child.stdout.readline()
        errors = []
        for child in children:
            assert child.stdin is not None
            child.stdin.write("go\n")
            child.stdin.flush()
        for child in children:
            errors.append(child.communicate(timeout=120)[1])
        codes = [child.returncode for child in children]
        assert 0 in codes, errors
        for name, code, error in zip("ab", codes, errors, strict=True):
            if code:
                assert f"{folder}: another count is using this checkpoint folder" in error
                refused += 1
            else:
                assert (tmp_path / name).read_bytes() in right["counted.parquet"]
        shutil.rmtree(folder)
    assert refused
