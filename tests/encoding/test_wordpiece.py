"""WordPiece: encoding against its definition and HF's `tokenizers`, files, decoding."""

from __future__ import annotations

import itertools
import json
import pickle
import random
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import bbpe
from bbpe.core.wordpiece import WordPiece as Model
from bbpe.errors import VocabularyError
from bbpe.reference import word_pieces
from bbpe.reference.normalizers import normalizer
from bbpe.reference.pre_tokenizers import pretokens
from bbpe.spec.models import WordLevelModel, WordPieceModel
from bbpe.spec.rules import BertNormalizer, BertPreTokenizer
from bbpe.spec.spec import TokenizerSpec, make_spec
from bbpe.splitting.patterns import PATTERNS, get_pattern

SPECIALS = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
TEXT = (
    "The unaffable café-owner's naïve résumé: 100% of it (or so) isn't new!  Größe, ΑΣΦΑΛΗΣ, İstanbul… \t\n"
    "我爱北京天安门。 自然语言处理很有趣！ 東京は日本の首都です。カタカナもある、そうです。 "
    "한국어 문장입니다. \U0001d15e\x00\ufffd"
)


@pytest.fixture(scope="module")
def trained() -> bbpe.Tokenizer:
    return bbpe.train_from_iterator([TEXT] * 3, 400, model="wordpiece", special_tokens=SPECIALS)


def small(words: str, **options: Any) -> bbpe.Tokenizer:
    keys = [*SPECIALS, *words.split()]
    model = WordPieceModel(keys.index("[UNK]"), **options)
    specials = {text: number for number, text in enumerate(SPECIALS)}
    vocab = {number: key.encode() for number, key in enumerate(keys)}
    return bbpe.Tokenizer(
        make_spec(vocab, None, pattern=PATTERNS["whitespace"], special_tokens=specials, model=model)
    )


def test_the_documents_example() -> None:
    tok = small("un ##aff ##able able ##a")
    assert tok.tokenize("unaffable unable able affable") == ["un", "##aff", "##able", "un", "##able", "able", "[UNK]"]
    assert tok.decode(tok.encode("unaffable able")) == "unaffable able"


def test_every_small_vocabulary_and_word_as_defined() -> None:
    """All words of two letters over vocabularies that make failures of every kind."""
    rng = random.Random(1)
    words = ["".join(word) for n in range(1, 8) for word in itertools.product("ab", repeat=n)]
    pool = [word for word in words if len(word) < 6]
    for _ in range(60):
        begin, behind = rng.sample(pool, rng.randint(1, 8)), rng.sample(pool, rng.randint(0, 8))
        keys = ["[UNK]", *begin, *(f"##{word}" for word in behind)]
        ids = {key: number for number, key in enumerate(keys)}
        vocab = {number: key.encode() for key, number in ids.items()}
        model = Model(vocab, unknown=0, prefix=b"##", max_characters=100)
        for word in words:
            for linear in (False, True):
                assert model.encode_pretoken(word.encode(), linear) == word_pieces(word, ids, 0), (keys, word)


@pytest.mark.parametrize("prefix", ["##", "", "é"])
def test_random_words_as_defined(prefix: str) -> None:
    rng = random.Random(2)
    for _ in range(70):
        letters = rng.sample(["a", "b", "é", "中", "#", "##", "😀", "c"], rng.randint(1, 4))
        keys = ["".join(rng.choices(letters, k=rng.randint(1, 5))) for _ in range(20)]
        keys = list(dict.fromkeys(["[UNK]", *keys, *(prefix + key for key in keys[:12])]))
        ids = {key: number for number, key in enumerate(keys)}
        vocab = {number: key.encode() for key, number in ids.items()}
        model = Model(vocab, unknown=0, prefix=prefix.encode(), max_characters=9)
        for _ in range(50):
            word = "".join(rng.choices(letters, k=rng.randint(1, 12)))
            expected = word_pieces(word, ids, 0, prefix=prefix, max_characters=9)
            for linear in (False, True):
                assert model.encode_pretoken(word.encode(), linear) == expected, (keys, word)


