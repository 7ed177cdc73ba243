"""`vocab.json` and `merges.txt` of words with marks: the ids of `tokenizers`, or an error that names the marks."""

from __future__ import annotations

import json
import random
from pathlib import Path
from typing import Any

import pytest
from strings import adversarial_strings

import bbpe
from bbpe import formats
from bbpe.errors import VocabularyError

tokenizers = pytest.importorskip("tokenizers")
TEXTS = [
    "see my eyes first, see my dogs", "the documents say hello world", "\u00e9t\u00e9 d\u00e9j\u00e0 \u0e14\u0e35",
] * 20  # fmt: skip
REGEX = r"\p{L}+|[^\s\p{L}]"


def trained(folder: Path, prefix: str = "", end: str = "", special: tuple[str, ...] = ("<unk>", "<pad>")) -> Any:
    """The two files of a model with marks, and its tokenizer, which splits words at white space."""
    hf = tokenizers.Tokenizer(tokenizers.models.BPE(unk_token=special[0]))
    hf.pre_tokenizer = tokenizers.pre_tokenizers.WhitespaceSplit()
    marks = {"continuing_subword_prefix": prefix, "end_of_word_suffix": end}
    marks = {name: mark for name, mark in marks.items() if mark}
    trainer = tokenizers.trainers.BpeTrainer(
        vocab_size=120, special_tokens=list(special), show_progress=False, **marks
    )
    hf.train_from_iterator(TEXTS, trainer)
    hf.model.save(str(folder))
    files = (str(folder / "vocab.json"), str(folder / "merges.txt"))
    hf.model = tokenizers.models.BPE.from_file(*files, unk_token=special[0], **marks)
    hf.decoder = tokenizers.decoders.BPEDecoder(end) if end else tokenizers.decoders.WordPiece(prefix, cleanup=False)
    return hf


@pytest.mark.parametrize(("prefix", "end"), [("", "</w>"), ("##", ""), ("##", "</w>")])
@pytest.mark.parametrize("pattern", ["whitespace", REGEX])
def test_ids(tmp_path: Path, prefix: str, end: str, pattern: str) -> None:
    judge = trained(tmp_path, prefix, end)
    if pattern == REGEX:
        split = tokenizers.pre_tokenizers.Split(tokenizers.Regex(REGEX), "removed", invert=True)
        judge.pre_tokenizer = split
    tok, rng = bbpe.load(tmp_path, pattern=pattern), random.Random(1)
    assert tok.special_tokens == {"<unk>": 0, "<pad>": 1}
    alphabet = [*" see my\tdogs\n,hlwr\u00e9\u0e14\u0e35\u6771<>/w#", "see", "</w>", "##"]
    texts = ["".join(rng.choices(alphabet, k=rng.randrange(15))) for _ in range(300)]
    for text in [*TEXTS[:3], *texts, *adversarial_strings(100, seed=3)]:
        assert tok.encode(text) == judge.encode(text).ids, text
        assert tok.count_tokens(text) == len(judge.encode(text).ids)
    for text in TEXTS[:3]:
        ids, places = tok.encode_with_offsets(text)
        assert [*map(tuple, places)] == judge.encode(text).offsets
        assert tok.decode(ids) == "".join(tok.stream_decoder().stream(ids))
        if not (prefix and end):  # there is no decoder for both
            assert tok.decode(ids) == judge.decode(ids, skip_special_tokens=False)
    again = tmp_path / "again"
    tok.save(again)
    assert bbpe.load(again) == tok
    peer = tokenizers.Tokenizer.from_file(str(again / "tokenizer.json"))
    assert [peer.encode(text, add_special_tokens=False).ids for text in TEXTS[:3]] == tok.encode_batch(TEXTS[:3])
    with pytest.raises(VocabularyError, match="holds no normalizer, prefix, options of special tokens or characters"):
        tok.save(tmp_path / "pair", format="gpt2")


@pytest.mark.parametrize(("prefix", "end"), [("", "</w>"), ("##", ""), ("##", "</w>")])
def test_files_that_do_not_say_how_texts_are_split(tmp_path: Path, prefix: str, end: str) -> None:
    trained(tmp_path, prefix, end)
    for path in (tmp_path, tmp_path / "vocab.json", tmp_path / "merges.txt"):
        with pytest.raises(VocabularyError, match=f"marked by .*{prefix or end}.*not bytes.*tokenizer.save.*pattern="):
            bbpe.load(path)
    for pattern in ("gpt2", "none", "cl100k", r"[^,]+"):
        with pytest.raises(VocabularyError, match=f"{prefix or end}.*leaves white space in .*give a pattern of words"):
            bbpe.load(tmp_path, pattern=pattern)


