"""BPE of characters that are marked by their place in a word: ids as HF's `tokenizers`, and by every way the same."""

from __future__ import annotations

import json
import random
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from options import train_options
from strings import adversarial_strings

import bbpe
from bbpe.errors import VocabularyError
from bbpe.spec.rules import BertNormalizer, BertPreTokenizer, Lowercase, Strip, UnicodeForm, WhitespaceSplit
from bbpe.spec.spec import TextRules
from bbpe.splitting.patterns import get_pattern
from bbpe.splitting.splitter import split
from bbpe.text import bytes_to_alphabet

SPLITS: tuple[Any, ...] = (
    None,
    {"type": "WhitespaceSplit"},
    {"type": "BertPreTokenizer"},
    {"type": "Whitespace"},
)
NORMALIZERS: tuple[Any, ...] = (
    None,
    {"type": "Lowercase"},
    {"type": "Sequence", "normalizers": [{"type": "NFC"}, {"type": "Lowercase"}]},
    {"type": "BertNormalizer", "strip_accents": None}
    | dict.fromkeys(("clean_text", "handle_chinese_chars", "lowercase"), True),
)


def document(keys: dict[str, int], pairs: list[list[str]], prefix: str, end: str, **changes: Any) -> dict[str, Any]:
    """A tokenizer.json whose words have marks."""
    ended: dict[str, Any] = {"type": "BPEDecoder", "suffix": end}
    decoder: dict[str, Any] = {"type": "WordPiece", "prefix": prefix, "cleanup": False} if prefix else {"type": "Fuse"}
    if end:
        dropped = {"type": "Replace", "pattern": {"String": prefix}, "content": ""}
        decoder = {"type": "Sequence", "decoders": [dropped, ended]} if prefix else ended
    model = {
        "type": "BPE",
        "unk_token": "<unk>",
        "continuing_subword_prefix": prefix or None,
        "end_of_word_suffix": end or None,
        "fuse_unk": False,
        "vocab": keys,
        "merges": pairs,
    }
    unknown = {"id": keys["<unk>"], "content": "<unk>", "special": True, "normalized": False}
    unknown |= dict.fromkeys(("single_word", "lstrip", "rstrip"), False)
    value: dict[str, Any] = {"version": "1.0", "added_tokens": [unknown], "decoder": decoder, "pre_tokenizer": None}
    value |= {"truncation": None, "padding": None, "normalizer": None, "post_processor": None}
    for name, changed in changes.items():
        (model if name in model else value)[name] = changed
    return {**value, "model": model}


def by_hand(rng: random.Random, letters: list[str], prefix: str, end: str) -> tuple[dict[str, int], list[list[str]]]:
    """A vocabulary and merges of any parts, whose texts may spell the marks, in an order that may be no training's."""
    vocab: dict[str, int] = {"<unk>": 0}
    merges: list[list[str]] = []
    for char in letters:
        for key in sorted({char, char + end, prefix + char, prefix + char + end}):
            if rng.random() < 0.85:
                vocab.setdefault(key, len(vocab))
    for _ in range(rng.randint(0, 25)):
        left, right = rng.choice(list(vocab)), rng.choice(list(vocab))
        made = left + right.removeprefix(prefix)
        if "<unk>" in (left, right, made) or not right.startswith(prefix) or right == prefix or [left, right] in merges:
            continue
        vocab.setdefault(made, len(vocab))
        merges.append([left, right])
    if rng.random() < 0.3:
        rng.shuffle(merges)
    return vocab, merges


