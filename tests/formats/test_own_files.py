"""Classes of Python that read files of their own: ByT5, Perceiver, ESM and Wav2Vec2.

Expected ids and texts are those of `AutoTokenizer` of transformers 5.24, and of `tokenizers` 0.23 for saved files.
"""

from __future__ import annotations

import itertools
import json
import os
import random
import warnings
from pathlib import Path
from typing import Any

import pytest

import bbpe
from bbpe.cli import main
from bbpe.errors import VocabularyError, VocabularyWarning
from bbpe.formats.transformers.names import OWN

RESIDUES = "<cls> <pad> <eos> <unk> L A G V S E R T I D P K Q N F Y M H W C X B U Z O . - <null_1> <mask>".split()
UPPER = ["<pad>", "<s>", "</s>", "<unk>", "|", *"ETAONIHSRDLUMWCFGYPBVK'XJQZ"]
LETTERS = {char: place for place, char in enumerate(UPPER)}
LOWER = {char: place for place, char in enumerate([*"abcdefghijklmnopqrstuvwxyz'", "|", "[UNK]", "[PAD]"])}
USES = {"eos": "/s", "unk": "unk", "pad": "pad"}
MARKS = {"unk_token": "[UNK]", "pad_token": "[PAD]", "word_delimiter_token": "|", "bos_token": "<s>"}
TABLE = {"29": "[PAD]", "30": "<s>", "31": "</s>"}


def row(text: str, **changes: Any) -> dict[str, Any]:
    flags = {"lstrip": False, "rstrip": False, "single_word": False, "normalized": False, "special": True}
    return {"content": text, **flags, **changes}


def named(name: str, **fields: Any) -> dict[str, Any]:
    return {"tokenizer_config.json": {"tokenizer_class": f"{name}Tokenizer", **fields}}


FOLDERS: dict[str, dict[str, Any]] = {
    "byt5": named("ByT5"),
    "byt5 by its model": {"config.json": {"model_type": "t5", "tokenizer_class": "ByT5Tokenizer"}},
    "byt5 with tokens": named(
        "ByT5", extra_ids=2,
        **{f"{use}_token": {"__type": "AddedToken", **row(f"<{text}>")} for use, text in USES.items()},
        additional_special_tokens=["<extra_id_0>", "<extra_id_1>"],
    ),
    "byt5 without spans": named("ByT5", extra_ids=0, additional_special_tokens=["<q>"]),
    "perceiver": {"config.json": {"model_type": "perceiver"}},
    "esm": {**named("Esm"), "vocab.txt": "\n".join(RESIDUES)},
    "esm with a table": {
        "config.json": {"model_type": "esm"}, "vocab.txt": "\r\n".join([*RESIDUES, "GV "]) + "\n",
        "tokenizer_config.json": {
            "added_tokens_decoder": {"0": row("<cls>"), "1": row("<pad>"), "33": row("GV", special=False)}
        },
    },
    "wav2vec2": {"config.json": {"model_type": "wav2vec2"}, "vocab.json": LETTERS},
    "wav2vec2 with a table": {
        **named("Wav2Vec2CTC", **MARKS, added_tokens_decoder={key: row(text) for key, text in TABLE.items()}),
        "vocab.json": LOWER,
    },
    "wav2vec2 without a mark": {
        **named("Wav2Vec2CTC"), "vocab.json": {"<pad>": 0, "<unk>": 1, "a": 2, "b": 3, "ab": 4},
    },
    "mgpstr": {"config.json": {"model_type": "mgp-str"}, "vocab.json": {"[GO]": 0, "[s]": 1, "a": 2, "b": 3, " ": 4}},
    "languages": {**named("Wav2Vec2CTC", target_lang="eng"), "vocab.json": {"eng": LETTERS, "fra": LOWER}},
}  # fmt: skip
TEXTS = [
    "", "a", "see my dogs", "  See  the\tTHE ", "\u00e9 \u6771\U0001f917", "<pad> x <unk>y",
    "<extra_id_0>the<extra_id_124>",
    "MKTAYIAKQRQISFVKSHFSRQLEERLGLIEVQ", "M K T  A", "MKTxAYb", "<cls>MKT<eos>", "<mask>MK<mask> <pad>X", "HELLO WORLD",
    "HELLO|WORLD", "ab ab aab", "[CLS]a[SEP]", "[UNK] a [PAD]b", "a\nb\r\nc", "<q> x<q>y <Q>",
    "L\u3000A\u00a0G", "<null_1>L",
    "<null_", "..--", "|a| |b||", "</s>x </s> y", "x\x1cMK", "\x00\x01\x02",
]  # fmt: skip


