"""`bbpe tokens`, conversions line by line, and the names that `-t` takes."""

from __future__ import annotations

import io
import json
import os
import select
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import bbpe
from bbpe.cli import main

TEXT = "see my eyes\nsee my dogs\n\nnaïve 深度 <s>\n"


@pytest.fixture(scope="module")
def path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("tokens")
    bbpe.train_from_iterator([TEXT] * 3, 300, special_tokens=["<s>"]).save(folder / "tokenizer.json")
    (folder / "text.txt").write_text(TEXT, "utf-8")
    return folder / "tokenizer.json"


@pytest.fixture
def call(path: Path, capfdbinary: Any, monkeypatch: pytest.MonkeyPatch) -> Any:
    def run(command: str, *arguments: str, stdin: bytes | None = None) -> str:
        if stdin is not None:
            monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BufferedReader(io.BytesIO(stdin))))  # type: ignore[arg-type]
        assert main([command, "-t", str(path), *arguments]) == 0
        return str(capfdbinary.readouterr().out, "utf-8")

    return run


def test_counts(call: Any, path: Path) -> None:
    tok, text = bbpe.load(path), str(path.with_name("text.txt"))
    plain, special = tok.count_tokens(TEXT), tok.count_tokens(TEXT, allowed_special="all")
    assert call("tokens", text) == f"{plain} {text}\n"
    assert call("tokens", text, text, "--special").splitlines() == [f"{special * 2} {text}"]
    assert json.loads(call("tokens", text, "--json")) == {"files": {text: plain}, "tokens": plain}
    assert call("tokens", stdin=TEXT.encode()) == f"{plain}\n"
    lines = [tok.count_tokens(line) for line in TEXT.splitlines()]
    assert call("tokens", "--per-line", text).split() == list(map(str, lines))
    found = [json.loads(line)["tokens"] for line in call("tokens", "--per-line", "--json", text).splitlines()]
    assert found == lines


def test_parts(call: Any, path: Path) -> None:
    tok, text = bbpe.load(path), str(path.with_name("text.txt"))
    assert call("tokens", "--truncate", "5", text) == tok.truncate(TEXT, 5)
    assert json.loads(call("tokens", "--truncate", "5", "--json", text)) == {
        "file": text, "tokens": 5, "text": tok.truncate(TEXT, 5)
    }  # fmt: skip
    chunks = tok.chunk(TEXT, 6)
    assert call("tokens", "--chunk", "6", text) == "".join(f"{a}\t{b}\t{n}\n" for a, b, n, _ in chunks)
    said = call("tokens", "--chunk", "6", "--json", stdin=TEXT.encode())
    assert {json.loads(line)["file"] for line in said.splitlines()} == {"standard input"}
    rows = [json.loads(line) for line in call("tokens", "--chunk", "6", "--json", text).splitlines()]
    assert [(row["text"], row["tokens"]) for row in rows] == [(TEXT[a:b], n) for a, b, n, _ in chunks]


def test_where_parts_end(call: Any, path: Path) -> None:
    tok, text = bbpe.load(path), str(path.with_name("text.txt"))
    cases: list[tuple[str, dict[str, Any]]] = [
        ("--overlap 2", {"overlap": 2}), ("--boundary word", {"boundary": "word"}),
        ("--overlap 2 --boundary line", {"overlap": 2, "boundary": "line"}),
    ]  # fmt: skip
    for words, options in cases:
        chunks = tok.chunk(TEXT, 6, **options)
        assert chunks != tok.chunk(TEXT, 6), options
        expected = "".join(f"{a}\t{b}\t{n}\n" for a, b, n, _ in chunks)
        assert call("tokens", "--chunk", "6", *words.split(), text) == expected


def test_lines(call: Any, path: Path) -> None:
    tok, lines = bbpe.load(path), TEXT.splitlines()
    ids = call("encode", "--lines", stdin=TEXT.encode())
    assert ids.splitlines() == [" ".join(map(str, tok.encode(line))) for line in lines]
    assert call("decode", "--lines", "--line-buffered", stdin=ids.encode()) == TEXT
    assert call("decode", "--lines", stdin=str(tok.encode("see")).encode()) == "see\n"
    pieces = call("encode", "--lines", "--pieces", stdin=TEXT.encode())
    assert pieces.splitlines() == [" ".join(tok.tokenize(line)) for line in lines]
    assert call("encode", "--pieces", stdin=b"see my") == call("encode", "--tokens", stdin=b"see my")
    assert call("encode", "--lines", "--sample", "0", stdin=TEXT.encode()) == ids
    sampled = call("encode", "--lines", "--sample", "0.9", stdin=TEXT.encode())
    assert sampled != ids
    assert call("decode", "--lines", stdin=sampled.encode()) == TEXT


