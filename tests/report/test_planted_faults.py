"""Planted faults of vocabularies: each has its finding, with severity, count, ids and the words that tell it."""

from __future__ import annotations

import json
import unicodedata
from collections import Counter
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from xml.etree import ElementTree

import numpy as np
import pytest
import regex
from rule_files import named
from vocabularies import MERGES, added, document, vocab_of

import bbpe
from bbpe.report.findings import SEVERITIES, Subject, unknown_id
from bbpe.report.reach import _LEADS, reach
from bbpe.report.rule_checks import _SAMPLES, _drops

SIMPLE = "see my eyes, see 12 dogs and 123 cats\n"


def ranks(*tokens: bytes, pattern: str = "none", **options: Any) -> bbpe.Tokenizer:
    known = [bytes([byte]) for byte in range(256)] + list(tokens)
    return bbpe.Tokenizer.from_ranks({token: rank for rank, token in enumerate(known)}, pattern=pattern, **options)


def naming(**names: str) -> bbpe.Tokenizer:
    """Return a tokenizer whose file names tokens by their uses; it has `<s>`."""
    return bbpe.Tokenizer(replace(ranks(b"AB", special_tokens={"<s>": 300}).spec, names=names))


def loaded(folder: Path, config: dict[str, Any] | None = None, **changes: Any) -> bbpe.Tokenizer:
    (folder / "tokenizer.json").write_text(json.dumps(document(**changes)))
    if config is not None:
        (folder / "tokenizer_config.json").write_text(json.dumps(config))
    return bbpe.load(folder)


def test_the_most_severe_findings_come_first() -> None:
    report = bbpe.lint(naming(pad="<pad>"), texts=[SIMPLE])
    order = [SEVERITIES.index(finding.severity) for finding in report]
    assert order == sorted(order)
    assert set(order) == {0, 1, 2}
    assert report.findings[0].check == "named-tokens"


# -- what is around the tokens ------------------------------------------------------------------------


def test_tokens_that_a_configuration_names() -> None:
    finding = bbpe.lint(naming(pad="<pad>", eos="<s>", unk="<unk>", bos="AB"))["named-tokens"]
    assert (finding.severity, finding.count) == ("error", 2)
    assert "pad_token '<pad>'" in finding.message
    assert "unk_token '<unk>'" in finding.message
    assert "<s>" not in finding.message
    assert {(each.id, each.token, each.note) for each in finding.examples} == {
        (None, b"<pad>", "pad"), (None, b"<unk>", "unk")
    }  # fmt: skip


@pytest.mark.parametrize(("template", "missing"), [
    ("<|user|>{{ text }}", []), ("<|user|>{{ text }}<|end|>", ["<|end|>"]),
    ("[INST]{{ text }}[/INST]<|x y|><\uff5cend\uff5c>", ["<\uff5cend\uff5c>", "[/INST]", "[INST]"]),
])  # fmt: skip
def test_texts_of_a_template_that_are_no_tokens(template: str, missing: list[str], tmp_path: Path) -> None:
    tok = loaded(tmp_path, {"chat_template": template}, added_tokens=[added("<|user|>", 267)])
    report = bbpe.lint(tok)
    found = [each.token.decode() for each in report["chat-template"].examples] if "chat-template" in report else []
    assert sorted(found) == sorted(missing)
    if missing:
        assert (report["chat-template"].severity, report["chat-template"].count) == ("error", len(missing))


def test_special_tokens_that_are_ordinary_ones_too() -> None:
    tok = ranks(b"ab", b"stop", special_tokens={"ab": 300, "end of text": 301, "<|x|>": 302})
    # an added token that is no special one is text, too, and may be a word
    report = bbpe.lint(bbpe.Tokenizer(replace(tok.spec, added_tokens={"word": 303})))
    twice, plain = report["special-twice"], report["special-is-text"]
    assert (twice.severity, twice.count, twice.ids) == ("warning", 1, (300,))
    assert [(each.id, each.token, each.note) for each in twice.examples] == [(300, b"ab", "is also token 256")]
    assert (plain.severity, plain.count, plain.ids) == ("warning", 1, (301,))
    assert "1 special or added token is also an ordinary token with another id" in twice.message


