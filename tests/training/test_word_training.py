"""Training on words of characters, against counting everything anew before each merge; words with an end."""

from __future__ import annotations

import random
import re
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from options import train_options

import bbpe
from bbpe.core.train_words import FrequencyTrainer, WordTrainer
from bbpe.errors import CorpusError, VocabularyError
from bbpe.reference import learn_words
from bbpe.text import BYTE_ORDER, bytes_to_alphabet

TEXT = "low low low low low lower lower newest newest newest newest newest newest widest widest widest"
CHINESE = "我爱北京天安门 我爱北京 天安门上太阳升 北京欢迎你 自然语言处理 自然语言"


def learned(
    words: list[tuple[list[int], int]], tokens: list[str], size: int, *, pmi: bool, prefix: str, least: int
) -> tuple[list[tuple[int, int]], list[str]]:
    trainer = WordTrainer(words, score="pmi" if pmi else "frequency", min_frequency=least)
    known, merges = list(tokens), []
    while len(known) < size and (best := trainer.best()) is not None:
        made = known[best[0]] + known[best[1]].removeprefix(prefix)
        if made not in known:
            known.append(made)
        merges.append(best[:2])
        trainer.merge(known.index(made))
    return merges, known


def test_merges_are_those_of_counting_anew() -> None:
    rng = random.Random(1)
    for _ in range(400):
        size = rng.randint(1, 4)
        tokens = [chr(97 + number) for number in range(size)]
        counts = [1, 1, 2, 5, 100, 2**40]
        words = [
            ([rng.randrange(size) for _ in range(rng.randint(1, 12))], rng.choice(counts))
            for _ in range(rng.randint(1, 12))
        ]
        prefix = rng.choice(["", "##"])
        if prefix:
            tokens += [prefix + token for token in tokens]
            words = [([word[0], *(symbol + size for symbol in word[1:])], count) for word, count in words]
        options: dict[str, Any] = {"pmi": rng.random() < 0.5, "prefix": prefix, "least": rng.choice([0, 1, 2, 3])}
        top = len(tokens) + rng.randint(0, 30)
        assert learned(words, tokens, top, **options) == learn_words(words, tokens, top, **options), (words, options)


def test_merges_by_frequency_are_those_of_counting_anew() -> None:
    rng = random.Random(2)
    for _ in range(400):
        tokens = [chr(97 + number) for number in range(rng.randint(1, 4))]
        words = [
            ([rng.randrange(len(tokens)) for _ in range(rng.randint(0, 12))], rng.choice([1, 1, 2, 5, 100, 2**40]))
            for _ in range(rng.randint(0, 12))
        ]
        least, more = rng.choice([0, 1, 2, 3]), rng.randint(0, 30)
        trainer = FrequencyTrainer(
            np.array([symbol for word, _ in words for symbol in word], np.uint32),
            np.cumsum([len(word) for word, _ in words], dtype=np.int64),
            np.array([count for _, count in words], np.uint64),
            base=len(tokens), merge_limit=more, min_frequency=least,
        )  # fmt: skip
        while not trainer.step(5):
            pass
        expected, _ = learn_words(words, tokens, len(tokens) + more, pmi=False, prefix="", least=max(least, 1))
        assert trainer.merges() == expected, (words, least, more)


def test_refuses_words_that_are_none() -> None:
    symbols, ends, counts = np.zeros(3, np.uint32), np.array([3], np.int64), np.array([1], np.uint64)
    with pytest.raises(ValueError, match="fit together"):
        FrequencyTrainer(symbols, ends - 1, counts, base=1, merge_limit=9)
    with pytest.raises(ValueError, match="fit together"):
        FrequencyTrainer(symbols + 1, ends, counts, base=1, merge_limit=9)
    with pytest.raises(OverflowError, match="sample"):
        FrequencyTrainer(symbols, ends, counts << 62, base=1, merge_limit=9)


