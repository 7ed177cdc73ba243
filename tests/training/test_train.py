"""The trainer against the reference on small random corpora, and against HF on real text."""

from __future__ import annotations

import json
import random
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import hf_merges
import pytest
from hf_merges import documents, merges_by_hf
from hypothesis import given, settings
from hypothesis import strategies as st
from options import model_options, train_options
from published import SHARED
from strings import adversarial_strings, byte_soups

import bbpe
from bbpe import reference
from bbpe.counting import options as count_options
from bbpe.progress import Progress
from bbpe.text import BYTE_ORDER, bytes_to_alphabet

TIES = ["ids", "bytes", "first"]
# few letters make ties and overlapping pairs, the others all that splitting knows
ALPHABETS = ["ab", "aab ", "abc'\n ", "aé中😀 ", "abcdefgh ", "st'S0 1\r\n", "\x00\xffzZ~¡ "]


def random_texts(rng: random.Random) -> list[str]:
    alphabet = rng.choice(ALPHABETS)
    words = ["".join(rng.choices(alphabet, k=rng.randint(1, 12))) for _ in range(rng.randint(1, 12))]
    return ["".join(rng.choices(words, k=rng.randint(0, 20))) for _ in range(rng.randint(1, 5))]


def same(texts: Sequence[str | bytes], vocab_size: int, **options: Any) -> None:
    """Train both ways and compare the merges, and the vocabulary that they make."""
    expected = reference.train(texts, vocab_size, **options)
    how_to_count = {name: options[name] for name in ("pattern", "special_tokens") if name in options}
    if not reference.count(texts, **how_to_count):
        with pytest.raises(bbpe.CorpusError):
            bbpe.train_from_iterator(texts, vocab_size, **train_options(**options))
        return
    tok = bbpe.train_from_iterator(texts, vocab_size, **train_options(**options))
    assert tok.merges == expected, (texts, vocab_size, options)
    tokens = [*(bytes((byte,)) for byte in BYTE_ORDER), *(left + right for left, right in expected)]
    specials = options.get("special_tokens", ())
    assert tok.special_tokens == {text: len(tokens) + i for i, text in enumerate(specials)}
    assert [tok.id_to_token(i) for i in range(tok.vocab_size)] == tokens + [text.encode() for text in specials]


@pytest.mark.parametrize("tie_break", TIES)
def test_random_corpora(tie_break: str) -> None:
    rng = random.Random(f"corpora {tie_break}")
    for _ in range(25):
        same(
            random_texts(rng),
            256 + rng.randint(0, 60),
            tie_break=tie_break,
            pattern=rng.choice(["gpt2", "none", "whitespace", "cl100k", "o200k", "[ab]+| "]),
            min_frequency=rng.choice([0, 1, 1, 2, 3, 7]),
            max_token_length=rng.choice([None, None, 1, 2, 3, 5]),
        )


@pytest.mark.parametrize("tie_break", TIES)
def test_special_tokens_separate(tie_break: str) -> None:
    rng = random.Random(f"specials {tie_break}")
    for _ in range(15):
        specials = rng.sample(["abc", "ab", "<s>", "<s>a", " ", "éé", "b\n"], k=rng.randint(1, 3))
        texts = [text + rng.choice(["", *specials]) + text[::-1] for text in random_texts(rng)]
        same(texts, 256 + 20 + len(specials), tie_break=tie_break, special_tokens=specials)


@pytest.mark.parametrize("tie_break", TIES)
@pytest.mark.parametrize("text", ["a" * n for n in (1, 2, 3, 4, 5, 6, 7, 17, 100, 1023)] + ["ab" * 50, "aba" * 33])
def test_overlapping_pairs(text: str, tie_break: str) -> None:
    same([text, text[1:], text[2:] + "b" + text], 280, tie_break=tie_break, pattern="none")


