"""Results of chats made by hand: rows of all of them, labels, what makes two of them unequal, and copies."""

from __future__ import annotations

import copy
import pickle
from typing import Any

import numpy as np
import pytest

from bbpe.types import ChatRequest, EncodedChat, EncodedChats


def chat(*ids: int, learned: int = 1, text: str = "abc", **options: Any) -> EncodedChat:
    """A chat of some ids, of which the last ones are learned."""
    count = len(ids)
    mask = np.array([int(at >= count - learned) for at in range(count)], np.uint8)
    places = np.array([[at, at + 1] for at in range(count)], np.int64).reshape(count, 2)
    return EncodedChat(np.array(ids, np.int32), mask, np.arange(count, dtype=np.int32) - 1, places, text, **options)


ONE, TWO, NONE = chat(5, 6, 7), chat(8, 9, text="de", dropped=2, differs_at=1), chat(learned=0, text="")
ALL = EncodedChats.of([ONE, TWO, NONE])


def test_chats_are_rows_of_one_array() -> None:
    assert (ALL.ids.ids.tolist(), ALL.ids.ids.dtype) == ([5, 6, 7, 8, 9], "uint32")
    assert ALL.ids.offsets.tolist() == [0, 3, 5, 5]
    assert (ALL.masks.ids.tolist(), ALL.masks.offsets.tolist()) == ([0, 0, 1, 0, 1], [0, 3, 5, 5])
    assert (ALL.message_of.tolist(), ALL.message_of.dtype) == ([-1, 0, 1, -1, 0], "int32")
    assert (ALL.places.tolist(), ALL.places.dtype) == ([[0, 1], [1, 2], [2, 3], [0, 1], [1, 2]], "int64")
    assert [list(each) for each in (ALL.texts, ALL.dropped, ALL.differs_at)] == [
        ["abc", "de", ""], [0, 2, 0], [None, 1, None],
    ]  # fmt: skip
    assert (len(ALL), len(ONE), len(NONE)) == (3, 3, 0)
    assert repr(ALL) == "<bbpe.EncodedChats: 3 conversations, 5 ids>"
    assert repr(ONE) == "<bbpe.EncodedChat: 3 ids, 1 of them to learn>"
    assert repr(EncodedChats.of([chat(1)])) == "<bbpe.EncodedChats: 1 conversation, 1 id>"


def test_each_row_is_the_chat_again() -> None:
    chats = [ONE, TWO, NONE]
    assert list(ALL) == [ALL[at] for at in range(3)] == chats
    assert [ALL[at - 3] for at in range(3)] == chats
    assert ALL[np.int64(1)] == TWO
    assert (ALL[1].ids.dtype, ALL[1].mask.dtype) == ("int32", "uint8")
    for part in (slice(0, 2), slice(1, None), slice(None, None, -1), slice(2, 1), slice(None, None, 2)):
        assert list(ALL[part]) == chats[part]
        assert ALL[part] == EncodedChats.of(chats[part])
    for wrong in (3, -4, 2**70):
        with pytest.raises(IndexError, match=rf"^conversation {wrong} of 3$"):
            ALL[wrong]
    name: Any = "a"
    with pytest.raises(TypeError, match=r"^conversation must be an int, not str$"):
        ALL[name]


def test_labels_are_ids_to_learn_and_else_a_number() -> None:
    assert (ONE.labels().tolist(), ONE.labels().dtype) == ([-100, -100, 7], "int64")
    assert ALL.labels().tolist() == [-100, -100, 7, -100, 9]
    for number in (0, -1, np.int8(5), -(1 << 63), (1 << 63) - 1):
        assert ONE.labels(number).tolist() == [number, number, 7]
        assert ALL.labels(ignore=number).tolist() == [number, number, 7, number, 9]
    for wrong in (1 << 63, -(1 << 63) - 1):
        with pytest.raises(ValueError, match=rf"^ignore is {wrong}; expected -{1 << 63} to {(1 << 63) - 1}$"):
            ONE.labels(wrong)
    assert NONE.labels().tolist() == []


@pytest.mark.parametrize("changes", [
    {"ids": np.array([5, 6, 8], np.int32)}, {"mask": np.array([0, 1, 1], np.uint8)},
    {"message_of": np.array([-1, 0, 0], np.int32)}, {"places": np.array([[0, 1], [1, 2], [2, 2]])}, {"text": "abd"},
    {"dropped": 1}, {"differs_at": 0},
])  # fmt: skip
def test_chats_are_equal_in_all_but_their_calls(changes: dict[str, Any]) -> None:
    other = EncodedChat(**{**ONE.__dict__, **changes})
    assert other != ONE
    assert EncodedChats.of([TWO, other]) != EncodedChats.of([TWO, ONE])
    called = EncodedChat(**{**ONE.__dict__, "_request": ChatRequest((), {})})
    assert called == ONE
    assert EncodedChats.of([called]) == EncodedChats.of([ONE])
    assert ONE.__eq__(5) is ALL.__eq__(5) is NotImplemented
    for each in (ONE, ALL):
        with pytest.raises(TypeError, match="unhashable"):
            hash(each)


def test_what_is_no_chat_is_refused() -> None:
    wrong: Any = [ONE, 5]
    with pytest.raises(TypeError, match=r"^each of chats must be an EncodedChat, not int$"):
        EncodedChats.of(wrong)
    with pytest.raises(TypeError, match=r"^chats must be an iterable of EncodedChat, not int$"):
        EncodedChats.of(wrong[1])
    assert len(EncodedChats.of(iter([]))) == 0


def test_the_call_of_a_chat_is_pickled_without_what_pickle_cannot_take() -> None:
    def local(message: dict[str, str]) -> bool:
        return True

    for train_on, kept in (("user", "user"), (len, len), (local, None), (["user"], ["user"])):
        request = ChatRequest(({"role": "user"},), {"train_on": train_on, "tools": 5}, (1,))
        again = pickle.loads(pickle.dumps(request))
        assert (again.messages, again.options, again.numbers) == (
            ({"role": "user"},), {"train_on": kept, "tools": 5}, (1,)
        )  # fmt: skip
        assert copy.copy(request) is copy.deepcopy(request) is request
    assert pickle.loads(pickle.dumps(ChatRequest((), {}))).options == {}