def write(folder: Path, files: dict[str, Any]) -> Path:
    folder.mkdir(exist_ok=True)
    for name, value in files.items():
        (folder / name).write_bytes((value if isinstance(value, str) else json.dumps(value)).encode())
    return folder


def loaded(path: Path) -> bbpe.Tokenizer:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", VocabularyWarning)
        return bbpe.load(path, cache=False)


def ids_of(tok: bbpe.Tokenizer, *texts: str) -> list[int]:
    return list(tok.encode(*texts, allowed_special="all", add_special_tokens=True))


@pytest.mark.parametrize(
    ("name", "text", "ids", "decoded"),
    [
        ("byt5", "a\u00e9<extra_id_1> </s> x", [100, 198, 172, 260, 1, 123, 1], "a\u00e9<extra_id_1></s>x</s>"),
        ("byt5 with tokens", "a </s> x", [100, 35, 1, 35, 123, 1], "a </s> x</s>"),
        ("byt5 without spans", "<q>a<extra_id_0>"[:4], [259, 100, 1], "<q>a</s>"),
        ("perceiver", "a\u00e9[MASK]", [4, 103, 201, 175, 3, 5], "[CLS]a\u00e9[MASK][SEP]"),
        ("esm", "MKx L <mask>", [0, 20, 15, 3, 4, 32, 2], "<cls> M K <unk> L <mask> <eos>"),
        ("esm", "xy\x1cz", [0, 3, 3, 2], "<cls> <unk> <unk> <eos>"),
        ("esm with a table", "AGVG", [0, 5, 33, 6, 2], "<cls> A GV G <eos>"),
        ("wav2vec2", "HELLO x <pad> W", [11, 5, 15, 15, 8, 4, 3, 0, 18], "HELO <unk>W"),
        ("wav2vec2 with a table", "ab b<s> |", [0, 1, 27, 1, 30, 27, 27], "ab b<s>"),
        ("wav2vec2 without a mark", "ab a", [4, 2], "aba"),
        ("mgpstr", "ab \u00e9<[s]", [2, 3, 4, 0, 0, 1], "a b   [GO] [GO] [s]"),
        ("languages", "A B", [7, 4, 24], "A B"),
    ],
)
def test_ids_and_texts(tmp_path: Path, name: str, text: str, ids: list[int], decoded: str) -> None:
    tok = loaded(write(tmp_path, FOLDERS[name]))
    assert ids_of(tok, text) == ids
    assert tok.decode(ids) == decoded


def test_repeated_ids_are_one(tmp_path: Path) -> None:
    """The padding between equal characters keeps them apart, unless special tokens are skipped."""
    tok = loaded(write(tmp_path, FOLDERS["wav2vec2"]))
    ids = [11, 11, 0, 5, 15, 0, 15, 8, 4, 4, 8, 4]
    assert tok.decode(ids) == "HELLO O"
    assert tok.decode(ids, skip_special_tokens=True) == "HELO O"


def test_a_note(tmp_path: Path) -> None:
    """ByT5 of `transformers` looks whether a text ends with its EOS."""
    with pytest.warns(VocabularyWarning, match="adds no '</s>' to a text that ends with one; bbpe does"):
        bbpe.load(write(tmp_path, FOLDERS["byt5"]))


def test_bytes_that_are_no_text(tmp_path: Path) -> None:
    tok = loaded(write(tmp_path, FOLDERS["byt5"]))
    assert tok.decode([198, 100], errors="ignore") == "a"  # as ByT5
    assert loaded(write(tmp_path / "p", FOLDERS["perceiver"])).decode([201, 103]) == "\ufffda"


def test_blanks_of_python_beside_a_token(tmp_path: Path) -> None:
    """A difference that docs/formats.md lists: ByT5 drops U+001C there, as `str.strip` does."""
    tok = loaded(write(tmp_path, FOLDERS["byt5"]))
    assert ids_of(tok, "a\x1c</s> b")[:4] == [100, 31, 1, 101]


