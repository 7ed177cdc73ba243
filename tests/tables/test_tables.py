"""Tokenizers from finished tables are those that the files make, whatever kind of vocabulary it is."""

from __future__ import annotations

import json
import pickle
from array import array
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import cache, partial
from pathlib import Path
from typing import Any

import pytest
from small_hf import KINDS
from small_hf import LINES as FEW_LINES
from strings import adversarial_strings
from trained_pieces import trained

import bbpe
from bbpe.core.bpe import CompiledBPE
from bbpe.core.image import ALIGNMENT, checksum
from bbpe.core.merge_list import MergeList
from bbpe.core.token_table import TokenTable
from bbpe.core.unigram import CompiledUnigram
from bbpe.core.wordpiece import WordPiece
from bbpe.spec import pickled, spec

LINES = [*FEW_LINES, "tokens, of the lowest; naïve 한국어 123 ..."] * 3
TEXTS = ["", *adversarial_strings(60, seed=44), "x" * 300, "see my <|end|> eyes", "中文" * 100, b"\xff\x80see", *LINES]


def _merges(path: Path) -> Path:
    specials = ["<|end|>", "<s>", "é<"]
    tok = bbpe.train_from_iterator(LINES, 330, pattern="cl100k", special_tokens=specials)
    tok.save(path / "tokenizer.json")
    return path / "tokenizer.json"


def _ranks(path: Path) -> Path:
    bbpe.train_from_iterator(LINES, 320).save(path / "a.tiktoken", drop=["pattern"])
    return path / "a.tiktoken"


def _words(path: Path) -> Path:
    bbpe.train_from_iterator(LINES, 120, model=bbpe.BPE(alphabet="chars", end_of_word="</w>")).save(path / "words.json")
    return path / "words.json"


def _of_hf(kind: str, path: Path) -> Path:
    KINDS[kind]().save(str(path / "tokenizer.json"))
    return path / "tokenizer.json"


def _pieces(model_type: str, path: Path, **options: Any) -> Path:
    return trained(path / "a.model", LINES, 420, model_type=model_type, byte_fallback=True, **options)


MAKERS: dict[str, Callable[[Path], Path]] = {
    "merges": _merges,
    "ranks": _ranks,
    "words": _words,
    **{f"hf {kind}": partial(_of_hf, kind) for kind in KINDS},
    "sentencepiece bpe": partial(_pieces, "bpe"),
    "sentencepiece unigram": partial(_pieces, "unigram"),
}


@pytest.fixture(scope="module")
def file_of(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Path]:
    return cache(lambda name: MAKERS[name](tmp_path_factory.mktemp("vocabulary")))


