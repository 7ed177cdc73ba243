"""`bbpe shards status`, `verify` and `show`, and the estimate of `bbpe shard --plan-only`."""

from __future__ import annotations

import json
import re
import shlex
import threading
import time
from pathlib import Path

import pytest
from commands import Call

import bbpe
from bbpe.cli import main
from bbpe.shards.verify import verified
from bbpe.text import sized

WORDS = "l.txt -t t.json -o out --document line --part-size 400 --quiet"


@pytest.fixture(autouse=True)
def planned(here: Path, call: Call) -> str:
    """What a plan of three parts prints."""
    Path("l.txt").write_text("see my dogs\n" * 90)
    status, out, _ = call(f"shard {WORDS} --plan-only")
    assert status == 0
    return out


def run_all(commands: str, call: Call) -> None:
    """Run commands that are joined by `&&`, as a shell does."""
    for command in commands.split(" && "):
        program, *words = shlex.split(command)
        if program == "rm":
            for name in words:
                Path(name).unlink()
        else:
            assert program == "bbpe"
            status, _, err = call([*words, "--quiet"])
            assert status == 0, err


def test_a_plan_says_what_it_takes_and_how_to_submit_it(planned: str, here: Path, call: Call) -> None:
    parts, files, amounts, work, array, finish = planned.splitlines()
    assert parts == f"3 parts: {here / 'out'}"
    assert files == "1 file, 1.1 kB, 90 records; 3 parts"
    assert re.fullmatch(r"90 documents, [\d,]+ tokens, [\d.]+ kB on the disk", amounts)
    assert re.fullmatch(r"about [\d.]+ s of work for \d+ cores?, measured on 1\.1 kB", work)
    assert re.fullmatch(r"sbatch --array=0-2 --cpus-per-task=\d+ --wrap '.*'", array)
    # a task runs what is quoted
    words = shlex.split(array)[-1].replace("$SLURM_ARRAY_TASK_ID", "1")
    run_all(words, call)
    assert [path.name for path in Path("out").glob("part-*.json")] == ["part-00001.json"]
    for task in (0, 2):
        run_all(shlex.split(array)[-1].replace("$SLURM_ARRAY_TASK_ID", str(task)), call)
    run_all(finish, call)
    assert bbpe.load_shards("out").documents == 90


def test_a_plan_as_json(call: Call) -> None:
    record = json.loads(call(f"shard {WORDS} --plan-only --json --threads 3")[1])
    plan = bbpe.shards.plan.open_plan("out")
    assert record["tokens"] == bbpe.estimate_shards(plan).tokens
    assert (record["output"], record["parts"], record["size"], record["counted"]) == ("out", 3, 1080, True)
    assert "--cpus-per-task=3 " in record["commands"][0]
    assert record["commands"][0].endswith("--threads 3'")


def test_lengths_are_told_by_powers_of_two(call: Call) -> None:
    """Empty documents have a line of their own, and so has each length between two others, also without documents."""
    texts = ["", "", "s", "my", "see " * 9]
    found = bbpe.shard_from_iterator(texts, "kept", bbpe.load("t.json"), empty="keep")
    sizes = [len(ids) for ids in found]
    shown = json.loads(call("shards show kept --json")[1])["lengths"]
    spans = [(row["first"], row["last"]) for row in shown]
    assert spans[:4] == [(0, 0), (1, 1), (2, 3), (4, 7)]
    assert [row["documents"] for row in shown] == [sum(a <= size <= b for size in sizes) for a, b in spans]
    assert sum(row["documents"] for row in shown) == len(texts)
    assert spans[-1][1] >= max(sizes) >= spans[-1][0]
    lines = [line.split() for line in call("shards show kept")[1].splitlines()[-len(spans):]]
    assert lines[0][:3] == ["0", "tokens", "2"]
    assert lines[1][:2] == ["1", "token"]


