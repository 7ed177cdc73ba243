"""Standard streams that are closed, full or broken, no memory, Ctrl-C at any moment: one line and the right status."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from processes import package_env
from seeds import then_full
from systems import system_has

import bbpe
from bbpe.cli import encode, main

posix = pytest.mark.skipif(os.name != "posix", reason="a shell and its redirections")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    bbpe.train_from_iterator(["see my eyes", "see my dogs"], 262).save(tmp_path / "t.json")
    (tmp_path / "a.txt").write_text("see my dogs " * 5000)
    return tmp_path


def shell(folder: Path, line: str, stdin: bytes | None = None) -> tuple[int, str, str]:
    command = line.replace("bbpe", f'"{sys.executable}" -m bbpe', 1)
    options = {"cwd": folder, "env": package_env(), "timeout": 60}
    run = subprocess.run(command, shell=True, input=stdin, capture_output=True, **options)  # type: ignore[call-overload]
    return run.returncode, run.stdout.decode(), run.stderr.decode()


@posix
@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("bbpe encode -t t.json <&-", "standard input: it is closed"),
        ("bbpe decode -t t.json <&-", "standard input: it is closed"),
        ("bbpe encode -t t.json --input-format jsonl <&-", "standard input: it is closed"),
        ("bbpe train - --vocab-size 262 --quiet -o n.json <&-", "standard input: it is closed"),
        ("bbpe count - --max-memory 2GB --quiet -o n.parquet <&-", "standard input: it is closed"),
        ("bbpe encode -t t.json a.txt >&-", "standard output: it is closed"),
        ("bbpe inspect t.json >&-", "standard output: it is closed"),
    ],
)
def test_closed_streams(line: str, said: str, folder: Path) -> None:
    assert shell(folder, line) == (1, "", f"bbpe: error: {said}\n")


@posix
@pytest.mark.parametrize(
    "line", ["encode -t t.json a.txt", "encode -t t.json -", "inspect t.json", "decode -t t.json -"]
)
def test_a_full_device(line: str, folder: Path) -> None:
    if not system_has("/dev/full"):
        pytest.skip("no /dev/full")
    stdin = b"60 61 " * 5000 if "decode" in line else b"see"
    assert shell(folder, f"bbpe {line} > /dev/full", stdin) == (
        1,
        "",
        "bbpe: error: standard output: No space left on device\n",
    )


@posix
def test_saving_to_a_full_device(folder: Path) -> None:
    if not system_has("/dev/full"):
        pytest.skip("no /dev/full")
    for line in ("bbpe train a.txt --vocab-size 262 --quiet", "bbpe extend a.txt -t t.json --add 1 --quiet"):
        status, out, errors = shell(folder, f"{line} --format huggingface -o /dev/full")
        assert (status, out, errors) == (1, "", "bbpe: error: /dev/full: No space left on device\n")


@posix
def test_closed_streams_that_are_not_needed_are_no_error(folder: Path) -> None:
    assert shell(folder, "bbpe encode -t t.json a.txt <&-")[0] == 0
    assert shell(folder, "bbpe encode -t t.json --numpy n.npy a.txt >&-") == (0, "", "")
    assert shell(folder, "bbpe encode -t none.json 2>&-") == (1, "", "")


def started(code: str, folder: Path) -> subprocess.Popen[bytes]:
    """Start a process that runs code and hears Ctrl-C."""
    return subprocess.Popen(
        [sys.executable, "-c", code], cwd=folder, env=package_env(),
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.default_int_handler),
    )  # fmt: skip


@pytest.mark.skipif(not hasattr(signal, "SIGINT") or sys.platform == "win32", reason="no such signal here")
@pytest.mark.parametrize("delay", then_full([0.1, 0.2, 0.3], [0.15, 0.25, 0.45]))
def test_ctrl_c_while_modules_are_imported(delay: float, folder: Path) -> None:
    code = (
        "import os, signal, sys, threading\n"
        "from bbpe.cli import main\n"
        # from here on the command line is in charge, as in the script that is installed
        f"threading.Timer({delay}, os.kill, (os.getpid(), signal.SIGINT)).start()\n"
        "sys.exit(main(['encode', '-t', 't.json', '-']))\n"
    )
    process = started(code, folder)
    assert process.stdout is not None
    assert process.stderr is not None
    assert process.stdin is not None
    with process:
        status = process.wait(60)
        assert (status, process.stdout.read()) == (130, b"")
        assert process.stderr.read() in (b"bbpe: interrupted\n", b"bbpe: interrupted; nothing was written\n")


@posix
@pytest.mark.parametrize("command", ["encode -t t.json -", "show -t t.json -", "train --vocab-size 300 -o o.json -"])
def test_ctrl_c_is_heard_at_standard_input_though_the_read_is_not_cut_off(command: str, folder: Path) -> None:
    """As where the signal comes just before the read: here another thread gets it, once the first chunk is through."""
    code = (
        "import io, signal, sys, threading, time\n"
        "from bbpe.cli import main\n"
        "def kill():\n"
        "    waits.wait()\n"
        "    time.sleep(0.2)\n"
        "    signal.pthread_kill(threading.get_ident(), signal.SIGINT)\n"
        "    time.sleep(60)\n"
        "class Source(type(sys.stdin.buffer)):\n"
        "    def read1(self, size):\n"
        "        waits.set()\n"
        "        return super().read1(size)\n"
        "waits, sys.stdin = threading.Event(), io.TextIOWrapper(Source(sys.stdin.buffer.detach()))\n"
        "threading.Thread(target=kill, daemon=True).start()\n"
        f"sys.exit(main({command.split()}))\n"
    )
    process = started(code, folder)
    assert process.stdin is not None
    assert process.stderr is not None
    with process:
        process.stdin.write(b"some words\n")
        process.stdin.flush()
        assert process.wait(30) == 130
        assert process.stderr.read().startswith(b"bbpe: interrupted")


def test_ctrl_c_that_python_wraps_is_still_an_interrupt(
    folder: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    class Interrupts:
        def __set_name__(self, owner: type, name: str) -> None:
            raise KeyboardInterrupt

    monkeypatch.setattr(encode, "documents_of", lambda *_: type("Made", (), {"field": Interrupts()}))
    assert main(["encode", "-t", str(folder / "t.json")]) == 130
    assert capfd.readouterr() == ("", "bbpe: interrupted\n")


@pytest.mark.parametrize(("words", "said"), [
    ("train a.txt --vocab-size 300 -o x.json", "; nothing was written"),
    ("train a.txt --vocab-size 300 -o x.json --checkpoint c", "; the state in c is kept: run the same command again to "
     "go on"),
    ("encode a.txt -t t.json", ""),
    ("encode a.txt -t t.json --numpy x.npy", "; nothing was written"),
    ("shard a.txt -t t.json -o out", "; finished parts are kept: run the same command again to go on"),
    ("shards merge one two -o out", "; finished parts are kept: run the same command again to go on"),
    ("serve -t t.json", None), ("shards status out --watch", None),
])  # fmt: skip
def test_ctrl_c_says_what_is_left(
    words: str, said: str | None, folder: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    def interrupt(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.chdir(folder)
    for function in ("bbpe.train", "bbpe.merge_shards", "bbpe.cli.encode.documents_of", "bbpe.cli.shard.plan_shards",
                     "bbpe.report.serve.Playground", "bbpe.cli.operators.stored_plan"):  # fmt: skip
        monkeypatch.setattr(function, interrupt)
    assert main(words.split()) == 130
    assert capfd.readouterr() == ("", "" if said is None else f"bbpe: interrupted{said}\n")


def test_ctrl_c_after_the_work_says_what_was_written(
    folder: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    def interrupt(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.chdir(folder)
    monkeypatch.setattr("bbpe.cli.train.say", interrupt)
    assert main("train a.txt --vocab-size 270 --quiet -o x.json".split()) == 130
    assert capfd.readouterr() == ("", "bbpe: interrupted; x.json was written\n")


@pytest.mark.parametrize(
    ("error", "said"),
    [
        (MemoryError(), "there is not enough memory"),
        (MemoryError("no room\nfor 3 GB"), "no room for 3 GB"),
        (bbpe.MemoryLimitError("a.txt: too long; give more"), "a.txt: too long; give more"),
    ],
)
def test_no_memory_is_one_line(
    error: BaseException, said: str, folder: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    def fail(*_: object) -> None:
        raise error

    monkeypatch.setattr(encode, "documents_of", fail)
    assert main(["encode", "-t", str(folder / "t.json")]) == 1
    assert capfd.readouterr() == ("", f"bbpe: error: {said}\n")


def test_version_and_help(capfd: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as caught:
        main(["--version"])
    assert caught.value.code == 0
    assert capfd.readouterr().out == f"bbpe {bbpe.__version__}\n"
    with pytest.raises(SystemExit) as caught:
        main([])
    assert caught.value.code == 2
    assert "Encode text to ids." in capfd.readouterr().err


@pytest.mark.parametrize(
    "ids", ["{0} {1} {2}", "[{0}, {1}, {2}]", "[{0},{1},{2}]\n", "[[{0}], [{1}, {2}]]", "({0}, {1},\n {2})"]
)
def test_lists_are_decoded_as_they_are_printed(ids: str, folder: Path, capfd: pytest.CaptureFixture[str]) -> None:
    tok = bbpe.load(folder / "t.json")
    found = tok.encode("see my dogs")[:3]
    (folder / "ids").write_text(ids.format(*found))
    assert main(["decode", "-t", str(folder / "t.json"), str(folder / "ids")]) == 0
    assert capfd.readouterr().out == tok.decode(found)


@posix
def test_standard_input_in_bounded_memory_and_as_rows(folder: Path) -> None:
    rows = b'{"text": "see my"}\n{"text": null}\n{"text": "dogs"}\n'
    tok = bbpe.load(folder / "t.json")
    code, out, err = shell(folder, "bbpe encode -t t.json --json --input-format jsonl", rows)
    assert (code, err) == (0, "")
    assert [json.loads(line) for line in out.splitlines()] == [
        {"file": "-", "row": 0, "ids": tok.encode("see my")}, {"file": "-", "row": 2, "ids": tok.encode("dogs")},
    ]  # fmt: skip
    code, out, err = shell(folder, "bbpe count - --input-format jsonl --quiet --json -o c.parquet", rows)
    assert (code, json.loads(out)["documents"]) == (0, 2), err
    line = "tr '\\0' a < /dev/zero | bbpe count - --max-memory 300MB --quiet --json -o c.parquet"
    code, out, err = shell(folder, line)
    assert (code, out) == (1, "")
    assert err.startswith("bbpe: error: /dev/stdin: there is no place to cut the text")
    line = "bbpe train - --max-memory 300MB --quiet --vocab-size 262 -o n.json"
    assert shell(folder, line, b"see my dogs " * 200_000)[0] == 0
    assert bbpe.load(folder / "n.json") == bbpe.train_from_iterator(["see my dogs " * 200_000], 262)
    code, out, err = shell(folder, "bbpe encode -t t.json", "\ufeffsee".encode("utf-16-le"))
    assert (code, out) == (1, "")
    assert "standard input: the byte order mark is that of UTF-16" in err


def test_an_array_that_is_cut_off_is_named(folder: Path, capfd: pytest.CaptureFixture[str]) -> None:
    np.save(folder / "ids.npy", np.full(100_000, 60, np.uint32))
    with (folder / "ids.npy").open("r+b") as file:
        file.truncate(128 + 4 * 70_000)
    assert main(["decode", "-t", str(folder / "t.json"), str(folder / "ids.npy")]) == 1
    assert "ids.npy: it ends after 70,000 of 100,000 ids" in capfd.readouterr().err


def test_prune_reads_texts_as_the_other_commands(
    folder: Path, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """What is kept is what the lines that can be read use; a file is what `--input-format` says."""
    (folder / "a.jsonl").write_text('{"text": "see my eyes"}\n{broken\n{"text": "see my dogs"}\n')
    (folder / "b.bin").write_bytes(b"see my eyes see my dogs\0")
    monkeypatch.chdir(folder)
    prune = "prune -t t.json --quiet -o p.json --used-in"
    for name, option in {"a.jsonl": "--on-error skip", "b.bin": "--input-format text"}.items():
        assert (main(f"{prune} {name}".split()), capfd.readouterr().err.count("\n")) == (1, 1)
        assert (main(f"{prune} {name} {option}".split()), capfd.readouterr().err) == (0, "")
