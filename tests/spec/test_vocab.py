"""The vocabulary as a mapping, and rank files read straight into it."""

import pickle
import pickletools
import random
from base64 import b64encode
from collections.abc import Mapping
from typing import Any

import numpy as np
import pytest

import bbpe
from bbpe.core.bpe import CompiledBPE
from bbpe.core.ids import TokenBytes
from bbpe.errors import VocabularyError
from bbpe.formats import tiktoken
from bbpe.formats.common.given import rank_text
from bbpe.spec.models import Merges, Vocab
from bbpe.spec.spec import MAX_ID, without_specials

BYTES = {byte: bytes((byte,)) for byte in range(256)}
ITEMS = {7: b"the", 3: b"", 900: b"\xe4\xb8", 0: b"x" * 3000}


def test_is_the_mapping_it_was_made_of() -> None:
    vocab = Vocab(ITEMS)
    assert isinstance(vocab, Mapping)
    assert (vocab == ITEMS, vocab == Vocab(ITEMS)) == (True, True)
    assert list(reversed(ITEMS.items())) != list(vocab.items()) == list(ITEMS.items())
    assert (list(vocab), list(vocab.keys()), list(vocab.values())) == ([*ITEMS], [*ITEMS], [*ITEMS.values()])
    assert (len(vocab), max(vocab), {**vocab}) == (4, 900, ITEMS)
    assert vocab != {**ITEMS, 1: b"a"}
    assert vocab != {**ITEMS, 3: b"a"}
    assert vocab != 3
    assert vocab == Vocab(dict(sorted(ITEMS.items())))
    assert vocab.items() & {(7, b"the"), (8, b"the")} == {(7, b"the")}
    assert Vocab({}) == {}
    assert repr(Vocab({1: b"a"})) == "Vocab({1: b'a'})"


def test_look_ups() -> None:
    vocab = Vocab(ITEMS)
    assert (vocab[7], vocab[np.int64(900)], vocab.get(3), vocab.get(4)) == (b"the", b"\xe4\xb8", b"", None)
    for key in (-1, 1, 901, MAX_ID + 1, 2**70, -(2**70), 7.0, "7", b"the", None):
        assert key not in vocab
        with pytest.raises(KeyError):
            vocab[key]  # type: ignore[index]
    assert [vocab.id_of(token) for token in ITEMS.values()] == [*ITEMS]
    assert (vocab.has_token(b"the"), vocab.has_token(b"th")) == (True, False)
    for token in (b"th", "the", 7):
        with pytest.raises(KeyError):
            vocab.id_of(token)


def test_cannot_be_written_to() -> None:
    tok = bbpe.train_from_iterator(["low lower"], vocab_size=258)
    vocab: Any = tok.spec.vocab
    with pytest.raises(TypeError):
        vocab[0] = b"a"
    with pytest.raises(TypeError):
        del vocab[0]
    with pytest.raises(AttributeError):
        vocab.other = 1
    with pytest.raises(TypeError):
        hash(vocab)


def test_does_not_follow_its_source() -> None:
    source = dict(BYTES)
    tok = bbpe.Tokenizer.from_merges(source, [], pattern="gpt2")
    source[300] = b"ab"
    assert tok.spec.vocab == BYTES


def test_pickle() -> None:
    assert pickle.loads(pickle.dumps(Vocab(ITEMS))) == ITEMS
    assert list(pickle.loads(pickle.dumps(Vocab(ITEMS)))) == [*ITEMS]


@pytest.mark.parametrize(
    ("items", "error", "words"),
    [
        ({"1": b"a"}, TypeError, "'1': b'a'"),
        ({True: b"a"}, TypeError, "True: b'a'"),
        ({1: "a"}, TypeError, "1: 'a'"),
        ({1: b"a", 5: b"a"}, VocabularyError, "b'a' has two ids, 1 and 5"),
        ({-1: b"a"}, VocabularyError, "has id -1; expected 0 to 268435455"),
        ({MAX_ID + 1: b"a"}, VocabularyError, "has id 268435456; expected"),
        ({2**80: b"a"}, VocabularyError, "has id 1208925819614629174706176"),
    ],
)
def test_refuses(items: dict[Any, Any], error: type[Exception], words: str) -> None:
    with pytest.raises(error) as caught:
        Vocab(items)
    assert words in str(caught.value)


