"""The compiled readers of keys and merges against `json` and the slower readers that they replace."""

from __future__ import annotations

import json
import random
from pathlib import Path
from typing import Any

import pytest

from bbpe.core.json_lines import find_members
from bbpe.core.token_table import TokenTable
from bbpe.errors import VocabularyError
from bbpe.formats import Given, gpt2_files
from bbpe.formats.common.key_tables import KeyTable, MergeIds, MergeKeys, quick_document, vocab_of_bytes
from bbpe.formats.common.reading import loads
from bbpe.formats.huggingface import tokenizer_json
from bbpe.spec.fingerprint import fingerprint
from bbpe.spec.models import Merges, Vocab
from bbpe.spec.spec import MAX_ID, TokenizerSpec
from bbpe.text import BYTE_ORDER, bytes_to_alphabet

SIGNS = ["{", "}", "[", "]", '"', ",", ":", "\\", " ", "\n", "0", "1", "-", ".", "e", "a", "\x1f", "é", "\ud800", "😀"]
ESCAPES = ["\\n", '\\"', "\\/", "\\\\", "\\u0041", "\\uD83D\\uDE00", "\\ud83d", "\\ude00", "\\u00e9", "\\x", "\\u12"]


def text_of(rng: random.Random) -> str:
    return '"' + "".join(rng.choice([*"abĠé中😀", *ESCAPES]) for _ in range(rng.randint(0, 3))) + '"'


def blank(rng: random.Random) -> str:
    return rng.choice(["", "", "", " ", "\n\t", "\r", "\x0b"])


def mutated(rng: random.Random, text: str) -> bytes:
    for _ in range(rng.choice([0, 0, 1, 1, 2])):
        at = rng.randint(0, len(text))
        text = text[:at] + rng.choice(["", rng.choice(SIGNS)]) + text[at + rng.randint(0, 1) :]
    data = text.encode("utf-8", "surrogatepass")
    return data if rng.random() < 0.95 else data[: rng.randint(0, len(data))]


def object_of(rng: random.Random) -> str:
    number = ["0", "1", "2", "3", "10", "01", "-0", "-1", "1.0", "1e1", str(MAX_ID), str(MAX_ID + 1), "9" * 30, "null"]
    weights = [8] * 5 + [1] * 9
    rows = (
        blank(rng) + text_of(rng) + blank(rng) + ":" + blank(rng) + rng.choices(number, weights)[0] + blank(rng)
        for _ in range(rng.randint(0, 3))
    )
    return blank(rng) + "{" + ",".join(rows) + "}" + blank(rng)


def is_usual(keys: object) -> bool:
    """Whether the compiled reader has to read the value of a JSON object."""
    if not isinstance(keys, dict) or len(set(keys.values())) < len(keys):
        return False
    well = all(not any("\ud800" <= char <= "\udfff" for char in key) for key in keys)
    return well and all(type(number) is int and 0 <= number <= MAX_ID for number in keys.values())


@pytest.mark.parametrize("seed", range(4))
def test_keys_are_those_of_json(seed: int) -> None:
    rng = random.Random(seed)
    read = 0
    for _ in range(4_000):
        data = mutated(rng, object_of(rng))
        try:
            expected: Any = loads(data.decode())
        except (ValueError, RecursionError):
            expected = None
        table = TokenTable.of_json(data, 0, len(data))
        if table is None:
            # it may leave only -0 to the slower reader
            assert not is_usual(expected) or b"-0" in data, data
        else:
            read += 1
            assert list(KeyTable(table).items()) == list(expected.items()), data
    assert read > 400


DOCUMENTS = [
    '{"version":"1.0", "model": {"a": [1, {"vocab": "}"}], "vocab": {"a": 1}, "merges": ["a b"]}, "b\\"": null}',
    '{"model":{"merges":[],"vocab":{"a":1,"x":{}}},"model ":{"vocab":3},"vocab":{"b":1}, "merges": [1e5, true]}',
    '{"x": "\\"model\\": {\\"vocab\\": {}", "model": {"vocab": {"{": 0, "\\\\": 1}, "merges": [["{", "\\\\"]]}}',
]


