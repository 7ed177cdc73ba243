"""Columns of chats: those of `encode_chat`, for `datasets.map`, with tools of each row, and from tables of Arrow."""

from __future__ import annotations

import json
from typing import Any

import pytest

import bbpe

pytest.importorskip("jinja2")
TEMPLATE = (
    "{% for t in tools or [] %}[{{ t.function.name }}]{% endfor %}{% for m in messages %}"
    "<|{{ m.role }}|>{{ m.content }}{% if m.name is defined %}({{ m.name }}){% endif %}<|end|>{% endfor %}"
)
TOOLS = [[{"type": "function", "function": {"name": name}}] for name in ("get_dogs", "see")]


@pytest.fixture(scope="module")
def tok() -> bbpe.Tokenizer:
    return bbpe.train_from_iterator(["see my dogs"], 260, special_tokens=["<|user|>", "<|assistant|>", "<|end|>"])


def chats() -> list[list[dict[str, Any]]]:
    return [
        [{"role": "user", "content": "see"}, {"role": "assistant", "content": "my dogs"}],
        [{"role": "user", "content": "my", "name": "Ann"}, {"role": "assistant", "content": "\u4f60\u597d <|end|>"}],
        [{"role": "assistant", "content": "see"}],
    ]


def columns(tok: bbpe.Tokenizer, tools: Any = (None,) * 3, ignore: int = -100, **options: Any) -> dict[str, Any]:
    rows = [
        tok.encode_chat(chat, own, chat_template=TEMPLATE, **options) for chat, own in zip(chats(), tools, strict=True)
    ]
    return {
        "input_ids": [row.ids.tolist() for row in rows], "assistant_masks": [row.mask.tolist() for row in rows],
        "labels": [row.labels(ignore).tolist() for row in rows],
    }  # fmt: skip


def test_columns_are_those_of_encode_chat(tok: bbpe.Tokenizer) -> None:
    found = tok.encode_chat_columns({"messages": chats(), "text": ["see"] * 3}, chat_template=TEMPLATE)
    assert found == columns(tok)
    assert [0 in row and 1 in row for row in found["assistant_masks"]] == [True, True, True]
    given = {"train_on": "user", "turn_end": False, "content_special": "all"}
    named = tok.encode_chat_columns({"chat": chats()}, messages="chat", ignore=-1, chat_template=TEMPLATE, **given)
    assert named == columns(tok, ignore=-1, **given)
    assert tok.encode_chat_columns({"messages": []}, chat_template=TEMPLATE) == {
        "input_ids": [], "assistant_masks": [], "labels": [],
    }  # fmt: skip


@pytest.mark.parametrize("tools", [[None] * 3, TOOLS[:1] * 3, [TOOLS[0], None, TOOLS[1]]])
def test_each_row_has_its_tools(tok: bbpe.Tokenizer, tools: Any) -> None:
    expected = columns(tok, tools)
    assert tok.encode_chat_columns({"messages": chats(), "tools": tools}, chat_template=TEMPLATE) == expected
    as_json = [None if each is None else json.dumps(each) for each in tools]
    batch = {"messages": [json.dumps(chat) for chat in chats()], "functions": as_json}
    assert tok.encode_chat_columns(batch, tools="functions", chat_template=TEMPLATE, threads=2) == expected
    with pytest.raises(ValueError, match="threads is 0"):
        tok.encode_chat_columns(batch, tools="functions", chat_template=TEMPLATE, threads=0)


ALIKE: list[Any] = [
    [[{"name": "f", "default": 1}], [{"default": 1, "name": "f"}]],  # a dict has an order
    [[{"name": "f", "default": 1}], [{"name": "f", "default": True}]],
    [[{"name": "f", "default": 1}], [{"name": "f", "default": 1.0}]],
    [[], None],
]


@pytest.mark.parametrize("tools", [*ALIKE, *[pair[::-1] for pair in ALIKE]])
def test_tools_that_are_equal_and_written_differently(tok: bbpe.Tokenizer, tools: Any) -> None:
    template = "{{ tools | tojson }}{{ messages[0].content }}"
    found = tok.encode_chat_columns({"messages": chats()[:2], "tools": tools}, chat_template=template)
    rows = [tok.encode_chat(*row, chat_template=template) for row in zip(chats(), tools, strict=False)]
    assert found["input_ids"] == [row.ids.tolist() for row in rows]
    assert len({row.text for row in rows}) == 2


@pytest.mark.parametrize("as_arrow", [False, True])
def test_json_in_strings_keeps_its_nulls(tok: bbpe.Tokenizer, as_arrow: bool) -> None:
    call = {"function": {"name": "f", "arguments": {"a": None}}}
    chat = [{"role": "assistant", "content": None, "tool_calls": [call]}]
    tools = [{"name": "f", "default": None}]
    template = "{{ tools | tojson }}{{ messages[0].tool_calls | tojson }}{{ messages[0].content is defined }}"
    batch: Any = {"messages": [json.dumps(chat)], "tools": [json.dumps(tools)]}
    batch = pytest.importorskip("pyarrow").table(batch) if as_arrow else batch
    want = tok.encode_chat(chat, tools, chat_template=template)
    assert want.text.count("null") == 2
    assert tok.encode_chat_columns(batch, chat_template=template)["input_ids"] == [want.ids.tolist()]


