"""Commands that train, convert, report and measure: their figures are those of the library."""

from __future__ import annotations

import io
import json
import re
import shlex
from argparse import Namespace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from commands import SMALL, TEXT, TOK, Call
from systems import link
from vocabularies import added, document

import bbpe
from bbpe.cli import COMMANDS, bench, demo, outputs, streams
from bbpe.cli import convert as converting
from bbpe.cli.streams import Watch
from bbpe.report.verify import Difference

pytestmark = pytest.mark.usefixtures("here")
SPECIAL = TOK.special_tokens["<s>"]


# -- what is a tokenizer, and how it changes ----------------------------------------------------------


def test_facts_of_a_tokenizer(call: Call) -> None:
    tokens = [added("<s>", 270), added("<plain>", 280, special=False)]
    template = {"type": "TemplateProcessing", "single": [{"SpecialToken": {"id": "<s>", "type_id": 0}},
                {"Sequence": {"id": "A", "type_id": 0}}], "pair": [{"Sequence": {"id": "A", "type_id": 0}},
                {"Sequence": {"id": "B", "type_id": 1}}],
                "special_tokens": {"<s>": {"id": "<s>", "ids": [267], "tokens": ["<s>"]}}}  # fmt: skip
    Path("x").mkdir()
    Path("x/tokenizer.json").write_text(json.dumps(document(added_tokens=tokens, post_processor=template)))
    Path("x/other.txt").write_text("12345")
    tok = bbpe.load("x")
    facts = json.loads(call("inspect x --json")[1])
    expected = {
        "file": "x", "format": "huggingface", "vocab_size": tok.vocab_size, "tokens": len(tok),
        "holes": tok.vocab_size - len(tok), "longest_token": max(map(len, tok.spec.vocab.values())),
        "special_tokens": dict(tok.special_tokens), "added_tokens": dict(tok.added_tokens), "template": "<s> text",
        "merges": len(tok.merges), "fingerprint": tok.fingerprint, "pattern_equals": "gpt2", "pattern_like": None,
        "bytes": sum(path.stat().st_size for path in Path("x").iterdir()), "unmade_tokens": 0, "compiled": True,
    }  # fmt: skip
    assert {name: facts[name] for name in expected} == expected
    assert facts["added_tokens"]
    assert facts["special_tokens"] != facts["added_tokens"]
    assert json.loads(call("inspect x/tokenizer.json --json")[1])["bytes"] == Path("x/tokenizer.json").stat().st_size
    ranked = {bytes([byte]): byte for byte in range(256)} | {b"ab": 258}
    bbpe.Tokenizer.from_ranks(ranked, pattern="gpt2", special_tokens={"<z>": 262, "<a>": 264}).save("y.json")
    facts = json.loads(call("inspect y.json --json")[1])
    assert (facts["holes"], facts["tokens"], facts["vocab_size"]) == (6, 259, 265)
    assert "special_tokens   2: 262 '<z>', 264 '<a>'\n" in call("inspect y.json")[1]


def test_conversions_are_proved_or_not_written(call: Call, monkeypatch: pytest.MonkeyPatch) -> None:
    hard = len(list(converting.hard_texts(TOK)))
    status, out, _ = call("convert t.json x.json --verify a.txt b.txt --json")
    report = json.loads(out)
    size = sum(map(len, converting.hard_texts(TOK))) + 2 * len(TEXT.encode())
    assert (status, report["texts"], report["bytes"]) == (0, hard + 2, size)
    assert (report["written"], report["differences"]) == (True, [])
    many = [Difference(b"xxxxxxxxxxxxabc", 12, ((1, b"ab"), (2, b"c")), ((3, b"abc"),)) for _ in range(20)]
    for count, more in ((1, ""), (10, ""), (11, ", in more places"), (20, ", in more places")):
        monkeypatch.setattr(converting, "differences", lambda *_, n=count: iter(many[:n]))
        status, out, _ = call("convert t.json y.json --verify")
        assert status == 1
        lines = out.splitlines()
        assert lines[-1] == f"y.json was not written: it would differ{more}"
        assert len(lines) == min(count, 10) + 1
        assert lines[0] == "the tokens: at 'xxxxxxxxxxabc', A gives 1:'ab' 2:'c' and B gives 3:'abc'"
        report = json.loads(call("convert t.json y.json --verify --json")[1])
        assert (report["written"], len(report["differences"])) == (False, min(count, 10))
    assert not Path("y.json").exists()
    short = Difference(b"abc", 1, ((1, b"b"),), ())
    assert converting._described(short) == "at 'abc', A gives 1:'b' and B gives nothing more"
    for byte, shown in ((1, "abcde"), (10, "abcde"), (12, "cdefg")):
        long = Difference(b"abcdefghijklmnopqrstuvwxyz" * 2, byte, ((1, b"b"),), ())
        assert converting._described(long).startswith(f"at '{shown}")


