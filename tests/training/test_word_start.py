"""BPE of characters in words that begin with U+2581, against HF's trainer and encoder and SentencePiece's encoder."""

from __future__ import annotations

import random
import re
from collections import Counter
from collections.abc import Callable, Sequence
from itertools import pairwise, product
from pathlib import Path
from typing import Any

import pytest
from options import train_options

import bbpe
from bbpe.cli import main
from bbpe.core.split import Splitter
from bbpe.errors import CorpusError, VocabularyError
from bbpe.reference import learn_words
from bbpe.spec.rules import Lowercase
from bbpe.splitting.patterns import BLANK_PARTS

TEXTS = [
    "see my eyes first",
    "see my dogs",
    "  I have 12 dogs, na\u00efve caf\u00e9 ",
    "",
    "\u4e2d\u6587 \U0001d4b3\n\ta  a",
]


def trained(texts: Sequence[str | bytes], size: int, **options: Any) -> bbpe.Tokenizer:
    return bbpe.train_from_iterator(texts, size, **train_options(alphabet="chars", **options))


def hf_trained(texts: Sequence[str], size: int, special_tokens: Sequence[str] = ("<unk>",), **options: Any) -> Any:
    """Return what HF's `tokenizers` trains behind Metaspace."""
    hf = pytest.importorskip("tokenizers")
    tok = hf.Tokenizer(hf.models.BPE(unk_token="<unk>", fuse_unk=True))
    tok.pre_tokenizer = hf.pre_tokenizers.Metaspace()
    trainer = hf.trainers.BpeTrainer(
        vocab_size=size, special_tokens=list(special_tokens), show_progress=False, **{"min_frequency": 1, **options}
    )
    tok.train_from_iterator(texts, trainer)
    return tok


def pieces(tok: bbpe.Tokenizer, text: str) -> list[str]:
    """Return the tokens of a text as files write them."""
    names = {token_id: name for name, token_id in tok.get_vocab().items()}
    return [names[token_id] for token_id in tok.encode(text)]


def check_saved(tok: bbpe.Tokenizer, texts: Sequence[str], folder: Path) -> None:
    """A tokenizer.json loads as an equal tokenizer, and HF's ids for it are ours."""
    tok.save(folder / "tokenizer.json")
    assert bbpe.load(folder / "tokenizer.json") == tok
    hf = pytest.importorskip("tokenizers").Tokenizer.from_file(str(folder / "tokenizer.json"))
    for text in texts:
        assert hf.encode(text, add_special_tokens=False).ids == tok.encode(text), text


def test_texts_come_back(tmp_path: Path) -> None:
    tok = trained(TEXTS, 200)
    assert tok == trained(TEXTS, 200, word_start="\u2581")
    letters = "see my\u00e9\u4e2d\U0001d4b3\n\t12,"
    rng = random.Random(1)
    texts = ["", " ", "   ", "see  my eyes", " a", "a ", "\n", "\n a", *TEXTS]
    texts += ["".join(rng.choices(letters, k=rng.randint(1, 20))) for _ in range(200)]
    for text in texts:
        assert tok.decode(tok.encode(text)) == text
    assert tok.encode_batch(texts) == [tok.encode(text) for text in texts]
    check_saved(tok, [*texts, "unknown: \u044f\u044f \u044f"], tmp_path)
    assert pieces(tok, "my \u044f\u044f eyes") == ["\u2581my", "\u2581", "<unk>", "\u2581eyes"]


def test_no_token_crosses_a_blank() -> None:
    tok = trained(["a b a b a  b"] * 9, 100)
    assert [token for token in tok.get_vocab() if "\u2581" in token[1:]] == []
    assert pieces(tok, "a b  a") == ["\u2581a", "\u2581b", "\u2581", "\u2581a"]


