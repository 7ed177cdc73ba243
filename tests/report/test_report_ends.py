"""Reports where little is there: parts of characters, unknown words, no such row, requests that are cut off."""

from __future__ import annotations

import io
from dataclasses import replace
from itertools import product
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from vocabularies import small_spec

import bbpe
from bbpe.errors import VocabularyError
from bbpe.report import reach, view
from bbpe.report.measures import changed_documents, efficiency
from bbpe.report.serve import _MOST_BYTES, Playground, _Handler
from bbpe.report.tables import Table, number, share
from bbpe.report.terminal import wrapped
from bbpe.report.token_checks import _long
from bbpe.report.unusual import _merges, _pattern, unusual
from bbpe.spec.models import WordLevelModel
from bbpe.spec.rules import Metaspace
from bbpe.spec.spec import TokenizerSpec
from bbpe.splitting.patterns import get_pattern

TOK = bbpe.Tokenizer(small_spec())
WORDS = TokenizerSpec({0: b"see", 1: b"<u>"}, None, get_pattern("whitespace"), model=WordLevelModel(1, fuses=True))


# -- reach ---------------------------------------------------------------------------------------------

CHARACTERS = ["a", "é", "中", "\U0001f600", "क", "\ufffd"]


@pytest.mark.parametrize("char", CHARACTERS)
def test_what_completes_a_part_of_a_character(char: str) -> None:
    """Each completion makes one character that exists, and the one that was cut is among them if it is common."""
    data = char.encode()
    for cut in range(len(data) + 1):
        head, tail = b"x" + data[:cut], data[cut:] + b"x"
        afters = reach._afters(head)
        assert len(afters) <= reach._MOST_COMPLETIONS
        for rest in afters:
            assert len((head + rest).decode()) == 1 + (cut > 0)
        assert (afters == [b""]) is (cut in (0, len(data)))
        befores = reach._befores(tail)
        assert len(befores) <= reach._MOST_COMPLETIONS
        for lead in befores:
            (lead + tail).decode()
        assert (befores == [b""]) is (cut in (0, len(data)))
    assert reach._head(b"x" + data) == data[-min(len(data), 3) :] if len(data) < 4 else True


def test_what_no_character_has_is_not_completed() -> None:
    assert (reach._afters(b"\xf8"), reach._afters(b"\xc0"), reach._befores(b"\xbf\xbf\xbf\xbf")) == ([b""],) * 3
    assert reach._befores(b"\x80\x80") != [b""]
    assert [reach._is_whole(data) for data in (b"a", b"ab", b"", b"\xff", "\U0003fffe".encode(), "é".encode())] == [
        True, False, False, False, False, True,
    ]  # fmt: skip
    assert [reach._is_word(data) for data in (b"ab", b"a b", b"", b"\xe4\xb8", "中".encode())] == [
        True, False, False, False, True,
    ]  # fmt: skip


@pytest.mark.parametrize("batch", [1, 2, 3, 100])
def test_texts_are_tried_in_batches_until_one_gives_a_token(batch: int, monkeypatch: pytest.MonkeyPatch) -> None:
    sizes: list[int] = []

    class Counted:
        def encode_batch_to_numpy(self, texts: list[bytes]) -> Any:
            sizes.append(len(texts))
            return TOK.encode_batch_to_numpy(texts)

    monkeypatch.setattr(reach, "_BATCH", batch)
    spelled = [TOK.spec.vocab[number] for number in range(256, 266)]
    subject: Any = SimpleNamespace(tokenizer=Counted(), ids=np.arange(256, 266), spelled=spelled)
    texts = [(number, before + spelled[number]) for number, before in product(range(10), (b"aa", b"aaaaaa", b"aa"))]
    left = reach._without_given(subject, list(range(10)), texts)
    given = {number for number, text in texts if 256 + number in TOK.encode(text)}
    assert left == [number for number in range(10) if number not in given]
    assert left == [5]  # "aa" is a part of "aaaa" there
    assert (max(sizes), sizes[-1] < batch or batch == 1) == (min(batch, 30), True)
    assert sum(sizes) <= 30


# -- traces and what is unusual ------------------------------------------------------------------------


def test_unknown_words_in_a_row_are_one_step_with_an_id() -> None:
    tok = bbpe.Tokenizer(WORDS)
    for text in ("a b see c", "see", "a", "a see b", "see a b"):
        pretokens = tok.trace(text).pretokens
        assert [token_id for each in pretokens for token_id in each.ids] == tok.encode(text)
        assert {each.kind for each in pretokens} == {"whole"}
    assert [each.ids for each in tok.trace("a b see c").pretokens if each.pretoken.strip()] == [(1,), (), (0,), (1,)]


