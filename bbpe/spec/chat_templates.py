"""The chat templates among the files of a tokenizer, and the choice of one of them."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, NoReturn

from ..errors import VocabularyError
from ..records import dataclass
from ..text import text_of_file
from .spec import TokenizerSpec

#: The names of the template that is used where a call names none, and of that for calls with tools.
DEFAULT, TOOL_USE = "default", "tool_use"
_FILE, _FOLDER = "chat_template.jinja", "additional_chat_templates/"
_CONFIGS = ("tokenizer_config.json", "chat_template.json")
#: How the names of files with templates alone begin, that of the usual one first.
TEMPLATE_FILES = (_FILE, _FOLDER, _CONFIGS[1])
# a text without any of these is no template
_MARKS = ("{{", "{%", "{#")


@dataclass(frozen=True)
class ChatTemplate:
    """The source of a template, and the file it is from, `None` for that of a caller."""

    source: str
    file: str | None = None

    @property
    def title(self) -> str:
        """The template in messages of errors."""
        return "chat template" if self.file is None else f"chat template of {self.file}"


def chat_templates(spec: TokenizerSpec) -> dict[str, ChatTemplate]:
    """Return the chat templates of the files of a tokenizer by their names.

    Files of their own take precedence over fields of a `tokenizer_config.json`, and these over `chat_template.json`.

    Raises `VocabularyError` naming the file and the field that holds no template.
    """
    found = {DEFAULT: _FILE} if _FILE in spec.files else {}
    for name in spec.files:
        if name.startswith(_FOLDER):
            found[name.removeprefix(_FOLDER).removesuffix(".jinja")] = name
    if found:
        return {name: ChatTemplate(text_of_file(spec.files[file], file), file) for name, file in found.items()}
    for file in _CONFIGS:
        value = config_of(spec.files.get(file, b"{}"), file).get("chat_template")
        if value is not None:
            return {name: ChatTemplate(text, file) for name, text in _named(value, file).items()}
    return {}


def choose_template(spec: TokenizerSpec, given: str | None, *, has_tools: bool) -> ChatTemplate | None:
    """Return the template of a call: a given one, or that of a given name; without one, that for tools or the default.

    Returns `None` if the files have no template and none is given.

    Raises `VocabularyError` as `chat_templates` does, and when several templates have no default; `TypeError` and
    `ValueError` when what is given is neither a name nor a template.
    """
    if given is not None and not isinstance(given, str):
        raise TypeError(f"chat_template is {type(given).__name__}; expected a template or the name of one as a str")
    templates = chat_templates(spec)
    names = ", ".join(map(repr, sorted(templates))) or "none"
    if given is not None:
        if given not in templates and not is_template(given):
            problem = f"chat_template={given[:40]!r} is neither a template nor the name of one"
            way = "a text with {{ or {% (that of a file is Path(...).read_text())"
            raise ValueError(f"{problem}; expected {way}, or a name of this tokenizer: {names}")
        return templates.get(given) or ChatTemplate(given)
    if not templates:
        return None
    chosen = TOOL_USE if has_tools and TOOL_USE in templates else DEFAULT
    if chosen not in templates:
        problem = "there are several chat templates, and none is the default"
        raise VocabularyError(f"{problem}; give chat_template=, one of {names}")
    return templates[chosen]


def is_template(text: str) -> bool:
    """Return whether a text is a template, and not the name of one."""
    return any(mark in text for mark in _MARKS)


def _named(value: Any, file: str) -> Mapping[str, str]:
    """Return the templates of a field by name: a text is the default; a list has objects with name and template."""
    if isinstance(value, list):
        for number, row in enumerate(value):
            if not isinstance(row, dict) or not isinstance(row.get("name"), str):
                _refuse(row, "an object with a name and a template", file, f"chat_template[{number}]")
        value = {row["name"]: row.get("template") for row in value}
    if isinstance(value, str):
        return {DEFAULT: value}
    if not isinstance(value, dict):
        _refuse(value, "a template, or a list of templates with their names", file, "chat_template")
    for name, text in value.items():
        if not isinstance(text, str):
            _refuse(text, "a template", file, f"chat_template: {name}")
    return value


def _refuse(value: Any, expected: str, file: str, place: str) -> NoReturn:
    raise VocabularyError(f"found {json.dumps(value)[:40]}; expected {expected}", path=file, place=place)


def config_of(data: bytes, file: str) -> dict[str, Any]:
    """Return the fields of a file; `VocabularyError` naming it when it is not JSON."""
    try:
        value = json.loads(data)
    except (ValueError, RecursionError) as error:
        raise VocabularyError(f"the file is not JSON: {error}", path=file) from None
    return value if isinstance(value, dict) else {}