@pytest.mark.parametrize("tie_break", TIES)
def test_hard_strings_and_bytes(tie_break: str) -> None:
    same(adversarial_strings(20, seed=5, surrogates=True), 310, tie_break=tie_break)
    same(byte_soups(20, seed=6), 310, tie_break=tie_break)
    same(byte_soups(20, seed=7), 310, tie_break=tie_break, pattern="cl100k")


@settings(max_examples=60)
@given(
    texts=st.lists(st.text(alphabet="ab \n'", max_size=40), min_size=1, max_size=4),
    merges=st.integers(0, 40),
    tie_break=st.sampled_from(TIES),
    pattern=st.sampled_from(["gpt2", "none"]),
)
def test_any_text(texts: list[str], merges: int, tie_break: str, pattern: str) -> None:
    same(texts, 256 + merges, tie_break=tie_break, pattern=pattern)


@pytest.mark.parametrize("tie_break", TIES)
def test_real_text_against_the_reference(tie_break: str, corpus: Callable[..., str]) -> None:
    for name in ("en", "multi", "zh"):
        same([corpus(name, 1_500)], 256 + 70, tie_break=tie_break)


@pytest.mark.parametrize("tie_break", TIES)
def test_from_counts(tie_break: str) -> None:
    rng = random.Random(f"counts {tie_break}")
    for scale in (1, 2**33 + 1, 2**50):
        for _ in range(9):
            words = sorted({"".join(rng.choices("abcd", k=rng.randint(1, 9))) for _ in range(12)})
            counts = {word.encode(): rng.randint(0, 5) * scale + rng.randint(0, 1) for word in words}
            options: dict[str, Any] = {"tie_break": tie_break, "min_frequency": rng.choice([1, 2, scale, 3 * scale])}
            expected = reference.train_from_counts(counts, 30, **options)
            assert bbpe.train_from_counts(counts, 286, **model_options(**options)).merges == expected
            as_strings = {word.decode(): count for word, count in counts.items()}
            assert bbpe.train_from_counts(as_strings, 286, **model_options(**options)).merges == expected


def test_counts_differ_beyond_32_and_53_bits() -> None:
    for big in (2**32, 2**33, 2**53, 2**60):
        assert bbpe.train_from_counts({b"ab": big, b"cd": big + 1}, 257).merges == [(b"c", b"d")]


@pytest.mark.parametrize("counts", [{b"ab": 2**64}, {b"ab": 2**63}, {b"ab": -1}])
def test_counts_that_do_not_fit(counts: dict[bytes, int]) -> None:
    with pytest.raises((ValueError, OverflowError), match=str(next(iter(counts.values())))):
        bbpe.train_from_counts(counts, 300)


def test_count_times_windows_does_not_overflow() -> None:
    with pytest.raises(OverflowError):
        bbpe.train_from_counts({b"a" * 100: 2**62}, 300)


@pytest.mark.parametrize("counts", [{b"ab": 1.5}, {b"ab": "1"}, {b"ab": True}, {7: 1}, [(b"ab", 1)], None])
def test_counts_of_wrong_types(counts: Any) -> None:
    with pytest.raises(TypeError):
        bbpe.train_from_counts(counts, 300)


def split_lines(text: str) -> list[str]:
    """Lines with their ends; only a line feed ends one."""
    return [line + "\n" for line in text.split("\n")[:-1]] + [last for last in text.split("\n")[-1:] if last]


@pytest.mark.parametrize("document", ["file", "line"])
@pytest.mark.parametrize("pattern", ["gpt2", "none", "llama3"])
def test_documents(document: str, pattern: str, tmp_path: Path) -> None:
    rng = random.Random(f"{document} {pattern}")
    for _ in range(8):
        texts = ["".join(rng.choices("ab \n\r\x0b\u2028", k=rng.randint(1, 60))) + "a" for _ in range(3)]
        for i, text in enumerate(texts):
            (tmp_path / f"{i}.txt").write_bytes(text.encode())
        parts = texts if document == "file" else [line for text in texts for line in split_lines(text)]
        expected = reference.train(parts, 290, pattern=pattern)
        assert bbpe.train(tmp_path, 290, pattern=pattern, counting=bbpe.Counting(document=document)).merges == expected
        assert (
            bbpe.train_from_iterator(texts, 290, pattern=pattern, counting=bbpe.Counting(document=document)).merges
            == expected
        )


