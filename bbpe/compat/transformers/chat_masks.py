"""The mask of the assistant's tokens in a chat, of a few look-ups.

`transformers` reads the offsets of all tokens in Python.  The spans of the assistant in the text are few, and our
encodings find the token of a character without a list of offsets.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from inspect import signature
from typing import Any

from ...lazy import safe_import
from ..tokenizers.encoding import Encoding


def masked_chat(owner: Any, kind: Any, rows_of: Any, arguments: Sequence[Any], options: Mapping[str, Any]) -> Any:
    """Return a chat with its mask; `None` if `transformers` must make it.

    `kind` is the class of the tokenizer `owner` before its acceleration, and `rows_of` that of our batches.
    """
    call = signature(kind.apply_chat_template).bind(owner, *arguments, **options)
    call.apply_defaults()
    given = dict(call.arguments)
    is_plain = given.get("tokenize") and given.get("return_dict") and not given.get("return_tensors")
    if not is_plain or not (isinstance(given["conversation"], list) and given["conversation"]):
        return None
    if not isinstance(given["conversation"][0], dict):  # several chats
        return None
    plain = {name: value for name, value in options.items() if name != "return_assistant_tokens_mask"}
    out = kind.apply_chat_template(owner, *arguments, **plain)
    rendered = _rendered(owner, given)
    rows: Any = getattr(out, "encodings", None)
    if rendered is None or not isinstance(rows, rows_of) or rows.texts() != [rendered[0]]:
        return None
    mask = _mask(rows[0], rendered[1])
    if mask is not None:
        out["assistant_masks"] = mask
    return None if mask is None else out


def _rendered(owner: Any, given: Mapping[str, Any]) -> tuple[str, Sequence[tuple[int, int]]] | None:
    """Return the text of a chat, and the spans of the assistant in it; `None` with an older `transformers`."""
    try:
        safe_import("transformers.utils", "chat_template_utils")
        from transformers.utils import chat_template_utils as utils

        render: Any = utils.render_jinja_template
    except (ImportError, AttributeError):
        return None
    chat, tools = given["conversation"], given.get("tools")
    texts, spans = render(
        conversations=[getattr(utils, "_normalize_chat_messages", list)(chat)],
        tools=tools,
        documents=given.get("documents"),
        chat_template=owner.get_chat_template(given.get("chat_template"), tools),
        return_assistant_tokens_mask=True,
        add_generation_prompt=given.get("add_generation_prompt", False),
        **{**owner.special_tokens_map, **given.get("kwargs", {})},
    )
    return texts[0], spans[0]


def _mask(row: Encoding, spans: Sequence[tuple[int, int]]) -> list[int] | None:
    """Return 1 for each token of the spans.

    It is `None` if the ends of a span have no token, or the last character has several: versions of `transformers`
    count these in other ways.
    """
    mask = [0] * len(row)
    for start, end in spans:
        if start >= end:
            continue
        first, last = row.char_to_token(start), row.char_to_token(end - 1)
        if first is None or last is None or row.token_between(end - 1, last + 1, len(row)) is not None:
            return None
        mask[first : last + 1] = [1] * (last + 1 - first)
    return mask