@pytest.mark.parametrize("wrong", [[b"a"], b"a", None, 5])
def test_what_is_no_mapping_is_named(wrong: Any) -> None:
    said = f"not be {type(wrong).__name__}$"
    with pytest.raises(TypeError, match=f"^vocab must map ids to the bytes of tokens, {said}"):
        bbpe.Tokenizer.from_merges(wrong, [], pattern="gpt2")
    if wrong is not None:
        with pytest.raises(TypeError, match=f"^special_tokens must map each text to its id, {said}"):
            bbpe.Tokenizer.from_merges(BYTES, [], pattern="gpt2", special_tokens=wrong)


def test_models_and_bytes_of_any_mapping() -> None:
    vocab = {**BYTES, 300: b"ab", 301: b"abc"}
    for made in (vocab, Vocab(vocab)):
        assert CompiledBPE(made, None).encode_pretoken(b"abcab") == [301, 300]
        assert TokenBytes(made, {400: b"<s>"}).join([301, 400, 300]) == b"abc<s>ab"
        assert TokenBytes(made).id_count == 302
    assert TokenBytes({1: b"a", 2: b"a"}, {2: b"b" * 20}).join([1, 2]) == b"a" + b"b" * 20


# -- rank files ------------------------------------------------------------------------------------------------


def line(token: bytes, rank: int, end: str = "\n") -> bytes:
    return (b64encode(token).decode() + f" {rank}{end}").encode()


def read_slowly(data: bytes) -> dict[int, bytes] | None:
    try:
        return tiktoken._parse(data)
    except VocabularyError:
        return None


@pytest.mark.parametrize(
    ("data", "is_canonical"),
    [
        (line(b"a", 0) + line(b"bc", 1) + line(b"def", 9) + b"= 10\n", True),
        (line(b"a", MAX_ID), True),
        (line(b"a", 1) + line(b"b", 0), False),
        (line(b"a", 0, ""), False),
        (line(b"a", 0, "\r\n") + line(b"b", 1, "\r\n"), False),
        (line(b"a", 0, "\r"), False),
        (b"\n" + line(b"a", 0) + b"\n\n", False),
        (b"YQ== 007\n", False),
        (b"YQ== 00\n", False),
        (line(b"x" * 768, 0), True),
    ],
)
def test_usual_rank_files(data: bytes, is_canonical: bool) -> None:
    read = Vocab.of_rank_text(data)
    assert read is not None
    assert (list(read[0].items()), read[1]) == (list((read_slowly(data) or {}).items()), is_canonical)
    assert (rank_text(read[0]) == data) == is_canonical


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"\n",
        b"YQ==",
        b"YQ== ",
        b"YQ== \n",
        b"YQ==  1\n",
        b"YQ==\t1\n",
        b" YQ== 1\n",
        b"YQ== 1 \n",
        b"YQ== 1\r\r\n",
        b"YQ== -1\n",
        b"YQ== 1x\n",
        b"YQ== 1 2\n",
        b"YQ= 1\n",
        b"YQ 1\n",
        b"YR== 1\n",
        b"YWJ= 1\n",
        b"Y=== 1\n",
        b"==== 1\n",
        b"YQ==YQ== 1\n",
        b"Y-== 1\n",
        b"\xff\xff\xff\xff 1\n",
        b"YWJj\xc3\xa9== 1\n",
        b" 1\n",
        line(b"a", MAX_ID + 1),
        line(b"a", 2**32),
        line(b"a", 2**64),
        line(b"a", 10**30),
        line(b"a", 1) + line(b"b", 1),
        line(b"a", 1) + line(b"a", 2),
        line(b"a", 1) + line(b"a", 1),
        b"= 1\n= 2\n",
        line(b"x" * 769, 0),
    ],
)
def test_unusual_rank_files_are_left_to_the_slow_reader(data: bytes) -> None:
    assert Vocab.of_rank_text(data) is None


