"""Chats -> ids, masks and messages, in which special tokens count only where the template wrote them."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, TypeAlias

from ...core.chat_rows import ChatRuns, Turn
from ...core.matcher import TokenMatcher
from ...core.places import PlacesCall, TextRanges
from ...encoding.engine import THREAD_WORTH
from ...errors import SpecialTokenError, VocabularyError
from ...lazy import lazy_re, np, npt, safe_import
from ...pipeline.special_tokens import Selection
from ...records import replace
from ...spec.chat_templates import ChatTemplate
from ...threads import check_threads, imap
from ...types import ChatRequest, EncodedChat, EncodedChats
from . import OWN, ChatCall, chat_call, chat_options
from .choice import CHOICES, Choice, check_marks
from .columns import naming, rows_of
from .messages import RESULTS, Message
from .origins import UNKNOWN, Traced, plain_text, runs_of, traced

if TYPE_CHECKING:
    from ...tokenizer import Tokenizer

#: Starts and ends of characters, in order.
Spans: TypeAlias = list[tuple[int, int]]

_TAG = lazy_re(r"<[^<>\s]+>|\[[^\[\]\s]+\]")
_THOUGHT = lazy_re(r"<\|?think")
#: The sets of tokens that segments may allow; the number of one is a byte.
MOST_LEVELS = 256
# texts of a chat that shows how a template writes turns
_ASKED, _ANSWERED = "Which one?", "This one."
_SYSTEM = ("system", "developer")
# the ids that the header of a message may have more than that of another one, and those at its seam
_HEADER_IDS = 64
_TASK = 16  # chats that a thread takes at once


def encode_chat(tokenizer: Tokenizer, messages: object, tools: object = None, **options: Any) -> EncodedChat:
    """Return the ids of a chat; `Tokenizer.encode_chat` documents the details."""
    choice, others = Choice.of(options)
    call = chat_call(tokenizer, messages, tools, method="encode_chat", **others)
    if call.is_batch:
        raise TypeError("messages has several conversations; expected one, or encode_chat_batch")
    return _encoded(chat_encoder(tokenizer), call, 0, choice, _kept_options(call, options))


def _kept_options(call: ChatCall, options: Mapping[str, Any]) -> dict[str, Any]:
    """Return the options with which a chat goes on, as plain data, which the caller does not change."""
    given = call.variables
    variables = {name: value for name, value in given.items() if name not in OWN}
    kept = {name: options[name] for name in (*CHOICES, "chat_template", "continue_final_message") if name in options}
    return {"train_on": "assistant", **kept, "variables": variables, **{name: given[name] for name in OWN[1:]}}


def encode_chat_batch(
    tokenizer: Tokenizer, conversations: Iterable[Any], tools: object = None, *, threads: int | None = None,
    **options: Any,
) -> EncodedChats:  # fmt: skip
    """Return the ids of chats; `Tokenizer.encode_chat_batch` documents the details."""
    check_threads(threads)
    choice, others = Choice.of(options)
    rows, encoder = rows_of(conversations), chat_encoder(tokenizer)
    if not rows:
        encoder.chat_call(choice.content_special)
        chat_options(tokenizer, tools, method="encode_chat_batch", **others)
        return EncodedChats.of([])
    call = chat_call(tokenizer, rows, tools, method="encode_chat_batch", **others)
    kept = _kept_options(call, options)
    names = [f"conversations[{number}]" for number in range(len(call.chats))]
    texts = [naming(name, _rendered, call, number) for number, name in enumerate(names)]
    encoder.turn(call)  # made once, by this thread

    def encoded(start: int) -> list[EncodedChat]:
        numbers = range(start, min(start + _TASK, len(texts)))
        return [naming(names[i], _encoded, encoder, call, i, choice, kept, texts[i]) for i in numbers]

    is_short = threads is None and sum(map(len, texts)) < THREAD_WORTH
    parts = imap(encoded, range(0, len(texts), _TASK), 1 if is_short else threads)
    return EncodedChats.of([chat for part in parts for chat in part])


def count_chat(tokenizer: Tokenizer, messages: object, tools: object, **options: Any) -> int:
    """Return the number of ids that `encode_chat` gives; a message needs no role for that."""
    call = chat_call(tokenizer, messages, tools, method="count_messages", **options)
    return len(encoded_text(chat_encoder(tokenizer), Choice(), _rendered(call, 0))[0])


def encode_segments(tokenizer: Tokenizer, segments: Iterable[tuple[str, Selection]]) -> list[int]:
    """Return the ids of segments; `Tokenizer.encode_segments` documents the details."""
    encoder, special = chat_encoder(tokenizer), frozenset(tokenizer.special_tokens)
    texts: list[str] = []
    levels: list[frozenset[str]] = []
    if not isinstance(segments, Iterable) or isinstance(segments, str | bytes | Mapping):
        raise TypeError(f"segments is {type(segments).__name__} {segments!r:.40}; expected a list of (text, allowed)")
    for number, segment in enumerate(segments):
        if not isinstance(segment, tuple | list) or len(segment) != 2 or not isinstance(segment[0], str):
            raise TypeError(f"segments[{number}] is {type(segment).__name__} {segment!r:.40}; expected (text, allowed)")
        text, allowed = segment
        level = encoder.allowed(allowed, f"segments[{number}]", special)
        if text:
            texts.append(text)
            levels.append(level)
    known = {level: number for number, level in enumerate(dict.fromkeys(levels))}
    if not known:
        return []
    if len(known) > MOST_LEVELS:
        raise ValueError(
            f"segments have {len(known)} different sets of allowed tokens; expected at most {MOST_LEVELS}: give "
            "segments of one origin the same set"
        )
    ends = np.cumsum([len(text) for text in texts], dtype=np.int64)
    ranges = TextRanges(ends, np.array([known[level] for level in levels], np.uint8))
    added = frozenset(tokenizer.added_tokens)
    ids, _ = encoder.call(tuple(level | added for level in known)).encode_ranges("".join(texts), ranges)
    found: list[int] = ids.tolist()
    return found


def chat_encoder(tokenizer: Tokenizer) -> ChatEncoder:
    """Return what encodes the chats of a tokenizer, which keeps it."""
    # another thread may clear what is kept at any time
    kept = tokenizer._parts.kept
    found: ChatEncoder | None = kept.get("chats")
    if found is None:
        found = kept["chats"] = ChatEncoder(tokenizer)
    return found


class ChatEncoder:
    """Encodes the chats of a tokenizer: it has the calls that encode texts in ranges, and how templates write turns.

    `tokens` are the special and added tokens that a content may not have: all but those of white space, which are text.
    `special_ids` are those of special tokens.
    """

    def __init__(self, tokenizer: Tokenizer) -> None:
        # the tokenizer keeps this object, so this one has only its parts
        self._parts = tokenizer._parts
        special, added = tokenizer.special_tokens, tokenizer.added_tokens
        self._every = frozenset((*special, *added))
        self._text = frozenset(text for text in added if not text.replace("\u2581", " ").strip())
        self.tokens = self._every - self._text
        self.special_ids = frozenset(special.values())
        options = tokenizer.spec.token_options
        #: A token before a text in the middle of a chat, so that it gets no prefix of a text of its own.
        self.context = next((text for text in special if text not in options), "")
        self._calls: dict[tuple[frozenset[str], ...], PlacesCall] = {}
        self._turns: dict[tuple[str, str], Turn] = {}
        names = [text.encode("utf-8", "surrogatepass") for text in self.tokens]
        self._policy = TokenMatcher(names).policy(range(len(names)))

    def call(self, levels: tuple[frozenset[str], ...]) -> PlacesCall:
        """Return the call that encodes texts whose ranges have levels."""
        found = self._calls.get(levels)
        if found is None:
            if len(self._calls) >= 64:
                self._calls.clear()
            matcher = self._parts.specials.in_ranges(levels)
            found = self._calls[levels] = self._parts.places.in_ranges(matcher)
        return found

    def chat_call(self, content_special: Selection) -> PlacesCall:
        """Return the call that encodes chats: texts of level 1 are trusted, and those of level 0 are contents."""
        chosen = self.allowed(content_special, "content_special", self._every)
        return self.call((chosen | self._text, self._every))

    def allowed(self, selection: Selection, name: str, every: frozenset[str]) -> frozenset[str]:
        """Return the tokens of an argument; `TypeError` and `SpecialTokenError` naming it."""
        if isinstance(selection, str) and selection == "all":
            return every
        if isinstance(selection, str) or not isinstance(selection, Collection):
            raise TypeError(f'{name} is {selection!r:.40}; expected "all" or a set of tokens')
        for text in selection:
            if not isinstance(text, str) or text not in every:
                tokens = "special or added" if every is self._every else "special"
                raise SpecialTokenError(f"{name} has {text!r:.40}, which is no {tokens} token of this tokenizer")
        return frozenset(selection)

    def next_token(self, text: str, start: int, stop: int) -> tuple[int, int] | None:
        """Return where the next token is in text[start:stop]."""
        data = text[start:stop].encode("utf-8", "surrogatepass")
        found = self._policy.find(data, 0, 1)
        if not found:
            return None
        begin, end = (len(data[:place].decode("utf-8", "surrogatepass")) for place in found[0][:2])
        return start + begin, start + end

    def turn(self, call: ChatCall) -> Turn:
        """Return how a template writes the turns of the assistant, by short chats."""
        variables = {**call.variables, "tools": None, "documents": None}
        key = call.template.source, repr(sorted(variables.items()))
        found = self._turns.get(key)
        if found is None:
            if len(self._turns) >= 64:
                self._turns.clear()
            found = self._turns[key] = self._turn(call, variables)
        return found

    def _turn(self, call: ChatCall, variables: Mapping[str, Any]) -> Turn:
        asked, answered = {"role": "user", "content": _ASKED}, {"role": "assistant", "content": _ANSWERED}

        def shown(messages: list[Message], adds: bool) -> str:
            for tools in (None, list[Any]()):  # some templates cannot do without a list
                given = {**variables, "tools": tools, "add_generation_prompt": adds}
                try:
                    return plain_text(render_traced(call.template, call.tokens, given, messages))
                except VocabularyError:  # the template refuses such a chat
                    continue
            return ""

        before, after = shown([asked], False), shown([asked], True)
        begins = after[self._common(before, after) :]
        if (thought := self._thought(begins)) is not None:
            begins = begins[:thought]
        opens = self.next_token(begins, 0, len(begins)) or next((tag.span() for tag in _TAG.finditer(begins)), None)
        ends = []
        last = shown([asked, answered], False)
        if _ANSWERED not in last:  # the template reads parts alone
            last = shown([_in_parts(asked), _in_parts(answered)], False)
        tail = last[last.rfind(_ANSWERED) + len(_ANSWERED) :].strip() if _ANSWERED in last else ""
        ends += self._ends_of(tail)
        eos = call.tokens.get("eos_token")
        ends += [eos] if eos else []
        return Turn(begins, "" if opens is None else begins[slice(*opens)], tuple(ends), self.next_token)

    def _common(self, before: str, after: str) -> int:
        """Return where two texts begin to differ, before the token in which they do."""
        pairs = enumerate(zip(before, after, strict=False))
        at = next((number for number, (one, other) in pairs if one != other), min(len(before), len(after)))
        place = self.next_token(after, 0, len(after))
        while place is not None and place[1] <= at:
            place = self.next_token(after, place[1], len(after))
        return at if place is None else min(at, place[0])

    def _ends_of(self, tail: str) -> list[str]:
        """Return the beginnings of the text after an answer that end a turn.

        They go up to its first token, and to the last one of those that follow it at once; or up to white space before
        it, where a text of the template is no token of this tokenizer.
        """
        first = self.next_token(tail, 0, len(tail))
        if first is None:
            return [tail] if tail else []
        stop = first[1]
        while (place := self.next_token(tail, stop, len(tail))) is not None and place[0] == stop:
            stop = place[1]
        before = tail[: first[0]].rstrip()
        is_apart = 0 < len(before) < first[0]
        return [before] if is_apart else list(dict.fromkeys((tail[: first[1]], tail[:stop])))

    def _thought(self, begins: str) -> int | None:
        """Return where the generation prompt begins a thought, which is the assistant's."""
        found = _THOUGHT.search(begins)
        return None if found is None else found.start()


