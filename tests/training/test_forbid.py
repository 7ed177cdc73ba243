"""Tokens that training never makes: against a plain trainer that takes the best pair that is allowed, step by step."""

from __future__ import annotations

import random
import re
from collections import Counter
from collections.abc import Callable
from itertools import pairwise
from typing import Any

import pytest
import regex
from strings import adversarial_strings

import bbpe
from bbpe.cli import main
from bbpe.core.train import Trainer
from bbpe.splitting.regexes import compiled
from bbpe.text import BYTE_ORDER

TIES = ["ids", "bytes", "first"]
WORDS = ["it", "is", "what", "Name: x", "it: is", "a.", "b. c", "世界", "：", "x\tb", "low low"]
LINES = r"[^\n]+|\n"


def learned(
    rows: list[tuple[list[int], int]], tokens: list[bytes], limit: int, ties: str, forbids: Callable[[bytes], bool],
    *, min_frequency: int = 1,
) -> list[tuple[bytes, bytes]]:  # fmt: skip
    """The merges of the best pair that is allowed, counted anew at each step."""
    tokens, merges = list(tokens), []
    rows = [(list(ids), count) for ids, count in rows]
    for _ in range(limit):
        pairs: Counter[tuple[int, int]] = Counter()
        for ids, count in rows:
            for pair in pairwise(ids):
                pairs[pair] += count
        allowed = {pair: n for pair, n in pairs.items() if not forbids(tokens[pair[0]] + tokens[pair[1]])}
        if not allowed or max(allowed.values()) < min_frequency:
            break
        most = max(allowed.values())
        best = [pair for pair, count in allowed.items() if count == most]
        if ties == "ids":
            chosen = min(best)
        elif ties == "bytes":
            chosen = max(best, key=lambda pair: (tokens[pair[0]], tokens[pair[1]], pair))
        else:
            chosen = best[0]
        merges.append((tokens[chosen[0]], tokens[chosen[1]]))
        tokens.append(b"".join(merges[-1]))
        for place, (ids, count) in enumerate(rows):
            done: list[int] = []
            while ids:
                size = 2 if tuple(ids[:2]) == chosen else 1
                done.append(len(tokens) - 1 if size == 2 else ids[0])
                ids = ids[size:]
            rows[place] = done, count
    return merges


def forbids_of(forbid: str | None, max_words: int | None) -> Callable[[bytes], bool]:
    def forbids(token: bytes) -> bool:
        text = token.decode("utf-8", "surrogateescape")
        return bool(forbid and re.search(forbid, text)) or (max_words is not None and len(text.split()) > max_words)

    return forbids


def rows_of(texts: list[str], pattern: Any) -> list[tuple[list[int], int]]:
    order = {byte: number for number, byte in enumerate(BYTE_ORDER)}
    counts = Counter(pretoken for text in texts for pretoken in bbpe.split(text, pattern))
    return [([order[byte] for byte in pretoken.encode()], count) for pretoken, count in counts.items()]


def random_texts(seed: int) -> list[str]:
    rng = random.Random(seed)
    texts = [" ".join(rng.choices(WORDS, k=rng.randrange(1, 9))) + "\n" for _ in range(30)]
    return [*texts, *adversarial_strings(12, seed=seed)]


VETOES: list[tuple[str | None, int | None]] = [
    (": ", None), (None, 1), (None, 2), (r"\. |^b", 3), ("[\udc80-\udcff]", None), ("：|世", None), (r"\s\S+\s", None),
]  # fmt: skip


@pytest.mark.parametrize("ties", TIES)
@pytest.mark.parametrize(("forbid", "max_words"), VETOES)
def test_merges_are_those_of_the_best_pair_that_is_allowed(
    ties: Any, forbid: str | None, max_words: int | None
) -> None:
    texts = random_texts(VETOES.index((forbid, max_words)))
    model = bbpe.BPE(tie_break=ties, forbid=forbid, max_words=max_words, min_frequency=2)
    tok = bbpe.train_from_iterator(texts, 256 + 150, model=model, pattern=LINES)
    forbids, tokens = forbids_of(forbid, max_words), [bytes([byte]) for byte in BYTE_ORDER]
    expected = learned(rows_of(texts, LINES), tokens, 150, ties, forbids, min_frequency=2)
    assert tok.merges == expected
    assert len(expected) > 10
    assert not any(forbids(left + right) for left, right in tok.merges)
    free = bbpe.train_from_iterator(texts, 256 + 150, model=bbpe.BPE(tie_break=ties, min_frequency=2), pattern=LINES)
    assert free.merges != expected


@pytest.mark.parametrize("threshold", [1, 2, 7, 40, 10**6])
def test_the_threshold_of_the_search_changes_no_merge(threshold: int) -> None:
    """A pair that was vetoed is found again by every later search, and stays vetoed without being asked about."""
    texts, asked = random_texts(99), Counter[str]()
    counts = bbpe.count_from_iterator(texts, pattern=LINES)
    forbids = forbids_of("[ot]", None)

    def asking(text: str) -> bool:
        asked[text] += 1
        return forbids(text.encode("utf-8", "surrogateescape"))

    trainer = Trainer(
        counts.table(), BYTE_ORDER, merge_limit=80, tie_break="ids", min_frequency=1, max_token_length=2**31,
        threshold=threshold, forbids=asking,
    )  # fmt: skip
    while not trainer.step(1 << 20):
        pass
    data, offsets = trainer.tokens()
    tokens = [data[start:stop] for start, stop in pairwise(offsets)]
    found = [(tokens[left], tokens[right]) for left, right in trainer.merges()]
    assert found == learned(rows_of(texts, LINES), tokens[:256], 80, "ids", forbids)
    # different pairs may make the same bytes; each of them is one question
    assert max(asked.values()) <= 4


