"""Findings on tokens, whole: counts, examples and ids, of one token and of more than a finding shows."""

from __future__ import annotations

from typing import Any

import pytest
from vocabularies import MERGES, vocab_of

import bbpe
from bbpe.report.findings import Example, Finding, Subject
from bbpe.report.reach import Reach, reach
from bbpe.report.token_checks import (
    _dead_merges,
    _digits,
    _line_ends,
    _long,
    _not_itself,
    _scripts,
    _twins,
    _undecodable,
    _unreachable,
)
from bbpe.spec.models import WordPieceModel
from bbpe.spec.spec import make_spec
from bbpe.splitting.patterns import PATTERNS

BYTES = [bytes([byte]) for byte in range(256)]


def ranks(*tokens: bytes | str, pattern: str = "none") -> Subject:
    """A vocabulary of all bytes and some tokens, whose ids count from 256."""
    known = [*BYTES, *(token.encode() if isinstance(token, str) else token for token in tokens)]
    return Subject(bbpe.Tokenizer.from_ranks({token: rank for rank, token in enumerate(known)}, pattern=pattern))


def numbered(count: int, begin: str) -> list[str]:
    return [f"{begin}{number:02}" for number in range(count)]


@pytest.mark.parametrize(("tokens", "message"), [
    ([b"\xe6\xb7"], "1 token of several bytes begins or ends within a character; 0 of them also with whole ASCII"),
    ([b"a\xe6"], "1 token of several bytes begins or ends within a character; 1 of them also with whole ASCII"),
    ([b"\xe6\xb7", b"a\xe6", "\u00e9".encode(), b"\xe6z\xe7"],
     "3 tokens of several bytes begin or end within a character; 2 of them also with whole ASCII"),
])  # fmt: skip
def test_parts_of_characters_are_counted(tokens: list[bytes], message: str) -> None:
    parts = [(256 + at, token) for at, token in enumerate(tokens) if token != "\u00e9".encode()]
    mixed = [row for row in parts if min(row[1]) < 0x80]
    (found,) = _undecodable(ranks(*tokens))
    assert found == Finding(
        "partial-characters", "info", len(parts), f"{message} characters",
        "Decoding such a token alone gives U+FFFD, and a stream must wait for the rest.",
        "Decode streams with `stream_decoder()`, and cut texts with `truncate`.",
        tuple(Example(*row) for row in dict.fromkeys([*mixed, *parts])), tuple(token_id for token_id, _ in parts),
    )  # fmt: skip


def test_parts_of_characters_with_ascii_come_first_and_a_finding_shows_twelve() -> None:
    tokens = [b"\xe6" + bytes([0xB0 + at]) for at in range(10)] + [b"%d\xe6" % at for at in range(6)]
    (found,) = _undecodable(ranks(*tokens))
    assert (found.count, len(found.ids), len(found.examples)) == (16, 16, 12)
    assert [each.token for each in found.examples] == [b"0\xe6", b"1\xe6", b"2\xe6", b"3\xe6", *tokens[:8]]
    assert list(_undecodable(ranks("ab", "\u00e9"))) == []


@pytest.mark.parametrize(("texts", "message"), [
    (["x\ny"], "1 token goes on after a line end with something other than white space"),
    (["x\ny", "a\n", "\n\n", "\r \tz"], "2 tokens go on after a line end with something other than white space"),
])  # fmt: skip
def test_tokens_that_pass_a_line_end(texts: list[str], message: str) -> None:
    passing = [(256 + at, text.encode()) for at, text in enumerate(texts) if text.split()[-1:] and text[-1] != "\n"]
    (found,) = _line_ends(ranks(*texts))
    assert found == Finding(
        "passes-line-end", "info", len(passing), message,
        "Lines that are encoded one by one get other ids than the whole text.",
        "Encode whole documents, or choose a pattern that ends pretokens at line ends.",
        tuple(Example(*row) for row in passing), tuple(token_id for token_id, _ in passing),
    )  # fmt: skip
    (many,) = _line_ends(ranks(*numbered(13, "\n")))
    assert (many.count, len(many.examples), len(many.ids)) == (13, 12, 13)