@pytest.mark.parametrize(("config", "specials", "pad", "end"), [
    (None, ["<s>"], "info", True), (None, ["<|endoftext|>"], "info", False),
    ({}, ["<s>"], "warning", True), ({"pad_token": "<s>"}, ["<s>"], None, True),
    ({"eos_token": "<s>"}, ["<s>"], "warning", False),
])  # fmt: skip
def test_padding_and_ends(
    config: dict[str, str] | None, specials: list[str], pad: str | None, end: bool, tmp_path: Path
) -> None:
    """A warning for a tokenizer of a model, which has files beside it."""
    tok = bbpe.train_from_iterator([SIMPLE], 290, special_tokens=specials)
    if config is not None:
        tok.save(tmp_path / "m")
        (tmp_path / "m" / "tokenizer_config.json").write_text(json.dumps(config))
        tok = bbpe.load(tmp_path / "m")
    report = bbpe.lint(tok)
    assert (report["no-pad"].severity if "no-pad" in report else None) == pad
    assert ("no-end" in report) is end
    assert not end or report["no-end"].severity == "info"


def test_severities(tmp_path: Path) -> None:
    """What is lost is an error, what is wasted or surprises a warning, all else a fact."""
    known = {
        "named-tokens": "error", "chat-template": "error", "special-twice": "warning", "special-is-text": "warning",
        "no-end": "info", "pattern-drops": "warning", "not-itself": "info", "unreachable": "warning",
        "unused-merges": "warning", "twins": "info", "mixed-scripts": "info", "passes-line-end": "info",
        "partial-characters": "info", "digits": "warning", "missing-bytes": "warning", "unicode-versions": "info",
    }  # fmt: skip
    merged = {**vocab_of(), 300: b"xy", 301: b"xyz"}
    some = ranks(b"a\xd1\x8f", b"x\ny", b"\xe6\xb7", b"\n\n", b"//", b"\n\n//", pattern="o200k",
                 special_tokens={"stop": 300, "//": 301})  # fmt: skip
    toks = [
        naming(pad="<pad>"), some, ranks(b"low", b" low", b"11", b"x\ny", pattern="whitespace"),
        bbpe.Tokenizer.from_merges(merged, [(b"xy", b"z"), *MERGES], pattern="gpt2"),
        loaded(tmp_path, {"chat_template": "<|a|>"}, normalizer=named("NFC")),
        loaded(tmp_path, model__vocab={key: n for key, n in document()["model"]["vocab"].items() if key != "\u0100"}),
    ]  # fmt: skip
    findings = [finding for tok in toks for finding in bbpe.lint(tok) if finding.check in known]
    # equal splits of numbers are a fact
    unequal = {each.check: each.severity for each in findings if each.severity != known[each.check]}
    assert unequal in ({}, {"digits": "info"})
    assert {each.check for each in findings} == known.keys()


def test_bytes_and_characters_without_a_token(tmp_path: Path) -> None:
    words = bbpe.train_from_iterator([SIMPLE], 80, model="wordpiece")
    finding = bbpe.lint(words)["unknown-characters"]
    assert (finding.severity, finding.count) == ("info", 1)
    assert f"become one unknown token ({unknown_id(words.spec)})" in finding.message
    lossy = bbpe.Tokenizer(replace(words.spec, model=replace(words.spec.model, unknown=None)))  # type: ignore[type-var]
    finding = bbpe.lint(lossy)["unknown-characters"]
    assert (finding.severity, finding.message) == ("warning", "characters without a token are left out")
    vocab = document()["model"]["vocab"]
    keys = [key for key in ("\u0100", "\u0101") if key in vocab]
    tok = loaded(tmp_path, model__vocab={key: number for key, number in vocab.items() if key not in keys})
    finding = bbpe.lint(tok)["missing-bytes"]
    assert (finding.severity, finding.count) == ("warning", 2)
    assert finding.message.startswith("2 of 256 bytes have no token: ")
    assert [each.token for each in finding.examples] == [b"\0", b"\x01"]
    assert "missing-bytes" not in bbpe.lint(ranks(b"ab"))


