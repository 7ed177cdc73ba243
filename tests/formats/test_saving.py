"""What is saved is read back equal, or nothing is written and the error names what would be lost."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from options import train_options
from systems import link

import bbpe
from bbpe import formats
from bbpe.cli import main
from bbpe.errors import VocabularyError
from bbpe.formats import saving
from bbpe.spec.rules import Lowercase, RowPadding, RowTruncation, Template, TokenOptions
from bbpe.spec.spec import TextRules, make_spec
from bbpe.splitting.patterns import get_pattern

TEXTS = ["see my eyes first", "see my dogs", "a 1 \u00e9 caf\u00e9"] * 20
SPECIALS = ["<s>", "</s>", "\n", "<|a b|>", "\u6f22<x>"]
PROBES = ["", "see my dogs", "<s>see</s>", "a\nb \n", "a<|a b|>b", "\u6f22<x>\u6f22", "caf\u00e9 \U0001f600 \u2581 ##s"]


def trained(**options: Any) -> bbpe.Tokenizer:
    size = options.pop("vocab_size", 400)
    return bbpe.train_from_iterator(TEXTS, size, **train_options(**{"special_tokens": SPECIALS, **options}))


def same(one: bbpe.Tokenizer, other: bbpe.Tokenizer) -> None:
    assert one == other
    for text in PROBES:
        for allowed in ((), "all"):
            assert one.encode(text, allowed_special=allowed) == other.encode(text, allowed_special=allowed), text


def refusal(tok: bbpe.Tokenizer, path: Path, **options: Any) -> str:
    """What saving is refused with, or nothing."""
    try:
        tok.save(path, **options)
    except VocabularyError as error:
        return str(error)
    return ""


def nothing_in(folder: Path) -> bool:
    return not any(path.is_file() for path in folder.rglob("*"))


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"pattern": "cl100k"},
        {"pattern": r"\p{L}+|\P{L}"},
        {"alphabet": "chars", "end_of_word": "</w>", "special_tokens": ["<s>", "ab"]},
        {"model": "wordpiece", "special_tokens": [*SPECIALS, "a", "[CLS]", "[SEP]"]},
        {"model": "unigram"},
        {"model": "unigram", "user_defined_symbols": ["my dog", "<y>"]},
        {"model": "unigram", "byte_fallback": False, "vocab_size": 60},
    ],
)
@pytest.mark.parametrize("name", ["t.json", "folder", "tok-1.5", "model.v2", "\u8a9e" * 20])
def test_a_trained_tokenizer_comes_back(options: dict[str, Any], name: str, tmp_path: Path) -> None:
    tok = trained(**options)
    tok.save(tmp_path / name)
    same(bbpe.load(tmp_path / name), tok)
    assert (tmp_path / name).is_file() == name.endswith(".json")


@pytest.mark.parametrize("suffix", [".tiktoken", ".model", ".gguf", ".txt", ".codes", ".json"])
@pytest.mark.parametrize(
    "options",
    [
        {},
        {"special_tokens": []},
        {"alphabet": "chars", "end_of_word": "</w>", "special_tokens": []},
        {"alphabet": "chars", "end_of_word": "</w>", "special_tokens": ["<s>"]},
        {"alphabet": "chars", "end_of_word": "</w>", "special_tokens": [], "lowercase": True},
        {"model": "wordpiece", "special_tokens": ["<s>"]},
        {"model": "unigram", "special_tokens": ["<s>"]},
    ],
)
def test_it_comes_back_or_is_refused(options: dict[str, Any], suffix: str, tmp_path: Path) -> None:
    """The only things that readers are told are the pattern of a rank file, and that codes hold no ids."""
    pytest.importorskip("gguf")
    tok, path = trained(**options), tmp_path / ("a" + suffix)
    error = refusal(tok, path)
    if error:
        assert path.name in error
        assert re.search("write|alone|is not", error, re.IGNORECASE)
        assert nothing_in(tmp_path)
        return
    again = bbpe.load(path, pattern="gpt2" if suffix == ".tiktoken" else None)
    if suffix == ".gguf" and again.spec.characters is not None:
        assert again.decode([0]) == " \u2047 "
        again = bbpe.Tokenizer(replace(again.spec, characters=replace(again.spec.characters, unknown_text=None)))
    if suffix == ".codes":
        assert (again.merges, again.special_tokens) == (tok.merges, {"<unk>": 0})
    else:
        same(again, tok)


def test_special_tokens_are_not_lost_in_a_rank_file(tmp_path: Path) -> None:
    tok = trained()
    with pytest.raises(VocabularyError) as caught:
        tok.save(tmp_path / "x.tiktoken")
    for part in ("x.tiktoken", "special tokens ('<s>', '</s>', '\\n' and 2 more)", "tokenizer.json", "drop="):
        assert part in str(caught.value)
    assert nothing_in(tmp_path)
    tok.save(tmp_path / "x.tiktoken", drop=["special_tokens"])
    again = bbpe.load(tmp_path / "x.tiktoken", pattern="gpt2")
    assert (again.special_tokens, again.ranks) == ({}, tok.ranks)


def test_a_folder_of_vocabulary_and_merges_says_its_pattern(tmp_path: Path) -> None:
    tok = trained(special_tokens=["<s>"])
    for name in ("gpt2", "vocab_txt"):
        tok.save(tmp_path / name, format=name)
        same(bbpe.load(tmp_path / name), tok)
        config = json.loads((tmp_path / name / "tokenizer_config.json").read_bytes())
        assert config["tokenizer_class"] == "GPT2Tokenizer"
        other = trained(special_tokens=["<s>"], pattern="cl100k")
        with pytest.raises(VocabularyError, match=r"does not define how text is split.*pattern="):
            other.save(tmp_path / f"{name}2", format=name)
        assert not (tmp_path / f"{name}2").exists()
        other.save(tmp_path / f"{name}2", format=name, drop=["pattern"])
        same(bbpe.load(tmp_path / f"{name}2", pattern="cl100k"), other)


@pytest.mark.parametrize("special", [[], ["<|endoftext|>"]])
def test_a_configuration_has_no_table_of_usual_tokens(tmp_path: Path, special: list[str]) -> None:
    """The class adds the end of a text itself, unless the configuration has null for its uses."""
    trained(special_tokens=special).save(tmp_path / "gpt2", format="gpt2")
    config = json.loads((tmp_path / "gpt2" / "tokenizer_config.json").read_bytes())
    nulls = {} if special else {"bos_token": None, "eos_token": None, "unk_token": None}
    assert config == {"tokenizer_class": "GPT2Tokenizer", **nulls}


def test_a_config_that_is_there_stays(tmp_path: Path) -> None:
    tok, config = trained(special_tokens=["<s>"]), tmp_path / "tokenizer_config.json"
    config.write_text('{"tokenizer_class": "GPT2TokenizerFast", "model_max_length": 5}')
    tok.save(tmp_path, format="gpt2")
    same(bbpe.load(tmp_path), tok)
    assert json.loads(config.read_bytes())["model_max_length"] == 5
    config.write_text('{"tokenizer_class": "OtherTokenizer"}')
    with pytest.raises(VocabularyError, match="the class 'OtherTokenizer' is not supported"):
        tok.save(tmp_path, format="gpt2")
    assert config.read_text() == '{"tokenizer_class": "OtherTokenizer"}'


SPEC = make_spec(
    {**{byte: bytes([byte]) for byte in range(256)}, 256: b"ab"},
    [(b"a", b"b")],
    pattern=get_pattern("gpt2"),
    special_tokens={"<s>": 257},
)


@pytest.mark.parametrize(
    ("change", "named"),
    [
        ({"template": Template(((257, 0), ("A", 0)))}, "the template"),
        ({"template": Template((("A", 0), (257, 1)), (("A", 0), ("B", 1)))}, "the template"),
        ({"token_options": {"<s>": TokenOptions(lstrip=True)}}, "options of special tokens"),
        ({"rules": TextRules((Lowercase(),))}, "normalizer"),
        ({"added_tokens": {"<t>": 258}}, "added tokens ('<t>')"),
    ],
)
@pytest.mark.parametrize("name", ["tiktoken", "gpt2", "vocab_txt", "gguf", "tekken"])
def test_what_a_format_has_no_place_for(change: dict[str, Any], named: str, name: str, tmp_path: Path) -> None:
    pytest.importorskip("gguf")
    tok = bbpe.Tokenizer(replace(SPEC, **change))
    error = refusal(tok, tmp_path / "x", format=name)
    if error:
        if name == "tekken" and named not in error:  # what it looks at before
            named = "cannot hold the added token '<t>'" if "added_tokens" in change else "tekken.json numbers special"
        assert named in error
        assert nothing_in(tmp_path)
        return
    same(bbpe.load(tmp_path / "x"), tok)
    assert name == "gguf" or "added_tokens" in change


def test_dropping(tmp_path: Path) -> None:
    tok = bbpe.Tokenizer(replace(SPEC, template=Template(((257, 0), ("A", 0)))))
    tok.save(tmp_path / "a", format="gpt2", drop=["template"])
    same(bbpe.load(tmp_path / "a"), bbpe.Tokenizer(SPEC))
    rows: dict[str, Any] = {
        "padding": RowPadding(257, "<s>"),
        "truncation": RowTruncation(9),
    }
    for number, given in enumerate(({"padding": rows["padding"]}, {"truncation": rows["truncation"]}, rows)):
        tok = bbpe.Tokenizer(replace(SPEC, **given))
        assert all(name in refusal(tok, tmp_path / "r", format="gpt2") for name in given)
        tok.save(tmp_path / str(number), format="gpt2", drop=["padding"])
        same(bbpe.load(tmp_path / str(number)), bbpe.Tokenizer(SPEC))
    for wrong in ("template", ["templates"], 5, [5]):
        with pytest.raises(ValueError, match=r"drop is .*'special_tokens', 'template', 'pattern'"):
            tok.save(tmp_path / "b", drop=wrong)  # type: ignore[arg-type]


@pytest.mark.parametrize("name", sorted(set(formats.FORMATS) - {"minbpe", "rwkv", "youtokentome", "unigram_json"}))
def test_a_writer_with_a_fault_writes_nothing(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever the writer gets wrong, what was there stays."""
    pytest.importorskip("gguf")
    models: dict[str, dict[str, Any]] = {
        "sentencepiece": {"model": "unigram"}, "wordpiece": {"model": "wordpiece"},
        "codes": {"alphabet": "chars", "end_of_word": "</w>"},
    }  # fmt: skip
    tok = trained(special_tokens=[], **models.get(name, {}))
    if name == "tekken":
        tok = bbpe.Tokenizer(make_spec({byte: bytes([byte]) for byte in range(256)}, [], pattern=get_pattern("tekken")))
    path = tmp_path / ("x" if formats.FORMATS[name].names[0][1:] else "x.bin" if name != "wordpiece" else "x.txt")
    row, lost = formats.FORMATS[name], []

    def faulty(self: object, spec: Any, target: Path) -> dict[Path, bytes]:
        files: dict[Path, bytes] = row.module.written(spec, target)
        lost.append(1)
        return {file: data[: len(data) * 2 // 3] for file, data in files.items()}

    path.mkdir() if row.names[0][1:] else path.write_bytes(b"old")
    monkeypatch.setattr(formats.FormatRow, "written", faulty)
    with pytest.raises(VocabularyError, match="cannot hold this tokenizer") as caught:
        tok.save(path, format=name)
    assert lost
    assert path.name in str(caught.value)
    assert not list(path.iterdir()) if path.is_dir() else path.read_bytes() == b"old"


def test_a_probe_is_compared(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    tok = trained()
    found = iter([[1], [2]])
    monkeypatch.setattr(saving, "_probed", lambda *_: next(found))
    with pytest.raises(VocabularyError, match="special tokens would encode or decode differently"):
        tok.save(tmp_path / "t.json")
    assert nothing_in(tmp_path)


def test_the_probe_holds_all_bytes_and_tokens() -> None:
    tok = trained(vocab_size=256 + len(SPECIALS))
    ids = {token_id for part in saving._probed(tok) if isinstance(part, list) for token_id in part}
    assert ids == set(range(256 + len(SPECIALS)))


@pytest.mark.parametrize("name", ["chat_template.jinja", "tokenizer_config.json", "generation_config.json"])
def test_links_out_of_the_folder_are_not_followed(name: str, tmp_path: Path) -> None:
    model, secret = tmp_path / "model", tmp_path / "secret"
    trained().save(model)
    secret.write_text("a private key")
    (model / name).unlink(missing_ok=True)
    link((model / name), secret)
    with pytest.raises(VocabularyError, match=rf"{name}: the file is a link to .*secret, out of its folder"):
        bbpe.load(model)
    (model / name).unlink()
    (model / "real").write_text("a template")
    link((model / name), "real")
    bbpe.load(model).save(tmp_path / "out")
    assert (tmp_path / "out" / name).read_text() == "a template"


def test_the_cache_of_huggingface_hub_has_links(tmp_path: Path) -> None:
    blobs, snapshot = tmp_path / "repo" / "blobs", tmp_path / "repo" / "snapshots" / "abc"
    blobs.mkdir(parents=True)
    trained().save(snapshot)
    (snapshot / "tokenizer.json").rename(blobs / "1")
    link((snapshot / "tokenizer.json"), "../../blobs/1")
    (blobs / "2").write_text("a template")
    link((snapshot / "chat_template.jinja"), "../../blobs/2")
    bbpe.load(snapshot).save(tmp_path / "out")
    assert (tmp_path / "out" / "chat_template.jinja").read_text() == "a template"


# -- before training begins ----------------------------------------------------------------------------------

Options = dict[str, Any]


@pytest.mark.parametrize(
    ("options", "token"),
    [
        ({}, "a"),
        ({}, "\u0120"),
        ({}, "\u0120the"),
        ({}, "\ud800"),
        ({"alphabet": "chars", "end_of_word": "</w>"}, "a"),
        ({"alphabet": "chars", "end_of_word": "</w>"}, "a</w>"),
        ({"model": "unigram"}, "\u2581"),
        ({"model": "unigram"}, "<0x0A>"),
        ({"model": "unigram"}, "<unk>"),
        ({"model": "wordpiece"}, "\ud800"),
    ],
)
def test_special_tokens_that_no_file_holds(options: Options, token: str) -> None:
    def corpus() -> Any:
        raise AssertionError("the corpus was read")
        yield

    with pytest.raises(ValueError, match="special_tokens") as caught:
        bbpe.train_from_iterator(corpus(), 400, **train_options(special_tokens=["<s>", token], **options))
    assert repr(token) in str(caught.value)


@pytest.mark.parametrize(
    ("output", "options"),
    [
        ("x.codes", ()),
        ("x.txt", ()),
        ("x.model", ()),
        ("tekken.json", ()),
        ("x.tiktoken", ("--special-token", "<s>")),
        ("x", ("--format", "gpt2", "--pattern", "cl100k")),
        ("x.model", ("--model", "wordpiece")),
        ("x.tiktoken", ("--model", "unigram")),
        ("x.codes", ("--alphabet", "chars", "--end-of-word", "</w>", "--lowercase")),
        ("x.json", ("--special-token", "a")),
        ("x.json", ("--model", "unigram", "--character-coverage", "2")),
    ],
)
@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="no pipes with names here")
def test_an_output_that_cannot_be_is_refused_before_the_corpus_is_read(
    output: str, options: tuple[str, ...], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    corpus = tmp_path / "corpus.txt"
    os.mkfifo(corpus)  # whoever reads it waits for ever
    # an option that no output could have is wrong usage
    size, status = ("--vocab-size", "400"), 2 if output == "x.json" else 1
    assert main(["train", str(corpus), *size, "-o", str(tmp_path / output), "--quiet", *options]) == status
    error = capsys.readouterr().err
    assert error.startswith("bbpe: error: ")
    assert error.count("\n") == status
    assert [entry.name for entry in tmp_path.iterdir()] == ["corpus.txt"]


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="no pipes with names here")
@pytest.mark.parametrize("command", ["extend", "prune"])
def test_extend_and_prune_are_refused_too(
    command: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    trained().save(tmp_path / "t.json")
    corpus = tmp_path / "corpus.txt"
    os.mkfifo(corpus)
    texts = {"extend": [str(corpus)], "prune": ["--used-in", str(corpus)]}
    output = str(tmp_path / "x.tiktoken")
    assert main([command, *texts[command], "-t", str(tmp_path / "t.json"), "-o", output]) == 1
    assert "special tokens ('<s>'" in capsys.readouterr().err
    assert not Path(output).exists()


def test_the_command_line_drops_what_it_is_told_to(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "a.txt").write_text("low lower lowest " * 20)
    output = tmp_path / "x.tiktoken"
    arguments = ["train", str(tmp_path / "a.txt"), "--vocab-size", "260", "-o", str(output), "--quiet"]
    arguments += ["--special-token", "<s>", "--json"]
    assert main([*arguments, "--drop", "special_tokens"]) == 0
    assert bbpe.load(output, pattern="gpt2").special_tokens == {}
    capsys.readouterr()


def test_training_into_every_format(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """What the check before training lets pass can be saved after it."""
    pytest.importorskip("gguf")
    (tmp_path / "a.txt").write_text("\n".join(TEXTS))
    load: Callable[..., bbpe.Tokenizer] = bbpe.load
    for output, options in (
        ("a.json", ()), ("a", ()), ("a.tiktoken", ()), ("a.gguf", ()), ("b", ("--format", "gpt2")),
        ("c.json", ("--model", "wordpiece")), ("c.txt", ("--model", "wordpiece", "--special-token", "[CLS]")),
        ("d.model", ("--model", "unigram")), ("d.gguf", ("--model", "unigram", "--no-byte-fallback")),
        ("e.codes", ("--alphabet", "chars", "--end-of-word", "</w>")),
    ):  # fmt: skip
        path = tmp_path / output
        arguments = ["train", str(tmp_path / "a.txt"), "--vocab-size", "380", "-o", str(path), "--quiet", *options]
        assert main(arguments) == 0, capsys.readouterr().err
        load(path, pattern="gpt2" if output == "a.tiktoken" else None)
    capsys.readouterr()