def test_special_tokens(tmp_path: Path) -> None:
    trained(tmp_path, end="</w>", special=("[UNK]", "[PAD]"))
    tok = bbpe.load(tmp_path, pattern="whitespace")
    assert tok.special_tokens == {"[UNK]": 0, "[PAD]": 1}
    assert tok.encode("see\u6771") [-1] == 0
    tok = bbpe.load(tmp_path, pattern="whitespace", special_tokens={"<s>": 500})
    assert tok.special_tokens == {"[UNK]": 0, "<s>": 500}
    keys = json.loads((tmp_path / "vocab.json").read_text("utf-8"))
    del keys["[UNK]"]
    (tmp_path / "vocab.json").write_text(json.dumps(keys))
    with pytest.raises(VocabularyError, match=r"no token is <unk> or \[UNK\]; expected one for unknown characters"):
        bbpe.load(tmp_path, pattern="whitespace")


@pytest.mark.parametrize("text", ["the cat", "\u0e14\u0e35 \u0e14\u0e35"])
def test_pieces_are_refused(tmp_path: Path, text: str) -> None:
    hf = tokenizers.SentencePieceBPETokenizer()
    hf.train_from_iterator([text] * 20, vocab_size=40, show_progress=False)
    hf.save_model(str(tmp_path))
    for pattern in (None, "gpt2", "whitespace"):
        with pytest.raises(VocabularyError, match=r"marked by '\u2581', .*U\+2581.*tokenizer\.save"):
            bbpe.load(tmp_path, pattern=pattern)


def test_a_vocabulary_of_the_other_kind(tmp_path: Path) -> None:
    """`vocab.txt` with ids, and words without a character of ASCII."""
    trained(tmp_path, end="</w>")
    keys = json.loads((tmp_path / "vocab.json").read_text("utf-8"))
    expected = bbpe.load(tmp_path, pattern="whitespace")
    (tmp_path / "vocab.json").unlink()
    (tmp_path / "vocab.txt").write_text("".join(f"{key} {token_id}\n" for key, token_id in keys.items()), "utf-8")
    assert bbpe.load(tmp_path / "vocab.txt", pattern="whitespace") == expected
    (tmp_path / "vocab.txt").unlink()
    few = {"<unk>": 0, "\u0e14": 1, "\u0e35</w>": 2, "\u0e14\u0e35</w>": 3}
    (tmp_path / "vocab.json").write_text(json.dumps(few))
    (tmp_path / "merges.txt").write_text("\u0e14 \u0e35</w>\n", "utf-8")
    assert bbpe.load(tmp_path, pattern="whitespace").encode("\u0e14\u0e35 \u0e14\u0e14 x") == [3, 1, 0, 0]


def test_bytes_that_merge_to_a_mark_are_bytes(tmp_path: Path) -> None:
    """A byte-level vocabulary may have learned the text `a</w>` or `##a`."""
    tok = bbpe.train_from_iterator(["a</w>"] * 9 + ["##a"] * 8, 275, pattern="none", special_tokens=["<|x|>"])
    assert {b"a</w>", b"##a"} <= {*tok.spec.vocab.values()}
    for path, data in formats.written(tok.spec, tmp_path, "gpt2").items():
        path.write_bytes(data)
    assert bbpe.load(tmp_path, pattern="none").encode("a</w>##a") == tok.encode("a</w>##a")


def test_merges_with_counts_are_named(tmp_path: Path) -> None:
    trained(tmp_path, end="</w>")
    (tmp_path / "merges.txt").write_text("e n</w> 40\n")
    with pytest.raises(VocabularyError, match=r"merges\.txt: line 1: found 'e n</w> 40', with a count as in fastBPE's"):
        bbpe.load(tmp_path, pattern="whitespace")


def test_a_token_of_the_mark_of_blanks_alone_makes_no_pieces(tmp_path: Path) -> None:
    """A key U+2581 that no merge has is a special token in files of bytes, and a character in those of words."""
    bbpe.train_from_iterator(TEXTS, 280).save(tmp_path / "bytes", format="gpt2")
    (tmp_path / "bytes/tokenizer_config.json").unlink()  # it would list the special tokens
    (tmp_path / "words").mkdir()
    trained(tmp_path / "words", end="</w>")
    for name, pattern, added in (("bytes", "gpt2", {"\u2581": 280}), ("words", "whitespace", {})):
        path = tmp_path / name / "vocab.json"
        keys, before = json.loads(path.read_bytes()), bbpe.load(tmp_path / name, pattern=pattern)
        path.write_text(json.dumps({**keys, "\u2581": len(keys)}), "utf-8")
        tok = bbpe.load(tmp_path / name, pattern=pattern)
        assert tok.special_tokens == {**before.special_tokens, **added}
        assert tok.encode(TEXTS[0]) == before.encode(TEXTS[0])