@pytest.mark.parametrize("seed", range(4))
def test_members_are_where_they_are(seed: int) -> None:
    rng = random.Random(seed)
    found = 0
    for _ in range(1_000):
        data = mutated(rng, rng.choice(DOCUMENTS))
        places = find_members(data, (b"model", b"vocab"), (b"model", b"merges"), b"vocab")
        try:
            expected: Any = loads(data.decode())
        except (ValueError, RecursionError):
            expected = None
        if not isinstance(expected, dict):
            document = quick_document(data)
            if document is not None:  # the merges are read later
                with pytest.raises(VocabularyError):
                    document["model"]["merges"].merges(document["model"]["vocab"], "")
            continue
        assert places is not None, data
        model = expected.get("model")
        outer = model if isinstance(model, dict) else {}
        for place, owner, name in zip(places, (outer, outer, expected), ("vocab", "merges", "vocab"), strict=True):
            assert (place == (0, 0)) == (name not in owner) or b"\\" in data, data
            if place != (0, 0):
                found += 1
                assert loads(data[slice(*place)].decode()) == owner[name], data
    assert found > 900


def merges_of(rng: random.Random, keys: list[str], prefix: str) -> list[Any]:
    second = [key for key in keys if key.startswith(prefix) and key != prefix]
    fitting = [(left, right) for left in keys for right in second if left + right.removeprefix(prefix) in keys]
    pairs: list[Any] = []
    for _ in range(rng.randint(0, 6)):
        left, right = rng.choice(fitting) if rng.random() < 0.97 else (rng.choice(keys), rng.choice(keys))
        pairs.append(f"{left} {right}" if rng.random() < 0.5 else [left, right])
    odd = [1, "a", "a  b", " a", "a b c", ["a"], ["a", ""], ["a", "b", "c"], [1, "a"], "", None, "zz zz"]
    return [rng.choice(odd) if rng.random() < 0.03 else pair for pair in pairs]


@pytest.mark.parametrize("prefix", ["", "a"])
@pytest.mark.parametrize("seed", range(2))
def test_merges_are_those_of_the_slower_reader(seed: int, prefix: str, tmp_path: Path) -> None:
    rng = random.Random(seed)
    texts = ["a", "b", "ab", "é", "aé", "aba", "abb", "ba", "aa", "aab", "bé", "bb", "éa", "éé", "ababb", "ao", "b o"]
    keys = KeyTable.of({text: 3 * number for number, text in enumerate(texts)})
    read = 0
    for _ in range(200):
        rows = merges_of(rng, texts, prefix)
        data = json.dumps(rows, ensure_ascii=rng.random() < 0.5).encode()
        found = Merges.of_json(data, 0, len(data), keys.table, prefix.encode())
        expected = slow(rows, keys, prefix)
        assert found == expected, rows
        read += found is not None and len(found) > 1
        if prefix:
            continue
        lines = [row if isinstance(row, str) else " ".join(map(str, row)) for row in rows if row and row != 1]
        path = tmp_path / "merges.txt"
        path.write_bytes(("#version: 0.2\n" * rng.randint(0, 1) + "\r\n".join(lines)).encode())
        try:
            by_lines = gpt2_files.read_merges(path, keys).merges(keys, Vocab(dict(keys.table.pairs())))
        except VocabularyError:
            assert slow(lines, keys, "") is None, lines
        else:
            assert by_lines == slow(lines, keys, ""), lines
    assert read > 34


