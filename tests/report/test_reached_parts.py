"""Tokens that begin or end within a character: whole characters complete them, so texts give them or never do."""

from __future__ import annotations

import unicodedata

import pytest

import bbpe
from bbpe.report import reach as module
from bbpe.report.findings import Subject
from bbpe.report.reach import _afters, _befores, reach


def subject_of(*tokens: bytes) -> Subject:
    known = [*(bytes([byte]) for byte in range(256)), *tokens]
    return Subject(bbpe.Tokenizer.from_ranks({token: rank for rank, token in enumerate(known)}, pattern="gpt2"))


@pytest.mark.parametrize(("tokens", "is_reached"), [
    # a letter goes on with letters, a digit with numbers, a sign with signs
    ((b"a\xc3",), True), ((b"a\xe4",), True), ((b"a\xf0",), True), ((b"a\xe4", b"a\xe4\xb8"), True),
    ((b"1\xc2",), True), ((b"1\xe2",), True), ((b"1\xf0",), True), ((b"1\xf0", b"1\xf0\x9d"), True),
    ((b"\xa9a",), True), ((b"\x96a",), True), ((b"\xb8\x96", b"\xb8\x96a"), True),
    ((b"\xb21",), True), ((b"\xa01",), True), ((b"\x8f1",), True), ((b"\x9f\x8f", b"\x9f\x8f1"), True),
    # at both ends
    ((b"\xa9a", b"\xa9a\xc3"), True), ((b"aa", b"\xa9a"), True),
    # there are no numbers in Latin-1's letters, no letters beyond the third plane, and no such bytes
    ((b"1\xc3",), False), ((b"a\xf3",), False), ((b"a\xff",), False), ((b"a\xc0",), False),
])  # fmt: skip
def test_characters_that_complete_a_token_are_of_its_kind(tokens: tuple[bytes, ...], is_reached: bool) -> None:
    """None of them is given alone, as the pattern cuts bytes that are no character from those that are one."""
    found = reach(subject_of(*tokens))
    assert found.alone[-1] == 255 + len(tokens)
    assert (found.never, found.reasons) == (((), ()) if is_reached else ((256,), ("cut",)))


@pytest.mark.parametrize("batch", [1, 2, 5, 1 << 16])
def test_texts_are_encoded_some_at_a_time(batch: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "_BATCH", batch)
    found = reach(subject_of(b"a\xc3", b"1\xc3", b"a1", b" a", b"a\xff", b"\xa9a"))
    assert (found.alone, found.never, found.reasons) == ((256, 257, 258, 260, 261), (257, 258, 260), ("cut",) * 3)


@pytest.mark.parametrize(("token", "befores"), [
    (b"a", [b""]), (b"a\xa9", [b""]), ("\u00e9".encode(), [b""]), (b"\x9f\x98\x80", [b"\xf0"]),
    (b"\x9f\x98\x80!", [b"\xf0"]), (b"\x80\x80\x80\x80", [b"\xf4"]), (b"\xbf\xbf\xbe", [b""]),
])  # fmt: skip
def test_bytes_before_a_token(token: bytes, befores: list[bytes]) -> None:
    assert _befores(token) == befores


@pytest.mark.parametrize(("token", "afters"), [
    (b"a", [b""]), (b"\xa9", [b""]), (b"\xff", [b""]), (b"\xc3\xa9", [b""]), ("a\u4e16".encode(), [b""]),
    (b"a\xc3", [bytes([byte]) for byte in range(0x80, 0xC0)]), (b"\xe4\xb8", [bytes([n]) for n in range(0x80, 0xC0)]),
    (b"\xf4\x8f\xbf", [bytes([byte]) for byte in range(0x80, 0xBE)]),
    (b"\xf0\x90\x8d", [bytes([byte]) for byte in (*range(0x80, 0x8B), *range(0x90, 0xBB))]),
])  # fmt: skip
def test_bytes_after_a_token(token: bytes, afters: list[bytes]) -> None:
    """U+10FFFE and U+10FFFF are no characters, and Unicode has gaps."""
    assert _afters(token) == afters


@pytest.mark.parametrize(("tail", "least", "leads"), [
    (b"\xa9", 250, {2, 3, 4}), (b"\xb8\x96", 30, {3, 4}), (b"\x9f\x98\x80", 1, {4}),
])  # fmt: skip
def test_completed_characters_are_of_every_length(tail: bytes, least: int, leads: set[int]) -> None:
    befores = _befores(tail + b"a")
    chars = [(before + tail).decode() for before in befores]
    assert least <= len(set(chars)) == len(befores) <= 320
    assert {len(char.encode()) for char in chars} == leads
    assert "Cn" not in map(unicodedata.category, chars)


@pytest.mark.parametrize(("head", "least"), [(b"\xe4", 160), (b"\xf0", 160), (b"\xf0\x9f", 160), (b"\xc3", 64)])
def test_completions_are_some_of_all(head: bytes, least: int) -> None:
    chars = [(head + after).decode() for after in _afters(b"a" + head)]
    assert least <= len(set(chars)) == len(chars) <= 320
    assert {len(char) for char in chars} == {1}
    assert "Cn" not in map(unicodedata.category, chars)