@pytest.mark.parametrize(("cuts", "lost"), [
    ("all", False), ("one", True), ("first", True), ("last", True), ("gap", True), ("twice", True),
])  # fmt: skip
def test_a_pattern_that_loses_text(cuts: str, lost: bool) -> None:
    def spans(text: str) -> list[tuple[int, int]]:
        whole = [(at, at + 1) for at in range(len(text))]
        return {
            "all": whole, "one": whole[:1], "first": whole[1:], "last": whole[:-1], "gap": whole[:1] + whole[2:],
            "twice": whole[:1] + whole,
        }[cuts]  # fmt: skip

    subject: Any = SimpleNamespace(spec=SimpleNamespace(pattern=SimpleNamespace(drops_gaps=False, spans=spans)))
    found = list(_drops(subject))
    assert [(each.check, each.severity) for each in found] == ([("pattern-loses", "error")] if lost else [])


def test_round_trips(tmp_path: Path) -> None:
    """What is lost is shown as it comes back; every kind of text is looked at alone."""
    finding = bbpe.lint(loaded(tmp_path, normalizer={"type": "Lowercase"}))["round-trip"]
    assert finding.severity == "info"
    tok = bbpe.load(tmp_path)
    lost = {kind for kind, text in _SAMPLES.items() if tok.decode(tok.encode(text)) != text}
    assert finding.count == len(finding.examples) == len(lost) >= 4
    assert finding.message == f"decoding does not give back texts with: {', '.join(k for k in _SAMPLES if k in lost)}"
    assert next(each for each in finding.examples if each.token == b"ABC Def").note == "becomes 'abc def'"


# -- tokens -------------------------------------------------------------------------------------------


def test_parts_of_characters() -> None:
    tok = ranks(b"\xe6\xb7", b"a\xe6", b" b\xe6\xb7", "é".encode(), b"ab")
    finding = bbpe.lint(tok)["partial-characters"]
    assert (finding.count, finding.ids) == (3, (256, 257, 258))
    assert "; 2 of them also with whole ASCII characters" in finding.message
    assert [each.token for each in finding.examples] == [b"a\xe6", b" b\xe6\xb7", b"\xe6\xb7"]


def test_twins_of_a_plain_loop() -> None:
    texts = ["low", " low", "Low", "LOW", " Low", "a\r\nb", "a\nb", "e\u0301x", "\u00e9x", "\uff21", "fi", "\ufb01"]
    tok = ranks(*(text.encode() for text in texts))
    known = [text for token in tok.spec.vocab.values() if (text := token.decode("utf-8", "ignore")).encode() == token]
    expected = {"a leading blank": sum(text[:1] not in ("", " ") and f" {text}" in known for text in known)}
    for kind, key in (
        ("case", str.lower), ("line ends", lambda text: text.replace("\r\n", "\n")),
        ("Unicode form", lambda text: unicodedata.normalize("NFC", text)),
        ("compatibility form (NFKC)", lambda text: unicodedata.normalize("NFKC", text)),
    ):  # fmt: skip
        groups = Counter(map(key, known))
        expected[kind] = sum(count - 1 for count in groups.values())
    finding = bbpe.lint(tok)["twins"]
    assert finding.details["kinds"] == expected
    assert (expected["case"], expected["line ends"], expected["a leading blank"]) == (29, 1, 2)
    for kind, count in expected.items():
        assert f"{kind} {count}" in finding.message
    # " low" and "Low" stand for "low" in two ways, and are counted once
    spaced = [text for text in known if text[:1] not in ("", " ") and f" {text}" in known]
    assert finding.count >= len({*spaced})


@pytest.mark.parametrize(
    ("alone", "twin", "kind"),
    [
        ("a\r\nb", "a\nb", "line ends"),
        ("e\u0301x", "\u00e9x", "Unicode form"),
        ("\ufb01n", "fin", "compatibility form (NFKC)"),
        ("\u00c9", "\u00e9", "case"),
    ],
)
def test_what_would_be_a_twin_of_no_token_is_none(alone: str, twin: str, kind: str) -> None:
    """A twin is a token that differs in case, line ends or Unicode form alone; without it there is no finding."""
    both, one, other = (
        bbpe.lint(ranks(*(text.encode() for text in texts)))["twins"] for texts in ((alone, twin), (alone,), (twin,))
    )
    assert both.details["kinds"][kind] == one.details["kinds"][kind] + 1
    assert one.count == other.count < both.count
    assert one.details == other.details
    assert [example for example in one.examples if kind in example.note] == [
        example for example in other.examples if kind in example.note
    ]