def test_a_format_without_the_pattern_says_so(call: Call) -> None:
    said = "does not store the pattern; pass it to whatever loads the file: gpt2"
    Path("gpt2").mkdir()
    for words, lacks in (("x.json", False), ("x.tiktoken", True), ("gpt2 --format gpt2 --drop pattern", False)):
        status, out, err = call(f"convert u.json {words}")
        assert (status, said in out) == (0, lacks), err


def test_figures_of_training(call: Call) -> None:
    status, out, _ = call("train a.txt --vocab-size 280 -o x.json --special-token <s> --json --quiet")
    tok, facts = bbpe.load("x.json"), json.loads(out)
    assert status == 0
    assert (facts["vocab_size"], facts["merges"], facts["output"]) == (280, len(tok.merges), "x.json")
    assert len(tok.merges) == 23
    call("count a.txt b.txt -o c.parquet --special-token <s> --quiet")
    assert bbpe.load_counts("c.parquet").special_tokens == ("<s>",)
    call("train --counts c.parquet --vocab-size 280 -o y.json --special-token <x> --special-token <s> --quiet")
    assert set(bbpe.load("y.json").special_tokens) == {"<x>", "<s>"}
    # the text has fewer words than the vocabulary may have tokens
    status, out, _ = call("extend a.txt -t u.json -o z.json --add 5000 --json --quiet")
    facts, extended = json.loads(out), bbpe.load("z.json")
    assert facts["added"] == len(extended) - len(SMALL) < 5000
    assert facts["vocab_size"] == extended.vocab_size
    status, out, _ = call("prune -t t.json -o p.json --keep 270 --map m.npy --json --quiet")
    facts, pruned = json.loads(out), bbpe.load("p.json")
    expected = {"output": "p.json", "map": "m.npy", "vocab_size": pruned.vocab_size, "dropped": len(TOK) - len(pruned)}
    assert {name: facts[name] for name in expected} == expected
    new_ids = np.load("m.npy")
    assert all(pruned.id_to_token(int(new)) == TOK.id_to_token(old) for old, new in enumerate(new_ids) if new >= 0)
    assert json.loads(call("prune -t t.json -o q.json --keep 270 --json --quiet")[1])["map"] is None
    out = call("prune -t t.json -o q.json --keep 270 --quiet")[1]
    assert out == f"{len(TOK) - 270} tokens dropped, 270 kept; saved q.json\n"


def test_counts_are_added_by_their_weights(call: Call) -> None:
    Path("b.txt").write_text("dogs dogs dogs cats")
    for name in "ab":
        call(f"count {name}.txt -o {name}.parquet --quiet")
    a, b = bbpe.load_counts("a.parquet"), bbpe.load_counts("b.parquet")
    status, out, _ = call("counts merge a.parquet b.parquet -o x.parquet --weight 2 --weight 3 --json")
    assert status == 0
    both = bbpe.load_counts("x.parquet")
    assert both.most_common() == (a.scale(2) + b.scale(3)).most_common()
    assert json.loads(out)["output"] == "x.parquet"
    for top in (1, 3):
        shown = json.loads(call(f"counts show x.parquet --top {top} --json")[1])
        assert shown["most_common"] == [[token.decode(), count] for token, count in both.most_common(top)]
    assert (shown["file"], shown["pattern"], shown["document"]) == ("x.parquet", "gpt2", "file")
    lines = call("counts show x.parquet --top 1")[1].splitlines()
    assert lines[-1] == f"{both.most_common(1)[0][1]:>14,} {both.most_common(1)[0][0].decode()!r}"


