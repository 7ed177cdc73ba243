"""The sizes of a corpus, which all figures are divided by, against plain loops over its texts."""

from __future__ import annotations

import pytest
import regex

from bbpe.report.measures import CorpusCount, DocumentBatch, Head, Measures, TextTotals

CORPORA = {
    "nothing": [],
    "empty": ["", ""],
    "one word": ["word"],
    "line ends": ["a\n", "b", "", "\n", "c\n\nd\n", "e\r\nf", "\n\n"],
    "words": ["see my eyes", " see  my ", "it's 12 dogs_and cats", "e\u0301t\u00e9 na\u00efve", "1 2 3", "a-b/c"],
    "other scripts": [
        "\u4e16\u754c hello", "\u3042\u30a2\u3105", "\u0e01\u0e02 \u0e51\u0e52", "\u043f\u0440\u0438\u0432\u0435\u0442",
        "\uac00\ub098 \u4e16", "\u0e81\u1780\u1000\u0f40", "\U00020bb7\u91ce", "\u3002\u4e16\u3002",
    ],
    "wide": ["\U0001f600 a \U0001d49c", "\u4e16"],
}  # fmt: skip
SCRIPTS = ("Han", "Hiragana", "Katakana", "Bopomofo", "Thai", "Lao", "Khmer", "Myanmar", "Tibetan")
UNSPACED = r"(?=[\p{L}\p{M}])[" + "".join(rf"\p{{{script}}}" for script in SCRIPTS) + "]"


def totals_of(texts: list[str]) -> TextTotals:
    words = [word for text in texts for word in regex.findall(r"[\p{L}\p{M}]+", text)]
    return TextTotals(
        len(texts), sum(len(text.encode()) for text in texts), sum(map(len, texts)), len(words), sum(map(len, words)),
        sum(len(regex.findall(UNSPACED, text)) for text in texts),
        sum(text.count("\n") + (text != "" and not text.endswith("\n")) for text in texts),
    )  # fmt: skip


@pytest.mark.parametrize("name", CORPORA)
@pytest.mark.parametrize("size", [1, 2, 100])
def test_totals_are_those_of_a_plain_loop(name: str, size: int) -> None:
    texts, count = CORPORA[name], CorpusCount()
    for at in range(0, len(texts), size):
        batch = DocumentBatch([text.encode() for text in texts[at : at + size]])
        count.add(batch)
        assert batch.sizes.tolist() == [len(text.encode()) for text in texts[at : at + size]]
    assert count.totals() == totals_of(texts)


def test_texts_of_any_type_are_documents() -> None:
    for text in ("\u4e16a", "\u4e16a".encode(), bytearray("\u4e16a".encode()), memoryview("\u4e16a".encode())):
        batch = DocumentBatch([text, "b"])
        assert (batch.texts, batch.data) == (["\u4e16a".encode(), b"b"], "\u4e16a\nb\n".encode())
        assert (batch.starts.tolist(), batch.characters) == ([0, 5], 3)
        assert (batch.word_starts.tolist(), batch.word_ends.tolist()) == ([0, 5], [4, 6])


@pytest.mark.parametrize(("letters", "unspaced", "has"), [
    (0, 0, True), (4, 2, True), (4, 3, False), (5, 2, True), (5, 3, False), (1, 1, False), (9, 0, True),
])  # fmt: skip
def test_runs_of_letters_are_words_unless_most_are_of_scripts_without_blanks(
    letters: int, unspaced: int, has: bool
) -> None:
    text = TextTotals(1, 10, 10, 2, letters, unspaced, 1)
    row = Measures("t", "c", text, 8, 1, 2, 0, None, 300, 8, None)
    assert text.has_words is has
    assert (row.fertility, row.split_share) == ((4.0, 0.5) if has else (None, None))


@pytest.mark.parametrize(("most", "texts", "whole", "size"), [
    (0, [], 0, 0), (1, [b"a"], 0, 1), (3, ["a\u00e9".encode()], 1, 3), (2, [b"a"], 0, 2),
    (4, ["a\u00e9".encode(), b""], 2, 4), (5, ["a\u00e9".encode(), b"", b"b"], 2, 5),
    (6, ["a\u00e9".encode(), b"", b"bc"], 3, 6), (7, ["a\u00e9".encode(), b"", b"bc"], 3, 6),
])  # fmt: skip
def test_words_are_followed_in_whole_documents_but_the_last(
    most: int, texts: list[bytes], whole: int, size: int
) -> None:
    """An empty document counts as a byte; one that is cut ends before a character."""
    head = Head(DocumentBatch(["a\u00e9", "", "bc"]), most)
    assert (head.batch.texts, head.whole, head.size) == (texts, whole, size)


def test_the_first_megabyte_is_followed_whatever_the_batches() -> None:
    texts = [b"ab cd", b"", b"efg"]
    for size in (1, 2, 3):
        count, followed = CorpusCount(left=8), list[bytes]()
        for at in range(0, 3, size):
            followed += count.add(DocumentBatch(texts[at : at + size])).batch.texts
        assert (followed, count.left) == ([b"ab cd", b"", b"ef"], 0)