@pytest.mark.parametrize(
    ("prefix", "ends"),
    [("", ("</w>", "w", "a")), ("##", ("",)), ("b", ("",)), ("##", ("</w>", "##")), ("b", ("w", "b"))],
)
def test_any_vocabulary_as_hf(prefix: str, ends: tuple[str, ...], tmp_path: Path) -> None:
    hf = pytest.importorskip("tokenizers").Tokenizer
    rng, path, again = random.Random(4), tmp_path / "tokenizer.json", tmp_path / "again.json"
    for _ in range(8):
        letters = rng.sample(["a", "b", "#", "w", "é", "中", "<", "/", ">", "😀"], rng.randint(1, 6))
        end = rng.choice(ends)
        vocab, merges = by_hand(rng, letters, prefix, end)
        rules = {"pre_tokenizer": rng.choice(SPLITS), "normalizer": rng.choice(NORMALIZERS)}
        value = document(vocab, merges, prefix, end, fuse_unk=rng.random() < 0.4, **rules)
        path.write_text(json.dumps(value), "utf-8")
        tok, theirs = bbpe.load(path), hf.from_file(str(path))
        tok.save(again)
        saved = hf.from_file(str(again))
        assert bbpe.load(again) == tok
        for _ in range(15):
            text = "".join(rng.choices([*letters * 3, *"xÜA! \n"], k=rng.choice([1, 2, 3, 5, 8, 20, 200])))
            ids = theirs.encode(text, add_special_tokens=False).ids
            assert tok.encode(text) == ids, (text, value)
            assert tok.encode_batch([text.encode(), ""])[0] == ids
            assert saved.encode(text, add_special_tokens=False).ids == ids


@pytest.mark.parametrize(("prefix", "end"), [("##", ""), ("", "</w>"), ("##", "</w>")])
def test_trained_by_hf(prefix: str, end: str, corpus: Callable[..., str], tmp_path: Path) -> None:
    """What HF's trainer makes of real text: ids on other text, text of ids, and files."""
    tokenizers = pytest.importorskip("tokenizers")
    text = corpus("multi", 80_000)
    marks: dict[str, Any] = {"continuing_subword_prefix": prefix} if prefix else {}
    marks |= {"end_of_word_suffix": end} if end else {}
    theirs = tokenizers.Tokenizer(tokenizers.models.BPE(unk_token="<unk>", **marks))
    theirs.pre_tokenizer = tokenizers.pre_tokenizers.BertPreTokenizer()
    trainer = tokenizers.trainers.BpeTrainer(
        vocab_size=3000, special_tokens=["<unk>"], limit_alphabet=400, show_progress=False, **marks
    )
    theirs.train_from_iterator([text[:30_000]], trainer)
    theirs.decoder = tokenizers.Tokenizer.from_str(json.dumps(document({"<unk>": 0}, [], prefix, end))).decoder
    theirs.save(str(tmp_path / "tokenizer.json"))
    tok = bbpe.load(tmp_path / "tokenizer.json")
    ids = tok.encode(text)
    assert ids == theirs.encode(text, add_special_tokens=False).ids
    assert tok.decode(ids[:5000]) == theirs.decode(ids[:5000], skip_special_tokens=False)
    tok.save(tmp_path / "again.json")
    again = tokenizers.Tokenizer.from_file(str(tmp_path / "again.json"))
    assert again.encode(text, add_special_tokens=False).ids == ids


# -- the model's own words against those of the rules -------------------------------------------------------


def rules_of(normalizers: tuple[Any, ...], *pre_tokenizers: Any) -> TextRules:
    return TextRules(normalizers, None, pre_tokenizers)


WAYS = {
    "blanks": ("whitespace", TextRules()),
    "lower": ("whitespace", rules_of((Lowercase(),))),
    "subword-nmt": ("subword_nmt", TextRules()),
    "subword-nmt lower": ("subword_nmt", rules_of((UnicodeForm("NFC"), Lowercase()))),
    "forms": ("whitespace", rules_of((UnicodeForm("NFKC"), Lowercase()), WhitespaceSplit())),
    "cleaned": ("whitespace", rules_of((BertNormalizer(strip_accents=False),))),
    "bert": ("none", rules_of((BertNormalizer(),), BertPreTokenizer())),
    "bert whole": ("none", rules_of((BertNormalizer(cjk_apart=False, lowercase=False),), BertPreTokenizer())),
    "clip": ("clip", rules_of((UnicodeForm("NFC"), Lowercase()))),
    "clip as is": ("clip", TextRules()),
}


