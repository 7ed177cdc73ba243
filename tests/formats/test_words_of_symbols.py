"""PhoBERT, BERTweet and CTRL: merges of words whose symbols need not be tokens.

Expected ids and texts are those of `AutoTokenizer` of transformers 5.24.
"""

from __future__ import annotations

import itertools
import json
import os
import pickle
import random
import re
from pathlib import Path
from typing import Any

import pytest

import bbpe
from bbpe.errors import VocabularyError
from bbpe.reference import symbol_ids

MERGES = (
    "a b|ab a|l o|lo w</w>|lo w|e r</w>|n e|ne w|e s|es t</w>|low er</w>|\u0111 i</w>|@ @|@@ @|d o|do g|dog s</w>|"
    "t h|th e</w>|a a|aa a</w>|h o|ho a"
).split("|")
PIECES = (
    "low lo@@ low@@ er new@@ est lower \u0111i hoa@@ dogs the ab@@ a a@@ aa@@ b @@@ @@ e s@@ x \u00e9 i@@ t t@@ "
    "\U0001f917@@ o"
).split()
ALPHABET = [*"abdehlorstwx\u00e9\u0111 @i\n\t\u00a0\x1c\U0001f917", "  ", "\r\n", "see", "low", "est"]
ENDS = ["<s>", "</s>", "<unk>", "<mask>", "<pad>", "dogs"]
TEXTS = [
    "", " ", "low", "lower newest\nlow\n", "a\nb", "  the  dogs", "\u0111i hoa", "ababa aaa aaaa", "@@ @ @@@ a@@",
    "\n\n", "<s>low</s> <mask>x <unk>", "\U0001f917 \U0001f917x", "x\u00a0low\x1cer", "</w> low</w>", "xyz q",
]  # fmt: skip
CTRL = ["<unk>", *PIECES, "\n", " ", "Links"]


def row(text: str, **changes: Any) -> dict[str, Any]:
    flags = {"lstrip": False, "rstrip": False, "single_word": False, "normalized": False, "special": True}
    return {"content": text, **flags, **changes}


def write(folder: Path, kind: str, **config: Any) -> Path:
    folder.mkdir(exist_ok=True)
    (folder / "tokenizer_config.json").write_text(json.dumps({"tokenizer_class": f"{kind}Tokenizer", **config}))
    if kind == "CTRL":
        (folder / "vocab.json").write_text(json.dumps({key: number for number, key in enumerate(CTRL)}), "utf-8")
        (folder / "merges.txt").write_text("\n".join(["#version: 0.2", *MERGES, ""]), "utf-8")
    else:
        (folder / "vocab.txt").write_text("".join(f"{key} 7\n" for key in PIECES), "utf-8")
        (folder / "bpe.codes").write_text("".join(f"{pair} 9\n" for pair in MERGES), "utf-8")
    return folder


TABLE = {
    "0": row("<s>"), "1": row("<pad>"), "2": row("</s>"), "3": row("<unk>"),
    str(len(PIECES) + 4): row("<mask>", lstrip=True), "13": row("dogs", special=False),
}  # fmt: skip
FOLDERS: dict[str, tuple[str, dict[str, Any]]] = {
    "phobert": ("Phobert", {}),
    "phobert with a table": ("Phobert", {"added_tokens_decoder": TABLE}),
    "bertweet": ("Bertweet", {"normalization": False, "mask_token": "[M]", "additional_special_tokens": ["<q>"]}),
    "ctrl": ("CTRL", {}),
    "ctrl with tokens": ("CTRL", {"pad_token": "<pad>", "additional_special_tokens": ["Links", "</s>"]}),
}


def loaded(path: Path, name: str) -> bbpe.Tokenizer:
    kind, config = FOLDERS[name]
    return bbpe.load(write(path, kind, **config), cache=False)


def ids_of(tok: bbpe.Tokenizer, *texts: str) -> list[int]:
    return list(tok.encode(*texts, allowed_special="all", add_special_tokens=True))


def random_texts(count: int, seed: str) -> list[str]:
    chosen = random.Random(seed)
    return ["".join(chosen.choices([*ALPHABET, *ENDS], k=chosen.randint(1, 14))) for _ in range(count)]