def test_letters_of_several_scripts_are_counted_by_their_names() -> None:
    """The message has the three most common ones; marks, digits and signs have no script."""
    texts = ["a\u044f", "b\u044f", "c\u044f", "a\u03b1", "b\u03b1", "T\u6064", "\u6771\uac00z", "\u05d0a", "1\u044f!"]
    (found,) = _scripts(ranks(*texts))
    assert found.message == (
        "8 tokens have letters of several scripts: Cyrillic and Latin 3, Greek and Latin 2, East Asian and Latin 2"
    )
    assert (found.count, found.ids) == (8, tuple(range(256, 264)))
    assert [each.token.decode() for each in found.examples] == texts[:8]
    (one,) = _scripts(ranks("a\u044f\u03b1", "\u6771\u3042\uac00"))
    assert (one.count, one.ids) == (1, (256,))
    assert one.message == "1 token has letters of several scripts: Cyrillic and Greek and Latin 1"
    assert list(_scripts(ranks("\u6771\u3042", "ab", "\u044f\u0436"))) == []


PASSAGE = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789+/"


@pytest.mark.parametrize(("texts", "severity", "message"), [
    ([PASSAGE[:33]], "info", "1 token has more than 32 characters and is no repetition; the longest token has 33 "
                             "characters"),
    ([PASSAGE[:33], PASSAGE[:64]], "info", "2 tokens have more than 32 characters and are no repetition; the longest "
                                           "token has 64 characters"),
    ([PASSAGE + "-", "=" * 80], "warning", "1 token has more than 32 characters and is no repetition; the longest "
                                           "token has 80 characters; the longest that is no repetition has 65"),
    (["\u4e16\u754c\u6771\u4eac\u897f" * 7], "info", "1 token has more than 32 characters and is no repetition; the "
                                                     "longest token has 35 characters"),
])  # fmt: skip
def test_long_tokens_that_are_no_repetitions(texts: list[str], severity: str, message: str) -> None:
    (found,) = _long(ranks(*texts))
    longest = sorted(((len(text), 256 + at) for at, text in enumerate(texts) if len(set(text)) > 4), reverse=True)
    assert (found.severity, found.message, found.count) == (severity, message, len(longest))
    assert found.ids == tuple(token_id for _, token_id in longest) == tuple(each.id for each in found.examples)


def test_what_is_not_long() -> None:
    for texts in ([PASSAGE[:32]], ["abcd" * 30], ["=" * 99], []):
        assert list(_long(ranks(*texts))) == []
    (found,) = _long(ranks("abcde" * 30))
    assert found.count == 1
    (many,) = _long(ranks(*(PASSAGE[at : at + 40] for at in range(13))))
    assert (many.count, len(many.examples), len(many.ids)) == (13, 12, 13)


def test_merges_that_never_apply_are_named_by_their_parts() -> None:
    tokens = {300 + at: f"xy{letter}".encode() for at, letter in enumerate("abcdefghijklm")}
    vocab = {**vocab_of(), 299: b"xy", **tokens}
    for count in (1, 2, 13):
        dead = list(tokens.items())[:count]
        merges = [*((b"xy", token[-1:]) for _, token in dead), *MERGES]
        (found,) = _dead_merges(Subject(bbpe.Tokenizer.from_merges(vocab, merges, pattern="gpt2")))
        verb = "applies" if len(merges) == 1 else "apply"
        assert found == Finding(
            "unused-merges", "warning", count,
            f"{count} of {len(merges)} merges never {verb}, because earlier merges join their parts",
            "They take room, and hint at merges of two trainings or in another order.",
            "Save with bbpe, which keeps them, or train again; ids do not depend on them.",
            tuple(Example(token_id, token, f"of 'xy' and {token[-1:].decode()!r}") for token_id, token in dead[:12]),
            tuple(token_id for token_id, _ in dead),
        )  # fmt: skip
    assert list(_dead_merges(Subject(bbpe.Tokenizer.from_merges(vocab_of(), MERGES, pattern="gpt2")))) == []


def test_twins_are_shown_by_kind_two_of_each() -> None:
    """Of a group the first token is the one that the others are like."""
    texts = ["low", "Low", "LOW", "new", "New", "old", "Old"]
    (found,) = _twins(ranks(*texts))
    assert [(each.token, each.note) for each in found.examples] == [(b"a", "and 'A' (case)"), (b"b", "and 'B' (case)")]
    assert found.details == {"kinds": {
        "a leading blank": 0, "case": 26 + 4, "line ends": 0, "Unicode form": 0, "compatibility form (NFKC)": 0,
    }}  # fmt: skip
    assert (found.check, found.severity, found.count, found.ids) == ("twins", "info", 30, ())
    assert found.message == "30 tokens equal another one but for case 30"
    (both,) = _twins(ranks("low", " low", "a\r\nb", "a\nb"))
    assert both.message == "28 tokens equal another one but for a leading blank 1, case 26, line ends 1"
    assert both.details["kinds"]["line ends"] == 1
    assert both.examples[-1] == Example(259, b"a\nb", r"and 'a\r\nb' (line ends)")