@pytest.mark.parametrize("way", WAYS)
def test_the_engine_finds_the_words_of_the_rules(way: str, corpus: Callable[..., str]) -> None:
    pattern, rules = WAYS[way]
    texts = [corpus(name, size) for name, size in (("en", 8_000), ("ja", 3_000), ("multi", 8_000))]
    texts.append("'s 'ſT 'LL <|ENDOFTEXT|><|ſtartoftext|>! a\u0345b!\u0345!")
    tok = bbpe.train_from_iterator(texts, 1_500, model=bbpe.BPE(alphabet="chars", end_of_word="</w>", max_alphabet=600))
    spec = replace(tok.spec, rules=rules, pattern=get_pattern(pattern))
    fast = bbpe.Tokenizer(spec)
    # a rule that does nothing, and that the model does not know
    slow = bbpe.Tokenizer(replace(spec, rules=replace(rules, normalizers=(*rules.normalizers, Strip(False, False)))))
    rng = random.Random(5)
    pool = [*"ab'sSſTd<|>  \n\t!.,ÜüİΣⅷ½한中。\u00a0\u3000\x00\x1c", "e\u0301"]
    soups = ["".join(rng.choices(pool, k=rng.randint(1, 60))) for _ in range(60)]
    for text in [*texts, "".join(texts) * 2, *soups, *adversarial_strings(30, 6)]:
        ids = slow.encode(text)
        assert fast.encode(text) == ids, ascii(text[:200])
        data = text.encode("utf-8", "replace")
        assert fast.encode(data[1:]) == slow.encode(data[1:]), ascii(text[:200])
    assert fast.encode_batch(soups, threads=2) == slow.encode_batch(soups)
    assert list(fast.encode_iterable(soups)) == slow.encode("".join(soups))
    assert fast.encode_to_numpy(texts[0], threads=2).tolist() == slow.encode(texts[0])


@pytest.mark.full
@pytest.mark.parametrize("way", ["lower", "cleaned", "clip", "clip as is"])
def test_every_character(way: str) -> None:
    """Those of the first two planes, but for what the `regex` package knows before the model does."""
    pattern, rules = WAYS[way]
    tok = bbpe.train_from_iterator(
        ["ab ba a1 1a ! !a a! b! !!"], 60, model=bbpe.BPE(alphabet="chars", end_of_word="</w>")
    )
    spec = replace(tok.spec, rules=rules, pattern=get_pattern(pattern))
    fast = bbpe.Tokenizer(spec)
    slow = bbpe.Tokenizer(replace(spec, rules=replace(rules, normalizers=(*rules.normalizers, Strip(False, False)))))
    gpt2 = get_pattern("gpt2")
    for start in range(0, 0x20000, 1 << 12):
        chars = [chr(point) for point in range(start, start + (1 << 12)) if not 0xD800 <= point < 0xE000]
        texts = [f"a{char}1{char}{char}!a{char}ab" for char in chars]
        ids = slow.encode(" ".join(texts))
        if fast.encode(" ".join(texts)) != ids:
            others = [char for char, text in zip(chars, texts, strict=True) if fast.encode(text) != slow.encode(text)]
            assert pattern == "clip"
            assert [char for char in others if split(f"a{char}", "gpt2") == list(gpt2.split(f"a{char}"))] == []