@pytest.mark.parametrize(
    ("text", "options"),
    [
        ("a</w>b a</w>c a</w>d a", {"alphabet": "chars", "end_of_word": "</w>"}),
        ("<unk>x <unk>x <unk>y", {"alphabet": "chars", "end_of_word": "</w>"}),
        ("##a ##a xa xa ##ab", {"model": "wordpiece", "score": "frequency", "pattern": "whitespace"}),
    ],
)
def test_two_merges_of_one_token(text: str, options: dict[str, Any]) -> None:
    """Where a text holds a mark or a special token, what merges make may be there already, and keeps its id."""
    tok = bbpe.train_from_iterator([text], 60, **train_options(**options))
    prefix = "##" if options.get("model") else ""
    words: dict[str, int] = {}
    for word in text.split():
        words[word] = words.get(word, 0) + 1
    spelled = {
        word: [word[0], *(prefix + char for char in word[1:])] if prefix else [*word[:-1], word[-1] + "</w>"]
        for word in words
    }
    plain = {char for word in words for char in word} if prefix else set()
    symbols = {symbol for symbols in spelled.values() for symbol in symbols} | plain
    # where ids part pairs, characters without marks come first, as in `tokenizers`
    begun = ["[UNK]" if prefix else "<unk>", *sorted(symbols, key=lambda symbol: (bool(prefix and symbol[1:]), symbol))]
    coded = [([begun.index(symbol) for symbol in spelled[word]], count) for word, count in words.items()]
    ties = "ids" if prefix else "strings"
    merges, known = learn_words(coded, begun, 60, pmi=False, prefix=prefix, tie_break=ties)
    assert len(merges) > len(known) - len(begun)  # one was there already
    assert list(tok.get_vocab()) == known


@pytest.mark.parametrize("score", ["pmi", "frequency"])
def test_a_corpus_as_counted_anew(score: Any, corpus: Callable[..., str]) -> None:
    text = corpus("en", 4_000).lower()
    words: dict[str, int] = {}
    for word in text.split():
        words[word] = words.get(word, 0) + 1
    options = {"model": "wordpiece", "score": score, "pattern": "whitespace", "lowercase": False}
    tok = bbpe.train_from_iterator([text], 160, **train_options(**options))  # type: ignore[arg-type]
    symbols = sorted({char for word in words for char in word})
    symbols += sorted({"##" + char for word in words for char in word[1:]})
    ids = {symbol: number for number, symbol in enumerate(symbols, 1)}
    coded = [([ids[word[0]], *(ids["##" + char] for char in word[1:])], count) for word, count in words.items()]
    _, known = learn_words(coded, ["[UNK]", *symbols], 160, pmi=score == "pmi", prefix="##")
    assert list(tok.get_vocab()) == known


def test_words_are_among_those_of_tokenizers() -> None:
    """Its trainer numbers marked symbols by chance, and pairs of equal count merge by their numbers."""
    tokenizers, rng = pytest.importorskip("tokenizers"), random.Random(4)
    for _ in range(12):
        words = ["".join(rng.choices("ab", k=rng.randint(1, 5))) for _ in range(8)]
        text, size, seen = " ".join(rng.choices(words, k=20)), rng.choice((7, 9, 60)), set()
        for _ in range(40):
            theirs = tokenizers.Tokenizer(tokenizers.models.WordPiece(unk_token="[UNK]"))
            theirs.pre_tokenizer = tokenizers.pre_tokenizers.WhitespaceSplit()
            trainer = tokenizers.trainers.WordPieceTrainer(
                vocab_size=size, special_tokens=["[UNK]"], show_progress=False
            )
            theirs.train_from_iterator([text], trainer)
            seen.add(frozenset(theirs.get_vocab()))
        model = bbpe.WordPiece(score="frequency")
        tok = bbpe.train_from_iterator([text], size, model=model, pattern="whitespace", special_tokens=["[UNK]"])
        assert frozenset(tok.get_vocab()) in seen


def test_ends_of_words_by_ids_keep_the_plain_letters() -> None:
    """As in Hugging Face's trainer, whose merges these are: `x` ends words only, and is a token within one, too."""
    tokenizers = pytest.importorskip("tokenizers")
    text, end = "ax bx ab abx cab", "</w>"
    tok = bbpe.train_from_iterator([text], 40, model=bbpe.BPE(alphabet="chars", end_of_word=end, tie_break="ids"))
    theirs = tokenizers.Tokenizer(tokenizers.models.BPE(unk_token="<unk>", end_of_word_suffix=end))
    theirs.pre_tokenizer = tokenizers.pre_tokenizers.WhitespaceSplit()
    trainer = tokenizers.trainers.BpeTrainer(
        vocab_size=40, special_tokens=["<unk>"], end_of_word_suffix=end, show_progress=False
    )
    theirs.train_from_iterator([text], trainer)
    assert set(tok.get_vocab()) == set(theirs.get_vocab())
    assert tok.tokenize("xa") == ["x", "<unk>"]


