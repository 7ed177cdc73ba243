"""Errors of one chat of several: they begin with its name, and keep their kind."""

from __future__ import annotations

from typing import Any

import pytest

import bbpe
from bbpe.compat.chat.columns import naming


@pytest.mark.parametrize(("error", "said"), [
    (TypeError("no text"), "row 3: no text"), (ValueError("no role"), "row 3: no role"),
    # these have a form of their own, or are no errors of the chat
    (UnicodeEncodeError("utf-8", "\ud800", 0, 1, "surrogates not allowed"), None),
    (UnicodeDecodeError("utf-8", b"\xff", 0, 1, "invalid start byte"), None),
    (bbpe.errors.TokenIdError("no token has the id 7"), None), (KeyError("role"), None), (OSError(2, "gone"), None),
])  # fmt: skip
def test_an_error_names_its_chat(error: Exception, said: str | None) -> None:
    def work(*arguments: Any) -> None:
        assert arguments == (1, "a")
        raise error

    with pytest.raises(type(error)) as caught:
        naming("row 3", work, 1, "a")
    assert (caught.value is error) is (said is None)
    assert said is None or str(caught.value) == said


def test_an_error_of_a_file_keeps_its_place() -> None:
    def work() -> None:
        raise bbpe.VocabularyError("unexpected end", path="config.json", place="line 3")

    with pytest.raises(bbpe.VocabularyError) as caught:
        naming("row 3", work)
    assert (caught.value.problem, caught.value.path, caught.value.place) == (
        "row 3: unexpected end", "config.json", "line 3",
    )  # fmt: skip
    assert naming("row 3", int, "7") == 7


@pytest.mark.parametrize(("chat", "shown"), [
    (None, "NoneType None"), ("see", "str 'see'"), ({"role": "user"}, "dict {'role': 'user'}"), (5, "int 5"),
])  # fmt: skip
def test_what_is_no_chat_has_the_name_of_its_argument(chat: object, shown: str) -> None:
    tok = bbpe.train_from_iterator(["see my dogs"], 262)
    good = [{"role": "user", "content": "see"}]
    with pytest.raises(TypeError) as caught:
        tok.encode_chat_batch([good, good, chat])
    assert str(caught.value) == f"conversations[2] is {shown}; expected a list of dicts with 'role' and 'content'"