@pytest.mark.parametrize("kind", ["file", "line"])
def test_standard_input_is_counted_whole(kind: str, call: Call) -> None:
    call(f"count - -o x.parquet --document {kind} --quiet", TEXT.encode())
    call(f"count a.txt -o y.parquet --document {kind} --quiet")
    found, expected = bbpe.load_counts("x.parquet"), bbpe.load_counts("y.parquet")
    assert found.most_common() == expected.most_common()
    call(f"count - -o x.parquet --document {kind} --quiet", b"")
    assert bbpe.load_counts("x.parquet").most_common() == []


# -- reports ------------------------------------------------------------------------------------------


def test_the_status_of_lint(call: Call, monkeypatch: pytest.MonkeyPatch) -> None:
    from bbpe.report.findings import Example, Finding, LintReport

    for severities, plain, strict in ((["info"], 0, 0), (["warning"], 0, 1), (["error"], 1, 1), ([], 0, 0)):
        examples = tuple(Example(number, b"t%d" % number) for number in range(6))
        findings = tuple(Finding("c", each, 3, "found", "why", "advice", examples) for each in severities)
        monkeypatch.setattr(bbpe, "lint", lambda *_, found=findings, **__: LintReport("x", 9, found))
        assert (call("lint -t t.json")[0], call("lint -t t.json --strict")[0]) == (plain, strict)
    monkeypatch.setattr(bbpe, "lint", lambda *_, **__: LintReport("x", 9, (findings or (
        Finding("c", "info", 3, "found", "why", "advice", examples),))))  # fmt: skip
    assert call("lint -t t.json --details")[1].splitlines()[1:] == [
        "info     c: found", "         such as 0 't0', 1 't1', 2 't2', 3 't3'", "         why advice"
    ]  # fmt: skip
    assert call("lint -t t.json --details --examples 2")[1].splitlines()[2] == "         such as 0 't0', 1 't1'"
    assert call("lint -t t.json")[1].splitlines()[1:] == ["info     c: found", "--details explains each finding"]
    assert json.loads(call("lint -t t.json --json")[1])["name"] == "t.json"


def test_tokens_in_colour_and_with_ids(call: Call, monkeypatch: pytest.MonkeyPatch) -> None:
    plain = call(["show", "see <s>", "-t", "t.json"])[1]
    ids = TOK.encode("see <s>")
    assert plain.splitlines()[0] == f"t.json: {len(ids)} tokens, {7 / len(ids):.2f} bytes per token"
    assert call(["show", "see <s>", "-t", "t.json", "--ids"])[1] == plain + " ".join(map(str, ids)) + "\n"
    assert "\x1b[" in call(["show", "see", "-t", "t.json", "--color", "always"])[1]
    assert "\x1b[" not in plain
    wrong = json.loads(call(["show", b"caf\xe9".decode("utf-8", "surrogateescape"), "-t", "t.json", "--json"])[1])
    assert bytes.fromhex("".join(wrong["tokens"])) == b"caf\xe9"
    special = json.loads(call(["show", "see <s>", "-t", "t.json", "--special", "--json"])[1])
    assert special["ids"][-1] == SPECIAL

    class Stream:
        def isatty(self) -> bool:
            return True

    stream: Any = Stream()
    for value, colour in ((None, True), ("", True), ("1", False), ("0", False)):
        monkeypatch.delenv("NO_COLOR", raising=False)
        if value is not None:
            monkeypatch.setenv("NO_COLOR", value)
        assert streams.shows_colour(stream) is colour
    assert not streams.shows_colour(io.StringIO())


@pytest.mark.parametrize("most", [-1, 0, 1])
def test_a_page_of_the_first_bytes(most: int, call: Call) -> None:
    size = len(TEXT.encode())
    status, out, err = call(f"view a.txt -t t.json -o x.html --max-bytes {size + most}")
    assert (status, out) == (0, "saved x.html\n")
    assert err == (f"bbpe: the page has the first {size - 1} bytes of a.txt\n" if most < 0 else "")