@pytest.mark.parametrize("tie_break", TIES)
@pytest.mark.parametrize("document", ["file", "line"])
def test_regions_and_threads_change_nothing(document: str, tie_break: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Texts are cut into regions that are counted apart; tiny ones cut everywhere that they may."""
    rng = random.Random(8)
    for size in (1, 3, 40):
        texts = ["".join(rng.choices(["a", "b", "'s", "s", "\n", "\n", " ", "!", "1", "<s>"], k=250)) for _ in range(2)]
        options: dict[str, Any] = {"special_tokens": ["<s>"], "tie_break": tie_break}
        parts = texts if document == "file" else [line for text in texts for line in split_lines(text)]
        expected = reference.train(parts, 300, **options)
        for threads in (1, 4):
            with monkeypatch.context() as patch:
                patch.setattr(count_options, "_BLOCK", size)
                tok = bbpe.train_from_iterator(
                    texts, 300, **train_options(document=document, threads=threads, **options)
                )
            assert tok.merges == expected, (size, threads)


def same_as_hf(text: str, vocab_size: int) -> None:
    pytest.importorskip("tokenizers")
    texts = documents(text)
    expected = merges_by_hf(texts, vocab_size)
    merges = bbpe.train_from_iterator(texts, vocab_size).merges
    differing = next((i for i, pair in enumerate(zip(merges, expected, strict=False)) if pair[0] != pair[1]), None)
    assert differing is None, (differing, merges[differing], expected[differing])
    assert len(merges) == len(expected) == vocab_size - 256


@pytest.mark.parametrize("name", ["en", "code", "multi", "ja", "zh"])
def test_merges_identical_to_hf(name: str, corpus: Callable[..., str]) -> None:
    same_as_hf(corpus(name, 50_000), 1_500)


# what HF answered about whole corpora, which takes it minutes: thousands of tokens, and the digest of the merges
KEPT = json.loads(hf_merges.KEPT.read_text("utf-8"))["corpora"]
kept_corpora = pytest.mark.skipif(not (SHARED / "corpora").is_dir(), reason="no corpora that HF was asked about")
every_answer = pytest.mark.parametrize(
    ("name", "size"), [(name, size) for name, row in KEPT.items() for size in row["merges"]]
)


@pytest.mark.full
@kept_corpora
@every_answer
def test_merges_are_those_that_hf_gave(name: str, size: str, corpus: Callable[..., str]) -> None:
    text = corpus(name)
    assert hf_merges.sha256_of_text(text) == KEPT[name]["corpus"], "another text than HF was asked about"
    merges = bbpe.train_from_iterator(documents(text), int(size) * 1_000).merges
    assert len(merges) == int(size) * 1_000 - 256
    assert hf_merges.sha256_of_merges(merges) == KEPT[name]["merges"][size]


@pytest.mark.long
@kept_corpora
@every_answer
def test_hf_still_gives_these_merges(name: str, size: str, corpus: Callable[..., str]) -> None:
    pytest.importorskip("tokenizers")
    assert hf_merges.record(corpus(name), [int(size)])["merges"] == {size: KEPT[name]["merges"][size]}


def test_exhausted_corpora_as_hf() -> None:
    rng = random.Random(9)
    pytest.importorskip("tokenizers")
    for _ in range(60):
        texts = random_texts(rng)
        if any(texts):
            assert bbpe.train_from_iterator(texts, 600).merges == merges_by_hf(texts, 600)


def test_early_stop_puts_special_tokens_after_the_last_merge() -> None:
    tok = bbpe.train_from_iterator(["ab ab"], 1_000, model=bbpe.BPE(min_frequency=2), special_tokens=["<a>", "<b>"])
    assert tok.merges == [(b"a", b"b")]
    assert tok.special_tokens == {"<a>": 257, "<b>": 258}
    assert tok.vocab_size == 259


def test_training_is_deterministic(corpus: Callable[..., str]) -> None:
    text = corpus("en", 300_000)
    first = bbpe.train_from_iterator([text], 2_000, counting=bbpe.Counting(threads=1))
    assert all(
        bbpe.train_from_iterator([text], 2_000, counting=bbpe.Counting(threads=n)).merges == first.merges
        for n in (None, 1, 3)
    )


@pytest.mark.parametrize(
    "options",
    [
        {"vocab_size": 255},
        {"vocab_size": 256, "special_tokens": ["<s>"]},
        {"vocab_size": -1},
        {"min_frequency": -1},
        {"max_token_length": 0},
        {"tie_break": "random"},
        {"document": "page"},
        {"pattern": "gpt17"},
        {"pattern": "("},
        {"pattern": ""},
        {"pattern": "", "model": "unigram"},
        {"pattern": "", "model": bbpe.BPE(alphabet="chars", end_of_word="</w>")},
        {"special_tokens": ["<s>", "<s>"]},
        {"special_tokens": [""]},
        {"threads": 0},
    ],
    ids=str,
)
def test_bad_values(options: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match=r"\w"):
        bbpe.train_from_iterator(["text"], **train_options(**{"vocab_size": 300, **options}))


@pytest.mark.parametrize(
    "options",
    [
        {"vocab_size": 300.0},
        {"vocab_size": "300"},
        {"vocab_size": None},
        {"min_frequency": 1.5},
        {"max_token_length": "2"},
        {"pattern": 3},
        {"special_tokens": "<s>"},
        {"special_tokens": [b"<s>"]},
        {"threads": 1.5},
        {"tie_break": 3},
    ],
    ids=str,
)
def test_wrong_types(options: dict[str, Any]) -> None:
    with pytest.raises((TypeError, ValueError)) as caught:
        bbpe.train_from_iterator(["text"], **train_options(**{"vocab_size": 300, **options}))
    assert caught.type is TypeError or "tie_break" in options


@pytest.mark.parametrize("texts", ["one text", b"one text", [3], [None], 3, None])
def test_texts_of_wrong_types(texts: Any) -> None:
    with pytest.raises(TypeError):
        bbpe.train_from_iterator(texts, 300)


@pytest.mark.parametrize("texts", [[], [""], [b"", ""]])
def test_no_text(texts: list[str | bytes]) -> None:
    with pytest.raises(bbpe.CorpusError):
        bbpe.train_from_iterator(texts, 300)


def test_files_that_cannot_be_read_are_named(tmp_path: Path) -> None:
    with pytest.raises(OSError, match=r"gone\.txt"):
        bbpe.train(tmp_path / "gone.txt", 300)
    (tmp_path / "empty.txt").write_bytes(b"")
    with pytest.raises(bbpe.CorpusError):
        bbpe.train(tmp_path, 300)


def test_a_file_that_is_not_utf8_is_kept_as_bytes(tmp_path: Path) -> None:
    (tmp_path / "latin-1.txt").write_bytes(b"caf\xe9 caf\xe9")
    assert bbpe.train(tmp_path, 300).merges == reference.train([b"caf\xe9 caf\xe9"], 300)


def test_progress_is_reported() -> None:
    seen: list[Progress] = []
    bbpe.train_from_iterator(["low lower lowest"] * 3, 260, counting=bbpe.Counting(progress=seen.append))
    assert {report.phase for report in seen} >= {"count", "merge"}
    assert [report for report in seen if report.phase != "vocabulary"][-1] == Progress("merge", 4, 4, "merges")
    assert all(report.total is None or report.done <= report.total for report in seen)


@pytest.mark.parametrize("phase", ["count", "merge"])
def test_ctrl_c_in_progress_leaves_nothing(phase: str, tmp_path: Path) -> None:
    def interrupt(report: Progress) -> None:
        if report.phase == phase:
            raise KeyboardInterrupt

    text = tmp_path / "text.txt"
    text.write_text("low lower lowest")
    with pytest.raises(KeyboardInterrupt):
        bbpe.train(text, 260, counting=bbpe.Counting(progress=interrupt))
    assert [path.name for path in tmp_path.iterdir()] == ["text.txt"]
    assert len(bbpe.train(text, 260).merges) == 4


@pytest.mark.parametrize("multiple", [1, 7, 128])
def test_vocabularies_are_padded_with_reserved_tokens(multiple: int, tmp_path: Path) -> None:
    specials = ["<s>", "<|reserved_1|>"]
    plain = bbpe.train_from_iterator(["low lower lowest"], 270, special_tokens=specials)
    tok = bbpe.train_from_iterator(
        ["low lower lowest"], 270, model=bbpe.BPE(pad_vocab_to=multiple), special_tokens=specials
    )
    assert tok.merges == plain.merges
    assert tok.vocab_size == -(-plain.vocab_size // multiple) * multiple == len(tok)
    assert dict(list(tok.special_tokens.items())[:2]) == dict(plain.special_tokens)
    reserved = [name for name in tok.special_tokens if name not in specials]
    assert reserved[:2] == ["<|reserved_0|>", "<|reserved_2|>"][: len(reserved)]
    assert tok.encode("lower <|reserved_0|>") == plain.encode("lower <|reserved_0|>")
    tok.save(tmp_path / "tokenizer.json")
    assert bbpe.load(tmp_path / "tokenizer.json") == tok


@pytest.mark.parametrize("padding", [0, -1, 2.0])
def test_paddings_that_are_none(padding: Any) -> None:
    with pytest.raises((TypeError, ValueError), match="pad_vocab_to"):
        bbpe.train_from_counts({"ab": 1}, 300, model=bbpe.BPE(pad_vocab_to=padding))


def test_training_reports_the_worst_facts_if_asked() -> None:
    notes: list[str] = []
    counting = bbpe.Counting(progress=lambda report: notes.append(report.note))
    bbpe.train_from_iterator(["abab abab x"], 5000, counting=counting)
    assert notes[-3:] == [
        "260 tokens, not 5,000: no more pairs occur often enough",
        "the longest token has 5 bytes: ' abab'",
        "1 token is only a part of longer ones: the training text itself does not use it",
    ]


def test_the_longest_token_as_for_tokenizers() -> None:
    """The rule of docs/migrating.md: HF counts initial symbols, fewer than its limit, but always makes two of them."""
    tokenizers, rng = pytest.importorskip("tokenizers"), random.Random(3)
    alphabet = tokenizers.pre_tokenizers.ByteLevel.alphabet()
    for longest in range(1, 13):
        words = ["".join(rng.choices("abc\u00e9", k=rng.randint(1, 20))) for _ in range(9)]
        text = " ".join(rng.choices(words, k=60))
        theirs = tokenizers.Tokenizer(tokenizers.models.BPE())
        theirs.pre_tokenizer = tokenizers.pre_tokenizers.ByteLevel(add_prefix_space=False)
        trainer = tokenizers.trainers.BpeTrainer(
            vocab_size=330, max_token_length=longest, initial_alphabet=alphabet, show_progress=False
        )
        theirs.train_from_iterator([text], trainer)
        model = bbpe.BPE(max_token_length=max(longest - 1, 2))
        tok = bbpe.train_from_iterator([text], 330, pattern="gpt2", model=model)
        merges = [[bytes_to_alphabet(left), bytes_to_alphabet(right)] for left, right in tok.merges]
        assert merges == json.loads(theirs.to_str())["model"]["merges"]
