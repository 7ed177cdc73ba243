"""Random tokenizer.json files of all components: ids, offsets, words, texts and streams are those of `tokenizers`.

docs/formats.md lists where bbpe differs on purpose; such ids, offsets and texts are not compared here.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from random_files import RandomFile, hard_texts

import bbpe
from bbpe.errors import PatternError, VocabularyError

tokenizers = pytest.importorskip("tokenizers")

#: What a refusal names.
COMPONENTS = ("normalizer", "pre_tokenizer", "model", "post_processor", "decoder", "added_tokens")


def kinds_of(value: Any) -> set[str]:
    """The types of components, also of those in sequences."""
    if isinstance(value, list):
        return set().union(*map(kinds_of, value))
    if not isinstance(value, dict) or value.get("type") != "Sequence":
        return {value["type"]} if isinstance(value, dict) else set()
    return set().union(*(kinds_of(part) for part in value.values() if isinstance(part, list)))


class Comparison:
    """A file in bbpe and in `tokenizers`."""

    def __init__(self, path: Path, value: dict[str, Any], tok: bbpe.Tokenizer) -> None:
        self.path, self.tok, self.hf = path, tok, tokenizers.Tokenizer.from_file(str(path))
        self.model = value["model"]
        self.ids_compared = self.texts_compared = 0
        self.added = {token["id"] for token in value["added_tokens"]}
        self.contents = [token["content"] for token in value["added_tokens"]]
        self.decoders = kinds_of(value["decoder"])
        self.is_precompiled = "Precompiled" in kinds_of(value["normalizer"])
        vocab = self.model["vocab"]
        keys = set(vocab) if isinstance(vocab, dict) else {row[0] for row in vocab}
        # special tokens in such a vocabulary are not words or pieces
        self.has_words = self.model["type"] in ("Unigram", "WordLevel") and bool(keys & set(self.contents))
        is_bpe, fallback = self.model["type"] == "BPE", self.model.get("byte_fallback")
        # spans after left-out characters, and of bytes of several characters
        drops = is_bpe and self.model["unk_token"] is None
        self.has_spans = not drops and not (not is_bpe and fallback)
        # a whole pretoken of characters without tokens may be a token
        self.is_ambiguous = is_bpe and self.model["ignore_merges"]

    def written(self, text: str) -> str:
        """A text as `tokenizers` normalizes it, "" when it cannot."""
        return text if self.hf.normalizer is None else self.answer(self.hf.normalizer.normalize_str, text) or ""

    def judged(self, text: str, **options: bool) -> Any:
        """A text as `tokenizers` encodes it, `None` when it cannot."""
        return self.answer(self.hf.encode, text, **options)

    def answer(self, ask: Callable[..., Any], text: str, **options: bool) -> Any:
        """What a function of `tokenizers` returns, `None` when it raises or panics."""
        try:
            return ask(text, **options)
        except BaseException as error:  # a panic is not an Exception
            return None if "Panic" in type(error).__name__ or isinstance(error, Exception) else pytest.fail(str(error))

    def differences(self, text: str) -> Iterator[str]:
        """What differs; `ids_compared` and `texts_compared` count what was looked at."""
        theirs, framed = self.judged(text, add_special_tokens=False), self.judged(text)
        if theirs is None or framed is None:
            return
        if self.has_words and self.tok.encode(text, allowed_special="all") != theirs.ids:
            return
        # pieces of `tokenizers`, which mean "unknown" and bytes, and texts that are tokens of bytes
        if ("<unk>" in text and self.model["type"] == "Unigram") or ("<0x" in text and self.model.get("byte_fallback")):
            return
        ids = self.tok.encode(text, allowed_special="all")
        if ids != theirs.ids:
            # its cache can change ids
            again = tokenizers.Tokenizer.from_file(str(self.path)).encode(text, add_special_tokens=False)
            if ids != again.ids:
                yield f"ids {ids} for {theirs.ids}"
            return
        self.ids_compared += 1
        if self.is_ambiguous:
            yield from self.texts_differ(text, framed.ids)
            return
        try:
            found = self.tok.encode_aligned(text, allowed_special="all", add_special_tokens=True)
        except VocabularyError:
            if str(self.model.get("unk_token")) not in text:  # it is a token, too
                raise
            yield from self.texts_differ(text, framed.ids)
            return
        if not found.ids == framed.ids == self.tok.encode(text, allowed_special="all", add_special_tokens=True):
            yield f"template {found.ids} for {framed.ids}"
        if self.tok.encode_batch([text, text], allowed_special="all") != [ids, ids]:
            yield "batch"
        if found.word_ids != framed.word_ids and len(theirs.ids) == len(ids):
            yield f"words {found.word_ids} for {framed.word_ids}"
        again, spans = self.tok.encode_with_offsets(text, allowed_special="all")
        if again != ids:
            yield "ids with offsets"
        has_spans = self.has_spans and not (self.model["type"] == "Unigram" and self.tok.spec.trims and 0 in ids)
        has_spans = has_spans and not self.adds_before_removed(text) and not self.removes_first(text)
        if has_spans and spans.tolist() != [list(span) for span in theirs.offsets]:
            yield f"offsets {spans.tolist()} for {theirs.offsets}"
        yield from self.texts_differ(text, framed.ids)

    def adds_before_removed(self, text: str) -> bool:
        """Whether Precompiled makes several characters of one, and none of the next."""
        if not self.is_precompiled:
            return False
        return any(len(self.written(char)) > 1 and not self.written(after) for char, after in pairwise(text))

    def removes_first(self, text: str) -> bool:
        """Whether Precompiled may remove the first character of a text, or of what is between two added tokens."""
        if not self.is_precompiled:
            return False
        parts = re.split("|".join(map(re.escape, sorted(self.contents, key=len, reverse=True))) or r"(?!)", text)
        return any(part and not self.written(part[0]) for part in parts)

    def texts_differ(self, given: str, ids: list[int]) -> Iterator[str]:
        for skips in (False, True):
            text = self.tok.decode(ids, skip_special_tokens=skips)
            stream = self.tok.stream_decoder(skip_special_tokens=skips)
            if "".join(map(stream.push, ids)) + stream.finish() != text:
                yield f"stream for {text!r}"
            if self.tok.decode_batch([np.array(ids, np.uint32)], skip_special_tokens=skips) != [text]:
                yield f"decoded batch for {text!r}"
        plain = [token_id for token_id in ids if token_id not in self.added]
        if self.decodes_otherwise(given, plain):
            return
        ours = self.tok.decode(plain)
        try:
            theirs = self.hf.decode(plain, skip_special_tokens=False)
        except BaseException:  # panics of Strip
            return
        self.texts_compared += "\ufffd" not in ours + theirs
        if ours != theirs and "\ufffd" not in ours + theirs:
            yield f"text {ours!r} for {theirs!r}"

    def decodes_otherwise(self, text: str, ids: list[int]) -> bool:
        keys = [self.hf.id_to_token(token_id) for token_id in ids]
        # tokens of bytes may spell a mark
        has_marks = "Replace" in self.decoders or bool(set("".join([text, *keys])) & {"\u2581", "_"})
        if "Metaspace" in self.decoders and has_marks:
            return True
        return "</w>" in "".join([text, *keys]) and bool(self.decoders & {"ByteLevel", "BPEDecoder"})


def with_tokens_apart(value: dict[str, Any]) -> dict[str, Any]:
    """A file whose added tokens stay different and not empty when they are normalized: others have no right answer."""
    bare = {**value, "added_tokens": [], "post_processor": None}
    normalizer = tokenizers.Tokenizer.from_str(json.dumps(bare)).normalizer
    seen, kept = set[str](), []
    for token in value["added_tokens"]:
        content = token["content"]
        if token["normalized"] and normalizer is not None:
            try:
                content = normalizer.normalize_str(content)
            except BaseException as error:  # a panic is not an Exception
                assert "Panic" in type(error).__name__ or isinstance(error, Exception)  # noqa: PT017
                content = ""
        usable = content and content not in seen
        seen.add(content)
        kept.append(token if usable else {**token, "normalized": False})
    return {**value, "added_tokens": kept}


def compare(folder: Path, seed: int, count: int) -> tuple[int, int, int]:
    """Return how many files were read, and of how many texts ids and decoded text were compared."""
    value = with_tokens_apart(RandomFile(seed).value)
    path = folder / "tokenizer.json"
    path.write_text(json.dumps(value), "utf-8")
    try:
        tok = bbpe.load(path)
    except (PatternError, VocabularyError) as error:
        assert any(f"{path}: {name}" in str(error) for name in COMPONENTS), str(error)  # noqa: PT017
        return 0, 0, 0
    comparison = Comparison(path, value, tok)
    for text in hard_texts(seed, count):
        for difference in comparison.differences(text):
            shown = json.dumps({name: part for name, part in value.items() if name != "model"}, ensure_ascii=False)
            options = {name: part for name, part in value["model"].items() if name not in ("vocab", "merges")}
            pytest.fail(f"seed {seed}, {text!r}: {difference}\n{options}\n{shown[:3000]}")
    return 1, comparison.ids_compared, comparison.texts_compared


@pytest.mark.parametrize(
    ("first", "last", "count"),
    [
        (0, 8, 30),
        (2000, 2008, 30),
        pytest.param(8, 85, 70, marks=pytest.mark.full),
        pytest.param(2008, 2085, 70, marks=pytest.mark.full),
        *(pytest.param(at, at + 100, 150, marks=pytest.mark.long) for at in range(0, 4000, 100)),
    ],
)
def test_random_files(tmp_path: Path, first: int, last: int, count: int) -> None:
    found = [compare(tmp_path, seed, count) for seed in range(first, last)]
    files, ids, texts = map(sum, zip(*found, strict=True))
    assert files > 0.8 * (last - first)
    assert ids > 0.8 * files * count
    assert texts > 0.5 * files * count
