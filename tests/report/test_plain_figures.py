"""Every figure that a report shows is the one of its name: each is computed again, by hand or by a plain loop."""

from __future__ import annotations

import json
from collections import Counter
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from vocabularies import document

import bbpe
from bbpe.report import evaluate as evaluating
from bbpe.report.compare import _needs
from bbpe.report.evaluate import Evaluation
from bbpe.report.findings import Example, Finding, LintReport
from bbpe.report.measures import (
    CorpusCount,
    DocumentBatch,
    Measures,
    TextTotals,
    TokenizerCount,
    part_ids,
    truncated_bytes,
)
from bbpe.report.tables import Table
from bbpe.report.unusual import _some, unusual
from bbpe.report.verify import differences, first_difference
from bbpe.report.view import boxes
from bbpe.spec.decoders import Blanks
from bbpe.spec.rules import Template, UnicodeForm
from bbpe.spec.spec import TextRules

TEXTS = ["see my eyes first, see my dogs\n", "low lower lowest slow\n", "世界 hello é\n", "", "newest 123 dogs"] * 4
SMALL = bbpe.train_from_iterator(TEXTS, 270)
LARGE = bbpe.train_from_iterator(TEXTS, 300)


def ranks(*tokens: bytes, pattern: str = "gpt2") -> bbpe.Tokenizer:
    known = [bytes([byte]) for byte in range(256)] + list(tokens)
    return bbpe.Tokenizer.from_ranks({token: rank for rank, token in enumerate(known)}, pattern=pattern)


# -- evaluation ---------------------------------------------------------------------------------------

#: No two figures of this row are the same.
ROW = Measures(
    "t", "c", TextTotals(7, 1100, 900, 130), 500, 11, 101, 13, 17, 300, 210, 0.625,
    changed=3, cost_ratio=0.75, parity=1.5, bytes_per_token_interval=(2.125, 2.25), cost_ratio_interval=(0.5, 0.875),
)  # fmt: skip
SHOWN = {
    "corpus": "c", "tokenizer": "t", "documents": "7", "bytes": "1,100", "characters": "900", "words": "130",
    "tokens": "500", "bytes/token": "2.200", "95 % interval": "2.125-2.250", "characters/token": "1.800",
    "tokens/word": "3.846", "words split": "10.9%", "single bytes": "2.6%", "unknown": "3.4%",
    "vocabulary used": "70.0%", "Renyi 2.5": "0.625", "parity": "1.500", "cost": "0.750",
    "cost interval": "0.500-0.875", "ids changed": "42.9%",
}  # fmt: skip


def test_each_column_of_an_evaluation_has_its_figure() -> None:
    other = replace(ROW, tokenizer="u", tokens=400)
    table = Evaluation((ROW, other)).table(wide=True)
    assert dict(zip(table.header, table.rows[0], strict=True)) == SHOWN
    assert dict(zip(table.header, table.rows[1], strict=True))["tokens/word"] == "3.077"
    alone = Evaluation((ROW,)).table(wide=True)
    ratios = ("cost", "cost interval", "ids changed")
    assert dict(zip(alone.header, alone.rows[0], strict=True)) == {
        name: shown for name, shown in SHOWN.items() if name not in ratios
    }
    figures = {
        "bytes_per_token": 1100 / 500, "characters_per_token": 900 / 500, "fertility": 500 / 130,
        "split_share": 11 / 101, "single_byte_share": 13 / 500, "unknown_share": 17 / 500, "used_share": 210 / 300,
        "changed_share": 3 / 7,
    }  # fmt: skip
    record = ROW.as_dict()
    assert {name: record[name] for name in figures} == figures
    assert (record["documents"], record["bytes"], record["characters"], record["words"]) == (7, 1100, 900, 130)


def test_columns_without_figures_are_left_out() -> None:
    row = replace(ROW, unknown=0, single_bytes=0, parity=None, bytes_per_token_interval=None)
    header = Evaluation((row, replace(row, tokenizer="u"))).table(wide=True).header
    assert set(SHOWN) - set(header) == {"unknown", "single bytes", "parity", "95 % interval"}


def test_parity_is_to_the_same_tokenizer() -> None:
    result = bbpe.evaluate({"a": SMALL, "b": LARGE}, texts={"en": TEXTS[:2], "zh": [TEXTS[2]] * 3}, parity="en")
    tokens = {(row.tokenizer, row.corpus): row.tokens for row in result}
    for row in result:
        assert row.parity == tokens[row.tokenizer, row.corpus] / tokens[row.tokenizer, "en"]
    assert len({row.parity for row in result if row.corpus == "zh"}) == 2