def test_sentences_on_marks_and_equal_scores() -> None:
    sentence = "only what the first character of a text became gets a mark in front, also not after special tokens"
    for scheme, is_said in (("first", True), ("always", False), ("never", False)):
        spec: Any = replace(WORDS, rules=replace(WORDS.rules, pre_tokenizers=(Metaspace(scheme, split=True),)))
        assert (sentence in unusual(spec)) is is_said
    sentence = "some merges have equal scores; of these the leftmost comes first, as in SentencePiece"
    plain = SimpleNamespace(**{name: getattr(TOK.spec, name) for name in ("model", "characters", "merges", "vocab")})
    for levels, is_said in (((3, 2), True), ((), False), (None, False)):
        spec = SimpleNamespace(**vars(plain), merge_levels=levels, dropout=0.0, whole_pretokens=False)
        spec.model = "other"  # what merging cannot make is not looked at
        assert (sentence in list(_merges(spec))) is is_said


def test_texts_without_places_are_shown_by_their_tokens() -> None:
    class Placeless(bbpe.Tokenizer):
        def encode_with_offsets(self, *_: Any, **__: Any) -> Any:
            raise ValueError("no places")

    text = "the aaaa<|endoftext|> in"
    with_places = view.boxes(text, {"a": TOK}, allowed_special="all")[0]
    without = view.boxes(text, {"a": Placeless(TOK.spec)}, allowed_special="all")[0]
    assert (without.ids, without.tokens, without.spans) == (with_places.ids, with_places.tokens, None)
    assert (with_places.as_dict()["spans"], without.as_dict()["spans"]) == (True, None)
    special = TOK.special_tokens["<|endoftext|>"]
    assert special in without.ids
    assert special not in view.boxes(text, {"a": TOK}, allowed_special=["other"])[0].ids


def test_words_of_texts_without_places_are_not_followed() -> None:
    class Placeless(bbpe.Tokenizer):
        def encode_with_offsets(self, *_: Any, **__: Any) -> Any:
            raise VocabularyError("no places")

    words = bbpe.train_from_iterator(["see my dogs"], 60, model="wordpiece")  # its tokens are not the bytes of the text
    texts = ["See my dogs", "my eyes"]
    (known,), (without,) = (bbpe.evaluate(tok, texts=texts).rows for tok in (words, Placeless(words.spec)))
    assert (known.followed_words, known.split_words) == (5, 1)
    assert (without.followed_words, without.split_words, without.tokens) == (0, 0, known.tokens)


# -- figures -------------------------------------------------------------------------------------------


def test_figures_of_nothing() -> None:
    assert (efficiency(np.zeros(3, np.int64), 9), efficiency(np.array([5]), 1), efficiency(np.array([5, 5]), 2)) == (
        None, None, 1.0,
    )  # fmt: skip
    assert efficiency(np.array([5]), 2) == 0.0
    rows = bbpe.Ragged.from_rows([np.array(row, np.uint32) for row in ([1, 2], [], [3], [4, 5])])
    for other, changed in (
        ([[1, 2], [], [3], [4, 5]], 0), ([[1, 9], [], [3], [4, 5]], 1), ([[9, 9], [], [9], [4, 5]], 2),
        ([[1], [2], [3], [4, 5]], 2), ([[1], [2], [9], [4, 5]], 3), ([[1, 2], [], [3], [4, 9]], 1),
    ):  # fmt: skip
        first = bbpe.Ragged.from_rows([np.array(row, np.uint32) for row in other])
        assert changed_documents(rows, first) == changed
    assert changed_documents(rows, rows) == 0


def test_reports_are_looked_up_by_name() -> None:
    found = bbpe.evaluate({"a": TOK}, texts={"t": ["low", "lower"]})
    assert (len(found), found.row("a", "t"), [*found]) == (1, found.rows[0], list(found.rows))
    for names in (("b", "t"), ("a", "u")):
        with pytest.raises(KeyError, match=r"expected a tokenizer and a corpus: \('a', 't'\)") as caught:
            found.row(*names)
        assert repr(names) in caught.value.args[0]
    with pytest.raises(ValueError, match=r"^document is 'word'; expected 'file' or 'line'$"):
        bbpe.evaluate({"a": TOK}, texts={"t": ["low"]}, document="word")  # type: ignore[arg-type]
    with pytest.raises(ValueError, match=r"^parity is 'u'; expected the name of a corpus: 't'$"):
        bbpe.evaluate({"a": TOK}, texts={"t": ["low"]}, parity="u")
    texts = ["the", "xx", "aaaa the", "y"]
    rows = bbpe.evaluate({"a": TOK, "b": bbpe.Tokenizer(small_spec(())), "c": TOK}, texts={"t": texts}).rows
    assert [row.changed for row in rows] == [0, 2, 0]
    report = bbpe.lint(TOK)
    assert report[report.findings[0].check] is report.findings[0]
    with pytest.raises(KeyError, match="none-such"):
        report["none-such"]
    curve = bbpe.learning_curve(TOK, [258, 262], texts={"t": ["low lower"]})
    assert curve._repr_html_().startswith(f"{curve.table().html()}<dl><dt>bytes/token</dt>")
    assert [*_long(SimpleNamespace(texts=[None, None]))] == []  # type: ignore[arg-type]