def test_a_page_of_several_files(call: Call) -> None:
    """The page has a heading for each file, and the first bytes of all together."""
    Path("b.txt").write_text("<b> see")
    Path("c.txt").write_text("see")
    size = len(TEXT.encode()) + 2
    status, _, err = call(f"view a.txt b.txt c.txt -t t.json -o x.html --max-bytes {size}")
    said = f"bbpe: the page has the first {size} bytes of the files, up to b.txt; 1 more file is left out\n"
    assert (status, err) == (0, said)
    page = Path("x.html").read_text()
    assert re.findall(r'<h2 class="file">(.*?)</h2>', page) == ["a.txt", "b.txt"]
    assert page.count("show(document.getElementById(") == 2
    assert call("view a.txt a.txt -t t.json -o x.html")[0] == 0
    assert Path("x.html").read_text().count("show(document.getElementById(") == 2


# -- shards -------------------------------------------------------------------------------------------


def test_parts_that_were_asked_for(call: Call) -> None:
    Path("l.txt").write_text("see my dogs\n" * 90)
    words = "l.txt -t t.json -o out --document line --part-size 400 --quiet"
    assert call(f"shard {words} --plan-only")[1].startswith("3 parts: ")
    planned = json.loads(call(f"shard {words} --plan-only --json")[1])
    assert (planned["output"], planned["parts"], planned["documents"], planned["tokens_error"]) == ("out", 3, 90, 0)
    for part, there in (("1/2", {1}), ("2/3", {1, 2})):
        out = call(f"shard -o out --part {part} --quiet")[1]
        assert "; 1 of 3 parts: out" in out
        assert {int(path.stem[5:]) for path in Path("out").glob("part-*.json")} == there
    assert call("shard -o out --finish")[0] == 1
    assert "; 1 of 3 parts: out" in call("shard -o out --part 0/3 --quiet")[1]
    status, out, _ = call("shard -o out --finish --json")
    assert (status, json.loads(out)["documents"]) == (0, 90)
    assert "; 3 parts of megatron: out" in call("shard -o out --finish")[1]
    shown = json.loads(call("shards show out --json")[1])
    assert (shown["parts"], shown["documents"], shown["ids"]) == (3, 90, TOK.vocab_size)
    shown = json.loads(call("shards show out 89 --json")[1])
    assert shown == {"document": 89, "ids": TOK.encode("see my dogs\n"), "text": "see my dogs\n"}
    status, out, _ = call("shards verify out")
    assert (status, out.startswith("no faults: out: 3 parts, 9 files, "), "; part " in out) == (0, True, True)
    Path("out/part-00001.bin").write_bytes(b"")
    status, out, _ = call("shards verify out --sample 0")
    assert status == 1
    assert "part-00001.bin: the file has 0 bytes" in out
    assert "--part 1 && bbpe shard -o" in out


# -- outputs ------------------------------------------------------------------------------------------


def test_what_is_an_input() -> None:
    """By its name, another name, a link, and as a file that belongs to another one."""
    Path("m").mkdir()
    for name in ("vocab.json", "merges.txt", "other.txt"):
        Path("m", name).write_text("{}")
    link(Path("link.txt"), "a.txt")
    inputs = outputs.inputs_of(files=["a.txt"], tokenizer="m/vocab.json", named=["none.txt", None])
    for name in ("a.txt", "./a.txt", "link.txt", "m/merges.txt", "m/vocab.json", "none.txt", "./none.txt"):
        assert inputs.find(Path(name)) is not None, name
    for name in ("b.txt", "m/other.txt", "nothing.txt"):
        assert inputs.find(Path(name)) is None, name
    assert outputs.inputs_of(tokenizer="m").find(Path("m/other.txt")) == "m/other.txt"
    with pytest.raises(ValueError, match=r"would replace an input of this command, as a\.txt"):
        outputs.check_output("link.txt", "the page", inputs)
    with pytest.raises(FileNotFoundError, match="no such folder to save the page in"):
        outputs.check_output("nowhere/x", "the page", inputs)
    with pytest.raises(IsADirectoryError, match="this is a folder"):
        outputs.check_output("m", "the page", inputs)
    outputs.check_output("/dev/null", "the page", outputs.inputs_of(named=["/dev/null"]))
    # a folder is written with its configuration
    Path("m/tokenizer_config.json").write_text("{}")
    inputs = outputs.inputs_of(named=["m/tokenizer_config.json"])
    with pytest.raises(ValueError, match=r"tokenizer_config\.json: the tokenizer would replace"):
        outputs.check_output("m", "the tokenizer", inputs, output_format="huggingface")