def test_tokenizers_of_one_name_are_numbered() -> None:
    toks = [bbpe.Tokenizer(replace(tok.spec, name=name)) for tok, name in ((SMALL, "x"), (LARGE, "x"), (SMALL, "y"))]
    assert list(evaluating.named_tokenizers([*toks, SMALL])) == ["x (1)", "x (2)", "y", "tokenizer 4"]


@pytest.mark.parametrize("groups", [6, 7, 8])
def test_random_groups_hold_every_document_once(groups: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Up to the limit each document is a group of its own."""
    monkeypatch.setattr(evaluating, "_GROUPS", groups)
    columns = [[1, 20, 300, 4000, 50_000, 600_000, 7_000_000], [9, 8, 7, 6, 5, 4, 3]]
    drawn = evaluating.Resampler(1)
    drawn.sums(columns)
    assert drawn._times.shape == (1000, min(groups, 7))
    assert set(drawn._times.sum(axis=1)) == {min(groups, 7)}
    assert (drawn._group is None) is (groups >= 7)
    if drawn._group is not None:
        assert sorted(set(drawn._group.tolist())) == list(range(groups))
    # each document is a group, or in one
    drawn._times = np.ones((1, min(groups, 7)))
    found = drawn.sums(columns)
    assert found is not None
    assert found.tolist() == [[sum(column) for column in columns]]


@pytest.mark.parametrize("text", ["aé中😀", "ééé", "ab", ""])
def test_the_first_bytes_of_a_text_are_whole_characters(text: str) -> None:
    data = text.encode()
    for most in range(len(data) + 2):
        right = max((text[:n] for n in range(len(text) + 1) if len(text[:n].encode()) <= most), key=len)
        assert truncated_bytes(data, most) == right.encode()


def test_parts_of_characters_and_unknown_tokens(tmp_path: Path) -> None:
    """Byte tokens of ASCII are whole characters, and a model with byte tokens has no unknown text."""
    tok = bbpe.train_from_iterator(TEXTS, 320, model=bbpe.Unigram(byte_fallback=True, character_coverage=0.9))
    text = "é世\x01\x02"
    row = bbpe.evaluate(tok, texts=[text]).rows[0]
    assert tok.spec.characters is not None
    high = {token_id for byte, token_id in tok.spec.characters.byte_tokens.items() if byte >= 0x80}
    assert row.single_bytes == sum(token_id in high for token_id in tok.encode(text)) > 0
    assert {token_id for byte, token_id in tok.spec.characters.byte_tokens.items() if byte < 0x80} & set(
        tok.encode(text)
    )
    assert set(part_ids(tok.spec)) == high
    assert row.unknown is None
    plain = bbpe.train_from_iterator(TEXTS, 60, model="wordpiece")
    assert bbpe.evaluate(plain, texts=["see \u0416\u0416"]).rows[0].unknown == 1


@pytest.mark.parametrize("most", [1, 8, 9, 30, 10_000])
@pytest.mark.parametrize("size", [1, 3, 4])
def test_words_are_followed_in_the_first_bytes_alone(most: int, size: int) -> None:
    texts = ["see my", "é 世界 low", "", "lowest newest"]
    total, count = CorpusCount(left=most), TokenizerCount(SMALL)
    for start in range(0, len(texts), size):
        batch = DocumentBatch([text.encode() for text in texts[start : start + size]])
        count.add(batch, total.add(batch), 1)
    left, words, split = most, 0, 0
    for text in texts:
        if left <= 0:
            break
        head = truncated_bytes(text.encode(), left)
        left -= max(len(head), 1)
        starts = set(SMALL.encode_with_offsets(head.decode())[1][:, 0].tolist())
        at = 0
        for word in head.decode().split(" "):
            words += bool(word)
            many = word and len(SMALL.encode_with_offsets(word)[0]) > 1
            inner = starts & set(range(at + 1, at + len(word)))
            split += bool(inner) or bool(many and not word.isascii())
            at += len(word) + 1
        if head != text.encode():
            break  # the last document is cut
    assert (count.followed, count.split) == (words, split)


# -- comparison ---------------------------------------------------------------------------------------


def test_a_comparison_counts_each_side() -> None:
    one, two = ranks(b"ab", b"abc", b"only one"), ranks(b"abc", b"ab")
    result = bbpe.compare(one, two, texts=["ab"], names=("one", "two"))
    assert (result.shared, result.same_ids, result.only) == (258, 256, (1, 0))
    assert "1 is only in one, 0 only in two" in str(result)
    assert bbpe.compare(two, one, texts=["ab"]).only == (0, 1)


@pytest.mark.parametrize(("part", "change"), [
    ("pattern", {"pattern": LARGE.spec.pattern}),
    ("template", {"template": Template(((0, 0), ("A", 0)), ((0, 0), ("A", 0), ("B", 1)))}),
    ("special tokens", {"special_tokens": {"<x>": 290}}),
    ("added tokens", {"added_tokens": {"<x>": 290}}), ("decoder", {"decoder": (Blanks(),)}),
    ("normalizers or pre-tokenizers", {"rules": TextRules(normalizers=(UnicodeForm("NFC"),))}),
    ("model", {"whole_pretokens": not SMALL.spec.whole_pretokens}), ("merges", {"merges": SMALL.spec.merges[:-1]}),
    ("tokens or their ids", {"vocab": {**SMALL.spec.vocab, 400: b"more"}}),
])  # fmt: skip
def test_each_part_of_a_definition_is_compared(part: str, change: dict[str, Any]) -> None:
    if part == "pattern":
        change = {"pattern": bbpe.train_from_iterator(TEXTS, 256, pattern="o200k").spec.pattern}
    other = bbpe.Tokenizer(replace(SMALL.spec, **change))
    assert bbpe.compare(SMALL, other, texts=["see"]).differences == (part,)
    assert bbpe.compare(SMALL, SMALL, texts=["see"]).differences == ()


def test_pretokens_that_cost_most_come_first() -> None:
    """By tokens more times occurrences, either way; of equal costs the more frequent one."""
    left = ranks(b" abcd", b" ab", b" abc", b" xy", b" x", b" uv", b" u", b" uvw", b" p", b" q")
    right = ranks(b" x", b" u", b" p", b" pq", b" q", b" a")
    texts = [" xy" * 6 + " abcd" * 2 + " uvw" * 3 + " pq" * 1]
    result = bbpe.compare(left, right, texts=texts, most=10)
    cost = {}
    for word, count in Counter(texts[0].split()).items():
        many = [len(tok.encode(f" {word}")) for tok in (left, right)]
        if many[0] != many[1]:
            cost[f" {word}".encode()] = (abs(many[1] - many[0]) * count, count)
    order = sorted(cost, key=lambda word: (-cost[word][0], -cost[word][1]))
    assert [cost[word] for word in order] == [(6, 6), (6, 3), (6, 2), (1, 1)]
    assert [pair.pretoken for pair in result.pairs] == order
    assert [pair.count for pair in result.pairs] == [cost[word][1] for word in order]
    assert [pair.more for pair in result.pairs] == [6, 6, 6, -1]
    assert [row[4] for row in result.table().rows] == ["6 more", "6 more", "6 more", "1 fewer"]
    assert [pair.pretoken for pair in bbpe.compare(left, right, texts=texts, most=2).pairs] == order[:2]


@pytest.mark.parametrize(("base", "tokens", "shown"), [
    (1000, 1100, "10 % more"), (1100, 1000, "9.1 % fewer"), (1000, 1001, "0.1 % more"), (10_000, 9_995, "0.05 % fewer"),
    (1_000_000, 1_000_001, "0.01 % more"), (100, 2600, "2,500 % more"), (0, 5, "500 % more"),
])  # fmt: skip
def test_differences_in_per_cent_of_the_other(base: int, tokens: int, shown: str) -> None:
    assert _needs("a", "b", base, tokens) == f"a needs {shown} tokens than b"


def test_the_sides_of_a_comparison_as_data() -> None:
    left, right = ranks(b"ab"), ranks(b"cd")
    record = bbpe.compare(left, right, texts=["xab"], names=("l", "r")).as_dict()
    assert record["first"] == {
        "text": "xab", "byte": 1, "left": [[256, "ab"]], "right": [[97, "a"], [98, "b"]],
    }  # fmt: skip
    assert record["pairs"] == [{"pretoken": "xab", "count": 1, "more": 1, "left": ["x", "ab"],
                                "right": ["x", "a", "b"]}]  # fmt: skip
    assert record["tokens"] == (2, 3)
    shown = str(bbpe.compare(left, right, texts=["xab"], names=("l", "r")))
    assert "first difference: 'xab' at byte 1: 256 'ab' | 97 'a' 98 'b'" in shown
    assert "r needs 50 % more tokens than l: 3, not 2" in shown


def test_other_ids_at_the_same_places_are_a_difference() -> None:
    one, two = ranks(b"ab", b"cd"), ranks(b"cd", b"ab")
    result = bbpe.compare(one, two, texts=["xx", "cd"])
    assert (result.equal, result.equal_ids) == (2, 1)
    assert result.first is not None
    assert (result.first.text, result.first.left, result.first.right) == (b"cd", ((257, b"cd"),), ((256, b"cd"),))


def test_words_are_compared_whole_where_a_pattern_drops_text() -> None:
    """Both patterns are the same, but what is between their matches is text too."""
    tok = ranks(b"ab", pattern="whitespace")
    result = bbpe.compare(tok, tok, texts=["ab cd", "ab"])
    assert (result.texts, result.tokens) == (2, (4, 4))
    assert result.tokens == (sum(len(tok.encode(text)) for text in ("ab cd", "ab")),) * 2
    other = ranks(b"cd", pattern="whitespace")
    assert {pair.pretoken for pair in bbpe.compare(tok, other, texts=["ab cd", "ab"]).pairs} == {b"ab", b" cd"}


def test_a_difference_is_at_the_end_of_what_is_equal() -> None:
    """Also where one of both ends, and in batches in which all ids are the same and their texts are not."""
    one, two = ranks(b"ab", b"abc"), ranks(b"ab")
    found = first_difference(one, two, b"ab xabc")
    assert found is not None
    assert (found.byte, found.left[0], found.right[0]) == (4, (257, b"abc"), (256, b"ab"))
    assert first_difference(one, two, b"ab") is None
    texts = [b"x", b"abc", b"y", b"abcabc"]
    assert [each.text for each in differences(one, two, iter(texts))] == [b"abc", b"abcabc"]
    ours, theirs = bbpe.Ragged(np.arange(3, dtype=np.uint32), np.array([0, 1, 3])), np.array([0, 2, 3])

    class Other:
        """Gives the ids of a batch, cut elsewhere."""

        def __init__(self, offsets: Any) -> None:
            self.offsets = offsets

        def encode_batch_to_numpy(self, batch: list[bytes]) -> bbpe.Ragged:
            return bbpe.Ragged(ours.ids, self.offsets)

        def encode_to_numpy(self, text: bytes) -> Any:
            at = [b"a", b"b"].index(text)
            return ours.ids[self.offsets[at] : self.offsets[at + 1]]

        def id_to_token(self, token_id: int) -> bytes:
            return b"t"

    left: Any
    right: Any
    left, right = Other(ours.offsets), Other(theirs)
    assert [each.text for each in differences(left, right, [b"a", b"b"])] == [b"a", b"b"]


# -- findings, tables, boxes --------------------------------------------------------------------------

FINDINGS = LintReport("t", 1000, (
    Finding("a", "error", 1, "first thing", "it is bad", "do this", tuple(Example(n, b"t%d" % n) for n in range(6))),
    Finding("b", "warning", 7, "second thing", "why two", "do that"),
    Finding("c", "warning", 90, "third thing", "why three", "do more"),
    Finding("d", "info", 1, "fourth thing", "why four", "do most", (Example(7, b"x"),)),
))  # fmt: skip


def test_a_report_of_lint_in_all_its_forms() -> None:
    assert [FINDINGS.count(each) for each in ("error", "warning", "info")] == [1, 2, 1]
    lines = list(FINDINGS.lines(examples=2, details=True))
    assert lines[0] == "t: 1,000 tokens; 1 error, 2 warnings, 1 info"
    assert lines[1:4] == ["error    a: first thing", "         such as 0 't0', 1 't1'", "         it is bad do this"]
    assert list(FINDINGS.lines(examples=0))[1:] == [
        "error    a: first thing", "         do this", "warning  b: second thing", "         do that",
        "warning  c: third thing", "         do more", "info     d: fourth thing",
    ]  # fmt: skip
    assert list(FINDINGS.lines(details=True))[-2:] == ["         such as 7 'x'", "         why four do most"]
    html = FINDINGS._repr_html_()
    cells = ["error", "a", "first thing", "0 't0', 1 't1', 2 't2', 3 't3'", "do this"]
    assert "".join(f">{cell.replace(chr(39), '&#x27;')}</" for cell in cells[2:3]) in html
    row = html.split("<tr>")[2]
    assert [text.split("</")[0].replace("&#x27;", "'") for text in row.split(">") if "</" in text][:5] == cells
    assert "b" in FINDINGS
    assert FINDINGS["b"].count == 7


@pytest.mark.parametrize("words", [["low lower"], ["".join(map(chr, range(128)))]])
def test_shares_of_a_corpus_are_shares_of_the_vocabulary(words: list[str]) -> None:
    tok = bbpe.train_from_iterator(TEXTS, 300)
    report = bbpe.lint(tok, texts=words * 3, min_count=100)
    uses = Counter(token_id for text in words * 3 for token_id in tok.encode(text))
    never = [token_id for token_id in tok.spec.vocab if token_id not in uses]
    unused, rare = report["unused"], report["rare"]
    assert set(unused.ids) == set(never)
    assert set(rare.ids) == set(uses)
    total = sum(uses.values())
    assert f"{len(never)} tokens ({len(never) / 300:.0%}) do not occur in the corpus of {total:,} tokens" in (
        unused.message
    )
    assert f"{len(uses)} tokens ({len(uses) / 300:.0%}) occur fewer than 100 times" in rare.message
    assert (unused.severity, rare.severity) == ("warning", "info")
    for finding in (unused, rare):
        lengths = [len(each.token) for each in finding.examples]
        assert lengths == sorted(lengths, reverse=True)
        longest = max(len(tok.id_to_token(token_id)) for token_id in finding.ids)
        assert lengths[0] == longest


def test_few_unused_tokens_are_no_warning() -> None:
    tok = ranks(b"ab")
    assert "unused" not in bbpe.lint(tok, texts=[bytes(range(256))[::-1], b"ab"])
    few = bbpe.lint(tok, texts=[bytes(range(250))[::-1], b"ab"])["unused"]
    assert (few.severity, few.count, few.ids) == ("info", 6, tuple(range(250, 256)))


def test_a_table_in_markdown_and_in_html() -> None:
    table = Table(("a", "b", "c"), (("x", "y|z", "<1>"),), 2)
    assert table.markdown().splitlines() == ["| a | b | c |", "| --- | --- | ---: |", "| x | y\\|z | <1> |"]
    assert 'aria-label="table of a, b"' in table.html()
    assert "&lt;1&gt;" in table.html()
    assert table.html().count('scope="col"') == 3
    assert table.html().count('scope="row"') == 1


def test_boxes_are_the_bytes_of_the_text_or_say_where_they_lie() -> None:
    tok = ranks(b"ab")
    (found,) = boxes("abab c", {"t": tok})
    assert found.summary == f"4 tokens, {6 / 4:.2f} bytes per token"
    assert found.as_dict()["spans"] is True
    assert found.as_dict()["order"] == [0, 0, 1, 2]
    assert boxes("ab", {"t": tok})[0].summary == "1 token, 2.00 bytes per token"
    lower = bbpe.train_from_iterator(["see my eyes"] * 3, 40, model="wordpiece")
    (found,) = boxes("see  my", {"w": lower})
    ids, spans = lower.encode_with_offsets("see  my", "byte")
    assert found.as_dict()["spans"] == [place for span in spans.tolist() for place in span]
    assert len(found.as_dict()["spans"]) == 2 * len(ids)


def test_what_is_unusual_is_counted(tmp_path: Path) -> None:
    """Ids below the size that nothing has; added tokens have theirs."""
    assert [_some([*"abcd"[:n]]) for n in (1, 3, 4)] == ["a", "a b c", "a b c and 1 more"]
    ranked = {bytes([byte]): byte for byte in range(256)} | {b"ab": 258}
    for special, sentence in ((260, "3 ids below 261 have"), (256, "1 id below 259 has")):
        tok = bbpe.Tokenizer.from_ranks(ranked, pattern="gpt2", special_tokens={"<x>": special})
        (found,) = (line for line in unusual(tok.spec) if " below " in line)
        assert found.startswith(f"{sentence} no token; texts never have")
    path = tmp_path / "tokenizer.json"
    for form, changes in (("NFC", False), ("NFD", False), ("NFKC", True), ("NFKD", True)):
        path.write_text(json.dumps(document(normalizer={"type": form})))
        lines = [line for line in unusual(bbpe.load(path).spec) if line.startswith("texts are changed")]
        assert bool(lines) is changes, form
