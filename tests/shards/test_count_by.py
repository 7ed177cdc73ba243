"""Counting by source and by several tokenizers: as each of them counts alone, in one reading."""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any

import pytest

import bbpe
from bbpe.corpus.sources import Reading
from bbpe.records import replace
from bbpe.shards import documents
from bbpe.shards.source_tokens import SourceTable, SourceTokens

TEXTS = [f"low {number} lower\nlow" * (number % 5) for number in range(200)]
LONG = "low lowest, naïve 深度 " * 300


@pytest.fixture(scope="module")
def toks() -> dict[str, bbpe.Tokenizer]:
    """One that C splits, one whose regex needs Python, and one with rules and unknown tokens."""
    sample = ["low lower lowest slow 12"] * 3
    words = bbpe.WordPiece(unk_token="[UNK]")
    return {
        "plain": bbpe.train_from_iterator(sample, 270, special_tokens=["<s>"]),
        "regex": bbpe.train_from_iterator(sample, 262, pattern=r"(?<=low )\d+|\S+|\s+", special_tokens=["<s>"]),
        "unknown": bbpe.train_from_iterator(sample, 30, model=words, special_tokens=["<s>"]),
    }


@pytest.fixture(scope="module")
def corpus(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("by")
    for name in ("web", "books"):
        (folder / name).mkdir()
    lines = "".join(json.dumps({"text": text, "body": text[:3]}) + "\n" for text in TEXTS)
    (folder / "web/a.jsonl").write_text(lines)
    (folder / "web/b.jsonl.gz").write_bytes(gzip.compress(lines[: lines.index("\n", 900) + 1].encode()))
    (folder / "books/one.txt").write_text(LONG)
    (folder / "books/two.txt.gz").write_bytes(gzip.compress((LONG * 2 + "<s>").encode()))
    (folder / "books/none.txt").write_text("")
    (folder / "none.jsonl").write_text("")
    return folder


FILES = ["books/none.txt", "books/one.txt", "books/two.txt.gz", "none.jsonl", "web/a.jsonl", "web/b.jsonl.gz"]


@pytest.mark.parametrize("block", [1 << 20, 700])
@pytest.mark.parametrize("options", [{}, {"allowed_special": "all"}, {"document": "line"}, {"text_field": "body"}])
def test_each_row_is_as_counted_alone(
    options: Any, block: int, corpus: Path, toks: dict[str, bbpe.Tokenizer], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(documents, "_BLOCK", block)
    monkeypatch.setattr("bbpe.encoding.file_ids.BLOCK", 1000)
    monkeypatch.chdir(corpus)
    found = bbpe.count_tokens(".", toks, by="file", threads=2, **options)
    assert [row.source for row in found] == FILES
    assert len(found) == len(FILES)
    for row in found:
        # plain text has no fields, so alone it refuses the name of one
        given = {} if "text_field" in options and ".txt" in row.source else options
        for number, tok in enumerate(toks.values()):
            alone = bbpe.count_tokens(row.source, tok, threads=1, **given)
            assert (row.documents, row.bytes) == (alone.documents, alone.bytes)
            assert (row.tokens[number], row.unknown[number]) == (alone.tokens, alone.unknown)
            assert row.bytes_per_token[number] == alone.bytes_per_token
    whole = [bbpe.count_tokens(".", tok, **options) for tok in toks.values()]
    assert found.total.tokens == tuple(each.tokens for each in whole)
    assert found.total.unknown == tuple(each.unknown for each in whole)


@pytest.mark.parametrize("block", [1 << 20, 700])
def test_texts_are_counted_as_the_tokenizer_does(
    block: int, corpus: Path, toks: dict[str, bbpe.Tokenizer], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Not by the code that counts files."""
    monkeypatch.setattr(documents, "_BLOCK", block)
    monkeypatch.setattr("bbpe.encoding.file_ids.BLOCK", 1000)
    for tok in toks.values():
        for name, text in (("one.txt", LONG), ("two.txt.gz", LONG * 2 + "<s>")):
            row = bbpe.count_tokens(corpus / "books" / name, [tok], by="folder").rows[0]
            assert (row.documents, row.bytes, row.tokens) == (1, len(text.encode()), (tok.count_tokens(text),))
            both = bbpe.count_tokens(corpus / "books" / name, [tok, *toks.values()], by="folder").rows[0]
            assert (both.documents, both.bytes, both.tokens[0]) == (row.documents, row.bytes, row.tokens[0])
        (row,) = bbpe.count_tokens(corpus / "web/a.jsonl", [tok])
        assert (row.source, row.documents) == ("corpus", len(TEXTS))
        assert row.tokens == (sum(map(tok.count_tokens, TEXTS)),)


def test_folders_and_functions(corpus: Path, toks: dict[str, bbpe.Tokenizer], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(corpus)
    tok = toks["plain"]
    by_file = {row.source: row for row in bbpe.count_tokens(".", tok, by="file")}
    found = bbpe.count_tokens(".", tok, by="folder")
    assert [row.source for row in found] == ["books", ".", "web"]
    for row in found:
        own = [each for name, each in by_file.items() if str(Path(name).parent) == row.source]
        assert row.tokens[0] == sum(each.tokens[0] for each in own)
    asked: list[str] = []
    names = ["web/a.jsonl", "books/one.txt", "web/a.jsonl"]
    found = bbpe.count_tokens(names, tok, by=lambda name: asked.append(name) or name.rpartition(".")[2])
    assert asked == names
    assert [row.source for row in found] == ["jsonl", "txt"]
    assert found.rows[0].documents == 2 * len(TEXTS)


def test_files_are_read_once(corpus: Path, toks: dict[str, bbpe.Tokenizer], monkeypatch: pytest.MonkeyPatch) -> None:
    read: list[str] = []
    texts = Reading.texts

    def noted(self: Reading, file: Any, **more: Any) -> Any:
        read.append(file.path.name)
        return texts(self, file, **more)

    monkeypatch.setattr(Reading, "texts", noted)
    monkeypatch.chdir(corpus)
    bbpe.count_tokens(".", toks["plain"])
    alone, read = read, []
    bbpe.count_tokens(".", toks)
    assert read == alone
    assert [*read[-len(FILES) :]] == [Path(name).name for name in FILES]


def test_few_parts_of_a_text_are_held(
    corpus: Path, toks: dict[str, bbpe.Tokenizer], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(documents, "_BLOCK", 100)
    held = 0
    reader = documents._Shared.reader

    def watched(self: Any, number: int) -> Any:
        nonlocal held
        for event in reader(self, number):
            held = max(held, len(self._held))
            yield event

    monkeypatch.setattr(documents._Shared, "reader", watched)
    other = bbpe.train_from_iterator([LONG], 300, pattern="o200k")
    bbpe.count_tokens(corpus / "books/one.txt", [toks["plain"], other])
    # of 78 parts
    assert 0 < held < 8


def test_the_table_is_printed_and_saved(corpus: Path, toks: dict[str, bbpe.Tokenizer], tmp_path: Path) -> None:
    parquet = pytest.importorskip("pyarrow.parquet")
    found = bbpe.count_tokens([corpus / "web", corpus / "books/one.txt"], toks, by=lambda name: Path(name).name)
    lines = str(found).splitlines()
    assert len(lines) == 5
    assert lines[0].split()[:6] == ["source", "documents", "bytes", "plain", "regex", "unknown"]
    assert lines[-1].split()[:3] == ["total", f"{found.total.documents:,}", f"{found.total.bytes:,}"]
    assert "unknown: plain" in lines[0]
    found.save(tmp_path / "x.json")
    assert json.loads((tmp_path / "x.json").read_text()) == found.as_dict()
    # names of files are for people to read, too
    SourceTable(("t\u00e9",), (SourceTokens("\u6f22.txt", 1, 2, (1,), (0,)),)).save(tmp_path / "y.json")
    assert all(name in (tmp_path / "y.json").read_text("utf-8") for name in ('"t\u00e9"', '"\u6f22.txt"'))
    found.save(tmp_path / "x.parquet")
    rows = parquet.read_table(tmp_path / "x.parquet").to_pylist()
    assert [(row["source"], row["tokenizer"], row["tokens"], row["unknown"]) for row in rows] == [
        (row.source, name, row.tokens[n], row.unknown[n]) for row in found for n, name in enumerate(toks)
    ]
    assert {row["documents"] for row in rows if row["source"] == "a.jsonl"} == {len(TEXTS)}
    with pytest.raises(ValueError, match=r"x\.csv'; expected a name that ends with \.parquet or \.json"):
        found.save(tmp_path / "x.csv")
    assert list(bbpe.count_tokens(corpus / "web", [*toks.values()]).tokenizers) == [
        "tokenizer 1", "tokenizer 2", "tokenizer 3"
    ]  # fmt: skip
    # one alone, or in a list, has its own name if it has one
    named = bbpe.Tokenizer(replace(toks["plain"].spec, name="own"))
    for tok, names in ((toks["plain"], ("tokenizer 1",)), (named, ("own",))):
        assert bbpe.count_tokens(corpus / "web", tok, by="file").tokenizers == names
        assert bbpe.count_tokens(corpus / "web", [tok]).tokenizers == names


@pytest.mark.parametrize("most", [20, 60, 100, 200])
def test_a_wide_table_goes_on_below(most: int) -> None:
    """Each figure stands once in a table whose header says what it is, and no line is wider than it has to be."""
    names = [f"tokenizer-{at}" for at in range(7)]
    tokens, unknown = range(10_000, 10_007), range(20_000, 20_007)
    wide = SourceTokens("a-folder/" * 9, 7, 30_000, tuple(tokens), tuple(unknown))
    shown = SourceTable(tuple(names), (wide, SourceTokens("b", 1, 2, (1,) * 7, (0,) * 7))).text(most)
    tables = [table.splitlines() for table in shown.split("\n\n")]
    assert all(len(table) == 4 and table[0].startswith("source ") for table in tables)
    assert all(len(line) <= most for table in tables for line in table) or most == 20
    assert len(tables) > 1 or most == 200
    first = [f"{number:,}" for number in (7, 30_000, *tokens, *unknown)]
    for at, figures in ((1, first), (2, ["1", "2", *["1"] * 7, *["0"] * 7])):
        cells = [cell for table in tables for cell in table[at].split()[1:]]
        assert [cell for cell in cells if "." not in cell] == figures
    heads = " ".join(cell for table in tables for cell in table[0].split())
    assert [heads.count(name) for name in names] == [3] * 7
    for table in tables[1:]:
        assert any(kind in table[0] for kind in ("tokens: ", "bytes a token: ", "unknown: ")) or most == 20


@pytest.mark.parametrize(
    ("tokenizer", "by", "error", "message"),
    [
        ([], None, ValueError, "tokenizer is empty; expected a tokenizer or several"),
        (["gpt2"], None, TypeError, r"tokenizer\[0\] is 'gpt2', a str; expected a Tokenizer"),
        ({"a": 5}, None, TypeError, r"tokenizer\['a'\] is 5, an int; expected a Tokenizer"),
        ("plain", "line", ValueError, "by is 'line'; expected 'file', 'folder' or a function"),
        ("plain", lambda name: 5, TypeError, "by must return a str, not int, as for "),
    ],
)
def test_what_cannot_be_counted(
    tokenizer: Any, by: Any, error: Any, message: str, corpus: Path, toks: dict[str, bbpe.Tokenizer]
) -> None:
    with pytest.raises(error, match=message):
        bbpe.count_tokens(corpus, toks["plain"] if tokenizer == "plain" else tokenizer, by=by)
