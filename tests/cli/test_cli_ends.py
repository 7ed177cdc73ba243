"""How commands end: outputs that are gone, choices that exclude each other, results in JSON, a page that is served."""

from __future__ import annotations

import io
import json
import os
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from commands import SMALL, TEXT, TOK, Call
from vocabularies import document

import bbpe
from bbpe import cli
from bbpe.cli import demo, inspect, lines, outputs, serve, streams
from bbpe.published.find import MissingError
from bbpe.report.serve import Playground
from bbpe.spec.models import WordLevelModel, WordPieceModel

pytestmark = pytest.mark.usefixtures("here")


class Failing:
    """An output that cannot be written."""

    encoding = "utf-8"

    def __init__(self, fileno: int, error: OSError) -> None:
        self.fileno, self.error = lambda: fileno, error
        self.buffer = self

    def flush(self) -> None:
        raise self.error

    def write(self, data: object) -> None:
        raise self.error


def test_an_output_that_is_gone_is_let_go(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """The interpreter flushes it once more at its exit, which then goes nowhere."""
    number = os.open(tmp_path / "out", os.O_RDWR | os.O_CREAT)
    monkeypatch.setattr(sys, "stdout", Failing(number, OSError(28, "No space left on device")))
    cli._leave_output()
    os.write(number, b"lost")
    os.close(number)
    assert (tmp_path / "out").read_bytes() == b""
    monkeypatch.setattr(sys, "stdout", None)
    cli._leave_output()


@pytest.mark.parametrize("write", [lambda: streams.write(b"a"), lambda: streams.say("a"), streams.flush])
def test_an_error_of_the_output_names_it(write: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdout", Failing(1, OSError(28, "No space left on device")))
    with pytest.raises(OSError, match="No space left on device: 'standard output'"):
        write()
    monkeypatch.setattr(sys, "stdout", Failing(1, OSError(28, "full", "b.txt")))
    with pytest.raises(OSError, match=r"full: 'b\.txt'"):
        write()


def test_a_fault_of_the_program_is_not_said_in_one_line(call: Call, monkeypatch: pytest.MonkeyPatch) -> None:
    for error in (KeyError("a"), AttributeError("b"), AssertionError("c")):
        def fail(*_: object, error: Exception = error, **__: object) -> None:
            raise error

        monkeypatch.setattr(bbpe, "compare", fail)
        with pytest.raises(type(error)):
            call("compare t.json u.json")


def test_a_library_that_is_not_installed_is_named(call: Call, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("bbpe.cli.bench.find_spec", lambda name: None if name == "tiktoken" else True)
    status, _, err = call("bench a.txt --against tokenizers,tiktoken")
    assert (status, err) == (1, "bbpe: error: tiktoken is not installed; `pip install tiktoken` gets it\n")


def test_notes_of_a_vocabulary_are_written_once(call: Call, monkeypatch: pytest.MonkeyPatch) -> None:
    import warnings

    load = bbpe.load

    def noted(*args: Any, **options: Any) -> bbpe.Tokenizer:
        warnings.warn("two libraries differ", bbpe.VocabularyWarning, stacklevel=2)
        return load(*args, **options)

    monkeypatch.setattr(bbpe, "load", noted)
    assert call("tokens a.txt -t t.json")[2] == "note: two libraries differ\n"
    assert call("inspect t.json")[2] == ""


def test_results_in_json(call: Call) -> None:
    found = bbpe.compare(TOK, SMALL, names=("t.json", "u.json"))
    assert json.loads(call("compare t.json u.json --json")[1]) == json.loads(json.dumps(found.as_dict()))
    assert call("shard a.jsonl -t t.json -o out --quiet")[0] == 0
    done = bbpe.load_shards("out")
    totals = {name: getattr(done.totals, name) for name in ("documents", "tokens")}
    merged = json.loads(call("shards merge out -o more --json")[1])
    assert merged.pop("output") == "more"
    assert {name: merged[name] for name in totals} == totals
    facts = json.loads(call("shards show out --json")[1])
    assert {name: facts[name] for name in ("folder", "parts", *totals)} == {"folder": "out", "parts": 1, **totals}
    assert facts["format"] == "megatron"
    assert not {"eos", "bos", "id_field", "allowed_special"} & facts.keys()  # nothing was asked for
    # the lengths of documents are a histogram under the other facts
    rows = [line.split(None, 1) for line in call("shards show out")[1].splitlines() if not line.startswith(" ")]
    assert [name for name, _ in rows] == [name for name in facts if name != "lengths" and facts[name] is not None]
    assert json.loads(call("shards merge out --shuffle 1 -o mixed --json")[1])["output"] == "mixed"
    assert call("shards merge mixed --shuffle 2 -o again --quiet")[0] == 0
    assert "\nmerged         1 folder; the options are those of the first\n" in call("shards show again")[1]
    names = [line.split(None, 1)[0] for line in call("shards show out 0 --source")[1].splitlines()[:4]]
    assert names == ["path", "start", "record", "document"]  # neither a stop, which is the end of the file, nor an id
    assert dict(rows)["tokens"].split()[0] == str(totals["tokens"])


def test_the_demo_compares_what_it_has_saved(call: Call, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(demo, "_split_sources", lambda _: ([Path("a.txt")], [Path("b.txt")]))
    load = bbpe.load
    monkeypatch.setattr(bbpe, "load", lambda path: SMALL)
    status, _, err = call("demo --vocab-size 280 --quiet -o d.json")
    assert (status, err) == (1, "bbpe: error: d.json: what was loaded differs from what was saved\n")
    monkeypatch.setattr(bbpe, "load", load)
    assert call("demo --vocab-size 280 --quiet -o d.json --json")[0] == 0


def test_what_excludes_each_other(call: Call) -> None:
    bbpe.count(["a.txt"], pattern="gpt2").save("c.parquet")
    for words, said in {
        "eval a.txt -t t.json --sizes 260 --parity a.txt": "--parity does not go with --sizes",
        "eval a.txt -t t.json --sizes 260 --threads 2": "--threads does not go with --sizes",
        "prune -t t.json -o x.json --used-in a.txt --counts c.parquet": "--used-in does not go with --counts",
        "prune -t t.json -o x.json": "nothing says what to keep; expected --keep, --used-in or --counts",
        "train --counts c.parquet --vocab-size 300 --alphabet chars -o x.json": "--counts does not go with --model wo",
        "train --counts c.parquet --vocab-size 300 --model wordpiece -o x.json": "--counts does not go with --model wo",
        "train --counts c.parquet a.txt --vocab-size 300 -o x.json": "--counts does not go with files to count",
        "train - a.txt --vocab-size 300 -o x.json": "- (standard input) does not go with other files",
        "extend -t t.json -o x.json": "expected either files to learn from or --counts",
        "extend a.txt --counts c.parquet -t t.json -o x.json": "expected either files to learn from or --counts",
        "tokens a.jsonl -t t.json --per-line --input-format jsonl": "--input-format jsonl does not go with an op",
    }.items():
        status, out, err = call(words)
        assert (status, out) == (2, ""), words
        assert err.startswith(f"bbpe: error: {said}"), err
        assert not [name for name in ("x.json", "x.html") if Path(name).exists()]


def test_a_tokenizer_to_extend_needs_a_pattern(call: Call) -> None:
    ranks = {bytes([byte]): byte for byte in range(256)} | {b"ee": 256}
    bbpe.Tokenizer.from_ranks(ranks, pattern="gpt2").save("r.tiktoken")
    status, _, err = call("extend a.txt -t r.tiktoken --add 1 -o x.json --quiet")
    assert (status, "pattern" in err, err.count("\n")) == (1, True, 1)
    assert call("extend a.txt -t r.tiktoken --add 1 -o x.json --quiet --pattern gpt2")[0] == 0
    assert bbpe.load("x.json").vocab_size == 258


def test_a_figure_is_drawn(call: Call, monkeypatch: pytest.MonkeyPatch) -> None:
    drawn: list[str] = []
    kind = type(bbpe.evaluate({"t": TOK}, {"a": "a.txt"}))
    monkeypatch.setattr(kind, "plot", lambda self, path: drawn.append(path))
    assert call("eval a.txt -t t.json --plot x.svg --quiet")[0] == 0
    assert drawn == ["x.svg"]


def test_facts_of_models(call: Call) -> None:
    bbpe.train_from_iterator([TEXT], 300, model=bbpe.Unigram()).save("m.model")
    Path("w.json").write_text(json.dumps(document(
        model={"type": "WordLevel", "vocab": {"see": 0, "[UNK]": 1}, "unk_token": "[UNK]"}, normalizer=None,
        pre_tokenizer={"type": "Whitespace"}, decoder=None, added_tokens=[], post_processor=None,
    )))  # fmt: skip
    facts = {name: json.loads(call(f"inspect {name} --json")[1]) for name in ("m.model", "w.json", "t.json")}
    assert [each["model"] for each in facts.values()][:2] == ["Unigram", "WordLevel"]
    assert facts["m.model"]["pattern_dialect"] == "none: such a model does not split texts"
    assert facts["t.json"]["pattern_dialect"] == "Oniguruma"


def test_what_becomes_of_what_has_no_token() -> None:
    def facts(**options: Any) -> dict[str, object]:
        return inspect._without_tokens(SimpleNamespace(**{"characters": None, "model": None, **options}))  # type: ignore[arg-type]

    lost = {"tokenless_become": "left out"}
    assert [facts(model=WordPieceModel(None)), facts(model=WordLevelModel(None))] == [lost, lost]
    assert [facts(), facts(model=WordPieceModel(3)), facts(model=WordLevelModel(3))] == [{}, {}, {}]
    spec = bbpe.train_from_iterator([TEXT], 60, model=bbpe.BPE(alphabet="chars")).spec
    assert inspect._without_tokens(spec).keys() == {"tokenless_become"}


def test_lines_of_a_unigram_model_are_sampled(call: Call, monkeypatch: pytest.MonkeyPatch) -> None:
    bbpe.train_from_iterator([TEXT], 300, model=bbpe.Unigram()).save("m.model")
    seen: list[tuple[bytes, float]] = []

    def sampled(self: bbpe.Tokenizer, line: bytes, *, alpha: float) -> list[int]:
        seen.append((line, alpha))
        return [7, len(line)]

    with monkeypatch.context() as patched:
        patched.setattr(bbpe.Tokenizer, "encode_sampled", sampled)
        status, out, _ = call("encode a.txt -t m.model --lines --sample 0.25")
    assert (status, out) == (0, "".join(f"7 {len(line)}\n" for line in TEXT.encode().splitlines()))
    assert seen == [(line, 0.25) for line in TEXT.encode().splitlines()]
    status, _, err = call("encode a.txt -t m.model --lines --sample 0.25 --special")
    assert (status, "--sample needs a tokenizer of BPE, or one of Unigram without" in err) == (2, True)
    assert lines.selection_of(SimpleNamespace(special=True)) == "all"  # type: ignore[arg-type]
    status, out, _ = call("encode a.txt -t t.json --lines --sample 1")
    assert [len(line.split()) for line in out.splitlines()] == [len(line) for line in TEXT.encode().splitlines()]


def test_outputs_that_cannot_be_written(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    inputs = outputs.Inputs().add("memory://in/a.json")
    with pytest.raises(ValueError, match=r"memory://in/a\.json: the page would replace an input of this command"):
        outputs.check_output("memory://in/a.json", "the page", inputs)
    monkeypatch.setattr("bbpe.cli.outputs.os.access", lambda path, mode: mode != os.W_OK)
    with pytest.raises(PermissionError, match="the page cannot be saved in this folder") as caught:
        outputs.check_output("x.html", "the page", inputs)
    assert caught.value.filename == str(tmp_path)


# -- serve ---------------------------------------------------------------------------------------------


def test_a_playground_is_opened(call: Call, monkeypatch: pytest.MonkeyPatch) -> None:
    """Tokenizers of the command come before published ones of the same name; those of the command are chosen."""
    made: list[Playground] = []

    def ended(self: Playground) -> None:
        made.append(self)

    monkeypatch.setattr(Playground, "serve_forever", ended)
    monkeypatch.setattr(serve, "_published", lambda: ["gpt2", "t"])
    monkeypatch.setattr(bbpe, "get_encoding", lambda name: {"gpt2": SMALL}[name])
    for words, chosen in (("-t t.json", ["t.json"]), ("", ["gpt2"])):
        status, out, _ = call(f"serve {words} --port 0")
        assert (status, out) == (0, f"open {made[-1].url} in a browser; Ctrl-C ends the server\n")
        assert made[-1].chosen == chosen
        # all published ones can be chosen in the page
        assert [*made[-1].loaders] == ["t.json"] * bool(words) + ["gpt2", "t"]


def test_no_tokenizer_is_no_playground(call: Call, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(serve, "_published", list)
    monkeypatch.setattr(Playground, "serve_forever", lambda self: pytest.fail("there is nothing to serve"))
    status, _, err = call("serve --port 0")
    assert (status, err.splitlines()[0]) == (2, "bbpe: error: there is no tokenizer; expected -t, or a published one "
                                                "on this machine (`bbpe fetch NAME`)")  # fmt: skip
    status, _, err = call("serve -t none.json --port 0")
    assert (status, "none.json" in err) == (1, True)


def test_a_port_that_is_taken_or_none(call: Call, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Playground, "serve_forever", lambda self: pytest.fail("there is no port to serve at"))
    with Playground({"t": lambda: SMALL}, ["t"], 0) as other:
        status, _, err = call(f"serve -t t.json --port {other.server_port}")
    assert (status, err.endswith("; choose another by --port, 0 for any free one\n")) == (1, True)
    assert err.startswith(f"bbpe: error: port {other.server_port}: ")
    for port in ("65536", "-1", "x"):
        status, _, err = call(f"serve -t t.json --port={port}")
        assert (status, err.splitlines()[0]) == (
            2, f"bbpe: error: --port: expected a number from 0 to 65535, not {port!r}")  # fmt: skip


def test_published_tokenizers_are_those_that_are_found(monkeypatch: pytest.MonkeyPatch) -> None:
    from bbpe.published.table import PUBLISHED

    def found(row: Any) -> Path:
        if row.name in ("r50k_base", "o200k_base"):
            return Path("a")
        raise {"gpt2": PermissionError(13, "no")}.get(row.name, MissingError("no such file"))

    monkeypatch.setattr("bbpe.published.find.found", found)
    assert serve._published() == [name for name in PUBLISHED if name in ("r50k_base", "o200k_base")]


def test_characters_that_a_terminal_cannot_show_are_escaped(monkeypatch: pytest.MonkeyPatch) -> None:
    written = io.BytesIO()
    monkeypatch.setattr("sys.stdout", io.TextIOWrapper(written, encoding="ascii"))
    streams.say("na\u00efve")
    sys.stdout.flush()
    assert written.getvalue() == b"na\\xefve\n"