# -- the playground ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("length", "status"),
    [
        ("", 411), ("-1", 411), ("five", 411), (str(_MOST_BYTES + 1), 413), ("9" * 19, 413), ("2", 400), ("4", 200),
        (str(_MOST_BYTES), 200),
    ],
)  # fmt: skip
def test_requests_say_how_long_they_are(length: str, status: int) -> None:
    answers: list[tuple[int, Any]] = []
    handler: Any = _Handler.__new__(_Handler)
    handler._is_own, handler.path = (lambda: True), "/tokens"
    handler._answer = lambda code, found: answers.append((int(code), found))
    handler.headers = SimpleNamespace(
        get=lambda name, default: length or default, get_content_type=lambda: "application/json"
    )
    read: list[int] = []
    body = io.BytesIO(b"null")
    handler.rfile = SimpleNamespace(read=lambda size: read.append(size) or body.read(min(size, 4)))
    handler.server = SimpleNamespace(tokens=lambda asked: {"asked": asked})
    handler.do_POST()
    assert [code for code, _ in answers] == [status]
    assert read == ([int(length)] if status in (200, 400) else [])


def test_a_tokenizer_of_the_playground_is_loaded_when_it_is_named_and_once() -> None:
    loaded: list[str] = []
    with Playground({name: lambda name=name: loaded.append(name) or TOK for name in "ab"}, ["b"], 0) as server:
        assert loaded == []
        for _ in range(2):
            assert server.tokenizer("a") is TOK
        assert server.tokens({"text": "in", "names": ["a"], "special": False})[0]["name"] == "a"
        assert loaded == ["a"]
        page = server.page("n")
        assert [part[:1] for part in page.split('value="')[1:]] == ["a", "b"]
        assert page.count(" checked>") == page.count('value="b" checked>') == 1
        assert server.url == f"http://127.0.0.1:{server.server_port}/"
        assert server.hosts == {f"{host}:{server.server_port}" for host in ("127.0.0.1", "localhost")}
        for names in ("a", [], ["a", 5], ["a"] * 6):
            with pytest.raises(ValueError, match="expected 1 to 5 names"):
                server.tokens({"text": "in", "names": names})
        assert len(server.tokens({"text": "in", "names": ["a", "b", "a", "b", "a"]})) == 2


# -- tables and lines ----------------------------------------------------------------------------------


def test_a_table_of_two_names_fits_its_columns() -> None:
    """Names are as long as the widest figure leaves room for, at least 6 columns."""
    table = Table(("tokenizer", "corpus", "tokens"), (("n" * 50, "c" * 50, "12,345"), ("a", "b", "7")), 2)
    widths = {most: [len(line) for line in table.text(most).splitlines()] for most in (None, 90, 50, 30, 20, 5)}
    assert widths == {
        None: [40 + 2 + 40 + 2 + 6] * 3, 90: [90] * 3, 50: [50] * 3, 30: [30] * 3, 20: [20 + 2] * 3, 5: [22] * 3,
    }  # fmt: skip
    assert table.text().splitlines()[2] == f"{'a':<40}  {'b':<40}  {'7':>6}"
    assert Table(("a", "b"), (), 1).text() == "a  b"


def test_cells_of_names_are_at_the_left() -> None:
    left = ' style="text-align: left; white-space: normal"'
    html = Table(("name", "of", "tokens"), (("a", "b", "7"), ("", "c", "8")), 2).html()
    assert f'<tr><th scope="col"{left}>name</th><th scope="col"{left}>of</th><th scope="col">tokens</th></tr>' in html
    assert f'<tr><th scope="row"{left}>a</th><td{left}>b</td><td>7</td></tr>' in html
    assert f"<tr><td{left}></td><td{left}>c</td><td>8</td></tr>" in html
    assert 'aria-label="table of name, of"' in html
    shown = [number(1234), number(1234.5), number(0.12345, 2), number(0.5, digits=1), number(None), share(0.125)]
    assert shown == ["1,234", "1,234.500", "0.12", "0.5", "-", "12.5%"]


