"""Ids with the numbers of their pretokens and texts: those of HF's `tokenizers`."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from rule_files import METASPACES, named, of_characters
from strings import adversarial_strings
from vocabularies import added, byte_level, document, sequence, split, write_json

import bbpe
from bbpe.errors import VocabularyError
from bbpe.spec.models import WordLevelModel
from bbpe.spec.spec import TokenizerSpec
from bbpe.splitting.patterns import PATTERNS

tokenizers = pytest.importorskip("tokenizers")


def wordpiece(**changes: Any) -> dict[str, Any]:
    words = ["[UNK]", "[CLS]", "[SEP]", "the", "in", "##g", "##s", "a", ".", "##a", "12", "t", "##h", "##e"]
    model = named(
        "WordPiece", unk_token="[UNK]", continuing_subword_prefix="##", max_input_chars_per_word=100,
        vocab={word: number for number, word in enumerate(words)},
    )  # fmt: skip
    bert = named("BertNormalizer", clean_text=True, handle_chinese_chars=True, strip_accents=None, lowercase=True)
    ends = {"cls": ["[CLS]", 1], "sep": ["[SEP]", 2]}
    return document(
        **{
            "normalizer": bert, "pre_tokenizer": named("BertPreTokenizer"), "model": model,
            "decoder": named("WordPiece", prefix="##", cleanup=True),
            "post_processor": named("BertProcessing", **ends),
            "added_tokens": [added(word, number) for number, word in enumerate(words[:3])], **changes,
        }
    )  # fmt: skip


ROBERTA = named("RobertaProcessing", cls=["<s>", 267], sep=["</s>", 268], trim_offsets=True, add_prefix_space=False)
MARKED = [added("<s>", 267), added("</s>", 268), added("<b>", 269, lstrip=True, normalized=True)]
BYTES = {
    "gpt2": {},
    "prefix": {"pre_tokenizer": byte_level(add_prefix_space=True), "post_processor": ROBERTA, "added_tokens": MARKED},
    "one word": {"pre_tokenizer": byte_level(use_regex=False), "added_tokens": MARKED},
    "steps": {"pre_tokenizer": sequence(named("Digits", individual_digits=True), named("Whitespace"), byte_level())},
    "regex": {"pre_tokenizer": sequence(split(r"[aeiou]+|\s"), byte_level(use_regex=False)), "added_tokens": MARKED},
    "removed": {"pre_tokenizer": sequence(named("CharDelimiterSplit", delimiter="-"), byte_level())},
    "normalized": {"normalizer": named("NFKC"), "added_tokens": MARKED},
}
DOCUMENTS = {
    **{name: document(**changes) for name, changes in BYTES.items()},
    **{
        f"metaspace {number}": of_characters(normalizer=None, pre_tokenizer=rule, fallback=bool(number % 3))
        for number, rule in enumerate(METASPACES)
    },
    "characters": of_characters(),
    "WordPiece": wordpiece(),
    "no pre-tokenizer": wordpiece(pre_tokenizer=None, normalizer=None),
}
TEXTS = ["", " ", "the  <b> thing", "<s>the</s>  in 12.", "é the-in--a", "\u2581the\u2581 in", "[SEP] a[CLS]s"]


@pytest.mark.parametrize("name", DOCUMENTS)
def test_words_as_hf(tmp_path: Path, name: str) -> None:
    path = write_json(tmp_path / "tokenizer.json", DOCUMENTS[name])
    tok, hf = bbpe.load(path), tokenizers.Tokenizer.from_file(str(path))
    texts = [*TEXTS, *adversarial_strings(20, seed=71)]
    for number, text in enumerate(texts):
        for adds in (False, True):
            for pair in (None, texts[number - 1]):
                theirs = hf.encode(text, pair, add_special_tokens=adds)
                ours = tok.encode_aligned(text, pair, allowed_special="all", add_special_tokens=adds)
                assert ours.ids == theirs.ids, (text, pair, adds)
                assert ours.word_ids == theirs.word_ids, (text, pair, adds)
                assert ours.sequence_ids == theirs.sequence_ids, (text, pair, adds)
                assert ours.type_ids == theirs.type_ids, (text, pair, adds)
                assert ours.offsets.tolist() == [list(span) for span in theirs.offsets], (text, pair, adds)


@pytest.mark.parametrize("pattern", ["cl100k", "kimi", "none"])
def test_words_of_named_patterns_are_their_pretokens(pattern: str) -> None:
    tok = bbpe.train_from_iterator(["the thing in 12"], 260, pattern=pattern)
    for text in adversarial_strings(60, seed=72):
        ends = bbpe.split_spans(text, pattern)[1:]
        spans = tok.encode_with_offsets(text, "byte")[1]
        found = tok.encode_aligned(text, unit="byte")
        assert found.offsets.tolist() == spans.tolist()
        assert found.word_ids == [int((ends <= start).sum()) for start in spans[:, 0]]


def test_numbers_of_pretokens_that_python_finds(tmp_path: Path) -> None:
    value = document(pre_tokenizer=sequence(split(r"(?<=th)e"), byte_level(use_regex=False)))
    path = write_json(tmp_path / "tokenizer.json", value)
    tok, hf = bbpe.load(path), tokenizers.Tokenizer.from_file(str(path))
    for text in ("the", "the in then", "é thé\u0301 the", ""):
        found, expected = tok.encode_aligned(text), hf.encode(text)
        assert (found.ids, found.word_ids) == (expected.ids, expected.word_ids), text
        assert found.offsets.tolist() == [list(span) for span in expected.offsets]


def test_words_in_a_row_have_no_places() -> None:
    model = WordLevelModel(0, fuses=True)
    tok = bbpe.Tokenizer(TokenizerSpec({0: b"?", 1: b"the"}, None, PATTERNS["whitespace"], model=model))
    assert tok.encode("x y the z") == [0, 1, 0]
    for call in (tok.encode_with_offsets, tok.encode_aligned):
        with pytest.raises(VocabularyError, match="one unknown token in a row, so tokens have no places"):
            call("x y the z")


def test_what_is_refused(tmp_path: Path) -> None:
    tok = bbpe.load(write_json(tmp_path / "tokenizer.json", document()))
    with pytest.raises(ValueError, match="unit is 'word'"):
        tok.encode_aligned("the", unit="word")  # type: ignore[arg-type]
    template = named("TemplateProcessing", single=[{"Sequence": {"id": "A", "type_id": 0}}], pair=[], special_tokens={})
    tok = bbpe.load(write_json(tmp_path / "tokenizer.json", document(post_processor=template)))
    with pytest.raises(ValueError, match="no form for pairs"):
        tok.encode_aligned("a", "b", add_special_tokens=True)
    # without the template there are pairs
    found = tok.encode_aligned("a", "b")
    assert (found.ids, found.sequence_ids) == (tok.encode("a", "b"), [0, 1])


def test_text_of_the_unknown_token(tmp_path: Path) -> None:
    rules = {"normalizer": None, "pre_tokenizer": named("WhitespaceSplit"), "post_processor": None, "added_tokens": []}
    path = write_json(tmp_path / "tokenizer.json", wordpiece(**rules))
    hf, tok = tokenizers.Tokenizer.from_file(str(path)), bbpe.load(path)
    for text in ("[UNK] the", "the [UNK]", "xx [UNK]", "[UN the", "x[UNK]", "the[UNK] in", "[UNK"):
        ids, spans = tok.encode_with_offsets(text)
        theirs = hf.encode(text)
        assert (ids, spans.tolist()) == (theirs.ids, [list(span) for span in theirs.offsets]), text
    for text in ("[UNK]s", "[UNK]x", "a [UNK]es in"):  # an unknown word, or the token and what follows it
        assert tok.encode(text) == hf.encode(text).ids
        with pytest.raises(VocabularyError, match="no offsets"):
            tok.encode_with_offsets(text)
    value = wordpiece(**rules)
    value["model"]["continuing_subword_prefix"] = ""
    hf, tok = tokenizers.Tokenizer.from_file(str(write_json(path, value))), bbpe.load(path)
    for text in ("a[UNK]", "a[UNK]in the", "x", "the[UNK"):
        ids, spans = tok.encode_with_offsets(text)
        theirs = hf.encode(text)
        assert (ids, spans.tolist()) == (theirs.ids, [list(span) for span in theirs.offsets]), text


@pytest.mark.parametrize("scheme", ["always", "first", "never"])
@pytest.mark.parametrize("words", ["\u2581in in a", "\u2581in in a i n \u2581", "in a i n"])
def test_runs_of_unknown_characters(tmp_path: Path, scheme: str, words: str) -> None:
    vocab = [["<unk>", 0.0], *([word, -1.0 - number / 2] for number, word in enumerate(words.split(" ")))]
    rule = named("Metaspace", replacement="\u2581", prepend_scheme=scheme, split=True)
    model = named("Unigram", unk_id=0, vocab=vocab, byte_fallback=False)
    value = document(model=model, pre_tokenizer=rule, added_tokens=[], decoder=rule)
    path = write_json(tmp_path / "tokenizer.json", value)
    hf, tok = tokenizers.Tokenizer.from_file(str(path)), bbpe.load(path)
    for text in ("  ", " in  a", "x  yz in", "a   ", "\u2581\u2581x in", *adversarial_strings(40, seed=5)):
        theirs = hf.encode(text)
        ids, spans = tok.encode_with_offsets(text)
        assert (ids, spans.tolist()) == (theirs.ids, [list(span) for span in theirs.offsets]), text
        assert tok.encode_aligned(text).word_ids == theirs.word_ids, text


@pytest.mark.parametrize("other", ["rstrip", "normalized", "lstrip"])
def test_tokens_overlap_in_white_space(tmp_path: Path, other: str) -> None:
    tokens = [added("\n", 300, **{"rstrip": True, other: True}), added("\t", 301), added("<s>", 302, rstrip=True)]
    path = write_json(tmp_path / "tokenizer.json", document(normalizer=named("NFC"), added_tokens=tokens))
    hf, tok = tokenizers.Tokenizer.from_file(str(path)), bbpe.load(path)
    texts = ["\n\n", "é\n\t\n\t x", "中<s> \n\n\t\n<s>\n", "\U0001f600\n \n\u3000\n\U0001f600\n\t", "e\u0301\n\ta\n\n"]
    for text in [*texts, "é" + "\n" * 3000 + "a" + "\t\n" * 1000]:
        theirs = [list(span) for span in hf.encode(text).offsets]
        ids, spans = tok.encode_with_offsets(text, allowed_special="all")
        assert (ids, spans.tolist()) == (hf.encode(text).ids, theirs), text[:20]
        assert tok.encode_batch([text], allowed_special="all") == [ids]
        utf16 = np.cumsum([0, *(len(char.encode("utf-16-le")) // 2 for char in text)])
        found = tok.encode_with_offsets(text, unit="utf16", allowed_special="all")[1]
        assert found.tolist() == utf16[np.array(theirs, np.int64)].tolist(), text[:20]
