"""Words are followed into tokens as in a plain loop, and phrases of scripts without blanks are no words."""

from __future__ import annotations

import random
from dataclasses import replace

import numpy as np
import pytest

import bbpe
from bbpe.report.evaluate import Resampler
from bbpe.report.measures import WORDS, CorpusCount, DocumentBatch, TokenizerCount, _spans
from bbpe.spec.rules import UnicodeForm
from bbpe.spec.spec import TextRules

TEXTS = ["see my eyes first, see my dogs\n", "low lower lowest slow\n", "世界 hello é\n", "", "newest 123 dogs"] * 4
SMALL = bbpe.train_from_iterator(TEXTS, 270)


def random_texts(seed: int) -> list[str]:
    rng = random.Random(seed)
    words = ["see my", " low", "lowest ", "世界", "é", "", "\n", " ", "newest\n", "\x00", "Dogs", "<x>", "1 2"]
    return ["".join(rng.choices(words, k=rng.randint(0, 9))) for _ in range(60)]


FOLLOWERS = {
    "bytes": SMALL,
    "words": bbpe.train_from_iterator(TEXTS, 60, model="wordpiece"),
    "unigram": bbpe.train_from_iterator(TEXTS, 320, model="unigram"),
    "byte fallback": bbpe.train_from_iterator(
        TEXTS, 320, model=bbpe.Unigram(byte_fallback=True, character_coverage=0.9)
    ),
    "normalized": bbpe.Tokenizer(replace(SMALL.spec, rules=TextRules(normalizers=(UnicodeForm("NFD"),)))),
    "word start": bbpe.train_from_iterator(TEXTS, 80, model=bbpe.BPE(alphabet="chars", word_start="\u2581")),
}


@pytest.mark.parametrize("name", FOLLOWERS)
@pytest.mark.parametrize("seed", range(4))
def test_words_are_split_where_a_plain_loop_finds_it(name: str, seed: int) -> None:
    """The tokens of a batch give the places of all its documents at once, or each is encoded with places."""
    tok, texts = FOLLOWERS[name], random_texts(seed)
    batch = DocumentBatch(texts)
    count = TokenizerCount(tok)
    count.add(batch, CorpusCount().add(batch), 1)
    words = split = 0
    for text in map(str.encode, texts):
        starts = {start for start in tok.encode_with_offsets(text, "byte")[1][1:, 0].tolist() if start}
        for start, end in zip(*_spans(WORDS, text), strict=True):
            words += 1
            split += any(start < cut < end for cut in starts)
    assert (count.followed, count.split) == (words, split)
    assert split


def test_few_calls_follow_many_documents(monkeypatch: pytest.MonkeyPatch) -> None:
    """A tokenizer whose tokens spell the text is not asked for the places of each document."""
    asked = []
    real = bbpe.Tokenizer.encode_with_offsets
    monkeypatch.setattr(bbpe.Tokenizer, "encode_with_offsets", lambda *given: asked.append(1) or real(*given))
    rows = bbpe.evaluate(SMALL, texts=TEXTS * 50).rows
    assert (len(asked), rows[0].followed_words) == (0, rows[0].text.words)
    words = bbpe.train_from_iterator(TEXTS, 60, model="wordpiece")
    assert bbpe.evaluate(words, texts=TEXTS).rows[0].followed_words
    assert len(asked) == len(TEXTS)


def test_sums_of_samples_are_those_of_a_loop() -> None:
    """Corpora of equally many documents have the same sets, whatever comes between them."""
    drawn = Resampler(5)
    for count in (37, 37, 5, 37):
        columns = np.random.default_rng(count).integers(0, 1 << 40, (4, count))
        sets = np.random.default_rng(5).integers(0, count, (1000, count), np.int32)
        found = drawn.sums(columns.tolist())
        assert found is not None
        assert found.tolist() == [columns[:, each].sum(axis=1).tolist() for each in sets]
    assert drawn.sums([[1], [2]]) is None


@pytest.mark.parametrize(("text", "letters", "unspaced"), [
    ("", 0, 0), ("see my 12", 5, 0), ("世界 hello", 7, 2), ("ひらカナ漢字", 6, 6), ("สวัสดี ๑๒", 6, 6),
    ("안녕하세요", 5, 0),
    ("ລາວ", 3, 3), ("ខ្មែរ", 5, 5), ("မြန်မာ", 6, 6), ("a世", 2, 1), ("a世界", 3, 2), ("é", 1, 0), ("𠀀ab", 3, 1),
])  # fmt: skip
def test_letters_of_scripts_without_blanks(text: str, letters: int, unspaced: int) -> None:
    """Digits of these scripts are no letters; most letters decide whether there are words."""
    totals = CorpusCount()
    totals.add(DocumentBatch([text, "1 2", text]))
    found = totals.totals()
    assert (found.letters, found.unspaced) == (2 * letters, 2 * unspaced)
    assert found.has_words is (unspaced * 2 <= letters)
    row = bbpe.evaluate(SMALL, texts=[text]).rows[0]
    assert (row.fertility is None) is (letters == 0 or unspaced * 2 > letters)
    assert (row.split_share is None) is (letters == 0 or unspaced * 2 > letters)
    assert row.as_dict()["unspaced"] == unspaced
