"""Runs that are killed: what they leave is whole or absent, and running again gives the bytes of an undisturbed run."""

from __future__ import annotations

import hashlib
import json
import os
import pickle
import random
import subprocess
import sys
import time
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from multiprocessing import get_context
from pathlib import Path

import pytest
from processes import KILL, ends

import bbpe
from bbpe.counting.handout import HandOut
from bbpe.shards.run import totals_of_part

EOS = "<|endoftext|>"
RUN = """
import sys, bbpe
from pathlib import Path
folder = Path(sys.argv[1])
tok = bbpe.load(folder / "tok.json")
print("begins", flush=True)
options = {"format": sys.argv[2], "eos": "<|endoftext|>", "part_size": "100kB", "threads": 2}
bbpe.shard(folder / sys.argv[4], folder / sys.argv[3], tok, on_error="skip", **options)
"""


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("kill")
    words = ["low", "lower", "lowest", "slow", "\n", "\u00e9\u6f22"]
    generator = random.Random(5)
    # "holes" is the same text; some of its parts have records that are left out
    with (path / "a.jsonl").open("w") as file, (path / "holes.jsonl").open("w") as holes:
        for number in range(5_000):
            line = json.dumps({"text": " ".join(generator.choices(words, k=generator.randrange(90)))}) + "\n"
            file.write(line)
            holes.write(line)
            if number // 1000 % 2 and generator.random() < 0.1:
                holes.write(generator.choice(['{"text": null}\n', '{"text":\n', '{"body": "low"}\n']))
    bbpe.train_from_iterator(words, 270, special_tokens=[EOS]).save(path / "tok.json")
    return path


def digests(folder: Path) -> dict[str, str]:
    return {path.name: hashlib.sha256(path.read_bytes()).hexdigest() for path in folder.iterdir() if path.is_file()}


def disturbed(folder: Path, name: str, runs: int, kills: int, corpus: str = "a.jsonl") -> None:
    generator = random.Random(kills)
    started = time.monotonic()
    assert ends(RUN, folder, name, f"{name}-{corpus}-right", corpus)
    length = time.monotonic() - started
    right = digests(folder / f"{name}-{corpus}-right")
    tok = bbpe.load(folder / "tok.json")
    for number in range(runs):
        out = f"{name}-{corpus}-{number}"
        for _ in range(kills):
            ends(RUN, folder, name, out, corpus, killed_after=generator.random() * 0.5 * length)
            for record in (folder / out).glob("part-*.json"):
                for file, known in json.loads(record.read_bytes())["files"].items():
                    assert hashlib.sha256((folder / out / file).read_bytes()).hexdigest() == known["sha256"]
        assert ends(RUN, folder, name, out, corpus)
        assert digests(folder / out) == right
        assert bbpe.verify_shards(folder / out, tok) == []


def test_a_killed_run_goes_on_to_the_same_bytes(folder: Path) -> None:
    disturbed(folder, "megatron", 1, 1)


@pytest.mark.long
@pytest.mark.parametrize("name", ["megatron", "llmc", "parquet"])
def test_killed_at_many_moments(name: str, folder: Path) -> None:
    disturbed(folder, name, 10, 2)


@pytest.mark.long
def test_killed_where_records_are_left_out(folder: Path) -> None:
    disturbed(folder, "megatron", 20, 1, "holes.jsonl")
    lines = (folder / "holes.jsonl").read_bytes().splitlines()
    shards, tok = bbpe.load_shards(folder / "megatron-holes.jsonl-0"), bbpe.load(folder / "tok.json")
    assert len(shards) < 5_000 < len(lines)  # empty texts are left out too
    for document in range(0, len(shards), 37):
        text = json.loads(lines[shards.source(document).record])["text"]
        assert tok.decode(shards[document]) == f"{text}{EOS}"


@pytest.mark.full
def test_two_runs_on_one_folder_both_end_right(folder: Path) -> None:
    command = [sys.executable, "-c", RUN, folder, "llmc", "both", "a.jsonl"]
    runs = [subprocess.Popen(command, stdout=subprocess.DEVNULL) for _ in range(2)]
    assert [process.wait() for process in runs] == [0, 0]
    assert bbpe.verify_shards(folder / "both", sample=1.0) == []


def killed_once(plan: bbpe.ShardPlan, number: int) -> int:
    """Die after the work, before anybody hears of it."""
    mark = plan.folder / f"killed-{number}"
    record = bbpe.shard_part(plan, number)
    if number == 1 and not mark.exists():
        mark.write_text("")
        os.kill(os.getpid(), KILL)
    return record.tokens


def test_little_goes_through_a_driver(folder: Path, tmp_path: Path) -> None:
    """A part of many files, with lines that cannot be read."""
    tok = bbpe.load(folder / "tok.json")
    for number in range(300):
        (tmp_path / f"{number}.jsonl").write_text('{"text": "low"}\n{}\n')
    plan = bbpe.plan_shards(tmp_path / "*.jsonl", tmp_path / "out", tok, on_error="skip")
    assert len(pickle.dumps((partial(totals_of_part, plan), 3))) < 1000
    totals = totals_of_part(plan, 0)
    assert (totals.documents, totals.refused) == (300, 300)
    assert len(pickle.dumps(totals)) < 1000


@pytest.mark.full
def test_workers_of_a_pool_write_parts_and_may_be_killed(folder: Path) -> None:
    tok = bbpe.load(folder / "tok.json")
    with ProcessPoolExecutor(2, get_context("forkserver")) as executor:
        plan = bbpe.plan_shards(folder / "a.jsonl", folder / "pool", tok, eos=EOS, part_size="100kB")
        found = dict(HandOut(executor).results(partial(killed_once, plan), range(len(plan))))
        done = bbpe.finish_shards(plan)
    assert done.tokens == sum(found.values())
    one = bbpe.shard(folder / "a.jsonl", folder / "one", tok, eos=EOS, part_size="100kB")
    assert [done.part(n)[0].tolist() for n in (0, 1)] == [one.part(n)[0].tolist() for n in (0, 1)]
