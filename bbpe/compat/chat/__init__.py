"""Chats: the text that a model's chat template makes of messages."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import TYPE_CHECKING, Any, NoReturn

from ...errors import VocabularyError
from ...lazy import np, safe_import
from ...records import dataclass
from ...spec.chat_templates import ChatTemplate, chat_templates, choose_template
from ...spec.named_tokens import template_tokens
from ...spec.spec import TokenizerSpec
from .messages import REASONING, Message, conversations_of, documents_of, plain, tools_of

if TYPE_CHECKING:
    from ...tokenizer import Tokenizer

__all__ = ["ChatCall", "apply_chat_template", "chat_call"]

#: Variables that arguments of their own define.
OWN = ("messages", "tools", "documents", "add_generation_prompt")
#: The keywords of functions with chats that have names of their own, for errors about misspelt ones.
_KEYWORDS = "add_generation_prompt continue_final_message chat_template documents variables tools".split()
_OF_IDS = "content_special train_on turn_end max_length".split()
_ENCODED = "tok.encode_chat(messages) returns the ids, and tok.apply_chat_template(messages) the text"
_ROWS = "tok.encode_chat_batch(chats) returns rows of ids, as arrays and as columns of Arrow"
_SHORTER = "tok.encode_chat(messages, max_length=n) leaves out the oldest messages"
#: Options of `transformers` about ids, and what does their work here.
_REFUSED = {
    **dict.fromkeys(("tokenize", "return_dict", "tokenizer_kwargs"), _ENCODED),
    **dict.fromkeys(("padding", "return_tensors"), _ROWS),
    **dict.fromkeys(("truncation", "max_length"), _SHORTER),
    "return_assistant_tokens_mask": "tok.encode_chat(messages).mask is such a mask",
    "sanitize_control_tokens": "tok.encode_chat(messages) takes special tokens in messages as plain text",
}
_MOST_KEPT = 64  # templates that are remembered, of a tokenizer; a program has few
# in capitals, so that a template that changes the case of a message may keep it
_MARK = "BBPE_GOES_ON_WITH_THE_MESSAGE_HERE "


@dataclass(frozen=True)
class ChatCall:
    """A call that renders chats, checked: the template, its variables, the model's tokens and the chats.

    `final` is the field of the last message to go on with, `True` for its content, or `False`.
    """

    template: ChatTemplate
    variables: Mapping[str, Any]
    tokens: Mapping[str, str]
    chats: list[list[Message]]
    is_batch: bool
    final: bool | str

    def rendered(self, number: int, render: Callable[[list[Message]], str]) -> str:
        """Return the text of a chat, which `render` makes of messages; it may end within the last one."""
        chat = self.chats[number]
        if not self.final:
            return render(chat)
        name = f"messages[{number}][{len(chat) - 1}]" if self.is_batch else f"messages[{len(chat) - 1}]"
        return _continued(self.template, chat, render, self.final, name)


def apply_chat_template(
    tokenizer: Tokenizer, messages: object, tools: object = None, **options: Any
) -> str | list[str]:
    """Return the text of a chat, or a list of those of several; `Tokenizer.apply_chat_template` documents the details.

    `options` are those of `chat_call`.
    """
    call = chat_call(tokenizer, messages, tools, **options)
    given = {**call.tokens, **call.variables}
    render = partial(_rendered, call.template, given)
    texts = [call.rendered(number, render) for number in range(len(call.chats))]
    return texts if call.is_batch else texts[0]


def chat_call(tokenizer: Tokenizer, messages: object, tools: object = None, **options: Any) -> ChatCall:
    """Return the call that renders chats; `options` are those of `chat_options`.

    Raises as `Tokenizer.apply_chat_template` does.
    """
    template, given, final = chat_options(tokenizer, tools, **options)
    chats, is_batch = conversations_of(messages)
    if template is None:
        raise VocabularyError(
            "the files of this tokenizer have no chat template; expected chat_template=, or a folder with "
            "chat_template.jinja or a chat_template in tokenizer_config.json"
        )
    tokens = _kept(tokenizer, "tokens", lambda: template_tokens(tokenizer.spec, tokenizer._parts.vocabulary.named))
    tokens = {name: text for name, text in tokens.items() if name not in given}
    return ChatCall(template, given, tokens, chats, is_batch, final)


def chat_options(
    tokenizer: Tokenizer, tools: object = None, *, documents: object = None, chat_template: str | None = None,
    add_generation_prompt: bool = False, continue_final_message: bool | str = False,
    variables: Mapping[str, Any] | None = None, options: Mapping[str, Any] | None = None,
    method: str = "apply_chat_template",
) -> tuple[ChatTemplate | None, dict[str, Any], bool | str]:  # fmt: skip
    """Return the template of a call, if there is one, its variables, and the field to go on with; all are checked.

    `options` are other keywords of the call: options of `transformers` about ids, or variables that the template reads.
    `method` is the function that the user called, for errors.
    """
    options = _checked(options or {})
    template = _chosen(tokenizer, chat_template, tools is not None)
    given = _variables(template, variables, options, method)
    check_flags(add_generation_prompt, continue_final_message)
    if continue_final_message and add_generation_prompt:
        raise ValueError(
            "continue_final_message and add_generation_prompt exclude each other: the first continues the last "
            "message, the second begins the next one; give one of them"
        )
    given = {
        **given, "tools": tools_of(tools), "documents": documents_of(documents),
        "add_generation_prompt": bool(add_generation_prompt),
    }  # fmt: skip
    final = continue_final_message if isinstance(continue_final_message, str) else bool(continue_final_message)
    return template, given, final


def _chosen(tokenizer: Tokenizer, given: str | None, has_tools: bool) -> ChatTemplate | None:
    """Return the template of a call; reading the files takes longer than rendering."""
    if given is not None and not isinstance(given, str):
        return choose_template(tokenizer.spec, given, has_tools=has_tools)  # refuses it
    choose = partial(choose_template, tokenizer.spec, given, has_tools=has_tools)
    found: ChatTemplate | None = _kept(tokenizer, ("template", given, has_tools), choose)
    return found


def _kept(tokenizer: Tokenizer, key: object, make: Callable[[], Any]) -> Any:
    kept = tokenizer._parts.kept
    found = kept.get(key)
    if found is None:
        if len(kept) >= _MOST_KEPT:
            kept.clear()
        found = kept[key] = make()
    return found


def warm_up(spec: TokenizerSpec) -> None:
    """Import what renders the chat templates of a tokenizer, and compile these; without templates, do nothing.

    Raises `ImportError` without jinja2, and `VocabularyError` naming a template that is malformed.
    """
    for template in chat_templates(spec).values():
        _sandbox().variables_of(template)
        safe_import("bbpe.compat.chat.continuing")
        safe_import("bbpe.compat.chat.tracing")
        from .tracing import compile_traced

        compile_traced(template)


def _checked(options: Mapping[str, Any]) -> dict[str, Any]:
    """Return the keywords that are no options of `transformers`; `ValueError` naming one of these that asks for ids."""
    for name, value in options.items():
        if name in _REFUSED and value is not None and value is not False:
            raise ValueError(f"{name} is {value!r:.40}; expected False: {_REFUSED[name]}")
    return {name: value for name, value in options.items() if name not in _REFUSED}


def check_flags(add_generation_prompt: object, continue_final_message: object = False) -> None:
    """Refuse values that a template would take as true, such as "no", and the empty name of a field."""
    if not isinstance(add_generation_prompt, bool | np.bool_):
        kind = type(add_generation_prompt).__name__
        raise TypeError(f"add_generation_prompt is {kind} {add_generation_prompt!r:.40}; expected True or False")
    if not isinstance(continue_final_message, bool | np.bool_ | str) or continue_final_message == "":
        kind = type(continue_final_message).__name__
        problem = f"continue_final_message is {kind} {continue_final_message!r:.40}"
        raise TypeError(f"{problem}; expected True, False or the name of a field")


def _variables(
    template: ChatTemplate | None, variables: Mapping[str, Any] | None, options: Mapping[str, Any], method: str
) -> dict[str, Any]:
    """Return the variables of a call; `TypeError` naming a keyword that the template never reads."""
    if variables is not None and not isinstance(variables, Mapping):
        raise TypeError(f"variables is {type(variables).__name__}; expected a dict of variables of the template")
    given = {**(variables or {}), **options}
    if options:
        read = frozenset() if template is None else _sandbox().variables_of(template)
        unknown = next((name for name in options if name not in read), None)
        if unknown is not None:
            _refuse_keyword(unknown, read, method)
    for name in given:
        if not isinstance(name, str) or name in OWN:
            raise TypeError(f"variables has {name!r}; expected names of variables other than {', '.join(OWN)}")
    return {name: plain(value, f"variables[{name!r}]") for name, value in given.items()}


def _refuse_keyword(name: str, read: frozenset[str], method: str) -> NoReturn:
    safe_import("difflib")
    from difflib import get_close_matches

    names = [*_KEYWORDS, *(_REFUSED if method == "apply_chat_template" else _OF_IDS)]
    near = get_close_matches(name, [*names, *read])
    hint = f"did you mean {near[0]!r}? " if near else ""
    raise TypeError(
        f"{method}() got an unexpected keyword argument {name!r}, and the template reads no such variable; "
        f"{hint}a variable that some templates read is variables={{{name!r}: ...}}"
    )


def _sandbox() -> Any:
    # jinja2 is an extra
    safe_import("bbpe.compat.chat.sandbox")
    from . import sandbox

    return sandbox


def _rendered(template: ChatTemplate, given: Mapping[str, Any], chat: list[Message]) -> str:
    return str(_sandbox().render(template, {**given, "messages": chat}))


def _continued(
    template: ChatTemplate, chat: list[Message], render: Callable[[list[Message]], str], field: bool | str, name: str
) -> str:
    """Return the text of a chat up to the end of a field of its last message, "content" unless it is named."""
    key = field if isinstance(field, str) else "content"
    *before, last = chat or [{}]
    value = last.get(key)
    if value is None:
        raise ValueError(f"continue_final_message: {name} has no {key!r} to continue; expected a text")
    # a thought is there under several names, of which the template reads one
    keys = [other for other in REASONING if last.get(other) == value] if key in REASONING else [key]
    if not any(other in template.source for other in keys):
        raise ValueError(f"continue_final_message: the {template.title} does not write the field {key!r} of a message")
    final, marked = _marked(value, f"{name}: field {key!r}")
    text = render([*before, {**last, **dict.fromkeys(keys, marked)}])
    place = text.rfind(_MARK.strip())
    if place < 0 or final.strip() not in text:
        raise ValueError(
            f"continue_final_message: the {template.title} does not write the end of {name} as it is; leave this "
            "option out, and append the beginning of the answer to the text"
        )
    if _MARK.strip() in text[:place]:
        raise ValueError(
            f"continue_final_message: the {template.title} writes the end of {name} more than once; leave this option "
            "out, and append the beginning of the answer to the text"
        )
    # a template that strips a message takes the blank of the mark, and would take those before it
    return text[:place] if text.startswith(_MARK, place) else text[:place].rstrip()


def _marked(value: Any, name: str) -> tuple[str, Any]:
    """Return the text at the end of a field, and the field with a mark after it; of parts, the last text counts."""
    if isinstance(value, str):
        return value, value + _MARK
    parts = list(value) if isinstance(value, list | tuple) else []
    for number in reversed(range(len(parts))):
        part = parts[number]
        if isinstance(part, dict) and isinstance(part.get("text"), str):
            parts[number] = {**part, "text": part["text"] + _MARK}
            return part["text"], parts
    raise ValueError(f"continue_final_message: {name} is {type(value).__name__}; expected a text, or parts with one")
