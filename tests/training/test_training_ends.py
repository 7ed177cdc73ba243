"""Training where little is there: no text, no room, texts that files write, words that are split by a regex."""

from __future__ import annotations

import re
from collections import Counter
from typing import Any

import numpy as np
import pytest

import bbpe
from bbpe.corpus.rowfiles import Rows
from bbpe.progress import Progress
from bbpe.training import words as of_words
from bbpe.training.unigram_em import learn

TEXT = "low low low lower lower newest newest widest, see my eyes first; see my dogs"
CHARS = bbpe.BPE(alphabet="chars", end_of_word="</w>")


@pytest.mark.parametrize(
    ("symbols", "specials", "size", "said"),
    [
        (["a", "b\u2581"], (), 400, r"^Unigram\.user_defined_symbols\[1\]: 'b\u2581' holds U\+2581, which is how f"),
        ([], ["a", "\u2581"], 400, r"^special_tokens: '\u2581' is how files write a blank or a byte; expected another"),
        ([], ["<0x41>"], 400, r"^special_tokens: '<0x41>' is how files write a blank or a byte; expected another"),
        ([], ["<unk>"], 400, "^'<unk>' is always the first token of a Unigram model; leave it out of special_tokens$"),
        (["<unk>"], [], 400, "^'<unk>' is always the first token of a Unigram model"),
        (["a", "a"], [], 400, "^'a' is empty or given twice in special_tokens and user_defined_symbols$"),
        (["a"], ["a"], 400, "^'a' is empty or given twice"),
        ([""], [], 400, "^'' is empty or given twice"),
        (["a"], ["b"], 259, "^vocab_size is 259; expected more than 259, the ids of <unk>, special tokens, symbol"),
    ],
)
def test_texts_that_are_no_tokens_of_unigram(symbols: list[str], specials: list[str], size: int, said: str) -> None:
    with pytest.raises(ValueError, match=said):
        bbpe.Unigram(user_defined_symbols=symbols).plan(size, specials, None)


@pytest.mark.parametrize(
    ("special", "is_written"),
    [
        ("a", "b'a'"), ("\u0120", "b' '"), ("\u010a", r"b'\n'"), ("\u0120a", "b' a'"), ("\u00c3\u00a9", r"b'\xc3\xa9'"),
        ("ab", ""), ("<s>", ""), (" ", ""), ("\u4e2d", ""),
    ],
)  # fmt: skip
def test_special_tokens_that_files_would_write_as_bytes(special: str, is_written: str) -> None:
    """A file could not tell them from tokens of text that are learned, or from bytes."""
    if not is_written:
        tok = bbpe.train_from_iterator([TEXT], 270, special_tokens=["<a>", special])
        assert tok.decode(tok.encode(special, allowed_special="all")) == special
        return
    said = re.escape(f"special_tokens: {special!r} is how files write {is_written}; expected a longer text")
    with pytest.raises(ValueError, match=said):
        bbpe.train_from_iterator([TEXT], 270, special_tokens=["<a>", special])


def test_a_model_of_unigram_has_room_for_the_characters_of_the_text() -> None:
    model = bbpe.Unigram(user_defined_symbols=["x"])
    tok = bbpe.train_from_iterator(["aaa aa"], 261, model=model, special_tokens=["y\u2581"])
    assert (len(tok), tok.token_to_id("y\u2581"), tok.token_to_id("x")) == (261, 1, 2)
    with pytest.raises(bbpe.CorpusError, match=r"^2 characters make up 99\.95% of the text, and there is room"):
        bbpe.train_from_iterator(["aaa aa"], 260, model=model, special_tokens=["y\u2581"])


@pytest.mark.parametrize(
    ("model", "texts", "said"),
    [
        (bbpe.Unigram(), [], "no pretoken was found"), (bbpe.Unigram(), [""], "no pretoken was found"),
        (bbpe.BPE(), [], "no pretoken was found"), (bbpe.BPE(), ["", ""], "no pretoken was found"),
        (CHARS, [" "], "no word was found"), (bbpe.WordPiece(), ["\n"], "no word was found"),
    ],
)  # fmt: skip
def test_no_text(model: Any, texts: list[str], said: str) -> None:
    with pytest.raises(bbpe.CorpusError, match=f"^there is no text to train on: {said}$"):
        bbpe.train_from_iterator(texts, 400, model=model)


@pytest.mark.parametrize("lowercase", [False, True])
def test_words_of_a_regex(lowercase: bool) -> None:
    """The words that are counted are the matches, after the rules; each with the sum of its parts."""
    texts = ["See MY eyes-see my 12 dogs", "see My eyes"]
    for pattern in (r"\w+|\W", r"[a-z]+|[A-Z]+|[^A-Za-z]"):
        plan = bbpe.BPE(alphabet="chars", end_of_word="</w>", lowercase=lowercase).plan(60, (), pattern)
        counts = bbpe.count_from_iterator(texts, pattern=pattern)
        wanted: Counter[str] = Counter()
        for text in texts:
            for match in re.findall(pattern, text):
                # a part is counted by the regex, then changed, then split by the regex again
                wanted.update(re.findall(pattern, match.lower() if lowercase else match))
        assert isinstance(plan, of_words.WordPlan)
        assert of_words.words_of(plan, counts) == wanted


def test_progress_of_words_is_of_all_tokens(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(of_words, "_VISITS", 1)
    seen: list[Progress] = []
    counting = bbpe.Counting(progress=seen.append)
    tok = bbpe.train_from_iterator([TEXT], 40, model=CHARS, counting=counting)
    merged = [each for each in seen if each.phase == "merge"]
    assert len(merged) > 3
    assert {each.unit for each in merged} == {"tokens"}
    assert {each.total for each in merged[:-1]} == {40}
    done = [each.done for each in merged]
    assert done == sorted(done)
    begun = len(tok) - len(tok.merges)
    assert begun <= done[0] <= done[-1] == merged[-1].total == len(tok) == 40


def test_tokens_of_equal_scores_are_in_the_order_of_their_characters() -> None:
    """Whatever sorts them, on whatever machine: files of equal texts are equal."""
    characters = [chr(0x4E00 + 7 * number) for number in range(200)]
    data = [char.encode() for char in reversed(characters)]
    ends = np.cumsum([0, *map(len, data)], dtype=np.int64)
    often = {token: 1 + number % 3 for number, token in enumerate(data)}
    words = Rows(np.frombuffer(b"".join(data), np.uint8), ends, np.array(list(often.values()), np.uint64))
    found = learn(words, len(data), coverage=1.0, threads=2)
    assert len(set(found.scores)) == 3
    assert found.tokens == sorted(data, key=lambda token: (-often[token], token))