@pytest.mark.parametrize("longest", [4, pytest.param(5, marks=pytest.mark.full)])
def test_all_small_texts(longest: int) -> None:
    """Merges of all texts of a few characters, counted anew before each; HF's are in the next tests."""
    for n in range(1, longest + 1):
        for chars in product("ab ", repeat=n):
            text = "".join(chars)
            words = Counter("\u2581" + word for word in text.removeprefix(" ").split(" "))
            tokens = ["<unk>", *sorted({char for word in words for char in word})]
            coded = [([tokens.index(char) for char in word], count) for word, count in words.items()]
            for ties in ("ids", "strings"):
                _, known = learn_words(coded, tokens, 100, pmi=False, tie_break=ties)
                assert list(trained([text], 100, tie_break=ties).get_vocab()) == known, (text, ties)


@pytest.mark.parametrize(
    "letters", ["ab ", "abcdef ", "a\u2581 ", "\u4e2d\u6587\u3002 \n", "\U0001d4b3\uffeea  "], ids=ascii
)
def test_soups_as_hf(letters: str, tmp_path: Path) -> None:
    """Few letters make many ties.  U+2581 in a text is a blank in both."""
    rng = random.Random(letters)
    for number in range(15):
        texts = ["".join(rng.choices(letters, k=rng.randint(1, 30))) for _ in range(rng.randint(1, 6))]
        least = rng.choice([1, 1, 2, 3])
        tok = trained(texts, 60, min_frequency=least)
        assert tok.get_vocab() == hf_trained(texts, 60, min_frequency=least).get_vocab(), (texts, least)
        if number < 5:
            check_saved(tok, texts, tmp_path)


@pytest.mark.parametrize("name", ["en", "multi", "ja", "zh", "code"])
def test_real_text_as_hf(name: str, corpus: Callable[..., str], tmp_path: Path) -> None:
    text = corpus(name, 6_000)
    for texts in ([text], text.splitlines(keepends=True)):
        tok = trained(texts, 1_200, special_tokens=["<s>", "<|end|>"])
        hf = hf_trained(texts, 1_200, ["<unk>", "<s>", "<|end|>"])
        assert tok.get_vocab() == hf.get_vocab()
    assert tok.decode(tok.encode(text)) == text
    later = corpus(name, 12_000)[len(text) :]
    assert later
    check_saved(tok, [text, later], tmp_path)


def test_real_text_as_sentencepiece(corpus: Callable[..., str], tmp_path: Path) -> None:
    """The .model that is saved has the same ids in SentencePiece itself, and loads as an equal tokenizer."""
    sentencepiece = pytest.importorskip("sentencepiece")
    text = corpus("en", 60_000)
    tok = trained([text], 2_000)
    tok.save(tmp_path / "x.model")
    assert bbpe.load(tmp_path / "x.model") == tok
    model = sentencepiece.SentencePieceProcessor(model_file=str(tmp_path / "x.model"))
    for line in text.splitlines()[:200]:
        assert model.encode(line) == tok.encode(line), line


def test_a_model_holds_it_or_is_refused(tmp_path: Path) -> None:
    rng = random.Random(5)
    for _ in range(15):
        texts = ["".join(rng.choices("abc ", k=rng.randint(4, 30))) for _ in range(4)]
        tok = trained(texts, 30, special_tokens=["<s>"])
        tok.save(tmp_path / "x.model")
        assert bbpe.load(tmp_path / "x.model") == tok
    with pytest.raises(VocabularyError, match=r"y\.model: a SentencePiece model cannot hold the normalizers"):
        trained(TEXTS, 200, lowercase=True).save(tmp_path / "y.model")
    assert not (tmp_path / "y.model").exists()