def slow(rows: list[Any], keys: KeyTable, prefix: str) -> Merges | None:
    """The merges of `json` by the slower reader; `None` where it refuses them."""
    pairs = []
    for row in rows:
        parts = row.split(" ") if isinstance(row, str) else row
        if not isinstance(parts, list) or len(parts) != 2 or not all(isinstance(part, str) and part for part in parts):
            return None
        if not parts[1].startswith(prefix) or parts[1] == prefix:
            return None
        pairs.append((parts[0], parts[1]))
    try:
        return MergeKeys(pairs, "x", str, prefix).merges(keys, Vocab(dict(keys.table.pairs())))
    except VocabularyError:
        return None


def test_the_byte_alphabet() -> None:
    texts = {bytes_to_alphabet(bytes((byte,))): byte for byte in range(256)} | {bytes_to_alphabet(BYTE_ORDER): 300}
    vocab = vocab_of_bytes(KeyTable.of(texts), path="x")
    assert vocab == {token_id: bytes((token_id,)) for token_id in range(256)} | {300: BYTE_ORDER}
    alphabet = frozenset(texts)
    for point in (*range(0x400), 0x2581, 0xFFFF, 0x10FFFF):
        table = Vocab.of_keys(KeyTable.of({chr(point): 0}).table) if not 0xD800 <= point < 0xE000 else None
        assert (table is not None) == (chr(point) in alphabet), hex(point)


@pytest.mark.parametrize("marks_blanks", [False, True])
def test_keys_of_texts(marks_blanks: bool) -> None:
    texts = ["a", "▁a", "▁", "é▁", "😀"]
    keys = KeyTable.of({text: number for number, text in enumerate(texts)})
    tokens = Vocab.of_texts(keys.table, [1], marks_blanks)
    blank = " " if marks_blanks else "▁"
    expected = {number: text.replace("▁", blank).encode() for number, text in enumerate(texts) if number != 1}
    assert tokens == expected
    for broken in ("", "\ud800"):
        assert Vocab.of_texts(KeyTable.of({broken: 0}).table, [], marks_blanks) is None


def test_changed_tables() -> None:
    table = TokenTable({5: b"a", 2: b" b", 9: "é".encode()})
    assert table.is_text()
    broken = (b"\xff", b"\xed\xa0\x80", b"\xc3")
    assert not any(TokenTable({0: b"a", 1: token}).is_text() for token in broken)
    assert all(TokenTable({0: token}).is_text() for token in (b"", b"\xc3\xa9"))
    assert [table.has_byte(byte) for byte in b"a \xa9z"] == [True, True, True, False]
    changed = TokenTable.of_changed(table, [2, 7], {11: b"z", 2: b"y"})
    assert list(changed.pairs()) == [(5, b"a"), (9, "é".encode()), (11, b"z"), (2, b"y")]
    assert not changed.has_byte(ord(" "))
    assert not TokenTable({}).has_byte(0)
    with pytest.raises(VocabularyError, match="two ids, 5 and 12"):
        TokenTable.of_changed(table, (), {12: b"a"})
    with pytest.raises(ValueError, match="id 10 is not below 10"):
        TokenTable.of_changed(table, [10], {})


