"""Lint: planted faults are found, real vocabularies give known figures, no token that a text gives is unreachable."""

from __future__ import annotations

import json
import random
import string
from pathlib import Path
from typing import Any

import pytest
from strings import adversarial_strings
from vocabularies import MERGES, added, document, small_spec, vocab_of

import bbpe
from bbpe.cli import main
from bbpe.report.findings import Subject
from bbpe.report.reach import reach
from bbpe.spec.models import UnigramModel
from bbpe.spec.spec import Characters, make_spec
from bbpe.splitting.patterns import PATTERNS

SIMPLE = "see my eyes, see 12 dogs and 123 cats\n"


def ranks(*tokens: bytes, pattern: str = "gpt2", **options: Any) -> bbpe.Tokenizer:
    known = [bytes([byte]) for byte in range(256)] + list(tokens)
    return bbpe.Tokenizer.from_ranks({token: rank for rank, token in enumerate(known)}, pattern=pattern, **options)


def texts_of(report: bbpe.LintReport, check: str) -> list[bytes]:
    return [example.token for example in report[check].examples]


def test_a_token_that_the_pattern_cuts() -> None:
    report = bbpe.lint(ranks(b"a b", b"\n\n", b"//", b" I", b"\n\n//", b" I'", pattern="o200k"))
    assert texts_of(report, "unreachable") == [b"a b"]
    assert report["unreachable"].ids == (256,)
    assert report["unreachable"].details == {"reasons": {"unmade": 1}}
    # after a sign the line ends belong to it, and " I'LL" is one pretoken
    assert texts_of(report, "not-itself") == [b"\n\n//", b" I'"]


def test_a_token_between_two_pretokens() -> None:
    vocab = {**vocab_of(), 300: b"a ", 301: b"a b"}
    tok = bbpe.Tokenizer.from_merges(vocab, [*MERGES, (b"a", b" "), (b"a ", b"b")], pattern="gpt2")
    report = bbpe.lint(tok)
    assert report["unreachable"].ids == (300, 301)
    assert report["unreachable"].details == {"reasons": {"cut": 2}}


def test_a_token_that_no_merge_makes() -> None:
    vocab = {**vocab_of(), 300: b"xyz"}
    spec = small_spec()
    tok = bbpe.Tokenizer.from_merges(vocab, [(spec.vocab[a], spec.vocab[b]) for a, b, _ in spec.merges], pattern="gpt2")
    assert bbpe.lint(tok)["unreachable"].details == {"reasons": {"unmade": 1}}


def test_merges_that_never_apply() -> None:
    vocab = {**vocab_of(), 300: b"ing!"}
    merges = [*MERGES, (b"i", b"ng"), (b"n", b"g"), (b"ing", b"!"), (b"in", b"g!")]
    vocab |= {301: b"ng", 302: b"g!"}
    report = bbpe.lint(bbpe.Tokenizer.from_merges(vocab, merges, pattern="gpt2"))
    assert b"ing!" in texts_of(report, "unused-merges")


def test_the_first_merge_may_be_the_one_that_never_applies() -> None:
    vocab = {**vocab_of(), 300: b"xy", 301: b"xyz"}
    for merges in ([(b"xy", b"z"), *MERGES], [*MERGES, (b"xy", b"z")]):
        report = bbpe.lint(bbpe.Tokenizer.from_merges(vocab, merges, pattern="gpt2"))
        assert report["unused-merges"].ids == (301,)
        assert f"1 of {len(merges)} merges never apply" in report["unused-merges"].message


def test_normalizers_make_tokens_unreachable(tmp_path: Path) -> None:
    upper = document(normalizer={"type": "Lowercase"})
    upper["model"]["vocab"]["AB"] = 290
    upper["model"]["merges"].append("A B")
    (tmp_path / "t.json").write_text(json.dumps(upper))
    report = bbpe.lint(bbpe.load(tmp_path / "t.json"))
    assert 290 in report["unreachable"].ids
    assert report["unreachable"].details["reasons"]["normalized"] >= 1
    assert report["round-trip"].severity == "info"


def test_a_unigram_token_with_a_low_score() -> None:
    scores = {"a": -1.0, "b": -1.0, "c": -3.0, "ab": -100.0, "bc": -2.0}
    vocab = {number: token.encode() for number, token in enumerate(scores, 1)}
    tok = bbpe.Tokenizer(make_spec(
        vocab, [], pattern=PATTERNS["none"], special_tokens={"<unk>": 0},
        characters=Characters((), 0, True, False), model=UnigramModel((0.0, *scores.values())),
    ))  # fmt: skip
    assert tok.encode("abc") == [1, 5]
    subject = Subject(tok)
    found = reach(subject)
    assert [subject.tokens[number] for number in found.never] == [b"ab"]
    assert found.reasons == ("outscored",)
    report = bbpe.lint(tok)
    assert report["unreachable"].ids == (4,)
    assert report["unreachable"].details == {"reasons": {"outscored": 1}}
    assert "other tokens score higher: 1" in report["unreachable"].message