@pytest.mark.parametrize("ties", TIES)
def test_superwords(ties: Any) -> None:
    """The second stage keeps the first, and adds tokens of several words within the limits."""
    texts = random_texts(5)
    words = bbpe.train_from_iterator(texts, 300)
    options: dict[str, Any] = {"add": 60, "pattern": LINES, "tie_break": ties}
    counts = bbpe.count_from_iterator(texts, pattern=LINES)
    more = bbpe.extend(words, counts, forbid=": ", max_words=2, **options)
    bytes_of = [words.id_to_token(token_id) for token_id in range(words.vocab_size)]
    forbids = forbids_of(": ", 2)
    rows = [(words.encode(pretoken), count) for pretoken, count in counts]
    # the tokenizer encodes a line as its own pattern splits it
    one = bbpe.Tokenizer.from_merges(words.spec.vocab, words.merges, pattern=LINES)
    rows = [(one.encode(pretoken), count) for pretoken, count in counts]
    expected = learned(rows, bytes_of, 60, ties, forbids)
    assert more.merges[: len(words.merges)] == words.merges
    assert more.merges[len(words.merges) :] == expected
    free = bbpe.extend(words, counts, **options).merges[len(words.merges) :]
    assert any(forbids(left + right) for left, right in free)
    assert any(len((left + right).split()) == 2 for left, right in expected)


def test_a_veto_that_leaves_nothing_ends_training() -> None:
    model = bbpe.BPE(forbid=".{2}|[\udc80-\udcff]")
    tok = bbpe.train_from_iterator(["low lower é"], 400, model=model)
    assert tok.merges == [(b"\xc3", b"\xa9")]


def test_an_error_of_the_veto_ends_training() -> None:
    def failing(text: str) -> bool:
        raise KeyboardInterrupt(text)

    table = bbpe.count_from_iterator(["low"], pattern="gpt2").table()
    trainer = Trainer(
        table, BYTE_ORDER, merge_limit=8, tie_break="ids", min_frequency=1, max_token_length=9, forbids=failing
    )
    with pytest.raises(KeyboardInterrupt):
        trainer.step(1 << 20)


WRONG: list[tuple[dict[str, Any], type[Exception], str]] = [
    ({"forbid": "("}, bbpe.PatternError, r"^BPE\.forbid: pattern '\(' is not a valid regex"),
    ({"forbid": "a*"}, bbpe.PatternError, r"^BPE\.forbid is 'a\*', which matches the empty text"),
    ({"forbid": 3}, TypeError, r"^BPE\.forbid must be a str or None, not int"),
    ({"max_words": 0}, ValueError, r"^BPE\.max_words is 0; expected at least 1"),
    ({"forbid": ": ", "alphabet": "chars"}, ValueError, r"^BPE\.forbid is ': '; expected it only with alphabet="),
    ({"max_words": 2, "alphabet": "chars"}, ValueError, r"^BPE\.max_words is 2; expected it only with alphabet="),
]


@pytest.mark.parametrize(("given", "kind", "message"), WRONG)
def test_wrong_vetoes_are_named(given: dict[str, Any], kind: type[Exception], message: str) -> None:
    with pytest.raises(kind, match=message):
        bbpe.BPE(**given)


@pytest.mark.parametrize("name", ["unigram", "wordpiece"])
def test_other_models_refuse_a_veto(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    kind: Any = {"unigram": bbpe.Unigram, "wordpiece": bbpe.WordPiece}[name]
    for option, value in (("forbid", ": "), ("max_words", 2)):
        with pytest.raises(TypeError, match=option):
            kind(**{option: value})
        spelled = f"--{option.replace('_', '-')}"
        arguments = ["train", "a.txt", "--vocab-size", "300", "-o", "t.json", "--model", name, spelled, str(value)]
        assert main(arguments) == 2
        assert f"{spelled} does not go with --model {name}; expected it with bpe" in capsys.readouterr().err
    with pytest.raises(TypeError, match=r"it is an option of bbpe\.BPE: model=bbpe\.BPE\(forbid=': '\)"):
        bbpe.train_from_iterator(["a"], 300, model=name, forbid=": ")  # type: ignore[call-arg,arg-type]


@pytest.mark.parametrize("seed", range(10))
def test_a_search_for_texts_finds_what_the_regex_finds(seed: int) -> None:
    """Alternatives of plain texts are looked for as texts, others by the regex; both find the same."""
    rng = random.Random(seed)
    parts = ["a", "b", ":", " ", r"\.", ".", r"\|", r"\\", "|", "é", "#", "&", "-", r"\:", "ab"]
    for _ in range(60):
        source = "".join(rng.choices(parts, k=rng.randrange(1, 6)))
        is_found = compiled(source).finder()
        for _ in range(20):
            text = "".join(rng.choices("ab: .|\\é#&-", k=rng.randrange(8)))
            assert is_found(text) == (regex.search(source, text) is not None), (source, text)