def _in_parts(message: Message) -> Message:
    return {**message, "content": [{"type": "text", "text": message["content"]}]}


def render_traced(
    template: ChatTemplate, tokens: Mapping[str, str], variables: Mapping[str, Any], messages: list[Message]
) -> Traced:
    """Return the text of a chat with the origins of its characters."""
    # jinja2 is an extra, and the first of these modules asks for it
    safe_import("bbpe.compat.chat.sandbox")
    safe_import("bbpe.compat.chat.tracing")
    from . import tracing

    return tracing.render_traced(template, tokens, variables, messages)


def _encoded(
    encoder: ChatEncoder, call: ChatCall, number: int, choice: Choice, options: Mapping[str, Any],
    text: Traced | None = None,
) -> EncodedChat:  # fmt: skip
    request = ChatRequest(tuple(call.chats[number]), options)
    chat = _whole(encoder, call, number, choice, request, text)
    if choice.max_length is None or len(chat.ids) <= choice.max_length:
        return chat
    return _shortened(encoder, call, number, choice, chat)


def _rendered(call: ChatCall, number: int) -> Traced:
    """Return the text of a chat, which the template makes once."""
    text = call.rendered(number, partial(render_traced, call.template, call.tokens, call.variables))
    return text if isinstance(text, Traced) else traced(text, UNKNOWN)