@pytest.mark.parametrize("name", FOLDERS)
def test_a_saved_tokenizer_json(tmp_path: Path, name: str) -> None:
    tokenizers = pytest.importorskip("tokenizers")
    tok = loaded(write(tmp_path / "a", FOLDERS[name]))
    tok.save(tmp_path / "b")
    theirs = tokenizers.Tokenizer.from_file(str(tmp_path / "b" / "tokenizer.json"))
    for again in (loaded(tmp_path / "b"), loaded(tmp_path / "b" / "tokenizer.json")):
        assert [ids_of(again, text) for text in TEXTS] == [ids_of(tok, text) for text in TEXTS]
    for text in TEXTS:
        ids = ids_of(tok, text)
        assert theirs.encode(text).ids == ids
        for skips in (False, True):
            assert theirs.decode(ids, skip_special_tokens=skips) == tok.decode(ids, skip_special_tokens=skips)


def test_a_tokenizer_json_beside_them_is_not_read(tmp_path: Path) -> None:
    other = {"version": "1.0", "model": {"type": "WordLevel", "vocab": {"a": 0}, "unk_token": "a"}}
    for name in ("esm", "wav2vec2", "perceiver"):
        folder = write(tmp_path / name, FOLDERS[name])
        alone = loaded(folder)
        write(folder, {"tokenizer.json": other})
        assert loaded(folder) == alone
        assert list(loaded(folder / "tokenizer.json").encode("a")) == [0]


@pytest.mark.parametrize(
    ("name", "files", "text", "ids", "decoded"),
    [
        # the ids of files count; a table replaces all other files, and makes no token special
        ("esm", {"added_tokens.json": {"<q>": 40}}, "L<q>A", [0, 4, 40, 5, 2], "L <q> A"),
        ("esm", {"tokenizer.json": {"added_tokens": [{"id": 40, **row("<q>")}]}}, "L<q>", [0, 4, 40, 2], "L <q>"),
        ("esm with a table", {"added_tokens.json": {"<q>": 40}}, "<q>", [0, 3, 2], ""),
        ("esm", named("Esm", added_tokens_decoder={"40": row("<q>", lstrip=True)}), "L <q>", [0, 4, 40, 2], "L <q>"),
        # options count in such a table only, and normal forms never
        ("byt5", named("ByT5", bos_token={"__type": "AddedToken", **row("<q>", lstrip=True)}), "a <q>",
         [100, 35, 259, 1], "a "),
        ("byt5", named("ByT5", extra_ids=0, added_tokens_decoder={"300": row("<q>", lstrip=True, normalized=True)}),
         "a <q>", [100, 300, 1], "a<q>"),
        ("wav2vec2", named("Wav2Vec2CTC", added_tokens_decoder={"40": row("<q>", rstrip=True, normalized=True)}),
         "A<q> B", [7, 40, 24], "A<q>B"),
    ],
)  # fmt: skip
def test_tokens_of_the_files(
    tmp_path: Path, name: str, files: dict[str, Any], text: str, ids: list[int], decoded: str
) -> None:
    tok = loaded(write(tmp_path, {**FOLDERS[name], **files}))
    assert ids_of(tok, text) == ids
    assert tok.decode(ids, skip_special_tokens=True) == decoded