@pytest.mark.parametrize(
    ("name", "text", "ids", "decoded"),
    [
        # no token: hoa@@ within a word is one, "ho" is not, and neither is a line end, which belongs to the word before
        ("phobert", "lower \u0111i hoa low\n", [0, 10, 11, 3, 16, 6, 3, 2], "<s> lower \u0111i <unk> a low<unk> </s>"),
        ("phobert", "<s>est<mask>zest", [0, 0, 9, 31, 3, 9, 2], "<s> <s> est <mask> <unk> est </s>"),
        ("phobert", "ababa @@@ a@@", [0, 15, 15, 16, 3, 3, 17, 20, 3, 2], "<s> ababa <unk> <unk> a@<unk> </s>"),
        ("phobert with a table", "x <mask>dogsa", [0, 24, 31, 13, 16, 2], "<s> x <mask> dogs a </s>"),
        ("bertweet", "the [M]<q> q", [0, 14, 31, 32, 3, 2], "<s> the [M] <q> <unk> </s>"),
        ("ctrl", "low\nlow\x1ce a", [3, 28, 3, 0, 19, 13], "low\n low<unk> e a"),
        ("ctrl with tokens", "</s> LinksLink low\n", [32, 30, 0, 23, 0, 0, 3, 28], "</s> Links <unk> i<unk> <unk> low"),
    ],
)
def test_ids_and_texts(tmp_path: Path, name: str, text: str, ids: list[int], decoded: str) -> None:
    tok = loaded(tmp_path, name)
    assert ids_of(tok, text) == ids
    assert tok.decode(ids) == decoded


@pytest.mark.parametrize("name", ["phobert", "ctrl"])
def test_random_texts(tmp_path: Path, name: str) -> None:
    """The slow definition; a text does not become a special token, and places are those of the characters."""
    tok, is_ctrl = loaded(tmp_path, name), name == "ctrl"
    keys = {key: number for number, key in enumerate(CTRL if is_ctrl else ["<s>", "<pad>", "</s>", "<unk>", *PIECES])}
    merges = [(left, right) for left, right in (pair.split(" ") for pair in MERGES)]
    words = re.compile("\\S+\n?" if not is_ctrl else "(?:\\S|[\x1c-\x1f])+\n?")
    for text in [*TEXTS, *random_texts(200, name)]:
        found = [(each, symbol_ids(each[0], keys, merges, keys["<unk>"])) for each in words.finditer(text)]
        ids, places = tok.encode_with_offsets(text)
        assert ids == tok.encode(text) == list(itertools.chain(*(ids for _, ids in found)))
        spelled = "".join(text[start:end] for start, end in places.tolist())
        assert spelled == "".join(each[0] for each, _ in found)
        numbers = tok.encode_aligned(text).word_ids
        assert numbers == [number for number, (_, ids) in enumerate(found) for _ in ids]


def test_a_special_token_that_merges_make(tmp_path: Path) -> None:
    """Plain text does not become a special token, but an added token that is none stays a piece of words."""
    tok = bbpe.load(write(tmp_path / "a", "Phobert", cls_token="the", additional_special_tokens=["<q>"]), cache=False)
    assert tok.encode("the the") == [3, 3]
    assert tok.encode("the", allowed_special="all") == [14]
    single = row("dogs", special=False, single_word=True)
    with pytest.raises(VocabularyError, match="'dogs' has single_word, which is not supported"):
        bbpe.load(write(tmp_path / "b", "Phobert", added_tokens_decoder={"13": single}), cache=False)


def test_a_tokenizer_goes_on(tmp_path: Path) -> None:
    tok = loaded(tmp_path, "phobert")
    assert pickle.loads(pickle.dumps(tok)) == tok
    assert tok.encode_batch(["lower est", "low"]) == [[10, 9], [4]]
    assert tok.merges == []
    step = tok.trace("hoax").pretokens[0].steps[-1]
    assert (step.made, step.id, step.symbols) == (b"hoa", 12, (b"hoa", b"x</w>"))
    for form in ("tokenizer.json", "folder"):
        with pytest.raises(VocabularyError, match="no format holds the rules of the class of this folder; copy"):
            tok.save(tmp_path / form)
    other = write(tmp_path / "b", "Phobert")
    (other / "bpe.codes").write_text((other / "bpe.codes").read_text("utf-8").replace("h o 9\n", ""), "utf-8")
    assert bbpe.load(other, cache=False).fingerprint != tok.fingerprint


def test_tables(tmp_path: Path) -> None:
    """Finished tables hold the model too."""
    (tmp_path / "tables").mkdir(mode=0o700)
    folder = write(tmp_path / "a", "Phobert")
    with (folder / "vocab.txt").open("a", encoding="utf-8") as file:
        file.writelines(f"w{number} 1\n" for number in range(20_000))
    alone = bbpe.load(folder, cache=False)
    for _ in range(2):
        tok = bbpe.load(folder, cache=tmp_path / "tables")
        assert tok == alone
        assert ids_of(tok, "lower hoax") == ids_of(alone, "lower hoax")
    assert len(list((tmp_path / "tables").iterdir())) == 1