def test_status_and_its_exit_status(call: Call) -> None:
    status, out, _ = call("shards status out")
    assert (status, "0 of 3 parts done (0 %), 3 missing" in out, "--part 0-2" in out) == (1, True, True)
    assert call("shard -o out --part 1 --quiet")[0] == 0
    status, out, _ = call("shards status out --json")
    found = json.loads(out)
    assert (status, found["done"], found["missing"], found["again"]) == (1, 1, [0, 2], "0,2")
    assert found == json.loads(json.dumps(bbpe.shards_status("out").as_dict()))
    run_all(found["command"], call)
    assert call("shards status out")[0] == 1
    run_all("bbpe shard -o out --finish", call)
    status, out, _ = call("shards status out")
    assert (status, "3 of 3 parts done\n" in out, "next" in out) == (0, True, False)
    status, out, err = call("shards status none")
    assert (status, out) == (1, "")
    assert "none: no such folder; expected" in err


def test_watching_ends_when_all_is_summed_up(call: Call, monkeypatch: pytest.MonkeyPatch) -> None:
    """A line for each change, and none where nothing has changed."""
    steps = [lambda: None, *(lambda part=part: bbpe.shard_part(plan, part) for part in range(3)), lambda: None,
             lambda: bbpe.finish_shards(plan)]  # fmt: skip
    plan, waited = bbpe.shards.plan.open_plan("out"), []

    def sleep(seconds: float) -> None:
        waited.append(seconds)
        steps[len(waited) - 1]()

    monkeypatch.setattr("bbpe.cli.operators.time.sleep", sleep)
    status, out, _ = call("shards status out --watch --json")
    looks = [json.loads(line) for line in out.splitlines()]
    assert (status, [look["done"] for look in looks], looks[-1]["summed"]) == (0, [0, 1, 2, 3, 3], True)
    assert waited == [5] * 6
    waited.clear()
    assert call("shards status out --watch 60")[0] == 0
    assert not waited


def test_each_look_is_handed_on_before_the_next(monkeypatch: pytest.MonkeyPatch) -> None:
    """Who reads a log or a pipe sees what has changed while the command waits."""
    plan, read = bbpe.shards.plan.open_plan("out"), []

    def sleep(seconds: float) -> None:
        read.append([json.loads(line)["done"] for line in Path("log").read_text().splitlines()])
        bbpe.shard_part(plan, len(read) - 1)
        if len(read) == 3:
            bbpe.finish_shards(plan)

    monkeypatch.setattr("bbpe.cli.operators.time.sleep", sleep)
    with Path("log").open("w") as log:
        monkeypatch.setattr("sys.stdout", log)
        assert main(["shards", "status", "out", "--watch", "--json"]) == 0
    assert read == [[0], [0, 1], [0, 1, 2]]


def test_watching_waits_as_long_as_it_is_told(call: Call) -> None:
    plan = bbpe.shards.plan.open_plan("out")

    def work() -> None:
        time.sleep(0.2)
        for number in range(3):
            bbpe.shard_part(plan, number)
        bbpe.finish_shards(plan)

    worker = threading.Thread(target=work)
    worker.start()
    started = time.monotonic()
    assert call("shards status out --watch 1")[0] == 0
    worker.join()
    assert time.monotonic() - started < 30


def test_idle_is_read(call: Call) -> None:
    Path("out/.part-00001.bin.0123456789ab.tmp").touch()
    assert "1 running" in call("shards status out --idle 100")[1]
    assert "running" not in call("shards status out --idle 0")[1]


@pytest.mark.parametrize("fault", ["size", "bytes", "record", "missing", "several"])
def test_the_printed_command_repairs(fault: str, call: Call) -> None:
    assert call(f"shard {WORDS}")[0] == 0
    right = {path.name: path.read_bytes() for path in Path("out").glob("part-*")}
    if fault in ("size", "several"):
        Path("out/part-00001.lens").write_bytes(b"")
    if fault == "bytes":
        data = bytearray(Path("out/part-00001.bin").read_bytes())
        data[3] ^= 1
        Path("out/part-00001.bin").write_bytes(data)
    if fault == "record":
        Path("out/part-00001.json").write_text("{}")
    if fault in ("missing", "several"):
        Path("out/part-00002.json").unlink()
    found = verified("out", None, sample=0, seed=0)
    assert bbpe.verify_shards("out", sample=0) == found.faults
    part = "--part 2" if fault == "missing" else "--part 1"
    assert len(found.repairs) == len(found.faults) > 0
    assert part in found.repairs[0]
    status, out, _ = call("shards verify out --sample 0")
    (repair,) = re.findall(r"^repair: (.*)$", out, re.MULTILINE)
    assert (status, repair) == (1, found.repair)
    assert ("--part 1-2" in repair) == (fault == "several")
    run_all(repair, call)
    status, out, _ = call("shards verify out --sample 1")
    assert status == 0, out
    assert {path.name: path.read_bytes() for path in Path("out").glob("part-*")} == right