def test_facts_about_tokens() -> None:
    latin_cyrillic, long = "aя".encode(), b" and the same passage again and again"
    tokens = (b"low", b" low", b"Low", b"\r\n", b"\n", b"x\ny", latin_cyrillic, long, b"11", b" \xe6")
    tok = ranks(*tokens, pattern="none")
    report = bbpe.lint(tok)
    kinds = report["twins"].details["kinds"]
    assert (kinds["a leading blank"], kinds["case"], kinds["line ends"]) == (1, 27, 1)
    assert texts_of(report, "passes-line-end") == [b"x\ny"]
    assert texts_of(report, "mixed-scripts") == [latin_cyrillic]
    assert "Cyrillic and Latin" in report["mixed-scripts"].message
    assert texts_of(report, "long") == [long]
    assert texts_of(report, "partial-characters")[0] == b" \xe6"
    assert report["digits"].severity == "warning"
    assert report["digits"].details["tokens_by_digits"]["2"] == {"1": 0.01, "2": 0.99}


@pytest.mark.parametrize(("size", "severity"), [(32, None), (33, "info"), (64, "info"), (65, "warning")])
def test_how_long_a_token_may_be(size: int, severity: str | None) -> None:
    """A ruled line of any length is a repetition, and no passage."""
    text = (string.ascii_letters * 2)[:size].encode()
    report = bbpe.lint(ranks(text, b"=" * 200, pattern="none"))
    assert (report["long"].severity if "long" in report else None) == severity


def test_equal_splits_of_numbers_are_no_warning() -> None:
    assert bbpe.lint(bbpe.train_from_iterator([SIMPLE], 260, pattern="qwen2"))["digits"].severity == "info"


def test_special_tokens() -> None:
    tok = bbpe.train_from_iterator([SIMPLE], 300, special_tokens=["stop", "<|endoftext|>"])
    report = bbpe.lint(tok)
    assert texts_of(report, "special-is-text") == [b"stop"]
    assert "special-is-text" in report._repr_html_()
    assert report["no-pad"].severity == "info"
    assert "no-end" not in report
    assert "no-end" in bbpe.lint(bbpe.train_from_iterator([SIMPLE], 300))


def test_a_special_token_that_is_also_a_token(tmp_path: Path) -> None:
    (tmp_path / "t.json").write_text(json.dumps(document(added_tokens=[added("Ġthe", 280)])))
    try:
        tok = bbpe.load(tmp_path / "t.json")
    except bbpe.VocabularyError:
        pytest.skip("the loader refuses such a file")
    assert len(bbpe.lint(tok)) > 0


def test_the_configuration(tmp_path: Path) -> None:
    bbpe.train_from_iterator([SIMPLE], 300, special_tokens=["<|user|>"]).save(tmp_path / "m")
    config = {"pad_token": "<pad>", "chat_template": "<|user|>{{ text }}<|assistant|>"}
    (tmp_path / "m" / "tokenizer_config.json").write_text(json.dumps(config))
    report = bbpe.lint(bbpe.load(tmp_path / "m"))
    assert report["chat-template"].examples[0].token == b"<|assistant|>"
    assert report.findings[0].severity == "error"
    assert "no-pad" not in report


def test_texts_that_are_lost(tmp_path: Path) -> None:
    report = bbpe.lint(ranks(b"ab", pattern="whitespace"))
    assert report["pattern-drops"].severity == "warning"
    assert report["round-trip"].examples[0].note == "becomes \"Hello,world!It's2024.\""
    words = bbpe.train_from_iterator([SIMPLE], 80, model="wordpiece")
    assert "unknown-characters" in bbpe.lint(words)
    some = document()
    some["model"]["vocab"].pop("Ā")
    (tmp_path / "t.json").write_text(json.dumps(some))
    assert bbpe.lint(bbpe.load(tmp_path / "t.json"))["missing-bytes"].examples[0].token == b"\0"


def test_a_tokenizer_of_bytes_that_loses_text_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    tok = ranks(b"ab")
    assert "round-trip" not in bbpe.lint(tok)
    decode = bbpe.Tokenizer.decode
    monkeypatch.setattr(bbpe.Tokenizer, "decode", lambda self, ids: decode(self, ids).replace("e", ""))
    found = bbpe.lint(tok)["round-trip"]
    assert found.severity == "error"
    assert found.advice == "Report it with the file."
    usual = bbpe.lint(bbpe.train_from_iterator([SIMPLE], 80, model="wordpiece"))["round-trip"]
    assert usual.severity == "info"
    assert usual.advice.startswith("Expected with normalizers and unknown tokens")
    assert found.count == len(found.message.partition(": ")[2].split(", ")) > 1


