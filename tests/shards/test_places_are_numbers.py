"""Sequences of rows and documents: `True` is no place, and neither is what is no whole number."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from shard_lines import lines

import bbpe


@pytest.fixture
def sequences(tmp_path: Path, tok: bbpe.Tokenizer) -> dict[str, Any]:
    """Sequences of at least two items."""
    done = bbpe.shard(lines(tmp_path / "a.jsonl", ["low lower"] * 9), tmp_path / "out", tok)
    chats = [[{"role": "user", "content": "low"}]] * 2
    return {
        "shards": done,
        "windows": done.windows(2),
        "bins": done.bins(4, ragged=True),
        "opened": bbpe.open_shards(done.plan.folder, format="bbpe"),
        "ragged": tok.encode_batch_to_numpy(["low", "lower"]),
        "map": bbpe.vocabulary_map(tok, tok),
        "chats": tok.encode_chat_batch(chats, chat_template="{{ messages[0].content }}"),
    }


@pytest.mark.parametrize("place", [True, False, np.True_, 1.0, "1", None])
def test_what_is_no_place(place: Any, sequences: dict[str, Any]) -> None:
    for name, sequence in sequences.items():
        assert len(sequence[1]) >= 0, name
        with pytest.raises(TypeError, match=r"must be an int, not|rows have ints for places"):
            sequence[place]


@pytest.mark.parametrize("place", [np.int64(1), np.uint8(1)])
def test_numbers_of_numpy_are_places(place: Any, sequences: dict[str, Any]) -> None:
    for name, sequence in sequences.items():
        assert repr(sequence[place]) == repr(sequence[1]), name
        with pytest.raises(IndexError):
            sequence[len(sequence)]


def test_a_state_with_more_than_a_state_has(sequences: dict[str, Any]) -> None:
    stream = sequences["windows"].stream(batch=1)
    state = stream.state_dict()
    stream.load_state_dict(state)
    with pytest.raises(ValueError, match=r"^state has 'foo'; expected what state_dict returned, version, "):
        stream.load_state_dict({**state, "foo": True})