def test_dead_merges_are_named_by_what_they_would_make() -> None:
    vocab = {**vocab_of(), 300: b"xy", 301: b"xyz"}
    finding = bbpe.lint(bbpe.Tokenizer.from_merges(vocab, [(b"xy", b"z"), *MERGES], pattern="gpt2"))["unused-merges"]
    assert (finding.severity, finding.count, finding.ids) == ("warning", 1, (301,))
    assert [(each.id, each.token, each.note) for each in finding.examples] == [(301, b"xyz", "of 'xy' and 'z'")]


def test_tokens_that_are_not_themselves_or_never() -> None:
    tok = ranks(b"a b", b"\n\n", b"//", b" I", b"\n\n//", b" I'", pattern="o200k")
    subject = Subject(tok)
    found = reach(subject)
    alone = [number for number, token in enumerate(subject.tokens) if tok.encode(token) != [int(subject.ids[number])]]
    assert list(found.alone) == alone
    report = bbpe.lint(tok)
    within = [number for number in alone if number not in found.never]
    assert report["not-itself"].ids == tuple(int(subject.ids[number]) for number in within)
    assert report["not-itself"].count == len(within) == 2
    assert "0 of them parts of characters" in report["not-itself"].message
    assert {report["not-itself"].severity, report["unreachable"].severity} == {"info", "warning"}
    assert [each.note for each in report["unreachable"].examples] == ["(unmade)"]


@pytest.mark.parametrize("token", [b"x'll", b"!'s", b"\r\n1", b"A.", b" \xe6\x9d", b"\x9d\xb1a"])
def test_tokens_that_only_some_surroundings_give(token: bytes) -> None:
    """Merged first, a token is reached by whatever text has it."""
    tok = ranks(*(token[:size] for size in range(2, len(token) + 1)), pattern="none")
    assert 256 + len(token) - 2 not in (bbpe.lint(tok)["unreachable"].ids if "unreachable" in bbpe.lint(tok) else ())


def test_first_bytes_of_characters() -> None:
    """Of all characters below U+10000, and of blocks of Gothic, mathematical letters, emoji and rare ideographs."""
    blocks = ((0x80, 0xD800), (0xE000, 0x11000), (0x1D000, 0x1E000), (0x1F000, 0x21000))
    texts = [chr(code).encode() for block in blocks for code in range(*block)]
    for count, leads in _LEADS.items():
        assert {text[:-count] for text in texts if len(text) > count} <= set(leads)


def test_scripts_of_a_token() -> None:
    tokens = ["a\u044f", "\u044f\u03b1", "T\u6064", "\u6771\u3042", "\u00e9a", "\u0430b\u03b1", "1\u044f"]
    finding = bbpe.lint(ranks(*(token.encode() for token in tokens)))["mixed-scripts"]
    assert [each.token.decode() for each in finding.examples] == ["a\u044f", "\u044f\u03b1", "T\u6064", "\u0430b\u03b1"]
    assert finding.ids == (256, 257, 258, 261)
    for names in ("Cyrillic and Latin 1", "Cyrillic and Greek 1", "East Asian and Latin 1"):
        assert names in finding.message


def test_line_ends_within_a_token() -> None:
    tokens = [b"\n", b"\nx", b"a\n", b"a\r\n  b", b"\n \n", b"x\r", b"\ry"]
    finding = bbpe.lint(ranks(*tokens))["passes-line-end"]
    assert finding.ids == (257, 259, 262)
    assert finding.message.startswith("3 tokens go on after a line end")


def test_the_longest_tokens() -> None:
    words = [bytes(range(97, 97 + 26)) + bytes(range(65, 65 + size)) for size in (7, 20, 12)]
    finding = bbpe.lint(ranks(*words, b"-" * 100, b"=" * 90))["long"]
    assert [len(each.token) for each in finding.examples] == [46, 38, 33]
    assert finding.ids == (257, 258, 256)
    assert finding.message.endswith(
        "and are no repetition; the longest token has 100 characters; the longest that is no repetition has 46"
    )
    alone = bbpe.lint(ranks(words[1], b"-" * 40))["long"]
    assert alone.message.endswith("1 token has more than 32 characters and is no repetition; the longest token has 46 "
                                  "characters")  # fmt: skip


