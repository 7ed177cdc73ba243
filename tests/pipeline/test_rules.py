"""tokenizer.json in full: every rule gives the ids that HF's `tokenizers` gives, before and after it is written."""

from __future__ import annotations

import json
import random
from collections.abc import Iterator
from itertools import product
from pathlib import Path
from typing import Any

import pytest
from rule_files import METASPACES, PAIRS, named, of_characters, replaced
from strings import adversarial_strings
from vocabularies import added, byte_level, document, keys, sequence, split, write_json

import bbpe
from bbpe.errors import PatternError, VocabularyError

tokenizers = pytest.importorskip("tokenizers")

WORDS = "the| the|thing|in|ing|THE|The |aaaa|aa|中|é|e\u0301|ﬁ|Å|12|1|'s".split("|")
MARKS = "<a>|<b>|<c> | <d>|<e>the|in<f>|<A>|é<g>|e\u0301|<s>|</s>|\u2581|_<a>|中<a>".split("|")
BLANKS = " |  |   |\n|\t|\u3000|\xa0|.|,|!?|…|-|²|x|ꦀ|\u1ab0|\U0001e08f".split("|")


def texts(count: int, seed: int) -> Iterator[str]:
    rng = random.Random(seed)
    pool = [*WORDS, *MARKS, *BLANKS, *WORDS]
    yield from ["", " ", "  ", "\u2581", "the", " the", "<a>", "<a> the", "the <a>", "<a><a>", " <a> <b> "]
    for _ in range(count):
        yield "".join(rng.choices(pool, k=rng.randint(1, 14)))
    yield from adversarial_strings(count // 2, seed=seed)


def compare(tmp_path: Path, value: dict[str, Any], count: int = 20, seed: int = 1) -> bbpe.Tokenizer:
    """The ids of `tokenizers` from the file, and those of both from the file that is written."""
    path = write_json(tmp_path / "tokenizer.json", value)
    tok, hf = bbpe.load(path), tokenizers.Tokenizer.from_file(str(path))
    tok.save(tmp_path / "again.json")
    again, hf_again = bbpe.load(tmp_path / "again.json"), tokenizers.Tokenizer.from_file(str(tmp_path / "again.json"))
    assert again == tok
    for text in texts(count, seed):
        for template in (False, True):
            expected = hf.encode(text, add_special_tokens=template).ids
            assert tok.encode(text, allowed_special="all", add_special_tokens=template) == expected, (text, template)
            assert hf_again.encode(text, add_special_tokens=template).ids == expected, text
        assert again.encode(text, allowed_special="all") == hf.encode(text, add_special_tokens=False).ids, text
    return tok






NORMALIZERS: list[list[dict[str, Any]]] = [
    *([named(form)] for form in ("NFC", "NFD", "NFKC", "NFKD", "Lowercase", "StripAccents")),
    [named("NFD"), named("StripAccents"), named("Lowercase")],
    [named("Nmt"), named("NFKC")],
    [named("ByteLevel")],
    [named("Strip", strip_left=True, strip_right=False)],
    [named("Strip", strip_left=False, strip_right=True)],
    [named("Strip", strip_left=True, strip_right=True), named("Prepend", prepend=" ")],
    [named("Prepend", prepend="é")],
    [replaced("the", "THE"), replaced("in", "")],
    [replaced(r"\s+", " ", "Regex"), replaced(r"[aeiou]{2}|\p{N}", "", "Regex")],
]


@pytest.mark.parametrize("rules", NORMALIZERS, ids=lambda rules: "-".join(rule["type"] for rule in rules))
@pytest.mark.parametrize("nested", [False, True])
def test_normalizers(tmp_path: Path, rules: list[dict[str, Any]], nested: bool) -> None:
    normalizer = named("Sequence", normalizers=[named("Sequence", normalizers=rules)]) if nested else rules[0]
    if not nested and len(rules) > 1:
        normalizer = named("Sequence", normalizers=rules)
    compare(tmp_path, document(normalizer=normalizer))


BEHAVIORS = ["Removed", "Isolated", "MergedWithPrevious", "MergedWithNext", "Contiguous"]
PRE_TOKENIZERS: list[dict[str, Any]] = [
    byte_level(add_prefix_space=True),
    byte_level(add_prefix_space=True, use_regex=False),
    *(
        sequence(split(source, behavior=behavior, invert=invert), byte_level(use_regex=False))
        for behavior in BEHAVIORS
        for invert in (False, True)
        for source in (r"\s+|in", r"\p{L}")
    ),
    sequence(split("a", pattern={"String": " "}, behavior="MergedWithNext"), byte_level(use_regex=False)),
    sequence(split("a", pattern={"String": "."}, behavior="Removed"), byte_level(use_regex=True)),
    sequence(named("Digits", individual_digits=False), byte_level(add_prefix_space=True)),
    sequence(byte_level(), named("Digits", individual_digits=True)),
    *(sequence(named("Punctuation", behavior=behavior), byte_level()) for behavior in BEHAVIORS),
    sequence(named("Whitespace"), byte_level(use_regex=False)),
    sequence(named("WhitespaceSplit"), byte_level(add_prefix_space=True, use_regex=False)),
    sequence(named("CharDelimiterSplit", delimiter="-"), byte_level()),
    sequence(
        named("Punctuation", behavior="Contiguous"), byte_level(), named("Digits", individual_digits=False),
        split("[0-9][0-9][0-9]"),
    ),
]  # fmt: skip


@pytest.mark.parametrize("pre_tokenizer", PRE_TOKENIZERS, ids=lambda rule: json.dumps(rule)[:60])
def test_pre_tokenizers(tmp_path: Path, pre_tokenizer: dict[str, Any]) -> None:
    compare(tmp_path, document(pre_tokenizer=pre_tokenizer))


def tokens_with(seed: int) -> list[dict[str, Any]]:
    rng = random.Random(seed)
    # "<A>" and "<a>" may be normalised to the same, and then HF takes either
    return [
        added(text, 300 + number, **{
            flag: rng.random() < 0.4 for flag in ("lstrip", "rstrip", "single_word", "normalized", "special")
        })
        for number, text in enumerate(dict.fromkeys([*MARKS, "the<a>", "in<"]))
        if text != "<A>" and rng.random() < 0.7
    ]  # fmt: skip


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("normalizer", [None, named("NFC"), named("Lowercase"), named("Prepend", prepend=" ")])
def test_added_tokens_with_options(tmp_path: Path, seed: int, normalizer: dict[str, Any] | None) -> None:
    tokens = [token for token in tokens_with(seed) if token["content"] not in keys()]
    vocab = {**keys(), **{token["content"]: token["id"] for token in tokens}}
    compare(tmp_path, document(added_tokens=tokens, normalizer=normalizer, model__vocab=vocab), seed=seed)


@pytest.mark.parametrize(
    ("first", "second"),
    [("abc", "bcd"), ("bcd", "abc"), ("aab", "abb"), ("abcd", "bc"), ("bc", "abcd"), ("ab", "bc"), ("abc", "dbc")],
)
def test_tokens_that_overlap_a_normalized_one_come_first(tmp_path: Path, first: str, second: str) -> None:
    """Without a normalizer too; `second` is searched in the text that the tokens found first have left."""
    tokens = [added(first, 300), added(second, 301, normalized=True)]
    value = document(added_tokens=tokens, model__vocab={**keys(), first: 300, second: 301})
    path = write_json(tmp_path / "tokenizer.json", value)
    tok, hf = bbpe.load(path), tokenizers.Tokenizer.from_file(str(path))
    for length in range(3, 7):
        for parts in product("abcd", repeat=length):
            text = "".join(parts)
            if first in text or second in text:
                assert tok.encode(text, allowed_special="all") == hf.encode(text).ids, text


def template(single: str, pair: str, **ids: int) -> dict[str, Any]:
    def items(spec: str) -> list[dict[str, Any]]:
        return [
            {"Sequence": {"id": part, "type_id": 0}}
            if part in "AB"
            else {"SpecialToken": {"id": part, "type_id": 0}}
            for part in spec.split()
        ]

    named_ids = {f"<{name}>": number for name, number in ids.items()}
    tokens = {text: {"id": text, "ids": [number], "tokens": [text]} for text, number in named_ids.items()}
    return named("TemplateProcessing", single=items(single), pair=items(pair), special_tokens=tokens)


POST_PROCESSORS = [
    template("<s> A", "<s> A <s> B", s=300),
    template("A <e>", "A <e> B <e>", e=301),
    template("<s> <s> A <e>", "A B", s=300, e=301),
    named("Sequence", processors=[byte_level(), template("<s> A <e>", "A B", s=300, e=301)]),
    named("BertProcessing", sep=["<e>", 301], cls=["<s>", 300]),
    named("RobertaProcessing", sep=["<e>", 301], cls=["<s>", 300], trim_offsets=True, add_prefix_space=True),
]


@pytest.mark.parametrize("post_processor", POST_PROCESSORS, ids=lambda value: value["type"])
def test_templates(tmp_path: Path, post_processor: dict[str, Any]) -> None:
    tokens = [added("<s>", 300), added("<e>", 301), added("<x>", 302, special=False)]
    vocab = {**keys(), "<s>": 300, "<e>": 301, "<x>": 302}
    tok = compare(tmp_path, document(post_processor=post_processor, added_tokens=tokens, model__vocab=vocab), count=40)
    hf = tokenizers.Tokenizer.from_file(str(tmp_path / "tokenizer.json"))
    again = tokenizers.Tokenizer.from_file(str(tmp_path / "again.json"))
    assert again.encode("the", "in").ids == hf.encode("the", "in").ids
    text = "a<x> the<s>"
    ids = tok.encode(text, allowed_special="all", add_special_tokens=True)
    assert tok.encode_to_numpy(text, allowed_special="all", add_special_tokens=True).tolist() == ids
    assert tok.encode_batch([text], allowed_special="all", add_special_tokens=True) == [ids]
    assert tok.encode_batch_to_numpy([text], allowed_special="all", add_special_tokens=True)[0].tolist() == ids
    for skip in (False, True):
        expected = hf.decode(ids, skip_special_tokens=skip)
        assert tok.decode(ids, skip_special_tokens=skip) == expected
        assert tok.decode_batch([ids, ids], skip_special_tokens=skip) == [expected] * 2
    assert tok.decode(ids, skip_special_tokens=True) == "a<x> the"


# -- vocabularies of characters ----------------------------------------------------------------------------







@pytest.mark.parametrize("fallback", [False, True])
@pytest.mark.parametrize("fuse", [False, True])
@pytest.mark.parametrize("metaspace", [None, *METASPACES], ids=lambda value: value and json.dumps(value)[-60:])
def test_characters(tmp_path: Path, fallback: bool, fuse: bool, metaspace: dict[str, Any] | None) -> None:
    changes: dict[str, Any] = {"fallback": fallback, "model__fuse_unk": fuse}
    if metaspace is not None:
        changes |= {"normalizer": None, "pre_tokenizer": metaspace}
    tok = compare(tmp_path, of_characters(**changes))
    hf = tokenizers.Tokenizer.from_file(str(tmp_path / "tokenizer.json"))
    for text in texts(15, seed=3):
        ids = hf.encode(text, add_special_tokens=False).ids
        assert tok.decode(ids) == hf.decode(ids, skip_special_tokens=False), text
        assert tok.decode(ids, skip_special_tokens=True) == hf.decode(ids), text


@pytest.mark.parametrize(
    "changes",
    [
        {"pre_tokenizer": split(" ", pattern={"String": " "}, behavior="MergedWithPrevious")},
        {"pre_tokenizer": split(r"\p{N}|[\n]+|in")},
        {"pre_tokenizer": named("WhitespaceSplit"), "normalizer": named("NFC")} | {"decoder": named("ByteFallback")},
        {"pre_tokenizer": sequence(named("Whitespace"), named("Punctuation", behavior="Isolated")), "normalizer": None}
        | {"decoder": named("Sequence", decoders=[named("ByteFallback"), named("Fuse")])},
        {"normalizer": named("Sequence", normalizers=[named("NFKC"), replaced(" ", "\u2581")])},
        {"model__ignore_merges": True},
        {"model__merges": [pair.split() for pair in PAIRS[::-1]]},
        {"pairs": ["t h", "i n", "n \u2581", "x \u2581", "\u2581 the", "th e", "\n \n", "\n \u2581", ". t"]},
    ],
    ids=lambda changes: "-".join(changes),
)  # fmt: skip
def test_characters_otherwise(tmp_path: Path, changes: dict[str, Any]) -> None:
    compare(tmp_path, of_characters(**changes))


def test_bytes_that_are_not_utf8_become_tokens_of_bytes(tmp_path: Path) -> None:
    tok = bbpe.load(write_json(tmp_path / "tokenizer.json", of_characters()))
    for data in (b"\xff", b"the\xe4\xb8", b"\xe4\xb8the", b"\xed\xa0\x80", b"\xf0\x9f\x98 \x80"):
        assert tok.decode_bytes(tok.encode(data)) == data
        assert tok.encode_to_numpy(data).tolist() == tok.encode(data)
    assert tok.encode("\ud83d\ude00\ud800") == tok.encode("\U0001f600\ufffd")


@pytest.mark.parametrize(
    ("changes", "named_parts"),
    [
        ({"normalizer": named("BertNormalizer")}, ("normalizer", "'clean_text' is missing")),
        ({"normalizer": named("Postpend", append="")}, ("'Postpend' is not supported", "expected NFC")),
        ({"pre_tokenizer": named("Sentences")}, ("'Sentences' is not supported", "Metaspace")),
        ({"decoder": named("WordPiece")}, ("decoder", "'prefix' is missing")),
        ({"decoder": named("CTC")}, ("decoder", "'pad_token' is missing")),
        ({"post_processor": named("New")}, ("post_processor", "'New'")),
        ({"post_processor": template("<s>", "A B", s=1)}, ("post_processor.single", "expected one Sequence A")),
        ({"normalizer": replaced("a*?b?", "x", "Regex")}, ("normalizer.pattern", "match the empty string where")),
        ({"normalizer": replaced("", "x")}, ("normalizer.pattern", "where a text begins")),
        ({"normalizer": replaced("a*|b", "x", "Regex")}, ("normalizer.pattern", "match the empty string where")),
        ({"normalizer": replaced("(?=a)", "x", "Regex")}, ("normalizer.pattern", "where a text begins")),
        ({"normalizer": replaced("^", "x", "Regex")}, ("normalizer.pattern", "where a text begins")),
        ({"pre_tokenizer": named("Metaspace", replacement="__")}, ("replacement", "'__'", "expected one character")),
    ],
)
def test_what_is_not_known_is_refused(tmp_path: Path, changes: dict[str, Any], named_parts: tuple[str, ...]) -> None:
    path = write_json(tmp_path / "tokenizer.json", of_characters(**changes))
    with pytest.raises((VocabularyError, PatternError)) as caught:
        bbpe.load(path)
    for part in (str(path), *named_parts):
        assert part in str(caught.value)
