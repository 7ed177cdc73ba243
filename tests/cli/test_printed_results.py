"""What commands print for people: whole lines, for one tokenizer or file and for several."""

from __future__ import annotations

import re
import sys
from argparse import ArgumentTypeError
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from commands import SMALL, TEXT, TOK, Call

import bbpe
from bbpe.cli import serve
from bbpe.cli.command import number, pattern_of, share, share_or_none, short_names, size, whole
from bbpe.report.findings import LintReport

pytestmark = pytest.mark.usefixtures("here")


def test_traces_stand_below_the_names_of_their_tokenizers(call: Call) -> None:
    out = call("show eyes -t t.json -t u.json --trace")[1]
    assert out == f"t.json\n{TOK.trace('eyes')}\nu.json\n{SMALL.trace('eyes')}\n"
    special = call(["show", "see<s>", "-t", "t.json", "--trace", "--special"])[1]
    assert special == f"t.json\n{TOK.trace('see<s>', allowed_special='all')}\n"
    assert call(["show", "see<s>", "-t", "t.json", "--trace"])[1] == f"t.json\n{TOK.trace('see<s>')}\n"


def test_tokens_of_standard_input_and_of_a_text_that_is_the_name_of_a_file(call: Call) -> None:
    status, out, err = call("show -t u.json", b"see")
    assert (status, err) == (0, "")
    assert out.startswith(f"u.json: {len(SMALL.encode('see'))} token")
    status, out, err = call(["show", "a.txt", "-t", "u.json"])
    assert out.splitlines()[0] == f"u.json: {len(SMALL.encode('a.txt'))} tokens, " \
        f"{5 / len(SMALL.encode('a.txt')):.2f} bytes per token"  # fmt: skip
    assert err == (
        "bbpe: a.txt is shown as a text, and there is a file of this name; for its contents write < a.txt\n"
    )
    Path("a b").write_text("see")
    assert call(["show", "a b", "-t", "u.json"])[2].endswith("for its contents write < 'a b'\n")
    for text in ("nothing.txt", "x" * 5000, "a\0b"):
        assert call(["show", text, "-t", "u.json"])[::2] == (0, "")


def test_what_saved_counts_hold(call: Call) -> None:
    counts = bbpe.count(["a.txt", "b.txt"], pattern="gpt2", special_tokens=["<s>", "<e>"])
    counts.save("c.parquet")
    lines = call("counts show c.parquet --top 2")[1].splitlines()
    summary = counts.summary
    facts = {
        "file": "c.parquet", "pattern": "gpt2", "unicode": counts.spec.unicode, "special_tokens": "['<s>', '<e>']",
        "document": "file", "documents": 2, "files": 2, "bytes": 2 * len(TEXT.encode()), "pretokens": summary.pretokens,
        "unique": len(counts), "special_tokens_found": 2,
    }  # fmt: skip
    shown = dict(line.split(None, 1) for line in lines[:-2])
    assert {name: shown[name] for name in facts} == {name: str(value) for name, value in facts.items()}
    assert lines[0] == "file           c.parquet"
    assert lines[-2:] == [
        f"{count:>14,} {pretoken.decode()!r}" for pretoken, count in counts.most_common(2)
    ]  # fmt: skip