@pytest.mark.parametrize("where", ["", "store://bucket/", "file://"])
@pytest.mark.parametrize(
    ("words", "kind", "name", "expected"),
    [
        ("count a.txt", "the counts", "x.csv", ".parquet"),
        ("counts merge x.parquet", "the sum", "x.csv", ".parquet"),
        ("encode a.txt -t t.json --numpy", "the ids", "x.txt", ".npy"),
        ("view a.txt -t t.json", "the page", "x.pdf", ".html or .htm"),
        ("compare t.json t.json --html", "the page", "x.md", ".html or .htm"),
        ("eval a.txt -t t.json --html", "the page", "x.md", ".html or .htm"),
        ("eval a.txt -t t.json --plot", "the figure", "x.gif", ".svg or .pdf or .png"),
    ],
)
def test_a_name_of_another_kind_of_file_is_refused(
    words: str, kind: str, name: str, expected: str, where: str, call: Call
) -> None:
    """Before anything is read or asked for, whether the file is here or on a server."""
    option = "" if words.rpartition(" ")[2].startswith("--") else "-o"
    status, out, err = call(f"{words} {option} {where}{name}")
    assert (status, out) == (2, "")
    suffix = Path(name).suffix
    said = f"bbpe: error: {where}{name}: {kind} cannot have the suffix {suffix!r}; expected {expected}"
    assert err.splitlines()[0] == said
    assert not Path(name).exists()


# -- speed and the demo -------------------------------------------------------------------------------


def test_speeds_are_medians(capsys: pytest.CaptureFixture[str]) -> None:
    """MB of the text in UTF-8 a second: the first call, the second, and decoding."""
    text = "\u00e9" * 500_000
    times = [(1.0, 0.5, 0.25), (9.0, 0.1, 0.05), (2.0, 0.2, 0.1)]
    found = bench._speed("x", [bench._Run(each, [7] * 12) for each in times], text)
    assert found == bench.Speed("x", 1e6 / 1e6 / 2.0, 1 / 0.2, 1 / 0.1, 12)
    plain = Namespace(color="never")
    bench._report([found, bench.Speed("y", 0.25, 10.0, 40.0, 12)], plain)
    lines = capsys.readouterr().out.splitlines()
    assert lines[1].split() == ["x", "0.5", "5.0", "10.0"]
    assert lines[2].split() == ["y", "0.2", "10.0", "40.0"]
    assert lines[3] == "12 tokens, the same from all"
    more = "0.50x when it has seen the text before, 0.25x in decoding"
    assert lines[4:] == [f"bbpe is 2.0x as fast as y; {more}"]
    bench._report([found], plain)
    assert capsys.readouterr().out.splitlines()[-1] == "12 tokens"


@pytest.mark.parametrize("most", [1, 5, 50, 10_000])
def test_the_head_of_a_file(most: int) -> None:
    args = SimpleNamespace(text_field="text", input_format=None, file="a.txt", bytes=most)
    assert bench._head(args) == TEXT.encode()[:most]
    args.file, args.text_field = "a.jsonl", "body"
    assert bench._head(args) == (b"my\n" * len(TEXT.splitlines()))[:most]


