"""Every way to encode a text gives the ids of the slow definition, whatever the text and the vocabulary.

Three axes: a mode of calling, a kind of text, and a vocabulary.  A new way to encode is a row of `MODES`.
"""

from __future__ import annotations

import pickle
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
import pytest
from rule_files import METASPACES, named, of_characters
from strings import adversarial_strings, byte_soups
from vocabularies import added, byte_level, document, keys, sequence, split, write_json

import bbpe
from bbpe import tokenizer as tokenizers
from bbpe.encoding import engine
from bbpe.reference.pipeline import SlowPipeline
from bbpe.spec.rules import Template
from bbpe.splitting.patterns import recognise

Text: TypeAlias = str | bytes
Rows: TypeAlias = list[list[int]]
Mode: TypeAlias = Callable[..., Rows]

CORPUS = ["see my eyes first, the thing is in-12, see my dogs", "café naïve, 中文 中 the\n", "it's 12345 😀"] * 4
MIXED = "see my <s> dogs, The thing<a> is in-12,  it's\tcafé e\u0301 中文 <s></s>😀\n\n"
#: What makes a str of one, two and four bytes a character, bytes that are no str, and what is hardly a text at all.
TEXTS: dict[str, list[Text]] = {
    "ascii": ["see my <s> dogs, the thing<a> is in-12", "a", " ", "\n\n", "it's  12 </s><s>aaaa", "see" * 90],
    "1 byte": ["café <s>naïve é\xa0À", "é" * 300, "<s>ÿ"],
    "2 bytes": ["中文 the Ж <s> あい中", "中" * 120, "\u2581a \u2581\u3000<s>e\u0301"],
    "4 bytes": ["😀 the <s>𠀀中😀", "see 😀é my", "\ud83d\ude00 a\ud800b", "\udc00<s>\ud800"],
    "bytes": [b"caf\xe9 <s>the\xff\x80", b"\xe4\xb8<s>\xad", b"\xff", b"\xf0\x9f\x98 see <a>\xf0\x9f\x98\x80"],
    "empty": ["", b""],
    "tokens": ["<s>", "</s><s><s>", "<s>" * 90, b"<s></s>", " <s> <a> "],
    "soups": [*adversarial_strings(10, seed=51, surrogates=True), *byte_soups(5, seed=53)],
    "long": [MIXED * 9, MIXED.encode() * 6 + b"\xff<s>", "thé\u2581 中 " * 60, ("see my " + "dogs" * 20) * 12],
}
ALLOWED: list[Any] = ["all", {"<s>"}, ()]


# -- vocabularies -----------------------------------------------------------------------------------------------------


def _trained(**options: Any) -> bbpe.Tokenizer:
    return bbpe.train_from_iterator(CORPUS, options.pop("size", 320), special_tokens=["<s>", "</s>"], **options)


def _with_options() -> dict[str, Any]:
    tokens = [added("<s>", 300), added("</s>", 301, rstrip=True), added("<a>", 302, lstrip=True, special=False)]
    tokens.append(added("dogs", 303, normalized=True, special=False))
    rules = named("Sequence", normalizers=[named("NFC"), named("Lowercase")])
    ids = {token["content"]: token["id"] for token in tokens}
    return document(added_tokens=tokens, normalizer=rules, model__vocab={**keys(), **ids})


def _foreign() -> dict[str, Any]:
    """A regex that looks behind by two characters, whose matches Python finds."""
    rules = sequence(split(r"(?<=th)e", behavior="MergedWithNext"), byte_level())
    return document(added_tokens=[added("<s>", 300), added("</s>", 301)], pre_tokenizer=rules)


VOCABULARIES: dict[str, Callable[[], bbpe.Tokenizer | dict[str, Any]]] = {
    "bytes, gpt2": lambda: _trained(pattern="gpt2"),
    "bytes, cl100k": lambda: _trained(pattern="cl100k"),
    "bytes, a pattern of Python's": lambda: _trained(pattern=recognise([r"(?<=th)e|\w+|\W"])),
    "WordPiece": lambda: _trained(size=90, model="wordpiece"),
    "Unigram": lambda: _trained(model="unigram"),
    "words of characters": lambda: _trained(size=90, model=bbpe.BPE(alphabet="chars", end_of_word="</w>")),
    "Metaspace": lambda: of_characters(normalizer=None, pre_tokenizer=METASPACES[0]),
    "characters without bytes": lambda: of_characters(fallback=False),
    "normalizers and options of tokens": _with_options,
    "a split of Python's": _foreign,
}