def test_versions_of_unicode(tmp_path: Path) -> None:
    assert "unicode-versions" not in bbpe.lint(bbpe.train_from_iterator([SIMPLE], 300))
    (tmp_path / "t.json").write_text(json.dumps(document(normalizer={"type": "NFC"})))
    found = bbpe.lint(bbpe.load(tmp_path / "t.json"))["unicode-versions"]
    assert (found.severity, found.count) == ("info", 1)
    assert "9.0" in found.message


def test_a_corpus() -> None:
    tok = bbpe.train_from_iterator([SIMPLE] * 20, 300)
    report = bbpe.lint(tok, texts=[SIMPLE[:12]] * 9)
    used = set(tok.encode(SIMPLE[:12]))
    assert set(report["unused"].ids) == set(tok.spec.vocab) - used
    assert set(report["rare"].ids) == used
    assert {example.note for example in report["rare"].examples} == {"(9 times)"}
    assert "rare" not in bbpe.lint(tok, texts=[SIMPLE[:12]] * 9, min_count=9)


def test_the_command(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    bbpe.train_from_iterator([SIMPLE], 300).save(tmp_path / "t.json")
    (tmp_path / "a.txt").write_text(SIMPLE)
    arguments = ["lint", "-t", str(tmp_path / "t.json"), str(tmp_path / "a.txt")]
    assert main(arguments) == 0
    shown = capsys.readouterr().out
    assert shown.startswith(f"{tmp_path / 't.json'}: 279 tokens; 0 errors")
    assert main([*arguments, "--strict"]) == 1
    capsys.readouterr()
    assert main([*arguments, "--json"]) == 0
    record = json.loads(capsys.readouterr().out)
    assert {"check", "severity", "count", "message", "why", "advice", "examples", "ids"} <= record["findings"][0].keys()


def test_wrong_arguments() -> None:
    expected = r"^tokenizer is 'gpt2', a str; expected a Tokenizer: bbpe\.get_encoding\('gpt2'\)"
    with pytest.raises(TypeError, match=expected):
        bbpe.lint("gpt2")  # type: ignore[arg-type]
    with pytest.raises(TypeError, match=r"^corpus\[0\] is 3, an int; expected the path of a file"):
        bbpe.lint(ranks(b"ab"), [3])  # type: ignore[list-item]
    with pytest.raises(TypeError, match=r"^texts\[1\] is 3, an int; expected a text"):
        bbpe.lint(ranks(b"ab"), texts=["a", 3])  # type: ignore[arg-type]
    with pytest.raises(ValueError, match=r"^corpus and texts are given; expected one of them"):
        bbpe.lint(ranks(b"ab"), "a.txt", texts=["a"])
    with pytest.raises(ValueError, match=r"^format is 'csv'"):
        bbpe.lint(ranks(b"ab"), texts=["a"], format="csv")  # type: ignore[arg-type]


@pytest.mark.parametrize("pattern", ["gpt2", "cl100k", "o200k", "qwen2", "deepseek_v3", "none"])
def test_no_text_gives_an_unreachable_token(pattern: str) -> None:
    """Random tokens, many of which no text gives; random joins of tokens and hard strings give none of these."""
    rng = random.Random(pattern)
    pieces = ["a", "b", " ", "\n", "1", ".", "'s", "é", "中", "\u0301", "/", "A"]
    tokens = list(dict.fromkeys("".join(rng.choices(pieces, k=rng.randint(2, 4))).encode() for _ in range(200)))
    tok = ranks(*tokens, pattern=pattern)
    subject = Subject(tok)
    never = set(subject.ids_of(reach(subject).never))
    parts = [token.decode() for token in tokens]
    texts = ["".join(rng.choices(parts, k=rng.randint(1, 4))) for _ in range(5_000)] + adversarial_strings(200, seed=5)
    found = never & set(tok.encode_batch_to_numpy(texts).ids.tolist())
    assert {tok.id_to_token(token_id) for token_id in found} == set()
    if pattern == "none":
        assert len(never) < len(tokens)


@pytest.mark.full
@pytest.mark.parametrize(
    ("name", "alone", "never"),
    [("gpt2", 17, 0), ("cl100k_base", 29, 0), ("o200k_base", 232, 1), ("llama3", 62, 1)],
)
def test_real_vocabularies(name: str, alone: int, never: int, real: Any, corpus: Any) -> None:
    tok = real(name)
    found = reach(Subject(tok))
    assert (len(found.alone), len(found.never)) == (alone, never)
    lost = Subject(tok).ids_of(found.never)
    for language in ("en", "zh", "multi", "code"):
        assert not set(lost) & set(tok.encode_to_numpy(corpus(language, 2_000_000)).tolist())
