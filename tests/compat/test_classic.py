"""`BBPETokenizer`: its files equal those of the naive loop, and it reads them back."""

from __future__ import annotations

import json
import random
import sys
from collections import Counter
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import regex

import bbpe
from bbpe import BBPETokenizer
from bbpe.text import bytes_to_alphabet

GPT2 = r"'s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+"
Train = Callable[..., tuple[bytes, bytes]]

ENGLISH = (
    "It was the best of times, it was the worst of times, it was the age of wisdom, it was the age of "
    "foolishness, it was the epoch of belief, it wasn't the epoch of 1789 or 17890.\n\n  They'll see, we've seen.\n"
) * 2
CHINESE = (
    "深度学习是人工智能的未来。机器学习可以应用于自然语言处理，人工智能改变世界；"
    "学习深度神经网络在图像识别中表现优秀。我喜欢吃苹果，苹果派也喜欢。"
) * 2
TEXTS = {
    "english": ENGLISH,
    "chinese": CHINESE,
    "mixed": ENGLISH[:150] + CHINESE + "naïve café ☕ 😀😀 don't DON'T\t\tx = y**2  # 注释\r\n" * 3,
    "runs": "aaaaaaa aaaa aaaaa aaa aa bababab ababa 000000 !!!!!! \n\n\n\n      x",
    "one pretoken": "abracadabra" * 9,
    "no pairs": "a b c\nd",
    "one character": "a",
}


def naive(data: str, vocab_size: int) -> tuple[bytes, bytes]:
    """Return what the naive loop writes to the two files, stopping where it runs out of pairs."""
    words = [[bytes_to_alphabet(bytes((byte,))) for byte in word.encode()] for word in regex.findall(GPT2, data)]
    vocab, merges = {bytes_to_alphabet(bytes((byte,))) for byte in range(256)}, []
    while len(vocab) < vocab_size:
        counts: Counter[tuple[str, str]] = Counter()
        for word in words:
            counts.update(pairwise(word))
        if not counts:
            break
        best = counts.most_common(1)[0][0]
        vocab.add(best[0] + best[1])
        merges.append(best)
        words = [merged(word, best) for word in words]
    numbered = {token: number for number, token in enumerate(sorted(vocab))}
    lines = "".join(f"{left} {right}\n" for left, right in merges)
    return json.dumps(numbered, ensure_ascii=False).encode(), lines.encode()


def merged(word: list[str], pair: tuple[str, str]) -> list[str]:
    out, i = [], 0
    while i < len(word):
        if tuple(word[i : i + 2]) == pair:
            out.append(word[i] + word[i + 1])
            i += 2
        else:
            out.append(word[i])
            i += 1
    return out


@pytest.fixture
def train(tmp_path: Path) -> Train:
    def run(data: str, vocab_size: int) -> tuple[bytes, bytes]:
        vocab, merges = tmp_path / "vocab.json", tmp_path / "merges.txt"
        BBPETokenizer.train_tokenizer(data, vocab_size, vocab_outfile=str(vocab), merges_outfile=str(merges))
        return vocab.read_bytes(), merges.read_bytes()

    return run


@pytest.mark.parametrize("vocab_size", [256, 257, 300, 5000])
@pytest.mark.parametrize("name", TEXTS)
def test_the_files_equal_those_of_the_naive_loop(train: Train, name: str, vocab_size: int) -> None:
    assert train(TEXTS[name], vocab_size) == naive(TEXTS[name], vocab_size)


@pytest.mark.parametrize("seed", range(16))
def test_the_files_equal_those_of_the_naive_loop_on_random_texts(train: Train, seed: int) -> None:
    chance = random.Random(seed)
    # few letters make many ties and many overlapping pairs
    alphabet = chance.choice(["ab ", "aab\n", "abc  ", "aé ", "学习 ", "ab1!'s ", "\t\n a"])
    text = "".join(chance.choices(alphabet, k=chance.randrange(2, 400)))
    vocab_size = chance.randrange(256, 420)
    assert train(text, vocab_size) == naive(text, vocab_size)