def test_options(tmp_path: Path) -> None:
    """Sizes, special tokens, the unknown token, rare characters and letters are as for words with an end."""
    texts = ["See the Seas, see \u0130\u03a3 \u039f\u03a3 x"] * 3
    assert len(trained(texts, 25)) == 25
    tok = trained(texts, 60, special_tokens=["<s>", "[X]"], unk_token="[X]")
    assert (tok.token_to_id("<s>"), tok.token_to_id("[X]")) == (0, 1)
    assert pieces(tok, "q") == ["\u2581", "[X]"]
    assert tok.encode("see<s>see", allowed_special="all") == [*tok.encode("see"), 0, *tok.encode("see")]
    check_saved(tok, ["see q<a>"], tmp_path)
    low = trained(texts, 80, lowercase=True)
    assert low.spec.rules.normalizers[0] == Lowercase()
    assert low.decode(low.encode("SEE \u039f\u03a3")) == "see \u03bf\u03c3"
    assert "<unk>" not in pieces(low, texts[0])
    check_saved(low, [texts[0], "SEE \u039f\u03a3 Q"], tmp_path)
    few = trained(["bab abc"] * 3, 60, max_alphabet=2)
    assert [token for token in few.get_vocab() if len(token) == 1] == ["b", "\u2581"]
    few = trained(["ab"] * 3, 60, max_alphabet=2)
    assert [token for token in few.get_vocab() if len(token) == 1] == ["a", "\u2581"]  # of equals the lowest
    assert trained(["ab ab cd"], 60, min_frequency=2).merges == trained(["ab ab"], 60).merges
    with pytest.raises(ValueError, match="vocab_size is 3; expected at least 4"):
        trained(["ab"], 3)
    with pytest.raises(CorpusError, match="no word"):
        trained([""], 60)


def test_a_rare_mark_stays_with_few_characters() -> None:
    """Each text begins with the mark: a vocabulary without it would have an unknown token there."""
    tok = trained(["aaaaabbbbb"], 60, max_alphabet=2)
    assert [token for token in tok.get_vocab() if len(token) == 1] == ["a", "\u2581"]
    assert tok.decode(tok.encode("aa a")) == "aa a"


def test_parts_are_cut_as_their_regex_says() -> None:
    rng, scheme = random.Random(4), BLANK_PARTS.scheme
    assert scheme is not None
    for _ in range(300):
        data = "".join(rng.choices("ab \n\u00e9\u4e2d", k=rng.randint(0, 30))).encode()
        bounds = Splitter(scheme).spans(data).tolist()
        assert [data[start:end].decode() for start, end in pairwise(bounds)] == list(BLANK_PARTS.split(data.decode()))


def test_special_tokens_separate_texts() -> None:
    assert trained(["see<s>see"], 60, special_tokens=["<s>"]) == trained(["see", "see"], 60, special_tokens=["<s>"])


def test_bytes_files_and_threads_agree(corpus: Callable[..., str], tmp_path: Path) -> None:
    text = corpus("multi", 40_000)
    (tmp_path / "a.txt").write_text(text, "utf-8", newline="")
    options: dict[str, Any] = {"alphabet": "chars", "max_alphabet": 500}
    one = trained([text], 1_500, max_alphabet=500)
    assert one == trained([text.encode()], 1_500, max_alphabet=500)
    for threads in (1, 2):
        assert one == bbpe.train(tmp_path / "a.txt", 1_500, **train_options(threads=threads, **options))
    lines = bbpe.train(tmp_path / "a.txt", 1_500, **train_options(document="line", **options))
    assert lines == trained(re.findall(r"[^\n]*\n|[^\n]+", text), 1_500, max_alphabet=500)


def test_the_command_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    def call(*arguments: object) -> tuple[int, str]:
        status = main(list(map(str, arguments)))
        return status, capsys.readouterr().err

    (tmp_path / "a.txt").write_text("see my eyes\nsee my dogs\n")
    options = ("train", tmp_path / "a.txt", "--vocab-size", "40", "--alphabet", "chars")
    for name, more in (("a", ()), ("b", ("--word-start", "\u2581")), ("c", ("--tie-break", "strings"))):
        status, errors = call(*options, *more, "-o", tmp_path / f"{name}.json")
        assert status == 0, errors
    plain = bbpe.train(tmp_path / "a.txt", 40, model=bbpe.BPE(alphabet="chars"))
    assert bbpe.load(tmp_path / "a.json") == bbpe.load(tmp_path / "b.json") == plain
    assert bbpe.load(tmp_path / "c.json") == bbpe.train(
        tmp_path / "a.txt", 40, model=bbpe.BPE(alphabet="chars", tie_break="strings")
    )
    status, errors = call(*options, "--word-start", "_", "-o", tmp_path / "d.json")
    assert status != 0
    assert "--word-start is '_'" in errors
    assert not (tmp_path / "d.json").exists()