def test_verify_says_what_it_checked(call: Call) -> None:
    assert call(f"shard {WORDS}")[0] == 0
    size = sum(path.stat().st_size for path in Path("out").glob("part-*") if path.suffix != ".json")
    for sample, again in (("0", []), ("1", [0, 1, 2])):
        found = verified("out", None, sample=float(sample), seed=0)
        assert (found.faults, found.repairs, found.repair) == ([], [], "")
        checked = found.checked
        assert (checked.parts, checked.files, checked.bytes, checked.again) == (3, 9, size, again)
        said = "no part encoded again" if not again else "parts 0, 1, 2 encoded again"
        out = call(f"shards verify out --sample {sample}")[1]
        assert out == f"no faults: out: 3 parts, 9 files, {sized(size)}; {said}\n"
    Path("l.txt").unlink()
    status, out, _ = call("shards verify out")
    assert (status, "--sample 0 checks without it" in out, "repair" in out) == (1, True, False)


def test_show_explains_its_numbers(call: Call) -> None:
    rows = ["see", "see my dogs " * 400, "", *["see my dogs"] * 1200]
    Path("s.jsonl").write_text("".join(json.dumps({"text": text or None}) + "\n" for text in rows))
    assert call("shard s.jsonl -t t.json -o some --eos <s> --quiet")[0] == 0
    out = call("shards show some")[1].splitlines()
    named = {line.split()[0]: " ".join(line.split()[1:]) for line in out}
    assert named["documents"] == "1,202 that were written"
    assert named["null"] == "1 records without a text"
    assert named["part_size"] == "256,000,000 (256 MB)"
    assert named["eos"] == str(bbpe.load("t.json").special_tokens["<s>"])
    assert re.fullmatch(r"[\d,]+ \(\d+ kB\) bytes of files, as they are on the disk", named["input"])
    done = bbpe.load_shards("some")
    lengths = [len(ids) for ids in done]
    found = json.loads(call("shards show some --json")[1])
    assert found["documents"] == 1202
    for row in found["lengths"]:
        assert row["documents"] == sum(row["first"] <= length <= row["last"] for length in lengths)
    assert sum(row["documents"] for row in found["lengths"]) == 1202
    bars = [line for line in out if re.match(r" +[\d,]+(?: to [\d,]+)? tokens? ", line)]
    assert len(bars) == len(found["lengths"])
    assert max(line.count("#") for line in bars) == 40
    assert all(line.endswith("#") or line.split()[-1] == "0" for line in bars)


def test_a_failure_is_told_with_the_words_of_the_command(call: Call) -> None:
    Path("b.jsonl").write_text('{"text": "see"}\n{"content": "see"}\n')
    assert call("shard b.jsonl -t t.json -o b --quiet")[0] == 1
    out = call("shards status b")[1]
    assert "failed: part 0 on " in out
    assert "by --text-field, or write null" in out
    assert "text_field" not in out


def test_usage(call: Call) -> None:
    for words, said in (
        ("shards status", "the following arguments are required: FOLDER"),
        ("shards status out --watch 0", "--watch: expected a whole number of at least 1, such as 32000"),
        ("shards status out --idle -1", "--idle: expected"),
        ("shards status out --idle nan", "--idle: expected a number of seconds, at least 0, not 'nan'"),
    ):
        status, _, err = call(words)
        assert (status, said in err) == (2, True), err
    assert call(f"shard {WORDS}")[0] == 0
    status, _, err = call("shards show out 99")
    assert (status, "N is 99; out has 90 documents, counted from 0" in err) == (2, True), err
    status, _, err = call("shards show nothing")
    assert (status, "nothing: no such folder; expected a folder that `bbpe shard` wrote; `bb" in err) == (1, True), err
    assert main(["shards", "status", "out", "--idle", "1e3"]) == 0