@pytest.mark.parametrize(
    ("files", "problem"),
    [
        (named("Esm"), "tokenizer_class: the class 'EsmTokenizer' reads vocab.txt; expected such"),
        ({**named("Esm"), "vocab.txt": "L\nA\nL\n"}, "vocab.txt: the token 'L' is listed twice"),
        ({**named("Wav2Vec2CTC", do_lower_case=True), "vocab.json": LETTERS}, "do_lower_case: true makes upper case"),
        ({**named("Wav2Vec2CTC"), "vocab.json": {"<unk>": 0, "\n": 1}}, "decoding the token '\\n' gives blanks"),
        ({**named("Wav2Vec2CTC", replace_word_delimiter_char="_"), "vocab.json": LETTERS}, "delimiter_char: another"),
        ({**named("Wav2Vec2CTC", target_lang="deu"), "vocab.json": {"eng": LETTERS}}, "target_lang: found 'deu'"),
        ({**named("Wav2Vec2CTC"), "vocab.json": [1]}, "vocab.json: found [1]; expected an object of tokens and ids"),
        ({**named("Wav2Vec2CTC"), "vocab.json": {"a": 0, "b": 0}}, "vocab.json: tokens 'a' and 'b' have the same id 0"),
        (named("ByT5", added_tokens_decoder={"100": row("<x>")}), "the token '<x>' would have the id 100, but 'a'"),
        (named("ByT5", eos_token="<pad>"), "two special tokens have one text"),
        (named("ByT5", pad_token=None), "pad_token: found null; expected the text of a token"),
        ({**named("Wav2Vec2CTC"), "vocab.json": {"a": 0}}, "unk_token: vocab.json has no token '<unk>'; expected"),
        (named("ByT5", added_tokens_decoder={"300": row("<x>"), "301": row("<x>")}), "'<x>' has two ids; expected"),
        ({**named("ByT5"), "added_tokens.json": {"<x>": 300, "<y>": 300}}, "added_tokens.json: <y>: '<x>' has the id"),
        (named("ByT5", added_tokens_decoder={"300": row("<x>", single_word=True)}), "'<x>' has single_word, which is"),
        ({**named("ByT5"), "tokenizer.json": {"added_tokens": 7}}, "tokenizer.json: added_tokens: found 7"),
        (named("Canine"), "the class 'CanineTokenizer' is not supported: it has an id for each of 1,114,112"),
        (named("Dia"), "the class 'DiaTokenizer' is not supported: it gives the bytes 0, 1 and 2"),
        ({"config.json": {"model_type": "myt5", "tokenizer_class": "MyT5Tokenizer"}}, "supported: it rewrites bytes"),
    ],
)  # fmt: skip
def test_refusals(tmp_path: Path, files: dict[str, Any], problem: str) -> None:
    with pytest.raises(VocabularyError) as caught:
        bbpe.load(write(tmp_path, files))
    assert problem in str(caught.value)


@pytest.mark.parametrize(("name", "file"), [("esm", "vocab.txt"), ("wav2vec2", "vocab.json")])
def test_a_file_of_such_a_folder(tmp_path: Path, name: str, file: str) -> None:
    """Its rules are those of the class, so the folder is to be named."""
    with pytest.raises(VocabularyError, match="reads files of its own; expected the path of the folder"):
        bbpe.load(write(tmp_path, FOLDERS[name]) / file)


def test_inspect_names_the_class(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["inspect", str(write(tmp_path, FOLDERS["esm"]))]) == 0
    shown = capsys.readouterr().out
    assert "kind             files of a class" in shown
    assert "class            EsmTokenizer" in shown


def test_every_class_has_a_folder() -> None:
    found = {name.split()[0] for name in FOLDERS} - {"languages"}
    assert found == {"byt5", "perceiver", "esm", "wav2vec2", "mgpstr"}
    assert len(OWN) == len(found) + 3  # others are in test_words_of_symbols.py


@pytest.mark.full
@pytest.mark.parametrize("name", FOLDERS)
def test_as_auto_tokenizer(tmp_path: Path, name: str) -> None:
    """Ids of 400 texts and of pairs, and decoded texts of ids in any order; saved by `transformers` too."""
    os.environ.setdefault("HF_HUB_OFFLINE", "1")
    transformers = pytest.importorskip("transformers")
    chosen, is_byt5 = random.Random(name), name.startswith("byt5")
    parts = [*"abAELGH\u00e9\u6771'.-x| ", "  ", "\t", "GV", *RESIDUES[:4], "<mask>", "<extra_id_1>", "[PAD]", "<s>"]
    texts = [*TEXTS, *("".join(chosen.choices(parts, k=chosen.randint(1, 12))) for _ in range(400))]
    folder = write(tmp_path / "a", FOLDERS[name])
    theirs = transformers.AutoTokenizer.from_pretrained(folder)
    theirs.save_pretrained(tmp_path / "b")
    for tok in (loaded(folder), loaded(tmp_path / "b")):
        assert len(theirs) == tok.vocab_size
        for text, other in itertools.pairwise(texts):
            ids = theirs.encode(text)
            assert list(tok.encode(text, allowed_special="all")) == theirs.encode(text, add_special_tokens=False)
            assert ids_of(tok, text) == ids
            if tok.spec.template is not None:
                assert ids_of(tok, text, other) == theirs.encode(text, other)
            for row_of_ids in (ids, chosen.choices([*ids, 0], k=9)):
                for skips in (False, True):
                    found = tok.decode(
                        row_of_ids, skip_special_tokens=skips, errors="ignore" if is_byt5 else "replace"
                    )
                    assert found == theirs.decode(row_of_ids, skip_special_tokens=skips)