@pytest.mark.parametrize("score", ["pmi", "frequency"])
def test_letters_within_words_may_begin_others(score: Any) -> None:
    """As in Hugging Face's trainer: `h` stands within words only, and `hat` is no unknown word."""
    texts = ["the cat sat on the mat then the rat ran to the cat"] * 3
    tok = bbpe.train_from_iterator(texts, 45, model=bbpe.WordPiece(score=score))
    assert set("acehmnorst") <= set(tok.get_vocab())
    for text in ("a hat", "e", "the hen", "net"):
        assert "[UNK]" not in tok.tokenize(text)
        assert tok.decode(tok.encode(text)) == text
    assert tok.tokenize("z") == ["[UNK]"]


def test_a_score_rises_when_a_symbol_gets_rarer() -> None:
    """ab first: then b c is all that is left of c, and goes before d e, which was better."""
    words = [([0, 1], 4), ([1, 2], 2), ([3, 4], 3), ([3], 2)]
    scores = learn_words(words, list("abcde"), 8, pmi=True)
    assert learned(words, list("abcde"), 8, pmi=True, prefix="", least=1) == scores


def test_wordpiece() -> None:
    tok = bbpe.train_from_iterator([TEXT, "Hug pug, pun bun hugs!"], 60, model="wordpiece")
    assert tok.tokenize("hugs")[0].startswith("h")
    assert tok.token_to_id("[UNK]") == 0
    assert tok.encode("中") == [0]
    assert bbpe.train_from_iterator([TEXT] * 2, 40, model=bbpe.WordPiece(min_frequency=100)).vocab_size < 40


def test_chinese() -> None:
    pieces = bbpe.train_from_iterator([CHINESE], 60, model="wordpiece", special_tokens=["[PAD]", "[UNK]"])
    assert pieces.tokenize("我爱北京") == ["我", "爱", "北", "京"]
    assert pieces.decode(pieces.encode("北京")) == "北 京"
    tok = bbpe.train_from_iterator([CHINESE], 80, model=bbpe.BPE(alphabet="chars", end_of_word="</w>", min_frequency=2))
    assert tok.tokenize("自然语言 天安门") == ["自然语", "言</w>", "天安", "门</w>"]
    assert tok.tokenize(CHINESE) == slow_words(tok, CHINESE)
    assert tok.decode(tok.encode("我爱北京 天安门")) == "我爱北京 天安门"


# -- words with an end --------------------------------------------------------------------------------------


def test_the_documents_example() -> None:
    """The text of Sennrich et al., lower-cased words between white space, `</w>` behind each."""
    tok = bbpe.train_from_iterator(
        [TEXT.title()],
        30,
        model=bbpe.BPE(alphabet="chars", end_of_word="</w>", lowercase=True, unk_token="<unk>"),
        pattern="whitespace",
    )
    assert tok.merges[:3] == [(b"s", b"t</w>"), (b"e", b"st</w>"), (b"l", b"o")]
    assert tok.tokenize("low newer") == ["low</w>", "ne", "wer</w>"]
    assert tok.decode(tok.encode("Low  newest\nlow")) == "low newest low"
    assert tok.tokenize("lxw") == ["l", "<unk>", "w</w>"]
    assert tok.encode("") == tok.encode(" \n") == []
    assert tok.encode_batch(["low", "newest low"]) == [tok.encode("low"), tok.encode("newest low")]
    assert tok.encode(b"low newer") == tok.encode("low newer")


def test_a_character_that_ends_no_word() -> None:
    """A symbol and the same at the end of a word are two; one that has no token is unknown, and only that one."""
    tok = bbpe.train_from_iterator(["ab ab cab"], 20, model=bbpe.BPE(alphabet="chars", end_of_word="</w>"))
    assert tok.tokenize("ab b") == ["ab</w>", "b</w>"]
    assert tok.tokenize("ba") == ["<unk>", "<unk>"]
    assert tok.tokenize("xc\u00e9ab") == ["<unk>", "c", "<unk>", "ab</w>"]


def slow_words(tok: bbpe.Tokenizer, text: str) -> list[str]:
    """Merge each word as apply_bpe.py of subword-nmt does."""
    ranks = {(a.decode(), b.decode()): number for number, (a, b) in enumerate(tok.merges)}
    vocab, found = tok.get_vocab(), []
    for word in re.findall(r"[^ \r\n]+", text):  # at a no-break space it does not split
        symbols = [*word[:-1], word[-1] + "</w>"]
        while len(symbols) > 1:
            best = min(pairwise(symbols), key=lambda two: ranks.get(two, 1 << 30))
            if best not in ranks:
                break
            i = 0
            while i + 1 < len(symbols):
                if (symbols[i], symbols[i + 1]) == best:
                    symbols[i : i + 2] = ["".join(best)]
                i += 1
        found += [symbol if symbol in vocab else "<unk>" for symbol in symbols]
    return found


