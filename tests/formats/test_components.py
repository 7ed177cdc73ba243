"""Components of a tokenizer.json: each field is saved as it was read, and a missing one has the default of HF."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from compared import compared
from tokenizers import Tokenizer
from vocabularies import added, byte_level, document, keys, merge_lines, write_json

import bbpe

WORDS = {"[UNK]": 0, "see": 1, "##s": 2, "my": 3}
BEHAVIORS = ("Removed", "Isolated", "MergedWithPrevious", "MergedWithNext", "Contiguous")
NORMALIZERS: list[dict[str, Any]] = [
    *({"type": kind} for kind in ("NFC", "NFD", "NFKC", "NFKD", "Lowercase", "StripAccents", "Nmt", "ByteLevel")),
    {"type": "Strip", "strip_left": True, "strip_right": False},
    {"type": "Strip", "strip_left": False, "strip_right": True},
    {"type": "Prepend", "prepend": "x"},
    {"type": "Precompiled", "precompiled_charsmap": ""},
    {"type": "Replace", "pattern": {"String": "a"}, "content": "b"},
    {"type": "Replace", "pattern": {"Regex": "a+"}, "content": "b"},
    *(
        {"type": "BertNormalizer", "clean_text": True, "handle_chinese_chars": True, "strip_accents": True,
         "lowercase": True, name: False}
        for name in ("clean_text", "handle_chinese_chars", "strip_accents", "lowercase")
    ),
]  # fmt: skip
PRE_TOKENIZERS: list[dict[str, Any]] = [
    *({"type": kind} for kind in ("Whitespace", "WhitespaceSplit", "BertPreTokenizer", "UnicodeScripts")),
    *({"type": "Digits", "individual_digits": flag} for flag in (False, True)),
    *({"type": "Punctuation", "behavior": behavior} for behavior in BEHAVIORS),
    {"type": "CharDelimiterSplit", "delimiter": "x"},
    *(
        {"type": "Metaspace", "replacement": mark, "prepend_scheme": scheme, "split": splits}
        for mark, scheme, splits in (("_", "always", False), ("_", "first", True), ("▁", "never", False))
    ),
    {"type": "FixedLength", "length": 7},
    *(
        {"type": "Split", "pattern": {"Regex": "a+"}, "behavior": behavior, "invert": flag}
        for behavior in BEHAVIORS for flag in (False, True)
    ),
]  # fmt: skip
DECODERS: list[dict[str, Any]] = [
    *({"type": kind} for kind in ("ByteFallback", "Fuse")),
    {"type": "WordPiece", "prefix": "#", "cleanup": False},
    {"type": "BPEDecoder", "suffix": "</e>"},
    {"type": "Strip", "content": "x", "start": 2, "stop": 1},
    {"type": "Replace", "pattern": {"String": "a"}, "content": "b"},
    *(
        {"type": "Metaspace", "replacement": mark, "prepend_scheme": scheme, "split": True}
        for mark, scheme in (("_", "first"), ("▁", "never"))
    ),
    {"type": "CTC", "pad_token": "p", "word_delimiter_token": "d", "cleanup": False},
]  # fmt: skip
POST_PROCESSORS: list[dict[str, Any]] = [
    *(
        {"type": "ByteLevel", "add_prefix_space": flag, "trim_offsets": True, "use_regex": True}
        for flag in (False, True)
    ),
    {
        "type": "TemplateProcessing",
        "single": [{"SpecialToken": {"id": "id 64", "type_id": 7}}, {"Sequence": {"id": "A", "type_id": 255}}],
        "pair": [
            {"Sequence": {"id": "B", "type_id": 1}}, {"SpecialToken": {"id": "id 64", "type_id": 2}},
            {"Sequence": {"id": "A", "type_id": 3}},
        ],
        "special_tokens": {"id 64": {"id": "id 64", "ids": [64], "tokens": ["id 64"]}},
    },
]  # fmt: skip
ROWS: list[tuple[str, dict[str, Any]]] = [
    ("truncation", {"direction": "Left", "max_length": 7, "strategy": "OnlyFirst", "stride": 2}),
    ("truncation", {"direction": "Right", "max_length": 7, "strategy": "OnlySecond", "stride": 0}),
    (
        "padding",
        {"strategy": "BatchLongest", "direction": "Left", "pad_to_multiple_of": None, "pad_id": 5, "pad_type_id": 3,
         "pad_token": "x"},
    ),
]  # fmt: skip
PARTS = [
    *(("normalizer", part) for part in NORMALIZERS),
    *(("pre_tokenizer", part) for part in PRE_TOKENIZERS),
    *(("post_processor", part) for part in POST_PROCESSORS),
    *(("decoder", part) for part in DECODERS),
    *ROWS,
]
WORDPIECE: dict[str, Any] = {
    "type": "WordPiece", "unk_token": "[UNK]", "continuing_subword_prefix": "##", "max_input_chars_per_word": 7,
    "vocab": WORDS,
}  # fmt: skip
WORD_LEVEL: dict[str, Any] = {"type": "WordLevel", "vocab": WORDS, "unk_token": "see"}
UNIGRAM: dict[str, Any] = {
    "type": "Unigram", "unk_id": 1, "vocab": [["a", -1.5], ["<u>", 0.0], ["b", -2.25]], "byte_fallback": False,
}  # fmt: skip
BPE: dict[str, Any] = {
    "type": "BPE", "dropout": 0.25, "unk_token": "a", "continuing_subword_prefix": None, "end_of_word_suffix": None,
    "fuse_unk": True, "byte_fallback": False, "ignore_merges": True, "vocab": {"a": 0, "b": 1, "c": 2, "bc": 3},
    "merges": [["b", "c"]],
}  # fmt: skip
MODELS = [
    WORDPIECE, WORD_LEVEL, UNIGRAM, BPE,
    {**UNIGRAM, "vocab": [["<u>", 0.0], ["a", -1.5], ["<0x41>", -2.0]], "byte_fallback": True, "unk_id": 0},
    {**BPE, "ignore_merges": False, "fuse_unk": False, "dropout": 1.0},
    {**BPE, "unk_token": None, "ignore_merges": False, "dropout": None, "end_of_word_suffix": "$",
     "vocab": {"a": 0, "b$": 1, "ab$": 2, "b": 3, "a$": 4}, "merges": [["a", "b$"]]},
    {**BPE, "unk_token": None, "ignore_merges": False, "dropout": None, "continuing_subword_prefix": "#",
     "vocab": {"a": 0, "#b": 1, "ab": 2, "b": 3, "#a": 4}, "merges": [["a", "#b"]]},
]  # fmt: skip


#: Fields that a component has; without the last two `tokenizers` panics.
KEPT = {"type", "vocab", "merges", "precompiled_charsmap", "continuing_subword_prefix"}


def read(path: Path, **changes: Any) -> bbpe.Tokenizer:
    return bbpe.load(write_json(path / "given.json", document(**changes)))


def loaded(path: Path, text: str) -> bbpe.Tokenizer:
    (path / "text.json").write_text(text, "utf-8")
    return bbpe.load(path / "text.json")


def saved(tok: bbpe.Tokenizer, path: Path) -> dict[str, Any]:
    tok.save(path / "saved.json")
    assert bbpe.load(path / "saved.json") == tok
    value: dict[str, Any] = json.loads((path / "saved.json").read_bytes())
    return value


@pytest.mark.parametrize(("name", "part"), PARTS, ids=str)
def test_a_component_is_saved_as_it_was_read(tmp_path: Path, name: str, part: dict[str, Any]) -> None:
    assert saved(read(tmp_path, **{name: part}), tmp_path)[name] == part


@pytest.mark.parametrize("model", MODELS, ids=lambda model: model["type"])
def test_a_model_is_saved_as_it_was_read(tmp_path: Path, model: dict[str, Any]) -> None:
    tok = read(tmp_path, model=model, pre_tokenizer=None, decoder=None)
    if model["type"] == "BPE":
        assert tok.spec.dropout == (model["dropout"] or 0.0)
    assert saved(tok, tmp_path)["model"] == model


@pytest.mark.parametrize("flag", ["single_word", "lstrip", "rstrip", "normalized", "special"])
@pytest.mark.parametrize("is_whole", [False, True])
def test_an_added_token_is_saved_as_it_was_read(tmp_path: Path, flag: str, is_whole: bool) -> None:
    """Each flag alone; the second reader takes rows that lack the field with a default."""
    row: dict[str, Any] = added("<x>", 267, special=False, **({} if flag == "special" else {flag: True}))
    if flag == "special":
        row["special"] = True
    given = row if is_whole or row["normalized"] else {name: of for name, of in row.items() if name != "normalized"}
    tok = read(tmp_path, added_tokens=[given], normalizer={"type": "NFC"})
    assert saved(tok, tmp_path)["added_tokens"] == [row]


def test_added_tokens_are_saved_by_their_ids(tmp_path: Path) -> None:
    rows = [added("<b>", 267, special=False), added("<a>", 268), added("<c>", 269, special=False), added("<d>", 270)]
    assert saved(read(tmp_path, added_tokens=rows), tmp_path)["added_tokens"] == rows


def test_a_component_without_one_field(tmp_path: Path) -> None:
    """As `tokenizers` reads it, if it does; a field without a default is refused by both."""
    given = [
        *PARTS,
        *(("model", {**model, "dropout": None} if "dropout" in model else model) for model in MODELS),
        ("pre_tokenizer", byte_level()),
        ("added_tokens", [added("<x>", 267, normalized=True)]),
    ]
    with compared(at_least=30) as one_more:
        for name, part in given:
            row = part[0] if isinstance(part, list) else part
            for field in sorted(set(row) - KEPT):
                without = {key: value for key, value in row.items() if key != field}
                changes: dict[str, Any] = {name: [without] if isinstance(part, list) else without}
                if name == "model":
                    changes |= {"pre_tokenizer": None, "decoder": None}
                text = json.dumps(document(**changes))
                try:
                    whole = Tokenizer.from_str(text).to_str()
                except Exception:
                    continue
                assert loaded(tmp_path, text) == loaded(tmp_path, whole), (name, row, field)
                one_more()


@pytest.mark.parametrize("older", [False, True])
@pytest.mark.parametrize("name", ["pre_tokenizer", "decoder"])
def test_the_older_field_of_metaspace(tmp_path: Path, name: str, older: bool) -> None:
    """`add_prefix_space` alone is `prepend_scheme` "always" or "never"."""
    part = {"type": "Metaspace", "replacement": "▁", "add_prefix_space": older}
    text = json.dumps(document(**{name: part}))
    found = loaded(tmp_path, text)
    scheme = {"type": "Metaspace", "replacement": "▁", "prepend_scheme": "always" if older else "never", "split": True}
    assert found == loaded(tmp_path, json.dumps(document(**{name: scheme})))
    other = {**scheme, "prepend_scheme": "never" if older else "always"}
    assert found != loaded(tmp_path, json.dumps(document(**{name: other})))


def test_a_list_of_merges_may_have_the_version_of_a_file(tmp_path: Path) -> None:
    listed = document(model__merges=["#version: 0.2", *merge_lines()])
    assert loaded(tmp_path, json.dumps(listed)) == loaded(tmp_path, json.dumps(document()))


def test_padding_of_one_text_is_kept_in_a_field_of_its_own(tmp_path: Path) -> None:
    """A fixed length or a multiple is in `bbpe` of the model, and goes before a `padding` that another tool writes."""
    part = {**dict(ROWS[2][1]), "strategy": {"Fixed": 9}, "pad_to_multiple_of": 4}
    for given in (part, {**part, "strategy": "BatchLongest"}, {**part, "pad_to_multiple_of": None}):
        tok = read(tmp_path, padding=given)
        value = saved(tok, tmp_path)
        assert (value["padding"], value["model"]["bbpe"]) == (None, {"padding": given})
        value["padding"] = ROWS[2][1]
        assert loaded(tmp_path, json.dumps(value)) == tok


def test_the_version_of_unicode_is_in_the_last_component(tmp_path: Path) -> None:
    parts = [{"type": "Digits", "individual_digits": True}, byte_level(use_regex=False)]
    given = {"type": "Sequence", "pretokenizers": parts}
    spec = read(tmp_path, pre_tokenizer=given).spec
    assert spec.pattern.unicode_version is not None
    written = saved(bbpe.Tokenizer(spec), tmp_path)["pre_tokenizer"]["pretokenizers"]
    assert [part.get("unicode_version") for part in written] == [None, spec.pattern.unicode_version]


def test_a_file_of_another_version_is_refused(tmp_path: Path) -> None:
    for version in ("2.0", None):
        with pytest.raises(bbpe.errors.VocabularyError, match=r'version: .* is not supported; expected "1.0"'):
            loaded(tmp_path, json.dumps(document() | {"version": version}))


def test_an_added_token_that_the_quick_reader_refuses_is_named(tmp_path: Path) -> None:
    with pytest.raises(bbpe.errors.VocabularyError, match=r"added_tokens\[1\].id: found -1"):
        loaded(tmp_path, json.dumps(document(added_tokens=[added("<x>", 267), added("<y>", -1)])))


def test_models_of_old_files_have_the_type_of_their_fields(tmp_path: Path) -> None:
    """Without a type and merges: a list is Unigram, both fields of WordPiece make it that, else it is WordLevel."""
    one, prefix, most = {"vocab": WORDS, "unk_token": "[UNK]"}, "continuing_subword_prefix", "max_input_chars_per_word"
    for model, kind in (
        ({**one, prefix: "##", most: 100}, "WordPiece"), (one, "WordLevel"),
        ({name: value for name, value in UNIGRAM.items() if name != "type"}, "Unigram"),
    ):  # fmt: skip
        text = json.dumps(document(model=model, pre_tokenizer={"type": "Whitespace"}, decoder=None))
        hf, tok = Tokenizer.from_str(text), loaded(tmp_path, text)
        assert type(hf.model).__name__ == kind
        assert type(tok.spec.model).__name__ == f"{kind}Model"
        assert tok.encode("sees my a b") == hf.encode("sees my a b").ids
    for field in ({prefix: "##"}, {most: 100}):  # WordLevel there, where these have no effect
        text = json.dumps(document(model={**one, **field}, pre_tokenizer=None, decoder=None))
        assert type(Tokenizer.from_str(text).model).__name__ == "WordLevel"
        with pytest.raises(bbpe.errors.VocabularyError, match=f"model: unknown field {min(field)!r}"):
            loaded(tmp_path, text)
    keyed = document(model={"vocab": keys(), "merges": merge_lines()})
    assert loaded(tmp_path, json.dumps(keyed)) == loaded(tmp_path, json.dumps(document()))