def clip_file(text: str, path: Path) -> list[str]:
    """A vocabulary in CLIP's format that was learned of a text; returns its merges."""
    words = get_pattern("clip").split(text.lower())
    spelled = " ".join(bytes_to_alphabet(word.encode()) for word in words)
    bbpe.train_from_iterator([spelled], 2_000, model=bbpe.BPE(alphabet="chars", end_of_word="</w>")).save(
        path.with_suffix(".codes")
    )
    lines = path.with_suffix(".codes").read_text("utf-8").splitlines()[1:]
    path.write_text('"bpe_simple_vocab_16e6.txt#version: 0.2\n' + "".join(f"{line}\n" for line in lines), "utf-8")
    return lines


def test_the_engine_finds_the_words_of_clip(corpus: Callable[..., str], tmp_path: Path) -> None:
    """Its symbols are bytes, of which lower case and what is no UTF-8 may make more, for which it has no room."""
    text, rng = corpus("multi", 40_000), random.Random(7)
    path = tmp_path / "bpe_simple_vocab_16e6.txt"
    clip_file(text, path)
    fast = bbpe.load(path)
    rules = replace(fast.spec.rules, normalizers=(*fast.spec.rules.normalizers, Strip(False, False)))
    slow = bbpe.Tokenizer(replace(fast.spec, rules=rules))
    pool = [*"\u0130\u023a\u023eab'sS|< \n\u0345\ud800", "e\u0301", "가", "\U0001f600"]
    for given in [text, *("".join(rng.choices(pool, k=rng.randint(1, 30))) for _ in range(300)), "\u0130" * 5000]:
        ids = slow.encode(given)
        assert fast.encode(given) == ids, ascii(given[:200])
        assert fast.encode_batch([given, given], threads=1) == [ids, ids]
        data = bytearray(given.encode("utf-8", "replace"))
        data[rng.randrange(len(data))] = rng.randrange(256)
        ids = slow.encode(bytes(data))
        assert fast.encode(bytes(data)) == ids, bytes(data[:200])
        assert list(fast.encode_iterable([bytes(data)])) == ids
        assert fast.encode_batch([bytes(data)]) == [ids]


@pytest.mark.full
@pytest.mark.parametrize("name", ["en", "code", "ja", "zh", "multi"])
def test_clip_as_transformers(name: str, corpus: Callable[..., str], tmp_path: Path) -> None:
    transformers = pytest.importorskip("transformers")
    text = corpus(name, 400_000)
    path = tmp_path / "bpe_simple_vocab_16e6.txt"
    lines = clip_file(text[:100_000], path)
    tok = bbpe.load(path)
    vocab = dict(sorted(tok.get_vocab().items(), key=lambda item: item[1]))
    theirs = transformers.CLIPTokenizer(vocab=vocab, merges=[tuple(line.split(" ")) for line in lines])
    for start in range(0, len(text), 10_000):
        piece = text[start : start + 10_000]
        assert tok.encode(piece, add_special_tokens=True) == theirs(piece)["input_ids"], start


def test_dropout_is_of_words(corpus: Callable[..., str]) -> None:
    text = corpus("en", 2_000)
    tok = bbpe.train_from_iterator([text], 600, model=bbpe.BPE(alphabet="chars", end_of_word="</w>"))
    slow = bbpe.Tokenizer(replace(tok.spec, rules=TextRules((Strip(False, False),))))
    symbols = [symbol for word in text.split() for symbol in (*word[:-1], word[-1] + "</w>")]
    for each in (tok, slow):
        keys = {token_id: key for key, token_id in each.get_vocab().items()}
        assert [keys[token_id] for token_id in each.encode(text, dropout=1.0)] == symbols
        some = each.encode(text, dropout=0.3, seed=1)
        assert each.decode(some) == each.decode(each.encode(text))
        assert len(each.encode(text)) < len(some) < len(symbols)


# -- what is refused ----------------------------------------------------------------------------------------