def test_errors_of_lines_name_the_line(path: Path, tmp_path: Path, capsys: Any) -> None:
    (tmp_path / "ids.txt").write_text("1 2\n\n3 x 4\n")
    assert main(["decode", "--lines", "-t", str(path), str(tmp_path / "ids.txt")]) == 1
    assert "ids.txt: line 3: expected ids between blanks or commas, found 'x'" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["encode", "--sample", "0.1"], "--sample needs --lines"),
        (["encode", "--lines", "--json"], "--lines reads and writes lines"),
        (["encode", "--pieces", "--numpy", "x.npy"], "does not go with --tokens or --pieces"),
    ],
)
def test_what_does_not_go_together(arguments: list[str], message: str, path: Path, capsys: Any) -> None:
    assert main([*arguments, "-t", str(path)]) == 2
    assert message in capsys.readouterr().err


def test_models_that_only_their_providers_count(capsys: Any) -> None:
    for arguments in (["tokens", "x", "-t", "claude-opus-4-5"], ["fetch", "gemini-2.5-pro"]):
        assert main(arguments) == 1
        said = capsys.readouterr().err
        assert said.startswith("bbpe: error: model '"), said
        assert "has published no vocabulary" in said
        assert "count_tokens(model=..., " in said


def test_names_that_are_nearly_right(capsys: Any) -> None:
    assert main(["tokens", "-t", "o200k_bse", "x"]) == 1
    assert "did you mean 'o200k_base'" in capsys.readouterr().err
    with pytest.raises(SystemExit) as caught:
        main(["toknes"])
    assert caught.value.code == 2
    assert "unknown command 'toknes' (did you mean 'tokens'?)" in capsys.readouterr().err


def test_a_repository_in_the_cache_of_the_hub(path: Path, tmp_path: Path, monkeypatch: Any, capsys: Any) -> None:
    monkeypatch.setenv("HF_HUB_CACHE", str(tmp_path))
    repository = tmp_path / "models--some-org--a.model"
    (repository / "refs").mkdir(parents=True)
    (repository / "refs/main").write_text("abc")
    (repository / "snapshots/abc").mkdir(parents=True)
    (repository / "snapshots/abc/tokenizer.json").write_bytes(path.read_bytes())
    text = str(path.with_name("text.txt"))
    assert main(["tokens", "-t", "some-org/a.model", text]) == 0
    assert capsys.readouterr().out == f"{bbpe.load(path).count_tokens(TEXT)} {text}\n"
    assert main(["tokens", "-t", "some-org/other", text]) == 1
    assert bbpe.load("some-org/a.model") == bbpe.load(path)
    with pytest.raises(FileNotFoundError, match="some-org/other"):
        bbpe.load("some-org/other")
    for wrong in (b"", b"\xff", b"../abc", b"a\0b"):
        (repository / "refs/main").write_bytes(wrong)
        with pytest.raises(FileNotFoundError, match=r"some-org/a\.model"):
            bbpe.load("some-org/a.model")


def test_it_reports_that_it_waits_for_a_terminal(path: Path, monkeypatch: Any, capsys: Any) -> None:
    source = io.TextIOWrapper(io.BufferedReader(io.BytesIO(b"see")))  # type: ignore[arg-type]
    monkeypatch.setattr(source, "isatty", lambda: True)
    monkeypatch.setattr("sys.stdin", source)
    assert main(["tokens", "-t", str(path)]) == 0
    assert "reading standard input; end it with Ctrl-D" in capsys.readouterr().err


def test_folders_line_by_line(call: Any, path: Path, tmp_path: Path) -> None:
    """Folders and globs stand for their files with every option."""
    tok = bbpe.load(path)
    for name in ("a", "b"):
        (tmp_path / f"{name}.txt").write_text(TEXT, "utf-8")
    lines = TEXT.splitlines() * 2
    for files in (tmp_path, tmp_path / "*.txt"):
        assert call("tokens", "--per-line", str(files)).split() == [str(tok.count_tokens(line)) for line in lines]
        assert call("tokens", "--truncate", "3", str(files)) == tok.truncate(TEXT, 3) * 2
        assert len(call("tokens", "--chunk", "6", str(files)).splitlines()) == 2 * len(tok.chunk(TEXT, 6))
        assert call("encode", "--lines", str(files)).splitlines() == [
            " ".join(map(str, tok.encode(line))) for line in lines
        ]


def test_pieces_in(call: Any, path: Path, capfdbinary: Any) -> None:
    """What `encode --pieces` writes is decoded, line by line and as a whole."""
    text = str(path.with_name("text.txt"))
    pieces = call("encode", "--lines", "--pieces", "--special", text)
    assert call("decode", "--lines", "--pieces", stdin=pieces.encode()) == TEXT
    whole = call("encode", "--pieces", "--special", text)
    assert call("decode", "--pieces", stdin=whole.encode()) == TEXT
    path.with_name("pieces.txt").write_text(pieces + "no-such-piece\n", "utf-8")
    assert main(["decode", "-t", str(path), "--pieces", str(path.with_name("pieces.txt"))]) == 1
    assert b"line 5: no piece is 'no-such-piece'" in capfdbinary.readouterr().err