def _whole(
    encoder: ChatEncoder, call: ChatCall, number: int, choice: Choice, request: ChatRequest, found: Traced | None = None
) -> EncodedChat:
    text, runs, spans = _followed(encoder, call, number, choice, found)
    ids, places = encoder.chat_call(choice.content_special).encode_ranges(text, runs.ranges())
    mask, message_of = runs.rows(places, spans)
    return EncodedChat(ids, mask, message_of, places, text, _request=request)


def _followed(
    encoder: ChatEncoder, call: ChatCall, number: int, choice: Choice, found: Traced | None = None
) -> tuple[str, ChatRuns, Spans]:
    """Return the text of a chat, its runs of characters, and the spans that chosen messages wrote."""
    found = _rendered(call, number) if found is None else found
    origins, chosen = runs_of(found) if found else (), choice.chosen(call.chats[number])
    check_marks(origins, call.chats[number], chosen)
    text, runs = plain_text(found), ChatRuns(origins)
    return text, runs, runs.learned(text, chosen, encoder.turn(call), choice.turn_end)


def learned_texts(
    tokenizer: Tokenizer, conversations: Sequence[Any], tools: object, options: Mapping[str, Any]
) -> list[tuple[str, Spans]]:
    """Return the texts of chats, and the starts and ends of what the assistant wrote in each."""
    call, encoder = chat_call(tokenizer, list(conversations), tools, **options), chat_encoder(tokenizer)
    followed = (_followed(encoder, call, number, Choice()) for number in range(len(call.chats)))
    return [(text, spans) for text, _, spans in followed]


