"""Bounds that hold whatever a file or a caller claims: files are read so far and no further, ids are not far apart."""

from __future__ import annotations

import json
import os
import tracemalloc
from collections.abc import Callable
from pathlib import Path
from struct import pack
from typing import Any, BinaryIO

import pytest
from gguf_files import PREFIX, gguf, string, vocabulary
from systems import system_has
from vocabularies import MERGES, added, document, keys, vocab_of, write_pair

import bbpe
from bbpe import files, formats
from bbpe.errors import VocabularyError
from bbpe.files import ReadFile, open_file, read_bytes
from bbpe.formats.common import reading
from bbpe.formats.common.given import rank_text
from bbpe.formats.gguf import metadata
from bbpe.formats.sentencepiece import model_file as sentencepiece
from bbpe.spec.spec import MAX_ID

NAMES = [
    "tokenizer.json",
    "tekken.json",
    "x.tiktoken",
    "x.gguf",
    "tokenizer.model",
    "vocab.txt",
    "x.codes",
    "vocab.json",
    "x",
]
RANKS = {token: token_id for token_id, token in vocab_of().items()}

# -- what is no file ----------------------------------------------------------------------------------------


def refused(path: Path, *named: str) -> None:
    with pytest.raises(VocabularyError) as caught:
        bbpe.load(path, pattern="gpt2")
    assert str(caught.value).startswith(f"{path}: ")
    for part in named:
        assert part in str(caught.value)


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="there are no pipes with a name")
@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("writes", [False, True])
def test_pipes(name: str, writes: bool, tmp_path: Path) -> None:
    path = tmp_path / name
    os.mkfifo(path)
    # both ends, so that nobody waits
    keep = os.open(path, os.O_RDWR) if writes else None
    if keep is not None:
        os.write(keep, rank_text(vocab_of()))
    refused(path, "the file is a pipe or a device; expected a regular file")
    if keep is not None:
        os.close(keep)


@pytest.mark.skipif(not system_has("/dev/zero"), reason="there are no devices")
@pytest.mark.parametrize("name", NAMES)
def test_devices(name: str, tmp_path: Path) -> None:
    path = tmp_path / name
    path.symlink_to("/dev/zero")
    refused(path, "the file is a pipe or a device; expected a regular file")
    refused(Path("/dev/zero"), "the file is a pipe or a device")


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="there are no pipes with a name")
def test_what_lies_beside_and_is_no_file_is_not_read(tmp_path: Path) -> None:
    (tmp_path / "tokenizer.json").write_text(json.dumps(document()))
    os.mkfifo(tmp_path / "tokenizer_config.json")
    (tmp_path / "chat_template.jinja").symlink_to("/dev/zero")
    assert dict(bbpe.load(tmp_path).spec.files) == {}


# -- sizes --------------------------------------------------------------------------------------------------


def sparse(path: Path, head: bytes, size: int = 1 << 40) -> Path:
    path.write_bytes(head)
    try:
        os.truncate(path, size)
    except OSError:
        pytest.skip("no file may be so large here")
    return path


HEADS = {
    "tokenizer.json": b'{"version": "1.0", ',
    "tekken.json": b'{"default_num_special_tokens": 1,',
    "x.tiktoken": b"IQ== 0\n",
    "tokenizer.model": b"\n\x05\n\x03abc\x15",
    "vocab.txt": b"[UNK]\n",
    "x.codes": b"#version: 0.2\na b</w>\n",
    "x.json": b'{"a": 0, ',
}


@pytest.mark.parametrize("name", HEADS)
def test_terabytes_of_nothing(name: str, tmp_path: Path) -> None:
    if name == "tokenizer.model":
        pytest.importorskip("sentencepiece.sentencepiece_model_pb2")
    path = sparse(tmp_path / name, HEADS[name])
    if name == "x.json":
        path = path.rename(tmp_path / "vocab.json")
        (tmp_path / "merges.txt").write_text("")
    refused(path, f"the file has {1 << 40} bytes or more; expected at most ")