class Case:
    """A tokenizer with a template, all texts, and the ids of each text by the slow definition."""

    def __init__(self, tok: bbpe.Tokenizer) -> None:
        specials = tok.special_tokens
        around = ((specials["<s>"], 0), ("A", 0), (specials["</s>"], 0))
        self.tok = bbpe.Tokenizer(replace(tok.spec, template=Template(around)))
        self.texts = [text for texts in TEXTS.values() for text in texts]
        slow, find = SlowPipeline(self.tok.spec), self.tok._parts.specials.matcher
        self.right = [[slow.encode(text, find(allowed)) for text in self.texts] for allowed in ALLOWED]

    def framed(self, ids: Rows) -> Rows:
        specials = self.tok.special_tokens
        return [[specials["<s>"], *row, specials["</s>"]] for row in ids]


@pytest.fixture(scope="module", params=VOCABULARIES)
def case(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Case:
    made = VOCABULARIES[request.param]()
    if isinstance(made, dict):
        made = bbpe.load(write_json(tmp_path_factory.mktemp("matrix") / "tokenizer.json", made))
    return Case(made)


# -- modes ------------------------------------------------------------------------------------------------------------


def utf8(text: Text) -> bytes:
    """A pair of surrogates is its code point, a lone one U+FFFD."""
    if isinstance(text, bytes):
        return text
    return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace").encode()


def each(encode: Callable[..., Any]) -> Mode:
    """A mode for one text at a time."""
    return lambda tok, texts, **options: [list(map(int, encode(tok, text, **options))) for text in texts]


def chunks(text: Text, count: int) -> Iterator[Text]:
    """About so many chunks, of three characters or bytes at least, some of which end within a character."""
    size = max(3, len(text) // count)
    return (text[at : at + size] for at in range(0, len(text), size))


def columns(tok: bbpe.Tokenizer, texts: list[Text], **options: Any) -> Rows:
    pa = pytest.importorskip("pyarrow")
    data = list(map(utf8, texts))
    return tok.encode_batch(pa.chunked_array([pa.array(data[:9], pa.binary()), pa.array(data[9:])]), **options)


def padded(tok: bbpe.Tokenizer, texts: list[Text], **options: Any) -> Rows:
    rows = tok.encode_padded(texts, pad_id=0, **options)
    return [ids[mask.astype(bool)].tolist() for ids, mask in zip(rows.ids, rows.mask, strict=True)]


def batch_to_numpy(threads: int) -> Mode:
    return lambda tok, texts, **options: [
        row.tolist() for row in tok.encode_batch_to_numpy(texts, threads=threads, **options)
    ]


MODES: dict[str, Mode] = {
    "encode": each(lambda tok, text, **options: tok.encode(text, **options)),
    "bytes": each(lambda tok, text, **options: tok.encode(utf8(text), **options)),
    "bytearray": each(lambda tok, text, **options: tok.encode(bytearray(utf8(text)), **options)),
    "memoryview": each(lambda tok, text, **options: tok.encode(memoryview(b"??" + utf8(text))[2:], **options)),
    "array of bytes": each(lambda tok, text, **options: tok.encode(np.frombuffer(utf8(text), np.uint8), **options)),
    "to_numpy": each(lambda tok, text, **options: tok.encode_to_numpy(text, threads=1, **options)),
    "to_numpy, threads": each(lambda tok, text, **options: tok.encode_to_numpy(text, threads=2, **options)),
    "to_numpy of bytes, threads": each(
        lambda tok, text, **options: tok.encode_to_numpy(utf8(text), threads=2, **options)
    ),
    "encode, threads": each(lambda tok, text, **options: tok.encode(text, **options)),
    "batch": lambda tok, texts, **options: tok.encode_batch(texts, threads=1, **options),
    "batch, threads": lambda tok, texts, **options: tok.encode_batch(texts, threads=2, **options),
    "batch of two": lambda tok, texts, **options: [
        ids for text in texts for ids in tok.encode_batch([text, ""], **options)[:1]
    ],
    "batch_to_numpy": batch_to_numpy(1),
    "batch_to_numpy, threads": batch_to_numpy(2),
    "padded": padded,
    "padded, threads": lambda tok, texts, **options: padded(tok, texts, threads=2, **options),
    "column": columns,
    "column, threads": lambda tok, texts, **options: columns(tok, texts, threads=2, **options),
    "iterable": each(lambda tok, text, **options: tok.encode_iterable(chunks(text, 300), **options)),
    "iterable of long chunks": each(lambda tok, text, **options: tok.encode_iterable(chunks(text, 7), **options)),
    "with_offsets": each(lambda tok, text, **options: tok.encode_with_offsets(text, **options)[0]),
    "aligned": each(lambda tok, text, **options: tok.encode_aligned(text, **options).ids),
    "pickled": lambda tok, texts, **options: pickle.loads(pickle.dumps(tok)).encode_batch(texts, **options),
}
COUNTS: dict[str, Callable[..., Any]] = {
    "one text": lambda tok, texts, **options: [tok.count_tokens(text, threads=1, **options) for text in texts],
    "one text, threads": lambda tok, texts, **options: [tok.count_tokens(text, threads=2, **options) for text in texts],
    "batch": lambda tok, texts, **options: tok.count_tokens_batch(texts, threads=1, **options).tolist(),
    "batch, threads": lambda tok, texts, **options: tok.count_tokens_batch(texts, threads=2, **options).tolist(),
}
FRAMED = ["encode", "to_numpy, threads", "batch", "batch_to_numpy, threads", "padded", "aligned"]


@pytest.fixture(autouse=True)
def small_parts(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Modes with threads share any text that is longer than a few words."""
    if "threads" in request.node.name:
        monkeypatch.setattr(engine, "THREAD_WORTH", 200)
        monkeypatch.setattr(engine, "_CHUNK", 97)
        monkeypatch.setattr(engine, "_LEAST_CHUNK", 31)
        monkeypatch.setattr(tokenizers.Tokenizer, "_short", None)


def check(case: Case, found: Callable[[Any], Any], right: list[Any]) -> None:
    for allowed, expected in zip(ALLOWED, right, strict=True):
        for text, ids, wanted in zip(case.texts, found(allowed), expected, strict=True):
            assert ids == wanted, (text[:80], allowed)


@pytest.mark.parametrize("mode", MODES)
def test_ids_are_equal_in_every_mode(case: Case, mode: str) -> None:
    case.tok.clear_cache()
    check(case, lambda allowed: MODES[mode](case.tok, case.texts, allowed_special=allowed), case.right)


@pytest.mark.parametrize("mode", COUNTS)
def test_counts_are_those_of_the_ids(case: Case, mode: str) -> None:
    right = [list(map(len, rows)) for rows in case.right]
    check(case, lambda allowed: COUNTS[mode](case.tok, case.texts, allowed_special=allowed), right)


def test_what_fits_is_what_is_counted(case: Case) -> None:
    for allowed, rows in zip(ALLOWED, case.right, strict=True):
        for text, count in zip(case.texts, map(len, rows), strict=True):
            limits = [count, max(count - 1, 0)]
            found = [case.tok.fits(text, limit, allowed_special=allowed) for limit in limits]
            assert found == [True, count == 0], (text[:80], allowed)


@pytest.mark.parametrize("mode", FRAMED)
def test_a_template_is_around_the_same_ids(case: Case, mode: str) -> None:
    options = {"add_special_tokens": True}
    right = list(map(case.framed, case.right))
    check(case, lambda allowed: MODES[mode](case.tok, case.texts, allowed_special=allowed, **options), right)


def test_files_are_texts(case: Case, tmp_path: Path) -> None:
    paths = [tmp_path / f"{number:03}.txt" for number in range(len(case.texts))]
    for path, text in zip(paths, case.texts, strict=True):
        path.write_bytes(utf8(text))
    files = case.tok.encode_files
    check(case, lambda allowed: [ids.tolist() for ids in files(paths, allowed_special=allowed)], case.right)