def test_words_have_offsets() -> None:
    several: tuple[dict[str, Any], ...] = ({"model": "wordpiece"}, {"alphabet": "chars", "end_of_word": "</w>"})
    for options in several:
        tok = bbpe.train_from_iterator(["low lower"], 40, **train_options(**options))
        text = "low  low lower"
        ids, spans = tok.encode_with_offsets(text)
        assert ids == tok.encode(text)
        words = [text[start:end] for start, end in spans]
        assert " " not in "".join(words)
        assert "".join(words) == text.replace(" ", "")
        for long in (text, text * 1000):
            assert tok.count_tokens(tok.truncate(long, 1)) <= 1
            assert tok.count_tokens(tok.truncate(long, 1, side="left")) <= 1


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"continuing_subword_prefix": 3}, "continuing_subword_prefix.*expected a string"),
        ({"continuing_subword_prefix": "@@"}, r"merges\[0\].*'?continuing_subword_prefix"),
        ({"merges": [["a", "b"]]}, r"merges\[0\]"),
        ({"merges": [["a", "##"]]}, r"merges\[0\]"),
        ({"merges": [["a", "##c"]]}, r"merges\[0\].*'##c' has no id"),
        ({"merges": [["b", "##b"]]}, r"merges\[0\].*'bb' has no id"),
        ({"merges": [["<unk>", "##b"]], "vocab": {"<unk>": 0, "##b": 1, "<unk>b": 2}}, "merges.*unknown"),
    ],
    ids=str,
)
def test_refused(changes: dict[str, Any], words: str, tmp_path: Path) -> None:
    path = tmp_path / "tokenizer.json"
    value = document({"<unk>": 0, "a": 1, "##b": 2, "ab": 3, "b": 4}, [["a", "##b"]], "##", "", **changes)
    path.write_text(json.dumps(value), "utf-8")
    with pytest.raises(VocabularyError, match=f"tokenizer.json.*{words}"):
        bbpe.load(path)


@pytest.mark.parametrize("name", ["byte_fallback", "ignore_merges"])
def test_refused_beside_marks(name: str, tmp_path: Path) -> None:
    path = tmp_path / "tokenizer.json"
    value = document({"<unk>": 0, "a": 1, "##b": 2}, [], "##", "")
    path.write_text(json.dumps({**value, "model": {**value["model"], name: True}}), "utf-8")
    with pytest.raises(VocabularyError, match=f'continuing_subword_prefix.*"##", together with which {name} is'):
        bbpe.load(path)


@pytest.mark.parametrize("prefix", ["##", ""])
@pytest.mark.parametrize("end", ["</w>", ""])
def test_every_byte_is_a_symbol(prefix: str, end: str, tmp_path: Path) -> None:
    """The model marks words by bytes that no UTF-8 has, and a vocabulary of bytes has keys of these, too."""
    hf = pytest.importorskip("tokenizers")
    letters = sorted(hf.pre_tokenizers.ByteLevel.alphabet())
    keys = dict.fromkeys(start + letter + last for letter in letters for start in ("", prefix) for last in ("", end))
    marks = {"continuing_subword_prefix": prefix, "end_of_word_suffix": end}
    model = hf.models.BPE(
        {key: token_id for token_id, key in enumerate(keys)}, [], **{name: mark for name, mark in marks.items() if mark}
    )
    judge = hf.Tokenizer(model)
    judge.pre_tokenizer = hf.pre_tokenizers.ByteLevel(add_prefix_space=False)
    judge.save(str(tmp_path / "tokenizer.json"))
    tok = bbpe.load(tmp_path / "tokenizer.json")
    for text in ("a", "aé", "é ÿþý zz", "漢字\U0001f600", ""):
        assert tok.encode(text) == judge.encode(text).ids


def test_words_are_encoded_without_rules_where_that_is_possible() -> None:
    tok = bbpe.train_from_iterator(
        ["low lower"], 40, model=bbpe.BPE(alphabet="chars", end_of_word="</w>", lowercase=True)
    )
    assert not tok._parts.encoder.has_rules
    assert tok.encode("LOW") == tok.encode("low")