def test_lines_are_broken_at_blanks() -> None:
    assert list(wrapped("see my dogs and eyes", 11)) == ["see my dogs", "and eyes"]
    assert list(wrapped("see my dogs and eyes", 10)) == ["see my", "dogs and", "eyes"]
    assert list(wrapped("  see my dogs", 9, 4)) == ["  see my", "    dogs"]
    assert list(wrapped("", 9, 4)) == [""]
    assert list(wrapped("a " + "b" * 9, 9, 4)) == ["a", "b" * 9]


def test_whole_texts_come_first_among_examples() -> None:
    """Of tokens that no text gives, parts of characters say least."""
    vocab = {bytes([byte]): byte for byte in range(256)} | {b"\xff\xfe": 256, b"qq": 257, b"zz": 258}
    tok = bbpe.Tokenizer.from_ranks(vocab, pattern=r"q|z|[\s\S]")
    found = bbpe.lint(tok)["unreachable"]
    assert ([each.token for each in found.examples], found.count) == ([b"qq", b"zz", b"\xff\xfe"], 3)


@pytest.mark.parametrize(("example", "end"), [(None, "its"), ("a1", "its, such as for 'a1'")])
def test_a_pattern_that_is_nearly_another_has_an_example(
    example: str | None, end: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    near = SimpleNamespace(name="gpt2", differs=("digits", "blanks"), example=example)
    monkeypatch.setattr("bbpe.report.unusual.nearest", lambda pattern: near)
    (line,) = _pattern(TOK.spec)
    assert line.startswith("the pattern is nearly gpt2 (digits")
    assert line.endswith(f"blanks), so ids may differ from {end}")
    near.differs = ()
    assert [*_pattern(TOK.spec)] == []


def test_a_comparison_in_words_and_as_data() -> None:
    """What there is nothing of is not said: no first difference of equal ones, no tokens without a corpus."""
    other = bbpe.Tokenizer(small_spec(()))
    equal = bbpe.compare(TOK, TOK)
    assert list(equal.lines()) == [
        f"left and right are identical: 268 tokens, and the same ids for {equal.texts:,} hard texts"
    ]
    assert equal.as_dict() == {
        "names": ("left", "right"), "shared": 268, "same_ids": 268, "only": (0, 0), "differences": (),
        "texts": equal.texts, "equal": equal.texts, "equal_ids": equal.texts, "tokens": None, "first": None,
        "pairs": [],
    }  # fmt: skip
    assert equal.texts > 1000
    assert list(bbpe.compare(TOK, TOK, texts=["the"]).lines()) == [
        "left and right are identical: 268 tokens, and the same ids for 1 different pretoken of the corpus"
    ]
    renamed = bbpe.Tokenizer(replace(TOK.spec, special_tokens={**TOK.spec.special_tokens, "<other>": 300}))
    assert list(bbpe.compare(TOK, renamed, texts=["the"]).lines())[1:] == [
        "their definitions differ in: special tokens",
        "both cut 1 of 1 different pretoken of the corpus at the same places",
        "both give 1 of 1 different pretoken of the corpus the same ids", "both need 1 token",
    ]  # fmt: skip
    found = bbpe.compare(TOK, other, texts=["the aaaa the", "xx"], names=("a", "b"), most=2)
    assert list(found.lines()) == [
        "a and b share 257 tokens, 256 of them with the same id; 11 are only in a, 0 only in b",
        "their definitions differ in: tokens or their ids, merges, special tokens",
        "both cut 1 of 4 different pretokens of the corpus at the same places",
        "b needs 133 % more tokens than a: 14, not 6",
        "first difference: 'the' at byte 0: 257 'the' | 83 't' 71 'h' 68 'e'",
    ]
    data = found.as_dict()
    assert data["first"] == {
        "text": "the", "byte": 0, "left": [[257, "the"]], "right": [[83, "t"], [71, "h"], [68, "e"]],
    }  # fmt: skip
    assert data["pairs"] == [
        {"pretoken": " aaaa", "count": 1, "more": 3, "left": [" ", "aaaa"], "right": [" ", "a", "a", "a", "a"]},
        {"pretoken": " the", "count": 1, "more": 3, "left": [" the"], "right": [" ", "t", "h", "e"]},
    ]