def test_all_lengths() -> None:
    data = b"".join(line(bytes(range(256))[:n], n) for n in range(1, 256))
    read = Vocab.of_rank_text(data)
    assert read is not None
    assert (read[0], read[1]) == (read_slowly(data), True)


def test_what_is_read_is_what_the_slow_reader_reads() -> None:
    rng = random.Random(5)
    followed = 0
    for _ in range(3000):
        tokens = [rng.randbytes(rng.randrange(1, 8)) for _ in range(rng.randrange(1, 6))]
        data = bytearray(b"".join(line(token, rng.choice((rank, 5))) for rank, token in enumerate(tokens)))
        for _ in range(rng.randrange(3)):
            place = rng.randrange(len(data))
            data[place : place + rng.randrange(2)] = rng.choice((b"", b"=", b" ", b"\n", b"\r", b"A", b"0", b"\xff"))
        read, slow = Vocab.of_rank_text(bytes(data)), read_slowly(bytes(data))
        if read is not None:
            followed += 1
            assert slow is not None
            assert list(read[0].items()) == list(slow.items())
            assert read[1] == (rank_text(slow) == data)
    assert followed > 500


def test_rows() -> None:
    data, offsets = np.frombuffer(b"aabc", np.uint8), np.array([0, 1, 3, 4], np.int64)
    assert dict(Vocab.of_rows(data, offsets)) == {0: b"a", 1: b"ab", 2: b"c"}
    with pytest.raises(VocabularyError, match="'a' has two ids, 0 and 1"):
        Vocab.of_rows(data, np.array([0, 1, 2], np.int64))
    for wrong in ([], [0, 5], [-1, 1], [0, 2, 1], [0, 9, 4], [0, 0]):
        with pytest.raises(ValueError, match="offset"):
            Vocab.of_rows(data, np.array(wrong, np.int64))


def test_a_block_of_bytes() -> None:
    data = Vocab(ITEMS).data()
    assert list(Vocab.of_data(data).items()) == list(ITEMS.items())
    assert len(Vocab.of_data(Vocab({}).data())) == 0
    rng, refused, taken = random.Random(0), 0, 0
    for _ in range(2_000):
        broken = bytearray(data)
        broken[rng.randrange(len(data))] = rng.choice([0, 1, 2, 127, 255])
        try:
            found = Vocab.of_data(bytes(broken[: rng.choice([len(data), rng.randrange(len(data))])]))
        except ValueError:
            refused += 1
            continue
        assert len(found) == len({token_id for token_id, _ in found.items()}) == len(set(found.values()))
        taken += 1
    assert refused > 500
    assert taken > 50


def test_a_pickle_has_no_object_for_each_token() -> None:
    many = Vocab({number: b"%d" % number for number in range(50_000)})
    merges = Merges((number, number, number) for number in range(50_000))
    made = pickle.dumps((many, merges))
    assert pickle.loads(made) == (many, merges)
    assert sum(1 for _ in pickletools.genops(made)) < 100


def test_a_special_token_that_no_merge_uses_is_no_token_of_the_model() -> None:
    """One of a single byte stays, as do those that merges use; without merges none of them does."""
    vocab = BYTES | {256: b"lo", 257: b"low", 258: b"<s>"}
    merges = [(ord("l"), ord("o"), 256), (256, ord("w"), 257)]
    specials = {"<s>": 258, "lo": 256, "a": 97}
    assert without_specials(vocab, specials, merges) == {key: vocab[key] for key in vocab if key != 258}
    assert without_specials(vocab, specials, None) == {key: vocab[key] for key in vocab if key not in (258, 256, 97)}