@pytest.fixture(autouse=True)
def _small_ones_too(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("bbpe.tables.sources._LEAST", 1)


def pattern_for(name: str) -> dict[str, str]:
    return {"pattern": "gpt2"} if name == "ranks" else {}


def is_mapped(tok: bbpe.Tokenizer) -> bool:
    """Whether the model of a tokenizer is that of a file of tables."""
    return tok._parts.model is not None


def placed(tok: bbpe.Tokenizer, text: Any) -> list[Any]:
    ids, offsets = tok.encode_with_offsets(text)
    return [list(ids), offsets.tolist()]


def same(one: bbpe.Tokenizer, other: bbpe.Tokenizer, folder: Path, name: str) -> None:
    assert one == other
    assert one.fingerprint == other.fingerprint
    assert one.spec == other.spec
    assert one.name == other.name
    assert one.get_vocab() == other.get_vocab()
    assert one.merges == other.merges
    assert [one.encode(text) for text in TEXTS] == [other.encode(text) for text in TEXTS]
    assert one.encode_batch(TEXTS, allowed_special="all") == other.encode_batch(TEXTS, allowed_special="all")
    for text in TEXTS[:40]:
        ids = one.encode(text, allowed_special="all", add_special_tokens=True)
        assert other.encode(text, allowed_special="all", add_special_tokens=True) == ids
        assert one.decode_bytes(ids) == other.decode_bytes(ids)
        assert placed(one, text) == placed(other, text)
        if one.spec.model is None:
            assert one.encode(text, dropout=0.3, seed=7) == other.encode(text, dropout=0.3, seed=7)
    assert [one.token_to_id(key) for key in one.get_vocab()] == [other.token_to_id(key) for key in one.get_vocab()]
    assert pickle.dumps(one) == pickle.dumps(other)
    again = pickle.loads(pickle.dumps(other))
    assert again.spec == one.spec
    assert [again.encode(text) for text in TEXTS] == [one.encode(text) for text in TEXTS]
    files = []
    for number, tok in enumerate((one, other)):
        (folder / str(number)).mkdir(parents=True)
        tok.save(folder / str(number) / name)
        files.append((folder / str(number) / name).read_bytes())
    assert files[0] == files[1]


@pytest.mark.parametrize("name", MAKERS)
def test_tokenizers_from_tables_are_the_same(name: str, file_of: Callable[[str], Path], tmp_path: Path) -> None:
    path, options = file_of(name), pattern_for(name)
    folder = tmp_path / "tables"
    expected = bbpe.load(path, cache=False, **options)
    first = bbpe.load(path, cache=folder, **options)
    (stored,) = folder.iterdir()
    written = stored.stat()
    second = bbpe.load(path, cache=folder, **options)
    assert (stored.stat().st_ino, stored.stat().st_mtime_ns) == (written.st_ino, written.st_mtime_ns)
    assert not is_mapped(first)
    assert is_mapped(second) == hasattr(expected._parts.encoder.encoder.model, "image")
    target = "a.model" if path.suffix == ".model" else "tokenizer.json"
    same(expected, first, tmp_path / "first", target)
    same(expected, second, tmp_path / "second", target)
    stored.unlink()  # it stays with who has mapped it
    assert [second.encode(text) for text in TEXTS] == [expected.encode(text) for text in TEXTS]


def test_many_threads_load_at_the_same_time(file_of: Callable[[str], Path], tmp_path: Path) -> None:
    path = file_of("merges")
    expected = bbpe.load(path, cache=False)
    with ThreadPoolExecutor(4) as pool:
        found = list(pool.map(lambda _: bbpe.load(path, cache=tmp_path / "tables"), range(12)))
    assert all(tok == expected for tok in found)
    assert len(list((tmp_path / "tables").iterdir())) == 1


@pytest.mark.full
@pytest.mark.parametrize("name", ["cl100k_base.tiktoken", "gpt2.tokenizer.json", "mistral_v3.model"])
def test_real_tokenizers_from_tables_are_the_same(
    name: str, vocab_path: Callable[[str], Path], tmp_path: Path
) -> None:
    path, folder = vocab_path(name), tmp_path / "tables"
    expected = bbpe.load(path, cache=False)
    bbpe.load(path, cache=folder)
    found = bbpe.load(path, cache=folder)
    assert is_mapped(found)
    assert found.spec == expected.spec
    for text in [*TEXTS, "".join(adversarial_strings(2000, seed=4))]:
        ids = expected.encode(text, add_special_tokens=True)
        assert found.encode(text, add_special_tokens=True) == ids
        assert found.decode_bytes(ids) == expected.decode_bytes(ids)


def aligned(data: bytes) -> memoryview:
    """A copy of bytes that begins at a multiple of `ALIGNMENT`."""
    import numpy as np

    memory = np.zeros(len(data) + ALIGNMENT, np.uint8)
    start = -memory.ctypes.data % ALIGNMENT
    memory[start : start + len(data)] = np.frombuffer(data, np.uint8)
    return memoryview(memory)[start : start + len(data)]


def bpe_of_image(image: memoryview) -> CompiledBPE:
    return CompiledBPE({}, None, image=image)


def unigram_of_image(image: memoryview) -> CompiledUnigram:
    return CompiledUnigram({}, None, image=image)


def wordpiece_of_image(image: memoryview) -> WordPiece:
    return WordPiece({}, image=image)


@pytest.mark.parametrize("kind", [TokenTable, MergeList, bpe_of_image, unigram_of_image, wordpiece_of_image])
def test_images_of_other_sizes_are_refused(kind: Any) -> None:
    """The numbers at the beginning of an image decide how long its arrays are."""
    vocab = {byte: bytes([byte]) for byte in range(256)} | {256: b"ab", 257: b"abc"}
    merges = ((97, 98, 256), (256, 99, 257))
    runs, some = {300: "中".encode()}, {97: 97}
    unigram = CompiledUnigram(
        vocab, array("d", [-1.5] * 258), unknown_score=-9.0, unknown=1, some_byte_ids=some, runs=runs, is_float=True
    )
    words = WordPiece({**vocab, 258: b"##ab"}, unknown=2, prefix=b"##", max_characters=9)
    tables = {TokenTable: TokenTable(vocab), MergeList: MergeList(merges), unigram_of_image: unigram}
    tables |= {wordpiece_of_image: words}
    table: Any = tables.get(kind, CompiledBPE(vocab, merges))
    opened = getattr(kind, "of_image", kind)
    image = table.image()
    assert len(image) % ALIGNMENT == 0
    assert opened(aligned(image)).image() == image
    for data in (image[:-ALIGNMENT], image + bytes(ALIGNMENT), b"", image[:8], bytes(len(image)), b"\xff" * len(image)):
        with pytest.raises(ValueError, match="no image"):
            opened(aligned(data))
    with pytest.raises(ValueError, match="multiple of 64 bytes"):
        opened(aligned(b"\0" * 8 + image)[8:])
    sizes = 0
    for place in range(0, 64, 8):
        for value in (0, 1, 3, 1 << 20, (1 << 64) - 1):
            data = image[:place] + value.to_bytes(8, "little") + image[place + 8 :]
            try:
                opened(aligned(data))  # the number changes no size
            except ValueError:
                sizes += 1
    assert sizes >= 3


def test_a_checksum_depends_on_each_bit_and_on_the_length() -> None:
    data = bytes(range(200))
    found = {checksum(data[:size]) for size in range(len(data) + 1)}
    assert len(found) == len(data) + 1
    flipped = [data[:i // 8] + bytes([data[i // 8] ^ 1 << i % 8]) + data[i // 8 + 1 :] for i in range(8 * len(data))]
    assert len({checksum(data), *map(checksum, flipped)}) == len(flipped) + 1
    # what is left out of one lane cannot be made up for in another place
    words = [bytes([0x80]) + bytes(7), bytes(7) + bytes([0x80])]
    zeros = [bytes(size) for size in (0, 8, 64, 128)]
    assert len({checksum(a + x + b + y) for x in words for y in words for a in zeros for b in zeros}) == 4 * 16


def test_data_of_specs_as_values_of_json() -> None:
    with pytest.raises(TypeError, match="expected data of a spec"):
        pickled.to_plain(object())
    with pytest.raises(TypeError, match="expected data of a spec"):
        pickled.to_plain(Path("a"))
    for name in ("os.system", "rules.Nothing", "rules.dataclass", "spec.make_spec", "builtins.print"):
        with pytest.raises(ValueError, match="name of a data class"):
            pickled.from_plain({name: ["x"]})
    floats = (0.1, -1e300, 5e-324, float("inf"))
    numbers = (floats, (1.0, 2), (2,))
    assert pickled.from_plain(json.loads(json.dumps(pickled.to_plain(numbers)))) == numbers
    value = ((1, None, True, 0.1, "\ud800é", b"\x00\xff"), {"a": (), "b": spec.TextRules()})
    assert pickled.from_plain(pickled.to_plain(value)) == value