def encoded_text(
    encoder: ChatEncoder, choice: Choice, text: Traced
) -> tuple[npt.NDArray[np.int32], npt.NDArray[np.int64]]:
    """Return the ids of a text with origins, and their places."""
    ranges = ChatRuns(runs_of(text) if text else ()).ranges()
    return encoder.chat_call(choice.content_special).encode_ranges(plain_text(text), ranges)


def _shortened(
    encoder: ChatEncoder, call: ChatCall, number: int, choice: Choice, given: EncodedChat
) -> EncodedChat:
    """Return the chat without its oldest messages, but for those of the system, so that it fits."""
    assert choice.max_length is not None
    assert given._request is not None
    messages = call.chats[number]
    roles, last = [message.get("role") for message in messages], len(messages) - 1
    oldest = next((at for at, role in enumerate(roles) if role not in _SYSTEM), last)
    # a result answers a call that is left out
    cuts = [at for at in range(oldest + 1, last + 1) if roles[at] not in RESULTS]
    cuts = [at for at in cuts if roles[at] not in _SYSTEM or at == last]
    starts = dict(zip(*(found.tolist() for found in np.unique(given.message_of, return_index=True)), strict=True))
    shortest, first, error = given, oldest, None
    for cut in cuts:
        saved = starts[cut] - starts[oldest] + _HEADER_IDS if cut in starts and oldest in starts else len(given.ids)
        if len(given.ids) - saved > choice.max_length and cut != cuts[-1]:
            continue
        rows = [at for at, role in enumerate(roles) if at >= cut or role in _SYSTEM]
        chats = [*call.chats[:number], [messages[row] for row in rows], *call.chats[number + 1 :]]
        request = ChatRequest(tuple(chats[number]), given._request.options, tuple(rows))
        try:
            shortest, first = _whole(encoder, replace(call, chats=chats), number, choice, request), cut
        except VocabularyError as refused:  # the template asks for another first message
            error = refused
            continue
        if len(shortest.ids) <= choice.max_length:
            numbers = np.array([*rows, -1], np.int32)
            return replace(shortest, message_of=numbers[shortest.message_of], dropped=len(messages) - len(rows))
    if error is not None and shortest is given:
        raise error
    kept = "message" if first == last else f"{len(messages) - first} messages"
    raise ValueError(
        f"max_length is {choice.max_length}, and the chat has {len(shortest.ids)} ids with its last {kept}, those of "
        "the system, and what the template keeps around it; expected more, or a shorter message"
    )