def test_what_was_made_and_where_it_is(call: Call) -> None:
    """The sizes of what was made, and the name of the file."""
    seconds = r"in \d+\.\d s"
    counts = bbpe.count(["a.txt"], pattern="gpt2")
    out = call("count a.txt -o a.parquet --quiet")[1]
    assert re.fullmatch(rf"{re.escape(str(counts.summary))}; {seconds}; saved a\.parquet\n", out)
    both = counts + counts
    assert call("counts merge a.parquet a.parquet -o c.parquet")[1] == f"{both.summary}; saved c.parquet\n"
    made = bbpe.train(["a.txt"], 270)
    out = call("train a.txt --vocab-size 270 -o x.json --quiet")[1]
    assert re.fullmatch(rf"270 tokens, {len(made.merges)} merges, {seconds}; saved x\.json\n", out)
    out = call("train a.txt --vocab-size 290 --model unigram -o y.json --quiet")[1]
    assert re.fullmatch(rf"\d+ tokens, {seconds}; saved y\.json\n", out)
    assert call("extend a.txt -t u.json --add 1 -o z.json --quiet")[1] == "1 new token, 266 in all; saved z.json\n"
    assert call("extend a.txt -t u.json --add 2 -o z.json --quiet")[1] == "2 new tokens, 267 in all; saved z.json\n"
    assert call("prune -t u.json --keep 264 -o p.json --quiet")[1] == "1 token dropped, 264 kept; saved p.json\n"


def test_what_was_converted(call: Call) -> None:
    assert call("convert t.json x.json")[1] == "x.json\n"
    out = call("convert t.json x.json --verify a.txt")[1]
    found = re.fullmatch(r"x\.json: the same ids for ([\d,]+) texts, ([\d,]+) bytes\n", out)
    assert found is not None
    assert int(found[1].replace(",", "")) > 20_000
    out = call("convert t.json x.tiktoken --drop special_tokens")[1]
    assert out == (
        "x.tiktoken\nx.tiktoken does not store the pattern; pass it to whatever loads the file: gpt2\n"
    )


def test_a_report_without_findings_has_nothing_to_explain(call: Call, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bbpe, "lint", lambda *_, **__: LintReport("x", 300, ()))
    assert call("lint -t t.json")[:2] == (0, "t.json: 300 tokens; 0 errors, 0 warnings, 0 info\n")