def test_terabytes_beside(tmp_path: Path) -> None:
    (tmp_path / "tokenizer.json").write_text(json.dumps(document()))
    sparse(tmp_path / "tokenizer_config.json", b"{")
    with pytest.raises(VocabularyError, match=r"tokenizer_config\.json: the file has 1099511627776 bytes or more"):
        bbpe.load(tmp_path)
    write_pair(tmp_path / "pair")
    sparse(tmp_path / "pair/merges.txt", b"")
    with pytest.raises(VocabularyError, match=r"merges\.txt: the file has 1099511627776 bytes or more"):
        bbpe.load(tmp_path / "pair", pattern="gpt2")


@pytest.mark.skipif(not system_has("/proc/self/maps"), reason="there are no files whose size lies")
def test_files_that_are_longer_than_they_say(monkeypatch: pytest.MonkeyPatch) -> None:
    path = Path("/proc/self/maps")
    assert path.stat().st_size == 0
    assert len(read_bytes(path, most=1 << 24)) > 100
    with pytest.raises(VocabularyError, match="/proc/self/maps: the file has 101 bytes or more; expected at most 100"):
        read_bytes(path, most=100)
    monkeypatch.setattr(reading, "_MOST_BYTES", 100)
    with pytest.raises(VocabularyError, match="the file has 101 bytes or more"):
        reading.read_file(path)


class _Meanwhile:
    """A file whose size is asked for before something happens to it."""

    def __init__(self, file: BinaryIO, happens: Callable[[], object]) -> None:
        self._file, self._happens, self.seek = file, happens, file.seek
        self.read_bytes = 0

    def __enter__(self) -> _Meanwhile:
        return self

    def __exit__(self, *_: object) -> None:
        self._file.close()

    def fileno(self) -> int:
        return self._file.fileno()

    def read(self, count: int) -> bytes:
        self._happens()
        data = self._file.read(count)
        self.read_bytes += len(data)
        return data


def test_files_that_grow_while_they_are_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "x"
    path.write_bytes(b"abc")
    growing = _Meanwhile(open_file(path), lambda: os.truncate(path, 1 << 32))
    monkeypatch.setattr(files, "open_file", lambda _: growing)
    with pytest.raises(VocabularyError, match="the file has 1001 bytes or more; expected at most 1000"):
        read_bytes(path, most=1000)
    assert growing.read_bytes == 1001


def test_reading_asks_for_no_more_memory_than_a_file_has(tmp_path: Path) -> None:
    path = tmp_path / "x"
    path.write_bytes(b"abc" * 1000)
    tracemalloc.start()
    try:
        assert read_bytes(path, most=1 << 30) == b"abc" * 1000
        assert tracemalloc.get_traced_memory()[1] < 1 << 20
    finally:
        tracemalloc.stop()