def test_words_as_defined(corpus: Callable[..., str], tmp_path: Path) -> None:
    text = corpus("multi", 20_000)
    tok = bbpe.train_from_iterator(
        [text[:8_000]], 1_500, model=bbpe.BPE(alphabet="chars", end_of_word="</w>", max_alphabet=300)
    )
    assert tok.tokenize(text) == slow_words(tok, text)
    tok.save(tmp_path / "tokenizer.json")
    assert bbpe.load(tmp_path / "tokenizer.json") == tok
    hf = pytest.importorskip("tokenizers").Tokenizer.from_file(str(tmp_path / "tokenizer.json"))
    assert hf.encode(text).ids == tok.encode(text)
    assert hf.decode(tok.encode("a b"), skip_special_tokens=False) == tok.decode(tok.encode("a b"))


def test_codes(corpus: Callable[..., str], tmp_path: Path) -> None:
    apply_bpe = pytest.importorskip("subword_nmt.apply_bpe")
    text = corpus("en", 60_000)
    bbpe.train_from_iterator([text], 2_000, model=bbpe.BPE(alphabet="chars", end_of_word="</w>")).save(
        tmp_path / "x.codes"
    )
    tok = bbpe.load(tmp_path / "x.codes")
    with (tmp_path / "x.codes").open(encoding="utf-8") as file:
        theirs = apply_bpe.BPE(file)
    pieces = theirs.segment_tokens(re.findall(r"[^ \r\n]+", text))
    expected = [piece[:-2] if piece.endswith("@@") else piece + "</w>" for piece in pieces]
    vocab = tok.get_vocab()
    assert tok.tokenize(text) == [piece if piece in vocab else "<unk>" for piece in expected]
    tok.save(tmp_path / "again.codes")
    assert bbpe.load(tmp_path / "again.codes") == tok


def test_a_stray_character_in_clips_merges_is_named(tmp_path: Path) -> None:
    """Found by mutating files: the error named neither file nor merge."""
    path = tmp_path / "bpe_simple_vocab_16e6.txt"
    path.write_bytes(b'"bpe_simple_vocab_16e6.txt#version: 0.2\ns e\nm\r y</w>\n')
    with pytest.raises(bbpe.VocabularyError, match=r"16e6\.txt: merge 'm\\r y</w>': .*U\+000D"):
        bbpe.load(path)


def test_clip(tmp_path: Path) -> None:
    """A small file as CLIP's: bytes, and merges of them in GPT-2's alphabet; special tokens around a text."""
    lines = ["i n", "in g</w>", "c a", "ca t</w>", "Ã ©</w>"]
    path = tmp_path / "bpe_simple_vocab_16e6.txt"
    path.write_text('"bpe_simple_vocab_16e6.txt#version: 0.2\n' + "\n".join(lines) + "\n", "utf-8")
    tok = bbpe.load(path)
    assert len(tok) == 512 + 5 + 2
    assert tok.tokenize("A Cat sing é1") == [
        "a</w>", "cat</w>", "s", "ing</w>", "Ã©</w>", "1</w>",
    ]  # fmt: skip
    assert tok.decode(tok.encode("A cat, é")) == "a cat , é"
    assert tok.encode("cat", add_special_tokens=True) == [517, 515, 518]
    assert list(tok.get_vocab())[:2] == [bytes_to_alphabet(bytes((byte,))) for byte in BYTE_ORDER[:2]]
    tok.save(tmp_path / "tokenizer.json")
    assert bbpe.load(tmp_path / "tokenizer.json") == tok
    hf = pytest.importorskip("tokenizers").Tokenizer.from_file(str(tmp_path / "tokenizer.json"))
    for text in ("A Cat sing é1", "中文 it's 12", ""):
        assert hf.encode(text, add_special_tokens=False).ids == tok.encode(text)


@pytest.mark.parametrize("text", ["#version: 0.3\na b</w>\n", "#version: 0.2\na b</w>\na  b\n"])
def test_broken_codes(text: str, tmp_path: Path) -> None:
    (tmp_path / "x.codes").write_text(text, "utf-8")
    with pytest.raises(VocabularyError, match="line"):
        bbpe.load(tmp_path / "x.codes")