@pytest.mark.parametrize("name", ["en", "zh"])
def test_the_files_equal_those_of_the_naive_loop_on_real_text(
    train: Train, corpus: Callable[..., str], name: str
) -> None:
    text = corpus(name, 3_000)
    assert train(text, 300) == naive(text, 300)


@pytest.fixture
def tokenizer(tmp_path: Path) -> BBPETokenizer:
    files = tmp_path / "vocab.json", tmp_path / "merges.txt"
    BBPETokenizer.train_tokenizer(TEXTS["mixed"], 420, *files)
    return BBPETokenizer(*files)


def naive_ids(folder: Path, text: str) -> list[int]:
    """Apply each merge to all of a pretoken, in order."""
    vocab = json.loads((folder / "vocab.json").read_text("utf-8"))
    merges = [tuple(line.split(" ")) for line in (folder / "merges.txt").read_text("utf-8").split("\n")[:-1]]
    ids = []
    for pretoken in regex.findall(GPT2, text):
        word = list(bytes_to_alphabet(pretoken.encode()))
        for merge in merges:
            word = merged(word, merge)
        ids += [vocab[token] for token in word]
    return ids


@pytest.mark.parametrize("text", [*TEXTS.values(), "", "unseen žluťoučký kůň 🐎", "\x00\x7f\u00ad"])
def test_ids_are_those_of_the_files(tokenizer: BBPETokenizer, tmp_path: Path, text: str) -> None:
    ids = naive_ids(tmp_path, text)
    vocab = json.loads((tmp_path / "vocab.json").read_text("utf-8"))
    assert tokenizer.encode(text) == ids
    assert [vocab[token] for token in tokenizer.tokenize(text)] == ids
    assert tokenizer.decode(ids) == text
    assert tokenizer.decode(np.array(ids, np.int64)) == text


def test_a_batch_keeps_its_order(tokenizer: BBPETokenizer) -> None:
    batch = list(TEXTS.values())
    expected = [tokenizer.encode(text) for text in batch]
    assert tokenizer.encode_batch(batch) == tokenizer.encode_batch(batch, num_threads=1) == expected


@pytest.mark.parametrize("call", [BBPETokenizer.forward, BBPETokenizer.__call__])
def test_forward_without_torch(
    tokenizer: BBPETokenizer, monkeypatch: pytest.MonkeyPatch, call: Callable[..., object]
) -> None:
    monkeypatch.setitem(sys.modules, "torch", None)
    ids = call(tokenizer, "see my dogs")
    assert isinstance(ids, np.ndarray)
    assert ids.dtype == np.int64
    assert ids.tolist() == tokenizer.encode("see my dogs")
    flat = call(tokenizer, ["see my", "dogs"])
    assert isinstance(flat, np.ndarray)
    assert flat.tolist() == tokenizer.encode("see my") + tokenizer.encode("dogs")
    assert call(tokenizer, []).shape == (0,)  # type: ignore[attr-defined]


def test_forward_with_torch(tokenizer: BBPETokenizer, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "torch", SimpleNamespace(from_numpy=lambda array: ("tensor", array.tolist())))
    assert tokenizer("see") == ("tensor", tokenizer.encode("see"))


def test_forward_with_the_real_torch(tokenizer: BBPETokenizer) -> None:
    torch = pytest.importorskip("torch")
    ids = tokenizer.forward("see my dogs")
    assert ids.dtype == torch.int64
    assert tokenizer.decode(ids) == "see my dogs"


def test_it_is_named_at_the_top() -> None:
    assert bbpe.BBPETokenizer is BBPETokenizer


@pytest.mark.parametrize("vocab_size", [255, 0, -1])
def test_too_small_a_vocabulary_writes_nothing(tmp_path: Path, vocab_size: int) -> None:
    with pytest.raises(ValueError, match="vocab_size"):
        BBPETokenizer.train_tokenizer("text", vocab_size, tmp_path / "vocab.json", tmp_path / "merges.txt")
    assert not list(tmp_path.iterdir())