def test_tokens_that_no_text_gives_have_their_reasons() -> None:
    """The most common reason comes first; parts of characters are the last examples."""
    subject = ranks(b"\xe6\xb7", "ab", "cd", "ef")
    found = Reach((256, 257, 258, 259), (256, 257, 259), ("cut", "unmade", "cut"))
    assert list(_unreachable(subject, found)) == [Finding(
        "unreachable", "warning", 3,
        "no text gives 3 tokens (the split pattern always cuts them: 2; no merge makes them: 1)",
        "A model never sees them in training, so their embeddings stay random, and they take memory.",
        "Train with the pattern and normalizers that encode, or drop them with `bbpe prune`.",
        (Example(257, b"ab", "(unmade)"), Example(259, b"ef", "(cut)"), Example(256, b"\xe6\xb7", "(cut)")),
        (256, 257, 259),
    )]  # fmt: skip
    (reasons,) = _unreachable(subject, found)
    assert reasons.details == {"reasons": {"cut": 2, "unmade": 1}}
    assert list(_not_itself(subject, found)) == [Finding(
        "not-itself", "info", 1,
        "1 token is given within longer texts only, 0 of them parts of characters; alone their text encodes to other "
        "tokens",
        "`encode(decode([id]))` is not `[id]` for them.", "Keep ids, not texts, where exact ids matter.",
        (Example(258, b"cd"),), (258,),
    )]  # fmt: skip
    (two,) = _not_itself(subject, Reach((256, 258), (), ()))
    assert two.message.startswith("2 tokens are given within longer texts only, 1 of them parts of characters; ")
    assert [each.id for each in two.examples] == [258, 256]
    assert two.ids == (256, 258)
    none = Reach((), (), ())
    assert list(_unreachable(subject, none)) == list(_not_itself(subject, none)) == []
    assert list(_not_itself(subject, Reach((257,), (257,), ("cut",)))) == []


@pytest.mark.parametrize(("tokens", "uneven", "lines"), [
    ((), False, "1: 1, 2: 2, 3: 3, 4: 4, 5: 5, 6: 6"), (("11",), True, "1: 1, 2: 1/2, 3: 2/3, 4: "),
])  # fmt: skip
def test_numbers_become_as_many_tokens(tokens: tuple[str, ...], uneven: bool, lines: str) -> None:
    (found,) = _digits(ranks(*tokens))
    assert found.message.startswith(f"numbers of 1 to 6 digits become these numbers of tokens: {lines}")
    assert found.message.endswith(" (they differ between numbers of one length)") is uneven
    assert (found.check, found.count, found.examples, found.ids) == ("digits", 0, (), ())
    shares: dict[str, Any] = found.details["tokens_by_digits"]
    assert list(shares) == list("123456")
    assert shares["1"] == {"1": 1.0}
    assert shares["2"] == ({"1": 0.01, "2": 0.99} if uneven else {"2": 1.0})


@pytest.mark.parametrize("tokens", [["see", "##ing"], ["see", "##ing", "##1", "##\u00e9"], ["my", "##'s", "see"]])
def test_what_continues_words_is_tried_after_words(tokens: list[str]) -> None:
    """Alone it is unknown, and no single character that could be before it is a token."""
    vocab = {number: token.encode() for number, token in enumerate(tokens, 1)}
    spec = make_spec(
        vocab, None, pattern=PATTERNS["none"], special_tokens={"[UNK]": 0}, model=WordPieceModel(0)
    )  # fmt: skip
    found = reach(Subject(bbpe.Tokenizer(spec)))
    assert found.alone == tuple(at for at, token in enumerate(tokens) if token.startswith("##"))
    assert (found.never, found.reasons) == ((), ())


@pytest.mark.parametrize(("count", "least", "unused", "rare"), [
    # all tokens are used
    (256, 2, None, tuple(range(256))), (256, 1, None, None), (256, 3, None, tuple(range(257))),
    (255, 2, (255,), tuple(range(255))), (255, 1, (255,), None),
])  # fmt: skip
def test_rare_tokens_are_reported_without_unused_ones(
    count: int, least: int, unused: tuple[int, ...] | None, rare: tuple[int, ...] | None
) -> None:
    """Each of the first bytes is used once, and the token of two bytes twice."""
    tok = bbpe.Tokenizer.from_ranks({bytes([byte]): byte for byte in range(256)} | {b"ab": 256}, pattern="none")
    report = bbpe.lint(tok, texts=[bytes(range(count))[::-1] + b"abab"], min_count=least)
    found = {check: report[check].ids if check in report else None for check in ("unused", "rare")}
    assert found == {"unused": unused, "rare": rare}
