"""The number of tokens of messages: by a chat template, or by the rules of OpenAI's models, which have no template."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, NoReturn

from ...errors import VocabularyError
from ...lazy import lazy_re
from ...published.names import counted_by_provider, name_for_model, near_names
from ...published.table import ALIASES, PUBLISHED
from ...spec.chat_templates import choose_template
from .encoding import count_chat
from .images import IMAGES, Images
from .messages import REASONING, Message, conversation_of, tools_of

if TYPE_CHECKING:
    from ...tokenizer import Tokenizer

# the tokens around each message, those of a name and those before the answer, which OpenAI has published
_AROUND, _NAME, _ANSWER = 3, 1, 3
# models of those vocabularies that take a text, not messages
_NO_CHATS = lazy_re(r"(?:openai/)?(?:(?:ft:)?(?:davinci|babbage)-|text-embedding-).*|.*-instruct(?:-.*)?")
#: The tokens around each function of OpenAI's models, by their vocabulary.
_FUNCTION = {"o200k_base": 7, "cl100k_base": 10}
# those of a parameter list, each parameter, each list of values, each value, and of all functions
_PARAMETERS, _PARAMETER, _VALUES, _VALUE, _FUNCTIONS = 3, 3, -3, 3, 12
# those around a call of a function, which is written much like a message to it; an estimate
_CALL = 3
# the fields of a message that its sender does not write, or that a server adds; a weight is for fine-tuning
_UNWRITTEN = ("content", "tool_calls", "function_call", "annotations", "tool_call_id", "weight")
# parts that are not texts, and the field with the id of an answer in sound
_SOUND = "texts and images; leave it out, and add the audio tokens that the usage of an answer reports"
_MEDIA = {*IMAGES, "image", "video", "video_url", "audio", "audio_url", "input_audio", "file"}
_PROCESSED = (
    "text: a template writes a mark for it, and the processor of the model decides how many tokens that becomes; leave "
    "it out, and add what the processor counts"
)
# what a schema within another one may say that is not counted, and data, whose keys are no schemas
_SAYS = ("description", "enum", "const", "properties", "patternProperties", "$ref", "$defs", "definitions")
_DATA = ("default", "example", "examples")
_FLAT = (
    "a schema whose arguments have types, descriptions and values: the rules that OpenAI has published count no "
    "schemas within these; leave it out, and add the tokens that the usage of an answer reports"
)
_REFUSED = {"input_audio": _SOUND, "audio": _SOUND, "file": "texts and images; give the text of the file"}


def count_messages(
    tokenizer: Tokenizer, messages: object, tools: object = None, model: str | None = None, images: object = None,
    chat_template: str | None = None, variables: Mapping[str, Any] | None = None,
) -> int:  # fmt: skip
    """Return the number of tokens of messages in a prompt; `Tokenizer.count_messages` documents the details."""
    chat = conversation_of(messages)
    is_rendered = chat_template is not None or variables is not None
    if model is not None and is_rendered:
        name = "chat_template" if chat_template is not None else "variables"
        raise ValueError(f"{name} is for templates, and model {model!r} has none; expected one of model= and {name}=")
    has_template = is_rendered or choose_template(tokenizer.spec, None, has_tools=tools is not None) is not None
    if model is None and has_template:
        _refuse_media(chat)
        if images is not None:
            raise ValueError("images is given, and the messages have none; expected images only with image parts")
        given = {"chat_template": chat_template, "variables": variables}
        return count_chat(tokenizer, messages, tools, add_generation_prompt=True, **given)
    return _count_openai(tokenizer, chat, tools_of(tools), model, images)


def _count_openai(
    tokenizer: Tokenizer, messages: Sequence[Message], tools: Sequence[Any] | None, model: str | None, images: object
) -> int:
    """Return the number of tokens of messages and tools by the rules that OpenAI has published.

    Raises `VocabularyError` for a model that is none of OpenAI's, `ValueError` naming the message and the field that
    cannot be counted.
    """
    name = tokenizer.name if model is None else name_for_model(model)
    if name not in _FUNCTION:
        raise VocabularyError(_no_rules(name, model))
    if model is not None:
        _check_model(tokenizer.name, name, model)
    count, counted = _ANSWER, Images(images, model)
    for number, message in enumerate(messages):
        count += _AROUND + _count_message(tokenizer, message, f"messages[{number}]", counted)
    counted.finish()
    return count + (_count_tools(tokenizer, tools, _FUNCTION[name]) if tools else 0)


def _check_model(own: str | None, name: str, model: str) -> None:
    """Refuse a model that takes no messages, and the published vocabulary of another model, which counts other tokens.

    `own` is the name of the tokenizer, `name` that of the vocabulary of the model.
    """
    if _NO_CHATS.fullmatch(model):
        raise VocabularyError(f"model {model!r} takes no messages; expected a chat model, or count_tokens(text)")
    row = None if own is None else PUBLISHED.get(own)
    if row is not None and row.forms != PUBLISHED[name].forms:
        way = f"bbpe.encoding_for_model({model!r})"
        raise VocabularyError(
            f"the tokenizer is {own}, and model {model!r} has the vocabulary {name}; expected the tokenizer of the "
            f"model: {way}"
        )


def _refuse_media(messages: Sequence[Message]) -> None:
    """Refuse images and sound: a template writes a mark for each, which a processor replaces by any number of tokens.

    Raises `ValueError` naming the message and the part.
    """
    for number, message in enumerate(messages):
        parts = message.get("content")
        for place, part in enumerate(parts if isinstance(parts, list | tuple) else ()):
            kind = part.get("type") if isinstance(part, dict) else None
            if kind in _MEDIA:
                _refuse(f"messages[{number}].content[{place}]", part, _PROCESSED, f"a part of the type {kind!r}")


def _no_rules(name: str | None, model: str | None) -> str:
    """Return the error for a model of another maker than OpenAI; `name` is its vocabulary."""
    elsewhere = None if model is None else counted_by_provider(model)
    if elsewhere is not None:
        return elsewhere
    openai = f"a model of OpenAI with one of {', '.join(_FUNCTION)}"
    if model is None:
        subject = "this tokenizer has no chat template"
        own = "" if name is None else f" ({name})"
        return f"{subject}, and its vocabulary{own} is not one of OpenAI; expected a chat template, or {openai}"
    way = "load the folder of an open model with bbpe.load(); its chat template counts without model="
    if name is None and (model in PUBLISHED or model in ALIASES):
        return f"{model!r} is a vocabulary, not a model; expected {openai}; {way}"
    has = f"has no known vocabulary{near_names(model)}" if name is None else f"has the vocabulary {name!r}"
    return f"model {model!r} {has}; expected {openai}; {way}"


def _count_message(tokenizer: Tokenizer, message: Message, where: str, images: Images) -> int:
    if not isinstance(message.get("role"), str):
        _refuse(f"{where}.role", message.get("role"), "the role of who sends the message, such as 'user'")
    count = _count_content(tokenizer, message["content"], f"{where}.content", images) if "content" in message else 0
    for key, value in message.items():
        if key in _UNWRITTEN or (key in REASONING[1:] and message.get(REASONING[0]) == value):
            continue  # a thought is there under several names
        if key in _REFUSED:
            _refuse(f"{where}.{key}", value, _REFUSED[key])
        if not isinstance(value, str):
            _refuse(f"{where}.{key}", value, "a text")
        count += tokenizer.count_tokens(value) + _NAME * (key == "name")
    return count + _count_calls(tokenizer, message, where)


def _count_content(tokenizer: Tokenizer, content: Any, where: str, images: Images) -> int:
    """Return the number of tokens of a text, or of parts with texts and images."""
    is_list = isinstance(content, list | tuple)
    count = 0
    for number, part in enumerate(content if is_list else [content]):
        place = f"{where}[{number}]" if is_list else where
        kind = part.get("type") if isinstance(part, dict) else None
        if kind in IMAGES:
            count += images.tokens(part, place)
            continue
        text = part.get("text", part.get("refusal")) if isinstance(part, dict) else part
        if not isinstance(text, str):
            named = None if kind is None else f"a part of the type {kind!r}"
            _refuse(place, part, _REFUSED.get(str(kind), "a text, or a list of parts with texts and images"), named)
        count += tokenizer.count_tokens(text)
    return count


def _count_calls(tokenizer: Tokenizer, message: Message, where: str) -> int:
    count = 0
    calls = message.get("tool_calls", [])
    if not isinstance(calls, list | tuple):
        _refuse(f"{where}.tool_calls", calls, "a list of calls")
    for number, call in enumerate(calls):
        place = f"{where}.tool_calls[{number}]"
        if not isinstance(call, dict):
            _refuse(place, call, "an object with a function")
        # custom tools have an input, as a text
        kind = next((kind for kind in ("function", "custom") if kind in call), None)
        call, place = (call, place) if kind is None else (call[kind], f"{place}.{kind}")
        count += _count_call(tokenizer, call, place)
    if "function_call" in message:
        count += _count_call(tokenizer, message["function_call"], f"{where}.function_call")
    return count


def _count_call(tokenizer: Tokenizer, call: Any, where: str) -> int:
    if not isinstance(call, dict):
        _refuse(where, call, "an object with a name and arguments")
    name = call.get("name")
    if not isinstance(name, str):
        _refuse(f"{where}.name", name, "the name of a function")
    written = call.get("arguments", call.get("input", ""))
    if isinstance(written, dict):
        written = json.dumps(written, ensure_ascii=False)
    if not isinstance(written, str):
        _refuse(f"{where}.arguments", written, "a JSON string")
    return _CALL + tokenizer.count_tokens(name) + tokenizer.count_tokens(written)


def _count_tools(tokenizer: Tokenizer, tools: Sequence[Any], function: int) -> int:
    count = _FUNCTIONS
    for number, tool in enumerate(tools):
        where = f"tools[{number}]"
        described = _object(tool.get("function", tool.get("custom", tool)), where)
        if not isinstance(described.get("name"), str):
            kind = tool.get("type", "function")
            named = None if kind == "function" else f"missing in a tool of the type {kind!r}"
            _refuse(f"{where}.name", described.get("name"), "the name of a function", named)
        description = _description(described, f"{where}.description")
        count += function + _count_line(tokenizer, described["name"], description)
        grammar = _object(_object(described.get("format"), f"{where}.format").get("grammar"), f"{where}.format.grammar")
        count += tokenizer.count_tokens(str(grammar.get("definition", "")))
        parameters = _object(described.get("parameters"), where)
        fields = _object(parameters.get("properties"), f"{where}.parameters")
        _check_flat({**parameters, "properties": None, "description": None}, f"{where}.parameters")
        count += _PARAMETERS if fields else 0
        for name, field in fields.items():
            shape = _object(field, f"{where}.parameters.{name}")
            place = f"{where}.parameters.{name}.description"
            _check_flat({**shape, "description": None, "enum": None}, f"{where}.parameters.{name}")
            count += _PARAMETER + _count_line(tokenizer, name, str(shape.get("type", "")), _description(shape, place))
            values = shape.get("enum")
            if values is not None:
                if not isinstance(values, list | tuple):
                    _refuse(f"{where}.parameters.{name}.enum", values, "a list of values")
                count += _VALUES + sum(_VALUE + tokenizer.count_tokens(str(value)) for value in values)
    return count


def _check_flat(schema: Any, where: str) -> None:
    """Refuse schemas that say what is not counted; of those within others, types alone are right."""
    for key, value in schema.items():
        if key in _SAYS and value:
            _refuse(f"{where}.{key}", value, _FLAT)
        rows = value if isinstance(value, list | tuple) else [value]
        for number, row in enumerate(rows if key not in _DATA else ()):
            if isinstance(row, dict):
                _check_flat(row, f"{where}.{key}" + f"[{number}]" * (rows is value))


def _object(value: Any, where: str) -> dict[str, Any]:
    if value is None:
        return {}
    if not isinstance(value, dict):
        _refuse(where, value, "an object of a JSON schema")
    return value


def _description(described: Mapping[str, Any], where: str) -> str:
    found = described.get("description")
    if found is not None and not isinstance(found, str):
        _refuse(where, found, "a text")
    return found or ""


def _count_line(tokenizer: Tokenizer, *words: str) -> int:
    return tokenizer.count_tokens(":".join(words).removesuffix("."))


def _refuse(where: str, value: Any, expected: str, kind: str | None = None) -> NoReturn:
    raise ValueError(f"{where} is {kind or f'{type(value).__name__} {value!r:.40}'}; expected {expected}")