def test_bad_data(tmp_path: Path) -> None:
    with pytest.raises(bbpe.CorpusError):
        BBPETokenizer.train_tokenizer("", 300)
    with pytest.raises(TypeError):
        BBPETokenizer.train_tokenizer(["a text"], 300)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("name", "content", "said"),
    [
        ("vocab.json", b'{"a": 1', "JSON"),
        ("vocab.json", b"[]", "object"),
        ("vocab.json", b'{"a": "b"}', "'a'|\"b\""),
        ("vocab.json", b'{"a": 0, "b": 0}', "0"),
        ("vocab.json", b'{"a": 0, "b": -1}', "0 to"),
        ("merges.txt", b"a b c\n", "1"),
        ("merges.txt", b"a b\na\n", "2"),
        ("merges.txt", b"Q Z\n", "QZ"),
        ("merges.txt", b"a \xff\n", "merges.txt"),
    ],
)
def test_broken_files_are_named(tmp_path: Path, name: str, content: bytes, said: str) -> None:
    files = tmp_path / "vocab.json", tmp_path / "merges.txt"
    BBPETokenizer.train_tokenizer("a b", 256, *files)
    (tmp_path / name).write_bytes(content)
    with pytest.raises(bbpe.VocabularyError, match=said) as caught:
        BBPETokenizer(*files)
    assert name in str(caught.value)


def test_missing_files_are_named(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError) as caught:
        BBPETokenizer(tmp_path / "vocab.json", tmp_path / "merges.txt")
    assert Path(caught.value.filename).name in ("vocab.json", "merges.txt")


@pytest.mark.parametrize("names", [("vocab",), ("merges",), ("vocab", "merges"), ()])
def test_only_the_files_that_are_asked_for_are_written(tmp_path: Path, names: tuple[str, ...]) -> None:
    paths = {f"{name}_outfile": tmp_path / name for name in names}
    BBPETokenizer.train_tokenizer("low lower lowest é", 262, **paths)
    assert sorted(path.name for path in tmp_path.iterdir()) == sorted(names)


def test_ids_of_any_kind_are_decoded_and_texts_beyond_ascii_are_kept(tmp_path: Path) -> None:
    files = tmp_path / "vocab", tmp_path / "merges"
    BBPETokenizer.train_tokenizer("low é中 low é中", 270, *files)
    tok = BBPETokenizer(*files)
    ids = tok.encode("low é中")
    for given in (ids, tuple(ids), np.array(ids), np.array(ids, np.int16), SimpleNamespace(tolist=lambda: ids)):
        assert tok.decode(given) == "low é中"
    assert tok.forward(["low", "é中"]).tolist() == [*tok.encode("low"), *tok.encode("é中")]
    assert tok("low é中").tolist() == ids == tok.encode_batch(["low é中", "x"], num_threads=2)[0]


@pytest.mark.parametrize("argument", ["vocab_path", "merges_path"])
def test_what_is_no_path_is_refused_by_the_name_of_its_argument(argument: str, tmp_path: Path) -> None:
    paths: dict[str, Any] = {"vocab_path": str(tmp_path / "vocab.json"), "merges_path": str(tmp_path / "merges.txt")}
    with pytest.raises(TypeError, match=rf"^{argument} .*a str or a path"):
        BBPETokenizer(**{**paths, argument: 5})
    with pytest.raises(ValueError, match="https://server/file: a vocabulary is not read from a URL; copy it"):
        BBPETokenizer(**{**paths, argument: "https://server/file"})


@pytest.mark.parametrize("names", [("x", "x"), ("x", "./x"), ("x", "y/../x")])
def test_two_files_need_two_paths(names: tuple[str, str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(ValueError, match=r"vocab_outfile and merges_outfile are both 'x'; expected two paths"):
        BBPETokenizer.train_tokenizer("low lower", 258, *names)
    with pytest.raises(ValueError, match="expected two paths"):
        BBPETokenizer.train_tokenizer("low lower", 258, tmp_path / names[0], names[1])
    assert not list(tmp_path.iterdir())