def test_keys_of_json_say_what_is_written(call: Any, path: Path) -> None:
    tok, text = bbpe.load(path), str(path.with_name("text.txt"))
    written: dict[str, tuple[list[str], list[Any]]] = {
        "ids": ([], tok.encode(TEXT)),
        "tokens": (["--tokens"], call("encode", "--tokens", text).removesuffix("\n").split(" ")),
        "pieces": (["--pieces"], tok.tokenize(TEXT)),
    }
    for key, (options, expected) in written.items():
        assert json.loads(call("encode", "--json", *options, text)) == {"file": text, key: expected}


def test_a_file_without_blanks_is_refused_at_once(path: Path, monkeypatch: pytest.MonkeyPatch, capfd: Any) -> None:
    """It may have no end."""
    taken: list[int] = []

    def endless(name: str) -> Iterator[bytes]:
        for number in range(50):
            taken.append(number)
            yield b"1" * 1000

    monkeypatch.setattr("bbpe.cli.decode.chunks_of", endless)
    assert main(["decode", "-t", str(path), "ids.txt"]) == 1
    assert "expected ids between blanks or commas, found '1111" in capfd.readouterr().err
    assert len(taken) == 1


@pytest.mark.parametrize("command", ["encode", "decode"])
def test_a_line_is_answered_before_the_next_one_comes(command: str, path: Path) -> None:
    arguments = [sys.executable, "-m", "bbpe", command, "-t", str(path), "--lines", "--line-buffered"]
    given, expected = b"see\n", " ".join(map(str, bbpe.load(path).encode("see"))).encode() + b"\n"
    if command == "decode":
        given, expected = expected, given
    env = {name: value for name, value in os.environ.items() if name != "PYTHONUNBUFFERED"}
    with subprocess.Popen(arguments, stdin=subprocess.PIPE, stdout=subprocess.PIPE, bufsize=0, env=env) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        for _ in range(3):
            process.stdin.write(given)
            there, _, _ = select.select([process.stdout], [], [], 20)
            assert there, "the line was kept back"
            assert process.stdout.read(1000) == expected
        process.stdin.close()
        assert process.wait() == 0


@pytest.mark.parametrize(("arguments", "expected"), [
    (["tokens", "-t", "gpt2", "--per-lin=3", "--chunks"], "'--per-lin=3' (did you mean '--per-line'"),
    (["train", "a.txt", "--vocab-size", "300", "-o", "b", "--patern", "gpt2"], "'--patern' (did you mean '--pattern'"),
    (["counts", "show", "a", "--tap", "3"], "bbpe counts"),
])  # fmt: skip
def test_an_unknown_argument(arguments: list[str], expected: str, capfd: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        main(arguments)
    assert ended.value.code == 2
    assert expected in capfd.readouterr().err


def test_fetch_takes_models(monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]) -> None:
    asked: list[str] = []
    monkeypatch.setattr("bbpe.published.fetch.fetch", lambda vocabulary, *_, **__: asked.append(vocabulary.name))
    assert main(["fetch", "gpt-4o"]) == main(["fetch", "Qwen/Qwen3-8B"]) == main(["fetch", "cl100k_base"]) == 0
    assert asked == ["o200k_base", "qwen3", "cl100k_base"]
    assert main(["fetch", "o200k_bas"]) == 1
    assert "did you mean 'o200k_base'" in capfd.readouterr().err


def test_sampling(call: Any, path: Path, tmp_path: Path, capfdbinary: Any) -> None:
    """Special tokens stay whole; a model without other segmentations is refused in one line."""
    (tmp_path / "text.txt").write_text("see <s> my\n" * 30)
    rows = call("encode", "--lines", "--special", "--sample", "0.5", str(tmp_path / "text.txt")).splitlines()
    special = str(bbpe.load(path).special_tokens["<s>"])
    assert len(set(rows)) > 1
    assert all(special in row.split() for row in rows)
    wordpiece, unigram = str(tmp_path / "wordpiece.json"), str(tmp_path / "unigram.json")
    bbpe.train_from_iterator([TEXT] * 3, 60, model="wordpiece").save(wordpiece)
    bbpe.train_from_iterator([TEXT] * 3, 290, model=bbpe.Unigram(byte_fallback=True)).save(unigram)
    for arguments in (["-t", wordpiece], ["-t", unigram, "--special"]):
        assert main(["encode", *arguments, "--lines", "--sample", "0.1", str(tmp_path / "text.txt")]) == 2
        assert capfdbinary.readouterr().err.startswith(b"bbpe: error: --sample needs a tokenizer of BPE")
