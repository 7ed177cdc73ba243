"""What only looks like ids is refused: bytes, a mask, an array with a mask, and numbers that are no ids."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import bbpe

TOKENIZERS = [bbpe.train_from_iterator(["see my dogs"] * 9, 280, model=model) for model in ("bpe", "unigram")]
DECODERS: dict[str, Callable[[bbpe.Tokenizer, Any], Any]] = {
    "decode": lambda tok, ids: tok.decode(ids),
    "decode, skipping": lambda tok, ids: tok.decode(ids, skip_special_tokens=True, unknown_ids="skip"),
    "decode_bytes": lambda tok, ids: tok.decode_bytes(ids),
    "decode_batch": lambda tok, ids: tok.decode_batch([[5], ids]),
    "decode_with_offsets": lambda tok, ids: tok.decode_with_offsets(ids),
    "is_canonical": lambda tok, ids: tok.is_canonical(ids),
    "a stream": lambda tok, ids: list(tok.stream_decoder().stream(ids)),
    "a prompt": lambda tok, ids: tok.stream_decoder(prompt=ids),
}


@pytest.mark.parametrize(
    "ids", ["AB", b"AB", bytearray(b"AB"), memoryview(b"AB"), memoryview(b"AB").cast("c")],
    ids=["str", "bytes", "bytearray", "memoryview", "memoryview of char"],
)  # fmt: skip
@pytest.mark.parametrize("method", DECODERS)
def test_text_and_bytes_are_no_ids(method: str, ids: Any) -> None:
    for tok in TOKENIZERS:
        with pytest.raises(TypeError, match=rf"ids must be .*, not {type(ids).__name__}$"):
            DECODERS[method](tok, ids)


@pytest.mark.parametrize("method", [name for name in DECODERS if name != "a stream"])
def test_a_mask_that_leaves_out_ids_is_refused(method: str) -> None:
    for tok in TOKENIZERS:
        with pytest.raises(TypeError, match=r"must be without a mask.*compressed"):
            DECODERS[method](tok, np.ma.array([64, 65], mask=[False, True]))
        DECODERS[method](tok, np.ma.array([64, 65]))


def test_a_mask_of_a_batch_is_refused() -> None:
    table = np.ma.array([[64, 65], [66, 67]], mask=[[False, True], [False, False]])
    with pytest.raises(TypeError, match=r"batch must be without a mask"):
        TOKENIZERS[0].decode_batch(table)


@pytest.mark.parametrize(
    "row",
    [[1.0], np.array([1.7]), [True], np.array([False]), ["1"], "12", np.array([[1]]), [2**70], [None],
     np.ma.array([1, 2], mask=[True, False])],
    ids=repr,
)  # fmt: skip
def test_rows_of_what_are_no_ids_are_refused(row: Any) -> None:
    with pytest.raises(TypeError, match="each of rows must be"):
        bbpe.Ragged.from_rows([[1], row])


@pytest.mark.parametrize("wrong", [-1, 2**32, 2**63])
def test_rows_of_ids_out_of_range_are_refused(wrong: int) -> None:
    for row in ([wrong], np.array([wrong])):
        with pytest.raises(OverflowError, match=rf"^id {wrong} is out of range; expected 0 to 4294967295$"):
            bbpe.Ragged.from_rows([np.array([1], np.uint32), row])


@pytest.mark.parametrize("dtype", ["u1", "i2", "u4", "i4", "i8", "u8", ">i4"])
def test_rows_of_any_integers_become_uint32(dtype: str) -> None:
    rows = [[], [1, 2], [], [127]]
    made = bbpe.Ragged.from_rows([np.array(row, dtype) for row in rows])
    plain = bbpe.Ragged.from_rows(rows)
    assert made.ids.dtype == plain.ids.dtype == np.uint32
    assert [row.tolist() for row in made] == [row.tolist() for row in plain] == rows


@pytest.mark.parametrize("keep", [[True, False], np.array([True, False]), (1.0,), ["a"], {None}], ids=repr)
def test_pruning_keeps_ids_only(keep: Any) -> None:
    with pytest.raises(TypeError, match=r"each of keep must be an id, an int \(flatnonzero of a mask has ids\)"):
        bbpe.prune(TOKENIZERS[0], keep=keep)