# -- arguments ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"model": "runes"}, "model is 'runes'"),
        ({"alphabet": "words"}, "alphabet is 'words'"),
        ({"model": "wordpiece", "score": "loss"}, "score is 'loss'"),
        ({"end_of_word": "</w>"}, "BPE.end_of_word is '</w>'; expected it only with alphabet='chars'"),
        ({"word_start": "\u2581"}, "BPE.word_start is '\u2581'; expected it only with"),
        ({"alphabet": "chars", "word_start": "_"}, r"word_start is '_'; expected '\u2581' \(U\+2581\)"),
        ({"alphabet": "chars", "word_start": ""}, "word_start is ''"),
        ({"alphabet": "chars", "word_start": "\u2581", "end_of_word": "</w>"}, "'</w>' and word_start .* one of them"),
        ({"alphabet": "chars", "pattern": "gpt2"}, "pattern is 'gpt2', .* expected no pattern, or an end_of_word"),
        ({"alphabet": "chars", "special_tokens": ["a"]}, "'a' is one symbol of words"),
        ({"alphabet": "chars", "special_tokens": ["\u2581a"]}, "'\u2581a' is how files write a blank"),
        ({"alphabet": "chars", "unk_token": ""}, "unk_token: '' is empty; expected a text"),
        ({"alphabet": "chars", "unk_token": "?"}, r"unk_token: '\?' is one symbol of words"),
        ({"alphabet": "chars", "end_of_word": "</w>", "unk_token": "a</w>"}, "unk_token: 'a</w>' is one symbol"),
        ({"alphabet": "chars", "special_tokens": ["<0x0A>"]}, "'<0x0A>' is how files write a blank or a byte"),
        ({"alphabet": "chars", "end_of_word": "</w>", "tie_break": "first"}, "'first'; expected 'strings' or 'ids'"),
        ({"alphabet": "chars", "tie_break": "bytes"}, "tie_break is 'bytes'; expected 'strings' or 'ids'"),
        ({"tie_break": "strings"}, r"tie_break is 'strings'; expected .* \('strings' is for alphabet='chars'\)"),
        ({"lowercase": True}, "BPE.lowercase is True; expected it only with"),
        ({"alphabet": "chars", "pad_vocab_to": 8}, "BPE.pad_vocab_to is 8; expected it only with alphabet='bytes'"),
        ({"alphabet": "chars", "max_token_length": 8}, "BPE.max_token_length is 8; expected it only with"),
    ],
    ids=str,
)
def test_refuses_arguments(options: dict[str, Any], words: str) -> None:
    with pytest.raises(ValueError, match=words):
        bbpe.train_from_iterator(["a b"], 300, **train_options(**options))


def test_refuses_what_has_no_room() -> None:
    with pytest.raises(ValueError, match="max_alphabet"):
        bbpe.train_from_iterator(["abcdef"], 3, model="wordpiece")
    with pytest.raises(CorpusError, match="no word"):
        bbpe.train_from_iterator([" \n"], 30, model="wordpiece")


def test_files_threads_and_texts_agree(corpus: Callable[..., str], tmp_path: Path) -> None:
    text = corpus("multi", 40_000)
    (tmp_path / "a.txt").write_text(text, "utf-8", newline="")
    options: dict[str, Any] = {"model": "wordpiece", "max_alphabet": 500}
    one = bbpe.train(tmp_path / "a.txt", 1500, **train_options(threads=1, **options))
    assert one == bbpe.train(tmp_path / "a.txt", 1500, **train_options(threads=2, **options))
    assert one == bbpe.train_from_iterator([text], 1500, **train_options(**options))


@pytest.mark.parametrize("text", ["a b c", "c b a", "b c a a", "c c b b a a"])
def test_of_equally_frequent_characters_the_lowest_stay(text: str) -> None:
    """Not those that come first, which would depend on the order of files."""
    for model in (
        bbpe.WordPiece(max_alphabet=2),
        bbpe.BPE(alphabet="chars", end_of_word="</w>", max_alphabet=2, unk_token="<unk>"),
    ):
        tok = bbpe.train_from_iterator([text], 30, model=model)
        known = {key.removesuffix("</w>").removeprefix("##") for key in tok.get_vocab()}
        assert known & {"a", "b", "c"} == {"a", "b"}, model
