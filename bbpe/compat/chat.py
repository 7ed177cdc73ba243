"""Chat messages: the text that a model's chat template makes of them, and the number of their tokens."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from typing import TYPE_CHECKING, Any, NoReturn, TypeAlias

from ..errors import VocabularyError
from ..published.models import name_for_model
from ..spec.named_tokens import USES
from ..lazy import safe_import

if TYPE_CHECKING:
    from ..tokenizer import Tokenizer

Messages: TypeAlias = Sequence[Mapping[str, Any]]

_FILE, _CONFIGS = "chat_template.jinja", ("tokenizer_config.json", "chat_template.json")
# the tokens around each message, those of a name and those before the answer, which OpenAI has published
_AROUND, _NAME, _ANSWER = 3, 1, 3
#: The tokens around each function of OpenAI's models, by their vocabulary.
_FUNCTION = {"o200k_base": 7, "cl100k_base": 10}
# those of a parameter list, each parameter, each list of values, each value, and of all functions
_PARAMETERS, _PARAMETER, _VALUES, _VALUE, _FUNCTIONS = 3, 3, -3, 3, 12


def apply_chat_template(
    tokenizer: Tokenizer, messages: Messages, tools: Messages | None = None, *, add_generation_prompt: bool = False,
    chat_template: str | None = None, **variables: Any,
) -> str:  # fmt: skip
    """Return the text that a chat template makes of messages; `Tokenizer.apply_chat_template` documents the details."""
    source = chat_template_of(tokenizer, tools is not None) if chat_template is None else chat_template
    if source is None:
        raise VocabularyError(
            "the files of this tokenizer have no chat template; expected chat_template=, or a folder with "
            f"{_FILE} or a chat_template in {_CONFIGS[0]}"
        )
    named = tokenizer._vocabulary.named
    tokens = {f"{use}_token": named[use] for use in USES if use in named}
    given = {"messages": messages, "tools": tools, "documents": None, "add_generation_prompt": add_generation_prompt}
    return _rendered(source, {**tokens, **given, **variables})


def count_messages(
    tokenizer: Tokenizer, messages: Messages, tools: Messages | None = None, model: str | None = None
) -> int:
    """Return the number of tokens of messages in a prompt; `Tokenizer.count_messages` documents the details."""
    if model is None and chat_template_of(tokenizer, tools is not None) is not None:
        text = apply_chat_template(tokenizer, messages, tools, add_generation_prompt=True)
        return tokenizer.count_tokens(text, allowed_special="all")
    name = tokenizer.name if model is None else name_for_model(model)
    if name not in _FUNCTION:
        subject = "this tokenizer has no chat template" if model is None else f"model {model!r}"
        raise VocabularyError(
            f"{subject}, and its vocabulary is {name!r}; expected a chat template, or a model of OpenAI with one of "
            f"{', '.join(_FUNCTION)}"
        )
    count = _ANSWER + sum(_AROUND + _count_message(tokenizer, message) for message in messages)
    return count + (_count_tools(tokenizer, tools, _FUNCTION[name]) if tools else 0)


def chat_template_of(tokenizer: Tokenizer, has_tools: bool) -> str | None:
    """Return the chat template of the files of a tokenizer; `None` if there is none.

    Of several templates it is the one for tools if there are some, else the default.
    """
    files = tokenizer.spec.files
    if _FILE in files:
        return files[_FILE].decode("utf-8")
    for name in _CONFIGS:
        try:
            found = json.loads(files.get(name, b"{}"))
        except ValueError as error:
            raise VocabularyError(f"the file is not JSON: {error}", path=name) from None
        template = found.get("chat_template") if isinstance(found, dict) else None
        if isinstance(template, list):
            named = {row["name"]: row["template"] for row in template if {"name", "template"} <= row.keys()}
            template = named.get("tool_use" if has_tools and "tool_use" in named else "default")
        if template is not None:
            return str(template)
    return None


def _rendered(source: str, variables: Mapping[str, Any]) -> str:
    try:
        safe_import("jinja2")
        from jinja2 import TemplateError
        safe_import("jinja2.ext")
        from jinja2.ext import Extension, loopcontrols
        safe_import("jinja2.sandbox")
        from jinja2.sandbox import ImmutableSandboxedEnvironment
    except ImportError:
        raise ImportError("chat templates need the package jinja2: pip install 'bbpe[chat]'") from None

    class Generation(Extension):
        """Blocks that mark the text of the model; they are written as they are."""

        tags = {"generation"}  # noqa: RUF012 - jinja2 declares it so

        def parse(self, parser: Any) -> Any:
            next(parser.stream)
            return parser.parse_statements(("name:endgeneration",), drop_needle=True)

    environment = ImmutableSandboxedEnvironment(
        trim_blocks=True, lstrip_blocks=True, extensions=[Generation, loopcontrols]
    )
    environment.filters["tojson"] = _to_json
    environment.globals |= {"raise_exception": _raiser(TemplateError), "strftime_now": _now}
    try:
        return environment.from_string(source).render(**variables)
    except TemplateError as error:
        line = getattr(error, "lineno", None)
        raise VocabularyError(
            f"{error}", path="chat template", place=None if line is None else f"line {line}"
        ) from None


def _to_json(value: Any, indent: int | None = None, **options: Any) -> str:
    """Write JSON without the escapes for HTML that jinja2 has."""
    return json.dumps(value, ensure_ascii=options.pop("ensure_ascii", False), indent=indent, **options)


def _raiser(kind: type[Exception]) -> Callable[[str], NoReturn]:
    def raise_exception(message: str) -> NoReturn:
        raise kind(message)

    return raise_exception


def _now(form: str) -> str:
    return datetime.now().strftime(form)


def _count_message(tokenizer: Tokenizer, message: Mapping[str, Any]) -> int:
    count = 0
    for key, value in message.items():
        count += sum(tokenizer.count_tokens(text) for text in _texts(key, value)) + _NAME * (key == "name")
    return count


def _texts(key: str, value: Any) -> list[str]:
    """Return the texts of a field of a message."""
    if value is None:
        return []
    if isinstance(value, str):
        return [value]
    parts = value if isinstance(value, list) else [value]
    texts: list[Any] = [part.get("text") if isinstance(part, Mapping) else part for part in parts]
    if not all(isinstance(text, str) for text in texts):
        raise ValueError(f"field {key!r} of a message is {value!r:.80}; expected a text, or a list of parts with texts")
    return texts


def _count_tools(tokenizer: Tokenizer, tools: Messages, function: int) -> int:
    count = _FUNCTIONS
    for tool in tools:
        described = tool.get("function", tool)
        count += function + _count_line(tokenizer, described["name"], described.get("description", ""))
        fields = described.get("parameters", {}).get("properties", {})
        count += _PARAMETERS if fields else 0
        for name, field in fields.items():
            line = [name, str(field.get("type", "")), field.get("description", "")]
            count += _PARAMETER + _count_line(tokenizer, *line)
            if "enum" in field:
                count += _VALUES + sum(_VALUE + tokenizer.count_tokens(str(value)) for value in field["enum"])
    return count


def _count_line(tokenizer: Tokenizer, *words: str) -> int:
    return tokenizer.count_tokens(":".join(words).removesuffix("."))
