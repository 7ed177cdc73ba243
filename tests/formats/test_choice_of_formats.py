"""What a file or folder is taken for, what is said of one that is none, and which parts no other format holds."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import class_folders
import pytest
from tekken_files import ordered_vocab
from vocabularies import keys, merge_lines, small_spec, vocab_of, write_json, write_pair

import bbpe
from bbpe import formats
from bbpe.errors import VocabularyError
from bbpe.formats.common.given import rank_text
from bbpe.records import replace
from bbpe.spec.rules import LeadingCodes
from bbpe.spec.spec import TextRules, make_spec
from bbpe.splitting.patterns import get_pattern

pb2 = pytest.importorskip("sentencepiece.sentencepiece_model_pb2")
KNOWN = "; expected one of: tokenizer.json, the unigram.json of tokenizers, YouTokenToMe's model, a .tiktoken rank file"


def message(path: Path | str, kind: type[Exception] = VocabularyError, **options: Any) -> str:
    with pytest.raises(kind) as caught:
        bbpe.load(path, **options)
    return str(caught.value)


# -- reading --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("count", "shown"),
    [(1, "x1"), (8, "x1, x2, x3, x4, x5, x6, x7, x8"), (9, "x1, x2, x3, x4, x5, x6, x7, x8, ...")],
)
def test_a_folder_of_other_files_is_listed(tmp_path: Path, count: int, shown: str) -> None:
    for number in range(count, 0, -1):
        (tmp_path / f"x{number}").write_text("")
    assert message(tmp_path).startswith(f"{tmp_path}: found a folder with {shown}{KNOWN}")


def test_one_rank_file_of_any_name_makes_a_folder_and_two_do_not(tmp_path: Path) -> None:
    (tmp_path / "own.tiktoken").write_bytes(rank_text(vocab_of()))
    assert formats.sniff(tmp_path) == "tiktoken"
    assert bbpe.load(tmp_path, pattern="gpt2").encode("the") == [257]
    (tmp_path / "other.tiktoken").write_bytes(rank_text(vocab_of()))
    assert "found a folder with other.tiktoken, own.tiktoken" in message(tmp_path, pattern="gpt2")


@pytest.mark.parametrize(
    ("head", "found"),
    [
        (b"  \n<!DOCTYPE html>", "a web page"), (b"<HTML lang=en>", "a web page"), (b"\t<!doctype", "a web page"),
        (b"\xff\xfea\x00", "a byte order mark (BOM) before the text"), (b"\xfe\xff\x00a", "a byte order mark (BOM)"),
        (b"\xef\xbb\xbf{", "a byte order mark (BOM) before the text (save it as UTF-8 without one)"),
        (b"\x1f\x8b\x08", "a gzip file (decompress it first)"), (b"\x28\xb5\x2f\xfd", "a zstd file (decompress it"),
        (b"\xfd7zXZ\x00", "an xz file (decompress it first)"), (b"PK\x03\x04", "a zip file (unpack it first)"),
        (b"version https://git-lfs", "a pointer of Git LFS, not the file itself (`git lfs pull` gets it)"),
        (b"<htm", "a file that begins with b'<htm'"), (b"x" * 41, f"a file that begins with {b'x' * 40!r}"),
        (b"a\x00\xff", r"a file that begins with b'a\x00\xff'"), (b"", "an empty file"),
    ],
)  # fmt: skip
def test_files_of_other_kinds_are_named_by_their_first_bytes(tmp_path: Path, head: bytes, found: str) -> None:
    path = tmp_path / "some.bin"
    path.write_bytes(head)
    assert message(path).startswith(f"{path}: found {found}")
    assert KNOWN in message(path)
    if found.startswith(("a file", "an empty")):
        return
    # either file of a pair
    for name in ("vocab.json", "merges.txt"):
        write_pair(tmp_path / "pair")
        (tmp_path / "pair" / name).write_bytes(head)
        assert message(tmp_path / "pair", pattern="gpt2").startswith(f"{tmp_path / 'pair' / name}: found {found}")


def test_merges_beside_their_vocabulary_are_no_codes(tmp_path: Path) -> None:
    words = ["a", "b", "a</w>", "b</w>", "<unk>", "ab</w>"]
    write_json(tmp_path / "vocab.json", {key: number for number, key in enumerate(words)})
    (tmp_path / "merges.txt").write_text("#version: 0.2\na b</w>\n", "utf-8")
    for name in ("vocab.json", "merges.txt"):
        assert formats.sniff(tmp_path / name) == "gpt2"
        assert bbpe.load(tmp_path / name, pattern="whitespace").encode("ab a") == [5, 2]
    (tmp_path / "vocab.json").unlink()
    assert formats.sniff(tmp_path / "merges.txt") == "codes"
    assert bbpe.load(tmp_path / "merges.txt").token_to_id("ab</w>") != 5


def test_a_vocab_txt_is_of_the_format_whose_other_file_is_there(tmp_path: Path) -> None:
    lines = [f"{key} {number}" for key, number in keys().items()]
    (tmp_path / "vocab.txt").write_text("\n".join(lines), "utf-8")
    (tmp_path / "merges.txt").write_text("\n".join(merge_lines()), "utf-8")
    assert formats.sniff(tmp_path) == formats.sniff(tmp_path / "vocab.txt") == "vocab_txt"
    (tmp_path / "vocab.txt").write_text("[UNK]\nsee\n", "utf-8")
    assert formats.sniff(tmp_path / "vocab.txt") == "wordpiece"
    (tmp_path / "merges.txt").unlink()
    assert formats.sniff(tmp_path) == formats.sniff(tmp_path / "vocab.txt") == "wordpiece"


def test_names_that_are_no_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HF_HUB_CACHE", str(tmp_path / "hub"))
    for text, problem in (
        ("nobody/nothing", f"the cache of the Hugging Face hub, {tmp_path / 'hub'}; `hf download nobody/nothing` down"),
        ("nothing", "there is no such file, vocabulary or model; load an open model by its folder, or by org/name"),
        ("cl100k_bse", "there is no such file, vocabulary or model (did you mean 'cl100k_base' or 'o200k_base'?)"),
    ):
        assert problem in message(text, FileNotFoundError)
    for text in ("x.json", "x.tiktoken", "a/b/c", "./a", str(tmp_path / "y")):
        found = message(text, FileNotFoundError)
        assert "No such file or directory" in found
        assert "vocabulary or model" not in found


# -- writing --------------------------------------------------------------------------------------------------


def of_tekken() -> Any:
    return make_spec(
        ordered_vocab(1), None, pattern=get_pattern("tekken"), special_tokens={"<s>": 0}, whole_pretokens=True
    )


@pytest.mark.parametrize(
    ("made", "name", "files"),
    [
        (of_tekken, "tekken", ["tekken.json"]),
        (small_spec, "huggingface", ["tokenizer_config.json", "tokenizer.json"]),
        (small_spec, "gpt2", ["vocab.json", "merges.txt", "tokenizer_config.json"]),
        (small_spec, "vocab_txt", ["vocab.txt", "merges.txt", "tokenizer_config.json"]),
    ],
)  # fmt: skip
def test_a_folder_that_is_there_gets_the_files_of_a_format(
    tmp_path: Path, made: Callable[[], Any], name: str, files: list[str]
) -> None:
    assert [path.relative_to(tmp_path) for path in formats.written(made(), tmp_path, name)] == [*map(Path, files)]
    formats.dump(made(), tmp_path, name)
    assert sorted(path.name for path in tmp_path.iterdir()) == sorted(files)
    assert formats.sniff(tmp_path) == name


def model(**changes: Any) -> bytes:
    """A model that only merges its pieces; `changes` replace its fields."""
    made = pb2.ModelProto.FromString(class_folders.model("?<unk>", is_bpe=True, rule="identity"))
    made.normalizer_spec.remove_extra_whitespaces = False
    rows = [*made.pieces]
    for name, value in changes.items():
        if name == "piece":
            made.pieces.add(**value)
        elif name == "scores":
            for row in rows:
                row.score = value if row.type == 1 and len(row.piece) > 1 else row.score
        else:
            spec, _, field = name.partition("__")
            setattr(getattr(made, spec), field, value)
    return bytes(made.SerializeToString())


ONLY_IN_A_MODEL: list[tuple[dict[str, Any], list[str], str]] = [
    ({"trainer_spec__model_type": 3}, ["codes", "huggingface", "gguf"], "words of which unknown neighbours become one"),
    ({"normalizer_spec__remove_extra_whitespaces": True}, ["codes", "tekken"], "normalizer like SentencePiece's Sq"),
    (
        {"normalizer_spec__precompiled_charsmap": "nmt"}, ["codes", "tiktoken", "gpt2"],
        "normalizer like SentencePiece's Charsmap",
    ),
    ({"scores": -1.0}, ["codes", "tiktoken"], "pieces of equal scores or of the type UNUSED"),
    ({"piece": {"piece": "\u2581xyx", "score": -9.0, "type": 5}}, ["codes", "tekken"], "pieces of equal scores or of"),
    (
        {"piece": {"piece": "<sym>", "score": 0.0, "type": 4}}, ["codes", "tekken", "vocab_txt"],
        "user-defined symbols, which are found in the normalized text",
    ),
]  # fmt: skip


@pytest.mark.parametrize(("changes", "names", "part"), ONLY_IN_A_MODEL, ids=str)
def test_parts_that_only_a_model_holds(tmp_path: Path, changes: dict[str, Any], names: list[str], part: str) -> None:
    if "normalizer_spec__precompiled_charsmap" in changes:
        table = pb2.ModelProto.FromString(class_folders.model("?<unk>")).normalizer_spec.precompiled_charsmap
        changes = {"normalizer_spec__precompiled_charsmap": table}
    path = tmp_path / "x.model"
    path.write_bytes(model(**changes))
    spec = formats.load(path)
    assert formats.written(spec, tmp_path / "y.model")
    for name in names:
        with pytest.raises(VocabularyError) as caught:
            formats.written(spec, tmp_path / "y", name)
        description = formats.FORMATS[name].description
        assert f"{tmp_path / 'y'}: {description} holds no {part}" in str(caught.value)
        assert str(caught.value).endswith("; write a SentencePiece .model")


def test_rules_of_a_class_of_python_are_in_no_file(tmp_path: Path) -> None:
    spec = replace(small_spec(), rules=TextRules(codes=LeadingCodes(">>", "<<", 0)))
    for name in ("x.json", "x.model", "x.tiktoken"):
        with pytest.raises(VocabularyError, match="no format holds the rules of the class of this folder; copy"):
            formats.written(spec, tmp_path / name)


@pytest.mark.parametrize("name", ["tiktoken", "gpt2", "tekken", "minbpe"])
def test_models_and_rules_that_a_format_of_bytes_does_not_hold(tmp_path: Path, name: str) -> None:
    lines = ["see my eyes first", "see my dogs"] * 3
    description = formats.FORMATS[name].description
    words = bbpe.train_from_iterator(lines, 60, model="wordpiece").spec
    with pytest.raises(VocabularyError) as caught:
        formats.written(replace(words, rules=TextRules()), tmp_path / "x", name)
    assert f"{description} holds no WordPieceModel; write tokenizer.json" in str(caught.value)
    with pytest.raises(VocabularyError) as caught:
        formats.written(words, tmp_path / "x", name)
    assert f"{description} holds no normalizer, prefix, options of special tokens or characters" in str(caught.value)


def test_a_written_unigram_json_has_its_pieces_and_options(tmp_path: Path) -> None:
    rows = [["<u>", 0.0], ["\u2581", -2.0], ["\u00e9", -3.5], ["a\u2581", -4.25]]
    values = {"type": "Unigram", "unk_id": 0, "vocab": rows, "byte_fallback": False}
    spec = formats.load(write_json(tmp_path / "unigram.json", values))
    (data,) = formats.written(spec, tmp_path / "unigram.json", "unigram_json").values()
    assert json.loads(data) == values
    assert "\u00e9" in data.decode()
