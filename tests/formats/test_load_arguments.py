"""`pattern=`, `special_tokens=` and `name=` of `load` replace what a file of any format has, and nothing else."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import class_folders
import pytest
from gguf_files import gguf, piece_vocabulary, vocabulary
from tekken_files import tekken
from test_gguf import bert
from test_gguf_characters import values as gemma
from vocabularies import document, keys, merge_lines, split, vocab_of, write_json

import bbpe
from bbpe import formats
from bbpe.formats.common.given import rank_text
from bbpe.spec.rules import SPACE_MARK
from bbpe.tables import sources

SPACED = "abeht "
CHARACTERS = {char: number for number, char in enumerate([*SPACED.replace(" ", SPACE_MARK), "<u>", "th", "the"])}
METASPACE = {"type": "Metaspace", "replacement": SPACE_MARK, "prepend_scheme": "always", "split": True}
_OF_CHARACTERS = {
    "type": "BPE", "unk_token": "<u>", "vocab": CHARACTERS, "merges": [["t", "h"], ["th", "e"]], "fuse_unk": True,
}  # fmt: skip
_SCORES = [["<u>", 0.0], *([key, -2.0] for key in CHARACTERS if key != "<u>")]
_UNIGRAM = {"type": "Unigram", "unk_id": 0, "vocab": _SCORES}
_WORDS = {"type": "WordPiece", "unk_token": "[UNK]", "vocab": {"[UNK]": 0, "the": 1, "##a": 2, "a": 3}}
_RWKV = [b"ab", *(bytes((byte,)) for byte in range(256))]


def _json(path: Path, model: dict[str, Any], **changes: Any) -> Path:
    return write_json(path / "tokenizer.json", document(**{"model": model, "decoder": None, **changes}))


def _text(path: Path, name: str, *lines: str) -> Path:
    (path / name).write_text("".join(f"{line}\n" for line in lines), "utf-8")
    return path / name


def _bytes(path: Path, name: str, data: bytes) -> Path:
    (path / name).write_bytes(data)
    return path / name


def _pair(path: Path, name: str) -> Path:
    table = {**keys(), "<|s|>": 300}
    (path / "merges.txt").write_text("".join(f"{line}\n" for line in merge_lines()), "utf-8")
    if name == "vocab.json":
        return write_json(path / name, table)
    return _text(path, name, *(f"{key} {number}" for key, number in table.items()))


def _gguf(path: Path, values: dict[str, Any]) -> Path:
    return _bytes(path, "x.gguf", gguf(values))


def _model(path: Path, **options: Any) -> Path:
    return _bytes(path, "x.model", class_folders.model("?<unk> <s> +<sym>", rule="identity", **options))


def _of_words(path: Path) -> Path:
    from sentencepiece import sentencepiece_model_pb2

    made = sentencepiece_model_pb2.ModelProto()
    made.ParseFromString(class_folders.model("?<unk> <s>", rule="identity"))
    made.trainer_spec.model_type = 3
    return _bytes(path, "x.model", made.SerializeToString())


_MERGES = ["t h", "h e</w>"]
#: Makers of a file of each format, and the pattern of texts that the file or its format has.
FILES: dict[str, Callable[[Path], Path]] = {
    "bytes": lambda path: write_json(path / "tokenizer.json", document(pre_tokenizer=split("[a-z]"))),
    "a chain of rules": lambda path: write_json(
        path / "tokenizer.json", document(pre_tokenizer=split("[a-z]", behavior="MergedWithNext"))
    ),
    "characters": lambda path: _json(path, _OF_CHARACTERS, pre_tokenizer=METASPACE),
    "characters and rules": lambda path: _json(path, _OF_CHARACTERS, pre_tokenizer={"type": "WhitespaceSplit"}),
    "unigram": lambda path: _json(path, _UNIGRAM, pre_tokenizer=METASPACE),
    "unigram_json": lambda path: write_json(path / "unigram.json", _UNIGRAM),
    "wordpiece": lambda path: _json(path, _WORDS, pre_tokenizer={"type": "BertPreTokenizer"}),
    "tiktoken": lambda path: _bytes(path, "x.tiktoken", rank_text(vocab_of())),
    "gpt2": lambda path: _pair(path, "vocab.json"),
    "vocab_txt": lambda path: _pair(path, "vocab.txt"),
    "vocab.txt": lambda path: _text(path, "vocab.txt", "[PAD]", "[UNK]", "[CLS]", "[SEP]", "the", "##a", "a"),
    "codes": lambda path: _text(path, "x.codes", "#version: 0.2", *_MERGES),
    "codes with counts": lambda path: _text(path, "x.codes", *(f"{merge} 7" for merge in _MERGES)),
    "clip": lambda path: _text(path, "bpe.txt", '"bpe_simple_vocab_16e6.txt#version: 0.2', *_MERGES),
    "tekken": lambda path: write_json(path / "tekken.json", tekken()),
    "tekken in the slow reader": lambda path: _bytes(path, "tekken.json", json.dumps(tekken(), indent=1).encode()),
    "minbpe": lambda path: _text(path, "x.model", "minbpe v1", "[a-z]+|[^a-z]+", "1", "<|x|> 500", "97 32"),
    "rwkv": lambda path: _text(
        path, "rwkv_vocab_v20230424.txt", *(f"{number} {token!r} {len(token)}" for number, token in enumerate(_RWKV, 1))
    ),
    "gguf": lambda path: _gguf(path, vocabulary()),
    "gguf of words": lambda path: _gguf(path, bert()),
    "gguf of longest matches": lambda path: _gguf(
        path, bert(model="rwkv", tokens=["<s>", *(f"\\x{byte:02x}" for byte in range(256))], token_type=[3] + [1] * 256)
    ),
    "gguf of characters": lambda path: _gguf(path, gemma()),
    "gguf of pieces": lambda path: _gguf(path, piece_vocabulary("llama")),
    "gguf of scores": lambda path: _gguf(path, piece_vocabulary("t5")),
    "sentencepiece": lambda path: _model(path, is_bpe=True),
    "sentencepiece of scores": _model,
    "sentencepiece of words": _of_words,
    "youtokentome": lambda path: _text(path, "x.yttm", "3 1", "9601 4", "97 5", "98 6", "5 6 7", "1 0 2 3"),
}
#: Formats whose words end where the pattern matches nothing.
_OF_WORDS = ("codes", "codes with counts", "clip")
_SAME = ("merges", "characters", "decoder", "template", "model", "added_tokens", "token_options", "whole_pretokens")
_NEEDS = {"tiktoken": "gpt2", "gpt2": "gpt2", "vocab_txt": "gpt2"}


@pytest.mark.parametrize("kind", FILES)
def test_arguments_replace_what_a_file_has(kind: str, tmp_path: Path) -> None:
    path = FILES[kind](tmp_path)
    plain: dict[str, Any] = {"pattern": _NEEDS.get(kind)}
    base = formats.load(path, **plain)
    made = formats.load(path, pattern="[b-y]+|[^b-y]+")
    # each text is split by the pattern alone
    assert (made.pattern.steps, made.rules.pre_tokenizers) == (("[b-y]+|[^b-y]+",), ())
    assert made.pattern.drops_gaps == (kind in _OF_WORDS)
    assert bool(base.rules.pre_tokenizers) or base.pattern != made.pattern
    for field in (*_SAME, "vocab", "special_tokens"):
        assert getattr(made, field) == getattr(base, field), field
    kept = {"<unk>": 0} if kind.startswith("codes") else {}
    for given in ({}, {"<new>": base.vocab_size + 1}):
        other = formats.load(path, special_tokens=given, **plain)
        assert dict(other.special_tokens) == {**kept, **given}
        # these follow from the special tokens
        follow = {"template", "token_options", "characters"} if kind in ("clip", "vocab.txt") else set()
        for field in set(_SAME) - follow:
            assert getattr(other, field) == getattr(base, field), field
    named = formats.load(path, name="mine", **plain)
    assert (base.name, named.name) == (None, "mine")
    for field in (*_SAME, "vocab", "special_tokens", "pattern"):
        assert getattr(named, field) == getattr(base, field), field


@pytest.mark.filterwarnings("ignore::bbpe.VocabularyWarning")
@pytest.mark.parametrize("kind", FILES)
def test_the_content_of_a_file_is_the_file(kind: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Without the files beside it, and those of the current folder; a format of two files has no content alone."""
    path = FILES[kind](tmp_path)
    plain: dict[str, Any] = {"pattern": _NEEDS.get(kind)}
    write_json(tmp_path / "tokenizer_config.json", {"tokenizer_class": "Nobody"})
    monkeypatch.chdir(tmp_path)
    data = path.read_bytes()
    if kind in ("gpt2", "vocab_txt"):
        with pytest.raises(bbpe.VocabularyError, match=r"^<bytes>: "):
            bbpe.load(data, **plain)
        return
    (tmp_path / "alone").mkdir()
    want = bbpe.load(_bytes(tmp_path / "alone", path.name, data), **plain)
    with path.open("rb") as file:
        assert bbpe.load(file, **plain) == bbpe.load(bytearray(data), **plain) == want
    with path.open(encoding="latin-1") as text, pytest.raises(TypeError, match="open for bytes, mode 'rb'"):
        bbpe.load(text, **plain)  # type: ignore[arg-type]
    if want.spec.notes:
        with pytest.warns(bbpe.VocabularyWarning, match=r"^<bytes>: "):
            bbpe.load(data, **plain)


def test_tables_of_contents(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sources, "_LEAST", 0)
    data = FILES["bytes"](tmp_path).read_bytes()
    for name in ("a", "b", "a"):
        assert bbpe.load(data, name=name, cache=tmp_path / "tables").name == name
    assert len(list((tmp_path / "tables").iterdir())) == 2


def test_special_tokens_of_clip_make_its_template(tmp_path: Path) -> None:
    path = FILES["clip"](tmp_path)
    first, last = "<|startoftext|>", "<|endoftext|>"
    tok = bbpe.load(path)
    size = len(_MERGES) + 512
    assert dict(tok.special_tokens) == {first: size, last: size + 1}
    assert tok.encode("t", add_special_tokens=True) == [size, *tok.encode("t"), size + 1]
    for given in ({first: 900}, {last: 900}):
        tok = bbpe.load(path, special_tokens=given)
        assert tok.encode("t", add_special_tokens=True) == tok.encode("t")
    assert tok.spec.characters is not None
    assert tok.spec.characters.unknown == 900
