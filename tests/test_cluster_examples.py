"""The jobs for Slurm and Kubernetes in examples/ do what they say, without a scheduler.

A program `sbatch` in the path runs what it is given, with the variables that Slurm sets.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from processes import package_env

import bbpe

EXAMPLES = Path(__file__).resolve().parent.parent / "examples"
SLURM = EXAMPLES / "slurm"
#: The options of sbatch that the files use, and what their values look like.
OPTIONS = {
    "job-name": r"[\w-]+", "array": r"\d+-\d+", "cpus-per-task": r"\d+", "mem": r"\d+G", "mem-per-cpu": r"\d+G",
    "time": r"\d\d:\d\d:\d\d", "requeue": "", "open-mode": "append", "output": r"logs/%x-(?:%A_%a|%j)\.log",
}  # fmt: skip
#: Takes the options of sbatch, those in the file too, runs the script once for each task, and prints a number of a job.
SBATCH = r"""
import os, re, subprocess, sys
given = [word for word in sys.argv[1:] if word.startswith("--")]
script, *arguments = [word for word in sys.argv[1:] if not word.startswith("--")]
lines = re.findall(r"^#SBATCH (--\S+)$", open(script).read(), re.M)
options = dict(word.lstrip("-").partition("=")[::2] for word in [*lines, *given])
with open(os.environ["ASKED"], "a") as file:
    print(*sys.argv[1:], file=file)
first, last = map(int, options["array"].split("-")) if "array" in options else (0, 0)
for task in range(first, last + 1):
    env = {**os.environ, "SLURM_CPUS_PER_TASK": options["cpus-per-task"]}
    if "array" in options:
        env |= {"SLURM_ARRAY_TASK_ID": str(task), "SLURM_ARRAY_TASK_COUNT": str(last - first + 1),
                "SLURM_ARRAY_TASK_MIN": str(first), "SLURM_ARRAY_TASK_MAX": str(last)}
    subprocess.run(["bash", script, *arguments], env=env, check=True, stdout=sys.stderr)
print("4242" if "parsable" in options else "Submitted batch job 4242")
"""


@pytest.fixture
def env(tmp_path: Path) -> dict[str, str]:
    """An environment with the programs `bbpe` and `sbatch`; the current folder has a corpus and a tokenizer."""
    programs = tmp_path / "bin"
    programs.mkdir()
    (tmp_path / "sbatch.py").write_text(SBATCH)
    for name, words in (("bbpe", "-m bbpe"), ("sbatch", str(tmp_path / "sbatch.py"))):
        (programs / name).write_text(f'#!/bin/sh\nexec "{sys.executable}" {words} "$@"\n')
        (programs / name).chmod(0o755)
    bbpe.train_from_iterator(["low lower lowest"] * 3, 270, special_tokens=["</s>"]).save(tmp_path / "tok.json")
    (tmp_path / "a.jsonl").write_text("".join(json.dumps({"text": f"low {number}"}) + "\n" for number in range(60)))
    path = f"{programs}{os.pathsep}{os.environ['PATH']}"
    return {**os.environ, **package_env(), "PATH": path, "ASKED": str(tmp_path / "asked")}


def run(words: list[str], env: dict[str, str], folder: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(words, env=env, cwd=folder, capture_output=True, text=True, check=False)


@pytest.mark.parametrize("name", ["submit.sh", "shard.sbatch", "finish.sbatch"])
def test_scripts_are_shell_and_options_are_known(name: str) -> None:
    subprocess.run(["bash", "-n", str(SLURM / name)], check=True)
    text = (SLURM / name).read_text("utf-8")
    asked = re.findall(r"^#SBATCH --([\w-]+)=?(.*)$", text, re.MULTILINE)
    assert (len(asked) > 5) == name.endswith(".sbatch")
    for option, value in asked:
        assert re.fullmatch(OPTIONS[option], value), option
    # sbatch reads no option after the first command
    commands = [line for line in text.splitlines() if line and not line.startswith("#")]
    assert "#SBATCH" not in text[text.index(commands[0]) :]


def test_slurm_writes_all_parts_and_sums_them_up(env: dict[str, str], tmp_path: Path) -> None:
    words = ["-t", "tok.json", "--eos", "</s>", "--part-size", "300", "a.jsonl"]
    done = run([str(SLURM / "submit.sh"), "out", *words], {**env, "TASKS": "2"}, tmp_path)
    assert done.returncode == 0, done.stderr
    array, finish = (tmp_path / "asked").read_text().splitlines()
    assert array.startswith("--parsable --array=0-1 ")
    assert finish.startswith("--dependency=afterany:4242 ")
    assert "no faults: out" in done.stderr
    assert len(bbpe.load_shards(tmp_path / "out")) == 60


def test_the_last_job_says_what_is_missing(env: dict[str, str], tmp_path: Path) -> None:
    bbpe.plan_shards(tmp_path / "a.jsonl", tmp_path / "out", bbpe.load(tmp_path / "tok.json"))
    done = run(["bash", str(SLURM / "finish.sbatch"), "out"], env, tmp_path)
    assert done.returncode == 1
    assert "1 of 1 part is missing" in done.stderr
    assert f"next: bbpe shard -o {tmp_path / 'out'} --part 0" in done.stdout


def test_an_array_with_gaps_is_refused(env: dict[str, str], tmp_path: Path) -> None:
    task = {"SLURM_ARRAY_TASK_ID": "3", "SLURM_CPUS_PER_TASK": "1"}
    for count, least, most in ((2, 3, 7), (1, 3, 3)):
        array = {"SLURM_ARRAY_TASK_COUNT": count, "SLURM_ARRAY_TASK_MIN": least, "SLURM_ARRAY_TASK_MAX": most}
        given = {**env, **task, **{name: str(value) for name, value in array.items()}}
        done = run(["bash", str(SLURM / "shard.sbatch"), "out"], given, tmp_path)
        assert done.returncode == 2
        assert "--part 3,17-19" in done.stderr


def test_kubernetes_writes_a_part(env: dict[str, str], tmp_path: Path) -> None:
    yaml = pytest.importorskip("yaml")
    job = yaml.safe_load((EXAMPLES / "kubernetes" / "shard-job.yaml").read_text("utf-8"))
    spec = job["spec"]
    assert (job["apiVersion"], job["kind"], spec["completionMode"]) == ("batch/v1", "Job", "Indexed")
    # Kubernetes wants this of a limit for each index
    assert spec["template"]["spec"]["restartPolicy"] == "Never"
    (container,) = spec["template"]["spec"]["containers"]
    given = {each["name"]: each["value"] for each in container["env"]}
    assert given == {"COMPLETIONS": str(spec["completions"]), "CORES": container["resources"]["requests"]["cpu"]}
    mounts = {each["name"]: each["mountPath"] for each in container["volumeMounts"]}
    assert mounts.keys() == {each["name"] for each in spec["template"]["spec"]["volumes"]}
    bbpe.plan_shards(tmp_path / "a.jsonl", tmp_path / "out", bbpe.load(tmp_path / "tok.json"), part_size=300)
    words = [*container["command"], *container["args"]]
    assert "/shared/out" in words[-1]
    words[-1] = words[-1].replace(mounts["shared"], str(tmp_path))
    given = {**env, **given, "COMPLETIONS": "2", "CORES": "1", "JOB_COMPLETION_INDEX": "1"}
    done = run(words, given, tmp_path)
    assert done.returncode == 0, done.stderr
    status = bbpe.shards_status(tmp_path / "out")
    assert set(status.missing) == set(range(0, status.parts, 2))
