"""Which class counts for a folder, and the refusal of classes and types of models that are not known."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest
from class_folders import fill, model
from tekken_files import tekken
from vocabularies import keys, merge_lines, vocab_of

import bbpe
from bbpe.errors import VocabularyError
from bbpe.formats.transformers.classes import CLASSES
from bbpe.formats.transformers.folder import ClassFolder
from bbpe.formats.transformers.names import AS_IT_IS, IN_PYTHON, OTHERS, OWN, SUPPORTED, TYPES, WHY_NOT, class_of
from bbpe.formats.transformers.own_files import OWN_CLASSES

CODES = {"vocab.txt": "ab 9\n", "bpe.codes": "a b</w> 9\n"}
PAIR = {"vocab.json": keys(vocab_of()), "merges.txt": "\n".join(merge_lines())}


def write(folder: Path, files: dict[str, Any]) -> Path:
    folder.mkdir(exist_ok=True)
    for name, value in files.items():
        data = value if isinstance(value, bytes) else value.encode() if isinstance(value, str) else None
        (folder / name).write_bytes(json.dumps(value).encode() if data is None else data)
    return folder


def refusal(folder: Path, **options: Any) -> str:
    with pytest.raises(VocabularyError) as caught:
        bbpe.load(folder, **options)
    return str(caught.value).replace(str(folder), "")


def test_the_lists() -> None:
    every = " ".join((SUPPORTED, IN_PYTHON, OTHERS, TYPES)).split()
    assert sorted(set(every)) == sorted(every)
    assert not set(AS_IT_IS.split()) & set(every)
    assert sorted(CLASSES) == sorted(name for name in SUPPORTED.split() if name[0].isupper())
    assert sorted(OWN_CLASSES) == sorted(OWN)
    assert {*OWN, *WHY_NOT} < set(IN_PYTHON.split())


@pytest.mark.parametrize(
    ("name", "files", "found"),
    [
        ("XLM", {**PAIR, "merges.txt": "a b</w> 10\n"}, "XLMTokenizer"),
        ("BlenderbotSmall", {**PAIR, "merges.txt": "#version: 0.2\na b</w>\n"}, "BlenderbotSmallTokenizer"),
        ("Luke", PAIR, "LukeTokenizer"),
        ("Own", PAIR, "OwnTokenizer"),
        ("Wav2Vec2PhonemeCTC", {"vocab.json": {"<pad>": 0, "a": 1}}, "Wav2Vec2PhonemeCTCTokenizer"),
        ("Canine", {}, "CanineTokenizer"),
        ("FSMT", CODES, "FSMTTokenizer' is not supported"),
        ("T5", PAIR, "T5Tokenizer' reads spiece.model"),
    ],
)
def test_a_class_is_refused_by_name(tmp_path: Path, name: str, files: dict[str, Any], found: str) -> None:
    """Before its files are read, with a pattern too; no other file is asked for, which the class would not read."""
    folder = write(tmp_path, {**files, "tokenizer_config.json": {"tokenizer_class": f"{name}Tokenizer"}})
    for options in ({}, {"pattern": "gpt2"}):
        problem = refusal(folder, **options)
        assert f"tokenizer_config.json: tokenizer_class: the class '{found}" in problem
        assert "tokenizer.json" not in problem


@pytest.mark.parametrize("name", ["RemBert", "Parakeet", "Udop", "ChatGLM", "Own"])
def test_a_class_of_pieces_is_refused_by_name(tmp_path: Path, name: str) -> None:
    pytest.importorskip("sentencepiece.sentencepiece_model_pb2")
    config = {"tokenizer_class": f"{name}Tokenizer", "auto_map": {"AutoTokenizer": ["x.Y", None]}}
    folder = write(tmp_path, {"tokenizer.model": model("?<unk> <s> </s>"), "tokenizer_config.json": config})
    assert f"the class '{name}Tokenizer' is not supported" in refusal(folder)
    bbpe.load(folder / "tokenizer.model")  # SentencePiece's ids


def test_types_of_models(tmp_path: Path) -> None:
    """A type stands for its class; a type without one leaves the pieces as they are, as `transformers` does."""
    pytest.importorskip("sentencepiece.sentencepiece_model_pb2")
    pieces = {"tokenizer.model": model("?<unk> <s> </s>", is_bpe=True)}
    alone = bbpe.load(write(tmp_path / "alone", pieces)).encode("see my dogs")
    for kind, found in (("udop", "Udop"), ("tipsv2", "Tipsv2"), ("parakeet_ctc", "Parakeet"), ("rembert", "RemBert")):
        folder = write(tmp_path / kind, {**pieces, "config.json": {"model_type": kind}})
        assert f"config.json: model_type: the class '{found}Tokenizer' is not supported" in refusal(folder)
    folder = write(tmp_path / "s", {**pieces, "config.json": {"model_type": "fnet"}})
    assert "the class 'FNetTokenizer' is supported only with a tokenizer.json, not with Sent" in refusal(folder)
    folder = write(tmp_path / "new", {**pieces, "config.json": {"model_type": "fnet2"}})
    assert "config.json: model_type: the type 'fnet2' is not known" in refusal(folder)
    for kind in ("llama", "phi3"):
        folder = write(tmp_path / kind, {**pieces, "config.json": {"model_type": kind}})
        assert bbpe.load(folder).encode("see my dogs") == alone


@pytest.mark.parametrize(
    ("stated", "kind", "found"),
    [
        # what AutoTokenizer of transformers 5.24 makes of these
        ("LlamaTokenizer", "llama", "LlamaTokenizer"),
        ("LlamaTokenizerFast", "phi3", ""),
        ("LlamaTokenizer", "mistral", ""),
        ("GPT2Tokenizer", "qwen2", "Qwen2Tokenizer"),
        ("Qwen2TokenizerFast", "qwen2", "Qwen2TokenizerFast"),
        ("GPT2Tokenizer", "qwen3", "GPT2Tokenizer"),
        ("PreTrainedTokenizerFast", "qwen3", ""),
        ("", "qwen3", "Qwen2Tokenizer"),
        ("", "florence2", "BartTokenizer"),
        ("TokenizersBackend", "", ""),
        ("", "", ""),
    ],
)
def test_the_class_that_counts(tmp_path: Path, stated: str, kind: str, found: str) -> None:
    config = {"tokenizer_class": stated} if stated else {}
    folder = write(tmp_path, {"tokenizer_config.json": config, "config.json": {"model_type": kind} if kind else {}})
    assert class_of(ClassFolder(folder)).name == found


@pytest.mark.parametrize(("stated", "kind"), [("LlamaTokenizer", "phi3"), ("GPT2Tokenizer", "qwen2"), ("", "qwen3")])
def test_a_class_of_custom_code(tmp_path: Path, stated: str, kind: str) -> None:
    """Beside an `auto_map` the stated class counts whatever the type, as AutoTokenizer 5.24 has it."""
    config: dict[str, Any] = {"tokenizer_class": stated} if stated else {}
    others = {"config.json": {"model_type": kind}}
    for auto_map in ({"AutoTokenizer": ["x.Y", None]}, ["x.Y", None]):
        write(tmp_path, {"tokenizer_config.json": {**config, "auto_map": auto_map}, **others})
        assert class_of(ClassFolder(tmp_path)).name == (stated or "Qwen2Tokenizer")
    write(tmp_path, {"tokenizer_config.json": {**config, "auto_map": {"AutoConfig": "x.Y"}}, **others})
    assert class_of(ClassFolder(tmp_path)).name == ("" if kind == "phi3" else "Qwen2Tokenizer")


def test_ranks_in_a_folder(tmp_path: Path) -> None:
    """As Meta's tokenizer.model, Kimi's tiktoken.model and Qwen's qwen.tiktoken."""
    tok = bbpe.train_from_iterator(["see my eyes first"] * 9, 265, pattern="llama3")
    tok.save(tmp_path / "made.tiktoken")
    ranks = (tmp_path / "made.tiktoken").read_bytes()
    for name in ("tokenizer.model", "tiktoken.model", "own.tiktoken"):
        folder = tmp_path / f"in {name}"
        write(folder, {name: ranks, "params.json": {"dim": 8}})
        assert bbpe.load(folder, pattern="llama3").encode("see my eyes") == tok.encode("see my eyes")
        with pytest.raises(VocabularyError, match="does not define how text is split"):
            bbpe.load(folder)
        write(folder, {"tokenizer_config.json": {"tokenizer_class": "T5Tokenizer"}})
        assert "the class 'T5Tokenizer' reads no ranks" in refusal(folder)


