"""The batches of an accelerated tokenizer, and its chats with a mask, as `transformers` returns them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from functools import cache
from inspect import Signature, signature
from itertools import pairwise
from typing import Any

from ...core.column import Column
from ...lazy import np, safe_import
from ...types import Padded
from ..columns import listed, opened
from ..tokenizers.encoding import Encoding
from ..tokenizers.row_options import Padding, pad_rows, row
from ..tokenizers.texts import HfTexts, TextSource
from .backend import Backend
from .call_options import Options

#: Options of a call that the quick way does not have, and their usual values.
_USUAL: Mapping[str, Any] = {
    "stride": 0, "is_split_into_words": False, "return_overflowing_tokens": False, "return_special_tokens_mask": False,
    "return_offsets_mapping": False, "return_length": False,
}  # fmt: skip
_KNOWN = frozenset({
    *_USUAL, "add_special_tokens", "padding_strategy", "truncation_strategy", "max_length", "pad_to_multiple_of",
    "padding_side", "return_tensors", "return_token_type_ids", "return_attention_mask", "verbose",
    "split_special_tokens",
})  # fmt: skip


def one_call(owner: Any) -> AbstractContextManager[None]:
    """Return what keeps the options that `transformers` sets to one call."""
    backend = owner._tokenizer
    return backend.chosen.call() if type(backend) is Backend else nullcontext()


def encoded_plus(owner: Any, text: Any, text_pair: Any = None, *more: Any, **options: Any) -> Any:
    """Return what `_encode_plus` of `transformers` returns for a text, a pair, or lists of them."""
    text, text_pair = opened_pair(text, text_pair)
    is_batched = isinstance(text, list | tuple | Column)
    items: list[Any] | Column
    if not is_batched:
        items = [text] if not text_pair else [(text, text_pair)]
    elif text_pair is None:
        items = text if isinstance(text, Column) else list(text)
    else:
        is_matched = isinstance(text_pair, list | tuple) and len(text) == len(text_pair)
        items = list(zip(text, text_pair, strict=True)) if is_matched else []
    found = batch_of(owner, items, options) if items and not more else None
    if found is None:
        return owner._bbpe_kind._encode_plus(owner, listed(text), text_pair, *more, **options)
    if is_batched or options.get("return_tensors") is not None:
        return found
    first = {key: value[0] for key, value in found.items()}
    return type(found)(first, found.encodings, n_sequences=found.n_sequences)


def opened_pair(text: Any, text_pair: Any) -> tuple[Any, Any]:
    """Return texts and their pairs; a column of Arrow is opened if it has none, and a list of strings otherwise."""
    return (opened(text), None) if text_pair is None else (listed(text), listed(text_pair))


def batch_of(owner: Any, items: list[Any] | Column, options: dict[str, Any]) -> Any:
    """Return the rows of texts or pairs of texts as `transformers` does; `None` if it must make them itself."""
    backend = owner._tokenizer
    if type(backend) is not Backend or not _is_usual(items, options):
        return None
    is_pair = type(items[0]) is tuple
    plain = options.get("split_special_tokens")
    backend.encode_special_tokens = owner.split_special_tokens if plain is None else plain
    hf_texts = backend.ready()
    if hf_texts is None:
        return None
    owner.set_truncation_and_padding(
        padding_strategy=options["padding_strategy"], truncation_strategy=options["truncation_strategy"],
        max_length=options.get("max_length"), stride=0, pad_to_multiple_of=options.get("pad_to_multiple_of"),
        padding_side=options.get("padding_side"),
    )  # fmt: skip
    wants_types = _wanted(owner, options, "token_type_ids")
    adds = options.get("add_special_tokens", True)
    rows: Any = _Rows(hf_texts, backend.chosen.options, items, adds)
    data = rows.arrays(wants_types, options.get("return_tensors") is not None)
    if data is None:
        return None
    if rows.longest > owner.model_max_length:
        ids = range(rows.longest)  # the message has their number only
        owner._eventual_warn_about_too_long_sequence(ids, options.get("max_length"), options.get("verbose", True))
    if not _wanted(owner, options, "attention_mask"):
        del data["attention_mask"]
    safe_import("transformers", "BatchEncoding")
    from transformers import BatchEncoding

    return BatchEncoding(data, rows, tensor_type=options.get("return_tensors"), n_sequences=1 + is_pair)


def _is_usual(items: list[Any] | Column, options: dict[str, Any]) -> bool:
    """Return whether a call has texts or pairs of texts, and only options of the quick way."""
    if any(options[name] is not None and options[name] != _USUAL.get(name, options[name]) for name in options):
        return False
    if any(options[name] for name in options.keys() - _KNOWN):
        return False
    if not {"padding_strategy", "truncation_strategy"} <= options.keys():
        return False
    if isinstance(items, Column):
        return True
    if type(items[0]) is not tuple:
        return all(type(item) is str for item in items)
    return all(type(item) is tuple and len(item) == 2 and type(item[0]) is type(item[1]) is str for item in items)


def _wanted(owner: Any, options: dict[str, Any], name: str) -> bool:
    wanted = options.get(f"return_{name}")
    return name in owner.model_input_names if wanted is None else bool(wanted)


class _Rows(Sequence[Encoding]):
    """The encodings of a batch, which are made when one is asked for."""

    def __init__(self, hf_texts: HfTexts, options: Options, items: list[Any] | Column, adds: bool) -> None:
        self._hf_texts, self._items, self._adds = hf_texts, items, adds
        self._truncation, self._padding, self._is_plain = options
        self._made: list[Encoding] | None = None
        #: The number of ids of the longest row.
        self.longest = 0

    def arrays(self, wants_types: bool, as_arrays: bool) -> dict[str, Any] | None:
        """Return the ids, types and mask; `None` if the quick way does not have the options."""
        cut, pads = self._truncation, self._padding
        tokenizer, is_pair = self._hf_texts.tokenizer, type(self._items[0]) is tuple
        allowed: Any = () if self._is_plain else "all"
        template = self._hf_texts.template
        if self._is_plain and self._hf_texts.spec.modelled:  # the model makes special tokens itself, as in `tokenizers`
            return None
        if is_pair and self._adds and not template.pair:
            return None
        if cut is not None and self._adds and cut.max_length < self._hf_texts.added_count(is_pair):
            return None
        types = {type_id for _, type_id in (template.pair if is_pair else template.single)}
        if pads is None and cut is None and not (wants_types and types != {0}):
            ids = tokenizer.encode_batch(self._items, allowed_special=allowed, add_special_tokens=self._adds)
            lengths = list(map(len, ids))
            self.longest = max(lengths)
            data: dict[str, Any] = {"input_ids": ids}
            if wants_types:
                data["token_type_ids"] = [[0] * length for length in lengths]
            return {**data, "attention_mask": [[1] * length for length in lengths]}
        found = self._padded(allowed)
        if found is None:
            return None
        lengths = found.lengths.tolist()
        self.longest = max(lengths)
        data = {"input_ids": found.ids}
        if wants_types:
            data["token_type_ids"] = found.type_ids.astype(np.int64)
        data["attention_mask"] = found.mask.astype(np.int64)
        if pads is None:
            return {name: [line[:length].tolist() for line, length in zip(value, lengths, strict=True)]
                    for name, value in data.items()}  # fmt: skip
        return data if as_arrays else {name: value.tolist() for name, value in data.items()}

    def _padded(self, allowed: Any) -> Padded | None:
        cut, pads = self._truncation, self._padding or Padding()
        is_fixed = pads.length is not None
        if pads.pad_type_id or (is_fixed and (cut is None or pads.length != cut.max_length)):
            return None
        try:
            return self._hf_texts.tokenizer.encode_padded(
                self._items,
                None if cut is None else cut.max_length,
                pads.pad_id,
                pads.direction,
                pads.pad_to_multiple_of,
                truncation=None if cut is None else cut.strategy,  # type: ignore[arg-type]
                truncation_side=None if cut is None else cut.direction,
                padding="max_length" if is_fixed else "longest",
                dtype="int64",
                allowed_special=allowed,
                add_special_tokens=self._adds,
            )
        except ValueError:  # the view raises the error of `tokenizers`
            return None

    def _rows(self) -> list[Encoding]:
        if self._made is None:
            hf_texts, matcher = self._hf_texts, self._hf_texts.matcher(self._is_plain)
            pairs = [item if type(item) is tuple else (item,) for item in listed(self._items)]
            rows = [
                row(hf_texts, [hf_texts.encoded(text, matcher) for text in texts], self._adds, self._truncation)
                for texts in pairs
            ]
            self._made = pad_rows(rows, self._padding)
        return self._made

    def texts(self) -> list[Any]:
        """Return the texts, or pairs of texts."""
        return list(listed(self._items))

    def __getitem__(self, number: Any) -> Any:
        return self._rows()[number]

    def __len__(self) -> int:
        return len(self._items)

    def __iter__(self) -> Iterator[Encoding]:
        return iter(self._rows())

    def __reduce__(self) -> tuple[Any, ...]:
        return list, (self._rows(),)


# -- chats ------------------------------------------------------------------------------------------------

#: The template of chats that are rendered already: one message with the whole text.
_AS_IT_IS = "{{ messages[0].content }}"
#: What only the template of a chat reads, and what says how it is rendered.
_OF_TEMPLATES = ("conversation", "tools", "documents", "chat_template", "add_generation_prompt")


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
    texts, spans = rendered
    plain = {name: value for name, value in given.items() if name not in ("self", *_OF_TEMPLATES)}
    as_chats = [[{"role": "assistant", "content": text}] for text in texts]
    out = kind.apply_chat_template(
        owner, as_chats if is_batched else as_chats[0],
        **plain | {"chat_template": _AS_IT_IS, "return_assistant_tokens_mask": False},
    )  # fmt: skip
    rows: Any = getattr(out, "encodings", None)
    if not isinstance(rows, _Rows) or rows.texts() != texts:
        return None
    masks = [_mask(row, each) for row, each in zip(rows, spans, strict=True)]
    if None in masks:
        return None
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
) -> tuple[list[str], list[Sequence[tuple[int, int]]]] | None:
    """Return the texts of chats, and the spans of the assistant in each; `None` with an older `transformers`."""
    try:
        safe_import("transformers.utils", "chat_template_utils")
        from transformers.utils import chat_template_utils as utils

        render: Any = utils.render_jinja_template
    except (ImportError, AttributeError):
        return None
    tools = given.get("tools")
    texts, spans = render(
        conversations=[getattr(utils, "_normalize_chat_messages", list)(chat) for chat in chats],
        tools=tools,
        documents=given.get("documents"),
        chat_template=owner.get_chat_template(given.get("chat_template"), tools),
        return_assistant_tokens_mask=True,
        add_generation_prompt=given.get("add_generation_prompt", False),
        **{**owner.special_tokens_map, **named},
    )
    return list(texts), list(spans)


def _mask(row: Encoding, spans: Sequence[tuple[int, int]]) -> list[int] | None:
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