def documents() -> list[dict[str, Any]]:
    keys = {bytes_to_alphabet(bytes((byte,))): byte for byte in range(256)}
    keys |= {text: 256 + number for number, text in enumerate(("ab", "cd", "abcd", "abc", "<s>", "Ġa", "x"[:0] + "dc"))}
    merges = ["a b", "c d", "ab cd", ["ab", "c"], "Ġ a", "d c", "a b"]
    model: dict[str, Any] = {"type": "BPE", "vocab": keys, "merges": merges}
    added = {"id": 260, "content": "<s>", "single_word": False, "lstrip": False, "rstrip": False, "normalized": False}
    split = {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": True, "use_regex": True}
    whole = {"added_tokens": [added | {"special": True}], "pre_tokenizer": split, "decoder": split, "model": model}
    reordered = whole | {"model": dict(reversed(model.items()))}
    texts = {"decoder": None, "pre_tokenizer": None, "model": model | {"unk_token": "<s>", "fuse_unk": True}}
    ended = {"continuing_subword_prefix": "a", "merges": [["b", "ab"], ["c", "ab"]]}
    marked = whole | {"model": model | ended | {"vocab": keys | {"bb": 270, "cb": 271}}}
    rows = [["<unk>", 0], ["\u2581", -1.25], ["\u2581a\"", -11.289659418771421], ["b\u00e9", 1e-2], ["<0x0A>", -3E0]]
    blanks = {"type": "Metaspace", "replacement": "\u2581"}
    unigram = whole | {"decoder": None, "pre_tokenizer": blanks, "added_tokens": []}
    unigram |= {"model": {"type": "Unigram", "unk_id": 0, "vocab": rows, "byte_fallback": True}}
    untyped = unigram | {"model": {"vocab": rows[:2], "unk_id": None}}
    words = {"[UNK]": 3, "a\u00e9": 0, "##b": 7, "": 5}
    wordpiece = unigram | {"model": {"type": "WordPiece", "vocab": words, "max_input_chars_per_word": 7}}
    wordlevel = unigram | {"model": {"vocab": words | {"<unk>": 9}, "unk_token": "<unk>"}}
    wordlevel |= {"added_tokens": [added | {"id": 0, "content": "a\u00e9", "special": True}]}
    ignored = whole | {"model": model | {"ignore_merges": True}}
    return [whole, reordered, whole | texts, ignored, marked, unigram, untyped, wordpiece, wordlevel]


@pytest.mark.parametrize("number", range(9))
@pytest.mark.parametrize("indent", [None, 2])
def test_both_readers_make_the_same_spec(
    number: int, indent: int | None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "tokenizer.json"
    path.write_text(json.dumps(documents()[number], indent=indent, ensure_ascii=bool(indent)))
    assert quick_document(path.read_bytes()) is not None
    quick = tokenizer_json.load(path, Given())
    monkeypatch.setattr(tokenizer_json, "quick_document", lambda data, reads_scores: None)
    assert_same(quick, tokenizer_json.load(path, Given()))


def assert_same(one: TokenizerSpec, other: TokenizerSpec) -> None:
    assert one == other
    assert list(one.vocab.items()) == list(other.vocab.items())
    assert (one.merges, one.characters, fingerprint(one)) == (other.merges, other.characters, fingerprint(other))


def test_merges_are_a_sequence() -> None:
    rows = ((97, 98, 256), (256, 99, 257), (1, 2, 3))
    merges = Merges(rows)
    assert merges == rows
    assert rows == merges
    assert merges == Merges(list(rows))
    assert merges != Merges(rows[:2])
    assert merges != list(rows)
    assert hash(merges) == hash(rows)
    assert tuple(merges) == rows
    assert (merges[0], merges[-1], merges[1:], len(merges), bool(Merges())) == (rows[0], rows[2], rows[1:], 3, False)
    assert Merges.of_data(merges.data()) == merges
    assert repr(merges) == f"Merges({list(rows)!r})"
    assert merges.uses({97, 3, 5, 10**9}) == {97, 3}
    assert merges.joins(99)
    assert not merges.joins(257)
    with pytest.raises(IndexError):
        merges[3]
    for broken in ((-1, 0, 1), (0, MAX_ID + 1, 1), ("a", 0, 1)):
        with pytest.raises(VocabularyError, match="expected ids"):
            Merges([broken])  # type: ignore[list-item]
    for data in (b"abc", b"\xff" * 12):
        with pytest.raises(ValueError, match="expected"):
            Merges.of_data(data)


def test_keys_that_are_half_a_surrogate_pair() -> None:
    """JSON may have them, and they are keys as others."""
    keys = KeyTable.of({"a": 0, "\ud800": 1, "b": 2, "ab": 3})
    assert MergeIds(Merges([(0, 2, 3)]), keys).unused(keys) == ["\ud800"]