def test_tokens_of_ranks(tmp_path: Path) -> None:
    """Ids between those that a table names have names too, as `transformers` 5.24 and Kimi's own program give them."""
    made = bbpe.train_from_iterator(["see my eyes first"] * 9, 265, pattern="llama3")
    made.save(tmp_path / "tiktoken.model", format="tiktoken")
    size = made.vocab_size
    table = {str(size + 1): {"content": "[BOS]", "special": True}, str(size + 3): {"content": "<q>", "special": False}}
    config = {"added_tokens_decoder": table, "bos_token": "[BOS]", "add_bos_token": True}
    write(tmp_path, {"tokenizer_config.json": {"tokenizer_class": "TikTokenTokenizer", **config}})
    tok = bbpe.load(tmp_path, pattern="llama3")
    named = {**tok.special_tokens, **tok.added_tokens}
    reserved = {f"<|reserved_token_{number}|>": number for number in (size, size + 2)}
    assert named == {**reserved, "[BOS]": size + 1, "<q>": size + 3}
    assert tok.encode("see<q>", add_special_tokens=True) == [size + 1, *made.encode("see"), size + 3]
    write(tmp_path, {"tokenizer_config.json": {"added_tokens_decoder": {"9999999": {"content": "<q>"}}}})
    assert "added_tokens_decoder: found the id 9999999; expected at most" in refusal(tmp_path, pattern="llama3")


