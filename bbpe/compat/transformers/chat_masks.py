"""Chats of an accelerated tokenizer with masks of the assistant's tokens, as `transformers` returns them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cache
from inspect import Signature, signature
from itertools import pairwise
from typing import Any, TypeAlias

from ...errors import VocabularyError
from ...lazy import lazy_re, np, safe_import
from ..chat.encoding import learned_texts
from ..tokenizers.encoding import Encoding
from ..tokenizers.texts import TextSource
from .backend import Backend
from .batches import BatchRows

#: The template of chats that are rendered already: one message with the whole text.
_AS_IT_IS = "{{ messages[0].content }}"
#: The same for texts that are cut at the spans of the assistant.
_IN_PIECES = (
    "{% for m in messages %}{% if m.role == 'assistant' %}{% generation %}{{ m.content }}{% endgeneration %}"
    "{% else %}{{ m.content }}{% endif %}{% endfor %}"
)
#: The tag of templates that mark the text of the assistant.
_TAG = lazy_re(r"\{%-?\s*generation\s*-?%\}")
#: What only the template of a chat reads, and what says how it is rendered.
_OF_TEMPLATES = ("conversation", "tools", "documents", "chat_template", "add_generation_prompt")
#: The spans of the assistant in a text.
_Spans: TypeAlias = Sequence[tuple[int, int]]


class OwnMasks:
    """Whether chats get masks of ours where their template has no tag; `patch_transformers` chooses."""

    is_on = False


def masked_chat(owner: Any, kind: Any, arguments: Sequence[Any], options: Mapping[str, Any]) -> Any:
    """Return a chat, or several, with masks of the assistant's tokens; `None` if `transformers` must make them.

    `kind` is the class of the tokenizer `owner` before its acceleration.  `transformers` looks at the places of all
    tokens in Python, which takes longer than to render and to encode the chat.  Here `transformers` renders, with the
    spans of the assistant, then encodes the text as a chat of its own, and the few spans are looked up in the places.
    """
    call = _signature(kind).bind(owner, *arguments, **options)
    call.apply_defaults()
    given = dict(call.arguments)
    named = given.pop("kwargs", {})
    refused = ("continue_final_message", "sanitize_control_tokens")
    if not (given["tokenize"] and given["return_dict"]) or any(given.get(name) for name in refused):
        return None
    chats, is_batched = _chats(given["conversation"])
    rendered = _rendered(owner, chats, given, named) if chats else None
    if rendered is None:
        return None
    texts, spans, are_own = rendered
    plain = {name: value for name, value in given.items() if name not in ("self", *_OF_TEMPLATES)}
    as_chats = [[{"role": "assistant", "content": text}] for text in texts]
    out = kind.apply_chat_template(
        owner, as_chats if is_batched else as_chats[0],
        **plain | {"chat_template": _AS_IT_IS, "return_assistant_tokens_mask": False},
    )  # fmt: skip
    rows: Any = getattr(out, "encodings", None)
    masks: list[list[int] | None] = [None]
    if isinstance(rows, BatchRows) and rows.texts() == texts:
        masks = [_mask(row, each) for row, each in zip(rows, spans, strict=True)]
    if None in masks:
        if not are_own:
            return None
        pieces = [_pieces(text, each) for text, each in zip(texts, spans, strict=True)]
        return kind.apply_chat_template(
            owner, pieces if is_batched else pieces[0], **plain | {"chat_template": _IN_PIECES}
        )
    tensors = given.get("return_tensors")
    out["assistant_masks"] = masks if is_batched or tensors else masks[0]
    return out.convert_to_tensors(tensor_type=tensors) if tensors else out


@cache
def _signature(kind: Any) -> Signature:
    return signature(kind.apply_chat_template)


def _chats(conversation: Any) -> tuple[list[Any], bool]:
    """Return the chats of a call, and whether it has a list of them; no chat if `transformers` must look at them."""
    if not isinstance(conversation, list | tuple) or not conversation:
        return [], False
    if isinstance(conversation[0], dict):
        return [conversation], False
    are_lists = all(isinstance(chat, list | tuple) for chat in conversation)
    return (list(conversation), True) if are_lists else ([], False)


def _rendered(
    owner: Any, chats: list[Any], given: Mapping[str, Any], named: Mapping[str, Any]
) -> tuple[list[str], list[_Spans], bool] | None:
    """Return the texts of chats, the spans of the assistant in each, and whether these are ours.

    It is `None` with an older `transformers`.
    """
    try:
        safe_import("transformers.utils", "chat_template_utils")
        from transformers.utils import chat_template_utils as utils

        render: Any = utils.render_jinja_template
    except (ImportError, AttributeError):
        return None
    tools, template = given.get("tools"), owner.get_chat_template(given.get("chat_template"), given.get("tools"))
    own = _engine(owner) if OwnMasks.is_on and _TAG.search(template) is None else None
    variables = {**owner.special_tokens_map, **named}
    texts, spans = render(
        conversations=[getattr(utils, "_normalize_chat_messages", list)(chat) for chat in chats],
        tools=tools,
        documents=given.get("documents"),
        chat_template=template,
        return_assistant_tokens_mask=own is None,
        add_generation_prompt=given.get("add_generation_prompt", False),
        **variables,
    )
    if own is None:
        return list(texts), list(spans), False
    options = {
        "documents": given.get("documents"), "chat_template": template, "variables": variables,
        "add_generation_prompt": given.get("add_generation_prompt", False),
    }  # fmt: skip
    found = learned_texts(own, chats, tools, options)
    if [text for text, _ in found] != list(texts):
        raise VocabularyError(
            "transformers renders this chat differently from bbpe, so it has no mask; call patch_transformers() "
            "without masks=True, which leaves masks to templates with {% generation %}"
        )
    return list(texts), [own_spans for _, own_spans in found], True


def _engine(owner: Any) -> Any:
    """Return our tokenizer under one of `transformers`; `None` if a change has ended the acceleration."""
    backend = owner._tokenizer
    hf_texts = backend.ready() if isinstance(backend, Backend) else None
    return None if hf_texts is None else hf_texts.tokenizer


def _pieces(text: str, spans: _Spans) -> list[dict[str, str]]:
    """Return a text as messages: those of the assistant are its spans."""
    bounds = [0, *(bound for span in spans for bound in span), len(text)]
    roles = ("user", "assistant")
    return [
        {"role": roles[number % 2], "content": text[start:end]} for number, (start, end) in enumerate(pairwise(bounds))
    ]


def _mask(row: Encoding, spans: _Spans) -> list[int] | None:
    """Return 1 for each token of the spans; `None` if `transformers` must find them."""
    if any(one[1] > other[0] for one, other in pairwise(spans)):
        return None
    bounds = np.array(spans, np.int64).reshape(-1, 2)
    mask = list[int]()
    for part in row.parts:
        if part.source is None:
            mask += [0] * (part.stop - part.start)
            continue
        found = part.source.covered(bounds, part.start, part.stop) if isinstance(part.source, TextSource) else None
        if found is None or not (found[1] or _marks_overlaps()):
            return None
        mask += found[0]
    return mask


@cache
def _marks_overlaps() -> bool:
    """Return whether `transformers` marks each token that overlaps a span.

    Versions before 5 mark those from the token of its first character to the token of its last, and none if the first
    one is cut off.
    """
    safe_import("tokenizers", "Tokenizer", "models", "pre_tokenizers")
    from tokenizers import Tokenizer, models, pre_tokenizers

    safe_import("transformers", "PreTrainedTokenizerFast")
    from transformers import PreTrainedTokenizerFast

    inner = Tokenizer(models.WordLevel({"a": 0, "b": 1}, unk_token="a"))
    inner.pre_tokenizer = pre_tokenizers.Whitespace()
    make: Any = PreTrainedTokenizerFast
    cut = make(tokenizer_object=inner, truncation_side="left", chat_template="{% generation %}a b{% endgeneration %}")
    # the method of the class, since `patch_transformers` accelerates this one too
    found: Any = PreTrainedTokenizerFast.apply_chat_template(
        cut, [{"role": "assistant", "content": ""}], tokenize=True, return_dict=True,
        return_assistant_tokens_mask=True, truncation=True, max_length=1,
    )  # fmt: skip
    return bool(found["assistant_masks"] == [1])
