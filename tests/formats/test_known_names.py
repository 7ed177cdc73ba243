"""The vocabularies that are known by their files, and specs that one format holds and another one does not."""

from __future__ import annotations

import hashlib
from pathlib import Path
from types import SimpleNamespace

import pytest
from tekken_files import tekken
from vocabularies import write_json

import bbpe
from bbpe import formats
from bbpe.errors import VocabularyError
from bbpe.formats.common.given import Given, needed_pattern, recognise
from bbpe.published.table import PUBLISHED
from bbpe.records import replace
from bbpe.splitting.patterns import get_pattern
from bbpe.splitting.patterns import recognise as recognised


def test_a_rank_file_without_a_pattern_is_told_which_are_known() -> None:
    known = "gpt2, p50k_base, cl100k_base, o200k_base, llama3, llama4, qwen, whisper, qwen3_6"
    with pytest.raises(VocabularyError, match=rf"this vocabulary is not a known one \({known}\); give pattern=, a reg"):
        needed_pattern(Given(), "a rank file")
    assert needed_pattern(Given("o200k"), "a rank file").name == "o200k"


@pytest.mark.parametrize(
    ("name", "called", "pattern", "some"),
    [
        ("gpt2", "gpt2", "gpt2", {"<|endoftext|>": 50256}),
        ("cl100k_base", "cl100k_base", "cl100k", {"<|endoftext|>": 100257, "<|fim_prefix|>": 100258}),
        ("o200k_base", "o200k_base", "o200k", {"<|endoftext|>": 199999}),
        ("llama3", "llama3", "llama3", {"<|begin_of_text|>": 128000, "<|eot_id|>": 128009}),
        ("whisper", "whisper", "gpt2", {"<|endoftext|>": 50257, "<|startoftranscript|>": 50258}),
        ("qwen", "qwen", "qwen2", {"<|endoftext|>": 151643, "<|im_start|>": 151644, "<|im_end|>": 151645}),
        ("qwen3.5", "qwen3_6", "qwen3_5", {"<|im_start|>": 248045}),
    ],
)
def test_a_published_rank_file_has_a_name_a_pattern_and_special_tokens(
    name: str, called: str, pattern: str, some: dict[str, int], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Known by the digest of the file; of the tokens of several tokenizers with one file, those that all have."""
    digest = PUBLISHED[name].forms[0].files[0].sha256
    with monkeypatch.context() as patch:
        patch.setattr(hashlib, "sha256", lambda data: SimpleNamespace(hexdigest=lambda: digest))
        found = recognise(b"")
    assert found.pattern is not None
    assert (found.name, get_pattern(found.pattern).name) == (called, pattern)
    assert found.special_tokens is not None
    assert {text: found.special_tokens.get(text) for text in some} == some
    shared = {"llama3": 5, "whisper": 2, "qwen": 3, "qwen3.5": 3}
    assert len(found.special_tokens) == shared.get(name, len(PUBLISHED[name].special_tokens or ()))
    assert recognise(b"IQ== 0\n") == Given()


def test_codes_hold_an_unknown_token_of_any_name_and_no_other_token(tmp_path: Path) -> None:
    (tmp_path / "x.codes").write_text("#version: 0.2\na b\nab c</w>\n", "utf-8")
    spec = bbpe.load(tmp_path / "x.codes").spec
    assert spec.special_tokens == {"<unk>": 0}
    tok = bbpe.Tokenizer(replace(spec, special_tokens={"[UNK]": 0}))
    tok.save(tmp_path / "again.codes")
    assert bbpe.load(tmp_path / "again.codes").merges == tok.merges
    more = bbpe.Tokenizer(replace(spec, special_tokens={"<unk>": 0, "<s>": spec.vocab_size}))
    with pytest.raises(VocabularyError, match="special"):
        more.save(tmp_path / "more.codes")


@pytest.mark.parametrize(
    ("pattern", "problem"),
    [
        (get_pattern("deepseek_v3"), "'deepseek_v3'; expected a single regex of a known pattern. Write tokenizer.json"),
        (recognised((r"\w+", r"\W"), drops_gaps=True), "; expected a single regex of a known pattern"),
        (get_pattern("none"), "; expected a single regex of a known pattern"),
        (recognised((r"\w+|\W",)), "; expected a single regex of a known pattern"),
        (recognised((r"\h+",), drops_gaps=True), ", which has another meaning in tiktoken's dialect"),
        (recognised((r"a*",), drops_gaps=True), "matches the empty text, for which tiktoken fails"),
    ],
    ids=str,
)
def test_a_pattern_that_tekken_cannot_hold_says_why(pattern: object, problem: str, tmp_path: Path) -> None:
    spec = formats.load(write_json(tmp_path / "tekken.json", tekken()))
    (tmp_path / "out").mkdir()
    with pytest.raises(VocabularyError) as caught:
        formats.dump(replace(spec, pattern=pattern), tmp_path / "out" / "tekken.json")
    assert problem in str(caught.value)
    assert "tekken.json cannot hold the pattern" in str(caught.value)
    assert not list((tmp_path / "out").iterdir())