def test_bos_of_tekken(tmp_path: Path) -> None:
    """AutoTokenizer asks `mistral-common` for a Mistral model, which puts BOS in front and knows no pairs."""
    folder = write(tmp_path, {"tekken.json": tekken()})
    plain = bbpe.load(folder)
    ids = plain.encode("see my eyes")
    assert plain.encode("see my eyes", add_special_tokens=True) == ids
    write(folder, {"config.json": {"model_type": "mistral"}})
    tok = bbpe.load(folder)
    assert tok.encode("see my eyes") == ids
    assert tok.encode("see my eyes", add_special_tokens=True) == [1, *ids]
    assert tok.encode("", add_special_tokens=True) == [1]
    assert bbpe.load(folder / "tekken.json") == plain
    with pytest.raises(ValueError, match="no form for pairs"):
        tok.encode("a", pair="b", add_special_tokens=True)


def test_half_a_tokenizer(tmp_path: Path) -> None:
    assert "Marian" in refusal(write(tmp_path, {"source.spm": b"", "target.spm": b"", "vocab.json": {"a": 0}}))


def test_a_class_beside_a_type_that_reads_files_as_they_are(tmp_path: Path) -> None:
    """`transformers` reads no vocab.json for such a type; the class that is named has the rules."""
    files = {"config.json": {"model_type": "granite"}, "tokenizer_config.json": {"tokenizer_class": "GPT2Tokenizer"}}
    tok = bbpe.load(write(tmp_path, {**PAIR, **files}))
    assert tok == bbpe.load(write(tmp_path / "b", {**PAIR, "tokenizer_config.json": files["tokenizer_config.json"]}))


