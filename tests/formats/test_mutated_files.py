"""Files with something changed at random: they load, and work, or the error is ours and names the file."""

from __future__ import annotations

import json
import random
import re
from dataclasses import replace
from pathlib import Path

import pytest
from gguf_files import gguf, piece_vocabulary, vocabulary
from tekken_files import tekken
from vocabularies import added, byte_level, document, keys, merge_lines, sequence, split, vocab_of

from bbpe import formats
from bbpe.errors import BBPEError
from bbpe.formats.common.given import rank_text
from bbpe.spec.spec import TextRules
from bbpe.tokenizer import Tokenizer

SPLITS = sequence(split(r"\p{N}{1,3}|'s"), byte_level())
FILES: dict[str, bytes] = {
    "tokenizer.json": json.dumps(document(added_tokens=[added("<s>", 267)], pre_tokenizer=SPLITS)).encode(),
    "x.tiktoken": rank_text(vocab_of()),
    "tekken.json": json.dumps(tekken()).encode(),
    "x.gguf": gguf(vocabulary()),
    "pieces.gguf": gguf(piece_vocabulary()),
    "unigram.gguf": gguf(piece_vocabulary("t5", add_space_prefix=True, remove_extra_whitespaces=True)),
    "vocab.json": json.dumps({**keys(), "<|a|>": 300}).encode(),
    "vocab.txt": "".join(f"{key} {token_id}\n" for key, token_id in keys().items()).encode(),
}
MERGES_TXT = "".join(f"{line}\n" for line in ["#version: 0.2", *merge_lines()]).encode()
SCRAPS = [b"null", b"-1", b"1e400", b"[]", b"{}", b'""', b"true", b'"\\ud800"', b"\xff", b"\x00", b"9" * 20, b"3.5"]
SCRAPS += [b" ", b"\n", b'"', b",", b"}", b'{"a":', b"=", b"\r"]
VALUE = re.compile(rb'(?<=[:,\[ ])("[^"]*"|\d+|null|true|false)')


def mutated(rng: random.Random, data: bytes) -> bytes:
    """A scrap put in, a bit flipped, the end cut off, a stretch twice or left out, values of JSON exchanged."""
    kind, at = rng.randrange(8), rng.randrange(len(data))
    if kind == 0:
        return data[:at] + rng.choice(SCRAPS) + data[at + rng.randint(0, 8) :]
    if kind == 1:
        return data[:at] + bytes([data[at] ^ (1 << rng.randrange(8))]) + data[at + 1 :]
    if kind == 2:
        return data[:at]
    if kind == 3:
        start = rng.randrange(len(data))
        return data[:at] + data[start : start + rng.randint(1, 60)] + data[at:]
    if kind == 4:
        return data[:at] + data[at + rng.randint(1, 40) :]
    values = [*VALUE.finditer(data)]
    if len(values) < 2:
        return data
    first, second = sorted(rng.sample(values, k=2), key=lambda value: value.start())
    if kind == 5:
        return data[: first.start()] + rng.choice(SCRAPS) + data[first.end() :]
    between = data[first.end() : second.start()]
    return data[: first.start()] + second[0] + between + first[0] + data[second.end() :]


def written(path: Path, data: bytes) -> None:
    """A new file each time: some file systems wait for the disk where an old one is written over."""
    path.unlink(missing_ok=True)
    path.write_bytes(data)


def same_as_sentencepiece(tok: Tokenizer, path: Path) -> None:
    """The ids are SentencePiece's, of a model of the same pieces; only ids with holes are none."""
    sentencepiece = pytest.importorskip("sentencepiece")
    pytest.importorskip("google.protobuf")
    ids = {*tok.spec.vocab, *tok.special_tokens.values(), *tok.added_tokens.values()}
    assert tok.spec.characters is not None
    if len(ids.union(tok.spec.characters.byte_ids)) < tok.vocab_size:
        return
    path.unlink(missing_ok=True)
    formats.dump(tok.spec, path)
    peer = sentencepiece.SentencePieceProcessor(model_file=str(path))
    for text in ("the thing 12's", "a  中 in\n"):
        assert tok.encode(text) == peer.encode(text)


@pytest.mark.parametrize("count", [45, pytest.param(2_000, marks=pytest.mark.full)])
@pytest.mark.parametrize("name", FILES)
def test_mutated_files(name: str, count: int, tmp_path: Path) -> None:
    rng = random.Random(name)
    tokenizers = pytest.importorskip("tokenizers")
    needs_pattern = name in ("x.tiktoken", "vocab.json", "vocab.txt")
    path, loaded = tmp_path / name, 0
    messages: list[str] = []
    for number in range(count):
        data, merges = FILES[name], MERGES_TXT
        if name.startswith("vocab") and number % 2:
            merges = mutated(rng, merges)
        else:
            data = mutated(rng, data)
        written(path, data)
        if name.startswith("vocab"):
            written(tmp_path / "merges.txt", merges)
        try:
            tok = Tokenizer(formats.load(path, pattern="gpt2" if needs_pattern else None))
        except BBPEError as error:
            messages.append(str(error))
            continue
        loaded += 1
        if tok.spec.rules == TextRules() or name == "x.gguf":
            for text in (b"the thing 12's", b"\xff\xe4\xb8\xad"):
                # without a token for each byte a text may lose some
                is_whole = tok.spec.characters is None and not tok.spec.pattern.drops_gaps
                assert tok.decode_bytes(tok.encode(text)) == text or not is_whole
        elif name.endswith(".gguf"):
            # user-defined tokens are found otherwise there, and `test_llama_cpp.py` compares them
            tok = Tokenizer(replace(tok.spec, added_tokens={}))
            same_as_sentencepiece(tok, tmp_path / "x.model")
        else:
            # what changes a text does so as it does for those who made the format
            peer = tokenizers.Tokenizer.from_file(str(path))
            for text in ("the thing 12's", "a  中 <s>\n"):
                ids = tok.encode(text, allowed_special="all")
                assert ids == peer.encode(text, add_special_tokens=False).ids, (data, text)
                assert tok.decode(ids) == peer.decode(ids, skip_special_tokens=False), (data, text)
    assert 0 < loaded < count
    assert [message for message in messages if str(tmp_path) not in message] == []
