"""The command line: pipes, results, errors, and an interrupt."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from processes import package_env

import bbpe
from bbpe.cli import main, streams
from bbpe.encoding import file_ids
from bbpe.text import bytes_to_alphabet

# not all of it is UTF-8
TEXT = "see my eyes first, see my dogs <|endoftext|>\r\n深度 😀!\n\n  ".encode() + b"caf\xe9 \xff\xfe\x01 x"


def bbpe_process(*arguments: object, **options: object) -> subprocess.Popen[bytes]:
    return subprocess.Popen(  # type: ignore[call-overload, no-any-return]
        [sys.executable, "-m", "bbpe", *map(str, arguments)], env=package_env(), stdout=subprocess.PIPE, **options
    )


def run(*arguments: object, stdin: bytes = b"") -> tuple[int, bytes, str]:
    process = bbpe_process(*arguments, stdin=subprocess.PIPE, stderr=subprocess.PIPE)
    out, err = process.communicate(stdin, timeout=60)
    return process.returncode, out, err.decode()


@pytest.fixture(scope="module")
def tokenizer() -> bbpe.Tokenizer:
    return bbpe.train_from_iterator([TEXT] * 3, 320, special_tokens=["<|endoftext|>"])


@pytest.fixture(scope="module")
def tokenizer_path(tokenizer: bbpe.Tokenizer, tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("cli") / "tokenizer.json"
    tokenizer.save(path)
    return path


@pytest.fixture
def text_path(tmp_path: Path) -> Path:
    path = tmp_path / "text.txt"
    path.write_bytes(TEXT)
    return path


# -- pipes, in processes of their own -----------------------------------------------------------------


def test_encode_and_decode_in_a_pipe(tokenizer: bbpe.Tokenizer, tokenizer_path: Path) -> None:
    status, ids, errors = run("encode", "-t", tokenizer_path, stdin=TEXT)
    assert (status, errors) == (0, "")
    assert ids == (" ".join(map(str, tokenizer.encode(TEXT))) + "\n").encode()
    assert run("decode", "-t", tokenizer_path, stdin=ids) == (0, TEXT, "")


def test_no_text_is_no_ids_and_no_text(tokenizer_path: Path) -> None:
    assert run("encode", "-t", tokenizer_path) == (0, b"\n", "")
    assert run("decode", "-t", tokenizer_path) == (0, b"", "")


def test_encode_answers_before_the_text_ends(tokenizer_path: Path) -> None:
    process = bbpe_process("encode", "-t", tokenizer_path, stdin=subprocess.PIPE)
    assert process.stdin is not None
    assert process.stdout is not None
    text, answered = process.stdin, threading.Event()

    def write() -> None:
        # no end in sight: ids must flow while the text comes
        while not answered.is_set():
            text.write(b"see my dogs\n" * 1000)
        text.close()

    writer = threading.Thread(target=write)
    writer.start()
    first = process.stdout.read(1000)
    answered.set()
    rest = process.stdout.read()
    process.stdout.close()
    writer.join(60)
    assert process.wait(60) == 0
    assert len(first) == 1000
    assert rest.endswith(b"\n")


def test_a_reader_that_leaves_is_no_error(tokenizer_path: Path, tmp_path: Path) -> None:
    (tmp_path / "long.txt").write_bytes(TEXT * 20_000)
    process = bbpe_process("encode", "-t", tokenizer_path, tmp_path / "long.txt", stderr=subprocess.PIPE)
    assert process.stdout is not None
    assert process.stderr is not None
    process.stdout.read(10)
    process.stdout.close()
    assert process.stderr.read() == b""
    process.stderr.close()
    assert process.wait(60) == 141


def test_progress_goes_to_stderr_and_the_result_to_stdout(tmp_path: Path, text_path: Path) -> None:
    status, out, errors = run("train", text_path, "--vocab-size", 300, "-o", tmp_path / "tok.json", "--json")
    assert status == 0
    facts = json.loads(out)
    assert facts["vocab_size"] == 300
    assert facts["fingerprint"] == bbpe.load(tmp_path / "tok.json").fingerprint
    assert "the longest token has" in errors
    assert "merges/s" not in errors  # within two seconds


def test_an_error_is_one_line_and_status_1(tmp_path: Path) -> None:
    status, out, errors = run("inspect", tmp_path / "none.json")
    assert (status, out) == (1, b"")
    assert errors == f"bbpe: error: {tmp_path / 'none.json'}: No such file or directory\n"


@pytest.mark.skipif(not hasattr(signal, "SIGINT") or sys.platform == "win32", reason="no such signal here")
@pytest.mark.parametrize("command", ["train", "encode"])
def test_an_interrupt_leaves_no_file(command: str, tokenizer_path: Path, tmp_path: Path) -> None:
    folder = tmp_path / "out"
    folder.mkdir()
    arguments: dict[str, list[object]] = {
        # both wait for more text when the signal comes
        "train": ["train", "-", "--vocab-size", 300, "-o", folder / "tok.json"],
        "encode": ["encode", "-t", tokenizer_path, "--numpy", folder / "ids.npy"],
    }
    process = bbpe_process(
        *arguments[command],
        stdin=subprocess.PIPE,
        stderr=subprocess.PIPE,
        # a shell may have started us with the signal ignored, which children inherit
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
    )
    assert process.stdin is not None
    process.stdin.write(TEXT * 3000)
    process.stdin.flush()
    deadline = time.monotonic() + 30
    while command == "encode" and not any(folder.iterdir()) and time.monotonic() < deadline:
        time.sleep(0.01)
    time.sleep(0.5 if command == "train" else 0)
    process.send_signal(signal.SIGINT)
    out, errors = process.communicate(timeout=60)
    assert (process.returncode, out) == (130, b"")
    assert errors.splitlines()[-1] == b"bbpe: interrupted; nothing was written"
    assert not list(folder.iterdir())


# -- the rest, in this process ------------------------------------------------------------------------

Call = Callable[..., tuple[int, bytes, str]]


@pytest.fixture
def call(capfdbinary: pytest.CaptureFixture[bytes]) -> Call:
    def invoke(*arguments: object) -> tuple[int, bytes, str]:
        try:
            status = main(list(map(str, arguments)))
        except SystemExit as ended:
            status = int(ended.code or 0)
        out, err = capfdbinary.readouterr()
        return status, out, err.decode()

    return invoke


def test_files_are_texts_of_their_own(
    call: Call, tokenizer: bbpe.Tokenizer, tokenizer_path: Path, tmp_path: Path, text_path: Path
) -> None:
    (tmp_path / "b.txt").write_bytes(b"see")
    status, out, _ = call("encode", "-t", tokenizer_path, text_path, tmp_path / "b.txt")
    assert status == 0
    found = [list(map(int, line.split())) for line in out.splitlines()]
    assert found == [tokenizer.encode(TEXT), tokenizer.encode("see")]
    (tmp_path / "ids").write_bytes(out)
    assert call("decode", "-t", tokenizer_path, tmp_path / "ids") == (0, TEXT + b"see", "")


def test_json_is_one_object_a_text(
    call: Call, tokenizer: bbpe.Tokenizer, tokenizer_path: Path, text_path: Path
) -> None:
    _, out, _ = call("encode", "-t", tokenizer_path, "--json", text_path, text_path)
    expected = {"file": str(text_path), "ids": tokenizer.encode(TEXT)}
    assert [json.loads(line) for line in out.splitlines()] == [expected, expected]
    _, out, _ = call("encode", "-t", tokenizer_path, "--json", "--tokens", text_path)
    assert json.loads(out) == {"file": str(text_path), "tokens": tokenizer.tokenize(TEXT)}


def test_tokens_in_the_byte_alphabet(
    call: Call, tokenizer: bbpe.Tokenizer, tokenizer_path: Path, text_path: Path
) -> None:
    _, out, _ = call("encode", "-t", tokenizer_path, "--tokens", text_path)
    assert out.decode("utf-8").split() == tokenizer.tokenize(TEXT)


def test_special_tokens_on_request(
    call: Call, tokenizer: bbpe.Tokenizer, tokenizer_path: Path, text_path: Path
) -> None:
    _, out, _ = call("encode", "-t", tokenizer_path, "--special", text_path)
    ids = tokenizer.encode(TEXT, allowed_special="all")
    assert list(map(int, out.split())) == ids
    assert tokenizer.eot_token in ids
    assert tokenizer.eot_token not in tokenizer.encode(TEXT)


def test_numpy_out_and_in(
    call: Call, tokenizer: bbpe.Tokenizer, tokenizer_path: Path, tmp_path: Path, text_path: Path
) -> None:
    path = tmp_path / "ids.npy"
    assert call("encode", "-t", tokenizer_path, "--numpy", path, text_path, text_path) == (0, b"", "")
    ids = np.load(path)
    assert ids.dtype == np.uint32
    assert ids.tolist() == tokenizer.encode(TEXT) * 2
    assert call("decode", "-t", tokenizer_path, path) == (0, TEXT * 2, "")
    (tmp_path / "empty.txt").touch()
    call("encode", "-t", tokenizer_path, "--numpy", path, tmp_path / "empty.txt")
    assert np.load(path).shape == (0,)


@pytest.mark.parametrize("size", [1, 2, 3, 7])
def test_chunks_change_nothing(
    call: Call,
    tokenizer: bbpe.Tokenizer,
    tokenizer_path: Path,
    tmp_path: Path,
    text_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    size: int,
) -> None:
    monkeypatch.setattr(streams, "_CHUNK_BYTES", size)
    monkeypatch.setattr(file_ids, "BLOCK", size)
    _, out, _ = call("encode", "-t", tokenizer_path, text_path)
    assert list(map(int, out.split())) == tokenizer.encode(TEXT)
    (tmp_path / "ids").write_bytes(b"\n \t" + out.replace(b" ", b"\n\n", 5))
    assert call("decode", "-t", tokenizer_path, tmp_path / "ids") == (0, TEXT, "")


@pytest.mark.parametrize(
    ("ids", "said"),
    [
        (b"1 two 3", "'two'"),
        (b"-1", "'-1'"),
        (b"1_0", "'1_0'"),
        (b"1.5", "'1.5'"),
        (b"12345678901", "'12345678901'"),
        (b"\xff\xf0", "xff"),
        (b"\xff\xfe1\x00", "UTF-16"),
        (b"x" * 5_000_000, "xxx"),
        (b"4000000000", "4000000000"),
        (b"320", "320"),
    ],
)
def test_what_is_no_id_is_shown(call: Call, tokenizer_path: Path, tmp_path: Path, ids: bytes, said: str) -> None:
    (tmp_path / "ids").write_bytes(ids)
    status, out, errors = call("decode", "-t", tokenizer_path, tmp_path / "ids")
    assert (status, out) == (1, b"")
    assert said in errors
    assert errors.startswith("bbpe: error: ")
    assert errors.count("\n") == 1
    assert len(errors) < 300


@pytest.mark.parametrize("content", [b"", b"no array", np.lib.format.magic(1, 0)])
def test_a_broken_array_is_named(call: Call, tokenizer_path: Path, tmp_path: Path, content: bytes) -> None:
    (tmp_path / "ids.npy").write_bytes(content)
    status, _, errors = call("decode", "-t", tokenizer_path, tmp_path / "ids.npy")
    assert status == 1
    assert "ids.npy" in errors


@pytest.mark.parametrize("array", [np.zeros((2, 2), np.uint32), np.zeros(2), np.uint32(1)])
def test_an_array_of_something_else_is_named(
    call: Call, tokenizer_path: Path, tmp_path: Path, array: np.ndarray
) -> None:
    np.save(tmp_path / "ids.npy", array)
    status, _, errors = call("decode", "-t", tokenizer_path, tmp_path / "ids.npy")
    assert status == 1
    assert "ids.npy" in errors


def test_negative_ids_of_an_array_are_refused(call: Call, tokenizer_path: Path, tmp_path: Path) -> None:
    np.save(tmp_path / "ids.npy", np.array([1, -5]))
    status, _, errors = call("decode", "-t", tokenizer_path, tmp_path / "ids.npy")
    assert status == 1
    assert "-5" in errors


def test_inspect(call: Call, tokenizer: bbpe.Tokenizer, tokenizer_path: Path, tmp_path: Path) -> None:
    _, out, _ = call("inspect", tokenizer_path, "--json")
    facts = json.loads(out)
    assert facts["format"] == "huggingface"
    assert facts["mode"] == "merges"
    assert facts["vocab_size"] == facts["tokens"] == len(tokenizer)
    assert facts["pattern"] == "gpt2"
    assert facts["special_tokens"] == {"<|endoftext|>": tokenizer.eot_token}
    assert facts["fingerprint"] == tokenizer.fingerprint
    _, out, _ = call("inspect", tokenizer_path)
    assert b"<|endoftext|>" in out
    tokenizer.save(tmp_path / "x.tiktoken", drop=["special_tokens"])
    status, _, errors = call("inspect", tmp_path / "x.tiktoken")
    assert status == 1
    assert "pattern" in errors
    _, out, _ = call("inspect", tmp_path / "x.tiktoken", "--pattern", "gpt2", "--json")
    assert json.loads(out)["mode"] == "ranks"


def test_train_with_every_option(call: Call, tmp_path: Path) -> None:
    (tmp_path / "corpus").mkdir()
    for name in ("a.txt", "b.txt"):
        (tmp_path / "corpus" / name).write_bytes(TEXT * 5)
    output = tmp_path / "out"
    arguments = ["--vocab-size", 310, "--output", output, "--format", "gpt2", "--pattern", "cl100k", "--quiet"]
    arguments += ["--drop", "pattern"]
    arguments += ["--special-token", "<|endoftext|>", "--special-token", "<pad>", "--min-frequency", 2]
    arguments += ["--max-token-length", 5, "--tie-break", "bytes", "--document", "line", "--threads", 1]
    status, out, errors = call("train", tmp_path / "corpus", *arguments)
    assert (status, errors) == (0, "")
    assert str(output) in out.decode()
    expected = bbpe.train(
        tmp_path / "corpus",
        310,
        model=bbpe.BPE(min_frequency=2, max_token_length=5, tie_break="bytes"),
        pattern="cl100k",
        special_tokens=["<|endoftext|>", "<pad>"],
        counting=bbpe.Counting(document="line"),
    )
    found = bbpe.load(output, pattern="cl100k", special_tokens=expected.special_tokens)
    assert found == expected
    assert found.merges == expected.merges


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["none.txt", "--vocab-size", 300, "-o", "x.json"], "none.txt"),
        (["*.none", "--vocab-size", 300, "-o", "x.json"], "*.none"),
        (["text.txt", "--vocab-size", 200, "-o", "x.json"], "200"),
        (["text.txt", "--vocab-size", 300, "-o", "x.json", "--pattern", "gtp2"], "gtp2"),
        (["text.txt", "--vocab-size", 300, "-o", "x.json", "--pattern", "(["], "(["),
        (["text.txt", "--vocab-size", 300, "-o", "none/x.json"], "none"),
        (["text.txt", "--vocab-size", 300, "-o", "x.codes"], "x.codes"),
        (["-", "text.txt", "--vocab-size", 300, "-o", "x.json"], "standard input"),
        (["empty.txt", "--vocab-size", 300, "-o", "x.json"], "no text"),
        (
            ["text.txt", "--vocab-size", 300, "-o", "x.json", "--score", "pmi"],
            "--score does not go with --model bpe; expected it with wordpiece",
        ),
        (
            ["text.txt", "--vocab-size", 300, "-o", "x.json", "--model", "unigram", "--min-frequency", 2],
            "--min-frequency does not go with --model unigram; expected it with bpe or wordpiece",
        ),
        (
            ["text.txt", "--vocab-size", 300, "-o", "x.json", "--end-of-word", "</w>"],
            "--end-of-word is '</w>'; expected it only with --alphabet chars",
        ),
    ],
)
def test_train_refuses_and_writes_nothing(
    call: Call, text_path: Path, monkeypatch: pytest.MonkeyPatch, arguments: list[object], said: str
) -> None:
    monkeypatch.chdir(text_path.parent)
    Path("empty.txt").touch()
    status, out, errors = call("train", "--quiet", *arguments)
    assert (out, said in errors, errors.count("\n")) == (b"", True, status)
    assert status == (1 if said in ("none.txt", "*.none", "none", "x.codes", "no text") else 2)
    assert sorted(path.name for path in Path().iterdir()) == ["empty.txt", "text.txt"]


@pytest.mark.parametrize(
    ("command", "groups"),
    [
        ("train", ["Corpus:", "Counting:", "Vocabulary:", "BPE:", "Words:", "Unigram:"]),
        ("extend", ["Corpus:", "Counting:", "Vocabulary:"]),
        ("count", ["Corpus:", "Counting:"]),
    ],
)
def test_help_is_in_groups(command: str, groups: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit, match="0"):
        main([command, "--help"])
    shown = capsys.readouterr().out.splitlines()
    assert [line for line in shown if line in groups] == groups


@pytest.mark.parametrize(
    "arguments",
    [
        [],
        ["nonsense"],
        ["train"],
        ["count", "a.txt"],
        ["counts"],
        ["train", "a.txt", "--vocab-size", "300", "-o", "x.json", "--sample", "2"],
        ["train", "a.txt", "--vocab-size", "many", "-o", "x.json"],
        ["train", "a.txt", "--vocab-size", "300", "-o", "x.json", "--tie-break", "coin"],
        ["encode"],
        ["encode", "-t", "x.json", "--json", "--numpy", "x.npy"],
    ],
)
def test_wrong_usage_is_status_2(arguments: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as caught:
        main(arguments)
    assert caught.value.code == 2
    shown = capsys.readouterr().err
    assert "usage: bbpe COMMAND" in shown if not arguments else shown.count("\n") == 2


def test_the_byte_alphabet_has_no_blanks() -> None:
    # so that tokens between blanks can be told apart
    assert not any(bytes_to_alphabet(bytes((byte,))).isspace() for byte in range(256))