def test_a_long_word_takes_linear_time() -> None:
    vocab = {0: b"[UNK]", 1: b"a", 2: b"##a", 3: b"a" * 5000 + b"b", 4: b"##" + b"a" * 5000 + b"b"}
    model = Model(vocab, unknown=0, prefix=b"##", max_characters=1 << 20)
    assert model.encode_pretoken(b"a" * 200_000) == [1] + [2] * 199_999
    assert model.encode_pretoken(b"a" * 7000 + b"b") == [1] + [2] * 1999 + [4]


def test_ids_by_every_way_of_encoding(trained: bbpe.Tokenizer) -> None:
    rule = trained.spec.rules.normalizers[0]
    assert isinstance(rule, BertNormalizer)
    normalize = normalizer([rule])
    assert normalize is not None
    ids = {key: token_id for key, token_id in trained.get_vocab().items() if key not in SPECIALS}
    texts = [TEXT, TEXT * 150, "", " ", "a", "\n\n", TEXT[::-1]]
    for text in texts:
        words = [word.decode() for word in pretokens([BertPreTokenizer()], normalize(text))]
        expected = [token_id for word in words for token_id in word_pieces(word, ids, 1)]
        assert trained.encode(text) == expected
        assert trained.encode(text.encode()) == expected
        assert trained.encode_to_numpy(text, threads=2).tolist() == expected
        assert trained.encode_batch([text, text]) == [expected, expected]
        assert np.array_equal(trained.encode_batch_to_numpy([text], threads=2).ids, expected)
        halves = [text[: len(text) // 3], text[len(text) // 3 :]]
        assert list(trained.encode_iterable(halves)) == expected
        trained.clear_cache()
        assert trained.encode(text) == expected


def test_special_tokens_are_plain_text_unless_allowed(trained: bbpe.Tokenizer) -> None:
    assert 4 not in trained.encode("the [MASK]")
    assert trained.encode("the [MASK] of it", allowed_special="all").count(4) == 1
    assert trained.encode("it", add_special_tokens=True) == [2, *trained.encode("it"), 3]


def test_decoding_as_hf(trained: bbpe.Tokenizer, tmp_path: Path) -> None:
    hf = pytest.importorskip("tokenizers").Tokenizer
    trained.save(tmp_path / "tokenizer.json")
    theirs = hf.from_file(str(tmp_path / "tokenizer.json"))
    ids = trained.encode(TEXT)
    assert trained.decode(ids) == theirs.decode(ids, skip_special_tokens=False)
    assert trained.decode([2, *ids], skip_special_tokens=True) == theirs.decode([2, *ids])
    assert trained.decode(trained.encode("it isn't new, or so!")) == "it isn ' t new, or so!"


def test_ids_as_hf(trained: bbpe.Tokenizer, tmp_path: Path) -> None:
    hf = pytest.importorskip("tokenizers").Tokenizer
    trained.save(tmp_path / "tokenizer.json")
    theirs, rng = hf.from_file(str(tmp_path / "tokenizer.json")), random.Random(3)
    for text in [TEXT, *("".join(rng.choices(TEXT, k=80)) for _ in range(100))]:
        assert trained.encode(text) == theirs.encode(text, add_special_tokens=False).ids, ascii(text)


@pytest.mark.full
@pytest.mark.parametrize("score", ["frequency", "pmi"])
def test_corpora_as_hf(score: Any, corpus: Callable[..., str], tmp_path: Path) -> None:
    hf = pytest.importorskip("tokenizers").Tokenizer
    corpora = {name: corpus(name, 2_000_000) for name in ("en", "code", "ja", "zh", "multi")}
    samples = [text[:300_000] for text in corpora.values()]
    tok = bbpe.train_from_iterator(samples, 20_000, model=bbpe.WordPiece(score=score), special_tokens=SPECIALS)
    tok.save(tmp_path / "tokenizer.json")
    theirs = hf.from_file(str(tmp_path / "tokenizer.json"))
    for name, text in corpora.items():
        for start in range(0, min(len(text), 2_000_000), 20_000):
            piece = text[start : start + 20_000]
            assert tok.encode(piece) == theirs.encode(piece, add_special_tokens=False).ids, (name, start)


@pytest.mark.long
@pytest.mark.parametrize("name", ["en", "code", "ja", "zh", "multi"])
def test_whole_corpora_as_hf(name: str, corpus: Callable[..., str], tmp_path: Path) -> None:
    """Every id of a corpus in one piece, as of a vocabulary of 30,000 that was learned from all of it."""
    hf = pytest.importorskip("tokenizers").Tokenizer
    text = corpus(name)
    tok = bbpe.train_from_iterator([text], 30_000, model=bbpe.WordPiece(score="frequency"), special_tokens=SPECIALS)
    tok.save(tmp_path / "tokenizer.json")
    theirs = hf.from_file(str(tmp_path / "tokenizer.json"))
    ids, done = tok.encode_to_numpy(text, threads=1), 0
    for piece in cut_at_lines(text, 20_000):
        expected = theirs.encode(piece, add_special_tokens=False).ids
        assert ids[done : done + len(expected)].tolist() == expected, ascii(piece[:200])
        done += len(expected)
    assert done == len(ids)


def cut_at_lines(text: str, size: int) -> Iterator[str]:
    """Yield pieces of about `size` characters; what stands in another line changes no id."""
    start = 0
    while start < len(text):
        end = text.find("\n", start + size) + 1 or len(text)
        yield text[start:end]
        start = end


# -- files --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("target", ["tokenizer.json", "vocab.txt", "folder"])
def test_saved_and_loaded(trained: bbpe.Tokenizer, target: str, tmp_path: Path) -> None:
    path = tmp_path / target
    trained.save(path, format="wordpiece" if target == "folder" else None)
    loaded = bbpe.load(path)
    assert loaded == trained
    assert loaded.encode(TEXT) == trained.encode(TEXT)
    assert loaded.spec.template == trained.spec.template
    assert pickle.loads(pickle.dumps(loaded)) == trained


def test_rules_beside_a_vocab_txt(tmp_path: Path) -> None:
    (tmp_path / "vocab.txt").write_text("[UNK]\nThe\nthe\ncafe\n中\n##国\n", "utf-8")
    assert bbpe.load(tmp_path).encode("The café 中国") == [1, 0, 4, 0]  # a token has an upper-case letter
    (tmp_path / "tokenizer_config.json").write_text(json.dumps({"do_lower_case": True}), "utf-8")
    assert bbpe.load(tmp_path).encode("The café 中国") == [2, 3, 4, 0]
    (tmp_path / "tokenizer_config.json").write_text(json.dumps({"tokenize_chinese_chars": False}), "utf-8")
    assert bbpe.load(tmp_path).encode("中国") == [4, 5]
    (tmp_path / "tokenizer_config.json").write_text(json.dumps({"do_lower_case": "yes"}), "utf-8")
    with pytest.raises(VocabularyError, match="do_lower_case"):
        bbpe.load(tmp_path)


@pytest.mark.parametrize("end", ["\n", "\r\n"])
def test_a_line_of_a_vocab_txt_is_a_token_but_for_its_end(end: str, tmp_path: Path) -> None:
    """White space is a part of tokens, and each line has an id, as BERT counts them."""
    tokens = ["[UNK]", "a", "a ", "\u3000", " a", "a\t", "b"]
    (tmp_path / "vocab.txt").write_bytes("".join(token + end for token in tokens).encode())
    tok = bbpe.load(tmp_path / "vocab.txt")
    assert {key: tok.token_to_id(key) for key in tokens} == {key: number for number, key in enumerate(tokens)}
    assert tok.encode("a b c") == [1, 6, 0]


@pytest.mark.parametrize(
    ("text", "words"),
    [("[UNK]\na\na\n", "line 3.*is also on line 2"), ("[PAD]\na\n", "UNK"), ("[UNK]\n\n\n", "is also on line 2")],
)
def test_broken_vocab_txt(text: str, words: str, tmp_path: Path) -> None:
    (tmp_path / "vocab.txt").write_text(text, "utf-8")
    with pytest.raises(VocabularyError, match=words):
        bbpe.load(tmp_path / "vocab.txt")


def test_refused(trained: bbpe.Tokenizer, tmp_path: Path) -> None:
    with pytest.raises(VocabularyError, match="holds no"):
        trained.save(tmp_path / "x.tiktoken")
    with pytest.raises(VocabularyError, match="neither merges nor ranks"):
        _ = trained.ranks
    with pytest.raises(VocabularyError, match="BERT's rules"):
        small("a b").save(tmp_path / "vocab.txt")
    with pytest.raises(VocabularyError, match="unknown token has id 9"):
        make_spec({0: b"a"}, None, pattern=PATTERNS["none"], model=WordPieceModel(9))
    with pytest.raises(VocabularyError, match="not valid UTF-8"):
        make_spec({0: b"\xff"}, None, pattern=PATTERNS["none"], model=WordPieceModel(0))
    with pytest.raises(VocabularyError, match="which has none"):
        make_spec({0: b"a"}, [(b"a", b"a")], pattern=PATTERNS["none"], model=WordPieceModel(0))
    assert trained.merges == []


def test_broken_tokenizer_json(trained: bbpe.Tokenizer, tmp_path: Path) -> None:
    path = tmp_path / "tokenizer.json"
    trained.save(path)
    whole = json.loads(path.read_text("utf-8"))
    for field, value, words in (
        ("unk_token", 3, "unk_token"),
        ("max_input_chars_per_word", -1, "max_input_chars_per_word"),
        ("surprise", 1, "surprise"),
    ):
        path.write_text(json.dumps({**whole, "model": {**whole["model"], field: value}}), "utf-8")
        with pytest.raises(VocabularyError, match=words):
            bbpe.load(path)
    path.write_text(json.dumps({**whole, "model": {**whole["model"], "unk_token": "[NO]"}}), "utf-8")
    tok = bbpe.load(path)  # words without tokens, which `tokenizers` cannot encode then, are left out
    word = trained.decode([len(trained) - 1]).strip()
    assert (tok.encode("\ue000"), tok.encode(f"{word} \ue000")) == ([], trained.encode(word))
    tok.save(tmp_path / "saved.json")
    assert bbpe.load(tmp_path / "saved.json") == tok


def test_identity(trained: bbpe.Tokenizer) -> None:
    assert small("a ##b") != small("a ##b", max_characters=3)
    assert small("a ##b").encode("abbb") == [5, 6, 6, 6]
    assert small("a ##b", max_characters=3).encode("abbb abb") == [1, 5, 6, 6]
    assert "WordPiece" in repr(trained)
    assert trained.id_to_token(trained.token_to_id("[MASK]")) == b"[MASK]"


def test_tokens_of_words_are_shown_as_text() -> None:
    """A vocabulary of text has no byte alphabet: keys are the words themselves."""
    words = {0: b"[UNK]", 1: "\u00e9t\u00e9".encode(), 2: "\u4e2d".encode(), 3: "##\u6587".encode()}
    for model in (WordPieceModel(0), WordLevelModel(0)):
        tok = bbpe.Tokenizer(TokenizerSpec(words, None, get_pattern("whitespace"), model=model))
        assert tok.tokenize("\u00e9t\u00e9 \u4e2d x") == ["\u00e9t\u00e9", "\u4e2d", "[UNK]"]
        assert tok.get_vocab() == {word.decode(): number for number, word in words.items()}
        assert [tok.token_to_id(token) for token in tok.tokenize("\u4e2d \u00e9t\u00e9")] == [2, 1]