def test_other_names_of_pieces_than_tokenizer_model(tmp_path: Path) -> None:
    """`transformers` reads only a tokenizer.model as it is, so the class of a umt5 has the rules."""
    pytest.importorskip("sentencepiece.sentencepiece_model_pb2")
    fill(tmp_path, "T5Tokenizer", {}, {})
    ids = bbpe.load(tmp_path).encode("see my", add_special_tokens=True)
    write(tmp_path, {"config.json": {"model_type": "umt5"}})
    assert bbpe.load(tmp_path).encode("see my", add_special_tokens=True) == ids
    write(tmp_path, {"tokenizer_config.json": {}})
    assert bbpe.load(tmp_path).encode("see my", add_special_tokens=True) == ids[:-1]  # SentencePiece's, without EOS


def test_words_of_a_class_without_rules(tmp_path: Path) -> None:
    fill(tmp_path, "BertTokenizer", {}, {})
    write(tmp_path, {"tokenizer_config.json": {"tokenizer_class": "PreTrainedTokenizerFast"}})
    assert re.search("'PreTrainedTokenizerFast' reads no vocab.txt; expected a class", refusal(tmp_path))


def test_a_pattern_beside_a_class_has_a_note(tmp_path: Path) -> None:
    folder = write(tmp_path, {**PAIR, "tokenizer_config.json": {"tokenizer_class": "CohereTokenizer"}})
    with pytest.warns(bbpe.VocabularyWarning, match="pattern= replaces how the class CohereTokenizer"):
        tok = bbpe.load(folder, pattern="gpt2")
    assert (len(tok.encode("12")), len(bbpe.load(folder).encode("12"))) == (1, 2)  # the class splits digits
    assert not bbpe.load(folder).spec.notes
    write(folder, {"tokenizer_config.json": {"tokenizer_class": "GPT2Tokenizer"}})
    assert not bbpe.load(folder).spec.notes


def test_flags_of_pieces_without_a_class(tmp_path: Path) -> None:
    """Without a class, and for types such as mistral with any, `transformers` reads the pieces as they are."""
    pytest.importorskip("sentencepiece.sentencepiece_model_pb2")
    pieces = {"tokenizer.model": model("?<unk> <s> </s>", is_bpe=True)}
    row = {"content": "<q>", "special": False, "normalized": True}
    config: dict[str, Any] = {"tokenizer_class": "LlamaTokenizer", "add_bos_token": True, "bos_token": "<s>"}
    others = {"config.json": {"model_type": "mistral"}, "tokenizer_config.json": config}
    folder = write(tmp_path, {**pieces, **others})
    tok, alone = bbpe.load(folder), bbpe.load(folder / "tokenizer.model")
    ids = alone.encode("see my")
    assert (tok.encode("see my"), tok.encode("see my", add_special_tokens=True)) == (ids, [1, *ids])
    assert tok.encode("see", pair="my", add_special_tokens=True) == [1, *alone.encode("see"), 1, *alone.encode("my")]
    size = alone.vocab_size
    config |= {"add_eos_token": True, "added_tokens_decoder": {str(size): row}}
    tok = bbpe.load(write(folder, {"tokenizer_config.json": config}))
    # each part of a text between added tokens has a blank of its own
    assert tok.encode("see<q>my") == [*alone.encode("see"), size, *alone.encode("my")]
    assert tok.encode("see", add_special_tokens=True)[-1] == 2
    for flag in (False, None):  # both are false for `transformers`
        write(folder, {"tokenizer_config.json": {**config, "legacy": flag}})
        assert "legacy: false or null is supported only for LlamaTokenizer" in refusal(folder)
    write(folder, {"tokenizer_config.json": {"added_tokens_decoder": {"0": row}}})
    assert "added_tokens_decoder.0: '<q>' is another text for the piece '<unk>'" in refusal(folder)
