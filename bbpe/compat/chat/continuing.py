"""Chats that go on after ids were sampled: ids that exist stay, and only the text after them is encoded."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from itertools import takewhile
from typing import TYPE_CHECKING, Any

from ...core.chat_rows import ChatRuns, Turn
from ...core.id_source import as_ids
from ...core.traced import part
from ...encoding.decode import checked_ids
from ...lazy import np, npt
from ...records import dataclass, replace
from ...types import ChatRequest, EncodedChat
from . import ChatCall, chat_call, check_flags
from .choice import Choice
from .encoding import ChatEncoder, chat_encoder, encoded_text, render_traced
from .messages import Message, conversation_of
from .origins import HEADER, SHIFT, Traced, joined, literal, plain_text, runs_of

if TYPE_CHECKING:
    from ...encoding.decode import Ids
    from ...tokenizer import Tokenizer


@dataclass(frozen=True)
class _Answer:
    """The ids that a model has sampled, their text and places after that of the chat, and the tokens that end them."""

    ids: npt.NDArray[np.int32]
    text: str
    places: npt.NDArray[np.int64]
    ends: list[str]

    @property
    def content(self) -> str:
        """The text without the tokens at its end."""
        return self.text.removesuffix("".join(self.ends))


def continue_chat(
    tokenizer: Tokenizer, chat: EncodedChat, sampled_ids: Ids, messages: object = (), add_generation_prompt: Any = None
) -> EncodedChat:
    """Return a chat with sampled ids and new messages; `Tokenizer.continue_chat` documents the details."""
    if not isinstance(chat, EncodedChat) or chat._request is None:
        raise TypeError(f"chat is {type(chat).__name__}; expected an EncodedChat of encode_chat or continue_chat")
    encoder, request = chat_encoder(tokenizer), chat._request
    answer = _answer(tokenizer, encoder, chat, sampled_ids)
    new = conversation_of(messages)
    options = dict(request.options)
    has_prompt = bool(options.get("add_generation_prompt"))
    if add_generation_prompt is None:
        add_generation_prompt = bool(new) and has_prompt
    check_flags(add_generation_prompt)
    if not len(answer.ids) and not new and (has_prompt or not add_generation_prompt):
        return chat
    if options["train_on"] is None:
        raise TypeError(
            "the train_on of this chat was a function that pickle cannot take, such as a lambda, so the copy lacks it; "
            "expected a function of a module, a role or a set of roles as train_on= of encode_chat"
        )
    rows, number = _with_answer(request, options, answer)
    options |= {"add_generation_prompt": add_generation_prompt, "continue_final_message": False}
    choice, others = Choice.of(options)
    call = chat_call(tokenizer, [*rows, *new], method="continue_chat", **others)
    return _continued(encoder, call, choice, _Point(chat, answer, number), replace(request, options=options))


@dataclass(frozen=True)
class _Point:
    """Where a chat goes on: after an answer, which is a message of this number; `None` without one."""

    chat: EncodedChat
    answer: _Answer
    number: int | None


def _answer(tokenizer: Tokenizer, encoder: ChatEncoder, chat: EncodedChat, sampled_ids: Ids) -> _Answer:
    try:
        ids = as_ids(checked_ids(sampled_ids))
    except TypeError as error:
        problem = f"sampled_ids is {type(sampled_ids).__name__} {sampled_ids!r:.40}"
        raise TypeError(f"{problem}; expected a list of ids: {error}") from None
    sampled = ids.astype(np.int32)
    try:
        text, starts = tokenizer.decode_with_offsets(np.concatenate([chat.ids, ids]))  # which refuses ids out of range
        is_whole = True
    except UnicodeDecodeError:
        text, starts = _decoded(tokenizer, chat, sampled)
        is_whole = False
    bounds = np.array([*starts[len(chat.ids) :], len(text)], np.int64)
    places = np.stack([bounds[:-1], bounds[1:]], 1)
    if is_whole:  # a character of several ids has the places of all of them
        parts = [at for at in np.flatnonzero(places[:, 0] == places[:, 1]) if tokenizer.decode_bytes(sampled[[at]])]
        places[parts, 1] = np.minimum(places[parts, 0] + 1, len(text))
    places += len(chat.text) - bounds[0]
    ends = takewhile(encoder.special_ids.__contains__, sampled.tolist()[::-1])
    return _Answer(sampled, text[int(bounds[0]) :], places, [tokenizer.decode([each]) for each in ends][::-1])


def _decoded(tokenizer: Tokenizer, chat: EncodedChat, sampled: npt.NDArray[np.int32]) -> tuple[str, list[int]]:
    """Return the text of a chat and of ids that are not whole characters, with U+FFFD for these, and where ids start.

    A character has the place of the id that completes it.
    """
    stream = tokenizer.stream_decoder(errors="replace", prompt=chat.ids.tolist())
    pieces = [stream.push(token_id) for token_id in sampled.tolist()]
    last = stream.finish()
    starts = np.cumsum([len(chat.text), *map(len, pieces)]).tolist()
    return "".join([chat.text, *pieces, last]), [*[0] * len(chat.ids), *starts[:-1]]


def _with_answer(
    request: ChatRequest, options: Mapping[str, Any], answer: _Answer
) -> tuple[list[Message], int | None]:
    """Return the messages with the one that was sampled, and its number."""
    rows = [dict(message) for message in request.messages]
    field = options.get("continue_final_message")
    if field:
        name = field if isinstance(field, str) else "content"
        if not isinstance(rows[-1].get(name), str):
            found = type(rows[-1].get(name)).__name__
            raise TypeError(f"field {name!r} of the last message is {found}; expected a text")
        rows[-1] = {**rows[-1], name: rows[-1][name] + answer.content}
        return rows, len(rows) - 1
    if not len(answer.ids) and not options.get("add_generation_prompt"):
        return rows, None
    return [*rows, {"role": "assistant", "content": answer.content}], len(rows)


def _continued(
    encoder: ChatEncoder, call: ChatCall, choice: Choice, point: _Point, request: ChatRequest
) -> EncodedChat:
    chat, answer, number = point.chat, point.answer, point.number
    rows = call.chats[0]
    found = call.rendered(0, partial(render_traced, call.template, call.tokens, call.variables))
    whole = found if isinstance(found, Traced) else literal(found)
    turn = encoder.turn(call)
    start = _rest(whole, point, turn)
    rest = part(whole, start, len(whole))
    context = answer.ends[-1] if answer.ends else encoder.context
    ids, places = encoded_text(encoder, choice, joined([literal(context), rest]))
    first = int(bool(context))
    ids, places = ids[first:], np.maximum(places[first:] - len(context), 0)
    chosen = choice.chosen(rows)
    own = number is not None and chosen[number]
    mask = np.full(len(answer.ids), own, np.uint8)
    if answer.ends and not choice.turn_end:
        mask[-len(answer.ends) :] = 0
    if number is not None:
        chosen[number] = False
    spans = ChatRuns(runs_of(whole)).learned(plain_text(whole), chosen, turn, choice.turn_end)
    spans = [(max(begin, start) - start, end - start) for begin, end in spans if end > start]
    before = len(chat.text) + len(answer.text)
    rest_mask, numbers = ChatRuns(runs_of(rest)).rows(places, spans)
    made = np.concatenate([chat.ids, answer.ids, ids])
    canonical, _ = encoded_text(encoder, choice, whole)
    at = number if number is not None else -1
    return EncodedChat(
        made, np.concatenate([chat.mask, mask, rest_mask]),
        np.concatenate([
            chat.message_of, np.full(len(answer.ids), at + chat.dropped, np.int32),
            np.where(numbers >= 0, numbers + chat.dropped, -1).astype(np.int32),
        ]),
        np.concatenate([chat.places, answer.places, places + before]),
        chat.text + answer.text + plain_text(rest),
        chat.dropped, _difference(made, canonical), replace(request, messages=tuple(rows)),
    )  # fmt: skip


def _rest(whole: Traced, point: _Point, turn: Turn) -> int:
    """Return where the text begins that follows the answer in the text of the whole chat."""
    chat, answer = point.chat, point.answer
    fields = [
        end for end, origin in runs_of(whole)
        if not origin & HEADER and point.number is not None and (origin >> SHIFT) - 1 == point.number
    ]  # fmt: skip
    if not fields:
        if not str.startswith(whole, chat.text):
            raise ValueError(
                "the template writes the beginning of the chat differently now that messages follow it, and no text "
                "was sampled to continue from; encode the whole chat by encode_chat"
            )
        start = len(chat.text)
    else:
        start = fields[-1]
    stop = turn.next_header(plain_text(whole), start, len(whole))
    for end in ("".join(answer.ends), *answer.ends[-1:]):
        at = str.find(whole, end, start, stop)
        if at >= 0:
            return at + len(end)
    return start


def _difference(ids: npt.NDArray[np.int32], canonical: npt.NDArray[np.int32]) -> int | None:
    """Return the index of the first id that differs, or `None`."""
    least = min(len(ids), len(canonical))
    differing = np.flatnonzero(ids[:least] != canonical[:least])
    if len(differing):
        return int(differing[0])
    return None if len(ids) == len(canonical) else least
