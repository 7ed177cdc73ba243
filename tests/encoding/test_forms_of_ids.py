"""Every method that takes ids takes them in every form: of any stride, of any integer type, in any sequence."""

from __future__ import annotations

from array import array
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import bbpe

TEXTS = ["see my dogs and eyes"] * 20
TOKENIZERS = {
    "bytes": bbpe.train_from_iterator(TEXTS, 300, special_tokens=["<s>"]),
    "unigram": bbpe.train_from_iterator(TEXTS, 300, model="unigram"),
    "wordpiece": bbpe.train_from_iterator(TEXTS, 40, model="wordpiece"),
}


def forms(ids: list[int]) -> dict[str, Any]:
    plain = np.array(ids, np.uint32)
    table = np.zeros((len(ids), 3), np.int64)
    table[:, 1] = ids
    bytes_before = np.frombuffer(b"x" + plain.astype(np.int64).tobytes(), np.uint8)
    return {
        "tuple": tuple(ids),
        "a list of numbers of NumPy": [np.int64(each) for each in ids],
        "backwards": plain[::-1].copy()[::-1],
        "a column": table[:, 1],
        "read-only": np.frombuffer(plain.tobytes(), np.uint32),
        "big-endian": plain.astype(">i8"),
        "not aligned": bytes_before[1:].view(np.int64),
        "array": array("q", ids),
        "memoryview": memoryview(plain),
        "memoryview, strided": memoryview(np.repeat(plain, 2))[::2],
        **{f"{kind}, strided": np.repeat(plain.astype(kind), 2)[::2] for kind in ("u2", "u4", "u8", "i2", "i4", "i8")},
    }


def methods(tokenizer: bbpe.Tokenizer) -> dict[str, Callable[[Any], Any]]:
    view = tokenizer.as_tokenizers()
    found: dict[str, Callable[[Any], Any]] = {
        "decode": tokenizer.decode,
        "decode, skipping": lambda ids: tokenizer.decode(ids, skip_special_tokens=True, unknown_ids="skip"),
        "decode_bytes": tokenizer.decode_bytes,
        "decode_batch": lambda ids: tokenizer.decode_batch([ids, ids]),
        "decode_with_offsets": tokenizer.decode_with_offsets,
        "is_canonical": tokenizer.is_canonical,
        "a stream": lambda ids: "".join(tokenizer.stream_decoder().stream(ids)),
        "a prompt": lambda ids: "".join(tokenizer.stream_decoder(prompt=ids).stream([5])),
        "tokenizers": view.decode,
        "tokenizers, batch": lambda ids: view.decode_batch([ids]),
    }
    if tokenizer is TOKENIZERS["bytes"]:
        tiktoken = tokenizer.as_tiktoken()
        found |= {name: getattr(tiktoken, name) for name in ("decode", "decode_bytes", "decode_with_offsets")}
    if tokenizer is TOKENIZERS["unigram"]:
        pieces = tokenizer.as_sentencepiece()
        found |= {"pieces": pieces.decode, "protos": lambda ids: pieces.decode(ids, out_type="serialized_proto")}
    return found


@pytest.mark.parametrize("kind", TOKENIZERS)
def test_ids_in_all_forms(kind: str) -> None:
    tokenizer = TOKENIZERS[kind]
    ids = tokenizer.encode("see my dogs and eyes")
    for name, method in methods(tokenizer).items():
        expected = method(ids)
        for form, given in forms(ids).items():
            assert method(given) == expected, (name, form)
        assert method(np.broadcast_to(np.uint32(ids[0]), (3,))) == method([ids[0]] * 3), name


@pytest.mark.parametrize("kind", TOKENIZERS)
def test_tokens_of_any_text_have_a_text(kind: str) -> None:
    tokenizer = TOKENIZERS[kind]
    for text in ("see my", "see 東", "é\x00"):
        tokens, ids = tokenizer.tokenize(text), tokenizer.encode(text)
        assert [tokenizer.token_to_id(token) for token in tokens] == ids


class Tensor:
    """An array of another library."""

    def __init__(self, array: np.ndarray[Any, Any]) -> None:
        self._array = array

    def __array__(self, *given: Any, **options: Any) -> np.ndarray[Any, Any]:
        return self._array


@pytest.mark.parametrize(("array", "found"), [
    (np.array([[1, 2]]), "an array of int64 with 2 dimensions"), (np.array(5), "an array of int64 with 0 dimensions"),
    (np.array([1.0]), "an array of float64 with 1 dimensions"),
    (np.array([True]), "an array of bool with 1 dimensions"),
    (np.array(["a"]), "an array of <U1 with 1 dimensions"), ("12", "str"), (b"12", "bytes"), (5, "int"), ({5}, "set"),
    (None, "NoneType"),
])  # fmt: skip
def test_what_has_no_ids_is_named(array: Any, found: str) -> None:
    said = f"^ids must be a sequence of int or an integer array of one dimension, not {found}$"
    for given in (array, *([Tensor(array)] if isinstance(array, np.ndarray) else [])):
        with pytest.raises(TypeError, match=said):
            TOKENIZERS["bytes"].decode(given)


def test_arrays_of_other_libraries_are_ids() -> None:
    tok: Any = TOKENIZERS["bytes"]
    ids = [tok.token_to_id("d"), tok.token_to_id("o")]
    for dtype in (np.int64, np.uint8, np.uint32):
        assert tok.decode(Tensor(np.array(ids, dtype))) == "do"
    assert tok.decode(Tensor(np.array([], np.float64))) == ""
    assert tok.decode(range(ids[0], ids[0] + 2)) == "de"


@pytest.mark.parametrize("rows", [5, None, 1.5])
def test_what_has_no_rows_is_named(rows: Any) -> None:
    found = type(rows).__name__
    with pytest.raises(TypeError, match=f"^rows must be an iterable of arrays of ids, not {found}$"):
        bbpe.Ragged.from_rows(rows)