def test_a_run_encodes_twice_and_decodes_what_it_got(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """After a first call that is not timed, whose ids are decoded too."""
    calls: list[tuple[str, object]] = []

    def encode(text: str) -> list[int]:
        calls.append(("encode", text))
        return [*text.encode()]

    monkeypatch.setitem(bench._LOAD, "x", lambda folder: (encode, lambda ids: calls.append(("decode", ids))))
    run = bench._one_run("x", str(tmp_path), "low")
    assert calls[:2] == [("encode", "hello"), ("decode", [*b"hello"])]
    assert calls[2:] == [("encode", "low"), ("encode", "low"), ("decode", [*b"low"])]
    assert (len(run.seconds), run.ids) == (3, [*b"low"])


def test_other_ids_are_not_timed(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each library is compared with this one, in its first run too."""
    given = {"bbpe": [1, 2], "tiktoken": [1, 3]}

    class Pool:
        def __init__(self, *_: Any, **__: Any) -> None: ...

        def __enter__(self) -> Pool:
            return self

        def __exit__(self, *_: object) -> None: ...

        def submit(self, function: Any, name: str, *_: Any) -> Any:
            return SimpleNamespace(result=lambda: bench._Run((1.0, 1.0, 1.0), given[name]))

    monkeypatch.setattr(bench, "ProcessPoolExecutor", Pool)
    watch = Watch(lambda progress: None, "bench", 4, "runs")
    with pytest.raises(bench.DifferentIdsError, match="tiktoken gives other ids"):
        bench._all_runs(("bbpe", "tiktoken"), Path(), "x", 1, watch)
    given["tiktoken"] = [1, 2]
    runs = bench._all_runs(("bbpe", "tiktoken"), Path(), "x", 2, watch)
    assert {name: len(found) for name, found in runs.items()} == {"bbpe": 2, "tiktoken": 2}


def test_the_demo_encodes_what_it_did_not_train_on(tmp_path: Path) -> None:
    names = [f"m{number:02}.py" for number in range(23)]
    for name in (*names, "test/x.py", "site-packages/y.py", "z.txt"):
        (tmp_path / "lib" / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / "lib" / name).write_text(name)
    (tmp_path / "lib" / "empty.py").touch()
    training, held_back = demo._split_sources(tmp_path / "lib")
    assert [path.name for path in held_back] == ["m00.py", "m10.py", "m20.py"]
    assert [path.name for path in training] == [name for number, name in enumerate(names) if number % 10]


def test_the_demo_times_both_calls_and_compares_all_bytes(monkeypatch: pytest.MonkeyPatch) -> None:
    moments = iter([10.0, 13.0, 20.0, 21.0])
    monkeypatch.setattr(demo.time, "perf_counter", lambda: next(moments))
    texts = [b"see", b"", b"my dogs"]
    found = demo._encode_and_check(TOK, texts, [Path("a")] * 3)
    assert found == (sum(len(TOK.encode(text)) for text in texts), 3.0, 1.0)
    moments = iter([10.0, 13.0, 20.0, 21.0])
    decoded = bbpe.Tokenizer.decode_bytes
    monkeypatch.setattr(bbpe.Tokenizer, "decode_bytes", lambda self, ids: decoded(self, ids).replace(b"dogs", b"cats"))
    with pytest.raises(demo.RoundTripError, match="c: the decoded bytes differ"):
        demo._encode_and_check(TOK, texts, [Path("a"), Path("b"), Path("c")])


@pytest.mark.parametrize("output", [None, "my file.json"])
def test_the_demo_ends_with_what_to_type_next(output: str | None, capsys: pytest.CaptureFixture[str]) -> None:
    demo._show_next(output)
    printed = capsys.readouterr().out
    lines = printed.splitlines()
    assert [line[:9].strip() for line in lines] == ["next", *[""] * (len(lines) - 1)]
    commands = [shlex.split(line[9:].partition("  ")[0]) for line in lines]
    assert all(words[0] == "bbpe" and words[1] in COMMANDS for words in commands)
    # the tokenizer is kept first, unless it was
    assert (commands[0] == ["bbpe", "demo", "-o", "tokenizer.json"]) == (output is None)
    assert sum((output or "tokenizer.json") in words for words in commands) == (3 if output is None else 2)


def test_figures_of_the_demo(call: Call, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    folder = tmp_path / "lib"
    folder.mkdir()
    for number in range(11):
        (folder / f"{number:02}.py").write_text(f"low lower lowest {number}\n" * (number + 1))
    monkeypatch.setattr(demo.sysconfig, "get_path", lambda name: str(folder))
    figures = json.loads(call("demo --vocab-size 270 --quiet --json -o d.json")[1])
    sizes = [path.stat().st_size for path in sorted(folder.iterdir())]
    tok = bbpe.load("d.json")
    assert figures["bytes_trained_on"] == sum(sizes[1:10])
    assert figures["bytes_encoded"] == sizes[0] + sizes[10]
    assert (figures["files_trained_on"], figures["files_encoded"]) == (9, 2)
    tokens = sum(len(tok.encode((folder / name).read_bytes())) for name in ("00.py", "10.py"))
    assert figures["tokens_encoded"] == tokens
    assert figures["bytes_per_token"] == figures["bytes_encoded"] / tokens
    for what, size in (("train", "bytes_trained_on"), ("encode", "bytes_encoded")):
        assert figures[f"{what}_mb_per_second"] == pytest.approx(figures[size] / 1e6 / figures[f"{what}_seconds"])
