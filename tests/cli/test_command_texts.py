"""Commands that read texts and ids: what they print and refuse, and with which status."""

from __future__ import annotations

import io
import json
import sys
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from commands import TEXT, TOK, Call

import bbpe
from bbpe.cli import decode, encode, streams
from bbpe.cli import eval as evaluating
from bbpe.cli.command import load_named, positive, share, short_names, whole
from bbpe.cli.command import size as size_of_text
from bbpe.cli.streams import Watch, as_files, files_of, label_of, names_of, size_of, watched

# -- arguments and errors -----------------------------------------------------------------------------


def test_no_command_is_wrong_usage(call: Call) -> None:
    status, out, err = call([])
    assert (status, out) == (2, "")
    assert "usage: bbpe COMMAND [OPTIONS]\n\nTrain:\n  train " in err


@pytest.mark.parametrize(("words", "status", "said"), [
    ("tokens -t none.json a.txt", 1, "bbpe: error: none.json: No such file or directory\n"),
    ("tokens -t - a.txt", 2, "bbpe: error: a tokenizer cannot be read from standard input (-); expected a file, a "
     "folder or a name\nsee `bbpe tokens --help`\n"),
    ("counts merge c.parquet d.parquet -o x.parquet --weight 1", 2, "bbpe: error: --weight is given once for 2 files; "
     "expected one for each\nsee `bbpe counts merge --help`\n"),
    ("counts merge c.parquet -o x.parquet --weight 1 --weight 2", 2, "bbpe: error: --weight is given 2 times for 1 "
     "file; expected one for each\nsee `bbpe counts merge --help`\n"),
    ("count - a.txt -o x.parquet", 2, "bbpe: error: - (standard input) does not go with other files\n"
     "see `bbpe count --help`\n"),
    ("eval a.txt -t t.json --sizes 4k --document line", 2, "bbpe: error: --document does not go with --sizes; expected "
     "it without\nsee `bbpe eval --help`\n"),
    ("prune -t t.json -o x.json", 2, "bbpe: error: nothing says what to keep; expected --keep, --used-in or --counts\n"
     "see `bbpe prune --help`\n"),
    ("lint -t t.json - -", 2, "bbpe: error: standard input (-) is named twice; expected it once\n"
     "see `bbpe lint --help`\n"),
    ("encode --lines --sample 2 -t t.json a.txt", 2, "bbpe: error: --sample is 2.0; "),
    ("shard a.txt -t t.json -o out --part 4/4", 2, "bbpe: error: --part: expected I/N with I from 0 to N - 1, such as "
     "0/64, not '4/4'\n"),
    ("lint -t t.json a.txt --min-count 0", 2, "bbpe: error: --min-count: expected a whole number of at least 1, "
     "such as 32000, 32k or 1.5M, not '0'\n"),
    ("view -t t.json a.txt -o x.html --max-bytes 4x", 2, "bbpe: error: --max-bytes: expected a size such as 1000, "
     "64kB or 4GB, not '4x'\n"),
])  # fmt: skip
def test_errors_and_their_status(words: str, status: int, said: str, call: Call) -> None:
    found = call(words)
    assert found[:2] == (status, "")
    assert found[2].startswith(said)


def test_arguments_at_their_limits() -> None:
    assert [whole("0"), whole("12"), positive("1"), positive("1.5k")] == [0, 12, 1, 1500]
    assert [share(text) for text in ("1", "0.001", "1.0")] == [1.0, 0.001, 1.0]
    assert evaluating._sizes("4k,8K,300") == [4000, 8000, 300]
    wrong: list[tuple[Callable[[str], Any], str]] = [(whole, "-1"), (whole, "1k"), (evaluating._sizes, "4k,0k")]
    wrong.append((size_of_text, "0"))
    for read, text in (*wrong, *((share, each) for each in ("0", "1.01", "x", "nan"))):
        with pytest.raises(Exception, match="expected"):
            read(text)
    assert short_names(["a/x.json", "b/y"]) == ["x", "y"]
    assert short_names(["a/x.json", "b/x.json"]) == ["a/x.json (1)", "b/x.json (2)"]
    assert short_names(["gpt2", "a.json"]) == ["gpt2", "a.json"]


def test_tokenizers_are_named_as_in_python(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bbpe, "load", lambda name, *, pattern: (name, pattern))
    assert load_named("gpt-4o") == ("gpt-4o", None)
    assert load_named("t.json", "gpt2") == ("t.json", "gpt2")

