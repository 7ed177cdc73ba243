"""Each part of a tokenizer in each format is held, or saving names it, and the `drop=` of the message leaves it out."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

import bbpe
from bbpe.errors import VocabularyError
from bbpe.spec.rules import Lowercase, Prefix, RowPadding, RowTruncation, Template, TokenOptions
from bbpe.spec.spec import TextRules, make_spec
from bbpe.splitting.patterns import get_pattern

pytest.importorskip("gguf")
BYTES = {byte: bytes([byte]) for byte in range(256)}
SPEC = make_spec({**BYTES, 256: b"ab"}, [(b"a", b"b")], pattern=get_pattern("gpt2"))
SPECIAL: dict[str, Any] = {"special_tokens": {"<s>": 257}}
#: What a tokenizer has, the formats that hold it, and what `drop=` leaves it out of the others where that is enough.
PARTS: dict[str, tuple[dict[str, Any], str, list[str]]] = {
    "nothing": ({}, "huggingface tiktoken gpt2 vocab_txt tekken minbpe gguf", []),
    "special tokens": (SPECIAL, "huggingface gpt2 vocab_txt minbpe gguf", ["special_tokens"]),
    "added tokens": ({"added_tokens": {"<t>": 257}}, "huggingface gpt2 vocab_txt gguf", ["special_tokens"]),
    "options": (
        {**SPECIAL, "token_options": {"<s>": TokenOptions(lstrip=True)}}, "huggingface", ["special_tokens"],
    ),
    "the template": ({**SPECIAL, "template": Template(((257, 0), ("A", 0)))}, "huggingface gguf", ["template"]),
    "normalizer": ({"rules": TextRules((Lowercase(),))}, "huggingface", []),
    "prefix": ({"rules": TextRules(prefix=Prefix(" "))}, "huggingface", []),
    "padding": ({"padding": RowPadding(0, "a")}, "huggingface", ["padding"]),
    "truncation": ({"truncation": RowTruncation(9)}, "huggingface", ["padding"]),
    "pattern": ({"pattern": get_pattern("cl100k")}, "huggingface tiktoken tekken minbpe", ["pattern"]),
    "own pattern": ({"pattern": get_pattern("a|[^a]+")}, "huggingface tiktoken minbpe", ["pattern"]),
    "ranks": ({"merges": None}, "huggingface tiktoken gpt2 vocab_txt tekken gguf", []),
    "whole": ({"merges": None, "whole_pretokens": True}, "huggingface tiktoken gpt2 vocab_txt tekken gguf", []),
    "unmade": ({"merges": ()}, "huggingface gpt2", []),
    "found as whole": ({"merges": (), "whole_pretokens": True}, "huggingface", []),
    "gap": (
        {"vocab": {**BYTES, 300: b"ab"}, "merges": ((97, 98, 300),)}, "huggingface tiktoken gpt2 vocab_txt gguf", [],
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", ["huggingface", "tiktoken", "gpt2", "vocab_txt", "tekken", "minbpe", "gguf"])
def test_parts(name: str, tmp_path: Path) -> None:
    for number, (part, (change, holding, dropped)) in enumerate(PARTS.items()):
        tok, path = bbpe.Tokenizer(replace(SPEC, **change)), tmp_path / str(number)
        if name in holding.split():
            tok.save(path, format=name)
            again = bbpe.load(path, pattern=tok.spec.pattern.steps[0] if name == "tiktoken" else None)
            assert again == tok, part
            continue
        with pytest.raises(VocabularyError, match=r"(?i)write tokenizer\.json|holds no added tokens") as caught:
            tok.save(path, format=name)
        assert not path.exists(), part
        offered = re.search(r"drop=(\[.*?\])", str(caught.value))
        if offered is not None and part != "the template":
            assert offered[1] == str(dropped), part
        if not dropped or ("pattern" in part and name in ("tekken", "gguf")):
            continue
        # without that part it is held, and the rest of it stays
        drops = [*dropped, *(["special_tokens"] if part == "the template" and name in ("tiktoken", "tekken") else [])]
        tok.save(path, format=name, drop=drops)
        steps = tok.spec.pattern.steps[0]
        again = bbpe.load(path, pattern=steps if name == "tiktoken" or "pattern" in part else None)
        gone: dict[str, Any] = {
            "special_tokens": {"special_tokens": {}, "added_tokens": {}, "token_options": {}, "template": None},
            "template": {"template": None}, "padding": {"padding": None, "truncation": None}, "pattern": {},
        }  # fmt: skip
        kept = tok.spec
        for drop in drops:
            kept = replace(kept, **gone[drop])
        assert again == bbpe.Tokenizer(kept), part


def test_what_is_written_before_it_is_read_back() -> None:
    """Writers refuse by themselves what they cannot hold: with a name for it, not by the proof after writing."""
    from bbpe import formats

    lines = get_pattern("a\n|[^a]+")
    for changes, problem in (
        ({"pattern": lines}, "minbpe holds one regex on one line"),
        ({"added_tokens": {"<t>": 257}}, "minbpe holds no added tokens"),
        ({"special_tokens": {"<s> ": 257}}, "special tokens with white space"),
    ):
        with pytest.raises(VocabularyError, match=problem):
            formats.written(replace(SPEC, **changes), Path("x.model"), "minbpe")
    ranked = replace(SPEC, merges=(), whole_pretokens=True)
    with pytest.raises(VocabularyError, match="merging by rank differs from the list of merges: step 0"):
        formats.written(ranked, Path("x.tiktoken"), "tiktoken")


def test_codes_hold_neither_a_template_nor_rows(tmp_path: Path) -> None:
    options = bbpe.BPE(alphabet="chars", end_of_word="</w>")
    tok = bbpe.train_from_iterator(["low lower lowest"] * 3, 300, model=options, special_tokens=["<unk>"])
    tok.save(tmp_path / "x.codes")
    for change, problem in (
        ({"template": Template(((0, 0), ("A", 0)))}, r"the template.*drop=\['template'\]"),
        ({"padding": RowPadding(0, "<unk>")}, r"padding.*drop=\['padding'\]"),
        ({"truncation": RowTruncation(9)}, r"truncation.*drop=\['padding'\]"),
    ):
        with pytest.raises(VocabularyError, match=problem):
            bbpe.Tokenizer(replace(tok.spec, **change)).save(tmp_path / "y.codes")


def test_names_of_files_choose_a_format() -> None:
    from bbpe.formats import check_whole, format_of

    for name, expected in (
        ("a-tekken.json", "tekken"), ("tekken.json", "tekken"), ("tekken.txt", "wordpiece"), ("a.json", "huggingface"),
        ("a.gguf", "gguf"), ("a.model", "sentencepiece"), ("a.codes", "codes"), ("a.tiktoken", "tiktoken"),
        ("a.b", "huggingface"), ("a.v2", "huggingface"), ("a-1.5", "huggingface"), ("a", "huggingface"),
    ):  # fmt: skip
        assert format_of(Path(name)) == expected, name
    for name in ("a.xyz", "a.csv", "a.json5", "b.v2.JSONX"):
        with pytest.raises(ValueError, match=rf"{Path(name).suffix}'; expected one of \.codes, \.gguf, \.json"):
            format_of(Path(name))
    for url in ("memory://bucket/folder", "memory://bucket/x.json"):
        with pytest.raises(ValueError, match="a folder is not written to a URL"):
            check_whole(url, "gpt2" if url.endswith(".json") else None)


USUAL = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]


@pytest.mark.parametrize("missing", [None, *USUAL])
def test_a_vocab_txt_is_of_a_class_that_adds_no_token(missing: str | None, tmp_path: Path) -> None:
    """BertTokenizer adds those of its five tokens that a vocabulary lacks."""
    special = [text for text in USUAL if text not in (missing, "[UNK]")]
    tok = bbpe.train_from_iterator(["see my dogs"], 60, model="wordpiece", special_tokens=special)
    tok.save(tmp_path / "x", format="wordpiece")
    config = json.loads((tmp_path / "x/tokenizer_config.json").read_text())
    assert config.get("tokenizer_class") == ("BertTokenizer" if missing in (None, "[UNK]") else None)
    assert bbpe.load(tmp_path / "x").get_vocab() == tok.get_vocab()


@pytest.mark.parametrize("name", ["new", "there", "there.v2"])
@pytest.mark.parametrize("lowers", [False, True])
def test_a_folder_of_words_has_their_rules_whether_it_was_there_or_not(
    name: str, lowers: bool, tmp_path: Path
) -> None:
    """Other fields of a configuration that is there stay."""
    tok = bbpe.train_from_iterator(
        ["see my dogs"], 60, model=bbpe.WordPiece(lowercase=lowers), special_tokens=[*USUAL[:1], *USUAL[2:]]
    )
    if name != "new":
        (tmp_path / name).mkdir()
        (tmp_path / name / "tokenizer_config.json").write_text('{"do_lower_case": 1, "model_max_length": 7}')
    tok.save(tmp_path / name, format="wordpiece")
    assert sorted(path.name for path in (tmp_path / name).iterdir()) == ["tokenizer_config.json", "vocab.txt"]
    config = json.loads((tmp_path / name / "tokenizer_config.json").read_text())
    assert (config["do_lower_case"], config.get("model_max_length")) == (lowers, None if name == "new" else 7)
    assert bbpe.load(tmp_path / name).encode("See my DOGS") == tok.encode("See my DOGS")