@pytest.mark.parametrize(("texts", "shown"), [
    (["see"], "see\n"), (["see\n"], "see\n"), ([""], ""), (["see", ""], "see\n"), (["see\n", "my", ""], "see\nmy\n"),
])  # fmt: skip
@pytest.mark.parametrize("is_terminal", [True, False])
def test_the_prompt_of_a_shell_begins_a_line(
    is_terminal: bool, texts: list[str], shown: str, call: Call, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Decoded text is followed by a line end on a terminal alone, and only if it has none."""
    for at, text in enumerate(texts):
        Path(f"{at}.ids").write_text(" ".join(map(str, TOK.encode(text))))
    monkeypatch.setattr(sys.stdout, "isatty", lambda: is_terminal)
    status, out, _ = call(["decode", "-t", "t.json", *(f"{at}.ids" for at in range(len(texts)))])
    assert (status, out) == (0, shown if is_terminal else "".join(texts))


@pytest.fixture
def given(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """The texts of the last page, with their names; the page itself is not made."""
    found: list[Any] = []

    def made(texts: list[Any], *_: object, **__: object) -> str:
        found[:] = texts
        return "page"

    monkeypatch.setattr("bbpe.report.view.texts_to_html", made)
    return found


@pytest.mark.parametrize(("most", "shown"), [(1, 0), (2, 1), (3, 1), (4, 2), (7, 3)])
def test_a_page_ends_with_a_whole_character(most: int, shown: int, call: Call, given: list[Any]) -> None:
    Path("c.txt").write_text("\u00e9" * 4, "utf-8")
    status, out, err = call(f"view c.txt -t t.json -o x.html --max-bytes {most}")
    assert (status, out, given, Path("x.html").read_text()) == (0, "saved x.html\n", [("", "\u00e9" * shown)], "page")
    plural = "" if most == 1 else "s"
    assert err == f"bbpe: the page has the first {most} byte{plural} of c.txt\n"


def test_files_after_the_last_one_that_a_page_has_room_for(call: Call, given: list[Any]) -> None:
    for name in "abcd":
        Path(f"{name}.txt").write_text(name * 3)
    files = "view a.txt b.txt c.txt d.txt -t t.json -o x.html --max-bytes"
    for most, expected, said in (
        (12, ["aaa", "bbb", "ccc", "ddd"], ""), (9, ["aaa", "bbb", "ccc", ""], "the first 9 bytes of the files, up to "
                                                                              "d.txt"),
        (7, ["aaa", "bbb", "c"], "the first 7 bytes of the files, up to c.txt; 1 more file is left out"),
        (3, ["aaa", ""], "the first 3 bytes of the files, up to b.txt; 2 more files are left out"),
        (1, ["a"], "the first 1 byte of the files, up to a.txt; 3 more files are left out"),
    ):  # fmt: skip
        err = call(f"{files} {most}")[2]
        assert [(name, text if isinstance(text, str) else text.decode()) for name, text in given] == [
            (f"{name}.txt", text) for name, text in zip("abcd", expected, strict=False)
        ]  # fmt: skip
        assert err == (f"bbpe: the page has {said}\n" if said else "")


def test_a_playground_begins_with_five_tokenizers(call: Call, monkeypatch: pytest.MonkeyPatch) -> None:
    """All others are in its list, and published ones after those of the command line."""
    made: list[Any] = []
    monkeypatch.setattr(serve, "_published", lambda: ["gpt2", "a.json"])

    def playground(loaders: dict[str, Any], chosen: list[str], port: int) -> None:
        made.extend((list(loaders), chosen, {name: loaders[name]() for name in loaders if name != "gpt2"}))
        raise KeyboardInterrupt

    monkeypatch.setattr("bbpe.report.serve.Playground", playground)
    for name in "abcdef":
        (TOK if name in "ab" else SMALL).save(f"{name}.json")
    call("serve " + " ".join(f"-t {name}.json" for name in "abcdef"))
    names = [f"{name}.json" for name in "abcdef"]
    assert made[:2] == [[*names, "gpt2"], names[:5]]
    assert made[2] == {name: TOK if name[0] in "ab" else SMALL for name in names}


@pytest.mark.parametrize(
    ("read", "right", "wrong"),
    [
        (share_or_none, {"0": 0.0, "1": 1.0, "0.25": 0.25}, ["-0.01", "1.01", "x", "nan", ""]),
        (share, {"1": 1.0, "0.001": 0.001}, ["0", "1.01", "-1", "x", "nan", ""]),
        (number, {"0": 0.0, "-1.5": -1.5, "2": 2.0}, ["x", "", "1k"]),
        (whole, {"0": 0, "007": 7}, ["-1", "1.0", "1k", "", "\u00b2"]),
        (size, {"1000": 1000, "64kB": 64_000, "4GB": 4_000_000_000}, ["x", "", "-1", "0"]),
        (pattern_of, {"gpt2": "gpt2", r"\w+": r"\w+"}, ["(", "gpt_2"]),
    ],
    ids=lambda value: getattr(value, "__name__", ""),
)
def test_arguments_have_a_range(read: Callable[[str], Any], right: dict[str, Any], wrong: list[str]) -> None:
    assert {text: read(text) for text in right} == right
    for text in wrong:
        with pytest.raises(ArgumentTypeError):
            read(text)


def test_names_for_display() -> None:
    assert short_names(["gpt2", "a/b.json", "c/d", "e.json"]) == ["gpt2", "b", "d", "e.json"]
    assert short_names(["a/x.json", "x"]) == ["a/x.json (1)", "x (2)"]
    assert short_names([]) == []


def test_a_fetched_file_is_named(call: Call, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[SimpleNamespace] = []

    def fetch(vocabulary: Any, folder: Any, *, url: str | None, report: Any) -> Path:
        asked.append(SimpleNamespace(name=vocabulary.name, folder=folder, url=url))
        return Path("there", "gpt2.tiktoken")

    monkeypatch.setattr("bbpe.published.fetch.fetch", fetch)
    assert call("fetch gpt2 --folder there --quiet")[:2] == (0, f"{Path('there', 'gpt2.tiktoken')}\n")
    assert asked == [SimpleNamespace(name="gpt2", folder="there", url=None)]