@pytest.mark.parametrize(("tokens", "uneven"), [
    ([b"11"], True), ([b"111"], True), ([b"123456"], True), ([], False), ([b"%d" % n for n in range(10)], False),
])  # fmt: skip
def test_numbers_of_one_length(tokens: list[bytes], uneven: bool) -> None:
    """A number of two digits may be the odd one, as may one of six."""
    known = [token for token in tokens if len(token) > 1]
    parts = [known[0][:size] for size in range(2, len(known[0]))] if known else []
    finding = bbpe.lint(ranks(*parts, *known))["digits"]
    assert finding.severity == ("warning" if uneven else "info")
    assert ("harder to learn" in finding.why) is ("(they differ" in finding.message) is bool(finding.advice) is uneven
    details = finding.details["tokens_by_digits"]
    assert set(details) == set("123456")
    assert all(sum(shares.values()) == pytest.approx(1) for shares in details.values())
    if not uneven:
        assert details == {str(size): {str(size): 1.0} for size in range(1, 7)}
        assert "numbers of 1 to 6 digits become these numbers of tokens: 1: 1, 2: 2, 3: 3" in finding.message


def test_what_is_no_ordinary_token_is_not_looked_at(tmp_path: Path) -> None:
    """Special tokens, added ones and the unknown one; tokens are spelled without their marks."""
    tok = loaded(tmp_path, added_tokens=[added("<s>", 267), added("<plain>", 268, special=False)])
    subject = Subject(tok)
    assert tok.spec.added_tokens
    assert not {267, 268} & set(subject.ids.tolist())
    for kind in ("added_tokens", "special_tokens"):
        tok = bbpe.Tokenizer(replace(ranks(b"ab", b"cd").spec, **{kind: {"ab": 256}}))
        assert Subject(tok).ids.tolist() == [*range(256), 257]
        assert Subject(tok).tokens[-1] == b"cd"
    words = bbpe.train_from_iterator([SIMPLE] * 3, 60, model="wordpiece")
    assert unknown_id(words.spec) not in Subject(words).ids.tolist()
    assert b"##s" in Subject(words).tokens
    assert not any(token.startswith(b"##") for token in Subject(words).spelled)
    ends = bbpe.train_from_iterator([SIMPLE] * 3, 60, model=bbpe.BPE(alphabet="chars", end_of_word="</w>"))
    subject = Subject(ends)
    assert subject.spelled == [token.removesuffix(b"</w>") or token for token in subject.tokens]
    assert subject.spelled != subject.tokens


# -- traces -------------------------------------------------------------------------------------------


def test_steps_of_merges_by_hand() -> None:
    """The first pair of the lowest rank, from the left; each step says where, what and how early."""
    tok = ranks(b"ab", b"cd", b"abcd", b"ba", pattern="none")
    (found,) = tok.trace("ababcd").pretokens
    assert (found.kind, found.ids) == ("merges", (256, 258))
    assert [(step.place, step.made, step.id, step.rank) for step in found.steps] == [
        (0, b"ab", 256, 256), (1, b"ab", 256, 256), (2, b"cd", 257, 257), (1, b"abcd", 258, 258),
    ]  # fmt: skip
    assert [step.symbols for step in found.steps] == [
        (b"ab", b"a", b"b", b"c", b"d"), (b"ab", b"ab", b"c", b"d"), (b"ab", b"ab", b"cd"), (b"ab", b"abcd"),
    ]  # fmt: skip
    record = tok.trace("ababcd").as_dict()["pretokens"][0]
    assert record["steps"][3] == {"place": 1, "made": "abcd", "id": 258, "rank": 258, "symbols": ["ab", "abcd"]}