def test_lines(tmp_path: Path) -> None:
    """As Python reads them: codes end with a line end, and the last one of two equal merges counts."""
    folder = write(tmp_path, "Phobert")
    codes = "a h 9\r\n\r\nx\u00a0y z 1\rh o 3\na h 2\nh o\nx y 1"
    (folder / "bpe.codes").write_bytes(codes.encode())
    (folder / "vocab.txt").write_bytes("\u2028x y 1\r\nho@@ 3 \na 1\ra@@ 2\nxy@@ 1".encode())
    tok = bbpe.load(folder, cache=False)
    assert tok.encode("ahox xya") == [7, 5, 3, 3, 3, 6]
    assert tok.id_to_token(4) == b"x y"


def test_the_order_of_merges(tmp_path: Path) -> None:
    """Of `abab` the class makes `ab ab` before it looks for other merges; a merge that never applies does not count."""
    folder = write(tmp_path, "Phobert")
    (folder / "bpe.codes").write_text("ab a 9\na b 8\n", "utf-8")
    with pytest.raises(VocabularyError, match="a merge comes before the one that makes a part of it"):
        bbpe.load(folder, cache=False)
    (folder / "bpe.codes").write_text("zq a 9\na b 8\na b</w> 7\n", "utf-8")
    assert bbpe.load(folder, cache=False).encode("aba") == [15, 16]


@pytest.mark.parametrize(
    ("kind", "config", "file", "content", "problem"),
    [
        ("Bertweet", {"normalization": True}, "", "", "normalization: true rewrites tweets by rules of Python that"),
        ("Phobert", {"bos_token": "</s>"}, "", "", "two of bos_token, pad_token, eos_token and unk_token are one"),
        ("Phobert", {"unk_token": None}, "", "", "unk_token: found null; expected the text of a token"),
        ("Phobert", {}, "vocab.txt", "low 1\nx\n", "vocab.txt: line 2: found 'x'; expected each token once, with a"),
        ("Phobert", {}, "vocab.txt", "low 1\nlow 2\n", "vocab.txt: line 2: the token 'low' is listed twice"),
        ("Bertweet", {}, "bpe.codes", "l o\nlo w</w>\n", "bpe.codes: no line has two symbols and a count"),
        ("CTRL", {}, "merges.txt", "#\na</ w>\n", "merges.txt: the merge 'a</ w>' makes the mark '</w>' of characters"),
        ("CTRL", {"unk_token": "?"}, "", "", "unk_token: vocab.json has no token '?'; expected one for"),
        ("CTRL", {}, "merges.txt", None, "the class 'CTRLTokenizer' reads merges.txt; expected such a file"),
    ],
)  # fmt: skip
def test_refusals(
    tmp_path: Path, kind: str, config: dict[str, Any], file: str, content: str | None, problem: str
) -> None:
    folder = write(tmp_path, kind, **config)
    if content is None:
        (folder / file).unlink()
    elif file:
        (folder / file).write_text(content, "utf-8")
    with pytest.raises(VocabularyError) as caught:
        bbpe.load(folder, cache=False)
    assert problem in str(caught.value)


def test_a_file_of_such_a_folder(tmp_path: Path) -> None:
    """Its rules are those of the class, so the folder is to be named; codes alone are those of fastBPE."""
    for kind, file in (("Phobert", "vocab.txt"), ("CTRL", "vocab.json"), ("CTRL", "merges.txt")):
        with pytest.raises(VocabularyError, match="reads files of its own; expected the path of the folder"):
            bbpe.load(write(tmp_path / kind, kind) / file)
    codes = bbpe.load(tmp_path / "Phobert" / "bpe.codes")
    assert codes.decode(codes.encode("low")) == "low"


@pytest.mark.full
@pytest.mark.parametrize("name", FOLDERS)
def test_as_auto_tokenizer(tmp_path: Path, name: str) -> None:
    """Ids of 600 texts and of pairs, and decoded texts of ids in any order."""
    os.environ.setdefault("HF_HUB_OFFLINE", "1")
    transformers = pytest.importorskip("transformers", minversion="5.24")
    tok, chosen = loaded(tmp_path, name), random.Random(name)
    theirs = transformers.AutoTokenizer.from_pretrained(tmp_path)
    assert len(theirs) == tok.vocab_size
    for text, other in itertools.pairwise([*TEXTS, *random_texts(600, name)]):
        ids = theirs.encode(text)
        assert list(tok.encode(text, allowed_special="all")) == theirs.encode(text, add_special_tokens=False)
        assert ids_of(tok, text) == ids
        assert ids_of(tok, text, other) == theirs.encode(text, other)
        for row_of_ids in (ids, chosen.choices([*ids, 0], k=9), chosen.choices(range(len(theirs)), k=9)):
            for skips in (False, True):
                expected = theirs.decode(row_of_ids, skip_special_tokens=skips)
                assert tok.decode(row_of_ids, skip_special_tokens=skips) == expected