def test_arrow(tok: bbpe.Tokenizer) -> None:
    """A struct has the fields of all rows, and those that are null are left out."""
    pa = pytest.importorskip("pyarrow")
    table = pa.table({"messages": chats(), "tools": [TOOLS[0], None, TOOLS[1]]})
    expected = columns(tok, [TOOLS[0], None, TOOLS[1]])
    assert tok.encode_chat_columns(table, chat_template=TEMPLATE) == expected
    assert tok.encode_chat_columns(table.to_batches()[0], chat_template=TEMPLATE) == expected
    assert tok.encode_chat_columns(table.to_pydict(), chat_template=TEMPLATE) == expected
    assert tok.encode_chat_columns(dict(zip(table.column_names, table.columns, strict=True)), chat_template=TEMPLATE)


def test_a_column_of_conversations(tok: bbpe.Tokenizer) -> None:
    pa, polars = pytest.importorskip("pyarrow"), pytest.importorskip("polars")
    expected = columns(tok)
    whole = pa.array(chats())
    for column in (whole, pa.chunked_array([whole[:1], whole[1:]]), polars.from_arrow(whole)):
        found = tok.encode_chat_batch(column, chat_template=TEMPLATE)
        assert [row.ids.tolist() for row in found] == expected["input_ids"]
        assert pa.array(found.masks).to_pylist() == expected["assistant_masks"]


def test_datasets(tok: bbpe.Tokenizer) -> None:
    datasets = pytest.importorskip("datasets")
    data = datasets.Dataset.from_dict({"messages": chats(), "tools": [TOOLS[0], None, TOOLS[1]]})
    options = {
        "batched": True,
        "batch_size": 2,
        "fn_kwargs": {"chat_template": TEMPLATE},
        "load_from_cache_file": False,
    }
    expected = columns(tok, [TOOLS[0], None, TOOLS[1]])
    for given in (data, data.with_format("arrow")):
        rows = given.map(tok.encode_chat_columns, **options, remove_columns=data.column_names).with_format(None)
        assert {name: rows[name][:] for name in rows.column_names} == expected


def test_what_is_no_batch(tok: bbpe.Tokenizer) -> None:
    def encode(batch: Any, **options: Any) -> Any:
        return tok.encode_chat_columns(batch, chat_template=TEMPLATE, **options)

    with pytest.raises(ValueError, match="the batch has no column 'messages', only 'text'; name it by messages="):
        encode({"text": ["see"]})
    for name in ("messages", "tools"):
        with pytest.raises(TypeError, match=f"{name} must be the name of a column, a str, not int"):
            encode({"messages": chats()}, **{name: 5})
    with pytest.raises(TypeError, match="train_off"):
        encode({"messages": chats()}, train_off="user")
    with pytest.raises(TypeError, match="batch is list; expected a dict of columns, or a table of Arrow"):
        encode(chats())
    with pytest.raises(TypeError, match=r"column 'messages' is str; expected a chat in each row: give columns, map\("):
        encode({"messages": "see"})
    with pytest.raises(TypeError, match=r"column 'messages' is one list of dicts; .*map\(\.\.\., batched=True\)"):
        encode({"messages": chats()[0]})
    with pytest.raises(ValueError, match=r"field 'messages\[1\]' is dict; expected a list, or null"):
        encode({"messages": [chats()[0], {"role": "user"}]})
    with pytest.raises(ValueError, match=r"field 'messages\[0\]' is a string; expected a list, or one as JSON"):
        encode({"messages": ["see my dogs"]})
    refusing = "{% for m in messages if m.content == 'see' %}{{ raise_exception('no ' ~ m.role) }}{% endfor %}"
    for tools, name in ((None, r"conversations\[1\]"), (TOOLS[0], "row 1")):
        batch = {"messages": [chats()[1], chats()[2]], "tools": [None, tools]}
        with pytest.raises(bbpe.VocabularyError, match=f"chat template: line 1: {name}: no assistant"):
            tok.encode_chat_columns(batch, chat_template=refusing)
    with pytest.raises(ValueError, match=r"conversations\[1\]: messages\[0\] has no 'role'"):
        encode({"messages": [chats()[0], [{"content": "see"}]]})
    with pytest.raises(ValueError, match=r"row 1: messages\[0\] has no 'role'"):
        encode({"messages": [chats()[0], [{"content": "see"}]], "tools": [None, TOOLS[0]]})
    with pytest.raises(TypeError, match="row 1: "):
        encode({"messages": [chats()[0], [5]], "tools": [None, TOOLS[0]]})
    with pytest.raises(TypeError, match=r"messages\[1\] is NoneType None; expected a list of dicts with"):
        encode({"messages": [chats()[0], None]})
    with pytest.raises(ValueError, match="columns 'messages' and 'tools' have 3 and 2 rows"):
        encode({"messages": chats(), "tools": TOOLS})


def test_a_column_of_tools_that_is_named_is_there(tok: bbpe.Tokenizer) -> None:
    batch = {"messages": chats()}
    assert tok.encode_chat_columns(batch, tools="tools", chat_template=TEMPLATE) == columns(tok, [None] * 3)
    with pytest.raises(ValueError, match="the batch has no column 'functions', only 'messages'; expected the name"):
        tok.encode_chat_columns(batch, tools="functions", chat_template=TEMPLATE)
    with pytest.raises(TypeError, match="ignore must be an int, not str"):
        tok.encode_chat_columns({"messages": []}, ignore="x")