def test_limits_of_formats(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "x.tiktoken"
    path.write_bytes(rank_text(vocab_of()))
    size = path.stat().st_size
    monkeypatch.setattr(reading, "_MOST_BYTES", size)
    assert bbpe.load(path, pattern="gpt2").vocab_size == 267
    monkeypatch.setattr(reading, "_MOST_BYTES", size - 1)
    refused(path, f"the file has {size} bytes or more; expected at most {size - 1}")
    assert sentencepiece._MOST_BYTES < 1 << 30


def test_a_read_file_is_what_was_read(tmp_path: Path) -> None:
    path = tmp_path / "x.tiktoken"
    path.write_bytes(b"other")
    given = ReadFile(path, rank_text(vocab_of()))
    assert os.fspath(given) == str(given) == str(path)
    assert read_bytes(given, most=1 << 20) == given.data
    assert formats.FORMATS["tiktoken"].load(given, formats.Given("gpt2")).vocab == vocab_of()
    with pytest.raises(VocabularyError, match=rf"{path.name}: the file has \d+ bytes or more; expected at most 10"):
        read_bytes(given, most=10)
    with pytest.raises(VocabularyError, match=rf"{path.name}: line 1: found 'IQ'"):
        formats.FORMATS["tiktoken"].load(ReadFile(path, b"IQ"), formats.Given("gpt2"))


# -- GGUF ---------------------------------------------------------------------------------------------------


def test_strings_of_gguf_that_are_there_and_too_long(tmp_path: Path) -> None:
    path = tmp_path / "x.gguf"
    long, name = 1 << 39, PREFIX + "pre"
    sparse(path, b"GGUF" + pack("<IQQ", 3, 0, 1) + string(name) + pack("<IQ", 8, long))
    refused(path, f"{name} has {long} bytes, which makes more than {metadata._MOST_BYTES} in all")
    sparse(path, b"GGUF" + pack("<IQQ", 3, 0, 1) + pack("<Q", long))
    refused(path, f"byte 24: found a name of {long} bytes; expected at most 65535")
    # what is not kept is passed over
    sparse(path, b"GGUF" + pack("<IQQ", 3, 0, 1) + string("a.b") + pack("<IQ", 8, long))
    refused(path, "found no vocabulary")


def test_many_strings_of_gguf_have_one_limit(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "x.gguf"
    path.write_bytes(gguf(vocabulary()))
    assert bbpe.load(path).vocab_size == 269
    monkeypatch.setattr(metadata, "_MOST_BYTES", 300)
    refused(path, f"{PREFIX}tokens has ", "which makes more than 300 in all")


def test_gguf_that_is_cut_while_it_is_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "x.gguf"
    path.write_bytes(gguf(vocabulary()) + bytes(1 << 20))
    monkeypatch.setattr(
        metadata, "open_file", lambda given: _Meanwhile(open_file(given), lambda: os.truncate(path, 0))
    )
    refused(path, "but the file was truncated while it was read")


# -- ids ----------------------------------------------------------------------------------------------------

FAR: dict[str, Callable[[Path], object]] = {
    "from_ranks": lambda _: bbpe.Tokenizer.from_ranks({**RANKS, b"xyz": MAX_ID}, pattern="gpt2"),
    "from_merges": lambda _: bbpe.Tokenizer.from_merges({**vocab_of(), MAX_ID: b"xyz"}, MERGES, pattern="gpt2"),
    "special tokens of ranks": lambda _: bbpe.Tokenizer.from_ranks(
        RANKS, pattern="gpt2", special_tokens={"<s>": MAX_ID}
    ),
    "special tokens of merges": lambda _: bbpe.Tokenizer.from_merges(
        vocab_of(), MERGES, pattern="gpt2", special_tokens={"<s>": MAX_ID}
    ),
    "special tokens of a file": lambda path: bbpe.load(path, pattern="gpt2", special_tokens={"<s>": MAX_ID}),
    "added tokens among keys": lambda path: bbpe.load(
        _json(path, added_tokens=[added("<s>", MAX_ID)], model__vocab={**keys(), "<s>": MAX_ID})
    ),
}


def _json(path: Path, **changes: Any) -> Path:
    path = path.with_name("tokenizer.json")
    path.write_text(json.dumps(document(**changes)))
    return path


@pytest.mark.parametrize("name", FAR)
def test_ids_that_are_far_apart(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "x.tiktoken"
    path.write_bytes(rank_text(vocab_of()))
    made: list[object] = []
    monkeypatch.setattr(bbpe.tokenizer.Tokenizer, "__init__", lambda self, spec: made.append(spec))
    with pytest.raises(VocabularyError, match=f"ids up to {MAX_ID}"):
        FAR[name](path)
    assert made == []


def test_an_added_token_has_the_next_free_id(tmp_path: Path) -> None:
    """As in HF's `tokenizers`, whatever id the file gives it."""
    tok = bbpe.load(_json(tmp_path / "x", added_tokens=[added("<s>", MAX_ID, special=False)]))
    assert tok.added_tokens == {"<s>": 267}


def test_tokens_of_bytes_that_are_far_apart(tmp_path: Path) -> None:
    vocab = {"<unk>": 0, **{f"<0x{byte:02X}>": byte + 1 for byte in range(255)}, "<0xFF>": MAX_ID, "a": 256}
    changes: dict[str, Any] = {"model__vocab": vocab, "model__merges": [], "model__byte_fallback": True}
    steps = {"type": "Sequence", "decoders": [{"type": "ByteFallback"}, {"type": "Fuse"}]}
    path = _json(tmp_path / "x", **changes, model__unk_token="<unk>", pre_tokenizer=None, decoder=steps)
    refused(path, f"ids up to {MAX_ID}; expected ids up to")


@pytest.mark.parametrize("pad_id", [2**32, 2**63, 2**70, -1])
def test_padding_is_an_id(pad_id: int) -> None:
    tok = bbpe.Tokenizer.from_ranks(RANKS, pattern="gpt2")
    with pytest.raises(ValueError, match=rf"pad_id is {pad_id}; expected 0 to 4294967295"):
        tok.encode_padded(["a"], pad_id=pad_id)