def test_edges_of_a_lattice_by_hand() -> None:
    tok = bbpe.train_from_iterator(["see my eyes first, see my dogs"] * 3, 300, model="unigram")
    model: Any = tok.spec.model
    for each in tok.trace("see my").pretokens:
        text = each.pretoken
        expected = {(start, end) for start in range(len(text)) for end in range(start + 1, len(text) + 1)
                    if text[start:end] in set(tok.spec.vocab.values())}  # fmt: skip
        edges = {(edge.start, edge.end): edge for edge in each.edges}
        assert edges.keys() >= {span for span, edge in edges.items() if edge.is_best}
        assert edges.keys() <= expected | {span for span, edge in edges.items() if edge.is_best}
        best = sorted(span for span, edge in edges.items() if edge.is_best)
        assert [end for _, end in best[:-1]] == [start for start, _ in best[1:]]
        assert (best[0][0], best[-1][1]) == (0, len(text))
        for (start, end), edge in edges.items():
            assert tok.id_to_token(edge.id or 0) == text[start:end]
            assert edge.score == pytest.approx(model.scores[edge.id or 0])


def test_pictures_are_where_their_symbols_are() -> None:
    """What a step made is marked; each row is below the one before, each box right of its neighbour."""
    tok = ranks(b"ab", b"<b", pattern="none")
    picture = ElementTree.fromstring(tok.trace("ab<b").to_svg())
    svg = "{http://www.w3.org/2000/svg}"
    boxes = [(int(each.get("y", 0)), int(each.get("x", 0)), int(each.get("width", 0)), each.get("class"))
             for each in picture.iter(f"{svg}rect")]  # fmt: skip
    rows = [[box for box in boxes if box[0] == y] for y in sorted({box[0] for box in boxes})]
    assert [len(row) for row in rows] == [4, 3, 2]
    for row in rows:
        assert all(x + width < right[1] for (_, x, width, _), right in pairwise(row))
    assert [[box[3] for box in row].index("m") if "m" in [box[3] for box in row] else None for row in rows] == [
        None, 0, 1
    ]  # fmt: skip
    labels = [each.text for each in picture.iter(f"{svg}text")]
    assert labels == ["a", "b", "<", "b", None, "ab", "<", "b", "rank 256", "ab", "<b", "rank 257", "ids 256 257"]


def test_the_picture_of_a_lattice() -> None:
    tok = bbpe.train_from_iterator(["see my eyes first, see my dogs"] * 3, 300, model="unigram")
    trace = tok.trace("see")
    (each,) = trace.pretokens
    picture = ElementTree.fromstring(trace.to_svg())
    svg = "{http://www.w3.org/2000/svg}"
    nodes = [int(node.get("cx", 0)) for node in picture.iter(f"{svg}circle")]
    assert len(nodes) == len(each.pretoken) + 1
    arcs = []
    for path in picture.iter(f"{svg}path"):
        numbers = [int(part) for part in regex.findall(r"\d+", path.get("d", ""))]
        arcs.append((nodes.index(numbers[0]), nodes.index(numbers[4]), path.get("class")))
    assert sorted(arcs) == sorted((edge.start, edge.end, "p" if edge.is_best else "e") for edge in each.edges)
    labels = {text.text for text in picture.iter(f"{svg}text")}
    for edge in each.edges:
        token = each.pretoken[edge.start : edge.end].decode().replace(" ", "\u2423")
        assert f"{token} {edge.score:.2f}" in labels
    # under the arcs stands the text, a character between two nodes
    under = [text for text in picture.iter(f"{svg}text") if text.get("class") is None]
    assert [text.text for text in under] == list("\u2423see")
    assert [int(text.get("x", 0)) for text in under] == [sum(pair) // 2 for pair in pairwise(nodes)]


def test_kinds_of_pretokens(tmp_path: Path) -> None:
    tok = loaded(tmp_path, model__ignore_merges=True, added_tokens=[added("<s>", 267)])
    found = tok.trace("the<s>xyz", allowed_special="all")
    assert [(each.kind, each.pretoken) for each in found.pretokens] == [
        ("whole", b"the"), ("special", b"<s>"), ("merges", b"xyz"),
    ]  # fmt: skip
    lines = str(found).splitlines()
    assert lines[0] == "'the'  is looked up as a whole"
    assert lines[2] == "'<s>'  is special"
    assert found.ids == tok.encode("the<s>xyz", allowed_special="all")
    assert np.array_equal([*found.tokens], list({*found.ids}))
    lower = loaded(tmp_path, normalizer=named("Lowercase"))
    assert [each.pretoken for each in lower.trace("THE").pretokens] == [b"the"]