pytestmark = pytest.mark.usefixtures("here")


# -- texts, tokens, ids -------------------------------------------------------------------------------


@pytest.mark.parametrize("words", [1, 2, 1000])
def test_ids_are_written_some_at_a_time(words: int, call: Call, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(encode, "_WORDS", words)
    ids, tokens = TOK.encode(TEXT), TOK.tokenize(TEXT)
    assert call("encode -t t.json a.txt")[1] == " ".join(map(str, ids)) + "\n"
    assert json.loads(call("encode -t t.json --json a.txt")[1]) == {"file": "a.txt", "ids": ids}
    assert json.loads(call("encode -t t.json --json --pieces a.txt")[1]) == {"file": "a.txt", "pieces": tokens}


@pytest.mark.parametrize("name", ["a.jsonl", "/no/such/file"])
def test_rows_of_standard_input(name: str, call: Call, monkeypatch: pytest.MonkeyPatch) -> None:
    """Read by the name that the system has for it, or from a copy."""
    if sys.platform == "win32" and name == "a.jsonl":
        pytest.skip("needs POSIX, where standard input has a name")
    given = b"" if name == "a.jsonl" else Path("a.jsonl").read_bytes()
    monkeypatch.setattr(streams, "STDIN_FILE", name)
    lines = TEXT.splitlines()
    status, out, err = call("encode -t t.json --json --input-format jsonl -", given)
    assert (status, err) == (0, "")
    rows = [json.loads(line) for line in out.splitlines()]
    assert rows == [{"file": "-", "row": number, "ids": TOK.encode(line)} for number, line in enumerate(lines)]
    out = call("tokens -t t.json --json --input-format jsonl - a.jsonl", given)[1]
    counts = dict.fromkeys(("-", "a.jsonl"), sum(len(TOK.encode(line)) for line in lines))
    assert json.loads(out) == {"files": counts, "tokens": sum(counts.values())}
    out = call("tokens -t t.json --json --input-format jsonl --text-field body -", given)[1]
    assert json.loads(out)["tokens"] == len(lines) * len(TOK.encode("my"))


@pytest.mark.parametrize("options", [
    "--input-format jsonl", "--input-format jsonl --max-memory 1GB", "--max-memory 1GB",
])  # fmt: skip
def test_standard_input_without_a_name_is_counted(options: str, call: Call, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(streams, "STDIN_FILE", "/no/such/file")
    pytest.importorskip("pyarrow")
    data = Path("a.jsonl" if "jsonl" in options else "a.txt").read_bytes()
    status, out, err = call(f"count - {options} --pattern gpt2 --quiet --json -o c.parquet", data)
    assert (status, err) == (0, "")
    right = bbpe.count_from_iterator(TEXT.splitlines() if "jsonl" in options else [TEXT], pattern="gpt2")
    assert list(bbpe.load_counts("c.parquet")) == list(right)
    assert json.loads(out)["bytes"] == right.summary.bytes
    assert call(f"train - {options} --pattern gpt2 --quiet --vocab-size 270 -o n.json", data)[::2] == (0, "")
    assert bbpe.load("n.json") == bbpe.train_from_counts(right, 270)


@pytest.mark.parametrize("document", ["file", "line"])
@pytest.mark.parametrize("options", ["--input-format text", "--on-error skip"])
def test_standard_input_is_read_as_a_file_of_text(options: str, document: str, call: Call) -> None:
    """Plain text has no lines of JSON that could be wrong, so there is nothing to skip."""
    pytest.importorskip("pyarrow")
    words, data = f"- {options} --document {document} --pattern gpt2 --quiet", TEXT.encode()
    right = bbpe.count_from_iterator(data.splitlines(True) if document == "line" else [data], pattern="gpt2")
    assert call(f"count {words} -o c.parquet", data)[::2] == (0, "")
    assert dict(bbpe.load_counts("c.parquet")) == dict(right)
    assert call(f"train {words} --vocab-size 270 -o n.json", data)[::2] == (0, "")
    assert bbpe.load("n.json") == bbpe.train_from_counts(right, 270)


def test_counts_of_files_and_their_sum(call: Call) -> None:
    one, special = len(TOK.encode(TEXT)), len(TOK.encode(TEXT, allowed_special="all"))
    assert one != special
    width = len(str(2 * one))
    assert call("tokens -t t.json a.txt b.txt")[1] == (
        f"{one:>{width}} a.txt\n{one:>{width}} b.txt\n{2 * one:>{width}} total\n"
    )
    assert call("tokens -t t.json a.txt")[1] == f"{one} a.txt\n"
    assert call("tokens -t t.json --special a.txt")[1] == f"{special} a.txt\n"


def test_numbers_of_lines_begin_again_in_each_file(call: Call) -> None:
    lines = TEXT.splitlines()
    out = call("tokens -t t.json --per-line --json --special a.txt b.txt")[1]
    assert [json.loads(line) for line in out.splitlines()] == [
        {"file": name, "line": number, "tokens": TOK.count_tokens(line, allowed_special="all")}
        for name in ("a.txt", "b.txt")
        for number, line in enumerate(lines, 1)
    ]


def test_beginnings_and_chunks_with_special_tokens(call: Call) -> None:
    for options, allowed in (("", ()), (" --special", "all")):
        for most in (7, 500):
            kept = TOK.truncate(TEXT, most, allowed_special=allowed)
            out = json.loads(call(f"tokens -t t.json --truncate {most} --json{options} a.txt")[1])
            assert out == {"file": "a.txt", "tokens": TOK.count_tokens(kept, allowed_special=allowed), "text": kept}
        chunks = TOK.chunk(TEXT, 9, allowed_special=allowed)
        out = call(f"tokens -t t.json --chunk 9 --json{options} a.txt")[1]
        assert [json.loads(line) for line in out.splitlines()] == [
            {"file": "a.txt", "start": a, "end": b, "tokens": n, "text": TEXT[a:b]} for a, b, n, _ in chunks
        ]
    assert TOK.chunk(TEXT, 9) != TOK.chunk(TEXT, 9, allowed_special="all")


def test_lines_with_special_tokens(call: Call) -> None:
    out = call("encode -t t.json --lines --special a.txt b.txt")[1].splitlines()
    assert out == [" ".join(map(str, TOK.encode(line, allowed_special="all"))) for line in TEXT.splitlines()] * 2


@pytest.mark.parametrize("size", [3, 1 << 20])
def test_a_wrong_line_is_named_in_its_file(size: int, call: Call, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("bbpe.cli.streams._CHUNK_BYTES", size)
    Path("ids").write_text("1 2\n3\n" * 3)
    Path("wrong").write_text("4\n5\n6 x\n7\n")
    for options in ("--lines", "--pieces", "--lines --pieces"):
        if "pieces" in options:
            Path("ids").write_text("s e\n" * 6)
            Path("wrong").write_text("s\ns\ns xx\ns\n")
        status, _, err = call(f"decode -t t.json {options} ids wrong")
        assert status == 1
        assert "wrong: line 3: " in err
        assert "'x'" in err or "'xx'" in err


def test_ids_in_any_writing() -> None:
    """Also where a chunk ends within a list, and the longest that four bytes hold."""
    ids = [1, 22, 333, 4294967295, 5]
    shown = "1 22 333 4294967295 5"
    for text in (shown, str(ids), shown.replace(" ", ",") + "\n", "(1,22)333\t4294967295,5"):
        data = text.encode()
        for size in range(1, len(data) + 1):
            chunks = [data[at : at + size] for at in range(0, len(data), size)]
            words = [word for some in decode._words(chunks) for word in some]
            assert decode._ids(words, "") == ids, (text, size)
    with pytest.raises(bbpe.TokenIdError, match="found '12345678901'"):
        decode._ids([b"12345678901"], "")


@pytest.mark.parametrize("version", [(1, 0), (2, 0)])
@pytest.mark.parametrize("block", [1, 3, 7, 100])
def test_arrays_a_block_at_a_time(version: Any, block: int, call: Call, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(decode, "_BLOCK", block)
    ids = np.array(TOK.encode("see my dogs"), np.int32)
    with Path("x.npy").open("wb") as file:
        np.lib.format.write_array(file, ids, version)
    found = list(decode.array_blocks("x.npy"))
    assert np.concatenate(found).tolist() == ids.tolist()
    assert max(map(len, found)) <= block
    assert call("decode -t t.json x.npy")[:2] == (0, "see my dogs")
    with encode.array_writer("y.npy") as write:
        for at in range(0, len(ids), 2):
            write(ids[at : at + 2].astype(np.uint32))
    assert np.load("y.npy").tolist() == ids.tolist()


# -- progress -----------------------------------------------------------------------------------------


def test_progress_goes_where_it_is_wanted(monkeypatch: pytest.MonkeyPatch) -> None:
    """No bar among results on a terminal; `--progress json` and silence are what was asked for."""
    seen: list[str] = []

    class Bar:
        def __init__(self, **_: Any) -> None: ...

        def __enter__(self) -> Bar:
            return self

        def __exit__(self, *_: object) -> None: ...

        def __call__(self, progress: Any) -> None:
            seen.append("bar")

    monkeypatch.setattr("bbpe.cli.streams.ProgressBar", Bar)
    for terminal in (True, False):
        monkeypatch.setattr(sys, "stdout", SimpleNamespace(isatty=lambda terminal=terminal: terminal))
        for asked, writes in (("bar", True), ("bar", False), ("none", True), ("none", False), ("json", True)):
            stderr = io.StringIO()
            monkeypatch.setattr(sys, "stderr", stderr)
            seen.clear()
            with watched(SimpleNamespace(progress=asked), "read", 9, writes=writes) as watch:
                assert list(watch.over(["ab", "cde"], len)) == ["ab", "cde"]
            assert bool(seen) is (asked == "bar" and not (terminal and writes))
            assert ('"phase": "read"' in stderr.getvalue()) is (asked == "json")
    done: list[tuple[int, int | None, str]] = []
    watch = Watch(lambda progress: done.append((progress.done, progress.total, progress.unit)), "read", 9, "lines")
    for _ in watch.over(["ab", "cde"], len):
        done.append((-1, None, ""))
    assert done == [(0, 9, "lines"), (-1, None, ""), (2, 9, "lines"), (-1, None, ""), (5, 9, "lines")]


@pytest.mark.parametrize(("module", "command", "writes"), [
    ("encode", "encode a.txt", True), ("encode", "encode a.txt --numpy x.npy", False),
    ("lines", "encode --lines a.txt", True), ("decode", "decode ids.txt", True),
    ("tokens", "tokens a.txt", False), ("tokens", "tokens --per-line a.txt", True),
    ("tokens", "tokens --truncate 2 a.txt", True), ("tokens", "tokens --chunk 2 a.txt", True),
])  # fmt: skip
def test_no_bar_stands_among_results(
    module: str, command: str, writes: bool, call: Call, monkeypatch: pytest.MonkeyPatch
) -> None:
    told: list[bool] = []

    def noted(*given: Any, writes: bool = False, **options: Any) -> Any:
        told.append(writes)
        return watched(*given, writes=writes, **options)

    Path("ids.txt").write_text("257 256\n")
    monkeypatch.setattr(f"bbpe.cli.{module}.watched", noted)
    assert call([*command.split(), "-t", "t.json"])[0] == 0
    assert told == [writes]


def test_standard_input_keeps_its_place_among_files(monkeypatch: pytest.MonkeyPatch) -> None:
    """It is called by its name in rows and messages."""
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(b"text of -")))
    with as_files(["a.txt", "-", "b.txt"]) as files:
        assert [files[0], files[2]] == ["a.txt", "b.txt"]
        assert Path(files[1]).read_bytes() == b"text of -"
    assert not Path(files[1]).exists()
    assert list(files_of(["a.txt", "-", "b.txt"])) == ["a.txt", "-", "b.txt"]
    assert [label_of("-"), label_of("a.txt")] == ["standard input", "a.txt"]
    assert (list(names_of([])), list(names_of(["x"]))) == (["-"], ["x"])
    size = len(TEXT.encode())
    assert [size_of(names) for names in (["a.txt"], ["a.txt", "b.txt"])] == [size, 2 * size]
    assert [size_of(names) for names in (["a.jsonl"], ["a.txt", "a.jsonl"], ["-"], ["a.txt", "-"], [])] == [None] * 5


def test_names_that_are_like_a_known_one(call: Call) -> None:
    for name, hint in (("cl100k_bas", "(did you mean 'cl100k_base'"), ("nowhere/cl100k_base", None), ("zzzzz", None)):
        status, _, err = call(f"tokens -t {name} a.txt")
        assert status == 1
        assert err.startswith(f"bbpe: error: {name}: ")
        assert ("did you mean" in err) is (hint is not None)
        assert hint is None or hint in err
