"""Tokenizers that ask Python, for a regex without an automaton, answer every call as their fast twins.

A twin has one more clause or rule, that no text meets: `(?!)(?<a>a)(?P=a)` refers back, and matches nothing.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import bbpe
from bbpe.encoding import engine
from bbpe.encoding.plan import uncompiled
from bbpe.reference.pipeline import SlowPipeline
from bbpe.spec.rules import (
    ByteLevel,
    Characters,
    Digits,
    Lowercase,
    Prefix,
    Prepend,
    Replace,
    Split,
    Template,
    TokenOptions,
    UnicodeForm,
    WhitespaceSplit,
)
from bbpe.spec.spec import TextRules, TokenizerSpec
from bbpe.splitting.patterns import recognise

NEVER = "(?!)(?<a>a)(?P=a)"
TEXT = "see my <s> dogs, \u00e9\u4e2d See<s>\tmy eyes 123<a> first <s>"
TEXTS = [TEXT, "", " ", "<s>", "<s><s>", "a", "dogs" * 30, "e\u0301 SEE  my", "\u4e2d" * 40, TEXT * 3]
DATA = [b"caf\xe9 <s>see", b"see\xffmy <s>a\xff\x80 b\xf0\x9f my", b"\xff", b"", b"\xe4\xb8<s>\xad my"]


def spec_of(**changes: Any) -> TokenizerSpec:
    texts = [TEXT.lower(), "see my dogs, see my eyes"] * 3
    tok = bbpe.train_from_iterator(texts, 300, special_tokens=["<s>", "</s>"])
    specials = tok.spec.special_tokens
    around = Template(((specials["<s>"], 0), ("A", 0), (specials["</s>"], 0)))
    return replace(tok.spec, added_tokens={"<a>": 300}, template=around, **changes)


def of_pattern(source: str, *, drops: bool = False) -> Iterator[TokenizerSpec]:
    for each in (source, f"{NEVER}|{source}"):
        yield spec_of(pattern=recognise([each], drops_gaps=drops))


def of_rules(*normalizers: Any, **changes: Any) -> Iterator[TokenizerSpec]:
    for more in ((), (Replace(NEVER, True, "x"),)):
        yield spec_of(rules=TextRules((*normalizers, *more), changes.get("prefix"), ()), **changes.get("spec", {}))


def of_splits(*rules: Any) -> Iterator[TokenizerSpec]:
    for more in ((), (Split(NEVER, "Isolated"),)):
        yield spec_of(rules=TextRules((), None, (*more, *rules)))


def of_unigram() -> Iterator[TokenizerSpec]:
    spec = bbpe.train_from_iterator([TEXT] * 3, 330, model="unigram", special_tokens=["<s>", "</s>"]).spec
    for more in ((), (Replace(NEVER, True, "x"),)):
        rules = replace(spec.rules, normalizers=(*more, *spec.rules.normalizers))
        yield replace(spec, rules=rules, template=Template((("A", 0), (spec.special_tokens["</s>"], 0))))


TWINS: dict[str, Callable[[], Iterator[TokenizerSpec]]] = {
    "regex": lambda: of_pattern(r"\w+|\W"),
    "regex that drops": lambda: of_pattern(r"\w+|[^\s\w]", drops=True),
    "normalizers": lambda: of_rules(UnicodeForm("NFC"), Lowercase()),
    "prefix": lambda: of_rules(prefix=Prefix(" ")),
    "prefix of the first": lambda: of_rules(Prepend("__"), prefix=Prefix("see", first=True)),
    "options": lambda: of_rules(
        Lowercase(),
        spec={"token_options": {
            "<s>": TokenOptions(single_word=True), "<a>": TokenOptions(normalized=True, rstrip=True),
        }},
    ),
    "splits": lambda: of_splits(Digits(True), ByteLevel(False, True)),
    "splits that drop": lambda: of_splits(WhitespaceSplit(), ByteLevel(False, True)),
    "unigram": of_unigram,
}


@cache
def twins(name: str) -> tuple[bbpe.Tokenizer, bbpe.Tokenizer]:
    fast, slow = map(bbpe.Tokenizer, TWINS[name]())
    assert uncompiled(fast.spec) is None
    assert uncompiled(slow.spec) is not None
    return fast, slow


#: Calls of a tokenizer with a text and the options of special tokens.
CALLS: dict[str, Callable[..., Any]] = {
    "encode": lambda tok, text, **given: tok.encode(text, **given),
    "encode within a template": lambda tok, text, **given: tok.encode(text, add_special_tokens=True, **given),
    "encode with dropout": lambda tok, text, **given: tok.encode(text, dropout=0.4, seed=5, **given),
    "encode_to_numpy": lambda tok, text, **given: [
        tok.encode_to_numpy(text, threads=threads, add_special_tokens=True, **given).tolist()
        for threads in (None, 1, 2)
    ],
    "encode_batch": lambda tok, text, **given: [
        tok.encode_batch([text, "", text], threads=threads, add_special_tokens=adds, **given)
        for threads in (None, 1, 2) for adds in (False, True)
    ],
    "encode_batch_to_numpy": lambda tok, text, **given: [
        [row.tolist() for row in tok.encode_batch_to_numpy(["a", text], threads=threads, **given)] for threads in (1, 2)
    ],
    "encode_padded": lambda tok, text, **given: tok.encode_padded(
        [text, "see my"], 6, 0, stride=1, add_special_tokens=True, **given
    ).ids.tolist(),
    "encode_iterable": lambda tok, text, **given: list(
        tok.encode_iterable([text[at : at + 3] for at in range(0, len(text), 3)], **given)
    ),
    "count_tokens": lambda tok, text, **given: tok.count_tokens(text, threads=2, add_special_tokens=True, **given),
    "count_tokens_batch": lambda tok, text, **given: [
        tok.count_tokens_batch([text, "", "a"], threads=threads, **given).tolist() for threads in (None, 2)
    ],
    "fits": lambda tok, text, **given: [tok.fits(text, n, **given) for n in (0, 1, 5, 9, 40)],
    "truncate": lambda tok, text, **given: [
        tok.truncate(text, n, side, **given) for n in (0, 1, 5, 9) for side in ("right", "left")
    ],
    "chunk": lambda tok, text, **given: tok.chunk(text, 8, **given),
    "chunk with an overlap": lambda tok, text, **given: tok.chunk(text, 8, overlap=3, boundary="word", **given),
    "encode_with_offsets": lambda tok, text, **given: [
        (ids, spans.tolist())
        for ids, spans in (tok.encode_with_offsets(text, unit, **given) for unit in ("char", "utf16"))
    ],
}  # fmt: skip
OPTIONS: list[dict[str, Any]] = [
    {}, {"allowed_special": "all"}, {"allowed_special": {"</s>"}}, {"disallowed_special": "all"},
    {"allowed_special": {"<s>"}, "disallowed_special": "all"},
]  # fmt: skip


def outcome(call: Callable[..., Any], tok: bbpe.Tokenizer, text: str | bytes, options: dict[str, Any]) -> Any:
    try:
        return call(tok, text, **options)
    except (ValueError, bbpe.VocabularyError) as error:
        return type(error), str(error)


#: Calls that ask for places, which no rule of Python that drops text has.
PLACES = {"truncate", "chunk", "chunk with an overlap", "encode_with_offsets"}


CASES = [(call, name) for call in CALLS for name in TWINS if call not in PLACES or name != "splits that drop"]


@pytest.mark.parametrize(("call", "name"), CASES)
def test_every_call_as_the_fast_twin(call: str, name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(engine, "THREAD_WORTH", 100)
    for constant, value in (("_CHUNK", 61), ("_LEAST_CHUNK", 23)):
        monkeypatch.setattr(engine, constant, value)
    fast, slow = twins(name)
    shift = CASES.index((call, name))
    for number, options in enumerate(OPTIONS):
        # every other text, and the others with the next options
        for text in (*TEXTS, *DATA)[(number + shift) % 2 :: 2]:
            expected, found = (outcome(CALLS[call], tok, text, options) for tok in (fast, slow))
            assert found == expected, (text, options)


@pytest.mark.parametrize("name", TWINS)
def test_files_and_columns_as_the_fast_twin(name: str, tmp_path: Path) -> None:
    pa = pytest.importorskip("pyarrow")
    fast, slow = twins(name)
    (tmp_path / "a.txt").write_text(TEXT * 20)
    (tmp_path / "b.jsonl").write_text("".join(json.dumps({"text": text}) + "\n" for text in TEXTS))
    column = pa.array(TEXTS)
    for options in OPTIONS[:3]:
        expected, found = ([ids.tolist() for ids in tok.encode_files(tmp_path, **options)] for tok in (fast, slow))
        assert found == expected
        assert found[0] == fast.encode(TEXT * 20, **options)
        assert slow.encode_batch(column, **options) == fast.encode_batch(TEXTS, **options)
        lengths = [len(slow.encode(text, **options)) for text in TEXTS]
        assert slow.count_tokens_batch(column, **options).tolist() == lengths


@pytest.mark.parametrize("name", TWINS)
def test_what_is_no_text_is_refused_as_by_the_fast_twin(name: str) -> None:
    wrong: list[Any] = [3, None, ["a"], np.zeros(3, np.int64), np.zeros((2, 2), np.uint8), memoryview(b"abcd")[::2]]
    for tok in twins(name):
        for text in wrong:
            for call in (tok.encode, tok.encode_to_numpy, tok.count_tokens):
                with pytest.raises(TypeError, match="text"):
                    call(text)
            with pytest.raises(TypeError, match="text"):
                tok.encode_batch([text])


def test_bytes_that_are_no_text_are_tokens_where_symbols_are_bytes() -> None:
    """They become U+FFFD where symbols are characters, or bytes that the end of a word marks."""
    characters = Characters(are_bytes=True)
    mark = "\ufffd".encode()
    for spec in of_pattern(r"\w+|\W"):
        vocab, data = {1: b"a", 2: b"\xff", 3: b"\x80"}, b"a\xff\x80a\x80\xff"
        for rules, first in ((TextRules(), []), (TextRules(prefix=Prefix("aa")), [1, 1])):
            tok = bbpe.Tokenizer(TokenizerSpec(vocab, (), spec.pattern, characters=characters, rules=rules))
            assert tok.encode(data) == SlowPipeline(tok.spec).encode(data) == [*first, 1, 2, 3, 1, 3, 2]
        for ending, others in (("", {}), ("</w>", {"are_bytes": True}), ("</w>", {})):
            keys = {1: b"a", 2: mark[:1] if others else mark, 3: b"a</w>", 4: (mark[2:] if others else mark) + b"</w>"}
            made = TokenizerSpec(keys, (), spec.pattern, characters=Characters(end_of_word=ending, **others))
            tok = bbpe.Tokenizer(made)
            assert tok.encode(b"a\xffa") == tok.encode("a\ufffda") == SlowPipeline(tok.spec).encode(b"a\xffa")


def test_bytes_without_a_token_have_no_places_of_their_own() -> None:
    """Left out, they are in no token, and the tokens after them have places all the same."""
    characters = Characters(are_bytes=True)
    for spec in of_pattern(r"\w+|\W"):
        made = TokenizerSpec({1: b"a", 2: b"b", 3: b"ab"}, ((1, 2, 3),), spec.pattern, characters=characters)
        tok = bbpe.Tokenizer(made)
        assert tok.encode("ab ba") == [3, 2, 1]
        assert tok.encode_with_offsets("abba")[1].tolist() == [[0, 2], [2, 3], [3, 4]]
        assert tok.encode_with_offsets("ab ba")[1].tolist() == [[0, 2], [3, 4], [4, 5]]
